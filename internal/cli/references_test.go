package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Being offline is a promise: a schema reaches the network only where the user says so.
func TestRemoteReferences(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/common.json":
			io.WriteString(w, `{"definitions": {"Name": {"type": "string"}}}`)
		case "/large.json":
			io.WriteString(w, `{"definitions": {"Name": {"type": "string"}}}`+strings.Repeat(" ", fetchLimit))
		case "/text.json":
			io.WriteString(w, `<html>`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	const allowed = "--allow-remote"
	tests := []struct {
		name, ref string
		environ   string
		args      []string
		code      int
		stdout    string
		asked     int32
	}{
		{"not allowed", "/common.json", "", nil, 1, "; or name a folder that has it with --registry-schemas DIR, or have it fetched with --allow-remote", 0},
		{"by the environment", "/common.json", "CFN_REMOTE_REFS=1", nil, 0, "Resource schema is valid.", 1},
		{"by the option", "/common.json", "", []string{allowed}, 0, "Resource schema is valid.", 1},
		{"not there", "/other.json", "", []string{allowed}, 1, "404 Not Found", 1},
		{"too large", "/large.json", "", []string{allowed}, 1, "the document has more than 8388608 by", 1},
		{"no JSON", "/text.json", "", []string{allowed}, 1, "found '<' where a value should be", 1},
		{"not allowed, by name", "/common.json", "", []string{"aa-bb-cc.json"}, 1, "--registry-schemas DIR, or have it fetched with --allow-remote", 0},
		{"once for all", "/common.json", "", []string{allowed, "aa-bb-cc.json", "aa-bb-dd.json"}, 0, "2 schemas checked: 0 errors", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			asked.Store(0)
			dir := referringProject(t, server.URL+test.ref+"#/definitions/Name")
			var out, errs strings.Builder
			env := Env{Stdout: &out, Stderr: &errs, Dir: dir, Version: "1.2.3", Environ: []string{test.environ}}
			code := Main(t.Context(), env, append([]string{"validate"}, test.args...))
			if code != test.code || asked.Load() != test.asked || !strings.Contains(out.String(), test.stdout) || strings.Contains(out.String(), "is not a property") {
				t.Errorf("code %d, asked %d times, stdout\n%s%s", code, asked.Load(), &out, &errs)
			}
		})
	}
}

// referringProject is a folder with a project, and one more schema like its own.
func referringProject(t *testing.T, ref string) string {
	dir := t.TempDir()
	text := `{"typeName": "Aa::Bb::Cc", "description": "d", "additionalProperties": false, "properties": {"Name": {"$ref": "` + ref + `"}},
 "createOnlyProperties": ["/properties/Name"], "primaryIdentifier": ["/properties/Name"], "tagging": {"taggable": false}}`
	for name, text := range map[string]string{
		".rpdk-config":  `{"typeName": "Aa::Bb::Cc", "language": "go", "runtime": "r", "entrypoint": null, "settings": {"protocolVersion": "2.0.0"}}`,
		"aa-bb-cc.json": text,
		"aa-bb-dd.json": strings.Replace(text, "::Cc", "::Dd", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A command without the options names what it does obey.
func TestReferenceHintOfOtherCommands(t *testing.T) {
	dir := referringProject(t, "https://example.invalid/common.json#/definitions/Name")
	code, _, stderr := runMain(t.Context(), dir, nil, "generate")
	if code != exitFailure || !strings.Contains(stderr, "; or set CFN_REGISTRY_SCHEMAS=DIR for a folder that has it, or CFN_REMOTE_REFS=1 to have it fetched") {
		t.Errorf("code %d, stderr\n%s", code, stderr)
	}
}

// stalled is a server that never answers, or never ends its answer.
type stalled struct{ begins bool }

func (s stalled) RoundTrip(r *http.Request) (*http.Response, error) {
	if !s.begins {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body, end := io.Pipe()
	context.AfterFunc(r.Context(), func() { end.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
}

func TestFetchTimesOut(t *testing.T) {
	for _, begins := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			client := &http.Client{Timeout: fetchTimeout, Transport: stalled{begins}}
			_, err := fetch(t.Context(), client, "http://example.invalid/a.json")
			if err == nil || err.Error() != "no complete response within 30s" {
				t.Errorf("begins %v: %v", begins, err)
			}
		})
	}
}

// No option of ours makes a shortened one of the official tool ambiguous, where both are.
func TestReferenceOptionsAreAdditions(t *testing.T) {
	root := newRoot(&app{Env: &Env{Version: "1.2.3"}})
	having := 0
	eachCommand(root, func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if flag.Name != "registry-schemas" {
				return
			}
			flag = cmd.Flags().Lookup("allow-remote")
			if _, added := flag.Annotations[addition]; !added {
				t.Errorf("%s --%s is not marked", cmd.CommandPath(), flag.Name)
			}
			flag = cmd.Flags().Lookup("registry-schemas")
			having++
			if _, added := flag.Annotations[addition]; !added {
				t.Errorf("%s --%s is not marked", cmd.CommandPath(), flag.Name)
			}
		})
		if cmd.Flags().Lookup("region") == nil {
			return
		}
		words := strings.Fields(cmd.CommandPath())[1:]
		got, err := normalize(root, append(words, "--reg", "eu-north-1"))
		if err != nil || !strings.Contains(strings.Join(got, " "), "--region=eu-north-1") && !strings.Contains(strings.Join(got, " "), "--region eu-north-1") {
			t.Errorf("%s --reg: %q, %v", cmd.CommandPath(), got, err)
		}
	})
	if having != 3 {
		t.Errorf("%d commands, want those of validate, diff and drift compare", having)
	}
}
