package operation

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// BenchmarkSteps carries out 500 operations of three calls each, with a wait of 1 ms before
// the second and the third, begun in one transaction: what the engine does for a wide stack.
func BenchmarkSteps(b *testing.B) {
	s, problems := schema.Load("thing.json", []byte(thingSchema), schema.Config{})
	if s == nil {
		b.Fatal(problems)
	}
	for _, place := range fixtures.Stores(b) {
		b.Run(place.Name, func(b *testing.B) {
			st, err := store.Open(b.Context(), store.Config{Dir: place.Dir, DSN: place.DSN, Sealer: rot{}})
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			done := make(chan struct{}, 1000)
			provider := providerFunc(func(_ context.Context, r Request) (Progress, error) {
				switch {
				case r.Action == invoke.Update:
				case r.Callback == nil:
					return busy(time.Millisecond, `1`), nil
				case string(r.Callback) == "1":
					return busy(time.Millisecond, `2`), nil
				}
				return Progress{Status: "SUCCESS", Identifier: "i"}, nil
			})
			o := &benchOwner{done: done}
			e := New(Config{Store: st, Types: &benchTypes{&Type{Name: thing, Version: "1", Schema: s, Provider: provider}}})
			e.Own("bench", o)
			if err := st.Work(b.Context(), e.Workers()); err != nil {
				b.Fatal(err)
			}
			const count = 500
			var waits []time.Duration
			for b.Loop() {
				specs := make([]Spec, count)
				for i := range specs {
					specs[i] = Spec{Owner: "bench", Key: fmt.Sprint(i), Request: Request{Caller: owner, Action: invoke.Create, Type: thing, Desired: map[string]any{"Size": 1}}}
				}
				err := st.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
					_, err := e.Begin(ctx, tx, specs...)
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				for range count {
					<-done
				}
			}
			b.ReportMetric(3*count*float64(b.N)/b.Elapsed().Seconds()*60, "steps/min")
			for range 100 { // alone: from Begin to the end of an operation of one call
				start := time.Now()
				err := st.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
					_, err := e.Begin(ctx, tx, Spec{Owner: "bench", Request: Request{Caller: owner, Action: invoke.Update, Identifier: "i", Type: thing}})
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				<-done
				waits = append(waits, time.Since(start))
			}
			slices.Sort(waits)
			b.ReportMetric(float64(waits[len(waits)/2].Microseconds())/1000, "ms-p50-alone")
		})
	}
}

type benchOwner struct {
	done chan struct{}
}

func (o *benchOwner) Progressed(_ context.Context, _ *store.Tx, state State) error {
	if state.Progress.Terminal() {
		o.done <- struct{}{}
	}
	return nil
}

type benchTypes struct{ typ *Type }

func (b *benchTypes) Type(context.Context, awswire.Caller, string, string) (*Type, error) {
	return b.typ, nil
}
