package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutLiterals(t *testing.T) {
	for _, test := range []struct {
		query, text string
		values      []any
	}{
		{`SELECT "a" FROM "t" WHERE (id = 'x''y') LIMIT 1`, `SELECT "a" FROM "t" WHERE (id = ?) LIMIT 1`, []any{"x'y"}},
		{`SELECT a1 FROM t WHERE node = '' AND due <= 1700000000000000`, `SELECT a1 FROM t WHERE node = '' AND due <= ?`, []any{int64(1700000000000000)}},
		{`UPDATE t SET a = -12345, b = X'4142', c = NULL, d = 1234.5`, `UPDATE t SET a = -?, b = X'4142', c = NULL, d = 1234.5`, []any{int64(12345)}},
		{`INSERT INTO "a'b" VALUES ('--?;', 'ä')`, `INSERT INTO "a'b" VALUES (?, ?)`, []any{"--?;", "ä"}},
		{`INSERT INTO t VALUES (1, -2, 3.5, TRUE) ON CONFLICT (a) WHERE b > 7 DO UPDATE SET c = 8`, `INSERT INTO t VALUES (?, -?, 3.5, TRUE) ON CONFLICT (a) WHERE b > 7 DO UPDATE SET c = 8`, []any{int64(1), int64(2)}},
		{`INSERT INTO t SELECT 1, 23456 FROM u LIMIT 64`, `INSERT INTO t SELECT 1, ? FROM u LIMIT 64`, []any{int64(23456)}},
		{"\n  delete FROM t WHERE \"x\"\"9999\" = 99999999999999999999", "\n  delete FROM t WHERE \"x\"\"9999\" = 99999999999999999999", nil},
		{query: `PRAGMA busy_timeout = 4500`},
		{query: `CREATE INDEX i ON t (a) WHERE a = 'x'`},
		{query: `SELECT 1; SELECT 2`},
		{query: `SELECT a -- 'x'`},
		{query: `SELECT ?`},
		{query: `SELECT 'open`},
		{query: `SELECT "open`},
		{query: `INSERT INTO t VALUES ` + strings.Repeat("('x'), ", maxLiterals+1)},
	} {
		text, values, ok := withoutLiterals(test.query)
		var got []any
		for i, v := range values {
			if v.Ordinal != i+1 {
				t.Errorf("%s: value %d is at %d", test.query, i+1, v.Ordinal)
			}
			got = append(got, v.Value)
		}
		if text != test.text || ok != (test.text != "") || ok && !cmp.Equal(got, test.values) {
			t.Errorf("%s: %q %v %t", test.query, text, got, ok)
		}
	}
}

// TestStatements sends values of every kind through statements that are kept, more kinds of
// statements than are kept, and one while its rows are being read.
func TestStatements(t *testing.T) {
	s := withThings(t, Config{Dir: t.TempDir()})
	texts := []string{"", "'", "''", "a'b''c", "?", ";", "--", "\"", "ä\u2028", "1700000000000000", `{"a": ['x', 12345]}`, strings.Repeat("'long", 10_000)}
	for i, text := range texts {
		row := thing{ID: fmt.Sprint(i), Data: text, At: s.Now()}
		err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
			_, err := tx.NewInsert().Model(&row).Exec(ctx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var found []thing
		if err := s.Read().NewSelect().Model(&found).Where("data = ? AND at = ?", text, row.At).Scan(t.Context()); err != nil || len(found) != 1 || found[0].Data != text || !found[0].At.Equal(row.At.Time) {
			t.Errorf("%.20q: %v, %v", text, found, err)
		}
	}
	err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
		for n := range 2 * maxStatements {
			var count int
			if err := tx.NewRaw(fmt.Sprintf("SELECT count(*) AS c%d FROM things WHERE id <> 'none'", n)).Scan(ctx, &count); err != nil || count != len(texts) {
				return fmt.Errorf("statement %d counts %d: %w", n, count, err)
			}
		}
		outer, err := tx.QueryContext(ctx, "SELECT id FROM things WHERE id >= '0' ORDER BY id")
		if err != nil {
			return err
		}
		defer outer.Close()
		seen := 0
		for ; outer.Next(); seen++ {
			inner, err := tx.QueryContext(ctx, "SELECT id FROM things WHERE id >= '1' ORDER BY id")
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
