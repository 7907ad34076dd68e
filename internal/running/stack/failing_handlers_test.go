package stack

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// inBubble runs a test with an engine whose clock moves on as soon as everybody waits.
func inBubble(t *testing.T, test func(g *rig)) {
	t.Helper()
	w := newWorld(t)
	place := fixtures.Place{Name: "sqlite", Dir: fixtures.TempDir(t)}
	synctest.Test(t, func(t *testing.T) {
		g := newRigPolling(t, place, w, time.Hour)
		g.patience = 24 * time.Hour
		test(g)
		if err := g.store.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) // what runs in the background of libraries ends
	})
}

// said is the reason of a resource whose handler failed with a code.
func said(code string) string {
	return `(Resource handler returned message: "no" (RequestToken: U, HandlerErrorCode: ` + code + `))`
}

// TestFailingHandlers has handlers fail in every way, in the creation and the update of the
// resource A: the events, the status and what is left are those that the service would show.
func TestFailingHandlers(t *testing.T) {
	const late = "(Resource timed out waiting for completion (RequestToken: U))"
	forever := slices.Repeat([]behavior{{wait: 30 * time.Minute}}, 5)
	undone := []string{"s ROLLBACK_IN_PROGRESS (The following resource(s) failed to create: [A]. Rollback requested by user.)"}
	deleted := append(slices.Clone(undone), "A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "s ROLLBACK_COMPLETE")
	nothing := append(slices.Clone(undone), "A DELETE_COMPLETE", "s ROLLBACK_COMPLETE")
	begun, named := "A CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS a-1 (Resource creation Initiated)"
	updating := "A UPDATE_IN_PROGRESS a-1"
	back := "s UPDATE_ROLLBACK_IN_PROGRESS (The following resource(s) failed to update: [A]. )"
	restored := []string{back, updating, "A UPDATE_COMPLETE a-1", "s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_ROLLBACK_COMPLETE"}
	type test struct {
		update bool
		script map[string][]behavior
		story  []string
		status types.StackStatus
		left   []string
		calls  []string // nil is not compared
	}
	tests := map[string]test{
		"never answers": {
			script: map[string][]behavior{"CREATE A": {{forever: true}}},
			story:  append([]string{begun, "A CREATE_FAILED " + late}, nothing...), status: types.StackStatusRollbackComplete, calls: []string{"CREATE A"},
		},
		"is in progress forever": {
			script: map[string][]behavior{"CREATE A": forever},
			story:  append([]string{begun, named, "A CREATE_FAILED a-1 " + late}, deleted...), status: types.StackStatusRollbackComplete,
		},
		"update in progress forever": {
			update: true, script: map[string][]behavior{"UPDATE A": forever},
			story: append([]string{updating, "A UPDATE_FAILED a-1 " + late}, restored...), status: types.StackStatusUpdateRollbackComplete, left: []string{"a-1"},
		},
		"crashes": { // what the provider makes of a handler that does not answer
			script: map[string][]behavior{"CREATE A": {{code: "InternalFailure", message: "no"}}},
			story:  append([]string{begun, "A CREATE_FAILED " + said("InternalFailure")}, nothing...), status: types.StackStatusRollbackComplete, calls: []string{"CREATE A"},
		},
		"crashes after it made the resource": {
			script: map[string][]behavior{"CREATE A": {{wait: time.Second}, {code: "InternalFailure", message: "no", keep: true}}},
			story:  append([]string{begun, named, "A CREATE_FAILED a-1 " + said("InternalFailure")}, deleted...), status: types.StackStatusRollbackComplete,
		},
		"answers with an unknown status": {
			script: map[string][]behavior{"CREATE A": {{status: "DONE"}}},
			story:  append([]string{begun, `A CREATE_FAILED (the provider of Acme::Test::Thing reported the status "DONE")`}, nothing...),
			status: types.StackStatusRollbackComplete, calls: []string{"CREATE A"},
		},
		"updates with an unknown status": {
			update: true, script: map[string][]behavior{"UPDATE A": {{status: "DONE"}}},
			story:  append([]string{updating, `A UPDATE_FAILED a-1 (the provider of Acme::Test::Thing reported the status "DONE")`}, restored...),
			status: types.StackStatusUpdateRollbackComplete, left: []string{"a-1"},
		},
		"fails with an unknown code": { // not retried, and shown as it is
			script: map[string][]behavior{"CREATE A": {{code: "Sorry", message: "no"}}},
			story:  append([]string{begun, "A CREATE_FAILED " + said("Sorry")}, nothing...), status: types.StackStatusRollbackComplete, calls: []string{"CREATE A"},
		},
		"exists already": {
			script: map[string][]behavior{"CREATE A": {{code: "AlreadyExists", message: "no"}}},
			story:  append([]string{begun, "A CREATE_FAILED " + said("AlreadyExists")}, nothing...), status: types.StackStatusRollbackComplete, calls: []string{"CREATE A"},
		},
		"throttles": {
			script: map[string][]behavior{"CREATE A": slices.Repeat([]behavior{{code: "Throttling", message: "no"}}, 5)},
			story:  []string{begun, named, "A CREATE_COMPLETE a-1", "s CREATE_COMPLETE"}, status: types.StackStatusCreateComplete, left: []string{"a-1"},
		},
		"throttles for good": {
			script: map[string][]behavior{"CREATE A": slices.Repeat([]behavior{{code: "Throttling", message: "no"}}, 6)},
			story:  append([]string{begun, "A CREATE_FAILED " + said("Throttling")}, nothing...), status: types.StackStatusRollbackComplete,
		},
		"changes its mind about the identifier": {
			script: map[string][]behavior{"CREATE A": {{wait: time.Second}, {as: "other"}}},
			story:  []string{begun, named, "A CREATE_COMPLETE other", "s CREATE_COMPLETE"}, status: types.StackStatusCreateComplete, left: []string{"other"},
		},
		"succeeds without an identifier": {
			script: map[string][]behavior{"CREATE A": {{unnamed: true}}},
			story:  append([]string{begun, "A CREATE_FAILED (The create handler of Acme::Test::Thing reported SUCCESS without the primary identifier.)"}, nothing...),
			status: types.StackStatusRollbackComplete,
		},
		"cannot be read": {
			script: map[string][]behavior{"READ A": {{code: "NotFound", message: "no"}}},
			story:  append([]string{begun, named, "A CREATE_FAILED a-1 " + said("NotFound")}, deleted...), status: types.StackStatusRollbackComplete,
		},
		"reads another resource": {
			script: map[string][]behavior{"READ A": {{as: "other"}}},
			story:  []string{begun, named, "A CREATE_COMPLETE a-1", "s CREATE_COMPLETE"}, status: types.StackStatusCreateComplete, left: []string{"a-1"},
		},
		"cannot be deleted by the rollback": {
			script: map[string][]behavior{"CREATE A": {{wait: time.Second}, {code: "InvalidRequest", message: "no", keep: true}}, "DELETE A": {{code: "AccessDenied", message: "no"}}},
			story: append([]string{begun, named, "A CREATE_FAILED a-1 " + said("InvalidRequest")}, append(slices.Clone(undone),
				"A DELETE_IN_PROGRESS a-1", "A DELETE_FAILED a-1 "+said("AccessDenied"), "s ROLLBACK_FAILED (The following resource(s) failed to delete: [A]. )")...),
			status: types.StackStatusRollbackFailed, left: []string{"a-1"},
		},
		"is gone when the rollback deletes it": {
			script: map[string][]behavior{"CREATE A": {{wait: time.Second}, {code: "InvalidRequest", message: "no"}}},
			story:  append([]string{begun, named, "A CREATE_FAILED a-1 " + said("InvalidRequest")}, deleted...), status: types.StackStatusRollbackComplete,
		},
		"update of what is gone": {
			update: true, script: map[string][]behavior{"UPDATE A": {{code: "NotFound", message: "no"}, {code: "NotFound", message: "no"}}},
			story: []string{updating, "A UPDATE_FAILED a-1 " + said("NotFound"), back, updating, "A UPDATE_FAILED a-1 " + said("NotFound"),
				"s UPDATE_ROLLBACK_FAILED (The following resource(s) failed to update: [A]. )"},
			status: types.StackStatusUpdateRollbackFailed, left: []string{"a-1"},
		},
		"update changes the identifier": {
			update: true, script: map[string][]behavior{"UPDATE A": {{as: "other"}}},
			story: []string{updating, "A UPDATE_IN_PROGRESS other (Requested update required the provider to create a new physical resource)", "A UPDATE_COMPLETE other",
				"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "s UPDATE_COMPLETE"},
			status: types.StackStatusUpdateComplete, left: []string{"other"},
		},
		"failed update changes the identifier": {
			update: true, script: map[string][]behavior{"UPDATE A": {{as: "other", wait: time.Second}, {code: "InvalidRequest", message: "no", as: "other", keep: true}}},
			story: []string{updating, "A UPDATE_IN_PROGRESS other (Requested update required the provider to create a new physical resource)",
				"A UPDATE_FAILED other " + said("InvalidRequest"), back, updating, "A UPDATE_COMPLETE a-1", "s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
				"A DELETE_IN_PROGRESS other", "A DELETE_COMPLETE other", "s UPDATE_ROLLBACK_COMPLETE"},
			status: types.StackStatusUpdateRollbackComplete, left: []string{"a-1"},
		},
		"update reports a change of what is create-only": {
			update: true, script: map[string][]behavior{"UPDATE A": {{code: "NotUpdatable", message: "no"}}},
			story: []string{updating, "A UPDATE_IN_PROGRESS a-1 (" + reasonReplacing + ")", "A UPDATE_IN_PROGRESS a-2 (Resource creation Initiated)", "A UPDATE_COMPLETE a-2",
				"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "s UPDATE_COMPLETE"},
			status: types.StackStatusUpdateComplete, left: []string{"a-2"},
		},
		"cannot be read after the update": {
			update: true, script: map[string][]behavior{"READ A": {{}, {code: "ServiceLimitExceeded", message: "no"}}},
			story: append([]string{updating, "A UPDATE_FAILED a-1 " + said("ServiceLimitExceeded")}, restored...), status: types.StackStatusUpdateRollbackComplete, left: []string{"a-1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *rig) {
				for call, behaviors := range test.script {
					g.world.script(call, behaviors...)
				}
				first, n := "s CREATE_IN_PROGRESS (User Initiated)", 0
				s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: 1}}"))})
				if test.update {
					first, n = "s UPDATE_IN_PROGRESS (User Initiated)", len(g.story("s"))
					s = g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: 2}}"))})
				}
				if s.StackStatus != test.status {
					g.t.Errorf("status %s, want %s", s.StackStatus, test.status)
				}
				g.expect(*s.StackId, n, append([]string{first}, test.story...)...)
				if left := g.world.ids(); !slices.Equal(left, test.left) {
					g.t.Errorf("left: %v, want %v", left, test.left)
				}
				if test.calls != nil && !slices.Equal(g.world.calls, test.calls) {
					g.t.Errorf("calls: %v, want %v", g.world.calls, test.calls)
				}
			})
		})
	}
}

// TestReadOnlyValuesThatChange has a handler report another value of a read-only property after an
// update, and one of a property that the template sets: what depends on it gets what was reported.
func TestReadOnlyValuesThatChange(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.world.knows(t, strings.NewReplacer(`"Note": {`, `"Serial": {"type": "string"}, "Note": {`,
		`"readOnlyProperties": ["/properties/Id"]`, `"readOnlyProperties": ["/properties/Id", "/properties/Serial"]`).Replace(fixtures.Thing))
	body := func(note string) *string {
		return aws.String(things("A: {Properties: {Note: "+note+"}}", "B: {Properties: {Note: !GetAtt A.Serial}}") + "Outputs: {S: {Value: !GetAtt A.Serial}}\n")
	}
	serial := func(n string) behavior { return behavior{reports: map[string]any{"Serial": n, "Note": "rounded"}} }
	g.world.script("READ A", serial("one"), serial("two"))
	output := func(s types.Stack, want string) {
		t.Helper()
		if len(s.Outputs) != 1 || *s.Outputs[0].OutputValue != want || g.world.things["b-1"]["Note"] != want {
			t.Errorf("the outputs are %s, and B has %v; want %s", encode(s.Outputs), g.world.things["b-1"]["Note"], want)
		}
	}
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: body("1")})
	g.expectStatus(s, types.StackStatusCreateComplete, "")
	output(s, "one")
	n := len(g.story("s"))
	s = g.update(&cloudformation.UpdateStackInput{TemplateBody: body("2")})
	g.expectStatus(s, types.StackStatusUpdateComplete, "")
	output(s, "two")
	g.expect("s", n, "s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1", "B UPDATE_IN_PROGRESS b-1", "B UPDATE_COMPLETE b-1",
		"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_COMPLETE")
	_, err := g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: body("2")})
	refusedWith(t, err, "ValidationError", "No updates are to be performed.") // what the template says counts
}

// TestTimeoutInMinutes stops a creation that takes too long: what runs is cancelled.
func TestTimeoutInMinutes(t *testing.T) {
	inBubble(t, func(g *rig) {
		g.world.script("CREATE A", slices.Repeat([]behavior{{wait: time.Minute}}, 10)...)
		began := time.Now()
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}", "B: {DependsOn: A}")), TimeoutInMinutes: aws.Int32(5)})
		g.expect(*s.StackId, 0, "s CREATE_IN_PROGRESS (User Initiated)", "A CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS a-1 (Resource creation Initiated)",
			"A CREATE_FAILED a-1 (Resource creation cancelled)", "s ROLLBACK_IN_PROGRESS ("+reasonTimeout+")", "A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "s ROLLBACK_COMPLETE")
		if took := time.Since(began); took < 5*time.Minute || took > 6*time.Minute {
			g.t.Errorf("took %s", took)
		}
		if left := g.world.ids(); len(left) > 0 || aws.ToInt32(s.TimeoutInMinutes) != 5 {
			g.t.Errorf("left: %v, shown: %v", left, s.TimeoutInMinutes)
		}
	})
}

// TestConfigured has resources start when the one that they need is configured, before it is
// stable.
func TestConfigured(t *testing.T) {
	inBubble(t, func(g *rig) {
		g.world.script("CREATE A", behavior{wait: time.Minute, configured: true})
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: n}}", "B: {Properties: {Note: !GetAtt A.Note, Name: !Ref A}}"))})
		g.expect("s", 0, "s CREATE_IN_PROGRESS (User Initiated)", "A CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS a-1 (Resource creation Initiated)",
			"A CREATE_IN_PROGRESS a-1 (Eventual consistency check initiated)",
			"B CREATE_IN_PROGRESS", "B CREATE_IN_PROGRESS b-1 (Resource creation Initiated)", "B CREATE_COMPLETE b-1", "A CREATE_COMPLETE a-1", "s CREATE_COMPLETE")
		out, err := g.DescribeStackEvents(context.Background(), owner, &cloudformation.DescribeStackEventsInput{StackName: s.StackId})
		if err != nil {
			g.t.Fatal(err)
		}
		for _, e := range out.StackEvents {
			consistency := aws.ToString(e.ResourceStatusReason) == reasonConsistency
			if consistency != (e.DetailedStatus == types.DetailedStatusConfigurationComplete) || consistency && e.ResourceProperties != nil {
				g.t.Errorf("event %+v", e)
			}
		}
		// An update keeps those waiting that depend on it: its values are the old ones till then.
		g.world.script("UPDATE A", behavior{wait: time.Minute, configured: true})
		n := len(g.story("s"))
		g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: m}}", "B: {Properties: {Note: !GetAtt A.Note, Name: !Ref A}}"))})
		g.expect("s", n, "s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1", "B UPDATE_IN_PROGRESS b-1", "B UPDATE_COMPLETE b-1",
			"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_COMPLETE")
	})
}

// TestExpress is what Express mode changes: the reason of what is complete, and that nothing is
// rolled back unless it is asked for.
func TestExpress(t *testing.T) {
	express := &types.DeploymentConfig{Mode: types.DeploymentConfigModeExpress}
	body := aws.String(things("A: {}", "B: {DependsOn: A}"))
	inBubble(t, func(g *rig) {
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: body, DeploymentConfig: express})
		if s.DeploymentConfig == nil || s.DeploymentConfig.Mode != types.DeploymentConfigModeExpress {
			g.t.Errorf("shown: %+v", s.DeploymentConfig)
		}
		if _, err := g.DeleteStack(context.Background(), owner, &cloudformation.DeleteStackInput{StackName: s.StackId, DeploymentConfig: express}); err != nil {
			g.t.Fatal(err)
		}
		g.settled(*s.StackId)
		g.expect(*s.StackId, 0, "s CREATE_IN_PROGRESS (User Initiated)",
			"A CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS a-1 (Resource creation Initiated)", "A CREATE_COMPLETE a-1 ("+reasonExpress+")",
			"B CREATE_IN_PROGRESS", "B CREATE_IN_PROGRESS b-1 (Resource creation Initiated)", "B CREATE_COMPLETE b-1 ("+reasonExpress+")", "s CREATE_COMPLETE",
			"s DELETE_IN_PROGRESS (User Initiated)", "B DELETE_IN_PROGRESS b-1", "B DELETE_COMPLETE b-1 ("+reasonExpress+")",
			"A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1 ("+reasonExpress+")", "s DELETE_COMPLETE")
	})
	for name, test := range map[string]struct {
		rollback *bool
		status   types.StackStatus
	}{"kept": {nil, types.StackStatusCreateFailed}, "rolled back": {aws.Bool(false), types.StackStatusRollbackComplete}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *rig) {
				g.world.script("CREATE B", behavior{code: "InvalidRequest", message: "no"})
				config := &types.DeploymentConfig{Mode: types.DeploymentConfigModeExpress, DisableRollback: test.rollback}
				if s := g.create(&cloudformation.CreateStackInput{TemplateBody: body, DeploymentConfig: config}); s.StackStatus != test.status {
					g.t.Errorf("status %s", s.StackStatus)
				}
			})
		})
	}
}

// TestDeleteWhileCreated deletes a stack that is still being created.
func TestDeleteWhileCreated(t *testing.T) {
	inBubble(t, func(g *rig) {
		g.world.script("CREATE B", behavior{wait: time.Hour})
		out, err := g.CreateStack(context.Background(), owner, &cloudformation.CreateStackInput{StackName: aws.String("s"),
			TemplateBody: aws.String(things("A: {DeletionPolicy: RetainExceptOnCreate}", "B: {DependsOn: A}", "C: {DependsOn: B}"))})
		if err != nil {
			g.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		g.delete(*out.StackId, &cloudformation.DeleteStackInput{})
		g.expect(*out.StackId, 0, "s CREATE_IN_PROGRESS (User Initiated)",
			"A CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS a-1 (Resource creation Initiated)", "A CREATE_COMPLETE a-1",
			"B CREATE_IN_PROGRESS", "B CREATE_IN_PROGRESS b-1 (Resource creation Initiated)", "B CREATE_FAILED b-1 (Resource creation cancelled)",
			"s DELETE_IN_PROGRESS (User Initiated)", "B DELETE_IN_PROGRESS b-1", "B DELETE_COMPLETE b-1", "A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "s DELETE_COMPLETE")
		if left := g.world.ids(); len(left) > 0 {
			g.t.Errorf("left: %v", left)
		}
	})
}

// TestTagsAndMetadata updates what no property shows: tags reach the handlers of types that take
// them, metadata and policies only the stack.
func TestTagsAndMetadata(t *testing.T) {
	inBubble(t, func(g *rig) {
		template := func(metadata string) *string {
			return aws.String(things("A: {Metadata: {m: "+metadata+"}}", "F: {Type: 'Acme::Test::Fixed'}"))
		}
		g.create(&cloudformation.CreateStackInput{TemplateBody: template("1")})
		n := len(g.story("s"))
		s := g.update(&cloudformation.UpdateStackInput{TemplateBody: template("1"), Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}})
		g.expect("s", n, "s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1", "s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_COMPLETE")
		last := g.world.seen[len(g.world.seen)-1]
		if last.StackTags["k"] != "v" || len(last.PreviousStackTags) != 0 || last.SystemTags["aws:cloudformation:logical-id"] != "A" || len(s.Tags) != 1 {
			g.t.Errorf("the handler got %v before %v, the stack has %v", last.StackTags, last.PreviousStackTags, s.Tags)
		}
		n, calls := len(g.story("s")), len(g.world.calls)
		g.update(&cloudformation.UpdateStackInput{TemplateBody: template("2")})
		g.expect("s", n, "s UPDATE_IN_PROGRESS (User Initiated)", "s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_COMPLETE")
		out, err := g.DescribeStackResource(context.Background(), owner, &cloudformation.DescribeStackResourceInput{StackName: s.StackName, LogicalResourceId: aws.String("A")})
		if err != nil || aws.ToString(out.StackResourceDetail.Metadata) != `{"m":2}` || len(g.world.calls) != calls {
			g.t.Errorf("metadata %v, %v, calls %v", aws.ToString(out.StackResourceDetail.Metadata), err, g.world.calls[calls:])
		}
		_, err = g.UpdateStack(context.Background(), owner, &cloudformation.UpdateStackInput{StackName: s.StackName, TemplateBody: template("2")})
		if got := refusal(g.t, err); got != "ValidationError: No updates are to be performed." {
			g.t.Error(got)
		}
	})
}

// TestGetStackOutput reads an output of another stack, in this and in another region.
func TestGetStackOutput(t *testing.T) {
	inBubble(t, func(g *rig) {
		source := func(note string) *string {
			return aws.String(things("A: {Properties: {Note: "+note+"}}") + "Outputs: {O: {Value: !GetAtt A.Note}}")
		}
		first := g.create(&cloudformation.CreateStackInput{StackName: aws.String("source"), TemplateBody: source("x")})
		reader := func(more string) *string {
			return aws.String(things("B: {Properties: {Note: !GetStackOutput {StackName: source, OutputName: O" + more + "}}}"))
		}
		g.create(&cloudformation.CreateStackInput{TemplateBody: reader("")})
		if note := g.world.things["b-1"]["Note"]; note != "x" {
			g.t.Errorf("B has %v", note)
		}
		// The source may change and go: nothing holds it.
		g.update(&cloudformation.UpdateStackInput{StackName: aws.String("source"), TemplateBody: source("y")})
		g.update(&cloudformation.UpdateStackInput{TemplateBody: reader("")})
		if note := g.world.things["b-1"]["Note"]; note != "y" {
			g.t.Errorf("after an update B has %v", note)
		}
		// A failure to read it fails the resource, and an update keeps what was read.
		g.delete(*first.StackId, &cloudformation.DeleteStackInput{})
		n := len(g.story("s"))
		back := g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(*reader("") + "Outputs: {P: {Value: p}}")})
		if back.StackStatus != types.StackStatusUpdateRollbackComplete || !strings.Contains(strings.Join(g.story("s")[n:], "\n"), "B UPDATE_FAILED b-1 (Stack [source] does not exist)") {
			g.t.Errorf("after the source is gone: %s\n%s", back.StackStatus, strings.Join(g.story("s")[n:], "\n"))
		}
	})
}

// TestGetStackOutputOfOthers reads outputs of stacks in other regions and accounts, by the
// region and the role of the reference. Partitions do not see each other.
func TestGetStackOutputOfOthers(t *testing.T) {
	at := func(account, region string) awswire.Caller {
		return awswire.Caller{Place: awswire.Place{Account: account, Region: region}, AccessKeyID: "AKIDEXAMPLE", RequestID: "r"}
	}
	inBubble(t, func(g *rig) {
		for _, caller := range []awswire.Caller{owner, at(owner.Account, "eu-central-1"), at("210987654321", owner.Region), at("210987654321", "eu-central-1"), at(owner.Account, "cn-north-1")} {
			body := things("A: {Properties: {Note: "+caller.Account+"-"+caller.Region+"}}") + "Outputs: {O: {Value: !GetAtt A.Note}}"
			out, err := g.CreateStack(context.Background(), caller, &cloudformation.CreateStackInput{StackName: aws.String("source"), TemplateBody: &body})
			if err != nil {
				t.Fatal(err)
			}
			g.expectStatus(g.settledFor(caller, *out.StackId), types.StackStatusCreateComplete, "")
		}
		const role = ", RoleArn: 'arn:aws:iam::210987654321:role/reader'"
		for more, want := range map[string]string{
			"": "123456789012-eu-west-1", ", Region: eu-central-1": "123456789012-eu-central-1", role: "210987654321-eu-west-1", role + ", Region: eu-central-1": "210987654321-eu-central-1",
			", Region: us-west-2":                                "B CREATE_FAILED (Stack [source] does not exist)",
			", Region: cn-north-1":                               "B CREATE_FAILED (Stack [source] does not exist)",
			", RoleArn: 'arn:aws:iam::999999999999:role/reader'": "B CREATE_FAILED (Stack [source] does not exist)",
		} {
			body := things("B: {Properties: {Note: !GetStackOutput {StackName: source, OutputName: O" + more + "}}}")
			s := g.create(&cloudformation.CreateStackInput{StackName: aws.String("reader"), TemplateBody: &body, OnFailure: types.OnFailureDoNothing})
			got := ""
			for id, thing := range g.world.things {
				if strings.HasPrefix(id, "b-") {
					got, _ = thing["Note"].(string)
				}
			}
			if story := g.story(*s.StackId); got == "" && slices.Contains(story, want) {
				got = want
			}
			if got != want {
				t.Errorf("%s: %q, want %q: %v", more, got, want, g.story(*s.StackId))
			}
			g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
		}
		body := things("B: {Properties: {Note: !GetStackOutput {StackName: source, OutputName: None}}}")
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: &body})
		if story := g.story("s"); !slices.Contains(story, "B CREATE_FAILED (Output [None] does not exist in stack [source])") || s.StackStatus != types.StackStatusRollbackComplete {
			t.Errorf("an output that there is not: %v", story)
		}
	})
}

// TestFailingTransform creates a stack although its transform fails: the stack rolls back.
func TestFailingTransform(t *testing.T) {
	inBubble(t, func(g *rig) {
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String("Transform: AWS::LanguageExtensions\n" + things("A: {Properties: {Size: {Fn::Length: text}}}"))})
		if s.StackStatus != types.StackStatusRollbackComplete {
			g.t.Errorf("status %s", s.StackStatus)
		}
		g.expect("s", 0, "s CREATE_IN_PROGRESS (User Initiated)",
			"s ROLLBACK_IN_PROGRESS (Transform AWS::LanguageExtensions failed with: Fn::Length resolve value type mismatch. Rollback requested by user.)", "s ROLLBACK_COMPLETE")
		out, err := g.GetTemplate(context.Background(), owner, &cloudformation.GetTemplateInput{StackName: s.StackName, TemplateStage: types.TemplateStageProcessed})
		if err != nil || strings.Contains(aws.ToString(out.TemplateBody), "Unprocessed") {
			g.t.Errorf("template %v, %v", out, err)
		}
	})
}

// TestFailingTransformOfUpdate updates a stack with a template whose transform fails: the stack
// goes back, or keeps the failure if rollback is disabled, and can be updated then.
func TestFailingTransformOfUpdate(t *testing.T) {
	const failed = "Transform AWS::LanguageExtensions failed with: Fn::Length resolve value type mismatch"
	broken := aws.String("Transform: AWS::LanguageExtensions\n" + things("A: {Properties: {Size: {Fn::Length: text}}}"))
	inBubble(t, func(g *rig) {
		before := aws.String(things("A: {Properties: {Note: n}}"))
		g.create(&cloudformation.CreateStackInput{TemplateBody: before})
		n := len(g.story("s"))
		s := g.update(&cloudformation.UpdateStackInput{TemplateBody: broken})
		g.expect("s", n, "s UPDATE_IN_PROGRESS (User Initiated)", "s UPDATE_ROLLBACK_IN_PROGRESS ("+failed+". Rollback requested by user.)",
			"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_ROLLBACK_COMPLETE")
		out, err := g.GetTemplate(context.Background(), owner, &cloudformation.GetTemplateInput{StackName: s.StackName})
		if err != nil || aws.ToString(out.TemplateBody) != *before {
			t.Errorf("template %v, %v", out, err)
		}
		s = g.update(&cloudformation.UpdateStackInput{TemplateBody: broken, DisableRollback: aws.Bool(true)})
		g.expectStatus(s, types.StackStatusUpdateFailed, failed)
		s = g.update(&cloudformation.UpdateStackInput{UsePreviousTemplate: aws.Bool(true), DisableRollback: aws.Bool(true)})
		g.expectStatus(s, types.StackStatusUpdateFailed, failed) // the previous template is the broken one
		s = g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: m}}")), DisableRollback: aws.Bool(true)})
		g.expectStatus(s, types.StackStatusUpdateComplete, "")
		if left := g.world.ids(); !slices.Equal(left, []string{"a-1"}) || g.world.things["a-1"]["Note"] != "m" {
			t.Errorf("left: %v", left)
		}
	})
}

// TestRetries lists the calls that are made again while they are waited for.
func TestRetries(t *testing.T) {
	inBubble(t, func(g *rig) {
		g.world.script("CREATE A", slices.Repeat([]behavior{{code: "Throttling", message: "no"}}, 5)...)
		name, ctx := "s", context.Background()
		if _, err := g.CreateStack(ctx, owner, &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(things("A: {}"))}); err != nil {
			t.Fatal(err)
		}
		var last Retry
		for range 100 { // the waits are 1, 2, 4, 8 and 16 ms
			time.Sleep(time.Millisecond)
			found, err := g.Retries(ctx, owner, name)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) > 0 {
				last = found[0]
			}
		}
		if last.LogicalID != "A" || last.Code != "Throttling" || last.Count != 5 || last.Max != 5 || last.Wait > 16*time.Millisecond {
			t.Errorf("the last retry is %+v", last)
		}
		time.Sleep(time.Hour)
		if found, err := g.Retries(ctx, owner, name); len(found) > 0 || err != nil {
			t.Errorf("retries %v, %v after the end", found, err)
		}
		if _, err := g.Retries(ctx, owner, "other"); err == nil {
			t.Error("retries of a stack that does not exist")
		}
	})
}

// TestExpressRetriesDependents has a resource be complete as soon as it is configured, and the
// one that needs it fail until it is ready.
func TestExpressRetriesDependents(t *testing.T) {
	body := aws.String(things("A: {}", "B: {Properties: {Note: !Ref A}}"))
	early := behavior{code: "NotFound", message: "no"}
	for name, test := range map[string]struct {
		mode    types.DeploymentConfigMode
		answers []behavior // of B
		status  types.StackStatus
	}{
		"ready in time":                {types.DeploymentConfigModeExpress, []behavior{early, {code: "NotStabilized", message: "no"}}, types.StackStatusCreateComplete},
		"never ready":                  {types.DeploymentConfigModeExpress, slices.Repeat([]behavior{early}, 6), types.StackStatusCreateFailed},
		"not what waiting helps":       {types.DeploymentConfigModeExpress, []behavior{{code: "InvalidRequest", message: "no"}}, types.StackStatusCreateFailed},
		"not retried in standard mode": {types.DeploymentConfigModeStandard, []behavior{early}, types.StackStatusRollbackComplete},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *rig) {
				g.world.script("CREATE A", behavior{wait: time.Hour, configured: true})
				g.world.script("CREATE B", test.answers...)
				began := time.Now()
				s := g.create(&cloudformation.CreateStackInput{TemplateBody: body, DeploymentConfig: &types.DeploymentConfig{Mode: test.mode}})
				if s.StackStatus != test.status {
					t.Errorf("status %s (%s)", s.StackStatus, strings.Join(g.story("s"), "; "))
				}
				express := test.mode == types.DeploymentConfigModeExpress
				if complete := slices.Contains(g.story("s"), "A CREATE_COMPLETE a-1 ("+reasonExpress+")"); complete != express {
					t.Errorf("events %v", g.story("s"))
				}
				if took := time.Since(began); express && took > 30*time.Minute {
					t.Errorf("took %s: the resource was waited for", took)
				}
				time.Sleep(2 * time.Hour) // the resource becomes ready in the background
				if _, ok := g.world.things["a-1"]; ok != express {
					t.Errorf("left: %v", g.world.ids())
				}
			})
		})
	}
}
