package stacktest

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// limits bound a file: each case starts a server.
var limits = document.Limits{Bytes: 1 << 20, Depth: 64}

// maxCases bounds the cases of a file with all variants.
const maxCases = 1000

// endings are the ends of names of files of stack tests.
var endings = []string{".stacktest.yaml", ".stacktest.yml", ".stacktest.json"}

// IsFile reports whether a name is that of a file of stack tests.
func IsFile(name string) bool {
	return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// Load reads a file of tests. name is how problems call it, path where it is. The suite is nil if there are errors.
func Load(name, path string) (*Suite, diag.List, error) {
	data, err := document.ReadFile(path, int64(limits.Bytes))
	if err != nil {
		return nil, nil, err
	}
	s, problems := Read(name, data)
	if s != nil {
		s.Dir = filepath.Dir(path)
	}
	return s, problems, nil
}

// Read reads the text of a file of tests. The suite is nil if there are errors; it has no folder.
func Read(name string, data []byte) (*Suite, diag.List) {
	// Short forms of functions are allowed in expected values, as in templates.
	root, problems := template.ReadYAML(name, data, limits)
	if strings.EqualFold(filepath.Ext(name), ".json") {
		root, problems = document.ParseJSON(name, data, limits)
	}
	if problems.HasErrors() {
		return nil, problems
	}
	if root == nil {
		root = &document.Value{Kind: document.Object, At: diag.Range{File: name}}
	}
	r := &reader{problems: problems}
	if root.Get("stacktest") == nil && root.Get("Resources") != nil {
		r.add("required", root.At, "write a file that begins with \"stacktest: 1\" and has \"template: "+filepath.Base(name)+"\"", "%s is a template, not a file of stack tests", name)
		return nil, r.problems
	}
	r.conforms(root, fileForm())
	var s *Suite
	if !r.problems.HasErrors() {
		s = r.suite(root, name)
	}
	r.problems.Sort()
	if r.problems.HasErrors() {
		return nil, r.problems
	}
	return s, r.problems
}

// A reader collects the problems of a file.
type reader struct{ problems diag.List }

// scalar is the text of a value as CloudFormation compares scalars.
func scalar(v *document.Value) (string, bool) {
	if v == nil {
		return "", false
	}
	switch v.Kind {
	case document.String, document.Number:
		return v.Text, true
	case document.Bool:
		return strconv.FormatBool(v.Bool), true
	}
	return "", false
}

// textAt is the text of a member, "" without one.
func textAt(v *document.Value, name string) string {
	out, _ := scalar(v.Get(name))
	return out
}

func textsOf(v *document.Value) (out []string) {
	if v != nil {
		for _, item := range v.Items {
			one, _ := scalar(item)
			out = append(out, one)
		}
	}
	return out
}

// number is a whole number that is not negative.
func number(v *document.Value) (int, bool) {
	of, _ := scalar(v)
	n, err := strconv.Atoi(of)
	return n, err == nil && n >= 0
}

// suite makes a suite of a file that conforms to the format.
func (r *reader) suite(root *document.Value, name string) *Suite {
	s := &Suite{File: name, Account: "123456789012", Region: "us-east-1", Defaults: inputsIn(root), Given: root.Get("given").Distinct(), Matrix: matrixOf(root.Get("matrix"))}
	for key, to := range map[string]*string{"AccountId": &s.Account, "Region": &s.Region} {
		if v := root.Get("place").Get(key); v != nil {
			*to, _ = scalar(v)
		}
	}
	if v := root.Get("template"); v != nil {
		s.Templates = append(s.Templates, sourceOf("", v))
	}
	if v := root.Get("cdk"); v != nil {
		s.Templates = append(s.Templates, appOf("", v))
	}
	for _, m := range root.Get("templates").Distinct() {
		if app := m.Value.Get("cdk"); app != nil {
			s.Templates = append(s.Templates, appOf(m.Key, app))
		} else {
			s.Templates = append(s.Templates, sourceOf(m.Key, m.Value))
		}
	}
	r.types(root.Get("types"), s)
	for _, m := range root.Get("functions").Distinct() {
		of, _ := scalar(m.Value)
		s.Functions = append(s.Functions, function{Name: m.Key, Run: of, Answer: m.Value.Get("answer")})
	}
	for _, m := range root.Get("hooks").Distinct() {
		s.Hooks = append(s.Hooks, hookRule{
			Type: m.Key, At: m.KeyAt, Project: textAt(m.Value, "project"), Guard: textAt(m.Value, "guard"), Fail: textAt(m.Value, "fail"),
			Targets: textsOf(m.Value.Get("targets")), Actions: textsOf(m.Value.Get("actions")),
		})
	}
	for _, m := range root.Get("coverage").Distinct() {
		n, _ := number(m.Value)
		s.Coverage = append(s.Coverage, demand{m.Key, n, m.Value.At})
	}
	r.cases(root, s)
	switch {
	case len(s.Cases) == 0:
		r.add("required", root.At, "add steps or cases", "the file tests nothing")
	case len(s.Templates) == 0:
		r.add("required", root.At, "add \"template: FILE\"", "no template is named")
	}
	return s
}

func sourceOf(name string, v *document.Value) source {
	file, _ := scalar(v)
	return source{Name: name, File: file, At: v.At}
}

func appOf(name string, v *document.Value) source {
	return source{Name: name, CDK: textAt(v, "dir"), Stack: textAt(v, "stack"), At: v.At}
}

func inputsIn(v *document.Value) inputs {
	return inputs{Parameters: v.Get("Parameters").Distinct(), Tags: v.Get("Tags").Distinct(), Capabilities: textsOf(v.Get("Capabilities"))}
}

func (r *reader) types(v *document.Value, s *Suite) {
	for _, m := range v.Distinct() {
		rule := typeRule{
			Pattern: m.Key, At: m.KeyAt, Project: textAt(m.Value, "project"), Package: textAt(m.Value, "package"), Delegate: textAt(m.Value, "delegate"),
			Simulate: m.Value.Get("simulate") != nil, Attributes: m.Value.Get("simulate").Get("attributes").Distinct(),
		}
		if (rule.Project != "" || rule.Package != "") && strings.Contains(rule.Pattern, "*") {
			r.add("value", m.KeyAt, "", "%s is a pattern, but a project or a package is one type", m.Key)
		}
		s.Types = append(s.Types, rule)
	}
}

func matrixOf(v *document.Value) *matrix {
	if v == nil {
		return nil
	}
	axes := func(name string) (out []axis) {
		for _, m := range v.Get(name).Distinct() {
			out = append(out, axis{Name: m.Key, At: m.KeyAt, Values: textsOf(m.Value)})
		}
		return out
	}
	rows := func(name string) (out [][]document.Member) {
		if list := v.Get(name); list != nil {
			for _, item := range list.Items {
				out = append(out, item.Distinct())
			}
		}
		return out
	}
	return &matrix{At: v.At, Parameters: axes("Parameters"), Conditions: axes("Conditions"), Include: rows("include"), Exclude: rows("exclude")}
}

func (r *reader) cases(root *document.Value, s *Suite) {
	for _, m := range root.Get("cases").Distinct() {
		c := &Case{Name: m.Key, At: m.KeyAt, Skip: textAt(m.Value, "skip"), Matrix: matrixOf(m.Value.Get("matrix")), Steps: r.steps(m.Value.Get("steps"))}
		if len(c.Steps) == 0 {
			r.add("required", m.KeyAt, "add steps", "the case %q has no steps", m.Key)
		}
		s.Cases = append(s.Cases, c)
	}
	v := root.Get("steps")
	if v == nil {
		return
	}
	if len(s.Cases) > 0 {
		r.add("value", v.At, "move the steps into a case", "a file has either cases or steps")
	}
	if steps := r.steps(v); len(steps) > 0 {
		s.Cases = append(s.Cases, &Case{At: v.At, Steps: steps})
	}
}

// steps reads the steps of a case. Those that only prepare the next one become a part of it.
func (r *reader) steps(v *document.Value) (out []*Step) {
	before := &Step{}
	var last *document.Value
	for _, item := range v.Items {
		step := &Step{Name: textAt(item, "name"), At: item.At, Fail: faultOf(item.Get("fail")), Delay: map[string]time.Duration{}, Kill: before.Kill, KillAt: before.KillAt, Signals: before.Signals}
		for _, m := range item.Get("delay").Distinct() {
			step.Delay[m.Key] = durationOf(m.Value)
		}
		step.Expect = item.Get("expect").Distinct()
		for _, m := range item.Distinct() {
			if a := actionNamed(m.Key); a != nil {
				step.Action, step.At = m.Key, m.Value.At
				a.read(m.Value, step)
			}
		}
		if actionNamed(step.Action).act == nil {
			before, last = step, item
			continue
		}
		before, last = &Step{}, nil
		out = append(out, step)
	}
	if last != nil {
		r.add("value", before.At, "put it before the step that it is about", "%s is the last step", before.Action)
	}
	return out
}

func faultOf(v *document.Value) *fault {
	if v == nil {
		return nil
	}
	f := &fault{Position: v.At, At: textAt(v, "at"), Action: textAt(v, "action"), After: textAt(v, "when") == "after", Code: "GeneralServiceException", Message: "the test has the call fail"}
	for key, to := range map[string]*string{"code": &f.Code, "message": &f.Message} {
		if given := v.Get(key); given != nil {
			*to, _ = scalar(given)
		}
	}
	f.Times, _ = number(v.Get("times"))
	return f
}

func durationOf(v *document.Value) time.Duration {
	of, _ := scalar(v)
	d, err := time.ParseDuration(of)
	if err != nil {
		return 0
	}
	return d
}
