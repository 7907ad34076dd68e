package submit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
)

// TestFollowAfterLostConnection: a response that is cut off in the middle does not end following a stack.
func TestFollowAfterLostConnection(t *testing.T) {
	cut := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		action := r.FormValue("Action")
		if action == "DescribeStackEvents" && cut < 2 {
			cut++
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "<DescribeStackEventsResponse><DescribeStackEventsResult><StackEvents><member>")
			return // the server closes the connection
		}
		body := `<Stacks><member><StackName>shop</StackName><StackId>arn:shop</StackId><StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-01-02T03:04:05Z</CreationTime></member></Stacks>`
		if action == "DescribeStackEvents" {
			body = `<StackEvents><member><EventId>1</EventId><StackId>arn:shop</StackId><PhysicalResourceId>arn:shop</PhysicalResourceId><ResourceStatus>CREATE_IN_PROGRESS</ResourceStatus></member></StackEvents>`
		}
		fmt.Fprintf(w, "<%sResponse><%[1]sResult>%s</%[1]sResult></%[1]sResponse>", action, body)
	}))
	t.Cleanup(server.Close)
	r, err := submit.Open(t.Context(), submit.Config{
		Region: "us-east-1", Endpoint: server.URL, Key: aws.Credentials{AccessKeyID: "123456789012", SecretAccessKey: "x"},
		Getenv: func(string) string { return "" }, Pause: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	stack, err := r.FollowStack(t.Context(), "shop", "", func(_ *types.Stack, more []types.StackEvent) error { events += len(more); return nil })
	if err != nil || stack == nil || events != 1 || cut != 2 {
		t.Errorf("%v, %v, %d events, %d responses were cut off", err, stack, events, cut)
	}
}
