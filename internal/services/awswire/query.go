package awswire

import (
	"encoding/base64"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The bounds of a form.
const (
	defaultQueryBody = 2 << 20
	maxParameters    = 20_000
	maxDepth         = 32  // of nested members, in forms and in JSON
	maxName          = 512 // bytes of a parameter's name
)

// readQuery reads the parameters of a Query request: those of a form that is posted, and
// those of the URL.
func (t *Table) readQuery(r *http.Request) (request, string, error) {
	raw := []string{r.URL.RawQuery}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		max := t.MaxBody
		if max == 0 {
			max = defaultQueryBody
		}
		body, err := readBody(r, max)
		if err != nil {
			return request{}, "", err
		}
		if err := formContent(r.Header.Get("Content-Type"), len(body) == 0); err != nil {
			return request{}, "", err
		}
		raw = append(raw, string(body))
	default:
		return request{}, "", Errorf("MethodNotAllowed", http.StatusMethodNotAllowed, "The method %s is not allowed; use POST or GET", shorten(r.Method))
	}
	form, err := parseForm(raw...)
	if err != nil {
		return request{}, "", err
	}
	action := form.scalar("Action")
	if action == "" {
		return request{}, "", Errorf("MissingAction", http.StatusBadRequest, "Missing Action")
	}
	version := form.scalar("Version")
	if version == "" {
		version = "NO_VERSION_SPECIFIED"
	}
	name := shorten(action)
	return request{version: version, decode: func(sh *shape, target reflect.Value) error {
		return decodeForm(sh, form, target, "")
	}}, name, nil
}

// formContent refuses a body that says it is something other than a form in UTF-8.
func formContent(header string, empty bool) error {
	if header == "" && empty {
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(header)
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return Errorf("UnsupportedMediaTypeException", http.StatusUnsupportedMediaType,
			"The content type %q is not supported; use application/x-www-form-urlencoded", shorten(header))
	}
	return utf8Charset(parameters)
}

func utf8Charset(parameters map[string]string) error {
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return Errorf("UnsupportedMediaTypeException", http.StatusUnsupportedMediaType, "The charset %s is not supported; use utf-8", shorten(charset))
	}
	return nil
}

// A node is what a form says below one name: Tags.member.1.Key is four nodes deep.
type node struct {
	value    string
	given    bool // a parameter of exactly this name was sent
	children map[string]*node
}

func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	return n.children[name]
}

// scalar is the value of a parameter, "" if it was not sent.
func (n *node) scalar(name string) string {
	if c := n.child(name); c != nil {
		return c.value
	}
	return ""
}

// parseForm makes the tree of the parameters.
func parseForm(raw ...string) (*node, error) {
	root := &node{}
	count := 0
	for _, query := range raw {
		for query != "" {
			var pair string
			pair, query, _ = strings.Cut(query, "&")
			if pair == "" {
				continue
			}
			if count++; count > maxParameters {
				return nil, Errorf("MalformedQueryString", http.StatusBadRequest, "The request has more than %d parameters", maxParameters)
			}
			if err := root.add(pair); err != nil {
				return nil, err
			}
		}
	}
	return root, nil
}

// add puts one name=value into the tree.
func (n *node) add(pair string) error {
	rawName, rawValue, _ := strings.Cut(pair, "=")
	name, err := url.QueryUnescape(rawName)
	if err != nil {
		return Errorf("MalformedQueryString", http.StatusBadRequest, "The name of a parameter has a malformed percent encoding")
	}
	if len(name) > maxName {
		return Errorf("MalformedQueryString", http.StatusBadRequest, "The name of a parameter is longer than %d bytes", maxName)
	}
	if !cleanText(name) {
		return Errorf("MalformedQueryString", http.StatusBadRequest, "The name of a parameter is not UTF-8 text")
	}
	value, err := url.QueryUnescape(rawValue)
	if err != nil {
		return Errorf("MalformedQueryString", http.StatusBadRequest, "The value of parameter %s has a malformed percent encoding", shorten(name))
	}
	if !cleanText(value) {
		return Errorf("MalformedQueryString", http.StatusBadRequest, "The value of parameter %s is not UTF-8 text", shorten(name))
	}
	depth := 0
	at := n
	for rest, more := name, true; more; {
		if depth++; depth > maxDepth {
			return Errorf("MalformedQueryString", http.StatusBadRequest, "Parameter %s is nested deeper than %d levels", shorten(name), maxDepth)
		}
		var part string
		part, rest, more = strings.Cut(rest, ".")
		next := at.children[part]
		if next == nil {
			next = &node{}
			if at.children == nil {
				at.children = map[string]*node{}
			}
			at.children[part] = next
		}
		at = next
	}
	if at.given {
		return Errorf("MalformedQueryString", http.StatusBadRequest, "Parameter %s is given more than once", shorten(name))
	}
	at.given, at.value = true, value
	return nil
}

// cleanText reports whether s is text that XML can carry back and any database can keep.
func cleanText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// malformed is the refusal of a parameter that does not fit its shape.
func malformed(path, format string, args ...any) *Error {
	e := Errorf("MalformedInput", http.StatusBadRequest, format, args...)
	if path != "" {
		e.Message += " at " + shorten(path)
	}
	return e
}

// decodeForm decodes n into target. The path is only for messages.
func decodeForm(sh *shape, n *node, target reflect.Value, path string) error {
	switch sh.kind {
	case kindStructure:
		return decodeFormStructure(sh, n, target, path)
	case kindList:
		return decodeFormList(sh, n, target, path)
	case kindMap:
		return decodeFormMap(sh, n, target, path)
	case kindUnion:
		return decodeFormUnion(sh, n, target, path)
	case kindDocument:
		return malformed(path, "A document cannot be sent as a parameter")
	}
	if len(n.children) > 0 {
		return malformed(path, "Start of structure, list or map found where not expected")
	}
	value := reflect.New(sh.typ).Elem()
	if err := scalarFromText(sh, n.value, value, path); err != nil {
		return err
	}
	sh.set(target, value)
	return nil
}

func decodeFormStructure(sh *shape, n *node, target reflect.Value, path string) error {
	if n.value != "" {
		return malformed(path, "Unexpected value where a structure was expected")
	}
	value := reflect.New(sh.typ).Elem()
	for _, m := range sh.members {
		if c := n.child(m.name); c != nil {
			if err := decodeForm(m.shape, c, value.Field(m.index), join(path, m.name)); err != nil {
				return err
			}
		}
	}
	sh.set(target, value)
	return nil
}

func decodeFormUnion(sh *shape, n *node, target reflect.Value, path string) error {
	if n.value != "" {
		return malformed(path, "Unexpected value where a structure was expected")
	}
	for _, m := range sh.members {
		c := n.child(m.name)
		if c == nil {
			continue
		}
		if !target.IsNil() {
			return malformed(path, "More than one member of a union")
		}
		variant := reflect.New(m.typ)
		if err := decodeForm(m.shape, c, variant.Elem().Field(m.index), join(path, m.name)); err != nil {
			return err
		}
		target.Set(variant)
	}
	return nil
}

// decodeFormList decodes Name.member.1, Name.member.2 …; "Name=" is the empty list.
func decodeFormList(sh *shape, n *node, target reflect.Value, path string) error {
	items, err := numbered(n, "member", path)
	if err != nil {
		return err
	}
	list := reflect.MakeSlice(sh.typ, len(items), len(items))
	for i, item := range items {
		if err := decodeForm(sh.elem, item, list.Index(i), join(path, strconv.Itoa(i+1)+".member")); err != nil {
			return err
		}
	}
	sh.set(target, list)
	return nil
}

// decodeFormMap decodes Name.entry.1.key with Name.entry.1.value; "Name=" is the empty map.
func decodeFormMap(sh *shape, n *node, target reflect.Value, path string) error {
	items, err := numbered(n, "entry", path)
	if err != nil {
		return err
	}
	m := reflect.MakeMapWithSize(sh.typ, len(items))
	for _, item := range items {
		k, v := item.child("key"), item.child("value")
		if k == nil || v == nil || item.value != "" {
			return malformed(path, "An entry of a map needs a key and a value")
		}
		key := reflect.New(sh.typ.Key()).Elem()
		if err := decodeForm(sh.key, k, key, join(path, "key")); err != nil {
			return err
		}
		value := reflect.New(sh.typ.Elem()).Elem()
		if err := decodeForm(sh.elem, v, value, join(path, "value")); err != nil {
			return err
		}
		if m.MapIndex(key).IsValid() {
			return malformed(path, "Duplicate key in a map")
		}
		m.SetMapIndex(key, value)
	}
	sh.set(target, m)
	return nil
}

// numbered are the nodes n.word.1, n.word.2 … in the order of their numbers, which need
// not be without gaps: nothing is allocated for what was not sent.
func numbered(n *node, word, path string) ([]*node, error) {
	if n.value != "" {
		return nil, malformed(path, "Unexpected value where a list or map was expected")
	}
	inner := n.child(word)
	if inner == nil {
		if len(n.children) > 0 {
			return nil, malformed(path, "Expected %q below a list or map", word)
		}
		return nil, nil
	}
	if inner.value != "" {
		return nil, malformed(path, "Unexpected value where a list or map was expected")
	}
	numbers := make([]int, 0, len(inner.children))
	for text := range inner.children {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || strconv.Itoa(number) != text {
			return nil, malformed(path, "%q is not the number of a list member", shorten(text))
		}
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	nodes := make([]*node, len(numbers))
	for i, number := range numbers {
		nodes[i] = inner.children[strconv.Itoa(number)]
	}
	return nodes, nil
}

// scalarFromText parses the text of a form's value. Values do not appear in messages:
// they may be secret.
func scalarFromText(sh *shape, text string, value reflect.Value, path string) error {
	switch sh.kind {
	case kindString:
		value.SetString(text)
	case kindBool:
		switch {
		case strings.EqualFold(text, "true"):
			value.SetBool(true)
		case strings.EqualFold(text, "false"):
		default:
			return malformed(path, "Value is not a boolean")
		}
	case kindInt:
		number, err := strconv.ParseInt(text, 10, value.Type().Bits())
		if err != nil {
			return malformed(path, "Value is not an integer of %d bits", value.Type().Bits())
		}
		value.SetInt(number)
	case kindFloat:
		number, err := parseFloat(text, value.Type().Bits())
		if err != nil {
			return malformed(path, "Value is not a number")
		}
		value.SetFloat(number)
	case kindTime:
		at, err := parseTime(text)
		if err != nil {
			return malformed(path, "timestamp must follow ISO8601")
		}
		value.Set(reflect.ValueOf(at))
	case kindBlob:
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return malformed(path, "Value is not base64")
		}
		value.SetBytes(data)
	}
	return nil
}

// parseFloat parses a number, or one of the three names that JSON and forms have for
// non-finite values.
func parseFloat(text string, bits int) (float64, error) {
	switch text {
	case "NaN", "Infinity", "-Infinity":
		return strconv.ParseFloat(strings.Replace(text, "Infinity", "Inf", 1), bits)
	}
	if strings.ContainsAny(text, "xXpP_iInN") { // hexadecimal, underscores and Go's own names
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, bits)
}

// parseTime parses a timestamp as ISO 8601, as the date of an HTTP header, or as seconds
// since the epoch.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", http.TimeFormat} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	seconds, err := parseFloat(text, 64)
	if err != nil {
		return time.Time{}, err
	}
	return epoch(seconds)
}

// epoch is the time of a number of seconds since 1970, to the millisecond.
func epoch(seconds float64) (time.Time, error) {
	const most = 253402300800 // the year 10000
	if !(seconds > -most && seconds < most) {
		return time.Time{}, strconv.ErrRange
	}
	return time.UnixMilli(int64(roundHalfAway(seconds * 1000))).UTC(), nil
}

func roundHalfAway(f float64) float64 {
	if f < 0 {
		return f - 0.5
	}
	return f + 0.5
}

// join makes the path of a member below another.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
