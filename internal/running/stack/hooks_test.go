package stack

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestListHookResults answers what clients ask for when a change set has failed: no hook was
// invoked.
func TestListHookResults(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	failed := g.create("failed", types.ChangeSetTypeCreate, things("A: {Properties: {Other: 1}}"))
	const target = types.ListHookResultsTargetTypeChangeSet
	arn := aws.String("arn:aws:cloudformation:eu-west-1:123456789012:type/hook/A-B-C")
	for _, test := range []struct {
		in   cloudformation.ListHookResultsInput
		want string // "" is an empty list
	}{
		{cloudformation.ListHookResultsInput{}, ""},
		{cloudformation.ListHookResultsInput{TypeArn: arn, Status: types.HookStatusHookFailed}, ""},
		{cloudformation.ListHookResultsInput{TargetType: target, TargetId: failed.ChangeSetId}, ""},
		{cloudformation.ListHookResultsInput{TargetType: target, TargetId: aws.String(*failed.ChangeSetId + "0")}, "HookResultNotFoundException: No hook results found for target " + *failed.ChangeSetId + "0"},
		{cloudformation.ListHookResultsInput{TargetType: target, TargetId: aws.String("failed")}, "HookResultNotFoundException: No hook results found for target failed"},
		{cloudformation.ListHookResultsInput{TargetType: types.ListHookResultsTargetTypeCloudControl, TargetId: aws.String("t")}, "HookResultNotFoundException: No hook results found for target t"},
		{cloudformation.ListHookResultsInput{TargetId: failed.ChangeSetId}, "ValidationError: TargetType and TargetId must be specified together."},
		{cloudformation.ListHookResultsInput{Status: types.HookStatusHookFailed}, "ValidationError: Status can be specified only with TypeArn, and TypeArn not with a target."},
	} {
		out, err := g.ListHookResults(t.Context(), owner, &test.in)
		if test.want != "" {
			if got := refusal(t, err); got != test.want {
				t.Errorf("%s: %s", encode(test.in), got)
			}
			continue
		}
		if err != nil || out.HookResults == nil || len(out.HookResults) > 0 || aws.ToString(out.TargetId) != aws.ToString(test.in.TargetId) {
			t.Errorf("%s: %s, %v", encode(test.in), encode(out), err)
		}
	}
}
