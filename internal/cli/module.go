package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// moduleOptions are the options of the commands for modules in templates.
type moduleOptions struct {
	folders    []string
	pins       []string
	parameters []string
	region     string
	sourceMap  bool
	ignoreLock bool
}

func newModule(c *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "module",
		Short: "Expand the modules in templates, and pin their versions",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.printf("%s", helpText(cmd))
			return nil
		},
		Annotations: map[string]string{"log": "none"},
	}
	cmd.AddCommand(newModuleExpand(c), newModuleLock(c), newModuleOutdated(c))
	return cmd
}

func newModuleExpand(c *app) *cobra.Command {
	var opts moduleOptions
	cmd := &cobra.Command{
		Use:   "expand TEMPLATE",
		Short: "Print a template with its modules expanded",
		Long: `Print a template with its modules expanded, as JSON: the template that CloudFormation deploys.

Modules are module projects (folders with .rpdk-config) and packages of cfn package (*.zip) in the
folders of --modules or below them; without the option, in the folder modules beside the template.
The lock file of "cfn module lock", if there is one, says which version of a module is used.

The result is checked as by "cfn template check". Errors name the line of the template or of the
fragment. With --source-map, each line of the output is printed after the position where it was
written; --format json has the template, its modules and the source map.

Loops of AWS::LanguageExtensions are expanded first. Other transforms are not run.

Exit code: 0 without errors, 1 with errors or if a file cannot be read, 2 for a usage error.`,
		Example: `  cfn module expand stack.yaml --modules ../modules
  cfn module expand stack.yaml --source-map
  cfn module expand stack.yaml --format json | jq .sourceMap`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := templateArgument(cmd, args)
			if err != nil {
				return err
			}
			in := template.InspectInput{Pseudo: template.Pseudo{AccountID: "123456789012", Region: opts.region, StackName: "stack"}}
			if in.Supplied, err = suppliedParameters(cmd, opts.parameters); err != nil {
				return err
			}
			return c.moduleExpand(cmd.Context(), file, opts, in)
		},
	}
	flags := cmd.Flags()
	c.moduleFlags(cmd, &opts)
	flags.BoolVar(&opts.sourceMap, "source-map", false, "print before each line where it was written")
	flags.BoolVar(&opts.ignoreLock, "ignore-lock", false, "do not read the lock file")
	flags.StringArrayVar(&opts.parameters, "parameter", nil, "use `KEY=VALUE` as the value of a parameter, for loops (may be repeated)")
	flags.StringVar(&opts.region, "region", "us-east-1", "expand loops for the `REGION`")
	annotate(flags, addition, "source-map", "ignore-lock", "parameter", "region")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) moduleFlags(cmd *cobra.Command, opts *moduleOptions) {
	cmd.Flags().StringArrayVar(&opts.folders, "modules", nil, "find modules in the folder `DIR` (may be repeated)")
	annotate(cmd.Flags(), addition, "modules")
}

// templateArgument is the only argument of a command.
func templateArgument(cmd *cobra.Command, args []string) (string, error) {
	switch len(args) {
	case 0:
		return "", &usageError{command: cmd, message: "missing argument: TEMPLATE", hint: "pass the template that uses the modules"}
	case 1:
		return args[0], nil
	}
	return "", &usageError{command: cmd, message: fmt.Sprintf("unexpected argument: %s", strings.Join(args[1:], " "))}
}

// An expandedTemplate is a template with its modules expanded.
type expandedTemplate struct {
	file      string // as given
	root      *document.Value
	instances []module.Instance
	modules   *localModules
}

func (c *app) moduleExpand(ctx context.Context, file string, opts moduleOptions, in template.InspectInput) error {
	expanded, err := c.expandModules(ctx, file, opts, in)
	if err != nil {
		return err
	}
	text, lines := module.Print(expanded.root)
	switch {
	case c.format == "json":
		return c.printJSON(expanded.report(text, lines))
	case !opts.sourceMap:
		c.printf("%s", text)
		return nil
	}
	places := map[int]string{}
	for _, line := range lines {
		places[line.Line] = line.At.String()
	}
	width := 0
	for _, place := range places {
		width = max(width, len(place))
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		c.printf("%-*s  %s", width, places[n], line)
	}
	return nil
}

// expandModules reads, expands and checks a template.
func (c *app) expandModules(ctx context.Context, file string, opts moduleOptions, in template.InspectInput) (*expandedTemplate, error) {
	data, err := document.ReadHead(c.path(file), template.MaxBytes+1)
	if err != nil {
		return nil, missingFile(err, file, hintTemplate)
	}
	t, err := template.Parse(file, data, template.ParseOptions{})
	if err != nil {
		return nil, refusedHere(err)
	}
	bound, err := t.Bind(ctx, template.BindInput{Supplied: in.Supplied})
	if err != nil && (t.HasTransforms() || len(in.Supplied) > 0) { // which need all of them
		return nil, refusedHere(err)
	}
	modules, err := c.findModules(ctx, file, opts)
	if err != nil {
		return nil, err
	}
	out := &expandedTemplate{file: file, modules: modules}
	expander := &module.Expander{Fragments: modules}
	processed, err := t.Expand(ctx, template.ExpandInput{Parameters: bound, Pseudo: in.Pseudo, Modules: expander})
	if err == nil {
		err = processed.Check(ctx, nil)
	}
	if err != nil {
		return nil, refusedHere(err)
	}
	out.root, out.instances = processed.Root(), expander.Instances
	return out, nil
}

// refusedHere makes refusals the problems of the files that they are in.
func refusedHere(err error) error {
	if refused := template.Refused(err); refused != nil {
		for _, r := range refused {
			if r.ID == "template/unknown-types" {
				r.Hint = hintModules
			}
		}
		problems := refused.Problems()
		problems.Sort()
		return problems.Err()
	}
	return err
}

// The shapes of cfn module expand --format json.
type (
	expandReport struct {
		Template  *document.Value `json:"template"`
		Text      string          `json:"text"` // what the lines of the source map count
		Modules   []moduleReport  `json:"modules"`
		SourceMap []lineReport    `json:"sourceMap"`
	}
	moduleReport struct {
		LogicalID string `json:"logicalId"`
		Type      string `json:"type"`
		Fragment  string `json:"fragment"`
		SHA256    string `json:"sha256"`
	}
	lineReport struct {
		Line         int    `json:"line"`
		File         string `json:"file"`
		SourceLine   int    `json:"sourceLine"`
		SourceColumn int    `json:"sourceColumn"`
	}
)

func (t *expandedTemplate) report(text []byte, lines []module.Line) expandReport {
	out := expandReport{Template: t.root, Text: string(text), Modules: []moduleReport{}, SourceMap: []lineReport{}}
	for _, i := range t.instances {
		used := t.modules.used[i.Type]
		out.Modules = append(out.Modules, moduleReport{i.LogicalID, i.Type, filepath.ToSlash(used.fragment.File), used.hash})
	}
	for _, line := range lines {
		out.SourceMap = append(out.SourceMap, lineReport{line.Line, line.At.File, line.At.Start.Line, line.At.Start.Column})
	}
	return out
}

// moduleTable prints the state of modules against the lock file.
func (c *app) moduleTable(states []moduleState) error {
	return c.table("MODULE\tSTATE\tLOCKED\tFOUND", func(w *tabwriter.Writer) {
		for _, s := range states {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Type, s.State, orDash(s.Locked), orDash(s.Found))
		}
	})
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
