package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileDocuments: what exhausts other readers ends in an error that says what is
// wrong, for every command that reads a document that is named.
func TestHostileDocuments(t *testing.T) {
	dir := t.TempDir()
	const sound = `{"typeName": "Acme::Foo::Bar", "description": "A bar.", "additionalProperties": false,
 "properties": {"Id": {"type": "string"}%s},
 "primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "tagging": {"taggable": false}}`
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("sound.json", fmt.Sprintf(sound, ""))
	write("model.json", `{}`)
	const levels = 100_000
	files := []struct{ name, text, want string }{
		{"deep.json", strings.Repeat("[", levels) + strings.Repeat("]", levels), "deep.json:1:513: error: arrays and objects are nested deeper than 512 levels [document/too-deep]"},
		{"deeper.json", fmt.Sprintf(sound, `, "A": `+strings.Repeat(`{"properties": {"A": `, levels)+"{}"+strings.Repeat("}}", levels)), "are nested deeper than 512 levels [document/too-deep]"},
		{"deep.yaml", strings.Repeat("[", levels) + strings.Repeat("]", levels), "deep.yaml:1:513: error: arrays and objects are nested deeper than 512 levels [document/too-deep]"},
		{"list.yaml", strings.Repeat("- ", levels) + "a", "are nested deeper than 512 levels [document/too-deep]"},
		{"bomb.yaml", bomb("[%s]", 9), "error: the document has more than 131072 values here [document/too-large]"},
		{"mappings.yaml", bomb("{a: [%s]}", 2), "error: the document has more than 131072 values here [document/too-large]"},
		{"large.json", "", "large.json: error: the document is larger than 8388608 bytes [document/too-large]"},
		{"large.yaml", "", "large.yaml: error: the document is larger than 8388608 bytes [document/too-large]"},
	}
	for _, file := range files {
		write(file.name, file.text)
		if strings.HasPrefix(file.name, "large") { // with a hole: it takes no room on the disk
			if err := os.Truncate(filepath.Join(dir, file.name), 50<<20); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{
			{"validate", file.name},
			{"diff", "sound.json", file.name},
			{"drift", "compare", "--schema", file.name, "--expected", "model.json", "--actual", "model.json"},
			{"drift", "compare", "--schema", "sound.json", "--expected", "model.json", "--actual", file.name},
		} {
			code, stdout, stderr := runMain(t.Context(), dir, nil, args...)
			if out := stdout + stderr; code != exitFailure || !strings.Contains(out, file.want) || len(out) > 2000 {
				t.Errorf("%s: code %d, want %q in\n%.2000s", strings.Join(args, " "), code, file.want, out)
			}
		}
	}
	// Beside a sound schema they do not hide what is said of it.
	code, stdout, _ := runMain(t.Context(), dir, nil, "validate", "--lint", "off", "sound.json", "large.json", "bomb.yaml", "deep.json")
	if code != exitFailure || !strings.HasSuffix(stdout, "4 schemas checked: 3 errors, 0 warnings.\n") {
		t.Errorf("code %d\n%.2000s", code, stdout)
	}
}

// bomb is YAML in which each line stands for the one before several times.
func bomb(format string, times int) string {
	var b strings.Builder
	b.WriteString("typeName: Acme::Foo::Bar\nx0: &x0 {a: 1}\n")
	for i := 1; i < 40; i++ {
		aliases := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), times), ", ")
		fmt.Fprintf(&b, "x%d: &x%d "+format+"\n", i, i, aliases)
	}
	return b.String()
}

// TestHostilePatterns: matches that would never end are given up, and that is said.
func TestHostilePatterns(t *testing.T) {
	dir := t.TempDir()
	var properties strings.Builder
	for i := range 50 {
		fmt.Fprintf(&properties, `"P%d": {"type": "string", "pattern": "^(a+|%d)+$", "default": "%s!", "enum": ["%s!", "%s?"]},`,
			i, i, strings.Repeat("a", 40), strings.Repeat("a", 40), strings.Repeat("a", 50))
	}
	for name, text := range map[string]string{"one.json": `"P": {"type": "string", "pattern": "^(a+)+$", "default": "` + strings.Repeat("a", 60) + `!"},`, "many.json": properties.String()} {
		schema := `{"typeName": "Acme::Foo::Bar", "description": "A bar.", "additionalProperties": false, "properties": {` + text + `"Id": {"type": "string"}},
 "primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "tagging": {"taggable": false}}`
		if err := os.WriteFile(filepath.Join(dir, name), []byte(schema), 0o600); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := runMain(t.Context(), dir, nil, "validate", "--lint", "faults", name)
		if code != exitOK || !strings.Contains(stdout, "takes too long and was stopped [lint/pattern-slow]") {
			t.Errorf("%s: code %d\n%s%s", name, code, stdout, stderr)
		}
	}
}
