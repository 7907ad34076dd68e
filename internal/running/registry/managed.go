package registry

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// ManagedPublisher is the publisher of the hooks of the service itself.
const ManagedPublisher = "aws-hooks"

// managedVersion is the id of the only version of such a hook.
const managedVersion = "00000001"

// managedRef returns the managed hook that a request names, nil if it names none.
func (r *Registry) managedRef(ctx context.Context, caller awswire.Caller, arn *string, kind types.RegistryType, typeName, version *string) (*hook.Managed, error) {
	name, err := named(caller, arn, kind, typeName, version)
	if err != nil || name.Version != "" && !sameVersion(name.Version, managedVersion) {
		return nil, nil //nolint:nilerr // it is refused already
	}
	return r.managed(ctx, caller, name)
}

// managed returns the managed hook of a name, nil if there is none.
func (r *Registry) managed(ctx context.Context, caller awswire.Caller, name schema.TypeARN) (*hook.Managed, error) {
	if r.config.ManagedHooks == nil || name.Kind != schema.Hook || name.Public() || ownARN(caller, name) != nil {
		return nil, nil
	}
	hooks, err := r.config.ManagedHooks.All(ctx, caller.Place)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(hooks, func(h hook.Managed) bool { return h.Alias == name.TypeName }); i >= 0 {
		return &hooks[i], nil
	}
	return nil, nil
}

// notManaged is err, which says that a type is missing, unless the type is a managed hook: what
// its configuration is, and whether it is activated, is changed in the template of its stack.
func (r *Registry) notManaged(ctx context.Context, caller awswire.Caller, name schema.TypeARN, err error) error {
	if !isTypeNotFound(err) {
		return err
	}
	hook, lookup := r.managed(ctx, caller, name)
	switch {
	case lookup != nil:
		return lookup
	case hook == nil:
		return err
	}
	return refuse("The hook '%s' is a resource of a stack: change or delete it in the template of the stack.", hook.Alias)
}

// describeManaged answers DescribeType for a Lambda Hook or Guard Hook, nil for anything else. The
// schemas and version numbers of the service's hooks are not known here, and left out.
func (r *Registry) describeManaged(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeTypeInput) (*cloudformation.DescribeTypeOutput, error) {
	if in.PublisherId != nil || in.PublicVersionNumber != nil {
		return nil, nil
	}
	h, err := r.managedRef(ctx, caller, in.Arn, in.Type, in.TypeName, in.VersionId)
	if h == nil || err != nil {
		return nil, err
	}
	return &cloudformation.DescribeTypeOutput{
		Arn: aws.String(privateARN(caller, schema.Hook, h.Alias).WithVersion(managedVersion).String()), Type: types.RegistryTypeHook, TypeName: &h.Alias,
		OriginalTypeName: &h.Kind, OriginalTypeArn: aws.String(publicARN(caller, schema.Hook, ManagedPublisher, h.Kind).String()),
		PublisherId: aws.String(ManagedPublisher), Visibility: types.VisibilityPublic, IsActivated: aws.Bool(true), TimeCreated: &h.CreatedAt.Time,
	}, nil
}

// managedVersions answers ListTypeVersions for a Lambda Hook or Guard Hook, nil for anything else.
func (r *Registry) managedVersions(ctx context.Context, caller awswire.Caller, in *cloudformation.ListTypeVersionsInput) ([]types.TypeVersionSummary, error) {
	h, err := r.managedRef(ctx, caller, in.Arn, in.Type, in.TypeName, nil)
	if h == nil || err != nil {
		return nil, err
	}
	if in.DeprecatedStatus == types.DeprecatedStatusDeprecated {
		return []types.TypeVersionSummary{}, nil
	}
	return []types.TypeVersionSummary{{
		Arn: aws.String(privateARN(caller, schema.Hook, h.Alias).WithVersion(managedVersion).String()), Type: types.RegistryTypeHook, TypeName: &h.Alias,
		VersionId: aws.String(managedVersion), TimeCreated: &h.CreatedAt.Time,
	}}, nil
}

// managedSummaries lists the Lambda Hooks and Guard Hooks of the account under their aliases.
func (r *Registry) managedSummaries(ctx context.Context, caller awswire.Caller, q summaryQuery) ([]types.TypeSummary, error) {
	summaries := []types.TypeSummary{}
	if r.config.ManagedHooks == nil || q.kind != "" && q.kind != string(types.RegistryTypeHook) || q.publisher != "" && q.publisher != ManagedPublisher ||
		q.provisioning != nil && !slices.Contains(q.provisioning, "") {
		return summaries, nil
	}
	hooks, err := r.config.ManagedHooks.All(ctx, caller.Place)
	if err != nil {
		return nil, err
	}
	for i := range hooks {
		h := &hooks[i]
		s := types.TypeSummary{
			Type: types.RegistryTypeHook, TypeName: &h.Alias, TypeArn: aws.String(privateARN(caller, schema.Hook, h.Alias).String()),
			OriginalTypeName: &h.Kind, PublisherId: aws.String(ManagedPublisher), IsActivated: aws.Bool(true),
		}
		if strings.HasPrefix(h.Alias, q.prefix) && strings.Contains(strings.ToLower(h.Alias), q.search) && compareKeys(keyOfSummary(s), q.after) > 0 {
			summaries = append(summaries, s)
		}
	}
	return summaries[:min(len(summaries), q.limit)], nil
}
