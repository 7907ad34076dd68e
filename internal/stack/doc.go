// Package stack creates, updates, rolls back and deletes stacks of resources.
//
// A request is planned before anything is touched: [NewPlan] sets a processed template
// against what the stack holds and says for each resource what is to happen and why. The
// plan is a value: a change set shows it, the engine executes it, tests compare it.
//
// The engine executes a plan as a graph. One wake-up per stack advances it: it processes the
// steps that ended, starts the operations (package operation) of those whose dependencies are
// done, and moves the stack to its next status, all in one transaction with their events.
// Operations end on any node and wake the stack.
//
// Nothing here knows HTTP. Operations take and return the shapes of the SDK and refuse
// with *awswire.Error in the service's words.
package stack
