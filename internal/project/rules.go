package project

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/diag"
)

// Rules returns the tables of what this package reports, in the order of the documentation.
func Rules() []diag.Rule { return slices.Concat(settingsRules(), fragmentRules()) }

// settingsRules are what the reader of .rpdk-config and its companions reports.
func settingsRules() []diag.Rule {
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
		{ID: "project/type-configuration", Purpose: "The type configuration is an object; that of a hook has its settings under CloudFormationConfiguration.HookConfiguration.Properties.",
			Why: "Handlers receive it in this form.", Example: `right: {"CloudFormationConfiguration": {"HookConfiguration": {"Properties": {}}}}`},
		{ID: "project/canary", Severity: diag.Warning, Purpose: "A template can be generated from the inputs of each canary; if not, it is an error.",
			Why: "The generated templates would not deploy."},
	}
}

// fragmentRules are what the check of a module's fragment reports.
func fragmentRules() []diag.Rule {
	return []diag.Rule{
		{ID: "module/no-fragment", Purpose: "The folder fragments contains the template of the module.",
			Why: "A module consists of its template."},
		{ID: "module/multiple-files", Purpose: "The folder fragments contains one template.",
			Why: "The registry accepts one."},
		{ID: "module/syntax", Purpose: "The template is YAML or JSON.",
			Why: "Other files cannot be parsed."},
		{ID: "module/too-large", Purpose: "The template is at most as large as the registry allows.",
			Why: "The registry rejects larger templates."},
		{ID: "module/too-deep", Purpose: "Lists and mappings of the template are not nested deeper than the parser supports.",
			Why: "Templates written by hand are not that deep."},
		{ID: "module/key", Purpose: "The keys of the template are plain words.",
			Why: "A list or a mapping cannot be a key in JSON."},
		{ID: "module/alias", Purpose: "The template has no YAML aliases.",
			Why: "CloudFormation does not allow them.", Example: "wrong: Bucket: *bucket"},
		{ID: "module/merge", Purpose: "The template has no YAML merge keys.",
			Why: "CloudFormation does not allow them.", Example: "wrong: <<: *defaults"},
		{ID: "module/wrong-type", Purpose: "The sections of the template are objects.",
			Why: "The service rejects the template."},
		{ID: "module/resources-missing", Purpose: "The template has the section Resources.",
			Why: "A module without resources has no effect.", Example: `right: "Resources": {"Bucket": {"Type": "AWS::S3::Bucket"}}`},
		{ID: "module/resource-invalid", Purpose: "A resource has the form that CloudFormation knows.",
			Why: "The service rejects the template."},
		{ID: "module/resource-without-type", Purpose: "A resource has a Type.",
			Why: "Without a type, there is nothing to create.", Example: "wrong: \"Bucket\": {\"Properties\": {}}\nright: \"Bucket\": {\"Type\": \"AWS::S3::Bucket\"}"},
		{ID: "module/parameter-without-type", Purpose: "A parameter has a Type.",
			Why: "The service rejects the template.", Example: `right: "Name": {"Type": "String"}`},
		{ID: "module/nested-stack", Purpose: "The module contains no nested stack.",
			Why: "Modules are expanded into the template that uses them; the service rejects stacks in modules.", Example: `wrong: "Type": "AWS::CloudFormation::Stack"`},
		{ID: "module/stack-set", Purpose: "The module contains no stack set.",
			Why: "The service rejects it.", Example: `wrong: "Type": "AWS::CloudFormation::StackSet"`},
		{ID: "module/macro", Purpose: "The module contains no macro.",
			Why: "The service rejects it.", Example: `wrong: "Type": "AWS::CloudFormation::Macro"`},
		{ID: "module/include", Purpose: "The module does not use AWS::Include.",
			Why: "The service rejects it.", Example: "right: what it includes, written into the fragment"},
		{ID: "module/transform-section", Purpose: "The template has no section Transform.",
			Why: "Transforms are applied to the template that uses the module, before the module is expanded."},
		{ID: "module/transform", Purpose: "The template does not call Fn::Transform.",
			Why: "Transforms are applied to the template that uses the module, before the module is expanded."},
		{ID: "module/import-value", Purpose: "The template does not call Fn::ImportValue.",
			Why: "Pass values to a module as parameters.", Example: "wrong: {\"Fn::ImportValue\": \"Network\"}\nright: {\"Ref\": \"Network\"} with a parameter Network"},
		{ID: "module/export", Purpose: "Outputs of the module are not exported.",
			Why: "The template that uses the module can export them under its own names."},
		{ID: "module/too-many-resources", Purpose: "The module has at most 500 resources.",
			Why: "The registry rejects larger modules."},
		{ID: "module/too-many-outputs", Purpose: "The module has at most 200 outputs.",
			Why: "The registry rejects larger modules."},
		{ID: "module/too-many-mappings", Purpose: "The module has at most 200 mappings.",
			Why: "The registry rejects larger modules."},
		{ID: "module/too-many-attributes", Purpose: "A mapping of the module has at most 200 attributes.",
			Why: "The registry rejects larger modules."},
		{ID: "module/ref-unresolved", Severity: diag.Warning, Purpose: "Ref, Fn::GetAtt, Fn::Sub, DependsOn and conditions refer only to names that the template declares.",
			Why: "CloudFormation rejects every template that uses the module.", Example: "wrong: {\"Ref\": \"Netwrk\"} beside a parameter Network\nright: {\"Ref\": \"Network\"}"},
	}
}
