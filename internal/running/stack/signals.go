package stack

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The reasons of rows that wait for signals.
const (
	reasonSignals = "Failed to receive %d resource signal(s) within the specified duration"
	reasonFailure = "Received FAILURE signal with UniqueId %s"

	reasonSimulated = "Simulated: cfn serve did not wait for signals, which nothing could send"
)

// signalTimeout is how long a resource waits whose creation policy says nothing.
const signalTimeout = 5 * time.Minute

// awaited is the policy of a resource, given its creation policy. The signals of a simulated resource, and of a wait
// condition that only simulated resources know, are not waited for.
func (r *run) awaited(t *target, policy *signalPolicy) *signalPolicy {
	if r.engine.config.SimulateSignals && (t.typ.Simulated && policy != nil || natureOf(t.res.Type).waits && r.onlySimulated(t.res)) {
		return &signalPolicy{Simulated: true}
	}
	return policy
}

// onlySimulated reports whether all that could signal a wait condition is simulated: resources that have its
// handle or, without one, its name.
func (r *run) onlySimulated(condition *template.Resource) bool {
	scope, parsed := r.next.Scope, r.next.Template
	handles := map[string]bool{}
	for _, need := range scope.Needs(condition) {
		if h := parsed.Resource(need); h != nil && natureOf(h.Type).handle {
			handles[need] = true
		}
	}
	if condition.Properties != nil && condition.Properties.Get("Handle") != nil && len(handles) == 0 {
		return false // a handle of another stack
	}
	names := func(value *document.Value) bool {
		return value != nil && naming(value.Any(), condition.LogicalID, handles)
	}
	for _, other := range scope.ActiveResources() {
		typ, _ := r.prepared.typeOf(other.Type)
		if n := natureOf(other.Type); !n.waits && !n.handle && (typ == nil || !typ.Simulated) && (names(other.Properties) || names(other.Metadata)) {
			return false
		}
	}
	for _, output := range parsed.Outputs {
		if names(output.Value) {
			return false
		}
	}
	return true
}

// naming reports whether a value of a template refers to one of the handles of a wait condition or,
// without handles, has a text with its logical id.
func naming(value any, condition string, handles map[string]bool) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if name, ok := inner.(string); ok && key == "Ref" && handles[name] {
				return true
			}
			if naming(inner, condition, handles) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(inner any) bool { return naming(inner, condition, handles) })
	case string:
		for handle := range handles {
			if strings.Contains(value, "${"+handle+"}") {
				return true
			}
		}
		return len(handles) == 0 && strings.Contains(value, condition)
	}
	return false
}

// creationPolicy reads the signals that a resource waits for, nil for none.
func (r *run) creationPolicy(res *template.Resource, refs template.References) *signalPolicy {
	if res.CreationPolicy == nil {
		return nil
	}
	value, err := r.next.Scope.Evaluate(res.CreationPolicy, refs, "Resources", res.LogicalID, "CreationPolicy")
	if err != nil {
		return nil
	}
	policy, _ := value.(map[string]any)
	signal, ok := policy["ResourceSignal"].(map[string]any)
	if !ok {
		return nil
	}
	out := &signalPolicy{Count: 1, Within: signalTimeout}
	if text, ok := plan.Scalar(signal["Count"]); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			out.Count = n
		}
	}
	if text, ok := plan.Scalar(signal["Timeout"]); ok {
		if d, ok := parseDuration(text); ok {
			out.Within = d
		}
	}
	if out.Count == 0 {
		return nil
	}
	return out
}

// parseDuration reads a duration of ISO 8601 in hours, minutes and seconds: PT1H30M.
func parseDuration(text string) (time.Duration, bool) {
	rest, ok := strings.CutPrefix(text, "PT")
	if !ok || rest == "" {
		return 0, false
	}
	d, err := time.ParseDuration(strings.ToLower(rest))
	return d, err == nil && d >= 0 && d <= 12*time.Hour
}

// forgetSignals deletes the signals that an earlier resource of the same name was sent, if a
// new one is about to be made that waits for signals.
func (r *run) forgetSignals(ctx context.Context, tx *store.Tx, t *target) error {
	makes := t.action == plan.Create || t.action == plan.Replace || t.action == plan.Remake
	if t.after.Signals == nil && !natureOf(t.res.Type).handle || !makes {
		return nil
	}
	_, err := store.Exec(ctx, tx, "DELETE FROM stack_signals WHERE stack_id = ? AND logical_id = ?", r.stack.ID, t.res.LogicalID)
	if err != nil {
		return fmt.Errorf("forget the signals of %s: %w", t.res.LogicalID, err)
	}
	return nil
}

// awaitSignals looks at the steps that wait for signals, and returns when the first of them
// has waited long enough.
func (r *run) awaitSignals(ctx context.Context, tx *store.Tx) (time.Time, error) {
	var next time.Time
	for _, key := range r.order {
		s := r.steps[key]
		if s.Action != plan.Signal || s.State != plan.StepRunning {
			continue
		}
		until, err := r.awaitSignal(ctx, tx, s)
		if err != nil {
			return time.Time{}, err
		}
		if s.State == plan.StepRunning && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	return next, nil
}

func (r *run) awaitSignal(ctx context.Context, tx *store.Tx, s *stepRow) (time.Time, error) {
	after := s.Pending.Get()
	if after.Signals == nil {
		r.done(s)
		return time.Time{}, nil
	}
	signals, err := store.FindAll[signalRow](ctx, tx, "at, unique_id", "stack_id = ? AND logical_id = ?", r.stack.ID, s.LogicalID)
	if err != nil {
		return time.Time{}, err
	}
	until := s.StartedAt.Add(r.engine.scaled(after.Signals.Within))
	for _, signal := range signals {
		if signal.Status == string(types.ResourceSignalStatusFailure) {
			r.turn(s, fails, fmt.Sprintf(reasonFailure, signal.UniqueID))
			return until, nil
		}
	}
	switch {
	case int64(len(signals)) >= after.Signals.Count:
		r.turn(s, succeeds, s.completion())
	case !r.now.Before(until):
		r.turn(s, fails, fmt.Sprintf(reasonSignals, after.Signals.Count-int64(len(signals))))
	}
	return until, nil
}

// scaled is a time-out of signals as it is here.
func (e *Engine) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / e.config.TimeScale)
}

// SignalResource sends a signal to a resource that waits for it.
func (e *Engine) SignalResource(ctx context.Context, caller awswire.Caller, in *cloudformation.SignalResourceInput) (*cloudformation.SignalResourceOutput, error) {
	var x *resourceRow
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := requireStack(ctx, tx, caller, in.StackName, "missing")
		if err != nil {
			return err
		}
		id := aws.ToString(in.LogicalResourceId)
		x, err = store.Find[resourceRow](ctx, tx, "stack_id = ? AND logical_id = ?", s.ID, id)
		if err != nil {
			return err
		}
		if x == nil {
			return refuse("missing-resource", id, s.Name)
		}
		return e.signal(ctx, tx, s, x, in)
	})
	if err != nil && !e.late(ctx, caller, x) {
		return nil, err
	}
	return &cloudformation.SignalResourceOutput{}, nil
}

// late reports whether a signal comes for a resource that is complete without it, because its signals are
// simulated.
func (e *Engine) late(ctx context.Context, caller awswire.Caller, x *resourceRow) bool {
	if !e.config.SimulateSignals || x == nil || x.Status != types.ResourceStatusCreateComplete {
		return false
	}
	typ, err := e.findType(ctx, caller, x.Type)
	return err == nil && typ != nil && (typ.Simulated || natureOf(x.Type).waits)
}

func (e *Engine) signal(ctx context.Context, tx *store.Tx, s *stackRow, x *resourceRow, in *cloudformation.SignalResourceInput) error {
	step, err := store.Find[stepRow](ctx, tx, "operation_id = ? AND logical_id = ?", s.OperationID, x.LogicalID)
	if err != nil {
		return err
	}
	var after snapshot
	if step != nil {
		after = step.Pending.Get()
	}
	if after.Signals != nil && after.Signals.Simulated {
		return nil
	}
	if x.Status != types.ResourceStatusCreateInProgress && x.Status != types.ResourceStatusUpdateInProgress {
		return refuse("signal-state", x.LogicalID, x.Status)
	}
	if after.Signals == nil && !natureOf(x.Type).waits {
		return refuse("signal-type", x.LogicalID, x.Type)
	}
	id := aws.ToString(in.UniqueId)
	before, err := store.Find[signalRow](ctx, tx, "stack_id = ? AND logical_id = ? AND unique_id = ?", s.ID, x.LogicalID, id)
	if err != nil {
		return err
	}
	if before != nil && in.Status != types.ResourceSignalStatusFailure {
		return refuse("signal-twice", id, x.LogicalID)
	}
	row := &signalRow{StackID: s.ID, LogicalID: x.LogicalID, UniqueID: id, Status: string(in.Status), At: e.now()}
	if err := store.Upsert(ctx, tx, []*signalRow{row}, "status"); err != nil {
		return fmt.Errorf("write a signal: %w", err)
	}
	return tx.Wake(ctx, wakeKind, s.ID, time.Time{})
}
