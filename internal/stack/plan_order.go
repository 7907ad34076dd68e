package stack

import (
	"maps"
	"slices"
)

// graph returns what each resource of the deployment needs.
func (d *Deployment) graph() map[string][]string {
	out := map[string][]string{}
	for _, r := range d.Scope.ActiveResources() {
		out[r.LogicalID] = d.Scope.Needs(r)
	}
	return out
}

// topological returns the nodes of a graph so that each comes after those that it needs, as
// far as there are no cycles; among equals in alphabetical order.
func topological(graph map[string][]string) []string {
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

// nearest narrows a graph to some of its nodes: each depends on the nearest of them, across
// the nodes that are left out.
func nearest(graph map[string][]string, keep func(node string) bool) map[string][]string {
	out := map[string][]string{}
	all := map[string][]string{} // of every node
	for _, node := range topological(graph) {
		found := map[string]bool{}
		for _, need := range graph[node] {
			switch {
			case need == node:
			case keep(need):
				found[need] = true
			default:
				for _, further := range all[need] {
					found[further] = true
				}
			}
		}
		delete(found, node)
		all[node] = slices.Sorted(maps.Keys(found))
		if keep(node) {
			out[node] = all[node]
		}
	}
	return out
}

// reversed turns the arrows of a graph round: who is needed waits for those who need it.
func reversed(graph map[string][]string) map[string][]string {
	out := map[string][]string{}
	for node := range graph {
		out[node] = nil
	}
	for _, node := range slices.Sorted(maps.Keys(graph)) {
		for _, need := range graph[node] {
			out[need] = append(out[need], node)
		}
	}
	return out
}

// DeletionOrder returns for each resource those that must be deleted before it: its
// dependents, also across resources that are not among them.
func DeletionOrder(resources map[string]Resource, gone func(logicalID string) bool) map[string][]string {
	graph := map[string][]string{}
	for id, r := range resources {
		graph[id] = r.DependsOn
	}
	return reversed(nearest(graph, func(id string) bool { _, ok := resources[id]; return ok && gone(id) }))
}
