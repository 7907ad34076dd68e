package stack

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// ValidateTemplate returns the requirements of a template, and rejects an invalid one.
func (e *Engine) ValidateTemplate(ctx context.Context, caller awswire.Caller, in *cloudformation.ValidateTemplateInput) (*cloudformation.ValidateTemplateOutput, error) {
	_, t, err := e.ReadTemplate(ctx, caller, in.TemplateBody, in.TemplateURL)
	if err != nil {
		return nil, err
	}
	known := e.knownTypes(ctx, caller)
	switch {
	case !t.NeedsExpansion():
		err = t.Check(ctx, known)
	case !t.HasTransforms():
		err = t.UnknownTypes(known)
	}
	if err != nil {
		return nil, RefusedTemplate(err)
	}
	s := t.Summary()
	out := &cloudformation.ValidateTemplateOutput{
		Description: optional(s.Description), Capabilities: capabilitiesOf(s), CapabilitiesReason: optional(s.CapabilitiesReason),
		DeclaredTransforms: s.Transforms, Parameters: []types.TemplateParameter{},
	}
	for _, p := range s.Parameters {
		out.Parameters = append(out.Parameters, types.TemplateParameter{
			ParameterKey: aws.String(p.Name), DefaultValue: p.Default, NoEcho: aws.Bool(p.NoEcho), Description: optional(p.Description),
		})
	}
	return out, nil
}

// EstimateTemplateCost refuses what is wrong with the template as the service does, and then the
// estimate. The service answers with the URL of an estimate on AWS, which cannot be made here:
// a URL that shows something else would be worse than none.
func (e *Engine) EstimateTemplateCost(ctx context.Context, caller awswire.Caller, in *cloudformation.EstimateTemplateCostInput) (*cloudformation.EstimateTemplateCostOutput, error) {
	_, err := e.ValidateTemplate(ctx, caller, &cloudformation.ValidateTemplateInput{TemplateBody: in.TemplateBody, TemplateURL: in.TemplateURL})
	if err != nil {
		return nil, err
	}
	return nil, refuse("prices")
}

func capabilitiesOf(s template.Summary) []types.Capability {
	var out []types.Capability
	for _, c := range s.Capabilities {
		out = append(out, types.Capability(c))
	}
	return out
}

// GetTemplateSummary returns the requirements of a template, or of the one of a stack.
func (e *Engine) GetTemplateSummary(ctx context.Context, caller awswire.Caller, in *cloudformation.GetTemplateSummaryInput) (*cloudformation.GetTemplateSummaryOutput, error) {
	t, err := e.templateToSummarize(ctx, caller, in)
	if err != nil {
		return nil, err
	}
	warnings, err := e.unrecognized(ctx, caller, in, t)
	if err != nil {
		return nil, err
	}
	s := t.Summary()
	out := &cloudformation.GetTemplateSummaryOutput{
		Warnings:    warnings,
		Description: optional(s.Description), Version: aws.String(cmp.Or(s.Version, formatVersion)), Metadata: optional(s.Metadata),
		Capabilities: capabilitiesOf(s), CapabilitiesReason: optional(s.CapabilitiesReason), DeclaredTransforms: s.Transforms,
		Parameters: []types.ParameterDeclaration{}, ResourceTypes: []string{}, ResourceIdentifierSummaries: []types.ResourceIdentifierSummary{},
	}
	for _, p := range s.Parameters {
		shown := types.ParameterDeclaration{
			ParameterKey: aws.String(p.Name), ParameterType: aws.String(p.Type), DefaultValue: p.Default, NoEcho: aws.Bool(p.NoEcho),
			Description: optional(p.Description), ParameterConstraints: &types.ParameterConstraints{},
		}
		if p.AllowedValues != nil {
			shown.ParameterConstraints.AllowedValues = p.AllowedValues
		}
		out.Parameters = append(out.Parameters, shown)
	}
	for _, of := range s.Types {
		out.ResourceTypes = append(out.ResourceTypes, of.Type)
		typ, err := e.findType(ctx, caller, of.Type)
		s := importSchema(typ)
		if err != nil || s == nil || len(s.PrimaryIdentifier) == 0 {
			continue
		}
		out.ResourceIdentifierSummaries = append(out.ResourceIdentifierSummaries, types.ResourceIdentifierSummary{
			ResourceType: aws.String(of.Type), LogicalResourceIds: of.LogicalIDs, ResourceIdentifiers: identifierNames(s),
		})
	}
	return out, nil
}

// unrecognized refuses a template with types that do not exist, or returns them if the request wants them as
// warnings. Those that a transform makes are not known here, and a stack that exists may have types that are gone.
func (e *Engine) unrecognized(ctx context.Context, caller awswire.Caller, in *cloudformation.GetTemplateSummaryInput, t *template.Template) (*types.Warnings, error) {
	if t.HasTransforms() || in.StackName != nil {
		return nil, nil
	}
	known := e.knownTypes(ctx, caller)
	if c := in.TemplateSummaryConfig; c == nil || !aws.ToBool(c.TreatUnrecognizedResourceTypesAsWarnings) {
		return nil, RefusedTemplate(t.UnknownTypes(known))
	}
	warnings := &types.Warnings{UnrecognizedResourceTypes: []string{}}
	for _, of := range t.Summary().Types {
		if !known(of.Type) {
			warnings.UnrecognizedResourceTypes = append(warnings.UnrecognizedResourceTypes, of.Type)
		}
	}
	return warnings, nil
}

// formatVersion is the version of templates that name none.
const formatVersion = "2010-09-09"

// identifierNames are the names of the properties that identify resources of a type.
func identifierNames(s *schema.Schema) []string {
	names := make([]string, 0, len(s.PrimaryIdentifier))
	for _, path := range s.PrimaryIdentifier {
		if n := len(path.Tokens); n > 0 {
			names = append(names, path.Tokens[n-1])
		}
	}
	return names
}

func (e *Engine) templateToSummarize(ctx context.Context, caller awswire.Caller, in *cloudformation.GetTemplateSummaryInput) (*template.Template, error) {
	given := 0
	for _, source := range []*string{in.TemplateBody, in.TemplateURL, in.StackName} {
		if source != nil {
			given++
		}
	}
	switch {
	case in.StackSetName != nil || in.CallAs != "":
		return nil, refuse("summary-set")
	case given == 0:
		return nil, refuse("summary-source")
	case given > 1:
		return nil, refuse("summary-sources")
	case in.StackName == nil:
		_, t, err := e.ReadTemplate(ctx, caller, in.TemplateBody, in.TemplateURL)
		return t, err
	}
	s, err := requireStack(ctx, e.store.Read(), caller, in.StackName, "missing-id")
	if err != nil {
		return nil, err
	}
	if s.Status == types.StackStatusReviewInProgress {
		return nil, refuse("review-summary")
	}
	row, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", s.DeploymentID)
	if err != nil || row == nil {
		return nil, err
	}
	t, err := template.Parse("", []byte(row.Original), template.ParseOptions{})
	return t, RefusedTemplate(err)
}
