//go:build unix

package handlers_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"go.uber.org/goleak"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/logs"
)

// The test binary doubles as a handler, and as a program that has a pool and is killed.
const roleVar = "TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "handler":
		awslambda.Start(func(_ context.Context, event map[string]any) (any, error) {
			return map[string]any{"status": "SUCCESS", "pid": os.Getpid(), "event": event}, nil
		})
	case "server":
		serveUntilKilled()
	case "hostile":
		serveHostile()
	case "hostile server":
		serveHostileUntilKilled()
	case "refused":
		serveRefused()
	default:
		// The clock of the patterns in schemas ends by itself, some time after the last of them.
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
	}
}

const (
	account, region = "111122223333", "eu-central-1"
	typeName        = "Acme::Test::Thing"
)

const thingSchema = `{
	"typeName": "Acme::Test::Thing", "description": "A thing", "additionalProperties": false,
	"properties": {"Name": {"type": "string"}, "Password": {"type": "string"}, "Do": {"type": "string"}},
	"typeConfiguration": {"properties": {"ApiKey": {"type": "string"}}, "additionalProperties": false},
	"primaryIdentifier": ["/properties/Name"], "createOnlyProperties": ["/properties/Name"],
	"writeOnlyProperties": ["/properties/Password"], "tagging": {"taggable": false},
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}}
}`

// pack makes a package of a resource type with these files as its code.
func pack(t testing.TB, runtime, entrypoint string, code map[string]string) []byte {
	t.Helper()
	settings := fmt.Sprintf(`{"artifact_type": "RESOURCE", "typeName": %q, "runtime": %q, "entrypoint": %q, "settings": {"protocolVersion": "2.0.0"}}`, typeName, runtime, entrypoint)
	return zipped(t, map[string]string{
		".rpdk-config": settings, "schema.json": thingSchema, "ResourceProvider.zip": string(zipped(t, code)),
	})
}

func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(0o755)
		f, err := w.CreateHeader(header)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A bench is a pool with what it needs.
type bench struct {
	*handlers.Pool
	store *store.Store
	sink  *sink
	dir   string
}

func newBench(t testing.TB, change func(*handlers.Config)) *bench {
	t.Helper()
	return benchAt(t, store.Config{Dir: t.TempDir()}, change)
}

func benchAt(t testing.TB, place store.Config, change func(*handlers.Config)) *bench {
	t.Helper()
	s, err := store.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{store: s, sink: &sink{}, dir: t.TempDir()}
	config := handlers.Config{Store: s, Dir: b.dir, Logs: b.sink.Append}
	if change != nil {
		change(&config)
	}
	b.Pool = handlers.New(config)
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// put stores a package and names its handler.
func (b *bench) put(t testing.TB, data []byte) bundle.Spec {
	t.Helper()
	blob, err := b.store.Blobs().Put(t.Context(), bytes.NewReader(data), 0)
	if err != nil {
		t.Fatal(err)
	}
	return bundle.Spec{Place: awswire.Place{Account: account, Region: region}, Kind: schema.Resource, TypeName: typeName, Version: "00000001", Package: blob.Hash}
}

func (b *bench) function(t testing.TB, spec bundle.Spec) *handlers.Function {
	t.Helper()
	f, err := b.Function(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// invocations are the calls that a query finds at the place of the bench, whole.
func (b *bench) invocations(t testing.TB, q handlers.InvocationQuery) []handlers.Invocation {
	t.Helper()
	q.Account, q.Region = account, region
	list, err := b.Invocations(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if list[i].Request != "" || list[i].Reply != "" {
			t.Errorf("a list has the texts of %s", list[i].ID)
		}
		whole, err := b.Invocation(t.Context(), awswire.Place{Account: account, Region: region}, list[i].ID)
		if err != nil || whole == nil {
			t.Fatalf("%s of the list is not there: %v", list[i].ID, err)
		}
		list[i] = *whole
	}
	return list
}

// python makes a handler whose module is the text.
func (b *bench) python(t testing.TB, text string) bundle.Spec {
	t.Helper()
	needs(t, "python3")
	return b.put(t, pack(t, "python3.11", "app.handler", map[string]string{"app.py": text}))
}

func needs(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("skipped: %v", err)
	}
}

// A sink keeps lines by group and stream.
type sink struct {
	mu      sync.Mutex
	streams map[[4]string][]logs.Line
}

func (s *sink) Append(_ context.Context, place awswire.Place, group, stream string, lines []logs.Line) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams == nil {
		s.streams = map[[4]string][]logs.Line{}
	}
	key := [4]string{place.Account, place.Region, group, stream}
	s.streams[key] = append(s.streams[key], lines...)
	return nil
}

// text is everything that was logged.
func (b *bench) text(t testing.TB) string {
	t.Helper()
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.sink.mu.Lock()
	defer b.sink.mu.Unlock()
	var out strings.Builder
	for _, lines := range b.sink.streams {
		for _, line := range lines {
			out.WriteString(line.Text + "\n")
		}
	}
	return out.String()
}

// alive reports whether a process runs. One that has ended and that nobody has waited for
// does not: orphans become children of this process.
func alive(pid string) bool {
	if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
		if _, state, found := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " "); found && (state[0] == 'Z' || state[0] == 'X') {
			return false
		}
	}
	return exec.Command("kill", "-0", pid).Run() == nil
}

// TestExtensions calls the handlers of packages that others have made.
func TestExtensions(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	dir := fixtures.Dir(t, "extensions")
	b := newBench(t, nil)
	for _, test := range []struct {
		file     string
		kind     schema.Kind
		typeName string
		action   invoke.Action
		status   string
		message  string
		err      bool
	}{
		{"localstack-testing-deployableresource", schema.Resource, "LocalStack::Testing::DeployableResource", invoke.Create, "SUCCESS", "", false},
		{"localstack-testing-deployableresource", schema.Resource, "LocalStack::Testing::DeployableResource", invoke.Update, "SUCCESS", "", false},
		{"localstack-testing-deployableresource", schema.Resource, "LocalStack::Testing::DeployableResource", invoke.Read, "", "", true}, // answers null
		{"localstack-testing-testresource", schema.Resource, "LocalStack::Testing::TestResource", invoke.Create, "", "", true},           // prints, answers null
		{"localstack-testing-deployablehook", schema.Hook, "LocalStack::Testing::DeployableHook", invoke.CreatePreProvision, "FAILED", "Intentional fail", false},
		{"localstack-testing-deployablehook", schema.Hook, "LocalStack::Testing::DeployableHook", invoke.DeletePreProvision, "SUCCESS", "", false},
		{"localstack-testing-testhook", schema.Hook, "LocalStack::Testing::TestHook", invoke.CreatePreProvision, "FAILED", "", false}, // answers as a resource would
	} {
		data, err := os.ReadFile(filepath.Join(dir, test.file+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		spec := b.put(t, data)
		spec.Kind, spec.TypeName = test.kind, test.typeName
		if err := b.Probe(t.Context(), spec); err != nil {
			t.Errorf("%s: %v", test.file, err)
			continue
		}
		runner := invoke.New(invoke.Config{Function: b.function(t, spec), Region: region, AccountID: account})
		request := invoke.Request{Action: test.action, TypeName: test.typeName, Model: map[string]any{"Name": "x"}}
		if test.kind == schema.Hook {
			request.Model = nil
			request.Target.Name, request.Target.Type = "AWS::S3::Bucket", "RESOURCE"
		}
		event, err := runner.Run(t.Context(), request)
		if test.err {
			var protocol *invoke.ProtocolError
			if !errors.As(err, &protocol) {
				t.Errorf("%s %s: %v %v", test.file, test.action, event, err)
			}
			continue
		}
		if err != nil || string(event.Status) != test.status || event.Message != test.message {
			t.Errorf("%s %s: %+v %v", test.file, test.action, event, err)
		}
	}
	if text := b.text(t); !strings.Contains(text, "\nCREATE\n") || !strings.Contains(text, "the runtime is python3.9, and is run by") && !strings.Contains(pythonVersion(t), "3.9") {
		t.Errorf("logged %s", text)
	}
}

func pythonVersion(t *testing.T) string {
	out, err := exec.Command("python3", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestRuntimes calls a handler of each kind, and looks at what it is told.
func TestRuntimes(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	names := `["AWS_ENDPOINT_URL","AWS_ACCESS_KEY_ID","AWS_SECRET_ACCESS_KEY","AWS_REGION","AWS_LAMBDA_FUNCTION_NAME","AWS_LAMBDA_LOG_GROUP_NAME"]`
	for _, test := range []struct {
		program, runtime, entrypoint string
		code                         map[string]string
		want                         string
	}{
		{"sh", "provided.al2023", "bootstrap", map[string]string{"bootstrap": "#!/bin/sh\n" + roleVar + "=handler exec '" + self + "'\n"}, `"status":"SUCCESS"`},
		{"sh", "go1.x", "bin/main", map[string]string{"bin/main": "#!/bin/sh\n" + roleVar + "=handler exec '" + self + "'\n"}, `"status":"SUCCESS"`},
		{"python3", "python3.11", "pkg.app.handler", map[string]string{"pkg/app.py": "import os\ndef handler(e, c): return [os.environ.get(n) for n in " + names + "]"},
			`["http://127.0.0.1:4566", "111122223333", "` + lambda.DummySecret + `", "eu-central-1", "Acme-Test-Thing", "things"]`},
		{"node", "nodejs20.x", "dist/app.handler", map[string]string{"dist/app.js": "exports.handler = async () => " + names + ".map((n) => process.env[n])"},
			`["http://127.0.0.1:4566","111122223333","` + lambda.DummySecret + `","eu-central-1","Acme-Test-Thing","things"]`},
	} {
		t.Run(test.runtime, func(t *testing.T) {
			needs(t, test.program)
			b := newBench(t, func(c *handlers.Config) { c.Endpoint = func() string { return "http://127.0.0.1:4566" } })
			spec := b.put(t, pack(t, test.runtime, test.entrypoint, test.code))
			spec.LogGroup = "things"
			reply, err := b.function(t, spec).Call(t.Context(), []byte(`{"action":"READ"}`))
			if err != nil || !strings.Contains(string(reply), test.want) {
				t.Errorf("%s %v", reply, err)
			}
		})
	}
}

// TestStartsOnce has many callers come at once.
func TestStartsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *handlers.Config) { c.MaxProcesses = 2 })
	f := b.function(t, b.python(t, "import os\ndef handler(e, c): return [e, os.getpid()]"))
	var calls sync.WaitGroup
	var mu sync.Mutex
	pids := map[string]bool{}
	for i := range 20 {
		calls.Go(func() {
			reply, err := f.Call(t.Context(), fmt.Appendf(nil, "%d", i))
			mu.Lock()
			defer mu.Unlock()
			number, pid, _ := strings.Cut(strings.Trim(string(reply), "[]"), ", ")
			if err != nil || number != fmt.Sprint(i) {
				t.Errorf("call %d: %s %v", i, reply, err)
			}
			pids[pid] = true
		})
	}
	calls.Wait()
	if len(pids) > 2 {
		t.Errorf("%d processes", len(pids))
	}
	entries, err := os.ReadDir(filepath.Join(b.dir, "packages"))
	if err != nil || len(entries) != 1 {
		t.Errorf("unpacked: %v %v", entries, err)
	}
}

// TestEnds ends processes that are idle, and those of types that are gone, and starts them
// again when they are called.
func TestEnds(t *testing.T) {
	t.Parallel()
	const pid = "import os\ndef handler(e, c): return os.getpid()"
	t.Run("idle", func(t *testing.T) {
		b := newBench(t, func(c *handlers.Config) { c.IdleTimeout = 50 * time.Millisecond })
		f := b.function(t, b.python(t, pid))
		first, err := f.Call(t.Context(), []byte("1"))
		if err != nil {
			t.Fatal(err)
		}
		fixtures.Await(t, "the end of an idle process", func() bool { return !alive(string(first)) })
		if second, err := f.Call(t.Context(), []byte("1")); err != nil || bytes.Equal(first, second) {
			t.Errorf("%s, then %s: %v", first, second, err)
		}
	})
	t.Run("removed", func(t *testing.T) {
		b := newBench(t, nil)
		spec := b.python(t, "import os, time\ndef handler(e, c):\n    print('busy', flush=True)\n    time.sleep(e)\n    return os.getpid()")
		f := b.function(t, spec)
		reply := make(chan string)
		go func() {
			text, err := f.Call(t.Context(), []byte("0.5"))
			reply <- fmt.Sprint(string(text), err)
		}()
		fixtures.Await(t, "a call", func() bool { return strings.Contains(b.text(t), "busy") })
		other := spec
		other.Version = "00000002"
		b.Remove(other)
		b.Remove(bundle.Spec{Place: awswire.Place{Account: account, Region: region}, Kind: schema.Resource, TypeName: typeName})
		got := <-reply
		pid, ok := strings.CutSuffix(got, "<nil>")
		if !ok {
			t.Fatal(got)
		}
		fixtures.Await(t, "the end of a removed handler", func() bool { return !alive(pid) })
	})
	t.Run("evicted", func(t *testing.T) {
		b := newBench(t, func(c *handlers.Config) { c.MaxFunctions = 2 })
		spec := b.python(t, pid)
		var pids []string
		for i := range 3 {
			spec.Version = fmt.Sprintf("%08d", i+1)
			reply, err := b.function(t, spec).Call(t.Context(), []byte("1"))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, string(reply))
		}
		fixtures.Await(t, "the end of the oldest handler", func() bool { return !alive(pids[0]) })
		if !alive(pids[1]) || !alive(pids[2]) {
			t.Error("a younger handler has ended")
		}
	})
	t.Run("all busy", func(t *testing.T) {
		b := newBench(t, func(c *handlers.Config) { c.MaxFunctions = 1 })
		spec := b.python(t, "import time\ndef handler(e, c):\n    print('busy', flush=True)\n    time.sleep(e)")
		other := spec
		other.Version = "00000002"
		var calls sync.WaitGroup
		calls.Go(func() {
			if _, err := b.function(t, spec).Call(t.Context(), []byte("0.4")); err != nil {
				t.Error(err)
			}
		})
		fixtures.Await(t, "a call", func() bool { return strings.Contains(b.text(t), "busy") })
		ctx, cancel := context.WithCancelCause(t.Context())
		impatient := errors.New("impatient")
		cancel(impatient)
		if _, err := b.function(t, other).Call(ctx, []byte("0")); !errors.Is(err, impatient) {
			t.Errorf("an impatient caller: %v", err)
		}
		if _, err := b.function(t, other).Call(t.Context(), []byte("0")); err != nil {
			t.Errorf("a patient caller: %v", err)
		}
		calls.Wait()
	})
	t.Run("closed", func(t *testing.T) {
		b := newBench(t, nil)
		spec := b.python(t, "import os, time\ndef handler(e, c):\n    print('pid', os.getpid(), flush=True)\n    time.sleep(60)")
		f := b.function(t, spec)
		failed := make(chan error)
		go func() {
			_, err := f.Call(t.Context(), []byte("1"))
			failed <- err
		}()
		pid := ""
		fixtures.Await(t, "a call", func() bool {
			_, after, _ := strings.Cut(b.text(t), "pid ")
			pid, _, _ = strings.Cut(after, "\n")
			return pid != ""
		})
		b.Remove(spec) // it leaves while it is in use
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; !errors.Is(err, lambda.ErrClosed) {
			t.Errorf("the call: %v", err)
		}
		if alive(pid) {
			t.Error("a process is left")
		}
		if _, err := f.Call(t.Context(), []byte("1")); !errors.Is(err, handlers.ErrClosed) || !errors.Is(err, context.Canceled) {
			t.Errorf("a later call: %v", err)
		}
		if _, err := b.Function(t.Context(), spec); !errors.Is(err, handlers.ErrClosed) {
			t.Errorf("a later function: %v", err)
		}
	})
}

// TestCrash goes on after a handler that ends itself.
func TestCrash(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	f := b.function(t, b.python(t, "import os, sys\ndef handler(e, c):\n    if e.get('die'):\n        print('dying of', e['requestData']['resourceProperties']['Password'], file=sys.stderr)\n        os._exit(3)\n    return 1"))
	result, err := f.Invoke(t.Context(), []byte(`{"die":true,"requestData":{"resourceProperties":{"Password":"correct horse"}}}`))
	var crash *lambda.CrashError
	if !errors.As(err, &crash) || crash.ExitCode != 3 || !strings.Contains(crash.Output, "dying of <hidden: write-only /Password>") || result.FunctionError != "Unhandled" {
		t.Fatalf("%+v %v", result, err)
	}
	if reply, err := f.Call(t.Context(), []byte(`{}`)); err != nil || string(reply) != "1" {
		t.Errorf("%s %v", reply, err)
	}
}

// TestSecrets lets a handler print what it must not, in several spellings, and looks for
// it everywhere.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			b := benchAt(t, store.Config{Dir: place.Dir, DSN: place.DSN}, nil)
			spec := b.python(t, `
import base64, json, sys
def handler(e, c):
    data = e["requestData"]
    model = data["resourceProperties"]
    print(json.dumps(e))
    print("the password is", model["Password"], "or", base64.b64encode(model["Password"].encode()).decode())
    print(data["typeConfiguration"], data["callerCredentials"], file=sys.stderr)
    sys.stdout.write("no end of line " + model["Password"])
    if model["Do"] == "fail":
        raise RuntimeError("cannot use " + model["Password"])
    return {"status": "SUCCESS", "message": "with " + model["Password"], "resourceModel": model}
`)
			f := b.function(t, spec)
			runner := invoke.New(invoke.Config{Function: f, Credentials: credentials{}, Region: region, AccountID: account})
			for _, do := range []string{"work", "fail"} {
				_, err := runner.Run(t.Context(), invoke.Request{
					Action: invoke.Create, TypeName: typeName,
					Model:             map[string]any{"Name": "visible", "Password": "p4ss \"wörd\" 🔑", "Do": do},
					TypeConfiguration: map[string]any{"ApiKey": "config-token-1234"},
					Token:             "token-of-" + do, StackID: "arn:aws:cloudformation:us-east-1:000000000000:stack/s/1", LogicalID: "Thing",
				})
				if (err != nil) != (do == "fail") {
					t.Fatal(err)
				}
				if err != nil && (strings.Contains(err.Error(), "p4ss") || !strings.Contains(err.Error(), "cannot use <hidden: write-only /Password>")) {
					t.Errorf("the error is %v", err)
				}
			}
			logged := b.text(t)
			for _, want := range []string{"INIT_START Type: Acme::Test::Thing Version: 00000001\n", "visible", "the password is <hidden: write-only /Password> or <hidden: write-only /Password>", "no end of line <hidden: write-only /Password>\nEND RequestId: ", "START RequestId: "} {
				if !strings.Contains(logged, want) {
					t.Errorf("no %q in the log:\n%s", want, logged)
				}
			}
			list := b.invocations(t, handlers.InvocationQuery{Kind: schema.Resource, TypeName: typeName, Version: spec.Version, Limit: 10})
			if len(list) != 2 {
				t.Fatalf("%d invocations", len(list))
			}
			failed, worked := list[0], list[1]
			if worked.Status != "SUCCESS" || worked.Action != "CREATE" || worked.Duration <= 0 || worked.Error != "" || !strings.Contains(worked.Request, "visible") ||
				!strings.Contains(worked.Reply, "with <hidden: write-only /Password>") || !strings.HasPrefix(worked.LogGroup, "/aws/lambda/Acme-Test-Thing") || !strings.Contains(worked.LogStream, "[$LATEST]") {
				t.Errorf("recorded %+v", worked)
			}
			if worked.Token != "token-of-work" || worked.LogicalID != "Thing" || !strings.HasSuffix(worked.StackID, "stack/s/1") || worked.Identifier != "visible" || failed.Token != "token-of-fail" {
				t.Errorf("recorded as a call of %q on %q, %q of %q", worked.Token, worked.Identifier, worked.LogicalID, worked.StackID)
			}
			if failed.Status != "ERROR" || failed.Reply != "" || !strings.Contains(failed.Error, "cannot use <hidden: write-only /Password>") {
				t.Errorf("recorded %+v", failed)
			}
			for _, secret := range []string{"p4ss", base64.StdEncoding.EncodeToString([]byte("p4ss"))[:5], "config-token", "wJalrXUtnFEMI"} {
				if text := fmt.Sprint(logged, list); strings.Contains(text, secret) {
					t.Errorf("%q shows in %s", secret, text)
				}
			}
		})
	}
}

type credentials struct{}

func (credentials) Credentials(context.Context) (invoke.Credentials, error) {
	return invoke.Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", SessionToken: "session-token-of-the-caller"}, nil
}

// TestOutput carries what is hard to carry.
func TestOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	spec := b.python(t, `
import sys
def handler(e, c):
    sys.stdout.buffer.write(b"carriage\r\nnul\0byte\nbroken\xff\xfeutf8\n")
    print("x" * 1000000 + "tail")
    for i in range(e):
        print("line", i)
`)
	f := b.function(t, spec)
	if _, err := f.Call(t.Context(), []byte("20000")); err != nil {
		t.Fatal(err)
	}
	b.text(t)
	b.sink.mu.Lock()
	defer b.sink.mu.Unlock()
	if len(b.sink.streams) != 1 {
		t.Fatalf("%d streams", len(b.sink.streams))
	}
	for key, lines := range b.sink.streams {
		if key[0] != account || key[1] != region || key[2] != "/aws/lambda/Acme-Test-Thing" || !strings.HasPrefix(key[3], time.Now().UTC().Format("2006/01/")) {
			t.Errorf("stream %q", key)
		}
		var texts []string
		for _, line := range lines {
			texts = append(texts, line.Text)
		}
		first := slices.Index(texts, "carriage")
		if first < 1 || !strings.HasPrefix(texts[first-1], "START ") || texts[first+1] != "nul\uFFFDbyte" || texts[first+2] != "broken\uFFFDutf8" {
			t.Errorf("the first lines are %q", texts[:min(len(texts), 5)])
		}
		long := texts[first+3]
		if !strings.HasSuffix(long, " [the rest of the line is left out]") || len(long) < 200_000 || len(long) > 256_000 {
			t.Errorf("the long line has %d bytes and ends in %q", len(long), long[max(0, len(long)-40):])
		}
		for i := range 20000 {
			if got := texts[first+4+i]; got != fmt.Sprint("line ", i) {
				t.Fatalf("line %d is %q", i, got)
			}
		}
		if !strings.HasPrefix(texts[len(texts)-1], "REPORT ") {
			t.Errorf("the last line is %q", texts[len(texts)-1])
		}
	}
}

// TestKeepsFewInvocations keeps the last ones, within their age.
func TestKeepsFewInvocations(t *testing.T) {
	t.Parallel()
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			var mu sync.Mutex
			clock := func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				now = now.Add(time.Millisecond)
				return now
			}
			b := benchAt(t, store.Config{Dir: place.Dir, DSN: place.DSN}, func(c *handlers.Config) {
				c.KeepInvocations, c.KeepFor, c.Now, c.IdleTimeout = 30, time.Hour, clock, 1000*time.Hour
			})
			spec := b.python(t, "def handler(e, c): return {'status': 'IN_PROGRESS', 'n': e}")
			f := b.function(t, spec)
			count := func() []handlers.Invocation {
				if err := b.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				return b.invocations(t, handlers.InvocationQuery{TypeName: typeName, Limit: 1000})
			}
			for i := range 450 {
				if _, err := f.Call(t.Context(), fmt.Append(nil, i)); err != nil {
					t.Fatal(err)
				}
			}
			if list := count(); len(list) < 30 || len(list) > 300 || list[0].Status != "IN_PROGRESS" || list[0].Request != "449" {
				t.Errorf("kept %d, the last %+v", len(list), list[0])
			}
			mu.Lock()
			now = now.Add(2 * time.Hour)
			mu.Unlock()
			for range 210 {
				if _, err := f.Call(t.Context(), []byte("1")); err != nil {
					t.Fatal(err)
				}
			}
			for _, i := range count() {
				if i.Request != "1" {
					t.Errorf("%s is left", i.Request)
				}
			}
		})
	}
}

// TestSharedFolder has two pools unpack the same package at once.
func TestSharedFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var calls sync.WaitGroup
	for range 2 {
		b := newBench(t, func(c *handlers.Config) { c.Dir = dir })
		f := b.function(t, b.python(t, "def handler(e, c): return 1"))
		calls.Go(func() {
			if _, err := f.Call(t.Context(), []byte("1")); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	entries, err := os.ReadDir(filepath.Join(dir, "packages"))
	if err != nil || len(entries) != 1 {
		t.Errorf("unpacked: %v %v", entries, err)
	}
}
