package registry

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// TestHookSettings holds configurations of hooks against what the service takes, which is more
// than DescribeType describes.
func TestHookSettings(t *testing.T) {
	v := &Version{Kind: schema.Hook, TypeName: "Acme::Test::Hook", SchemaName: "Acme::Test::Hook"}
	v.Region = "eu-west-1"
	described, err := describedConfigurationSchema(v.Kind, v.SchemaName, "", v.Region)
	if err != nil || strings.Contains(described, "HookInvocationStatus") {
		t.Errorf("described: %v\n%s", err, described)
	}
	for text, fault := range map[string]string{
		`{"TargetStacks": "ALL", "FailureMode": "FAIL"}`:                                                                                      "",
		`{"HookInvocationStatus": "ENABLED", "TargetOperations": ["STACK", "CLOUD_CONTROL"], "FailureMode": "WARN"}`:                          "",
		`{"HookInvocationStatus": "ENABLED", "FailureMode": "WARN", "EncryptionConfiguration": {"KmsKeyId": "alias/k"}}`:                      "",
		`{"TargetStacks": "ALL", "FailureMode": "FAIL", "StackFilters": {"FilteringCriteria": "ALL", "StackNames": {"Include": ["shop-*"]}}}`: "",
		`{"TargetStacks": "ALL", "FailureMode": "FAIL", "TargetFilters": {"Actions": ["Create", "UPDATE"]}}`:                                  "",
		`{"FailureMode": "WARN"}`:                               "HookConfiguration",
		`{"TargetStacks": "ALL"}`:                               "FailureMode",
		`{"HookInvocationStatus": "ON", "FailureMode": "WARN"}`: "HookInvocationStatus",
		`{"HookInvocationStatus": "ENABLED", "TargetOperations": ["ALL"], "FailureMode": "WARN"}`: "TargetOperations",
		`{"TargetStacks": "ALL", "FailureMode": "FAIL", "Other": 1}`:                              "Other",
	} {
		err := checkConfiguration(v, `{"CloudFormationConfiguration": {"HookConfiguration": `+text+`}}`)
		if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", text, err, fault)
		}
	}
}
