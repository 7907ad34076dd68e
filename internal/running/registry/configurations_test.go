package registry

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestKeptConfigurations reads a configuration again after a change, also after one that came
// while it was read, and keeps neither errors nor long texts.
func TestKeptConfigurations(t *testing.T) {
	var c configurations
	key := configurationKey{arn: "a", alias: defaultAlias}
	reads := 0
	read := func(text string) func() (*configurationRow, error) {
		return func() (*configurationRow, error) {
			reads++
			return &configurationRow{Configuration: text}, nil
		}
	}
	expect := func(text string, read func() (*configurationRow, error), want string, wantReads int) {
		t.Helper()
		row, err := c.get(key, read)
		if err != nil || row.Configuration != want || reads != wantReads {
			t.Errorf("%s: got %.20v, %v after %d reads, want %.20s after %d", text, row, err, reads, want, wantReads)
		}
	}
	expect("first", read("1"), "1", 1)
	expect("kept", read("2"), "1", 1)
	c.forget()
	expect("changed while it was read", func() (*configurationRow, error) {
		c.forget()
		return read("3")()
	}, "3", 2)
	expect("read again", read("4"), "4", 3)
	c.forget()
	failure := errors.New("no")
	if _, err := c.get(key, func() (*configurationRow, error) { return nil, failure }); !errors.Is(err, failure) {
		t.Error(err)
	}
	long := strings.Repeat("x", maxKeptText+1)
	expect("long", read(long), long, 4)
	expect("long, not kept", read("5"), "5", 5)
	c.forget()
	if row, err := c.get(key, func() (*configurationRow, error) { return nil, nil }); row != nil || err != nil {
		t.Error(row, err)
	}
	if row, err := c.get(key, read("6")); row != nil || err != nil {
		t.Errorf("that there is none is not kept: %v, %v", row, err)
	}
	for i := range 3 * maxConfigurations {
		_, _ = c.get(configurationKey{arn: fmt.Sprint(i)}, read("7"))
	}
	if len(c.found) > maxConfigurations {
		t.Errorf("%d configurations are kept", len(c.found))
	}
}
