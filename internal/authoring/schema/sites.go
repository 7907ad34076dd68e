package schema

import (
	"errors"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// ErrCircular is the error of [Schema.Resolve] for references that lead only to each other.
var ErrCircular = errors.New("references form a cycle")

// A Site is one schema in the sense of draft-07 with its place in the document.
type Site struct {
	Node    *document.Value
	Pointer document.Pointer

	// Pattern means that the schema is below patternProperties, whose values the meta-schemas
	// do not check.
	Pattern bool
}

// Sites returns every schema that the document itself holds, the document first, in the
// order in which they are met. Those of foreign documents, and data that merely looks
// like a schema, are not among them. A type configuration has the sites of the document
// around it.
func (s *Schema) Sites() []Site {
	out := make([]Site, 0, len(s.refs.sites))
	for i := range s.refs.sites {
		if at := &s.refs.sites[i]; at.own {
			out = append(out, Site{Node: at.node, Pointer: at.pointer, Pattern: at.pattern})
		}
	}
	return out
}

// Leads reports whether a path of the schema's own lists names a property; what other paths
// name is looked up.
func (s *Schema) Leads(p Path) bool {
	if known, ok := s.refs.paths[pathKey{s.Root, p.Text}]; ok {
		return known.leads || s.brokenOnTheWay(p)
	}
	return len(p.Tokens) > 0 && s.Property(p.Tokens) != nil || s.brokenOnTheWay(p)
}
