package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// operate calls a create handler until it ends, as the service does, and
// returns the last event and the callback contexts in between.
func operate(t *testing.T, create widgetFunc) (event map[string]any, contexts []string) {
	t.Helper()
	f, err := New(one(create))
	if err != nil {
		t.Fatal(err)
	}
	memory, model := "null", `{"Name":"ab"}`
	for range 1000 {
		event = call(t, f, `{"action":"CREATE","callbackContext":`+memory+`,"requestData":{"resourceProperties":`+model+`}}`)
		if event["status"] != "IN_PROGRESS" {
			return event, contexts
		}
		next, _ := json.Marshal(event["callbackContext"])
		again, _ := json.Marshal(event["resourceModel"])
		memory, model = string(next), string(again)
		contexts = append(contexts, memory)
	}
	t.Fatal("no end")
	return nil, nil
}

func TestChainRunsEachStepOnce(t *testing.T) {
	type created struct {
		ID   string
		When time.Time
	}
	var log []string
	polls := 0
	event, contexts := operate(t, func(ctx context.Context, req widgetRequest) widgetEvent {
		m := req.Desired
		chain := req.Chain(ctx, &m)
		out, ok := Call(chain, "create", func(context.Context) (created, error) {
			log = append(log, "create")
			return created{"w-1", time.Unix(1<<33, 5).UTC()}, nil
		})
		if ok {
			m.ID = &out.ID
			if !out.When.Equal(time.Unix(1<<33, 5)) {
				t.Errorf("result came back as %v", out)
			}
		}
		chain.Stabilize("active", func(context.Context) (bool, error) {
			polls++
			log = append(log, "active?")
			return polls == 3, nil
		})
		chain.Do("tag", func(context.Context) error {
			log = append(log, "tag")
			return nil
		})
		return chain.Done(func(context.Context) widgetEvent {
			log = append(log, "done")
			return req.Success(m)
		})
	})
	wantEvent(t, event, `{"status":"SUCCESS","callbackDelaySeconds":0,"resourceModel":{"Id":"w-1","Name":"ab"}}`)
	if got := strings.Join(log, " "); got != "create active? active? active? tag done" {
		t.Error(got)
	}
	want := []string{
		`{"$steps":{"active":{"attempts":1},"create":{"done":true,"result":{"ID":"w-1","When":"2242-03-16T12:56:32.000000005Z"}}}}`,
		`{"$steps":{"active":{"attempts":2},"create":{"done":true,"result":{"ID":"w-1","When":"2242-03-16T12:56:32.000000005Z"}}}}`,
	}
	if !reflect.DeepEqual(contexts, want) {
		t.Errorf("got  %s\nwant %s", contexts, want)
	}
}

type throttled struct{}

func (throttled) Error() string        { return "operation error Kinesis" }
func (throttled) ErrorCode() string    { return "ThrottlingException" }
func (throttled) ErrorMessage() string { return "slow down" }

func TestChainErrors(t *testing.T) {
	busy := errors.New("busy")
	tests := []struct {
		name     string
		policy   Policy
		failures []error // of the second step, in turn; then it succeeds
		want     string
		calls    int
	}{
		{"throttling is tried again", Policy{}, []error{throttled{}, statusErr(503), statusErr(429), statusErr(504)}, "SUCCESS  ", 5},
		{"what the filter picks is tried again", Policy{Retry: func(err error) bool { return errors.Is(err, busy) }}, []error{fmt.Errorf("wrapped: %w", busy)}, "SUCCESS  ", 2},
		{"anything else fails", Policy{}, []error{busy}, "FAILED InternalFailure busy", 1},
		{"a status gives the code", Policy{}, []error{statusErr(404)}, "FAILED NotFound status 404", 1},
		{"the error handler may accept", Policy{HandleError: func(error) error { return nil }}, []error{busy}, "SUCCESS  ", 1},
		{"the error handler may translate", Policy{HandleError: func(err error) error { return Errorf(CodeResourceConflict, "because: %w", err) }}, []error{busy}, "FAILED ResourceConflict because: busy", 1},
		{"waiting ends", Policy{Backoff: Constant(time.Second, 2*time.Second)}, []error{throttled{}, throttled{}, throttled{}, throttled{}},
			`FAILED NotStabilized Resource of type 'Initech::TPS::Widget' did not stabilize. Step "second" was not finished after 3 attempts. Last error: slow down (ThrottlingException)`, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			calls, firsts := 0, 0
			event, _ := operate(t, func(ctx context.Context, req widgetRequest) widgetEvent {
				m := req.Desired
				chain := req.Chain(ctx, &m)
				chain.Do("first", func(context.Context) error { firsts++; return nil })
				m.ID = ptr("w-1")
				_, ok := Call(chain.With(test.policy), "second", func(context.Context) (int, error) {
					calls++
					if calls <= len(test.failures) {
						return 0, test.failures[calls-1]
					}
					return 7, nil
				})
				chain.Do("third", func(context.Context) error {
					if !ok {
						t.Error("a step ran after the chain stopped")
					}
					return nil
				})
				return chain.Done(func(context.Context) widgetEvent { return req.Success(m) })
			})
			text := func(v any) string {
				if v == nil {
					return ""
				}
				return fmt.Sprint(v)
			}
			if got := fmt.Sprintf("%s %s %s", text(event["status"]), text(event["errorCode"]), text(event["message"])); got != test.want || calls != test.calls || firsts != 1 {
				t.Errorf("got  %s after %d calls and %d first steps\nwant %s after %d", got, calls, firsts, test.want, test.calls)
			}
			if model, _ := event["resourceModel"].(map[string]any); model["Id"] != "w-1" {
				t.Errorf("the model lost its identifier: %v", model)
			}
		})
	}
}

func TestChainFaults(t *testing.T) {
	nothing := func(context.Context) error { return nil }
	tests := []struct {
		name  string
		steps func(chain *Chain[widgetEvent], req widgetRequest)
		want  string
	}{
		{"same name twice", func(chain *Chain[widgetEvent], _ widgetRequest) {
			chain.Do("a", nothing)
			chain.Do("a", nothing)
		}, `the handler has two steps named "a": each needs a name of its own`},
		{"no name", func(chain *Chain[widgetEvent], _ widgetRequest) { chain.Do("", nothing) }, `the handler has two steps named "": each needs a name of its own`},
		{"result without a JSON form", func(chain *Chain[widgetEvent], _ widgetRequest) {
			Call(chain, "a", func(context.Context) (chan int, error) { return make(chan int), nil })
		}, `step "a": store the result: json: unsupported type: chan int`},
		{"stored result of another type", func(_ *Chain[widgetEvent], req widgetRequest) {
			if err := json.Unmarshal([]byte(`{"$steps":{"a":{"done":true,"result":"text"}}}`), req.Memory); err != nil {
				t.Error(err)
			}
			chain := req.Chain(context.Background(), &widget{})
			Call(chain, "a", func(context.Context) (int, error) { return 0, nil })
			chain.Fail(errors.New("ignored: the chain has stopped"))
			panic(chain.Done(nil).Message)
		}, `The handler stopped unexpectedly: step "a": read the stored result: json: cannot unmarshal string into Go value of type int`},
		{"failed between steps", func(chain *Chain[widgetEvent], _ widgetRequest) {
			chain.Fail(errors.New("between"))
			if chain.Do("never", func(context.Context) error { t.Error("ran"); return nil }) {
				t.Error("a stopped chain went on")
			}
		}, "between"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			event, _ := operate(t, func(ctx context.Context, req widgetRequest) widgetEvent {
				chain := req.Chain(ctx, &req.Desired)
				test.steps(chain, req)
				return chain.Done(func(context.Context) widgetEvent { return req.Success(req.Desired) })
			})
			if event["status"] != "FAILED" || event["errorCode"] != "InternalFailure" || event["message"] != test.want {
				t.Errorf("got %v\nwant %s", event, test.want)
			}
		})
	}
}

func TestChainKeepsTheAuthorsContext(t *testing.T) {
	_, contexts := operate(t, func(ctx context.Context, req widgetRequest) widgetEvent {
		n := 0
		if _, err := req.Memory.Get("mine", &n); err != nil {
			return req.Fail(err)
		}
		if err := req.Memory.Set("mine", n+1); err != nil {
			return req.Fail(err)
		}
		req.Desired.ID = ptr("w-1")
		chain := req.Chain(ctx, &req.Desired)
		chain.Stabilize("wait", func(context.Context) (bool, error) { return n == 2, nil })
		return chain.Done(func(context.Context) widgetEvent { return req.Success(req.Desired) })
	})
	if got := strings.Join(contexts, " "); got != `{"$steps":{"wait":{"attempts":1}},"mine":1} {"$steps":{"wait":{"attempts":2}},"mine":2}` {
		t.Error(got)
	}
}

// TestMemoryInsideStabilize keeps a value that each try of a step changes. One
// wait is spent inside the call, the next one ends it.
func TestMemoryInsideStabilize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		event, contexts := operate(t, func(ctx context.Context, req widgetRequest) widgetEvent {
			req.Desired.ID = ptr("w-1")
			chain := req.Chain(ctx, &req.Desired).With(Policy{WaitLocally: time.Second, Backoff: Blended(Constant(time.Second, time.Second), Constant(time.Minute, time.Minute))})
			chain.Stabilize("wait", func(context.Context) (bool, error) {
				asked := 0
				if _, err := req.Memory.Get("asked", &asked); err != nil {
					return false, err
				}
				return asked == 20, req.Memory.Set("asked", asked+10)
			})
			return chain.Done(func(context.Context) widgetEvent { return req.Success(req.Desired) })
		})
		if got := strings.Join(contexts, " "); event["status"] != "SUCCESS" || got != `{"$steps":{"wait":{"attempts":2}},"asked":20}` {
			t.Errorf("%v %s", event, got)
		}
	})
}

func TestMemory(t *testing.T) {
	m := NewMemory()
	if err := m.Set("a", map[string]int{"n": 1}); err != nil {
		t.Fatal(err)
	}
	if err := m.Set("bad", func() {}); err == nil {
		t.Error("stored a function")
	}
	if err := m.Set(stepsKey, 1); err == nil {
		t.Error("stored under the key of the chains")
	}
	var text string
	if ok, err := m.Get("a", &text); ok || err == nil {
		t.Error("read an object as a string")
	}
	if ok, err := m.Get("b", &text); ok || err != nil {
		t.Error("found what was never stored")
	}
	m.Delete("a")
	if got, err := json.Marshal(m); string(got) != "{}" || err != nil {
		t.Errorf("%s %v", got, err)
	}
	if got, err := json.Marshal(&Memory{}); string(got) != "{}" || err != nil {
		t.Errorf("%s %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"$steps":null}`), m); err != nil || m.steps == nil {
		t.Error(err)
	}
	if err := m.UnmarshalJSON([]byte("null")); err != nil || m.values == nil {
		t.Error(err)
	}
}

func TestChainWaitsLocally(t *testing.T) {
	tests := []struct {
		name   string
		left   time.Duration // until the deadline; 0 for none
		local  time.Duration
		inside time.Duration
		status Status
	}{
		{"when asked to", time.Minute, 2 * time.Second, 6 * time.Second, StatusSuccess},
		{"without a deadline", 0, 2 * time.Second, 6 * time.Second, StatusSuccess},
		{"not by default", time.Minute, 0, 0, StatusInProgress},
		{"not for long delays", time.Minute, time.Second, 0, StatusInProgress},
		{"not near the deadline", 5 * time.Second, 2 * time.Second, 0, StatusInProgress},
		{"until the deadline comes near", 8 * time.Second, 2 * time.Second, 4 * time.Second, StatusInProgress},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.left > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.left)
					defer cancel()
				}
				start, polls := time.Now(), 0
				req := widgetRequest{Memory: NewMemory()}
				chain := req.Chain(ctx, &req.Desired).With(Policy{Backoff: Constant(2*time.Second, time.Minute), WaitLocally: test.local})
				chain.Stabilize("wait", func(context.Context) (bool, error) { polls++; return polls == 4, nil })
				event := chain.Done(func(context.Context) widgetEvent { return req.Success(req.Desired) })
				if waited := time.Since(start); event.Status != test.status || waited != test.inside {
					t.Errorf("%s after %v, want %s after %v", event.Status, waited, test.status, test.inside)
				}
			})
		})
	}
}

func TestChainStopsWaitingWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		req := widgetRequest{}
		chain := req.Chain(ctx, &req.Desired).With(Policy{WaitLocally: time.Minute})
		chain.Stabilize("wait", func(context.Context) (bool, error) { return false, nil })
		if event := chain.Done(nil); event.Status != StatusInProgress || event.Delay != 5*time.Second {
			t.Errorf("%+v", event)
		}
	})
}

func TestChainOfHook(t *testing.T) {
	f, err := New(Hook[widgetConfig]{TypeName: "Initech::TPS::Hook", LogHandler: slog.DiscardHandler, PreCreate: func(ctx context.Context, req HookRequest[widgetConfig]) HookEvent {
		chain := req.Chain(ctx).With(Policy{Backoff: Constant(time.Second, time.Second)})
		chain.Stabilize("wait", func(context.Context) (bool, error) { return false, nil })
		return chain.Done(nil)
	}})
	if err != nil {
		t.Fatal(err)
	}
	first := call(t, f, `{"actionInvocationPoint":"CREATE_PRE_PROVISION","clientRequestToken":"t","requestContext":{"callbackContext":null}}`)
	wantEvent(t, first, `{"clientRequestToken":"t","hookStatus":"IN_PROGRESS","callbackContext":{"$steps":{"wait":{"attempts":1}}},"callbackDelaySeconds":1}`)
	last := call(t, f, `{"actionInvocationPoint":"CREATE_PRE_PROVISION","requestContext":{"callbackContext":{"$steps":{"wait":{"attempts":1}}}}}`)
	wantEvent(t, last, `{"hookStatus":"FAILED","errorCode":"NotStabilized","message":"Hook of type 'Initech::TPS::Hook' did not stabilize. Step \"wait\" was not finished after 2 attempts.","callbackDelaySeconds":0}`)
}

// TestChainWaitsForTheIdentifier: as long as the model of a CREATE lacks the identifier, waits are spent inside
// the call, and a first step that does not succeed by its deadline fails the operation.
func TestChainWaitsForTheIdentifier(t *testing.T) {
	const limit = time.Minute
	for _, test := range []struct {
		name     string
		action   string
		refusals int           // of the first step
		model    string        // of the request
		inside   time.Duration // that the call takes
		want     string
	}{
		{"throttled for a while", "CREATE", 3, `{"Name":"ab"}`, 15 * time.Second, `{"status":"SUCCESS","callbackDelaySeconds":0,"resourceModel":{"Id":"w-1","Name":"ab"}}`},
		{"throttled until the deadline", "CREATE", 100, `{"Name":"ab"}`, 55 * time.Second, `{"status":"FAILED","errorCode":"Throttling","message":"slow down (ThrottlingException)","callbackDelaySeconds":0}`},
		{"an update has the identifier", "UPDATE", 100, `{"Id":"w-1","Name":"ab"}`, 0, `{"status":"IN_PROGRESS","callbackContext":{"$steps":{"create":{"attempts":1}}},"callbackDelaySeconds":5,"resourceModel":{"Id":"w-1","Name":"ab"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				calls := 0
				f, err := New(one(func(ctx context.Context, req widgetRequest) widgetEvent {
					m := req.Desired
					chain := req.Chain(ctx, &m)
					if id, ok := Call(chain, "create", func(context.Context) (string, error) {
						if calls++; calls <= test.refusals {
							return "", throttled{}
						}
						return "w-1", nil
					}); ok {
						m.ID = &id
					}
					return chain.Done(func(context.Context) widgetEvent { return req.Success(m) })
				}))
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				reply, err := f.Call(ctx, []byte(`{"action":"`+test.action+`","requestData":{"resourceProperties":`+test.model+`}}`))
				if err != nil {
					t.Fatal(err)
				}
				var event map[string]any
				if err := json.Unmarshal(reply, &event); err != nil {
					t.Fatal(err)
				}
				wantEvent(t, event, test.want)
				if waited := time.Since(start); waited != test.inside {
					t.Errorf("waited %v inside, want %v", waited, test.inside)
				}
			})
		})
	}
}

// TestChainKeepsWhatItBegan: once a step is done, a model without the identifier does not fail the operation,
// which would lose what the step has made.
func TestChainKeepsWhatItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		f, err := New(one(func(ctx context.Context, req widgetRequest) widgetEvent {
			chain := req.Chain(ctx, &req.Desired)
			chain.Do("begin", func(context.Context) error { return nil })
			chain.Do("name", func(context.Context) error { return throttled{} })
			return chain.Done(nil)
		}))
		if err != nil {
			t.Fatal(err)
		}
		reply, err := f.Call(ctx, []byte(`{"action":"CREATE","requestData":{"resourceProperties":{"Name":"ab"}}}`))
		if err != nil || !strings.Contains(string(reply), `"status":"IN_PROGRESS"`) {
			t.Errorf("%s, %v", reply, err)
		}
	})
}

func TestRetry(t *testing.T) {
	busy := errors.New("busy")
	for _, test := range []struct {
		name     string
		policy   Policy
		left     time.Duration // until the deadline
		failures []error
		want     string
		waited   time.Duration
	}{
		{"throttling", Policy{}, 30 * time.Second, []error{throttled{}, statusErr(503), statusErr(429)}, "<nil>", 1750 * time.Millisecond},
		{"anything else", Policy{}, 30 * time.Second, []error{busy}, "busy", 0},
		{"what the filter picks", Policy{Retry: func(err error) bool { return errors.Is(err, busy) }}, 30 * time.Second, []error{busy}, "<nil>", 250 * time.Millisecond},
		{"until the deadline comes near", Policy{}, 3 * time.Second, []error{throttled{}, throttled{}, throttled{}, throttled{}, throttled{}}, "operation error Kinesis", 1750 * time.Millisecond},
		{"until the backoff gives up", Policy{Backoff: Constant(time.Second, 2*time.Second)}, 30 * time.Second, []error{throttled{}, throttled{}, throttled{}}, "operation error Kinesis", 2 * time.Second},
		{"the error handler sees the last error", Policy{HandleError: func(err error) error { return fmt.Errorf("find: %w", err) }}, 30 * time.Second, []error{throttled{}, busy}, "find: busy", 250 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.left)
				defer cancel()
				start, calls := time.Now(), 0
				got, err := Retry(ctx, test.policy, func(context.Context) (int, error) {
					if calls++; calls <= len(test.failures) {
						return 0, test.failures[calls-1]
					}
					return 7, nil
				})
				if fmt.Sprint(err) != test.want || time.Since(start) != test.waited || err == nil && got != 7 {
					t.Errorf("%d, %v after %v; want %s after %v", got, err, time.Since(start), test.want, test.waited)
				}
			})
		})
	}
}
