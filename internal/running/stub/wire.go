package stub

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A protocol is how requests and responses are written.
type protocol interface {
	find(s *Stub, r *http.Request, body []byte) (*api.Operation, map[string]string, *fault)
	read(s *Stub, c *call, body []byte) *fault
	answer(s *Stub, c *call, out *reply) (int, http.Header, []byte)
	fail(s *Stub, c *call, f *fault) (int, http.Header, []byte)
}

// An encoder writes values as JSON.
type encoder struct {
	time string // the format of timestamps that have none of their own; "" as they are
}

// value brings a value into the form of encoding/json, with the names that are sent.
func (e encoder) value(shape *api.Shape, v any) any {
	if shape == nil || v == nil {
		return v
	}
	switch value := v.(type) {
	case map[string]any:
		out := map[string]any{}
		if shape.Kind == api.Map {
			for key, element := range value {
				out[key] = e.value(shape.Item, element)
			}
			return out
		}
		for name, element := range value {
			m := shape.Member(name)
			if m == nil {
				if shape.Kind != api.Structure && shape.Kind != api.Union || shape.More {
					out[name] = element
				}
				continue
			}
			out[m.Wire] = e.value(m.Shape, element)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, element := range value {
			out[i] = e.value(shape.Item, element)
		}
		return out
	case string:
		if shape.Kind == api.Timestamp && e.time != "" {
			return formatTime(shape, value, e.time)
		}
	}
	return v
}

// formatTime writes a timestamp in the format of its shape, or else another one. Seconds are
// numbers.
func formatTime(shape *api.Shape, text, format string) any {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	if shape.Format != "" {
		format = shape.Format
	}
	switch format {
	case "epoch-seconds":
		seconds := fmt.Sprintf("%d.%03d", t.Unix(), t.Nanosecond()/1e6)
		return json.Number(strings.TrimSuffix(strings.TrimRight(seconds, "0"), "."))
	case "http-date":
		return t.UTC().Format(http.TimeFormat)
	}
	return t.UTC().Format("2006-01-02T15:04:05.999Z")
}

// asText is a value in a header.
func asText(shape *api.Shape, v any) string {
	if values, isList := v.([]any); isList {
		var out []string
		for _, element := range values {
			text := asText(orAny(shape.Item), element)
			if orAny(shape.Item).Kind == api.String && strings.ContainsAny(text, `,"`) {
				text = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
			}
			out = append(out, text)
		}
		return strings.Join(out, ", ")
	}
	text := textOf(v)
	if shape.Kind == api.Timestamp {
		text = fmt.Sprint(formatTime(shape, text, "http-date"))
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
}

func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return []byte("{}")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// headersOf are the headers of a response that the description has, and the status.
func (s *Stub) headersOf(c *call, out *reply) (int, http.Header) {
	header := http.Header{}
	status := out.status
	if status == 0 {
		status = http.StatusOK
		if len(c.op.Status) > 0 {
			status = c.op.Status[0]
		}
	}
	for _, m := range c.op.OutHeaders {
		v, ok := out.members[m.Name]
		if !ok && out.item != nil && plain(m.Name) == "etag" {
			v, ok = out.item.etag(), true
		}
		if !ok && out.item != nil && c.role.resource != nil {
			v, ok = s.known(c.role.resource, m, out.item)
			if !ok && m.Required {
				v, ok = s.made(c.role.resource, m, out.item)
			}
		}
		switch values, isMap := v.(map[string]any); {
		case !ok || v == nil:
		case m.Wire == "" && m.Shape.Kind == api.Integer:
			if n, err := strconv.Atoi(textOf(v)); err == nil && n >= 200 && n < 600 {
				status = n
			}
		case isMap:
			for key, element := range values {
				header.Set(m.Wire+key, asText(orAny(m.Shape.Item), element))
			}
		case strings.EqualFold(m.Name, "Location") && s.api.Format == "openapi":
			header.Set(m.Wire, c.request.URL.Path)
		default:
			header.Set(m.Wire, asText(m.Shape, v))
		}
	}
	return status, header
}

// --- OpenAPI

type openapi struct{}

func (openapi) find(s *Stub, r *http.Request, _ []byte) (*api.Operation, map[string]string, *fault) {
	return s.byPath(r)
}

func (openapi) read(s *Stub, c *call, body []byte) *fault {
	d := newDecoder(false, "date-time")
	d.parameters(s, c)
	if c.op.Body == nil || len(body) == 0 {
		return d.problems.fault()
	}
	kind, _, _ := strings.Cut(c.request.Header.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	described := strings.ToLower(c.op.ContentType)
	switch {
	case kind == "application/x-www-form-urlencoded" && (strings.HasPrefix(described, kind) || described == "*/*"):
		tree, problem := formTree(body)
		if problem != nil {
			return problem
		}
		c.body = d.tree(c.op.Body, tree, formDialect, "")
		return d.problems.fault()
	case !strings.HasSuffix(kind, "json") && kind != "":
		return faultf(badMedia, "the media type %q is not %s", cut(kind), c.op.ContentType)
	}
	v, problem := parseJSON(body)
	if problem != nil {
		return problem
	}
	c.patch = kind == "application/json-patch+json"
	c.merge = strings.Contains(kind+described, "merge-patch")
	d.nulls = c.op.Method == http.MethodPatch
	if c.patch {
		c.body = v.Any()
	} else {
		c.body = d.json(c.op.Body, v, "")
	}
	return d.problems.fault()
}

func (openapi) answer(s *Stub, c *call, out *reply) (int, http.Header, []byte) {
	status, header := s.headersOf(c, out)
	if out.output == nil || c.op.Output == nil || status == http.StatusNoContent {
		return status, header, nil
	}
	kind := c.op.OutType
	if base, _, _ := strings.Cut(kind, ";"); !strings.HasSuffix(base, "json") {
		kind = "application/json"
	}
	header.Set("Content-Type", kind)
	return status, header, marshal(encoder{}.value(c.op.Output, out.output))
}

func (openapi) fail(s *Stub, c *call, f *fault) (int, http.Header, []byte) {
	status, code, shape := s.outcome(f, c)
	header := f.header()
	header.Set("Content-Type", "application/json")
	if code == kinds[f.kind].code { // in the style of status texts, not of AWS
		code = strings.ToLower(strings.ReplaceAll(http.StatusText(status), " ", "_"))
	}
	return status, header, marshal(encoder{}.value(shape, s.describe(shape, f, status, code, 0)))
}

// --- AWS JSON

type awsJSON struct{}

func (awsJSON) find(s *Stub, r *http.Request, _ []byte) (*api.Operation, map[string]string, *fault) {
	if r.Method != http.MethodPost || strings.Trim(r.URL.Path, "/") != "" {
		return nil, nil, faultf(unknown, "the service takes POST requests to /, not %s %s", cut(r.Method), cut(r.URL.Path))
	}
	target := r.Header.Get("X-Amz-Target")
	name := target[strings.LastIndex(target, ".")+1:]
	op := s.operation(name)
	if op == nil {
		return nil, nil, faultf(unknown, "X-Amz-Target names no operation of the service: %q%s", cut(name), near(name, s.names()))
	}
	return op, nil, nil
}

func (awsJSON) read(_ *Stub, c *call, body []byte) *fault {
	if kind := c.request.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/x-amz-json-1.") {
		return faultf(badMedia, "the media type %q is not application/x-amz-json-1.0 or 1.1", cut(kind))
	}
	d := newDecoder(true, "epoch-seconds")
	return d.body(c, body)
}

// body reads the JSON of a request without a payload member.
func (d *decoder) body(c *call, body []byte) *fault {
	shape := c.op.Body
	if shape == nil {
		shape = &api.Shape{Kind: api.Structure}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	v, problem := parseJSON(body)
	if problem != nil {
		return problem
	}
	if v.Kind == document.Null {
		v = document.NewObject()
	}
	c.body = d.json(shape, v, "")
	return d.problems.fault()
}

func (awsJSON) answer(s *Stub, c *call, out *reply) (int, http.Header, []byte) {
	header := http.Header{}
	header.Set("Content-Type", mediaOf(s.api.Protocol))
	header.Set("X-Amzn-Requestid", s.requestID())
	output := out.output
	if output == nil {
		output = map[string]any{}
	}
	return http.StatusOK, header, marshal(encoder{"epoch-seconds"}.value(c.op.Output, output))
}

func mediaOf(protocol string) string {
	if protocol == "awsJson1_0" {
		return "application/x-amz-json-1.0"
	}
	return "application/x-amz-json-1.1"
}

func (awsJSON) fail(s *Stub, c *call, f *fault) (int, http.Header, []byte) {
	status, header, body := s.awsError(c, f)
	header.Set("Content-Type", mediaOf(s.api.Protocol))
	return status, header, body
}

// awsError is an error in the JSON protocols of AWS.
func (s *Stub) awsError(c *call, f *fault) (int, http.Header, []byte) {
	status, code, shape := s.outcome(f, c)
	header := f.header()
	header.Set("X-Amzn-Requestid", s.requestID())
	body := map[string]any{"message": f.message}
	if shape != nil && shape.Kind == api.Structure {
		if described, ok := s.describe(shape, f, status, code, 0).(map[string]any); ok {
			body = described
		}
	}
	sent, _ := encoder{"epoch-seconds"}.value(shape, body).(map[string]any)
	if sent["message"] == nil && sent["Message"] == nil {
		sent["message"] = f.message
	}
	sent["__type"] = code
	header.Set("X-Amzn-Errortype", code)
	return status, header, marshal(sent)
}

// requestID is the number of the call, in the form of a UUID.
func (s *Stub) requestID() string {
	return fmt.Sprintf("00000000-0000-4000-a000-%012d", s.number+1)
}

// --- restJson1

type restJSON struct{}

func (restJSON) find(s *Stub, r *http.Request, _ []byte) (*api.Operation, map[string]string, *fault) {
	return s.byPath(r)
}

func (restJSON) read(s *Stub, c *call, body []byte) *fault {
	d := newDecoder(true, "epoch-seconds")
	d.parameters(s, c)
	if problem := d.problems.fault(); problem != nil {
		return problem
	}
	if c.op.BodyMember == "" {
		if problem := wantMedia(c, body, "application/json"); problem != nil && c.op.Body != nil {
			return problem
		}
		return d.body(c, body)
	}
	if c.op.Body.Kind != api.Blob && c.op.Body.Kind != api.String {
		if problem := wantMedia(c, body, "application/json"); problem != nil {
			return problem
		}
	}
	return d.payload(c, body)
}

// wantMedia refuses a body of another media type.
func wantMedia(c *call, body []byte, want string) *fault {
	kind, _, _ := strings.Cut(c.request.Header.Get("Content-Type"), ";")
	if len(body) > 0 && strings.TrimSpace(kind) != want {
		return faultf(badMedia, "the media type %q is not %s", cut(kind), want)
	}
	return nil
}

// payload reads a body that is the value of one member.
func (d *decoder) payload(c *call, body []byte) *fault {
	if len(body) == 0 {
		return nil
	}
	switch c.op.Body.Kind {
	case api.Blob:
		c.body = base64.StdEncoding.EncodeToString(body)
	case api.String:
		c.body = string(body)
	default:
		v, problem := parseJSON(body)
		if problem != nil {
			return problem
		}
		c.body = d.json(c.op.Body, v, c.op.BodyMember)
	}
	return d.problems.fault()
}

func (restJSON) answer(s *Stub, c *call, out *reply) (int, http.Header, []byte) {
	status, header := s.headersOf(c, out)
	header.Set("X-Amzn-Requestid", s.requestID())
	output := out.output
	if c.op.Output == nil {
		return status, header, nil
	}
	if c.op.OutMember != "" && (c.op.Output.Kind == api.Blob || c.op.Output.Kind == api.String) {
		return status, header, rawPayload(header, c.op.Output, output)
	}
	if output == nil {
		if c.op.OutMember != "" {
			return status, header, nil
		}
		output = map[string]any{}
	}
	header.Set("Content-Type", "application/json")
	return status, header, marshal(encoder{"epoch-seconds"}.value(c.op.Output, output))
}

// rawPayload is a body that is not encoded.
func rawPayload(header http.Header, shape *api.Shape, v any) []byte {
	if shape.Kind == api.Blob {
		header.Set("Content-Type", "application/octet-stream")
		data, _ := base64.StdEncoding.DecodeString(textOf(v))
		return data
	}
	header.Set("Content-Type", "text/plain")
	return []byte(textOf(v))
}

func (restJSON) fail(s *Stub, c *call, f *fault) (int, http.Header, []byte) {
	status, header, body := s.awsError(c, f)
	header.Set("Content-Type", "application/json")
	return status, header, body
}
