package submit

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// A Reference names a type, or a version of it, as somebody has typed it.
type Reference struct {
	Name      string             // Acme::Foo::Bar; "" if only ARN is known
	Kind      types.RegistryType // "" if it was not said and the name does not tell
	ARN       string             // of the type, or of a version
	VersionID string             // of the ARN
	Publisher string             // of a public type's ARN

	PublicVersion string // of a public type, to be described; "" for the newest
}

var typeARN = regexp.MustCompile(`^arn:[a-z-]+:cloudformation:[a-z0-9-]*:([0-9]{12})?:type/(resource|module|hook)/(?:([0-9a-zA-Z]{12,40})/)?([A-Za-z0-9]+(?:-[A-Za-z0-9]+)+)(?:/([A-Za-z0-9-]+))?$`)

var typeName = regexp.MustCompile(`^[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}(::MODULE)?$`)

// ParseReference reads a type name or an ARN of a type. kind is what the user says the
// type is, "" if nothing.
func ParseReference(text string, kind types.RegistryType) (Reference, error) {
	if m := typeARN.FindStringSubmatch(text); m != nil {
		found := types.RegistryType(strings.ToUpper(m[2]))
		if kind != "" && kind != found {
			return Reference{}, fmt.Errorf("%s is the ARN of a %s, not of a %s", text, m[2], strings.ToLower(string(kind)))
		}
		return Reference{ARN: text, Kind: found, Name: strings.ReplaceAll(m[4], "-", "::"), Publisher: m[3], VersionID: m[5]}, nil
	}
	m := typeName.FindStringSubmatch(text)
	switch {
	case m == nil:
		return Reference{}, fmt.Errorf("%q is neither a type name such as Acme::Foo::Bar nor the ARN of a type", text)
	case m[1] == "" && kind == types.RegistryTypeModule:
		return Reference{}, fmt.Errorf("%s is not the name of a module, which ends in ::MODULE", text)
	case m[1] != "" && kind != "" && kind != types.RegistryTypeModule:
		return Reference{}, fmt.Errorf("%s is the name of a module, not of a %s", text, strings.ToLower(string(kind)))
	case m[1] != "":
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

// Describe asks for a type or, with a version that is not empty, for that version of it.
// If it is not known whether the name is that of a resource type or of a hook, both are
// looked for, and the reference learns which it is.
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

// Find makes sure that the kind of a type is known.
func (r *Remote) Find(ctx context.Context, ref *Reference) error {
	if ref.Kind != "" {
		return nil
	}
	_, err := r.Describe(ctx, ref, "")
	return err
}

// LogGroup is where the handlers of a type write if its registration does not say so.
func LogGroup(typeName string) string { return Hyphenated(typeName) + "-logs" }

// LogGroupOf asks for the log group of a type's handlers.
func (r *Remote) LogGroupOf(ctx context.Context, ref *Reference) (string, error) {
	out, err := r.Describe(ctx, ref, "")
	if err != nil {
		return "", err
	}
	if out.LoggingConfig != nil && aws.ToString(out.LoggingConfig.LogGroupName) != "" {
		return *out.LoggingConfig.LogGroupName, nil
	}
	name := aws.ToString(out.TypeName)
	if name == "" {
		name = ref.Name
	}
	return LogGroup(name), nil
}
