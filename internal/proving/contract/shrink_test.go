package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A wrongReader answers every READ with another Title than was requested, each time a
// different one, and takes its time for every call.
type wrongReader struct {
	*stub
	latency time.Duration
	calls   int
	started func(calls int)
}

func (w *wrongReader) Call(ctx context.Context, payload []byte) ([]byte, error) {
	w.calls++
	if w.started != nil {
		w.started(w.calls)
	}
	select {
	case <-time.After(w.latency):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	reply, err := w.stub.Call(ctx, payload)
	var request struct {
		Action string `json:"action"`
	}
	var event map[string]any
	if err != nil || json.Unmarshal(payload, &request) != nil || json.Unmarshal(reply, &event) != nil || request.Action != "READ" {
		return reply, err
	}
	if model, ok := event["resourceModel"].(map[string]any); ok {
		model["Title"] = fmt.Sprintf("wrong %d", 1000+w.calls)
	}
	return json.Marshal(event)
}

// run runs the core suite with generated inputs and returns how long it took.
func (w *wrongReader) run(ctx context.Context, t *testing.T, cfg Config) (*Summary, time.Duration) {
	t.Helper()
	cfg.Seed, cfg.Schema, cfg.Function = 7, w.schema(t), w
	start := time.Now()
	summary, err := Run(ctx, cfg)
	if summary == nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	time.Sleep(w.latency * 100) // the clock of the regular expressions ends
	return summary, took
}

// TestShrinkingTakesABoundedTime: however many cases a wrong answer fails, and however slow
// the handler is, the time beyond the tests themselves stays within ShrinkTime.
func TestShrinkingTakesABoundedTime(t *testing.T) {
	for _, limit := range []time.Duration{0, 3 * time.Second, -1} {
		synctest.Test(t, func(t *testing.T) {
			newReader := func() *wrongReader {
				return &wrongReader{stub: newStub(flavours[0], ""), latency: 150 * time.Millisecond}
			}
			summary, plain := newReader().run(t.Context(), t, Config{ShrinkTime: -1})
			if summary.Failed < 3 {
				t.Fatalf("%d cases failed; want several", summary.Failed)
			}
			var shrinking []string
			_, took := newReader().run(t.Context(), t, Config{ShrinkTime: limit, Reporter: reporterFunc(func(e Event) {
				if e.Kind == Shrinking {
					shrinking = append(shrinking, e.Case.ID)
				}
			})})
			most := max(limit, 0)
			if limit == 0 {
				most = DefaultShrinkTime
			}
			if extra := took - plain; extra > most || limit >= 0 && extra < most/2 {
				t.Errorf("limit %v: shrinking took %v", limit, extra)
			}
			if (len(shrinking) > 0) != (limit >= 0) {
				t.Errorf("limit %v: reported as shrinking: %v", limit, shrinking)
			}
		})
	}
}

type reporterFunc func(Event)

func (f reporterFunc) Report(e Event) { f(e) }

// TestNoShrinkingWhereDelaysAreLong: a case whose handlers ask for long delays is run once.
// With the delays left out it is run again.
func TestNoShrinkingWhereDelaysAreLong(t *testing.T) {
	(&wrongReader{stub: newStub(flavours[3], "")}).run(t.Context(), t, Config{TimeScale: math.Inf(1), ShrinkTime: -1}) // starts the clock of patterns, which would be left in a bubble
	for scale, again := range map[float64]bool{1: false, 10: false, math.Inf(1): true} {
		synctest.Test(t, func(t *testing.T) {
			slow, plain := &wrongReader{stub: newStub(flavours[3], "")}, &wrongReader{stub: newStub(flavours[3], "")}
			slow.run(t.Context(), t, Config{TimeScale: scale})
			plain.run(t.Context(), t, Config{TimeScale: scale, ShrinkTime: -1})
			if (slow.calls > plain.calls) != again {
				t.Errorf("scale %v: %d calls, %d without shrinking", scale, slow.calls, plain.calls)
			}
		})
	}
}

// TestShrinkingEndsWithTheContext: after a stop only the clean-up runs.
func TestShrinkingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &wrongReader{stub: newStub(flavours[0], ""), latency: 50 * time.Millisecond}
		var stopped time.Time
		start := time.Now()
		_, took := w.run(ctx, t, Config{Reporter: reporterFunc(func(e Event) {
			if e.Kind == Shrinking && stopped.IsZero() {
				time.AfterFunc(time.Second, func() { stopped = time.Now(); cancel() })
			}
		})})
		if late := took - stopped.Sub(start); stopped.IsZero() || late > time.Second {
			t.Errorf("the run ended %v after the stop", late)
		}
		if len(w.reports) > 0 {
			t.Errorf("left behind: %v", w.reports)
		}
	})
}

// TestNothingIsRepeatedThatMayLeaveSomething: inputs are not made smaller where a CREATE ended without an
// identifier, or its resource was not deleted, and what is left is one line.
func TestNothingIsRepeatedThatMayLeaveSomething(t *testing.T) {
	for _, test := range []struct {
		name, create, delete string // replies, "" for those of the stub
		again                bool
	}{
		{name: "failed", create: `{"status":"FAILED","errorCode":"GeneralServiceException","message":"no capacity"}`},
		{name: "failed with the input", create: `{"status":"FAILED","errorCode":"InternalFailure","message":"m","resourceModel":{"Title":"x"}}`},
		{name: "in progress without identifier", create: `{"status":"IN_PROGRESS","callbackDelaySeconds":0,"resourceModel":{"Title":"x"}}`},
		{name: "without identifier", create: `{"status":"SUCCESS","resourceModel":{"Title":"x"}}`},
		{name: "not deleted", delete: `{"status":"FAILED","errorCode":"GeneralServiceException","message":"busy"}`},
		{name: "already there", create: `{"status":"FAILED","errorCode":"AlreadyExists","message":"m"}`, again: true},
	} {
		creates := func(tries int) (count int, summary *Summary) {
			s := newStub(flavours[0], "")
			function := functionFunc(func(ctx context.Context, payload []byte) ([]byte, error) {
				var request struct{ Action string }
				if err := json.Unmarshal(payload, &request); err != nil {
					return nil, err
				}
				reply, err := s.Call(ctx, payload)
				if request.Action == "CREATE" {
					count++
				}
				if override := map[string]string{"CREATE": test.create, "DELETE": test.delete}[request.Action]; override != "" {
					return []byte(override), nil
				}
				return reply, err
			})
			summary, err := Run(t.Context(), Config{Schema: s.schema(t), Function: function, Seed: 7, ShrinkTries: tries, Selection: Selection{Suite: SuiteAll}})
			if err != nil {
				t.Fatal(err)
			}
			return count, summary
		}
		once, _ := creates(-1)
		count, summary := creates(0)
		if (count > once) != test.again {
			t.Errorf("%s: %d calls of CREATE, %d without smaller inputs", test.name, count, once)
		}
		if len(summary.LeftBehind) > 1 {
			t.Errorf("%s: left behind: %q", test.name, summary.LeftBehind)
		}
	}
}

// TestOneFaultIsOneCause: a resource whose CREATE breaks a rule is deleted at once, so that the next
// tests fail for the rule, and not because the resource exists.
func TestOneFaultIsOneCause(t *testing.T) {
	check := func(name string, summary *Summary, left int) {
		if strings.Contains(failures(summary), "AlreadyExists") {
			t.Errorf("%s: the cascade is shown:\n%s", name, failures(summary))
		}
		causes := summary.Causes()
		for _, c := range causes[1:] {
			if len(c.Results) > len(causes[0].Results) {
				t.Errorf("%s: the largest group is %d of %q, not %d of %q", name, len(c.Results), c.First().Message, len(causes[0].Results), causes[0].First().Message)
			}
		}
		if left > 0 || len(summary.LeftBehind) > 0 {
			t.Errorf("%s: left behind: %d, %v", name, left, summary.LeftBehind)
		}
	}
	for _, mutant := range []string{"write-only returned", "progress with code", "success with delay", "null code", "null in create"} {
		f := flavour{identifier: []string{"Name"}}
		s := newStub(f, mutant)
		check(mutant, try(t, s, Config{Inputs: f.inputs()}), len(s.reports))
	}
	for _, mutant := range []string{"CREATE returns the secret", "null in CREATE"} {
		k := kind{identifier: []string{"Name"}}
		s := newService(t, k, mutant)
		check(mutant+" in all suites", tryAll(t, s, Config{Inputs: k.inputs()}), len(s.reports))
	}
}
