// Package document reads JSON and YAML into one ordered tree that remembers where every
// value was written.
//
// A user's document keeps its order and its places from the first byte to the last message:
// this package reads all schemas, inputs and settings, so that every later message can contain
// a line and a column. Input is hostile: size and depth are bounded, and the parser never
// recurses deeper than its bound.
//
// The package also contains JSON Pointers (RFC 6901). It does not depend on CloudFormation.
package document

import (
	"encoding/json"
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// Kind is the JSON type of a value.
type Kind uint8

// The kinds. The zero Kind is Null, which is also what a zero [Value] is.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String is the name that JSON Schema uses for the kind.
func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// A Value is one value of a document. Values are not changed after parsing; several
// goroutines may read them.
type Value struct {
	Kind    Kind
	At      diag.Range
	Text    string   // of a String the decoded text, of a Number the literal as written
	Bool    bool     // of a Bool
	Items   []*Value // of an Array
	Members []Member // of an Object, in the order written, repeated keys included
}

// A Member is one key of an object with its value.
type Member struct {
	Key   string
	KeyAt diag.Range
	Value *Value
}

// Get returns the value of a key, or nil if v is not an object or has no such key.
// Of a repeated key the last one counts, as in every JSON reader of the field.
func (v *Value) Get(key string) *Value {
	if m := v.Member(key); m != nil {
		return m.Value
	}
	return nil
}

// Member is [Value.Get] with the place of the key.
func (v *Value) Member(key string) *Member {
	if v == nil || v.Kind != Object {
		return nil
	}
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			return &v.Members[i]
		}
	}
	return nil
}

// Distinct returns the members of an object in the order written, of a repeated key only
// the last, which is the one that counts. It is nil for other values.
func (v *Value) Distinct() []Member {
	if v == nil || v.Kind != Object {
		return nil
	}
	last := make(map[string]int, len(v.Members))
	for i, m := range v.Members {
		last[m.Key] = i
	}
	if len(last) == len(v.Members) {
		return v.Members
	}
	out := make([]Member, 0, len(last))
	for i, m := range v.Members {
		if last[m.Key] == i {
			out = append(out, m)
		}
	}
	return out
}

// Lookup returns the value that the pointer names, or nil.
func (v *Value) Lookup(p Pointer) *Value {
	for _, token := range p {
		if v == nil {
			return nil
		}
		switch v.Kind {
		case Object:
			v = v.Get(token)
		case Array:
			i, ok := arrayIndex(token, len(v.Items))
			if !ok {
				return nil
			}
			v = v.Items[i]
		default:
			return nil
		}
	}
	return v
}

// Any returns the value in the shapes of encoding/json: map[string]any, []any, string,
// bool, nil, and [json.Number] for numbers, so that no digit is lost.
func (v *Value) Any() any {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case Bool:
		return v.Bool
	case Number:
		return json.Number(v.Text)
	case String:
		return v.Text
	case Array:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			out[i] = item.Any()
		}
		return out
	case Object:
		out := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			out[m.Key] = m.Value.Any()
		}
		return out
	}
	return nil
}

// AppendJSON appends the value as compact JSON, members in the order written.
func (v *Value) AppendJSON(b []byte) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	switch v.Kind {
	case Bool:
		if v.Bool {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case Number:
		return append(b, v.Text...)
	case String:
		return appendString(b, v.Text)
	case Array:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.AppendJSON(b)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.Key), ':')
			b = m.Value.AppendJSON(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// Str is the text of a string, "" for another value.
func (v *Value) Str() string {
	if v == nil || v.Kind != String {
		return ""
	}
	return v.Text
}

// IsTrue reports whether the value is the boolean true.
func (v *Value) IsTrue() bool { return v != nil && v.Kind == Bool && v.Bool }

// MarshalJSON lets encoding/json write a value inside other data.
func (v *Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// Strings returns the texts of an array of strings; other items are left out.
func (v *Value) Strings() []string {
	if v == nil || v.Kind != Array {
		return nil
	}
	out := make([]string, 0, len(v.Items))
	for _, item := range v.Items {
		if item.Kind == String {
			out = append(out, item.Text)
		}
	}
	return slices.Clip(out)
}
