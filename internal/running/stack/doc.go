// Package stack creates, updates, rolls back and deletes stacks of resources.
//
// A request begins an operation on a stack, which goes through phases: main, then cleanup; or after a
// failure rollback, then rollback-cleanup; or delete. A phase has a step for each resource that it may
// concern. Steps run in the order of their dependencies, many at a time, and each makes at most one call
// after another: an operation of package operation.
//
// Package plan decides, without rows: which phase follows ([plan.Following]), what its steps are ([plan.Have])
// and which of them start ([plan.Advance]). A change set stores the steps of the main phase with what it shows
// ([plan.New]), and its execution takes them. What such a step does is decided when the steps that it depends
// on are done, from what is known then ([plan.Step.Refine]): never more than a change set shows. Policies,
// what is imported, retained, skipped, forced or must not be replaced, and the Express mode are properties of
// steps.
//
// Two kinds of transactions change the rows of an operation:
//
//   - One wake-up per stack advances it (run): it takes note of the steps that ended, starts those that
//     are ready, moves the stack to its next status, and begins and cancels calls.
//   - Calls end on any node (progress): a report moves its step and the resource, and wakes the stack.
//
// Both work on a machine, which has the rows of steps and resources as they are and as they were read. The
// table turns in resource.go has what a step can do to its resource: the status, the state of the step, and
// the event, which nothing else appends. One writer writes the rows that differ. The row of the operation is
// compared and set, so that of two workers one starts over.
//
// A crash loses nothing but memory: whatever is decided is in rows before a call begins, a call has a token
// with which it is repeated, and the next wake-up reads the rows. Between wake-ups a node keeps what it read
// of the operations that it advances (kept). Columns with JSON have types ([store.JSON]): one that cannot be
// read ends the operation.
//
// What is special about nested stacks, wait conditions and custom resources is in their nature, which whoever
// carries out operations asks for instead of the names of types (owntypes.go).
//
// An operation uses the default version of each type at the time when it begins a call, whichever version
// made the resource.
//
// Package refactor moves resources between stacks: it reads members and has this package write the rows and
// events ([Engine.Move]), in one transaction.
//
// Nothing here knows HTTP. Operations take and return the shapes of the SDK and refuse
// with *awswire.Error in the service's words.
package stack
