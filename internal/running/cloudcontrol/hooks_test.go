package cloudcontrol_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A hookWorld is the hooks of an account: each answers with its text.
type hookWorld struct {
	mu       sync.Mutex
	answers  map[string]string        // by "Acme::Web::Hook FAIL"
	hold     map[string]chan struct{} // answers when it is closed
	requests []map[string]any
}

func (w *hookWorld) Hooks(context.Context, awswire.Caller) ([]hook.Hook, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []hook.Hook
	for key := range w.answers {
		name, mode, _ := strings.Cut(key, " ")
		settings, _, err := hook.ParseSettings([]byte(`{"CloudFormationConfiguration": {"HookConfiguration": {
			"HookInvocationStatus": "ENABLED", "TargetOperations": ["CLOUD_CONTROL"], "FailureMode": "` + mode + `"}}}`))
		if err != nil {
			return nil, err
		}
		out = append(out, hook.Hook{TypeName: name, TypeARN: "arn:" + name, Version: "00000002", Settings: settings, Any: true})
	}
	return out, nil
}

func (w *hookWorld) Ready(_ context.Context, _ awswire.Caller, name, _ string) (*hook.Ready, bool, error) {
	return &hook.Ready{TypeName: name, Config: invoke.Config{Function: hookFunction{w, name}}}, true, nil
}

type hookFunction struct {
	world *hookWorld
	name  string
}

func (f hookFunction) Call(ctx context.Context, payload []byte) ([]byte, error) {
	var request map[string]any
	if err := json.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	f.world.mu.Lock()
	f.world.requests = append(f.world.requests, request)
	held := f.world.hold[f.name]
	answer := f.world.answers[f.name+" FAIL"] + f.world.answers[f.name+" WARN"]
	f.world.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return []byte(answer), nil
}

const (
	passing  = `{"hookStatus": "SUCCESS", "message": "fine"}`
	refusing = `{"hookStatus": "FAILED", "errorCode": "NonCompliant", "message": "no"}`
)

// TestHooks has hooks let requests pass or not.
func TestHooks(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		status := func(event *types.ProgressEvent) *cloudcontrol.GetResourceRequestStatusOutput {
			t.Helper()
			out, err := g.GetResourceRequestStatus(t.Context(), owner, &cloudcontrol.GetResourceRequestStatusInput{RequestToken: event.RequestToken})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		create := func(name string) *cloudcontrol.GetResourceRequestStatusOutput {
			t.Helper()
			out, err := g.CreateResource(t.Context(), owner, &cloudcontrol.CreateResourceInput{TypeName: aws.String(site), DesiredState: aws.String(`{"Zone": "z", "Name": "` + name + `"}`)})
			if err != nil {
				t.Fatal(err)
			}
			if out.ProgressEvent.HooksRequestToken == nil || out.ProgressEvent.OperationStatus != types.OperationStatusInProgress {
				t.Errorf("begun: %+v", out.ProgressEvent)
			}
			return status(out.ProgressEvent)
		}
		g.hooks.answers = map[string]string{"Acme::Web::A WARN": refusing, "Acme::Web::B FAIL": passing}
		out := create("one")
		if out.ProgressEvent.OperationStatus != types.OperationStatusSuccess || len(g.sites) != 1 || len(out.HooksProgressEvent) != 2 {
			t.Fatalf("passed: %+v %+v", out.ProgressEvent, out.HooksProgressEvent)
		}
		for i, want := range []string{
			"Acme::Web::A WARN HOOK_COMPLETE_FAILED PRE_PROVISION Hook failed with message: no. Failure was ignored under WARN mode.",
			"Acme::Web::B FAIL HOOK_COMPLETE_SUCCEEDED PRE_PROVISION Hook succeeded with message: fine",
		} {
			e := out.HooksProgressEvent[i]
			if got := strings.Join([]string{*e.HookTypeName, *e.FailureMode, *e.HookStatus, *e.InvocationPoint, *e.HookStatusMessage}, " "); got != want || *e.HookTypeVersionId != "00000002" || e.HookEventTime == nil {
				t.Errorf("event %d: %s", i, got)
			}
		}
		data := g.hooks.requests[0]["requestData"].(map[string]any)
		if data["targetType"] != "RESOURCE" || data["targetName"] != site || g.hooks.requests[0]["stackId"] != "" || data["targetLogicalId"] != *out.ProgressEvent.HooksRequestToken {
			t.Errorf("request: %v", g.hooks.requests[0])
		}
		g.hooks.answers = map[string]string{"Acme::Web::A FAIL": refusing}
		out = create("two")
		if e := out.ProgressEvent; e.OperationStatus != types.OperationStatusFailed || *e.StatusMessage != "The following hook(s) failed: [Acme::Web::A]" || len(g.sites) != 1 {
			t.Errorf("refused: %+v", e)
		}
		calls := len(g.hooks.requests)
		deleted, err := g.DeleteResource(t.Context(), owner, &cloudcontrol.DeleteResourceInput{TypeName: aws.String(site), Identifier: aws.String("z|one")})
		if err != nil {
			t.Fatal(err)
		}
		if e := status(deleted.ProgressEvent).ProgressEvent; e.OperationStatus != types.OperationStatusFailed || len(g.sites) != 1 {
			t.Errorf("deletion refused: %+v", e)
		}
		model := g.hooks.requests[calls]["requestData"].(map[string]any)["targetModel"].(map[string]any)["previousResourceProperties"].(map[string]any)
		if model["Name"] != "one" || g.hooks.requests[calls]["actionInvocationPoint"] != "DELETE_PRE_PROVISION" {
			t.Errorf("deletion: %v", g.hooks.requests[calls])
		}
		g.hooks.answers, g.hooks.hold = map[string]string{"Acme::Web::A FAIL": passing}, map[string]chan struct{}{"Acme::Web::A": make(chan struct{})}
		held, err := g.CreateResource(t.Context(), owner, &cloudcontrol.CreateResourceInput{TypeName: aws.String(site), DesiredState: aws.String(`{"Zone": "z", "Name": "three"}`)})
		if err != nil {
			t.Fatal(err)
		}
		cancelled, err := g.CancelResourceRequest(t.Context(), owner, &cloudcontrol.CancelResourceRequestInput{RequestToken: held.ProgressEvent.RequestToken})
		if err != nil || cancelled.ProgressEvent.OperationStatus != types.OperationStatusCancelComplete {
			t.Errorf("cancelled: %+v, %v", cancelled, err)
		}
		close(g.hooks.hold["Acme::Web::A"])
		if e := status(held.ProgressEvent).ProgressEvent; e.OperationStatus != types.OperationStatusCancelComplete || len(g.sites) != 1 {
			t.Errorf("after the cancellation: %+v", e)
		}
	})
}
