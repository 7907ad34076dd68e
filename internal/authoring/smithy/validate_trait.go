package smithy

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

var traitRules = []rule{
	{"ExclusiveStructureMemberTrait", critical, checkExclusive},
	{"TraitTarget", critical, checkTraitTargets},
	{"TraitValue", critical, checkTraitValues},
	{"TraitConflict", critical, checkTraitConflicts},
	{"DefaultTrait", critical, checkDefaults},
	{"DeprecatedTrait", further, checkDeprecatedTraits},
	{"UnstableTrait", further, checkUnstableTraits},
	{"TraitBreakingChanges", further, checkBreakingChanges},
	{"TraitValidators", further, checkTraitValidators},
	{"MetadataTrait", further, checkMetadataTraits},
	{"TypedMetadata", further, checkTypedMetadata},
}

func checkExclusive(c *check) {
	for _, trait := range c.usedTraits() {
		exclusive := definitionOf(trait).Get("structurallyExclusive").Str()
		if exclusive == "" {
			continue
		}
		for _, s := range c.m.OfType(Structure) {
			var found []string
			for _, m := range s.Members {
				if exclusive == "member" && m.Has(trait.ID) || exclusive == "target" && c.m.target(m).Has(trait.ID) {
					found = append(found, m.Name())
				}
			}
			switch {
			case len(found) < 2:
			case exclusive == "member":
				c.error(s, "The `%s` trait can be applied to only a single member of a shape, but it was found on the following members: %s",
					trait.ID.idiomatic(), tickedSorted(found))
			default:
				c.error(s, "Only a single member of a structure can target a shape marked with the `%s` trait, but it was found on the "+
					"following members: %s", trait.ID.idiomatic(), tickedSorted(found))
			}
		}
	}
}

// definitionOf is the value of the trait that makes a shape a trait, nil if it is not one.
func definitionOf(trait *Shape) *document.Value {
	if t := trait.Trait(traitTrait); t != nil {
		return t.Value
	}
	return nil
}

var lineBreaks = lazyregexp.New(`\n\s*`)

func checkTraitTargets(c *check) {
	for _, trait := range c.usedTraits() {
		shapes := c.with[trait.ID]
		if trait.Has(traitMixin) {
			for _, s := range shapes {
				c.error(s, "Trait `%s` is a mixin and cannot be applied to `%s`.", trait.ID.idiomatic(), s.ID)
			}
		}
		text := definitionOf(trait).Get("selector").Str()
		if text == "" || text == "*" {
			continue
		}
		sel, err := parseSelector(text)
		if err != nil {
			continue // reported where it is written
		}
		for _, s := range shapes {
			var matched bool
			if sel.local {
				clear(c.selection.vars)
				matched = c.selection.matches(sel, s)
			} else {
				matched = c.pick(text)[s]
			}
			if !matched {
				c.traitError(s, s.Trait(trait.ID), "Trait `%s` cannot be applied to `%s`. This trait may only be applied to shapes that match "+
					"the following selector: %s", trait.ID.idiomatic(), s.ID, lineBreaks.ReplaceAllString(text, " "))
			}
		}
	}
}

func checkTraitValues(c *check) {
	for _, s := range c.m.all {
		for _, t := range s.Traits {
			if trait := c.m.Shape(t.ID); trait != nil {
				v := &valueCheck{check: c, eventID: "TraitValue", subject: s, at: t.At}
				v.value(trait, t.Value, "Error validating trait `"+t.ID.idiomatic()+"`", nil, 0)
			}
		}
	}
}

func checkTraitConflicts(c *check) {
	conflicts := map[*Shape][]string{}
	for _, trait := range c.usedTraits() {
		for _, name := range definitionOf(trait).Get("conflicts").Strings() {
			other := absoluteTrait(name)
			for _, s := range c.with[trait.ID] {
				if s.Has(other) {
					conflicts[s] = append(conflicts[s], "`"+trait.ID.idiomatic()+"` conflicts with `"+other.idiomatic()+"`")
				}
			}
		}
	}
	for s, list := range conflicts {
		slices.Sort(list)
		c.error(s, "Found conflicting traits on %s shape: %s", s.Type, strings.Join(list, ", "))
	}
}

func checkDefaults(c *check) {
	for _, s := range c.with[traitDefault] {
		t := s.Trait(traitDefault)
		c.checkDefault(s, t)
		if s.Type == Member {
			continue
		}
		for _, in := range c.reverse[s.ID] {
			if in.kind == relTarget && in.from.Container.Type == Structure {
				c.checkMemberDefault(in.from, s, t.Value)
			}
		}
	}
	// Shapes of the prelude with a default hold their users to the same rule.
	for _, s := range c.m.all {
		if s.Type != Member || s.Container.Type != Structure {
			continue
		}
		if target := c.m.target(s); target != nil && target.builtin && target.Has(traitDefault) {
			c.checkMemberDefault(s, target, target.Trait(traitDefault).Value)
		}
	}
}

// checkMemberDefault compares the default of a member with that of what it targets.
func (c *check) checkMemberDefault(member, target *Shape, value *document.Value) {
	own := member.Trait(traitDefault)
	switch {
	case own == nil:
		c.error(member, "Member targets %s, which requires that the member defines the same default of `%s` or `null`", target.ID, printJSON(value))
	case own.Value.Kind != document.Null && !equalValues(own.Value, value):
		c.error(member, "Member defines a default value that differs from the default value of the target shape, %s. The member has a "+
			"default of `%s`, but the target has a default of `%s`.", target.ID, printJSON(own.Value), printJSON(value))
	}
}

func (c *check) checkDefault(s *Shape, t *Trait) {
	target := s
	if s.Type == Member {
		target = c.m.target(s)
	}
	if t.Value.Kind == document.Null {
		if s.Type != Member {
			c.traitError(s, t, "The @default trait can be set to null only on members")
		}
		return
	}
	v := &valueCheck{check: c, eventID: c.id, subject: s, at: t.At, zeroWarns: true}
	v.value(s, t.Value, "Error validating @default trait", nil, 0)
	filled := t.Value.Kind == document.Array && len(t.Value.Items) > 0 || t.Value.Kind == document.Object && len(t.Value.Members) > 0
	switch {
	case target.Type == Blob && t.Value.Kind == document.String:
		if _, err := base64.StdEncoding.DecodeString(t.Value.Text); err != nil {
			c.traitWarning(s, t, "The @default value of a blob should be a valid base64 string.")
		}
	case target.Type == Map && filled && t.Value.Kind == document.Object:
		c.traitError(s, t, "The @default value of a map must be an empty map")
	case target.Type.collection() && filled && t.Value.Kind == document.Array:
		c.traitError(s, t, "The @default value of a list must be an empty list")
	case target.Type == Document && filled:
		c.traitError(s, t, "The @default value of a document cannot be a non-empty %s", kindName(t.Value.Kind))
	}
}

func checkDeprecatedTraits(c *check) {
	for _, trait := range c.usedTraits() {
		t := trait.Trait(traitDeprecated)
		if t == nil || !trait.Has(traitTrait) || trait.ID == traitEnum {
			continue
		}
		text := string(trait.ID)
		if message := t.Value.Get("message").Str(); message != "" {
			text += ", " + message
		}
		for _, s := range c.with[trait.ID] {
			c.traitWarning(s, s.Trait(trait.ID), "This shape applies a trait that is deprecated: %s", text)
		}
	}
}

func checkUnstableTraits(c *check) {
	for _, trait := range c.usedTraits() {
		if !trait.Has(traitUnstable) {
			continue
		}
		for _, s := range c.with[trait.ID] {
			c.add(WarningSeverity, s, s.Trait(trait.ID).At, string(trait.ID), "This shape applies a trait that is unstable: %s", trait.ID)
		}
	}
}

func checkBreakingChanges(c *check) {
	for _, s := range c.with[traitTrait] {
		t := s.Trait(traitTrait)
		changes := t.Value.Get("breakingChanges")
		if changes == nil {
			continue
		}
		for i, change := range changes.Items {
			pointer, _ := document.ParsePointer(change.Get("path").Str())
			at := s
			for _, part := range pointer {
				member := at.Member(part)
				if member == nil || c.m.target(member) == nil {
					c.traitError(s, t, "Invalid trait breakingChanges element %d, '%s', at segment '%s': Evaluated shape `%s`, a %s, has no member named `%s`",
						i, pointer, part, at.ID, at.Type, part)
					break
				}
				at = c.m.target(member)
			}
		}
	}
}

// validEventID reports whether a text is a name that events may have.
func validEventID(id string) bool { return validNamespace(id) }

func checkTraitValidators(c *check) {
	for _, s := range c.with[traitTraitValidators] {
		t := s.Trait(traitTraitValidators)
		for _, m := range t.Value.Members {
			if !validEventID(m.Key) {
				c.traitError(s, t, "`%s` key is not a valid event ID: `%s`", traitTraitValidators, m.Key)
			}
		}
	}
	for _, trait := range c.usedTraits() {
		t := trait.Trait(traitTraitValidators)
		if t == nil || slices.ContainsFunc(t.Value.Members, func(m document.Member) bool { return !validEventID(m.Key) }) {
			continue
		}
		for _, m := range t.Value.Members {
			sel, err := parseSelector(m.Value.Get("selector").Str())
			if err != nil {
				continue
			}
			for _, s := range c.with[trait.ID] {
				c.checkTraitValidator(trait, s, sel, m)
			}
		}
	}
}

func (c *check) checkTraitValidator(trait, applied *Shape, sel *selector, m document.Member) {
	severity := ErrorSeverity
	if name := m.Value.Get("severity").Str(); name != "" {
		severity, _ = parseSeverity(name)
	}
	suffix := ""
	if message := m.Value.Get("message").Str(); message != "" {
		suffix = ": " + message
	}
	seen := map[*Shape]bool{}
	clear(c.selection.vars)
	c.selection.run(sel.steps, applied, func(s *Shape) bool {
		if !seen[s] {
			seen[s] = true
			c.events = append(c.events, Event{ID: m.Key, Severity: severity, Shape: s.ID, At: s.At,
				Message: "Found an incompatible shape when validating the constraints of the `" + string(trait.ID) + "` trait attached to `" +
					string(applied.ID) + "`" + suffix})
		}
		return true
	})
}

const traitMetadata = ID("smithy.api#metadata")

// metadataTypes groups the shapes that give a metadata key a type.
func (c *check) metadataTypes() map[string][]*Shape {
	out := map[string][]*Shape{}
	for _, s := range c.with[traitMetadata] {
		key := s.Trait(traitMetadata).Value.Get("key").Str()
		out[key] = append(out[key], s)
	}
	return out
}

func checkMetadataTraits(c *check) {
	for key, shapes := range c.metadataTypes() {
		reserved := slices.Contains([]string{"severityOverrides", "suppressions", "validators"}, key)
		for _, s := range shapes {
			t := s.Trait(traitMetadata)
			if reserved {
				c.traitError(s, t, "The metadata key `%s` has been reserved by Smithy and may not be defined elsewhere.", key)
			} else if len(shapes) > 1 {
				others := slices.DeleteFunc(names(shapes), func(id ID) bool { return id == s.ID })
				slices.Sort(others)
				c.traitError(s, t, "A type has already been defined for the metadata key `%s`. Conflicts with: %s", key, bracketed(others))
			}
		}
	}
}

func checkTypedMetadata(c *check) {
	for key, shapes := range c.metadataTypes() {
		if value := c.m.metadata(key); value != nil && len(shapes) == 1 {
			v := &valueCheck{check: c, eventID: "TypedMetadata." + key, subject: &Shape{}, at: value.At, zeroWarns: true, base64: true}
			v.value(shapes[0], value, "metadata."+key, nil, 0)
		}
	}
}
