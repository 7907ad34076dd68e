package cli

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestHandedOn(t *testing.T) {
	c := &app{Env: &Env{Stderr: io.Discard, Environ: []string{"STAGE=test", "EMPTY="}}}
	got, err := c.handedOn("--env", []string{"STAGE", "EMPTY", "OTHER=a=b", "NONE="})
	if want := []string{"STAGE=test", "EMPTY=", "OTHER=a=b", "NONE="}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for entry, want := range map[string]string{"UNSET": "the variable UNSET is not set", "=x": "expected NAME=VALUE", "": "expected NAME=VALUE"} {
		_, err := c.handedOn("--env", []string{entry})
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", entry, err, want)
		}
	}
}

// TestServeHandlerEnvUnset: a variable that is not set stops the server before it starts.
func TestServeHandlerEnvUnset(t *testing.T) {
	code, _, stderr := runMain(t.Context(), t.TempDir(), nil, "serve", "--temporary", "--handler-env", "NO_SUCH_VARIABLE")
	if code != exitUsage || !strings.Contains(stderr, "the variable NO_SUCH_VARIABLE is not set") {
		t.Errorf("code %d: %s", code, stderr)
	}
}
