package operation

import (
	"context"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// Places bound the calls that a node makes at once for an owner whose calls take long.
type Places struct {
	Calls int           // zero means 2 to 4, by the number of processors
	Retry time.Duration // how long a call that waits is not looked at again; zero means 10 s
}

// stepInTurn makes one call as step does, for an owner with Places when it is the operation's
// turn. If it is not, wait is how long not to look again.
func (e *Engine) stepInTurn(ctx context.Context, row *row) (moved *row, wait time.Duration, err error) {
	turns := e.turns[row.Owner]
	if turns == nil || row.Cancelled {
		moved, err = e.step(ctx, row)
		return moved, 0, err
	}
	if !turns.enter(row.ID, row.Account, e.config.Now()) {
		return nil, turns.retry, nil
	}
	defer func() { e.wakeNext(ctx, turns.leave(row.Account)) }()
	moved, err = e.step(ctx, row)
	return moved, 0, err
}

// ended forgets what this node remembers of an operation.
func (e *Engine) ended(ctx context.Context, id string) {
	e.inTime(id)
	for _, turns := range e.turns {
		e.wakeNext(ctx, turns.forget(id))
	}
}

// wakeNext has operations looked at whose turn it is. A failure costs time and no more: they
// are looked at again in any case.
func (e *Engine) wakeNext(ctx context.Context, ids []string) {
	if len(ids) == 0 {
		return
	}
	// Also where the one that leaves was interrupted, as a node is that has lost its lease.
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateWrite)
	defer cancel()
	err := e.store.Write(within, func(ctx context.Context, tx *store.Tx) error {
		return tx.WakeAll(ctx, workOperation, ids, time.Time{})
	})
	if err != nil && ctx.Err() == nil {
		e.config.Logger.WarnContext(ctx, "operations whose turn it is are not woken; they are looked at later", "error", err)
	}
}
