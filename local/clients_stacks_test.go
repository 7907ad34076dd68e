package local_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/local"
)

// TestStackClients takes stacks and change sets through their lives with each of the clients
// that people use, unchanged and at the same time, and provokes the errors of the operations.
func TestStackClients(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the clients of this test are shell scripts")
	}
	t.Parallel()
	url := startWith(t, ownReports(t, local.Config{}))
	report, _ := reports(t)
	for account, client := range map[string]struct {
		name  string
		check []string
		run   []string // nil for stacksWithSDK
	}{
		"111111111111": {"the AWS CLI", []string{"aws", "--version"}, []string{"sh", "stacks.sh"}},
		"222222222222": {"boto3", []string{"python3", "-c", "import boto3"}, []string{"python3", "stacks.py"}},
		"333333333333": {"aws-sdk-go-v2", nil, nil},
	} {
		t.Run(client.name, func(t *testing.T) {
			if client.check != nil {
				program(t, client.check...)
			}
			if client.name == "the AWS CLI" && os.Getenv(clientsVar) == "" {
				t.Skip("skipped: the script takes minutes; it runs with " + clientsVar)
			}
			t.Parallel()
			p := place{url: url, account: account, dir: t.TempDir()}
			for _, name := range []string{"client.sh", "stacks.sh", "stacks.py", "stack-errors.json"} {
				writeFile(t, filepath.Join(p.dir, name), readFile(t, filepath.Join("testdata", name)))
			}
			writeFile(t, filepath.Join(p.dir, "report.zip"), report)
			writeFile(t, filepath.Join(p.dir, "errors.txt"), errorLines(t, p.stackErrors(t)))
			if client.run == nil {
				stacksWithSDK(t, p)
				return
			}
			if out := p.output(t, client.run...); !strings.HasSuffix(out, "\ndone\n") {
				t.Errorf("the script does not come to its end:\n%s", out)
			}
		})
	}
}

// stackErrors are the cases of stack-errors.json that need nothing but the stack "reports",
// in this account.
func (p place) stackErrors(t *testing.T) []errorCase {
	t.Helper()
	var cases []errorCase
	for _, e := range errorCases(t, "stack-errors.json") {
		if e.Input = bytes.ReplaceAll(e.Input, []byte("000000000000"), []byte(p.account)); bytes.Contains(e.Input, []byte("importer")) {
			continue
		}
		e.Message = strings.ReplaceAll(e.Message, "000000000000", p.account)
		var compact bytes.Buffer
		if err := json.Compact(&compact, e.Input); err != nil {
			t.Fatal(err)
		}
		e.Input = compact.Bytes()
		cases = append(cases, e)
	}
	return cases
}

func stacksWithSDK(t *testing.T, p place) {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := &goClient{T: t, place: p, Client: cloudformation.NewFromConfig(aws.Config{
		BaseEndpoint: &p.url, Region: "us-east-1", HTTPClient: &http.Client{Transport: transport}, Credentials: credentials.NewStaticCredentialsProvider(p.account, "any", ""),
	})}
	ctx, name := t.Context(), aws.String("reports")
	setting := func(value string) *string {
		return aws.String(`{"Resources": {"Setting": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "` + value + `"}}}, "Outputs": {"Name": {"Value": {"Ref": "Setting"}, "Export": {"Name": "setting"}}}}`)
	}
	describe := &cloudformation.DescribeStacksInput{StackName: name}
	created := must[*cloudformation.CreateStackOutput](t)(c.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: name, TemplateBody: setting("one"), ClientRequestToken: aws.String("the-first")}))
	err := cloudformation.NewStackCreateCompleteWaiter(c.Client, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	}).Wait(ctx, describe, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if aws.ToString(created.OperationId) == "" {
		t.Error("CreateStack returned no OperationId")
	}
	for _, e := range p.stackErrors(t) {
		c.refused(e)
	}
	set := must[*cloudformation.CreateChangeSetOutput](t)(c.CreateChangeSet(ctx, &cloudformation.CreateChangeSetInput{StackName: name, ChangeSetName: aws.String("two"), TemplateBody: setting("two")}))
	err = cloudformation.NewChangeSetCreateCompleteWaiter(c.Client, func(o *cloudformation.ChangeSetCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	}).
		Wait(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: set.Id}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	changes := must[*cloudformation.DescribeChangeSetOutput](t)(c.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: set.Id, IncludePropertyValues: aws.Bool(true)}))
	if len(changes.Changes) != 1 || changes.Changes[0].ResourceChange.Action != types.ChangeActionModify || changes.Changes[0].ResourceChange.Replacement != types.ReplacementFalse {
		t.Errorf("changes: %+v", changes.Changes)
	}
	must[*cloudformation.ExecuteChangeSetOutput](t)(c.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{ChangeSetName: set.Id}))
	err = cloudformation.NewStackUpdateCompleteWaiter(c.Client, func(o *cloudformation.StackUpdateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	}).Wait(ctx, describe, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	c.refused(errorCase{Operation: "ExecuteChangeSet", Code: "InvalidChangeSetStatus", Message: "cannot be executed", Input: json.RawMessage(`{"ChangeSetName": "` + *set.Id + `"}`)})
	var statuses []string
	for pages := cloudformation.NewDescribeStackEventsPaginator(c.Client, &cloudformation.DescribeStackEventsInput{StackName: name}); pages.HasMorePages(); {
		page := must[*cloudformation.DescribeStackEventsOutput](t)(pages.NextPage(ctx))
		for _, e := range page.StackEvents {
			statuses = append(statuses, aws.ToString(e.LogicalResourceId)+" "+string(e.ResourceStatus))
		}
	}
	c.equal("the events", strings.Join(statuses, ", "), "reports UPDATE_COMPLETE, reports UPDATE_COMPLETE_CLEANUP_IN_PROGRESS, Setting UPDATE_COMPLETE, Setting UPDATE_IN_PROGRESS, reports UPDATE_IN_PROGRESS, "+
		"reports CREATE_COMPLETE, Setting CREATE_COMPLETE, Setting CREATE_IN_PROGRESS, Setting CREATE_IN_PROGRESS, reports CREATE_IN_PROGRESS")
	must[*cloudformation.DeleteStackOutput](t)(c.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: name}))
	err = cloudformation.NewStackDeleteCompleteWaiter(c.Client, func(o *cloudformation.StackDeleteCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	}).
		Wait(ctx, &cloudformation.DescribeStacksInput{StackName: created.StackId}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
}
