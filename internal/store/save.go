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
// statement. Then read is what the database has, if the transaction commits.
func Save[T comparable](ctx context.Context, tx *Tx, read map[string]T, rows map[string]*T) error {
	s := saver[T]{ctx: ctx, tx: tx, table: tx.Dialect().Tables().Get(reflect.TypeFor[T]())}
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
		switch _, known := read[key]; {
		case !known:
			fresh = append(fresh, row)
		case read[key] == *row:
			continue
		default:
			changed = s.note(changed, read[key], row)
		}
		read[key] = *row
	}
	if err := s.remove(gone); err != nil {
		return fmt.Errorf("delete %T: %w", gone, err)
	}
	if err := s.update(changed); err != nil {
		return fmt.Errorf("update %T: %w", gone, err)
	}
	if err := Insert(ctx, tx, fresh); err != nil {
		return fmt.Errorf("insert %T: %w", fresh, err)
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

// note adds the change of a row to those of others.
func (s saver[T]) note(changed []edit[T], before T, row *T) []edit[T] {
	if columns := changedColumns(s.table, &before, row); len(columns) > 0 {
		changed = append(changed, edit[T]{columns, []*T{row}})
	}
	return changed
}

// update writes the changes of single rows. Those that are the same are written together; rows that have no
// change in common are written whole, many at once.
func (s saver[T]) update(changed []edit[T]) error {
	switch len(changed) {
	case 0:
		return nil
	case 1:
		result, err := s.tx.NewUpdate().Model(changed[0].rows[0]).Column(changed[0].columns...).WherePK().Exec(s.ctx)
		if err != nil {
			return err
		}
		return RequireOneRow(result)
	}
	edits := map[string]*edit[T]{}
	for _, e := range changed {
		key := ""
		for _, name := range e.columns {
			key += fmt.Sprintf("%s=%v\n", name, s.table.FieldMap[name].Value(reflect.ValueOf(e.rows[0]).Elem()).Interface())
		}
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
	if len(gone) == 0 {
		return nil
	}
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
