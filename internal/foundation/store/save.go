package store

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// saveAtOnce is how many rows one statement of Save names.
const saveAtOnce = 100

// Save writes how rows differ from what was read in the transaction, both by the same keys: it deletes,
// updates and inserts rows. Rows in which the same columns have become the same are written by one
// statement. Then read is what the database has, if the transaction commits.
func Save[T comparable](ctx context.Context, tx *Tx, read map[string]T, rows map[string]*T) error {
	s := saver[T]{ctx: ctx, tx: tx, table: tableOf(reflect.TypeFor[T]())}
	var gone, fresh []*T
	var changed []edit[T]
	for _, key := range slices.Sorted(maps.Keys(read)) {
		if rows[key] == nil {
			before := read[key]
			gone = append(gone, &before)
			delete(read, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		row := rows[key]
		switch before, known := read[key]; {
		case !known:
			fresh = append(fresh, row)
		case before == *row:
			continue
		default:
			if columns := s.table.changed(&before, row); len(columns) > 0 {
				changed = append(changed, edit[T]{columns, []*T{row}})
			}
		}
		read[key] = *row
	}
	if err := s.remove(gone); err != nil {
		return fmt.Errorf("delete %T: %w", gone, err)
	}
	if err := s.update(changed); err != nil {
		return fmt.Errorf("update %T: %w", gone, err)
	}
	if err := Insert(ctx, tx, fresh...); err != nil {
		return fmt.Errorf("insert %T: %w", fresh, err)
	}
	return nil
}

type saver[T any] struct {
	ctx   context.Context
	tx    *Tx
	table *table
}

// An edit is the same change of some rows.
type edit[T any] struct {
	columns []*column
	rows    []*T
}

// update writes the changes of single rows. Those that are the same are written together; rows that have no
// change in common are written whole, many at once.
func (s saver[T]) update(changed []edit[T]) error {
	if len(changed) == 1 {
		return requireRows(1)(update(s.ctx, s.tx, changed[0].rows[0], changed[0].columns, s.table.keys, ""))
	}
	edits := map[string]*edit[T]{}
	for _, e := range changed {
		key := keyOf(e.columns, e.rows[0])
		if edits[key] == nil {
			edits[key] = &edit[T]{columns: e.columns}
		}
		edits[key].rows = append(edits[key].rows, e.rows...)
	}
	var single []*T
	var columns []string
	for _, key := range slices.Sorted(maps.Keys(edits)) {
		e := edits[key]
		if len(e.rows) == 1 && len(edits) > 1 {
			single = append(single, e.rows[0])
			for _, c := range e.columns {
				columns = append(columns, c.name)
			}
			continue
		}
		err := s.each(e.rows, func(rows []*T, shared []*column, last string, ids any) error {
			return requireRows(len(rows))(update(s.ctx, s.tx, rows[0], e.columns, shared, last, ids))
		})
		if err != nil {
			return err
		}
	}
	slices.Sort(columns)
	return Upsert(s.ctx, s.tx, single, slices.Compact(columns)...)
}

func (s saver[T]) remove(gone []*T) error {
	return s.each(gone, func(rows []*T, shared []*column, last string, ids any) error {
		args, err := s.table.values(s.tx.database, nil, shared, reflect.ValueOf(rows[0]).Elem())
		if err == nil {
			_, err = Exec(s.ctx, s.tx, "DELETE FROM "+s.table.name+" WHERE "+equalities(shared, " AND ")+last, append(args, ids)...)
		}
		return err
	})
}

// each calls do for parts of rows that share all columns of their primary keys but the last, with the condition for that
// and its argument.
func (s saver[T]) each(rows []*T, do func(rows []*T, shared []*column, last string, ids any) error) error {
	end := len(s.table.keys) - 1
	shared, key := s.table.keys[:end], s.table.keys[end]
	last := quoteName(key.name) + " IN (?)"
	if end > 0 {
		last = " AND " + last
	}
	parts := map[string][]*T{}
	for _, row := range rows {
		of := keyOf(shared, row)
		parts[of] = append(parts[of], row)
	}
	for _, of := range slices.Sorted(maps.Keys(parts)) {
		for part := range slices.Chunk(parts[of], saveAtOnce) {
			ids := make([]any, len(part))
			for i, row := range part {
				ids[i] = reflect.ValueOf(row).Elem().FieldByIndex(key.index).Interface()
			}
			if err := do(part, shared, last, In(ids)); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyOf is a text that rows have in common if they have the values of columns in common.
func keyOf[T any](columns []*column, row *T) string {
	var key strings.Builder
	for _, c := range columns {
		value := reflect.ValueOf(row).Elem().FieldByIndex(c.index).Interface()
		if of, ok := value.(texter); ok {
			value = of.Text()
		}
		fmt.Fprintf(&key, "%s=%v\n", c.name, value)
	}
	return key.String()
}
