package stack

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// pageSize is how many entries an answer has at most.
const pageSize = 100

// offset reads a NextToken: the start of the page.
func offset(token *string) (int64, error) {
	if token == nil {
		return 0, nil
	}
	n, err := strconv.ParseInt(*token, 10, 64)
	if err != nil || n < 0 {
		return 0, refuse("next-token")
	}
	return n, nil
}

// paged cuts a page off rows of which one more than fits was read.
func paged[T any](rows []T, from int64) ([]T, *string) {
	if len(rows) <= pageSize {
		return rows, nil
	}
	return rows[:pageSize], aws.String(strconv.FormatInt(from+pageSize, 10))
}

// DescribeStacks returns one stack, or all that live.
func (e *Engine) DescribeStacks(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStacksInput) (*cloudformation.DescribeStacksOutput, error) {
	out := &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{}}
	var rows []stackRow
	if in.StackName != nil {
		s, err := requireStack(ctx, e.store.Read(), caller, in.StackName, "missing-id")
		if err != nil {
			return nil, err
		}
		rows = []stackRow{*s}
	} else {
		from, err := offset(in.NextToken)
		if err != nil {
			return nil, err
		}
		err = store.List(ctx, e.store.Read(), &rows, "WHERE account = ? AND region = ? AND live ORDER BY created_at DESC, id LIMIT ? OFFSET ?",
			caller.Account, caller.Region, pageSize+1, from)
		if err != nil {
			return nil, err
		}
		rows, out.NextToken = paged(rows, from)
	}
	deployments, err := e.deploymentsOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		out.Stacks = append(out.Stacks, described(&rows[i], deployments[rows[i].DeploymentID]))
	}
	return out, nil
}

// deploymentsOf reads what stacks were deployed with, but for the templates.
func (e *Engine) deploymentsOf(ctx context.Context, rows []stackRow) (map[string]*deploymentRow, error) {
	var ids []string
	for _, s := range rows {
		if s.DeploymentID != "" {
			ids = append(ids, s.DeploymentID)
		}
	}
	out := map[string]*deploymentRow{}
	if len(ids) == 0 {
		return out, nil
	}
	var found []deploymentRow
	err := store.Query(ctx, e.store.Read(), &found, "SELECT "+store.Columns[deploymentRow]("original", "processed", "modules", "resources")+" FROM stack_deployments WHERE id IN (?)",
		store.In(ids))
	for i := range found {
		out[found[i].ID] = &found[i]
	}
	return out, err
}

// described is a stack as DescribeStacks shows it. d may be nil: a stack in review.
func described(s *stackRow, d *deploymentRow) types.Stack {
	settings := s.Settings.Get()
	out := types.Stack{
		StackId: aws.String(s.ARN), StackName: aws.String(s.Name), StackStatus: s.Status, DetailedStatus: s.DetailedStatus,
		CreationTime: &s.CreatedAt.Time, LastUpdatedTime: timePtr(s.UpdatedAt), DeletionTime: timePtr(s.DeletedAt),
		DisableRollback: aws.Bool(settings.DisableRollback), NotificationARNs: []string{}, Tags: []types.Tag{},
		RollbackConfiguration: settings.Rollback, DriftInformation: driftOf(s), DeletionMode: settings.DeletionMode,
		LastOperations:   settings.LastOperations,
		DeploymentConfig: &types.DeploymentConfig{Mode: settings.Mode, DisableRollback: aws.Bool(settings.DisableRollback)},
	}
	if out.DeploymentConfig.Mode == "" {
		out.DeploymentConfig.Mode = types.DeploymentConfigModeStandard
	}
	if out.RollbackConfiguration == nil {
		out.RollbackConfiguration = &types.RollbackConfiguration{}
	}
	if s.Status != types.StackStatusDeleteComplete {
		out.EnableTerminationProtection = aws.Bool(s.Protected)
	}
	if settings.RetainExceptOnCreate {
		out.RetainExceptOnCreate = aws.Bool(true)
	}
	if settings.TimeoutInMinutes > 0 {
		out.TimeoutInMinutes = aws.Int32(settings.TimeoutInMinutes)
	}
	for field, value := range map[**string]string{
		&out.StackStatusReason: s.Reason, &out.ChangeSetId: s.ChangeSetID, &out.RoleARN: s.RoleARN, &out.ParentId: s.ParentID, &out.RootId: s.RootID,
	} {
		if value != "" {
			*field = aws.String(value)
		}
	}
	describedOutputs(s, &out)
	if d != nil {
		describedDeployment(d, &out)
	}
	return out
}

func describedOutputs(s *stackRow, out *types.Stack) {
	for _, o := range s.Outputs.Get() {
		shown := types.Output{OutputKey: aws.String(o.Key), OutputValue: aws.String(o.Value)}
		if o.Description != "" {
			shown.Description = aws.String(o.Description)
		}
		if o.Export != "" {
			shown.ExportName = aws.String(o.Export)
		}
		out.Outputs = append(out.Outputs, shown)
	}
}

func describedDeployment(d *deploymentRow, out *types.Stack) {
	parameters := d.Parameters.Get()
	out.Parameters = ShownParameters(&parameters)
	if d.Description != "" {
		out.Description = aws.String(d.Description)
	}
	if tags := d.Tags.Get(); tags != nil {
		out.Tags = tags
	}
	if arns := d.NotificationARNs.Get(); arns != nil {
		out.NotificationARNs = arns
	}
	out.Capabilities = d.Capabilities.Get()
}

// ShownParameters are parameters as the API shows them: **** for NoEcho.
func ShownParameters(p *template.Parameters) []types.Parameter {
	var out []types.Parameter
	for _, b := range p.Bound {
		shown := types.Parameter{ParameterKey: aws.String(b.Key), ParameterValue: aws.String(b.Shown())}
		if b.Unknown {
			shown.ParameterValue = aws.String(plan.Pending)
		}
		if b.Stored {
			shown.ResolvedValue = aws.String(b.ShownResolved())
		}
		out = append(out, shown)
	}
	return out
}

// driftOf is the drift status of a stack.
func driftOf(s *stackRow) *types.StackDriftInformation {
	out := s.Drift.Get()
	if s.Drift.IsZero() {
		out.StackDriftStatus = types.StackDriftStatusNotChecked
	}
	return &out
}

// ListStacks returns the stacks of some statuses, deleted ones included.
func (e *Engine) ListStacks(ctx context.Context, caller awswire.Caller, in *cloudformation.ListStacksInput) (*cloudformation.ListStacksOutput, error) {
	from, err := offset(in.NextToken)
	if err != nil {
		return nil, err
	}
	var rows []stackRow
	var where store.Where
	where.And("account = ? AND region = ?", caller.Account, caller.Region)
	if len(in.StackStatusFilter) > 0 {
		where.And("status IN (?)", store.In(in.StackStatusFilter))
	}
	if err := store.List(ctx, e.store.Read(), &rows, where.Clause()+" ORDER BY created_at DESC, id LIMIT ? OFFSET ?", append(where.Args, pageSize+1, from)...); err != nil {
		return nil, err
	}
	out := &cloudformation.ListStacksOutput{StackSummaries: []types.StackSummary{}}
	rows, out.NextToken = paged(rows, from)
	deployments, err := e.deploymentsOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		s := &rows[i]
		full := described(s, deployments[s.DeploymentID])
		out.StackSummaries = append(out.StackSummaries, types.StackSummary{
			StackId: full.StackId, StackName: full.StackName, StackStatus: full.StackStatus, StackStatusReason: full.StackStatusReason,
			CreationTime: full.CreationTime, LastUpdatedTime: full.LastUpdatedTime, DeletionTime: full.DeletionTime,
			ParentId: full.ParentId, RootId: full.RootId, TemplateDescription: full.Description, LastOperations: full.LastOperations,
			DriftInformation: &types.StackDriftInformationSummary{StackDriftStatus: full.DriftInformation.StackDriftStatus, LastCheckTimestamp: full.DriftInformation.LastCheckTimestamp},
		})
	}
	return out, nil
}

// GetTemplate returns the template of a stack, as it was given or as it was processed.
func (e *Engine) GetTemplate(ctx context.Context, caller awswire.Caller, in *cloudformation.GetTemplateInput) (*cloudformation.GetTemplateOutput, error) {
	id, err := e.deploymentToShow(ctx, caller, in)
	if err != nil {
		return nil, err
	}
	out := &cloudformation.GetTemplateOutput{StagesAvailable: []types.TemplateStage{types.TemplateStageOriginal, types.TemplateStageProcessed}}
	row, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", id)
	if err != nil || row == nil {
		out.StagesAvailable = []types.TemplateStage{types.TemplateStageOriginal}
		out.TemplateBody = aws.String("")
		return out, err
	}
	out.TemplateBody = aws.String(row.Original)
	if in.TemplateStage == types.TemplateStageProcessed && expands(row.Original) && row.processed() != "" {
		out.TemplateBody = aws.String(row.Processed)
	}
	return out, nil
}

// expands reports whether a template has transforms. One without is its own processed
// template, in the language that it was written in.
func expands(original string) bool {
	parsed, err := template.Parse("", []byte(original), template.ParseOptions{})
	return err != nil || parsed.NeedsExpansion()
}

// deploymentToShow finds the deployment for GetTemplate.
func (e *Engine) deploymentToShow(ctx context.Context, caller awswire.Caller, in *cloudformation.GetTemplateInput) (string, error) {
	if in.ChangeSetName != nil {
		if !isARN(*in.ChangeSetName) && aws.ToString(in.StackName) == "" {
			return "", refuse("name-required")
		}
		c, err := e.requireSet(ctx, e.store.Read(), caller, in.ChangeSetName, in.StackName)
		if err != nil {
			return "", err
		}
		return c.DeploymentID, nil
	}
	if aws.ToString(in.StackName) == "" {
		return "", refuse("change-set-required")
	}
	s, err := requireStack(ctx, e.store.Read(), caller, in.StackName, "missing-id")
	if err != nil {
		return "", err
	}
	return s.DeploymentID, nil
}
