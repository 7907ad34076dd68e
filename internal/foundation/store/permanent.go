package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// maxFailures is how often in a row a worker may fail with errors of which nobody knows whether
// they pass, before its work is given up: after some 15 minutes. Permanent errors end work at
// once, and transient ones never do. docs/decisions/0016 has the table.
const maxFailures = 20

// A StatementError reports that a statement could not be built: a value in it has no form in
// SQL. Nothing was executed.
type StatementError struct{ What string }

func (e *StatementError) Error() string { return "the statement cannot be built: " + e.What }

// A lifespan says whether an error passes.
type lifespan int

const (
	unknown   lifespan = iota // it may pass
	transient                 // it passes: the database is away, busy or full, or another one was faster
	permanent                 // the same work meets it at every attempt
)

// Permanent reports whether an error of the store will be the same at every attempt.
func Permanent(err error) bool {
	span, _ := spanOf(err)
	return span == permanent
}

// Reason says why work failed, for those who see its outcome and not the log: without values.
func Reason(err error) string {
	_, reason := spanOf(err)
	if reason == "" {
		reason, _, _ = strings.Cut(err.Error(), "\n")
	}
	return "Internal failure: " + words.Cut(strings.ToValidUTF8(strings.ReplaceAll(reason, "\x00", ""), ""), maxReason)
}

// maxReason bounds a reason in characters.
const maxReason = 500

// spanOf returns how long an error lasts, and the reason in words for those of a database.
func spanOf(err error) (span lifespan, reason string) {
	var statement *StatementError
	var column *ColumnError
	var large *TooLargeError
	var server *pgconn.PgError
	var connect *pgconn.ConnectError
	var lite *sqlite.Error
	var full *StorageError
	switch {
	case errors.As(err, &statement):
		return permanent, "a value contains a character that no database stores"
	case errors.As(err, &column):
		return permanent, "the column " + column.Column + " has a value that cannot be read"
	case errors.As(err, &large):
		return permanent, large.Error()
	case errors.As(err, &server):
		return spanOfPostgres(server.Code)
	case errors.As(err, &full), errors.As(err, &connect), errors.Is(err, errBusy), errors.Is(err, ErrStale):
		return transient, ""
	case errors.As(err, &lite):
		return spanOfSQLite(lite.Code() & 0xff)
	case passes(err):
		return transient, ""
	}
	return unknown, ""
}

// passes reports whether an error is that of a connection or a disk. What takes too long may
// take too long every time.
func passes(err error) bool {
	var network net.Error
	return errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded) || slices.ContainsFunc([]error{
		driver.ErrBadConn, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
	}, func(known error) bool { return errors.Is(err, known) })
}

const refusedStatement = "the database refused a statement; the log of the server has the error"

// spanOfPostgres classifies a code by its class, the first two characters.
func spanOfPostgres(code string) (lifespan, string) {
	switch code {
	case "25006", "25P03", "42501": // only reads, was idle, lacks a privilege: whoever runs the server ends that
		return transient, ""
	case "25P02":
		return permanent, refusedStatement
	case "54000":
		return permanent, "a value is longer than the database can index or store"
	}
	switch class := code[:min(2, len(code))]; class {
	case "08", "28", "3D", "40", "53", "55", "57", "58":
		return transient, ""
	case "22":
		return permanent, "the database cannot store a value"
	case "21", "23", "42", "54":
		return permanent, refusedStatement
	}
	return unknown, refusedStatement
}

func spanOfSQLite(code int) (lifespan, string) {
	switch code {
	case sqlite3.SQLITE_TOOBIG:
		return permanent, "a value is longer than the database can store"
	case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE:
		return permanent, refusedStatement
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_SCHEMA:
		return transient, ""
	}
	return unknown, refusedStatement
}
