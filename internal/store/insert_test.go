package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"
)

// TestInsert inserts rows by their structures and by pointers, in numbers around those of one
// statement.
func TestInsert(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		if _, err := s.writer.ExecContext(t.Context(), "CREATE TABLE counted (name TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, note TEXT NOT NULL, row_version BIGINT NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		for _, count := range []int{0, 1, 3, 4, 5, 9, 250} {
			var rows []counterRow
			var pointers []*counterRow
			for i := range count {
				row := counterRow{Name: fmt.Sprintf("%d-%03d", count, i), N: int64(i), Note: "it's"}
				rows = append(rows, row)
				row.Note = "twice"
				pointers = append(pointers, &row)
			}
			err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
				err := Insert(ctx, tx, rows)
				return errors.Join(err, Insert(ctx, tx, pointers, func(query *bun.InsertQuery) *bun.InsertQuery {
					return query.On("CONFLICT (name) DO UPDATE").Set("row_version = EXCLUDED.row_version + 7")
				}))
			})
			if err != nil {
				t.Fatalf("%d rows: %v", count, err)
			}
			for i := range rows {
				rows[i].RowVersion = 7
			}
			var got []counterRow
			if err := s.Read().NewSelect().Model(&got).Where("name LIKE ?", fmt.Sprintf("%d-%%", count)).Order("name").Scan(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rows, got); diff != "" {
				t.Errorf("%d rows: %s", count, diff)
			}
		}
		duplicate := []counterRow{{Name: "a"}, {Name: "b"}, {Name: "a"}}
		if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error { return Insert(ctx, tx, duplicate) }); err == nil {
			t.Error("a duplicate key is no error")
		}
	})
}

// TestAfter has functions called after commits, and only after those.
func TestAfter(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		failure := errors.New("no")
		var mu sync.Mutex
		called := map[int]int{}
		var writing sync.WaitGroup
		const count = 40
		for i := range count {
			writing.Go(func() {
				err := s.Write(t.Context(), func(_ context.Context, tx *Tx) error {
					tx.After(func() {
						mu.Lock()
						defer mu.Unlock()
						called[i]++
					})
					if i%8 == 0 {
						return failure
					}
					return nil
				})
				mu.Lock()
				defer mu.Unlock()
				if failed := i%8 == 0; errors.Is(err, failure) != failed || called[i] != map[bool]int{false: 1, true: 0}[failed] {
					t.Errorf("%d: %v, called %d times", i, err, called[i])
				}
			})
		}
		writing.Wait()
	})
}
