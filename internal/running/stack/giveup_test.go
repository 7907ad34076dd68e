package stack

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

const gaveUp = "Internal failure: the content is larger than 7 bytes"

// breaks has the worker of a kind fail with a permanent error while something holds. It does not count runs: one that
// ended before may be repeated when the workers start again.
func (g *rig) breaks(kind string, holds func(ctx context.Context, id string) (bool, error)) (heal func()) {
	g.t.Helper()
	if err := g.store.StopWork(); err != nil {
		g.t.Fatal(err)
	}
	workers := g.config.Operations.Workers()
	maps.Copy(workers, g.Workers())
	worker := workers[kind]
	run, healed := worker.Run, &atomic.Bool{}
	worker.Run = func(ctx context.Context, id string) (time.Time, error) {
		if !healed.Load() {
			if broken, err := holds(ctx, id); broken || err != nil {
				return time.Time{}, cmp.Or(err, error(&store.TooLargeError{Max: 7}))
			}
		}
		return run(ctx, id)
	}
	workers[kind] = worker
	if err := g.store.Work(g.t.Context(), workers); err != nil {
		g.t.Fatal(err)
	}
	return func() { healed.Store(true) }
}

// always is for work of which there is only one.
func always(context.Context, string) (bool, error) { return true, nil }

// in reports whether the operation on a stack is in one of some phases.
func (g *rig) in(phases ...plan.Phase) func(ctx context.Context, id string) (bool, error) {
	return func(ctx context.Context, id string) (bool, error) {
		op, err := store.Find[operationRow](ctx, g.store.Read(), "id = (SELECT operation_id FROM stacks WHERE id = ?)", id)
		return op != nil && slices.Contains(phases, op.Phase), err
	}
}

// TestGiveUp has the work on a stack meet permanent errors. The stack ends, and can be deleted.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	create := func(t *testing.T, g *rig, onFailure types.OnFailure) {
		in := &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("A: {}", "B: {DependsOn: A}")), OnFailure: onFailure}
		if _, err := g.CreateStack(t.Context(), owner, in); err != nil {
			t.Fatal(err)
		}
	}
	update := func(t *testing.T, g *rig) {
		in := &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("A: {Properties: {Note: 2}}", "C: {}"))}
		if _, err := g.UpdateStack(t.Context(), owner, in); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, g *rig) {
		if _, err := g.DeleteStack(t.Context(), owner, &cloudformation.DeleteStackInput{StackName: aws.String("s")}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		exists bool
		broken []plan.Phase
		begin  func(t *testing.T, g *rig)
		status types.StackStatus
		reason string
	}{
		"create":               {false, []plan.Phase{plan.PhaseValidate}, func(t *testing.T, g *rig) { create(t, g, "") }, types.StackStatusRollbackComplete, ""},
		"create, at work":      {false, []plan.Phase{plan.PhaseMain}, func(t *testing.T, g *rig) { create(t, g, "") }, types.StackStatusRollbackComplete, ""},
		"create, and rollback": {false, []plan.Phase{plan.PhaseMain, plan.PhaseRollback}, func(t *testing.T, g *rig) { create(t, g, "") }, types.StackStatusRollbackFailed, gaveUp},
		"create, preserved":    {false, []plan.Phase{plan.PhaseMain}, func(t *testing.T, g *rig) { create(t, g, types.OnFailureDoNothing) }, types.StackStatusCreateFailed, gaveUp},
		"update":               {true, []plan.Phase{plan.PhaseValidate}, update, types.StackStatusUpdateRollbackComplete, ""},
		"update, at work":      {true, []plan.Phase{plan.PhaseMain}, update, types.StackStatusUpdateRollbackComplete, ""},
		"update, and rollback": {true, []plan.Phase{plan.PhaseMain, plan.PhaseRollback}, update, types.StackStatusUpdateRollbackFailed, gaveUp},
		"delete":               {true, []plan.Phase{plan.PhaseValidate}, remove, types.StackStatusDeleteFailed, gaveUp},
		"delete, at work":      {true, []plan.Phase{plan.PhaseDelete}, remove, types.StackStatusDeleteFailed, gaveUp},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, g *rig) {
				if c.exists {
					g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: 1}}", "B: {DependsOn: A}"))})
				}
				heal := g.breaks(wakeKind, g.in(c.broken...))
				c.begin(t, g)
				s := g.settled("s")
				g.expectStatus(s, c.status, c.reason)
				if story := strings.Join(g.story("s"), "\n"); !strings.Contains(story, gaveUp) {
					t.Errorf("no event has the reason:\n%s", story)
				}
				heal()
				if s := g.delete(*s.StackId, &cloudformation.DeleteStackInput{}); s.StackStatus != types.StackStatusDeleteComplete {
					t.Errorf("the stack cannot be deleted: %s\n%s", s.StackStatus, strings.Join(g.story(*s.StackId), "\n"))
				}
				if left := g.world.ids(); len(left) > 0 {
					t.Errorf("left behind: %q\n%s", left, strings.Join(g.story(*s.StackId), "\n"))
				}
			})
		})
	}
}

// TestGiveUpLeavesNothing deletes a stack whose rollback was given up while a creation that it cancelled still ran: the
// deletion waits for that.
func TestGiveUpLeavesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, g *rig) {
		hold := make(chan struct{})
		g.world.script("CREATE C", behavior{hold: hold})
		g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}"))})
		heal := g.breaks(wakeKind, g.in(plan.PhaseMain, plan.PhaseRollback))
		out, err := g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("A: {Properties: {Note: 2}}", "C: {}"))})
		if err != nil {
			t.Fatal(err)
		}
		g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackFailed, gaveUp)
		heal()
		if _, err := g.DeleteStack(t.Context(), owner, &cloudformation.DeleteStackInput{StackName: out.StackId}); err != nil {
			t.Fatal(err)
		}
		g.await(t, out.StackId, "A", types.ResourceStatusDeleteComplete)
		close(hold)
		if s := g.settled(*out.StackId); s.StackStatus != types.StackStatusDeleteComplete || len(g.world.ids()) > 0 {
			t.Errorf("%s, left behind: %q\n%s", s.StackStatus, g.world.ids(), strings.Join(g.story(*out.StackId), "\n"))
		}
	})
}

// TestEndAt ends operations where they are, from every status in which one runs.
func TestEndAt(t *testing.T) {
	t.Parallel()
	for status, want := range endsAt {
		if !inProgress(status) || inProgress(want) {
			t.Errorf("%s ends as %s", status, want)
		}
	}
	g := onSQLite(t)
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}"))})
	hold := make(chan struct{})
	defer close(hold)
	g.world.script("UPDATE A", behavior{hold: hold})
	out, err := g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("A: {Properties: {Note: 1}}"))})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Find[stackRow](t.Context(), g.store.Read(), "arn = ?", *out.StackId)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.store.Change(t.Context(), func(ctx context.Context, tx *store.Tx) error { return g.endAt(ctx, tx, s.ID, "why") }); err != nil {
		t.Fatal(err)
	}
	g.expectStatus(g.settled("s"), types.StackStatusUpdateFailed, "why")
	if story := g.story("s"); story[len(story)-1] != "s UPDATE_FAILED (why)" {
		t.Errorf("the last event is %s", story[len(story)-1])
	}
}

// TestGiveUpChangeSet fails a change set and a drift detection.
func TestGiveUpChangeSet(t *testing.T) {
	t.Parallel()
	eachSetRig(t, func(t *testing.T, g *setRig) {
		g.breaks(changeSetKind, always)
		c := g.create("one", types.ChangeSetTypeCreate, things("A: {}"))
		if c.Status != types.ChangeSetStatusFailed || aws.ToString(c.StatusReason) != gaveUp {
			t.Errorf("%s %s", c.Status, aws.ToString(c.StatusReason))
		}
		if _, err := g.DeleteChangeSet(t.Context(), g.caller, &cloudformation.DeleteChangeSetInput{ChangeSetName: c.ChangeSetId}); err != nil {
			t.Error(err)
		}
	})
}

func TestGiveUpDetection(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}"))})
	g.breaks(driftKind, always)
	out, err := g.DetectStackDrift(t.Context(), owner, &cloudformation.DetectStackDriftInput{StackName: aws.String("s")})
	if err != nil {
		t.Fatal(err)
	}
	if d := g.detected(*out.StackDriftDetectionId); d.DetectionStatus != types.StackDriftDetectionStatusDetectionFailed || aws.ToString(d.DetectionStatusReason) != gaveUp {
		t.Errorf("the detection is %s: %s", d.DetectionStatus, aws.ToString(d.DetectionStatusReason))
	}
}

// TestLongIdentifier has a handler return an identifier that is not kept. Its resource is deleted by
// what its model says.
func TestLongIdentifier(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		long := strings.Repeat("i", 4000)
		g.world.script("CREATE A", behavior{as: long})
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}"))})
		g.expectStatus(s, types.StackStatusRollbackComplete, "")
		if !slices.ContainsFunc(g.story("s"), func(line string) bool {
			return strings.HasPrefix(line, "A CREATE_FAILED") && strings.HasSuffix(line, "(The create handler of Acme::Test::Thing returned an identifier of 4000 bytes; at most 2048 are allowed.)")
		}) {
			t.Errorf("the events are\n%s", strings.Join(g.story("s"), "\n"))
		}
		last := g.world.seen[len(g.world.seen)-1]
		if last.Action != "DELETE" || last.Identifier != long[:store.MaxKey] || last.Desired["Id"] != long {
			t.Errorf("the last call is %s with an identifier of %d bytes and a model with one of %d", last.Action, len(last.Identifier), len(last.Desired["Id"].(string)))
		}
	})
}

// TestRepeatedRequests makes requests again with their tokens, after their operations have ended.
func TestRepeatedRequests(t *testing.T) {
	t.Parallel()
	eachSetRig(t, func(t *testing.T, g *setRig) {
		g.create("one", types.ChangeSetTypeCreate, things("A: {}"))
		in := cloudformation.ExecuteChangeSetInput{ChangeSetName: aws.String("one"), StackName: aws.String("app"), ClientRequestToken: aws.String("token")}
		for range 3 {
			if _, err := g.ExecuteChangeSet(t.Context(), g.caller, &in); err != nil {
				t.Fatal(err)
			}
			g.settled("app")
		}
		other := in
		other.ClientRequestToken = aws.String("other")
		_, err := g.ExecuteChangeSet(t.Context(), g.caller, &other)
		refusedWith(t, err, "ChangeSetNotFoundException", "ChangeSet [one] does not exist")
		other = in
		other.DisableRollback = aws.Bool(true)
		_, err = g.ExecuteChangeSet(t.Context(), g.caller, &other)
		refusedWith(t, err, "ChangeSetNotFoundException", "ChangeSet [one] does not exist")
	})
	t.Run("ContinueUpdateRollback", func(t *testing.T) {
		g, s := failedRollback(t)
		in := cloudformation.ContinueUpdateRollbackInput{StackName: s.StackId, ClientRequestToken: aws.String("token")}
		for range 3 {
			if _, err := g.ContinueUpdateRollback(t.Context(), owner, &in); err != nil {
				t.Fatal(err)
			}
			g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackComplete, "")
		}
		in.ClientRequestToken = aws.String("other")
		if _, err := g.ContinueUpdateRollback(t.Context(), owner, &in); err == nil {
			t.Error("a new request was accepted")
		}
	})
	t.Run("RollbackStack", func(t *testing.T) {
		g := onSQLite(t)
		g.world.script("CREATE A", behavior{code: "InvalidRequest", message: "no"})
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}")), OnFailure: types.OnFailureDoNothing})
		in := cloudformation.RollbackStackInput{StackName: s.StackId, ClientRequestToken: aws.String("token")}
		ids := map[string]bool{}
		for range 3 {
			out, err := g.RollbackStack(t.Context(), owner, &in)
			if err != nil {
				t.Fatal(err)
			}
			ids[*out.OperationId] = true
			g.settled("s")
		}
		if len(ids) != 1 {
			t.Errorf("%d operations", len(ids))
		}
		in.ClientRequestToken = aws.String("other")
		if _, err := g.RollbackStack(t.Context(), owner, &in); err == nil {
			t.Error("a new request was accepted")
		}
	})
}

// TestUnreadableColumn has an operation meet a row that cannot be read: it ends, and names the column.
func TestUnreadableColumn(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.expectStatus(g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}"))}), types.StackStatusCreateComplete, "")
		err := g.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := store.Exec(ctx, tx, "UPDATE stack_resources SET origin = '{'")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.DeleteStack(t.Context(), owner, &cloudformation.DeleteStackInput{StackName: aws.String("s")}); err != nil {
			t.Fatal(err)
		}
		g.expectStatus(g.settled("s"), types.StackStatusDeleteFailed, "Internal failure: the column stack_resources.origin has a value that cannot be read")
	})
}
