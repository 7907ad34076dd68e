package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// archiveOf is an archive of a release in which cfn is a script.
func archiveOf(t *testing.T, script string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "cfn", Mode: 0o755, Size: int64(len(script))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestInstall(t *testing.T) {
	name := fmt.Sprintf("cfn_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	archive := archiveOf(t, "#!/bin/sh\necho cfn 1.2.3\n")
	broken := archiveOf(t, "#!/bin/sh\nexit 1\n")
	sums := fmt.Sprintf("%x  %s\n", sha256.Sum256(archive), name)
	files := map[string][]byte{
		"/good/" + name: archive, "/good/checksums.txt": []byte(sums),
		"/changed/" + name: archiveOf(t, "#!/bin/sh\ntouch harm\n"), "/changed/checksums.txt": []byte(sums),
		"/broken/" + name: broken, "/broken/checksums.txt": fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(broken), name),
		"/other/checksums.txt": []byte("00  cfn_plan9_mips.tar.gz\n"), "/cut/checksums.txt": []byte(sums),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, moved := strings.CutPrefix(r.URL.Path, "/moved/"); moved {
			http.Redirect(w, r, "/good/"+name, http.StatusFound) // not to https
			return
		}
		if data, ok := files[r.URL.Path]; ok {
			_, _ = w.Write(data)
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, args, want string }{
		{"a release", "--from " + server.URL + "/good", "Installed cfn 1.2.3 as "},
		{"a download that was changed", "--from " + server.URL + "/changed/", "nothing was installed"},
		{"another platform", "--from " + server.URL + "/other", "does not list " + name},
		{"half a release", "--from " + server.URL + "/cut", "cannot download " + server.URL + "/cut/" + name},
		{"a cfn that does not run", "--from " + server.URL + "/broken", "does not run on this machine"},
		{"no release", "--from " + server.URL + "/none", "cannot download " + server.URL + "/none/checksums.txt"},
		{"no folder", "--to " + blocked + "/bin --from " + server.URL + "/good", "cannot make the folder"},
		{"unknown option", "--dir x", "unknown option --dir"},
		{"no value", "--to", "option --to requires a value"},
		{"two sources", "--version 1.2.3 --from " + server.URL, "exclude each other"},
		{"another machine without TLS", "--from http://mirror.example/good", "http://mirror.example/good is not an https URL"},
		{"a name that begins like this machine's", "--from http://localhost.evil.example/good", "is not an https URL"},
		{"a user that is like this machine's name", "--from http://localhost:x@evil.example/good", "cannot download"},
		{"a file", "--from file:///tmp", "is not an https URL"},
		{"an address that leads elsewhere", "--from " + server.URL + "/moved", "cannot download " + server.URL + "/moved/checksums.txt"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			home := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "sh", append([]string{"../install.sh"}, strings.Fields(test.args)...)...)
			cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
			out, err := cmd.CombinedOutput()
			if !strings.Contains(string(out), test.want) {
				t.Errorf("%v\n%swant %q", err, out, test.want)
			}
			_, missing := os.Stat(filepath.Join(home, ".local/bin/cfn"))
			if good := test.name == "a release"; good != (err == nil) || good != (missing == nil) && !strings.HasPrefix(test.want, "does not run") {
				t.Errorf("%v, installed: %v", err, missing)
			}
			if left, _ := filepath.Glob(filepath.Join(home, "tmp*")); len(left) > 0 {
				t.Errorf("left over: %s", left)
			}
		})
	}
}

// TestInstallSignature: with minisign, a release whose checksums are not signed with the key is not installed.
// Without it, and without a key, the script says that it did not check the signature.
func TestInstallSignature(t *testing.T) {
	minisign, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("skipped: install the package minisign")
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), minisign, args...).CombinedOutput(); err != nil {
			t.Fatalf("minisign %q: %v\n%s", args, err, out)
		}
	}
	keys := map[string]string{}
	for _, name := range []string{"ours", "other"} {
		run("-G", "-W", "-p", filepath.Join(dir, name+".pub"), "-s", filepath.Join(dir, name+".key"))
		text, err := os.ReadFile(filepath.Join(dir, name+".pub"))
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = strings.Fields(string(text))[len(strings.Fields(string(text)))-1]
	}
	name := fmt.Sprintf("cfn_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	archive := archiveOf(t, "#!/bin/sh\necho cfn 1.2.3\n")
	sums := fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(archive), name)
	file := filepath.Join(dir, "checksums.txt")
	if err := os.WriteFile(file, sums, 0o600); err != nil {
		t.Fatal(err)
	}
	run("-S", "-W", "-s", filepath.Join(dir, "ours.key"), "-m", file)
	signature, err := os.ReadFile(file + ".minisig")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for folder, signature := range map[string][]byte{"signed": signature, "garbled": []byte("x"), "bare": nil, "changed": signature} {
		files["/"+folder+"/"+name], files["/"+folder+"/checksums.txt"] = archive, sums
		if signature != nil {
			files["/"+folder+"/checksums.txt.minisig"] = signature
		}
	}
	files["/changed/checksums.txt"] = append(bytes.Clone(sums), "00  another\n"...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if data, ok := files[r.URL.Path]; ok {
			_, _ = w.Write(data)
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	bare := t.TempDir() // a PATH without minisign
	for _, tool := range []string{"sh", "curl", "awk", "sha256sum", "cut", "tar", "gzip", "mktemp", "mkdir", "rm", "cp", "mv", "chmod", "uname"} {
		if path, err := exec.LookPath(tool); err == nil {
			link(t, path, filepath.Join(bare, tool))
		}
	}
	const nothing = "nothing was installed"
	for _, test := range []struct{ name, folder, key, path, want, hint string }{
		{"signed", "signed", keys["ours"], "", "Installed cfn 1.2.3", ""},
		{"another key", "signed", keys["other"], "", nothing, ""},
		{"not a key", "signed", "x", "", nothing, ""},
		{"changed after it was signed", "changed", keys["ours"], "", nothing, ""},
		{"not a signature", "garbled", keys["ours"], "", nothing, ""},
		{"no signature", "bare", keys["ours"], "", nothing, ""},
		{"no key", "signed", "", "", "Installed cfn 1.2.3", "but not its signature: there is no key yet"},
		{"no minisign", "signed", keys["ours"], bare, "Installed cfn 1.2.3", "but not its signature: minisign is not installed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			home := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "sh", "../install.sh", "--from", server.URL+"/"+test.folder)
			if test.key != "" {
				cmd.Args = append(cmd.Args, "--key", test.key)
			}
			cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
			if test.path != "" {
				cmd.Env = append(cmd.Env, "PATH="+test.path)
			}
			out, err := cmd.CombinedOutput()
			_, missing := os.Stat(filepath.Join(home, ".local/bin/cfn"))
			good := test.want != nothing
			if !strings.Contains(string(out), test.want) || strings.Contains(string(out), "but not its signature") != (test.hint != "") || !strings.Contains(string(out), test.hint) || good != (err == nil) || good != (missing == nil) {
				t.Errorf("%v, installed: %v\n%s", err, missing, out)
			}
		})
	}
}

// TestInstallThatIsCut: of a script that has not arrived as a whole, nothing runs.
func TestInstallThatIsCut(t *testing.T) {
	script, err := os.ReadFile("../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.TrimRight(string(script), "\n")
	last := strings.LastIndexByte(whole, '\n') + 1
	if whole[last:] != `{ main "$@"; }` {
		t.Fatalf("the last line is %q", whole[last:])
	}
	var cuts []int
	for i := range whole {
		if whole[i] == '\n' || i >= last {
			cuts = append(cuts, i)
		}
	}
	stubs, home := t.TempDir(), t.TempDir()
	for _, name := range []string{"curl", "wget", "uname", "mktemp", "mkdir", "rm", "tar"} {
		stub(t, filepath.Join(stubs, name), `touch "$HOME/harm"`)
	}
	ran := func(text string) bool {
		cmd := exec.CommandContext(t.Context(), "sh", "-s", "--", "--from", "http://127.0.0.1:1")
		cmd.Stdin, cmd.Env = strings.NewReader(text), []string{"HOME=" + home, "PATH=" + stubs + ":/usr/bin:/bin"}
		_ = cmd.Run() // a part of it is not a script
		return os.Remove(filepath.Join(home, "harm")) == nil
	}
	for _, cut := range cuts {
		if ran(whole[:cut]) {
			t.Errorf("the script runs up to %q", whole[max(0, cut-60):cut])
		}
	}
	if !ran(whole) {
		t.Error("the whole script does not run")
	}
}
