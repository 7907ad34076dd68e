package handlertest_test

import (
	"context"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/sdk/handler"
	"github.com/formwork-dev/formwork/sdk/handlertest"
)

// A desk is delivered half a minute after it was ordered.
func desk(clock *handlertest.Clock) handler.Resource[model, config] {
	gone := map[string]bool{}
	return handler.Resource[model, config]{
		TypeName: "Initech::Office::Desk", Schema: []byte(schema),
		Create: func(ctx context.Context, req request) event {
			m := req.Desired
			chain := req.Chain(ctx, &m)
			due, _ := handler.Call(chain, "order", func(context.Context) (time.Time, error) {
				return clock.Now().Add(30 * time.Second), nil
			})
			chain.Stabilize("delivered", func(context.Context) (bool, error) { return !clock.Now().Before(due), nil })
			return chain.Done(func(context.Context) event { return req.Success(m) })
		},
		Read: func(_ context.Context, req request) event {
			if gone[*req.Desired.ID] {
				return req.Fail(handler.NotFound(req.TypeName, *req.Desired.ID))
			}
			return req.Success(req.Desired)
		},
		Delete: func(_ context.Context, req request) event {
			gone[*req.Desired.ID] = true
			return req.Deleted()
		},
	}
}

func TestDesk(t *testing.T) {
	clock := handlertest.NewClock()
	tester := handlertest.New(t, desk(clock))
	tester.Clock = clock // every delay moves it on

	created := tester.Create(model{ID: ptr("milton")})
	report := created.WantSuccess()
	if created.Waited != 30*time.Second {
		t.Errorf("waited %v", created.Waited)
	}
	tester.Delete(report).WantSuccess()
	tester.Read(report).WantFailed(handler.CodeNotFound)
}
