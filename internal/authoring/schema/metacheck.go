package schema

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A metaChecker validates a document against a meta-schema, and reports each failure at the deepest
// place that explains it: not the alternatives of anyOf and allOf, which only draft-07 itself uses.
type metaChecker struct {
	report func(failure) // nil where only the verdict counts
	at     document.Pointer
}

// fail reports a failure of a keyword.
func (c *metaChecker) fail(rule *metaRule, v *document.Value, f failure) bool {
	if c.report != nil {
		f.rule, f.value, f.pointer = rule.source, v, slices.Clone(c.at)
		c.report(f)
	}
	return false
}

// valid reports whether a value is valid.
func (c *metaChecker) valid(rule *metaRule, v *document.Value) bool {
	for rule.ref != nil {
		rule = rule.ref
	}
	if rule.never {
		return c.fail(rule, v, failure{})
	}
	is := typeOfValue(v)
	switch {
	case rule.allowed != 0 && rule.allowed&is == 0:
		return c.fail(rule, v, failure{keyword: "type", want: rule.types, got: is})
	case rule.constant != nil && !sameValue(rule.constant, v):
		return c.fail(rule, v, failure{keyword: "const", values: []*document.Value{rule.constant}})
	case rule.enum != nil && !slices.ContainsFunc(rule.enum, func(item *document.Value) bool { return sameValue(item, v) }):
		return c.fail(rule, v, failure{keyword: "enum", values: rule.enum})
	}
	ok := true
	switch v.Kind {
	case document.Object:
		ok = c.object(rule, v)
	case document.Array:
		ok = c.array(rule, v)
	case document.String:
		if rule.maxLength >= 0 && utf8.RuneCountInString(v.Text) > rule.maxLength {
			ok = c.fail(rule, v, failure{keyword: "maxLength", limit: rule.maxLength, count: utf8.RuneCountInString(v.Text)})
		}
		if rule.pattern != nil && !rule.pattern.MatchString(v.Text) {
			ok = c.fail(rule, v, failure{keyword: "pattern", want: []string{rule.pattern.text}})
		}
	case document.Number:
		ok = c.number(rule, v)
	}
	return c.conditions(rule, v) && ok
}

// inside validates a member or an item.
func (c *metaChecker) inside(rule *metaRule, token string, v *document.Value) bool {
	c.at = append(c.at, token)
	ok := c.valid(rule, v)
	c.at = c.at[:len(c.at)-1]
	return ok
}

// quietly reports whether a value is valid, without reporting failures.
func (c *metaChecker) quietly(rule *metaRule, v *document.Value) bool {
	return (&metaChecker{}).valid(rule, v)
}

func (c *metaChecker) object(rule *metaRule, v *document.Value) bool {
	ok, members := true, v.Distinct()
	has := func(key string) bool { return v.Member(key) != nil }
	if len(members) < rule.minProperties {
		ok = c.fail(rule, v, failure{keyword: "minProperties"})
	}
	if missing := absent(rule.required, has); missing != nil {
		ok = c.fail(rule, v, failure{keyword: "required", want: missing})
	}
	for _, d := range rule.dependencies {
		switch {
		case !has(d.key):
		case d.rule != nil:
			ok = c.valid(d.rule, v) && ok
		case absent(d.keys, has) != nil:
			ok = c.fail(rule, v, failure{keyword: "dependencies", key: d.key})
		}
	}
	var unknown []string
	for _, member := range members {
		property, known := rule.properties[member.Key]
		if known {
			ok = c.inside(property, member.Key, member.Value) && ok
		}
		for _, p := range rule.patterns {
			if p.pattern.MatchString(member.Key) {
				known = true
				ok = c.inside(p.rule, member.Key, member.Value) && ok
			}
		}
		switch {
		case known || rule.others == nil:
		case rule.others.never:
			unknown = append(unknown, member.Key)
		default:
			ok = c.inside(rule.others, member.Key, member.Value) && ok
		}
	}
	if unknown != nil {
		slices.Sort(unknown)
		ok = c.fail(rule, v, failure{keyword: "additionalProperties", want: unknown})
	}
	return ok
}

// absent returns the keys that an object does not have.
func absent(keys []string, has func(string) bool) []string {
	var missing []string
	for _, key := range keys {
		if !has(key) {
			missing = append(missing, key)
		}
	}
	return missing
}

func (c *metaChecker) array(rule *metaRule, v *document.Value) bool {
	ok := true
	if len(v.Items) < rule.minItems {
		ok = c.fail(rule, v, failure{keyword: "minItems"})
	}
	if rule.unique && len(v.Items) > 1 {
		first := make(map[string]int, len(v.Items))
		for i, item := range v.Items {
			text := canonical(item.Any())
			if j, found := first[text]; found {
				ok = c.fail(rule, v, failure{keyword: "uniqueItems", items: [2]int{j, i}})
				break
			}
			first[text] = i
		}
	}
	if rule.items != nil {
		for i, item := range v.Items {
			ok = c.inside(rule.items, strconv.Itoa(i), item) && ok
		}
	}
	return ok
}

func (c *metaChecker) number(rule *metaRule, v *document.Value) bool {
	ok := true
	n, known := parseDecimal(v.Text)
	if !known {
		return true
	}
	for _, bound := range [...]struct {
		keyword string
		limit   *document.Value
		fails   func(comparison int) bool
	}{
		{"minimum", rule.min, func(c int) bool { return c < 0 }},
		{"maximum", rule.max, func(c int) bool { return c > 0 }},
		{"exclusiveMinimum", rule.above, func(c int) bool { return c <= 0 }},
	} {
		if bound.limit == nil {
			continue
		}
		if limit, _ := parseDecimal(bound.limit.Text); bound.fails(n.compare(limit)) {
			ok = c.fail(rule, v, failure{keyword: bound.keyword, values: []*document.Value{bound.limit}})
		}
	}
	return ok
}

// conditions validates the keywords that contain schemas for the same value.
func (c *metaChecker) conditions(rule *metaRule, v *document.Value) bool {
	ok := true
	if rule.not != nil && c.quietly(rule.not, v) {
		ok = c.fail(rule, v, failure{keyword: "not"})
	}
	valid := func(r *metaRule) bool { return c.quietly(r, v) }
	if invalid := func(r *metaRule) bool { return !valid(r) }; slices.ContainsFunc(rule.allOf, invalid) {
		ok = c.fail(rule, v, failure{keyword: "allOf"})
	}
	if rule.anyOf != nil && !slices.ContainsFunc(rule.anyOf, valid) {
		ok = c.fail(rule, v, failure{keyword: "anyOf"})
	}
	if rule.when != nil {
		branch := rule.otherwise
		if valid(rule.when) {
			branch = rule.then
		}
		if branch != nil {
			ok = c.valid(branch, v) && ok
		}
	}
	return ok
}

// typeOfValue returns the types that a value has: a whole number is an integer and a number.
func typeOfValue(v *document.Value) types {
	switch v.Kind {
	case document.Bool:
		return typeBoolean
	case document.String:
		return typeString
	case document.Array:
		return typeArray
	case document.Object:
		return typeObject
	case document.Number:
		if d, ok := parseDecimal(v.Text); ok && d.isInteger() {
			return typeNumber | typeInteger
		}
		return typeNumber
	}
	return typeNull
}

// sameValue compares values as JSON Schema does.
func sameValue(want, v *document.Value) bool {
	if want.Kind != v.Kind {
		return false
	}
	if v.Kind == document.String {
		return v.Text == want.Text
	}
	return canonical(want.Any()) == canonical(v.Any())
}
