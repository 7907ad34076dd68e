// Package project is an extension project on disk: the folder with the file .rpdk-config
// and what belongs to it.
//
// [Open] reads and checks the settings. From there a [Project] finds the schema, the
// module's fragment and a hook's targets, and packs the archive that RegisterType takes.
// [Init] starts a project, [Compare] and [Write] keep its generated files up to date.
//
// Problems of a user's file are returned as a [diag.List] with places; an error means that
// something could not be read or written. Files are written beside their place and then moved
// there, so that readers never see an incomplete file. The package does not print, and it
// starts no processes.
//
// File names and contents are those of the official CloudFormation CLI.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// The names of files and folders in a project. Those that contain the type's name are
// methods of [Project].
const (
	SettingsFile  = ".rpdk-config"
	OverridesFile = "overrides.json"
	InputsDir     = "inputs"
	FragmentsDir  = "fragments"
	TargetsDir    = "target-schemas"
	TargetsFile   = "target-info.json"
	ModuleSchema  = "schema.json"
	DocsDir       = "docs"
)

// A Project is a folder with valid settings. It is not changed after [Open].
type Project struct {
	Dir   string // the folder, absolute
	Label string // the folder in messages; "" is the working folder of the user

	Settings

	// Root is .rpdk-config as written.
	Root *document.Value

	namespace string // of a project in Java that is started; "" is the default
}

// NotFoundError is the error of [Open] for a folder that is not a project.
type NotFoundError struct {
	Dir   string
	Above string // the nearest folder above Dir that is a project, "" if none
}

func (e *NotFoundError) Error() string {
	where := e.Dir
	if where == "" {
		where = "this folder"
	}
	return fmt.Sprintf("%s is not an extension project: %s does not exist", where, SettingsFile)
}

// Open reads the settings of the project in dir. label is what messages call the folder,
// "" for the user's working folder.
//
// The error is a *[NotFoundError] if there is no .rpdk-config, or that of the file system.
// The project is nil if the list has error-severity problems.
func Open(dir, label string) (*Project, diag.List, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("find the project: %w", err)
	}
	p := &Project{Dir: dir, Label: label}
	data, err := document.ReadFile(filepath.Join(dir, SettingsFile), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &NotFoundError{Dir: label, Above: above(dir)}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the settings: %w", err)
	}
	root, settings, problems := ParseSettings(p.Name(SettingsFile), data)
	if problems.HasErrors() {
		return nil, problems, nil
	}
	p.Root, p.Settings = root, settings
	return p, problems, nil
}

// above finds the nearest project in the folders above dir.
func above(dir string) string {
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		if info, err := os.Stat(filepath.Join(parent, SettingsFile)); err == nil && info.Mode().IsRegular() {
			return parent
		}
	}
	return ""
}

// Name is how messages call a file of the project: slash-separated name in, the path
// seen from the user's working folder out.
func (p *Project) Name(name string) string {
	return filepath.Join(p.Label, filepath.FromSlash(name))
}

// Path is where a file of the project is: slash-separated name in, absolute path out.
func (p *Project) Path(name string) string {
	return filepath.Join(p.Dir, filepath.FromSlash(name))
}

// Hyphenated is the type's name in file names: "Acme::Foo::Bar" is "acme-foo-bar".
func (s *Settings) Hyphenated() string {
	return schema.Hyphenated(s.TypeName)
}

// SchemaFile is the name of the file that holds the schema of the type. For a module it
// is generated from the fragment.
func (s *Settings) SchemaFile() string {
	if s.Kind == schema.Module {
		return ModuleSchema
	}
	return s.Hyphenated() + ".json"
}

// ArchiveFile is the name of the archive that a dry run of submit leaves behind.
func (s *Settings) ArchiveFile() string { return s.Hyphenated() + ".zip" }

// Schema loads the schema of a resource type or a hook. A schema file that is absent is
// a problem. The schema is nil or incomplete if the list has error-severity problems.
func (p *Project) Schema(config schema.Config) (*schema.Schema, diag.List, error) {
	name := p.SchemaFile()
	data, err := document.ReadFile(p.Path(name), maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.List{{
			ID: "project/schema-missing", At: diag.Range{File: p.Name(name)},
			Message: fmt.Sprintf("the schema of %s is missing", p.TypeName),
			Hint:    "name the file after the type, in lower case with hyphens; cfn init writes an example",
		}}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the schema: %w", err)
	}
	config.Kind = p.Kind
	s, problems := schema.Load(p.Name(name), data, config)
	if s != nil && s.TypeName.Value != "" && s.TypeName.Value != p.TypeName {
		problems.Add(diag.Problem{
			ID: "project/type-name-differs", Severity: diag.Warning, At: s.TypeName.At, Pointer: "/typeName",
			Message: fmt.Sprintf("the schema describes %s, but the project is %s", s.TypeName.Value, p.TypeName),
			Hint:    "the registry rejects a package with two type names: change one of them",
			Related: []diag.Note{{At: p.at("typeName"), Message: "the project's type name"}},
		})
	}
	problems.Sort()
	return s, problems, nil
}

// at is the place of a setting, or the file if there is no such setting.
func (p *Project) at(key string) diag.Range {
	if m := p.Root.Member(key); m != nil {
		return m.Value.At
	}
	return diag.Range{File: p.Name(SettingsFile)}
}

// maxDocument bounds every document that is read from a project.
const maxDocument = 8 << 20
