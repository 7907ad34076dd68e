package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/formwork-dev/formwork/local"
)

// exampleClient configures clients of AWS's SDK for a server. The access key is the number of the account; nothing
// checks the secret.
func exampleClient(server *httptest.Server) aws.Config {
	return aws.Config{
		BaseEndpoint: &server.URL, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("111111111111", "any", ""),
	}
}

// createStack creates a stack, waits for its end and returns it.
func createStack(ctx context.Context, client *cloudformation.Client, name, template string) types.Stack {
	stack := &cloudformation.DescribeStacksInput{StackName: &name}
	if _, err := client.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &template}); err != nil {
		log.Fatal(err)
	}
	done := cloudformation.NewStackCreateCompleteWaiter(client, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond // of this machine, not of AWS
	})
	if err := done.Wait(ctx, stack, time.Minute); err != nil && err.Error() != "waiter state transitioned to Failure" {
		log.Fatal(err)
	}
	out, err := client.DescribeStacks(ctx, stack)
	if err != nil {
		log.Fatal(err)
	}
	return out.Stacks[0]
}

// A CloudFormation for one test: it keeps nothing, and each test has its own.
func Example() {
	ctx := context.Background()
	cloud, err := local.Open(ctx, local.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer cloud.Close()
	server := httptest.NewServer(cloud)
	defer server.Close()

	client := cloudformation.NewFromConfig(exampleClient(server))
	stack := createStack(ctx, client, "notes", `
Resources:
  Note:
    Type: AWS::SSM::Parameter
    Properties: {Name: /notes/first, Type: String, Value: hello}
Outputs:
  Name: {Value: !Ref Note}
`)
	fmt.Println(stack.StackStatus, *stack.Outputs[0].OutputValue)

	note, err := ssm.NewFromConfig(exampleClient(server)).GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/notes/first")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*note.Parameter.Value)
	// Output:
	// CREATE_COMPLETE /notes/first
	// hello
}

// The function of a custom resource is in the test itself, where a debugger and the coverage of the test see it.
// Config.Functions names an address that answers like Lambda's Invoke API.
func Example_customResource() {
	ctx := context.Background()
	handler := cfn.LambdaWrap(func(_ context.Context, event cfn.Event) (id string, data map[string]any, err error) {
		return "desk-7", map[string]any{"Owner": event.ResourceProperties["Owner"]}, nil
	})
	function := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event cfn.Event
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if reason, err := handler(r.Context(), event); err != nil || reason != "" {
			log.Println(reason, err)
		}
	}))
	defer function.Close()

	cloud, err := local.Open(ctx, local.Config{Functions: []string{"desk=" + function.URL}})
	if err != nil {
		log.Fatal(err)
	}
	defer cloud.Close()
	server := httptest.NewServer(cloud)
	defer server.Close()

	stack := createStack(ctx, cloudformation.NewFromConfig(exampleClient(server)), "office", `
Resources:
  Desk:
    Type: Custom::Desk
    Properties: {ServiceToken: "arn:aws:lambda:us-east-1:111111111111:function:desk", Owner: milton}
Outputs:
  Desk: {Value: !Sub "${Desk} of ${Desk.Owner}"}
`)
	fmt.Println(stack.StackStatus, *stack.Outputs[0].OutputValue)
	// Output: CREATE_COMPLETE desk-7 of milton
}

// A hook that refuses names of parameters outside of /notes. Its function is in the test, too.
func Example_hook() {
	ctx := context.Background()
	function := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ClientRequestToken string
			RequestData        struct {
				TargetModel struct{ ResourceProperties struct{ Name string } }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := map[string]string{"hookStatus": "SUCCESS", "clientRequestToken": request.ClientRequestToken}
		if name := request.RequestData.TargetModel.ResourceProperties.Name; !strings.HasPrefix(name, "/notes/") {
			answer["hookStatus"], answer["errorCode"], answer["message"] = "FAILED", "NonCompliant", "parameters belong below /notes"
		}
		_ = json.NewEncoder(w).Encode(answer) // to this machine
	}))
	defer function.Close()

	cloud, err := local.Open(ctx, local.Config{Functions: []string{"names=" + function.URL}})
	if err != nil {
		log.Fatal(err)
	}
	defer cloud.Close()
	server := httptest.NewServer(cloud)
	defer server.Close()

	client := cloudformation.NewFromConfig(exampleClient(server))
	createStack(ctx, client, "hook", `
Resources:
  Names:
    Type: AWS::CloudFormation::LambdaHook
    Properties:
      Alias: Private::Notes::Names
      LambdaFunction: names
      ExecutionRole: arn:aws:iam::111111111111:role/hook
      FailureMode: FAIL
      HookStatus: ENABLED
      TargetOperations: [RESOURCE]
      TargetFilters: {TargetNames: [AWS::SSM::Parameter], Actions: [CREATE]}
`)
	for _, name := range []string{"notes", "other"} {
		stack := createStack(ctx, client, name, `
Resources:
  Note:
    Type: AWS::SSM::Parameter
    Properties: {Name: !Sub "/${AWS::StackName}/first", Type: String, Value: hello}
`)
		fmt.Println(name, stack.StackStatus)
	}
	events, err := client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: aws.String("other")})
	if err != nil {
		log.Fatal(err)
	}
	for _, event := range events.StackEvents {
		if event.HookStatus == types.HookStatusHookCompleteFailed {
			fmt.Println(*event.HookStatusReason)
		}
	}
	// Output:
	// notes CREATE_COMPLETE
	// other ROLLBACK_COMPLETE
	// Hook failed with message: parameters belong below /notes
}

// A registered resource type, whose handlers run as processes of this machine. The delays between their calls are
// divided by TimeScale.
func Example_resourceType() {
	ctx := context.Background()
	cloud, err := local.Open(ctx, local.Config{TimeScale: 1000})
	if err != nil {
		log.Fatal(err)
	}
	defer cloud.Close()
	server := httptest.NewServer(cloud)
	defer server.Close()

	// The package is the file that "cfn package" writes: here that of examples/tps-report, whose handlers are in Go.
	objects := s3.NewFromConfig(exampleClient(server), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := objects.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("packages")}); err != nil {
		log.Fatal(err)
	}
	if _, err := objects.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("packages"), Key: aws.String("report.zip"), Body: bytes.NewReader(report())}); err != nil {
		log.Fatal(err)
	}
	client := cloudformation.NewFromConfig(exampleClient(server))
	begun, err := client.RegisterType(ctx, &cloudformation.RegisterTypeInput{TypeName: aws.String("Initech::TPS::Report"), SchemaHandlerPackage: aws.String("s3://packages/report.zip")})
	if err != nil {
		log.Fatal(err)
	}
	done := cloudformation.NewTypeRegistrationCompleteWaiter(client, func(o *cloudformation.TypeRegistrationCompleteWaiterOptions) { o.MinDelay = 10 * time.Millisecond })
	if err := done.Wait(ctx, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: begun.RegistrationToken}, time.Minute); err != nil {
		log.Fatal(err)
	}
	stack := createStack(ctx, client, "report", `
Resources:
  Report:
    Type: Initech::TPS::Report
    Properties: {Title: Flair, Series: QTR, ReviewCode: PCLoadLetter1999}
`)
	fmt.Println(stack.StackStatus)
	// Output: CREATE_COMPLETE
}

// Config.Around sees each call of a handler, whatever makes it, and can answer itself: here the creation of a resource
// fails, and the stack is rolled back.
func Example_failure() {
	ctx := context.Background()
	cloud, err := local.Open(ctx, local.Config{
		Around: func(ctx context.Context, call local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
			if call.LogicalID == "Second" {
				fmt.Println(call.Action, call.Desired["Value"])
				return local.ResourceAnswer{Status: "FAILED", ErrorCode: "ServiceLimitExceeded", Message: "no more notes"}, nil
			}
			return next(ctx)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer cloud.Close()
	server := httptest.NewServer(cloud)
	defer server.Close()

	stack := createStack(ctx, cloudformation.NewFromConfig(exampleClient(server)), "notes", `
Resources:
  First: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: one}}
  Second: {Type: AWS::SSM::Parameter, DependsOn: First, Properties: {Type: String, Value: two}}
`)
	fmt.Println(stack.StackStatus)
	// Output:
	// CREATE two
	// ROLLBACK_COMPLETE
}

// A change set shows what an update would do, before anything is done.
func Example_changeSet() {
	ctx := context.Background()
	cloud, err := local.Open(ctx, local.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer cloud.Close()
	server := httptest.NewServer(cloud)
	defer server.Close()

	client := cloudformation.NewFromConfig(exampleClient(server))
	template := func(name, value string) string {
		return fmt.Sprintf("Resources:\n  Note:\n    Type: AWS::SSM::Parameter\n    Properties: {Name: %s, Type: String, Value: %s}\n", name, value)
	}
	createStack(ctx, client, "notes", template("/notes/first", "hello"))
	for _, update := range []struct{ set, body string }{
		{"value", template("/notes/first", "goodbye")},
		{"name", template("/notes/second", "hello")},
	} {
		set, err := client.CreateChangeSet(ctx, &cloudformation.CreateChangeSetInput{StackName: aws.String("notes"), ChangeSetName: &update.set, TemplateBody: &update.body})
		if err != nil {
			log.Fatal(err)
		}
		done := cloudformation.NewChangeSetCreateCompleteWaiter(client, func(o *cloudformation.ChangeSetCreateCompleteWaiterOptions) { o.MinDelay = 10 * time.Millisecond })
		out, err := done.WaitForOutput(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: set.Id}, time.Minute)
		if err != nil {
			log.Fatal(err)
		}
		change := out.Changes[0].ResourceChange
		fmt.Printf("%s: %s %s, replacement %s\n", update.set, change.Action, *change.LogicalResourceId, change.Replacement)
	}
	// Output:
	// value: Modify Note, replacement False
	// name: Modify Note, replacement True
}

// A CloudFormation with a folder keeps everything: whoever opens the folder next finds the stacks, and finishes what
// was in progress, also after a crash.
func Example_restart() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "cloud-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, run := range []string{"first", "second"} {
		cloud, err := local.Open(ctx, local.Config{Dir: dir})
		if err != nil {
			log.Fatal(err)
		}
		server := httptest.NewServer(cloud)
		client := cloudformation.NewFromConfig(exampleClient(server))
		if run == "first" {
			createStack(ctx, client, "notes", "Resources:\n  Note: {Type: AWS::SSM::Parameter, Properties: {Name: /notes/first, Type: String, Value: hello}}\n")
		}
		out, err := client.ListStacks(ctx, &cloudformation.ListStacksInput{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(run, *out.StackSummaries[0].StackName, out.StackSummaries[0].StackStatus)
		server.Close()
		if err := cloud.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// first notes CREATE_COMPLETE
	// second notes CREATE_COMPLETE
}

// The Cloud Control API works on single resources, without a stack: of built-in types, and of registered ones.
func Example_cloudControl() {
	ctx := context.Background()
	cloud, err := local.Open(ctx, local.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer cloud.Close()
	server := httptest.NewServer(cloud)
	defer server.Close()

	client := cloudcontrol.NewFromConfig(exampleClient(server))
	begun, err := client.CreateResource(ctx, &cloudcontrol.CreateResourceInput{
		TypeName: aws.String("AWS::SSM::Parameter"), DesiredState: aws.String(`{"Name": "/notes/first", "Type": "String", "Value": "hello"}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	done := cloudcontrol.NewResourceRequestSuccessWaiter(client, func(o *cloudcontrol.ResourceRequestSuccessWaiterOptions) { o.MinDelay = 10 * time.Millisecond })
	if err := done.Wait(ctx, &cloudcontrol.GetResourceRequestStatusInput{RequestToken: begun.ProgressEvent.RequestToken}, time.Minute); err != nil {
		log.Fatal(err)
	}
	listed, err := client.ListResources(ctx, &cloudcontrol.ListResourcesInput{TypeName: aws.String("AWS::SSM::Parameter")})
	if err != nil {
		log.Fatal(err)
	}
	for _, found := range listed.ResourceDescriptions {
		fmt.Println(*found.Identifier)
	}
	// Output: /notes/first
}
