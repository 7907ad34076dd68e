package builtin

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// parameters are AWS::SSM::Parameter.
type parameters struct{}

func (parameters) identifier(c *call) (string, error) {
	if c.text("Name") == "" {
		c.desired["Name"] = c.generated("CFN-"+c.request.LogicalID, mixedCase)
	}
	return c.text("Name"), nil
}

func (p parameters) create(c *call) (string, error) {
	in := p.input(c)
	tags := c.tags()
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		in.Tags = append(in.Tags, ssmtypes.Tag{Key: &key, Value: new(tags[key])})
	}
	_, err := do[ssm.PutParameterOutput](c, "ssm", "PutParameter", in)
	return c.text("Name"), err
}

func (parameters) input(c *call) *ssm.PutParameterInput {
	return &ssm.PutParameterInput{
		Name: new(c.text("Name")), Value: new(c.text("Value")), Type: ssmtypes.ParameterType(c.text("Type")),
		Description: c.optional("Description"), AllowedPattern: c.optional("AllowedPattern"), DataType: c.optional("DataType"),
		Tier: ssmtypes.ParameterTier(c.text("Tier")), Policies: c.optional("Policies"),
	}
}

func (parameters) read(c *call) (map[string]any, error) {
	found, err := do[ssm.GetParameterOutput](c, "ssm", "GetParameter", &ssm.GetParameterInput{Name: &c.request.Identifier})
	if err != nil {
		return nil, err
	}
	p := found.Parameter
	model := map[string]any{"Type": string(p.Type)}
	set(model, "Name", p.Name)
	set(model, "Value", p.Value)
	set(model, "Arn", p.ARN)
	set(model, "DataType", p.DataType)
	tags, err := do[ssm.ListTagsForResourceOutput](c, "ssm", "ListTagsForResource",
		&ssm.ListTagsForResourceInput{ResourceType: ssmtypes.ResourceTypeForTaggingParameter, ResourceId: &c.request.Identifier})
	if err != nil {
		return nil, err
	}
	if len(tags.TagList) > 0 {
		object := map[string]any{}
		for _, tag := range tags.TagList {
			object[*tag.Key] = *tag.Value
		}
		model["Tags"] = object
	}
	return model, nil
}

func (p parameters) update(c *call) error {
	before, err := p.read(c)
	if err != nil {
		return err
	}
	c.desired["Name"] = c.request.Identifier
	in := p.input(c)
	in.Overwrite = new(true)
	if _, err := do[ssm.PutParameterOutput](c, "ssm", "PutParameter", in); err != nil {
		return err
	}
	old, _ := before["Tags"].(map[string]any)
	tags := c.tags()
	change := &ssm.AddTagsToResourceInput{ResourceType: ssmtypes.ResourceTypeForTaggingParameter, ResourceId: &c.request.Identifier}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if old[key] != tags[key] {
			change.Tags = append(change.Tags, ssmtypes.Tag{Key: &key, Value: new(tags[key])})
		}
	}
	if len(change.Tags) > 0 {
		if _, err := do[ssm.AddTagsToResourceOutput](c, "ssm", "AddTagsToResource", change); err != nil {
			return err
		}
	}
	remove := &ssm.RemoveTagsFromResourceInput{ResourceType: ssmtypes.ResourceTypeForTaggingParameter, ResourceId: &c.request.Identifier}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		if _, stays := tags[key]; !stays {
			remove.TagKeys = append(remove.TagKeys, key)
		}
	}
	if len(remove.TagKeys) == 0 {
		return nil
	}
	if _, err := do[ssm.RemoveTagsFromResourceOutput](c, "ssm", "RemoveTagsFromResource", remove); err != nil {
		return fmt.Errorf("remove tags: %w", err)
	}
	return nil
}

func (parameters) remove(c *call) error {
	_, err := do[ssm.DeleteParameterOutput](c, "ssm", "DeleteParameter", &ssm.DeleteParameterInput{Name: &c.request.Identifier})
	return err
}
