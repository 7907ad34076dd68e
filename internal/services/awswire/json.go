package awswire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const defaultJSONBody = 16 << 20

func jsonContentType(p Protocol) string {
	if p == JSON10 {
		return "application/x-amz-json-1.0"
	}
	return "application/x-amz-json-1.1"
}

// readJSON reads an AWS JSON request: the operation is in X-Amz-Target.
func (t *Table) readJSON(r *http.Request) (request, string, error) {
	if r.Method != http.MethodPost {
		return request{}, "", Errorf("MethodNotAllowed", http.StatusMethodNotAllowed, "The method %s is not allowed; use POST", shorten(r.Method))
	}
	prefix, name, ok := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !ok || prefix != t.TargetPrefix {
		return request{}, "", Errorf("UnknownOperationException", http.StatusBadRequest,
			"The header X-Amz-Target is %q; it must be %s and the name of an operation", shorten(r.Header.Get("X-Amz-Target")), t.TargetPrefix+".")
	}
	name = shorten(name)
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !slices.Contains([]string{"application/x-amz-json-1.0", "application/x-amz-json-1.1", "application/json"}, kind) {
		return request{}, name, Errorf("UnsupportedMediaTypeException", http.StatusUnsupportedMediaType,
			"The content type %q is not supported; use %s", shorten(r.Header.Get("Content-Type")), jsonContentType(t.Protocol))
	}
	if err := utf8Charset(parameters); err != nil {
		return request{}, name, err
	}
	max := t.MaxBody
	if max == 0 {
		max = defaultJSONBody
	}
	body, err := readBody(r, max)
	if err != nil {
		return request{}, name, err
	}
	return request{decode: func(sh *shape, target reflect.Value) error {
		return decodeJSON(sh, body, target)
	}}, name, nil
}

// notSerialized is the refusal of a body that is not the JSON it should be.
func notSerialized(path, format string, args ...any) *Error {
	e := Errorf("SerializationException", http.StatusBadRequest, format, args...)
	if path != "" {
		e.Message += " at " + shorten(path)
	}
	return e
}

// decodeJSON decodes a whole body. An empty body is the empty object.
func decodeJSON(sh *shape, body []byte, target reflect.Value) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if !utf8.Valid(body) {
		return notSerialized("", "The body of the request is not UTF-8")
	}
	d := &jsonDecoder{json.NewDecoder(bytes.NewReader(body))}
	d.UseNumber()
	token, err := d.next()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return notSerialized("", "%s can not be converted to a structure", tokenName(token))
	}
	if err := d.value(sh, token, target, "", 1); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return notSerialized("", "The body of the request goes on after its JSON value")
	}
	return nil
}

type jsonDecoder struct{ *json.Decoder }

func (d *jsonDecoder) next() (json.Token, error) {
	token, err := d.Token()
	if err != nil {
		return nil, notSerialized("", "The body of the request is not JSON: it goes wrong near byte %d", d.InputOffset())
	}
	return token, nil
}

// tokenName is what messages call the token of a value.
func tokenName(token json.Token) string {
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return "START_OBJECT"
		}
		return "START_ARRAY"
	case string:
		return "STRING_VALUE"
	case json.Number:
		return "NUMBER_VALUE"
	case bool:
		return strings.ToUpper(strconv.FormatBool(v)) + "_VALUE"
	default:
		return "VALUE_NULL"
	}
}

// value decodes the value that starts with token; null does not change the target.
func (d *jsonDecoder) value(sh *shape, token json.Token, target reflect.Value, path string, depth int) error {
	if depth > maxDepth {
		return notSerialized(path, "The body of the request is nested deeper than %d levels", maxDepth)
	}
	if token == nil {
		return nil
	}
	switch sh.kind {
	case kindStructure, kindUnion, kindMap:
		if token != json.Delim('{') {
			return notSerialized(path, "%s can not be converted to a structure or map", tokenName(token))
		}
		switch sh.kind {
		case kindStructure:
			return d.structure(sh, target, path, depth)
		case kindUnion:
			return d.union(sh, target, path, depth)
		default:
			return d.mapping(sh, target, path, depth)
		}
	case kindList:
		if token != json.Delim('[') {
			return notSerialized(path, "%s can not be converted to a list", tokenName(token))
		}
		return d.list(sh, target, path, depth)
	case kindDocument:
		return notSerialized(path, "Documents are not supported in requests")
	}
	value := reflect.New(sh.typ).Elem()
	if err := scalarFromJSON(sh, token, value, path); err != nil {
		return err
	}
	sh.set(target, value)
	return nil
}

// object calls each for the members of an object whose { has been read, then reads its }.
func (d *jsonDecoder) object(path string, each func(name string, token json.Token) error) error {
	seen := map[string]bool{}
	for d.More() {
		name, err := d.next()
		if err != nil {
			return err
		}
		if seen[name.(string)] {
			return notSerialized(path, "Duplicate member %q", shorten(name.(string)))
		}
		seen[name.(string)] = true
		token, err := d.next()
		if err != nil {
			return err
		}
		if err := each(name.(string), token); err != nil {
			return err
		}
	}
	_, err := d.next()
	return err
}

func (d *jsonDecoder) structure(sh *shape, target reflect.Value, path string, depth int) error {
	value := reflect.New(sh.typ).Elem()
	err := d.object(path, func(name string, token json.Token) error {
		i, ok := sh.byName[name]
		if !ok {
			return d.skip(token, join(path, name), depth+1)
		}
		m := sh.members[i]
		return d.value(m.shape, token, value.Field(m.index), join(path, name), depth+1)
	})
	if err == nil {
		sh.set(target, value)
	}
	return err
}

func (d *jsonDecoder) union(sh *shape, target reflect.Value, path string, depth int) error {
	return d.object(path, func(name string, token json.Token) error {
		i, ok := sh.byName[name]
		if !ok || token == nil {
			return d.skip(token, join(path, name), depth+1)
		}
		if !target.IsNil() {
			return notSerialized(path, "More than one member of a union")
		}
		m := sh.members[i]
		variant := reflect.New(m.typ)
		if err := d.value(m.shape, token, variant.Elem().Field(m.index), join(path, name), depth+1); err != nil {
			return err
		}
		target.Set(variant)
		return nil
	})
}

func (d *jsonDecoder) mapping(sh *shape, target reflect.Value, path string, depth int) error {
	m := reflect.MakeMap(sh.typ)
	err := d.object(path, func(name string, token json.Token) error {
		if token == nil && !sh.elem.sparse() {
			return notSerialized(path, "VALUE_NULL can not be an element of a map")
		}
		value := reflect.New(sh.typ.Elem()).Elem()
		if err := d.value(sh.elem, token, value, join(path, "value"), depth+1); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(name).Convert(sh.typ.Key()), value)
		return nil
	})
	if err == nil {
		sh.set(target, m)
	}
	return err
}

func (d *jsonDecoder) list(sh *shape, target reflect.Value, path string, depth int) error {
	list := reflect.MakeSlice(sh.typ, 0, 0)
	for d.More() {
		token, err := d.next()
		if err != nil {
			return err
		}
		if token == nil && !sh.elem.sparse() {
			return notSerialized(path, "VALUE_NULL can not be an element of a list")
		}
		value := reflect.New(sh.typ.Elem()).Elem()
		if err := d.value(sh.elem, token, value, join(path, strconv.Itoa(list.Len()+1)+".member"), depth+1); err != nil {
			return err
		}
		list = reflect.Append(list, value)
	}
	if _, err := d.next(); err != nil {
		return err
	}
	sh.set(target, list)
	return nil
}

// sparse reports whether an element may be null.
func (sh *shape) sparse() bool { return sh.pointer }

// skip reads a value that is not needed; it is still bounded and checked.
func (d *jsonDecoder) skip(token json.Token, path string, depth int) error {
	if depth > maxDepth {
		return notSerialized(path, "The body of the request is nested deeper than %d levels", maxDepth)
	}
	switch token {
	case json.Delim('{'):
		return d.object(path, func(name string, token json.Token) error {
			return d.skip(token, join(path, name), depth+1)
		})
	case json.Delim('['):
		for d.More() {
			token, err := d.next()
			if err != nil {
				return err
			}
			if err := d.skip(token, path, depth+1); err != nil {
				return err
			}
		}
		_, err := d.next()
		return err
	}
	return nil
}

// scalarFromJSON converts a token. Values do not appear in messages: they may be secret.
func scalarFromJSON(sh *shape, token json.Token, value reflect.Value, path string) error {
	wrong := func(want string) error {
		return notSerialized(path, "%s can not be converted to %s", tokenName(token), want)
	}
	text, isText := token.(string)
	number, isNumber := token.(json.Number)
	switch sh.kind {
	case kindString:
		if !isText {
			return wrong("a String")
		}
		value.SetString(text)
	case kindBool:
		b, ok := token.(bool)
		if !ok {
			return wrong("a Boolean")
		}
		value.SetBool(b)
	case kindInt:
		i, ok := wholeNumber(string(number), value.Type().Bits())
		if !isNumber || !ok {
			return wrong(fmt.Sprintf("an Integer of %d bits", value.Type().Bits()))
		}
		value.SetInt(i)
	case kindFloat:
		if !isNumber {
			if text != "NaN" && text != "Infinity" && text != "-Infinity" {
				return wrong("a Number")
			}
			number = json.Number(text)
		}
		f, err := parseFloat(string(number), value.Type().Bits())
		if err != nil {
			return wrong("a Number")
		}
		value.SetFloat(f)
	case kindTime:
		var at time.Time
		var err error
		if isNumber {
			at, err = parseTime(string(number))
		} else {
			err = strconv.ErrSyntax
		}
		if err != nil {
			return wrong("a Timestamp, which is a number of seconds since 1970")
		}
		value.Set(reflect.ValueOf(at))
	case kindBlob:
		data, err := base64.StdEncoding.DecodeString(text)
		if !isText || err != nil {
			return wrong("a Blob, which is a string in base64")
		}
		if data == nil {
			data = []byte{}
		}
		value.SetBytes(data)
	}
	return nil
}

// wholeNumber parses a JSON number without a fraction: 3, 3.0 and 3e0 are one.
func wholeNumber(text string, bits int) (int64, bool) {
	if i, err := strconv.ParseInt(text, 10, bits); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	i := int64(f)
	return i, bits == 64 || i == i<<(64-bits)>>(64-bits)
}

// writeJSON writes v, which must be set.
func writeJSON(b *bytes.Buffer, sh *shape, v reflect.Value) error {
	v, ok := sh.get(v)
	if !ok {
		if sh.kind == kindString && !sh.pointer {
			b.WriteString(`""`) // an element of a list that is the empty string
		} else {
			b.WriteString("null")
		}
		return nil
	}
	switch sh.kind {
	case kindStructure:
		return writeJSONStructure(b, sh, v)
	case kindUnion:
		m, inner, err := sh.variant(v)
		if err != nil {
			return err
		}
		b.WriteByte('{')
		writeJSONString(b, m.name)
		b.WriteByte(':')
		if err := writeJSON(b, m.shape, inner); err != nil {
			return err
		}
		b.WriteByte('}')
	case kindList:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, sh.elem, v.Index(i)); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case kindMap:
		b.WriteByte('{')
		for i, key := range sortedMapKeys(v) {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSONString(b, key.String())
			b.WriteByte(':')
			if err := writeJSON(b, sh.elem, v.MapIndex(key)); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case kindDocument:
		text, err := v.Interface().(documentValue).MarshalSmithyDocument()
		if err != nil {
			return err
		}
		b.Write(text)
	default:
		return writeJSONScalar(b, sh, v)
	}
	return nil
}

func writeJSONStructure(b *bytes.Buffer, sh *shape, v reflect.Value) error {
	b.WriteByte('{')
	first := true
	for _, m := range sh.members {
		field := v.Field(m.index)
		if _, ok := m.shape.get(field); !ok {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		writeJSONString(b, m.name)
		b.WriteByte(':')
		if err := writeJSON(b, m.shape, field); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	b.WriteByte('}')
	return nil
}

func writeJSONScalar(b *bytes.Buffer, sh *shape, v reflect.Value) error {
	switch sh.kind {
	case kindTime:
		// Seconds, with as many decimals as there are milliseconds.
		ms := v.Interface().(time.Time).UnixMilli()
		b.WriteString(strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64))
		return nil
	case kindFloat:
		text := floatText(v.Float(), v.Type().Bits())
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			text = `"` + text + `"`
		}
		b.WriteString(text)
		return nil
	}
	text, err := scalarText(sh, v)
	if err != nil {
		return err
	}
	if sh.kind == kindString || sh.kind == kindBlob {
		writeJSONString(b, text)
	} else {
		b.WriteString(text)
	}
	return nil
}

// writeJSONString writes a string without the escapes that are only for HTML.
func writeJSONString(b *bytes.Buffer, s string) {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	encoder.Encode(s)       //nolint:errcheck // a string always has a form in JSON
	b.Truncate(b.Len() - 1) // the newline that Encode adds
}

func sortedMapKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}
