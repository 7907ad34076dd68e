package awswire

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// writeResponse writes the answer of a Query operation. An operation whose model has an
// output has a Result element, even an empty one: boto3 looks for it.
func writeResponse(b *bytes.Buffer, namespace string, o *operation, out reflect.Value, requestID string) error {
	b.WriteString("<" + o.Name + `Response xmlns="`)
	writeText(b, namespace)
	b.WriteString(`">`)
	if !o.noResult {
		if err := writeXML(b, o.output, out, o.Name+"Result"); err != nil {
			return err
		}
	}
	b.WriteString("<ResponseMetadata>")
	writeElement(b, "RequestId", requestID)
	b.WriteString("</ResponseMetadata></" + o.Name + "Response>")
	return nil
}

// writeXML writes v as an element, or nothing if it is absent.
func writeXML(b *bytes.Buffer, sh *shape, v reflect.Value, name string) error {
	v, ok := sh.get(v)
	if !ok {
		return nil
	}
	b.WriteString("<" + name + ">")
	if err := writeContent(b, sh, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.WriteString("</" + name + ">")
	return nil
}

func writeContent(b *bytes.Buffer, sh *shape, v reflect.Value) error {
	switch sh.kind {
	case kindStructure:
		for _, m := range sh.members {
			if err := writeXML(b, m.shape, v.Field(m.index), m.name); err != nil {
				return err
			}
		}
	case kindList:
		for i := range v.Len() {
			if err := writeItem(b, sh.elem, v.Index(i), "member"); err != nil {
				return err
			}
		}
	case kindMap:
		for _, key := range sortedMapKeys(v) {
			b.WriteString("<entry>")
			writeElement(b, "key", key.String())
			if err := writeItem(b, sh.elem, v.MapIndex(key), "value"); err != nil {
				return err
			}
			b.WriteString("</entry>")
		}
	case kindUnion:
		m, inner, err := sh.variant(v)
		if err != nil {
			return err
		}
		return writeItem(b, m.shape, inner, m.name)
	case kindDocument:
		return fmt.Errorf("documents are not supported in XML")
	default:
		text, err := scalarText(sh, v)
		if err != nil {
			return err
		}
		writeText(b, text)
	}
	return nil
}

// writeItem writes an element of a list or map: an absent one is an empty element, as
// its place counts.
func writeItem(b *bytes.Buffer, sh *shape, v reflect.Value, name string) error {
	if _, ok := sh.get(v); !ok {
		b.WriteString("<" + name + "></" + name + ">")
		return nil
	}
	return writeXML(b, sh, v, name)
}

// scalarText is the text of a scalar in XML.
func scalarText(sh *shape, v reflect.Value) (string, error) {
	switch sh.kind {
	case kindString:
		return v.String(), nil
	case kindBool:
		return strconv.FormatBool(v.Bool()), nil
	case kindInt:
		return strconv.FormatInt(v.Int(), 10), nil
	case kindFloat:
		return floatText(v.Float(), v.Type().Bits()), nil
	case kindTime:
		return v.Interface().(time.Time).UTC().Format("2006-01-02T15:04:05.000Z"), nil
	case kindBlob:
		return base64.StdEncoding.EncodeToString(v.Bytes()), nil
	}
	return "", fmt.Errorf("the Go type %s is not a scalar", sh.typ)
}

func floatText(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	default:
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
}

// variant is the alternative that a union holds.
func (sh *shape) variant(v reflect.Value) (member, reflect.Value, error) {
	held := v.Elem()
	if held.Kind() == reflect.Pointer && !held.IsNil() {
		held = held.Elem()
	}
	i, ok := sh.variants[held.Type()]
	if !ok {
		return member{}, reflect.Value{}, fmt.Errorf("%s is not a listed member of the union %s", held.Type(), sh.name)
	}
	m := sh.members[i]
	return m, held.Field(m.index), nil
}

func writeElement(b *bytes.Buffer, name, text string) {
	b.WriteString("<" + name + ">")
	writeText(b, text)
	b.WriteString("</" + name + ">")
}

// writeText escapes text; what XML cannot carry becomes U+FFFD.
func writeText(b *bytes.Buffer, text string) {
	xml.EscapeText(b, []byte(text)) //nolint:errcheck // a bytes.Buffer takes everything
}
