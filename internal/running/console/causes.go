package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/stack"
)

// A cause is what failed first in an operation on a stack, with the ways to find out why.
type cause struct {
	*stack.Failure // of the resource that failed itself: in a nested stack, the one of that stack
	Top            *stack.Failure
	Within         []string // logical ids of the nested stacks that lead to it, the outermost first

	Line     int // of the resource in the template, 0 if it is not known
	Template string
	Timeline string
	Call     *handlerCall // of the handler that failed, nil if it is not known
	Raised   string       // "raised TypeError: … (src/handlers.py:38)", "" for none
	Log      [][]piece    // the last lines of the handler
	LogLink  string
	Calls    string // address of all calls on the resource
}

const (
	causeLines = 12 // lines of a log that a cause shows
	causeCalls = 50 // failed calls among which that of a cause is looked for
)

// findCauses finds out why a stack failed. The page of its resources has all of it, the others what fits
// above their contents.
func (c *Console) findCauses(r *http.Request, p *page, h *stackHead) error {
	failures, err := c.config.Stacks.Failures(r.Context(), p.Place, h.ARN)
	if err != nil {
		return err
	}
	for i := range failures {
		f := &failures[i]
		x := cause{Failure: f, Top: f}
		for x.Nested != nil {
			x.Within = append(x.Within, x.LogicalID)
			x.Failure = x.Nested
		}
		x.Template, x.Timeline = h.link("/template")+"#line-"+x.LogicalID, h.link("/timeline", "operation", x.Operation.ID)
		if len(x.Within) > 0 {
			x.Template = p.link(stackPath(x.StackARN, "/template"), "operation", x.Operation.ID) + "#line-" + x.LogicalID
			x.Timeline = p.link(stackPath(x.StackARN, "/timeline"), "operation", x.Operation.ID)
		}
		if h.Tab == "resources" {
			if err := c.explain(r, p, &x); err != nil {
				return err
			}
		}
		h.Causes = append(h.Causes, x)
	}
	return nil
}

// explain adds the line of the template and the call of the handler to a cause.
func (c *Console) explain(r *http.Request, p *page, x *cause) error {
	source, err := c.config.Stacks.Source(r.Context(), p.Place, x.StackARN, x.Operation.ID, false)
	if err != nil {
		return err
	}
	x.Line = source.Lines[x.LogicalID]
	query := handlers.InvocationQuery{Place: p.Place, StackID: x.StackARN, LogicalID: x.LogicalID, Failed: true, Limit: causeCalls}
	if len(x.Hooks) > 0 {
		query.Kind, query.TypeName, query.LogicalID = schema.Hook, x.Hooks[0].Hook, ""
	}
	calls, err := c.config.Calls.Invocations(r.Context(), query)
	if err != nil {
		return err
	}
	const early = time.Second // clocks of nodes differ
	at := slices.IndexFunc(calls, func(call handlerCall) bool {
		return !call.StartedAt.After(x.At.Add(early)) && !call.StartedAt.Before(x.Operation.StartedAt.Add(-early))
	})
	if at < 0 {
		return nil
	}
	x.Call = &calls[at]
	x.Calls = p.link(typePath(string(x.Call.Kind), cmp.Or(x.hookName(), x.Type), "/calls"), "stack", x.StackARN, "resource", x.Call.LogicalID)
	v := &callView{handlerCall: x.Call}
	if err := c.readCallLog(r, p, v); err != nil {
		return err
	}
	x.Raised, x.LogLink = v.raised(), v.LogLink
	x.Log = v.said()
	x.Log = x.Log[max(0, len(x.Log)-causeLines):]
	return nil
}

// hookName is the hook that refused the resource, "" for none.
func (x *cause) hookName() string {
	if len(x.Hooks) == 0 {
		return ""
	}
	return x.Hooks[0].Hook
}

// callLink is the page of the failed call.
func (x *cause) callLink(p *page) string { return p.link("/calls/" + url.PathEscape(x.Call.ID)) }

// failed says which operation failed: "Creation failed".
func (x *cause) failed() string {
	name := x.operation()
	return strings.ToUpper(name[:1]) + name[1:] + " failed"
}

// operation says what the operation did: "creation", "rollback".
func (x *cause) operation() string {
	switch x.Top.Operation.Kind {
	case types.OperationTypeCreateStack:
		return "creation"
	case types.OperationTypeUpdateStack:
		return "update"
	case types.OperationTypeDeleteStack:
		return "deletion"
	case types.OperationTypeRollback, types.OperationTypeContinueRollback:
		return "rollback"
	}
	return strings.ToLower(string(x.Top.Operation.Kind))
}

// attempted is the operation whose template the stack no longer has, because it was rolled back; "" for none.
func (h *stackHead) attempted() string {
	if len(h.Causes) > 0 && h.Causes[0].Top.Attempted {
		return h.Causes[0].Top.Operation.ID
	}
	return ""
}

// blamed is what failed first of a resource, nil if it is not among the causes.
func (h *stackHead) blamed(id string) *stack.Failure {
	for i := range h.Causes {
		if f := h.Causes[i].Top; f.LogicalID == id && !f.OfStack {
			return f
		}
	}
	return nil
}

// failure is why a resource failed, "" if it did not.
func (h *stackHead) failure(id string) string {
	if f := h.blamed(id); f != nil {
		return cmp.Or(f.Message, "failed")
	}
	if x := h.resource(id); x != nil && strings.HasSuffix(string(x.Status), "_FAILED") {
		message, _ := stack.HandlerMessage(x.Reason)
		return cmp.Or(message, "failed")
	}
	return ""
}

// drawn are the resources of the stack, and those that the operation that failed was to make.
func (h *stackHead) drawn() []stack.ResourceState {
	out := h.Resources
	if len(h.Causes) == 0 {
		return out
	}
	out = slices.Clone(out)
	for _, x := range h.Causes[0].Top.Resources {
		if at := slices.IndexFunc(out, func(known stack.ResourceState) bool { return known.LogicalID == x.LogicalID }); at < 0 {
			out = append(out, x)
		} else if len(out[at].DependsOn) == 0 {
			out[at].DependsOn = x.DependsOn
		}
	}
	slices.SortFunc(out, func(a, b stack.ResourceState) int { return strings.Compare(a.LogicalID, b.LogicalID) })
	return out
}

// shown is the name of a resource for people, by its logical id.
func (h *stackHead) shown(id string) string {
	if h.names == nil {
		h.names = map[string]string{}
		for _, x := range h.drawn() {
			h.names[x.LogicalID] = shownName(&x)
		}
	}
	return cmp.Or(h.names[id], id)
}

// tone is the class of a resource: what failed first stays red through the rollback.
func (h *stackHead) tone(x *stack.ResourceState) string {
	switch {
	case h.blamed(x.LogicalID) != nil:
		return "bad"
	case x.Status == "":
		return "plain"
	}
	return tone(string(x.Status))
}

// statusTone is the class of the status of a resource as it is now.
func (h *stackHead) statusTone(x *stack.ResourceState) string {
	if x.Status == "" {
		return h.tone(x)
	}
	return tone(string(x.Status))
}

// words is the displayed status of a resource.
func (h *stackHead) words(x *stack.ResourceState) string {
	switch {
	case x.Status != "":
		return words(string(x.Status))
	case h.blamed(x.LogicalID) != nil:
		return words(h.blamed(x.LogicalID).Status)
	case h.Running():
		return "waiting"
	}
	return "not created"
}
