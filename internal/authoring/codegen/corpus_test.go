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
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// corpus returns the published schemas of resources and hooks.
func corpus(t testing.TB) []*schema.Schema {
	t.Helper()
	var files []string
	for _, dir := range []string{"schemas/aws", "schemas/third-party", "schemas/cli-accept", "schemas/cli-hooks"} {
		root := fixtures.Dir(t, dir)
		err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".json" && filepath.Base(path) != "index.json" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.DeleteFunc(load(t, files...), func(s *schema.Schema) bool {
		return s.Kind != schema.Resource && s.Kind != schema.Hook || s.Root.Get("typeName") == nil && s.Root.Get("handlers") == nil
	})
}

// sample returns about sixty of the schemas.
func sample(schemas []*schema.Schema) []*schema.Schema {
	var out []*schema.Schema
	for i := 0; i < len(schemas); i += len(schemas)/60 + 1 {
		out = append(out, schemas[i])
	}
	return out
}

// slowCorpus returns a sample of the published schemas, for compilers that take minutes for all of them.
// FORMWORK_CORPUS=all selects all.
func slowCorpus(t testing.TB) []*schema.Schema {
	t.Helper()
	if os.Getenv("FORMWORK_CORPUS") == "all" {
		return corpus(t)
	}
	return sample(corpus(t))
}

func load(t testing.TB, files ...string) []*schema.Schema {
	t.Helper()
	var out []*schema.Schema
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := schema.Load(path, data, schema.Config{}); s != nil {
			out = append(out, s)
		}
	}
	return out
}

// exceptions lists schemas whose models do not come back unchanged, with the reason.
// A schema that is listed and does come back fails the test.
var exceptions = map[string]string{}

// TestModelsOfPublishedSchemas generates the models of every published schema into one
// module, compiles and vets it without a network, and sends values made from the schemas
// through every type.
func TestModelsOfPublishedSchemas(t *testing.T) {
	schemas := corpus(t)
	nasty := load(t, "testdata/schemas/names.json", "testdata/schemas/shapes.json")
	if testing.Short() {
		schemas = sample(schemas)
	}
	if !testing.Short() && len(schemas) < 622+70 {
		t.Errorf("there are %d schemas: some are not found", len(schemas))
	}
	schemas = append(nasty, schemas...)
	dir := t.TempDir()
	write(t, dir, "go.mod", "module corpus.test\n\ngo 1.26\n")
	var program strings.Builder
	program.WriteString("package main\n\nimport (\n")
	var cases bytes.Buffer
	var list strings.Builder
	for i, s := range schemas {
		name := fmt.Sprintf("p%03d", i)
		source, err := goModel(name, s.TypeName.Value, s)
		if err != nil {
			t.Errorf("%s: %v", s.File, err)
			continue
		}
		write(t, dir, name+"/model_gen.go", string(source))
		if s.Kind == schema.Hook {
			fmt.Fprintf(&program, "\t_ \"corpus.test/%s\"\n", name)
			continue
		}
		fmt.Fprintf(&program, "\t\"corpus.test/%s\"\n", name)
		fmt.Fprintf(&list, "\t%q: func() any { return new(%s.Model) },\n", name, name)
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
	program.WriteString(")\n\nvar models = map[string]func() any{\n" + list.String() + "}\n")
	write(t, dir, "main.go", program.String())
	loop, err := os.ReadFile("testdata/roundtrip.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "loop.go", string(loop))

	gocmd(t, dir, nil, "build", "-trimpath", "-o", "roundtrip", ".")
	gocmd(t, dir, nil, "vet", "-trimpath", "./...")
	run := exec.Command(filepath.Join(dir, "roundtrip"))
	run.Stdin, run.Stderr = &cases, os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	failed := map[string]bool{}
	for scanner := bufio.NewScanner(bytes.NewReader(out)); scanner.Scan(); {
		file, what, _ := strings.Cut(scanner.Text(), "\t")
		failed[file] = true
		if exceptions[file] == "" {
			t.Errorf("%s: %s", file, what)
		}
	}
	for file, reason := range exceptions {
		if !failed[file] && !testing.Short() {
			t.Errorf("%s comes back unchanged: remove it from exceptions (%s)", file, reason)
		}
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// gocmd runs the go command without a network and without a workspace.
func gocmd(t testing.TB, dir string, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local")
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		text := string(out)
		if len(text) > 4000 {
			text = text[:4000]
		}
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, text)
	}
}

// A generator makes values that have the form a schema describes. It walks the schema
// itself and shares nothing with the code under test. Constraints on the size and the
// text of values are not its subject.
type generator struct {
	schema *schema.Schema
	random *rand.Rand
	int32  bool // no integers outside of 32 bits
}

func (g *generator) value(node *document.Value, depth int) any {
	parts := g.parts(node, 0)
	var types []string
	var allowed []any
	for _, p := range parts {
		if c := p.Get("const"); c != nil && allowed == nil {
			allowed = []any{c.Any()}
		}
		if e := p.Get("enum"); e != nil && len(e.Items) > 0 && allowed == nil {
			for _, item := range e.Items {
				allowed = append(allowed, item.Any())
			}
		}
		own := p.Get("type").Strings()
		if one := p.Get("type"); one != nil && one.Kind == document.String && one.Text != "RESOURCE" {
			own = []string{one.Text}
		}
		switch both := intersection(types, own); {
		case len(types) == 0:
			types = own
		case len(both) > 0:
			types = both
		}
	}
	if len(allowed) > 0 {
		return allowed[g.random.IntN(len(allowed))]
	}
	if len(types) == 0 {
		types = guess(parts)
	}
	switch types[g.random.IntN(len(types))] {
	case "string":
		return []string{"", "a", "<b> & \"c\"", "déjà vu\n", "5", "true", "null"}[g.random.IntN(7)]
	case "integer":
		if g.int32 {
			return []json.Number{"0", "1", "-7", "2147483647", "-2147483648"}[g.random.IntN(5)]
		}
		for _, p := range parts {
			if m := p.Get("maximum"); m != nil && len(m.Text) > 19 && !strings.ContainsAny(m.Text, ".eE") {
				return json.Number(m.Text) // more than 64 bits
			}
		}
		return []json.Number{"0", "1", "-7", "2147483648", "9007199254740993", "9223372036854775807"}[g.random.IntN(6)]
	case "number":
		return []json.Number{"0", "1", "-2.5", "1e-7", "6.02e23", "0.1", "123456789.125"}[g.random.IntN(7)]
	case "boolean":
		return g.random.IntN(2) == 0
	case "null":
		return nil
	case "array":
		return g.list(parts, depth)
	case "anything":
		return []any{"x", json.Number("12345678901234567890.5"), true, []any{nil, "y"}, map[string]any{"Deep": map[string]any{}}}[g.random.IntN(5)]
	}
	return g.object(parts, depth)
}

func intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// guess says what untyped nodes are about.
func guess(parts []*document.Value) []string {
	for _, p := range parts {
		for keyword, name := range map[string]string{
			"properties": "object", "patternProperties": "object", "required": "object", "additionalProperties": "object",
			"items": "array", "pattern": "string", "minLength": "string", "maxLength": "string",
		} {
			if p.Get(keyword) != nil {
				return []string{name}
			}
		}
	}
	return []string{"anything"}
}

// parts returns the node and what it combines: one alternative of oneOf and of anyOf, all of allOf.
func (g *generator) parts(node *document.Value, depth int) []*document.Value {
	target, err := g.schema.Resolve(node)
	if err != nil || target == nil || depth > 8 {
		return nil
	}
	out := []*document.Value{target}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if list := target.Get(keyword); list != nil && len(list.Items) > 0 {
			out = append(out, g.parts(list.Items[g.random.IntN(len(list.Items))], depth+1)...)
		}
	}
	if list := target.Get("allOf"); list != nil {
		for _, item := range list.Items {
			out = append(out, g.parts(item, depth+1)...)
		}
	}
	return out
}

func (g *generator) list(parts []*document.Value, depth int) any {
	out := []any{}
	for _, p := range parts {
		if item := p.Get("items"); item != nil {
			for range g.random.IntN(3) {
				if depth > 12 {
					break
				}
				out = append(out, g.value(item, depth+1))
			}
			return out
		}
	}
	if g.random.IntN(2) == 0 {
		out = append(out, "x", json.Number("1.50"), map[string]any{"Any": true}, nil)
	}
	return out
}

func (g *generator) object(parts []*document.Value, depth int) any {
	out := map[string]any{}
	fixed := false
	for _, p := range parts {
		for _, m := range membersOf(p.Get("properties")) {
			fixed = true
			if depth < 12 && g.random.IntN(10) < 7 {
				if v := g.value(m.Value, depth+1); v != nil {
					out[m.Key] = v
				}
			}
		}
		for _, m := range membersOf(p.Get("patternProperties")) {
			fixed = true
			if depth < 12 && g.random.IntN(10) < 7 {
				out[fmt.Sprintf("key%d", g.random.IntN(9))] = g.value(m.Value, depth+1)
			}
		}
	}
	if !fixed && g.random.IntN(2) == 0 {
		out["Statement"] = []any{map[string]any{"Effect": "Allow", "Big": json.Number("12345678901234567890"), "None": nil}}
	}
	return out
}

func membersOf(v *document.Value) []document.Member {
	if v == nil {
		return nil
	}
	return v.Members
}
