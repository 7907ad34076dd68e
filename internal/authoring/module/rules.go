package module

import (
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// Rules returns the tables of what the check of a fragment and the expansion report, in the order
// of the documentation.
func Rules() []diag.Rule {
	out := []diag.Rule{
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
	for _, r := range refusals {
		why := r.why
		if r.hint != "" {
			why += " To fix it: " + r.hint + "."
		}
		purpose := strings.NewReplacer("%s", "…", "%d", "…").Replace(r.text) + "."
		out = append(out, diag.Rule{ID: "module/" + r.id, Severity: diag.Error, Purpose: purpose, Why: why})
	}
	return out
}
