package handlertest_test

import (
	"context"
	"fmt"
	"io"
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

// A printer takes the place of the *testing.T of a test: examples have none. It prints what would fail the test.
type printer struct{ testing.TB }

func (printer) Helper()                         {}
func (printer) Context() context.Context        { return context.Background() }
func (printer) Output() io.Writer               { return io.Discard }
func (printer) Fatal(args ...any)               { fmt.Println(args...) }
func (printer) Fatalf(text string, args ...any) { fmt.Printf(text+"\n", args...) }
func (printer) Errorf(text string, args ...any) { fmt.Printf(text+"\n", args...) }

// In a test, t is its *testing.T. The delay of 30 s is counted, and moves the clock on; nothing waits for it.
func Example() {
	t := printer{}
	clock := handlertest.NewClock()
	tester := handlertest.New(t, desk(clock))
	tester.Clock = clock

	created := tester.Create(model{ID: ptr("milton")})
	report := created.WantSuccess()
	fmt.Println(*report.ID, created.Calls, "calls, waited", created.Waited)

	tester.Delete(report).WantSuccess()
	fmt.Println(tester.Read(report).WantFailed(handler.CodeNotFound))

	tester.Read(report).WantSuccess() // fails the test
	// Output:
	// milton 7 calls, waited 30s
	// Resource of type 'Initech::Office::Desk' with identifier 'milton' was not found.
	// ended with FAILED NotFound: Resource of type 'Initech::Office::Desk' with identifier 'milton' was not found.; want SUCCESS
}

// A hook is shown a target at a point of its life.
func ExampleNewHook() {
	tester := handlertest.NewHook(printer{}, handler.Hook[config]{
		TypeName: "Initech::Office::Quota",
		PreUpdate: func(_ context.Context, req handler.HookRequest[config]) handler.HookEvent {
			var desired, previous model
			if err := req.Target(&desired, &previous); err != nil {
				return req.Fail(err)
			}
			if *desired.Count < *previous.Count {
				return req.Failed(handler.CodeNonCompliant, "the number of desks must not shrink")
			}
			return req.Success("enough desks")
		},
	})
	for _, count := range []int64{3, 1} {
		result := tester.Run(handler.PointPreUpdate, "Initech::Office::Floor", model{Count: ptr(count)}, model{Count: ptr[int64](2)})
		fmt.Println(count, result.Status+":", result.Message)
	}
	// Output:
	// 3 SUCCESS: enough desks
	// 1 FAILED: the number of desks must not shrink
}

// One handler function can be called directly, without the operation around it.
func ExampleNewRequest() {
	req := handlertest.NewRequest[model, config](printer{}, handler.ActionCreate, model{ID: ptr("milton"), Count: ptr[int64](1)})
	event := countdown(context.Background(), req)
	fmt.Println(event.Status, *event.Model.Count, event.Delay)
	// Output: IN_PROGRESS 0 1s
}
