package handler

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

const hookSchema = `{"typeName":"Initech::TPS::Hook","typeConfiguration":{"properties":{"Retries":{"type":"integer"},"ApiKey":{"type":"string"}},"additionalProperties":false}}`

type hookRequest = HookRequest[widgetConfig]

func hook(f func(context.Context, hookRequest) HookEvent) Hook[widgetConfig] {
	return Hook[widgetConfig]{TypeName: "Initech::TPS::Hook", Schema: []byte(hookSchema), LogHandler: slog.DiscardHandler, PreCreate: f, PreUpdate: f}
}

func TestHookRequest(t *testing.T) {
	var got hookRequest
	var desired, previous widget
	event := invoke(t, hook(func(_ context.Context, req hookRequest) HookEvent {
		got = req
		if err := req.Target(&desired, &previous); err != nil {
			return req.Fail(err)
		}
		e := req.Success("ok")
		e.Annotations = []Annotation{{Name: "n", Status: AnnotationPassed}}
		return e
	}), `{"clientRequestToken":"tok","awsAccountId":"123456789012","stackId":"s","changeSetId":"c","hookTypeName":"ignored","hookTypeVersion":"00000001",
		"actionInvocationPoint":"UPDATE_PRE_PROVISION","hookModel":{"Retries":"3"},
		"requestData":{"targetName":"A::B::C","targetType":"RESOURCE","targetLogicalId":"L","targetModel":{"resourceProperties":{"Id":"new"},"PreviousResourceProperties":{"Id":"old"}},
		"callerCredentials":"{\"accessKeyId\":\"AK\",\"secretAccessKey\":\"SK\",\"sessionToken\":\"ST\"}"},"requestContext":{"invocation":1,"callbackContext":null}}`)
	wantEvent(t, event, `{"clientRequestToken":"tok","hookStatus":"SUCCESS","message":"ok","callbackDelaySeconds":0,"annotations":[{"annotationName":"n","status":"PASSED"}]}`)
	want := hookRequest{
		Point: PointPreUpdate, TypeName: "Initech::TPS::Hook", TargetName: "A::B::C", TargetType: "RESOURCE", TargetLogicalID: "L",
		TypeConfiguration: &widgetConfig{Retries: ptr[int64](3)}, FirstCall: true, Token: "tok", StackID: "s", ChangeSetID: "c",
		AccountID: "123456789012", Credentials: Credentials{"AK", "SK", "ST"},
	}
	got.Memory, got.Logger, got.TargetModel, got.ctx = nil, nil, nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if *desired.ID != "new" || *previous.ID != "old" {
		t.Errorf("%v %v", *desired.ID, *previous.ID)
	}
}

func TestHookReplies(t *testing.T) {
	const start = `{"clientRequestToken":"t","actionInvocationPoint":"CREATE_PRE_PROVISION",`
	tests := []struct {
		name, payload string
		handler       func(context.Context, hookRequest) HookEvent
		want          string
	}{
		{"non-compliant", start + `"requestData":{}}`, func(_ context.Context, req hookRequest) HookEvent {
			return req.Failed(CodeNonCompliant, "no")
		}, `{"clientRequestToken":"t","hookStatus":"FAILED","errorCode":"NonCompliant","message":"no","callbackDelaySeconds":0}`},
		{"a failure always has code and message", start + `"requestData":{}}`, func(context.Context, hookRequest) HookEvent {
			return HookEvent{Status: StatusFailed}
		}, `{"clientRequestToken":"t","hookStatus":"FAILED","errorCode":"InternalFailure","message":"InternalFailure","callbackDelaySeconds":0}`},
		{"panic", start + `"requestData":{}}`, func(context.Context, hookRequest) HookEvent { panic(errors.New("lost")) },
			`{"clientRequestToken":"t","hookStatus":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: lost","callbackDelaySeconds":0}`},
		{"no status", start + `"requestData":{}}`, func(context.Context, hookRequest) HookEvent { return HookEvent{} },
			`{"clientRequestToken":"t","hookStatus":"FAILED","errorCode":"InternalFailure","message":"the handler for CREATE_PRE_PROVISION returned an event with status \"\"; make events with the methods of the request","callbackDelaySeconds":0}`},
		{"target that is missing", start + `"requestData":{}}`, func(_ context.Context, req hookRequest) HookEvent {
			return req.Fail(req.Target(nil, nil))
		}, `{"clientRequestToken":"t","hookStatus":"FAILED","errorCode":"InvalidRequest","message":"Invalid request provided: the target model is missing or not an object","callbackDelaySeconds":0}`},
		{"target of the wrong type", start + `"requestData":{"targetModel":{"resourceProperties":{"Users":[{"Name":"u"},{"Name":{}}]}}}}`, func(_ context.Context, req hookRequest) HookEvent {
			return req.Fail(req.Target(&widget{}, nil))
		}, `{"clientRequestToken":"t","hookStatus":"FAILED","errorCode":"InvalidRequest","message":"Invalid request provided: the target model: #/Users/1/Name: expected type: String, found: Object","callbackDelaySeconds":0}`},
		{"encrypted credentials", start + `"requestData":{"callerCredentials":"AYADeA==","hookEncryptionKeyArn":"arn"}}`, func(_ context.Context, req hookRequest) HookEvent {
			return req.Success(req.Credentials.String())
		}, `{"clientRequestToken":"t","hookStatus":"SUCCESS","message":"no credentials","callbackDelaySeconds":0}`},
		{"no handler", `{"actionInvocationPoint":"DELETE_PRE_PROVISION"}`, nil,
			`{"hookStatus":"FAILED","errorCode":"InvalidRequest","message":"Hook of type 'Initech::TPS::Hook' has no handler for DELETE_PRE_PROVISION.","callbackDelaySeconds":0}`},
		{"not an object", `5`, nil, `{"hookStatus":"FAILED","errorCode":"InvalidRequest","message":"Invalid request provided: the payload must be a JSON object","callbackDelaySeconds":0}`},
		{"wrong kind of field", start + `"requestContext":5}`, nil, `{"clientRequestToken":"t","hookStatus":"FAILED","errorCode":"InvalidRequest","message":"Invalid request provided: requestContext must be an object","callbackDelaySeconds":0}`},
		{"wrong configuration", start + `"hookModel":{"Retries":"x"}}`, func(context.Context, hookRequest) HookEvent { return HookEvent{} },
			`{"clientRequestToken":"t","hookStatus":"FAILED","errorCode":"InvalidTypeConfiguration","message":"Invalid TypeConfiguration provided for type 'Initech::TPS::Hook'. Reason: #/Retries: expected type: Integer, found: String","callbackDelaySeconds":0}`},
		{"wrong context", start + `"requestContext":{"callbackContext":5}}`, func(context.Context, hookRequest) HookEvent { return HookEvent{} },
			`{"clientRequestToken":"t","hookStatus":"FAILED","errorCode":"InvalidRequest","message":"Invalid request provided: read callback context: it must be an object","callbackDelaySeconds":0}`},
		{"too large", start + `"requestData":{}}`, func(_ context.Context, req hookRequest) HookEvent {
			return req.Success(strings.Repeat("x", maxPayload))
		}, `{"clientRequestToken":"t","hookStatus":"FAILED","errorCode":"InternalFailure","message":"the answer has 6291543 bytes, more than the 6291456 that Lambda returns","callbackDelaySeconds":0}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantEvent(t, invoke(t, hook(test.handler), test.payload), test.want)
		})
	}
	f, err := New(hook(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Call(t.Context(), []byte("{")); !errors.Is(err, errNotJSON) {
		t.Error(err)
	}
}

func TestHookFetchesLargeTargets(t *testing.T) {
	failures := 0
	mux := http.NewServeMux()
	mux.HandleFunc("/model", func(w http.ResponseWriter, _ *http.Request) {
		if failures++; failures < 3 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write([]byte(`{"resourceProperties":{"Id":"far"}}`))
	})
	mux.HandleFunc("/down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("/text", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`no JSON`)) })
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`{`))
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat(" ", maxInflated+1)))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	e := hook(func(_ context.Context, req hookRequest) HookEvent {
		var m widget
		if err := req.Target(&m, nil); err != nil {
			return req.Fail(err)
		}
		return req.Success(*m.ID)
	})
	for _, test := range []struct{ name, data, want string }{
		{"fetched after two failures", `"payload":"` + server.URL + `/model?signature=s3cr3t"`, "far"},
		{"not asked for", `"payload":"` + server.URL + `/down","targetModel":{"resourceProperties":{"Id":"near"}}`, "near"},
		{"server down", `"payload":"` + server.URL + `/down","targetModel":{}`, "the target model cannot be fetched: the server answered 503"},
		{"not JSON", `"payload":"` + server.URL + `/text"`, "the target model cannot be fetched: it is not JSON"},
		{"broken off", `"payload":"` + server.URL + `/short"`, "the target model cannot be fetched: the answer broke off"},
		{"too large", `"payload":"` + server.URL + `/large"`, "the target model cannot be fetched: it is larger than 33554432 bytes"},
		{"not a URL", `"payload":"file:///etc/passwd"`, "the target model cannot be fetched: the payload is not a URL"},
		{"no server", `"payload":"http://127.0.0.1:1/?signature=s3cr3t"`, "the target model cannot be fetched: the server did not answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			event := invoke(t, e, `{"actionInvocationPoint":"CREATE_PRE_PROVISION","requestData":{`+test.data+`}}`)
			if event["message"] != test.want {
				t.Errorf("got %v, want %s", event["message"], test.want)
			}
		})
	}
}
