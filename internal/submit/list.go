package submit

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// pages requests one page after the other. A repeated token ends the list, as the last page
// does: otherwise it would never end.
func pages[T any](ask func(token *string) ([]T, *string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var token *string
		for {
			items, next, err := ask(token)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if aws.ToString(next) == "" || aws.ToString(next) == aws.ToString(token) {
				return
			}
			token = next
		}
	}
}

// Types lists types, and reads them page by page. An error ends the list.
func (r *Remote) Types(ctx context.Context, input cloudformation.ListTypesInput) iter.Seq2[types.TypeSummary, error] {
	return pages(func(token *string) ([]types.TypeSummary, *string, error) {
		input.NextToken = token
		out, err := r.cloudformation.ListTypes(ctx, &input)
		if err != nil {
			return nil, nil, err
		}
		return out.TypeSummaries, out.NextToken, nil
	})
}

// Versions lists the versions of a type, the oldest first.
func (r *Remote) Versions(ctx context.Context, ref Reference, status types.DeprecatedStatus) iter.Seq2[types.TypeVersionSummary, error] {
	input := cloudformation.ListTypeVersionsInput{Type: ref.Kind, TypeName: &ref.Name, DeprecatedStatus: status}
	if ref.ARN != "" && ref.VersionID == "" {
		input.Type, input.TypeName, input.Arn = "", nil, &ref.ARN
	}
	return pages(func(token *string) ([]types.TypeVersionSummary, *string, error) {
		input.NextToken = token
		out, err := r.cloudformation.ListTypeVersions(ctx, &input)
		if err != nil {
			return nil, nil, err
		}
		return out.TypeVersionSummaries, out.NextToken, nil
	})
}

// Registrations lists the tokens of registrations, of a type if ref is not nil.
func (r *Remote) Registrations(ctx context.Context, ref *Reference, status types.RegistrationStatus) iter.Seq2[string, error] {
	input := cloudformation.ListTypeRegistrationsInput{RegistrationStatusFilter: status}
	if ref != nil {
		input.Type, input.TypeName = ref.Kind, &ref.Name
	}
	return pages(func(token *string) ([]string, *string, error) {
		input.NextToken = token
		out, err := r.cloudformation.ListTypeRegistrations(ctx, &input)
		if err != nil {
			return nil, nil, err
		}
		return out.RegistrationTokenList, out.NextToken, nil
	})
}

// DeregisterAll deregisters a type: first its versions except for the default one, then the
// type itself. deregistered is called with each deregistered version; the last one is "" for
// the type.
func (r *Remote) DeregisterAll(ctx context.Context, ref Reference, deregistered func(version string)) error {
	var others []*string // listed before the first one is deregistered, which would move the pages
	for version, err := range r.Versions(ctx, ref, "") {
		if err != nil {
			return err
		}
		if !aws.ToBool(version.IsDefaultVersion) {
			others = append(others, version.VersionId)
		}
	}
	for _, version := range others {
		_, err := r.cloudformation.DeregisterType(ctx, &cloudformation.DeregisterTypeInput{Type: ref.Kind, TypeName: &ref.Name, VersionId: version})
		if err != nil {
			return err
		}
		deregistered(aws.ToString(version))
	}
	if _, err := r.cloudformation.DeregisterType(ctx, &cloudformation.DeregisterTypeInput{Type: ref.Kind, TypeName: &ref.Name}); err != nil {
		return err
	}
	deregistered("")
	return nil
}
