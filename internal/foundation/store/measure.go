package store

import (
	"context"
	"fmt"
	"os"
)

// Waiting is how many wake-ups wait for their time or for a worker.
func (s *Store) Waiting(ctx context.Context) (int64, error) {
	var waiting int64
	if err := Query(ctx, s.Read(), &waiting, "SELECT count(*) FROM wakeups WHERE node = ''"); err != nil {
		return 0, fmt.Errorf("count wake-ups: %w", s.explain(err))
	}
	return waiting, nil
}

// Size is the size of the database in bytes. It does not include the blobs of an SQLite store,
// which are separate files.
func (s *Store) Size(ctx context.Context) (int64, error) {
	if s.IsPostgres() {
		var size int64
		if err := Query(ctx, s.Read(), &size, "SELECT pg_database_size(current_database())"); err != nil {
			return 0, fmt.Errorf("measure the database: %w", s.explain(err))
		}
		return size, nil
	}
	var size int64
	for _, name := range []string{s.file, s.file + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		} else if name == s.file {
			return 0, fmt.Errorf("measure the database: %w", err)
		}
	}
	return size, nil
}
