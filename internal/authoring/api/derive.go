package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/cfnlog"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Derived is the type that a resource of an API becomes.
type Derived struct {
	API      *API
	Resource *Resource // with the operations of the settings
	TypeName string

	Properties []*Property // those of the schema, identifiers first
	Decisions  []Decision
	Lost       []Decision // what the API says and a schema cannot express

	// Envelopes are the members that contain the resource in a request or a response, by
	// the name of the operation with " request" or " response" after it.
	Envelopes map[string]string

	schema   *document.Value
	settings *Settings
	binding  *Binding
	unbound  diag.List // why handlers cannot be generated
}

// A Decision is one choice that [Derive] made.
type Decision struct {
	Subject string // a property, or "" for the whole resource
	Choice  string // "createOnly"
	Reason  string
}

// A Property is one property of a type and where the API has it.
type Property struct {
	Name string
	Uses []Use

	Identifier, Parent                        bool // Parent: an identifier of a resource above
	Tags                                      bool
	ReadOnly, CreateOnly, WriteOnly, Required bool
	Revision                                  bool // changes with every update, which sends the value that was read

	made     bool // an identifier that the service makes, and create takes only to replace a resource that exists
	settings *PropertySettings
}

// A Use is one member of an operation that is a property.
type Use struct {
	Action    string // create, read, update; created for the response of create
	Operation *Operation
	Member    *Member
}

// in returns the member by which an action has the property, or nil.
func (p *Property) in(action string) *Member {
	for _, u := range p.Uses {
		if u.Action == action {
			return u.Member
		}
	}
	return nil
}

// Unremovable are the properties that an update sets, and that stay if a template leaves them out.
func (d *Derived) Unremovable() []string {
	names := d.binding.unremovable()
	for _, p := range d.Properties {
		if p.stays() {
			names = append(names, p.Name)
		}
	}
	return names
}

// stays reports whether all responses have the property and an update has no value that removes it: the service sets one of its own.
func (p *Property) stays() bool {
	read, update := p.in("read"), p.in("update")
	return read != nil && update != nil && read.Required && !update.Required && update.Default == nil && read.Shape.Kind != List && read.Shape.Kind != Map
}

// settable is the member by which the property is set, or nil.
func (p *Property) settable() *Member {
	if m := p.in("create"); m != nil {
		return m
	}
	return p.in("update")
}

// Derive makes the schema of a type from a resource. Problems have the IDs api/setting,
// api/identifier, api/same-name and api/name; with errors the result is of no use.
func Derive(a *API, r *Resource, typeName string, s *Settings) (*Derived, diag.List) {
	d := &deriver{
		Derived: &Derived{API: a, TypeName: typeName, Envelopes: map[string]string{}, settings: s},
		ignored: map[string]bool{}, params: map[string]*Property{}, reshaped: map[*Property]bool{},
	}
	own := *r
	d.Resource = &own
	d.applyOperations()
	if _, set := s.Operations["update"]; !set && len(d.Resource.Update) == 0 && d.Resource.Create != nil && a.Replaces(d.Resource.Create) {
		d.Resource.Update = []*Operation{d.Resource.Create}
	}
	if reason := incomplete(d.Resource); reason != "" {
		d.fail("api/setting", d.settings.at["settings.operations"], fmt.Sprintf("%s is not a resource: %s", r.Name, reason), "set the operations in the settings")
	}
	if d.problems.HasErrors() {
		return d.Derived, d.problems
	}
	d.collect()
	d.identify()
	d.onlyReplaces()
	d.leaveOutUpdates()
	if d.tagged() && !d.tagsByCalls() {
		d.Resource.Tags = nil
	}
	for _, p := range d.Properties {
		d.decide(p)
	}
	d.checkNames()
	if !d.problems.HasErrors() {
		d.bind()
	}
	if !d.problems.HasErrors() {
		d.buildSchema()
	}
	return d.Derived, d.problems
}

const maxProperties = 500 // the largest published type has 150

type deriver struct {
	*Derived
	problems diag.List
	params   map[string]*Property // by the normalised names of the identifiers of the operations
	ignored  map[string]bool      // normalised names of members that were left out
	siblings map[string]bool      // normalised names of the members of the request or response that is being read
	parts    map[string]bool      // normalised names of members of the items of lists in the read, and of structures that create takes
	reshaped map[*Property]bool   // that read returns in another form
}

func (d *deriver) fail(id string, at diag.Range, message, hint string) {
	d.problems.Add(diag.Problem{ID: id, At: at, Message: message, Hint: hint})
}

func (d *deriver) note(subject, choice, format string, args ...any) {
	d.Decisions = append(d.Decisions, Decision{subject, choice, fmt.Sprintf(format, args...)})
}

// applyOperations replaces the operations that the settings name.
func (d *deriver) applyOperations() {
	for _, action := range actions {
		names, set := d.settings.Operations[action]
		if !set {
			continue
		}
		var ops []*Operation
		for _, name := range names {
			i := slices.IndexFunc(d.API.Operations, func(o *Operation) bool { return o.Name == name || o.Method+" "+o.Path == name })
			if i < 0 {
				d.fail("api/setting", d.settings.at["operations."+action], fmt.Sprintf("the API has no operation %q", diag.Cut(name)), "write its name, or its method and path: \"POST /items\"")
				continue
			}
			ops = append(ops, d.API.Operations[i])
		}
		var first *Operation
		if len(ops) > 0 {
			first = ops[0]
		}
		switch action {
		case "create":
			d.Resource.Create = first
		case "read":
			d.Resource.Read, d.Resource.Among = first, ""
			if first != nil && d.Resource.Delete != nil && d.API.Format == "smithy" && slices.ContainsFunc(plurals(d.Resource.Name), func(name string) bool { return strings.HasSuffix(first.Name, name) }) {
				if among, ids := selects(first, d.Resource.Delete); among != "" {
					d.Resource.Among, d.Resource.Identifiers = among, ids
				}
			}
		case "update":
			d.Resource.Update = ops
		case "delete":
			d.Resource.Delete = first
		case "list":
			d.Resource.List = first
		}
		d.note("", action, "the settings name %s", strings.Join(names, ", "))
	}
	if d.API.Format == "openapi" {
		d.API.findAmong(d.Resource)
	}
}

// tagged reports whether tags are changed by operations of their own.
func (d *deriver) tagged() bool { return d.Resource.Tags != nil }

// collect finds the properties of the operations: identifiers are those of [deriver.identify].
func (d *deriver) collect() {
	r := d.Resource
	d.addInput("create", r.Create)
	d.leaveOutParts()
	for _, op := range r.Update {
		if op == r.Create {
			d.addReplacement(op)
		} else {
			d.addInput("update", op)
		}
	}
	returned, _ := r.Returned(r.Read)
	if d.readsList() {
		d.note("", "read", "%s is the only operation that returns one: handlers look for the identifier in the list", r.Read.Name)
	}
	read := d.members(returned, r.Read, "read", " response")
	d.beside(read)
	for _, m := range read {
		if p := d.find(m.Name); p != nil && !(p.Tags && d.API.Format == "smithy") && d.reshapes(p.Uses[0].Member.Shape, m.Shape) {
			d.reshaped[p] = true
			continue
		}
		d.add("read", r.Read, m)
	}
	d.addNested(read)
	d.addETag()
	d.parts = map[string]bool{}
	for _, m := range read {
		if m.Shape.Kind == List {
			d.addParts(m.Shape.Item)
		}
	}
	for _, p := range d.Properties {
		if m := p.in("create"); m != nil && d.API.Format == "smithy" {
			d.addParts(m.Shape)
		}
	}
	if created, _ := r.Returned(r.Create); created != nil {
		members := d.members(created, r.Create, "create", " response")
		d.beside(members)
		for _, m := range members {
			if p := d.find(m.Name); p != nil {
				p.Uses = append(p.Uses, Use{"created", r.Create, m})
			} else if m.Shape.Kind == String && credential(m) {
				d.Lost = append(d.Lost, Decision{pascal(m.Name), "left out", fmt.Sprintf("only %s returns it: handlers do not keep it", r.Create.Name)})
			}
		}
	}
}

// credential reports whether a member is a secret that a service makes, by its mark or its name.
func credential(m *Member) bool {
	name := norm(m.Name)
	return secret(m) || cfnlog.SecretName(m.Name) || name == "token" || name == "key" || strings.HasSuffix(name, "accesstoken")
}

// addReplacement makes an update of the operation that creates: it replaces a resource that exists. Tags are left to the
// operations for them, because services ignore those of a replacement.
func (d *deriver) addReplacement(op *Operation) {
	for _, p := range d.Properties {
		for _, u := range p.Uses {
			if u.Action == "create" && !(p.Tags && d.tagged()) {
				p.Uses = append(p.Uses, Use{"update", op, u.Member})
			}
		}
	}
}

// onlyReplaces takes from create what it has only to replace a resource that exists: an identifier that the service makes, and
// the revision. A create that does not take the identifier replaces nothing.
func (d *deriver) onlyReplaces() {
	create := d.Resource.Create
	if !slices.Contains(d.Resource.Update, create) {
		return
	}
	if slices.ContainsFunc(d.Properties, func(p *Property) bool { return p.Identifier && !p.Parent && p.in("create") == nil }) {
		d.Resource.Update = nil
		for _, p := range d.Properties {
			p.Uses = slices.DeleteFunc(p.Uses, func(u Use) bool { return u.Action == "update" })
		}
		return
	}
	for _, p := range d.Properties {
		m := p.in("create")
		made := p.Identifier && p.in("created") != nil
		if m == nil || m.Required || !made && (p.in("read") == nil || !d.Resource.IsRevision(m)) {
			continue
		}
		p.made = made
		p.Uses = slices.DeleteFunc(p.Uses, func(u Use) bool { return u.Action == "create" })
	}
}

// revisionName is the name of the property for a member of a request, which for If-Match is that of a header of responses.
func revisionName(m *Member) string {
	if norm(m.Name) == "ifmatch" {
		return "ETag"
	}
	return m.Name
}

// readsList reports whether the read is a list that does not take the identifier: no other operation returns the resource.
func (d *deriver) readsList() bool {
	_, among := d.Resource.Returned(d.Resource.Read)
	return among != nil && d.API.Format == "openapi"
}

// addETag adds the header ETag of a read if an update or delete takes it as If-Match.
func (d *deriver) addETag() {
	if _, among := d.Resource.Returned(d.Resource.Read); among != nil { // the header is that of a list
		return
	}
	i := slices.IndexFunc(d.Resource.Read.OutHeaders, func(m *Member) bool { return norm(m.Name) == "etag" })
	if i < 0 {
		return
	}
	var uses []Use
	for _, step := range d.Resource.Steps() {
		for _, m := range step.Operation.Params {
			if norm(m.Name) == "ifmatch" && (step.Action == "update" || step.Action == "delete") && (m.Required || d.API.Format == "smithy") {
				uses = append(uses, Use{step.Action, step.Operation, m})
			}
		}
	}
	if uses == nil || d.find("ETag") != nil {
		return
	}
	read := *d.Resource.Read.OutHeaders[i]
	p := &Property{Name: "ETag", Revision: true, Uses: append([]Use{{"read", d.Resource.Read, &read}}, uses...), settings: d.settings.property("ETag")}
	d.Properties = append(d.Properties, p)
}

// addParts notes the members of a structure.
func (d *deriver) addParts(s *Shape) {
	for _, m := range s.Members {
		d.parts[norm(m.Name)] = true
	}
}

// addNested adds members of structures in the response of read to properties that it does not have beside them.
func (d *deriver) addNested(read []*Member) {
	for _, p := range d.Properties {
		if p.in("read") != nil || d.reshaped[p] {
			continue
		}
		for _, around := range read {
			own := d.find(around.Name)
			if around.Shape.Kind != Structure || own != nil && own.settable() != nil || strings.HasPrefix(norm(around.Name), "pending") { // not what it is, but what it will be
				continue
			}
			for _, m := range around.Shape.Members {
				if norm(m.Name) == norm(p.Uses[0].Member.Name) && alike(p.Uses[0].Member.Shape, m.Shape) && p.in("read") == nil {
					p.Uses = append(p.Uses, Use{"read", d.Resource.Read, m})
					d.note(p.Name, "readable", "%s returns it in %s", d.Resource.Read.Name, around.Name)
				}
			}
		}
	}
}

// alike reports whether two shapes are of a kind: texts or numbers, booleans, lists, maps or structures.
func alike(a, b *Shape) bool {
	kind := func(s *Shape) Kind {
		switch s.Kind {
		case Integer, Number, String, Blob, Timestamp:
			return String
		case Union:
			return Structure
		}
		return s.Kind
	}
	switch {
	case a.Kind == Any || b.Kind == Any:
		return true
	case kind(a) != kind(b):
		return false
	}
	return a.Kind != List && a.Kind != Map || a.Item == nil || b.Item == nil || kind(a.Item) == kind(b.Item) || a.Item.Kind == Any || b.Item.Kind == Any
}

// reshapes reports whether a response has a value in another form than requests. In Smithy models, a number is not a text.
func (d *deriver) reshapes(set, read *Shape) bool {
	numeric := func(s *Shape) bool { return s.Kind == Integer || s.Kind == Number }
	for d.API.Format == "openapi" && set.Kind == List && read.Kind == List {
		set, read = set.Item, read.Item
	}
	if d.API.Format == "openapi" && set.Kind == Any && read.Kind == Structure {
		return true
	}
	return !alike(set, read) || d.API.Format == "smithy" && read.Kind != Any && numeric(set) != numeric(read)
}

// beside notes the members of a request or a response: a property is not one of them by a similar
// name if another has its very name.
func (d *deriver) beside(members []*Member) {
	d.siblings = map[string]bool{}
	for _, m := range members {
		d.siblings[norm(m.Name)] = true
	}
}

// members are those of the resource in a request or a response: what is in its envelope, then what
// is beside it. What create takes as one structure is opened in responses, too.
func (d *deriver) members(s *Shape, op *Operation, action, side string) []*Member {
	inner := d.open(s, op, action, side)
	out := inner.Members
	if create := d.Resource.Create; side == " response" && create.Body != nil {
		config := d.open(create.Body, create, "create", " request").Name
		for i, m := range out {
			if m.Shape.Kind == Structure && config != "" && m.Shape.Name == config {
				out = slices.Concat(out[:i], m.Shape.Members, out[i+1:])
				break
			}
		}
	}
	if inner == s || s == nil {
		return out
	}
	for _, m := range s.Members {
		meta := slices.Contains([]string{"etag", "requestid", "responsemetadata", "nexttoken", "ifmatch"}, norm(m.Name)) ||
			op.Paging != nil && (m.Name == op.Paging.Out || slices.Contains([]string{"istruncated", "hasmore"}, norm(m.Name)))
		if m.Name != d.Envelopes[op.Name+side] && !meta && inner.Member(m.Name) == nil {
			out = append(slices.Clip(out), m)
		}
	}
	return out
}

// wholes are endings of the names of members that have the whole resource.
var wholes = []string{"summary", "configuration", "config", "detail", "details", "description", "info"}

// open returns the structure that has the resource, without the one around it.
func (d *deriver) open(s *Shape, op *Operation, action, side string) *Shape {
	if s == nil {
		return &Shape{}
	}
	want, set := d.settings.Envelope[action]
	for _, m := range s.Members {
		if m.Shape.Kind != Structure && m.Shape.Kind != Union || set && m.Name != want {
			continue
		}
		if p := d.exact(m.Name); !set && action == "update" && side == " request" && p != nil && p.in("create") != nil {
			continue // create has it beside the others
		}
		name := norm(m.Name)
		like := name == norm(d.Resource.Name) || name == "data" || name == "result" || d.API.Format == "smithy" && strings.HasSuffix(norm(op.Name), name) ||
			slices.ContainsFunc(wholes, func(ending string) bool { return name == norm(d.Resource.Name)+ending })
		again := action == "update" && side == " request" && d.wrapped(m.Shape)
		single := len(s.Members) == 1 && (side == " response" || d.API.Format == "openapi")
		if set || single || again || name == norm(d.Resource.Name) || like && len(s.Members) <= 3 {
			if _, known := d.Envelopes[op.Name+side]; !known {
				d.Envelopes[op.Name+side] = m.Name
				d.note("", "envelope "+m.Name, "the resource is in that member of the%s of %s", side, op.Name)
			}
			return m.Shape
		}
	}
	return s
}

// wrapped reports whether create takes the resource in a structure of that shape.
func (d *deriver) wrapped(s *Shape) bool {
	create := d.Resource.Create
	m := create.Body.Member(d.Envelopes[create.Name+" request"])
	return m != nil && m.Shape == s
}

// addInput adds the members of a request.
func (d *deriver) addInput(action string, op *Operation) {
	var body []*Member
	if op.Body != nil && (op.BodyMember == "" || op.Body.Kind == Structure) {
		body = d.members(op.Body, op, action, " request")
	}
	d.beside(slices.Concat(op.Params, body))
	if action == "create" {
		for _, m := range d.Resource.Around(op) {
			d.add(action, op, m)
		}
		if len(d.Resource.Creates) > 1 {
			d.note("", "create", "%s creates one, and so does %s: the settings may name it", op.Name, d.Resource.Creates[1].Name)
		}
	}
	for _, m := range op.Params {
		switch {
		case m.In == InPath && (d.API.Format == "openapi" || action != "create"):
		case m.Token || d.pages(op, m) || norm(m.Name) == "ifmatch" && action != "create":
		case action == "update" && m.In == InQuery && d.Resource.Read.Param(InQuery, m.Name) != nil: // it only says which resource is meant
		case norm(m.Name) == "dryrun":
			d.ignore(m.Name, "it is an option of the call")
		case m.Fixed != "" && !m.usual():
			d.ignore(m.Name, fmt.Sprintf("%s gets %q as its %s %s", op.Name, diag.Cut(m.Fixed), m.In, m.Name))
		case d.API.Format == "openapi" && m.In == InHeader && m.needed():
			d.ignore(m.Name, fmt.Sprintf("it is a header of %s: its value is in the type configuration", op.Name))
		case d.API.Format == "openapi" && !(m.In == InQuery && m.needed()):
			d.ignore(m.Name, fmt.Sprintf("it is a parameter in the %s of %s", m.In, op.Name))
		default:
			d.add(action, op, m)
		}
	}
	if op.Body == nil {
		return
	}
	if op.BodyMember != "" && op.Body.Kind != Structure {
		d.add(action, op, &Member{Name: op.BodyMember, Wire: op.BodyMember, Shape: op.Body, Required: true})
		return
	}
	for _, m := range body {
		old, isNew := strings.CutPrefix(m.Name, "New")
		isNew = isNew && action == "update" && old != ""
		renewed := d.exact(old)
		switch {
		case m.Token:
			d.ignore(m.Name, "it makes calls idempotent")
		case isNew && d.isIdentifier(old):
			d.ignore(m.Name, fmt.Sprintf("%s would rename the resource", op.Name))
		case isNew && renewed != nil && alike(renewed.Uses[0].Member.Shape, m.Shape):
			renewed.Uses = append(renewed.Uses, Use{action, op, m})
			d.note(renewed.Name, "updatable", "%s takes it as %s", op.Name, m.Name)
		case d.isIdentifier(m.Name) && action != "create", d.pages(op, m):
		case action == "update" && d.exact(m.Name) == nil && d.onlyIdentifier(op, m):
		case norm(m.Name) == "dryrun":
			d.ignore(m.Name, "it is an option of the call")
		case m.ReadOnly:
		case action == "update" && d.otherForm(m):
			d.note(pascal(m.Name), "not updatable", "%s takes it in another form", op.Name)
		default:
			d.add(action, op, m)
		}
	}
}

// otherForm reports whether create has a value of another kind by the name of a member.
func (d *deriver) otherForm(m *Member) bool {
	p := d.exact(m.Name)
	return p != nil && p.in("create") != nil && !p.Tags && !alike(p.in("create").Shape, m.Shape)
}

func (d *deriver) pages(op *Operation, m *Member) bool {
	return op.Paging != nil && (m.Name == op.Paging.In || m.Name == op.Paging.Size)
}

func (d *deriver) isIdentifier(name string) bool {
	return slices.ContainsFunc(d.Resource.Identifiers, func(id string) bool { return norm(id) == norm(name) })
}

func (d *deriver) ignore(name, reason string) {
	if !d.ignored[norm(name)] {
		d.ignored[norm(name)] = true
		d.note(pascal(name), "ignored", "%s", reason)
	}
}

// leaveOutParts leaves out updates whose path names something that is in the resource, or otherwise belongs to it.
func (d *deriver) leaveOutParts() {
	r := d.Resource
	if _, set := d.settings.Operations["update"]; set || d.API.Format != "smithy" {
		return
	}
	r.Update = slices.DeleteFunc(slices.Clone(r.Update), func(op *Operation) bool {
		labels := slices.DeleteFunc(slices.Clone(op.Params), func(m *Member) bool { return m.In != InPath })
		return len(labels) > len(r.Identifiers) && slices.ContainsFunc(labels, func(m *Member) bool {
			own := slices.ContainsFunc(r.Identifiers, func(id string) bool { return same(r.Name, m.Name, id) })
			return !own && d.exact(m.Name) == nil && !slices.ContainsFunc(r.Read.Params, func(other *Member) bool { return other.Name == m.Name })
		})
	})
}

// find returns the property of that name, with or without the noun, or nil.
func (d *deriver) find(name string) *Property {
	if p := d.exact(name); p != nil {
		return p
	}
	for _, p := range d.Properties {
		if !slices.ContainsFunc(p.Uses, func(u Use) bool { return d.siblings[norm(u.Member.Name)] }) &&
			slices.ContainsFunc(p.Uses, func(u Use) bool { return same(d.Resource.Name, u.Member.Name, name) }) {
			return p
		}
	}
	return nil
}

// add adds a member of an operation to its property.
func (d *deriver) add(action string, op *Operation, m *Member) *Property {
	if own := d.settings.property(m.Name, pascal(m.Name)); own != nil && own.Ignore {
		d.ignore(m.Name, "the settings ignore it")
		return nil
	}
	tags := norm(m.Name) == "tags" && d.tagged()
	switch {
	case m.NotProperty && !tags && !(action == "create" && m.Required) && (action == "create" || d.exact(m.Name) == nil): // create may take what read and update mark so
		d.ignore(m.Name, "the model marks it as not a property")
		return nil
	case m.Shape.Kind == Any && m.Shape.Refused != "" && m.Shape.Refused != undescribed:
		d.ignore(m.Name, m.Shape.Refused+", which a schema cannot express")
		return nil
	}
	p := d.find(m.Name)
	if p == nil {
		if len(d.Properties) == maxProperties {
			d.fail("api/too-large", op.At, fmt.Sprintf("the resource would have more than %d properties", maxProperties), "ignore some in the settings")
		}
		if len(d.Properties) >= maxProperties {
			return nil
		}
		p = &Property{Name: pascal(m.Name), settings: d.settings.property(m.Name, pascal(m.Name))}
		d.Properties = append(d.Properties, p)
	}
	p.Tags = p.Tags || norm(m.Name) == "tags"
	p.Uses = append(p.Uses, Use{action, op, m})
	if p.settings != nil && p.settings.Name != "" {
		p.Name = p.settings.Name
	}
	return p
}

// leaveOutUpdates leaves out what only updates have: create would not set it, and no response shows it. In Smithy models,
// which have fewer operations below a resource, it must be a part of something that read returns. An update that sets
// nothing else is not one of the resource.
func (d *deriver) leaveOutUpdates() {
	if _, set := d.settings.Operations["update"]; set {
		return
	}
	only := func(p *Property) bool {
		return p.settings == nil && !p.Identifier && !p.Tags && (d.API.Format == "openapi" || d.parts[norm(p.Uses[0].Member.Name)]) && !slices.ContainsFunc(p.Uses, func(u Use) bool { return u.Action != "update" })
	}
	sets := func(p *Property, op *Operation, required bool) bool {
		return slices.ContainsFunc(p.Uses, func(u Use) bool { return u.Operation == op && (u.Member.Required || !required) })
	}
	d.Resource.Update = slices.DeleteFunc(slices.Clone(d.Resource.Update), func(op *Operation) bool {
		return !slices.ContainsFunc(d.Properties, func(p *Property) bool { return !p.Identifier && !only(p) && sets(p, op, false) })
	})
	d.Properties = slices.DeleteFunc(d.Properties, func(p *Property) bool {
		if !only(p) || slices.ContainsFunc(d.Resource.Update, func(op *Operation) bool { return sets(p, op, true) }) {
			return false
		}
		d.ignore(p.Uses[0].Member.Name, fmt.Sprintf("only %s has it", p.Uses[0].Operation.Name))
		return true
	})
}

// decide settles whether a property is read-only, create-only, write-only and required.
func (d *deriver) decide(p *Property) {
	create, update, read, set := p.in("create"), p.in("update"), p.in("read"), p.settable()
	updates := d.Resource.Update
	tagged := p.Tags && d.tagged()
	if read != nil && read.ReadOnly && create == nil {
		create, update, set = nil, nil, nil
	}
	switch {
	case set == nil && read != nil && read.ReadOnly:
		p.ReadOnly = true
		d.note(p.Name, "readOnly", "it is marked so")
	case p.made:
		p.ReadOnly = true
		d.note(p.Name, "readOnly", "the service makes it; %s takes it to replace a resource", d.Resource.Create.Name)
	case set == nil:
		p.ReadOnly = true
		d.note(p.Name, "readOnly", "it is only in responses")
	case p.Identifier:
		p.CreateOnly = true
		d.note(p.Name, "createOnly", "it identifies the resource and is set by %s", d.Resource.Create.Name)
	case create != nil && update == nil && !tagged:
		p.CreateOnly = true
		if len(updates) == 0 {
			d.note(p.Name, "createOnly", "the API has no update")
		} else {
			d.note(p.Name, "createOnly", "it is in %s but in no update", d.Resource.Create.Name)
		}
	case create == nil && read != nil && d.Resource.IsRevision(p.Uses[0].Member):
		p.ReadOnly, p.Revision = true, true
		d.note(p.Name, "readOnly", "the service changes it; %s sends the one that was read", p.Uses[0].Operation.Name)
	case create == nil:
		d.note(p.Name, "updatable", "only updates set it: %s", p.Uses[0].Operation.Name)
	}
	if p.ReadOnly {
		d.override(p)
		return
	}
	d.decideWriteOnly(p, read, set, tagged)
	switch {
	case create == nil || p.ReadOnly:
	case create.Required:
		p.Required = true
		d.note(p.Name, "required", "%s requires it", d.Resource.Create.Name)
	case p.Identifier && p.in("created") == nil:
		p.Required = true
		d.note(p.Name, "required", "it identifies the resource, and %s does not return it", d.Resource.Create.Name)
	}
	d.override(p)
	if set != nil && !p.Required && !p.WriteOnly && read != nil && set.Default == nil {
		d.note(p.Name, "optional", "the service may set a default, because responses have it")
	}
}

func (d *deriver) decideWriteOnly(p *Property, read, set *Member, tagged bool) {
	switch {
	case set == nil || p.Identifier:
	case set.WriteOnly:
		p.WriteOnly = true
		d.note(p.Name, "writeOnly", "it is marked so")
	case set.Shape.Format == "password":
		p.WriteOnly = true
		d.note(p.Name, "writeOnly", "its format is password")
	case read != nil:
	case d.reshaped[p]:
		p.WriteOnly = true
		d.note(p.Name, "writeOnly", "%s returns it in another form", d.Resource.Read.Name)
	case tagged:
		d.note(p.Name, "readable", "operations of the service list the tags")
	default:
		p.WriteOnly = true
		d.note(p.Name, "writeOnly", "%s does not return it", d.Resource.Read.Name)
	}
}

// override applies the settings of a property.
func (d *deriver) override(p *Property) {
	if p.settings == nil {
		return
	}
	for _, o := range []struct {
		name string
		set  *bool
		to   *bool
	}{
		{"readOnly", p.settings.ReadOnly, &p.ReadOnly}, {"createOnly", p.settings.CreateOnly, &p.CreateOnly},
		{"writeOnly", p.settings.WriteOnly, &p.WriteOnly}, {"required", p.settings.Required, &p.Required},
	} {
		if o.set == nil || *o.set == *o.to {
			continue
		}
		*o.to = *o.set
		d.Decisions = slices.DeleteFunc(d.Decisions, func(c Decision) bool { return c.Subject == p.Name && c.Choice == o.name })
		choice := o.name
		if !*o.set {
			choice = "not " + o.name
		}
		d.note(p.Name, choice, "the settings say so")
	}
	if p.ReadOnly && (p.CreateOnly || p.WriteOnly || p.Required) {
		d.fail("api/setting", p.settings.At, fmt.Sprintf("%s is readOnly, so it cannot be createOnly, writeOnly or required", p.Name), "set readOnly: false, or the others to false")
	}
}

// checkNames reports names that a schema cannot have.
func (d *deriver) checkNames() {
	seen := map[string]*Property{}
	for _, p := range d.Properties {
		first := p.Uses[0]
		hint := fmt.Sprintf("set its name in the settings: properties: {%s: {name: …}}", first.Member.Name)
		if p.Name == "" || len(p.Name) > 64 || p.Name != pascal(p.Name) {
			d.fail("api/name", first.Member.At, fmt.Sprintf("%q is not a name of a property: 1 to 64 letters and digits", diag.Cut(first.Member.Name)), hint)
		}
		if other := seen[p.Name]; other != nil {
			d.fail("api/same-name", first.Member.At, fmt.Sprintf("%q and %q are both the property %s", other.Uses[0].Member.Name, first.Member.Name, p.Name), hint)
		}
		seen[p.Name] = p
	}
	for _, s := range d.settings.Properties {
		used := slices.ContainsFunc(d.Properties, func(p *Property) bool { return p.settings != nil && p.settings.Property == s.Property })
		if !used && !d.ignored[norm(s.Property)] {
			d.fail("api/setting", s.At, fmt.Sprintf("%s has no property %q", d.Resource.Name, diag.Cut(s.Property)), "")
		}
	}
}
