package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A Row makes a structure a row of the table in its tag:
//
//	type user struct {
//		store.Row `db:"users AS u"`
//		ID        string     `db:"id,pk"`
//		Seq       int64      `db:"seq,serial"` // the database numbers it
//		Password  string     `db:"password" seal:"users.password"`
//		SeenAt    store.Time `db:"seen_at"`
//	}
//
// A field is a text, a number, a truth value, a pointer to one, which is nil for NULL, or a type that is its own
// [driver.Valuer] and [sql.Scanner], such as [JSON] and [Time]. Its tag is the name of the column. Fields without a
// tag are no columns; those of an embedded structure without a tag are columns, too.
type Row struct{}

// A table is how a structure is read and written.
type table struct {
	typ     reflect.Type
	name    string // "users"
	from    string // "users AS u"
	columns []*column
	byName  map[string]*column
	keys    []*column
	rest    []*column // what is written besides the keys
	query   string    // SELECT all columns FROM the table
}

// A column is a field of a structure.
type column struct {
	name    string
	index   []int
	owner   string // what its texts are sealed for; "" in clear
	named   bool   // errors name it
	serial  bool
	valuer  bool
	pointer bool
}

var tables sync.Map // of *table, by reflect.Type

// tableOf returns the table of a structure. It panics for a field that has no form in a database.
func tableOf(t reflect.Type) *table {
	if known, ok := tables.Load(t); ok {
		return known.(*table)
	}
	made := &table{typ: t, byName: map[string]*column{}}
	made.add(t, nil)
	var names []string
	prefix := ""
	if _, alias, ok := strings.Cut(made.from, " AS "); ok {
		prefix = alias + "."
	}
	for _, c := range made.columns {
		names = append(names, prefix+quoteName(c.name))
	}
	made.query = "SELECT " + strings.Join(names, ", ") + " FROM " + made.from + " "
	known, _ := tables.LoadOrStore(t, made)
	return known.(*table)
}

func quoteName(name string) string { return `"` + name + `"` }

// isStructure reports whether a type is a structure of columns and not itself the value of one.
func isStructure(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[sql.Scanner]())
}

func (t *table) add(structure reflect.Type, index []int) {
	for i := range structure.NumField() {
		field := structure.Field(i)
		tag, tagged := field.Tag.Lookup("db")
		at := append(index[:len(index):len(index)], i)
		switch {
		case field.Type == reflect.TypeFor[Row]():
			t.from = tag
			t.name, _, _ = strings.Cut(tag, " ")
		case field.Anonymous && !tagged && isStructure(field.Type):
			t.add(field.Type, at)
		case tagged && tag != "-":
			t.addColumn(field, tag, at)
		}
	}
}

func (t *table) addColumn(field reflect.StructField, tag string, index []int) {
	name, option, _ := strings.Cut(tag, ",")
	pointer := reflect.PointerTo(field.Type)
	c := &column{name: name, index: index, owner: field.Tag.Get("seal"), serial: option == "serial",
		named: field.Type.Implements(reflect.TypeFor[texter]()), valuer: field.Type.Implements(reflect.TypeFor[driver.Valuer]())}
	kind := field.Type.Kind()
	if kind == reflect.Pointer {
		c.pointer, kind = true, field.Type.Elem().Kind()
	}
	switch {
	case c.valuer && pointer.Implements(reflect.TypeFor[sql.Scanner]()):
	case kind == reflect.String, kind == reflect.Bool, reflect.Int <= kind && kind <= reflect.Int64:
	case field.Type == reflect.TypeFor[[]byte]():
	default:
		panic(fmt.Sprintf("the column %s of %s has the type %s, which has no form in a database", name, t.typ, field.Type))
	}
	t.columns, t.byName[name] = append(t.columns, c), c
	if option == "pk" || c.serial {
		t.keys = append(t.keys, c)
	} else {
		t.rest = append(t.rest, c)
	}
}

// named returns the columns of a result by their names.
func (t *table) named(rows *sql.Rows) ([]*column, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	columns := make([]*column, len(names))
	for i, name := range names {
		if columns[i] = t.byName[name]; columns[i] == nil {
			return nil, fmt.Errorf("%s has no field for the column %s", t.typ, name)
		}
	}
	return columns, nil
}

// pick returns columns by their names, all that are no keys without any.
func (t *table) pick(names []string) []*column {
	if len(names) == 0 {
		return t.rest
	}
	columns := make([]*column, len(names))
	for i, name := range names {
		if columns[i] = t.byName[name]; columns[i] == nil {
			panic(fmt.Sprintf("%s has no column %s", t.typ, name))
		}
	}
	return columns
}

// target is what a column is scanned into.
func (c *column) target(db *database, t *table, row reflect.Value) any {
	target := row.FieldByIndex(c.index).Addr().Interface()
	if c.owner != "" {
		target = &opener{db.sealer, c.owner, target}
	}
	if c.named {
		target = &namer{t.name + "." + c.name, target}
	}
	return target
}

// value is a column of a row as the database gets it.
func (c *column) value(db *database, row reflect.Value) (any, error) {
	field := row.FieldByIndex(c.index)
	switch {
	case c.owner != "":
		return encodeText(seal(db.sealer, c.owner, field))
	case !c.valuer && field.Kind() == reflect.String:
		return encodeText(field.String())
	}
	return encodeValue(field.Interface())
}

// values appends columns of a row to the arguments of a statement.
func (t *table) values(db *database, args []any, columns []*column, row reflect.Value) ([]any, error) {
	for _, c := range columns {
		value, err := c.value(db, row)
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	return args, nil
}

// Get reads the first row of a table that clauses select: what follows FROM in a SELECT, such as WHERE and ORDER BY. The
// error is [sql.ErrNoRows] if there is none.
func Get[T any](ctx context.Context, db DB, row *T, clauses string, args ...any) error {
	t := tableOf(reflect.TypeFor[T]())
	s := scanner{db: db.handle(), table: t, columns: t.columns}
	return s.query(ctx, reflect.ValueOf(row).Elem(), false, t.query+clauses, args)
}

// List reads the rows of a table that clauses select, see [Get].
func List[T any](ctx context.Context, db DB, rows *[]T, clauses string, args ...any) error {
	t := tableOf(reflect.TypeFor[T]())
	s := scanner{db: db.handle(), table: t, columns: t.columns}
	return s.query(ctx, reflect.ValueOf(rows).Elem(), true, t.query+clauses, args)
}

// Find reads the first row of a table that satisfies a condition, nil if there is none.
func Find[T any](ctx context.Context, db DB, where string, args ...any) (*T, error) {
	row := new(T)
	err := Get(ctx, db, row, "WHERE "+where+" LIMIT 1", args...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %T: %w", *row, err)
	}
	return row, nil
}

// FindAll reads the rows of a table that satisfy a condition, in an order.
func FindAll[T any](ctx context.Context, db DB, order, where string, args ...any) ([]T, error) {
	var rows []T
	if err := List(ctx, db, &rows, "WHERE "+where+" ORDER BY "+order, args...); err != nil {
		return nil, fmt.Errorf("read %T: %w", rows, err)
	}
	return rows, nil
}

// Columns lists the columns of a structure for a SELECT, but for some.
func Columns[T any](but ...string) string {
	var names []string
	for _, c := range tableOf(reflect.TypeFor[T]()).columns {
		if !slices.Contains(but, c.name) {
			names = append(names, quoteName(c.name))
		}
	}
	return strings.Join(names, ", ")
}

// A Where collects conditions, of which rows satisfy all.
type Where struct {
	Args  []any
	texts []string
}

// And adds a condition.
func (w *Where) And(condition string, args ...any) {
	w.texts = append(w.texts, condition)
	w.Args = append(w.Args, args...)
}

// Clause is the WHERE of a statement, "" without conditions.
func (w *Where) Clause() string {
	if len(w.texts) == 0 {
		return ""
	}
	return "WHERE (" + strings.Join(w.texts, ") AND (") + ")"
}
