package handler

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// schemaOf is the schema of the JSON that encoding/json reads into the variable
// that into points to: types, members, items and the bounds of numbers. A type
// that reads its JSON itself, and an interface, take anything.
func schemaOf(into any) *node {
	t := reflect.TypeOf(into)
	if t == nil {
		return nil
	}
	return goTypes{}.node(t)
}

// goTypes holds the nodes of the structs met so far, so that recursion ends.
type goTypes map[reflect.Type]*node

func (g goTypes) node(t reflect.Type) *node {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if readsItself(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		return &node{types: []string{"string"}}
	case reflect.Bool:
		return &node{types: []string{"boolean"}}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := int64(1)<<(t.Bits()-1) - 1
		return numbers("integer", strconv.FormatInt(-most-1, 10), strconv.FormatInt(most, 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return numbers("integer", "0", strconv.FormatUint(math.MaxUint64>>(64-t.Bits()), 10))
	case reflect.Float32:
		return numbers("number", fmt.Sprint(-math.MaxFloat32), fmt.Sprint(math.MaxFloat32))
	case reflect.Float64:
		return numbers("number", fmt.Sprint(-math.MaxFloat64), fmt.Sprint(math.MaxFloat64))
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return &node{types: []string{"string"}} // base64
		}
		return &node{types: []string{"array"}, items: g.node(t.Elem())}
	case reflect.Map:
		return &node{types: []string{"object"}, additional: g.node(t.Elem())}
	case reflect.Struct:
		return g.structure(t)
	}
	return nil
}

func numbers(name, least, most string) *node {
	minimum, maximum := json.Number(least), json.Number(most)
	return &node{types: []string{name}, minimum: &minimum, maximum: &maximum}
}

func (g goTypes) structure(t reflect.Type) *node {
	if n, ok := g[t]; ok {
		return n
	}
	n := &node{types: []string{"object"}, properties: map[string]*node{}}
	g[t] = n
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || field.Tag.Get("json") == "-" || field.Anonymous && name == "" {
			continue // the fields of an embedded struct are visible themselves
		}
		if name == "" {
			name = field.Name
		}
		member := g.node(field.Type)
		if strings.Contains(options, "string") {
			member = nil // has a form of its own
		}
		n.properties[name] = member
	}
	return n
}

// readsItself reports whether the JSON form of a type is its own affair. A struct
// whose fields all have names in JSON is read by these, whatever else its
// UnmarshalJSON sees to: that is how generated models keep exact numbers.
func readsItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[json.Number](), pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return true
	case !pointer.Implements(reflect.TypeFor[json.Unmarshaler]()):
		return false
	case t.Kind() != reflect.Struct || t.NumField() == 0:
		return true
	}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("json") == "" {
			return true
		}
	}
	return false
}
