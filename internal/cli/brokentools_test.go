package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// unreachable is an address at which nothing listens.
const unreachable = "http://127.0.0.1:1/"

// A brokenTools runs the READ handler of a project on a machine that lacks something.
type brokenTools struct {
	t       *testing.T
	dir     string
	environ []string
}

// fails checks that the command ends soon, with one error that has the texts, each once.
func (b *brokenTools) fails(what string, environ []string, want ...string) {
	b.t.Helper()
	begun := time.Now()
	code, out, errs := runIn(b.t.Context(), b.dir, slices.Concat(b.environ, environ), "invoke", "resource", "READ", "request.json")
	if code == 0 || strings.Count(errs, "\nhint: ")+strings.Count(errs, "hint: ") == 0 {
		b.t.Errorf("%s: %d\n%s%s\nwant an error with a hint", what, code, out, errs)
	}
	for _, text := range want {
		if strings.Count(errs, text) != 1 {
			b.t.Errorf("%s: %d\n%s\nwant %q once", what, code, errs, text)
		}
	}
	if took := time.Since(begun); took > debugPatience {
		b.t.Errorf("%s took %s", what, took)
	}
}

func (b *brokenTools) works(what string, environ ...string) {
	b.t.Helper()
	if code, out, errs := runIn(b.t.Context(), b.dir, slices.Concat(b.environ, environ), "invoke", "resource", "READ", "request.json"); code != 0 || !strings.Contains(out, "hello") {
		b.t.Errorf("%s: %d\n%s%s", what, code, out, errs)
	}
}

// tarball is an archive as package indexes have them.
func tarball(t *testing.T, files ...[2]string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for _, file := range files {
		err := archive.WriteHeader(&tar.Header{Name: file[0], Size: int64(len(file[1])), Mode: 0o644})
		if err == nil {
			_, err = archive.Write([]byte(file[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// TestPythonBrokenTools: what a machine lacks for handlers in Python is one error.
func TestPythonBrokenTools(t *testing.T) {
	dir, environ := pythonProject(t)
	b := &brokenTools{t, dir, environ}
	b.fails("no Python", []string{"PATH=" + t.TempDir()}, "there is no working Python 3 in the PATH", "hint: install it")
	bare := filepath.Join(t.TempDir(), "bare")
	if out, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", "--without-pip", bare).CombinedOutput(); err != nil {
		t.Skipf("python3 makes no environment: %v\n%s", err, out)
	}
	b.fails("no pip", []string{"PATH=" + filepath.Join(bare, "bin")}, "No module named pip", "hint: install pip for this Python")
	offline := []string{"PIP_NO_INDEX=", "PIP_FIND_LINKS=", "PIP_INDEX_URL=" + unreachable + "simple"}
	b.fails("offline", offline, "no connection for /simple/greeting/: ", "hint: pip reached no package index")
	b.works("with an index")
	b.works("offline with the libraries", offline...)

	// A package without a wheel is built, by a program of its own here.
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "needscompiler-1.0.tar.gz"), tarball(t,
		[2]string{"needscompiler-1.0/PKG-INFO", "Metadata-Version: 2.1\nName: needscompiler\nVersion: 1.0\n"},
		[2]string{"needscompiler-1.0/pyproject.toml", "[build-system]\nrequires = []\nbackend-path = ['.']\nbuild-backend = 'backend'\n"},
		[2]string{"needscompiler-1.0/backend.py", "import subprocess\n\n\ndef build_wheel(folder, settings=None, metadata=None):\n    print(\"error: command 'gcc' failed: No such file or directory\")\n    raise SystemExit(1)\n"},
	), 0o644); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "requirements.txt"), "needscompiler==1.0\n")
	b.fails("a compiler", []string{"PIP_FIND_LINKS=" + folder}, "hint: a package has to be compiled: install a C compiler")
}

// TestPythonWrongVersion: another version of Python is said, and what does not run with it is an error.
func TestPythonWrongVersion(t *testing.T) {
	dir, environ := pythonProject(t)
	settings, err := os.ReadFile(filepath.Join(dir, ".rpdk-config"))
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, ".rpdk-config"), strings.ReplaceAll(string(settings), "python3.12", "python3.99"))
	if code, _, errs := runIn(t.Context(), dir, environ, "invoke", "resource", "READ", "request.json"); code != 0 || strings.Count(errs, "there is no python3.99 in the PATH") != 1 {
		t.Errorf("%d\n%s", code, errs)
	}
}

// TestTypeScriptBrokenTools: what a machine lacks for handlers in TypeScript is one error.
func TestTypeScriptBrokenTools(t *testing.T) {
	dir, environ := typeScriptProject(t)
	b := &brokenTools{t, dir, environ}
	b.fails("no Node.js", []string{"PATH=" + t.TempDir()}, "there is no working Node.js in the PATH", "hint: install it")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	alone := t.TempDir()
	if err := os.Symlink(node, filepath.Join(alone, "node")); err != nil {
		t.Fatal(err)
	}
	packed := tarball(t, [2]string{"package/package.json", `{"name": "greeting", "version": "1.0.0"}`}, [2]string{"package/index.js", "exports.word = 'hello';\n"})
	sum := sha512.Sum512(packed)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			_, _ = w.Write(packed)
			return
		}
		_, _ = fmt.Fprintf(w, `{"name": "greeting", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": "greeting", "version": "1.0.0", "dist": {"tarball": "http://%s/greeting/-/greeting-1.0.0.tgz", "integrity": "sha512-%s"}}}}`,
			r.Host, base64.StdEncoding.EncodeToString(sum[:]))
	}))
	defer registry.Close()
	for _, name := range []string{"package-lock.json", "node_modules"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	writeText(t, filepath.Join(dir, "package.json"), `{"name": "acme", "version": "1.0.0", "private": true, "scripts": {"build": "node build.js"}, "dependencies": {"greeting": "1.0.0"}}`)
	writeText(t, filepath.Join(dir, "src", "handlers.ts"), "exports.entrypoint = async () => ({status: 'SUCCESS', resourceModel: {Id: require('greeting').word}});\n")
	b.fails("no npm", []string{"PATH=" + alone}, "there is no npm in the PATH", "hint: install Node.js with npm")
	b.fails("offline", nil, "hint: npm reached no registry")

	b.environ = append(b.environ, "npm_config_registry="+registry.URL)
	b.works("with a registry")
	registry.Close()
	if err := os.RemoveAll(filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	b.works("offline with a cache")
	// npm ci empties the folder that node_modules leads to.
	shared := filepath.Join(t.TempDir(), "shared")
	if err := os.Rename(filepath.Join(dir, "node_modules"), shared); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(shared, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(dir, "package.json")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, manifest, strings.Replace(string(text), "1.0.0", "1.0.1", 1))
	code, _, errs := runIn(b.t.Context(), b.dir, b.environ, "invoke", "resource", "READ", "request.json")
	modules := filepath.Join(dir, "node_modules")
	if want := "warning: " + modules + " leads to " + shared + ", which handlers do not see; pass --mount " + modules + " if they may read it\n"; sandbox.On.Active() && (code == 0 || strings.Count(errs, want) != 1) {
		t.Errorf("a link: %d\n%s\nwant %s", code, errs, want)
	}
	if code, out, errs := runIn(b.t.Context(), b.dir, b.environ, "invoke", "resource", "READ", "request.json", "--mount", modules); code != 0 || !strings.Contains(out, "hello") {
		t.Errorf("a link that is mounted: %d\n%s%s", code, out, errs)
	}
	writeText(t, manifest, strings.Replace(string(text), `"dependencies": {`, `"dependencies": {"other": "1.0.0", `, 1))
	b.fails("a link without a library", nil, "other is missing, and node_modules is a link", "hint: install them where the link leads")
	if _, err := os.Stat(filepath.Join(shared, "greeting", "index.js")); err != nil {
		t.Error(err)
	}
	writeText(t, manifest, string(text))
	writeText(t, filepath.Join(dir, "src", "handlers.ts"), "mistake")
	code, _, errs = runIn(t.Context(), dir, b.environ, "invoke", "resource", "READ", "request.json")
	if code == 0 || strings.Count(errs, "src/handlers.ts(1,1): error TS1: a mistake") != 1 {
		t.Errorf("a mistake: %d\n%s", code, errs)
	}
}

// TestJavaBrokenTools: without a repository, Maven says so, once and soon.
func TestJavaBrokenTools(t *testing.T) {
	needsJava(t)
	dir, home := javaProject(t, "hello"), t.TempDir()
	writeText(t, filepath.Join(dir, "pom.xml"), "<project/>")
	built := time.Now().Add(time.Minute) // after pom.xml
	if err := os.Chtimes(filepath.Join(dir, "target", "acme-foo-bar-handler-1.0-SNAPSHOT.jar"), built, built); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, ".m2"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(home, ".m2", "settings.xml"), "<settings><mirrors><mirror><id>test</id><mirrorOf>*</mirrorOf><url>"+unreachable+"</url></mirror></mirrors></settings>")
	options := "-Duser.home=" + home + " -Djava.io.tmpdir=" + t.TempDir()
	t.Run("client", func(t *testing.T) {
		t.Setenv("JAVA_TOOL_OPTIONS", options) // Lambda's client is fetched in the environment of the test
		b := &brokenTools{t, dir, os.Environ()}
		b.fails("no repository", nil, "Maven could not fetch Lambda's runtime interface client", "Connection refused", "hint: Maven reached no repository: connect once")
	})
	b := &brokenTools{t, dir, append(os.Environ(), "JAVA_TOOL_OPTIONS="+options)}

	// With Lambda's client, the jar has to be built: the source is newer.
	if code, _, errs := runIn(t.Context(), dir, os.Environ(), "invoke", "resource", "READ", "request.json", "--no-build"); code != 0 {
		t.Skipf("Maven has no repository here: %s", errs)
	}
	b.works("offline with everything")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "src", "main", "java", "Other.java"), later, later); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "pom.xml"), `<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId><version>1</version></project>`)
	b.fails("no repository for the build", nil, "the handlers failed to build", "hint: Maven reached no repository: connect once")
}
