package stacktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	cctypes "github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/local"
)

// An action is what a step does. read reads its value in the file, act does it.
type action struct {
	name, text string
	of         *form
	read       func(*document.Value, *Step)
	act        func(*runner, context.Context, *Step, *outcome) error // nil: it is about the next step
	ends       string                                                // the statuses that are expected of it, as a prefix; "" if it has none
}

// actions are all actions. They are filled at the start, because reading a step looks them up.
var actions []action

func init() {
	changed := namesOf("change", resourceNames, either(text("a changed resource", "deleted"), namesOf("a changed resource", noNames, &form{what: "a value"})))
	actions = []action{
		{"deploy", "Create the stack, or update it if it exists.", operationForm("deploy"), readOperation, (*runner).deploy, ""},
		{"update", "Update the stack by a change set.", operationForm("update"), readOperation, (*runner).update, "UPDATE_COMPLETE"},
		{"changeSet", "Make a change set without executing it.", operationForm("changeSet", key{name: "ChangeSetType", text: "Without it, CREATE for a stack that does not exist.", of: text("ChangeSetType", "CREATE", "UPDATE")}), readOperation, (*runner).changeSet, ""},
		{"execute", "Execute the last change set.", stackForm("execute"), readOperation, (*runner).execute, ""},
		{"import", "Import resources: logical IDs with identifiers.", importForm(), readImport, (*runner).importResources, "IMPORT_COMPLETE"},
		{"refactor", "Move resources between stacks, or rename them.", refactorForm(), readRefactor, (*runner).refactor, ""},
		{"change", "Change resources behind the back of the stack: logical IDs with properties, or deleted.", changed, readChange, (*runner).change, ""},
		{"drift", "Detect drift.", stackForm("drift"), readOperation, (*runner).drift, ""},
		{"revertDrift", "Reset what was changed behind the back of the stack.", stackForm("revertDrift"), readOperation, (*runner).revertDrift, "UPDATE_COMPLETE"},
		{"continueRollback", "Continue a rollback that failed.", stackForm("continueRollback", key{name: "ResourcesToSkip", text: "Logical IDs that are left as they are.", of: list("ResourcesToSkip", naming("a resource", resourceNames))}), readOperation, (*runner).continueRollback, "UPDATE_ROLLBACK_COMPLETE"},
		{"rollback", "Roll back a stack whose operation failed with its resources kept.", stackForm("rollback"), readOperation, (*runner).rollback, ""},
		{"delete", "Delete the stack.", stackForm("delete"), readOperation, (*runner).remove, "DELETE_COMPLETE"},
		{"call", "Call a function; its answer is compared with result.", stackForm("call",
			key{name: "function", text: "The name or ARN of a function, or a function of templates such as !Ref.", of: &form{what: "function"}, need: "add \"function: NAME\""},
			key{name: "payload", text: "The event. Without it, an empty object.", of: &form{what: "payload"}}), readCall, (*runner).call, ""},
		{"signal", "Send a signal in the next step, when the resource waits for it.", object("signal",
			key{name: "at", text: "The resource with the creation or update policy, or the wait condition handle.", of: naming("at", resourceNames), need: "add \"at: LOGICALID\""},
			key{name: "status", text: "Without it, SUCCESS.", of: text("status", "SUCCESS", "FAILURE")},
			key{name: "id", text: "The unique ID of the signal, such as that of an instance.", of: text("id")},
			key{name: "data", text: "The data for a wait condition.", of: text("data")},
			key{name: "reason", text: "The reason for a wait condition.", of: text("reason")},
			key{name: "times", text: "How many signals, each with an ID of its own.", of: positive("times")}), readSignal, nil, ""},
		{"kill", "Kill the server when the resource is called in the next step, and start it again on the same data.", object("kill",
			key{name: "at", text: "The logical ID of the resource.", of: naming("at", resourceNames), need: "add \"at: LOGICALID\""},
			key{name: "when", text: "While the operation on it is in progress.", of: text("when", "IN_PROGRESS")}), readKill, nil, ""},
	}
}

// actionNamed is the action with a name, nil for another key.
func actionNamed(name string) *action {
	for i := range actions {
		if actions[i].name == name {
			return &actions[i]
		}
	}
	return nil
}

func actionNames() (out []string) {
	for _, a := range actions {
		out = append(out, a.name)
	}
	slices.Sort(out)
	return out
}

// A runner runs the steps of one case.
type runner struct {
	cloud    *cloud
	job      *job
	stacks   map[string]*stackState
	order    []string // of the stacks, as they were made
	problems diag.List
}

// A stackState is what a case knows of a stack.
type stackState struct {
	name       string
	id         string // ARN, "" before it was made
	of         *loaded
	parameters []document.Member
	changeSet  string // the ID of the last one
	planned    *loaded
	settled    bool            // deleted
	retained   map[string]bool // logical IDs of resources that it has left, as its template or a request said
}

// An outcome is what a step has led to.
type outcome struct {
	stack   *stackState
	ends    string // the status that is expected if the file does not say which
	status  types.StackStatus
	reason  string
	events  []types.StackEvent // of the step, the oldest first
	refused *submit.Explanation
	changes *submit.ChangeSet // nil if there was none
	before  map[string]types.StackResourceSummary
	after   map[string]types.StackResourceSummary
	invalid []diag.Note // what the validation before the deployment found
	calls   []*call
	drifts  []types.StackResourceDrift
	called  bool // a function has answered
	result  any
}

// step runs a step and judges it. An error is one of the test itself; what is not as expected is a problem.
func (r *runner) step(ctx context.Context, step *Step) error {
	from := r.cloud.calls.begin(step)
	defer r.cloud.calls.begin(nil)
	out := &outcome{stack: r.stack(step), ends: actionNamed(step.Action).ends}
	var err error
	if out.stack.id != "" && !out.stack.settled {
		if out.before, err = r.cloud.resourcesOf(ctx, out.stack.id); err != nil {
			return err
		}
	}
	err = actionNamed(step.Action).act(r, ctx, step, out)
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		out.refused, err = &refused.of, nil
	}
	if err != nil {
		return err
	}
	if out.stack.id != "" {
		if out.after, err = r.cloud.resourcesOf(ctx, out.stack.id); err != nil {
			return err
		}
	}
	out.calls = r.cloud.calls.since(from)
	r.note(out)
	if fault := step.Fail; fault != nil && r.unknown(fault.At) {
		r.fail("expectation", fault.Position, nil, "no resource has the name %s: nothing can fail there", fault.At)
		r.hintName(fault.At, out)
		return nil
	}
	for _, name := range sortedKeys(step.Delay) {
		if r.unknown(name) {
			r.fail("expectation", step.At, nil, "no resource has the name %s: nothing can be delayed there", name)
			r.hintName(name, out)
			return nil
		}
	}
	return r.judge(ctx, step, out)
}

// unknown reports whether no template and no call of the case has a resource with a name. A transform can add resources that are
// never called.
func (r *runner) unknown(name string) bool {
	of := r.cloud.calls
	if slices.ContainsFunc(of.since(0), func(c *call) bool {
		return of.names(name, local.ResourceCall{LogicalID: c.LogicalID, StackName: c.Stack})
	}) {
		return false
	}
	_, below, _ := strings.Cut(name, ".")
	return !slices.ContainsFunc(r.job.suite.templates, func(t *loaded) bool {
		return len(t.template.UsedTransforms()) > 0 || slices.ContainsFunc(t.template.Resources, func(resource *template.Resource) bool {
			return of.named(name, resource.LogicalID) || of.named(below, resource.LogicalID)
		})
	})
}

// A refusal is a request that the service refused: an outcome that a test may expect.
type refusal struct{ of submit.Explanation }

func (r *refusal) Error() string { return r.of.Text }

// refusedBy makes a refusal of the error of a request, if the service answered it.
func refusedBy(err error) error {
	if err == nil {
		return nil
	}
	if explained := submit.Explain(err); explained.Code != "" {
		return &refusal{explained}
	}
	return err
}

// stack is the stack of a step.
func (r *runner) stack(step *Step) *stackState { return r.state(r.job.suite.stackName(step)) }

// state is what the case knows of a stack.
func (r *runner) state(name string) *stackState {
	if r.stacks[name] == nil {
		r.stacks[name] = &stackState{name: name, retained: map[string]bool{}}
	}
	return r.stacks[name]
}

// request is what a stack is created or updated with.
type request struct {
	body, url    *string // one of them is set
	of           *loaded
	given        []document.Member
	parameters   []types.Parameter
	tags         []types.Tag
	capabilities []types.Capability
}

// request puts together what a deployment is made with: the template with the edits of the step, and the values of the
// file, of the variant and of the step, of which the later ones count.
func (r *runner) request(ctx context.Context, step *Step, state *stackState) (*request, error) {
	of := state.of
	if step.Template != "" || of == nil {
		name := step.Template
		if name == "" && r.job.suite.find(step.Stack) != nil {
			name = step.Stack
		}
		of = r.job.suite.find(name)
	}
	if len(step.Edits) > 0 {
		root := of.root
		for _, e := range step.Edits {
			var found bool
			if root, found = edited(root, e.Path, e.Value); !found {
				return nil, placedf(e.PathAt, "the template has no %s", e.Path)
			}
		}
		body := root.AppendJSON(nil)
		t, err := template.Parse(of.template.Root().At.File, body, template.ParseOptions{})
		if t == nil {
			return nil, fmt.Errorf("the edited template cannot be read: %w", err)
		}
		of = &loaded{of.source, root, t}
	}
	in := &request{of: of, given: inputsOf(r.job.suite.suite.Defaults.Parameters, state.parameters, r.job.variant, step.Inputs.Parameters)}
	if err := r.cloud.offer(ctx, in); err != nil {
		return nil, err
	}
	for _, m := range in.given {
		if of.template.Parameter(m.Key) == nil && !slices.ContainsFunc(step.Inputs.Parameters, func(n document.Member) bool { return n.Key == m.Key }) {
			continue // a default of the file that this template does not have
		}
		p := types.Parameter{ParameterKey: aws.String(m.Key)}
		if m.Value.Kind == document.Object {
			p.UsePreviousValue = aws.Bool(true)
		} else {
			text, _ := scalar(m.Value)
			p.ParameterValue = &text
			if declared := of.template.Parameter(m.Key); declared != nil && declared.NoEcho {
				r.cloud.calls.secrets.Add(text)
			}
		}
		in.parameters = append(in.parameters, p)
	}
	for _, m := range inputsOf(r.job.suite.suite.Defaults.Tags, step.Inputs.Tags) {
		text, _ := scalar(m.Value)
		in.tags = append(in.tags, types.Tag{Key: aws.String(m.Key), Value: &text})
	}
	names := slices.Concat(r.job.suite.suite.Defaults.Capabilities, step.Inputs.Capabilities)
	if len(names) == 0 { // a test acknowledges what its template needs, unless it says what it acknowledges
		names = []string{"CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"}
	}
	for _, name := range names {
		in.capabilities = append(in.capabilities, types.Capability(name))
	}
	return in, nil
}

// edited is a document with another value at a place; a nil value removes it. Only the last step of the path may be new.
func edited(v *document.Value, path document.Pointer, value *document.Value) (*document.Value, bool) {
	out := *v
	last := len(path) == 1
	switch v.Kind {
	case document.Object:
		i := slices.IndexFunc(v.Members, func(m document.Member) bool { return m.Key == path[0] })
		out.Members = slices.Clone(v.Members)
		switch {
		case i < 0 && last && value != nil:
			out.Members = append(out.Members, document.Member{Key: path[0], Value: value})
			return &out, true
		case i < 0:
			return nil, false
		case last && value == nil:
			out.Members = slices.Delete(out.Members, i, i+1)
			return &out, true
		case last:
			out.Members[i].Value = value
			return &out, true
		}
		below, found := edited(v.Members[i].Value, path[1:], value)
		out.Members[i].Value = below
		return &out, found
	case document.Array:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(v.Items) {
			return nil, false
		}
		out.Items = slices.Clone(v.Items)
		switch {
		case last && value == nil:
			out.Items = slices.Delete(out.Items, i, i+1)
			return &out, true
		case last:
			out.Items[i] = value
			return &out, true
		}
		below, found := edited(v.Items[i], path[1:], value)
		out.Items[i] = below
		return &out, found
	}
	return nil, false
}

// deploy creates a stack, or updates it if it exists.
func (r *runner) deploy(ctx context.Context, step *Step, out *outcome) error {
	if state := out.stack; state.id != "" && !state.settled {
		return r.update(ctx, step, out)
	}
	in, err := r.request(ctx, step, out.stack)
	if err != nil {
		return err
	}
	out.ends = "CREATE_COMPLETE"
	made, err := r.cloud.remote.CloudFormation().CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: &out.stack.name, TemplateBody: in.body, TemplateURL: in.url, Parameters: in.parameters, Tags: in.tags, Capabilities: in.capabilities,
	})
	if err != nil {
		return refusedBy(err)
	}
	r.made(out.stack, aws.ToString(made.StackId), in)
	return r.follow(ctx, step, out, "")
}

// made keeps what a stack was deployed with.
func (r *runner) made(state *stackState, id string, in *request) {
	if state.id != id {
		state.id, state.settled = id, false
		r.order = append(slices.DeleteFunc(r.order, func(name string) bool { return name == state.name }), state.name)
	}
	if in != nil {
		state.of, state.parameters = in.of, in.given
	}
}

// update updates a stack by a change set, as the CDK and "cfn deploy --plan" do, so that the changes that would be shown
// can be compared. Without changes nothing is executed.
func (r *runner) update(ctx context.Context, step *Step, out *outcome) error {
	in, err := r.request(ctx, step, out.stack)
	if err != nil {
		return err
	}
	if out.stack.id == "" || out.stack.settled {
		return fmt.Errorf("there is no stack %s yet; deploy it first", out.stack.name)
	}
	if err := r.makeChangeSet(ctx, &cloudformation.CreateChangeSetInput{ChangeSetType: types.ChangeSetTypeUpdate}, in, out); err != nil {
		return err
	}
	if out.changes.Empty() {
		return r.unchanged(ctx, out)
	}
	if out.changes.Status != types.ChangeSetStatusCreateComplete {
		return &refusal{submit.Explanation{Code: "ChangeSetFailed", Text: out.changes.Reason}}
	}
	return r.executeSet(ctx, step, in, out)
}

// unchanged is the outcome of an update that has nothing to do.
func (r *runner) unchanged(ctx context.Context, out *outcome) error {
	stack, err := r.cloud.remote.Stack(ctx, out.stack.id)
	if err != nil {
		return err
	}
	out.ends, out.status = "", stack.StackStatus
	return nil
}

// makeChangeSet makes a change set of a stack, which may not exist yet.
func (r *runner) makeChangeSet(ctx context.Context, set *cloudformation.CreateChangeSetInput, in *request, out *outcome) error {
	set.StackName, set.ChangeSetName = &out.stack.name, aws.String(fmt.Sprintf("stacktest-%d", len(r.cloud.calls.since(0))))
	set.TemplateBody, set.TemplateURL, set.Parameters, set.Tags, set.Capabilities = in.body, in.url, in.parameters, in.tags, in.capabilities
	if set.DeploymentMode == "" && set.ChangeSetType != types.ChangeSetTypeImport {
		set.IncludeNestedStacks = aws.Bool(true)
	}
	made, err := r.cloud.remote.CreateChangeSet(ctx, set)
	if err != nil {
		return refusedBy(err)
	}
	out.changes, out.stack.changeSet, out.stack.planned = made, made.ID, in.of
	return nil
}

func (r *runner) executeSet(ctx context.Context, step *Step, in *request, out *outcome) error {
	after, err := r.cloud.remote.LastStackEvent(ctx, out.changes.StackID)
	if err != nil {
		return err
	}
	if _, err := r.cloud.remote.CloudFormation().ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{ChangeSetName: &out.changes.ID}); err != nil {
		return refusedBy(err)
	}
	r.made(out.stack, out.changes.StackID, in)
	return r.follow(ctx, step, out, after)
}

// follow waits for the end of an operation.
func (r *runner) follow(ctx context.Context, step *Step, out *outcome, after string) error {
	if step.Kill != "" {
		killed, err := r.cloud.awaitKill(ctx, out.stack.id)
		if err != nil {
			return err
		}
		if !killed {
			r.fail("expectation", step.KillAt, nil, "the server was not killed: %s was not called in the step", step.Kill)
		}
	}
	if err := r.signal(ctx, step, out); err != nil {
		return err
	}
	stack, events, err := r.cloud.follow(ctx, out.stack.id, after)
	if err != nil {
		return err
	}
	out.status, out.reason, out.events = stack.StackStatus, aws.ToString(stack.StackStatusReason), events
	for _, e := range events {
		if e.ResourceStatus == types.ResourceStatusDeleteSkipped {
			out.stack.retained[aws.ToString(e.LogicalResourceId)] = true
		}
	}
	if out.invalid, err = r.cloud.validation(ctx, out); err != nil {
		return err
	}
	out.stack.settled = stack.StackStatus == types.StackStatusDeleteComplete
	return nil
}

// changeSet makes a change set and does not execute it.
func (r *runner) changeSet(ctx context.Context, step *Step, out *outcome) error {
	in, err := r.request(ctx, step, out.stack)
	if err != nil {
		return err
	}
	kind := types.ChangeSetType(step.Type)
	if kind == "" {
		if kind = types.ChangeSetTypeUpdate; out.stack.id == "" || out.stack.settled {
			kind = types.ChangeSetTypeCreate
		}
	}
	if err := r.makeChangeSet(ctx, &cloudformation.CreateChangeSetInput{ChangeSetType: kind}, in, out); err != nil {
		return err
	}
	if out.changes.Status == types.ChangeSetStatusFailed && !out.changes.Empty() {
		return &refusal{submit.Explanation{Code: "ChangeSetFailed", Text: out.changes.Reason}}
	}
	return nil
}

// execute executes the change set that was made last.
func (r *runner) execute(ctx context.Context, step *Step, out *outcome) error {
	if out.stack.changeSet == "" {
		return fmt.Errorf("stack %s has no change set; make one with changeSet", out.stack.name)
	}
	var err error
	if out.changes, err = r.cloud.remote.ReadChangeSet(ctx, out.stack.changeSet); err != nil {
		return refusedBy(err)
	}
	if out.ends = "UPDATE_COMPLETE"; out.stack.id == "" {
		out.ends = "CREATE_COMPLETE"
	}
	out.stack.of = out.stack.planned
	return r.executeSet(ctx, step, nil, out)
}

// importResources imports resources into a stack, which it may make.
func (r *runner) importResources(ctx context.Context, step *Step, out *outcome) error {
	in, err := r.request(ctx, step, out.stack)
	if err != nil {
		return err
	}
	keys, typeNames, err := r.cloud.remote.Identifiers(ctx, in.body, in.url)
	if err != nil {
		return refusedBy(err)
	}
	set := &cloudformation.CreateChangeSetInput{ChangeSetType: types.ChangeSetTypeImport}
	for _, m := range step.IDs {
		m.Key = r.job.suite.logical(m.Key)
		value, err := r.evaluate(ctx, m.Value, out)
		if err != nil {
			return err
		}
		identifier := map[string]string{}
		if of, ok := value.(map[string]any); ok {
			for key, v := range of {
				identifier[key] = textOf(v)
			}
		} else if names := keys[typeNames[m.Key]]; len(names) == 1 {
			identifier[names[0]] = textOf(value)
		} else if len(names) > 1 {
			return placedf(m.Value.At, "%s is identified by %s: write an object", m.Key, strings.Join(names, ", "))
		} else {
			return placedf(m.KeyAt, "the template has no resource %s that can be imported", m.Key)
		}
		set.ResourcesToImport = append(set.ResourcesToImport, types.ResourceToImport{
			LogicalResourceId: aws.String(m.Key), ResourceType: aws.String(typeNames[m.Key]), ResourceIdentifier: identifier,
		})
	}
	if err := r.makeChangeSet(ctx, set, in, out); err != nil {
		return err
	}
	if out.changes.Status != types.ChangeSetStatusCreateComplete {
		return &refusal{submit.Explanation{Code: "ChangeSetFailed", Text: out.changes.Reason}}
	}
	return r.executeSet(ctx, step, in, out)
}

// change changes or deletes resources behind the back of their stack.
func (r *runner) change(ctx context.Context, step *Step, out *outcome) error {
	for _, m := range step.IDs {
		state, logical := out.stack, m.Key
		if stack, id, found := strings.Cut(m.Key, "."); found && r.stacks[stack] != nil {
			state, logical = r.stacks[stack], id
		}
		if state.id == "" || state.settled {
			return placedf(m.KeyAt, "there is no stack %s yet; deploy it first", state.name)
		}
		resources, err := r.cloud.resourcesOf(ctx, state.id)
		if err != nil {
			return err
		}
		logical = r.job.suite.logical(logical)
		resource, ok := resources[logical]
		if !ok {
			return placedf(m.KeyAt, "stack %s has no resource %s", state.name, logical)
		}
		typeName, identifier := aws.ToString(resource.ResourceType), r.identifier(state, logical, aws.ToString(resource.PhysicalResourceId))
		begun, err := func() (string, error) {
			if m.Value.Kind != document.Object {
				event, err := r.cloud.remote.DeleteResource(ctx, typeName, identifier)
				if err != nil {
					return "", err
				}
				return aws.ToString(event.RequestToken), nil
			}
			patch, err := patchOf(m.Value, r.job.suite.known[typeName])
			if err != nil {
				return "", err
			}
			event, err := r.cloud.remote.UpdateResource(ctx, typeName, identifier, patch)
			if err != nil {
				return "", err
			}
			return aws.ToString(event.RequestToken), nil
		}()
		if err != nil {
			return refusedBy(err)
		}
		event, err := r.cloud.remote.FollowResourceRequest(ctx, begun, func(*cctypes.ProgressEvent) {})
		if err != nil {
			return err
		}
		if event.OperationStatus != "SUCCESS" {
			return placedf(m.KeyAt, "%s could not be changed: %s", m.Key, aws.ToString(event.StatusMessage))
		}
	}
	return nil
}

// identifier is the primary identifier of a resource, which is not always its physical ID.
func (r *runner) identifier(state *stackState, logical, physical string) string {
	for _, c := range slices.Backward(r.cloud.calls.since(0)) {
		if c.Stack == state.name && c.LogicalID == logical && c.answer.Identifier != "" {
			return c.answer.Identifier
		}
	}
	return physical
}

// patchOf is the JSON Patch that sets properties, with the types of the schema, as a stack sends them.
func patchOf(v *document.Value, s *schema.Schema) (string, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	model, _ := v.Any().(map[string]any)
	if s != nil {
		model, _ = s.Recast(model).(map[string]any)
	}
	var out []operation
	for _, key := range sortedKeys(model) {
		out = append(out, operation{"add", document.Pointer{key}.String(), model[key]})
	}
	return encode(out)
}

// encode is a value as JSON.
func encode(v any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return strings.TrimSpace(out.String()), err
}

// drift detects the drift of a stack.
func (r *runner) drift(ctx context.Context, _ *Step, out *outcome) error {
	found, err := r.cloud.remote.DetectDrift(ctx, out.stack.name)
	if err != nil {
		return refusedBy(err)
	}
	if found.DetectionStatus == types.StackDriftDetectionStatusDetectionFailed {
		return fmt.Errorf("drift detection failed: %s", aws.ToString(found.DetectionStatusReason))
	}
	out.drifts, err = r.cloud.remote.ResourceDrifts(ctx, out.stack.name)
	return err
}

// revertDrift updates a stack by a change set that resets what was changed behind its back.
func (r *runner) revertDrift(ctx context.Context, step *Step, out *outcome) error {
	in, err := r.request(ctx, step, out.stack)
	if err != nil {
		return err
	}
	set := &cloudformation.CreateChangeSetInput{ChangeSetType: types.ChangeSetTypeUpdate, DeploymentMode: types.DeploymentModeRevertDrift}
	if err := r.makeChangeSet(ctx, set, in, out); err != nil {
		return err
	}
	if out.changes.Empty() {
		return r.unchanged(ctx, out)
	}
	return r.executeSet(ctx, step, in, out)
}

func (r *runner) continueRollback(ctx context.Context, step *Step, out *outcome) error {
	var skipped []string
	for _, name := range step.Skip {
		skipped = append(skipped, r.job.suite.logical(name))
	}
	return r.begin(ctx, step, out, func() error {
		_, err := r.cloud.remote.CloudFormation().ContinueUpdateRollback(ctx, &cloudformation.ContinueUpdateRollbackInput{StackName: &out.stack.name, ResourcesToSkip: skipped})
		return err
	})
}

func (r *runner) rollback(ctx context.Context, step *Step, out *outcome) error {
	out.ends = "ROLLBACK_COMPLETE"
	return r.begin(ctx, step, out, func() error {
		_, err := r.cloud.remote.CloudFormation().RollbackStack(ctx, &cloudformation.RollbackStackInput{StackName: &out.stack.name})
		return err
	})
}

// remove deletes a stack.
func (r *runner) remove(ctx context.Context, step *Step, out *outcome) error {
	return r.begin(ctx, step, out, func() error {
		_, err := r.cloud.remote.CloudFormation().DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &out.stack.id})
		return err
	})
}

// begin begins an operation on a stack that exists, and follows it.
func (r *runner) begin(ctx context.Context, step *Step, out *outcome, call func() error) error {
	if out.stack.id == "" {
		return fmt.Errorf("there is no stack %s yet; deploy it first", out.stack.name)
	}
	after, err := r.cloud.remote.LastStackEvent(ctx, out.stack.id)
	if err != nil {
		return err
	}
	if err := call(); err != nil {
		return refusedBy(err)
	}
	return r.follow(ctx, step, out, after)
}

// cleanUp deletes the stacks of a case, the newest first, and reports what is left.
func (r *runner) cleanUp(ctx context.Context) error {
	last := r.job.of.Steps[len(r.job.of.Steps)-1]
	for _, name := range slices.Backward(r.order) {
		state := r.stacks[name]
		if state.settled {
			continue
		}
		out := &outcome{stack: state}
		if err := r.remove(ctx, &Step{}, out); err != nil {
			return err
		}
		if !state.settled {
			r.fail("leftover", last.At, out.notes(), "stack %s could not be deleted: %s", name, out.reason)
			return nil
		}
	}
	for _, m := range r.leftovers() {
		r.fail("leftover", last.At, nil, "%s (%s) of stack %s still exists after the stacks were deleted: %s", m.LogicalID, m.Type, m.Stack, m.Identifier)
	}
	return nil
}

// leftovers are resources of deleted stacks that these have not retained. Of a nested stack, whose template and events are not known
// here, those count whose deletion failed.
func (r *runner) leftovers() []made {
	failed := map[string]bool{}
	for _, c := range r.cloud.calls.since(0) {
		if c.Action == "DELETE" {
			failed[c.Type+"|"+c.identifier] = true
		}
	}
	return r.cloud.calls.left(func(m made) bool {
		state := r.stacks[m.Stack]
		switch {
		case m.Stack == givenStack, state != nil && !state.settled:
			return true
		case failed[m.Type+"|"+m.Identifier]:
			return false
		case state == nil || state.of == nil || state.retained[m.LogicalID]:
			return true
		}
		resource := state.of.template.Resource(m.LogicalID) // no event says that a replaced one was retained
		return resource != nil && strings.HasPrefix(resource.UpdateReplacePolicy, "Retain")
	})
}
