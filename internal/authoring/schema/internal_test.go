package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		text       string
		yes, no    string // strings that match and that do not
		unportable bool
	}{
		{`^[a-z]+$`, "abc", "abc1", false},
		{`b`, "abc", "ac", false},
		{`^[a-z]+{1,2}$`, "abcdef", "", true},
		{`^x{2}${1,256}`, "xx", "xxx", false},
		{`^[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF]*$`, "a😀b", "a\nb", true},
		{`^[\p{Graph}\x20]+$`, "a b!", "ä", true},
		{`^\p{Graph}+$`, "ab!", "a b", true},
		{`^\p{Lu}$`, "Ä", "ä", true},
		{`\A[a-z]\z`, "a", "a\n", false},
		{`^\d\w$`, "1a", "১ä", false},
		{`^(?!aws:)[a-z:]*$`, "awx:", "aws:x", false},
		{`^a(?i)b$`, "aB", "AB", true},
		{`(?i)^b$`, "B", "a", false},
		{`^[\w-.]$`, "-", "+", true},
		{`^\x{60}$`, "`", "a", true},
		{`^\$\{x\}$`, "${x}", "$x", false},
		{`^\\+{2}$`, `\\`, "x", true},
		{`^[+{2}]+$`, "+{", "a", false},
		{`^.$`, "é", "ab", false},
		{`^a\{1,2\}$`, "a{1,2}", "aa", false},
		{`\/`, "/", "", false},
	} {
		p := compile(test.text)
		if p.err != nil {
			t.Errorf("%s: %v", test.text, p.err)
			continue
		}
		if p.match(test.yes) != matches || p.match(test.no) != noMatch {
			t.Errorf("%s, compiled as %s: %q %v, %q %v", test.text, rewrite(test.text), test.yes, p.match(test.yes), test.no, p.match(test.no))
		}
		if reason, _ := notPortable(test.text); (reason != "") != test.unportable {
			t.Errorf("%s: not portable because %q", test.text, reason)
		}
	}
	if got := compile(`^(a|b|[cd])*$`).match(strings.Repeat("abcd", 50_000)); got != matches {
		t.Errorf("a long string: %v", got)
	}
	for _, text := range []string{"(", "[", "a{2", `\`, "[z-a]", "(?<", "*", strings.Repeat("a", maxPattern+1)} {
		if p := compile(text); p.err == nil && text != "a{2" {
			t.Errorf("%.20s compiles", text)
		} else if p.err != nil && (p.match("a") != undecided || p.reason() == "") {
			t.Errorf("%.20s: match %v, reason %q", text, p.match("a"), p.reason())
		}
	}
}

func TestPatternTimeOutDecidesNothing(t *testing.T) {
	s, problems := Load("", []byte(`{"typeName":"Ab::Cd::Ef","description":"","additionalProperties":false,"primaryIdentifier":["/properties/A"],"properties":{
		"A":{"type":"string","pattern":"^(a+)+$"},
		"M":{"type":"object","additionalProperties":false,"patternProperties":{"^(b+)+$":{"type":"integer"}}}}}`), Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	slow := strings.Repeat("a", 64) + "!"
	if got := s.Check(map[string]any{"A": slow, "M": map[string]any{strings.Repeat("b", 64) + "!": "x"}}, CheckConfig{}); got != nil {
		t.Errorf("undecided patterns made violations: %v", got)
	}
	if got := s.Check(map[string]any{"A": "b"}, CheckConfig{}); len(got) != 1 {
		t.Errorf("a pattern that timed out once is not tried again: %v", got)
	}
}

func TestDecimals(t *testing.T) {
	ordered := []string{"-1e999999999999999999999", "-1e30", "-12", "-1.5", "-1", "-0.5", "-1e-999999999", "0", "1e-999999999", "0.1", "0.10000000000000000000001", "0.5", "1", "1.5", "2", "9.9", "10", "1e30", "1e999999999", "1e999999999999999999999"}
	for i, a := range ordered {
		for j, b := range ordered {
			x, ok := parseDecimal(a)
			y, both := parseDecimal(b)
			if want := min(1, max(-1, i-j)); !ok || !both || x.compare(y) != want || (x.key() == y.key()) != (i == j) {
				t.Errorf("%s, %s: compare %d, keys %s %s", a, b, x.compare(y), x.key(), y.key())
			}
		}
	}
	for _, same := range [][]string{{"1", "1.0", "1e0", "10e-1", "0.1E+1", "100000e-5"}, {"0", "-0", "0.000", "0e99"}, {"-120", "-1.2e2", "-12e1"}} {
		for _, text := range same {
			a, _ := parseDecimal(same[0])
			b, ok := parseDecimal(text)
			if !ok || a.compare(b) != 0 || a.key() != b.key() {
				t.Errorf("%s is not %s", text, same[0])
			}
		}
	}
	for _, text := range []string{"", "-", "+1", "01", ".5", "1.", "1e", "1e+", "0x10", "1 ", "NaN", "Infinity", "1e1.5", "--1", "1e++1", "١"} {
		if _, ok := parseDecimal(text); ok {
			t.Errorf("%q is not a JSON number", text)
		}
	}
	for text, want := range map[string]string{"1.50": "1.5", "-0.001": "-0.001", "1e3": "1000", "12.5e1": "125", "1e40": "0.1e41", "0": "0"} {
		if d, _ := parseDecimal(text); d.String() != want {
			t.Errorf("%s reads %s, want %s", text, d, want)
		}
	}
	for _, v := range []any{1, int64(1), 1.0, json.Number("1")} {
		if d, ok := decimalOf(v); !ok || d.key() != "1e1" {
			t.Errorf("%T: %v", v, d)
		}
	}
}

func TestMultiples(t *testing.T) {
	numbers := []string{"0", "1", "-3", "0.3", "0.1", "0.07", "7", "1.21", "1.1", "10", "1e10", "2.5", "0.0001", "4503599627370497", "1e-7"}
	for _, a := range numbers {
		for _, b := range numbers[1:] {
			x, _ := parseDecimal(a)
			y, _ := parseDecimal(b)
			p, _ := new(big.Rat).SetString(a)
			q, _ := new(big.Rat).SetString(b)
			if got, want := x.multipleOf(y), new(big.Rat).Quo(p, q).IsInt(); got != want {
				t.Errorf("%s is a multiple of %s: %v, want %v", a, b, got, want)
			}
		}
	}
	for _, test := range []struct {
		a, b string
		want bool
	}{{"1e999999999", "3", false}, {"3e999999999", "3", true}, {"1e999999999", "7e-999999999", false}, {"1e999999999", "8", true}, {"1", "1e999999999", false}, {"1e-999999999", "1", false}} {
		x, _ := parseDecimal(test.a)
		y, _ := parseDecimal(test.b)
		if got := x.multipleOf(y); got != test.want {
			t.Errorf("%s is a multiple of %s: %v", test.a, test.b, got)
		}
	}
}

// TestHostile loads and uses documents that were made to take for ever.
func TestHostile(t *testing.T) {
	head := `{"typeName":"Ab::Cd::Ef","description":"","additionalProperties":false,"primaryIdentifier":["/properties/A"],"tagging":{"taggable":false},`
	var chain, doubled, circle strings.Builder
	const links = 20_000
	for i := range links {
		fmt.Fprintf(&chain, `"D%d":{"$ref":"#/definitions/D%d"},`, i, i+1)
	}
	for i := range 40 {
		fmt.Fprintf(&doubled, `"D%d":{"allOf":[{"$ref":"#/definitions/D%d"},{"$ref":"#/definitions/D%d"}]},`, i, i+1, i+1)
	}
	for i := range 300 {
		fmt.Fprintf(&circle, `"D%d":{"anyOf":[{"$ref":"#/definitions/D%d"},{"$ref":"#/definitions/D%d"},{"properties":{"A":{"$ref":"#/definitions/D%d"}}}]},`, i, (i+1)%300, (i+7)%300, (i+3)%300)
	}
	var unknown, nowhere strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&unknown, `"maxLenght%d":%d,`, i, i)
		fmt.Fprintf(&nowhere, `"/properties/maxLenght%d",`, i)
	}
	long := "/properties" + strings.Repeat("/A", 100_000)
	for name, doc := range map[string]string{
		"a chain of references":       head + `"properties":{"A":{"$ref":"#/definitions/D0"}},"definitions":{` + chain.String() + fmt.Sprintf(`"D%d":{"type":"string"}}}`, links),
		"combiners that multiply":     head + `"properties":{"A":{"$ref":"#/definitions/D0"}},"definitions":{` + doubled.String() + `"D40":{"type":"string"}}}`,
		"combiners in circles":        head + `"properties":{"A":{"$ref":"#/definitions/D0"}},"definitions":{` + strings.TrimSuffix(circle.String(), ",") + `},"readOnlyProperties":["` + long + `"]}`,
		"a path of 100,000 tokens":    head + `"properties":{"A":{"$ref":"#/properties/A"}},"readOnlyProperties":["` + long + `"]}`,
		"arrays of arrays of arrays":  head + `"properties":{"A":{"type":"array","items":{"$ref":"#/properties/A"}}},"readOnlyProperties":["/properties/A/B/C/D"]}`,
		"numbers out of range":        head + `"properties":{"A":{"type":"string","minLength":1e999999999,"maxLength":-1e99999,"multipleOf":1e-999999999}},"handlers":{"create":{"permissions":[],"timeoutInMinutes":1e999999999}}}`,
		"a pattern without end":       head + `"properties":{"A":{"type":"string","pattern":"` + strings.Repeat("(", 100_000) + `"}}}`,
		"a pattern of many counts":    head + `"properties":{"A":{"type":"string","pattern":"` + strings.Repeat("(a{1000}", 50) + strings.Repeat("){1000}", 50) + `"}}}`,
		"unknown keys and paths":      head + `"properties":{"A":{` + strings.TrimSuffix(unknown.String(), ",") + `}},"additionalIdentifiers":[[` + strings.TrimSuffix(nowhere.String(), ",") + `]]}`,
		"the deepest nesting allowed": head + `"properties":{"A":` + strings.Repeat(`{"items":`, 500) + "{}" + strings.Repeat("}", 500) + `}}`,
		"one level too deep":          head + `"properties":{"A":` + strings.Repeat(`{"items":`, 100_000) + "{}" + strings.Repeat("}", 100_000) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s, problems := Load("hostile.json", []byte(doc), Config{})
			if s == nil {
				if !problems.HasErrors() {
					t.Error("no schema and no error")
				}
				return
			}
			model := map[string]any{"A": []any{"x", map[string]any{"A": json.Number("1e999999999")}}}
			s.Check(model, CheckConfig{})
			s.Recast(model)
			s.Compare(model, map[string]any{"A": "x"}, CompareConfig{})
			Without(model, s.ReadOnly)
		})
	}
}

// TestCompareLargeSets compares arrays that have no order and nothing in common, which
// takes quadratic time where it is not bounded.
func TestCompareLargeSets(t *testing.T) {
	s, _ := Load("", []byte(`{"properties":{"A":{"type":"array","insertionOrder":false,"items":{"type":"object","properties":{"B":{"type":"array","insertionOrder":false}}}}}}`), Config{Kind: Resource})
	items := func(n, first int) map[string]any {
		list := make([]any, n)
		for i := range list {
			list[(i*7)%n] = map[string]any{"K": json.Number(fmt.Sprint(first + i)), "B": []any{"a", json.Number(fmt.Sprint(i))}}
		}
		return map[string]any{"A": list}
	}
	const n = 20_000
	if got := s.Compare(items(n, 0), items(n, 0), CompareConfig{AllowExtra: true}); len(got) != 0 {
		t.Errorf("equal sets differ in %d places", len(got))
	}
	if got := s.Compare(items(n, 0), items(n, n), CompareConfig{AllowExtra: true}); len(got) != 2*n {
		t.Errorf("%d differences, want %d", len(got), 2*n)
	}
}
