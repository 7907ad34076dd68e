package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uptrace/bun"
)

type counterRow struct {
	bun.BaseModel `bun:"table:counted,alias:c"`
	Name          string `bun:"name,pk"`
	N             int64  `bun:"n"`
	Note          string `bun:"note"`
	RowVersion    int64  `bun:"row_version"`
}

func TestSwap(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		_, err := s.writer.ExecContext(t.Context(), "CREATE TABLE counted (name TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, note TEXT NOT NULL, row_version BIGINT NOT NULL)")
		if err != nil {
			t.Fatal(err)
		}
		row := counterRow{Name: "a", N: 1, Note: "first", RowVersion: 1}
		write := func(f func(ctx context.Context, tx *Tx) error) error { return s.Write(t.Context(), f) }
		if err := write(func(ctx context.Context, tx *Tx) error { _, err := tx.NewInsert().Model(&row).Exec(ctx); return err }); err != nil {
			t.Fatal(err)
		}
		changed := counterRow{Name: "a", N: 2, Note: "not written", RowVersion: 1}
		if err := write(func(ctx context.Context, tx *Tx) error { return Swap(ctx, tx, &changed, &changed.RowVersion, "n") }); err != nil {
			t.Fatal(err)
		}
		var got counterRow
		if err := s.Read().NewSelect().Model(&got).Where("name = 'a'").Scan(t.Context()); err != nil {
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
