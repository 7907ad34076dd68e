package stack

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

// TestDanglingParameters creates and updates stacks whose parameters have to name something:
// those that name nothing roll back before any resource is touched.
func TestDanglingParameters(t *testing.T) {
	vpc := typeOf(t, strings.ReplaceAll(fixtures.Thing, "Acme::Test::Thing", "AWS::EC2::VPC"))
	for name, test := range map[string]struct {
		typ, value string
		read       behavior
		missing    string
		secret     bool
	}{
		"a parameter":                        {typ: "AWS::SSM::Parameter::Name", value: "/there"},
		"no parameter":                       {typ: "AWS::SSM::Parameter::Name", value: "/gone", missing: "/gone"},
		"no zone of a list":                  {typ: "List<AWS::EC2::AvailabilityZone::Name>", value: "eu-west-1a, us-east-1a", missing: "us-east-1a"},
		"a secret name":                      {typ: "AWS::SSM::Parameter::Name", value: "/gone", missing: "****", secret: true},
		"a resource":                         {typ: "AWS::EC2::VPC::Id", value: "vpc-1"},
		"no resource":                        {typ: "AWS::EC2::VPC::Id", value: "vpc-2", missing: "vpc-2"},
		"no resource of a list":              {typ: "List<AWS::EC2::VPC::Id>", value: "vpc-1,vpc-2", missing: "vpc-2"},
		"a resource that cannot be read":     {typ: "AWS::EC2::VPC::Id", value: "vpc-2", read: behavior{code: "AccessDenied"}},
		"a resource that does not answer":    {typ: "AWS::EC2::VPC::Id", value: "vpc-2", read: behavior{forever: true}},
		"a type that the server lacks":       {typ: "AWS::EC2::Subnet::Id", value: "subnet-1"},
		"an image, which no type stands for": {typ: "AWS::EC2::Image::Id", value: "ami-1"},
		"a zone":                             {typ: "AWS::EC2::AvailabilityZone::Name", value: "eu-west-1c"},
		"a zone of another region":           {typ: "AWS::EC2::AvailabilityZone::Name", value: "us-east-1a", missing: "us-east-1a"},
		"text":                               {typ: "String", value: "/gone"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *rig) {
				g.world.types[vpc.Name] = &operation.Type{Name: vpc.Name, Schema: vpc.Schema, Provider: g.world}
				g.world.things["vpc-1"], g.world.values["/there"] = map[string]any{"Id": "vpc-1"}, "v"
				g.world.script("READ ", test.read)
				body := "Parameters: {P: {Type: '" + test.typ + "', NoEcho: " + map[bool]string{true: "true", false: "false"}[test.secret] + "}}\n" +
					things("A: {Properties: {Note: n}}")
				given := []types.Parameter{{ParameterKey: aws.String("P"), ParameterValue: aws.String(test.value)}}
				n, first := 0, "s CREATE_IN_PROGRESS (User Initiated)"
				want := []string{"s ROLLBACK_IN_PROGRESS (Parameter validation failed: parameter value " + test.missing + " for parameter name P does not exist. Rollback requested by user.)", "s ROLLBACK_COMPLETE"}
				s := g.create(&cloudformation.CreateStackInput{TemplateBody: &body, Parameters: given})
				if test.missing != "" {
					g.expect(*s.StackId, n, append([]string{first}, want...)...)
				} else if s.StackStatus != types.StackStatusCreateComplete {
					t.Errorf("status %s (%s)", s.StackStatus, aws.ToString(s.StackStatusReason))
				}
			})
		})
	}
	inBubble(t, func(g *rig) {
		g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: n}}"))})
		n := len(g.story("s"))
		g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String("Parameters: {P: {Type: 'AWS::SSM::Parameter::Name', Default: /gone}}\n" + things("A: {Properties: {Note: !Ref P}}"))})
		g.expect("s", n, "s UPDATE_IN_PROGRESS (User Initiated)",
			"s UPDATE_ROLLBACK_IN_PROGRESS (Parameter validation failed: parameter value /gone for parameter name P does not exist. Rollback requested by user.)",
			"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_ROLLBACK_COMPLETE")
	})
}
