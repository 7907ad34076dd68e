package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// A stopped is a command that waits for a service, or for the endpoint of a handler.
type stopped struct {
	command string
	code    int // after Ctrl-C; after SIGTERM it is exitInterrupted
}

// stoppedCommands wait for requests: MODULE and HOOK are folders with such projects.
var stoppedCommands = []stopped{
	{"submit --project MODULE --s3-bucket mine", exitInterrupted},
	{"submit --project MODULE --regions eu-west-1,us-east-1 --s3-bucket mine", exitInterrupted},
	{"publish --project MODULE --yes", exitInterrupted},
	{"deploy t.json --stack-name s --yes", exitInterrupted},
	{"deploy t.json --stack-name s --plan", exitInterrupted},
	{"destroy s --yes", exitInterrupted},
	{"stacks", exitInterrupted},
	{"stack events s", exitInterrupted},
	{"stack events s --follow", exitInterrupted},
	{"stack drift s", exitInterrupted},
	{"stack cancel s", exitInterrupted},
	{"stack continue s", exitInterrupted},
	{"stack rollback s", exitInterrupted},
	{"stack refactor s=t.json --yes", exitInterrupted},
	{"stack resources s", exitInterrupted},
	{"stack outputs s", exitInterrupted},
	{"stack template s", exitInterrupted},
	{"stack permissions t.json --stack s", exitInterrupted},
	{"stack rehearse s", exitInterrupted},
	{"deploy t.json --stack-name s --rehearse", exitInterrupted},
	{"deploy t.json --stack-name s --plan --policy-out p.json", exitInterrupted},
	{"stack refactor s=t.json --yes", exitInterrupted},
	{"stackset list", exitInterrupted},
	{"stackset show s", exitInterrupted},
	{"stackset operations s", exitInterrupted},
	{"stackset results s", exitInterrupted},
	{"stackset deploy t.json --accounts 000000000000 --regions eu-west-1", exitInterrupted},
	{"stackset stop s", exitInterrupted},
	{"stackset destroy s --yes", exitInterrupted},
	{"import t.json --resource W=x --stack-name s --plan", exitInterrupted},
	{"resource get Acme::Foo::Bar x", exitInterrupted},
	{"resource list Acme::Foo::Bar", exitInterrupted},
	{"resource create Acme::Foo::Bar --properties p.json", exitInterrupted},
	{"resource update Acme::Foo::Bar x --patch patch.json", exitInterrupted},
	{"resource delete Acme::Foo::Bar x --yes", exitInterrupted},
	{"resource requests", exitInterrupted},
	{"console", exitInterrupted},
	{"types list", exitInterrupted},
	{"types describe Acme::Foo::Bar", exitInterrupted},
	{"types versions Acme::Foo::Bar", exitInterrupted},
	{"types registrations Acme::Foo::Bar", exitInterrupted},
	{"types registrations 00000000-0000-0000-0000-000000000000 --wait", exitInterrupted},
	{"types default Acme::Foo::Bar 00000001", exitInterrupted},
	{"types configure Acme::Foo::Bar --configuration {}", exitInterrupted},
	{"types activate Acme::Foo::Bar --publisher-id 0123456789abcdef", exitInterrupted},
	{"types deactivate Acme::Foo::Bar", exitInterrupted},
	{"types deregister Acme::Foo::Bar", exitInterrupted},
	{"types import acme-foo-bar.json", exitInterrupted},
	{"types export --registry out", exitInterrupted},
	{"logs function", exitInterrupted},
	{"logs function --follow", exitOK},
	{"invoke --endpoint ENDPOINT resource READ r.json", exitOK},
	{"test --endpoint ENDPOINT", exitInterrupted},
	{"test --in-stack --endpoint-url ENDPOINT", exitInterrupted},
	{"hook try t.json --project HOOK --endpoint ENDPOINT", exitInterrupted},
	{"cr test ENDPOINT/2015-03-31/functions/f/invocations --create p.json", exitInterrupted},
	{"cr invoke ENDPOINT/2015-03-31/functions/f/invocations --create p.json", exitInterrupted},
	{"validate remote.json --allow-remote", exitInterrupted},
}

// stoppedElsewhere are the commands without a row above, with the test that stops them or the
// reason why they end by themselves.
var stoppedElsewhere = map[string]string{
	"serve":        "serve_interrupted.txtar, local TestStopAtWork",
	"start-lambda": "startlambda_serve.txtar, TestCommandsEndHandlers",
	"docs":         "TestDocsServes",
	"stub":         "TestStubServes",
	"stack test":   "TestStops of stacktest",
	"lsp":          "TestServersOfStreamsStop",
	"init":         "TestInterruptedInitLeavesNothing",
	"package":      "TestInterruptedCommand: the build is a program that gets the signal",
	"build-image":  "TestInterruptedCommand, the same",
	"generate":     "bounded files; remote schemas as validate reads them",
	"diff":         "bounded files, and git, which gets the signal",
	"doctor":       "programs that print their versions",
	"env":          "reads files", "explain": "reads nothing", "completion": "reads nothing", "version": "reads nothing",
	"cr init": "writes files", "cr convert": "writes files", "smithy convert": "bounded files", "smithy ast": "bounded files", "smithy validate": "bounded files",
	"drift compare": "bounded files, bounded steps", "template fmt": "bounded files", "template check": "bounded files; with --against as stack template",
	"module expand": "bounded files", "module lock": "bounded files", "module outdated": "bounded files",
}

// TestEveryCommandStops: each command has a row in a table of what stops it, and each row is of a
// command.
func TestEveryCommandStops(t *testing.T) {
	var rows []string
	for _, row := range stoppedCommands {
		rows = append(rows, row.command)
	}
	left := maps.Clone(stoppedElsewhere)
	var walk func(cmd *cobra.Command, path string)
	walk = func(cmd *cobra.Command, path string) {
		has := slices.ContainsFunc(rows, func(row string) bool { return row == path || strings.HasPrefix(row, path+" ") })
		_, elsewhere := left[path]
		delete(left, path)
		switch {
		case cmd.Hidden, path == "completion":
		case cmd.HasSubCommands() && !cmd.Runnable(), cmd.HasSubCommands() && cmd.Annotations["log"] == "none", path == "":
			for _, sub := range cmd.Commands() {
				walk(sub, strings.TrimSpace(path+" "+sub.Name()))
			}
		case !has && !elsewhere:
			t.Errorf("cfn %s: add it to stoppedCommands, or to stoppedElsewhere with a reason", path)
		}
	}
	walk(newRoot(&app{Env: &Env{}}), "")
	for path := range left {
		t.Errorf("stoppedElsewhere has %q, which is not a command", path)
	}
}

// TestCommandsStop stops commands while a service, or the endpoint of a handler, works on a
// request that never ends, also on the one that asks whether it is cfn serve. Each cancels its
// request and exits with the code of its signal.
func TestCommandsStop(t *testing.T) {
	dir := stopProject(t)
	for _, test := range stoppedCommands {
		for _, variant := range []struct {
			name   string
			cause  error
			health bool // /healthz answers
		}{{"SIGINT", nil, true}, {"SIGTERM", errTerminated, true}, {"SIGINT without an answer of /healthz", nil, false}} {
			t.Run(test.command+" "+variant.name, func(t *testing.T) {
				want := test.code
				if variant.cause != nil {
					want = exitInterrupted
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				asked := make(chan struct{}, 100)
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if variant.health && r.URL.Path == "/healthz" {
						_, _ = io.WriteString(w, `{"product": "formwork", "status": "ok"}`)
						return
					}
					_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client is gone
					asked <- struct{}{}
					cancel(variant.cause)
					<-r.Context().Done()
				}))
				defer server.Close() // waits until the request has ended
				remote := strings.Replace(remoteSchema, "URL", server.URL, 1)
				if err := os.WriteFile(filepath.Join(dir, "remote.json"), []byte(remote), 0o600); err != nil {
					t.Fatal(err)
				}
				command := strings.NewReplacer("ENDPOINT", server.URL, "MODULE", filepath.Join(dir, "module"), "HOOK", filepath.Join(dir, "hook")).Replace(test.command)
				code, stderr := stopMain(ctx, t, dir, server.URL, strings.Fields(command), strings.NewReader(""))
				if !variant.health && code == exitInterrupted {
					want = code // before it follows anything, whose end is success
				}
				if code != want || len(asked) == 0 {
					t.Errorf("code %d, not %d; %d requests; stderr %q", code, want, len(asked), stderr)
				}
			})
		}
	}
}

const remoteSchema = `{"typeName": "Aa::Bb::Cc", "description": "d", "additionalProperties": false, "properties": {"Name": {"$ref": "URL/common.json#/definitions/Name"}},
	"primaryIdentifier": ["/properties/Name"], "tagging": {"taggable": false}}`

// TestServersOfStreamsStop stops commands that wait for their standard input, which never ends.
func TestServersOfStreamsStop(t *testing.T) {
	dir := stopProject(t)
	for _, command := range []string{"lsp", "lsp --stdio"} {
		for name, cause := range map[string]error{"SIGINT": nil, "SIGTERM": errTerminated} {
			t.Run(command+" "+name, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				stdin, writer := io.Pipe()
				defer writer.Close()
				go func() {
					const initialize = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}`
					_, _ = fmt.Fprintf(writer, "Content-Length: %d\r\n\r\n%s", len(initialize), initialize)
					cancel(cause) // the request was read
				}()
				code, stderr := stopMain(ctx, t, dir, "", strings.Fields(command), stdin)
				if code != exitInterrupted {
					t.Errorf("code %d, stderr %q", code, stderr)
				}
			})
		}
	}
}

// TestCommandsEndHandlers stops commands while the handler starts, which it never completes.
// Neither the handler nor what it has started is left.
func TestCommandsEndHandlers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the handler is a script of sh")
	}
	var commands []string
	for _, command := range []string{"test", "test --in-stack --no-build", "invoke resource READ r.json", "start-lambda --port 0", "hook try t.json --project hook --no-build", "cr test bin/bootstrap --create r.json", "cr invoke bin/bootstrap --create r.json"} {
		commands = append(commands, command+" --sandbox off")
		if sandbox.Check() == nil {
			commands = append(commands, command+" --sandbox required --mount notes:rw")
		}
	}
	for _, command := range commands {
		t.Run(command, func(t *testing.T) {
			dir := stopProject(t)
			confined := strings.Contains(command, "required")
			pids, mark := filepath.Join(dir, "notes", "pids"), "STOP_MARK="+dir
			if err := os.Mkdir(filepath.Dir(pids), 0o700); err != nil {
				t.Fatal(err)
			}
			script := "#!/bin/sh\nexport '" + mark + "'\nsleep 3600 &\necho $$ $! >'" + pids + ".new'\nmv '" + pids + ".new' '" + pids + "'\nwait\n"
			for name, text := range map[string]string{
				"r.json":             `{"desiredResourceState": {}}`,
				"hook/bin/bootstrap": script, "bin/bootstrap": script,
			} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				defer cancel()
				fixtures.Happens(fixtures.Patience, func() bool {
					_, err := os.Stat(pids)
					return err == nil || ctx.Err() != nil
				})
			}()
			args := strings.Fields(command)
			code, stderr := stopMain(ctx, t, dir, "", args, strings.NewReader(""))
			text, err := os.ReadFile(pids)
			if err != nil {
				t.Fatalf("code %d without a handler: %s", code, stderr)
			}
			if want := exitInterrupted; code != want && (code != exitOK || args[0] == "test") {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			if confined { // the IDs are those in the sandbox
				environs, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
				for _, path := range environs {
					if environ, err := os.ReadFile(path); err == nil && strings.Contains(string(environ), mark+"\x00") {
						t.Errorf("a process of the handler is left: %s", path)
					}
				}
				return
			}
			for field := range strings.FieldsSeq(string(text)) {
				pid, err := strconv.Atoi(field)
				if err != nil {
					t.Fatal(err)
				}
				if err := syscall.Kill(pid, 0); err == nil {
					t.Errorf("process %d of the handler is left", pid)
				}
			}
		})
	}
}

// stopProject is the folder of a new project, with a module and a hook below it.
func stopProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for folder, args := range map[string][]string{".": {"-a", "r", "-t", "Acme::Foo::Bar", "go"}, "hook": {"-a", "h", "-t", "Acme::Foo::Guard", "go"}} {
		folder = filepath.Join(dir, folder)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := runMain(t.Context(), folder, nil, append(append([]string{"init"}, args...), "-p", "example.com/bar")...); code != 0 {
			t.Fatal(stderr)
		}
	}
	const template = `{"Resources": {"W": {"Type": "AWS::S3::Bucket"}}}`
	for name, text := range map[string]string{
		"t.json": template, "p.json": "{}", "r.json": `{"desiredResourceState": {}}`, "patch.json": `[{"op": "add", "path": "/A", "value": 1}]`,
		"bin/bootstrap":           "#!/bin/sh\n",
		"module/.rpdk-config":     `{"artifact_type": "MODULE", "typeName": "Acme::Foo::Bar::MODULE", "settings": {"protocolVersion": "2.0.0"}}`,
		"module/fragments/a.json": template,
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// stopMain runs a command that uses an endpoint of AWS.
func stopMain(ctx context.Context, t *testing.T, dir, endpoint string, args []string, stdin io.Reader) (code int, stderr string) {
	t.Helper()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "1", "AWS_SECRET_ACCESS_KEY": "2", "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": endpoint, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value) // the SDK reads those of the process
	}
	var errs strings.Builder
	code = Main(ctx, Env{Stdin: stdin, Stdout: io.Discard, Stderr: &errs, Environ: os.Environ(), Dir: dir, Version: "1.2.3"}, args)
	return code, errs.String()
}
