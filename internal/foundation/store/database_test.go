package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestPlace has placeholders in all places, and question marks in texts, which are none.
func TestPlace(t *testing.T) {
	for _, test := range []struct {
		query    string
		counts   []int
		postgres bool
		want     string
	}{
		{"SELECT 1", nil, true, "SELECT 1"},
		{"a = ? AND b IN (?) AND c = ?", []int{1, 4, 1}, true, "a = $1 AND b IN ($2, $3, $4, $5) AND c = $6"},
		{"a = ? AND b IN (?) AND c = ?", []int{1, 2, 1}, false, "a = ? AND b IN (?, ?) AND c = ?"},
		{"a = 'it''s ?' AND b = ?", []int{1}, true, "a = 'it''s ?' AND b = $1"},
		{"a = ? AND b = ?", []int{1}, true, "a = $1 AND b = $2"}, // the database refuses it
	} {
		if got := (&database{postgres: test.postgres}).place(test.query, test.counts); got != test.want {
			t.Errorf("%s: got %s, want %s", test.query, got, test.want)
		}
	}
}

// TestQuery reads values, lists, structures and nothing.
func TestQuery(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := withThings(t, config)
		ctx := t.Context()
		for i := range 5 {
			if err := Insert(ctx, s.on(s.writer), &thing{ID: fmt.Sprint(i), Data: strings.Repeat("x", i)}); err != nil {
				t.Fatal(err)
			}
		}
		for count := range 6 {
			ids := slices.Repeat([]string{"0", "2", "missing", "4", "2"}, 2)[:count]
			want := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(ids))), func(id string) bool { return id == "missing" })
			var got []string
			err := Query(ctx, s.Read(), &got, "SELECT id FROM things WHERE id IN (?) AND data <> ? ORDER BY id", In(ids), "-")
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("IN of %d values: got %q, %v, want %q", count, got, err, want)
			}
		}
		row := thing{Data: "before"}
		if err := Get(ctx, s.Read(), &row, "WHERE id = ?", "missing"); !errors.Is(err, sql.ErrNoRows) || row.Data != "before" {
			t.Errorf("a missing row: %+v, %v", row, err)
		}
		rows := []thing{row, row}
		if err := List(ctx, s.Read(), &rows, "WHERE id > ? ORDER BY id DESC LIMIT ?", "1", 2); err != nil || len(rows) != 2 || rows[0].ID != "4" || rows[1].Data != "xxx" {
			t.Errorf("the last two: %+v, %v", rows, err)
		}
		if n, err := Count(ctx, s.Read(), "FROM things WHERE id <> ?", "0"); n != 4 || err != nil {
			t.Errorf("counted %d, %v", n, err)
		}
		for id, want := range map[string]bool{"1": true, "missing": false} {
			if exists, err := Exists(ctx, s.Read(), "FROM things WHERE id = ?", id); exists != want || err != nil {
				t.Errorf("%s exists: %t, %v", id, exists, err)
			}
		}
		err := Query(ctx, s.Read(), &rows, "SELECT id, 1 AS other FROM things")
		if err == nil || !strings.Contains(err.Error(), "thing has no field for the column other") {
			t.Errorf("a column without a field: %v", err)
		}
		var malformed *StatementError
		if err := Query(ctx, s.Read(), &rows, "SELECT id FROM things WHERE id = ?", math.Inf); !errors.As(err, &malformed) {
			t.Errorf("a value without a form in SQL: %v", err)
		}
		var where Where
		where.And("id = ? OR id = ?", "1", "2")
		where.And("data <> ?", "x")
		if err := List(ctx, s.Read(), &rows, where.Clause(), where.Args...); err != nil || len(rows) != 1 || rows[0].ID != "2" {
			t.Errorf("two conditions: %+v, %v", rows, err)
		}
	})
}

// TestUpdateAndDelete writes rows that exist and rows that do not.
func TestUpdateAndDelete(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := withThings(t, config)
		if err := Insert(t.Context(), s.on(s.writer), &thing{ID: "a", Data: "first"}, &thing{ID: "b", Data: "first"}); err != nil {
			t.Fatal(err)
		}
		err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
			if err := Update(ctx, tx, &thing{ID: "missing"}); !errors.Is(err, ErrStale) {
				t.Errorf("a missing row: %v", err)
			}
			return errors.Join(
				Update(ctx, tx, &thing{ID: "a", Data: "second", At: s.Now()}, "data"),
				Delete(ctx, tx, &thing{ID: "missing"}, &thing{ID: "b"}))
		})
		var rows []thing
		if listed := List(t.Context(), s.Read(), &rows, ""); err != nil || listed != nil || !slices.Equal(rows, []thing{{ID: "a", Data: "second"}}) {
			t.Errorf("%+v, %v, %v", rows, err, listed)
		}
	})
}

// TestTableOf refuses a field that cannot be a column.
func TestTableOf(t *testing.T) {
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "the column tags of struct { Tags map[string]string") {
			t.Errorf("got %s", text)
		}
	}()
	_ = Query(t.Context(), &database{}, &struct {
		Tags map[string]string `db:"tags"`
	}{}, "SELECT tags")
}
