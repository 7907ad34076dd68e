package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// TestMeasures counts what waits, and sees the database grow.
func TestMeasures(t *testing.T) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			s, err := store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				if err := tx.Wake(ctx, "a", "1", time.Now().Add(time.Hour)); err != nil {
					return err
				}
				return tx.Wake(ctx, "b", "1", time.Time{})
			})
			if err != nil {
				t.Fatal(err)
			}
			if n, err := s.Waiting(t.Context()); n != 2 || err != nil {
				t.Errorf("%d wait, %v", n, err)
			}
			if size, err := s.Size(t.Context()); size < 10_000 || err != nil {
				t.Errorf("%d bytes, %v", size, err)
			}
		})
	}
}
