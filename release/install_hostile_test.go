package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestInstallRemovesNothingElse runs install.sh where names are not what it expects: it removes its
// temporary folder and an unfinished copy of cfn, and no other file. A stub of curl serves the
// release; the last column runs in it, before the archive is copied.
func TestInstallRemovesNothingElse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: install.sh is for Linux and macOS")
	}
	release := t.TempDir()
	name := fmt.Sprintf("cfn_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	archive := archiveOf(t, "#!/bin/sh\necho cfn 1.2.3\n")
	for file, data := range map[string][]byte{name: archive, "checksums.txt": fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(archive), name)} {
		if err := os.WriteFile(filepath.Join(release, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, want, temp, to string
		prepare              func(t *testing.T, top string)
		during               string
	}{
		{"a folder with spaces", "Installed cfn 1.2.3", "with a space", "bin with space", nil, ""},
		{"TMPDIR is a link", "Installed cfn 1.2.3", "linked", "bin", func(t *testing.T, top string) { link(t, "precious", filepath.Join(top, "linked")) }, ""},
		{"TMPDIR begins with a dash", "Installed cfn 1.2.3", "-rf", "bin", func(t *testing.T, top string) { writeBelow(t, top, "-rf/keep") }, ""},
		{"TMPDIR is missing", "cannot make a temporary folder", "missing", "bin", nil, ""},
		{"TMPDIR is unset", "Installed cfn 1.2.3", "", "bin", nil, ""},
		{"the folder is a link", "Installed cfn 1.2.3", "precious", "bin", func(t *testing.T, top string) { link(t, "precious", filepath.Join(top, "bin")) }, ""},
		{"cfn is a link", "Installed cfn 1.2.3", "precious", "bin", func(t *testing.T, top string) { link(t, "../precious/a", filepath.Join(top, "bin/cfn")) }, ""},
		{"cfn is a link to a folder", "cfn is a folder", "precious", "bin", func(t *testing.T, top string) { link(t, "../precious", filepath.Join(top, "bin/cfn")) }, ""},
		{"cfn is a folder", "cfn is a folder", "precious", "bin", func(t *testing.T, top string) { writeBelow(t, top, "bin/cfn/keep") }, ""},
		{"the temporary folder becomes a link", "nothing was installed", "precious", "bin", nil, `rm -r "$dir" && ln -s "$TOP/other" "$dir" && echo changed >"$TOP/other/$name" && exit 0`},
		{"ended while it downloads", "", "precious", "bin", nil, `kill -TERM $PPID; sleep 0.1; exit 0`},
		{"interrupted", "", "precious", "bin", nil, `kill -INT $PPID; exit 130`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			check := precious(t, filepath.Join(top, "precious"))
			for _, dir := range []string{"with a space", "other", "system", "stubs"} {
				if err := os.Mkdir(filepath.Join(top, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if test.prepare != nil {
				test.prepare(t, top)
			}
			stub(t, filepath.Join(top, "stubs/curl"), `for file; do :; done; name=${file##*/}; [ "$1 $2 $3 $4" = "--proto =http --proto-redir =https" ] || exit 9; shift 8; dir=${1%/*}; case $name in cfn*) `+test.during+`
;; esac; cp -- "$FILES/$name" "$1"`)
			if test.temp == "" { // where mktemp would use /tmp, which others use as well
				stub(t, filepath.Join(top, "stubs/mktemp"), `[ -z "${TMPDIR+x}" ] && [ "$1" = -d ] && { mkdir "$TOP/system/made" && echo "$TOP/system/made"; exit; }; exec /usr/bin/mktemp "$@"`)
			}
			installer, err := filepath.Abs("../install.sh")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "sh", installer, "--from", "http://127.0.0.1:1", "--to", filepath.Join(top, test.to))
			cmd.Dir = top
			cmd.Env = []string{"HOME=" + filepath.Join(top, "home"), "PATH=" + filepath.Join(top, "stubs") + ":/usr/bin:/bin", "FILES=" + release, "TOP=" + top}
			if test.temp == "-rf" {
				cmd.Env = append(cmd.Env, "TMPDIR=-rf")
			} else if test.temp != "" {
				cmd.Env = append(cmd.Env, "TMPDIR="+filepath.Join(top, test.temp))
			}
			out, err := cmd.CombinedOutput()
			if !strings.Contains(string(out), test.want) || (err == nil) != strings.HasPrefix(string(out), "Installed") {
				t.Errorf("%v\n%swant %q", err, out, test.want)
			}
			if test.to == "bin" {
				_ = os.Remove(filepath.Join(top, "precious/cfn")) // installed there on purpose
			}
			check()
			for _, pattern := range []string{"system/*", "with a space/*", "bin/.cfn*", "-rf/tmp*", "bin/cfn/.cfn*", "home"} {
				if left, _ := filepath.Glob(filepath.Join(top, pattern)); len(left) > 0 {
					t.Errorf("left over: %s", left)
				}
			}
			for _, kept := range []string{"-rf/keep", "bin/cfn/keep"} {
				if test.temp == filepath.Dir(kept) || test.name == "cfn is a folder" && kept == "bin/cfn/keep" {
					if _, err := os.Stat(filepath.Join(top, kept)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

func stub(t *testing.T, file, script string) {
	t.Helper()
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}
