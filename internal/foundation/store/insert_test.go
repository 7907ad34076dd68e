package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInsert inserts rows, in numbers around those of one
// statement.
func TestInsert(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		if _, err := Exec(t.Context(), s.on(s.writer), "CREATE TABLE counted (name TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, note TEXT NOT NULL, row_version BIGINT NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		for _, count := range []int{0, 1, 3, 4, 5, 9, 250} {
			var rows []counterRow
			var inserted, again []*counterRow
			for i := range count {
				row := counterRow{Name: fmt.Sprintf("%d-%03d", count, i), N: int64(i), Note: "it's"}
				rows = append(rows, row)
				twice := row
				twice.Note = "twice"
				inserted, again = append(inserted, &row), append(again, &twice)
			}
			err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
				if err := Insert(ctx, tx, inserted...); err != nil {
					return err
				}
				written, err := InsertOr(ctx, tx, "ON CONFLICT (name) DO UPDATE SET row_version = EXCLUDED.row_version + 7", again...)
				if written != int64(count) {
					t.Errorf("%d rows were written, want %d", written, count)
				}
				return err
			})
			if err != nil {
				t.Fatalf("%d rows: %v", count, err)
			}
			for i := range rows {
				rows[i].RowVersion = 7
			}
			var got []counterRow
			if err := List(t.Context(), s.Read(), &got, "WHERE name LIKE ? ORDER BY name", fmt.Sprintf("%d-%%", count)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rows, got); diff != "" {
				t.Errorf("%d rows: %s", count, diff)
			}
		}
		duplicate := []*counterRow{{Name: "a"}, {Name: "b"}, {Name: "a"}}
		if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error { return Insert(ctx, tx, duplicate...) }); err == nil {
			t.Error("a duplicate key is no error")
		}
	})
}
