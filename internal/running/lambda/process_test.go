//go:build unix

package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// TestStartError holds that a command that is no program here is explained.
func TestStartError(t *testing.T) {
	elf := func(machine byte) string {
		return "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00" + string([]byte{machine, 0}) + "\x01\x00\x00\x00" + strings.Repeat("\x00", 40)
	}
	foreign, foreignName := elf(183), "linux/arm64"
	if runtime.GOARCH == "arm64" {
		foreign, foreignName = elf(62), "linux/amd64"
	}
	tests := []struct {
		name    string
		content string
		mode    os.FileMode
		want    []string
	}{
		{"missing", "", 0, []string{"there is no such file", "build the handler first"}},
		{"folder", "", os.ModeDir | 0o755, []string{"it is a folder"}},
		{"not executable", "#!/bin/sh\n", 0o644, []string{"not executable", "chmod +x"}},
		{"empty", "", 0o755, []string{"the file is empty"}},
		{"other architecture", foreign, 0o755, []string{foreignName, "this machine is " + runtime.GOOS + "/" + runtime.GOARCH, "GOARCH=" + runtime.GOARCH}},
		{"other system", "\xcf\xfa\xed\xfe\x0c\x00\x00\x01" + strings.Repeat("\x00", 56), 0o755, []string{"darwin/arm64", "GOOS=" + runtime.GOOS}},
		{"zip", "PK\x03\x04\x00\x00\x00\x00", 0o755, []string{"zip archive"}},
		{"text", "echo hello\n", 0o755, []string{"first line like #!/bin/sh"}},
		{"no interpreter", "#!/no/such/python3\n", 0o755, []string{`"/no/such/python3"`, "not there"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "bootstrap")
			switch {
			case test.mode.IsDir():
				os.Mkdir(path, 0o755)
			case test.mode != 0:
				if err := os.WriteFile(path, []byte(test.content), test.mode); err != nil {
					t.Fatal(err)
				}
			}
			f, err := lambda.Start(t.Context(), lambda.Config{Name: "F", Command: []string{"./bootstrap"}, Dir: dir})
			if f != nil {
				t.Fatal("it started")
			}
			is(func(e *lambda.StartError) bool { return e.Command == path })(t, err)
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
	t.Run("no working folder", func(t *testing.T) {
		c := config(t, "echo")
		c.Dir = filepath.Join(c.Dir, "missing")
		_, err := lambda.Start(t.Context(), c)
		is(func(e *lambda.StartError) bool { return strings.Contains(e.Reason, "working folder") })(t, err)
	})
}

func TestConfigChecked(t *testing.T) {
	tests := []struct {
		name   string
		change func(*lambda.Config)
		want   string
	}{
		{"no name", func(c *lambda.Config) { c.Name = "" }, "function name"},
		{"bad name", func(c *lambda.Config) { c.Name = "a:b" }, "function name"},
		{"no command", func(c *lambda.Config) { c.Command = nil }, "no command"},
		{"negative", func(c *lambda.Config) { c.MaxProcesses = -1 }, "cannot be negative"},
	}
	for _, test := range tests {
		c := config(t, "echo")
		test.change(&c)
		if _, err := lambda.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.name, err, test.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	outside := []string{
		"PATH=/bin", "HOME=/home/me", "TMPDIR=/tmp/mine", "XDG_CACHE_HOME=/home/me/.cache", "JAVA_TOOL_OPTIONS=-Xmx1g", "AWS_ENDPOINT_URL=http://127.0.0.1:4566", "AWS_ENDPOINT_URL_S3=http://s3", "SSL_CERT_FILE=/ca.pem",
		"HTTP_PROXY=http://proxy", "NO_PROXY=example.com", "AWS_REGION=eu-west-1",
		"AWS_ACCESS_KEY_ID=AKIAREAL", "AWS_SECRET_ACCESS_KEY=real", "AWS_SESSION_TOKEN=real", "AWS_PROFILE=prod", "GITHUB_TOKEN=real",
		"AWS_WEB_IDENTITY_TOKEN_FILE=/token", "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://x", "AWS_LAMBDA_RUNTIME_API=elsewhere:1",
		"AWS_LAMBDA_MAX_CONCURRENCY=4", "_LAMBDA_SERVER_PORT=1", "TABLE_NAME=mine", "NODE_OPTIONS=--no-warnings",
	}
	tests := []struct {
		name   string
		change func(*lambda.Config)
		want   map[string]string // "" for absent
	}{{
		"plain", func(*lambda.Config) {}, map[string]string{
			"PATH": "/bin", "AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ENDPOINT_URL_S3": "http://s3", "SSL_CERT_FILE": "/ca.pem",
			"HTTP_PROXY": "http://proxy", "NO_PROXY": "example.com,127.0.0.1,localhost",
			"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1", "TZ": ":UTC", "AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR", "_HANDLER": "bootstrap",
			"AWS_LAMBDA_FUNCTION_NAME": "TypeFunction", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "2048",
			"AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/TypeFunction",
			"AWS_ACCESS_KEY_ID":         lambda.DummyKeyID, "AWS_SECRET_ACCESS_KEY": lambda.DummySecret, "AWS_SESSION_TOKEN": lambda.DummyToken,
			"AWS_PROFILE": "", "GITHUB_TOKEN": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
			"AWS_LAMBDA_MAX_CONCURRENCY": "", "_LAMBDA_SERVER_PORT": "", "TABLE_NAME": "", "AWS_SAM_LOCAL": "",
		},
	}, {
		"given credentials", func(c *lambda.Config) { c.Credentials = aws.Credentials{AccessKeyID: "AKIA1", SecretAccessKey: "s"} },
		map[string]string{"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": ""},
	}, {
		"handed on", func(c *lambda.Config) {
			c.PassEnv = []string{"TABLE_NAME", "AWS_ACCESS_KEY_ID", "AWS_SECRET_*", "AWS_SESSION_TOKEN"}
		},
		map[string]string{"TABLE_NAME": "mine", "AWS_ACCESS_KEY_ID": "AKIAREAL", "AWS_SECRET_ACCESS_KEY": "real", "AWS_SESSION_TOKEN": "real", "GITHUB_TOKEN": ""},
	}, {
		"everything", func(c *lambda.Config) { c.PassEnv = []string{"*"} },
		map[string]string{"GITHUB_TOKEN": "real", "AWS_PROFILE": "prod", "AWS_LAMBDA_MAX_CONCURRENCY": ""},
	}, {
		"set", func(c *lambda.Config) {
			c.Env = append(c.Env, "TABLE_NAME=other", "TZ=Europe/Berlin", "AWS_LAMBDA_RUNTIME_API=evil:1", "_HANDLER=x", "AWS_REGION=us-west-2")
			c.Region, c.Handler, c.MemoryMB = "ap-south-1", "main", 512
		},
		map[string]string{"TABLE_NAME": "other", "NODE_OPTIONS": "", "TZ": "Europe/Berlin", "_HANDLER": "main", "AWS_REGION": "us-west-2", "AWS_DEFAULT_REGION": "ap-south-1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512"},
	}, {
		"in cfn serve --proxy", func(c *lambda.Config) {
			c.Environ = append(slices.Clone(c.Environ), "FORMWORK_AWS_ADDRESS=127.0.0.1:4566", "FORMWORK_RESPONSE_ADDRESS=127.0.0.1:4566")
			c.Env = append(c.Env, "NODE_OPTIONS=--inspect")
		},
		map[string]string{
			"FORMWORK_AWS_ADDRESS": "127.0.0.1:4566", "FORMWORK_RESPONSE_ADDRESS": "127.0.0.1:4566", "NODE_OPTIONS": "--no-warnings --inspect",
			"TABLE_NAME": "", "GITHUB_TOKEN": "",
		},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := config(t, "env")
			c.Environ = outside
			test.change(&c)
			reply, err := start(t, c).Call(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var entries []string
			if err := json.Unmarshal(reply, &entries); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, entry := range entries {
				name, value, _ := strings.Cut(entry, "=")
				got[name] = value
			}
			for name, want := range test.want {
				if got[name] != want {
					t.Errorf("%s=%q, want %q", name, got[name], want)
				}
			}
			for _, name := range []string{"HOME", "TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME"} {
				if value := got[name]; !strings.HasPrefix(value, sandbox.Base()) {
					t.Errorf("%s=%q is not a folder of the process", name, value)
				}
			}
			java, proxied := strings.CutPrefix(got["JAVA_TOOL_OPTIONS"], "-Xmx1g ")
			if !strings.HasPrefix(java, "-Djava.io.tmpdir="+got["TMPDIR"]) || proxied != (got["FORMWORK_AWS_ADDRESS"] != "") {
				t.Errorf("JAVA_TOOL_OPTIONS=%q", got["JAVA_TOOL_OPTIONS"])
			}
			if got["LAMBDA_TASK_ROOT"] != c.Dir || !strings.HasPrefix(got["AWS_LAMBDA_RUNTIME_API"], "127.0.0.1:") {
				t.Errorf("task root %q, runtime API %q", got["LAMBDA_TASK_ROOT"], got["AWS_LAMBDA_RUNTIME_API"])
			}
		})
	}
}

// TestOwnFolders: each process has its own folders, which end with it however it ends. What a
// handler removes there, as the official library for Java does with java.io.tmpdir, is its own.
func TestOwnFolders(t *testing.T) {
	shared := t.TempDir()
	canary := filepath.Join(shared, "canary")
	if err := os.WriteFile(canary, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"close", "crash", "timeout"} {
		t.Run(end, func(t *testing.T) {
			c := config(t, "own-folders")
			c.Environ = append(os.Environ(), "TMPDIR="+shared, "HOME="+shared)
			c.MaxProcesses = 2
			if end == "timeout" {
				c.Timeout = 5 * time.Second
			}
			f := start(t, c)
			var folders []string
			for range 2 {
				reply, err := f.Call(t.Context(), []byte(`"list"`))
				if err != nil {
					t.Fatal(err)
				}
				var own []string
				if err := json.Unmarshal(reply, &own); err != nil {
					t.Fatal(err)
				}
				for _, dir := range own {
					if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 || slices.Contains(folders, dir) {
						t.Errorf("%s: %v, %v, taken: %v", dir, info, err, folders)
					}
				}
				folders = append(folders, own...)
				f.Renew()
			}
			if end != "close" {
				if _, err := f.Call(t.Context(), []byte(`"`+end+`"`)); err == nil {
					t.Error("the call succeeded")
				}
			}
			f.Close()
			for _, dir := range folders {
				if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is left: %v", dir, err)
				}
			}
			if _, err := os.Stat(canary); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("given", func(t *testing.T) {
		c := config(t, "own-folders")
		c.Env = append(c.Env, "TMPDIR="+shared, "HOME="+shared, "JAVA_TOOL_OPTIONS=-Xmx1g")
		reply, err := start(t, c).Call(t.Context(), []byte(`"given"`))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(reply); !strings.HasPrefix(text, `["`+shared+`","`+shared+`","-Djava.io.tmpdir=`) || !strings.HasSuffix(text, ` -Xmx1g"]`) {
			t.Errorf("got %s", text)
		}
	})
}

// TestUserSite: packages of Python that the user has installed are found although HOME is another.
func TestUserSite(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".local", "lib", "python3.99", "site-packages"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ environ, want string }{
		{"HOME=" + home, filepath.Join(home, ".local")},
		{"HOME=" + t.TempDir(), ""},
		{"PYTHONUSERBASE=/given", "/given"},
	} {
		c := config(t, "env")
		c.Environ = []string{test.environ}
		reply, err := start(t, c).Call(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var entries []string
		if err := json.Unmarshal(reply, &entries); err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(entries, "PYTHONUSERBASE="+test.want); got != (test.want != "") {
			t.Errorf("%s: %q", test.environ, entries)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	for _, test := range []struct{ name, handler, payload string }{
		{"taken slowly", "memory", "2000"},
		{"taken and given back", "memory-peak", "150"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := config(t, test.handler)
			c.MemoryMB = 100
			f := start(t, c)
			result, err := f.Invoke(t.Context(), []byte(test.payload))
			is(func(e *lambda.MemoryError) bool {
				return e.Limit == 100<<20 && e.Used > e.Limit && e.RequestID == result.RequestID
			})(t, err)
			if want := "the limit is 100 MB"; !strings.Contains(err.Error(), want) {
				t.Errorf("error %q does not say %q", err, want)
			}
			checkDocument(t, result, "Runtime.OutOfMemory")
			if left := f.Processes(); len(left) != 0 {
				t.Errorf("processes left: %v", left)
			}
		})
	}
	t.Run("off", func(t *testing.T) {
		c := config(t, "memory-peak")
		c.MemoryMB = -1
		if _, err := start(t, c).Call(t.Context(), []byte("150")); err != nil {
			t.Error(err)
		}
	})
}

// TestKilledParent holds that a process does not survive the program that
// started it, even when that has no chance to clean up.
func TestKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a process with its parent")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), handlerVar+"=nest")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 20)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil || !alive(pid) {
		t.Fatalf("inner process %q: %v", line[:n], err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	fixtures.Await(t, "the end of the inner process", func() bool { return !alive(pid) })
}

func TestDebug(t *testing.T) {
	var pids []int
	c := config(t, "sdk")
	c.Timeout, c.MaxProcesses, c.MemoryMB = time.Millisecond, 5, 1
	c.Debug = &lambda.Debug{Started: func(pid int) { pids = append(pids, pid) }}
	f := start(t, c)
	result, err := f.Invoke(t.Context(), []byte(`{"Do":"sleep","Wait":50000000}`))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(pids, []int{result.PID}) {
		t.Errorf("told of the processes %v, process %d served", pids, result.PID)
	}
}

func TestWaitForDebugger(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs strace, which is a debugger to Linux")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: cannot attach to a process")
	}
	c := config(t, "sdk")
	c.Debug = &lambda.Debug{WaitForDebugger: true}
	f := start(t, c)
	pid := f.Processes()[0]
	short, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	if _, err := f.Invoke(short, []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "wait for a debugger to attach to process "+strconv.Itoa(pid)) {
		t.Fatalf("without a debugger: %v", err)
	}
	if err := f.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid = f.Processes()[0]
	tracer := exec.Command(strace, "-f", "-o", os.DevNull, "-p", strconv.Itoa(pid))
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	defer tracer.Wait()
	defer tracer.Process.Kill()
	ctx, cancelLong := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancelLong()
	result, err := f.Invoke(ctx, []byte(`{}`))
	if err != nil || result.PID != pid {
		t.Errorf("process %d, %v; want %d", result.PID, err, pid)
	}
}
