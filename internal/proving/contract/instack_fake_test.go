package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/drift"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A fakeCloud is a CloudFormation in memory that runs the handlers of a service. deviates names
// what it does otherwise than AWS.
type fakeCloud struct {
	t        *testing.T
	service  *service
	handler  invoke.Function
	schema   *schema.Schema
	deviates string

	// The versions of an upgrade; templates are checked against the schema of the one in use.
	versions [2]struct {
		schema  *schema.Schema
		handler invoke.Function
	}
	validates         bool
	desired, previous map[string]any // of the latest update

	stacks  map[string]*fakeStack
	sets    map[string]*StackOperation
	stopped int                // operations until the context is canceled; 0 never
	stop    context.CancelFunc // of the run
	begun   int
}

type fakeStack struct {
	properties map[string]any
	tags       map[string]string
	outputs    map[string]any
	retain     bool
	id         string
	model      map[string]any
}

func newFakeCloud(t *testing.T, s *service) *fakeCloud {
	return &fakeCloud{t: t, service: s, handler: s, schema: s.schema, stacks: map[string]*fakeStack{}, sets: map[string]*StackOperation{}}
}

// call runs a handler to its end. each sees the models on the way.
func (f *fakeCloud) call(ctx context.Context, req invoke.Request, each func(model map[string]any)) (*invoke.Event, error) {
	req.TypeName = f.schema.TypeName.Value
	return invoke.New(invoke.Config{
		Function: f.handler, Schema: f.schema, Now: func() time.Time { return f.service.clock },
		Sleep: func(_ context.Context, d time.Duration) error { f.service.clock = f.service.clock.Add(d); return nil },
		AfterCall: func(c *invoke.Call) error {
			if c.Event != nil && c.Event.Model != nil && each != nil {
				each(c.Event.Model)
			}
			return nil
		},
	}).Run(ctx, req)
}

// fakeTemplate is what the fake reads of a template.
type fakeTemplate struct {
	Resources map[string]struct {
		Properties     map[string]any
		DeletionPolicy string
	}
	Outputs map[string]any
}

func (f *fakeCloud) parse(text []byte) (t fakeTemplate, properties map[string]any) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&t); err != nil {
		f.t.Errorf("the template is no JSON: %v", err)
	}
	return t, t.Resources[subject].Properties
}

// A fakeOperation collects the events of an operation.
type fakeOperation struct {
	cloud *fakeCloud
	stack *fakeStack
	out   StackOutcome
}

func (o *fakeOperation) event(id, status, reason string) {
	o.out.Events = append(o.out.Events, StackEvent{LogicalID: subject, PhysicalID: id, Type: o.cloud.schema.TypeName.Value, Status: status, Reason: reason})
}

func (o *fakeOperation) end(status string) (*StackOutcome, error) {
	o.out.Status = status
	return &o.out, nil
}

func (o *fakeOperation) identifier(model map[string]any) string {
	id, _ := identifierText(o.cloud.schema, model)
	return id
}

// create creates the resource. The events after the first have the status prefix.
func (o *fakeOperation) create(ctx context.Context, prefix string, properties map[string]any, tags map[string]string) (id string, model map[string]any, ok bool) {
	o.event("", prefix+"_IN_PROGRESS", "")
	event, err := o.cloud.call(ctx, invoke.Request{Action: invoke.Create, Model: properties, StackTags: tags, SystemTags: systemTags}, func(model map[string]any) {
		o.event(o.identifier(model), prefix+"_IN_PROGRESS", "Resource creation Initiated")
	})
	if err != nil || event.Status != invoke.Success {
		o.event("", prefix+"_FAILED", fmt.Sprint(err, event))
		return "", nil, false
	}
	id = o.identifier(event.Model)
	o.event(id, prefix+"_COMPLETE", "")
	return id, event.Model, true
}

// delete deletes a resource. That it is gone already is as good.
func (o *fakeOperation) delete(ctx context.Context, id string) bool {
	o.event(id, "DELETE_IN_PROGRESS", "")
	event, err := o.cloud.call(ctx, invoke.Request{Action: invoke.Delete, Model: o.cloud.byIdentifier(id)}, nil)
	if err != nil || event.Status != invoke.Success && event.ErrorCode != invoke.NotFound {
		o.event(id, "DELETE_FAILED", fmt.Sprint(err, event))
		return false
	}
	o.event(id, "DELETE_COMPLETE", "")
	return true
}

func (o *fakeOperation) update(ctx context.Context, properties, previous map[string]any, tags, before map[string]string) (id string, ok bool) {
	o.event(o.stack.id, "UPDATE_IN_PROGRESS", "")
	desired := schema.Clone(properties)
	for key, value := range o.cloud.byIdentifier(o.stack.id) {
		desired[key] = value
	}
	o.cloud.desired, o.cloud.previous = desired, previous
	event, err := o.cloud.call(ctx, invoke.Request{Action: invoke.Update, Model: desired, Previous: previous, StackTags: tags, PreviousStackTags: before}, nil)
	if err != nil || event.Status != invoke.Success {
		o.event(o.stack.id, "UPDATE_FAILED", fmt.Sprint(err, event))
		return "", false
	}
	id = o.identifier(event.Model)
	o.event(id, "UPDATE_COMPLETE", "")
	return id, true
}

// byIdentifier is a model with the identifier alone.
func (f *fakeCloud) byIdentifier(id string) map[string]any {
	model := map[string]any{}
	for i, value := range strings.Split(id, "|") {
		if i < len(f.schema.PrimaryIdentifier) {
			putAt(model, f.schema.PrimaryIdentifier[i].Tokens, value)
		}
	}
	return model
}

// putAt puts a value at a place of a model, with the objects on the way.
func putAt(model map[string]any, at document.Pointer, value any) { invoke.Put(model, at, value) }

func (f *fakeCloud) Run(ctx context.Context, op *StackOperation) (*StackOutcome, error) {
	if f.begun++; f.begun == f.stopped {
		f.stop()
	}
	o := &fakeOperation{cloud: f, stack: f.stacks[op.Stack]}
	if set := f.sets[op.ChangeSet]; set != nil {
		op = set
	}
	switch op.Action {
	case StackCreate:
		return f.create(ctx, o, op)
	case StackUpdate:
		return f.update(ctx, o, op)
	case StackImport:
		return f.importInto(ctx, o, op)
	case StackMove:
		return f.move(ctx, o, op)
	}
	s := o.stack
	switch {
	case s == nil:
		return o.end("DELETE_COMPLETE")
	case s.id == "":
	case s.retain:
		o.event(s.id, "DELETE_SKIPPED", "")
	case !slices.Contains(op.Retain, subject) && !o.delete(ctx, s.id):
		return o.end("DELETE_FAILED")
	}
	delete(f.stacks, op.Stack)
	return o.end("DELETE_COMPLETE")
}

func (f *fakeCloud) create(ctx context.Context, o *fakeOperation, op *StackOperation) (*StackOutcome, error) {
	t, properties := f.parse(op.Template)
	if err := f.validate(properties); err != nil {
		return nil, err
	}
	s := &fakeStack{properties: properties, tags: op.Tags, retain: t.Resources[subject].DeletionPolicy == "Retain"}
	f.stacks[op.Stack], o.stack = s, s
	var ok bool
	if s.id, s.model, ok = o.create(ctx, "CREATE", properties, op.Tags); !ok {
		return o.end("ROLLBACK_COMPLETE")
	}
	if _, fails := t.Resources["Failure"]; fails {
		if !o.delete(ctx, s.id) {
			return o.end("ROLLBACK_FAILED")
		}
		s.id = ""
		return o.end("ROLLBACK_COMPLETE")
	}
	return o.end("CREATE_COMPLETE")
}

// use makes a version the one that everything is done with.
func (f *fakeCloud) use(_ context.Context, v Version) error {
	f.schema, f.handler = f.versions[v].schema, f.versions[v].handler
	return nil
}

// validate is the validation before a deployment.
func (f *fakeCloud) validate(properties map[string]any) error {
	if !f.validates {
		return nil
	}
	for _, v := range f.schema.Check(properties, schema.CheckConfig{}) {
		return &Refusal{"ValidationError", "Properties validation failed for resource Subject: " + v.Pointer.String() + ": " + v.Message}
	}
	return nil
}

// replaces reports whether CloudFormation replaces the resource for a change.
func (f *fakeCloud) replaces(a, b map[string]any) bool {
	if f.schema.Handler("update") == nil {
		return true
	}
	return slices.ContainsFunc(f.schema.CreateOnly, func(p schema.Path) bool {
		return fmt.Sprint(valueAt(a, p.Tokens)) != fmt.Sprint(valueAt(b, p.Tokens))
	})
}

func (f *fakeCloud) update(ctx context.Context, o *fakeOperation, op *StackOperation) (*StackOutcome, error) {
	t, properties := f.parse(op.Template)
	if err := f.validate(properties); err != nil {
		return nil, err
	}
	s := o.stack
	_, fails := t.Resources["Failure"]
	same := reflect.DeepEqual(properties, s.properties) && maps.Equal(op.Tags, s.tags)
	if same && reflect.DeepEqual(t.Outputs, s.outputs) && f.deviates != "updates without changes" {
		return nil, &Refusal{"ValidationError", "No updates are to be performed."}
	}
	s.outputs = t.Outputs
	f.outputs(ctx, o)
	was, before := s.id, s.properties
	var id string
	var ok bool
	replaced := !same && f.replaces(s.properties, properties)
	switch {
	case same && f.deviates != "updates without changes":
		return o.end("UPDATE_COMPLETE")
	case replaced:
		o.event(was, "UPDATE_IN_PROGRESS", "Requested update requires the creation of a new physical resource")
		id, _, ok = o.create(ctx, "UPDATE", properties, op.Tags)
	default:
		id, ok = o.update(ctx, properties, before, op.Tags, s.tags)
	}
	switch {
	case !ok:
		return o.end("UPDATE_ROLLBACK_COMPLETE")
	case fails:
		return f.undo(ctx, o, properties, was, id, replaced)
	}
	s.id, s.properties, s.tags = id, properties, op.Tags
	if id != was && !o.delete(ctx, was) {
		return o.end("UPDATE_COMPLETE")
	}
	return o.end("UPDATE_COMPLETE")
}

// undo takes an update back.
func (f *fakeCloud) undo(ctx context.Context, o *fakeOperation, properties map[string]any, was, id string, replaced bool) (*StackOutcome, error) {
	if !replaced {
		o.update(ctx, o.stack.properties, properties, o.stack.tags, nil)
		return o.end("UPDATE_ROLLBACK_COMPLETE")
	}
	o.event(was, "UPDATE_COMPLETE", "")
	if f.deviates == "deletes the wrong one" {
		id = was
	}
	o.delete(ctx, id)
	return o.end("UPDATE_ROLLBACK_COMPLETE")
}

// outputs evaluates Ref and Fn::GetAtt, by the model that a read returns.
func (f *fakeCloud) outputs(ctx context.Context, o *fakeOperation) {
	o.out.Outputs = map[string]string{}
	event, err := f.call(ctx, invoke.Request{Action: invoke.Read, Model: f.byIdentifier(o.stack.id)}, nil)
	if err != nil {
		return
	}
	for name, output := range o.stack.outputs {
		value := output.(map[string]any)["Value"].(map[string]any)
		o.out.Outputs[name] = o.stack.id
		if at, ok := value["Fn::GetAtt"].([]any); ok {
			o.out.Outputs[name] = fmt.Sprint(valueAt(event.Model, strings.Split(at[1].(string), ".")))
		}
	}
}

// move is a stack refactor.
func (f *fakeCloud) move(ctx context.Context, o *fakeOperation, op *StackOperation) (*StackOutcome, error) {
	s := o.stack
	for _, name := range []string{"create", "read", "update", "delete"} {
		if f.schema.Handler(name) == nil {
			return nil, &Refusal{"StackRefactorFailed", "Stack Refactor does not support " + f.schema.TypeName.Value + "."}
		}
	}
	if tagging := f.schema.Tagging; tagging.Declared && tagging.Taggable && !tagging.TagUpdatable {
		return nil, &Refusal{"StackRefactorFailed", "Stack Refactor does not support " + f.schema.TypeName.Value + " because the resource type does not allow tag updates after creation."}
	}
	if _, err := f.Read(ctx, s.id); err != nil {
		return nil, &Refusal{"StackRefactorFailed", err.Error()}
	}
	if op.Move.Stack != "" {
		f.stacks[op.Stack], f.stacks[op.Move.Stack] = &fakeStack{}, s
	}
	if f.deviates == "moves by creating" {
		s.id = "id-4711"
	}
	for _, status := range []string{"IMPORT_IN_PROGRESS", "IMPORT_COMPLETE"} {
		o.out.Events = append(o.out.Events, StackEvent{LogicalID: op.Move.To, PhysicalID: s.id, Type: f.schema.TypeName.Value, Status: status})
	}
	return o.end("UPDATE_COMPLETE")
}

func (f *fakeCloud) importInto(ctx context.Context, o *fakeOperation, op *StackOperation) (*StackOutcome, error) {
	t, properties := f.parse(op.Template)
	if t.Resources[subject].DeletionPolicy == "" {
		return nil, &Refusal{"ValidationError", "The following resources to import [Subject] must have DeletionPolicy attribute specified in the template."}
	}
	var values []string
	for _, path := range f.schema.PrimaryIdentifier {
		values = append(values, op.Identifier[path.Tokens[len(path.Tokens)-1]])
	}
	s := &fakeStack{properties: properties, id: strings.Join(values, "|")}
	event, err := f.call(ctx, invoke.Request{Action: invoke.Read, Model: f.byIdentifier(s.id)}, nil)
	if err != nil || event.Status != invoke.Success {
		return nil, &Refusal{"ChangeSetFAILED", fmt.Sprint(err, event)}
	}
	f.stacks[op.Stack] = s
	o.event(s.id, "IMPORT_IN_PROGRESS", "")
	o.event(s.id, "IMPORT_COMPLETE", "")
	return o.end("IMPORT_COMPLETE")
}

func (f *fakeCloud) Preview(_ context.Context, op *StackOperation) (*StackPreview, error) {
	s := f.stacks[op.Stack]
	_, properties := f.parse(op.Template)
	id := "set-" + strconv.Itoa(len(f.sets))
	f.sets[id] = op
	change := StackChange{LogicalID: subject, Action: "Modify", Replacement: "False", Properties: changed(s.properties, properties)}
	if f.replaces(s.properties, properties) {
		change.Replacement = "True"
	}
	switch f.deviates {
	case "announces a replacement":
		change.Replacement = "True"
	case "announces too little":
		change.Properties = change.Properties[:len(change.Properties)-1]
	case "announces nothing":
		return &StackPreview{ID: id}, nil
	}
	return &StackPreview{ID: id, Changes: []StackChange{change}}, nil
}

func (f *fakeCloud) Drift(ctx context.Context, stack string) ([]StackDrift, error) {
	s := f.stacks[stack]
	found := StackDrift{LogicalID: subject, Status: "NOT_CHECKED"}
	if f.schema.Handler("read") == nil {
		return []StackDrift{found}, nil
	}
	event, err := f.call(ctx, invoke.Request{Action: invoke.Read, Model: f.byIdentifier(s.id)}, nil)
	if err != nil {
		return nil, err
	}
	if event.ErrorCode == invoke.NotFound {
		found.Status = "DELETED"
		return []StackDrift{found}, nil
	}
	result, err := drift.Compare(ctx, f.schema, s.properties, event.Model, drift.Config{})
	if err != nil {
		return nil, err
	}
	found.Status = "IN_SYNC"
	for _, d := range result.Differences {
		found.Status = "MODIFIED"
		found.Differences = append(found.Differences, StackDifference{d.PropertyPath.String(), d.DifferenceType, fmt.Sprint(d.ExpectedValue), fmt.Sprint(d.ActualValue)})
	}
	return []StackDrift{found}, nil
}

// refusedBy makes the error of a resource from an event.
func refusedBy(event *invoke.Event, err error) error {
	switch {
	case err != nil:
		return err
	case event.Status == invoke.Success:
		return nil
	case event.ErrorCode == invoke.NotFound:
		return ErrNoResource
	}
	return &Refusal{string(event.ErrorCode), event.Message}
}

func (f *fakeCloud) Read(ctx context.Context, identifier string) (map[string]any, error) {
	event, err := f.call(ctx, invoke.Request{Action: invoke.Read, Model: f.byIdentifier(identifier)}, nil)
	if err := refusedBy(event, err); err != nil {
		return nil, err
	}
	return event.Model, nil
}

func (f *fakeCloud) List(ctx context.Context, _ map[string]any) ([]string, error) {
	var out []string
	for token := ""; ; {
		event, err := f.call(ctx, invoke.Request{Action: invoke.List, NextToken: token}, nil)
		if err := refusedBy(event, err); err != nil {
			return nil, err
		}
		for _, model := range event.Models {
			id, _ := identifierText(f.schema, model)
			out = append(out, id)
		}
		if token = event.NextToken; token == "" {
			return out, nil
		}
	}
}

func (f *fakeCloud) Change(ctx context.Context, identifier string, properties map[string]any) error {
	if properties == nil {
		event, err := f.call(ctx, invoke.Request{Action: invoke.Delete, Model: f.byIdentifier(identifier)}, nil)
		return refusedBy(event, err)
	}
	now, err := f.Read(ctx, identifier)
	if err != nil {
		return err
	}
	next := schema.Clone(now)
	maps.Copy(next, properties)
	event, err := f.call(ctx, invoke.Request{Action: invoke.Update, Model: next, Previous: now}, nil)
	return refusedBy(event, err)
}

// A saboteur is a handler whose answers are changed.
type saboteur struct {
	*service
	mutant string
	count  map[string]int
	first  map[string]any // the first model that a read returned
}

func (s *saboteur) Call(ctx context.Context, payload []byte) ([]byte, error) {
	var c serviceCall
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	s.count[c.Action]++
	switch {
	case s.mutant == "delete leaves it" && c.Action == "DELETE":
		return []byte(`{"status":"SUCCESS"}`), nil
	case s.mutant == "update is not undone" && c.Action == "UPDATE" && s.count["UPDATE"]%2 == 0, s.mutant == "update does nothing" && c.Action == "UPDATE":
		key := s.find("UPDATE", c.RequestData.ResourceProperties)
		return s.encode(map[string]any{"status": "SUCCESS", "resourceModel": s.shown(s.reports[key])})
	}
	reply, err := s.service.Call(ctx, payload)
	if err != nil {
		return nil, err
	}
	event := map[string]any{}
	if err := json.Unmarshal(reply, &event); err != nil {
		return nil, err
	}
	s.change(c.Action, event)
	return json.Marshal(event)
}

func (s *saboteur) change(action string, event map[string]any) {
	model, _ := event["resourceModel"].(map[string]any)
	switch s.mutant + " " + action {
	case "create fails CREATE":
		clear(event)
		event["status"], event["errorCode"], event["message"] = "FAILED", "ServiceLimitExceeded", "no more reports"
	case "identifier lies CREATE":
		model["Id"] = "id-4711"
	case "update moves it UPDATE":
		model["Id"] = "id-4711"
	case "read leaves a property out READ":
		delete(model, "Title")
	case "attributes change READ":
		if model != nil {
			model["Size"] = s.count["READ"]
		}
	case "read is cached READ":
		if s.first == nil {
			s.first = model
		}
		event["resourceModel"] = s.first
	case "read is cut READ":
		if model != nil && s.count["UPDATE"] > 0 {
			delete(model, "Draft")
		}
	case "list forgets LIST":
		event["resourceModels"] = []any{}
	case "list remembers LIST":
		for key := range s.gone {
			event["resourceModels"] = append(event["resourceModels"].([]any), map[string]any{"Id": key})
		}
	case "delete of what is gone fails DELETE":
		if event["errorCode"] == "NotFound" {
			event["errorCode"] = "GeneralServiceException"
		}
	case "what was added stays READ":
		if model != nil && s.count["UPDATE"] > 0 {
			model["Authors"] = []any{"bill", "peter"}
		}
	case "read never forgets READ":
		for _, old := range s.gone {
			if model == nil {
				clear(event)
				event["status"], event["resourceModel"] = "SUCCESS", s.shown(old)
			}
		}
	case "stack tags replace its own READ":
		if s.count["UPDATE"] > 0 {
			model["Labels"] = []any{map[string]any{"Key": "formwork-stack", "Value": "first"}}
		}
	case "earlier stack tags stay READ":
		if labels, ok := model["Labels"].([]any); ok && s.count["UPDATE"] > 0 {
			model["Labels"] = append(labels, map[string]any{"Key": "formwork-stack", "Value": "first"})
		}
	case "system tags come back READ":
		if labels, ok := model["Labels"].([]any); ok {
			model["Labels"] = append(labels, map[string]any{"Key": "aws:cloudformation:stack-name", "Value": "x"})
		}
	}
}

var errUnreachable = errors.New("dial tcp: connection refused")
