package document

import "github.com/formwork-dev/formwork/internal/foundation/diag"

// Rules returns the table of what the readers of JSON and YAML report.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "document/syntax", Purpose: "The document is JSON (RFC 8259), or YAML where YAML is supported.",
			Why: "Other tools reject what JSON does not allow, such as an extra comma.", Example: "wrong: {\"a\": 1,}\nright: {\"a\": 1}"},
		{ID: "document/too-large", Purpose: "The document has at most 8 MiB, with YAML aliases expanded.",
			Why: "The largest published schema has a third of a megabyte; a larger document is a mistake or an attack."},
		{ID: "document/too-deep", Purpose: "Arrays and objects are nested at most 512 levels deep.",
			Why: "Documents written by hand are not that deep, and deep documents exhaust the tools that read them."},
		{ID: "document/duplicate-key", Severity: diag.Warning, Purpose: "No object has duplicate keys.",
			Why: "Only the last value is used; the other one is lost silently.", Example: "wrong: {\"type\": \"string\", \"type\": \"integer\"}\nright: {\"type\": \"string\"}"},
		{ID: "document/several-documents", Purpose: "A YAML file contains one document.",
			Why: "Other documents in the file would be ignored.", Example: "wrong: a: 1\n       ---\n       b: 2"},
		{ID: "document/key", Severity: diag.Warning, Purpose: "The keys of YAML mappings are strings; lists and mappings are errors.",
			Why: "JSON has no other keys; a number is converted to a string.", Example: "wrong: 1: one\nright: \"1\": one"},
		{ID: "document/number", Severity: diag.Warning, Purpose: "YAML numbers are valid in JSON and the same in all versions of YAML; infinities are errors.",
			Why: "Some parsers read 007 as seven, others as a string.", Example: "wrong: Id: 007\nright: Id: \"007\""},
		{ID: "document/boolean", Severity: diag.Warning, Purpose: "The words yes, no, on and off of a YAML template are in quotes, or written as true and false.",
			Why: "CloudFormation reads them as booleans, as YAML 1.1 does.", Example: "wrong: Default: yes\nright: Default: \"yes\""},
		{ID: "document/tag", Purpose: "YAML tags produce only values that JSON supports.",
			Why: "A schema is JSON; CloudFormation does not support values that JSON does not have.", Example: "wrong: Data: !!binary aGk=\nright: Data: aGk="},
		{ID: "document/alias", Purpose: "A YAML alias is not part of its own value.",
			Why: "The value would contain itself.", Example: "wrong: a: &x [*x]"},
		{ID: "document/merge", Purpose: "The merge key << of YAML merges mappings.",
			Why: "Other values have no keys to merge.", Example: "wrong: <<: [1]\nright: <<: *defaults"},
	}
}
