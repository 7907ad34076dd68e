package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/build"
)

// typeScriptProject writes a project whose "compiler" is a package of the test that copies sources,
// so that neither a network nor TypeScript is needed. Its library is a folder beside the project.
func typeScriptProject(t *testing.T) (dir string, environ []string) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), "npm", "--version").Run(); err != nil {
		t.Skip("npm is not installed")
	}
	dir = t.TempDir()
	for name, text := range map[string]string{
		".rpdk-config":      `{"artifact_type": "RESOURCE", "typeName": "Acme::Foo::Bar", "language": "typescript", "runtime": "nodejs14.x", "entrypoint": "dist/handlers.entrypoint", "testEntrypoint": "dist/handlers.testEntrypoint", "settings": {"protocolVersion": "2.0.0"}}`,
		"acme-foo-bar.json": `{"typeName": "Acme::Foo::Bar", "description": "d", "additionalProperties": false, "properties": {"Id": {"type": "string"}}, "handlers": {"read": {"permissions": ["a:b"]}}, "readOnlyProperties": ["/properties/Id"], "primaryIdentifier": ["/properties/Id"], "tagging": {"taggable": false}}`,
		"request.json":      `{"desiredResourceState": {"Id": "x"}}`,
		"list.json":         `{"desiredResourceState": {}}`,
		"package.json":      `{"name": "acme", "version": "1.0.0", "private": true, "files": ["dist"], "scripts": {"build": "node build.js"}}`,
		"package-lock.json": `{"name": "acme", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {"": {"name": "acme", "version": "1.0.0"}}}`,
		"build.js":          "const fs = require('fs');\nfs.mkdirSync('dist', {recursive: true});\nfor (const f of fs.readdirSync('src')) {\n  const text = fs.readFileSync('src/' + f, 'utf8');\n  if (text.includes('mistake')) { console.error(`src/${f}(1,1): error TS1: a mistake`); process.exit(2); }\n  fs.writeFileSync('dist/' + f.replace('.ts', '.js'), text);\n}\n",
		"src/handlers.ts":   "exports.entrypoint = async (event) => {\n  if (event.action === 'LIST') throw new Error('no list');\n  return {status: 'SUCCESS', resourceModel: {Id: 'hello'}};\n};\nexports.testEntrypoint = exports.entrypoint;\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeText(t, path, text)
	}
	return dir, append(os.Environ(), "npm_config_registry=http://127.0.0.1:1", "npm_config_cache="+t.TempDir(), "npm_config_userconfig="+os.DevNull, "npm_config_fetch_retries=0")
}

// TestTypeScriptRuns: the handlers are built once for each state of the sources.
func TestTypeScriptRuns(t *testing.T) {
	dir, environ := typeScriptProject(t)
	read := func(args ...string) (int, string, string) {
		return runIn(t.Context(), dir, environ, append([]string{"invoke", "resource", "READ", "request.json"}, args...)...)
	}
	if code, _, errs := read("--no-build"); code == 0 || !strings.Contains(errs, "the handlers are not built: dist/handlers.js does not exist") {
		t.Errorf("without a build: %d\n%s", code, errs)
	}
	code, out, errs := read()
	if code != 0 || !strings.Contains(out, "hello") || !strings.Contains(errs, "npm run build") {
		t.Fatalf("the first call: %d\n%s%s", code, out, errs)
	}
	if _, _, again := read(); strings.Contains(again, "the runtime is") {
		t.Errorf("the runtime is named at every call:\n%s", again)
	}
	if !strings.Contains(errs, "the runtime is nodejs14.x, and is run by Node.js") {
		t.Errorf("no word about the retired runtime:\n%s", errs)
	}
	if code, out, errs := read(); code != 0 || !strings.Contains(out, "hello") || strings.Contains(errs, "npm") {
		t.Errorf("the second call: %d\n%s%s", code, out, errs)
	}
	if code, out, errs := read("--function-name", "TestEntrypoint"); code != 0 || !strings.Contains(out, "hello") {
		t.Errorf("the test entrypoint: %d\n%s%s", code, out, errs)
	}
	handlers := filepath.Join(dir, "src", "handlers.ts")
	writeText(t, handlers, "exports.entrypoint = async () => ({status: 'SUCCESS', resourceModel: {Id: 'good evening'}});\n")
	if code, out, errs := read("--no-build"); code != 0 || !strings.Contains(out, "hello") || !strings.Contains(errs, "warning: a source was changed") {
		t.Errorf("--no-build: %d\n%s%s", code, out, errs)
	}
	if code, out, errs := read(); code != 0 || !strings.Contains(out, "good evening") {
		t.Errorf("other sources: %d\n%s%s", code, out, errs)
	}
	for range 2 { // a build that has failed is not taken for a good one
		writeText(t, handlers, "mistake")
		if code, _, errs := read(); code == 0 || !strings.Contains(errs, "src/handlers.ts(1,1): error TS1: a mistake") {
			t.Errorf("a mistake: %d\n%s", code, errs)
		}
	}
	writeText(t, filepath.Join(dir, "build.js"), "console.log(\"error TS2307: Cannot find module 'aws-sdk/clients/all'\"); process.exit(2);\n")
	if code, _, errs := read(); code == 0 || !strings.Contains(errs, "hint: the official library needs version 2 of aws-sdk") {
		t.Errorf("without the SDK: %d\n%s", code, errs)
	}
}

// TestTypeScriptShared: sources of a folder beside the project are compiled with it, and need their own packages.
func TestTypeScriptShared(t *testing.T) {
	dir, environ := typeScriptProject(t)
	parent := filepath.Dir(dir)
	writeText(t, filepath.Join(dir, "build.js"), "console.log(\"../common/src/base.ts(6,26): error TS2307: Cannot find module 'axios' or its corresponding type declarations.\"); process.exit(2);\n")
	if code, _, errs := runIn(t.Context(), dir, environ, "invoke", "resource", "READ", "request.json"); code == 0 || strings.Contains(errs, "hint:") {
		t.Errorf("a folder without package.json: %d\n%s", code, errs)
	}
	if err := os.MkdirAll(filepath.Join(parent, "common", "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(parent, "common", "package.json"), `{"name": "common", "version": "1.0.0"}`)
	if code, _, errs := runIn(t.Context(), dir, environ, "invoke", "resource", "READ", "request.json"); code == 0 || !strings.Contains(errs, "hint: the project compiles sources of ../common, whose packages are not installed: npm install --prefix ../common\n") {
		t.Errorf("a folder with package.json: %d\n%s", code, errs)
	}
}

// TestTypeScriptFailures: what goes wrong names the line, or what to do.
func TestTypeScriptFailures(t *testing.T) {
	dir, environ := typeScriptProject(t)
	run := func(args ...string) (int, string) {
		code, out, errs := runIn(t.Context(), dir, environ, args...)
		return code, out + errs
	}
	if code, text := run("invoke", "resource", "LIST", "list.json"); code == 0 || !strings.Contains(text, "no list") || !strings.Contains(text, "handlers.js:2") {
		t.Errorf("an exception: %d\n%s", code, text)
	}
	manifest := filepath.Join(dir, "package.json")
	writeText(t, manifest, `{"name": "acme", "version": "1.0.0", "dependencies": {"no-such-library": "1.0.0"}}`)
	if code, text := run("invoke", "resource", "READ", "request.json", "--no-build"); code == 0 || !strings.Contains(text, "no-such-library is missing") {
		t.Errorf("--no-build: %d\n%s", code, text)
	}
	if err := os.Remove(filepath.Join(dir, "package-lock.json")); err != nil {
		t.Fatal(err)
	}
	if code, text := run("invoke", "resource", "READ", "request.json"); code == 0 || !strings.Contains(text, "hint: npm reached no registry") {
		t.Errorf("no network: %d\n%s", code, text)
	}
	writeText(t, filepath.Join(dir, "yarn.lock"), "")
	if code, text := run("invoke", "resource", "READ", "request.json"); code == 0 || !strings.Contains(text, "hint: run yarn install") {
		t.Errorf("yarn: %d\n%s", code, text)
	}
	writeText(t, manifest, `{"name": "acme", "version": "1.0.0"}`)
	if err := os.RemoveAll(filepath.Join(dir, "dist")); err != nil {
		t.Fatal(err)
	}
	if code, text := run("invoke", "resource", "READ", "request.json"); code == 0 || !strings.Contains(text, "the build has not written dist/handlers.js") {
		t.Errorf("no build: %d\n%s", code, text)
	}
	writeText(t, filepath.Join(dir, "tsconfig.json"), "{}")
	if code, text := run("invoke", "resource", "READ", "request.json"); code == 0 || !strings.Contains(text, "has no package typescript") {
		t.Errorf("no compiler: %d\n%s", code, text)
	}
	writeText(t, manifest, `{`)
	if code, text := run("invoke", "resource", "READ", "request.json"); code == 0 || !strings.Contains(text, "read package.json") {
		t.Errorf("no JSON: %d\n%s", code, text)
	}
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	if code, text := run("invoke", "resource", "READ", "request.json"); code == 0 || !strings.Contains(text, "the project has no file package.json") {
		t.Errorf("no package.json: %d\n%s", code, text)
	}
}

// TestTypeScriptLockfile: a lockfile that lacks a library does not keep the handlers from running, and is not changed.
func TestTypeScriptLockfile(t *testing.T) {
	dir, environ := typeScriptProject(t)
	if err := os.Mkdir(filepath.Join(dir, "greeting"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "greeting", "package.json"), `{"name": "greeting", "version": "1.0.0", "main": "index.js"}`)
	writeText(t, filepath.Join(dir, "greeting", "index.js"), "module.exports = 'salut';\n")
	writeText(t, filepath.Join(dir, "package.json"), `{"name": "acme", "version": "1.0.0", "private": true, "files": ["dist"], "scripts": {"build": "node build.js"}, "dependencies": {"greeting": "file:greeting"}}`)
	writeText(t, filepath.Join(dir, "src", "handlers.ts"), "exports.entrypoint = async () => ({status: 'SUCCESS', resourceModel: {Id: require('greeting')}});\n")
	lockfile := filepath.Join(dir, "package-lock.json")
	before, err := os.ReadFile(lockfile)
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := runIn(t.Context(), dir, environ, "invoke", "resource", "READ", "request.json")
	if code != 0 || !strings.Contains(out, "salut") || !strings.Contains(errs, "warning: package-lock.json does not fit package.json") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	if after, err := os.ReadFile(lockfile); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the lockfile is now %s, %v", after, err)
	}
}

// TestTypeScriptPackage: the layout is the official one, and the same sources are the same bytes.
func TestTypeScriptPackage(t *testing.T) {
	dir, environ := typeScriptProject(t)
	archive := filepath.Join(dir, "acme-foo-bar.zip")
	var first []byte
	for range 2 {
		if code, _, errs := runIn(t.Context(), dir, environ, "package"); code != 0 {
			t.Fatalf("%d\n%s", code, errs)
		}
		data, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, data) {
			t.Error("two archives of the same project differ")
		}
		first = data
		for _, built := range []string{".formwork", "dist"} {
			if err := os.RemoveAll(filepath.Join(dir, built)); err != nil {
				t.Fatal(err)
			}
		}
	}
	outer := unzip(t, first)
	for _, name := range []string{".rpdk-config", "schema.json", ".cfn_metadata.json", "src/handlers.ts"} {
		if outer[name] == nil {
			t.Errorf("the archive has no %s", name)
		}
	}
	inner := unzip(t, outer["ResourceProvider.zip"])
	if inner["dist/handlers.js"] == nil || inner["package.json"] == nil || len(inner) != 2 {
		t.Errorf("ResourceProvider.zip has %d files", len(inner))
	}
	manifest := filepath.Join(dir, "package.json")
	writeText(t, manifest, `{"name": "acme", "version": "1.0.0", "private": true, "files": ["src"], "scripts": {"build": "node build.js"}}`)
	if code, _, errs := runIn(t.Context(), dir, environ, "package"); code == 0 || !strings.Contains(errs, "the package has no dist/handlers.js") {
		t.Errorf("without dist: %d\n%s", code, errs)
	}
	if code, _, errs := runIn(t.Context(), dir, environ, "package", "--no-build"); code == 0 {
		t.Errorf("--no-build: %d\n%s", code, errs)
	}
}

// TestTypeScriptArchitectures: npm installs the native modules of Lambda's platform, whatever this machine is. What is
// compiled here is packed only if it runs there.
func TestTypeScriptArchitectures(t *testing.T) {
	dir, environ := typeScriptProject(t)
	libraries := map[string]string{ // the key in a lockfile for the platform of each
		"native-linux-x64":   `"os": ["linux"], "cpu": ["x64"], "libc": ["glibc"]`,
		"native-linux-arm64": `"os": ["linux"], "cpu": ["arm64"], "libc": ["glibc"]`,
		"native-musl-x64":    `"os": ["linux"], "cpu": ["x64"], "libc": ["musl"]`,
		"native-musl-arm64":  `"os": ["linux"], "cpu": ["arm64"], "libc": ["musl"]`,
		"native-darwin":      `"os": ["darwin"], "cpu": ["x64", "arm64"]`,
		"native-win32":       `"os": ["win32"], "cpu": ["x64", "arm64"]`,
	}
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), ".tgz")
		files := [][2]string{{"package/package.json", `{"name": "` + name + `", "version": "1.0.0"}`}}
		switch {
		case name == "compiled":
			files = append(files, [2]string{"package/build/Release/addon.node", "machine code"})
		case libraries[name] == "":
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(tarball(t, files...)) // npm reports what it does not get
	}))
	defer registry.Close()
	environ = append(environ, "npm_config_registry="+registry.URL)
	// require writes package.json and its lockfile with optional libraries.
	require := func(packages map[string]string) {
		var wanted, locked []string
		for name, platform := range packages {
			wanted = append(wanted, `"`+name+`": "1.0.0"`)
			if platform != "" {
				platform = ", " + platform
			}
			locked = append(locked, `"node_modules/`+name+`": {"version": "1.0.0", "resolved": "`+registry.URL+"/"+name+`.tgz", "optional": true`+platform+`}`)
		}
		optional := `"optionalDependencies": {` + strings.Join(wanted, ", ") + `}`
		writeText(t, filepath.Join(dir, "package.json"), `{"name": "acme", "version": "1.0.0", "private": true, "files": ["dist"], "scripts": {"build": "node build.js"}, `+optional+`}`)
		writeText(t, filepath.Join(dir, "package-lock.json"), `{"name": "acme", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {"": {"name": "acme", "version": "1.0.0", `+optional+`}, `+strings.Join(locked, ", ")+`}}`)
	}
	require(libraries)
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "native-linux-x64"}, {[]string{"--arch", "arm64"}, "native-linux-arm64"}, {[]string{"--arch", "arm64", "--no-build"}, "native-linux-arm64"},
		{[]string{"--arch", "x86_64"}, "native-linux-x64"},
	} {
		if code, _, errs := runIn(t.Context(), dir, environ, append([]string{"package"}, test.args...)...); code != 0 {
			t.Fatalf("%s: %d\n%s", test.args, code, errs)
		}
		data, err := os.ReadFile(filepath.Join(dir, "acme-foo-bar.zip"))
		if err != nil {
			t.Fatal(err)
		}
		var packed []string
		for name := range unzip(t, unzip(t, data)["ResourceProvider.zip"]) {
			if library, ok := strings.CutPrefix(name, "node_modules/"); ok {
				packed = append(packed, strings.TrimSuffix(library, "/package.json"))
			}
		}
		if strings.Join(packed, " ") != test.want {
			t.Errorf("%s: packaged %s, want %s", test.args, packed, test.want)
		}
	}

	require(map[string]string{"compiled": ""})
	foreign, own := build.ARM, build.X86
	if build.ARM.Here() {
		foreign, own = own, foreign
	}
	if code, _, errs := runIn(t.Context(), dir, environ, "package", "--arch", foreign.Name); code == 0 ||
		!strings.Contains(errs, "addon.node was compiled for this machine and does not run in Lambda (Linux on "+foreign.Title+")") {
		t.Errorf("compiled here: %d\n%s", code, errs)
	}
	if code, _, errs := runIn(t.Context(), dir, environ, "package", "--arch", own.Name); (code == 0) != own.Here() {
		t.Errorf("compiled here for %s: %d\n%s", own.Name, code, errs)
	}
}

// TestTypeScriptExample runs the contract tests against the example, with the library of the official
// plug-in and the compiler that FORMWORK_CLIENTS has.
func TestTypeScriptExample(t *testing.T) {
	t.Parallel() // the library waits for a second in each call
	modules := filepath.Join(os.Getenv("FORMWORK_CLIENTS"), "typescript", "node_modules")
	if _, err := os.Stat(filepath.Join(modules, ".bin", "tsc")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("FORMWORK_CLIENTS has no folder typescript: see .ci/run")
		}
		t.Skip("FORMWORK_CLIENTS has no folder typescript with the library of the official plug-in")
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "example")
	if err := os.CopyFS(dir, os.DirFS("../../examples/tps-report-typescript")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(parent, "node_modules")); err != nil {
		t.Fatal(err)
	}
	// The library waits for a second at the end of each call, for logs that are not sent here.
	hurry := filepath.Join(dir, "hurry.cjs")
	writeText(t, hurry, "const wait = setTimeout;\nglobalThis.setTimeout = (f, ms, ...args) => wait(f, ms === 1000 ? 0 : ms, ...args);\n")
	reports := t.TempDir()
	environ := append(os.Environ(), "REPORTS_DIR="+reports)
	code, out, errs := runIn(t.Context(), dir, environ, "test", "--env", "REPORTS_DIR", "--env", "NODE_OPTIONS=--require="+hurry, "--mount", reports+":rw", "--mount", filepath.Join(parent, "node_modules"), "--time-scale", "1e6")
	if code != 0 || !strings.Contains(out, " 26 passed, 4 skipped ") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	if code, _, errs := runIn(t.Context(), dir, environ, "generate", "--check"); code != 0 {
		t.Errorf("the generated files of the example are stale: %s", errs)
	}
}

// TestTypeScriptLibraryErrors: errors in the declarations of libraries do not keep handlers from running, those of
// the handlers do.
func TestTypeScriptLibraryErrors(t *testing.T) {
	dir, environ := debugTypeScriptProject(t)
	library := filepath.Join(dir, "node_modules", "broken")
	if err := os.Mkdir(library, 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(library, "index.d.ts"), "export interface Wrong extends Missing {}\n")
	writeText(t, filepath.Join(library, "index.js"), "")
	handlers := filepath.Join(dir, "src", "handlers.ts")
	writeText(t, handlers, "import { Wrong } from 'broken';\n"+debugTypeScript+"export type Unused = Wrong;\n")
	code, out, errs := runIn(t.Context(), dir, environ, "invoke", "resource", "READ", "request.json")
	if code != 0 || !strings.Contains(out, "hello") || strings.Count(errs, "warning: only declarations of libraries have errors") != 1 || strings.Contains(errs, "error TS") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	writeText(t, handlers, "import { Wrong } from 'broken';\n"+debugTypeScript+"export const mistake: number = 'x';\nexport type Unused = Wrong;\n")
	if code, _, errs := runIn(t.Context(), dir, environ, "invoke", "resource", "READ", "request.json"); code == 0 || !strings.Contains(errs, "src/handlers.ts(15,14): error TS2322") || strings.Contains(errs, "only declarations") {
		t.Errorf("%d\n%s", code, errs)
	}
}
