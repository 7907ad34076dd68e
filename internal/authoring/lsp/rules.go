package lsp

import "github.com/formwork-dev/formwork/internal/foundation/diag"

// Rules returns the table of the rules that apply only during editing.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "inputs/no-schema", Severity: diag.Info, Purpose: "Inputs are checked in an editor when the schema of their project has no errors.",
			Why: "Results based on an invalid schema would be wrong; until it is fixed, only the syntax of inputs is checked."},
		{ID: "inputs/unread", Severity: diag.Info, Purpose: "Everything in inputs/ can be read while one of its files is edited.",
			Why: "All files of a set of inputs are needed to find what is missing."},
		{ID: "template/unchecked", Severity: diag.Info, Purpose: "The schemas and modules of a template can be read while it is edited.",
			Why: "Without them, only what the template says itself is checked."},
	}
}
