package lsp

import "github.com/formwork-dev/formwork/internal/foundation/document"

// A term is a key, function or value of the template language, with its explanation.
type term struct {
	name string
	text string
	tail string // of a key: what its value starts with: "{" an object, "[" a list, "" a text
}

// The keys of the parts of a template. References: Template Reference, "Template sections", "Resource attributes".
var templateKeys = map[string][]term{
	"": {
		{"AWSTemplateFormatVersion", "The version of the template format. The only version is 2010-09-09.", ""},
		{"Description", "A text about the template, up to 1,024 bytes.", ""},
		{"Metadata", "Data about the template, for tools. The key AWS::CloudFormation::Interface arranges the parameters in the console.", "{"},
		{"Parameters", "Values that are passed to each operation on a stack, up to 200.", "{"},
		{"Rules", "Assertions about the parameters, checked before an operation starts.", "{"},
		{"Mappings", "Constant values by two keys, which Fn::FindInMap looks up.", "{"},
		{"Conditions", "Conditions by name. Resources, outputs and Fn::If use them.", "{"},
		{"Transform", "The macros that process the template, such as AWS::LanguageExtensions.", ""},
		{"Resources", "The resources of the stack by logical ID, up to 500. Required.", "{"},
		{"Outputs", "Values that the stack returns, up to 200. Other stacks import exported ones.", "{"},
	},
	"Resources": {
		{"Type", "The type of the resource: Organization::Service::Resource. Required.", ""},
		{"Properties", "The properties of the resource, as the schema of its type declares them.", "{"},
		{"DependsOn", "Logical IDs of the resources that are created before this one, and deleted after it. References create the same order.", ""},
		{"Condition", "The resource exists only if this condition is true.", ""},
		{"DeletionPolicy", "What happens to the resource when it leaves the stack or the stack is deleted: Delete, Retain, RetainExceptOnCreate or Snapshot.", ""},
		{"UpdateReplacePolicy", "What happens to the old resource when an update replaces it: Delete, Retain or Snapshot.", ""},
		{"CreationPolicy", "The signals that the creation waits for.", "{"},
		{"UpdatePolicy", "How some types, such as Auto Scaling groups, apply updates.", "{"},
		{"Metadata", "Data about the resource, for tools.", "{"},
	},
	"Parameters": {
		{"Type", "The type of the value. Required.", ""},
		{"Description", "A text about the parameter, up to 4,000 bytes.", ""},
		{"Default", "The value that is used if none is passed.", ""},
		{"AllowedValues", "The values that the parameter accepts.", "["},
		{"AllowedPattern", "A regular expression that the whole value matches.", ""},
		{"ConstraintDescription", "The message for a value that violates a constraint.", ""},
		{"MinLength", "The minimum number of characters.", ""},
		{"MaxLength", "The maximum number of characters.", ""},
		{"MinValue", "The minimum of a number.", ""},
		{"MaxValue", "The maximum of a number.", ""},
		{"NoEcho", "With true, the value is masked wherever CloudFormation shows the parameters of a stack.", ""},
	},
	"Outputs": {
		{"Value", "The value of the output, a text. Required.", ""},
		{"Description", "A text about the output.", ""},
		{"Export", "Exports the value under a name that is unique in the account and region.", "{"},
		{"Condition", "The output exists only if this condition is true.", ""},
	},
	"Export": {{"Name", "The name that Fn::ImportValue uses.", ""}},
	"Rules": {
		{"RuleCondition", "The rule is checked only if this is true.", "{"},
		{"Assertions", "What must be true. Required.", "["},
	},
	"Assertions": {
		{"Assert", "A condition that must be true. Required.", "{"},
		{"AssertDescription", "The message if it is false.", ""},
	},
	"Metadata": {
		{"AWS::CloudFormation::Interface", "Groups and labels of the parameters in the console.", "{"},
		{"com.aws.cloudformation.Context", "Why the resources are as they are, and what must not change.", "{"},
	},
	"AWS::CloudFormation::Interface": {
		{"ParameterGroups", "Groups of parameters: a Label with a default, and the names of the Parameters.", "["},
		{"ParameterLabels", "Labels by the names of the parameters.", "{"},
	},
	"CreationPolicy": {
		{"ResourceSignal", "The Count of signals to wait for, and the Timeout.", "{"},
		{"AutoScalingCreationPolicy", "MinSuccessfulInstancesPercent of the signals must be successful.", "{"},
	},
	"UpdatePolicy": {
		{"AutoScalingRollingUpdate", "Instances are replaced in batches.", "{"},
		{"AutoScalingReplacingUpdate", "With WillReplace, the group is replaced, and not only its instances.", "{"},
		{"AutoScalingScheduledAction", "With IgnoreUnmodifiedGroupSizeProperties, an update keeps the sizes that a scheduled action changed.", "{"},
		{"CodeDeployLambdaAliasUpdate", "CodeDeploy shifts the traffic of an alias.", "{"},
		{"EnableVersionUpgrade", "An OpenSearch domain is upgraded, and not replaced.", ""},
	},
}

// The functions. References: Template Reference, "Intrinsic functions".
var functionTerms = []term{
	{"Ref", "The value of a parameter, or the identifier of a resource.", ""},
	{"Fn::GetAtt", "An attribute of a resource: `!GetAtt LogicalId.Attribute`.", "get"},
	{"Fn::Sub", "A text in which `${Name}` and `${LogicalId.Attribute}` are replaced. `${!Name}` is the text `${Name}`.", ""},
	{"Fn::Join", "The items of a list as one text: `[delimiter, list]`.", "["},
	{"Fn::Split", "A text as a list: `[delimiter, text]`.", "["},
	{"Fn::Select", "An item of a list: `[index, list]`, from 0.", "["},
	{"Fn::If", "One of two values: `[condition, value if true, value if false]`. `AWS::NoValue` leaves the property out.", "["},
	{"Fn::FindInMap", "A value of a mapping: `[mapping, key, second key]`.", "["},
	{"Fn::ImportValue", "The value that another stack exports under a name.", ""},
	{"Fn::GetStackOutput", "An output of another stack.", "{"},
	{"Fn::GetAZs", "The Availability Zones of a region.", ""},
	{"Fn::Cidr", "CIDR blocks: `[block, count, bits]`.", "["},
	{"Fn::Base64", "A text in Base64.", ""},
	{"Fn::Transform", "The result of a macro for this part of the template.", "{"},
	{"Fn::Length", "The number of items of a list. Requires AWS::LanguageExtensions.", "["},
	{"Fn::ToJsonString", "A value as JSON. Requires AWS::LanguageExtensions.", "{"},
}

var conditionTerms = []term{
	{"Fn::Equals", "True if two values are equal: `[value, value]`.", "["},
	{"Fn::And", "True if all of 2 to 10 conditions are true.", "["},
	{"Fn::Or", "True if one of 2 to 10 conditions is true.", "["},
	{"Fn::Not", "True if a condition is false: `[condition]`.", "["},
	{"Condition", "Another condition, by its name.", ""},
}

var pseudoTerms = []term{
	{"AWS::AccountId", "The ID of the account of the stack.", ""},
	{"AWS::NotificationARNs", "The ARNs of the topics that are notified of events of the stack, a list.", ""},
	{"AWS::NoValue", "Leaves the property, or the item of a list, out.", ""},
	{"AWS::Partition", "The partition: aws, aws-cn or aws-us-gov.", ""},
	{"AWS::Region", "The region of the stack.", ""},
	{"AWS::StackId", "The ARN of the stack.", ""},
	{"AWS::StackName", "The name of the stack.", ""},
	{"AWS::URLSuffix", "The suffix of domain names: amazonaws.com.", ""},
}

// fixedValues are the values of keys of the template language.
var fixedValues = map[string][]string{
	"AWSTemplateFormatVersion":      {"2010-09-09"},
	"Transform":                     {"AWS::LanguageExtensions", "AWS::Serverless-2016-10-31", "AWS::SecretsManager-2024-09-16"},
	"Resources DeletionPolicy":      {"Delete", "Retain", "RetainExceptOnCreate", "Snapshot"},
	"Resources UpdateReplacePolicy": {"Delete", "Retain", "Snapshot"},
	"Parameters NoEcho":             {"true", "false"},
}

// keysAt returns the keys of the template language in an object, nil for an object with other keys.
func keysAt(at document.Pointer) []term {
	switch n := len(at); {
	case n == 0:
		return templateKeys[""]
	case n == 1 && at[0] == "Metadata":
		return templateKeys["Metadata"]
	case n == 2 && at[0] == "Metadata":
		return templateKeys[at[1]]
	case n == 2 && at[0] != "Mappings" && at[0] != "Conditions":
		return templateKeys[at[0]]
	case n == 3 && at[0] == "Resources" && (at[2] == "CreationPolicy" || at[2] == "UpdatePolicy"):
		return templateKeys[at[2]]
	case n == 3 && at[0] == "Outputs" && at[2] == "Export":
		return templateKeys["Export"]
	case n == 4 && at[0] == "Rules" && at[2] == "Assertions":
		return templateKeys["Assertions"]
	}
	return nil
}

// termIn finds a term by its name, nil without one.
func termIn(terms []term, name string) *term {
	for i := range terms {
		if terms[i].name == name {
			return &terms[i]
		}
	}
	return nil
}

// functionTerm explains a function, also a condition function; nil for another name.
func functionTerm(name string) *term {
	if w := termIn(functionTerms, name); w != nil {
		return w
	}
	return termIn(conditionTerms, name)
}

// inConditions reports whether a place is in a condition, where only some functions are allowed.
func inConditions(at document.Pointer) bool {
	return len(at) > 0 && (at[0] == "Conditions" || at[0] == "Rules")
}

// unwrapLoops takes the steps of Fn::ForEach out of a pointer: what is in its body is as if it were outside.
func unwrapLoops(at document.Pointer) document.Pointer {
	out := make(document.Pointer, 0, len(at))
	for i := 0; i < len(at); i++ {
		if len(at[i]) > len("Fn::ForEach::") && at[i][:len("Fn::ForEach::")] == "Fn::ForEach::" && i+1 < len(at) {
			if at[i+1] != "2" {
				return at[i : i+1] // in the list of the loop
			}
			i++
			continue
		}
		out = append(out, at[i])
	}
	return out
}

// propertyTokens is where a pointer leads in the properties of a resource, through the branches of Fn::If; false for
// a place outside of properties or in another function.
func propertyTokens(at document.Pointer) (logicalID string, tokens document.Pointer, ok bool) {
	at = unwrapLoops(at)
	if len(at) < 3 || at[0] != "Resources" || at[2] != "Properties" {
		return "", nil, false
	}
	for i := 3; i < len(at); i++ {
		switch {
		case at[i] == "Fn::If" && i+1 < len(at) && (at[i+1] == "1" || at[i+1] == "2"):
			i++
		case functionTerm(at[i]) != nil && at[i] != "Condition":
			return "", nil, false
		default:
			tokens = append(tokens, at[i])
		}
	}
	return at[1], tokens, true
}
