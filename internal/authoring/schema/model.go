package schema

import (
	"slices"
	"strconv"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Without returns a copy of the model without the properties at the paths: "*" matches all
// items of an array and all values of a map, and an array without "*" in the path is treated
// the same. A path that matches nothing in the model changes nothing.
func Without(model any, paths []Path) any {
	out := clone(model)
	for _, p := range paths {
		if len(p.Tokens) > 0 {
			out = remove(out, p.Tokens)
		}
	}
	return out
}

// Clone is a copy of a model; scalars are shared.
func Clone[T any](v T) T {
	out, _ := clone(any(v)).(T)
	return out
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = clone(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = clone(item)
		}
		return out
	}
	return v
}

// remove takes away what the tokens name below v, which it may change in place.
func remove(v any, tokens document.Pointer) any {
	token, last := tokens[0], len(tokens) == 1
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch {
			case token != "*" && token != key:
			case last:
				delete(v, key)
			default:
				v[key] = remove(value, tokens[1:])
			}
		}
	case []any:
		if token != "*" && !isIndex(token) {
			for i, item := range v {
				v[i] = remove(item, tokens)
			}
			return v
		}
		if last && token == "*" {
			return []any{}
		}
		for i := range v {
			switch {
			case token != "*" && token != strconv.Itoa(i):
			case last:
				return slices.Delete(v, i, i+1)
			default:
				v[i] = remove(v[i], tokens[1:])
			}
		}
	}
	return v
}

// Present lists the places of the model at which the paths have a value, in the order of
// the paths, then of items and of keys. A null counts as no value.
func Present(model any, paths []Path) []document.Pointer {
	var out []document.Pointer
	for _, p := range paths {
		if len(p.Tokens) > 0 {
			each(model, p.Tokens, nil, func(at document.Pointer, value any) {
				if value != nil {
					out = append(out, at)
				}
			})
		}
	}
	return out
}

// PutBack adds to a model, in place, what another model has at the paths: write-only values that a handler was given and does
// not return. Objects that the model lacks are made, items of arrays are not.
func PutBack(model, from map[string]any, paths []Path) {
	for _, at := range Present(from, paths) {
		var is, was any = model, from
		for i, token := range at {
			was = Child(was, token)
			object, isObject := is.(map[string]any)
			switch {
			case !isObject:
				is = Child(is, token)
			case i == len(at)-1:
				object[token] = clone(was)
			default:
				if _, inside := was.(map[string]any); inside && object[token] == nil {
					object[token] = map[string]any{}
				}
				is = object[token]
			}
		}
	}
}

// Child is what a token names in an object or array, or nil.
func Child(v any, token string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[token]
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// each calls f for every value that the tokens name.
func each(v any, tokens, at document.Pointer, f func(document.Pointer, any)) {
	if len(tokens) == 0 {
		f(at, v)
		return
	}
	token := tokens[0]
	switch v := v.(type) {
	case map[string]any:
		if token != "*" {
			if value, found := v[token]; found {
				each(value, tokens[1:], at.Append(token), f)
			}
			return
		}
		for _, key := range sortedKeys(v) {
			each(v[key], tokens[1:], at.Append(key), f)
		}
	case []any:
		rest := tokens[1:]
		if token != "*" && !isIndex(token) {
			rest = tokens
		}
		for i, item := range v {
			if index := strconv.Itoa(i); !isIndex(token) || token == index {
				each(item, rest, at.Append(index), f)
			}
		}
	}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Identifier reads the values of an identifier from a model, in the order of the schema. It
// returns false if there are no paths or one of them has no value, or null.
func Identifier(model any, paths []Path) (values []any, ok bool) {
	for _, p := range paths {
		var value any
		if len(p.Tokens) > 0 {
			each(model, p.Tokens, nil, func(_ document.Pointer, v any) {
				if value == nil {
					value = v
				}
			})
		}
		if value == nil {
			return nil, false
		}
		values = append(values, value)
	}
	return values, len(values) > 0
}
