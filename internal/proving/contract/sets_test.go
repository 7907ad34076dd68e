package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// lockedFunction lets several sets use a service.
type lockedFunction struct {
	mu *sync.Mutex
	s  *service
}

func (f lockedFunction) Call(ctx context.Context, payload []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.s.Call(ctx, payload)
}

// recorder keeps what a reporter is told, as lines.
type recorder struct{ lines []string }

func (r *recorder) Report(e Event) {
	switch e.Kind {
	case Started:
		r.lines = append(r.lines, fmt.Sprintf("%d %s %s", e.Set, e.Wire, e.Case.ID))
	case Finished:
		if e.Result.Phase != Teardown {
			r.lines = append(r.lines, fmt.Sprintf("%d %s %s %s", e.Result.Set, e.Result.Wire, e.Result.ID(), e.Result.Outcome))
		}
	}
}

// manySets are sets of inputs that differ in their names.
func manySets(k kind, n int) Inputs {
	var out Inputs
	for i := range n {
		set := k.inputs().Sets[0]
		set.Number, set.Create, set.Update = i+1, maps.Clone(set.Create), maps.Clone(set.Update)
		set.Create["Name"] = fmt.Sprintf("report-%d", i+1)
		set.Update["Name"] = set.Create["Name"]
		out.Sets = append(out.Sets, set)
	}
	return out
}

// TestParallelSets runs four sets at once: no set takes the resources of another one for
// leaks, and what is reported is in the order of the sets.
func TestParallelSets(t *testing.T) {
	k := kind{identifier: []string{"Id"}, callbacks: 1}
	s := newService(t, k, "")
	var mu sync.Mutex
	told := &recorder{}
	cfg := Config{
		Schema: s.schema, Inputs: manySets(k, 4), Parallel: 3, TimeScale: 1e4, Reporter: told, Selection: Selection{Suite: SuiteAll},
		Function: lockedFunction{&mu, s},
	}
	summary, err := Run(t.Context(), cfg)
	if err != nil || !summary.OK() || len(s.reports) > 0 || len(summary.LeftBehind) > 0 {
		t.Fatalf("%v\n%s\nleft: %v %v", err, failures(summary), s.reports, summary.LeftBehind)
	}
	if !slices.IsSorted(sets(told.lines)) || len(told.lines) != 2*len(summary.Results) {
		t.Errorf("%d lines for %d results, not in order:\n%s", len(told.lines), len(summary.Results), strings.Join(told.lines, "\n"))
	}
}

func sets(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i], _, _ = strings.Cut(line, " ")
	}
	return out
}

func TestBothWires(t *testing.T) {
	k := kind{identifier: []string{"Id"}}
	told := &recorder{}
	summary := tryAll(t, newService(t, k, ""), Config{Inputs: k.inputs(), Wire: WireBoth, Reporter: told, Selection: Selection{Suite: SuiteCore, IDs: []string{"handler_create.py::contract_create_read"}}})
	want := []string{
		"1 typed handler_create.py::contract_create_read", "1 typed handler_create.py::contract_create_read passed",
		"1 strings handler_create.py::contract_create_read", "1 strings handler_create.py::contract_create_read passed",
	}
	if !slices.Equal(told.lines, want) {
		t.Errorf("got %q", told.lines)
	}
	for _, r := range summary.Results {
		quoted := strings.Contains(string(r.Calls[0].Request), `"Pages": "7"`)
		if quoted != (r.Wire == invoke.WireStrings) {
			t.Errorf("%s: %s", r.Wire, r.Calls[0].Request)
		}
	}
}

// TestTimeScale waits for a part of the delays, and counts all of them against the time
// that the handler has.
func TestTimeScale(t *testing.T) {
	k := kind{identifier: []string{"Id"}, callbacks: 4}
	s := newService(t, k, "")
	start := s.clock
	cfg := Config{Inputs: k.inputs(), TimeScale: 2, Selection: Selection{Suite: SuiteCore, IDs: []string{"handler_create.py::contract_create_delete"}}}
	if summary := tryAll(t, s, cfg); !summary.OK() || s.clock.Sub(start) != 8*15*time.Second {
		t.Errorf("waited %s\n%s", s.clock.Sub(start), failures(summary))
	}
	s = newService(t, k, "never ends")
	start = s.clock
	cfg.TimeScale = math.Inf(1)
	summary := tryAll(t, s, cfg)
	if r := summary.Results[0]; r.Clause != clauseStabilize || !strings.Contains(r.Message, "CREATE: not finished after 10m (21 calls)") || s.clock != start {
		t.Errorf("%s (%s), waited %s", r.Message, r.Clause, s.clock.Sub(start))
	}
}

func TestInputsOfOneTest(t *testing.T) {
	k := kind{identifier: []string{"Id"}}
	s := newService(t, k, "")
	inputs := k.inputs()
	own := maps.Clone(inputs.Sets[0].Create)
	own["Title"] = "mine"
	inputs.Sets[0].Tests = map[string]map[string]map[string]any{"contract_create_read": {"create": own}}
	for _, r := range tryAll(t, s, Config{Inputs: inputs, Selection: Selection{Suite: SuiteCore}}).Results {
		for _, c := range r.Calls {
			if mine := strings.Contains(string(c.Request), `"Title": "mine"`); c.Action == invoke.Create && mine != (r.Case.Name() == "contract_create_read") {
				t.Errorf("%s: %s", r.ID(), c.Request)
			}
		}
		if r.Outcome == Failed {
			t.Error(r.ID(), r.Message)
		}
	}
	if len(s.reports) > 0 {
		t.Errorf("left behind: %v", s.reports)
	}
}

func TestMarksInInputs(t *testing.T) {
	s := schemaOf(t, `"A":{"type":"string"},"B":{"type":"string"},"N":{"type":"integer"}`, "")
	n := 0
	load := func(files fstest.MapFS) (*Inputs, string) {
		inputs, problems, err := LoadInputs(InputsConfig{
			Files: files, Schema: s, Exports: func(name string) (string, bool) { return "exported", name == "My:Export" },
			Env: func(name string) (string, bool) {
				return map[string]string{"COUNT_OF": "7", "TEXT": `a "b"`}[name], name != "UNSET"
			},
			NewToken: func() string { n++; return fmt.Sprintf("uuid-%d", n) },
		})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := diag.Print(&b, problems, "text"); err != nil {
			t.Fatal(err)
		}
		return inputs, b.String()
	}
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	inputs, said := load(fstest.MapFS{
		"inputs/inputs_1_create.json":                       file(`{"A": "x-{{uuid}}", "B": "{{env:TEXT}}", "N": {{ env:COUNT_OF }}}`),
		"inputs/inputs_1_update.json":                       file(`{"A": "x-{{ uuid }}", "B": "{{My:Export}}"}`),
		"inputs/inputs_2_create.json":                       file(`{"A": "{{uuid}}"}`),
		"inputs/inputs_2_update__contract_update_read.json": file(`{"A": "{{uuid}}", "B": "own"}`),
	})
	if said != "" {
		t.Fatal(said)
	}
	one, two := inputs.Sets[0], inputs.Sets[1]
	if one.Create["A"] != "x-uuid-1" || one.Update["A"] != "x-uuid-1" || one.Create["B"] != `a "b"` || one.Create["N"] != json.Number("7") || one.Update["B"] != "exported" {
		t.Errorf("set 1: %v, %v", one.Create, one.Update)
	}
	if two.Create["A"] != "uuid-2" || two.Tests["contract_update_read"]["update"]["A"] != "uuid-2" || two.Update != nil {
		t.Errorf("set 2: %v, %v", two.Create, two.Tests)
	}
	_, said = load(fstest.MapFS{
		"inputs/inputs_1_create.json":                file(`{"A": "{{env:UNSET}}"}`),
		"inputs/inputs_1_create__contract_nope.json": file(`{}`),
		"inputs/inputs_1_invalid.json":               file(`{"A": "x"}`),
	})
	for _, want := range []string{"the environment variable UNSET is not set", "unknown test", "the invalid input is valid against the schema"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

// TestReplay runs a failed case again with the inputs that it failed with.
func TestReplay(t *testing.T) {
	k := kind{identifier: []string{"Id"}}
	for _, id := range []string{"handler_create.py::contract_create_read", "extended_update.py::contract_update_consistent", "extended_create.py::contract_create_invalid"} {
		mutant := map[string]string{"handler_create.py::contract_create_read": "create drifts", "extended_update.py::contract_update_consistent": "update is stale", "extended_create.py::contract_create_invalid": "no validation"}[id]
		first := resultOf(t, tryAll(t, newService(t, k, mutant), Config{Seed: 11, ShrinkTries: -1}), id)
		if first.Example == nil || len(first.Example.Inputs) == 0 {
			t.Fatalf("%s: no example", id)
		}
		data, err := first.Example.Encode()
		if err != nil {
			t.Fatal(err)
		}
		example, err := ParseExample("f.json", data)
		if err != nil {
			t.Fatal(err)
		}
		again := tryAll(t, newService(t, k, mutant), Config{Seed: 99, Replay: example})
		if len(again.Results) != 1 {
			t.Fatalf("%s: %d results", id, len(again.Results))
		}
		second := again.Results[0]
		one, _ := json.Marshal(first.Example.Inputs)
		other, _ := json.Marshal(second.Example.Inputs)
		if second.Message != first.Message || string(one) != string(other) {
			t.Errorf("%s: first %s\n%s\nthen %s\n%s", id, first.Message, one, second.Message, other)
		}
	}
	for name, text := range map[string]string{
		"unknown contract test": `{"test": "x"}`, "it has no inputs": `{"test": "handler_create.py::contract_create_read"}`, "is not a whole number": `{"test": "handler_create.py::contract_create_read", "seed": 1.5, "inputs": []}`,
		"has no model": `{"test": "handler_create.py::contract_create_read", "inputs": [{"kind": "create"}]}`,
	} {
		if _, err := ParseExample("f.json", []byte(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func resultOf(t *testing.T, s *Summary, id string) *Result {
	t.Helper()
	for _, r := range s.Results {
		if r.ID() == id && r.Outcome != Passed && r.Phase != Teardown {
			return r
		}
	}
	t.Fatalf("%s did not fail:\n%s", id, outcomes(s))
	return nil
}

// TestLeaks: what no event told of is named, and deleted only when asked for.
func TestLeaks(t *testing.T) {
	k := kind{identifier: []string{"Id"}}
	cfg := Config{Inputs: k.inputs(), Selection: Selection{Suite: SuiteAll, IDs: []string{"handler_create.py::contract_create_delete", "extended_leaks.py"}}}
	s := newService(t, k, "create doubles")
	summary := tryAll(t, s, cfg)
	if len(s.reports) != 1 || len(summary.LeftBehind) != 1 || !strings.Contains(summary.LeftBehind[0], "/Id=id-2: it was not there before, and no event reported it (--cleanup deletes it)") {
		t.Errorf("%v, %q", s.reports, summary.LeftBehind)
	}
	s = newService(t, k, "create doubles")
	cfg.Cleanup = true
	summary = tryAll(t, s, cfg)
	if len(s.reports) != 0 || len(summary.LeftBehind) != 0 || summary.Failed != 1 || !strings.Contains(failures(summary), "deleted now") {
		t.Errorf("%v, %q\n%s", s.reports, summary.LeftBehind, failures(summary))
	}
}

func TestTypeConfigurationOfATest(t *testing.T) {
	k := kind{identifier: []string{"Id"}}
	cfg := Config{Inputs: k.inputs(), TypeConfiguration: map[string]any{"Cover": "perhaps"}, Selection: Selection{Suite: SuiteExtended, IDs: []string{"extended_configuration.py"}}}
	summary := tryAll(t, newService(t, k, ""), cfg)
	if r := summary.Results[0]; r.Outcome != Failed || !strings.Contains(r.Message, "the type configuration breaks its schema: /Cover: must be") || strings.Contains(r.Message, "perhaps") {
		t.Errorf("%s %s", r.Outcome, r.Message)
	}
}

// TestResolvedTypeConfiguration: a pattern that describes a dynamic reference is not one of the value that the
// reference stands for.
func TestResolvedTypeConfiguration(t *testing.T) {
	s := schemaOf(t, `"Name":{"type":"string"}`, `,"definitions":{"Ref":{"type":"string","pattern":"{{resolve:.*:[a-zA-Z0-9_.-/]+}}","minLength":14}},
		"typeConfiguration":{"additionalProperties":false,"properties":{"Credentials":{"type":"object","properties":{"ApiKey":{"$ref":"#/definitions/Ref"}}},"Site":{"type":"string","pattern":"^https:"}}}`)
	for _, test := range []struct {
		configuration map[string]any
		wrong         string
	}{
		{map[string]any{"Credentials": map[string]any{"ApiKey": "s3cret"}, "Site": "https://a"}, ""},
		{map[string]any{"Credentials": map[string]any{"ApiKey": "{{resolve:ssm-secure:/app/key}}"}}, ""},
		{map[string]any{"Credentials": map[string]any{"ApiKey": json.Number("5")}}, "/Credentials/ApiKey: must be a string"},
		{map[string]any{"Site": "ftp://a"}, "/Site: does not match"},
	} {
		r := &run{cfg: &Config{Schema: s, TypeConfiguration: test.configuration}}
		err := typeConfiguration(t.Context(), r)
		if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%v: %v, want %q", test.configuration, err, test.wrong)
		}
	}
}

func TestSuites(t *testing.T) {
	s := newService(t, kind{identifier: []string{"Id"}}, "").schema
	for suite, want := range map[Suite]int{"": len(resourceCases), SuiteCore: len(resourceCases), SuiteExtended: len(extendedCases), SuiteAll: len(resourceCases) + len(extendedCases)} {
		if cases, _ := Select(s, Selection{Suite: suite}); len(cases) != want {
			t.Errorf("%q: %d cases, want %d", suite, len(cases), want)
		}
	}
}

// TestShrink makes the input of a failure as small as it gets: only what is required, and
// what the defect is about.
func TestInputsOfFailuresShrink(t *testing.T) {
	k := kind{identifier: []string{"Id"}}
	s := newService(t, k, "create drifts")
	cfg := Config{Seed: 11, ShrinkTries: 200, Selection: Selection{Suite: SuiteCore, IDs: []string{"handler_create.py::contract_create_read"}}}
	r := resultOf(t, tryAll(t, s, cfg), "handler_create.py::contract_create_read")
	got := slices.Sorted(maps.Keys(r.Example.Inputs[0].Model))
	if !slices.Equal(got, []string{"Name", "Title"}) {
		t.Errorf("left: %v", r.Example.Inputs[0].Model)
	}
	if len(s.reports) > 0 {
		t.Errorf("left behind: %v", s.reports)
	}
	calls := s.number
	cfg.ShrinkTries = -1
	s = newService(t, k, "create drifts")
	if r := resultOf(t, tryAll(t, s, cfg), "handler_create.py::contract_create_read"); len(r.Example.Inputs[0].Model) < 5 || s.number >= calls {
		t.Errorf("%d calls: %v", s.number, r.Example.Inputs[0].Model)
	}
}

func FuzzParseExample(f *testing.F) {
	example := &Example{TypeName: "A::B::C", Test: "handler_create.py::contract_create_read", Seed: 1, Inputs: []Draw{{DrawCreate, map[string]any{"A": json.Number("1.0")}}}}
	data, err := example.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`[]`))
	f.Add([]byte(`{"test": 1, "inputs": [1, null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		example, err := ParseExample("f.json", data)
		if err != nil {
			return
		}
		again, err := example.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseExample("f.json", again); err != nil {
			t.Errorf("%s\n%s: %v", data, again, err)
		}
	})
}
