package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// A diary has a column that is sealed, and one that is not.
type diary struct {
	store.Row `db:"diaries"`
	ID        string `db:"id,pk"`
	Entry     string `db:"entry" seal:"diaries.entry"`
	Weather   string `db:"weather"`
}

// A postcard reads the sealed column of another one as if it were its own.
type postcard struct {
	store.Row `db:"diaries"`
	ID        string `db:"id,pk"`
	Entry     string `db:"entry" seal:"postcards.entry"`
}

// backwards is a sealer that anybody can open.
type backwards struct{}

func (backwards) Seal(owner, text string) string { return owner + ":" + reversed(text) }

func (backwards) Open(owner, sealed string) (string, error) {
	text, ok := strings.CutPrefix(sealed, owner+":")
	if !ok {
		return "", errors.New("sealed for another owner")
	}
	return reversed(text), nil
}

func reversed(text string) string {
	letters := []rune(text)
	for i, j := 0, len(letters)-1; i < j; i, j = i+1, j-1 {
		letters[i], letters[j] = letters[j], letters[i]
	}
	return string(letters)
}

func TestSealedColumns(t *testing.T) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			ctx := t.Context()
			open := func(sealer store.Sealer) *store.Store {
				t.Helper()
				s, err := store.Open(ctx, store.Config{Dir: place.Dir, DSN: place.DSN, Sealer: sealer})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				return s
			}
			write := func(s *store.Store, rows ...*diary) {
				t.Helper()
				err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
					return store.Upsert(ctx, tx, rows, "entry")
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			read := func(s *store.Store) string {
				t.Helper()
				var rows []diary
				if err := store.List(ctx, s.Read(), &rows, "ORDER BY id"); err != nil {
					return err.Error()
				}
				var out []string
				for _, row := range rows {
					out = append(out, row.ID+"="+row.Entry+"/"+row.Weather)
				}
				return strings.Join(out, " ")
			}
			raw := func(s *store.Store) string {
				t.Helper()
				var out []string
				if err := store.Query(ctx, s.Read(), &out, "SELECT entry FROM diaries ORDER BY id"); err != nil {
					t.Fatal(err)
				}
				return strings.Join(out, " ")
			}
			expect := func(what, got, want string) {
				t.Helper()
				if got != want {
					t.Errorf("%s: got %q, want %q", what, got, want)
				}
			}

			old := open(nil)
			err := old.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				_, err := store.Exec(ctx, tx, "CREATE TABLE diaries (id TEXT PRIMARY KEY, entry TEXT NOT NULL, weather TEXT NOT NULL)")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			write(old, &diary{ID: "a", Entry: "before", Weather: "rain"})
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}

			s := open(backwards{})
			expect("a row of an older database", read(s), "a=before/rain")
			write(s, &diary{ID: "b", Entry: "it's Noël", Weather: "snow"}, &diary{ID: "c"})
			expect("read back", read(s), "a=before/rain b=it's Noël/snow c=/")
			expect("in the database", raw(s), "before sealed:diaries.entry:lëoN s'ti ")
			err = s.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
				return store.Update(ctx, tx, &diary{ID: "a", Entry: "after"}, "entry")
			})
			if err != nil {
				t.Fatal(err)
			}
			expect("an old row that is written again", raw(s), "sealed:diaries.entry:retfa sealed:diaries.entry:lëoN s'ti ")
			card := postcard{}
			err = store.Get(ctx, s.Read(), &card, "WHERE id = 'b'")
			if err == nil || !strings.Contains(err.Error(), "postcards.entry: sealed for another owner") {
				t.Errorf("the text of another column was read: %v, %v", card.Entry, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if got := read(open(nil)); !strings.Contains(got, "diaries.entry is sealed, and the store was opened without a key") {
				t.Errorf("without a key: %s", got)
			}
		})
	}
}
