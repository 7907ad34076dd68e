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
