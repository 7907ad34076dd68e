package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/stack"
)

// TestStackForms: change sets are executed and deleted and drift is detected by forms of the
// pages only, in the place of the page.
func TestStackForms(t *testing.T) {
	t.Parallel()
	const path = "/stacks/orders"
	set := path + "/changes/" + url.PathEscape(arnOfSet("bigger"))
	execution := func(e *engines) types.ExecutionStatus {
		c, err := e.stacks.ChangeSet(t.Context(), home, "orders", arnOfSet("bigger"))
		if err != nil {
			return "" // it was deleted
		}
		return c.Execution
	}
	for _, test := range []struct {
		path, location string
		done           func(*engines) bool
	}{
		{set + "/execute", path + "/timeline?done=executed", func(e *engines) bool { return execution(e) == types.ExecutionStatusExecuteInProgress }},
		{set + "/delete", path + "/changes?done=deleted", func(e *engines) bool { return execution(e) == "" }},
		{path + "/refactors/refactor-2/execute", path + "/changes?done=refactoring", func(e *engines) bool {
			all, err := e.refactors.Refactors(t.Context(), home, "orders", 10)
			return err == nil && len(all) == 2 && all[0].ID == "refactor-1" && all[1].Execution == types.StackRefactorExecutionStatusExecuteInProgress
		}},
		{path + "/drift", path + "/drift?done=detecting", func(e *engines) bool {
			drift, err := e.stacks.Drift(t.Context(), home, "orders")
			return err == nil && drift.Running
		}},
	} {
		e := world(t)
		c := newConsole(t, e)
		before := e.contents()
		if w := submit(t, c, test.path, url.Values{"token": {"forged"}}, nil); w.Code != http.StatusForbidden || e.contents() != before {
			t.Errorf("%s with a forged token: %d", test.path, w.Code)
		}
		if w := submit(t, c, strings.Replace(test.path, "/orders/", "/none/", 1), nil, nil); w.Code != http.StatusNotFound || e.contents() != before {
			t.Errorf("%s of no stack: %d", test.path, w.Code)
		}
		if w := submit(t, c, test.path+"?in=123456789012/us-east-1", nil, nil); w.Code != http.StatusNotFound || e.contents() != before {
			t.Errorf("%s in another place: %d", test.path, w.Code)
		}
		if w := submit(t, c, test.path, nil, nil); w.Code != http.StatusSeeOther || w.Header().Get("Location") != Prefix+test.location {
			t.Errorf("%s: %d to %s, want %s\n%s", test.path, w.Code, w.Header().Get("Location"), test.location, w.Body)
		}
		if !test.done(e) {
			t.Errorf("%s did nothing", test.path)
		}
	}
}

// TestRefactorsOfOtherStacks: only what a page shows can be executed from it.
func TestRefactorsOfOtherStacks(t *testing.T) {
	t.Parallel()
	e := world(t)
	c := newConsole(t, e)
	before := e.contents()
	for _, path := range []string{"/stacks/orders/refactors/none/execute", "/stacks/growing/refactors/refactor-2/execute"} {
		if w := submit(t, c, path, nil, nil); w.Code != http.StatusNotFound || e.contents() != before {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestStackPages(t *testing.T) {
	t.Parallel()
	c := newConsole(t, world(t))
	for _, test := range []struct {
		path   string
		status int
		want   []string
		not    []string
	}{
		{"/stacks", 200, []string{">shop</a>", "create failed", `href="/_cfn/stacks/orders/drift"`, ">drifted<", "growing", `data-changes="/_cfn/stacks/events"`}, []string{">old</a>"}},
		{"/stacks?q=sho", 200, []string{">shop</a>"}, []string{"growing"}},
		{"/stacks?deleted=1", 200, []string{">old</a>", "/_cfn/stacks/arn:aws:cloudformation:us-east-1:000000000000:stack%2Fold%2F"}, []string{">shop</a>"}},
		{"/stacks?in=123456789012/us-east-1", 200, []string{"No stacks in 123456789012", "cfn deploy template.yaml"}, []string{">shop</a>"}},
		{"/stacks/shop", 200, []string{
			"Creation failed at", "did not reach the state IDLE", "/_cfn/stacks/shop/template#line-Billing", "/_cfn/types/RESOURCE/MongoDB::Atlas::Cluster/calls",
			`class="node bad"`, `class="node plain"`, ">simulated<", "after Billing, Queue", ">drifted<",
			"owner: Team &lt;i&gt;Shop", "must: stay small", "why: orders &lt;b&gt;wait", "must: keep", "must never change: QueueName<",
		}, []string{"orders <b>wait", "/_cfn/types/RESOURCE/AWS::SQS::Queue"}},
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
		{"/stacks/orders/changes", 200, []string{">bigger<", "More &lt;b&gt;disk", "available", "didn&#39;t contain changes"}, []string{"<b>disk"}},
		{"/stacks/growing/changes", 200, []string{"has no change sets", "--plan"}, []string{"Refactors"}},
		{"/stacks/orders/changes", 200, []string{">Refactors<", "orders/Queue", "archive/Line", "&lt;i&gt;queue-1", "Apart &lt;b&gt;now", "/refactors/refactor-2/execute", "There are no resources to refactor"},
			[]string{"<i>queue-1", "/refactors/refactor-1/execute"}},
		{"/stacks/orders/changes/bigger", 200, []string{
			">replace, keep the old one<", "replaces the resource", "old-name", "new-name", "Size.Disk", "because of Disk", ">create<", "&lt;img src=x&gt;", ">remove and keep<", "orders",
			">Execute<", ">Delete<", "billing-1",
		}, []string{"<img"}},
		{"/stacks/orders/changes/empty", 200, []string{"contain changes", "No resource changes", ">Delete<"}, []string{">Execute<"}},
		{"/stacks/orders/changes/inner", 200, []string{"No resource changes"}, []string{">Execute<", ">Delete<"}},
		{"/stacks/orders/changes/none", 404, []string{"Change set not found"}, nil},
		{"/stacks/none/changes/bigger", 404, []string{"Stack not found"}, nil},
		{"/stacks/orders/drift", 200, []string{"drifted", "Size.Disk", "&lt;i&gt;40", "Expected", "not checked", "cannot be read", ">Detect drift<"}, []string{"<i>40"}},
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
	growing, err := world(t).stacks.Stack(t.Context(), home, "growing")
	if err != nil {
		t.Fatal(err)
	}
	for name, resources := range map[string][]stack.ResourceState{
		"chain":   {{LogicalID: "A"}, {LogicalID: "B", DependsOn: []string{"A"}}, {LogicalID: "C", DependsOn: []string{"A", "B"}}},
		"diamond": {{LogicalID: "D", DependsOn: []string{"B", "C"}}, {LogicalID: "B", DependsOn: []string{"A"}}, {LogicalID: "C", DependsOn: []string{"A", "Gone"}}, {LogicalID: "A"}},
		"growing": growing.Resources,
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
