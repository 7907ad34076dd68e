package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/stack"
)

// A stackView is what the events of one operation on a stack add up to.
type stackView struct {
	name           string
	status, reason string
	started, ended time.Time
	rows           []*resourceView // in the template's order, then as they came
	graph          *templateGraph  // nil if it is not known
	events         []types.StackEvent
	refused        refusals
	retries        map[string]submit.Retry // by logical ID; of cfn serve only
}

// A resourceView is the state of one resource in an operation. Without a status nothing has
// happened to it yet.
type resourceView struct {
	id, typ        string
	status         string
	started, ended time.Time        // of the last thing that was done with it
	failure        *resourceFailure // kept while the stack is rolled back
}

// A resourceFailure is how a step of a resource failed.
type resourceFailure struct {
	status, reason string
	started, ended time.Time
}

// state is how far the resource is. One that failed stays failed: a rollback does not change that.
func (r *resourceView) state() treeState {
	if r.failure != nil {
		return treeFailed
	}
	return stateOf(r.status)
}

// refusals are the messages of the hooks that refused targets, by logical ID.
type refusals map[string][]string

// add records the message of a hook that refused a target.
func (r refusals) add(e *types.StackEvent) {
	if id := aws.ToString(e.LogicalResourceId); refusedBy(e) && e.HookFailureMode != types.HookFailureModeWarn {
		r[id] = append(r[id], hookText(e))
	}
}

// reason is the reason of an event, or the messages of the hooks that it only names.
func (r refusals) reason(e *types.StackEvent) string {
	reason, said := aws.ToString(e.ResourceStatusReason), r[aws.ToString(e.LogicalResourceId)]
	if len(said) > 0 && strings.HasPrefix(reason, "The following hook(s) failed: ") {
		return strings.Join(said, "; ")
	}
	return reason
}

// refusedBy reports whether an event is that of a hook that failed.
func refusedBy(e *types.StackEvent) bool {
	return e.HookStatus == types.HookStatusHookCompleteFailed || e.HookStatus == types.HookStatusHookFailed
}

// hookText describes the event of a hook.
func hookText(e *types.StackEvent) string {
	name, target := aws.ToString(e.HookType), aws.ToString(e.LogicalResourceId)
	message := aws.ToString(e.HookStatusReason)
	for _, prefix := range []string{"Hook failed with message: ", "Hook succeeded with message: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	message = cmp.Or(message, "no reason given")
	switch {
	case refusedBy(e) && e.HookFailureMode == types.HookFailureModeWarn:
		return fmt.Sprintf("hook %s warns about %s: %s", name, target, message)
	case refusedBy(e):
		return fmt.Sprintf("hook %s refused %s: %s", name, target, message)
	case e.HookStatus == types.HookStatusHookInProgress:
		return fmt.Sprintf("hook %s is running", name)
	}
	return fmt.Sprintf("hook %s passed %s: %s", name, target, message)
}

// newStackView creates a view. The resources are those that the operation is known to change.
func newStackView(name string, graph *templateGraph, resources []*resourceView) *stackView {
	return &stackView{name: name, graph: graph, rows: resources, refused: refusals{}}
}

func (v *stackView) row(id string) *resourceView {
	for _, row := range v.rows {
		if row.id == id {
			return row
		}
	}
	return nil
}

// add merges events, the oldest first.
func (v *stackView) add(events []types.StackEvent) {
	for i := range events {
		v.events = append(v.events, events[i])
		v.addEvent(&events[i])
	}
}

func (v *stackView) addEvent(e *types.StackEvent) {
	at, status := aws.ToTime(e.Timestamp), string(e.ResourceStatus)
	v.refused.add(e)
	if ofStack(e) {
		if v.started.IsZero() {
			v.started = at
		}
		v.status, v.ended = status, at
		v.reason = cmp.Or(aws.ToString(e.ResourceStatusReason), v.reason)
		return
	}
	id := aws.ToString(e.LogicalResourceId)
	row := v.row(id)
	if row == nil {
		row = &resourceView{id: id, typ: aws.ToString(e.ResourceType)}
		v.rows = append(v.rows, row)
	}
	if actionOf(row.status) != actionOf(status) || row.started.IsZero() {
		row.started = at
	}
	row.status, row.ended = status, at
	failed, reason := strings.HasSuffix(status, "_FAILED"), aws.ToString(e.ResourceStatusReason)
	switch {
	case failed && row.failure == nil && !cancelled(reason):
		message, _ := stack.HandlerMessage(v.refused.reason(e))
		row.failure = &resourceFailure{status, message, row.started, at}
	case row.failure != nil && strings.HasSuffix(status, "_COMPLETE") && actionOf(status) == actionOf(row.failure.status) && !strings.Contains(v.status, "ROLLBACK"):
		row.failure = nil // another attempt succeeded
	}
}

// retry notes which calls are made again, and returns those that were not known.
func (v *stackView) retry(found []submit.Retry) (fresh []submit.Retry) {
	now := make(map[string]submit.Retry, len(found))
	for _, r := range found {
		if v.retries[r.LogicalID].Retry != r.Retry {
			fresh = append(fresh, r)
		}
		now[r.LogicalID] = r
	}
	v.retries = now
	return fresh
}

// retryText describes a call that is made again.
func retryText(r submit.Retry) string {
	return fmt.Sprintf("retry %d of %d, next in %d s: %s", r.Retry, r.Limit, (r.WaitMS+999)/1000, flat(r.ErrorCode))
}

// ofStack reports whether an event is about the stack itself.
func ofStack(e *types.StackEvent) bool {
	return aws.ToString(e.PhysicalResourceId) != "" && aws.ToString(e.PhysicalResourceId) == aws.ToString(e.StackId)
}

// actionOf is the action in a status: CREATE, UPDATE, UPDATE_ROLLBACK.
func actionOf(status string) string {
	for _, end := range []string{"_IN_PROGRESS", "_COMPLETE", "_FAILED"} {
		if action, found := strings.CutSuffix(status, end); found {
			return action
		}
	}
	return status
}

// waitsFor returns the resources that a resource waits for. A started resource waits for none.
// During a deletion a resource waits for its dependents.
func (v *stackView) waitsFor(row *resourceView) []string {
	if v.graph == nil || row.status != "" {
		return nil
	}
	deleting := actionOf(v.status) == "DELETE"
	if !deleting && actionOf(v.status) != "CREATE" {
		return nil
	}
	others := v.graph.needs(row.id)
	if deleting {
		others = v.graph.usedBy(row.id)
	}
	var out []string
	for _, id := range others {
		if other := v.row(id); other != nil && !strings.HasSuffix(other.status, "_COMPLETE") {
			out = append(out, id)
		}
	}
	return out
}

// A rootCause is the failure that an operation ended by.
type rootCause struct {
	LogicalID    string          `json:"logicalId"`    // of the stack itself if none of its resources failed
	ResourceType string          `json:"resourceType"` //
	Stack        string          `json:"stackName"`    // another one for a resource of a nested stack
	Status       string          `json:"status"`
	Message      string          `json:"message"` // the message of the handler, or of the service
	ErrorCode    string          `json:"handlerErrorCode"`
	Place        string          `json:"place"`       // FILE:LINE:COLUMN, "" if it is not known; of a resource of a nested stack where that stack is
	NestedPlace  string          `json:"nestedPlace"` // LINE:COLUMN in the template of the nested stack, "" if it is not known
	Log          []string        `json:"log"`         // the last lines that the handler has logged
	AlsoFailed   []string        `json:"alsoFailed"`  // further resources, by their logical IDs
	Problems     []templateFault `json:"problems"`    // that the validation before the deployment found
	function     string          // the name of the function that provides a custom resource
	nested       string          // the ARN of a nested stack that the failure is one of
	operation    string          // its ID
	started      time.Time       // of the step that failed
	ended        time.Time
}

// findRootCause returns the first failure in the events of an operation, the oldest event
// first, that is not the consequence of another one; nil if nothing failed.
func findRootCause(events []types.StackEvent) *rootCause {
	var cause *rootCause
	var own *rootCause // what the stack itself says
	started, refused := map[string]time.Time{}, refusals{}
	for i := range events {
		e := &events[i]
		refused.add(e)
		id, status, reason := aws.ToString(e.LogicalResourceId), string(e.ResourceStatus), aws.ToString(e.ResourceStatusReason)
		if strings.HasSuffix(status, "_IN_PROGRESS") && !ofStack(e) {
			if started[id+" "+status].IsZero() {
				started[id+" "+status] = aws.ToTime(e.Timestamp)
			}
		}
		failed := strings.HasSuffix(status, "_FAILED")
		switch {
		case ofStack(e) && own == nil && reason != "" && (failed || strings.Contains(status, "ROLLBACK")):
			own = newRootCause(e, refused.reason(e))
		case ofStack(e) || !failed || cancelled(reason):
		case cause == nil:
			cause = newRootCause(e, refused.reason(e))
			cause.started = started[id+" "+actionOf(status)+"_IN_PROGRESS"]
		case cause.LogicalID != id && !slices.Contains(cause.AlsoFailed, id):
			cause.AlsoFailed = append(cause.AlsoFailed, id)
		}
	}
	if cause == nil {
		return own
	}
	return cause
}

func newRootCause(e *types.StackEvent, reason string) *rootCause {
	out := &rootCause{
		LogicalID: aws.ToString(e.LogicalResourceId), ResourceType: aws.ToString(e.ResourceType), Stack: aws.ToString(e.StackName),
		Status: string(e.ResourceStatus), ended: aws.ToTime(e.Timestamp),
		Log: []string{}, AlsoFailed: []string{}, Problems: []templateFault{}, operation: aws.ToString(e.OperationId),
	}
	out.Message, out.ErrorCode = stack.HandlerMessage(reason)
	if customresource.IsType(out.ResourceType) {
		out.function = providerOf(aws.ToString(e.ResourceProperties))
	}
	if out.ResourceType == "AWS::CloudFormation::Stack" && !ofStack(e) {
		out.nested = aws.ToString(e.PhysicalResourceId)
	}
	return out
}

// providerOf is the name of the function that provides a custom resource with properties, ""
// if they name none.
func providerOf(properties string) string {
	var given map[string]any
	if json.Unmarshal([]byte(properties), &given) != nil {
		return ""
	}
	token, _ := given[customresource.PropertyToken].(string)
	name, _, ok := lambda.ParseReference(token)
	if !ok || !strings.HasPrefix(token, "arn:") {
		return ""
	}
	return name
}

// cancelled reports whether a resource was stopped because of another, according to a reason.
func cancelled(reason string) bool {
	return reason == "Resource creation cancelled" || reason == "Resource update cancelled" || reason == "Resource deletion cancelled" || reason == "Resource creation cancelled."
}

// flat converts an untrusted text to one line without escape sequences for terminals.
func flat(text string) string { return visible(strings.Join(strings.Fields(text), " ")) }

// eventLine is an event in a pipe.
func eventLine(e *types.StackEvent) string {
	line := aws.ToTime(e.Timestamp).UTC().Format("2006-01-02T15:04:05Z") + "  " + pad(string(e.ResourceStatus), 20) +
		"  " + flat(aws.ToString(e.LogicalResourceId)) + "  " + flat(aws.ToString(e.ResourceType))
	reason := aws.ToString(e.ResourceStatusReason)
	if e.HookType != nil {
		reason = hookText(e)
	}
	if reason = flat(reason); reason != "" {
		line += "  " + reason
	}
	return line
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-len([]rune(text))))
}
