package contract

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/drift"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A stackRun takes the type through stacks with one set of inputs.
type stackRun struct {
	cfg     *StackConfig
	inputs  *InputSet
	summary *Summary
	drift   *drift.Detector

	// The properties of the resource in templates: as created, as updated in place, and as
	// replaced. Without updated or replaced, the reason says why there are none.
	created, updated, replaced map[string]any
	noUpdate, noReplacement    error
	unusable                   error // there are no inputs

	live   *liveStack
	broken error // why no stack could be created

	stacks map[string]bool // names of the stacks that exist
	loose  map[string]bool // identifiers of resources that exist and are in no stack
	alive  map[string]bool // identifiers of resources that exist, as far as events say
	ever   []string        // identifiers of all resources that existed
	before map[string]bool // identifiers that LIST returned before; nil if not known

	start  time.Time
	calls  []Call
	making bool // the stack that a test needs is still being created
}

// A liveStack is a stack with the resource, as the tests left it.
type liveStack struct {
	name       string
	identifier string // the physical ID of the resource
	properties map[string]any
	tags       map[string]string
}

// subject is the logical ID of the resource under test.
const subject = "Subject"

// A stackTemplate is what the template of a test has beside the type.
type stackTemplate struct {
	properties map[string]any
	retain     bool              // the DeletionPolicy is Retain
	imported   bool              // the DeletionPolicy is Delete, which an import needs to be written down
	fails      bool              // another resource fails after the one under test is done
	logicalID  string            // of the resource under test, "" for the usual one
	moved      bool              // there is another resource beside the one under test
	left       bool              // there is that other resource alone
	attributes map[string]string // outputs by their names: attributes, "" for Ref
}

// text is the template as JSON.
func (r *stackRun) text(t stackTemplate) []byte {
	resource := map[string]any{"Type": r.cfg.Schema.TypeName.Value, "Properties": t.properties}
	switch {
	case t.retain:
		resource["DeletionPolicy"] = "Retain"
	case t.imported:
		resource["DeletionPolicy"] = "Delete"
	}
	resources := map[string]any{cmp.Or(t.logicalID, subject): resource}
	if t.left {
		resources = map[string]any{}
	}
	if t.fails || t.moved || t.left {
		resources["Handle"] = map[string]any{"Type": "AWS::CloudFormation::WaitConditionHandle"}
	}
	if t.fails {
		resources["Failure"] = map[string]any{
			"Type": "AWS::CloudFormation::WaitCondition", "DependsOn": subject,
			"Properties": map[string]any{"Handle": map[string]any{"Ref": "Handle"}, "Timeout": "1"},
		}
	}
	template := map[string]any{"Resources": resources}
	if len(t.attributes) > 0 {
		outputs := map[string]any{}
		for name, attribute := range t.attributes {
			value := map[string]any{"Ref": subject}
			if attribute != "" {
				value = map[string]any{"Fn::GetAtt": []string{subject, attribute}}
			}
			outputs[name] = map[string]any{"Value": value}
		}
		template["Outputs"] = outputs
	}
	return encoded(template)
}

// encoded is a value as JSON. It has no values that JSON lacks.
func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // models come from JSON
	return bytes.TrimSpace(b.Bytes())
}

// newStack is a name for a stack.
func (r *stackRun) newStack() string {
	name := strings.ToLower(schema.Hyphenated(r.cfg.Schema.TypeName.Value))
	token := strings.ReplaceAll(r.cfg.NewToken(), "-", "")
	return "cfn-test-" + name[:min(len(name), 100)] + "-" + token[:min(len(token), 12)]
}

// An answer is what a step came to, for the report.
type answer struct {
	status  invoke.Status
	message string
	body    any
	log     string
}

// step does one thing, bounded in time, and keeps it for the report.
func (r *stackRun) step(ctx context.Context, action string, request any, do func(context.Context) (answer, error)) error {
	start := r.cfg.Now()
	within, cancel := context.WithTimeout(ctx, r.cfg.StepTimeout)
	defer cancel()
	got, err := do(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		err = violated(fmt.Sprintf("Every operation in these tests ends within %s.", r.cfg.StepTimeout), "%s had not ended after %s (--timeout sets the limit)", action, r.cfg.StepTimeout)
	}
	redactor := r.cfg.Redactor
	call := Call{
		Action: invoke.Action(action), Number: 1, start: start, Offset: max(0, start.Sub(r.start)), Duration: max(0, r.cfg.Now().Sub(start)),
		Status: got.status, Message: redactor.Text(got.message), Request: r.shown(request), Log: redactor.Text(got.log),
	}
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		call.Status, call.Message = invoke.Failed, redactor.Text(refusal.Error())
	case err != nil && ctx.Err() != nil:
		call.Err = "interrupted"
	case err != nil && !errors.Is(err, ErrNoResource): // which the message says
		call.Err = redactor.Text(err.Error())
	}
	if got.body != nil {
		call.Response = r.shown(got.body)
	}
	r.calls = append(r.calls, call)
	r.cfg.Reporter.Report(Event{Kind: Called, Call: &call})
	return err
}

// shown is a value of a report, secrets hidden.
func (r *stackRun) shown(v any) []byte {
	if v == nil {
		return nil
	}
	return r.cfg.Redactor.JSON(encoded(v))
}

// operate runs an operation on a stack and keeps account of what exists.
func (r *stackRun) operate(ctx context.Context, op *StackOperation, properties map[string]any) (out *StackOutcome, err error) {
	action := op.Action + "_STACK"
	if op.ChangeSet != "" {
		action = "EXECUTE_CHANGE_SET"
	}
	request := map[string]any{"StackName": op.Stack}
	if properties != nil {
		request["resourceProperties"] = properties // the name by which write-only values are hidden
	}
	if len(op.Tags) > 0 {
		request["Tags"] = op.Tags
	}
	switch {
	case op.Action == StackCreate || op.Action == StackImport:
		r.stacks[op.Stack] = true
	case op.Move.Stack != "":
		r.stacks[op.Move.Stack] = true
		request["Destination"] = op.Move.Stack
	}
	err = r.step(ctx, action, request, func(ctx context.Context) (got answer, err error) {
		if out, err = r.cfg.Stacks.Run(ctx, op); err != nil {
			return got, err
		}
		got = answer{status: invoke.Success, message: out.Status, body: map[string]any{"StackStatus": out.Status, "Events": out.Events}, log: eventLog(out.Events)}
		if strings.Contains(out.Status, "FAILED") || strings.Contains(out.Status, "ROLLBACK") {
			got.status = invoke.Failed
		}
		if out.Reason != "" {
			got.message += ": " + out.Reason
		}
		return got, nil
	})
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal) && op.Action == StackCreate:
		delete(r.stacks, op.Stack)
	case err == nil && op.Action == StackDelete && out.Status == "DELETE_COMPLETE":
		delete(r.stacks, op.Stack)
	}
	if out != nil {
		r.remember(out.Events)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// remember notes which resources existed, and which exist.
func (r *stackRun) remember(events []StackEvent) {
	for _, e := range events {
		if e.LogicalID != subject || e.PhysicalID == "" {
			continue
		}
		if !slices.Contains(r.ever, e.PhysicalID) {
			r.ever = append(r.ever, e.PhysicalID)
		}
		r.alive[e.PhysicalID] = true
		if e.Status == "DELETE_COMPLETE" {
			delete(r.alive, e.PhysicalID)
		}
	}
}

// eventLog is the events as lines of text.
func eventLog(events []StackEvent) string {
	var b strings.Builder
	for _, e := range events {
		name := e.LogicalID + " " + e.PhysicalID
		if e.Type == "AWS::CloudFormation::Stack" {
			name = "the stack"
		}
		fmt.Fprintf(&b, "%-24s %s", e.Status, strings.TrimSpace(name))
		if e.Reason != "" {
			fmt.Fprintf(&b, " %s", oneLine(e.Reason))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// canRead reports whether the type has a read handler.
func (r *stackRun) canRead() bool { return r.cfg.Schema.Handler("read") != nil }

// read returns the model of a resource.
func (r *stackRun) read(ctx context.Context, identifier string) (model map[string]any, err error) {
	err = r.step(ctx, string(invoke.Read), map[string]any{"Identifier": identifier}, func(ctx context.Context) (got answer, err error) {
		model, err = r.cfg.Resources.Read(ctx, identifier)
		switch {
		case errors.Is(err, ErrNoResource):
			got.status, got.message = invoke.Failed, "NotFound"
			return got, err
		case err != nil:
			return got, err
		}
		return answer{status: invoke.Success, body: map[string]any{"resourceModel": model}}, nil
	})
	return model, err
}

// list returns the identifiers that LIST returns.
func (r *stackRun) list(ctx context.Context) (found []string, err error) {
	model := r.listModel()
	var request any
	if model != nil {
		request = map[string]any{"resourceModel": model}
	}
	err = r.step(ctx, string(invoke.List), request, func(ctx context.Context) (got answer, err error) {
		if found, err = r.cfg.Resources.List(ctx, model); err != nil {
			return got, err
		}
		return answer{status: invoke.Success, body: map[string]any{"Identifiers": found}}, nil
	})
	return found, err
}

// listModel is what the list handler asks for, nil if it asks for nothing.
func (r *stackRun) listModel() map[string]any {
	handler := r.cfg.Schema.Handler("list")
	if handler == nil || handler.Schema == nil {
		return nil
	}
	model := map[string]any{}
	for _, name := range handler.Schema.Get("required").Strings() {
		if value, has := r.created[name]; has {
			model[name] = value
		}
	}
	if len(model) == 0 {
		return nil
	}
	return model
}

// change changes a resource outside of its stack; without properties it deletes it.
func (r *stackRun) change(ctx context.Context, identifier string, properties map[string]any) error {
	action, request := invoke.Update, map[string]any{"Identifier": identifier}
	if properties == nil {
		action = invoke.Delete
	} else {
		request["resourceProperties"] = properties
	}
	return r.step(ctx, string(action), request, func(ctx context.Context) (answer, error) {
		return answer{status: invoke.Success}, r.cfg.Resources.Change(ctx, identifier, properties)
	})
}

// preview creates a change set.
func (r *stackRun) preview(ctx context.Context, op *StackOperation, properties map[string]any) (out *StackPreview, err error) {
	err = r.step(ctx, "CREATE_CHANGE_SET", map[string]any{"StackName": op.Stack, "resourceProperties": properties}, func(ctx context.Context) (got answer, err error) {
		if out, err = r.cfg.Stacks.Preview(ctx, op); err != nil {
			return got, err
		}
		return answer{status: invoke.Success, body: map[string]any{"Changes": out.Changes}}, nil
	})
	return out, err
}

// detect detects the drift of the resource.
func (r *stackRun) detect(ctx context.Context, stack string) (found StackDrift, err error) {
	err = r.step(ctx, "DETECT_STACK_DRIFT", map[string]any{"StackName": stack}, func(ctx context.Context) (got answer, err error) {
		all, err := r.cfg.Stacks.Drift(ctx, stack)
		if err != nil {
			return got, err
		}
		for _, d := range all {
			if d.LogicalID == subject {
				found = d
			}
		}
		return answer{status: invoke.Success, message: found.Status, body: map[string]any{"Drifts": all}}, nil
	})
	return found, err
}

// create makes a stack with the resource, which may fail.
func (r *stackRun) create(ctx context.Context, t stackTemplate) (*liveStack, *StackOutcome, error) {
	live := &liveStack{name: r.newStack(), properties: t.properties}
	out, err := r.operate(ctx, &StackOperation{Action: StackCreate, Stack: live.name, Template: r.text(t)}, t.properties)
	if err != nil {
		return nil, nil, refused(err, "create the stack")
	}
	return live, out, nil
}

// fresh makes the stack that tests start from.
func (r *stackRun) fresh(ctx context.Context) (*liveStack, error) {
	live, out, err := r.create(ctx, stackTemplate{properties: r.created})
	if err != nil {
		return nil, err
	}
	if v := judge(out, expectation{what: "the creation of the stack", status: "CREATE_COMPLETE", history: createdHistory, clause: clauseText("create.applied")}); v != nil {
		return nil, v
	}
	if live.identifier, err = identifierOf(out); err != nil {
		return nil, err
	}
	r.live = live
	return live, nil
}

// stack returns the stack that tests share, and makes it where there is none. If that has
// failed once, it is not tried again.
func (r *stackRun) stack(ctx context.Context) (*liveStack, error) {
	if r.live == nil && r.broken == nil {
		live, err := r.fresh(ctx)
		if err != nil {
			r.abandon()
			r.broken = err
			return nil, err
		}
		r.live = live
	}
	if r.broken != nil {
		return nil, r.broken
	}
	r.making = false
	return r.live, nil
}

// abandon leaves the shared stack to the sweep.
func (r *stackRun) abandon() { r.live = nil }

// without ends the shared stack, for tests that make one of their own: the resources of two
// stacks with the same properties might have the same identifier.
func (r *stackRun) without(ctx context.Context) error {
	r.live = nil
	for _, name := range slices.Sorted(maps.Keys(r.stacks)) {
		if reason := r.discardStack(ctx, name); reason != "" {
			return fmt.Errorf("delete the stack of an earlier test: %s", reason)
		}
	}
	r.making = false
	return nil
}

// refused makes a violation of a request that was rejected.
func refused(err error, what string) error {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return violated("CloudFormation accepts the request: the type can be used in a template.", "CloudFormation refused to %s: %s", what, refusal)
	}
	return err
}
