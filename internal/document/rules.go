package document

import "github.com/formwork-dev/formwork/internal/diag"

// Rules returns the table of what the readers of JSON and YAML report.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "document/syntax", Purpose: "The document is JSON (RFC 8259), or YAML where that is read.",
			Why: "What is read over, such as a comma too many, is read over by this tool alone.", Example: "wrong: {\"a\": 1,}\nright: {\"a\": 1}"},
		{ID: "document/too-large", Purpose: "The document has at most 8 MiB, aliases of YAML written out.",
			Why: "The largest published schema has a third of a megabyte; what is larger is a mistake or an attack."},
		{ID: "document/too-deep", Purpose: "Arrays and objects nest at most 512 levels deep.",
			Why: "Deeper documents are not written by people, and exhaust the tools that read them."},
		{ID: "document/duplicate-key", Severity: diag.Warning, Purpose: "No object has a key twice.",
			Why: "The last one counts, silently: the other one is lost.", Example: "wrong: {\"type\": \"string\", \"type\": \"integer\"}\nright: {\"type\": \"string\"}"},
		{ID: "document/several-documents", Purpose: "A YAML file holds one document.",
			Why: "Nobody would look at the others.", Example: "wrong: a: 1\n       ---\n       b: 2"},
		{ID: "document/key", Severity: diag.Warning, Purpose: "The keys of YAML mappings are texts; lists and mappings are errors.",
			Why: "JSON has no other keys; a number is taken for its text.", Example: "wrong: 1: one\nright: \"1\": one"},
		{ID: "document/number", Severity: diag.Warning, Purpose: "Numbers of YAML are such that JSON has and that all versions of YAML agree about; infinities are errors.",
			Why: "007 is seven for some readers and a text for others.", Example: "wrong: Id: 007\nright: Id: \"007\""},
		{ID: "document/boolean", Severity: diag.Warning, Purpose: "The words yes, no, on and off of a YAML template are in quotes, or written as true and false.",
			Why: "CloudFormation reads them as booleans, as YAML 1.1 does.", Example: "wrong: Default: yes\nright: Default: \"yes\""},
		{ID: "document/tag", Purpose: "Tags of YAML stand for values that JSON has.",
			Why: "A schema is JSON: what has no form in it has no meaning for CloudFormation.", Example: "wrong: Data: !!binary aGk=\nright: Data: aGk="},
		{ID: "document/alias", Purpose: "An alias of YAML does not stand inside of what it stands for.",
			Why: "The value would contain itself.", Example: "wrong: a: &x [*x]"},
		{ID: "document/merge", Purpose: "The merge key << of YAML merges mappings.",
			Why: "Anything else has no keys to merge.", Example: "wrong: <<: [1]\nright: <<: *defaults"},
	}
}
