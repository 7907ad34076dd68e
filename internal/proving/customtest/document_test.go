package customtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocument holds the tables of the document to those of the tests and of the rules.
func TestDocument(t *testing.T) {
	data, err := os.ReadFile("../../../docs/custom-resources.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	rows := 0
	for i := range cases {
		if row := fmt.Sprintf("| `%s` | %s |\n", cases[i].Name(), cases[i].Clause); !strings.Contains(text, row) {
			t.Errorf("docs/custom-resources.md lacks %s", row)
		}
	}
	for _, rule := range Rules() {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", rule.ID, rule.Section, rule.Text); !strings.Contains(text, row) {
			t.Errorf("docs/custom-resources.md lacks %s", row)
		}
		rows++
	}
	if got := strings.Count(text[strings.Index(text, "### Rules"):], "\n| `"); got != rows {
		t.Errorf("docs/custom-resources.md has %d rules, want %d", got, rows)
	}
}
