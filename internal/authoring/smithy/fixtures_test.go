package smithy

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// filesOf lists the files below a folder that end in one of the suffixes, by their paths
// within it.
func filesOf(t *testing.T, dir string, suffixes ...string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) }) {
			name, err := filepath.Rel(dir, path)
			out = append(out, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatalf("%s holds no cases", dir)
	}
	return out
}

func readSource(t testing.TB, dir, name string) Source {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return Source{File: name, Data: data}
}

// TestLoaderValid checks that the IDL loads to the AST beside it.
func TestLoaderValid(t *testing.T) {
	dir, l := fixtures.Dir(t, "smithy/loader-valid"), openLedger(t)
	for _, name := range filesOf(t, dir, ".smithy") {
		l.check(t, "loader-valid", name, func() string {
			idl, events := Load([]Source{readSource(t, dir, name)}, Config{})
			if events.hasErrors() {
				return fmt.Sprint(events)
			}
			ast, events := Load([]Source{readSource(t, dir, strings.TrimSuffix(name, ".smithy")+".json")}, Config{})
			if events.hasErrors() {
				return fmt.Sprint(events)
			}
			return firstDifference("", AST(idl).Any(), AST(ast).Any())
		}())
	}
	l.close(t, "loader-valid")
}

// TestLoaderInvalid checks the error that the first line of each file names.
func TestLoaderInvalid(t *testing.T) {
	dir, l := fixtures.Dir(t, "smithy/loader-invalid"), openLedger(t)
	for _, name := range filesOf(t, dir, ".smithy") {
		source := readSource(t, dir, name)
		want, _, _ := strings.Cut(string(source.Data), "\n")
		want = strings.TrimSpace(strings.TrimPrefix(want, "//"))
		m, events := Load([]Source{source}, Config{Strict: true})
		events = Validate(m, events)
		wrong := ""
		if !slices.ContainsFunc(events, func(e Event) bool { return e.Severity >= WarningSeverity && strings.Contains(e.String(), want) }) {
			wrong = fmt.Sprintf("no event has %q: %v", want, events)
		}
		l.check(t, "loader-invalid", name, wrong)
	}
	l.close(t, "loader-invalid")
}

// TestTraitErrors and TestValidators compare all events with those that a file lists.
func TestTraitErrors(t *testing.T) { checkEvents(t, "trait-errors") }

func TestValidators(t *testing.T) { checkEvents(t, "validators") }

func checkEvents(t *testing.T, group string) {
	dir, l := fixtures.Dir(t, "smithy/"+group), openLedger(t)
	for _, name := range filesOf(t, dir, ".errors") {
		base := strings.TrimSuffix(name, ".errors")
		model := base + ".smithy"
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(model))); err != nil {
			model = base + ".json"
		}
		m, events := Load([]Source{readSource(t, dir, model)}, Config{Strict: true})
		events = Validate(m, events)
		l.check(t, group, base, unexpectedEvents(events, string(readSource(t, dir, name).Data)))
	}
	l.close(t, group)
}

// unexpectedEvents compares events with lines of "[SEVERITY] shape: message | id": each
// line must match an event and each event a line, but for suppressed ones and what is
// deprecated in the language.
func unexpectedEvents(events Events, lines string) string {
	var wrong []string
	matched := make([]bool, len(events))
	for line := range strings.SplitSeq(lines, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		found := false
		for i, e := range events {
			if matchesLine(e, line) {
				found, matched[i] = true, true
			}
		}
		if !found {
			wrong = append(wrong, "missing "+line)
		}
	}
	for i, e := range events {
		if !matched[i] && e.Severity != SuppressedSeverity && e.ID != modelDeprecation {
			wrong = append(wrong, "unexpected "+e.String())
		}
	}
	return strings.Join(wrong, "\n\t")
}

func matchesLine(e Event, line string) bool {
	end := strings.LastIndex(line, " | ")
	id, _, _ := strings.Cut(line[end+3:], " ")
	prefix := strings.TrimSpace(line[:end])
	own := e.String()
	return strings.HasPrefix(own, prefix) && (e.ID == id || strings.HasPrefix(e.ID, id+"."))
}
