package stack

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

func reverting(in *cloudformation.CreateChangeSetInput) {
	in.DeploymentMode = types.DeploymentModeRevertDrift
}

// valued is a change set with the values of properties, its changes by logical id.
func (g *setRig) valued(arn string) (*cloudformation.DescribeChangeSetOutput, map[string]*types.ResourceChange) {
	g.t.Helper()
	out, err := g.DescribeChangeSet(g.t.Context(), owner, &cloudformation.DescribeChangeSetInput{ChangeSetName: &arn, IncludePropertyValues: aws.Bool(true)})
	if err != nil {
		g.t.Fatal(err)
	}
	changes := map[string]*types.ResourceChange{}
	for _, c := range out.Changes {
		changes[*c.ResourceChange.LogicalResourceId] = c.ResourceChange
	}
	return out, changes
}

func TestRevertDrift(t *testing.T) {
	t.Parallel()
	eachSetRig(t, func(t *testing.T, g *setRig) {
		g.world.knows(t, strings.NewReplacer("Drifting", "Hidden", `"read": {"permissions": []}, `, "").Replace(drifting))
		body := things("A: {Properties: {Note: wanted, Size: 1, Secret: s}}", "Lost: {}", "Fixed: {Properties: {Name: n}}", "Same: {Properties: {Note: n}}",
			"Synced: {Properties: {Note: before}}", "Hidden: {Type: 'Acme::Test::Hidden'}")
		g.create2("app", body)
		g.done()
		body = strings.Replace(body, "before", "after", 1)
		g.world.changes("a-1", map[string]any{"Note": "drifted", "Secret": nil})
		g.world.changes("fixed-1", map[string]any{"Name": "other"})
		g.world.changes("synced-1", map[string]any{"Note": "after"})
		g.world.loses("lost-1")

		set := g.create("revert", types.ChangeSetTypeUpdate, body, reverting)
		if got := changes(set); got != "Modify A, Add Lost, SyncWithActual Synced" || set.DeploymentMode != types.DeploymentModeRevertDrift || set.StackDriftStatus != types.StackDriftStatusDrifted {
			t.Fatalf("changes: %s %s %s (%s)", got, set.DeploymentMode, set.StackDriftStatus, aws.ToString(set.StatusReason))
		}
		_, found := g.valued(*set.ChangeSetId)
		a := found["A"]
		if a.ResourceDriftStatus != types.StackResourceDriftStatusModified || aws.ToString(a.PreviousDeploymentContext) != `{"Properties":{"Note":"wanted","Secret":"s","Size":"1"}}` ||
			aws.ToString(a.BeforeContext) != `{"Properties":{"Note":"drifted","Secret":"s","Size":"1"}}` {
			t.Errorf("A: %s", encode(a))
		}
		if i := a.ResourceDriftIgnoredAttributes; len(i) != 1 || *i[0].Path != "/Properties/Secret" || i[0].Reason != types.DriftIgnoredReasonWriteOnlyProperty {
			t.Errorf("ignored of A: %s", encode(i))
		}
		target := a.Details[0].Target
		if target.BeforeValueFrom != types.BeforeValueFromActualState || target.AfterValueFrom != types.AfterValueFromTemplate ||
			target.Drift == nil || *target.Drift.PreviousValue != "wanted" || *target.Drift.ActualValue != "drifted" || *target.BeforeValue != "drifted" || *target.AfterValue != "wanted" {
			t.Errorf("target of A: %s", encode(target))
		}
		if found["Lost"].ResourceDriftStatus != types.StackResourceDriftStatusDeleted {
			t.Errorf("Lost: %s", encode(found["Lost"]))
		}
		if target := found["Synced"].Details[0].Target; target.AttributeChangeType != types.AttributeChangeTypeSyncWithActual || *target.Drift.PreviousValue != "before" {
			t.Errorf("Synced: %s", encode(target))
		}

		// A failure goes back to what was found, not to the previous template.
		g.world.script("CREATE Lost", behavior{code: "InternalFailure", message: "broken"})
		if s := g.execute(*set.ChangeSetId); s.StackStatus != types.StackStatusUpdateRollbackComplete {
			t.Fatalf("after the failure: %s", s.StackStatus)
		}
		if note := g.world.note("a-1"); note != "drifted" {
			t.Errorf("the rollback made %q of what was drifted", note)
		}
		g.done()
		set = g.create("again", types.ChangeSetTypeUpdate, body, reverting)
		g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusUpdateComplete, "")
		if done := g.done(); done != "CREATE Lost, UPDATE A" {
			t.Errorf("calls: %s", done)
		}
		if note := g.world.note("a-1"); note != "wanted" {
			t.Errorf("A is %q", note)
		}
		set = g.create("nothing", types.ChangeSetTypeUpdate, body, reverting)
		if set.Status != types.ChangeSetStatusFailed || aws.ToString(set.StatusReason) != reasonNoChanges {
			t.Errorf("without drift: %s %s %s", set.Status, aws.ToString(set.StatusReason), changes(set))
		}
	})
}

// note is a property of a thing.
func (w *world) note(identifier string) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.things[identifier]["Note"]
}

func TestRevertDriftHidesSecrets(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	g.world.values["s"] = "from-the-store"
	body := "Parameters: {P: {Type: String, NoEcho: true, Default: silent}}\n" +
		things("A: {Properties: {Note: !Ref P, Size: 1}}", "B: {Properties: {Note: '{{resolve:secretsmanager:s}}', Size: 1}}")
	g.create2("app", body)
	g.world.changes("a-1", map[string]any{"Note": "roaring", "Size": 2})
	g.world.changes("b-1", map[string]any{"Note": "roaring", "Size": 2})
	set := g.create("revert", types.ChangeSetTypeUpdate, body, reverting)
	out, found := g.valued(*set.ChangeSetId)
	for _, secret := range []string{"silent", "roaring", "from-the-store"} {
		if strings.Contains(encode(out), secret) {
			t.Errorf("%s is shown: %s", secret, encode(out))
		}
	}
	if i := found["A"].ResourceDriftIgnoredAttributes; len(i) != 1 || i[0].Reason != types.DriftIgnoredReasonSensitiveProperty {
		t.Errorf("ignored of A: %s", encode(i))
	}
	g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusUpdateComplete, "")
}
