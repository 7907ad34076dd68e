package codegen

import (
	"fmt"
	"strings"
)

// A language is what this package knows about handlers in one language.
//
// To add one: write its functions to files named after it (python.go, pythonmodel.go, pythonapi.go), its
// templates to templates/python/, and a row below. The tables of internal/authoring/project and internal/cli
// have the rest; see docs/decisions/0019-languages-are-tables.md.
type language struct {
	// prefix of the names in the settings: "python" stands for python39, python312 and so on.
	prefix string

	// prepare sets defaults and refuses an input that the sources cannot be written for.
	prepare func(in *Input) error

	// sources are the files of a project besides the role and the documentation.
	sources func(in Input) ([]File, error)

	// binding is the file with the binding of an API, if handlers that call one can be generated.
	binding func(in Input) string

	// folders contain nothing but generated files, or are files that only some projects have: what no longer
	// belongs to the project is removed.
	folders []string
}

// languages is a function because generators refer to it.
func languages() []language {
	return []language{
		{prefix: "go", prepare: prepareGo, sources: goSources, binding: goBinding, folders: []string{"cmd/hook/targets", "cmd/resource/client_tags.go", "cmd/resource/client_xml.go"}},
		{prefix: "java", prepare: prepareJava, sources: javaProject, binding: javaBinding, folders: []string{javaGenerated, "target/loaded-target-schemas"}},
		{prefix: "python", prepare: preparePython, sources: pythonProject, binding: pythonBinding, folders: []string{"src/*/target_models", "src/*/wire_xml.py"}},
		{prefix: "typescript", prepare: prepareTypeScript, sources: typeScriptProject, binding: typeScriptBinding, folders: []string{"src/xml.ts"}},
	}
}

// languageOf finds the row of a language in the settings; ok is false without a generator.
func languageOf(name string) (found language, ok bool) {
	for _, l := range languages() {
		if strings.TrimRight(name, "0123456789") == l.prefix {
			return l, true
		}
	}
	return language{}, false
}

// CanGenerate reports whether sources can be generated for a language of the settings.
func CanGenerate(name string) bool {
	_, ok := languageOf(name)
	return ok
}

// BindingFile is the path of the binding of an API in a project, "" if handlers that call one cannot
// be generated in its language. Handlers of a project that has the file call the API.
func BindingFile(in Input) string {
	if l, ok := languageOf(in.Language); ok && l.binding != nil && in.Flavour != FlavourGoPlugin {
		return l.binding(in)
	}
	return ""
}

// GeneratedFolders are the folders of projects that contain generated sources only, and single such files.
func GeneratedFolders() (folders []string) {
	for _, l := range languages() {
		folders = append(folders, l.folders...)
	}
	return folders
}

// prepareGo has the official defaults of projects in Go.
func prepareGo(in *Input) error {
	if in.Entrypoint == "" {
		in.Entrypoint = "bootstrap"
	}
	if in.Runtime == "" {
		in.Runtime = "provided.al2023"
	}
	in.ImportPath = strings.TrimRight(in.ImportPath, "/") // as some settings have it
	if !importPathPattern.MatchString(in.ImportPath) {
		return fmt.Errorf("generate sources of %s: %q is not a Go import path; set import_path in the settings, for example to example.com/my/module", in.TypeName, in.ImportPath)
	}
	if !entrypointPattern.MatchString(in.Entrypoint) {
		return fmt.Errorf("generate sources of %s: the entrypoint %q is not a file name; Go projects have \"bootstrap\"", in.TypeName, in.Entrypoint)
	}
	return nil
}

// goSources are the sources for the library that the handlers are written for.
func goSources(in Input) ([]File, error) {
	if in.Flavour == FlavourGoPlugin {
		return goPluginProject(in)
	}
	return goProject(in)
}
