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
	typeName, resource, handler, read string
	force                             bool
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
that of the function in the templates; if it is not there, --handler names it, in Python or JavaScript: a
folder, a source (index.py), or a function of a source (index.py:main).

Custom resources are not read. READ returns what the code returned last, so that there is no drift
detection and no import, until you write it. --read names a function beside the handler that returns
the properties and attributes of the resource event.PhysicalResourceId, or nothing if it does not exist:
function(event, context).`,
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
	derived, err := customtype.Derive(resource, opts.typeName, code.Read != "")
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.projectDir(), project.SettingsFile)); err == nil && !opts.force {
		return withHint(fmt.Errorf("%s has a project already", c.shown(c.projectDir())), "pass --project DIR for another folder, or --force to overwrite its files")
	}
	config := project.InitConfig{
		Kind: schema.Resource, TypeName: opts.typeName, Language: project.Newest(code.Language), Version: c.Version, Schema: derived.JSON(), Overwrite: opts.force,
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
	".ts": "TypeScript", ".java": "Java", ".rb": "Ruby", ".cs": "C#", ".fs": "F#", ".rs": "Rust", ".go": "Go", ".jar": "Java", ".ps1": "PowerShell", ".sh": "a shell",
}

const hintCode = "pass the code with --handler: a source in Python or JavaScript, or its folder"

// customCode finds the code of the custom resource: that of --handler, or that of the function in the templates.
func (c *app) customCode(opts *convertOptions, p customtype.Provider) (*customtype.Code, error) {
	handler, what := opts.handler, "option --handler"
	if handler == "" {
		what = "the function of the custom resource"
		language := codeLanguage(p.Runtime)
		switch {
		case p.Function == nil:
			return nil, withHint(errors.New("the code of the custom resource is not in the templates"), hintCode)
		case p.Runtime == "":
			return nil, withHint(fmt.Errorf("the templates do not say which runtime the function %s has", p.Function.LogicalID), hintCode)
		case language == "":
			return nil, withHint(fmt.Errorf("the function %s has the runtime %q; cfn cr convert knows code in Python and JavaScript", p.Function.LogicalID, p.Runtime), "write the handlers of the type with cfn init")
		case p.Source != "":
			name := map[string]string{"python": "index.py", "typescript": "index.js"}[language]
			return c.codeWith(opts, &customtype.Code{Language: language, Handler: p.Handler, Files: []codegen.File{{Path: name, Data: []byte(p.Source)}}})
		}
		dir, err := c.functionFolder(p)
		if err != nil {
			return nil, err
		}
		code, err := c.codeIn(dir, what)
		if err != nil {
			return nil, err
		}
		code.Language, code.Handler = language, p.Handler
		return c.codeWith(opts, code)
	}
	file := handler
	if at := strings.LastIndex(handler, ":"); at > 1 {
		file = handler[:at]
	}
	if other := otherSources[filepath.Ext(file)]; other != "" {
		hint := "write the handlers of the type with cfn init"
		if other == "TypeScript" {
			hint = "pass the JavaScript that its compiler writes"
		}
		return nil, withHint(fmt.Errorf("%s: %s is a source in %s; cfn cr convert knows code in Python and JavaScript", what, file, other), "%s", hint)
	}
	source, err := handlers.FindSource(handler, c.Dir)
	if err != nil {
		return nil, withHint(fmt.Errorf("%s: %w", what, err), "pass a source in Python or JavaScript, or its folder")
	}
	language := codeLanguage(source.Runtime)
	if language == "" {
		return nil, withHint(fmt.Errorf("%s: %s is not code in Python or JavaScript", what, handler), "pass the source, or write the handlers of the type with cfn init")
	}
	at := c.path(handler)
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		at = c.path(file)
		if info, err := os.Stat(c.path(handler)); err == nil && info.Mode().IsRegular() {
			at = c.path(handler)
		}
	}
	code, err := c.codeIn(at, what)
	if err != nil {
		return nil, err
	}
	code.Language, code.Handler = language, source.Entrypoint
	return c.codeWith(opts, code)
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
	}
	return ""
}

// readFunction matches the names of functions in Python and JavaScript.
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

// codeIn reads the files of a folder, or a source with those beside it that it imports.
func (c *app) codeIn(at, what string) (*customtype.Code, error) {
	code := &customtype.Code{}
	info, err := os.Stat(at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	root := at
	var names []string
	if !info.IsDir() {
		root, names = filepath.Dir(at), []string{filepath.Base(at)}
	}
	folder, err := os.OpenRoot(root) // links do not lead out of it
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer folder.Close()
	files := folder.FS()
	if info.IsDir() {
		if names, err = codeFiles(files); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	size := 0
	for i := 0; i < len(names); i++ {
		name := names[i]
		data, err := document.ReadFS(files, name, maxCodeBytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		if size += len(data); size > maxCodeBytes {
			return nil, fmt.Errorf("%s: the code has more than %d MiB", what, maxCodeBytes>>20)
		}
		code.Files = append(code.Files, codegen.File{Path: name, Data: data})
		if info.IsDir() {
			continue
		}
		for _, other := range customtype.Imported(files, name, data) {
			if !slices.Contains(names, other) {
				names = append(names, other)
			}
		}
		if len(names) > maxCodeFiles {
			return nil, fmt.Errorf("%s: %w", what, errManyFiles)
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
