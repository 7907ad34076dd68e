package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A ColumnError reports that a column has a text that cannot be decoded.
type ColumnError struct {
	Column string // TABLE.COLUMN
	Err    error
}

func (e *ColumnError) Error() string { return fmt.Sprintf("read the column %s: %v", e.Column, e.Err) }
func (e *ColumnError) Unwrap() error { return e.Err }

// A JSON is a column with a value of a type as JSON. The zero value is an empty text: it is the zero
// value of the type, and what null is written as. A text that cannot be decoded fails the reading of
// its row with a [*ColumnError]. Objects, which may be large, are checked then and decoded when they are needed.
//
// Columns are compared by Equal: with == they are the same only if one is a copy of the other. A copy shares
// the value: what Get returns must not be changed.
type JSON[T any] struct {
	text string
	cell *cell[T]
}

// A cell is the value of a column, which is decoded once.
type cell[T any] struct {
	once  sync.Once
	value T
}

// JSONOf is a column with a value that encoding/json can encode. It panics for any other.
func JSONOf[T any](value T) JSON[T] {
	text, err := json.Marshal(value)
	switch {
	case err != nil:
		panic(fmt.Sprintf("encode %T: %v", value, err))
	case string(text) == "null":
		return JSON[T]{}
	}
	return decoded(string(text), value)
}

// decoded is a column whose value is known.
func decoded[T any](text string, value T) JSON[T] {
	c := &cell[T]{value: value}
	c.once.Do(func() {})
	return JSON[T]{text, c}
}

// Get returns the value.
func (j JSON[T]) Get() T {
	if j.cell == nil {
		var zero T
		return zero
	}
	j.cell.once.Do(func() { _ = decodeJSON(j.text, &j.cell.value) }) // what scan left can be decoded
	return j.cell.value
}

// Text is the value as JSON, "" for the zero value.
func (j JSON[T]) Text() string { return j.text }

// IsZero reports whether there is no value.
func (j JSON[T]) IsZero() bool { return j.text == "" }

// Equal reports whether two columns have the same text.
func (j JSON[T]) Equal(other JSON[T]) bool { return j.text == other.text }

// Value implements [driver.Valuer].
func (j JSON[T]) Value() (driver.Value, error) { return j.text, nil }

// Scan implements [sql.Scanner].
func (j *JSON[T]) Scan(src any) error {
	text, err := textOf(src)
	if err != nil {
		return err
	}
	return j.scan(text, false)
}

// textOf is what a column of a text is read as.
func textOf(src any) (string, error) {
	switch src := src.(type) {
	case string:
		return src, nil
	case []byte:
		return string(src), nil
	}
	return "", fmt.Errorf("the column must be text but is %T", src)
}

// scan reads a text, of which may be known that it is JSON.
func (j *JSON[T]) scan(text string, valid bool) error {
	*j = JSON[T]{}
	if text == "" || text == "null" {
		return nil
	}
	var value T
	if _, object := any(value).(map[string]any); object && text[0] == '{' && (valid || json.Valid([]byte(text))) {
		*j = JSON[T]{text, &cell[T]{}}
		return nil
	}
	if err := decodeJSON(text, &value); err != nil {
		return fmt.Errorf("not the JSON of %T: %T", value, err) // the error itself may show a piece of what is secret
	}
	*j = decoded(text, value)
	return nil
}

// decodeJSON decodes a text. Numbers keep their digits.
func decodeJSON(text string, into any) error {
	if list, ok := into.(*[]string); ok { // the most frequent ones
		return json.Unmarshal([]byte(text), list)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// MarshalJSON implements [json.Marshaler]: columns may be members of the values of others.
func (j JSON[T]) MarshalJSON() ([]byte, error) {
	if j.text == "" {
		return []byte("null"), nil
	}
	return []byte(j.text), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (j *JSON[T]) UnmarshalJSON(text []byte) error { return j.scan(string(text), true) }

// Successor is the smallest text after every text that begins with prefix, in the order of
// bytes. It returns false if there is no such text: for "", and for a prefix that consists of
// U+10FFFF only.
func Successor(prefix string) (string, bool) {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		if r == utf8.RuneError && size == 1 {
			continue // not UTF-8, so no key begins with it
		}
		if r++; r == 0xD800 {
			r = 0xE000 // no characters in between
		}
		if r <= utf8.MaxRune {
			return prefix + string(r), true
		}
	}
	return "", false
}

// FindUnstorable returns the JSON Pointer of a text in a value of encoding/json that no database
// can keep, the first in the order of the keys. It reports false if there is none.
func FindUnstorable(value any) (pointer string, found bool) {
	switch value := value.(type) {
	case string:
		return "", !Storable(value)
	case []any:
		for i, item := range value {
			if at, found := FindUnstorable(item); found {
				return fmt.Sprintf("/%d%s", i, at), true
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if !Storable(key) {
				return "/" + strings.ToValidUTF8(strings.ReplaceAll(key, "\x00", ""), ""), true
			}
			if at, found := FindUnstorable(value[key]); found {
				return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key) + at, true
			}
		}
	}
	return "", false
}

// MaxKey bounds a text in an index, in bytes. An entry of an index of PostgreSQL takes some 2,700
// bytes, of which an account, a region and the name of a type take others.
const MaxKey = 2048

// Storable reports whether a text can be kept in a database, or looked for in one.
func Storable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }
