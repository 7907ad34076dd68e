package stackset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The steps of which an operation on an instance consists, as parts of their tokens.
const (
	stepClear  = "clear" // deletes a stack whose creation failed
	stepCreate = "create"
	stepUpdate = "update"
	stepDelete = "delete"
)

// token is the client request token of a step: the same whenever it is asked for.
func (r *run) token(i *instanceRow, step string) string {
	sum := sha256.Sum256([]byte(r.set.ID + "\x00" + r.op.ID + "\x00" + i.Account + "\x00" + i.Region + "\x00" + step))
	return "StackSet-" + hex.EncodeToString(sum[:16]) + "-" + step
}

// caller acts in the account of an instance.
func (r *run) caller(i *instanceRow) awswire.Caller {
	return awswire.Caller{Place: i.place(), AccessKeyID: r.op.Caller}
}

// failedCreations are the statuses of stacks that can only be deleted.
var failedCreations = []types.StackStatus{
	types.StackStatusCreateFailed, types.StackStatusRollbackComplete, types.StackStatusRollbackFailed, types.StackStatusDeleteFailed,
}

// drive takes an instance one step further, if it does not wait for its stack. It may be repeated.
func (e *Engine) drive(ctx context.Context, r *run, i *instanceRow, result *resultRow) (outcome, error) {
	if i.Account != r.set.Account && !e.config.Reaches(r.set.Account, i.Account) {
		return outcome{over: true, reason: fmt.Sprintf(reasonRole, i.Account, r.op.Role, r.op.AdminRole)}, nil
	}
	o, err := e.step(ctx, r, i, result)
	var refused *awswire.Error
	switch {
	case errors.As(err, &refused):
		return outcome{over: true, reason: refused.Message}, nil
	case store.Permanent(err):
		return outcome{over: true, reason: store.Reason(err)}, nil
	}
	return o, err
}

func (e *Engine) step(ctx context.Context, r *run, i *instanceRow, result *resultRow) (outcome, error) {
	switch {
	case r.op.Action == types.StackSetOperationActionDetectDrift:
		return e.detect(ctx, r, i, result)
	case r.op.Action == types.StackSetOperationActionDelete:
		return e.remove(ctx, r, i, result)
	case len(r.in.Imports) > 0:
		return e.adopt(ctx, r, i)
	}
	return e.deploy(ctx, r, i, result)
}

// named is what the stack of an instance is found by.
func (i *instanceRow) named() string {
	if i.StackARN != "" {
		return i.StackARN
	}
	return i.StackName
}

// judge is the outcome of a step that began: waiting, or whether its stack reached a status.
func judge(a *stack.Attempt, result *resultRow, good ...types.StackStatus) outcome {
	switch {
	case !a.Ended:
		result.StackARN = a.ARN
		return outcome{}
	case slices.Contains(good, a.Status):
		return outcome{over: true}
	case a.Failure == nil || a.Failure.OfStack:
		return outcome{over: true, reason: orElse(a.Reason, fmt.Sprintf("The stack is in status %s.", a.Status))}
	}
	f := a.Failure
	return outcome{over: true, reason: fmt.Sprintf("ResourceLogicalId:%s, ResourceType:%s, ResourceStatusReason:%s.", f.LogicalID, f.Type, f.Reason)}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// deploy creates or updates the stack of an instance. A stack whose creation failed is deleted
// first.
func (e *Engine) deploy(ctx context.Context, r *run, i *instanceRow, result *resultRow) (outcome, error) {
	now, err := e.config.Stacks.Attempt(ctx, i.place(), i.named(), r.token(i, stepUpdate))
	if err != nil {
		return outcome{}, err
	}
	if now != nil && now.Begun {
		return judge(now, result, types.StackStatusUpdateComplete), nil
	}
	created, err := e.config.Stacks.Attempt(ctx, i.place(), i.StackName, r.token(i, stepCreate))
	if err != nil {
		return outcome{}, err
	}
	if created != nil && created.Begun {
		i.StackARN = created.ARN
		return judge(created, result, types.StackStatusCreateComplete), nil
	}
	if now == nil || !now.Live {
		return outcome{}, e.create(ctx, r, i, result)
	}
	i.StackARN = now.ARN
	cleared, err := e.config.Stacks.Attempt(ctx, i.place(), i.StackARN, r.token(i, stepClear))
	switch {
	case err != nil:
		return outcome{}, err
	case cleared.Begun:
		return judge(cleared, result, types.StackStatusDeleteComplete), nil
	case slices.Contains(failedCreations, now.Status):
		result.StackARN = now.ARN
		_, err := e.config.Stacks.DeleteStack(ctx, r.caller(i), &cloudformation.DeleteStackInput{StackName: &now.ARN, ClientRequestToken: aws.String(r.token(i, stepClear))})
		return outcome{}, err
	}
	return e.update(ctx, r, i, result)
}

func (e *Engine) create(ctx context.Context, r *run, i *instanceRow, result *resultRow) error {
	out, err := e.config.Stacks.CreateStack(ctx, r.caller(i), &cloudformation.CreateStackInput{
		StackName: &i.StackName, TemplateBody: &r.set.Template, Parameters: merged(r.set, i), Capabilities: r.set.Capabilities.Get(), Tags: r.set.Tags.Get(),
		ClientRequestToken: aws.String(r.token(i, stepCreate)),
	})
	if err != nil {
		return err
	}
	i.StackARN, result.StackARN = aws.ToString(out.StackId), aws.ToString(out.StackId)
	return nil
}

func (e *Engine) update(ctx context.Context, r *run, i *instanceRow, result *resultRow) (outcome, error) {
	_, err := e.config.Stacks.UpdateStack(ctx, r.caller(i), &cloudformation.UpdateStackInput{
		StackName: &i.StackARN, TemplateBody: &r.set.Template, Parameters: merged(r.set, i), Capabilities: r.set.Capabilities.Get(),
		Tags: append([]types.Tag{}, r.set.Tags.Get()...), ClientRequestToken: aws.String(r.token(i, stepUpdate)),
	})
	if stack.IsNoUpdate(err) {
		return outcome{over: true}, nil
	}
	result.StackARN = i.StackARN
	return outcome{}, err
}

// remove deletes the stack of an instance, or leaves it.
func (e *Engine) remove(ctx context.Context, r *run, i *instanceRow, result *resultRow) (outcome, error) {
	if aws.ToBool(r.in.Retain) {
		return outcome{over: true, gone: true}, nil
	}
	now, err := e.config.Stacks.Attempt(ctx, i.place(), i.named(), r.token(i, stepDelete))
	switch {
	case err != nil:
		return outcome{}, err
	case now == nil, !now.Live:
		return outcome{over: true, gone: true}, nil
	case now.Begun:
		o := judge(now, result, types.StackStatusDeleteComplete)
		o.gone = o.over && o.reason == ""
		return o, nil
	}
	i.StackARN, result.StackARN = now.ARN, now.ARN
	_, err = e.config.Stacks.DeleteStack(ctx, r.caller(i), &cloudformation.DeleteStackInput{StackName: &now.ARN, ClientRequestToken: aws.String(r.token(i, stepDelete))})
	return outcome{}, err
}

// detect detects the drift of the stack of an instance.
func (e *Engine) detect(ctx context.Context, r *run, i *instanceRow, result *resultRow) (outcome, error) {
	if i.StackARN == "" {
		return outcome{over: true, reason: "The stack instance has no stack"}, nil
	}
	caller := r.caller(i)
	if result.Handle == "" {
		out, err := e.config.Stacks.DetectStackDrift(ctx, caller, &cloudformation.DetectStackDriftInput{StackName: &i.StackARN})
		if err != nil {
			return outcome{}, err
		}
		result.Handle = aws.ToString(out.StackDriftDetectionId)
	}
	out, err := e.config.Stacks.DescribeStackDriftDetectionStatus(ctx, caller, &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: &result.Handle})
	if err != nil {
		return outcome{}, err
	}
	switch out.DetectionStatus {
	case types.StackDriftDetectionStatusDetectionInProgress:
		return outcome{}, nil
	case types.StackDriftDetectionStatusDetectionFailed:
		return outcome{over: true, reason: orElse(aws.ToString(out.DetectionStatusReason), "The drift detection failed")}, nil
	}
	i.Drift, i.DriftAt = out.StackDriftStatus, store.At(aws.ToTime(out.Timestamp))
	return outcome{over: true}, nil
}

// countDrift sums up what a drift detection found.
func (r *run) countDrift() {
	d := types.StackSetDriftDetectionDetails{
		TotalStackInstancesCount: aws.Int32(int32(min(len(r.results), maxTargets))), DriftDetectionStatus: types.StackSetDriftDetectionStatusInProgress,
		DriftStatus: types.StackSetDriftStatusNotChecked, LastDriftCheckTimestamp: aws.Time(r.op.CreatedAt.Time),
	}
	var drifted, synced, failed, running int32
	for n := range r.results {
		switch r.results[n].Status {
		case types.StackSetOperationResultStatusPending, types.StackSetOperationResultStatusRunning:
			running++
		case types.StackSetOperationResultStatusFailed:
			failed++
		case types.StackSetOperationResultStatusSucceeded:
			switch i := r.instance(&r.results[n]); {
			case i == nil:
			case i.Drift == types.StackDriftStatusDrifted:
				drifted++
			case i.Drift == types.StackDriftStatusInSync:
				synced++
			}
		}
	}
	d.DriftedStackInstancesCount, d.InSyncStackInstancesCount, d.FailedStackInstancesCount, d.InProgressStackInstancesCount = &drifted, &synced, &failed, &running
	switch {
	case drifted > 0:
		d.DriftStatus = types.StackSetDriftStatusDrifted
	case synced > 0:
		d.DriftStatus = types.StackSetDriftStatusInSync
	}
	if !r.op.EndedAt.IsZero() {
		d.DriftDetectionStatus = types.StackSetDriftDetectionStatusCompleted
		switch {
		case r.op.Status == types.StackSetOperationStatusStopped:
			d.DriftDetectionStatus = types.StackSetDriftDetectionStatusStopped
		case r.op.Status == types.StackSetOperationStatusFailed:
			d.DriftDetectionStatus = types.StackSetDriftDetectionStatusFailed
		case failed > 0:
			d.DriftDetectionStatus = types.StackSetDriftDetectionStatusPartialSuccess
		}
	}
	r.op.Drift = store.JSONOf(&d)
}
