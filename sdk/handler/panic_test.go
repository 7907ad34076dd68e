package handler

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
)

// A mine goes off while it is read or written as JSON.
type mine struct {
	Read  bool
	Write bool
}

func (m *mine) UnmarshalJSON(text []byte) error {
	if string(text) == `{"Read":true}` {
		panic("read hunter2hunter2")
	}
	m.Write = string(text) == `{"Write":true}`
	return nil
}

func (m mine) MarshalJSON() ([]byte, error) {
	if m.Write {
		panic("written hunter2hunter2")
	}
	return []byte("{}"), nil
}

// A minedLog panics for each record, or at once when it is set up.
type minedLog struct{ atOnce bool }

func (minedLog) Enabled(context.Context, slog.Level) bool  { return true }
func (minedLog) Handle(context.Context, slog.Record) error { panic("logged") }
func (l minedLog) WithGroup(string) slog.Handler           { return l }
func (l minedLog) WithAttrs([]slog.Attr) slog.Handler {
	if l.atOnce {
		panic("set up")
	}
	return l
}

type minedTransport struct{}

func (minedTransport) RoundTrip(*http.Request) (*http.Response, error) { panic("fetched") }

func TestPanicsAroundResourceHandlers(t *testing.T) {
	type (
		request = Request[mine, mine]
		event   = Event[mine]
	)
	list := func(_ context.Context, req request) event { return req.SuccessList([]mine{{}, {Write: true}}, "") }
	echo := func(_ context.Context, req request) event { return req.Success(req.Desired) }
	tests := []struct {
		name, payload string
		log           slog.Handler
		want          string
	}{
		{"model that is read", `{"action":"READ","bearerToken":"t","requestData":{"resourceProperties":{"Read":true}}}`, nil,
			`{"status":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: read hunter2hunter2","callbackDelaySeconds":0,"bearerToken":"t"}`},
		{"model that is written", `{"action":"READ","bearerToken":"t","requestData":{"resourceProperties":{"Write":true}}}`, nil,
			`{"status":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: written hunter2hunter2","callbackDelaySeconds":0,"bearerToken":"t"}`},
		{"model that is written, of an update", `{"action":"UPDATE","requestData":{"resourceProperties":{"Write":true}}}`, nil,
			`{"status":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: written hunter2hunter2","callbackDelaySeconds":0,"resourceModel":{"Write":true}}`},
		{"model of a list", `{"action":"LIST"}`, nil,
			`{"status":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: written hunter2hunter2","callbackDelaySeconds":0}`},
		{"configuration, and secrets stay hidden", `{"action":"UPDATE","requestData":{"resourceProperties":[],"callerCredentials":{"accessKeyId":"hunter2hunter2"},"typeConfiguration":{"Read":true}}}`, nil,
			`{"status":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: read <redacted>","callbackDelaySeconds":0}`},
		{"log of the panic", `{"action":"READ","requestData":{"resourceProperties":{"Write":true}}}`, minedLog{},
			`{"status":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: written hunter2hunter2","callbackDelaySeconds":0}`},
		{"log that cannot be set up", `{"action":"READ"}`, minedLog{atOnce: true},
			`{"status":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: set up","callbackDelaySeconds":0}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.log == nil {
				test.log = slog.DiscardHandler
			}
			wantEvent(t, invoke(t, Resource[mine, mine]{TypeName: "A::B::C", LogHandler: test.log, Read: echo, Update: echo, List: list}, test.payload), test.want)
		})
	}
}

func TestPanicsAroundHookHandlers(t *testing.T) {
	tests := []struct {
		name, payload string
		log           slog.Handler
		want          string
	}{
		{"configuration, and secrets stay hidden", `{"clientRequestToken":"t","actionInvocationPoint":"CREATE_PRE_PROVISION","hookModel":{"Read":true},"requestData":{"callerCredentials":{"accessKeyId":"hunter2hunter2"}}}`, slog.DiscardHandler,
			`{"clientRequestToken":"t","hookStatus":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: read <redacted>","callbackDelaySeconds":0}`},
		{"HTTP client", `{"actionInvocationPoint":"CREATE_PRE_PROVISION","requestData":{"payload":"http://x/"}}`, slog.DiscardHandler,
			`{"hookStatus":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: fetched","callbackDelaySeconds":0}`},
		{"log of the panic", `{"actionInvocationPoint":"CREATE_PRE_PROVISION","hookModel":{"Read":true}}`, minedLog{},
			`{"hookStatus":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: read hunter2hunter2","callbackDelaySeconds":0}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantEvent(t, invoke(t, Hook[mine]{
				TypeName: "A::B::C", LogHandler: test.log, HTTPClient: &http.Client{Transport: minedTransport{}},
				PreCreate: func(_ context.Context, req HookRequest[mine]) HookEvent { return req.Success("") },
			}, test.payload), test.want)
		})
	}
}
