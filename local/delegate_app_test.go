package local_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/local"
)

// shopTemplate is an app with a type of its own beside types of AWS. Its function is also that of a custom resource, which fails.
const shopTemplate = `
Parameters:
  Timeout: {Type: Number}
  Audited: {Type: String, Default: "no"}
Conditions:
  Audited: !Equals [!Ref Audited, "yes"]
Resources:
  Orders: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: !Ref Timeout}}
  Alerts: {Type: AWS::SNS::Topic, Properties: {DisplayName: !Sub "within ${Timeout} s"}}
  Subscription: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref Alerts, Protocol: sqs, Endpoint: !GetAtt Orders.Arn, RawMessageDelivery: true}}
  Customers:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
  Greet:
    Type: AWS::Lambda::Function
    Properties:
      Runtime: python3.12
      Handler: index.handler
      Role: arn:aws:iam::000000000000:role/greet
      Environment: {Variables: {TABLE: !Ref Customers, TIMEOUT: !Ref Timeout}}
      Code:
        ZipFile: |
          import json, os, urllib.request
          def handler(event, context):
            if 'ResponseURL' not in event: return [os.environ['TABLE'], os.environ['TIMEOUT']]
            answer = {key: event[key] for key in ('StackId', 'RequestId', 'LogicalResourceId')}
            answer.update(PhysicalResourceId='audit', Status='SUCCESS' if event['RequestType'] == 'Delete' else 'FAILED', Reason='the books are closed')
            urllib.request.urlopen(urllib.request.Request(event['ResponseURL'], json.dumps(answer).encode(), method='PUT'))
  Report: {Type: Initech::TPS::Report, Properties: {Title: !Sub "Waits ${Timeout} seconds", Series: QTR, ReviewCode: PCLoadLetter1999}}
  Returns: {Type: AWS::SQS::Queue, Condition: Audited}
  Audit: {Type: Custom::Audit, Condition: Audited, DependsOn: [Orders, Alerts, Report, Returns], Properties: {ServiceToken: !GetAtt Greet.Arn}}
Outputs:
  Orders: {Value: !Ref Orders}
  Alerts: {Value: !Ref Alerts}
  Customers: {Value: !Ref Customers}
  Greet: {Value: !Ref Greet}
`

// TestDelegatedApp deploys, uses, updates and deletes an app in ministack, with an update that fails and is rolled back.
func TestDelegatedApp(t *testing.T) {
	t.Parallel()
	emulator := emulated{t: t, url: fixtures.Ministack(t)}
	p := place{url: startWith(t, ownReports(t, local.Config{Delegate: []string{"AWS::*=" + emulator.url}})), account: account}
	p.importTypes(t, publishedSchemas(t, []string{"AWS::SQS::Queue", "AWS::SNS::Topic", "AWS::SNS::Subscription", "AWS::DynamoDB::Table", "AWS::Lambda::Function"})...)
	c := newClients(t, p.url)
	report, _ := reports(t)
	c.deploy(t, "registry", packageTemplate, map[string]string{"Name": *reportName, "Package": c.put(t, "report.zip", report)}, "CREATE_COMPLETE")
	before := emulator.all()

	timeout := "30"
	got := outputs(c.deploy(t, "shop", shopTemplate, map[string]string{"Timeout": timeout}, "CREATE_COMPLETE"))
	uses := func() {
		t.Helper()
		message := fmt.Sprintf("order %d", time.Now().UnixNano())
		emulator.call("sns", "", "Action=Publish&Message="+strings.ReplaceAll(message, " ", "+")+"&TopicArn="+got["Alerts"])
		eventually(t, time.Minute, "the message arrives", func() bool {
			return strings.Contains(emulator.call("sqs", "AmazonSQS.ReceiveMessage", `{"WaitTimeSeconds": 1, "QueueUrl": "`+got["Orders"]+`"}`), message)
		})
		if attributes := emulator.call("sqs", "AmazonSQS.GetQueueAttributes", `{"AttributeNames": ["All"], "QueueUrl": "`+got["Orders"]+`"}`); !strings.Contains(attributes, `"VisibilityTimeout": "`+timeout+`"`) {
			t.Errorf("the queue has not the timeout %s: %s", timeout, attributes)
		}
		if topic := emulator.call("sns", "", "Action=GetTopicAttributes&TopicArn="+got["Alerts"]); !strings.Contains(topic, "within "+timeout+" s") {
			t.Errorf("the name of the topic has not the timeout %s: %s", timeout, topic)
		}
		out, err := emulator.lambda().Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String(got["Greet"])})
		if want := fmt.Sprintf("[%q, %q]", got["Customers"], timeout); err != nil || string(out.Payload) != want {
			t.Errorf("the function: %+v, %v; want %s", out, err, want)
		}
	}
	uses()

	timeout = "60"
	again := outputs(c.deploy(t, "shop", shopTemplate, map[string]string{"Timeout": timeout}, "UPDATE_COMPLETE"))
	if fmt.Sprint(again) != fmt.Sprint(got) {
		t.Errorf("after an update: %v, want %v", again, got)
	}
	uses()

	failed := c.deploy(t, "shop", shopTemplate, map[string]string{"Timeout": "90", "Audited": "yes"}, "UPDATE_ROLLBACK_COMPLETE")
	history := strings.Join(c.history(t, failed), "\n")
	for _, want := range []string{"Audit CREATE_FAILED Received response status [FAILED] from custom resource. Message returned: the books are closed", "Returns CREATE_COMPLETE", "Orders UPDATE_COMPLETE", "Returns DELETE_COMPLETE"} {
		if !strings.Contains(history, want) {
			t.Fatalf("the history lacks %q:\n%s", want, history)
		}
	}
	uses()
	c.expectNoDrift(t, "shop")

	c.destroy(t, "shop")
	if left := emulator.all(); left != before {
		t.Errorf("left in the emulator: %s; before: %s", left, before)
	}
}

// emulated are the services of ministack.
type emulated struct {
	t   *testing.T
	url string
}

func (e emulated) lambda() *lambda.Client {
	return lambda.New(lambda.Options{BaseEndpoint: &e.url, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "any", "")})
}

// call calls an operation of a JSON service by its target, or of a Query service if there is none.
func (e emulated) call(service, target, body string) string {
	e.t.Helper()
	request, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.url+"/", bytes.NewBufferString(body))
	if err != nil {
		e.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if target != "" {
		request.Header.Set("Content-Type", "application/x-amz-json-1.0")
		request.Header.Set("X-Amz-Target", target)
	}
	request.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/20260101/%s/%s/aws4_request, SignedHeaders=host, Signature=0", account, region, service))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		e.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		e.t.Fatalf("%s %s: %s, %v: %s", service, target, response.Status, err, answer)
	}
	return string(answer)
}

// all are the names of everything that the app may have.
func (e emulated) all() string {
	e.t.Helper()
	functions, err := e.lambda().ListFunctions(e.t.Context(), nil)
	if err != nil {
		e.t.Fatal(err)
	}
	var names []string
	for _, f := range functions.Functions {
		names = append(names, *f.FunctionName)
	}
	stacks, _, _ := strings.Cut(e.call("cloudformation", "", "Action=DescribeStacks&Version=2010-05-15"), "<ResponseMetadata>")
	topics, _, _ := strings.Cut(e.call("sns", "", "Action=ListTopics"), "<ResponseMetadata>")
	subscriptions, _, _ := strings.Cut(e.call("sns", "", "Action=ListSubscriptions"), "<ResponseMetadata>")
	all, _ := json.Marshal([]any{names, e.call("sqs", "AmazonSQS.ListQueues", "{}"), e.call("dynamodb", "DynamoDB_20120810.ListTables", "{}"), topics, subscriptions, stacks})
	return string(all)
}
