package stackset

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var (
	accountForm   = lazyregexp.New(`^[0-9]{12}$`)
	regionForm    = lazyregexp.New(`^[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}$`)
	operationForm = lazyregexp.New(`^[a-zA-Z0-9][-a-zA-Z0-9]{0,127}$`)
)

// maxTargets bounds the instances of one request.
const maxTargets = 10_000

// targets are the accounts and regions of a request. With everything, none means all instances.
func (e *Engine) targets(accounts []string, in *types.DeploymentTargets, regions []string, everything bool) ([]awswire.Place, error) {
	if everything {
		return nil, nil
	}
	if in != nil {
		switch {
		case len(in.OrganizationalUnitIds) > 0:
			return nil, invalid("StackSets with SELF_MANAGED permission model can only have accounts as target")
		case in.AccountFilterType != "" && in.AccountFilterType != types.AccountFilterTypeNone:
			return nil, invalid("AccountFilterType is only supported for StackSets with SERVICE_MANAGED permission model")
		case in.AccountsUrl != nil:
			return nil, invalid("AccountsUrl is not supported by this server; list the accounts")
		case len(accounts) > 0 && len(in.Accounts) > 0:
			return nil, invalid("Exactly one of Accounts or DeploymentTargets must be specified")
		}
		accounts = slices.Concat(accounts, in.Accounts)
	}
	switch {
	case len(accounts) == 0:
		return nil, invalid("Exactly one of Accounts or AccountsURL must be specified")
	case len(regions) == 0:
		return nil, invalid("At least one region must be specified")
	case len(accounts)*len(regions) > maxTargets:
		return nil, invalid("A request is limited to %d stack instances", maxTargets)
	}
	var out []awswire.Place
	seen := map[awswire.Place]bool{}
	for _, region := range regions {
		if !regionForm.MatchString(region) {
			return nil, invalid("Region %s is not a valid region", region)
		}
		for _, account := range accounts {
			if !accountForm.MatchString(account) {
				return nil, invalid("Account %s is not a valid account", account)
			}
			place := awswire.Place{Account: account, Region: region}
			if !seen[place] {
				out = append(out, place)
			}
			seen[place] = true
		}
	}
	return out, nil
}

// request makes the row of an operation that is asked for.
func (e *Engine) request(caller awswire.Caller, action types.StackSetOperationAction, id *string, p *types.StackSetOperationPreferences, in input) (*operationRow, error) {
	if p != nil {
		in.Preferences = *p
	}
	if err := checkPreferences(in.Preferences); err != nil {
		return nil, err
	}
	row := &operationRow{
		ID: cmp.Or(aws.ToString(id), e.config.NewID()), Action: action, Status: types.StackSetOperationStatusRunning, Input: store.JSONOf(in),
		Caller: caller.AccessKeyID, CreatedAt: e.now(), RowVersion: 1,
	}
	if !operationForm.MatchString(row.ID) {
		return nil, invalid("1 validation error detected: Value '%s' at 'operationId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9][-a-zA-Z0-9]*", row.ID)
	}
	return row, nil
}

func checkPreferences(p types.StackSetOperationPreferences) error {
	percent := func(name string, value *int32, least int32) error {
		if value != nil && (*value < least || *value > 100) {
			return invalid("%s must be between %d and 100", name, least)
		}
		return nil
	}
	for _, region := range p.RegionOrder {
		if !regionForm.MatchString(region) {
			return invalid("Region %s is not a valid region", region)
		}
	}
	switch {
	case p.FailureToleranceCount != nil && p.FailureTolerancePercentage != nil:
		return invalid("Exactly one of FailureToleranceCount or FailureTolerancePercentage must be specified")
	case p.MaxConcurrentCount != nil && p.MaxConcurrentPercentage != nil:
		return invalid("Exactly one of MaxConcurrentCount or MaxConcurrentPercentage must be specified")
	case p.FailureToleranceCount != nil && *p.FailureToleranceCount < 0:
		return invalid("FailureToleranceCount must not be negative")
	case p.MaxConcurrentCount != nil && *p.MaxConcurrentCount < 1:
		return invalid("MaxConcurrentCount must be at least 1")
	}
	if err := percent("FailureTolerancePercentage", p.FailureTolerancePercentage, 0); err != nil {
		return err
	}
	return percent("MaxConcurrentPercentage", p.MaxConcurrentPercentage, 1)
}

// accept adds an operation to a set: it runs, or with managed execution it may wait for others.
func (e *Engine) accept(ctx context.Context, tx *store.Tx, s *setRow, begin *operationRow) error {
	taken, err := store.Find[operationRow](ctx, tx, "set_id = ? AND id = ?", s.ID, begin.ID)
	switch {
	case err != nil:
		return err
	case taken != nil:
		return awswire.Errorf("OperationIdAlreadyExistsException", http.StatusConflict, "The operation ID %s already exists in StackSet %s", begin.ID, s.id())
	}
	row := *begin
	busy := e.idle(ctx, tx, s)
	if busy != nil {
		if _, refused := busy.(*awswire.Error); !refused || !s.Managed { //nolint:errorlint // made by idle itself
			return busy
		}
		row.Status = types.StackSetOperationStatusQueued
	}
	row.SetID, row.AdminRole, row.Role = s.ID, s.adminRole(), s.Role
	if err := store.Query(ctx, tx, &row.Seq, "SELECT COALESCE(MAX(seq), 0) + 1 FROM stack_set_operations WHERE set_id = ?", s.ID); err != nil {
		return fmt.Errorf("number an operation: %w", err)
	}
	if err := store.Insert(ctx, tx, &row); err != nil {
		return fmt.Errorf("add an operation: %w", err)
	}
	if row.Status == types.StackSetOperationStatusQueued {
		return nil
	}
	return e.begin(ctx, tx, s, &row)
}

// begin makes the results of an operation, and the instances that it creates.
func (e *Engine) begin(ctx context.Context, tx *store.Tx, s *setRow, op *operationRow) error {
	in := op.Input.Get()
	existing, err := store.FindAll[instanceRow](ctx, tx, "region, account", "set_id = ?", s.ID)
	if err != nil {
		return err
	}
	known := make(map[awswire.Place]*instanceRow, len(existing))
	for i := range existing {
		known[existing[i].place()] = &existing[i]
	}
	for position, place := range targetsOf(op, in, existing) {
		i := known[place]
		if i == nil {
			i = &instanceRow{
				SetID: s.ID, Account: place.Account, Region: place.Region, StackName: "StackSet-" + s.Name + "-" + e.config.NewID(),
				Status: types.StackInstanceStatusOutdated, Drift: types.StackDriftStatusNotChecked,
			}
			if len(i.StackName) > 128 {
				i.StackName = "StackSet-" + s.Name[:128-len("StackSet--")-36] + i.StackName[len(i.StackName)-37:]
			}
		}
		if err := i.prepare(op, in); err != nil {
			return err
		}
		if err := store.Upsert(ctx, tx, []*instanceRow{i}, "overrides", "detailed_status", "last_operation_id", "reason", "status"); err != nil {
			return fmt.Errorf("write an instance: %w", err)
		}
		result := &resultRow{SetID: s.ID, OperationID: op.ID, Account: place.Account, Region: place.Region, Position: int64(position), Status: types.StackSetOperationResultStatusPending}
		if err := store.Insert(ctx, tx, result); err != nil {
			return fmt.Errorf("add a result: %w", err)
		}
	}
	if in.Changed {
		// Those that this operation leaves out are behind.
		_, err := store.Exec(ctx, tx, "UPDATE stack_set_instances SET status = ? WHERE set_id = ? AND status = ?",
			types.StackInstanceStatusOutdated, s.ID, types.StackInstanceStatusCurrent)
		if err != nil {
			return fmt.Errorf("mark the instances of a stack set: %w", err)
		}
	}
	return tx.Wake(ctx, wakeKind, s.ID+"/"+op.ID, time.Time{})
}

// prepare notes in an instance what an operation is about to do with it.
func (i *instanceRow) prepare(op *operationRow, in input) error {
	i.Operation, i.Reason = op.ID, ""
	if op.Action == types.StackSetOperationActionDetectDrift {
		return nil
	}
	i.Detailed = types.StackInstanceDetailedStatusPending
	if !in.Override {
		return nil
	}
	overrides, err := settle(in.Overrides, i.Overrides.Get())
	i.Overrides = store.JSONOf(overrides)
	return err
}

// targetsOf are the instances that an operation is about, in the order of the request or of their
// regions and accounts. Inoperable ones are only deleted.
func targetsOf(op *operationRow, in input, existing []instanceRow) []awswire.Place {
	creates := op.Action == types.StackSetOperationActionCreate
	places := in.Targets
	if places == nil {
		for i := range existing {
			places = append(places, existing[i].place())
		}
	}
	return slices.DeleteFunc(slices.Clone(places), func(place awswire.Place) bool {
		n := slices.IndexFunc(existing, func(i instanceRow) bool { return i.place() == place })
		if n < 0 {
			return !creates
		}
		return existing[n].Status == types.StackInstanceStatusInoperable && op.Action != types.StackSetOperationActionDelete
	})
}

// CreateStackInstances adds instances, or deploys those that exist already.
func (e *Engine) CreateStackInstances(ctx context.Context, caller awswire.Caller, in *cloudformation.CreateStackInstancesInput) (*cloudformation.CreateStackInstancesOutput, error) {
	id, err := e.operate(ctx, caller, in.StackSetName, in.CallAs, in.OperationId, in.OperationPreferences, types.StackSetOperationActionCreate, in.Accounts, in.DeploymentTargets, in.Regions,
		input{Overrides: in.ParameterOverrides, Override: in.ParameterOverrides != nil})
	if err != nil {
		return nil, err
	}
	return &cloudformation.CreateStackInstancesOutput{OperationId: &id}, nil
}

// UpdateStackInstances changes the parameters of instances that exist.
func (e *Engine) UpdateStackInstances(ctx context.Context, caller awswire.Caller, in *cloudformation.UpdateStackInstancesInput) (*cloudformation.UpdateStackInstancesOutput, error) {
	id, err := e.operate(ctx, caller, in.StackSetName, in.CallAs, in.OperationId, in.OperationPreferences, types.StackSetOperationActionUpdate, in.Accounts, in.DeploymentTargets, in.Regions,
		input{Overrides: in.ParameterOverrides, Override: in.ParameterOverrides != nil})
	if err != nil {
		return nil, err
	}
	return &cloudformation.UpdateStackInstancesOutput{OperationId: &id}, nil
}

// DeleteStackInstances removes instances, and their stacks unless those are retained.
func (e *Engine) DeleteStackInstances(ctx context.Context, caller awswire.Caller, in *cloudformation.DeleteStackInstancesInput) (*cloudformation.DeleteStackInstancesOutput, error) {
	id, err := e.operate(ctx, caller, in.StackSetName, in.CallAs, in.OperationId, in.OperationPreferences, types.StackSetOperationActionDelete, in.Accounts, in.DeploymentTargets, in.Regions,
		input{Retain: aws.Bool(aws.ToBool(in.RetainStacks))})
	if err != nil {
		return nil, err
	}
	return &cloudformation.DeleteStackInstancesOutput{OperationId: &id}, nil
}

// operate begins an operation on instances.
func (e *Engine) operate(
	ctx context.Context, caller awswire.Caller, name *string, callAs types.CallAs, id *string, p *types.StackSetOperationPreferences,
	action types.StackSetOperationAction, accounts []string, targets *types.DeploymentTargets, regions []string, in input,
) (string, error) {
	s, err := set(ctx, e.store.Read(), caller, name, callAs)
	if err != nil {
		return "", err
	}
	if in.Targets, err = e.targets(accounts, targets, regions, false); err != nil {
		return "", err
	}
	if err := s.checkOverrides(in.Overrides); err != nil {
		return "", err
	}
	begin, err := e.request(caller, action, id, p, in)
	if err != nil {
		return "", err
	}
	return begin.ID, e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := set(ctx, tx, caller, aws.String(s.id()), callAs)
		if err != nil {
			return err
		}
		if !s.Live {
			return noSet(aws.ToString(name))
		}
		if action == types.StackSetOperationActionUpdate {
			for _, place := range in.Targets {
				i, err := store.Find[instanceRow](ctx, tx, "set_id = ? AND account = ? AND region = ?", s.ID, place.Account, place.Region)
				if err != nil {
					return err
				}
				if i == nil {
					return noInstance(s, place.Account, place.Region)
				}
			}
		}
		return e.accept(ctx, tx, s, begin)
	})
}

// checkOverrides refuses parameters that the template does not have.
func (s *setRow) checkOverrides(overrides []types.Parameter) error {
	parsed := s.parsedTemplate()
	if parsed == nil {
		return nil
	}
	var unknown []string
	for _, p := range overrides {
		if parsed.Parameter(aws.ToString(p.ParameterKey)) == nil {
			unknown = append(unknown, aws.ToString(p.ParameterKey))
		}
	}
	if len(unknown) > 0 {
		return invalid("Parameters: [%s] do not exist in the template", strings.Join(unknown, ", "))
	}
	return nil
}

// StopStackSetOperation has an operation begin nothing more.
func (e *Engine) StopStackSetOperation(ctx context.Context, caller awswire.Caller, in *cloudformation.StopStackSetOperationInput) (*cloudformation.StopStackSetOperationOutput, error) {
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := set(ctx, tx, caller, in.StackSetName, in.CallAs)
		if err != nil {
			return err
		}
		op, err := operationOf(ctx, tx, s, in.OperationId)
		if err != nil {
			return err
		}
		switch op.Status {
		case types.StackSetOperationStatusQueued:
			op.Status, op.EndedAt = types.StackSetOperationStatusStopped, e.now()
		case types.StackSetOperationStatusRunning:
			op.Status = types.StackSetOperationStatusStopping
		case types.StackSetOperationStatusStopping:
			return nil
		default:
			return refusedOperation("Operation %s is in status %s and cannot be stopped", op.ID, op.Status)
		}
		if err := store.Swap(ctx, tx, op, &op.RowVersion, "status", "ended_at"); err != nil {
			return err
		}
		return tx.Wake(ctx, wakeKind, s.ID+"/"+op.ID, time.Time{})
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.StopStackSetOperationOutput{}, nil
}
