package codegen

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

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
	folder := "cmd/" + kind + "/"
	p := &project{}
	p.put(File{Path: folder + "model_gen.go", Data: model, Mode: Generated}, File{Path: folder + "schema_gen.json", Data: selfContained(in.Schema), Mode: Generated})
	if in.Binding == nil {
		p.fillAll(f, row{kind + ".go.tmpl", folder + kind + ".go", Once})
	} else if err := p.goAPI(in, &f); err != nil {
		return nil, err
	}
	p.fillAll(f, row{"gitignore", ".gitignore", Once}, row{"go.mod.tmpl", "go.mod", Once}, row{"Makefile", "Makefile", Once}, row{"template.yml", "template.yml", Once},
		row{"README." + kind + ".md", "README.md", Once}, row{kind + ".main.go.tmpl", "cmd/main.go", Generated}, row{"schema.go.tmpl", folder + "schema_gen.go", Generated})
	if kind == "hook" {
		targets, err := targetModels(in.Targets)
		if err != nil {
			return nil, err
		}
		p.put(targets...)
	} else {
		p.put(exampleInputs(in.Schema)...)
	}
	if in.GoMod == nil || bytes.Contains(in.GoMod, []byte("./.formwork/sdk")) {
		p.put(sdkCopy()...)
	}
	return p.files, p.err
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
