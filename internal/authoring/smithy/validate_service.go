package smithy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var serviceRules = []rule{
	{"Service", further, checkServices},
	{"AuthTrait", further, checkAuth},
	{"ServiceAuthDefinitions", further, checkAuthOrder},
	{"CorsTrait", further, checkCORS},
	{"HttpApiKeyAuthTrait", further, checkAPIKeys},
	{"NoInlineDocumentSupport", further, checkInlineDocuments},
}

func checkServices(c *check) {
	for _, s := range c.m.OfType(Service) {
		closure := c.closure(s.ID)
		renamed := func(id ID) (string, bool) {
			for _, r := range s.Rename {
				if r.Target == id {
					return r.Name, true
				}
			}
			return id.Name(), false
		}
		byName := map[string][]ID{}
		for _, id := range closure {
			if id.Member() == "" {
				name, _ := renamed(id)
				byName[strings.ToLower(name)] = append(byName[strings.ToLower(name)], id)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			for _, id := range byName[name] {
				for _, other := range byName[name] {
					if id != other {
						c.reportNameConflict(s, c.m.Shape(id), c.m.Shape(other), renamed)
					}
				}
			}
		}
		c.checkRenames(s, closure)
	}
}

func (c *check) reportNameConflict(service, s, other *Shape, renamed func(ID) (string, bool)) {
	severity, conflict := c.nameConflict(s, other, 0)
	if !conflict {
		return
	}
	text := "Shape name `" + string(s.ID) + "`"
	if name, is := renamed(s.ID); is {
		text = `Renamed shape name "` + name + `"`
	}
	text += " conflicts with `" + string(other.ID) + "` "
	if name, is := renamed(other.ID); is {
		text += `(renamed to "` + name + `") `
	}
	should := "should"
	if severity >= DangerSeverity {
		should = "must"
	}
	c.add(severity, s, s.At, "", "%sin the `%s` service closure. Shapes in the closure of a service %s have case-insensitively unique names "+
		"regardless of their namespaces. Use the `rename` property of the service to disambiguate shape names.", text, service.ID, should)
}

// nameConflict is the severity of a conflict between two shapes with the same name.
func (c *check) nameConflict(a, b *Shape, depth int) (Severity, bool) {
	if a == nil || b == nil || depth > maxNesting {
		return 0, false
	}
	forbidden := func(s *Shape) bool { return !s.Type.simple() && !s.Type.collection() && s.Type != Member }
	if forbidden(a) || forbidden(b) || a.Type != b.Type || !sameTraits(a, b) {
		return ErrorSeverity, true
	}
	var inner Severity
	nested := false
	switch {
	case a.Type == Member:
		inner, nested = c.nameConflict(c.m.target(a), c.m.target(b), depth+1)
	case a.Type.collection():
		inner, nested = c.nameConflict(a.Member("member"), b.Member("member"), depth+1)
	}
	switch {
	case nested && inner >= WarningSeverity:
		return inner, true
	case a.Type.simple():
		return NoteSeverity, true
	}
	return WarningSeverity, true
}

func sameTraits(a, b *Shape) bool {
	if len(a.Traits) != len(b.Traits) {
		return false
	}
	return !slices.ContainsFunc(a.Traits, func(t *Trait) bool {
		other := b.Trait(t.ID)
		return other == nil || !equalValues(t.Value, other.Value)
	})
}

func (c *check) checkRenames(s *Shape, closure []ID) {
	for _, r := range s.Rename {
		switch {
		case !validIdentifier(r.Name):
			c.error(s, "Service attempts to rename `%s` to an invalid identifier, \"%s\"", r.Target, r.Name)
		case r.Name == r.Target.Name():
			c.error(s, "Service rename for `%s` does not actually change the name from `%s`", r.Target, r.Name)
		}
		if !slices.Contains(closure, r.Target) {
			c.error(s, "Service attempts to rename a shape not in the service: %s", r.Target)
			continue
		}
		if t := c.m.Shape(r.Target).Type; t == Member || t == Resource || t == Operation {
			c.error(s, "Service attempts to rename a %s shape from `%s` to \"%s\"; %ss cannot be renamed", t, r.Target, r.Name, t)
		}
	}
}

func checkAuth(c *check) {
	c.services(func(service *Shape, operations []*Shape) {
		schemes := names(c.authSchemes(service))
		for _, s := range append([]*Shape{service}, operations...) {
			t := s.Trait(traitAuth)
			if t == nil {
				continue
			}
			var missing []string
			for _, id := range t.Value.Strings() {
				if !slices.Contains(schemes, ID(id)) {
					missing = append(missing, id)
				}
			}
			if missing != nil {
				slices.Sort(missing)
				c.traitDanger(s, t, "auth trait applies authentication that is not configured on the service shape, `%s`: %s",
					service.ID, bracketed(slices.Compact(missing)))
			}
		}
	})
}

func checkAuthOrder(c *check) {
	for _, s := range c.m.OfType(Service) {
		if !s.Has(traitAuth) && len(c.authSchemes(s)) > 1 {
			c.warning(s, "This service uses multiple authentication schemes but does not have the `@auth` trait applied. The `@auth` trait "+
				"defines a priority ordering of auth schemes for a client to use. Without it, the ordering of auth schemes is alphabetical based on "+
				"the absolute shape ID of the auth schemes.")
		}
	}
}

func checkCORS(c *check) {
	for _, s := range c.shapesWith("smithy.api#cors", Service) {
		t := s.Trait("smithy.api#cors")
		if origins := t.Value.Get("origins"); t.Value.Get("origin") != nil && origins != nil && len(origins.Members) > 0 {
			c.traitError(s, t, "The `origin` and `origins` members of the `cors` trait are mutually exclusive.")
		}
	}
}

func checkAPIKeys(c *check) {
	const id = ID("smithy.api#httpApiKeyAuth")
	for _, s := range c.shapesWith(id, Service) {
		t := s.Trait(id)
		if in := t.Value.Get("in").Str(); t.Value.Get("scheme") != nil && in != "header" {
			c.traitError(s, t, "The httpApiKeyAuth trait must have an `in` value of `header` when a `scheme` is provided, found: %s", in)
		}
	}
}

func checkInlineDocuments(c *check) {
	for _, s := range c.m.OfType(Service) {
		for _, protocol := range c.protocols(s) {
			if !protocol.Trait("smithy.api#protocolDefinition").Value.Get("noInlineDocumentSupport").IsTrue() {
				continue
			}
			var found []*Shape
			for _, id := range c.closure(s.ID) {
				if d := c.m.Shape(id); d.Type == Document {
					found = append(found, d)
				}
			}
			slices.SortFunc(found, func(a, b *Shape) int { return cmp.Compare(compareIDs(a.ID, b.ID), 0) })
			var texts []string
			for _, d := range found {
				texts = append(texts, fmt.Sprintf("%s @ %s", d.ID, d.At))
			}
			if texts != nil {
				c.traitError(s, s.Trait(protocol.ID), "This service uses the `%s` protocol which does not support inline document types, but the "+
					"following document types were found in the closure of the service: %s", protocol.ID, bracketed(texts))
			}
		}
	}
}
