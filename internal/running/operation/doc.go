// Package operation executes one operation on one resource, durably: create, read, update or
// delete, from the request to a terminal event, however long that takes and however often the
// process is killed meanwhile.
//
// An operation is a row. It contains the request, the client request token of every call of
// the handler, the callback context and the model of the latest event. A wake-up of the store
// makes the next call when it is due, on any node, and lasts until the operation has ended.
// Each transition is one transaction: compare-and-set on the row and the owner's changes. A
// call whose answer was lost with its process is repeated with the same token, so that the
// handler can recognize it. When an operation has ended, its row contains no model.
//
// [Tokens] are the bearer tokens of RecordHandlerProgress: those of the engine's operations
// are known automatically, those of other calls (in contract tests, by Lambda Invoke) need Begin and End.
//
// What makes the calls is a [Provider]: registered types, the types of the server itself,
// simulated types, custom resources and nested stacks implement it. Who wanted the
// operation is an [Owner]: stacks and Cloud Control. TestType is a [Supplier]: one of its
// operations runs the contract tests of a version of a type. It has the row, the deadline, the
// wake-up and the take-over of every operation, and one call instead of many.
//
// The references are resource-handler-contract.txt and the chapter on progress chaining
// and stabilization of the user guide.
package operation
