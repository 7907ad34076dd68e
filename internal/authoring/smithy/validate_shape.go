package smithy

import (
	"fmt"
	"math/big"
	"mime"
	"net/url"
	"slices"
	"strings"
)

var shapeRules = []rule{
	{"LengthTrait", further, checkLengths},
	{"RangeTrait", further, checkRanges},
	{"PatternTrait", further, checkPatterns},
	{"MediaType", further, checkMediaTypes},
	{"JsonName", further, checkJSONNames},
	{"XmlNamespaceTrait", further, checkXMLNamespaces},
	{"XmlFlattenedTrait", further, checkXMLFlattened},
	{"PrivateMixinMember", further, checkPrivateMixinMembers},
	{"Set", further, checkSets},
	{"Union", further, checkUnions},
	{"ShapeRecursion", further, checkRecursion},
}

func checkLengths(c *check) {
	for _, s := range c.with[traitLength] {
		t := s.Trait(traitLength)
		least, most := t.Value.Get("min"), t.Value.Get("max")
		if least != nil && compareNumbers(least.Text, "0") < 0 {
			c.traitError(s, t, "A length trait is applied with a negative `min` value.")
		}
		if most != nil && compareNumbers(most.Text, "0") < 0 {
			c.traitError(s, t, "A length trait is applied with a negative `max` value.")
		}
		if least != nil && most != nil && compareNumbers(least.Text, most.Text) > 0 {
			c.traitError(s, t, "A length trait is applied with a `min` value greater than its `max` value.")
		}
	}
}

func checkRanges(c *check) {
	decimal := func(s *Shape) bool { return s.Type == Float || s.Type == Double || s.Type == BigDecimal }
	for _, s := range c.with[traitRange] {
		t := s.Trait(traitRange)
		least, most := t.Value.Get("min"), t.Value.Get("max")
		for _, name := range []string{"min", "max"} {
			bound := t.Value.Get(name)
			// A fraction that is zero counts as one too: 1.0 is written as a decimal.
			if bound == nil || !strings.Contains(bound.Text, ".") && new(big.Rat).Set(number(bound.Text)).IsInt() {
				continue
			}
			target := c.m.target(s)
			switch {
			case s.Type == Member && target != nil && !decimal(target):
				c.traitError(s, t, "Member `%s` is marked with the `range` trait, but its `%s` property is a decimal (%s) when its target (`%s`) does "+
					"not support decimals.", s.ID, name, bound.Text, target.ID)
			case s.Type != Member && !decimal(s):
				c.traitError(s, t, "Shape `%s` is marked with the `range` trait, but its `%s` property is a decimal (%s) when its shape (`%s`) does "+
					"not support decimals.", s.ID, name, bound.Text, s.Type)
			}
		}
		if least != nil && most != nil && compareNumbers(least.Text, most.Text) > 0 {
			c.traitError(s, t, "A range trait is applied with a `min` value greater than its `max` value.")
		}
	}
}

func checkPatterns(c *check) {
	for _, s := range c.with[traitPattern] {
		t := s.Trait(traitPattern)
		var missing []string
		if !strings.HasPrefix(t.Value.Text, "^") {
			missing = append(missing, "leading '^'")
		}
		if !strings.HasSuffix(t.Value.Text, "$") {
			missing = append(missing, "trailing '$'")
		}
		if missing != nil {
			c.traitWarning(s, t, "A pattern trait is applied without a %s, meaning only part of the string must match the regular expression. "+
				"Explicitly anchoring regular expressions is preferable because it is more restrictive by default and does not require modelers to "+
				"understand that Smithy patterns are not automatically anchored.", strings.Join(missing, " and "))
		}
	}
}

func checkMediaTypes(c *check) {
	for _, s := range c.with[traitMediaType] {
		t := s.Trait(traitMediaType)
		kind, _, err := mime.ParseMediaType(t.Value.Text)
		if err == nil && !strings.Contains(kind, "/") {
			err = fmt.Errorf("expected a type and a subtype with / between them")
		}
		if err != nil {
			c.traitError(s, t, "Invalid mediaType value, \"%s\": %s", t.Value.Text, err)
		}
	}
}

func checkJSONNames(c *check) {
	seen := map[*Shape]bool{}
	for _, m := range c.shapesWith(traitJSONName, Member) {
		if seen[m.Container] {
			continue
		}
		seen[m.Container] = true
		members := map[string][]string{}
		for _, other := range m.Container.Members {
			name := other.Name()
			if t := other.Trait(traitJSONName); t != nil {
				name = t.Value.Text
			}
			members[name] = append(members[name], other.Name())
		}
		for name, list := range members {
			if len(list) > 1 {
				slices.Sort(list)
				c.error(m.Container, "This shape contains members with conflicting JSON names that resolve to '%s': %s", name, strings.Join(list, ", "))
			}
		}
	}
}

func checkXMLNamespaces(c *check) {
	for _, s := range c.with[traitXMLNamespace] {
		uri := s.Trait(traitXMLNamespace).Value.Get("uri").Str()
		if _, err := url.Parse(uri); err != nil || strings.ContainsAny(uri, " <>\"{}|\\^`") {
			c.error(s, "An `xmlNamespace` trait is applied to the %s shape with an invalid uri: %s", s, uri)
		}
	}
}

func checkXMLFlattened(c *check) {
	const xmlName = ID("smithy.api#xmlName")
	for _, m := range c.shapesWith(traitXMLFlattened, Member) {
		target := c.m.target(m)
		if m.Has(xmlName) || target == nil || !target.Type.collection() {
			continue
		}
		item := target.Member("member")
		if t := item.Trait(xmlName); t != nil && t.Value.Text != m.Name() {
			c.warning(m, "Member is `@xmlFlattened`, so `@xmlName` of target's member (`%s`) has no effect. The flattened list elements will have "+
				"the name of this member - `%s`. If this is unintended, you can add `@xmlName(\"%s\")` to this member.", item.ID, m.Name(), t.Value.Text)
		}
	}
}

func checkPrivateMixinMembers(c *check) {
	for _, m := range c.shapesWith(traitPrivate, Member) {
		if m.Container.Has(traitMixin) {
			c.traitWarning(m, m.Trait(traitPrivate), "The `@private` trait does not prevent a mixin member from being inherited by shapes in other "+
				"namespaces, nor does it prevent new traits from being added to the inherited member. Apply `@private` to the mixin shape or target "+
				"shape instead if cross-namespace access should be restricted.")
		}
	}
}

func checkSets(c *check) {
	for _, s := range c.m.OfType(Set) {
		c.event(modelDeprecation, WarningSeverity, s, "Set shapes are deprecated and have been removed in Smithy IDL v2. Use a list shape with the "+
			"@uniqueItems trait instead.")
	}
}

func checkUnions(c *check) {
	for _, s := range c.m.OfType(Union) {
		if len(s.Members) == 0 {
			c.error(s, "Tagged unions must have one or more members")
		}
		for _, m := range s.Members {
			if target := c.m.target(m); target.Has(traitDefault) {
				c.note(m, "This union member targets `%s`, a shape with a default value of `%s`. Note that default values are only applicable to "+
					"structures and ignored in tagged unions. It is a best practice for union members to target shapes with no default value (for "+
					"example, instead of targeting PrimitiveInteger, target Integer).", target.ID, printJSON(target.Trait(traitDefault).Value))
			}
			if t := m.Trait(traitBox); t != nil {
				c.traitWarning(m, t, "Invalid box trait found on a union member. The box trait on union members has no effect because union members "+
					"are implicitly nullable.")
			}
		}
	}
}

func checkRecursion(c *check) {
	for _, s := range c.m.roots {
		switch {
		case s.Type.collection() || s.Type == Map:
			path := c.cycle(s, func(m *Shape) bool { t := m.Container.Type; return t != Structure && t != Union })
			if path != nil {
				c.error(s, "Found invalid shape recursion: %s. A recursive list, set, or map shape is only valid if an intermediate reference is "+
					"through a union or structure.", joinIDs(path, " > "))
			}
		case s.Type == Structure:
			path := c.cycle(s, func(m *Shape) bool { return m.Container.Type == Structure && m.Has(traitRequired) })
			if path != nil {
				c.error(s, "Found invalid shape recursion: %s. A structure cannot be mutually recursive through all required members.", joinIDs(path, " > "))
			}
		case s.Type == Union && len(s.Members) > 0 && !c.terminates(s, map[*Shape]bool{}):
			c.error(s, "It is impossible to create instances of this recursive union")
		}
	}
}

// maxCyclePath bounds what messages say of a cycle: its end.
const maxCyclePath = 200

// cycleStep is what a shape on the search for cycles costs.
const cycleStep = 20

// cycle finds the shortest cycle from a shape through members that may be followed; nil if it
// has none.
func (c *check) cycle(s *Shape, takes func(member *Shape) bool) []ID {
	type step struct {
		shape  *Shape
		before *step
		member ID
	}
	seen := map[ID]bool{}
	queue := []*step{{shape: s}}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if !c.budget.spend(cycleStep, s) {
			return nil
		}
		for _, m := range at.shape.Members {
			target := c.m.target(m)
			if target == nil || !takes(m) {
				continue
			}
			if target == s {
				path := []ID{s.ID, m.ID}
				for ; at.before != nil && len(path) < maxCyclePath; at = at.before {
					path = append(path, at.shape.ID, at.member)
				}
				slices.Reverse(path)
				return path
			}
			if !seen[target.ID] {
				seen[target.ID] = true
				queue = append(queue, &step{target, at, m.ID})
			}
		}
	}
	return nil
}

// terminates reports whether a finite value of the shape can be made.
func (c *check) terminates(s *Shape, visited map[*Shape]bool) bool {
	if s == nil || s.Type != Structure && s.Type != Union || !c.budget.spend(cycleStep, s) {
		return true
	}
	optional := func(m *Shape) bool { return !m.Has(traitRequired) }
	if s.Type == Structure && (len(s.Members) == 0 || slices.ContainsFunc(s.Members, optional)) {
		return true
	}
	for _, m := range s.Members {
		if !visited[m] {
			visited[m] = true
			if c.terminates(c.m.target(m), visited) {
				return true
			}
		}
	}
	return false
}
