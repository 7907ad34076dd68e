package operation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// maxRows bounds the rows that are kept, by the length of their texts.
const maxRows = 4 << 20

// keptRows are rows of operations that wait for their next call on this node, as they were written
// last. One is only used if the row has not changed since; then the request, which is most of
// it, need not be read, decrypted and decoded again.
type keptRows struct {
	mu      sync.Mutex
	rows    map[string]*row
	size    int
	changed map[string]bool // by more than the calls of the operation: not kept until it ends
}

func (k *keptRows) put(r *row) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(r.ID)
	if k.changed[r.ID] || r.size() > maxRows/16 {
		return // a few of these would leave no room for others
	}
	for id := range k.rows { // any
		if k.size+r.size() <= maxRows {
			break
		}
		k.drop(id)
	}
	if k.rows == nil {
		k.rows = map[string]*row{}
	}
	k.rows[r.ID] = r
	k.size += r.size()
}

// take removes a row, nil if it is not kept.
func (k *keptRows) take(id string) *row {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.drop(id)
}

// change has the row of an operation read before each of its calls.
func (k *keptRows) change(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(id)
	if k.changed == nil {
		k.changed = map[string]bool{}
	}
	k.changed[id] = true
}

// forget removes all that is known of an operation that has ended.
func (k *keptRows) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(id)
	delete(k.changed, id)
}

// drop removes a row. The caller holds mu.
func (k *keptRows) drop(id string) *row {
	found := k.rows[id]
	if found != nil {
		delete(k.rows, id)
		k.size -= found.size()
	}
	return found
}

func (r *row) size() int { return len(r.Request) + len(r.Event) + 256 }

// current reads the row of an operation, nil if there is none. In SQLite's database only this
// process writes, and a row that something else than the calls has changed is not kept.
func (e *Engine) current(ctx context.Context, id string) (*row, error) {
	kept := e.rows.take(id)
	switch {
	case kept == nil:
		return find(ctx, e.store.Read(), id)
	case !e.store.IsPostgres():
		return kept, nil
	}
	head := &row{}
	err := store.Query(ctx, e.store.Read(), head, "SELECT cancelled, row_version FROM operations WHERE id = ?", id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up operation %s: %w", id, err)
	case head.RowVersion != kept.RowVersion:
		return find(ctx, e.store.Read(), id)
	}
	found := *kept
	found.Cancelled = head.Cancelled // without a new version
	return &found, nil
}

// clone is a copy for one call: providers may change the models that they are given.
func (d *details) clone() *details {
	out := *d
	r := &out.Request
	r.Desired, r.Previous = cloneModel(r.Desired), cloneModel(r.Previous)
	r.StackTags, r.PreviousStackTags = maps.Clone(r.StackTags), maps.Clone(r.PreviousStackTags)
	r.SystemTags, r.PreviousSystemTags = maps.Clone(r.SystemTags), maps.Clone(r.PreviousSystemTags)
	r.Secrets = maps.Clone(r.Secrets)
	return &out
}

func cloneModel(model map[string]any) map[string]any {
	if model == nil {
		return nil
	}
	return cloneValue(model).(map[string]any)
}

// cloneValue copies a value of encoding/json.
func cloneValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, member := range value {
			out[key] = cloneValue(member)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = cloneValue(item)
		}
		return out
	}
	return value
}
