package submit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// maxPages bounds how many pages of a list are read.
const maxPages = 10_000

// pages requests one page after the other. A list whose pages do not end is an error: one with a
// token that was returned before, or with more than maxPages pages.
func pages[T any](ask func(token *string) ([]T, *string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		var token *string
		seen := map[[sha256.Size]byte]bool{}
		for range maxPages {
			items, next, err := ask(token)
			if err != nil {
				yield(zero, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if aws.ToString(next) == "" {
				return
			}
			sum := sha256.Sum256([]byte(*next))
			if seen[sum] {
				yield(zero, errors.New("the list does not end: the service returned the same NextToken twice"))
				return
			}
			seen[sum] = true
			token = next
		}
		yield(zero, fmt.Errorf("the list does not end: the service returned more than %d pages", maxPages))
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
