package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// eachStore runs a test on every kind of database.
func eachStore(t *testing.T, test func(t *testing.T, config Config)) {
	t.Helper()
	t.Parallel()
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			test(t, Config{Dir: place.Dir, DSN: place.DSN})
		})
	}
}

// postgres is for what only several nodes can do.
func postgres(t *testing.T) Config {
	t.Helper()
	t.Parallel()
	return Config{DSN: fixtures.NeedPostgres(t)}
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

// counters makes a table of numbers by name.
func counters(t *testing.T, s *Store, names ...string) {
	t.Helper()
	if _, err := Exec(t.Context(), s.on(s.writer), "CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := Exec(t.Context(), s.on(s.writer), "INSERT INTO counters VALUES (?, 0)", name); err != nil {
			t.Fatal(err)
		}
	}
}

func counter(t *testing.T, s *Store, name string) (n int) {
	t.Helper()
	if err := Query(t.Context(), s.Read(), &n, "SELECT n FROM counters WHERE name = ?", name); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWriteLosesNoUpdate(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		counters(t, s, "c")
		const writers, rounds = 8, 15
		var group sync.WaitGroup
		for range writers {
			group.Go(func() {
				for range rounds {
					if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
						var n int
						if err := Query(ctx, tx, &n, "SELECT n FROM counters WHERE name = 'c'"); err != nil {
							return err
						}
						_, err := Exec(ctx, tx, "UPDATE counters SET n = ? WHERE name = 'c'", n+1)
						return err
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if n := counter(t, s, "c"); n != writers*rounds {
			t.Errorf("counted %d, want %d", n, writers*rounds)
		}
	})
}

// TestWriteSeesNoSkew: each transaction changes a row on the strength of another one.
func TestWriteSeesNoSkew(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		names := []string{"left", "right"}
		counters(t, s, names...)
		var group sync.WaitGroup
		var looked atomic.Int32
		start := make(chan struct{})
		for i := range names {
			group.Go(func() {
				<-start
				if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
					var sum int
					if err := Query(ctx, tx, &sum, "SELECT sum(n) FROM counters"); err != nil || sum > 0 {
						return err
					}
					looked.Add(1)
					fixtures.Happens(20*time.Millisecond, func() bool { return looked.Load() == 2 }) // on PostgreSQL both do before one writes
					_, err := Exec(ctx, tx, "UPDATE counters SET n = 1 WHERE name = ?", names[i])
					return err
				}); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		group.Wait()
		if sum := counter(t, s, "left") + counter(t, s, "right"); sum != 1 {
			t.Errorf("%d of the two took the only place", sum)
		}
	})
}

// TestWriteMeetsAKey has a transaction find, at a later attempt, the key that another one
// inserted before it. One that inserts a key twice in any case fails.
func TestWriteMeetsAKey(t *testing.T) {
	s := open(t, postgres(t))
	counters(t, s, "taken")
	attempts := 0
	err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
		if attempts++; attempts > 2 { // it has learned to look
			return nil
		}
		_, err := Exec(ctx, tx, "INSERT INTO counters VALUES ('taken', 1)")
		return err
	})
	if err != nil || attempts != 3 {
		t.Errorf("%d attempts, then %v; want the third to succeed", attempts, err)
	}
	attempts = 0
	err = s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
		attempts++
		_, err := Exec(ctx, tx, "INSERT INTO counters VALUES ('taken', 1)")
		return err
	})
	if !isDuplicate(err) || attempts != maxDuplicates+1 {
		t.Errorf("%d attempts, then %v; want %d and the refusal of the key", attempts, err, maxDuplicates+1)
	}
}

func TestWriteInsideWrite(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		counters(t, s, "c")
		err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
			if _, err := Exec(ctx, tx, "UPDATE counters SET n = 1"); err != nil {
				return err
			}
			if n := counter(t, s, "c"); n != 0 {
				t.Errorf("Read sees %d, which is not committed", n)
			}
			return s.Write(ctx, func(context.Context, *Tx) error { return nil })
		})
		if err == nil {
			t.Error("a write inside a write went through")
		}
		if n := counter(t, s, "c"); n != 0 {
			t.Errorf("the failed write left %d", n)
		}
	})
}

func TestWriteEndsWithItsContext(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		counters(t, s, "c")
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
			if _, err := Exec(ctx, tx, "UPDATE counters SET n = 1"); err != nil {
				return err
			}
			cancel()
			_, err := Exec(ctx, tx, "UPDATE counters SET n = 2")
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
			_, err := Exec(ctx, tx, "UPDATE counters SET n = n + 10")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if n := counter(t, s, "c"); n != 10 {
			t.Errorf("counted %d, want 10", n)
		}
	})
}

func TestReadersCannotWrite(t *testing.T) {
	s := open(t, Config{Dir: fixtures.TempDir(t)})
	counters(t, s, "c")
	if _, err := Exec(t.Context(), s.Read(), "UPDATE counters SET n = 1"); err == nil {
		t.Error("Read has written")
	}
}

func TestTimesAreKept(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := withThings(t, config)
		zone := time.FixedZone("east", 3*3600)
		for i, at := range []time.Time{
			{},
			time.Date(2026, 11, 20, 10, 11, 12, 123456789, zone),
			time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
			time.Unix(0, 0),
		} {
			in := thing{ID: fmt.Sprint(i), At: At(at)}
			if err := Insert(t.Context(), s.on(s.writer), &in); err != nil {
				t.Fatal(err)
			}
			out := thing{ID: in.ID}
			if err := Get(t.Context(), s.Read(), &out, "WHERE id = ?", out.ID); err != nil {
				t.Fatal(err)
			}
			if out != in {
				t.Errorf("kept %v, got %v", in.At, out.At)
			}
			if want := at.Truncate(time.Microsecond); !out.At.Equal(want) {
				t.Errorf("got %v, want %v", out.At, want)
			}
		}
		var null sql.NullInt64
		if err := Query(t.Context(), s.Read(), &null, "SELECT at FROM things WHERE id = '0'"); err != nil || null.Valid {
			t.Errorf("the zero time is %v (%v), want NULL", null, err)
		}
	})
	if err := new(Time).Scan("yesterday"); err == nil {
		t.Error("a text was taken for a time")
	}
}

func TestOpenNeedsAPlace(t *testing.T) {
	if _, err := Open(t.Context(), Config{}); err == nil {
		t.Error("opened nothing")
	}
}

func TestOpenTellsWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(t *testing.T, dir string) string // returns the folder to open
		advice string
	}{
		{"no database", func(t *testing.T, dir string) string {
			writeFile(t, filepath.Join(dir, "formwork.db"), strings.Repeat("no database ", 1000))
			return dir
		}, "move its folder away"},
		{"a page is damaged", func(t *testing.T, dir string) string {
			s := open(t, Config{Dir: dir})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			file, err := os.OpenFile(filepath.Join(dir, "formwork.db"), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if _, err := file.WriteAt([]byte(strings.Repeat("x", 3000)), 100); err != nil {
				t.Fatal(err)
			}
			return dir
		}, "move its folder away"},
		{"a file is in the way", func(t *testing.T, dir string) string {
			writeFile(t, filepath.Join(dir, "file"), "")
			return filepath.Join(dir, "file", "store")
		}, "choose another"},
		{"the database is a folder", func(t *testing.T, dir string) string {
			if err := os.Mkdir(filepath.Join(dir, "formwork.db"), 0o700); err != nil {
				t.Fatal(err)
			}
			return dir
		}, "choose another"},
		{"the folder is read-only", func(t *testing.T, dir string) string {
			readOnly(t, dir)
			return dir
		}, "give this user write access"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.spoil(t, t.TempDir())
			_, err := Open(t.Context(), Config{Dir: dir})
			var fault *StorageError
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want a StorageError", err)
			}
			if !strings.Contains(err.Error(), c.advice) || !strings.Contains(err.Error(), filepath.Base(dir)) {
				t.Errorf("the message does not help: %v", err)
			}
			t.Log(err)
		})
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenMakesFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with % and ?", "a#b", "store")
	open(t, Config{Dir: dir})
	info, err := os.Stat(filepath.Join(dir, "formwork.db"))
	if err != nil || info.Size() == 0 {
		t.Errorf("the database is elsewhere: %v", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may look into the store: %v %v", info.Mode(), err)
	}
}

func TestOpenWithoutServer(t *testing.T) {
	for dsn, part := range map[string]string{
		"postgres://someone:hunter2@127.0.0.1:1/db": "see that the server runs",
		"postgres://someone:hunter2@%zz":            "the URL of the database",
	} {
		_, err := Open(t.Context(), Config{DSN: dsn})
		if err == nil {
			t.Fatal("opened")
		}
		if text := err.Error(); strings.Contains(text, "hunter2") || strings.Contains(text, "\n") || !strings.Contains(text, part) {
			t.Errorf("the message does not help, or tells the password: %v", err)
		}
	}
}

// TestFullDatabase bounds the file instead of the disk, which SQLite reports alike.
func TestFullDatabase(t *testing.T) {
	s := withThings(t, Config{Dir: fixtures.TempDir(t)})
	if _, err := Exec(t.Context(), s.on(s.writer), "PRAGMA max_page_count = 100"); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 0; i < 1000 && err == nil; i++ {
		err = s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
			return Insert(ctx, tx, &thing{ID: fmt.Sprint(i), Data: strings.Repeat("x", 4000)})
		})
	}
	var fault *StorageError
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("got %v", err)
	}
	if err := Query(t.Context(), s.Read(), new(int), "SELECT count(*) FROM things"); err != nil {
		t.Errorf("a full store cannot be read: %v", err)
	}
	if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
		_, err := Exec(ctx, tx, "DELETE FROM things")
		return err
	}); err != nil {
		t.Errorf("no room can be made: %v", err)
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	s := open(t, Config{Dir: fixtures.TempDir(t)})
	var r recorder
	work(t, s, map[string]Run{"k": r.work})
	wake(t, s, "k", "id", time.Time{})
	idle(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, ignore)
}

// TestWritesAreSynced: what Write commits is on the disk, and the connection is given
// back as the claims of wake-ups get it.
func TestWritesAreSynced(t *testing.T) {
	s := open(t, Config{Dir: fixtures.TempDir(t)})
	level := func(ctx context.Context, query func(context.Context, string, ...any) *sql.Row) (level int) {
		t.Helper()
		if err := query(ctx, "PRAGMA synchronous").Scan(&level); err != nil {
			t.Fatal(err)
		}
		return level
	}
	const normal, full = 1, 2
	for _, outcome := range []error{nil, errors.New("rolled back")} {
		if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
			if got := level(ctx, tx.conn.(*sql.Tx).QueryRowContext); got != full {
				t.Errorf("a write is synced at level %d", got)
			}
			return outcome
		}); !errors.Is(err, outcome) {
			t.Fatal(err)
		}
		if got := level(t.Context(), s.writer.QueryRowContext); got != normal {
			t.Errorf("the connection stays at level %d", got)
		}
	}
}
