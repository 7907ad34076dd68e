package bundle

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// The files of a package that have no name in package project.
const (
	schemaFile        = "schema.json"
	configurationFile = "configuration-schema.json"
)

// The archives that the official language plug-ins put the code of handlers into. That for
// Java packs the .jar that Maven builds, with the path that it has in the project.
var handlerArchives = []string{"ResourceProvider.zip", "handler.zip"}

// The bounds of single documents, in bytes.
const (
	mostSettings = 1 << 20
	mostDocument = 8 << 20
	mostTargets  = 32 << 20
)

// run reads the package as far as it can be read.
func (r *reader) run(ra io.ReaderAt, size int64) (*Bundle, error) {
	if size > r.limits.Packed {
		r.add("package/too-large", diag.Range{File: r.config.Label}, fmt.Sprintf("the package has %s; the limit is %s", megabytes(size), megabytes(r.limits.Packed)), "remove files that the handlers do not need")
		return nil, nil
	}
	a, err := r.open(ra, size, r.config.Label)
	if err == nil && a != nil {
		err = r.verify(a, r.config.Label)
	}
	if err != nil || a == nil || r.problems.HasErrors() {
		return nil, err
	}
	b := &Bundle{}
	root, err := r.settings(a, b)
	if err != nil {
		return nil, err
	}
	for _, read := range []func(*archive, *Bundle) error{r.schema, r.configuration, r.targets, r.fragment, r.handler} {
		if err := read(a, b); err != nil {
			return nil, err
		}
	}
	r.agree(b, root)
	b.Files = contractFiles{a.zip}
	return b, nil
}

// verify unpacks every file once, into nothing.
func (r *reader) verify(a *archive, label string) error {
	for _, file := range a.files {
		err := copyEntry(r.ctx, io.Discard, file)
		var fault *entryError
		if errors.As(err, &fault) {
			r.add("package/damaged", inside(label, file.Name), fault.message, uploadAgain)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// settings reads .rpdk-config.
func (r *reader) settings(a *archive, b *Bundle) (*document.Value, error) {
	b.Kind = schema.Resource
	if r.config.Kind != "" {
		b.Kind = r.config.Kind
	}
	data, err := r.document(a, project.SettingsFile, mostSettings)
	if err != nil {
		return nil, err
	}
	if data == nil {
		if a.named[project.SettingsFile] == nil {
			r.missing(project.SettingsFile, "which says how the handlers are run")
		}
		return nil, nil
	}
	root, settings, problems := project.ParsePackagedSettings(r.place(project.SettingsFile), data)
	r.problems.Add(problems...)
	b.Settings, b.SettingsText = settings, data
	if root.Member("artifact_type") == nil {
		b.Settings.Kind = b.Kind
	} else if r.config.Kind == "" {
		b.Kind = settings.Kind
	}
	return root, nil
}

// schema reads schema.json.
func (r *reader) schema(a *archive, b *Bundle) error {
	data, err := r.document(a, schemaFile, mostDocument)
	if err != nil {
		return err
	}
	if data == nil {
		if a.named[schemaFile] == nil {
			r.missing(schemaFile, "the schema of the type")
		}
		return nil
	}
	s, problems := schema.Load(r.place(schemaFile), data, schema.Config{Kind: b.Kind})
	r.problems.Add(problems...)
	b.Schema, b.SchemaText = s, data
	if s != nil {
		b.TypeName = s.TypeName.Value
	}
	return nil
}

// agree checks that the data that the package has in several places is consistent, and matches
// the registered type.
func (r *reader) agree(b *Bundle, settings *document.Value) {
	if stated := settings.Get("artifact_type"); stated != nil && b.Settings.Kind != b.Kind {
		r.problems.Add(diag.Problem{
			ID: "package/kind", At: stated.At, Pointer: "/artifact_type",
			Message: fmt.Sprintf("the package is a %s but is registered as a %s", b.Settings.Kind, b.Kind),
			Hint:    "register it with the kind of the package",
		})
	}
	if b.Schema == nil || b.TypeName == "" {
		return
	}
	at := b.Schema.TypeName.At
	if want := r.config.TypeName; want != "" && want != b.TypeName {
		r.problems.Add(diag.Problem{
			ID: "package/type-name", At: at, Pointer: "/typeName",
			Message: fmt.Sprintf("the schema describes %s but is registered as %s", diag.Cut(b.TypeName), want),
			Hint:    "register it under the name in its schema",
		})
	}
	if !project.ValidTypeName(b.Kind, b.TypeName) {
		r.problems.Add(diag.Problem{
			ID: "package/type-name", At: at, Pointer: "/typeName",
			Message: fmt.Sprintf("%q is not a type name of a %s", diag.Cut(b.TypeName), strings.ToLower(string(b.Kind))),
			Hint:    "a type name matches " + project.TypeNamePattern(b.Kind),
		})
	}
	if name := settings.Get("typeName"); name != nil && name.Kind == document.String && name.Text != b.TypeName {
		r.problems.Add(diag.Problem{
			ID: "package/type-name", Severity: diag.Warning, At: name.At, Pointer: "/typeName",
			Message: fmt.Sprintf("the settings are for %s, but the schema describes %s", diag.Cut(name.Text), diag.Cut(b.TypeName)),
			Hint:    "the name in the schema is used",
			Related: []diag.Note{{At: at, Message: "the schema's type name"}},
		})
	}
}

// configuration reads configuration-schema.json, or makes it from the schema as the
// official tool does.
func (r *reader) configuration(a *archive, b *Bundle) error {
	data, err := r.document(a, configurationFile, mostDocument)
	if err != nil {
		return err
	}
	if data != nil {
		_, problems := schema.Load(r.place(configurationFile), data, schema.Config{Kind: schema.TypeConfiguration})
		r.problems.Add(problems...)
		b.ConfigurationSchema = data
		return nil
	}
	if b.Schema == nil || b.Schema.TypeConfiguration == nil {
		return nil
	}
	out := document.Value{Kind: document.Object}
	for _, m := range b.Schema.TypeConfiguration.Root.Distinct() {
		if m.Key != "definitions" && m.Key != "typeName" {
			out.Members = append(out.Members, m)
		}
	}
	definitions := b.Schema.Root.Get("definitions")
	if definitions == nil {
		definitions = &document.Value{Kind: document.Object}
	}
	out.Members = append(out.Members,
		document.Member{Key: "definitions", Value: definitions},
		document.Member{Key: "typeName", Value: &document.Value{Kind: document.String, Text: b.TypeName}})
	b.ConfigurationSchema, err = json.MarshalIndent(&out, "", "    ")
	return err
}

// targets reads target-info.json and target-schemas/ of a hook.
func (r *reader) targets(a *archive, b *Bundle) error {
	if b.Kind != schema.Hook {
		return nil
	}
	data, err := r.document(a, project.TargetsFile, mostTargets)
	if err != nil {
		return err
	}
	if data != nil {
		root, problems := document.ParseJSON(r.place(project.TargetsFile), data, document.Limits{Bytes: mostTargets})
		r.problems.Add(problems...)
		if root != nil && root.Kind != document.Object {
			r.add("package/target-info", root.At, "the hook's targets are not a JSON object", `write {"TYPE NAME": {"Schema": {…}}}`)
		}
		b.TargetInfo = root
	}
	for _, file := range a.files {
		dir, name := path.Split(file.Name)
		if dir != project.TargetsDir+"/" || path.Ext(name) != ".json" {
			continue
		}
		data, err := r.document(a, file.Name, mostDocument)
		if err != nil {
			return err
		}
		s, problems := schema.Load(r.place(file.Name), data, schema.Config{Kind: schema.Resource})
		faults, _ := schema.Foreign(problems) // it is not the hook author's
		r.problems.Add(faults...)
		if s != nil {
			b.TargetSchemas = append(b.TargetSchemas, s)
		}
	}
	return nil
}

// fragment reads the template of a module.
func (r *reader) fragment(a *archive, b *Bundle) error {
	if b.Kind != schema.Module {
		return nil
	}
	var names []string
	for _, file := range a.files {
		if strings.HasPrefix(file.Name, project.FragmentsDir+"/") && module.IsFragment(file.Name) {
			names = append(names, file.Name)
		}
	}
	slices.Sort(names)
	if problems := module.OneFragment(r.place(project.FragmentsDir), names); problems != nil {
		r.problems.Add(problems...)
		return nil
	}
	data, err := r.document(a, names[0], mostDocument)
	if err != nil || data == nil {
		return err
	}
	fragment, problems := module.ParseFragment(names[0], r.place(names[0]), data)
	r.problems.Add(problems...)
	b.Fragment = fragment
	return nil
}

// handler finds the archive with the code and looks through it.
func (r *reader) handler(a *archive, b *Bundle) error {
	if b.Kind == schema.Module {
		return nil
	}
	found := candidates(a, b.Settings.Runtime)
	switch {
	case len(found) == 0 && b.Schema != nil && len(b.Schema.Handlers) == 0:
		return nil
	case len(found) == 0:
		wanted := handlerArchives[0]
		if strings.HasPrefix(b.Settings.Runtime, "java") {
			wanted = project.TargetFolder + "/*.jar"
		}
		r.missing(wanted, "the archive with the code of the handlers")
		return nil
	case len(found) > 1:
		r.add("package/handler-code", diag.Range{File: r.config.Label}, "the package has several archives that could be the code of the handlers: "+strings.Join(found, ", "), "keep only one of them")
		return nil
	}
	file := a.named[found[0]]
	label := r.place(found[0])
	code, closer, err := r.nested(file, label)
	if err != nil || code == nil {
		return err
	}
	defer closer()
	if err := r.verify(code, label); err != nil {
		return err
	}
	if len(code.files) == 0 {
		r.add("package/handler-code", diag.Range{File: label}, "the archive with the code of the handlers is empty", "build the handlers and package them again")
	}
	if program := programOf(b.Settings.Runtime, b.Settings.Entrypoint); program != "" && code.named[program] == nil && len(code.files) > 0 {
		r.add("package/handler-code", diag.Range{File: label}, fmt.Sprintf("%s is missing; the runtime %s runs it", program, b.Settings.Runtime), "build the handlers and package them again")
	}
	b.Handler = &Handler{Archive: found[0], Files: len(code.files)}
	for _, f := range code.files {
		b.Handler.Unpacked += int64(f.UncompressedSize64)
	}
	b.archive = file
	return nil
}

// programOf is the program that a runtime starts, "" where an interpreter is started.
func programOf(runtime, entrypoint string) string {
	switch {
	case strings.HasPrefix(runtime, "provided"):
		return "bootstrap"
	case runtime == "go1.x":
		return entrypoint
	}
	return ""
}

// candidates are the archives that could be the code.
func candidates(a *archive, runtime string) []string {
	var found []string
	for _, name := range handlerArchives {
		if a.named[name] != nil {
			found = append(found, name)
		}
	}
	if found != nil {
		return found
	}
	for _, extension := range []string{".jar", ".zip"} {
		for _, file := range a.files {
			dir := path.Dir(file.Name)
			built := dir == project.TargetFolder && extension == ".jar" && strings.HasPrefix(runtime, "java")
			if path.Ext(file.Name) == extension && (dir == "." || built) {
				found = append(found, file.Name)
			}
		}
		if found != nil {
			break
		}
	}
	return found
}

// nested opens an archive inside of the package. The function returned frees what that
// takes; the archive is nil if there are problems.
func (r *reader) nested(file *zip.File, label string) (*archive, func(), error) {
	data, size, closer, err := section(r.ctx, file)
	if err != nil {
		return nil, nil, err
	}
	a, err := r.open(data, size, label)
	if a == nil {
		closer()
	}
	return a, closer, err
}

// section gives random access to an entry: where it is if it is stored, else to a copy in
// memory or, if it is large, in a temporary file.
func section(ctx context.Context, file *zip.File) (io.ReaderAt, int64, func(), error) {
	const inMemory = 4 << 20
	size := int64(file.UncompressedSize64)
	if file.Method == zip.Store {
		raw, err := file.OpenRaw()
		if err != nil {
			return nil, 0, nil, err
		}
		if at, ok := raw.(io.ReaderAt); ok {
			return at, size, func() {}, nil
		}
	}
	if size <= inMemory {
		var buffer strings.Builder
		if err := copyEntry(ctx, &buffer, file); err != nil {
			return nil, 0, nil, err
		}
		return strings.NewReader(buffer.String()), size, func() {}, nil
	}
	temp, err := files.OpenTemporary("", "cfn-package-*")
	if err != nil {
		return nil, 0, nil, fmt.Errorf("unpack the handlers' archive: %w", err)
	}
	closer := func() { _ = temp.Close() } // it was written for us alone
	if err := copyEntry(ctx, temp, file); err != nil {
		closer()
		return nil, 0, nil, err
	}
	return temp, size, closer, nil
}

// contractFiles shows of a package what the contract tests read.
type contractFiles struct{ fs.FS }

func (f contractFiles) Open(name string) (fs.File, error) {
	if name != project.OverridesFile && name != project.InputsDir && !strings.HasPrefix(name, project.InputsDir+"/") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f.FS.Open(name)
}
