package contract

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// The rules that every event of every operation has to keep, whatever the case. They are
// those of the official suite's calling protocol.
const (
	clauseIdentifier = "Every model that a handler returns has the primary identifier."
	clauseProgress   = "An event in progress has no error code and no list of models."
	clauseSuccess    = "An event of success has no error code and asks for no callback."
	clauseFailed     = "An event of failure has an error code of the handler contract, asks for no callback, and has no list of models."
	clauseWriteOnly  = "Write-only values are never returned."
	clauseModel      = "A successful create, update or read answers with the model of the resource."
	clauseList       = "A successful list answers with an array of models, empty if there is none, and with a token as long as there is more."
	clauseNoNull     = "The model of a resource that is created, read or updated has no null: a property without a value is left out."
	clauseMessage    = "A FAILED event must have a message."
	clauseNoModel    = "A successful delete answers without a model."
	clauseMatch      = "What a create or update was asked for is returned exactly as it was requested, write-only values excepted."
	clauseAnswer     = "A handler answers every call with a progress event: create, update and delete within 60 seconds, read and list within 30."
	clauseSync       = "Read and list answer SUCCESS or FAILED in one call, never IN_PROGRESS."
	clauseStabilize  = "A handler reaches a terminal event within the time that the schema grants it."
)

// A Violation is a clause of the contract that a handler broke.
type Violation struct {
	Clause      string
	Message     string              // what happened, for one line
	Differences []schema.Difference // secrets hidden; nil if it is not about models
}

func (v *Violation) Error() string { return v.Message }

func violated(clause, format string, args ...any) *Violation {
	return &Violation{Clause: clause, Message: fmt.Sprintf(format, args...)}
}

// checkEvent applies the rules to one event. The result is nil if all are kept.
func checkEvent(s *schema.Schema, action invoke.Action, e *invoke.Event) *Violation {
	if v := checkMembers(action, e); v != nil {
		return v
	}
	if action.Hook() {
		return checkHookEvent(action, e)
	}
	switch e.Status {
	case invoke.InProgress:
		return checkProgress(s, action, e)
	case invoke.Success:
		return checkSuccess(s, action, e)
	default:
		return checkFailed(action, e)
	}
}

func checkProgress(s *schema.Schema, action invoke.Action, e *invoke.Event) *Violation {
	switch {
	case action.Synchronous():
		return violated(clauseSync, "%s answered IN_PROGRESS", action)
	case e.ErrorCode != "":
		return violated(clauseProgress, "%s answered IN_PROGRESS with the error code %s", action, e.ErrorCode)
	case e.Models != nil:
		return violated(clauseProgress, "%s answered IN_PROGRESS with resourceModels", action)
	case e.Model == nil:
		return violated(clauseIdentifier, "%s answered IN_PROGRESS without a resourceModel", action)
	}
	if v := checkIdentifier(s, action, e); v != nil {
		return v
	}
	return checkNulls(action, e)
}

// checkIdentifier looks for a value at every path of the primary identifier. An empty text
// does not count, and for the official suite zero, false and empty collections do not count,
// either.
func checkIdentifier(s *schema.Schema, action invoke.Action, e *invoke.Event) *Violation {
	for _, path := range s.PrimaryIdentifier {
		values, ok := schema.Identifier(e.Model, []schema.Path{path})
		if ok && values[0] != "" && isEmpty(values[0]) && (action != invoke.Update || e.Status == invoke.InProgress) {
			return violated(clauseIdentifier, "%s answered %s with %v as %s, which is of the primary identifier: the official suite takes it for no value", action, e.Status, values[0], path.Tokens)
		}
		if !ok || values[0] == "" {
			return violated(clauseIdentifier, "%s answered %s with a model without %s, which is of the primary identifier", action, e.Status, path.Tokens)
		}
	}
	return nil
}

func checkSuccess(s *schema.Schema, action invoke.Action, e *invoke.Event) *Violation {
	switch {
	case e.ErrorCode != "":
		return violated(clauseSuccess, "%s answered SUCCESS with the error code %s", action, e.ErrorCode)
	case e.CallbackDelay != 0:
		return violated(clauseSuccess, "%s answered SUCCESS with a callbackDelaySeconds of %g", action, e.CallbackDelay.Seconds())
	case action == invoke.List && e.Models == nil:
		return violated(clauseList, "LIST answered SUCCESS without resourceModels")
	case action == invoke.List:
		return nil
	case action == invoke.Delete: // that it has no model is what the deletedResource fixture asks
		return checkWriteOnly(s, action, e)
	case e.Model == nil:
		return violated(clauseModel, "%s answered SUCCESS without a resourceModel", action)
	}
	if v := checkWriteOnly(s, action, e); v != nil {
		return v
	}
	if v := checkIdentifier(s, action, e); v != nil {
		return v
	}
	return checkNulls(action, e)
}

// checkWriteOnly looks for write-only values. Empty ones reveal nothing and pass.
func checkWriteOnly(s *schema.Schema, action invoke.Action, e *invoke.Event) *Violation {
	for _, at := range schema.Present(e.Model, s.WriteOnly) {
		if !isEmpty(valueAt(e.Model, at)) {
			return violated(clauseWriteOnly, "%s answered SUCCESS with a value at %s, which is write-only", action, at)
		}
	}
	return nil
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return fmt.Sprint(v) == "0"
}

func checkFailed(action invoke.Action, e *invoke.Event) *Violation {
	switch {
	case e.ErrorCode == "":
		return violated(clauseFailed, "%s answered FAILED without an error code", action)
	case !e.ErrorCode.Known():
		return violated(clauseFailed, "%s answered FAILED with the error code %q, which the handler contract does not have", action, string(e.ErrorCode))
	case e.CallbackDelay != 0:
		return violated(clauseFailed, "%s answered FAILED with a callbackDelaySeconds of %g", action, e.CallbackDelay.Seconds())
	case e.Models != nil:
		return violated(clauseFailed, "%s answered FAILED with resourceModels", action)
	case e.Message == "" && e.Raised != "":
		return violated(clauseAnswer, "%s %s", action, strings.TrimSuffix(e.Raised, "."))
	case e.Message == "":
		return violated(clauseMessage, "%s answered FAILED %s without a message", action, e.ErrorCode)
	}
	return nil
}

// valueAt is what a pointer names in a model, nil if nothing.
func valueAt(model any, at document.Pointer) any {
	for _, token := range at {
		model = schema.Child(model, token)
	}
	return model
}
