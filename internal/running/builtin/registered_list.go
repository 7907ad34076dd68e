package builtin

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// provisioning are the provisioning types, each of which the registry lists on its own. Modules
// and hooks have none and are in the first list.
var provisioning = []cfn.ProvisioningType{"", cfn.ProvisioningTypeImmutable, cfn.ProvisioningTypeNonProvisionable}

// A listPlace is the token of a page: which list, and where in it.
type listPlace struct {
	List int
	Next string
}

// listTypes returns a page of types. After the last page of a list, the next list follows.
func (c *call) listTypes(in cloudformation.ListTypesInput, next *string) (found []cfn.TypeSummary, token string, err error) {
	var at listPlace
	if next != nil {
		if json.Unmarshal([]byte(*next), &at) != nil || at.List < 0 || at.List >= len(provisioning) {
			return nil, "", invalid("NextToken is invalid.")
		}
	}
	in.ProvisioningType = provisioning[at.List]
	if at.Next != "" {
		in.NextToken = &at.Next
	}
	out, err := do[cloudformation.ListTypesOutput](c, "cloudformation", "ListTypes", &in)
	if err != nil {
		return nil, "", err
	}
	switch {
	case out.NextToken != nil:
		at.Next = *out.NextToken
	case at.List+1 < len(provisioning) && (in.Type == "" || in.Type == cfn.RegistryTypeResource):
		at = listPlace{List: at.List + 1}
	default:
		return out.TypeSummaries, "", nil
	}
	text, err := json.Marshal(at)
	return out.TypeSummaries, string(text), err
}

// registered lists what is registered of a kind, or the one type that the model names, by the
// ARNs of the types.
func (c *call) registered(kind cfn.RegistryType, next *string) (found []schema.TypeARN, token string, err error) {
	if text := c.text("TypeArn"); text != "" {
		arn, ok := schema.ParseTypeARN(text)
		if !ok || cfn.RegistryType(arn.Kind) != kind {
			return nil, "", invalid("TypeArn '" + text + "' is not the ARN of a " + strings.ToLower(string(kind)) + ".")
		}
		return []schema.TypeARN{arn.WithVersion("")}, "", nil
	}
	if name := c.text("TypeName"); name != "" {
		return []schema.TypeARN{c.privateARN(schema.Kind(kind), name)}, "", nil
	}
	summaries, token, err := c.listTypes(cloudformation.ListTypesInput{
		Visibility: cfn.VisibilityPrivate, Type: kind, Filters: &cfn.TypeFilters{Category: cfn.CategoryRegistered},
	}, next)
	for _, s := range summaries {
		if arn, ok := schema.ParseTypeARN(aws.ToString(s.TypeArn)); ok {
			found = append(found, arn)
		}
	}
	return found, token, err
}

func (v versions) list(c *call, next *string) (found []string, token string, err error) {
	types, token, err := c.registered(v.kind, next)
	for _, arn := range types {
		in := &cloudformation.ListTypeVersionsInput{Arn: aws.String(arn.String())}
		for more := true; more && err == nil; {
			var out *cloudformation.ListTypeVersionsOutput
			if out, err = do[cloudformation.ListTypeVersionsOutput](c, "cloudformation", "ListTypeVersions", in); err != nil {
				break
			}
			for _, version := range out.TypeVersionSummaries {
				found = append(found, aws.ToString(version.Arn))
			}
			in.NextToken, more = out.NextToken, out.NextToken != nil
		}
	}
	return found, token, err
}

func (v defaultVersions) list(c *call, next *string) (found []string, token string, err error) {
	types, token, err := c.registered(v.kind, next)
	for _, arn := range types {
		found = append(found, arn.String())
	}
	return found, token, err
}

func (moduleDefaultVersions) list(c *call, next *string) (found []string, token string, err error) {
	types, token, err := c.listTypes(cloudformation.ListTypesInput{
		Visibility: cfn.VisibilityPrivate, Type: cfn.RegistryTypeModule, Filters: &cfn.TypeFilters{Category: cfn.CategoryRegistered},
	}, next)
	for _, s := range types {
		found = append(found, aws.ToString(s.TypeArn)+"/"+aws.ToString(s.DefaultVersionId))
	}
	return found, token, err
}

func (hookConfigurations) list(c *call, next *string) (found []string, token string, err error) {
	hooks, token, err := c.registered(cfn.RegistryTypeHook, next)
	if err != nil {
		return nil, "", err
	}
	for _, hook := range hooks {
		model, err := c.hookConfiguration(cfn.TypeConfigurationIdentifier{TypeArn: aws.String(hook.String())})
		if err != nil && code(err) != "NotFound" {
			return nil, "", err
		}
		if arn, ok := model["ConfigurationArn"].(string); ok {
			found = append(found, arn)
		}
	}
	return found, token, nil
}

func (publishers) list(c *call, _ *string) (found []string, token string, err error) {
	id, _, err := c.types.config.PublisherOf(c.ctx, c.request.Caller)
	if id != "" {
		found = []string{id}
	}
	return found, "", err
}

func (publicVersions) list(c *call, next *string) (found []string, token string, err error) {
	id, _, err := c.types.config.PublisherOf(c.ctx, c.request.Caller)
	if id == "" || err != nil {
		return nil, "", err
	}
	types, token, err := c.listTypes(cloudformation.ListTypesInput{
		Visibility: cfn.VisibilityPublic, Filters: &cfn.TypeFilters{Category: cfn.CategoryThirdParty, PublisherId: &id},
	}, next)
	for _, s := range types {
		found = append(found, aws.ToString(s.TypeArn))
	}
	return found, token, err
}

func (activations) list(c *call, next *string) (found []string, token string, err error) {
	types, token, err := c.listTypes(cloudformation.ListTypesInput{
		Visibility: cfn.VisibilityPrivate, Filters: &cfn.TypeFilters{Category: cfn.CategoryActivated},
	}, next)
	for _, s := range types {
		found = append(found, aws.ToString(s.TypeArn))
	}
	return found, token, err
}
