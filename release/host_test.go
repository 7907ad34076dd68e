package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostBuild is a release for this machine, which all tests share.
var hostBuild struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if hostBuild.dir != "" {
		_ = os.RemoveAll(hostBuild.dir)
	}
	os.Exit(code)
}

// hostRelease returns the folder of a release of version 1.2.3 for this machine.
func hostRelease(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the binary")
	}
	if runtime.GOOS != "linux" {
		t.Skip("skipped: the archive is for Linux")
	}
	hostBuild.once.Do(func() {
		if hostBuild.dir, hostBuild.err = os.MkdirTemp("", "formwork-release-"); hostBuild.err == nil {
			hostBuild.err = host(hostBuild.dir, "..", "1.2.3")
		}
	})
	if hostBuild.err != nil {
		t.Fatal(hostBuild.err)
	}
	return hostBuild.dir
}

// TestHost installs the archive and the Debian package as users do, each into an empty folder, and
// runs the tour of the documentation with it: in one shell, in a fresh clone, with an empty home, a PATH without
// any other cfn, and no network. The archive leaves out the tests in stacks, which take longest.
func TestHost(t *testing.T) {
	dist := hostRelease(t)
	server := httptest.NewServer(http.FileServer(http.Dir(dist)))
	t.Cleanup(server.Close)
	script := commandsOf(t, "tour.md", "cfn init", "cfn validate", "make -C", "cfn test\n", "cfn test --in-stack\n", "cfn package", "cfn serve -- cfn submit")
	for _, test := range []struct {
		name, needs, install string
		bin, man, bash, docs string
		without              string
	}{
		{"archive", "curl", `curl -fsSL "$RELEASE/install.sh" | sh -s -- --from "$RELEASE" && curl -fsSL "$RELEASE"/cfn_linux_` + runtime.GOARCH + `.tar.gz | tar -xz -C "$BARE"`,
			"home/.local/bin", "man", "completions/cfn.bash", "", "cfn test --in-stack\n"},
		{"deb", "dpkg", `mkdir -p "$BARE/var/lib/dpkg/updates" "$BARE/var/lib/dpkg/info" && touch "$BARE/var/lib/dpkg/status" && dpkg --root="$BARE" --force-not-root --log=/dev/null -i "$DIST"/cfn_linux_*.deb`,
			"usr/bin", "usr/share/man/man1", "usr/share/bash-completion/completions/cfn", "usr/share/doc/cfn-formwork", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(test.needs); err != nil {
				t.Skipf("skipped: %s is not installed", test.needs)
			}
			bare, clone := t.TempDir(), filepath.Join(t.TempDir(), "formwork")
			gotool, err := exec.LookPath("go")
			if err != nil {
				t.Fatal(err)
			}
			r := &runner{T: t, env: []string{
				"HOME=" + filepath.Join(bare, "home"), "TMPDIR=" + filepath.Join(bare, "tmp"), "DIST=" + dist, "RELEASE=" + server.URL, "BARE=" + bare, "CLONE=" + clone,
				"PATH=" + strings.Join([]string{filepath.Join(bare, test.bin), "/usr/sbin", "/usr/bin", "/sbin", "/bin", filepath.Dir(gotool)}, ":"),
				"GOPROXY=off", "GOMODCACHE=" + filepath.Join(bare, "modules"), "GOCACHE=" + goEnv(t, "GOCACHE"), "GOPATH=" + filepath.Join(bare, "go"),
			}}
			r.sh("..", `mkdir -p "$CLONE" "$HOME" "$TMPDIR" && git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -c 2>&- | tar -x -C "$CLONE"`)
			r.sh(bare, test.install)
			if version, err := r.try(clone, "cfn --version && type -a cfn"); err != nil || version != "cfn 1.2.3\ncfn is "+filepath.Join(bare, test.bin, "cfn")+"\n" {
				t.Fatalf("%v\n%s", err, version)
			}
			for file, want := range map[string]string{
				test.man + "/cfn.1": ".SH SYNOPSIS", test.man + "/cfn-deploy.1": ".SH SYNOPSIS", test.bash: "__start_cfn",
				test.docs + "/licenses/github.com/spf13/cobra/LICENSE.txt": "Apache License", test.docs + "/licenses/go/LICENSE": "The Go Authors",
			} {
				if text, err := os.ReadFile(filepath.Join(bare, file)); err != nil || !bytes.Contains(text, []byte(want)) {
					t.Errorf("%s has no %q: %v", file, want, err)
				}
			}
			if out, err := r.try(clone, "set -ux\n"+strings.Replace(script, test.without, "", 1)); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

var commandBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// leaves marks a command of the documentation that is meant to fail.
var leaves = regexp.MustCompile(`(?m)^# leaves (\d+)\n(.*)$`)

// commandsOf returns the commands of a page of the documentation, which has those that are given.
func commandsOf(t *testing.T, page string, has ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, block := range commandBlock.FindAllStringSubmatch(string(text), -1) {
		script.WriteString(block[1])
	}
	for _, command := range has {
		if !strings.Contains(script.String(), command) {
			t.Fatalf("%s has no %q:\n%s", page, command, &script)
		}
	}
	return leaves.ReplaceAllString(script.String(), "( $2 ) && code=0 || code=$$?; [ $$code = $1 ]")
}

// TestHostIsReproducible: a second build of the binary has the same bytes, and so have the packages of
// files that were written at another time, in another folder.
func TestHostIsReproducible(t *testing.T) {
	dist := hostRelease(t)
	config, err := hostConfig("..", "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "cfn")
	if err := compile("..", binary, config); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	eachFile(t, filepath.Join(dist, "cfn_linux_"+runtime.GOARCH+".tar.gz"), func(h *tar.Header, content []byte) {
		names = append(names, h.Name)
		if h.Uname != "root" || h.Gname != "root" || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s belongs to %s:%s", h.Name, h.Uname, h.Gname)
		}
		if want := map[bool]int64{true: 0o755, false: 0o644}[h.Name == "cfn"]; h.Mode != want {
			t.Errorf("%s has mode %o, want %o", h.Name, h.Mode, want)
		}
		if h.Name == "cfn" && !bytes.Equal(content, again) {
			t.Error("a second build of cfn differs")
		}
	})
	for _, want := range []string{"cfn", "LICENSE", "README.md", "CHANGELOG.md", "completions/_cfn", "completions/cfn.ps1", "man/cfn-test.1", "licenses/go/LICENSE"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in the archive", want)
		}
	}
	var packages [2]map[string]string
	for i := range packages {
		made := t.TempDir()
		for name, text := range map[string]string{"cfn": "binary", "man/cfn.1": "page", "completions/cfn.bash": "a", "completions/_cfn": "b", "completions/cfn.fish": "c", "licenses/go/LICENSE": "d", "licenses/x.test/y/NOTICE": "e"} {
			file := filepath.Join(made, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644), os.Chtimes(file, time.Time{}, time.Unix(int64(i)*1e6, 0))); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		if err := pack(dir, sources{root: "..", made: made}, "1.2.3", config); err != nil {
			t.Fatal(err)
		}
		packages[i] = map[string]string{}
		for _, name := range []string{"cfn_linux_" + runtime.GOARCH + ".tar.gz", "cfn_linux_" + runtime.GOARCH + ".deb", "checksums.txt", "install.sh"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			packages[i][name] = string(data)
		}
	}
	for name, data := range packages[0] {
		if data != packages[1][name] {
			t.Errorf("%s differs", name)
		}
	}
}

// eachFile visits the files of an archive.
func eachFile(t *testing.T, archive string, visit func(*tar.Header, []byte)) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		visit(h, content)
	}
}

// TestDebFolders: everyone can read what the package installs; the modes of files are not those of folders.
func TestDebFolders(t *testing.T) {
	dist := hostRelease(t)
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("skipped: dpkg-deb is not installed")
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `dpkg-deb -c "$1"/*.deb && dpkg-deb -f "$1"/*.deb`, "sh", dist).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		mode, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(mode, "d") && mode != "drwxr-xr-x" || strings.HasPrefix(mode, "-") && mode != "-rw-r--r--" && !strings.HasSuffix(line, " ./usr/bin/cfn\n") {
			t.Error(line)
		}
	}
	for _, want := range []string{"Package: cfn-formwork\n", "Version: 1.2.3\n", "Section: devel\n", "Architecture: " + runtime.GOARCH + "\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// TestReadConfig: this program and GoReleaser have one configuration.
func TestReadConfig(t *testing.T) {
	config, err := readConfig("..", "1.2.3", "arm64", time.Unix(1795000000, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	if a := config.Archives[0]; a.NameTemplate != "cfn_linux_arm64" || a.BuildsInfo.Mode != 0o755 || a.Files[0].Info.Mode != 0o644 || a.Files[0].Info.MTime.Unix() != 1795000000 {
		t.Errorf("%+v", a)
	}
	if b := config.Builds[0]; !strings.Contains(b.Ldflags[0], "-X main.version=1.2.3") || b.Binary != "cfn" {
		t.Errorf("%+v", b)
	}
	if p := config.NFPMs[0]; p.PackageName != "cfn-formwork" || p.Contents[0].FileInfo.Mode != 0o644 || p.MTime.Unix() != 1795000000 {
		t.Errorf("%+v", p)
	}
	root := t.TempDir()
	if _, err := readConfig(root, "1", "amd64", time.Now()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder without the configuration: %v", err)
	}
	for text, want := range map[string]string{
		"builds: [{main: '{{ .Unknown }}'}]": "Unknown", "builds: [}": ".goreleaser.yaml: ", "builds: [{main: a}, {main: b}]": "2 builds, 0 archives and 0 nfpms",
	} {
		if err := os.WriteFile(filepath.Join(root, ".goreleaser.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readConfig(root, "1", "amd64", time.Now()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, _, err := (sources{root: root}).expand("missing/*"); err == nil || !strings.Contains(err.Error(), "no file matches missing/*") {
		t.Errorf("a pattern without files: %v", err)
	}
}
