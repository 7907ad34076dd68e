package plan

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A detailer finds the reasons for which one resource changes.
type detailer struct {
	*planner
	resource *template.Resource
	was      Resource
	before   Desired
	state    Desired
	causes   causes
	differ   []Difference // of the properties
}

// properties returns the details of the properties that differ, and of those that may
// differ when a resource that they refer to has changed.
func (d *detailer) properties() []Detail {
	var out []Detail
	of := d.in.Schemas[d.resource.Type]
	differ := map[string]bool{}
	for _, diff := range d.differ {
		differ[diff.name] = true
		base := Detail{
			Attribute: types.ResourceAttributeProperties, Name: diff.name, Path: document.Pointer{"Properties", diff.name}.String(),
			RequiresRecreation: diff.Recreation, AttributeChangeType: diff.change,
			BeforeValue: ShownText(d.before.Shown()[diff.name]), AfterValue: ShownText(d.state.Shown()[diff.name]),
		}
		out = append(out, d.explain(base, d.causes.of("Properties", diff.name))...)
	}
	for _, name := range slices.Sorted(maps.Keys(d.state.Properties)) {
		if differ[name] {
			continue
		}
		base := Detail{
			Attribute: types.ResourceAttributeProperties, Name: name,
			RequiresRecreation: Recreation(of, name, d.was.Properties[name], template.Unknown),
		}
		for _, c := range d.causes.of("Properties", name) {
			if detail, ok := d.dueTo(base, c); ok && detail.View == WithoutValues {
				out = append(out, detail)
			}
		}
	}
	return out
}

// explain returns the details of a value that differs: one for each cause, and that of the
// template, which is dynamic if there is a cause.
func (d *detailer) explain(base Detail, all []cause) []Detail {
	var out []Detail
	direct := base
	direct.ChangeSource, direct.Evaluation = types.ChangeSourceDirectModification, types.EvaluationTypeStatic
	parameters := false
	for _, c := range all {
		detail, ok := d.dueTo(base, c)
		if !ok {
			continue
		}
		out = append(out, detail)
		if detail.View == WithoutValues {
			continue
		}
		direct.Evaluation = types.EvaluationTypeDynamic
		parameters = parameters || c.parameter != ""
	}
	if direct.Evaluation == types.EvaluationTypeDynamic && !parameters {
		direct.View = WithValues
	}
	return append(out, direct)
}

// dueTo returns the detail of a cause. It reports false if the cause did not change.
func (d *detailer) dueTo(base Detail, c cause) (Detail, bool) {
	base.CausingEntity, base.Evaluation = c.entity(), types.EvaluationTypeStatic
	if c.parameter != "" {
		base.ChangeSource = types.ChangeSourceParameterReference
		return base, parameterChanged(d.in.Previous, d.in.Next, c.parameter)
	}
	base.ChangeSource = types.ChangeSourceResourceReference
	if c.attribute != "" {
		base.ChangeSource = types.ChangeSourceResourceAttribute
	}
	switch d.fates[c.resource] {
	case added, replaced:
		return base, true
	case touched:
		base.View, base.Evaluation = WithoutValues, types.EvaluationTypeDynamic
		return base.withoutValues(), c.attribute != ""
	case unsure:
		base.View, base.Evaluation = WithoutValues, types.EvaluationTypeDynamic
		return base.withoutValues(), true
	}
	return base, false
}

func (d Detail) withoutValues() Detail {
	d.Path, d.AttributeChangeType, d.BeforeValue, d.AfterValue = "", "", "", ""
	return d
}

// tags returns the detail of the stack's tags, which reach the resources that take them.
func (d *detailer) tags() []Detail {
	of := d.in.Schemas[d.resource.Type]
	if d.in.Previous == nil || !Taggable(of) || maps.Equal(d.in.Tags, d.in.Next.Tags) {
		return nil
	}
	return []Detail{{
		Attribute: types.ResourceAttributeTags, RequiresRecreation: types.RequiresRecreationNever,
		ChangeSource: types.ChangeSourceDirectModification, Evaluation: types.EvaluationTypeStatic,
	}}
}

// metadata returns the details of metadata that differ. What is not known yet is recorded
// when the resource is done, and is no reason to visit it.
func (d *detailer) metadata() []Detail {
	before, after := d.was.Metadata, d.state.Metadata
	if template.HasUnknown(after) || Equal(before, after) {
		return nil
	}
	base := attributeDetail(types.ResourceAttributeMetadata, before, after)
	return d.explain(base, d.causes.of("Metadata", ""))
}

// attributeDetail is the detail of an attribute of a resource that is not a property.
func attributeDetail(attribute types.ResourceAttribute, before, after any) Detail {
	d := Detail{
		Attribute: attribute, RequiresRecreation: types.RequiresRecreationNever, Path: "/" + string(attribute),
		ChangeSource: types.ChangeSourceDirectModification, Evaluation: types.EvaluationTypeStatic,
		AttributeChangeType: types.AttributeChangeTypeModify, BeforeValue: ShownText(before), AfterValue: ShownText(after),
	}
	switch {
	case before == nil || before == "":
		d.AttributeChangeType = types.AttributeChangeTypeAdd
	case after == nil || after == "":
		d.AttributeChangeType = types.AttributeChangeTypeRemove
	}
	return d
}

// attributes returns the details of policies that differ.
func (d *detailer) attributes() []Detail {
	var out []Detail
	policy := func(attribute types.ResourceAttribute, before, after string) {
		if before != after {
			out = append(out, attributeDetail(attribute, before, after))
		}
	}
	policy(types.ResourceAttributeDeletionPolicy, d.was.DeletionPolicy, d.state.DeletionPolicy)
	policy(types.ResourceAttributeUpdateReplacePolicy, d.was.UpdateReplacePolicy, d.state.UpdateReplacePolicy)
	old := d.in.Previous.Resource(d.resource.LogicalID)
	if old == nil {
		return out
	}
	for _, pair := range []struct {
		attribute   types.ResourceAttribute
		before, now *document.Value
	}{
		{types.ResourceAttributeCreationPolicy, old.CreationPolicy, d.resource.CreationPolicy},
		{types.ResourceAttributeUpdatePolicy, old.UpdatePolicy, d.resource.UpdatePolicy},
	} {
		if before, now := pair.before.Any(), pair.now.Any(); !Equal(before, now) {
			out = append(out, attributeDetail(pair.attribute, before, now))
		}
	}
	return out
}

// automatic is the reason for which a nested stack changes with every update.
func (d *detailer) automatic() []Detail {
	if d.resource.Type != NestedStack || d.in.Unchanged[d.resource.LogicalID] {
		return nil
	}
	return []Detail{{
		Attribute: types.ResourceAttributeProperties, RequiresRecreation: types.RequiresRecreationNever,
		ChangeSource: types.ChangeSourceAutomatic, Evaluation: types.EvaluationTypeDynamic,
	}}
}
