// Package contract holds the tests of the resource type handler contract, runs them
// against a handler and reports what they found.
//
// [Cases] is the table of the tests: the names, markers and verdicts of the official
// suite, with the clause of the contract that each stands for. [Run] takes a [Config]
// (a schema, an [invoke.Function], inputs) through the cases that its handlers allow, once
// for each set of inputs, and tells a [Reporter] what happens as it happens. Whatever a
// run creates is deleted in the end, also when a case fails or the context is cancelled;
// what could not be deleted is named.
//
// [LoadInputs] reads the folder inputs/ and overrides.json of a project; [ParseArguments]
// reads the arguments of pytest by which the official tool selects tests. [Text], [JSON]
// and [JUnit] are reporters.
//
// The calling rules that hold for every operation are in check.go, the comparison of
// requested and returned models in compare.go. Left out: hooks, the clauses of the
// contract that no test of the official suite checks, and how handlers are run.
//
// The references are resource-handler-contract.txt and the chapter "Testing resource
// types using contract tests" of the user guide.
package contract
