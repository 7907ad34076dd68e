package project

import "github.com/formwork-dev/formwork/internal/foundation/diag"

// Rules returns the table of what the reader of .rpdk-config and its companions reports, in the
// order of the documentation.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "project/wrong-type", Purpose: "The values of .rpdk-config have the JSON types that they need.",
			Why: "The official tool and cfn read the same file, and neither converts values.", Example: "wrong: \"entrypoint\": 5\nright: \"entrypoint\": \"bootstrap\""},
		{ID: "project/missing-key", Purpose: ".rpdk-config has all keys that the kind of extension requires.",
			Why: "Without them, cfn cannot generate code or a package.", Example: `right: "typeName": "Initech::TPS::Report"`},
		{ID: "project/too-large", Purpose: ".rpdk-config has at most 10 KiB.",
			Why: "The official tool and the registry do not read larger files."},
		{ID: "project/artifact-type", Purpose: `artifact_type is "RESOURCE", "HOOK" or "MODULE".`,
			Why: "Everything else follows from it.", Example: "wrong: \"artifact_type\": \"resource\"\nright: \"artifact_type\": \"RESOURCE\""},
		{ID: "project/type-name", Purpose: "typeName is a type name of the kind of extension.",
			Why: "Nothing else can be registered.", Example: "wrong: \"typeName\": \"Acme::Foo\"\nright: \"typeName\": \"Acme::Foo::Bar\""},
		{ID: "project/namespace", Severity: diag.Warning, Purpose: "The first part of typeName is not reserved.",
			Why:     "The registry publishes no types in the namespaces Alexa, Amazon, AMZN, ASK, AWS, AwsQuickStart, Custom and Dev, in any case of letters, and does not register those in ASK, Custom and Dev.",
			Example: "wrong: \"typeName\": \"AWS::Foo::Bar\"\nright: \"typeName\": \"Acme::Foo::Bar\""},
		{ID: "project/protocol-version", Severity: diag.Warning, Purpose: `protocolVersion is "2.0.0", or "1.0.0"; any other value is an error.`,
			Why: "Without it registration takes version 1.0.0, the older protocol.", Example: `right: "settings": {"protocolVersion": "2.0.0"}`},
		{ID: "project/runtime-retired", Severity: diag.Warning, Purpose: "Lambda still supports new functions with the runtime of the project.",
			Why: "Otherwise, Lambda does not create the function and the registration fails.", Example: "wrong: \"runtime\": \"go1.x\"\nright: \"runtime\": \"provided.al2023\""},
		{ID: "project/schema-missing", Purpose: "The schema file of the type exists.",
			Why: "The file is named after the type, in lower case with hyphens. Every command needs it.", Example: "right: initech-tps-report.json for Initech::TPS::Report"},
		{ID: "project/type-name-differs", Severity: diag.Warning, Purpose: "The schema and .rpdk-config name the same type.",
			Why: "The registry rejects a package whose schema has a different name."},
		{ID: "project/go-mod", Severity: diag.Warning, Purpose: "The go.mod of a project in Go names the module that the generated sources import, and the library of the handlers.",
			Why: "The sources cannot be built otherwise; cfn generate never changes go.mod, which is yours.", Example: "right: go mod edit -replace github.com/formwork-dev/formwork/sdk=./.formwork/sdk"},
		{ID: "project/example-stale", Severity: diag.Warning, Purpose: "The schema accepts the example inputs.",
			Why: "The schema has changed since they were written. cfn generate updates example inputs that were not edited and keeps yours."},
		{ID: "project/language", Severity: diag.Warning, Purpose: "The official tool has a plugin for the language of the handlers.",
			Why: "cfn does not generate code or start handlers for other languages.", Example: "wrong: \"language\": \"golang\"\nright: \"language\": \"go\""},
		{ID: "project/target-twice", Purpose: "No two schemas of a hook's targets are of the same type.",
			Why: "Code is generated for only one of them, and it is not defined which one."},
		{ID: "project/target-schema", Severity: diag.Warning, Purpose: "cfn understands all of the schema of a hook's target; a schema without a type name is an error.",
			Why: "Schemas that others publish, or that tools such as cfn-lint patch, contain keys that the registry does not know. cfn ignores them, as the official tool does."},
		{ID: "project/type-configuration", Purpose: "The type configuration is an object; that of a hook has its settings under CloudFormationConfiguration.HookConfiguration.Properties.",
			Why: "Handlers receive it in this form.", Example: `right: {"CloudFormationConfiguration": {"HookConfiguration": {"Properties": {}}}}`},
		{ID: "project/canary", Severity: diag.Warning, Purpose: "A template can be generated from the inputs of each canary; if not, it is an error.",
			Why: "The generated templates would not deploy."},
	}
}
