package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func TestLifespanOfErrors(t *testing.T) {
	server := func(code string) error {
		return fmt.Errorf("write: %w", &pgconn.PgError{Code: code, Message: "a secret value"})
	}
	for name, c := range map[string]struct {
		err  error
		want lifespan
	}{
		"index entry too long":   {server("54000"), permanent},
		"NUL":                    {server("22021"), permanent},
		"syntax":                 {server("42601"), permanent},
		"constraint":             {server("23502"), permanent},
		"aborted transaction":    {server("25P02"), permanent},
		"serialization":          {server("40001"), transient},
		"shutdown":               {server("57P01"), transient},
		"disk full":              {server("53100"), transient},
		"read-only node":         {server("25006"), transient},
		"no privilege":           {server("42501"), transient},
		"internal error":         {server("XX000"), unknown},
		"blob":                   {fmt.Errorf("keep: %w", &TooLargeError{Max: 7}), permanent},
		"statement":              {&StatementError{"x"}, permanent},
		"another one was faster": {fmt.Errorf("gave up: %w", ErrStale), transient},
		"storage":                {&StorageError{Err: errors.New("x")}, transient},
		"full disk":              {fmt.Errorf("write: %w", syscall.ENOSPC), transient},
		"connection":             {&net.OpError{Op: "read", Err: errors.New("reset")}, transient},
		"a deadline":             {fmt.Errorf("call: %w", context.DeadlineExceeded), unknown},
		"anything else":          {errors.New("odd"), unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := spanOf(c.err); got != c.want || Permanent(c.err) != (c.want == permanent) {
				t.Errorf("got %d, want %d", got, c.want)
			}
			if reason := Reason(c.err); !strings.HasPrefix(reason, "Internal failure: ") || strings.Contains(reason, "secret") && c.want == permanent {
				t.Errorf("the reason is %q", reason)
			}
		})
	}
	if got := Reason(errors.New(strings.Repeat("ä\x00", 1000) + "\nnext line")); !Storable(got) || len([]rune(got)) > 600 || strings.Contains(got, "next") {
		t.Errorf("the reason has %d bytes: %q", len(got), got)
	}
}

// TestRefusedStatements has databases refuse what no attempt can store.
func TestRefusedStatements(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		execute(t, s, "CREATE TABLE keys (k TEXT PRIMARY KEY)")
		long := make([]byte, 2000)
		_, _ = rand.Read(long)
		insert := func(text string) error {
			return s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
				_, err := Exec(ctx, tx, "INSERT INTO keys (k) VALUES (?)", text)
				return err
			})
		}
		var malformed *StatementError
		if err := insert("a\x00b"); !errors.As(err, &malformed) || !Permanent(err) {
			t.Errorf("NUL: %v", err)
		}
		if _, err := Exec(t.Context(), s.Read(), "SELECT ?", "a\x00b"); !errors.As(err, &malformed) {
			t.Errorf("NUL in a query: %v", err)
		}
		if err := insert("what?"); err != nil {
			t.Error(err)
		}
		if err := insert("what?"); !Permanent(err) {
			t.Errorf("a duplicate: %v", err)
		}
		if err := insert(hex.EncodeToString(long)); s.isPostgres() != Permanent(err) {
			t.Errorf("4,000 bytes in an index: %v", err)
		}
		if err := insert(hex.EncodeToString(long)[:MaxKey]); err != nil {
			t.Errorf("the longest key: %v", err)
		}
	})
}

// TestAbortedTransactionIsRunAgain has a function go on after a statement that failed, as one does
// that takes a conflict for something else.
func TestAbortedTransactionIsRunAgain(t *testing.T) {
	s := open(t, postgres(t))
	runs := 0
	err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
		if runs++; runs == 1 {
			_, _ = Exec(ctx, tx, "SELECT nothing")
		}
		_, err := Exec(ctx, tx, "SELECT 1")
		return err
	})
	if err != nil || runs != 2 {
		t.Errorf("%d runs, %v", runs, err)
	}
}

// TestGiveUp is how each kind of error ends.
func TestGiveUp(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		refusals int32 // of Fail
		runs     int32 // 0: it is never given up
		reason   string
	}{
		"permanent":            {err: &StatementError{"x"}, runs: 1, reason: "Internal failure: a value contains a character that no database stores"},
		"unknown":              {err: errors.New("odd"), runs: maxFailures, reason: "Internal failure: odd"},
		"panic":                {err: nil, runs: maxFailures, reason: "Internal failure: panic: odd"},
		"transient":            {err: &StorageError{Err: errors.New("away")}},
		"permanent, then Fail": {err: &StatementError{"x"}, refusals: 2, runs: 3, reason: "Internal failure: a value contains a character that no database stores"},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, config Config) {
				clock := newClock()
				config.Now, config.Poll = clock.now, time.Millisecond
				s := open(t, config)
				var runs, refused atomic.Int32
				given := make(chan string, 10)
				err := s.Work(t.Context(), map[string]Worker{"k": {
					Run: func(context.Context, string) (time.Time, error) {
						if runs.Add(1); c.err == nil {
							panic("odd")
						}
						return time.Time{}, c.err
					},
					Fail: func(_ context.Context, id, reason string) error {
						if refused.Add(1) <= c.refusals {
							return errors.New("not yet")
						}
						given <- id + " " + reason
						return nil
					},
				}})
				if err != nil {
					t.Fatal(err)
				}
				wake(t, s, "k", "id", time.Time{})
				limit := c.runs
				if limit == 0 {
					limit = 2*maxFailures + 1
				}
				fixtures.Await(t, "it has run often enough", func() bool {
					clock.advance(10 * time.Minute)
					return runs.Load() >= limit
				})
				if c.runs == 0 {
					if len(given) > 0 {
						t.Errorf("it was given up: %s", <-given)
					}
					return
				}
				idle(t, s)
				if got := <-given; got != "id "+c.reason {
					t.Errorf("given up with %q", got)
				}
				if runs.Load() != c.runs || len(given) > 0 {
					t.Errorf("%d runs, want %d; %d more calls of Fail", runs.Load(), c.runs, len(given))
				}
			})
		})
	}
}

func TestFindUnstorable(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
		found bool
	}{
		{nil, "", false}, {"a", "", false}, {"\x00", "", true}, {"\xff", "", true}, {true, "", false},
		{map[string]any{"a/b": []any{"x", map[string]any{"c~": "\x00"}}}, "/a~1b/1/c~0", true},
		{map[string]any{"b\x00": "x"}, "/b", true},
		{map[string]any{"b": []any{}, "c": map[string]any{}}, "", false},
	} {
		if got, found := FindUnstorable(c.value); got != c.want || found != c.found {
			t.Errorf("%#v: %q %v", c.value, got, found)
		}
	}
}

// TestLostDatabase opens folders whose database is gone.
func TestLostDatabase(t *testing.T) {
	for name, lose := range map[string]func(file string) error{
		"is missing": os.Remove,
		"is empty":   func(file string) error { return os.Truncate(file, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := open(t, Config{Dir: dir}).Close(); err != nil {
				t.Fatal(err)
			}
			if err := lose(filepath.Join(dir, "formwork.db")); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), Config{Dir: dir})
			var storage *StorageError
			if !errors.As(err, &storage) || storage.What != name || !strings.Contains(err.Error(), "restore it from a backup") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestCheckReportsDamage damages pages of a database that is open: Check writes to others.
func TestCheckReportsDamage(t *testing.T) {
	config := Config{Dir: fixtures.TempDir(t)}
	s := open(t, config)
	execute(t, s, "CREATE TABLE keys (k TEXT PRIMARY KEY)")
	for i := range 200 {
		execute(t, s, fmt.Sprintf("INSERT INTO keys (k) VALUES ('%0500d')", i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(config.Dir, "formwork.db")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at+4096 <= len(content); at += 4096 {
		if page := content[at : at+4096]; strings.Contains(string(page), strings.Repeat("0", 400)) {
			copy(page, strings.Repeat("x", 4096))
		}
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, config)
	if err := s.Check(t.Context()); err != nil {
		t.Fatalf("before anything has met the damage: %v", err)
	}
	err = s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
		_, err := Exec(ctx, tx, "UPDATE keys SET k = k || 'x'")
		return err
	})
	var storage *StorageError
	if !errors.As(err, &storage) {
		t.Fatalf("the write: %v", err)
	}
	if err := s.Check(t.Context()); !errors.As(err, &storage) || storage.What != "is damaged" {
		t.Errorf("afterwards: %v", err)
	}
}

func execute(t *testing.T, s *Store, text string) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
		_, err := Exec(ctx, tx, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
