package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// try runs the suite against a stub, with no time passing outside.
//
// Inputs are generated outside of a bubble, with waiting left out: the library of regular
// expressions keeps a goroutine with a clock, which must not be born inside of one.
func try(t *testing.T, s *stub, cfg Config) *Summary {
	t.Helper()
	cfg.Function = s
	if cfg.Schema == nil {
		cfg.Schema = s.schema(t)
	}
	var summary *Summary
	var err error
	if len(cfg.Inputs.Sets) == 0 {
		cfg.Sleep = func(context.Context, time.Duration) error { return nil }
		summary, err = Run(t.Context(), cfg)
	} else {
		synctest.Test(t, func(t *testing.T) { summary, err = Run(t.Context(), cfg) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

// coreCases are the core tests of a resource type.
var coreCases = len(resourceCases)

func outcomes(s *Summary) string {
	var b strings.Builder
	for _, r := range s.Results {
		fmt.Fprintf(&b, "%s %s %s %s\n", r.ID(), r.Outcome, r.Phase, r.Message)
	}
	return b.String()
}

func TestCorrectHandlersPass(t *testing.T) {
	for _, f := range flavours {
		for _, kind := range []string{"inputs", "generated", "strings"} {
			t.Run(f.name+"/"+kind, func(t *testing.T) {
				s := newStub(f, "")
				cfg := Config{Seed: 7}
				switch kind {
				case "inputs":
					cfg.Inputs = f.inputs()
				case "strings":
					if f.stringified {
						t.Skip("the stub hands back what it gets")
					}
					cfg.Wire = invoke.WireStrings
				}
				summary := try(t, s, cfg)
				if !summary.OK() {
					t.Errorf("rejected:\n%s", outcomes(summary))
				}
				if summary.Passed+summary.Skipped != coreCases {
					t.Errorf("%d passed, %d skipped of %d", summary.Passed, summary.Skipped, coreCases)
				}
				chosen := slices.Equal(f.identifier, []string{"Name"})
				skipped := 0
				if !chosen {
					skipped += 2
				}
				if f.untagged {
					skipped += 2
				}
				if summary.Skipped != skipped {
					t.Errorf("%d skipped, want %d:\n%s", summary.Skipped, skipped, outcomes(summary))
				}
				if len(s.reports) > 0 || len(summary.LeftBehind) > 0 {
					t.Errorf("left behind: %v, %v", s.reports, summary.LeftBehind)
				}
			})
		}
	}
}

// TestOperations counts the operations of a whole run, which the official suite needs too.
func TestOperations(t *testing.T) {
	for _, test := range []struct {
		identifier []string
		want       map[string]int
	}{
		// 20 and 23 operations, as the official suite.
		{[]string{"Id"}, map[string]int{"CREATE": 4, "READ": 4, "UPDATE": 3, "DELETE": 6, "LIST": 3}},
		{[]string{"Name"}, map[string]int{"CREATE": 6, "READ": 4, "UPDATE": 3, "DELETE": 7, "LIST": 3}},
	} {
		f := flavour{identifier: test.identifier}
		s := newStub(f, "")
		try(t, s, Config{Inputs: f.inputs()})
		got := map[string]int{}
		for _, action := range s.calls {
			got[action]++
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.identifier, got, test.want)
		}
	}
}

// TestUpdateWithoutCreate sends the identifier of the resource that earlier cases deleted, as a
// whole run of the official suite does, and none where the case is run alone.
func TestUpdateWithoutCreate(t *testing.T) {
	const id = "handler_update_invalid.py::contract_update_without_create"
	f := flavour{identifier: []string{"Id"}}
	if summary := try(t, newStub(f, "update demands an id"), Config{Inputs: f.inputs()}); !summary.OK() {
		t.Errorf("rejected in a whole run:\n%s", outcomes(summary))
	}
	alone := try(t, newStub(f, "update demands an id"), Config{Inputs: f.inputs(), Selection: Selection{IDs: []string{id}}})
	if alone.OK() || alone.Failed != 1 {
		t.Errorf("accepted when it is run alone:\n%s", outcomes(alone))
	}
}

// A mutant is a defect that the suite has to find, in the case that stands for its clause.
type mutant struct {
	name    string
	id      string // of the case
	outcome Outcome
	message string // within the message
	clause  string // within the clause, if it is one that holds for all cases
	chosen  bool   // needs an identifier that the user chooses
	alone   bool   // breaks cases before its own as well: only its own is run
}

var mutants = []mutant{
	{name: "create drops", id: "handler_create.py::contract_create_delete", outcome: Failed, message: `/Title: requested "first", returned nothing`, clause: clauseMatch},
	{name: "delete refuses", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "DELETE ended with FAILED GeneralServiceException: no; expected SUCCESS"},
	{name: "create twice", id: "handler_create.py::contract_create_create", outcome: Failed, message: "CREATE ended with SUCCESS; expected FAILED AlreadyExists", chosen: true},
	{name: "read forgets", id: "handler_create.py::contract_create_read", outcome: Failed, message: "/Title", clause: clauseMatch},
	{name: "read changes a label", id: "handler_create.py::contract_create_read", outcome: Failed, message: "/Labels", clause: clauseMatch},
	{name: "read forgets", id: "handler_create.py::contract_create_list", outcome: Failed, message: "/Title", clause: clauseMatch},
	{name: "list empty", id: "handler_create.py::contract_create_list", outcome: Failed, message: "the created resource /Id=id-2 is not in the list"},
	{name: "read after delete", id: "handler_delete.py::contract_delete_read", outcome: Failed, message: "READ ended with SUCCESS; expected FAILED NotFound"},
	{name: "list keeps deleted", id: "handler_delete.py::contract_delete_list", outcome: Failed, message: "is still in the list"},
	{name: "update creates", id: "handler_delete.py::contract_delete_update", outcome: Failed, message: "UPDATE ended with SUCCESS; expected FAILED NotFound"},
	{name: "delete again", id: "handler_delete.py::contract_delete_delete", outcome: Failed, message: "DELETE ended with SUCCESS; expected FAILED NotFound"},
	{name: "name stays taken", id: "handler_delete.py::contract_delete_create", outcome: Failed, message: "CREATE ended with FAILED AlreadyExists", chosen: true, alone: true},
	{name: "update forgets", id: "handler_update.py::contract_update_read", outcome: Failed, message: `/Title: requested "second", returned "first"`, clause: clauseMatch},
	{name: "update replaces", id: "handler_update.py::contract_update_read", outcome: Failed, message: "the update answered with", clause: clauseSameResource},
	{name: "update replaces", id: "handler_update.py::contract_update_list", outcome: Failed, message: "the update answered with", clause: clauseSameResource},
	{name: "list loses updated", id: "handler_update.py::contract_update_list", outcome: Failed, message: "the updated resource"},
	{name: "update creates", id: "handler_update_invalid.py::contract_update_without_create", outcome: Failed, message: "UPDATE ended with SUCCESS; expected FAILED NotFound"},
	{name: "not found without message", id: "handler_update_invalid.py::contract_update_without_create", outcome: Failed, message: "without a message"},

	{name: "delete returns model", id: "handler_delete.py::contract_delete_read", outcome: Errored, message: "DELETE answered SUCCESS with a resourceModel", clause: clauseNoModel},
	{name: "progress without identifier", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "without /Id", clause: clauseIdentifier},
	{name: "progress without model", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "without a resourceModel", clause: clauseIdentifier},
	{name: "progress with code", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "IN_PROGRESS with the error code NotStabilized", clause: clauseProgress},
	{name: "progress with models", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "IN_PROGRESS with resourceModels", clause: clauseProgress},
	{name: "progress without callback", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "negative callbackDelaySeconds", clause: clauseAnswer},
	{name: "never ends", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "not finished after 2h (", clause: clauseStabilize},
	{name: "hang", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "no answer from the handler within 8m0s", clause: clauseAnswer},
	{name: "slow", id: "handler_create.py::contract_create_read", outcome: Failed, message: "no answer from the handler within 4m0s", clause: clauseAnswer},
	{name: "crash", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "exit status 2", clause: clauseAnswer},
	{name: "garbage", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "is not JSON", clause: clauseAnswer},
	{name: "read in progress", id: "handler_create.py::contract_create_read", outcome: Failed, message: "READ answered IN_PROGRESS", clause: clauseSync},
	{name: "success with code", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "SUCCESS with the error code", clause: clauseSuccess},
	{name: "success with delay", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "callbackDelaySeconds of 1", clause: clauseSuccess},
	{name: "success without model", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "SUCCESS without a resourceModel", clause: clauseModel},
	{name: "success without identifier", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "without /Id", clause: clauseIdentifier},
	{name: "write-only returned", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "a value at /Password", clause: clauseWriteOnly},
	{name: "failed without code", id: "handler_delete.py::contract_delete_read", outcome: Failed, message: "FAILED without an error code", clause: clauseFailed},
	{name: "failed with unknown code", id: "handler_delete.py::contract_delete_read", outcome: Failed, message: `error code "Oops"`, clause: clauseFailed},
	{name: "failed with delay", id: "handler_delete.py::contract_delete_read", outcome: Failed, message: "callbackDelaySeconds of 5", clause: clauseFailed},
	{name: "failed with models", id: "handler_delete.py::contract_delete_read", outcome: Failed, message: "FAILED with resourceModels", clause: clauseFailed},
	{name: "list without models", id: "handler_create.py::contract_create_list", outcome: Failed, message: "without resourceModels", clause: clauseList},
	{name: "list never ends", id: "handler_create.py::contract_create_list", outcome: Failed, message: "the same nextToken twice", clause: clauseList},
	{name: "list without identifiers", id: "handler_create.py::contract_create_list", outcome: Failed, message: "without its primary identifier", clause: clauseIdentifier},
}

func TestMutantsAreRejected(t *testing.T) {
	for _, m := range slices.Concat(mutants, officialMutants) {
		t.Run(m.name+"/"+m.id[strings.LastIndex(m.id, "_")+1:], func(t *testing.T) {
			f := flavour{identifier: []string{"Id"}}
			if m.chosen {
				f.identifier = []string{"Name"}
			}
			cfg := Config{Inputs: f.inputs()}
			if m.alone {
				cfg.Selection.IDs = []string{m.id}
			}
			summary := try(t, newStub(f, m.name), cfg)
			if summary.OK() {
				t.Fatal("not rejected")
			}
			i := slices.IndexFunc(summary.Results, func(r *Result) bool { return r.ID() == m.id && r.Phase != Teardown })
			r := summary.Results[i]
			said := r.Message
			for _, d := range r.Differences {
				said += "\n" + d.String()
			}
			if r.Outcome != m.outcome || !strings.Contains(said, m.message) || !strings.Contains(r.Clause, m.clause) {
				t.Errorf("%s %s: %s (%s), want %s with %q", r.ID(), r.Outcome, r.Message, r.Clause, m.outcome, m.message)
			}
			if r.Clause == "" || len(r.Calls) == 0 {
				t.Errorf("the result has the clause %q and %d calls", r.Clause, len(r.Calls))
			}
			for _, r := range summary.Results {
				var b strings.Builder
				(&Text{W: &b, Traceback: "long"}).failure(r)
				if strings.Contains(b.String(), "correct horse battery") {
					t.Errorf("the report shows the write-only value:\n%s", b.String())
				}
			}
		})
	}
	// What the cases of the table cannot reject is rejected by inputs, below, or is the
	// self-check, which no handler can break.
	rejected := []string{"handler_create.py::contract_create_taggable", "handler_update.py::contract_update_tag_updatable", "handler_misc.py::contract_check_asserts_work"}
	for _, m := range mutants {
		rejected = append(rejected, m.id)
	}
	for _, c := range resourceCases {
		if !slices.Contains(rejected, c.ID) {
			t.Errorf("%s rejects no mutant", c.ID)
		}
	}
}

func TestInputsWithoutTagsAreRejected(t *testing.T) {
	f := flavours[0]
	inputs := f.inputs()
	delete(inputs.Sets[0].Create, "Labels")
	delete(inputs.Sets[0].Update, "Labels")
	summary := try(t, newStub(f, ""), Config{Inputs: inputs})
	var got []string
	for _, r := range summary.Results {
		if r.Outcome == Failed && strings.Contains(r.Message, "does not contain tags property: the schema names /Labels") {
			got = append(got, r.Case.Name())
		}
	}
	if want := []string{"contract_create_taggable", "contract_update_tag_updatable"}; !slices.Equal(got, want) || summary.Failed != 2 {
		t.Errorf("rejected by %v, want %v", got, want)
	}
}

func TestEverythingIsCleanedUp(t *testing.T) {
	for _, name := range []string{"create drops", "create twice", "update creates", "update replaces", "update loses", "read forgets", "progress with code", "success with code", "name stays taken"} {
		for _, identifier := range []string{"Id", "Name"} {
			f := flavour{identifier: []string{identifier}}
			s := newStub(f, name)
			summary := try(t, s, Config{Inputs: f.inputs()})
			if len(s.reports) > 0 || len(summary.LeftBehind) > 0 {
				t.Errorf("%s, %s: left behind: %v; told: %v", name, identifier, s.reports, summary.LeftBehind)
			}
		}
	}
}

func TestWhatCannotBeDeletedIsNamed(t *testing.T) {
	f := flavours[0]
	summary := try(t, newStub(f, "delete refuses"), Config{Inputs: f.inputs()})
	if len(summary.LeftBehind) == 0 || summary.LeftBehind[0] != "/Id=id-1, /Id=id-2, /Id=id-3, /Id=id-4: DELETE answered FAILED GeneralServiceException" {
		t.Errorf("told: %q", summary.LeftBehind)
	}
	summary = try(t, newStub(f, "hang"), Config{Inputs: f.inputs()})
	if len(summary.LeftBehind) == 0 || !strings.Contains(summary.LeftBehind[0], "without an identifier") {
		t.Errorf("told: %q", summary.LeftBehind)
	}
}

// A handler that is not written yet refuses every call: one line says that something may be left. Where CREATE and
// DELETE both call the input invalid, nothing is.
func TestFailedCreatesAreOneLine(t *testing.T) {
	f := flavour{identifier: []string{"Name"}}
	for _, code := range []invoke.Code{invoke.InternalFailure, invoke.InvalidRequest} {
		refuse := functionFunc(func(context.Context, []byte) ([]byte, error) {
			return fmt.Appendf(nil, `{"status":"FAILED","errorCode":%q,"message":"not written yet"}`, code), nil
		})
		summary, err := Run(t.Context(), Config{Schema: f.schema(t), Function: refuse, Inputs: f.inputs(), Selection: Selection{Suite: SuiteAll}})
		if err != nil {
			t.Fatal(err)
		}
		lines := len(summary.LeftBehind)
		switch {
		case code == invoke.InvalidRequest && lines > 0:
			t.Errorf("refused: %q", summary.LeftBehind)
		case code == invoke.InternalFailure && (lines != 1 || !strings.HasPrefix(summary.LeftBehind[0], "CREATE failed, and DELETE answered FAILED InternalFailure: a resource may be left (")):
			t.Errorf("not written: %q", summary.LeftBehind)
		}
	}
}

func TestCancelCleansUp(t *testing.T) {
	f := flavour{identifier: []string{"Id"}, callbacks: 3}
	report := f.schema(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStub(f, "")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(45*time.Second, cancel) // between two callbacks of the first create
		summary, err := Run(ctx, Config{Schema: report, Function: s, Inputs: f.inputs()})
		if !errors.Is(err, context.Canceled) || summary == nil {
			t.Fatal(summary, err)
		}
		if len(summary.Results) != 1 || summary.Results[0].Outcome != Failed || !strings.Contains(summary.Results[0].Message, "interrupted") {
			t.Errorf("results:\n%s", outcomes(summary))
		}
		if len(s.reports) > 0 || len(summary.LeftBehind) > 0 {
			t.Errorf("left behind: %v, %v", s.reports, summary.LeftBehind)
		}
	})
}

func TestCleanupIsBounded(t *testing.T) {
	f := flavour{identifier: []string{"Id"}}
	report := f.schema(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStub(f, "")
		ctx, cancel := context.WithCancel(t.Context())
		stuck := functionFunc(func(ctx context.Context, payload []byte) ([]byte, error) {
			if strings.Contains(string(payload), `"action":"DELETE"`) {
				cancel()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return s.Call(ctx, payload)
		})
		start := time.Now()
		summary, err := Run(ctx, Config{Schema: report, Function: stuck, Inputs: f.inputs(), CleanupTimeout: time.Minute, EnforceTimeout: -1})
		if !errors.Is(err, context.Canceled) || len(summary.LeftBehind) != 1 {
			t.Errorf("%v, %q", err, summary.LeftBehind)
		}
		if took := time.Since(start); took > 2*time.Minute {
			t.Errorf("took %s", took)
		}
	})
}

type functionFunc func(context.Context, []byte) ([]byte, error)

func (f functionFunc) Call(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

func TestAllSetsRun(t *testing.T) {
	f := flavours[0]
	inputs := f.inputs()
	second := InputSet{Number: 3, Create: maps.Clone(inputs.Sets[0].Create)}
	second.Create["Title"] = "third"
	inputs.Sets = append(inputs.Sets, second)
	s := newStub(f, "read forgets")
	summary := try(t, s, Config{Inputs: inputs})
	sets := map[int]int{}
	for _, r := range summary.Results {
		if r.Phase != Teardown {
			sets[r.Set]++
		}
	}
	if sets[1] != coreCases || sets[3] != coreCases {
		t.Errorf("cases by set: %v", sets)
	}
	missing := 0
	for _, r := range summary.Results {
		if r.Set == 3 && strings.Contains(r.Message, "inputs/inputs_3_update.json is missing") {
			missing++
		}
	}
	if missing != 5 { // delete_update, the three of handler_update, update_without_create
		t.Errorf("%d cases said that the update input is missing:\n%s", missing, outcomes(summary))
	}
}

func TestMaxFailures(t *testing.T) {
	f := flavours[0]
	s := newStub(f, "read in progress")
	summary := try(t, s, Config{Inputs: f.inputs(), Selection: Selection{MaxFailures: 2}})
	if summary.Failed+summary.Errors != 2 {
		t.Errorf("results:\n%s", outcomes(summary))
	}
}

// TestSilence ends a run whose first call was not answered: every other case would say the
// same again.
func TestSilence(t *testing.T) {
	f := flavours[0]
	for _, mutant := range []string{"crash", "garbage"} {
		summary := try(t, newStub(f, mutant), Config{Inputs: f.inputs()})
		if !summary.Silent || len(summary.Results) != 1 || summary.OK() {
			t.Errorf("%s:\n%s", mutant, outcomes(summary))
		}
	}
	if summary := try(t, newStub(f, "slow"), Config{Inputs: f.inputs()}); summary.Silent {
		t.Error("a handler that answered is called silent")
	}
}

func TestHandlersThatAreNeeded(t *testing.T) {
	s := flavours[0].schema(t)
	for i, h := range s.Handlers {
		if h.Action == "read" {
			s.Handlers = append(s.Handlers[:i:i], s.Handlers[i+1:]...)
			break
		}
	}
	_, err := Run(t.Context(), Config{Schema: s, Function: newStub(flavours[0], "")})
	if err == nil || !strings.Contains(err.Error(), "declares no read handler") {
		t.Errorf("error %v", err)
	}
}

func TestSelectByHandlers(t *testing.T) {
	s := flavours[0].schema(t)
	kept := s.Handlers[:0:0]
	for _, h := range s.Handlers {
		if h.Action != "update" && h.Action != "list" {
			kept = append(kept, h)
		}
	}
	s.Handlers = kept
	cases, _ := Select(s, Selection{})
	var names []string
	for _, c := range cases {
		names = append(names, c.Name())
	}
	want := "contract_create_delete contract_create_create contract_create_read contract_create_taggable contract_delete_read contract_delete_delete contract_delete_create contract_check_asserts_work"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSeed(t *testing.T) {
	made := func(seed uint64) string {
		s := newStub(flavours[0], "")
		summary := try(t, s, Config{Seed: seed})
		if summary.Seed == nil || *summary.Seed != seed {
			t.Errorf("the summary has the seed %v", summary.Seed)
		}
		var b strings.Builder
		for _, r := range summary.Results {
			for _, c := range r.Calls {
				if c.Action == invoke.Create {
					_, model, _ := strings.Cut(string(c.Request), "resourceProperties")
					model, _, _ = strings.Cut(model, "previousResource")
					b.WriteString(model)
				}
			}
		}
		return b.String()
	}
	if first, again := made(1), made(1); first != again {
		t.Error("one seed made two different runs")
	}
	if made(1) == made(2) {
		t.Error("two seeds made the same run")
	}
}

// BenchmarkRun is the suite's own part of a run: 20 operations on a handler that costs
// next to nothing.
func BenchmarkRun(b *testing.B) {
	f := flavours[0]
	s := f.schema(b)
	for b.Loop() {
		summary, err := Run(b.Context(), Config{Schema: s, Function: newStub(f, ""), Inputs: f.inputs()})
		if err != nil || !summary.OK() {
			b.Fatal(err)
		}
	}
}
