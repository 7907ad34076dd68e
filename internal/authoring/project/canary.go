package project

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// The folders of canaries: templates that create a resource from the inputs of contract
// tests, and then update it.
const (
	canaryInputs = "contract-tests-artifacts"
	canaryBundle = "canary-bundle"
)

// Canaries returns the canary templates of a project, in canary-bundle/. It returns none
// without canarySettings or without the folder contract-tests-artifacts.
//
// The file dependencies.yml there becomes bootstrap.yaml. Of the files that canarySettings
// names (inputs_1.json if it names none), the n-th gives canary/canary<n>_001.yaml from
// its CreateInputs, and canary<n>_002.yaml if it has PatchInputs (RFC 6902; add, remove
// and replace).
//
// In texts, {{region}}, {{partition}} and {{account}} are replaced by those of the stack,
// {{uuid}} by a unique text, and every other {{Name}} by the export of that name. The unique
// text is derived from its place, so that generating twice gives the same templates, and an
// update does not change it.
func (p *Project) Canaries() ([]codegen.File, diag.List, error) {
	settings := p.Root.Get("canarySettings")
	if settings == nil || len(settings.Members) == 0 {
		return nil, nil, nil
	}
	if info, err := os.Stat(p.Path(canaryInputs)); err != nil || !info.IsDir() {
		return nil, nil, nil
	}
	c := &canaries{project: p}
	if err := c.bootstrap(); err != nil {
		return nil, nil, err
	}
	names := []string{"inputs_1.json"}
	if listed := settings.Get("contract_test_file_names"); listed != nil {
		names = listed.Strings()
	}
	slices.Sort(names)
	count := 0
	for _, name := range slices.Compact(names) {
		if !strings.HasPrefix(name, "inputs_") || path.Base(name) != name {
			c.warn(diag.Range{File: p.Name(SettingsFile)}, fmt.Sprintf("canarySettings refers to %q, which is not a file with inputs", name), "use names such as inputs_1.json, inputs_2.json …")
			continue
		}
		data, err := document.ReadFile(p.Path(canaryInputs+"/"+name), maxDocument)
		if errors.Is(err, fs.ErrNotExist) {
			c.warn(diag.Range{File: p.Name(SettingsFile)}, fmt.Sprintf("canarySettings refers to %s, but %s does not exist", name, p.Name(canaryInputs+"/"+name)), "")
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read the inputs of a canary: %w", err)
		}
		count++
		c.inputs(name, data, count)
	}
	return c.files, c.problems, nil
}

type canaries struct {
	project  *Project
	files    []codegen.File
	problems diag.List
}

func (c *canaries) add(at diag.Range, pointer document.Pointer, message, hint string) {
	c.problems.Add(diag.Problem{ID: "project/canary", At: at, Pointer: pointer.String(), Message: message, Hint: hint})
}

func (c *canaries) warn(at diag.Range, message, hint string) {
	c.problems.Add(diag.Problem{ID: "project/canary", Severity: diag.Warning, At: at, Message: message, Hint: hint})
}

func (c *canaries) bootstrap() error {
	data, err := document.ReadFile(c.project.Path(canaryInputs+"/dependencies.yml"), maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what a canary depends on: %w", err)
	}
	c.files = append(c.files, codegen.File{Path: canaryBundle + "/bootstrap.yaml", Data: data, Mode: codegen.Generated})
	return nil
}

// inputs makes the templates of one file.
func (c *canaries) inputs(name string, data []byte, number int) {
	root, problems := document.ParseJSON(c.project.Name(canaryInputs+"/"+name), data, document.Limits{})
	c.problems = append(c.problems, problems...)
	if root == nil || problems.HasErrors() {
		return
	}
	create := root.Get("CreateInputs")
	if create == nil || create.Kind != document.Object {
		c.add(root.At, nil, "the canary inputs have no object CreateInputs", `write {"CreateInputs": {…}, "PatchInputs": […]}`)
		return
	}
	c.template(name, number, 1, create)
	patch := root.Get("PatchInputs")
	if patch == nil || patch.Kind == document.Null {
		return
	}
	if patch.Kind != document.Array {
		c.add(patch.At, document.Pointer{"PatchInputs"}, fmt.Sprintf("PatchInputs is of type %s, not a list of operations", patch.Kind), "")
		return
	}
	updated := create
	for i, operation := range patch.Items {
		next, err := applyPatch(updated, operation)
		if err != nil {
			c.add(operation.At, document.Pointer{"PatchInputs", fmt.Sprint(i)}, err.Error(), "")
			return
		}
		updated = next
	}
	c.template(name, number, 2, updated)
}

func (c *canaries) template(name string, number, step int, model *document.Value) {
	p := c.project
	w := &templateWriter{seed: p.TypeName + "\x00" + name}
	resource := p.TypeName[strings.LastIndex(p.TypeName, ":")+1:]
	root := w.mapping(
		"Description", w.text("Template for "+p.TypeName),
		"Resources", w.mapping(resource, w.mapping("Properties", w.node(model, nil), "Type", w.text(p.TypeName))),
	)
	data, err := yaml.Dump(root, yaml.WithIndent(2))
	if err != nil {
		c.add(model.At, nil, "cannot write the canary template: "+err.Error(), "")
		return
	}
	c.files = append(c.files, codegen.File{Path: fmt.Sprintf("%s/canary/canary%d_%03d.yaml", canaryBundle, number, step), Data: data, Mode: codegen.Generated})
}

// templateWriter turns a model into YAML, its keys sorted, with the marks in its texts
// replaced.
type templateWriter struct{ seed string }

// oldYAML finds texts that YAML 1.1, which CloudFormation reads, takes for something else:
// switches, numbers to the base of sixty, the default key. The library knows YAML 1.2.
var oldYAML = lazyregexp.New(`^(?i:y|yes|n|no|on|off|=|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)$`)

func (w *templateWriter) text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	if oldYAML.MatchString(s) {
		n.Style = yaml.SingleQuotedStyle
	}
	return n
}

func (w *templateWriter) mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i < len(pairs); i += 2 {
		n.Content = append(n.Content, w.text(pairs[i].(string)), pairs[i+1].(*yaml.Node))
	}
	return n
}

func (w *templateWriter) node(v *document.Value, at document.Pointer) *yaml.Node {
	switch v.Kind {
	case document.Object:
		n := w.mapping()
		sorted := slices.Clone(v.Members)
		slices.SortStableFunc(sorted, func(a, b document.Member) int { return strings.Compare(a.Key, b.Key) })
		for i, m := range sorted {
			if i+1 < len(sorted) && sorted[i+1].Key == m.Key {
				continue // of a repeated key the last one counts
			}
			n.Content = append(n.Content, w.text(m.Key), w.node(m.Value, at.Append(m.Key)))
		}
		return n
	case document.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i, item := range v.Items {
			n.Content = append(n.Content, w.node(item, at.Append(fmt.Sprint(i))))
		}
		return n
	case document.String:
		return w.substitute(v.Text, at)
	case document.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v.Bool)}
	case document.Number:
		tag := "!!int"
		if strings.ContainsAny(v.Text, ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: v.Text}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

var canaryMark = lazyregexp.New(`\{\{(.*?)\}\}`)

// stackValues are the marks for properties of the stack.
var stackValues = map[string]string{"region": "${AWS::Region}", "partition": "${AWS::Partition}", "account": "${AWS::AccountId}"}

// substitute replaces the marks in a text: by a plain text, an import of the whole value, or
// Fn::Sub for a composed text.
func (w *templateWriter) substitute(text string, at document.Pointer) *yaml.Node {
	marks := canaryMark.FindAllStringSubmatchIndex(text, -1)
	if len(marks) == 1 && marks[0][0] == 0 && marks[0][1] == len(text) {
		name := strings.TrimSpace(text[2 : len(text)-2])
		if stackValues[name] == "" && !strings.HasPrefix(name, "uuid") {
			return w.mapping("Fn::ImportValue", w.text(name))
		}
	}
	var plain, sub strings.Builder
	imports := w.mapping()
	calls, end := false, 0
	literal := func(s string) {
		plain.WriteString(s)
		sub.WriteString(strings.ReplaceAll(s, "${", "${!"))
	}
	for i, mark := range marks {
		literal(text[end:mark[0]])
		end = mark[1]
		switch name := strings.TrimSpace(text[mark[2]:mark[3]]); {
		case strings.HasPrefix(name, "uuid"):
			literal(w.unique(at, i))
		case stackValues[name] != "":
			calls = true
			sub.WriteString(stackValues[name])
		default:
			calls = true
			variable := fmt.Sprintf("Import%d", i+1)
			sub.WriteString("${" + variable + "}")
			imports.Content = append(imports.Content, w.text(variable), w.mapping("Fn::ImportValue", w.text(name)))
		}
	}
	literal(text[end:])
	switch {
	case !calls:
		return w.text(plain.String())
	case len(imports.Content) == 0:
		return w.mapping("Fn::Sub", w.text(sub.String()))
	}
	return w.mapping("Fn::Sub", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{w.text(sub.String()), imports}})
}

// unique is a UUID that follows from the type, the file and the place in it.
func (w *templateWriter) unique(at document.Pointer, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", w.seed, at, i))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8 of RFC 9562: made in its own way
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// applyPatch returns the value after one operation of a JSON Patch.
func applyPatch(v, operation *document.Value) (*document.Value, error) {
	text := func(key string) string {
		if m := operation.Get(key); m != nil && m.Kind == document.String {
			return m.Text
		}
		return ""
	}
	op := text("op")
	if op != "add" && op != "remove" && op != "replace" {
		return nil, fmt.Errorf("invalid operation %q: use add, remove or replace", op)
	}
	at, ok := document.ParsePointer(text("path"))
	if !ok || len(at) == 0 {
		return nil, fmt.Errorf("the path %q does not exist in the inputs", text("path"))
	}
	value := operation.Get("value")
	if op != "remove" && value == nil {
		return nil, fmt.Errorf("the operation %s has no value", op)
	}
	out, ok := patched(v, at, op, value)
	if !ok {
		return nil, fmt.Errorf("the path %s does not exist", at)
	}
	return out, nil
}

// patched copies the path to the place and changes it there.
func patched(v *document.Value, at document.Pointer, op string, value *document.Value) (*document.Value, bool) {
	out := *v
	switch v.Kind {
	case document.Object:
		i := slices.IndexFunc(v.Members, func(m document.Member) bool { return m.Key == at[0] })
		out.Members = slices.Clone(v.Members)
		switch {
		case i < 0 && len(at) == 1 && op == "add":
			out.Members = append(out.Members, document.Member{Key: at[0], Value: value})
		case i < 0:
			return nil, false
		case len(at) > 1:
			inner, ok := patched(v.Members[i].Value, at[1:], op, value)
			if !ok {
				return nil, false
			}
			out.Members[i].Value = inner
		case op == "remove":
			out.Members = slices.Delete(out.Members, i, i+1)
		default:
			out.Members[i].Value = value
		}
		return &out, true
	case document.Array:
		i, ok := patchIndex(at, op, len(v.Items))
		if !ok {
			return nil, false
		}
		out.Items = slices.Clone(v.Items)
		switch {
		case len(at) > 1:
			inner, ok := patched(v.Items[i], at[1:], op, value)
			if !ok {
				return nil, false
			}
			out.Items[i] = inner
		case op == "add":
			out.Items = slices.Insert(out.Items, i, value)
		case op == "remove":
			out.Items = slices.Delete(out.Items, i, i+1)
		default:
			out.Items[i] = value
		}
		return &out, true
	}
	return nil, false
}

// patchIndex reads the index of an item; where one is added, the end counts, too.
func patchIndex(at document.Pointer, op string, n int) (int, bool) {
	if len(at) == 1 && op == "add" {
		if at[0] == "-" {
			return n, true
		}
		n++
	}
	for i := range n {
		if fmt.Sprint(i) == at[0] {
			return i, true
		}
	}
	return 0, false
}

// leftoverCanaries lists the templates that were generated and are not wanted any more,
// provided that canaries are generated at all.
func leftoverCanaries(dir string, files []codegen.File) ([]string, error) {
	wanted := map[string]bool{}
	for _, f := range files {
		if strings.HasPrefix(f.Path, canaryBundle+"/") {
			wanted[f.Path] = true
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	matches, err := fs.Glob(os.DirFS(dir), canaryBundle+"/canary/canary[0-9]*_00[12].yaml")
	return slices.DeleteFunc(matches, func(name string) bool { return wanted[name] }), err
}

// generated reports whether a file was written by a generator. The canary bundle is the
// generator's as a whole, in the official tool as well.
func generated(name string, data []byte) bool {
	return strings.HasPrefix(name, canaryBundle+"/") || codegen.IsGenerated(name, data)
}
