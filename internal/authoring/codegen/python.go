package codegen

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// pythonHeader begins every module of models.
//
//go:embed templates/python/models.py
var pythonHeader string

// What the classes of requests look like in models.py.
const (
	pythonResourceRequest = `

@_dataclass
class ResourceHandlerRequest(_interface.BaseResourceHandlerRequest):
    """The request that a handler gets."""

    desiredResourceState: _typing.Optional["_ResourceModel"]
    previousResourceState: _typing.Optional["_ResourceModel"]
    typeConfiguration: _typing.Optional["_TypeConfigurationModel"]
`
	pythonHookRequest = `

@_dataclass
class HookHandlerRequest(_interface.BaseHookHandlerRequest):
    """The request that a handler gets."""
`
)

// PythonPackage is the name of the package with the handlers of a type in Python.
func PythonPackage(typeName string) string {
	return strings.ToLower(strings.ReplaceAll(typeName, "::", "_"))
}

// pythonProject writes a project for the library of the official Python plug-in, with its files and
// names: https://pypi.org/project/cloudformation-cli-python-lib.
func pythonProject(in Input) ([]File, error) {
	kind := "resource"
	if in.Schema.Kind == schema.Hook {
		kind = "hook"
	}
	pkg := PythonPackage(in.TypeName)
	f := frame{
		Marker: marker, Package: pkg, TypeName: in.TypeName, SchemaFile: in.SchemaFile,
		Entrypoint: in.Entrypoint, TestEntrypoint: pkg + ".handlers.test_entrypoint", Runtime: in.Runtime, Handlers: handlersOf(in.Schema),
	}
	for i := range f.Handlers {
		h := &f.Handlers[i]
		h.Action = strings.ToUpper(h.Name)
		h.Function = h.Action
		if operation, pre := strings.CutPrefix(h.Name, "Pre"); pre {
			h.Action, h.Function = strings.ToUpper(operation)+"_PRE_PROVISION", "PRE_"+strings.ToUpper(operation)
		}
		h.Function = strings.ToLower(h.Function) + "_handler"
	}
	r := newReader(in.Schema)
	configuration := pythonRoot{schema: in.Schema.TypeConfiguration, class: "TypeConfigurationModel", doc: "What is set once for " + in.TypeName + " in an account and region."}
	files := []File{
		{Path: "src/" + pkg + "/__init__.py", Mode: Once},
		{Path: "requirements.txt", Data: []byte(pythonRequirement + "\n"), Mode: Once},
	}
	if kind == "hook" {
		roots := []pythonRoot{configuration}
		if in.Schema.Root.Get("properties") != nil { // as in the official models
			roots = []pythonRoot{{schema: in.Schema, class: "HookInputModel"}, configuration}
		}
		files = append(files, File{Path: "src/" + pkg + "/models.py", Mode: Generated, Data: pythonModels(r, pythonHookRequest, roots...)})
		files = append(files, pythonTargets(pkg, in.Targets)...)
	} else {
		files = append(files, File{Path: "src/" + pkg + "/models.py", Mode: Generated,
			Data: pythonModels(r, pythonResourceRequest, pythonRoot{schema: in.Schema, class: "ResourceModel", doc: "The properties of " + in.TypeName + "."}, configuration)})
		files = append(files, exampleInputs(in.Schema)...)
	}
	handlers := kind + ".py"
	if in.Binding != nil {
		calls, err := pythonAPI(in, &f)
		if err != nil {
			return nil, err
		}
		files, handlers = append(files, calls...), "api.handlers.py"
	}
	for _, row := range []struct{ template, path string }{
		{"gitignore", ".gitignore"}, {"template.yml", "template.yml"}, {"README.md", "README.md"}, {handlers, "src/" + pkg + "/handlers.py"},
	} {
		data, err := render("python/"+row.template, f)
		if err != nil {
			return nil, err
		}
		mode := Once
		if row.template == "api.handlers.py" {
			mode = Refreshed
		}
		files = append(files, File{Path: row.path, Data: data, Mode: mode})
	}
	return files, nil
}

// pythonBinding is where the binding is in a project in Python.
func pythonBinding(in Input) string { return "src/" + PythonPackage(in.TypeName) + "/api.json" }

// pythonAPI are the files of a project that calls an API, besides its handlers.
func pythonAPI(in Input, f *frame) ([]File, error) {
	b, err := readBinding(in)
	if err != nil {
		return nil, err
	}
	f.API = b.frame(in.Schema, pythonStrings)
	files := []File{{Path: pythonBinding(in), Data: in.Binding, Mode: Generated}}
	modules := []string{"client", "wire"}
	if f.API.XML {
		modules = append(modules, "wire_xml")
	}
	for _, module := range modules {
		data, err := render("python/api."+module+".py", *f)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: "src/" + f.Package + "/" + module + ".py", Data: data, Mode: Generated})
	}
	return files, nil
}

// pythonStrings are the items of a list at the top of a module, on lines of their own if one line is too long.
func pythonStrings(texts []string) string {
	quoted := mapped(texts, strconv.Quote)
	if line := strings.Join(quoted, ", "); len(line) <= 60 {
		return line
	}
	return "\n    " + strings.Join(quoted, ",\n    ") + ",\n"
}

// pythonRequirement is the library of the official plug-in, from the version on whose hooks have
// all that models.py needs.
const pythonRequirement = "cloudformation-cli-python-lib>=2.1.9"

// pythonTargets writes the models of the resource types that a hook evaluates.
func pythonTargets(pkg string, targets []*schema.Schema) []File {
	folder := "src/" + pkg + "/target_models/"
	files := []File{}
	for _, target := range targets {
		typeName := target.TypeName.Value
		var class strings.Builder
		for _, part := range strings.Split(typeName, "::") {
			class.WriteString(strings.ToUpper(part[:1]) + strings.ToLower(part[1:]))
		}
		files = append(files, File{Path: folder + PythonPackage(typeName) + ".py", Mode: Generated, Data: pythonModels(newReader(target), "",
			pythonRoot{schema: target, class: class.String(), doc: "The properties of " + typeName + ".", raw: []string{"Tags"}})})
	}
	return files
}

var pythonEntrypoint = lazyregexp.New(`^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+$`)

// preparePython has the official defaults of projects in Python.
func preparePython(in *Input) error {
	pkg := PythonPackage(in.TypeName)
	if in.Entrypoint == "" {
		in.Entrypoint = pkg + ".handlers." + strings.ToLower(string(in.Schema.Kind))
	}
	if in.Runtime == "" {
		in.Runtime = PythonRuntime(in.Language)
	}
	if !pythonEntrypoint.MatchString(in.Entrypoint) {
		return fmt.Errorf("generate sources of %s: the entrypoint %q is not MODULE.FUNCTION; a new project has %q", in.TypeName, in.Entrypoint, pkg+".handlers.resource")
	}
	return nil
}

// PythonRuntime is the runtime of Lambda for a language of the settings: "python3.12" for "python312".
func PythonRuntime(language string) string {
	return strings.Replace(language, "python3", "python3.", 1)
}
