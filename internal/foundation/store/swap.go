package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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
func Swap[T any](ctx context.Context, tx *Tx, row *T, rowVersion *int64, columns ...string) error {
	before := *rowVersion
	*rowVersion++
	if len(columns) > 0 {
		columns = append(columns[:len(columns):len(columns)], "row_version")
	}
	t := tableOf(reflect.TypeFor[T]())
	n, err := update(ctx, tx, row, t.pick(columns), t.keys, " AND row_version = ?", before)
	if err != nil {
		return fmt.Errorf("write a changed row: %w", err)
	}
	return RequireOneRow(n)
}

// UpdateFrom writes the columns in which a row differs from before, as it was read in the
// transaction, by its primary key. If there are none, it writes nothing.
func UpdateFrom[T comparable](ctx context.Context, tx *Tx, before, row *T) error {
	if *before == *row {
		return nil
	}
	t := tableOf(reflect.TypeFor[T]())
	columns := t.changed(before, row)
	if len(columns) == 0 {
		return nil
	}
	n, err := update(ctx, tx, row, columns, t.keys, "")
	if err != nil {
		return fmt.Errorf("write a changed row: %w", err)
	}
	return RequireOneRow(n)
}

// changed are the columns in which a row differs from before. Both are pointers.
func (t *table) changed(before, row any) (columns []*column) {
	from, to := reflect.ValueOf(before).Elem(), reflect.ValueOf(row).Elem()
	for _, c := range t.rest {
		if was, is := from.FieldByIndex(c.index), to.FieldByIndex(c.index); !was.Equal(is) && !sameText(was, is) {
			columns = append(columns, c)
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
func RequireOneRow(written int64) error { return requireRows(1)(written, nil) }

// requireRows returns ErrStale unless as many rows were written.
func requireRows(want int) func(written int64, err error) error {
	return func(written int64, err error) error {
		if err == nil && written != int64(want) {
			return ErrStale
		}
		return err
	}
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
