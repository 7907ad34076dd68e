package stack

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestDeleteFails deletes a stack one of whose resources cannot be deleted, again in every
// way that there is.
func TestDeleteFails(t *testing.T) {
	t.Parallel()
	no := behavior{code: "InvalidRequest", message: "no"}
	tests := map[string]struct {
		in    cloudformation.DeleteStackInput
		fails bool // again
		story []string
		left  []string
	}{
		"again":    {story: []string{"A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1"}},
		"retained": {in: cloudformation.DeleteStackInput{RetainResources: []string{"A"}}, story: []string{"A DELETE_SKIPPED a-1"}, left: []string{"a-1"}},
		"forced": {
			in: cloudformation.DeleteStackInput{DeletionMode: types.DeletionModeForceDeleteStack}, fails: true,
			story: []string{"A DELETE_IN_PROGRESS a-1", "A DELETE_FAILED a-1 " + handlerFailed}, left: []string{"a-1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := onSQLite(t)
			s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}", "B: {DependsOn: A}"))})
			early := cloudformation.DeleteStackInput{StackName: s.StackId, RetainResources: []string{"A"}}
			_, err := g.DeleteStack(t.Context(), owner, &early)
			if got := refusal(t, err); got != "ValidationError: Invalid operation on stack s. When you delete a stack, specify which resources to retain only when the stack is in the DELETE_FAILED state." {
				t.Error(got)
			}
			g.world.script("DELETE A", no)
			s = g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
			g.expectStatus(s, types.StackStatusDeleteFailed, "The following resource(s) failed to delete: [A]. ")
			if test.fails {
				g.world.script("DELETE A", no)
			}
			n := len(g.story(*s.StackId))
			s = g.delete(*s.StackId, &test.in)
			g.expectStatus(s, types.StackStatusDeleteComplete, "")
			g.expect(*s.StackId, n, slices.Concat([]string{"s DELETE_IN_PROGRESS (User Initiated)"}, test.story, []string{"s DELETE_COMPLETE"})...)
			if left := g.world.ids(); !slices.Equal(left, test.left) {
				t.Errorf("left: %v, want %v", left, test.left)
			}
		})
	}
}

// TestProtected keeps a protected stack.
func TestProtected(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}")), EnableTerminationProtection: aws.Bool(true)})
	_, err := g.DeleteStack(t.Context(), owner, &cloudformation.DeleteStackInput{StackName: s.StackId})
	if got := refusal(t, err); got != "ValidationError: Stack [s] cannot be deleted while TerminationProtection is enabled" {
		t.Error(got)
	}
	if _, err := g.UpdateTerminationProtection(t.Context(), owner, &cloudformation.UpdateTerminationProtectionInput{StackName: s.StackName, EnableTerminationProtection: aws.Bool(false)}); err != nil {
		t.Fatal(err)
	}
	g.expectStatus(g.delete(*s.StackId, &cloudformation.DeleteStackInput{}), types.StackStatusDeleteComplete, "")
}
