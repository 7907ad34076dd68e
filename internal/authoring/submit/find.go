package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// A Reference names a type, or a version of it, as a user typed it.
type Reference struct {
	Name      string             // Acme::Foo::Bar; "" if only ARN is known
	Kind      types.RegistryType // "" if it was not given and does not follow from the name
	ARN       string             // of the type, or of a version
	VersionID string             // of the ARN
	Publisher string             // of a public type's ARN

	PublicVersion string // of a public type, to be described; "" for the newest
}

// ParseReference reads a type name or an ARN of a type. kind is what the user says the
// type is, "" if nothing.
func ParseReference(text string, kind types.RegistryType) (Reference, error) {
	if arn, ok := schema.ParseTypeARN(text); ok {
		found := types.RegistryType(arn.Kind)
		if kind != "" && kind != found {
			return Reference{}, fmt.Errorf("%s is the ARN of a %s, not of a %s", text, strings.ToLower(string(found)), strings.ToLower(string(kind)))
		}
		return Reference{ARN: text, Kind: found, Name: arn.TypeName, Publisher: arn.Publisher, VersionID: arn.Version}, nil
	}
	module := project.ValidTypeName(schema.Module, text)
	switch {
	case !module && !project.ValidTypeName(schema.Resource, text):
		return Reference{}, fmt.Errorf("%q is neither a type name such as Acme::Foo::Bar nor the ARN of a type", text)
	case !module && kind == types.RegistryTypeModule:
		return Reference{}, fmt.Errorf("%s is not the name of a module, which ends in ::MODULE", text)
	case module && kind != "" && kind != types.RegistryTypeModule:
		return Reference{}, fmt.Errorf("%s is the name of a module, not of a %s", text, strings.ToLower(string(kind)))
	case module:
		kind = types.RegistryTypeModule
	}
	return Reference{Name: text, Kind: kind}, nil
}

// describe is the question for the type, or for a version of it.
func (f Reference) describe(kind types.RegistryType, version string) *cloudformation.DescribeTypeInput {
	if f.ARN != "" && version == "" {
		return &cloudformation.DescribeTypeInput{Arn: &f.ARN}
	}
	input := &cloudformation.DescribeTypeInput{Type: kind, TypeName: &f.Name}
	if f.Publisher != "" {
		input.PublisherId = &f.Publisher
	}
	if version != "" {
		input.VersionId = &version
	}
	if f.PublicVersion != "" {
		input.PublicVersionNumber = &f.PublicVersion
	}
	return input
}

// Describe describes a type or, with a version that is not empty, that version of it. If the
// name may be that of a resource type or of a hook, it looks for both, and sets the kind of
// the reference.
func (r *Remote) Describe(ctx context.Context, ref *Reference, version string) (*cloudformation.DescribeTypeOutput, error) {
	kinds := []types.RegistryType{ref.Kind}
	if ref.Kind == "" {
		kinds = []types.RegistryType{types.RegistryTypeResource, types.RegistryTypeHook}
	}
	var first error
	for _, kind := range kinds {
		out, err := r.cloudformation.DescribeType(ctx, ref.describe(kind, version))
		if err == nil {
			ref.Kind = kind
			if out.Type != "" {
				ref.Kind = out.Type
			}
			return out, nil
		}
		var unknown *types.TypeNotFoundException
		if !errors.As(err, &unknown) {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// Find sets the kind of a type if it is unknown.
func (r *Remote) Find(ctx context.Context, ref *Reference) error {
	if ref.Kind != "" {
		return nil
	}
	_, err := r.Describe(ctx, ref, "")
	return err
}

// LogGroup is where the handlers of a type write that this program has registered.
func LogGroup(typeName string) string { return schema.Hyphenated(typeName) + "-logs" }

// LogGroupsOf finds the log groups that the handlers of a type may write to, the likeliest one
// first. told means that the registration names it, and then it is the only one.
//
// A local server of this program has a default: local is the group of a type that was
// registered without one, by the name in its schema. Registries do not report whether
// activated types have a group, and which.
func (r *Remote) LogGroupsOf(ctx context.Context, ref *Reference, local func(typeName string) string) (groups []string, told bool, err error) {
	out, err := r.Describe(ctx, ref, "")
	if err != nil {
		return nil, false, err
	}
	if out.LoggingConfig != nil && aws.ToString(out.LoggingConfig.LogGroupName) != "" {
		return []string{*out.LoggingConfig.LogGroupName}, true, nil
	}
	name := cmp.Or(aws.ToString(out.OriginalTypeName), aws.ToString(out.TypeName), ref.Name)
	if !r.Local {
		return []string{LogGroup(name)}, false, nil
	}
	groups = []string{local(name)}
	if aws.ToString(out.OriginalTypeName) != "" {
		groups = append(groups, LogGroup(name))
	}
	return groups, false, nil
}

// A Suggestion is what a type that a local server does not know may have been meant to be.
type Suggestion struct {
	Regions []string // other ones that have a type of the name
	Near    string   // the nearest name in the region, "" if none is near
	Hint    string   // how to make the server know the type
}

// Suggest finds out what an unknown type may have been meant to be. AWS does not say it.
func (r *Remote) Suggest(ctx context.Context, typeName string) (Suggestion, error) {
	var out Suggestion
	if r.server == nil {
		return out, nil
	}
	err := r.formwork(ctx, "SuggestType", map[string]string{"TypeName": typeName}, &out)
	return out, err
}
