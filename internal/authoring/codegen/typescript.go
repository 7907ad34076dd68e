package codegen

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// TypeScriptRuntime is the runtime of new projects in TypeScript.
const TypeScriptRuntime = "nodejs22.x"

// The entry points of the official plug-in.
const (
	TypeScriptEntrypoint     = "dist/handlers.entrypoint"
	TypeScriptTestEntrypoint = "dist/handlers.testEntrypoint"
)

var typeScriptEntrypoint = lazyregexp.New(`^[A-Za-z0-9_/-]+(\.[A-Za-z0-9_$]+)+$`)

// prepareTypeScript has the official defaults of projects in TypeScript.
func prepareTypeScript(in *Input) error {
	if in.Schema.Kind == schema.Hook {
		return fmt.Errorf("generate sources of %s: the official library for TypeScript has no hooks; write it in Go or Python", in.TypeName)
	}
	if in.Entrypoint == "" {
		in.Entrypoint = TypeScriptEntrypoint
	}
	if in.Runtime == "" {
		in.Runtime = TypeScriptRuntime
	}
	if !typeScriptEntrypoint.MatchString(in.Entrypoint) {
		return fmt.Errorf("generate sources of %s: the entrypoint %q is not MODULE.FUNCTION; a new project has %q", in.TypeName, in.Entrypoint, TypeScriptEntrypoint)
	}
	return nil
}

// typeScriptProject writes a project for the library of the official TypeScript plug-in, with its
// files and names: https://www.npmjs.com/package/@amazon-web-services-cloudformation/cloudformation-cli-typescript-lib.
func typeScriptProject(in Input) ([]File, error) {
	f := frame{
		Marker: marker, Package: schema.Hyphenated(in.TypeName), TypeName: in.TypeName, SchemaFile: in.SchemaFile,
		Entrypoint: in.Entrypoint, TestEntrypoint: TypeScriptTestEntrypoint, Runtime: in.Runtime, Handlers: handlersOf(in.Schema),
	}
	for i := range f.Handlers {
		h := &f.Handlers[i]
		h.Action, h.Function = h.Name, strings.ToLower(h.Name)
	}
	p := &project{}
	p.put(File{Path: "src/models.ts", Mode: Generated, Data: typeScriptModels(in.Schema)})
	p.put(exampleInputs(in.Schema)...)
	if in.Binding == nil {
		p.fillAll(f, row{"typescript/handlers.ts", "src/handlers.ts", Once})
	} else if err := p.typeScriptAPI(in, &f); err != nil {
		return nil, err
	}
	for _, file := range []string{".gitignore", ".npmrc", "template.yml", "README.md", "package.json", "tsconfig.json"} {
		p.fillAll(f, row{"typescript/" + strings.TrimPrefix(file, "."), file, Once})
	}
	p.fillAll(f, row{"typescript/create.json", "sam-tests/create.json", Once})
	return p.files, p.err
}
