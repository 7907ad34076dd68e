// Package stacktest runs declarative tests of templates: the files *.stacktest.yaml of "cfn stack test".
//
// A file is a [Suite]: templates, what they are given, and cases. A case is a list of steps; a step is one action on a
// stack, such as deploy or drift, and what is expected of it. [Load] reads a file and reports every problem in it with
// its position: a key that is not known would be an expectation that nothing checks. [Run] runs the cases, each of them
// in a local CloudFormation of its own, so that they cannot see each other and can run at the same time.
//
// The format is described once, by the forms of grammar.go: files are checked against them, and [Schema] is made of them.
//
// What must stay true:
//
//   - A step without expectations still expects something: that its action ends well.
//   - A failure is a problem at the line of the expectation that was not met.
//   - Handlers and other providers of resources are called by one function, in calls.go. What a test does to them
//     (failures, delays, answers, the kill of the server) happens there, so that it is the same for registered,
//     simulated, built-in and delegated types.
//   - Values that are secret are hidden before texts are compared or printed, not after.
package stacktest
