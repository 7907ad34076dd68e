package project

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// bucketSchema is the target that the example hook starts with, so that a new project is
// whole without a network.
//
//go:embed example/aws-s3-bucket.json
var bucketSchema []byte

// InitConfig describes a new project.
type InitConfig struct {
	Kind     schema.Kind
	TypeName string // valid for the kind

	// Language is that of the handlers, "go" if it is empty; modules have none.
	Language string

	// ImportPath is the path of the module of a project in Go.
	ImportPath string

	// CustomProgram is the package in the folder custom of a project in Go that is the code of a custom resource, and CustomTags are
	// its build tags; see [CustomFolder].
	CustomProgram, CustomTags string

	// Namespace is the package of a project in Java; empty is the official default.
	Namespace string

	// UseDocker is written to the settings of a project in Python or TypeScript, for the official tool.
	UseDocker bool

	// Version is that of this program; see codegen.Input.
	Version string

	// Schema is the schema of the resource type that the project starts with; its
	// typeName is TypeName. nil means an example.
	Schema []byte

	// Binding says how the handlers call the API that the schema is made from; see codegen.Input.
	Binding []byte

	// More are further files of the project.
	More []codegen.File

	// Adapt changes the generated files of the project; nil leaves them.
	Adapt func(files []codegen.File) ([]codegen.File, error)

	// TargetSchemas are files and folders, absolute, with schemas of a hook's targets.
	// The files are copied into the project, and of the folders what its handlers name.
	TargetSchemas []string

	// Overwrite replaces every existing file. Otherwise existing files are kept, including a
	// schema, from which the code is then generated.
	Overwrite bool
}

// Init writes a new project in a language that [CanStart], or a new module, into dir, which exists.
// label is what messages call it. Everything is written or nothing is, .rpdk-config last.
//
// Existing settings that Init does not know are kept. The list contains the problems of an
// existing schema, or of the targets; with errors in it nothing is written. Errors are those
// of [Write] and of [codegen.Generate].
func Init(ctx context.Context, dir, label string, config InitConfig) ([]Status, diag.List, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("start the project: %w", err)
	}
	p := &Project{Dir: dir, Label: label, Settings: Settings{Kind: config.Kind, TypeName: config.TypeName}, namespace: config.Namespace}
	if p.Kind != schema.Module {
		p.Language = cmp.Or(config.Language, "go")
		if err := p.startLanguage(); err != nil {
			return nil, nil, err
		}
	}
	settings, err := p.newSettings(config)
	if err != nil {
		return nil, nil, err
	}
	files, err := codegen.Example(p.Kind, p.TypeName)
	if err != nil {
		return nil, nil, fmt.Errorf("start the project: %w", err)
	}
	if config.Schema != nil {
		files[0].Data = config.Schema
	}
	var problems diag.List
	if p.Kind != schema.Module {
		var more []codegen.File
		more, problems, err = p.newSources(files[0], config)
		if err != nil || problems.HasErrors() {
			return nil, problems, err
		}
		files = append(files, more...)
	}
	if config.Adapt != nil {
		if files, err = config.Adapt(files); err != nil {
			return nil, problems, fmt.Errorf("start the project: %w", err)
		}
	}
	files = append(files, config.More...)
	files = append(files, codegen.File{Path: SettingsFile, Data: settings, Mode: codegen.Once})
	purpose := Start
	if config.Overwrite {
		purpose = Overwrite
	}
	statuses, err := Write(ctx, dir, files, purpose)
	return statuses, problems, err
}

// Authored lists those files of the project that are the author's and that [Init] replaces
// with Overwrite if the kind and name of the type do not change.
func (p *Project) Authored() []string {
	names := []string{p.SchemaFile()}
	if l, ok := languageOf(p.Language); ok && l.authored != nil {
		names = append(names, l.authored(p)...)
	}
	names = append(names, "template.yml", "README.md", ".gitignore", exampleCreate, exampleUpdate, exampleWrong)
	if p.Kind == schema.Module {
		names = []string{FragmentsDir + "/sample.json"}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Lstat(p.Path(name))
		return err != nil || info.IsDir()
	})
}

// newSources generates the files for the schema: the existing one, or the example.
func (p *Project) newSources(example codegen.File, config InitConfig) ([]codegen.File, diag.List, error) {
	text := example.Data
	if !config.Overwrite {
		data, err := document.ReadFile(p.Path(example.Path), maxDocument)
		if err == nil {
			text = data
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("read the schema: %w", err)
		}
	}
	s, problems := schema.Load(p.Name(example.Path), text, schema.Config{Kind: p.Kind})
	if problems.HasErrors() {
		return nil, problems, nil
	}
	in := codegen.Input{
		Schema: s, TypeName: p.TypeName, SchemaFile: p.SchemaFile(), Language: p.Language,
		ImportPath: config.ImportPath, Namespace: config.Namespace, Entrypoint: p.Entrypoint, Runtime: p.Runtime, Version: config.Version, Binding: config.Binding,
	}
	var files []codegen.File
	if p.Kind == schema.Hook {
		known, chosen, err := p.newTargets(config.TargetSchemas)
		if err != nil {
			return nil, problems, err
		}
		if len(config.TargetSchemas) == 0 {
			addTarget(known, TargetsDir+"/aws-s3-bucket.json", bucketSchema)
		}
		more, err := p.readTargets(known, config.TargetSchemas)
		if err != nil || more.HasErrors() {
			return nil, append(problems, more...), err
		}
		targets, _ := named(s, known)
		in.Targets = TargetSchemas(targets)
		for _, target := range targets {
			chosen[target.Name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(chosen)) {
			if t := known[name]; t.Schema != nil {
				files = append(files, codegen.File{Path: TargetsDir + "/" + schema.Hyphenated(name) + ".json", Data: encode(t.Schema.Root), Mode: codegen.Once})
			}
		}
	}
	generated, err := codegen.Generate(in)
	if err != nil {
		return nil, problems, fmt.Errorf("generate: %w", err)
	}
	if generated, _, err = p.Refresh(s, generated); err != nil {
		return nil, problems, err
	}
	return append(generated, files...), problems, nil
}

// newTargets returns the given places that are files: a named file is always copied to the
// project, but from a folder only what the hook's handlers name. chosen are the names of the
// types.
func (p *Project) newTargets(places []string) (known map[string]*Target, chosen map[string]bool, err error) {
	known, chosen = map[string]*Target{}, map[string]bool{}
	for _, place := range places {
		info, err := os.Stat(place)
		if err != nil || info.IsDir() {
			continue // readTargets reports the problem
		}
		data, err := document.ReadFile(place, maxDocument)
		if err != nil {
			return nil, nil, fmt.Errorf("read the hook's targets: %w", err)
		}
		one := map[string]*Target{}
		_ = addTarget(one, place, data) // likewise
		for name := range one {
			chosen[name] = true
		}
	}
	return known, chosen, nil
}

// newSettings is the text of .rpdk-config, with what was in it and is not ours to set.
func (p *Project) newSettings(config InitConfig) ([]byte, error) {
	var old *document.Value
	data, err := document.ReadFile(p.Path(SettingsFile), 1<<20)
	switch {
	case err == nil:
		old, _ = document.ParseJSON(p.Name(SettingsFile), data, document.Limits{Depth: 64})
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	options := object{}
	if l, ok := languageOf(p.Language); ok && l.options != nil {
		options = l.options(config)
	}
	options = append(options, pair{"protocolVersion", "2.0.0"})
	out := object{{"artifact_type", string(p.Kind)}, {"typeName", p.TypeName}}
	if p.Kind != schema.Module {
		out = append(out,
			pair{"language", p.Language}, pair{"runtime", p.Runtime},
			pair{"entrypoint", p.Entrypoint}, pair{"testEntrypoint", p.TestEntrypoint})
	}
	out = append(out, pair{"settings", merged(options, old.Get("settings"))})
	if p.ExecutableEntrypoint != "" {
		out = append(out, pair{"executableEntrypoint", p.ExecutableEntrypoint})
	}
	// These belong to the code of another kind or language, which is replaced.
	replaced := []string{"language", "runtime", "entrypoint", "testEntrypoint", "executableEntrypoint"}
	return encode(merged(out, old, replaced...)), nil
}

// merged adds to an object the members of another that it does not have.
func merged(o object, old *document.Value, except ...string) object {
	if old == nil || old.Kind != document.Object {
		return o
	}
	for i, m := range old.Members {
		has := slices.ContainsFunc(o, func(p pair) bool { return p.key == m.Key }) || slices.Contains(except, m.Key)
		if !has && old.Member(m.Key) == &old.Members[i] {
			o = append(o, pair{m.Key, m.Value})
		}
	}
	return o
}
