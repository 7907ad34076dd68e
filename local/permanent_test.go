package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/local"
)

const namedSchema = `{
	"typeName": "Acme::Named::Thing", "description": "d", "additionalProperties": false, "properties": {"Name": {"type": "string"}},
	"primaryIdentifier": ["/properties/Name"], "createOnlyProperties": ["/properties/Name"],
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}}
}`

// TestUnstorableTemplates creates stacks from templates with what a database cannot keep: they are
// refused, or fail with a reason, and can be deleted. Both databases behave the same.
func TestUnstorableTemplates(t *testing.T) {
	parameter := func(value any) map[string]any {
		return map[string]any{"R": map[string]any{"Type": "AWS::SSM::Parameter", "Properties": map[string]any{"Type": "String", "Value": value}}}
	}
	set := map[string]any{
		"StackSetName": "set", "PermissionModel": "SELF_MANAGED", "Description": "a\x00b", "TemplateBody": encoded(map[string]any{"Resources": parameter("x")}),
	}
	tests := map[string]struct {
		template map[string]any
		refused  string // at the call
		reason   string // of a failure
	}{
		"description": {template: map[string]any{"Description": "a\x00b", "Resources": parameter("x")}, refused: "[/Description] the character U+0000 is not allowed in templates"},
		"import":      {template: map[string]any{"Resources": parameter(map[string]any{"Fn::ImportValue": "a\x00b"})}, refused: "[/Resources/R/Properties/Value/Fn::ImportValue] the character U+0000 is not allowed in templates"},
		"property": {
			template: map[string]any{"Resources": map[string]any{"R": map[string]any{"Type": "AWS::CloudFormation::StackSet", "Properties": set}}},
			reason:   "Properties validation failed for resource R with message:\n#/Description: the character U+0000 is not allowed",
		},
		"identifier": {
			template: map[string]any{"Resources": map[string]any{"R": map[string]any{"Type": "Acme::Named::Thing", "Properties": map[string]any{"Name": strings.Repeat("x", 5000)}}}},
			reason:   "The primary identifier of Acme::Named::Thing has 5000 bytes; at most 2048 are allowed.",
		},
	}
	for _, where := range fixtures.Stores(t) {
		t.Run(where.Name, func(t *testing.T) {
			if where.Dir == "" {
				where.Dir = t.TempDir()
			}
			schema := filepath.Join(t.TempDir(), "acme-named-thing.json")
			if err := os.WriteFile(schema, []byte(namedSchema), 0o600); err != nil {
				t.Fatal(err)
			}
			server := serving(t, local.ServerConfig{Config: local.Config{Dir: where.Dir, Database: where.DSN, Simulate: []string{"Acme::Named::*"}}})
			place{url: server.URL(), account: account}.importTypes(t, schema)
			c := newClients(t, server.URL())
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					out, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(encoded(test.template))})
					if test.refused != "" {
						refusedWith(t, err, test.refused)
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					ends := func(status cfntypes.StackStatus) {
						t.Helper()
						eventually(t, time.Minute, string(status), func() bool {
							stacks, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: out.StackId})
							if err != nil {
								t.Fatal(err)
							}
							return stacks.Stacks[0].StackStatus == status
						})
					}
					ends(cfntypes.StackStatusRollbackComplete)
					events, err := c.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: out.StackId})
					if err != nil {
						t.Fatal(err)
					}
					reasons := ""
					for _, e := range events.StackEvents {
						reasons += aws.ToString(e.ResourceStatusReason) + "\n"
					}
					if !strings.Contains(reasons, test.reason) {
						t.Errorf("the reasons are %s\nwant %s", reasons, test.reason)
					}
					if _, err := c.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: out.StackId}); err != nil {
						t.Fatal(err)
					}
					ends(cfntypes.StackStatusDeleteComplete)
				})
			}
		})
	}
}
