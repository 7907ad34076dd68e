package local_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/local"
)

// schemas are as much of published schemas as the tests need.
var schemas = map[string]string{
	"AWS::SNS::Topic": `"properties": {"TopicArn": {"type": "string"}}, "readOnlyProperties": ["/properties/TopicArn"], "primaryIdentifier": ["/properties/TopicArn"]`,
	"AWS::AutoScaling::AutoScalingGroup": `"properties": {"AutoScalingGroupName": {"type": "string"}, "MinSize": {"type": "string"}, "MaxSize": {"type": "string"},
		"AvailabilityZones": {"type": "array", "items": {"type": "string"}}}, "primaryIdentifier": ["/properties/AutoScalingGroupName"]`,
	"AWS::Logs::LogGroup": `"properties": {"LogGroupName": {"type": "string", "pattern": "^[.\\-_/#A-Za-z0-9]{1,512}\\Z"},
		"KmsKeyId": {"type": "string", "pattern": "^arn:[a-z0-9-]+:kms:[a-z0-9-]+:\\d{12}:(key|alias)/.+\\Z"}}, "primaryIdentifier": ["/properties/LogGroupName"]`,
	"AWS::Lambda::Function": `"properties": {"FunctionName": {"type": "string"}, "Runtime": {"type": "string"}, "Handler": {"type": "string"}, "Role": {"type": "string"}, "Code": {"type": "object"},
		"VpcConfig": {"type": "object", "properties": {"SubnetIds": {"type": "array", "items": {"type": "string", "pattern": "^subnet-[0-9a-z]*$"}}, "SecurityGroupIds": {"type": "array", "items": {"type": "string"}}}}},
		"primaryIdentifier": ["/properties/FunctionName"]`,
	"AWS::CloudFormation::StackSet": `"properties": {"StackSetId": {"type": "string"}, "StackSetName": {"type": "string"}, "Description": {"type": "string"}, "PermissionModel": {"type": "string"},
		"AutoDeployment": {"type": "object"}, "StackInstancesGroup": {"type": "array"}, "TemplateBody": {"type": "string"}},
		"readOnlyProperties": ["/properties/StackSetId"], "primaryIdentifier": ["/properties/StackSetId"]`,
}

// simulatingAWS is a server that simulates all types of AWS, with these schemas, and runs functions.
func simulatingAWS(t *testing.T) (clients, place) {
	t.Helper()
	server := serving(t, local.ServerConfig{Config: local.Config{RunLambda: true, Simulate: []string{"AWS::*"}}})
	at := place{url: server.URL(), account: account}
	var all []map[string]string
	for name, text := range schemas {
		text = fmt.Sprintf(`{"typeName": %q, "description": "d", "additionalProperties": false, %s, "handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}}}`, name, text)
		all = append(all, map[string]string{"Name": name + ".json", "Schema": text})
	}
	at.formwork(t, "us-east-1", "ImportTypes", map[string]any{"Schemas": all})
	return newClients(t, server.URL()), at
}

// TestRefusedTemplates: what AWS refuses in public templates is refused here, too, although every type is simulated.
func TestRefusedTemplates(t *testing.T) {
	t.Parallel()
	c, _ := simulatingAWS(t)
	inner := c.put(t, "inner.json", []byte(`{"Resources": {"T": {"Type": "AWS::SNS::Topic"}}}`))
	function := func(more string) string {
		return `{"Resources": {"F": {"Type": "AWS::Lambda::Function", "Properties": {"Runtime": "python3.12", "Handler": "index.handler",
			"Role": "arn:aws:iam::123456789012:role/r", "Code": {"ZipFile": "x = 1"}` + more + `}}}}`
	}
	for name, test := range map[string]struct{ template, reason string }{
		"null":                          {`{"Resources": {"G": {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {"MinSize": "0", "MaxSize": "1", "AvailabilityZones": {"Fn::GetAZs": null}}}}}`, "'null' values are not allowed in templates"},
		"a macro that does not exist":   {`{"Transform": "PyPlate", "Resources": {"T": {"Type": "AWS::SNS::Topic"}}}`, "No transform named 123456789012::PyPlate found"},
		"a subnet that is not an ID":    {function(`, "VpcConfig": {"SubnetIds": ["PrivateSubnet1ID"], "SecurityGroupIds": ["sg-12345678"]}`), "{/VpcConfig/SubnetIds/0} does not match the pattern"},
		"a parameter of a nested stack": {fmt.Sprintf(`{"Resources": {"S": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": %q, "Parameters": {"Other": "x"}}}}}`, strings.Replace(inner, "s3://", "https://s3.amazonaws.com/", 1)), "Parameters: [Other] do not exist in the template"},
		"a rule that does not hold":     {`{"Rules": {"InVPC": {"Assertions": [{"Assert": {"Fn::EachMemberIn": [["a"], ["b"]]}, "AssertDescription": "All subnets must be in the VPC"}]}}, "Resources": {"T": {"Type": "AWS::SNS::Topic"}}}`, "Rule InVPC failed: All subnets must be in the VPC"},
		"Globals without the transform": {`{"Globals": {"Function": {"Timeout": 3}}, "Resources": {"T": {"Type": "AWS::SNS::Topic"}}}`, "Invalid template property or properties [Globals]"},
		"the default of a parameter":    {`{"Parameters": {"Name": {"Type": "String", "Default": "my log group"}}, "Resources": {"L": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": {"Ref": "Name"}}}}}`, "{/LogGroupName} does not match the pattern"},
		"a key that is not an ARN":      {`{"Resources": {"L": {"Type": "AWS::Logs::LogGroup", "Properties": {"KmsKeyId": "1234abcd-12ab-34cd-56ef-1234567890ab"}}}}`, "{/KmsKeyId} does not match the pattern"},
	} {
		t.Run(name, func(t *testing.T) {
			stack := "s" + fmt.Sprint(time.Now().UnixNano())
			_, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &stack, TemplateBody: &test.template, Capabilities: []cfntypes.Capability{cfntypes.CapabilityCapabilityAutoExpand}})
			if err != nil {
				if !strings.Contains(err.Error(), test.reason) {
					t.Errorf("got %v, want %q", err, test.reason)
				}
				return
			}
			ended := c.ended(t, stack)
			events, err := c.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: ended.StackId})
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, e := range events.StackEvents {
				said += aws.ToString(e.ResourceStatusReason) + "\n"
			}
			if ended.StackStatus != cfntypes.StackStatusRollbackComplete || !strings.Contains(said, test.reason) {
				t.Errorf("%s: %s; want %q", ended.StackStatus, said, test.reason)
			}
		})
	}
	if stack := c.create(t, "accepted", function(`, "VpcConfig": {"SubnetIds": ["subnet-12345678"], "SecurityGroupIds": ["sg-12345678"]}`)); stack.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Errorf("with a subnet: %s %q", stack.StackStatus, c.history(t, stack))
	}
}

// TestSimulatedInstead: a stack set for organizational units is simulated, because there is no service for it here; another one is
// not. Each is marked as what it is.
func TestSimulatedInstead(t *testing.T) {
	t.Parallel()
	const setType = "AWS::CloudFormation::StackSet"
	c, at := simulatingAWS(t)
	const template = `{"Resources": {
		"Units": {"Type": "AWS::CloudFormation::StackSet", "Properties": {"StackSetName": "units", "PermissionModel": "SERVICE_MANAGED", "AutoDeployment": {"Enabled": true, "RetainStacksOnAccountRemoval": false},
			"StackInstancesGroup": [{"DeploymentTargets": {"OrganizationalUnitIds": ["ou-abcd-12345678"]}, "Regions": ["eu-west-1"]}], "TemplateBody": "{\"Resources\": {\"T\": {\"Type\": \"AWS::SNS::Topic\"}}}"}},
		"Accounts": {"Type": "AWS::CloudFormation::StackSet", "Properties": {"StackSetName": "accounts", "PermissionModel": "SELF_MANAGED", "TemplateBody": "{\"Resources\": {\"T\": {\"Type\": \"AWS::SNS::Topic\"}}}"}}},
		"Outputs": {"Units": {"Value": {"Ref": "Units"}}, "Accounts": {"Value": {"Ref": "Accounts"}}}}`
	stack := c.create(t, "sets", template)
	if stack.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Fatalf("%s: %q", stack.StackStatus, c.history(t, stack))
	}
	ids := outputsOf(stack)
	if !strings.HasPrefix(ids["Units"], "units:") || len(ids["Units"]) != len("units:")+36 {
		t.Errorf("the ID of the simulated set is %s", ids["Units"])
	}
	var found struct{ Resources []map[string]string }
	asked := []map[string]string{{"TypeName": setType, "Identifier": ids["Units"]}, {"TypeName": setType, "Identifier": ids["Accounts"]}, {"TypeName": setType}, {"TypeName": "Acme::Un::Known"}}
	if err := json.Unmarshal(at.formwork(t, region, "ListSimulated", map[string]any{"Resources": asked}), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Resources) != 1 || found.Resources[0]["Identifier"] != ids["Units"] {
		t.Errorf("simulated are %v", found.Resources)
	}
	if stack = c.update(t, "sets", strings.Replace(template, `"StackSetName": "units"`, `"StackSetName": "units", "Description": "d"`, 1)); stack.StackStatus != cfntypes.StackStatusUpdateComplete {
		t.Errorf("update: %s: %q", stack.StackStatus, c.history(t, stack))
	}
	if stack = c.remove(t, stack); stack.StackStatus != cfntypes.StackStatusDeleteComplete {
		t.Errorf("delete: %s: %q", stack.StackStatus, c.history(t, stack))
	}
}

// TestBucketEvents: a function of a template is called with what happens in a bucket of the template.
func TestBucketEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out functions")
	}
	t.Parallel()
	program(t, "python3", "--version")
	server := serving(t, local.ServerConfig{Config: local.Config{RunLambda: true}})
	c := newClients(t, server.URL())
	const template = `{"Resources": {
		"Function": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "heard", "Runtime": "python3.12", "Handler": "index.handler", "Role": "arn:aws:iam::123456789012:role/r",
			"Code": {"ZipFile": "def handler(event, context):\n  for r in event['Records']: print('heard', r['eventName'], r['s3']['bucket']['name'], r['s3']['object']['key'])"}}},
		"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "events-of-a-bucket", "NotificationConfiguration": {"LambdaConfigurations": [
			{"Event": "s3:ObjectCreated:*", "Function": {"Fn::GetAtt": ["Function", "Arn"]}, "Filter": {"S3Key": {"Rules": [{"Name": "suffix", "Value": ".txt"}]}}}]}}}}}`
	stack := c.create(t, "s", template)
	if stack.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Fatalf("%s: %q", stack.StackStatus, c.history(t, stack))
	}
	for _, key := range []string{"a.csv", "b.txt"} {
		if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("events-of-a-bucket"), Key: &key, Body: strings.NewReader("x")}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, time.Minute, "the call of the function", func() bool {
		lines := strings.Join(logged(t, server.URL(), "/aws/lambda/heard"), "")
		if strings.Contains(lines, "a.csv") {
			t.Fatalf("the filter is ignored: %s", lines)
		}
		return strings.Contains(lines, "heard ObjectCreated:Put events-of-a-bucket b.txt")
	})
}

// TestLayers: a function finds the modules of its layers, and their files in /opt, of which the last one of a name counts. One with
// a layer that does not exist here is refused when it is called.
func TestLayers(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out functions")
	}
	t.Parallel()
	program(t, "python3", "--version")
	server := serving(t, local.ServerConfig{Config: local.Config{RunLambda: true}})
	c := newClients(t, server.URL())
	for _, name := range []string{"one", "two"} {
		c.put(t, name+".zip", zipOf(t, "python/greeting.py", []byte("TEXT = 'from "+name+"'"), "python/"+name+".py", []byte{}, "etc/name", []byte(name)))
	}
	function := func(name string, layers ...any) map[string]any {
		return map[string]any{"Type": "AWS::Lambda::Function", "Properties": map[string]any{
			"FunctionName": name, "Runtime": "python3.12", "Handler": "index.handler", "Role": "arn:aws:iam::123456789012:role/r", "Layers": layers,
			"Code": map[string]any{"ZipFile": "import greeting, os, one\ndef handler(event, context):\n  path = '/opt/etc/name'\n  return [greeting.TEXT, open(path).read() if os.path.exists(path) else '', os.path.exists('/opt/python/one.py')]"}}}
	}
	layer := func(name string) map[string]any {
		return map[string]any{"Type": "AWS::Lambda::LayerVersion", "Properties": map[string]any{"LayerName": name, "Content": map[string]any{"S3Bucket": shelf, "S3Key": name + ".zip"}}}
	}
	ref := func(name string) any { return map[string]any{"Ref": name} }
	body, err := json.Marshal(map[string]any{
		"Resources": map[string]any{
			"One": layer("one"), "Two": layer("two"), "Single": function("single", ref("One")), "Both": function("both", ref("One"), ref("Two")),
			"Away": function("away", "arn:aws:lambda:eu-west-1:017000801446:layer:AWSLambdaPowertoolsPythonV3-python312-x86_64:1"),
		},
		"Outputs": map[string]any{"One": map[string]any{"Value": ref("One")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	stack := c.create(t, "s", string(body))
	if stack.StackStatus != cfntypes.StackStatusCreateComplete || outputsOf(stack)["One"] != "arn:aws:lambda:eu-west-1:123456789012:layer:one:1" {
		t.Fatalf("%s: %q, %v", stack.StackStatus, c.history(t, stack), outputsOf(stack))
	}
	single, both := `["from one", "", false]`, `["from two", "", false]`
	if sandbox.Check() == nil {
		single, both = `["from one", "one", true]`, `["from two", "two", true]`
	}
	for name, want := range map[string]string{"single": single, "both": both} {
		out, err := c.lambda.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: &name})
		if err != nil || string(out.Payload) != want {
			t.Errorf("%s: %v, %s; want %s", name, err, out.Payload, want)
		}
	}
	_, err = c.lambda.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("away")})
	if err == nil || !strings.Contains(err.Error(), "its layer arn:aws:lambda:eu-west-1:017000801446:layer:AWSLambdaPowertoolsPythonV3-python312-x86_64:1 does not exist here") {
		t.Errorf("a layer of AWS: %v", err)
	}
	if stack = c.update(t, "s", strings.Replace(string(body), `"LayerName":"one"`, `"Description":"d","LayerName":"one"`, 1)); outputsOf(stack)["One"] != "arn:aws:lambda:eu-west-1:123456789012:layer:one:2" {
		t.Errorf("a changed layer: %s %v %q", stack.StackStatus, outputsOf(stack), c.history(t, stack))
	}
	if stack = c.remove(t, stack); stack.StackStatus != cfntypes.StackStatusDeleteComplete {
		t.Errorf("%s: %q", stack.StackStatus, c.history(t, stack))
	}
}
