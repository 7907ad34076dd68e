package api

import (
	"strconv"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// number is a number as an int, 0 if it is not one.
func number(v *document.Value) int {
	if n := optional(v); n != nil {
		return *n
	}
	return 0
}

// optional is a whole number, or nil.
func optional(v *document.Value) *int {
	if v == nil || v.Kind != document.Number {
		return nil
	}
	n, err := strconv.Atoi(v.Text)
	if err != nil {
		return nil
	}
	return &n
}

// literal is a number as it is written, "" if v is not a number.
func literal(v *document.Value) string {
	if v == nil || v.Kind != document.Number {
		return ""
	}
	return v.Text
}
