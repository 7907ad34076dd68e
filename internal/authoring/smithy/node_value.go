package smithy

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A valueCheck checks a JSON value against a shape: the value of a trait, a default, an
// example.
type valueCheck struct {
	*check
	eventID string
	subject *Shape // that events are reported on
	at      diag.Range

	zeroWarns bool // a range that zero breaks is only a warning
	lenient   bool // so is every broken constraint
	base64    bool // blobs must be base64
}

// maxValueDepth bounds recursive shapes in addition to the depth of the value itself.
const maxValueDepth = 512

func (v *valueCheck) report(severity Severity, context, suffix, format string, args ...any) {
	id := v.eventID
	if suffix != "" {
		id += "." + suffix
	}
	message := fmt.Sprintf(format, args...)
	if context != "" {
		message = context + ": " + message
	}
	v.events = append(v.events, Event{ID: id, Severity: severity, Shape: v.subject.ID, At: v.at, Message: message})
}

func (v *valueCheck) fail(context, format string, args ...any) {
	v.report(ErrorSeverity, context, "", format, args...)
}

// constraint is the severity of a broken constraint.
func (v *valueCheck) constraint() Severity {
	if v.lenient {
		return WarningSeverity
	}
	return ErrorSeverity
}

// value checks n against s; via is the member whose target s is, or nil.
func (v *valueCheck) value(s *Shape, n *document.Value, context string, via *Shape, depth int) {
	if s == nil || depth > maxValueDepth {
		return
	}
	v.constraints(s, n, context, via)
	switch t := s.Type; {
	case t == Member:
		if n.Kind == document.Null && !v.nullable(s) {
			v.reportNull(s, context)
		}
		v.value(v.m.target(s), n, context, s, depth)
	case t == Document || t == Timestamp:
	case t == Float || t == Double:
		if n.Kind != document.Number && n.Kind != document.String {
			v.wrongKind(s, n, document.Number, context)
		}
	case t == BigDecimal:
		v.want(s, n, document.Number, context)
	case t.number():
		v.integer(s, n, context)
	case t == Boolean:
		v.want(s, n, document.Bool, context)
	case t == Blob:
		if v.want(s, n, document.String, context) && v.base64 {
			if _, err := base64.StdEncoding.DecodeString(n.Text); err != nil {
				v.fail(context, "Blob value must be a valid base64 string")
			}
		}
	case t.isString():
		v.want(s, n, document.String, context)
	case t.collection():
		if v.want(s, n, document.Array, context) {
			for i, item := range n.Items {
				v.value(s.Member("member"), item, fmt.Sprintf("%s.%d", context, i), nil, depth+1)
			}
		}
	case t == Map:
		if v.want(s, n, document.Object, context) {
			for _, m := range n.Members {
				v.value(s.Member("key"), document.NewString(m.Key), context+"."+m.Key+" (map-key)", nil, depth+1)
				v.value(s.Member("value"), m.Value, context+"."+m.Key, nil, depth+1)
			}
		}
	case t == Structure:
		if v.want(s, n, document.Object, context) {
			v.structure(s, n, context, depth)
		}
	case t == Union:
		if v.want(s, n, document.Object, context) {
			v.union(s, n, context, depth)
		}
	default:
		v.fail(context, "Encountered invalid shape type: %s", t)
	}
}

func (v *valueCheck) want(s *Shape, n *document.Value, kind document.Kind, context string) bool {
	if n.Kind == kind {
		return true
	}
	v.wrongKind(s, n, kind, context)
	return false
}

func (v *valueCheck) wrongKind(s *Shape, n *document.Value, kind document.Kind, context string) {
	found := ""
	switch n.Kind {
	case document.String, document.Number:
		found = ", `" + n.Text + "`"
	case document.Bool:
		found = ", `" + printJSON(n) + "`"
	}
	v.fail(context, "Expected %s value for %s shape, `%s`; found %s value%s", kindName(kind), s.Type, s.ID, kindName(n.Kind), found)
}

// integerBounds are the least and greatest value of each type; types without bounds are absent.
var integerBounds = map[Type][2]string{
	Byte: {"-128", "127"}, Short: {"-32768", "32767"}, Integer: {"-2147483648", "2147483647"}, IntEnum: {"-2147483648", "2147483647"},
	Long: {"-9223372036854775808", "9223372036854775807"},
}

func (v *valueCheck) integer(s *Shape, n *document.Value, context string) {
	if !v.want(s, n, document.Number, context) {
		return
	}
	if isFloat(n.Text) {
		v.fail(context, "%s shapes must not have floating point values, but found `%s` provided for `%s`", s.Type, n.Text, s.ID)
		return
	}
	bounds, bounded := integerBounds[s.Type]
	if bounded && compareNumbers(n.Text, bounds[0]) < 0 {
		v.fail(context, "%s value must be > %s, but found %s", s.Type, bounds[0], n.Text)
	} else if bounded && compareNumbers(n.Text, bounds[1]) > 0 {
		v.fail(context, "%s value must be < %s, but found %s", s.Type, bounds[1], n.Text)
	}
}

func (v *valueCheck) structure(s *Shape, n *document.Value, context string, depth int) {
	for _, m := range n.Members {
		if member := s.Member(m.Key); member != nil {
			v.value(member, m.Value, context+"."+m.Key, nil, depth+1)
		} else {
			v.report(WarningSeverity, context, "UnknownMember."+string(s.ID)+"."+m.Key, "Member `%s` does not exist in `%s`", m.Key, s.ID)
		}
	}
	for _, member := range s.Members {
		if member.Has(traitRequired) && n.Get(member.Name()) == nil {
			v.report(v.constraint(), context, "", "Missing required structure member `%s` for `%s`", member.Name(), s.ID)
		}
	}
}

func (v *valueCheck) union(s *Shape, n *document.Value, context string, depth int) {
	if len(n.Members) > 1 {
		v.fail(context, "union values can contain a value for only a single member")
		return
	}
	for _, m := range n.Members {
		if member := s.Member(m.Key); member != nil {
			v.value(member, m.Value, context+"."+m.Key, nil, depth+1)
		} else {
			v.report(ErrorSeverity, context, "UnknownMember."+string(s.ID)+"."+m.Key, "Member `%s` does not exist in `%s`", m.Key, s.ID)
		}
	}
}

// nullable reports whether a member may be null.
func (v *valueCheck) nullable(member *Shape) bool {
	switch member.Container.Type {
	case Structure:
		if member.Has(traitClientOptional) || member.Container.Has(traitInput) {
			return true
		}
		t := member.Trait(traitDefault)
		return !member.Has(traitRequired) && (t == nil || t.Value.Kind == document.Null)
	case Map, List:
		return member.Name() != "key" && member.Container.Has(traitSparse)
	}
	return false
}

func (v *valueCheck) reportNull(member *Shape, context string) {
	switch t := member.Container.Type; t {
	case List, Map:
		v.fail(context, "Non-sparse %s shape `%s` cannot contain null values", t, member.Container.ID)
	case Structure:
		v.fail(context, "Required structure member `%s` for `%s` cannot be null", member.Name(), member.Container.ID)
	}
}

// constraints checks a value against the traits of a shape or member.
func (v *valueCheck) constraints(s *Shape, n *document.Value, context string, via *Shape) {
	t := s.Type
	if t == Member {
		if target := v.m.target(s); target != nil {
			t = target.Type
		}
	}
	if trait := s.Trait(traitLength); trait != nil {
		v.length(s, t, trait.Value, n, context)
	}
	if trait := s.Trait(traitRange); trait != nil && t.number() {
		v.bounds(s, trait.Value, n, context)
	}
	if t.isString() && n.Kind == document.String {
		v.text(s, n, context)
	}
	if trait := s.Trait(traitUniqueItems); trait != nil && n.Kind == document.Array {
		v.unique(s, n, context)
	}
	switch {
	case s.Type == IntEnum && n.Kind == document.Number:
		var values []string
		for _, m := range s.Members {
			if t := m.Trait(traitEnumValue); t != nil {
				values = append(values, t.Value.Text)
			}
		}
		if !slices.ContainsFunc(values, func(text string) bool { return compareNumbers(text, n.Text) == 0 }) {
			v.fail(context, "Integer value provided for `%s` must be one of the following values: %s, but found %s", s.ID, tickedSorted(values), n.Text)
		}
	case (s.Type == Float || s.Type == Double) && n.Kind == document.String:
		if !slices.Contains(nonNumeric, n.Text) {
			v.fail(context, "Value for `%s` must either be numeric or one of the following strings: [\"%s\"], but was \"%s\"",
				s.ID, strings.Join(nonNumeric, `", "`), n.Text)
		}
	case s.Type == Timestamp && !via.Has(traitTimestampFormat), s.Type == Member && s.Has(traitTimestampFormat):
		v.timestamp(s, n, context)
	}
}

// nonNumeric are the texts for floating point values that are not numbers.
var nonNumeric = []string{"NaN", "Infinity", "-Infinity"}

// text checks the constraints of strings.
func (v *valueCheck) text(s *Shape, n *document.Value, context string) {
	if t := s.Trait(traitPattern); t != nil && !v.patterns.match(t.Value.Text, n.Text) {
		v.report(v.constraint(), context, "", "String value provided for `%s` must match regular expression: %s", s.ID, t.Value.Text)
	}
	if values := stringValues(s); values != nil && !slices.Contains(values, n.Text) {
		v.fail(context, "String value provided for `%s` must be one of the following values: %s", s.ID, tickedSorted(values))
	}
	t := s.Trait(traitIDRef)
	if t == nil {
		return
	}
	fail := func(format string, args ...any) {
		if own := t.Value.Get("errorMessage").Str(); own != "" {
			v.fail(context, "%s", own)
			return
		}
		v.fail(context, format, args...)
	}
	if !validID(n.Text) {
		v.fail(context, "Invalid shape ID: %s", n.Text)
		return
	}
	target := v.m.Shape(ID(n.Text))
	sel := t.Value.Get("selector").Str()
	switch {
	case target == nil:
		if t.Value.Get("failWhenMissing").IsTrue() {
			fail("Shape ID `%s` was not found in the model", n.Text)
		}
	case sel != "" && sel != "*" && !v.pick(sel)[target]:
		fail("Shape ID `%s` does not match selector `%s`", n.Text, sel)
	}
}

// stringValues are the values that an enum or a string with the enum trait allows, or nil.
func stringValues(s *Shape) []string {
	var out []string
	if s.Type == Enum {
		for _, m := range s.Members {
			if t := m.Trait(traitEnumValue); t != nil {
				out = append(out, t.Value.Text)
			}
		}
	} else if t := s.Trait(traitEnum); t != nil {
		for _, item := range t.Value.Items {
			out = append(out, item.Get("value").Str())
		}
	}
	return out
}

// lengthTexts are the messages for what is too short and too long, by what is measured.
var lengthTexts = map[string][2]string{
	"string": {"String value provided for `%s` must be >= %s characters, but the provided value is only %d characters.",
		"String value provided for `%s` must be <= %s characters, but the provided value is %d characters."},
	"blob": {"Value provided for `%s` must have at least %s bytes, but the provided value only has %d bytes",
		"Value provided for `%s` must have no more than %s bytes, but the provided value has %d bytes"},
	"list": {"Value provided for `%s` must have at least %s elements, but the provided value only has %d elements",
		"Value provided for `%s` must have no more than %s elements, but the provided value has %d elements"},
	"map": {"Value provided for `%s` must have at least %s entries, but the provided value only has %d entries",
		"Value provided for `%s` must have no more than %s entries, but the provided value has %d entries"},
}

func (v *valueCheck) length(s *Shape, t Type, limits, n *document.Value, context string) {
	var kind string
	var size int
	switch {
	case t.isString() && n.Kind == document.String:
		kind, size = "string", len(utf16.Encode([]rune(n.Text)))
	case t == Blob && n.Kind == document.String:
		kind, size = "blob", len(n.Text)
		if data, err := base64.StdEncoding.DecodeString(n.Text); err == nil && v.base64 {
			size = len(data)
		}
	case t.collection() && n.Kind == document.Array:
		kind, size = "list", len(n.Items)
	case t == Map && n.Kind == document.Object:
		kind, size = "map", len(n.Members)
	default:
		return
	}
	severity := v.constraint()
	if kind == "list" {
		severity = ErrorSeverity
	}
	if bound := limits.Get("min"); bound != nil && compareNumbers(itoa(size), bound.Text) < 0 {
		v.report(severity, context, "", lengthTexts[kind][0], s.ID, bound.Text, size)
	}
	if bound := limits.Get("max"); bound != nil && compareNumbers(itoa(size), bound.Text) > 0 {
		v.report(severity, context, "", lengthTexts[kind][1], s.ID, bound.Text, size)
	}
}

func (v *valueCheck) bounds(s *Shape, limits, n *document.Value, context string) {
	suffix := "Target.InvalidRange"
	if s.Type == Member {
		suffix = "Member.InvalidRange"
	}
	least, most := limits.Get("min"), limits.Get("max")
	switch n.Kind {
	case document.Number:
		severity := v.constraint()
		if v.zeroWarns && number(n.Text).Sign() == 0 {
			severity = WarningSeverity
		}
		if least != nil && compareNumbers(n.Text, least.Text) < 0 {
			v.report(severity, context, suffix, "Value provided for `%s` must be greater than or equal to %s, but found %s", s.ID, least.Text, n.Text)
		}
		if most != nil && compareNumbers(n.Text, most.Text) > 0 {
			v.report(severity, context, suffix, "Value provided for `%s` must be less than or equal to %s, but found %s", s.ID, most.Text, n.Text)
		}
	case document.String:
		switch {
		case n.Text == "NaN":
			v.report(v.constraint(), context, "", "Value provided for `%s` must be a number because the `smithy.api#range` trait is applied, but found \"NaN\"", s.ID)
		case n.Text == "-Infinity" && least != nil:
			v.report(v.constraint(), context, suffix, "Value provided for `%s` must be greater than or equal to %s, but found \"-Infinity\"", s.ID, least.Text)
		case n.Text == "Infinity" && most != nil:
			v.report(v.constraint(), context, suffix, "Value provided for `%s` must be less than or equal to %s, but found \"Infinity\"", s.ID, most.Text)
		}
	}
}

func (v *valueCheck) unique(s *Shape, n *document.Value, context string) {
	seen := map[string]bool{}
	var twice []string
	for _, item := range n.Items {
		text := printJSON(sortedKeys(item))
		if seen[text] && !slices.Contains(twice, text) {
			twice = append(twice, text)
		}
		seen[text] = true
	}
	if twice != nil {
		v.fail(context, "Value provided for `%s` must have unique items, but the following items had multiple entries: [%s]", s.ID, ticked(twice))
	}
}

func (v *valueCheck) timestamp(s *Shape, n *document.Value, context string) {
	format := ""
	if t := s.Trait(traitTimestampFormat); t != nil {
		format = t.Value.Text
	}
	switch format {
	case "epoch-seconds":
		if n.Kind != document.Number {
			v.fail(context, "Invalid %s value provided for a timestamp with a `%s` format.", kindName(n.Kind), format)
		}
	case "http-date":
		found := kindName(n.Kind)
		if n.Kind == document.String {
			found = n.Text
			if _, err := time.Parse("Mon, 2 Jan 2006 15:04:05 GMT", n.Text); err == nil {
				return
			}
		}
		v.fail(context, "Invalid value provided for http-date formatted timestamp. Expected a string value that matches the IMF-fixdate "+
			"production of RFC 9110 section-5.6.7. Found: %s", found)
	case "date-time":
		if n.Kind != document.String {
			v.fail(context, "Expected a string value for a date-time timestamp (e.g., \"1985-04-12T23:20:50.52Z\")")
			return
		}
		v.dateTime(s, n, context)
	case "":
		switch n.Kind {
		case document.Number:
		case document.String:
			v.dateTime(s, n, context)
		default:
			v.fail(context, "Invalid %s value provided for timestamp, `%s`. Expected a number that contains epoch seconds with optional "+
				"millisecond precision, or a string that contains an RFC 3339 formatted timestamp (e.g., \"1985-04-12T23:20:50.52Z\")", kindName(n.Kind), s.ID)
		}
	}
}

func (v *valueCheck) dateTime(s *Shape, n *document.Value, context string) {
	if _, err := time.Parse(time.RFC3339Nano, n.Text); err != nil || !strings.HasSuffix(n.Text, "Z") {
		v.fail(context, "Invalid string value, `%s`, provided for timestamp, `%s`. Expected an RFC 3339 formatted timestamp (e.g., "+
			"\"1985-04-12T23:20:50.52Z\")", n.Text, s.ID)
	}
}
