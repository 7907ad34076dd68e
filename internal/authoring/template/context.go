package template

import (
	"fmt"
	"maps"
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// ContextKey is the metadata with which authors say why something is as it is, and what may change.
const ContextKey = "com.aws.cloudformation.Context"

// NeverChange is the level of a property or resource that no update may change.
const NeverChange = "must-never-change"

// The bounds of what is read of a context.
const (
	maxContextItems = 20
	maxContextText  = 300 // runes
)

// A Context is what the metadata of a template or a resource says to its readers. The service ignores it.
type Context struct {
	Why        string            `json:"why,omitempty"`
	Arch       string            `json:"arch,omitempty"`
	Owner      string            `json:"owner,omitempty"`
	Must       []string          `json:"must,omitempty"`
	Mutable    string            `json:"mutable,omitempty"`    // the level of properties that Mutability does not name
	Mutability map[string]string `json:"mutability,omitempty"` // levels by top-level property
}

// Context returns the context of the template, nil if it has none. What it refers to is not read.
func (t *Template) Context() *Context { return contextOf(t.Metadata, true) }

// Context returns the context of a resource, nil if it has none.
func (r *Resource) Context() *Context { return contextOf(r.Metadata, false) }

func contextOf(metadata *document.Value, whole bool) *Context {
	v := metadata.Get(ContextKey)
	if v == nil || v.Kind != document.Object {
		return nil
	}
	text := func(key string) string {
		if m := v.Get(key); m != nil && m.Kind == document.String {
			return words.CutRunes(m.Text, maxContextText)
		}
		return ""
	}
	out := &Context{}
	if must := v.Get("must"); must != nil {
		for _, item := range must.Strings() {
			if len(out.Must) < maxContextItems {
				out.Must = append(out.Must, words.CutRunes(item, maxContextText))
			}
		}
	}
	if whole {
		out.Arch, out.Owner = text("arch"), text("owner")
		return out
	}
	out.Why, out.Mutable, out.Mutability = text("why"), text("mutable"), map[string]string{}
	for _, m := range v.Get("mutability").Distinct() {
		if m.Value.Kind == document.String {
			out.Mutability[m.Key] = words.CutRunes(m.Value.Text, maxContextText)
		}
	}
	return out
}

// never reports whether a property must never change; "" is any of the resource.
func (c *Context) never(property string) bool {
	if c == nil {
		return false
	}
	if property == "" {
		return c.Mutable == NeverChange || slices.Contains(slices.Collect(maps.Values(c.Mutability)), NeverChange)
	}
	if level, ok := c.Mutability[property]; ok {
		return level == NeverChange
	}
	return c.Mutable == NeverChange
}

// A ResourceChange is what an update does with a resource.
type ResourceChange struct {
	LogicalID         string
	Removed, Replaced bool
	Properties        []string // that change
}

// A Forbidden is a part of an update that the context of a resource says must never happen.
type Forbidden struct {
	LogicalID string
	Property  string // "" for the resource
	Text      string
	Why       string
}

// Forbids lists what an update changes although the context of the deployed template says that it must never change, or
// lowers the level of. The next template does not decide: it is the one that is to be checked.
func (t *Template) Forbids(next *Template, changes []ResourceChange) []Forbidden {
	var out []Forbidden
	for _, c := range changes {
		old := t.Resource(c.LogicalID)
		if old == nil {
			continue
		}
		context := old.Context()
		add := func(property, format string, args ...any) {
			out = append(out, Forbidden{c.LogicalID, property, fmt.Sprintf(format, args...), context.Why})
		}
		before := len(out)
		for _, property := range c.Properties {
			if context.never(property) {
				add(property, "the update changes the property %s of %s, which must never change", property, c.LogicalID)
			}
		}
		switch {
		case !context.never("") || len(out) > before:
		case c.Removed:
			add("", "the update removes %s, which must never change", c.LogicalID)
		case c.Replaced:
			add("", "the update replaces %s, which must never change", c.LogicalID)
		}
	}
	for _, old := range t.Resources {
		reported := func(f Forbidden) bool { return f.LogicalID == old.LogicalID }
		if r := next.Resource(old.LogicalID); r != nil && !slices.ContainsFunc(out, reported) {
			out = append(out, lowered(old, r.Context())...)
		}
	}
	return out
}

// lowered lists what the next context of a resource no longer says must never change.
func lowered(old *Resource, next *Context) (out []Forbidden) {
	context := old.Context()
	if context == nil {
		return nil
	}
	if context.Mutable == NeverChange && (next == nil || next.Mutable != NeverChange) {
		return []Forbidden{{old.LogicalID, "", fmt.Sprintf("the update lowers the level %s of %s", NeverChange, old.LogicalID), context.Why}}
	}
	names := maps.Clone(context.Mutability)
	if next != nil {
		maps.Copy(names, next.Mutability)
	}
	for _, property := range slices.Sorted(maps.Keys(names)) {
		if context.never(property) && !next.never(property) {
			out = append(out, Forbidden{old.LogicalID, property, fmt.Sprintf("the update lowers the level %s of the property %s of %s", NeverChange, property, old.LogicalID), context.Why})
		}
	}
	return out
}
