package operation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// Config sets up an [Engine]. Store must be set, and Types but for engines whose owners are all suppliers.
type Config struct {
	Store *store.Store
	Types Types

	// Prepare completes a request just before each call: it resolves what the rows must not
	// hold, such as the values of dynamic references. An *awswire.Error ends the operation
	// as FAILED with its message; other errors are retried until the deadline. Nil leaves
	// requests as they are.
	Prepare func(ctx context.Context, request Request) (Request, error)

	// Around makes the calls of resources: it calls next, or answers in the place of the provider. Nil makes
	// them all.
	Around func(ctx context.Context, request Request, next Provider) (Progress, error)

	// Places bound the calls made at once on this node for an owner, by Spec.Owner, and share
	// them among accounts. An owner that is not named has no bound: it is for calls that take
	// minutes.
	Places map[string]Places

	// Retries says how codes that may pass are retried.
	Retries Retries

	// Timeout bounds an operation whose schema says nothing. Zero means 120 minutes.
	Timeout time.Duration

	// TimeScale divides the delays that handlers request and the waits between retries, not
	// the timeouts. Zero means 1.
	TimeScale float64

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil means the store's clock
	NewID  func() string    // of operations and tokens; nil makes random UUIDs
}

// Retries bounds how calls are repeated that failed with NetworkFailure, ResourceConflict,
// ServiceInternalError or Throttling. Each wait is twice the one before.
type Retries struct {
	Max   int           // how often in a row; 0 means 5, negative never
	First time.Duration // the first wait; 0 means 1 s
	Last  time.Duration // the longest wait; 0 means 30 s
}

// An Engine carries out operations. It is used by any number of goroutines, and by several
// processes on one database.
type Engine struct {
	config Config
	store  *store.Store
	owners map[string]Owner
	types  Recent[VersionKey, *Type]
	turns  map[string]*turns // by owner

	mu   sync.Mutex
	late map[string]lateness // by operation, while a call is due
}

// workOperation is the kind of the engine's wake-ups; their id is the operation's.
const workOperation = "operation"

// New returns the engine over a store. Nothing runs until the store runs Workers.
func New(config Config) *Engine {
	if config.Timeout == 0 {
		config.Timeout = 120 * time.Minute
	}
	if config.TimeScale == 0 {
		config.TimeScale = 1
	}
	if config.Retries.Max == 0 {
		config.Retries.Max = 5
	}
	if config.Retries.First == 0 {
		config.Retries.First = time.Second
	}
	if config.Retries.Last == 0 {
		config.Retries.Last = 30 * time.Second
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = func() time.Time { return config.Store.Now().Time }
	}
	if config.NewID == nil {
		config.NewID = uuid.NewString
	}
	e := &Engine{config: config, store: config.Store, owners: map[string]Owner{}, late: map[string]lateness{}, turns: map[string]*turns{}}
	for owner, places := range config.Places {
		e.turns[owner] = newTurns(places)
	}
	return e
}

// Own sets the owner of the operations with a name as Spec.Owner. It is called before the engine is used.
func (e *Engine) Own(name string, owner Owner) { e.owners[name] = owner }

// Workers returns what the store is to run, by kind.
func (e *Engine) Workers() map[string]store.Worker {
	return map[string]store.Worker{workOperation: {Run: e.run, Fail: e.giveUp}}
}

// Begin begins operations, if the transaction commits. Their first calls are made at once,
// on any node. It returns their ids, in order.
func (e *Engine) Begin(ctx context.Context, tx *store.Tx, specs ...Spec) ([]string, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	now := store.At(e.config.Now())
	rows, ids := make([]*row, len(specs)), make([]string, len(specs))
	for i, spec := range specs {
		row, err := e.begun(spec, now)
		if err != nil {
			return nil, fmt.Errorf("begin to %s %s: %w", spec.Request.Action.Handler(), spec.Request.Type, err)
		}
		rows[i], ids[i] = row, row.ID
	}
	if err := store.Insert(ctx, tx, rows...); err != nil {
		return nil, fmt.Errorf("begin %d operations: %w", len(specs), err)
	}
	return ids, tx.WakeAll(ctx, workOperation, ids, now.Time)
}

// begun is the row of an operation that begins.
func (e *Engine) begun(spec Spec, now store.Time) (*row, error) {
	request := spec.Request
	switch {
	case e.owners[spec.Owner] == nil:
		return nil, fmt.Errorf("unknown owner %q", spec.Owner)
	case !slices.Contains(actionsOf(e.owners[spec.Owner]), request.Action):
		return nil, fmt.Errorf("%q is not an action of an operation", request.Action)
	case request.Type == "":
		return nil, errors.New("the type name is empty")
	}
	if spec.ID == "" {
		spec.ID = e.config.NewID()
	}
	if request.Token == "" {
		request.Token = e.config.NewID()
	}
	begun := &row{
		ID: spec.ID, Owner: spec.Owner, OwnerKey: spec.Key, Account: request.Caller.Account, Region: request.Caller.Region,
		Action: string(request.Action), TypeName: request.Type, Token: request.Token,
		Status: string(cfn.OperationStatusInProgress), Phase: calling, NextAt: now, CreatedAt: now, RowVersion: 1,
	}
	var err error
	if begun.Request, err = encode(details{Request: request, ReadAfter: spec.ReadAfter, NoRetries: spec.NoRetries, AwaitInputs: spec.AwaitInputs, NoteCalls: spec.NoteCalls}); err == nil {
		begun.Event, err = encode(event{Identifier: request.Identifier})
	}
	return begun, err
}

// actionsOf are the actions of the operations that an owner begins.
func actionsOf(owner Owner) []invoke.Action {
	if supplier, supplies := owner.(Supplier); supplies {
		return supplier.Actions()
	}
	return []invoke.Action{invoke.Create, invoke.Read, invoke.Update, invoke.Delete}
}

// Cancel ends an operation early, if the transaction commits: it is FAILED, and its owner
// hears so in a transaction of its own, with State.Cancelled set. A call that is being made
// is waited for: if it ended the operation, that counts. No further calls are made, but for
// one: only the answer to a CREATE tells the identifier of what it may have made, so that
// this call is repeated with its token if its answer was lost. Cancelling an operation that
// has ended, or does not exist, does nothing.
func (e *Engine) Cancel(ctx context.Context, tx *store.Tx, id string) error {
	cancelled, err := store.Exec(ctx, tx, "UPDATE operations SET cancelled = ? WHERE id = ? AND status = ?", true, id, string(cfn.OperationStatusInProgress))
	if err != nil {
		return fmt.Errorf("cancel operation %s: %w", id, err)
	}
	if cancelled == 0 {
		return nil
	}
	return tx.Wake(ctx, workOperation, id, time.Time{})
}

// Get returns an operation, nil if it does not exist. Models and properties are only set while
// it is in progress.
func (e *Engine) Get(ctx context.Context, id string) (*State, error) {
	row, err := find(ctx, e.store.Read(), id)
	if err != nil || row == nil {
		return nil, err
	}
	details, event, err := row.unpack()
	if err != nil {
		return nil, err
	}
	state := row.state(details, event)
	if state.Retry != nil {
		state.Retry.Max = e.config.Retries.Max
	}
	return &state, nil
}

// InProgress counts the operations of all accounts and nodes that have not ended.
func (e *Engine) InProgress(ctx context.Context) (int64, error) {
	n, err := store.Count(ctx, e.store.Read(), "FROM operations WHERE ended_at IS NULL")
	if err != nil {
		return 0, fmt.Errorf("count operations: %w", err)
	}
	return n, nil
}

// keepOperations is how long an operation that has ended is known.
const keepOperations = 7 * 24 * time.Hour

// Expire forgets operations that ended a week ago.
func (e *Engine) Expire(ctx context.Context, now time.Time) error {
	if err := e.store.DeleteInBatches(ctx, "operations", "id", "ended_at IS NOT NULL AND ended_at < ?", store.At(now.Add(-keepOperations))); err != nil {
		return fmt.Errorf("forget old operations: %w", err)
	}
	return nil
}

// timeout is how long an operation on a type may take.
func (e *Engine) timeout(typ *Type, action invoke.Action) time.Duration {
	if typ.Timeout > 0 {
		return typ.Timeout
	}
	if typ.Schema != nil {
		if h := typ.Schema.Handler(action.Handler()); h != nil && h.TimeoutInMinutes > 0 {
			return time.Duration(h.TimeoutInMinutes) * time.Minute
		}
	}
	return e.config.Timeout
}

// find returns nil if there is no such operation.
func find(ctx context.Context, db store.DB, id string) (*row, error) {
	found := &row{}
	err := store.Get(ctx, db, found, "WHERE id = ?", id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up operation %s: %w", id, err)
	}
	return found, nil
}

// provide makes one call of a provider.
func (e *Engine) provide(ctx context.Context, typ *Type, request Request) (Progress, error) {
	if e.config.Around == nil {
		return typ.Provider.Call(ctx, request)
	}
	return e.config.Around(ctx, request, typ.Provider)
}
