package contract

import "github.com/formwork-dev/formwork/internal/diag"

// Rules returns the table of what the readers of inputs/ and overrides.json report, and the contract run itself.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "inputs/name", Severity: diag.Warning, Purpose: "Files in inputs/ are called inputs_N_KIND.json, N from 1, or inputs_N_KIND__TEST.json for one test; a test that does not exist is an error.",
			Why: "A file with another name is not used, or for something else than was meant.", Example: "wrong: inputs/create.json\nright: inputs/inputs_1_create.json"},
		{ID: "inputs/null", Purpose: "An input has no null.",
			Why: "The official suite sends null to the handlers and wants it back, which the handler contract forbids.", Example: "wrong: {\"Title\": null}\nright: {}"},
		{ID: "inputs/duplicate", Purpose: "A set of inputs has one file for each purpose.",
			Why: "Which of two is used would be chance.", Example: "wrong: inputs/inputs_1_create.json beside inputs/inputs_01_create.json"},
		{ID: "inputs/gap", Severity: diag.Warning, Purpose: "Sets of inputs are numbered 1, 2, 3 … without a gap.",
			Why: "The official tool stops at the first number without files and never runs the rest.", Example: "wrong: inputs_1_create.json, inputs_3_create.json\nright: inputs_1_create.json, inputs_2_create.json"},
		{ID: "inputs/incomplete", Purpose: "Each set of inputs of a resource type has an input for create.",
			Why: "Every test begins with a create, and where there are inputs none are generated.", Example: "right: inputs/inputs_1_create.json"},
		{ID: "inputs/not-a-model", Purpose: "An input is an object with the properties of the resource, of no more than 1 MiB.",
			Why: "Handlers are given models, and nothing else.", Example: "wrong: [{\"Name\": \"a\"}]\nright: {\"Name\": \"a\"}"},
		{ID: "inputs/unknown-property", Purpose: "The properties of an input are properties of the schema.",
			Why: "CloudFormation refuses a template with others before any handler is called.", Example: "wrong: {\"Nme\": \"a\"}\nright: {\"Name\": \"a\"}"},
		{ID: "inputs/schema", Severity: diag.Warning, Purpose: "An input is valid by the schema.",
			Why: "CloudFormation would refuse it before any handler is called; a test with it shows nothing about templates.", Example: "wrong: {\"Size\": -1} where \"minimum\" is 1\nright: {\"Size\": 1}"},
		{ID: "inputs/valid", Severity: diag.Warning, Purpose: "An input that is meant to be invalid is not valid by the schema.",
			Why: "The handler may well take it, and the test contract_create_invalid then fails."},
		{ID: "inputs/export", Purpose: "A {{Name}} in an input is the name of an export that is known.",
			Why: "The text itself would reach the service as a value.", Example: "right: cfn test --exports exports.json, with {\"Name\": \"value\"} in it"},
		{ID: "inputs/environment", Purpose: "A {{env:NAME}} in an input is the name of an environment variable that is set.",
			Why: "The text itself would reach the service as a value.", Example: "right: BUCKET=my-bucket cfn test, with {\"Bucket\": \"{{env:BUCKET}}\"} in the input"},
		{ID: "overrides/structure", Purpose: "overrides.json holds values by their pointers, below CREATE and UPDATE; for a hook below its invocation points and targets.",
			Why: "What stands elsewhere would have no effect.", Example: "wrong: {\"/Name\": \"a\"}\nright: {\"CREATE\": {\"/Name\": \"a\"}}"},
		{ID: "overrides/pointer", Purpose: "An override is for a property that an input of its operation may have: not a read-only one, and not a create-only one in an update.",
			Why: "It would have no effect, or have every test fail.", Example: "wrong: {\"CREATE\": {\"/properties/Name\": \"a\"}}\nright: {\"CREATE\": {\"/Name\": \"a\"}}"},
		{ID: "overrides/unused", Severity: diag.Warning, Purpose: "There are either inputs or overrides.",
			Why: "Overrides change generated inputs; where there are inputs, none are generated."},
		{ID: "contract/left-behind", Severity: diag.Warning, Purpose: "After a contract run nothing that it created is left.",
			Why: "What is left costs money and may be in the way of the next run: delete it by hand."},
	}
}
