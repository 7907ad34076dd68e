package stack

import (
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/operation"
)

// TestDetails has what clients notice of the service and no other test is about.
func TestDetails(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	t.Run("no policy has no body", func(t *testing.T) {
		g.create(&cloudformation.CreateStackInput{StackName: aws.String("plain"), TemplateBody: aws.String(things("A: {}"))})
		out, err := g.GetStackPolicy(t.Context(), owner, &cloudformation.GetStackPolicyInput{StackName: aws.String("plain")})
		if err != nil || out.StackPolicyBody != nil {
			t.Errorf("%v %v", out, err)
		}
	})
	t.Run("names keep their random end", func(t *testing.T) {
		end := regexp.MustCompile(`-[A-Z0-9]{12}$`)
		seen := map[string]bool{}
		for _, token := range []string{"one", "two"} {
			name := nestedName(operation.Request{StackName: strings.Repeat("s", 100), LogicalID: strings.Repeat("L", 255), Token: token})
			if !end.MatchString(name) || len(name) != 128 || seen[name] {
				t.Errorf("%q", name)
			}
			seen[name] = true
		}
	})
	t.Run("exports are separate", func(t *testing.T) {
		exported := things("A: {}") + "Outputs: {O: {Value: !Ref A, Export: {Name: shared}}}\n"
		g.create(&cloudformation.CreateStackInput{StackName: aws.String("exporter"), TemplateBody: &exported})
		for _, caller := range []struct{ account, region string }{{"210987654321", owner.Region}, {owner.Account, "us-east-1"}} {
			of := owner
			of.Account, of.Region = caller.account, caller.region
			s := &setRig{g, t, of}
			out, err := g.CreateStack(t.Context(), of, &cloudformation.CreateStackInput{StackName: aws.String("exporter"), TemplateBody: &exported})
			if err != nil {
				t.Fatal(err)
			}
			if stack := s.settledOf(*out.StackId); stack.StackStatus != types.StackStatusCreateComplete {
				t.Errorf("%v: %s %s", caller, stack.StackStatus, aws.ToString(stack.StackStatusReason))
			}
			list, err := g.ListExports(t.Context(), of, &cloudformation.ListExportsInput{})
			if err != nil || len(list.Exports) != 1 || *list.Exports[0].ExportingStackId != *out.StackId {
				t.Errorf("%v: %s %v", caller, encode(list), err)
			}
		}
	})
}

// settledOf is settled for a stack of the caller.
func (g *setRig) settledOf(id string) types.Stack {
	g.t.Helper()
	return g.settledFor(g.caller, id)
}
