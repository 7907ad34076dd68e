package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStubServes starts the command, calls the service and stops it as Ctrl-C does. The state and the
// journal are in files, and the state outlives the command.
func TestStubServes(t *testing.T) {
	dir := t.TempDir()
	description := `openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /things/{id}:
    get: {responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}}}
    put:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}
      responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}}
    delete: {responses: {"204": {description: d}}}
components: {schemas: {Thing: {type: object, properties: {id: {type: string, readOnly: true}, size: {type: integer}}}}}
`
	for name, text := range map[string]string{"shop.yaml": description, "api.yaml": "source: {openapi: shop.yaml}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	serve := func(args ...string) (call func(method, path, body string) string, stop func() int) {
		ctx, cancel := context.WithCancel(t.Context())
		reader, writer := io.Pipe()
		done := make(chan int, 1)
		go func() {
			args := append([]string{"stub", "--port", "0", "--format", "json", "--data", "state.json", "--journal", "calls.jsonl"}, args...)
			code := Main(ctx, Env{Stdin: strings.NewReader(""), Stdout: writer, Stderr: io.Discard, Dir: dir, Version: "1.2.3"}, args)
			_ = writer.Close()
			done <- code
		}()
		var printed struct {
			API, URL  string
			Resources []string
		}
		if err := json.NewDecoder(reader).Decode(&printed); err != nil || printed.API != "Shop" || strings.Join(printed.Resources, " ") != "Thing" {
			t.Fatalf("%+v, %v", printed, err)
		}
		go func() { _, _ = io.Copy(io.Discard, reader) }()
		call = func(method, path, body string) string {
			request, err := http.NewRequestWithContext(t.Context(), method, printed.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			if err != nil || response.Body.Close() != nil {
				t.Fatal(err)
			}
			return response.Status[:4] + string(text)
		}
		return call, func() int {
			cancel()
			return <-done
		}
	}
	call, stop := serve("shop.yaml")
	if got := call("PUT", "/things/a", `{"size": 1}`); got != `200 {"id":"a","size":1}` {
		t.Error(got)
	}
	if code := stop(); code != exitOK {
		t.Errorf("code %d after Ctrl-C", code)
	}
	call, stop = serve() // the API of the project
	if got := call("GET", "/things/a", ""); got != `200 {"id":"a","size":1}` {
		t.Error(got)
	}
	stop()
	journal, err := os.ReadFile(filepath.Join(dir, "calls.jsonl"))
	if err != nil || strings.Count(string(journal), "\n") != 2 || !strings.Contains(string(journal), `"operation":"PUT /things/{id}"`) {
		t.Errorf("%s, %v", journal, err)
	}
}

// TestStubRefuses checks what the command refuses, and what it proposes instead.
func TestStubRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty.yaml":  "openapi: 3.1.0\ninfo: {title: E, version: \"1\"}\npaths: {}\n",
		"two.smithy":  "$version: \"2\"\nnamespace a\nservice One {version: \"1\"}\nservice Two {version: \"1\"}\n",
		"cbor.smithy": "$version: \"2\"\nnamespace a\n@trait\n@protocolDefinition\nstructure rpcv2Cbor {}\n@rpcv2Cbor\nservice One {version: \"1\"}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"empty.yaml --host 0.0.0.0", 1, "hint: listen on 127.0.0.1, or pass --allow-remote to allow this"},
		{"empty.yaml --page-size 0", 2, "option --page-size: 0 is not between 1 and 10000"},
		{"empty.yaml --slow -1", 2, "option --slow: -1 is not between 0 and 10000"},
		{"empty.yaml --throttle 2", 2, "option --throttle: 2 is not between 0 and 1"},
		{"empty.yaml --throttle NaN", 2, "option --throttle: NaN is not between 0 and 1"},
		{"empty.yaml --fail A", 2, `option --fail: "A" is not OPERATION@N with N from 1`},
		{"empty.yaml --fail A@0", 2, `option --fail: "A@0" is not OPERATION@N with N from 1`},
		{"empty.yaml --fail A@1", 1, `the API has no operation "A"`},
		{"empty.yaml --resource A", 1, "the API has no resource A"},
		{"empty.yaml", 1, "the API has no resource that can be created, read and deleted"},
		{"missing.yaml", 1, "hint: pass the path of an OpenAPI description or a Smithy model"},
		{"two.smithy", 1, "hint: pass one of them with --service: a#One, a#Two"},
		{"cbor.smithy", 1, "the protocol rpcv2Cbor is not supported: restJson1, awsJson1_0, awsJson1_1, awsQuery and restXml are"},
		{"empty.yaml more", 2, "unexpected argument: more"},
		{"", 2, "pass an OpenAPI description or a Smithy model: the project has no source in api.yaml"},
	} {
		code, _, stderr := runMain(t.Context(), dir, nil, append([]string{"stub"}, strings.Fields(test.args)...)...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("cfn stub %s: code %d\n%s\nwant %d %s", test.args, code, stderr, test.code, test.want)
		}
	}
}
