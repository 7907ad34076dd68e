package simulate

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/sample"
	"github.com/formwork-dev/formwork/internal/schema"
)

// completed is the model of a new resource: the requested properties, defaults, a name, tags,
// and values for the read-only properties. The same request results in the same model.
func completed(typ *schema.Schema, request operation.Request, now time.Time) map[string]any {
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
	m := &maker{typ: typ, request: request, now: now, model: model}
	m.names()
	m.tags()
	m.missing(typ.ReadOnly)
	m.missing(typ.PrimaryIdentifier) // a part that the template may leave out
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
	for _, at := range schema.Present(before, keep) {
		if _, set := at.Find(model); set {
			continue
		}
		if value, ok := at.Find(before); ok && parent(model, at) {
			model, _ = invoke.Put(model, at, value).(map[string]any)
		}
	}
	m := &maker{typ: typ, request: request, model: model}
	m.tags()
	return m.model
}

// A maker makes up the values of one resource.
type maker struct {
	typ     *schema.Schema
	request operation.Request
	now     time.Time
	model   map[string]any
}

// names gives a name to a resource whose template has none, as the service does: the name
// of the stack, the logical id and random characters.
func (m *maker) names() {
	last := m.request.Type[strings.LastIndex(m.request.Type, ":")+1:]
	for _, property := range m.typ.Properties() {
		name := property.Key
		at := document.Pointer{name}
		isName := name == "Name" || strings.HasSuffix(name, "Name") && strings.HasSuffix(last, strings.TrimSuffix(name, "Name"))
		if !isName || m.model[name] != nil || m.typ.IsReadOnly(at) || !m.typ.IsCreateOnly(at) {
			continue
		}
		node := m.typ.Property(at)
		if node == nil || !isString(node) {
			continue
		}
		m.model[name] = m.name(node, name)
	}
}

// name makes a physical name that the property's limits allow.
func (m *maker) name(node *document.Value, property string) string {
	const length = 12
	suffix := m.random("name "+property, length, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	limit := 255
	if max := node.Get("maxLength"); max != nil {
		if n, ok := integer(max); ok {
			limit = n
		}
	}
	name := operation.NamePrefix(cmp.Or(m.request.StackName, "simulated"), m.request.LogicalID, limit-length-1)
	name = strings.TrimLeft(name+"-"+suffix, "-")
	if len(name) > limit {
		name = name[:limit]
	}
	candidates := []string{name, strings.ToLower(name), strings.ReplaceAll(name, "-", ""), strings.ToLower(strings.ReplaceAll(name, "-", ""))}
	if lowerCase[m.request.Type] {
		return candidates[1]
	}
	for _, candidate := range candidates {
		if len(m.typ.Check(candidate, schema.CheckConfig{Node: node})) == 0 {
			return candidate
		}
	}
	return name
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

// missing makes up values for properties that have none: ARNs by their formats, the rest by
// what the schema says. Those inside of structures that the resource does not have stay absent.
func (m *maker) missing(paths []schema.Path) {
	for _, path := range paths {
		if len(path.Tokens) == 0 || !m.typ.Leads(path) || slices.Contains(path.Tokens, "*") || !parent(m.model, path.Tokens) {
			continue
		}
		if _, set := path.Tokens.Find(m.model); set {
			continue
		}
		if value := m.value(path.Tokens); value != nil {
			m.model, _ = invoke.Put(m.model, path.Tokens, value).(map[string]any)
		}
	}
}

// value makes up one value, nil if nothing fits the schema.
func (m *maker) value(at document.Pointer) any {
	name := at[len(at)-1]
	if format, ok := formats[m.request.Type+"/"+name]; ok && len(at) == 1 {
		return m.expand(format)
	}
	node := m.typ.Property(at)
	if node == nil || isString(node) {
		candidates := m.texts(node, name)
		for _, candidate := range candidates {
			if node == nil || len(m.typ.Check(candidate, schema.CheckConfig{Node: node})) == 0 {
				return candidate
			}
		}
	}
	if node == nil {
		return nil
	}
	if example := firstItem(node.Get("examples")); example != nil {
		return example.Any()
	}
	made, err := sample.New(m.typ, sample.Config{Seed: m.seed("value " + at.String()), ReadOnly: true, Profile: sample.Minimal}).Value(node)
	if err != nil {
		return nil
	}
	return made
}

// texts are guesses for a text, the best one first.
func (m *maker) texts(node *document.Value, name string) []string {
	var guesses []string
	if node != nil {
		if format := node.Get("format"); format != nil && format.Text == "date-time" {
			guesses = append(guesses, m.now.UTC().Format(time.RFC3339))
		}
	}
	lower := strings.ToLower(name)
	id := m.random("id "+name, 17, "0123456789abcdef")
	switch {
	case strings.HasSuffix(lower, "arn"):
		guesses = append(guesses, m.expand("arn:${partition}:${service}:${region}:${account}:${kind}/${name}"))
	case strings.HasSuffix(lower, "time") || strings.HasSuffix(lower, "at") || strings.HasSuffix(lower, "date"):
		guesses = append(guesses, m.now.UTC().Format(time.RFC3339))
	}
	return append(guesses, m.expand("${name}"), id, m.uuid(name), strings.ToUpper(id))
}

// expand fills a format in: ${partition}, ${region}, ${account}, ${service}, ${kind},
// ${name} (the name of the resource), ${id} (random), ${uuid}, ${Property} (of the model).
func (m *maker) expand(format string) string {
	caller := m.request.Caller
	parts := strings.Split(m.request.Type, "::")
	service, kind := "service", "resource"
	if len(parts) >= 3 {
		service, kind = strings.ToLower(parts[1]), strings.ToLower(parts[2])
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(format, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		variable, after, _ := strings.Cut(rest, "}")
		format = after
		switch variable {
		case "partition":
			b.WriteString(awswire.PartitionOf(caller.Region))
		case "region":
			b.WriteString(caller.Region)
		case "account":
			b.WriteString(caller.Account)
		case "service":
			b.WriteString(service)
		case "kind":
			b.WriteString(kind)
		case "name":
			b.WriteString(m.nameOf())
		case "id":
			b.WriteString(m.random("id", 17, "0123456789abcdef"))
		case "uuid":
			b.WriteString(m.uuid("uuid"))
		default:
			b.WriteString(text(m.model[variable]))
		}
	}
}

// nameOf is what the resource is called in its ARN.
func (m *maker) nameOf() string {
	if identifier, ok := identify(m.model, m.typ.PrimaryIdentifier); ok {
		return identifier
	}
	last := m.request.Type[strings.LastIndex(m.request.Type, ":")+1:]
	for _, property := range []string{last + "Name", "Name"} {
		if name, ok := m.model[property].(string); ok {
			return name
		}
	}
	for _, property := range m.typ.Properties() {
		if name, ok := m.model[property.Key].(string); ok && strings.HasSuffix(property.Key, "Name") {
			return name
		}
	}
	return strings.TrimLeft(m.request.StackName+"-"+m.request.LogicalID+"-", "-") + m.random("name", 12, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
}

// seed is the same for the same request and purpose.
func (m *maker) seed(purpose string) uint64 {
	sum := sha256.Sum256([]byte(m.request.Token + "\x00" + purpose))
	return binary.BigEndian.Uint64(sum[:])
}

func (m *maker) random(purpose string, length int, alphabet string) string {
	source := rand.New(rand.NewPCG(m.seed(purpose), 0)) // nothing secret is made of it
	out := make([]byte, length)
	for i := range out {
		out[i] = alphabet[source.IntN(len(alphabet))]
	}
	return string(out)
}

func (m *maker) uuid(purpose string) string {
	sum := sha256.Sum256([]byte(m.request.Token + "\x00uuid " + purpose))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// parent reports whether the model has the parent of a property.
func parent(model map[string]any, at document.Pointer) bool {
	above, ok := at[:len(at)-1].Find(model)
	if !ok {
		return false
	}
	_, isObject := above.(map[string]any)
	return isObject
}

func isString(node *document.Value) bool {
	kind := node.Get("type")
	return kind != nil && kind.Kind == document.String && kind.Text == "string"
}

func firstItem(list *document.Value) *document.Value {
	if list == nil || len(list.Items) == 0 {
		return nil
	}
	return list.Items[0]
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
