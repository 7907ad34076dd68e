package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// Shown returns the changes as DescribeChangeSet answers them, with or without the values
// of properties. What only may change is not shown with values: nothing differs yet.
func (p *Plan) Shown(values bool) []types.Change {
	out := []types.Change{}
	for i := range p.Changes {
		c := &p.Changes[i]
		if values && c.Uncertain() {
			continue
		}
		out = append(out, types.Change{Type: types.ChangeTypeResource, ResourceChange: c.shown(values)})
	}
	return out
}

func (c *Change) shown(values bool) *types.ResourceChange {
	out := &types.ResourceChange{
		Action: c.Action, LogicalResourceId: aws.String(c.LogicalID), ResourceType: aws.String(c.Type),
		Replacement: c.Replacement, PolicyAction: c.PolicyAction, ModuleInfo: c.Module,
		Scope: []types.ResourceAttribute{}, Details: []types.ResourceChangeDetail{},
	}
	out.PhysicalResourceId, out.ChangeSetId = text(schema.Ref(c.Type, c.PhysicalID)), text(c.ChangeSet)
	for _, d := range c.Details {
		if d.View == "" || (d.View == WithValues) == values {
			out.Details = append(out.Details, d.shown(values))
			if !slices.Contains(out.Scope, d.Attribute) {
				out.Scope = append(out.Scope, d.Attribute)
			}
		}
	}
	slices.Sort(out.Scope)
	if values {
		out.BeforeContext, out.AfterContext = text(string(c.Before)), text(string(c.After))
	}
	c.showLive(out, values)
	return out
}

// text is a member of an answer, nil for none.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (d Detail) shown(values bool) types.ResourceChangeDetail {
	target := &types.ResourceTargetDefinition{Attribute: d.Attribute, RequiresRecreation: d.RequiresRecreation}
	if d.Name != "" {
		target.Name = aws.String(d.Name)
	}
	if values && d.AttributeChangeType != "" {
		target.Path, target.AttributeChangeType = aws.String(d.Path), d.AttributeChangeType
		if d.AttributeChangeType != types.AttributeChangeTypeAdd {
			target.BeforeValue = aws.String(d.BeforeValue)
		}
		if d.AttributeChangeType != types.AttributeChangeTypeRemove {
			target.AfterValue = aws.String(d.AfterValue)
		}
	}
	out := types.ResourceChangeDetail{Target: target, Evaluation: d.Evaluation, ChangeSource: d.ChangeSource}
	if d.CausingEntity != "" {
		out.CausingEntity = aws.String(d.CausingEntity)
	}
	return out
}

// signs are the first characters of the lines of a plan.
var signs = map[types.ChangeAction]string{
	types.ChangeActionAdd: "+", types.ChangeActionRemove: "-", types.ChangeActionModify: "~", types.ChangeActionImport: "<", types.ChangeActionSyncWithActual: "=",
}

// WriteText writes the plan for a person, a line for each change and one for each reason:
//
//	~ Topic (AWS::SNS::Topic): replace
//	    TopicName: "a" to "b" (replaces)
func (p *Plan) WriteText(w io.Writer) error {
	var b strings.Builder
	for i := range p.Changes {
		c := &p.Changes[i]
		sign := signs[c.Action]
		if c.Uncertain() {
			sign = "?"
		}
		fmt.Fprintf(&b, "%s %s (%s): %s\n", sign, c.LogicalID, c.Type, c.words())
		for _, d := range c.Details {
			if d.View != WithValues {
				fmt.Fprintf(&b, "    %s\n", d.words())
			}
		}
	}
	for _, what := range p.Stack {
		fmt.Fprintf(&b, "~ %s of the stack\n", strings.ToLower(what))
	}
	if p.Empty() {
		b.WriteString("no changes\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// words describe the change of the resource.
func (c *Change) words() string {
	var out string
	switch {
	case c.Action == types.ChangeActionAdd:
		return "create"
	case c.Action == types.ChangeActionImport:
		return "import"
	case c.Action == types.ChangeActionSyncWithActual:
		return "adopt what is there"
	case c.Action == types.ChangeActionRemove:
		out = "delete"
	case c.Replacement == types.ReplacementTrue:
		out = "replace"
	case c.Replacement == types.ReplacementConditional:
		out = "update, may replace"
	case c.Uncertain():
		out = "may update"
	default:
		out = "update"
	}
	switch c.PolicyAction {
	case types.PolicyActionRetain:
		return "remove from the stack, keep the resource"
	case types.PolicyActionReplaceAndRetain:
		return out + ", keep the old resource"
	case types.PolicyActionSnapshot, types.PolicyActionReplaceAndSnapshot:
		return out + " after a snapshot"
	}
	return out
}

// words describe what changes and why.
func (d Detail) words() string {
	what := d.Name
	if what == "" {
		what = string(d.Attribute)
	}
	switch {
	case d.AttributeChangeType == "":
	case d.AttributeChangeType == types.AttributeChangeTypeAdd:
		what += fmt.Sprintf(": add %q", d.AfterValue)
	case d.AttributeChangeType == types.AttributeChangeTypeRemove:
		what += fmt.Sprintf(": remove %q", d.BeforeValue)
	default:
		what += fmt.Sprintf(": %q to %q", d.BeforeValue, d.AfterValue)
	}
	if d.CausingEntity != "" {
		what += ", from " + d.CausingEntity
	}
	switch d.RequiresRecreation {
	case types.RequiresRecreationAlways:
		what += " (replaces)"
	case types.RequiresRecreationConditionally:
		what += " (may replace)"
	}
	return what
}
