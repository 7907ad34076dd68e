package registry

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/simulate"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// An importedType is a public resource type that was never registered here: of AWS, which this server
// has the services for, or whose schema was imported.
type importedType simulate.Published

// imported is when it was imported, nil for a type of the server itself.
func (t *importedType) imported() *time.Time {
	if t.Imported.IsZero() {
		return nil
	}
	return &t.Imported
}

// provisionedBy says how this server provisions the resources of an imported type. It begins the
// description of the type.
var provisionedBy = map[simulate.Provisioned]string{
	simulate.ByServices:   "", // as on AWS
	simulate.BySimulation: "[simulated]", simulate.Unprovided: "[schema only; needs cfn serve --simulate]",
}

// importedVersion is the id of the only version of an imported type.
const importedVersion = "00000001"

// importedFacts are the members of a schema that descriptions need.
type importedFacts struct {
	Description      string                     `json:"description"`
	SourceURL        string                     `json:"sourceUrl"`
	DocumentationURL string                     `json:"documentationUrl"`
	Handlers         map[string]json.RawMessage `json:"handlers"`
}

// facts reads the schema of a type. One that cannot be read has no facts: it was checked when it was
// imported.
func (r *Registry) facts(t *importedType) importedFacts {
	var facts importedFacts
	_ = json.Unmarshal([]byte(t.Schema), &facts)
	mark := provisionedBy[t.By]
	if r.config.Delegated != nil {
		if where := r.config.Delegated(t.TypeName); where != "" {
			mark = "[" + where + "]"
		}
	}
	facts.Description = strings.TrimSpace(mark + " " + facts.Description)
	return facts
}

// provisioning is what the handlers allow. Tools that carry schemas leave the handlers out:
// then everything is allowed.
func (f *importedFacts) provisioning() types.ProvisioningType {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { _, ok := f.Handlers[name]; return !ok })
	}
	switch {
	case len(f.Handlers) == 0, has("create", "read", "update", "delete"):
		return types.ProvisioningTypeFullyMutable
	case has("create", "read", "delete"):
		return types.ProvisioningTypeImmutable
	}
	return types.ProvisioningTypeNonProvisionable
}

// importedARN is the ARN of an imported type: public, and of no publisher.
func importedARN(caller awswire.Caller, typeName string) schema.TypeARN {
	return publicARN(caller, schema.Resource, "", typeName)
}

// importedRef returns the imported type that a request names without a version or a
// publisher, nil if it names none. arn may be that of a private or of a public type.
func (r *Registry) importedRef(ctx context.Context, caller awswire.Caller, arn *string, kind types.RegistryType, typeName *string) (*importedType, error) {
	if r.config.Imported == nil {
		return nil, nil
	}
	parsed, err := named(caller, arn, kind, typeName, nil)
	switch {
	case err != nil || parsed.Kind != schema.Resource || parsed.Publisher != "" || arn != nil && !parsed.Public():
		return nil, nil // it is refused already
	case parsed.Version != "" && !sameVersion(parsed.Version, importedVersion):
		return nil, nil
	}
	found, err := r.config.Imported.Find(ctx, parsed.TypeName)
	return (*importedType)(found), err
}

// describeImported answers DescribeType for a type that is neither private, activated nor
// published here but imported. refused is the answer if it is not imported either.
func (r *Registry) describeImported(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeTypeInput, refused error) (*cloudformation.DescribeTypeOutput, error) {
	if !isTypeNotFound(refused) || in.PublisherId != nil || in.PublicVersionNumber != nil || in.VersionId != nil && !sameVersion(*in.VersionId, importedVersion) {
		return nil, refused
	}
	t, err := r.importedRef(ctx, caller, in.Arn, in.Type, in.TypeName)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, refused
	}
	facts := r.facts(t)
	return &cloudformation.DescribeTypeOutput{
		Arn: aws.String(importedARN(caller, t.TypeName).String()), Type: types.RegistryTypeResource, TypeName: &t.TypeName, Visibility: types.VisibilityPublic,
		Schema: &t.Schema, Description: absent(facts.Description), SourceUrl: absent(facts.SourceURL), DocumentationUrl: absent(facts.DocumentationURL),
		ProvisioningType: facts.provisioning(), DeprecatedStatus: types.DeprecatedStatusLive, IsDefaultVersion: aws.Bool(true),
		LastUpdated: t.imported(), TimeCreated: t.imported(),
	}, nil
}

// importedVersions answers ListTypeVersions for an imported type, nil if it was not imported.
func (r *Registry) importedVersions(ctx context.Context, caller awswire.Caller, in *cloudformation.ListTypeVersionsInput) ([]types.TypeVersionSummary, error) {
	t, err := r.importedRef(ctx, caller, in.Arn, in.Type, in.TypeName)
	if t == nil || err != nil {
		return nil, err
	}
	if in.DeprecatedStatus == types.DeprecatedStatusDeprecated {
		return []types.TypeVersionSummary{}, nil
	}
	return []types.TypeVersionSummary{{
		Arn: aws.String(importedARN(caller, t.TypeName).WithVersion(importedVersion).String()), Type: types.RegistryTypeResource, TypeName: &t.TypeName,
		VersionId: aws.String(importedVersion), IsDefaultVersion: aws.Bool(true), Description: absent(r.facts(t).Description), TimeCreated: t.imported(),
	}}, nil
}

// importedSummaries lists imported types for ListTypes of public types.
func (r *Registry) importedSummaries(ctx context.Context, caller awswire.Caller, category types.Category, q summaryQuery) ([]types.TypeSummary, error) {
	summaries := []types.TypeSummary{}
	if r.config.Imported == nil || q.publisher != "" || category == types.CategoryActivated || q.kind != "" && q.kind != string(types.RegistryTypeResource) {
		return summaries, nil
	}
	for after := q.after.typeName; len(summaries) < q.limit; {
		found, err := r.config.Imported.List(ctx, q.prefix, after, q.limit)
		if err != nil {
			return nil, err
		}
		for i := range found {
			t := (*importedType)(&found[i])
			after = t.TypeName
			amazon := ofAmazon(t.TypeName)
			if category == types.CategoryAwsTypes && !amazon || category == types.CategoryThirdParty && amazon {
				continue
			}
			facts := r.facts(t)
			if !slices.Contains(q.provisioning, string(facts.provisioning())) {
				continue
			}
			summaries = append(summaries, types.TypeSummary{
				Type: types.RegistryTypeResource, TypeName: &t.TypeName, TypeArn: aws.String(importedARN(caller, t.TypeName).String()),
				Description: absent(facts.Description), LastUpdated: t.imported(),
			})
		}
		if len(found) < q.limit {
			break
		}
	}
	return summaries[:min(len(summaries), q.limit)], nil
}

// isTypeNotFound reports whether err means that the type or version does not exist.
func isTypeNotFound(err error) bool {
	var refused *awswire.Error
	return errors.As(err, &refused) && refused.Code == "TypeNotFoundException"
}
