package stacktest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A form is what a value of a file may be. The forms below are the only description of the format: files are checked
// against them, and editors get them as a JSON schema.
type form struct {
	what  string // the value in messages: "a step"
	is    kind
	keys  []key                               // of an object
	other *form                               // of an object whose other keys are names: their values
	names nameKind                            // what the keys of other, or the text, are names of
	items *form                               // of a list
	words []string                            // all that a text can be; nil: anything
	or    *form                               // what the value may be instead, of another kind
	check func(*reader, *document.Value)      // what the rest cannot say
	said  func(*document.Value) (hint string) // why an object is incomplete; "" if it is not
	def   string                              // the name of its definition in the JSON schema; "" is written where it is used
}

// A kind is that of a [form].
type kind uint8

const (
	anything kind = iota
	textKind
	listKind
	objectKind
)

// A nameKind is what editors complete a name with.
type nameKind string

const (
	noNames        nameKind = ""
	resourceNames  nameKind = "resources"
	parameterNames nameKind = "parameters"
	conditionNames nameKind = "conditions"
	outputNames    nameKind = "outputs"
)

// A key is one of an object.
type key struct {
	name, text string
	of         *form
	need       string // what to add where the key is missing; "" if it may be
}

func text(what string, words ...string) *form { return &form{what: what, is: textKind, words: words} }

func list(what string, items *form) *form { return &form{what: what, is: listKind, items: items} }

func object(what string, keys ...key) *form { return &form{what: what, is: objectKind, keys: keys} }

func namesOf(what string, names nameKind, of *form) *form {
	return &form{what: what, is: objectKind, names: names, other: of}
}

// naming is a text that is a name.
func naming(what string, names nameKind) *form { return &form{what: what, is: textKind, names: names} }

// checked is a form with another check.
func checked(f *form, check func(*reader, *document.Value)) *form {
	f.check = check
	return f
}

// either is a form whose values may also be of another kind.
func either(f, or *form) *form {
	f.or = or
	return f
}

// expected is a value that is compared: with functions of templates and with matchers.
var expected = &form{what: "the value", def: "expected"}

// fileForm is that of a whole file.
var fileForm = sync.OnceValue(newFileForm)

func newFileForm() *form {
	for _, name := range sortedKeys(matchers) {
		expected.keys = append(expected.keys, key{name: name, text: matchers[name].text, of: matchers[name].of})
	}
	expected.check = (*reader).matchers
	matrix := object("matrix",
		key{name: "Parameters", text: "Parameters with their values; \"*\" stands for the AllowedValues.",
			of: namesOf("Parameters", parameterNames, either(list("the values of a parameter", text("a value")), text("the values of a parameter", "*")))},
		key{name: "Conditions", text: "Conditions with true, false or both; values of the parameters that they depend on are found.",
			of: namesOf("Conditions", conditionNames, list("the values of a condition", text("a condition", "true", "false")))},
		key{name: "include", text: "More variants: parameters with values.", of: list("include", namesOf("an item of include", parameterNames, text("a value")))},
		key{name: "exclude", text: "Variants that are left out.", of: list("exclude", namesOf("an item of exclude", parameterNames, text("a value")))})
	matrix.def = "matrix"
	steps := list("steps", stepForm())
	steps.def = "steps"
	app := object("cdk",
		key{name: "dir", text: "The folder of the app, where cdk.json is.", of: text("dir"), need: "add \"dir: FOLDER\", where cdk.json is"},
		key{name: "stack", text: "The stack of the app, if it has several.", of: text("stack")})
	app.def = "cdk"
	return object("a file of stack tests",
		key{name: "stacktest", text: "The version of the format.", of: text("the version of the format", "1"), need: "begin the file with \"stacktest: 1\""},
		key{name: "template", text: "The path of a template, relative to this file.", of: text("a template")},
		key{name: "cdk", text: "A stack of a CDK app, whose command in cdk.json is run.", of: app},
		key{name: "templates", text: "Names of stacks with their templates.", of: namesOf("templates", noNames, either(text("a template"), object("a template", key{name: "cdk", text: "A stack of a CDK app.", of: app, need: "add \"cdk: {dir: FOLDER}\""})))},
		key{name: "Parameters", text: "The parameters of each deployment.", of: parametersForm()},
		key{name: "Tags", text: "The tags of each deployment.", of: namesOf("Tags", noNames, text("a tag"))},
		key{name: "Capabilities", text: "What each deployment acknowledges. Without it, what the template needs.", of: list("Capabilities", text("a capability", "CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"))},
		key{name: "place", text: "Where the stacks are.", of: object("place",
			key{name: "AccountId", text: "The number of the account.", of: text("AccountId")}, key{name: "Region", text: "The region.", of: text("Region")})},
		key{name: "given", text: "What exists before the first step.", of: object("given",
			key{name: "exports", text: "Exports of other stacks: names with values.", of: namesOf("exports", noNames, text("an export"))},
			key{name: "ssm", text: "Parameters of Systems Manager: names with values.", of: namesOf("ssm", noNames, text("a parameter"))},
			key{name: "secrets", text: "Secrets of Secrets Manager: names with texts, or with objects of texts.", of: namesOf("secrets", noNames, &form{what: "a secret"})})},
		key{name: "types", text: "Types or patterns such as AWS::SQS::*, with where they come from. Without it, AWS::* is simulated.", of: namesOf("types", noNames, typeForm())},
		key{name: "functions", text: "Functions with a folder, a binary or a URL that is run, or with the answer to custom resources.", of: namesOf("functions", noNames, either(text("a function"), functionForm()))},
		key{name: "hooks", text: "Hooks that see the stacks of the tests.", of: namesOf("hooks", noNames, hookForm())},
		key{name: "matrix", text: "Each case is run once per combination.", of: matrix},
		key{name: "coverage", text: "The least coverage in percent.", of: object("coverage",
			key{name: "resources", text: "Resources that were deployed.", of: percentage("resources")},
			key{name: "conditions", text: "Conditions that were true and false.", of: percentage("conditions")},
			key{name: "branches", text: "Branches of Fn::If that were taken.", of: percentage("branches")})},
		key{name: "cases", text: "Names of cases with their steps.", of: namesOf("cases", noNames, object("a case",
			key{name: "skip", text: "Why the case is not run.", of: text("skip")},
			key{name: "matrix", text: "The matrix of this case.", of: matrix},
			key{name: "steps", text: "The steps of the case.", of: steps, need: "add steps"}))},
		key{name: "steps", text: "The steps of the only case.", of: steps})
}

func percentage(what string) *form {
	return checked(text(what), func(r *reader, v *document.Value) {
		if n, ok := number(v); !ok || n > 100 {
			r.add("value", v.At, "", "%s is a percentage from 0 to 100", what)
		}
	})
}

func parametersForm() *form {
	f := namesOf("Parameters", parameterNames, either(text("a parameter"), object("a parameter", key{name: "previous", text: "Keep the value that the stack has.", of: text("previous", "true")})))
	f.def = "parameters"
	return f
}

func typeForm() *form {
	f := object("a type",
		key{name: "project", text: "The folder of an extension project, which is built.", of: text("project")},
		key{name: "package", text: "A file that cfn package wrote.", of: text("package")},
		key{name: "delegate", text: "The URL of an emulator.", of: text("delegate")},
		key{name: "simulate", text: "Resources are simulated from the schema.", of: object("simulate",
			key{name: "attributes", text: "Values of properties.", of: namesOf("attributes", noNames, &form{what: "an attribute"})})})
	f.said = func(v *document.Value) string {
		if len(v.Distinct()) != 1 {
			return "use project, package, delegate or simulate"
		}
		return ""
	}
	return f
}

func functionForm() *form {
	return object("a function", key{name: "answer", text: "The answer to each request of a custom resource.", need: "add \"answer: {}\", or name a folder, a binary or a URL", of: object("answer",
		key{name: "Status", text: "The status of the answer.", of: text("Status", "SUCCESS", "FAILED")},
		key{name: "PhysicalResourceId", text: "The physical ID.", of: text("PhysicalResourceId")},
		key{name: "Data", text: "What Fn::GetAtt reads.", of: namesOf("Data", noNames, &form{what: "a value"})},
		key{name: "Reason", text: "Why it failed.", of: text("Reason")})})
}

func hookForm() *form {
	f := object("a hook",
		key{name: "project", text: "The folder of the project of the hook, which is built.", of: text("project")},
		key{name: "guard", text: "A file with rules of CloudFormation Guard, which the program cfn-guard evaluates.", of: text("guard")},
		key{name: "fail", text: "The hook refuses each target with this message.", of: text("fail")},
		key{name: "targets", text: "The types that a hook of rules or of a message sees; patterns such as AWS::S3::*. Without it, all.", of: list("targets", text("a type"))},
		key{name: "actions", text: "The actions on them that it sees.", of: list("actions", text("an action", "CREATE", "UPDATE", "DELETE"))})
	f.said = func(v *document.Value) string {
		n := 0
		for _, name := range []string{"project", "guard", "fail"} {
			if v.Get(name) != nil {
				n++
			}
		}
		switch {
		case n != 1:
			return "use project, guard or fail"
		case v.Get("project") != nil && (v.Get("targets") != nil || v.Get("actions") != nil):
			return "remove targets and actions: the schema of the hook has them"
		}
		return ""
	}
	return f
}

// stepForm is that of a step: its action is one key.
func stepForm() *form {
	f := object("a step",
		key{name: "name", text: "What the step is about.", of: text("name")},
		key{name: "fail", text: "Calls of a resource fail.", of: faultForm()},
		key{name: "delay", text: "Resources with the time that they take; no real time passes.", of: namesOf("delay", resourceNames, checked(text("a delay"), checkDelay))})
	var expect []key
	for _, e := range expectations {
		expect = append(expect, key{name: e.name, text: e.text, of: e.of})
	}
	f.keys = append(f.keys, key{name: "expect", text: "What must be so after the step. Without it, the action must end well.", of: object("expect", expect...)})
	for _, a := range actions {
		f.keys = append(f.keys, key{name: a.name, text: a.text, of: a.of})
	}
	f.check = checkStep
	return f
}

func checkStep(r *reader, v *document.Value) {
	found := ""
	for _, m := range v.Distinct() {
		if actionNamed(m.Key) == nil {
			continue
		}
		if found != "" {
			r.add("value", m.Value.At, "make it a step of its own", "a step has one action, and this one has %s and %s", found, m.Key)
		}
		found = m.Key
	}
	a := actionNamed(found)
	switch {
	case a == nil && !r.strange(v):
		r.add("required", v.At, "use one of "+strings.Join(actionNames(), ", "), "the step has no action")
	case a != nil && a.act == nil && (v.Get("expect") != nil || v.Get("fail") != nil || v.Get("delay") != nil):
		r.add("value", v.At, "put the expectations into the next step", "%s expects nothing", found)
	}
}

// strange reports whether an object has a key that a step does not have, which may be its action.
func (r *reader) strange(v *document.Value) bool {
	return slices.ContainsFunc(r.problems, func(p diag.Problem) bool {
		return p.ID == "stacktest/unknown-key" && slices.ContainsFunc(v.Members, func(m document.Member) bool { return m.KeyAt == p.At })
	})
}

func faultForm() *form {
	return object("fail",
		key{name: "at", text: "The logical ID of the resource.", of: naming("at", resourceNames), need: "add \"at: LOGICALID\""},
		key{name: "action", text: "The calls that fail. Without it, CREATE, UPDATE and DELETE.", of: text("action", "CREATE", "READ", "UPDATE", "DELETE", "ROLLBACK")},
		key{name: "when", text: "before: nothing is done. after: the resource is made, changed or deleted all the same.", of: text("when", "before", "after")},
		key{name: "code", text: "The error code of the handler, such as Throttling.", of: text("code")},
		key{name: "message", text: "The message of the handler.", of: text("message")},
		key{name: "times", text: "How many calls fail. Without it, all.", of: positive("times")})
}

func positive(what string) *form {
	return checked(text(what), func(r *reader, v *document.Value) {
		if n, ok := number(v); !ok || n < 1 {
			r.add("value", v.At, "", "%s is a positive number", what)
		}
	})
}

// conforms checks a value against its form.
func (r *reader) conforms(v *document.Value, f *form) {
	if f.or != nil && !f.takes(v) && f.or.takes(v) {
		r.conforms(v, f.or)
		return
	}
	if !f.takes(v) {
		r.add("value", v.At, "", "%s is %s, not %s", f.what, [...]string{"", "a string", "a list", "an object"}[f.is], article(v.Kind))
		return
	}
	switch f.is {
	case textKind:
		if got, _ := scalar(v); f.words != nil && !slices.Contains(f.words, got) {
			r.add("value", v.At, "use "+strings.Join(f.words, ", "), "%s is %q", f.what, got)
		}
	case listKind:
		for _, item := range v.Items {
			r.conforms(item, f.items)
		}
	case objectKind:
		r.members(v, f)
	}
	if f.check != nil {
		f.check(r, v)
	}
}

// conformed checks a value against its form, and reports whether it conforms.
func (r *reader) conformed(v *document.Value, f *form) bool {
	before := len(r.problems)
	r.conforms(v, f)
	return len(r.problems) == before
}

// takes reports whether a value is of the kind of a form.
func (f *form) takes(v *document.Value) bool {
	switch f.is {
	case textKind:
		_, ok := scalar(v)
		return ok
	case listKind:
		return v.Kind == document.Array
	case objectKind:
		return v.Kind == document.Object
	}
	return true
}

// members checks the keys of an object, and that none is missing.
func (r *reader) members(v *document.Value, f *form) {
	unknown := false
	for _, m := range v.Distinct() {
		switch k := f.key(m.Key); {
		case k != nil:
			r.conforms(m.Value, k.of)
		case f.other != nil:
			r.conforms(m.Value, f.other)
		default:
			unknown = true
			known := f.keyNames()
			hint := words.DidYouMean(m.Key, known)
			if hint == "" {
				hint = "use " + strings.Join(known, ", ")
			}
			r.add("unknown-key", m.KeyAt, hint, "%s has no key %q", f.what, m.Key)
		}
	}
	if unknown {
		return // the missing one may be misspelled
	}
	for _, k := range f.keys {
		if k.need != "" && v.Get(k.name) == nil {
			r.add("required", v.At, k.need, "%s is missing in %s", k.name, f.what)
		}
	}
	if f.said != nil {
		if hint := f.said(v); hint != "" {
			r.add("value", v.At, hint, "%s does not say what it is, or says it more than once", f.what)
		}
	}
}

func (f *form) key(name string) *key {
	for i := range f.keys {
		if f.keys[i].name == name {
			return &f.keys[i]
		}
	}
	return nil
}

func (f *form) keyNames() (out []string) {
	for _, k := range f.keys {
		out = append(out, k.name)
	}
	slices.Sort(out)
	return out
}

// article is a kind in a sentence.
func article(k document.Kind) string {
	if k == document.Null {
		return "empty"
	}
	return k.WithArticle()
}

func (r *reader) add(id string, at diag.Range, hint, format string, args ...any) {
	r.problems.Add(diag.Problem{ID: "stacktest/" + id, At: at, Message: fmt.Sprintf(format, args...), Hint: hint})
}
