package handler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A violation is one way in which a model breaks its schema. The text never
// holds a value of the model, which may be a secret: it names the keyword, and
// the limit that the schema sets where that says nothing of the value.
type violation struct {
	pointer string // "#" is the model itself
	text    string
}

func (v violation) String() string { return v.pointer + ": " + v.text }

const (
	maxViolations = 20      // of one message
	maxSteps      = 500_000 // subschemas applied to one model
)

// validate checks a model against a schema. The names in unneeded are not
// asked for at the top even if the schema requires them: they are the
// read-only properties, which no user can give.
func validate(value any, schema *node, unneeded map[string]bool) []violation {
	return (&validator{unneeded: unneeded, steps: maxSteps}).run(value, schema)
}

// validateResolved is validate for a type configuration. Its dynamic references
// are resolved when it comes to the handler: the pattern and the lengths that
// the schema asks for are those of the reference, which the registry has checked.
func validateResolved(value any, schema *node) []violation {
	return (&validator{resolved: true, steps: maxSteps}).run(value, schema)
}

func (v *validator) run(value any, schema *node) []violation {
	v.check(value, schema, "#", 0)
	if v.steps <= 0 {
		return []violation{{"#", "is too large to be checked"}}
	}
	slices.SortFunc(v.found, func(a, b violation) int {
		return cmp.Or(strings.Compare(a.pointer, b.pointer), strings.Compare(a.text, b.text))
	})
	return slices.Compact(v.found)
}

// validationMessage is the message of the FAILED event.
func validationMessage(found []violation) string {
	if len(found) == 1 {
		return "Model validation failed (" + found[0].String() + ")"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Model validation failed (#: %d violations found)", len(found))
	for i, v := range found {
		if i == maxViolations {
			fmt.Fprintf(&text, "\nand %d more", len(found)-maxViolations)
			break
		}
		text.WriteString("\n" + v.String())
	}
	return text.String()
}

type validator struct {
	found    []violation
	unneeded map[string]bool
	resolved bool // texts may stand for dynamic references
	steps    int
}

func (v *validator) report(pointer, format string, args ...any) {
	v.found = append(v.found, violation{pointer, fmt.Sprintf(format, args...)})
}

// hidden is the report for keywords whose details could give the value away.
func (v *validator) hidden(pointer, keyword string) {
	v.report(pointer, "failed validation constraint for keyword [%s]", keyword)
}

// try checks a value apart and returns what it found.
func (v *validator) try(value any, n *node, pointer string, depth int) []violation {
	before := v.found
	v.found = nil
	v.check(value, n, pointer, depth)
	after := v.found
	v.found = before
	return after
}

func (v *validator) check(value any, n *node, pointer string, depth int) {
	n = n.resolve()
	if n == nil || v.steps <= 0 {
		return
	}
	v.steps--
	if depth > maxValueDepth {
		v.steps = 0
		return
	}
	if n.never {
		v.report(pointer, "is not permitted")
		return
	}
	if len(n.types) > 0 && !slices.ContainsFunc(n.types, func(name string) bool { return isType(value, name) }) {
		v.report(pointer, "expected type: %s, found: %s", typeNames(n.types), typeName(value))
		return
	}
	if n.hasConst && !equal(value, n.constant) {
		v.hidden(pointer, "const")
	}
	if n.enum != nil && !slices.ContainsFunc(n.enum, func(item any) bool { return equal(value, item) }) {
		v.hidden(pointer, "enum")
	}
	switch value := value.(type) {
	case string:
		if !v.resolved {
			v.text(value, n, pointer)
		}
	case json.Number:
		v.number(value, n, pointer)
	case []any:
		v.array(value, n, pointer, depth)
	case map[string]any:
		v.object(value, n, pointer, depth)
	}
	v.combined(value, n, pointer, depth)
}

func (v *validator) text(value string, n *node, pointer string) {
	length := utf8.RuneCountInString(value)
	if n.minLength != nil && length < *n.minLength {
		v.report(pointer, "expected minLength: %d, actual: %d", *n.minLength, length)
	}
	if n.maxLength != nil && length > *n.maxLength {
		v.report(pointer, "expected maxLength: %d, actual: %d", *n.maxLength, length)
	}
	if n.pattern != nil && !n.pattern.MatchString(value) {
		v.hidden(pointer, "pattern")
	}
}

func (v *validator) number(value json.Number, n *node, pointer string) {
	number, ok := rational(value)
	if !ok {
		v.report(pointer, "is a number out of bounds")
		return
	}
	for _, rule := range []struct {
		limit *json.Number
		fails func(sign int) bool
		text  string
	}{
		{n.minimum, func(sign int) bool { return sign < 0 }, "must be at least %s"},
		{n.maximum, func(sign int) bool { return sign > 0 }, "must be at most %s"},
		{n.exclusive[0], func(sign int) bool { return sign <= 0 }, "must be greater than %s"},
		{n.exclusive[1], func(sign int) bool { return sign >= 0 }, "must be less than %s"},
	} {
		if rule.limit == nil {
			continue
		}
		if limit, ok := rational(*rule.limit); ok && rule.fails(number.Cmp(limit)) {
			v.report(pointer, rule.text, *rule.limit)
		}
	}
	if n.multipleOf != nil {
		if step, ok := rational(*n.multipleOf); ok && step.Sign() > 0 && !number.Quo(number, step).IsInt() {
			v.report(pointer, "must be a multiple of %s", *n.multipleOf)
		}
	}
}

func (v *validator) array(value []any, n *node, pointer string, depth int) {
	if n.minItems != nil && len(value) < *n.minItems {
		v.report(pointer, "expected minimum item count: %d, found: %d", *n.minItems, len(value))
	}
	if n.maxItems != nil && len(value) > *n.maxItems {
		v.report(pointer, "expected maximum item count: %d, found: %d", *n.maxItems, len(value))
	}
	if n.uniqueItems {
		seen := make(map[string]bool, len(value))
		for _, item := range value {
			key := canonical(item)
			if seen[key] {
				v.report(pointer, "array items are not unique")
				break
			}
			seen[key] = true
		}
	}
	contained := n.contains == nil
	for i, item := range value {
		at := pointer + "/" + strconv.Itoa(i)
		switch {
		case i < len(n.tuple):
			v.check(item, n.tuple[i], at, depth+1)
		case len(n.tuple) > 0:
			v.check(item, n.extraItems, at, depth+1)
		default:
			v.check(item, n.items, at, depth+1)
		}
		contained = contained || len(v.try(item, n.contains, at, depth+1)) == 0
	}
	if !contained {
		v.hidden(pointer, "contains")
	}
}

func (v *validator) object(value map[string]any, n *node, pointer string, depth int) {
	if n.minProps != nil && len(value) < *n.minProps {
		v.report(pointer, "minimum size: %d, found: %d", *n.minProps, len(value))
	}
	if n.maxProps != nil && len(value) > *n.maxProps {
		v.report(pointer, "maximum size: %d, found: %d", *n.maxProps, len(value))
	}
	for _, name := range n.required {
		if _, ok := value[name]; !ok && (pointer != "#" || !v.unneeded[name]) {
			v.report(pointer, "required key [%s] not found", name)
		}
	}
	for name, needed := range n.needs {
		if _, ok := value[name]; !ok {
			continue
		}
		for _, other := range needed {
			if _, ok := value[other]; !ok {
				v.report(pointer, "property [%s] is required by [%s]", other, name)
			}
		}
	}
	for name, sub := range n.needsSchema {
		if _, ok := value[name]; ok {
			v.check(value, sub, pointer, depth+1)
		}
	}
	for name, member := range value {
		v.member(name, member, n, pointer, depth)
	}
}

func (v *validator) member(name string, member any, n *node, pointer string, depth int) {
	at := pointer + "/" + escapePointer(name)
	if n.names != nil && len(v.try(name, n.names, at, depth+1)) > 0 {
		v.report(pointer, "property name [%s] is not permitted", name)
	}
	sub, known := n.properties[name]
	if known {
		v.check(member, sub, at, depth+1)
	}
	for _, pattern := range n.patterns {
		switch {
		case pattern.re == nil:
			known = true // it may well match, which cannot be determined here
		case pattern.re.MatchString(name):
			known = true
			v.check(member, pattern.schema, at, depth+1)
		}
	}
	if known || n.additional == nil {
		return
	}
	if n.additional.never {
		v.report(pointer, "extraneous key [%s] is not permitted", name)
		return
	}
	v.check(member, n.additional, at, depth+1)
}

func (v *validator) combined(value any, n *node, pointer string, depth int) {
	for _, sub := range n.allOf {
		v.check(value, sub, pointer, depth+1)
	}
	if len(n.anyOf) > 0 {
		v.alternatives(value, n.anyOf, pointer, depth, "at least")
	}
	if len(n.oneOf) > 0 {
		v.alternatives(value, n.oneOf, pointer, depth, "exactly")
	}
	if n.not != nil && len(v.try(value, n.not, pointer, depth+1)) == 0 {
		v.hidden(pointer, "not")
	}
	if n.ifNode != nil {
		if len(v.try(value, n.ifNode, pointer, depth+1)) == 0 {
			v.check(value, n.thenNode, pointer, depth+1)
		} else {
			v.check(value, n.elseNode, pointer, depth+1)
		}
	}
}

func (v *validator) alternatives(value any, list []*node, pointer string, depth int, wanted string) {
	fit, reasons := 0, []string{}
	for i, sub := range list {
		found := v.try(value, sub, pointer, depth+1)
		if len(found) == 0 {
			fit++
			continue
		}
		if len(reasons) < 5 {
			// Alternatives nest, and so would their reasons without a bound.
			reason, _, _ := strings.Cut(found[0].String(), " (")
			reasons = append(reasons, fmt.Sprintf("%d: %s", i+1, reason))
		}
	}
	switch {
	case fit == 0:
		v.report(pointer, "must match %s one of %d alternatives and matches none (%s)", wanted, len(list), strings.Join(reasons, "; "))
	case fit > 1 && wanted == "exactly":
		v.report(pointer, "must match exactly one of %d alternatives and matches %d", len(list), fit)
	}
}

// isType reports whether a value has a JSON Schema type. 5.0 is an integer.
func isType(value any, name string) bool {
	switch value := value.(type) {
	case nil:
		return name == "null"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	case json.Number:
		if name == "number" {
			return true
		}
		_, whole := wholeNumber(value)
		return name == "integer" && whole
	}
	return false
}

func typeName(value any) string {
	for _, name := range []string{"null", "string", "boolean", "array", "object", "integer", "number"} {
		if isType(value, name) {
			return title(name)
		}
	}
	return "unknown"
}

func typeNames(names []string) string {
	titled := make([]string, len(names))
	for i, name := range names {
		titled[i] = title(name)
	}
	return strings.Join(titled, " or ")
}

func title(name string) string {
	return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
}

func equal(a, b any) bool { return canonical(a) == canonical(b) }

// canonical is the same text for equal values: 1, 1.0 and 1e0 are equal, and
// the order of members plays no part.
func canonical(value any) string {
	switch value := value.(type) {
	case json.Number:
		if number, ok := rational(value); ok {
			return number.RatString()
		}
		return value.String()
	case []any:
		parts := make([]string, len(value))
		for i, item := range value {
			parts[i] = canonical(item)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		parts := make([]string, 0, len(value))
		for name, member := range value {
			parts = append(parts, strconv.Quote(name)+":"+canonical(member))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case string:
		return strconv.Quote(value)
	}
	return fmt.Sprint(value)
}
