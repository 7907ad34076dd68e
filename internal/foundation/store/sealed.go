package store

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"
)

// A Sealer encrypts texts. A text that was sealed for one owner cannot be opened for another.
type Sealer interface {
	Seal(owner, value string) string
	Open(owner, sealed string) (string, error)
}

// sealedMark is the prefix of the text of a sealed column. A text without it was written
// before its column was sealed, and is read unchanged.
const sealedMark = "sealed:"

// seal is the text of a column whose field has a tag seal, such as
//
//	Properties string `db:"properties" seal:"stack_resources.properties"`
//
// which is encrypted when it is written, and decrypted when it is read. The value of the tag is the
// owner: a sealed text is of no use in another column. Such a column is a text or a [JSON], is not
// compared in SQL, and is read by fields with the same tag only. Empty texts stay empty.
func seal(sealer Sealer, owner string, field reflect.Value) string {
	text := field.String()
	if of, ok := field.Interface().(texter); ok {
		text = of.Text()
	}
	if text == "" || sealer == nil {
		return text
	}
	return sealedMark + sealer.Seal(owner, text)
}

// An opener scans a sealed text.
type opener struct {
	sealer Sealer
	owner  string
	into   any
}

// Scan implements [sql.Scanner].
func (o *opener) Scan(src any) error {
	text, err := textOf(src)
	if err != nil {
		return err
	}
	if sealed, found := strings.CutPrefix(text, sealedMark); found {
		if o.sealer == nil {
			return fmt.Errorf("%s is sealed, and the store was opened without a key", o.owner)
		}
		if text, err = o.sealer.Open(o.owner, sealed); err != nil {
			return fmt.Errorf("%s: %w", o.owner, err)
		}
	}
	if scanner, ok := o.into.(sql.Scanner); ok {
		return scanner.Scan(text)
	}
	reflect.ValueOf(o.into).Elem().SetString(text)
	return nil
}

// A texter is a [JSON] of any type.
type texter interface{ Text() string }

// A namer has the errors of a column that cannot be read name it.
type namer struct {
	name string
	into any
}

// Scan implements [sql.Scanner].
func (n *namer) Scan(src any) error {
	if err := n.into.(sql.Scanner).Scan(src); err != nil {
		return &ColumnError{Column: n.name, Err: err}
	}
	return nil
}
