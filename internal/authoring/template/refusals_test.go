package template

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const simple = "Resources: {R: {Type: 'A::B::C'}}\n"

// A refusalCase is a template and what the service says to it.
type refusalCase struct {
	id, body, want string
	supplied       []Supplied
	previous       *Parameters
	macro          string // the response of every macro
	types          func(string) bool
	given          []string // capabilities; nil asks for none
}

func property(text string) string {
	return "Resources: {R: {Type: 'A::B::C', Properties: {P: " + text + "}}, Q: {Type: 'A::B::C'}}\n"
}

func extended(text string) string { return "Transform: AWS::LanguageExtensions\n" + text }

func given(key, value string) []Supplied { return []Supplied{{Key: key, Value: value, HasValue: true}} }

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// hasABC knows A::B::C.
func hasABC(name string) bool { return name == "A::B::C" }

// stored is a store with three parameters.
type stored struct{}

// StoredParameters implements ParameterStore.
func (stored) StoredParameters(_ context.Context, names []string) (map[string]Stored, error) {
	all := map[string]Stored{"text": {"String", "v"}, "list": {"StringList", "a, b"}, "secret": {"SecureString", "s"}}
	out := map[string]Stored{}
	for _, name := range names {
		if stored, ok := all[name]; ok {
			out[name] = stored
		}
	}
	return out, nil
}

type answering string

func (a answering) Include(context.Context, string) ([]byte, error) { return []byte(a), nil }
func (a answering) Transform(context.Context, MacroCall) ([]byte, error) {
	switch a {
	case "":
		return nil, ErrNoMacro
	case "down":
		return nil, errors.New("the function is down")
	}
	return []byte(a), nil
}

func refusalCases() []refusalCase {
	parameter := func(text string) string { return "Parameters: {P: " + text + "}\n" + simple }
	condition := func(text string) string { return "Conditions: {C: " + text + "}\n" + simple }
	output := func(text string) string { return simple + "Outputs: {O: " + text + "}\n" }
	mapping := func(text string) string { return "Mappings: {M: " + text + "}\n" + simple }
	rule := func(text string) string {
		return "Parameters: {P: {Type: String, Default: x}}\nRules: {A: " + text + "}\n" + simple
	}
	return []refusalCase{
		{id: "too-large", body: strings.Repeat(" ", MaxBytes+1), want: "Template may not exceed 1000000 bytes in size."},
		{id: "json", body: `{"Resources": {"A": {},}}`, want: "Template format error: JSON not well-formed. (line 1, column 24)"},
		{id: "json", body: `{"this is not JSON"="x"}`, want: "Template format error: JSON not well-formed. (line 1, column 21)"},
		{id: "json", body: `{"Resources": {`, want: "Template format error: JSON not well-formed. (line 1, column 16)"},
		{id: "resource-object", body: `{"Resources": "", "Outputs": ""}`, want: "Template format error: Any Resources member must be an object."},
		{id: "yaml", body: "Resources:\n  A:\n    Type: 'x\n", want: "Template format error: YAML not well-formed. (line 3, column 11)"},
		{id: "yaml", body: "Resources: !Unknown x", want: "Template format error: YAML not well-formed. (line 1, column 12)"},
		{id: "yaml", body: property("{<<: {A: 1}}"), want: "Template format error: YAML not well-formed. (line 1, column 51)"},
		{id: "yaml", body: extended(property("!Length [1]")), want: "Template format error: YAML not well-formed. (line 2, column 50)"},
		{id: "alias", body: "Resources: {A: &a {Type: T}, B: *a}", want: "Template error: YAML aliases are not allowed in CloudFormation templates"},
		{id: "structure", body: "https://bucket.s3.amazonaws.com/template", want: "Template format error: unsupported structure."},
		{id: "structure", body: "[]", want: "Template format error: unsupported structure."},
		{id: "character", body: `{"Description": "a\u0000b", "Resources": {"R": {"Type": "A::B::C"}}}`, want: "[/Description] the character U+0000 is not allowed in templates"},
		{id: "character", body: `{"Resources": {"R": {"Type": "A::B::C", "Metadata": {"M": ["", "x\u0000"]}}}}`, want: "[/Resources/R/Metadata/M/1] the character U+0000 is not allowed in templates"},
		{id: "character", body: `{"Metadata": {"M\u0000": 1}, "Resources": {"R": {"Type": "A::B::C"}}}`, want: "[/Metadata/M] the character U+0000 is not allowed in templates"},
		{id: "character", body: "Transform: M\n" + simple, macro: `{"status": "success", "fragment": {"Description": "\u0000", "Resources": {"R": {"Type": "A::B::C"}}}}`, want: "[/Description] the character U+0000 is not allowed in templates"},
		{id: "character", body: property(`{Fn::ImportValue: "a\0"}`), want: "[/Resources/R/Properties/P/Fn::ImportValue] the character U+0000 is not allowed in templates"},
		{id: "character", body: property(`{Fn::GetStackOutput: {StackName: "a\0", OutputName: b}}`), want: "[/Resources/R/Properties/P/Fn::GetStackOutput] the character U+0000 is not allowed in templates"},
		{id: "null", body: output("{Value: null}"), want: "[/Outputs/O/Value] 'null' values are not allowed in templates"},
		{id: "unknown-section", body: simple + "Resource: {}\nOutput: {}", want: "Invalid template property or properties [Resource, Output]"},
		{id: "version", body: "AWSTemplateFormatVersion: 2010-09-08\n" + simple, want: "Template format error: unsupported value for AWSTemplateFormatVersion.  No such version."},
		{id: "description", body: "Description: " + strings.Repeat("d", 1025) + "\n" + simple, want: "Template format error: Description must be a string of at most 1024 bytes."},
		{id: "section-type", body: "Parameters: []\n" + simple, want: "Template format error: [/Parameters] Every Parameters section must be an object."},
		{id: "transform-name", body: "Transform: {Name: [a]}\n" + simple, want: "Key Name of transform definition must be a string."},
		{id: "transform-name", body: property("{Fn::Transform: {Name: {Ref: A}}}"), want: "Key Name of transform definition must be a string."},
		{id: "transform-type", body: "Transform: [[a]]\n" + simple, want: "Template format error: A transform must be a string or an object with the keys Name and Parameters."},
		{id: "name-length", body: "Resources: {" + strings.Repeat("a", 256) + ": {Type: T}}", want: "Template format error: Resource name " + strings.Repeat("a", 256) + " is longer than 255 characters."},
		{id: "name-length", body: "Conditions: {" + strings.Repeat("a", 256) + ": {\"Fn::Equals\": [a, a]}}\n" + simple, want: "Template format error: Condition name " + strings.Repeat("a", 256) + " is longer than 255 characters."},
		{id: "name-length", body: "Rules: {" + strings.Repeat("a", 256) + ": {Assertions: []}}\n" + simple, want: "Template format error: Rule name " + strings.Repeat("a", 256) + " is longer than 255 characters."},
		{id: "name-length", body: "Mappings: {" + strings.Repeat("a", 256) + ": {k: {a: b}}}\n" + simple, want: "Template format error: Mapping name " + strings.Repeat("a", 256) + " is longer than 255 characters."},
		{id: "name-length", body: "Mappings: {M: {" + strings.Repeat("a", 256) + ": {a: b}}}\n" + simple, want: "Template format error: Mapping key name " + strings.Repeat("a", 256) + " is longer than 255 characters."},
		{id: "name-length", body: "Mappings: {M: {k: {" + strings.Repeat("a", 256) + ": b}}}\n" + simple, want: "Template format error: Mapping attribute name " + strings.Repeat("a", 256) + " is longer than 255 characters."},
		{id: "common-names", body: "Parameters: {R: {Type: String, Default: x}}\n" + simple, want: "Template error: all resources and parameters must have unique names. Common name(s):[R]"},
		{id: "no-resources", body: "Outputs: {}", want: "Template format error: At least one Resources member must be defined."},
		{id: "no-resources", body: "Resources: {}", want: "Template format error: At least one Resources member must be defined."},
		{id: "too-many-resources", body: "Resources:\n" + many(501, "  R%d: {Type: T}\n"), want: "Template format error: Number of resources, 501, is greater than maximum allowed, 500"},
		{id: "too-many-parameters", body: simple + "Parameters:\n" + many(201, "  P%d: {Type: String, Default: x}\n"), want: "Template format error: Number of parameters, 201, is greater than maximum allowed, 200"},
		{id: "too-many-outputs", body: simple + "Outputs:\n" + many(201, "  O%d: {Value: x}\n"), want: "Template format error: Number of outputs, 201, is greater than maximum allowed, 200"},
		{id: "too-many-mappings", body: simple + "Mappings:\n" + many(201, "  M%d: {a: {b: c}}\n"), want: "Template format error: Number of mappings, 201, is greater than maximum allowed, 200"},
		{id: "too-many-attributes", body: simple + "Mappings:\n  M:\n    K:\n" + many(201, "      a%d: b\n"), want: "Template format error: Number of mapping attributes, 201, is greater than maximum allowed, 200"},
		{id: "too-many-dynamic", body: property("\"" + many(61, "{{resolve:ssm:a:%d}}") + "\""), want: "Template error: Number of dynamic references, 61, is greater than maximum allowed, 60"},
		{id: "resource-name", body: "Resources: {my-bad-id: {Type: T}}", want: "Template format error: Resource name my-bad-id is non alphanumeric."},
		{id: "resource-name", body: "Resources: {Größe: {Type: T}}", want: "Template format error: Resource name Größe is non alphanumeric."},
		{id: "resource-object", body: "Resources: {A: x}", want: "Template format error: Any Resources member must be an object."},
		{id: "resource-type", body: "Resources: {A: {Properties: {}}}", want: "Template format error: [/Resources/A] Every Resources object must contain a Type member."},
		{id: "resource-property", body: "Resources: {A: {Type: T, Invalid: x}}", want: "Invalid template resource property 'Invalid'"},
		{id: "properties-object", body: "Resources: {A: {Type: T, Properties: [x]}}", want: "Template format error: [/Resources/A/Properties] Every Properties member must be an object."},
		{id: "unknown-types", body: "Resources: {A: {Type: X::Y::Z}, B: {Type: 'A::B::C'}}", types: hasABC, want: "Template format error: Unrecognized resource types: [X::Y::Z]"},
		{id: "depends-on-item", body: "Resources: {A: {Type: T, DependsOn: [[x]]}}", want: "Template format error: Every DependsOn value must be a string."},
		{id: "depends-on", body: "Resources: {A: {Type: T, DependsOn: {Ref: x}}}", want: "Template format error: DependsOn must be a string or list of strings."},
		{id: "policy-string", body: "Resources: {A: {Type: T, DeletionPolicy: !Ref X}}", want: "Template format error: Every DeletionPolicy member must be a string."},
		{id: "deletion-policy", body: "Conditions: {C: !Equals [a, a]}\nResources: {A: {Type: 'A::B::C', DeletionPolicy: !If [C, Keep, Retain]}}", want: "Template format error: Unrecognized DeletionPolicy Keep for resource A"},
		{id: "snapshot", body: "Conditions: {C: !Equals [a, a]}\nResources: {A: {Type: 'A::B::C', DeletionPolicy: !If [C, Snapshot, Retain]}}", want: "Template error: resource type A::B::C does not support deletion policy Snapshot"},
		{id: "policy-string", body: "Conditions: {C: !Equals [a, a]}\nResources: {A: {Type: 'A::B::C', DeletionPolicy: !If [C, !Ref 'AWS::NoValue', Retain]}}", want: "Template format error: Every DeletionPolicy member must be a string."},
		{id: "if-condition", body: "Resources: {A: {Type: 'A::B::C', DeletionPolicy: !If [D, Delete, Retain]}}", want: "Template error: unresolved condition dependency D in Fn::If"},
		{id: "deletion-policy", body: "Resources: {A: {Type: T, DeletionPolicy: Keep}}", want: "Template format error: Unrecognized DeletionPolicy Keep for resource A"},
		{id: "snapshot", body: "Resources: {A: {Type: T, DeletionPolicy: Snapshot}}", want: "Template error: resource type T does not support deletion policy Snapshot"},
		{id: "resource-condition", body: "Resources: {A: {Type: T, Condition: C}}", want: "Template format error: Unresolved condition dependency C in the Resources block of the template"},
		{id: "output-name", body: simple + "Outputs: {a-b: {Value: x}}", want: "Template format error: Output name a-b is non alphanumeric."},
		{id: "output-value", body: output("{Description: x}"), want: "Template format error: Every Outputs member must contain a Value object"},
		{id: "output-property", body: output("{Value: x, Default: y}"), want: "Invalid template output property 'Default'"},
		{id: "output-condition", body: output("{Value: x, Condition: C}"), want: "Template format error: Unresolved condition dependency C in the Outputs block of the template"},
		{id: "output-logic", body: output("{Value: !And [!Equals [a, a], !Equals [b, b]]}"), want: "Template format error: The Value field of every Outputs member must evaluate to a String."},
		{id: "output-logic", body: output("{Value: !Not [!Equals [a, a]]}"), want: "Template format error: The Value field of every Outputs member must evaluate to a String."},
		{id: "output-type", body: output("{Value: [x]}"), want: "The Value field of every Outputs member must evaluate to a String and not a List."},
		{id: "output-type", body: output("{Value: {a: x}}"), want: "The Value field of every Outputs member must evaluate to a String and not a Map."},
		{id: "output-type", body: output("{Value: !Split [',', 'a,b']}"), want: "The Value field of every Outputs member must evaluate to a String and not a List."},
		{id: "export-duplicate", body: simple + "Outputs: {A: {Value: x, Export: {Name: n}}, B: {Value: x, Export: {Name: n}}}", want: "The Outputs section contains duplicate Export names: [n]. Specify a unique name for each export."},
		{id: "export-name", body: output("{Value: x, Export: {Name: a b}}"), want: "Template format error: The Name field of every Export member must be specified and consist only of alphanumeric characters, colons, or hyphens."},
		{id: "export-length", body: output("{Value: x, Export: {Name: " + strings.Repeat("n", 257) + "}}"), want: "The Name field of every Export member must not be longer than 256 characters."},
		{id: "export-resource", body: output("{Value: x, Export: {Name: !GetAtt R.Arn}}"), want: "The Name field of Export must not depend on any resources, imported values, or Fn::GetAZs."},
		{id: "import-name", body: property("!ImportValue {Ref: Q}"), want: "Template error: the attribute in Fn::ImportValue must not depend on any resources, imported values, or Fn::GetAZs"},
		{id: "mapping-name", body: simple + "Mappings: {a-b: {k: {v: x}}}", want: "Template format error: Mappings name 'a-b' must contain only alphanumeric characters."},
		{id: "mapping-member", body: mapping("x"), want: "Template format error: Every Mappings member M must be a map"},
		{id: "mapping-attribute", body: mapping("{k: {v: {x: y}}}"), want: "Template format error: Every Mappings attribute must be a String or a List."},
		{id: "mapping-attribute-key", body: mapping("{k: {a_b: x}}"), want: "Template format error: Mappings attribute name 'a_b' must contain only alphanumeric characters."},

		{id: "parameter-name", body: "Parameters: {'AWS::NoValue': {Type: String}}\n" + simple, want: "Template format error: Parameter name AWS::NoValue is non alphanumeric."},
		{id: "parameter-object", body: parameter("x"), want: "Template format error: Any Parameters member must be an object."},
		{id: "parameter-type", body: parameter("{Default: x}"), want: "Template format error: Every Parameters object must contain a Type member."},
		{id: "parameter-unknown", body: parameter("{Type: Map}"), want: "Template format error: Unrecognized parameter type: Map.  Valid values are " + list(plainTypes)},
		{id: "parameter-property", body: parameter("{Type: String, Min: 1}"), want: "Invalid template parameter property 'Min'"},
		{id: "parameter-default", body: parameter("{Type: String, Default: [x]}"), want: "Template format error: Every Default member must be a string."},
		{id: "parameter-long", body: parameter("{Type: String, Default: " + strings.Repeat("x", 4097) + "}"), want: "Parameter 'P' default value '" + strings.Repeat("x", 4097) + "' length is greater than 4096."},
		{id: "parameter-member", body: parameter("{Type: String, MinLength: x}"), want: "Template format error: Every MinLength member must be a number."},
		{id: "parameter-pattern", body: parameter("{Type: String, AllowedPattern: '('}"), want: "Template format error: AllowedPattern ( of parameter P is not a regular expression."},
		{id: "parameter-versions", body: parameter("{Type: String, Default: '{{resolve:ssm:x}}'}"), want: "Template error: parameter P should not contain ssm versionless resolver"},
		{id: "parameter-undeclared", body: simple, supplied: append(given("A", "x"), given("B", "x")...), want: "Parameters: [A, B] do not exist in the template"},
		{id: "parameter-missing", body: "Parameters: {A: {Type: String}, B: {Type: String}}\n" + simple, want: "Parameters: [A, B] must have values"},
		{id: "parameter-ssm-value", body: parameter("{Type: 'AWS::SSM::Parameter::Value<String>'}"), want: "Parameter P should either have input value or default value"},
		{id: "parameter-repeated", body: parameter("{Type: String}"), supplied: append(given("P", "x"), given("P", "y")...), want: "Parameters: [P] are specified more than once"},
		{id: "previous-value", body: parameter("{Type: String}"), supplied: []Supplied{{Key: "P", Value: "x", UsePrevious: true}}, want: "Invalid input for parameter key P. Cannot specify usePreviousValue as true and non empty value for a parameter"},
		{id: "previous-missing", body: parameter("{Type: String}"), supplied: []Supplied{{Key: "P", UsePrevious: true}}, previous: &Parameters{}, want: "Invalid input for parameter key P. Cannot specify usePreviousValue as true for a parameter key not in the previous template."},
		{id: "value-number", body: parameter("{Type: Number}"), supplied: given("P", "ten"), want: "Parameter 'P' must be a number."},
		{id: "value-number", body: parameter("{Type: List<Number>}"), supplied: given("P", "1, x"), want: "Parameter 'P' must be a number."},
		{id: "value-number", body: parameter("{Type: Number}"), supplied: given("P", "Infinity"), want: "Parameter 'P' must be a number."},
		{id: "value-pattern", body: parameter("{Type: String, AllowedPattern: '[a-z]+'}"), supplied: given("P", "abc1"), want: "Parameter 'P' must match pattern [a-z]+"},
		{id: "value-allowed", body: parameter("{Type: String, AllowedValues: [true, 1.0]}"), supplied: given("P", "1"), want: "Parameter 'P' must be one of AllowedValues"},
		{id: "value-max-length", body: parameter("{Type: String, MaxLength: 2}"), supplied: given("P", "äöü"), want: "Parameter 'P' must contain at most 2 characters"},
		{id: "value-min-length", body: parameter("{Type: String, MinLength: '2'}"), supplied: given("P", "ä"), want: "Parameter 'P' must contain at least 2 characters"},
		{id: "value-min", body: parameter("{Type: Number, MinValue: 2}"), supplied: given("P", "1.99"), want: "Parameter 'P' must be a number not less than 2"},
		{id: "value-max", body: parameter("{Type: Number, MaxValue: 2}"), supplied: given("P", "2.000000000000000000001"), want: "Parameter 'P' must be a number not greater than 2"},
		{id: "value-long", body: parameter("{Type: String}"), supplied: given("P", strings.Repeat("x", 4097)), want: "Parameter 'P' value length is greater than 4096."},
		{id: "value-constraint", body: parameter("{Type: String, MaxLength: 2, ConstraintDescription: be short}"), supplied: given("P", "long"), want: "Parameter 'P' failed to satisfy constraint: be short"},
		{id: "parameter-ssm-value", body: parameter("{Type: 'AWS::SSM::Parameter::Value<String>'}"), supplied: given("P", "none"), want: "Parameter P should either have input value or default value"},
		{id: "store-missing", body: parameter("{Type: 'AWS::SSM::Parameter::Value<String>', Default: none}"), want: "Unable to fetch parameters [none] from parameter store for this account."},
		{id: "store-type", body: parameter("{Type: 'AWS::SSM::Parameter::Value<List<String>>', Default: text}"), want: "Types for SSM parameters [text] defined in CFN template and SSM are incompatible"},
		{id: "store-secure", body: parameter("{Type: 'AWS::SSM::Parameter::Value<String>', Default: secret}"), want: "Parameters [secret] referenced by template have types not supported by CloudFormation."},
		{id: "rule-shape", body: rule("{Assertions: {}}"), want: "Template format error: Rule A must be an object with a list of Assertions."},
		{id: "rule-failed", body: rule("{Assertions: [{Assert: !Contains [[a, b], !Ref P], AssertDescription: P is a or b}]}"), want: "Template error: Rule A failed: P is a or b"},
		{id: "rule-function", body: rule("{Assertions: [{Assert: !Contains [a]}]}"), want: "Template error: every Fn::Contains object requires a list of two arguments"},

		{id: "condition-operation", body: condition("x"), want: "Template format error: Conditions can only be boolean operations on parameters and other conditions"},
		{id: "condition-operation", body: condition("!Not [x]"), want: "Template format error: Conditions can only be boolean operations on parameters and other conditions"},
		{id: "condition-references", body: condition("!Equals [!Ref R, !Ref S]"), want: "Template format error: Unresolved dependencies [R, S]. Cannot reference resources in the Conditions block of the template"},
		{id: "condition-unresolved", body: condition("!Not [!Condition D]"), want: "Template format error: Unresolved condition dependencies [D] in the Conditions block of the template"},
		{id: "condition-function", body: condition("!Equals [!ImportValue x, y]"), want: "Template error: Cannot use Fn::ImportValue in Conditions."},
		{id: "condition-cycle", body: "Conditions: {a: !Not [!Condition b], b: !Not [!Condition a]}\n" + simple, want: "Template error: Found circular condition dependency: a -> b -> a"},
		{id: "condition-cycle", body: "Conditions: {a: !Not [!Condition a]}\n" + simple, want: "Template error: Found circular condition dependency: a -> a"},
		{id: "if-condition", body: property("!If [C, a, b]"), want: "Template error: unresolved condition dependency C in Fn::If"},
		{id: "unresolved", body: property("[!Ref A, !Sub '${B}', !Ref A]"), want: "Template format error: Unresolved resource dependencies [A, B] in the Resources block of the template"},
		{id: "unresolved", body: property("[!Ref __proto__, !Ref constructor, !Ref toString]"), want: "Template format error: Unresolved resource dependencies [__proto__, constructor, toString] in the Resources block of the template"},
		{id: "unresolved", body: output("{Value: !Ref A}"), want: "Template format error: Unresolved resource dependencies [A] in the Outputs block of the template"},
		{id: "unresolved", body: "Resources: {A: {Type: T, DependsOn: [B]}}", want: "Template format error: Unresolved resource dependencies [B] in the Resources block of the template"},
		{id: "unresolved-output", body: "Conditions: {C: !Equals [a, b]}\nResources: {A: {Type: T}, R: {Type: T, Condition: C}}\nOutputs: {O: {Value: !Ref R}}", want: "Unresolved resource dependencies [R] in the Outputs block of the template"},
		{id: "cycle", body: "Resources: {A: {Type: T, DependsOn: B}, B: {Type: T, Properties: {P: !Ref A}}, C: {Type: T, DependsOn: A}, D: {Type: T}}", want: "Circular dependency between resources: [A, B]"},
		{id: "cycle", body: "Resources: {A: {Type: T, Properties: {P: !Sub '${A.Arn}'}}}", want: "Circular dependency between resources: [A]"},
		{id: "cycle", body: "Conditions: {C: !Equals [a, a]}\nResources: {A: {Type: T, Condition: C, Properties: {P: !If [C, !Ref B, x]}}, B: {Type: T, Condition: C, DependsOn: A}}", want: "Circular dependency between resources: [A, B]"},
		{id: "get-att-undefined", body: property("!GetAtt X.Arn"), want: "Template error: instance of Fn::GetAtt references undefined resource X"},
		{id: "sub-attribute", body: property("!Sub '${X.Arn}'"), want: "Template error: instance of Fn::Sub references invalid resource attribute X.Arn"},
		{id: "unsupported-function", body: property("{Fn::Foo: x}"), want: "Template Error: Encountered unsupported function: Fn::Foo Supported functions are: " + supportedFunctions},
		{id: "unsupported-function", body: property("{Fn::Length: [x]}"), want: "Template Error: Encountered unsupported function: Fn::Length Supported functions are: " + supportedFunctions},
		{id: "function-place", body: property("!Base64 {Fn::GetStackOutput: {StackName: s, OutputName: o}}"), want: "Template error: Fn::GetStackOutput is not supported in Fn::Base64"},
		{id: "function-place", body: output("{Value: !GetStackOutput {StackName: s, OutputName: o}}"), want: "Template error: Fn::GetStackOutput is not supported in Outputs"},
		{id: "get-stack-output", body: property("!GetStackOutput {StackName: s}"), want: "Template error: every Fn::GetStackOutput object requires the parameters StackName and OutputName, and optionally Region and RoleArn"},
		{id: "ref", body: property("{Ref: [x]}"), want: "Template error: All References must be of type string"},
		{id: "get-att", body: property("!GetAtt Q"), want: "Template error: every Fn::GetAtt object requires two non-empty parameters, the resource name and the resource attribute"},
		{id: "sub", body: property("!Sub [x, y, z]"), want: "Template error: One or more Fn::Sub intrinsic functions don't specify expected arguments. Specify a string as first argument, and an optional second argument to specify a mapping of values to replace in the string"},
		{id: "sub-name", body: property("!Sub '${a-b}'"), want: "Template error: variable names in Fn::Sub syntax must contain only alphanumeric characters, underscores, periods, and colons"},
		{id: "sub-key", body: property("!Sub ['${a}', {a-b: x, a: y}]"), want: "Template error: every key of the context object of every Fn::Sub object must contain only alphanumeric characters and underscores"},
		{id: "sub-value", body: property("!Sub ['${a}', {a: [x]}]"), want: "Template error: every value of the context object of every Fn::Sub object must be a string or a function that returns a string"},
		{id: "if", body: property("!If [C, a]"), want: "Template error: Fn::If requires a list argument with three elements"},
		{id: "and-or", body: condition("!And [!Equals [a, a]]"), want: "Template error: every Fn::And object requires a list of at least 2 and at most 10 boolean parameters."},
		{id: "and-or", body: condition("!Or [" + many(11, "!Equals [a, %d],") + "]"), want: "Template error: every Fn::Or object requires a list of at least 2 and at most 10 boolean parameters."},
		{id: "not", body: condition("!Not [!Equals [a, a], x]"), want: "Template error: Fn::Not requires a list argument with one element"},
		{id: "equals", body: condition("!Equals [a]"), want: "Template error: every Fn::Equals object requires a list of 2 string parameters."},
		{id: "find-in-map", body: property("!FindInMap [a, b]"), want: "Template error: every Fn::FindInMap object requires three parameters, the map name, map key and the attribute for return value"},
		{id: "mapping-missing", body: property("!FindInMap [M, b, c]"), want: "Template error: Mapping named 'M' is not present in the 'Mappings' section of template"},
		{id: "mapping-key", body: "Mappings: {M: {a: {b: c}}}\n" + property("!FindInMap [M, !Ref 'AWS::Region', b]"), want: "Template error: Unable to get mapping for M::us-east-1::b"},
		{id: "base64", body: property("!Base64 [x]"), want: "Template error: every Fn::Base64 object must have a String-typed value."},
		{id: "get-azs", body: property("!GetAZs [x]"), want: "Template error: every Fn::GetAZs object must have a String-typed value."},
		{id: "cidr", body: property("!Cidr [10.0.0.0/16]"), want: "Template error: every Fn::Cidr object requires two parameters, (1) ipBlock and (2) count, and an optional third parameter, cidrBits"},
		{id: "cidr-range", body: property("!Cidr [10.0.0.0/24, 3, 7]"), want: "Template error: Fn::Cidr cannot make 3 blocks with 7 host bits from 10.0.0.0/24"},
		{id: "join", body: property("!Join [',', x]"), want: "Template error: every Fn::Join object requires two parameters, (1) a string delimiter and (2) a list of strings to be joined or a function that returns a list of strings (such as Fn::GetAZs) to be joined."},
		{id: "split", body: property("{Fn::Split: {Ref: 'AWS::Region'}}"), want: "Template error: every Fn::Split object requires two parameters, (1) a string delimiter and (2) a string to be split or a function that returns a string to be split."},
		{id: "select", body: property("!Select [a, [b]]"), want: "Template error: Fn::Select requires a list argument with two elements: an integer index and a list"},
		{id: "select", body: property("!Select [1, [b]]"), want: "Template error: Fn::Select requires a list argument with two elements: an integer index and a list"},
		{id: "select", body: property("!Select [-1, [b]]"), want: "Template error: Fn::Select requires a list argument with two elements: an integer index and a list"},
		{id: "select-range", body: property("!Select [9, !GetAZs '']"), want: "Template error: Fn::Select cannot select nonexistent value at index 9"},
		{id: "select-range", body: property("!Select [1, !Split [',', b]]"), want: "Template error: Fn::Select cannot select nonexistent value at index 1"},
		{id: "import-value", body: property("!ImportValue [x]"), want: "Template error: the attribute in Fn::ImportValue must be a string or a function that returns a string"},
		{id: "length", body: extended(property("{Fn::Length: !GetAZs ''}") + "Outputs: {O: {Value: {Fn::Length: !If [C, a, b]}}}\nConditions: {C: !Equals [a, b]}"), want: "Fn::Length resolve value type mismatch"},
		{id: "to-json-string", body: extended(property("{Fn::ToJsonString: !Ref Q}") + "Outputs: {O: {Value: {Fn::ToJsonString: x}}}"), want: "Transform AWS::LanguageExtensions failed with: Fn::ToJsonString layout is incorrect"},
		{id: "value-too-large", body: property("!Join ['" + strings.Repeat("x", 100_000) + "', !Split [a, '" + strings.Repeat("a", 1000) + "']]"), want: "Template error: the values of the template exceed 33554432 bytes (/Resources/R/Properties/P)"},

		{id: "transform-unavailable", body: "Transform: M\n" + simple, want: "No transform named 1::M found."},
		{id: "transform-failed", body: "Transform: M\n" + simple, macro: "down", want: "Transform 1::M failed with: the function is down"},
		{id: "transform-failed", body: "Transform: M\n" + simple, macro: `{"status": "failure", "errorMessage": "no", "fragment": {}}`, want: "Transform 1::M failed with: no"},
		{id: "transform-silent", body: "Transform: M\n" + simple, macro: `{"status": "failed"}`, want: "Transform 1::M failed without an error message."},
		{id: "transform-malformed", body: "Transform: M\n" + simple, macro: `{"status": "success"}`, want: "Received malformed response from transform 1::M"},
		{id: "transform-malformed", body: "Transform: M\n" + simple, macro: `"x"`, want: "Received malformed response from transform 1::M"},
		{id: "transform-nested", body: "Transform: M\n" + simple, macro: `{"status": "success", "fragment": {"Transform": "M"}}`, want: "Template error: transforms nest deeper than 10 levels"},
		{id: "transform-nested", body: property("{Fn::Transform: {Name: M}}"), macro: `{"status": "success", "fragment": {"Fn::Transform": {"Name": "M"}}}`, want: "Template error: transforms nest deeper than 10 levels"},
		{id: "transform-failed", body: extended("Resources: {A: {Type: T, DeletionPolicy: !Ref 'AWS::NoValue'}}"), want: "Transform AWS::LanguageExtensions failed with: AWS::NoValue is not supported for DeletionPolicy or UpdateReplacePolicy"},
		{id: "transform-failed", body: extended("Resources: {A: {Type: T, DeletionPolicy: [x]}}"), want: "Transform AWS::LanguageExtensions failed with: Every DeletionPolicy member must be a string"},
		{id: "transform-failed", body: extended("Resources: {'Fn::ForEach::L': [x, [a]]}"), want: "Transform AWS::LanguageExtensions failed with: Fn::ForEach::L layout is incorrect"},
		{id: "transform-failed", body: extended(property("!Select [4, [a]]")), want: "Transform AWS::LanguageExtensions failed with: Fn::Select index out of bounds"},
		{id: "transform-failed", body: extended(property("!Split ['', a]")), want: "Transform AWS::LanguageExtensions failed with: Fn::Split delimiter cannot be empty"},
		{id: "transform-failed", body: extended("Mappings: {M: {a: {b: c}}}\n" + property("!FindInMap [M, k, b]")), want: "Transform AWS::LanguageExtensions failed with: Fn::FindInMap cannot find key 'k' in map 'M'"},
		{id: "capabilities", body: "Resources: {A: {Type: 'AWS::IAM::Role'}}", given: []string{}, want: "Requires capabilities : [CAPABILITY_IAM]"},
		{id: "capabilities", body: "Resources: {A: {Type: 'AWS::IAM::Role', Properties: {RoleName: x}}}", given: []string{"CAPABILITY_IAM"}, want: "Requires capabilities : [CAPABILITY_NAMED_IAM]"},
		{id: "capabilities", body: "Transform: M\n" + simple, given: []string{}, want: "Requires capabilities : [CAPABILITY_AUTO_EXPAND]"},

		{id: "dynamic-format", body: property("'{{resolve:ssm:/a:prod}}'"), want: "Incorrect format is used in the following SSM reference: [{{resolve:ssm:/a:prod}}]"},
		{id: "dynamic-secret", body: property("'{{resolve:secretsmanager:a:Binary}}'"), want: "Incorrect format is used in the following Secrets Manager reference: [{{resolve:secretsmanager:a:Binary}}]"},
		{id: "dynamic-secure", body: property("'{{resolve:ssm-secure:/a:1}}'"), want: "SSM Secure reference is not supported in: [A::B::C/Properties/P]"},
	}
}

// refused takes a template through all steps and returns the first refusal.
func refused(c refusalCase) error { return refusedWithin(context.Background(), c) }

// refusedWithin is refused for the request of a context.
func refusedWithin(ctx context.Context, c refusalCase) error {
	parsed, err := Parse("t.yaml", []byte(c.body), ParseOptions{})
	if err != nil {
		return err
	}
	if c.given != nil {
		if err := parsed.CheckCapabilities(c.given); err != nil {
			return err
		}
	}
	bound, err := parsed.Bind(ctx, BindInput{Supplied: c.supplied, Previous: c.previous, Store: stored{}})
	if err != nil {
		return err
	}
	pseudo := Pseudo{AccountID: "1", Region: "us-east-1"}
	processed, err := parsed.Expand(ctx, ExpandInput{Parameters: bound, Pseudo: pseudo, Macros: answering(c.macro)})
	if err != nil {
		return err
	}
	if err := processed.Check(ctx, c.types); err != nil {
		return err
	}
	scope, err := processed.NewScope(ScopeInput{Parameters: bound, Pseudo: pseudo, Budget: BudgetOf(ctx)})
	if err != nil {
		return err
	}
	return scope.Check(ctx)
}

func TestRefusals(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range refusalCases() {
		tested["template/"+c.id] = true
		t.Run(c.id, func(t *testing.T) {
			err := refused(c)
			var first *Error
			if !errors.As(err, &first) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if first.Message != c.want || err.Error() != c.want {
				t.Errorf("got  %q\nwant %q", first.Message, c.want)
			}
			wantCode := ValidationError
			if c.id == "capabilities" {
				wantCode = InsufficientCapabilities
			}
			if first.Code != wantCode {
				t.Errorf("the code is %s", first.Code)
			}
		})
	}
	for _, id := range Refusals() {
		if !tested[id] {
			t.Errorf("%s has no test", id)
		}
	}
	if !slices.IsSorted(Refusals()) {
		t.Error("the IDs are not sorted")
	}
}
