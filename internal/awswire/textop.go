package awswire

import (
	"context"
	"net/http"
	"reflect"
	"strings"
)

// TextOp is Op for inputs whose texts become keys and columns: a NUL, which no
// database keeps in a text, is refused.
func TextOp[I, O any](name string, f func(context.Context, Caller, *I) (*O, error)) Operation {
	return Op(name, func(ctx context.Context, caller Caller, in *I) (*O, error) {
		if holdsNUL(reflect.ValueOf(in)) {
			return nil, Errorf("ValidationException", 0, "A string of the request contains the character U+0000.")
		}
		return f(ctx, caller, in)
	})
}

// holdsNUL reports whether a text in an input has a NUL. Bytes are not text.
func holdsNUL(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && holdsNUL(v.Elem())
	case reflect.String:
		return strings.ContainsRune(v.String(), 0)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return false
		}
		for i := range v.Len() {
			if holdsNUL(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if holdsNUL(entries.Key()) || holdsNUL(entries.Value()) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && holdsNUL(v.Field(i)) {
				return true
			}
		}
	}
	return false
}

// NotOffered refuses an input that would change what a service does and is not done here.
func NotOffered(what string) *Error {
	return Errorf("NotImplemented", http.StatusNotImplemented, "This server does not support %s.", what)
}

// PageSize is how many results an answer has: the requested number, at most limit.
func PageSize(asked *int32, limit int) int {
	if asked == nil || int(*asked) > limit || *asked < 1 {
		return limit
	}
	return int(*asked)
}
