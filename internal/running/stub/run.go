package stub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// run does what the operation of a call does.
func (s *Stub) run(c *call) (*reply, *fault) {
	switch c.role.action {
	case create:
		return s.create(c)
	case list:
		return s.list(c)
	case read, update, remove, part:
		return s.onItem(c)
	case tag, untag, tags:
		return s.tagging(c)
	}
	if out := s.example(c, ""); out != nil {
		return out, nil
	}
	return nil, faultf(unsupported, "%s belongs to no resource of the API: the stub answers only its examples", c.op.Name)
}

// content are the members of a request that say what the resource is like.
func (c *call) content(r *resource) map[string]any {
	out := map[string]any{}
	if c.op.Body == nil {
		return out
	}
	_, envelope := r.opened(c.op)
	body, _ := c.body.(map[string]any)
	for name, v := range body {
		if name != envelope {
			out[name] = v
		}
	}
	inner, _ := body[envelope].(map[string]any)
	maps.Copy(out, inner)
	return out
}

// changes are the members that a call sets, by their names in the request.
func (s *Stub) changes(c *call, r *resource) map[string]any {
	out := c.content(r)
	if s.api.Format == "smithy" {
		for _, m := range c.op.Params {
			if v, ok := c.params[m.In][m.Name]; ok && r.sets(c.op, m) {
				out[m.Name] = v
			}
		}
	}
	if c.role.action == create {
		for _, m := range r.Around(c.op) {
			out[m.Name] = c.params[api.InPath][m.Wire]
		}
	}
	for _, m := range c.op.Members() {
		if m.Token {
			delete(out, m.Name)
		}
	}
	for _, m := range s.settableOf(r, c.op) {
		if v, set := out[m.Name]; set {
			out[m.Name] = withoutSecrets(m.Shape, v)
		}
	}
	for name, v := range out {
		if base, isNew := strings.CutPrefix(name, "New"); isNew && c.role.action == update && r.settable[plain(base)] {
			delete(out, name)
			name = base
			out[name] = v
		}
		if r.secret[plain(name)] || r.isRevision(name) {
			delete(out, name)
		}
	}
	return out
}

// withoutSecrets leaves out what no response has, at any depth: it is not stored.
func withoutSecrets(shape *api.Shape, v any) any {
	switch value := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, inner := range value {
			m := shape.Member(name)
			switch {
			case m == nil && shape.Kind == api.Map:
				out[name] = withoutSecrets(orAny(shape.Item), inner)
			case m == nil:
				out[name] = inner
			case !m.WriteOnly && m.Shape.Format != "password":
				out[name] = withoutSecrets(m.Shape, inner)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			out[i] = withoutSecrets(orAny(shape.Item), inner)
		}
		return out
	}
	return v
}

// create makes a resource.
func (s *Stub) create(c *call) (*reply, *fault) {
	r := c.role.resource
	parents, own := s.identify(c, r)
	if problem := s.checkParents(r, parents); problem != nil {
		return nil, problem
	}
	digest, known, problem := s.remembered(c)
	if problem != nil {
		return nil, problem
	}
	if known != nil {
		return s.answer(c, known, 0), nil
	}
	written := s.example(c, "")
	if own == "" {
		own = s.newID(r, parents, written)
	} else if found := s.lookup(r, slices.Concat(parents, []string{own})); found != nil {
		if s.api.Replaces(c.op) {
			if problem := s.stale(c, found); problem != nil {
				return nil, problem
			}
			s.change(c, found)
			return s.answer(c, found, http.StatusOK), s.save()
		}
		return nil, faultf(conflict, "%s %s exists already", r.Name, cut(own))
	}
	if len(s.state.Items) >= maxItems {
		return nil, faultf(full, "the stub has %d resources: delete some", maxItems)
	}
	s.state.Serial++
	now := s.config.Now().UTC()
	i := &item{Resource: r.Name, Key: slices.Concat(parents, []string{own}), Serial: s.state.Serial, Props: map[string]any{}, Created: now, Changed: now, Hidden: s.config.Eventual}
	s.setIdentifiers(r, i)
	for name, v := range s.changes(c, r) {
		s.setProp(r, i, name, v)
	}
	s.setDefaults(c, r, i)
	if written != nil && !s.isOwn(r, c.op, written, own) { // the identifier of the example is taken
		written = nil
	}
	if written != nil {
		s.eachValue(r, c.op.Output, written.output, func(name string, v any) { i.set(r.variants(name), v) })
	}
	s.settle(r, i)
	s.begin(r, i, create)
	s.state.Items[i.id()] = i
	if token := s.tokenOf(c); token != "" && len(s.state.Tokens) < maxTokens {
		s.state.Tokens[c.op.Name+"\x00"+token] = tokenFor(digest, i)
	}
	if problem := s.save(); problem != nil {
		return nil, problem
	}
	if written != nil && i.Pending == 0 {
		written.item = i
		return written, nil
	}
	return s.answer(c, i, 0), nil
}

func tokenFor(digest string, i *item) token {
	return token{Digest: digest, Item: i.id(), Serial: i.Serial}
}

// checkParents refuses what would be in something that does not exist.
func (s *Stub) checkParents(r *resource, parents []string) *fault {
	for p := r.parent; p != nil && !s.config.AnyParent; p = p.parent {
		n := len(p.ids)
		if n > len(parents) || s.api.Format == "smithy" && parents[n-1] == "default" {
			continue
		}
		if s.lookup(p, parents[:n]) == nil {
			return faultf(missing, "%s %s does not exist", p.Name, cut(parents[n-1]))
		}
	}
	return nil
}

// setProp stores a member of a request. Tags are kept apart if the service has operations for
// them.
func (s *Stub) setProp(r *resource, i *item, name string, v any) {
	if s.tagged && plain(name) == "tags" {
		if tags, ok := tagsOf(v); ok {
			i.Tags = tags
			return
		}
	}
	if place := r.places[plain(name)]; place != "" {
		inside, isObject := i.Props[place].(map[string]any)
		if !isObject {
			inside = map[string]any{}
			i.Props[place] = inside
		}
		inside[name] = v
		return
	}
	i.set(r.variants(name), v)
}

// setDefaults adds the defaults of the members of a request that it did not have, and those that create has for them.
func (s *Stub) setDefaults(c *call, r *resource, i *item) {
	created := s.settableOf(r, r.Create)
	for _, m := range s.settableOf(r, c.op) {
		if other := memberOf(created, m.Name); m.Default == nil && other != nil && other.Shape.Kind == m.Shape.Kind {
			m = other
		}
		if m.Default == nil || m.Token || r.secret[plain(m.Name)] {
			continue
		}
		if _, set := i.get(r.variants(m.Name)); set {
			continue
		}
		d := newDecoder(s.api.Format == "smithy", "epoch-seconds")
		if v := d.json(m.Shape, m.Default, ""); len(*d.problems) == 0 && v != nil {
			i.set(r.variants(m.Name), v)
		}
	}
}

// stale refuses a change of a resource that has changed since the caller read it.
func (s *Stub) stale(c *call, i *item) *fault {
	r := c.role.resource
	content := c.content(r)
	for _, m := range slices.Concat(c.op.Members(), s.settableOf(r, c.op)) {
		sent, set := c.get(m.Name)
		if !set {
			sent, set = content[m.Name]
		}
		text := textOf(sent)
		switch {
		case !set:
		case m.In == api.InHeader && plain(m.Name) == "ifmatch" && text != "*" && text != i.etag():
			return faultf(conflict, "If-Match is not the ETag of %s %s", r.Name, cut(i.Key[len(i.Key)-1]))
		case r.isRevision(m.Name) && text != textOf(s.revisionOf(r, i)):
			return faultf(conflict, "%s is not that of %s %s", m.Name, r.Name, cut(i.Key[len(i.Key)-1]))
		}
	}
	return nil
}

// onItem does something with a resource that must exist.
func (s *Stub) onItem(c *call) (*reply, *fault) {
	r := c.role.resource
	parents, own := s.identify(c, r)
	var i *item
	if c.role.by != "" {
		own = textOf(c.params[api.InPath][c.role.by])
		for _, candidate := range s.sorted(r) {
			if v, ok := candidate.get(r.variants(c.role.by)); ok && textOf(v) == own && own != "" && slices.Equal(candidate.Key[:len(candidate.Key)-1], parents[:min(len(parents), len(candidate.Key)-1)]) {
				i = candidate
			}
		}
	} else {
		i = s.lookup(r, slices.Concat(parents, []string{own}))
	}
	reading := c.role.action == read || c.role.action == part && reads(c.op)
	if i != nil && reading && !s.sees(i) {
		i = nil
	}
	if i == nil {
		if id := idOf(r, slices.Concat(parents, []string{own})); reading && !s.state.Touched[id] {
			if out := s.example(c, own); out != nil {
				return out, nil
			}
		}
		if c.role.action == remove && s.config.DeleteTwice != http.StatusNotFound {
			return &reply{status: s.config.DeleteTwice}, nil
		}
		return nil, faultf(missing, "%s %s does not exist", r.Name, cut(own))
	}
	if reading {
		out := s.answer(c, i, 0)
		s.advance(i)
		return out, s.save()
	}
	if problem := s.stale(c, i); problem != nil {
		return nil, problem
	}
	if c.role.action == remove {
		out := s.remove(c, i)
		return out, s.save()
	}
	digest, known, problem := s.remembered(c)
	if problem != nil {
		return nil, problem
	}
	if known == nil {
		if c.patch {
			problem = s.patchItem(c, i)
		} else {
			s.change(c, i)
		}
		if problem != nil {
			return nil, problem
		}
		if token := s.tokenOf(c); token != "" && len(s.state.Tokens) < maxTokens {
			s.state.Tokens[c.op.Name+"\x00"+token] = tokenFor(digest, i)
		}
	}
	return s.answer(c, i, 0), s.save()
}

// reads reports whether an operation changes nothing.
func reads(op *api.Operation) bool {
	return op.Method == http.MethodGet || slices.ContainsFunc([]string{"Get", "Describe", "List"}, func(verb string) bool { return strings.HasPrefix(op.Name, verb) })
}

// change sets the members of a request. PUT removes those that it could have had.
func (s *Stub) change(c *call, i *item) {
	r := c.role.resource
	given := s.changes(c, r)
	if (c.op.Method == http.MethodPut || s.api.Replaces(c.op)) && c.role.action != part {
		s.leaveOut(c, i, given)
		s.setDefaults(c, r, i)
	}
	for name, v := range given {
		if v == nil {
			for _, variant := range r.variants(name) {
				delete(i.Props, variant)
			}
			continue
		}
		old, set := i.get(r.variants(name))
		switch m := memberOf(s.settableOf(r, c.op), name); {
		case set && c.merge:
			v = merged(old, v)
		case set && m != nil:
			v = withOthers(m.Shape, v, old)
		}
		s.setProp(r, i, name, v)
	}
	s.setIdentifiers(r, i)
	i.Version++
	i.Changed = s.config.Now().UTC()
	s.begin(r, i, update)
	s.touch(i.id())
}

// leaveOut removes what a request that replaces a resource could have had, except what only says which resource is meant.
func (s *Stub) leaveOut(c *call, i *item, given map[string]any) {
	r := c.role.resource
	for _, m := range s.settableOf(r, c.op) {
		selects := m.In == api.InQuery && r.Read.Param(api.InQuery, m.Name) != nil
		if _, set := given[m.Name]; set || m.ReadOnly || selects {
			continue
		}
		if inside, isObject := i.Props[r.places[plain(m.Name)]].(map[string]any); isObject {
			delete(inside, m.Name)
		}
		for _, name := range r.variants(m.Name) {
			if !slices.Contains(i.Made, name) {
				delete(i.Props, name)
			}
		}
	}
}

func memberOf(members []*api.Member, name string) *api.Member {
	for _, m := range members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// withOthers is a value with those members of an old one that the shape of the value cannot have: the update leaves them as they are.
func withOthers(shape *api.Shape, v, old any) any {
	to, isObject := v.(map[string]any)
	from, wasObject := old.(map[string]any)
	if !isObject || !wasObject || shape.Kind != api.Structure && shape.Kind != api.Union {
		return v
	}
	out := map[string]any{}
	for name, inner := range from {
		if shape.Member(name) == nil && shape.Kind == api.Structure { // of a union, one member is set
			out[name] = inner
		}
	}
	for name, inner := range to {
		out[name] = inner
		if m := shape.Member(name); m != nil {
			out[name] = withOthers(m.Shape, inner, from[name])
		}
	}
	return out
}

// merged is the result of a JSON merge patch.
func merged(old, change any) any {
	from, isObject := old.(map[string]any)
	to, changes := change.(map[string]any)
	if !isObject || !changes {
		return change
	}
	out := map[string]any{}
	for name, v := range from {
		out[name] = v
	}
	for name, v := range to {
		if v == nil {
			delete(out, name)
			continue
		}
		out[name] = merged(out[name], v)
	}
	return out
}

// patchItem applies a JSON Patch to the members of a resource, all of it or nothing.
func (s *Stub) patchItem(c *call, i *item) *fault {
	r := c.role.resource
	changes, isList := c.body.([]any)
	if !isList {
		return faultf(invalid, "a JSON Patch is a list of operations")
	}
	props := map[string]any{}
	for name, v := range i.Props {
		props[name] = v
	}
	after := &item{Props: props}
	for n, entry := range changes {
		change, _ := entry.(map[string]any)
		path := strings.Split(strings.TrimPrefix(textOf(change["path"]), "/"), "/")
		op := textOf(change["op"])
		if len(path) != 1 || path[0] == "" || !slices.Contains([]string{"add", "replace", "remove", "test"}, op) {
			return faultf(invalid, "operation %d of the JSON Patch is not supported by the stub: add, replace, remove and test of one member are", n)
		}
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
		old, has := after.get(r.variants(name))
		switch {
		case op != "add" && !has:
			return faultf(invalid, "the JSON Patch changes %s, which is not set", cut(name))
		case op == "test" && fmt.Sprint(old) != fmt.Sprint(change["value"]):
			return faultf(conflict, "the JSON Patch expects another value of %s", cut(name))
		case op == "remove":
			for _, variant := range r.variants(name) {
				delete(props, variant)
			}
		case op != "test":
			if !r.settable[plain(name)] {
				return faultf(invalid, "%s: unknown member", cut(name))
			}
			after.set(r.variants(name), change["value"])
		}
	}
	i.Props = props
	s.setIdentifiers(r, i)
	i.Version++
	i.Changed = s.config.Now().UTC()
	s.begin(r, i, update)
	s.touch(i.id())
	return nil
}

// remove deletes a resource and what is in it, or begins to.
func (s *Stub) remove(c *call, i *item) *reply {
	r := c.role.resource
	s.touch(i.id())
	s.begin(r, i, remove)
	out := s.answer(c, i, 0)
	if i.Pending == 0 {
		s.drop(i)
	}
	return out
}

// drop forgets an item and those that are in it.
func (s *Stub) drop(i *item) {
	delete(s.state.Items, i.id())
	inside := map[string]bool{}
	for _, r := range s.resources {
		for p := r.parent; p != nil; p = p.parent {
			inside[r.Name] = inside[r.Name] || p.Name == i.Resource
		}
	}
	for id, other := range s.state.Items {
		if inside[other.Resource] && len(other.Key) > len(i.Key) && slices.Equal(other.Key[:len(i.Key)], i.Key) {
			s.touch(id)
			delete(s.state.Items, id)
		}
	}
}

// tokenOf is the idempotency token of a call; "" without one.
func (s *Stub) tokenOf(c *call) string {
	if c.op.Token == "" {
		return ""
	}
	v, _ := c.get(c.op.Token)
	return textOf(v)
}

// remembered finds what a call with the same token did. It is a fault if that call had other
// parameters.
func (s *Stub) remembered(c *call) (digest string, known *item, problem *fault) {
	key := s.tokenOf(c)
	if key == "" {
		return "", nil, nil
	}
	text, err := json.Marshal(c.input())
	if err != nil {
		return "", nil, faultf(invalid, "the input cannot be compared")
	}
	sum := sha256.Sum256(text)
	digest = hex.EncodeToString(sum[:])
	before, used := s.state.Tokens[c.op.Name+"\x00"+key]
	switch i := s.state.Items[before.Item]; {
	case !used:
	case before.Digest != digest:
		return "", nil, faultf(mismatch, "%s was used with other parameters", c.op.Token)
	case i != nil && i.Serial == before.Serial:
		return digest, i, nil
	}
	return digest, nil, nil
}
