package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/smithy"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// apiSettingsFile overrides what is decided about the schema of a type that an API has.
const apiSettingsFile = "api.yaml"

// apiOptions are the options of cfn init for a type that an API has.
type apiOptions struct {
	openapi    string // the OpenAPI description to start from
	resource   string
	list       bool
	schemaOnly bool
}

// A chosenResource is the resource of an API that a project starts from.
type chosenResource struct {
	api      *api.API
	resource *api.Resource
	source   api.SourceSettings // as in the settings
	settings *api.Settings
	derived  *api.Derived
}

// A derivation is what scripts read about the schema of a type that was made from an API.
type derivation struct {
	Resource  string     `json:"resource"`
	Decisions []decision `json:"decisions"`
	Lost      []decision `json:"lost"` // what the schema cannot express
}

type decision struct {
	Property string `json:"property"` // "" if it is about the whole resource
	Choice   string `json:"choice"`
	Reason   string `json:"reason"`
}

func (r *chosenResource) derivation() *derivation {
	if r == nil {
		return nil
	}
	return newDerivation(r.resource.Name, r.derived.Decisions, r.derived.Lost)
}

func newDerivation(resource string, decisions, lost []api.Decision) *derivation {
	list := func(from []api.Decision) []decision {
		out := []decision{}
		for _, d := range from {
			out = append(out, decision{d.Subject, d.Choice, d.Reason})
		}
		return out
	}
	return &derivation{resource, list(decisions), list(lost)}
}

// settleAPI finds the resource of the API that a project is to start from. It is nil if
// the project starts from the traits of a Smithy model, or from nothing.
func (c *app) settleAPI(opts *initOptions) (*chosenResource, error) {
	switch {
	case opts.api.openapi != "" && opts.model != "":
		return nil, usagef("use either --from-openapi or --from-smithy")
	case opts.api.openapi == "" && opts.model == "":
		if opts.api.resource != "" {
			return nil, usagef("--resource needs --from-openapi or --from-smithy")
		}
		return nil, nil
	case opts.api.openapi == "" && opts.api.resource == "":
		return nil, nil
	case opts.smithy.config != "" || opts.smithy.modern:
		return nil, usagef("--smithy-config and --modern are for the conversion by traits: leave out --resource and --from-openapi")
	}
	if kind, _ := parseKind(opts.kind); opts.kind != "" && kind != schema.Resource {
		return nil, usagef("--from-openapi and --from-smithy start resource types only")
	}
	opts.kind = string(schema.Resource)
	settings, err := c.readAPISettings()
	if err != nil {
		return nil, err
	}
	return c.chooseResource(*opts, settings)
}

// readAPISettings reads the settings of the project; without a file they are empty.
func (c *app) readAPISettings() (*api.Settings, error) {
	path := filepath.Join(c.projectDir(), apiSettingsFile)
	data, err := document.ReadFile(path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return &api.Settings{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings of the schema: %w", err)
	}
	settings, problems := api.ParseSettings(filepath.ToSlash(c.shown(path)), data)
	return settings, problems.Err()
}

// readAPI reads the description that the options name.
func (c *app) readAPI(opts initOptions) (*api.API, diag.List, error) {
	if opts.api.openapi != "" {
		path := c.path(opts.api.openapi)
		data, err := document.ReadFile(path, 32<<20)
		if err != nil {
			return nil, nil, missingFile(err, c.shown(path), "pass the path of an OpenAPI description in JSON or YAML")
		}
		a, problems := api.FromOpenAPI(filepath.ToSlash(c.shown(path)), data)
		return a, problems, problems.Err()
	}
	m, _, err := c.fitModels([]string{opts.model}, false)
	if err != nil {
		return nil, nil, err
	}
	a, err := api.FromSmithy(m, smithy.ID(opts.smithy.service))
	var unknown *api.ServiceError
	if errors.As(err, &unknown) && len(unknown.Known) > 0 {
		var names []string
		for _, id := range unknown.Known {
			names = append(names, string(id))
		}
		return nil, nil, withHint(err, "pass one of them with --service: %s", strings.Join(names, ", "))
	}
	return a, nil, err
}

// chooseResource finds the resource that the options or the settings name.
func (c *app) chooseResource(opts initOptions, settings *api.Settings) (*chosenResource, error) {
	a, problems, err := c.readAPI(opts)
	if err != nil {
		return nil, err
	}
	if err := diag.Print(c.Stderr, problems, "text"); err != nil {
		return nil, err
	}
	name := opts.api.resource
	if name == "" {
		name = settings.Resource
	}
	found := &chosenResource{api: a, settings: settings, resource: a.Resource(name)}
	if name == "" && len(a.Resources) == 1 {
		found.resource = a.Resources[0]
	}
	for _, other := range a.Others {
		if found.resource == nil && (other.Name == name || other.ID == name) {
			if len(settings.Operations) == 0 {
				return nil, withHint(fmt.Errorf("%s is not a resource: %s", name, other.Reason), "name its operations in %s", apiSettingsFile)
			}
			found.resource = &api.Resource{Name: other.Name, ID: other.ID}
		}
	}
	if found.resource == nil {
		var names []string
		for _, r := range a.Resources {
			names = append(names, r.Name)
		}
		switch {
		case len(names) == 0:
			return nil, withHint(errors.New("the API has no resource that can be created, read and deleted"), "pass --list to see why")
		case name == "":
			return nil, usagef("the API has several resources: select one with --resource: %s", strings.Join(names, ", "))
		}
		return nil, &usageError{
			message: fmt.Sprintf("the API has no resource %s: select one with --resource: %s", name, strings.Join(names, ", ")), hint: words.DidYouMean(name, names),
		}
	}
	relative := func(path string) string {
		if rel, err := filepath.Rel(c.projectDir(), c.path(path)); err == nil {
			path = rel
		}
		return filepath.ToSlash(path)
	}
	if opts.api.openapi != "" {
		found.source.OpenAPI = relative(opts.api.openapi)
	} else {
		found.source.Smithy, found.source.Service = relative(opts.model), opts.smithy.service
	}
	return found, nil
}

// derive makes the schema.
func (r *chosenResource) derive(typeName string) error {
	derived, problems := api.Derive(r.api, r.resource, typeName, r.settings)
	if err := problems.Err(); err != nil {
		return err
	}
	r.derived = derived
	return nil
}

// deriveProject adds the schema and the settings to a project that is about to be written.
func (c *app) deriveProject(from *chosenResource, config *project.InitConfig) error {
	if err := from.derive(config.TypeName); err != nil {
		return err
	}
	path := filepath.Join(c.projectDir(), schema.Hyphenated(config.TypeName)+".json")
	if _, err := os.Stat(path); err == nil && !config.Overwrite {
		return withHint(fmt.Errorf("schema already exists: %s", c.shown(path)), "pass --force to overwrite it")
	}
	config.Schema = from.derived.JSON()
	if binding, problems := from.derived.Bind(); binding != nil {
		config.Binding = binding.JSON()
	} else {
		c.notef("warning: handlers cannot be generated: %s: write them by hand\n", problems[0].Message)
	}
	if _, err := os.Stat(filepath.Join(c.projectDir(), apiSettingsFile)); errors.Is(err, fs.ErrNotExist) {
		config.More = append(config.More, codegen.File{Path: apiSettingsFile, Data: api.NewSettings(from.source, from.derived), Mode: codegen.Once})
	}
	return nil
}

// useSource takes the description that the settings of the project name.
func (o *initOptions) useSource(c *app, settings *api.Settings) {
	within := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(c.projectDir(), filepath.FromSlash(path))
	}
	o.api.openapi, o.model = within(settings.Source.OpenAPI), within(settings.Source.Smithy)
	if o.smithy.service == "" {
		o.smithy.service = settings.Source.Service
	}
}

// regenerateSchema makes the schema of an existing project again.
func (c *app) regenerateSchema(opts initOptions) error {
	p, problems, err := c.openProject()
	if err != nil {
		return err
	}
	if err := problems.Err(); err != nil {
		return err
	}
	settings, err := c.readAPISettings()
	if err != nil {
		return err
	}
	if opts.api.openapi == "" && opts.model == "" {
		opts.useSource(c, settings)
		if opts.api.openapi == "" && opts.model == "" {
			return usagef("--schema-only needs --from-openapi, --from-smithy or a source in %s", apiSettingsFile)
		}
	}
	from, err := c.chooseResource(opts, settings)
	if err != nil {
		return err
	}
	if err := from.derive(p.TypeName); err != nil {
		return err
	}
	path := p.Path(p.SchemaFile())
	state := project.State("written")
	old, err := document.ReadOptional(path, 32<<20)
	switch text := from.derived.JSON(); {
	case err != nil:
		return fmt.Errorf("read the schema: %w", err)
	case string(old) == string(text):
		state = "unchanged"
	case old != nil && !opts.force:
		return withHint(fmt.Errorf("schema already exists: %s", c.shown(path)), "pass --force to overwrite it")
	default:
		if err := c.writeFile(path, text, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", c.shown(path), err)
		}
	}
	if c.format == "json" {
		return c.printJSON(struct {
			TypeName string `json:"typeName"`
			File     string `json:"file"`
			Action   string `json:"action"` // written or unchanged
			*derivation
		}{p.TypeName, c.shown(path), string(state), from.derivation()})
	}
	c.printf("%s: %s\n", c.shown(path), state)
	return c.printDerived(from.derived)
}

// printDerived prints the decisions about the schema of a type that an API has.
func (c *app) printDerived(d *api.Derived) error {
	if err := c.printDecisions(d.Decisions, d.Lost); err != nil {
		return err
	}
	c.printf("\nOverride decisions in %s, then run cfn init --schema-only --force\n", apiSettingsFile)
	return nil
}

// callsAPI reports whether the handlers of a project call an API by a binding.
func callsAPI(p *project.Project, in codegen.Input) bool {
	file := codegen.BindingFile(in)
	return file != "" && files.Exists(p.Path(file))
}

// bindProject makes the binding of a project whose handlers call an API.
func (c *app) bindProject(p *project.Project, in *codegen.Input) error {
	if !callsAPI(p, *in) {
		return nil
	}
	file := codegen.BindingFile(*in)
	from, err := c.projectAPI(p)
	if err != nil {
		return withHint(fmt.Errorf("%s: %w", p.Name(file), err), "correct the source in %s; if the handlers do not call the API any more, delete %s", p.Name(apiSettingsFile), p.Name(file))
	}
	binding, problems := from.derived.Bind()
	if binding == nil {
		return problems.Err()
	}
	in.Binding = binding.JSON()
	return nil
}

// projectAPI reads the API of a project, and derives its type.
func (c *app) projectAPI(p *project.Project) (*chosenResource, error) {
	settings, err := c.readAPISettings()
	if err != nil {
		return nil, err
	}
	var opts initOptions
	opts.useSource(c, settings)
	if opts.api.openapi == "" && opts.model == "" {
		return nil, fmt.Errorf("the description of the API is unknown: %s has no source", p.Name(apiSettingsFile))
	}
	from, err := c.chooseResource(opts, settings)
	if err != nil {
		return nil, err
	}
	return from, from.derive(p.TypeName)
}

// printDecisions prints the reason of each decision, and what the schema cannot express.
func (c *app) printDecisions(decisions, lost []api.Decision) error {
	for _, part := range []struct {
		heading string
		list    []api.Decision
	}{{"decision", decisions}, {"not in the schema", lost}} {
		if len(part.list) == 0 {
			continue
		}
		c.printf("\n")
		err := c.table("PROPERTY\t"+strings.ToUpper(part.heading)+"\tREASON", func(w *tabwriter.Writer) {
			for _, one := range part.list {
				subject := one.Subject
				if subject == "" {
					subject = "-"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", subject, words.Flat(one.Choice), words.Flat(one.Reason))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// --- list

// apiResource is a resource, or what is not one, as scripts read it.
type apiResource struct {
	Name        string         `json:"name"`
	ID          string         `json:"id"`
	By          string         `json:"by,omitempty"` // shapes, names or paths
	Identifiers []string       `json:"identifiers,omitempty"`
	Operations  []apiOperation `json:"operations"`
	Reason      string         `json:"reason,omitempty"` // why it is not a resource
}

type apiOperation struct {
	Action string `json:"action"`
	Name   string `json:"name"`
	Method string `json:"method"`
	Path   string `json:"path"`
}

func apiOperations(steps []api.Step) []apiOperation {
	out := []apiOperation{}
	for _, s := range steps {
		out = append(out, apiOperation{s.Action, s.Operation.Name, s.Operation.Method, s.Operation.Path})
	}
	return out
}

// listAPIResources prints the resources of an API.
func (c *app) listAPIResources(opts initOptions) error {
	if (opts.api.openapi == "") == (opts.model == "") {
		return usagef("--list needs --from-openapi or --from-smithy")
	}
	a, problems, err := c.readAPI(opts)
	if err != nil {
		return err
	}
	if err := diag.Print(c.Stderr, problems, "text"); err != nil {
		return err
	}
	resources, others := []apiResource{}, []apiResource{}
	for _, r := range a.Resources {
		resources = append(resources, apiResource{Name: r.Name, ID: r.ID, By: r.By, Identifiers: r.Identifiers, Operations: apiOperations(r.Steps())})
	}
	for _, o := range a.Others {
		others = append(others, apiResource{Name: o.Name, ID: o.ID, Operations: apiOperations(o.Steps), Reason: o.Reason})
	}
	if c.format == "json" {
		return c.printJSON(struct {
			API       string        `json:"api"`
			Protocol  string        `json:"protocol"`
			Resources []apiResource `json:"resources"`
			Others    []apiResource `json:"others"`
		}{a.Name, a.Protocol, resources, others})
	}
	for _, r := range resources {
		c.printf("%s  %s  found by %s\n", words.Flat(r.Name), words.Flat(r.ID), r.By)
		for _, op := range r.Operations {
			c.printf("  %-6s  %s\n", op.Action, words.Flat(op.Name))
		}
	}
	if len(others) > 0 {
		c.printf("\nNot resources:\n")
		for _, o := range others {
			c.printf("  %s  %s: %s\n", words.Flat(o.Name), words.Flat(o.ID), words.Flat(o.Reason))
		}
	}
	c.printf("\n%s, %d not\n", words.Count(len(resources), "resource"), len(others))
	return nil
}
