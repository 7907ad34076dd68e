package codegen

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// docsLedger lists the golden pages of the official tool that ours differ from, with the
// fault that is mended there. A page that is listed and does not differ fails the test.
var docsLedger = map[string]string{}

// TestDocsAgainstOfficialTool compares pages as the suite of the official tool does: by
// everything but spaces. The mark that says who generated the page is ours.
func TestDocsAgainstOfficialTool(t *testing.T) {
	dir := fixtures.Dir(t, "schemas/docs-golden")
	var index map[string]struct{ Schema, TypeName string }
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &index); err != nil || len(index) == 0 {
		t.Fatalf("index.json: %d pages, %v", len(index), err)
	}
	squeeze := func(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), " ", "") }
	for name, row := range index {
		golden, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		s := load(t, filepath.Join(dir, row.Schema))[0]
		page := fileNamed(t, docs(s, row.TypeName), "docs/README.md")
		mark, text, _ := strings.Cut(page, "\n")
		if !strings.Contains(mark, marker) {
			t.Errorf("%s: the first line is %q", name, mark)
		}
		differs := squeeze(text) != squeeze(string(golden))
		if reason := docsLedger[name]; differs && reason == "" {
			t.Errorf("%s differs:\n%s", name, firstDifference(string(golden), text))
		} else if !differs && reason != "" {
			t.Errorf("%s is the same: remove it from docsLedger (%s)", name, reason)
		}
	}
}

func fileNamed(t testing.TB, files []File, path string) string {
	t.Helper()
	for _, f := range files {
		if f.Path == path {
			return string(f.Data)
		}
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	t.Fatalf("there is no %s among %s", path, strings.Join(names, " "))
	return ""
}

func firstDifference(want, got string) string {
	a, b := strings.Split(strings.TrimSpace(want), "\n"), strings.Split(strings.TrimSpace(got), "\n")
	for i := range min(len(a), len(b)) {
		if strings.ReplaceAll(a[i], " ", "") != strings.ReplaceAll(b[i], " ", "") {
			return "want " + a[i] + "\ngot  " + b[i]
		}
	}
	return "one is longer"
}

func parse(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, problems := schema.Load("test.json", []byte(text), schema.Config{})
	if s == nil {
		t.Fatal(problems)
	}
	return s
}

// docsSchema has a place for each fault of the official pages.
const docsSchema = `{
	"typeName": "Aa::Bb::Cc", "description": "Uses <angle> & \u0060<code>\u0060.",
	"definitions": {
		"Tag": {"type": "object", "properties": {"Key": {"type": "string"}, "Tags": {"type": "string"}}, "required": ["Key"]},
		"Memo": {"type": "object", "description": "A memo.", "properties": {
			"Tags": {"type": "string", "description": "Plain text."}, "Fixed": {"type": "string"}, "Seen": {"type": "integer"}}},
		"Frozen": {"type": "object", "properties": {"Deep": {"type": "boolean"}}},
		"Shared": {"type": "object", "properties": {"Deep": {"type": "boolean"}}}
	},
	"properties": {
		"Tags": {"type": "array", "items": {"$ref": "#/definitions/Tag"}, "description": "All tags."},
		"Memo": {"$ref": "#/definitions/Memo", "description": "Said beside the reference."},
		"Nested": {"type": "object", "properties": {"Inner": {"type": "object", "properties": {"X": {"type": "number"}}}}},
		"ByName": {"type": "object", "patternProperties": {"^[a-z*]+$": {"$ref": "#/definitions/Tag"}}},
		"Lines": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
		"Code": {"type": "string", "pattern": "^<a\\.b_*c_>&$", "enum": ["a<b", "*_*"]},
		"Frozen": {"$ref": "#/definitions/Frozen"},
		"One": {"$ref": "#/definitions/Shared"}, "Two": {"$ref": "#/definitions/Shared"},
		"Slow": {"type": "string"},
		"Id": {"type": "string"}, "Arn": {"type": "string", "description": "The <ARN>."}
	},
	"readOnlyProperties": ["/properties/Id", "/properties/Arn", "/properties/Memo/Seen", "/properties/Tags/*/Key"],
	"createOnlyProperties": ["/properties/Memo/Fixed", "/properties/Frozen", "/properties/One"],
	"conditionalCreateOnlyProperties": ["/properties/Slow"],
	"primaryIdentifier": ["/properties/Id"], "additionalProperties": false
}`

// TestDocsFaultsOfOfficialTool checks what the official pages get wrong.
func TestDocsFaultsOfOfficialTool(t *testing.T) {
	files := docs(parse(t, docsSchema), "Aa::Bb::Cc")
	for _, c := range []struct{ name, file, has, hasNot string }{
		{"no comma after the last property that can be set", "README.md", `title="Slow">Slow</a>" : <i>String</i>` + "\n    }", ""},
		{"a type belongs to its own property", "memo.md", `title="Tags">Tags</a>" : <i>String</i>`, "List of"},
		{"a description beside a reference", "README.md", "Said beside the reference.", ""},
		{"a description of a definition", "memo.md", "A memo.", ""},
		{"an object within an object links to its own page", "nested.md", `<a href="nested-inner.md">Inner</a>`, `<a href="nested.md">`},
		{"and has one", "nested-inner.md", "#### X", ""},
		{"a nested create-only property", "memo.md", "[Replacement](" + updateLink + "replacement) (as <code>Memo.Fixed</code>)", ""},
		{"a nested read-only property", "memo.md", "_Read-only_", `title="Seen"`},
		{"everything in a create-only object", "frozen.md", "_Update requires_: [Replacement](" + updateLink + "replacement)\n", "no-interrupt"},
		{"an object in two places", "shared.md", "replacement) (as <code>One</code>), else [No interruption]", ""},
		{"patternProperties are a map", "README.md", `Map of <a href="tag.md">Tag</a>`, "#### ^"},
		{"lists of lists", "README.md", "List of List of String", ""},
		{"lists of lists in YAML", "README.md", "<i>\n      - [ String, ... ]</i>", ""},
		{"HTML is escaped", "README.md", "Uses &lt;angle&gt; &amp; `<code>`.", "<angle>"},
		{"patterns show as they are", "README.md", "<code>^&lt;a&#92;.b&#95;&#42;c&#95;&gt;&amp;$</code>", ""},
		{"values show as they are", "README.md", "<code>a&lt;b</code> | <code>&#42;&#95;&#42;</code>", ""},
		{"some interruptions", "README.md", "[Some interruptions]", ""},
		{"nested attributes", "README.md", "#### Memo.Seen\n\nReturns the <code>Seen</code> value.", "#### Tags.*"},
		{"attributes are described", "README.md", "#### Arn\n\nThe &lt;ARN&gt;.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := fileNamed(t, files, "docs/"+c.file)
			if !strings.Contains(page, c.has) {
				t.Errorf("%s lacks %q:\n%s", c.file, c.has, page)
			}
			if c.hasNot != "" && strings.Contains(page, c.hasNot) {
				t.Errorf("%s has %q:\n%s", c.file, c.hasNot, page)
			}
		})
	}
}

func TestDocsOfHook(t *testing.T) {
	page := fileNamed(t, docs(parse(t, hookSchema), "Aa::Bb::Hook"), "docs/README.md")
	for _, want := range []string{
		"## Activation", `title="Level">Level</a>" : <i>Integer</i>` + "\n            }", "#### Level\n\nHow strict.\n\n_Required_: Yes\n\n_Type_: Integer\n",
		"## Targets\n\n* `AWS::EC2::Instance`\n* `AWS::S3::*`\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "Update requires") {
		t.Error("a configuration has no update behaviour")
	}
}

// Every link of every page must lead to a page, in the whole corpus.
func TestDocsLinks(t *testing.T) {
	for _, s := range append(load(t, "testdata/schemas/names.json", "testdata/schemas/shapes.json"), corpus(t)...) {
		pages := map[string]bool{}
		files := docs(s, s.TypeName.Value)
		for _, f := range files {
			if name := strings.ToLower(f.Path); pages[name] {
				t.Errorf("%s: two pages are called %s", s.File, name)
			}
			pages[strings.ToLower(f.Path)] = true
		}
		for _, f := range files {
			for _, part := range strings.Split(string(f.Data), `<a href="`)[1:] {
				target, _, _ := strings.Cut(part, `"`)
				if !strings.HasPrefix(target, "#") && !strings.HasPrefix(target, "https:") && !pages["docs/"+strings.ToLower(target)] {
					t.Errorf("%s: %s links to %q, which is not a page", s.File, f.Path, target)
				}
			}
		}
	}
}

// TestDocsHoldNoControlCharacters drops them wherever they stand in a schema.
func TestDocsHoldNoControlCharacters(t *testing.T) {
	text := `{"typeName": "Aa::Bb::Cc", "description": "a\u0000b\u001b[31mc\td\ne\u0085f", "additionalProperties": false,
 "properties": {"Id": {"type": "string", "description": "x\u0007y", "pattern": "^\u0001$", "enum": ["p\u0002q"]}},
 "createOnlyProperties": ["/properties/Id"], "primaryIdentifier": ["/properties/Id"], "tagging": {"taggable": false}}`
	s, problems := schema.Load("s", []byte(text), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	page := fileNamed(t, docs(s, "Aa::Bb::Cc"), "docs/README.md")
	for _, r := range page {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			t.Errorf("the page holds %U", r)
		}
	}
	for _, part := range []string{"ab[31mc", "xy", "pq"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q:\n%s", part, page)
		}
	}
}
