package stack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// failureStory is a failure in a line: "UPDATE_STACK A UPDATE_FAILED: reason; hook H: message; also B; attempted, in it …".
func failureStory(f *Failure) string {
	line := fmt.Sprintf("%s %s %s", f.Operation.Kind, f.LogicalID, f.Status)
	if f.Nested == nil {
		line += ": " + tokens.ReplaceAllString(f.Reason, "RequestToken: U")
	}
	for _, h := range f.Hooks {
		line += "; hook " + h.Hook + ": " + h.Message
	}
	if len(f.AlsoFailed) > 0 {
		line += "; also " + strings.Join(f.AlsoFailed, ", ")
	}
	if f.Attempted {
		line += "; attempted"
	}
	if f.Nested != nil {
		line += ", in it " + failureStory(f.Nested)
	}
	return line
}

const handlerSaidNo = `Resource handler returned message: "no" (RequestToken: U, HandlerErrorCode: InvalidRequest)`

// TestFailures finds what failed first, in the operation and not in its rollback.
func TestFailures(t *testing.T) {
	t.Parallel()
	no := behavior{code: "InvalidRequest", message: "no"}
	create := func(g *rig, lines ...string) {
		g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things(lines...))})
	}
	update := func(g *rig, lines ...string) {
		g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things(lines...))})
	}
	refusal := `{"hookStatus": "FAILED", "errorCode": "NonCompliant", "message": "no key"}`
	for name, test := range map[string]struct {
		do     func(g *rig)
		status types.StackStatus
		want   []string
	}{
		"nothing": {func(g *rig) { create(g, "A: {}") }, types.StackStatusCreateComplete, nil},
		"creation": {func(g *rig) {
			g.world.script("CREATE B", no)
			create(g, "A: {}", "B: {DependsOn: A}", "C: {DependsOn: B}")
		}, types.StackStatusRollbackComplete, []string{"CREATE_STACK B CREATE_FAILED: " + handlerSaidNo}},
		"update": {func(g *rig) {
			create(g, "A: {}")
			g.world.script("UPDATE A", no)
			update(g, "A: {Properties: {Note: 2}}", "B: {DependsOn: A}")
		}, types.StackStatusUpdateRollbackComplete, []string{"UPDATE_STACK A UPDATE_FAILED: " + handlerSaidNo + "; attempted"}},
		"update after it": {func(g *rig) {
			create(g, "A: {}")
			g.world.script("UPDATE A", no)
			update(g, "A: {Properties: {Note: 2}}")
			update(g, "A: {Properties: {Note: 3}}")
		}, types.StackStatusUpdateComplete, nil},
		"rollback": {func(g *rig) {
			create(g, "A: {Properties: {Note: 1}}", "B: {}")
			g.world.script("UPDATE A", behavior{}, no)
			g.world.script("UPDATE B", no)
			update(g, "A: {Properties: {Note: 2}}", "B: {DependsOn: A, Properties: {Note: 2}}")
		}, types.StackStatusUpdateRollbackFailed, []string{"UPDATE_STACK B UPDATE_FAILED: " + handlerSaidNo, "ROLLBACK A UPDATE_FAILED: " + handlerSaidNo}},
		"rollback that was continued": {func(g *rig) {
			create(g, "A: {Properties: {Note: 1}}", "B: {}")
			g.world.script("UPDATE A", behavior{}, no)
			g.world.script("UPDATE B", no)
			update(g, "A: {Properties: {Note: 2}}", "B: {DependsOn: A, Properties: {Note: 2}}")
			if _, err := g.ContinueUpdateRollback(g.t.Context(), owner, &cloudformation.ContinueUpdateRollbackInput{StackName: aws.String("s")}); err != nil {
				g.t.Fatal(err)
			}
		}, types.StackStatusUpdateRollbackComplete, []string{"UPDATE_STACK B UPDATE_FAILED: " + handlerSaidNo + "; attempted"}},
		"creation that deletes": {func(g *rig) {
			g.world.script("CREATE A", no)
			g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}")), OnFailure: types.OnFailureDelete})
		}, types.StackStatusDeleteComplete, []string{"CREATE_STACK A CREATE_FAILED: " + handlerSaidNo}},
		"creation, then deleted": {func(g *rig) {
			g.world.script("CREATE A", no)
			create(g, "A: {}")
			g.delete(*g.settled("s").StackId, &cloudformation.DeleteStackInput{})
		}, types.StackStatusDeleteComplete, []string{"CREATE_STACK A CREATE_FAILED: " + handlerSaidNo}},
		"deletion": {func(g *rig) {
			create(g, "A: {}")
			g.world.script("DELETE A", no)
			g.delete(*g.settled("s").StackId, &cloudformation.DeleteStackInput{})
		}, types.StackStatusDeleteFailed, []string{"DELETE_STACK A DELETE_FAILED: " + handlerSaidNo}},
		"hook on a resource": {func(g *rig) {
			g.world.hooks.add("Acme::Test::Hook", `{"TargetStacks": "ALL", "FailureMode": "FAIL"}`, "Acme::Test::Thing")
			g.world.hooks.answer("Acme::Test::Hook", refusal)
			create(g, "A: {}")
		}, types.StackStatusRollbackComplete, []string{"CREATE_STACK A CREATE_FAILED: The following hook(s) failed: [Acme::Test::Hook]; hook Acme::Test::Hook: no key"}},
		"hook on a stack": {func(g *rig) {
			g.world.hooks.add("Acme::Test::Hook", `{"TargetStacks": "ALL", "FailureMode": "FAIL"}`, "STACK")
			g.world.hooks.answer("Acme::Test::Hook", refusal)
			create(g, "A: {}")
		}, types.StackStatusRollbackComplete, []string{"CREATE_STACK s ROLLBACK_IN_PROGRESS: The following hook(s) failed: [Acme::Test::Hook]. Rollback requested by user.; hook Acme::Test::Hook: no key"}},
		"hook that warns": {func(g *rig) {
			g.world.hooks.add("Acme::Test::Hook", `{"TargetStacks": "ALL", "FailureMode": "WARN"}`, "Acme::Test::Thing")
			g.world.hooks.answer("Acme::Test::Hook", refusal)
			g.world.script("CREATE A", no)
			create(g, "A: {}")
		}, types.StackStatusRollbackComplete, []string{"CREATE_STACK A CREATE_FAILED: " + handlerSaidNo}},
		"validation": {func(g *rig) {
			create(g, "A: {Properties: {Titel: x}}")
		}, types.StackStatusRollbackComplete, []string{"CREATE_STACK A : #: extraneous key [Titel] is not permitted"}},
		"nested creation": {func(g *rig) {
			g.world.offers("https://t/inner", things("X: {}"))
			g.world.offers("https://t/outer", things(nests("M", "inner")))
			g.world.script("CREATE X", no)
			create(g, nests("N", "outer"))
		}, types.StackStatusRollbackComplete, []string{"CREATE_STACK N CREATE_FAILED, in it CREATE_STACK M CREATE_FAILED, in it CREATE_STACK X CREATE_FAILED: " + handlerSaidNo}},
		"import": {func(g *rig) {
			g.world.has("old-1", map[string]any{})
			set := (&setRig{g, g.t.(*testing.T), owner}).create("one", types.ChangeSetTypeImport, things("A: {DeletionPolicy: Delete}"), importing("A=old-1"))
			g.world.script("READ A", behavior{code: "InternalFailure", message: "broken"})
			(&setRig{g, g.t.(*testing.T), owner}).execute(*set.ChangeSetId)
		}, types.StackStatusImportRollbackComplete, []string{"IMPORT A IMPORT_FAILED: " + strings.NewReplacer("no", "broken", "InvalidRequest", "InternalFailure").Replace(handlerSaidNo) + "; attempted"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := onSQLite(t)
			test.do(g)
			arn := g.lastARN()
			if s := g.settled(arn); s.StackStatus != test.status {
				t.Fatalf("the stack is %s: %q", s.StackStatus, g.story(arn))
			}
			failures, err := g.Failures(t.Context(), owner.Place, arn)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range failures {
				got = append(got, failureStory(&failures[i]))
				if len(failures[i].Resources) == 0 || failures[i].StackARN != arn {
					t.Errorf("the failure has no resources, or another stack: %+v", failures[i])
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the failures are\n%s\nwant\n%s\nof\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"), strings.Join(g.story(arn), "\n"))
			}
		})
	}
}

// lastARN is that of the only stack that is not nested, deleted or not.
func (g *rig) lastARN() string {
	g.t.Helper()
	row, err := store.Find[stackRow](g.t.Context(), g.store.Read(), "parent_id = ''")
	if err != nil || row == nil {
		g.t.Fatal(row, err)
	}
	return row.ARN
}

// TestLatestOperations lists operations with their rollbacks, and the template of one that was rolled back.
func TestLatestOperations(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.world.offers("https://t/n", things("X: {}"))
	g.create(&cloudformation.CreateStackInput{StackName: aws.String("other"), TemplateBody: aws.String(things(nests("N", "n")))})
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String("Resources:\n  A: {Type: 'Acme::Test::Thing', Metadata: {'aws:cdk:path': App/Web/A}}")})
	g.world.script("UPDATE A", behavior{code: "InvalidRequest", message: "no"})
	s := g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: 2}}", "Fresh: {DependsOn: A}"))})
	for limit, want := range map[int][]string{
		2: {"UPDATE_STACK s FAILED rollback SUCCEEDED", "CREATE_STACK s SUCCEEDED"},
		9: {"UPDATE_STACK s FAILED rollback SUCCEEDED", "CREATE_STACK s SUCCEEDED", "CREATE_STACK other SUCCEEDED"},
	} {
		list, err := g.LatestOperations(t.Context(), owner.Place, limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range list {
			line := string(d.Kind) + " " + d.Stack.Name + " " + d.Status
			if d.Rollback != nil {
				line += " rollback " + d.Rollback.Status
			}
			got = append(got, line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("at most %d: %q, want %q", limit, got, want)
		}
	}
	failures, err := g.Failures(t.Context(), owner.Place, "s")
	if err != nil || len(failures) != 1 {
		t.Fatal(failures, err)
	}
	source, err := g.Source(t.Context(), owner.Place, "s", failures[0].Operation.ID, false)
	if err != nil || source.Lines["Fresh"] != 3 {
		t.Errorf("the attempted template: %+v, %v", source, err)
	}
	if source, err := g.Source(t.Context(), owner.Place, "other", failures[0].Operation.ID, false); err != nil || source.Text != "" {
		t.Errorf("an operation on another stack: %+v, %v", source, err)
	}
	if r := failures[0].Resources; len(r) != 2 || r[1].LogicalID != "Fresh" || !slices.Equal(r[1].DependsOn, []string{"A"}) {
		t.Errorf("the attempted resources: %+v", r)
	}
	g.unreadable()
	timeline, err := g.Timeline(t.Context(), owner.Place, "s", failures[0].Operation.ID)
	if err != nil || !slices.Equal(timeline.Needs["Fresh"], []string{"A"}) {
		t.Errorf("the timeline: %+v, %v", timeline, err)
	}
	state, err := g.Stack(t.Context(), owner.Place, *s.StackId)
	if err != nil || state.Resources[0].Path != "App/Web/A" || state.Drift != types.StackDriftStatusNotChecked {
		t.Errorf("the stack: %+v, %v", state, err)
	}
}

// unreadable has what reads the processed template of a stack fail.
func (g *rig) unreadable() {
	g.t.Helper()
	err := g.store.Change(g.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		_, err := store.Exec(ctx, tx, "UPDATE stack_deployments SET processed = '{' WHERE 1 = 1")
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
}

// TestFailuresOfLaterOperations are not those of an operation that has none of its own.
func TestFailuresOfLaterOperations(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}"))})
	hold := make(chan struct{})
	g.world.script("UPDATE A", behavior{hold: hold}) // of the update or, if that is given up before, of its rollback
	if _, err := g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("A: {Properties: {Note: n}}"))}); err != nil {
		t.Fatal(err)
	}
	s, err := g.lookUp(t.Context(), owner.Place, "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.giveUp(t.Context(), s.ID, "no more"); err != nil {
		t.Fatal(err)
	}
	close(hold)
	g.settled("s")
	operations, err := g.latestOperations(t.Context(), s.ID)
	if err != nil || len(operations) != 3 {
		t.Fatalf("%d operations, %v", len(operations), err)
	}
	for i, want := range map[int]bool{1: true, 2: false} { // the update, and the creation before it
		if found, err := g.ownFailure(t.Context(), s, &operations[i]); err != nil || (found != nil) != want {
			t.Errorf("%s: %+v, %v", operations[i].Kind, found, err)
		}
	}
}
