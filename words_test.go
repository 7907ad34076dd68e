package formwork_test

import (
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
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
	{`wants? a (value|number|URL)`, "requires, expects"},
	{`of yours\b`, "your"},
	{`on the public shelf`, "public, published"},
	{`gives? back`, "returns"},
	{`tells? (how|what|which|when|why)`, "reports, shows"},
	{`the least is`, "the minimum is"},
	{`the most is`, "the maximum is"},
	{`carr(y|ies) (a|the) message`, "includes"},
	{`brings .* up to date`, "updates"},
	{`leaves with [0-9]+`, "exits with"},
	{`lets go of`, "releases, removes"},
	{`(was|were|is|are) taken up again`, "resumes"},
	{`in no time`, "without waiting"},
	{`goes? home`, "moves to"},
	{`what is asked of`, "the requirements of"},
	{`waved through`, "ignored, accepted"},
	{`(is|are) to be told`, "is reported"},
	{`be believed`, "be trusted, is not verified"},
	{`as the (service|protocol|official tool) has it`, "as in, as the service requires"},
	{`at AWS`, "on AWS"},
}

// styled are the sources and documents that the list is for.
var styled = []string{
	"*.md", "docs/*.md", "docs/decisions/*.md", "sdk/*.md", "examples/*/*.md",
	"cmd/*/*.go", "internal/*/*.go", "internal/*/*/*.go", "local/*.go", "sdk/*/*.go", "examples/*/cmd/*/*.go",
}

// fixed returns the longest text that every match of a pattern contains, in lower case: most
// files do not contain it, and need no search with the pattern.
func fixed(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return strings.ToLower(string(re.Rune))
	case syntax.OpCapture, syntax.OpConcat, syntax.OpPlus:
		longest := ""
		for _, sub := range re.Sub {
			if text := fixed(sub); len(text) > len(longest) {
				longest = text
			}
		}
		return longest
	default:
		return ""
	}
}

// TestWords keeps the phrases of the list out of messages, comments and documents. A row
// of the table in docs/style.md quotes what not to write.
func TestWords(t *testing.T) {
	compiled := make([]*regexp.Regexp, len(phrases))
	contained := make([]string, len(phrases))
	for i, p := range phrases {
		compiled[i] = regexp.MustCompile(`(?i)\b(` + p.pattern + `)\b`)
		parsed, err := syntax.Parse(p.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		contained[i] = fixed(parsed)
	}
	read := 0
	for _, pattern := range styled {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			read++
			lower := strings.ToLower(string(data))
			for i, p := range phrases {
				if !strings.Contains(lower, contained[i]) {
					continue
				}
				for n, line := range strings.Split(string(data), "\n") {
					if strings.HasPrefix(line, "| ") && name == "docs/style.md" {
						continue
					}
					if found := compiled[i].FindString(line); found != "" {
						t.Errorf("%s:%d: %q: write %q (docs/style.md)", name, n+1, found, p.instead)
					}
				}
			}
		}
	}
	if read < 400 {
		t.Errorf("only %d files were read", read)
	}
}
