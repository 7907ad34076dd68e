package contract

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestClauseTable holds the table of clauses, the cases and the mutants together.
func TestClauseTable(t *testing.T) {
	cases := map[string][]string{}
	for _, c := range Cases {
		if len(c.Clauses) == 0 {
			t.Errorf("%s names no clause", c.ID)
		}
		for _, id := range c.Clauses {
			cases[id] = append(cases[id], c.ID)
		}
	}
	known := map[string]bool{}
	for _, c := range Clauses {
		if known[c.ID] {
			t.Errorf("%s is there twice", c.ID)
		}
		known[c.ID] = true
		tested := len(cases[c.ID]) > 0 || c.Every != ""
		if tested == (c.Untested != "") && c.Level != May {
			t.Errorf("%s: tested %v, but untested because %q", c.ID, tested, c.Untested)
		}
	}
	for id := range cases {
		if !known[id] {
			t.Errorf("%s: there is no such clause", id)
		}
	}
	for id := range shapeClauses {
		if !known[shapeClauses[id]] {
			t.Errorf("keyword %s: there is no clause %s", id, shapeClauses[id])
		}
	}
	for _, c := range extendedCases {
		mutated := slices.ContainsFunc(serviceMutants, func(m serviceMutant) bool { return m.id == c.ID })
		if !mutated && c.Name() != "contract_type_configuration" { // no handler can break that one
			t.Errorf("%s rejects no mutant", c.ID)
		}
	}
	for _, c := range Clauses {
		mutated := slices.ContainsFunc(serviceMutants, func(m serviceMutant) bool { return m.clause == c.ID })
		if c.Every == SuiteExtended && !mutated && !strings.HasSuffix(c.ID, ".shape") {
			t.Errorf("%s rejects no mutant", c.ID)
		}
	}
}

// TestContractDocument writes docs/contract.md.
func TestContractDocument(t *testing.T) {
	got := contractDocument()
	const path = "../../../docs/contract.md"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("docs/contract.md is stale: go test ./internal/proving/contract -run TestContractDocument -update rewrites it")
	}
}

func contractDocument() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	tests := map[string][]string{}
	for _, c := range Cases {
		for _, id := range c.Clauses {
			tests[id] = append(tests[id], "`"+c.ID+"`")
		}
	}
	covered := 0
	binding := 0
	for _, c := range Clauses {
		if c.Level == May {
			continue
		}
		binding++
		if len(tests[c.ID]) > 0 || c.Every != "" {
			covered++
		}
	}
	line("# The handler contract, clause by clause")
	line("")
	line("<!-- Written by go test ./internal/proving/contract -run TestContractDocument -update. Do not edit. -->")
	line("")
	line("This page lists the clauses of the handler contract and the tests for each. `cfn test --suite core` runs the tests of the")
	line("official suite under their names, `--suite extended` runs tests for the other clauses, and `--suite all` runs both. A clause")
	line("that is tested by “every call” is checked in each response of each test; a violation fails the test in which it first")
	line("occurs, with the clause in the message. A report names the clauses that no test of the run exercised, with the reason.")
	line("")
	line("MUST and SHOULD are those of the contract, except where the clause says that it is stricter: its tests fail all the same, because")
	line("stacks, drift detection and other callers depend on it.")
	line("")
	line("%d of the %d binding clauses are tested: by %d core tests of resource types, %d of hooks, %d extended tests, and the", covered, binding, len(resourceCases), len(hookCases), len(extendedCases)+len(extendedHookCases))
	line("rules for every call. The tests themselves are tested with %d broken handlers for the extended suite, %d for the core suite and %d", len(serviceMutants), len(mutants), len(hookMutants))
	line("broken hooks, each of which is rejected for the clause that it violates, and with %d kinds of correct handlers (%d for the", len(kindsOfService)+len(flavours), len(flavours))
	line("core suite alone), none of which is rejected.")
	line("")
	line("## The core suite and the official one")
	line("")
	line("A handler that passes the core suite passes the official suite (cloudformation-cli). The core suite therefore rejects")
	line("responses that only the official suite cannot handle: `null` or `\"\"` as `errorCode`, `null` as `callbackDelaySeconds`, a")
	line("`resourceModel` of `null` after a delete, a `nextToken` of `\"\"`, identifiers of `0` or `false`, and members added to the")
	line("items of a collection without an order. It also rejects what CloudFormation rejects but the official suite accepts: nulls in")
	line("models, FAILED without a message, and an update that keeps a property that is missing in its request.")
	line("")
	line("Exceptions, in which the official suite fails with an internal error whatever the handler does, or reads models differently")
	line("from CloudFormation:")
	line("")
	line("- scalars that are returned as strings, and inputs with a string for a number: both are converted according to the")
	line("  schema, as CloudFormation does;")
	line("- schemas with a `propertyTransform`, which the official suite evaluates as jq and CloudFormation as JSONata;")
	line("- schemas with write-only or create-only properties inside arrays;")
	line("- deprecated properties, which need not be returned, and items that are added to an array with `\"arrayType\": \"AttributeList\"`:")
	line("  the official suite knows neither keyword;")
	line("- hooks with the targets STACK or CHANGE_SET, for which the official suite has no inputs.")
	line("")
	line("With `FORMWORK_OFFICIAL_PYTHON=/path/to/python`, an interpreter with the package cloudformation-cli, `go test")
	line("./internal/proving/contract -run 'PassesThere|PassThere'` runs both suites against each broken handler and hook, with inputs from files")
	line("and with those that each suite generates, and compares the results. CI does so.")
	section := ""
	for _, c := range Clauses {
		if c.Section != section {
			section = c.Section
			line("")
			line("## %s", section)
			line("")
			line("| clause | | requirement | tested by |")
			line("|---|---|---|---|")
		}
		by := slices.Clone(tests[c.ID])
		if c.Every != "" {
			by = append(by, fmt.Sprintf("every call (%s)", c.Every))
		}
		switch {
		case c.Untested != "":
			by = []string{"nothing: " + c.Untested}
		case len(by) == 0:
			by = []string{"nothing: it asks for nothing"}
		}
		line("| <a id=%q></a>%s | %s | %s | %s |", c.ID, c.ID, c.Level, c.Text, strings.Join(by, "<br>"))
	}
	for _, suite := range []struct {
		title string
		cases []Case
	}{{"Core tests of resource types", resourceCases}, {"Core tests of hooks", hookCases}, {"Extended tests of resource types", extendedCases}, {"Extended tests of hooks", extendedHookCases}} {
		line("")
		line("## %s", suite.title)
		line("")
		line("| test | handlers | requirement |")
		line("|---|---|---|")
		for _, c := range suite.cases {
			line("| `%s` | %s | %s |", c.ID, strings.Join(c.Needs, ", "), c.Clause)
		}
	}
	line("")
	line("## Tests in stacks")
	line("")
	line("`cfn test --in-stack` runs these instead, in this order; [testing.md](testing.md#in-stacks) describes them. A test runs")
	line("if the schema declares the handlers. They are tested with %d faulty types and services, each of which is rejected by its test.", len(stackMutants))
	line("")
	line("| test | handlers | what it stands for | in the user guide | clauses |")
	line("|---|---|---|---|---|")
	for _, c := range stackCases {
		line("| `%s` | %s | %s | %s | %s |", c.ID, strings.Join(c.Needs, ", "), c.Clause, c.spec, strings.Join(c.Clauses, ", "))
	}
	line("")
	line("## Upgrade tests")
	line("")
	line("`cfn test --upgrade-from` runs these instead, in this order; [upgrade-tests.md](upgrade-tests.md) describes them. A test runs if the schema")
	line("of the old version declares the handlers. They are tested with %d faulty versions, each of which is rejected by its test.", len(upgradeFaults))
	line("")
	line("| test | handlers | what it stands for | clauses |")
	line("|---|---|---|---|")
	for _, c := range upgradeCases {
		anchor := strings.TrimPrefix(upgradeRule(c.Name(), "", "", "").ID, "upgrade/")
		line("| [`%s`](upgrade-tests.md#%s) | %s | %s | %s |", c.ID, anchor, strings.Join(c.Needs, ", "), c.Clause, strings.Join(c.Clauses, ", "))
	}
	for _, c := range moduleCases {
		line("| [`%s::%s`](upgrade-tests.md#%s) | | %s | |", upgradeFile, c.name, strings.ReplaceAll(c.name, "_", "-"), c.clause)
	}
	return b.String()
}
