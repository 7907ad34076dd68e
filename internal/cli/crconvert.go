package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/customtype"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/handlers"
)

// convertOptions are the options of cfn cr convert.
type convertOptions struct {
	typeName, resource, handler, read, tags string
	force                                   bool
}

func newCustomConvert(c *app) *cobra.Command {
	opts := &convertOptions{}
	cmd := &cobra.Command{
		Use:   "convert TEMPLATE…",
		Short: "Make a resource type out of a custom resource",
		Long: `Make a project of a resource type out of a custom resource: the schema from the templates that use it,
and handlers that call its code as it is. The project is written to the folder of --project.

The schema is derived from all uses in the templates. Each decision is printed with its reason, and so is
what a custom resource has and a type has not, and what to change in the templates.

--resource has the type or a logical ID of the custom resource, if the templates have several. The code is
that of the function in the templates; if it is not there, --handler names it, in Python, JavaScript or Go:
a folder, a source (index.py), or a function of a source (index.py:main). A program in Go is copied with
its go.mod and the packages of its module that it imports.

Custom resources are not read. READ returns what the code returned last, so that there is no drift
detection and no import, until you write it. --read names a function beside the handler that returns
the properties and attributes of the resource event.PhysicalResourceId, or nothing if it does not exist:
function(event, context), in Go a function of package main that lambda.Start takes.`,
		Example: `  cfn cr convert stack.yaml -t Acme::Dns::Zone --project zone
  cfn cr convert stack.yaml other.yaml --resource Custom::Zone --handler src/zone.py -t Acme::Dns::Zone
  cfn cr convert stack.yaml --handler index.py:handler --read read -t Acme::Dns::Zone --format json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("missing argument: TEMPLATE")
			}
			return nil
		},
		Annotations: map[string]string{"project": "created"},
		RunE:        func(cmd *cobra.Command, args []string) error { return c.customConvert(cmd.Context(), opts, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&opts.typeName, "type-name", "t", "", "the `NAME` of the type: Organization::Service::Resource")
	flags.StringVar(&opts.resource, "resource", "", "the type or a logical ID of the custom resource, as `NAME`")
	flags.StringVar(&opts.handler, "handler", "", "the code of the custom resource, as `HANDLER`")
	flags.StringVar(&opts.read, "read", "", "the `FUNCTION` of the code that reads a resource")
	flags.StringVar(&opts.tags, "tags", "", "the build `TAGS` of a program in Go, with commas between them")
	flags.BoolVarP(&opts.force, "force", "f", false, "overwrite the files of the project")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// customConvert makes the project.
func (c *app) customConvert(ctx context.Context, opts *convertOptions, args []string) error {
	if !project.ValidTypeName(schema.Resource, opts.typeName) {
		if opts.typeName == "" {
			return &usageError{message: "option --type-name is required", hint: "pass -t Organization::Service::Resource"}
		}
		return usagef("option --type-name: %q is invalid: %s. %s", opts.typeName, schema.TypeNameFault(schema.Resource, opts.typeName), typeNameError(schema.Resource))
	}
	templates, err := c.customTemplates(args)
	if err != nil {
		return err
	}
	resource, err := customtype.Find(templates, opts.resource)
	var unclear *customtype.UnclearError
	switch {
	case errors.As(err, &unclear) && len(unclear.Known) > 0:
		return withHint(err, "choose one: --resource %s", shellQuote(unclear.Known[0]))
	case err != nil:
		return err
	}
	code, err := c.customCode(opts, resource.Provider())
	if err != nil {
		return err
	}
	if opts.tags != "" && code.Language != "go" {
		return usagef("option --tags: the code is not in Go")
	}
	derived, err := customtype.Derive(resource, opts.typeName, code.Read != "")
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.projectDir(), project.SettingsFile)); err == nil && !opts.force {
		return withHint(fmt.Errorf("%s has a project already", c.shown(c.projectDir())), "pass --project DIR for another folder, or --force to overwrite its files")
	}
	config := project.InitConfig{
		Kind: schema.Resource, TypeName: opts.typeName, Language: project.Newest(code.Language), Version: c.Version, Schema: derived.JSON(), Overwrite: opts.force,
		ImportPath: "example.com/" + schema.Hyphenated(opts.typeName), CustomProgram: code.Program, CustomTags: code.Tags,
		Adapt: func(files []codegen.File) ([]codegen.File, error) { return derived.Adapt(code, files) },
	}
	written, err := c.writeProject(ctx, config)
	if err != nil {
		return err
	}
	return c.printCustomType(derived, resource, config, written)
}

// customTemplates reads the templates of the command line.
func (c *app) customTemplates(names []string) (out []*customtype.Template, err error) {
	for _, name := range names {
		data, err := document.ReadHead(c.path(name), template.MaxBytes+1)
		if err != nil {
			return nil, missingFile(err, name, hintTemplate)
		}
		t, err := template.Parse(name, data, template.ParseOptions{})
		if err != nil {
			return nil, refusedHere(err)
		}
		if t.HasTransforms() { // SAM leaves custom resources as they are
			t, _ = template.Parse(name, data, template.ParseOptions{AsWritten: true}) // Globals counts as wrong
		}
		out = append(out, &customtype.Template{Name: name, Template: t})
	}
	return out, nil
}

// A conversion is what scripts read about a type that was made out of a custom resource.
type conversion struct {
	TypeName string        `json:"typeName"`
	Dir      string        `json:"dir"`
	Language string        `json:"language"`
	Files    []writtenFile `json:"files"`
	*derivation
	Changes []templateChange `json:"changes"`
}

// A templateChange is a place of a template to change.
type templateChange struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"`
}

// printCustomType prints what was decided, and what comes next.
func (c *app) printCustomType(d *customtype.Derived, of *customtype.CustomResource, config project.InitConfig, written []writtenFile) error {
	out := conversion{
		TypeName: config.TypeName, Dir: c.projectDir(), Language: config.Language, Files: written, derivation: newDerivation(of.Type, d.Decisions, d.Lost),
		Changes: []templateChange{},
	}
	for _, change := range d.Changes() {
		out.Changes = append(out.Changes, templateChange{change.At.File, change.At.Start.Line, change.At.Start.Column, change.Text})
	}
	if c.format == "json" {
		return c.printJSON(out)
	}
	c.printf("Made %s out of %s (%d in the templates) in %s\n", config.TypeName, of.Type, len(of.Uses), c.projectDir())
	if err := c.printDecisions(d.Decisions, d.Lost); err != nil {
		return err
	}
	c.printf("\nChange the templates:\n")
	for _, change := range out.Changes {
		c.printf("  %s:%d:%d  %s\n", change.File, change.Line, change.Column, change.Text)
	}
	c.printNextSteps(config)
	return nil
}

// Limits of the code that is copied into a project.
const (
	maxCodeFiles = 500
	maxCodeBytes = 20 << 20
)

var errManyFiles = fmt.Errorf("the code has more than %d files", maxCodeFiles)

// otherSources are the languages of sources that cfn cr convert does not know.
var otherSources = map[string]string{
	".ts": "TypeScript", ".java": "Java", ".rb": "Ruby", ".cs": "C#", ".fs": "F#", ".rs": "Rust", ".jar": "Java", ".ps1": "PowerShell", ".sh": "a shell",
}

// knownLanguages are those of code that cfn cr convert knows.
const knownLanguages = "Python, JavaScript or Go"

const (
	hintCode     = "pass the code with --handler: a source in " + knownLanguages + ", or its folder"
	hintHandlers = "write the handlers of the type with cfn init"
)

// customCode finds the code of the custom resource: that of --handler, or that of the function in the templates.
func (c *app) customCode(opts *convertOptions, p customtype.Provider) (*customtype.Code, error) {
	if opts.handler != "" {
		return c.handlerCode(opts)
	}
	const what = "the function of the custom resource"
	language := codeLanguage(p.Runtime)
	switch {
	case p.Function == nil:
		return nil, withHint(errors.New("the code of the custom resource is not in the templates"), hintCode)
	case p.Runtime == "":
		return nil, withHint(fmt.Errorf("the templates do not say which runtime the function %s has", p.Function.LogicalID), hintCode)
	case language == "":
		return nil, withHint(fmt.Errorf("the function %s has the runtime %q; cfn cr convert knows code in %s", p.Function.LogicalID, p.Runtime, knownLanguages), hintHandlers)
	case p.Source != "" && language != "go":
		name := map[string]string{"python": "index.py", "typescript": "index.js"}[language]
		return c.codeWith(opts, &customtype.Code{Language: language, Handler: p.Handler, Files: []codegen.File{{Path: name, Data: []byte(p.Source)}}})
	}
	dir, err := c.functionFolder(p)
	if err != nil {
		return nil, err
	}
	if language == "go" {
		if goFolder(dir) == "" {
			return nil, withHint(fmt.Errorf("the function %s has the runtime %q, and %s has no sources in Go", p.Function.LogicalID, p.Runtime, c.shown(dir)), hintCode)
		}
		return c.goCode(opts, dir, what, filepath.Dir(c.path(p.In.Name)), c.Dir)
	}
	code, err := folderCode(dir, what)
	if err != nil {
		return nil, err
	}
	code.Language, code.Handler = language, p.Handler
	return c.codeWith(opts, code)
}

// handlerCode is the code that --handler names.
func (c *app) handlerCode(opts *convertOptions) (*customtype.Code, error) {
	const what = "option --handler"
	file := opts.handler
	if at := strings.LastIndex(file, ":"); at > 1 {
		file = file[:at]
	}
	if other := otherSources[filepath.Ext(file)]; other != "" {
		hint := hintHandlers
		if other == "TypeScript" {
			hint = "pass the JavaScript that its compiler writes"
		}
		return nil, withHint(fmt.Errorf("%s: %s is a source in %s; cfn cr convert knows code in %s", what, file, other, knownLanguages), "%s", hint)
	}
	source, err := handlers.FindSource(opts.handler, c.Dir)
	language := codeLanguage(source.Runtime)
	dir := goFolder(c.path(file))
	switch isGo := dir != "" && (err != nil || language == "go"); {
	case isGo && file != opts.handler:
		return nil, withHint(fmt.Errorf("%s: %s names a function of a program in Go, which names it itself in lambda.Start", what, opts.handler), "pass --handler %s", shellQuote(file))
	case isGo:
		return c.goCode(opts, dir, what)
	case err != nil:
		return nil, withHint(fmt.Errorf("%s: %w", what, err), "pass a source in %s, or its folder", knownLanguages)
	case language == "" || language == "go":
		return nil, withHint(fmt.Errorf("%s: %s is not code in %s", what, opts.handler, knownLanguages), "pass the source, or "+hintHandlers)
	}
	at := c.path(opts.handler)
	info, err := os.Stat(at)
	if err != nil { // a function of a source
		at = c.path(file)
	}
	read := sourceCode
	if err == nil && info.IsDir() {
		read = folderCode
	}
	code, err := read(at, what)
	if err != nil {
		return nil, err
	}
	code.Language, code.Handler = language, source.Entrypoint
	return c.codeWith(opts, code)
}

// goFolder is the folder of sources in Go, "" for anything else: that of a source, or the folder itself.
func goFolder(at string) string {
	info, err := os.Stat(at)
	if err == nil && info.Mode().IsRegular() && filepath.Ext(at) == ".go" {
		return filepath.Dir(at)
	}
	entries, err := os.ReadDir(at)
	if err == nil && slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return filepath.Ext(entry.Name()) == ".go" }) {
		return at
	}
	return ""
}

// goCode is the code of the program in Go in a folder. Its module is the nearest one; templates choose only modules in the folders within.
func (c *app) goCode(opts *convertOptions, dir, what string, within ...string) (*customtype.Code, error) {
	root := dir
	for {
		info, err := os.Lstat(filepath.Join(root, "go.mod"))
		if err == nil && info.Mode().IsRegular() {
			break
		}
		above := filepath.Dir(root)
		if above == root {
			return nil, withHint(fmt.Errorf("%s: %s is in no module: neither it nor a folder above has a go.mod", what, c.shown(dir)), "run go mod init and go mod tidy there")
		}
		root = above
	}
	if len(within) > 0 && !slices.ContainsFunc(within, func(other string) bool { return isInside(root, other) }) {
		return nil, withHint(fmt.Errorf("%s is in a module in %s, outside of the folder of the template and of the working folder", what, root),
			"run cfn cr convert in a folder that contains both, or pass the code with --handler")
	}
	program, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	program, what = filepath.ToSlash(program), fmt.Sprintf("%s: the module in %s", what, c.shown(root))
	if opts.tags != "" && !buildTags.MatchString(opts.tags) {
		return nil, usagef("option --tags: %q is not a list of build tags, such as one,two", opts.tags)
	}
	tags := strings.Split("lambda.norpc,"+opts.tags, ",")
	code, err := readCode(root, what, func(files fs.FS) ([]string, error) { return customtype.GoFiles(files, program, tags, maxCodeFiles) }, nil)
	if err != nil {
		return nil, err
	}
	code.Language, code.Program, code.Tags = "go", program, opts.tags
	if opts.read != "" && !readFunction.MatchString(opts.read) {
		return nil, usagef("option --read: %q is not the name of a function", opts.read)
	}
	if err := code.CompleteGo(opts.read); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return code, nil
}

// functionFolder is the folder with the code of a function. A template does not choose files of other folders, which would be copied.
func (c *app) functionFolder(p customtype.Provider) (string, error) {
	wrong := func(why string) error {
		return withHint(fmt.Errorf("the code of the function %s is not in a folder on this machine%s", p.Function.LogicalID, why), hintCode)
	}
	if p.Folder == "" || strings.Contains(p.Folder, "://") {
		return "", wrong("")
	}
	beside := filepath.Dir(c.path(p.In.Name))
	dir := filepath.Join(beside, filepath.FromSlash(p.Folder))
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return "", wrong(fmt.Sprintf(": %s does not exist", c.shown(dir)))
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", wrong(fmt.Sprintf(": %s is a file", c.shown(dir)))
	case !isInside(dir, beside) && !isInside(dir, c.Dir):
		return "", withHint(fmt.Errorf("the code of the function %s is in %s, outside of the folder of the template and of the working folder", p.Function.LogicalID, dir),
			"run cfn cr convert in a folder that contains both, or pass the code with --handler")
	}
	return dir, nil
}

// isInside reports whether a folder is another one or in it, when links are followed.
func isInside(dir, other string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	if other, err = filepath.EvalSymlinks(other); err != nil {
		return false
	}
	rel, err := filepath.Rel(other, dir)
	return err == nil && filepath.IsLocal(rel)
}

// codeLanguage is the language of a project for code with a runtime of Lambda, "" if it is not known.
func codeLanguage(runtime string) string {
	switch {
	case strings.HasPrefix(runtime, "python"):
		return "python"
	case strings.HasPrefix(runtime, "nodejs"):
		return "typescript"
	case strings.HasPrefix(runtime, "provided"), runtime == "go1.x":
		return "go"
	}
	return ""
}

// buildTags matches build tags as the go command takes them.
var buildTags = lazyregexp.New(`^[A-Za-z0-9_.]+(,[A-Za-z0-9_.]+)*$`)

// readFunction matches the names of functions.
var readFunction = lazyregexp.New(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// codeWith completes code with its read function.
func (c *app) codeWith(opts *convertOptions, code *customtype.Code) (*customtype.Code, error) {
	module, function := code.Handler, ""
	if at := strings.LastIndex(code.Handler, "."); at > 0 {
		module, function = code.Handler[:at], code.Handler[at+1:]
	}
	if function == "" {
		return nil, fmt.Errorf("the handler %q of the function is not MODULE.FUNCTION", code.Handler)
	}
	if opts.read != "" {
		if !readFunction.MatchString(opts.read) {
			return nil, usagef("option --read: %q is not the name of a function", opts.read)
		}
		code.Read = module + "." + opts.read
	}
	return code, nil
}

// notCode are folders and files that are not copied with code.
var notCode = []string{"node_modules", "__pycache__", "venv", "build", "dist", "rpdk.log"}

// folderCode reads the files of a folder.
func folderCode(dir, what string) (*customtype.Code, error) {
	return readCode(dir, what, codeFiles, nil)
}

// sourceCode reads a source with the files beside it that it imports.
func sourceCode(at, what string) (*customtype.Code, error) {
	name := filepath.Base(at)
	return readCode(filepath.Dir(at), what, func(fs.FS) ([]string, error) { return []string{name}, nil }, customtype.Imported)
}

// readCode reads the files of a folder that are listed, and those that imported adds for each of them.
func readCode(root, what string, list func(fs.FS) ([]string, error), imported func(fs.FS, string, []byte) []string) (*customtype.Code, error) {
	wrong := func(err error) (*customtype.Code, error) { return nil, fmt.Errorf("%s: %w", what, err) }
	folder, err := os.OpenRoot(root) // links do not lead out of it
	if err != nil {
		return wrong(err)
	}
	defer folder.Close()
	files := folder.FS()
	names, err := list(files)
	if err != nil {
		return wrong(err)
	}
	code, size := &customtype.Code{}, 0
	for i := 0; i < len(names); i++ {
		if len(names) > maxCodeFiles {
			return wrong(errManyFiles)
		}
		data, err := document.ReadFS(files, names[i], maxCodeBytes)
		if err != nil {
			return wrong(err)
		}
		if size += len(data); size > maxCodeBytes {
			return nil, fmt.Errorf("%s: the code has more than %d MiB", what, maxCodeBytes>>20)
		}
		code.Files = append(code.Files, codegen.File{Path: names[i], Data: data})
		if imported == nil {
			continue
		}
		for _, other := range imported(files, names[i], data) {
			if !slices.Contains(names, other) {
				names = append(names, other)
			}
		}
	}
	return code, nil
}

// codeFiles are the names of the files of a folder with code. Links are left out.
func codeFiles(files fs.FS) (names []string, err error) {
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case name != "." && (strings.HasPrefix(base, ".") || slices.Contains(notCode, base)):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.Type().IsRegular():
			if names = append(names, name); len(names) > maxCodeFiles {
				return errManyFiles
			}
		}
		return nil
	})
	return names, err
}
