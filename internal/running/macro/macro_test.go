package macro

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/s3"
)

var caller = awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}}

// answer is a function that answers a request.
type answer func(ctx context.Context, function string, payload []byte, secrets []string) (lambda.Result, error)

func (a answer) Call(ctx context.Context, _ awswire.Caller, function string, payload []byte, secrets []string) (lambda.Result, error) {
	return a(ctx, function, payload, secrets)
}

func with(t *testing.T, a answer) *Macros {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Config{Dir: fixtures.TempDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	m := New(Config{Store: opened, S3: s3.New(s3.Config{Store: opened}), Functions: a, Timeout: time.Second, NewID: func() string { return "id-1" }})
	if err := m.Create(t.Context(), caller.Place, Macro{Name: "M", Function: "f"}); err != nil {
		t.Fatal(err)
	}
	return m
}

func reply(text string, err error) answer {
	return func(context.Context, string, []byte, []string) (lambda.Result, error) {
		return lambda.Result{Payload: []byte(text)}, err
	}
}

// expand runs a template with the macro M, whose parameter Secret is not shown.
func expand(t *testing.T, m *Macros, body string) (string, error) {
	t.Helper()
	parsed, err := template.Parse("t", []byte(body), template.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var supplied []template.Supplied
	if strings.Contains(body, "Secret:") {
		supplied = append(supplied, template.Supplied{Key: "Secret", Value: "hunter22", HasValue: true})
	}
	bound, err := parsed.Bind(t.Context(), template.BindInput{Supplied: supplied})
	if err != nil {
		t.Fatal(err)
	}
	out, err := parsed.Expand(t.Context(), template.ExpandInput{Parameters: bound, Pseudo: template.Pseudo{AccountID: caller.Account, Region: caller.Region}, Macros: m.For(caller)})
	if err != nil {
		return "", err
	}
	return string(out.ProcessedJSON()), nil
}

const using = "Transform: M\nResources: {A: {Type: 'A::B::C'}}"

func TestRequestOfMacro(t *testing.T) {
	m := with(t, func(_ context.Context, function string, payload []byte, secrets []string) (lambda.Result, error) {
		const want = `{"region":"eu-west-1","accountId":"123456789012","fragment":{"Kind":"x"},"transformId":"123456789012::M",` +
			`"params":{"Times":2},"requestId":"id-1","templateParameterValues":{"Secret":"hunter22"}}`
		if function != "f" || string(payload) != want {
			t.Errorf("%s was called with %s", function, payload)
		}
		if len(secrets) == 0 || secrets[0] != "hunter22" {
			t.Errorf("the secrets are %q", secrets)
		}
		return lambda.Result{Payload: []byte(`{"requestId": "id-1", "status": "success", "fragment": {"Kind": "y"}}`)}, nil
	})
	got, err := expand(t, m, "Parameters: {Secret: {Type: String, NoEcho: true}}\nResources: {A: {Type: 'A::B::C', Properties: {Kind: x, 'Fn::Transform': {Name: M, Parameters: {Times: 2}}}}}")
	if err != nil || !strings.Contains(got, `"Properties":{"Kind":"y"}`) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestFailingMacros has the words of the service for macros that do not answer as they must.
func TestFailingMacros(t *testing.T) {
	const malformed = "Received malformed response from transform 123456789012::M"
	for name, test := range map[string]struct {
		answer answer
		want   string
	}{
		"a message":        {reply(`{"requestId": "id-1", "status": "failure", "errorMessage": "no luck"}`, nil), "Transform 123456789012::M failed with: no luck"},
		"no message":       {reply(`{"requestId": "id-1", "status": "failure"}`, nil), "Transform 123456789012::M failed without an error message."},
		"an exception":     {reply(`{"errorMessage": "boom", "errorType": "ValueError"}`, &lambda.FunctionError{Function: "f"}), malformed},
		"no status":        {reply(`{"requestId": "id-1", "fragment": {}}`, nil), malformed},
		"no request id":    {reply(`{"status": "success", "fragment": {}}`, nil), malformed},
		"another request":  {reply(`{"requestId": "id-2", "status": "success", "fragment": {}}`, nil), malformed},
		"a list":           {reply(`[1]`, nil), malformed},
		"nested too deep":  {reply(`{"requestId": "id-1", "status": "success", "fragment": `+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`, nil), malformed},
		"no function":      {reply("", &lambda.RefusedError{Status: 404, Code: "ResourceNotFoundException", Message: "Function not found: f"}), "Transform 123456789012::M failed with: Function not found: f"},
		"a broken process": {reply("", errors.New("the process ended")), "Transform 123456789012::M failed with: the process ended"},
		"a time-out": {func(ctx context.Context, _ string, _ []byte, _ []string) (lambda.Result, error) {
			<-ctx.Done()
			return lambda.Result{}, context.Cause(ctx)
		}, "Transform 123456789012::M failed with: the function f did not respond within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := expand(t, with(t, test.answer), using)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

func TestUnknownMacros(t *testing.T) {
	m := with(t, reply(`{}`, nil))
	for _, name := range []string{"Other", "AWS::Nothing"} {
		if _, err := m.For(caller).Transform(t.Context(), template.MacroCall{Name: name}); !errors.Is(err, template.ErrNoMacro) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := caller
	other.Region = "eu-west-2"
	if _, err := m.For(other).Transform(t.Context(), template.MacroCall{Name: "M"}); !errors.Is(err, template.ErrNoMacro) {
		t.Errorf("in another region: %v", err)
	}
	if err := m.Create(t.Context(), caller.Place, Macro{Name: "M"}); err == nil {
		t.Error("two macros have a name")
	}
}

const serverless = `
Transform: AWS::Serverless-2016-10-31
Parameters: {Stage: {Type: String, Default: prod}}
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties: {Runtime: python3.12, Handler: app.handler, InlineCode: "def handler(e, c): pass", Policies: [AmazonS3ReadOnlyAccess], Environment: {Variables: {STAGE: !Ref Stage}}}
`

// TestServerless translates with the real translator.
func TestServerless(t *testing.T) {
	python := os.Getenv("FORMWORK_TEST_SAM_PYTHON")
	if python == "" {
		python = "python3"
	}
	if exec.Command(python, "-c", "import samtranslator").Run() != nil {
		t.Skip("aws-sam-translator is not installed: python3 -m pip install aws-sam-translator, or FORMWORK_TEST_SAM_PYTHON=PYTHON")
	}
	m := with(t, nil)
	m.config.Translator = Translator{Python: python, Environ: os.Environ(), Dir: t.TempDir()}
	got, err := expand(t, m, serverless)
	if err != nil {
		t.Fatal(err)
	}
	var processed struct {
		Transform any
		Resources map[string]struct {
			Type       string
			Properties map[string]any
		}
	}
	if err := json.Unmarshal([]byte(got), &processed); err != nil {
		t.Fatal(err)
	}
	role := processed.Resources["FRole"]
	if processed.Transform != nil || processed.Resources["F"].Type != "AWS::Lambda::Function" || role.Type != "AWS::IAM::Role" {
		t.Errorf("processed: %s", got)
	}
	if !strings.Contains(got, "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess") {
		t.Errorf("the managed policy is not resolved: %v", role.Properties)
	}
	_, err = expand(t, m, strings.Replace(serverless, "Handler: app.handler, ", "Handler: app.handler, PackageType: Nope, ", 1))
	const want = "Transform AWS::Serverless-2016-10-31 failed with: Invalid Serverless Application Specification document. Number of errors found: 1. Resource with id [F] is invalid."
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestServerlessWithoutTranslator says how to get it; other failures of Python are bounded.
func TestServerlessWithoutTranslator(t *testing.T) {
	script := func(text string) string {
		path := filepath.Join(t.TempDir(), "python3")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no /bin/sh")
	}
	for name, test := range map[string]struct{ python, want string }{
		"not there":        {"no-such-python", "which needs Python 3 in the PATH; install it with: python3 -m pip install aws-sam-translator"},
		"without it":       {script("exit 3"), "does not have aws-sam-translator, which is required for AWS::Serverless; install it with: python3 -m pip install aws-sam-translator"},
		"broken":           {script("echo no memory >&2; exit 1"), "the translator failed: exit status 1: no memory"},
		"too slow":         {script("exec sleep 60"), "the translator did not finish within 1s"},
		"prints no end":    {script("exec head -c 8000000 /dev/zero"), "the translator's result is larger than 6291456 bytes"},
		"prints something": {script("echo hello"), "Received malformed response from transform AWS::Serverless-2016-10-31"},
	} {
		t.Run(name, func(t *testing.T) {
			m := with(t, nil)
			m.config.Translator = Translator{Python: test.python, Environ: os.Environ(), Dir: t.TempDir(), Timeout: time.Second}
			if name != "too slow" {
				m.config.Translator.Timeout = 20 * time.Second
			}
			if _, err := expand(t, m, serverless); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}
