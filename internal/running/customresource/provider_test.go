package customresource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A rig is a provider over a store, with functions, operations and a clock of its own.
type rig struct {
	*Provider
	t     *testing.T
	store *store.Store

	mu      sync.Mutex
	clock   time.Time
	calls   [][]byte
	secrets []string
	answer  func(ctx context.Context) error
	resumed int
	over    bool // no operation is in progress
	local   bool
}

func eachStore(t *testing.T, test func(t *testing.T, g *rig)) {
	t.Helper()
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			g := &rig{t: t, clock: time.Now().Truncate(time.Millisecond), local: true, answer: func(context.Context) error { return nil }}
			var err error
			if g.store, err = store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = g.store.Close() })
			g.restart(true)
			test(t, g)
		})
	}
}

// restart makes the provider anew, as the next process does.
func (g *rig) restart(alone bool) {
	g.Provider = New(Config{
		Store: g.store, Functions: g, Find: g.find, Resume: g.resume, InProgress: g.inProgress, Alone: alone, Endpoint: func() string { return "http://plain" },
		SecureEndpoint: func() string { return "https://secure" }, Now: g.now,
	})
}

func (g *rig) now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clock
}

func (g *rig) pass(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock = g.clock.Add(d)
}

// resume and inProgress are those of the operations.
func (g *rig) resume(context.Context, *store.Tx, string) error {
	g.resumed++
	return nil
}

func (g *rig) inProgress(context.Context, *store.Tx, string) (bool, error) { return !g.over, nil }

func (g *rig) find(_ context.Context, _ awswire.Caller, arn string) (bool, error) {
	if strings.HasSuffix(arn, ":missing") {
		return false, &lambda.RefusedError{Status: 404, Code: "ResourceNotFoundException", Message: "Function not found: missing."}
	}
	return g.local, nil
}

// Call implements lambda.Functions.
func (g *rig) Call(ctx context.Context, _ awswire.Caller, _ string, payload []byte, secrets []string) (lambda.Result, error) {
	g.mu.Lock()
	g.calls, g.secrets = append(g.calls, payload), secrets
	answer := g.answer
	g.mu.Unlock()
	return lambda.Result{}, answer(ctx)
}

func (g *rig) request(token string) operation.Request {
	return operation.Request{
		Caller: awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}}, Action: invoke.Create, Token: token, Type: "Custom::Thing",
		StackID: "arn:stack", StackName: "s", LogicalID: "Thing", Placeholder: "s-Thing-X", Secrets: map[secret.Reason][]string{secret.NoEcho: {"hunter22"}},
		Desired: map[string]any{"ServiceToken": "arn:aws:lambda:eu-west-1:123456789012:function:f", "ServiceTimeout": "60", "Password": "hunter22"},
	}
}

func (g *rig) call(r operation.Request) operation.Progress {
	g.t.Helper()
	p, err := g.Provider.Call(g.t.Context(), r)
	if err != nil {
		g.t.Fatal(err)
	}
	return p
}

// turn runs the worker once, and returns how long it wants to wait, -1 for the end.
func (g *rig) turn(token string) time.Duration {
	g.t.Helper()
	again, err := g.send(g.t.Context(), token)
	if err != nil {
		g.t.Fatal(err)
	}
	if again.IsZero() {
		return -1
	}
	return again.Sub(g.now())
}

// last is the latest request that the function got.
func (g *rig) last() (r Request, at Address) {
	g.t.Helper()
	if err := json.Unmarshal(g.calls[len(g.calls)-1], &r); err != nil {
		g.t.Fatal(err)
	}
	parsed, err := url.Parse(r.ResponseURL)
	if err != nil {
		g.t.Fatal(err)
	}
	return r, AddressOf(parsed)
}

func (g *rig) deliver(at Address, body []byte) Outcome {
	g.t.Helper()
	outcome, _, err := g.Deliver(g.t.Context(), at, body)
	if err != nil {
		g.t.Fatal(err)
	}
	return outcome
}

// TestProvider follows one request from the first call to its response.
func TestProvider(t *testing.T) {
	eachStore(t, func(t *testing.T, g *rig) {
		r := g.request("t-1")
		if p := g.call(r); p.Status != types.OperationStatusInProgress || p.Delay != time.Minute || p.Identifier != "" {
			t.Fatalf("%+v", p)
		}
		if wait := g.turn("t-1"); wait != -1 || len(g.calls) != 1 {
			t.Fatalf("it waits %s after %d calls", wait, len(g.calls))
		}
		sent, at := g.last()
		if !strings.HasPrefix(sent.ResponseURL, "https://secure/cfn-response/") || sent.Properties["Password"] != "hunter22" || fmt.Sprint(g.secrets) != fmt.Sprint([]string{at.Signature, "hunter22"}) {
			t.Errorf("the request is %+v with the secrets %q", sent, g.secrets)
		}
		if g.turn("t-1") != -1 || len(g.calls) != 1 {
			t.Error("the function was invoked again")
		}
		g.pass(59 * time.Second)
		if p := g.call(r); p.Status != types.OperationStatusInProgress || p.Delay != time.Second {
			t.Errorf("%+v", p)
		}
		if got := g.deliver(Address{at.Object, NewSignature()}, body(&sent, nil)); got != UnknownURL {
			t.Errorf("a guessed URL: %s", got)
		}
		if got := g.deliver(Address{strings.Replace(at.Object, "Thing", "Other", 1), at.Signature}, body(&sent, nil)); got != UnknownURL || g.resumed != 0 {
			t.Errorf("a URL with another logical ID: %s", got)
		}
		if got := g.deliver(at, body(&sent, map[string]any{"StackId": "other"})); got != NotTheAnswer || g.resumed != 0 {
			t.Errorf("the response to another request: %s", got)
		}
		g.restart(true)
		if got := g.deliver(at, body(&sent, map[string]any{"Data": map[string]any{"A": 1}, "NoEcho": true})); got != Taken || g.resumed != 1 {
			t.Errorf("the response: %s, %d", got, g.resumed)
		}
		if got := g.deliver(at, body(&sent, nil)); got != Used || g.resumed != 1 {
			t.Errorf("a second response: %s, %d", got, g.resumed)
		}
		for range 2 { // a call is repeated if its result was lost
			p := g.call(r)
			if p.Status != types.OperationStatusSuccess || p.Identifier != "p-1" || fmt.Sprint(Attributes(p.Model)) != "map[A:1]" || !Hidden(p.Model) {
				t.Errorf("%+v", p)
			}
		}
		if err := g.Expire(t.Context(), g.now().Add(keepRequests+time.Hour)); err != nil {
			t.Fatal(err)
		}
		if got := g.deliver(at, body(&sent, nil)); got != UnknownURL {
			t.Errorf("after two days: %s", got)
		}
	})
}

// TestSecretsOfReasons hides what the reason of a failure quotes.
func TestSecretsOfReasons(t *testing.T) {
	eachStore(t, func(t *testing.T, g *rig) {
		r := g.request("t-1")
		g.call(r)
		g.turn("t-1")
		sent, at := g.last()
		g.deliver(at, body(&sent, map[string]any{"Status": "FAILED", "Reason": "hunter22 is too short"}))
		if p := g.call(r); p.Status != types.OperationStatusFailed || strings.Contains(p.Message, "hunter22") || !strings.Contains(p.Message, "is too short") || p.Identifier != "p-1" {
			t.Errorf("%+v", p)
		}
	})
}

// TestInterruptions has what a process leaves that is killed while a function runs.
func TestInterruptions(t *testing.T) {
	eachStore(t, func(t *testing.T, g *rig) {
		for _, test := range []struct {
			name         string
			local, alone bool
			calls        int
			late         types.OperationStatus // after the deadline, before the invocation is made again
		}{
			{"a process of this server", true, true, 2, types.OperationStatusInProgress},
			{"with other servers", true, false, 2, types.OperationStatusFailed},
			{"an endpoint", false, true, 1, types.OperationStatusInProgress},
		} {
			t.Run(test.name, func(t *testing.T) {
				g.t, g.local, g.calls = t, test.local, nil
				g.restart(test.alone)
				r := g.request(test.name)
				g.call(r)
				killed, kill := context.WithCancel(t.Context())
				g.answer = func(context.Context) error { kill(); return context.Canceled }
				if _, err := g.send(killed, test.name); err == nil {
					t.Fatal("the worker ended well")
				}
				g.answer = func(context.Context) error { return nil }
				g.restart(test.alone)
				g.pass(2 * time.Minute)
				if p := g.call(r); p.Status != test.late {
					t.Fatalf("%+v", p)
				}
				if test.late == types.OperationStatusFailed {
					return
				}
				g.turn(test.name)
				if len(g.calls) != test.calls {
					t.Fatalf("%d calls, want %d", len(g.calls), test.calls)
				}
				if p := g.call(r); test.calls == 2 && p.Status != types.OperationStatusInProgress {
					t.Errorf("its time begins anew: %+v", p)
				}
			})
		}
	})
}

// TestFailuresOfFunctions has functions fail: they are invoked twice more.
func TestFailuresOfFunctions(t *testing.T) {
	eachStore(t, func(t *testing.T, g *rig) {
		r := g.request("t-1")
		g.call(r)
		g.answer = func(context.Context) error { return &lambda.FunctionError{Function: "f", Type: "ValueError"} }
		for i, want := range []time.Duration{time.Second, 2 * time.Second, -1} {
			if wait := g.turn("t-1"); wait != want {
				t.Fatalf("after call %d it waits %s, want %s", i+1, wait, want)
			}
			g.pass(want)
		}
		if p := g.call(r); p.Status != types.OperationStatusFailed || !strings.HasPrefix(p.Message, "CloudFormation did not receive a response") || p.Identifier != "s-Thing-X" || g.resumed != 1 {
			t.Errorf("%+v, resumed %d times", p, g.resumed)
		}
		_, at := g.last()
		if got := g.deliver(at, []byte("{}")); got != Expired {
			t.Errorf("a response after the end: %s", got)
		}

		// A response that comes before the failure counts.
		g.resumed = 0
		r = g.request("t-2")
		g.call(r)
		g.answer = func(context.Context) error {
			sent, at := g.last()
			g.deliver(at, body(&sent, nil))
			return errors.New("the process ended")
		}
		if wait := g.turn("t-2"); wait != -1 {
			t.Errorf("it waits %s", wait)
		}
		if p := g.call(r); p.Status != types.OperationStatusSuccess || g.resumed != 1 {
			t.Errorf("%+v, resumed %d times", p, g.resumed)
		}

		// The operation was cancelled: nothing is invoked.
		g.call(g.request("t-3"))
		g.over, g.calls = true, nil
		if wait := g.turn("t-3"); wait != -1 || len(g.calls) != 0 {
			t.Errorf("it waits %s after %d calls", wait, len(g.calls))
		}
	})
}

// TestSlots bounds the invocations at once.
func TestSlots(t *testing.T) {
	s := slots{free: 2}
	if !s.enter("a") || !s.enter("b") || s.enter("c") || s.enter("d") || s.enter("c") {
		t.Fatal("two slots are not two")
	}
	if next := s.leave("a"); next != "c" || !s.enter("c") || s.enter("a") {
		t.Errorf("the next one is %q", next)
	}
	if next := s.forget("d"); next != "" {
		t.Errorf("without a free slot %q is next", next)
	}
	if next := s.leave("b"); next != "a" || !s.has("c") || s.has("b") {
		t.Errorf("the next one is %q", next)
	}
	if next := s.leave("c"); next != "" || s.free != 2 {
		t.Errorf("the next one is %q, %d are free", next, s.free)
	}
}

func TestGiveUp(t *testing.T) {
	eachStore(t, func(t *testing.T, g *rig) {
		request := g.request("t")
		g.call(request)
		if err := g.Workers()[workKind].Fail(t.Context(), "t", "why"); err != nil {
			t.Fatal(err)
		}
		p := g.call(request)
		if p.Status != types.OperationStatusFailed || p.Message != "why" || p.Identifier != "s-Thing-X" || g.resumed != 1 {
			t.Errorf("%+v, resumed %d times", p, g.resumed)
		}
		if g.turn("t") != -1 || len(g.calls) > 0 {
			t.Error("it is still sent")
		}
	})
}
