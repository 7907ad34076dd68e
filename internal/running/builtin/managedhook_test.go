package builtin_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/builtin"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

// TestManagedHooks takes a Lambda Hook and a Guard Hook through their lives.
func TestManagedHooks(t *testing.T) {
	opened, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	missing := errors.New("Guard Hooks need cfn-guard")
	hooks := &hook.ManagedHooks{Store: opened, Guard: hook.Guard{Program: func() (string, error) { return "cfn-guard", missing }}}
	kept := func() *hook.Managed {
		t.Helper()
		found, err := hooks.Get(t.Context(), caller.Place, "Private::Lambda::Check")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	all, err := builtin.New(builtin.Config{Store: opened, ManagedHooks: hooks})
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
	if got := kept().Configuration; got != `{"CloudFormationConfiguration":{"HookConfiguration":{"FailureMode":"FAIL","HookInvocationStatus":"ENABLED","Properties":{"LambdaFunction":"check"},"TargetFilters":{"Actions":["CREATE"],"TargetNames":["AWS::S3::*"]},"TargetOperations":["RESOURCE"]}}}` {
		t.Errorf("configuration: %s", got)
	}
	again := run(t, bench, operation.Request{Action: invoke.Create, Type: name, Token: "other-token-0123456789abcdef01234567", Desired: desired})
	if again.ErrorCode != "AlreadyExists" {
		t.Errorf("a second one: %+v", again)
	}
	desired["FailureMode"], desired["LambdaFunction"] = "WARN", "other"
	updated := run(t, bench, operation.Request{Action: invoke.Update, Type: name, Identifier: created.Identifier, Desired: desired})
	if updated.Model["FailureMode"] != "WARN" || kept().Function != "other" {
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
		if left, err := hooks.All(t.Context(), caller.Place); len(left) > 0 || err != nil || removed.Status == types.OperationStatusInProgress {
			t.Errorf("removed: %+v", removed)
		}
	}
	guard := maps.Clone(desired)
	delete(guard, "LambdaFunction")
	guard["RuleLocation"], guard["LogBucket"] = object{"Uri": "s3://b/rules.guard"}, "reports"
	guard["Options"] = object{"InputParams": object{"Uri": "s3://b/parameters.json"}}
	if p := run(t, bench, operation.Request{Action: invoke.Create, Type: "AWS::CloudFormation::GuardHook", Desired: guard}); p.Status != types.OperationStatusFailed || !strings.Contains(p.Message, "Guard Hooks need cfn-guard") {
		t.Errorf("without cfn-guard: %+v", p)
	}
	missing = nil
	created = run(t, bench, operation.Request{Action: invoke.Create, Type: "AWS::CloudFormation::GuardHook", Desired: guard})
	want = maps.Clone(guard)
	want["HookArn"] = created.Identifier
	if diff := cmp.Diff(want, created.Model); diff != "" {
		t.Errorf("Guard Hook %s: %s", created.Identifier, diff)
	}
	if read := run(t, bench, operation.Request{Action: invoke.Read, Type: name, Identifier: created.Identifier}); read.ErrorCode != "NotFound" {
		t.Errorf("a Guard Hook is a Lambda Hook: %+v", read)
	}
}
