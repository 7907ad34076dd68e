package handler

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A widget exercises every kind of property.
type widget struct {
	ID      *string           `json:"Id,omitzero"`
	Name    *string           `json:"Name,omitzero"`
	Count   *int64            `json:"Count,omitzero"`
	Ratio   *float64          `json:"Ratio,omitzero"`
	Enabled *bool             `json:"Enabled,omitzero"`
	Secret  *string           `json:"Secret,omitzero"`
	List    []string          `json:"List,omitzero"`
	Users   []widgetUser      `json:"Users,omitzero"`
	Tags    []widgetTag       `json:"Tags,omitzero"`
	Free    map[string]any    `json:"Free,omitzero"`
	Labels  map[string]string `json:"Labels,omitzero"`
	Any     any               `json:"Any,omitempty"`
}

type widgetUser struct {
	Name     *string `json:"Name,omitzero"`
	Password *string `json:"Password,omitzero"`
}

type widgetTag struct {
	Key   *string `json:"Key,omitzero"`
	Value *string `json:"Value,omitzero"`
}

type widgetConfig struct {
	Endpoint *string `json:"Endpoint,omitzero"`
	APIKey   *string `json:"ApiKey,omitzero"`
	Retries  *int64  `json:"Retries,omitzero"`
}

const widgetSchema = `{
  "typeName": "Initech::TPS::Widget",
  "definitions": {"User": {"type": "object", "properties": {"Name": {"type": "string"}, "Password": {"type": "string"}}, "additionalProperties": false}},
  "typeConfiguration": {"type": "object", "properties": {"Endpoint": {"type": "string"}, "ApiKey": {"type": "string"}, "Retries": {"type": "integer"}}, "additionalProperties": false},
  "properties": {
    "Id": {"type": "string"},
    "Name": {"type": "string", "minLength": 2, "maxLength": 12, "pattern": "^[a-z<]+\\Z"},
    "Count": {"type": "integer", "minimum": 1},
    "Ratio": {"type": "number"},
    "Enabled": {"type": "boolean"},
    "Secret": {"type": "string", "enum": ["hunter2hunter2", "correct horse"]},
    "List": {"type": "array", "items": {"type": "string"}},
    "Users": {"type": "array", "items": {"$ref": "#/definitions/User"}},
    "Tags": {"type": "array", "items": {"type": "object", "properties": {"Key": {"type": "string"}, "Value": {"type": "string"}}}},
    "Free": {"type": "object"},
    "Labels": {"type": "object", "patternProperties": {"^[a-z]+$": {"type": "string"}}, "additionalProperties": false},
    "Any": {}
  },
  "required": ["Id", "Name"],
  "additionalProperties": false,
  "primaryIdentifier": ["/properties/Id"],
  "readOnlyProperties": ["/properties/Id"],
  "writeOnlyProperties": ["/properties/Secret", "/properties/Users/*/Password"]
}`

type (
	widgetRequest = Request[widget, widgetConfig]
	widgetEvent   = Event[widget]
	widgetFunc    = func(context.Context, widgetRequest) widgetEvent
)

func ptr[T any](value T) *T { return &value }

// one is a resource whose handlers are all the same function.
func one(f widgetFunc) Resource[widget, widgetConfig] {
	return Resource[widget, widgetConfig]{
		TypeName: "Initech::TPS::Widget", Schema: []byte(widgetSchema), LogHandler: slog.DiscardHandler,
		Create: f, Read: f, Update: f, Delete: f, List: f,
	}
}

func invoke(t *testing.T, e Extension, payload string) map[string]any {
	t.Helper()
	f, err := New(e)
	if err != nil {
		t.Fatal(err)
	}
	return call(t, f, payload)
}

func call(t *testing.T, f *Function, payload string) map[string]any {
	t.Helper()
	reply, err := f.Call(t.Context(), []byte(payload))
	if err != nil {
		t.Fatalf("function error: %v", err)
	}
	var event map[string]any
	if err := json.Unmarshal(reply, &event); err != nil {
		t.Fatalf("reply %s: %v", reply, err)
	}
	return event
}

func wantEvent(t *testing.T, event map[string]any, want string) {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal([]byte(want), &tree); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(event, tree) {
		got, _ := json.Marshal(event)
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRequestReachesHandler(t *testing.T) {
	var got widgetRequest
	invoke(t, one(func(ctx context.Context, req widgetRequest) widgetEvent {
		got = req
		return req.Success(req.Desired)
	}), `{"action":"UPDATE","bearerToken":"tok","region":"cn-north-1","awsAccountId":"123456789012","stackId":"arn:aws:cloudformation:x:1:stack/s/u",
		"nextToken":"n","maxResults":"7","snapshotRequested":true,"rollback":"true","driftable":false,"resourceType":"ignored","resourceTypeVersion":1,"unknown":{},
		"callbackContext":{"n":3},
		"requestData":{"logicalResourceId":"Logical","callerCredentials":{"accessKeyId":"AK","secretAccessKey":"SK","sessionToken":"ST","more":1},
		"resourceProperties":{"Id":"w-1","Name":"ab","Count":"9007199254740993","Enabled":"TRUE","Ratio":"1.5","Secret":null,"name":"other case","Tags":[{"Key":"a","Value":"model"}]},
		"previousResourceProperties":{"Name":"old"},"typeConfiguration":{"Endpoint":"e","Retries":"3"},
		"stackTags":{"a":"stack","b":"stack"},"systemTags":{"a":"system","b":"system","aws:x":"system"},"previousStackTags":{"p":"1"},"previousSystemTags":null}}`)
	want := widgetRequest{
		Action: ActionUpdate, TypeName: "Initech::TPS::Widget",
		Desired: widget{ID: ptr("w-1"), Name: ptr("ab"), Count: ptr[int64](9007199254740993), Enabled: ptr(true), Ratio: ptr(1.5),
			Tags: []widgetTag{{Key: ptr("a"), Value: ptr("model")}}},
		Previous:          &widget{Name: ptr("old")},
		TypeConfiguration: &widgetConfig{Endpoint: ptr("e"), Retries: ptr[int64](3)},
		Token:             "tok", LogicalID: "Logical", StackID: "arn:aws:cloudformation:x:1:stack/s/u",
		Region: "cn-north-1", AccountID: "123456789012", Partition: "aws-cn", NextToken: "n", MaxResults: 7,
		DesiredTags:  map[string]string{"a": "model", "b": "stack", "aws:x": "system"},
		PreviousTags: map[string]string{"p": "1"},
		SystemTags:   map[string]string{"a": "system", "b": "system", "aws:x": "system"}, PreviousSystemTags: map[string]string{},
		StackTags: map[string]string{"a": "stack", "b": "stack"}, PreviousStackTags: map[string]string{"p": "1"},
		SnapshotRequested: true, Rollback: true,
		Credentials: Credentials{"AK", "SK", "ST"},
	}
	n := 0
	if ok, err := got.Memory.Get("n", &n); !ok || err != nil || n != 3 {
		t.Errorf("memory: %v %v %v", ok, err, n)
	}
	got.Memory, got.Logger, got.ctx, got.schema = nil, nil, nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestReplies(t *testing.T) {
	tests := []struct {
		name    string
		payload string
		handler widgetFunc
		want    string
	}{
		{
			"success is typed, keeps empty values, drops nulls and write-only values",
			`{"action":"CREATE","bearerToken":"t","requestData":{"resourceProperties":{"Name":"ab","Count":5,"Secret":"hunter2hunter2"}}}`,
			func(_ context.Context, req widgetRequest) widgetEvent {
				m := req.Desired
				m.ID, m.List, m.Enabled = ptr(""), []string{}, ptr(false)
				m.Free = map[string]any{"a": nil, "b": []any{map[string]any{"c": nil}, nil}}
				m.Users = []widgetUser{{ptr("u"), ptr("p1")}, {Password: ptr("p2")}}
				return req.Success(m)
			},
			`{"status":"SUCCESS","callbackDelaySeconds":0,"bearerToken":"t","resourceModel":{"Id":"","Name":"ab","Count":5,"Enabled":false,"List":[],"Free":{"b":[{},null]},"Users":[{"Name":"u"},{}]}}`,
		}, {
			"in progress keeps write-only values and always has a context",
			`{"action":"CREATE","requestData":{"resourceProperties":{"Name":"ab","Secret":"hunter2hunter2"}}}`,
			func(_ context.Context, req widgetRequest) widgetEvent {
				m := req.Desired
				m.ID = ptr("w")
				return req.InProgress(m, 1600*time.Millisecond)
			},
			`{"status":"IN_PROGRESS","callbackDelaySeconds":2,"callbackContext":{},"resourceModel":{"Id":"w","Name":"ab","Secret":"hunter2hunter2"}}`,
		}, {
			"in progress without a model echoes the desired one",
			`{"action":"DELETE","requestData":{"resourceProperties":{"Id":"w"}}}`,
			func(_ context.Context, req widgetRequest) widgetEvent {
				if err := req.Memory.Set("n", 1); err != nil {
					return req.Fail(err)
				}
				return widgetEvent{Status: StatusInProgress, Delay: 400 * time.Millisecond}
			},
			`{"status":"IN_PROGRESS","callbackDelaySeconds":0,"callbackContext":{"n":1},"resourceModel":{"Id":"w"}}`,
		}, {
			"delete never returns a model",
			`{"action":"DELETE","requestData":{"resourceProperties":{"Id":"w"}}}`,
			func(_ context.Context, req widgetRequest) widgetEvent { return req.Success(req.Desired) },
			`{"status":"SUCCESS","callbackDelaySeconds":0}`,
		}, {
			"list scrubs and pages",
			`{"action":"LIST","requestData":{}}`,
			func(_ context.Context, req widgetRequest) widgetEvent {
				return req.SuccessList([]widget{{ID: ptr("1"), Secret: ptr("x")}, {ID: ptr("2")}}, "next")
			},
			`{"status":"SUCCESS","callbackDelaySeconds":0,"resourceModels":[{"Id":"1"},{"Id":"2"}],"nextToken":"next"}`,
		}, {
			"an empty list is an array",
			`{"action":"LIST","requestData":{"resourceProperties":null}}`,
			func(_ context.Context, req widgetRequest) widgetEvent { return req.SuccessList(nil, "") },
			`{"status":"SUCCESS","callbackDelaySeconds":0,"resourceModels":[]}`,
		}, {
			"a failed list has no array",
			`{"action":"LIST"}`,
			func(_ context.Context, req widgetRequest) widgetEvent { return req.Fail(Throttling("tps:List")) },
			`{"status":"FAILED","errorCode":"Throttling","message":"Rate exceeded for operation 'tps:List'.","callbackDelaySeconds":0}`,
		}, {
			"read must not be in progress",
			`{"action":"READ","requestData":{"resourceProperties":{"Id":"w"}}}`,
			func(_ context.Context, req widgetRequest) widgetEvent { return req.InProgress(req.Desired, 0) },
			`{"status":"FAILED","errorCode":"InternalFailure","message":"the READ handler answered IN_PROGRESS; READ and LIST must end in one call, with SUCCESS or FAILED","callbackDelaySeconds":0,"resourceModel":{"Id":"w"}}`,
		}, {
			"success needs a model",
			`{"action":"READ","requestData":{"resourceProperties":{"Id":"w"}}}`,
			func(context.Context, widgetRequest) widgetEvent { return widgetEvent{Status: StatusSuccess} },
			`{"status":"FAILED","errorCode":"InternalFailure","message":"the READ handler answered SUCCESS without a model","callbackDelaySeconds":0}`,
		}, {
			"an event needs a status",
			`{"action":"READ","requestData":{"resourceProperties":{"Id":"w"}}}`,
			func(context.Context, widgetRequest) widgetEvent { return widgetEvent{} },
			`{"status":"FAILED","errorCode":"InternalFailure","message":"the READ handler returned an event with status \"\"; make events with the methods of the request","callbackDelaySeconds":0}`,
		}, {
			"a failed update returns the desired model, scrubbed",
			`{"action":"UPDATE","requestData":{"resourceProperties":{"Id":"w","Name":"ab","Secret":"hunter2hunter2"}}}`,
			func(_ context.Context, req widgetRequest) widgetEvent {
				return req.Failed("MadeUp", "secret hunter2hunter2")
			},
			`{"status":"FAILED","errorCode":"InternalFailure","message":"secret <redacted>","callbackDelaySeconds":0,"resourceModel":{"Id":"w","Name":"ab"}}`,
		}, {
			"a create that fails at once returns no model",
			`{"action":"CREATE","requestData":{"resourceProperties":{"Name":"ab"}}}`,
			func(_ context.Context, req widgetRequest) widgetEvent { return req.Fail(nil) },
			`{"status":"FAILED","errorCode":"InternalFailure","message":"the handler failed without an error","callbackDelaySeconds":0}`,
		}, {
			"a create that fails later returns the model",
			`{"action":"CREATE","callbackContext":{},"requestData":{"resourceProperties":{"Id":"w","Name":"ab"}}}`,
			func(_ context.Context, req widgetRequest) widgetEvent { return req.Fail(errors.New("boom")) },
			`{"status":"FAILED","errorCode":"InternalFailure","message":"boom","callbackDelaySeconds":0,"resourceModel":{"Id":"w","Name":"ab"}}`,
		}, {
			"a panic is a failure",
			`{"action":"READ","bearerToken":"t","requestData":{"resourceProperties":{"Id":"w"}}}`,
			func(context.Context, widgetRequest) widgetEvent { panic("lost") },
			`{"status":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: lost","callbackDelaySeconds":0,"bearerToken":"t"}`,
		}, {
			"a model without a JSON form is a failure",
			`{"action":"READ","requestData":{"resourceProperties":{"Id":"w"}}}`,
			func(_ context.Context, req widgetRequest) widgetEvent {
				return req.Success(widget{Ratio: ptr(math.NaN())})
			},
			`{"status":"FAILED","errorCode":"InternalFailure","message":"the model that the handler returned cannot be sent: json: unsupported value: NaN","callbackDelaySeconds":0}`,
		}, {
			"a page without a JSON form is a failure",
			`{"action":"LIST"}`,
			func(_ context.Context, req widgetRequest) widgetEvent {
				return req.SuccessList([]widget{{}, {Ratio: ptr(math.Inf(1))}}, "")
			},
			`{"status":"FAILED","errorCode":"InternalFailure","message":"model 1 of the page cannot be sent: json: unsupported value: +Inf","callbackDelaySeconds":0}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantEvent(t, invoke(t, one(test.handler), test.payload), test.want)
		})
	}
}

func TestRefusals(t *testing.T) {
	noUpdate := one(func(_ context.Context, req widgetRequest) widgetEvent { return req.Success(req.Desired) })
	noUpdate.Update, noUpdate.List = nil, nil
	tests := []struct{ name, payload, code, message string }{
		{"not an object", `[]`, "InvalidRequest", "Invalid request provided: the payload must be a JSON object"},
		{"null", `null`, "InvalidRequest", "Invalid request provided: the payload must be a JSON object"},
		{"no action", `{}`, "InvalidRequest", "Invalid request provided: action must be CREATE, READ, UPDATE, DELETE or LIST"},
		{"action of lower case", `{"action":"read"}`, "InvalidRequest", "Invalid request provided: action must be CREATE, READ, UPDATE, DELETE or LIST"},
		{"no update handler", `{"action":"UPDATE"}`, "NotUpdatable", "Resource of type 'Initech::TPS::Widget' is not updatable: it has no update handler."},
		{"no list handler", `{"action":"LIST"}`, "InvalidRequest", "Resource of type 'Initech::TPS::Widget' has no list handler."},
		{"region of wrong type", `{"action":"READ","region":5}`, "InvalidRequest", "Invalid request provided: region must be a string"},
		{"data of wrong type", `{"action":"READ","requestData":[]}`, "InvalidRequest", "Invalid request provided: requestData must be an object"},
		{"tags of wrong type", `{"action":"READ","requestData":{"stackTags":[]}}`, "InvalidRequest", "Invalid request provided: requestData.stackTags must be an object of strings"},
		{"flag of wrong type", `{"action":"READ","rollback":"yes"}`, "InvalidRequest", "Invalid request provided: rollback must be true or false"},
		{"count of wrong type", `{"action":"READ","maxResults":-1}`, "InvalidRequest", "Invalid request provided: maxResults must be a whole number"},
		{"model of wrong type", `{"action":"READ","requestData":{"resourceProperties":[]}}`, "InvalidRequest", "Invalid request provided: requestData.resourceProperties must be an object"},
		{"previous model of wrong type", `{"action":"READ","requestData":{"previousResourceProperties":"x"}}`, "InvalidRequest", "Invalid request provided: requestData.previousResourceProperties must be an object"},
		{"context of wrong type", `{"action":"READ","callbackContext":[]}`, "InvalidRequest", "Invalid request provided: read callback context: it must be an object"},
		{"damaged steps", `{"action":"READ","callbackContext":{"$steps":5}}`, "InvalidRequest", `Invalid request provided: read callback context: the steps under "$steps" are damaged`},
		{"value of wrong type on read", `{"action":"READ","requestData":{"resourceProperties":{"Count":1.5}}}`, "InvalidRequest", "Invalid request provided: #/Count: expected type: Integer, found: Number"},
		{"integer out of bounds", `{"action":"READ","requestData":{"resourceProperties":{"Count":9223372036854775808}}}`, "InvalidRequest", "Invalid request provided: #/Count: must be at most 9223372036854775807"},
		{"number out of bounds", `{"action":"READ","requestData":{"resourceProperties":{"Ratio":-1e309}}}`, "InvalidRequest", "Invalid request provided: #/Ratio: must be at least -1.7976931348623157e+308"},
		{"previous value of wrong type", `{"action":"READ","requestData":{"previousResourceProperties":{"Users":[{"Name":{}}]}}}`, "InvalidRequest", "Invalid request provided: previousResourceProperties: #/Users/0/Name: expected type: String, found: Object"},
		{"configuration of wrong type", `{"action":"READ","requestData":{"typeConfiguration":{"Retries":"many"}}}`, "InvalidTypeConfiguration", "Invalid TypeConfiguration provided for type 'Initech::TPS::Widget'. Reason: #/Retries: expected type: Integer, found: String"},
		{"one violation", `{"action":"CREATE","requestData":{"resourceProperties":{"Name":"ab","Count":0}}}`, "InvalidRequest", "Model validation failed (#/Count: must be at least 1)"},
		{"violations do not show values", `{"action":"CREATE","requestData":{"resourceProperties":{"Name":"A","Secret":"swordfish","Extra":1,"Count":"x"}}}`, "InvalidRequest",
			"Model validation failed (#: 5 violations found)\n#: extraneous key [Extra] is not permitted\n#/Count: expected type: Integer, found: String\n#/Name: expected minLength: 2, actual: 1\n#/Name: failed validation constraint for keyword [pattern]\n#/Secret: failed validation constraint for keyword [enum]"},
		{"other letter case", `{"action":"CREATE","requestData":{"resourceProperties":{"Name":"ab","count":1}}}`, "InvalidRequest", "Model validation failed (#: extraneous key [count] is not permitted)"},
		{"configuration that breaks its schema", `{"action":"CREATE","requestData":{"resourceProperties":{"Name":"ab"},"typeConfiguration":{"retries":1}}}`, "InvalidTypeConfiguration",
			"Invalid TypeConfiguration provided for type 'Initech::TPS::Widget'. Reason: Model validation failed (#: extraneous key [retries] is not permitted)"},
		{"required", `{"action":"CREATE"}`, "InvalidRequest", "Model validation failed (#: required key [Name] not found)"},
		{"nested too deep", `{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, "InvalidRequest", "Invalid request provided: the payload is nested deeper than 512"},
		{"compressed by another method", `{"__COMPRESSED__":"AA==","__COMPRESSION_METHOD__":"zip"}`, "InvalidRequest", "Invalid request provided: the compression method must be gzip_base64"},
		{"compressed, but not text", `{"__COMPRESSED__":1,"__COMPRESSION_METHOD__":"gzip_base64"}`, "InvalidRequest", "Invalid request provided: __COMPRESSED__ must be a string"},
		{"compressed, but not gzip", `{"__COMPRESSED__":"AAAA","__COMPRESSION_METHOD__":"gzip_base64"}`, "InvalidRequest", "Invalid request provided: __COMPRESSED__ is not base64 of gzip"},
		{"compressed, cut short", compressed("{}")[:len(`{"__COMPRESSED__":"`)+16] + `","__COMPRESSION_METHOD__":"gzip_base64"}`, "InvalidRequest", "Invalid request provided: __COMPRESSED__ is not base64 of gzip"},
		{"compressed text", compressed("no JSON"), "InvalidRequest", "Invalid request provided: the compressed payload is not JSON"},
		{"compressed bomb", compressed(strings.Repeat(" ", maxInflated+1)), "InvalidRequest", "Invalid request provided: the compressed payload is larger than 33554432 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			event := invoke(t, noUpdate, test.payload)
			if event["status"] != "FAILED" || event["errorCode"] != test.code || event["message"] != test.message {
				t.Errorf("got %v %v\n%v\nwant %s\n%s", event["status"], event["errorCode"], event["message"], test.code, test.message)
			}
		})
	}
}

func compressed(payload string) string {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write([]byte(payload)); err != nil {
		panic(err)
	}
	if err := writer.Close(); err != nil {
		panic(err)
	}
	return `{"__COMPRESSED__":"` + base64.StdEncoding.EncodeToString(out.Bytes()) + `","__COMPRESSION_METHOD__":"gzip_base64"}`
}

func TestCompressedRequest(t *testing.T) {
	event := invoke(t, one(func(_ context.Context, req widgetRequest) widgetEvent { return req.Success(req.Desired) }),
		compressed(`{"action":"READ","bearerToken":"t","requestData":{"resourceProperties":{"Id":"w"}}}`))
	wantEvent(t, event, `{"status":"SUCCESS","callbackDelaySeconds":0,"bearerToken":"t","resourceModel":{"Id":"w"}}`)
}

func TestPayloadThatIsNotJSONIsTheOnlyFunctionError(t *testing.T) {
	f, err := New(one(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{"", "{", `{"a":1}{"b":2}`, "\xff"} {
		if _, err := f.Call(t.Context(), []byte(payload)); !errors.Is(err, errNotJSON) {
			t.Errorf("%q: %v", payload, err)
		}
	}
}

func TestReadOnlyInputs(t *testing.T) {
	echo := one(func(_ context.Context, req widgetRequest) widgetEvent { return req.Success(req.Desired) })
	for _, test := range []struct{ name, payload, want string }{
		{"taken out of the first call of a create", `{"action":"CREATE","requestData":{"resourceProperties":{"Id":"mine","Name":"ab"}}}`, `{"Name":"ab"}`},
		{"kept in later calls", `{"action":"CREATE","callbackContext":{},"requestData":{"resourceProperties":{"Id":"mine","Name":"ab"}}}`, `{"Id":"mine","Name":"ab"}`},
		{"kept in an update", `{"action":"UPDATE","requestData":{"resourceProperties":{"Id":"mine","Name":"ab"}}}`, `{"Id":"mine","Name":"ab"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := json.Marshal(invoke(t, echo, test.payload)["resourceModel"])
			if string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestValidationIsForFirstCallsAndCanBeSwitchedOff(t *testing.T) {
	e := one(func(_ context.Context, req widgetRequest) widgetEvent { return req.Success(req.Desired) })
	const bad = `"requestData":{"resourceProperties":{"Id":"w","Name":"not allowed at all","Extra":1}}}`
	status := func() []any {
		return []any{
			invoke(t, e, `{"action":"CREATE",`+bad)["status"], invoke(t, e, `{"action":"UPDATE",`+bad)["status"],
			invoke(t, e, `{"action":"CREATE","callbackContext":{},`+bad)["status"], invoke(t, e, `{"action":"DELETE",`+bad)["status"],
		}
	}
	if got := fmt.Sprint(status()); got != "[FAILED FAILED SUCCESS SUCCESS]" {
		t.Error(got)
	}
	e.SkipValidation = true
	if got := fmt.Sprint(status()); got != "[SUCCESS SUCCESS SUCCESS SUCCESS]" {
		t.Error(got)
	}
}

// TestIdentifiers has a schema with an identifier of two parts, one of them
// nested, and with two other identifiers.
func TestIdentifiers(t *testing.T) {
	type model = map[string]any
	const schema = `{"properties":{"A":{"type":"string"},"B":{"type":"object","properties":{"C/D":{"type":"integer"}}},"Arn":{"type":"string"},"Name":{"type":"string"},"Owner":{"type":"string"},"N":{"type":"integer"}},
		"primaryIdentifier":["/properties/A","/properties/B/C~1D"],"additionalIdentifiers":[["/properties/Arn"],["/properties/Name","/properties/Owner"]],"readOnlyProperties":["/properties/Arn"]}`
	const none = "Resource of type 'T' without identifier was not found. Missing: #/A, #/B/C~1D."
	ran := func(_ context.Context, req Request[model, any]) Event[model] {
		return req.Failed(CodeNotStabilized, "the handler ran")
	}
	f, err := New(Resource[model, any]{TypeName: "T", Schema: []byte(schema), LogHandler: slog.DiscardHandler, Create: ran, Read: ran, Update: ran, Delete: ran, List: ran})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, call, model string
		code, message     string // empty if the handler runs
	}{
		{"whole", `"action":"READ"`, `{"A":"a","B":{"C/D":"1"}}`, "", ""},
		{"empty, which is for the handler to judge", `"action":"READ"`, `{"A":"","B":{"C/D":0}}`, "", ""},
		{"other", `"action":"READ"`, `{"Arn":"a"}`, "", ""},
		{"other of two parts", `"action":"DELETE"`, `{"Name":"n","Owner":"o"}`, "", ""},
		{"one part", `"action":"READ"`, `{"A":"a"}`, "NotFound", "Resource of type 'T' without its whole identifier was not found. Missing: #/B/C~1D."},
		{"half of another", `"action":"READ"`, `{"Name":"n"}`, "NotFound", none},
		{"null", `"action":"READ"`, `{"A":null,"B":{}}`, "NotFound", none},
		{"none for read", `"action":"READ"`, `{}`, "NotFound", none},
		{"no model for delete", `"action":"DELETE"`, `null`, "NotFound", none},
		{"none for update, as the contract tests send it", `"action":"UPDATE"`, `{"N":1}`, "NotFound", none},
		{"what is wrong otherwise comes first", `"action":"UPDATE"`, `{"N":"x"}`, "InvalidRequest", "Model validation failed (#/N: expected type: Integer, found: String)"},
		{"not for create", `"action":"CREATE"`, `{}`, "", ""},
		{"not for list", `"action":"LIST"`, `{}`, "", ""},
		{"not for later calls", `"action":"DELETE","callbackContext":{}`, `{}`, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.code == "" {
				test.code, test.message = "NotStabilized", "the handler ran"
			}
			event := call(t, f, fmt.Sprintf(`{%s,"requestData":{"resourceProperties":%s}}`, test.call, test.model))
			if event["status"] != "FAILED" || event["errorCode"] != test.code || event["message"] != test.message {
				t.Errorf("got %v, want %s %s", event, test.code, test.message)
			}
		})
	}
}

func TestPtrAndValue(t *testing.T) {
	n := int64(3)
	if p := Ptr(n); p == &n || *p != 3 || Value(p) != 3 {
		t.Error(*p)
	}
	if Value[int64](nil) != 0 || Value[string](nil) != "" || Value[[]string](nil) != nil {
		t.Error("the value of nothing is something")
	}
}

func TestOversizeReplies(t *testing.T) {
	big := strings.Repeat("x", maxPayload)
	event := invoke(t, one(func(_ context.Context, req widgetRequest) widgetEvent {
		return req.Success(widget{ID: ptr("w"), Name: &big})
	}), `{"action":"READ","bearerToken":"t","requestData":{"resourceProperties":{"Id":"w"}}}`)
	wantEvent(t, event, fmt.Sprintf(`{"status":"FAILED","errorCode":"InternalFailure","message":"the answer to READ has %d bytes, more than the 6291456 that Lambda returns","callbackDelaySeconds":0,"bearerToken":"t","resourceModel":{"Id":"w"}}`, maxPayload+100))
	event = invoke(t, one(func(_ context.Context, req widgetRequest) widgetEvent {
		return req.SuccessList([]widget{{ID: &big}}, "")
	}), `{"action":"LIST"}`)
	if got := fmt.Sprint(event["message"]); !strings.HasSuffix(got, "; return fewer models per page") || event["status"] != "FAILED" {
		t.Error(got)
	}
}

func TestWithoutSchema(t *testing.T) {
	e := one(func(_ context.Context, req widgetRequest) widgetEvent { return req.Success(req.Desired) })
	e.Schema = nil
	wantEvent(t, invoke(t, e, `{"action":"CREATE","requestData":{"resourceProperties":{"Id":"w","Secret":"s"},"typeConfiguration":{}}}`),
		`{"status":"SUCCESS","callbackDelaySeconds":0,"resourceModel":{"Id":"w","Secret":"s"}}`)
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		e    Extension
		want string
	}{
		{"resource without a name", Resource[widget, widgetConfig]{}, "start resource: TypeName is empty"},
		{"hook without a name", Hook[widgetConfig]{}, "start hook: TypeName is empty"},
		{"schema that is not JSON", Resource[widget, widgetConfig]{TypeName: "A::B::C", Schema: []byte("{")}, "start A::B::C: read schema: unexpected EOF"},
		{"hook schema that is not an object", Hook[widgetConfig]{TypeName: "A::B::C", Schema: []byte("[]")}, "start A::B::C: read schema: the document is not an object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := New(test.e); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestCredentialsPrintNothing(t *testing.T) {
	c := Credentials{"AKID", "SECRET", "SESSION"}
	req := widgetRequest{Credentials: c}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%+v", req), c.LogValue().String()} {
		if strings.Contains(text, "AKID") || strings.Contains(text, "SECRET") || strings.Contains(text, "SESSION") {
			t.Errorf("shown in %s", text)
		}
	}
	if got := (Credentials{}).String(); got != "no credentials" {
		t.Error(got)
	}
}

func BenchmarkWarmInvocation(b *testing.B) {
	f, err := New(one(func(_ context.Context, req widgetRequest) widgetEvent {
		req.Desired.ID = ptr("w-1")
		return req.Success(req.Desired)
	}))
	if err != nil {
		b.Fatal(err)
	}
	payload := []byte(`{"action":"CREATE","bearerToken":"t","region":"us-east-1","awsAccountId":"123456789012","callbackContext":null,"requestData":{"logicalResourceId":"L",
		"callerCredentials":{"accessKeyId":"AKIDAKIDAKID","secretAccessKey":"secretsecret","sessionToken":"tokentoken"},
		"resourceProperties":{"Name":"abc","Count":"5","Users":[{"Name":"u","Password":"p"}],"Tags":[{"Key":"a","Value":"b"}],"List":["a","b","c"]}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Call(b.Context(), payload); err != nil {
			b.Fatal(err)
		}
	}
}

// TestConfigurationIsResolved: the pattern and the lengths of the schema are those of a dynamic reference, and not
// of the secret that comes to the handler.
func TestConfigurationIsResolved(t *testing.T) {
	e := one(func(_ context.Context, req widgetRequest) widgetEvent {
		model := req.Desired
		model.ID = req.TypeConfiguration.APIKey
		return req.Success(model)
	})
	e.Schema = []byte(strings.Replace(widgetSchema, `"ApiKey": {"type": "string"}`, `"ApiKey": {"type": "string", "pattern": "{{resolve:.*:[a-zA-Z0-9_.-/]+}}", "minLength": 14}`, 1))
	if string(e.Schema) == widgetSchema {
		t.Fatal("the schema has no ApiKey")
	}
	wantEvent(t, invoke(t, e, `{"action":"CREATE","requestData":{"resourceProperties":{"Name":"ab"},"typeConfiguration":{"ApiKey":"s3cret"}}}`),
		`{"status":"SUCCESS","callbackDelaySeconds":0,"resourceModel":{"Id":"s3cret","Name":"ab"}}`)
	event := invoke(t, e, `{"action":"CREATE","requestData":{"resourceProperties":{"Name":"ab"},"typeConfiguration":{"ApiKey":{}}}}`)
	if event["errorCode"] != "InvalidTypeConfiguration" {
		t.Errorf("a configuration of the wrong type: %v", event)
	}
}

// TestTestEvents: the events of sam-tests in the user guide come to the handlers as those of the service.
func TestTestEvents(t *testing.T) {
	var got widgetRequest
	e := one(func(_ context.Context, req widgetRequest) widgetEvent {
		got = req
		model := req.Desired
		model.ID = ptr("w-1")
		return req.Success(model)
	})
	wantEvent(t, invoke(t, e, `{"credentials":{"accessKeyId":"AKID","secretAccessKey":"secret","sessionToken":"session"},"action":"CREATE","request":{
		"clientRequestToken":"4b90a7e4","desiredResourceState":{"Name":"blog","Count":"5"},"logicalResourceIdentifier":"MyBlog","region":"eu-west-1","awsAccountId":"123456789012",
		"desiredResourceTags":{"a":"b"},"typeConfiguration":{"Retries":"3"}},"callbackContext":null}`),
		`{"status":"SUCCESS","bearerToken":"4b90a7e4","callbackDelaySeconds":0,"resourceModel":{"Id":"w-1","Name":"blog","Count":5}}`)
	if got.Token != "4b90a7e4" || got.LogicalID != "MyBlog" || got.Region != "eu-west-1" || got.AccountID != "123456789012" || got.StackTags["a"] != "b" ||
		*got.TypeConfiguration.Retries != 3 || got.Credentials.AccessKeyID != "AKID" || !got.FirstCall {
		t.Errorf("got %+v", got)
	}
	invoke(t, e, `{"action":"UPDATE","request":{"desiredResourceState":{"Id":"w-1","Name":"new"},"previousResourceState":{"Id":"w-1","Name":"old"}},"callbackContext":{"mine":1}}`)
	if got.Previous == nil || *got.Previous.Name != "old" || got.FirstCall {
		t.Errorf("got %+v", got)
	}
	wantEvent(t, invoke(t, e, `{"action":"CREATE","request":{"desiredResourceState":5}}`),
		`{"status":"FAILED","errorCode":"InvalidRequest","message":"Invalid request provided: requestData.resourceProperties must be an object","callbackDelaySeconds":0}`)
	wantEvent(t, invoke(t, e, `{"action":"CREATE","request":[]}`),
		`{"status":"FAILED","errorCode":"InvalidRequest","message":"Invalid request provided: request must be an object","callbackDelaySeconds":0}`)
}
