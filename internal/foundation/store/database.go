package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A DB executes statements: [Store.Read] and [OpenReader] on what has been committed, a [Tx] in its transaction. The
// arguments of a statement are never part of its text: each is sent for a ? in the text.
type DB interface{ handle() *database }

// A database is a connection, a pool of them or a transaction.
type database struct {
	conn     conn
	postgres bool
	sealer   Sealer // nil writes in clear
}

func (d *database) handle() *database { return d }

// conn is what statements need of *sql.DB, *sql.Conn and *sql.Tx.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Exec executes a statement and returns how many rows it wrote.
func Exec(ctx context.Context, db DB, query string, args ...any) (int64, error) {
	d := db.handle()
	query, values, err := d.bind(query, args)
	if err != nil {
		return 0, err
	}
	result, err := d.conn.ExecContext(ctx, query, values...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Query executes a statement that returns rows. dest is a pointer: to a slice for all rows, otherwise for the first
// one, without which the error is [sql.ErrNoRows]. A structure gets the columns that its fields have the names of, any
// other value the only column.
func Query(ctx context.Context, db DB, dest any, query string, args ...any) error {
	into := reflect.ValueOf(dest).Elem()
	element, list := into.Type(), into.Kind() == reflect.Slice && into.Type().Elem().Kind() != reflect.Uint8
	if list {
		element = element.Elem()
	}
	s := scanner{db: db.handle()}
	if isStructure(element) {
		s.table = tableOf(element)
	}
	return s.query(ctx, into, list, query, args)
}

// Count counts the rows of a query that begins with FROM.
func Count(ctx context.Context, db DB, from string, args ...any) (count int64, err error) {
	err = Query(ctx, db, &count, "SELECT COUNT(*) "+from, args...)
	return count, err
}

// Exists reports whether a query that begins with FROM has rows.
func Exists(ctx context.Context, db DB, from string, args ...any) (exists bool, err error) {
	err = Query(ctx, db, &exists, "SELECT EXISTS (SELECT 1 "+from+")", args...)
	return exists, err
}

// A scanner reads the rows of a statement.
type scanner struct {
	db      *database
	table   *table    // nil for a single column
	columns []*column // in the order of the result; nil: by the names in it
}

func (s *scanner) query(ctx context.Context, into reflect.Value, list bool, query string, args []any) (err error) {
	query, values, err := s.db.bind(query, args)
	if err != nil {
		return err
	}
	rows, err := s.db.conn.QueryContext(ctx, query, values...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if s.table != nil && s.columns == nil {
		if s.columns, err = s.table.named(rows); err != nil {
			return err
		}
	}
	targets := make([]any, max(1, len(s.columns)))
	if list {
		into.SetLen(0)
	}
	for rows.Next() {
		target := into
		if list {
			into.Grow(1)
			into.SetLen(into.Len() + 1)
			target = into.Index(into.Len() - 1)
			target.SetZero()
		}
		s.aim(targets, target)
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if !list {
			return nil
		}
	}
	if err := rows.Err(); err != nil || list {
		return err
	}
	return sql.ErrNoRows
}

// aim points the targets of a scan at the fields of a row.
func (s *scanner) aim(targets []any, row reflect.Value) {
	if s.table == nil {
		targets[0] = row.Addr().Interface()
	}
	for i, c := range s.columns {
		targets[i] = c.target(s.db, s.table, row)
	}
}

// An inList is the argument of an IN, see [In].
type inList []any

// In is the argument of a condition such as "name IN (?)". An empty list is NULL: neither IN nor
// NOT IN is true of it.
func In[T any](values []T) any {
	out := make(inList, len(values))
	for i, value := range values {
		out[i] = value
	}
	return out
}

// padded repeats the last value of a list, so that lists of many lengths make statements of few.
func (l inList) padded() inList {
	if len(l) == 0 {
		return inList{nil}
	}
	size := 1
	for size < len(l) {
		size *= 2
	}
	for len(l) < size {
		l = append(l, l[len(l)-1])
	}
	return l
}

// bind returns a statement with the placeholders of the database, and the values for them.
func (d *database) bind(query string, args []any) (string, []any, error) {
	values, lists := make([]any, 0, len(args)), false
	counts := make([]int, len(args))
	for i, arg := range args {
		many, isList := arg.(inList)
		if isList {
			many, lists = many.padded(), true
		} else {
			many = inList{arg}
		}
		counts[i] = len(many)
		for _, value := range many {
			encoded, err := encodeValue(value)
			if err != nil {
				return "", nil, err
			}
			values = append(values, encoded)
		}
	}
	if d.postgres || lists {
		query = d.place(query, counts)
	}
	return query, values, nil
}

// place writes as many placeholders for each ? as it has values.
func (d *database) place(query string, counts []int) string {
	var out strings.Builder
	out.Grow(len(query) + 3*len(counts))
	for arg, number := 0, 1; ; arg++ {
		text, rest, found := cutPlaceholder(query)
		out.WriteString(text)
		if !found {
			return out.String()
		}
		count := 1 // the database reports a missing value
		if arg < len(counts) {
			count = counts[arg]
		}
		for i := range count {
			if i > 0 {
				out.WriteString(", ")
			}
			if d.postgres {
				out.WriteByte('$')
				out.WriteString(strconv.Itoa(number))
			} else {
				out.WriteByte('?')
			}
			number++
		}
		query = rest
	}
}

// cutPlaceholder returns what is before and after the first ? outside of texts.
func cutPlaceholder(query string) (before, after string, found bool) {
	quoted := false
	for i := range len(query) {
		switch c := query[i]; {
		case c == '\'':
			quoted = !quoted // a doubled quote starts the next text
		case c == '?' && !quoted:
			return query[:i], query[i+1:], true
		}
	}
	return query, "", false
}

// encodeValue is a value as drivers take it. A text that no database stores is a [*StatementError].
func encodeValue(value any) (driver.Value, error) {
	switch value := value.(type) {
	case string:
		return encodeText(value)
	case nil, int64, bool, []byte:
		return value, nil
	}
	encoded, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return nil, &StatementError{fmt.Sprintf("a value of %T has no form in SQL", value)}
	}
	if text, ok := encoded.(string); ok {
		return encodeText(text)
	}
	return encoded, nil
}

func encodeText(text string) (driver.Value, error) {
	if !Storable(text) {
		return nil, &StatementError{"a text in it has a character that no database stores"}
	}
	return text, nil
}
