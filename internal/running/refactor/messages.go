package refactor

import (
	"net/http"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The reasons of refactors. Those about unsupported types, sections and mappings, and of
// obsolete refactors, are in the words of the service.
const (
	reasonType      = "Stack Refactor does not support %s."
	reasonTags      = "Stack Refactor does not support %s because the resource type does not allow tag updates after creation."
	reasonSections  = "Following template sections are not allowed when creating a stack while refactoring: %s"
	reasonChanged   = "Following template sections are not allowed to change while refactoring: %s"
	reasonUnmoved   = "The resource %s defined in the resources mapping did no move from its original stack %s. Review your stack template desired state."
	reasonAbsent    = "The resource %s defined in the resources mapping does not exist in stack %s."
	reasonMissing   = "The resource %s defined in the resources mapping does not exist in the template of stack %s."
	reasonAmbiguous = "The resources %s have several possible sources. Specify them in the resources mapping."
	reasonModified  = "Stack Refactor does not support modification of resources: %s."
	reasonCreated   = "Stack Refactor does not support creation of resources: %s."
	reasonDeleted   = "Stack Refactor does not support deletion of resources: %s."
	reasonPolicy    = "Stack Refactor does not support stacks with a stack policy."
	reasonState     = "Stack is in %s state and can not be refactored."
	reasonLeftover  = "Stack Refactor does not support stacks with resources that failed to be deleted: %s."
	reasonEmpty     = "Stack Refactor does not support stacks without resources."
	reasonNothing   = "There are no resources to refactor."
	reasonUnknown   = "The values of %s are not known before the refactor is executed."
	reasonObsolete  = "%s: Stack was updated."
	reasonMoved     = "The resources have changed since the stack refactor was created."
)

// refusals are the errors of the operations on refactors. The verbs are those of fmt.
var refusals = map[string]string{
	"none":         "Must provide at least one stack definition to refactor.",
	"many":         "The number of stacks to refactor, %d, is greater than maximum allowed, %d",
	"twice":        "Stack [%s] must not be in the stack definitions more than once.",
	"mapping":      "A resource mapping must have the stack name and the logical resource id of its source and of its destination.",
	"stack":        "Stack [%s] of the resource mappings is not in the stack definitions.",
	"mapped-twice": "A resource must not be the source or the destination of more than one resource mapping.",
	"missing":      "StackRefactor [%s] does not exist",
	"execution":    "StackRefactor [%s] cannot be executed in its current execution status of [%s]",
	"state":        "%s",
	"filter":       "1 validation error detected: Value '%s' at 'executionStatusFilter' failed to satisfy constraint: Member must satisfy enum value set: [UNAVAILABLE, AVAILABLE, OBSOLETE, EXECUTE_IN_PROGRESS, EXECUTE_COMPLETE, EXECUTE_FAILED, ROLLBACK_IN_PROGRESS, ROLLBACK_COMPLETE, ROLLBACK_FAILED]",
}

// refuse makes the refusal of the table.
func refuse(id string, args ...any) *awswire.Error {
	text, ok := refusals[id]
	if !ok {
		panic("refactor: unknown refusal " + id)
	}
	if id == "missing" {
		return awswire.Errorf("StackRefactorNotFoundException", http.StatusNotFound, text, args...)
	}
	return awswire.ValidationErrorf(text, args...)
}
