package build

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// TestToolLimits: what the user has set about an unstable network stays.
func TestToolLimits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings")
	writeText(t, file, "[global]\nretries = 7\n; timeout = 3\nregistry=x\n")
	if got := unset([]string{"", file}, "retries", "A=1", "timeout", "B=1", "reg", "C=1"); !slices.Equal(got, []string{"B=1", "C=1"}) {
		t.Errorf("%q", got)
	}
}

// TestJavaIsBuilt: the jar is built if it does not exist or a source is newer.
func TestJavaIsBuilt(t *testing.T) {
	tools, dir := t.TempDir(), t.TempDir()
	writeText(t, filepath.Join(dir, "pom.xml"), "<project/>")
	jar := filepath.Join(dir, "target", "acme-foo-bar-1.jar")
	if err := os.WriteFile(filepath.Join(tools, "mvn"), []byte("#!/bin/sh\necho >> built\n[ -e target ] || { /bin/mkdir target; echo x > "+jar+"; }\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var notes strings.Builder
	c := testTools([]string{"PATH=" + tools}, &notes)
	p := &project.Project{Dir: dir, Settings: project.Settings{TypeName: "Acme::Foo::Bar", Language: "java"}}
	build := func(noBuild bool, runs int) {
		t.Helper()
		err := c.buildJava(t.Context(), p, noBuild)
		var unbuilt *project.BuildError
		if err != nil && (!noBuild || !errors.As(err, &unbuilt)) {
			t.Fatal(err)
		}
		done, _ := os.ReadFile(filepath.Join(dir, "built"))
		if len(done) != runs {
			t.Errorf("Maven ran %d times, want %d", len(done), runs)
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("the program of this test is a script")
	}
	build(true, 0)
	build(false, 1)
	build(false, 1)
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "pom.xml"), later, later); err != nil {
		t.Fatal(err)
	}
	build(true, 1)
	if !strings.Contains(notes.String(), "is older than pom.xml; using it as is") {
		t.Errorf("notes: %s", notes.String())
	}
	build(false, 2)
}

// TestTypeScriptAdvice: the cause that comes first is named, not what follows from it.
func TestTypeScriptAdvice(t *testing.T) {
	sdk := "node_modules/x/dist/proxy.d.ts(2,26): error TS2307: Cannot find module 'aws-sdk' or its corresponding type declarations.\n"
	for output, want := range map[string]string{
		"../../tsconfig.json(2,16): error TS6053: File '@tsconfig/node12/tsconfig.json' not found.\n" + sdk:                                                                                          "the repository has a package.json of its own, whose packages are not installed: npm install --prefix ../..",
		"node_modules/@amazon-web-services-cloudformation/cloudformation-cli-typescript-lib/dist/interface.d.ts(30,11): error TS2430: Interface 'Integer' incorrectly extends interface 'BigInt'.\n": `version 1.0.6 of the official library does not compile with this version of TypeScript: set it to "1.0.5" in package.json, and run npm install`,
		sdk: "the official library needs version 2 of aws-sdk: npm install aws-sdk@2",
		"tsconfig.json(2,16): error TS6053: File 'x' not found.\n": "",
		"src/handlers.ts(1,1): error TS1005: ';' expected.\n":      "",
	} {
		if got := typeScriptAdvice([]byte(output)); got != want {
			t.Errorf("%s: %q, want %q", output, got, want)
		}
	}
}

// TestInstallerFailures: what to do is found by what pip and npm print.
func TestInstallerFailures(t *testing.T) {
	for output, want := range map[string]string{
		"/usr/bin/python3: No module named pip": "python -m ensurepip",
		"NewConnectionError: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution": "PIP_INDEX_URL",
		"error: command 'gcc' failed: No such file or directory":                                                    "C compiler",
		"ERROR: Package 'x' requires a different Python: 3.11 not in '>=3.13'":                                      "does not support this Python",
		"ERROR: No matching distribution found for x":                                                               "check the name",
		"ERROR: Invalid requirement: '=='":                                                                          "correct requirements.txt",
	} {
		var hinted *diag.Hinted
		if err := pipError("x", "python3", io.EOF, output); !errors.As(err, &hinted) || !strings.Contains(hinted.Hint, want) {
			t.Errorf("%s: %v, want the hint %q", output, err, want)
		}
	}
	for output, want := range map[string]string{
		"npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync": "run npm install",
		"npm error code ERESOLVE":                                    "legacy-peer-deps",
		"npm error code ETARGET\nnpm error notarget No matching":     "check the name and the version",
		"npm error gyp ERR! find Python":                             "C++ compiler",
		"npm error code EBADENGINE\nnpm error Unsupported engine":    "does not support this Node.js",
		"npm error code E401":                                        "npm login",
		"npm error request to https://x failed, reason: ENOTFOUND x": "npm reached no registry",
	} {
		var hinted *diag.Hinted
		if err := npmError("ci", io.EOF, output); !errors.As(err, &hinted) || !strings.Contains(hinted.Hint, want) {
			t.Errorf("%s: %v, want the hint %q", output, err, want)
		}
	}
}

// TestForeignWheels: a library that an interpreter of the right version has installed for this machine is not packaged for
// another one, a program without modules neither.
func TestForeignWheels(t *testing.T) {
	c := testTools(nil, io.Discard)
	foreign, own := ARM, X86
	if ARM.Here() {
		foreign, own = own, foreign
	}
	for name, test := range map[string]struct {
		file, text, want string
		arch             Arch
		same             bool
	}{
		"a program":      {"tool-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-manylinux2014_x86_64\n", "tool has no wheel for Lambda on " + foreign.Title, foreign, true},
		"any platform":   {"tool-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n", "", foreign, true},
		"not of a wheel": {"tool/WHEEL", "Tag: py3-none-win_amd64\n", "", foreign, true},
		"a module":       {"tool/native.so", "", "native.so was compiled for this machine", foreign, true},
		"another Python": {"tool/native.so", "", "native.so was compiled for this machine", own, false},
		"the same":       {"tool/native.so", "", map[bool]string{false: "native.so was compiled"}[own.Here()], own, true},
	} {
		p := &project.Project{Settings: project.Settings{Runtime: "python3.12"}, Dir: t.TempDir()}
		path := filepath.Join(p.Dir, "libraries", filepath.FromSlash(test.file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeText(t, path, test.text)
		err := c.checkNative(p, "libraries", test.arch, test.same)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if files.Exists(p.Path("libraries")) != (err == nil) {
			t.Errorf("%s: the libraries are left over", name)
		}
	}
}

// TestBuildWithoutHome says what Go lacks where the environment names no home folder.
func TestBuildWithoutHome(t *testing.T) {
	dir := t.TempDir()
	c := testTools(nil, io.Discard)
	err := c.runBuild(t.Context(), dir, goBuild{"cmd", []string{"go", "build", "./cmd"}})
	var hinted *diag.Hinted
	var downstream *ToolError
	if !errors.As(err, &downstream) || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint, "set HOME, or set GOCACHE and GOPATH") {
		t.Errorf("the error is %v", err)
	}
}

// testTools are toolchains that print their messages to out.
func testTools(environ []string, out io.Writer) *Tools {
	getenv := func(name string) string {
		value, _ := envvar.Lookup(environ, name)
		return value
	}
	return &Tools{Config{
		Environ: environ, Getenv: getenv, Home: getenv("HOME"), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Note:  func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) },
		Doing: func(string, ...any) func() { return func() {} },
	}}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSilentRegistry: npm does not wait for a registry that accepts connections and never answers.
func TestSilentRegistry(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("npm is not installed")
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	before := registryPatience
	registryPatience = 200 * time.Millisecond
	defer func() { registryPatience = before }()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "package.json"), `{"name": "acme", "version": "1.0.0", "private": true, "dependencies": {"greeting": "1.0.0"}}`)
	c := testTools(append(os.Environ(), "npm_config_cache="+t.TempDir(), "npm_config_registry=http://"+silent.Addr().String()), io.Discard)
	p := &project.Project{Dir: dir, Settings: project.Settings{TypeName: "Acme::Foo::Bar", Language: "typescript", Runtime: "nodejs22.x", Entrypoint: "dist/handlers.entrypoint"}}
	_, err = c.Run(t.Context(), p, Options{})
	var hinted *diag.Hinted
	if err == nil || !strings.Contains(err.Error(), "ENOTCACHED") || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint, "npm reached no registry") {
		t.Errorf("the error is %v", err)
	}
}
