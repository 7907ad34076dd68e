package operation

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A longRig provides for its operations itself.
type longRig struct {
	*rig
	committed []string
}

func (l *longRig) Actions() []invoke.Action { return []invoke.Action{Test} }

func (l *longRig) Committed(_ context.Context, state State) {
	l.committed = append(l.committed, state.ID+" "+string(state.Progress.Status))
}

func newLongRig(t *testing.T, g *rig, calls int) *longRig {
	t.Helper()
	l := &longRig{rig: g}
	g.typ = &Type{Name: thing, Provider: g, Timeout: time.Hour}
	g.configure(func(c *Config) {
		c.Types, c.Places = nobody{}, map[string]Places{"test": {Calls: calls}}
	})
	g.Own("test", l)
	return l
}

// nobody has types.
type nobody struct{}

func (nobody) Type(context.Context, awswire.Caller, string, string) (*Type, error) {
	return nil, errors.New("the types of other owners are not asked")
}

// TestSupplier runs operations whose owner provides for them itself: one call each, of which
// the owner hears in the transaction and after it.
func TestSupplier(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		l := newLongRig(t, g, 1)
		g.answers = []any{
			Progress{Status: types.OperationStatusSuccess, Model: map[string]any{"Passed": 3.0}},
			func(ctx context.Context, r Request) (Progress, error) {
				if deadline, ok := ctx.Deadline(); !ok || r.Action != Test || r.Token != "u" {
					t.Errorf("called with %+v, deadline %s", r, deadline)
				}
				g.pass(2 * time.Hour)
				return Progress{}, context.DeadlineExceeded
			},
		}
		g.finish(g.begin(Spec{ID: "one", Request: Request{Action: Test, Token: "t"}}))
		if s := g.heard[len(g.heard)-1]; s.ID != "one" || s.Progress.Model["Passed"] != 3.0 {
			t.Errorf("heard of %+v", s)
		}
		g.finish(g.begin(Spec{ID: "two", Request: Request{Action: Test, Token: "u"}}))
		g.expectStory("SUCCESS", "FAILED NotStabilized Resource timed out waiting for completion (RequestToken: u)")
		if got := strings.Join(l.committed, ", "); got != "one SUCCESS, two FAILED" {
			t.Errorf("committed: %s", got)
		}
		// Only such an owner tests, and it does nothing else.
		for _, action := range []invoke.Action{invoke.Create, invoke.List} {
			if err := g.refused(action); err == nil || !strings.Contains(err.Error(), "is not an action") {
				t.Errorf("%s: %v", action, err)
			}
		}
		g.configure(func(*Config) {})
		if err := g.refused(Test); err == nil {
			t.Error("an owner that provides for nothing may test")
		}
	})
}

// refused begins an operation that must be refused.
func (g *rig) refused(action invoke.Action) error {
	return g.store.Write(g.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		_, err := g.Begin(ctx, tx, Spec{Owner: "test", Request: Request{Caller: owner, Action: action, Type: thing}})
		return err
	})
}

// TestPlaces has an operation wait until another one has left its place: the time does not
// count, and it is woken.
func TestPlaces(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		newLongRig(t, g, 1)
		entered, leave := make(chan struct{}), make(chan struct{})
		g.answers = []any{
			func(context.Context, Request) (Progress, error) {
				close(entered)
				<-leave
				return done(), nil
			},
			func(ctx context.Context, _ Request) (Progress, error) {
				if deadline, _ := ctx.Deadline(); time.Until(deadline) < 59*time.Minute {
					t.Errorf("%s are left of the hour", time.Until(deadline))
				}
				return done(), nil
			},
		}
		first, second := g.begin(Spec{Request: Request{Action: Test}}), g.begin(Spec{Request: Request{Action: Test}})
		ended := make(chan error)
		go func() {
			_, err := g.run(t.Context(), first)
			ended <- err
		}()
		<-entered
		if wait := g.turn(second); wait != turnRetry {
			t.Errorf("looks again after %s", wait)
		}
		if len(g.calls) != 1 {
			t.Errorf("%d calls in one place", len(g.calls))
		}
		g.pass(30 * time.Second)
		close(leave)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		var woken int64
		err := store.Query(t.Context(), g.store.Read(), &woken, "SELECT count(*) FROM wakeups WHERE kind = ? AND id = ?", workOperation, second)
		if err != nil || woken != 1 {
			t.Errorf("woken %d times, %v", woken, err)
		}
		g.finish(second)
		if turns := g.turns["test"]; turns.running != 0 || len(turns.waiting)+len(turns.taken) != 0 {
			t.Errorf("left behind: %+v", turns)
		}
	})
}

// TestInterruptedCall: a call that the end of the process interrupts is made again, with its
// whole time.
func TestInterruptedCall(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		newLongRig(t, g, 2)
		ctx, stop := context.WithCancel(t.Context())
		g.answers = []any{func(ctx context.Context, _ Request) (Progress, error) {
			stop()
			<-ctx.Done()
			return Progress{}, ctx.Err()
		}}
		id := g.begin(Spec{Request: Request{Action: Test, Token: "t"}})
		if _, err := g.run(ctx, id); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
		newLongRig(t, g, 2) // another process, much later
		g.pass(3 * time.Hour)
		g.answers = []any{done()}
		g.finish(id)
		g.expectStory("SUCCESS i")
		if n := len(g.calls); n != 2 || g.calls[0].Token != g.calls[1].Token {
			t.Errorf("%d calls: %+v", n, g.calls)
		}
	})
}
