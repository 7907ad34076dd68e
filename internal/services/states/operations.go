package states

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The shapes of the operations, with the members that have a meaning here.
type (
	startExecutionInput  struct{ StateMachineArn, Name, Input, TraceHeader *string }
	startExecutionOutput struct {
		ExecutionArn *string
		StartDate    *time.Time
	}
	describeExecutionInput  struct{ ExecutionArn, IncludedData *string }
	describeExecutionOutput struct {
		ExecutionArn, StateMachineArn, Name, Status, Input, Output, Error, Cause *string
		StartDate, StopDate                                                      *time.Time
		RedriveCount                                                             *int32
		RedriveStatus                                                            *string
	}
	stopExecutionInput  struct{ ExecutionArn, Error, Cause *string }
	stopExecutionOutput struct{ StopDate *time.Time }
	listExecutionsInput struct {
		StateMachineArn, StatusFilter, NextToken *string
		MaxResults                               *int32
	}
	executionItem struct {
		ExecutionArn, StateMachineArn, Name, Status *string
		StartDate, StopDate                         *time.Time
	}
	listExecutionsOutput struct {
		Executions []executionItem
		NextToken  *string
	}
	describeStateMachineInput  struct{ StateMachineArn, IncludedData *string }
	describeStateMachineOutput struct {
		StateMachineArn, Name, Status, Definition, RoleArn, Type *string
		CreationDate                                             *time.Time
	}
	listStateMachinesInput struct {
		NextToken  *string
		MaxResults *int32
	}
	stateMachineItem struct {
		StateMachineArn, Name, Type *string
		CreationDate                *time.Time
	}
	listStateMachinesOutput struct {
		StateMachines []stateMachineItem
		NextToken     *string
	}
)

// Table is the service as requests reach it.
func (s *Service) Table() *awswire.Table {
	arn := func(member string) awswire.Constraint {
		return awswire.Constraint{Member: member, Required: true, MinLength: 1, MaxLength: 256}
	}
	page := awswire.Constraint{Member: "maxResults", Min: new(int64(0)), Max: new(int64(1000))}
	return &awswire.Table{
		Service: "states", Protocol: awswire.JSON10, TargetPrefix: "AWSStepFunctions", LowerFirst: true, Logger: s.config.Logger,
		Operations: []awswire.Operation{
			awswire.TextOp("DescribeExecution", s.describeExecution).Reading(),
			awswire.TextOp("DescribeStateMachine", s.describeStateMachine).Reading(),
			awswire.TextOp("ListExecutions", s.listExecutions).Reading(),
			awswire.TextOp("ListStateMachines", s.listStateMachines).Reading(),
			awswire.TextOp("StartExecution", s.startExecution),
			awswire.TextOp("StopExecution", s.stopExecution),
		},
		Constraints: map[string][]awswire.Constraint{
			"DescribeExecution": {arn("executionArn")}, "StopExecution": {arn("executionArn"), {Member: "error", MaxLength: 256}, {Member: "cause", MaxLength: 32768}},
			"DescribeStateMachine": {arn("stateMachineArn")}, "ListExecutions": {arn("stateMachineArn"), page}, "ListStateMachines": {page},
			"StartExecution": {arn("stateMachineArn"), {Member: "name", MinLength: 1, MaxLength: 80}, {Member: "input", MaxLength: maxData}},
		},
		Known: strings.Fields(`CreateActivity CreateStateMachine CreateStateMachineAlias DeleteActivity DeleteStateMachine DeleteStateMachineAlias
			DeleteStateMachineVersion DescribeActivity DescribeMapRun DescribeStateMachineAlias DescribeStateMachineForExecution GetActivityTask
			GetExecutionHistory ListActivities ListMapRuns ListStateMachineAliases ListStateMachineVersions ListTagsForResource
			PublishStateMachineVersion RedriveExecution SendTaskFailure SendTaskHeartbeat SendTaskSuccess StartSyncExecution TagResource TestState
			UntagResource UpdateMapRun UpdateStateMachine UpdateStateMachineAlias ValidateStateMachineDefinition`),
	}
}

func (s *Service) startExecution(ctx context.Context, caller awswire.Caller, in *startExecutionInput) (*startExecutionOutput, error) {
	machine, err := nameIn(caller.Place, "stateMachine", aws.ToString(in.StateMachineArn))
	if err != nil {
		return nil, err
	}
	name, input := aws.ToString(in.Name), cmp.Or(aws.ToString(in.Input), "{}")
	switch {
	case in.Name == nil:
		name = s.config.NewID()
	case !executionName.MatchString(name):
		return nil, awswire.Errorf("InvalidName", 0, "Invalid Name: '%s'", name)
	}
	if !json.Valid([]byte(input)) {
		return nil, awswire.Errorf("InvalidExecutionInput", 0, "Invalid State Machine Execution Input: the input is not JSON")
	}
	row, err := s.start(ctx, caller, machine, name, input)
	if err != nil {
		return nil, err
	}
	return &startExecutionOutput{ExecutionArn: &row.ARN, StartDate: &row.StartedAt.Time}, nil
}

// execution finds what an ARN names in the place of the caller.
func (s *Service) execution(ctx context.Context, db store.DB, caller awswire.Caller, arn string) (*executionRow, error) {
	if _, err := nameIn(caller.Place, "execution", arn); err != nil {
		return nil, err
	}
	row, err := executionIn(ctx, db, arn)
	if err == nil && row == nil {
		err = noExecution(arn)
	}
	return row, err
}

func (s *Service) describeExecution(ctx context.Context, caller awswire.Caller, in *describeExecutionInput) (*describeExecutionOutput, error) {
	row, err := s.execution(ctx, s.config.Store.Read(), caller, aws.ToString(in.ExecutionArn))
	if err != nil {
		return nil, err
	}
	machine := MachineARN(caller.Place, row.Machine)
	out := &describeExecutionOutput{
		ExecutionArn: &row.ARN, StateMachineArn: &machine, Name: &row.Name, Status: &row.Status, Input: &row.Input,
		StartDate: &row.StartedAt.Time, StopDate: stopped(row), RedriveCount: new(int32(0)), RedriveStatus: new("NOT_REDRIVABLE"),
	}
	if row.Status == succeeded {
		out.Output = &row.Data
	}
	if row.Error != "" || row.Cause != "" {
		out.Error, out.Cause = &row.Error, &row.Cause
	}
	return out, nil
}

func stopped(row *executionRow) *time.Time {
	if row.StoppedAt.IsZero() {
		return nil
	}
	return &row.StoppedAt.Time
}

// stopExecution also answers for an execution that is over. A task that runs ends by itself,
// and its result counts no more.
func (s *Service) stopExecution(ctx context.Context, caller awswire.Caller, in *stopExecutionInput) (*stopExecutionOutput, error) {
	var at *time.Time
	err := s.config.Store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := s.execution(ctx, tx, caller, aws.ToString(in.ExecutionArn))
		if err != nil {
			return err
		}
		if row.Status == running {
			s.end(row, aborted, aws.ToString(in.Error), aws.ToString(in.Cause))
			err = store.Swap(ctx, tx, row, &row.RowVersion, "status", "error", "cause", "stopped_at")
		}
		at = stopped(row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &stopExecutionOutput{StopDate: at}, nil
}

// page is how many results a page of a list has at most.
const page = 100

func pageSize(most *int32) int {
	if most == nil || *most == 0 {
		return page
	}
	return min(int(*most), page)
}

func badToken() error { return awswire.Errorf("InvalidToken", 0, "Invalid Token: 'Invalid token'") }

func (s *Service) listExecutions(ctx context.Context, caller awswire.Caller, in *listExecutionsInput) (*listExecutionsOutput, error) {
	machine, err := nameIn(caller.Place, "stateMachine", aws.ToString(in.StateMachineArn))
	if err != nil {
		return nil, err
	}
	if _, err := s.Get(ctx, caller.Place, machine); err != nil {
		return nil, err
	}
	var rows []executionRow
	var where store.Where
	where.And("account = ? AND region = ? AND machine = ?", caller.Account, caller.Region, machine)
	if in.StatusFilter != nil {
		where.And("status = ?", *in.StatusFilter)
	}
	list := []any{"ListExecutions", caller.Account, caller.Region, machine, aws.ToString(in.StatusFilter)}
	if in.NextToken != nil {
		keys, ok := store.ReadPageToken(*in.NextToken, 2, list...)
		if !ok {
			return nil, badToken()
		}
		at, err := strconv.ParseInt(keys[0], 10, 64)
		if err != nil {
			return nil, badToken()
		}
		where.And("(started_at, arn) < (?, ?)", at, keys[1])
	}
	size := pageSize(in.MaxResults)
	if err := store.List(ctx, s.config.Store.Read(), &rows, where.Clause()+" ORDER BY started_at DESC, arn DESC LIMIT ?", append(where.Args, size+1)...); err != nil {
		return nil, fmt.Errorf("list executions: %w", err)
	}
	out := &listExecutionsOutput{Executions: []executionItem{}}
	if len(rows) > size {
		rows = rows[:size]
		last := rows[size-1]
		token := store.PageToken([]string{fmt.Sprint(last.StartedAt.UnixMicro()), last.ARN}, list...)
		out.NextToken = &token
	}
	arn := MachineARN(caller.Place, machine)
	for i := range rows {
		row := &rows[i]
		out.Executions = append(out.Executions, executionItem{
			ExecutionArn: &row.ARN, StateMachineArn: &arn, Name: &row.Name, Status: &row.Status, StartDate: &row.StartedAt.Time, StopDate: stopped(row),
		})
	}
	return out, nil
}

func (s *Service) describeStateMachine(ctx context.Context, caller awswire.Caller, in *describeStateMachineInput) (*describeStateMachineOutput, error) {
	name, err := nameIn(caller.Place, "stateMachine", aws.ToString(in.StateMachineArn))
	if err != nil {
		return nil, err
	}
	m, err := s.Get(ctx, caller.Place, name)
	if err != nil {
		return nil, err
	}
	return &describeStateMachineOutput{
		StateMachineArn: new(MachineARN(caller.Place, name)), Name: &m.Name, Status: new("ACTIVE"), Definition: &m.Definition,
		RoleArn: &m.RoleARN, Type: &m.Type, CreationDate: &m.CreatedAt,
	}, nil
}

func (s *Service) listStateMachines(ctx context.Context, caller awswire.Caller, in *listStateMachinesInput) (*listStateMachinesOutput, error) {
	after := ""
	if in.NextToken != nil {
		var ok bool
		if after, ok = store.ReadKeyToken(*in.NextToken); !ok {
			return nil, badToken()
		}
	}
	var rows []machineRow
	size := pageSize(in.MaxResults)
	err := store.Query(ctx, s.config.Store.Read(), &rows, "SELECT account, region, name, created_at FROM state_machines WHERE account = ? AND region = ? AND name > ? ORDER BY name LIMIT ?",
		caller.Account, caller.Region, after, size+1)
	if err != nil {
		return nil, fmt.Errorf("list state machines: %w", err)
	}
	out := &listStateMachinesOutput{StateMachines: []stateMachineItem{}}
	if len(rows) > size {
		rows = rows[:size]
		out.NextToken = new(store.KeyToken(rows[size-1].Name))
	}
	for i := range rows {
		row := &rows[i]
		out.StateMachines = append(out.StateMachines, stateMachineItem{
			StateMachineArn: new(MachineARN(caller.Place, row.Name)), Name: &row.Name, Type: &row.Type, CreationDate: &row.CreatedAt.Time,
		})
	}
	return out, nil
}
