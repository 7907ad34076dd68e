package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// checkSize is how much room Check looks for: that of a small package, more than what a
// database has left in its files.
const checkSize = 256 << 10

// Check reports why nothing can be stored, nil if something can: it commits a transaction
// that writes, and on SQLite writes a file next to the blobs and removes it.
func (s *Store) Check(ctx context.Context) error {
	query := "PRAGMA user_version = 1" // of the file's first page; unused by SQLite otherwise
	if s.isPostgres() {
		query = "SELECT pg_current_xact_id()" // which a server that only reads refuses
	}
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := Exec(ctx, tx, query)
		return err
	})
	if err != nil || s.isPostgres() {
		return err
	}
	if s.damaged.Load() { // elsewhere than on the pages that the transaction wrote
		return &StorageError{Path: s.file, What: "is damaged", Advice: adviceDamaged, Err: errors.New("a statement failed because of it")}
	}
	return s.explainFile(CheckFolder(filepath.Join(s.config.Dir, "blobs", incoming)))
}

// CheckFolder reports why no file can be written to a folder, nil if one can.
func CheckFolder(dir string) error {
	file, err := os.CreateTemp(dir, "check-*")
	if err != nil {
		return fmt.Errorf("write to %s: %w", dir, err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // at worst, the remaining file is empty
	if _, err = file.Write(make([]byte, checkSize)); err == nil {
		err = file.Close()
	} else {
		_ = file.Close() // the first error is the one that matters
	}
	if err != nil {
		return fmt.Errorf("write to %s: %w", dir, err)
	}
	return nil
}
