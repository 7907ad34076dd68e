package plan

import (
	"maps"
	"slices"
)

// Graph returns what each resource of the deployment needs.
func (d *Deployment) Graph() map[string][]string {
	out := map[string][]string{}
	for _, r := range d.Scope.ActiveResources() {
		out[r.LogicalID] = d.Scope.Needs(r)
	}
	return out
}

// Topological returns the nodes of a graph so that each comes after those that it needs, as
// far as there are no cycles; among equals in alphabetical order.
func Topological(graph map[string][]string) []string {
	out := make([]string, 0, len(graph))
	done := make(map[string]bool, len(graph))
	type frame struct {
		node string
		next int
	}
	for _, root := range slices.Sorted(maps.Keys(graph)) {
		if done[root] {
			continue
		}
		done[root] = true
		path := []frame{{node: root}}
		for len(path) > 0 {
			top := &path[len(path)-1]
			if top.next == len(graph[top.node]) {
				out = append(out, top.node)
				path = path[:len(path)-1]
				continue
			}
			need := graph[top.node][top.next]
			top.next++
			if _, known := graph[need]; known && !done[need] {
				done[need] = true
				path = append(path, frame{node: need})
			}
		}
	}
	return out
}
