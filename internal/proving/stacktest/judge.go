package stacktest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/stackview"
)

// An expectation is a key below "expect". judge holds it against an outcome.
type expectation struct {
	name, text string
	of         *form
	judge      func(*runner, context.Context, document.Member, *outcome) error
}

var expectations []expectation

func init() {
	none := func(what string) *form { return text(what, "none") }
	resource := object("a resource",
		key{name: "ResourceStatus", text: "The status of the resource.", of: expected}, key{name: "PhysicalResourceId", text: "Its physical ID.", of: expected},
		key{name: "reason", text: "The reason of its status.", of: expected}, key{name: "sent", text: "The properties that the handler got last.", of: expected},
		key{name: "model", text: "What the handler answered.", of: expected})
	calls := list("calls", object("a call",
		key{name: "to", text: "The logical ID of the resource.", of: naming("to", resourceNames)}, key{name: "action", text: "CREATE, READ, UPDATE or DELETE.", of: text("action")},
		key{name: "times", text: "How many such calls there are. Without it, at least one.", of: positive("times")},
		key{name: "desired", text: "The properties of the call.", of: expected}, key{name: "previous", text: "The properties before an update.", of: expected}))
	expectations = []expectation{
		{"StackStatus", "The status of the stack after the step.", expected, (*runner).judgeStatus},
		{"reason", "The reason of the status, or those of its events.", expected, (*runner).judgeReason},
		{"error", "The request itself is refused.", object("error", key{name: "code", text: "The code of the error.", of: expected}, key{name: "message", text: "Its message.", of: expected}), (*runner).judgeError},
		{"changes", "The changes of the change set, all of them unless \"*\": ignore is there.", namesOf("changes", resourceNames, either(text("a change", changeWords...), expected)), (*runner).judgeChanges},
		{"replaced", "No resource is replaced.", none("replaced"), (*runner).judgeReplaced},
		{"onlyChanges", "No other resource changes.", list("onlyChanges", naming("a resource", resourceNames)), (*runner).judgeOnlyChanges},
		{"keeps", "These resources keep their physical IDs and are not deleted.", list("keeps", naming("a resource", resourceNames)), (*runner).judgeKeeps},
		{"events", "Events in this order, with others between them: LOGICALID STATUS, or A CREATE_COMPLETE < B CREATE_IN_PROGRESS.", list("events", checked(text("an event"), checkEvents)), (*runner).judgeEvents},
		{"resources", "Resources as they are after the step.", namesOf("resources", resourceNames, resource), (*runner).judgeResources},
		{"calls", "The calls that providers of resources got, or none.", either(calls, none("calls")), (*runner).judgeCalls},
		{"Outputs", "Outputs of the stack with their values.", namesOf("Outputs", outputNames, expected), (*runner).judgeOutputs},
		{"exports", "Exports of the stacks with their values.", namesOf("exports", noNames, expected), (*runner).judgeExports},
		{"drift", "Resources with their drift status; \"*\": IN_SYNC for all that can be checked.", namesOf("drift", resourceNames, expected), (*runner).judgeDrift},
		{"hooks", "What hooks said of resources: the message of the refusal, or {HookStatus, HookType, message}; or none, if none refused.", either(namesOf("hooks", resourceNames, expected), none("hooks")), (*runner).judgeHooks},
		{"result", "What a called function returned.", expected, (*runner).judgeResult},
		{"leftover", "Nothing is left of deleted stacks.", none("leftover"), (*runner).judgeLeftover},
		{"plan", "A golden file with the changes, which --update writes.", text("plan"), (*runner).judgePlan},
	}
}

func expectationNamed(name string) *expectation {
	return &expectations[slices.IndexFunc(expectations, func(e expectation) bool { return e.name == name })]
}

// fail adds a problem of the step at hand.
func (r *runner) fail(id string, at diag.Range, notes []diag.Note, format string, args ...any) {
	notes = slices.Clone(notes)
	for i := range notes {
		if !notes[i].At.Start.Known() {
			notes[i].At = at
		}
	}
	r.problems.Add(diag.Problem{ID: "stacktest/" + id, At: at, Message: fmt.Sprintf(format, args...), Related: notes})
}

// hintName adds to the latest problem which resource of the template may be meant by a name that none has.
func (r *runner) hintName(name string, out *outcome) {
	if out.stack.of == nil || out.stack.of.template.Resource(name) != nil {
		return
	}
	var known []string
	for _, resource := range out.stack.of.template.Resources {
		if path := r.job.suite.constructs[resource.LogicalID]; strings.Contains(name, "/") {
			known = append(known, path)
			continue
		}
		known = append(known, resource.LogicalID)
	}
	r.problems[len(r.problems)-1].Hint = words.DidYouMean(name, known)
}

// mismatched adds what differs at one expectation.
func (r *runner) mismatched(m document.Member, out *outcome, found []mismatch) {
	for _, f := range found {
		r.fail("expectation", m.Value.At, out.notes(), "%s", f)
	}
}

// judge holds an outcome against what is expected of it. A step of whose end nothing is said must end well.
func (r *runner) judge(ctx context.Context, step *Step, out *outcome) error {
	said := func(key string) bool {
		return slices.ContainsFunc(step.Expect, func(m document.Member) bool { return m.Key == key })
	}
	switch {
	case out.refused != nil && !said("error"):
		r.fail("expectation", step.At, nil, "%s: the request was refused: %s", step.Action, out.refused.Text)
		if strings.Contains(out.refused.Text, "Unrecognized resource types") {
			r.problems[len(r.problems)-1].Hint = "name a project of the type below types; a type of AWS needs its schema: run cfn types import aws, or pass --schemas"
		}
		return nil
	case said("StackStatus") || out.ends == "" || out.refused != nil:
	case string(out.status) != out.ends && !endsWell(out.ends, string(out.status)):
		r.fail("expectation", step.At, out.notes(), "%s: expected %s but got %s", step.Action, out.ends, out.status)
		return nil
	}
	for _, m := range step.Expect {
		if err := expectationNamed(m.Key).judge(r, ctx, m, out); err != nil {
			return err
		}
	}
	return nil
}

// endsWell reports whether a status is the expected end of a rollback that was asked for.
func endsWell(want, got string) bool {
	return want == "ROLLBACK_COMPLETE" && strings.HasSuffix(got, "ROLLBACK_COMPLETE")
}

// notes are the first failures of a step, which explain a status.
func (o *outcome) notes() (out []diag.Note) {
	const most = 3
	if len(o.invalid) > 0 {
		return o.invalid[:min(len(o.invalid), most)]
	}
	for _, e := range o.events {
		status, reason := string(e.ResourceStatus), aws.ToString(e.ResourceStatusReason)
		if !strings.HasSuffix(status, "_FAILED") || reason == "" || strings.Contains(reason, "ancel") && len(out) > 0 {
			continue
		}
		out = append(out, diag.Note{At: o.at(aws.ToString(e.LogicalResourceId)), Message: fmt.Sprintf("%s %s: %s", aws.ToString(e.LogicalResourceId), status, reason)})
		if len(out) == most {
			break
		}
	}
	if cause := stackview.FindRootCause(o.events); len(out) == 0 && cause != nil { // of the stack itself, such as an export in use
		out = append(out, diag.Note{Message: fmt.Sprintf("%s %s: %s", cause.LogicalID, cause.Status, cause.Message)})
	}
	return out
}

// at is where a resource is in the template.
func (o *outcome) at(logical string) diag.Range {
	if o.stack.of != nil {
		if resource := o.stack.of.template.Resource(logical); resource != nil {
			return resource.At
		}
	}
	return diag.Range{}
}

// evaluate evaluates the functions in a value against a stack. A Ref to STACK.LOGICALID is one to another stack.
func (r *runner) evaluate(ctx context.Context, v *document.Value, out *outcome) (any, error) {
	if !hasFunction(v) {
		return v.Any(), nil
	}
	v, err := r.resolved(v)
	if err != nil {
		return nil, err
	}
	if !hasFunction(v) {
		return v.Any(), nil
	}
	if out.stack.of == nil {
		return nil, placedf(v.At, "the stack %s has not been deployed", out.stack.name)
	}
	scope, err := r.job.suite.scope(ctx, out.stack.of, out.stack.parameters)
	if err != nil {
		return nil, placedf(v.At, "%w", err)
	}
	value, err := scope.Evaluate(v, references{r, out})
	if err != nil {
		return nil, placedf(v.At, "%w", err)
	}
	return value, nil
}

// hasFunction reports whether a value has a function of templates in it.
func hasFunction(v *document.Value) bool {
	if v == nil {
		return false
	}
	if slices.ContainsFunc(v.Items, hasFunction) {
		return true
	}
	return slices.ContainsFunc(v.Members, func(m document.Member) bool {
		return m.Key == "Ref" || strings.HasPrefix(m.Key, "Fn::") || hasFunction(m.Value)
	})
}

// lastIdentifier is the identifier that a resource was last called with.
func (r *runner) lastIdentifier(stack, logical string) (string, bool) {
	for _, c := range slices.Backward(r.cloud.calls.since(0)) {
		if c.Stack == stack && c.LogicalID == logical && c.answer.Identifier != "" {
			return c.answer.Identifier, true
		}
	}
	return "", false
}

// references resolve functions by what a stack has.
type references struct {
	r   *runner
	out *outcome
}

func (f references) Ref(logical string) (any, bool) {
	for _, of := range []map[string]types.StackResourceSummary{f.out.after, f.out.before} {
		if resource, ok := of[logical]; ok {
			return aws.ToString(resource.PhysicalResourceId), true
		}
	}
	id, ok := f.r.lastIdentifier(f.out.stack.name, logical)
	return id, ok
}

func (f references) GetAtt(logical, attribute string) (any, bool, error) {
	for _, c := range slices.Backward(f.r.cloud.calls.since(0)) {
		if c.Stack != f.out.stack.name || c.LogicalID != logical || c.answer.Model == nil {
			continue
		}
		model := c.answer.Model
		if customresource.IsType(c.Type) {
			model = customresource.Attributes(model)
		}
		value, ok := document.Pointer(strings.Split(attribute, ".")).Find(model)
		return value, ok, nil
	}
	return nil, false, nil
}

func (f references) ImportValue(string) (string, bool, error) { return "", false, nil }

func (r *runner) judgeStatus(ctx context.Context, m document.Member, out *outcome) error {
	return r.judgeValue(ctx, m, out, "StackStatus", string(out.status))
}

func (r *runner) judgeReason(ctx context.Context, m document.Member, out *outcome) error {
	reason := out.reason
	if reason == "" || m.Value.Kind == document.Object { // the status of the stack has the last reason only
		for _, e := range out.events {
			reason = strings.TrimSpace(reason + "\n" + aws.ToString(e.ResourceStatusReason))
		}
	}
	return r.judgeValue(ctx, m, out, "reason", reason)
}

// judgeValue compares one value.
func (r *runner) judgeValue(ctx context.Context, m document.Member, out *outcome, path string, got any) error {
	want, err := r.evaluate(ctx, m.Value, out)
	if err != nil {
		return err
	}
	r.mismatched(m, out, match(path, want, got))
	return nil
}

func (r *runner) judgeError(ctx context.Context, m document.Member, out *outcome) error {
	if out.refused == nil {
		r.fail("expectation", m.Value.At, nil, "the request was not refused; the stack is in %s", out.status)
		return nil
	}
	return r.judgeValue(ctx, m, out, "error", map[string]any{"code": out.refused.Code, "message": out.refused.Text})
}

// changeWord is a change as tests write it.
func changeWord(c *types.ResourceChange) string {
	switch {
	case c.Action == types.ChangeActionModify && c.Replacement == types.ReplacementTrue:
		return "Replace"
	case c.Action == types.ChangeActionModify && c.Replacement == types.ReplacementConditional:
		return "Conditional"
	}
	return string(c.Action)
}

// shownChanges are the changes of the change set of a step by logical ID.
func (o *outcome) shownChanges() map[string]*types.ResourceChange {
	found := map[string]*types.ResourceChange{}
	if o.changes == nil {
		return found
	}
	for i := range o.changes.Changes {
		if c := o.changes.Changes[i].ResourceChange; c != nil {
			found[aws.ToString(c.LogicalResourceId)] = c
		}
	}
	return found
}

func (r *runner) judgeChanges(_ context.Context, m document.Member, out *outcome) error {
	if out.changes == nil {
		r.fail("expectation", m.Value.At, nil, "there is no change set: use changeSet or update")
		return nil
	}
	found := out.shownChanges()
	left := maps.Clone(found)
	ignored := false
	for _, want := range m.Value.Distinct() {
		if want.Key == "*" {
			ignored = true
			continue
		}
		matched := false
		for _, logical := range sortedKeys(found) {
			c := found[logical]
			if !r.job.suite.constructs.match(want.Key, logical) {
				continue
			}
			matched = true
			delete(left, logical)
			if want.Value.Kind == document.Object {
				got, err := plain(c)
				if err != nil {
					return err
				}
				r.mismatched(want, out, match(logical, want.Value.Any(), got))
			} else if word := changeWord(c); word != want.Value.Text {
				r.fail("expectation", want.Value.At, nil, "%s: expected %s but got %s%s", logical, want.Value.Text, word, causes(c))
			}
		}
		if !matched {
			r.fail("expectation", want.KeyAt, nil, "%s: expected %s but nothing changes", want.Key, want.Value.Text)
			r.hintName(want.Key, out)
		}
	}
	for _, logical := range slices.Sorted(maps.Keys(left)) {
		if !ignored {
			r.fail("expectation", m.Value.At, nil, "%s: expected no change but got %s%s", logical, changeWord(left[logical]), causes(left[logical]))
		}
	}
	return nil
}

// causes are the properties for which a change is made; of a replacement, those that need it.
func causes(c *types.ResourceChange) string {
	var names, replacing []string
	for _, d := range c.Details {
		if d.Target == nil || d.Target.Name == nil || slices.Contains(names, *d.Target.Name) {
			continue
		}
		names = append(names, *d.Target.Name)
		if d.Target.RequiresRecreation != types.RequiresRecreationNever {
			replacing = append(replacing, *d.Target.Name)
		}
	}
	if c.Replacement == types.ReplacementTrue && len(replacing) > 0 {
		names = replacing
	}
	if len(names) == 0 {
		return ""
	}
	return " because of " + strings.Join(names, ", ")
}

// plain is a value of the SDK in the shapes of encoding/json.
func plain(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	err = json.Unmarshal(data, &out)
	return out, err
}

// replaced are the resources that a step has replaced, by their physical IDs and by what was announced.
func (o *outcome) replaced() (out []string) {
	for _, logical := range slices.Sorted(maps.Keys(o.before)) {
		after, ok := o.after[logical]
		if before := o.before[logical]; ok && aws.ToString(before.PhysicalResourceId) != aws.ToString(after.PhysicalResourceId) {
			out = append(out, logical)
		}
	}
	for logical, c := range o.shownChanges() {
		if word := changeWord(c); word == "Replace" && !slices.Contains(out, logical) {
			out = append(out, logical)
		}
	}
	slices.Sort(out)
	return out
}

func (r *runner) judgeReplaced(_ context.Context, m document.Member, out *outcome) error {
	changes := out.shownChanges()
	for _, logical := range out.replaced() {
		why := ""
		if c := changes[logical]; c != nil {
			why = causes(c)
		}
		r.fail("expectation", m.Value.At, nil, "%s is replaced%s", logical, why)
	}
	return nil
}

func (r *runner) judgeOnlyChanges(_ context.Context, m document.Member, out *outcome) error {
	changed := map[string]string{}
	for _, c := range out.calls {
		if c.Action != "READ" && c.Stack == out.stack.name {
			changed[c.LogicalID] = c.Action
		}
	}
	for logical, c := range out.shownChanges() {
		if changed[logical] == "" {
			changed[logical] = changeWord(c)
		}
	}
	patterns := m.Value.Strings()
	for _, logical := range slices.Sorted(maps.Keys(changed)) {
		if !slices.ContainsFunc(patterns, func(p string) bool { return r.job.suite.constructs.match(p, logical) }) {
			r.fail("expectation", m.Value.At, nil, "%s changes, too (%s)", logical, changed[logical])
		}
	}
	return nil
}

func (r *runner) judgeKeeps(_ context.Context, m document.Member, out *outcome) error {
	for _, item := range m.Value.Items {
		matched := false
		for _, logical := range slices.Sorted(maps.Keys(out.before)) {
			if !r.job.suite.constructs.match(item.Text, logical) {
				continue
			}
			matched = true
			before, after := aws.ToString(out.before[logical].PhysicalResourceId), aws.ToString(out.after[logical].PhysicalResourceId)
			if before != after {
				r.fail("expectation", item.At, nil, "%s was %s and is %s", logical, before, cmp.Or(after, "gone"))
			}
			for _, c := range out.calls {
				if c.Stack == out.stack.name && c.LogicalID == logical && c.Action == "DELETE" {
					r.fail("expectation", item.At, nil, "%s was deleted", logical)
				}
			}
		}
		if !matched {
			r.fail("expectation", item.At, nil, "the stack had no resource %s before the step", item.Text)
			r.hintName(item.Text, out)
		}
	}
	return nil
}

func (r *runner) judgeEvents(_ context.Context, m document.Member, out *outcome) error {
	at := 0
	find := func(text string, from int) int {
		words := strings.Fields(text)
		for i := from; i < len(out.events); i++ {
			e := out.events[i]
			if r.job.suite.constructs.match(words[0], aws.ToString(e.LogicalResourceId)) && words[1] == string(e.ResourceStatus) {
				return i
			}
		}
		return -1
	}
	for _, item := range m.Value.Items {
		if first, second, found := strings.Cut(item.Text, "<"); found {
			i, k := find(first, 0), find(second, 0)
			switch {
			case i < 0 || k < 0:
				r.fail("expectation", item.At, out.notes(), "there is no event %s", strings.TrimSpace(map[bool]string{true: first, false: second}[i < 0]))
			case i > k:
				r.fail("expectation", item.At, out.notes(), "%s comes after %s", strings.TrimSpace(first), strings.TrimSpace(second))
			}
			continue
		}
		i := find(item.Text, at)
		if i < 0 {
			after := ""
			if find(item.Text, 0) >= 0 {
				after = " after those before it in the list"
			}
			r.fail("expectation", item.At, out.notes(), "there is no event %s%s", item.Text, after)
			continue
		}
		at = i + 1
	}
	return nil
}

func (r *runner) judgeResources(ctx context.Context, m document.Member, out *outcome) error {
	for _, of := range m.Value.Distinct() {
		matched := false
		for _, logical := range slices.Sorted(maps.Keys(out.after)) {
			if !r.job.suite.constructs.match(of.Key, logical) {
				continue
			}
			matched = true
			want, err := r.evaluate(ctx, of.Value, out)
			if err != nil {
				return err
			}
			r.mismatched(of, out, match(logical, want, r.resource(out, logical)))
		}
		if !matched {
			if of.Value.Get("ResourceStatus").Get("$absent") != nil {
				continue
			}
			r.fail("expectation", of.KeyAt, out.notes(), "the stack has no resource %s", of.Key)
			r.hintName(of.Key, out)
		}
	}
	return nil
}

// resource is a resource of a stack as tests see it.
func (r *runner) resource(out *outcome, logical string) map[string]any {
	of := out.after[logical]
	got := map[string]any{"ResourceStatus": string(of.ResourceStatus), "PhysicalResourceId": aws.ToString(of.PhysicalResourceId), "reason": aws.ToString(of.ResourceStatusReason)}
	for _, c := range slices.Backward(r.cloud.calls.since(0)) {
		if c.Stack != out.stack.name || c.LogicalID != logical {
			continue
		}
		if got["sent"] == nil && (c.Action == "CREATE" || c.Action == "UPDATE") {
			got["sent"] = any(c.Desired)
		}
		if got["model"] == nil && c.answer.Model != nil {
			got["model"] = any(c.answer.Model)
		}
	}
	return got
}

func (r *runner) judgeCalls(ctx context.Context, m document.Member, out *outcome) error {
	var calls []*call
	for _, c := range out.calls {
		if c.Action != "READ" || m.Value.Kind == document.Array {
			calls = append(calls, c)
		}
	}
	if m.Value.Kind != document.Array {
		for _, c := range calls {
			r.fail("expectation", m.Value.At, nil, "%s was called: %s", c.LogicalID, c.Action)
		}
		return nil
	}
	for _, item := range m.Value.Items {
		want, err := r.evaluate(ctx, item, out)
		if err != nil {
			return err
		}
		wanted, _ := want.(map[string]any)
		to, action := textOf(wanted["to"]), strings.ToUpper(textOf(wanted["action"]))
		n, nearest := 0, []mismatch(nil)
		for _, c := range calls {
			if to != "" && !r.job.suite.constructs.match(to, c.LogicalID) || action != "" && action != c.Action {
				continue
			}
			var differs []mismatch
			if of, ok := wanted["desired"]; ok {
				differs = match("desired", of, any(c.Desired))
			}
			if of, ok := wanted["previous"]; ok {
				differs = append(differs, match("previous", of, any(c.Previous))...)
			}
			if differs == nil {
				n++
			} else {
				nearest = differs
			}
		}
		times := textOf(wanted["times"])
		switch {
		case times != "" && times != fmt.Sprint(n):
			r.fail("expectation", item.At, out.notes(), "expected %s calls of %s but got %d", times, strings.TrimSpace(to+" "+action), n)
		case n == 0 && nearest != nil:
			r.mismatched(document.Member{Value: item}, out, nearest)
		case n == 0:
			r.fail("expectation", item.At, out.notes(), "%s was not called", strings.TrimSpace(to+" "+action))
		}
	}
	return nil
}

func (r *runner) judgeOutputs(ctx context.Context, m document.Member, out *outcome) error {
	stack, err := r.cloud.remote.Stack(ctx, out.stack.id)
	if err != nil {
		return err
	}
	got := map[string]any{}
	if stack != nil {
		for _, o := range stack.Outputs {
			got[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
		}
	}
	return r.judgeValue(ctx, m, out, "Outputs", got)
}

func (r *runner) judgeExports(ctx context.Context, m document.Member, out *outcome) error {
	got, err := r.cloud.exports(ctx)
	if err != nil {
		return err
	}
	return r.judgeValue(ctx, m, out, "exports", got)
}

func (r *runner) judgeDrift(_ context.Context, m document.Member, out *outcome) error {
	for _, want := range m.Value.Distinct() {
		matched := false
		for _, d := range out.drifts {
			logical := aws.ToString(d.LogicalResourceId)
			if !r.job.suite.constructs.match(want.Key, logical) {
				continue
			}
			matched = true
			if want.Value.Kind == document.Object {
				got, err := plain(d)
				if err != nil {
					return err
				}
				r.mismatched(want, out, match(logical, want.Value.Any(), got))
				continue
			}
			if status := string(d.StackResourceDriftStatus); status != want.Value.Text && !(want.Key == "*" && status == "NOT_CHECKED") {
				var where []string
				for _, p := range d.PropertyDifferences {
					where = append(where, aws.ToString(p.PropertyPath))
				}
				r.fail("expectation", want.Value.At, nil, "%s: expected %s but got %s", logical, want.Value.Text, strings.TrimSpace(status+" "+strings.Join(where, ", ")))
			}
		}
		if !matched {
			r.fail("expectation", want.KeyAt, nil, "drift detection has not checked %s", want.Key)
		}
	}
	return nil
}

func (r *runner) judgeLeftover(_ context.Context, m document.Member, _ *outcome) error {
	for _, left := range r.leftovers() {
		r.fail("leftover", m.Value.At, nil, "%s (%s) of stack %s still exists: %s", left.LogicalID, left.Type, left.Stack, left.Identifier)
	}
	return nil
}

func (f references) StackOutput(template.StackOutputRef) (string, bool, error) { return "", false, nil }
