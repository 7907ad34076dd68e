package diag

import (
	"encoding/json"
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
		"junit": `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1">
  <testsuite name="a,b.json" tests="1" failures="1">
    <testcase name="schema/x:3:4" classname="a,b.json">
      <failure message="100% &#34;wrong&#34;" type="schema/x">a,b.json:3:4: 100% &#34;wrong&#34;&#xA;hint: try&#xA;this</failure>
    </testcase>
  </testsuite>
  <testsuite name="f" tests="1" failures="0">
    <testcase name="lint/y" classname="f">
      <system-out>warning: f: a &lt; b</system-out>
    </testcase>
  </testsuite>
  <testsuite name="" tests="1" failures="0">
    <testcase name="i" classname="">
      <system-out>info: told</system-out>
    </testcase>
  </testsuite>
</testsuites>
`,
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

func TestSARIF(t *testing.T) {
	list := List{
		{ID: "b/2", At: Range{File: "my dir/f.json", Start: Position{10, 2, 3}, End: Position{14, 2, 7}}, Pointer: "/p", Message: "m", Hint: "h"},
		{ID: "a/1", Severity: Warning, Message: "no place"},
	}
	var b strings.Builder
	if err := Print(&b, list, "sarif"); err != nil {
		t.Fatal(err)
	}
	var got sarifLog
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	run := got.Runs[0]
	if got.Version != "2.1.0" || len(run.Results) != 2 || run.Tool.Driver.Rules[run.Results[0].RuleIndex].ID != "b/2" {
		t.Errorf("got %s", b.String())
	}
	want := sarifRegion{StartLine: 2, EndLine: 2, ByteOffset: 10, ByteLength: 4}
	if place := run.Results[0].Locations[0].Physical; *place.Region != want || place.Artifact.URI != "my%20dir/f.json" {
		t.Errorf("got %+v in %s, want %+v", *place.Region, place.Artifact.URI, want)
	}
	if run.Results[1].Locations != nil || run.Results[1].Level != "warning" {
		t.Errorf("without a place: got %+v", run.Results[1])
	}
}

// TestSARIFColumns: columns count the units of UTF-16, and are left out where the text
// cannot be had or is another one.
func TestSARIFColumns(t *testing.T) {
	texts := map[string]string{
		"plain.json": "{\n  \"a\": 1\n}",
		"wide.json":  "{\n\"\u00e9\U0001F600\": \"\u20ac\"}",
		"bad.json":   "\xff\xfe1",
		"mark.json":  "\ufeff{1}",
		"other.json": "[1, 2, 3, 4, 5, 6, 7]",
	}
	place := func(file string, start, end Position) Range { return Range{File: file, Start: start, End: end} }
	tests := []struct {
		at         Range
		start, end int
	}{
		{place("plain.json", Position{4, 2, 3}, Position{7, 2, 6}), 3, 6},
		{place("plain.json", Position{0, 1, 1}, Position{12, 3, 2}), 1, 2},
		{place("plain.json", Position{4, 2, 3}, Position{}), 3, 0},
		{place("wide.json", Position{12, 2, 11}, Position{17, 2, 16}), 8, 11}, // after 2 + 4 bytes, of 1 + 2 units
		{place("bad.json", Position{2, 1, 3}, Position{3, 1, 4}), 3, 4},
		{place("mark.json", Position{4, 1, 2}, Position{5, 1, 3}), 2, 3},
		{place("other.json", Position{4, 2, 3}, Position{7, 2, 6}), 0, 0},   // no line begins there
		{place("plain.json", Position{90, 2, 3}, Position{91, 2, 6}), 0, 0}, // it has become shorter
		{place("gone.json", Position{4, 2, 3}, Position{7, 2, 6}), 0, 0},
	}
	printer := Printer{
		Source:   func(file string) []byte { return []byte(texts[file]) },
		Describe: func(id string) string { return map[string]string{"a/b": "Nothing is wrong."}[id] },
	}
	for _, test := range tests {
		var b strings.Builder
		if err := printer.Print(&b, List{{ID: "a/b", At: test.at, Message: "m"}, {ID: "a/c", Message: "m"}}, "sarif"); err != nil {
			t.Fatal(err)
		}
		var got sarifLog
		if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
			t.Fatal(err)
		}
		rules := got.Runs[0].Tool.Driver.Rules
		if rules[0].Short == nil || rules[0].Short.Text != "Nothing is wrong." || rules[1].Short != nil {
			t.Errorf("the rules are %+v", rules)
		}
		region := got.Runs[0].Results[0].Locations[0].Physical.Region
		if region.StartColumn != test.start || region.EndColumn != test.end || region.StartLine != test.at.Start.Line {
			t.Errorf("%s: %+v, want columns %d to %d", test.at, region, test.start, test.end)
		}
	}
}

func TestSARIFPaths(t *testing.T) {
	for file, want := range map[string]string{
		"a b/c.json": "a%20b/c.json", "../c.json": "../c.json", "/tmp/c.json": "file:///tmp/c.json", "v1:c.json": "./v1:c.json",
	} {
		if got := (sources{}).place(Range{File: file}).Physical.Artifact.URI; got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}
