package handler

import "time"

// An Action is what a resource handler is asked to do.
type Action string

// The five actions of a resource type.
const (
	ActionCreate Action = "CREATE"
	ActionRead   Action = "READ"
	ActionUpdate Action = "UPDATE"
	ActionDelete Action = "DELETE"
	ActionList   Action = "LIST"
)

// A Status says how far an operation has come. SUCCESS and FAILED are
// terminal; after IN_PROGRESS the handler is called again.
type Status string

// The statuses of a progress event.
const (
	StatusInProgress Status = "IN_PROGRESS"
	StatusSuccess    Status = "SUCCESS"
	StatusFailed     Status = "FAILED"
)

// An Event is the progress event that ends one call of a resource handler.
// Handlers make it with the methods of their [Request]: Success, SuccessList,
// InProgress, Deleted, Failed and Fail. The fields may be changed before the
// event is returned.
//
// The runtime checks an event before it is sent; what breaks the handler
// contract becomes FAILED with [CodeInternalFailure] and a message for the
// author:
//
//	status        needs                                   must not
//	IN_PROGRESS   –                                       answer READ or LIST
//	SUCCESS       Model, except for DELETE and LIST       –
//	FAILED        Code; none means InternalFailure        –
//
// A model on the SUCCESS of a DELETE is left out, since the contract forbids
// it. An IN_PROGRESS event without a model, and the FAILED event of an UPDATE
// or of a CREATE that was in progress, carry the desired model of the request.
type Event[M any] struct {
	// Status has no useful zero value.
	Status Status

	// Code says why a FAILED operation failed; ignored for other statuses.
	Code Code

	// Message is shown to the user of the resource.
	Message string

	// Model is the resource as it is now. An IN_PROGRESS event must carry the
	// primary identifier as soon as it is known: the caller passes the model
	// back as the desired state of the next call.
	Model *M

	// Models is one page of a LIST. Nil is sent as an empty array.
	Models []M

	// NextToken requests the page after Models; empty after the last page.
	NextToken string

	// Delay is the least time until the handler is called again, for
	// IN_PROGRESS only. It travels in whole seconds, rounded to the nearest:
	// anything under half a second requests a call at once.
	Delay time.Duration
}

// Terminal reports whether the operation is over.
func (e Event[M]) Terminal() bool {
	return e.Status == StatusSuccess || e.Status == StatusFailed
}

// delaySeconds is the wire form of a delay.
func delaySeconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64(d.Round(time.Second) / time.Second)
}
