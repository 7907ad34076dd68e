// Package stackview follows an operation on a stack for a person: what its events add up to ([View]), drawn as a tree over
// the one before ([Screen]), and the failure that the operation ended by ([FindRootCause]). [Graph] is what the template says
// of the resources before anything has happened to them.
//
// It reads events of the service only, so that it shows the same for AWS and for a local CloudFormation. All texts of events
// are untrusted: they are on one line, without escape sequences, before they are drawn.
package stackview

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/stack"
)

// A View is what the events of one operation on a stack add up to.
type View struct {
	Name           string
	Started, Ended time.Time          // of the operation; Started is zero before its first event
	Resources      []*Resource        // in the template's order, then as they came
	Events         []types.StackEvent // the oldest first
	status, reason string
	graph          *Graph // nil if it is not known
	refused        refusals
	retries        map[string]submit.Retry // by logical ID; of cfn serve only
}

// A Resource is the state of one resource in an operation. Without a status nothing has
// happened to it yet.
type Resource struct {
	ID, Type       string
	Status         string
	started, ended time.Time // of the last thing that was done with it
	failure        *Failure  // kept while the stack is rolled back
}

// A Failure is how a step of a resource failed.
type Failure struct {
	status, reason string
	started, ended time.Time
}

// state is how far the resource is. One that failed stays failed: a rollback does not change that.
func (r *Resource) state() State {
	if r.failure != nil {
		return Failed
	}
	return StateOf(r.Status)
}

// refusals are the messages of the hooks that refused targets, by logical ID.
type refusals map[string][]string

// add records the message of a hook that refused a target.
func (r refusals) add(e *types.StackEvent) {
	if id := aws.ToString(e.LogicalResourceId); refusedBy(e) && e.HookFailureMode != types.HookFailureModeWarn {
		r[id] = append(r[id], HookText(e))
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

// HookText describes the event of a hook.
func HookText(e *types.StackEvent) string {
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

// New creates a view. The resources are those that the operation is known to change.
func New(name string, graph *Graph, resources []*Resource) *View {
	return &View{Name: name, graph: graph, Resources: resources, refused: refusals{}}
}

func (v *View) row(id string) *Resource {
	for _, row := range v.Resources {
		if row.ID == id {
			return row
		}
	}
	return nil
}

// Add merges events, the oldest first.
func (v *View) Add(events []types.StackEvent) {
	for i := range events {
		v.Events = append(v.Events, events[i])
		v.addEvent(&events[i])
	}
}

func (v *View) addEvent(e *types.StackEvent) {
	at, status := aws.ToTime(e.Timestamp), string(e.ResourceStatus)
	v.refused.add(e)
	if ofStack(e) {
		if v.Started.IsZero() {
			v.Started = at
		}
		v.status, v.Ended = status, at
		v.reason = cmp.Or(aws.ToString(e.ResourceStatusReason), v.reason)
		return
	}
	id := aws.ToString(e.LogicalResourceId)
	row := v.row(id)
	if row == nil {
		row = &Resource{ID: id, Type: aws.ToString(e.ResourceType)}
		v.Resources = append(v.Resources, row)
	}
	if actionOf(row.Status) != actionOf(status) || row.started.IsZero() {
		row.started = at
	}
	row.Status, row.ended = status, at
	failed, reason := strings.HasSuffix(status, "_FAILED"), aws.ToString(e.ResourceStatusReason)
	switch {
	case failed && row.failure == nil && !cancelled(reason):
		message, _ := stack.HandlerMessage(v.refused.reason(e))
		row.failure = &Failure{status, message, row.started, at}
	case row.failure != nil && strings.HasSuffix(status, "_COMPLETE") && actionOf(status) == actionOf(row.failure.status) && !strings.Contains(v.status, "ROLLBACK"):
		row.failure = nil // another attempt succeeded
	}
}

// Retry notes which calls are made again, and returns those that were not known.
func (v *View) Retry(found []submit.Retry) (fresh []submit.Retry) {
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

// RetryText describes a call that is made again.
func RetryText(r submit.Retry) string {
	return fmt.Sprintf("retry %d of %d, next in %d s: %s", r.Retry, r.Limit, (r.WaitMS+999)/1000, words.Flat(r.ErrorCode))
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
func (v *View) waitsFor(row *Resource) []string {
	if v.graph == nil || row.Status != "" {
		return nil
	}
	deleting := actionOf(v.status) == "DELETE"
	if !deleting && actionOf(v.status) != "CREATE" {
		return nil
	}
	others := v.graph.needs(row.ID)
	if deleting {
		others = v.graph.usedBy(row.ID)
	}
	var out []string
	for _, id := range others {
		if other := v.row(id); other != nil && !strings.HasSuffix(other.Status, "_COMPLETE") {
			out = append(out, id)
		}
	}
	return out
}

// EventLine is an event in a pipe.
func EventLine(e *types.StackEvent) string {
	line := aws.ToTime(e.Timestamp).UTC().Format("2006-01-02T15:04:05Z") + "  " + words.Pad(string(e.ResourceStatus), 20) +
		"  " + words.Flat(aws.ToString(e.LogicalResourceId)) + "  " + words.Flat(aws.ToString(e.ResourceType))
	reason := aws.ToString(e.ResourceStatusReason)
	if e.HookType != nil {
		reason = HookText(e)
	}
	if reason = words.Flat(reason); reason != "" {
		line += "  " + reason
	}
	return line
}
