package jsonata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	wording "github.com/formwork-dev/formwork/internal/foundation/words"
)

// Inside an evaluation a value is one of
//
//	nil         undefined
//	nullValue   null
//	bool, float64, string
//	*array      an array or a sequence
//	*Object     an object, holding such values
//	*native, *lambda, *closure, *regexValue   functions
//
// and, only inside path evaluation, *array of *tuple. All of them can be compared with
// ==, which is JavaScript's === except for NaN. Arrays are not changed once they are
// visible to an expression; objects only by a transform, on its own copy.
type nullValue struct{}

// null is JSON's null.
var null any = nullValue{}

// An array is a JSON array, or one of the sequences that path steps produce.
type array struct {
	items []any

	// sequence: one item counts as the item, none as undefined.
	sequence bool
	// keepSingleton: the sequence stays an array even with one item.
	keepSingleton bool
	// cons: made by an array constructor in a path, not flattened by it.
	cons bool
	// outerWrapper: wraps an input that is an array, so that it is one context.
	outerWrapper bool
	// tuples: the items are *tuple.
	tuples bool
}

func newSequence(items ...any) *array { return &array{items: items, sequence: true} }

// A tuple is one row of a path that binds variables: its context and the variables.
type tuple struct {
	context any
	names   []string
	values  []any
}

func (t *tuple) set(name string, value any) {
	for i, n := range t.names {
		if n == name {
			t.values[i] = value
			return
		}
	}
	t.names = append(t.names, name)
	t.values = append(t.values, value)
}

// copy makes a tuple that can be extended without changing t.
func (t *tuple) copy() *tuple {
	return &tuple{t.context, slices.Clone(t.names), slices.Clone(t.values)}
}

// Undefined is the result of an expression that selects nothing. It is not null, which
// is the Go nil.
var Undefined any = undefined{}

type undefined struct{}

// String is "undefined".
func (undefined) String() string { return "undefined" }

// MarshalJSON writes null: JSON has no undefined.
func (undefined) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// maxDataDepth bounds how deeply data may be nested, wherever code recurses over it.
const maxDataDepth = 5000

// An Input is data in the form in which expressions read it, made once by [NewInput] for
// any number of evaluations, also concurrent ones.
type Input struct{ value any }

// NewInput converts data for [Expr.Eval]: nil (null), [Undefined], bool, string, every number
// type of Go and json.Number, []any, map[string]any, *[Object], and other slices and maps with
// string keys. The keys of a map are sorted alphabetically; those of an Object keep their
// order. Bytes of a string that are not UTF-8 become U+FFFD. The error names an unsupported
// type, or reports that the data is nested more than 5,000 levels deep.
func NewInput(data any) (*Input, error) {
	if in, ok := data.(*Input); ok {
		return in, nil
	}
	value, err := importValue(data, 0)
	if err != nil {
		return nil, err
	}
	return &Input{value}, nil
}

// DecodeInput reads a JSON text. Other than with a map, the keys of objects keep the order
// in which they are written, so that an expression such as $keys($) sees them as the
// reference does. The error is encoding/json's for text that is not JSON, or that of
// [NewInput].
func DecodeInput(text []byte) (*Input, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	data, err := decodeOrdered(decoder, 0)
	if err != nil {
		return nil, fmt.Errorf("jsonata: read the input: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("jsonata: read the input: there is more than one value")
	}
	return NewInput(data)
}

func decodeOrdered(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDataDepth {
		return nil, limitError(LimitNesting, unplaced, "the input is nested too deeply", nil)
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			item, err := decodeOrdered(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = decoder.Token()
		return list, err
	case json.Delim('{'):
		var keys []string
		var values []any
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := decodeOrdered(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			keys, values = append(keys, key.(string)), append(values, value)
		}
		_, err = decoder.Token()
		return newObject(keys, values), err
	}
	return token, nil
}

func importValue(data any, depth int) (any, error) {
	if depth > maxDataDepth {
		return nil, limitError(LimitNesting, unplaced, "the input is nested too deeply", nil)
	}
	switch v := data.(type) {
	case nil:
		return null, nil
	case undefined:
		return nil, nil
	case bool:
		return v, nil
	case string:
		return wellFormed(v), nil
	case float64:
		return v, nil
	case int:
		return float64(v), nil
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil, fmt.Errorf("jsonata: the input contains %q, which is not a number", string(v))
		}
		return f, nil
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			converted, err := importValue(item, depth+1)
			if err != nil {
				return nil, err
			}
			items[i] = converted
		}
		return &array{items: items}, nil
	case map[string]any:
		return importObject(slices.Sorted(maps.Keys(v)), func(key string) any { return v[key] }, depth)
	case *Object:
		return importObject(v.keys, func(key string) any { value, _ := v.Get(key); return value }, depth)
	case *Input:
		return v.value, nil
	}
	return importReflected(data, depth)
}

func importObject(keys []string, get func(string) any, depth int) (any, error) {
	names, values := make([]string, 0, len(keys)), make([]any, 0, len(keys))
	for _, key := range keys {
		value, err := importValue(get(key), depth+1)
		if err != nil {
			return nil, err
		}
		if value != nil {
			names, values = append(names, wellFormed(key)), append(values, value)
		}
	}
	return newObject(names, values), nil
}

// importReflected converts the shapes that encoding/json does not produce itself.
func importReflected(data any, depth int) (any, error) {
	v := reflect.ValueOf(data)
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return float64(v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return float64(v.Uint()), nil
	case reflect.Float32:
		return v.Float(), nil
	case reflect.Slice, reflect.Array:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = v.Index(i).Interface()
		}
		return importValue(items, depth)
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			out := make(map[string]any, v.Len())
			for iter := v.MapRange(); iter.Next(); {
				out[iter.Key().String()] = iter.Value().Interface()
			}
			return importValue(out, depth)
		}
	}
	return nil, fmt.Errorf("jsonata: the input contains a %T, which is not JSON data", data)
}

// export turns a value into the shapes that Eval documents. What is shared or cyclic in
// it is copied again and again, so this is bounded as evaluation is.
func (e *evaluator) export(value any, depth int) (any, error) {
	if err := e.deepen(depth); err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil:
		if depth == 0 {
			return Undefined, nil
		}
		return nil, nil
	case nullValue:
		return nil, nil
	case string:
		return wellFormed(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, nil
		}
		if v == 0 {
			return 0.0, nil // not -0
		}
		return v, nil
	case *array:
		if err := e.grow(sizeItem * len(v.items)); err != nil {
			return nil, err
		}
		out := make([]any, len(v.items))
		for i, item := range v.items {
			converted, err := e.export(item, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = converted
		}
		return out, nil
	case *Object:
		if err := e.grow(sizeEntry * len(v.keys)); err != nil {
			return nil, err
		}
		out := &Object{keys: make([]string, 0, len(v.keys))}
		for key, item := range v.All() {
			converted, err := e.export(item, depth+1)
			if err != nil {
				return nil, err
			}
			out.Set(wellFormed(key), converted)
		}
		return out, nil
	case *regexValue:
		return &Regexp{value: v}, nil
	case *native:
		return &Function{name: v.name, parameters: v.arity}, nil
	case *lambda:
		return &Function{parameters: len(v.params)}, nil
	case *closure:
		return &Function{parameters: v.arity}, nil
	case *tuple:
		return e.export(v.context, depth+1)
	}
	return value, nil
}

// Plain converts a result to the types of encoding/json: every *[Object] becomes a
// map[string]any, at any depth. Values that JSON does not have (Undefined, functions, regular
// expressions) are not changed.
func Plain(value any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = Plain(item)
		}
		return out
	case *Object:
		out := make(map[string]any, v.Len())
		for key, item := range v.All() {
			out[key] = Plain(item)
		}
		return out
	}
	return value
}

// A Function is a result that is a function. It can be recognised, not called.
type Function struct {
	name       string
	parameters int
}

// Name is the name of a built-in function, "" for all others.
func (f *Function) Name() string { return f.name }

// Parameters is the number of parameters.
func (f *Function) Parameters() int { return f.parameters }

// MarshalJSON writes null: JSON has no functions.
func (f *Function) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// typeName is what $type says, "undefined" included.
func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "undefined"
	case nullValue:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case *array:
		return "array"
	case *Object:
		return "object"
	}
	return "function"
}

func isFunction(value any) bool {
	switch value.(type) {
	case *native, *lambda, *closure, *regexValue:
		return true
	}
	return false
}

// isNumber reports whether value is a number other than NaN. Infinity is an error: no
// expression may calculate with it.
func isNumber(value any) (bool, error) {
	f, ok := value.(float64)
	if !ok || math.IsNaN(f) {
		return false, nil
	}
	if math.IsInf(f, 0) {
		return false, newError("D1001", unplaced, "")
	}
	return true, nil
}

// allOf reports whether every item of a is of the type that $type calls name.
func allOf(a *array, name string) bool {
	for _, item := range a.items {
		if typeName(item) != name {
			return false
		}
	}
	return true
}

// join puts two values one after the other: nothing, items and arrays alike. The result
// has the flags of neither.
func join(a, b any) any {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	left, right := itemsOf(a), itemsOf(b)
	if len(left) == 0 {
		return &array{items: right[:len(right):len(right)]}
	}
	return &array{items: slices.Concat(left, right)}
}

// itemsOf is the items of an array, or the value as the only one.
func itemsOf(value any) []any {
	if a, ok := value.(*array); ok {
		return a.items
	}
	return []any{value}
}

// asArray is value if it is an array, or a sequence of it.
func asArray(value any) *array {
	if a, ok := value.(*array); ok {
		return a
	}
	return newSequence(value)
}

// quoteToken shortens a token for a message.
func quoteToken(token string) string {
	return strings.ToValidUTF8(wording.Cut(token, 40), "")
}
