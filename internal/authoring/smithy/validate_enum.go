package smithy

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

var enumRules = []rule{
	{"EnumShape", critical, checkEnumShapes},
	{"EnumTrait", further, checkEnumTraits},
}

var enumName = lazyregexp.New(`^[A-Z]+[A-Z_0-9]*$`)

const enumNameText = "The name `%s` does not match the recommended enum name format of beginning with an uppercase letter, " +
	"followed by any number of uppercase letters, numbers, or underscores."

func checkEnumShapes(c *check) {
	for _, s := range c.m.OfType(Enum, IntEnum) {
		seen := map[string]bool{}
		for _, m := range s.Members {
			named := true
			if s.Type == Enum {
				c.checkEnumValue(m, seen)
			} else {
				named = c.checkIntEnumValue(m, seen)
			}
			if named && !enumName.MatchString(m.Name()) {
				c.warning(m, enumNameText, m.Name())
			}
		}
	}
}

func (c *check) checkEnumValue(m *Shape, seen map[string]bool) {
	t := m.Trait(traitEnumValue)
	switch {
	case t == nil:
	case t.Value.Kind != document.String:
		c.traitError(m, t, "enum members can only be assigned string values, but found: %s", printJSON(t.Value))
	default:
		if seen[t.Value.Text] {
			c.error(m, "Multiple enum members found with duplicate value `%s`", t.Value.Text)
		}
		seen[t.Value.Text] = true
		if t.Value.Text == "" {
			c.error(m, "enum values may not be empty.")
		}
	}
}

// checkIntEnumValue reports false if there is no usable value.
func (c *check) checkIntEnumValue(m *Shape, seen map[string]bool) bool {
	t := m.Trait(traitEnumValue)
	switch {
	case t == nil:
		c.error(m, "intEnum members must be assigned an integer value")
	case t.Value.Kind != document.Number:
		c.traitError(m, t, "intEnum members require integer values, but found: %s", printJSON(t.Value))
	case isFloat(t.Value.Text):
		c.traitError(m, t, "intEnum members do not support floating point values: %s", t.Value.Text)
	case compareNumbers(t.Value.Text, integerBounds[Integer][0]) < 0 || compareNumbers(t.Value.Text, integerBounds[Integer][1]) > 0:
		c.traitError(m, t, "intEnum members must fit within an integer, but found: %s", t.Value.Text)
	default:
		if seen[t.Value.Text] {
			c.error(m, "Multiple intEnum members found with duplicate value `%s`", t.Value.Text)
		}
		seen[t.Value.Text] = true
		return true
	}
	return false
}

func checkEnumTraits(c *check) {
	for _, s := range c.with[traitEnum] {
		t := s.Trait(traitEnum)
		seenNames, seenValues := map[string]bool{}, map[string]bool{}
		for _, item := range t.Value.Items {
			value := item.Get("value").Str()
			if seenValues[value] {
				c.traitError(s, t, "Duplicate enum trait values found with the same `value` property of '%s'", value)
			}
			seenValues[value] = true
		}
		for _, item := range t.Value.Items {
			if item.Get("name") == nil {
				continue
			}
			name := item.Get("name").Str()
			if seenNames[name] {
				c.traitError(s, t, "Duplicate enum trait values found with the same `name` property of '%s'", name)
			}
			seenNames[name] = true
			if !enumName.MatchString(name) {
				c.add(WarningSeverity, s, t.At, name, enumNameText, name)
			}
		}
		unnamed := slices.DeleteFunc(slices.Clone(t.Value.Items), func(item *document.Value) bool { return item.Get("name") != nil })
		if len(seenNames) == 0 {
			c.events = append(c.events, Event{ID: "EnumNamesPresent", Severity: WarningSeverity, Shape: s.ID, At: t.At,
				Message: "Enums should define the `name` property to allow rich types to be generated in code generators."})
			continue
		}
		for _, item := range unnamed {
			c.traitError(s, t, "`%s` enum value body is missing the `name` property; if any enum trait value contains a `name` property, "+
				"then all values must contain the `name` property.", item.Get("value").Str())
		}
	}
}
