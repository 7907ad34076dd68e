//go:build unix

package handlers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/handlers"
)

// TestKilled kills a program with running handlers and looks for what is left of them.
func TestKilled(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	if _, err := os.Stat("/proc/self/environ"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("skipped: this system ends no process together with the one that started it")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVar+"=server", "TEST_DIR="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := func() []string {
		data, _ := os.ReadFile(filepath.Join(dir, "pids"))
		return strings.Fields(string(data))
	}
	fixtures.Await(t, "the handlers of the program", func() bool {
		if len(pids()) < 4 && !alive(fmt.Sprint(cmd.Process.Pid)) {
			t.Fatal(stderr.String())
		}
		return len(pids()) >= 4
	})
	processes := pids() // of the program handler, of the one in Python, of its own child, of its daemon
	for _, pid := range processes {
		if !alive(pid) {
			t.Fatalf("process %s has ended by itself: %s", pid, stderr.String())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	for _, pid := range processes[:2] {
		fixtures.Await(t, "the end of the handler "+pid, func() bool { return !alive(pid) })
	}
	// What a handler itself has started ends at the latest with the next pool.
	newBench(t, nil)
	for _, pid := range processes[2:] {
		fixtures.Await(t, "the end of a handler's own process", func() bool { return !alive(pid) })
	}
}

// serveUntilKilled has a pool with handlers at work, and writes down their processes.
func serveUntilKilled() {
	t := &noTest{dir: os.Getenv("TEST_DIR")}
	s, err := store.Open(context.Background(), store.Config{Dir: filepath.Join(t.dir, "store")})
	if err != nil {
		panic(err)
	}
	b := &bench{store: s, Pool: handlers.New(handlers.Config{Store: s, Dir: filepath.Join(t.dir, "code")})}
	self, _ := os.Executable()
	program := b.put(t, pack(t, "provided.al2023", "bootstrap", map[string]string{"bootstrap": "#!/bin/sh\n" + roleVar + "=handler exec '" + self + "'\n"}))
	reply, err := b.function(t, program).Call(context.Background(), []byte("{}"))
	if err != nil {
		panic(err)
	}
	_, after, _ := strings.Cut(string(reply), `"pid":`)
	first, _, _ := strings.Cut(after, ",")
	python := b.python(t, "import os, subprocess, time\ndef handler(e, c):\n    child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n    shell = subprocess.Popen(['sh', '-c', 'sleep 1000 >/dev/null & echo $!'], start_new_session=True, env={'PATH': os.environ['PATH']}, stdout=subprocess.PIPE)\n    daemon = int(shell.stdout.readline())\n    with open(e + '.new', 'w') as f: f.write('"+first+" %d %d %d' % (os.getpid(), child.pid, daemon))\n    os.rename(e + '.new', e)\n    time.sleep(1000)")
	b.function(t, python).Call(context.Background(), fmt.Appendf(nil, "%q", filepath.Join(t.dir, "pids")))
}

// noTest lets a program use what tests use.
type noTest struct {
	testing.TB
	dir string
}

func (*noTest) Helper()                          {}
func (*noTest) Context() context.Context         { return context.Background() }
func (*noTest) Fatal(args ...any)                { panic(fmt.Sprint(args...)) }
func (*noTest) Skipf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
