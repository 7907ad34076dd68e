package console

import (
	"cmp"
	"net/http"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/registry"
	"github.com/formwork-dev/formwork/internal/running/stack"
)

const (
	shownDeployments = 12 // operations on stacks on the first page
	shownFailed      = 3  // of those that failed last
	readDeployments  = 50 // operations among which those that failed are looked for
	readTests        = 20 // runs among which those that run are looked for
)

// homeView is the first page: what runs, what failed last, and the latest deployments.
type homeView struct {
	Running       []stack.StackOperation
	Registrations []registration
	Tests         []registry.TestRun
	Failed        []failedOperation
	Latest        []stack.StackOperation
	Types         bool // the place has types
}

// A failedOperation is an operation that failed, with its cause as far as the stack still says it.
type failedOperation struct {
	stack.StackOperation
	Resource, Message string
}

// Busy reports whether anything runs.
func (v *homeView) Busy() bool { return len(v.Running)+len(v.Registrations)+len(v.Tests) > 0 }

// Empty reports whether nothing has been done here yet.
func (v *homeView) Empty() bool { return !v.Busy() && len(v.Latest) == 0 && !v.Types }

func (c *Console) showHome(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section = "Overview", "overview"
	ctx, caller := r.Context(), c.caller(p)
	p.Follow = p.link("/stacks/events")
	v := &homeView{}
	err := c.readDeployments(r, p, v)
	if err != nil {
		return nil, err
	}
	if v.Registrations, err = c.inProgress(ctx, caller); err != nil {
		return nil, err
	}
	runs, err := c.config.Registry.TestRuns(ctx, caller, registry.TestQuery{Limit: readTests})
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if run.Status == types.TypeTestsStatusInProgress {
			v.Tests = append(v.Tests, run)
		}
	}
	found, err := c.config.Registry.Types(ctx, caller, registry.TypeQuery{Limit: 1})
	v.Types = len(found) > 0
	return p.homeBody(v), err
}

// readDeployments reads the latest operations on stacks, and why those failed that failed last.
func (c *Console) readDeployments(r *http.Request, p *page, v *homeView) error {
	all, err := c.config.Stacks.LatestOperations(r.Context(), p.Place, readDeployments)
	if err != nil {
		return err
	}
	v.Latest = all[:min(len(all), shownDeployments)]
	seen := map[string]bool{}
	for _, op := range all {
		latest := !seen[op.Stack.ARN]
		seen[op.Stack.ARN] = true
		if running(&op) {
			v.Running = append(v.Running, op)
		}
		if op.Status != string(types.BeaconStackOperationStatusFailed) || !latest || !op.Stack.DeletedAt.IsZero() || len(v.Failed) == shownFailed {
			continue // a later operation, or the deletion, has fixed it
		}
		failed := failedOperation{StackOperation: op}
		failures, err := c.config.Stacks.Failures(r.Context(), p.Place, op.Stack.ARN)
		if err != nil && !refused(err) {
			return err
		}
		if len(failures) > 0 {
			f := &failures[0]
			for f.Nested != nil {
				f = f.Nested
			}
			failed.Resource, failed.Message = f.LogicalID, f.Message
			if len(f.Hooks) > 0 {
				failed.Message = "hook " + f.Hooks[0].Hook + " refused it: " + cmp.Or(f.Hooks[0].Message, "no reason given")
			}
		}
		v.Failed = append(v.Failed, failed)
	}
	return nil
}

// running reports whether an operation or its rollback runs.
func running(op *stack.StackOperation) bool {
	return op.EndedAt.IsZero() || op.Rollback != nil && op.Rollback.EndedAt.IsZero()
}

// outcome is how an operation ended, with its rollback.
func outcome(op *stack.StackOperation) string {
	switch {
	case op.EndedAt.IsZero():
		return "IN_PROGRESS"
	case op.Rollback == nil:
		return op.Status
	case op.Rollback.EndedAt.IsZero():
		return "ROLLBACK_IN_PROGRESS"
	case op.Rollback.Status == string(types.BeaconStackOperationStatusFailed):
		return "ROLLBACK_FAILED"
	}
	return "FAILED"
}

// took is how long an operation took with its rollback, in seconds.
func (p *page) took(op *stack.StackOperation) float64 {
	end := op.EndedAt
	if op.Rollback != nil {
		end = op.Rollback.EndedAt
	}
	if end.IsZero() {
		end = p.now
	}
	return max(end.Sub(op.StartedAt).Seconds(), 0)
}
