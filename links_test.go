package formwork_test

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/docsite"
)

// TestLinks: each link of each document leads to a file of the repository, and to an anchor that
// it has, or is an address of the web that can be typed. The network is not used.
func TestLinks(t *testing.T) {
	files := map[string]bool{}
	var documents []string
	for _, name := range tracked(t) {
		if _, err := os.Stat(name); err != nil {
			continue // deleted, and not committed yet
		}
		for dir := name; dir != "."; dir = path.Dir(dir) {
			files[dir] = true
		}
		// Test data and templates of projects are no documents of this repository.
		if path.Ext(name) == ".md" && !strings.Contains(name, "testdata/") && !strings.Contains(name, "templates/") && !strings.HasPrefix(name, "internal/authoring/project/") {
			documents = append(documents, name)
		}
	}
	anchors, checked := map[string][]string{}, 0
	for _, name := range documents {
		data, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		if anchors[name] == nil {
			anchors[name] = docsite.Anchors(data)
		}
		for _, destination := range docsite.Links(data) {
			checked++
			if problem := brokenLink(name, destination, files, anchors); problem != "" {
				t.Errorf("%s: %s: %s", name, destination, problem)
			}
		}
	}
	if len(documents) < 50 || checked < 150 {
		t.Errorf("only %d links in %d documents were checked", checked, len(documents))
	}
}

func brokenLink(from, destination string, files map[string]bool, anchors map[string][]string) string {
	u, err := url.Parse(destination)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme == "https" && u.Host != "", u.Scheme == "http" && u.Hostname() == "127.0.0.1":
		return ""
	case u.Scheme != "" || u.Host != "" || strings.HasPrefix(u.Path, "/"):
		return "not an https address and not a path in the repository"
	}
	file := from
	if u.Path != "" {
		file = path.Join(path.Dir(from), u.Path)
	}
	if !files[file] {
		return "the file does not exist"
	}
	if u.Fragment == "" {
		return ""
	}
	if path.Ext(file) != ".md" {
		return "only documents have anchors"
	}
	if anchors[file] == nil {
		data, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			return err.Error()
		}
		anchors[file] = docsite.Anchors(data)
	}
	if !slices.Contains(anchors[file], u.Fragment) {
		return "the document has no such anchor"
	}
	return ""
}

// TestBrokenLink: the check finds what is broken.
func TestBrokenLink(t *testing.T) {
	files := map[string]bool{"docs": true, "docs/a.md": true, "docs/b.md": true, "README.md": true, "cmd/main.go": true}
	anchors := map[string][]string{"docs/a.md": {"one"}, "docs/b.md": {"two"}, "README.md": {}}
	for destination, want := range map[string]string{
		"b.md#two": "", "#one": "", "../README.md": "", "../cmd/main.go": "", "../docs": "", "https://example.org/x#y": "",
		"c.md": "the file does not exist", "b.md#one": "the document has no such anchor", "#two": "the document has no such anchor",
		"../../etc": "the file does not exist", "/docs/b.md": "not an https address and not a path in the repository",
		"http://example.org": "not an https address and not a path in the repository", "../cmd/main.go#L1": "only documents have anchors", "B.md": "the file does not exist",
	} {
		if got := brokenLink("docs/a.md", destination, files, anchors); got != want {
			t.Errorf("%s: %q, want %q", destination, got, want)
		}
	}
}

// TestPromises: every test that docs/security.md names for a promise exists where the page says.
func TestPromises(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\[((?:Test|Fuzz)\w+)\]\(\.\./([^)]+_test\.go)\)`).FindAllStringSubmatch(string(page), -1)
	if len(named) < 30 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, m := range named {
		source, err := os.ReadFile(filepath.FromSlash(m[2]))
		if err != nil || !strings.Contains(string(source), "\nfunc "+m[1]+"(") {
			t.Errorf("%s has no %s (%v)", m[2], m[1], err)
		}
	}
	below := false
	for line := range strings.Lines(string(page)) {
		// The tables of promises are below the attackers; a row has the promise and its tests.
		below = below || strings.HasPrefix(line, "## Attackers")
		row := below && strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| promise")
		if row && !strings.Contains(line, "_test.go)") {
			t.Errorf("this promise has no test: %s", line)
		}
	}
}
