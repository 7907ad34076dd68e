package stub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// ownIdentifier is the member of the responses that is the last identifier of a resource.
func (s *Stub) ownIdentifier(r *resource) *api.Member {
	var members []*api.Member
	for _, output := range s.responses(r) {
		s.eachMember(r, output, 0, func(m *api.Member) { members = append(members, m) })
	}
	if len(r.ids) == 0 {
		return nil
	}
	others, last := r.ids[:len(r.ids)-1], r.ids[len(r.ids)-1]
	members = slices.DeleteFunc(members, func(m *api.Member) bool {
		ofParent := slices.Contains(others, m.Name) && !(s.api.Format == "openapi" && slices.Contains(generic, plain(m.Name))) // {id} of the path is not the id in a response
		return m.Shape.Kind != api.String && m.Shape.Kind != api.Integer || ofParent
	})
	for _, m := range members {
		if plain(m.Name) == plain(last) {
			return m
		}
	}
	for _, m := range members {
		if alike(r.Name, m.Name, last) {
			return m
		}
	}
	chosen := slices.ContainsFunc(r.Create.Members(), func(m *api.Member) bool { return m.Required && plain(m.Name) == plain(last) })
	for _, name := range s.api.Candidates(r.Resource, last, true) {
		for _, m := range members {
			if plain(m.Name) == plain(name) && !(chosen && strings.HasSuffix(plain(name), "arn")) {
				return m
			}
		}
	}
	names := generic
	if plain(last) == plain(r.Name) { // a domain is called by its name
		names = append([]string{"name"}, generic...)
	}
	for _, name := range names {
		for _, m := range members {
			if slices.Contains(r.variants(m.Name), name) && !(chosen && name == "arn") {
				return m
			}
		}
	}
	return nil
}

// findLimits finds the shapes that the identifier and the ARN of a resource have elsewhere: models say there what the shape in a
// response leaves open.
func (s *Stub) findLimits(r *resource) {
	if len(r.ids) == 0 {
		return
	}
	last := r.ids[len(r.ids)-1]
	for _, op := range s.api.Operations {
		role := s.roles[op]
		of := role.resource
		for of != nil && of != r {
			of = of.parent
		}
		for _, m := range op.Members() {
			about := role.action == tag || role.action == untag || role.action == tags
			switch {
			case m.Shape.Kind != api.String && m.Shape.Kind != api.Integer:
			case about && m.Required && contains(m.Name, "arn", "resource"):
				r.arnIn = append(r.arnIn, m.Shape)
			case of == nil || role.by != "":
			case s.api.Format == "openapi" && m.In == api.InPath && slices.Index(s.labels[op], m.Name) == len(r.ids)-1, s.api.Format == "smithy" && m.Required && (m.Name == last || of == role.resource && alike(r.Name, m.Name, last)):
				r.ownIn = append(r.ownIn, m.Shape)
			}
		}
	}
	for _, output := range s.responses(r) {
		s.eachMember(r, output, 0, func(m *api.Member) {
			if m.Shape.Kind == api.String && slices.Contains(r.variants(m.Name), "arn") {
				r.arnIn = append(r.arnIn, m.Shape)
			}
		})
	}
}

// identify returns the identifiers of what a resource is in, and its own one if the call has it.
func (s *Stub) identify(c *call, r *resource) (parents []string, own string) {
	if len(r.ids) == 0 {
		return nil, r.Name
	}
	if s.api.Format == "openapi" {
		labels := s.labels[c.op]
		for i := range r.ids {
			if i < len(labels) {
				parents = append(parents, textOf(c.params[api.InPath][labels[i]]))
			}
		}
		if len(parents) == len(r.ids) {
			own = parents[len(parents)-1]
			parents = parents[:len(parents)-1]
		}
	} else {
		for i, name := range r.ids {
			value := s.identifierIn(c, r, name)
			if i == len(r.ids)-1 {
				own = value
				break
			}
			if value == "" {
				value = "default"
			}
			parents = append(parents, value)
		}
	}
	if own == "" && r.own != nil { // in the body
		for _, m := range s.settableOf(r, c.op) {
			if alike(r.Name, m.Name, r.own.Name) || s.api.Format == "openapi" && plain(m.Name) == plain(r.ids[len(r.ids)-1]) {
				if v, ok := c.content(r)[m.Name]; ok {
					own = textOf(v)
				}
			}
		}
	}
	return parents, own
}

// identifierIn is the value of an identifier in the input of a Smithy operation.
func (s *Stub) identifierIn(c *call, r *resource, name string) string {
	if v, ok := c.get(name); ok {
		return textOf(v)
	}
	for _, m := range c.op.Members() {
		if alike(r.Name, m.Name, name) && m.Shape.Kind != api.Structure {
			if v, ok := c.get(m.Name); ok {
				return textOf(v)
			}
		}
	}
	if c.op != r.Create && c.role.resource == r && len(r.ids) == 1 {
		for _, candidate := range s.api.Candidates(r.Resource, name, true) {
			for _, m := range c.op.Members() {
				if m.Required && plain(m.Name) == plain(candidate) && m.Shape.Kind == api.String {
					v, _ := c.get(m.Name)
					return textOf(v)
				}
			}
		}
	}
	return ""
}

// newID makes an identifier, or takes that of an example.
func (s *Stub) newID(r *resource, parents []string, example *reply) string {
	taken := func(id string) bool { return id == "" || s.lookup(r, slices.Concat(parents, []string{id})) != nil }
	if r.own == nil {
		return fmt.Sprintf("%s-%d", strings.ToLower(r.Name), s.state.Serial+1)
	}
	id := s.exampleID(r, r.Create, example)
	numeric := r.own.Shape.Kind == api.Integer || slices.ContainsFunc(r.ownIn, func(shape *api.Shape) bool { return shape.Kind == api.Integer })
	for try := 0; taken(id) && try < 1000; try++ {
		if numeric {
			id = fmt.Sprint(1001 + s.state.Serial + try)
			if slices.ContainsFunc(append(slices.Clip(r.ownIn), r.own.Shape), func(shape *api.Shape) bool { return !s.makers.fits(shape, json.Number(id)) }) {
				id = fmt.Sprint(1 + s.state.Serial + try)
			}
			continue
		}
		also := r.ownIn
		if slices.Contains(r.variants(r.own.Name), "arn") {
			also = slices.Concat(also, r.arnIn)
		}
		id = s.makers.text(r.own.Shape, wish{name: r.own.Name, noun: r.Name, also: also, arn: s.prefix(), seed: fmt.Sprintf("%d/%s/%d/%d", s.config.Seed, r.Name, s.state.Serial, try)})
	}
	return id
}

// exampleID is the identifier in the response of an example; "" if it has none.
func (s *Stub) exampleID(r *resource, op *api.Operation, example *reply) (id string) {
	if example != nil && r.own != nil {
		s.eachValue(r, op.Output, example.output, func(name string, v any) {
			if plain(name) == plain(r.own.Name) {
				id = textOf(v)
			}
		})
	}
	return id
}

// isOwn reports whether the response of an example is about a resource.
func (s *Stub) isOwn(r *resource, op *api.Operation, example *reply, own string) bool {
	id := s.exampleID(r, op, example)
	return id == "" || id == own
}

// prefix is the namespace of ARNs; "" if the service has none.
func (s *Stub) prefix() string {
	if s.api.Format == "smithy" && s.api.Prefix == "" {
		return "stub"
	}
	return s.api.Prefix
}

// setIdentifiers stores the identifiers as members, as responses have them. What a request has
// instead of them does not count.
func (s *Stub) setIdentifiers(r *resource, i *item) {
	for n, name := range r.ids {
		if n < len(r.ids)-1 {
			i.made(i.set(r.variants(name), i.Key[n]))
		}
	}
	own := i.Key[len(i.Key)-1]
	if r.own != nil {
		var v any = own
		if r.own.Shape.Kind == api.Integer {
			v = json.Number(own)
		}
		i.made(i.set(r.variants(r.own.Name), v))
	}
	if s.prefix() != "" && i.ARN == "" {
		i.ARN = own
		if !strings.HasPrefix(own, "arn:") {
			w := s.wish(r, i, "arn")
			w.also = r.arnIn
			i.ARN = s.makers.text(&api.Shape{Kind: api.String}, w)
		}
	}
}
