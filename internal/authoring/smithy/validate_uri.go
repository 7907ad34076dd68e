package smithy

import (
	"fmt"
	"slices"
	"strings"
)

func checkURIConflicts(c *check) {
	c.services(func(_ *Shape, operations []*Shape) {
		bound := slices.DeleteFunc(slices.Clone(operations), func(s *Shape) bool { return !s.Has(traitHTTP) })
		for _, s := range bound {
			var conflicts, allowable []string
			for _, other := range bound {
				if s == other || !c.sameRequests(s, other) {
					continue
				}
				text := fmt.Sprintf("`%s` (%s)", other.ID, other.Trait(traitHTTP).Value.Get("uri").Str())
				if c.patternsDiffer(s, other) {
					allowable = append(allowable, text)
				} else {
					conflicts = append(conflicts, text)
				}
			}
			const text = "Operation URI, `%s`, conflicts with other operation URIs in the same service: %s"
			uri := s.Trait(traitHTTP).Value.Get("uri").Str()
			slices.Sort(conflicts)
			slices.Sort(allowable)
			if conflicts != nil {
				c.error(s, text, uri, bracketed(conflicts))
			}
			if allowable != nil {
				c.danger(s, text+". Pattern traits applied to the label members prevent the label value from evaluating to a conflict, but this is "+
					"still a poor design. If this is acceptable, this can be suppressed.", uri, bracketed(allowable))
			}
		}
	})
}

// sameRequests reports whether some request could mean either operation.
func (c *check) sameRequests(a, b *Shape) bool {
	x, y := a.Trait(traitHTTP).Value, b.Trait(traitHTTP).Value
	if x.Get("method").Str() != y.Get("method").Str() || !conflictingURIs(x.Get("uri").Str(), y.Get("uri").Str()) {
		return false
	}
	hostA, hostB := a.Trait(traitEndpoint), b.Trait(traitEndpoint)
	if hostA == nil || hostB == nil {
		return hostA == nil && hostB == nil
	}
	pairs := conflictingSegments(hostSegments(hostA.Value.Get("hostPrefix").Str()), hostSegments(hostB.Value.Get("hostPrefix").Str()))
	return !c.separated(a, b, pairs, traitHostLabel)
}

// conflictingURIs reports whether two URI patterns are of one form: labels at the same
// places, equal literals, and equal literals in the query.
func conflictingURIs(a, b string) bool {
	x, y := uriSegments(a), uriSegments(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].label != y[i].label || x[i].greedy != y[i].greedy || !x[i].label && x[i].text != y[i].text {
			return false
		}
	}
	return sameQueryLiterals(a, b)
}

func sameQueryLiterals(a, b string) bool {
	_, x, _ := strings.Cut(a, "?")
	_, y, _ := strings.Cut(b, "?")
	split := func(query string) []string {
		parts := strings.Split(query, "&")
		slices.Sort(parts)
		return parts
	}
	return slices.Equal(split(x), split(y))
}

// conflictingSegments pairs the segments of two patterns of which one is a label and the other
// a literal, up to the first literals that differ.
func conflictingSegments(x, y []segment) [][2]segment {
	var out [][2]segment
	for i := range min(len(x), len(y)) {
		switch {
		case x[i].label != y[i].label:
			out = append(out, [2]segment{x[i], y[i]})
		case !x[i].label && x[i].text != y[i].text:
			return out
		}
	}
	return out
}

// patternsDiffer reports whether the patterns of labels keep two URIs apart.
func (c *check) patternsDiffer(a, b *Shape) bool {
	x := uriSegments(a.Trait(traitHTTP).Value.Get("uri").Str())
	y := uriSegments(b.Trait(traitHTTP).Value.Get("uri").Str())
	return c.separated(a, b, conflictingSegments(x, y), traitHTTPLabel)
}

// separated reports whether each label that conflicts with a literal has a pattern which the
// literal does not match. Without such pairs it returns false.
func (c *check) separated(a, b *Shape, pairs [][2]segment, trait ID) bool {
	if len(pairs) == 0 {
		return false
	}
	for _, pair := range pairs {
		operation, label, literal := a, pair[0], pair[1]
		if !label.label {
			operation, label, literal = b, pair[1], pair[0]
		}
		m := c.m.input(operation).Member(label.text)
		if m == nil || !m.Has(trait) {
			return false
		}
		t := c.m.traitOn(m, traitPattern)
		if t == nil || c.patterns.match(t.Value.Text, literal.text) {
			return false
		}
	}
	return true
}
