package template

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func expand(t *testing.T, body string, macros Macros, supplied ...Supplied) (*Template, error) {
	t.Helper()
	ctx := context.Background()
	parsed, err := Parse("t.yaml", []byte(body), ParseOptions{})
	if err != nil {
		return nil, err
	}
	bound, err := parsed.Bind(ctx, BindInput{Supplied: supplied})
	if err != nil {
		return nil, err
	}
	return parsed.Expand(ctx, ExpandInput{Parameters: bound, Pseudo: Pseudo{AccountID: "1", Region: "us-east-1"}, Macros: macros})
}

func TestLanguageExtensions(t *testing.T) {
	const head = "Transform: AWS::LanguageExtensions\nParameters: {Names: {Type: CommaDelimitedList, Default: 'a,b'}, P: {Type: String, Default: Retain}}\nMappings: {M: {a: {k: va}, b: {k: vb}}}\n"
	const sections = `"Parameters":{"Names":{"Type":"CommaDelimitedList","Default":"a,b"},"P":{"Type":"String","Default":"Retain"}},"Mappings":{"M":{"a":{"k":"va"},"b":{"k":"vb"}}},`
	for _, tt := range []struct{ name, body, want string }{
		{"loop over a parameter", "Resources:\n  Fn::ForEach::L:\n    - N\n    - !Ref Names\n    - R${N}: {Type: T, Properties: {V: !Join ['.', [!Ref N, x]], W: !Ref P, X: true}}\n",
			`"Resources":{"Ra":{"Type":"T","Properties":{"V":"a.x","W":{"Ref":"P"},"X":true}},"Rb":{"Type":"T","Properties":{"V":"b.x","W":{"Ref":"P"},"X":true}}}`},
		{"nested, with the letters only", "Resources:\n  Fn::ForEach::O:\n    - A\n    - [1.0, '10.0']\n    - R&{A}: {Type: T}\n      Fn::ForEach::I:\n        - B\n        - [x]\n        - R&{A}${B}: {Type: T, Properties: {V: !Sub '${A}-${B}-${AWS::Region}', W: !FindInMap [M, a, k]}}\n",
			`"Resources":{"R10":{"Type":"T"},"R10x":{"Type":"T","Properties":{"V":{"Fn::Sub":"1.0-x-${AWS::Region}"},"W":"va"}},"R100":{"Type":"T"},"R100x":{"Type":"T","Properties":{"V":{"Fn::Sub":"10.0-x-${AWS::Region}"},"W":"va"}}}`},
		{"in properties, conditions and outputs", "Conditions: {'Fn::ForEach::C': [N, [a], {'C${N}': !Equals [!Ref N, a]}]}\nResources: {R: {Type: T, Properties: {'Fn::ForEach::K': [N, [a, b], {'K${N}': !FindInMap [M, !Ref N, k]}], D: {E: {'Fn::ForEach::Q': [N, [z], {'${N}': 1}]}}}}}\nOutputs: {'Fn::ForEach::O': [N, !Ref Names, {'O${N}': {Value: !GetAtt 'R.${N}'}}]}\n",
			`"Conditions":{"Ca":{"Fn::Equals":["a","a"]}},"Resources":{"R":{"Type":"T","Properties":{"Ka":"va","Kb":"vb","D":{"E":{"z":1}}}}},"Outputs":{"Oa":{"Value":{"Fn::GetAtt":["R","a"]}},"Ob":{"Value":{"Fn::GetAtt":["R","b"]}}}`},
		{"empty loops leave no section", "Resources: {R: {Type: T}}\nOutputs: {'Fn::ForEach::O': [N, [], {'O${N}': {Value: x}}]}\n", `"Resources":{"R":{"Type":"T"}}`},
		{"functions of literals and parameters", "Resources: {R: {Type: T, DeletionPolicy: !Ref P, UpdateReplacePolicy: !FindInMap [M, x, k, {DefaultValue: Delete}], Properties: {L: {'Fn::Length': !Ref Names}, J: {'Fn::ToJsonString': {b: [1, true], a: x}}, S: !Select [1, !Split [',', 'x,y']], G: {'Fn::ToJsonString': [!GetAtt R2.A]}}}, R2: {Type: T}}\n",
			`"Resources":{"R":{"Type":"T","DeletionPolicy":"Retain","UpdateReplacePolicy":"Delete","Properties":{"L":2,"J":"{\"b\":[1,true],\"a\":\"x\"}","S":"y","G":{"Fn::ToJsonString":[{"Fn::GetAtt":["R2","A"]}]}}},"R2":{"Type":"T"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := expand(t, head+tt.body, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(out.ProcessedJSON()), "{"+sections+tt.want+"}"; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			again, err := Parse("p", out.ProcessedJSON(), ParseOptions{Processed: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Check(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestLoopsThatAreRefused(t *testing.T) {
	loop := func(text string) string {
		return "Transform: AWS::LanguageExtensions\nParameters: {P: {Type: String, Default: x}}\nResources: {R: {Type: T}, " + text + "}\n"
	}
	for _, tt := range []struct{ body, want string }{
		{loop("'Fn::ForEach::L': [N, [a, a], {'R${N}': {Type: T}}]"), "Fn::ForEach expansion in 'Fn::ForEach::L' produced logical IDs that conflict with existing entries: Ra"},
		{loop("'Fn::ForEach::L': [N, [a], {'R': {Type: T}}]"), "Fn::ForEach::L layout is incorrect"},
		{loop("'Fn::ForEach::L': [P, [a], {'R${P}': {Type: T}}]"), "Fn::ForEach::L: identifier 'P' conflicts with parameter name"},
		{loop("'Fn::ForEach::P': [N, [a], {'R${N}': {Type: T}}]"), "Fn::ForEach::P: loop name 'P' conflicts with parameter name"},
		{loop("'Fn::ForEach::L': [N, !Ref P, {'R${N}': {Type: T}}]"), "Fn::ForEach::L layout is incorrect"},
		{loop("'Fn::ForEach::L': [N, !GetAtt R.X, {'R${N}': {Type: T}}]"), "Fn::ForEach::L layout is incorrect"},
		{loop("'Fn::ForEach::L': [N, [a], {'Fn::ForEach::M': [N, [b], {'R${N}': {Type: T}}]}]"), "Fn::ForEach::M: identifier 'N' conflicts with another loop identifier"},
		{loop(strings.Repeat("'Fn::ForEach::L': [@, [a], {", 6) + "'R': {}" + strings.Repeat("}]", 6)), "Fn::ForEach nesting depth exceeds the maximum allowed depth of 5"},
	} {
		body := tt.body
		for i := range 6 {
			body = strings.Replace(body, "@", string(rune('A'+i)), 1)
		}
		_, err := expand(t, body, nil)
		want := "Transform AWS::LanguageExtensions failed with: " + tt.want
		if err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", body, err, want)
		}
	}
}

// A million expansions are refused before they take memory.
func TestManyExpansions(t *testing.T) {
	items := "[" + strings.Trim(many(32, ",i%d"), ",") + "]"
	nested := func(body string) string {
		return "Transform: AWS::LanguageExtensions\nResources:\n  'Fn::ForEach::A': [A, " + items + ", {'Fn::ForEach::B': [B, " + items +
			", {'Fn::ForEach::C': [C, " + items + ", {'Fn::ForEach::D': [D, " + items + ", " + body + "]}]}]}]\n"
	}
	for name, body := range map[string]string{
		"resources": nested("{'${A}${B}${C}${D}': {Type: T}}"),
		"nothing":   nested("{}"),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := expand(t, body, nil)
			runtime.ReadMemStats(&after)
			if !isExceeded(err) && (err == nil || err.Error() != "Template may not exceed 1000000 bytes in size.") {
				t.Fatalf("got %v", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20 {
				t.Errorf("%d MiB were allocated", used>>20)
			}
		})
	}
}

// recorder notes which macros run with what.
type recorder struct {
	calls   []string
	answers map[string]string
}

func (r *recorder) Include(_ context.Context, location string) ([]byte, error) {
	r.calls = append(r.calls, "include "+location)
	body, ok := r.answers[location]
	if !ok {
		return nil, errors.New("S3 bucket [b] does not exist.")
	}
	return []byte(body), nil
}

func (r *recorder) Transform(_ context.Context, call MacroCall) ([]byte, error) {
	r.calls = append(r.calls, fmt.Sprintf("%s %s %s %v", call.TransformID, call.Fragment, call.Params, call.Values))
	body, ok := r.answers[call.Name]
	if !ok {
		return nil, ErrNoMacro
	}
	return fmt.Appendf(nil, `{"requestId": "r", "status": "success", "fragment": %s}`, body), nil
}

func TestTransformsRunInOrder(t *testing.T) {
	r := &recorder{answers: map[string]string{
		"Inner": `"inner"`, "Outer": `{"made": "outer"}`,
		"Top":                        `{"Transform": "Last", "Resources": {"Top": {"Type": "T"}}}`,
		"Last":                       `{"Resources": {"Last": {"Type": "T"}}, "Outputs": {"Fn::ForEach::L": ["N", ["O"], {"${N}": {"Value": "x"}}]}}`,
		"AWS::Serverless-2016-10-31": `{"Resources": {"Served": {"Type": "T"}}}`,
	}}
	out, err := expand(t, `
Transform: [AWS::Serverless-2016-10-31, AWS::LanguageExtensions, Top]
Parameters: {P: {Type: CommaDelimitedList, Default: "a,b"}}
Resources: {R: {Type: T, Properties: {Fn::Transform: {Name: Outer, Parameters: {k: !Ref P}}, x: {Fn::Transform: {Name: Inner}}}}}
`, r)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`1::Inner {} {} map[P:[a b]]`,
		`1::Outer {"x":"inner"} {"k":{"Ref":"P"}} map[P:[a b]]`,
		`1::Top {"Parameters":{"P":{"Type":"CommaDelimitedList","Default":"a,b"}},"Resources":{"R":{"Type":"T","Properties":{"made":"outer"}}}} {} map[P:[a b]]`,
		`1::Last {"Resources":{"Top":{"Type":"T"}}} {} map[P:[a b]]`,
		`AWS::Serverless-2016-10-31 {"Resources":{"Last":{"Type":"T"}},"Outputs":{"O":{"Value":"x"}}} {} map[P:[a b]]`,
	}
	if !slices.Equal(r.calls, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(r.calls, "\n"), strings.Join(want, "\n"))
	}
	if got := string(out.ProcessedJSON()); got != `{"Resources":{"Served":{"Type":"T"}}}` {
		t.Errorf("got %s", got)
	}
}

// TestTransformsInList runs the transforms of a list one after the other.
func TestTransformsInList(t *testing.T) {
	r := &recorder{answers: map[string]string{"One": `{"made": "one"}`, "Two": `{"made": "two"}`}}
	out, err := expand(t, "Resources: {R: {Type: T, Properties: {x: 1, Fn::Transform: [{Name: One, Parameters: {k: v}}, {Name: Two}]}}}\n", r)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{`1::One {"x":1} {"k":"v"} map[]`, `1::Two {"made":"one"} {} map[]`}; !slices.Equal(r.calls, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(r.calls, "\n"), strings.Join(want, "\n"))
	}
	if got := string(out.ProcessedJSON()); got != `{"Resources":{"R":{"Type":"T","Properties":{"made":"two"}}}}` {
		t.Errorf("got %s", got)
	}
	for _, list := range []string{"[]", "[One]"} {
		if _, err := expand(t, "Resources: {R: {Type: T, Properties: {Fn::Transform: "+list+"}}}\n", r); err == nil || err.Error() != "Key Name of transform definition must be a string." {
			t.Errorf("%s: %v", list, err)
		}
	}
	parsed, err := Parse("t.yaml", []byte("Resources: {R: {Type: T, Properties: {Fn::Transform: [{Name: One}, {Name: AWS::Include}]}}}\n"), ParseOptions{})
	if err != nil || fmt.Sprint(parsed.UsedTransforms()) != "[One AWS::Include]" || fmt.Sprint(parsed.Summary().Capabilities) != "[CAPABILITY_AUTO_EXPAND]" {
		t.Errorf("%v, %v", parsed.UsedTransforms(), err)
	}
}

func TestInclude(t *testing.T) {
	r := &recorder{answers: map[string]string{
		"s3://b/resources": "P:\n  Type: T2\nQ:\n  Type: !Sub T\n", "s3://b/top": `{"Outputs": {"O": {"Value": "x"}}, "Resources": {"Z": {"Type": "T"}}}`, "s3://b/text": `"just text"`,
	}}
	out, err := expand(t, `
Parameters: {Bucket: {Type: String, Default: b}}
Transform: {Name: AWS::Include, Parameters: {Location: !Sub "s3://${Bucket}/top"}}
Resources:
  P: {Type: T, Properties: {V: {Fn::Transform: {Name: AWS::Include, Parameters: {Location: s3://b/text}}}}}
  A: {Type: T}
`, r)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Parameters":{"Bucket":{"Type":"String","Default":"b"}},"Resources":{"P":{"Type":"T","Properties":{"V":"just text"}},"A":{"Type":"T"},"Z":{"Type":"T"}},"Outputs":{"O":{"Value":"x"}}}`
	if got := string(out.ProcessedJSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_, err = expand(t, "Resources: {Fn::Transform: {Name: AWS::Include, Parameters: {Location: s3://b/none}}}", r)
	if err == nil || err.Error() != "Transform AWS::Include failed with: S3 bucket [b] does not exist." {
		t.Errorf("got %v", err)
	}
}

func TestExpandStopsWithTheContext(t *testing.T) {
	parsed, err := Parse("t", []byte("Transform: M\n"+simple), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := parsed.Expand(ctx, ExpandInput{Macros: answering("{}")}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestHostileTemplates(t *testing.T) {
	deep := strings.Repeat("[", 2000)
	anchors := "a: &a [x,x,x,x,x,x,x,x,x]\n" + many(9, "b%d: [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n")
	chain := "Conditions:\n  C0: !Equals [a, a]\n"
	for i := range 3000 {
		chain += fmt.Sprintf("  C%d: !Not [!Condition C%d]\n", i+1, i)
	}
	for name, tt := range map[string]struct{ body, want string }{
		"deep JSON":        {`{"Resources":` + deep, "Template format error: JSON not well-formed."},
		"deep YAML":        {"Resources: " + deep, "Template format error: YAML not well-formed."},
		"alias bomb":       {anchors + simple, "Template error: YAML aliases are not allowed"},
		"many values":      {"a: [" + strings.Repeat("1,", 400_000) + "]", "Template may not exceed 1000000 bytes in size."},
		"many JSON values": {`{"a":[` + strings.Repeat("1,", 400_000) + "1]}", "Template may not exceed 1000000 bytes in size."},
		"condition chain":  {chain + simple, ""},
		"wide cycle":       {"Resources:\n" + many(499, "  R%d: {Type: T, DependsOn: Hub}\n") + "  Hub: {Type: T, DependsOn: R0}\n", "Circular dependency between resources: [R0, Hub]"},
		"control":          {"Resources: \x00", "Template format error: YAML not well-formed."},
		"not UTF-8":        {"Resources: \xff", "Template format error: YAML not well-formed."},
		"empty":            {"", "Template format error: YAML not well-formed."},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			err := refused(refusalCase{body: tt.body})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
}
