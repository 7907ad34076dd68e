package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// canaryHookVar makes the test binary the handler of a hook, and canaryFunctionVar a function of
// custom resources and macros. Both print all they know. The value of the second is the secret
// that its responses have.
const (
	canaryHookVar     = "FORMWORK_TEST_CANARY_HOOK"
	canaryFunctionVar = "FORMWORK_TEST_CANARY_FUNCTION"
	canaryHook        = "Acme::Canary::Guard"
)

func init() {
	if os.Getenv(canaryHookVar) != "" {
		awslambda.Start(func(_ context.Context, event json.RawMessage) (any, error) {
			printAll(string(event))
			return map[string]any{"hookStatus": "FAILED", "errorCode": "NonCompliant", "message": "refused " + secretsOf(event)}, nil
		})
	}
	if secret := os.Getenv(canaryFunctionVar); secret != "" {
		awslambda.Start(func(ctx context.Context, event json.RawMessage) (any, error) {
			printAll(string(event))
			return canaryFunction(ctx, event, secret)
		})
	}
}

// printAll prints a text as it is, and quoted.
func printAll(text string) {
	fmt.Println(text)
	fmt.Fprintf(os.Stderr, "%q\n", text)
}

// secretsOf are the strings of a document that are canaries.
func secretsOf(document []byte) string {
	var found []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		case string:
			if strings.Contains(v, "Canary") {
				found = append(found, v)
			}
		}
	}
	var v any
	if json.Unmarshal(document, &v) == nil {
		walk(v)
	}
	return strings.Join(found, " ")
}

// canaryFunction expands macros to what they are given, and provides custom resources.
func canaryFunction(ctx context.Context, event json.RawMessage, secret string) (any, error) {
	var request struct {
		RequestID string          `json:"requestId"`
		Fragment  json.RawMessage `json:"fragment"`

		RequestType, ResponseURL, StackId, RequestId, LogicalResourceId string //nolint:revive // the names of the protocol
		ResourceProperties                                              map[string]any
	}
	if err := json.Unmarshal(event, &request); err != nil {
		return nil, err
	}
	if request.ResponseURL == "" {
		return map[string]any{"requestId": request.RequestID, "status": "success", "fragment": request.Fragment}, nil
	}
	answer := map[string]any{"Status": "SUCCESS", "PhysicalResourceId": "made-" + request.LogicalResourceId, "StackId": request.StackId, "RequestId": request.RequestId,
		"LogicalResourceId": request.LogicalResourceId, "NoEcho": true, "Data": map[string]any{"Password": secret}}
	if request.ResourceProperties["Do"] == "fail" && request.RequestType != "Delete" {
		answer["Status"], answer["Reason"] = "FAILED", fmt.Sprint("cannot use ", request.ResourceProperties["Password"], " ", secret)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	put, err := http.NewRequestWithContext(ctx, http.MethodPut, request.ResponseURL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(put)
	if err != nil {
		return nil, errors.New("the response cannot be sent: " + err.Error())
	}
	defer response.Body.Close()
	fmt.Println("answered", response.Status) // what is printed of a secret that was just made is nobody's but the function's
	return nil, nil
}

// canaryProgram is a folder with a program that is the test binary with a variable set.
func canaryProgram(t *testing.T, variable, value string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "function")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bootstrap"), canaryScript(t, variable, value), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func canaryScript(t *testing.T, variable, value string) []byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "#!/bin/sh\n%s='%s' exec '%s'\n", variable, strings.ReplaceAll(value, "'", `'\''`), self)
}

// registerCanaryHook registers a hook that sees the type of the canaries, and configures it.
func registerCanaryHook(t *testing.T, c clients, key string) {
	t.Helper()
	data := zipped(t,
		entry{name: ".rpdk-config", data: []byte(`{"artifact_type": "HOOK", "typeName": "` + canaryHook + `", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`)},
		entry{name: "schema.json", data: []byte(`{"typeName": "` + canaryHook + `", "description": "A guard", "additionalProperties": false,
			"typeConfiguration": {"additionalProperties": false, "properties": {"ApiKey": {"type": "string"}}},
			"handlers": {"preCreate": {"targetNames": ["` + canaryType + `", "AWS::SSM::Parameter"], "permissions": []}}}`)},
		entry{name: "HookProvider.zip", data: zipped(t, entry{name: "bootstrap", data: canaryScript(t, canaryHookVar, "yes")})},
	)
	if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("canaries"), Key: aws.String("hook.zip"), Body: bytes.NewReader(data)}); err != nil {
		t.Fatal(err)
	}
	out, err := c.RegisterType(t.Context(), &cloudformation.RegisterTypeInput{Type: cfntypes.RegistryTypeHook, TypeName: aws.String(canaryHook), SchemaHandlerPackage: aws.String("s3://canaries/hook.zip"),
		ExecutionRoleArn: aws.String("arn:aws:iam::" + account + ":role/Runner")})
	if err != nil {
		t.Fatal(err)
	}
	registered(t, c, *out.RegistrationToken, time.Minute)
	configuration, err := json.Marshal(map[string]any{"CloudFormationConfiguration": map[string]any{"HookConfiguration": map[string]any{
		"HookInvocationStatus": "ENABLED", "TargetOperations": []string{"RESOURCE", "CLOUD_CONTROL"}, "FailureMode": "WARN", "Properties": map[string]string{"ApiKey": key}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SetTypeConfiguration(t.Context(), &cloudformation.SetTypeConfigurationInput{
		Type: cfntypes.ThirdPartyTypeHook, TypeName: aws.String(canaryHook), Configuration: aws.String(string(configuration)),
	}); err != nil {
		t.Fatal(err)
	}
}

// canaryStacks are stacks with custom resources, a macro and a nested stack, all of which are given
// secrets.
func canaryStacks(t *testing.T, c clients, address string, plant func(string) string, shown map[string]string) {
	t.Helper()
	const token = `"ServiceToken": "arn:aws:lambda:` + region + `:` + account + `:function:canary"`
	const secret = `"Parameters": {"Hidden": {"Type": "String", "NoEcho": true}}, `
	nested := `{` + secret + `"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Ref": "Hidden"}}}}}`
	if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("canaries"), Key: aws.String("nested.json"), Body: strings.NewReader(nested)}); err != nil {
		t.Fatal(err)
	}
	for _, stack := range []struct {
		name, body string
		status     cfntypes.StackStatus
	}{
		{"canarymacro", `{"Resources": {"M": {"Type": "AWS::CloudFormation::Macro", "Properties": {"Name": "Canary", "FunctionName": "canary"}}}}`, cfntypes.StackStatusCreateComplete},
		{"custom", `{"Transform": "Canary", ` + secret + `"Resources": {
			"Made": {"Type": "Custom::Thing", "Properties": {` + token + `, "Password": {"Ref": "Hidden"}}},
			"User": {"Type": "Custom::User", "Properties": {` + token + `, "Password": {"Fn::Sub": "x-${Made.Password}"}}},
			"Typed": {"Type": "` + canaryType + `", "Properties": {"Name": "crst", "Do": "work", "Label": {"Fn::GetAtt": ["Made", "Password"]}}},
			"Stored": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::GetAtt": ["Made", "Password"]}}},
			"Nested": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "https://s3.amazonaws.com/canaries/nested.json", "Parameters": {"Hidden": {"Ref": "Hidden"}}}}},
			"Outputs": {"Password": {"Value": {"Fn::GetAtt": ["Made", "Password"]}}}}`, cfntypes.StackStatusCreateComplete},
		{"customfails", `{` + secret + `"Resources": {
			"Fails": {"Type": "Custom::Thing", "Properties": {` + token + `, "Password": {"Ref": "Hidden"}, "Do": "fail"}}}}`, cfntypes.StackStatusRollbackComplete},
	} {
		input := &cloudformation.CreateStackInput{StackName: &stack.name, TemplateBody: &stack.body, Capabilities: []cfntypes.Capability{cfntypes.CapabilityCapabilityAutoExpand}}
		if strings.Contains(stack.body, "Hidden") {
			input.Parameters = []cfntypes.Parameter{{ParameterKey: aws.String("Hidden"), ParameterValue: aws.String(plant("NoEcho" + stack.name))}}
		}
		if _, err := c.CreateStack(t.Context(), input); err != nil {
			t.Fatal(err)
		}
		if out := c.ended(t, stack.name); out.StackStatus != stack.status {
			t.Errorf("%s: %s, %q", stack.name, out.StackStatus, c.history(t, out))
		}
		canaryStack(t, c, stack.name, shown)
	}
	canaryHookResults(t, c, address, shown)
}

// canaryStack adds what operations answer about a stack.
func canaryStack(t *testing.T, c clients, name string, shown map[string]string) {
	t.Helper()
	keep := func(operation string, out any, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s %s: %v", operation, name, err)
			return
		}
		text, err := json.Marshal(out)
		if err != nil {
			t.Error(err)
		}
		shown[operation+" "+name] = string(text)
	}
	stacks, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	keep("DescribeStacks", stacks, err)
	events, err := c.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &name})
	keep("DescribeStackEvents", events, err)
	resources, err := c.DescribeStackResources(t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: &name})
	keep("DescribeStackResources", resources, err)
	for _, stage := range []cfntypes.TemplateStage{cfntypes.TemplateStageOriginal, cfntypes.TemplateStageProcessed} {
		template, err := c.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: &name, TemplateStage: stage})
		keep("GetTemplate "+string(stage), template, err)
	}
}

// canaryHookResults adds the results of the hook, and what it and the function have logged.
func canaryHookResults(t *testing.T, c clients, address string, shown map[string]string) {
	t.Helper()
	list, err := c.ListHookResults(t.Context(), &cloudformation.ListHookResultsInput{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.HookResults) < 5 {
		t.Errorf("the hook has %d results", len(list.HookResults))
	}
	text, err := json.Marshal(list)
	shown["ListHookResults"] = fmt.Sprint(string(text), err)
	for i, result := range list.HookResults {
		one, err := c.GetHookResult(t.Context(), &cloudformation.GetHookResultInput{HookResultId: result.HookResultId})
		text, encodeErr := json.Marshal(one)
		shown[fmt.Sprint("GetHookResult ", i)] = fmt.Sprint(string(text), err, encodeErr)
	}
	configured, err := c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: cfntypes.RegistryTypeHook, TypeName: aws.String(canaryHook)})
	text, encodeErr := json.Marshal(configured)
	shown["DescribeType of the hook"] = fmt.Sprint(string(text), err, encodeErr)
	logs := cloudwatchlogs.New(cloudwatchlogs.Options{BaseEndpoint: &address, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", "")})
	for _, group := range []string{"/aws/lambda/canary", "/aws/lambda/Acme-Canary-Guard"} {
		eventually(t, time.Minute, "the log "+group, func() bool {
			lines, err := logs.FilterLogEvents(t.Context(), &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group})
			text, encodeErr := json.Marshal(lines)
			shown["the log "+group] = fmt.Sprint(string(text), err, encodeErr)
			return err == nil && len(lines.Events) > 3
		})
	}
	response, err := http.Get(address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	shown["/metrics"] = fmt.Sprint(string(metrics), err)
}
