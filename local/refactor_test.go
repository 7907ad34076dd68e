package local_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/formwork-dev/formwork/local"
)

// TestStackRefactor moves a parameter into a new stack with the client and the waiters of the SDK.
func TestStackRefactor(t *testing.T) {
	c := newClients(t, serving(t, local.ServerConfig{Config: local.Config{Dir: t.TempDir()}}).URL())
	const kept, moved = "  Kept: {Type: AWS::SSM::Parameter, Properties: {Type: String, Name: kept, Value: v}}\n", "  Moved: {Type: AWS::SSM::Parameter, Properties: {Type: String, Name: moved, Value: w}}\n"
	ctx := t.Context()
	if _, err := c.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: aws.String("from"), TemplateBody: aws.String("Resources:\n" + kept + moved)}); err != nil {
		t.Fatal(err)
	}
	name := aws.String("from")
	if err := cloudformation.NewStackCreateCompleteWaiter(c).Wait(ctx, &cloudformation.DescribeStacksInput{StackName: name}, time.Minute,
		func(o *cloudformation.StackCreateCompleteWaiterOptions) { o.MinDelay = 100 * time.Millisecond }); err != nil {
		t.Fatal(err)
	}
	out, err := c.CreateStackRefactor(ctx, &cloudformation.CreateStackRefactorInput{EnableStackCreation: aws.Bool(true), StackDefinitions: []types.StackDefinition{
		{StackName: name, TemplateBody: aws.String("Resources:\n" + kept)}, {StackName: aws.String("to"), TemplateBody: aws.String("Resources:\n" + moved)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	describe := &cloudformation.DescribeStackRefactorInput{StackRefactorId: out.StackRefactorId}
	if err := cloudformation.NewStackRefactorCreateCompleteWaiter(c).Wait(ctx, describe, time.Minute); err != nil {
		t.Fatal(err)
	}
	actions, err := c.ListStackRefactorActions(ctx, &cloudformation.ListStackRefactorActionsInput{StackRefactorId: out.StackRefactorId})
	if err != nil || len(actions.StackRefactorActions) != 2 {
		t.Fatalf("actions: %v %v", actions, err)
	}
	if a := actions.StackRefactorActions[1]; a.Action != types.StackRefactorActionTypeMove || aws.ToString(a.ResourceIdentifier) != `{"Name":"moved"}` ||
		*a.ResourceMapping.Source.LogicalResourceId != "Moved" || !strings.Contains(*a.ResourceMapping.Destination.StackName, ":stack/to/") {
		t.Errorf("the move: %+v", a)
	}
	if _, err := c.ExecuteStackRefactor(ctx, &cloudformation.ExecuteStackRefactorInput{StackRefactorId: out.StackRefactorId}); err != nil {
		t.Fatal(err)
	}
	if err := cloudformation.NewStackRefactorExecuteCompleteWaiter(c).Wait(ctx, describe, time.Minute); err != nil {
		t.Fatal(err)
	}
	list, err := c.ListStackRefactors(ctx, &cloudformation.ListStackRefactorsInput{})
	if err != nil || len(list.StackRefactorSummaries) != 1 || list.StackRefactorSummaries[0].ExecutionStatus != types.StackRefactorExecutionStatusExecuteComplete {
		t.Errorf("the list: %v %v", list, err)
	}
	if _, err := c.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: name}); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the stack is deleted", func() bool {
		_, err := c.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: name})
		return codeOf(err) == "ValidationError"
	})
	parameter, err := c.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("moved")})
	if err != nil || *parameter.Parameter.Value != "w" {
		t.Errorf("what moved: %v %v", parameter, err)
	}
	_, err = c.DescribeStackRefactor(ctx, &cloudformation.DescribeStackRefactorInput{StackRefactorId: aws.String("none")})
	if codeOf(err) != "StackRefactorNotFoundException" {
		t.Errorf("none: %v", err)
	}
}
