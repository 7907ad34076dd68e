package stack

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// TestRefOfSeveralIdentifiers: Ref and the physical id of a type with several identifiers are the one that AWS documents, and
// handlers get all of them.
func TestRefOfSeveralIdentifiers(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.world.knows(t, strings.ReplaceAll(fixtures.Thing, "Acme::Test::Thing", stageType))
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(
		things("Stage: {Type: '"+stageType+"', Properties: {Name: 'a1bcdef2gh|prod'}}", "A: {Properties: {Note: !Ref Stage}}") + "Outputs: {Stage: {Value: !Ref Stage}}\n")})
	g.expectStatus(s, types.StackStatusCreateComplete, "")
	if len(s.Outputs) != 1 || *s.Outputs[0].OutputValue != "prod" {
		t.Errorf("outputs %s", encode(s.Outputs))
	}
	if note := g.world.things["a-1"]["Note"]; note != "prod" {
		t.Errorf("another resource got %v", note)
	}
	found, err := g.DescribeStackResources(t.Context(), owner, &cloudformation.DescribeStackResourcesInput{PhysicalResourceId: aws.String("prod")})
	if err != nil || len(found.StackResources) != 2 || aws.ToString(found.StackResources[1].PhysicalResourceId) != "prod" {
		t.Errorf("%s, %v", encode(found), err)
	}
	for _, other := range []string{"rod", "a1bcdef2gh", "%"} {
		_, err := g.DescribeStackResources(t.Context(), owner, &cloudformation.DescribeStackResourcesInput{PhysicalResourceId: &other})
		if got := refusal(t, err); got != "ValidationError: Stack for "+other+" does not exist" {
			t.Errorf("%s: %s", other, got)
		}
	}
	events, err := g.DescribeStackEvents(t.Context(), owner, &cloudformation.DescribeStackEventsInput{StackName: s.StackId})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.StackEvents {
		if id := aws.ToString(e.PhysicalResourceId); strings.Contains(id, "|") {
			t.Errorf("an event has the physical id %s", id)
		}
	}
	g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
	if len(g.world.things) > 0 {
		t.Errorf("left after the delete: %v", g.world.things)
	}
}

// TestStackOfARule: a rule of a bus is found by its Ref, which is no part of its physical id.
func TestStackOfARule(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.world.knows(t, strings.ReplaceAll(fixtures.Thing, "Acme::Test::Thing", ruleType))
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("Rule: {Type: '" + ruleType + "', Properties: {Name: 'arn:aws:events:eu-west-1:111122223333:rule/shop/nightly'}}"))})
	g.expectStatus(s, types.StackStatusCreateComplete, "")
	found, err := g.DescribeStackResources(t.Context(), owner, &cloudformation.DescribeStackResourcesInput{PhysicalResourceId: aws.String("shop|nightly")})
	if err != nil || len(found.StackResources) != 1 || aws.ToString(found.StackResources[0].LogicalResourceId) != "Rule" {
		t.Errorf("%s, %v", encode(found), err)
	}
}

// TestWriteOnlyAttributes: what can only be written cannot be read from a resource.
func TestWriteOnlyAttributes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ template, reason string }{
		"an output":            {things("A: {Properties: {Secret: s3cret}}") + "Outputs: {O: {Value: !GetAtt A.Secret}}\n", "[Error] /Outputs/O/Value/Fn::GetAtt: "},
		"a part of a text":     {things("A: {Properties: {Secret: s3cret}}") + "Outputs: {O: {Value: !Sub '${A.Secret}'}}\n", "[Error] /Outputs/O/Value/Fn::GetAtt: "},
		"another resource":     {things("A: {Properties: {Secret: s3cret}}", "B: {Properties: {Note: !GetAtt A.Secret}}"), "[Error] /Resources/B/Properties/Note/Fn::GetAtt: "},
		"a name in a variable": {"Parameters: {N: {Type: String, Default: Secret}}\n" + things("A: {Properties: {Secret: s3cret}}") + "Outputs: {O: {Value: {Fn::GetAtt: [A, !Ref N]}}}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := onSQLite(t)
			s := g.create(&cloudformation.CreateStackInput{TemplateBody: &test.template})
			if s.StackStatus != types.StackStatusRollbackComplete || len(s.Outputs) > 0 {
				t.Fatalf("%s, outputs %s", s.StackStatus, encode(s.Outputs))
			}
			events, err := g.DescribeStackEvents(t.Context(), owner, &cloudformation.DescribeStackEventsInput{StackName: s.StackId})
			if err != nil {
				t.Fatal(err)
			}
			if all := encode(events.StackEvents); !strings.Contains(all, test.reason+"Resource type Acme::Test::Thing does not support attribute {Secret}.") || strings.Contains(all, `"OutputValue"`) {
				t.Error(all)
			}
		})
	}
}
