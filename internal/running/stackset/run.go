package stackset

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// A run is what one pass of the worker knows of an operation.
type run struct {
	set       *setRow
	op        *operationRow
	in        input
	results   []resultRow
	instances []instanceRow

	before struct { // as they were read
		results   []resultRow
		instances []instanceRow
	}
}

func (r *run) instance(result *resultRow) *instanceRow {
	i := slices.IndexFunc(r.instances, func(i instanceRow) bool { return i.place() == result.place() })
	if i < 0 {
		return nil
	}
	return &r.instances[i]
}

// again is how long an operation waits for its stacks at most before it looks at them. The end of
// an operation on a stack wakes it earlier.
const again = 5 * time.Second

// advance is a store.Run: it takes an operation as far as it goes without waiting.
func (e *Engine) advance(ctx context.Context, id string) (time.Time, error) {
	setID, operationID, _ := strings.Cut(id, "/")
	for {
		r, err := e.load(ctx, e.store.Read(), setID, operationID)
		if err != nil || r == nil || !r.op.EndedAt.IsZero() || r.op.Status == types.StackSetOperationStatusQueued {
			return time.Time{}, err
		}
		changed, err := e.look(ctx, r)
		if err != nil {
			return time.Time{}, err
		}
		begun, over := r.decide(e)
		if !changed && !begun && !over {
			wait := again
			if r.op.Action == types.StackSetOperationActionDetectDrift {
				wait = time.Second // nothing wakes it
			}
			return e.config.Now().Add(wait), nil
		}
		err = e.write(ctx, r, over)
		switch {
		case errors.Is(err, store.ErrStale): // it was stopped
			continue
		case err != nil:
			return time.Time{}, err
		case over:
			return time.Time{}, nil
		}
	}
}

// load reads an operation, nil if it does not exist.
func (e *Engine) load(ctx context.Context, db store.DB, setID, operationID string) (*run, error) {
	r := &run{}
	var err error
	if r.op, err = store.Find[operationRow](ctx, db, "set_id = ? AND id = ?", setID, operationID); err != nil || r.op == nil {
		return nil, err
	}
	if r.set, err = store.Find[setRow](ctx, db, "id = ?", setID); err != nil || r.set == nil {
		return nil, err
	}
	r.in = r.op.Input.Get()
	if r.results, err = store.FindAll[resultRow](ctx, db, "position", "set_id = ? AND operation_id = ?", setID, operationID); err != nil {
		return nil, err
	}
	r.instances, err = store.FindAll[instanceRow](ctx, db, "region, account", "set_id = ? AND last_operation_id = ?", setID, operationID)
	r.before.results, r.before.instances = slices.Clone(r.results), slices.Clone(r.instances)
	return r, err
}

// look takes the results that run further, and reports whether one changed.
func (e *Engine) look(ctx context.Context, r *run) (changed bool, err error) {
	for n := range r.results {
		result := &r.results[n]
		if result.Status != types.StackSetOperationResultStatusRunning {
			continue
		}
		i := r.instance(result)
		if i == nil { // another operation has it: that cannot be
			result.Status, result.Reason, changed = types.StackSetOperationResultStatusFailed, "The stack instance does not exist any more", true
			continue
		}
		before := *result
		outcome, err := e.drive(ctx, r, i, result)
		if err != nil {
			return changed, err
		}
		r.settle(result, i, outcome)
		changed = changed || *result != before
	}
	return changed, nil
}

// An outcome is how far one instance is.
type outcome struct {
	over   bool
	reason string // of its failure, "" if it succeeded
	gone   bool   // the instance is to be removed
	detail types.StackInstanceDetailedStatus
}

// settle writes an outcome into the result and the instance.
func (r *run) settle(result *resultRow, i *instanceRow, o outcome) {
	if !o.over {
		return
	}
	result.Status, result.StackARN = types.StackSetOperationResultStatusSucceeded, ""
	if o.reason != "" {
		result.Status, result.Reason = types.StackSetOperationResultStatusFailed, o.reason
	}
	if r.op.Action == types.StackSetOperationActionDetectDrift {
		return
	}
	i.Reason = o.reason
	switch {
	case o.gone:
		i.gone = true
	case o.reason == "":
		i.Status, i.Detailed = types.StackInstanceStatusCurrent, types.StackInstanceDetailedStatusSucceeded
	case r.op.Action == types.StackSetOperationActionDelete:
		i.Status, i.Detailed = types.StackInstanceStatusInoperable, types.StackInstanceDetailedStatusInoperable
	default:
		i.Status, i.Detailed = types.StackInstanceStatusOutdated, types.StackInstanceDetailedStatusFailed
	}
	if o.detail != "" {
		i.Detailed = o.detail
	}
}

// decide begins and cancels what the preferences say, and ends the operation.
func (r *run) decide(e *Engine) (begun, over bool) {
	p := preferences{r.in.Preferences}
	var names []string
	for i := range r.results {
		names = append(names, r.results[i].Region)
	}
	regions := p.order(slices.Compact(names))
	shares := make([]share, len(regions))
	for i := range r.results {
		s := &shares[slices.Index(regions, r.results[i].Region)]
		switch r.results[i].Status {
		case types.StackSetOperationResultStatusPending:
			s.Pending++
		case types.StackSetOperationResultStatusRunning:
			s.Running++
		case types.StackSetOperationResultStatusSucceeded:
			s.Succeeded++
		case types.StackSetOperationResultStatusFailed:
			s.Failed++
		case types.StackSetOperationResultStatusCancelled:
			s.Cancelled++
		}
	}
	stopping := r.op.Status == types.StackSetOperationStatusStopping
	d := p.next(shares, stopping)
	for i := range r.results {
		result := &r.results[i]
		n := slices.Index(regions, result.Region)
		if result.Status != types.StackSetOperationResultStatusPending {
			continue
		}
		switch {
		case d.Cancel:
			result.Status, result.Reason, begun = types.StackSetOperationResultStatusCancelled, reasonExceeded, true
			if !d.Exceeded {
				result.Reason = reasonStopped
			}
			if i := r.instance(result); i != nil && r.op.Action != types.StackSetOperationActionDetectDrift {
				i.Detailed, i.Reason = types.StackInstanceDetailedStatusCancelled, result.Reason
			}
		case d.Start[n] > 0:
			d.Start[n]--
			result.Status, begun = types.StackSetOperationResultStatusRunning, true
			if i := r.instance(result); i != nil && r.op.Action != types.StackSetOperationActionDetectDrift {
				i.Detailed = types.StackInstanceDetailedStatusRunning
			}
		}
	}
	if !d.Over {
		return begun, false
	}
	r.op.EndedAt = e.now()
	switch {
	case stopping:
		r.op.Status = types.StackSetOperationStatusStopped
	case d.Exceeded:
		r.op.Status = types.StackSetOperationStatusFailed
	default:
		r.op.Status = types.StackSetOperationStatusSucceeded
	}
	return begun, true
}

// write writes a pass. The error is store.ErrStale if the operation was stopped meanwhile.
func (e *Engine) write(ctx context.Context, r *run, over bool) error {
	if r.op.Action == types.StackSetOperationActionDetectDrift {
		r.countDrift()
	}
	return e.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		op := *r.op
		if err := store.Swap(ctx, tx, &op, &op.RowVersion, "status", "reason", "ended_at", "drift"); err != nil {
			return err
		}
		for n := range r.results {
			if r.results[n] == r.before.results[n] {
				continue
			}
			if err := store.Update(ctx, tx, &r.results[n], "status", "reason", "handle", "stack_arn"); err != nil {
				return err
			}
		}
		for n := range r.instances {
			if r.instances[n] == r.before.instances[n] {
				continue
			}
			if err := writeInstance(ctx, tx, &r.instances[n]); err != nil {
				return err
			}
		}
		if r.op.Action == types.StackSetOperationActionDetectDrift {
			if _, err := store.Exec(ctx, tx, "UPDATE stack_sets SET drift = ?, row_version = row_version + 1 WHERE id = ?", r.op.Drift, r.set.ID); err != nil {
				return err
			}
		}
		if !over {
			return nil
		}
		return e.beginNext(ctx, tx, r.set)
	})
}

func writeInstance(ctx context.Context, tx *store.Tx, i *instanceRow) error {
	if i.gone {
		return store.Delete(ctx, tx, i)
	}
	return store.Update(ctx, tx, i, "stack_arn", "status", "detailed_status", "reason", "drift_status", "drift_at")
}

// giveUp ends an operation that can never succeed: what has not ended of it failed.
func (e *Engine) giveUp(ctx context.Context, id, reason string) error {
	setID, operationID, _ := strings.Cut(id, "/")
	r, err := e.load(ctx, e.store.Read(), setID, operationID)
	if err != nil || r == nil || !r.op.EndedAt.IsZero() {
		return err
	}
	for n := range r.results {
		result := &r.results[n]
		if result.Status != types.StackSetOperationResultStatusPending && result.Status != types.StackSetOperationResultStatusRunning {
			continue
		}
		if i := r.instance(result); i != nil {
			r.settle(result, i, outcome{over: true, reason: reason})
		}
		result.Status, result.Reason = types.StackSetOperationResultStatusFailed, reason
	}
	r.op.Status, r.op.Reason, r.op.EndedAt = types.StackSetOperationStatusFailed, reason, e.now()
	return e.write(ctx, r, true)
}

// beginNext begins the operation of a set that waited longest.
func (e *Engine) beginNext(ctx context.Context, tx *store.Tx, s *setRow) error {
	waiting, err := store.FindAll[operationRow](ctx, tx, "seq", "set_id = ? AND status = ?", s.ID, types.StackSetOperationStatusQueued)
	if err != nil || len(waiting) == 0 {
		return err
	}
	next := &waiting[0]
	next.Status = types.StackSetOperationStatusRunning
	if err := store.Swap(ctx, tx, next, &next.RowVersion, "status"); err != nil {
		return err
	}
	return e.begin(ctx, tx, s, next)
}

// merged are the parameters of an instance: those of the set with its overrides.
func merged(s *setRow, i *instanceRow) []types.Parameter {
	parameters := slices.Clone(s.Parameters.Get())
	for _, override := range i.Overrides.Get() {
		n := slices.IndexFunc(parameters, func(p types.Parameter) bool {
			return aws.ToString(p.ParameterKey) == aws.ToString(override.ParameterKey)
		})
		if n < 0 {
			parameters = append(parameters, override)
			continue
		}
		parameters[n] = override
	}
	return parameters
}
