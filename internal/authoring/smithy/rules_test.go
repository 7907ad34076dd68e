package smithy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRules runs each rule on the model in testdata/rules that bears its name. The lines
// "// want [SEVERITY] shape: message | id" are events that there must be; messages may be
// cut short. A rule without a model, and a model without a rule, fail.
func TestRules(t *testing.T) {
	models := map[string]string{}
	files, err := filepath.Glob("testdata/rules/*.smithy")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		models[strings.TrimSuffix(filepath.Base(file), ".smithy")] = file
	}
	for _, r := range rules {
		file := models[r.id]
		delete(models, r.id)
		if file == "" {
			t.Errorf("the rule %s has no model in testdata/rules", r.id)
			continue
		}
		t.Run(r.id, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, events := Load([]Source{{File: file, Data: data}}, Config{Strict: true})
			if events.hasErrors() {
				t.Fatal(events)
			}
			events = Validate(m, events)
			wants := 0
			for line := range strings.Lines(string(data)) {
				want, is := strings.CutPrefix(strings.TrimSpace(line), "// want ")
				if !is {
					continue
				}
				wants++
				found := false
				for _, e := range events {
					found = found || matchesLine(e, want) && (e.At.Start.Line > 0)
				}
				if !found {
					t.Errorf("no event is like %s\n%v", want, events)
				}
			}
			if wants == 0 {
				t.Error("the model says nothing of what is wanted")
			}
		})
	}
	for name := range models {
		t.Errorf("testdata/rules/%s.smithy is not named for a rule", name)
	}
}
