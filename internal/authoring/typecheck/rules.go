package typecheck

import "github.com/formwork-dev/formwork/internal/foundation/diag"

const refused = "CloudFormation refuses the properties before it creates any resource, with the words of the message."

// Rules returns the table of what this package reports, in the order of the documentation.
func Rules() []diag.Rule {
	return []diag.Rule{
		{
			ID: "resource/unknown-property", Purpose: "A resource has only properties that the schema of its type has.", Why: refused,
			Example: "wrong: Properties: {QueueNam: orders}\nright: Properties: {QueueName: orders}",
		},
		{ID: "resource/required", Purpose: "A resource has the properties that its type requires.", Why: refused},
		{
			ID: "resource/type", Purpose: "A property, or the result of a function for it, has the type of the schema.",
			Why:     refused + " A string that reads as the required number or boolean is accepted. If the result of a function is known only during the deployment, the deployment fails.",
			Example: "wrong: SecurityGroupIds: !Ref Group\nright: SecurityGroupIds: [!Ref Group]",
		},
		{ID: "resource/enum", Purpose: "A property has one of the values that the schema allows.", Why: refused},
		{ID: "resource/pattern", Purpose: "A property matches the pattern of the schema.", Why: refused},
		{ID: "resource/length", Purpose: "A text has a length that the schema allows.", Why: refused},
		{ID: "resource/items", Purpose: "A list has only items that the schema allows, and as many as it allows.", Why: refused},
		{ID: "resource/number", Purpose: "A number is within the bounds of the schema.", Why: refused},
		{ID: "resource/combination", Purpose: "The properties match the alternatives of the schema.", Why: refused + " Some types require one of several properties, or exclude properties together."},
		{
			ID: "resource/attribute", Purpose: "Fn::GetAtt and Fn::Sub name an attribute that the type has, and that is not write-only.", Why: "CloudFormation fails the operation when it resolves the reference.",
			Example: "wrong: !GetAtt Queue.ARN\nright: !GetAtt Queue.Arn",
		},
		{
			ID: "resource/attribute-not-read-only", Severity: diag.Warning, Purpose: "Fn::GetAtt names a read-only property of a registered type.",
			Why: "CloudFormation refuses other properties when it resolves the reference. Use the value that the template sets, or Ref for the identifier.",
		},
		{ID: "resource/read-only", Severity: diag.Warning, Purpose: "A template does not set read-only properties.", Why: "CloudFormation ignores the value without a message."},
		{
			ID: "resource/group", Severity: diag.Warning, Purpose: "Properties that belong together are set together, and those that exclude each other are not.",
			Why: "CloudFormation does not check it, but the handler of the type fails. Only schemas with such keywords are checked, as those of an installed cfn-lint.",
		},
		{ID: "resource/deprecated", Severity: diag.Info, Purpose: "A template does not set deprecated properties.", Why: "The publisher of the type may remove them in a later version."},
		{ID: "resource/lifecycle", Severity: diag.Warning, Purpose: "The service of a type is not being shut down.", Why: "According to the schema of the type, the service is being shut down; it may already refuse new resources."},
		{
			ID: "resource/unknown-type", Purpose: "The type of a resource exists.",
			Why: "CloudFormation refuses the template. The problem is an error if all types of the namespace are known; otherwise, it is a warning, and only names that resemble a known type are reported.",
		},
		{
			ID: "resource/not-checked", Severity: diag.Info, Purpose: "The schemas of all types of a template are known.",
			Why: "The properties of other types are not checked. Pass their schemas with --schemas, or read them from the registry with --registry.",
		},
		{
			ID: "resource/replaced", Severity: diag.Warning, Purpose: "With --against STACK: no resource is replaced.",
			Why: "The property is create-only, or the type cannot be updated: CloudFormation creates another resource and deletes the one of the stack, with its data. Keep the value, or set UpdateReplacePolicy.",
		},
		{
			ID: "resource/may-be-replaced", Severity: diag.Warning, Purpose: "With --against STACK: no resource may be replaced.",
			Why: "The handler decides, or the value is known only during the update.",
		},
		{ID: "resource/type-changed", Purpose: "With --against STACK: a logical ID keeps its type.", Why: "CloudFormation refuses the update."},
		{
			ID: "resource/must-never-change", Severity: diag.Warning, Purpose: "With --against STACK: what the deployed template says must never change stays as it is.",
			Why:     "The metadata com.aws.cloudformation.Context of the deployed template has the level must-never-change for the resource or the property. The next template cannot lower the level in the same update. --enforce-context makes it an error.",
			Example: "Metadata: {com.aws.cloudformation.Context: {why: the name is printed, mutability: {BucketName: must-never-change}}}",
		},
		{ID: "resource/not-compared", Severity: diag.Info, Purpose: "With --against STACK: the template can be compared with the stack.", Why: "A template with errors, or with transforms other than AWS::LanguageExtensions, is not compared."},
		{
			ID: "hook/refused", Purpose: "With --hooks: the hooks let the stack, its change set and its resources pass.",
			Why: "The operation on the stack would fail, with the message of the hook. It is a warning if the failure mode of the hook is WARN.",
		},
		{ID: "hook/failed", Purpose: "With --hooks: the hooks answer.", Why: "A hook that crashes, times out or answers with something else stops what it looks at, as if it refused it."},
		{ID: "hook/not-run", Severity: diag.Info, Purpose: "With --hooks: the hooks can see the template.", Why: "A template with errors, or with parameters, modules or macros that the server does not know, is not shown to hooks."},
		{
			ID: "resource/combinations", Severity: diag.Info, Purpose: "All combinations of conditions are checked.",
			Why: "Only the first few hundred combinations of the parameters that conditions depend on are checked. Pass --parameter to reduce them.",
		},
	}
}
