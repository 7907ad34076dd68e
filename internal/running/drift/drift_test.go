package drift_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/jsonata"
	"github.com/formwork-dev/formwork/internal/running/drift"
)

// queue is a schema with the given transforms, as members of propertyTransform.
func queue(t testing.TB, transforms string) *schema.Schema {
	t.Helper()
	s, problems := schema.Load("queue.json", []byte(`{"typeName":"Acme::Jobs::Queue","description":"A queue.","additionalProperties":false,"tagging":{"taggable":false},
"definitions":{"Rule":{"type":"object","properties":{"Name":{"type":"string"},"Protocol":{"type":"string"},"Port":{"type":"integer"}},"additionalProperties":false}},
"properties":{"Id":{"type":"string"},"Name":{"type":"string"},"Size":{"type":"integer"},"Secret":{"type":"string"},
"Settings":{"type":"object","properties":{"Mode":{"type":"string"},"Password":{"type":"string"},"Day":{"type":"string"}},"additionalProperties":false},
"Rules":{"type":"array","insertionOrder":false,"items":{"$ref":"#/definitions/Rule"}},
"Steps":{"type":"array","items":{"$ref":"#/definitions/Rule"}},
"Words":{"type":"array","items":{"type":"string"}},
"Labels":{"type":"object","patternProperties":{"^.*$":{"type":"string"}},"additionalProperties":false}},
"propertyTransform":{`+transforms+`},
"readOnlyProperties":["/properties/Id"],"writeOnlyProperties":["/properties/Secret","/properties/Settings/Password"],"primaryIdentifier":["/properties/Id"]}`), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return s
}

func model(t testing.TB, text string) any {
	t.Helper()
	v, problems := document.ParseJSON("model.json", []byte(text), document.Limits{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return v.Any()
}

// show writes a result on one line.
func show(r drift.Result) string {
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	out := []string{r.Status}
	for _, d := range r.Differences {
		line := fmt.Sprintf("%s %s %s->%s", d.DifferenceType, d.PropertyPath, text(d.ExpectedValue), text(d.ActualValue))
		if len(d.Transformed) > 0 {
			line += " not " + text(d.Transformed)
		}
		out = append(out, line)
	}
	for _, p := range r.Problems {
		out = append(out, fmt.Sprintf("%s %s: %s", p.ID, p.Pointer, p.Message))
	}
	return strings.Join(out, " | ")
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct{ name, transforms, expected, actual, want string }{
		{name: "equal", expected: `{"Name":"a","Size":1}`, actual: `{"Size":1.0,"Name":"a"}`, want: "IN_SYNC"},
		{name: "changed", expected: `{"Name":"a","Size":1}`, actual: `{"Name":"b","Size":2}`, want: `MODIFIED | NOT_EQUAL /Name "a"->"b" | NOT_EQUAL /Size 1->2`},
		{name: "removed", expected: `{"Name":"a"}`, actual: `{}`, want: `MODIFIED | REMOVE /Name "a"->null`},
		{name: "null is nothing", expected: `{"Name":null}`, actual: `{"Name":"a"}`, want: "IN_SYNC"},
		{name: "defaults are no drift", expected: `{"Settings":{"Mode":"x"}}`, actual: `{"Size":1,"Settings":{"Mode":"x","Day":"mon"}}`, want: "IN_SYNC"},
		{name: "an item more", expected: `{"Words":["a"]}`, actual: `{"Words":["a","b"]}`, want: `MODIFIED | ADD /Words/1 null->"b"`},
		{name: "an item less", expected: `{"Words":["a","b"]}`, actual: `{"Words":["a"]}`, want: `MODIFIED | REMOVE /Words/1 "b"->null`},
		{name: "order matters", expected: `{"Words":["a","b"]}`, actual: `{"Words":["b","a"]}`, want: `MODIFIED | NOT_EQUAL /Words/0 "a"->"b" | NOT_EQUAL /Words/1 "b"->"a"`},
		{name: "order does not matter", expected: `{"Rules":[{"Name":"a"},{"Name":"b"}]}`, actual: `{"Rules":[{"Name":"b","Port":1},{"Name":"a"}]}`, want: "IN_SYNC"},
		{name: "read-only and write-only", expected: `{"Id":"x","Secret":"y","Name":"a"}`, actual: `{"Id":"z","Name":"a","Secret":"w"}`, want: "IN_SYNC"},
		{name: "nothing but a write-only property", expected: `{"Settings":{"Password":"x"}}`, actual: `{}`, want: "IN_SYNC"},
		{name: "an empty object that was asked for", expected: `{"Settings":{}}`, actual: `{}`, want: `MODIFIED | REMOVE /Settings {}->null`},
		{name: "texts of numbers", expected: `{"Size":"5"}`, actual: `{"Size":5}`, want: "IN_SYNC"},

		{name: "a transform", transforms: `"/properties/Name":"$join([Name, \".\"])"`, expected: `{"Name":"a.com"}`, actual: `{"Name":"a.com."}`, want: "IN_SYNC"},
		{name: "equal without the transform", transforms: `"/properties/Name":"\"other\""`, expected: `{"Name":"a"}`, actual: `{"Name":"a"}`, want: "IN_SYNC"},
		{name: "a transform that does not help", transforms: `"/properties/Name":"$join([Name, \".\"])"`, expected: `{"Name":"a"}`, actual: `{"Name":"b"}`, want: `MODIFIED | NOT_EQUAL /Name "a"->"b" not ["a."]`},
		{name: "the second alternative", transforms: `"/properties/Name":"$lowercase(Name) $OR $uppercase(Name)"`, expected: `{"Name":"aB"}`, actual: `{"Name":"AB"}`, want: "IN_SYNC"},
		{name: "no alternative", transforms: `"/properties/Name":"$lowercase(Name) $OR $uppercase(Name)"`, expected: `{"Name":"aB"}`, actual: `{"Name":"Ab"}`, want: `MODIFIED | NOT_EQUAL /Name "aB"->"Ab" not ["ab","AB"]`},
		{name: "$OR in a string", transforms: `"/properties/Name":"Name & \" $OR b\""`, expected: `{"Name":"a"}`, actual: `{"Name":"a $OR b"}`, want: "IN_SYNC"},
		{name: "a pattern", transforms: `"/properties/Name":"\"arn:aws[-a-z]*:sqs:[0-9]{12}:\" & Name"`, expected: `{"Name":"a"}`, actual: `{"Name":"arn:aws-cn:sqs:123456789012:a"}`, want: "IN_SYNC"},
		{name: "a pattern matches the whole text", transforms: `"/properties/Name":"\"x[0-9]|y\""`, expected: `{"Name":"a"}`, actual: `{"Name":"x12"}`, want: `MODIFIED | NOT_EQUAL /Name "a"->"x12" not ["x[0-9]|y"]`},
		{name: "a text that is not a pattern", transforms: `"/properties/Name":"Name & \")(\""`, expected: `{"Name":"a"}`, actual: `{"Name":"a"}`, want: "IN_SYNC"},
		{name: "brackets that only fit together", transforms: `"/properties/Name":"\"a)(b\""`, expected: `{"Name":"x"}`, actual: `{"Name":"ab"}`, want: `MODIFIED | NOT_EQUAL /Name "x"->"ab" not ["a)(b"]`},
		{name: "a regular expression", transforms: `"/properties/Name":"/[a-z]+/i"`, expected: `{"Name":"x"}`, actual: `{"Name":"ABC"}`, want: "IN_SYNC"},
		{name: "nothing is not a result", transforms: `"/properties/Name":"Nothing"`, expected: `{"Name":"x"}`, actual: `{}`, want: `MODIFIED | REMOVE /Name "x"->null`},
		{name: "null is a missing property", transforms: `"/properties/Words":"Words=[] ? null : Words"`, expected: `{"Words":[]}`, actual: `{}`, want: "IN_SYNC"},
		{name: "null is no other value", transforms: `"/properties/Name":"null"`, expected: `{"Name":"x"}`, actual: `{"Name":"y"}`, want: `MODIFIED | NOT_EQUAL /Name "x"->"y" not [null]`},
		{name: "a number", transforms: `"/properties/Size":"Size * 1000"`, expected: `{"Size":1700000000}`, actual: `{"Size":1700000000000}`, want: "IN_SYNC"},
		{name: "a number as a text", transforms: `"/properties/Size":"$string(Size + 1)"`, expected: `{"Size":1}`, actual: `{"Size":2}`, want: "IN_SYNC"},
		{name: "an object", transforms: `"/properties/Settings":"$merge([Settings, {'Mode': $lowercase(Settings.Mode)}])"`, expected: `{"Settings":{"Mode":"X","Day":"mon"}}`, actual: `{"Settings":{"Mode":"x","Day":"mon"}}`, want: "IN_SYNC"},
		{name: "an object is shown as a whole", transforms: `"/properties/Settings":"{'Mode': $lowercase(Settings.Mode)}"`, expected: `{"Settings":{"Mode":"X"}}`, actual: `{"Settings":{"Mode":"y"}}`, want: `MODIFIED | NOT_EQUAL /Settings {"Mode":"X"}->{"Mode":"y"} not [{"Mode":"x"}]`},
		{name: "from the parent", transforms: `"/properties/Settings/Day":"$uppercase(Day)"`, expected: `{"Settings":{"Day":"mon"}}`, actual: `{"Settings":{"Day":"MON"}}`, want: "IN_SYNC"},
		{name: "from the model", transforms: `"/properties/Settings/Day":"$uppercase(Settings.Day)"`, expected: `{"Settings":{"Day":"mon"}}`, actual: `{"Settings":{"Day":"MON"}}`, want: "IN_SYNC"},
		{name: "the parent comes first", transforms: `"/properties/Settings/Mode":"Name & Mode"`, expected: `{"Name":"n","Settings":{"Mode":"m"}}`, actual: `{"Name":"n","Settings":{"Mode":"x"}}`, want: `MODIFIED | NOT_EQUAL /Settings/Mode "m"->"x" not ["m","n"]`},
		{name: "a path without its slash", transforms: `"Name":"Name & '.'"`, expected: `{"Name":"a"}`, actual: `{"Name":"a."}`, want: "IN_SYNC"},

		{name: "items of a list", transforms: `"/properties/Steps/*/Protocol":"$lowercase(Protocol)"`, expected: `{"Steps":[{"Protocol":"TCP"},{"Protocol":"UDP"}]}`, actual: `{"Steps":[{"Protocol":"tcp"},{"Protocol":"icmp"}]}`, want: `MODIFIED | NOT_EQUAL /Steps/1/Protocol "UDP"->"icmp" not ["udp"]`},
		{name: "a path through a list without its star", transforms: `"/properties/Steps/Protocol":"$lowercase(Protocol)"`, expected: `{"Steps":[{"Protocol":"TCP"}]}`, actual: `{"Steps":[{"Protocol":"tcp"}]}`, want: "IN_SYNC"},
		{name: "items without an order", transforms: `"/properties/Rules/*/Protocol":"$lowercase(Protocol)"`, expected: `{"Rules":[{"Protocol":"TCP"},{"Protocol":"UDP"},{"Protocol":"ICMP"}]}`, actual: `{"Rules":[{"Protocol":"icmp"},{"Protocol":"tcp"},{"Protocol":"udp"}]}`, want: "IN_SYNC"},
		{name: "items of texts", transforms: `"/properties/Words/*":"$uppercase($string(Words[0]))"`, expected: `{"Words":["a"]}`, actual: `{"Words":["A"]}`, want: "IN_SYNC"},
		{name: "values of a map", transforms: `"/properties/Labels/*":"$lookup($, 'k') & '!'"`, expected: `{"Labels":{"k":"v"}}`, actual: `{"Labels":{"k":"v!"}}`, want: "IN_SYNC"},
		{name: "two transforms of one place", transforms: `"/properties/Rules/*/Name":"'x'", "/properties/Rules/Name":"'y'"`, expected: `{"Rules":[{"Name":"a"}]}`, actual: `{"Rules":[{"Name":"y"}]}`, want: "IN_SYNC"},

		{name: "a faulty transform", transforms: `"/properties/Name":"$lowercase(Name $OR Name & '.'"`, expected: `{"Name":"a"}`, actual: `{"Name":"b"}`, want: `MODIFIED | NOT_EQUAL /Name "a"->"b" | drift/transform-syntax /propertyTransform/~1properties~1Name: the transform "$lowercase(Name $OR Name & '.'" of /properties/Name is not JSONata: `},
		{name: "a faulty alternative does not stop the others", transforms: `"/properties/Name":"Name Name $OR Name & '.'"`, expected: `{"Name":"a"}`, actual: `{"Name":"a."}`, want: "IN_SYNC"},
		{name: "a transform that fails", transforms: `"/properties/Name":"Name + 1 $OR Name & '.'"`, expected: `{"Name":"a"}`, actual: `{"Name":"b"}`, want: `MODIFIED | NOT_EQUAL /Name "a"->"b" not ["a."] | drift/transform-failed /propertyTransform/~1properties~1Name: the transform "Name + 1" of /properties/Name fails: jsonata T2001`},
		{name: "fails, and another one helps", transforms: `"/properties/Name":"Name + 1 $OR Name & '.'"`, expected: `{"Name":"a"}`, actual: `{"Name":"a."}`, want: "IN_SYNC"},
		{name: "a function", transforms: `"/properties/Name":"$lowercase"`, expected: `{"Name":"a"}`, actual: `{"Name":"b"}`, want: `MODIFIED | NOT_EQUAL /Name "a"->"b" | drift/transform-failed /propertyTransform/~1properties~1Name: the transform "$lowercase" of /properties/Name fails: its result is a function`},
		{name: "without end", transforms: `"/properties/Name":"($f := function(){$f()}; $f())"`, expected: `{"Name":"a"}`, actual: `{"Name":"b"}`, want: `MODIFIED | NOT_EQUAL /Name "a"->"b" | drift/transform-failed /propertyTransform/~1properties~1Name: the transform "($f := function(){$f()}; $f())" of /properties/Name fails: jsonata U1001`},
		{name: "write-only values are not to be had", transforms: `"/properties/Name":"Secret"`, expected: `{"Name":"a","Secret":"s3cr3t"}`, actual: `{"Name":"b"}`, want: `MODIFIED | NOT_EQUAL /Name "a"->"b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			expected, actual := model(t, tt.expected), model(t, tt.actual)
			result, err := drift.Compare(t.Context(), queue(t, tt.transforms), expected, actual, drift.Config{})
			if err != nil {
				t.Fatal(err)
			}
			got := show(result)
			if got != tt.want && (len(result.Problems) == 0 || !strings.HasPrefix(got, tt.want)) { // the words of JSONata follow
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if !reflect.DeepEqual(expected, model(t, tt.expected)) || !reflect.DeepEqual(actual, model(t, tt.actual)) {
				t.Error("a model was changed")
			}
		})
	}
}

func TestNewReportsFaultyTransforms(t *testing.T) {
	_, problems := drift.New(queue(t, `"/properties/Name":"Name $OR $lowercase(","/properties/Size":"Size"`), drift.Config{})
	if len(problems) != 1 || problems[0].ID != "drift/transform-syntax" || problems[0].At.Start.Line != 9 || problems[0].Pointer != "/propertyTransform/~1properties~1Name" {
		t.Errorf("got %+v", problems)
	}
}

func TestCompareRefuses(t *testing.T) {
	s := queue(t, `"/properties/Steps/*/Name":"Name & '.'"`)
	var steps []any
	var other []any
	for i := range 50 {
		steps = append(steps, map[string]any{"Name": strconv.Itoa(i)})
		other = append(other, map[string]any{"Name": "x"})
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx              context.Context
		expected, actual any
		config           drift.Config
		want             string
	}{
		"no object":        {t.Context(), []any{}, map[string]any{}, drift.Config{}, "compare models: the expected model is not an object"},
		"nothing":          {t.Context(), map[string]any{}, nil, drift.Config{}, "compare models: the actual model is not an object"},
		"too many":         {t.Context(), map[string]any{"Steps": steps}, map[string]any{"Steps": other}, drift.Config{Evaluations: 60}, "compare models: the models differ in too many places that have transforms: more than 60 evaluations"},
		"too long":         {t.Context(), map[string]any{"Steps": steps}, map[string]any{"Steps": other}, drift.Config{Timeout: 1}, "compare models: evaluating the transforms takes longer than 1ns"},
		"cancelled":        {cancelled, map[string]any{"Steps": steps}, map[string]any{"Steps": other}, drift.Config{}, "compare models: context canceled"},
		"cancelled, equal": {cancelled, map[string]any{}, map[string]any{}, drift.Config{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := drift.Compare(tt.ctx, s, tt.expected, tt.actual, tt.config)
			if got := fmt.Sprint(err); got != tt.want && (tt.want != "" || err != nil) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if tt.ctx == cancelled && tt.want != "" && !errors.Is(err, context.Canceled) {
				t.Errorf("%v does not wrap context.Canceled", err)
			}
		})
	}
}

// TestHostilePattern lets a transform give a pattern that backtracks for ever.
func TestHostilePattern(t *testing.T) {
	s := queue(t, `"/properties/Words/*":"'(a+)+$b'"`)
	text := strings.Repeat("a", 60)
	var want, got []any
	for range 200 {
		want, got = append(want, "x"), append(got, text)
	}
	result, err := drift.Compare(t.Context(), s, map[string]any{"Words": want}, map[string]any{"Words": got}, drift.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != drift.Modified || len(result.Differences) != 200 || len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Message, "takes too long") {
		t.Errorf("%s, %d differences, %v", result.Status, len(result.Differences), result.Problems)
	}
}

// A record is what the reference makes of one published transform and one model.
type record struct {
	Type, Path, Expression, Variant, Context string
	Model                                    any
	Alternatives                             []struct {
		Expr      string
		Result    json.RawMessage
		Undefined bool
		Error     any
	}
}

// TestPublishedTransforms compares each model of the records with what each result of the
// reference makes of it, which is not a drift, and with something else, which is, and then
// the results are those of the reference, the nearer context first.
func TestPublishedTransforms(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "transforms"), "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var records []record
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&records); err != nil || len(records) == 0 {
		t.Fatal(len(records), err)
	}
	// Records of one model with different contexts follow each other, the root first.
	compared := 0
	for i := 0; i < len(records); {
		group := []record{records[i]}
		for i++; i < len(records) && records[i].Type == group[0].Type && records[i].Path == group[0].Path && records[i].Variant == group[0].Variant &&
			reflect.DeepEqual(records[i].Model, group[0].Model) && records[i].Context != group[0].Context; i++ {
			group = append(group, records[i])
		}
		slices.SortStableFunc(group, func(a, b record) int { return len(b.Context) - len(a.Context) })
		compared += comparePublished(t, group)
	}
	if compared < len(records) {
		t.Errorf("%d comparisons for %d records", compared, len(records))
	}
	t.Logf("%d records, %d comparisons", len(records), compared)
}

func comparePublished(t *testing.T, group []record) (compared int) {
	t.Helper()
	first := group[0]
	label := first.Type + " " + first.Path + " (" + first.Variant + ")"
	expression, err := json.Marshal(first.Expression)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := schema.Load("", []byte(`{"properties":{},"propertyTransform":{"`+first.Path+`":`+string(expression)+`}}`), schema.Config{Kind: schema.Resource})
	detector, problems := drift.New(s, drift.Config{})
	if problems != nil {
		t.Errorf("%s: %v", label, problems)
		return 0
	}
	compare := func(actual any) drift.Result {
		compared++
		result, err := detector.Compare(t.Context(), first.Model, actual)
		if err != nil {
			t.Fatalf("%s: %v", label, err)
		}
		return result
	}
	tokens := strings.Split(strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(first.Path, "/"), "properties/"), "*", "0"), "/")
	if !has(first.Model, tokens) {
		for range group {
			if result := compare(put(first.Model, tokens, "something else")); result.Status != drift.InSync {
				t.Errorf("%s: what is not set has drifted: %s", label, show(result))
			}
		}
		return compared
	}
	var want []any
	for i := range first.Alternatives {
		for _, r := range group {
			a := r.Alternatives[i]
			if a.Undefined || a.Error != nil {
				continue
			}
			var value any
			if err := json.Unmarshal(a.Result, &value); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(want, func(known any) bool { return reflect.DeepEqual(known, value) }) {
				want = append(want, value)
			}
			if value == nil {
				continue
			}
			if result := compare(put(first.Model, tokens, value)); result.Status != drift.InSync {
				t.Errorf("%s: %s gives %s: %s", label, a.Expr, a.Result, show(result))
			}
		}
	}
	for range group {
		result := compare(put(first.Model, tokens, "\x01 something else"))
		if result.Status != drift.Modified || len(result.Differences) != 1 {
			t.Errorf("%s: %s", label, show(result))
			continue
		}
		if got := plain(t, result.Differences[0].Transformed); !reflect.DeepEqual(got, plain(t, want)) {
			t.Errorf("%s: transformed to %v, the reference has %v", label, got, want)
		}
	}
	return compared
}

// plain makes values comparable that come from different decoders.
func plain(t *testing.T, v []any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func has(v any, tokens []string) bool {
	for _, token := range tokens {
		switch held := v.(type) {
		case map[string]any:
			v = held[token]
		case []any:
			if i, err := strconv.Atoi(token); err == nil && i < len(held) {
				v = held[i]
				continue
			}
			v = nil
		default:
			return false
		}
	}
	return v != nil
}

// put is a copy of a model with another value at a place.
func put(v any, tokens []string, value any) any {
	if len(tokens) == 0 {
		return value
	}
	switch held := v.(type) {
	case []any:
		out := slices.Clone(held)
		if i, err := strconv.Atoi(tokens[0]); err == nil && i < len(out) {
			out[i] = put(out[i], tokens[1:], value)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, item := range held {
			out[key] = item
		}
		out[tokens[0]] = put(out[tokens[0]], tokens[1:], value)
		return out
	}
	return map[string]any{tokens[0]: put(nil, tokens[1:], value)}
}

// FuzzCompare looks for transforms and models that crash the comparison, and for models
// that are not in sync with themselves.
func FuzzCompare(f *testing.F) {
	for _, transform := range []string{"Name & '.'", "$lowercase(Name) $OR null", "/a/i", "Rules", "$merge([$, {'Name': 1}])", "$OR", "'a)(b' $OR '(a'"} {
		f.Add(transform, `{"Name":"a","Rules":[{"Name":"x"},{"Name":"y"}],"Settings":{"Mode":"m","Password":"p"}}`, `{"Name":"b","Rules":[{"Name":"Y"},{}]}`)
	}
	f.Fuzz(func(t *testing.T, transform, expected, actual string) {
		quoted, err := json.Marshal(transform)
		if err != nil {
			t.Fatal(err)
		}
		limits := document.Limits{Bytes: 2048, Depth: 12}
		want, problems := document.ParseJSON("", []byte(expected), limits)
		got, more := document.ParseJSON("", []byte(actual), limits)
		if problems.HasErrors() || more.HasErrors() {
			return
		}
		s := queue(t, `"/properties/Name":`+string(quoted)+`,"/properties/Rules/*/Name":`+string(quoted)+`,"/properties/Settings":`+string(quoted))
		config := drift.Config{Timeout: 2 * time.Second, Transforms: jsonata.Config{MaxSteps: 10_000}}
		result, err := drift.Compare(t.Context(), s, want.Any(), got.Any(), config)
		if err == nil && (result.Status == drift.InSync) != (len(result.Differences) == 0) {
			t.Fatal(show(result))
		}
		if err == nil {
			if result, err = drift.Compare(t.Context(), s, want.Any(), want.Any(), config); err != nil || result.Status != drift.InSync {
				t.Fatalf("a model differs from itself: %v %s", err, show(result))
			}
		}
	})
}

func BenchmarkCompare(b *testing.B) {
	d, _ := drift.New(queue(b, `"/properties/Name":"$join([$lowercase(Name), \".\"])","/properties/Rules/*/Protocol":"$lowercase(Protocol) $OR $uppercase(Protocol)"`), drift.Config{})
	expected := model(b, `{"Name":"Example.com","Size":"5","Settings":{"Mode":"x"},"Rules":[{"Protocol":"Tcp","Port":1},{"Protocol":"Udp","Port":2}]}`)
	actual := model(b, `{"Name":"example.com.","Size":5,"Settings":{"Mode":"x","Day":"mon"},"Rules":[{"Protocol":"UDP","Port":2},{"Protocol":"tcp","Port":1}]}`)
	for b.Loop() {
		if result, err := d.Compare(b.Context(), expected, actual); err != nil || result.Status != drift.InSync {
			b.Fatal(err, show(result))
		}
	}
}

// TestWhatAServiceMayReturnIsNoDrift: deprecated properties that are missing, and attributes that the service adds.
func TestWhatAServiceMayReturnIsNoDrift(t *testing.T) {
	s, problems := schema.Load("group.json", []byte(`{"typeName":"Acme::Jobs::Group","description":"A group.","additionalProperties":false,"primaryIdentifier":["/properties/Id"],"readOnlyProperties":["/properties/Id"],
"properties":{"Id":{"type":"string"},"Old":{"type":"string"},"Attributes":{"type":"array","arrayType":"AttributeList","items":{"type":"object","properties":{"Key":{"type":"string"},"Value":{"type":"string"}}}}},
"deprecatedProperties":["/properties/Old"]}`), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	for _, test := range []struct{ expected, actual, status string }{
		{`{"Old":"abc"}`, `{"Id":"1"}`, drift.InSync},
		{`{"Old":"abc"}`, `{"Id":"1","Old":"def"}`, drift.Modified},
		{`{"Attributes":[{"Key":"a","Value":"1"}]}`, `{"Attributes":[{"Key":"b","Value":"0"},{"Key":"a","Value":"1"}]}`, drift.InSync},
		{`{"Attributes":[{"Key":"a","Value":"1"}]}`, `{"Attributes":[{"Key":"b","Value":"0"},{"Key":"a","Value":"2"}]}`, drift.Modified},
	} {
		result, err := drift.Compare(t.Context(), s, model(t, test.expected), model(t, test.actual), drift.Config{})
		if err != nil || result.Status != test.status {
			t.Errorf("%s and %s: %s, %v; want %s", test.expected, test.actual, result.Status, err, test.status)
		}
	}
}
