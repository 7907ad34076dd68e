package store

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/uptrace/bun/schema"
)

// A Sealer encrypts texts. A text that was sealed for one owner cannot be opened for another.
type Sealer interface {
	Seal(owner, value string) string
	Open(owner, sealed string) (string, error)
}

// sealedMark is the prefix of the text of a sealed column. A text without it was written
// before its column was sealed, and is read unchanged.
const sealedMark = "sealed:"

// A sealing dialect encrypts the columns of models whose fields have a tag seal, such as
//
//	Properties string `bun:"properties" seal:"stack_resources.properties"`
//
// when they are written, and decrypts them when they are read. The value of the tag is the
// owner: a sealed text is of no use in another column. Such a column is a text or a [JSON], is not
// compared in SQL, and is read by fields with the same tag only. Empty texts stay empty.
//
// The errors of columns that cannot be read name them.
type sealingDialect struct {
	schema.Dialect
	tables *schema.Tables
	sealer Sealer // nil writes in clear
}

func withSealer(inner schema.Dialect, sealer Sealer) schema.Dialect {
	d := &sealingDialect{Dialect: inner, sealer: sealer}
	d.tables = schema.NewTables(d)
	return d
}

// Tables are the models of this dialect.
func (d *sealingDialect) Tables() *schema.Tables { return d.tables }

// OnTable changes how the fields of a model are written and read.
func (d *sealingDialect) OnTable(table *schema.Table) {
	d.Dialect.OnTable(table)
	for _, field := range table.FieldMap {
		if _, ok := reflect.Zero(field.StructField.Type).Interface().(texter); ok {
			nameErrors(field, table.Name+"."+field.Name)
		}
		if owner := field.StructField.Tag.Get("seal"); owner != "" {
			d.seal(field, owner)
		}
	}
}

// A texter is a [JSON] of any type.
type texter interface{ Text() string }

// nameErrors has the errors of a column that cannot be read name it.
func nameErrors(field *schema.Field, name string) {
	scan := field.Scan
	field.Scan = func(dest reflect.Value, src any) error {
		if err := scan(dest, src); err != nil {
			return &ColumnError{Column: name, Err: err}
		}
		return nil
	}
}

func (d *sealingDialect) seal(field *schema.Field, owner string) {
	scan := field.Scan
	field.Scan = func(dest reflect.Value, src any) error {
		var text string
		switch src := src.(type) {
		case string:
			text = src
		case []byte:
			text = string(src)
		default:
			return scan(dest, src)
		}
		sealed, found := strings.CutPrefix(text, sealedMark)
		if !found {
			return scan(dest, src)
		}
		if d.sealer == nil {
			return fmt.Errorf("%s is sealed, and the store was opened without a key", owner)
		}
		text, err := d.sealer.Open(owner, sealed)
		if err != nil {
			return fmt.Errorf("%s: %w", owner, err)
		}
		return scan(dest, text)
	}
	if d.sealer == nil {
		return
	}
	field.Append = func(gen schema.QueryGen, b []byte, value reflect.Value) []byte {
		var text string
		if of, ok := value.Interface().(texter); ok {
			text = of.Text()
		} else {
			text = value.String()
		}
		if text != "" {
			return gen.Dialect().AppendString(b, sealedMark+d.sealer.Seal(owner, text))
		}
		return gen.Dialect().AppendString(b, "")
	}
}
