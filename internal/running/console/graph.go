package console

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/running/stack"

	wording "github.com/formwork-dev/formwork/internal/foundation/words"
)

// maxDrawn is how many resources a graph has; a larger stack has only the list.
const maxDrawn = 150

// The sizes of a graph, in the units of its drawing.
const (
	nodeWidth, nodeHeight = 196, 46
	nodeGapX, nodeGapY    = 56, 14
	nodeText              = 26 // characters
	graphMargin           = 4
)

// A graph is the resources of a stack as boxes in columns, each to the right of all that it
// depends on.
type graph struct {
	Width, Height int
	Nodes         []graphNode
	Edges         []graphEdge
}

type graphNode struct {
	*stack.ResourceState
	X, Y int
}

// textWidth is the room for the texts of a box: what is wider is cut off.
func (n *graphNode) textWidth() int {
	if n.Simulated {
		return nodeWidth - 44
	}
	return nodeWidth - 18
}

// shownName is the name of a resource for people: the path of its construct within the stack, if it has one.
func shownName(x *stack.ResourceState) string {
	_, path, found := strings.Cut(x.Path, "/")
	for _, end := range []string{"/Resource", "/Default"} {
		path = strings.TrimSuffix(path, end)
	}
	if !found || path == "" {
		return x.LogicalID
	}
	return path
}

// An edge connects a resource to one that depends on it.
type graphEdge struct {
	Path string
	Tone string // of the resource that it comes from
}

// drawGraph lays a graph out; nil for one that is too large or has no lines to draw.
func drawGraph(resources []stack.ResourceState, toneOf func(*stack.ResourceState) string) *graph {
	if len(resources) == 0 || len(resources) > maxDrawn {
		return nil
	}
	byID := make(map[string]*stack.ResourceState, len(resources))
	for i := range resources {
		byID[resources[i].LogicalID] = &resources[i]
	}
	columns := arrange(resources, byID)
	g := &graph{Width: 2*graphMargin + len(columns)*(nodeWidth+nodeGapX) - nodeGapX}
	at := map[string]graphNode{}
	for i, column := range columns {
		for j, id := range column {
			n := graphNode{byID[id], graphMargin + i*(nodeWidth+nodeGapX), graphMargin + j*(nodeHeight+nodeGapY)}
			g.Nodes = append(g.Nodes, n)
			g.Height = max(g.Height, n.Y+nodeHeight+graphMargin)
			at[id] = n
		}
	}
	above := ancestors(g.Nodes, byID)
	for _, n := range g.Nodes {
		for _, id := range n.DependsOn {
			if from, ok := at[id]; ok && from.X < n.X && !implied(above, n.DependsOn, id) {
				g.Edges = append(g.Edges, graphEdge{curve(from, n), toneOf(from.ResourceState)})
			}
		}
	}
	return g
}

// implied reports whether a resource needs another because one of the rest that it needs
// does, directly or not: the line is left out.
func implied(above map[string]map[string]bool, needs []string, id string) bool {
	return slices.ContainsFunc(needs, func(other string) bool { return other != id && above[other][id] && !above[id][other] })
}

// ancestors are the resources that each resource needs, directly or not. The nodes come in the
// order of their columns, so that those before are complete: a graph of n nodes takes n² steps
// for each need, and has at most maxDrawn nodes.
func ancestors(nodes []graphNode, byID map[string]*stack.ResourceState) map[string]map[string]bool {
	above := make(map[string]map[string]bool, len(nodes))
	for _, n := range nodes {
		all := map[string]bool{}
		for _, id := range n.DependsOn {
			if byID[id] == nil {
				continue
			}
			all[id] = true
			maps.Copy(all, above[id])
		}
		above[n.LogicalID] = all
	}
	return above
}

// arrange sorts resources into columns by the longest way to them, and within a column
// in addition to those that they depend on.
func arrange(resources []stack.ResourceState, byID map[string]*stack.ResourceState) [][]string {
	level := map[string]int{}
	// A resource of n levels is found after n passes; a template has no cycles, and what has
	// one after all ends with the passes.
	for range resources {
		changed := false
		for _, x := range resources {
			for _, id := range x.DependsOn {
				if byID[id] != nil && level[x.LogicalID] <= level[id] && level[id]+1 < len(resources) {
					level[x.LogicalID], changed = level[id]+1, true
				}
			}
		}
		if !changed {
			break
		}
	}
	var columns [][]string
	for _, x := range resources {
		for len(columns) <= level[x.LogicalID] {
			columns = append(columns, nil)
		}
		columns[level[x.LogicalID]] = append(columns[level[x.LogicalID]], x.LogicalID)
	}
	columns = slices.DeleteFunc(columns, func(c []string) bool { return len(c) == 0 })
	place := map[string]float64{}
	for _, column := range columns {
		for i, id := range column {
			sum, n := 0.0, 0.0
			for _, need := range byID[id].DependsOn {
				if p, ok := place[need]; ok {
					sum, n = sum+p, n+1
				}
			}
			if place[id] = float64(i); n > 0 {
				place[id] = sum / n
			}
		}
		slices.SortStableFunc(column, func(a, b string) int { return cmp.Or(cmp.Compare(place[a], place[b]), strings.Compare(a, b)) })
		for i, id := range column {
			place[id] = float64(i)
		}
	}
	return columns
}

// curve is the line from the right of one box to the left of another.
func curve(from, to graphNode) string {
	x1, y1, x2, y2 := from.X+nodeWidth, from.Y+nodeHeight/2, to.X, to.Y+nodeHeight/2
	bend := max((x2-x1)/2, nodeGapX/2)
	return "M" + itoa(x1) + " " + itoa(y1) + "C" + itoa(x1+bend) + " " + itoa(y1) + " " + itoa(x2-bend) + " " + itoa(y2) + " " + itoa(x2) + " " + itoa(y2)
}

// short cuts a text for a box of a graph.
func short(text string) string {
	return wording.CutRunes(bounded(text, 300), nodeText)
}

// shortType is a type for a box: the end of its name says most.
func shortType(name string) string {
	for utf8.RuneCountInString(name) > nodeText+2 {
		_, rest, found := strings.Cut(name, "::")
		if !found {
			return short(name)
		}
		name = rest
	}
	return bounded(name, 300)
}
