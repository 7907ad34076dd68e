package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// printer logs itself through LogValue.
type printer struct{ text string }

func (p printer) LogValue() slog.Value { return slog.GroupValue(slog.String("inner", p.text)) }

func TestLogHidesSecrets(t *testing.T) {
	var out bytes.Buffer
	e := one(func(ctx context.Context, req widgetRequest) widgetEvent {
		log := req.Logger.With("bound", "hunter2hunter2").WithGroup("g")
		log.Info("message with hunter2hunter2 and SECRETKEY", "model", req.Desired, "pointer", &req.Desired, "credentials", req.Credentials,
			"request", map[string]any{"accessKeyId": "OTHER", "list": []any{"SESSIONTOKEN", 5}}, "error", errors.New("bad AKIDAKID"),
			"printer", printer{"hunter2hunter2"}, "pin", 123456, "short", "xy", "wait", time.Second, "config", req.TypeConfiguration, "provider", "PROVIDERKEY",
			"new", widget{Secret: ptr("made by the handler"), Users: []widgetUser{{Name: ptr("u"), Password: ptr("made too")}}})
		log.Info("no JSON", "f", func() {})
		log.Debug("not written at this level")
		panic("panic with hunter2hunter2")
	})
	e.LogHandler = slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})
	event := invoke(t, e, `{"action":"READ","requestData":{"callerCredentials":{"accessKeyId":"AKIDAKID","secretAccessKey":"SECRETKEY","sessionToken":"SESSIONTOKEN"},
		"providerCredentials":{"accessKeyId":"PROVIDERKEY"},
		"resourceProperties":{"Id":"visible","Secret":"hunter2hunter2","Users":[{"Name":"seen","Password":"123456"},{"Password":"xy"}]},
		"typeConfiguration":{"Endpoint":"https://visible","ApiKey":"key-of-config"}}}`)
	text := out.String()
	for _, secret := range []string{"hunter2", "SECRETKEY", "SESSIONTOKEN", "AKIDAKID", "OTHER", "123456", `"xy"`, "key-of-config", "PROVIDERKEY", "made by", "made too", "not written"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in the log:\n%s", secret, text)
		}
	}
	for _, shown := range []string{`"Id":"visible"`, `"Name":"seen"`, "https://visible", `"type":"Initech::TPS::Widget"`, `"action":"READ"`, `"wait":1000000000`, "!ERROR", "goroutine", `"bound":"<redacted>"`} {
		if !strings.Contains(text, shown) {
			t.Errorf("%s is not in the log:\n%s", shown, text)
		}
	}
	if event["message"] != "The handler stopped unexpectedly: panic with <redacted>" || strings.Contains(event["message"].(string), "goroutine") {
		t.Error(event["message"])
	}
}

func TestRedactorPrefersLongSecrets(t *testing.T) {
	r := newRedactor(nil, []Credentials{{AccessKeyID: "abcd", SecretAccessKey: "abcdefgh"}}, nil, map[string]any{"list": []any{map[string]any{"Password": []any{"pass1", true}}}, "plain": "pl41n"})
	if got := r.text("abcdefgh abcd pass1 pl41n"); got != "<redacted> <redacted> <redacted> pl41n" {
		t.Error(got)
	}
}

func TestRedactorLearnsEveryLeafOfAWriteOnlyValue(t *testing.T) {
	s, err := parseSchema([]byte(`{"writeOnlyProperties": ["/properties/Key", "/properties/List/*/Secret"]}`))
	if err != nil {
		t.Fatal(err)
	}
	model, err := decodeTree([]byte(`{"Key": {"pin": 987654, "parts": ["first-part", "second-part"], "on": true}, "List": [{"Secret": "in-list", "Open": "open-text"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := newRedactor(s, nil, []any{model, nil, "no object"}, nil)
	if got := r.text("987654 first-part second-part in-list open-text true"); got != "<redacted> <redacted> <redacted> <redacted> open-text true" {
		t.Error(got)
	}
	tree, err := decodeTree([]byte(`{"Key": 5, "n": 987654, "m": 5.5, "x": ["first-part"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(r.tree(tree)); string(got) != `{"Key":"\u003credacted\u003e","m":5.5,"n":"\u003credacted\u003e","x":["\u003credacted\u003e"]}` {
		t.Error(string(got))
	}
}
