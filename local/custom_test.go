package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/local"
)

// A vendor is a function at a URL that provides custom resources. The test decides what it
// does with a request.
type vendor struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	requests []customresource.Request
	do       func(r customresource.Request) (status int)
}

func newVendor(t testing.TB) *vendor {
	v := &vendor{t: t}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request customresource.Request
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Errorf("a request cannot be read: %v", err)
		}
		v.mu.Lock()
		v.requests = append(v.requests, request)
		do := v.do
		v.mu.Unlock()
		if status := do(request); status != 0 {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			_, _ = io.WriteString(w, `{"errorType": "RuntimeError", "errorMessage": "failed because it is a test"}`)
			return
		}
		_, _ = io.WriteString(w, "null")
	}))
	t.Cleanup(v.Close)
	return v
}

// then sets what is done from now on, and forgets what came before.
func (v *vendor) then(do func(r customresource.Request) int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.do, v.requests = do, nil
}

// seen are the requests since then: "Create L p-1".
func (v *vendor) seen() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := []string{}
	for _, r := range v.requests {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.RequestType, r.LogicalResourceID, r.PhysicalResourceID)))
	}
	return out
}

// answer is a response to a request with changes to its fields; nil removes one.
func answer(r customresource.Request, changes map[string]any) []byte {
	fields := map[string]any{"Status": "SUCCESS", "RequestId": r.RequestID, "StackId": r.StackID, "LogicalResourceId": r.LogicalResourceID}
	fields["PhysicalResourceId"] = r.PhysicalResourceID
	if r.PhysicalResourceID == "" {
		fields["PhysicalResourceId"] = "p-" + r.LogicalResourceID
	}
	maps.Copy(fields, changes)
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return text
}

// put puts a body at a URL, and returns the status of the answer.
func (v *vendor) put(url string, body []byte) int {
	status := v.try(url, body)
	if status == 0 {
		v.t.Error("a response cannot be sent")
	}
	return status
}

// try is put, and 0 if there is no answer.
func (v *vendor) try(url string, body []byte) int {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		v.t.Error(err)
		return 0
	}
	response, err := v.Client().Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// respond answers a request.
func (v *vendor) respond(r customresource.Request, changes map[string]any) int {
	v.put(r.ResponseURL, answer(r, changes))
	return 0
}

// works answers all requests with success.
func (v *vendor) works(r customresource.Request) int { return v.respond(r, nil) }

// ended waits until a stack is not in progress any more.
func (c clients) ended(t testing.TB, name string) cfntypes.Stack {
	t.Helper()
	var stack cfntypes.Stack
	eventually(t, 2*time.Minute, "the end of "+name, func() bool {
		found, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil {
			t.Fatal(err)
		}
		stack = found.Stacks[0]
		return !strings.HasSuffix(string(stack.StackStatus), "IN_PROGRESS")
	})
	return stack
}

// history are the events of resources of a stack, the oldest first: "Thing CREATE_FAILED reason".
func (c clients) history(t testing.TB, stack cfntypes.Stack) (out []string) {
	t.Helper()
	pages := cloudformation.NewDescribeStackEventsPaginator(c.Client, &cloudformation.DescribeStackEventsInput{StackName: stack.StackId})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.StackEvents {
			if aws.ToString(e.PhysicalResourceId) != *stack.StackId {
				out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", *e.LogicalResourceId, e.ResourceStatus, aws.ToString(e.ResourceStatusReason))))
			}
		}
	}
	slices.Reverse(out)
	return out
}

// create, update and remove take a stack through one operation.
func (c clients) create(t testing.TB, name, body string) cfntypes.Stack {
	t.Helper()
	if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body}); err != nil {
		t.Fatal(err)
	}
	return c.ended(t, name)
}

func (c clients) update(t testing.TB, name, body string) cfntypes.Stack {
	t.Helper()
	if _, err := c.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: &name, TemplateBody: &body}); err != nil {
		t.Fatal(err)
	}
	return c.ended(t, name)
}

func (c clients) remove(t testing.TB, stack cfntypes.Stack) cfntypes.Stack {
	t.Helper()
	if _, err := c.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: stack.StackId}); err != nil {
		t.Fatal(err)
	}
	return c.ended(t, *stack.StackId)
}

const vendorToken = "arn:aws:lambda:" + region + ":" + account + ":function:vendor"

// thing is a template with one custom resource.
func thing(properties string) string {
	return `{"Resources": {"Thing": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + vendorToken + `"` + properties + `}}}}`
}

// withVendor starts a server whose custom resources the test provides.
func withVendor(t *testing.T, config local.Config) (*vendor, clients) {
	t.Helper()
	v := newVendor(t)
	config.Functions = append(config.Functions, "vendor="+v.URL)
	config.TimeScale = 1000
	server := serving(t, local.ServerConfig{Config: config})
	return v, newClients(t, server.URL())
}

// TestCustomResource takes one through its life.
func TestCustomResource(t *testing.T) {
	t.Parallel()
	v, c := withVendor(t, local.Config{})
	v.then(func(r customresource.Request) int {
		return v.respond(r, map[string]any{"Data": map[string]any{"Address": "a-" + fmt.Sprint(r.Properties["Size"]), "Deep": map[string]any{"List": []any{"x", "y"}}, "Count": 3}})
	})
	body := func(size string) string {
		return `{"Resources": {
			"Thing": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + vendorToken + `:live", "Size": ` + size + `, "On": true, "Many": [1, {"Deep": false}]}},
			"Other": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "of-thing", "Value": {"Fn::GetAtt": ["Thing", "Address"]}}}},
			"Outputs": {"Ref": {"Value": {"Ref": "Thing"}}, "Address": {"Value": {"Fn::GetAtt": ["Thing", "Address"]}}, "Count": {"Value": {"Fn::GetAtt": ["Thing", "Count"]}},
				"Deep": {"Value": {"Fn::Join": ["-", {"Fn::GetAtt": ["Thing", "Deep.List"]}]}}}}`
	}
	outputs := func(stack cfntypes.Stack) string {
		out := map[string]string{}
		for _, o := range stack.Outputs {
			out[*o.OutputKey] = *o.OutputValue
		}
		return fmt.Sprint(out)
	}
	stack := c.create(t, "life", body("5"))
	if got := outputs(stack); stack.StackStatus != "CREATE_COMPLETE" || got != "map[Address:a-5 Count:3 Deep:x-y Ref:p-Thing]" {
		t.Fatalf("%s %s: %s", stack.StackStatus, got, c.history(t, stack))
	}
	v.mu.Lock()
	r := v.requests[0]
	v.mu.Unlock()
	if got := fmt.Sprint(r.Properties); got != "map[Many:[1 map[Deep:false]] On:true ServiceToken:"+vendorToken+":live Size:5]" || r.Properties["On"] != "true" || r.Properties["Size"] != "5" {
		t.Errorf("the properties are %s", got)
	}
	if r.StackID != *stack.StackId || r.ResourceType != "Custom::Thing" || r.ServiceToken != vendorToken+":live" || len(r.RequestID) != 36 || r.OldProperties != nil {
		t.Errorf("the request is %+v", r)
	}
	want := []string{"Thing CREATE_IN_PROGRESS", "Thing CREATE_IN_PROGRESS Resource creation Initiated", "Thing CREATE_COMPLETE"}
	if got := c.history(t, stack); len(got) < 3 || !slices.Equal(got[:3], want) {
		t.Errorf("events %q, want %q", got, want)
	}

	if stack = c.update(t, "life", body("6")); outputs(stack) != "map[Address:a-6 Count:3 Deep:x-y Ref:p-Thing]" {
		t.Errorf("%s %s", stack.StackStatus, outputs(stack))
	}
	v.mu.Lock()
	r = v.requests[1]
	v.mu.Unlock()
	if r.RequestType != "Update" || r.PhysicalResourceID != "p-Thing" || r.Properties["Size"] != "6" || r.OldProperties["Size"] != "5" || r.OldProperties["ServiceToken"] != vendorToken+":live" {
		t.Errorf("the request is %+v", r)
	}
	v.then(v.works)
	if stack = c.remove(t, stack); stack.StackStatus != "DELETE_COMPLETE" {
		t.Errorf("%s: %s", stack.StackStatus, c.history(t, stack))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if r = v.requests[0]; len(v.requests) != 1 || r.RequestType != "Delete" || r.PhysicalResourceID != "p-Thing" || fmt.Sprint(r.Properties) != "map[Many:[1 map[Deep:false]] On:true ServiceToken:"+vendorToken+":live Size:6]" || r.OldProperties != nil {
		t.Errorf("%+v", v.requests)
	}
}

// A mishap is what a provider does otherwise than it should, and what becomes of it.
type mishap struct {
	name    string
	do      func(v *vendor, r customresource.Request) int // to the request under test
	more    string                                        // properties: `, "ServiceTimeout": 1`
	reason  string                                        // of the failure; ID is that of the request, OBJECT names it
	deletes string                                        // the id of the Delete that follows a failed Create; GENERATED, or "" for none
	calls   int                                           // of the request under test; 0 means 1
}

func responds(changes map[string]any) func(*vendor, customresource.Request) int {
	return func(v *vendor, r customresource.Request) int { return v.respond(r, changes) }
}

const noResponse = "CloudFormation did not receive a response from your Custom Resource. Please check your logs for requestId [ID]. " +
	"If you are using the Python cfn-response module, you may need to update your Lambda function code so that CloudFormation can attach the updated version."

// mishaps are the ways to fail, for each kind of request.
var mishaps = []mishap{
	{name: "failed", do: responds(map[string]any{"Status": "FAILED", "Reason": "no luck"}),
		reason: "Received response status [FAILED] from custom resource. Message returned: no luck (RequestId: ID)", deletes: "p-Thing"},
	{name: "failed without a reason", do: responds(map[string]any{"Status": "FAILED"}), reason: "Vendor response doesn't contain Reason key in object OBJECT", deletes: "GENERATED"},
	{name: "failed without an id", do: responds(map[string]any{"Status": "FAILED", "Reason": "no luck", "PhysicalResourceId": ""}), reason: "Invalid PhysicalResourceId", deletes: "GENERATED"},
	{name: "no id", do: responds(map[string]any{"PhysicalResourceId": nil}), reason: "Vendor response doesn't contain PhysicalResourceId key in object OBJECT", deletes: "GENERATED"},
	{name: "long id", do: responds(map[string]any{"PhysicalResourceId": strings.Repeat("x", 1025)}), reason: "Invalid PhysicalResourceId", deletes: "GENERATED"},
	{name: "another status", do: responds(map[string]any{"Status": "success"}), reason: "Invalid Response object: 'success' is not a valid ResponseStatus", deletes: "GENERATED"},
	{name: "not JSON", do: func(v *vendor, r customresource.Request) int { v.put(r.ResponseURL, []byte("SUCCESS")); return 0 },
		reason: "Invalid Response object: the response is not a JSON object", deletes: "GENERATED"},
	{name: "too long", do: func(v *vendor, r customresource.Request) int {
		if status := v.put(r.ResponseURL, answer(r, map[string]any{"Data": map[string]any{"K": strings.Repeat("x", 4096)}})); status != 400 {
			v.t.Errorf("an oversized response is answered with %d", status)
		}
		v.respond(r, nil) // it is too late
		return 0
	}, reason: "Response object is too long.", deletes: "GENERATED"},
	{name: "never", do: func(*vendor, customresource.Request) int { return 0 }, more: `, "ServiceTimeout": "1"`, reason: noResponse, deletes: "GENERATED"},
	{name: "of another request", do: func(v *vendor, r customresource.Request) int {
		if status := v.put(r.ResponseURL, answer(r, map[string]any{"RequestId": "11111111-2222-3333-4444-555555555555"})); status != 400 {
			v.t.Errorf("the response to another request is answered with %d", status)
		}
		return 0
	}, more: `, "ServiceTimeout": 1`, reason: noResponse, deletes: "GENERATED"},
	{name: "raises", do: func(*vendor, customresource.Request) int { return 1 }, reason: noResponse, deletes: "GENERATED", calls: 3},
}

// TestMishaps fails each kind of request in each way.
func TestMishaps(t *testing.T) {
	t.Parallel()
	for _, m := range mishaps {
		for _, kind := range []customresource.RequestType{customresource.Create, customresource.Update, customresource.Delete} {
			t.Run(fmt.Sprintf("%s/%s", kind, m.name), func(t *testing.T) {
				t.Parallel()
				v, c := withVendor(t, local.Config{})
				m.run(t, v, c, kind)
			})
		}
	}
}

func (m mishap) run(t *testing.T, v *vendor, c clients, kind customresource.RequestType) {
	var under customresource.Request
	before := kind != customresource.Create
	v.then(func(r customresource.Request) int {
		if r.RequestType != kind || r.Properties["Undo"] != nil || kind == customresource.Update && r.Properties["New"] != "1" {
			return v.works(r)
		}
		v.mu.Lock()
		under = r
		v.mu.Unlock()
		return m.do(v, r)
	})
	var stack cfntypes.Stack
	if before {
		if stack = c.create(t, "s", thing(m.more)); stack.StackStatus != "CREATE_COMPLETE" {
			t.Fatal(c.history(t, stack))
		}
	}
	want := map[customresource.RequestType][2]string{
		customresource.Create: {"ROLLBACK_COMPLETE", "CREATE_FAILED"},
		customresource.Update: {"UPDATE_ROLLBACK_COMPLETE", "UPDATE_FAILED"},
		customresource.Delete: {"DELETE_FAILED", "DELETE_FAILED"},
	}[kind]
	var calls []string
	switch kind {
	case customresource.Create:
		stack = c.create(t, "s", thing(m.more))
		calls = []string{"Create Thing"}
	case customresource.Update:
		stack = c.update(t, "s", thing(m.more+`, "New": 1`))
		calls = []string{"Update Thing p-Thing"}
	default:
		stack = c.remove(t, stack)
		calls = []string{"Delete Thing p-Thing"}
	}
	v.mu.Lock()
	r := under
	v.mu.Unlock()
	reason := strings.NewReplacer("ID]", r.RequestID+"]", "ID)", r.RequestID+")", "OBJECT", r.Object()).Replace(m.reason)
	history := c.history(t, stack)
	if string(stack.StackStatus) != want[0] || !slices.Contains(history, "Thing "+want[1]+" "+reason) {
		t.Errorf("%s, events %q, want %s with %s", stack.StackStatus, history, want[0], reason)
	}
	for range max(1, m.calls) - 1 {
		calls = append(calls, calls[0])
	}
	seen := v.seen()
	if before {
		seen = seen[1:]
	}
	switch kind {
	case customresource.Create:
		calls = append(calls, "Delete Thing "+m.deletes)
		if last := len(seen) - 1; m.deletes == "GENERATED" && strings.HasPrefix(seen[last], "Delete Thing s-Thing-") && len(seen[last]) == len("Delete Thing s-Thing-")+12 {
			calls[len(calls)-1] = seen[last]
		}
	case customresource.Update:
		calls = append(calls, "Update Thing p-Thing")
	}
	if !slices.Equal(seen, calls) {
		t.Errorf("calls %q, want %q", seen, calls)
	}
}

// TestUpdatesOfCustomResources has what the stack does with the ids that updates return.
func TestUpdatesOfCustomResources(t *testing.T) {
	t.Parallel()
	other := func(v *vendor, status string) func(customresource.Request) int {
		return func(r customresource.Request) int {
			if r.RequestType == customresource.Update && r.Properties["New"] != nil {
				return v.respond(r, map[string]any{"PhysicalResourceId": "p-2", "Status": status, "Reason": "because"})
			}
			return v.works(r)
		}
	}
	failing := `, "Last": {"Type": "Custom::Last", "DependsOn": "Thing", "Properties": {"ServiceToken": "arn:aws:lambda:` + region + ":" + account + `:function:missing"}}`
	with := func(body, more string) string { return strings.TrimSuffix(body, "}}") + more + "}}" }
	for _, test := range []struct {
		name, body, status string
		do                 func(v *vendor) func(customresource.Request) int
		calls              []string
		event, ref         string
	}{
		{"unchanged", with(thing(""), `, "More": {"Type": "AWS::CloudFormation::WaitConditionHandle"}`), "UPDATE_COMPLETE", nil, nil, "", "p-Thing"},
		{"replaced", thing(`, "New": 1`), "UPDATE_COMPLETE", func(v *vendor) func(customresource.Request) int { return other(v, "SUCCESS") },
			[]string{"Update Thing p-Thing", "Delete Thing p-Thing"}, "Thing UPDATE_IN_PROGRESS Requested update required the provider to create a new physical resource", "p-2"},
		{"replaced and rolled back", with(thing(`, "New": 1`), failing), "UPDATE_ROLLBACK_COMPLETE", func(v *vendor) func(customresource.Request) int { return other(v, "SUCCESS") },
			[]string{"Update Thing p-Thing", "Delete Thing p-2"}, "Thing DELETE_COMPLETE", "p-Thing"},
		{"updated and rolled back", with(thing(`, "New": 1`), failing), "UPDATE_ROLLBACK_COMPLETE", nil,
			[]string{"Update Thing p-Thing", "Update Thing p-Thing"}, "Thing UPDATE_COMPLETE", "p-Thing"},
		{"failed with another id", thing(`, "New": 1`), "UPDATE_ROLLBACK_COMPLETE", func(v *vendor) func(customresource.Request) int { return other(v, "FAILED") },
			[]string{"Update Thing p-Thing", "Update Thing p-Thing", "Delete Thing p-2"}, "", "p-Thing"},
		{"another version of the function", strings.Replace(thing(""), ":function:vendor", ":function:vendor:2", 1), "UPDATE_ROLLBACK_COMPLETE", nil,
			nil, "Thing UPDATE_FAILED Modifying service token is not allowed.", "p-Thing"},
		{"removed", `{"Resources": {"More": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`, "UPDATE_COMPLETE", nil, []string{"Delete Thing p-Thing"}, "Thing DELETE_COMPLETE", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v, c := withVendor(t, local.Config{})
			v.then(v.works)
			stack := c.create(t, "s", thing(""))
			if stack.StackStatus != "CREATE_COMPLETE" {
				t.Fatal(c.history(t, stack))
			}
			v.then(v.works)
			if test.do != nil {
				v.then(test.do(v))
			}
			stack = c.update(t, "s", test.body)
			history := c.history(t, stack)
			if string(stack.StackStatus) != test.status || test.event != "" && !slices.Contains(history, test.event) {
				t.Errorf("%s, events %q, want %s with %q", stack.StackStatus, history, test.status, test.event)
			}
			if seen := v.seen(); !slices.Equal(seen, append([]string{}, test.calls...)) {
				t.Errorf("calls %q, want %q", seen, test.calls)
			}
			found, err := c.DescribeStackResources(t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: aws.String("s")})
			if err != nil {
				t.Fatal(err)
			}
			ref := ""
			for _, r := range found.StackResources {
				if *r.LogicalResourceId == "Thing" {
					ref = *r.PhysicalResourceId
				}
			}
			if ref != test.ref {
				t.Errorf("the physical id is %q, want %q", ref, test.ref)
			}
		})
	}
}

// TestRefusedCustomResources has what is refused before anything is called.
func TestRefusedCustomResources(t *testing.T) {
	t.Parallel()
	v, c := withVendor(t, local.Config{})
	v.then(v.works)
	for i, test := range []struct{ properties, want string }{
		{`"ServiceToken": "vendor"`, "Invalid service token"},
		{`"ServiceToken": "arn:aws:sqs:` + region + `:1:q"`, "Invalid service token"},
		{`"ServiceToken": {"a": 1}`, "Invalid service token"},
		{`"ServiceToken": "arn:aws:lambda:eu-north-1:` + account + `:function:vendor"`, "Functions from 'eu-north-1' are not reachable in this region"},
		{`"ServiceToken": "arn:aws:sns:` + region + ":" + account + `:nothing"`, "Topic does not exist (Service: Sns, Status Code: 404"},
		{`"ServiceToken": "arn:aws:lambda:` + region + ":" + account + `:function:nothing"`, "Function not found: nothing"},
		{`"Size": 1`, "required key [ServiceToken] not found"},
		{`"ServiceToken": "` + vendorToken + `", "ServiceTimeout": 0`, "ServiceTimeout must be an integer between 1 and 14400 seconds"},
		{`"ServiceToken": "` + vendorToken + `", "ServiceTimeout": "1 h"`, "ServiceTimeout must be an integer between 1 and 14400 seconds"},
	} {
		stack := c.create(t, fmt.Sprint("s", i), `{"Resources": {"Thing": {"Type": "AWS::CloudFormation::CustomResource", "Properties": {`+test.properties+`}}}}`)
		history := c.history(t, stack)
		if stack.StackStatus != "ROLLBACK_COMPLETE" || !slices.ContainsFunc(history, func(e string) bool {
			return strings.HasPrefix(e, "Thing CREATE_FAILED") && strings.Contains(e, test.want)
		}) {
			t.Errorf("%s: %s, %q", test.properties, stack.StackStatus, history)
		}
	}
	if seen := v.seen(); len(seen) > 0 {
		t.Errorf("calls: %q", seen)
	}
	missing := strings.Replace(strings.TrimSuffix(thing(""), "}"), `"}}}`, `"}}}, "Outputs": {"A": {"Value": {"Fn::GetAtt": ["Thing", "Nothing"]}}}`, 1)
	stack := c.create(t, "attribute", missing+"}")
	want := "CustomResource attribute error: Vendor response doesn't contain Nothing attribute in object " + *stack.StackId + "|Thing|"
	events, err := c.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: stack.StackId})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(events.StackEvents, func(e cfntypes.StackEvent) bool { return strings.Contains(aws.ToString(e.ResourceStatusReason), want) }) {
		t.Errorf("%s: %q", stack.StackStatus, c.history(t, stack))
	}
}

// TestNoEchoOfCustomResources looks for a secret of a response everywhere.
func TestNoEchoOfCustomResources(t *testing.T) {
	t.Parallel()
	v, c := withVendor(t, local.Config{})
	const secret = "hunter22-of-the-vendor"
	v.then(func(r customresource.Request) int {
		return v.respond(r, map[string]any{"NoEcho": true, "Data": map[string]any{"Password": secret}})
	})
	body := `{"Resources": {
		"Thing": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + vendorToken + `"}},
		"User": {"Type": "Custom::User", "Properties": {"ServiceToken": "` + vendorToken + `", "Password": {"Fn::Sub": "x-${Thing.Password}"}, "Name": "me"}}},
		"Outputs": {"Password": {"Value": {"Fn::GetAtt": ["Thing", "Password"]}}}}`
	stack := c.create(t, "s", body)
	if stack.StackStatus != "CREATE_COMPLETE" || *stack.Outputs[0].OutputValue != "****" {
		t.Errorf("%s, outputs %s", stack.StackStatus, *stack.Outputs[0].OutputValue)
	}
	events, err := c.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: stack.StackId})
	if err != nil {
		t.Fatal(err)
	}
	shown := false
	for _, e := range events.StackEvents {
		text := aws.ToString(e.ResourceProperties)
		if strings.Contains(text, secret) {
			t.Errorf("an event shows the secret: %s", text)
		}
		shown = shown || strings.Contains(text, `"Password":"x-****"`)
	}
	if !shown {
		t.Error("no event shows that the password is masked")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if got := v.requests[1].Properties["Password"]; got != "x-"+secret {
		t.Errorf("the provider got %v", got)
	}
}

// TestTopics has a custom resource provided by a function that subscribes to a topic.
func TestTopics(t *testing.T) {
	t.Parallel()
	v := newVendor(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event struct {
			Records []struct {
				EventSource string
				Sns         struct{ Subject, Message, TopicArn string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil || len(event.Records) != 1 || event.Records[0].EventSource != "aws:sns" {
			t.Errorf("the event is %+v, %v", event, err)
			return
		}
		message := event.Records[0].Sns
		if message.Subject == "hello" || message.Subject == "AWS CloudFormation Notification" {
			v.mu.Lock()
			v.requests = append(v.requests, customresource.Request{RequestType: "Message", LogicalResourceID: message.Message})
			v.mu.Unlock()
			return
		}
		// The message goes on to the vendor as a function gets it.
		r.Body = io.NopCloser(strings.NewReader(message.Message))
		v.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	server := serving(t, local.ServerConfig{Config: local.Config{Functions: []string{"vendor=" + front.URL}, TimeScale: 1000}})
	c := newClients(t, server.URL())
	call := func(action string, form url.Values) string {
		t.Helper()
		form.Set("Action", action)
		form.Set("Version", "2010-03-31")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL()+"/", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+account+"/20260101/"+region+"/sns/aws4_request, SignedHeaders=host, Signature=none")
		answer, err := v.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	topic := "arn:aws:sns:" + region + ":" + account + ":things"
	if got := call("CreateTopic", url.Values{"Name": {"things"}}); !strings.Contains(got, "<TopicArn>"+topic+"</TopicArn>") {
		t.Fatal(got)
	}
	for action, test := range map[string]struct {
		form url.Values
		want string
	}{
		"CreateTopic": {url.Values{"Name": {"a.fifo"}}, "FIFO topics are not supported"},
		"Subscribe":   {url.Values{"TopicArn": {topic}, "Protocol": {"email"}, "Endpoint": {"a@b"}}, "this server supports lambda"},
		"Publish":     {url.Values{"TopicArn": {topic + "x"}, "Message": {"m"}}, "Topic does not exist"},
		"Unsubscribe": {url.Values{"SubscriptionArn": {"x"}}, "InvalidParameter"},
	} {
		if got := call(action, test.form); !strings.Contains(got, test.want) {
			t.Errorf("%s %v: %s", action, test.form, got)
		}
	}
	first := call("Subscribe", url.Values{"TopicArn": {topic}, "Protocol": {"lambda"}, "Endpoint": {vendorToken}})
	if again := call("Subscribe", url.Values{"TopicArn": {topic}, "Protocol": {"lambda"}, "Endpoint": {vendorToken}}); !strings.Contains(again, topic+":") || between(first, "<SubscriptionArn>", "<") != between(again, "<SubscriptionArn>", "<") {
		t.Errorf("subscriptions %s and %s", first, again)
	}
	if got := call("ListSubscriptionsByTopic", url.Values{"TopicArn": {topic}}); strings.Count(got, "<member>") != 1 || !strings.Contains(got, vendorToken) {
		t.Error(got)
	}
	if got := call("ListTopics", url.Values{}); !strings.Contains(got, topic) {
		t.Error(got)
	}
	call("Publish", url.Values{"TopicArn": {topic}, "Message": {"world"}, "Subject": {"hello"}})
	eventually(t, time.Minute, "the message", func() bool { return slices.Contains(v.seen(), "Message world") })

	v.then(v.works)
	stack := c.create(t, "s", strings.Replace(thing(""), vendorToken, topic, 1))
	if stack.StackStatus != "CREATE_COMPLETE" {
		t.Fatalf("%s: %q", stack.StackStatus, c.history(t, stack))
	}
	if stack = c.remove(t, stack); stack.StackStatus != "DELETE_COMPLETE" || !slices.Equal(v.seen(), []string{"Create Thing", "Delete Thing p-Thing"}) {
		t.Errorf("%s, calls %q", stack.StackStatus, v.seen())
	}
	// The events of a stack, also those of its resources.
	if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("told"), NotificationARNs: []string{topic, topic + "-missing"},
		TemplateBody: aws.String(`{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "v"}}}}`)}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"told' ResourceStatus='CREATE_IN_PROGRESS'", "P' ResourceStatus='CREATE_COMPLETE'", "told' ResourceStatus='CREATE_COMPLETE'"} {
		id, status, _ := strings.Cut(want, " ")
		eventually(t, time.Minute, want, func() bool {
			return slices.ContainsFunc(v.seen(), func(line string) bool {
				return strings.HasPrefix(line, "Message StackId='arn:aws:cloudformation:") && strings.Contains(line, "\nLogicalResourceId='"+id+"\n") && strings.Contains(line, "\n"+status+"\n")
			})
		})
	}
	call("Unsubscribe", url.Values{"SubscriptionArn": {between(first, "<SubscriptionArn>", "<")}})
	if got := call("GetTopicAttributes", url.Values{"TopicArn": {topic}}); !strings.Contains(got, "<key>SubscriptionsConfirmed</key><value>0</value>") {
		t.Error(got)
	}
	call("DeleteTopic", url.Values{"TopicArn": {topic}})
	if got := call("ListTopics", url.Values{}); strings.Contains(got, topic) {
		t.Error(got)
	}
}

// between is what is in a text after one mark and before another.
func between(text, after, before string) string {
	_, text, _ = strings.Cut(text, after)
	text, _, _ = strings.Cut(text, before)
	return text
}
