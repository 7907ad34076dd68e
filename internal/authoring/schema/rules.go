package schema

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Rule is one kind of problem that [Load] reports. The fields but ID and Severity are
// what "cfn explain" prints.
type Rule struct {
	ID       string // stable: "schema/unknown-key"
	Severity diag.Severity
	Upstream string // the check of another tool that it matches, "" if it is this tool's own
	Purpose  string // what it checks, one sentence
	Why      string // the consequence of a violation
	Example  string // a wrong and a right line of a schema

	kinds []Kind            // the kinds of document that it applies to; all when nil
	check func(*inspection) // nil for what the meta-schemas and the loader report
}

// Rules returns every rule, in the order of the documentation: first those of the
// structure, then errors, then warnings.
func Rules() []Rule { return slices.Concat(structureRules, errorRules, warningRules) }

// An inspection is one run of a rule on one schema.
type inspection struct {
	*Schema
	rule     *Rule
	problems *diag.List
}

// report adds a problem of the rule.
func (in *inspection) report(at diag.Range, pointer document.Pointer, message, hint string, related ...diag.Note) {
	in.problems.Add(diag.Problem{
		ID: in.rule.ID, Severity: in.rule.Severity, At: at, Pointer: pointer.String(),
		Message: message, Hint: hint, Related: related,
	})
}

// check validates the structure, then applies the rules for the kind of document.
func (s *Schema) check() diag.List {
	problems := checkStructure(s.Root, s.Kind)
	for _, rules := range [...][]Rule{errorRules, warningRules} {
		for i := range rules {
			rule := &rules[i]
			if rule.kinds == nil || slices.Contains(rule.kinds, s.Kind) {
				rule.check(&inspection{Schema: s, rule: rule, problems: &problems})
			}
		}
	}
	return problems
}

// structureRules are reported by the meta-schemas and by the loader.
var structureRules = []Rule{{
	ID:       "schema/unknown-key",
	Upstream: "meta-schema: additionalProperties",
	Purpose:  "CloudFormation supports every key of a schema at its position.",
	Why:      "The registry rejects the schema. CloudFormation does not support all keys of JSON Schema (for example if, not and readOnly).",
	Example:  `wrong: "Name": {"type": "string", "maxLenght": 8}` + "\n" + `right: "Name": {"type": "string", "maxLength": 8}`,
}, {
	ID:       "schema/missing-key",
	Upstream: "meta-schema: required",
	Purpose:  "A schema has all required keys.",
	Why:      "The registry requires a type name, a description, properties, a primary identifier and additionalProperties.",
	Example:  `right: "primaryIdentifier": ["/properties/Id"]`,
}, {
	ID:       "schema/wrong-type",
	Upstream: "meta-schema: type",
	Purpose:  "The value of a key has the JSON type that the key requires.",
	Why:      "The registry rejects the schema.",
	Example:  `wrong: "maxLength": "8"` + "\n" + `right: "maxLength": 8`,
}, {
	ID:       "schema/not-allowed",
	Upstream: "meta-schema: const, enum",
	Purpose:  "A key with fixed values has one of them.",
	Why:      "The registry rejects the schema. In particular, additionalProperties is always false: a resource has only the properties in its schema.",
	Example:  `wrong: "type": "text"` + "\n" + `right: "type": "string"`,
}, {
	ID:       "schema/malformed",
	Upstream: "meta-schema: pattern",
	Purpose:  "Strings with a fixed format (URLs, paths of relationships, publishers) have that format.",
	Why:      "The registry rejects the schema.",
	Example:  `wrong: "sourceUrl": "my-repo.git"` + "\n" + `right: "sourceUrl": "https://example.com/my-repo.git"`,
}, {
	ID:       "schema/type-name",
	Upstream: "meta-schema: pattern",
	Purpose:  "A type name has three parts of 2 to 64 letters and digits; that of a module ends in ::MODULE.",
	Why:      "Templates refer to the type by this name; the registry rejects others.",
	Example:  `wrong: "typeName": "Initech-TPS-Report"` + "\n" + `right: "typeName": "Initech::TPS::Report"`,
}, {
	ID:       "schema/property-name",
	Upstream: "meta-schema: patternProperties",
	Purpose:  "Names of properties and definitions have 1 to 64 letters and digits; settings do not start with CloudFormation.",
	Why:      "Other names are not valid in templates and paths.",
	Example:  `wrong: "max_size": {"type": "integer"}` + "\n" + `right: "MaxSize": {"type": "integer"}`,
}, {
	ID:       "schema/empty",
	Upstream: "meta-schema: minItems, minProperties",
	Purpose:  "Lists and objects are not empty.",
	Why:      "The registry rejects the schema; an empty list of paths has no effect, and an empty combiner accepts or rejects everything.",
	Example:  `wrong: "readOnlyProperties": []` + "\n" + `right: leave the key out`,
}, {
	ID:       "schema/out-of-range",
	Upstream: "meta-schema: minimum, maximum",
	Purpose:  "Numbers are in the range of their key: timeouts from 2 to 2160 minutes, lengths from 0.",
	Why:      "The registry rejects the schema.",
	Example:  `wrong: "timeoutInMinutes": 1` + "\n" + `right: "timeoutInMinutes": 2`,
}, {
	ID:       "schema/too-long",
	Upstream: "meta-schema: maxLength",
	Purpose:  "URLs have at most 4096 characters.",
	Why:      "The registry rejects the schema.",
	Example:  `right: "documentationUrl": "https://example.com/docs"`,
}, {
	ID:       "schema/repeated",
	Upstream: "meta-schema: uniqueItems",
	Purpose:  "Lists that are sets (required, enum, several types) have no duplicates.",
	Why:      "The registry rejects the schema.",
	Example:  `wrong: "enum": ["A", "A"]` + "\n" + `right: "enum": ["A"]`,
}, {
	ID:       "schema/needs-type",
	Upstream: "meta-schema: dependencies",
	Purpose:  "enum and const are used together with the type of their values.",
	Why:      "Code is generated from the type; without it, the property can have any type.",
	Example:  `wrong: "Mode": {"enum": ["A", "B"]}` + "\n" + `right: "Mode": {"type": "string", "enum": ["A", "B"]}`,
}, {
	ID:       "schema/properties-with-patterns",
	Upstream: "meta-schema: dependencies",
	Purpose:  "An object has either named properties or patternProperties.",
	Why:      "Most languages have no type for an object with both fixed and variable keys.",
	Example:  `right: "Settings": {"type": "object", "patternProperties": {"^[a-z]+$": {"type": "string"}}, "additionalProperties": false}`,
}}
