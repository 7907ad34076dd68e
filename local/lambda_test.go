package local_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/local"
)

const inlinePython = `
import os, cfnresponse
def handler(event, context):
    size = event["ResourceProperties"]["Size"]
    print("size", size, context.function_name, os.environ["GREETING"])
    if size == "0":
        return cfnresponse.send(event, context, cfnresponse.FAILED, {}, "inline-thing", reason="no size")
    cfnresponse.send(event, context, cfnresponse.SUCCESS, {"Address": os.environ["GREETING"] + "-" + size}, "inline-thing")
`

const inlineNode = `
const response = require('cfn-response');
exports.handler = (event, context) => {
  const size = event.ResourceProperties.Size;
  console.log('size', size, context.functionName, process.env.GREETING);
  if (size === '0') return response.send(event, context, response.FAILED, {}, 'inline-thing');
  response.send(event, context, response.SUCCESS, { Address: process.env.GREETING + '-' + size }, 'inline-thing');
};
`

// lambdaTemplate has a function with its role, a version and an alias, and a custom resource.
func lambdaTemplate(t *testing.T, runtime string, code any, size int, greeting string) string {
	t.Helper()
	att := func(name, attribute string) map[string]any {
		return map[string]any{"Fn::GetAtt": []string{name, attribute}}
	}
	text, err := json.Marshal(map[string]any{
		"Resources": map[string]any{
			"Role":    map[string]any{"Type": "AWS::IAM::Role", "Properties": map[string]any{"AssumeRolePolicyDocument": map[string]any{"Version": "2012-10-17"}, "ManagedPolicyArns": []string{"arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"}}},
			"Policy":  map[string]any{"Type": "AWS::IAM::Policy", "Properties": map[string]any{"PolicyName": "p", "PolicyDocument": map[string]any{"Version": "2012-10-17"}, "Roles": []any{map[string]any{"Ref": "Role"}}}},
			"Managed": map[string]any{"Type": "AWS::IAM::ManagedPolicy", "Properties": map[string]any{"PolicyDocument": map[string]any{"Version": "2012-10-17"}}},
			"Function": map[string]any{"Type": "AWS::Lambda::Function", "Properties": map[string]any{
				"Runtime": runtime, "Handler": "index.handler", "Code": code, "Role": att("Role", "Arn"), "Timeout": 30, "MemorySize": 256,
				"Environment": map[string]any{"Variables": map[string]string{"GREETING": greeting}}}},
			"Permission": map[string]any{"Type": "AWS::Lambda::Permission", "Properties": map[string]any{"Action": "lambda:InvokeFunction", "FunctionName": map[string]any{"Ref": "Function"}, "Principal": "s3.amazonaws.com"}},
			"Version":    map[string]any{"Type": "AWS::Lambda::Version", "Properties": map[string]any{"FunctionName": map[string]any{"Ref": "Function"}}},
			"Alias":      map[string]any{"Type": "AWS::Lambda::Alias", "Properties": map[string]any{"FunctionName": map[string]any{"Ref": "Function"}, "Name": "live", "FunctionVersion": att("Version", "Version")}},
			"Thing":      map[string]any{"Type": "Custom::Thing", "Properties": map[string]any{"ServiceToken": map[string]any{"Ref": "Alias"}, "Size": size}},
			"Latest":     map[string]any{"Type": "Custom::Thing", "Properties": map[string]any{"ServiceToken": att("Function", "Arn"), "Size": size}},
		},
		"Outputs": map[string]any{
			"Address": map[string]any{"Value": att("Thing", "Address")}, "Latest": map[string]any{"Value": att("Latest", "Address")},
			"Function": map[string]any{"Value": map[string]any{"Ref": "Function"}}, "Alias": map[string]any{"Value": map[string]any{"Ref": "Alias"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRunLambda deploys functions with what is around them, inline and zipped, and has custom
// resources provided by their versions.
func TestRunLambda(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out functions")
	}
	t.Parallel()
	for _, test := range []struct{ runtime, program, source, file string }{
		{"python3.12", "python3", inlinePython, ""},
		{"nodejs20.x", "node", inlineNode, ""},
		{"python3.12", "python3", strings.NewReplacer("import os, cfnresponse", "import os\nfrom lib import cfnresponse").Replace(inlinePython), "index.py"},
	} {
		name := test.program + test.file
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if exec.Command(test.program, "--version").Run() != nil {
				t.Skipf("skipped: %s is not installed", test.program)
			}
			server := serving(t, local.ServerConfig{Config: local.Config{RunLambda: true}})
			c := newClients(t, server.URL())
			var code any = map[string]string{"ZipFile": test.source}
			if test.file != "" {
				code = map[string]string{"S3Bucket": "code", "S3Key": "f.zip"}
				uploadCode(t, c, map[string]string{test.file: test.source, "lib/__init__.py": "", "lib/cfnresponse.py": sentByHand})
			}
			body := func(size int, greeting string) string { return lambdaTemplate(t, test.runtime, code, size, greeting) }
			if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(body(1, "hello")), Capabilities: iam}); err != nil {
				t.Fatal(err)
			}
			stack := c.ended(t, "s")
			if got := outputsOf(stack); stack.StackStatus != "CREATE_COMPLETE" || got["Address"] != "hello-1" || got["Latest"] != "hello-1" || !strings.HasSuffix(got["Alias"], ":function:"+got["Function"]+":live") {
				t.Fatalf("%s, %v: %q", stack.StackStatus, got, c.history(t, stack))
			}
			function := outputsOf(stack)["Function"]
			if _, err := c.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(body(2, "bye")), Capabilities: iam}); err != nil {
				t.Fatal(err)
			}
			stack = c.ended(t, "s")
			// The version that the alias names has the settings that the function had.
			if got := outputsOf(stack); stack.StackStatus != "UPDATE_COMPLETE" || got["Address"] != "hello-2" || got["Latest"] != "bye-2" {
				t.Fatalf("%s, %v: %q", stack.StackStatus, got, c.history(t, stack))
			}
			if _, err := c.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(body(0, "bye")), Capabilities: iam}); err != nil {
				t.Fatal(err)
			}
			if stack = c.ended(t, "s"); stack.StackStatus != "UPDATE_ROLLBACK_COMPLETE" || outputsOf(stack)["Latest"] != "bye-2" {
				t.Fatalf("%s: %q", stack.StackStatus, c.history(t, stack))
			}
			eventually(t, time.Minute, "the log of the function", func() bool {
				return slices.ContainsFunc(logged(t, server.URL(), "/aws/lambda/"+function), func(l string) bool { return strings.Contains(l, "size 1 "+function+" hello") })
			})
			if stack = c.remove(t, stack); stack.StackStatus != "DELETE_COMPLETE" {
				t.Errorf("%s: %q", stack.StackStatus, c.history(t, stack))
			}
			if _, err := c.lambda.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: &function, Payload: []byte("{}")}); codeOf(err) != "ResourceNotFoundException" {
				t.Errorf("the function that was deleted: %v", err)
			}
		})
	}
}

var iam = []cfntypes.Capability{cfntypes.CapabilityCapabilityNamedIam}

// sentByHand is a module of the code itself.
const sentByHand = `
import json, urllib.request
SUCCESS, FAILED = "SUCCESS", "FAILED"
def send(event, context, status, data, id, reason=""):
    body = json.dumps(dict(Status=status, Reason=reason or "none", PhysicalResourceId=id, Data=data, **{k: event[k] for k in ("StackId", "RequestId", "LogicalResourceId")}))
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], data=body.encode(), method="PUT"))
`

// logged are the lines of a log group.
func logged(t *testing.T, url, group string) (lines []string) {
	t.Helper()
	logs := cloudwatchlogs.New(cloudwatchlogs.Options{BaseEndpoint: &url, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "any", "")})
	found, err := logs.FilterLogEvents(t.Context(), &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group})
	if err != nil {
		return nil
	}
	for _, e := range found.Events {
		lines = append(lines, aws.ToString(e.Message))
	}
	return lines
}

func outputsOf(stack cfntypes.Stack) map[string]string {
	out := map[string]string{}
	for _, o := range stack.Outputs {
		out[*o.OutputKey] = *o.OutputValue
	}
	return out
}

// uploadCode puts a zip file with code into the bucket "code" as "f.zip".
func uploadCode(t *testing.T, c clients, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(0o755)
		w, err := z.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("code"), CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: region}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("code"), Key: aws.String("f.zip"), Body: bytes.NewReader(b.Bytes())}); err != nil {
		t.Fatal(err)
	}
}

// TestFunctionsAreRefused has the templates of functions that a server does not run.
func TestFunctionsAreRefused(t *testing.T) {
	t.Parallel()
	without := newClients(t, serving(t, local.ServerConfig{}).URL())
	body := lambdaTemplate(t, "python3.12", map[string]string{"ZipFile": inlinePython}, 1, "hello")
	_, err := without.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: &body, Capabilities: iam})
	if err == nil || !strings.Contains(err.Error(), "Unrecognized resource types: [") || !strings.Contains(err.Error(), "AWS::Lambda::Function") {
		t.Errorf("without --run-lambda: %v", err)
	}
	c := newClients(t, serving(t, local.ServerConfig{Config: local.Config{RunLambda: true}}).URL())
	uploadCode(t, c, map[string]string{"index.py": "x"})
	if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("code"), Key: aws.String("not.zip"), Body: strings.NewReader("PK nothing")}); err != nil {
		t.Fatal(err)
	}
	for key, name := range map[string]string{"long.zip": strings.Repeat("n", 3000), "null.zip": "a\x00.py"} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		_, err := z.Create(name)
		if err = errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("code"), Key: &key, Body: bytes.NewReader(b.Bytes())}); err != nil {
			t.Fatal(err)
		}
	}
	for i, test := range []struct{ properties, want string }{
		{`"Runtime": "python3.12", "Handler": "a.b", "Code": {"S3Bucket": "code", "S3Key": "long.zip"}`, "The code has a file whose name has a part of 3000 bytes, more than the limit of 255"},
		{`"Runtime": "python3.12", "Handler": "a.b", "Code": {"S3Bucket": "code", "S3Key": "null.zip"}`, "The code has a file whose name has a null byte"},
		{`"Runtime": "provided.al2023", "Code": {"ZipFile": "x"}`, "ZipFile can only be used when Runtime is set to either of nodejs or python."},
		{`"PackageType": "Image", "Code": {"ZipFile": "x"}`, "Please provide ImageUri when and only when PackageType is Image."},
		{`"PackageType": "Image", "Runtime": "python3.12", "Code": {"ImageUri": "x"}`, "Please don't provide Handler or Runtime when PackageType is Image."},
		{`"Runtime": "python3.12", "Code": {"ZipFile": "x"}`, "Runtime and Handler are mandatory"},
		{`"Runtime": "python3.12", "Handler": "a.b", "Code": {}`, "Please provide a source for function code."},
		{`"Runtime": "python3.12", "Handler": "a.b", "Code": {"S3Bucket": "code", "S3Key": "missing"}`, "Error occurred while GetObject"},
		{`"Runtime": "python3.12", "Handler": "a.b", "Code": {"S3Bucket": "code", "S3Key": "not.zip"}`, "Could not unzip uploaded file."},
		{`"Runtime": "python3.12", "Handler": "a.b", "Code": {"ZipFile": "x"}, "Colour": "red"`, "Encountered unsupported properties in {}: [Colour]"},
	} {
		name := "s" + string(rune('a'+i))
		stack := c.create(t, name, `{"Resources": {"F": {"Type": "AWS::Lambda::Function", "Properties": {"Role": "arn:aws:iam::1:role/r", `+test.properties+`}}}}`)
		events, err := c.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: stack.StackId})
		if err != nil {
			t.Fatal(err)
		}
		if stack.StackStatus != "ROLLBACK_COMPLETE" || !slices.ContainsFunc(events.StackEvents, func(e cfntypes.StackEvent) bool {
			return strings.Contains(aws.ToString(e.ResourceStatusReason), test.want)
		}) {
			t.Errorf("%s: %s, %q", test.properties, stack.StackStatus, c.history(t, stack))
		}
	}
}

// TestUnrunFunctions deploys functions that do not run here. Each refuses to be called, with the reason.
func TestUnrunFunctions(t *testing.T) {
	t.Parallel()
	c := newClients(t, serving(t, local.ServerConfig{Config: local.Config{RunLambda: true}}).URL())
	uploadCode(t, c, map[string]string{"f.py": "x"})
	zipped := `"Code": {"S3Bucket": "code", "S3Key": "f.zip"}`
	for name, test := range map[string]struct{ properties, want string }{
		"image":  {`"PackageType": "Image", "Code": {"ImageUri": "x"}, "ImageConfig": {"Command": ["a"]}`, "it is a container image; use a zip file"},
		"go":     {`"Runtime": "go1.x", "Handler": "main", ` + zipped, "it has the runtime go1.x; provided.*, python3.*, nodejs* and java* run here"},
		"layers": {`"Runtime": "python3.12", "Handler": "f.f", "Layers": ["arn:aws:lambda:us-east-1:1:layer:l:1"], "TenancyConfig": {"TenantIsolationMode": "PER_TENANT"}, ` + zipped, "its layer arn:aws:lambda:us-east-1:1:layer:l:1 does not exist here"},
	} {
		stack := c.create(t, name, `{"Resources": {"F": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "`+name+`", "DurableConfig": {"ExecutionTimeout": 5}, "Role": "arn:aws:iam::1:role/r", `+test.properties+`}}}}`)
		if stack.StackStatus != "CREATE_COMPLETE" {
			t.Errorf("%s: %s, %q", name, stack.StackStatus, c.history(t, stack))
			continue
		}
		_, err := c.lambda.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: &name})
		if err == nil || !strings.Contains(err.Error(), "InvalidRuntimeException: cfn serve does not run the function "+name+": "+test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRunProgram deploys a function that is a program, with the library of Lambda for Go.
func TestRunProgram(t *testing.T) {
	t.Parallel()
	program := string(readFile(t, installed(t, "vendors/go/bootstrap")))
	c := newClients(t, serving(t, local.ServerConfig{Config: local.Config{RunLambda: true}}).URL())
	uploadCode(t, c, map[string]string{"bootstrap": program})
	body := lambdaTemplate(t, "provided.al2023", map[string]string{"S3Bucket": "code", "S3Key": "f.zip"}, 7, "hello")
	if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: &body, Capabilities: iam}); err != nil {
		t.Fatal(err)
	}
	stack := c.ended(t, "s")
	if got := outputsOf(stack); stack.StackStatus != "CREATE_COMPLETE" || got["Address"] != "at-7" || got["Latest"] != "at-7" {
		t.Fatalf("%s, %v: %q", stack.StackStatus, got, c.history(t, stack))
	}
	if stack = c.remove(t, stack); stack.StackStatus != "DELETE_COMPLETE" {
		t.Errorf("%s: %q", stack.StackStatus, c.history(t, stack))
	}
}

// TestEphemeralStorage: /tmp of a function, which includes its home, has the size that its template says, 512 MiB without it.
func TestEphemeralStorage(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("SKIPPED: no sandbox here: ", err)
	}
	if exec.Command("python3", "--version").Run() != nil {
		t.Skip("SKIPPED: Python is not installed")
	}
	t.Parallel()
	const code = "import os\ndef handler(event, context):\n    s = os.statvfs(os.environ['HOME'])\n    return s.f_blocks * s.f_frsize >> 20\n"
	function := func(more string) string {
		return `{"Type": "AWS::Lambda::Function", "Properties": {"Runtime": "python3.12", "Handler": "index.handler", "Role": "arn:aws:iam::000000000000:role/r", "Code": {"ZipFile": ` + strconv.Quote(code) + `}` + more + `}}`
	}
	c := newClients(t, serving(t, local.ServerConfig{Config: local.Config{RunLambda: true}}).URL())
	body := `{"Resources": {"Small": ` + function("") + `, "Large": ` + function(`, "EphemeralStorage": {"Size": 2048}`) + `}, "Outputs": {"Small": {"Value": {"Ref": "Small"}}, "Large": {"Value": {"Ref": "Large"}}}}`
	if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(body)}); err != nil {
		t.Fatal(err)
	}
	stack := c.ended(t, "s")
	for output, want := range map[string]string{"Small": "512", "Large": "2048"} {
		out, err := c.lambda.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String(outputsOf(stack)[output])})
		if err != nil || string(out.Payload) != want {
			t.Errorf("%s: %v, %s", output, err, out.Payload)
		}
	}
}
