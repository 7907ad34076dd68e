package stackset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A fakeStack is one that exists or existed.
type fakeStack struct {
	stack.Attempt
	name, template, parameters string
	tokens                     map[string]string // the outcome of each operation: "", "ok" or a reason
	last                       string            // token
}

// stacks keep stacks in memory. Operations on them last until end.
type stacks struct {
	t      *testing.T
	engine *Engine
	store  *store.Store
	all    []*fakeStack
	calls  []string
	// fails is the reason why an operation fails, "" if it does not.
	fails  func(place awswire.Place, action string) string
	drift  types.StackDriftStatus
	broken error // of the creation of stacks
}

func (s *stacks) find(place awswire.Place, name string) *fakeStack {
	for _, f := range s.all {
		if at, _ := placeOf(f.ARN); at == place && (f.ARN == name || f.Live && f.name == name) {
			return f
		}
	}
	return nil
}

func (s *stacks) note(caller awswire.Caller, action, parameters string) {
	s.calls = append(s.calls, strings.TrimSpace(fmt.Sprintf("%s %s/%s %s", action, caller.Account[:1], caller.Region, parameters)))
}

func (s *stacks) begin(f *fakeStack, caller awswire.Caller, action, token string, running types.StackStatus) {
	f.Status, f.last = running, token
	if f.tokens[token] == "" {
		f.tokens[token] = "runs"
	}
	_ = caller
	_ = action
}

func text(parameters []types.Parameter) string {
	var b strings.Builder
	for _, p := range parameters {
		b.WriteString(*p.ParameterKey + "=" + *p.ParameterValue + " ")
	}
	return strings.TrimSpace(b.String())
}

func (s *stacks) CreateStack(_ context.Context, caller awswire.Caller, in *cloudformation.CreateStackInput) (*cloudformation.CreateStackOutput, error) {
	if f := s.find(caller.Place, *in.StackName); f != nil {
		if f.tokens[*in.ClientRequestToken] != "" {
			return &cloudformation.CreateStackOutput{StackId: &f.ARN}, nil
		}
		return nil, awswire.Errorf("AlreadyExistsException", 400, "Stack [%s] already exists", *in.StackName)
	}
	if s.broken != nil {
		return nil, s.broken
	}
	s.note(caller, "create", text(in.Parameters))
	f := &fakeStack{name: *in.StackName, template: *in.TemplateBody, parameters: text(in.Parameters), tokens: map[string]string{}}
	f.ARN = fmt.Sprintf("arn:aws:cloudformation:%s:%s:stack/%s/%d", caller.Region, caller.Account, f.name, len(s.all))
	f.Live = true
	s.all = append(s.all, f)
	s.begin(f, caller, "create", *in.ClientRequestToken, types.StackStatusCreateInProgress)
	return &cloudformation.CreateStackOutput{StackId: &f.ARN}, nil
}

func (s *stacks) UpdateStack(_ context.Context, caller awswire.Caller, in *cloudformation.UpdateStackInput) (*cloudformation.UpdateStackOutput, error) {
	f := s.find(caller.Place, *in.StackName)
	if f.parameters == text(in.Parameters) && f.template == *in.TemplateBody {
		return nil, awswire.Errorf("ValidationError", 400, "No updates are to be performed.")
	}
	s.note(caller, "update", text(in.Parameters))
	f.parameters, f.template = text(in.Parameters), *in.TemplateBody
	s.begin(f, caller, "update", *in.ClientRequestToken, types.StackStatusUpdateInProgress)
	return &cloudformation.UpdateStackOutput{StackId: &f.ARN}, nil
}

func (s *stacks) DeleteStack(_ context.Context, caller awswire.Caller, in *cloudformation.DeleteStackInput) (*cloudformation.DeleteStackOutput, error) {
	s.note(caller, "delete", "")
	s.begin(s.find(caller.Place, *in.StackName), caller, "delete", *in.ClientRequestToken, types.StackStatusDeleteInProgress)
	return &cloudformation.DeleteStackOutput{}, nil
}

func (s *stacks) GetTemplate(_ context.Context, caller awswire.Caller, in *cloudformation.GetTemplateInput) (*cloudformation.GetTemplateOutput, error) {
	return &cloudformation.GetTemplateOutput{TemplateBody: &s.find(caller.Place, *in.StackName).template}, nil
}

func (s *stacks) DetectStackDrift(_ context.Context, caller awswire.Caller, in *cloudformation.DetectStackDriftInput) (*cloudformation.DetectStackDriftOutput, error) {
	s.note(caller, "detect", "")
	if reason := s.fails(caller.Place, "detect"); reason != "" {
		return nil, awswire.ValidationErrorf("%s", reason)
	}
	return &cloudformation.DetectStackDriftOutput{StackDriftDetectionId: in.StackName}, nil
}

func (s *stacks) DescribeStackDriftDetectionStatus(context.Context, awswire.Caller, *cloudformation.DescribeStackDriftDetectionStatusInput) (*cloudformation.DescribeStackDriftDetectionStatusOutput, error) {
	return &cloudformation.DescribeStackDriftDetectionStatusOutput{DetectionStatus: types.StackDriftDetectionStatusDetectionComplete, StackDriftStatus: s.drift, Timestamp: aws.Time(time.Unix(1, 0))}, nil
}

func (s *stacks) DescribeStackResourceDrifts(context.Context, awswire.Caller, *cloudformation.DescribeStackResourceDriftsInput) (*cloudformation.DescribeStackResourceDriftsOutput, error) {
	return &cloudformation.DescribeStackResourceDriftsOutput{}, nil
}

func (s *stacks) Attempt(_ context.Context, place awswire.Place, name, token string) (*stack.Attempt, error) {
	f := s.find(place, name)
	if f == nil {
		return nil, nil
	}
	out := f.Attempt
	how := f.tokens[token]
	out.Begun, out.Ended = how != "", how != "" && how != "runs"
	if out.Ended && how != "ok" {
		out.Failure = &stack.EventState{LogicalID: "Thing", Type: "A::B::C", Reason: how}
	}
	return &out, nil
}

func (s *stacks) ReadTemplate(_ context.Context, _ awswire.Caller, body, _ *string) (string, *template.Template, error) {
	if body == nil {
		return "", nil, awswire.ValidationErrorf("Either Template URL or Template Body must be specified.")
	}
	parsed, err := template.Parse("", []byte(*body), template.ParseOptions{})
	return *body, parsed, stack.RefusedTemplate(err)
}

// end ends what runs, and reports how much that was.
func (s *stacks) end() (ended int) {
	for _, f := range s.all {
		if f.tokens[f.last] != "runs" {
			continue
		}
		ended++
		place, _ := placeOf(f.ARN)
		action, _, _ := strings.Cut(strings.ToLower(string(f.Status)), "_")
		reason := s.fails(place, action)
		f.tokens[f.last] = "ok"
		switch {
		case reason == "" && action == "delete":
			f.Status, f.Live = types.StackStatusDeleteComplete, false
		case reason == "":
			f.Status = types.StackStatus(strings.ToUpper(action) + "_COMPLETE")
		default:
			f.tokens[f.last] = reason
			f.Status = map[string]types.StackStatus{"create": types.StackStatusRollbackComplete, "update": types.StackStatusUpdateRollbackComplete, "delete": types.StackStatusDeleteFailed}[action]
		}
		err := s.store.Write(s.t.Context(), func(ctx context.Context, tx *store.Tx) error { return s.engine.Ended(ctx, tx, f.ARN) })
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return ended
}

type rig struct {
	*Engine
	*stacks
	t *testing.T
}

var admin = awswire.Caller{Place: awswire.Place{Account: "111111111111", Region: "us-east-1"}, AccessKeyID: "AKIA"}

func newRig(t *testing.T, at fixtures.Place) *rig {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Config{Dir: at.Dir, DSN: at.DSN})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	s := &stacks{t: t, store: opened, fails: func(awswire.Place, string) string { return "" }, drift: types.StackDriftStatusInSync}
	s.engine = New(Config{Store: opened, Stacks: s, Reaches: func(admin, target string) bool { return target != "999999999999" }})
	return &rig{s.engine, s, t}
}

// each runs a test on each database.
func each(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	for _, at := range fixtures.Stores(t) {
		t.Run(at.Name, func(t *testing.T) { test(t, newRig(t, at)) })
	}
}

const body = `{"Parameters": {"V": {"Type": "String", "Default": "a"}, "Secret": {"Type": "String", "Default": "x", "NoEcho": true}}, "Resources": {"Thing": {"Type": "A::B::C"}}}`

func (r *rig) set(managed bool) {
	r.t.Helper()
	_, err := r.CreateStackSet(r.t.Context(), admin, &cloudformation.CreateStackSetInput{
		StackSetName: aws.String("s"), TemplateBody: aws.String(body), ManagedExecution: &types.ManagedExecution{Active: &managed},
		Parameters: []types.Parameter{{ParameterKey: aws.String("Secret"), ParameterValue: aws.String("hidden")}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

var (
	threeAccounts = []string{"111111111111", "222222222222", "333333333333"}
	fiveRegions   = []string{"us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-south-1"}
)

func (r *rig) create(p *types.StackSetOperationPreferences, accounts, regions []string, overrides ...types.Parameter) string {
	r.t.Helper()
	out, err := r.CreateStackInstances(r.t.Context(), admin, &cloudformation.CreateStackInstancesInput{
		StackSetName: aws.String("s"), Accounts: accounts, Regions: regions, OperationPreferences: p, ParameterOverrides: overrides,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return *out.OperationId
}

// pass lets the worker work once.
func (r *rig) pass(operation string) {
	r.t.Helper()
	var id string
	if err := store.Query(r.t.Context(), r.config.Store.Read(), &id, "SELECT set_id FROM stack_set_operations WHERE id = ?", operation); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.advance(r.t.Context(), id+"/"+operation); err != nil {
		r.t.Fatal(err)
	}
}

// run takes an operation to its end, and returns how often its stacks were waited for.
func (r *rig) run(operation string) (waves int) {
	r.t.Helper()
	for range 200 {
		r.pass(operation)
		if r.end() == 0 {
			break
		}
		waves++
	}
	return waves
}

// state is an operation with its results: "FAILED 1/us-east-1:SUCCEEDED …".
func (r *rig) state(operation string) string {
	r.t.Helper()
	op, err := r.DescribeStackSetOperation(r.t.Context(), admin, &cloudformation.DescribeStackSetOperationInput{StackSetName: aws.String("s"), OperationId: &operation})
	if err != nil {
		r.t.Fatal(err)
	}
	in := &cloudformation.ListStackSetOperationResultsInput{StackSetName: aws.String("s"), OperationId: &operation, MaxResults: aws.Int32(4)}
	counts := map[types.StackSetOperationResultStatus]int{}
	for {
		out, err := r.ListStackSetOperationResults(r.t.Context(), admin, in)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, s := range out.Summaries {
			counts[s.Status]++
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	text := string(op.StackSetOperation.Status)
	for _, status := range types.StackSetOperationResultStatus("").Values() {
		if counts[status] > 0 {
			text += fmt.Sprintf(" %s:%d", status, counts[status])
		}
	}
	if failed := *op.StackSetOperation.StatusDetails.FailedStackInstancesCount; int(failed) != counts[types.StackSetOperationResultStatusFailed] {
		r.t.Errorf("%d failures are counted: %s", failed, text)
	}
	return text
}

// instances are those of the set: "1/us-east-1 CURRENT SUCCEEDED".
func (r *rig) instanceStates() map[string]int {
	r.t.Helper()
	in := &cloudformation.ListStackInstancesInput{StackSetName: aws.String("s"), MaxResults: aws.Int32(4)}
	states := map[string]int{}
	for {
		out, err := r.ListStackInstances(r.t.Context(), admin, in)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, i := range out.Summaries {
			states[fmt.Sprintf("%s %s", i.Status, i.StackInstanceStatus.DetailedStatus)]++
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			return states
		}
	}
}

func refusedWith(t *testing.T, err error, code, message string) {
	t.Helper()
	var refusal *awswire.Error
	if !errors.As(err, &refusal) || refusal.Code != code || !strings.Contains(refusal.Message, message) {
		t.Errorf("got %v, want %s: %s", err, code, message)
	}
}

// TestTolerance creates 3 accounts × 5 regions with one account that fails in some regions.
func TestTolerance(t *testing.T) {
	n := aws.Int32
	in := func(account string, regions ...string) func(awswire.Place, string) string {
		return func(place awswire.Place, _ string) string {
			for _, region := range regions {
				if place.Region == region && (account == "" || place.Account == account) {
					return "it is broken"
				}
			}
			return ""
		}
	}
	for name, test := range map[string]struct {
		p         types.StackSetOperationPreferences
		fails     func(awswire.Place, string) string
		want      string
		waves     int // the critical path of the preferences, in stacks one after the other
		instances map[string]int
	}{
		"all succeed, one by one": {want: "SUCCEEDED SUCCEEDED:15", waves: 15, instances: map[string]int{"CURRENT SUCCEEDED": 15}},
		"three at once": {p: types.StackSetOperationPreferences{MaxConcurrentCount: n(3), FailureToleranceCount: n(2)}, want: "SUCCEEDED SUCCEEDED:15", waves: 5,
			instances: map[string]int{"CURRENT SUCCEEDED": 15}},
		"all at once": {p: types.StackSetOperationPreferences{MaxConcurrentPercentage: n(100), ConcurrencyMode: types.ConcurrencyModeSoftFailureTolerance, RegionConcurrencyType: types.RegionConcurrencyTypeParallel},
			want: "SUCCEEDED SUCCEEDED:15", waves: 1, instances: map[string]int{"CURRENT SUCCEEDED": 15}},
		"tolerance 0": {fails: in(threeAccounts[1], "us-west-2"), want: "FAILED SUCCEEDED:4 FAILED:1 CANCELLED:10", waves: 5,
			instances: map[string]int{"CURRENT SUCCEEDED": 4, "OUTDATED FAILED": 1, "OUTDATED CANCELLED": 10}},
		"tolerance 0, another order": {p: types.StackSetOperationPreferences{RegionOrder: []string{"us-west-2"}}, fails: in(threeAccounts[1], "us-west-2"),
			want: "FAILED SUCCEEDED:1 FAILED:1 CANCELLED:13", waves: 2, instances: map[string]int{"CURRENT SUCCEEDED": 1, "OUTDATED FAILED": 1, "OUTDATED CANCELLED": 13}},
		"tolerance 1": {p: types.StackSetOperationPreferences{FailureToleranceCount: n(1)}, fails: in(threeAccounts[1], "us-west-2", "eu-west-1"), want: "SUCCEEDED SUCCEEDED:13 FAILED:2", waves: 15,
			instances: map[string]int{"CURRENT SUCCEEDED": 13, "OUTDATED FAILED": 2}},
		"tolerance 1, two fail": {p: types.StackSetOperationPreferences{FailureToleranceCount: n(1)}, fails: in("", "us-west-2"), want: "FAILED SUCCEEDED:3 FAILED:2 CANCELLED:10", waves: 5,
			instances: map[string]int{"CURRENT SUCCEEDED": 3, "OUTDATED FAILED": 2, "OUTDATED CANCELLED": 10}},
		"50 % of 3 is 1": {p: types.StackSetOperationPreferences{FailureTolerancePercentage: n(50), MaxConcurrentPercentage: n(100)}, fails: in("", "eu-west-1"), want: "FAILED SUCCEEDED:6 FAILED:2 CANCELLED:7", waves: 5,
			instances: map[string]int{"CURRENT SUCCEEDED": 6, "OUTDATED FAILED": 2, "OUTDATED CANCELLED": 7}},
		"50 % soft": {p: types.StackSetOperationPreferences{FailureTolerancePercentage: n(50), MaxConcurrentPercentage: n(100), ConcurrencyMode: types.ConcurrencyModeSoftFailureTolerance},
			fails: in("", "eu-west-1"), want: "FAILED SUCCEEDED:6 FAILED:3 CANCELLED:6", waves: 3,
			instances: map[string]int{"CURRENT SUCCEEDED": 6, "OUTDATED FAILED": 3, "OUTDATED CANCELLED": 6}},
		"parallel, one region fails": {p: types.StackSetOperationPreferences{RegionConcurrencyType: types.RegionConcurrencyTypeParallel}, fails: in("", "eu-west-1"),
			want: "FAILED SUCCEEDED:4 FAILED:1 CANCELLED:10", waves: 1, instances: map[string]int{"CURRENT SUCCEEDED": 4, "OUTDATED FAILED": 1, "OUTDATED CANCELLED": 10}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
			if test.fails != nil {
				r.fails = test.fails
			}
			r.set(false)
			operation := r.create(&test.p, threeAccounts, fiveRegions)
			waves := r.run(operation)
			if got := r.state(operation); got != test.want || waves != test.waves {
				t.Errorf("%s after %d waves, want %s after %d", got, waves, test.want, test.waves)
			}
			if got := fmt.Sprint(r.instanceStates()); got != fmt.Sprint(test.instances) {
				t.Errorf("the instances are %s, want %v", got, test.instances)
			}
		})
	}
}

// TestLife takes a set through its life.
func TestLife(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ctx, name := t.Context(), aws.String("s")
		r.set(false)
		two, one := threeAccounts[:2], fiveRegions[:1]
		override := types.Parameter{ParameterKey: aws.String("V"), ParameterValue: aws.String("b")}
		r.run(r.create(nil, two, one, override))
		r.run(r.create(nil, threeAccounts[2:], one))

		// What is there already stays, and the operation succeeds.
		before := len(r.calls)
		if again := r.create(nil, two, one); r.run(again) != 0 || r.state(again) != "SUCCEEDED SUCCEEDED:2" || len(r.calls) != before {
			t.Errorf("again: %s after %q", r.state(again), r.calls[before:])
		}

		// The set changes; overrides stay.
		changed, err := r.UpdateStackSet(ctx, admin, &cloudformation.UpdateStackSetInput{StackSetName: name, UsePreviousTemplate: aws.Bool(true), Parameters: []types.Parameter{
			{ParameterKey: aws.String("V"), ParameterValue: aws.String("c")}, {ParameterKey: aws.String("Secret"), UsePreviousValue: aws.Bool(true)},
		}, Accounts: []string{threeAccounts[0], threeAccounts[2]}, Regions: one})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.UpdateStackInstances(ctx, admin, &cloudformation.UpdateStackInstancesInput{StackSetName: name, Accounts: two, Regions: one})
		refusedWith(t, err, "OperationInProgressException", *changed.OperationId)
		r.run(*changed.OperationId)
		if got := fmt.Sprint(r.instanceStates()); got != "map[CURRENT SUCCEEDED:2 OUTDATED SUCCEEDED:1]" {
			t.Errorf("after the update of two: %s", got)
		}
		described, err := r.DescribeStackSet(ctx, admin, &cloudformation.DescribeStackSetInput{StackSetName: name})
		if err != nil {
			t.Fatal(err)
		}
		if got := text(described.StackSet.Parameters); got != "V=c Secret=****" {
			t.Errorf("the parameters are %s", got)
		}

		// Overrides are replaced, and removed.
		updated, err := r.UpdateStackInstances(ctx, admin, &cloudformation.UpdateStackInstancesInput{StackSetName: name, Accounts: two, Regions: one, ParameterOverrides: []types.Parameter{
			{ParameterKey: aws.String("Secret"), ParameterValue: aws.String("other")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		r.run(*updated.OperationId)
		instance, err := r.DescribeStackInstance(ctx, admin, &cloudformation.DescribeStackInstanceInput{StackSetName: name, StackInstanceAccount: &two[1], StackInstanceRegion: &one[0]})
		if err != nil || text(instance.StackInstance.ParameterOverrides) != "Secret=****" || *instance.StackInstance.LastOperationId != *updated.OperationId {
			t.Errorf("%+v, %v", instance, err)
		}
		if want := []string{
			"create 1/us-east-1 Secret=hidden V=b", "create 2/us-east-1 Secret=hidden V=b", "create 3/us-east-1 Secret=hidden",
			"update 3/us-east-1 V=c Secret=hidden", "update 1/us-east-1 V=c Secret=other", "update 2/us-east-1 V=c Secret=other",
		}; !sameElements(r.calls, append(want, "update 1/us-east-1 V=b Secret=hidden")) {
			t.Errorf("the calls were\n%s", strings.Join(r.calls, "\n"))
		}
		testDrift(t, r)
		testDelete(t, r)
	})
}

func sameElements(got, want []string) bool {
	seen := map[string]int{}
	for _, s := range got {
		seen[s]++
	}
	for _, s := range want {
		seen[s]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}

func testDrift(t *testing.T, r *rig) {
	t.Helper()
	name := aws.String("s")
	r.drift, r.fails = types.StackDriftStatusDrifted, func(place awswire.Place, action string) string {
		if action == "detect" && place.Account == threeAccounts[2] {
			return "no drift detection here"
		}
		return ""
	}
	out, err := r.DetectStackSetDrift(t.Context(), admin, &cloudformation.DetectStackSetDriftInput{StackSetName: name, OperationPreferences: &types.StackSetOperationPreferences{FailureToleranceCount: aws.Int32(1)}})
	if err != nil {
		t.Fatal(err)
	}
	r.run(*out.OperationId)
	described, err := r.DescribeStackSet(t.Context(), admin, &cloudformation.DescribeStackSetInput{StackSetName: name})
	if err != nil {
		t.Fatal(err)
	}
	d := described.StackSet.StackSetDriftDetectionDetails
	if d.DriftStatus != types.StackSetDriftStatusDrifted || d.DriftDetectionStatus != types.StackSetDriftDetectionStatusPartialSuccess || *d.DriftedStackInstancesCount != 2 || *d.FailedStackInstancesCount != 1 || *d.TotalStackInstancesCount != 3 {
		t.Errorf("the drift is %s, %s, %d drifted, %d failed", d.DriftStatus, d.DriftDetectionStatus, *d.DriftedStackInstancesCount, *d.FailedStackInstancesCount)
	}
}

func testDelete(t *testing.T, r *rig) {
	t.Helper()
	ctx, name, one := t.Context(), aws.String("s"), fiveRegions[:1]
	r.fails = func(place awswire.Place, action string) string {
		if action == "delete" && place.Account == threeAccounts[1] {
			return "it stays"
		}
		return ""
	}
	_, err := r.DeleteStackSet(ctx, admin, &cloudformation.DeleteStackSetInput{StackSetName: name})
	refusedWith(t, err, "StackSetNotEmptyException", "StackSet is not empty")
	out, err := r.DeleteStackInstances(ctx, admin, &cloudformation.DeleteStackInstancesInput{
		StackSetName: name, Accounts: threeAccounts, Regions: one, RetainStacks: aws.Bool(false), OperationPreferences: &types.StackSetOperationPreferences{FailureToleranceCount: aws.Int32(1)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.run(*out.OperationId)
	if got := fmt.Sprint(r.state(*out.OperationId), r.instanceStates()); got != "SUCCEEDED SUCCEEDED:2 FAILED:1map[INOPERABLE INOPERABLE:1]" {
		t.Errorf("after the deletion: %s", got)
	}
	// Inoperable instances are left out of updates, and can be removed without their stacks.
	updated, err := r.UpdateStackSet(ctx, admin, &cloudformation.UpdateStackSetInput{StackSetName: name, TemplateBody: aws.String(body)})
	if err != nil {
		t.Fatal(err)
	}
	if r.run(*updated.OperationId); r.state(*updated.OperationId) != "SUCCEEDED" {
		t.Errorf("an update without instances: %s", r.state(*updated.OperationId))
	}
	retained, err := r.DeleteStackInstances(ctx, admin, &cloudformation.DeleteStackInstancesInput{StackSetName: name, Accounts: threeAccounts[1:2], Regions: one, RetainStacks: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	r.run(*retained.OperationId)
	for range 2 { // deleting a set that is gone succeeds
		if _, err := r.DeleteStackSet(ctx, admin, &cloudformation.DeleteStackSetInput{StackSetName: name}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = r.DescribeStackSet(ctx, admin, &cloudformation.DescribeStackSetInput{StackSetName: name})
	refusedWith(t, err, "StackSetNotFoundException", "StackSet s not found")
	list, err := r.ListStackSets(ctx, admin, &cloudformation.ListStackSetsInput{Status: types.StackSetStatusDeleted})
	if err != nil || len(list.Summaries) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if _, err = r.DescribeStackSet(ctx, admin, &cloudformation.DescribeStackSetInput{StackSetName: list.Summaries[0].StackSetId}); err != nil {
		t.Error(err)
	}
	if err := r.Expire(ctx, time.Now().Add(100*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n, err := store.Count(ctx, r.config.Store.Read(), "FROM stack_set_results"); err != nil || n != 0 {
		t.Errorf("%d results are kept, %v", n, err)
	}
}

// TestFailedCreation creates again what was rolled back.
func TestFailedCreation(t *testing.T) {
	r := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	r.set(false)
	r.fails = func(awswire.Place, string) string { return "not today" }
	first := r.create(nil, threeAccounts[:1], fiveRegions[:1])
	r.run(first)
	results, err := r.ListStackSetOperationResults(t.Context(), admin, &cloudformation.ListStackSetOperationResultsInput{StackSetName: aws.String("s"), OperationId: &first})
	if err != nil || len(results.Summaries) != 1 || aws.ToString(results.Summaries[0].StatusReason) != "ResourceLogicalId:Thing, ResourceType:A::B::C, ResourceStatusReason:not today." {
		t.Fatalf("%v, %v", results, err)
	}
	r.fails = func(awswire.Place, string) string { return "" }
	if second := r.create(nil, threeAccounts[:1], fiveRegions[:1]); r.run(second) != 2 || r.state(second) != "SUCCEEDED SUCCEEDED:1" {
		t.Errorf("%s after %q", r.state(second), r.calls)
	}
}

// TestStop stops an operation in the middle, and one that waits for it.
func TestStop(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.set(true)
		first, second := r.create(nil, threeAccounts, fiveRegions), r.create(nil, threeAccounts[:1], []string{"sa-east-1"})
		third := r.create(nil, threeAccounts[:1], []string{"sa-east-1"})
		if got := r.state(second); got != "QUEUED" {
			t.Errorf("the second is %s", got)
		}
		r.pass(first)
		r.end()
		r.pass(first)
		for _, id := range []string{first, second} {
			if _, err := r.StopStackSetOperation(t.Context(), admin, &cloudformation.StopStackSetOperationInput{StackSetName: aws.String("s"), OperationId: &id}); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.state(first); got != "STOPPING PENDING:13 RUNNING:1 SUCCEEDED:1" {
			t.Errorf("while it stops: %s", got)
		}
		r.run(first)
		if got := r.state(first) + ", " + r.state(second); got != "STOPPED SUCCEEDED:2 CANCELLED:13, STOPPED" {
			t.Errorf("after the stop: %s", got)
		}
		_, err := r.StopStackSetOperation(t.Context(), admin, &cloudformation.StopStackSetOperationInput{StackSetName: aws.String("s"), OperationId: &first})
		refusedWith(t, err, "InvalidOperationException", "is in status STOPPED")
		r.run(third)
		if got := r.state(third); got != "SUCCEEDED SUCCEEDED:1" {
			t.Errorf("what waited is %s", got)
		}
		list, err := r.ListStackSetOperations(t.Context(), admin, &cloudformation.ListStackSetOperationsInput{StackSetName: aws.String("s"), MaxResults: aws.Int32(2)})
		if err != nil || len(list.Summaries) != 2 || *list.Summaries[0].OperationId != third || list.NextToken == nil {
			t.Fatalf("%+v, %v", list, err)
		}
		list, err = r.ListStackSetOperations(t.Context(), admin, &cloudformation.ListStackSetOperationsInput{StackSetName: aws.String("s"), MaxResults: aws.Int32(2), NextToken: list.NextToken})
		if err != nil || len(list.Summaries) != 1 || *list.Summaries[0].OperationId != first || list.NextToken != nil {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// TestLostAnswers has the process die after each call of a stack, before anything was written.
func TestLostAnswers(t *testing.T) {
	r := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	r.set(false)
	operation := r.create(&types.StackSetOperationPreferences{MaxConcurrentCount: aws.Int32(3), FailureToleranceCount: aws.Int32(3)}, threeAccounts, fiveRegions[:1])
	lost := &losing{Stacks: r.stacks, left: 3}
	r.config.Stacks = lost
	for lost.left > 0 {
		row, err := store.Find[operationRow](t.Context(), r.config.Store.Read(), "id = ?", operation)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.advance(t.Context(), row.SetID+"/"+operation); err == nil {
			t.Fatal("nothing was lost")
		}
	}
	r.run(operation)
	if got := r.state(operation); got != "SUCCEEDED SUCCEEDED:3" || len(r.calls) != 3 {
		t.Errorf("%s after %q", got, r.calls)
	}
}

// losing loses answers.
type losing struct {
	Stacks
	left int
}

func (l *losing) CreateStack(ctx context.Context, caller awswire.Caller, in *cloudformation.CreateStackInput) (*cloudformation.CreateStackOutput, error) {
	out, err := l.Stacks.CreateStack(ctx, caller, in)
	if l.left--; l.left >= 0 {
		return nil, errors.New("the connection to the database was lost")
	}
	return out, err
}

// TestImport makes stacks the instances of a set.
func TestImport(t *testing.T) {
	r := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	r.set(false)
	var arns []string
	for n, text := range []string{body, "Resources: {Other: {Type: A::B::C}}"} {
		out, err := r.CreateStack(t.Context(), awswire.Caller{Place: awswire.Place{Account: threeAccounts[n], Region: "us-east-1"}}, &cloudformation.CreateStackInput{
			StackName: aws.String("mine"), TemplateBody: aws.String(text), ClientRequestToken: aws.String("t"),
		})
		if err != nil {
			t.Fatal(err)
		}
		arns = append(arns, *out.StackId)
	}
	r.end()
	in := &cloudformation.ImportStacksToStackSetInput{StackSetName: aws.String("s"), StackIds: arns, OperationPreferences: &types.StackSetOperationPreferences{FailureToleranceCount: aws.Int32(1)}}
	out, err := r.ImportStacksToStackSet(t.Context(), admin, in)
	if err != nil {
		t.Fatal(err)
	}
	r.run(*out.OperationId)
	if got := fmt.Sprint(r.state(*out.OperationId), r.instanceStates()); got != "SUCCEEDED SUCCEEDED:1 FAILED:1map[CURRENT SUCCEEDED:1 OUTDATED FAILED_IMPORT:1]" {
		t.Errorf("after the import: %s", got)
	}
	_, err = r.ImportStacksToStackSet(t.Context(), admin, in)
	refusedWith(t, err, "InvalidOperationException", "has a stack instance in account")
	made, err := r.CreateStackSet(t.Context(), admin, &cloudformation.CreateStackSetInput{StackSetName: aws.String("of-it"), StackId: &arns[0]})
	if err != nil || !strings.HasPrefix(*made.StackSetId, "of-it:") {
		t.Errorf("%v, %v", made, err)
	}
}

// TestRefusals has each operation refuse what it cannot do.
func TestRefusals(t *testing.T) {
	r := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	r.set(false)
	ctx, name := t.Context(), aws.String("s")
	create := func(change func(in *cloudformation.CreateStackSetInput)) error {
		in := &cloudformation.CreateStackSetInput{StackSetName: aws.String("other"), TemplateBody: aws.String(body)}
		change(in)
		_, err := r.CreateStackSet(ctx, admin, in)
		return err
	}
	instances := func(change func(in *cloudformation.CreateStackInstancesInput)) error {
		in := &cloudformation.CreateStackInstancesInput{StackSetName: name, Accounts: threeAccounts, Regions: fiveRegions}
		change(in)
		_, err := r.CreateStackInstances(ctx, admin, in)
		return err
	}
	n := aws.Int32
	for _, test := range []struct {
		err           error
		code, message string
	}{
		{create(func(in *cloudformation.CreateStackSetInput) { in.StackSetName = name }), "NameAlreadyExistsException", "StackSet s already exists"},
		{create(func(in *cloudformation.CreateStackSetInput) { in.TemplateBody = nil }), "ValidationError", "Either Template URL or Template Body"},
		{create(func(in *cloudformation.CreateStackSetInput) { in.TemplateBody = aws.String("{") }), "ValidationError", ""},
		{create(func(in *cloudformation.CreateStackSetInput) {
			in.PermissionModel = types.PermissionModelsServiceManaged
		}), "ValidationError", "requires AWS Organizations"},
		{create(func(in *cloudformation.CreateStackSetInput) { in.CallAs = types.CallAsDelegatedAdmin }), "ValidationError", "as a delegated administrator"},
		{create(func(in *cloudformation.CreateStackSetInput) {
			in.AutoDeployment = &types.AutoDeployment{Enabled: aws.Bool(true)}
		}), "ValidationError", "AutoDeployment is not supported"},
		{create(func(in *cloudformation.CreateStackSetInput) {
			in.Parameters = []types.Parameter{{ParameterKey: aws.String("X")}}
		}), "ValidationError", "Parameters: [X] do not exist in the template"},
		{create(func(in *cloudformation.CreateStackSetInput) {
			in.TemplateBody = aws.String(`{"Parameters": {"P": {"Type": "String"}}, "Resources": {"R": {"Type": "A::B::C"}}}`)
		}), "ValidationError", "Parameters: [P] must have values"},
		{create(func(in *cloudformation.CreateStackSetInput) {
			in.TemplateBody = aws.String(`{"Resources": {"R": {"Type": "AWS::IAM::Role", "Properties": {}}}}`)
		}), "InsufficientCapabilitiesException", "CAPABILITY_IAM"},
		{instances(func(in *cloudformation.CreateStackInstancesInput) { in.StackSetName = aws.String("none") }), "StackSetNotFoundException", "StackSet none not found"},
		{instances(func(in *cloudformation.CreateStackInstancesInput) { in.Accounts = nil }), "ValidationError", "Exactly one of Accounts or AccountsURL must be specified"},
		{instances(func(in *cloudformation.CreateStackInstancesInput) { in.Regions = nil }), "ValidationError", "At least one region"},
		{instances(func(in *cloudformation.CreateStackInstancesInput) { in.Regions = []string{"../x"} }), "ValidationError", "is not a valid region"},
		{instances(func(in *cloudformation.CreateStackInstancesInput) { in.Accounts = []string{"1"} }), "ValidationError", "is not a valid account"},
		{instances(func(in *cloudformation.CreateStackInstancesInput) {
			in.Accounts, in.DeploymentTargets = nil, &types.DeploymentTargets{OrganizationalUnitIds: []string{"ou-1"}}
		}), "ValidationError", "can only have accounts as target"},
		{instances(func(in *cloudformation.CreateStackInstancesInput) {
			in.OperationPreferences = &types.StackSetOperationPreferences{FailureToleranceCount: n(1), FailureTolerancePercentage: n(1)}
		}), "ValidationError", "Exactly one of FailureToleranceCount or FailureTolerancePercentage must be specified"},
		{instances(func(in *cloudformation.CreateStackInstancesInput) {
			in.OperationPreferences = &types.StackSetOperationPreferences{MaxConcurrentCount: n(1), MaxConcurrentPercentage: n(1)}
		}), "ValidationError", "Exactly one of MaxConcurrentCount or MaxConcurrentPercentage must be specified"},
		{instances(func(in *cloudformation.CreateStackInstancesInput) {
			in.OperationPreferences = &types.StackSetOperationPreferences{MaxConcurrentPercentage: n(101)}
		}), "ValidationError", "must be between 1 and 100"},
		{instances(func(in *cloudformation.CreateStackInstancesInput) { in.OperationId = aws.String("a b") }), "ValidationError", "operationId"},
		{instances(func(in *cloudformation.CreateStackInstancesInput) {
			in.ParameterOverrides = []types.Parameter{{ParameterKey: aws.String("X")}}
		}), "ValidationError", "Parameters: [X] do not exist in the template"},
	} {
		refusedWith(t, test.err, test.code, test.message)
	}
	_, err := r.UpdateStackInstances(ctx, admin, &cloudformation.UpdateStackInstancesInput{StackSetName: name, Accounts: threeAccounts[:1], Regions: fiveRegions[:1]})
	refusedWith(t, err, "StackInstanceNotFoundException", "account 111111111111 and region us-east-1")
	_, err = r.DescribeStackSetOperation(ctx, admin, &cloudformation.DescribeStackSetOperationInput{StackSetName: name, OperationId: aws.String("x")})
	refusedWith(t, err, "OperationNotFoundException", "Operation x not found")
	other := admin
	other.Account = threeAccounts[1]
	_, err = r.DescribeStackSet(ctx, other, &cloudformation.DescribeStackSetInput{StackSetName: name})
	refusedWith(t, err, "StackSetNotFoundException", "StackSet s not found")

	// An account that this set cannot reach fails, and the others do not.
	id := aws.String("mine")
	out, err := r.CreateStackInstances(ctx, admin, &cloudformation.CreateStackInstancesInput{
		StackSetName: name, Accounts: []string{"999999999999", threeAccounts[0]}, Regions: fiveRegions[:1], OperationId: id, OperationPreferences: &types.StackSetOperationPreferences{FailureToleranceCount: n(1)},
	})
	if err != nil || *out.OperationId != *id {
		t.Fatalf("%v, %v", out, err)
	}
	r.run(*id)
	results, err := r.ListStackSetOperationResults(ctx, admin, &cloudformation.ListStackSetOperationResultsInput{StackSetName: name, OperationId: id, Filters: []types.OperationResultFilter{
		{Name: types.OperationResultFilterNameOperationResultStatus, Values: aws.String("FAILED")},
	}})
	if err != nil || len(results.Summaries) != 1 || !strings.HasPrefix(*results.Summaries[0].StatusReason, "Account 999999999999 should have 'AWSCloudFormationStackSetExecutionRole' role with trust relationship to Role 'arn:aws:iam::111111111111:role/") {
		t.Errorf("%+v, %v", results, err)
	}
	_, err = r.CreateStackInstances(ctx, admin, &cloudformation.CreateStackInstancesInput{StackSetName: name, Accounts: threeAccounts, Regions: fiveRegions, OperationId: id})
	refusedWith(t, err, "OperationIdAlreadyExistsException", "mine")
}

// TestGiveUp has operations on stack sets meet what never succeeds. The set can be used again, and
// deleted.
func TestGiveUp(t *testing.T) {
	const reason = "Internal failure: the content is larger than 7 bytes"
	each(t, func(t *testing.T, r *rig) {
		r.set(true)
		r.broken = &store.TooLargeError{Max: 7}
		first := r.create(nil, threeAccounts[:1], fiveRegions[:1])
		r.run(first)
		if got := r.state(first); got != "FAILED FAILED:1" {
			t.Errorf("an instance whose stack cannot be created: %s", got)
		}
		r.broken = nil
		second := r.create(nil, threeAccounts[1:], fiveRegions[:2])
		r.pass(second)
		third := r.create(nil, threeAccounts[:1], fiveRegions[4:])
		var id string
		if err := store.Query(t.Context(), r.config.Store.Read(), &id, "SELECT set_id FROM stack_set_operations WHERE id = ?", second); err != nil {
			t.Fatal(err)
		}
		fail := r.Workers()[wakeKind].Fail
		for range 2 { // the second time it has ended
			if err := fail(t.Context(), id+"/"+second, reason); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.state(second); got != "FAILED FAILED:4" {
			t.Errorf("an operation that was given up: %s", got)
		}
		op, err := r.DescribeStackSetOperation(t.Context(), admin, &cloudformation.DescribeStackSetOperationInput{StackSetName: aws.String("s"), OperationId: &second})
		if err != nil || aws.ToString(op.StackSetOperation.StatusReason) != reason {
			t.Errorf("its reason is %q, %v", aws.ToString(op.StackSetOperation.StatusReason), err)
		}
		r.run(third)
		if got := r.state(third); got != "SUCCEEDED SUCCEEDED:1" {
			t.Errorf("the operation after it: %s", got)
		}
	})
}
