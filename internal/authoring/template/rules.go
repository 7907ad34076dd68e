package template

import (
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// Rules returns the table of what this package reports, in the order of the documentation.
// The refusals have the words of the service.
func Rules() []diag.Rule {
	out := []diag.Rule{{
		ID: "template/not-expanded", Severity: diag.Info, Purpose: "cfn can run the transforms of the template.",
		Why: "It runs only AWS::LanguageExtensions; the result of other transforms is checked when the template is deployed.",
	}}
	for _, id := range Refusals() {
		text, hint, _ := Explain(id)
		why := "CloudFormation refuses the template, or the operation, with these words."
		if hint != "" {
			why += " To fix it: " + hint + "."
		}
		out = append(out, diag.Rule{ID: id, Severity: diag.Error, Purpose: sentence(text), Why: why})
	}
	return out
}

// sentence converts the text of an error to a sentence.
func sentence(text string) string {
	text = strings.NewReplacer("%s", "…", "%d", "…").Replace(text)
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
