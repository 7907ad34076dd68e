package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	control "github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"golang.org/x/sync/errgroup"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// The bounds of what is read.
const (
	maxResources = template.MaxResources
	maxExports   = 2000
	readers      = 4 // at once: the service limits requests
)

// A deployed stack is what a rehearsal starts from.
type deployed struct {
	stack     *types.Stack
	stacks    map[string]*types.Stack // nested ones, by path
	account   string
	region    string
	template  *source
	policy    string
	resources map[string]*resource // by path
	schemas   map[string]*schema.Schema
	texts     []submit.TypeSchema
	exports   map[string]string   // of other stacks
	imported  []string            // names of exports that other stacks use
	importers map[string][]string // these names, by the stacks that use them
	hooks     []*hooked
	settings  map[string]string // configurations of the types of which handlers run
	remarks   []string
}

// A resource of the deployed stack.
type resource struct {
	LogicalID, Type, PhysicalID string // the first is a path

	model map[string]any // nil if it could not be read
}

func (d *deployed) remark(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.remarks, text) {
		d.remarks = append(d.remarks, text)
	}
}

// read reads a stack, and the templates of its next nested stacks.
func read(ctx context.Context, config *Config) (_ *deployed, err error) {
	d := &deployed{
		stacks: map[string]*types.Stack{}, resources: map[string]*resource{}, schemas: map[string]*schema.Schema{}, exports: map[string]string{}, importers: map[string][]string{}, settings: map[string]string{},
	}
	if d.stack, d.template, err = d.readStack(ctx, config, "", config.Stack, 0); err != nil {
		return nil, err
	}
	id := aws.ToString(d.stack.StackId)
	parts := strings.Split(id, ":")
	if len(parts) < 6 {
		return nil, fmt.Errorf("the service answered with the stack ID %q", id)
	}
	d.region, d.account = parts[3], parts[4]
	client := config.Remote.CloudFormation()
	policy, err := client.GetStackPolicy(ctx, &cloudformation.GetStackPolicyInput{StackName: &id})
	if err != nil {
		return nil, err
	}
	d.policy = aws.ToString(policy.StackPolicyBody)
	if err := config.nextNested(ctx, d, d.template, config.next, "", 0); err != nil {
		return nil, err
	}
	if err := errors.Join(d.template.settle(), config.next.settle()); err != nil {
		return nil, err
	}
	if err := d.readExports(ctx, client); err != nil {
		return nil, err
	}
	if err := d.readHooks(ctx, config); err != nil {
		return nil, err
	}
	return d, d.readModels(ctx, config)
}

// startStatuses are those in which a stack can be updated.
var startStatuses = []types.StackStatus{
	types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusUpdateRollbackComplete, types.StackStatusImportComplete, types.StackStatusImportRollbackComplete,
	types.StackStatusUpdateFailed, types.StackStatusCreateFailed,
}

// readExports reads the exports of other stacks, and which of its own the others use.
func (d *deployed) readExports(ctx context.Context, client *cloudformation.Client) error {
	pages := cloudformation.NewListExportsPaginator(client, &cloudformation.ListExportsInput{})
	ids, names := map[string]bool{aws.ToString(d.stack.StackId): true}, map[string]bool{}
	for _, nested := range d.stacks {
		ids[aws.ToString(nested.StackId)], names[aws.ToString(nested.StackName)] = true, true
	}
	var own []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, e := range page.Exports {
			switch {
			case ids[aws.ToString(e.ExportingStackId)]:
				own = append(own, aws.ToString(e.Name))
			case len(d.exports) < maxExports:
				d.exports[aws.ToString(e.Name)] = aws.ToString(e.Value)
			default:
				d.remark("there are more than %d exports; the others are not known", maxExports)
			}
		}
	}
	for _, name := range own {
		out, err := client.ListImports(ctx, &cloudformation.ListImportsInput{ExportName: &name})
		switch {
		case err == nil:
			importers := slices.DeleteFunc(out.Imports, func(importer string) bool { return names[importer] })
			if len(importers) > 0 {
				d.imported = append(d.imported, name)
			}
			for _, importer := range importers {
				d.importers[importer] = append(d.importers[importer], name)
			}
		case !strings.Contains(err.Error(), "is not imported by any stack"):
			return err
		}
	}
	return nil
}

// readModels reads the schemas of types, and the resources by Cloud Control.
func (d *deployed) readModels(ctx context.Context, config *Config) error {
	names := map[string]bool{}
	for _, r := range d.resources {
		names[r.Type] = true
	}
	for _, t := range []*source{d.template, config.next} {
		for _, typeName := range t.types() {
			names[typeName] = true
		}
	}
	for typeName := range names {
		if ownType(typeName) {
			continue
		}
		if err := d.readType(ctx, config, typeName); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(readers)
	for _, r := range d.resources {
		if r.Type == stackType {
			if d.stacks[r.LogicalID] != nil {
				continue
			}
			nested, err := config.Remote.Stack(ctx, r.PhysicalID)
			if err != nil {
				return err
			}
			r.model = map[string]any{"StackId": r.PhysicalID, "Outputs": outputsOf(nested)}
			continue
		}
		if ownType(r.Type) || d.schemas[r.Type] == nil || d.schemas[r.Type].Handler("read") == nil {
			continue
		}
		group.Go(func() error {
			out, err := config.Remote.Resource(ctx, r.Type, r.PhysicalID)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				err = decode(aws.ToString(out.Properties), &r.model)
			}
			if err != nil && ctx.Err() == nil {
				d.remark("%s (%s) could not be read, so its attributes are made up: %s", r.LogicalID, r.Type, submit.Explain(err).Code)
			}
			return nil
		})
	}
	return cmp.Or(group.Wait(), ctx.Err())
}

func outputsOf(stack *types.Stack) map[string]any {
	out := map[string]any{}
	if stack != nil {
		for _, o := range stack.Outputs {
			out[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
		}
	}
	return out
}

func decode(text string, into *map[string]any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// readType reads the schema of a type. A type without one gets a schema that accepts what the templates have.
func (d *deployed) readType(ctx context.Context, config *Config, typeName string) error {
	out, err := config.Remote.Describe(ctx, &submit.Reference{Name: typeName, Kind: types.RegistryTypeResource}, "")
	var unknown *types.TypeNotFoundException
	if err != nil && !errors.As(err, &unknown) {
		return err
	}
	text := ""
	if err == nil {
		text = aws.ToString(out.Schema)
	}
	if own := config.extension(typeName, schema.Resource); own != nil {
		if d.settings[typeName], err = typeConfiguration(ctx, config, types.ThirdPartyTypeResource, typeName); err != nil {
			config.setAside(typeName, "its configuration could not be read: "+reasonOf(err))
		} else {
			text = string(own.Schema.Root.AppendJSON(nil))
		}
	}
	s, _ := schema.Load(typeName, []byte(text), schema.Config{Kind: schema.Resource})
	if s == nil || text == "" || s.TypeName.Value == "" || len(s.PrimaryIdentifier) == 0 || len(s.Properties()) == 0 {
		d.remark("the schema of %s is not known, so every change of its resources is taken for an update", typeName)
		text = looseSchema(typeName, d.template, config.next)
		var problems diag.List
		if s, problems = schema.Load(typeName, []byte(text), schema.Config{Kind: schema.Resource}); s == nil {
			return problems.Err()
		}
	}
	d.schemas[typeName] = s
	d.texts = append(d.texts, submit.TypeSchema{Name: typeName, Schema: text})
	return nil
}

// conflict reports whether a resource with an identifier exists at the place of the stack.
func (d *deployed) conflict(ctx context.Context, remote *submit.Remote, typeName, identifier string) bool {
	_, err := remote.Resource(ctx, typeName, identifier)
	var missing *control.ResourceNotFoundException
	if err != nil && !errors.As(err, &missing) && ctx.Err() == nil {
		d.remark("%s (%s) could not be read, so whether it exists already is not known: %s", identifier, typeName, submit.Explain(err).Code)
	}
	return err == nil
}

// deployedTemplate reads the template of the stack.
func deployedTemplate(ctx context.Context, config *Config) ([]byte, error) {
	out, err := config.Remote.CloudFormation().GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: &config.Stack, TemplateStage: types.TemplateStageProcessed})
	if err != nil {
		return nil, err
	}
	return []byte(aws.ToString(out.TemplateBody)), nil
}
