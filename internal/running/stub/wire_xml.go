package stub

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// An xmlWriter writes values as XML.
type xmlWriter struct{ bytes.Buffer }

func (w *xmlWriter) open(name, namespace string, attrs ...string) {
	w.WriteString("<" + name)
	if namespace != "" {
		w.WriteString(` xmlns="`)
		w.escape(namespace)
		w.WriteString(`"`)
	}
	for i := 0; i+1 < len(attrs); i += 2 {
		w.WriteString(" " + attrs[i] + `="`)
		w.escape(attrs[i+1])
		w.WriteString(`"`)
	}
	w.WriteString(">")
}

func (w *xmlWriter) close(name string) { w.WriteString("</" + name + ">") }

func (w *xmlWriter) escape(text string) { _ = xml.EscapeText(w, []byte(text)) } // a buffer takes everything

func (w *xmlWriter) text(name, text string) {
	w.open(name, "")
	w.escape(text)
	w.close(name)
}

// value writes an element with a value.
func (w *xmlWriter) value(name string, shape *api.Shape, v any, namespace string) {
	switch value := v.(type) {
	case nil:
	case map[string]any:
		if shape.Kind == api.Map {
			w.open(name, namespace)
			w.entries("entry", shape, value)
			w.close(name)
			return
		}
		var attrs []string
		for _, m := range shape.Members {
			if text, set := value[m.Name]; set && m.Attribute {
				attrs = append(attrs, m.Wire, xmlText(m.Shape, text))
			}
		}
		w.open(name, namespace, attrs...)
		w.members(shape, value)
		w.close(name)
	case []any:
		w.open(name, namespace)
		for _, element := range value {
			w.value(cmp.Or(shape.ItemName, "member"), orAny(shape.Item), element, "")
		}
		w.close(name)
	default:
		w.open(name, namespace)
		w.escape(xmlText(shape, v))
		w.close(name)
	}
}

func (w *xmlWriter) members(shape *api.Shape, value map[string]any) {
	for _, m := range shape.Members {
		v, set := value[m.Name]
		if !set || m.Attribute {
			continue
		}
		switch element := v.(type) {
		case []any:
			if m.Flat {
				for _, item := range element {
					w.value(m.Wire, orAny(m.Shape.Item), item, "")
				}
				continue
			}
		case map[string]any:
			if m.Flat && m.Shape.Kind == api.Map {
				w.entries(m.Wire, m.Shape, element)
				continue
			}
		}
		w.value(m.Wire, m.Shape, v, "")
	}
}

func (w *xmlWriter) entries(name string, shape *api.Shape, value map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(value)) {
		w.open(name, "")
		w.text(cmp.Or(shape.KeyName, "key"), key)
		w.value(cmp.Or(shape.ItemName, "value"), orAny(shape.Item), value[key], "")
		w.close(name)
	}
}

func xmlText(shape *api.Shape, v any) string {
	if shape.Kind == api.Timestamp {
		return fmt.Sprint(formatTime(shape, textOf(v), "date-time"))
	}
	return textOf(v)
}

// xmlFail writes the error of a call. bare leaves out the element around it.
func (s *Stub) xmlFail(c *call, f *fault, bare bool) (int, http.Header, []byte) {
	status, code, shape := s.outcome(f, c)
	header := f.header()
	header.Set("Content-Type", "text/xml")
	who := "Sender"
	if status >= 500 {
		who = "Receiver"
	}
	w := &xmlWriter{}
	if !bare {
		w.open("ErrorResponse", s.api.XMLNS)
	}
	w.open("Error", "")
	w.text("Type", who)
	w.text("Code", code)
	w.text("Message", f.message)
	if shape != nil && shape.Kind == api.Structure {
		if described, ok := s.describe(shape, f, status, code, 0).(map[string]any); ok {
			for name := range described {
				if plain(name) == "message" {
					delete(described, name)
				}
			}
			w.members(shape, described)
		}
	}
	if bare {
		w.text("RequestId", s.requestID())
		w.close("Error")
		return status, header, w.Bytes()
	}
	w.close("Error")
	w.text("RequestId", s.requestID())
	w.close("ErrorResponse")
	return status, header, w.Bytes()
}

// --- awsQuery

type awsQuery struct{}

func (awsQuery) find(s *Stub, r *http.Request, body []byte) (*api.Operation, map[string]string, *fault) {
	if r.Method != http.MethodPost || strings.Trim(r.URL.Path, "/") != "" {
		return nil, nil, faultf(unknown, "the service takes POST requests to /, not %s %s", cut(r.Method), cut(r.URL.Path))
	}
	tree, problem := queryTree(body)
	if problem != nil {
		return nil, nil, problem
	}
	name := ""
	if n := tree.child("Action"); n != nil {
		name = n.text
	}
	op := s.operation(name)
	if op == nil {
		return nil, nil, faultf(unknown, "Action names no operation of the service: %q%s", cut(name), near(name, s.names()))
	}
	return op, nil, nil
}

func (awsQuery) read(_ *Stub, c *call, body []byte) *fault {
	tree, problem := queryTree(body)
	if problem != nil {
		return problem
	}
	tree.children = slices.DeleteFunc(tree.children, func(n *node) bool { return n.name == "Action" || n.name == "Version" })
	shape := c.op.Body
	if shape == nil {
		shape = &api.Shape{Kind: api.Structure}
	}
	d := newDecoder(true, "date-time")
	c.body = d.tree(shape, tree, queryDialect, "")
	return d.problems.fault()
}

func (awsQuery) answer(s *Stub, c *call, out *reply) (int, http.Header, []byte) {
	header := http.Header{}
	header.Set("Content-Type", "text/xml")
	w := &xmlWriter{}
	w.open(c.op.Name+"Response", s.api.XMLNS)
	if c.op.Output != nil {
		w.open(c.op.Name+"Result", "")
		values, _ := out.output.(map[string]any)
		w.members(c.op.Output, values)
		w.close(c.op.Name + "Result")
	}
	w.open("ResponseMetadata", "")
	w.text("RequestId", s.requestID())
	w.close("ResponseMetadata")
	w.close(c.op.Name + "Response")
	return http.StatusOK, header, w.Bytes()
}

func (awsQuery) fail(s *Stub, c *call, f *fault) (int, http.Header, []byte) {
	return s.xmlFail(c, f, false)
}

// --- restXml

type restXML struct{}

func (restXML) find(s *Stub, r *http.Request, _ []byte) (*api.Operation, map[string]string, *fault) {
	return s.byPath(r)
}

func (restXML) read(s *Stub, c *call, body []byte) *fault {
	d := newDecoder(true, "date-time")
	d.parameters(s, c)
	if problem := d.problems.fault(); problem != nil || len(bytes.TrimSpace(body)) == 0 || c.op.Body == nil {
		return problem
	}
	if c.op.BodyMember != "" && c.op.Body.Kind <= api.Timestamp && c.op.Body.Kind != api.Any {
		return d.payload(c, body)
	}
	tree, problem := xmlTree(body)
	if problem != nil {
		return problem
	}
	if want := rootName(c.op.Body); tree.name != want {
		return faultf(invalid, "the body is the element %q, not %q", cut(tree.name), want)
	}
	c.body = d.tree(c.op.Body, tree, xmlDialect, c.op.BodyMember)
	return d.problems.fault()
}

func (restXML) answer(s *Stub, c *call, out *reply) (int, http.Header, []byte) {
	status, header := s.headersOf(c, out)
	header.Set("X-Amzn-Requestid", s.requestID())
	shape := c.op.Output
	if shape == nil || out.output == nil {
		return status, header, nil
	}
	if c.op.OutMember != "" && (shape.Kind == api.Blob || shape.Kind == api.String) {
		return status, header, rawPayload(header, shape, out.output)
	}
	if len(shape.Members) == 0 {
		return status, header, nil
	}
	header.Set("Content-Type", "application/xml")
	w := &xmlWriter{}
	w.value(rootName(shape), shape, out.output, s.api.XMLNS)
	return status, header, w.Bytes()
}

// rootName is the element of a body.
func rootName(shape *api.Shape) string { return cmp.Or(shape.XMLName, shape.Name) }

func (restXML) fail(s *Stub, c *call, f *fault) (int, http.Header, []byte) {
	return s.xmlFail(c, f, s.api.BareXML)
}
