package store

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestLockedDatabase: while another program has the database locked, nobody waits longer
// than 5 s, however many wait, and afterwards all is well.
func TestLockedDatabase(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	counters(t, s, "a")
	other, err := sql.Open("sqlite", sqliteDSN(filepath.Join(dir, "formwork.db"), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	lock, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	count := func(ctx context.Context, tx *Tx) error {
		_, err := Exec(ctx, tx, "UPDATE counters SET n = n + 1")
		return err
	}
	var waiting sync.WaitGroup
	for range 20 {
		waiting.Go(func() {
			begun := time.Now()
			err := s.Write(t.Context(), count)
			var fault *StorageError
			if took := time.Since(begun); !errors.As(err, &fault) || fault.What != "is locked by another program" || took > 30*time.Second {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
	waiting.Wait()
	if _, err := lock.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Write(t.Context(), count); err != nil {
			t.Error(err)
		}
	}
	var timeout int
	if err := Query(t.Context(), s.on(s.writer), &timeout, "PRAGMA busy_timeout"); err != nil || time.Duration(timeout)*time.Millisecond != lockPatience {
		t.Errorf("afterwards the connection waits %d ms, %v", timeout, err)
	}
}
