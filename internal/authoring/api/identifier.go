package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// generic are names that identify something only together with the name of what they belong to.
var generic = []string{"id", "sid", "uuid", "guid", "name", "key", "slug", "identifier"}

// identify finds the properties that identify the resource, and puts them first.
func (d *deriver) identify() {
	var found []*Property
	problems, decisions := d.problems, d.Decisions
	d.addScope()
	for i, id := range d.Resource.Identifiers {
		p := d.identifier(i, id)
		if p == nil {
			continue
		}
		d.params[norm(id)] = p
		if !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	if d.settings.Identifier != nil { // the parents that were found are properties even so
		found, d.problems, d.Decisions = nil, problems, decisions
		for _, name := range d.settings.Identifier {
			p := d.named(name)
			if p == nil {
				d.fail("api/setting", d.settings.at["settings.identifier"], fmt.Sprintf("the resource has no property %q", diag.Cut(name)), "")
				continue
			}
			d.note(p.Name, "identifier", "the settings say so")
			found = append(found, p)
		}
		for i, id := range d.Resource.Identifiers {
			if len(found) == len(d.Resource.Identifiers) {
				d.params[norm(id)] = found[i]
			}
		}
	}
	for _, p := range found {
		p.Identifier = true
		others := slices.DeleteFunc(slices.Clone(p.Uses), func(u Use) bool { return u.Action == "update" && u.Operation != d.Resource.Create }) // they only name the resource
		if len(others) > 0 {
			p.Uses = others
		}
	}
	if len(found) == 0 && !d.problems.HasErrors() {
		d.fail("api/identifier", d.Resource.At, fmt.Sprintf("no property identifies %s", d.Resource.Name), "name it in the settings: identifier: [Id]")
	}
	rest := slices.DeleteFunc(slices.Clone(d.Properties), func(p *Property) bool { return slices.Contains(found, p) })
	d.Properties = append(found, rest...)
}

// addScope adds the identifier of what a resource is in although no operation requires it: read, create and delete
// take it, and another resource is called so. Without it, they mean the default one, as with GroupName of a schedule.
func (d *deriver) addScope() {
	r := d.Resource
	if d.API.Format != "smithy" || len(r.Identifiers) != 1 {
		return
	}
	for _, m := range r.Read.Members() {
		noun, named := strings.CutSuffix(norm(m.Name), "name")
		takes := func(op *Operation) bool {
			return slices.ContainsFunc(op.Members(), func(other *Member) bool { return other.Name == m.Name })
		}
		if m.Required || !named || len(noun) < 3 || !takes(r.Create) || !takes(r.Delete) {
			continue
		}
		called := slices.ContainsFunc(d.API.Resources, func(other *Resource) bool {
			return other.Name != r.Name && len(other.Identifiers) == 1 && strings.HasSuffix(norm(other.Name), noun)
		})
		if called || slices.ContainsFunc(d.API.Others, func(other Candidate) bool { return other.Name != r.Name && norm(other.Name) == noun }) {
			r.Identifiers = []string{m.Name, r.Identifiers[0]}
			return
		}
	}
}

// named returns the property with that name in the schema or the API, or nil.
func (d *deriver) named(name string) *Property {
	for _, p := range d.Properties {
		if p.Name == name {
			return p
		}
	}
	return d.find(name)
}

// identifier finds the property of one identifier of the operations.
func (d *deriver) identifier(i int, id string) *Property {
	last := i == len(d.Resource.Identifiers)-1
	own := last || d.API.Format == "smithy" && slices.Contains(generic, norm(id))
	name := id
	if d.API.Format == "openapi" && !last && slices.Contains(generic, norm(id)) {
		name = d.parentNoun(id) + pascal(id)
	}
	if !last && d.API.Format == "openapi" {
		return d.parent(i, id, name)
	}
	// A member of that very name is best, wherever it is; then a similar one of the read.
	similar := d.API.Candidates(d.Resource, id, own)
	tries := [][]string{{id}, similar}
	if strings.HasSuffix(norm(id), "arn") && own { // the ARN of a response has one value, whatever its name
		tries = [][]string{append([]string{id}, similar...)}
	}
	var unknown *Property
	for _, names := range tries {
		for _, find := range []func(string) *Property{d.exact, d.ofCreate} {
			for _, name := range names {
				p := find(name)
				if p == nil || !simple(p) {
					continue
				}
				if last && d.API.Format == "smithy" && p.in("create") == nil && p.in("created") == nil { // create must say which one it made
					unknown = cmp.Or(unknown, p)
					continue
				}
				return d.asIdentifier(p, id, last)
			}
		}
	}
	if unknown != nil {
		return d.asIdentifier(unknown, id, last)
	}
	d.fail("api/identifier", d.Resource.At, fmt.Sprintf("%s needs %q, but no response has it", d.Resource.Read.Name, id), "name the property in the settings: identifier: [Id]")
	return nil
}

func (d *deriver) asIdentifier(p *Property, id string, last bool) *Property {
	by := d.Resource.Read.Name
	if d.readsList() {
		by = d.Resource.Delete.Name
	}
	if d.exact(id) == p {
		d.note(p.Name, "identifier", "%s needs it", by)
	} else {
		d.note(p.Name, "identifier", "%s needs %s, and the resource has it as %s", by, id, p.Uses[0].Member.Name)
	}
	if !slices.Contains(d.Properties, p) {
		d.Properties = append(d.Properties, p)
	}
	p.Parent = !last
	d.addParam(p, id)
	if last {
		d.joinListed(p, id)
	}
	return p
}

// joinListed makes one property of an identifier that only requests name and what a list, which is the read, has it as: the
// users of a group, which PUT /groups/{group}/users/{userId} adds, are listed with their id.
func (d *deriver) joinListed(p *Property, id string) {
	if !d.readsList() || p.in("read") != nil {
		return
	}
	for _, name := range d.API.Candidates(d.Resource, id, true) {
		if other := d.exact(name); other != nil && other != p && simple(other) && other.in("read") != nil && other.in("create") == nil {
			p.Uses = append(p.Uses, other.Uses...)
			d.Properties = slices.DeleteFunc(d.Properties, func(each *Property) bool { return each == other })
			d.note(p.Name, "read", "%s has it as %s", d.Resource.Read.Name, other.Uses[0].Member.Name)
			return
		}
	}
}

// ofCreate is a property that only the request or the response of create has, or nil.
func (d *deriver) ofCreate(name string) *Property {
	create := d.Resource.Create
	created, _ := d.Resource.Returned(create)
	for _, side := range []struct {
		action  string
		members []*Member
	}{{"create", create.Members()}, {"created", d.members(created, create, "create", " response")}} {
		for _, m := range side.members {
			if norm(m.Name) == norm(name) && !m.Token {
				return &Property{Name: pascal(name), Uses: []Use{{side.action, create, m}}, settings: d.settings.property(m.Name)}
			}
		}
	}
	return nil
}

// addParam adds the parameter by which create takes an identifier that the client chooses.
func (d *deriver) addParam(p *Property, id string) {
	create := d.Resource.Create
	if p.in("create") != nil {
		return
	}
	for _, m := range create.Params {
		if m.In == InPath && norm(m.Name) == norm(id) && !d.Resource.isAround(m) {
			p.Uses = append(p.Uses, Use{"create", create, m})
		}
	}
}

// simple reports whether the values of a property can identify something.
func simple(p *Property) bool {
	k := p.Uses[0].Member.Shape.Kind
	return k == String || k == Integer || k == Number
}

// exact returns the property whose member has that name.
func (d *deriver) exact(name string) *Property {
	for _, p := range d.Properties {
		if slices.ContainsFunc(p.Uses, func(u Use) bool { return norm(u.Member.Name) == norm(name) }) {
			return p
		}
	}
	return nil
}

// Candidates are the names that the member of a response for an identifier of requests may have, the best first: those of members
// with the pattern that the read wants come before those with better names. Own says that it is that of the resource, not of
// something that the resource is in.
func (a *API) Candidates(r *Resource, id string, own bool) []string {
	names := a.candidates(r.Name, id, own)
	returned, _ := r.Returned(r.Read)
	for _, m := range r.Read.Members() {
		pattern := m.Shape.Pattern
		if norm(m.Name) != norm(id) || pattern == "" {
			continue
		}
		fits := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !returned.has(name, pattern, 1) })
		if strings.HasPrefix(pattern, "^arn:") && !strings.Contains(pattern, "|") {
			fits = append(fits, r.Name+"Arn", "arn") // whatever its name, only an ARN is taken
		}
		return append(fits, names...)
	}
	return names
}

// has reports whether a structure, or one in it, has a member of that name with a pattern.
func (s *Shape) has(name, pattern string, depth int) bool {
	return s != nil && slices.ContainsFunc(s.Members, func(m *Member) bool {
		return norm(m.Name) == norm(name) && m.Shape.Pattern == pattern || depth > 0 && m.Shape.Kind == Structure && m.Shape.has(name, pattern, depth-1)
	})
}

func (a *API) candidates(noun, id string, own bool) []string {
	out := []string{}
	if rest, ok := strings.CutPrefix(norm(id), norm(noun)); ok && rest != "" {
		out = append(out, rest)
	}
	out = append(out, noun+id)
	if i := strings.LastIndexFunc(id, unicode.IsUpper); i > 0 && len(id)-i > 4 {
		out = append(out, id[i:]) // the version of flowVersion
	}
	lower := norm(id)
	if own && a.Format == "openapi" {
		last := id[max(strings.LastIndexAny(id, "_-"), strings.LastIndexFunc(id, unicode.IsUpper)-1)+1:]
		if last != id && norm(last) != "id" && (strings.ContainsAny(id, "_-") || slices.Contains(generic, norm(last))) {
			out = append(out, last) // the key of featureFlagKey, the ip of reserved_ip
		}
		return append(out, noun+"Id", "id", "sid", "uuid", "name")
	}
	for _, ending := range []string{"identifier", "id", "name", "arn"} {
		if stem, ok := strings.CutSuffix(lower, ending); ok && stem != "" {
			out = append(out, stem, stem+"Id", stem+"Identifier", stem+"Arn", stem+"Name")
			break
		}
	}
	switch {
	case !own:
		return out
	case lower == norm(noun):
		return append(out, noun+"Name", "name", noun+"Id", "id", noun+"Arn", "arn")
	case strings.HasSuffix(lower, "arn"):
		return append(out, "arn", noun+"Arn")
	case strings.HasSuffix(lower, "name"):
		return append(out, "name", noun+"Name")
	}
	return append(out, noun+"Id", "id", noun+"Identifier", "identifier", noun+"Arn", "arn")
}

// onlyIdentifier reports whether a member of a request is its only required one, has one of the names that the identifier of the
// resource may have, and is therefore it.
func (d *deriver) onlyIdentifier(op *Operation, m *Member) bool {
	ids := d.Resource.Identifiers
	if d.API.Format != "smithy" || len(ids) != 1 || !m.Required || m.Shape.Kind != String {
		return false
	}
	others := slices.ContainsFunc(op.Members(), func(other *Member) bool { return other.Required && other.Name != m.Name })
	return !others && slices.ContainsFunc(d.API.Candidates(d.Resource, ids[0], true), func(name string) bool { return norm(name) == norm(m.Name) })
}

// parent is the property for the identifier of a resource above: a parameter of the path, which is
// at the same position in the path of create.
func (d *deriver) parent(i int, id, name string) *Property {
	p := d.exact(name)
	if p == nil {
		p = &Property{Name: pascal(name), settings: d.settings.property(name)}
		d.Properties = append(d.Properties, p)
	}
	p.Parent = true
	create := d.Resource.Create
	for _, s := range [...]struct {
		action string
		op     *Operation
	}{{"create", create}, {"read", d.Resource.Read}} {
		var params []string
		for _, segment := range segmentsOf(s.op.Path) {
			if isParam(segment) {
				params = append(params, paramName(segment))
			}
		}
		if i < len(params) && p.in(s.action) == nil {
			if m := s.op.Param(InPath, params[i]); m != nil && !(s.op == create && d.Resource.isAround(m)) {
				p.Uses = append(p.Uses, Use{s.action, s.op, m})
			}
		}
	}
	if p.Uses == nil {
		p.Uses = []Use{{"read", d.Resource.Read, &Member{Name: id, Wire: id, In: InPath, Shape: &Shape{Kind: String}, Required: true}}}
	}
	d.note(p.Name, "identifier", "it is in the path of %s", d.Resource.Read.Name)
	return p
}

// parentNoun is the name of what the parameter of a path belongs to.
func (d *deriver) parentNoun(id string) string {
	segments := segmentsOf(d.Resource.Read.Path)
	for i, s := range segments {
		if isParam(s) && paramName(s) == id && i > 0 {
			return noun(segments[:i])
		}
	}
	return ""
}
