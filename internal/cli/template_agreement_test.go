package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/local"
)

// TestCheckAgreesWithTheServer holds "cfn template check" against deployments over the templates of the scripts and of the
// documentation, and of the folder FORMWORK_TEMPLATES: what one refuses, the other refuses. A template in which the check finds
// nothing must only have a change set: what its resources do is not the concern of a check.
func TestCheckAgreesWithTheServer(t *testing.T) {
	dir := t.TempDir()
	files := templatesOfTests(t, dir)
	if len(files) < 50 {
		t.Fatalf("only %d templates", len(files))
	}
	server, environ := serveForTest(t, nil)
	var out, errs strings.Builder
	run := Env{Stdout: &out, Stderr: &errs, Environ: environ, Dir: dir}
	if code := Main(t.Context(), run, []string{"types", "import", fixtures.Dir(t, "schemas/aws")}); code != 0 {
		t.Fatal(errs.String())
	}
	out.Reset()
	errs.Reset()
	Main(t.Context(), run, slices.Concat([]string{"template", "check", "--registry", "--format", "json"}, files))
	var checked struct {
		Problems []struct{ ID, Severity, File, Message string }
	}
	if err := json.Unmarshal([]byte(out.String()), &checked); err != nil || errs.Len() > 0 {
		t.Fatalf("%v: %s", err, errs.String())
	}
	found := map[string][]string{}
	for _, p := range checked.Problems {
		if p.Severity == "error" {
			found[p.File] = append(found[p.File], p.ID+": "+p.Message)
		}
	}
	client := cloudformation.New(cloudformation.Options{
		BaseEndpoint: &server, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""), RetryMaxAttempts: 1,
	})
	both, neither := 0, 0
	for i, file := range files {
		refusal := refusedChangeSet(t, client, fmt.Sprintf("s%d", i), filepath.Join(dir, file))
		if refusal == "" && found[file] != nil {
			refusal = refusedExecution(t, client, fmt.Sprintf("s%d", i))
		}
		switch {
		case strings.Contains(refusal, "must have values"): // a parameter has no default
		case (refusal != "") != (found[file] != nil):
			t.Errorf("%s: cfn serve says %q, the check %q", file, refusal, found[file])
		case refusal != "":
			both++
		default:
			neither++
		}
	}
	t.Logf("%d templates: %d refused by both, %d by neither", len(files), both, neither)
}

// serveForTest starts a local CloudFormation, before which requests pass through a handler. It returns its URL and the variables for it.
func serveForTest(t *testing.T, before func(http.Handler) http.Handler) (url string, environ []string) {
	t.Helper()
	cloud, err := local.Open(t.Context(), local.Config{Environ: append(os.Environ(), "HOME="+t.TempDir()), RunLambda: true, Simulate: []string{"AWS::*"}})
	if err != nil {
		t.Fatal(err)
	}
	var handler http.Handler = cloud
	if before != nil {
		handler = before(cloud)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, v := range localVariables(nil, server.URL, "us-east-1", lambda.DefaultAccountID) {
		environ = append(environ, v.name+"="+v.value)
		t.Setenv(v.name, v.value) // the SDK reads the process's own
	}
	return server.URL, environ
}

// fenced matches the examples of the documentation.
var fenced = regexp.MustCompile("(?ms)^```(?:yaml|json)\n(.*?)^```$")

// outOfReach matches what only a deployment knows: values that are resolved, functions that are run, other templates.
var outOfReach = regexp.MustCompile(`\{\{resolve:|Transform|Parameter::Value<|AWS::CloudFormation::(?:Stack|Macro|Init)|::MODULE|ImportValue`)

// templatesOfTests writes the templates into a folder and returns their names.
func templatesOfTests(t *testing.T, dir string) (files []string) {
	t.Helper()
	add := func(name, text string) {
		if !strings.Contains(text, "Resources") || outOfReach.MatchString(strings.ReplaceAll(text, "Transform: AWS::LanguageExtensions", "")) || len(text) > 50_000 {
			return
		}
		name = strings.NewReplacer("/", "_", " ", "_").Replace(name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	names := func(pattern string) []string {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		return found
	}
	for _, name := range names(filepath.Join("testdata", "*.txtar")) {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if ext := filepath.Ext(f.Name); ext == ".yaml" || ext == ".json" {
				add(filepath.Base(name)+"_"+f.Name, string(f.Data))
			}
		}
	}
	for _, name := range names(filepath.Join("..", "..", "docs", "*.md")) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range fenced.FindAllStringSubmatch(string(data), -1) {
			add(fmt.Sprintf("%s_%d.yaml", filepath.Base(name), i), m[1])
		}
	}
	if folder := os.Getenv("FORMWORK_TEMPLATES"); folder != "" {
		for _, name := range names(filepath.Join(folder, "*")) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			add(filepath.Base(name), string(data))
		}
	}
	return files
}

// refusedChangeSet returns why the server refuses to create a change set for a new stack, "" if it does not.
func refusedChangeSet(t *testing.T, client *cloudformation.Client, stack, file string) string {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: &stack, ChangeSetName: aws.String("c"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: aws.String(string(body)),
		Capabilities: types.Capability("").Values(),
	})
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return refused.ErrorMessage()
	}
	if err != nil {
		t.Fatal(err)
	}
	waiter := cloudformation.NewChangeSetCreateCompleteWaiter(client, func(o *cloudformation.ChangeSetCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
	})
	if waiter.Wait(t.Context(), &cloudformation.DescribeChangeSetInput{ChangeSetName: made.Id}, time.Minute) == nil {
		return ""
	}
	set, err := client.DescribeChangeSet(t.Context(), &cloudformation.DescribeChangeSetInput{ChangeSetName: made.Id})
	if err != nil {
		t.Fatal(err)
	}
	return cmp.Or(aws.ToString(set.StatusReason), string(set.Status))
}

// refusedExecution returns why the deployment of the change set fails, "" if it succeeds.
func refusedExecution(t *testing.T, client *cloudformation.Client, stack string) string {
	t.Helper()
	_, err := client.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{StackName: &stack, ChangeSetName: aws.String("c")})
	if err != nil {
		t.Fatal(err)
	}
	waiter := cloudformation.NewStackCreateCompleteWaiter(client, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
	})
	if err := waiter.Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &stack}, time.Minute); err != nil {
		return err.Error()
	}
	return ""
}

// TestHooksOfABrokenServer: if the server cannot run hooks, nobody knows what they say, and the check fails.
func TestHooksOfABrokenServer(t *testing.T) {
	_, environ := serveForTest(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TryHooks") {
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = w.Write([]byte(`{"message": "broken"}`))
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "stack.yaml"), []byte("Resources: {A: {Type: AWS::S3::Bucket}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	code := Main(t.Context(), Env{Stdout: &out, Stderr: &errs, Environ: environ, Dir: dir}, []string{"template", "check", "stack.yaml", "--hooks", "--registry"})
	if code != exitDownstream || !strings.Contains(errs.String(), "the server failed at TryHooks: broken") {
		t.Errorf("code %d, %s%s", code, out.String(), errs.String())
	}
}
