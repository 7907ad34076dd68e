package awswire

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// kind is what a shape is on the wire.
type kind int

const (
	kindString kind = iota // string, and the enumerations, which are named strings
	kindBool
	kindInt   // int16, int32, int64 …
	kindFloat // float32, float64
	kindTime
	kindBlob // []byte, base64 on the wire
	kindList
	kindMap // with string keys
	kindStructure
	kindUnion    // an interface with one struct type per member
	kindDocument // an open-content JSON value
)

// A shape is what there is to know about a Go type of the SDK to put it on the wire.
type shape struct {
	kind    kind
	typ     reflect.Type // never a pointer
	pointer bool         // the value is held by a pointer: nil is absent
	enum    []string     // kindString: the values that it may have; nil if any

	elem *shape // kindList, kindMap: the element
	key  *shape // kindMap

	name    string // kindStructure: the Go type's name
	members []member
	byName  map[string]int // index in members by wire name

	variants map[reflect.Type]int // kindUnion: index in members by the struct type that holds one
}

// A member is one field of a structure, or one alternative of a union.
type member struct {
	name  string // on the wire
	index int    // of the struct field; of a union, always 0: the Value field
	shape *shape
	typ   reflect.Type // kindUnion: the struct type that holds this alternative
}

// shapes are the compiled shapes of a table, by Go type.
type shapes struct {
	mu         sync.Mutex
	byType     map[reflect.Type]*shape
	lowerFirst bool
	names      map[string]string
	unions     []reflect.Type // the struct types of union members
}

var (
	timeType = reflect.TypeFor[time.Time]()
	blobType = reflect.TypeFor[[]byte]()
)

// documentValue is implemented by the document types of the SDK.
type documentValue interface {
	MarshalSmithyDocument() ([]byte, error)
}

var documentType = reflect.TypeFor[documentValue]()

// of compiles the shape of a type, and those it is made of.
func (s *shapes) of(t reflect.Type) (*shape, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byType == nil {
		s.byType = map[reflect.Type]*shape{}
	}
	return s.compile(t)
}

func (s *shapes) compile(t reflect.Type) (*shape, error) {
	if known, ok := s.byType[t]; ok {
		return known, nil
	}
	sh := &shape{typ: t}
	s.byType[t] = sh // before its members: shapes may contain themselves
	if t.Kind() == reflect.Pointer {
		sh.pointer = true
		sh.typ = t.Elem()
	}
	if err := s.fill(sh); err != nil {
		delete(s.byType, t)
		return nil, err
	}
	return sh, nil
}

func (s *shapes) fill(sh *shape) (err error) {
	t := sh.typ
	switch {
	case t == timeType:
		sh.kind = kindTime
		return nil
	case t == blobType:
		sh.kind = kindBlob
		return nil
	case t.Kind() == reflect.Interface && t.Implements(documentType):
		sh.kind = kindDocument
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		sh.kind = kindString
		sh.enum = enumValues(t)
	case reflect.Bool:
		sh.kind = kindBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		sh.kind = kindInt
	case reflect.Float32, reflect.Float64:
		sh.kind = kindFloat
	case reflect.Slice:
		sh.kind = kindList
		sh.elem, err = s.compile(t.Elem())
	case reflect.Map:
		sh.kind = kindMap
		if sh.key, err = s.compile(t.Key()); err == nil {
			sh.elem, err = s.compile(t.Elem())
		}
	case reflect.Struct:
		sh.kind = kindStructure
		sh.name = t.Name()
		err = s.fillStructure(sh)
	case reflect.Interface:
		sh.kind = kindUnion
		sh.name = t.Name()
		err = s.fillUnion(sh)
	default:
		err = fmt.Errorf("the Go type %s is not supported on the wire", t)
	}
	return err
}

func (s *shapes) fillStructure(sh *shape) error {
	sh.byName = map[string]int{}
	for i := range sh.typ.NumField() {
		field := sh.typ.Field(i)
		if !field.IsExported() || field.Name == "ResultMetadata" {
			continue
		}
		inner, err := s.compile(field.Type)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", sh.name, field.Name, err)
		}
		name := s.wireName(sh.name, field.Name)
		sh.byName[name] = len(sh.members)
		sh.members = append(sh.members, member{name: name, index: i, shape: inner})
	}
	return nil
}

// fillUnion finds the alternatives of a union among the member types that the table
// lists: Go cannot enumerate what implements an interface. They are called
// <Union>Member<Name> and have one field, Value.
func (s *shapes) fillUnion(sh *shape) error {
	sh.byName = map[string]int{}
	sh.variants = map[reflect.Type]int{}
	for _, t := range s.unions {
		suffix, ok := strings.CutPrefix(t.Name(), sh.name+"Member")
		if !ok || !reflect.PointerTo(t).Implements(sh.typ) {
			continue
		}
		value, ok := t.FieldByName("Value")
		if !ok {
			return fmt.Errorf("union member %s has no field Value", t)
		}
		inner, err := s.compile(value.Type)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name(), err)
		}
		name := s.wireName(sh.name, suffix)
		sh.byName[name] = len(sh.members)
		sh.variants[t] = len(sh.members)
		sh.members = append(sh.members, member{name: name, index: value.Index[0], shape: inner, typ: t})
	}
	if len(sh.members) == 0 {
		return fmt.Errorf("the members of the union %s are not listed in Table.Unions", sh.typ)
	}
	return nil
}

// wireName is what the wire calls a field of a Go type.
func (s *shapes) wireName(typeName, field string) string {
	if name, ok := s.names[typeName+"."+field]; ok {
		return name
	}
	if s.lowerFirst {
		return lowerFirst(field)
	}
	return field
}

func lowerFirst(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToLower(r)) + name[n:]
}

// enumValues are the values that the SDK knows for an enumeration; nil for other strings.
func enumValues(t reflect.Type) []string {
	method, ok := t.MethodByName("Values")
	if !ok || method.Type.NumIn() != 1 || method.Type.NumOut() != 1 || method.Type.Out(0) != reflect.SliceOf(t) {
		return nil
	}
	values := method.Func.Call([]reflect.Value{reflect.Zero(t)})[0]
	names := make([]string, values.Len())
	for i := range names {
		names[i] = values.Index(i).String()
	}
	return names
}

// set stores value, of type sh.typ, into target, which is of that type or a pointer to it.
func (sh *shape) set(target, value reflect.Value) {
	if sh.pointer {
		p := reflect.New(sh.typ)
		p.Elem().Set(value)
		target.Set(p)
		return
	}
	target.Set(value)
}

// get returns the value of v, without its pointer, and whether it is set. For enumerations the
// empty string is absent, as the SDK has no pointers to them.
func (sh *shape) get(v reflect.Value) (reflect.Value, bool) {
	if sh.pointer {
		if v.IsNil() {
			return v, false
		}
		return v.Elem(), true
	}
	switch sh.kind {
	case kindBlob, kindList, kindMap, kindUnion, kindDocument:
		return v, !v.IsNil()
	case kindString:
		return v, v.Len() > 0
	default:
		return v, true
	}
}
