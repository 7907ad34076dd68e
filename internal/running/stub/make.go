package stub

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/dlclark/regexp2/v2"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/proving/sample"
)

// makers make values that fit shapes.
type makers struct {
	patterns map[string]*regexp2.Regexp // nil: cannot be compiled
	base     *schema.Schema
	left     int // values that may be made for this call
}

// maxMade bounds the values that are made for one response: structures that contain each other have any number.
const maxMade = 10_000

func newMakers() *makers { return &makers{patterns: map[string]*regexp2.Regexp{}, left: maxMade} }

// matches reports whether a text has a match. What cannot be decided counts as one.
func (m *makers) matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	re, known := m.patterns[pattern]
	if !known {
		re, _ = schema.CompilePattern(pattern)
		m.patterns[pattern] = re
	}
	if re == nil {
		return true
	}
	found, err := re.MatchString(text)
	return found || err != nil
}

// fits reports whether a value has the constraints of a shape.
func (m *makers) fits(shape *api.Shape, v any) bool {
	var found problems
	checker{makers: m, problems: &found}.value(shape, v, "")
	return len(found) == 0
}

// A wish says for which place a value is made.
type wish struct {
	name   string // of the member
	noun   string // of the resource
	arn    string // the prefix of actions; "" if the service has no ARNs
	seed   string // the same seed gives the same value
	path   string // the identifiers, as ARNs have them
	nested string // the same with nouns, from what it is in

	also []*api.Shape // that the text should fit, too
}

func (w wish) hash() [32]byte { return sha256.Sum256([]byte(w.seed)) }

// text makes a text for a member: an identifier, an ARN, an address or a name if it looks as
// if it were one.
func (m *makers) text(shape *api.Shape, w wish) string {
	if len(shape.Enum) > 0 {
		return settled(shape.Enum)
	}
	sum := w.hash()
	digits := hex.EncodeToString(sum[:])
	uuid := fmt.Sprintf("%s-%s-4%s-a%s-%s", digits[:8], digits[8:12], digits[13:16], digits[17:20], digits[20:32])
	noun := strings.ToLower(w.noun)
	var candidates []string
	name := plain(w.name)
	switch {
	case shape.Format == "uuid":
		return uuid
	case shape.Format == "date":
		return "2026-01-01"
	case shape.Format == "ipv4" || strings.HasSuffix(name, "ip") || strings.HasSuffix(name, "ipaddress"):
		candidates = []string{fmt.Sprintf("192.0.2.%d", sum[0])}
	case shape.Format == "ipv6":
		candidates = []string{"2001:db8::" + digits[:4]}
	case shape.Format == "email" || strings.HasSuffix(name, "email"):
		candidates = []string{noun + "@example.com"}
	case shape.Format == "uri" || shape.Format == "url" || strings.HasSuffix(name, "url") || strings.HasSuffix(name, "uri") || name == "href" || name == "self":
		candidates = []string{"https://example.com/" + noun + "/" + digits[:12]}
	case shape.Format == "hostname" || strings.HasSuffix(name, "hostname") || strings.HasSuffix(name, "endpoint") || strings.HasSuffix(name, "domain"):
		candidates = []string{digits[:12] + ".example.com"}
	case strings.HasSuffix(name, "arn"):
		candidates = w.arns(digits)
	case strings.HasSuffix(name, "region"):
		candidates = []string{"us-east-1"}
	case strings.HasSuffix(name, "accountid") || strings.HasSuffix(name, "owner"):
		candidates = []string{"123456789012"}
	}
	candidates = append(candidates, digits[:12], noun+"-"+digits[:8], uuid, digits[:17], digits[:26], digits[:32], digits,
		strings.ToUpper(digits[:20]), strconv.Itoa(int(binary.BigEndian.Uint32(sum[:])>>1)))
	candidates = append(candidates, w.arns(digits)...)
	fits := func(text string) bool {
		return m.fits(shape, text) && !slices.ContainsFunc(w.also, func(other *api.Shape) bool { return !m.fits(other, text) })
	}
	if i := slices.IndexFunc(candidates, fits); i >= 0 {
		return candidates[i]
	}
	for _, narrow := range narrowed(shape, w.also) {
		if text, ok := m.sampled(narrow, sum); ok && fits(text) {
			return text
		}
	}
	if len(w.also) > 0 { // they may contradict each other
		w.also = nil
		return m.text(shape, w)
	}
	if text, ok := m.sampled(shape, sum); ok {
		return text
	}
	return digits[:12]
}

// narrowed are shapes of texts with the limits of length of all of several shapes, and the pattern of one.
func narrowed(shape *api.Shape, also []*api.Shape) (out []*api.Shape) {
	all := slices.Concat([]*api.Shape{shape}, also)
	lengths := api.Shape{Kind: api.String}
	for _, s := range all {
		if s.MinLen != nil && (lengths.MinLen == nil || *s.MinLen > *lengths.MinLen) {
			lengths.MinLen = s.MinLen
		}
		if s.MaxLen != nil && (lengths.MaxLen == nil || *s.MaxLen < *lengths.MaxLen) {
			lengths.MaxLen = s.MaxLen
		}
	}
	for _, s := range all {
		if s.Pattern != "" {
			one := lengths
			one.Pattern = s.Pattern
			out = append(out, &one)
		}
	}
	return append(out, &lengths)
}

// arns are ARNs in the usual forms.
func (w wish) arns(digits string) (out []string) {
	var kebab strings.Builder
	for i, r := range w.noun {
		if i > 0 && r >= 'A' && r <= 'Z' {
			kebab.WriteByte('-')
		}
		kebab.WriteRune(r)
	}
	for _, id := range []string{w.path, digits[:16], "default/" + digits[:16]} {
		for _, noun := range []string{strings.ToLower(w.noun), strings.ToLower(kebab.String())} {
			if id != "" {
				out = append(out, fmt.Sprintf("arn:aws:%s:us-east-1:123456789012:%s/%s", w.arn, noun, id))
			}
		}
	}
	if w.nested != "" {
		out = append(out, fmt.Sprintf("arn:aws:%s:us-east-1:123456789012:%s", w.arn, w.nested))
	}
	return out
}

// sampled makes a text by the pattern of a shape.
func (m *makers) sampled(shape *api.Shape, sum [32]byte) (string, bool) {
	if m.base == nil {
		m.base, _ = schema.Load("stub.json", []byte(`{"typeName": "A::B::C", "description": "d", "properties": {"A": {"type": "string"}}, "additionalProperties": false, "primaryIdentifier": ["/properties/A"]}`), schema.Config{})
		if m.base == nil {
			return "", false
		}
	}
	number := func(n int) *document.Value { return &document.Value{Kind: document.Number, Text: strconv.Itoa(n)} }
	node := document.NewObject()
	node.Set("type", document.NewString("string"))
	if shape.Pattern != "" {
		node.Set("pattern", document.NewString(shape.Pattern))
	}
	if shape.MinLen != nil {
		node.Set("minLength", number(*shape.MinLen))
	}
	if shape.MaxLen != nil {
		node.Set("maxLength", number(*shape.MaxLen))
	}
	made, err := sample.New(m.base, sample.Config{Seed: binary.BigEndian.Uint64(sum[:8]), Profile: sample.Minimal}).Value(node)
	text, ok := made.(string)
	return text, ok && err == nil
}

// settledStates are the values that a resource at rest has, the likeliest first.
var settledStates = []string{"active", "available", "enabled", "ready", "running", "online", "created", "createcomplete", "complete", "completed", "succeeded", "success", "inservice", "ok", "healthy", "normal"}

// settled is the value of an enumeration that a resource at rest has, else the first one.
func settled(values []string) string {
	for _, state := range settledStates {
		for _, value := range values {
			if plain(value) == state {
				return value
			}
		}
	}
	return values[0]
}

// plainValue is a small value that fits a shape.
func (m *makers) plainValue(shape *api.Shape, depth int) any { return m.value(shape, wish{}, depth) }

// value makes a value: structures have their required members, lists and maps as little as
// is allowed.
func (m *makers) value(shape *api.Shape, w wish, depth int) any {
	if depth > 8 || m.left <= 0 {
		return nil
	}
	m.left--
	below := func(name string) wish {
		w := w
		w.name, w.seed = name, w.seed+"/"+name
		return w
	}
	count := 0
	if shape.MinLen != nil {
		count = min(*shape.MinLen, 100)
	}
	switch shape.Kind {
	case api.Boolean:
		return false
	case api.Integer, api.Number:
		return smallest(shape)
	case api.String:
		return m.text(shape, w)
	case api.Blob:
		return "AA=="
	case api.Timestamp:
		return "2026-01-01T00:00:00Z"
	case api.List:
		out := []any{}
		for i := range count {
			out = append(out, m.value(orAny(shape.Item), below(strconv.Itoa(i)), depth+1))
		}
		return out
	case api.Map:
		out := map[string]any{}
		for i := range count {
			out["key"+strconv.Itoa(i)] = m.value(orAny(shape.Item), below(strconv.Itoa(i)), depth+1)
		}
		return out
	case api.Structure, api.Union:
		out := map[string]any{}
		for _, member := range shape.Members {
			if member.Required && !member.WriteOnly || shape.Kind == api.Union && len(out) == 0 {
				out[member.Name] = m.member(member, below(member.Name), depth+1)
			}
		}
		return out
	}
	return map[string]any{}
}

// member makes the value of a member: its example, its default, or what fits.
func (m *makers) member(member *api.Member, w wish, depth int) any {
	for _, given := range []*document.Value{member.Default, member.Example} {
		if given == nil || member.Shape.Kind == api.Timestamp {
			continue
		}
		d := newDecoder(w.arn != "", "date-time")
		if v := d.json(member.Shape, given, ""); v != nil && len(*d.problems) == 0 && m.fits(member.Shape, v) {
			return v
		}
	}
	return m.value(member.Shape, w, depth)
}

// smallest is the number nearest to zero that is allowed.
func smallest(shape *api.Shape) any {
	n := new(big.Rat)
	if least, ok := exact(shape.Minimum); ok && least.Sign() > 0 {
		n = least
	}
	if most, ok := exact(shape.Maximum); ok && most.Cmp(n) < 0 {
		n = most
	}
	if n.IsInt() {
		return json.Number(n.Num().String())
	}
	text, _ := n.FloatPrec()
	return json.Number(n.FloatString(min(text, 20)))
}

// textOf is a simple value as identifiers have it; "" for others.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// hiddenValue is what reports have instead of secrets.
const hiddenValue = "***"

// sensitive are the plain names of members of a resource that reports do not show.
func (s *Stub) sensitive(r *resource) map[string]bool {
	var shapes []*api.Shape
	for op, role := range s.roles {
		if role.resource == r && op != nil {
			shapes = append(shapes, op.Body, op.Output)
		}
	}
	return secrets(shapes...)
}

// secrets are the plain names of members of shapes that only the caller and the service may know, at any depth.
func secrets(shapes ...*api.Shape) map[string]bool {
	out, seen := map[string]bool{}, map[*api.Shape]bool{nil: true}
	for len(shapes) > 0 {
		shape := shapes[len(shapes)-1]
		shapes = shapes[:len(shapes)-1]
		if seen[shape] {
			continue
		}
		seen[shape] = true
		for _, m := range shape.Members {
			if m.Sensitive || m.Shape.Sensitive || m.WriteOnly || m.Shape.Format == "password" {
				out[plain(m.Name)] = true
			}
			shapes = append(shapes, m.Shape)
		}
		shapes = append(shapes, shape.Item)
	}
	return out
}

// hide replaces the values of sensitive members at any depth.
func hide(v any, names map[string]bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			if names[plain(name)] {
				out[name] = hiddenValue
				continue
			}
			out[name] = hide(value, names)
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = hide(out[i], names)
		}
		return out
	}
	return v
}
