package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileServers: what commands print if what answers is not CloudFormation, or leads them to another
// server, which is never called.
func TestHostileServers(t *testing.T) {
	called := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called++ }))
	defer other.Close()
	empty := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "Action=DescribeStacks"):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id s does not exist</Message></Error></ErrorResponse>")
		case strings.Contains(string(body), "Action=CreateStack"):
			_, _ = io.WriteString(w, "<CreateStackResponse><CreateStackResult/></CreateStackResponse>")
		case r.Header.Get("X-Amz-Target") != "":
			_, _ = io.WriteString(w, "{}")
		default:
			http.NotFound(w, r)
		}
	}
	away := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}
	circle := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			_, _ = io.WriteString(w, `{"product": "formwork", "status": "ok"}`)
			return
		}
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.json"), []byte(`{"Resources": {"H": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		command string
		server  http.HandlerFunc
		want    string
	}{
		{"deploy t.json --stack-name s --yes", empty, "SERVER answered without a stack; check that CloudFormation answers there"},
		{"deploy t.json --stack-name s --yes", away, "SERVER redirects to OTHER, which is another server; cfn does not follow it"},
		{"types list", away, "SERVER redirects to OTHER, which is another server; cfn does not follow it"},
		{"console --endpoint-url SERVER", away, "SERVER redirects to OTHER, which is another server; cfn does not follow it"},
		{"validate remote.json --allow-remote", away, "SERVER redirects to"},
		{"console --endpoint-url SERVER", circle, "SERVER redirects 10 times"},
		{"deploy t.json --stack-name s --yes", circle, "DescribeStacks: the response has status 307 and no error message"},
		{"resource get Acme::Foo::Bar x", empty, "SERVER answered GetResource without its result; check that Cloud Control answers there"},
	} {
		t.Run(test.command, func(t *testing.T) {
			server := httptest.NewServer(test.server)
			defer server.Close()
			names := strings.NewReplacer("SERVER", server.URL, "OTHER", other.URL)
			if err := os.WriteFile(filepath.Join(dir, "remote.json"), []byte(strings.Replace(remoteSchema, "URL", server.URL, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "1", "AWS_SECRET_ACCESS_KEY": "2", "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": server.URL, "AWS_EC2_METADATA_DISABLED": "true"} {
				t.Setenv(name, value) // the SDK reads those of the process
			}
			var out strings.Builder
			code := Main(t.Context(), Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Environ: os.Environ(), Dir: dir, Version: "1.2.3"}, strings.Fields(names.Replace(test.command)))
			if code == 0 || !strings.Contains(out.String(), names.Replace(test.want)) {
				t.Errorf("code %d: %s", code, &out)
			}
			if called > 0 {
				t.Error("the other server was called")
			}
		})
	}
}
