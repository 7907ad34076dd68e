package stackset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// executionRole is the execution role of sets that name none.
const executionRole = "AWSCloudFormationStackSetExecutionRole"

// selfManaged refuses what only service-managed permissions have.
func selfManaged(callAs types.CallAs, model types.PermissionModels, deployment *types.AutoDeployment) error {
	switch {
	case callAs == types.CallAsDelegatedAdmin:
		return invalid("You can only operate on SERVICE_MANAGED StackSets as a delegated administrator")
	case model == types.PermissionModelsServiceManaged:
		return invalid("The permission model SERVICE_MANAGED requires AWS Organizations, which this server does not support; use SELF_MANAGED")
	case deployment != nil && (aws.ToBool(deployment.Enabled) || deployment.RetainStacksOnAccountRemoval != nil):
		return invalid("AutoDeployment is not supported")
	}
	return nil
}

// requestHash is a fingerprint of a request, to find out whether a token was used for another one.
func requestHash(in any) string {
	sum := sha256.Sum256([]byte(store.JSONOf(in).Text()))
	return hex.EncodeToString(sum[:])
}

// liveSet finds a set by its name, nil if there is none.
func liveSet(ctx context.Context, db store.DB, place awswire.Place, name string) (*setRow, error) {
	return store.Find[setRow](ctx, db, "account = ? AND region = ? AND name = ? AND live", place.Account, place.Region, name)
}

// set finds a set by its name or id. Deleted ones have only their id.
func set(ctx context.Context, db store.DB, caller awswire.Caller, name *string, callAs types.CallAs) (*setRow, error) {
	if err := selfManaged(callAs, "", nil); err != nil {
		return nil, err
	}
	text := aws.ToString(name)
	found, err := setOf(ctx, db, caller.Place, text)
	if err == nil && found == nil {
		err = noSet(text)
	}
	return found, err
}

func setOf(ctx context.Context, db store.DB, place awswire.Place, text string) (*setRow, error) {
	if _, rest, isARN := strings.Cut(text, ":stackset/"); isARN {
		text = rest
	}
	if name, id, ok := strings.Cut(text, ":"); ok {
		return store.Find[setRow](ctx, db, "account = ? AND region = ? AND name = ? AND id = ?", place.Account, place.Region, name, id)
	}
	return liveSet(ctx, db, place, text)
}

// CreateStackSet adds a set without instances.
func (e *Engine) CreateStackSet(ctx context.Context, caller awswire.Caller, in *cloudformation.CreateStackSetInput) (*cloudformation.CreateStackSetOutput, error) {
	if err := selfManaged(in.CallAs, in.PermissionModel, in.AutoDeployment); err != nil {
		return nil, err
	}
	body, url := in.TemplateBody, in.TemplateURL
	if in.StackId != nil {
		if body != nil || url != nil {
			return nil, invalid("You can only specify one of TemplateBody, TemplateURL or StackId")
		}
		text, err := e.templateOfStack(ctx, caller, *in.StackId)
		if err != nil {
			return nil, err
		}
		body = &text
	}
	row := &setRow{
		ID: e.config.NewID(), Account: caller.Account, Region: caller.Region, Name: aws.ToString(in.StackSetName), Live: true,
		Description: aws.ToString(in.Description), AdminRole: aws.ToString(in.AdministrationRoleARN), Role: cmp.Or(aws.ToString(in.ExecutionRoleName), executionRole),
		Managed: in.ManagedExecution != nil && aws.ToBool(in.ManagedExecution.Active), Tags: store.JSONOf(in.Tags),
		ClientToken: aws.ToString(in.ClientRequestToken), RequestHash: requestHash(in), CreatedAt: e.now(), RowVersion: 1,
	}
	text, parsed, err := e.config.Stacks.ReadTemplate(ctx, caller, body, url)
	if err != nil {
		return nil, err
	}
	if err := row.accept(text, parsed, in.Parameters, in.Capabilities); err != nil {
		return nil, err
	}
	err = e.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		taken, err := liveSet(ctx, tx, caller.Place, row.Name)
		switch {
		case err != nil:
			return err
		case taken != nil && row.ClientToken != "" && taken.ClientToken == row.ClientToken && taken.RequestHash == row.RequestHash:
			row = taken
			return nil
		case taken != nil && row.ClientToken != "" && taken.ClientToken == row.ClientToken:
			return awswire.Errorf("CreatedButModifiedException", http.StatusConflict, "The specified resource exists, but has been changed.")
		case taken != nil:
			return awswire.Errorf("NameAlreadyExistsException", http.StatusConflict, "StackSet %s already exists", row.Name)
		}
		return store.Insert(ctx, tx, row)
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.CreateStackSetOutput{StackSetId: aws.String(row.id())}, nil
}

// templateOfStack is the template of a stack of the caller, to make a set of it.
func (e *Engine) templateOfStack(ctx context.Context, caller awswire.Caller, arn string) (string, error) {
	place, ok := placeOf(arn)
	if !ok || place.Account != caller.Account {
		return "", invalid("Stack with id %s does not exist", arn)
	}
	out, err := e.config.Stacks.GetTemplate(ctx, at(caller, place), &cloudformation.GetTemplateInput{StackName: &arn})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.TemplateBody), nil
}

// placeOf is the account and region in the ARN of a stack.
func placeOf(arn string) (awswire.Place, bool) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[2] != "cloudformation" || !strings.HasPrefix(parts[5], "stack/") {
		return awswire.Place{}, false
	}
	return awswire.Place{Account: parts[4], Region: parts[3]}, true
}

// at is a caller who acts in another place.
func at(caller awswire.Caller, place awswire.Place) awswire.Caller {
	caller.Place = place
	return caller
}

// accept gives a set its template with parameters and capabilities.
func (s *setRow) accept(text string, parsed *template.Template, parameters []types.Parameter, capabilities []types.Capability) error {
	given := make([]string, 0, len(capabilities))
	for _, c := range capabilities {
		given = append(given, string(c))
	}
	if err := stack.RefusedTemplate(parsed.CheckCapabilities(given)); err != nil {
		return err
	}
	var unknown, missing []string
	for _, p := range parameters {
		if parsed.Parameter(aws.ToString(p.ParameterKey)) == nil {
			unknown = append(unknown, aws.ToString(p.ParameterKey))
		}
	}
	if len(unknown) > 0 {
		return invalid("Parameters: [%s] do not exist in the template", strings.Join(unknown, ", "))
	}
	for _, p := range parsed.Parameters {
		has := slices.ContainsFunc(parameters, func(given types.Parameter) bool { return aws.ToString(given.ParameterKey) == p.Name })
		if !has && p.Default == nil {
			missing = append(missing, p.Name)
		}
	}
	if len(missing) > 0 {
		return invalid("Parameters: [%s] must have values", strings.Join(missing, ", "))
	}
	s.Template, s.Parameters, s.Capabilities = text, store.JSONOf(parameters), store.JSONOf(capabilities)
	if s.Description == "" {
		s.Description = parsed.Description
	}
	return nil
}

// settle replaces the parameters that keep their previous value by that.
func settle(given, previous []types.Parameter) ([]types.Parameter, error) {
	out := []types.Parameter{}
	for _, p := range given {
		if aws.ToBool(p.UsePreviousValue) {
			i := slices.IndexFunc(previous, func(old types.Parameter) bool { return aws.ToString(old.ParameterKey) == aws.ToString(p.ParameterKey) })
			if i < 0 {
				return nil, invalid("Invalid input for parameter key %s. Cannot specify usePreviousValue as true for a parameter key not in the previous template", aws.ToString(p.ParameterKey))
			}
			p = previous[i]
		}
		out = append(out, types.Parameter{ParameterKey: p.ParameterKey, ParameterValue: aws.String(aws.ToString(p.ParameterValue))})
	}
	return out, nil
}

// UpdateStackSet changes a set, and begins the update of instances.
func (e *Engine) UpdateStackSet(ctx context.Context, caller awswire.Caller, in *cloudformation.UpdateStackSetInput) (*cloudformation.UpdateStackSetOutput, error) {
	if err := selfManaged(in.CallAs, in.PermissionModel, in.AutoDeployment); err != nil {
		return nil, err
	}
	previous, err := set(ctx, e.store.Read(), caller, in.StackSetName, in.CallAs)
	if err != nil {
		return nil, err
	}
	if !previous.Live {
		return nil, noSet(aws.ToString(in.StackSetName))
	}
	body, url := in.TemplateBody, in.TemplateURL
	if aws.ToBool(in.UsePreviousTemplate) {
		if body != nil || url != nil {
			return nil, invalid("You cannot specify both usePreviousTemplate and Template Body/Template URL")
		}
		body = &previous.Template
	}
	text, parsed, err := e.config.Stacks.ReadTemplate(ctx, caller, body, url)
	if err != nil {
		return nil, err
	}
	asked, err := e.targets(in.Accounts, in.DeploymentTargets, in.Regions, len(in.Accounts) == 0 && in.DeploymentTargets == nil && len(in.Regions) == 0)
	if err != nil {
		return nil, err
	}
	begin, err := e.request(caller, types.StackSetOperationActionUpdate, in.OperationId, in.OperationPreferences, input{Targets: asked, Changed: true})
	if err != nil {
		return nil, err
	}
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := set(ctx, tx, caller, aws.String(previous.id()), in.CallAs)
		if err != nil {
			return err
		}
		if err := row.change(in, text, parsed); err != nil {
			return err
		}
		if err := store.Swap(ctx, tx, row, &row.RowVersion); err != nil {
			return err
		}
		return e.accept(ctx, tx, row, begin)
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.UpdateStackSetOutput{OperationId: &begin.ID}, nil
}

// change gives a set what a request asks for.
func (s *setRow) change(in *cloudformation.UpdateStackSetInput, text string, parsed *template.Template) error {
	parameters, err := settle(in.Parameters, s.Parameters.Get())
	if err != nil {
		return err
	}
	capabilities := in.Capabilities
	if capabilities == nil && aws.ToBool(in.UsePreviousTemplate) {
		capabilities = s.Capabilities.Get()
	}
	if in.Description != nil {
		s.Description = *in.Description
	}
	if err := s.accept(text, parsed, parameters, capabilities); err != nil {
		return err
	}
	if in.Tags != nil {
		s.Tags = store.JSONOf(in.Tags)
	}
	if in.AdministrationRoleARN != nil {
		s.AdminRole = *in.AdministrationRoleARN
	}
	if in.ExecutionRoleName != nil {
		s.Role = *in.ExecutionRoleName
	}
	if in.ManagedExecution != nil {
		s.Managed = aws.ToBool(in.ManagedExecution.Active)
	}
	return nil
}

// DeleteStackSet removes a set without instances. Deleting one that does not exist succeeds.
func (e *Engine) DeleteStackSet(ctx context.Context, caller awswire.Caller, in *cloudformation.DeleteStackSetInput) (*cloudformation.DeleteStackSetOutput, error) {
	if err := selfManaged(in.CallAs, "", nil); err != nil {
		return nil, err
	}
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := setOf(ctx, tx, caller.Place, aws.ToString(in.StackSetName))
		if err != nil || row == nil || !row.Live {
			return err
		}
		if err := e.idle(ctx, tx, row); err != nil {
			return err
		}
		instance, err := store.Find[instanceRow](ctx, tx, "set_id = ?", row.ID)
		switch {
		case err != nil:
			return err
		case instance != nil:
			return awswire.Errorf("StackSetNotEmptyException", http.StatusConflict, "StackSet is not empty")
		}
		row.Live = false
		return store.Swap(ctx, tx, row, &row.RowVersion, "live")
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.DeleteStackSetOutput{}, nil
}

// idle refuses what cannot be done while an operation runs.
func (e *Engine) idle(ctx context.Context, db store.DB, s *setRow) error {
	running, err := store.Find[operationRow](ctx, db, "set_id = ? AND ended_at IS NULL", s.ID)
	if err == nil && running != nil {
		err = awswire.Errorf("OperationInProgressException", http.StatusConflict, "Another Operation on StackSet %s is in progress: %s", s.arn(), running.ID)
	}
	return err
}

// shown are parameters as answers show them: those with NoEcho are masked.
func shown(parameters []types.Parameter, parsed *template.Template) []types.Parameter {
	out := append([]types.Parameter{}, parameters...)
	for i, p := range out {
		declared := (*template.Parameter)(nil)
		if parsed != nil {
			declared = parsed.Parameter(aws.ToString(p.ParameterKey))
		}
		if declared == nil || declared.NoEcho { // what it is cannot be known
			out[i].ParameterValue = aws.String("****")
		}
	}
	return out
}

// parsedTemplate reads the template of a set, nil if it cannot be read.
func (s *setRow) parsedTemplate() *template.Template {
	parsed, err := template.Parse("", []byte(s.Template), template.ParseOptions{})
	if err != nil {
		return nil
	}
	return parsed
}

// DescribeStackSet describes a set.
func (e *Engine) DescribeStackSet(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackSetInput) (*cloudformation.DescribeStackSetOutput, error) {
	row, err := set(ctx, e.store.Read(), caller, in.StackSetName, in.CallAs)
	if err != nil {
		return nil, err
	}
	out := &types.StackSet{
		StackSetName: &row.Name, StackSetId: aws.String(row.id()), StackSetARN: aws.String(row.arn()), Status: row.status(), TemplateBody: &row.Template,
		AdministrationRoleARN: aws.String(row.adminRole()), ExecutionRoleName: &row.Role, PermissionModel: types.PermissionModelsSelfManaged,
		OrganizationalUnitIds: []string{}, ManagedExecution: &types.ManagedExecution{Active: &row.Managed}, StackSetDriftDetectionDetails: row.Drift.Get(),
		Parameters: shown(row.Parameters.Get(), row.parsedTemplate()), Capabilities: append([]types.Capability{}, row.Capabilities.Get()...), Tags: append([]types.Tag{}, row.Tags.Get()...),
	}
	if row.Description != "" {
		out.Description = &row.Description
	}
	err = store.Query(ctx, e.store.Read(), &out.Regions, "SELECT DISTINCT region FROM stack_set_instances WHERE set_id = ? ORDER BY region", row.ID)
	if err != nil {
		return nil, fmt.Errorf("read the regions of a stack set: %w", err)
	}
	return &cloudformation.DescribeStackSetOutput{StackSet: out}, nil
}
