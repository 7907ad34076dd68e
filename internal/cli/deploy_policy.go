package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/proving/permissions"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// writeDeployPolicy writes the policy that a change set needs. It reads the change set before it is dropped.
func (c *app) writeDeployPolicy(ctx context.Context, opts *deployOptions, d *deployment, p *previewed, templateURL string) error {
	defer c.progress("collecting permissions")()
	parts := strings.SplitN(p.set.StackID, ":", 6)
	if len(parts) < 6 {
		return fmt.Errorf("the service answered with the stack ID %q", p.set.StackID)
	}
	place := permissions.Place{Partition: awswire.PartitionOf(parts[3]), Region: parts[3], Account: parts[4], Stack: d.name}
	v := &validation{remote: d.remote, graph: d.graph, schemas: map[string]*schema.Schema{}}
	in := permissions.Input{
		Place: place, RoleARN: opts.role, Tags: len(d.tags) > 0, Calls: deployCalls[permissions.Create], Upload: templateURL,
		Types: typesOf(func(typeName string) (*schema.Schema, error) { return v.schemaOf(ctx, typeName), ctx.Err() }),
	}
	var err error
	if in.Seen, err = c.readSeen(opts.seen); err != nil {
		return err
	}
	if d.existing != nil {
		in.Calls = deployCalls[permissions.Update]
		in.RoleARN = cmp.Or(opts.role, aws.ToString(d.existing.RoleARN))
	}
	if d.policy != nil {
		in.Calls = append(in.Calls[:len(in.Calls):len(in.Calls)], "SetStackPolicy")
	}
	if opts.protect.value != nil && d.existing != nil {
		in.Calls = append(in.Calls[:len(in.Calls):len(in.Calls)], "UpdateTerminationProtection")
	}
	if p.plan.Pending {
		root, err := c.setScope(ctx, d, p.set, pseudoAt(place))
		if err != nil {
			return err
		}
		in.Root = root
		if in.Changes, err = c.setPermissions(ctx, d, p.set.Changes, root, "", 0); err != nil {
			return err
		}
	}
	needs, err := permissions.Compute(in)
	if err != nil {
		return err
	}
	c.noteRemarks(needs.Remarks)
	return c.writePolicy(opts.policyOut, needs.Of(provisioner(in.RoleARN)))
}

// setScope evaluates the template of a change set, with its transforms run.
func (c *app) setScope(ctx context.Context, d *deployment, set *submit.ChangeSet, pseudo template.Pseudo) (*template.Scope, error) {
	out, err := d.remote.CloudFormation().GetTemplate(ctx, &cloudformation.GetTemplateInput{ChangeSetName: &set.ID, TemplateStage: types.TemplateStageProcessed})
	if err != nil {
		return nil, c.serviceError(err)
	}
	t, err := template.Parse("the template of the change set", []byte(aws.ToString(out.TemplateBody)), template.ParseOptions{Processed: true})
	if err != nil {
		return nil, fmt.Errorf("read the template of the change set: %w", err)
	}
	parameters := &template.Parameters{}
	for _, declared := range t.Parameters {
		b := template.Bound{Key: declared.Name, List: declared.IsList(), NoEcho: declared.NoEcho, Unknown: true}
		for _, has := range set.Parameters {
			if aws.ToString(has.ParameterKey) == b.Key {
				b.Value, b.Unknown = aws.ToString(has.ParameterValue), has.ParameterValue == nil
			}
		}
		parameters.Bound = append(parameters.Bound, b)
	}
	return wildScope(t, parameters, pseudo)
}

// setPermissions are the changes of a change set and of those of nested stacks.
func (c *app) setPermissions(ctx context.Context, d *deployment, changes []types.Change, scope *template.Scope, path string, depth int) ([]permissions.Change, error) {
	var out []permissions.Change
	for _, change := range changes {
		of := change.ResourceChange
		if of == nil {
			continue
		}
		p := permissions.Change{
			Path: path, LogicalID: aws.ToString(of.LogicalResourceId), Type: aws.ToString(of.ResourceType), PhysicalID: aws.ToString(of.PhysicalResourceId),
			Kind: permissionKinds[actionOfChange(of)], Scope: scope,
		}
		out = append(out, p)
		if of.ChangeSetId == nil || depth >= maxNestedPlans {
			continue
		}
		below, err := d.remote.ReadChangeSet(ctx, *of.ChangeSetId)
		if err != nil {
			return nil, c.serviceError(err)
		}
		pseudo := template.Pseudo{AccountID: scope.Pseudo().AccountID, Region: scope.Pseudo().Region, StackName: "*", StackID: "*"}
		nested, err := c.setScope(ctx, d, below, pseudo)
		if err != nil {
			return nil, err
		}
		more, err := c.setPermissions(ctx, d, below.Changes, nested, path+p.LogicalID+".", depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// permissionKinds are the kinds of what a change set does. What may be replaced can be.
var permissionKinds = map[string]permissions.Kind{
	"create": permissions.Create, "import": permissions.Import, "update": permissions.Update, "replace": permissions.Replace,
	"mayReplace": permissions.Replace, "delete": permissions.Delete, "remove": permissions.Keep, "sync": permissions.Import,
}
