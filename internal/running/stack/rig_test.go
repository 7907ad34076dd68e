package stack

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
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var owner = awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}, AccessKeyID: "AKIDEXAMPLE", RequestID: "r"}

// A rig is an engine on a store of its own, with a world of things that it provisions.
type rig struct {
	*Engine
	t     testing.TB
	store *store.Store
	world *world

	patience time.Duration // of settled
}

func newRig(t testing.TB, place fixtures.Place) *rig {
	t.Helper()
	return newRigIn(t, place, newWorld(t))
}

// newRigIn is an engine on a store that may be there already.
func newRigIn(t testing.TB, place fixtures.Place, w *world) *rig {
	t.Helper()
	return newRigPolling(t, place, w, 20*time.Millisecond)
}

// newRigPolling is newRigIn with how often the store looks for work.
func newRigPolling(t testing.TB, place fixtures.Place, w *world, poll time.Duration) *rig {
	t.Helper()
	g := &rig{t: t, world: w, patience: fixtures.Patience}
	var err error
	g.store, err = store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN, StopTimeout: 50 * time.Millisecond, Poll: poll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.store.Close() })
	logger := slog.New(slog.DiscardHandler)
	operations := operation.New(operation.Config{Store: g.store, Types: g.world, Logger: logger, Retries: operation.Retries{First: time.Millisecond}})
	hooks := hook.New(hook.Config{Store: g.store, Sources: []hook.Source{w}, Operations: operations, Offer: w.Offer, Withdraw: w.Withdraw})
	g.Engine = New(Config{Store: g.store, Types: g.world, Operations: operations, Hooks: hooks, Resolve: g.world.Resolve, StoredParameters: g.world.StoredParameters, Object: g.world.Object, Fragment: g.world.Fragment, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	operations.Own(Owner, g.Engine)
	operations.Own(hook.OwnerName, hooks)
	hooks.Own(HooksOnResource, g.Engine)
	hooks.Own(HooksOnStack, g.OnStacks())
	hooks.Own(HooksOnChangeSet, g.OnChangeSets())
	w.own = g.OwnTypes()
	workers := operations.Workers()
	maps.Copy(workers, g.Workers())
	if err := g.store.Work(t.Context(), workers); err != nil {
		t.Fatal(err)
	}
	return g
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
func onSQLite(t testing.TB) *rig {
	t.Helper()
	return newRig(t, fixtures.Place{Name: "sqlite", Dir: fixtures.TempDir(t)})
}

// A world is the resources of the types of testTypes, and how their handlers behave.
type world struct {
	types map[string]*operation.Type

	mu      sync.Mutex
	things  map[string]map[string]any // by identifier
	next    map[string]int            // how many were made, by logical id
	made    map[string]string         // identifiers, by the token of their create
	scripts map[string][]behavior     // by "CREATE A": what the next calls do
	calls   []string                  // "CREATE A"
	seen    []operation.Request
	reads   []string          // "A VERSION"
	values  map[string]string // of dynamic references, and of stored parameters
	objects map[string]string // templates by their URL
	own     operation.Types   // of the engine
	hooks   hookWorld
	modules map[string]string // fragments by their types
}

// A behavior is what one call does instead of what it should.
type behavior struct {
	code, message string        // fails
	wait          time.Duration // in progress, to be called again
	configured    bool
	hold          chan struct{}         // answers when it is closed
	keep          bool                  // makes the resource although it fails
	unidentified  bool                  // in progress without an identifier
	as            string                // the identifier that it tells
	unnamed       bool                  // succeeds and tells no identifier
	forever       bool                  // does not answer
	status        types.OperationStatus // reports this
	reports       map[string]any        // values in the model that nobody asked for
}

func newWorld(t testing.TB) *world {
	w := &world{types: testTypes(t), things: map[string]map[string]any{}, scripts: map[string][]behavior{}, values: map[string]string{}, next: map[string]int{}, made: map[string]string{}, objects: map[string]string{}}
	for _, typ := range w.types {
		typ.Provider = w
	}
	return w
}

// script has the next calls of an action on a resource behave in a way.
func (w *world) script(call string, behaviors ...behavior) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scripts[call] = append(w.scripts[call], behaviors...)
}

func (w *world) Type(ctx context.Context, caller awswire.Caller, name, version string) (*operation.Type, error) {
	w.mu.Lock()
	typ := w.types[name+" "+version] // one that is not the current one
	if typ == nil {
		typ = w.types[name]
	}
	w.mu.Unlock()
	if typ != nil {
		return typ, nil
	}
	if w.own != nil {
		return w.own.Type(ctx, caller, name, version)
	}
	return nil, &operation.UnknownTypeError{Name: name}
}

func (w *world) Object(_ context.Context, _ awswire.Caller, url string, _ int64) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text, ok := w.objects[url]; ok {
		return []byte(text), nil
	}
	return nil, ErrNotObject
}

// offers has a template found by a URL.
func (w *world) offers(url, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[url] = body
}

func (w *world) Resolve(_ context.Context, _ awswire.Caller, service, reference string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if value, ok := w.values[reference]; ok {
		return value, nil
	}
	return "", awswire.ValidationErrorf("no %s %s", service, reference)
}

func (w *world) StoredParameters(_ context.Context, _ awswire.Caller, names []string) (map[string]template.Stored, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]template.Stored{}
	for _, name := range names {
		if value, ok := w.values[name]; ok {
			out[name] = template.Stored{Type: "String", Value: value}
		}
	}
	return out, nil
}

// stageType is a type of AWS with two identifiers, and ruleType one with an ARN; a test gives what identifies them as the Name.
const (
	stageType = "AWS::ApiGateway::Stage"
	ruleType  = "AWS::Events::Rule"
)

// Call implements [operation.Provider].
func (w *world) Call(ctx context.Context, request operation.Request) (operation.Progress, error) {
	b := w.begin(request)
	if b.hold != nil {
		select {
		case <-b.hold:
		case <-ctx.Done():
			return operation.Progress{}, ctx.Err()
		}
	}
	if b.forever {
		<-ctx.Done()
		return operation.Progress{}, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	identifier := request.Identifier
	if b.as != "" {
		return w.lie(request, b), nil
	}
	if b.status != "" {
		return operation.Progress{Status: b.status}, nil
	}
	if b.unnamed {
		return operation.Progress{Status: types.OperationStatusSuccess, Model: map[string]any{}}, nil
	}
	if identifier == "" {
		identifier = w.made[request.Token] // the call is repeated
	}
	if identifier == "" && !b.unidentified && (b.code == "" || b.keep) && request.Action == invoke.Create {
		w.next[request.LogicalID]++
		identifier = fmt.Sprintf("%s-%d", strings.ToLower(request.LogicalID), w.next[request.LogicalID])
		if name, ok := request.Desired["Name"].(string); ok && slices.Contains([]string{"Acme::Test::Named", stageType, ruleType}, request.Type) {
			identifier = name
		}
		w.made[request.Token] = identifier
	}
	switch {
	case b.code != "":
		if b.keep {
			w.things[identifier] = maps.Clone(request.Desired)
		}
		if !b.keep && request.Action == invoke.Create {
			identifier = ""
		}
		return operation.Progress{Status: types.OperationStatusFailed, Identifier: identifier, ErrorCode: b.code, Message: b.message}, nil
	case b.wait > 0:
		busy := operation.Progress{Status: types.OperationStatusInProgress, Identifier: identifier, Configured: b.configured, Delay: b.wait, Callback: json.RawMessage(`{}`)}
		if b.configured {
			busy.Model = map[string]any{}
			maps.Copy(busy.Model, request.Desired)
			busy.Model["Id"] = identifier
		}
		return busy, nil
	}
	done, err := w.act(request, identifier)
	if b.reports != nil && done.Model != nil {
		maps.Copy(done.Model, b.reports)
	}
	return done, err
}

// lie answers with another identifier than that of the resource.
func (w *world) lie(request operation.Request, b behavior) operation.Progress {
	model := map[string]any{"Id": b.as}
	maps.Copy(model, request.Desired)
	model["Id"] = b.as
	if request.Action != invoke.Read {
		w.things[b.as] = model
	}
	out := operation.Progress{Status: types.OperationStatusSuccess, Identifier: b.as, Model: model}
	switch {
	case b.code != "":
		out.Status, out.ErrorCode, out.Message = types.OperationStatusFailed, b.code, b.message
	case b.wait > 0:
		out.Status, out.Delay, out.Callback = types.OperationStatusInProgress, b.wait, json.RawMessage(`{}`)
	}
	return out
}

func (w *world) begin(request operation.Request) behavior {
	w.mu.Lock()
	defer w.mu.Unlock()
	call := string(request.Action) + " " + request.LogicalID
	if request.Action != invoke.Read {
		w.calls = append(w.calls, call)
		w.seen = append(w.seen, request)
	} else {
		w.reads = append(w.reads, request.LogicalID+" "+request.Version)
	}
	if list := w.scripts[call]; len(list) > 0 {
		w.scripts[call] = list[1:]
		return list[0]
	}
	return behavior{}
}

func (w *world) act(request operation.Request, identifier string) (operation.Progress, error) {
	done := operation.Progress{Status: types.OperationStatusSuccess, Identifier: identifier}
	_, exists := w.things[identifier]
	if !exists && request.Action != invoke.Create {
		return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: "NotFound", Message: identifier + " was not found"}, nil
	}
	switch request.Action {
	case invoke.Delete:
		delete(w.things, identifier)
		return operation.Progress{Status: types.OperationStatusSuccess}, nil
	case invoke.Read:
	default:
		model := map[string]any{"Id": identifier}
		maps.Copy(model, request.Desired)
		w.things[identifier] = model
	}
	done.Model = maps.Clone(w.things[identifier])
	done.Model["Id"] = identifier
	return done, nil
}

// ids are the identifiers of what exists, sorted.
func (w *world) ids() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.things))
}

// settled waits until no operation runs on a stack, and returns the stack.
func (g *rig) settled(name string) types.Stack {
	g.t.Helper()
	return g.settledFor(owner, name)
}

func (g *rig) settledFor(caller awswire.Caller, name string) (s types.Stack) {
	g.t.Helper()
	if !fixtures.Happens(g.patience, func() bool {
		out, err := g.DescribeStacks(g.t.Context(), caller, &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil {
			g.t.Fatal(err)
		}
		s = out.Stacks[0]
		return !inProgress(s.StackStatus)
	}) {
		g.t.Fatalf("stack is still %s\n%s\n%v", s.StackStatus, strings.Join(g.story(name), "\n"), g.world.calls)
	}
	return s
}

// happens waits for an event of the stack "s", as story has it.
func (g *rig) happens(event string) {
	g.t.Helper()
	fixtures.Await(g.t, event, func() bool { return slices.Contains(g.story("s"), event) })
}

// story is the events of a stack, the oldest first: "A CREATE_IN_PROGRESS id (reason)".
func (g *rig) story(name string) []string {
	g.t.Helper()
	var events []types.StackEvent
	var token *string
	for {
		out, err := g.DescribeStackEvents(g.t.Context(), owner, &cloudformation.DescribeStackEventsInput{StackName: aws.String(name), NextToken: token})
		if err != nil {
			g.t.Fatal(err)
		}
		events = append(events, out.StackEvents...)
		if token = out.NextToken; token == nil {
			break
		}
	}
	slices.Reverse(events)
	lines := make([]string, len(events))
	for i, e := range events {
		line := *e.LogicalResourceId + " " + string(e.ResourceStatus)
		if *e.PhysicalResourceId != *e.StackId && *e.PhysicalResourceId != "" {
			line += " " + *e.PhysicalResourceId
		}
		if e.ResourceStatusReason != nil {
			line += " (" + *e.ResourceStatusReason + ")"
		}
		lines[i] = line
	}
	return lines
}

// expect compares the events that were added since some were there already.
func (g *rig) expect(name string, from int, want ...string) {
	g.t.Helper()
	got := g.story(name)[from:]
	for i := range got {
		got[i] = tokens.ReplaceAllString(got[i], "RequestToken: U")
	}
	if !slices.Equal(got, want) {
		g.t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// create creates a stack and waits for its end.
func (g *rig) create(in *cloudformation.CreateStackInput) types.Stack {
	g.t.Helper()
	if in.StackName == nil {
		in.StackName = aws.String("s")
	}
	out, err := g.CreateStack(g.t.Context(), owner, in)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.settled(*out.StackId)
}

// update updates a stack and waits for its end.
func (g *rig) update(in *cloudformation.UpdateStackInput) types.Stack {
	g.t.Helper()
	if in.StackName == nil {
		in.StackName = aws.String("s")
	}
	out, err := g.UpdateStack(g.t.Context(), owner, in)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.settled(*out.StackId)
}

// delete deletes the stack s and waits for its end.
func (g *rig) delete(arn string, in *cloudformation.DeleteStackInput) types.Stack {
	g.t.Helper()
	in.StackName = aws.String(arn)
	if _, err := g.DeleteStack(g.t.Context(), owner, in); err != nil {
		g.t.Fatal(err)
	}
	return g.settled(arn)
}

// expectStatus compares the status of a stack and its reason.
func (g *rig) expectStatus(s types.Stack, status types.StackStatus, reason string) {
	g.t.Helper()
	if s.StackStatus != status || aws.ToString(s.StackStatusReason) != reason {
		g.t.Errorf("status %s (%s), want %s (%s)", s.StackStatus, aws.ToString(s.StackStatusReason), status, reason)
	}
}

// refusal is what the service answers to a request that it refuses: "Code: message".
func refusal(t testing.TB, err error) string {
	t.Helper()
	var refused *awswire.Error
	if !errors.As(err, &refused) {
		t.Fatalf("not a refusal: %v", err)
	}
	return refused.Code + ": " + refused.Message
}

// things writes a template of resources of the type Acme::Test::Thing.
var things = fixtures.Things

// typeOf makes a type of a schema.
func typeOf(t testing.TB, source string) *operation.Type {
	t.Helper()
	s, problems := schema.Load("schema.json", []byte(source), schema.Config{})
	if s == nil {
		t.Fatal(problems)
	}
	return &operation.Type{Name: s.TypeName.Value, Schema: s}
}

// testTypes are the types of [fixtures.ThingTypes].
func testTypes(t testing.TB) map[string]*operation.Type {
	t.Helper()
	out := map[string]*operation.Type{}
	for _, source := range fixtures.ThingTypes() {
		typ := typeOf(t, source)
		out[typ.Name] = typ
	}
	return out
}
