package operation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	// burst is how many calls without a wait between them a worker makes before it lets
	// others have its place.
	burst = 16
	// patience is how long the outcome of a call is tried to be written. After that, the
	// call is made again, with the same token.
	patience = time.Minute
	// clockTolerance is how far the clocks of nodes may be apart.
	clockTolerance = 5 * time.Second
	// lateTolerance is how late a call may be and still count as made in time: workers are
	// busy for a while, but not for minutes.
	lateTolerance = time.Minute
	// lateWrite is how long that is tried once the process stops.
	lateWrite = 3 * time.Second
)

// run is a store.Run: it makes the due calls of an operation. The wake-up lasts until the
// operation has ended, so that it is taken over after a crash; the row contains the time of
// the next call.
func (e *Engine) run(ctx context.Context, id string) (time.Time, error) {
	var row *row
	for range burst {
		var err error
		if row == nil {
			row, err = find(ctx, e.store.Read(), id)
		}
		if err != nil || row == nil || row.ended() {
			e.ended(ctx, id)
			return time.Time{}, err
		}
		if wait := row.NextAt.Sub(e.config.Now()); wait > 0 && !row.Cancelled {
			planned, err := row.wait()
			if err != nil {
				return time.Time{}, err
			}
			if wait <= planned+clockTolerance {
				return e.config.Now().Add(wait), nil
			}
			// The clock has gone back since the row was written: the wait is longer than
			// requested.
		}
		moved, wait, err := e.stepInTurn(ctx, row)
		if err != nil {
			return time.Time{}, fmt.Errorf("%s %s: %w", row.Action, row.TypeName, err)
		}
		if wait > 0 {
			return e.config.Now().Add(wait), nil
		}
		row = nil
		if moved != nil && (moved.ended() || moved.NextAt.After(e.config.Now())) {
			row = moved // a call that follows at once may have been cancelled
		}
	}
	return e.config.Now(), nil
}

// step makes one call and writes its result. It returns the current row, nil if that is
// unknown.
func (e *Engine) step(ctx context.Context, row *row) (*row, error) {
	owner := e.owners[row.Owner]
	if owner == nil {
		return nil, fmt.Errorf("unknown owner %q", row.Owner)
	}
	details, event, err := row.unpack()
	if err != nil {
		return nil, err
	}
	m := &move{engine: e, row: *row, details: details, event: *event}
	stored := *event
	if row.Cancelled && !m.mayHaveCreated(e.config.Now()) {
		m.cancel()
		return m.commit(ctx, owner)
	}
	typ, err := e.typeFor(ctx, owner, details.Request)
	var unknown *UnknownTypeError
	late := e.config.Timeout
	switch {
	case errors.As(err, &unknown):
		m.fail(invoke.InvalidRequest, unknown.Error())
		return m.commit(ctx, owner)
	case err == nil:
		late = e.timeout(typ, invoke.Action(row.Action))
		m.pin(typ.Version)
	}
	m.event.Lost += e.overdue(row)
	m.deadline = row.CreatedAt.Add(late + m.event.Lost)
	if !e.config.Now().Before(m.deadline) {
		m.timeOut()
		return m.commit(ctx, owner)
	}
	if err != nil {
		return nil, fmt.Errorf("find the type: %w", err)
	}
	if err := m.noteCall(ctx, stored); errors.Is(err, store.ErrStale) {
		return nil, nil // it is read again
	} else if err != nil {
		return nil, err
	}
	if err := m.call(ctx, typ); err != nil {
		return nil, err
	}
	return m.commit(ctx, owner)
}

// noteCall writes that the next call begins, and finds out whether it was begun before. stored is
// the event as it was read.
func (m *move) noteCall(ctx context.Context, stored event) error {
	if !m.details.NoteCalls {
		return nil
	}
	if m.event.Started > m.row.Calls {
		m.repeated = true
		return nil
	}
	m.event.Started = m.row.Calls + 1
	stored.Started = m.event.Started
	text, err := encode(stored)
	if err != nil {
		return err
	}
	var noted row
	err = m.engine.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		noted = m.row // the function may run more than once
		noted.Event = text
		return store.Swap(ctx, tx, &noted, &noted.RowVersion, "event")
	})
	if err != nil {
		return fmt.Errorf("note a call: %w", err)
	}
	m.row.RowVersion = noted.RowVersion
	return nil
}

// typeFor finds the type that an operation is on.
func (e *Engine) typeFor(ctx context.Context, owner Owner, request Request) (*Type, error) {
	if supplier, ok := owner.(Supplier); ok {
		return supplier.Type(ctx, request.Caller, request.Type, request.Version)
	}
	return e.typeOf(ctx, request.Caller, request.Type, request.Version)
}

// overdue returns how much later than it was due the next call is made, if that is long: no
// node was running, the machine slept, or the clock was set forward. That time does not count
// towards the deadline. While the call is tried again, the result stays the same.
func (e *Engine) overdue(row *row) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, ok := e.late[row.ID]; ok && known.version == row.RowVersion {
		return known.by
	}
	by := e.config.Now().Sub(row.NextAt.Time).Truncate(time.Microsecond) // as times are kept
	if by < lateTolerance && e.turns[row.Owner] == nil {                 // a turn is waited for
		by = 0
	}
	e.late[row.ID] = lateness{version: row.RowVersion, by: by}
	return by
}

// inTime forgets what overdue found.
func (e *Engine) inTime(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.late, id)
}

// A lateness is the result of overdue for a version of a row.
type lateness struct {
	version int64
	by      time.Duration
}

// A move is a transition of an operation.
type move struct {
	engine   *Engine
	row      row
	details  *details
	event    event
	deadline time.Time
	notable  bool // the owner hears of it
	pinned   bool // details have changed
	repeated bool // the call may have been made before
}

// pin keeps the version that an operation starts with, even if the default changes meanwhile.
func (m *move) pin(version string) {
	if m.details.Request.Version == "" && version != "" {
		m.details.Request.Version, m.pinned = version, true
	}
}

// mayHaveCreated reports whether a CREATE may have been called whose answer is not known.
func (m *move) mayHaveCreated(now time.Time) bool {
	return m.row.Action == string(invoke.Create) && m.event.Identifier == "" && !now.Before(m.row.NextAt.Time)
}

// request is the next call.
func (m *move) request() Request {
	r := m.row.state(m.details, &m.event).Request
	r.Identifier = m.event.Identifier
	if m.row.Phase == reading {
		r.Action, r.Model, r.Previous = invoke.Read, nil, nil
		if m.event.Model != nil {
			r.Desired = m.event.Model
		}
	}
	return r
}

// call makes the call and notes what it reported. An error means that nothing is known.
func (m *move) call(ctx context.Context, typ *Type) error {
	e := m.engine
	began := e.config.Now()
	within, cancel := context.WithTimeout(ctx, m.deadline.Sub(began))
	defer cancel()
	request := m.request()
	var err error
	if e.config.Prepare != nil {
		var refused *awswire.Error
		request, err = e.config.Prepare(within, request)
		if errors.As(err, &refused) {
			m.fail("", refused.Message)
			return nil
		}
	}
	var progress Progress
	if err == nil {
		progress, err = m.engine.provide(within, typ, request)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !e.config.Now().Before(m.deadline):
		m.timeOut()
		return nil
	case store.Permanent(err):
		m.fail(invoke.InternalFailure, store.Reason(err))
		return nil
	case err != nil:
		return err
	}
	if now := e.config.Now(); !now.Before(m.deadline) && within.Err() == nil {
		// The call did not take that long: the clock was set forward meanwhile.
		jump := now.Sub(began).Truncate(time.Microsecond)
		m.event.Lost += jump
		m.deadline = m.deadline.Add(jump)
	}
	if typ.Schema != nil && progress.Model != nil {
		progress.Model, _ = typ.Schema.Recast(progress.Model).(map[string]any)
	}
	m.row.Calls++
	m.note(typ, progress)
	if m.row.Cancelled && !m.row.ended() {
		m.cancel()
	}
	return nil
}

// note moves the operation on by what a call reported.
func (m *move) note(typ *Type, p Progress) {
	v := &m.event
	// A READ returns the state of a resource, not its identity.
	if identifier := keptIdentifier(p.Identifier); identifier != "" && (v.Identifier == "" || m.row.Phase != reading) {
		m.notable = m.notable || v.Identifier != identifier
		v.Identifier = identifier
	}
	fault := ""
	v.Retrying = ""
	if p.Status != cfn.OperationStatusFailed {
		fault = unfit(p)
	}
	switch {
	case fault != "":
		if p.Model != nil {
			v.Model = p.Model // has the identifier that the deletion needs
		}
		m.fail(invoke.InternalFailure, fmt.Sprintf("The %s handler of %s %s.", m.request().Action.Handler(), m.row.TypeName, fault))
	case p.Status == cfn.OperationStatusInProgress:
		m.row.Attempts = 0
		v.Callback = compact(p.Callback)
		if p.Model != nil {
			v.Model = p.Model
		}
		if p.Configured && !v.Configured {
			v.Configured, m.notable = true, true
		}
		m.wait(p.Delay)
	case p.Status == cfn.OperationStatusFailed && m.retries(p.ErrorCode):
		m.row.Attempts++
		v.Retrying = storable(p.ErrorCode)
		m.wait(m.engine.config.Retries.after(m.row.Attempts))
	case p.Status == cfn.OperationStatusFailed:
		v.ErrorCode, v.Message, v.Own = storable(p.ErrorCode), storable(p.Message), p.Own
		if p.Model != nil {
			v.Model = p.Model
		}
		m.end(cfn.OperationStatusFailed)
	case p.Status != cfn.OperationStatusSuccess:
		m.fail(invoke.InternalFailure, fmt.Sprintf("the provider of %s reported the status %q", m.row.TypeName, p.Status))
	default:
		if p.Model != nil {
			v.Model = p.Model
		}
		m.succeed(typ)
	}
}

// succeed ends the operation, or has the resource read.
func (m *move) succeed(typ *Type) {
	action := invoke.Action(m.row.Action)
	if action == invoke.Create && m.event.Identifier == "" && typ.Schema != nil && len(typ.Schema.PrimaryIdentifier) > 0 {
		m.fail(invoke.InternalFailure, fmt.Sprintf("The create handler of %s reported SUCCESS without the primary identifier.", m.row.TypeName))
		return
	}
	if m.details.ReadAfter && m.row.Phase == calling && (action == invoke.Create || action == invoke.Update) &&
		typ.Schema != nil && typ.Schema.Handler(invoke.Read.Handler()) != nil {
		m.row.Phase, m.row.Attempts, m.event.Callback = reading, 0, nil
		m.wait(0)
		return
	}
	m.end(cfn.OperationStatusSuccess)
}

// retries reports whether the call is to be made again after it failed with a code.
func (m *move) retries(code string) bool {
	retriable := invoke.Code(code).Retriable() ||
		m.details.AwaitInputs && m.row.Phase == calling && (code == string(invoke.NotFound) || code == string(invoke.NotStabilized))
	return retriable && !m.details.NoRetries && m.row.Attempts < int64(m.engine.config.Retries.Max)
}

// after is the wait after so many failures.
func (r Retries) after(failures int64) time.Duration {
	wait := r.First
	for ; failures > 1 && wait < r.Last; failures-- {
		wait *= 2
	}
	return min(wait, r.Last)
}

// wait sets the time of the next call: never after the deadline, at which the operation ends.
func (m *move) wait(delay time.Duration) {
	now := m.engine.config.Now()
	next := now.Add(max(0, time.Duration(float64(delay)/m.engine.config.TimeScale)))
	if next.After(m.deadline) {
		next = m.deadline
	}
	m.row.NextAt, m.event.Wait = store.At(next), next.Sub(now)
}

// cancel ends the operation as requested. A successful operation stays successful.
func (m *move) cancel() {
	if m.row.Phase == reading {
		m.end(cfn.OperationStatusSuccess)
		return
	}
	if m.row.Action == string(invoke.Create) && m.row.Calls > 0 && m.event.Identifier == "" {
		m.event.Identifier = m.details.Request.Placeholder
	}
	m.fail("", "The operation was cancelled.")
}

// timeOut sets the error of the service.
func (m *move) timeOut() {
	m.fail(invoke.NotStabilized, fmt.Sprintf("Resource timed out waiting for completion (RequestToken: %s)", m.row.Token))
}

// fail ends the operation in the engine's own words.
func (m *move) fail(code invoke.Code, message string) {
	m.event.ErrorCode, m.event.Message, m.event.Own = string(code), storable(message), true
	m.end(cfn.OperationStatusFailed)
}

func (m *move) end(status cfn.OperationStatus) {
	m.row.Status, m.row.EndedAt, m.notable = string(status), store.At(m.engine.config.Now()), true
	m.event.Callback = nil
}

// commit writes the transition and notifies the owner, in one transaction. It retries for a
// while, even if the process stops, so that the answer of a call is not lost.
func (m *move) commit(ctx context.Context, owner Owner) (*row, error) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lateWrite, cancel) })()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		written, state, err := m.write(within, owner)
		if err == nil || errors.Is(err, store.ErrStale) {
			m.engine.inTime(m.row.ID)
			if supplier, ok := owner.(Supplier); ok && state != nil {
				supplier.Committed(within, *state)
			}
			return written, nil // what is stale was moved by another node, after this one lost its lease
		}
		if within.Err() != nil || ctx.Err() != nil || store.Permanent(err) {
			return nil, err
		}
		m.engine.config.Logger.WarnContext(ctx, "outcome of a call cannot be written; trying again", "operation", m.row.ID, "error", err)
		if invoke.Sleep(within, wait) != nil {
			return nil, err
		}
	}
}

// giveUp ends an operation that can never succeed, and notifies its owner.
func (e *Engine) giveUp(ctx context.Context, id, reason string) error {
	row, err := find(ctx, e.store.Read(), id)
	if err != nil || row == nil || row.ended() {
		return err
	}
	m := &move{engine: e, row: *row, details: &details{}}
	if details, event, err := row.unpack(); err == nil { // what cannot be read ends without it
		m.details, m.event = details, *event
	}
	if row.Action == string(invoke.Create) && m.event.Identifier == "" {
		m.event.Identifier = m.details.Request.Placeholder // something may have been made
	}
	m.fail(invoke.InternalFailure, reason)
	owner := e.owners[row.Owner]
	m.notable = owner != nil
	_, err = m.commit(ctx, owner)
	e.ended(ctx, id)
	return err
}

// write returns the row as it was written, and the state if the owner was notified.
func (m *move) write(ctx context.Context, owner Owner) (written *row, told *State, err error) {
	err = m.engine.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, event := m.row, m.event // the function may run more than once
		written, told = nil, nil
		state := row.state(m.details, &event)
		state.Repeated = m.repeated
		columns := moving
		if row.ended() {
			row.Request, event.Model, columns = "", nil, ending
		}
		var err error
		if row.Event, err = encode(event); err != nil {
			return err
		}
		if m.pinned && !row.ended() {
			if row.Request, err = encode(m.details); err != nil {
				return err
			}
			columns = ending
		}
		if err := store.Swap(ctx, tx, &row, &row.RowVersion, columns...); err != nil {
			return err
		}
		if row.ended() {
			if err := forgetProgress(ctx, tx, row.Token); err != nil {
				return err
			}
		}
		if m.notable {
			if err := owner.Progressed(ctx, tx, state); err != nil {
				return err
			}
			told = &state
		}
		written = &row
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return written, told, nil
}

// keptIdentifier is an identifier as rows keep it.
func keptIdentifier(identifier string) string {
	return storable(strings.ToValidUTF8(identifier[:min(len(identifier), store.MaxKey)], ""))
}

// unfit says what is wrong with what a call returned if it cannot be kept, and "" if it can.
func unfit(p Progress) string {
	if len(p.Identifier) > store.MaxKey {
		return fmt.Sprintf("returned an identifier of %d bytes; at most %d are allowed", len(p.Identifier), store.MaxKey)
	}
	if !store.Storable(p.Identifier) {
		return "returned an identifier with the character U+0000"
	}
	if at, ok := store.FindUnstorable(p.Model); ok {
		return "returned the character U+0000 at " + at
	}
	return ""
}

// storable is a text from outside, without what no database can hold.
func storable(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return -1
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
