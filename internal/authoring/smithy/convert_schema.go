package smithy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// keywordOrder is the order in which the keywords of a schema are written.
var keywordOrder = []string{
	"type", "$ref", "const", "default", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "items",
	"maxItems", "minItems", "uniqueItems", "maxLength", "minLength", "pattern", "additionalProperties", "propertyNames",
	"maxProperties", "minProperties", "not", "comment", "examples", "deprecated", "title", "description", "format",
	"contentEncoding", "contentMediaType", "properties", "patternProperties", "required", "enum", "allOf", "anyOf", "oneOf",
	"readOnly", "writeOnly",
}

// A schemaWriter turns shapes into JSON Schema.
type schemaWriter struct {
	m        *Model
	settings *Settings
	names    map[ID]string // of definitions
	building map[ID]bool   // enclosing inlined shapes: a cycle of them cannot be written
	endless  []ID
	lost     func(member *Shape, trait ID) // called for what is lost next to a $ref
}

// build finishes a schema: it applies the timestamp format, removes disabled keywords and
// sorts the rest.
func (w *schemaWriter) build(s *Shape, v *document.Value) *document.Value {
	w.timestamp(s, v)
	v.Members = slices.DeleteFunc(v.Members, func(m document.Member) bool { return slices.Contains(w.settings.DisableFeatures, m.Key) })
	return inOrder(v)
}

func inOrder(v *document.Value) *document.Value {
	slices.SortStableFunc(v.Members, func(a, b document.Member) int {
		return slices.Index(keywordOrder, a.Key) - slices.Index(keywordOrder, b.Key)
	})
	return v
}

// timestamp sets the type and format of a timestamp, or of a member that names a format.
func (w *schemaWriter) timestamp(s *Shape, v *document.Value) {
	format := ""
	if t := s.Trait(traitTimestampFormat); t != nil {
		format = t.Value.Text
	} else if s.Type == Timestamp {
		format = w.settings.timestampFormat()
	}
	drop := func() {
		v.Members = slices.DeleteFunc(v.Members, func(m document.Member) bool { return m.Key == "format" })
	}
	switch {
	case format == "":
	case format == "date-time":
		v.Set("type", document.NewString("string"))
		v.Set("format", document.NewString(format))
	case format == "http-date":
		v.Set("type", document.NewString("string"))
		if w.settings.Modern {
			drop()
		}
	case strings.HasPrefix(format, "epoch-"):
		drop()
		v.Set("type", document.NewString("number"))
	default:
		v.Set("type", document.NewString("string"))
	}
}

// start starts a schema with a type ("" for none) and the keywords for the traits of the
// shape.
func (w *schemaWriter) start(s *Shape, kind string) *document.Value {
	v := document.NewObject()
	if kind != "" {
		v.Set("type", document.NewString(kind))
	}
	w.overlay(s, v)
	return v
}

// overlay puts what the traits of a shape or member say over a schema.
func (w *schemaWriter) overlay(s *Shape, v *document.Value) {
	if text := w.description(s); text != "" {
		v.Set("description", document.NewString(text))
	}
	if t := s.Trait(traitTitle); t != nil {
		v.Set("title", t.Value)
	}
	if t := s.Trait(traitMediaType); t != nil && !w.settings.Modern {
		v.Set("contentMediaType", t.Value)
	}
	if t := w.m.traitOn(s, traitPattern); t != nil {
		v.Set("pattern", t.Value)
	}
	if t := w.m.traitOn(s, traitRange); t != nil {
		bounds(v, t.Value, "minimum", "maximum")
	}
	if t := w.m.traitOn(s, traitLength); t != nil {
		least, most := w.lengthKeywords(s)
		bounds(v, t.Value, least, most)
	}
	if s.Has(traitUniqueItems) {
		v.Set("uniqueItems", document.NewBool(true))
	}
	if values := w.enumValues(s); values != nil {
		v.Set("enum", values)
	}
	if t := s.Trait(traitDefault); t != nil && w.keepsDefault(t) {
		v.Set("default", t.Value)
	}
}

func (w *schemaWriter) keepsDefault(t *Trait) bool {
	return !w.settings.DisableDefaultValues && !(w.settings.Modern && t.Value.Kind == document.Null)
}

func bounds(v, limits *document.Value, least, most string) {
	if bound := limits.Get("min"); bound != nil {
		v.Set(least, bound)
	}
	if bound := limits.Get("max"); bound != nil {
		v.Set(most, bound)
	}
}

// lengthKeywords are the keywords that bound the length of what a shape or member holds.
func (w *schemaWriter) lengthKeywords(s *Shape) (least, most string) {
	target := s
	if s.Type == Member {
		target = w.m.target(s)
	}
	switch {
	case target.Type.collection():
		return "minItems", "maxItems"
	case target.Type == Map:
		return "minProperties", "maxProperties"
	}
	return "minLength", "maxLength"
}

// enumValues are the values that a shape allows, or nil.
func (w *schemaWriter) enumValues(s *Shape) *document.Value {
	out := &document.Value{Kind: document.Array}
	switch {
	case s.Type == Enum || s.Type == IntEnum && !w.settings.DisableIntEnums:
		for _, member := range s.Members {
			if t := member.Trait(traitEnumValue); t != nil {
				out.Items = append(out.Items, t.Value)
			}
		}
	case s.Has(traitEnum):
		for _, item := range s.Trait(traitEnum).Value.Items {
			out.Items = append(out.Items, item.Get("value"))
		}
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out
}

// description is the documentation with a note on deprecation, without the space around it.
func (w *schemaWriter) description(s *Shape) string {
	text := ""
	if t := s.Trait(traitDocumentation); t != nil {
		text = t.Value.Text
	}
	if t := s.Trait(traitDeprecated); t != nil {
		message, since := t.Value.Get("message").Str(), t.Value.Get("since").Str()
		if message != "" || since != "" || !w.settings.DisableDefaultDeprecatedMessage {
			text += "\nThis shape is deprecated"
			if s.Type == Operation {
				text = strings.TrimSuffix(text, "shape is deprecated") + "operation is deprecated"
			}
			if since != "" {
				text += " since " + since
			}
			if message != "" {
				text += ": " + message
			} else {
				text += "."
			}
		}
	}
	// Java's trim: everything up to the space, control characters included.
	return strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
}

// inlined reports whether a shape is written where it is used, not as a definition.
func (w *schemaWriter) inlined(s *Shape) bool {
	switch {
	case s.Type.collection() || s.Type == Map && w.settings.UseInlineMaps:
		return true
	case s.Type == Enum || s.Has(traitEnum) || s.Type == IntEnum && !w.settings.DisableIntEnums:
		return false
	}
	return s.Type.simple()
}

// reference is the schema of a member: in place, or a $ref to a definition.
func (w *schemaWriter) reference(member *Shape) *document.Value {
	target := w.m.target(member)
	if w.inlined(target) {
		if w.building[target.ID] {
			if !slices.Contains(w.endless, target.ID) {
				w.endless = append(w.endless, target.ID)
			}
			return document.NewObject()
		}
		w.building[target.ID] = true
		v := w.schema(target)
		delete(w.building, target.ID)
		w.overlay(member, v)
		return w.build(member, v)
	}
	ref := document.NewObject(document.Member{Key: "$ref", Value: document.NewString("#/definitions/" + w.names[target.ID])})
	if w.settings.AddReferenceDescriptions {
		if text := w.description(member); text != "" {
			ref.Set("description", document.NewString(text))
		}
	}
	w.reportLost(member)
	if t := member.Trait(traitDefault); t != nil && w.keepsDefault(t) {
		def := document.NewObject(document.Member{Key: "default", Value: t.Value})
		return document.NewObject(document.Member{Key: "allOf", Value: &document.Value{Kind: document.Array, Items: []*document.Value{ref, def}}})
	}
	return ref
}

// lostBehindRef are the traits of a member that a $ref leaves no place for.
var lostBehindRef = []ID{traitDocumentation, traitDeprecated, traitTitle, traitPattern, traitRange, traitLength}

func (w *schemaWriter) reportLost(member *Shape) {
	for _, id := range lostBehindRef {
		if member.Has(id) && !(w.settings.AddReferenceDescriptions && (id == traitDocumentation || id == traitDeprecated)) {
			w.lost(member, id)
		}
	}
}

// schema is the schema of a shape that is not a member.
func (w *schemaWriter) schema(s *Shape) *document.Value {
	switch {
	case s.Type == Document:
		return w.build(s, w.start(s, ""))
	case s.Type == Boolean:
		return w.build(s, w.start(s, "boolean"))
	case s.Type == Float || s.Type == Double:
		return w.float(s)
	case s.Type == BigInteger || s.Type == BigDecimal:
		return w.build(s, w.start(s, "number"))
	case s.Type.number():
		kind := "number"
		if w.settings.UseIntegerType {
			kind = "integer"
		}
		return w.build(s, w.start(s, kind))
	case s.Type == Enum && w.settings.EnumStrategy == "oneOf":
		return w.enumOneOf(s)
	case s.Type.simple():
		return w.build(s, w.start(s, "string"))
	case s.Type.collection():
		v := w.start(s, "array")
		v.Set("items", w.reference(s.Member("member")))
		if s.Type == Set {
			v.Set("uniqueItems", document.NewBool(true))
		}
		return w.build(s, v)
	case s.Type == Map:
		pattern := ".+"
		if t := w.m.traitOn(s.Member("key"), traitPattern); t != nil {
			pattern = t.Value.Text
		}
		v := w.start(s, "object")
		v.Set("patternProperties", document.NewObject(document.Member{Key: pattern, Value: w.reference(s.Member("value"))}))
		return w.build(s, v)
	case s.Type == Union:
		return w.union(s)
	}
	return w.structure(s)
}

func (w *schemaWriter) float(s *Shape) *document.Value {
	number := w.start(s, "number")
	if !w.settings.SupportNonNumericFloats {
		return w.build(s, number)
	}
	words := document.NewObject(
		document.Member{Key: "type", Value: document.NewString("string")},
		document.Member{Key: "enum", Value: texts([]string{"NaN", "Infinity", "-Infinity"})},
	)
	v := w.start(s, "")
	v.Set("oneOf", &document.Value{Kind: document.Array, Items: []*document.Value{inOrder(number), words}})
	return w.build(s, v)
}

func (w *schemaWriter) enumOneOf(s *Shape) *document.Value {
	v := document.NewObject(document.Member{Key: "type", Value: document.NewString("string")})
	if t := s.Trait(traitDocumentation); t != nil {
		v.Set("description", t.Value)
	}
	list := &document.Value{Kind: document.Array}
	for _, member := range s.Members {
		entry := document.NewObject()
		if w.settings.Modern { // the meta-schema allows const only beside a type
			entry.Set("type", document.NewString("string"))
		}
		if t := member.Trait(traitEnumValue); t != nil {
			entry.Set("const", t.Value)
		}
		if t := member.Trait(traitTitle); t != nil {
			entry.Set("title", t.Value)
		}
		if t := member.Trait(traitDocumentation); t != nil {
			entry.Set("description", t.Value)
		}
		list.Items = append(list.Items, entry)
	}
	v.Set("oneOf", list)
	return w.build(s, v)
}

func (w *schemaWriter) union(s *Shape) *document.Value {
	list := &document.Value{Kind: document.Array}
	for _, member := range s.Members {
		name := w.settings.propertyName(member)
		list.Items = append(list.Items, document.NewObject(
			document.Member{Key: "type", Value: document.NewString("object")},
			document.Member{Key: "title", Value: document.NewString(name)},
			document.Member{Key: "properties", Value: document.NewObject(document.Member{Key: name, Value: w.reference(member)})},
			document.Member{Key: "required", Value: texts([]string{name})},
		))
	}
	v := w.start(s, "")
	v.Set("oneOf", list)
	return w.build(s, v)
}

func (w *schemaWriter) structure(s *Shape) *document.Value {
	v := w.start(s, "object")
	properties := document.NewObject()
	var required []string
	for _, member := range s.Members {
		name := w.settings.propertyName(member)
		if member.Has(traitRequired) {
			required = append(required, name)
		}
		properties.Set(name, w.reference(member))
	}
	if len(properties.Members) > 0 {
		v.Set("properties", properties)
	}
	if len(required) > 0 {
		slices.Sort(required)
		v.Set("required", texts(required))
	}
	return w.build(s, v)
}

// propertyName is the name of a member in the schema.
func (s *Settings) propertyName(member *Shape) string {
	if t := member.Trait(traitCFNName); t != nil {
		return t.Value.Text
	}
	if t := member.Trait(traitProperty); t != nil {
		if name := t.Value.Get("name").Str(); name != "" {
			// The reference implementation asks the setting the wrong way round.
			if s.DisableCapitalizedProperties != s.Modern {
				return titleCase(name)
			}
			return name
		}
	}
	if s.DisableCapitalizedProperties {
		return member.Name()
	}
	return titleCase(member.Name())
}

// titleCase converts the first character to title case.
func titleCase(name string) string {
	r, size := utf8.DecodeRuneInString(name)
	if size == 0 {
		return name
	}
	return string(unicode.ToTitle(r)) + name[size:]
}

// texts is an array of strings.
func texts(list []string) *document.Value {
	v := &document.Value{Kind: document.Array}
	for _, text := range list {
		v.Items = append(v.Items, document.NewString(text))
	}
	return v
}
