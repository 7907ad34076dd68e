package handlertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/sdk/handler"
	"github.com/formwork-dev/formwork/sdk/handlertest"
)

type model struct {
	ID    *string `json:"Id,omitzero"`
	Count *int64  `json:"Count,omitzero"`
	Ready *bool   `json:"Ready,omitzero"`
}

type config struct {
	Endpoint *string `json:"Endpoint,omitzero"`
}

type (
	request = handler.Request[model, config]
	event   = handler.Event[model]
)

const schema = `{"properties": {"Id": {"type": "string"}, "Count": {"type": "integer"}, "Ready": {"type": "boolean"}}, "additionalProperties": false}`

func ptr[T any](value T) *T { return &value }

func resource(f func(context.Context, request) event) handler.Resource[model, config] {
	return handler.Resource[model, config]{TypeName: "Initech::TPS::Test", Schema: []byte(schema), Create: f, Read: f, Update: f, Delete: f, List: f}
}

// countdown is done when Count is 0; it waits as many seconds as are left.
func countdown(_ context.Context, req request) event {
	m := req.Desired
	left := *m.Count
	if left == 0 {
		m.Ready = ptr(true)
		return req.Success(m)
	}
	m.Count = ptr(left - 1)
	return req.InProgress(m, time.Duration(left)*time.Second)
}

func TestOperationRunsToItsEnd(t *testing.T) {
	clock := handlertest.NewClock()
	start := clock.Now()
	for _, stringified := range []bool{false, true} {
		tester := handlertest.New(t, resource(countdown))
		tester.Clock, tester.Stringified = clock, stringified
		result := tester.Create(model{ID: ptr("a"), Count: ptr[int64](3)})
		result.WantModel(model{ID: ptr("a"), Count: ptr[int64](0), Ready: ptr(true)})
		if want := []time.Duration{3 * time.Second, 2 * time.Second, time.Second}; !reflect.DeepEqual(result.Delays, want) || result.Waited != 6*time.Second || result.Calls != 4 || len(result.Events) != 4 {
			t.Errorf("calls %d, delays %v, waited %v", result.Calls, result.Delays, result.Waited)
		}
	}
	if moved := clock.Now().Sub(start); moved != 12*time.Second {
		t.Errorf("clock moved %v", moved)
	}
}

func TestRequestsSayWhatTheTesterSays(t *testing.T) {
	var seen []string
	tester := handlertest.New(t, resource(func(_ context.Context, req request) event {
		seen = append(seen, fmt.Sprint(req.Action, " ", req.Token, " ", req.FirstCall, " ", req.Previous != nil, " ", req.DesiredTags, " ", *req.TypeConfiguration.Endpoint, " ", req.Credentials.AccessKeyID))
		if req.Action == handler.ActionDelete {
			return req.Deleted()
		}
		return req.Success(req.Desired)
	}))
	tester.TypeConfiguration = &config{Endpoint: ptr("e")}
	tester.Credentials = handler.Credentials{AccessKeyID: "AKID"}
	tester.StackTags = map[string]string{"a": "b"}
	m := model{ID: ptr("x")}
	tester.Create(m).WantSuccess()
	tester.Read(m).WantSuccess()
	tester.Token = "same"
	tester.Update(m, m).WantSuccess()
	tester.Delete(m).WantSuccess()
	want := []string{
		"CREATE token-1 true false map[a:b] e AKID", "READ token-2 true false map[a:b] e AKID",
		"UPDATE same true true map[a:b] e AKID", "DELETE same true false map[a:b] e AKID",
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("got  %q\nwant %q", seen, want)
	}
}

func TestListFollowsPages(t *testing.T) {
	tester := handlertest.New(t, resource(func(_ context.Context, req request) event {
		next := map[string]string{"": "2", "2": "3"}[req.NextToken]
		return req.SuccessList([]model{{ID: ptr("id" + req.NextToken)}}, next)
	}))
	result := tester.List(model{})
	result.WantSuccess()
	got, _ := json.Marshal(result.Models)
	if string(got) != `[{"Id":"id"},{"Id":"id2"},{"Id":"id3"}]` || result.Pages != 3 || result.Calls != 3 {
		t.Errorf("%s in %d pages", got, result.Pages)
	}
}

func TestNewRequestServesDirectCalls(t *testing.T) {
	req := handlertest.NewRequest[model, config](t, handler.ActionCreate, model{Count: ptr[int64](1)})
	got := countdown(t.Context(), req)
	if got.Status != handler.StatusInProgress || *got.Model.Count != 0 || got.Terminal() {
		t.Errorf("%+v", got)
	}
	if failed := req.Fail(handler.NotFound(req.TypeName, "x")); failed.Code != handler.CodeNotFound || !failed.Terminal() {
		t.Errorf("%+v", failed)
	}
}

// A spy is a test that notes how it fails.
type spy struct {
	testing.TB
	failed []string
}

func (s *spy) Helper() {}
func (s *spy) Fatal(args ...any) {
	s.failed = append(s.failed, fmt.Sprint(args...))
	runtime.Goexit()
}
func (s *spy) Fatalf(format string, args ...any) {
	s.failed = append(s.failed, fmt.Sprintf(format, args...))
	runtime.Goexit()
}
func (s *spy) Errorf(format string, args ...any) {
	s.failed = append(s.failed, fmt.Sprintf(format, args...))
}

func TestFailuresOfTests(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(t testing.TB)
		want string
	}{
		{"want success, is failed", func(t testing.TB) {
			handlertest.New(t, resource(func(_ context.Context, req request) event { return req.Failed(handler.CodeNotFound, "gone") })).Read(model{}).WantSuccess()
		}, "ended with FAILED NotFound: gone; want SUCCESS"},
		{"want failed, is success", func(t testing.TB) {
			handlertest.New(t, resource(func(_ context.Context, req request) event { return req.Success(req.Desired) })).Read(model{}).WantFailed(handler.CodeNotFound)
		}, "ended with SUCCESS : ; want FAILED NotFound"},
		{"want another model", func(t testing.TB) {
			handlertest.New(t, resource(func(_ context.Context, req request) event { return req.Success(req.Desired) })).Read(model{}).WantModel(model{ID: ptr("x")})
		}, "model\n got map[]\nwant map[Id:x]"},
		{"no end", func(t testing.TB) {
			tester := handlertest.New(t, resource(func(_ context.Context, req request) event { return req.InProgress(req.Desired, 0) }))
			tester.MaxCalls = 3
			tester.Create(model{})
		}, "CREATE: not ended after 3 calls"},
		{"resource that cannot start", func(t testing.TB) { handlertest.New(t, handler.Resource[model, config]{}) }, "start resource: TypeName is empty"},
		{"hook that cannot start", func(t testing.TB) { handlertest.NewHook(t, handler.Hook[config]{}) }, "start hook: TypeName is empty"},
		{"hook without end", func(t testing.TB) {
			tester := handlertest.NewHook(t, handler.Hook[config]{TypeName: "A::B::C", PreDelete: func(_ context.Context, req handler.HookRequest[config]) handler.HookEvent { return req.InProgress(0) }})
			tester.MaxCalls = 2
			tester.Run(handler.PointPreDelete, "A::B::D", nil, nil)
		}, "DELETE_PRE_PROVISION: not ended after 2 calls"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &spy{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				test.run(s)
			}()
			<-done
			if got := strings.Join(s.failed, "\n"); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestHook(t *testing.T) {
	clock := handlertest.NewClock()
	start := clock.Now()
	tester := handlertest.NewHook(t, handler.Hook[config]{
		TypeName: "Initech::TPS::CoverSheet",
		PreUpdate: func(ctx context.Context, req handler.HookRequest[config]) handler.HookEvent {
			chain := req.Chain(ctx)
			tries := 0
			if _, err := req.Memory.Get("tries", &tries); err != nil {
				return req.Fail(err)
			}
			if err := req.Memory.Set("tries", tries+1); err != nil {
				return req.Fail(err)
			}
			chain.Stabilize("inventory", func(context.Context) (bool, error) { return tries == 2, nil })
			return chain.Done(func(context.Context) handler.HookEvent {
				var desired, previous model
				if err := req.Target(&desired, &previous); err != nil {
					return req.Fail(err)
				}
				if *desired.Count < *previous.Count {
					failed := req.Fail(handler.NonCompliant(req.TypeName, req.Credentials.AccessKeyID+" "+*req.TypeConfiguration.Endpoint))
					failed.Annotations = []handler.Annotation{{Name: "shrinks", Status: handler.AnnotationFailed, Severity: handler.SeverityHigh}}
					return failed
				}
				return req.Success("fine")
			})
		},
	})
	tester.Clock, tester.TypeConfiguration, tester.Credentials = clock, &config{Endpoint: ptr("e")}, handler.Credentials{AccessKeyID: "AKID"}
	result := tester.Run(handler.PointPreUpdate, "A::B::C", model{Count: ptr[int64](1)}, model{Count: ptr[int64](2)})
	want := handlertest.HookResult{
		Status: handler.StatusFailed, Code: handler.CodeNonCompliant,
		Message:     "Hook of type 'Initech::TPS::CoverSheet' returned a non-compliant status. Reason: <redacted> e",
		Annotations: []handler.Annotation{{Name: "shrinks", Status: handler.AnnotationFailed, Severity: handler.SeverityHigh}},
		Calls:       3, Delays: []time.Duration{5 * time.Second, 5 * time.Second}, Waited: 10 * time.Second,
	}
	if !reflect.DeepEqual(result, want) {
		t.Errorf("got  %+v\nwant %+v", result, want)
	}
	if clock.Now().Sub(start) != 10*time.Second {
		t.Error("the clock did not move on")
	}
	if result := tester.Run(handler.PointPreUpdate, "A::B::C", model{Count: ptr[int64](3)}, model{Count: ptr[int64](2)}); result.Status != handler.StatusSuccess || result.Message != "fine" {
		t.Errorf("%+v", result)
	}
}

// TestWaitsInsideACallAreNotWaitedFor: they move the clock on.
func TestWaitsInsideACallAreNotWaitedFor(t *testing.T) {
	refused := 0
	r := resource(func(ctx context.Context, req request) event {
		m := req.Desired
		chain := req.Chain(ctx, &m)
		if id, ok := handler.Call(chain, "order", func(context.Context) (string, error) {
			if refused++; refused < 40 {
				return "", handler.Throttling("Order")
			}
			return "a", nil
		}); ok {
			m.ID = &id
		}
		return chain.Done(func(context.Context) event { return req.Success(m) })
	})
	r.Schema = []byte(`{"properties": {"Id": {"type": "string"}, "Count": {"type": "integer"}}, "readOnlyProperties": ["/properties/Id"], "primaryIdentifier": ["/properties/Id"]}`)
	tester := handlertest.New(t, r)
	tester.Clock = handlertest.NewClock()
	start := tester.Clock.Now()
	result := tester.Create(model{Count: ptr[int64](3)})
	if result.WantSuccess(); result.Calls != 1 || tester.Clock.Now().Sub(start) != 39*5*time.Second {
		t.Errorf("%d calls, the clock moved by %v", result.Calls, tester.Clock.Now().Sub(start))
	}
}
