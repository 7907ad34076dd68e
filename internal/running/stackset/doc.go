// Package stackset deploys one template as stacks in several accounts and regions: stack sets
// with self-managed permissions, as CloudFormation has them.
//
// A stack set belongs to an account and region. Its instances are stacks of package stack, each
// in an account and region of its own; an instance may exist without a stack. An operation
// creates, updates or deletes instances, or detects their drift, in the order and with the
// concurrency and failure tolerance of its preferences. It has a result for each instance.
//
// The rows of a set, its instances, operations and results are the state of record. A worker of
// the store carries out an operation: it looks how far the stacks are, writes that, and begins
// what the preferences allow next. What it asks of the stacks carries a client request token that
// follows from the operation, so that it can be asked again after a crash. The end of an operation
// on a stack wakes the worker.
//
// Service-managed permissions, organizational units and automatic deployment are refused by name.
package stackset
