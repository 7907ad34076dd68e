package api

import (
	"cmp"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/smithy"
)

// findResources finds the resources of a service: those with a lifecycle, then nouns of its
// other operations.
func (r *smithyReader) findResources(resources []*smithy.Shape) {
	r.tags = r.tagOperations()
	bound := map[*Operation]bool{}
	for _, s := range resources {
		found := r.shaped(s)
		if reason := incomplete(found); reason != "" {
			r.api.Others = append(r.api.Others, Candidate{Name: found.Name, ID: found.ID, Steps: found.Steps(), Reason: reason})
			continue
		}
		for _, step := range found.Steps() {
			bound[step.Operation] = true
		}
		r.api.Resources = append(r.api.Resources, found)
	}
	var free []*Operation
	for _, op := range r.api.Operations {
		if !bound[op] {
			free = append(free, op)
		}
	}
	r.byNames(free)
}

// shaped is a resource of the model with the operations that its shape binds.
func (r *smithyReader) shaped(s *smithy.Shape) *Resource {
	op := func(id smithy.ID) *Operation { return r.operations[id] }
	name := strings.TrimSuffix(s.Name(), "Resource")
	if name == "" {
		name = s.Name()
	}
	out := &Resource{Name: name, ID: string(s.ID), By: "shapes", At: s.At, Create: op(s.Create), Read: op(s.Read), Delete: op(s.Delete), List: op(s.List)}
	if t := s.Trait("aws.cloudformation#cfnResource"); t != nil {
		if name := t.Value.Get("name").Str(); name != "" {
			out.Name = name
		}
	}
	if out.Create == nil {
		out.Create = op(s.Put)
	}
	for _, id := range slices.Concat([]smithy.ID{s.Update, s.Put}, s.Operations) {
		if o := op(id); o != nil && o != out.Create && !slices.Contains(out.Update, o) && (id == s.Update || id == s.Put || changes(o, out.Name)) {
			out.Update = append(out.Update, o)
		}
	}
	if s.Update == "" && s.Put != "" && out.Create == op(s.Put) && !s.Has("smithy.api#noReplace") {
		out.Update = append([]*Operation{out.Create}, out.Update...)
	}
	for _, n := range s.Identifiers {
		out.Identifiers = append(out.Identifiers, n.Name)
	}
	out.Identifiers = append(forgottenParents(out), out.Identifiers...)
	if out.Create != nil { // what it is in comes before its own identifiers, which create may make
		slices.SortStableFunc(out.Identifiers, func(a, b string) int { return cmp.Compare(taken(out.Create, b), taken(out.Create, a)) })
	}
	out.Tags = r.tags
	return out
}

// taken is 1 if an operation requires a member of that name, else 0.
func taken(op *Operation, name string) int {
	for _, m := range op.Members() {
		if m.Required && norm(m.Name) == norm(name) {
			return 1
		}
	}
	return 0
}

// forgottenParents are the members that read and create require besides the identifiers: some models
// leave out what a resource is in, or have it in a header.
func forgottenParents(r *Resource) (out []string) {
	if r.Read == nil || r.Create == nil {
		return nil
	}
	var required []*Member
	for _, m := range r.Read.Members() {
		if m.Required && !m.Token {
			required = append(required, m)
		}
	}
	if len(required) <= len(r.Identifiers) { // members may have other names than the identifiers they are
		return nil
	}
	for _, m := range required {
		known := slices.ContainsFunc(r.Identifiers, func(name string) bool { return norm(name) == norm(m.Name) })
		if !known && slices.ContainsFunc(r.Create.Members(), func(c *Member) bool { return c.Required && norm(c.Name) == norm(m.Name) }) {
			out = append(out, m.Name)
		}
	}
	return out
}

// tagOperations are the operations of the service that tag resources by their ARNs, nil
// unless they can add and remove tags.
func (r *smithyReader) tagOperations() (out []*Operation) {
	for _, action := range []TagAction{AddTags, RemoveTags, ListTags} {
		i := slices.IndexFunc(r.api.Operations, func(op *Operation) bool { return op.Tagging().Action == action })
		if i >= 0 {
			out = append(out, r.api.Operations[i])
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// The verbs of operations, the usual ones first.
var (
	createVerbs = []string{"Create", "Register", "Import", "Request", "Allocate", "Put"}
	readVerbs   = []string{"Get", "Describe"}
	updateVerbs = []string{"Update", "Modify", "Put"}
	deleteVerbs = []string{"Delete", "Deregister", "Remove", "Release"}
)

// changes reports whether an operation that is bound to a resource changes a part of it.
func changes(o *Operation, noun string) bool {
	for _, verb := range updateVerbs {
		if rest, ok := strings.CutPrefix(o.Name, verb); ok && strings.Contains(norm(rest), norm(noun)) {
			return true
		}
	}
	return false
}

// byNames finds resources among operations that are not bound to one: CreateThing, GetThing
// or DescribeThing, DeleteThing.
func (r *smithyReader) byNames(free []*Operation) {
	named := map[string]*Operation{}
	for _, op := range free {
		named[op.Name] = op
	}
	first := func(verbs []string, noun string) *Operation {
		for _, verb := range verbs {
			if op := named[verb+noun]; op != nil {
				return op
			}
		}
		return nil
	}
	seen := map[string]bool{}
	for _, op := range free {
		noun := ""
		for _, verb := range createVerbs {
			if rest, ok := strings.CutPrefix(op.Name, verb); ok && rest != "" {
				noun = rest
				break
			}
		}
		if noun == "" || seen[noun] || r.api.Resource(noun) != nil {
			continue
		}
		seen[noun] = true
		found := &Resource{
			Name: noun, ID: r.service.ID.Namespace() + "#" + noun, By: "names", At: op.At,
			Create: first(createVerbs, noun), Read: first(readVerbs, noun), Delete: first(deleteVerbs, noun), Tags: r.tags,
		}
		for _, verb := range updateVerbs {
			for _, candidate := range free {
				rest, ok := strings.CutPrefix(candidate.Name, verb)
				if ok && strings.HasPrefix(rest, noun) && candidate != found.Create && !r.isLonger(named, noun, rest) {
					found.Update = append(found.Update, candidate)
				}
			}
		}
		for _, plural := range plurals(noun) {
			if found.List == nil {
				found.List = first([]string{"List", "Describe", "Get"}, plural)
			}
		}
		r.addNamed(found)
	}
}

// isLonger reports whether a name that begins with a noun begins with a longer one, of something that has a lifecycle
// of its own.
func (r *smithyReader) isLonger(named map[string]*Operation, noun, name string) bool {
	for end := len(noun) + 1; end <= len(name); end++ {
		if named["Create"+name[:end]] != nil || named["Delete"+name[:end]] != nil {
			return true
		}
	}
	return false
}

func plurals(noun string) []string {
	out := []string{noun + "s", noun + "es", noun + "List"}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		out = append(out, stem+"ies")
	}
	return out
}

func (r *smithyReader) addNamed(found *Resource) {
	if found.Read == nil && found.List != nil && found.Delete != nil {
		if among, ids := selects(found.List, found.Delete); among != "" {
			found.Read, found.Among, found.Identifiers = found.List, among, ids
		}
	}
	reason := incomplete(found)
	if found.Read == nil && found.List != nil {
		reason = "it is read only by " + found.List.Name + ", which returns several and takes no identifier"
	}
	if reason != "" {
		if len(found.Steps()) > 1 || strings.HasPrefix(found.Create.Name, "Create") { // otherwise a verb of the service
			if !slices.ContainsFunc(r.api.Others, func(c Candidate) bool { return c.Name == found.Name }) {
				r.api.Others = append(r.api.Others, Candidate{Name: found.Name, ID: found.ID, Steps: found.Steps(), Reason: reason})
			}
		}
		return
	}
	if found.Among == "" {
		found.Identifiers = identifiersOf(found.Read)
	}
	if found.Identifiers == nil {
		r.api.Others = append(r.api.Others, Candidate{Name: found.Name, ID: found.ID, Steps: found.Steps(),
			Reason: found.Read.Name + " has no required member that identifies one"})
		return
	}
	found.Identifiers = append(forgottenParents(found), found.Identifiers...)
	found.Update = slices.DeleteFunc(found.Update, func(op *Operation) bool { return !found.named(op.Members(), 1) })
	// A shape of the same name that lacks operations is complete by its names.
	r.api.Others = slices.DeleteFunc(r.api.Others, func(c Candidate) bool { return c.Name == found.Name })
	r.api.Resources = append(r.api.Resources, found)
}

// selects finds the member of the response of a list that has the resources, and the identifiers by which a request selects
// one: those that delete requires, or lists of them. It is "" if the list cannot select one.
func selects(list, remove *Operation) (among string, identifiers []string) {
	if list.Output == nil {
		return "", nil
	}
	for _, m := range remove.Members() {
		if !m.Required || m.Token {
			continue
		}
		if !slices.ContainsFunc(list.Members(), func(filter *Member) bool { return filter.Selects(m.Name) }) {
			return "", nil
		}
		identifiers = append(identifiers, m.Name)
	}
	if identifiers == nil {
		return "", nil
	}
	var lists []string
	for _, m := range list.Output.Members {
		if m.Shape.Kind == List && m.Shape.Item.Kind == Structure {
			if list.Paging != nil && list.Paging.Items == m.Name {
				return m.Name, identifiers
			}
			lists = append(lists, m.Name)
		}
	}
	if len(lists) != 1 {
		return "", nil
	}
	return lists[0], identifiers
}

// named reports whether members say which resource is meant.
func (r *Resource) named(members []*Member, depth int) bool {
	return slices.ContainsFunc(members, func(m *Member) bool {
		return same(r.Name, m.Name, r.Identifiers[len(r.Identifiers)-1]) || depth > 0 && r.named(m.Shape.Members, depth-1)
	})
}

// Selects reports whether a member of a request is an identifier, or a list of them.
func (m *Member) Selects(identifier string) bool {
	return norm(m.Name) == norm(identifier) && m.Shape.Kind != List || m.Shape.Kind == List && m.Shape.Item.Kind == String && norm(singular(m.Name)) == norm(identifier)
}

// identifiersOf are the labels in the path of a read, or without any its required members.
func identifiersOf(read *Operation) (out []string) {
	for _, segment := range strings.FieldsFunc(read.Path, func(r rune) bool { return r == '/' || r == '?' || r == '&' || r == ':' }) {
		name := strings.TrimSuffix(paramName(segment), "+")
		if isParam(segment) && read.Param(InPath, name) != nil {
			out = append(out, name)
		}
	}
	if out != nil {
		return out
	}
	for _, m := range read.Members() {
		if m.Required && !m.Token {
			out = append(out, m.Name)
		}
	}
	return out
}
