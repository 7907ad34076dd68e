package smithy

import (
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// An astReader reads a JSON AST into a loader. A fault in one shape does not hide the
// others.
type astReader struct {
	load    *loader
	version version
}

// readAST reads a file of JSON. One that is not a model is an error only if it looks like
// one: folders hold other JSON too.
func (l *loader) readAST(s Source) {
	root, problems := document.ParseJSON(s.File, s.Data, l.cfg.Limits)
	for _, p := range problems {
		switch {
		case p.ID == "document/duplicate-key":
			l.report(Event{ID: modelError, Severity: WarningSeverity, Message: p.Message, At: p.At, Hint: p.Hint})
		case p.Severity == diag.Error:
			l.report(Event{ID: modelError, Severity: ErrorSeverity, Message: "Error parsing JSON: " + p.Message, At: p.At, Hint: p.Hint})
		}
	}
	if root == nil || problems.HasErrors() {
		return
	}
	at := diag.Range{File: s.File, Start: diag.Position{Line: 1, Column: 1}}
	if root.Kind != document.Object || root.Get("smithy") == nil {
		l.report(Event{ID: modelError, Severity: ErrorSeverity, At: at, Message: "Invalid file referenced by the model: not a Smithy JSON AST",
			Hint: `a JSON AST is an object with the member "smithy"`})
		return
	}
	r := &astReader{load: l}
	r.model(root, s.File)
}

func (r *astReader) fail(at diag.Range, shape ID, format string, args ...any) bool {
	r.load.error(at, shape, fmt.Sprintf(format, args...))
	return false
}

// properties warns of members that an object should not have.
func (r *astReader) properties(v *document.Value, shape ID, allowed ...string) {
	var additional []string
	for _, m := range v.Members {
		if !slices.Contains(allowed, m.Key) {
			additional = append(additional, m.Key)
		}
	}
	if additional != nil {
		r.load.report(Event{ID: modelError, Severity: WarningSeverity, Shape: shape, At: v.At, Message: additionalProperties(allowed, additional)})
	}
}

func (r *astReader) model(root *document.Value, file string) {
	smithy := root.Get("smithy")
	if smithy.Kind != document.String {
		r.fail(smithy.At, "", "Expected `smithy` member to be a string, but found %s", kindName(smithy.Kind))
		return
	}
	v, known := parseVersion(smithy.Text)
	if !known {
		r.fail(smithy.At, "", "Unsupported Smithy version number: %s", smithy.Text)
		return
	}
	r.version = v
	r.load.versions[file] = v
	r.properties(root, "", "smithy", "shapes", "metadata")
	if metadata := root.Get("metadata"); metadata != nil {
		if metadata.Kind != document.Object {
			r.fail(metadata.At, "", "Expected `metadata` to be an object; found %s", kindName(metadata.Kind))
		}
		for _, m := range metadata.Members {
			r.load.putMetadata(m.Key, m.Value)
		}
	}
	shapes := root.Get("shapes")
	if shapes == nil {
		return
	}
	if shapes.Kind != document.Object {
		r.fail(shapes.At, "", "Expected `shapes` to be an object; found %s", kindName(shapes.Kind))
	}
	for _, m := range shapes.Members {
		switch {
		case !validID(m.Key):
			r.fail(m.KeyAt, "", "Invalid shape ID: %s", m.Key)
		case m.Value.Kind != document.Object:
			r.fail(m.Value.At, "", "Expected object, but found %s.", kindName(m.Value.Kind))
		default:
			r.shape(ID(m.Key), m.Value)
		}
	}
}

// shape reads one entry of "shapes".
func (r *astReader) shape(id ID, v *document.Value) bool {
	kind := v.Get("type")
	if kind == nil {
		return r.fail(v.At, id, "Missing expected member `type`.")
	}
	if kind.Kind != document.String {
		return r.fail(kind.At, id, "Expected `type` member to be a string, but found %s", kindName(kind.Kind))
	}
	t := Type(kind.Text)
	if t == "apply" {
		r.properties(v, id, "type", "traits")
		return r.traits(id, id, v)
	}
	class := typeClasses[t]
	if class == 0 || t == Member {
		return r.fail(v.At, id, "Invalid shape `type`: %s", t)
	}
	if id.Member() != "" {
		return r.fail(v.At, id, "Shapes of type `%s` cannot contain a member in their shape ID. Found `%s`", t, id)
	}
	d := &definition{shape: &Shape{ID: id, Type: t, At: v.At, version: r.version}, version: r.version}
	if !r.body(d, class, v) || !r.mixins(d, v) {
		return false
	}
	r.load.define(d)
	return r.traits(id, id, v)
}

// body reads what is special to the type of the shape.
func (r *astReader) body(d *definition, class typeClass, v *document.Value) bool {
	id := d.shape.ID
	switch {
	case d.shape.Type == Operation:
		r.properties(v, id, "type", "input", "output", "errors", "traits", "mixins")
		return r.operation(d.shape, v)
	case d.shape.Type == Resource:
		r.properties(v, id, "type", "create", "read", "update", "delete", "list", "put", "identifiers", "resources", "operations",
			"collectionOperations", "properties", "traits", "mixins")
		return r.resource(d.shape, v)
	case d.shape.Type == Service:
		r.properties(v, id, "type", "version", "operations", "resources", "rename", "errors", "traits", "mixins")
		return r.service(d.shape, v)
	case class == collectionType:
		r.properties(v, id, "type", "member", "traits", "mixins")
		return r.member(d, "member", v.Get("member"))
	case class == mapType:
		r.properties(v, id, "type", "key", "value", "traits", "mixins")
		return r.member(d, "key", v.Get("key")) && r.member(d, "value", v.Get("value"))
	case class == namedType || d.shape.Type == Enum || d.shape.Type == IntEnum:
		r.properties(v, id, "type", "members", "traits", "mixins")
		return r.members(d, v.Get("members"))
	}
	r.properties(v, id, "type", "traits", "mixins")
	return true
}

func (r *astReader) members(d *definition, v *document.Value) bool {
	if v == nil {
		return true
	}
	if v.Kind != document.Object {
		return r.fail(v.At, d.shape.ID, "Expected `members` to be an object, but found %s", kindName(v.Kind))
	}
	for _, m := range v.Members {
		if !validIdentifier(m.Key) {
			return r.fail(m.KeyAt, d.shape.ID, "Invalid shape ID member: %s", m.Key)
		}
		if !r.member(d, m.Key, m.Value) {
			return false
		}
	}
	return true
}

// member reads a member; one that is absent is not missed here, mixins may bring it.
func (r *astReader) member(d *definition, name string, v *document.Value) bool {
	if v == nil {
		return true
	}
	if v.Kind != document.Object {
		return r.fail(v.At, d.shape.ID, "Expected object, but found %s.", kindName(v.Kind))
	}
	id := d.shape.ID.WithMember(name)
	r.properties(v, id, "target", "traits")
	m := &Shape{ID: id, Type: Member, At: v.At, Container: d.shape, version: r.version}
	if !r.target(d.shape.ID, v, &m.Target) {
		return false
	}
	if old := d.member(name); old != nil {
		*old = *m
	} else {
		d.members = append(d.members, m)
	}
	return r.traits(d.shape.ID, id, v)
}

// target reads the ID in {"target": id}.
func (r *astReader) target(shape ID, v *document.Value, into *ID) bool {
	target := v.Get("target")
	if target == nil {
		return r.fail(v.At, shape, "Missing expected member `target`.")
	}
	if target.Kind != document.String {
		return r.fail(target.At, shape, "Expected `target` member to be a string, but found %s", kindName(target.Kind))
	}
	if !validID(target.Text) {
		return r.fail(target.At, shape, "Invalid shape ID: %s", target.Text)
	}
	*into = ID(target.Text)
	return true
}

func (r *astReader) traits(shape, target ID, v *document.Value) bool {
	traits := v.Get("traits")
	if traits == nil {
		return true
	}
	if traits.Kind != document.Object {
		return r.fail(traits.At, shape, "Expected `traits` to be an object, but found %s", kindName(traits.Kind))
	}
	for _, m := range traits.Members {
		if !validID(m.Key) {
			return r.fail(m.KeyAt, shape, "Invalid shape ID: %s", m.Key)
		}
		r.load.apply(application{
			target: target, trait: ID(m.Key), value: m.Value, at: m.KeyAt, version: r.version, namespace: target.Namespace(),
		})
	}
	return true
}

func (r *astReader) mixins(d *definition, v *document.Value) bool {
	var mixins []ID
	if !r.idList(d.shape.ID, v, "mixins", &mixins) {
		return false
	}
	for _, id := range mixins {
		d.addMixin(id)
	}
	return true
}

func (r *astReader) id(shape ID, v *document.Value, name string, into *ID) bool {
	value := v.Get(name)
	if value == nil {
		return true
	}
	if value.Kind != document.Object {
		return r.fail(value.At, shape, "Expected `%s` to be an object; found %s", name, kindName(value.Kind))
	}
	r.properties(value, shape, "target")
	return r.target(shape, value, into)
}

func (r *astReader) idList(shape ID, v *document.Value, name string, into *[]ID) bool {
	value := v.Get(name)
	if value == nil {
		return true
	}
	if value.Kind != document.Array {
		return r.fail(value.At, shape, "Expected an array, but found %s.", kindName(value.Kind))
	}
	for _, item := range value.Items {
		if item.Kind != document.Object {
			return r.fail(item.At, shape, "Expected object, but found %s.", kindName(item.Kind))
		}
		r.properties(item, shape, "target")
		var id ID
		if !r.target(shape, item, &id) {
			return false
		}
		*into = append(*into, id)
	}
	return true
}

func (r *astReader) idMap(shape ID, v *document.Value, name string, into *[]Named) bool {
	value := v.Get(name)
	if value == nil {
		return true
	}
	if value.Kind != document.Object {
		return r.fail(value.At, shape, "Expected an object, but found %s.", kindName(value.Kind))
	}
	for _, m := range value.Members {
		if m.Value.Kind != document.Object {
			return r.fail(m.Value.At, shape, "Expected object, but found %s.", kindName(m.Value.Kind))
		}
		r.properties(m.Value, shape, "target")
		n := Named{Name: m.Key}
		if !r.target(shape, m.Value, &n.Target) {
			return false
		}
		*into = append(*into, n)
	}
	return true
}

func (r *astReader) operation(s *Shape, v *document.Value) bool {
	s.Input, s.Output = unitID, unitID
	return r.id(s.ID, v, "input", &s.Input) && r.id(s.ID, v, "output", &s.Output) && r.idList(s.ID, v, "errors", &s.Errors)
}

func (r *astReader) resource(s *Shape, v *document.Value) bool {
	for _, l := range s.lifecycle() {
		if !r.id(s.ID, v, l.name, l.id) {
			return false
		}
	}
	if properties := v.Get("properties"); properties != nil && r.version == version1 {
		r.fail(properties.At, "", "Resource properties can only be used with Smithy version 2 or later. "+
			"Attempted to use resource properties with version `1.0`.")
	}
	return r.idList(s.ID, v, "operations", &s.Operations) && r.idList(s.ID, v, "collectionOperations", &s.CollectionOperations) &&
		r.idList(s.ID, v, "resources", &s.Resources) && r.idMap(s.ID, v, "identifiers", &s.Identifiers) &&
		r.idMap(s.ID, v, "properties", &s.Properties)
}

func (r *astReader) service(s *Shape, v *document.Value) bool {
	if version := v.Get("version"); version != nil {
		if version.Kind != document.String {
			return r.fail(version.At, s.ID, "Expected `version` to be a string, but found %s", kindName(version.Kind))
		}
		s.Version = version.Text
	}
	if !r.idList(s.ID, v, "operations", &s.Operations) || !r.idList(s.ID, v, "resources", &s.Resources) ||
		!r.idList(s.ID, v, "errors", &s.Errors) {
		return false
	}
	rename := v.Get("rename")
	if rename == nil {
		return true
	}
	if rename.Kind != document.Object {
		return r.fail(rename.At, s.ID, "Expected `rename` to be an object, but found %s", kindName(rename.Kind))
	}
	for _, m := range rename.Members {
		if !validID(m.Key) {
			return r.fail(m.KeyAt, s.ID, "Invalid shape ID: %s", m.Key)
		}
		if m.Value.Kind != document.String {
			return r.fail(m.Value.At, s.ID, "Expected rename value to be a string, but found %s", kindName(m.Value.Kind))
		}
		s.Rename = append(s.Rename, Named{Name: m.Value.Text, Target: ID(m.Key)})
	}
	return true
}
