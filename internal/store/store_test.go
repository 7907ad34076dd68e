package store

import (
	"testing"

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

// postgres is for what only several nodes can do.
func postgres(t testing.TB) Config {
	t.Helper()
	return Config{DSN: fixtures.NeedPostgres(t)}
}
