package codegen

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"path"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

//go:embed templates
var templates embed.FS

// A frame is what the templates of a project know.
type frame struct {
	Marker     string
	Package    string
	TypeName   string
	SchemaFile string
	ImportPath string
	Entrypoint string
	Runtime    string

	TestEntrypoint string // of Python
	SDKVersion     string
	Released       bool
	Handlers       []frameHandler
	Tags           string    // build tags, with a comma behind each
	API            *frameAPI // nil unless handlers call an API
}

type frameHandler struct {
	Name string // of the function: Create, PreCreate
	Done string // of a hook: what happens to the target

	Action, Function string // of Python: the constant of the library, and the name of the function
	Targets          string
}

// BuildFlags are the flags of "go build" for handlers, in the generated Makefile and in
// cfn alike: with the same flags, Go finds what it has compiled before.
func BuildFlags() []string {
	return []string{"-trimpath", "-ldflags=-s -w", "-tags=lambda.norpc"}
}

// goProject writes a project for the SDK of this repository.
func goProject(in Input) ([]File, error) {
	kind := "resource"
	if in.Schema.Kind == schema.Hook {
		kind = "hook"
	}
	f := frame{
		Marker: marker, Package: kind, TypeName: in.TypeName, SchemaFile: in.SchemaFile, ImportPath: in.ImportPath,
		Entrypoint: in.Entrypoint, Runtime: in.Runtime, Handlers: handlersOf(in.Schema),
	}
	f.SDKVersion, f.Released = released(in.Version)
	model, err := goModel(kind, in.TypeName, in.Schema)
	if err != nil {
		return nil, err
	}
	if in.Binding != nil {
		b, err := readBinding(in)
		if err != nil {
			return nil, err
		}
		f.API = b.frame(in.Schema, goStrings)
	}
	files := []File{
		{Path: "cmd/" + kind + "/model_gen.go", Data: model, Mode: Generated},
		{Path: "cmd/" + kind + "/schema_gen.json", Data: selfContained(in.Schema), Mode: Generated},
	}
	for _, row := range []struct {
		template, path string
		mode           Mode
	}{
		{"gitignore", ".gitignore", Once},
		{"go.mod.tmpl", "go.mod", Once},
		{"Makefile", "Makefile", Once},
		{"template.yml", "template.yml", Once},
		{"README." + kind + ".md", "README.md", Once},
		{kind + ".go.tmpl", "cmd/" + kind + "/" + kind + ".go", Once},
		{kind + ".main.go.tmpl", "cmd/main.go", Generated},
		{"schema.go.tmpl", "cmd/" + kind + "/schema_gen.go", Generated},
	} {
		if row.template == "resource.go.tmpl" && in.Binding != nil {
			continue
		}
		data, err := render(row.template, f)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: row.path, Data: data, Mode: row.mode})
	}
	if in.Binding != nil {
		calls, err := goAPI(in, f)
		if err != nil {
			return nil, err
		}
		files = append(files, calls...)
	}
	if kind == "hook" {
		targets, err := targetModels(in.Targets)
		if err != nil {
			return nil, err
		}
		files = append(files, targets...)
	} else {
		files = append(files, exampleInputs(in.Schema)...)
	}
	if in.GoMod == nil || bytes.Contains(in.GoMod, []byte("./.formwork/sdk")) {
		files = append(files, sdkCopy()...)
	}
	return files, nil
}

// handlersOf lists the functions that a schema declares, in the order of the operations.
func handlersOf(s *schema.Schema) []frameHandler {
	actions := []struct{ action, done string }{
		{"create", ""}, {"read", ""}, {"update", ""}, {"delete", ""}, {"list", ""},
		{"preCreate", "created"}, {"preUpdate", "updated"}, {"preDelete", "deleted"},
	}
	var out []frameHandler
	for _, row := range actions {
		if h := s.Handler(row.action); h != nil {
			out = append(out, frameHandler{
				Name: strings.ToUpper(row.action[:1]) + row.action[1:],
				Done: row.done, Targets: strings.Join(strings.Fields(clean(strings.Join(h.TargetNames, ", "))), " "),
			})
		}
	}
	return out
}

// render fills in a template; Go sources come out as gofmt writes them.
func render(name string, f any) ([]byte, error) {
	text, err := templates.ReadFile("templates/" + name)
	if err != nil {
		return nil, fmt.Errorf("generate %s: %w", name, err)
	}
	out, err := Fill(name, string(text), f)
	if err != nil {
		return nil, fmt.Errorf("generate %s: %w", name, err)
	}
	if !strings.HasSuffix(name, ".go.tmpl") {
		return out, nil
	}
	source, err := format.Source(out)
	if err != nil {
		return nil, fmt.Errorf("generate %s: %w", name, err)
	}
	return source, nil
}

var releasedVersion = lazyregexp.New(`^v?([0-9]+\.[0-9]+\.[0-9]+)$`)

// released is the version of the SDK that belongs to a version of the program, and
// whether the module proxy has it.
func released(version string) (string, bool) {
	if m := releasedVersion.FindStringSubmatch(version); m != nil && m[1] != "0.0.0" {
		return "v" + m[1], true
	}
	return "v0.0.0", false
}

// targetModels writes one package for each target type, named after it: the models of
// several types would get into each other's way.
func targetModels(targets []*schema.Schema) ([]File, error) {
	var files []File
	for _, s := range targets {
		if s.Kind != schema.Resource {
			continue
		}
		pkg := strings.ReplaceAll(schema.Hyphenated(s.TypeName.Value), "-", "")
		if pkg == "" || pkg[0] >= '0' && pkg[0] <= '9' {
			pkg = "type" + pkg
		}
		model, err := goModel(pkg, s.TypeName.Value, s)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: path.Join("cmd/hook/targets", pkg, "model_gen.go"), Data: model, Mode: Generated})
	}
	return files, nil
}

// exampleInputs are the first files that an author fills in for the contract tests. The values
// are placeholders of the right types.
func exampleInputs(s *schema.Schema) []File {
	r := newReader(s)
	root := r.readModel(s).root
	create := &document.Value{Kind: document.Object}
	invalid := &document.Value{Kind: document.Object}
	for _, p := range root.props {
		value := r.example(p.schemas, 0)
		if len(p.paths.readOnly) == 0 {
			create.Members = append(create.Members, document.Member{Key: p.name, Value: value})
		} else {
			invalid.Members = append(invalid.Members, document.Member{Key: p.name, Value: value})
		}
	}
	if len(invalid.Members) == 0 {
		invalid = create
	}
	var files []File
	for _, row := range []struct {
		name  string
		value *document.Value
	}{{"create", create}, {"update", create}, {"invalid", invalid}} {
		files = append(files, File{Path: "example_inputs/inputs_1_" + row.name + ".json", Data: row.value.Indented("    "), Mode: Refreshed})
	}
	return files
}

// maxExamples is the number of values in all examples: types that require themselves several times have no end.
const maxExamples = 2000

// example is a value of the type in the schemas; objects have only required properties.
func (r *reader) example(schemas []*document.Value, depth int) *document.Value {
	r.examples++
	forms := r.all(schemas).forms
	if len(forms) == 0 || depth > 8 || r.examples > maxExamples {
		return document.NewString("...")
	}
	f := forms[0]
	if len(f.enum) > 0 {
		return f.enum[0]
	}
	switch f.kind {
	case kBool:
		return &document.Value{Kind: document.Bool, Bool: true}
	case kInt, kNum:
		for _, node := range schemas {
			target, _ := r.resolve(node)
			if least := target.Get("minimum"); least != nil && least.Kind == document.Number {
				return least
			}
		}
		return &document.Value{Kind: document.Number, Text: "1"}
	case kList:
		out := &document.Value{Kind: document.Array}
		if len(f.items) > 0 {
			out.Items = append(out.Items, r.example(f.items, depth+1))
		}
		return out
	case kMap:
		return &document.Value{Kind: document.Object}
	case kStruct:
		out := &document.Value{Kind: document.Object}
		for _, p := range f.object.props {
			if f.object.required[p.name] {
				out.Members = append(out.Members, document.Member{Key: p.name, Value: r.example(p.schemas, depth+1)})
			}
		}
		return out
	}
	return document.NewString("...")
}

// Example returns the first files of a new project: the example schema of a resource or a
// hook, or the example fragment of a module.
func Example(kind schema.Kind, typeName string) ([]File, error) {
	name, ok := map[schema.Kind]string{
		schema.Resource: schema.Hyphenated(typeName) + ".json", schema.Hook: schema.Hyphenated(typeName) + ".json", schema.Module: "fragments/sample.json",
	}[kind]
	if !ok {
		return nil, fmt.Errorf("write an example: unknown kind %q", kind)
	}
	data, err := render("example."+strings.ToLower(string(kind))+".json", frame{TypeName: typeName})
	if err != nil {
		return nil, err
	}
	return []File{{Path: name, Data: data, Mode: Once}}, nil
}
