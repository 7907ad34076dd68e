package invoke

import "github.com/formwork-dev/formwork/internal/foundation/diag"

// Rules returns the table of what is reported of the file of an event.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "invoke/event", Purpose: "The file of cfn invoke --event is a request as CloudFormation sends it to a handler.",
			Why: "cfn cannot guess missing parts."},
	}
}
