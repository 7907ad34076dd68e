package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A hookWorld is the hooks of an account, and what they answer.
type hookWorld struct {
	mu       sync.Mutex
	hooks    []hook.Hook
	gone     bool             // none can be called
	answers  map[string][]any // by the name of the hook: replies, errors, hang; without one it passes
	requests []hookRequest
	offered  map[string]string // payloads, by the id of the evaluation
	all      []string          // all payloads that were ever offered
}

// hang does not answer.
type hang struct{}

// A hookRequest is the part of a request that tests look at.
type hookRequest struct {
	ClientRequestToken, StackID, ChangeSetID, HookTypeName, HookTypeVersion, ActionInvocationPoint string
	HookModel                                                                                      map[string]any
	RequestData                                                                                    struct {
		TargetName, TargetType, TargetLogicalID, Payload string
		TargetModel                                      map[string]any
	}
	RequestContext struct {
		Invocation      int
		CallbackContext any
	}
}

// add adds a hook on the targets of all points.
func (h *hookWorld) add(name, configuration string, targets ...string) {
	settings, _, err := hook.ParseSettings([]byte(`{"CloudFormationConfiguration": {"HookConfiguration": ` + configuration + `}}`))
	if err != nil {
		panic(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	found := hook.Hook{
		TypeName: name, TypeARN: "arn:aws:cloudformation:eu-west-1:123456789012:type/hook/" + strings.ReplaceAll(name, "::", "-"), Version: "00000001",
		ConfigurationVersion: "1", Settings: settings, Targets: map[invoke.Action][]string{},
	}
	for _, action := range invoke.HookActions {
		found.Targets[action] = targets
	}
	h.hooks = slices.DeleteFunc(h.hooks, func(other hook.Hook) bool { return other.TypeName == name })
	h.hooks = append(h.hooks, found)
}

// answer has the next calls of a hook answered in a way.
func (h *hookWorld) answer(name string, answers ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answers == nil {
		h.answers = map[string][]any{}
	}
	h.answers[name] = append(h.answers[name], answers...)
}

func (h *hookWorld) seen() []hookRequest {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// Hooks implements [hook.Source].
func (w *world) Hooks(context.Context, awswire.Caller) ([]hook.Hook, error) {
	w.hooks.mu.Lock()
	defer w.hooks.mu.Unlock()
	return slices.Clone(w.hooks.hooks), nil
}

// Ready implements [hook.Source].
func (w *world) Ready(_ context.Context, _ awswire.Caller, name, _ string) (*hook.Ready, bool, error) {
	w.hooks.mu.Lock()
	defer w.hooks.mu.Unlock()
	if w.hooks.gone {
		return nil, false, nil
	}
	function := hookFunction{&w.hooks, name}
	return &hook.Ready{TypeName: name, Properties: map[string]any{"Limit": json.Number("3")}, Config: invoke.Config{Function: function}}, true, nil
}

type hookFunction struct {
	world *hookWorld
	name  string
}

func (f hookFunction) Call(ctx context.Context, payload []byte) ([]byte, error) {
	var request hookRequest
	if err := json.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	f.world.mu.Lock()
	f.world.requests = append(f.world.requests, request)
	var next any
	if list := f.world.answers[f.name]; len(list) > 0 {
		next, f.world.answers[f.name] = list[0], list[1:]
	}
	f.world.mu.Unlock()
	switch next := next.(type) {
	case nil:
		return []byte(`{"hookStatus": "SUCCESS", "message": "fine"}`), nil
	case hang:
		<-ctx.Done()
		return nil, ctx.Err()
	case error:
		return nil, next
	case time.Duration:
		time.Sleep(next)
		return []byte(`{"hookStatus": "SUCCESS", "message": "fine"}`), nil
	case chan struct{}:
		select {
		case <-next:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return []byte(`{"hookStatus": "SUCCESS", "message": "fine"}`), nil
	}
	return []byte(next.(string)), nil
}

// Offer is that of [hook.Config].
func (w *world) Offer(_ context.Context, _ awswire.Caller, id, document string) (string, error) {
	w.hooks.mu.Lock()
	defer w.hooks.mu.Unlock()
	if w.hooks.offered == nil {
		w.hooks.offered = map[string]string{}
	}
	w.hooks.offered[id] = document
	w.hooks.all = append(w.hooks.all, document)
	return "https://payloads.test/" + id, nil
}

// Withdraw is that of [hook.Config].
func (w *world) Withdraw(_ context.Context, _ awswire.Caller, id string) error {
	w.hooks.mu.Lock()
	defer w.hooks.mu.Unlock()
	delete(w.hooks.offered, id)
	return nil
}

// hookStory is story with the events of hooks: "A [Acme::Test::Hook FAIL IN_PROGRESS: reason]".
func (g *rig) hookStory(name string) []string {
	g.t.Helper()
	out, err := g.DescribeStackEvents(g.t.Context(), owner, &cloudformation.DescribeStackEventsInput{StackName: aws.String(name)})
	if err != nil {
		g.t.Fatal(err)
	}
	lines := g.story(name)
	slices.Reverse(out.StackEvents)
	for i, e := range out.StackEvents {
		if e.HookType == nil {
			continue
		}
		if e.HookInvocationPoint != "PRE_PROVISION" || e.HookInvocationId == nil || e.ResourceProperties != nil || e.ResourceStatusReason != nil {
			g.t.Errorf("event of a hook: %+v", e)
		}
		lines[i] = fmt.Sprintf("%s %s [%s %s %s: %s]", *e.LogicalResourceId, e.ResourceStatus, *e.HookType, e.HookFailureMode,
			strings.TrimPrefix(string(e.HookStatus), "HOOK_"), *e.HookStatusReason)
	}
	return lines
}

// expectHooks compares the events of a stack from one on, those of hooks included.
func (g *rig) expectHooks(name string, from int, want ...string) {
	g.t.Helper()
	if got := g.hookStory(name)[from:]; !slices.Equal(got, want) {
		g.t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var errCrashed = errors.New("the process ended")

// on is the configuration of a hook that is on.
func on(mode string) string { return `{"TargetStacks": "ALL", "FailureMode": "` + mode + `"}` }

// hooksOf are the results of all hooks.
func hooksOf(g *rig) []hook.Result {
	g.t.Helper()
	found, err := g.config.Hooks.Results(g.t.Context(), hook.Query{Place: owner.Place})
	if err != nil {
		g.t.Fatal(err)
	}
	return found
}
