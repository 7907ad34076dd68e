package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// noNamespaces is a sysctl of each user namespace: how many more can be made in it.
const noNamespaces = "/proc/sys/user/max_user_namespaces"

// A refusal is what a program says and does where the kernel refuses namespaces.
type refusal struct {
	Reason, Missing, Limits, Required string
	Errors                            []string // of what must work all the same
}

// TestWithoutNamespaces runs handlers in a program for which the kernel refuses namespaces, as in a container. They do
// what the hostile ones do, as far as it harms nothing without a sandbox: only in folders of their own.
func TestWithoutNamespaces(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	canary := filepath.Join(dir, "tmp", "canary")
	if err := errors.Join(os.Mkdir(filepath.Dir(canary), 0o700), os.WriteFile(canary, []byte("alive"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVar+"=refused", "TEST_DIR="+dir, "TMPDIR="+filepath.Dir(canary))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if text, err := os.ReadFile(noNamespaces); err != nil || strings.TrimSpace(string(text)) != "0" {
		uid, gid := os.Getuid(), os.Getgid()
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}, GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}},
		}
	}
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		t.Skip("SKIPPED: neither namespaces nor a refusal that belongs to this test here: ", err)
	}
	if err != nil {
		t.Fatal(err, stderr.String())
	}
	var r refusal
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	const reason = "this system does not let users create namespaces (" + noNamespaces + " is 0)"
	if r.Reason != reason || r.Missing != "handlers run without a sandbox: "+reason+"; handlers can read and change the files of this user" || r.Required != "the sandbox is required: "+reason {
		t.Errorf("it says %+v", r)
	}
	if !strings.Contains(r.Limits, "temporary files are not limited") {
		t.Errorf("limits: %s", r.Limits)
	}
	for _, text := range r.Errors {
		t.Error(text)
	}
	if text, err := os.ReadFile(canary); err != nil || string(text) != "alive" {
		t.Errorf("the canary: %q, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(canary), "formwork-*", "*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// serveRefused is that program.
func serveRefused() {
	if text, err := os.ReadFile(noNamespaces); err != nil || strings.TrimSpace(string(text)) != "0" {
		if err := os.WriteFile(noNamespaces, []byte("0"), 0); err != nil {
			panic(err)
		}
	}
	var r refusal
	if err := sandbox.Check(); err != nil {
		r.Reason = err.Error()
	}
	r.Missing, r.Limits = sandbox.On.Missing(), sandbox.On.Limits()
	if err := sandbox.Required.Err(); err != nil {
		r.Required = err.Error()
	}
	t := &noTest{dir: os.Getenv("TEST_DIR")}
	s, err := store.Open(context.Background(), store.Config{Dir: filepath.Join(t.dir, "store")})
	if err != nil {
		panic(err)
	}
	b := &bench{store: s, Pool: handlers.New(handlers.Config{Store: s, Dir: filepath.Join(t.dir, "code"), Sandbox: sandbox.Settings{Mode: sandbox.On}})}
	self, _ := os.Executable()
	spec := b.put(t, pack(t, "provided.al2023", "bootstrap", map[string]string{"bootstrap": "#!/bin/sh\n" + roleVar + "=hostile exec '" + self + "'\n"}))
	f := b.function(t, spec)
	do := func(d deed) (report, lambda.Result) {
		d.Canary = filepath.Join(t.dir, "missing") // the handler is to act, though it is not in a sandbox
		payload, _ := json.Marshal(d)              // strings only
		result, err := f.Invoke(context.Background(), payload)
		var got report
		if err == nil {
			err = json.Unmarshal(result.Payload, &got)
		}
		if err != nil {
			r.Errors = append(r.Errors, err.Error())
		}
		return got, result
	}
	// Its folders are its own, below that of this program: nothing else is removed.
	own := fmt.Sprintf("%s/formwork-%d/program-", os.Getenv("TMPDIR"), os.Getuid())
	got, _ := do(deed{Shell: `case "$TMPDIR$HOME$TMP$TEMP" in '` + own + `'*) ;; *) echo "not its own: $TMPDIR $HOME"; exit;; esac
		touch "$TMPDIR/file" "$HOME/file" && rm -rf "$TMPDIR"/* "$HOME"/* && touch "$TMPDIR/still" "$HOME/still" && echo fine`})
	if got.Output != "fine\n" {
		r.Errors = append(r.Errors, "removals: "+got.Output)
	}
	if got, _ = do(deed{Open: 3000}); !strings.Contains(got.Open, "too many open files") {
		r.Errors = append(r.Errors, "open files: "+got.Open)
	}
	mark := "HOSTILE_MARK=" + t.dir
	do(deed{Shell: mark + " setsid sleep 1000 >/dev/null 2>&1 & " + mark + " setsid sh -c 'sleep 1000; true' >/dev/null 2>&1 & sleep 0.2"})
	if len(marked(mark)) == 0 {
		r.Errors = append(r.Errors, "no daemons were started")
	}
	if err := errors.Join(b.Close(), s.Close()); err != nil {
		r.Errors = append(r.Errors, err.Error())
	}
	if left := marked(mark); len(left) > 0 {
		r.Errors = append(r.Errors, fmt.Sprintf("daemons are left: %q", left))
	}
	slices.Sort(r.Errors)
	text, _ := json.Marshal(r) // strings only
	_, _ = os.Stdout.Write(text)
}
