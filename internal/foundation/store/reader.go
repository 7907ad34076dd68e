package store

import (
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// A Reader reads the database of an SQLite store.
type Reader struct {
	*database
	db *sql.DB
}

// Close closes the database.
func (r *Reader) Close() error { return r.db.Close() }

// OpenReader opens the database of an SQLite store to read it, also while another process uses the folder. It neither
// creates nor migrates one; it returns nil if there is none.
func OpenReader(dir string) (*Reader, error) {
	file := filepath.Join(dir, "formwork.db")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	db, err := openPreparing(sqliteDSN(file, url.Values{"_pragma": {"busy_timeout(2000)", "query_only(1)"}}))
	if err != nil {
		return nil, err
	}
	return &Reader{&database{conn: db}, db}, nil
}
