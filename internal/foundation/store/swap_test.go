package store

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

type counterRow struct {
	Row        `db:"counted AS c"`
	Name       string `db:"name,pk"`
	N          int64  `db:"n"`
	Note       string `db:"note"`
	RowVersion int64  `db:"row_version"`
}

func TestSwap(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		_, err := Exec(t.Context(), s.on(s.writer), "CREATE TABLE counted (name TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, note TEXT NOT NULL, row_version BIGINT NOT NULL)")
		if err != nil {
			t.Fatal(err)
		}
		row := counterRow{Name: "a", N: 1, Note: "first", RowVersion: 1}
		write := func(f func(ctx context.Context, tx *Tx) error) error { return s.Write(t.Context(), f) }
		if err := write(func(ctx context.Context, tx *Tx) error { err := Insert(ctx, tx, &row); return err }); err != nil {
			t.Fatal(err)
		}
		changed := counterRow{Name: "a", N: 2, Note: "not written", RowVersion: 1}
		if err := write(func(ctx context.Context, tx *Tx) error { return Swap(ctx, tx, &changed, &changed.RowVersion, "n") }); err != nil {
			t.Fatal(err)
		}
		var got counterRow
		if err := Get(t.Context(), s.Read(), &got, "WHERE name = 'a'"); err != nil {
			t.Fatal(err)
		}
		if got.N != 2 || got.Note != "first" || got.RowVersion != 2 {
			t.Errorf("got %+v, want only n written, as version 2", got)
		}
		old := counterRow{Name: "a", N: 3, Note: "late", RowVersion: 1}
		if err := write(func(ctx context.Context, tx *Tx) error { return Swap(ctx, tx, &old, &old.RowVersion) }); !errors.Is(err, ErrStale) {
			t.Errorf("a row that was changed in the meantime: got %v, want ErrStale", err)
		}
		tries := 0
		err = s.Change(t.Context(), func(ctx context.Context, tx *Tx) error {
			if tries++; tries < 3 {
				return ErrStale
			}
			return nil
		})
		if err != nil || tries != 3 {
			t.Errorf("Change ran %d times and returned %v, want 3 and no error", tries, err)
		}
		tries = 0
		if err := s.Change(t.Context(), func(context.Context, *Tx) error { tries++; return ErrStale }); !errors.Is(err, ErrStale) || tries != maxConflicts {
			t.Errorf("Change ran %d times and returned %v, want %d and ErrStale", tries, err, maxConflicts)
		}
	})
}

func TestWakeAll(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		ids := make([]string, 250)
		for i := range ids {
			ids[i] = string(rune('a'+i%26)) + time.Duration(i).String()
		}
		var r recorder
		err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error { return tx.WakeAll(ctx, "k", ids, time.Time{}) })
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error { return tx.WakeAll(ctx, "k", []string{"a", ""}, time.Time{}) }); err == nil {
			t.Error("an empty id was accepted")
		}
		work(t, s, map[string]Run{"k": r.work})
		idle(t, s)
		if got := len(r.seen()); got != len(ids) {
			t.Errorf("%d workers ran, want %d", got, len(ids))
		}
	})
}

// A placedRow has a primary key of two columns.
type placedRow struct {
	Row  `db:"placed AS p"`
	Room string `db:"room,pk"`
	Name string `db:"name,pk"`
	N    int64  `db:"n"`
	Note string `db:"note"`
}

func TestSave(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		_, err := Exec(t.Context(), s.on(s.writer), "CREATE TABLE placed (room TEXT NOT NULL, name TEXT NOT NULL, n BIGINT NOT NULL, note TEXT NOT NULL, PRIMARY KEY (room, name))")
		if err != nil {
			t.Fatal(err)
		}
		read := map[string]placedRow{}
		save := func(rows ...placedRow) error {
			now := map[string]*placedRow{}
			for _, row := range rows {
				now[row.Room+"/"+row.Name] = &row
			}
			return s.Write(t.Context(), func(ctx context.Context, tx *Tx) error { return Save(ctx, tx, read, now) })
		}
		expect := func(what string, want ...placedRow) {
			t.Helper()
			var got []placedRow
			if err := List(t.Context(), s.Read(), &got, "ORDER BY room, name"); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %+v, want %+v, %v", what, got, want, err)
			}
			if len(read) != len(want) {
				t.Errorf("%s: read is %v", what, read)
			}
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		row := func(room, name string, n int64, note string) placedRow {
			return placedRow{Room: room, Name: name, N: n, Note: note}
		}
		must(save(row("1", "a", 1, ""), row("1", "b", 1, ""), row("2", "a", 1, "")))
		expect("new rows", row("1", "a", 1, ""), row("1", "b", 1, ""), row("2", "a", 1, ""))
		// What others wrote stays, but for the columns that change.
		_, err = Exec(t.Context(), s.on(s.writer), "UPDATE placed SET note = 'theirs'")
		must(err)
		must(save(row("1", "a", 2, ""), row("1", "b", 2, ""), row("2", "a", 2, "")))
		expect("the same change", row("1", "a", 2, "theirs"), row("1", "b", 2, "theirs"), row("2", "a", 2, "theirs"))
		must(save(row("1", "a", 3, ""), row("1", "b", 4, ""), row("2", "a", 2, "")))
		expect("two changes", row("1", "a", 3, "theirs"), row("1", "b", 4, "theirs"), row("2", "a", 2, "theirs"))
		must(save(row("1", "b", 4, "ours"), row("3", "c", 1, "")))
		expect("deleted, changed and new", row("1", "b", 4, "ours"), row("3", "c", 1, ""))
		_, err = Exec(t.Context(), s.on(s.writer), "DELETE FROM placed WHERE room = '3'")
		must(err)
		if err := save(row("1", "b", 5, "ours"), row("3", "c", 5, "")); !errors.Is(err, ErrStale) {
			t.Errorf("a row that another one deleted: %v", err)
		}
	})
}
