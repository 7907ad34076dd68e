package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"

	"github.com/uptrace/bun/schema"
)

// ErrStale reports that another transaction changed a row first. The caller must read the row
// again and decide again.
var ErrStale = errors.New("the row was changed in the meantime")

// maxConflicts bounds how often Change runs a transaction whose rows others changed.
const maxConflicts = 16

// Swap is the compare-and-set of rows: it writes a row by its primary key if its column
// row_version still has the value that rowVersion points to, and counts that up in the row.
// Otherwise it returns ErrStale. rowVersion points into row. With columns, only those and
// row_version are written.
func Swap(ctx context.Context, tx *Tx, row any, rowVersion *int64, columns ...string) error {
	before := *rowVersion
	*rowVersion++
	query := tx.NewUpdate().Model(row).WherePK().Where("row_version = ?", before)
	if len(columns) > 0 {
		query = query.Column(columns...).Column("row_version")
	}
	result, err := query.Exec(ctx)
	if err != nil {
		return fmt.Errorf("write a changed row: %w", err)
	}
	return RequireOneRow(result)
}

// Update writes the columns in which a row differs from before, as it was read in the
// transaction, by its primary key. If there are none, it writes nothing.
func Update[T comparable](ctx context.Context, tx *Tx, before, row *T) error {
	if *before == *row {
		return nil
	}
	columns := changedColumns(tx.Dialect().Tables().Get(reflect.TypeFor[T]()), before, row)
	if len(columns) == 0 {
		return nil
	}
	result, err := tx.NewUpdate().Model(row).Column(columns...).WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("write a changed row: %w", err)
	}
	return RequireOneRow(result)
}

// changedColumns are the columns in which a row differs from before.
func changedColumns[T any](table *schema.Table, before, row *T) (columns []string) {
	from, to := reflect.ValueOf(before).Elem(), reflect.ValueOf(row).Elem()
	for _, field := range table.DataFields {
		if was, is := field.Value(from), field.Value(to); !was.Equal(is) && !sameText(was, is) {
			columns = append(columns, field.Name)
		}
	}
	return columns
}

// sameText reports whether two values are a [JSON] with one text.
func sameText(a, b reflect.Value) bool {
	was, ok := a.Interface().(texter)
	return ok && was.Text() == b.Interface().(texter).Text()
}

// RequireOneRow returns ErrStale unless exactly one row was written.
func RequireOneRow(result sql.Result) error { return requireRows(result, 1) }

// requireRows returns ErrStale unless as many rows were written.
func requireRows(result sql.Result, want int64) error {
	n, err := result.RowsAffected()
	switch {
	case err != nil:
		return fmt.Errorf("count the rows: %w", err)
	case n != want:
		return ErrStale
	}
	return nil
}

// Change is Write for a function that swaps rows: it runs the function again when that
// returned ErrStale, at most 16 times.
func (s *Store) Change(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	var err error
	for range maxConflicts {
		if err = s.Write(ctx, f); !errors.Is(err, ErrStale) {
			return err
		}
	}
	return fmt.Errorf("gave up after %d attempts: %w", maxConflicts, err)
}
