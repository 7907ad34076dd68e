package formwork_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// phrases that nobody writes any more, and what to write instead: docs/style.md.
var phrases = []struct{ pattern, instead string }{
	{`tells? whether`, "reports whether"},
	{`nobody answers`, "nothing is listening"},
	{`nobody is there`, "there is no terminal"},
	{`to say yes`, "pass --yes"},
	{`stands? behind`, "after"},
	{`how it goes on`, "to see its result, run …"},
	{`goes on (from|without|where)`, "resumes, continues"},
	{`is no (time|number|version|zip|project|pointer|property|object|regular)\b`, "is not a …"},
	{`talk to it, and`, "use it"},
	{`whose access key is none`, "when the access key is not an account number"},
	{`as far as they follow any`, "may ignore these variables"},
	{`there are no such`, "no … match"},
	{`so far (its|cfn)`, "today"},
	{`stands? (twice|beside|alone|in the indentation)`, "is duplicated, is set beside, …"},
	{`(is|are) told of`, "is notified, receives"},
	{`that cfn serve told`, "printed by cfn serve"},
	{`bears (the|a|another)`, "has"},
	{`nothing speaks against`, "no problems found"},
	{`no service is asked`, "no service is called"},
}

// styled are the sources and documents that were read against docs/style.md. A document or
// a package that is read next is added here.
var styled = []string{
	"README.md", "CONTRIBUTING.md", "docs/*.md", "docs/decisions/*.md", "internal/bundle/*.go", "internal/cli/*.go", "internal/codegen/*.go",
	"internal/diag/*.go", "internal/document/*.go", "internal/drift/*.go", "internal/httptape/*.go", "internal/invoke/*.go",
	"internal/lint/*.go", "internal/lsp/*.go", "internal/project/*.go", "internal/sample/*.go", "internal/schema/*.go",
	"internal/smithy/*.go", "internal/store/*.go", "internal/submit/*.go", "internal/template/*.go",
}

// unstyled are files in these places with owners that have not read them yet.
var unstyled = regexp.MustCompile(`^internal/cli/(test\w*|\w+_test|template|types_import)\.go$`)

// TestWords keeps the phrases of the list out of messages, comments and documents. A row
// of the table in docs/style.md quotes what not to write.
func TestWords(t *testing.T) {
	compiled := make([]*regexp.Regexp, len(phrases))
	for i, p := range phrases {
		compiled[i] = regexp.MustCompile(`(?i)\b(` + p.pattern + `)\b`)
	}
	read := 0
	for _, pattern := range styled {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, name := range slices.DeleteFunc(files, unstyled.MatchString) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			read++
			for n, line := range strings.Split(string(data), "\n") {
				if strings.HasPrefix(line, "| ") && name == "docs/style.md" {
					continue
				}
				for i, p := range phrases {
					if found := compiled[i].FindString(line); found != "" {
						t.Errorf("%s:%d: %q: write %q (docs/style.md)", name, n+1, found, p.instead)
					}
				}
			}
		}
	}
	if read < 40 {
		t.Errorf("only %d files were read", read)
	}
}
