package stub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// An action is what an operation does with resources.
type action string

const (
	create  action = "create"
	read    action = "read"
	update  action = "update"
	remove  action = "delete"
	list    action = "list"
	part    action = "part" // changes or reads a part of a resource
	tag     action = action(api.AddTags)
	untag   action = action(api.RemoveTags)
	tags    action = action(api.ListTags)
	nothing action = "" // the operation belongs to no resource
)

// A role is what an operation does, and with resources of which kind.
type role struct {
	action   action
	resource *resource
	by       string // the member by which a resource is found, if it is not its identifiers
}

// A resource is one kind of what the service keeps.
type resource struct {
	*api.Resource

	ids      []string           // the identifiers of what it is in, then its own
	parent   *resource          // nil if it is in nothing that the description has
	apart    map[[2]string]bool // plain names of two members of one structure, which are not variants of each other
	settable map[string]bool
	inner    map[string]bool   // plain names of settable members that are structures
	secret   map[string]bool   // plain names of members that no response has
	places   map[string]string // plain names that requests set, to the structure that has them
	revision *api.Member       // of read: what changes with each update, which updates must repeat; nil without
	status   *lifecycle        // nil if it has no states
	own      *api.Member       // of a response: the identifier; nil if there is none
	ownIn    []*api.Shape      // of requests: the identifier
	arnIn    []*api.Shape      // of requests and responses: the ARN
}

// assign finds out what each operation does.
func (s *Stub) assign() error {
	byResource := map[*api.Resource]*resource{}
	for _, r := range s.api.Resources {
		byResource[r] = &resource{Resource: r, ids: r.Identifiers}
	}
	for _, r := range s.api.Resources {
		byResource[r].parent = byResource[s.parentOf(r)]
		s.scope(byResource[r], byResource)
	}
	if name := s.config.Resource; name != "" {
		wanted := byResource[s.api.Resource(name)]
		if wanted == nil {
			var known []string
			for _, r := range s.api.Resources {
				known = append(known, r.Name)
			}
			return fmt.Errorf("the API has no resource %s%s", name, near(name, known))
		}
		kept := map[*resource]bool{}
		for r := wanted; r != nil; r = r.parent {
			kept[r] = true
		}
		for from, r := range byResource {
			if !kept[r] {
				delete(byResource, from)
			}
		}
	}
	for _, from := range s.api.Resources {
		if r := byResource[from]; r != nil {
			s.resources = append(s.resources, r)
		}
	}
	for _, pass := range []string{"create", "read", "delete", "list", "update"} {
		for _, r := range s.resources {
			for _, step := range r.Steps() {
				does := action(step.Action)
				if _, among := r.Returned(step.Operation); does == read && among != nil {
					does = list
				}
				if _, taken := s.roles[step.Operation]; step.Action == pass && !taken {
					s.roles[step.Operation] = role{action: does, resource: r}
				}
			}
		}
	}
	for _, r := range s.resources {
		for _, op := range r.Creates {
			s.roles[op] = role{action: create, resource: r}
			s.labels[op] = slices.DeleteFunc(slices.Clone(s.labels[op]), func(label string) bool {
				return slices.ContainsFunc(r.Around(op), func(m *api.Member) bool { return m.Wire == label })
			})
		}
	}
	for _, op := range s.api.Operations {
		s.tagged = s.tagged || op.Tagging().Action == api.AddTags
		if _, taken := s.roles[op]; !taken {
			s.roles[op] = s.guess(op)
		}
	}
	for _, r := range s.resources {
		s.study(r)
	}
	return nil
}

// parentOf is the resource that a resource is in, or nil.
func (s *Stub) parentOf(r *api.Resource) *api.Resource {
	var found *api.Resource
	for _, other := range s.api.Resources {
		if len(other.Identifiers) >= len(r.Identifiers) || found != nil && len(other.Identifiers) <= len(found.Identifiers) {
			continue
		}
		inside := strings.HasPrefix(shapeOf(r.ID), shapeOf(other.ID)+"/")
		if s.api.Format == "smithy" {
			inside = true
			for i, name := range other.Identifiers {
				inside = inside && alike(other.Name, name, r.Identifiers[i])
			}
		}
		if inside {
			found = other
		}
	}
	return found
}

// scope finds the resource that another one is in although its identifiers do not say so:
// requests name it where it is not the default, as GroupName of a schedule.
func (s *Stub) scope(r *resource, all map[*api.Resource]*resource) {
	if s.api.Format != "smithy" || len(r.ids) != 1 {
		return
	}
	for _, m := range r.Read.Members() {
		noun, named := strings.CutSuffix(plain(m.Name), "name")
		takes := func(op *api.Operation) bool {
			return slices.ContainsFunc(op.Members(), func(other *api.Member) bool { return other.Name == m.Name })
		}
		if m.Required || !named || len(noun) < 3 || !takes(r.Create) || !takes(r.Delete) {
			continue
		}
		for _, parent := range s.api.Resources {
			if p := all[parent]; parent != r.Resource && len(parent.Identifiers) == 1 && strings.HasSuffix(plain(parent.Name), noun) {
				r.parent, r.ids = p, []string{m.Name, r.ids[0]}
				return
			}
		}
	}
}

// shapeOf is a path without the names of its parameters.
func shapeOf(path string) string {
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			segments[i] = "{}"
		}
	}
	return strings.Join(segments, "/")
}

// guess says what an operation does that the description binds to no resource.
func (s *Stub) guess(op *api.Operation) role {
	if does := action(op.Tagging().Action); does != nothing {
		return role{action: does}
	}
	if s.api.Format == "smithy" {
		return s.guessBound(op)
	}
	shape := shapeOf(op.Path)
	for _, r := range s.resources {
		item := shapeOf(r.ID)
		if rest, below := strings.CutPrefix(shape, item+"/"); below && !strings.Contains(rest, "{}") && op.Method != "DELETE" {
			return role{action: part, resource: r}
		}
		collection := strings.TrimSuffix(item, "/{}")
		rest, below := strings.CutPrefix(shape, collection+"/")
		switch {
		case !below:
		case op.Method == "POST" && slices.Contains([]string{"filter", "search", "query", "list"}, rest):
			return role{action: list, resource: r}
		case strings.Count(rest, "/") == 1 && strings.HasSuffix(rest, "/{}"): // /variables/name/{name}
			by := op.Path[strings.LastIndex(strings.TrimSuffix(op.Path, "/"), "/")+1:]
			action, known := map[string]action{"GET": read, "PUT": update, "PATCH": update, "DELETE": remove}[op.Method]
			if known {
				return role{action: action, resource: r, by: strings.Trim(by, "{}/")}
			}
		}
	}
	return role{}
}

// guessBound finds the resource whose identifiers an operation requires.
func (s *Stub) guessBound(op *api.Operation) role {
	for _, r := range s.resources {
		if len(r.ids) == 0 || !strings.Contains(plain(op.Name), plain(r.Name)) {
			continue
		}
		all := true
		for _, name := range r.Identifiers {
			all = all && slices.ContainsFunc(op.Members(), func(m *api.Member) bool { return m.Required && alike(r.Name, m.Name, name) })
		}
		if all {
			return role{action: part, resource: r}
		}
	}
	return role{}
}

// study finds what requests set, what responses never have, the states and the identifier.
func (s *Stub) study(r *resource) {
	r.settable, r.inner, r.secret, r.apart = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[[2]string]bool{}
	for op, role := range s.roles {
		if role.resource != r || role.action != create && role.action != update {
			continue
		}
		members := s.settableOf(r, op)
		r.tellApart(members)
		for _, m := range members {
			if m.ReadOnly || m.Token || m.NotProperty && !m.Required {
				continue
			}
			r.settable[plain(m.Name)] = true
			if s.api.Format == "smithy" || !strings.HasPrefix(shapeOf(op.Path), shapeOf(r.ID)+"/") { // not of something below it
				r.inner[plain(m.Name)] = r.inner[plain(m.Name)] || m.Shape.Kind == api.Structure || m.Shape.Kind == api.Union
			}
			if m.WriteOnly || m.Shape.Format == "password" {
				r.secret[plain(m.Name)] = true
			}
		}
	}
	for _, output := range s.responses(r) {
		var members []*api.Member
		s.eachMember(r, output, 0, func(m *api.Member) {
			members = append(members, m)
			if m.WriteOnly || m.Shape.Format == "password" {
				r.secret[plain(m.Name)] = true
			}
		})
		r.tellApart(members)
	}
	r.own = s.ownIdentifier(r)
	s.findRevision(r)
	s.findPlaces(r)
	s.findLimits(r)
	r.status = s.lifecycleOf(r)
}

// responses are what read and create return of a resource.
func (s *Stub) responses(r *resource) []*api.Shape {
	read, _ := r.Returned(r.Read)
	created, _ := r.Returned(r.Create)
	return []*api.Shape{read, created}
}

// findRevision finds the revision that read returns and updates take, but create does not, unless it replaces what exists.
func (s *Stub) findRevision(r *resource) {
	created := map[string]bool{}
	for _, m := range s.settableOf(r, r.Create) {
		created[plain(m.Name)] = !s.api.Replaces(r.Create) || m.Required
	}
	s.eachMember(r, s.responses(r)[0], 0, func(m *api.Member) {
		name := plain(m.Name)
		if r.settable[name] && !created[name] && r.IsRevision(m) && (r.own == nil || plain(r.own.Name) != name) {
			r.revision = m
			delete(r.settable, name)
		}
	})
}

// isRevision reports whether a member of that name is the revision.
func (r *resource) isRevision(name string) bool {
	return r.revision != nil && plain(name) == plain(r.revision.Name)
}

// findPlaces finds what requests set by its name and read returns inside of a structure.
func (s *Stub) findPlaces(r *resource) {
	r.places = map[string]string{}
	top := map[string]bool{}
	var inside []*api.Member
	s.eachMember(r, s.responses(r)[0], 0, func(m *api.Member) {
		top[plain(m.Name)] = true
		if m.Shape.Kind == api.Structure && !strings.HasPrefix(plain(m.Name), "pending") {
			inside = append(inside, m)
		}
	})
	for _, op := range append([]*api.Operation{r.Create}, r.Update...) {
		for _, m := range s.settableOf(r, op) {
			for _, outer := range inside {
				known := slices.ContainsFunc(r.variants(m.Name), func(name string) bool { return top[name] })
				if outer.Shape.Member(m.Name) == nil || known || op == r.Create && r.settable[plain(outer.Name)] || r.places[plain(m.Name)] != "" {
					continue
				}
				r.places[plain(m.Name)] = plain(outer.Name)
			}
		}
	}
}

// settableOf are the members of a request that say what a resource is like.
func (s *Stub) settableOf(r *resource, op *api.Operation) []*api.Member {
	var out []*api.Member
	if s.api.Format == "smithy" {
		for _, m := range op.Params {
			if r.sets(op, m) {
				out = append(out, m)
			}
		}
	}
	if op.Body != nil {
		inner, envelope := r.opened(op)
		out = append(out, inner.Members...)
		for _, m := range op.Body.Members {
			if envelope != "" && m.Name != envelope && inner.Member(m.Name) == nil {
				out = append(out, m)
			}
		}
	}
	return out
}

// sets reports whether a parameter says what a resource is like: in the path only what is no identifier of a resource
// that is created.
func (r *resource) sets(op *api.Operation, m *api.Member) bool {
	return m.In != api.InPath || op == r.Create && !slices.ContainsFunc(r.ids, func(name string) bool { return alike(r.Name, m.Name, name) })
}

// opened is the structure inside of the envelope of a request, and the member that contains it. What create takes beside others
// is none: an update that takes nothing else changes only that.
func (r *resource) opened(op *api.Operation) (*api.Shape, string) {
	inner, envelope := opened(r.Name, op.Body)
	if envelope != "" && op != r.Create && r.Create.Body != nil {
		if created, _ := opened(r.Name, r.Create.Body); created.Member(envelope) != nil {
			return op.Body, ""
		}
	}
	return inner, envelope
}

// opened is the structure inside of an envelope, such as {"order": {…}}, and the member that
// contains it; "" without an envelope.
func opened(noun string, shape *api.Shape) (*api.Shape, string) {
	for _, m := range shape.Members {
		if m.Shape.Kind == api.Structure && (len(shape.Members) == 1 || slices.Contains([]string{plain(noun), "new" + plain(noun)}, plain(m.Name)) || len(shape.Members) <= 3 && envelope(noun, m.Name)) {
			return m.Shape, m.Name
		}
	}
	return shape, ""
}

// envelope reports whether a member of that name contains the whole resource.
func envelope(noun, name string) bool {
	name = plain(name)
	return name == plain(noun) || strings.HasSuffix(plain(noun), name) && len(name) > 2 || slices.Contains([]string{"data", "result"}, name)
}

// eachMember visits the members of a response that are those of the resource: at the top, and
// in structures that may contain the whole of it.
func (s *Stub) eachMember(r *resource, shape *api.Shape, depth int, visit func(*api.Member)) {
	if shape == nil || depth > 2 {
		return
	}
	for _, m := range shape.Members {
		if m.Shape.Kind == api.Structure && s.isEnvelope(r, shape, m) {
			s.eachMember(r, m.Shape, depth+1, visit)
			continue
		}
		visit(m)
	}
}

// isEnvelope reports whether a member of a response contains the resource.
func (s *Stub) isEnvelope(r *resource, shape *api.Shape, m *api.Member) bool {
	if body := r.Create.Body; r.Create.BodyMember != "" && m.Shape.Name == body.Name {
		return true // all that create takes
	}
	if r.inner[plain(m.Name)] {
		return false
	}
	if envelope(r.Name, m.Name) {
		return true
	}
	structures, similar := 0, 0
	for _, other := range shape.Members {
		if other.Shape.Kind == api.Structure {
			structures++
		}
	}
	for _, inner := range m.Shape.Members {
		if r.settable[plain(inner.Name)] {
			similar++
		}
	}
	return structures == 1 && len(shape.Members) <= 3 && similar > 0
}
