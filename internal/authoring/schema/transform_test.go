package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func alternatives(expression string) []string {
	return Transform{Expression: Located[string]{Value: expression}}.Alternatives()
}

func TestAlternatives(t *testing.T) {
	for expression, want := range map[string]string{
		"A":                               "A",
		"A $OR B":                         "A|B",
		" $abs(Id)\n$OR\n$power(Id, 2) ":  "$abs(Id)|$power(Id, 2)",
		"A$OR B":                          "A$OR B", // one name to JSONata
		"(A)$OR(B)":                       "(A)|(B)",
		`$join([e, "T $OR Y"])`:           `$join([e, "T $OR Y"])`,
		`"a\" $OR b" $OR 'c\' $OR d'`:     `"a\" $OR b"|'c\' $OR d'`,
		"`a $OR b` $OR c":                 "`a $OR b`|c",
		"/* a $OR b */ c $OR d /* e":      "/* a $OR b */ c|d /* e",
		"$match(A, /[/] $OR \\/ /) $OR A": "$match(A, /[/] $OR \\/ /)|A",
		"A / 2 $OR B / 2":                 "A / 2|B / 2",
		"A in /x $OR y/ $OR B":            "A in /x $OR y/|B",
		"A $OR /x/ $OR B":                 "A|/x/|B",
		"($OR := 1; $OR) $OR [$OR]":       "($OR := 1; $OR)|[$OR]",
		"$ORDER $OR $or":                  "$ORDER|$or",
		"A $OR":                           "A|",
		"":                                "",
		`"open $OR`:                       `"open $OR`,
		"/open $OR":                       "/open $OR",
		"`open $OR":                       "`open $OR",
		"é $OR ü":                         "é|ü",
		`"a" $OR "b\`:                     `"a"|"b\`,
	} {
		if got := strings.Join(alternatives(expression), "|"); got != want {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
}

func TestPublishedAlternatives(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "transforms"), "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var records []struct {
		Expression   string
		Alternatives []struct{ Expr string }
	}
	if err := json.Unmarshal(data, &records); err != nil || len(records) == 0 {
		t.Fatal(len(records), err)
	}
	for _, record := range records {
		var want []string
		for _, alternative := range record.Alternatives {
			want = append(want, alternative.Expr)
		}
		if got := alternatives(record.Expression); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", record.Expression, got, want)
		}
	}
}

// TestCompareAlike says of single places that they are alike, at any depth of lists whose
// order does not matter.
func TestCompareAlike(t *testing.T) {
	s, _ := Load("", []byte(`{"properties":{"A":{"type":"array","insertionOrder":false,"items":{"type":"object","properties":{"N":{"type":"string"},"T":{"type":"integer"}}}},
		"B":{"type":"object","properties":{"C":{"type":"string"},"D":{"type":"string"}}}}}`), Config{Kind: Resource})
	parse := func(text string) any {
		v, problems := document.ParseJSON("", []byte(text), document.Limits{})
		if problems != nil {
			t.Fatal(problems)
		}
		return v.Any()
	}
	want := parse(`{"A":[{"N":"a","T":1},{"N":"b","T":2}],"B":{"C":"x","D":"y"},"E":1}`)
	got := parse(`{"A":[{"N":"b","T":20},{"N":"a","T":10}],"B":{"C":"X","D":"Y"}}`)
	var asked []string
	differences := s.Compare(want, got, CompareConfig{AllowExtra: true, Alike: func(at document.Pointer, got any, equal func(any) bool) (bool, bool) {
		asked = append(asked, at.String())
		switch at.String() {
		case "/A/0/T":
			return equal("10"), false // recast by the schema
		case "/A/1/T":
			return equal(json.Number("20")), false
		case "/B":
			return equal(map[string]any{"C": "x"}), true
		case "/E":
			return got == nil && !equal(nil), false
		}
		return false, false
	}})
	if len(differences) != 1 || differences[0].Pointer.String() != "/B" || differences[0].Kind != "changed" {
		t.Errorf("got %v, asked about %v", differences, asked)
	}
	for _, place := range []string{"/A/0/T", "/A/0", "/B/C", "/B/D", "/B", "/E"} {
		if !slices.Contains(asked, place) {
			t.Errorf("not asked about %s, only %v", place, asked)
		}
	}
}
