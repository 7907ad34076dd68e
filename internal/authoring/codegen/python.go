package codegen

import (
	_ "embed"
	"fmt"
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
	src := "src/" + pkg + "/"
	p := &project{}
	p.put(File{Path: src + "__init__.py", Mode: Once}, File{Path: "requirements.txt", Data: []byte(pythonRequirement + "\n"), Mode: Once})
	var models []byte
	if kind == "hook" {
		roots := []pythonRoot{configuration}
		if in.Schema.Root.Get("properties") != nil { // as in the official models
			roots = []pythonRoot{{schema: in.Schema, class: "HookInputModel"}, configuration}
		}
		models = pythonModels(r, pythonHookRequest, roots...)
		p.put(pythonTargets(pkg, in.Targets)...)
	} else {
		models = pythonModels(r, pythonResourceRequest, pythonRoot{schema: in.Schema, class: "ResourceModel", doc: "The properties of " + in.TypeName + "."}, configuration)
		p.put(exampleInputs(in.Schema)...)
	}
	p.put(File{Path: src + "models.py", Mode: Generated, Data: models})
	if in.Binding == nil {
		p.fillAll(f, row{"python/" + kind + ".py", src + "handlers.py", Once})
	} else if err := p.pythonAPI(in, &f); err != nil {
		return nil, err
	}
	p.fillAll(f, row{"python/gitignore", ".gitignore", Once}, row{"python/template.yml", "template.yml", Once}, row{"python/README.md", "README.md", Once})
	return p.files, p.err
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
