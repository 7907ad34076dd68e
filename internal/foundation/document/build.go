package document

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// NewString is a string without a position.
func NewString(text string) *Value { return &Value{Kind: String, Text: text} }

// NewBool is a boolean without a position.
func NewBool(b bool) *Value { return &Value{Kind: Bool, Bool: b} }

// NewArray is an array without a position.
func NewArray(items ...*Value) *Value { return &Value{Kind: Array, Items: items} }

// NewObject is an object without a position.
func NewObject(members ...Member) *Value { return &Value{Kind: Object, Members: members} }

// Set sets a member of an object that is being built.
func (v *Value) Set(key string, value *Value) {
	if m := v.Member(key); m != nil {
		m.Value = value
		return
	}
	v.Members = append(v.Members, Member{Key: key, Value: value})
}

// Indented is the value as indented JSON, with a newline at its end.
func (v *Value) Indented(indent string) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, v.AppendJSON(nil), "", indent); err != nil {
		panic(fmt.Sprintf("document: a value that is not JSON: %v", err))
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// WithArticle is the kind in a sentence: "a string", "an array", "null".
func (k Kind) WithArticle() string {
	switch k {
	case Null:
		return "null"
	case Array, Object:
		return "an " + k.String()
	}
	return "a " + k.String()
}
