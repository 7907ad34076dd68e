package stack

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// TestTakenUp closes the store at different moments of a create, an update that fails and a
// delete: what opens it again brings the stack to the state that it would have reached,
// with no resource made twice and none left.
func TestTakenUp(t *testing.T) {
	t.Parallel()
	for i := range 12 {
		stop := time.Duration(i) * 15 * time.Millisecond
		t.Run(stop.String(), func(t *testing.T) {
			t.Parallel()
			place := fixtures.Place{Name: "sqlite", Dir: fixtures.TempDir(t)}
			g := newRig(t, place)
			again := func() {
				t.Helper()
				time.Sleep(stop)
				if err := g.store.Close(); err != nil {
					t.Fatal(err)
				}
				g = newRigIn(t, place, g.world)
			}
			out, err := g.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things(
				"A: {Properties: {Name: a, Note: 1}}", "B: {Properties: {Note: !Ref A}}", "C: {Properties: {Note: !GetAtt B.Id}}"))})
			if err != nil {
				t.Fatal(err)
			}
			again()
			g.expectStatus(g.settled("s"), types.StackStatusCreateComplete, "")
			if ids := g.world.ids(); !slices.Equal(ids, []string{"a-1", "b-1", "c-1"}) {
				t.Errorf("after the create: %v", ids)
			}
			g.world.script("CREATE D", behavior{code: "InvalidRequest", message: "no"})
			_, err = g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things(
				"A: {Properties: {Name: x, Note: 2}}", "B: {Properties: {Note: !Ref A}}", "D: {DependsOn: B}"))})
			if err != nil {
				t.Fatal(err)
			}
			again()
			g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackComplete, "")
			if ids := g.world.ids(); !slices.Equal(ids, []string{"a-1", "b-1", "c-1"}) {
				t.Errorf("after the update: %v", ids)
			}
			if note := g.world.things["b-1"]["Note"]; note != "a-1" {
				t.Errorf("B has the note %v", note)
			}
			if _, err := g.DeleteStack(t.Context(), owner, &cloudformation.DeleteStackInput{StackName: out.StackId}); err != nil {
				t.Fatal(err)
			}
			again()
			g.expectStatus(g.settled(*out.StackId), types.StackStatusDeleteComplete, "")
			if ids := g.world.ids(); len(ids) > 0 {
				t.Errorf("after the delete: %v", ids)
			}
		})
	}
}
