package store

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"strings"
)

// maxStatements is how many prepared statements a connection to SQLite keeps. Each takes
// some 10 KB.
const maxStatements = 96

// A preparing connector opens connections that keep prepared statements by their texts: for a short
// statement, half of the time is the parser's.
type preparing struct{ driver.Connector }

// Connect implements [driver.Connector].
func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := conn.(sqliteConn)
	if !ok {
		return conn, nil
	}
	return &preparingConn{sqliteConn: full, kept: map[string]*list.Element{}, order: list.New()}, nil
}

// sqliteConn is what database/sql uses of a connection of the driver.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// A preparingConn is used by one goroutine at a time, as database/sql requires.
type preparingConn struct {
	sqliteConn
	kept  map[string]*list.Element // *statement, by its text
	order *list.List               // the one used last is the first
}

// A statement is a prepared one.
type statement struct {
	text string
	stmt interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	busy bool // its rows are being read
}

// ExecContext implements [driver.ExecerContext].
func (c *preparingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.statement(ctx, query)
	if err != nil || s == nil {
		return c.sqliteConn.ExecContext(ctx, query, args) // which has the better error
	}
	result, err := s.stmt.ExecContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, c.drop(s))
	}
	return result, nil
}

// QueryContext implements [driver.QueryerContext].
func (c *preparingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.statement(ctx, query)
	if err != nil || s == nil {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	rows, err := s.stmt.QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, c.drop(s))
	}
	s.busy = true
	return &statementRows{Rows: rows, statement: s}, nil
}

// Close implements [driver.Conn].
func (c *preparingConn) Close() error {
	var errs []error
	for c.order.Len() > 0 {
		errs = append(errs, c.drop(c.order.Front().Value.(*statement)))
	}
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

// statement returns the prepared statement of a query, nil for a query that is not kept.
func (c *preparingConn) statement(ctx context.Context, text string) (*statement, error) {
	if found := c.kept[text]; found != nil {
		s := found.Value.(*statement)
		if s.busy {
			return nil, nil
		}
		c.order.MoveToFront(found)
		return s, nil
	}
	if !keeps(text) {
		return nil, nil
	}
	prepared, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s := &statement{text: text}
	var full bool
	if s.stmt, full = prepared.(interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}); !full {
		return nil, prepared.Close()
	}
	c.kept[text] = c.order.PushFront(s)
	for oldest := c.order.Back(); c.order.Len() > maxStatements && oldest != nil; {
		before := oldest.Prev()
		if old := oldest.Value.(*statement); !old.busy {
			if err := c.drop(old); err != nil {
				return nil, err
			}
		}
		oldest = before
	}
	return s, nil
}

// drop forgets a statement.
func (c *preparingConn) drop(s *statement) error {
	if found := c.kept[s.text]; found != nil && found.Value == s {
		delete(c.kept, s.text)
		c.order.Remove(found)
	}
	return s.stmt.Close()
}

// statementRows are the rows of a prepared statement, which is free when they are closed.
type statementRows struct {
	driver.Rows
	statement *statement
}

// Close implements [driver.Rows].
func (r *statementRows) Close() error {
	r.statement.busy = false
	return r.Rows.Close()
}

// keeps reports whether a statement is kept: one that reads or writes rows.
func keeps(query string) bool {
	kind, _, _ := strings.Cut(strings.TrimLeft(query, " \t\r\n"), " ")
	switch kind {
	case "SELECT", "INSERT", "UPDATE", "DELETE":
		return !strings.Contains(query, ";")
	}
	return false
}
