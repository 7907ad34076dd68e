package local_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/local"
)

// officialHook is a hook on the official library. It answers with what it has been sent.
const officialHook = `
import os, sys
sys.path.append(os.environ["OFFICIAL_LIBRARY"])
from cloudformation_cli_python_lib import HandlerErrorCode, Hook, HookInvocationPoint, OperationStatus, ProgressEvent


class Model:
    @classmethod
    def _deserialize(cls, data):
        return data


hook = Hook("Acme::Official::Hook", Model)
handler = hook.__call__


@hook.handler(HookInvocationPoint.CREATE_PRE_PROVISION)
def create(session, request, callback, configuration):
    context = request.hookContext
    account = session.client("sts").get_caller_identity()["Account"]
    model = context.targetModel
    seen = len(model["template"] if context.targetType == "STACK" else model["resourceProperties"]["Value"])
    return ProgressEvent(status=OperationStatus.SUCCESS, message=f"{context.targetName} in {account}: {seen}, {configuration['Limit']}")
`

// TestOfficialHookLibrary runs a hook on the official Python library: it takes the credentials, which
// are plain JSON as there is no key to encrypt them, and fetches the payload of a stack whose template
// is far larger than any request.
func TestOfficialHookLibrary(t *testing.T) {
	python := os.Getenv("FORMWORK_OFFICIAL_PYTHON")
	if python == "" {
		t.Skip("skipped: FORMWORK_OFFICIAL_PYTHON does not name a Python with the official library")
	}
	program(t, python, "-c", "import cloudformation_cli_python_lib")
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), python, "-c", `import sys, sysconfig; print("python%d.%d" % sys.version_info[:2], sysconfig.get_paths()["purelib"])`).Output()
	if err != nil {
		t.Fatal(err)
	}
	version, library, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	c := newClients(t, startWith(t, local.Config{Dir: t.TempDir(), Mounts: []string{library}, HandlerEnv: []string{"OFFICIAL_LIBRARY=" + library}}))
	location := c.put(t, "hook.zip", zipOf(t,
		".rpdk-config", fmt.Appendf(nil, `{"artifact_type": "HOOK", "typeName": "Acme::Official::Hook", "language": "python39", "runtime": %q, "entrypoint": "app.handler", "settings": {"protocolVersion": "2.0.0"}}`, version),
		"schema.json", []byte(`{"typeName": "Acme::Official::Hook", "description": "d", "typeConfiguration": {"properties": {"Limit": {"type": "string"}}, "additionalProperties": false},
			"required": [], "additionalProperties": false, "handlers": {"preCreate": {"targetNames": ["AWS::SSM::Parameter", "STACK"], "permissions": []}}}`),
		"configuration-schema.json", []byte(`{"properties": {"Limit": {"type": "string"}}, "additionalProperties": false}`),
		"target-info.json", []byte(`{}`),
		"ResourceProvider.zip", zipOf(t, "app.py", []byte(officialHook))))
	c.deploy(t, "hook", `{"Parameters": {"Package": {"Type": "String"}}, "Resources": {
		"Version": {"Type": "AWS::CloudFormation::HookVersion", "Properties": {"TypeName": "Acme::Official::Hook", "SchemaHandlerPackage": {"Ref": "Package"}}},
		"Config": {"Type": "AWS::CloudFormation::HookTypeConfig", "DependsOn": "Version", "Properties": {"TypeName": "Acme::Official::Hook",
			"Configuration": "{\"CloudFormationConfiguration\": {\"HookConfiguration\": {\"TargetStacks\": \"ALL\", \"FailureMode\": \"FAIL\", \"Properties\": {\"Limit\": \"7\"}}}}"}}}}`,
		map[string]string{"Package": location}, cfntypes.StackStatusCreateComplete)

	large := `{"Metadata": {"Text": "` + strings.Repeat("0123456789", 90_000) + `"}, "Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "here"}}}}`
	c.put(t, "large.json", []byte(large))
	if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("large"), TemplateURL: aws.String("https://" + shelf + ".s3.us-east-1.amazonaws.com/large.json")}); err != nil {
		t.Fatal(err)
	}
	stack := c.ended(t, "large")
	list, err := c.ListHookResults(t.Context(), &cloudformation.ListHookResultsInput{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, result := range list.HookResults {
		if aws.ToString(result.HookExecutionTarget) == aws.ToString(stack.StackId) {
			got[aws.ToString(result.HookStatusReason)] = true
		}
	}
	for _, want := range []string{
		fmt.Sprintf("Hook succeeded with message: STACK in %s: %d, 7", account, len(large)),
		fmt.Sprintf("Hook succeeded with message: AWS::SSM::Parameter in %s: 4, 7", account),
	} {
		if !got[want] {
			t.Errorf("no result %q in %v", want, got)
		}
	}
	if stack.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Errorf("%s: %s", stack.StackStatus, aws.ToString(stack.StackStatusReason))
	}
}
