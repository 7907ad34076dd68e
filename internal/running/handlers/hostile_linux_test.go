package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// A deed is what a hostile handler is told to do. It does nothing if it can see the canary: then it
// is not in a sandbox.
type deed struct {
	Canary string   `json:"canary"`
	Shell  string   `json:"shell"` // run by sh
	Read   []string `json:"read"`  // files to read
	Write  []string `json:"write"` // files to write
	Open   int      `json:"open"`  // files to open at once

	Connect []string `json:"connect"` // addresses to connect to, HOST:PORT
}

// A report is what it could do.
type report struct {
	Seen    bool     `json:"seen"` // the canary
	Output  string   `json:"output"`
	Read    []string `json:"read"`
	Written []string `json:"written"`
	Open    string   `json:"open"` // the error

	Connected []string `json:"connected"`
}

// hostile is the handler in the other languages.
var hostile = map[string]struct{ program, runtime, entrypoint, file, text string }{
	"python": {"python3", "python3.11", "app.handler", "app.py", `
import os, socket, subprocess
def connects(address):
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 5).close()
        return True
    except OSError:
        return False
def attempt(path, mode):
    try:
        with open(path, mode) as f:
            f.read(1) if mode == "r" else f.write("x")
        return True
    except Exception:
        return False
def handler(e, c):
    if os.path.exists(e["canary"]):
        return {"seen": True}
    r = {"output": "", "open": ""}
    if e.get("shell"):
        r["output"] = subprocess.run(["sh", "-c", e["shell"]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode(errors="replace")
    r["read"] = [p for p in e.get("read") or [] if attempt(p, "rb" if False else "r") or (os.path.isdir(p) and os.listdir(p))]
    r["written"] = [p for p in e.get("write") or [] if attempt(p, "a")]
    r["connected"] = [a for a in e.get("connect") or [] if connects(a)]
    files = []
    try:
        for i in range(e.get("open") or 0):
            files.append(open("/dev/null"))
    except OSError as x:
        r["open"] = str(x)
    return r
`},
	"node": {"node", "nodejs20.x", "app.handler", "app.js", `
const fs = require("fs"), net = require("net"), { spawnSync } = require("child_process");
const connects = (address) => new Promise((resolve) => {
  const at = address.lastIndexOf(":"), c = net.connect({ host: address.slice(0, at), port: +address.slice(at + 1), timeout: 5000 });
  const end = (reached) => { c.destroy(); resolve(reached) };
  c.on("connect", () => end(true)).on("error", () => end(false)).on("timeout", () => end(false));
});
const attempt = (f) => { try { f(); return true } catch { return false } };
exports.handler = async (e) => {
  if (fs.existsSync(e.canary)) return { seen: true };
  const r = { output: "", open: "" };
  if (e.shell) { const p = spawnSync("sh", ["-c", "exec 2>&1; " + e.shell]); r.output = String(p.stdout) }
  r.read = (e.read || []).filter((p) => attempt(() => { if (fs.statSync(p).isDirectory()) { if (fs.readdirSync(p).length === 0) throw 1 } else fs.readFileSync(p) }));
  r.written = (e.write || []).filter((p) => attempt(() => fs.appendFileSync(p, "x")));
  r.connected = [];
  for (const a of e.connect || []) if (await connects(a)) r.connected.push(a);
  const files = [];
  try { for (let i = 0; i < (e.open || 0); i++) files.push(fs.openSync("/dev/null")) } catch (x) { r.open = String(x) }
  files.forEach((f) => fs.closeSync(f));
  return r;
};
`},
}

// commit does a deed in Go.
func commit(d deed) report {
	if _, err := os.Stat(d.Canary); err == nil {
		return report{Seen: true}
	}
	var r report
	if d.Shell != "" {
		out, _ := exec.Command("sh", "-c", d.Shell).CombinedOutput()
		r.Output = string(out)
	}
	for _, path := range d.Read {
		if _, err := os.ReadFile(path); err == nil {
			r.Read = append(r.Read, path)
		} else if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
			r.Read = append(r.Read, path)
		}
	}
	for _, path := range d.Write {
		if file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_ = file.Close()
			r.Written = append(r.Written, path)
		}
	}
	for _, address := range d.Connect {
		if conn, err := net.DialTimeout("tcp", address, 5*time.Second); err == nil {
			_ = conn.Close()
			r.Connected = append(r.Connected, address)
		}
	}
	var held []*os.File
	for range d.Open {
		file, err := os.Open(os.DevNull)
		if err != nil {
			r.Open = err.Error()
			break
		}
		held = append(held, file)
	}
	for _, file := range held {
		_ = file.Close()
	}
	return r
}

func serveHostile() {
	awslambda.Start(func(_ context.Context, d deed) (report, error) { return commit(d), nil })
}

// A house is a machine in small: a home, the folder of a server, and another function.
type house struct {
	*bench
	root, home, data, canary string
	before                   map[string]string
}

// newHouse builds one, in which handlers must be in a sandbox.
func newHouse(t *testing.T, configure ...func(*house, *handlers.Config)) *house {
	t.Helper()
	if err := sandbox.Check(); err != nil {
		t.Skip("SKIPPED: no sandbox here: ", err) // nothing hostile runs without one
	}
	root := t.TempDir()
	h := &house{root: root, home: filepath.Join(root, "home"), data: filepath.Join(root, "data"), canary: filepath.Join(root, "canary")}
	for name, text := range map[string]string{
		"canary": "alive", "home/letter": "x", "home/.aws/credentials": "[default]", "home/.ssh/id_rsa": "key", "tmp/other": "x",
		"data/secrets.key": "key", "data/formwork.copy": "rows",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", h.home)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h.bench = benchAt(t, store.Config{Dir: h.data}, func(c *handlers.Config) {
		c.Dir = filepath.Join(h.data, "handlers")
		c.Sandbox = sandbox.Settings{Mode: sandbox.Required, Grants: []sandbox.Grant{{Path: self}}, Hide: []string{h.data}}
		c.Environ = append(os.Environ(), "HOME="+h.home)
		for _, f := range configure {
			f(h, c)
		}
	})
	return h
}

// agent is a hostile handler in a language.
func (h *house) agent(t *testing.T, language string) bundle.Spec {
	t.Helper()
	runtime, entrypoint, code := agentCode(t, language)
	return h.put(t, pack(t, runtime, entrypoint, code))
}

// agentCode is the runtime, the handler and the files of a hostile handler.
func agentCode(t *testing.T, language string) (runtime, entrypoint string, code map[string]string) {
	t.Helper()
	if language == "go" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return "provided.al2023", "bootstrap", map[string]string{"bootstrap": "#!/bin/sh\n" + roleVar + "=hostile exec '" + self + "'\n"}
	}
	if language == "java" {
		return "provided.al2023", "bootstrap", compileJava(t, javaDeeds)
	}
	a := hostile[language]
	needs(t, a.program)
	return a.runtime, a.entrypoint, map[string]string{a.file: a.text}
}

// do has an agent do a deed, and compares the house afterwards.
func (h *house) do(t *testing.T, f *handlers.Function, d deed) (report, lambda.Result, error) {
	t.Helper()
	d.Canary = h.canary
	payload, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if h.before == nil {
		h.before = h.snapshot(t)
	}
	result, callErr := f.Invoke(t.Context(), payload)
	var r report
	if callErr == nil {
		if err := json.Unmarshal(result.Payload, &r); err != nil {
			t.Fatalf("%s: %v", result.Payload, err)
		}
		if r.Seen {
			t.Fatal("the handler is not in a sandbox")
		}
	}
	after := h.snapshot(t)
	for path, text := range h.before {
		if after[path] != text {
			t.Errorf("%s was harmed: %q", path, after[path])
		}
	}
	for path := range after {
		if _, was := h.before[path]; !was && !strings.HasPrefix(path, h.data) {
			t.Errorf("%s is new", path)
		}
	}
	return r, result, callErr
}

// snapshot is the files of the house that no handler and no database changes.
func (h *house) snapshot(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(h.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.Contains(path, "formwork.db") {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestHostileHandlers has handlers in several languages do what they must not be able to.
func TestHostileHandlers(t *testing.T) {
	for _, language := range []string{"go", "python", "node", "java"} {
		t.Run(language, func(t *testing.T) {
			h := newHouse(t)
			other := h.put(t, pack(t, "provided.al2023", "bootstrap", map[string]string{"bootstrap": "#!/bin/sh\nexit 1\n", "secret.txt": "of another function"}))
			other.Version = "00000002"
			_ = h.Probe(t.Context(), other) // it is unpacked, and does not start
			others, err := filepath.Glob(filepath.Join(h.data, "handlers", "packages", "*", "code", "secret.txt"))
			if err != nil || len(others) != 1 {
				t.Fatalf("the other function: %q, %v", others, err)
			}
			spec := h.agent(t, language)
			f := h.function(t, spec)
			if _, _, err := h.do(t, f, deed{}); err != nil {
				t.Fatal(err)
			}
			h.before = nil // with its own code, and what interpreters keep

			t.Run("removes", func(t *testing.T) {
				r, _, err := h.do(t, f, deed{Shell: "rm -rf /tmp/* ~/* " + h.root + "/* /home/* /var/* $LAMBDA_TASK_ROOT/*; touch /tmp/still ~/still && echo fine"})
				if err != nil || !strings.Contains(r.Output, "fine") {
					t.Errorf("%+v, %v", r, err)
				}
			})
			t.Run("reads", func(t *testing.T) {
				secret := []string{
					filepath.Join(h.data, "secrets.key"), filepath.Join(h.data, "formwork.db"), filepath.Join(h.data, "formwork.copy"), h.data + "/blobs",
					filepath.Join(h.home, ".aws", "credentials"), filepath.Join(h.home, ".ssh", "id_rsa"), filepath.Join(h.home, "letter"), others[0],
					"/etc/shadow", "/root/.ssh", fmt.Sprintf("/proc/%d/environ", os.Getpid()), "/proc/1/environ", "/proc/1/root", "/proc/1/mem", h.root + "/tmp/other",
				}
				r, _, err := h.do(t, f, deed{Read: secret})
				if err != nil || len(r.Read) > 0 {
					t.Errorf("%+v, %v", r, err)
				}
			})
			t.Run("writes", func(t *testing.T) {
				code, err := filepath.Glob(filepath.Join(h.data, "handlers", "packages", spec.Package, "code", "*"))
				if err != nil || len(code) == 0 {
					t.Fatal(code, err)
				}
				r, _, err := h.do(t, f, deed{Write: append(code, filepath.Join(filepath.Dir(code[0]), "new"), "/usr/bin/new", "/etc/hosts", "/new", "/dev/new", "/proc/sys/kernel/core_pattern", "/tmp/allowed")})
				if err != nil || !slices.Equal(r.Written, []string{"/tmp/allowed"}) {
					t.Errorf("%+v, %v", r, err)
				}
			})
			t.Run("connects", func(t *testing.T) {
				// Its own Runtime API, and nothing of this machine or of a cloud.
				own := "127.0.0.1:9001"
				addresses := []string{"169.254.169.254:80", own, "[fd00:ec2::254]:80"}
				for _, ip := range machineAddresses(t) {
					listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
					if err != nil {
						t.Fatal(err)
					}
					defer listener.Close()
					addresses = append(addresses, listener.Addr().String())
				}
				r, _, err := h.do(t, f, deed{Connect: addresses})
				if err != nil || !slices.Equal(r.Connected, []string{own}) {
					t.Errorf("%q: %+v, %v", addresses, r, err)
				}
			})
			t.Run("gains privileges", func(t *testing.T) {
				r, _, err := h.do(t, f, deed{Shell: "unshare -Ur true && echo gained; mount -t tmpfs none /tmp && echo gained; mount -o remount,rw / && echo gained; chmod 0 /dev/null && echo gained; chroot / true && echo gained; kill -9 1; kill -STOP 1"})
				if err != nil || strings.Contains(r.Output, "gained") {
					t.Errorf("%+v, %v", r, err)
				}
			})
			t.Run("opens files", func(t *testing.T) {
				r, result, err := h.do(t, f, deed{Open: 3000})
				if err != nil || r.Open == "" || !slices.Contains(result.Limits, "1,024 open files") || !strings.Contains(string(result.Log), "[limit reached: 1,024 open files]") {
					t.Errorf("%+v, %q, %v\n%s", r, result.Limits, err, result.Log)
				}
			})
			t.Run("fills the disk", func(t *testing.T) {
				r, result, err := h.do(t, f, deed{Shell: "dd if=/dev/zero of=/tmp/full bs=1M count=700; echo more > ~/more; wc -c < /tmp/full"})
				if err != nil || strings.Contains(r.Output, "734003200") || !strings.Contains(fmt.Sprint(result.Limits), "512 MB in /tmp") {
					t.Errorf("%+v, %q, %v", r, result.Limits, err)
				}
				if r, _, err := h.do(t, f, deed{Shell: "rm /tmp/full && echo more > ~/more && echo fine"}); err != nil || !strings.Contains(r.Output, "fine") {
					t.Errorf("%+v, %v", r, err)
				}
			})
			t.Run("forks", func(t *testing.T) {
				// At most so many, in case that the limit fails.
				r, result, err := h.do(t, f, deed{Shell: "i=0; while [ $i -lt 1800 ]; do sleep 60 >/dev/null 2>&1 & i=$((i+1)); done"})
				if !slices.Contains(result.Limits, "1,024 processes and threads") {
					t.Errorf("limits: %q, %+v, %v\n%s", result.Limits, r, err, result.Log)
				}
				h.Remove(spec)
			})
			t.Run("leaves daemons", func(t *testing.T) {
				mark := "HOSTILE_MARK=" + h.root
				if _, _, err := h.do(t, f, deed{Shell: mark + " setsid sleep 1000 >/dev/null 2>&1 & " + mark + " nohup setsid sh -c 'sleep 1000; true' >/dev/null 2>&1 & sleep 0.2"}); err != nil {
					t.Fatal(err)
				}
				fixtures.Await(t, "the daemons", func() bool { return len(marked(mark)) > 0 })
				h.Remove(spec)
				fixtures.Await(t, "the end of the daemons", func() bool { return len(marked(mark)) == 0 })
			})
		})
	}
}

// machineAddresses are those of this machine of IPv4.
func machineAddresses(t *testing.T) (all []string) {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil {
			all = append(all, network.IP.String())
		}
	}
	return all
}

// TestHostileJava is the official library for Java in small: it empties java.io.tmpdir.
func TestHostileJava(t *testing.T) {
	h := newHouse(t)
	f := h.function(t, h.put(t, pack(t, "provided.al2023", "bootstrap", compileJava(t, javaHandler))))
	if _, _, err := h.do(t, f, deed{}); err != nil {
		t.Fatal(err)
	}
	h.before = nil
	r, _, err := h.do(t, f, deed{Read: []string{filepath.Join(h.data, "secrets.key"), filepath.Join(h.home, ".aws", "credentials")}, Write: []string{"/tmp/allowed"}})
	if err != nil || r.Output != "emptied /tmp /home/function" || len(r.Read) > 0 || len(r.Written) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

const javaHandler = `
import java.io.*; import java.net.*; import java.nio.file.*;
public class Main {
  static void empty(File f) { File[] all = f.listFiles(); if (all != null) for (File g : all) { empty(g); g.delete(); } }
  public static void main(String[] a) throws Exception {
    String api = "http://" + System.getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/";
    while (true) {
      HttpURLConnection c = (HttpURLConnection) new URL(api + "next").openConnection();
      String id = c.getHeaderField("Lambda-Runtime-Aws-Request-Id"), event = new String(c.getInputStream().readAllBytes());
      String canary = event.replaceAll(".*\"canary\":\"([^\"]*)\".*", "$1"), out = "{\"seen\":true}";
      if (!new File(canary).exists()) {
        String tmp = System.getProperty("java.io.tmpdir"), home = System.getProperty("user.home");
        empty(new File(tmp)); empty(new File(home));
        String read = "";
        for (String p : event.replaceAll(".*\"read\":\\[?([^\\]]*)\\]?,\"write.*", "$1").replace("\"", "").split(","))
          if (new File(p).canRead()) read = "\"" + p + "\"";
        out = "{\"output\":\"emptied " + tmp + " " + home + "\",\"read\":[" + read + "]}";
      }
      HttpURLConnection r = (HttpURLConnection) new URL(api + id + "/response").openConnection();
      r.setDoOutput(true); r.setRequestMethod("POST"); r.getOutputStream().write(out.getBytes()); r.getResponseCode();
    }
  }
}
`

// marked are the processes with an entry in their environment.
func marked(mark string) []string {
	var list []string
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, path := range environs {
		text, err := os.ReadFile(path)
		if err == nil && slices.Contains(strings.Split(string(text), "\x00"), mark) {
			list = append(list, filepath.Base(filepath.Dir(path)))
		}
	}
	return list
}

// TestKilledServerLeavesNothing kills a program whose handler has daemons in a sandbox. No other
// program cleans up after it.
func TestKilledServerLeavesNothing(t *testing.T) {
	t.Parallel()
	if err := sandbox.Check(); err != nil {
		t.Skip("SKIPPED: no sandbox here: ", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mark := "HOSTILE_MARK=" + dir
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVar+"=hostile server", "TEST_DIR="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const daemons = 3
	fixtures.Await(t, "the daemons: "+stderr.String(), func() bool { return len(marked(mark)) >= daemons })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // by the signal
	fixtures.Await(t, "the end of all processes", func() bool { return len(marked(mark)) == 0 })
}

// serveHostileUntilKilled is that program.
func serveHostileUntilKilled() {
	t := &noTest{dir: os.Getenv("TEST_DIR")}
	s, err := store.Open(context.Background(), store.Config{Dir: filepath.Join(t.dir, "store")})
	if err != nil {
		panic(err)
	}
	b := &bench{store: s, Pool: handlers.New(handlers.Config{Store: s, Dir: filepath.Join(t.dir, "code"), Sandbox: sandbox.Settings{Mode: sandbox.Required}})}
	script := "#!/bin/sh\nexport HOSTILE_MARK=" + t.dir + "\nsetsid sleep 1000 &\nsetsid sh -c 'setsid sleep 1000; true' &\nwait\nsleep 1000\n"
	spec := b.put(t, pack(t, "provided.al2023", "bootstrap", map[string]string{"bootstrap": script}))
	_, _ = b.function(t, spec).Call(context.Background(), []byte("{}")) // killed
}
