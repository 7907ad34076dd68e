package awswire

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

// TextOp is Op for inputs whose texts become keys and columns: a NUL, which no
// database keeps in a text, is refused.
func TextOp[I, O any](name string, f func(context.Context, Caller, *I) (*O, error)) Operation {
	return Op(name, func(ctx context.Context, caller Caller, in *I) (*O, error) {
		if at, found := findNUL(reflect.ValueOf(in), ""); found {
			return nil, Errorf("ValidationException", 0, "A string of the request contains the character U+0000, at %s.", shorten(at))
		}
		return f(ctx, caller, in)
	})
}

// findNUL returns the path of a text in an input that has a NUL. Bytes are not text.
func findNUL(v reflect.Value, path string) (at string, found bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "", false
		}
		return findNUL(v.Elem(), path)
	case reflect.String:
		return path, strings.ContainsRune(v.String(), 0)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return "", false
		}
		for i := range v.Len() {
			if at, found := findNUL(v.Index(i), join(path, strconv.Itoa(i+1))); found {
				return at, true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if _, found := findNUL(entries.Key(), path); found {
				return path, true
			}
			if at, found := findNUL(entries.Value(), join(path, entries.Key().String())); found {
				return at, true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				if at, found := findNUL(v.Field(i), join(path, field.Name)); found {
					return at, true
				}
			}
		}
	}
	return "", false
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
