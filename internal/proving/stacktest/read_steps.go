package stacktest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func (r *reader) steps(v *document.Value) (out []*Step) {
	kill, killAt := "", diag.Range{}
	for _, item := range r.items(v, "steps") {
		step := r.step(item)
		if step.Action == "kill" { // belongs to the step after it
			kill, killAt = step.Kill, step.At
			continue
		}
		step.Kill, step.KillAt, kill = kill, killAt, ""
		out = append(out, step)
	}
	if kill != "" {
		r.add("value", killAt, "put it before the step that it interrupts", "kill is the last step")
	}
	return out
}

func (r *reader) step(v *document.Value) *Step {
	step := &Step{At: v.At}
	of := map[string]func(*document.Value){
		"name":   r.into(&step.Name, "name"),
		"fail":   func(v *document.Value) { step.Fail = r.fault(v) },
		"delay":  func(v *document.Value) { step.Delay = r.delays(v) },
		"expect": func(v *document.Value) { step.Expect = r.expectations(v) },
	}
	for name, a := range actions {
		of[name] = func(v *document.Value) {
			if step.Action != "" {
				r.add("value", v.At, "make it a step of its own", "a step has one action, and this one has %s and %s", step.Action, name)
			}
			step.Action, step.At = name, v.At
			a.read(r, v, step)
		}
	}
	before := len(r.problems)
	r.fields(v, "a step", of)
	if step.Action == "" && len(r.problems) == before && v.Kind == document.Object {
		r.add("required", v.At, "use one of "+strings.Join(actionNames(), ", "), "the step has no action")
	}
	if step.Action == "kill" && (step.Expect != nil || step.Fail != nil || step.Delay != nil) {
		r.add("value", step.At, "put the expectations into the next step", "kill expects nothing")
	}
	return step
}

// readOperation reads what deploy, update, changeSet and import are made with.
func readOperation(r *reader, v *document.Value, step *Step) {
	of := readInputs(r, step)
	if step.Action == "changeSet" {
		of["ChangeSetType"] = func(v *document.Value) { step.Type = r.oneOf(v, "ChangeSetType", "CREATE", "UPDATE") }
	}
	r.fields(v, step.Action, of)
}

func readInputs(r *reader, step *Step) map[string]func(*document.Value) {
	return map[string]func(*document.Value){
		"stack":        r.into(&step.Stack, "stack"),
		"template":     r.into(&step.Template, "template"),
		"Parameters":   func(v *document.Value) { step.Inputs.Parameters = r.members(v, "Parameters") },
		"Tags":         func(v *document.Value) { step.Inputs.Tags = r.members(v, "Tags") },
		"Capabilities": func(v *document.Value) { step.Inputs.Capabilities = r.texts(v, "Capabilities") },
		"edit":         func(v *document.Value) { step.Edits = r.edits(v) },
	}
}

// readStack reads an action that needs only a stack.
func readStack(r *reader, v *document.Value, step *Step) {
	of := map[string]func(*document.Value){"stack": r.into(&step.Stack, "stack")}
	if step.Action == "continueRollback" {
		of["ResourcesToSkip"] = func(v *document.Value) { step.Skip = r.texts(v, "ResourcesToSkip") }
	}
	r.fields(v, step.Action, of)
}

// readChange reads what is changed behind the back of a stack.
func readChange(r *reader, v *document.Value, step *Step) {
	for _, m := range r.members(v, "change") {
		if text, ok := scalar(m.Value); ok && text != "deleted" || !ok && m.Value.Kind != document.Object {
			r.add("value", m.Value.At, "write the changed properties, or the word deleted", "%s is neither an object nor \"deleted\"", m.Key)
		}
		step.IDs = append(step.IDs, m)
	}
}

// readImport reads an import: what a deployment has, and logical IDs with identifiers.
func readImport(r *reader, v *document.Value, step *Step) {
	known := readInputs(r, step)
	for _, m := range r.members(v, "import") {
		if read, ok := known[m.Key]; ok {
			read(m.Value)
			continue
		}
		step.IDs = append(step.IDs, m)
	}
	if len(step.IDs) == 0 && v.Kind == document.Object {
		r.add("required", v.At, "add LOGICALID: IDENTIFIER for each resource", "import imports nothing")
	}
}

func readKill(r *reader, v *document.Value, step *Step) {
	r.fields(v, "kill", map[string]func(*document.Value){
		"at":   r.into(&step.Kill, "at"),
		"when": func(v *document.Value) { r.oneOf(v, "when", "IN_PROGRESS") },
	})
	if step.Kill == "" && v.Kind == document.Object {
		r.add("required", v.At, "add \"at: LOGICALID\"", "kill names no resource")
	}
}

func (r *reader) edits(v *document.Value) (out []edit) {
	for _, item := range r.items(v, "edit") {
		var e edit
		path, value := "", (*document.Value)(nil)
		r.fields(item, "an edit", map[string]func(*document.Value){
			"path":  func(v *document.Value) { path, e.PathAt = r.text(v, "path"), v.At },
			"value": func(v *document.Value) { value = v },
		})
		pointer, ok := document.ParsePointer(path)
		if !ok || len(pointer) == 0 {
			r.add("value", item.At, "such as /Resources/Queue/Properties/DelaySeconds", "%q is not a JSON Pointer into the template", path)
		}
		e.Path, e.Value = pointer, value
		out = append(out, e)
	}
	return out
}

func (r *reader) fault(v *document.Value) *fault {
	f := &fault{Position: v.At, Code: "GeneralServiceException", Message: "the test has the call fail"}
	r.fields(v, "fail", map[string]func(*document.Value){
		"at": r.into(&f.At, "at"),
		"action": func(v *document.Value) {
			f.Action = r.oneOf(v, "action", "CREATE", "READ", "UPDATE", "DELETE", "ROLLBACK")
		},
		"when":    func(v *document.Value) { f.After = r.oneOf(v, "when", "before", "after") == "after" },
		"code":    r.into(&f.Code, "code"),
		"message": r.into(&f.Message, "message"),
		"times":   func(v *document.Value) { f.Times = r.number(v, "times") },
	})
	if f.At == "" && v.Kind == document.Object {
		r.add("required", v.At, "add \"at: LOGICALID\"", "fail names no resource")
	}
	return f
}

func (r *reader) number(v *document.Value, what string) int {
	n, err := strconv.Atoi(r.text(v, what))
	if err != nil || n < 1 {
		r.add("value", v.At, "", "%s is a positive number", what)
	}
	return n
}

func (r *reader) delays(v *document.Value) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, m := range r.members(v, "delay") {
		d, err := time.ParseDuration(r.text(m.Value, "a delay"))
		if err != nil || d <= 0 || d > time.Hour {
			r.add("value", m.Value.At, "such as 30s or 5m", "a delay is a duration of at most 1h")
		}
		out[m.Key] = d
	}
	return out
}

// expectations reads what is expected of a step. The shape of each is checked here, so that none is silently void.
func (r *reader) expectations(v *document.Value) []document.Member {
	of := map[string]func(*document.Value){}
	for name, e := range expectations {
		of[name] = func(v *document.Value) {
			if e.check != nil {
				e.check(r, v)
			}
			r.matchers(v)
		}
	}
	r.fields(v, "expect", of)
	return slices.DeleteFunc(slices.Clone(r.quiet(v)), func(m document.Member) bool { _, ok := expectations[m.Key]; return !ok })
}

// quiet are the members of a value , whose other kinds are reported already.
func (r *reader) quiet(v *document.Value) []document.Member { return v.Distinct() }

func checkNone(r *reader, v *document.Value) {
	if text, ok := scalar(v); !ok || text != "none" {
		r.add("value", v.At, "write none", "the value can only be none")
	}
}

func checkTexts(r *reader, v *document.Value) { r.texts(v, "the value") }

func checkText(r *reader, v *document.Value) { r.text(v, "the value") }

func checkObject(r *reader, v *document.Value) { r.members(v, "the value") }

func checkEvents(r *reader, v *document.Value) {
	for _, text := range r.texts(v, "events") {
		for part := range strings.SplitSeq(text, "<") {
			if len(strings.Fields(part)) != 2 {
				r.add("value", v.At, "such as \"Queue CREATE_COMPLETE\", or \"Queue CREATE_COMPLETE < Topic CREATE_IN_PROGRESS\"", "%q is not a logical ID and a status", strings.TrimSpace(part))
			}
		}
	}
}

// words of a change.
var changeWords = []string{"Add", "Modify", "Remove", "Replace", "Conditional", "Import", "ignore"}

func checkChanges(r *reader, v *document.Value) {
	for _, m := range r.members(v, "changes") {
		if m.Value.Kind != document.Object {
			r.oneOf(m.Value, m.Key, changeWords...)
		}
	}
}

func checkCalls(r *reader, v *document.Value) {
	if text, ok := scalar(v); ok && text == "none" {
		return
	}
	for _, item := range r.items(v, "calls") {
		r.fields(item, "a call", map[string]func(*document.Value){
			"to": func(v *document.Value) { r.text(v, "to") }, "action": func(v *document.Value) { r.text(v, "action") },
			"times": func(v *document.Value) { r.number(v, "times") }, "desired": nothing, "previous": nothing,
		})
	}
}

func nothing(*document.Value) {}

func checkResources(r *reader, v *document.Value) {
	for _, m := range r.members(v, "resources") {
		r.fields(m.Value, "a resource", map[string]func(*document.Value){"ResourceStatus": nothing, "PhysicalResourceId": nothing, "sent": nothing, "model": nothing, "reason": nothing})
	}
}

func checkError(r *reader, v *document.Value) {
	r.fields(v, "error", map[string]func(*document.Value){"code": nothing, "message": nothing})
}
