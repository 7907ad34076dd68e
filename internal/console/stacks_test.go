package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/refactor"
	"github.com/formwork-dev/formwork/internal/stack"
)

// fakeStacks answers as the engine of stacks does, from memory.
type fakeStacks struct {
	otherStacks // the actions that change stacks have tests over an engine

	mu     sync.Mutex
	stacks []*stack.StackState
	events map[string][]stack.EventState // by name, the newest first
	source map[string]string
	sets   map[string][]stack.ChangeSetState // by name
	drift  map[string]*stack.DriftState
	done   []string // what was changed
	mark   int64
}

func (f *fakeStacks) ChangeSets(_ context.Context, place awswire.Place, name string, limit int) ([]stack.ChangeSetState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(place, name)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(f.sets[s.Name])
	return all[:min(limit, len(all))], nil
}

func (f *fakeStacks) ChangeSet(_ context.Context, place awswire.Place, name, set string) (*stack.ChangeSetState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(place, name)
	if err != nil {
		return nil, err
	}
	for _, c := range f.sets[s.Name] {
		if c.ARN == set || c.Name == set {
			return &c, nil
		}
	}
	return nil, &awswire.Error{Code: "ChangeSetNotFound", Message: "ChangeSet [" + set + "] does not exist"}
}

func (f *fakeStacks) did(text string) { f.mu.Lock(); f.done = append(f.done, text); f.mu.Unlock() }

func (f *fakeStacks) ExecuteChangeSet(_ context.Context, caller awswire.Caller, in *cloudformation.ExecuteChangeSetInput) (*cloudformation.ExecuteChangeSetOutput, error) {
	f.did("execute " + caller.Account + " " + *in.StackName + " " + *in.ChangeSetName)
	return &cloudformation.ExecuteChangeSetOutput{}, nil
}

func (f *fakeStacks) DeleteChangeSet(_ context.Context, caller awswire.Caller, in *cloudformation.DeleteChangeSetInput) (*cloudformation.DeleteChangeSetOutput, error) {
	f.did("delete " + caller.Account + " " + *in.StackName + " " + *in.ChangeSetName)
	return &cloudformation.DeleteChangeSetOutput{}, nil
}

func (f *fakeStacks) Refactors(_ context.Context, place awswire.Place, name string, limit int) ([]refactor.State, error) {
	s, err := f.find(place, name)
	if err != nil || s.Name != "shop" {
		return nil, err
	}
	all := []refactor.State{
		{ID: "refactor-2", Description: "Apart <b>now</b>", Status: "CREATE_COMPLETE", Execution: "AVAILABLE", CreatedAt: then, Moves: []refactor.MoveState{
			{FromStack: "shop", FromID: "Queue", ToStack: "orders", ToID: "Line", Type: "AWS::SQS::Queue", PhysicalID: "<i>queue-1"}}},
		{ID: "refactor-1", Status: "CREATE_FAILED", Reason: "There are no resources to refactor.", Execution: "UNAVAILABLE", CreatedAt: then},
	}
	return all[:min(len(all), limit)], nil
}

func (f *fakeStacks) ExecuteStackRefactor(_ context.Context, caller awswire.Caller, in *cloudformation.ExecuteStackRefactorInput) (*cloudformation.ExecuteStackRefactorOutput, error) {
	f.did("refactor " + caller.Account + " " + *in.StackRefactorId)
	return &cloudformation.ExecuteStackRefactorOutput{}, nil
}

func (f *fakeStacks) Drift(_ context.Context, place awswire.Place, name string) (*stack.DriftState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(place, name)
	if err != nil {
		return nil, err
	}
	if d := f.drift[s.Name]; d != nil {
		return d, nil
	}
	return &stack.DriftState{Status: types.StackDriftStatusNotChecked}, nil
}

func (f *fakeStacks) DetectStackDrift(_ context.Context, caller awswire.Caller, in *cloudformation.DetectStackDriftInput) (*cloudformation.DetectStackDriftOutput, error) {
	f.did("detect " + caller.Account + " " + *in.StackName)
	return &cloudformation.DetectStackDriftOutput{}, nil
}

func arnOfStack(name string) string {
	return "arn:aws:cloudformation:us-east-1:000000000000:stack/" + name + "/7a1d2c40-0000-11f0-9df5-0e1b2c3d4e5f"
}

func (f *fakeStacks) find(place awswire.Place, name string) (*stack.StackState, error) {
	for _, s := range f.stacks {
		if place == home && (s.Name == name && s.DeletedAt.IsZero() || s.ARN == name) {
			return s, nil
		}
	}
	return nil, awswire.ValidationErrorf("Stack with id %s does not exist", name)
}

func (f *fakeStacks) Stacks(_ context.Context, q stack.Query) ([]stack.Summary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []stack.Summary
	for _, s := range f.stacks {
		before := q.BeforeTime.IsZero() || s.CreatedAt.Before(q.BeforeTime)
		if q.Place == home && q.Deleted != s.DeletedAt.IsZero() && strings.Contains(s.Name, q.Search) && before && len(out) < q.Limit {
			out = append(out, s.Summary)
		}
	}
	return out, nil
}

func (f *fakeStacks) Stack(_ context.Context, place awswire.Place, name string) (*stack.StackState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(place, name)
	if err != nil {
		return nil, err
	}
	copied := *s
	copied.Resources = slices.Clone(s.Resources)
	return &copied, nil
}

func (f *fakeStacks) Events(_ context.Context, q stack.EventQuery) ([]stack.EventState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(q.Place, q.Stack)
	if err != nil {
		return nil, err
	}
	var out []stack.EventState
	for _, e := range f.events[s.Name] {
		if (!q.Failed || strings.HasSuffix(e.Status, "_FAILED")) && (q.Before == 0 || e.Seq < q.Before) && len(out) < q.Limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (f *fakeStacks) Timeline(ctx context.Context, place awswire.Place, name, id string) (*stack.Timeline, error) {
	events, err := f.Events(ctx, stack.EventQuery{Place: place, Stack: name, Limit: 100})
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(place, name)
	if err != nil || len(s.Operations) == 0 || id != "" && s.Operations[0].ID != id {
		return nil, err
	}
	slices.Reverse(events)
	t := &stack.Timeline{OperationState: s.Operations[0], Events: events, Needs: map[string][]string{}}
	for _, x := range s.Resources {
		t.Needs[x.LogicalID] = x.DependsOn
	}
	return t, nil
}

func (f *fakeStacks) Failures(_ context.Context, place awswire.Place, name string) ([]stack.Failure, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(place, name)
	if err != nil {
		return nil, err
	}
	for _, e := range f.events[s.Name] {
		if strings.HasSuffix(e.Status, "_FAILED") && !e.OfStack {
			out := stack.Failure{EventState: e, Operation: s.Operations[0], StackARN: s.ARN, StackName: s.Name, Resources: s.Resources}
			out.Message, out.ErrorCode = stack.HandlerMessage(e.Reason)
			return []stack.Failure{out}, nil
		}
	}
	return nil, nil
}

func (f *fakeStacks) LatestOperations(_ context.Context, place awswire.Place, _ int) ([]stack.StackOperation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if place != home {
		return nil, nil
	}
	var out []stack.StackOperation
	for _, s := range f.stacks {
		for _, op := range s.Operations {
			out = append(out, stack.StackOperation{OperationState: op, Stack: s.Summary})
		}
	}
	return out, nil
}

func (f *fakeStacks) Source(_ context.Context, place awswire.Place, name, _ string, processed bool) (*stack.Source, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(place, name)
	if err != nil {
		return nil, err
	}
	out := &stack.Source{Text: f.source[s.Name], Lines: map[string]int{}, Processed: processed}
	for i, line := range strings.Split(out.Text, "\n") {
		for _, x := range s.Resources {
			if strings.TrimSpace(line) == x.LogicalID+":" {
				out.Lines[x.LogicalID] = i + 1
			}
		}
	}
	return out, nil
}

func (f *fakeStacks) ListMark(context.Context, awswire.Place) (stack.Mark, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return stack.Mark{Changes: f.mark}, nil
}

func (f *fakeStacks) Mark(context.Context, awswire.Place, string) (int64, error) { return 0, nil }

func (f *fakeStacks) StackMark(ctx context.Context, place awswire.Place, _ string) (stack.Mark, error) {
	return f.ListMark(ctx, place)
}

// change changes a stack, as its engine does.
func (f *fakeStacks) change(name string, change func(*stack.StackState)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(home, name)
	if err != nil {
		panic(err)
	}
	change(s)
	f.mark++
}

const shopTemplate = `Description: The shop.
Parameters:
  Password: {Type: String, NoEcho: true, Default: "****"}
Resources:
  Queue:
    Type: AWS::SQS::Queue
  Billing:
    Type: MongoDB::Atlas::Cluster
    Properties:
      Name: !Ref AWS::StackName # <script>alert(1)</script>
  Alarm:
    Type: AWS::CloudWatch::Alarm
`

// newFakeStacks is a stack that failed, one that grows, and one that was deleted.
func newFakeStacks() *fakeStacks {
	const failure = `Resource handler returned message: "the cluster billing did not reach the state IDLE within 30 seconds" (RequestToken: 8f1f0c2e-0c7c-4f0e-9df5-5b6dfb0a6a10, HandlerErrorCode: NotStabilized)`
	operation := stack.OperationState{ID: "7a1d2c40-0000-11f0-9df5-0e1b2c3d4e60", Kind: types.OperationTypeCreateStack, Status: "FAILED", StartedAt: then, EndedAt: then.Add(40 * time.Second)}
	shop := &stack.StackState{
		Summary: stack.Summary{
			ID: "1", Name: "shop", ARN: arnOfStack("shop"), Status: types.StackStatusCreateFailed, Description: "The shop.", Resources: 3, CreatedAt: then,
			Reason: "The following resource(s) failed to create: [Billing]. ", Drift: types.StackDriftStatusDrifted,
		},
		Parameters: []types.Parameter{{ParameterKey: aws.String("Password"), ParameterValue: aws.String("****")}},
		Outputs:    []types.Output{{OutputKey: aws.String("QueueUrl"), OutputValue: aws.String("https://sqs.us-east-1.amazonaws.com/000000000000/shop-Queue"), Description: aws.String("Where orders go."), ExportName: aws.String("shop-queue")}},
		Tags:       []types.Tag{{Key: aws.String("team"), Value: aws.String("<b>payments</b>")}},
		Resources: []stack.ResourceState{
			{LogicalID: "Alarm", Type: "AWS::CloudWatch::Alarm", DependsOn: []string{"Billing", "Queue"}},
			{LogicalID: "Billing", Type: "MongoDB::Atlas::Cluster", TypeVersion: "00000002", Status: types.ResourceStatusCreateFailed, Reason: failure, DependsOn: []string{"Queue"}, UpdatedAt: then.Add(39 * time.Second)},
			{LogicalID: "Queue", Type: "AWS::SQS::Queue", PhysicalID: "https://sqs.us-east-1.amazonaws.com/000000000000/shop-Queue", Status: types.ResourceStatusCreateComplete, Simulated: true, UpdatedAt: then.Add(time.Second)},
		},
		Operations: []stack.OperationState{operation},
	}
	growing := &stack.StackState{
		Summary:    stack.Summary{ID: "2", Name: "growing", ARN: arnOfStack("growing"), Status: types.StackStatusCreateInProgress, Resources: 12, CreatedAt: then.Add(-time.Minute)},
		Operations: []stack.OperationState{{ID: "op-2", Kind: types.OperationTypeCreateStack, Status: "IN_PROGRESS", StartedAt: then.Add(-time.Minute)}},
	}
	for i := range 12 {
		x := stack.ResourceState{LogicalID: "Worker" + string(rune('A'+i)), Type: "AWS::ElasticLoadBalancingV2::TargetGroup", Status: types.ResourceStatusCreateComplete, Simulated: true, UpdatedAt: then}
		if i > 0 {
			x.DependsOn = []string{"Worker" + string(rune('A'+i/2))}
		}
		if i > 5 {
			x.Status = types.ResourceStatusCreateInProgress
		}
		if i > 8 {
			x.Status, x.UpdatedAt = "", time.Time{}
		}
		growing.Resources = append(growing.Resources, x)
	}
	old := &stack.StackState{Summary: stack.Summary{ID: "3", Name: "old", ARN: arnOfStack("old"), Status: types.StackStatusDeleteComplete, CreatedAt: then.Add(-time.Hour), DeletedAt: then}}
	event := func(seq int64, seconds int, id, kind, status, reason string) stack.EventState {
		e := stack.EventState{Seq: seq, OperationID: operation.ID, LogicalID: id, Type: kind, Status: status, Reason: reason, At: then.Add(time.Duration(seconds) * time.Second)}
		if id == "shop" {
			e.PhysicalID, e.OfStack = shop.ARN, true
		}
		return e
	}
	return &fakeStacks{
		stacks: []*stack.StackState{shop, growing, old},
		source: map[string]string{"shop": shopTemplate},
		events: map[string][]stack.EventState{"shop": {
			event(7, 40, "shop", "AWS::CloudFormation::Stack", "CREATE_FAILED", "The following resource(s) failed to create: [Billing]. "),
			event(6, 39, "Billing", "MongoDB::Atlas::Cluster", "CREATE_FAILED", failure),
			event(5, 2, "Billing", "MongoDB::Atlas::Cluster", "CREATE_IN_PROGRESS", "Resource creation Initiated"),
			event(4, 1, "Billing", "MongoDB::Atlas::Cluster", "CREATE_IN_PROGRESS", ""),
			event(3, 1, "Queue", "AWS::SQS::Queue", "CREATE_COMPLETE", ""),
			event(2, 0, "Queue", "AWS::SQS::Queue", "CREATE_IN_PROGRESS", ""),
			event(1, 0, "shop", "AWS::CloudFormation::Stack", "CREATE_IN_PROGRESS", "User Initiated"),
		}},
		sets:  map[string][]stack.ChangeSetState{"shop": fakeSets()},
		drift: map[string]*stack.DriftState{"shop": fakeDrift()},
	}
}

// arnOfSet is the ARN of a change set.
func arnOfSet(name string) string {
	return "arn:aws:cloudformation:us-east-1:000000000000:changeSet/" + name + "/7a1d2c40-0000-11f0-9df5-0e1b2c3d4e5f"
}

// fakeSets are a change set that can be executed, one that failed, and one of a nested stack.
func fakeSets() []stack.ChangeSetState {
	detail := func(name, before, after string, recreation types.RequiresRecreation, entity string) types.ResourceChangeDetail {
		d := types.ResourceChangeDetail{Target: &types.ResourceTargetDefinition{
			Attribute: types.ResourceAttributeProperties, Name: &name, Path: aws.String("/Properties/" + name), RequiresRecreation: recreation,
		}}
		if before != "" {
			d.Target.BeforeValue = &before
		}
		if after != "" {
			d.Target.AfterValue = &after
		}
		if entity != "" {
			d.CausingEntity = &entity
		}
		return d
	}
	change := func(id, typ string, action types.ChangeAction, more func(*types.ResourceChange)) types.Change {
		c := &types.ResourceChange{LogicalResourceId: &id, ResourceType: &typ, Action: action}
		more(c)
		return types.Change{Type: types.ChangeTypeResource, ResourceChange: c}
	}
	return []stack.ChangeSetState{
		{
			Name: "bigger", ARN: arnOfSet("bigger"), StackARN: arnOfStack("shop"), Kind: types.ChangeSetTypeUpdate, Status: types.ChangeSetStatusCreateComplete,
			Execution: types.ExecutionStatusAvailable, Description: "More <b>disk</b>", CreatedAt: then,
			Changes: []types.Change{
				change("Billing", "MongoDB::Atlas::Cluster", types.ChangeActionModify, func(c *types.ResourceChange) {
					c.Replacement, c.PhysicalResourceId, c.PolicyAction = types.ReplacementTrue, aws.String("billing-1"), types.PolicyActionReplaceAndRetain
					c.Details = []types.ResourceChangeDetail{
						detail("Name", "old-name", "new-name", types.RequiresRecreationAlways, ""), detail("Size/Disk", "", "", types.RequiresRecreationNever, "Disk"),
						detail("Size/Disk", "10", "20", types.RequiresRecreationNever, ""),
					}
				}),
				change("Mail", "Acme::Mail::List", types.ChangeActionAdd, func(c *types.ResourceChange) {
					c.AfterContext = aws.String(`{"Properties":{"Address":"<img src=x>","Members":["a"]}}`)
				}),
				change("Queue", "AWS::SQS::Queue", types.ChangeActionRemove, func(c *types.ResourceChange) {
					c.BeforeContext, c.PolicyAction = aws.String(`{"Properties":{"QueueName":"orders"}}`), types.PolicyActionRetain
				}),
			},
		},
		{Name: "empty", ARN: arnOfSet("empty"), StackARN: arnOfStack("shop"), Kind: types.ChangeSetTypeUpdate, Status: types.ChangeSetStatusFailed, Execution: types.ExecutionStatusUnavailable, Reason: "The submitted information didn't contain changes.", CreatedAt: then},
		{Name: "inner", ARN: arnOfSet("inner"), StackARN: arnOfStack("shop"), Kind: types.ChangeSetTypeUpdate, Status: types.ChangeSetStatusCreateComplete, Execution: types.ExecutionStatusAvailable, ParentARN: arnOfSet("outer"), CreatedAt: then},
	}
}

func fakeDrift() *stack.DriftState {
	return &stack.DriftState{Status: types.StackDriftStatusDrifted, CheckedAt: then, Detectable: true, Resources: []types.StackResourceDrift{
		{LogicalResourceId: aws.String("Alarm"), ResourceType: aws.String("AWS::CloudWatch::Alarm"), StackResourceDriftStatus: types.StackResourceDriftStatusInSync},
		{LogicalResourceId: aws.String("Billing"), PhysicalResourceId: aws.String("billing-1"), ResourceType: aws.String("MongoDB::Atlas::Cluster"), StackResourceDriftStatus: types.StackResourceDriftStatusModified, PropertyDifferences: []types.PropertyDifference{
			{PropertyPath: aws.String("/Size/Disk"), ExpectedValue: aws.String("10"), ActualValue: aws.String("<i>40</i>"), DifferenceType: types.DifferenceTypeNotEqual},
		}},
		{LogicalResourceId: aws.String("Queue"), ResourceType: aws.String("AWS::SQS::Queue"), StackResourceDriftStatus: types.StackResourceDriftStatusNotChecked, DriftStatusReason: aws.String("The type of the resource cannot be read.")},
	}}
}

// TestStackForms: change sets are executed and deleted and drift is detected by forms of the
// pages only, for the caller of the page.
func TestStackForms(t *testing.T) {
	f, logs := world(t)
	c := newConsole(t, f, logs)
	stacks := c.config.Stacks.(*fakeStacks)
	set := "/stacks/shop/changes/" + url.PathEscape(arnOfSet("bigger"))
	for _, test := range []struct{ path, want, location string }{
		{set + "/execute", "execute 000000000000 " + arnOfStack("shop") + " " + arnOfSet("bigger"), "/_cfn/stacks/shop/timeline?done=executed"},
		{set + "/delete", "delete 000000000000 " + arnOfStack("shop") + " " + arnOfSet("bigger"), "/_cfn/stacks/shop/changes?done=deleted"},
		{"/stacks/shop/refactors/refactor-2/execute", "refactor 000000000000 refactor-2", "/_cfn/stacks/shop/changes?done=refactoring"},
		{"/stacks/shop/drift", "detect 000000000000 " + arnOfStack("shop"), "/_cfn/stacks/shop/drift?done=detecting"},
	} {
		stacks.done = nil
		if w := submit(t, c, test.path, nil, nil); w.Code != http.StatusSeeOther || w.Header().Get("Location") != test.location {
			t.Errorf("%s: %d to %s, want %s", test.path, w.Code, w.Header().Get("Location"), test.location)
		}
		if !slices.Equal(stacks.done, []string{test.want}) {
			t.Errorf("%s: %q, want %q", test.path, stacks.done, test.want)
		}
		stacks.done = nil
		if w := submit(t, c, test.path, url.Values{"token": {"forged"}}, nil); w.Code != http.StatusForbidden || stacks.done != nil {
			t.Errorf("%s with a forged token: %d, %q", test.path, w.Code, stacks.done)
		}
		if w := submit(t, c, strings.Replace(test.path, "/shop/", "/none/", 1), nil, nil); w.Code != http.StatusNotFound || stacks.done != nil {
			t.Errorf("%s of no stack: %d, %q", test.path, w.Code, stacks.done)
		}
	}
}

// TestRefactorsOfOtherStacks: only what a page shows can be executed from it.
func TestRefactorsOfOtherStacks(t *testing.T) {
	f, logs := world(t)
	c := newConsole(t, f, logs)
	stacks := c.config.Stacks.(*fakeStacks)
	for _, path := range []string{"/stacks/shop/refactors/none/execute", "/stacks/growing/refactors/refactor-2/execute"} {
		if w := submit(t, c, path, nil, nil); w.Code != http.StatusNotFound || stacks.done != nil {
			t.Errorf("%s: %d, %q", path, w.Code, stacks.done)
		}
	}
}

func TestStackPages(t *testing.T) {
	f, logs := world(t)
	c := newConsole(t, f, logs)
	for _, test := range []struct {
		path   string
		status int
		want   []string
		not    []string
	}{
		{"/stacks", 200, []string{">shop</a>", "create failed", `href="/_cfn/stacks/shop/drift"`, ">drifted<", "growing", `data-changes="/_cfn/stacks/events"`}, []string{">old</a>"}},
		{"/stacks?q=sho", 200, []string{">shop</a>"}, []string{"growing"}},
		{"/stacks?deleted=1", 200, []string{">old</a>", "/_cfn/stacks/arn:aws:cloudformation:us-east-1:000000000000:stack%2Fold%2F"}, []string{">shop</a>"}},
		{"/stacks?in=123456789012/us-east-1", 200, []string{"No stacks in 123456789012", "cfn deploy template.yaml"}, []string{">shop</a>"}},
		{"/stacks/shop", 200, []string{
			"failed first in the creation", "did not reach the state IDLE", "/_cfn/stacks/shop/template#line-Billing", "/_cfn/types/RESOURCE/MongoDB::Atlas::Cluster/calls",
			`class="node bad"`, `class="node plain"`, ">simulated<", "after Billing, Queue", ">drifted<",
		}, []string{"/_cfn/types/RESOURCE/AWS::SQS::Queue"}},
		{"/stacks/shop?in=123456789012/us-east-1", 404, []string{"Stack not found"}, []string{"Billing"}},
		{"/stacks/nothing", 404, []string{"Stack not found"}, nil},
		{"/stacks/arn:aws:cloudformation:us-east-1:000000000000:stack%2Fold%2F7a1d2c40-0000-11f0-9df5-0e1b2c3d4e5f", 200, []string{"delete complete", "no resources"}, nil},
		{"/stacks/shop/timeline", 200, []string{"took <b>40.0 s</b>", ">10.0 s</text>", "divides the delays of handlers by <b>4</b>", ">40.0 s</text>", "waited for Queue", "CREATE failed 56 ms", "/calls/stack-call", ">simulated<"}, nil},
		{"/stacks/shop/timeline?operation=none", 404, []string{"Operation not found"}, nil},
		{"/stacks/growing/timeline", 200, []string{"The operation changed no resources", "pulse"}, nil},
		{"/stacks/shop/events", 200, []string{"User Initiated", "create in progress", "Resource creation Initiated"}, nil},
		{"/stacks/shop/events?failed=1", 200, []string{"create failed"}, []string{"User Initiated"}},
		{"/stacks/shop/events?before=x", 400, []string{"Page not found"}, nil},
		{"/stacks/shop/outputs", 200, []string{"QueueUrl", "Where orders go.", "exported as shop-queue", "****", "&lt;b&gt;payments"}, []string{"<b>payments"}},
		{"/stacks/shop/changes", 200, []string{">bigger<", "More &lt;b&gt;disk", "available", "didn&#39;t contain changes"}, []string{"<b>disk"}},
		{"/stacks/growing/changes", 200, []string{"has no change sets", "--plan"}, []string{"Refactors"}},
		{"/stacks/shop/changes", 200, []string{">Refactors<", "shop/Queue", "orders/Line", "&lt;i&gt;queue-1", "Apart &lt;b&gt;now", "/refactors/refactor-2/execute", "There are no resources to refactor"},
			[]string{"<i>queue-1", "/refactors/refactor-1/execute"}},
		{"/stacks/shop/changes/bigger", 200, []string{
			">replace, keep the old one<", "replaces the resource", "old-name", "new-name", "Size.Disk", "because of Disk", ">create<", "&lt;img src=x&gt;", ">remove and keep<", "orders",
			">Execute<", ">Delete<", "billing-1",
		}, []string{"<img"}},
		{"/stacks/shop/changes/empty", 200, []string{"contain changes", "No resource changes", ">Delete<"}, []string{">Execute<"}},
		{"/stacks/shop/changes/inner", 200, []string{"No resource changes"}, []string{">Execute<", ">Delete<"}},
		{"/stacks/shop/changes/none", 404, []string{"Change set not found"}, nil},
		{"/stacks/none/changes/bigger", 404, []string{"Stack not found"}, nil},
		{"/stacks/shop/drift", 200, []string{"drifted", "Size.Disk", "&lt;i&gt;40", "Expected", "not checked", "cannot be read", ">Detect drift<"}, []string{"<i>40"}},
		{"/stacks/growing/drift", 200, []string{"Drift detection has not run on this stack yet"}, []string{">Detect drift<"}},
		{"/requests", 200, []string{"Mail::<wbr>List", "&lt;b&gt;list", "AlreadyExists", "&lt;u&gt;exists", "in progress", "token-1", "2.0 s"}, []string{"<u>exists"}},
		{"/requests?in=123456789012/us-east-1", 200, []string{"No requests in 123456789012", "cfn resource create"}, nil},
		{"/requests?before=x", 400, []string{"page token in the address is invalid"}, nil},
		{"/stacks/shop/template", 200, []string{`<span id="line-Billing" class="failed">`, "← the cluster billing did not", `<span id="line-Queue">`, "&lt;script&gt;"}, []string{"<script>alert"}},
	} {
		w := get(t, c, test.path)
		if w.Code != test.status {
			t.Errorf("%s: status %d, want %d", test.path, w.Code, test.status)
		}
		for _, want := range test.want {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s lacks %q", test.path, want)
			}
		}
		for _, not := range test.not {
			if strings.Contains(w.Body.String(), not) {
				t.Errorf("%s has %q", test.path, not)
			}
		}
	}
}

// TestTicks sees that the scale of a time line has few, round times.
func TestTicks(t *testing.T) {
	for _, length := range []float64{0.001, 0.05, 0.7, 40, 119, 3600, 864000} {
		v := &timelineView{Length: length}
		ticks := v.Ticks()
		if len(ticks) < 1 || len(ticks) > maxTicks+1 || ticks[0].At != 0 || ticks[len(ticks)-1].At > 1000 {
			t.Errorf("%g s: %v", length, ticks)
		}
		for i := 1; i < len(ticks); i++ {
			if ticks[i].At <= ticks[i-1].At || ticks[i].Text == ticks[i-1].Text {
				t.Errorf("%g s: %v", length, ticks)
			}
		}
	}
}

func plainTone(*stack.ResourceState) string { return "plain" }

// TestGraph sees that every resource has a place of its own to the right of what it needs,
// also where templates have no end and where they turn in circles.
func TestGraph(t *testing.T) {
	for name, resources := range map[string][]stack.ResourceState{
		"chain":   {{LogicalID: "A"}, {LogicalID: "B", DependsOn: []string{"A"}}, {LogicalID: "C", DependsOn: []string{"A", "B"}}},
		"diamond": {{LogicalID: "D", DependsOn: []string{"B", "C"}}, {LogicalID: "B", DependsOn: []string{"A"}}, {LogicalID: "C", DependsOn: []string{"A", "Gone"}}, {LogicalID: "A"}},
		"growing": newFakeStacks().stacks[1].Resources,
	} {
		g := drawGraph(resources, plainTone)
		at, taken := map[string]graphNode{}, map[[2]int]bool{}
		for _, n := range g.Nodes {
			at[n.LogicalID] = n
			if taken[[2]int{n.X, n.Y}] || n.X+nodeWidth > g.Width || n.Y+nodeHeight > g.Height {
				t.Errorf("%s: %s is at %d, %d of %d x %d", name, n.LogicalID, n.X, n.Y, g.Width, g.Height)
			}
			taken[[2]int{n.X, n.Y}] = true
		}
		edges := 0
		for _, x := range resources {
			for _, id := range x.DependsOn {
				if from, ok := at[id]; ok {
					if x.LogicalID != "C" || name != "chain" || id != "A" { // B says so already
						edges++
					}
					if from.X >= at[x.LogicalID].X {
						t.Errorf("%s: %s is not to the right of %s", name, x.LogicalID, id)
					}
				}
			}
		}
		if len(at) != len(resources) || len(g.Edges) != edges {
			t.Errorf("%s: %d boxes and %d lines, want %d and %d", name, len(at), len(g.Edges), len(resources), edges)
		}
	}
	// Lines that others imply are left out, however long the way round is.
	var long []stack.ResourceState
	for i := range maxDrawn {
		x := stack.ResourceState{LogicalID: "R" + itoa(i)}
		for j := range i {
			x.DependsOn = append(x.DependsOn, "R"+itoa(j))
		}
		long = append(long, x)
	}
	if g := drawGraph(long, plainTone); len(g.Edges) != maxDrawn-1 {
		t.Errorf("a chain whose every resource names all before it has %d lines, want %d", len(g.Edges), maxDrawn-1)
	}
	round := drawGraph([]stack.ResourceState{
		{LogicalID: "A"}, {LogicalID: "B", DependsOn: []string{"A"}}, {LogicalID: "C", DependsOn: []string{"B"}}, {LogicalID: "D", DependsOn: []string{"C", "A", "X"}}, {LogicalID: "X"},
	}, plainTone)
	if len(round.Edges) != 4 {
		t.Errorf("%d lines, want 4: A-B, B-C, C-D, X-D", len(round.Edges))
	}
	circle := drawGraph([]stack.ResourceState{{LogicalID: "A", DependsOn: []string{"B"}}, {LogicalID: "B", DependsOn: []string{"A"}}}, plainTone)
	if len(circle.Nodes) != 2 {
		t.Errorf("a circle has %d boxes", len(circle.Nodes))
	}
	if drawGraph(make([]stack.ResourceState, maxDrawn+1), plainTone) != nil || drawGraph(nil, plainTone) != nil {
		t.Error("a graph that is too large is drawn")
	}
}

func TestVersions(t *testing.T) {
	for want, x := range map[string]stack.ResourceState{
		"00000001":               {TypeVersion: "00000001", DefaultVersion: "00000001"},
		"00000002":               {TypeVersion: "00000002"}, // its type is gone
		"00000001, now 00000003": {TypeVersion: "00000001", DefaultVersion: "00000003"},
	} {
		if got := versions(&x); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
