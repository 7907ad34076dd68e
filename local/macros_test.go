package local_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/formwork-dev/formwork/local"
)

const macroSource = `
def lambda_handler(event, context):
    print("transform", event["transformId"], event["templateParameterValues"])
    do = event["params"].get("Do", "upper")
    answer = {"requestId": event.get("requestId"), "status": "success", "fragment": event.get("fragment")}
    if do == "fail":
        answer = {"requestId": event["requestId"], "status": "failure", "errorMessage": "failed because it is a test"}
    elif do == "raise":
        raise ValueError("raised")
    elif do == "malformed":
        answer = {"fragment": {}}
    else:
        for r in event["fragment"].get("Resources", {}).values():
            r["Properties"]["Value"] = r["Properties"]["Value"].upper()
    return answer
`

// TestMacros runs a macro in Python from its stack to the resources of another one.
func TestMacros(t *testing.T) {
	if exec.Command("python3", "--version").Run() != nil {
		t.Skip("python3 is not installed")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "app.py"), []byte(macroSource), 0o600); err != nil {
		t.Fatal(err)
	}
	server := serving(t, local.ServerConfig{Config: local.Config{Functions: []string{"upper=" + dir}}})
	c := newClients(t, server.URL())

	out, err := c.lambda.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("upper"),
		Payload: []byte(`{"requestId": "r", "transformId": "direct", "templateParameterValues": {}, "params": {}, "fragment": {}}`)})
	if err != nil || string(out.Payload) != `{"requestId": "r", "status": "success", "fragment": {}}` {
		t.Fatalf("the function answered %s, %v", out.Payload, err)
	}
	create := func(name, body string) (cfntypes.Stack, error) {
		t.Helper()
		_, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body,
			Capabilities: []cfntypes.Capability{cfntypes.CapabilityCapabilityAutoExpand}})
		if err != nil {
			return cfntypes.Stack{}, err
		}
		var stack cfntypes.Stack
		eventually(t, 30*time.Second, "the end of "+name, func() bool {
			found, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
			if err != nil {
				t.Fatal(err)
			}
			stack = found.Stacks[0]
			return !strings.HasSuffix(string(stack.StackStatus), "IN_PROGRESS")
		})
		return stack, nil
	}
	stack, err := create("macros", `{"Resources": {"M": {"Type": "AWS::CloudFormation::Macro", "Properties": {"Name": "Upper", "FunctionName": "upper"}}}}`)
	if err != nil || stack.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Fatalf("%+v, %v", stack, err)
	}
	using := func(do string) string {
		transform, err := json.Marshal(map[string]any{"Name": "Upper", "Parameters": map[string]string{"Do": do}})
		if err != nil {
			t.Fatal(err)
		}
		return `{"Transform": ` + string(transform) + `, "Parameters": {"Pw": {"Type": "String", "NoEcho": true, "Default": "hunter2222"}},
			"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "p", "Type": "String", "Value": "quiet"}}}}`
	}
	stack, err = create("uses", using("upper"))
	if err != nil || stack.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Fatalf("%s %s, %v", stack.StackStatus, aws.ToString(stack.StackStatusReason), err)
	}
	p, err := c.ssm.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("p")})
	if err != nil || aws.ToString(p.Parameter.Value) != "QUIET" {
		t.Errorf("the parameter is %+v, %v", p, err)
	}
	for do, want := range map[string]string{
		"fail":      "Transform " + account + "::Upper failed with: failed because it is a test",
		"raise":     "Received malformed response from transform " + account + "::Upper",
		"malformed": "Received malformed response from transform " + account + "::Upper",
	} {
		stack, err := create("uses-"+do, using(do))
		if reason := rollbackReason(t, c, "uses-"+do); err != nil || stack.StackStatus != cfntypes.StackStatusRollbackComplete || reason != want+". Rollback requested by user." {
			t.Errorf("%s: %v, %s, %q; want %s", do, err, stack.StackStatus, reason, want)
		}
	}
	url := server.URL()
	logs := cloudwatchlogs.New(cloudwatchlogs.Options{BaseEndpoint: &url, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "any", "")})
	logged := ""
	eventually(t, time.Minute, "the log of the function", func() bool {
		found, err := logs.FilterLogEvents(t.Context(), &cloudwatchlogs.FilterLogEventsInput{LogGroupName: aws.String("/aws/lambda/upper")})
		if err != nil {
			return false
		}
		logged = ""
		for _, e := range found.Events {
			logged += aws.ToString(e.Message) + "\n"
		}
		return strings.Count(logged, "transform "+account+"::Upper") == 4
	})
	if strings.Contains(logged, "hunter2222") {
		t.Errorf("a NoEcho parameter is in the log:\n%s", logged)
	}
}

// rollbackReason is why a stack is rolled back.
func rollbackReason(t *testing.T, c clients, stack string) string {
	t.Helper()
	out, err := c.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &stack})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out.StackEvents {
		if e.ResourceStatus == cfntypes.ResourceStatusRollbackInProgress {
			return aws.ToString(e.ResourceStatusReason)
		}
	}
	return ""
}
