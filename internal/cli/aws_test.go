package cli

import (
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// awsCommand is the command of scripts that stands for AWS:
//
//	aws start			starts it, in a region eu-west-1 with credentials
//	aws set NAME=VALUE…		sets a field: product, polls, publisher, and why a
//					registration, tests or a stack fail
//	aws fail OPERATION[@REGION] TIMES CODE MESSAGE	0 times is always
//	aws type KIND NAME VERSIONS	registers a type
//	aws bucket NAME			makes a bucket
//	aws log GROUP AGE MESSAGE	logs a message of that age
//	aws calls OPERATION…		compares the calls since the last time
//	aws sent OPERATION NAME=VALUE…	compares what the last such call has sent
func awsCommand() func(*testscript.TestScript, bool, []string) {
	var mu sync.Mutex
	running := map[*testscript.TestScript]*awsScript{}
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) == 0 {
			ts.Fatalf("usage: aws VERB ARGS…")
		}
		mu.Lock()
		a := running[ts]
		if args[0] == "start" {
			a = &awsScript{AWS: fixtures.NewAWS(deferrer{ts: ts})}
			running[ts] = a
			for _, entry := range a.Environ() {
				name, value, _ := strings.Cut(entry, "=")
				ts.Setenv(name, value)
			}
		}
		mu.Unlock()
		if a == nil {
			ts.Fatalf("aws start comes first")
		}
		a.run(ts, args[0], args[1:])
	}
}

// deferrer is as much of a test as the stand-in needs of a script.
type deferrer struct {
	testing.TB
	ts *testscript.TestScript
}

func (d deferrer) Cleanup(f func()) { d.ts.Defer(f) }

type awsScript struct {
	*fixtures.AWS
	seen int // calls that were compared
}

func (a *awsScript) run(ts *testscript.TestScript, verb string, args []string) {
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		ts.Check(err)
		return n
	}
	switch verb {
	case "start":
	case "set":
		for _, arg := range args {
			name, value, _ := strings.Cut(arg, "=")
			field := map[string]*string{
				"product": &a.Product, "publisher": &a.Publisher, "registration": &a.RegistrationReason, "tests": &a.TestReason, "stack": &a.StackReason,
			}[name]
			a.Change(func() {
				if name == "polls" {
					a.Polls = number(value)
				} else {
					*field = value
				}
			})
		}
	case "fail":
		a.Fail(fixtures.AWSFailure{Operation: args[0], Times: number(args[1]), Code: args[2], Message: args[3]})
	case "type":
		a.Type("eu-west-1", args[0], args[1], number(args[2]))
	case "bucket":
		a.Bucket(args[0])
	case "log":
		age, err := time.ParseDuration(args[1])
		ts.Check(err)
		a.Log(args[0], fixtures.AWSLogEvent{ID: args[2], Stream: "stream", Message: args[2] + "\n", Time: time.Now().Add(-age)})
	case "calls":
		var got []string
		for _, c := range a.Calls()[a.seen:] {
			got = append(got, c.Operation)
		}
		a.seen += len(got)
		if got = slices.Compact(got); !slices.Equal(got, args) {
			ts.Fatalf("the calls are %s", strings.Join(got, " "))
		}
	case "sent":
		calls := a.Calls(args[0])
		if len(calls) == 0 {
			ts.Fatalf("there was no call of %s", args[0])
		}
		sent(ts, calls[len(calls)-1].Values, args[1:])
	default:
		ts.Fatalf("aws %s is not known", verb)
	}
}

func sent(ts *testscript.TestScript, values url.Values, want []string) {
	for _, arg := range want {
		name, value, _ := strings.Cut(arg, "=")
		if got := values.Get(name); got != value {
			ts.Fatalf("%s is %q, want %q", name, got, value)
		}
	}
}

// stepWriter calls a function when a text has been written.
type stepWriter struct {
	strings.Builder
	mu   sync.Mutex
	text string
	then func()
}

func (w *stepWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.Builder.Write(p)
	if w.then != nil && strings.Contains(w.String(), w.text) {
		w.then()
		w.then = nil
	}
	return n, err
}

// moduleProject is a project that needs no build, in an environment with a stand-in.
func moduleProject(t *testing.T) (*fixtures.AWS, Env) {
	t.Helper()
	a := fixtures.NewAWS(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "fragments"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".rpdk-config":     `{"artifact_type": "MODULE", "typeName": "Acme::Foo::Bar::MODULE", "settings": {"protocolVersion": "2.0.0"}}`,
		"fragments/a.json": `{"Resources": {"Bucket": {"Type": "AWS::S3::Bucket"}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ := append(os.Environ(), a.Environ()...)
	for _, entry := range a.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
	return a, Env{Stdin: strings.NewReader(""), Environ: environ, Dir: dir, Version: "1.2.3"}
}

// Ctrl-C ends the waiting, not the registration.
func TestInterruptedSubmit(t *testing.T) {
	a, env := moduleProject(t)
	a.Polls = 1 << 30
	a.Bucket("mine")
	ctx, cancel := context.WithCancel(t.Context())
	var errs strings.Builder
	env.Stdout, env.Stderr = &stepWriter{text: "Waiting for registration with token 'token-1' to complete.\n", then: cancel}, &errs
	code := Main(ctx, env, []string{"submit", "--s3-bucket", "mine"})
	want := "the registration continues in eu-west-1; to see its result, run: cfn types registrations token-1 --wait --region eu-west-1\ninterrupted\n"
	if code != exitInterrupted || errs.String() != want {
		t.Errorf("code %d, stderr %q", code, errs.String())
	}
	if n := len(a.Calls("RegisterType")); n != 1 {
		t.Errorf("%d registrations", n)
	}
}

// Ctrl-C is how one leaves cfn logs --follow.
func TestInterruptedLogs(t *testing.T) {
	a, env := moduleProject(t)
	a.Log("g", fixtures.AWSLogEvent{ID: "1", Message: "hello", Time: time.Now()})
	ctx, cancel := context.WithCancel(t.Context())
	var errs strings.Builder
	out := &stepWriter{text: "hello", then: cancel}
	env.Stdout, env.Stderr = out, &errs
	code := Main(ctx, env, []string{"logs", "Acme::Foo::Bar", "--type", "RESOURCE", "--log-group-name", "g", "--follow"})
	if code != 0 || errs.String() != "" || strings.Count(out.String(), "hello\n") != 1 {
		t.Errorf("code %d, stdout %q, stderr %q", code, out.String(), errs.String())
	}
}

// On a terminal there is a line of what goes on, which is wiped in the end.
func TestProgressOnATerminal(t *testing.T) {
	registering := []string{"creating the stack CloudFormationManagedUploadInfrastructure", "uploading 1 KiB to managed-upload-eu-west-1", "IN_PROGRESS  Deployment is currently in VALIDATION_STAGE"}
	for command, parts := range map[string][]string{
		"submit":                       registering,
		"publish --accept-terms --yes": append([]string{"planning", "registering the publisher", "testing  IN_PROGRESS", "publishing"}, registering...),
	} {
		a, env := moduleProject(t)
		a.Polls = 1
		var out, errs strings.Builder
		env.Stdout, env.Stderr, env.Terminal = &out, &errs, Terminal{Stderr: true}
		env.Environ = append(env.Environ, "TERM=xterm")
		if code := Main(t.Context(), env, strings.Fields(command)); code != 0 {
			t.Fatalf("%s: code %d: %s", command, code, errs.String())
		}
		for _, part := range parts {
			if !strings.Contains(errs.String(), part) {
				t.Errorf("%s: the terminal lacks %q:\n%q", command, part, errs.String())
			}
		}
		if !strings.HasSuffix(errs.String(), "\r\x1b[K") || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: stdout %q, stderr %q", command, out.String(), errs.String())
		}
	}
}

// What would be lost for others asks first, where somebody can answer.
func TestConfirmations(t *testing.T) {
	for answer, want := range map[string]int{"y\n": 0, "YES\n": 0, "n\n": 1, "\n": 1, "": 1} {
		a, env := moduleProject(t)
		a.Type("eu-west-1", "MODULE", "Acme::Foo::Bar::MODULE", 2)
		var out, errs strings.Builder
		env.Stdin, env.Stdout, env.Stderr, env.Terminal = strings.NewReader(answer), &out, &errs, Terminal{Stdin: true, Stderr: true}
		code := Main(t.Context(), env, []string{"types", "deregister", "--all"})
		if code != want || len(a.Calls("DeregisterType")) != map[int]int{0: 2, 1: 0}[want] || !strings.Contains(errs.String(), "Deregister Acme::Foo::Bar::MODULE and all its versions in eu-west-1? (y/N) ") {
			t.Errorf("%q: code %d, stderr %q", answer, code, errs.String())
		}
	}
	a, env := moduleProject(t)
	a.Type("eu-west-1", "MODULE", "Acme::Foo::Bar::MODULE", 2)
	stdin, typing := io.Pipe()
	defer typing.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	errs := &stepWriter{text: "(y/N)", then: cancel}
	env.Stdin, env.Stdout, env.Stderr, env.Terminal = stdin, &out, errs, Terminal{Stdin: true, Stderr: true}
	if code := Main(ctx, env, []string{"types", "deregister", "--all"}); code != exitInterrupted || len(a.Calls("DeregisterType")) > 0 {
		t.Errorf("interrupted: code %d, stderr %q", code, errs.String())
	}
}

func TestPythonQuote(t *testing.T) {
	for text, want := range map[string]string{"plain": `'plain'`, "it's": `"it's"`, `it's "it"`: `'it\'s "it"'`, "a\\b\nc": `'a\\b\nc'`} {
		if got := pythonQuote(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
