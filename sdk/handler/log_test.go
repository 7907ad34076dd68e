package handler

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
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
	for _, shown := range []string{`"Id":"visible"`, `"Name":"seen"`, "https://visible", `"type":"Initech::TPS::Widget"`, `"action":"READ"`, `"wait":1000000000`, "!ERROR", `"msg":"handler panicked at `, `/log_test.go:32"`, `/log_test.go:32 github.com/formwork-dev/formwork/sdk/handler.TestLogHidesSecrets.func1",`, `"bound":"<redacted>"`} {
		if !strings.Contains(text, shown) {
			t.Errorf("%s is not in the log:\n%s", shown, text)
		}
	}
	if event["message"] != "The handler stopped unexpectedly: panic with <redacted>" || strings.Contains(event["message"].(string), "goroutine") {
		t.Error(event["message"])
	}
}

// What everybody knows is no secret: hiding it would make paths and account numbers unreadable.
func TestRedactorShowsDummyCredentials(t *testing.T) {
	const line = "github.com/formwork-dev/formwork/sdk test of account 000000000000"
	for _, c := range []Credentials{{AccessKeyID: "000000000000", SecretAccessKey: "unchecked-8f3kq2vz7mxw", SessionToken: "test"}, {AccessKeyID: "test", SecretAccessKey: "test", SessionToken: "test"}} {
		r := newRedactor(nil, []Credentials{c}, nil, nil)
		if got := r.text(line); got != line {
			t.Errorf("%v: %s", c, got)
		}
	}
	if got := newRedactor(nil, []Credentials{{AccessKeyID: "000000000000", SecretAccessKey: "another"}}, nil, nil).text(line); got == line {
		t.Error("the access key of a real secret is shown")
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

// Handlers print models as JSON, with %q, and into URLs and headers.
func TestLogHidesSecretsInEverySpelling(t *testing.T) {
	const secret = "PLANT\"xq<1>\nsecond line of it"
	spellings := map[string]func(string) string{
		"as it is":         func(s string) string { return s },
		"in a word":        func(s string) string { return "mysql -p" + s + "x" },
		"in JSON":          func(s string) string { return jsonText(t, map[string]any{"a": s}) },
		"in JSON, twice":   func(s string) string { return jsonText(t, jsonText(t, s)) },
		"in %q":            func(s string) string { return fmt.Sprintf("%q", s) },
		"in %+q":           func(s string) string { return fmt.Sprintf("%+q", s) },
		"%q in JSON":       func(s string) string { return jsonText(t, fmt.Sprintf("%q", s)) },
		"in a query":       url.QueryEscape,
		"in a path":        url.PathEscape,
		"in base64":        func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"in base64, bare":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"in basic auth":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s)) },
		"in base64 JSON":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte(jsonText(t, []string{s}))) },
		"one line of many": func(s string) string { _, line, _ := strings.Cut(s, "\n"); return "> " + line },
	}
	for name, spell := range spellings {
		t.Run(name, func(t *testing.T) {
			text := spell(secret)
			var out bytes.Buffer
			e := one(func(ctx context.Context, req widgetRequest) widgetEvent {
				req.Logger.With("bound", text).WithGroup(text).Info("message "+text, "attr", text, text, 1, "error", errors.New(text),
					"map", map[string]any{text: []any{text}}, "bytes", []byte(text), "group", slog.GroupValue(slog.String("inner", text)))
				return req.Failed(CodeInternalFailure, "message "+text)
			})
			e.LogHandler = slog.NewJSONHandler(&out, nil)
			model := jsonText(t, map[string]any{"Id": "visible", "Secret": secret})
			event := invoke(t, e, `{"action":"READ","requestData":{"resourceProperties":`+model+`}}`)
			for sink, shown := range map[string]string{"log": out.String(), "event": jsonText(t, event)} {
				for _, bad := range []string{"PLANT", "xq", "second", "UExBTl", "c2Vjb25k"} {
					if strings.Contains(shown, bad) {
						t.Errorf("the %s has %s:\n%s", sink, bad, shown)
					}
				}
				if !strings.Contains(shown, "redacted") || !strings.Contains(shown, "message ") {
					t.Errorf("the %s does not tell that something is hidden:\n%s", sink, shown)
				}
			}
		})
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRedactorKnowsHowNumbersArePrinted(t *testing.T) {
	r := &redactor{values: map[string]bool{}}
	r.learnTree(json.Number("91827364"))
	r.spell()
	if got := r.text(fmt.Sprint("pins ", 91827364, " and ", 91827364.0)); got != "pins <redacted> and <redacted>" {
		t.Error(got)
	}
	tree, err := decodeTree([]byte(`{"91827364": {"n": 91827364}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(r.tree(tree)); strings.Contains(string(got), "91827364") {
		t.Error(string(got))
	}
}

func BenchmarkRedactor(b *testing.B) {
	model := map[string]any{"Key": "PLANT\"ED<1>", "Pem": strings.Repeat("a line of a key\n", 30)}
	s, err := parseSchema([]byte(`{"writeOnlyProperties": ["/properties/Key", "/properties/Pem"]}`))
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(`{"Id": "1", "Name": "the name of a thing"} `, 6<<20/43)
	b.Run("learn", func(b *testing.B) {
		for b.Loop() {
			newRedactor(s, nil, []any{model}, nil).text("short")
		}
	})
	b.Run("6 MB", func(b *testing.B) {
		r := newRedactor(s, nil, []any{model}, nil)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			r.text(text)
		}
	})
}
