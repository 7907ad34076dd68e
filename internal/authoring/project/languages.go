package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// A language is what this package knows about projects with handlers in one language. What
// belongs to a single language is in files named after it; to add one, add a row to [languages] and
// to the tables of internal/authoring/codegen and internal/cli.
type language struct {
	names   []string // in the settings, with a plug-in of the official tool
	retired []string // names that the plug-in had

	// start sets runtime and entry points of a new project, or refuses it. Nil means that [Init]
	// cannot start projects in the language.
	start func(p *Project) error

	// current is the runtime to change to from a retired one.
	current string

	// options are the language's settings of a new project.
	options func(config InitConfig) object

	// authored are the author's files that [Init] writes.
	authored func(p *Project) []string

	// pack adds the handlers and their sources to an archive. Nil means that they cannot be packed.
	pack func(p *Project, a *archiver, config ArchiveConfig) error
}

// languages is a function because the rows refer to functions that refer to it.
func languages() []language {
	return []language{
		{
			names: []string{"go"}, current: "provided.al2023, with the entrypoint bootstrap", start: startGo, options: goOptions, pack: (*Project).packGo,
			authored: func(*Project) []string {
				return []string{"cmd/resource/resource.go", "cmd/hook/hook.go", "go.mod", "Makefile"}
			},
		},
		{names: []string{"java"}, current: "java21", start: startJava, options: javaOptions, authored: authoredJava, pack: (*Project).packJava},
		{
			names:   []string{"python38", "python39", "python310", "python311", "python312", "python313"},
			retired: []string{"python36", "python37"},
			current: "python3.13", start: startPython, options: pythonOptions, authored: authoredPython, pack: (*Project).packPython,
		},
		{
			names: []string{"typescript"}, start: startTypeScript, options: pythonOptions, pack: (*Project).packTypeScript,
			authored: func(*Project) []string {
				return []string{"src/handlers.ts", "package.json", "tsconfig.json", ".npmrc", "sam-tests/create.json"}
			},
		},
	}
}

// languageOf finds the row of a language in the settings.
func languageOf(name string) (language, bool) {
	for _, l := range languages() {
		if slices.Contains(l.names, name) || slices.Contains(l.retired, name) {
			return l, true
		}
	}
	return language{}, false
}

// currentRuntime is the runtime that projects in a language change to from a retired one.
func currentRuntime(name string) string {
	l, _ := languageOf(name)
	return cmp.Or(l.current, "a current runtime")
}

// Languages are those of the official tool's plug-ins.
func Languages() []string {
	var names []string
	for _, l := range languages() {
		names = append(names, l.names...)
	}
	return names
}

// Choices are all languages in the order in which the official tool numbers them, with what it does not have after them.
func Choices() []string {
	official := slices.DeleteFunc(Languages(), func(name string) bool { return name == unofficial })
	slices.Sort(official)
	return append(official, unofficial)
}

// unofficial is the language that the official tool has no plug-in for.
const unofficial = "python313"

// Newest is the language that a name means for new projects: python is the newest of Python. Other names mean themselves.
func Newest(name string) string {
	if name == "python" {
		return unofficial
	}
	return name
}

// KnownLanguage reports whether there is, or once was, a plug-in of the official tool for
// handlers in a language.
func KnownLanguage(name string) bool {
	_, ok := languageOf(name)
	return ok
}

// CanStart reports whether [Init] starts projects in a language.
func CanStart(name string) bool {
	l, ok := languageOf(name)
	return ok && l.start != nil
}

// UnknownLanguageError is the error of commands that depend on the language of the
// handlers for one that no plug-in of the official tool is for.
type UnknownLanguageError struct{ Language string }

func (e *UnknownLanguageError) Error() string {
	return fmt.Sprintf("the language of the project, %q, is not one that is known: those are %s", e.Language, strings.Join(Languages(), ", "))
}

// startLanguage sets what the language of a new project decides.
func (p *Project) startLanguage() error {
	l, ok := languageOf(p.Language)
	if !ok {
		return &UnknownLanguageError{p.Language}
	}
	if l.start == nil {
		return fmt.Errorf("start the project: cfn cannot start projects in %s yet", p.Language)
	}
	return l.start(p)
}

// packHandlers adds the built handlers and their sources.
func (p *Project) packHandlers(a *archiver, config ArchiveConfig) error {
	l, ok := languageOf(p.Language)
	if !ok || l.pack == nil {
		return &UnsupportedLanguageError{p.Language}
	}
	return l.pack(p, a, config)
}

// startGo has the runtime and the entry point of programs.
func startGo(p *Project) error {
	p.Runtime, p.Entrypoint, p.TestEntrypoint = "provided.al2023", "bootstrap", "bootstrap"
	return nil
}

func goOptions(config InitConfig) object {
	out := object{{"import_path", config.ImportPath}}
	if config.CustomProgram != "" {
		out = append(out, pair{customOption, config.CustomProgram})
	}
	if config.CustomTags != "" {
		out = append(out, pair{customTags, config.CustomTags})
	}
	return out
}

// CustomFolder is the folder with the code of a custom resource in a project in Go: a module with a program that is built and
// packed beside the handlers. The handlers start it for each request, as Lambda does: what its packages do when it starts, and
// what main sets up for the handler, is as it was. The setting custom_resource names its package, custom_resource_tags its build tags.
const (
	CustomFolder = "custom"
	customOption = "custom_resource"
	customTags   = "custom_resource_tags"
)

// CustomTags are the build tags of the program in [CustomFolder], with commas between them.
func (p *Project) CustomTags() string { return p.Option(customTags) }

// CustomProgram is the package of the program in [CustomFolder], as the go command takes it, "" without one.
func (p *Project) CustomProgram() string {
	name := p.Option(customOption)
	switch {
	case !fs.ValidPath(name): // it is not an option of the go command either
		return ""
	case name == ".":
		return name
	}
	return "./" + name
}

// packGo adds the program and the sources of handlers in Go.
func (p *Project) packGo(a *archiver, _ ArchiveConfig) error {
	inner := newArchiver(a.ctx, p.Dir)
	if err := p.CheckBuilt(); err != nil {
		return err
	}
	if err := inner.flat("bin", 0o755); err != nil {
		return err
	}
	data, err := inner.finish()
	if err != nil {
		return err
	}
	a.add("handler.zip", data, 0o644)
	err = a.file("Makefile", "Makefile", 0o644)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sources := []string{"cmd", "internal"}
	if p.CustomProgram() != "" {
		sources = append(sources, CustomFolder)
	}
	for _, dir := range sources {
		if err := a.folder(dir, true); err != nil {
			return err
		}
	}
	return nil
}
