package stackview

import (
	"context"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Graph is what a template says about its resources: where each is written, and
// what it needs.
type Graph struct {
	Parameters []*template.Parameter
	Nodes      []Node // in the order of their creation, as far as it is known
	Attributes []template.AttributeUse
}

// A Node is a resource of a template.
type Node struct {
	ID, Type   string
	At         diag.Range
	Needs      []string        // logical IDs
	Properties *document.Value // as written, nil if it has none
}

// ReadGraph reads as much of a template as can be read here. A template that the
// service would refuse, or whose transforms cannot be run here, has at least the resources
// that are written in it. It returns nil if nothing can be read.
func ReadGraph(ctx context.Context, name string, body []byte, options template.ParseOptions, in template.InspectInput) *Graph {
	written, _ := template.Parse(name, body, options) // what is wrong is the service's to say
	if written == nil {
		return nil
	}
	g := &Graph{Parameters: written.Parameters, Attributes: written.AttributeUses()}
	for _, r := range written.Resources {
		g.Nodes = append(g.Nodes, Node{ID: r.LogicalID, Type: r.Type, At: r.At, Properties: r.Properties})
	}
	bound, err := written.Bind(ctx, template.BindInput{Supplied: in.Supplied})
	if err != nil {
		return g
	}
	budget := template.NewBudget()
	t, err := written.Expand(ctx, template.ExpandInput{Parameters: bound, Pseudo: in.Pseudo, Budget: budget})
	if err != nil || t.Check(ctx, nil) != nil {
		return g
	}
	scope, err := t.NewScope(template.ScopeInput{Parameters: bound, Pseudo: in.Pseudo, Budget: budget})
	if err != nil {
		return g
	}
	ordered, err := scope.Order()
	if err != nil {
		return g
	}
	g.Nodes, g.Attributes = nil, t.AttributeUses()
	for _, r := range ordered {
		g.Nodes = append(g.Nodes, Node{ID: r.LogicalID, Type: r.Type, At: r.At, Needs: scope.Needs(r), Properties: r.Properties})
	}
	return g
}

// Node is the resource with a logical ID, nil if there is none.
func (g *Graph) Node(id string) *Node {
	if g == nil {
		return nil
	}
	for i := range g.Nodes {
		if g.Nodes[i].ID == id {
			return &g.Nodes[i]
		}
	}
	return nil
}

// needs returns the resources that a resource needs.
func (g *Graph) needs(id string) []string {
	if n := g.Node(id); n != nil {
		return n.Needs
	}
	return nil
}

// usedBy returns the resources that need a resource.
func (g *Graph) usedBy(id string) []string {
	var out []string
	for _, n := range g.Nodes {
		if slices.Contains(n.Needs, id) {
			out = append(out, n.ID)
		}
	}
	return out
}

// Rows are the resources of a template before anything has happened to them.
func (g *Graph) Rows() []*Resource {
	var out []*Resource
	if g != nil {
		for _, n := range g.Nodes {
			out = append(out, &Resource{ID: n.ID, Type: n.Type})
		}
	}
	return out
}

// PlaceIn returns the place of the resource that a text names in brackets or quotes, itself
// or by its type; "" if it names none, or several.
func (g *Graph) PlaceIn(text string) string {
	place := ""
	if g == nil {
		return ""
	}
	for _, n := range g.Nodes {
		if !strings.Contains(text, "["+n.ID+"]") && !strings.Contains(text, "'"+n.ID+"'") && !strings.Contains(text, "["+n.Type+"]") {
			continue
		}
		if place != "" {
			return ""
		}
		place = n.At.String()
	}
	return place
}

// Place is where a property is in the template, or the nearest place above it; otherwise is that
// of the resource.
func (n *Node) Place(at document.Pointer, otherwise string) string {
	value, place := n.Properties, otherwise
	for _, token := range at {
		m := value.Member(token)
		if m == nil {
			if value = value.Lookup(document.Pointer{token}); value == nil {
				return place
			}
			place = value.At.String()
			continue
		}
		place, value = m.KeyAt.String(), m.Value
	}
	return place
}
