package console

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/stack"
)

// fakeStacks answers as the engine of stacks does, from memory.
type fakeStacks struct {
	mu     sync.Mutex
	stacks []*stack.StackState
	events map[string][]stack.EventState // by name, the newest first
	source map[string]string
	mark   int64
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

func (f *fakeStacks) Source(_ context.Context, place awswire.Place, name string, processed bool) (*stack.Source, error) {
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
			Reason: "The following resource(s) failed to create: [Billing]. ",
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
		{"/stacks", 200, []string{">shop</a>", "create failed", "growing", `data-changes="/_cfn/stacks/events"`}, []string{">old</a>"}},
		{"/stacks?q=sho", 200, []string{">shop</a>"}, []string{"growing"}},
		{"/stacks?deleted=1", 200, []string{">old</a>", "/_cfn/stacks/arn:aws:cloudformation:us-east-1:000000000000:stack%2Fold%2F"}, []string{">shop</a>"}},
		{"/stacks?in=123456789012/us-east-1", 200, []string{"No stacks in 123456789012", "create-stack"}, []string{">shop</a>"}},
		{"/stacks/shop", 200, []string{
			"<b>Billing</b> failed first", "did not reach the state IDLE", "/_cfn/stacks/shop/template#line-Billing", "/_cfn/types/RESOURCE/MongoDB::Atlas::Cluster/calls",
			`class="node bad"`, `class="node plain"`, ">simulated<", "after Billing, Queue",
		}, []string{"/_cfn/types/RESOURCE/AWS::SQS::Queue"}},
		{"/stacks/shop?in=123456789012/us-east-1", 404, []string{"No such stack"}, []string{"Billing"}},
		{"/stacks/nothing", 404, []string{"No such stack"}, nil},
		{"/stacks/arn:aws:cloudformation:us-east-1:000000000000:stack%2Fold%2F7a1d2c40-0000-11f0-9df5-0e1b2c3d4e5f", 200, []string{"delete complete", "no resources"}, nil},
		{"/stacks/shop/timeline", 200, []string{"took <b>40.0 s</b>", "waited for Queue", "CREATE failed 56 ms", "/calls/stack-call", ">simulated<"}, nil},
		{"/stacks/shop/timeline?operation=none", 404, []string{"No such operation"}, nil},
		{"/stacks/growing/timeline", 200, []string{"Nothing was done to any resource", "pulse"}, nil},
		{"/stacks/shop/events", 200, []string{"User Initiated", "create in progress", "Resource creation Initiated"}, nil},
		{"/stacks/shop/events?failed=1", 200, []string{"create failed"}, []string{"User Initiated"}},
		{"/stacks/shop/events?before=x", 400, []string{"No such page"}, nil},
		{"/stacks/shop/outputs", 200, []string{"QueueUrl", "Where orders go.", "exported as shop-queue", "****", "&lt;b&gt;payments"}, []string{"<b>payments"}},
		{"/stacks/shop/template", 200, []string{`<span id="line-Billing" class="failed">`, "← Resource handler returned", `<span id="line-Queue">`, "&lt;script&gt;"}, []string{"<script>alert"}},
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

// TestGraph sees that every resource has a place of its own to the right of what it needs,
// also where templates have no end and where they turn in circles.
func TestGraph(t *testing.T) {
	for name, resources := range map[string][]stack.ResourceState{
		"chain":   {{LogicalID: "A"}, {LogicalID: "B", DependsOn: []string{"A"}}, {LogicalID: "C", DependsOn: []string{"A", "B"}}},
		"diamond": {{LogicalID: "D", DependsOn: []string{"B", "C"}}, {LogicalID: "B", DependsOn: []string{"A"}}, {LogicalID: "C", DependsOn: []string{"A", "Gone"}}, {LogicalID: "A"}},
		"growing": newFakeStacks().stacks[1].Resources,
	} {
		g := drawGraph(resources)
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
	circle := drawGraph([]stack.ResourceState{{LogicalID: "A", DependsOn: []string{"B"}}, {LogicalID: "B", DependsOn: []string{"A"}}})
	if len(circle.Nodes) != 2 {
		t.Errorf("a circle has %d boxes", len(circle.Nodes))
	}
	if drawGraph(make([]stack.ResourceState, maxDrawn+1)) != nil || drawGraph(nil) != nil {
		t.Error("a graph that is too large is drawn")
	}
}
