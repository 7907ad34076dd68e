package simulate

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

// completed is the model of a new resource: the requested properties, defaults, a name, tags,
// and values for the read-only properties. The same request results in the same model.
// Later attempts result in other identifiers, as far as they are made up.
func completed(typ *schema.Schema, request operation.Request, now time.Time, takers takers, attempt int) map[string]any {
	model, _ := schema.Without(request.Desired, typ.ReadOnly).(map[string]any)
	if model == nil {
		model = map[string]any{}
	}
	model = maps.Clone(model)
	for _, property := range typ.Properties() {
		if _, set := model[property.Key]; set {
			continue
		}
		node, err := typ.Resolve(property.Value)
		if err != nil || node.Get("default") == nil {
			continue
		}
		// Some published schemas have defaults that they themselves refuse.
		if value := node.Get("default").Any(); len(typ.Check(value, schema.CheckConfig{Node: node, Shape: true})) == 0 {
			model[property.Key] = value
		}
	}
	m := &maker{typ: typ, request: request, now: now, model: model, takers: takers, attempt: attempt, drawn: map[string]int{}, budget: maxValues}
	m.names()
	m.tags()
	for _, f := range forms().types[request.Type] {
		if len(f.at) == 1 && typ.Property(f.at) != nil {
			m.fill(f.at)
		}
	}
	m.missing(typ.PrimaryIdentifier) // before what may need the whole budget
	m.missing(typ.ReadOnly)
	return m.model
}

// updated is the model after an update: the requested properties, with the values that were
// generated when the resource was created.
func updated(typ *schema.Schema, before map[string]any, request operation.Request) map[string]any {
	model, _ := schema.Without(request.Desired, typ.ReadOnly).(map[string]any)
	if model == nil {
		model = map[string]any{}
	}
	model = maps.Clone(model)
	keep := slices.Concat(typ.ReadOnly, typ.PrimaryIdentifier, typ.CreateOnly)
	m := &maker{typ: typ, request: request, model: model}
	for _, at := range schema.Present(before, keep) {
		m.keep(before, at)
	}
	for _, f := range forms().types[request.Type] {
		m.keep(before, f.at)
	}
	m.tags()
	return m.model
}

// keep takes a value over from the resource as it was, with the objects around it that the resource has no more.
func (m *maker) keep(before map[string]any, at document.Pointer) {
	value, ok := at.Find(before)
	if _, set := at.Find(m.model); set || !ok {
		return
	}
	for n := len(at) - 1; ; n-- {
		around, set := at[:n].Find(m.model)
		if _, object := around.(map[string]any); object {
			break
		}
		if _, err := strconv.Atoi(at[n]); set || err == nil || !m.typ.IsReadOnly(at) {
			return // the template has something else there, another list, or removed the object
		}
	}
	m.put(at, value)
}

// A maker makes up the values of one resource.
type maker struct {
	typ     *schema.Schema
	request operation.Request
	now     time.Time
	model   map[string]any
	takers  takers
	attempt int

	making string         // the property that is made now
	drawn  map[string]int // how many random values it has
	depth  int
	budget int // how many more values may be made: a schema is not trusted
}

// names gives a name to a resource whose template has none, as the service does.
func (m *maker) names() {
	last := m.request.Type[strings.LastIndex(m.request.Type, ":")+1:]
	for _, property := range m.typ.Properties() {
		name := property.Key
		at := document.Pointer{name}
		isName := name == "Name" || strings.HasSuffix(name, "Name") && strings.HasSuffix(last, strings.TrimSuffix(name, "Name"))
		if !isName || m.model[name] != nil || m.typ.IsReadOnly(at) || !m.typ.IsCreateOnly(at) {
			continue
		}
		if node := m.typ.Property(at); node != nil && kindOf(node) == "string" {
			if value := m.make(node, at); value != nil {
				m.model[name] = value
			}
		}
	}
}

// nameLimits are what services limit names to, where a schema says so only by a pattern.
var nameLimits = []int{255, 128, 64, 63, 50, 40, 32, 20}

// nameFor is a physical name that the schema accepts, one that is too long or has wrong characters if it accepts none.
func (m *maker) nameFor(node *document.Value) string {
	for _, limit := range nameLimits {
		if longest := node.Get("maxLength"); longest != nil {
			if n, ok := integer(longest); ok {
				limit = min(limit, n)
			}
		}
		name := m.physicalName(limit)
		for _, candidate := range []string{name, strings.ToLower(name), strings.ReplaceAll(name, "-", ""), strings.ToLower(strings.ReplaceAll(name, "-", ""))} {
			if m.fits(candidate, node) {
				return candidate
			}
		}
	}
	return m.physicalName(nameLimits[0])
}

// physicalName is what the service calls a resource without a name: the name of the stack, the logical id and twelve
// characters.
func (m *maker) physicalName(limit int) string {
	const length = 12
	suffix := m.random(length, digits+uppers)
	name := operation.NamePrefix(cmp.Or(m.request.StackName, "simulated"), m.request.LogicalID, limit-length-1)
	name = strings.TrimLeft(name+"-"+suffix, "-")
	return name[max(len(name)-limit, 0):]
}

// tags adds the tags of the stack that the resource does not set itself, in the form that
// its tag property has.
func (m *maker) tags() {
	tagging := m.typ.Tagging
	if !tagging.Taggable || len(m.request.StackTags) == 0 || len(tagging.Property.Tokens) != 1 {
		return
	}
	name := tagging.Property.Tokens[0]
	node := m.typ.Property(tagging.Property.Tokens)
	if node == nil {
		return
	}
	switch own := m.model[name].(type) {
	case map[string]any:
		m.model[name] = withTags(own, m.request.StackTags)
	case []any:
		m.model[name] = appendTags(own, m.request.StackTags)
	case nil:
		if kind := node.Get("type"); kind != nil && kind.Text == "object" {
			m.model[name] = withTags(nil, m.request.StackTags)
		} else {
			m.model[name] = appendTags(nil, m.request.StackTags)
		}
	}
}

func withTags(own map[string]any, tags map[string]string) map[string]any {
	out := maps.Clone(own)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range tags {
		if _, set := out[key]; !set {
			out[key] = value
		}
	}
	return out
}

func appendTags(own []any, tags map[string]string) []any {
	out := slices.Clone(own)
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		set := slices.ContainsFunc(own, func(tag any) bool {
			t, ok := tag.(map[string]any)
			return ok && t["Key"] == key
		})
		if !set {
			out = append(out, map[string]any{"Key": key, "Value": tags[key]})
		}
	}
	return out
}

// missing makes up the values that the paths name and the resource does not have.
func (m *maker) missing(paths []schema.Path) {
	for _, path := range paths {
		if len(path.Tokens) > 0 && m.typ.Leads(path) && !slices.Contains(path.Tokens, "*") {
			m.fill(path.Tokens)
		}
	}
}

// fill gives a value to a property that has none. An object around it that the resource does not have is made of its
// read-only properties, if the schema accepts it with these alone.
func (m *maker) fill(at document.Pointer) {
	if _, set := at.Find(m.model); set {
		return
	}
	for n := 1; n < len(at); n++ {
		around, set := at[:n].Find(m.model)
		if _, object := around.(map[string]any); object {
			continue
		}
		if !set {
			m.surround(at[:n])
		}
		return
	}
	if value := m.value(at); value != nil {
		m.put(at, value)
	}
}

// surround makes an object of the read-only properties in it.
func (m *maker) surround(at document.Pointer) {
	if m.typ.IsReadOnly(at) {
		m.fill(at)
		return
	}
	var made any = map[string]any{}
	for _, path := range m.typ.ReadOnly {
		if len(path.Tokens) <= len(at) || !slices.Equal(path.Tokens[:len(at)], at) || slices.Contains(path.Tokens, "*") {
			continue
		}
		within := path.Tokens[len(at):]
		if _, set := within.Find(made); set {
			continue
		}
		if value := m.value(path.Tokens); value != nil {
			made = invoke.Put(made, within, value)
		}
	}
	if object, _ := made.(map[string]any); len(object) > 0 && m.fits(made, m.typ.Property(at)) {
		m.put(at, made)
	}
}

func (m *maker) put(at document.Pointer, value any) {
	m.model, _ = invoke.Put(m.model, at, value).(map[string]any)
}

// seed is the same for the same request and purpose.
func (m *maker) seed(purpose string) uint64 {
	sum := m.sum(purpose)
	return binary.BigEndian.Uint64(sum[:])
}

func (m *maker) sum(purpose string) [sha256.Size]byte {
	if m.attempt > 0 {
		purpose += "\x00" + strconv.Itoa(m.attempt)
	}
	return sha256.Sum256([]byte(m.request.Token + "\x00" + purpose))
}

// purpose names the value that is made now, so that each has its own seed.
func (m *maker) purpose() string {
	m.drawn[m.making]++
	return m.making + "\x00" + strconv.Itoa(m.drawn[m.making])
}

// random is made up for the property that is made now; nothing secret is made of it.
func (m *maker) random(length int, alphabet string) string {
	source := rand.New(rand.NewPCG(m.seed(m.purpose()), 0))
	out := make([]byte, max(length, 0))
	for i := range out {
		out[i] = alphabet[source.IntN(len(alphabet))]
	}
	return string(out)
}

func (m *maker) byte() string { return strconv.Itoa(2 + int(m.seed(m.purpose())%252)) }

func (m *maker) timestamp() string { return m.now.UTC().Format(time.RFC3339) }

func (m *maker) uuid() string {
	sum := m.sum("uuid " + m.purpose())
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func integer(v *document.Value) (int, bool) {
	n := 0
	if v.Kind != document.Number || v.Text == "" {
		return 0, false
	}
	for _, c := range v.Text {
		if !unicode.IsDigit(c) || n > 1<<20 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
