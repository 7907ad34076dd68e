package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/build"
)

// packageIndex serves the wheels and archives of a folder as a package index on loopback.
func packageIndex(t *testing.T, dir string) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/files/", http.StripPrefix("/files/", http.FileServer(http.Dir(dir))))
	mux.HandleFunc("/simple/{name}/", func(w http.ResponseWriter, r *http.Request) {
		entries, _ := filepath.Glob(filepath.Join(dir, r.PathValue("name")+"-*"))
		if len(entries) == 0 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for _, entry := range entries {
			_, _ = fmt.Fprintf(w, "<a href=\"/files/%s\">%[1]s</a>\n", filepath.Base(entry))
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/simple"
}

// TestPythonArchitectures: a package has the wheels of its architecture, and is refused without one.
func TestPythonArchitectures(t *testing.T) {
	dir, environ := pythonProject(t)
	wheels := t.TempDir()
	environ = append(environ, "PIP_NO_INDEX=", "PIP_FIND_LINKS=", "PIP_INDEX_URL="+packageIndex(t, wheels))
	writeTagged(t, wheels, "native", "1.0", "cp312-cp312-manylinux2014_x86_64", "MACHINE = 'x86'\n")
	writeTagged(t, wheels, "native", "1.0", "cp312-cp312-manylinux_2_28_aarch64", "MACHINE = 'arm'\n")
	writeTagged(t, wheels, "onlyintel", "1.0", "cp312-cp312-manylinux2014_x86_64", "")
	native := func(args ...string) string {
		t.Helper()
		if code, _, errs := runIn(t.Context(), dir, environ, append([]string{"package"}, args...)...); code != 0 {
			t.Fatalf("%s: %d\n%s", args, code, errs)
		}
		data, err := os.ReadFile(filepath.Join(dir, "acme-foo-bar.zip"))
		if err != nil {
			t.Fatal(err)
		}
		return string(unzip(t, unzip(t, data)["ResourceProvider.zip"])["native.py"])
	}
	writeText(t, filepath.Join(dir, "requirements.txt"), "native==1.0\n")
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "x86"}, {[]string{"--arch", "arm64"}, "arm"}, {[]string{"--arch", "aarch64", "--no-build"}, "arm"}, {[]string{"--arch", "x86_64"}, "x86"},
	} {
		if got := native(test.args...); !strings.Contains(got, test.want) {
			t.Errorf("%s: packaged %q, want the wheel for %s", test.args, got, test.want)
		}
	}
	if code, _, errs := runIn(t.Context(), dir, environ, "package", "--arch", "sparc"); code == 0 || !strings.Contains(errs, `"sparc" is not an architecture of Lambda: use x86_64 or arm64`) {
		t.Errorf("another architecture: %d\n%s", code, errs)
	}

	writeText(t, filepath.Join(dir, "requirements.txt"), "onlyintel==1.0\n")
	if code, _, errs := runIn(t.Context(), dir, environ, "package", "--arch", "arm64"); code == 0 || !strings.Contains(errs, "onlyintel has no wheel for Lambda on arm64") && !strings.Contains(errs, "No matching distribution found for onlyintel") {
		t.Errorf("without a wheel: %d\n%s", code, errs)
	}
	// What is compiled here does not run there.
	if err := os.WriteFile(filepath.Join(wheels, "compiled-1.0.tar.gz"), tarball(t,
		[2]string{"compiled-1.0/PKG-INFO", "Metadata-Version: 2.1\nName: compiled\nVersion: 1.0\n"},
		[2]string{"compiled-1.0/pyproject.toml", "[build-system]\nrequires = []\nbackend-path = ['.']\nbuild-backend = 'backend'\n"},
		[2]string{"compiled-1.0/backend.py", `import os, zipfile


def build_wheel(folder, settings=None, metadata=None):
    name = "compiled-1.0-py3-none-any.whl"
    info = "compiled-1.0.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("compiled.so", "machine code")
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: compiled\nVersion: 1.0\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(info + "RECORD", "")
    return name
`},
	), 0o644); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "requirements.txt"), "compiled==1.0\n")
	foreign := map[bool]string{true: "x86_64", false: "arm64"}[build.ARM.Here()]
	for range 2 { // nothing is left of it
		if code, _, errs := runIn(t.Context(), dir, environ, "package", "--arch", foreign); code == 0 || !strings.Contains(errs, "building it here") || !strings.Contains(errs, "compiled.so was compiled for this machine and does not run in Lambda (Linux on ") {
			t.Errorf("compiled here: %d\n%s", code, errs)
		}
	}
}

// TestPythonOffline: without an index, the libraries are those that are there, if they fit.
func TestPythonOffline(t *testing.T) {
	dir, environ := pythonProject(t)
	b := &brokenTools{t, dir, environ}
	offline := []string{"PIP_NO_INDEX=", "PIP_FIND_LINKS=", "PIP_INDEX_URL=" + unreachable + "simple"}
	requirements := filepath.Join(dir, "requirements.txt")
	note := func(what, want string, environ ...string) {
		t.Helper()
		code, out, errs := runIn(t.Context(), dir, append(b.environ, environ...), "invoke", "resource", "READ", "request.json")
		if code != 0 || !strings.Contains(out, "hello") || strings.Count(errs, "warning: the libraries of requirements.txt cannot be installed; using those of "+want) != 1 {
			t.Errorf("%s: %d\n%s%s", what, code, out, errs)
		}
	}

	environment := filepath.Join(t.TempDir(), "environment")
	if out, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", "--without-pip", environment).CombinedOutput(); err != nil {
		t.Skipf("python3 makes no environment: %v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(environment, "lib", "python*", "site-packages"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the environment has the folders %s: %v", found, err)
	}
	wheels := t.TempDir()
	writeWheel(t, wheels, "1.0", "hello")
	wheel, err := os.ReadFile(filepath.Join(wheels, "greeting-1.0-py3-none-any.whl"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range unzip(t, wheel) {
		path := filepath.Join(found[0], filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeText(t, path, string(text))
	}
	active := append(offline, "VIRTUAL_ENV="+environment)
	b.fails("no environment", offline, "hint: pip reached no package index, and cannot use its cache without one: connect once, name a mirror with PIP_INDEX_URL, or download the wheels elsewhere with pip download")
	note("an active environment", found[0], active...)
	note("its own Python, without pip", filepath.Join(environment, "bin", "python3"), append(active, "PATH="+filepath.Join(environment, "bin"))...)
	writeText(t, requirements, "greeting>=2\n")
	b.fails("another version", active, "hint: pip reached no package index")

	writeText(t, requirements, "greeting==1.0\n")
	b.works("with an index")
	writeText(t, requirements, "# as before\ngreeting >= 1.0, < 2 ; python_version > '3'\nabsent ; python_version < '3'\n")
	note("former libraries", ".formwork/python/libraries-", offline...)
	writeText(t, requirements, "greeting>=1.0\nabsent\n")
	b.fails("another library", offline, "hint: pip reached no package index")
}

// TestPythonUV: uv installs the libraries where there is no pip, or where the project has its lockfile.
func TestPythonUV(t *testing.T) {
	dir, environ := pythonProject(t)
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	writeText(t, filepath.Join(bin, "uv"), `#!/bin/sh
echo "$@" >>`+log+`
while [ $# -gt 0 ]; do [ "$1" = --target ] && target=$2; shift; done
[ -z "$UV_FAILS" ] || { echo "error: Request failed: error sending request for url ($UV_FAILS): client error (Connect)" >&2; exit 2; }
echo "WORD = 'hello'" >"$target/greeting.py"
`)
	if err := os.Chmod(filepath.Join(bin, "uv"), 0o755); err != nil {
		t.Fatal(err)
	}
	environ = append(environ, "PATH="+bin+":"+os.Getenv("PATH"))
	b := &brokenTools{t, dir, environ}
	b.works("with pip")
	if _, err := os.Stat(log); err == nil {
		t.Error("uv was used though there is pip and no uv.lock")
	}
	writeText(t, filepath.Join(dir, "uv.lock"), "version = 1\n")
	writeText(t, filepath.Join(dir, "requirements.txt"), "greeting>=3\n")
	b.fails("offline", []string{"UV_FAILS=" + unreachable}, "hint: pip reached no package index")
	b.works("with uv.lock")
	if code, _, errs := runIn(t.Context(), dir, environ, "package", "--arch", "arm64"); code != 0 {
		t.Errorf("package: %d\n%s", code, errs)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	calls := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(calls) != 3 || !strings.Contains(calls[1], "pip install") || !strings.Contains(calls[1], "--requirement requirements.txt") || strings.Contains(calls[1], "--python-platform") ||
		!strings.Contains(calls[2], "--only-binary :all: --python-version 3.12 --python-platform aarch64-manylinux_2_34") {
		t.Errorf("uv was called with %q", calls)
	}

	if err := os.Remove(filepath.Join(dir, "uv.lock")); err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(t.TempDir(), "bare")
	if out, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", "--without-pip", bare).CombinedOutput(); err != nil {
		t.Skipf("python3 makes no environment: %v\n%s", err, out)
	}
	b.works("without pip", "PATH="+filepath.Join(bare, "bin")+":"+bin+":/usr/bin:/bin")
	if data, _ = os.ReadFile(log); strings.Count(string(data), "\n") != 4 {
		t.Errorf("without pip, uv was called with %q", data)
	}
}
