package local_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/formwork-dev/formwork/local"
)

// hookSource is the function of a Lambda Hook that knows parameters and templates.
const hookSource = `
import json, urllib.request

def lambda_handler(event, context):
    data = event["requestData"]
    answer = {"hookStatus": "SUCCESS", "message": "fine", "clientRequestToken": event["clientRequestToken"]}
    if "callerCredentials" in data or event["hookModel"] != {"LambdaFunction": "check"}:
        raise ValueError(json.dumps(event["hookModel"]))
    if data["targetType"] == "STACK":
        with urllib.request.urlopen(data["payload"]) as response:
            document = json.load(response)
        if "forbidden" in document["template"]:
            answer.update(hookStatus="FAILED", errorCode="NonCompliant", message="the template is forbidden")
    elif data["targetModel"]["resourceProperties"].get("Value") == "awful":
        answer.update(hookStatus="FAILED", errorCode="NonCompliant", message="the value awful is refused", annotations=[
            {"annotationName": "Values", "status": "FAILED", "remediationMessage": "use another value"}])
    return answer
`

// TestLambdaHook runs a Lambda Hook from its stack to the stacks that it sees.
func TestLambdaHook(t *testing.T) {
	if exec.Command("python3", "--version").Run() != nil {
		t.Skip("python3 is not installed")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "app.py"), []byte(hookSource), 0o600); err != nil {
		t.Fatal(err)
	}
	server := serving(t, local.ServerConfig{Config: local.Config{Functions: []string{"check=" + dir}}})
	c := newClients(t, server.URL())
	create := func(name, body string) cfntypes.Stack {
		t.Helper()
		if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body}); err != nil {
			t.Fatal(err)
		}
		var stack cfntypes.Stack
		defer func() {
			if t.Failed() && strings.HasSuffix(string(stack.StackStatus), "IN_PROGRESS") {
				t.Logf("%s is %s; results of hooks: %s", name, stack.StackStatus, hookReasons(t, c))
			}
		}()
		eventually(t, 2*time.Minute, "the end of "+name, func() bool {
			found, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
			if err != nil {
				t.Fatal(err)
			}
			stack = found.Stacks[0]
			return !strings.HasSuffix(string(stack.StackStatus), "IN_PROGRESS")
		})
		return stack
	}
	hook := create("hooks", `{"Resources": {"H": {"Type": "AWS::CloudFormation::LambdaHook", "Properties": {"Alias": "Private::Lambda::Check", "LambdaFunction": "check",
		"ExecutionRole": "arn:aws:iam::123456789012:role/hook", "FailureMode": "FAIL", "HookStatus": "ENABLED", "TargetOperations": ["RESOURCE", "STACK"],
		"TargetFilters": {"TargetNames": ["AWS::SSM::Parameter"], "Actions": ["CREATE"]}}}}, "Outputs": {"Arn": {"Value": {"Ref": "H"}}}}`)
	if hook.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Fatalf("%s %s", hook.StackStatus, aws.ToString(hook.StackStatusReason))
	}
	describedHook(t, c, "Private::Lambda::Check", "AWS::Hooks::LambdaHook", *hook.Outputs[0].OutputValue)
	ofStack(t, c, "Private::Lambda::Check")
	parameter := func(value string) string {
		return `{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "` + value + `"}}}}`
	}
	if _, err := c.ssm.PutParameter(t.Context(), &ssm.PutParameterInput{Name: aws.String("stored"), Type: "String", Value: aws.String("awful")}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		body   string
		status cfntypes.StackStatus
		reason string // of the result
	}{
		"good":     {parameter("good"), cfntypes.StackStatusCreateComplete, "Hook succeeded with message: fine"},
		"bad":      {parameter("awful"), cfntypes.StackStatusRollbackComplete, "Hook failed with message: the value awful is refused"},
		"resolved": {parameter("{{resolve:ssm:stored}}"), cfntypes.StackStatusRollbackComplete, "Hook failed with message: the value awful is refused"},
		"template": {parameter("forbidden"), cfntypes.StackStatusRollbackComplete, "Hook failed with message: the template is forbidden"},
	} {
		stack := create(name, test.body)
		if stack.StackStatus != test.status {
			t.Errorf("%s: %s %s", name, stack.StackStatus, aws.ToString(stack.StackStatusReason))
		}
		list, err := c.ListHookResults(t.Context(), &cloudformation.ListHookResultsInput{TypeArn: hook.Outputs[0].OutputValue})
		if err != nil || len(list.HookResults) == 0 {
			t.Fatalf("%s: %+v, %v", name, list, err)
		}
		last := list.HookResults[0]
		if aws.ToString(last.HookStatusReason) != test.reason || aws.ToString(last.HookExecutionTarget) != *stack.StackId {
			t.Errorf("%s: %s on %s", name, aws.ToString(last.HookStatusReason), aws.ToString(last.HookExecutionTarget))
		}
		one, err := c.GetHookResult(t.Context(), &cloudformation.GetHookResultInput{HookResultId: last.HookResultId})
		refusedValue := name == "bad" || name == "resolved"
		if err != nil || aws.ToString(one.OriginalTypeName) != "AWS::Hooks::LambdaHook" || refusedValue != (len(one.Annotations) == 1) {
			t.Errorf("%s: %+v, %v", name, one, err)
		}
	}
}

// describedHook looks for an activated hook of the service itself in what the registry shows.
func describedHook(t *testing.T, c clients, alias, original, arn string) {
	t.Helper()
	for _, in := range []cloudformation.DescribeTypeInput{
		{Type: cfntypes.RegistryTypeHook, TypeName: &alias}, {Arn: &arn}, {Arn: aws.String(arn + "/00000001")},
	} {
		out, err := c.DescribeType(t.Context(), &in)
		if err != nil {
			t.Fatal(err)
		}
		if *out.Arn != arn+"/00000001" || *out.TypeName != alias || aws.ToString(out.OriginalTypeName) != original || out.Type != cfntypes.RegistryTypeHook ||
			aws.ToString(out.PublisherId) != "aws-hooks" || !aws.ToBool(out.IsActivated) || out.Visibility != cfntypes.VisibilityPublic ||
			aws.ToString(out.OriginalTypeArn) != "arn:aws:cloudformation:"+region+"::type/hook/aws-hooks/"+strings.ReplaceAll(original, "::", "-") {
			t.Errorf("%+v", out)
		}
	}
	for name, in := range map[string]cloudformation.DescribeTypeInput{
		"another version":   {Type: cfntypes.RegistryTypeHook, TypeName: &alias, VersionId: aws.String("00000002")},
		"another kind":      {Type: cfntypes.RegistryTypeResource, TypeName: &alias},
		"another name":      {Type: cfntypes.RegistryTypeHook, TypeName: aws.String(alias + "s")},
		"another publisher": {Type: cfntypes.RegistryTypeHook, TypeName: &alias, PublisherId: aws.String("000000000000000000000000000000000000dead")},
	} {
		if out, err := c.DescribeType(t.Context(), &in); err == nil {
			t.Errorf("%s is described: %+v", name, out)
		}
	}
	versions, err := c.ListTypeVersions(t.Context(), &cloudformation.ListTypeVersionsInput{Type: cfntypes.RegistryTypeHook, TypeName: &alias})
	if err != nil || len(versions.TypeVersionSummaries) != 1 || *versions.TypeVersionSummaries[0].Arn != arn+"/00000001" {
		t.Errorf("%+v, %v", versions, err)
	}
	for filters, want := range map[*cfntypes.TypeFilters]int{
		nil: 1, {Category: cfntypes.CategoryActivated}: 1, {Category: cfntypes.CategoryRegistered}: 0,
		{TypeNamePrefix: aws.String(alias[:len(alias)-2])}: 1, {TypeNamePrefix: aws.String("Private::Other")}: 0,
	} {
		list, err := c.ListTypes(t.Context(), &cloudformation.ListTypesInput{Type: cfntypes.RegistryTypeHook, Filters: filters})
		if err != nil || len(list.TypeSummaries) != want {
			t.Errorf("%+v: %+v, %v", filters, list, err)
			continue
		}
		if want > 0 && (*list.TypeSummaries[0].TypeName != alias || !aws.ToBool(list.TypeSummaries[0].IsActivated) || *list.TypeSummaries[0].TypeArn != arn) {
			t.Errorf("%+v: %+v", filters, list.TypeSummaries[0])
		}
	}
}

// ofStack checks that an activated hook of the service itself is changed only by its stack.
func ofStack(t *testing.T, c clients, alias string) {
	t.Helper()
	_, deactivated := c.DeactivateType(t.Context(), &cloudformation.DeactivateTypeInput{Type: cfntypes.ThirdPartyTypeHook, TypeName: &alias})
	_, configured := c.SetTypeConfiguration(t.Context(), &cloudformation.SetTypeConfigurationInput{
		Type: cfntypes.ThirdPartyTypeHook, TypeName: &alias, Configuration: aws.String(`{}`),
	})
	for _, err := range []error{deactivated, configured} {
		if err == nil || !strings.Contains(err.Error(), "The hook '"+alias+"' is a resource of a stack: change or delete it in the template of the stack.") {
			t.Errorf("%v", err)
		}
	}
}

// TestGuardHook runs rules of Guard on resources and templates, or says how to get cfn-guard.
func TestGuardHook(t *testing.T) {
	const rules = `
rule TYPED when Resources.*[ Type == 'AWS::SSM::Parameter' ] !empty {
  Resources.*[ Type == 'AWS::SSM::Parameter' ].Properties.Value != /bad/ << the value must not be bad >>
}`
	hook := `{"Resources": {"G": {"Type": "AWS::CloudFormation::GuardHook", "Properties": {"Alias": "Private::Guard::Check", "RuleLocation": {"Uri": "s3://rules/all.guard"},
		"ExecutionRole": "arn:aws:iam::123456789012:role/hook", "FailureMode": "FAIL", "HookStatus": "ENABLED", "TargetOperations": ["RESOURCE", "STACK"],
		"TargetFilters": {"TargetNames": ["AWS::SSM::Parameter"], "Actions": ["CREATE"]}}}}, "Outputs": {"Arn": {"Value": {"Ref": "G"}}}}`
	c := newClients(t, serving(t, local.ServerConfig{Config: local.Config{Environ: []string{"PATH=/nowhere"}}}).URL())
	stack := c.create(t, "guard", hook)
	if history := strings.Join(c.history(t, stack), "\n"); stack.StackStatus != cfntypes.StackStatusRollbackComplete || !strings.Contains(history, "cargo install cfn-guard") {
		t.Errorf("without cfn-guard: %s, %s", stack.StackStatus, history)
	}
	if _, err := exec.LookPath("cfn-guard"); err != nil {
		t.Skip("skipped: cfn-guard is not installed")
	}
	c = newClients(t, serving(t, local.ServerConfig{}).URL())
	must[*s3.CreateBucketOutput](t)(c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("rules"), CreateBucketConfiguration: here}))
	must[*s3.PutObjectOutput](t)(c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("rules"), Key: aws.String("all.guard"), Body: strings.NewReader(rules)}))
	if stack = c.create(t, "guard", hook); stack.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Fatalf("%s: %q", stack.StackStatus, c.history(t, stack))
	}
	describedHook(t, c, "Private::Guard::Check", "AWS::Hooks::GuardHook", *stack.Outputs[0].OutputValue)
	ofStack(t, c, "Private::Guard::Check")
	const refused = "HOOK_COMPLETE_FAILED Hook failed with message: Template failed validation, the following rule(s) failed: TYPED."
	for value, want := range map[string]struct {
		status cfntypes.StackStatus
		result string
	}{
		`"good"`:                          {cfntypes.StackStatusCreateComplete, "HOOK_COMPLETE_SUCCEEDED Hook succeeded with message: Template passed validation."},
		`"bad"`:                           {cfntypes.StackStatusRollbackComplete, refused}, // the template is refused
		`{"Fn::Join": ["", ["b", "ad"]]}`: {cfntypes.StackStatusRollbackComplete, refused}, // the resource is
	} {
		stack := c.create(t, "s"+fmt.Sprint(len(value)), `{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": `+value+`}}}}`)
		if reasons := hookReasons(t, c); stack.StackStatus != want.status || !strings.HasPrefix(reasons, want.result) {
			t.Errorf("%s: %s, results %s", value, stack.StackStatus, reasons)
		}
	}
}

// hookReasons are the reasons of all results, the newest first.
func hookReasons(t *testing.T, c clients) string {
	t.Helper()
	list, err := c.ListHookResults(t.Context(), &cloudformation.ListHookResultsInput{})
	if err != nil {
		return err.Error()
	}
	var reasons []string
	for _, r := range list.HookResults {
		reasons = append(reasons, string(r.Status)+" "+aws.ToString(r.HookStatusReason))
	}
	return strings.Join(reasons, "; ")
}
