package operation

import (
	"context"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// TestResume has a call made before its time, and repeated if it was being made.
func TestResume(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		resume := func(token string) {
			t.Helper()
			if err := g.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return g.Resume(ctx, tx, token) }); err != nil {
				t.Fatal(err)
			}
		}
		inProgress := func(token string) (is bool) {
			t.Helper()
			err := g.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
				is, err = g.InProgressWith(ctx, tx, token)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return is
		}
		// The call is resumed while it is made: its result is dropped, and it is made again at once.
		g.answers = []any{
			func(_ context.Context, r Request) (Progress, error) {
				resume(r.Token)
				return busy(5*time.Minute, `1`), nil
			},
			busy(5*time.Minute, `2`), busy(5*time.Minute, `3`), done(),
		}
		id := g.begin(Spec{Request: Request{Action: invoke.Create, Token: "token-1"}})
		if wait := g.turn(id); wait.Round(time.Second) != 5*time.Minute || len(g.calls) != 2 || g.calls[1].Callback != nil {
			t.Fatalf("it waits %s after %d calls", wait, len(g.calls))
		}
		resume("token-1") // its row is kept as the last call wrote it
		if wait := g.turn(id); wait.Round(time.Second) != 5*time.Minute || len(g.calls) != 3 || string(g.calls[2].Callback) != "2" {
			t.Fatalf("it waits %s after %d calls", wait, len(g.calls))
		}
		if !inProgress("token-1") || inProgress("token-2") {
			t.Error("what is in progress is not known")
		}
		resume("token-2")
		if wait := g.turn(id); wait <= 0 || len(g.calls) != 3 {
			t.Errorf("it was resumed by another token: %s", wait)
		}
		resume("token-1")
		if wait := g.turn(id); wait != -1 || string(g.calls[3].Callback) != "3" {
			t.Errorf("it waits %s after it was resumed", wait)
		}
		if inProgress("token-1") {
			t.Error("it is in progress after its end")
		}
		resume("token-1")
		if wait := g.turn(id); wait != -1 || len(g.calls) != 4 {
			t.Errorf("it was resumed after its end: %s, %d calls", wait, len(g.calls))
		}

		// One that is cancelled before it has an identifier gets the placeholder, if it was called.
		for name, test := range map[string]struct {
			answers []any
			want    string
		}{
			"called":     {[]any{Progress{Status: "IN_PROGRESS", Delay: time.Minute}}, "FAILED stack-thing-1 The operation was cancelled. cancelled"},
			"identified": {[]any{busy(5*time.Minute, `1`)}, "FAILED i The operation was cancelled. cancelled"},
		} {
			g.calls, g.heard, g.answers = nil, nil, test.answers
			id = g.begin(Spec{Request: Request{Action: invoke.Create, Placeholder: "stack-thing-1"}})
			g.turn(id)
			g.cancel(id)
			g.turn(id)
			if story := g.story(); len(story) == 0 || story[len(story)-1] != test.want {
				t.Errorf("%s: the owner heard %q", name, story)
			}
		}
	})
}
