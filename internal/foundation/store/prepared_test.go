package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// TestStatements sends texts of every kind, more kinds of statements than are kept, and one while its rows are being read.
func TestStatements(t *testing.T) {
	s := withThings(t, Config{Dir: fixtures.TempDir(t)})
	texts := []string{"", "'", "''", "a'b''c", "?", ";", "--", "\"", "ä\u2028", "1700000000000000", `{"a": ['x', 12345]}`, strings.Repeat("'long", 10_000)}
	for i, text := range texts {
		row := thing{ID: fmt.Sprint(i), Data: text, At: s.Now()}
		err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
			return Insert(ctx, tx, &row)
		})
		if err != nil {
			t.Fatal(err)
		}
		var found []thing
		if err := List(t.Context(), s.Read(), &found, "WHERE data = ? AND at = ?", text, row.At); err != nil || len(found) != 1 || found[0].Data != text || !found[0].At.Equal(row.At.Time) {
			t.Errorf("%.20q: %v, %v", text, found, err)
		}
	}
	err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
		for n := range 2 * maxStatements {
			var count int
			if err := Query(ctx, tx, &count, fmt.Sprintf("SELECT count(*) AS c%d FROM things WHERE id <> 'none'", n)); err != nil || count != len(texts) {
				return fmt.Errorf("statement %d counts %d: %w", n, count, err)
			}
		}
		outer, err := tx.conn.QueryContext(ctx, "SELECT id FROM things WHERE id >= '0' ORDER BY id")
		if err != nil {
			return err
		}
		defer outer.Close()
		seen := 0
		for ; outer.Next(); seen++ {
			inner, err := tx.conn.QueryContext(ctx, "SELECT id FROM things WHERE id >= '1' ORDER BY id")
			if err != nil {
				return err
			}
			if !inner.Next() {
				return fmt.Errorf("the inner one has no rows")
			}
			if err := inner.Close(); err != nil {
				return err
			}
		}
		if seen != len(texts) {
			return fmt.Errorf("the outer one has %d rows", seen)
		}
		return outer.Err()
	})
	if err != nil {
		t.Error(err)
	}
}
