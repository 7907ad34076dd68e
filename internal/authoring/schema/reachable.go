package schema

import (
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A property is one property of an object that a model can contain, with all schemas that
// apply to it: after references, and of the branches of combiners.
type property struct {
	name    string
	at      diag.Range // of its key
	pointer document.Pointer
	nodes   []*document.Value
}

// types is the type of the property, "" without a type or with several.
func (p *property) types() string {
	found := ""
	for _, node := range p.nodes {
		declared := node.Get("type")
		if declared == nil {
			continue
		}
		if declared.Kind != document.String || found != "" && found != declared.Text {
			return ""
		}
		found = declared.Text
	}
	return found
}

// member is a keyword of any of the property's schemas.
func (p *property) member(keyword string) *document.Member {
	for _, node := range p.nodes {
		if m := node.Member(keyword); m != nil {
			return m
		}
	}
	return nil
}

// reachable lists the properties of all objects that a model can contain, each object
// once, in the order in which a reader meets them. Definitions that nothing refers to are
// not among them.
func (in *inspection) reachable() []property {
	if in.refs.reachable == nil {
		in.refs.reachable = in.collect()
	}
	return in.refs.reachable
}

// maxReachable bounds how many schemas of properties are visited; the largest published schema
// has some thousands. Nested combiners multiply them.
const maxReachable = 1 << 18

func (in *inspection) collect() []property {
	where := make(map[*document.Value]*site, len(in.refs.sites))
	for i := range in.refs.sites {
		where[in.refs.sites[i].node] = &in.refs.sites[i]
	}
	out := []property{}
	seen := map[*document.Value]bool{}
	queue := []*document.Value{in.Root}
	for spent := 0; len(queue) > 0 && spent < maxReachable; {
		nodes := in.expand(queue[0])
		queue = queue[1:]
		if len(nodes) == 0 || seen[nodes[0]] {
			continue
		}
		seen[nodes[0]] = true
		index := map[string]int{}
		for _, node := range nodes {
			at := where[node]
			for _, m := range node.Get("properties").Distinct() {
				i, found := index[m.Key]
				if !found {
					i = len(out)
					index[m.Key] = i
					p := property{name: m.Key, at: m.KeyAt}
					if at != nil {
						p.pointer = at.pointer.Append("properties", m.Key)
					}
					out = append(out, p)
				}
				out[i].nodes = append(out[i].nodes, in.expand(m.Value)...)
				spent += len(out[i].nodes)
				queue = append(queue, m.Value)
			}
			queue = append(queue, node.Get("items"))
			for _, m := range node.Get("patternProperties").Distinct() {
				queue = append(queue, m.Value)
			}
		}
	}
	return out
}
