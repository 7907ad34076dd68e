package lint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/jsonata"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// valueRules judge the schemas of values: constraints that contradict each other, and
// what the meta-schemas do not look at.
var valueRules = []Rule{{
	ID: "lint/bounds", Severity: diag.Warning, Fault: true,
	Purpose: "The lower limit of a value is not above its upper limit.",
	Why:     "No value satisfies both: the property cannot be set.",
	Bad:     `"properties": {"Color": {"type": "string", "minLength": 8, "maxLength": 4}}`,
	Good:    `"properties": {"Color": {"type": "string", "minLength": 4, "maxLength": 8}}`,
	check:   boundsInOrder,
}, {
	ID: "lint/required-unknown", Severity: diag.Warning, Fault: true,
	Purpose: "The names in required are properties.",
	Why:     "If other properties are not allowed, no value is valid; otherwise, the name is a misspelling.",
	Bad:     `"required": ["Nane"]`,
	Good:    `"required": ["Name"]`,
	check:   requiredKnown,
}, {
	ID: "lint/default-invalid", Severity: diag.Warning, Fault: true,
	Purpose: "A default is a value that its own schema accepts.",
	Why:     "Documentation and generated code include it, but the registry rejects a resource that uses it.",
	Bad:     `"properties": {"Size": {"type": "integer", "default": "5"}}`,
	Good:    `"properties": {"Size": {"type": "integer", "default": 5}}`,
	check:   defaultsValid,
}, {
	ID: "lint/example-invalid", Severity: diag.Warning, Fault: true,
	Purpose: "Examples are values that their own schema accepts.",
	Why:     "Users copy them.",
	Bad:     `"properties": {"Size": {"type": "integer", "examples": ["large"]}}`,
	Good:    `"properties": {"Size": {"type": "integer", "examples": [5]}}`,
	check:   examplesValid,
}, {
	ID: "lint/enum-invalid", Severity: diag.Warning, Fault: true,
	Purpose: "The values of enum and const satisfy the constraints next to them.",
	Why:     "A listed value that is always rejected can never be used.",
	Bad:     `"properties": {"Size": {"type": "integer", "enum": [1, "2"]}}`,
	Good:    `"properties": {"Size": {"type": "integer", "enum": [1, 2]}}`,
	check:   enumsValid,
}, {
	ID: "lint/pattern-value", Severity: diag.Warning, Fault: true,
	Purpose: "The values of patternProperties are schemas, with keywords that CloudFormation knows.",
	Why:     "The meta-schema checks only the keys of patternProperties: a misspelled keyword below them has no effect, and a value that is not a schema breaks other tools.",
	Bad:     `"properties": {"Labels": {"type": "object", "patternProperties": {"^[a-z]+$": {"type": "string", "maxLenght": 8}}, "additionalProperties": false}}`,
	Good:    `"properties": {"Labels": {"type": "object", "patternProperties": {"^[a-z]+$": {"type": "string", "maxLength": 8}}, "additionalProperties": false}}`,
	check:   patternValues,
}, {
	ID: "lint/format-unknown", Severity: diag.Warning, Fault: true,
	Purpose: "A format is one of JSON Schema, or one of the sizes of numbers that AWS uses.",
	Why:     "All tools ignore an unknown format.",
	Bad:     `"properties": {"Since": {"type": "string", "format": "datetime"}}`,
	Good:    `"properties": {"Since": {"type": "string", "format": "date-time"}}`,
	check:   formatsKnown,
}, {
	ID: "lint/pattern-slow", Severity: diag.Warning, Fault: true,
	Purpose: "Matching the defaults, examples and other values of a schema with its patterns finishes within the time limit.",
	Why:     "With nested repetitions, each character can double the time of a match. cfn stops such a match without a result; other tools hang.",
	Bad:     `"properties": {"Name": {"type": "string", "pattern": "^(a+)+$", "default": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}}`,
	Good:    `"properties": {"Name": {"type": "string", "pattern": "^a+$", "default": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}`,
	check:   patternsEnd,
}, {
	ID: "lint/transform-value", Severity: diag.Warning, Fault: true,
	Purpose: "The values of propertyTransform are strings: JSONata expressions, with alternatives separated by $OR.",
	Why:     "The meta-schema does not check these values. A transform that is not a string is never applied, and the property drifts.",
	Bad:     `"propertyTransform": {"/properties/Name": 5}`,
	Good:    `"propertyTransform": {"/properties/Name": "$lowercase(Name)"}`,
	kinds:   resources, check: transformsAreTexts,
}, {
	ID: "lint/transform-syntax", Severity: diag.Warning, Fault: true,
	Purpose: "Each alternative of a propertyTransform is a JSONata expression.",
	Why:     "A transform that cannot be parsed is never applied, so values that the service converts are reported as drift.",
	Bad:     `"propertyTransform": {"/properties/Name": "$lowercase(Name"}`,
	Good:    `"propertyTransform": {"/properties/Name": "$lowercase(Name) $OR $uppercase(Name)"}`,
	kinds:   resources, check: transformsParse,
}, {
	ID: "lint/transform-function", Severity: diag.Warning, Fault: true,
	Purpose: "A propertyTransform calls functions that JSONata has or the expression defines.",
	Why:     "A call of an unknown function fails when the transform is applied, so values that the service converts are reported as drift.",
	Bad:     `"propertyTransform": {"/properties/Name": "$lowercse(Name)"}`,
	Good:    `"propertyTransform": {"/properties/Name": "$lowercase(Name)"}`,
	kinds:   resources, check: transformFunctions,
}, {
	ID: "lint/type-null", Severity: diag.Warning, Fault: true,
	Purpose: "No property has the type null alone.",
	Why:     "A property that is null counts as absent, so such a property can never be set.",
	Bad:     `"properties": {"Color": {"type": "null"}}`,
	Good:    `"properties": {"Color": {"type": "string"}}`,
	check:   typesNotNull,
}}

// The pairs of keywords that bound one value.
var boundPairs = []struct {
	least, most string
	strict      bool // no value is left when the two are equal
}{
	{"minLength", "maxLength", false}, {"minItems", "maxItems", false}, {"minProperties", "maxProperties", false},
	{"minimum", "maximum", false}, {"minimum", "exclusiveMaximum", true},
	{"exclusiveMinimum", "maximum", true}, {"exclusiveMinimum", "exclusiveMaximum", true},
}

func typesNotNull(in *inspection) {
	for _, site := range in.sites {
		if m := site.Node.Member("type"); m != nil && m.Value.Kind == document.String && m.Value.Text == "null" {
			in.report(m.Value.At, site.Pointer.Append("type"), "a value of type null can never be set", "name the type of the value, or remove the property")
		}
	}
}

func boundsInOrder(in *inspection) {
	for _, site := range in.sites {
		for _, pair := range boundPairs {
			least, most := site.Node.Member(pair.least), site.Node.Get(pair.most)
			if least == nil || most == nil {
				continue
			}
			if order, ok := compareNumbers(least.Value, most); ok && (order > 0 || order == 0 && pair.strict) {
				in.report(least.Value.At, site.Pointer.Append(pair.least),
					fmt.Sprintf("no value is valid: %s is %s and %s is %s", pair.least, diag.Cut(least.Value.Text), pair.most, diag.Cut(most.Text)), "swap them, or fix one", note(most.At, pair.most))
			}
		}
	}
}

func requiredKnown(in *inspection) {
	for _, site := range in.sites {
		required := site.Node.Get("required")
		if in.full() || required == nil || required.Kind != document.Array || len(required.Items) == 0 {
			continue
		}
		known, closed := in.namesAround(site)
		if !closed {
			continue
		}
		for i, item := range required.Items {
			if item.Kind == document.String && !known[item.Text] && !in.full() {
				in.report(item.At, site.Pointer.Append("required", strconv.Itoa(i)), fmt.Sprintf("%s is required, but is not a property", quote(item.Text)), in.near(item.Text, slices.Sorted(maps.Keys(known))))
			}
		}
	}
}

// transformFunctions reports functions that are called and do not exist.
func transformFunctions(in *inspection) {
	for _, t := range in.PropertyTransform {
		for _, alternative := range t.Alternatives() {
			expression, err := jsonata.Compile(alternative, jsonata.Config{})
			if err != nil {
				continue // lint/transform-syntax
			}
			for _, name := range expression.UnknownFunctions() {
				in.report(t.Expression.At, document.Pointer{"propertyTransform", t.Path.Text}, fmt.Sprintf("the transform calls the unknown function %s", quote("$"+name)), in.near(name, jsonata.Functions()))
			}
		}
	}
}

// near proposes a known name for a misspelled one.
func (in *inspection) near(word string, known []string) string {
	if in.hints++; in.hints > maxHints {
		return ""
	}
	return words.DidYouMean(word, known)
}

// namesAround collects the properties that the object of a schema can have: its own, those
// of its combiners, and, if it is itself a branch of a combiner, those of the schemas
// around it. It reports false if the object declares none or takes any key.
func (in *inspection) namesAround(site schema.Site) (names map[string]bool, closed bool) {
	names = map[string]bool{}
	open := false
	seen := map[*document.Value]bool{}
	var collect func(v *document.Value)
	collect = func(v *document.Value) {
		node := in.resolved(v)
		if node == nil {
			open = open || v != nil && v.Kind == document.Object
			return
		}
		if seen[node] || len(seen) > 1000 {
			return
		}
		seen[node] = true
		for _, m := range membersOf(node.Get("properties")) {
			names[m.Key] = true
		}
		open = open || node.Get("patternProperties") != nil
		for _, combiner := range combiners {
			for _, branch := range itemsOf(node.Get(combiner)) {
				collect(branch)
			}
		}
		for _, m := range membersOf(node.Get("dependencies")) {
			collect(m.Value)
		}
	}
	collect(site.Node)
	pointer := site.Pointer
	for n := len(pointer); n >= 2 && (slices.Contains(combiners[:], pointer[n-2]) || pointer[n-2] == "dependencies"); n -= 2 {
		collect(in.Root.Lookup(pointer[:n-2]))
	}
	return names, len(names) > 0 && !open
}

// The bounds of the checks of values: published schemas have some hundred values, and the
// combiners of a hostile one would multiply for each of them.
const (
	maxValues     = 8000
	maxValueSteps = 1024
)

// checkValue checks a value that a schema holds against the schema itself. A check that
// was stopped says nothing.
func (in *inspection) checkValue(site schema.Site, node, value *document.Value, pointer document.Pointer, what string) {
	if in.values++; in.values > maxValues {
		return
	}
	violations := in.Check(value.Any(), schema.CheckConfig{Node: node, Steps: maxValueSteps})
	if len(violations) == 0 || violations[0].Keyword == "" {
		return
	}
	first := violations[0]
	where := ""
	if len(first.Pointer) > 0 {
		where = " at " + first.Pointer.String()
	}
	in.report(value.At, pointer, fmt.Sprintf("%s of %s%s %s", what, nameOf(site.Pointer), where, first.Message), "fix the value or the schema")
}

func defaultsValid(in *inspection) {
	for _, site := range in.sites {
		if v := site.Node.Get("default"); v != nil && len(site.Pointer) > 0 {
			in.checkValue(site, site.Node, v, site.Pointer.Append("default"), "the default")
		}
	}
}

func examplesValid(in *inspection) {
	for _, site := range in.sites {
		if len(site.Pointer) == 0 {
			continue
		}
		for i, v := range itemsOf(site.Node.Get("examples")) {
			in.checkValue(site, site.Node, v, site.Pointer.Append("examples", strconv.Itoa(i)), "the example")
		}
	}
}

func enumsValid(in *inspection) {
	for _, site := range in.sites {
		enum, constant := site.Node.Get("enum"), site.Node.Get("const")
		if len(site.Pointer) == 0 || enum == nil && constant == nil || site.Node.Get("$ref") != nil {
			continue
		}
		// enum and const accept themselves; what matters is what is next to them.
		rest := *site.Node
		rest.Members = slices.DeleteFunc(slices.Clone(rest.Members), func(m document.Member) bool { return m.Key == "enum" })
		for i, v := range itemsOf(enum) {
			in.checkValue(site, &rest, v, site.Pointer.Append("enum", strconv.Itoa(i)), "a value of the enum")
		}
		if constant != nil {
			in.checkValue(site, site.Node, constant, site.Pointer.Append("const"), "the const")
		}
	}
}

// keywordKinds are the keywords of a property definition with the kinds of their values.
var keywordKinds = map[string][]document.Kind{
	"$ref": {document.String}, "$comment": {document.String}, "title": {document.String}, "description": {document.String},
	"format": {document.String}, "pattern": {document.String}, "arrayType": {document.String},
	"type": {document.String, document.Array}, "relationshipRef": {document.Object},
	"examples": {document.Array}, "enum": {document.Array}, "required": {document.Array},
	"allOf": {document.Array}, "anyOf": {document.Array}, "oneOf": {document.Array},
	"insertionOrder": {document.Bool}, "uniqueItems": {document.Bool}, "additionalProperties": {document.Bool},
	"multipleOf": {document.Number}, "maximum": {document.Number}, "exclusiveMaximum": {document.Number},
	"minimum": {document.Number}, "exclusiveMinimum": {document.Number}, "maxLength": {document.Number},
	"minLength": {document.Number}, "maxItems": {document.Number}, "minItems": {document.Number},
	"maxProperties": {document.Number}, "minProperties": {document.Number},
	"items": {document.Object}, "properties": {document.Object}, "patternProperties": {document.Object},
	"dependencies": {document.Object}, "contains": {document.Object, document.Bool},
	"default": nil, "const": nil, // anything
}

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

func patternValues(in *inspection) {
	for _, site := range in.sites {
		for _, m := range membersOf(site.Node.Get("patternProperties")) {
			if m.Value.Kind != document.Object {
				in.report(m.Value.At, site.Pointer.Append("patternProperties", m.Key), fmt.Sprintf("the value under the pattern %s is not a schema", quote(m.Key)), `{} allows every value`)
			}
		}
		if in.full() || !site.Pattern || slices.Contains(site.Pointer, "contains") {
			continue
		}
		for _, m := range site.Node.Members {
			if in.full() {
				break
			}
			kinds, known := keywordKinds[m.Key]
			pointer := site.Pointer.Append(m.Key)
			switch {
			case !known:
				in.report(m.KeyAt, pointer, fmt.Sprintf("%s is not a keyword of a property definition", quote(m.Key)), sameButOrder(m.Key))
			case kinds != nil && !slices.Contains(kinds, m.Value.Kind):
				in.report(m.Value.At, pointer, fmt.Sprintf("%s must not be of type %s", quote(m.Key), m.Value.Kind), "")
			}
		}
		for _, name := range typesOf(site.Node) {
			if !slices.Contains(typeNames, name) {
				in.report(site.Node.Get("type").At, site.Pointer.Append("type"), quote(name)+" is not a type of JSON Schema", "types are "+strings.Join(typeNames, ", "))
			}
		}
	}
}

// sameButOrder proposes the keyword that has the same letters, the usual slip of the hand.
func sameButOrder(word string) string {
	letters := func(s string) string {
		b := []byte(strings.ToLower(s))
		slices.Sort(b)
		return string(b)
	}
	for _, keyword := range knownKeywords() {
		if letters(keyword) == letters(word) {
			return fmt.Sprintf("did you mean %s?", quote(keyword))
		}
	}
	return ""
}

func knownKeywords() []string {
	out := make([]string, 0, len(keywordKinds))
	for keyword := range keywordKinds {
		out = append(out, keyword)
	}
	slices.Sort(out)
	return out
}

// formats are those of draft-07, and what AWS writes for the sizes of numbers and times.
var formats = []string{
	"date-time", "date", "time", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri", "uri-reference",
	"iri", "iri-reference", "uri-template", "json-pointer", "relative-json-pointer", "regex",
	"int32", "int64", "float", "double", "timestamp", "password", "byte", "binary", "uuid",
}

func formatsKnown(in *inspection) {
	for _, site := range in.sites {
		if v := site.Node.Get("format"); v != nil && v.Kind == document.String && !slices.Contains(formats, v.Text) {
			in.report(v.At, site.Pointer.Append("format"), quote(v.Text)+" is not a known format", `remove it, or add a "pattern"`)
		}
	}
}

func patternsEnd(in *inspection) {
	for _, site := range in.sites {
		pattern := site.Node.Get("pattern")
		if pattern == nil || pattern.Kind != document.String {
			continue
		}
		values := []*document.Value{site.Node.Get("default"), site.Node.Get("const")}
		for _, v := range slices.Concat(values, itemsOf(site.Node.Get("enum")), itemsOf(site.Node.Get("examples"))) {
			if v != nil && v.Kind == document.String && in.GivesUp(pattern.Text, v.Text) {
				in.report(pattern.At, site.Pointer.Append("pattern"), fmt.Sprintf("matching the pattern of %s with a value of the schema takes too long and was stopped", nameOf(site.Pointer)),
					"merge nested repetitions: (a+)+ is a+")
				break
			}
		}
	}
}

func transformsAreTexts(in *inspection) {
	for _, m := range membersOf(in.Root.Get("propertyTransform")) {
		if m.Value.Kind != document.String {
			in.report(m.Value.At, document.Pointer{"propertyTransform", m.Key}, fmt.Sprintf("the transform of %s is not a string", quote(m.Key)), "write the JSONata expression as a string")
		}
	}
}

func transformsParse(in *inspection) {
	for _, t := range in.PropertyTransform {
		for _, alternative := range t.Alternatives() {
			if _, err := jsonata.Compile(alternative, jsonata.Config{}); err != nil {
				in.report(t.Expression.At, document.Pointer{"propertyTransform", t.Path.Text}, fmt.Sprintf("the transform %s is not JSONata: %s", quote(alternative), diag.Cut(err.Error())),
					"separate alternatives with $OR in one string")
			}
		}
	}
}
