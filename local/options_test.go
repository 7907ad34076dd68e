package local_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/local"
)

// TestOtherOptions: a stack can be updated and deleted by a server that makes its types otherwise.
func TestOtherOptions(t *testing.T) {
	t.Parallel()
	role := func(description string) string {
		return fmt.Sprintf(`{"Resources": {"R": {"Type": "AWS::IAM::Role", "Properties": {"Description": %q, "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": []}}}}}`, description)
	}
	simulated := []string{"AWS::IAM::Role"}
	for name, configs := range map[string][2]local.Config{
		"run, then neither":   {{RunLambda: true}, {}},
		"run, then simulated": {{RunLambda: true}, {Simulate: simulated}},
		"simulated, then run": {{Simulate: simulated}, {RunLambda: true}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Run("create", func(t *testing.T) {
				config := configs[0]
				config.Dir = dir
				c := newClients(t, serving(t, local.ServerConfig{Config: config}).URL())
				if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(role("one")), Capabilities: iam}); err != nil {
					t.Fatal(err)
				}
				made := c.ended(t, "s")
				if made.StackStatus != types.StackStatusCreateComplete {
					t.Fatalf("%s: %q", made.StackStatus, c.history(t, made))
				}
			})
			config := configs[1]
			config.Dir = dir
			c := newClients(t, serving(t, local.ServerConfig{Config: config}).URL())
			_, err := c.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(role("two")), Capabilities: iam})
			if err != nil {
				t.Fatal(err)
			}
			updated := c.ended(t, "s")
			if updated.StackStatus != types.StackStatusUpdateComplete {
				t.Fatalf("%s: %q", updated.StackStatus, c.history(t, updated))
			}
			if deleted := c.remove(t, updated); deleted.StackStatus != types.StackStatusDeleteComplete {
				t.Errorf("%s: %q", deleted.StackStatus, c.history(t, deleted))
			}
			_, err = c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("again"), TemplateBody: aws.String(role("three")), Capabilities: iam})
			if made := config.RunLambda || len(config.Simulate) > 0; (err == nil) != made {
				t.Errorf("a new one: %v", err)
			}
		})
	}
}
