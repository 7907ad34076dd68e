package local_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Every call of the handler of spyType takes an hour in these tests, and so does every macro.
const (
	hangingMacro = `
import time
def lambda_handler(event, context):
    with open(NOTES, "a") as f:
        f.write('{"Action": "hanging"}' + chr(10))
    time.sleep(3600)
`
	// asAccount makes a request one of the account, as far as nobody checks.
	asAccount = "X-Amz-Date: 20260101T000000Z\nX-Amz-Content-Sha256: UNSIGNED-PAYLOAD\n" +
		"Authorization: AWS4-HMAC-SHA256 Credential=" + account + "/20260101/" + region + "/s3/aws4_request, SignedHeaders=host, Signature=0\n"

	spyStack = `{"Resources": {"Thing": {"Type": "` + spyType + `", "Properties": {"Name": "abcd"}}}}`
)

// A stopBench is a server that is going to be stopped at work.
type stopBench struct {
	t      *testing.T
	o      serverOptions
	server *process
	c      clients
	file   string // of notes
}

// hanging counts the calls that hang.
func (b *stopBench) hanging() (n int) {
	for _, seen := range notes(b.t, b.file) {
		if seen.Action == "hanging" {
			n++
		}
	}
	return n
}

// hang makes every call of the handler hang from now on.
func (b *stopBench) hang() {
	b.t.Helper()
	if err := os.WriteFile(b.file+hangs, nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// stack creates a stack and waits for the end if the handler does not hang.
func (b *stopBench) stack(name, body string, wait bool) {
	b.t.Helper()
	_, err := b.c.CreateStack(b.t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body, Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand}})
	if err != nil {
		b.t.Fatal(err)
	}
	if !wait {
		return
	}
	eventually(b.t, time.Minute, "the stack "+name, func() bool {
		found, err := b.c.DescribeStacks(b.t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
		return err == nil && found.Stacks[0].StackStatus == types.StackStatusCreateComplete
	})
}

// connect sends the beginning of a request on a connection of its own, which ends with the test.
func (b *stopBench) connect(text string) net.Conn {
	b.t.Helper()
	host := strings.TrimPrefix(b.server.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	if _, err := fmt.Fprintf(conn, strings.ReplaceAll(text, "\n", "\r\n"), host); err != nil {
		b.t.Fatal(err)
	}
	return conn
}

// ends checks that the server has ended a connection.
func (b *stopBench) ends(connection io.Reader) {
	b.t.Helper()
	var late net.Error
	if _, err := io.Copy(io.Discard, connection); errors.As(err, &late) && late.Timeout() {
		b.t.Error("the connection does not end")
	}
}

// A stopCase is one kind of work. begin returns when the work is under way; what it returns is
// called when the server has ended, and looks how the work ended.
type stopCase struct {
	name    string
	needs   string // a program
	resumes bool   // the next server calls the handler again
	begin   func(b *stopBench) (after func())
}

var stopCases = []stopCase{
	{name: "tests of a type", resumes: true, begin: func(b *stopBench) func() {
		b.hang()
		if _, err := b.c.TestType(b.t.Context(), &cloudformation.TestTypeInput{Type: types.ThirdPartyTypeResource, TypeName: aws.String(spyType)}); err != nil {
			b.t.Fatal(err)
		}
		return nil
	}},
	{name: "a stack", resumes: true, begin: func(b *stopBench) func() {
		b.hang()
		b.stack("hangs", spyStack, false)
		return nil
	}},
	{name: "drift", resumes: true, begin: func(b *stopBench) func() {
		b.stack("drifts", spyStack, true)
		b.hang()
		if _, err := b.c.DetectStackDrift(b.t.Context(), &cloudformation.DetectStackDriftInput{StackName: aws.String("drifts")}); err != nil {
			b.t.Fatal(err)
		}
		return nil
	}},
	{name: "a change set of a macro", needs: "python3", resumes: true, begin: func(b *stopBench) func() {
		b.stack("macros", `{"Resources": {"M": {"Type": "AWS::CloudFormation::Macro", "Properties": {"Name": "Hang", "FunctionName": "hang"}}}}`, true)
		_, err := b.c.CreateChangeSet(b.t.Context(), &cloudformation.CreateChangeSetInput{StackName: aws.String("hangs"), ChangeSetName: aws.String("hangs"), ChangeSetType: types.ChangeSetTypeCreate,
			TemplateBody: aws.String(`{"Transform": "Hang", "Resources": {}}`), Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand}})
		if err != nil {
			b.t.Fatal(err)
		}
		return nil
	}},
	{name: "Cloud Control", resumes: true, begin: func(b *stopBench) func() {
		b.hang()
		client := cloudcontrol.New(cloudcontrol.Options{BaseEndpoint: &b.server.url, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", "")})
		if _, err := client.CreateResource(b.t.Context(), &cloudcontrol.CreateResourceInput{TypeName: aws.String(spyType), DesiredState: aws.String(`{"Name": "abcd"}`)}); err != nil {
			b.t.Fatal(err)
		}
		return nil
	}},
	{name: "Cloud Control that reads", begin: func(b *stopBench) func() {
		b.hang()
		client := cloudcontrol.New(cloudcontrol.Options{BaseEndpoint: &b.server.url, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""), Retryer: aws.NopRetryer{}})
		return b.request(func() error {
			_, err := client.GetResource(b.t.Context(), &cloudcontrol.GetResourceInput{TypeName: aws.String(spyType), Identifier: aws.String("abcd")})
			return err
		}, http.StatusInternalServerError)
	}},
	{name: "an invocation", begin: func(b *stopBench) func() {
		b.hang()
		return b.request(func() error {
			_, err := b.c.lambda.Invoke(b.t.Context(), &lambda.InvokeInput{FunctionName: aws.String("Acme-Spy-Thing"), Payload: []byte("{}")})
			return err
		}, http.StatusServiceUnavailable)
	}},
	{name: "an asynchronous invocation", begin: func(b *stopBench) func() {
		b.hang()
		if _, err := b.c.lambda.Invoke(b.t.Context(), &lambda.InvokeInput{FunctionName: aws.String("Acme-Spy-Thing"), Payload: []byte("{}"), InvocationType: lambdatypes.InvocationTypeEvent}); err != nil {
			b.t.Fatal(err)
		}
		return func() {
			if log := b.server.stderr.String(); !strings.Contains(log, "asynchronous invocation failed") || !strings.Contains(log, "the function is closed") {
				b.t.Errorf("the log does not say that the invocation was stopped:\n%s", log)
			}
		}
	}},
	{name: "a wait condition", begin: func(b *stopBench) func() { return b.waitCondition() }},
	{name: "a custom resource", needs: "python3", resumes: true, begin: func(b *stopBench) func() {
		b.stack("custom", `{"Resources": {"C": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "arn:aws:lambda:`+region+`:`+account+`:function:hang"}}}}`, false)
		return nil
	}},
	{name: "a hook", needs: "python3", resumes: true, begin: func(b *stopBench) func() {
		b.stack("hooks", `{"Resources": {"H": {"Type": "AWS::CloudFormation::LambdaHook", "Properties": {"Alias": "Private::Lambda::Check", "LambdaFunction": "hang",
			"ExecutionRole": "arn:aws:iam::`+account+`:role/hook", "FailureMode": "FAIL", "HookStatus": "ENABLED", "TargetOperations": ["RESOURCE"],
			"TargetFilters": {"TargetNames": ["AWS::SSM::Parameter"], "Actions": ["CREATE"]}}}}}`, true)
		b.stack("guarded", `{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}}}`, false)
		return nil
	}},
	{name: "a hook on Cloud Control", needs: "python3", resumes: true, begin: func(b *stopBench) func() {
		b.stack("hooks", `{"Resources": {"H": {"Type": "AWS::CloudFormation::LambdaHook", "Properties": {"Alias": "Private::Lambda::Check", "LambdaFunction": "hang",
			"ExecutionRole": "arn:aws:iam::`+account+`:role/hook", "FailureMode": "FAIL", "HookStatus": "ENABLED", "TargetOperations": ["CLOUD_CONTROL"],
			"TargetFilters": {"TargetNames": ["AWS::SSM::Parameter"], "Actions": ["CREATE"]}}}}}`, true)
		client := cloudcontrol.New(cloudcontrol.Options{BaseEndpoint: &b.server.url, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", "")})
		if _, err := client.CreateResource(b.t.Context(), &cloudcontrol.CreateResourceInput{TypeName: aws.String("AWS::SSM::Parameter"), DesiredState: aws.String(`{"Type": "String", "Value": "x"}`)}); err != nil {
			b.t.Fatal(err)
		}
		return nil
	}},
	{name: "copies of objects", begin: func(b *stopBench) func() { return b.copies() }},
	{name: "an upload that pauses", begin: func(b *stopBench) func() {
		b.bucket()
		conn := b.connect("PUT /" + shelf + "/large HTTP/1.1\nHost: %s\n" + asAccount + "Content-Length: 1000000\n\nbeginning")
		b.underWay()
		return func() { b.ends(conn) }
	}},
	{name: "a part that pauses", begin: func(b *stopBench) func() {
		b.bucket()
		begun, err := b.c.s3.CreateMultipartUpload(b.t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(shelf), Key: aws.String("parts")})
		if err != nil {
			b.t.Fatal(err)
		}
		conn := b.connect("PUT /" + shelf + "/parts?partNumber=1&uploadId=" + *begun.UploadId + " HTTP/1.1\nHost: %s\n" + asAccount + "Content-Length: 1000000\n\nbeginning")
		b.underWay()
		return func() { b.ends(conn) }
	}},
	{name: "a download that nobody reads", begin: func(b *stopBench) func() {
		b.bucket()
		if _, err := b.c.s3.PutObject(b.t.Context(), &s3.PutObjectInput{Bucket: aws.String(shelf), Key: aws.String("large"), Body: bytes.NewReader(make([]byte, 32<<20))}); err != nil {
			b.t.Fatal(err)
		}
		conn := b.connect("GET /" + shelf + "/large HTTP/1.1\nHost: %s\n" + asAccount + "\n")
		b.underWay()
		return func() { b.ends(conn) }
	}},
	{name: "a page that follows changes", begin: func(b *stopBench) func() { return b.page("/_cfn/events") }},
	{name: "a page that follows a log", begin: func(b *stopBench) func() { return b.page("/_cfn/logs/events?group=/aws/lambda/Acme-Spy-Thing") }},
	{name: "a page that follows calls", begin: func(b *stopBench) func() { return b.page("/_cfn/calls/events") }},
}

// waitCondition waits for a signal, which the next server gets.
func (b *stopBench) waitCondition() func() {
	b.t.Helper()
	b.stack("waits", `{"Resources": {"Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
		"Wait": {"Type": "AWS::CloudFormation::WaitCondition", "Properties": {"Handle": {"Ref": "Handle"}, "Timeout": "3600", "Count": 1}}}}`, false)
	var signal string
	eventually(b.t, time.Minute, "the condition waits", func() bool {
		found, err := b.c.DescribeStackResources(b.t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: aws.String("waits")})
		if err != nil {
			b.t.Fatal(err)
		}
		waits := false
		for _, r := range found.StackResources {
			if *r.LogicalResourceId == "Handle" {
				signal = aws.ToString(r.PhysicalResourceId)
			}
			waits = waits || *r.LogicalResourceId == "Wait" && r.ResourceStatus == types.ResourceStatusCreateInProgress
		}
		return waits && signal != ""
	})
	return func() {
		b.server = mustStart(b.t, b.o)
		b.c = newClients(b.t, b.server.url)
		request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPut, signal, strings.NewReader(`{"Status": "SUCCESS", "UniqueId": "a", "Data": "d", "Reason": "r"}`))
		if err != nil {
			b.t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			b.t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			b.t.Errorf("the signal is answered with %s", response.Status)
		}
		eventually(b.t, time.Minute, "the stack goes on", func() bool {
			found, err := b.c.DescribeStacks(b.t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("waits")})
			return err == nil && found.Stacks[0].StackStatus == types.StackStatusCreateComplete
		})
		b.server.terminate(b.t)
	}
}

// copies copies a part of a large object again and again: at any moment, the server copies.
func (b *stopBench) copies() func() {
	b.t.Helper()
	b.bucket()
	if _, err := b.c.s3.PutObject(b.t.Context(), &s3.PutObjectInput{Bucket: aws.String(shelf), Key: aws.String("large"), Body: bytes.NewReader(make([]byte, 64<<20))}); err != nil {
		b.t.Fatal(err)
	}
	begun, err := b.c.s3.CreateMultipartUpload(b.t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(shelf), Key: aws.String("copied")})
	if err != nil {
		b.t.Fatal(err)
	}
	first, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for part := int32(1); ; part++ {
			_, err := b.c.s3.UploadPartCopy(b.t.Context(), &s3.UploadPartCopyInput{Bucket: aws.String(shelf), Key: aws.String("copied"), UploadId: begun.UploadId,
				PartNumber: aws.Int32(1 + part%1000), CopySource: aws.String(shelf + "/large"), CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-", part))})
			if part == 1 {
				close(first)
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	<-first
	return func() {
		var refused *awshttp.ResponseError
		if err := <-ended; errors.As(err, &refused) && refused.HTTPStatusCode()/100 == 4 {
			b.t.Errorf("a copy that was stopped is answered with %v", err)
		}
		if litter := litterOf(b.o.Dir); len(litter) > 0 {
			b.t.Errorf("half a copy is left: %v", litter)
		}
	}
}

func (b *stopBench) bucket() {
	b.t.Helper()
	if _, err := b.c.s3.CreateBucket(b.t.Context(), &s3.CreateBucketInput{Bucket: aws.String(shelf), CreateBucketConfiguration: here}); err != nil {
		b.t.Fatal(err)
	}
}

// underWay waits until the server works for a request.
func (b *stopBench) underWay() {
	b.t.Helper()
	eventually(b.t, time.Minute, "a request is under way", func() bool {
		text, err := io.ReadAll(b.connect("GET /metrics HTTP/1.0\nHost: %s\n\n"))
		return err == nil && strings.Contains(string(text), "\ncfn_requests_in_flight 1\n")
	})
}

// page opens a stream of the console, which ends with a complete answer.
func (b *stopBench) page(path string) func() {
	b.t.Helper()
	reader := bufio.NewReader(b.connect("GET " + path + " HTTP/1.1\nHost: %s\n\n"))
	line, err := reader.ReadString('\n')
	if err != nil || !strings.Contains(line, " 200 ") {
		b.t.Fatalf("%s answered %q, %v", path, line, err)
	}
	return func() { b.ends(reader) }
}

// request sends a request that is answered with a status when the server stops.
func (b *stopBench) request(send func() error, status int) func() {
	answered := make(chan error, 1)
	go func() { answered <- send() }()
	return func() {
		err := <-answered
		var refused *awshttp.ResponseError
		if !errors.As(err, &refused) || refused.HTTPStatusCode() != status {
			b.t.Errorf("the caller got %v, not the status %d", err, status)
		}
	}
}

// TestStopAtWork stops a server while each kind of work is under way. The server cancels it,
// says that all went well, and leaves no process; callers get an answer or the end of their
// connection. What is durable resumes with the next server.
func TestStopAtWork(t *testing.T) {
	for _, test := range stopCases {
		t.Run(test.name, func(t *testing.T) {
			if test.needs != "" {
				if _, err := exec.LookPath(test.needs); err != nil {
					t.Skip("skipped:", err)
				}
			}
			b := newStopBench(t)
			before := b.hanging()
			after := test.begin(b)
			if _, err := os.Stat(b.file + hangs); err == nil || test.resumes {
				eventually(t, time.Minute, "a call hangs", func() bool { return b.hanging() > before })
			}
			took := b.server.terminate(t)
			t.Logf("ended after %s", took.Round(time.Millisecond))
			if after != nil {
				after()
			}
			b.stopped()
			if !test.resumes {
				return
			}
			before = b.hanging()
			b.server = mustStart(t, b.o)
			eventually(t, time.Minute, "the next server resumes the work", func() bool { return b.hanging() > before })
			b.server.terminate(t)
			b.stopped()
		})
	}
}

// newStopBench starts a server that has the type, and the function of a macro.
func newStopBench(t *testing.T) *stopBench {
	t.Helper()
	b := &stopBench{t: t, o: serverOptions{Dir: filepath.Join(t.TempDir(), "data")}, file: filepath.Join(t.TempDir(), "notes")}
	code := filepath.Join(t.TempDir(), "hang")
	if err := os.Mkdir(code, 0o700); err != nil {
		t.Fatal(err)
	}
	source := fmt.Sprintf("NOTES = %q\n", b.file) + hangingMacro
	if err := os.WriteFile(filepath.Join(code, "app.py"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	b.o.Functions = []string{"hang=" + code}
	b.o.Address = freeAddress(t) // that of a URL stays valid
	b.server = mustStart(t, b.o)
	b.c = newClients(t, b.server.url)
	registered(t, b.c, registerSpy(t, b.c, spyPackage(t, b.file, "", 0)), time.Minute)
	return b
}

// stopped looks at what a server that was stopped has left, and whether anything had to be
// given up: work that ignores that it was canceled.
func (b *stopBench) stopped() {
	b.t.Helper()
	if left := processesOf(b.o.Dir); len(left) > 0 {
		b.t.Errorf("handlers still run: %v", left)
	}
	if log := b.server.stderr.String(); strings.Contains(log, "do not end") || strings.Contains(log, "still running") {
		b.t.Errorf("work was not canceled:\n%s", log)
	}
}
