package stack

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// failedNestedRollback leaves the stack s and its nested stack N in UPDATE_ROLLBACK_FAILED: the
// resource X of N could be neither updated nor taken back. With deep, it is in a nested stack
// of N.
func failedNestedRollback(t *testing.T, deep bool) (g *rig, child types.Stack) {
	t.Helper()
	g = onSQLite(t)
	no := behavior{code: "InvalidRequest", message: "no"}
	inner := func(note string) string {
		return things("X: {Properties: {Note: "+note+"}}", "Y: {DependsOn: X, Properties: {Note: "+note+"}}")
	}
	for note, url := range map[string]string{"1": "before", "2": "after"} {
		if !deep {
			g.world.offers("https://t/"+url, inner(note))
			continue
		}
		g.world.offers("https://t/inner-"+url, inner(note))
		g.world.offers("https://t/"+url, things(nests("M", "inner-"+url)))
	}
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things(nests("N", "before")))})
	g.expectStatus(s, types.StackStatusCreateComplete, "")
	g.world.script("UPDATE X", behavior{}, no) // the update succeeds, the rollback fails
	g.world.script("UPDATE Y", no)
	s = g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things(nests("N", "after")))})
	g.expectStatus(s, types.StackStatusUpdateRollbackFailed, "The following resource(s) failed to update: [N]. ")
	child = s
	for _, id := range []string{"N", "M"}[:map[bool]int{false: 1, true: 2}[deep]] {
		out, err := g.DescribeStackResource(t.Context(), owner, &cloudformation.DescribeStackResourceInput{StackName: child.StackId, LogicalResourceId: aws.String(id)})
		if err != nil {
			t.Fatal(err)
		}
		child = g.settled(*out.StackResourceDetail.PhysicalResourceId)
		if child.StackStatus != types.StackStatusUpdateRollbackFailed {
			t.Fatalf("the nested stack is in %s (%s)", child.StackStatus, aws.ToString(child.StackStatusReason))
		}
	}
	return g, child
}

// failedByParent is failedNestedRollback for a nested stack that was updated, and could not be
// taken back when the resource Z of the stack failed.
func failedByParent(t *testing.T, deep bool, script ...behavior) (g *rig, child types.Stack) {
	t.Helper()
	g = onSQLite(t)
	no := behavior{code: "InvalidRequest", message: "no"}
	outer := func(note string) string {
		url := map[string]string{"1": "before", "2": "after"}[note]
		inner := things("X: {Properties: {Note: "+note+"}}", "Y: {Properties: {Note: "+note+"}}")
		if deep {
			g.world.offers("https://t/inner-"+url, inner)
			inner = things(nests("M", "inner-"+url))
		}
		g.world.offers("https://t/"+url, inner)
		return things(nests("N", url), "Z: {DependsOn: N, Properties: {Note: "+note+"}}")
	}
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(outer("1"))})
	g.expectStatus(s, types.StackStatusCreateComplete, "")
	g.world.script("UPDATE X", script...)
	g.world.script("UPDATE Z", no)
	after := outer("2")
	g.world.offers("https://t/before", things("Other: {}")) // a rollback does not read it again
	s = g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(after)})
	child = s
	for _, id := range []string{"N", "M"}[:map[bool]int{false: 1, true: 2}[deep]] {
		out, err := g.DescribeStackResource(t.Context(), owner, &cloudformation.DescribeStackResourceInput{StackName: child.StackId, LogicalResourceId: aws.String(id)})
		if err != nil {
			t.Fatal(err)
		}
		child = g.settled(*out.StackResourceDetail.PhysicalResourceId)
		if child.StackStatus != s.StackStatus {
			t.Fatalf("the nested stack is in %s (%s), its parent in %s", child.StackStatus, aws.ToString(child.StackStatusReason), s.StackStatus)
		}
	}
	return g, child
}

// TestParentsTakeNestedStacksBack undoes the update of nested stacks that had succeeded.
func TestParentsTakeNestedStacksBack(t *testing.T) {
	no := behavior{code: "InvalidRequest", message: "no"}
	for name, test := range map[string]struct {
		deep   bool
		script []behavior
		status types.StackStatus
		note   string // of X
	}{
		"one level":            {status: types.StackStatusUpdateRollbackComplete, note: "1"},
		"two levels":           {deep: true, status: types.StackStatusUpdateRollbackComplete, note: "1"},
		"it fails":             {script: []behavior{{}, no}, status: types.StackStatusUpdateRollbackFailed, note: "2"},
		"it fails, two levels": {deep: true, script: []behavior{{}, no}, status: types.StackStatusUpdateRollbackFailed, note: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, child := failedByParent(t, test.deep, test.script...)
			if child.StackStatus != test.status {
				t.Errorf("status %s, want %s\n%s", child.StackStatus, test.status, strings.Join(g.story(*child.StackId), "\n"))
			}
			if x, y := g.world.things["x-1"]["Note"], g.world.things["y-1"]["Note"]; x != test.note || y != "1" {
				t.Errorf("X has the note %v and Y %v, want %s and 1", x, y, test.note)
			}
			if ids := g.world.ids(); !slices.Equal(ids, []string{"x-1", "y-1", "z-1"}) {
				t.Errorf("left: %v", ids)
			}
		})
	}
}

// TestNestedStacksThatRolledBack leaves a nested stack alone that has rolled itself back, although
// its URL has another template now.
func TestNestedStacksThatRolledBack(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.world.offers("https://t/n", things("X: {Properties: {Note: 1}}"))
	outer := func(note string) *string {
		return aws.String(things("N: {Type: 'AWS::CloudFormation::Stack', Properties: {TemplateURL: 'https://t/n', Tags: [{Key: note, Value: " + note + "}]}}"))
	}
	g.create(&cloudformation.CreateStackInput{TemplateBody: outer("one")})
	g.world.offers("https://t/n", things("X: {Properties: {Note: 2}}", "Y: {DependsOn: X}"))
	g.world.script("CREATE Y", behavior{code: "InvalidRequest", message: "no"})
	s := g.update(&cloudformation.UpdateStackInput{TemplateBody: outer("two")})
	g.expectStatus(s, types.StackStatusUpdateRollbackComplete, "")
	if ids, note := g.world.ids(), g.world.things["x-1"]["Note"]; !slices.Equal(ids, []string{"x-1"}) || note != "1" {
		t.Errorf("left %v, note %v", ids, note)
	}
}

// TestParentsTakeRemovalsBack undoes an update of a nested stack that replaced one resource,
// removed a second and created a third. The second cannot be created again at first.
func TestParentsTakeRemovalsBack(t *testing.T) {
	t.Parallel()
	no := behavior{code: "InvalidRequest", message: "no"}
	for force, left := range map[bool][]string{false: {"x", "y", "z"}, true: {"x", "z"}} {
		g := onSQLite(t)
		g.world.offers("https://t/before", things("X: {Properties: {Name: a}}", "Y: {Properties: {Note: 1}}"))
		g.world.offers("https://t/after", things("X: {Properties: {Name: b}}", "V: {Properties: {Note: 2}}"))
		outer := func(url, note string) *string {
			return aws.String(things(nests("N", url), "Z: {DependsOn: N, Properties: {Note: "+note+"}}"))
		}
		g.create(&cloudformation.CreateStackInput{TemplateBody: outer("before", "1")})
		g.world.script("UPDATE Z", no)
		g.world.script("CREATE Y", no)
		s := g.update(&cloudformation.UpdateStackInput{TemplateBody: outer("after", "2")})
		g.expectStatus(s, types.StackStatusUpdateRollbackFailed, "The following resource(s) failed to update: [N]. ")
		if force {
			g.world.script("CREATE Y", no)
		}
		if _, err := g.ContinueUpdateRollback(t.Context(), owner, &cloudformation.ContinueUpdateRollbackInput{StackName: aws.String("s"), ForceRollback: &force}); err != nil {
			t.Fatal(err)
		}
		g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackComplete, "")
		var kinds []string
		for _, id := range g.world.ids() {
			kinds = append(kinds, strings.Split(id, "-")[0])
		}
		if !slices.Equal(kinds, left) {
			t.Errorf("force %t: left %v", force, g.world.ids())
		}
	}
}

// TestContinueUpdateRollbackOfNestedStacks continues the rollback of a stack whose nested stack
// could not be rolled back: the nested stack's rollback is continued, too.
func TestContinueUpdateRollbackOfNestedStacks(t *testing.T) {
	for name, test := range map[string]struct {
		deep   bool
		parent bool // the nested stack was updated, and its parent failed
		in     func(child string) cloudformation.ContinueUpdateRollbackInput
		script []behavior
		note   string // of X, in the end
		failed bool
	}{
		"again": {in: func(string) (in cloudformation.ContinueUpdateRollbackInput) { return in }, note: "1"},
		"again, and it fails again": {in: func(string) (in cloudformation.ContinueUpdateRollbackInput) { return in }, note: "2", failed: true,
			script: []behavior{{code: "InvalidRequest", message: "no"}}},
		"skipped": {in: func(child string) (in cloudformation.ContinueUpdateRollbackInput) {
			in.ResourcesToSkip = []string{child + ".X"}
			return in
		}, note: "2"},
		"skipped further down": {deep: true, in: func(child string) (in cloudformation.ContinueUpdateRollbackInput) {
			in.ResourcesToSkip = []string{child + ".X"}
			return in
		}, note: "2"},
		"of the parent, again": {parent: true, in: func(string) (in cloudformation.ContinueUpdateRollbackInput) { return in }, note: "1"},
		"of the parent, two levels, again": {parent: true, deep: true, note: "1",
			in: func(string) (in cloudformation.ContinueUpdateRollbackInput) { return in }},
		"of the parent, and it fails again": {parent: true, in: func(string) (in cloudformation.ContinueUpdateRollbackInput) { return in }, note: "2", failed: true,
			script: []behavior{{code: "InvalidRequest", message: "no"}}},
		"of the parent, skipped": {parent: true, deep: true, note: "2", in: func(child string) (in cloudformation.ContinueUpdateRollbackInput) {
			in.ResourcesToSkip = []string{child + ".X"}
			return in
		}},
		"of the parent, forced": {parent: true, in: func(string) (in cloudformation.ContinueUpdateRollbackInput) {
			in.ForceRollback = aws.Bool(true)
			return in
		}, note: "2", script: []behavior{{code: "InvalidRequest", message: "no"}}},
		"forced": {in: func(string) (in cloudformation.ContinueUpdateRollbackInput) {
			in.ForceRollback = aws.Bool(true)
			return in
		}, note: "2", script: []behavior{{code: "InvalidRequest", message: "no"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var g *rig
			var child types.Stack
			if test.parent {
				g, child = failedByParent(t, test.deep, behavior{}, behavior{code: "InvalidRequest", message: "no"})
			} else {
				g, child = failedNestedRollback(t, test.deep)
			}
			g.world.script("UPDATE X", test.script...)
			in := test.in(*child.StackName)
			in.StackName = aws.String("s")
			n := len(g.story(*child.StackId))
			if _, err := g.ContinueUpdateRollback(t.Context(), owner, &in); err != nil {
				t.Fatal(err)
			}
			s, after := g.settled("s"), types.StackStatusUpdateRollbackComplete
			if test.failed {
				after = types.StackStatusUpdateRollbackFailed
			}
			if s.StackStatus != after || g.settled(*child.StackId).StackStatus != after {
				t.Errorf("status %s, of the nested stack %s", s.StackStatus, g.settled(*child.StackId).StackStatus)
			}
			if note := g.world.things["x-1"]["Note"]; note != test.note {
				t.Errorf("X has the note %v, want %s", note, test.note)
			}
			story := g.story(*child.StackId)[n:]
			if story[0] != "s UPDATE_ROLLBACK_IN_PROGRESS (User Initiated)" && !strings.HasSuffix(story[0], " UPDATE_ROLLBACK_IN_PROGRESS (User Initiated)") {
				t.Errorf("the nested stack: %v", story)
			}
			if skipped := len(in.ResourcesToSkip) > 0; skipped && slices.Contains(story, "X UPDATE_IN_PROGRESS x-1") {
				t.Errorf("what is skipped was called: %v", story)
			}
		})
	}
}

// TestSkipRefusals lists what of nested stacks cannot be skipped.
func TestSkipRefusals(t *testing.T) {
	g, child := failedNestedRollback(t, false)
	g.create(&cloudformation.CreateStackInput{StackName: aws.String("other"), TemplateBody: aws.String(things("X: {}"))})
	for skip, want := range map[string]string{
		"none.X":                "ValidationError: The following resources to skip are not in a failed update rollback state: [none.X]",
		"other.X":               "ValidationError: The following resources to skip are not in a failed update rollback state: [other.X]", // of no nested stack
		"N.X":                   "ValidationError: The following resources to skip are not in a failed update rollback state: [N.X]",     // a logical id
		*child.StackName + ".Z": "ValidationError: The following resources to skip are not in a failed update rollback state: [" + *child.StackName + ".Z]",
		"N":                     "ValidationError: The nested stack N cannot be skipped in status UPDATE_ROLLBACK_FAILED: it must be in one of DELETE_IN_PROGRESS, DELETE_COMPLETE or DELETE_FAILED.",
	} {
		_, err := g.ContinueUpdateRollback(t.Context(), owner, &cloudformation.ContinueUpdateRollbackInput{StackName: aws.String("s"), ResourcesToSkip: []string{skip}})
		if got := refusal(t, err); got != want {
			t.Errorf("%s: %s", skip, got)
		}
	}
	// What is gone can be skipped.
	if _, err := g.DeleteStack(t.Context(), owner, &cloudformation.DeleteStackInput{StackName: child.StackId}); err != nil {
		t.Fatal(err)
	}
	g.settled(*child.StackId)
	if _, err := g.ContinueUpdateRollback(t.Context(), owner, &cloudformation.ContinueUpdateRollbackInput{StackName: aws.String("s"), ResourcesToSkip: []string{"N"}}); err != nil {
		t.Fatal(err)
	}
	g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackComplete, "")
}

// TestNestedStacksWhenTheClockWasSetBack takes a nested stack back to what it was before the update
// that its parent undoes, although an earlier update has a later time.
func TestNestedStacksWhenTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	outer := func(note string) *string {
		g.world.offers("https://t/n"+note, things("X: {Properties: {Note: "+note+"}}"))
		return aws.String(things(nests("N", "n"+note), "Z: {DependsOn: N, Properties: {Note: "+note+"}}"))
	}
	g.create(&cloudformation.CreateStackInput{TemplateBody: outer("1")})
	s := g.update(&cloudformation.UpdateStackInput{TemplateBody: outer("2")})
	g.expectStatus(s, types.StackStatusUpdateComplete, "")
	err := g.store.Change(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		_, err := store.Exec(ctx, tx, "UPDATE stack_operations SET started_at = started_at + started_at / 1000 WHERE kind = ?", types.OperationTypeUpdateStack)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	g.world.script("UPDATE Z", behavior{code: "InvalidRequest", message: "no"})
	s = g.update(&cloudformation.UpdateStackInput{TemplateBody: outer("3")})
	g.expectStatus(s, types.StackStatusUpdateRollbackComplete, "")
	if note := g.world.things["x-1"]["Note"]; note != "2" {
		t.Errorf("the nested stack was taken back to note %v", note)
	}
}

// TestTemplateThatNestsItself ends the creation of stacks that would never end.
func TestTemplateThatNestsItself(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	body := things(nests("N", "self"))
	g.world.offers("https://t/self", body)
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: &body})
	g.expectStatus(s, types.StackStatusRollbackComplete, "")
	out, err := g.ListStacks(t.Context(), owner, &cloudformation.ListStacksInput{})
	if err != nil {
		t.Fatal(err)
	}
	var reasons strings.Builder
	for _, summary := range out.StackSummaries {
		reasons.WriteString(strings.Join(g.story(*summary.StackId), "\n"))
	}
	if n := len(out.StackSummaries); n != maxNestedDepth+1 || !strings.Contains(reasons.String(), "Nested stacks are deeper than 10 levels") {
		t.Errorf("%d stacks:\n%.2000s", n, reasons.String())
	}
}

// TestNestedResourcesAreCounted bounds the resources of all stacks below one.
func TestNestedResourcesAreCounted(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	root := g.newStack(owner, "root")
	for _, name := range []string{"one", "two"} {
		s := g.newStack(owner, name)
		s.ParentID, s.RootID, s.Live, s.Settings = root.ARN, root.ARN, true, store.JSONOf(stackSettings{Resources: 1000})
		if err := g.store.Change(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return store.Insert(ctx, tx, s)
		}); err != nil {
			t.Fatal(err)
		}
	}
	s := g.newStack(owner, "three")
	s.ParentID, s.RootID = root.ARN, root.ARN
	if err := g.checkNesting(t.Context(), root, s, 500); err != nil {
		t.Error(err)
	}
	refusedWith(t, g.checkNesting(t.Context(), root, s, 501), "ValidationError",
		"Number of resources in the stack and its nested stacks, 2501, is greater than maximum allowed, 2500")
}

// TestNestedReasons has nested stacks fail and roll back: their parents name the reason of the failure.
func TestNestedReasons(t *testing.T) {
	t.Parallel()
	no := behavior{code: "InvalidRequest", message: "no"}
	g := onSQLite(t)
	g.world.offers("https://t/n", things("X: {}"))
	g.world.offers("https://t/more", things("X: {}", "Y: {DependsOn: X}"))
	expect := func(name, want string) {
		t.Helper()
		story := g.story(name)
		if !slices.ContainsFunc(story, func(row string) bool { return strings.HasPrefix(row, "N ") && strings.HasSuffix(row, want+")") }) {
			t.Errorf("no event of N ends with %q: %q", want, story)
		}
	}
	g.world.script("CREATE X", no)
	g.create(&cloudformation.CreateStackInput{StackName: aws.String("one"), TemplateBody: aws.String(things(nests("N", "n")))})
	expect("one", " was not successfully created: The following resource(s) failed to create: [X].")
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things(nests("N", "n")))})
	g.world.script("CREATE Y", no)
	g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things(nests("N", "more")))})
	expect("s", " was not successfully updated. Currently in UPDATE_ROLLBACK_COMPLETE with reason: The following resource(s) failed to create: [Y].")
}

// TestDirectUpdatesOfNestedStacks updates a nested stack directly while the rollback of its parent has failed before it
// came to the nested stack. When the rollback is continued, the nested stack goes back to what it was before the
// update of the parent, and not to what it was before the direct update; as do those in it.
func TestDirectUpdatesOfNestedStacks(t *testing.T) {
	no := behavior{code: "InvalidRequest", message: "no"}
	for name, test := range map[string]struct {
		templates map[string]string // by URL
		direct    string            // URL of the template of the direct update
	}{
		"one level": {map[string]string{
			"before": things("X: {Properties: {Note: 1}}"), "after": things("X: {Properties: {Note: 2}}"),
			"direct": things("X: {Properties: {Note: 3}}", "W: {}"),
		}, "direct"},
		"two levels": {map[string]string{
			"before": things(nests("M", "before-M")), "after": things(nests("M", "after-M")), "direct": things(nests("M", "direct-M"), "W: {}"),
			"before-M": things("X: {Properties: {Note: 1}}"), "after-M": things("X: {Properties: {Note: 2}}"), "direct-M": things("X: {Properties: {Note: 3}}"),
		}, "direct"},
		"two levels, the lower one is updated only directly": {map[string]string{
			"before": things(nests("M", "before-M")), "after": things(nests("M", "before-M"), "V: {}"), "direct": things(nests("M", "direct-M"), "V: {}"),
			"before-M": things("X: {Properties: {Note: 1}}"), "direct-M": things("X: {Properties: {Note: 3}}"),
		}, "direct"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := onSQLite(t)
			for url, body := range test.templates {
				g.world.offers("https://t/"+url, body)
			}
			outer := func(url, note string) *string {
				return aws.String(things("Y: {Properties: {Note: "+note+"}}", strings.Replace(nests("N", url), "{Type", "{DependsOn: Y, Type", 1), "Z: {DependsOn: N, Properties: {Note: "+note+"}}"))
			}
			g.create(&cloudformation.CreateStackInput{TemplateBody: outer("before", "1")})
			g.world.script("UPDATE Y", behavior{}, no)
			g.world.script("UPDATE Z", no)
			s := g.update(&cloudformation.UpdateStackInput{TemplateBody: outer("after", "2")})
			g.expectStatus(s, types.StackStatusUpdateRollbackFailed, "The following resource(s) failed to update: [Y]. ")
			out, err := g.DescribeStackResource(t.Context(), owner, &cloudformation.DescribeStackResourceInput{StackName: s.StackId, LogicalResourceId: aws.String("N")})
			if err != nil {
				t.Fatal(err)
			}
			child := out.StackResourceDetail.PhysicalResourceId
			g.expectStatus(g.update(&cloudformation.UpdateStackInput{StackName: child, TemplateBody: aws.String(test.templates[test.direct])}), types.StackStatusUpdateComplete, "")
			if note := g.world.things["x-1"]["Note"]; note != "3" {
				t.Fatalf("after the direct update X has the note %v", note)
			}
			if _, err := g.ContinueUpdateRollback(t.Context(), owner, &cloudformation.ContinueUpdateRollbackInput{StackName: s.StackId}); err != nil {
				t.Fatal(err)
			}
			g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackComplete, "")
			g.expectStatus(g.settled(*child), types.StackStatusUpdateRollbackComplete, "")
			if note, ids := g.world.things["x-1"]["Note"], g.world.ids(); note != "1" || !slices.Equal(ids, []string{"x-1", "y-1", "z-1"}) {
				t.Errorf("X has the note %v; left: %v\n%s", note, ids, strings.Join(g.story(*child), "\n"))
			}
		})
	}
}
