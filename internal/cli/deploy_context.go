package cli

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// readContext adds to planned changes what the metadata of the templates says of the resources, and warns of changes of
// what must never change. The template of the stack decides.
func (c *app) readContext(ctx context.Context, opts *deployOptions, d *deployment, p *plannedStack) error {
	next := d.processed(ctx)
	if next == nil || !p.Pending {
		return nil // the change set was made of it: transforms may have, which are not run here
	}
	p.Context = next.Context()
	var old *template.Template
	if d.existing != nil {
		var err error
		if old, err = c.deployedTemplate(ctx, d.remote, aws.ToString(d.existing.StackId)); err != nil {
			if opts.enforce || ctx.Err() != nil {
				return err
			}
			c.logger.Debug("cannot read the template of the stack", "error", err)
		}
	}
	var changes []template.ResourceChange
	for i := range p.Changes {
		change := &p.Changes[i]
		if r := next.Resource(change.LogicalID); r != nil {
			change.Context = r.Context()
		}
		if old != nil && change.Context == nil && old.Resource(change.LogicalID) != nil {
			change.Context = old.Resource(change.LogicalID).Context()
		}
		of := template.ResourceChange{LogicalID: change.LogicalID, Removed: slices.Contains([]string{"delete", "remove"}, change.Action), Replaced: change.Action == "replace"}
		for _, property := range change.Properties {
			of.Properties = append(of.Properties, property.Path)
		}
		changes = append(changes, of)
	}
	if old == nil {
		return nil
	}
	for _, f := range old.Forbids(next, changes) {
		text := f.Text
		if f.Why != "" {
			text += "; " + whyHint(f.Why)
		}
		p.Warnings = append(p.Warnings, words.Flat(text))
		p.forbidden++
	}
	return nil
}

// processed is the template of a deployment with its loops expanded, as far as it can be read here.
func (d *deployment) processed(ctx context.Context) *template.Template {
	found, err := template.Examine(ctx, d.file, d.body, template.InspectInput{Supplied: d.supplied(), Pseudo: d.pseudo()})
	if err == nil && found.Template != nil {
		return found.Template
	}
	t, _ := template.Parse(d.file, d.body, template.ParseOptions{}) // what is wrong is the service's to say
	return t
}
