package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/uptrace/bun"

	"github.com/formwork-dev/formwork/internal/hook"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/store"
)

// A run is a running operation with everything that moves it: what was read, and what is
// to be written with the transaction.
type run struct {
	engine   *Engine
	prepared *prepared

	stack     *stackRow
	op        *operationRow
	options   operationOptions
	settings  stackSettings
	next      *Deployment // the one being deployed; of a rollback, the one that it undoes
	stable    *Deployment // the last stable one, may be nil
	steps     map[string]*stepRow
	order     []string // keys of steps
	resources map[string]*resourceRow
	cleanup   map[string]*cleanupRow

	provisioned map[string]Resource // see known
	stale       map[string]bool     // logical ids whose entry in provisioned is out of date

	now     store.Time
	writes  writes
	imports map[string]string // imported exports that were read, with their values
}

// writes are what a transaction changes.
type writes struct {
	stack     bool
	steps     map[string]bool // by key
	seen      map[string]bool // ids of steps: whatever else they have is written
	resources map[string]bool
	settled   map[string]bool // logical ids of resources: their last stable state is this one
	cleanup   map[string]bool
	gone      []string // logical ids of resources to delete
	cleaned   []string // ids of cleanup rows to delete
	events    []eventRow
	begin     []operation.Spec
	cancel    []string // ids of operations
	evaluate  []*hook.Evaluation
	unhook    []string // ids of evaluations to cancel
	ended     []*operationRow
	begun     bool // op is new
	after     []func(ctx context.Context, tx *store.Tx) error
}

func newWrites() writes {
	return writes{
		steps: map[string]bool{}, seen: map[string]bool{}, resources: map[string]bool{}, settled: map[string]bool{}, cleanup: map[string]bool{},
	}
}

// advance is the worker of stacks: it advances the operation of a stack as far as possible.
func (e *Engine) advance(ctx context.Context, stackID string) (time.Time, error) {
	known := e.runs.prepared(stackID)
	p := known.again()
	for {
		if p == nil {
			var err error
			if p, err = e.prepare(ctx, stackID, known); err != nil || p == nil {
				return time.Time{}, err
			}
			known = p
		}
		next, again, err := e.advanceWith(ctx, stackID, p)
		switch {
		case errors.Is(err, errUnprepared), errors.Is(err, store.ErrStale):
			if ctx.Err() != nil {
				return time.Time{}, ctx.Err()
			}
			p = nil
			continue
		case err != nil:
			return time.Time{}, fmt.Errorf("advance the stack %s: %w", stackID, err)
		}
		if next == nil || next.stack.OperationID == "" {
			return time.Time{}, nil
		}
		e.runs.put(stackID, next)
		if next.op.ID != p.operationID { // a rollback started
			p = nil
			continue
		}
		return again, nil
	}
}

// advanceWith advances the operation of a stack in one transaction. It returns no run if there is
// no operation, and errUnprepared if the operation needs more than is prepared.
func (e *Engine) advanceWith(ctx context.Context, stackID string, p *prepared) (next *run, again time.Time, err error) {
	outdated := false
	err = e.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		next, again, outdated = nil, time.Time{}, false
		r, err := e.load(ctx, tx, stackID, p)
		if err != nil || r == nil {
			return err
		}
		if outdated = p.stale && r.decides(); outdated {
			e.runs.put(stackID, r) // nothing was changed: an error would undo what shares the transaction
			return nil
		}
		if again, err = r.proceed(ctx, tx); err != nil {
			return err
		}
		next = r
		return r.flush(ctx, tx)
	})
	if err == nil && outdated {
		err = errUnprepared
	}
	return next, again, err
}

// load reads the operation of a stack, or what is kept of it and has changed since.
func (e *Engine) load(ctx context.Context, tx *store.Tx, stackID string, p *prepared) (*run, error) {
	s, err := oneRow[stackRow](ctx, tx, "id = ?", stackID)
	if err != nil || s == nil || s.OperationID == "" {
		return nil, err
	}
	if s.OperationID != p.operationID || !p.has(s.DeploymentID) || !p.has(s.StableDeploymentID) {
		return nil, errUnprepared
	}
	op, err := oneRow[operationRow](ctx, tx, "id = ?", s.OperationID)
	if err != nil || op == nil {
		return nil, err
	}
	if op.refactored() {
		return nil, nil
	}
	r := e.runs.take(stackID)
	if r == nil || r.op.ID != op.ID || r.op.RowVersion != op.RowVersion {
		r = &run{engine: e}
		r.op = op
		if err := r.readAll(ctx, tx, op); err != nil {
			return nil, err
		}
	} else if err := r.readChanged(ctx, tx); err != nil {
		return nil, err
	}
	r.prepared, r.stack, r.op, r.now, r.imports = p, s, op, e.now(), nil
	r.writes = newWrites()
	r.options, r.settings = op.Options.Get(), s.Settings.Get()
	r.next, r.stable = p.deployments[s.DeploymentID], p.deployments[s.StableDeploymentID]
	for _, d := range []*Deployment{r.next, r.stable} {
		if d != nil {
			d.Scope.Renew() // each look at the operation is a request of its own
		}
	}
	return r, nil
}

// oneRow reads a row, nil if it does not exist.
func oneRow[T any](ctx context.Context, db bun.IDB, where string, args ...any) (*T, error) {
	row := new(T)
	err := db.NewSelect().Model(row).Where(where, args...).Limit(1).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %T: %w", *row, err)
	}
	return row, nil
}

// allRows reads rows in an order.
func allRows[T any](ctx context.Context, db bun.IDB, order, where string, args ...any) ([]T, error) {
	var rows []T
	if err := db.NewSelect().Model(&rows).Where(where, args...).OrderExpr(order).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read %T: %w", rows, err)
	}
	return rows, nil
}

func (r *run) readAll(ctx context.Context, tx *store.Tx, op *operationRow) error {
	steps, err := allRows[stepRow](ctx, tx, "stage, logical_id, cleanup_id", "operation_id = ? AND stage IN (?, ?)", op.ID, op.Phase, phaseStopping)
	if err != nil {
		return err
	}
	r.setSteps(steps)
	resources, err := allRows[resourceRow](ctx, tx, "logical_id", "stack_id = ?", op.StackID)
	if err != nil {
		return err
	}
	r.resources = make(map[string]*resourceRow, len(resources))
	for i := range resources {
		r.resources[resources[i].LogicalID] = &resources[i]
	}
	return r.readCleanup(ctx, tx)
}

func (r *run) readCleanup(ctx context.Context, tx *store.Tx) error {
	cleanup, err := allRows[cleanupRow](ctx, tx, "id", "stack_id = ?", r.op.StackID)
	if err != nil {
		return err
	}
	r.cleanup = make(map[string]*cleanupRow, len(cleanup))
	for i := range cleanup {
		r.cleanup[cleanup[i].ID] = &cleanup[i]
	}
	return nil
}

func (r *run) setSteps(steps []stepRow) {
	r.steps, r.order = make(map[string]*stepRow, len(steps)), make([]string, 0, len(steps))
	for i := range steps {
		r.addStep(&steps[i])
	}
}

func (r *run) addStep(step *stepRow) {
	key := step.key()
	if _, known := r.steps[key]; !known {
		r.order = append(r.order, key)
	}
	r.steps[key] = step
}

// readChanged reads the steps that moved since they were kept, with their resources.
func (r *run) readChanged(ctx context.Context, tx *store.Tx) error {
	changed, err := allRows[stepRow](ctx, tx, "logical_id", "operation_id = ? AND seen = ?", r.op.ID, false)
	if err != nil || len(changed) == 0 {
		return err
	}
	var ids, cleanup []string
	leftovers := r.options.ForceRollback // of steps that made something and then failed
	for i := range changed {
		if changed[i].Stage != r.op.Phase && changed[i].Stage != phaseStopping {
			continue
		}
		r.addStep(&changed[i])
		leftovers = leftovers || changed[i].State == stepFailed || changed[i].State == stepStopped
		if changed[i].CleanupID != "" {
			cleanup = append(cleanup, changed[i].CleanupID)
		} else {
			ids = append(ids, changed[i].LogicalID)
		}
	}
	for _, id := range ids {
		delete(r.resources, id) // it may be deleted
		r.outdated(id)
	}
	for _, id := range cleanup {
		delete(r.cleanup, id)
	}
	for part := range slices.Chunk(ids, 500) {
		rows, err := allRows[resourceRow](ctx, tx, "logical_id", "stack_id = ? AND logical_id IN (?)", r.op.StackID, bun.List(part))
		if err != nil {
			return err
		}
		for i := range rows {
			r.resources[rows[i].LogicalID] = &rows[i]
		}
	}
	if leftovers {
		return r.readCleanup(ctx, tx)
	}
	for part := range slices.Chunk(cleanup, 500) {
		rows, err := allRows[cleanupRow](ctx, tx, "id", "id IN (?)", bun.List(part))
		if err != nil {
			return err
		}
		for i := range rows {
			r.cleanup[rows[i].ID] = &rows[i]
		}
	}
	return nil
}

// flush writes the changes. The compare-and-set of the operation makes sure that no other
// worker advanced it.
func (r *run) flush(ctx context.Context, tx *store.Tx) error {
	w := &r.writes
	for _, f := range w.after {
		if err := f(ctx, tx); err != nil {
			return err
		}
	}
	if w.begun {
		if _, err := tx.NewInsert().Model(r.op).Exec(ctx); err != nil {
			return fmt.Errorf("write the operation: %w", err)
		}
	} else if err := store.Swap(ctx, tx, r.op, &r.op.RowVersion); err != nil {
		return err
	}
	for _, op := range w.ended {
		if err := store.Swap(ctx, tx, op, &op.RowVersion); err != nil {
			return err
		}
	}
	if w.stack {
		r.stack.Settings = store.JSONOf(r.settings)
		if err := store.Swap(ctx, tx, r.stack, &r.stack.RowVersion); err != nil {
			return err
		}
	}
	if err := r.flushResources(ctx, tx); err != nil {
		return err
	}
	if err := r.flushHooks(ctx, tx); err != nil {
		return err
	}
	if err := r.engine.insertEvents(ctx, tx, w.events); err != nil {
		return err
	}
	for _, id := range w.cancel {
		if err := r.engine.config.Operations.Cancel(ctx, tx, id); err != nil {
			return err
		}
	}
	if len(w.begin) > 0 {
		if _, err := r.engine.config.Operations.Begin(ctx, tx, w.begin...); err != nil {
			return err
		}
	}
	return nil
}

// batch is how many rows one statement writes.
const batch = 100

func (r *run) flushResources(ctx context.Context, tx *store.Tx) error {
	w := &r.writes
	steps := picked(w.steps, r.steps)
	if err := upsert(ctx, tx, steps, "(id)", stepColumns); err != nil {
		return err
	}
	for _, s := range steps {
		delete(w.seen, s.ID)
	}
	if err := flushFew(ctx, tx, w.seen, func(ids []string) *bun.UpdateQuery {
		return tx.NewUpdate().Model((*stepRow)(nil)).Set("seen = ?", true).Where("id IN (?)", bun.List(ids))
	}); err != nil {
		return err
	}
	for id := range w.settled {
		if w.resources[id] || r.resources[id] == nil {
			delete(w.settled, id)
		}
	}
	if err := flushFew(ctx, tx, w.settled, func(ids []string) *bun.UpdateQuery {
		return tx.NewUpdate().Model((*resourceRow)(nil)).Set("origin = ''").Set("updated_at = ?", r.now).
			Where("stack_id = ? AND logical_id IN (?)", r.stack.ID, bun.List(ids))
	}); err != nil {
		return err
	}
	if err := upsert(ctx, tx, picked(w.resources, r.resources), "(stack_id, logical_id)", resourceColumns); err != nil {
		return err
	}
	if err := upsert(ctx, tx, picked(w.cleanup, r.cleanup), "(id)", cleanupColumns); err != nil {
		return err
	}
	for part := range slices.Chunk(w.gone, batch) {
		if _, err := tx.NewDelete().Model((*resourceRow)(nil)).Where("stack_id = ? AND logical_id IN (?)", r.stack.ID, bun.List(part)).Exec(ctx); err != nil {
			return fmt.Errorf("forget resources: %w", err)
		}
	}
	for part := range slices.Chunk(w.cleaned, batch) {
		if _, err := tx.NewDelete().Model((*cleanupRow)(nil)).Where("id IN (?)", bun.List(part)).Exec(ctx); err != nil {
			return fmt.Errorf("forget resources that were cleaned up: %w", err)
		}
	}
	return nil
}

// flushFew writes the same into rows: it costs less than to write all that they have.
func flushFew(ctx context.Context, tx *store.Tx, keys map[string]bool, update func(keys []string) *bun.UpdateQuery) error {
	for part := range slices.Chunk(slices.Sorted(maps.Keys(keys)), batch) {
		if _, err := update(part).Exec(ctx); err != nil {
			return fmt.Errorf("write what changed in rows: %w", err)
		}
	}
	return nil
}

// The columns to update if a row exists already.
var (
	stepColumns     = []string{"operation_id", "stage", "action", "state", "reason", "physical_id", "properties", "pending", "call_id", "seen", "started_at", "ended_at"}
	resourceColumns = []string{"type", "type_version", "physical_id", "status", "reason", "properties", "model", "metadata", "depends_on",
		"deletion_policy", "update_replace_policy", "references_hash", "shown", "origin", "updated_at"}
	cleanupColumns = []string{"status", "reason", "updated_at"}
)

func upsert[T any](ctx context.Context, tx *store.Tx, rows []*T, key string, columns []string) error {
	err := store.Insert(ctx, tx, rows, func(query *bun.InsertQuery) *bun.InsertQuery {
		query = query.On("CONFLICT " + key + " DO UPDATE")
		for _, column := range columns {
			query = query.Set("? = EXCLUDED.?", bun.Ident(column), bun.Ident(column))
		}
		return query
	})
	if err != nil {
		return fmt.Errorf("write %T: %w", rows, err)
	}
	return nil
}

// picked returns the values of some keys in the order of the keys.
func picked[T any](keys map[string]bool, from map[string]*T) []*T {
	var out []*T
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if v := from[key]; v != nil {
			out = append(out, v)
		}
	}
	return out
}

// insertEvents appends events, and sends them to the topics of their stack.
func (e *Engine) insertEvents(ctx context.Context, tx *store.Tx, events []eventRow) error {
	if err := e.notify(ctx, tx, events); err != nil {
		return err
	}
	if err := store.Insert(ctx, tx, events); err != nil {
		return fmt.Errorf("append events: %w", err)
	}
	return nil
}

// touch marks rows that changed.
func (r *run) touchStep(s *stepRow)       { r.writes.steps[s.key()] = true }
func (r *run) touchCleanup(c *cleanupRow) { r.writes.cleanup[c.ID] = true }
func (r *run) touchResource(x *resourceRow) {
	r.writes.resources[x.LogicalID] = true
	r.writes.gone = slices.DeleteFunc(r.writes.gone, func(id string) bool { return id == x.LogicalID }) // it exists again
	x.UpdatedAt = r.now
	r.outdated(x.LogicalID)
}

// outdated has a resource read anew by what refers to it.
func (r *run) outdated(logicalID string) {
	if r.provisioned != nil {
		r.stale[logicalID] = true
	}
}

// setStatus moves the stack and appends its event.
func (r *run) setStatus(status types.StackStatus, reason string) {
	r.stack.Status, r.stack.DetailedStatus, r.writes.stack = status, "", true
	r.stack.Reason = shownReason(status, reason)
	r.event(eventRow{ID: r.engine.newID(), LogicalID: r.stack.Name, PhysicalID: r.stack.ARN, Type: stackType, Status: string(status), Reason: reason})
}

// stackType is the type of the events of a stack and of nested stacks.
const stackType = "AWS::CloudFormation::Stack"

// shownReason is the reason in DescribeStacks: only for failures.
func shownReason(status types.StackStatus, reason string) string {
	if status == types.StackStatusUpdateRollbackCompleteCleanupInProgress {
		return ""
	}
	return reason
}

// event appends an event of the operation.
func (r *run) event(row eventRow) {
	row.StackID, row.OperationID, row.ClientToken, row.At = r.stack.ID, r.op.ID, r.op.ClientToken, r.now
	if row.Kind == "" {
		row.Kind = eventProgress
	}
	if row.ID == "" {
		row.ID = resourceEventID(row)
	}
	r.writes.events = append(r.writes.events, row)
}

// resourceEventID is the id of an event of a resource.
func resourceEventID(row eventRow) string {
	return row.LogicalID + "-" + row.Status + "-" + row.At.UTC().Format("2006-01-02T15:04:05.000Z")
}
