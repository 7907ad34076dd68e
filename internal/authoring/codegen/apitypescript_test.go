package codegen

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTypeScriptClient runs the tests of the client with Node.js. It is compiled with all checks of the compiler.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	modules := officialTypeScript(t)
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"client", "wire"} {
		text, err := render("typescript/"+name+".ts", frame{Marker: marker})
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name+".ts", string(text))
	}
	tests, err := os.ReadFile("testdata/client_test.ts.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "client_test.ts", string(tests))
	compileTypeScript(t, modules, dir)
	run := exec.CommandContext(t.Context(), "node", "--preserve-symlinks", "--test-reporter=tap", "dist/client_test.js")
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.8000s", err, out)
	}
}

// compileTypeScript compiles the sources of a folder to its folder dist, with all checks.
func compileTypeScript(t *testing.T, modules, dir string) {
	t.Helper()
	write(t, dir, "tsconfig.json", `{"compilerOptions": {"target": "ES2021", "module": "commonjs", "moduleResolution": "node", "strict": true,
		"noUnusedLocals": true, "noImplicitReturns": true, "esModuleInterop": true, "experimentalDecorators": true, "skipLibCheck": true, "types": ["node"], "outDir": "dist"},
		"include": ["*.ts"]}`)
	compile := exec.CommandContext(t.Context(), filepath.Join(modules, ".bin", "tsc"))
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
}
