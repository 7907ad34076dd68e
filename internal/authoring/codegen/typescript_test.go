package codegen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// officialTypeScript is a node_modules with the library of the official TypeScript plug-in and the
// compiler.
func officialTypeScript(t *testing.T) string {
	t.Helper()
	modules := filepath.Join(os.Getenv("FORMWORK_CLIENTS"), "typescript", "node_modules")
	_, err := os.Stat(filepath.Join(modules, ".bin", "tsc"))
	if _, missing := exec.LookPath("node"); err != nil || missing != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("FORMWORK_CLIENTS has no folder typescript, or node is not installed: see .ci/run")
		}
		t.Skip("FORMWORK_CLIENTS has no folder typescript with the library of the official plug-in, or node is not installed")
	}
	return modules
}

// typeScriptExceptions lists schemas whose models in TypeScript do not come back unchanged, with
// the reason.
var typeScriptExceptions = map[string]string{}

// TestTypeScriptModelsOfPublishedSchemas generates the models of published schemas, compiles them with
// all checks, and sends values made from the schemas through the model of the resource.
func TestTypeScriptModelsOfPublishedSchemas(t *testing.T) {
	modules := officialTypeScript(t)
	schemas := slowCorpus(t)
	schemas = append(load(t, "testdata/schemas/names.json", "testdata/schemas/shapes.json"), schemas...)
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	var cases bytes.Buffer
	for i, s := range schemas {
		if s.Kind == schema.Hook {
			continue
		}
		name := fmt.Sprintf("p%03d", i)
		write(t, dir, name+".ts", string(typeScriptModels(s)))
		random := rand.New(rand.NewPCG(20260101, uint64(i)))
		rounds := 4
		if strings.HasPrefix(s.File, "testdata") {
			rounds = 300
		}
		for range rounds {
			g := &generator{schema: s, random: random}
			line, err := json.Marshal(map[string]any{"package": name, "file": filepath.Base(s.File), "value": g.value(s.Root, 0)})
			if err != nil {
				t.Fatal(err)
			}
			cases.Write(append(line, '\n'))
		}
	}
	loop, err := os.ReadFile("testdata/roundtrip.ts.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "roundtrip.ts", string(loop))
	compileTypeScript(t, modules, dir)
	run := exec.CommandContext(t.Context(), "node", "--preserve-symlinks", "dist/roundtrip.js")
	run.Dir, run.Stdin = dir, &cases
	var problems bytes.Buffer
	run.Stderr = &problems
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%.4000s", err, &problems)
	}
	failed := map[string]bool{}
	for scanner := bufio.NewScanner(bytes.NewReader(out)); scanner.Scan(); {
		file, what, _ := strings.Cut(scanner.Text(), "\t")
		failed[file] = true
		if typeScriptExceptions[file] == "" {
			t.Errorf("%s: %.500s", file, what)
		}
	}
	t.Logf("%d schemas, %d not unchanged", len(schemas), len(failed))
}

// TestCommentsOfHandlersCompile: what the comments of generated handlers use is imported.
func TestCommentsOfHandlersCompile(t *testing.T) {
	text, err := templates.ReadFile("templates/typescript/handlers.ts")
	if err != nil {
		t.Fatal(err)
	}
	imported, rest, _ := strings.Cut(string(text), "} from '@amazon")
	for _, m := range regexp.MustCompile(`\b(exceptions|[A-Z]\w+)(?:\.[A-Z]\w+|\.\w+[<(])`).FindAllStringSubmatch(rest, -1) {
		if name := m[1]; name != "ResourceModel" && !strings.Contains(imported, "    "+name+",\n") {
			t.Errorf("%s is not imported", name)
		}
	}
}
