package stack

import (
	"context"
	"fmt"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// newEvent is an event of an operation, of something else with nil. What it is about is missing.
func newEvent(op *operationRow, at store.Time) eventRow {
	row := eventRow{Kind: eventProgress, At: at}
	if op != nil {
		row.StackID, row.OperationID, row.ClientToken = op.StackID, op.ID, op.ClientToken
	}
	return row
}

// stackEvent is an event of a stack with its status and reason.
func (e *Engine) stackEvent(s *stackRow, op *operationRow, at store.Time) eventRow {
	row := newEvent(op, at)
	row.ID, row.StackID, row.LogicalID, row.PhysicalID, row.Type = e.newID(), s.ID, s.Name, s.ARN, stackType
	row.Status, row.Reason = string(s.Status), s.Reason
	return row
}

// resourceEventID is the id of an event of a resource.
func resourceEventID(row eventRow) string {
	return row.LogicalID + "-" + row.Status + "-" + row.At.UTC().Format("2006-01-02T15:04:05.000Z")
}

// insertEvents appends events, and sends them to the topics of their stack.
func (e *Engine) insertEvents(ctx context.Context, tx *store.Tx, events ...eventRow) error {
	if err := e.notify(ctx, tx, events); err != nil {
		return err
	}
	if err := store.Insert(ctx, tx, store.Pointers(events)...); err != nil {
		return fmt.Errorf("append events: %w", err)
	}
	return nil
}
