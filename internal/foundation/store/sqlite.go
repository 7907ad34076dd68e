package store

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// readerIdle is how long a connection that reads keeps its cache, some 2 MB, without being
// used. Opening another takes a millisecond.
const readerIdle = time.Minute

// openSQLiteFile opens one connection that writes and several that read.
//
// Every commit survives the process. Commits of Write also survive the loss of power, for
// which the log has to be synced (see durable); those that only record the progress of a
// wake-up need not, and are synced with the next. docs/decisions/0007 has the cost. The size
// limit frees disk space after a large transaction.
func openSQLiteFile(file string) (writer, reader *sql.DB, err error) {
	busyTimeout := fmt.Sprintf("busy_timeout(%d)", lockPatience.Milliseconds())
	w, err := openPreparing(sqliteDSN(file, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {busyTimeout, "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(1)", "journal_size_limit(67108864)"},
	}))
	if err != nil {
		return nil, nil, err
	}
	w.SetMaxOpenConns(1)
	r, err := openPreparing(sqliteDSN(file, url.Values{
		"_pragma": {busyTimeout, "query_only(1)"},
	}))
	if err != nil {
		return nil, nil, err
	}
	readers := max(4, runtime.GOMAXPROCS(0))
	r.SetMaxOpenConns(readers)
	r.SetMaxIdleConns(readers)
	r.SetConnMaxIdleTime(readerIdle)
	return w, r, nil
}

// openPreparing opens connections that keep their prepared statements.
func openPreparing(dsn string) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(preparing{connector}), nil
}

// sqliteDSN names a file by a URI, in which no character of the path has a meaning.
func sqliteDSN(file string, query url.Values) string {
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	return u.String()
}
