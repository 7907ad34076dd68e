package operation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// The phases of an operation in progress.
const (
	calling = "CALL" // the operation itself is being carried out
	reading = "READ" // it succeeded, and the resource is being read
)

// A row is one operation.
type row struct {
	store.Row `db:"operations AS o"`

	ID       string `db:"id,pk"`
	Owner    string `db:"owner"`
	OwnerKey string `db:"owner_key"`
	Account  string `db:"account"`
	Region   string `db:"region"`
	Action   string `db:"action"` // invoke.Action
	TypeName string `db:"type_name"`
	Token    string `db:"token"`

	Status    string `db:"status"` // cfn.OperationStatus
	Phase     string `db:"phase"`
	Cancelled bool   `db:"cancelled"` // set without counting up RowVersion
	Calls     int64  `db:"calls"`     // that were answered
	Attempts  int64  `db:"attempts"`  // calls that failed with a retriable code, in a row

	NextAt     store.Time `db:"next_at"` // no call before
	CreatedAt  store.Time `db:"created_at"`
	EndedAt    store.Time `db:"ended_at"` // NULL while it is in progress
	RowVersion int64      `db:"row_version"`

	Event   string `db:"event" seal:"operations.event"`     // an event
	Request string `db:"request" seal:"operations.request"` // details; "" once it has ended
}

// moving are the columns that a transition writes, and ending those of one that changes the request,
// too: it is the largest and seldom changes.
var (
	moving = []string{"status", "phase", "calls", "attempts", "next_at", "ended_at", "event"}
	ending = append(slices.Clone(moving), "request")
)

// details are the immutable data of an operation in progress.
type details struct {
	Request     Request
	ReadAfter   bool
	NoRetries   bool
	AwaitInputs bool `json:",omitempty"`
	NoteCalls   bool `json:",omitempty"`
}

// An event is the state of an operation after its latest events.
type event struct {
	Identifier string          `json:",omitempty"`
	Configured bool            `json:",omitempty"`
	Model      map[string]any  `json:",omitempty"`
	Callback   json.RawMessage `json:",omitempty"`
	ErrorCode  string          `json:",omitempty"`
	Message    string          `json:",omitempty"`
	Own        bool            `json:",omitempty"`

	// Retrying is the code of the last call, if the same call is waited for.
	Retrying string `json:",omitempty"`

	// Started is the number of the last call that was begun, if calls are noted.
	Started int64 `json:",omitempty"`
	// Lost is how long calls were overdue, see overdue.
	Lost time.Duration `json:",omitempty"`
	// Wait is the time until the next call when the event was written.
	Wait time.Duration `json:",omitempty"`
}

func (r *row) ended() bool { return r.Status != string(cfn.OperationStatusInProgress) }

// state is what owners see of a row.
func (r *row) state(d *details, v *event) State {
	var retry *Retry
	if !r.ended() && v.Retrying != "" {
		retry = &Retry{Code: v.Retrying, Count: int(r.Attempts), At: r.NextAt.Time}
	}
	request := d.Request
	request.Callback, request.Model, request.Attempts = v.Callback, v.Model, int(r.Attempts)
	return State{
		ID: r.ID, Owner: r.Owner, Key: r.OwnerKey, Request: request, Calls: int(r.Calls), Reading: r.Phase == reading && !r.ended(),
		Retry:     retry,
		Cancelled: r.Cancelled && r.Status == string(cfn.OperationStatusFailed) && v.Own,
		Progress: Progress{
			Status: cfn.OperationStatus(r.Status), Identifier: v.Identifier, Configured: v.Configured, Model: v.Model,
			ErrorCode: v.ErrorCode, Message: v.Message, Own: v.Own, Callback: v.Callback,
		},
	}
}

// encode is a value as a row keeps it.
func encode(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("keep an operation: %w", err)
	}
	return string(text), nil
}

// unpack reads what a row keeps.
func (r *row) unpack() (*details, *event, error) {
	d, v := &details{}, &event{}
	if r.Request != "" {
		if err := decode(r.Request, d); err != nil {
			return nil, nil, err
		}
	}
	return d, v, decode(r.Event, v)
}

// wait is the time until the next call when the row was written.
func (r *row) wait() (time.Duration, error) {
	var v struct{ Wait time.Duration }
	err := decode(r.Event, &v)
	return v.Wait, err
}

func decode(text string, value any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(value); err != nil {
		return fmt.Errorf("cannot read an operation: %T", err) // the error would show a piece of it
	}
	return nil
}

// compact is a callback context as rows keep it; nil for null and for what is not JSON.
func compact(callback json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, callback) != nil || b.String() == "null" {
		return nil
	}
	return b.Bytes()
}
