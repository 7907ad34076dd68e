package operation

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func TestRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("no answer")
	for name, tc := range map[string]struct {
		answers []any
		want    string // "STATUS code message", or the error
		calls   []string
	}{
		"at once":     {[]any{busySuccess()}, "SUCCESS  ", []string{`READ id="i" callback= attempts=0`}},
		"called back": {[]any{busy(0, `{"n": 1}`), done()}, "SUCCESS  ", []string{`READ id="i" callback= attempts=0`, `READ id="i" callback={"n":1} attempts=0`}},
		"retried":     {[]any{failed(invoke.Throttling), done()}, "SUCCESS  ", []string{`READ id="i" callback= attempts=0`, `READ id="i" callback= attempts=1`}},
		"too often": {[]any{failed(invoke.Throttling), failed(invoke.Throttling), failed(invoke.Throttling)}, "FAILED Throttling m",
			[]string{`READ id="i" callback= attempts=0`, `READ id="i" callback= attempts=1`, `READ id="i" callback= attempts=2`}},
		"not there": {[]any{failed(invoke.NotFound)}, "FAILED NotFound m", []string{`READ id="i" callback= attempts=0`}},
		"too late":  {[]any{busy(200*time.Hour, `{}`)}, "FAILED NotStabilized Resource timed out waiting for completion (RequestToken: T)", []string{`READ id="i" callback= attempts=0`}},
		"no answer": {[]any{broken}, broken.Error(), []string{`READ id="i" callback= attempts=0`}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, fixtures.Place{Name: "sqlite", Dir: fixtures.TempDir(t)})
			g.configure(func(c *Config) {
				c.Retries = Retries{Max: 2, First: time.Millisecond}
				c.NewID = func() string { return "T" }
			})
			g.answers = tc.answers
			p, err := g.Read(t.Context(), Request{Caller: owner, Type: thing, Identifier: "i"})
			got := string(p.Status) + " " + p.ErrorCode + " " + p.Message
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("read %q, want %q", got, tc.want)
			}
			g.expectCalls(tc.calls...)
			if n, err := g.InProgress(t.Context()); n != 0 || err != nil {
				t.Errorf("%d operations are left, %v", n, err)
			}
		})
	}
}

func busySuccess() Progress {
	p := done()
	p.Model = map[string]any{"Id": "i", "Size": "7"}
	return p
}

func TestReadRefusals(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Name: "sqlite", Dir: fixtures.TempDir(t)})
	var unknown *UnknownTypeError
	if _, err := g.Read(t.Context(), Request{Caller: owner, Type: "Acme::No::Thing"}); !errors.As(err, &unknown) {
		t.Errorf("an unknown type: %v", err)
	}
	g.configure(func(c *Config) {
		c.Prepare = func(_ context.Context, r Request) (Request, error) {
			return r, awswire.ValidationErrorf("no such reference")
		}
	})
	p, err := g.Read(t.Context(), Request{Caller: owner, Type: thing, Identifier: "i"})
	if err != nil || p.Message != "no such reference" || !p.Own {
		t.Errorf("a reference that stands for nothing: %+v, %v", p, err)
	}
	// A wait ends with the context.
	g.configure(func(*Config) {})
	g.answers = []any{busy(time.Minute, `{}`)}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := g.Read(ctx, Request{Caller: owner, Type: thing, Identifier: "i"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the end of the context: %v", err)
	}
}
