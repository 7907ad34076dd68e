package formwork_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func readText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// guides are the pages for users.
func guides(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"README.md", "docs/*.md", "sdk/*.md", "examples/*/README.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		names = append(names, found...)
	}
	return names
}

// TestOfficialVersions: the pages name one version of the official tool and of each plugin, which are
// those that CI compares cfn with.
func TestOfficialVersions(t *testing.T) {
	installed := readText(t, ".ci/run")
	version := func(program string) string {
		m := regexp.MustCompile(`\b` + program + `==([0-9.]+)`).FindStringSubmatch(installed)
		if m == nil {
			t.Fatalf(".ci/run does not install %s", program)
		}
		return m[1]
	}
	tool := version("cloudformation-cli")
	named := regexp.MustCompile(`\b0\.2\.[0-9]{2}\b`)
	for _, name := range guides(t) {
		for _, found := range named.FindAllString(readText(t, name), -1) {
			if found != tool {
				t.Errorf("%s names version %s of the official tool; CI compares with %s", name, found, tool)
			}
		}
	}
	for _, name := range []string{"docs/compatibility.md", "docs/languages.md"} {
		for language, plugin := range map[string]string{"Go": "go", "Python": "python", "TypeScript": "typescript", "Java": "java"} {
			if want := language + " " + version("cloudformation-cli-"+plugin+"-plugin"); !strings.Contains(readText(t, name), want) {
				t.Errorf("%s does not name the plugin for %s", name, want)
			}
		}
	}
}

var (
	released    = regexp.MustCompile(`(?m)^## v?[0-9]`)
	ofRelease   = regexp.MustCompile(`formwork@v[0-9]|rev: v[0-9]|brew install|install\.sh \\?\| sh|cfn@latest|(pip|npm) install formwork`)
	notReleased = regexp.MustCompile(`(?i)not available yet|no version has been released yet|there is no release|there is none yet`)
)

// TestNotReleased: before the first release, a page that shows how to use one says that there is none.
func TestNotReleased(t *testing.T) {
	if released.MatchString(readText(t, "CHANGELOG.md")) {
		t.Fatal("there is a release: remove this test, and what the pages say about its absence")
	}
	seen := 0
	for _, name := range guides(t) {
		text := readText(t, name)
		use := ofRelease.FindStringIndex(text)
		if use == nil {
			continue
		}
		seen++
		if said := notReleased.FindStringIndex(text); said == nil || said[0] > use[0] {
			t.Errorf("%s uses a release (%s) before it says that there is none yet", name, text[use[0]:use[1]])
		}
	}
	if seen < 2 {
		t.Errorf("%d pages use a release", seen)
	}
}

// TestPageOfCI: docs/ci.md lists the inputs of the action with their defaults, and its hooks of pre-commit exist.
func TestPageOfCI(t *testing.T) {
	page, hooks := readText(t, "docs/ci.md"), readText(t, ".pre-commit-hooks.yaml")
	inputs, _, _ := strings.Cut(readText(t, "action.yml"), "\nruns:")
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z-]+):\n    description: .*\n    default: "?([^"\n]*)`).FindAllStringSubmatch(inputs, -1) {
		want = append(want, m[1]+"="+m[2])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (?:`([^`]*)`)?.* \\|").FindAllStringSubmatch(page, -1) {
		got = append(got, m[1]+"="+m[2])
	}
	if slices.Sort(want); len(want) == 0 {
		t.Fatal("action.yml has no inputs")
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the page lists the inputs %q, want %q", got, want)
	}
	for _, m := range regexp.MustCompile(`- id: ([a-z-]+)`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(hooks, "- id: "+m[1]+"\n") {
			t.Errorf("there is no hook %s", m[1])
		}
	}
	files := regexp.MustCompile(`(?s)id: cfn-generate.*files: '(.*)'`).FindStringSubmatch(hooks)
	for _, name := range []string{"acme-site-page.json", "cmd/resource/model_gen.go", "src/acme_site_page/models.py", "src/models.ts", "src/main/java/a/Create.java", ".rpdk-config"} {
		if files == nil || !regexp.MustCompile(files[1]).MatchString(name) {
			t.Errorf("the hook cfn-generate does not run for %s", name)
		}
	}
}
