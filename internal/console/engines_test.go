package console

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/cloudcontrol"
	"github.com/formwork-dev/formwork/internal/handlers"
	"github.com/formwork-dev/formwork/internal/hook"
	"github.com/formwork-dev/formwork/internal/logs"
	"github.com/formwork-dev/formwork/internal/stackset"
	"github.com/formwork-dev/formwork/internal/store"
)

// engines are those that pages read, on a store in a folder of the test. What they have is written as rows,
// with the times and texts that the tests look for.
type engines struct {
	t     testing.TB
	store *store.Store
	lines map[string]int // by log group

	logs     *logs.Service
	calls    *handlers.Pool
	hooks    *hook.Engine
	requests *cloudcontrol.Engine
	sets     *stackset.Engine
}

func newEngines(t testing.TB) *engines {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	e := &engines{
		t: t, store: s, lines: map[string]int{}, logs: logs.New(logs.Config{Store: s}), calls: handlers.New(handlers.Config{Store: s, Dir: t.TempDir()}),
		hooks: hook.New(hook.Config{Store: s}), requests: cloudcontrol.New(cloudcontrol.Config{Store: s}), sets: stackset.New(stackset.Config{Store: s}),
	}
	t.Cleanup(e.close)
	return e
}

func (e *engines) close() {
	for _, end := range []func() error{e.logs.Close, e.calls.Close, e.store.Close} {
		if err := end(); err != nil {
			e.t.Error(err)
		}
	}
}

type row = map[string]any

// insert writes rows of a table, all with the same columns.
func (e *engines) insert(table string, rows ...row) {
	e.t.Helper()
	columns := slices.Sorted(maps.Keys(rows[0]))
	places := "(?" + strings.Repeat(", ?", len(columns)-1) + ")"
	query := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " + places + strings.Repeat(", "+places, len(rows)-1)
	var values []any
	for _, r := range rows {
		for _, column := range columns {
			values = append(values, r[column])
		}
	}
	e.exec(query, values...)
}

func (e *engines) exec(query string, values ...any) {
	e.t.Helper()
	err := e.store.Write(e.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ExecContext(ctx, query, values...)
		return err
	})
	if err != nil {
		e.t.Fatal(err)
	}
}

// add writes rows of a model.
func add[T any](e *engines, rows ...*T) {
	e.t.Helper()
	err := e.store.Write(e.t.Context(), func(ctx context.Context, tx *store.Tx) error { return store.Insert(ctx, tx, rows) })
	if err != nil {
		e.t.Fatal(err)
	}
}

// group creates a log group.
func (e *engines) group(name string) {
	e.t.Helper()
	caller := awswire.Caller{Place: home}
	if _, err := e.logs.Table().Call(e.t.Context(), caller, "CreateLogGroup", &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &name}); err != nil {
		e.t.Fatal(err)
	}
}

// write writes a line of a log group.
func (e *engines) write(group, text string) {
	e.t.Helper()
	e.lines[group]++
	at := then.Add(time.Duration(e.lines[group]) * 37 * time.Millisecond)
	if err := e.logs.Append(e.t.Context(), home, group, "2026/11/20/[1]", []logs.Line{{Time: at, Text: text}}); err != nil {
		e.t.Fatal(err)
	}
}

// called records a call of a handler.
func (e *engines) called(call handlers.Invocation) {
	e.t.Helper()
	call.Micros = call.Duration.Microseconds()
	add(e, &call)
}

const arnOfHook = "arn:aws:cloudformation:us-east-1:000000000000:type/hook/Acme-Security-Encryption"

// evaluated records results of two hooks on the stack "shop" and its change set "bigger".
func (e *engines) evaluated() {
	e.t.Helper()
	results := []*hook.Result{
		{
			ID: "1", TypeName: "Acme::Security::Encryption", TypeARN: arnOfHook, FailureMode: types.HookFailureModeFail,
			Status: types.HookStatusHookCompleteFailed, Reason: "<u>Billing</u> has no key", TargetKind: hook.Resource, TargetName: "AWS::S3::Bucket", LogicalID: "Billing", Action: "CREATE",
			EndedAt:     store.At(then.Add(time.Second)),
			Annotations: store.JSONOf(append(slices.Repeat([]types.Annotation{{AnnotationName: aws.String("more"), Status: types.AnnotationStatusPassed}}, 24), types.Annotation{AnnotationName: aws.String("last"), Status: types.AnnotationStatusFailed})),
		},
		{
			ID: "2", TypeName: "Acme::Security::Encryption", TypeARN: arnOfHook, FailureMode: types.HookFailureModeFail,
			Status: types.HookStatusHookCompleteSucceeded, TargetKind: hook.Resource, TargetName: "AWS::SQS::Queue", LogicalID: "Orders", Action: "UPDATE",
			ChangeSetID: arnOfSet("bigger"), Annotations: store.JSONOf([]types.Annotation{{AnnotationName: aws.String("key rotation"), Status: types.AnnotationStatusSkipped, StatusMessage: aws.String("no <i>key")}}),
		},
		{
			ID: "3", TypeName: "Private::Lambda::Check", OriginalName: hook.LambdaHook, FailureMode: types.HookFailureModeWarn,
			Status: types.HookStatusHookFailed, Reason: "timed out", TargetKind: hook.Stack, TargetName: "STACK", TargetID: arnOfStack("shop"), Action: "UPDATE",
		},
	}
	for _, r := range results {
		r.Account, r.Region, r.Version, r.StackID, r.InvokedAt = home.Account, home.Region, "00000001", arnOfStack("shop"), store.At(then)
	}
	add(e, results...)
}

// requested records requests of Cloud Control.
func (e *engines) requested() {
	e.t.Helper()
	request := func(token, operation, typeName, identifier, status, code, message string, ended any) row {
		return row{
			"token": token, "account": home.Account, "region": home.Region, "client_token": token, "input_hash": "", "operation_id": "", "operation": operation,
			"type_name": typeName, "identifier": identifier, "status": status, "error_code": code, "message": message, "model": "", "write_only": "", "hooks_token": "",
			"created_at": store.At(then), "event_at": store.At(then), "ended_at": ended, "row_version": 1,
		}
	}
	e.insert("resource_requests",
		request("token-2", "UPDATE", "MongoDB::Atlas::Cluster", "", "IN_PROGRESS", "", "", nil),
		request("token-1", "CREATE", "Acme::Mail::List", "<b>list</b>", "FAILED", "AlreadyExists", "It <u>exists</u>.", store.At(then.Add(2*time.Second))))
}

// deployed records three stack sets: with a few accounts, with many, and without instances.
func (e *engines) deployed() {
	e.t.Helper()
	for _, name := range []string{"empty", "many", "settings"} {
		e.insert("stack_sets", row{
			"id": name, "account": home.Account, "region": home.Region, "name": name, "live": true, "description": "Settings of <b>all</b> stages",
			"template": `{"Parameters": {"Secret": {"Type": "String", "NoEcho": true}}, "Resources": {"A": {"Type": "A::B::C"}}}`, "parameters": `[{"ParameterKey": "Secret", "ParameterValue": "geheim"}]`,
			"capabilities": "", "tags": "", "admin_role": "", "role": "", "managed": false, "drift": "", "client_token": "", "request_hash": "", "created_at": store.At(then), "row_version": 1,
		})
	}
	instance := func(set, account, region string, status types.StackInstanceStatus, detailed types.StackInstanceDetailedStatus, reason string) row {
		arn, drift := "", types.StackDriftStatusNotChecked
		if detailed != types.StackInstanceDetailedStatusPending {
			arn = "arn:aws:cloudformation:" + region + ":" + account + ":stack/StackSet-settings-1/2"
		}
		if set == "settings" && account == home.Account && region == "eu-west-1" {
			drift = types.StackDriftStatusDrifted
		}
		return row{
			"set_id": set, "account": account, "region": region, "stack_name": "StackSet-settings-1", "stack_arn": arn, "overrides": "", "status": status,
			"detailed_status": detailed, "reason": reason, "drift_status": drift, "drift_at": nil, "last_operation_id": "",
		}
	}
	var many []row
	for n := range 1005 { // a page shows 1000
		many = append(many, instance("many", fmt.Sprintf("%012d", n), "us-east-1", types.StackInstanceStatusCurrent, types.StackInstanceDetailedStatusSucceeded, ""))
	}
	e.insert("stack_set_instances", many...)
	e.insert("stack_set_instances",
		instance("settings", "000000000000", "eu-west-1", types.StackInstanceStatusCurrent, types.StackInstanceDetailedStatusSucceeded, ""),
		instance("settings", "111111111111", "eu-west-1", types.StackInstanceStatusOutdated, types.StackInstanceDetailedStatusFailed, "ResourceLogicalId:<i>Thing</i>, ResourceType:A::B::C, ResourceStatusReason:it is taken."),
		instance("settings", "000000000000", "us-east-1", types.StackInstanceStatusInoperable, types.StackInstanceDetailedStatusInoperable, "it stays"),
		instance("settings", "222222222222", "us-east-1", types.StackInstanceStatusOutdated, types.StackInstanceDetailedStatusPending, ""))
	operation := func(id string, seq int, action types.StackSetOperationAction, status types.StackSetOperationStatus, ended any) row {
		return row{
			"set_id": "settings", "id": id, "seq": seq, "action": action, "status": status, "reason": "", "input": "", "admin_role": "", "role": "", "drift": "", "caller": "",
			"created_at": store.At(then), "ended_at": ended, "row_version": 1,
		}
	}
	e.insert("stack_set_operations", operation("first", 1, types.StackSetOperationActionCreate, types.StackSetOperationStatusFailed, store.At(then.Add(time.Second))),
		operation("second", 2, types.StackSetOperationActionUpdate, types.StackSetOperationStatusRunning, nil))
	result := func(operation, account string, position int, status types.StackSetOperationResultStatus, reason string) row {
		return row{"set_id": "settings", "operation_id": operation, "account": account, "region": "eu-west-1", "position": position, "status": status, "reason": reason, "handle": "", "stack_arn": ""}
	}
	e.insert("stack_set_results",
		result("first", "000000000000", 1, types.StackSetOperationResultStatusSucceeded, ""), result("first", "111111111111", 2, types.StackSetOperationResultStatusFailed, "it is <i>taken"),
		result("first", "222222222222", 3, types.StackSetOperationResultStatusSucceeded, ""), result("second", "222222222222", 1, types.StackSetOperationResultStatusPending, ""))
}
