package awswire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var caller = awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}, RequestID: "00000000-1111-2222-3333-444444444444"}

// post sends a form to a table.
func post(table *awswire.Table, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	table.Serve(w, r, caller)
	return w
}

// keeps is an operation that keeps its input.
func keeps[I, O any](name string, kept **I) awswire.Operation {
	return awswire.Op(name, func(_ context.Context, _ awswire.Caller, in *I) (*O, error) {
		*kept = in
		return new(O), nil
	})
}

// TestForms has what clients other than the Go SDK send.
func TestForms(t *testing.T) {
	type input = cloudformation.CreateStackInput
	var got *input
	table := cloudFormation(keeps[input, cloudformation.CreateStackOutput]("CreateStack", &got))
	table.Known = nil
	table.NoResult = nil
	for _, test := range []struct {
		name, form string
		want       *input
	}{
		{"nothing", "", &input{}},
		{"empty and absent", "StackName=&Tags=&NotificationARNs=", &input{StackName: aws.String(""), Tags: []types.Tag{}, NotificationARNs: []string{}}},
		{"empty list of another client", "Tags.member=", &input{Tags: []types.Tag{}}},
		{"empty structure", "RollbackConfiguration=", &input{RollbackConfiguration: &types.RollbackConfiguration{}}},
		{"a list's order is that of its numbers", "ResourceTypes.member.10=c&ResourceTypes.member.9=b&ResourceTypes.member.2=a", &input{ResourceTypes: []string{"a", "b", "c"}}},
		{"a large number allocates nothing", "ResourceTypes.member.1000000000=a", &input{ResourceTypes: []string{"a"}}},
		{"an empty element", "ResourceTypes.member.1=", &input{ResourceTypes: []string{""}}},
		{"a list that is announced as empty and is not", "Tags=&Tags.member.1.Key=k", &input{Tags: []types.Tag{{Key: aws.String("k")}}}},
		{"nested", "RollbackConfiguration.RollbackTriggers.member.1.Arn=a&RollbackConfiguration.MonitoringTimeInMinutes=7",
			&input{RollbackConfiguration: &types.RollbackConfiguration{MonitoringTimeInMinutes: aws.Int32(7), RollbackTriggers: []types.RollbackTrigger{{Arn: aws.String("a")}}}}},
		{"booleans in any case", "DisableRollback=True&EnableTerminationProtection=FALSE", &input{DisableRollback: aws.Bool(true), EnableTerminationProtection: aws.Bool(false)}},
		{"unknown parameters", "Nonsense=1&Nonsense2.member.1.a=2&Tags.member.1.Key=k&Tags.member.1.Colour=red&stackname=x",
			&input{Tags: []types.Tag{{Key: aws.String("k")}}}},
		{"escapes", "StackName=%c3%bc+%2B%26%3D&TemplateBody=a%0D%0Ab", &input{StackName: aws.String("ü +&="), TemplateBody: aws.String("a\r\nb")}},
		{"an equals sign in the value, stray ampersands", "&&StackName=a=b&&", &input{StackName: aws.String("a=b")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got = nil
			form := "Action=CreateStack&Version=2010-05-15"
			if test.form != "" {
				form += "&" + test.form
			}
			if w := post(table, form); w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(input{}, types.Tag{}, types.RollbackConfiguration{}, types.RollbackTrigger{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			got = nil
			r := httptest.NewRequest(http.MethodGet, "/?"+form, nil)
			w := httptest.NewRecorder()
			table.Serve(w, r, caller)
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(input{}, types.Tag{}, types.RollbackConfiguration{}, types.RollbackTrigger{})); diff != "" {
				t.Errorf("by GET (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFormMaps covers maps, which no client but boto sends empty.
func TestFormMaps(t *testing.T) {
	type input = cloudformation.CreateChangeSetInput
	var got *input
	table := cloudFormation(keeps[input, cloudformation.CreateChangeSetOutput]("CreateChangeSet", &got))
	table.NoResult = nil
	const form = "Action=CreateChangeSet&Version=2010-05-15&ResourcesToImport.member.1.LogicalResourceId=L&ResourcesToImport.member.1.ResourceIdentifier"
	for text, want := range map[string]map[string]string{
		"=": {},
		".entry.1.key=a&ResourcesToImport.member.1.ResourceIdentifier.entry.1.value=b": {"a": "b"},
		".entry.7.key=&ResourcesToImport.member.1.ResourceIdentifier.entry.7.value=":   {"": ""},
	} {
		got = nil
		if w := post(table, form+text); w.Code != http.StatusOK {
			t.Errorf("%s: %s", text, w.Body)
			continue
		}
		if diff := cmp.Diff(want, got.ResourcesToImport[0].ResourceIdentifier); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestMalformedForms has the refusals of the Query protocol.
func TestMalformedForms(t *testing.T) {
	called := false
	table := cloudFormation(awswire.Op("CreateChangeSet", func(context.Context, awswire.Caller, *cloudformation.CreateChangeSetInput) (*cloudformation.CreateChangeSetOutput, error) {
		called = true
		return &cloudformation.CreateChangeSetOutput{}, nil
	}))
	table.MaxBody = 1 << 20
	good := "Action=CreateChangeSet&Version=2010-05-15&"
	var many strings.Builder
	for i := range 20_001 {
		many.WriteString("p" + strconv.Itoa(i) + "=&")
	}
	for _, test := range []struct {
		name, body string
		change     func(*http.Request)
		status     int
		code, text string
	}{
		{name: "no action", body: "Version=2010-05-15", status: 400, code: "MissingAction", text: "Missing Action"},
		{name: "nothing at all", status: 400, code: "MissingAction", text: "Missing Action"},
		{name: "no version", body: "Action=CreateChangeSet", status: 400, code: "InvalidAction", text: "Could not find operation CreateChangeSet for version NO_VERSION_SPECIFIED"},
		{name: "another version", body: "Action=CreateChangeSet&Version=2010-05-16", status: 400, code: "InvalidAction", text: "Could not find operation CreateChangeSet for version 2010-05-16"},
		{name: "a known operation of another version", body: "Action=CreateStack&Version=1", status: 400, code: "InvalidAction", text: "Could not find operation CreateStack for version 1"},
		{name: "unknown", body: "Action=Create%3CStack&Version=2010-05-15", status: 400, code: "InvalidAction", text: "Could not find operation Create&lt;Stack for version 2010-05-15"},
		{name: "known", body: "Action=DeleteStack&Version=2010-05-15", status: 501, code: "NotImplemented", text: "This server does not support the operation DeleteStack of cloudformation yet."},
		{name: "escape in a value", body: good + "StackName=%zz", status: 400, code: "MalformedQueryString", text: "The value of parameter StackName has a malformed percent encoding"},
		{name: "escape in a name", body: good + "%4=1", status: 400, code: "MalformedQueryString", text: "The name of a parameter has a malformed percent encoding"},
		{name: "not UTF-8", body: good + "StackName=%ff", status: 400, code: "MalformedQueryString", text: "The value of parameter StackName is not UTF-8 text"},
		{name: "NUL", body: good + "StackName=%00", status: 400, code: "MalformedQueryString", text: "not UTF-8 text"},
		{name: "twice", body: good + "StackName=a&StackName=a", status: 400, code: "MalformedQueryString", text: "Parameter StackName is given more than once"},
		{name: "the same element twice", body: good + "Tags.member.1.Key=a&Tags.member.1.Key=b", status: 400, code: "MalformedQueryString", text: "Parameter Tags.member.1.Key is given more than once"},
		{name: "in the body and in the URL", body: good, change: func(r *http.Request) { r.URL.RawQuery = "Action=ListStacks" }, status: 400, code: "MalformedQueryString", text: "Parameter Action is given more than once"},
		{name: "too many", body: good + many.String(), status: 400, code: "MalformedQueryString", text: "The request has more than 20000 parameters"},
		{name: "too deep", body: good + strings.Repeat("a.", 40) + "=1", status: 400, code: "MalformedQueryString", text: "is nested deeper than 32 levels"},
		{name: "a long name", body: good + strings.Repeat("a", 600) + "=1", status: 400, code: "MalformedQueryString", text: "The name of a parameter is longer than 512 bytes"},
		{name: "too large", body: good + "TemplateBody=" + strings.Repeat("a", 1<<20), status: 413, code: "RequestEntityTooLarge", text: "larger than 1048576 bytes"},
		{name: "too large, of unknown length", body: good + "TemplateBody=" + strings.Repeat("a", 1<<20), change: func(r *http.Request) { r.ContentLength = -1 }, status: 413, code: "RequestEntityTooLarge", text: "larger than 1048576 bytes"},
		{name: "no integer", body: good + "RollbackConfiguration.MonitoringTimeInMinutes=soon", status: 400, code: "MalformedInput", text: "Value is not an integer of 32 bits at RollbackConfiguration.MonitoringTimeInMinutes"},
		{name: "a large integer", body: good + "RollbackConfiguration.MonitoringTimeInMinutes=2147483648", status: 400, code: "MalformedInput", text: "Value is not an integer of 32 bits"},
		{name: "no boolean", body: good + "UsePreviousTemplate=yes", status: 400, code: "MalformedInput", text: "Value is not a boolean at UsePreviousTemplate"},
		{name: "a list for a string", body: good + "StackName.member.1=a", status: 400, code: "MalformedInput", text: "Start of structure, list or map found where not expected at StackName"},
		{name: "a string for a list", body: good + "Tags=a", status: 400, code: "MalformedInput", text: "Unexpected value where a list or map was expected at Tags"},
		{name: "a string for a structure", body: good + "Tags.member.1=a", status: 400, code: "MalformedInput", text: "Unexpected value where a structure was expected at Tags.1.member"},
		{name: "a list without member", body: good + "Tags.1.Key=a", status: 400, code: "MalformedInput", text: "Expected &#34;member&#34; below a list or map at Tags"},
		{name: "element 0", body: good + "Tags.member.0.Key=a", status: 400, code: "MalformedInput", text: "&#34;0&#34; is not the number of a list member at Tags"},
		{name: "element 01", body: good + "Tags.member.01.Key=a", status: 400, code: "MalformedInput", text: "&#34;01&#34; is not the number of a list member at Tags"},
		{name: "element beyond", body: good + "Tags.member.99999999999999999999.Key=a", status: 400, code: "MalformedInput", text: "is not the number of a list member"},
		{name: "a key without value", body: good + "ResourcesToImport.member.1.ResourceIdentifier.entry.1.key=a", status: 400, code: "MalformedInput", text: "An entry of a map needs a key and a value"},
		{name: "a key twice", body: good + "ResourcesToImport.member.1.ResourceIdentifier.entry.1.key=a&ResourcesToImport.member.1.ResourceIdentifier.entry.1.value=1" +
			"&ResourcesToImport.member.1.ResourceIdentifier.entry.2.key=a&ResourcesToImport.member.1.ResourceIdentifier.entry.2.value=1", status: 400, code: "MalformedInput", text: "Duplicate key in a map"},
		{name: "JSON", body: "{}", change: func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }, status: 415, code: "UnsupportedMediaTypeException", text: "use application/x-www-form-urlencoded"},
		{name: "Latin-1", body: good, change: func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=iso-8859-1")
		}, status: 415, code: "UnsupportedMediaTypeException", text: "The charset iso-8859-1 is not supported; use utf-8"},
		{name: "compressed", body: good, change: func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, status: 415, code: "UnsupportedMediaTypeException", text: "The content encoding gzip is not supported"},
		{name: "another method", change: func(r *http.Request) { r.Method = "PUT" }, status: 405, code: "MethodNotAllowed", text: "The method PUT is not allowed; use POST or GET"},
		{name: "a body that breaks off", change: func(r *http.Request) { r.Body = io.NopCloser(failing{}) }, status: 400, code: "RequestTimeout", text: "could not be read completely"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := post(table, test.body, func(r *http.Request) {
				if test.change != nil {
					test.change(r)
				}
			})
			body := w.Body.String()
			if w.Code != test.status || !strings.Contains(body, "<Code>"+test.code+"</Code>") || !strings.Contains(body, test.text) {
				t.Errorf("%d %s, want %d %s %q", w.Code, body, test.status, test.code, test.text)
			}
			if !strings.Contains(body, "<RequestId>"+caller.RequestID+"</RequestId>") || w.Header().Get("X-Amzn-Requestid") != caller.RequestID {
				t.Errorf("no request id in %s", body)
			}
		})
	}
	if called {
		t.Error("a refused request reached the operation")
	}
}

// TestQueryAnswers has the XML byte for byte.
func TestQueryAnswers(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 7_999_999, time.FixedZone("", 3600))
	table := cloudFormation(
		awswire.Op("DescribeStacks", func(context.Context, awswire.Caller, *cloudformation.DescribeStacksInput) (*cloudformation.DescribeStacksOutput, error) {
			return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{{
				StackName: aws.String("a<b>&\"'\r\n\x01"), CreationTime: &at, StackStatus: types.StackStatusCreateComplete,
				NotificationARNs: []string{}, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("")}}, Capabilities: []types.Capability{"CAPABILITY_IAM"},
				RollbackConfiguration: &types.RollbackConfiguration{}, DisableRollback: aws.Bool(false), TimeoutInMinutes: aws.Int32(0),
			}}}, nil
		}),
		awswire.Op("DeleteStack", func(context.Context, awswire.Caller, *cloudformation.DeleteStackInput) (*cloudformation.DeleteStackOutput, error) {
			return &cloudformation.DeleteStackOutput{}, nil
		}),
		awswire.Op("DeactivateType", func(context.Context, awswire.Caller, *cloudformation.DeactivateTypeInput) (*cloudformation.DeactivateTypeOutput, error) {
			return &cloudformation.DeactivateTypeOutput{}, nil
		}),
		awswire.Op("SignalResource", func(context.Context, awswire.Caller, *cloudformation.SignalResourceInput) (*cloudformation.SignalResourceOutput, error) {
			return nil, &awswire.Error{Code: "ChangeSetNotFoundException", Message: "a < b", Status: 404, Fields: map[string]string{"Extra": "&"}}
		}),
	)
	table.Known = nil
	const tail = `<ResponseMetadata><RequestId>00000000-1111-2222-3333-444444444444</RequestId></ResponseMetadata>`
	const ns = ` xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"`
	for action, want := range map[string]string{
		"DeleteStack":    `<DeleteStackResponse` + ns + `>` + tail + `</DeleteStackResponse>`,
		"DeactivateType": `<DeactivateTypeResponse` + ns + `><DeactivateTypeResult></DeactivateTypeResult>` + tail + `</DeactivateTypeResponse>`,
		"DescribeStacks": `<DescribeStacksResponse` + ns + `><DescribeStacksResult><Stacks><member><CreationTime>2026-11-20T11:00:00.007Z</CreationTime>` +
			`<StackName>a&lt;b&gt;&amp;&#34;&#39;&#xD;&#xA;` + "\uFFFD" + `</StackName><StackStatus>CREATE_COMPLETE</StackStatus>` +
			`<Capabilities><member>CAPABILITY_IAM</member></Capabilities><DisableRollback>false</DisableRollback><NotificationARNs></NotificationARNs>` +
			`<RollbackConfiguration></RollbackConfiguration><Tags><member><Key>k</Key><Value></Value></member></Tags><TimeoutInMinutes>0</TimeoutInMinutes>` +
			`</member></Stacks></DescribeStacksResult>` + tail + `</DescribeStacksResponse>`,
		"SignalResource": `<ErrorResponse` + ns + `><Error><Type>Sender</Type><Code>ChangeSetNotFound</Code><Message>a &lt; b</Message><Extra>&amp;</Extra></Error>` +
			`<RequestId>00000000-1111-2222-3333-444444444444</RequestId></ErrorResponse>`,
	} {
		w := post(table, "Action="+action+"&Version=2010-05-15")
		if diff := cmp.Diff(want, w.Body.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", action, diff)
		}
		if got := w.Header().Get("Content-Type"); got != "text/xml" {
			t.Errorf("%s: content type %q", action, got)
		}
		if got := w.Header().Get("Content-Length"); got != strconv.Itoa(w.Body.Len()) {
			t.Errorf("%s: content length %s of %d", action, got, w.Body.Len())
		}
	}
	if err := table.Check(); err != nil {
		t.Error(err)
	}
}

// TestFailures is about operations that go wrong: the cause is for the log only.
func TestFailures(t *testing.T) {
	type in = cloudformation.ListStacksInput
	type out = cloudformation.ListStacksOutput
	for name, f := range map[string]func(context.Context, awswire.Caller, *in) (*out, error){
		"an error":  func(context.Context, awswire.Caller, *in) (*out, error) { return nil, errors.New("cause of it") },
		"a panic":   func(context.Context, awswire.Caller, *in) (*out, error) { panic("cause of it") },
		"no output": func(context.Context, awswire.Caller, *in) (*out, error) { return nil, nil },
		"a wrapped refusal": func(context.Context, awswire.Caller, *in) (*out, error) {
			return nil, fmt.Errorf("cause of it: %w", awswire.ValidationErrorf("Stack %s", "x"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			table := cloudFormation(awswire.Op("ListStacks", f))
			table.Logger = slog.New(slog.NewTextHandler(&log, nil))
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/?Action=ListStacks&Version=2010-05-15", nil)
			operation, code := table.Serve(w, r, caller)
			body := w.Body.String()
			if strings.Contains(body, "cause of it") {
				t.Errorf("the cause is told: %s", body)
			}
			if name == "a wrapped refusal" {
				if w.Code != 400 || code != "ValidationError" || !strings.Contains(body, "<Message>Stack x</Message>") || log.Len() > 0 {
					t.Errorf("%d %s, log %s", w.Code, body, &log)
				}
				return
			}
			if w.Code != 500 || operation != "ListStacks" || code != "InternalFailure" || !strings.Contains(body, "<Type>Receiver</Type>") {
				t.Errorf("%d %s %s %s", w.Code, operation, code, body)
			}
			if text := log.String(); !strings.Contains(text, "ListStacks") || !strings.Contains(text, caller.RequestID) || (name != "no output" && !strings.Contains(text, "cause of it")) {
				t.Errorf("the log has %q", text)
			}
		})
	}
}

// jsonTable is a table of CloudWatch Logs, whose members begin with small letters.
func jsonTable(operations ...awswire.Operation) *awswire.Table {
	return &awswire.Table{Service: "logs", Protocol: awswire.JSON11, TargetPrefix: "Logs_20140328", LowerFirst: true, Operations: operations,
		NoResult: []string{"CreateLogGroup"}, Known: []string{"CreateLogGroup", "StartQuery"}, ValidationCode: "InvalidParameterException", MaxBody: 1 << 16}
}

func postJSON(table *awswire.Table, operation, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "Logs_20140328."+operation)
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	table.Serve(w, r, caller)
	return w
}

func TestMalformedJSON(t *testing.T) {
	called := false
	table := jsonTable(awswire.Op("PutLogEvents", func(context.Context, awswire.Caller, *cloudwatchlogs.PutLogEventsInput) (*cloudwatchlogs.PutLogEventsOutput, error) {
		called = true
		return &cloudwatchlogs.PutLogEventsOutput{}, nil
	}))
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, test := range []struct {
		name, body string
		change     func(*http.Request)
		status     int
		code, text string
	}{
		{name: "no JSON", body: "{", status: 400, code: "SerializationException", text: "The body of the request is not JSON: it goes wrong near byte 1"},
		{name: "a list", body: "[]", status: 400, code: "SerializationException", text: "START_ARRAY can not be converted to a structure"},
		{name: "null", body: "null", status: 400, code: "SerializationException", text: "VALUE_NULL can not be converted to a structure"},
		{name: "more than one", body: "{} {}", status: 400, code: "SerializationException", text: "goes on after its JSON value"},
		{name: "not UTF-8", body: "{\"logGroupName\":\"\xff\"}", status: 400, code: "SerializationException", text: "The body of the request is not UTF-8"},
		{name: "a number for a string", body: `{"logGroupName":1}`, status: 400, code: "SerializationException", text: "NUMBER_VALUE can not be converted to a String at logGroupName"},
		{name: "a string for a number", body: `{"logEvents":[{"timestamp":"secret"}]}`, status: 400, code: "SerializationException", text: "STRING_VALUE can not be converted to an Integer of 64 bits at logEvents.1.member.timestamp"},
		{name: "a fraction", body: `{"logEvents":[{"timestamp":1.5}]}`, status: 400, code: "SerializationException", text: "NUMBER_VALUE can not be converted to an Integer"},
		{name: "a large number", body: `{"logEvents":[{"timestamp":1e30}]}`, status: 400, code: "SerializationException", text: "NUMBER_VALUE can not be converted to an Integer"},
		{name: "an object for a list", body: `{"logEvents":{}}`, status: 400, code: "SerializationException", text: "START_OBJECT can not be converted to a list at logEvents"},
		{name: "a string for a structure", body: `{"entity":true}`, status: 400, code: "SerializationException", text: "TRUE_VALUE can not be converted to a structure or map at entity"},
		{name: "null in a list", body: `{"logEvents":[null]}`, status: 400, code: "SerializationException", text: "VALUE_NULL can not be an element of a list at logEvents"},
		{name: "null in a map", body: `{"entity":{"attributes":{"a":null}}}`, status: 400, code: "SerializationException", text: "VALUE_NULL can not be an element of a map"},
		{name: "twice", body: `{"logGroupName":"a","logGroupName":"a"}`, status: 400, code: "SerializationException", text: "Duplicate member \\\"logGroupName\\\""},
		{name: "twice in what is ignored", body: `{"x":{"a":1,"a":2}}`, status: 400, code: "SerializationException", text: "Duplicate member \\\"a\\\" at x"},
		{name: "too deep", body: `{"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}", status: 400, code: "SerializationException", text: "nested deeper than 32 levels"},
		{name: "too large", body: `{"x":"` + strings.Repeat("a", 1<<16) + `"}`, status: 413, code: "RequestEntityTooLarge", text: "larger than 65536 bytes"},
		{name: "a form", change: header("Content-Type", "application/x-www-form-urlencoded"), status: 415, code: "UnsupportedMediaTypeException", text: "use application/x-amz-json-1.1"},
		{name: "no content type", change: func(r *http.Request) { r.Header.Del("Content-Type") }, status: 415, code: "UnsupportedMediaTypeException", text: "use application/x-amz-json-1.1"},
		{name: "UTF-16", change: header("Content-Type", "application/x-amz-json-1.1; charset=utf-16"), status: 415, code: "UnsupportedMediaTypeException", text: "use utf-8"},
		{name: "GET", change: func(r *http.Request) { r.Method = "GET" }, status: 405, code: "MethodNotAllowed", text: "use POST"},
		{name: "another service", body: "{}", change: header("X-Amz-Target", "AmazonSSM.PutLogEvents"), status: 400, code: "UnknownOperationException", text: "it must be Logs_20140328. and the name of an operation"},
		{name: "no target", body: "{}", change: func(r *http.Request) { r.Header.Del("X-Amz-Target") }, status: 400, code: "UnknownOperationException", text: "it must be Logs_20140328."},
		{name: "unknown", body: "{}", change: header("X-Amz-Target", "Logs_20140328.Nonsense"), status: 400, code: "UnknownOperationException", text: "Could not find operation Nonsense of logs"},
		{name: "known", body: "{}", change: header("X-Amz-Target", "Logs_20140328.StartQuery"), status: 501, code: "NotImplemented", text: "This server does not support the operation StartQuery of logs yet."},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := postJSON(table, "PutLogEvents", test.body, func(r *http.Request) {
				if test.change != nil {
					test.change(r)
				}
			})
			body := w.Body.String()
			if w.Code != test.status || !strings.Contains(body, `"__type":"`+test.code+`"`) || !strings.Contains(body, test.text) {
				t.Errorf("%d %s, want %d %s %q", w.Code, body, test.status, test.code, test.text)
			}
			if !json.Valid(w.Body.Bytes()) || w.Header().Get("Content-Type") != "application/x-amz-json-1.1" || strings.Contains(body, "secret") {
				t.Errorf("%s: %s", w.Header(), body)
			}
		})
	}
	if called {
		t.Error("a refused request reached the operation")
	}
}

// TestJSONBodies has bodies that are taken as they are, and answers byte for byte.
func TestJSONBodies(t *testing.T) {
	type input = cloudwatchlogs.PutLogEventsInput
	var got *input
	table := jsonTable(
		keeps[input, cloudwatchlogs.PutLogEventsOutput]("PutLogEvents", &got),
		keeps[cloudwatchlogs.CreateLogGroupInput, cloudwatchlogs.CreateLogGroupOutput]("CreateLogGroup", new(*cloudwatchlogs.CreateLogGroupInput)),
	)
	for body, want := range map[string]*input{
		"":                                     {},
		" \n ":                                 {},
		"{}":                                   {},
		`{"logGroupName":null,"logEvents":[]}`: {LogEvents: []logstypes.InputLogEvent{}},
		`{"logEvents":[{"timestamp":3e0,"message":"\ud83d\udc0b\n"}]}`: {LogEvents: []logstypes.InputLogEvent{{Timestamp: aws.Int64(3), Message: aws.String("\U0001F40B\n")}}},
		`{"LogGroupName":"a","x":[{"y":null}],"logStreamName":"s"}`:    {LogStreamName: aws.String("s")},
		`{"entity":{"attributes":{"a":"b"},"keyAttributes":{}}}`:       {Entity: &logstypes.Entity{Attributes: map[string]string{"a": "b"}, KeyAttributes: map[string]string{}}},
	} {
		got = nil
		w := postJSON(table, "PutLogEvents", body)
		if w.Code != http.StatusOK || w.Body.String() != "{}" {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
			continue
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(input{}, logstypes.InputLogEvent{}, logstypes.Entity{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	if w := postJSON(table, "CreateLogGroup", "{}"); w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("no output: %d %q", w.Code, w.Body)
	}

	at := time.UnixMilli(1795175999_007).UTC()
	secrets := &awswire.Table{Service: "secretsmanager", Protocol: awswire.JSON11, TargetPrefix: "secretsmanager", Operations: []awswire.Operation{
		awswire.Op("GetSecretValue", func(context.Context, awswire.Caller, *cloudwatchlogs.GetLogEventsInput) (*secretsmanager.GetSecretValueOutput, error) {
			return &secretsmanager.GetSecretValueOutput{CreatedDate: &at, SecretBinary: []byte{0, 255}, VersionStages: []string{}, Name: aws.String("<&>\u2028\"\x01\xff")}, nil
		}),
	}}
	w := postJSON(secrets, "", "{}", func(r *http.Request) { r.Header.Set("X-Amz-Target", "secretsmanager.GetSecretValue") })
	const want = `{"CreatedDate":1795175999.007,"Name":"<&>\u2028\"\u0001\ufffd","SecretBinary":"AP8=","VersionStages":[]}`
	if w.Body.String() != want {
		t.Errorf("got  %s\nwant %s", w.Body, want)
	}
}

// TestErrorEnvelopes has an error in each protocol.
func TestErrorEnvelopes(t *testing.T) {
	e := &awswire.Error{Code: "NoSuchKey", Message: "The <key> does not exist", Status: 404, Fields: map[string]string{"Key": "a&b"}}
	for protocol, want := range map[awswire.Protocol]string{
		awswire.Query:    `<ErrorResponse><Error><Type>Sender</Type><Code>NoSuchKey</Code><Message>The &lt;key&gt; does not exist</Message><Key>a&amp;b</Key></Error><RequestId>id</RequestId></ErrorResponse>`,
		awswire.JSON10:   `{"Key":"a&b","Message":"The <key> does not exist","__type":"NoSuchKey"}`,
		awswire.JSON11:   `{"Key":"a&b","__type":"NoSuchKey","message":"The <key> does not exist"}`,
		awswire.RESTJSON: `{"Key":"a&b","Message":"The <key> does not exist","Type":"User","message":"The <key> does not exist"}`,
		awswire.RESTXML:  `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<Error><Code>NoSuchKey</Code><Message>The &lt;key&gt; does not exist</Message><Key>a&amp;b</Key><RequestId>id</RequestId></Error>`,
	} {
		w := httptest.NewRecorder()
		awswire.WriteError(w, httptest.NewRequest("GET", "/", nil), protocol, "id", e)
		if w.Code != 404 || w.Body.String() != want {
			t.Errorf("%d %s\nwant %s", w.Code, w.Body, want)
		}
		id := w.Header().Get("X-Amzn-Requestid") + w.Header().Get("X-Amz-Request-Id")
		if id != "id" || (protocol == awswire.RESTJSON) != (w.Header().Get("X-Amzn-Errortype") == "NoSuchKey") {
			t.Errorf("headers %v", w.Header())
		}
		head := httptest.NewRecorder()
		awswire.WriteError(head, httptest.NewRequest("HEAD", "/", nil), protocol, "id", e)
		if head.Code != 404 || head.Body.Len() != 0 {
			t.Errorf("HEAD: %d %s", head.Code, head.Body)
		}
	}
}

// TestCheck finds what is wrong with a table before a client does.
func TestCheck(t *testing.T) {
	type odd struct{ C chan int }
	op := func(name string) awswire.Operation {
		return keeps[cloudformation.ListStacksInput, cloudformation.ListStacksOutput](name, new(*cloudformation.ListStacksInput))
	}
	for _, test := range []struct {
		table *awswire.Table
		want  string
	}{
		{&awswire.Table{Operations: []awswire.Operation{op("A"), op("A")}}, "1 of 2 operations have the name of another"},
		{&awswire.Table{Operations: []awswire.Operation{op("A")}, Known: []string{"A"}}, "operation A is both offered and listed as known"},
		{&awswire.Table{NoResult: []string{"A"}}, "A is not an operation of the table"},
		{&awswire.Table{Operations: []awswire.Operation{keeps[odd, odd]("A", new(*odd))}}, "operation A: odd.C: the Go type chan int is not supported on the wire"},
		{&awswire.Table{Operations: []awswire.Operation{keeps[cloudwatchlogs.PutIntegrationInput, odd]("A", new(*cloudwatchlogs.PutIntegrationInput))}},
			"the members of the union types.ResourceConfig are not listed in Table.Unions"},
		{constrained(op("A"), awswire.Constraint{Member: "Nonsense"}), `constraint on "Nonsense": unknown name "Nonsense"`},
		{constrained(op("A"), awswire.Constraint{Member: "NextToken[]"}), `constraint on "NextToken[]": unknown name "[]"`},
		{constrained(op("A"), awswire.Constraint{Member: "NextToken", Pattern: "("}), `constraint on "NextToken": `},
		{constrained(op("A"), awswire.Constraint{Member: "NextToken", Min: aws.Int64(1)}), `it is not a number`},
		{constrained(op("A"), awswire.Constraint{Member: "StackStatusFilter", Pattern: "a"}), `it is not a string`},
	} {
		if err := test.table.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

func constrained(op awswire.Operation, list ...awswire.Constraint) *awswire.Table {
	return &awswire.Table{Operations: []awswire.Operation{op}, Constraints: map[string][]awswire.Constraint{op.Name: list}}
}
