package diag

import (
	"errors"
	"strings"
	"testing"
)

func at(file string, line, column int) Range {
	return Range{File: file, Start: Position{Line: line, Column: column}}
}

func TestSort(t *testing.T) {
	list := List{
		{ID: "c", At: at("b.json", 1, 1), Message: "m"},
		{ID: "b", At: at("a.json", 10, 2), Severity: Warning, Message: "m"},
		{ID: "a", At: at("a.json", 10, 2), Message: "m"},
		{ID: "a", At: at("a.json", 2, 9), Message: "m"},
		{ID: "a", At: at("a.json", 10, 2), Message: "m"},
		{ID: "z", Message: "no place"},
	}
	list.Sort()
	var got []string
	for _, p := range list {
		got = append(got, p.At.String()+" "+p.ID)
	}
	want := " z|a.json:2:9 a|a.json:10:2 a|a.json:10:2 b|b.json:1:1 c"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
}

func TestErr(t *testing.T) {
	if err := (List{{Severity: Warning, Message: "only a warning"}}).Err(); err != nil {
		t.Errorf("warnings alone: got %v, want nil", err)
	}
	err := List{{Severity: Warning, Message: "w"}, {At: at("f", 3, 4), Message: "broken"}}.Err()
	var invalid *Invalid
	if !errors.As(err, &invalid) || len(invalid.Problems) != 2 || err.Error() != "f:3:4: broken" {
		t.Errorf("got %v", err)
	}
}

func TestPrint(t *testing.T) {
	list := List{
		{ID: "schema/x", At: at("a,b.json", 3, 4), Pointer: "/p", Message: `100% "wrong"`, Hint: "try\nthis",
			Related: []Note{{At: at("c.json", 1, 2), Message: "first"}}},
		{ID: "lint/y", Severity: Warning, At: Range{File: "f"}, Message: "a < b"},
		{ID: "i", Severity: Info, Message: "told"},
	}
	for format, want := range map[string]string{
		"text": "a,b.json:3:4: error: 100% \"wrong\" [schema/x]\n    c.json:1:2: first\n    hint: try\nthis\n" +
			"f: warning: a < b [lint/y]\ninfo: told [i]\n",
		"github": "::error file=a%2Cb.json,title=schema/x,line=3,col=4::100%25 \"wrong\"%0Ahint: try%0Athis\n" +
			"::warning file=f,title=lint/y::a < b\n::notice title=i::told\n",
		"json": `{
  "problems": [
    {
      "id": "schema/x",
      "severity": "error",
      "file": "a,b.json",
      "line": 3,
      "column": 4,
      "pointer": "/p",
      "message": "100% \"wrong\"",
      "hint": "try\nthis"
    },
    {
      "id": "lint/y",
      "severity": "warning",
      "file": "f",
      "line": 0,
      "column": 0,
      "pointer": "",
      "message": "a < b",
      "hint": ""
    },
    {
      "id": "i",
      "severity": "info",
      "file": "",
      "line": 0,
      "column": 0,
      "pointer": "",
      "message": "told",
      "hint": ""
    }
  ]
}
`,
	} {
		var b strings.Builder
		if err := Print(&b, list, format); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("%s: got\n%s\nwant\n%s", format, b.String(), want)
		}
	}
	var unknown *UnknownFormat
	if err := Print(&strings.Builder{}, nil, "xml"); !errors.As(err, &unknown) {
		t.Errorf("an unknown format: got %v", err)
	}
	var b strings.Builder
	if err := Print(&b, nil, "json"); err != nil || b.String() != "{\n  \"problems\": []\n}\n" {
		t.Errorf("an empty list: got %q, %v", b.String(), err)
	}
}
