package store

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// insertAtOnce is how many rows one statement inserts into PostgreSQL. SQLite, where a statement costs no round trip,
// prepares one for a single row.
const insertAtOnce = 100

// Insert inserts rows.
func Insert[T any](ctx context.Context, db DB, rows ...*T) error {
	_, err := InsertOr(ctx, db, "", rows...)
	return err
}

// InsertOr inserts rows, or does what a clause such as ON CONFLICT DO NOTHING says. It returns how many rows were
// written.
func InsertOr[T any](ctx context.Context, db DB, clause string, rows ...*T) (written int64, err error) {
	d, t := db.handle(), tableOf(reflect.TypeFor[T]())
	columns := slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool { return c.serial })
	size := 1
	if d.postgres {
		size = insertAtOnce
	}
	for part := range slices.Chunk(rows, size) {
		var args []any
		for _, row := range part {
			if args, err = t.values(d, args, columns, reflect.ValueOf(row).Elem()); err != nil {
				return written, err
			}
		}
		n, err := Exec(ctx, db, t.insertion(columns, len(part))+clause, args...)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// insertion is the statement that inserts as many rows.
func (t *table) insertion(columns []*column, rows int) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = quoteName(c.name)
	}
	return "INSERT INTO " + t.from + " (" + strings.Join(names, ", ") + ") VALUES " +
		tuples(rows, "("+tuples(len(columns), "?")+")") + " "
}

// Upsert inserts rows. Of those that exist already, it writes the columns.
func Upsert[T any](ctx context.Context, db DB, rows []*T, columns ...string) error {
	var keys, sets []string
	for _, c := range tableOf(reflect.TypeFor[T]()).keys {
		keys = append(keys, quoteName(c.name))
	}
	for _, name := range columns {
		sets = append(sets, quoteName(name)+" = EXCLUDED."+quoteName(name))
	}
	_, err := InsertOr(ctx, db, "ON CONFLICT ("+strings.Join(keys, ", ")+") DO UPDATE SET "+strings.Join(sets, ", "), rows...)
	return err
}

// Pointers returns pointers to the rows of a list.
func Pointers[T any](rows []T) []*T {
	out := make([]*T, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out
}

// Update writes columns of a row by its primary key, all of them without names. The error is [ErrStale] if the row does
// not exist.
func Update[T any](ctx context.Context, db DB, row *T, columns ...string) error {
	t := tableOf(reflect.TypeFor[T]())
	return requireRows(1)(update(ctx, db, row, t.pick(columns), t.keys, ""))
}

// update writes columns of a row into the rows that have its values in others and satisfy a condition.
func update[T any](ctx context.Context, db DB, row *T, columns, keys []*column, and string, more ...any) (int64, error) {
	d, t, value := db.handle(), tableOf(reflect.TypeFor[T]()), reflect.ValueOf(row).Elem()
	args, err := t.values(d, nil, columns, value)
	if err == nil {
		args, err = t.values(d, args, keys, value)
	}
	if err != nil {
		return 0, err
	}
	return Exec(ctx, db, "UPDATE "+t.name+" SET "+equalities(columns, ", ")+" WHERE "+equalities(keys, " AND ")+and, append(args, more...)...)
}

func equalities(columns []*column, separator string) string {
	var out strings.Builder
	for i, c := range columns {
		if i > 0 {
			out.WriteString(separator)
		}
		out.WriteString(quoteName(c.name) + " = ?")
	}
	return out.String()
}

// Delete deletes rows by their primary keys.
func Delete[T any](ctx context.Context, db DB, rows ...*T) error {
	d, t := db.handle(), tableOf(reflect.TypeFor[T]())
	for _, row := range rows {
		args, err := t.values(d, nil, t.keys, reflect.ValueOf(row).Elem())
		if err != nil {
			return err
		}
		if _, err := Exec(ctx, db, "DELETE FROM "+t.name+" WHERE "+equalities(t.keys, " AND "), args...); err != nil {
			return err
		}
	}
	return nil
}

// batchSize is how many rows are deleted at once: others write in between.
const batchSize = 1000

// DeleteInBatches deletes the rows of a table that a condition selects, in as many transactions as it takes. key is the
// column of its primary key.
func (s *Store) DeleteInBatches(ctx context.Context, table, key, where string, args ...any) error {
	query := fmt.Sprintf("DELETE FROM %s WHERE %s IN (SELECT %s FROM %s WHERE %s LIMIT %d)", table, key, key, table, where, batchSize)
	for {
		var deleted int64
		err := s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
			deleted, err = Exec(ctx, tx, query, args...)
			return err
		})
		if err != nil || deleted < batchSize {
			return err
		}
	}
}
