package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/fixtures"
)

// eachStore runs a test on every kind of database.
func eachStore(t *testing.T, test func(t *testing.T, config Config)) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) { test(t, Config{Dir: place.Dir, DSN: place.DSN}) })
	}
}

func open(t testing.TB, config Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func wake(t testing.TB, s *Store, kind, id string, at time.Time) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error { return tx.Wake(ctx, kind, id, at) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestWakeRuns(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		ran := make(chan string, 1)
		if err := s.Work(t.Context(), map[string]Worker{"k": func(_ context.Context, id string) (time.Time, error) {
			ran <- id
			return time.Time{}, nil
		}}); err != nil {
			t.Fatal(err)
		}
		wake(t, s, "k", "one", time.Time{})
		if id := <-ran; id != "one" {
			t.Error(id)
		}
		if !errors.Is(s.Close(), nil) {
			t.Error("close")
		}
	})
}
