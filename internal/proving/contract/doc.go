// Package contract contains the tests of the handler contract, runs them against a handler and
// reports the results.
//
// [Cases] is the table of the tests. The core suite has the names, markers and verdicts of the
// official one, for resource types and hooks; the extended suite has a test for every clause
// of the contract that no core test checks. [Clauses] is the table of the clauses;
// docs/contract.md is generated from both. Rules for every event are in check.go if they are
// official, and in observe.go if the extended suite adds them.
//
// [Run] runs the cases for the handlers of a [Config] (a schema, an [invoke.Function],
// inputs), once for each set of inputs, several sets in parallel on request, and notifies a
// [Reporter]. All resources that a run creates are deleted at the end, also when a case fails
// or the context is canceled; resources that could not be deleted, or that appeared without an
// event that names them, are reported.
//
// [RunStacks] takes a type through stacks of a CloudFormation, which a [StackConfig] names, with
// the same inputs, reporters and summary. Its cases are the table in instack_cases.go.
//
// [LoadInputs] reads the folder inputs/ and overrides.json of a project. Without inputs,
// package sample makes them from the schema, by the seed and the name of the case alone;
// those of a failure are made smaller and kept as an [Example]. [ParseArguments] reads the
// arguments of pytest by which the official tool selects tests. [Text], [WriteJSON] and
// [WriteJUnit] are reports.
//
// Left out: how handlers are run, and what is written to disk.
//
// The references are resource-handler-contract.txt and the chapter "Testing resource
// types using contract tests" of the user guide.
package contract
