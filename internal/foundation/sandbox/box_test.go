//go:build linux

package sandbox_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// needsSandbox skips a test where there is no sandbox. Nothing hostile runs without one.
func needsSandbox(t testing.TB) {
	t.Helper()
	if err := sandbox.Check(); err != nil {
		t.Skip("SKIPPED: no sandbox here: ", err)
	}
}

// run runs a script of the shell in a sandbox and returns its output and its wait status.
func run(t testing.TB, p sandbox.Process, script string) (string, int) {
	t.Helper()
	needsSandbox(t)
	p.Path, p.Args = "/bin/sh", []string{"sh", "-c", script}
	if p.Dir == "" {
		p.Dir = t.TempDir()
	}
	if p.Env == nil {
		p.Env = append(sandbox.Environ(), "PATH=/usr/bin:/bin")
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s, err := sandbox.Start(p, in)
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cmd := s.Command()
	timer := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the status is that of the process
	status, _, known := s.End()
	if !known {
		t.Fatalf("the sandbox was killed: %s", text)
	}
	return string(bytes.TrimSpace(text)), status.ExitStatus()
}

// house makes files below a folder and returns it.
func house(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestView(t *testing.T) {
	dir := house(t, "code/main", "home/.aws/credentials", "home/letter", "data/secret", "data/other/code", "cache/module", "shared/file", "written/file", "lib/module.py", "ca.pem")
	t.Setenv("HOME", filepath.Join(dir, "home"))
	p := sandbox.Process{
		Dir: filepath.Join(dir, "code"), Runtime: sandbox.Runtime{Files: []string{filepath.Join(dir, "cache")}},
		Env: append(sandbox.Environ(), "PATH=/usr/bin:/bin", "PYTHONPATH="+dir+"/data:"+dir+"/home", "GOCOVERDIR="+filepath.Join(dir, "home"), "SSL_CERT_FILE="+filepath.Join(dir, "home", "letter")),
		Settings: sandbox.Settings{
			Environ: []string{"PYTHONPATH=" + filepath.Join(dir, "lib"), "SSL_CERT_FILE=" + filepath.Join(dir, "ca.pem"), "CLASSPATH=" + dir, "NODE_PATH=" + filepath.Join(dir, "data")},
			Grants:  []sandbox.Grant{{Path: filepath.Join(dir, "shared")}, {Path: filepath.Join(dir, "written"), Write: true}, {Path: filepath.Join(dir, "made"), Write: true}},
			Hide:    []string{filepath.Join(dir, "data")},
		},
	}
	out, _ := run(t, p, "cd "+dir+` && find . -type f | sort; for f in code shared written made cache lib . /tmp "$HOME" /usr; do (echo x > $f/new) 2>/dev/null && echo "writes $f"; done`)
	want := "./ca.pem\n./cache/module\n./code/main\n./lib/module.py\n./shared/file\n./written/file\nwrites written\nwrites made\nwrites .\nwrites /tmp\nwrites /home/function"
	if want = strings.Replace(want, "writes .\n", "", 1); !strings.HasPrefix(dir, "/tmp/") { // a folder in /tmp is one in that of the sandbox
		t.Logf("the folder of the test is %s", dir)
	}
	if out = strings.Replace(out, "writes .\n", "", 1); out != want {
		t.Errorf("sees\n%s\nwant\n%s", out, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "made", "new")); err != nil {
		t.Error(err)
	}
}

// TestNamesLeaveTheMachineAlone: a handler has its own files about names, also where the user grants those of the machine.
func TestNamesLeaveTheMachineAlone(t *testing.T) {
	needsSandbox(t)
	before, err := os.ReadFile("/etc/hosts")
	if err != nil {
		t.Skip("SKIPPED: no /etc/hosts here")
	}
	p := sandbox.Process{Names: []string{"127.0.0.1 cfn.example"}, Settings: sandbox.Settings{Grants: []sandbox.Grant{{Path: "/etc/hosts", Write: true}}}}
	out, _ := run(t, p, "grep -c cfn.example /etc/hosts; grep nameserver /etc/resolv.conf; (echo x >/etc/hosts) 2>/dev/null && echo writes")
	if out != "1\nnameserver 127.0.0.53" {
		t.Errorf("sees %s", out)
	}
	if after, err := os.ReadFile("/etc/hosts"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file of the machine is now %q, %v", after, err)
	}
}

func TestOneProcessEndsAll(t *testing.T) {
	out, code := run(t, sandbox.Process{}, "setsid sleep 1000 >/dev/null 2>&1 & setsid sleep 1000 >/dev/null 2>&1 & echo started; exit 3")
	if out != "started" || code != 3 {
		t.Errorf("%q, exit status %d", out, code)
	}
}

// TestOpenFiles: neither the pipes to the first process nor what the program has inherited is open
// in the process.
func TestOpenFiles(t *testing.T) {
	folder, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0) // not closed on exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(folder)
	out, _ := run(t, sandbox.Process{}, "for fd in 3 4 5 6 7 8 9 10 "+strconv.Itoa(folder)+"; do test -e /proc/$$/fd/$fd && echo open: $fd; done; ulimit -n; ulimit -c")
	if out != "1024\n0" {
		t.Errorf("got %s", out)
	}
}

func TestRefusals(t *testing.T) {
	needsSandbox(t)
	for _, dir := range []string{"/tmp", "/home", "/"} {
		if _, err := sandbox.Start(sandbox.Process{Dir: dir}, os.Stdout); err == nil || !strings.Contains(err.Error(), "move it to a folder below") {
			t.Errorf("the task root %s: %v", dir, err)
		}
	}
	if _, err := sandbox.Start(sandbox.Process{Dir: filepath.Join(t.TempDir(), "missing")}, os.Stdout); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing task root: %v", err)
	}
}

func BenchmarkSandbox(b *testing.B) {
	needsSandbox(b)
	dir := b.TempDir()
	for b.Loop() {
		run(b, sandbox.Process{Dir: dir}, "exit 0")
	}
}
