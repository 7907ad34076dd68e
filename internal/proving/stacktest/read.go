package stacktest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// limits bound a file: each case starts a server.
var limits = document.Limits{Bytes: 1 << 20, Depth: 64}

// maxCases bounds the cases of a file with all variants.
const maxCases = 1000

// Load reads a file of tests. name is how problems call it, path where it is. The suite is nil if there are errors.
func Load(name, path string) (*Suite, diag.List, error) {
	data, err := document.ReadFile(path, int64(limits.Bytes))
	if err != nil {
		return nil, nil, err
	}
	// Short forms of functions are allowed in expected values, as in templates.
	root, problems := template.ReadYAML(name, data, limits)
	if strings.EqualFold(filepath.Ext(name), ".json") {
		root, problems = document.ParseJSON(name, data, limits)
	}
	if problems.HasErrors() {
		return nil, problems, nil
	}
	r := &reader{problems: problems}
	s := r.suite(root, &Suite{File: name, Dir: filepath.Dir(path), Account: "123456789012", Region: "us-east-1"})
	r.problems.Sort()
	if r.problems.HasErrors() {
		return nil, r.problems, nil
	}
	return s, r.problems, nil
}

// A reader collects the problems of a file.
type reader struct{ problems diag.List }

func (r *reader) add(id string, at diag.Range, hint, format string, args ...any) {
	r.problems.Add(diag.Problem{ID: "stacktest/" + id, At: at, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// fields reads the members of an object, each by the function of its key.
func (r *reader) fields(v *document.Value, what string, of map[string]func(*document.Value)) {
	known := slices.Sorted(maps.Keys(of))
	for _, m := range r.members(v, what) {
		if read, ok := of[m.Key]; ok {
			read(m.Value)
			continue
		}
		hint := words.DidYouMean(m.Key, known)
		if hint == "" {
			hint = "use " + strings.Join(known, ", ")
		}
		r.add("unknown-key", m.KeyAt, hint, "%s has no key %q", what, m.Key)
	}
}

func (r *reader) members(v *document.Value, what string) []document.Member {
	if v == nil || v.Kind != document.Object {
		if v != nil {
			r.add("value", v.At, "", "%s is an object, not %s", what, article(v.Kind))
		}
		return nil
	}
	return v.Distinct()
}

func (r *reader) items(v *document.Value, what string) []*document.Value {
	if v.Kind != document.Array {
		r.add("value", v.At, "", "%s is a list, not %s", what, article(v.Kind))
		return nil
	}
	return v.Items
}

// article is a kind in a sentence.
func article(k document.Kind) string {
	switch k {
	case document.Null:
		return "empty"
	case document.Array, document.Object:
		return "an " + k.String()
	}
	return "a " + k.String()
}

// text returns the text of a scalar.
func (r *reader) text(v *document.Value, what string) string {
	text, ok := scalar(v)
	if !ok {
		r.add("value", v.At, "", "%s is a string, not %s", what, article(v.Kind))
	}
	return text
}

// into returns a function that reads a text.
func (r *reader) into(to *string, what string) func(*document.Value) {
	return func(v *document.Value) { *to = r.text(v, what) }
}

func (r *reader) texts(v *document.Value, what string) (out []string) {
	for _, item := range r.items(v, what) {
		out = append(out, r.text(item, what))
	}
	return out
}

// oneOf reads a text that is one of some words.
func (r *reader) oneOf(v *document.Value, what string, words ...string) string {
	text := r.text(v, what)
	if !slices.Contains(words, text) {
		r.add("value", v.At, "use "+strings.Join(words, ", "), "%s is %q", what, text)
	}
	return text
}

// scalar is the text of a value as CloudFormation compares scalars.
func scalar(v *document.Value) (string, bool) {
	switch v.Kind {
	case document.String, document.Number:
		return v.Text, true
	case document.Bool:
		return strconv.FormatBool(v.Bool), true
	}
	return "", false
}

// suite reads the whole file.
func (r *reader) suite(root *document.Value, s *Suite) *Suite {
	if root == nil {
		root = &document.Value{At: diag.Range{File: s.File}}
	}
	var steps *document.Value
	version := false
	r.fields(root, "a file of stack tests", map[string]func(*document.Value){
		"stacktest": func(v *document.Value) {
			if version = true; r.text(v, "stacktest") != "1" {
				r.add("value", v.At, "", "stacktest is the version of the format, which is 1")
			}
		},
		"template":     func(v *document.Value) { s.Templates = append(s.Templates, r.file("", v)) },
		"cdk":          func(v *document.Value) { s.Templates = append(s.Templates, r.app("", v)) },
		"templates":    func(v *document.Value) { r.templates(v, s) },
		"Parameters":   func(v *document.Value) { s.Defaults.Parameters = r.members(v, "Parameters") },
		"Tags":         func(v *document.Value) { s.Defaults.Tags = r.members(v, "Tags") },
		"Capabilities": func(v *document.Value) { s.Defaults.Capabilities = r.texts(v, "Capabilities") },
		"place": func(v *document.Value) {
			r.fields(v, "place", map[string]func(*document.Value){"AccountId": r.into(&s.Account, "AccountId"), "Region": r.into(&s.Region, "Region")})
		},
		"given":     func(v *document.Value) { s.Given = r.given(v) },
		"types":     func(v *document.Value) { r.types(v, s) },
		"functions": func(v *document.Value) { r.functions(v, s) },
		"hooks":     func(v *document.Value) { r.hooks(v, s) },
		"matrix":    func(v *document.Value) { s.Matrix = r.matrix(v) },
		"coverage":  func(v *document.Value) { s.Coverage = r.coverage(v) },
		"cases":     func(v *document.Value) { r.cases(v, s) },
		"steps":     func(v *document.Value) { steps = v },
	})
	if steps != nil {
		if len(s.Cases) > 0 {
			r.add("value", steps.At, "move the steps into a case", "a file has either cases or steps")
		}
		s.Cases = append(s.Cases, &Case{At: steps.At, Steps: r.steps(steps)})
	}
	switch {
	case !version:
		r.add("required", root.At, "begin the file with \"stacktest: 1\"", "the version of the format is missing")
	case len(s.Cases) == 0:
		r.add("required", root.At, "add steps or cases", "the file tests nothing")
	case len(s.Templates) == 0:
		r.add("required", root.At, "add \"template: FILE\"", "no template is named")
	}
	return s
}

func (r *reader) file(name string, v *document.Value) source {
	return source{Name: name, File: r.text(v, "a template"), At: v.At}
}

func (r *reader) app(name string, v *document.Value) source {
	out := source{Name: name, At: v.At}
	r.fields(v, "cdk", map[string]func(*document.Value){"dir": r.into(&out.CDK, "dir"), "stack": r.into(&out.Stack, "stack")})
	if out.CDK == "" {
		r.add("required", v.At, "add \"dir: FOLDER\", where cdk.json is", "cdk names no folder")
	}
	return out
}

func (r *reader) templates(v *document.Value, s *Suite) {
	for _, m := range r.members(v, "templates") {
		if m.Value.Kind != document.Object {
			s.Templates = append(s.Templates, r.file(m.Key, m.Value))
			continue
		}
		r.fields(m.Value, "a template", map[string]func(*document.Value){"cdk": func(v *document.Value) { s.Templates = append(s.Templates, r.app(m.Key, v)) }})
	}
}

func (r *reader) given(v *document.Value) (out []document.Member) {
	r.fields(v, "given", map[string]func(*document.Value){
		"exports": func(v *document.Value) { r.members(v, "exports") },
		"ssm":     func(v *document.Value) { r.members(v, "ssm") },
		"secrets": func(v *document.Value) { r.members(v, "secrets") },
	})
	return r.members(v, "given")
}

func (r *reader) types(v *document.Value, s *Suite) {
	for _, m := range r.members(v, "types") {
		rule := typeRule{Pattern: m.Key, At: m.KeyAt}
		r.fields(m.Value, "a type", map[string]func(*document.Value){
			"project":  r.into(&rule.Project, "project"),
			"package":  r.into(&rule.Package, "package"),
			"delegate": r.into(&rule.Delegate, "delegate"),
			"simulate": func(v *document.Value) {
				rule.Simulate = true
				r.fields(v, "simulate", map[string]func(*document.Value){"attributes": func(v *document.Value) { rule.Attributes = r.members(v, "attributes") }})
			},
		})
		chosen := 0
		for _, set := range []bool{rule.Project != "", rule.Package != "", rule.Delegate != "", rule.Simulate} {
			if set {
				chosen++
			}
		}
		if chosen != 1 {
			r.add("value", m.KeyAt, "use project, package, delegate or simulate", "%s does not say where the type comes from, or says it more than once", m.Key)
		}
		if (rule.Project != "" || rule.Package != "") && strings.Contains(rule.Pattern, "*") {
			r.add("value", m.KeyAt, "", "%s is a pattern, but a project or a package is one type", m.Key)
		}
		s.Types = append(s.Types, rule)
	}
}

func (r *reader) functions(v *document.Value, s *Suite) {
	for _, m := range r.members(v, "functions") {
		f := function{Name: m.Key}
		if m.Value.Kind != document.Object {
			f.Run = r.text(m.Value, "a function")
		} else {
			r.fields(m.Value, "a function", map[string]func(*document.Value){"answer": func(v *document.Value) {
				f.Answer = v
				r.fields(v, "answer", map[string]func(*document.Value){
					"Status":             func(v *document.Value) { r.oneOf(v, "Status", "SUCCESS", "FAILED") },
					"PhysicalResourceId": func(v *document.Value) { r.text(v, "PhysicalResourceId") },
					"Data":               func(v *document.Value) { r.members(v, "Data") },
					"Reason":             func(v *document.Value) { r.text(v, "Reason") },
				})
			}})
			if f.Answer == nil {
				r.add("required", m.KeyAt, "add \"answer: {}\", or name a folder, a binary or a URL", "the function %s does nothing", m.Key)
			}
		}
		s.Functions = append(s.Functions, f)
	}
}

func (r *reader) hooks(v *document.Value, s *Suite) {
	for _, m := range r.members(v, "hooks") {
		rule := hookRule{Type: m.Key, At: m.KeyAt}
		r.fields(m.Value, "a hook", map[string]func(*document.Value){"project": r.into(&rule.Project, "project")})
		if rule.Project == "" {
			r.add("required", m.KeyAt, "add \"project: FOLDER\"", "the hook %s has no project", m.Key)
		}
		s.Hooks = append(s.Hooks, rule)
	}
}

func (r *reader) matrix(v *document.Value) *matrix {
	out := &matrix{At: v.At}
	axes := func(to *[]axis, what string) func(*document.Value) {
		return func(v *document.Value) {
			for _, m := range r.members(v, what) {
				a := axis{Name: m.Key, At: m.KeyAt}
				if text, ok := scalar(m.Value); !ok || text != "*" {
					a.Values = r.texts(m.Value, "the values of "+m.Key)
				}
				*to = append(*to, a)
			}
		}
	}
	rows := func(to *[][]document.Member, what string) func(*document.Value) {
		return func(v *document.Value) {
			for _, item := range r.items(v, what) {
				*to = append(*to, r.members(item, "an item of "+what))
			}
		}
	}
	r.fields(v, "matrix", map[string]func(*document.Value){
		"Parameters": axes(&out.Parameters, "Parameters"), "Conditions": axes(&out.Conditions, "Conditions"),
		"include": rows(&out.Include, "include"), "exclude": rows(&out.Exclude, "exclude"),
	})
	for _, a := range out.Conditions {
		for _, value := range a.Values {
			if value != "true" && value != "false" {
				r.add("value", a.At, "", "a condition is true or false, not %q", value)
			}
		}
	}
	return out
}

func (r *reader) coverage(v *document.Value) (out []demand) {
	of := map[string]func(*document.Value){}
	for _, what := range covered {
		of[what] = func(v *document.Value) {
			n, err := strconv.Atoi(r.text(v, what))
			if err != nil || n < 0 || n > 100 {
				r.add("value", v.At, "", "%s is a percentage from 0 to 100", what)
			}
			out = append(out, demand{what, n, v.At})
		}
	}
	r.fields(v, "coverage", of)
	return out
}

func (r *reader) cases(v *document.Value, s *Suite) {
	for _, m := range r.members(v, "cases") {
		c := &Case{Name: m.Key, At: m.KeyAt}
		r.fields(m.Value, "a case", map[string]func(*document.Value){
			"skip":   r.into(&c.Skip, "skip"),
			"matrix": func(v *document.Value) { c.Matrix = r.matrix(v) },
			"steps":  func(v *document.Value) { c.Steps = r.steps(v) },
		})
		if len(c.Steps) == 0 {
			r.add("required", m.KeyAt, "add steps", "the case %q has no steps", m.Key)
		}
		s.Cases = append(s.Cases, c)
	}
}
