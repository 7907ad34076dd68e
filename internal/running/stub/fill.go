package stub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// answer makes the response of an operation about one resource.
func (s *Stub) answer(c *call, i *item, status int) *reply {
	out := &reply{status: status, item: i}
	if c.op.Output != nil {
		out.output = s.fill(c.role.resource, c.op.Output, i, 0)
	}
	return out
}

// fill makes a value of a shape from a resource: its members have their places by their
// names, wherever the shape has them.
func (s *Stub) fill(r *resource, shape *api.Shape, i *item, depth int) any {
	switch shape.Kind {
	case api.Structure, api.Union:
		return s.fillStructure(r, shape, i, depth)
	case api.String:
		return i.Key[len(i.Key)-1]
	case api.List:
		if shape.Item != nil && shape.Item.Kind == api.Structure && depth == 0 {
			return []any{s.fill(r, shape.Item, i, depth+1)}
		}
	case api.Any:
		out := map[string]any{}
		for name, v := range i.Props {
			out[name] = v
		}
		return out
	}
	return s.makers.value(shape, s.wish(r, i, ""), 0)
}

func (s *Stub) fillStructure(r *resource, shape *api.Shape, i *item, depth int) map[string]any {
	out := map[string]any{}
	for _, m := range shape.Members {
		if m.WriteOnly || m.Shape.Format == "password" || r.secret[plain(m.Name)] {
			continue
		}
		if m.Name == r.Among && depth == 0 && m.Shape.Kind == api.List {
			out[m.Name] = []any{s.fill(r, m.Shape.Item, i, depth+1)}
			continue
		}
		if m.Shape.Kind == api.Structure && depth < 3 && s.isEnvelope(r, shape, m) { // even if a property has its name
			out[m.Name] = s.fill(r, m.Shape, i, depth+1)
			continue
		}
		if v, ok := s.known(r, m, i); ok {
			if v = s.project(m.Shape, v, s.wish(r, i, m.Name), 0); v != nil || m.Shape.Nullable {
				out[m.Name] = v
			}
			continue
		}
		if v, ok := s.made(r, m, i); ok {
			out[m.Name] = v
		}
	}
	return out
}

// known is what a resource has for a member.
func (s *Stub) known(r *resource, m *api.Member, i *item) (any, bool) {
	if s.tagged && plain(m.Name) == "tags" && (m.Shape.Kind == api.List || m.Shape.Kind == api.Map) {
		return tagsAs(m.Shape, i.Tags), m.Shape.MinLen == nil || len(i.Tags) >= *m.Shape.MinLen
	}
	if r.isRevision(m.Name) {
		return s.revisionOf(r, i), true
	}
	v, ok := i.get(r.variants(m.Name))
	if !ok && i.ARN != "" && slices.Contains(r.variants(m.Name), "arn") && s.makers.fits(m.Shape, i.ARN) {
		return i.ARN, true
	}
	if !ok {
		v, ok = s.ofParent(r, m, i)
	}
	return v, ok && suits(m.Shape, v)
}

// revisionOf is the revision of a resource: a number, unless the description wants another text.
func (s *Stub) revisionOf(r *resource, i *item) any {
	number := fmt.Sprint(i.Version + 1)
	if r.revision.Shape.Kind == api.String && !s.makers.fits(r.revision.Shape, number) {
		w := s.wish(r, i, r.revision.Name)
		w.seed += "/" + number
		return s.makers.text(r.revision.Shape, w)
	}
	return json.Number(number)
}

// ofParent is what a member says of something that the resource is in: "serviceArn" of a listener.
func (s *Stub) ofParent(r *resource, m *api.Member, i *item) (any, bool) {
	for p := r.parent; p != nil; p = p.parent {
		about, named := strings.CutPrefix(plain(m.Name), plain(p.Name))
		if !named || about == "" || len(p.ids) >= len(i.Key) || r.settable[plain(m.Name)] {
			continue
		}
		parent := s.lookup(p, i.Key[:len(p.ids)])
		if parent == nil {
			continue
		}
		if v, ok := parent.get(p.variants(about)); ok {
			return v, true
		}
		if about == "arn" && parent.ARN != "" {
			return parent.ARN, true
		}
	}
	return nil, false
}

// suits reports whether a value has the kind of a shape.
func suits(shape *api.Shape, v any) bool {
	switch v.(type) {
	case nil:
		return true
	case map[string]any:
		return slices.Contains([]api.Kind{api.Structure, api.Union, api.Map, api.Any}, shape.Kind)
	case []any:
		return shape.Kind == api.List || shape.Kind == api.Any
	}
	return !slices.Contains([]api.Kind{api.Structure, api.Union, api.Map, api.List}, shape.Kind)
}

// project brings a value into another shape: members that it does not have are left out,
// those that it requires are made.
func (s *Stub) project(shape *api.Shape, v any, w wish, depth int) any {
	if depth > maxDepth {
		return nil
	}
	switch value := v.(type) {
	case map[string]any:
		if shape.Kind == api.Map {
			out := map[string]any{}
			for key, element := range value {
				if suits(shape.Item, element) {
					out[key] = s.project(shape.Item, element, w, depth+1)
				}
			}
			return out
		}
		if shape.Kind != api.Structure && shape.Kind != api.Union {
			return v
		}
		out := map[string]any{}
		for _, m := range shape.Members {
			if m.WriteOnly || m.Shape.Format == "password" {
				continue
			}
			inner, set := value[m.Name]
			for name, other := range value {
				if !set && plain(name) == plain(m.Name) {
					inner, set = other, true
				}
			}
			below := w
			below.name, below.seed = m.Name, w.seed+"/"+m.Name
			switch {
			case set && suits(m.Shape, inner):
				out[m.Name] = s.project(m.Shape, inner, below, depth+1)
			case m.Required && m.Shape.Nullable:
				out[m.Name] = nil
			case m.Required || m.Default != nil:
				out[m.Name] = s.makers.member(m, below, 0)
			}
		}
		if shape.More {
			for name, inner := range value {
				if _, has := out[name]; !has && shape.Member(name) == nil {
					out[name] = inner
				}
			}
		}
		return out
	case []any:
		out := []any{}
		for _, element := range value {
			if suits(orAny(shape.Item), element) {
				out = append(out, s.project(orAny(shape.Item), element, w, depth+1))
			}
		}
		return out
	case string:
		if shape.Kind == api.Integer || shape.Kind == api.Number {
			return json.Number(value)
		}
	case json.Number:
		if shape.Kind == api.String && !shape.More {
			return value.String()
		}
	}
	return v
}

func (s *Stub) wish(r *resource, i *item, name string) wish {
	short := r.variants(name)
	return wish{name: name, noun: r.Name, arn: s.prefix(), path: strings.Join(i.Key, "/"), nested: r.nested(i.Key), seed: fmt.Sprintf("%d/%s/%d/%s", s.config.Seed, r.Name, i.Serial, short[min(1, len(short)-1)])}
}

// nested is a path of nouns and identifiers: "service/s1/listener/l1".
func (r *resource) nested(key []string) string {
	out := strings.ToLower(r.Name) + "/" + key[len(key)-1]
	for p := r.parent; p != nil; p = p.parent {
		if len(p.ids) <= len(key) {
			out = strings.ToLower(p.Name) + "/" + key[len(p.ids)-1] + "/" + out
		}
	}
	return out
}

// absent are parts of names of members that a resource without a failure does not have.
var absent = []string{"delet", "error", "fail", "reason", "message", "expir", "next", "previous", "prev", "warning"}

// Absent reports whether the stub never returns a member of that name, because no resource of it ever fails.
func Absent(name string) bool { return contains(name, absent...) }

// made is a value that the service decides on. There is none for members that a caller could
// have set, unless the description requires them.
func (s *Stub) made(r *resource, m *api.Member, i *item) (any, bool) {
	simple := m.Shape.Kind >= api.Boolean && m.Shape.Kind <= api.Timestamp
	settable := r.settable[plain(m.Name)]
	switch {
	case m.Required && m.Shape.Nullable && (settable || Absent(m.Name)):
		return nil, true
	case m.Default != nil && settable && s.api.Format == "smithy":
		return s.makers.member(m, s.wish(r, i, m.Name), 0), true
	case !m.Required && (settable || !simple || Absent(m.Name)):
		return nil, false
	}
	w := s.wish(r, i, m.Name)
	if m.Shape.Kind == api.Timestamp {
		at := i.Created
		if contains(m.Name, "updat", "modif", "chang") {
			at = i.Changed
		}
		return at.UTC().Truncate(time.Second).Format(time.RFC3339), true
	}
	if identifies(r.Name, m.Name) && m.Shape.Kind == api.String && len(m.Shape.Enum) == 0 {
		return s.makers.text(m.Shape, w), true
	}
	return s.makers.member(m, w, 0), true
}

// settle makes what the service decides on when a resource is created, so that it stays.
func (s *Stub) settle(r *resource, i *item) {
	for _, output := range s.responses(r) {
		s.eachMember(r, output, 0, func(m *api.Member) {
			if m.Shape.Kind == api.Timestamp || m.WriteOnly || r.secret[plain(m.Name)] {
				return
			}
			if _, known := s.known(r, m, i); known {
				return
			}
			if v, ok := s.made(r, m, i); ok {
				i.made(i.set(r.variants(m.Name), v))
			}
		})
	}
}

// eachValue visits the members of a resource in a response.
func (s *Stub) eachValue(r *resource, shape *api.Shape, v any, visit func(name string, v any)) {
	values, isObject := v.(map[string]any)
	if !isObject || shape == nil {
		return
	}
	for _, m := range shape.Members {
		value, set := values[m.Name]
		switch {
		case !set || value == nil || r.secret[plain(m.Name)]:
		case m.Shape.Kind == api.Structure && s.isEnvelope(r, shape, m):
			s.eachValue(r, m.Shape, value, visit)
		default:
			visit(m.Name, value)
		}
	}
}
