package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

const reportSchema = `{
  "typeName": "Initech::TPS::Report",
  "description": "A report.",
  "additionalProperties": false,
  "definitions": {
    "Tag": {"type": "object", "additionalProperties": false, "properties": {"Key": {"type": "string"}, "Value": {"type": "string"}}}
  },
  "properties": {
    "Id": {"type": "string"},
    "Title": {"type": "string"},
    "Pages": {"type": "integer"},
    "Draft": {"type": "boolean"},
    "Password": {"type": "string"},
    "Keys": {"type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {"Name": {"type": "string"}, "Secret": {"type": "string"}}}},
    "Tags": {"type": "array", "items": {"$ref": "#/definitions/Tag"}},
    "Free": {"type": "object"}
  },
  "primaryIdentifier": ["/properties/Id"],
  "readOnlyProperties": ["/properties/Id"],
  "writeOnlyProperties": ["/properties/Password", "/properties/Keys/*/Secret"],
  "handlers": {
    "create": {"permissions": [""], "timeoutInMinutes": 180},
    "read": {"permissions": [""]}, "update": {"permissions": [""]}, "delete": {"permissions": [""]}, "list": {"permissions": [""]}
  }
}`

func load(t *testing.T) *schema.Schema {
	t.Helper()
	s, problems := schema.Load("report.json", []byte(reportSchema), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	return s
}

// function is a handler within the test. It is given the decoded request.
type function func(ctx context.Context, request map[string]any) (string, error)

func (f function) Call(ctx context.Context, payload []byte) ([]byte, error) {
	var request map[string]any
	if err := json.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	reply, err := f(ctx, request)
	return []byte(reply), err
}

// script answers with one reply after the other and keeps the requests.
type script struct {
	replies  []string
	requests []map[string]any
}

func (s *script) Call(_ context.Context, payload []byte) ([]byte, error) {
	var request map[string]any
	if err := json.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	s.requests = append(s.requests, request)
	if len(s.requests) > len(s.replies) {
		return nil, errors.New("called too often")
	}
	return []byte(s.replies[len(s.requests)-1]), nil
}

// at walks through a decoded document.
func at(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func ids(n *int) func() string {
	return func() string { *n++; return fmt.Sprintf("token-%d", *n) }
}

func TestRequestIsTheOfficialOne(t *testing.T) {
	var n int
	r := New(Config{Schema: load(t), NewToken: ids(&n), Function: &script{}})
	got, err := r.Payload(t.Context(), Request{
		Action: Create, TypeName: "Initech::TPS::Report",
		Model: map[string]any{"Title": "<a&b>", "Pages": json.Number("5"), "Draft": nil, "Unknown": 1, "Tags": []any{map[string]any{"Key": "k", "Value": nil, "Extra": true}}, "Free": map[string]any{"Any": nil, "Thing": 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"requestData":{"callerCredentials":{"accessKeyId":"` + lambda.DummyKeyID + `","secretAccessKey":"` + lambda.DummySecret + `","sessionToken":"` + lambda.DummyToken + `"},` +
		`"resourceProperties":{"Free":{"Thing":1},"Pages":5,"Tags":[{"Key":"k"}],"Title":"<a&b>"},"previousResourceProperties":null,` +
		`"logicalResourceId":"token-1","typeConfiguration":null},"region":"us-east-1","awsAccountId":"000000000000","action":"CREATE",` +
		`"callbackContext":null,"bearerToken":"token-1","resourceType":"Initech::TPS::Report"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRequestOfAnEngine(t *testing.T) {
	r := New(Config{Function: &script{}, LogGroup: "logs", LogCredentials: Static{AccessKeyID: "L"}, Region: "eu-west-1", AccountID: "111122223333", Wire: WireStrings})
	got, err := r.Payload(t.Context(), Request{
		Action: List, Token: "t", LogicalID: "Report", StackID: "arn:stack", TypeVersion: "00000002", NextToken: "page 2", MaxResults: 7,
		Model: map[string]any{"Pages": json.Number("5"), "Draft": true, "Deep": []any{1.5}}, Previous: map[string]any{"Pages": 4},
		StackTags: map[string]string{"a": "b"}, SystemTags: map[string]string{"aws:cloudformation:stack-name": "s"},
		PreviousStackTags: map[string]string{"p": "q"}, Rollback: true, Driftable: true, TypeConfiguration: map[string]any{"K": "v"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(got, &doc); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"stackId": "arn:stack", "resourceTypeVersion": "00000002", "nextToken": "page 2", "maxResults": 7.0, "region": "eu-west-1",
		"awsAccountId": "111122223333", "bearerToken": "t", "rollback": true, "driftable": true, "resourceType": nil,
		"requestData.logicalResourceId": "Report", "requestData.resourceProperties.Pages": "5", "requestData.resourceProperties.Draft": "true",
		"requestData.previousResourceProperties.Pages": "4", "requestData.stackTags.a": "b", "requestData.previousStackTags.p": "q",
		"requestData.systemTags.aws:cloudformation:stack-name": "s", "requestData.providerLogGroupName": "logs",
		"requestData.providerCredentials.accessKeyId": "L", "requestData.typeConfiguration.K": "v",
	} {
		if got := at(doc, strings.Split(path, ".")...); got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
	if deep := at(doc, "requestData", "resourceProperties", "Deep"); !reflect.DeepEqual(deep, []any{"1.5"}) {
		t.Errorf("Deep = %v", deep)
	}
}

func TestHookRequest(t *testing.T) {
	r := New(Config{Function: &script{}, Credentials: Static{AccessKeyID: "A", SecretAccessKey: "B", SessionToken: "C"}})
	got, err := r.Payload(t.Context(), Request{
		Action: CreatePreProvision, TypeName: "A::B::Hook", Token: "t", TypeConfiguration: map[string]any{"Limit": "1"},
		Target: Target{Name: "AWS::S3::Bucket", Model: map[string]any{"resourceProperties": map[string]any{"BucketName": "b"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"requestData":{"callerCredentials":"{\"accessKeyId\":\"A\",\"secretAccessKey\":\"B\",\"sessionToken\":\"C\"}","targetName":"AWS::S3::Bucket",` +
		`"targetType":"RESOURCE","targetLogicalId":"t","targetModel":{"resourceProperties":{"BucketName":"b"}}},"requestContext":{"callbackContext":null},` +
		`"hookTypeName":"A::B::Hook","hookTypeVersion":"00000001","clientRequestToken":"t","stackId":"t","awsAccountId":"000000000000",` +
		`"actionInvocationPoint":"CREATE_PRE_PROVISION","hookModel":{"Limit":"1"}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTestEntrypointRequest(t *testing.T) {
	r := New(Config{Function: &script{}, TestEntrypoint: true})
	got, err := r.Payload(t.Context(), Request{Action: Read, Token: "t", Model: map[string]any{"Id": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"credentials":{"accessKeyId":"` + lambda.DummyKeyID + `","secretAccessKey":"` + lambda.DummySecret + `","sessionToken":"` + lambda.DummyToken + `"},"action":"READ","request":{"clientRequestToken":"t",` +
		`"desiredResourceState":{"Id":"1"},"awsAccountId":"000000000000","logicalResourceIdentifier":"t","region":"us-east-1"},"callbackContext":null,"region":"us-east-1"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBaseKeepsWhatTheRequestDoesNotSet(t *testing.T) {
	r := New(Config{Function: &script{}})
	got, err := r.Payload(t.Context(), Request{
		Action: Create, Token: "t", Model: map[string]any{"A": "new"},
		Base: map[string]any{
			"features": map[string]any{"x": 1}, "stackId": "arn", "bearerToken": "old", "resourceType": "A::B::C", "callbackContext": map[string]any{"n": 1},
			"requestData": map[string]any{"stackTags": map[string]any{"a": "b"}, "resourceProperties": map[string]any{"A": "old", "B": "old"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(got, &doc); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"features": map[string]any{"x": 1.0}, "stackId": "arn", "bearerToken": "t", "resourceType": "A::B::C", "callbackContext": map[string]any{"n": 1.0},
		"action": "CREATE", "region": "us-east-1", "awsAccountId": "000000000000",
		"requestData": map[string]any{
			"stackTags": map[string]any{"a": "b"}, "resourceProperties": map[string]any{"A": "new"}, "logicalResourceId": "t",
			"callerCredentials": map[string]any{"accessKeyId": lambda.DummyKeyID, "secretAccessKey": lambda.DummySecret, "sessionToken": lambda.DummyToken},
		},
	}
	if !reflect.DeepEqual(doc, want) {
		t.Errorf("got  %v\nwant %v", doc, want)
	}
}

func TestDecode(t *testing.T) {
	s := load(t)
	tests := []struct {
		name, reply string
		action      Action
		check       func(*Event) bool
	}{
		{"success", `{"status":"SUCCESS","resourceModel":{"Id":"1"}}`, Create, func(e *Event) bool { return e.Terminal() && e.Model["Id"] == "1" }},
		{"nulls", `{"status":"SUCCESS","errorCode":null,"message":null,"callbackDelaySeconds":null,"callbackContext":null,"resourceModel":null,"resourceModels":null,"nextToken":null}`, Read,
			func(e *Event) bool {
				return e.ErrorCode == "" && e.Model == nil && e.Models == nil && e.CallbackContext == nil && len(e.Members) == 8
			}},
		{"numeric zero as code", `{"status":"SUCCESS","errorCode":0}`, Create, func(e *Event) bool { return e.ErrorCode == "" }},
		{"string delay of the Go library", `{"status":"IN_PROGRESS","callbackDelaySeconds":"5"}`, Create, func(e *Event) bool { return e.CallbackDelay == 5*time.Second }},
		{"fractional delay", `{"status":"IN_PROGRESS","callbackDelaySeconds":0.5}`, Create, func(e *Event) bool { return e.CallbackDelay == 500*time.Millisecond }},
		{"negative delay", `{"status":"IN_PROGRESS","callbackDelaySeconds":-1e300}`, Create, func(e *Event) bool { return e.CallbackDelay == -time.Second }},
		{"recast by schema", `{"status":"SUCCESS","resourceModel":{"Pages":"5","Draft":"true","Title":"5"}}`, Create, func(e *Event) bool {
			return reflect.DeepEqual(e.Model, map[string]any{"Pages": json.Number("5"), "Draft": true, "Title": "5"}) && e.RawModel["Pages"] == "5"
		}},
		{"list", `{"status":"SUCCESS","resourceModels":[{"Pages":"1"},{}],"nextToken":"2"}`, List, func(e *Event) bool {
			return len(e.Models) == 2 && e.Models[0]["Pages"] == json.Number("1") && e.NextToken == "2"
		}},
		{"empty list", `{"status":"SUCCESS","resourceModels":[]}`, List, func(e *Event) bool { return e.Models != nil && len(e.Models) == 0 }},
		{"unknown code kept", `{"status":"FAILED","errorCode":"Whatever","message":"m"}`, Read, func(e *Event) bool { return e.ErrorCode == "Whatever" && !e.ErrorCode.Known() }},
		{"hook", `{"hookStatus":"FAILED","errorCode":"NonCompliant","message":"m"}`, CreatePreProvision, func(e *Event) bool { return e.Status == Failed && e.ErrorCode.Known() }},
		{"hook's test entrypoint", `{"status":"SUCCESS"}`, CreatePreProvision, func(e *Event) bool { return e.Status == Success }},
		{"hook on a change set", `{"hookStatus":"CHANGE_SET_SUCCESS_SKIP_STACK_HOOK"}`, CreatePreProvision, func(e *Event) bool { return e.Terminal() }},
		{"message that is not a string", `{"status":"FAILED","errorCode":"NotFound","message":{"a":1}}`, Read, func(e *Event) bool { return e.Message == `{"a":1}` }},
		{"repeated key", `{"status":"FAILED","status":"SUCCESS"}`, Read, func(e *Event) bool { return e.Status == Success }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e, err := Decode([]byte(test.reply), test.action, s)
			if err != nil {
				t.Fatal(err)
			}
			if !test.check(e) {
				t.Errorf("decoded as %+v", e)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := []struct{ name, reply, want string }{
		{"nothing", " \n", "answered with nothing"},
		{"HTML", "<html><body>502</body></html>", "HTML or XML"},
		{"garbage", "Traceback (most recent call last)", "not JSON"},
		{"half", `{"status":"SUCC`, "not JSON"},
		{"null", "null", "answered with null"},
		{"array", "[]", "answered with an array"},
		{"string", `"SUCCESS"`, "answered with a string"},
		{"no status", `{"message":"m"}`, "has no status"},
		{"status of a number", `{"status":1}`, "status is a number"},
		{"unknown status", `{"status":"UNKNOWN"}`, `status is "UNKNOWN"`},
		{"pending", `{"status":"PENDING"}`, `status is "PENDING"`},
		{"a hook's status", `{"hookStatus":"SUCCESS"}`, "has no status"},
		{"a function error", `{"errorType":"Boom","errorMessage":"it broke"}`, "reported an error instead of a progress event: Boom: it broke"},
		{"code that is an object", `{"status":"FAILED","errorCode":{}}`, "errorCode is an object"},
		{"delay that is a word", `{"status":"IN_PROGRESS","callbackDelaySeconds":"soon"}`, `callbackDelaySeconds is "soon"`},
		{"delay that is a boolean", `{"status":"IN_PROGRESS","callbackDelaySeconds":true}`, `callbackDelaySeconds is true`},
		{"delay beyond everything", `{"status":"IN_PROGRESS","callbackDelaySeconds":1e999}`, `longer than the maximum`},
		{"delay that is not a number", `{"status":"IN_PROGRESS","callbackDelaySeconds":"NaN"}`, `not a number`},
		{"model that is a string", `{"status":"SUCCESS","resourceModel":"x"}`, "resourceModel is a string"},
		{"models that are an object", `{"status":"SUCCESS","resourceModels":{}}`, "resourceModels is an object"},
		{"model in models", `{"status":"SUCCESS","resourceModels":[{},7]}`, "number 2 of its resourceModels is a number"},
		{"deep", `{"status":"SUCCESS","x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "not JSON"},
		{"large", `{"status":"` + strings.Repeat("x", 7<<20) + `"}`, "bytes, more than"},
		{"control characters", "\x1b[2Jgone", "\uFFFD[2Jgone"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Decode([]byte(test.reply), Create, nil)
			var broken *ProtocolError
			if !errors.As(err, &broken) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if len(broken.Reply) > excerptBytes+10 || strings.Contains(broken.Reply, "\x1b") {
				t.Errorf("quotes %d bytes: %q", len(broken.Reply), broken.Reply)
			}
		})
	}
}

func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &script{replies: []string{
			`{"status":"IN_PROGRESS","callbackDelaySeconds":3600,"callbackContext":{"n":1},"resourceModel":{"Id":"1","Pages":"7","Internal":"x","Title":null}}`,
			`{"status":"IN_PROGRESS","callbackDelaySeconds":"1800","callbackContext":{"n":2}}`,
			`{"status":"SUCCESS","resourceModel":{"Id":"1","Pages":"7"}}`,
		}}
		var n, k int
		keys := sourceFunc(func() Credentials { k++; return Credentials{AccessKeyID: fmt.Sprint(k)} })
		var calls []*Call
		r := New(Config{Function: f, Schema: load(t), NewToken: ids(&n), Credentials: keys, AfterCall: func(c *Call) error { calls = append(calls, c); return nil }})
		start := time.Now()
		event, err := r.Run(t.Context(), Request{Action: Create, Model: map[string]any{"Pages": json.Number("7")}})
		if err != nil || event.Status != Success {
			t.Fatal(event, err)
		}
		if waited := time.Since(start); waited != 90*time.Minute {
			t.Errorf("waited %s", waited)
		}
		if n != 1 {
			t.Errorf("%d tokens were made for one operation", n)
		}
		second, third := f.requests[1], f.requests[2]
		if got := at(second, "requestData", "resourceProperties"); !reflect.DeepEqual(got, map[string]any{"Id": "1", "Pages": 7.0}) {
			t.Errorf("second call sent the model %v", got)
		}
		if at(second, "callbackContext", "n") != 1.0 || at(third, "callbackContext", "n") != 2.0 {
			t.Errorf("callback contexts %v, %v", second["callbackContext"], third["callbackContext"])
		}
		if got := at(third, "requestData", "resourceProperties", "Id"); got != "1" {
			t.Errorf("the model was lost where an event had none: %v", got)
		}
		if at(second, "requestData", "callerCredentials", "accessKeyId") != "2" || second["bearerToken"] != "token-1" {
			t.Errorf("second call: credentials %v, token %v", at(second, "requestData", "callerCredentials"), second["bearerToken"])
		}
		if len(calls) != 3 || calls[0].Delay != time.Hour || calls[1].Index != 1 || calls[2].Delay != 0 || calls[2].Event.Status != Success {
			t.Errorf("calls %+v", calls)
		}
	})
}

type sourceFunc func() Credentials

func (f sourceFunc) Credentials(context.Context) (Credentials, error) { return f(), nil }

func TestHookLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &script{replies: []string{`{"hookStatus":"IN_PROGRESS","callbackContext":{"n":1},"callbackDelaySeconds":1}`, `{"hookStatus":"SUCCESS"}`}}
		event, err := New(Config{Function: f}).Run(t.Context(), Request{Action: DeletePreProvision})
		if err != nil || event.Status != Success {
			t.Fatal(event, err)
		}
		if got := at(f.requests[1], "requestContext", "callbackContext", "n"); got != 1.0 {
			t.Errorf("the callback context was not handed on: %v", got)
		}
	})
}

func TestRunErrors(t *testing.T) {
	const progress = `{"status":"IN_PROGRESS","callbackDelaySeconds":60,"resourceModel":{"Id":"1"}}`
	crash := errors.New("exit status 2")
	tests := []struct {
		name   string
		action Action
		cfg    Config
		f      function
		want   string
		is     func(error) bool
		last   bool // an event comes with the error
		waited time.Duration
	}{
		{name: "crash", action: Create, f: func(context.Context, map[string]any) (string, error) { return "", crash },
			want: "CREATE, call 1: no answer from the handler: exit status 2", is: func(err error) bool { return errors.As(err, new(*CallError)) && errors.Is(err, crash) }},
		{name: "garbage", action: Create, f: func(context.Context, map[string]any) (string, error) { return "oops", nil },
			want: "CREATE, call 1: the handler broke the protocol", is: func(err error) bool { return errors.As(err, new(*ProtocolError)) }},
		{name: "read in progress", action: Read, f: func(context.Context, map[string]any) (string, error) { return progress, nil },
			want: "READ has to finish in one call", is: func(err error) bool { return errors.As(err, new(*ProtocolError)) }, last: true},
		{name: "no callback", action: Create, last: true, f: func(context.Context, map[string]any) (string, error) {
			return `{"status":"IN_PROGRESS","callbackDelaySeconds":-1}`, nil
		}, want: "negative callbackDelaySeconds", is: func(err error) bool { return errors.As(err, new(*ProtocolError)) }},
		{name: "never called again", action: Create, cfg: Config{MaxReinvoke: -1}, f: func(context.Context, map[string]any) (string, error) { return progress, nil },
			want: "still in progress", is: func(err error) bool { return errors.Is(err, ErrReinvokeLimit) }, last: true},
		{name: "called again twice", action: Create, cfg: Config{MaxReinvoke: 2}, f: func(context.Context, map[string]any) (string, error) { return progress, nil },
			want: "still in progress", is: func(err error) bool { return errors.Is(err, ErrReinvokeLimit) }, last: true, waited: 2 * time.Minute},
		{name: "hanging", action: List, f: func(ctx context.Context, _ map[string]any) (string, error) { <-ctx.Done(); return "", ctx.Err() },
			want: "LIST, call 1: no answer from the handler within 30s", is: func(err error) bool { return errors.As(err, new(*TimeoutError)) }, waited: 30 * time.Second},
		{name: "operation too long", action: Create, f: func(context.Context, map[string]any) (string, error) {
			return `{"status":"IN_PROGRESS","callbackDelaySeconds":3500,"resourceModel":{"Id":"1"}}`, nil
		}, want: "CREATE: not finished after 3h (4 calls); timeoutInMinutes of the handler in the schema sets this limit, and the handler asked for the next call in 58m20s", last: true, is: func(err error) bool { return errors.As(err, new(*TimeoutError)) }, waited: 3 * 3500 * time.Second},
		{name: "operation over during a call", action: Create, cfg: Config{Timeout: 90 * time.Second, CallTimeout: -1}, last: true, f: func(ctx context.Context, r map[string]any) (string, error) {
			if at(r, "requestData", "resourceProperties", "Id") == nil {
				return progress, nil
			}
			<-ctx.Done()
			return "", errors.New("killed")
		}, want: "not finished after 1m30s (2 calls)", is: func(err error) bool { return errors.As(err, new(*TimeoutError)) }, waited: 90 * time.Second},
		{name: "AfterCall", action: Create, cfg: Config{AfterCall: func(*Call) error { return crash }}, last: true, f: func(context.Context, map[string]any) (string, error) { return progress, nil },
			want: "exit status 2", is: func(err error) bool { return errors.Is(err, crash) && !errors.As(err, new(*CallError)) }},
		{name: "no such action", action: "EXPLODE", want: `unknown action "EXPLODE"`, is: func(error) bool { return true }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.cfg.Function, test.cfg.Schema = test.f, load(t)
				start := time.Now()
				event, err := New(test.cfg).Run(t.Context(), Request{Action: test.action})
				if err == nil || !strings.Contains(err.Error(), test.want) || !test.is(err) {
					t.Errorf("error %v (%T), want %q", err, err, test.want)
				}
				if (event != nil) != test.last {
					t.Errorf("event %+v", event)
				}
				if got := time.Since(start); got != test.waited {
					t.Errorf("took %s, want %s", got, test.waited)
				}
			})
		})
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := function(func(context.Context, map[string]any) (string, error) {
			time.AfterFunc(time.Minute, cancel)
			return `{"status":"IN_PROGRESS","callbackDelaySeconds":600,"resourceModel":{"Id":"1"}}`, nil
		})
		event, err := New(Config{Function: f}).Run(ctx, Request{Action: Create})
		if !errors.Is(err, context.Canceled) || event == nil || event.Model["Id"] != "1" {
			t.Errorf("event %+v, error %v", event, err)
		}
	})
}

func TestAsFailed(t *testing.T) {
	if e := AsFailed(&TimeoutError{Operation: true}); e.ErrorCode != NotStabilized || e.Status != Failed {
		t.Errorf("%+v", e)
	}
	if e := AsFailed(&CallError{Err: errors.New("x")}); e.ErrorCode != InternalFailure {
		t.Errorf("%+v", e)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	const password, key, nested, config = "hunter22", "kJx/secret+key", "inner-secret", "api-token-9"
	f := loggedFunction{reply: `{"status":"FAILED","errorCode":"InvalidRequest","message":"bad password hunter22, not hunter22x; key kJx/secret+key",` +
		`"resourceModel":{"Id":"1","Password":"hunter22","Keys":[{"Name":"n","Secret":"returned-secret"}]},"callbackContext":{"memo":"inner-secret"}}`,
		log: "called with inner-secret and " + config + " and returned-secret\n"}
	var call *Call
	r := New(Config{Function: f, Schema: load(t), Credentials: Static{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: key}, AfterCall: func(c *Call) error { call = c; return nil }})
	_, err := r.Run(t.Context(), Request{Action: Create, TypeConfiguration: map[string]any{"Auth": map[string]any{"ApiKey": config}},
		Model: map[string]any{"Title": "t", "Password": password, "Keys": []any{map[string]any{"Name": "n", "Secret": nested}}}})
	if err != nil {
		t.Fatal(err)
	}
	shown := string(call.Request()) + string(call.Response()) + call.Log() + call.Message()
	for _, secret := range []string{`"hunter22"`, "hunter22,", key, nested, config, "returned-secret", "AKIDEXAMPLE"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%s is shown in\n%s", secret, shown)
		}
	}
	for _, kept := range []string{`"Title": "t"`, `"Name": "n"`, "not <hidden: write-only /Password>x", `"Password": "<hidden: write-only /Password>"`, `"ApiKey": "<hidden: by its name>"`} {
		if !strings.Contains(shown, kept) {
			t.Errorf("%s is missing in\n%s", kept, shown)
		}
	}
}

type loggedFunction struct{ reply, log string }

func (f loggedFunction) Call(context.Context, []byte) ([]byte, error) {
	return nil, errors.New("CallLogged is to be preferred")
}

func (f loggedFunction) CallLogged(context.Context, []byte) ([]byte, []byte, error) {
	return []byte(f.reply), []byte(f.log), nil
}

func TestSecretsOfHooksAreNotShown(t *testing.T) {
	f := loggedFunction{reply: `{"hookStatus":"SUCCESS","message":"with SECRETKEY1"}`}
	var call *Call
	r := New(Config{Function: f, Credentials: Static{SecretAccessKey: "SECRETKEY1"}, AfterCall: func(c *Call) error { call = c; return nil }})
	if _, err := r.Run(t.Context(), Request{Action: CreatePreProvision}); err != nil {
		t.Fatal(err)
	}
	if shown := string(call.Request()) + call.Message(); strings.Contains(shown, "SECRETKEY1") || !strings.Contains(shown, `"callerCredentials": "<hidden: credentials>"`) {
		t.Error(shown)
	}
}

func TestUndeclared(t *testing.T) {
	got := fmt.Sprint(Undeclared(load(t), map[string]any{"Nope": 1, "Title": "x", "Tags": []any{map[string]any{"Key": 1, "key": 2}}, "Free": map[string]any{"x": 1}}))
	if want := "[/Nope /Tags/0/key]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"status":"IN_PROGRESS","callbackDelaySeconds":"5","resourceModel":{"Pages":"5"},"resourceModels":[{}]}`))
	f.Add([]byte(`{"status":"FAILED","errorCode":null,"callbackContext":{"a":[1,2]}}`))
	f.Add([]byte("<html>"))
	s, _ := schema.Load("report.json", []byte(reportSchema), schema.Config{})
	redactor := NewRedactor(s)
	f.Fuzz(func(t *testing.T, reply []byte) {
		e, err := Decode(reply, Create, s)
		if (e == nil) == (err == nil) {
			t.Fatalf("event %v and error %v", e, err)
		}
		if err != nil && !errors.As(err, new(*ProtocolError)) {
			t.Fatalf("%T is no *ProtocolError", err)
		}
		redactor.JSON(reply)
	})
}

func BenchmarkRun(b *testing.B) {
	s, problems := schema.Load("report.json", []byte(reportSchema), schema.Config{})
	if problems.HasErrors() {
		b.Fatal(problems.Err())
	}
	f := loggedFunction{reply: `{"status":"SUCCESS","resourceModel":{"Id":"1","Pages":"7","Tags":[{"Key":"a","Value":"b"}]}}`}
	r := New(Config{Function: f, Schema: s})
	for b.Loop() {
		if _, err := r.Run(b.Context(), Request{Action: Read, Model: map[string]any{"Id": "1"}}); err != nil {
			b.Fatal(err)
		}
	}
}
