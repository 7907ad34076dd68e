package operation

import (
	"context"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A Spec is an operation to begin.
type Spec struct {
	ID    string // "" makes one; also the row's key, unique for good
	Owner string // names the Owner, as in Engine.Own: "stack", "cloudcontrol"
	Key   string // what the owner knows it by, such as the id of its own row

	Request Request // Token "" makes one

	// ReadAfter has a READ follow a CREATE or UPDATE that succeeded, whose model is the
	// operation's then. A type without a read handler is left with what its handler said.
	ReadAfter bool

	// NoRetries has the operation fail at once with codes that are retried otherwise.
	NoRetries bool

	// NoteCalls has State.Repeated known, for one write more before each call.
	NoteCalls bool

	// AwaitInputs retries NotFound and NotStabilized, too: what the resource refers to may not
	// be ready yet.
	AwaitInputs bool
}

// A State is the state of an operation.
type State struct {
	ID, Owner, Key string
	Request        Request  // with its tokens; Callback and Model are those of the latest event
	Progress       Progress // the latest
	Calls          int      // calls that were answered
	Reading        bool     // the operation succeeded, and the resource is being read

	// Repeated reports that the last call may have been made before: its answer was lost with the
	// process, or nothing was known afterwards. Only Spec.NoteCalls finds that out.
	Repeated bool

	// Retry is the call that is waited for after one failed with a code that may pass, nil for none.
	Retry *Retry

	// Cancelled marks an operation that ended because of Engine.Cancel. Its Progress is
	// FAILED without a code, with the identifier if the resource may exist.
	Cancelled bool
}

// A Retry is a call that is made again at a time.
type Retry struct {
	Code       string // of the call that failed
	Count, Max int    // it is the retry number Count of at most Max
	At         time.Time
}

// An Owner is notified of the operations that it began. Progressed runs in the transaction of
// a transition: when the identifier becomes known, when the resource is configured, and at
// the end. It changes rows and wakes; it must not call out.
type Owner interface {
	Progressed(ctx context.Context, tx *store.Tx, state State) error
}

// Test is the action of an operation that runs the contract tests of a type. Only a Supplier
// begins it, as it does the invocation points of hooks.
const Test invoke.Action = "TEST"

// A Supplier is an Owner that provides for its operations itself: its types are those that the
// operations are on, instead of those of Config.Types. What it does in one call may take hours.
// It is interrupted when the process stops, and called again, with the same token, by whoever
// takes the operation over.
type Supplier interface {
	Owner
	Types

	// Actions are those of the operations that it begins.
	Actions() []invoke.Action

	// Committed is called after a transition that Progressed was called for is written, on the
	// node that wrote it and at most once.
	Committed(ctx context.Context, state State)
}
