package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// TestScreenTextInPieces: a character that comes in several writes is the same character.
func TestScreenTextInPieces(t *testing.T) {
	for _, text := range []string{"ä漢😀\n", "\u009b2J\u202e", "x\xe6\xbc", "\xff\xfe\xe6"} {
		var out strings.Builder
		w := &screenText{to: &out}
		for i := range len(text) {
			if n, err := w.Write([]byte{text[i]}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		w.end()
		if got := out.String(); words.Visible(got) != got || strings.TrimRight(got, "\uFFFD") != strings.TrimRight(words.Visible(text), "\uFFFD") {
			t.Errorf("%q in pieces is %q", text, got)
		}
	}
}

// steering is what a terminal would obey: it clears the screen, sets the title, asks for an answer
// that is typed for the user, begins the line again, and turns the text around.
const steering = "\x1b[2J\x1b]0;owned\x07\x1b[6n\u009b2J\rok\u202e\x7f\x08"

// steered is steering as JSON has it.
const steered = `\u001b[2J\u001b]0;owned\u0007\u001b[6n\u009b2J\rok\u202e\u007f\u0008`

// TestTerminal: whatever a schema, a handler or a service says, no command writes anything for the
// terminal to obey, but for what wipes cfn's own line.
func TestTerminal(t *testing.T) {
	handler := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"status": "FAILED", "errorCode": "`+steered+`", "message": "`+steered+`", "resourceModel": {"`+steered+`": "`+steered+`"}}`)
	}))
	defer handler.Close()
	crashing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		_, _ = io.WriteString(w, `{"errorMessage": "`+steered+`", "errorType": "`+steered+`", "stackTrace": ["`+steered+`"]}`)
	}))
	defer crashing.Close()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const members = `"typeName": "Acme::Foo::Bar", "description": "` + steered + `", "additionalProperties": false,
 "properties": {"Id": {"type": "string"}, "Name": {"type": "string", "description": "` + steered + `", "default": "` + steered + `"%s}},
 "primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "tagging": {"taggable": false},
 "handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}}`
	write(".rpdk-config", `{"artifact_type": "RESOURCE", "typeName": "Acme::Foo::Bar", "language": "go", "runtime": "provided.al2023", "entrypoint": "bootstrap", "testEntrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0", "import_path": "desk"}}`)
	write("acme-foo-bar.json", "{"+fmt.Sprintf(members, "")+"}")
	write("inputs/inputs_1_create.json", `{"Name": "`+steered+`"}`)
	write("bad.json", "{"+fmt.Sprintf(members, `, "`+steered+`": 1, "pattern": "(`+steered+`"`)+`, "`+steered+`": {}}`)
	write("raw.json", "{\""+steering+"\": "+steering+"}")
	write("raw.yaml", "\""+steering+"\": [\"\\e[2J\", ")
	write("template.json", `{"Resources": {"A": {"Type": "Acme::Foo::Bar", "Properties": {"`+steered+`": {"Ref": "`+steered+`"}}}}, "`+steered+`": 1}`)
	write("model.json", `{"Id": "`+steered+`", "`+steered+`": "`+steered+`"}`)
	write("event.json", `{"desiredResourceState": {"Id": "`+steered+`"}}`)
	write("other.json", `{"Id": "x"}`)

	a := fixtures.NewAWS(t)
	a.RegistrationReason = "\u009b2J\u202e\u007f" // XML has no other controls
	a.Log("g", fixtures.AWSLogEvent{ID: "1", Message: steering + "\xff\x9b2J", Time: time.Now()})
	a.Type("eu-west-1", "RESOURCE", "Acme::Foo::Bar", 2)
	for _, entry := range a.Environ() { // the SDK reads that of the process
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
	commands := [][]string{
		{"validate"}, {"validate", "-v"}, {"validate", "bad.json"}, {"validate", "raw.json"}, {"validate", "raw.yaml"}, {"validate", steering},
		{"validate", "--format", "json", "bad.json"}, {"validate", "--format", "sarif", "bad.json"}, {"validate", "--format", "github", "bad.json"},
		{"diff", "acme-foo-bar.json", "bad.json"}, {"explain", steering}, {steering}, {"validate", "--" + steering},
		{"drift", "compare", "--schema", "acme-foo-bar.json", "--expected", "model.json", "--actual", "other.json"},
		{"template", "check", "template.json"}, {"template", "check", "raw.yaml"},
		{"invoke", "--endpoint", handler.URL, "resource", "CREATE", "event.json"},
		{"invoke", "--endpoint", crashing.URL, "resource", "READ", "event.json"},
		{"test", "--endpoint", handler.URL}, {"test", "--endpoint", crashing.URL, "-vv"},
		{"logs", "Acme::Foo::Bar", "--type", "RESOURCE", "--log-group-name", "g"},
		{"logs", steering, "--type", "RESOURCE"},
		{"types", "list"}, {"types", "describe", "Acme::Foo::Bar"}, {"types", "describe", steering}, {"types", "registrations", steering},
		{"submit", "--no-build"}, {"generate"}, {"doctor"}, {"package", "--no-build"}, {"--project", steering, "validate"},
	}
	spelled := 0
	for _, args := range commands {
		for _, watched := range []bool{true, false} {
			var out, errs strings.Builder
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			code := Main(ctx, Env{
				Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: dir, Version: "1.2.3", Terminal: Terminal{Stdout: watched, Stderr: watched},
				Environ: append(os.Environ(), append(a.Environ(), "TERM=xterm")...),
			}, args)
			cancel()
			stdout, stderr := out.String(), strings.ReplaceAll(errs.String(), "\r\x1b[K", "")
			if !watched && strings.Contains(strings.Join(args, " "), "--format") {
				stdout = "" // for programs
			}
			for name, text := range map[string]string{"stdout": stdout, "stderr": stderr} {
				if words.Visible(text) != text {
					t.Errorf("cfn %q, terminal %t: %s has\n%q", args, watched, name, text)
				}
			}
			if code == exitBug {
				t.Errorf("cfn %q: %s", args, stderr)
			}
			if strings.Contains(stdout+stderr, `\u009b2J`) {
				spelled++
			}
		}
	}
	if spelled < 30 {
		t.Errorf("only %d outputs show what they were given", spelled)
	}
}
