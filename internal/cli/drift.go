package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/drift"
)

func newDrift(c *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drift",
		Short: "Test drift detection and property transforms",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.printf("%s", helpText(cmd))
			return nil
		},
		Annotations: map[string]string{"log": "none"},
	}
	cmd.AddCommand(newDriftCompare(c))
	return cmd
}

// driftOptions are the files of a comparison.
type driftOptions struct{ schema, expected, actual string }

func newDriftCompare(c *app) *cobra.Command {
	var opts driftOptions
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Compare the properties of a template with what a read handler returned",
		Long: `Compare the properties of a template with what a read handler returned, as drift detection does.

Both are models: the properties of one resource, as JSON or YAML. Properties that the template does
not set are not compared, nor are read-only and write-only properties. If a property differs, cfn
applies its propertyTransform from the schema to the expected value, trying the alternatives of $OR in
order. If the result is a string, it may also match the whole actual value as a regular expression.

For each difference, cfn shows the expected value, the transformed value and the actual value. A
transform that cannot be compiled or evaluated never hides a difference; its error is printed on
standard error.

Exit code: 0 if in sync, 1 if modified or a file cannot be read, 2 for a usage error.`,
		Example: `  cfn drift compare --expected template.json --actual read.json
  cfn drift compare --schema acme-jobs-queue.json --expected e.yaml --actual a.json --format json`,
		Args:        noArguments,
		Annotations: map[string]string{"log": "none"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return c.driftCompare(cmd.Context(), opts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.schema, "schema", "", "the schema `FILE` of the type (default: the schema of the project)")
	flags.StringVar(&opts.expected, "expected", "", "the `FILE` with the properties that the template sets")
	flags.StringVar(&opts.actual, "actual", "", "the `FILE` with the properties that the read handler returned")
	annotate(flags, addition, "schema", "expected", "actual")
	c.formatFlag(cmd, "text", "json")
	c.referenceFlags(cmd)
	return cmd
}

func (c *app) driftCompare(ctx context.Context, opts driftOptions) error {
	for _, required := range []struct{ name, value, what string }{
		{"expected", opts.expected, "the properties that the template sets"},
		{"actual", opts.actual, "the properties that the read handler returned"},
	} {
		if required.value == "" {
			return &usageError{message: "missing option --" + required.name, hint: "--" + required.name + " FILE: " + required.what}
		}
	}
	s, err := c.driftSchema(ctx, opts.schema)
	if err != nil {
		return err
	}
	expected, err := c.readModel(opts.expected, "expected")
	if err != nil {
		return err
	}
	actual, err := c.readModel(opts.actual, "actual")
	if err != nil {
		return err
	}
	detector, problems := drift.New(s, drift.Config{})
	result, err := detector.Compare(ctx, expected, actual)
	if err != nil {
		return err
	}
	problems = append(problems, result.Problems...)
	problems.Sort()
	if err := diag.Print(c.Stderr, problems, "text"); err != nil {
		return err
	}
	if err := c.printDrift(result); err != nil {
		return err
	}
	if result.Status != drift.InSync {
		return &exitError{code: exitFailure}
	}
	return nil
}

// driftSchema reads the schema that is named, or that of the project.
func (c *app) driftSchema(ctx context.Context, name string) (*schema.Schema, error) {
	if name == "" {
		p, s, err := c.loadProject(ctx)
		if err == nil && s == nil {
			err = fmt.Errorf("%s is a module: it has no read handler, so it cannot drift", p.TypeName)
		}
		return s, err
	}
	data, err := readSchemaFile(c.path(name))
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	cfg, err := c.schemaConfig(ctx)
	if err != nil {
		return nil, err
	}
	s, problems := schema.Load(name, data, cfg)
	c.hintReferences(problems)
	return s, problems.Err()
}

// readModel reads the properties of one resource.
func (c *app) readModel(name, what string) (any, error) {
	data, err := readSchemaFile(c.path(name))
	if err != nil {
		return nil, fmt.Errorf("read the %s model: %w", what, err)
	}
	v, problems := document.Parse(name, data, document.Limits{})
	if !problems.HasErrors() && v.Kind != document.Object {
		problems.Add(diag.Problem{
			ID: "drift/model", At: v.At, Message: fmt.Sprintf("the %s model must be an object but is of type %s", what, v.Kind),
		})
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return v.Any(), nil
}

// driftJSON is a difference in the format of DescribeStackResourceDrifts. A missing value is
// null.
type driftJSON struct {
	PropertyPath   string
	ExpectedValue  any
	ActualValue    any
	DifferenceType string
}

func (c *app) printDrift(result drift.Result) error {
	if c.format == "json" {
		differences := make([]driftJSON, 0, len(result.Differences))
		for _, d := range result.Differences {
			differences = append(differences, driftJSON{d.PropertyPath.String(), d.ExpectedValue, d.ActualValue, d.DifferenceType})
		}
		return c.printJSON(struct {
			Status      string      `json:"status"`
			Differences []driftJSON `json:"differences"`
		}{result.Status, differences})
	}
	for _, d := range result.Differences {
		c.printf("%s: %s\n", d.PropertyPath, d.DifferenceType)
		if d.DifferenceType != drift.Add {
			c.printf("    expected:    %s\n", driftText(d.ExpectedValue))
		}
		for _, value := range d.Transformed {
			c.printf("    transformed: %s\n", driftText(value))
		}
		if d.DifferenceType != drift.Remove {
			c.printf("    actual:      %s\n", driftText(d.ActualValue))
		}
	}
	c.printf("%s\n", result.Status)
	return nil
}

// driftText is a value of a model, or what a transform made of one, on one line.
func driftText(v any) string {
	text, err := compactJSON(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
