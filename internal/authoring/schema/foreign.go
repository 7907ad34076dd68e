package schema

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// tolerable are the rules whose violation only the author of a schema can repair, and which
// leave the models that it describes clear.
var tolerable = []string{
	"schema/additional-properties", "schema/array-type", "schema/conditional-create-only", "schema/empty", "schema/handler-missing",
	"schema/identifier-unresolved", "schema/malformed", "schema/missing-key", "schema/needs-type", "schema/not-allowed", "schema/out-of-range",
	"schema/property-name", "schema/read-only-overlap", "schema/repeated", "schema/tag-property", "schema/tag-updatable",
	"schema/taggable-and-tagging", "schema/tagging-missing", "schema/too-long", "schema/unknown-key", "schema/write-only-unresolved",
}

// Foreign divides the problems of a schema that belongs to somebody else, such as that of a
// hook's target: errors that prevent its use, and what is ignored in it. Warnings, and errors
// that need not concern its users, are left out. The service and the official tool do not check
// such schemas.
func Foreign(problems diag.List) (errors, ignored diag.List) {
	for _, p := range problems {
		switch {
		case p.Severity != diag.Error:
		case !slices.Contains(tolerable, p.ID):
			errors = append(errors, p)
		case p.ID == "schema/unknown-key":
			p.Severity = diag.Warning
			ignored = append(ignored, p)
		}
	}
	return errors, ignored
}
