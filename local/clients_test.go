package local_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/local"
)

// TestClients takes types through the registry with each of the clients that people use,
// at the same time and each in an account of its own: registers versions, waits, describes,
// lists, configures, invokes, tests, publishes, activates from another account and
// deregisters them, and provokes every error that is documented for these operations.
func TestClients(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the handlers of this test are started by a shell script")
	}
	extensions := fixtures.Dir(t, "extensions")
	t.Parallel()
	url := startWith(t, ownReports(t, local.Config{}))
	packages := map[string][]byte{
		"report-1.zip": nil, "report-2.zip": nil,
		"hook.zip":   readFile(t, filepath.Join(extensions, "localstack-testing-testhook.zip")),
		"module.zip": readFile(t, filepath.Join(extensions, "localstack-testing-testmodule-module.zip")),
	}
	packages["report-1.zip"], packages["report-2.zip"] = reports(t)

	for account, client := range map[string]struct {
		name  string
		check []string // fails where the client is not there
		run   []string // nil for registryWithSDK
	}{
		"111111111111": {"the AWS CLI", []string{"aws", "--version"}, []string{"sh", "registry.sh"}},
		"222222222222": {"boto3", []string{"python3", "-c", "import boto3"}, []string{"python3", "registry.py"}},
		"333333333333": {"aws-sdk-go-v2", nil, nil},
	} {
		t.Run(client.name, func(t *testing.T) {
			if client.check != nil {
				program(t, client.check...)
			}
			program(t, "python3", "-c", "") // the handler of the hook
			t.Parallel()
			p := place{url: url, account: account, second: "9" + account[1:], dir: t.TempDir()}
			for name, data := range packages {
				writeFile(t, filepath.Join(p.dir, name), data)
			}
			writeFile(t, filepath.Join(p.dir, "memo.zip"), memos(t, p.dir))
			for _, name := range []string{"client.sh", "registry.sh", "registry.py", "errors.json", "create.json"} {
				writeFile(t, filepath.Join(p.dir, name), readFile(t, filepath.Join("testdata", name)))
			}
			writeFile(t, filepath.Join(p.dir, "errors.txt"), errorLines(t, errorCases(t, "errors.json")))
			if client.run == nil {
				registryWithSDK(t, p)
				return
			}
			out := p.output(t, client.run...)
			if !strings.HasSuffix(out, "\ndone\n") {
				t.Errorf("the script does not come to its end:\n%s", out)
			}
		})
	}
}

// A place is where a client works: an account, another one to activate types in, and a
// folder with packages.
type place struct{ url, account, second, dir string }

// command is a client in its place.
func (p place) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = p.dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "AWS_ENDPOINT_URL="+p.url, "AWS_ACCESS_KEY_ID="+p.account, "AWS_SECRET_ACCESS_KEY=any", "SECOND_ACCOUNT="+p.second,
		"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull,
		"AWS_PAGER=", "AWS_EC2_METADATA_DISABLED=true", "LC_ALL=C.UTF-8")
	return cmd
}

// output runs a client, which must succeed.
func (p place) output(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.command(t, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// ownReports lets the handlers of the example keep their reports in a folder that all of their
// processes share, apart from those of other tests.
func ownReports(t *testing.T, config local.Config) local.Config {
	t.Helper()
	dir := t.TempDir()
	config.HandlerEnv, config.Mounts = append(config.HandlerEnv, "REPORTS_DIR="+dir), append(config.Mounts, dir+":rw")
	return config
}

// startWith starts a local CloudFormation.
func startWith(t *testing.T, config local.Config) string {
	t.Helper()
	cloud, err := local.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}

// program skips the test where a program does not work, which is a failure under CI=true.
func program(t *testing.T, check ...string) {
	t.Helper()
	command := strings.Join(check, " ")
	found, _ := checkedPrograms.LoadOrStore(command, sync.OnceValue(func() error {
		if check[0] == "aws" {
			if err := poolAWS(); err != nil {
				return err
			}
		}
		if out, err := exec.Command(check[0], check[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}))
	switch err := found.(func() error)(); {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("%s: %v", command, err)
	default:
		t.Skipf("skipped: %s does not work here: %v", command, err)
	}
}

// checkedPrograms has a func() error for each command that program was given: each runs once.
var checkedPrograms sync.Map

// An errorCase is a call that is refused, in the state that the clients bring the registry
// into: two live versions of Initech::TPS::Report, nothing tested, published or activated.
type errorCase struct {
	Operation, Code, Message string
	Input                    json.RawMessage
}

func errorCases(t *testing.T, file string) []errorCase {
	t.Helper()
	var cases []errorCase
	if err := json.Unmarshal(readFile(t, filepath.Join("testdata", file)), &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// errorLines are the first cases of each code as a shell reads them: command, operation,
// code, message and input with tabs between them. The CLI takes half a second for a call;
// the other clients go through all cases.
func errorLines(t *testing.T, cases []errorCase) []byte {
	t.Helper()
	var out bytes.Buffer
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.Code] {
			continue
		}
		seen[c.Code] = true
		var command strings.Builder
		for i, r := range c.Operation {
			if i > 0 && r >= 'A' && r <= 'Z' {
				command.WriteByte('-')
			}
			command.WriteString(strings.ToLower(string(r)))
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\t%s\t%s\n", command.String(), c.Operation, c.Code, c.Message, c.Input)
	}
	return out.Bytes()
}

// reports builds the example and packs it as "cfn package" does, twice: the second edition
// differs in the description.
func reports(t *testing.T) (first, second []byte) {
	t.Helper()
	const example, schemaFile = "../examples/tps-report", "initech-tps-report.json"
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "bin", "bootstrap"), "./cmd")
	build.Dir = example
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	first = packed(t, dir)
	text := readFile(t, filepath.Join(dir, schemaFile))
	edited := bytes.Replace(text, []byte("A TPS report, filed in the archive of the department."), []byte("The second edition."), 1)
	if bytes.Equal(text, edited) {
		t.Fatal("the example has another description: there is no second edition")
	}
	writeFile(t, filepath.Join(dir, schemaFile), edited)
	return first, packed(t, dir)
}

// packed is the package of a project.
func packed(t *testing.T, dir string) []byte {
	t.Helper()
	p, problems, err := project.Open(dir, "")
	if err := errors.Join(err, problems.Err()); err != nil {
		t.Fatal(err)
	}
	s, problems, err := p.Schema(schema.Config{})
	if err := errors.Join(err, problems.Err()); err != nil {
		t.Fatal(err)
	}
	archive, err := p.Archive(t.Context(), project.ArchiveConfig{Version: "0.0.0-test", Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	return archive.Data
}

// memoVar is the folder in which the handler of Initech::TPS::Memo meets the client.
const memoVar = "TEST_LOCAL_MEMOS"

// memos is the package of a type whose handler is TestMemoHandler in this test binary.
func memos(t *testing.T, dir string) []byte {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s='%s' exec '%s' -test.run='^TestMemoHandler$' -test.timeout=5m\n", memoVar, dir, binary)
	code := zipOf(t, "bootstrap", []byte(script))
	return zipOf(t,
		".rpdk-config", []byte(`{"artifact_type": "RESOURCE", "typeName": "Initech::TPS::Memo", "language": "go", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`),
		"schema.json", readFile(t, filepath.Join("testdata", "memo.json")),
		"ResourceProvider.zip", code)
}

// zipOf makes a zip file of executable files, each a string with its name and a []byte.
func zipOf(t *testing.T, files ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		header := &zip.FileHeader{Name: files[i].(string), Method: zip.Deflate}
		header.SetMode(0o755)
		f, err := w.CreateHeader(header)
		if err == nil {
			_, err = f.Write(files[i+1].([]byte))
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

// TestMemoHandler is the handler of Initech::TPS::Memo. It writes the bearer token of its
// first call into a file and answers when the client has made the file "go"; everything
// fails.
func TestMemoHandler(t *testing.T) {
	dir, api := os.Getenv(memoVar), os.Getenv("AWS_LAMBDA_RUNTIME_API")
	if dir == "" || api == "" {
		t.Skip("skipped: this is a handler, which TestClients registers")
	}
	api = "http://" + api + "/2018-06-01/runtime/invocation/"
	for {
		next, err := http.Get(api + "next")
		if err != nil {
			return // the server has ended
		}
		var request struct {
			BearerToken string `json:"bearerToken"`
		}
		err = json.NewDecoder(next.Body).Decode(&request)
		next.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		// By link, so that the file is complete when it is there, and the first call has it.
		own := filepath.Join(dir, "bearer-"+next.Header.Get("Lambda-Runtime-Aws-Request-Id"))
		writeFile(t, own, []byte(request.BearerToken))
		if os.Link(own, filepath.Join(dir, "bearer")) == nil {
			fixtures.Happens(fixtures.Patience, func() bool { return exists(filepath.Join(dir, "go")) })
		}
		answer, err := http.Post(api+next.Header.Get("Lambda-Runtime-Aws-Request-Id")+"/response", "application/json",
			strings.NewReader(`{"status": "FAILED", "errorCode": "InternalFailure", "message": "memos are never filed"}`))
		if err != nil {
			return
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
