package registry

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// stageTold is how long a stage lasts before DescribeTypeRegistration reports it: the answer
// right after a request has no description.
const stageTold = 2 * time.Second

// DescribeTypeRegistration reports the progress of a registration. Description is the reason
// of a failure. An unknown token is CFNRegistryException.
func (r *Registry) DescribeTypeRegistration(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeTypeRegistrationInput) (*cloudformation.DescribeTypeRegistrationOutput, error) {
	token := aws.ToString(in.RegistrationToken)
	row, err := r.readRegistration(ctx, token)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && (row.Account != caller.Account || row.Region != caller.Region):
		return nil, refuse("The registration token '%s' cannot be found.", token)
	case err != nil:
		return nil, err
	}
	arn := privateARN(caller, schema.Kind(row.Kind), row.TypeName)
	return &cloudformation.DescribeTypeRegistrationOutput{
		ProgressStatus: types.RegistrationStatus(row.Status),
		Description:    absent(r.describeStage(row)),
		TypeArn:        aws.String(arn.String()),
		TypeVersionArn: aws.String(arn.WithVersion(versionID(row.Version)).String()),
	}, nil
}

// describeStage says with the messages of the service where a registration is.
func (r *Registry) describeStage(row *registrationRow) string {
	status := row.Status
	switch types.RegistrationStatus(status) {
	case types.RegistrationStatusInProgress:
		if r.config.Now().Sub(row.UpdatedAt.Time) < stageTold {
			return ""
		}
	case types.RegistrationStatusComplete:
		status = "COMPLETED"
	}
	return fmt.Sprintf("Deployment is currently in %s of status %s; %s", row.Stage, status, row.Description)
}

// DescribeType describes a version of a type, by default the default one: a private type of
// the account, an activated one, or a public one. Types and versions that do not exist are
// TypeNotFoundException, as are those of other accounts. A deregistered type is still
// described. If the type is none of these, it may be a Lambda Hook or Guard Hook, or imported.
func (r *Registry) DescribeType(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeTypeInput) (*cloudformation.DescribeTypeOutput, error) {
	out, err := r.describeType(ctx, caller, in)
	if !isTypeNotFound(err) {
		return out, err
	}
	if managed, lookup := r.describeManaged(ctx, caller, in); managed != nil || lookup != nil {
		return managed, lookup
	}
	return r.describeImported(ctx, caller, in, err)
}

func (r *Registry) describeType(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeTypeInput) (*cloudformation.DescribeTypeOutput, error) {
	if in.PublisherId != nil || in.PublicVersionNumber != nil {
		return r.describePublic(ctx, caller, in)
	}
	arn, err := named(caller, in.Arn, in.Type, in.TypeName, in.VersionId)
	if err != nil {
		return nil, err
	}
	if arn.Public() {
		return r.describePublic(ctx, caller, in)
	}
	if err := ownARN(caller, arn); err != nil {
		return nil, err
	}
	typ, v, err := r.privateVersion(ctx, r.store.Read(), caller, arn.Kind, arn.TypeName, arn.Version)
	switch {
	case err != nil:
		return nil, err
	case typ == nil:
		return r.describePublic(ctx, caller, in)
	case typ.Deprecated: // the name may be in use for an activation by now
		out, err := r.describePublic(ctx, caller, in)
		if refused := (*awswire.Error)(nil); !errors.As(err, &refused) {
			return out, err
		}
	}
	return describePrivate(caller, typ, v, arn.Version != "")
}

// describePrivate sets exactly the members that the service returns for a private type. Test
// statuses are only returned if a version is requested, by VersionId or by its ARN, as
// TestType returns it.
func describePrivate(caller awswire.Caller, typ *typeRow, v *versionRow, tests bool) (*cloudformation.DescribeTypeOutput, error) {
	kind := schema.Kind(typ.Kind)
	configuration, err := describedConfigurationSchema(kind, typ.TypeName, v.ConfigurationSchema, caller.Region)
	if err != nil {
		return nil, err
	}
	required, err := decodeRequired(v.RequiredTypes)
	if err != nil {
		return nil, err
	}
	out := &cloudformation.DescribeTypeOutput{
		Arn:                 aws.String(privateARN(caller, kind, typ.TypeName).WithVersion(versionID(v.Version)).String()),
		ConfigurationSchema: absent(configuration), DefaultVersionId: aws.String(versionID(*typ.DefaultVersion)),
		DeprecatedStatus: deprecatedStatus(v.Deprecated), Description: absent(v.Description),
		DocumentationUrl: absent(v.DocumentationURL), ExecutionRoleArn: absent(v.ExecutionRole),
		IsDefaultVersion: aws.Bool(*typ.DefaultVersion == v.Version), LastUpdated: &v.UpdatedAt.Time,
		ProvisioningType: types.ProvisioningType(v.ProvisioningType), RequiredActivatedTypes: required, Schema: &v.Schema,
		SourceUrl: absent(v.SourceURL), TimeCreated: &v.CreatedAt.Time,
		Type: types.RegistryType(kind), TypeName: &typ.TypeName, Visibility: types.VisibilityPrivate,
	}
	if v.ExecutionRole == "" && kind == schema.Resource {
		out.ExecutionRoleArn = aws.String(defaultRole(caller))
	}
	if v.LogGroup != "" {
		out.LoggingConfig = &types.LoggingConfig{LogGroupName: &v.LogGroup, LogRoleArn: absent(v.LogRole)}
	}
	if tests {
		out.TypeTestsStatus = types.TypeTestsStatus(v.TestStatus)
		out.TypeTestsStatusDescription = absent(v.TestStatusDescription)
	}
	return out, nil
}

// defaultRole is what the service answers as the role of a resource type that was
// registered without one: recorded is that there is one, not what it is called. Handlers of
// such types get no credentials.
func defaultRole(caller awswire.Caller) string {
	return fmt.Sprintf("arn:%s:iam::%s:role/aws-service-role/resources.cloudformation.amazonaws.com/CloudFormationResourceTypeDefault", caller.Partition(), caller.Account)
}

func deprecatedStatus(deprecated bool) types.DeprecatedStatus {
	if deprecated {
		return types.DeprecatedStatusDeprecated
	}
	return types.DeprecatedStatusLive
}
