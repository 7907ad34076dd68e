package contract

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// loadInputs reads inputs from files given as name → text.
func loadInputs(t *testing.T, files map[string]string, exports map[string]string) (*Inputs, diag.List) {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	inputs, problems, err := LoadInputs(InputsConfig{Files: fsys, Schema: flavours[0].schema(t), Exports: func(name string) (string, bool) {
		value, found := exports[name]
		return value, found
	}})
	if err != nil {
		t.Fatal(err)
	}
	problems.Sort()
	return inputs, problems
}

func lines(problems diag.List) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s: %s: %s [%s]\n", p.At, p.Severity, p.Message, p.ID)
	}
	return b.String()
}

// TestInputsWithNull: the official suite sends null, and wants it back.
func TestInputsWithNull(t *testing.T) {
	_, problems := loadInputs(t, map[string]string{
		"inputs/inputs_1_create.json": `{"Title": "abc", "Layout": {"Margin": null}}`, "inputs/inputs_1_update.json": `{"Title": "def", "Ratio": null}`,
		"inputs/inputs_1_invalid.json": `{"Title": null}`,
	}, nil)
	if got := lines(problems); strings.Count(got, "[inputs/null]") != 2 || !strings.Contains(got, "error: the input contains null at /Layout/Margin") {
		t.Error(got)
	}
}

func TestLoadInputs(t *testing.T) {
	inputs, problems := loadInputs(t, map[string]string{
		"inputs/inputs_1_create.json":  `{"Title": "abc", "Pages": "5", "Draft": "true"}`,
		"inputs/inputs_1_update.json":  `{"Title": "def"}`,
		"inputs/inputs_1_invalid.json": `{"Title": 7}`,
		"inputs/inputs_2_create.json":  `{"Title": "second"}`,
		"inputs/inputs_10_create.json": `{"Title": "tenth"}`,
		"inputs/.DS_Store":             "x",
	}, nil)
	if problems.HasErrors() {
		t.Fatal(lines(problems))
	}
	want := []InputSet{
		{Number: 1, Create: map[string]any{"Title": "abc", "Pages": json.Number("5"), "Draft": true}, Update: map[string]any{"Title": "def"}, Invalid: map[string]any{"Title": "7"}},
		{Number: 2, Create: map[string]any{"Title": "second"}},
		{Number: 10, Create: map[string]any{"Title": "tenth"}},
	}
	if !reflect.DeepEqual(inputs.Sets, want) {
		t.Errorf("got %+v", inputs.Sets)
	}
	if got, want := lines(problems), "inputs/: warning: there are inputs_10 files but no inputs_3 files [inputs/gap]\n"; got != want {
		t.Errorf("problems %s", got)
	}
}

func TestNoInputs(t *testing.T) {
	inputs, problems := loadInputs(t, map[string]string{"other": ""}, nil)
	if len(problems) > 0 || len(inputs.Sets) > 0 || inputs.Overrides != nil {
		t.Errorf("%+v %s", inputs, lines(problems))
	}
}

func TestInputProblems(t *testing.T) {
	const create = `{"Title": "abc"}`
	tests := []struct {
		name  string
		files map[string]string
		want  string // the first problem that is not a warning, or a warning if it says so
	}{
		{"no create", map[string]string{"inputs/inputs_1_update.json": create}, "inputs/inputs_1_create.json: error: set 1 has no create input [inputs/incomplete]"},
		{"two creates", map[string]string{"inputs/inputs_1_create.json": create, "inputs/inputs_1_create_b.json": create}, "duplicate create input of set 1: inputs_1_create.json and inputs_1_create_b.json [inputs/duplicate]"},
		{"not JSON", map[string]string{"inputs/inputs_1_create.json": "{\n  \"Title\": \n}"}, "inputs/inputs_1_create.json:3:1: error:"},
		{"an array", map[string]string{"inputs/inputs_1_create.json": "[]"}, "inputs/inputs_1_create.json:1:1: error: an input must be an object with the properties of the resource but is a JSON array"},
		{"unknown property", map[string]string{"inputs/inputs_1_create.json": `{"Title": "abc", "Nope": 1}`}, "inputs/inputs_1_create.json:1:18: error: the schema has no property Nope [inputs/unknown-property]"},
		{"breaks the schema", map[string]string{"inputs/inputs_1_create.json": `{"Title": "a"}`}, "inputs/inputs_1_create.json:1:11: warning:"},
		{"unknown name", map[string]string{"inputs/inputs_1_create.json": create, "inputs/readme.md": ""}, "inputs/readme.md: warning: the file is not used: its name is not the name of an input [inputs/name]"},
		{"unknown kind", map[string]string{"inputs/inputs_1_create.json": create, "inputs/inputs_1_other.json": ""}, "warning: the file is not used: its name does not include the kind of input"},
		{"kind within a name", map[string]string{"inputs/inputs_1_create_invalid.json": create}, "warning: the file is used as the create input of set 1 [inputs/name]"},
		{"set zero", map[string]string{"inputs/inputs_1_create.json": create, "inputs/inputs_0_create.json": create}, "warning: the file is not used: sets are numbered from 1"},
		{"a hook's", map[string]string{"inputs/inputs_1_create.json": create, "inputs/inputs_1_pre_create.json": create}, "warning: the file is not used: it is an input for a hook"},
		{"unknown export", map[string]string{"inputs/inputs_1_create.json": "{\"Title\": \"abc\",\n \"Name\": \"{{ My-Stack:Name }}\"}"}, `inputs/inputs_1_create.json:2:11: error: unknown export "My-Stack:Name" [inputs/export]`},
		{"overrides beside inputs", map[string]string{"inputs/inputs_1_create.json": create, "overrides.json": `{"CREATE": {"/Title": "abc"}}`}, "overrides.json: warning: overrides.json has no effect"},
		{"overrides for READ", map[string]string{"overrides.json": `{"READ": {}}`}, `overrides.json:1:2: error: overrides do not apply to "READ" [overrides/structure]`},
		{"empty overrides", map[string]string{"overrides.json": `{}`}, "error: overrides.json has neither CREATE nor UPDATE"},
		{"overrides of a list", map[string]string{"overrides.json": `{"CREATE": []}`}, "error: the overrides of CREATE must be an object but are a JSON array"},
		{"override of nothing", map[string]string{"overrides.json": `{"CREATE": {"/Nope": 1}}`}, "overrides.json:1:13: error: the schema has no property /Nope [overrides/pointer]"},
		{"override of read-only", map[string]string{"overrides.json": `{"CREATE": {"/Id": 1}}`}, "/Id is read-only"},
		{"override of create-only", map[string]string{"overrides.json": `{"UPDATE": {"/Name": "abc"}}`}, "overrides.json:1:13: warning: /Name is create-only and cannot be changed by an update: the override is ignored"},
		{"bad pointer", map[string]string{"overrides.json": `{"CREATE": {"/~2": 1}}`}, `"/~2" is not a JSON pointer`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := loadInputs(t, test.files, nil)
			if got := lines(problems); !strings.Contains(got, test.want) {
				t.Errorf("got\n%swant %s", got, test.want)
			}
		})
	}
}

func TestExports(t *testing.T) {
	inputs, problems := loadInputs(t, map[string]string{
		"inputs/inputs_1_create.json": `{"Title": "x\"{{Quoted}}{{ Plain-Name }}", "Pages": {{Pages}}, "Kind": "{{not_an_export}}", "Name": "{{Plain-Name}}"}`,
	}, map[string]string{"Quoted": "a\"b\\\n", "Plain-Name": "name", "Pages": "12"})
	if problems.HasErrors() {
		t.Fatal(lines(problems))
	}
	want := map[string]any{"Title": "x\"a\"b\\\nname", "Pages": json.Number("12"), "Kind": "{{not_an_export}}", "Name": "name"}
	if !reflect.DeepEqual(inputs.Sets[0].Create, want) {
		t.Errorf("got %v", inputs.Sets[0].Create)
	}
	if got := ExportVariable("My-Stack:Name 1"); got != "CFN_EXPORT_My_Stack_Name_1" {
		t.Error(got)
	}
}

func TestOverrides(t *testing.T) {
	inputs, problems := loadInputs(t, map[string]string{
		"overrides.json": `{"CREATE": {"Title": "bare", "/Labels/0/Key": "first", "/Layout/Paper": "A4", "/Authors": ["{{Author}}"], "/Name": "chosen"}}`,
	}, map[string]string{"Author": "Lumbergh"})
	if len(problems) > 0 {
		t.Fatal(lines(problems))
	}
	s := newStub(flavours[0], "")
	summary := try(t, s, Config{Inputs: *inputs})
	if !summary.OK() {
		t.Fatal(outcomes(summary))
	}
	seen := 0
	for _, report := range s.deleted {
		if report["Title"] != "bare" || report["Name"] != "chosen" || report["Layout"].(map[string]any)["Paper"] != "A4" || report["Authors"].([]any)[0] != "Lumbergh" {
			t.Errorf("made %v", report)
		}
		if key := report["Labels"].([]any)[0].(map[string]any)["Key"]; key != "first" {
			t.Errorf("label %v", key)
		}
		seen++
	}
	if seen == 0 {
		t.Error("nothing was made")
	}
}

func FuzzLoadInputs(f *testing.F) {
	f.Add(`{"Title": "{{Export}}"}`, `{"CREATE": {"/Labels/*/Key": 1}}`)
	f.Add("[", `{"UPDATE": {"": 1}}`)
	s := flavours[0].schema(f)
	f.Fuzz(func(t *testing.T, input, overrides string) {
		files := fstest.MapFS{"inputs/inputs_1_create.json": {Data: []byte(input)}, "overrides.json": {Data: []byte(overrides)}}
		inputs, problems, err := LoadInputs(InputsConfig{Files: files, Schema: s, Exports: func(string) (string, bool) { return `"}`, true }})
		if err != nil {
			t.Fatal(err)
		}
		if !problems.HasErrors() && len(inputs.Sets) == 0 {
			t.Error("a set was lost without a word")
		}
		if inputs.Overrides != nil {
			apply(s, map[string]any{"Labels": []any{map[string]any{}}}, inputs.Overrides.Create, false)
		}
	})
}

func TestExpressions(t *testing.T) {
	names := func(held ...string) func(string) bool {
		return func(name string) bool { return slices.Contains(held, name) }
	}
	for _, test := range []struct {
		text string
		held []string
		want bool
	}{
		{"", nil, true}, {"a", []string{"a"}, true}, {"a", nil, false}, {"not a", nil, true}, {"a and b", []string{"a"}, false}, {"a or b", []string{"b"}, true},
		{"a and not b", []string{"a"}, true}, {"not (a or b)", nil, true}, {"not (a or b)", []string{"b"}, false}, {"a or b and c", []string{"a"}, true}, {"not not a", []string{"a"}, true},
		{"  (a)and(b) ", []string{"a", "b"}, true}, {"x::y.z-1[2]", []string{"x::y.z-1[2]"}, true},
	} {
		e, err := ParseExpression(test.text)
		if err != nil || e.Match(names(test.held...)) != test.want {
			t.Errorf("%q with %v: %v, want %v", test.text, test.held, err, test.want)
		}
	}
	for text, want := range map[string]string{
		"a b":                       `column 3: expected the end but got "b"`,
		"(a":                        "column 3: expected a closing parenthesis",
		"and a":                     `column 1: expected a name, not or an opening parenthesis but got "and"`,
		"a or":                      "column 5: expected a name, not or an opening parenthesis but got the end",
		"a & b":                     `column 3: expected the end but got "&"`,
		"&":                         `column 1: unexpected character "&"`,
		strings.Repeat("(", 10_000): "nested too deep",
	} {
		if _, err := ParseExpression(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: error %v, want %q", text, err, want)
		}
	}
}

func FuzzParseExpression(f *testing.F) {
	f.Add("a and not (b or c)")
	f.Add("((")
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := ParseExpression(text); err == nil {
			e.Match(func(string) bool { return true })
		}
	})
}

func TestParseArguments(t *testing.T) {
	a, err := ParseArguments([]string{"-k", "create or list", "-mnot update", "-xv", "--maxfail=3", "-vv", "-s", "--tb", "long", "--junitxml=out.xml", "--collect-only",
		"--random-order-seed=9", "-p", "no:cacheprovider", "--color=yes", "handler_create.py", "suite/resource/handler_delete.py::contract_delete_read"})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(a.Keywords, "|", a.Markers, "|", a.MaxFailures, a.Verbosity, a.Live, a.Traceback, a.JUnitXML, a.CollectOnly, a.Shuffle, a.Seed, a.IDs)
	if want := "create or list | not update | 3 3 true long out.xml true true 9 [handler_create.py handler_delete.py::contract_delete_read]\n"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for arg, want := range map[string]string{
		"--lf": "is not supported; use one of", "-n4": "is not supported", "-k": "-k requires a value", "--tb=fancy": "unknown style",
		"--maxfail=x": `expected a number of failures but got "x"`, "-k(": "column 2", "--exitfirst=1": "takes no value", "handler_nope.py": "unknown test handler_nope.py", "--random-order-seed=x": "as the seed",
	} {
		if _, err := ParseArguments([]string{arg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", arg, err, want)
		}
	}
}

func TestSelection(t *testing.T) {
	s := flavours[0].schema(t)
	pick := func(args ...string) string {
		a, err := ParseArguments(args)
		if err != nil {
			t.Fatal(err)
		}
		cases, _ := Select(s, a.Selection)
		var names []string
		for _, c := range cases {
			names = append(names, strings.TrimPrefix(c.Name(), "contract_"))
		}
		return strings.Join(names, " ")
	}
	for args, want := range map[string]string{
		"-k contract_delete_update":      "delete_update",
		"-k LIST":                        "create_list delete_list update_list",
		"-k handler_update.py":           "update_read update_list update_tag_updatable",
		"-m list":                        "create_list delete_list update_list",
		"-m lis":                         "",
		"-k misc":                        "check_asserts_work",
		"-k taggable -m create":          "create_taggable",
		"handler_update_invalid.py":      "update_without_create",
		"-k nothing_like_this":           "",
		"-k taggable -m update -k list ": "update_list",
	} {
		if got := pick(strings.Fields(args)...); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	one, other := pick("--random-order-seed=1"), pick("--random-order-seed=2")
	if one == other || len(one) != len(other) || one != pick("--random-order-seed=1") {
		t.Errorf("shuffled:\n%s\n%s", one, other)
	}
	if n := strings.Count(one, " "); n != coreCases-1 {
		t.Errorf("%d cases", n+1)
	}
}
