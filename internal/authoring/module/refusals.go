package module

import (
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A refusal is what the expansion refuses beyond what a template without modules is refused for.
type refusal struct {
	id, text, hint, why string
}

// refusals has the words of the service where they are known.
var refusals = []refusal{
	{"cycle", "Template error: the module %s contains itself", "modules must not contain each other",
		"The expansion would never end."},
	{"depth", "Template error: the module %s is nested deeper than %d levels below a module", "",
		"CloudFormation supports three levels of child modules."},
	{"condition", "Template error: Fn::If cannot be preprocessed", "a condition of the module uses a parameter whose value is Fn::If; pass a parameter of the template",
		"CloudFormation computes conditions before it knows what Fn::If selects."},
	{"name", "Template format error: Duplicate name %s in the %s block of %s after its modules were expanded", "rename the module or the other",
		"A logical ID in a module is the module's logical ID and its own, concatenated; that can be the name of something else."},
	{"values", "Template error: the values of the modules nest deeper than %d levels", "",
		"CloudFormation bounds the depth of templates."},
	{"attribute", "Template error: %s is not supported for the module %s", "specify it for a resource in the module",
		"CreationPolicy, UpdatePolicy and snapshots belong to one resource."},
}

// refuse makes a refusal of the table.
func refuse(id string, at diag.Range, pointer document.Pointer, args ...any) error {
	i := slices.IndexFunc(refusals, func(r refusal) bool { return r.id == id })
	return template.Errors{{
		ID: "module/" + id, Code: template.ValidationError, Message: fmt.Sprintf(refusals[i].text, args...), At: at, Pointer: pointer, Hint: refusals[i].hint,
	}}
}
