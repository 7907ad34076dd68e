package store_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// An album has columns with values of JSON, one of them sealed.
type album struct {
	store.Row `db:"albums"`

	ID     string                        `db:"id,pk"`
	Prices store.JSON[map[string]any]    `db:"prices"`
	Tracks store.JSON[[]store.JSON[any]] `db:"tracks" seal:"albums.tracks"`
}

// A rawAlbum is an album as the database has it.
type rawAlbum struct {
	store.Row `db:"albums"`

	ID     string `db:"id,pk"`
	Prices string `db:"prices"`
	Tracks string `db:"tracks"`
}

// write inserts a row.
func write[T any](t *testing.T, s *store.Store, row *T) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return store.Insert(ctx, tx, row) })
	if err != nil {
		t.Fatal(err)
	}
}

// read reads the row with an ID.
func read[T any](t *testing.T, s *store.Store, row *T, id string) error {
	return store.Get(t.Context(), s.Read(), row, "WHERE id = ?", id)
}

func TestJSONColumns(t *testing.T) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			ctx := t.Context()
			s, err := store.Open(ctx, store.Config{Dir: place.Dir, DSN: place.DSN, Sealer: backwards{}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			err = s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				_, err := store.Exec(ctx, tx, "CREATE TABLE albums (id TEXT PRIMARY KEY, prices TEXT NOT NULL, tracks TEXT NOT NULL)")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"it's": json.Number("12345678901234567890.10"), "none": nil}
			write(t, s, &album{ID: "a", Prices: store.JSONOf(want), Tracks: store.JSONOf([]store.JSON[any]{store.JSONOf(any("Ü")), {}})})
			write(t, s, &album{ID: "empty", Prices: store.JSONOf(map[string]any(nil))})
			write(t, s, &rawAlbum{ID: "broken", Prices: `{"a": `})
			write(t, s, &rawAlbum{ID: "other", Prices: `[]`})
			write(t, s, &rawAlbum{ID: "sealed", Tracks: "sealed:" + backwards{}.Seal("albums.tracks", "{")})

			var got album
			if err := read(t, s, &got, "a"); err != nil || !maps.Equal(got.Prices.Get(), want) {
				t.Errorf("got %v, %v", got.Prices.Get(), err)
			}
			if tracks := got.Tracks.Get(); len(tracks) != 2 || tracks[0].Get() != "Ü" || !tracks[1].IsZero() {
				t.Errorf("got the tracks %v", tracks)
			}
			if !got.Prices.Equal(store.JSONOf(want)) || got.Prices.Equal(store.JSONOf(map[string]any{})) {
				t.Error("columns are compared by something else than their texts")
			}
			var raw rawAlbum
			if err := read(t, s, &raw, "a"); err != nil || raw.Prices != got.Prices.Text() || !strings.HasPrefix(raw.Tracks, "sealed:") {
				t.Errorf("the database has %+v, %v", raw, err)
			}
			if err := read(t, s, &raw, "empty"); err != nil || raw.Prices != "" || raw.Tracks != "" {
				t.Errorf("an empty row is %+v, %v", raw, err)
			}
			var empty album
			if err := read(t, s, &empty, "empty"); err != nil || !empty.Prices.IsZero() || empty.Prices.Get() != nil {
				t.Errorf("got %+v, %v", empty, err)
			}
			for id, column := range map[string]string{"broken": "albums.prices", "other": "albums.prices", "sealed": "albums.tracks"} {
				if err := read(t, s, &got, id); err == nil || !strings.Contains(err.Error(), "read the column "+column) {
					t.Errorf("%s: the error is %v", id, err)
				}
			}
		})
	}
}
