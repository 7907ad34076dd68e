package api

import (
	"slices"
	"strings"
)

// A TagAction is what an operation does with tags.
type TagAction string

// The actions. The zero TagAction is nothing.
const (
	AddTags    TagAction = "tag"
	RemoveTags TagAction = "untag"
	ListTags   TagAction = "tags"
)

// tagActions are the actions by the names of operations.
var tagActions = map[string]TagAction{
	"TagResource": AddTags, "AddTagsToResource": AddTags, "UntagResource": RemoveTags, "RemoveTagsFromResource": RemoveTags, "ListTagsForResource": ListTags,
}

// Tagging is what an operation does with the tags of the resource whose ARN its request has.
type Tagging struct {
	Action TagAction
	Member *Member // that has the tags, or of RemoveTags their keys: of the request, of ListTags of the response; nil without one
	Form   TagForm // of the member, with names on the wire
}

// Tagging returns what the operation does with tags. The zero Tagging means nothing.
func (o *Operation) Tagging() (t Tagging) {
	t.Action = tagActions[o.Name]
	var members []*Member
	switch {
	case t.Action == AddTags, t.Action == RemoveTags:
		members = o.Members()
	case t.Action == ListTags && o.Output != nil:
		members = o.Output.Members
	}
	for _, m := range members {
		form, ok := tagForm(m.Shape, false)
		other := m.Shape.Kind == List && !strings.Contains(norm(m.Name), "tag")
		if t.Action == ListTags {
			other = form.Kind == "keys"
		}
		if ok && !other {
			t.Member, t.Form = m, form
		}
	}
	return t
}

// tagForm says how a shape has tags: as a map, a list of objects, or a list of keys. Names are
// those of properties or those on the wire.
func tagForm(s *Shape, properties bool) (form TagForm, ok bool) {
	switch s.Kind {
	case Map:
		return TagForm{Kind: "map"}, true
	case List:
		if s.Item.Kind == String {
			return TagForm{Kind: "keys"}, true
		}
		form.Kind = "list"
		for _, m := range s.Item.Members {
			name := m.Wire
			if properties {
				name = pascal(m.Name)
			}
			switch {
			case slices.Contains([]string{"key", "tagkey"}, norm(m.Name)):
				form.Key = name
			case slices.Contains([]string{"value", "tagvalue"}, norm(m.Name)):
				form.Value = name
			}
		}
		return form, form.Key != "" && form.Value != ""
	}
	return TagForm{}, false
}
