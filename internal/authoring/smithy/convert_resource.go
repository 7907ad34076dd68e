package smithy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A resourceSchema is the schema of a resource while it is being made.
type resourceSchema struct {
	*converter
	cfn      *cfnResource
	typeName string
	root     *Shape // the structure of all properties, which no model has
	writer   *schemaWriter
	lost     diag.List
}

func (c *converter) resource(s *Shape) Converted {
	r := &resourceSchema{converter: c, cfn: deriveCFN(c.m, s, c.index, c.settings.Modern)}
	name := s.Trait(traitCFNResource).Value.Get("name").Str()
	if name == "" {
		name = s.ID.Name()
	}
	r.typeName = c.organization + "::" + c.serviceName + "::" + name
	out := Converted{Resource: s.ID, TypeName: r.typeName, File: fileName(r.typeName)}
	r.writer = &schemaWriter{m: c.m, settings: c.settings, names: c.names, building: map[ID]bool{}, lost: r.behindRef}
	for _, id := range r.cfn.recursive {
		c.problems.Add(diag.Problem{ID: "smithy/recursive-structure", Severity: diag.Info, At: c.m.Shape(id).At,
			Message: fmt.Sprintf("%s contains itself; the reference implementation runs out of stack on %s", id, s.ID)})
	}
	if !r.structure() {
		return out
	}
	properties := r.writer.structure(r.root)
	definitions := r.definitions()
	r.reportEndless()
	r.reportTraits()
	doc := document.NewObject(
		document.Member{Key: "typeName", Value: document.NewString(r.typeName)},
		document.Member{Key: "description", Value: document.NewString(r.description())},
	)
	r.addLists(doc, definitions, properties)
	if tagging := r.tagging(); tagging != nil {
		doc.Set("tagging", tagging)
	}
	closeObjects(doc.Get("definitions"))
	out.Schema = r.patch(doc)
	out.Schema.Set("additionalProperties", document.NewBool(false))
	r.lost.Sort()
	out.Lost = r.lost
	return out
}

func fileName(typeName string) string {
	return schema.Hyphenated(typeName) + ".json"
}

func (r *resourceSchema) description() string {
	if t := r.cfn.shape.Trait(traitDocumentation); t != nil {
		return t.Value.Text
	}
	return "Definition of " + r.typeName + " Resource Type"
}

// structure puts the properties together in one structure.
func (r *resourceSchema) structure() bool {
	s := r.cfn.shape
	r.root = &Shape{ID: s.ID + "__SYNTHETIC__", Type: Structure}
	for _, p := range r.cfn.properties {
		member := &Shape{ID: r.root.ID.WithMember(p.name), Type: Member, Container: r.root}
		if from := r.m.Shape(r.cfn.representative(p)); from.Type == Member {
			member.Target, member.Traits, member.At = from.Target, from.Traits, from.At
			if r.settings.Modern {
				member.Traits = r.combined(p, from.Traits)
			}
		} else {
			member.Target, member.At = from.ID, s.At
		}
		r.root.Members = append(r.root.Members, member)
	}
	if !r.injectTags() {
		return false
	}
	if len(r.root.Members) == 0 {
		r.fail("smithy/no-properties", s.At, fmt.Sprintf("Expected CloudFormation resource %s to have properties, found none", r.typeName),
			"bind a lifecycle operation or identifiers to the resource, or add structures to additionalSchemas")
		return false
	}
	seen := map[string]*Shape{}
	for _, member := range r.root.Members {
		name := r.settings.propertyName(member)
		if other := seen[name]; other != nil {
			r.warn("smithy/same-name", member.At, fmt.Sprintf("the members %s and %s of %s both become the property %s; the last one is used",
				other.Name(), member.Name(), s.ID, name), "rename one of them with the trait cfnName")
		}
		seen[name] = member
	}
	for _, name := range r.cfn.primary {
		if r.root.Member(name) == nil {
			r.fail("smithy/identifier", s.At, fmt.Sprintf("the primary identifier %s of %s is not a property of the resource", name, s.ID),
				"return a member of that name from a lifecycle operation, or remove `primaryIdentifier` from the trait cfnResource")
		}
	}
	return true
}

// combined makes a property required if it is required in any input structure.
func (r *resourceSchema) combined(p *cfnProperty, traits []*Trait) []*Trait {
	out := slices.DeleteFunc(slices.Clone(traits), func(t *Trait) bool { return t.ID == traitRequired })
	for _, id := range p.shapes {
		if t := r.m.Shape(id).Trait(traitRequired); t != nil && r.isInput(id.Root()) {
			return append(out, t)
		}
	}
	return out
}

// isInput reports whether a structure is what a caller gives to create or put the resource.
func (r *resourceSchema) isInput(id ID) bool {
	for _, operation := range []ID{r.cfn.shape.Create, r.cfn.shape.Put} {
		if s := r.m.Shape(operation); s != nil && r.m.input(s) != nil && r.m.propertiesShape(r.m.input(s)).ID == id {
			return true
		}
	}
	return false
}

// tagName is the property that holds the tags.
func (r *resourceSchema) tagName() string {
	property := r.cfn.shape.Trait(traitTaggable).Value.Get("property").Str()
	switch {
	case property == "":
		return "Tags"
	case r.settings.DisableCapitalizedProperties:
		return property
	}
	return titleCase(property)
}

// injectTags adds the property for tags to a taggable resource that has none by itself.
func (r *resourceSchema) injectTags() bool {
	s := r.cfn.shape
	trait := s.Trait(traitTaggable)
	if trait == nil {
		return true
	}
	property := trait.Value.Get("property").Str()
	member := &Shape{ID: r.root.ID.WithMember(r.tagName()), Type: Member, Container: r.root, At: trait.At}
	if property != "" {
		if r.cfn.property(property) != nil {
			return true
		}
		target, known := lookup(s.Properties, property)
		if !known {
			r.fail("smithy/tag-property", trait.At, fmt.Sprintf("the tag property %s is not a property of %s", property, s.ID),
				"add it to the `properties` of the resource")
			return false
		}
		member.Target = target
	} else {
		from := r.m.tagsMember(r.m.tagOperation(r.service, s, tagResource))
		if from == nil {
			r.fail("smithy/no-tag-operation", trait.At, fmt.Sprintf("%s is taggable but no operation tags it", s.ID),
				"set `property` in the trait taggable, or bind an operation TagResource with a member `tags` to a service with the trait tagEnabled")
			return false
		}
		member.Target, member.Traits = from.Target, from.Traits
	}
	r.root.Members = slices.DeleteFunc(r.root.Members, func(m *Shape) bool { return m.Name() == member.Name() })
	r.root.Members = append(r.root.Members, member)
	return true
}

// definitions writes what the properties refer to, sorted by name.
func (r *resourceSchema) definitions() *document.Value {
	out := document.NewObject()
	var reached []*Shape
	seen := map[ID]bool{}
	queue := []*Shape{r.root}
	for i := 0; i < len(queue); i++ {
		for _, member := range queue[i].Members {
			target := r.m.target(member)
			if target == nil || seen[target.ID] || queue[i].Type == Enum || queue[i].Type == IntEnum {
				continue
			}
			seen[target.ID] = true
			queue = append(queue, target)
			reached = append(reached, target)
		}
	}
	for _, s := range reached {
		if r.writer.inlined(s) || s.ID.Namespace() == preludeNamespace && !(s.ID == unitID && r.unit) {
			continue
		}
		if other, conflict := r.conflicts[s.ID]; conflict && (seen[other] || !r.settings.Modern) {
			r.fail("smithy/name-conflict", s.At, fmt.Sprintf("Shape %s conflicts with %s using a JSON schema pointer of #/definitions/%s",
				s, other, alphanumeric(r.contextualName(s.ID))), "rename one of them with `rename` in the service")
			continue
		}
		out.Set(r.names[s.ID], r.writer.schema(s))
	}
	sortMembers(out)
	return out
}

func sortMembers(v *document.Value) {
	slices.SortFunc(v.Members, func(a, b document.Member) int { return strings.Compare(a.Key, b.Key) })
}

func (r *resourceSchema) reportEndless() {
	for _, id := range r.writer.endless {
		r.fail("smithy/recursive-list", r.m.Shape(id).At, fmt.Sprintf("%s contains itself without a structure or union in between; a schema cannot express that", id), "")
	}
}

// pointers are the pointers to the properties that a test picks, sorted.
func (r *resourceSchema) pointers(pick func(p *cfnProperty) bool) []string {
	var out []string
	for _, p := range r.cfn.properties {
		if pick(p) {
			out = append(out, r.pointer(p.name))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *resourceSchema) pointer(name string) string {
	return "/properties/" + r.settings.propertyName(r.root.Member(name))
}

// addLists adds everything between the description and the tagging.
func (r *resourceSchema) addLists(doc, definitions, properties *document.Value) {
	add := func(key string, list []string) {
		if len(list) > 0 {
			doc.Set(key, texts(list))
		}
	}
	r.links(doc)
	if len(definitions.Members) > 0 {
		doc.Set("definitions", definitions)
	}
	members := properties.Get("properties")
	if members == nil {
		members = document.NewObject()
	}
	sortMembers(members)
	doc.Set("properties", members)
	add("required", r.required())
	add("readOnlyProperties", r.pointers(func(p *cfnProperty) bool { return p.mutability.readOnly() }))
	add("writeOnlyProperties", r.pointers(func(p *cfnProperty) bool { return p.mutability.writeOnly() }))
	add("createOnlyProperties", r.pointers(func(p *cfnProperty) bool { return p.mutability.createOnly() }))
	add("deprecatedProperties", r.deprecated())
	var primary []string
	for _, name := range r.cfn.primary {
		if r.root.Member(name) != nil {
			primary = append(primary, r.pointer(name))
		}
	}
	if !r.settings.Modern {
		slices.Sort(primary)
	}
	add("primaryIdentifier", primary)
	additional := &document.Value{Kind: document.Array}
	for _, names := range r.cfn.additional {
		var list []string
		for _, name := range names {
			if r.root.Member(name) != nil {
				list = append(list, r.pointer(name))
			}
		}
		additional.Items = append(additional.Items, texts(list))
	}
	if len(additional.Items) > 0 {
		doc.Set("additionalIdentifiers", additional)
	}
	if handlers := r.handlers(); len(handlers.Members) > 0 {
		doc.Set("handlers", handlers)
	}
}

// links adds the URLs that externalDocumentation holds.
func (r *resourceSchema) links(doc *document.Value) {
	t := r.cfn.shape.Trait(traitExternalDocs)
	if t == nil {
		return
	}
	find := func(names, defaults []string) *document.Value {
		if names == nil {
			names = defaults
		}
		for _, name := range names {
			for _, m := range t.Value.Members {
				if strings.EqualFold(m.Key, name) {
					return m.Value
				}
			}
		}
		return nil
	}
	if v := find(r.settings.SourceDocs, defaultSourceDocs); v != nil {
		doc.Set("sourceUrl", v)
	}
	if v := find(r.settings.ExternalDocs, defaultExternalDocs); v != nil {
		doc.Set("documentationUrl", v)
	}
}

func (r *resourceSchema) required() []string {
	if r.settings.DisableRequiredPropertyGeneration {
		return nil
	}
	var out []string
	for _, member := range r.root.Members {
		p := r.cfn.property(member.Name())
		if p != nil && p.mutability&(canCreate|canWrite) != 0 && r.m.traitOn(member, traitRequired) != nil {
			out = append(out, r.settings.propertyName(member))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *resourceSchema) deprecated() []string {
	if r.settings.DisableDeprecatedPropertyGeneration {
		return nil
	}
	var out []string
	for _, member := range r.root.Members {
		if r.m.traitOn(member, traitDeprecated) != nil {
			out = append(out, r.pointer(member.Name()))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// permissions are those that calling an operation takes.
func (r *resourceSchema) permissions(operation ID) []string {
	s := r.m.Shape(operation)
	if s == nil {
		return nil
	}
	namespace := strings.ToLower(r.service.ID.Name())
	if t := r.service.Trait(traitAPIService); t != nil {
		if own := t.Value.Get("arnNamespace").Str(); own != "" {
			namespace = own
		}
	}
	action := s.Trait(traitIAMAction)
	name := r.contextualName(operation)
	if r.settings.Modern {
		if t := s.Trait(traitIAMName); t != nil {
			name = t.Value.Text
		}
		if action != nil && action.Value.Get("name").Str() != "" {
			name = action.Value.Get("name").Str()
		}
	}
	out := []string{namespace + ":" + name}
	var more []string
	if action != nil {
		more = action.Value.Get("requiredActions").Strings()
	}
	if t := s.Trait(traitIAMRequired); t != nil && len(more) == 0 {
		more = t.Value.Strings()
	}
	return append(out, more...)
}

func sorted(lists ...[]string) []string {
	out := slices.Concat(lists...)
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *resourceSchema) handlers() *document.Value {
	out := document.NewObject()
	if r.settings.DisableHandlerPermissionGeneration {
		return out
	}
	s := r.cfn.shape
	replaced := r.permissions(s.Put)
	if s.Has(traitNoReplace) {
		replaced = nil
	}
	for _, h := range []struct {
		name        string
		permissions []string
	}{
		{"create", sorted(r.permissions(s.Create), r.permissions(s.Put))},
		{"read", sorted(r.permissions(s.Read))},
		{"update", sorted(r.permissions(s.Update), replaced)},
		{"delete", sorted(r.permissions(s.Delete))},
		{"list", sorted(r.permissions(s.List))},
	} {
		if len(h.permissions) > 0 {
			out.Set(h.name, document.NewObject(document.Member{Key: "permissions", Value: texts(h.permissions)}))
		}
	}
	if !r.settings.Modern {
		sortMembers(out)
	}
	return out
}

// tagging is the object of that name, nil for a resource that is not taggable.
func (r *resourceSchema) tagging() *document.Value {
	s := r.cfn.shape
	trait := s.Trait(traitTaggable)
	if trait == nil {
		return nil
	}
	property := trait.Value.Get("property").Str()
	var permissions []string
	for _, op := range []tagOperation{tagResource, listTags, untagResource} {
		permissions = append(permissions, r.permissions(r.m.tagOperation(r.service, s, op))...)
	}
	updatable := true
	if r.settings.Modern {
		update, put := s.Update != "", s.Put != "" && !s.Has(traitNoReplace)
		updatable = (update || put) && r.m.tagOperation(r.service, s, tagResource) != "" ||
			update && r.m.takesTags(r.index, s.Update, property) || put && r.m.takesTags(r.index, s.Put, property)
	}
	return document.NewObject(
		document.Member{Key: "cloudFormationSystemTags", Value: document.NewBool(!trait.Value.Get("disableSystemTags").IsTrue())},
		document.Member{Key: "permissions", Value: texts(sorted(permissions))},
		document.Member{Key: "tagOnCreate", Value: document.NewBool(r.m.takesTags(r.index, s.Create, property) || r.m.takesTags(r.index, s.Put, property))},
		document.Member{Key: "tagProperty", Value: document.NewString("/properties/" + r.tagName())},
		document.Member{Key: "tagUpdatable", Value: document.NewBool(updatable)},
		document.Member{Key: "taggable", Value: document.NewBool(true)},
	)
}

// closeObjects forbids further properties in every definition of an object, and in the
// alternatives of those without a type.
func closeObjects(definitions *document.Value) {
	if definitions == nil {
		return
	}
	for _, m := range definitions.Members {
		closeObject(m.Value)
	}
}

func closeObject(v *document.Value) {
	if alternatives := v.Get("oneOf"); v.Get("type") == nil && alternatives != nil {
		for _, item := range alternatives.Items {
			closeObject(item)
		}
		return
	}
	if v.Get("type").Str() == "object" {
		v.Set("additionalProperties", document.NewBool(false))
	}
}

// patch adds what the settings say.
func (r *resourceSchema) patch(doc *document.Value) *document.Value {
	if r.settings.Modern && r.settings.SchemaDocumentExtensions != nil {
		for _, m := range r.settings.SchemaDocumentExtensions.Members {
			doc.Set(m.Key, m.Value)
		}
	}
	for _, entry := range r.settings.JSONAdd[r.cfn.shape.ID] {
		text := strings.TrimPrefix(entry.Key, "#")
		pointer, valid := document.ParsePointer(text)
		if !valid {
			r.fail("smithy/pointer", entry.KeyAt, "JSON pointer must start with '/': "+entry.Key, "")
			continue
		}
		patched := addAt(doc, pointer, entry.Value)
		if patched.Kind != document.Object {
			r.fail("smithy/pointer", entry.KeyAt, "Expected object, but found "+kindName(patched.Kind)+".", "")
			continue
		}
		doc = patched
	}
	return doc
}

// addAt adds a value below another: objects that are missing are made, what an object
// has is replaced, and arrays take it before an index or, for "-", at their end. A path
// that cannot be resolved changes nothing.
func addAt(in *document.Value, pointer document.Pointer, value *document.Value) *document.Value {
	if len(pointer) == 0 {
		return value
	}
	token, rest := pointer[0], pointer[1:]
	shared := in // values of the model may be in the document: they are not changed
	in = &document.Value{}
	*in = *shared
	in.Members, in.Items = slices.Clone(shared.Members), slices.Clone(shared.Items)
	switch in.Kind {
	case document.Object:
		child := in.Get(token)
		if child == nil {
			child = document.NewObject()
		}
		in.Set(token, addAt(child, rest, value))
	case document.Array:
		i := len(in.Items) - 1
		if token != "-" {
			i = -1
			if _, err := fmt.Sscanf(token, "%d", &i); err != nil || fmt.Sprint(i) != token {
				i = -1
			}
		} else if len(rest) == 0 {
			i = len(in.Items)
		}
		switch {
		case len(rest) == 0 && i >= 0 && i <= len(in.Items):
			in.Items = slices.Insert(in.Items, i, value)
		case len(rest) > 0 && i >= 0 && i < len(in.Items):
			in.Items[i] = addAt(in.Items[i], rest, value)
		}
	}
	return in
}
