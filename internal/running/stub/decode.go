package stub

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Values are those of encoding/json with json.Number. Structures have the names that members
// have in the description. Timestamps of Smithy models are texts in RFC 3339, binary values
// are Base64.

// problems are what is wrong with an input, the first ones only.
type problems []string

func (p *problems) add(at, format string, args ...any) {
	if len(*p) < 10 {
		*p = append(*p, strings.TrimPrefix(at, ".")+": "+fmt.Sprintf(format, args...))
	}
}

// unknown adds that a name is not known, with the nearest one.
func (p *problems) unknown(at, what, name string, known []string) {
	if len(*p) < 10 {
		p.add(cut(at), "unknown %s%s", what, near(name, known))
	}
}

func (p problems) fault() *fault {
	if len(p) == 0 {
		return nil
	}
	return &fault{kind: invalid, message: strings.Join(p, "; ")}
}

// A decoder reads values of one protocol.
type decoder struct {
	smithy   bool   // the rules of Smithy instead of those of JSON Schema
	time     string // the format of timestamps that have none of their own
	nulls    bool   // null means to remove
	problems *problems
}

func newDecoder(smithy bool, time string) *decoder {
	return &decoder{smithy: smithy, time: time, problems: &problems{}}
}

// with is the decoder with another format of timestamps.
func (d decoder) with(format string) *decoder {
	d.time = format
	return &d
}

// parseJSON reads the text of a body.
func parseJSON(body []byte) (*document.Value, *fault) {
	v, list := document.ParseJSON("body", body, document.Limits{Bytes: maxBody, Depth: maxDepth, Values: maxValues})
	if len(list) > 0 { // also duplicate keys
		return nil, faultf(invalid, "the body is not JSON: %s", list[0].Message)
	}
	return v, nil
}

// json reads a value by its shape.
func (d *decoder) json(shape *api.Shape, v *document.Value, at string) any {
	if v.Kind == document.Null {
		return nil
	}
	want := func(kind document.Kind, what string) bool {
		if v.Kind != kind {
			d.problems.add(at, "expected %s but got %s", what, v.Kind.WithArticle())
		}
		return v.Kind == kind
	}
	switch shape.Kind {
	case api.Structure, api.Union:
		if want(document.Object, "an object") {
			return d.object(shape, v, at)
		}
	case api.Map:
		if want(document.Object, "an object") {
			return d.mapOf(shape, v, at)
		}
	case api.List:
		if want(document.Array, "a list") {
			return d.list(shape, v, at)
		}
	case api.Boolean:
		if want(document.Bool, "a boolean") {
			return v.Bool
		}
	case api.Integer, api.Number:
		if d.smithy && shape.Kind == api.Number && v.Kind == document.String && slices.Contains([]string{"NaN", "Infinity", "-Infinity"}, v.Text) {
			return v.Text
		}
		if want(document.Number, "a number") {
			return d.number(shape, v.Text, at)
		}
	case api.String:
		if shape.More && (v.Kind == document.Number || v.Kind == document.Bool) {
			return v.Any()
		}
		if want(document.String, "a string") {
			return v.Text
		}
	case api.Blob:
		if want(document.String, "a string") {
			return d.blob(shape, v.Text, at)
		}
	case api.Timestamp:
		if v.Kind == document.Number || v.Kind == document.String {
			return d.timestamp(shape, v.Text, v.Kind == document.Number, at)
		}
		d.problems.add(at, "expected a time but got %s", v.Kind.WithArticle())
	default:
		return v.Any()
	}
	return nil
}

func (d *decoder) mapOf(shape *api.Shape, v *document.Value, at string) any {
	out := map[string]any{}
	for _, m := range v.Distinct() {
		if m.Value.Kind == document.Null && d.smithy && !shape.Nullable {
			d.problems.add(at+"."+m.Key, "null is not allowed")
			continue
		}
		out[m.Key] = d.json(orAny(shape.Item), m.Value, at+"."+m.Key)
	}
	return out
}

func (d *decoder) list(shape *api.Shape, v *document.Value, at string) any {
	item := orAny(shape.Item)
	nulls := shape.Nullable
	if !d.smithy {
		nulls = item.Nullable || item.Kind == api.Any
	}
	out := make([]any, 0, len(v.Items))
	for i, element := range v.Items {
		where := at + "[" + strconv.Itoa(i) + "]"
		if element.Kind == document.Null && !nulls {
			d.problems.add(where, "null is not allowed")
		}
		out = append(out, d.json(item, element, where))
	}
	return out
}

func orAny(shape *api.Shape) *api.Shape {
	if shape == nil {
		return &api.Shape{}
	}
	return shape
}

// object reads the members of a structure, which it names as the description does.
func (d *decoder) object(shape *api.Shape, v *document.Value, at string) map[string]any {
	byWire := map[string]*api.Member{}
	for _, m := range shape.Members {
		byWire[m.Wire] = m
	}
	out := map[string]any{}
	for _, member := range v.Distinct() {
		where := at + "." + member.Key
		m := byWire[member.Key]
		switch {
		case m == nil && shape.More:
			out[member.Key] = member.Value.Any()
		case m == nil && d.smithy && member.Key == "__type":
		case m == nil:
			d.problems.unknown(where, "member", member.Key, slices.Sorted(maps.Keys(byWire)))
		case member.Value.Kind == document.Null:
			switch {
			case d.smithy: // the same as no value
			case d.nulls || m.Shape.Nullable || m.Shape.Kind == api.Any:
				out[m.Name] = nil
			default:
				d.problems.add(where, "null is not allowed")
			}
		default:
			out[m.Name] = d.json(m.Shape, member.Value, where)
		}
	}
	if shape.Kind == api.Union && len(out) != 1 {
		d.problems.add(at, "exactly one member must be set, not %d", len(out))
	}
	return out
}

// number reads a number in the syntax of JSON.
func (d *decoder) number(shape *api.Shape, text, at string) any {
	if len(text) > 400 {
		d.problems.add(at, "the number has more than 400 digits")
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || text == "" || strings.ContainsAny(text, "_xXpP") {
		d.problems.add(at, "%s is not a number", quoted(shape, text))
		return nil
	}
	if shape.Kind == api.Integer {
		if _, whole := new(big.Int).SetString(text, 10); !whole {
			if f != float64(int64(f)) {
				d.problems.add(at, "%s is not a whole number", quoted(shape, text))
				return nil
			}
			text = strconv.FormatInt(int64(f), 10)
		}
	}
	return json.Number(strings.TrimPrefix(text, "+"))
}

// quoted is a value for a message, unless it is a secret. Numbers have no quotes.
func quoted(shape *api.Shape, text string) string {
	if shape.Sensitive || shape.Format == "password" {
		return "the value"
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return cut(text)
	}
	return strconv.Quote(cut(text))
}

func (d *decoder) blob(shape *api.Shape, text, at string) any {
	if d.smithy || shape.Format == "byte" {
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			d.problems.add(at, "the value is not Base64")
			return nil
		}
	}
	return text
}

// timestamp reads a time in the format of the shape or the protocol. Those of OpenAPI keep
// their text.
func (d *decoder) timestamp(shape *api.Shape, text string, number bool, at string) any {
	format := d.time
	if shape.Format != "" && d.smithy && format != "any" {
		format = shape.Format
	}
	var t time.Time
	var err error
	switch {
	case format == "any" && number:
		return newDecoder(true, "epoch-seconds").timestamp(&api.Shape{}, text, true, at)
	case format != "any" && (format == "epoch-seconds") != number:
		err = strconv.ErrSyntax
	case format == "epoch-seconds":
		var seconds float64
		if seconds, err = strconv.ParseFloat(text, 64); err == nil && (!(seconds < 1e11 && seconds > -1e11) || strings.ContainsAny(text, "xX_")) {
			err = strconv.ErrRange
		}
		t = time.UnixMilli(int64(seconds * 1000))
	case format == "http-date":
		t, err = time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", text)
		if err != nil {
			t, err = time.Parse("Mon, 02 Jan 2006 15:04:05.999 GMT", text)
		}
	default:
		t, err = time.Parse(time.RFC3339Nano, text)
		if err == nil && !d.smithy {
			return text
		}
		if err == nil && !strings.HasSuffix(text, "Z") {
			err = strconv.ErrSyntax
		}
	}
	if err != nil {
		d.problems.add(at, "%s is not a time in the format %s", quoted(shape, text), format)
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// text reads a value that is sent as text: in a path, a query, a header, a form or XML.
func (d *decoder) text(shape *api.Shape, text, at string) any {
	switch shape.Kind {
	case api.Boolean:
		if text != "true" && text != "false" {
			d.problems.add(at, "%s is not true or false", quoted(shape, text))
			return nil
		}
		return text == "true"
	case api.Integer, api.Number:
		if d.smithy && shape.Kind == api.Number && slices.Contains([]string{"NaN", "Infinity", "-Infinity"}, text) {
			return text
		}
		return d.number(shape, text, at)
	case api.Blob:
		return d.blob(shape, text, at)
	case api.Timestamp:
		number := d.time == "epoch-seconds" || d.smithy && shape.Format == "epoch-seconds"
		return d.timestamp(shape, text, number, at)
	case api.Structure, api.Union, api.Map:
		d.problems.add(at, "expected an object but got text")
		return nil
	}
	return text
}

// params reads the parameters of a call. The values of labels are in c.params already.
func (d *decoder) parameters(s *Stub, c *call) {
	paths, query, header := c.params[api.InPath], c.request.URL.Query(), c.request.Header
	c.params[api.InQuery], c.params[api.InHeader] = map[string]any{}, map[string]any{}
	known := map[string]bool{}
	for _, m := range c.op.Params {
		at := m.In.String() + " " + m.Name
		switch {
		case m.In == api.InPath:
			if text, ok := paths[m.Wire].(string); ok {
				delete(paths, m.Wire)
				paths[m.Name] = d.with("date-time").text(m.Shape, text, at)
			}
		case m.In == api.InQuery && m.Wire == "":
			continue
		case m.In == api.InQuery:
			name := m.Wire
			if !query.Has(name) && query.Has(name+"[]") {
				name += "[]"
			}
			known[name] = true
			if query.Has(name) {
				c.params[api.InQuery][m.Name] = d.with("date-time").texts(m.Shape, query[name], at, !d.smithy)
			}
		case m.Shape.Kind == api.Map: // headers with a prefix
			values := map[string]any{}
			for name := range header {
				if key, ok := strings.CutPrefix(strings.ToLower(name), strings.ToLower(m.Wire)); ok {
					values[key] = header.Get(name)
				}
			}
			if len(values) > 0 {
				c.params[api.InHeader][m.Name] = values
			}
		case header.Get(m.Wire) != "":
			c.params[api.InHeader][m.Name] = d.with("http-date").texts(m.Shape, header.Values(m.Wire), at, true)
		}
	}
	for name := range literals(c.op.Path) {
		known[name] = true
	}
	d.unknownQuery(s, c, known)
}

// literals are the parameters that a path itself has.
func literals(path string) map[string]bool {
	out := map[string]bool{}
	_, query, _ := strings.Cut(path, "?")
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		out[name] = true
	}
	return out
}

// unknownQuery refuses parameters that the description does not have, or collects them where
// it takes any.
func (d *decoder) unknownQuery(s *Stub, c *call, known map[string]bool) {
	var names []string
	var rest *api.Member
	for _, m := range c.op.Params {
		if m.In == api.InQuery && m.Wire == "" {
			rest = m
		} else if m.In == api.InQuery {
			names = append(names, m.Wire)
		}
	}
	for _, scheme := range s.api.Auth {
		known[scheme.Key] = known[scheme.Key] || scheme.In == "query"
	}
	others := map[string]any{}
	for name, values := range c.request.URL.Query() {
		base, _, _ := strings.Cut(name, "[") // an object, as name[key]
		if rest == nil && (known[name] || slices.Contains(names, base)) || strings.HasPrefix(name, "X-Amz-") {
			continue
		}
		if rest == nil {
			d.problems.unknown("query "+cut(name), "parameter", name, names)
			continue
		}
		others[name] = values[0]
		if item := rest.Shape.Item; item != nil && item.Kind == api.List {
			others[name] = d.texts(item, values, "query "+name, false)
		}
	}
	if len(others) > 0 {
		c.params[api.InQuery][rest.Name] = others
	}
}

// texts reads a parameter that may be repeated. With commas, one text may have several values.
func (d *decoder) texts(shape *api.Shape, values []string, at string, commas bool) any {
	if shape.Kind != api.List {
		return d.text(shape, values[0], at)
	}
	item := orAny(shape.Item)
	if commas && len(values) == 1 {
		values = splitList(values[0])
		if item.Kind == api.Timestamp && (d.time == "http-date" && item.Format == "" || item.Format == "http-date") {
			values = joinDates(values)
		}
	}
	out := []any{}
	for _, value := range values {
		out = append(out, d.text(item, value, at))
	}
	return out
}

// joinDates puts dates of HTTP together, which have a comma after the day of the week.
func joinDates(parts []string) (out []string) {
	for i := 0; i < len(parts); i += 2 {
		if i+1 == len(parts) {
			return append(out, parts[i])
		}
		out = append(out, parts[i]+", "+parts[i+1])
	}
	return out
}

// splitList splits a header or parameter with several values, which may be in quotes.
func splitList(text string) (out []string) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] == '"' {
			var value strings.Builder
			i := 1
			for ; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' && i+1 < len(text) {
					i++
				}
				value.WriteByte(text[i])
			}
			out = append(out, value.String())
			_, text, _ = strings.Cut(text[min(i+1, len(text)):], ",")
			continue
		}
		var value string
		value, text, _ = strings.Cut(text, ",")
		out = append(out, strings.TrimSpace(value))
	}
	return out
}
