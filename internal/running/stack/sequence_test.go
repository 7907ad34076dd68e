package stack

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"pgregory.net/rapid"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestSequences holds the engine to the model of the files beside: random templates, random
// sequences of operations, and handlers that answer in a random order, or fail, crash halfway,
// throttle and lie; of one type, names are unique. At each moment the calls that wait for an answer are those of the model; at
// the end of each operation the status and its reason, the resources, the outputs, the events
// of each resource and what the handlers have left are. A difference is made small by rapid.
//
// Without RAPID_CHECKS the same 300 sequences run each time. RAPID_CHECKS=10000 runs that many
// others; -rapid.seed=n sets where they begin, so that several processes share a large number.
func TestSequences(t *testing.T) {
	if os.Getenv("RAPID_CHECKS") == "" {
		checks := "300"
		if testing.Short() {
			checks = "60"
		}
		defaults := map[string]string{"rapid.checks": checks, "rapid.seed": "21", "rapid.nofailfile": "true"}
		for name, value := range defaults {
			f := flag.Lookup(name)
			before := f.Value.String()
			if err := f.Value.Set(value); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Value.Set(before) })
		}
	}
	known, empty := testTypes(t), emptyStore(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(filepath.Dir(empty), "sequence")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if err := os.CopyFS(dir, os.DirFS(empty)); err != nil {
			rt.Fatal(err)
		}
		rapid.SyncTest(rt, func(rt *rapid.T) { newSequence(rt, dir, known).run() })
	})
}

// emptyStore is a folder with a store that nothing was written to, in memory where there is one.
func emptyStore(t *testing.T) string {
	t.Helper()
	parent := t.TempDir()
	if memory, err := os.MkdirTemp("/dev/shm", "sequences"); err == nil {
		t.Cleanup(func() { os.RemoveAll(memory) })
		parent = memory
	}
	dir := filepath.Join(parent, "empty")
	s, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A sequence is one stack in the engine and in the model.
type sequence struct {
	*rapid.T
	engine   *Engine
	store    *store.Store
	handlers *slowHandlers
	model    *modelStack
	arn      string
	serial   int
	made     map[string]int
	throttle map[string]int // calls that were throttled, by what they are
}

// slowHandlers have each call wait for its answer.
type slowHandlers struct {
	mu      sync.Mutex
	types   map[string]*operation.Type
	waiting map[string]*slowCall // by what they are
	things  map[string]map[string]any
	unread  map[string]bool // identifiers whose READ fails
	calls   []string
}

type slowCall struct {
	request operation.Request
	answer  chan operation.Progress
}

func newSequence(rt *rapid.T, dir string, known map[string]*operation.Type) *sequence {
	h := &slowHandlers{types: map[string]*operation.Type{}, waiting: map[string]*slowCall{}, things: map[string]map[string]any{}, unread: map[string]bool{}}
	for name, typ := range known {
		copied := *typ
		copied.Provider = h
		h.types[name] = &copied
	}
	q := &sequence{T: rt, handlers: h, model: newModelStack("s"), made: map[string]int{}, throttle: map[string]int{}}
	var err error
	if q.store, err = store.Open(context.Background(), store.Config{Dir: dir, Poll: time.Hour, Lease: time.Hour}); err != nil {
		rt.Fatal(err)
	}
	operations := operation.New(operation.Config{Store: q.store, Types: h, Retries: operation.Retries{First: time.Millisecond}})
	q.engine = New(Config{Store: q.store, Types: h, Operations: operations, Logger: slog.New(slog.DiscardHandler)})
	operations.Own(Owner, q.engine)
	workers := operations.Workers()
	maps.Copy(workers, q.engine.Workers())
	if err := q.store.Work(context.Background(), workers); err != nil {
		rt.Fatal(err)
	}
	return q
}

func (h *slowHandlers) Type(_ context.Context, _ awswire.Caller, name, _ string) (*operation.Type, error) {
	if typ := h.types[name]; typ != nil {
		return typ, nil
	}
	return nil, &operation.UnknownTypeError{Name: name}
}

// Call implements [operation.Provider]. A READ is answered at once.
func (h *slowHandlers) Call(ctx context.Context, request operation.Request) (operation.Progress, error) {
	h.mu.Lock()
	if request.Action == invoke.Read {
		defer h.mu.Unlock()
		thing, ok := h.things[request.Identifier]
		if !ok || h.unread[request.Identifier] {
			delete(h.unread, request.Identifier)
			return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: "NotFound", Message: "gone"}, nil
		}
		return operation.Progress{Status: types.OperationStatusSuccess, Identifier: request.Identifier, Model: maps.Clone(thing)}, nil
	}
	call := &slowCall{request: request, answer: make(chan operation.Progress, 1)}
	key := describeCall(request)
	if h.waiting[key] != nil {
		key += " twice"
	}
	h.waiting[key] = call
	h.calls = append(h.calls, key)
	h.mu.Unlock()
	select {
	case progress := <-call.answer:
		return progress, nil
	case <-ctx.Done():
		return operation.Progress{}, ctx.Err()
	}
}

// named reports whether a thing of the type Remade has a name. These are unique: a successor cannot have the name of what
// it replaces as long as that exists.
func (h *slowHandlers) named(name any) bool {
	for id, thing := range h.things {
		if name != nil && thing["Name"] == name && strings.ContainsAny(id[:1], "ad") { // see typeName
			return true
		}
	}
	return false
}

func describeCall(r operation.Request) string {
	props := func(model map[string]any) string {
		texts := map[string]string{}
		for name, value := range model {
			texts[name] = fmt.Sprint(value)
		}
		return describeProps(texts)
	}
	out := string(r.Action) + " " + r.LogicalID
	switch r.Action {
	case invoke.Create:
		out += " " + props(r.Desired)
	case invoke.Update:
		out += " " + r.Identifier + " " + props(r.Desired) + " was " + props(r.Previous)
	default:
		out += " " + r.Identifier
	}
	if r.Rollback && r.Action != invoke.Delete {
		out += " rollback"
	}
	return out
}

func (q *sequence) run() {
	defer q.close()
	for range rapid.IntRange(1, 7).Draw(q.T, "operations") {
		request, ok := q.draw()
		if !ok {
			return
		}
		q.begin(request)
		q.finish()
		q.compare()
	}
}

func (q *sequence) close() {
	q.handlers.mu.Lock()
	for _, call := range q.handlers.waiting {
		call.answer <- operation.Progress{Status: types.OperationStatusFailed, ErrorCode: "InvalidRequest"}
	}
	q.handlers.mu.Unlock()
	if err := q.store.Close(); err != nil {
		q.Error(err)
	}
	time.Sleep(time.Minute) // what runs in the background of libraries ends
}

var resourceNames = []string{"A", "B", "C", "D", "E"}

// template draws a template.
func (q *sequence) template() *modelTemplate {
	q.serial++
	out := &modelTemplate{Serial: q.serial}
	var earlier []string
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(q.T, label) }
	for _, id := range resourceNames {
		if rapid.IntRange(0, 9).Draw(q.T, id) < 3 && (len(earlier) > 0 || id != "E") {
			continue
		}
		s := modelSpec{ID: id, Note: modelValue{"text", pick("note", "1", "2", "3")}}
		s.Name, s.Class = pick("name", "", "", "", "n", "m"), pick("class", "", "", "k")
		if len(earlier) > 0 {
			if kind := pick("kind", "text", "text", "Ref", "Id", "Note"); kind != "text" {
				s.Note = modelValue{kind, pick("of", earlier...)}
			}
			s.DependsOn = pick("after", append([]string{"", "", ""}, earlier...)...)
		}
		s.Deletion = pick("deletion", "", "", "", "Retain", "RetainExceptOnCreate")
		s.Replace = pick("replace", "", "", "", "Retain")
		out.Resources = append(out.Resources, s)
		earlier = append(earlier, id)
	}
	out.Output = pick("output", append([]string{""}, earlier...)...)
	return out
}

// body writes a template as clients do.
func (t *modelTemplate) body() *string {
	resources := map[string]any{}
	for _, s := range t.Resources {
		props := map[string]any{"Note": s.Note.Text}
		switch s.Note.Kind {
		case "Ref":
			props["Note"] = map[string]any{"Ref": s.Note.Text}
		case "Id", "Note":
			props["Note"] = map[string]any{"Fn::GetAtt": []string{s.Note.Text, s.Note.Kind}}
		}
		r := map[string]any{"Type": s.typeName(), "Properties": props}
		put := func(in map[string]any, key, value string) {
			if value != "" {
				in[key] = value
			}
		}
		put(props, "Name", s.Name)
		put(props, "Class", s.Class)
		put(r, "DependsOn", s.DependsOn)
		put(r, "DeletionPolicy", s.Deletion)
		put(r, "UpdateReplacePolicy", s.Replace)
		resources[s.ID] = r
	}
	outputs := map[string]any{"Serial": map[string]any{"Value": fmt.Sprint(t.Serial)}}
	if t.Output != "" {
		outputs["Id"] = map[string]any{"Value": map[string]any{"Ref": t.Output}}
	}
	return aws.String(encode(map[string]any{"Resources": resources, "Outputs": outputs}))
}

// draw draws an operation that the status of the stack allows.
func (q *sequence) draw() (modelRequest, bool) {
	m := q.model
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(q.T, label) }
	var r modelRequest
	switch m.status {
	case "":
		r.kind = "create"
	case "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE":
		r.kind = pick("kind", "update", "update", "update", "update", "delete")
	case "CREATE_FAILED", "UPDATE_FAILED":
		r.kind = pick("kind", "update", "rollback", "delete")
	case "UPDATE_ROLLBACK_FAILED":
		r.kind = pick("kind", "continue", "continue", "delete")
	case "DELETE_COMPLETE":
		return r, false
	default:
		r.kind = "delete"
	}
	switch r.kind {
	case "create":
		r.template, r.onFailure = q.template(), pick("on failure", "ROLLBACK", "ROLLBACK", "DO_NOTHING", "DELETE")
		r.retainExcept = rapid.Bool().Draw(q.T, "retain except on create")
	case "update":
		r.template, r.onFailure = q.template(), pick("on failure", "ROLLBACK", "ROLLBACK", "DO_NOTHING")
		if m.status == "CREATE_FAILED" || m.status == "UPDATE_FAILED" {
			r.onFailure = "DO_NOTHING"
		}
		r.retainExcept = rapid.Bool().Draw(q.T, "retain except on create")
	case "rollback":
		r.onFailure, r.retainExcept = "ROLLBACK", rapid.Bool().Draw(q.T, "retain except on create")
	case "continue":
		if r.force = rapid.Bool().Draw(q.T, "force"); r.force {
			break
		}
		for _, id := range resourceNames {
			if x := m.resources[id]; x != nil && x.status == "UPDATE_FAILED" && rapid.Bool().Draw(q.T, "skip "+id) {
				r.skip = append(r.skip, id)
			}
		}
	case "delete":
		if m.status != "DELETE_FAILED" {
			break
		}
		if r.force = rapid.Bool().Draw(q.T, "force"); r.force {
			break
		}
		for _, id := range resourceNames {
			if x := m.resources[id]; x != nil && x.status == "DELETE_FAILED" && rapid.Bool().Draw(q.T, "retain "+id) {
				r.retain = append(r.retain, id)
			}
		}
	}
	return r, true
}

// begin begins an operation in both.
func (q *sequence) begin(r modelRequest) {
	q.Log("---", r.kind, r.onFailure, r.retainExcept, r.skip, r.retain, r.force)
	if r.template != nil {
		q.Log(*r.template.body())
	}
	ctx := context.Background()
	e := q.engine
	name := aws.String("s")
	if q.arn != "" {
		name = aws.String(q.arn)
	}
	var err error
	disable := aws.Bool(r.onFailure == "DO_NOTHING")
	switch r.kind {
	case "create":
		var out *cloudformation.CreateStackOutput
		out, err = e.CreateStack(ctx, owner, &cloudformation.CreateStackInput{StackName: name, TemplateBody: r.template.body(), OnFailure: types.OnFailure(r.onFailure), RetainExceptOnCreate: &r.retainExcept})
		if err == nil {
			q.arn = *out.StackId
		}
	case "update":
		_, err = e.UpdateStack(ctx, owner, &cloudformation.UpdateStackInput{StackName: name, TemplateBody: r.template.body(), DisableRollback: disable, RetainExceptOnCreate: &r.retainExcept})
	case "delete":
		in := &cloudformation.DeleteStackInput{StackName: name, RetainResources: r.retain}
		if r.force {
			in.DeletionMode = types.DeletionModeForceDeleteStack
		}
		_, err = e.DeleteStack(ctx, owner, in)
	case "rollback":
		_, err = e.RollbackStack(ctx, owner, &cloudformation.RollbackStackInput{StackName: name, RetainExceptOnCreate: &r.retainExcept})
	case "continue":
		_, err = e.ContinueUpdateRollback(ctx, owner, &cloudformation.ContinueUpdateRollbackInput{StackName: name, ResourcesToSkip: r.skip, ForceRollback: &r.force})
	}
	if err != nil {
		q.Fatalf("%s: %v", r.kind, err)
	}
	q.model.begin(r)
}

// settle waits until the engine can only wait for handlers.
func (q *sequence) settle() {
	synctest.Wait()
	time.Sleep(100 * time.Millisecond) // retries
	synctest.Wait()
}

// finish answers calls until the operation has ended.
func (q *sequence) finish() {
	for {
		q.settle()
		q.handlers.mu.Lock()
		got := slices.Sorted(maps.Keys(q.handlers.waiting))
		q.handlers.mu.Unlock()
		pending := q.model.pending()
		want := slices.Sorted(maps.Keys(pending))
		if !slices.Equal(got, want) {
			q.Fatalf("the engine waits for\n  %s\nthe model (%s) for\n  %s", strings.Join(got, "\n  "), q.model.status, strings.Join(want, "\n  "))
		}
		if len(want) == 0 {
			return
		}
		if q.interrupts() {
			continue
		}
		call := rapid.SampledFrom(want).Draw(q.T, "call")
		q.answer(call, pending[call])
	}
}

// interrupts may cancel the update, or delete the stack while it is created.
func (q *sequence) interrupts() bool {
	m := q.model
	if m.cancelled || m.status != "UPDATE_IN_PROGRESS" && m.status != "CREATE_IN_PROGRESS" || rapid.IntRange(0, 19).Draw(q.T, "interrupt") != 19 {
		return false
	}
	q.Log("interrupted")
	var err error
	if m.status == "UPDATE_IN_PROGRESS" {
		_, err = q.engine.CancelUpdateStack(context.Background(), owner, &cloudformation.CancelUpdateStackInput{StackName: &q.arn})
	} else {
		_, err = q.engine.DeleteStack(context.Background(), owner, &cloudformation.DeleteStackInput{StackName: &q.arn})
	}
	if err != nil {
		q.Fatal(err)
	}
	m.cancel()
	return true
}

// answers are what handlers may answer, and what the engine hears then.
var answers = map[invoke.Action][]string{
	invoke.Create: {"ok", "ok", "ok", "ok", "ok", "fail", "made", "unread", "again", "configured", "throttled"},
	invoke.Update: {"ok", "ok", "ok", "ok", "ok", "fail", "applied", "unread", "again", "throttled", "stuck"},
	invoke.Delete: {"ok", "ok", "ok", "ok", "ok", "fail", "gone", "again", "throttled"},
}

// answer has a handler answer one call.
func (q *sequence) answer(key string, step *modelStep) {
	action, _, _ := strings.Cut(key, " ")
	how := rapid.SampledFrom(answers[invoke.Action(action)]).Draw(q.T, "answer") // may panic
	q.handlers.mu.Lock()
	call := q.handlers.waiting[key]
	delete(q.handlers.waiting, key)
	r := call.request
	if how == "throttled" {
		if q.throttle[r.Token]++; q.throttle[r.Token] > 4 {
			how = "ok"
		}
	}
	if h := q.handlers; r.Action == invoke.Create && r.Type == "Acme::Test::Remade" && h.named(r.Desired["Name"]) && how != "throttled" {
		how = "taken"
	}
	q.Log(key, "->", how)
	failed := func(code, message string) operation.Progress {
		return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: code, Message: message}
	}
	id := r.Identifier
	if r.Action == invoke.Create && id == "" {
		q.made[r.LogicalID]++
		id = fmt.Sprintf("%s-%d", strings.ToLower(r.LogicalID), q.made[r.LogicalID])
	}
	model := maps.Clone(r.Desired)
	if model == nil {
		model = map[string]any{}
	}
	model["Id"] = id
	progress := operation.Progress{Status: types.OperationStatusSuccess, Identifier: id, Model: model}
	h := q.handlers
	switch how {
	case "ok":
		if r.Action == invoke.Delete {
			delete(h.things, id)
			progress = operation.Progress{Status: types.OperationStatusSuccess}
		} else {
			h.things[id] = model
		}
	case "fail":
		progress = failed("InvalidRequest", "no")
	case "made", "applied":
		h.things[id] = model
		progress = failed("InvalidRequest", "no")
		progress.Identifier = id
	case "unread":
		h.things[id] = model
		h.unread[id] = step.state != "cancelled" // what was cancelled is not read
		progress.Model = nil
	case "again", "configured":
		if r.Action == invoke.Create {
			h.things[id] = model
		}
		progress = operation.Progress{Status: types.OperationStatusInProgress, Identifier: id, Callback: json.RawMessage(`{}`)}
		if how == "configured" {
			progress.Configured, progress.Model = true, model
		}
	case "taken":
		progress = failed("AlreadyExists", "taken")
	case "throttled":
		progress = failed("Throttling", "slow")
	case "stuck":
		progress = failed("NotUpdatable", "no")
	case "gone":
		delete(h.things, id)
		progress = failed("NotFound", "gone")
	}
	h.mu.Unlock()
	call.answer <- progress
	q.model.answer(step, how, id)
}

// compare holds what the API shows against the model.
func (q *sequence) compare() {
	ctx := context.Background()
	out, err := q.engine.DescribeStacks(ctx, owner, &cloudformation.DescribeStacksInput{StackName: &q.arn})
	if err != nil {
		q.Fatal(err)
	}
	s, m := out.Stacks[0], q.model
	if string(s.StackStatus) != m.status || aws.ToString(s.StackStatusReason) != m.reason {
		q.Fatalf("status %s (%s), the model has %s (%s)", s.StackStatus, aws.ToString(s.StackStatusReason), m.status, m.reason)
	}
	outputs := map[string]string{}
	for _, o := range s.Outputs {
		outputs[*o.OutputKey] = *o.OutputValue
	}
	if !maps.Equal(outputs, m.outputs) {
		q.Errorf("outputs %v, the model has %v", outputs, m.outputs)
	}
	q.same("resources", q.resources(ctx), m.shown())
	q.same("things", q.things(), m.shownThings())
	q.same("events", q.events(ctx), m.shownEvents())
	if q.Failed() {
		q.FailNow()
	}
}

func (q *sequence) same(what string, got, want []string) {
	if !slices.Equal(got, want) {
		q.Errorf("%s of the engine\n  %s\nof the model\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (q *sequence) resources(ctx context.Context) []string {
	rows, err := store.FindAll[resourceRow](ctx, q.store.Read(), "logical_id", "stack_id = (SELECT id FROM stacks WHERE arn = ?)", q.arn)
	if err != nil {
		q.Fatal(err)
	}
	var out []string
	for i := range rows {
		x := rows[i].resource()
		props := map[string]string{}
		for name, value := range x.Properties {
			props[name] = fmt.Sprint(value)
		}
		out = append(out, fmt.Sprint(x.LogicalID, " ", x.Status, " ", x.PhysicalID, " ", describeProps(props)))
	}
	return out
}

func (m *modelStack) shown() []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(m.resources)) {
		x := m.resources[id]
		out = append(out, fmt.Sprint(id, " ", x.status, " ", x.pid, " ", describeProps(x.props)))
	}
	return out
}

func (q *sequence) things() []string {
	q.handlers.mu.Lock()
	defer q.handlers.mu.Unlock()
	var out []string
	for _, id := range slices.Sorted(maps.Keys(q.handlers.things)) {
		props := map[string]string{}
		for name, value := range q.handlers.things[id] {
			props[name] = fmt.Sprint(value)
		}
		out = append(out, id+" "+describeProps(props))
	}
	return out
}

func (m *modelStack) shownThings() []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(m.things)) {
		out = append(out, id+" "+describeProps(m.things[id]))
	}
	return out
}

// events are those of each resource in their order.
func (q *sequence) events(ctx context.Context) []string {
	byResource := map[string][]string{}
	var token *string
	for {
		out, err := q.engine.DescribeStackEvents(ctx, owner, &cloudformation.DescribeStackEventsInput{StackName: &q.arn, NextToken: token})
		if err != nil {
			q.Fatal(errors.Join(errors.New("events"), err))
		}
		for _, e := range out.StackEvents {
			id, physical := *e.LogicalResourceId, aws.ToString(e.PhysicalResourceId)
			if physical == q.arn {
				physical = ""
			}
			reason := tokens.ReplaceAllString(aws.ToString(e.ResourceStatusReason), "RequestToken: U")
			id = eventList(id, string(e.ResourceStatus), physical)
			byResource[id] = append(byResource[id], strings.TrimRight(string(e.ResourceStatus)+" "+physical+" "+reason, " "))
		}
		if token = out.NextToken; token == nil {
			break
		}
	}
	for _, list := range byResource {
		slices.Reverse(list)
	}
	return flattened(byResource)
}

func (m *modelStack) shownEvents() []string { return flattened(m.events) }

func flattened(lists map[string][]string) []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(lists)) {
		for _, line := range lists[id] {
			out = append(out, id+" "+line)
		}
	}
	return out
}
