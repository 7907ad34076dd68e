package builtin_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/builtin"
	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/operation"
)

// hookTable keeps Lambda Hooks in memory.
type hookTable map[string]builtin.LambdaHook

func (h hookTable) SaveHook(_ context.Context, _ awswire.Place, hook builtin.LambdaHook, fresh bool) error {
	if _, taken := h[hook.Alias]; taken && fresh {
		return awswire.Errorf("AlreadyExistsException", 0, "The hook %s already exists.", hook.Alias)
	}
	h[hook.Alias] = hook
	return nil
}

func (h hookTable) RemoveHook(ctx context.Context, place awswire.Place, alias string) error {
	_, err := h.Hook(ctx, place, alias)
	delete(h, alias)
	return err
}

func (h hookTable) Hook(_ context.Context, _ awswire.Place, alias string) (builtin.LambdaHook, error) {
	found, ok := h[alias]
	if !ok {
		return found, awswire.Errorf("NotFoundException", 0, "The hook %s does not exist.", alias)
	}
	return found, nil
}

func (h hookTable) HookAliases(context.Context, awswire.Place, string, int) ([]string, error) {
	return slices.Sorted(maps.Keys(h)), nil
}

// TestLambdaHooks takes a Lambda Hook through its life, and refuses Guard Hooks.
func TestLambdaHooks(t *testing.T) {
	hooks := hookTable{}
	all, err := builtin.New(builtin.Config{LambdaHooks: hooks})
	if err != nil {
		t.Fatal(err)
	}
	bench := &bench{Types: all}
	const name = "AWS::CloudFormation::LambdaHook"
	desired := object{
		"Alias": "Private::Lambda::Check", "LambdaFunction": "check", "ExecutionRole": "arn:aws:iam::123456789012:role/hook", "FailureMode": "FAIL",
		"HookStatus": "ENABLED", "TargetOperations": list{"RESOURCE"}, "TargetFilters": object{"Actions": list{"CREATE"}, "TargetNames": list{"AWS::S3::*"}},
	}
	created := run(t, bench, operation.Request{Action: invoke.Create, Type: name, Desired: desired})
	want := maps.Clone(desired)
	want["HookArn"] = created.Identifier
	if diff := cmp.Diff(want, created.Model); diff != "" || !strings.HasSuffix(created.Identifier, ":type/hook/Private-Lambda-Check") {
		t.Errorf("created %s: %s", created.Identifier, diff)
	}
	if got := hooks["Private::Lambda::Check"].Configuration; got != `{"CloudFormationConfiguration":{"HookConfiguration":{"FailureMode":"FAIL","HookInvocationStatus":"ENABLED","Properties":{"LambdaFunction":"check"},"TargetFilters":{"Actions":["CREATE"],"TargetNames":["AWS::S3::*"]},"TargetOperations":["RESOURCE"]}}}` {
		t.Errorf("configuration: %s", got)
	}
	again := run(t, bench, operation.Request{Action: invoke.Create, Type: name, Token: "other-token-0123456789abcdef01234567", Desired: desired})
	if again.ErrorCode != "AlreadyExists" {
		t.Errorf("a second one: %+v", again)
	}
	desired["FailureMode"], desired["LambdaFunction"] = "WARN", "other"
	updated := run(t, bench, operation.Request{Action: invoke.Update, Type: name, Identifier: created.Identifier, Desired: desired})
	if updated.Model["FailureMode"] != "WARN" || hooks["Private::Lambda::Check"].Function != "other" {
		t.Errorf("updated: %+v", updated)
	}
	for what, change := range map[string]object{
		"alias of AWS": {"Alias": "Aws::Lambda::Check"}, "no alias": {"Alias": "Check"}, "mode": {"FailureMode": "MAYBE"}, "operations": {"TargetOperations": list{"ALL"}},
	} {
		bad := maps.Clone(desired)
		maps.Copy(bad, change)
		if p := run(t, bench, operation.Request{Action: invoke.Create, Type: name, Desired: bad}); p.Status != types.OperationStatusFailed || p.ErrorCode != "InvalidRequest" {
			t.Errorf("%s: %+v", what, p)
		}
	}
	for range 2 { // the second time it is gone
		removed := run(t, bench, operation.Request{Action: invoke.Delete, Type: name, Identifier: created.Identifier})
		if len(hooks) > 0 || removed.Status == types.OperationStatusInProgress {
			t.Errorf("removed: %+v", removed)
		}
	}
	guard := maps.Clone(desired)
	delete(guard, "LambdaFunction")
	guard["RuleLocation"] = object{"Uri": "s3://b/rules.guard"}
	if p := run(t, bench, operation.Request{Action: invoke.Create, Type: "AWS::CloudFormation::GuardHook", Desired: guard}); p.Status != types.OperationStatusFailed || !strings.Contains(p.Message, "cargo install cfn-guard") {
		t.Errorf("Guard Hook: %+v", p)
	}
}
