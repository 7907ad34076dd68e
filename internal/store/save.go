package store

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// saveAtOnce is how many rows one statement of Save names.
const saveAtOnce = 100

// Save writes how rows differ from what was read in the transaction, both by the same keys: it deletes,
// updates and inserts rows. Rows in which the same columns have become the same are written by one
// statement. Then read is what the database has.
func Save[T comparable](ctx context.Context, tx *Tx, read map[string]T, rows map[string]*T) error {
	s := saver[T]{ctx: ctx, tx: tx, table: tx.Dialect().Tables().Get(reflect.TypeFor[T]())}
	var gone, fresh []*T
	edits := map[string]*edit[T]{}
	for _, key := range slices.Sorted(maps.Keys(read)) {
		if before := read[key]; rows[key] == nil {
			gone = append(gone, &before)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		before, known := read[key]
		switch row := rows[key]; {
		case !known:
			fresh = append(fresh, row)
		case before != *row:
			s.note(edits, &before, row)
		}
	}
	if err := s.remove(gone); err != nil {
		return fmt.Errorf("delete %T: %w", gone, err)
	}
	if err := s.update(edits); err != nil {
		return fmt.Errorf("update %T: %w", gone, err)
	}
	if err := Insert(ctx, tx, fresh); err != nil {
		return fmt.Errorf("insert %T: %w", fresh, err)
	}
	clear(read)
	for key, row := range rows {
		read[key] = *row
	}
	return nil
}

type saver[T any] struct {
	ctx   context.Context
	tx    *Tx
	table *schema.Table
}

// An edit is the same change of some rows.
type edit[T any] struct {
	columns []string
	rows    []*T
}

// note adds the change of a row to the edits.
func (s saver[T]) note(edits map[string]*edit[T], before, row *T) {
	columns := changedColumns(s.table, before, row)
	if len(columns) == 0 {
		return
	}
	key := ""
	for _, name := range columns {
		key += fmt.Sprintf("%s=%v\n", name, s.table.FieldMap[name].Value(reflect.ValueOf(row).Elem()).Interface())
	}
	if edits[key] == nil {
		edits[key] = &edit[T]{columns: columns}
	}
	edits[key].rows = append(edits[key].rows, row)
}

// update writes the edits. Rows that have no change in common are written whole, many at once.
func (s saver[T]) update(edits map[string]*edit[T]) error {
	var single []*T
	var columns []string
	for _, key := range slices.Sorted(maps.Keys(edits)) {
		e := edits[key]
		if len(e.rows) == 1 && len(edits) > 1 {
			single, columns = append(single, e.rows[0]), append(columns, e.columns...)
			continue
		}
		err := s.each(e.rows, func(rows []*T, where func(bun.QueryBuilder) bun.QueryBuilder) error {
			result, err := s.tx.NewUpdate().Model(rows[0]).Column(e.columns...).ApplyQueryBuilder(where).Exec(s.ctx)
			if err != nil {
				return err
			}
			return requireRows(result, int64(len(rows)))
		})
		if err != nil {
			return err
		}
	}
	slices.Sort(columns)
	return Upsert(s.ctx, s.tx, single, slices.Compact(columns)...)
}

// Upsert inserts rows. Of those that exist already, it writes the columns.
func Upsert[T any](ctx context.Context, tx *Tx, rows []*T, columns ...string) error {
	var keys []string
	for _, field := range tx.Dialect().Tables().Get(reflect.TypeFor[T]()).PKs {
		keys = append(keys, field.Name)
	}
	return Insert(ctx, tx, rows, func(query *bun.InsertQuery) *bun.InsertQuery {
		query = query.On("CONFLICT (" + strings.Join(keys, ", ") + ") DO UPDATE")
		for _, column := range columns {
			query = query.Set("? = EXCLUDED.?", bun.Ident(column), bun.Ident(column))
		}
		return query
	})
}

func (s saver[T]) remove(gone []*T) error {
	return s.each(gone, func(rows []*T, where func(bun.QueryBuilder) bun.QueryBuilder) error {
		_, err := s.tx.NewDelete().Model((*T)(nil)).ApplyQueryBuilder(where).Exec(s.ctx)
		return err
	})
}

// each calls do for parts of rows, with the condition that selects them by their primary keys.
func (s saver[T]) each(rows []*T, do func(rows []*T, where func(bun.QueryBuilder) bun.QueryBuilder) error) error {
	parts := map[string][]*T{} // by all columns of the key but the last
	shared, last := s.table.PKs[:len(s.table.PKs)-1], s.table.PKs[len(s.table.PKs)-1]
	value := func(row *T, field *schema.Field) any { return field.Value(reflect.ValueOf(row).Elem()).Interface() }
	for _, row := range rows {
		key := ""
		for _, field := range shared {
			key += fmt.Sprintf("%v\n", value(row, field))
		}
		parts[key] = append(parts[key], row)
	}
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		for part := range slices.Chunk(parts[key], saveAtOnce) {
			err := do(part, func(query bun.QueryBuilder) bun.QueryBuilder {
				for _, field := range shared {
					query = query.Where("? = ?", bun.Ident(field.Name), value(part[0], field))
				}
				ids := make([]any, len(part))
				for i, row := range part {
					ids[i] = value(row, last)
				}
				return query.Where("? IN (?)", bun.Ident(last.Name), bun.List(ids))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
