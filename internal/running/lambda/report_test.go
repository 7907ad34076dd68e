//go:build unix

package lambda_test

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

func TestIsFrame(t *testing.T) {
	for line, want := range map[string]bool{
		"INIT_START Type: Acme::Foo::Bar Version: 00000001": true, "INIT_START Runtime Version: python:3.12.v1": true,
		"START RequestId: 1 Version: $LATEST": true, "END RequestId: 1": true, "REPORT RequestId: 1\tDuration: 1 ms": true,
		"": false, "STARTing": false, "the END RequestId: 1": false, "REPORT: three pages": false,
	} {
		if got := lambda.IsFrame(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// All that Lambda adds to the log of an invocation is known.
func TestFramesOfInvocation(t *testing.T) {
	f := start(t, config(t, "echo"))
	result, err := f.Invoke(t.Context(), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(result.Log)) {
		if !lambda.IsFrame(line) {
			t.Errorf("a function that prints nothing has logged %q", line)
		}
	}
	if len(result.Log) == 0 {
		t.Error("no log")
	}
}
