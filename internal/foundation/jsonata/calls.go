package jsonata

import (
	"slices"
	"strings"
)

// Functions are the names of the built-in functions, without $, sorted.
func Functions() []string {
	names := make([]string, 0, len(builtIns))
	for _, f := range builtIns {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// UnknownFunctions are the names, without $, of functions that the expression calls, and that are neither built in
// nor a variable that it binds somewhere. Bindings of [Expr.Eval] do not count. The order is that of the source.
func (x *Expr) UnknownFunctions() (unknown []string) {
	bound := map[string]bool{}
	var called []string
	x.tree.walk(func(n *node) {
		for _, name := range append(slices.Clone(n.params), n.focus, n.index) {
			bound[name] = true
		}
		for _, s := range append(slices.Clone(n.stages), n.predicates...) {
			bound[s.index] = true
		}
		switch {
		case n.kind == kindBind && n.left != nil && n.left.kind == kindVariable:
			bound[n.left.text] = true
		case (n.kind == kindCall || n.kind == kindPartial) && n.left != nil && n.left.kind == kindVariable:
			called = append(called, n.left.text)
		}
	})
	for _, name := range called {
		known := name == "" || bound[name] || slices.ContainsFunc(builtIns, func(f builtIn) bool { return f.name == strings.TrimPrefix(name, "$") })
		if !known && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// walk calls f for a node and all below it.
func (n *node) walk(f func(*node)) {
	if n == nil {
		return
	}
	f(n)
	for _, child := range []*node{n.left, n.right, n.third} {
		child.walk(f)
	}
	for _, child := range n.items {
		child.walk(f)
	}
	walkPairs(n.pairs, f)
	if n.group != nil {
		walkPairs(n.group.pairs, f)
	}
	for _, term := range n.terms {
		term.expr.walk(f)
	}
	for _, s := range append(slices.Clone(n.predicates), n.stages...) {
		s.filter.walk(f)
	}
}

func walkPairs(pairs [][2]*node, f func(*node)) {
	for _, pair := range pairs {
		pair[0].walk(f)
		pair[1].walk(f)
	}
}
