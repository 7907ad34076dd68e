package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A templateGraph is what a template says about its resources: where each is written, and
// what it needs.
type templateGraph struct {
	parameters []*template.Parameter
	nodes      []graphNode
	attributes []template.AttributeUse
}

type graphNode struct {
	id, typ string
	at      diag.Range
	needs   []string // logical IDs

	properties *document.Value // as written, nil if it has none
}

// readTemplateGraph reads as much of a template as can be read here. A template that the
// service would refuse, or whose transforms cannot be run here, has at least the resources
// that are written in it. It returns nil if nothing can be read.
func readTemplateGraph(ctx context.Context, name string, body []byte, options template.ParseOptions, in template.InspectInput) *templateGraph {
	written, _ := template.Parse(name, body, options) // what is wrong is the service's to say
	if written == nil {
		return nil
	}
	g := &templateGraph{parameters: written.Parameters, attributes: written.AttributeUses()}
	for _, r := range written.Resources {
		g.nodes = append(g.nodes, graphNode{id: r.LogicalID, typ: r.Type, at: r.At, properties: r.Properties})
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
	g.nodes, g.attributes = nil, t.AttributeUses()
	for _, r := range ordered {
		g.nodes = append(g.nodes, graphNode{id: r.LogicalID, typ: r.Type, at: r.At, needs: scope.Needs(r), properties: r.Properties})
	}
	return g
}

func (g *templateGraph) node(id string) *graphNode {
	if g == nil {
		return nil
	}
	for i := range g.nodes {
		if g.nodes[i].id == id {
			return &g.nodes[i]
		}
	}
	return nil
}

// needs returns the resources that a resource needs.
func (g *templateGraph) needs(id string) []string {
	if n := g.node(id); n != nil {
		return n.needs
	}
	return nil
}

// usedBy returns the resources that need a resource.
func (g *templateGraph) usedBy(id string) []string {
	var out []string
	for _, n := range g.nodes {
		if slices.Contains(n.needs, id) {
			out = append(out, n.id)
		}
	}
	return out
}

// rows are the resources of a template before anything has happened to them.
func (g *templateGraph) rows() []*resourceView {
	var out []*resourceView
	if g != nil {
		for _, n := range g.nodes {
			out = append(out, &resourceView{id: n.id, typ: n.typ})
		}
	}
	return out
}

// placeIn returns the place of the resource that a text names in brackets or quotes, itself
// or by its type; "" if it names none, or several.
func (g *templateGraph) placeIn(text string) string {
	place := ""
	if g == nil {
		return ""
	}
	for _, n := range g.nodes {
		if !strings.Contains(text, "["+n.id+"]") && !strings.Contains(text, "'"+n.id+"'") && !strings.Contains(text, "["+n.typ+"]") {
			continue
		}
		if place != "" {
			return ""
		}
		place = n.at.String()
	}
	return place
}
