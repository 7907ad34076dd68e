package template

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A bomb is a small template that would make a large value.
type bomb map[string]any

// doubled repeats a value 2^n times.
func doubled(n int, function func(x any) any, leaf any) any {
	for range n {
		leaf = function(leaf)
	}
	return leaf
}

func subTwice(x any) any { return bomb{"Fn::Sub": []any{"${A}${A}", bomb{"A": x}}} }

func base64Of(x any) any { return bomb{"Fn::Base64": x} }

func jsonOf(x any) any { return bomb{"Fn::ToJsonString": bomb{"a": x}} }

func repeated(x any, n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// members are n members of a section with the same value.
func members(n int, value any) bomb {
	out := bomb{}
	for i := range n {
		out[fmt.Sprintf("M%d", i)] = value
	}
	return out
}

func resource(property any) bomb { return bomb{"Type": "T", "Properties": bomb{"P": property}} }

func loop(items any, key string, value any) bomb {
	return bomb{"Fn::ForEach::Loop": []any{"v", items, bomb{key: value}}}
}

// bombs are templates whose values exceed the budget, by what repeats them.
func bombs() map[string]bomb {
	list := bomb{"Type": "CommaDelimitedList", "Default": strings.Repeat("a,", 2000) + "a"}
	long := bomb{"Type": "String", "Default": strings.Repeat("x", 4096)}
	numbers := bomb{"Type": "CommaDelimitedList", "Default": strings.TrimSuffix(numbered(300), ",")}
	parameters := bomb{"L": list, "S": long, "N": numbers}
	one := bomb{"R": resource("x")}
	texts := bomb{"M": bomb{"a": bomb{"b": strings.Repeat("x", 100_000), "c": repeated("x", 2000)}}}
	many := members(200, bomb{"Type": "List<String>", "Default": list["Default"]})
	find := func(key string) any { return bomb{"Fn::FindInMap": []any{"M", "a", key}} }
	all := bomb{"Fn::RefAll": "List<String>"}
	return map[string]bomb{
		"Fn::Sub":                    {"Resources": bomb{"R": resource(doubled(30, subTwice, "x"))}},
		"Fn::Join":                   {"Resources": members(200, resource(bomb{"Fn::Join": []any{"", repeated(bomb{"Ref": "S"}, 100)}})), "Parameters": parameters},
		"Fn::Base64":                 {"Resources": bomb{"R": resource(doubled(60, base64Of, bomb{"Ref": "S"}))}, "Parameters": parameters},
		"Fn::Split":                  {"Resources": bomb{"R": resource(bomb{"Fn::Split": []any{"x", doubled(21, subTwice, "x")}})}},
		"Ref of lists":               {"Resources": bomb{"R": resource(repeated(bomb{"Ref": "L"}, 5000))}, "Parameters": parameters},
		"Ref of texts":               {"Resources": bomb{"R": resource(repeated(bomb{"Ref": "S"}, 50_000))}, "Parameters": parameters},
		"Ref in Fn::Sub":             {"Resources": members(400, resource(bomb{"Fn::Sub": strings.Repeat("${S}", 400)})), "Parameters": parameters},
		"mappings":                   {"Mappings": texts, "Resources": bomb{"R": resource(repeated(find("b"), 1000))}},
		"lists of mappings":          {"Mappings": texts, "Resources": bomb{"R": resource(repeated(find("c"), 5000))}},
		"resources":                  {"Resources": members(400, resource(doubled(20, subTwice, "x")))},
		"conditions":                 {"Conditions": members(200, bomb{"Fn::Equals": []any{doubled(20, subTwice, "x"), "y"}}), "Resources": one},
		"outputs":                    {"Outputs": members(200, bomb{"Value": doubled(20, subTwice, "x")}), "Resources": one},
		"rules":                      {"Rules": members(100, bomb{"Assertions": []any{bomb{"Assert": bomb{"Fn::EachMemberIn": []any{all, all}}}}}), "Parameters": many, "Resources": one},
		"transform Fn::Sub":          {"Transform": LanguageExtensions, "Resources": loop(bomb{"Ref": "N"}, "R${v}", resource(doubled(20, subTwice, bomb{"Ref": "v"}))), "Parameters": parameters},
		"transform text":             {"Transform": LanguageExtensions, "Resources": loop(bomb{"Ref": "L"}, "R${v}", resource(strings.Repeat("${v}", 200_000))), "Parameters": bomb{"L": bomb{"Type": "CommaDelimitedList", "Default": long["Default"]}}},
		"transform copies":           {"Transform": LanguageExtensions, "Resources": bomb{"R": resource(loop(bomb{"Ref": "N"}, "k${v}", repeated(bomb{"Ref": "v"}, 1000)))}, "Parameters": parameters},
		"transform mappings":         {"Transform": LanguageExtensions, "Mappings": texts, "Resources": bomb{"R": resource(loop(bomb{"Ref": "N"}, "k${v}", find("c")))}, "Parameters": parameters},
		"transform policies":         {"Transform": LanguageExtensions, "Resources": members(100, bomb{"Type": "T", "DeletionPolicy": doubled(26, subTwice, "x")})},
		"transform Fn::ToJsonString": {"Transform": LanguageExtensions, "Resources": bomb{"R": resource(doubled(40, jsonOf, `"`))}},
		"transform collections":      {"Transform": LanguageExtensions, "Resources": loop(bomb{"Fn::Split": []any{"x", doubled(26, subTwice, "x")}}, "R${v}", resource("x"))},
		"transform Fn::Length":       {"Transform": LanguageExtensions, "Resources": bomb{"R": resource(repeated(bomb{"Fn::Length": bomb{"Fn::Split": []any{"x", doubled(19, subTwice, "x")}}}, 200))}},
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "i%d,", i)
	}
	return b.String()
}

// TestBudget evaluates templates that repeat values by every means: each is refused with its
// position, and little more than the budget is made.
func TestBudget(t *testing.T) {
	for name, body := range bombs() {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = refused(refusalCase{body: string(text)})
			runtime.ReadMemStats(&after)
			if !isExceeded(err) || !strings.HasPrefix(err.Error(), "Template error: the values of the template exceed 33554432 bytes (") {
				t.Fatalf("got %v", err)
			}
			if Refused(err)[0].At.Start.Column < 2 {
				t.Error("the place is not known")
			}
			// Reading and checking the template is bounded by its size.
			if used := after.TotalAlloc - before.TotalAlloc; used > 4*MaxMade+400*uint64(len(text)) {
				t.Errorf("%d bytes were allocated for a template of %d bytes", used, len(text))
			}
		})
	}
}

// TestRoom ends the same templates while the process has no memory for more.
func TestRoom(t *testing.T) {
	full := errors.New("no memory")
	all := bombs()
	delete(all, "transform text") // its first step would make more than the budget
	for name, body := range all {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			looks := 0
			ctx := WithRoom(t.Context(), func(context.Context) error {
				if looks++; looks < 3 {
					return nil
				}
				return full
			})
			if err := refusedWithin(ctx, refusalCase{body: string(text)}); !errors.Is(err, full) || Refused(err) != nil || looks != 3 {
				t.Errorf("got %v after %d looks", err, looks)
			}
		})
	}
}

// TestBudgetOfTransforms bounds the sum of what macros and includes answer.
func TestBudgetOfTransforms(t *testing.T) {
	snippet := bomb{"Fn::Transform": bomb{"Name": "M"}}
	body, err := json.Marshal(bomb{"Resources": bomb{"R": resource(repeated(snippet, 100))}})
	if err != nil {
		t.Fatal(err)
	}
	for name, fragment := range map[string]string{
		"values": `[` + strings.Repeat("[],", 300_000) + `[]]`,
		"texts":  `"` + strings.Repeat("x", 1<<20) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := expand(t, string(body), answering(`{"status":"success","fragment":`+fragment+`}`))
			if !isExceeded(err) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// TestBudgetIsOfTheRequest shares one budget between the expansion and the values, until another
// request begins.
func TestBudgetIsOfTheRequest(t *testing.T) {
	body, err := json.Marshal(bomb{
		"Transform": LanguageExtensions, "Parameters": bomb{"S": bomb{"Type": "String", "Default": "x"}},
		"Conditions": bomb{"C": bomb{"Fn::Equals": []any{doubled(19, subTwice, "x"), "y"}}},
		"Resources":  bomb{"R": bomb{"Type": "T", "DeletionPolicy": bomb{"Fn::If": []any{"C", "Retain", "Delete"}}, "Properties": bomb{"P": doubled(23, subTwice, bomb{"Ref": "S"})}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := Parse("t", body, ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bound, err := parsed.Bind(t.Context(), BindInput{})
	if err != nil {
		t.Fatal(err)
	}
	budget := NewBudget()
	processed, err := parsed.Expand(t.Context(), ExpandInput{Parameters: bound, Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	if budget.made.Load() < 1<<20 {
		t.Errorf("the expansion took %d bytes", budget.made.Load())
	}
	scope, err := processed.NewScope(ScopeInput{Parameters: bound, Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	r := processed.Resource("R")
	if _, err := scope.Properties(r, NoReferences{}); err != nil {
		t.Fatal(err)
	}
	if _, err := scope.Properties(r, NoReferences{}); !isExceeded(err) {
		t.Errorf("the same value again: %v", err)
	}
	scope.Renew()
	if _, err := scope.Properties(r, NoReferences{}); err != nil {
		t.Errorf("in another request: %v", err)
	}
}

// large answers references with one large value.
type large struct{ NoReferences }

func (large) GetAtt(string, string) (any, bool, error) { return repeated("x", 1000), true, nil }

// TestBudgetOfReferences counts values from outside as often as they are used.
func TestBudgetOfReferences(t *testing.T) {
	body, err := json.Marshal(bomb{"Resources": bomb{"A": bomb{"Type": "T"}, "R": resource(repeated(bomb{"Fn::GetAtt": []string{"A", "B"}}, 5000))}})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := Parse("t", body, ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scope, err := parsed.NewScope(ScopeInput{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scope.Properties(parsed.Resource("R"), large{}); !isExceeded(err) {
		t.Errorf("got %v", err)
	}
}

// TestEqual compares as the service does, without a copy of either value.
func TestEqual(t *testing.T) {
	for _, test := range []struct {
		a, b any
		want bool
	}{
		{"1", json.Number("1"), true}, {"true", true, true}, {"a", "b", false}, {"null", nil, false}, {nil, nil, true}, {nil, noValue{}, true},
		{[]any{"1", nil}, []any{json.Number("1"), noValue{}}, true}, {[]any{"1"}, []any{"1", "1"}, false}, {[]any{}, nil, false}, {nil, []any{}, false},
		{map[string]any{"a": "1"}, map[string]any{"a": json.Number("1")}, true}, {map[string]any{"a": "1"}, map[string]any{"b": "1"}, false},
		{map[string]any{}, []any{}, false}, {"", []any{}, false}, {[]any{"a"}, "a", false},
	} {
		if got := equal(test.a, test.b); got != test.want {
			t.Errorf("equal(%v, %v) is %t", test.a, test.b, got)
		}
	}
}
