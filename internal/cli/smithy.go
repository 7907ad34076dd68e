package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/smithy"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func newSmithy(c *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "smithy",
		Short: "Check Smithy models and convert them to resource schemas",
		Long: `Check Smithy models and convert them to resource schemas, without Java.

A MODEL is a file of the Smithy IDL 1.0 or 2.0 (.smithy), a JSON AST (.json), a folder with
such files at any depth, or a .jar with a META-INF/smithy/manifest. Several are read as one
model. The definitions of the traits of smithy.api and of the AWS namespaces api, auth,
cloudformation, iam and protocols are built in.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.printf("%s", helpText(cmd))
			return nil
		},
		Annotations: map[string]string{"log": "none"},
	}
	cmd.AddCommand(newSmithyConvert(c), newSmithyAST(c), newSmithyValidate(c))
	return cmd
}

// smithyModels is for commands that take models as arguments.
func smithyModels(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("missing argument: MODEL, a .smithy or .json file, a folder or a .jar")
	}
	return nil
}

func (c *app) strictFlag(cmd *cobra.Command, strict *bool) {
	cmd.Flags().BoolVar(strict, "strict", false, "report traits without a definition as errors, as the official tool does")
}

// loadModels reads models and checks them. Places in the events name the files as they
// were given.
func (c *app) loadModels(args []string, strict bool) (*smithy.Model, smithy.Events, error) {
	var sources []smithy.Source
	for _, arg := range args {
		more, err := smithy.ReadSources(c.path(arg))
		if err != nil {
			return nil, nil, err
		}
		for _, s := range more {
			s.File = filepath.ToSlash(c.shown(filepath.FromSlash(s.File)))
			sources = append(sources, s)
		}
	}
	done := c.progress("Reading %d model files", len(sources))
	defer done()
	m, events := smithy.Load(sources, smithy.Config{Strict: strict})
	return m, smithy.Validate(m, events), nil
}

// fitModels is loadModels for commands that need a model without faults.
func (c *app) fitModels(args []string, strict bool) (*smithy.Model, smithy.Events, error) {
	m, events, err := c.loadModels(args, strict)
	if err != nil {
		return nil, nil, err
	}
	if events.Fatal() {
		var fatal diag.List
		for _, p := range events.Problems() {
			if p.Severity == diag.Error {
				fatal.Add(p)
			}
		}
		return nil, nil, withHint(fatal.Err(), "an ERROR or a DANGER stops the conversion; a DANGER can be suppressed in the model. "+
			"cfn smithy validate shows all events")
	}
	return m, events, nil
}

// --- validate

func newSmithyValidate(c *app) *cobra.Command {
	strict := false
	cmd := &cobra.Command{
		Use:   "validate MODEL...",
		Short: "Check Smithy models",
		Long: `Check Smithy models: syntax, shapes, traits, resources, HTTP bindings, CloudFormation traits.
Event IDs, severities and texts are those of the official tool. The text format leaves out suppressed
events. Traits without a definition are warnings, or errors with --strict.

Exit code: 0, or 1 if there is an ERROR, or a DANGER that is not suppressed.`,
		Example: `  cfn smithy validate model/
  cfn smithy validate weather.smithy tagging.smithy --format json`,
		Args:        smithyModels,
		Annotations: map[string]string{"log": "none"},
		RunE:        func(_ *cobra.Command, args []string) error { return c.smithyValidate(args, strict) },
	}
	c.strictFlag(cmd, &strict)
	c.formatFlag(cmd, "text", "json", "github")
	return cmd
}

func (c *app) smithyValidate(args []string, strict bool) error {
	_, events, err := c.loadModels(args, strict)
	if err != nil {
		return err
	}
	switch c.format {
	case "json":
		err = c.printJSON(struct {
			Events []smithyEvent `json:"events"`
		}{smithyEvents(events)})
	case "github":
		err = diag.Print(c.Stdout, events.Problems(), c.format)
	default:
		c.printEvents(events)
	}
	if err == nil && events.Fatal() {
		err = &exitError{code: exitFailure}
	}
	return err
}

// smithyEvent fixes the names and the order of the members that scripts read.
type smithyEvent struct {
	ID       string `json:"id"`
	Severity string `json:"severity"` // as in Smithy: "DANGER"
	Shape    string `json:"shape"`    // "" if the event is about no shape
	Message  string `json:"message"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Reason   string `json:"reason,omitempty"` // why it was suppressed
}

func smithyEvents(events smithy.Events) []smithyEvent {
	out := []smithyEvent{}
	for _, e := range events {
		out = append(out, smithyEvent{
			ID: e.ID, Severity: e.Severity.String(), Shape: string(e.Shape), Message: e.Message,
			File: e.At.File, Line: e.At.Start.Line, Column: e.At.Start.Column, Reason: e.Reason,
		})
	}
	return out
}

func (c *app) printEvents(events smithy.Events) {
	counts := map[smithy.Severity]int{}
	for _, e := range events {
		counts[e.Severity]++
		if e.Severity == smithy.SuppressedSeverity {
			continue
		}
		if at := e.At.String(); at != "" {
			c.printf("%s: ", at)
		}
		message := strings.ReplaceAll(e.Message, "\n", "\n    ")
		if e.Shape != "" {
			message = string(e.Shape) + ": " + message
		}
		c.printf("%s: %s [%s]\n", e.Severity, message, e.ID)
		if e.Hint != "" {
			c.printf("    hint: %s\n", e.Hint)
		}
	}
	summary := "Model is valid"
	if events.Fatal() {
		summary = "Model is not valid"
	}
	var parts []string
	for _, s := range []smithy.Severity{smithy.ErrorSeverity, smithy.DangerSeverity, smithy.WarningSeverity, smithy.NoteSeverity, smithy.SuppressedSeverity} {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	if parts != nil {
		summary += ": " + strings.Join(parts, ", ")
	}
	c.printf("%s.\n", summary)
}

// --- ast

func newSmithyAST(c *app) *cobra.Command {
	var output string
	strict := false
	cmd := &cobra.Command{
		Use:   "ast MODEL...",
		Short: "Write Smithy models as one JSON AST",
		Long: `Write Smithy models as one JSON AST of version 2.0: files are merged, references are absolute, shapes
and traits are sorted, and defaults of version 1.0 are explicit. Mixins are kept separate.`,
		Example: `  cfn smithy ast model/ > model.json
  cfn smithy ast main.smithy --output model.json`,
		Args:        smithyModels,
		Annotations: map[string]string{"log": "none"},
		RunE: func(_ *cobra.Command, args []string) error {
			m, _, err := c.fitModels(args, strict)
			if err != nil {
				return err
			}
			if output == "" {
				c.printf("%s", smithy.WriteAST(m))
				return nil
			}
			if err := c.writeFile(output, smithy.WriteAST(m), 0o644); err != nil {
				return fmt.Errorf("write %s: %w", output, err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `FILE` instead of standard output")
	c.strictFlag(cmd, &strict)
	return cmd
}

// --- convert

// smithyOptions are the options of a conversion.
type smithyOptions struct {
	service, config, projection string
	strict, modern              bool
	output                      string
	report                      bool
}

func newSmithyConvert(c *app) *cobra.Command {
	var opts smithyOptions
	cmd := &cobra.Command{
		Use:   "convert MODEL...",
		Short: "Convert the resources of a Smithy service to resource schemas",
		Long: `Convert the resources with the trait aws.cloudformation#cfnResource in the closure of a service
to resource schemas, one file each, byte for byte as the official converter writes them.
--modern turns its quirks off; docs/smithy.md lists them.

Settings are read from the plugin "cloudformation" in a smithy-build.json. --service selects the
service and overrides that of the settings. The schemas are checked as cfn validate does. Parts of the
model that a schema cannot express, and warnings about the schemas, are counted; --report and
--format json list them.

Exit code: 0; 1 if the model, a setting or a schema has errors. Schemas with errors are still written,
but nothing is written if the model or a setting has errors.`,
		Example: `  cfn smithy convert model/ --service example.weather#Weather --output schemas
  cfn smithy convert model.json --config smithy-build.json --output schemas --report`,
		Args:        smithyModels,
		Annotations: map[string]string{"log": "none"},
		RunE:        func(_ *cobra.Command, args []string) error { return c.smithyConvert(args, opts) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&opts.output, "output", "o", "", "the folder `DIR` for the schemas, which is created if necessary")
	c.smithyFlags(cmd, &opts)
	flags.BoolVar(&opts.report, "report", false, "list the parts of the model that schemas cannot express, and warnings")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// smithyFlags are the options for the conversion of a model.
func (c *app) smithyFlags(cmd *cobra.Command, opts *smithyOptions) {
	flags := cmd.Flags()
	flags.StringVar(&opts.service, "service", "", "the `ID` of the service, as namespace#Name")
	flags.StringVar(&opts.config, "config", "", "the smithy-build.json `FILE` with the settings of the plugin cloudformation")
	flags.StringVar(&opts.projection, "projection", "", "use the settings of the projection `NAME`")
	flags.BoolVar(&opts.modern, "modern", false, "leave out the quirks of the official converter")
	c.strictFlag(cmd, &opts.strict)
}

// convertSmithy converts models. The list contains the warnings.
func (c *app) convertSmithy(args []string, opts smithyOptions, settings smithy.Settings) ([]smithy.Converted, diag.List, error) {
	m, _, err := c.fitModels(args, opts.strict)
	if err != nil {
		return nil, nil, err
	}
	schemas, problems := smithy.Convert(m, settings)
	if err := problems.Err(); err != nil {
		return nil, nil, err
	}
	if len(schemas) == 0 {
		return nil, nil, withHint(fmt.Errorf("service %s has no resource with the trait aws.cloudformation#cfnResource", settings.Service),
			"apply the trait to the resources that you want to convert; cfn init --resource NAME needs no traits, and --list shows the resources")
	}
	return schemas, problems, nil
}

func (c *app) smithySettings(opts smithyOptions) (smithy.Settings, error) {
	var settings smithy.Settings
	if opts.config != "" {
		data, err := document.ReadFile(c.path(opts.config), 8<<20)
		if err != nil {
			return settings, fmt.Errorf("read the settings: %w", err)
		}
		var problems diag.List
		settings, problems = smithy.ParseSettings(opts.config, data, opts.projection)
		if err := problems.Err(); err != nil {
			return settings, err
		}
	} else if opts.projection != "" {
		return settings, usagef("--projection needs --config")
	}
	if opts.service != "" {
		settings.Service = smithy.ID(opts.service)
	}
	settings.Modern = opts.modern
	return settings, nil
}

func (c *app) smithyConvert(args []string, opts smithyOptions) error {
	if opts.output == "" {
		return usagef("missing option --output DIR, the folder for the schemas")
	}
	settings, err := c.smithySettings(opts)
	if err != nil {
		return err
	}
	schemas, problems, err := c.convertSmithy(args, opts, settings)
	if err != nil {
		return err
	}
	dir := c.path(opts.output)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the folder for the schemas: %w", err)
	}
	var found diag.List // in the schemas
	for _, s := range schemas {
		path := filepath.Join(dir, s.File)
		if err := c.writeFile(path, s.JSON(), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		for _, p := range s.Check() {
			p.At.File = filepath.ToSlash(c.shown(path))
			found.Add(p)
		}
	}
	if err := c.printConverted(schemas, problems, found, opts); err != nil {
		return err
	}
	if found.HasErrors() {
		return &exitError{code: exitFailure}
	}
	return nil
}

func (c *app) printConverted(schemas []smithy.Converted, problems, found diag.List, opts smithyOptions) error {
	type converted struct {
		TypeName string          `json:"typeName"`
		Resource string          `json:"resource"`
		File     string          `json:"file"`
		Lost     json.RawMessage `json:"lost"` // problems
	}
	shown := func(s smithy.Converted) string {
		return filepath.ToSlash(c.shown(filepath.Join(c.path(opts.output), s.File)))
	}
	if c.format == "json" {
		out := struct {
			Schemas  []converted     `json:"schemas"`
			Problems json.RawMessage `json:"problems"`
		}{}
		var err error
		for _, s := range schemas {
			entry := converted{TypeName: s.TypeName, Resource: string(s.Resource), File: shown(s)}
			if entry.Lost, err = problemsJSON(s.Lost); err != nil {
				return err
			}
			out.Schemas = append(out.Schemas, entry)
		}
		if out.Problems, err = problemsJSON(append(problems, found...)); err != nil {
			return err
		}
		return c.printJSON(out)
	}
	lost := 0
	for _, s := range schemas {
		c.printf("%s  %s\n", shown(s), s.TypeName)
		lost += len(s.Lost)
		if opts.report {
			if err := diag.Print(c.Stdout, s.Lost, "text"); err != nil {
				return err
			}
		}
	}
	return c.printFound(problems, found, lost, opts.report)
}

// printFound prints the problems of the conversion and of the schemas: errors, the warnings of
// the conversion, and with --report the rest, otherwise its number.
func (c *app) printFound(problems, found diag.List, lost int, report bool) error {
	var shown diag.List
	for _, p := range found {
		if p.Severity == diag.Error || report {
			shown.Add(p)
		}
	}
	if err := diag.Print(c.Stderr, append(problems, shown...), "text"); err != nil {
		return err
	}
	if report {
		return nil
	}
	if hidden := len(found) - len(shown); hidden+lost > 0 {
		c.notef("warnings about the schemas: %d, parts of the model that a schema cannot express: %d; pass --report to list them\n", hidden, lost)
	}
	return nil
}

// problemsJSON is the array of problems that diag prints.
func problemsJSON(list diag.List) (json.RawMessage, error) {
	var b strings.Builder
	if err := diag.Print(&b, list, "json"); err != nil {
		return nil, err
	}
	var out struct{ Problems json.RawMessage }
	err := json.Unmarshal([]byte(b.String()), &out)
	return out.Problems, err
}

// --- init

// settleModel converts the Smithy model that a project is to start from, and settles the
// kind and the name of the type.
func (c *app) settleModel(opts *initOptions, config *project.InitConfig) error {
	if opts.model == "" {
		if opts.smithy.service != "" || opts.smithy.config != "" || opts.smithy.modern {
			return usagef("--service, --smithy-config and --modern need --from-smithy")
		}
		return nil
	}
	if kind, _ := parseKind(opts.kind); opts.kind != "" && kind != schema.Resource {
		return usagef("--from-smithy starts resource types only")
	}
	if opts.typeName != "" && !project.ValidTypeName(schema.Resource, opts.typeName) {
		return usagef("%s", typeNameError(schema.Resource))
	}
	settings, err := c.smithySettings(opts.smithy)
	if err != nil {
		return err
	}
	if parts := strings.Split(opts.typeName, "::"); len(parts) == 3 {
		settings.OrganizationName = cmp.Or(settings.OrganizationName, parts[0])
		settings.ServiceName = cmp.Or(settings.ServiceName, parts[1])
	}
	schemas, problems, err := c.convertSmithy([]string{opts.model}, opts.smithy, settings)
	if err != nil {
		return err
	}
	if err := diag.Print(c.Stderr, problems, "text"); err != nil {
		return err
	}
	var names []string
	for _, s := range schemas {
		names = append(names, s.TypeName)
	}
	i := slices.Index(names, opts.typeName)
	switch {
	case opts.typeName == "" && len(schemas) == 1:
		i = 0
	case opts.typeName == "":
		return usagef("the model has several resources: select one with --type-name: %s", strings.Join(names, ", "))
	case i < 0:
		return usagef("the model has no %s: select a resource with --type-name: %s", opts.typeName, strings.Join(names, ", "))
	}
	chosen := schemas[i]
	if !project.ValidTypeName(schema.Resource, chosen.TypeName) {
		return withHint(fmt.Errorf("%s is not a valid type name", chosen.TypeName), "set the name of the resource in the member name of the trait cfnResource")
	}
	path := filepath.Join(c.projectDir(), chosen.File)
	if _, err := os.Stat(path); err == nil && !config.Overwrite {
		return withHint(fmt.Errorf("schema already exists: %s", c.shown(path)), "pass --force to overwrite it")
	}
	opts.kind, opts.typeName = string(schema.Resource), chosen.TypeName
	config.Schema = chosen.JSON()
	return nil
}
