package local_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/formwork-dev/formwork/local"
)

func controlClient(url, key string) *cloudcontrol.Client {
	return cloudcontrol.New(cloudcontrol.Options{BaseEndpoint: &url, Region: region, Credentials: credentials.NewStaticCredentialsProvider(key, "any", "")})
}

// TestCloudControlTypes takes a resource of each type of the server itself through its life,
// with the SDK's own waiter.
func TestCloudControlTypes(t *testing.T) {
	url := startWith(t, local.Config{Dir: t.TempDir()})
	c := controlClient(url, account)
	done := func(what string, event *types.ProgressEvent, err error) *types.ProgressEvent {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		out, err := cloudcontrol.NewResourceRequestSuccessWaiter(c, func(o *cloudcontrol.ResourceRequestSuccessWaiterOptions) {
			o.MinDelay, o.MaxDelay = time.Millisecond, time.Second
		}).WaitForOutput(t.Context(), &cloudcontrol.GetResourceRequestStatusInput{RequestToken: event.RequestToken}, time.Minute)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return out.ProgressEvent
	}
	create := func(name, state string) *types.ProgressEvent {
		t.Helper()
		out, err := c.CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{TypeName: &name, DesiredState: &state})
		must[*cloudcontrol.CreateResourceOutput](t)(out, err)
		return done("create "+name, out.ProgressEvent, err)
	}
	create("AWS::Logs::LogGroup", `{"LogGroupName": "group"}`)
	for _, test := range []struct{ name, state, patch, changed, parent string }{
		{"AWS::SSM::Parameter", `{"Name": "p", "Type": "String", "Value": "a"}`, `[{"op": "replace", "path": "/Value", "value": "b"}]`, `"Value":"b"`, ""},
		{"AWS::S3::Bucket", `{"BucketName": "bucket"}`, `[{"op": "add", "path": "/VersioningConfiguration", "value": {"Status": "Enabled"}}]`, `"Status":"Enabled"`, ""},
		{"AWS::SecretsManager::Secret", `{"Name": "s", "SecretString": "hush"}`, `[{"op": "add", "path": "/Description", "value": "d"}]`, `"Description":"d"`, ""},
		{"AWS::Logs::LogGroup", `{"LogGroupName": "other"}`, `[{"op": "add", "path": "/RetentionInDays", "value": 7}]`, `"RetentionInDays":7`, ""},
		{"AWS::CloudFormation::Macro", `{"Name": "Upper", "FunctionName": "upper"}`, `[{"op": "add", "path": "/Description", "value": "d"}]`, `"Description":"d"`, ""},
		{"AWS::Logs::LogStream", `{"LogGroupName": "group", "LogStreamName": "stream"}`, "", "", `{"LogGroupName": "group"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			created := create(test.name, test.state)
			list := &cloudcontrol.ListResourcesInput{TypeName: &test.name}
			if test.parent != "" {
				list.ResourceModel = &test.parent
			}
			found, err := c.ListResources(t.Context(), list)
			if err != nil {
				t.Fatal(err)
			}
			listed := false
			for _, d := range found.ResourceDescriptions {
				listed = listed || *d.Identifier == *created.Identifier
			}
			if !listed {
				t.Errorf("%s is not listed", *created.Identifier)
			}
			if test.patch != "" {
				out, err := c.UpdateResource(t.Context(), &cloudcontrol.UpdateResourceInput{TypeName: &test.name, Identifier: created.Identifier, PatchDocument: &test.patch})
				must[*cloudcontrol.UpdateResourceOutput](t)(out, err)
				done("update", out.ProgressEvent, err)
			}
			read, err := c.GetResource(t.Context(), &cloudcontrol.GetResourceInput{TypeName: &test.name, Identifier: created.Identifier})
			if err != nil {
				t.Fatal(err)
			}
			if properties := *read.ResourceDescription.Properties; !strings.Contains(properties, test.changed) || strings.Contains(properties, "hush") {
				t.Errorf("read: %s", properties)
			}
			gone, err := c.DeleteResource(t.Context(), &cloudcontrol.DeleteResourceInput{TypeName: &test.name, Identifier: created.Identifier})
			must[*cloudcontrol.DeleteResourceOutput](t)(gone, err)
			done("delete", gone.ProgressEvent, err)
			_, err = c.GetResource(t.Context(), &cloudcontrol.GetResourceInput{TypeName: &test.name, Identifier: created.Identifier})
			var missing *types.ResourceNotFoundException
			if !errors.As(err, &missing) {
				t.Errorf("read after delete: %v", err)
			}
		})
	}
	_, err := controlClient(url, "999999999999").GetResource(t.Context(), &cloudcontrol.GetResourceInput{TypeName: aws.String("AWS::Logs::LogGroup"), Identifier: aws.String("group")})
	var missing *types.ResourceNotFoundException
	if !errors.As(err, &missing) {
		t.Errorf("another account reads the group: %v", err)
	}
}

// TestCloudControlClients drives the API with the aws CLI and boto3.
func TestCloudControlClients(t *testing.T) {
	url := startWith(t, local.Config{Dir: t.TempDir()})
	t.Run("aws", func(t *testing.T) {
		program(t, "aws", "--version")
		var begun struct{ ProgressEvent struct{ RequestToken string } }
		text := runAt(t, url, t.TempDir(), "aws", "cloudcontrol", "create-resource", "--type-name", "AWS::SSM::Parameter", "--desired-state", `{"Name": "cli", "Type": "String", "Value": "v"}`)
		if err := json.Unmarshal([]byte(text), &begun); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		runAt(t, url, t.TempDir(), "aws", "cloudcontrol", "wait", "resource-request-success", "--request-token", begun.ProgressEvent.RequestToken)
		if read := runAt(t, url, t.TempDir(), "aws", "cloudcontrol", "get-resource", "--type-name", "AWS::SSM::Parameter", "--identifier", "cli"); !strings.Contains(read, `\"Value\":\"v\"`) {
			t.Error(read)
		}
	})
	t.Run("boto3", func(t *testing.T) {
		program(t, "python3", "-c", "import boto3")
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/control.py", []byte(controlScript), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := runAt(t, url, dir, "python3", "control.py"); strings.TrimSpace(out) != "ok" {
			t.Error(out)
		}
	})
}

const controlScript = `
import boto3, json
c = boto3.client("cloudcontrol")
kind = "AWS::SSM::Parameter"
def wait(event):
    c.get_waiter("resource_request_success").wait(RequestToken=event["ProgressEvent"]["RequestToken"])
wait(c.create_resource(TypeName=kind, DesiredState=json.dumps({"Name": "boto", "Type": "String", "Value": "v"})))
wait(c.update_resource(TypeName=kind, Identifier="boto", PatchDocument=json.dumps([{"op": "replace", "path": "/Value", "value": "w"}])))
assert json.loads(c.get_resource(TypeName=kind, Identifier="boto")["ResourceDescription"]["Properties"])["Value"] == "w"
assert "boto" in [d["Identifier"] for page in c.get_paginator("list_resources").paginate(TypeName=kind) for d in page["ResourceDescriptions"]]
wait(c.delete_resource(TypeName=kind, Identifier="boto"))
try:
    c.get_resource(TypeName=kind, Identifier="boto")
    raise SystemExit("it is still there")
except c.exceptions.ResourceNotFoundException:
    pass
try:
    c.update_resource(TypeName=kind, Identifier="cli", PatchDocument=json.dumps([{"op": "replace", "path": "/Name", "value": "w"}]))
    raise SystemExit("a create-only property was updated")
except (c.exceptions.NotUpdatableException, c.exceptions.ResourceNotFoundException):
    pass
operations = [e["Operation"] for page in c.get_paginator("list_resource_requests").paginate(PaginationConfig={"PageSize": 1}) for e in page["ResourceRequestStatusSummaries"]]
assert operations[:3] == ["DELETE", "UPDATE", "CREATE"], operations
print("ok")
`
