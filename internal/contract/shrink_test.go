package contract

import (
	"context"
	"encoding/json"
	"fmt"
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
	for scale, again := range map[float64]bool{1: false, 0.1: false, -1: true} {
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
