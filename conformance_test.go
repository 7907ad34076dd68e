package formwork_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestConformanceNamesTests: each test that docs/conformance.md names exists in the package that is
// named before it, and each row names one or says what is not here.
func TestConformanceNamesTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile("`(local|internal/[a-z0-9/]+)`|\\b(Test[A-Z]\\w*)")
	sources, rows := map[string]string{}, 0
	for i, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.HasPrefix(line, "|---") || strings.TrimSpace(cells[2]) == "tests" {
			continue
		}
		rows++
		pkg, named := "", 0
		for _, m := range parts.FindAllStringSubmatch(cells[2], -1) {
			switch {
			case m[1] != "":
				pkg = m[1]
				if _, read := sources[pkg]; !read {
					sources[pkg] = testSources(t, pkg)
				}
			case !strings.Contains(sources[pkg], "\nfunc "+m[2]+"(t *testing.T)"):
				t.Errorf("docs/conformance.md:%d: %s has no test %s", i+1, pkg, m[2])
			default:
				named++
			}
		}
		if named == 0 {
			t.Errorf("docs/conformance.md:%d: no test", i+1)
		}
	}
	if rows < 30 {
		t.Errorf("%d rows", rows)
	}
}

// TestTemplatesLedger: the counts of public templates in docs/conformance.md are those of the ledger, which has a reason for
// each template that fails.
func TestTemplatesLedger(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join("local", "testdata", "templates-ledger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ledger map[string]struct {
		Commit    string
		Templates int
		Failing   map[string]struct{ Failure, Reason string }
	}
	if err := json.Unmarshal(data, &ledger); err != nil || len(ledger) == 0 {
		t.Fatal(len(ledger), err)
	}
	for repository, list := range ledger {
		for file, why := range list.Failing {
			if why.Failure == "" || why.Reason == "" {
				t.Errorf("%s: %s has no reason", repository, file)
			}
		}
		want := regexp.MustCompile(regexp.QuoteMeta("`"+repository+"` (commit "+list.Commit) + "[^)]*" + regexp.QuoteMeta(fmt.Sprintf("): `cfn serve` %d of %d,", list.Templates-len(list.Failing), list.Templates)))
		if !want.Match(text) {
			t.Errorf("docs/conformance.md does not have %s", want)
		}
	}
}

// testSources are the tests of a package.
func testSources(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(pkg), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", pkg, err)
	}
	var b strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	return b.String()
}
