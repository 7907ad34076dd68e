package stack

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// movingTypes are types of a world whose current version moves on.
type movingTypes struct {
	*world
	version atomic.Value // string
}

func (m *movingTypes) Type(ctx context.Context, caller awswire.Caller, name, version string) (*operation.Type, error) {
	typ, err := m.world.Type(ctx, caller, name, version)
	if err != nil {
		return nil, err
	}
	moved := *typ
	if moved.Version = version; version == "" {
		moved.Version = m.version.Load().(string)
	}
	return &moved, nil
}

// TestVersionOfLaterSteps checks that a step starts with the version of its type that is current
// then, although the stack took note of other steps without looking for it.
func TestVersionOfLaterSteps(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	m := &movingTypes{world: g.world}
	m.version.Store("00000001")
	g.config.Types = m
	hold := make(chan struct{})
	g.world.script("CREATE A", behavior{hold: hold})
	out, err := g.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things(
		"A: {}", "B: {DependsOn: A}", "C: {}", "D: {}"))})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"C", "D"} {
		g.await(t, out.StackId, id, types.ResourceStatusCreateComplete)
	}
	m.version.Store("00000002")
	close(hold)
	g.expectStatus(g.settled("s"), types.StackStatusCreateComplete, "")
	versions := map[string]string{}
	for _, request := range g.world.seen {
		versions[request.LogicalID] = request.Version
	}
	if versions["A"] != "00000001" || versions["C"] != "00000001" || versions["B"] != "00000002" {
		t.Errorf("versions: %v", versions)
	}
}

// await waits until a resource of a stack has a status.
func (g *rig) await(t *testing.T, stack *string, logicalID string, status types.ResourceStatus) *types.StackResourceDetail {
	t.Helper()
	var found *types.StackResourceDetail
	if !fixtures.Happens(g.patience, func() bool {
		out, err := g.DescribeStackResource(t.Context(), owner, &cloudformation.DescribeStackResourceInput{StackName: stack, LogicalResourceId: &logicalID})
		if err == nil {
			found = out.StackResourceDetail
		}
		return err == nil && found.ResourceStatus == status && aws.ToString(found.PhysicalResourceId) != ""
	}) {
		t.Fatalf("%s does not become %s: %q", logicalID, status, g.story(*stack))
	}
	return found
}

// TestIdentifierWakesNobody checks that an identifier alone does not make the stack look at its
// steps, and that it is known when something else does.
func TestIdentifierWakesNobody(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		hold := make(chan struct{})
		g.world.script("CREATE A", behavior{wait: time.Hour})
		g.world.script("CREATE B", behavior{hold: hold, code: "InvalidRequest", message: "no"})
		out, err := g.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("A: {}", "B: {}"))})
		if err != nil {
			t.Fatal(err)
		}
		g.await(t, out.StackId, "A", types.ResourceStatusCreateInProgress)
		s, err := liveStack(t.Context(), g.store.Read(), owner, "s")
		if err != nil {
			t.Fatal(err)
		}
		unseen, err := store.FindAll[stepRow](t.Context(), g.store.Read(), "logical_id", "operation_id = ? AND NOT seen", s.OperationID)
		if err != nil || len(unseen) != 1 || unseen[0].PhysicalID != "a-1" {
			t.Errorf("the stack looked at its steps: %v, %v", unseen, err)
		}
		close(hold)
		g.expectStatus(g.settled("s"), types.StackStatusRollbackComplete, "")
		if story := g.story("s"); !slices.Contains(story, "A CREATE_FAILED a-1 (Resource creation cancelled)") {
			t.Errorf("the identifier is not known: %q", story)
		}
		if ids := g.world.ids(); len(ids) > 0 {
			t.Errorf("left: %v", ids)
		}
	})
}

// TestMoved checks which changes of a step the stack has to look at.
func TestMoved(t *testing.T) {
	running := stepRow{State: plan.StepRunning, Action: plan.Create}
	for _, test := range []struct {
		name   string
		change func(s *stepRow)
		want   bool
	}{
		{"identifier", func(s *stepRow) { s.PhysicalID = "a" }, false},
		{"done", func(s *stepRow) { s.State = plan.StepDone }, true},
		{"configured", func(s *stepRow) { s.State = plan.StepConfigured }, true},
		{"waits for signals", func(s *stepRow) { s.Action = plan.Signal }, true},
	} {
		after := running
		test.change(&after)
		p := &progress{step: &after, before: running}
		if got := p.moved(); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

// TestSettledRows checks what the end of an operation leaves of its resources: nothing to go back to,
// and everything else as it was written before.
func TestSettledRows(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.expectStatus(g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: 1}}", "B: {}"))}), types.StackStatusCreateComplete, "")
		g.expectStatus(g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: 2}}", "B: {}"))}), types.StackStatusUpdateComplete, "")
		s, err := liveStack(t.Context(), g.store.Read(), owner, "s")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := store.FindAll[resourceRow](t.Context(), g.store.Read(), "logical_id", "stack_id = ?", s.ID)
		if err != nil || len(rows) != 2 {
			t.Fatal(rows, err)
		}
		for _, row := range rows {
			if !row.Origin.IsZero() || row.PhysicalID == "" || row.Model.IsZero() || row.UpdatedAt.Before(row.CreatedAt.Time) {
				t.Errorf("%+v", row)
			}
		}
		if steps, err := store.Count(t.Context(), g.store.Read(), "FROM stack_steps"); steps > 0 || err != nil {
			t.Errorf("%d steps are left, %v", steps, err)
		}
	})
}

// TestStaleConflict checks that a worker whose kept rows are out of date reads them again.
func TestStaleConflict(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	hold := make(chan struct{})
	g.world.script("CREATE A", behavior{hold: hold})
	out, err := g.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("A: {}", "B: {}"))})
	if err != nil {
		t.Fatal(err)
	}
	g.await(t, out.StackId, "B", types.ResourceStatusCreateComplete)
	err = g.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		_, err := store.Exec(ctx, tx, "UPDATE stack_operations SET row_version = row_version + 1 WHERE 1 = 1")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	close(hold)
	g.expectStatus(g.settled("s"), types.StackStatusCreateComplete, "")
}
