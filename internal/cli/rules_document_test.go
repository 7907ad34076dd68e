package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRulesDocument keeps docs/rules.md in step with the tables; with -update it is written.
func TestRulesDocument(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "rules.md")
	want := rulesDocumentText()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("docs/rules.md is not what the tables say (%v): go generate ./internal/cli", err)
	}
}

// printedID is an ID as problems are printed with it.
var printedID = regexp.MustCompile(`\[([a-z]+/[A-Za-z0-9-]+)\]`)

// TestExplanations: each explanation is complete, and every ID that a test expects to be
// printed has one.
func TestExplanations(t *testing.T) {
	all := allExplanations()
	seen := map[string]bool{}
	for _, e := range all {
		if seen[e.ID] {
			t.Errorf("%s is duplicated", e.ID)
		}
		seen[e.ID] = true
		if e.Purpose == "" || e.Why == "" || e.Severity == "" || !strings.HasSuffix(e.Purpose, ".") || !strings.HasSuffix(e.Why, ".") {
			t.Errorf("not complete: %+v", e)
		}
	}
	namespaces, printed := map[string]bool{}, 0
	for id := range seen {
		space, _, _ := strings.Cut(id, "/")
		namespaces[space] = true
	}
	scripts, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		content, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(`\[`, "[", `\]`, "]").Replace(string(content)) // expectations are patterns
		for _, found := range printedID.FindAllStringSubmatch(text, -1) {
			id := found[1]
			if space, _, _ := strings.Cut(id, "/"); !namespaces[space] {
				continue
			}
			printed++
			if !seen[id] {
				t.Errorf("%s: %s has no explanation", script, id)
			}
		}
	}
	if printed < 50 {
		t.Errorf("only %d IDs are printed by tests", printed)
	}
}
