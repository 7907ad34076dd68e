package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func TestOperations(t *testing.T) {
	t.Parallel()
	type test struct {
		spec    Spec
		answers []any
		waits   []time.Duration
		calls   []string
		story   []string
	}
	create, read, update, remove := Spec{Request: Request{Action: invoke.Create}}, Spec{Request: Request{Action: invoke.Read, Identifier: "i"}},
		Spec{Request: Request{Action: invoke.Update, Identifier: "i"}}, Spec{Request: Request{Action: invoke.Delete, Identifier: "i"}}
	with := func(s Spec, change func(*Spec)) Spec { change(&s); return s }
	readAfter := func(s *Spec) { s.ReadAfter = true }
	tests := map[string]test{
		"at once": {create, []any{done()}, nil, []string{`CREATE id="" callback= attempts=0`}, []string{"SUCCESS i"}},
		"called back": {
			create, []any{busy(5*time.Second, `{"n": 1}`), busy(0, `null`), done()}, []time.Duration{5 * time.Second},
			[]string{`CREATE id="" callback= attempts=0`, `CREATE id="i" callback={"n":1} attempts=0`, `CREATE id="i" callback= attempts=0`},
			[]string{"IN_PROGRESS i", "SUCCESS i"},
		},
		"configured": {
			create, []any{func(context.Context, Request) (Progress, error) {
				p := busy(time.Second, `1`)
				p.Configured = true
				return p, nil
			}, busy(time.Second, `2`), done()}, []time.Duration{time.Second, time.Second},
			[]string{`CREATE id="" callback= attempts=0`, `CREATE id="i" callback=1 attempts=0`, `CREATE id="i" callback=2 attempts=0`},
			[]string{"IN_PROGRESS i configured", "SUCCESS i configured"},
		},
		"read after create": {
			with(create, readAfter), []any{done(), done()}, nil,
			[]string{`CREATE id="" callback= attempts=0`, `READ id="i" callback= attempts=0`}, []string{"IN_PROGRESS i", "SUCCESS i"},
		},
		"read after update fails": {
			with(update, readAfter), []any{done(), failed(invoke.Throttling), failed(invoke.NotFound)}, []time.Duration{time.Second},
			[]string{`UPDATE id="i" callback= attempts=0`, `READ id="i" callback= attempts=0`, `READ id="i" callback= attempts=1`},
			[]string{"FAILED i NotFound m"},
		},
		"no read after delete": {with(remove, readAfter), []any{done()}, nil, []string{`DELETE id="i" callback= attempts=0`}, []string{"SUCCESS i"}},
		"read":                 {read, []any{done()}, nil, []string{`READ id="i" callback= attempts=0`}, []string{"SUCCESS i"}},
		"fails":                {remove, []any{failed(invoke.NotFound)}, nil, []string{`DELETE id="i" callback= attempts=0`}, []string{"FAILED i NotFound m"}},
		"retried, the same call": {
			update, []any{busy(time.Second, `"c"`), failed(invoke.Throttling), failed("NetworkFailure"), failed("ResourceConflict"), failed("ServiceInternalError"), done()},
			[]time.Duration{time.Second, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second},
			[]string{
				`UPDATE id="i" callback= attempts=0`, `UPDATE id="i" callback="c" attempts=0`, `UPDATE id="i" callback="c" attempts=1`,
				`UPDATE id="i" callback="c" attempts=2`, `UPDATE id="i" callback="c" attempts=3`, `UPDATE id="i" callback="c" attempts=4`,
			},
			[]string{"SUCCESS i"},
		},
		"not retried": {
			with(update, func(s *Spec) { s.NoRetries = true }), []any{failed(invoke.Throttling)}, nil,
			[]string{`UPDATE id="i" callback= attempts=0`}, []string{"FAILED i Throttling m"},
		},
		"retried until its inputs are ready": {
			with(create, func(s *Spec) { s.AwaitInputs = true }), []any{failed(invoke.NotFound), failed(invoke.NotStabilized), done()}, []time.Duration{time.Second, 2 * time.Second},
			[]string{`CREATE id="" callback= attempts=0`, `CREATE id="" callback= attempts=1`, `CREATE id="" callback= attempts=2`}, []string{"SUCCESS i"},
		},
		"no input is waited for": {
			with(create, func(s *Spec) { s.AwaitInputs = true }), []any{failed(invoke.InvalidRequest)}, nil,
			[]string{`CREATE id="" callback= attempts=0`}, []string{"FAILED InvalidRequest m"},
		},
		"an odd status": {
			update, []any{Progress{Status: "BORED"}}, nil, []string{`UPDATE id="i" callback= attempts=0`},
			[]string{`FAILED i InternalFailure the provider of Acme::Test::Thing reported the status "BORED"`},
		},
		"an unknown type": {
			with(update, func(s *Spec) { s.Request.Type = "No::Such::Type" }), nil, nil, nil,
			[]string{"FAILED i InvalidRequest unrecognized resource type: No::Such::Type"},
		},
		"texts that no database holds": {
			create, []any{Progress{Status: cfn.OperationStatusFailed, Identifier: "a\x00b", ErrorCode: "X", Message: "\xff\x00"}}, nil,
			[]string{`CREATE id="" callback= attempts=0`}, []string{"FAILED ab X \uFFFD"},
		},
	}
	eachStore(t, func(t *testing.T, g *rig) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				g.t, g.calls, g.heard, g.answers = t, nil, nil, test.answers
				id := g.begin(test.spec)
				waits := g.finish(id)
				if fmt.Sprint(waits) != fmt.Sprint(test.waits) {
					t.Errorf("waited %v, want %v", waits, test.waits)
				}
				g.expectCalls(test.calls...)
				g.expectStory(test.story...)
				if g.turn(id) != -1 || len(g.calls) != len(test.calls) {
					t.Error("an operation that has ended is called again")
				}
			})
		}
	})
}

// TestRetriesAreBounded has every call throttled: the sixth ends the operation.
func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.configure(func(c *Config) {
			c.TimeScale, c.Retries = 100, Retries{Max: 3, First: time.Second, Last: 3 * time.Second}
		})
		g.answers = []any{busy(10*time.Second, `1`), failed(invoke.Throttling), failed(invoke.Throttling), failed(invoke.Throttling), failed(invoke.Throttling)}
		waits := g.finish(g.begin(Spec{Request: Request{Action: invoke.Delete, Identifier: "i"}}))
		if want := "[100ms 10ms 20ms 30ms]"; fmt.Sprint(waits) != want {
			t.Errorf("waited %v, want %s: a hundredth", waits, want)
		}
		g.expectStory("FAILED i Throttling m")
	})
}

// TestRetryOfState: the call that is waited for is known with its number, code and time, until
// another answer comes.
func TestRetryOfState(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.answers = []any{failed(invoke.Throttling), failed("ServiceInternalError"), busy(time.Second, `1`), done()}
		id := g.begin(Spec{Request: Request{Action: invoke.Update, Identifier: "i"}})
		for i, want := range []string{"Throttling 1/5 in 1s", "ServiceInternalError 2/5 in 2s", "none", "none"} {
			wait := g.turn(id)
			state, err := g.Get(t.Context(), id)
			if err != nil || state == nil {
				t.Fatal(err)
			}
			got := "none"
			if r := state.Retry; r != nil {
				got = fmt.Sprintf("%s %d/%d in %s", r.Code, r.Count, r.Max, r.At.Sub(g.now()).Round(time.Millisecond))
			}
			if got != want {
				t.Errorf("after %d calls: %s, want %s", i+1, got, want)
			}
			g.pass(max(0, wait))
		}
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		late := func(id string) string {
			state, err := g.Get(t.Context(), id)
			if err != nil || state == nil {
				t.Fatal(err)
			}
			return "FAILED i NotStabilized Resource timed out waiting for completion (RequestToken: " + state.Request.Token + ")"
		}
		// The create handler has 10 minutes; the wait is cut at the deadline.
		g.answers = []any{busy(6*time.Minute, `1`), busy(6*time.Minute, `2`)}
		id := g.begin(Spec{Request: Request{Action: invoke.Create, Token: "t"}})
		begun := g.now()
		if waits := g.finish(id); len(waits) != 2 || g.now().Sub(begun).Round(time.Second) != 10*time.Minute {
			t.Errorf("waited %v, ended after %s", waits, g.now().Sub(begun))
		}
		g.expectStory("IN_PROGRESS i", "FAILED i NotStabilized Resource timed out waiting for completion (RequestToken: t)")

		// A provider that cannot say anything is asked until then, and no longer than that.
		g.heard, g.answers = nil, []any{errors.New("away"), errors.New("still away")}
		id = g.begin(Spec{Request: Request{Action: invoke.Delete, Identifier: "i", Token: "d"}})
		for range 2 {
			if _, err := g.run(t.Context(), id); err == nil || !strings.Contains(err.Error(), "away") {
				t.Fatalf("error %v, want that of the provider", err)
			}
		}
		g.expectStory()
		g.pass(2 * time.Hour)
		if g.turn(id) != -1 {
			t.Error("the operation goes on after 120 minutes")
		}
		g.expectStory(strings.Replace(late(id), "RequestToken: )", "RequestToken: d)", 1))

		// Types that cannot be looked up for as long.
		g.heard, g.unknown = nil, errors.New("no database")
		id = g.begin(Spec{Request: Request{Action: invoke.Delete, Identifier: "i", Token: "u"}})
		if _, err := g.run(t.Context(), id); err == nil {
			t.Error("a failed lookup of the type is no error")
		}
		g.pass(2 * time.Hour)
		g.finish(id)
		g.expectStory("FAILED i NotStabilized Resource timed out waiting for completion (RequestToken: u)")
	})
}

// TestLostTime: time in which no call could be made does not count towards the deadline.
func TestLostTime(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		// The create handler has 10 minutes. Nothing runs for two hours before the first call,
		// and the clock is set an hour forward during the second one.
		forward := func(context.Context, Request) (Progress, error) {
			g.pass(time.Hour)
			return busy(4*time.Minute, `2`), nil
		}
		g.answers = []any{busy(4*time.Minute, `1`), forward, busy(4*time.Minute, `3`)}
		id := g.begin(Spec{Request: Request{Action: invoke.Create, Token: "t"}})
		g.pass(2 * time.Hour)
		g.finish(id)
		g.expectStory("IN_PROGRESS i", "FAILED i NotStabilized Resource timed out waiting for completion (RequestToken: t)")
		if len(g.calls) != 3 {
			t.Errorf("%d calls in 10 minutes at 0, 4 and 8, want 3", len(g.calls))
		}
		// What is overdue is not overdue more with each attempt.
		g.heard, g.answers = nil, []any{errors.New("away")}
		id = g.begin(Spec{Request: Request{Action: invoke.Create, Token: "u"}})
		g.pass(2 * time.Hour)
		if _, err := g.run(t.Context(), id); err == nil {
			t.Error("the error of a provider is lost")
		}
		g.pass(11 * time.Minute)
		g.finish(id)
		g.expectStory("FAILED NotStabilized Resource timed out waiting for completion (RequestToken: u)")
		if len(g.late) != 0 {
			t.Errorf("left behind: %v", g.late)
		}
	})
}

// TestModels follows a model through an operation: recast, sent again, and gone from the
// rows afterwards.
func TestModels(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.configure(func(c *Config) {
			c.Prepare = func(_ context.Context, r Request) (Request, error) {
				if r.Desired["Secret"] == "{{resolve:ssm:bad}}" {
					return r, awswire.ValidationErrorf("no such parameter")
				}
				r.Desired = map[string]any{"Secret": "s3cr3t", "Size": r.Desired["Size"]}
				return r, nil
			}
		})
		g.answers = []any{busy(time.Second, `{"at": "s3cr3t"}`), done()}
		id := g.begin(Spec{Request: Request{Action: invoke.Create, Desired: map[string]any{"Secret": "{{resolve:ssm:key}}", "Size": 9007199254740993}}})
		g.turn(id)
		var rows string
		if err := store.Query(t.Context(), g.store.Read(), &rows, "SELECT request || event FROM operations WHERE id = ?", id); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(rows, "s3cr3t") || strings.Contains(rows, "Size") {
			t.Errorf("the row is not sealed: %s", rows)
		}
		g.pass(time.Second)
		g.turn(id)
		if got := g.calls[1]; got.Model["Size"] != json.Number("7") || got.Desired["Size"] != json.Number("9007199254740993") || got.Desired["Secret"] != "s3cr3t" {
			t.Errorf("the second call has the model %v and wants %v", got.Model, got.Desired)
		}
		for _, call := range g.calls {
			if call.Version != "00000001" {
				t.Errorf("a call has the version %q, want the one that was in use at the first", call.Version)
			}
		}
		if got := g.heard[0].Request.Desired["Secret"]; got != "{{resolve:ssm:key}}" {
			t.Errorf("the owner heard of the secret %v, want the reference", got)
		}
		if got := g.heard[1].Progress.Model["Id"]; got != "i" {
			t.Errorf("the owner heard of the model %v", g.heard[1].Progress.Model)
		}
		state, err := g.Get(t.Context(), id)
		if err != nil || state.Request.Desired != nil || state.Progress.Model != nil || state.Progress.Identifier != "i" {
			t.Errorf("%+v is kept of an operation that has ended, %v", state, err)
		}

		g.heard = nil
		g.finish(g.begin(Spec{Request: Request{Action: invoke.Create, Desired: map[string]any{"Secret": "{{resolve:ssm:bad}}"}}}))
		g.expectStory("FAILED no such parameter")
	})
}

// rot is a sealer that anybody can open.
type rot struct{}

func (rot) Seal(_, text string) string {
	return strings.Map(func(c rune) rune { return c + 1 }, text)
}

func (rot) Open(_, sealed string) (string, error) {
	return strings.Map(func(c rune) rune { return c - 1 }, sealed), nil
}

func TestCancel(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		// Waiting for the next call: it is not made.
		g.answers = []any{busy(time.Minute, `1`)}
		id := g.begin(Spec{Request: Request{Action: invoke.Create}})
		g.turn(id)
		g.cancel(id)
		g.cancel("nothing")
		if g.turn(id) != -1 {
			t.Error("a cancelled operation goes on")
		}
		g.expectStory("IN_PROGRESS i", "FAILED i The operation was cancelled. cancelled")
		g.cancel(id)
		if g.turn(id) != -1 || len(g.calls) != 1 {
			t.Error("an operation is cancelled twice")
		}

		// A create whose answer is not known may have made something: it is asked for once.
		g.heard, g.calls, g.answers = nil, nil, []any{busy(0, `1`)}
		id = g.begin(Spec{Request: Request{Action: invoke.Create}})
		g.cancel(id)
		g.finish(id)
		g.expectStory("FAILED i The operation was cancelled. cancelled")
		g.expectCalls(`CREATE id="" callback= attempts=0`)

		// One that says nothing new is not asked again.
		g.heard, g.calls, g.answers = nil, nil, []any{Progress{Status: cfn.OperationStatusInProgress}}
		id = g.begin(Spec{Request: Request{Action: invoke.Create}})
		g.cancel(id)
		g.finish(id)
		g.expectStory("FAILED The operation was cancelled. cancelled")

		// Cancelled during a call: its answer counts if it ends the operation.
		for _, answer := range []Progress{busy(0, `1`), done(), failed(invoke.NotFound)} {
			g.heard = nil
			g.answers = []any{func(context.Context, Request) (Progress, error) {
				g.cancel(id)
				return answer, nil
			}}
			id = g.begin(Spec{Request: Request{Action: invoke.Update, Identifier: "i"}})
			g.finish(id)
			switch answer.Status {
			case cfn.OperationStatusInProgress:
				g.expectStory("FAILED i The operation was cancelled. cancelled")
			case cfn.OperationStatusSuccess:
				g.expectStory("SUCCESS i")
			default:
				g.expectStory("FAILED i NotFound m")
			}
		}

		// Cancelled before the READ: the resource is there.
		g.heard = nil
		g.answers = []any{func(context.Context, Request) (Progress, error) {
			g.cancel(id)
			return done(), nil
		}}
		id = g.begin(Spec{Request: Request{Action: invoke.Create}, ReadAfter: true})
		g.finish(id)
		g.expectStory("IN_PROGRESS i", "SUCCESS i")
	})
}

// TestAnswersAreNotLost stops between a call and its transaction, and in the transaction.
func TestAnswersAreNotLost(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		// The process dies with the answer: the same call again.
		ctx, die := context.WithCancel(t.Context())
		g.answers = []any{func(context.Context, Request) (Progress, error) {
			die()
			return Progress{}, ctx.Err()
		}, done()}
		id := g.begin(Spec{Request: Request{Action: invoke.Create}})
		if _, err := g.run(ctx, id); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want that of the context", err)
		}
		g.finish(id)
		g.expectCalls(`CREATE id="" callback= attempts=0`, `CREATE id="" callback= attempts=0`)
		g.expectStory("SUCCESS i")

		// The process stops while the handler answers: the answer is written.
		ctx, die = context.WithCancel(t.Context())
		g.heard, g.calls, g.answers = nil, nil, []any{func(context.Context, Request) (Progress, error) {
			die()
			return done(), nil
		}}
		id = g.begin(Spec{Request: Request{Action: invoke.Create}})
		if _, err := g.run(ctx, id); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		g.expectStory("SUCCESS i")

		// The transaction fails three times: it is tried again, without another call.
		g.heard, g.calls, g.answers, g.refuse = nil, nil, []any{done()}, 3
		g.finish(g.begin(Spec{Request: Request{Action: invoke.Create}}))
		g.expectCalls(`CREATE id="" callback= attempts=0`)
		g.expectStory("SUCCESS i")

		// Another node was faster.
		g.heard, g.calls = nil, nil
		g.answers = []any{func(ctx context.Context, _ Request) (Progress, error) {
			_, err := g.run(ctx, id)
			return Progress{Status: cfn.OperationStatusSuccess, Identifier: "late"}, err
		}, done()}
		id = g.begin(Spec{Request: Request{Action: invoke.Create}})
		g.finish(id)
		g.expectStory("SUCCESS i")
	})
}

func TestBeginRefusals(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		for name, spec := range map[string]Spec{
			"owner":  {Owner: "nobody", Request: Request{Action: invoke.Create, Type: thing}},
			"action": {Owner: "test", Request: Request{Action: invoke.List, Type: thing}},
			"type":   {Owner: "test", Request: Request{Action: invoke.Create}},
		} {
			err := g.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				_, err := g.Begin(ctx, tx, spec)
				return err
			})
			if err == nil {
				t.Errorf("%s: begun", name)
			}
		}
	})
}

// TestWorkers has the store run many operations that were begun in one transaction.
func TestWorkers(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.configure(func(c *Config) { c.Now = nil })
		const count = 250
		var calls atomic.Int64
		g.typ.Provider = providerFunc(func(_ context.Context, r Request) (Progress, error) {
			calls.Add(1)
			if r.Callback == nil {
				return busy(10*time.Millisecond, `1`), nil
			}
			return done(), nil
		})
		if err := g.store.Work(t.Context(), g.Workers()); err != nil {
			t.Fatal(err)
		}
		specs := make([]Spec, count)
		for i := range specs {
			specs[i] = Spec{Owner: "test", Key: fmt.Sprint(i), Request: Request{Caller: owner, Action: invoke.Create, Type: thing}, ReadAfter: true}
		}
		err := g.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := g.Begin(ctx, tx, specs...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		fixtures.Await(t, "the end of all operations", func() bool {
			left, err := g.InProgress(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return left == 0
		})
		ended := map[string]int{}
		for _, s := range g.heard {
			if s.Progress.Terminal() {
				ended[s.Key]++
			}
		}
		if len(ended) != count {
			t.Errorf("%d operations ended, want %d", len(ended), count)
		}
		if got := calls.Load(); got != 4*count {
			t.Errorf("%d calls, want %d: each operation and its READ in two", got, 4*count)
		}
		if err := g.Expire(t.Context(), time.Now().Add(keepOperations+time.Hour)); err != nil {
			t.Fatal(err)
		}
		if n, err := store.Count(t.Context(), g.store.Read(), "FROM operations"); n != 0 || err != nil {
			t.Errorf("%d rows are left, %v", n, err)
		}
	})
}

type providerFunc func(context.Context, Request) (Progress, error)

func (f providerFunc) Call(ctx context.Context, r Request) (Progress, error) { return f(ctx, r) }

// TestReports has a handler report on an operation of the engine, with its token.
func TestReports(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		report := func(caller awswire.Caller) error {
			_, err := g.tokens.RecordHandlerProgress(t.Context(), caller, &cloudformation.RecordHandlerProgressInput{
				BearerToken: aws.String("bearer"), OperationStatus: cfn.OperationStatusInProgress,
			})
			return err
		}
		id := g.begin(Spec{Request: Request{Action: invoke.Create, Token: "bearer"}})
		g.answers = []any{func(context.Context, Request) (Progress, error) { return done(), report(owner) }}
		refused(t, report(reader), "ValidationError", "belongs to no running operation")
		g.finish(id)
		g.expectStory("SUCCESS i")
		refused(t, report(owner), "ValidationError", "belongs to no running operation")
		if n, err := store.Count(t.Context(), g.store.Read(), "FROM handler_progress"); n != 0 || err != nil {
			t.Errorf("%d bearer tokens are left, %v", n, err)
		}
	})
}

// TestClockGoesBack sets the clock back by an hour between two calls: the next one is not an hour
// late.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.answers = []any{busy(10*time.Second, `1`), busy(10*time.Second, `2`), done()}
		id := g.begin(Spec{Request: Request{Action: invoke.Update, Identifier: "i"}})
		g.pass(-time.Hour) // before the first one
		for i := range 2 {
			if wait := g.turn(id); wait.Round(time.Second) != 10*time.Second {
				t.Fatalf("call %d: waits for %s", i, wait)
			}
			g.pass(-time.Second)
			if wait := g.turn(id); wait.Round(time.Second) != 11*time.Second || len(g.calls) != i+1 {
				t.Errorf("a second that the clock is put back is worth a call: %d, waits for %s", len(g.calls), wait)
			}
			g.pass(-time.Hour)
		}
		if wait := g.turn(id); wait != -1 {
			t.Errorf("waits for %s", wait)
		}
		g.expectStory("SUCCESS i")
	})
}
