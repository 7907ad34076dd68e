package stacktest

import (
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// inputKeys are what deploy, update, changeSet and import are made with.
func inputKeys() []key {
	edit := object("an edit",
		key{name: "path", text: "A JSON Pointer into the template, such as /Resources/Queue/Properties/DelaySeconds.", of: checked(text("path"), checkPointer), need: "add \"path: /Resources/…\""},
		key{name: "value", text: "The new value. Without it, what is there is removed.", of: &form{what: "a value"}})
	edit.def = "edit"
	return []key{
		{name: "stack", text: "The name of the stack. Without it, that of the first template.", of: text("stack")},
		{name: "template", text: "Another template: a name of templates, or a path.", of: text("template")},
		{name: "Parameters", text: "Parameters of this step, over those of the file.", of: parametersForm()},
		{name: "Tags", text: "Tags of this step.", of: namesOf("Tags", noNames, text("a tag"))},
		{name: "Capabilities", text: "What is acknowledged.", of: list("Capabilities", text("a capability", "CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"))},
		{name: "edit", text: "Changes of the template for this step.", of: list("edit", edit)},
	}
}

func checkPointer(r *reader, v *document.Value) {
	path, _ := scalar(v)
	if pointer, ok := document.ParsePointer(path); !ok || len(pointer) == 0 {
		r.add("value", v.At, "such as /Resources/Queue/Properties/DelaySeconds", "%q is not a JSON Pointer into the template", path)
	}
}

// checkDelay checks how long a resource takes.
func checkDelay(r *reader, v *document.Value) {
	if d := durationOf(v); d <= 0 || d > time.Hour {
		r.add("value", v.At, "such as 30s or 5m", "a delay is a duration of at most 1h")
	}
}

// operationForm is what a stack is deployed with.
func operationForm(name string, more ...key) *form {
	return object(name, append(inputKeys(), more...)...)
}

// stackForm is an action that needs only a stack.
func stackForm(name string, more ...key) *form {
	return object(name, append([]key{{name: "stack", text: "The name of the stack. Without it, that of the first template.", of: text("stack")}}, more...)...)
}

func importForm() *form {
	f := operationForm("import")
	f.names, f.other = resourceNames, either(text("an identifier"), &form{what: "an identifier"})
	f.check = func(r *reader, v *document.Value) {
		if len(importedIn(v)) == 0 {
			r.add("required", v.At, "add LOGICALID: IDENTIFIER for each resource", "import imports nothing")
		}
	}
	return f
}

// importedIn are the logical IDs with identifiers of an import.
func importedIn(v *document.Value) (out []document.Member) {
	inputs := object("", inputKeys()...)
	for _, m := range v.Distinct() {
		if inputs.key(m.Key) == nil {
			out = append(out, m)
		}
	}
	return out
}

func readOperation(v *document.Value, step *Step) {
	step.Stack, step.Template, step.Inputs, step.Type = textAt(v, "stack"), textAt(v, "template"), inputsIn(v), textAt(v, "ChangeSetType")
	step.Edits, step.Skip = editsOf(v.Get("edit")), textsOf(v.Get("ResourcesToSkip"))
}

func editsOf(v *document.Value) (out []edit) {
	if v == nil {
		return nil
	}
	for _, item := range v.Items {
		pointer, _ := document.ParsePointer(textAt(item, "path"))
		out = append(out, edit{Path: pointer, Value: item.Get("value"), PathAt: item.Get("path").At})
	}
	return out
}

func readImport(v *document.Value, step *Step) {
	readOperation(v, step)
	step.IDs = importedIn(v)
}

func readChange(v *document.Value, step *Step) { step.IDs = v.Distinct() }

func readKill(v *document.Value, step *Step) { step.Kill, step.KillAt = textAt(v, "at"), v.At }

func readSignal(v *document.Value, step *Step) {
	of := signal{At: textAt(v, "at"), Status: textAt(v, "status"), ID: textAt(v, "id"), Data: textAt(v, "data"), Reason: textAt(v, "reason"), Times: 1, Position: v.At}
	if n, ok := number(v.Get("times")); ok {
		of.Times = n
	}
	step.Signals = append(step.Signals, of)
}

func readCall(v *document.Value, step *Step) {
	step.Stack, step.Function, step.Payload = textAt(v, "stack"), v.Get("function"), v.Get("payload")
}

func readRefactor(v *document.Value, step *Step) {
	for _, m := range v.Get("stacks").Distinct() {
		of := moved{Stack: m.Key, At: m.KeyAt, Edits: editsOf(m.Value.Get("edit"))}
		if file, ok := scalar(m.Value); ok {
			of.Template = file
		} else {
			of.Template = textAt(m.Value, "template")
		}
		step.Moves = append(step.Moves, of)
	}
	step.IDs = v.Get("mappings").Distinct()
}

func refactorForm() *form {
	edit := operationForm("").key("edit")
	stack := object("a stack", key{name: "template", text: "Another template: a name of templates, or a path.", of: text("template")}, *edit)
	return object("refactor",
		key{name: "stacks", text: "Names of stacks with the templates that they get.", of: namesOf("stacks", noNames, either(text("a template"), stack)), need: "add \"stacks: {NAME: TEMPLATE}\""},
		key{name: "mappings", text: "STACK.LOGICALID with the STACK.LOGICALID that the resource gets, where the service cannot tell.", of: namesOf("mappings", noNames, checked(text("a resource"), checkStackResource))})
}

func checkStackResource(r *reader, v *document.Value) {
	of, _ := scalar(v)
	if stack, id, found := strings.Cut(of, "."); !found || stack == "" || id == "" {
		r.add("value", v.At, "", "%q is not STACK.LOGICALID", of)
	}
}

// The checks of expectations, which forms cannot say.

func checkEvents(r *reader, v *document.Value) {
	of, _ := scalar(v)
	for part := range strings.SplitSeq(of, "<") {
		if len(strings.Fields(part)) != 2 {
			r.add("value", v.At, "such as \"Queue CREATE_COMPLETE\", or \"Queue CREATE_COMPLETE < Topic CREATE_IN_PROGRESS\"", "%q is not a logical ID and a status", strings.TrimSpace(part))
		}
	}
}

// words of a change.
var changeWords = []string{"Add", "Modify", "Remove", "Replace", "Conditional", "Import", "ignore"}
