package refactor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var (
	owner  = awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}, AccessKeyID: "AKIDEXAMPLE", RequestID: "r"}
	things = fixtures.Things
)

// A rig is the engines of stacks and of refactors on a store of its own, with a world of things.
type rig struct {
	*Engine
	stacks *stack.Engine
	t      *testing.T
	world  *world
}

// eachStore runs a test on every kind of database.
func eachStore(t *testing.T, test func(t *testing.T, g *rig)) {
	t.Helper()
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			test(t, newRig(t, place))
		})
	}
}

// onSQLite is a rig for tests of what no database makes a difference to.
func onSQLite(t *testing.T) *rig {
	t.Helper()
	return newRig(t, fixtures.Place{Name: "sqlite", Dir: fixtures.TempDir(t)})
}

func newRig(t *testing.T, place fixtures.Place) *rig {
	t.Helper()
	kept, err := store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN, StopTimeout: 50 * time.Millisecond, Poll: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	w := &world{types: map[string]*operation.Type{}, things: map[string]map[string]any{}, next: map[string]int{}, scripts: map[string]behavior{}}
	for _, source := range fixtures.ThingTypes() {
		s, problems := schema.Load("schema.json", []byte(source), schema.Config{})
		if s == nil {
			t.Fatal(problems)
		}
		w.types[s.TypeName.Value] = &operation.Type{Name: s.TypeName.Value, Schema: s, Provider: w}
	}
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	operations := operation.New(operation.Config{Store: kept, Types: w, Logger: logger})
	stacks := stack.New(stack.Config{
		Store: kept, Types: w, Operations: operations, Logger: logger,
		Object: func(context.Context, awswire.Caller, string, int64) ([]byte, error) {
			return []byte(things("X: {}")), nil
		},
	})
	g := &rig{Engine: New(Config{Store: kept, Stacks: stacks, Types: w, Operations: operations}), stacks: stacks, t: t, world: w}
	operations.Own(stack.Owner, stacks)
	stacks.OnBegin(g.Obsolete)
	w.own = stacks.OwnTypes()
	g.work(func(map[string]store.Worker) {})
	return g
}

// work starts the workers of the engines, changed.
func (g *rig) work(change func(workers map[string]store.Worker)) {
	g.t.Helper()
	workers := g.config.Operations.Workers()
	maps.Copy(workers, g.stacks.Workers())
	maps.Copy(workers, g.Workers())
	change(workers)
	if err := g.store.Work(g.t.Context(), workers); err != nil {
		g.t.Fatal(err)
	}
}

// A world is the resources of the types of [fixtures.ThingTypes].
type world struct {
	types map[string]*operation.Type
	own   operation.Types // of the engine of stacks

	mu      sync.Mutex
	things  map[string]map[string]any // by identifier
	next    map[string]int            // how many were made, by logical id
	scripts map[string]behavior       // by "CREATE A": what the next call does
	calls   []string                  // "CREATE A", without reads
	last    operation.Request
}

// A behavior is what one call does instead of what it should.
type behavior struct {
	code, message string        // fails
	hold          chan struct{} // answers when it is closed
}

// script has the next call of an action on a resource behave in a way.
func (w *world) script(call string, b behavior) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scripts[call] = b
}

// Type implements [operation.Types].
func (w *world) Type(ctx context.Context, caller awswire.Caller, name, version string) (*operation.Type, error) {
	if typ := w.types[name]; typ != nil {
		return typ, nil
	}
	return w.own.Type(ctx, caller, name, version)
}

// Call implements [operation.Provider].
func (w *world) Call(ctx context.Context, request operation.Request) (operation.Progress, error) {
	call := string(request.Action) + " " + request.LogicalID
	w.mu.Lock()
	b := w.scripts[call]
	delete(w.scripts, call)
	if request.Action != invoke.Read {
		w.calls, w.last = append(w.calls, call), request
	}
	w.mu.Unlock()
	if b.hold != nil {
		select {
		case <-b.hold:
		case <-ctx.Done():
			return operation.Progress{}, ctx.Err()
		}
	}
	if b.code != "" {
		return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: b.code, Message: b.message}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	identifier := request.Identifier
	if _, exists := w.things[identifier]; !exists && request.Action != invoke.Create {
		return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: string(invoke.NotFound), Message: identifier + " was not found"}, nil
	}
	switch name, named := request.Desired["Name"].(string); {
	case request.Action == invoke.Delete:
		delete(w.things, identifier)
		return operation.Progress{Status: types.OperationStatusSuccess}, nil
	case request.Action == invoke.Create && named && request.Type == "Acme::Test::Named":
		identifier = name
	case request.Action == invoke.Create:
		w.next[request.LogicalID]++
		identifier = fmt.Sprintf("%s-%d", strings.ToLower(request.LogicalID), w.next[request.LogicalID])
	}
	if request.Action != invoke.Read {
		w.things[identifier] = maps.Clone(request.Desired)
	}
	model := map[string]any{}
	maps.Copy(model, w.things[identifier])
	model["Id"] = identifier
	return operation.Progress{Status: types.OperationStatusSuccess, Identifier: identifier, Model: model}, nil
}

// done returns the calls since the last time, sorted.
func (w *world) done() string {
	return strings.Join(slices.Sorted(slices.Values(w.inOrder())), ", ")
}

// inOrder returns the calls since the last time.
func (w *world) inOrder() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

// ids are the identifiers of what exists, sorted.
func (w *world) ids() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(w.things)), " ")
}

// settled waits until no operation runs on a stack, and returns the stack.
func (g *rig) settled(name string) types.Stack {
	g.t.Helper()
	var found types.Stack
	fixtures.Await(g.t, "the end of the operation on the stack "+name, func() bool {
		out, err := g.stacks.DescribeStacks(g.t.Context(), owner, &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil {
			g.t.Fatal(err)
		}
		found = out.Stacks[0]
		status := found.StackStatus
		return !strings.HasSuffix(string(status), "_IN_PROGRESS") || status == types.StackStatusReviewInProgress
	})
	return found
}

// create creates a stack and waits for its end.
func (g *rig) create(name, body string) {
	g.t.Helper()
	if _, err := g.stacks.CreateStack(g.t.Context(), owner, &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body}); err != nil {
		g.t.Fatal(err)
	}
	g.expectStatus(g.settled(name), types.StackStatusCreateComplete)
}

// update updates a stack and waits for its end.
func (g *rig) update(name, body string) {
	g.t.Helper()
	if _, err := g.stacks.UpdateStack(g.t.Context(), owner, &cloudformation.UpdateStackInput{StackName: &name, TemplateBody: &body}); err != nil {
		g.t.Fatal(err)
	}
	g.expectStatus(g.settled(name), types.StackStatusUpdateComplete)
}

// delete deletes a stack and waits for its end.
func (g *rig) delete(name string) {
	g.t.Helper()
	arn := *g.settled(name).StackId
	if _, err := g.stacks.DeleteStack(g.t.Context(), owner, &cloudformation.DeleteStackInput{StackName: &arn}); err != nil {
		g.t.Fatal(err)
	}
	g.expectStatus(g.settled(arn), types.StackStatusDeleteComplete)
}

// story is the events of a stack, the oldest first: "A CREATE_IN_PROGRESS id (reason)".
func (g *rig) story(name string) []string {
	g.t.Helper()
	out, err := g.stacks.DescribeStackEvents(g.t.Context(), owner, &cloudformation.DescribeStackEventsInput{StackName: &name})
	if err != nil {
		g.t.Fatal(err)
	}
	var lines []string
	for _, e := range slices.Backward(out.StackEvents) {
		line := *e.LogicalResourceId + " " + string(e.ResourceStatus)
		if *e.PhysicalResourceId != *e.StackId && *e.PhysicalResourceId != "" {
			line += " " + *e.PhysicalResourceId
		}
		if e.ResourceStatusReason != nil {
			line += " (" + *e.ResourceStatusReason + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// expect compares the events that were added since some existed.
func (g *rig) expect(name string, from int, want ...string) {
	g.t.Helper()
	if got := g.story(name)[from:]; !slices.Equal(got, want) {
		g.t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// expectStatus compares the status of a stack, which has no reason.
func (g *rig) expectStatus(s types.Stack, status types.StackStatus) {
	g.t.Helper()
	if s.StackStatus != status || aws.ToString(s.StackStatusReason) != "" {
		g.t.Errorf("status %s (%s), want %s\n%s", s.StackStatus, aws.ToString(s.StackStatusReason), status, strings.Join(g.story(*s.StackId), "\n"))
	}
}

func (g *rig) same(what, got, want string) {
	g.t.Helper()
	if got != want {
		g.t.Errorf("%s: %s\nwant: %s", what, got, want)
	}
}

// refusedWith checks the code and the message of a refusal.
func refusedWith(t *testing.T, err error, code, message string) {
	t.Helper()
	var refusal *awswire.Error
	if !errors.As(err, &refusal) || refusal.Code != code || refusal.Message != message {
		t.Errorf("got %v, want %s: %s", err, code, message)
	}
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
