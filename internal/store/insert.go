package store

import (
	"context"
	"reflect"

	"github.com/uptrace/bun"
)

// insertAtOnce is how many rows one statement inserts into PostgreSQL.
const insertAtOnce = 100

// Insert inserts rows. SQLite parses a long statement for longer than it takes to run many short
// ones that are prepared: there a statement has no more values than one that is kept. with adds
// what the statements have besides, such as what to do on a conflict.
func Insert[T any](ctx context.Context, tx *Tx, rows []T, with ...func(*bun.InsertQuery) *bun.InsertQuery) error {
	size := tx.atOnce(len(tx.Dialect().Tables().Get(rowType[T]()).Fields))
	for len(rows) > 0 {
		if !tx.store.IsPostgres() && len(rows) < size {
			size = 1 // statements of two lengths are kept, not of all lengths
		}
		part := rows[:min(size, len(rows))]
		query := tx.NewInsert().Model(&part).Returning("NULL")
		for _, add := range with {
			query = add(query)
		}
		if _, err := query.Exec(ctx); err != nil {
			return err
		}
		rows = rows[len(part):]
	}
	return nil
}

// atOnce is how many rows with so many columns one statement inserts. On SQLite they are few, since
// what is empty in a row makes another statement of it.
func (tx *Tx) atOnce(columns int) int {
	if tx.store.IsPostgres() {
		return insertAtOnce
	}
	const most = 4
	return max(1, min(most, maxLiterals/max(1, columns)))
}

// rowType is the structure of a row, which may be given by a pointer.
func rowType[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
