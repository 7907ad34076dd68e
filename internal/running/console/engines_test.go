package console

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/cloudcontrol"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/refactor"
	"github.com/formwork-dev/formwork/internal/running/registry"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/running/stackset"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/logs"
)

// engines are those that pages read, on a store in a folder of the test. What they have is written as rows,
// with the times and texts that the tests look for. No workers run: what a form begins stays begun.
type engines struct {
	t     testing.TB
	store *store.Store
	db    *sql.DB        // the file of the store
	lines map[string]int // by log group

	registry  *registry.Registry
	stacks    *stack.Engine
	refactors *refactor.Engine
	logs      *logs.Service
	calls     *handlers.Pool
	hooks     *hook.Engine
	requests  *cloudcontrol.Engine
	sets      *stackset.Engine
}

// newEngines are engines that have nothing.
func newEngines(t testing.TB) *engines {
	t.Helper()
	e := openEngines(t, t.TempDir())
	t.Cleanup(e.close)
	return e
}

// openEngines are engines on the store of a folder.
func openEngines(t testing.TB, dir string) *engines {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "formwork.db")+"?_pragma=busy_timeout(60000)&_pragma=synchronous(off)")
	if err != nil {
		t.Fatal(err)
	}
	e := &engines{t: t, store: s, db: db, lines: map[string]int{}}
	operations := operation.New(operation.Config{Store: s, Types: e, Now: now})
	e.registry = registry.New(registry.Config{Store: s, Functions: noHandlers{}, Operations: operations, Now: now})
	operations.Own(registry.TestOwner, e.registry.Tests())
	e.stacks = stack.New(stack.Config{Store: s, Types: e, Hooks: hook.New(hook.Config{Store: s}), Now: now})
	e.refactors = refactor.New(refactor.Config{Store: s, Stacks: e.stacks, Types: e, Operations: operations, Now: now})
	e.logs, e.calls = logs.New(logs.Config{Store: s}), handlers.New(handlers.Config{Store: s, Dir: t.TempDir()})
	e.hooks, e.requests, e.sets = hook.New(hook.Config{Store: s}), cloudcontrol.New(cloudcontrol.Config{Store: s}), stackset.New(stackset.Config{Store: s})
	return e
}

// close ends what the engines have open.
func (e *engines) close() {
	for _, end := range []func() error{e.logs.Close, e.calls.Close, e.store.Close, e.db.Close} {
		if err := end(); err != nil {
			e.t.Error(err)
		}
	}
}

// Type implements [operation.Types]: the types of AWS are simulated.
func (e *engines) Type(_ context.Context, _ awswire.Caller, name, _ string) (*operation.Type, error) {
	if strings.HasPrefix(name, "AWS::") {
		return &operation.Type{Name: name, Simulated: true}, nil
	}
	return nil, &operation.UnknownTypeError{Name: name}
}

// noHandlers runs no handlers.
type noHandlers struct{ registry.Functions }

func (noHandlers) Remove(bundle.Spec) {}

type row = map[string]any

// insert writes rows of a table, all with the same columns. The other columns are empty, 0, false or NULL.
func (e *engines) insert(table string, rows ...row) {
	e.t.Helper()
	columns := e.columns(table)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if _, given := rows[0][name]; given || columns[name] != nil {
			names = append(names, name)
		}
	}
	for part := range slices.Chunk(rows, 30_000/len(names)) { // of what SQLite takes at once
		var values []any
		for _, r := range part {
			for name := range r {
				if !slices.Contains(names, name) {
					e.t.Fatalf("%s has no column %s", table, name)
				}
			}
			for _, name := range names {
				value, given := r[name]
				if !given {
					value = columns[name]
				}
				values = append(values, value)
			}
		}
		places := "(?" + strings.Repeat(", ?", len(names)-1) + ")"
		e.exec("INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES "+places+strings.Repeat(", "+places, len(part)-1), values...)
	}
}

// columns are the columns of a table, with what is written where a test says nothing: nil leaves it to the database.
func (e *engines) columns(table string) map[string]any {
	e.t.Helper()
	rows, err := e.db.QueryContext(e.t.Context(), `SELECT name, type, "notnull" FROM pragma_table_info(?)`, table)
	if err != nil {
		e.t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]any{}
	for rows.Next() {
		var name, kind string
		var needed bool
		if err := rows.Scan(&name, &kind, &needed); err != nil {
			e.t.Fatal(err)
		}
		out[name] = map[string]any{"TEXT": "", "BIGINT": 0, "BOOLEAN": false}[kind] // nil for an identity
		if !needed {
			out[name] = nil
		}
	}
	if err := rows.Err(); err != nil || len(out) == 0 {
		e.t.Fatalf("%s: %v", table, err)
	}
	return out
}

func (e *engines) exec(query string, values ...any) {
	e.t.Helper()
	if _, err := e.db.ExecContext(e.t.Context(), query, values...); err != nil {
		e.t.Fatalf("%s: %v", query, err)
	}
}

// contents is a sum of all rows: it stays the same as long as nothing changes anything.
func (e *engines) contents() string {
	e.t.Helper()
	sum := sha256.New()
	each := func(query string, do func(columns []any)) {
		rows, err := e.db.QueryContext(e.t.Context(), query)
		if err != nil {
			e.t.Fatal(err)
		}
		defer rows.Close()
		names, _ := rows.Columns() // fails after the end only
		for rows.Next() {
			columns := make([]any, len(names))
			for i := range columns {
				columns[i] = new(any)
			}
			if err := rows.Scan(columns...); err != nil {
				e.t.Fatal(err)
			}
			for i := range columns {
				columns[i] = *columns[i].(*any)
			}
			do(columns)
		}
		if err := rows.Err(); err != nil {
			e.t.Fatal(err)
		}
	}
	var tables []string
	each("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", func(columns []any) { tables = append(tables, columns[0].(string)) })
	for _, table := range tables {
		each("SELECT * FROM "+table, func(columns []any) { fmt.Fprintln(sum, table, columns) })
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// add writes rows of a model.
func add[T any](e *engines, rows ...*T) {
	e.t.Helper()
	err := e.store.Write(e.t.Context(), func(ctx context.Context, tx *store.Tx) error { return store.Insert(ctx, tx, rows...) })
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
			"token": token, "account": home.Account, "region": home.Region, "client_token": token, "operation": operation, "type_name": typeName, "identifier": identifier,
			"status": status, "error_code": code, "message": message, "created_at": store.At(then), "event_at": store.At(then), "ended_at": ended, "row_version": 1,
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
			"created_at": store.At(then), "row_version": 1,
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
			"set_id": set, "account": account, "region": region, "stack_name": "StackSet-settings-1", "stack_arn": arn, "status": status,
			"detailed_status": detailed, "reason": reason, "drift_status": drift,
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
			"set_id": "settings", "id": id, "seq": seq, "action": action, "status": status, "created_at": store.At(then), "ended_at": ended, "row_version": 1,
		}
	}
	e.insert("stack_set_operations", operation("first", 1, types.StackSetOperationActionCreate, types.StackSetOperationStatusFailed, store.At(then.Add(time.Second))),
		operation("second", 2, types.StackSetOperationActionUpdate, types.StackSetOperationStatusRunning, nil))
	result := func(operation, account string, position int, status types.StackSetOperationResultStatus, reason string) row {
		return row{"set_id": "settings", "operation_id": operation, "account": account, "region": "eu-west-1", "position": position, "status": status, "reason": reason}
	}
	e.insert("stack_set_results",
		result("first", "000000000000", 1, types.StackSetOperationResultStatusSucceeded, ""), result("first", "111111111111", 2, types.StackSetOperationResultStatusFailed, "it is <i>taken"),
		result("first", "222222222222", 3, types.StackSetOperationResultStatusSucceeded, ""), result("second", "222222222222", 1, types.StackSetOperationResultStatusPending, ""))
}
