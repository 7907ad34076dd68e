package contract

import (
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

func TestCorrectServicesPassEverything(t *testing.T) {
	for _, k := range kindsOfService {
		for _, from := range []string{"inputs", "generated", "strings", "shuffled"} {
			t.Run(k.name+"/"+from, func(t *testing.T) {
				s := newService(t, k, "")
				cfg := Config{Seed: 3, TypeConfiguration: map[string]any{"Cover": true}}
				if k.plain {
					cfg.TypeConfiguration = nil
				}
				switch from {
				case "inputs":
					cfg.Inputs = k.inputs()
				case "strings":
					cfg.Wire = invoke.WireStrings
				case "shuffled":
					cfg.Selection = Selection{Shuffle: true, Seed: 9}
				}
				summary := tryAll(t, s, cfg)
				if !summary.OK() {
					t.Errorf("rejected:\n%s", failures(summary))
				}
				if len(s.reports) > 0 || len(summary.LeftBehind) > 0 {
					t.Errorf("left behind: %v, %v", s.reports, summary.LeftBehind)
				}
			})
		}
	}
}

// TestEverythingRuns makes sure that the cases that a schema allows are not all skipped.
func TestEverythingRuns(t *testing.T) {
	ran := map[string]bool{}
	for _, k := range kindsOfService {
		for _, r := range tryAll(t, newService(t, k, ""), Config{Inputs: k.inputs(), TypeConfiguration: nil}).Results {
			if r.Outcome == Passed {
				ran[r.ID()] = true
			}
		}
	}
	for _, c := range slices.Concat(resourceCases, extendedCases) {
		if !ran[c.ID] {
			t.Errorf("%s never ran", c.ID)
		}
	}
}

// A serviceMutant breaks one clause, which the suite has to name: by a case, or by a rule
// for every event, in whatever case it happens first.
type serviceMutant struct {
	name    string
	clause  string // ID
	id      string // of the case; empty for the rules for every event
	message string // within the message
	chosen  bool   // needs identifiers that the user chooses
	alone   bool   // breaks cases before its own too: only its own file is run
	kind    kind   // the zero kind has a generated identifier
	ready   bool   // with generated inputs
}

var serviceMutants = []serviceMutant{
	{name: "slow CREATE", clause: "create.time", message: "CREATE took longer than the 1m0s"},
	{name: "slow UPDATE", clause: "update.time", message: "UPDATE took longer"},
	{name: "slow DELETE", clause: "delete.time", message: "DELETE took longer"},
	{name: "slow READ", clause: "read.time", message: "READ took longer than the 30s"},
	{name: "slow LIST", clause: "list.time", message: "LIST took longer than the 30s"},
	{name: "bad enum", clause: "shape.any", message: "/State: is not one of"},
	{name: "bad type", clause: "shape.any", message: "/History: must be"},
	{name: "number for a text", clause: "shape.any", message: "/Filed: must be a string but is a number"},
	{name: "boolean in a map", clause: "shape.any", message: "/Stamps/abc: must be a string but is a boolean"},
	{name: "bad number", clause: "shape.numbers", message: "/Size: is less than 0"},
	{name: "bad string", clause: "shape.strings", message: "/Link: does not match"},
	{name: "bad array", clause: "shape.arrays", message: "/History: has 3 items"},
	{name: "bad object", clause: "shape.objects", message: "/Extra"},
	{name: "null in CREATE", clause: "create.no-null", message: "CREATE answered SUCCESS with null at /Layout/Margin"},
	{name: "null in UPDATE", clause: "update.no-null", message: "UPDATE answered SUCCESS with null"},
	{name: "null in READ", clause: "read.no-null", message: "READ answered SUCCESS with null"},
	{name: "progress of another", clause: "create.identifier-stays", message: "CREATE answered", kind: kind{identifier: []string{"Id"}, callbacks: 2}},
	{name: "progress of another UPDATE", clause: "update.identifier-stays", message: "UPDATE answered IN_PROGRESS with the primary identifier of another", kind: kind{identifier: []string{"Id"}, callbacks: 1}},
	{name: "progress lies", clause: "create.in-progress-model", message: "another value at /Title"},
	{name: "no message of CREATE", clause: "create.failed", message: "CREATE answered FAILED InvalidRequest without a message"},
	{name: "no message of UPDATE", clause: "update.failed", message: "UPDATE answered FAILED NotFound without a message"},
	{name: "no message of DELETE", clause: "delete.failed", message: "DELETE answered FAILED NotFound without a message"},
	{name: "failed model without identifier", clause: "update.identifier", message: "lacks the primary identifier"},
	{name: "delete returns model", clause: "delete.no-model", message: "DELETE answered SUCCESS with a resourceModel"},
	{name: "list shows secrets", clause: "protocol.write-only-anywhere", message: "LIST answered SUCCESS with a value at /Password"},
	{name: "secret in message", clause: "protocol.write-only-anywhere", message: "a write-only value in its message", chosen: true},
	{name: "failed model with secret", clause: "protocol.write-only-anywhere", message: "FAILED with a value at /Password"},
	{name: "list without identifiers", clause: "list.identifiers", message: "LIST returned a model without its primary identifier"},
	{name: "never ends", clause: "create.timeout", id: "handler_create.py::contract_create_delete", message: "not finished after 10m ("},

	{name: "refuses and creates", clause: "create.failed-first", id: "extended_create.py::contract_create_invalid", message: "READ ended with SUCCESS", chosen: true, ready: true},
	{name: "no validation", clause: "create.input", id: "extended_create.py::contract_create_invalid", message: "CREATE ended with SUCCESS; expected FAILED InvalidRequest"},
	{name: "CREATE lacks defaults", clause: "create.defaults", id: "extended_create.py::contract_create_defaults", message: "CREATE lacks a default value: /Copies"},
	{name: "READ lacks defaults", clause: "read.complete", id: "extended_create.py::contract_create_defaults", message: "READ lacks a default value: /Copies"},
	{name: "CREATE lacks read-only", clause: "create.read-only", id: "extended_read.py::contract_read_complete", message: "the model of CREATE lacks /Size"},
	{name: "no size", clause: "create.read-only", id: "extended_read.py::contract_read_complete", message: "no model of CREATE, READ or UPDATE has /Size"},
	{name: "READ lacks read-only", clause: "read.complete", id: "extended_read.py::contract_read_complete", message: "the model of READ lacks /Size"},
	{name: "UPDATE lacks read-only", clause: "update.read-only", id: "extended_update.py::contract_update_complete", message: "the model of UPDATE lacks /Size"},
	{name: "UPDATE lacks defaults", clause: "update.defaults", id: "extended_update.py::contract_update_complete", message: "the model of UPDATE lacks /Copies", ready: true},
	{name: "read is late", clause: "stable.consistent", id: "extended_create.py::contract_create_consistent", message: "READ 2 straight after CREATE ended with FAILED NotFound"},
	{name: "read is stale", clause: "stable.consistent", id: "extended_create.py::contract_create_consistent", message: "CREATE is not done yet"},
	{name: "update is stale", clause: "stable.consistent", id: "extended_update.py::contract_update_consistent", message: "UPDATE is not done yet"},
	{name: "token ignored", clause: "create.idempotent", id: "extended_create.py::contract_create_same_token", message: "CREATE with the same token made"},
	{name: "token exists", clause: "create.idempotent", id: "extended_create.py::contract_create_same_token", message: "CREATE with the same token ended with FAILED AlreadyExists"},
	{name: "alias shared", clause: "create.exists", id: "extended_create.py::contract_create_additional_identifiers", message: "with the same /Alias: CREATE ended with SUCCESS; expected FAILED AlreadyExists", kind: kind{identifier: []string{"Id"}, alias: true}},
	{name: "alias shared", clause: "create.exists", id: "extended_create.py::contract_create_additional_identifiers", message: "with the same /Alias: CREATE ended with SUCCESS", kind: kind{identifier: []string{"Name"}, alias: true}, ready: true},
	{name: "token makes a hidden one", clause: "create.idempotent", id: "extended_create.py::contract_create_same_token", message: "which no event reported"},
	{name: "tags dropped beside stack tags", clause: "tags.create", id: "extended_create.py::contract_create_tags", message: "was requested and not returned"},
	{name: "system tags applied", clause: "tags.system", id: "extended_create.py::contract_create_tags", message: `the tag "aws:cloudformation:`},
	{name: "busy after create", clause: "stable.runtime", id: "extended_create.py::contract_create_update_delete", message: "UPDATE ended with FAILED ResourceConflict"},
	{name: "read needs the title", clause: "read.input", id: "extended_read.py::contract_read_primary_identifier", message: "READ by /Id alone ended with FAILED InvalidRequest"},
	{name: "no additional READ", clause: "create.read-additional", id: "extended_read.py::contract_read_additional_identifiers", message: "READ by /Link alone"},
	{name: "no additional UPDATE", clause: "update.additional", id: "extended_update.py::contract_update_additional_identifiers", message: "UPDATE by /Link alone"},
	{name: "update demands an id", clause: "update.not-found", id: "extended_update.py::contract_update_without_identifier", message: "UPDATE ended with FAILED InvalidRequest"},
	{name: "no additional DELETE", clause: "delete.input", id: "extended_delete.py::contract_delete_additional_identifiers", message: "DELETE by /Link alone"},
	{name: "delete needs the title", clause: "delete.input", id: "extended_delete.py::contract_delete_primary_identifier", message: "DELETE by /Id alone"},
	{name: "read invents", clause: "read.not-found", id: "extended_read.py::contract_read_without_create", message: "READ ended with SUCCESS"},
	{name: "delete of nothing", clause: "delete.not-found", id: "extended_delete.py::contract_delete_without_create", message: "DELETE ended with SUCCESS"},
	{name: "list invents", clause: "list.readable", id: "extended_read.py::contract_list_readable", message: "READ of it ended with FAILED NotFound"},
	{name: "pages overlap", clause: "list.pages", id: "extended_read.py::contract_list_pages", message: "LIST returned"},
	{name: "pages lose", clause: "list.pages", id: "extended_read.py::contract_list_pages", message: "is on none of the pages"},
	{name: "pages overlap", clause: "list.pages", id: "extended_read.py::contract_list_pages", message: "LIST returned", kind: kind{identifier: []string{"Id"}, ownPages: true, page: 1}},
	{name: "pages lose", clause: "list.pages", id: "extended_read.py::contract_list_pages", message: "is on none of the pages", kind: kind{identifier: []string{"Id"}, ownPages: true, page: 1}},
	{name: "no token", clause: "list.pages", id: "extended_read.py::contract_list_pages", message: "is on none of the pages"},
	{name: "filter by any", clause: "list.filter", id: "extended_read.py::contract_list_filter", message: "leaves the resource out", kind: kind{identifier: []string{"Id"}, filters: true}},
	{name: "create-only changes", clause: "update.create-only", id: "extended_update.py::contract_update_create_only", message: "which is create-only, ended with SUCCESS"},
	{name: "create-only invalid", clause: "update.create-only", id: "extended_update.py::contract_update_create_only", message: "FAILED InvalidRequest"},
	{name: "update merges arrays", clause: "update.collections", id: "extended_update.py::contract_update_collections", message: "/Authors"},
	{name: "update merges maps", clause: "update.collections", id: "extended_update.py::contract_update_collections", message: "/Notes/efgh is still there"},
	{name: "update keeps the pages", clause: "update.removed", id: "extended_update.py::contract_update_removes", message: "/Pages is still there, although the update left it out"},
	{name: "update clones", clause: "update.creates-nothing", id: "extended_update.py::contract_update_creates_nothing", message: "UPDATE made", alone: true},
	{name: "update keeps tags", clause: "tags.update", id: "extended_update.py::contract_update_tags", message: "is still there", alone: true},
	{name: "create drifts", clause: "drift.none", id: "extended_read.py::contract_create_drift", message: "has drifted: ", kind: kind{identifier: []string{"Id"}, transformed: true}},
	{name: "update drifts", clause: "drift.none", id: "extended_update.py::contract_update_drift", message: "has drifted: ", kind: kind{identifier: []string{"Id"}, transformed: true}},
	{name: "transforms otherwise", clause: "create.match", id: "handler_create.py::contract_create_delete", message: "propertyTransform for /Title, which does not give", kind: kind{identifier: []string{"Id"}, transformed: true}},
	{name: "delete lingers", clause: "delete.stable", id: "extended_delete.py::contract_delete_final", message: "READ ended with SUCCESS"},
	{name: "delete comes back", clause: "delete.final", id: "extended_delete.py::contract_delete_final", message: "READ ended with SUCCESS"},
	{name: "title stays taken", clause: "delete.create", id: "extended_delete.py::contract_delete_create_again", message: "CREATE ended with FAILED AlreadyExists", alone: true},
	{name: "delete keeps", clause: "leak.delete", id: "extended_leaks.py::contract_nothing_left", message: "it can still be read"},
	{name: "create doubles", clause: "leak.identifier", id: "extended_leaks.py::contract_nothing_left", message: "no event reported it"},
}

// coreClauses are clauses that core tests call by sentences of their own.
var coreClauses = map[string]string{
	"update.removed": clauseRemoved, "create.timeout": clauseStabilize, "create.match": clauseMatch, "create.no-null": clauseNoNull, "update.no-null": clauseNoNull, "read.no-null": clauseNoNull,
	"create.failed": clauseMessage, "update.failed": clauseMessage, "delete.failed": clauseMessage,
}

// TestSeedsSkipNothing: whatever the seed, generated inputs exercise collections and create-only
// properties, also where few values are possible.
func TestSeedsSkipNothing(t *testing.T) {
	k := kind{identifier: []string{"Id"}, twoValued: true, sparse: true}
	for seed := range uint64(10) {
		for _, id := range []string{"extended_update.py::contract_update_collections", "extended_update.py::contract_update_create_only"} {
			for mutant, want := range map[string]Outcome{"": Passed, "create-only changes": Failed} {
				if mutant != "" && strings.HasSuffix(id, "collections") {
					continue
				}
				summary := tryAll(t, newService(t, k, mutant), Config{Seed: seed, Selection: Selection{Suite: SuiteAll, IDs: []string{id}}})
				if got := summary.Results[0]; got.Outcome != want {
					t.Errorf("seed %d, %q: %s %s: %s", seed, mutant, id, got.Outcome, got.Message)
				}
			}
		}
	}
}

// TestProgressRepeatsTheInput: a first call of CREATE that only looks may answer with the model of its request, which is
// refused later.
func TestProgressRepeatsTheInput(t *testing.T) {
	for seed := range uint64(10) {
		summary := tryAll(t, newService(t, kind{identifier: []string{"Name"}}, "looks first"), Config{Seed: seed, Selection: Selection{Suite: SuiteAll, IDs: []string{"extended_create.py::contract_create_invalid"}}})
		if got := summary.Results[0]; got.Outcome != Passed {
			t.Errorf("seed %d: %s: %s", seed, got.Outcome, got.Message)
		}
	}
}

// TestUntestedClausesAreNamed: a report says which clauses no test has exercised, and why.
func TestUntestedClausesAreNamed(t *testing.T) {
	for _, test := range []struct {
		k         kind
		selection Selection
		want      map[string]string
		not       []string
	}{
		{k: kindsOfService[0], want: map[string]string{"list.filter": "the handler filters by none of the properties"}, not: []string{"list.pages", "create.read", "tags.create"}},
		{k: kind{identifier: []string{"Id"}, ownPages: true}, want: map[string]string{"list.pages": "LIST returned everything on one page"}},
		{k: kind{identifier: []string{"Id"}, plain: true}, want: map[string]string{
			"list.readable": "the schema has no list handler", "create.defaults": "No property has a default value", "tags.update": "Resource is not tagUpdatable",
		}},
		{k: kind{identifier: []string{"Id"}, plain: true}, selection: Selection{Suite: SuiteCore}, want: map[string]string{"create.list": "the schema has no list handler"}, not: []string{"list.readable", "create.defaults"}},
		{k: kind{identifier: []string{"Id"}, plain: true}, selection: Selection{Suite: SuiteAll, IDs: []string{"extended_create.py::contract_create_defaults"}}, want: map[string]string{"create.defaults": "No property has a default value"}, not: []string{"list.readable"}},
	} {
		summary := tryAll(t, newService(t, test.k, ""), Config{Inputs: test.k.inputs(), Selection: test.selection})
		got := map[string]string{}
		for _, u := range summary.Untested {
			got[u.Clause] = u.Why
		}
		for clause, why := range test.want {
			if got[clause] != why {
				t.Errorf("%s: %q, want %q", clause, got[clause], why)
			}
		}
		for _, clause := range test.not {
			if got[clause] != "" {
				t.Errorf("%s is named: %s", clause, got[clause])
			}
		}
		var text, page, doc, junit strings.Builder
		(&Text{W: &text}).Report(Event{Kind: Ended, Summary: summary})
		for name, err := range map[string]error{"html": WriteHTML(&page, summary), "json": WriteJSON(&doc, summary), "junit": WriteJUnit(&junit, summary)} {
			if err != nil {
				t.Fatal(name, err)
			}
		}
		for clause, why := range test.want {
			for name, report := range map[string]string{"text": text.String(), "html": page.String(), "json": doc.String(), "junit": junit.String()} {
				if !strings.Contains(report, clause) || !strings.Contains(report, why) {
					t.Errorf("the %s report does not have %s: %s", name, clause, why)
				}
			}
		}
	}
}

// TestExtendedDoesWithoutTheOfficialComparison: what only the official suite takes for a difference
// fails the core tests alone.
func TestExtendedDoesWithoutTheOfficialComparison(t *testing.T) {
	f := flavours[0]
	for suite, want := range map[Suite]bool{SuiteCore: false, SuiteAll: false, SuiteExtended: true} {
		summary := try(t, newStub(f, "labels grow"), Config{Inputs: f.inputs(), Selection: Selection{Suite: suite}})
		said := strings.Contains(failures(summary), "nothing may be added to an item")
		if said == want {
			t.Errorf("%s:\n%s", suite, failures(summary))
		}
		for _, r := range summary.Results {
			if r.Case.suite() == SuiteExtended && strings.Contains(r.Message, "official suite") {
				t.Errorf("%s: %s", r.ID(), r.Message)
			}
		}
	}
}

func TestServiceMutantsAreRejected(t *testing.T) {
	for _, m := range serviceMutants {
		t.Run(m.name+"/"+m.kind.name, func(t *testing.T) {
			k := m.kind
			if k.identifier == nil {
				k.identifier = []string{"Id"}
				if m.chosen {
					k.identifier = []string{"Name"}
				}
			}
			cfg := Config{Inputs: k.inputs(), Seed: 5}
			if m.ready {
				cfg.Inputs = Inputs{}
			}
			if m.alone {
				cfg.Selection.IDs = []string{m.id}
			}
			summary := tryAll(t, newService(t, k, m.name), cfg)
			for _, r := range summary.Results {
				if m.id != "" && r.ID() != m.id || r.Outcome == Passed {
					continue
				}
				for _, v := range append([]*Violation{{Clause: r.Clause, Message: r.Message, Differences: r.Differences}}, r.More...) {
					said := v.Message
					for _, d := range v.Differences {
						said += "\n" + d.String()
					}
					right := strings.Contains(v.Clause, clauseText(m.clause)) || strings.HasSuffix(clauseText(m.clause), v.Clause) || v.Clause == coreClauses[m.clause]
					if right && v.Clause != "" && strings.Contains(said, m.message) {
						return
					}
				}
			}
			t.Errorf("not rejected for %q:\n%s", clauseText(m.clause), failures(summary))
		})
	}
}

// TestWriteOnlyTags: what reads never return cannot be compared.
func TestWriteOnlyTags(t *testing.T) {
	s, problems := schema.Load("a.json", []byte(`{"typeName": "Acme::Shop::Thing", "description": "d", "properties": {"Id": {"type": "string"}, "Tags": {"type": "object"}},
		"primaryIdentifier": ["/properties/Id"], "writeOnlyProperties": ["/properties/Tags"], "additionalProperties": false, "tagging": {"taggable": true, "tagProperty": "/properties/Tags"}, "handlers": {"update": {"permissions": []}}}`), schema.Config{Kind: schema.Resource})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	for _, skip := range []func(*schema.Schema) string{skipUnlessTagged, skipUnlessTagsChange} {
		if got := skip(s); got != "The tags are write-only. Skipping test." {
			t.Error(got)
		}
	}
}
