package invoke

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// TestSecretsInEverySpelling plants write-only values in all that an operation shows.
func TestSecretsInEverySpelling(t *testing.T) {
	const password, nested = `PLANT"ED<1>-tsig`, "PLANTED2-line1\nPLANTED2-line2"
	model := map[string]any{"Title": "t", "Password": password, "Keys": []any{map[string]any{"Name": "n", "Secret": nested}}}
	spellings := map[string]func(string) string{
		"raw":         func(s string) string { return s },
		"in a word":   func(s string) string { return "mysql -p" + s + "x" },
		"in %q":       func(s string) string { return fmt.Sprintf("%q", s) },
		"in a model":  func(string) string { return marshal(t, model) },
		"model in %q": func(string) string { return fmt.Sprintf("%q", marshal(t, model)) },
		"model twice": func(string) string { return marshal(t, marshal(t, model)) },
		"in a URL":    func(s string) string { return "https://x/?p=" + url.QueryEscape(s) },
		"in base64":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte("me:" + s)) },
	}
	for name, spell := range spellings {
		t.Run(name, func(t *testing.T) {
			text := spell(password) + " " + spell(nested)
			reply := marshal(t, map[string]any{
				"status": "FAILED", "errorCode": text, "message": text, "nextToken": text,
				"callbackContext": map[string]any{text: text, "list": []any{text}}, "resourceModel": map[string]any{"Id": text},
			})
			var call *Call
			r := New(Config{Function: loggedFunction{reply: reply, log: text}, Schema: load(t), AfterCall: func(c *Call) error { call = c; return nil }})
			if _, err := r.Run(t.Context(), Request{Action: Create, Model: model}); err != nil {
				t.Fatal(err)
			}
			for sink, shown := range map[string]string{
				"request": string(call.Request()), "response": string(call.Response()), "log": call.Log(), "message": call.Message(),
			} {
				for _, bad := range []string{"PLANT", "tsig", "line1", "line2", "UExBTl", "TEFOVE"} {
					if strings.Contains(shown, bad) {
						t.Errorf("the %s has %s:\n%s", sink, bad, shown)
					}
				}
				if !strings.Contains(shown, "<hidden: write-only /") {
					t.Errorf("the %s does not tell that something is hidden:\n%s", sink, shown)
				}
			}
		})
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A cut must not leave the first part of a secret.
func TestSecretsAtACut(t *testing.T) {
	const password = "PLANTED-password-of-some-length"
	tests := map[string]string{
		"no JSON":       strings.Repeat("x", excerptBytes-10) + password,
		"no event":      `{"a": "` + strings.Repeat("x", excerptBytes-17) + password + `"}`,
		"status":        `{"status": "` + strings.Repeat("x", 50) + password + `"}`,
		"delay":         `{"status": "IN_PROGRESS", "callbackDelaySeconds": {"` + strings.Repeat("x", 48) + password + `": 1}}`,
		"error of code": `{"errorType": "x", "errorMessage": "` + strings.Repeat("x", excerptBytes-45) + password + `"}`,
	}
	for name, reply := range tests {
		t.Run(name, func(t *testing.T) {
			var call *Call
			r := New(Config{Function: loggedFunction{reply: reply}, Schema: load(t), AfterCall: func(c *Call) error { call = c; return nil }})
			_, err := r.Run(t.Context(), Request{Action: Create, Model: map[string]any{"Password": password}})
			if !errors.As(err, new(*ProtocolError)) {
				t.Fatal(err)
			}
			for sink, shown := range map[string]string{"error": err.Error(), "response": string(call.Response())} {
				if strings.Contains(shown, "PLANT") {
					t.Errorf("the %s is %s", sink, shown)
				}
			}
			if !strings.Contains(err.Error(), "<hid") {
				t.Errorf("the error is %s", err)
			}
		})
	}
}

// Secrets that the handler made itself are known from its answer, also from one that is no
// progress event and from the models of a LIST.
func TestSecretsOfReplies(t *testing.T) {
	tests := map[string]string{
		"a model":  `{"status":"SUCCESS","message":"it is returned-secret","resourceModel":{"Password":"returned-secret"}}`,
		"models":   `{"status":"SUCCESS","message":"it is returned-secret","resourceModels":[{"Password":"returned-secret"}]}`,
		"no event": `{"status":"DONE","message":"it is returned-secret","resourceModel":{"Password":"returned-secret"}}`,
		"a number": `{"status":"SUCCESS","message":"it is 91827364 or 9.1827364e+07","callbackContext":{"pin":91827364,"91827364":1},"resourceModel":{"Password":91827364}}`,
	}
	for name, reply := range tests {
		t.Run(name, func(t *testing.T) {
			var call *Call
			r := New(Config{Function: loggedFunction{reply: reply}, Schema: load(t), AfterCall: func(c *Call) error { call = c; return nil }})
			_, err := r.Run(t.Context(), Request{Action: List})
			shown := fmt.Sprint(string(call.Response()), call.Message(), err)
			if strings.Contains(shown, "returned") || strings.Contains(shown, "1827364") || !strings.Contains(shown, "it is <hidden: write-only /Password>") {
				t.Error(shown)
			}
		})
	}
}

func TestTargetsOfHooks(t *testing.T) {
	report := load(t)
	known := func(name string) *schema.Schema {
		if name == "Initech::TPS::Report" {
			return report
		}
		return nil
	}
	model := map[string]any{
		"resourceProperties":         map[string]any{"Title": "new title", "Password": "new-password", "Keys": []any{map[string]any{"Name": "n", "Secret": "key-secret"}}},
		"previousResourceProperties": map[string]any{"Title": "old title", "Password": "old-password", "Pages": 77777},
	}
	tests := []struct {
		name, target string
		targets      func(string) *schema.Schema
		shown        []string
		hidden       []string
	}{
		{"known", "Initech::TPS::Report", known, []string{"new title", "old title", "77777", `"Name": "n"`}, []string{"new-password", "old-password", "key-secret"}},
		{"unknown", "AWS::S3::Bucket", known, []string{`"Title": "<hidden: target without schema>"`, `"Pages": "<hidden: target without schema>"`}, []string{"new-password", "old-password", "key-secret", "new title", "old title", "77777"}},
		{"none known", "Initech::TPS::Report", nil, []string{`"Title": "<hidden: target without schema>"`}, []string{"new-password", "old-password", "key-secret", "new title", "old title", "77777"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inner := marshal(t, model)
			f := loggedFunction{reply: marshal(t, map[string]any{"hookStatus": "FAILED", "message": "target " + inner}), log: "target " + inner}
			redactor := RedactorConfig{Targets: test.targets}.New()
			var call *Call
			r := New(Config{Function: f, Redactor: redactor, AfterCall: func(c *Call) error { call = c; return nil }})
			request := Request{Action: UpdatePreProvision, Target: Target{Name: test.target, Model: model}}
			payload, err := r.Payload(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Run(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			for sink, text := range map[string]string{
				"printed request": string(redactor.JSON(payload)), "request": string(call.Request()), "response": string(call.Response()), "log": call.Log(), "message": call.Message(),
			} {
				for _, bad := range test.hidden {
					if strings.Contains(text, bad) {
						t.Errorf("the %s has %s:\n%s", sink, bad, text)
					}
				}
				if !strings.Contains(sink, "request") {
					continue
				}
				for _, kept := range append(test.shown, test.target) {
					if !strings.Contains(text, kept) {
						t.Errorf("the %s lacks %s:\n%s", sink, kept, text)
					}
				}
			}
		})
	}
}

// BenchmarkRedactJSON is a reply of 6 MB, as large as Lambda lets through.
func BenchmarkRedactJSON(b *testing.B) {
	s, problems := schema.Load("report.json", []byte(reportSchema), schema.Config{})
	if problems.HasErrors() {
		b.Fatal(problems.Err())
	}
	redactor := NewRedactor(s)
	for i := range 100 {
		redactor.Learn(fmt.Sprintf("secret \"%d\"", i))
	}
	item := `{"Title": "a title", "Password": "p", "Tags": [{"Key": "k", "Value": "v \"quoted\" secret \"7\""}]}, `
	reply := []byte(`{"status": "SUCCESS", "resourceModels": [` + strings.Repeat(item, (6<<20-200)/len(item)) + `{}]}`)
	b.SetBytes(int64(len(reply)))
	for b.Loop() {
		redactor.JSON(reply)
	}
}

// The credentials of cfn env are no secrets: the account number and "test" are words of many texts.
func TestDummyCredentialsAreShown(t *testing.T) {
	for _, dummy := range []string{LocalSecret, "test"} {
		r := NewRedactor(nil)
		r.Observe([]byte(`{"requestData": {"callerCredentials": {"accessKeyId": "123456789012", "secretAccessKey": "` + dummy + `", "sessionToken": ""}}}`))
		const text = LocalSecret + " test arn:aws:iam::123456789012:role/x"
		if got := r.Text(text); got != text {
			t.Errorf("%s: %s", dummy, got)
		}
	}
	r := NewRedactor(nil)
	r.Observe([]byte(`{"requestData": {"callerCredentials": {"accessKeyId": "AKIAREALREAL", "secretAccessKey": "a-real-secret", "sessionToken": "a-real-token"}}}`))
	if got := r.Text("AKIAREALREAL a-real-secret a-real-token"); got != "<hidden: credentials> <hidden: credentials> <hidden: credentials>" {
		t.Error(got)
	}
}

// TestSettingsAreShown reads a type configuration: messages quote its settings, but not its secrets.
func TestSettingsAreShown(t *testing.T) {
	s, problems := schema.Load("schema.json", []byte(`{"typeName": "Acme::Test::Hook", "description": "d", "additionalProperties": false,
		"typeConfiguration": {"additionalProperties": false, "writeOnlyProperties": ["/properties/Pin"], "properties": {
			"Forbidden": {"type": "string"}, "Limits": {"type": "array", "items": {"type": "integer"}}, "Pin": {"type": "string"},
			"Login": {"type": "object", "additionalProperties": false, "properties": {
				"Site": {"type": "string"}, "Private": {"type": "string", "pattern": "^{{resolve:.*}}$"}, "UserPassword": {"type": "string"}}}}},
		"handlers": {"preCreate": {"targetNames": ["A::B::C"], "permissions": []}}}`), schema.Config{})
	if s == nil {
		t.Fatal(problems.Err())
	}
	const configuration = `{"Forbidden": "spam", "Limits": [40000], "Pin": "99118822", "Login": {"Site": "example.org", "Private": "of-the-reference", "UserPassword": "of-the-name"}}`
	for _, member := range []string{"hookModel", "typeConfiguration"} {
		r := NewRedactor(s)
		request := []byte(`{"requestData": {"` + member + `": ` + configuration + `}}`)
		r.Observe(request)
		const message = "spam has 40000 letters at example.org: 99118822 of-the-reference of-the-name"
		if got, want := r.Text(message), "spam has 40000 letters at example.org: <hidden: write-only /Pin> <hidden: dynamic reference> <hidden: by its name>"; got != want {
			t.Errorf("%s: the message is %s, want %s", member, got, want)
		}
		shown := string(r.JSON(request))
		for _, want := range []string{`"Forbidden": "spam"`, `40000`, `"Site": "example.org"`, `"Pin": "<hidden: write-only /Pin>"`, `"Private": "<hidden: dynamic reference>"`, `"UserPassword": "<hidden: by its name>"`} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: %s is missing in %s", member, want, shown)
			}
		}
	}
}

// TestLearnFromReplies checks which replies are read for secrets: those with the name of a member that
// may have them, however it is written.
func TestLearnFromReplies(t *testing.T) {
	const value = "correct-horse-battery"
	for reply, hidden := range map[string]bool{
		`{"callbackContext": {"credentials": {"secretAccessKey": "` + value + `"}}}`:              true,
		`{"callbackContext": {"\u0063redentials" : {"secretAccessKey": "` + value + `"}}}`:        true,
		`{"callbackContext": {"typeConfiguration": {"ApiKey": "` + value + `"}}}`:                 true,
		`{"callbackContext": {"typeConfiguration": {"A": "` + value + `"}}}`:                      false, // a setting
		`{"resourceModels": [{"targetModel": {"resourceProperties": {"A": "` + value + `"}}}]}`:   false, // a model
		`{"callbackContext": {"targetModel": {"resourceProperties": {"A": "` + value + `"}}}}`:    true,
		`{"status": "SUCCESS", "resourceModel": {"Name": "` + value + `"}, "callbackContext": 1}`: false,
	} {
		r := NewRedactor(nil)
		r.Observe([]byte(reply))
		if got := !strings.Contains(r.Text("it is "+value), value); got != hidden {
			t.Errorf("%s: hidden is %t", reply, got)
		}
	}
}

// TestListedValuesAreShown: what the schema lists at the place of a write-only value is public, so that messages stay readable; by
// its place it is hidden all the same.
func TestListedValuesAreShown(t *testing.T) {
	s, problems := schema.Load("set.json", []byte(`{"typeName": "Acme::Db::Set", "description": "d", "additionalProperties": false, "primaryIdentifier": ["/properties/Name"], "writeOnlyProperties": ["/properties/Updates"],
		"properties": {"Name": {"type": "string"}, "Updates": {"type": "array", "items": {"$ref": "#/definitions/Change"}}},
		"definitions": {"Change": {"type": "object", "additionalProperties": false, "properties": {"Action": {"type": "string", "enum": ["INSERT", "DELETE"]}, "Value": {"type": "string"}}}}}`), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	redactor := NewRedactor(s)
	redactor.Observe([]byte(`{"resourceModel": {"Name": "n", "Updates": [{"Action": "DELETE", "Value": "INSERT"}, {"Action": "other", "Value": "swordfish"}]}}`))
	if got, want := redactor.Text("DELETE failed for swordfish after other, INSERT"), "DELETE failed for <hidden: write-only /Updates> after <hidden: write-only /Updates>, <hidden: write-only /Updates>"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if model, _ := redactor.Model(map[string]any{"Updates": []any{map[string]any{"Action": "DELETE"}}}).(map[string]any); model["Updates"] != "<hidden: write-only /Updates>" {
		t.Errorf("by its place: %v", model)
	}
}
