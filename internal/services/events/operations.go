package events

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The shapes of the operations, with the members that have a meaning here, and those that are refused.
type (
	putRuleInput struct {
		Name, ScheduleExpression, EventPattern, State, Description, EventBusName *string
	}
	putRuleOutput struct{ RuleArn *string }
	ruleInput     struct{ Name, EventBusName *string }
	rule          struct {
		Name, Arn, ScheduleExpression, State, Description, EventBusName *string
	}
	listRulesInput  struct{ NamePrefix, EventBusName *string }
	listRulesOutput struct{ Rules []rule }
	targetShape     struct {
		Id, Arn, Input, InputPath *string
		InputTransformer          *struct{ InputTemplate *string }
	}
	putTargetsInput struct {
		Rule, EventBusName *string
		Targets            []targetShape
	}
	failedEntry      struct{ TargetId, ErrorCode, ErrorMessage *string }
	putTargetsOutput struct {
		FailedEntryCount *int32
		FailedEntries    []failedEntry
	}
	removeTargetsInput struct {
		Rule, EventBusName *string
		Ids                []string
		Force              *bool
	}
	listTargetsInput  struct{ Rule, EventBusName *string }
	listTargetsOutput struct{ Targets []targetShape }
	empty             struct{}
)

// Table is the service as requests reach it.
func (s *Service) Table() *awswire.Table {
	name := func(member string) awswire.Constraint {
		return awswire.Constraint{Member: member, Required: true, MinLength: 1, MaxLength: 64}
	}
	return &awswire.Table{
		Service: "events", Protocol: awswire.JSON11, TargetPrefix: "AWSEvents", Logger: s.config.Logger,
		Operations: []awswire.Operation{
			awswire.TextOp("DeleteRule", s.deleteRule),
			awswire.TextOp("DescribeRule", s.describeRule).Reading(),
			awswire.TextOp("ListRules", s.listRules).Reading(),
			awswire.TextOp("ListTargetsByRule", s.listTargets).Reading(),
			awswire.TextOp("PutRule", s.putRule),
			awswire.TextOp("PutTargets", s.putTargets),
			awswire.TextOp("RemoveTargets", s.removeTargets),
		},
		Constraints: map[string][]awswire.Constraint{
			"DeleteRule": {name("Name")}, "DescribeRule": {name("Name")}, "ListTargetsByRule": {name("Rule")}, "RemoveTargets": {name("Rule")},
			"PutRule":    {name("Name"), {Member: "ScheduleExpression", MaxLength: 256}, {Member: "Description", MaxLength: 512}},
			"PutTargets": {name("Rule")},
		},
		Known: strings.Fields(`ActivateEventSource CancelReplay CreateApiDestination CreateArchive CreateConnection CreateEndpoint CreateEventBus
			CreatePartnerEventSource DeactivateEventSource DeauthorizeConnection DeleteApiDestination DeleteArchive DeleteConnection DeleteEndpoint
			DeleteEventBus DeletePartnerEventSource DescribeApiDestination DescribeArchive DescribeConnection DescribeEndpoint DescribeEventBus
			DescribeEventSource DescribePartnerEventSource DescribeReplay DisableRule EnableRule ListApiDestinations ListArchives ListConnections
			ListEndpoints ListEventBuses ListEventSources ListPartnerEventSourceAccounts ListPartnerEventSources ListReplays ListRuleNamesByTarget
			ListTagsForResource PutEvents PutPartnerEvents PutPermission RemovePermission StartReplay TagResource TestEventPattern UntagResource
			UpdateApiDestination UpdateArchive UpdateConnection UpdateEndpoint UpdateEventBus`),
	}
}

const (
	maxRules   = 300 // of an account in a region
	maxTargets = 5   // of a rule
	maxInput   = 8192
)

var ruleName = lazyregexp.New(`^[.\-_A-Za-z0-9]{1,64}$`)

func invalid(format string, args ...any) error {
	return awswire.Errorf("ValidationException", 400, format, args...)
}

// onDefaultBus refuses other event buses.
func onDefaultBus(bus *string) error {
	if bus != nil && *bus != "default" && !strings.HasSuffix(*bus, ":event-bus/default") {
		return awswire.Errorf("ResourceNotFoundException", 400, "Event bus %s does not exist.", *bus)
	}
	return nil
}

func (s *Service) putRule(ctx context.Context, caller awswire.Caller, in *putRuleInput) (*putRuleOutput, error) {
	if err := onDefaultBus(in.EventBusName); err != nil {
		return nil, err
	}
	row := &ruleRow{
		Account: caller.Account, Region: caller.Region, Name: *in.Name, AccessKey: caller.AccessKeyID, Schedule: aws.ToString(in.ScheduleExpression),
		State: aws.ToString(in.State), Description: aws.ToString(in.Description), Targets: noTargets,
	}
	if row.State == "" {
		row.State = enabled
	}
	_, ok := interval(row.Schedule)
	switch {
	case !ruleName.MatchString(row.Name):
		return nil, invalid("1 validation error detected: Value '%s' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\.\\-_A-Za-z0-9]+", row.Name)
	case in.EventPattern != nil:
		return nil, invalid("EventPattern is not supported by this server; use ScheduleExpression")
	case !ok:
		return nil, invalid("Parameter ScheduleExpression is not valid: this server has rate(N minutes), rate(N hours) and rate(N days).")
	case row.State != enabled && row.State != disabled:
		return nil, invalid("1 validation error detected: Value '%s' at 'state' failed to satisfy constraint: Member must satisfy enum value set: [ENABLED, DISABLED]", row.State)
	}
	arn := ruleARN(caller.Place, row.Name)
	err := s.config.Store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		existing, err := s.find(ctx, tx, caller.Place, row.Name)
		if err != nil {
			return err
		}
		if existing == nil {
			n, err := store.Count(ctx, tx, "FROM event_rules WHERE account = ? AND region = ?", caller.Account, caller.Region)
			if err != nil {
				return fmt.Errorf("count rules: %w", err)
			}
			if n >= maxRules {
				return awswire.Errorf("LimitExceededException", 400, "The requested resource exceeds the maximum number allowed.")
			}
			return store.Insert(ctx, tx, row)
		}
		row.Targets, row.NextAt = existing.Targets, existing.NextAt
		if row.runs() && (!existing.runs() || existing.Schedule != row.Schedule) {
			row.NextAt = store.At(s.config.Now().Add(s.scaled(firstRun)))
		}
		if err := store.Update(ctx, tx, row); err != nil {
			return err
		}
		if !row.runs() {
			return tx.CancelWake(ctx, wakeKind, arn)
		}
		return tx.Wake(ctx, wakeKind, arn, row.NextAt.Time)
	})
	if err != nil {
		return nil, fmt.Errorf("write a rule: %w", err)
	}
	return &putRuleOutput{RuleArn: &arn}, nil
}

// deleteRule also succeeds if the rule does not exist, as EventBridge does.
func (s *Service) deleteRule(ctx context.Context, caller awswire.Caller, in *ruleInput) (*empty, error) {
	if err := onDefaultBus(in.EventBusName); err != nil {
		return nil, err
	}
	err := s.config.Store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := s.find(ctx, tx, caller.Place, *in.Name)
		if err != nil || row == nil {
			return err
		}
		if row.Targets != noTargets {
			return invalid("Rule can't be deleted since it has targets.")
		}
		if err := store.Delete(ctx, tx, row); err != nil {
			return fmt.Errorf("delete a rule: %w", err)
		}
		return tx.CancelWake(ctx, wakeKind, ruleARN(caller.Place, row.Name))
	})
	if err != nil {
		return nil, err
	}
	return &empty{}, nil
}

// existing finds a rule that must exist.
func (s *Service) existing(ctx context.Context, caller awswire.Caller, name string, bus *string) (*ruleRow, error) {
	if err := onDefaultBus(bus); err != nil {
		return nil, err
	}
	row, err := s.find(ctx, s.config.Store.Read(), caller.Place, name)
	if err == nil && row == nil {
		err = noRule(name)
	}
	return row, err
}

func noRule(name string) error {
	return awswire.Errorf("ResourceNotFoundException", 400, "Rule %s does not exist on EventBus default.", name)
}

func (r *ruleRow) shown() rule {
	out := rule{
		Name: &r.Name, Arn: aws.String(ruleARN(r.place(), r.Name)), ScheduleExpression: &r.Schedule, State: &r.State, EventBusName: aws.String("default"),
	}
	if r.Description != "" {
		out.Description = &r.Description
	}
	return out
}

func (s *Service) describeRule(ctx context.Context, caller awswire.Caller, in *ruleInput) (*rule, error) {
	row, err := s.existing(ctx, caller, *in.Name, in.EventBusName)
	if err != nil {
		return nil, err
	}
	out := row.shown()
	return &out, nil
}

// listRules lists all rules: there are few enough for one page.
func (s *Service) listRules(ctx context.Context, caller awswire.Caller, in *listRulesInput) (*listRulesOutput, error) {
	if err := onDefaultBus(in.EventBusName); err != nil {
		return nil, err
	}
	var rows []ruleRow
	err := store.List(ctx, s.config.Store.Read(), &rows, "WHERE account = ? AND region = ? ORDER BY name", caller.Account, caller.Region)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	out := &listRulesOutput{Rules: []rule{}}
	for i := range rows {
		if strings.HasPrefix(rows[i].Name, aws.ToString(in.NamePrefix)) {
			out.Rules = append(out.Rules, rows[i].shown())
		}
	}
	return out, nil
}

func (s *Service) listTargets(ctx context.Context, caller awswire.Caller, in *listTargetsInput) (*listTargetsOutput, error) {
	row, err := s.existing(ctx, caller, *in.Rule, in.EventBusName)
	if err != nil {
		return nil, err
	}
	targets, err := row.targets()
	if err != nil {
		return nil, err
	}
	out := &listTargetsOutput{Targets: []targetShape{}}
	for _, t := range targets {
		shape := targetShape{Id: &t.ID, Arn: &t.ARN}
		if t.Input != "" {
			shape.Input = &t.Input
		}
		out.Targets = append(out.Targets, shape)
	}
	return out, nil
}

// read checks a target.
func (t targetShape) read() (target, error) {
	out := target{aws.ToString(t.Id), aws.ToString(t.Arn), aws.ToString(t.Input)}
	arn := strings.SplitN(out.ARN, ":", 7)
	switch {
	case !ruleName.MatchString(out.ID):
		return out, invalid("Parameter Id of a target must have 1 to 64 characters of [\\.\\-_A-Za-z0-9]+")
	case len(arn) != 7 || arn[0] != "arn" || arn[2] != "lambda" || arn[5] != "function":
		return out, invalid("Parameter %s is not valid: this server has functions as targets of rules, by their ARN.", out.ARN)
	case t.InputPath != nil || t.InputTransformer != nil:
		return out, invalid("InputPath and InputTransformer are not supported by this server; use Input")
	case len(out.Input) > maxInput || out.Input != "" && !json.Valid([]byte(out.Input)):
		return out, invalid("Parameter Input of target %s must be JSON of at most %d bytes", out.ID, maxInput)
	}
	return out, nil
}

func (s *Service) putTargets(ctx context.Context, caller awswire.Caller, in *putTargetsInput) (*putTargetsOutput, error) {
	if err := onDefaultBus(in.EventBusName); err != nil {
		return nil, err
	}
	if len(in.Targets) == 0 {
		return nil, invalid("1 validation error detected: Value '[]' at 'targets' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	added := make([]target, len(in.Targets))
	for i, shape := range in.Targets {
		var err error
		if added[i], err = shape.read(); err != nil {
			return nil, err
		}
	}
	err := s.change(ctx, caller.Place, *in.Rule, func(row *ruleRow) error {
		targets, err := row.targets()
		if err != nil {
			return err
		}
		for _, t := range added {
			targets = append(slices.DeleteFunc(targets, func(old target) bool { return old.ID == t.ID }), t)
		}
		if len(targets) > maxTargets {
			return awswire.Errorf("LimitExceededException", 400, "The requested resource exceeds the maximum number allowed.")
		}
		return row.keep(targets)
	})
	if err != nil {
		return nil, err
	}
	return &putTargetsOutput{FailedEntryCount: new(int32), FailedEntries: []failedEntry{}}, nil
}

// keep stores the targets of a rule.
func (r *ruleRow) keep(targets []target) error {
	if len(targets) == 0 {
		r.Targets = noTargets
		return nil
	}
	encoded, err := json.Marshal(targets)
	if err != nil {
		return fmt.Errorf("write the targets of a rule: %w", err)
	}
	r.Targets = string(encoded)
	return nil
}

func (s *Service) removeTargets(ctx context.Context, caller awswire.Caller, in *removeTargetsInput) (*putTargetsOutput, error) {
	if err := onDefaultBus(in.EventBusName); err != nil {
		return nil, err
	}
	err := s.change(ctx, caller.Place, *in.Rule, func(row *ruleRow) error {
		targets, err := row.targets()
		if err != nil {
			return err
		}
		return row.keep(slices.DeleteFunc(targets, func(t target) bool { return slices.Contains(in.Ids, t.ID) }))
	})
	if err != nil {
		return nil, err
	}
	return &putTargetsOutput{FailedEntryCount: new(int32), FailedEntries: []failedEntry{}}, nil
}
