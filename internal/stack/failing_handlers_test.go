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

	"github.com/formwork-dev/formwork/internal/fixtures"
)

// inBubble runs a test with an engine whose clock moves on as soon as everybody waits.
func inBubble(t *testing.T, test func(g *rig)) {
	t.Helper()
	w := newWorld(t)
	place := fixtures.Place{Name: "sqlite", Dir: t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		g := newRigPolling(t, place, w, time.Hour)
		g.look, g.patience = 5*time.Second, 24*time.Hour
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
		s := g.create(&cloudformation.CreateStackInput{StackName: aws.String("far"), TemplateBody: reader(", Region: eu-central-1")})
		if s.StackStatus != types.StackStatusRollbackComplete {
			g.t.Errorf("a stack of another region: %s", s.StackStatus)
		}
		g.delete(*first.StackId, &cloudformation.DeleteStackInput{})
	})
}

// TestNamelessParameter rolls a stack back one of whose parameters names nothing.
func TestNamelessParameter(t *testing.T) {
	inBubble(t, func(g *rig) {
		g.world.values["/there"] = "v"
		body := aws.String("Parameters: {P: {Type: 'AWS::SSM::Parameter::Name'}}\n" + things("A: {Properties: {Note: !Ref P}}"))
		given := func(value string) []types.Parameter {
			return []types.Parameter{{ParameterKey: aws.String("P"), ParameterValue: aws.String(value)}}
		}
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: body, Parameters: given("/gone")})
		g.expect(*s.StackId, 0, "s CREATE_IN_PROGRESS (User Initiated)",
			"s ROLLBACK_IN_PROGRESS (Parameter validation failed: parameter value /gone for parameter name P does not exist. Rollback requested by user.)", "s ROLLBACK_COMPLETE")
		if s := g.create(&cloudformation.CreateStackInput{StackName: aws.String("t"), TemplateBody: body, Parameters: given("/there")}); s.StackStatus != types.StackStatusCreateComplete {
			g.t.Errorf("status %s", s.StackStatus)
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
