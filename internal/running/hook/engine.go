package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up an [Engine]. Store, Sources and Operations must be set.
type Config struct {
	Store      *store.Store
	Sources    []Source
	Operations *operation.Engine

	// Offer returns a presigned URL of a document that is too large for a request. It may be called again
	// for the same id. Withdraw removes what was offered. Nil fails hooks on stacks and change sets.
	Offer    func(ctx context.Context, caller awswire.Caller, id, document string) (url string, err error)
	Withdraw func(ctx context.Context, caller awswire.Caller, id string) error

	CallTimeout time.Duration // of one call; zero means 30 s
	Logger      *slog.Logger  // nil discards
	Now         func() time.Time
	NewID       func() string
}

// An Owner begins evaluations and is notified of them.
type Owner interface {
	// Hooked runs in the transaction in which an invocation ends. proceed has Evaluation.Then
	// begun if the evaluation has passed. It changes rows and wakes; it must not call out.
	Hooked(ctx context.Context, tx *store.Tx, outcome Outcome) (proceed bool, err error)
}

// An Evaluation has hooks evaluate a target.
type Evaluation struct {
	ID         string // unique for good
	Owner, Key string
	Caller     awswire.Caller
	Target     Target
	TargetID   string // as results show it

	StackID, ChangeSetID string // ARNs, "" for none
	Token                string // of a request of Cloud Control

	// Desired and Previous are the properties of a resource. They may have dynamic references.
	Desired, Previous map[string]any
	Payload           string // JSON that the hook of a stack or change set fetches
	Secrets           map[secret.Reason][]string

	Hooks []Hook          // at least one
	Then  *operation.Spec // begun when all hooks have let the target pass; nil for nothing
}

// An Outcome is the end of an invocation, and with the last one that of its evaluation.
type Outcome struct {
	ID, Key string // of the evaluation
	Result  Result
	Ended   bool
	Failed  []string // names of the hooks that stop the target, sorted
}

// OwnerName is the name of the engine among the owners of package operation.
const OwnerName = "hook"

// callTimeout bounds a call of a hook.
const callTimeout = 30 * time.Second

// keepResults is how long results are known.
const keepResults = 90 * 24 * time.Hour

// An Engine evaluates targets. It is used by any number of goroutines, and by several processes
// on one database.
type Engine struct {
	config Config
	store  *store.Store
	owners map[string]Owner
}

// New returns the engine over a store. Its invocations are operations of Config.Operations.
func New(config Config) *Engine {
	if config.CallTimeout == 0 {
		config.CallTimeout = callTimeout
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = func() time.Time { return config.Store.Now().Time }
	}
	if config.NewID == nil {
		config.NewID = uuid.NewString
	}
	return &Engine{config: config, store: config.Store, owners: map[string]Owner{}}
}

// Own sets the owner of the evaluations of a name. It is called before the engine is used.
func (e *Engine) Own(name string, owner Owner) { e.owners[name] = owner }

// Begin begins evaluations, if the transaction commits: all hooks of an evaluation are invoked at
// once. The results, in the order of Evaluation.Hooks, are in progress.
func (e *Engine) Begin(ctx context.Context, tx *store.Tx, evaluations ...*Evaluation) ([][]Result, error) {
	now := store.At(e.config.Now())
	var rows []*evaluationRow
	var results []*Result
	var specs []operation.Spec
	out := make([][]Result, len(evaluations))
	for i, v := range evaluations {
		if e.owners[v.Owner] == nil || len(v.Hooks) == 0 {
			return nil, fmt.Errorf("evaluate %s: unknown owner %q or no hooks", v.Target.Name, v.Owner)
		}
		rows = append(rows, &evaluationRow{
			ID: v.ID, Owner: v.Owner, OwnerKey: v.Key, Account: v.Caller.Account, Region: v.Caller.Region, State: running,
			Details: store.JSONOf(details{Target: v.Target, ChangeSetID: v.ChangeSetID, Payload: v.Payload, Then: v.Then}), CreatedAt: now, RowVersion: 1,
		})
		for n := range v.Hooks {
			result := v.result(&v.Hooks[n], e.config.NewID(), now)
			out[i] = append(out[i], *result)
			results = append(results, result)
			specs = append(specs, v.invocation(&v.Hooks[n], result.ID))
		}
	}
	if err := insert(ctx, tx, rows); err != nil {
		return nil, err
	}
	if err := insert(ctx, tx, results); err != nil {
		return nil, err
	}
	if _, err := e.config.Operations.Begin(ctx, tx, specs...); err != nil {
		return nil, err
	}
	return out, nil
}

func insert[T any](ctx context.Context, tx *store.Tx, rows []*T) error {
	if err := store.Insert(ctx, tx, rows...); err != nil {
		return fmt.Errorf("begin %d evaluations of hooks: %w", len(rows), err)
	}
	return nil
}

// result is that of an invocation that begins.
func (v *Evaluation) result(h *Hook, id string, now store.Time) *Result {
	target := v.StackID
	if v.Target.Kind == CloudControl {
		target = v.Token
	}
	return &Result{
		ID: id, EvaluationID: v.ID, Account: v.Caller.Account, Region: v.Caller.Region,
		TypeName: h.TypeName, TypeARN: h.TypeARN, Version: h.Version, OriginalName: h.OriginalName,
		ConfigurationVersion: h.ConfigurationVersion, FailureMode: h.Settings.Mode(),
		Status: types.HookStatusHookInProgress, Reason: Invoking,
		TargetKind: v.Target.Kind, TargetName: v.Target.Name, TargetID: v.TargetID, Action: v.Target.Verb(), LogicalID: v.Target.LogicalID,
		StackID: v.StackID, ChangeSetID: v.ChangeSetID, ExecutionTarget: target, InvokedAt: now,
	}
}

// Invoking is the reason of a result in progress.
const Invoking = "Invoking hook"

// invocation is the operation of an invocation.
func (v *Evaluation) invocation(h *Hook, id string) operation.Spec {
	return operation.Spec{ID: id, Owner: OwnerName, Key: id, Request: operation.Request{
		Caller: v.Caller, Action: v.Target.Action, Token: id, Type: h.TypeName, Version: h.Version, StackID: v.StackID,
		StackName: v.Target.StackName, LogicalID: v.Target.LogicalID, Desired: v.Desired, Previous: v.Previous, Secrets: v.Secrets,
	}}
}

// Cancel ends an evaluation early, if the transaction commits: its owner hears no more of it.
// Calls that are being made are waited for. It reports whether the evaluation was still running.
func (e *Engine) Cancel(ctx context.Context, tx *store.Tx, id string) (bool, error) {
	row, err := store.Find[evaluationRow](ctx, tx, byID, id)
	if err != nil || row == nil || row.State != running {
		return false, err
	}
	row.State, row.Details, row.EndedAt = cancelled, store.JSON[details]{}, store.At(e.config.Now())
	if err := store.Swap(ctx, tx, row, &row.RowVersion); err != nil {
		return false, err
	}
	results, err := e.ResultsOf(ctx, tx, id)
	if err != nil {
		return false, err
	}
	for i := range results {
		if !results[i].Ended() {
			if err := e.config.Operations.Cancel(ctx, tx, results[i].ID); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// ResultsOf are the results of an evaluation, by the names of their hooks.
func (e *Engine) ResultsOf(ctx context.Context, tx *store.Tx, evaluation string) ([]Result, error) {
	return e.results(ctx, tx, "evaluation_id = ?", evaluation)
}

func (e *Engine) results(ctx context.Context, tx *store.Tx, where, id string) ([]Result, error) {
	var rows []Result
	if err := store.List(ctx, tx, &rows, "WHERE "+where+" ORDER BY type_name, id", id); err != nil {
		return nil, fmt.Errorf("read the results of hooks: %w", err)
	}
	return rows, nil
}

// Actions are those of the operations that the engine begins.
func (e *Engine) Actions() []invoke.Action { return invoke.HookActions }

// Progressed implements [operation.Owner]: it writes the result of an invocation, and ends the
// evaluation with the last one.
func (e *Engine) Progressed(ctx context.Context, tx *store.Tx, state operation.State) error {
	if !state.Progress.Terminal() {
		return nil
	}
	results, err := e.results(ctx, tx, "evaluation_id = (SELECT evaluation_id FROM hook_results WHERE id = ?)", state.Key)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(results, func(r Result) bool { return r.ID == state.Key })
	if i < 0 || results[i].Ended() {
		return nil
	}
	before := results[i]
	verdictOf(state).apply(&results[i])
	results[i].EndedAt = store.At(e.config.Now())
	if err := store.UpdateFrom(ctx, tx, &before, &results[i]); err != nil {
		return fmt.Errorf("write the result of a hook: %w", err)
	}
	return e.advance(ctx, tx, &results[i], results)
}

// advance notifies the owner of one of the results of an evaluation.
func (e *Engine) advance(ctx context.Context, tx *store.Tx, result *Result, results []Result) error {
	row, err := store.Find[evaluationRow](ctx, tx, byID, result.EvaluationID)
	if err != nil || row == nil || row.State != running {
		return err
	}
	outcome := Outcome{ID: row.ID, Key: row.OwnerKey, Result: *result, Ended: true}
	for i := range results {
		switch r := &results[i]; {
		case !r.Ended():
			outcome.Ended = false
		case r.Blocks() && !slices.Contains(outcome.Failed, r.TypeName):
			outcome.Failed = append(outcome.Failed, r.TypeName)
		}
	}
	then := row.Details.Get().Then
	if outcome.Ended {
		row.State, row.Details, row.EndedAt = passed, store.JSON[details]{}, store.At(e.config.Now())
		if len(outcome.Failed) > 0 {
			row.State = failed
		}
		if err := store.Swap(ctx, tx, row, &row.RowVersion, "state", "details", "ended_at"); err != nil {
			return err
		}
	}
	proceed, err := e.owners[row.Owner].Hooked(ctx, tx, outcome)
	if err != nil || !proceed || row.State != passed || then == nil {
		return err
	}
	_, err = e.config.Operations.Begin(ctx, tx, *then)
	return err
}

// Committed implements [operation.Supplier]: what the last hook of a target could fetch is
// withdrawn.
func (e *Engine) Committed(ctx context.Context, state operation.State) {
	if state.Request.Desired != nil || state.Request.Previous != nil {
		return // a resource, which is part of the request
	}
	result, err := store.Find[Result](ctx, e.store.Read(), byID, state.Key)
	if err != nil || result == nil || e.config.Withdraw == nil || result.TargetKind != Stack && result.TargetKind != ChangeSet {
		return
	}
	row, err := store.Find[evaluationRow](ctx, e.store.Read(), byID, result.EvaluationID)
	if err != nil || row == nil || row.State == running {
		return
	}
	if err := e.config.Withdraw(ctx, state.Request.Caller, row.ID); err != nil {
		e.config.Logger.WarnContext(ctx, "the payload of a hook is not removed", "evaluation", row.ID, "error", err)
	}
}

// Expire forgets results that are 90 days old.
func (e *Engine) Expire(ctx context.Context, now time.Time) error {
	before := store.At(now.Add(-keepResults))
	return errors.Join(
		e.store.DeleteInBatches(ctx, "hook_results", "id", "ended_at IS NOT NULL AND ended_at < ?", before),
		e.store.DeleteInBatches(ctx, "hook_evaluations", "id", "ended_at IS NOT NULL AND ended_at < ?", before),
	)
}

// FailedReason is the reason of what hooks stopped.
func FailedReason(names []string) string {
	return fmt.Sprintf("The following hook(s) failed: [%s]", strings.Join(names, ", "))
}

// Unskipped are the hooks that still have to see the stack of a change set: those whose answer
// to the change set did not make that unnecessary.
func (e *Engine) Unskipped(ctx context.Context, tx *store.Tx, hooks []Hook, changeSet string) ([]Hook, error) {
	var rows []Result
	err := store.List(ctx, tx, &rows, "WHERE target_id = ? AND target_kind = ? AND skips_stack = ?", changeSet, ChangeSet, true)
	if err != nil {
		return nil, fmt.Errorf("read the results of hooks: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(hooks), func(h Hook) bool {
		return slices.ContainsFunc(rows, func(r Result) bool { return r.TypeARN == h.TypeARN })
	}), nil
}
