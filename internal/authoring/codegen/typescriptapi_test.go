package codegen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTypeScriptClient runs the tests of the client with Node.js, for each kind of protocol. They are compiled with all
// checks of the compiler.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	modules := officialTypeScript(t)
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for folder, api := range map[string]*frameAPI{"json": {ETag: true, Host: true, Among: true}, "restxml": {XML: true, S3: true}, "awsquery": {XML: true, Query: true}} {
		for _, name := range []string{"client", "wire", "xml"} {
			if name == "xml" && !api.XML {
				continue
			}
			text, err := render("typescript/"+name+".ts", frame{Marker: marker, API: api})
			if err != nil {
				t.Fatal(err)
			}
			if !api.XML && strings.Contains(string(text), "XML") {
				t.Errorf("%s.ts has code for XML in a project with JSON", name)
			}
			write(t, dir, folder+"/"+name+".ts", string(text))
		}
	}
	tests := []string{"client_test", "client_xml_test"}
	for _, name := range tests {
		text, err := os.ReadFile("testdata/" + name + ".ts.txt")
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name+".ts", string(text))
	}
	compileTypeScript(t, modules, dir)
	for _, name := range tests {
		runTypeScript(t, dir, name)
	}
}

// TestTypeScriptHandlers compiles each variant of the handlers, without dead code, and runs tests of one of them.
func TestTypeScriptHandlers(t *testing.T) {
	t.Parallel()
	modules := officialTypeScript(t)
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	drop := func(name string) func(map[string]any) { return func(b map[string]any) { delete(b, name) } }
	find := func(by string) func(map[string]any) {
		return func(b map[string]any) {
			b["find"] = map[string]any{"by": by, "properties": []string{"Name"}, "reason": "r"}
		}
	}
	for name, change := range map[string]func(map[string]any){
		"token": func(map[string]any) {}, "identifier": find("identifier"), "list": find("list"), "none": find("none"),
		"notags": drop("tags"), "nowait": drop("wait"), "nolist": drop("list"), "noupdate": drop("update"),
		"nosuccess": func(b map[string]any) { delete(inside(b, "wait"), "success") },
		"later":     func(b map[string]any) { inside(b, "create")["send"] = []any{} },
		"several":   func(b map[string]any) { inside(b, "read")["items"] = []string{"things"} },
		"hosts":     func(b map[string]any) { inside(b, "read")["host"] = "{Id}." },
		"revision": func(b map[string]any) {
			etag := map[string]any{"property": "Size", "in": "header", "at": []string{"ETag"}, "shape": map[string]any{"kind": "string"}, "live": true}
			inside(b, "read")["receive"], inside(b, "delete")["send"] = []any{etag}, []any{etag}
		},
		"restxml": func(b map[string]any) { b["protocol"], b["namespace"] = "restXml", "urn:shop" },
		"awsquery": func(b map[string]any) {
			b["protocol"], b["version"] = "awsQuery", "2026-01-01"
			for _, call := range []string{"create", "read", "delete", "list"} {
				inside(b, call)["result"] = "R"
			}
			delete(b, "update")
			delete(b, "tags")
		},
	} {
		s := thingSchema
		if name == "nolist" {
			s = strings.Replace(s, `, "list": {"permissions": []}`, "", 1)
		}
		files, err := Generate(Input{Schema: parse(t, s), Language: "typescript", Binding: binding(t, change)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range files {
			if filepath.Ext(f.Path) == ".ts" {
				write(t, dir, name+"/"+f.Path, string(f.Data))
			}
		}
	}
	text, err := os.ReadFile("testdata/handlers_test.ts.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "handlers_test.ts", string(text))
	compileTypeScript(t, modules, dir)
	runTypeScript(t, dir, "handlers_test")
}

// runTypeScript runs tests that were compiled.
func runTypeScript(t *testing.T, dir, name string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), "node", "--preserve-symlinks", "--test-reporter=spec", "dist/"+name+".js")
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil { // the failures are at the end
		t.Errorf("%s: %v\n%s", name, err, out[max(0, len(out)-8000):])
	}
}

// compileTypeScript compiles the sources of a folder to its folder dist, with all checks.
func compileTypeScript(t *testing.T, modules, dir string) {
	t.Helper()
	write(t, dir, "tsconfig.json", `{"compilerOptions": {"target": "ES2021", "module": "commonjs", "moduleResolution": "node", "strict": true,
		"noUnusedLocals": true, "noImplicitReturns": true, "esModuleInterop": true, "experimentalDecorators": true, "skipLibCheck": true, "types": ["node"], "outDir": "dist"},
		"include": ["**/*.ts"], "exclude": ["node_modules", "dist"]}`)
	compile := exec.CommandContext(t.Context(), filepath.Join(modules, ".bin", "tsc"))
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
}
