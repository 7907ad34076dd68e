package contract

import "github.com/formwork-dev/formwork/internal/foundation/diag"

// Rules returns the table of what the readers of inputs/ and overrides.json report, and the contract run itself.
func Rules() []diag.Rule {
	rules := []diag.Rule{
		{ID: "inputs/name", Severity: diag.Warning, Purpose: "Files in inputs/ are named inputs_N_KIND.json, with N from 1, or inputs_N_KIND__TEST.json for one test; an unknown test is an error.",
			Why: "A file with another name is not used, or not used as intended.", Example: "wrong: inputs/create.json\nright: inputs/inputs_1_create.json"},
		{ID: "inputs/null", Purpose: "An input does not contain null.",
			Why: "The official suite sends null to the handlers and expects it in the response, which the handler contract forbids.", Example: "wrong: {\"Title\": null}\nright: {}"},
		{ID: "inputs/duplicate", Purpose: "A set of inputs has one file for each purpose.",
			Why: "Otherwise, it is not defined which file is used.", Example: "wrong: inputs/inputs_1_create.json beside inputs/inputs_01_create.json"},
		{ID: "inputs/gap", Severity: diag.Warning, Purpose: "Sets of inputs are numbered 1, 2, 3 … without a gap.",
			Why: "The official tool stops at the first number without files and never runs the rest.", Example: "wrong: inputs_1_create.json, inputs_3_create.json\nright: inputs_1_create.json, inputs_2_create.json"},
		{ID: "inputs/incomplete", Purpose: "Each set of inputs of a resource type has an input for create.",
			Why: "Every test starts with a create, and inputs are generated only if there are no input files.", Example: "right: inputs/inputs_1_create.json"},
		{ID: "inputs/not-a-model", Purpose: "An input is an object with the properties of the resource, of no more than 1 MiB.",
			Why: "Handlers only receive models.", Example: "wrong: [{\"Name\": \"a\"}]\nright: {\"Name\": \"a\"}"},
		{ID: "inputs/unknown-property", Purpose: "The properties of an input are properties of the schema.",
			Why: "CloudFormation rejects a template with other properties before it calls a handler.", Example: "wrong: {\"Nme\": \"a\"}\nright: {\"Name\": \"a\"}"},
		{ID: "inputs/schema", Severity: diag.Warning, Purpose: "An input is valid against the schema.",
			Why: "CloudFormation would reject it before it calls a handler, so a test with it does not match real use.", Example: "wrong: {\"Size\": -1} where \"minimum\" is 1\nright: {\"Size\": 1}"},
		{ID: "inputs/valid", Severity: diag.Warning, Purpose: "An invalid input is not valid against the schema.",
			Why: "The handler may accept it, and then the test contract_create_invalid fails."},
		{ID: "inputs/export", Purpose: "A {{Name}} in an input is the name of a known export.",
			Why: "Otherwise, the placeholder itself is sent to the service as a value.", Example: "right: cfn test --exports exports.json, with {\"Name\": \"value\"} in it"},
		{ID: "inputs/environment", Purpose: "A {{env:NAME}} in an input names an environment variable that is set.",
			Why: "Otherwise, the placeholder itself is sent to the service as a value.", Example: "right: BUCKET=my-bucket cfn test, with {\"Bucket\": \"{{env:BUCKET}}\"} in the input"},
		{ID: "overrides/structure", Purpose: "overrides.json contains values by JSON pointer under CREATE and UPDATE, or for a hook under its invocation points and targets.",
			Why: "Values elsewhere have no effect.", Example: "wrong: {\"/Name\": \"a\"}\nright: {\"CREATE\": {\"/Name\": \"a\"}}"},
		{ID: "overrides/pointer", Purpose: "An override sets a property that is allowed in the input: not a read-only property, and in an update not a create-only property.",
			Why: "It has no effect, or makes every test fail.", Example: "wrong: {\"CREATE\": {\"/properties/Name\": \"a\"}}\nright: {\"CREATE\": {\"/Name\": \"a\"}}"},
		{ID: "overrides/unused", Severity: diag.Warning, Purpose: "A project has either inputs or overrides.",
			Why: "Overrides change generated inputs, and inputs are generated only if there are no input files."},
		{ID: "contract/left-behind", Severity: diag.Warning, Purpose: "A contract run deletes everything that it created.",
			Why: "Remaining resources cost money and can make the next run fail: delete them manually."},
	}
	return append(rules, upgradeRules()...)
}
