package store

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"reflect"
	"strconv"
	"strings"
)

// maxStatements is how many prepared statements a connection to SQLite keeps. Each takes
// some 10 KB.
const maxStatements = 96

// maxLiterals is how many literals a statement may have to be kept. Those with more write many
// rows at once, and rarely come again.
const maxLiterals = 48

// A preparing connector opens connections that keep prepared statements. Bun writes values
// into the text of its statements; for a short statement, half of the time was the parser's.
// The connections replace the values with parameters, so that statements which differ only in
// them are parsed once.
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
	if err := wellFormed(query); err != nil {
		return nil, err
	}
	s, values, err := c.statement(ctx, query, args)
	if err != nil || s == nil {
		return c.sqliteConn.ExecContext(ctx, query, args) // which has the better error
	}
	result, err := s.stmt.ExecContext(ctx, values)
	if err != nil {
		return nil, errors.Join(err, c.drop(s))
	}
	return result, nil
}

// QueryContext implements [driver.QueryerContext].
func (c *preparingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := wellFormed(query); err != nil {
		return nil, err
	}
	s, values, err := c.statement(ctx, query, args)
	if err != nil || s == nil {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	rows, err := s.stmt.QueryContext(ctx, values)
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

// statement returns the prepared statement of a query with its values, nil for a query that is
// not kept.
func (c *preparingConn) statement(ctx context.Context, query string, args []driver.NamedValue) (*statement, []driver.NamedValue, error) {
	if len(args) > 0 {
		return nil, nil, nil
	}
	text, values, ok := withoutLiterals(query)
	if !ok {
		return nil, nil, nil
	}
	if found := c.kept[text]; found != nil {
		s := found.Value.(*statement)
		if s.busy {
			return nil, nil, nil
		}
		c.order.MoveToFront(found)
		return s, values, nil
	}
	prepared, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	s := &statement{text: text}
	var full bool
	if s.stmt, full = prepared.(interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}); !full {
		return nil, nil, prepared.Close()
	}
	c.kept[text] = c.order.PushFront(s)
	for oldest := c.order.Back(); c.order.Len() > maxStatements && oldest != nil; {
		before := oldest.Prev()
		if old := oldest.Value.(*statement); !old.busy {
			if err := c.drop(old); err != nil {
				return nil, nil, err
			}
		}
		oldest = before
	}
	return s, values, nil
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

// ColumnTypeDatabaseTypeName implements [driver.RowsColumnTypeDatabaseTypeName].
func (r *statementRows) ColumnTypeDatabaseTypeName(index int) string {
	if typed, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return typed.ColumnTypeDatabaseTypeName(index)
	}
	return ""
}

// ColumnTypeScanType implements [driver.RowsColumnTypeScanType].
func (r *statementRows) ColumnTypeScanType(index int) reflect.Type {
	if typed, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return typed.ColumnTypeScanType(index)
	}
	return reflect.TypeFor[any]()
}

// longNumber is the minimum number of digits of a number that is replaced by a parameter:
// shorter ones are counts and column numbers, which have few values. Among the values of an
// INSERT all are replaced.
const longNumber = 4

// withoutLiterals replaces the texts and long numbers of a statement with parameters. ok is
// false for a statement that is not cached. It keeps empty texts, which conditions of indexes
// name, blobs, and short numbers.
func withoutLiterals(query string) (text string, values []driver.NamedValue, ok bool) {
	kind, ok := keeps(query)
	if !ok {
		return "", nil, false
	}
	var out strings.Builder
	out.Grow(len(query))
	written := 0 // what out has of the query
	replace := func(from, to int, value driver.Value) {
		values = append(values, driver.NamedValue{Ordinal: len(values) + 1, Value: value})
		out.WriteString(query[written:from])
		out.WriteByte('?')
		written = to
	}
	digits := longNumber
	if strings.EqualFold(kind, "INSERT") {
		digits = 1
	}
	for i := 0; i < len(query); {
		c := query[i]
		switch {
		case c == ' ' || c == ',' || c == '(' || c == ')' || c == '=' || c == '.':
			i++
		case isWord(c):
			from, number := i, true
			for i < len(query) && (isWord(query[i]) || query[i] == '.') {
				number = number && '0' <= query[i] && query[i] <= '9'
				i++
			}
			switch word := query[from:i]; {
			case number && len(word) >= digits:
				if n, err := strconv.ParseInt(word, 10, 64); err == nil {
					replace(from, i, n)
				}
			case word == "ON" || word == "SELECT": // what follows are no values
				digits = longNumber
			}
		case c == '\'':
			literal, next := quoted(query, i)
			if next < 0 {
				return "", nil, false
			}
			if literal != "" && (i == 0 || !isWord(query[i-1])) { // not '' or X'…'
				replace(i, next, literal)
			}
			i = next
		case c == '"' || c == '`':
			end := strings.IndexByte(query[i+1:], c) // a doubled quote starts the next name
			if end < 0 {
				return "", nil, false
			}
			i += end + 2
		case c == '?' || c == ';' || c == '[' || c == '@' || c == '$', strings.HasPrefix(query[i:], "--"), strings.HasPrefix(query[i:], "/*"):
			return "", nil, false
		default:
			i++
		}
		if len(values) > maxLiterals {
			return "", nil, false
		}
	}
	out.WriteString(query[written:])
	return out.String(), values, true
}

// keeps returns the first word of a statement, and whether statements of this kind are kept.
func keeps(query string) (kind string, ok bool) {
	kind, _, _ = strings.Cut(strings.TrimLeft(query, " \t\r\n"), " ")
	switch strings.ToUpper(kind) {
	case "SELECT", "INSERT", "UPDATE", "DELETE":
		return kind, true
	}
	return kind, false
}

// quoted reads the text that starts at a quote, and returns where it ends: -1 if it does not.
func quoted(query string, at int) (text string, next int) {
	end := at + 1
	for {
		i := strings.IndexByte(query[end:], '\'')
		if i < 0 {
			return "", -1
		}
		end += i + 1
		if end == len(query) || query[end] != '\'' {
			return strings.ReplaceAll(query[at+1:end-1], "''", "'"), end
		}
		end++
	}
}

func isWord(c byte) bool { return wordBytes[c] }

// wordBytes are the bytes of names, keywords and numbers.
var wordBytes = func() (is [256]bool) {
	for c := range is {
		is[c] = c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
	}
	return is
}()
