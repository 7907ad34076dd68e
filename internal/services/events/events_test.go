package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var (
	begin  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	caller = awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}, AccessKeyID: "AKIA"}
)

const (
	poll = "arn:aws:lambda:eu-west-1:123456789012:function:poll"
	arn  = "arn:aws:events:eu-west-1:123456789012:rule/r"
)

// A rig is a service whose clock the test sets.
type rig struct {
	*Service
	now   time.Time
	calls []string // "1m0s poll {}": the time since the start, the function and the event
	fails bool
}

// Call implements Functions.
func (r *rig) Call(_ context.Context, by awswire.Caller, arn string, payload []byte, _ []string) (lambda.Result, error) {
	if by != caller {
		return lambda.Result{}, fmt.Errorf("the caller is %v", by)
	}
	r.calls = append(r.calls, fmt.Sprintf("%s %s %s", r.now.Sub(begin), strings.SplitN(arn, ":function:", 2)[1], payload))
	if r.fails {
		return lambda.Result{}, errors.New("no")
	}
	return lambda.Result{}, nil
}

func eachStore(t *testing.T, test func(t *testing.T, r *rig)) {
	for _, at := range fixtures.Stores(t) {
		t.Run(at.Name, func(t *testing.T) {
			opened, err := store.Open(t.Context(), store.Config{Dir: at.Dir, DSN: at.DSN})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = opened.Close() })
			r := &rig{now: begin}
			r.Service = New(Config{Store: opened, Functions: r, Now: func() time.Time { return r.now }})
			test(t, r)
		})
	}
}

// turn runs the worker of the rule, and returns how long after now it runs again, -1 for never.
func (r *rig) turn(t *testing.T) time.Duration {
	t.Helper()
	next, err := r.run(t.Context(), arn)
	if err != nil {
		t.Fatal(err)
	}
	if next.IsZero() {
		return -1
	}
	return next.Sub(r.now)
}

func (r *rig) put(t *testing.T, schedule, state string) {
	t.Helper()
	in := &putRuleInput{Name: aws.String("r"), ScheduleExpression: &schedule}
	if state != "" {
		in.State = &state
	}
	out, err := r.putRule(t.Context(), caller, in)
	if err != nil || *out.RuleArn != arn {
		t.Fatalf("%v, %v", out, err)
	}
}

func TestRules(t *testing.T) {
	eachStore(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		r.put(t, "rate(1 minute)", "")
		if again := r.turn(t); again != -1 {
			t.Errorf("a rule without targets runs in %s", again)
		}
		if _, err := r.putTargets(ctx, caller, &putTargetsInput{Rule: aws.String("r"), Targets: []targetShape{{Id: aws.String("1"), Arn: aws.String(poll), Input: aws.String(`{"n": 1}`)}}}); err != nil {
			t.Fatal(err)
		}
		if again := r.turn(t); again != firstRun || r.calls != nil {
			t.Errorf("it runs in %s, after %q", again, r.calls)
		}
		for range 2 {
			r.now = r.now.Add(firstRun)
			if again := r.turn(t); r.now.Equal(begin.Add(firstRun)) && again != time.Minute {
				t.Errorf("it runs again in %s", again)
			}
		}
		r.now, r.fails = begin.Add(firstRun+time.Minute), true
		if again := r.turn(t); again != time.Minute {
			t.Errorf("after a failure it runs again in %s", again)
		}
		if want := `[2s poll {"n": 1} 1m2s poll {"n": 1}]`; fmt.Sprint(r.calls) != want {
			t.Errorf("calls %q", r.calls)
		}
		targets, err := r.listTargets(ctx, caller, &listTargetsInput{Rule: aws.String("r")})
		if err != nil || len(targets.Targets) != 1 || *targets.Targets[0].Arn != poll {
			t.Errorf("%v, %v", targets, err)
		}
		other := awswire.Caller{Place: awswire.Place{Account: "222222222222", Region: "eu-west-1"}}
		if list, err := r.listRules(ctx, other, &listRulesInput{}); err != nil || len(list.Rules) != 0 {
			t.Errorf("another account sees %v, %v", list, err)
		}
		r.put(t, "rate(1 minute)", disabled)
		if again := r.turn(t); again != -1 {
			t.Errorf("a rule that is off runs in %s", again)
		}
		if _, err := r.deleteRule(ctx, caller, &ruleInput{Name: aws.String("r")}); err == nil || err.Error() != "ValidationException: Rule can't be deleted since it has targets." {
			t.Errorf("a rule with targets: %v", err)
		}
		if _, err := r.removeTargets(ctx, caller, &removeTargetsInput{Rule: aws.String("r"), Ids: []string{"1"}}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // one that does not exist counts as deleted
			if _, err := r.deleteRule(ctx, caller, &ruleInput{Name: aws.String("r")}); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := r.listRules(ctx, caller, &listRulesInput{}); err != nil || len(list.Rules) != 0 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// TestGivenUp turns off a rule whose run fails for ever.
func TestGivenUp(t *testing.T) {
	eachStore(t, func(t *testing.T, r *rig) {
		r.put(t, "rate(1 minute)", "")
		if err := r.giveUp(t.Context(), arn, "no"); err != nil {
			t.Fatal(err)
		}
		shown, err := r.describeRule(t.Context(), caller, &ruleInput{Name: aws.String("r")})
		if err != nil || *shown.State != disabled || *shown.ScheduleExpression != "rate(1 minute)" {
			t.Errorf("%v, %v", shown, err)
		}
	})
}

// TestScheduledEvent is what a target without an input gets.
func TestScheduledEvent(t *testing.T) {
	row := &ruleRow{Account: "123456789012", Region: "eu-west-1", Name: "r"}
	data, err := row.event(target{}, begin)
	var event map[string]any
	if err != nil || json.Unmarshal(data, &event) != nil || event["detail-type"] != "Scheduled Event" || fmt.Sprint(event["resources"]) != "["+arn+"]" || event["time"] != "2026-01-02T03:04:05Z" {
		t.Errorf("%s, %v", data, err)
	}
}

func TestRefusals(t *testing.T) {
	eachStore(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		rule := func(in putRuleInput) func() error {
			return func() error {
				if in.Name == nil {
					in.Name = aws.String("x")
				}
				_, err := r.putRule(ctx, caller, &in)
				return err
			}
		}
		targets := func(name string, all ...targetShape) func() error {
			return func() error {
				_, err := r.putTargets(ctx, caller, &putTargetsInput{Rule: &name, Targets: all})
				return err
			}
		}
		of := func(id, arn, input string) targetShape { return targetShape{Id: &id, Arn: &arn, Input: &input} }
		r.put(t, "rate(1 minute)", "")
		for name, test := range map[string]struct {
			do   func() error
			want string
		}{
			"cron":             {rule(putRuleInput{ScheduleExpression: aws.String("cron(0 12 * * ? *)")}), "Parameter ScheduleExpression is not valid"},
			"one minutes":      {rule(putRuleInput{ScheduleExpression: aws.String("rate(1 minutes)")}), "Parameter ScheduleExpression is not valid"},
			"two minute":       {rule(putRuleInput{ScheduleExpression: aws.String("rate(2 minute)")}), "Parameter ScheduleExpression is not valid"},
			"zero":             {rule(putRuleInput{ScheduleExpression: aws.String("rate(0 minutes)")}), "Parameter ScheduleExpression is not valid"},
			"pattern":          {rule(putRuleInput{EventPattern: aws.String("{}")}), "EventPattern is not supported by this server; use ScheduleExpression"},
			"state":            {rule(putRuleInput{ScheduleExpression: aws.String("rate(2 days)"), State: aws.String("ON")}), "[ENABLED, DISABLED]"},
			"name":             {rule(putRuleInput{Name: aws.String("a b"), ScheduleExpression: aws.String("rate(2 days)")}), "at 'name' failed"},
			"bus":              {rule(putRuleInput{ScheduleExpression: aws.String("rate(2 days)"), EventBusName: aws.String("mine")}), "Event bus mine does not exist."},
			"no rule":          {targets("none", of("1", poll, "")), "Rule none does not exist on EventBus default."},
			"no targets":       {targets("r"), "at 'targets' failed"},
			"a queue":          {targets("r", of("1", "arn:aws:sqs:eu-west-1:123456789012:q", "")), "this server has functions as targets of rules"},
			"input":            {targets("r", of("1", poll, "{")), "Parameter Input of target 1 must be JSON"},
			"target id":        {targets("r", of("", poll, "")), "Parameter Id of a target"},
			"input path":       {targets("r", targetShape{Id: aws.String("1"), Arn: aws.String(poll), InputPath: aws.String("$")}), "InputPath and InputTransformer are not supported"},
			"too many targets": {targets("r", of("1", poll, ""), of("2", poll, ""), of("3", poll, ""), of("4", poll, ""), of("5", poll, ""), of("6", poll, "")), "exceeds the maximum number allowed"},
		} {
			if err := test.do(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
