package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// exportOptions are the options of cfn types export.
type exportOptions struct {
	schemas   []string
	registry  bool
	cdk, tool string
}

func newTypesExport(c *app, opts *typesOptions) *cobra.Command {
	o := &exportOptions{}
	cmd := &cobra.Command{
		Use:   "export [TYPE…] DIR",
		Short: "Write the schemas of types for other tools, or constructs for the AWS CDK",
		Long: `Write the schemas of resource types into a folder, one file for each, such as acme-mail-queue.json: the
format of the registry, which cfn-lint reads with --registry-schemas. Without TYPE, these are the types of
the projects in the working folder and below, with --registry also those that the account registered.

A TYPE is looked up as by cfn template check: in the projects, in --schemas, with --registry in the
registry of cfn serve or AWS, in the imported schemas, and among the types of cfn serve.

--for validate leaves out the keywords for which cloudformation-validate refuses a whole run, and lists
them; pass the folder to its --additional-schema.

--cdk writes an L1 construct for each resource type and module instead, such as acme-mail-queue.ts. It
needs only the packages aws-cdk-lib and constructs. Files that cfn did not write are not replaced.

Exit code: 0; 1 if a schema is missing or cannot be used; 2 if the registry returned an error.`,
		Example: `  cfn types export schemas
  cfn types export --registry Acme::Mail::Queue schemas
  cfn types export --cdk typescript lib/generated`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("the following arguments are required: DIR")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			return c.exportTypes(cmd.Context(), opts, o, args[:last], args[last])
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.schemas, "schemas", nil, "find the schemas of types in the folder or zip `PATH` (may be repeated)")
	flags.BoolVar(&o.registry, "registry", false, "read the schemas of types from the registry of cfn serve or AWS")
	flags.Var(&enum{&o.tool, []string{"registry", "validate"}}, "for", "the tool that reads the schemas: `registry|validate` (default: registry, which cfn-lint reads, too)")
	annotate(flags, addition, "registry")
	flags.Var(&enum{&o.cdk, codegen.CDKLanguages}, "cdk", "write constructs for the AWS CDK in a language: `typescript|python`")
	cmd.MarkFlagsMutuallyExclusive("cdk", "for")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// An exportedType is a file that cfn types export wrote.
type exportedType struct {
	TypeName string   `json:"typeName"`
	File     string   `json:"file"`
	LeftOut  []string `json:"leftOut"` // pointers to the keywords that --for validate left out
}

func (c *app) exportTypes(ctx context.Context, opts *typesOptions, o *exportOptions, names []string, dir string) error {
	if info, err := os.Stat(c.path(dir)); err == nil && !info.IsDir() || strings.Contains(dir, "::") {
		return withHint(fmt.Errorf("%s is not a folder", dir), "name the folder after the types: cfn types export TYPE DIR")
	}
	source, err := c.openSchemas(ctx, &checkOptions{schemas: o.schemas, registry: o.registry, remote: opts.remoteOptions, region: "us-east-1"})
	if err != nil {
		return err
	}
	defer source.close()
	if len(names) == 0 {
		if names, err = source.exported(o.cdk != ""); err != nil {
			return err
		}
		if len(names) == 0 {
			return withHint(errors.New("no types in the projects of the working folder and below"), "name types, pass --registry, or run the command in the folder of the projects")
		}
	}
	var out []exportedType
	var written []codegen.File
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		file, exported, err := source.export(name, o)
		if err != nil {
			return err
		}
		written, out = append(written, file), append(out, exported)
	}
	if err := os.MkdirAll(c.path(dir), 0o777); err != nil {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	for i, file := range written {
		if err := c.writeExport(dir, file); err != nil {
			return err
		}
		for _, at := range out[i].LeftOut {
			c.notef("warning: %s: cloudformation-validate cannot read %s: it is left out\n", out[i].TypeName, at)
		}
	}
	if c.format == "json" {
		return c.printJSON(map[string]any{"types": out})
	}
	c.printf("Exported %s to %s.\n", words.Count(len(out), "type"), dir)
	return nil
}

// writeExport writes a file below a folder. What somebody else wrote stays: a construct that is not generated.
func (c *app) writeExport(dir string, file codegen.File) error {
	name := c.path(dir) + string(os.PathSeparator) + file.Path
	if file.Mode == codegen.Generated {
		before, err := document.ReadHead(name, 1024)
		if err == nil && !codegen.IsGenerated(file.Path, before) {
			return withHint(fmt.Errorf("%s was not written by cfn", c.shown(name)), "move it, or export to another folder")
		}
	}
	if err := files.Write(c.path(dir), file.Path, file.Data, 0o666); err != nil {
		return fmt.Errorf("write %s: %w", c.shown(name), err)
	}
	return nil
}

// exported lists the types that are exported if none is named.
func (s *schemaSource) exported(modules bool) ([]string, error) {
	if err := s.searchProjects(); err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Keys(s.projects))
	if modules {
		names = append(names, slices.Collect(maps.Keys(s.modules))...)
	}
	if s.remote == nil {
		return names, nil
	}
	inputs := []cloudformation.ListTypesInput{}
	for _, provisioning := range types.ProvisioningType("").Values() {
		inputs = append(inputs, cloudformation.ListTypesInput{Type: types.RegistryTypeResource, ProvisioningType: provisioning})
	}
	if modules {
		inputs = append(inputs, cloudformation.ListTypesInput{Type: types.RegistryTypeModule})
	}
	for _, input := range inputs {
		for t, err := range s.remote.Types(s.ctx, input) {
			if err != nil {
				return nil, s.app.serviceError(err)
			}
			names = append(names, aws.ToString(t.TypeName))
		}
	}
	return names, nil
}

// export makes the file of a type.
func (s *schemaSource) export(name string, o *exportOptions) (codegen.File, exportedType, error) {
	kind := schema.Resource
	if strings.HasSuffix(name, "::MODULE") {
		kind = schema.Module
	}
	fail := func(err error) (codegen.File, exportedType, error) { return codegen.File{}, exportedType{}, err }
	if kind == schema.Module && o.cdk == "" {
		return fail(withHint(fmt.Errorf("%s is a module: only resource types are exported as schemas", name), "pass --cdk for its construct"))
	}
	text, err := s.exportText(name, kind)
	if err != nil {
		return fail(err)
	}
	if text == "" {
		return fail(withHint(fmt.Errorf("no schema of %s is known", name), "pass --registry to read it from cfn serve or AWS, --schemas with a folder that has it, or run the command in the folder of its project"))
	}
	parsed, problems := schema.Load(name, []byte(text), schema.Config{Kind: kind})
	if parsed == nil || parsed.TypeName.Value != "" && parsed.TypeName.Value != name {
		return fail(fmt.Errorf("the schema of %s cannot be used: %w", name, problems.Err()))
	}
	file := codegen.File{Path: schema.Hyphenated(name) + ".json", Data: []byte(text)}
	exported := exportedType{TypeName: name, LeftOut: []string{}}
	switch {
	case o.cdk != "":
		if file, err = codegen.CDK(parsed, name, o.cdk); err != nil {
			return fail(err)
		}
	case o.tool == "validate":
		var leftOut []string
		file.Data, leftOut = parsed.Reduced()
		exported.LeftOut = append(exported.LeftOut, leftOut...)
	}
	exported.File = file.Path
	return file, exported, nil
}

// exportText is the schema of a type as its author wrote it.
func (s *schemaSource) exportText(name string, kind schema.Kind) (string, error) {
	if err := s.searchProjects(); err != nil {
		return "", err
	}
	if kind == schema.Module {
		if f := s.modules[name]; f != nil {
			return string(f.Schema(name)), nil
		}
		if s.remote == nil {
			return "", nil
		}
		out, err := s.remote.Describe(s.ctx, &submit.Reference{Name: name, Kind: types.RegistryTypeModule}, "")
		if err != nil {
			return "", s.app.serviceError(err)
		}
		return aws.ToString(out.Schema), nil
	}
	if own := s.projects[name]; own != nil {
		data, err := document.ReadFile(s.app.path(own.File), maxImportSchema)
		return string(data), err
	}
	return s.text(name)
}
