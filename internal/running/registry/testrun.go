package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestOwner is the name of Tests among the owners of operations.
const TestOwner = "test"

const (
	// maxAttempts is how often a run is begun: it ends as failed when the program died, or
	// something of our own failed, so many times in the midst of it.
	maxAttempts = 5
	// discardTimeout bounds the deletion of what an interrupted run has left behind.
	discardTimeout = 5 * time.Minute
	// deliverTime is what a run has left of its operation's time when its tests are stopped:
	// to write the report and deliver the logs.
	deliverTime = 5 * time.Minute
)

// Tests carry out the runs of TestType as operations: each has the durable row, the deadline,
// the wake-up and the take-over of package operation. They are the operation.Supplier of
// TestOwner.
type Tests struct{ registry *Registry }

// Tests returns the owner of the operations that TestType begins.
func (r *Registry) Tests() *Tests { return &Tests{r} }

// operation is that of a run that begins.
func (r *testRunRow) operation() operation.Spec {
	return operation.Spec{ID: r.ID, Owner: TestOwner, Key: r.ID, Request: operation.Request{
		Caller: r.caller(), Action: operation.Test, Token: r.ID, Type: r.TypeName, Version: versionID(r.Version),
	}}
}

// Actions implements operation.Supplier.
func (t *Tests) Actions() []invoke.Action { return []invoke.Action{operation.Test} }

// Type implements operation.Types: whatever is tested, its tests are run here.
func (t *Tests) Type(_ context.Context, _ awswire.Caller, name, version string) (*operation.Type, error) {
	return &operation.Type{Name: name, Version: version, Provider: t, Timeout: t.registry.config.TestTimeout + deliverTime}, nil
}

// A verdict is the result of a run.
type verdict struct {
	Description             string
	Passed, Failed, Skipped int64
	Report                  string // hash of the blob, "" for none
	Delivery                string // key of the logs in the bucket, "" if they were not delivered
}

// Call implements operation.Provider: it runs the tests. A run that was interrupted is carried
// out again from its beginning: only its outcome is written down.
func (t *Tests) Call(ctx context.Context, request operation.Request) (operation.Progress, error) {
	r := t.registry
	run, version, err := r.attempt(ctx, request.Token)
	if err != nil {
		return operation.Progress{}, err
	}
	if run == nil {
		return operation.Progress{Status: cfn.OperationStatusFailed, Message: "The run does not exist any more.", Own: true}, nil
	}
	found, err := r.outcomeOf(ctx, run, version)
	if err == nil {
		err = r.deliver(ctx, run, found)
	}
	if err != nil {
		return operation.Progress{}, err
	}
	v := verdict{Report: found.report, Delivery: run.Delivery}
	v.Description = words.CutRunes(printable(strings.ToValidUTF8(found.description, "\ufffd")), maxTestDescription)
	if s := found.summary; s != nil {
		v.Passed, v.Failed, v.Skipped = int64(s.Passed), int64(s.Failed+s.Errors), int64(s.Skipped)
	}
	progress := operation.Progress{Status: cfn.OperationStatusFailed, Own: true}
	if found.passed {
		progress.Status = cfn.OperationStatusSuccess
	}
	progress.Model, err = toModel(v)
	return progress, err
}

// outcomeOf runs the tests, unless they were interrupted too often.
func (r *Registry) outcomeOf(ctx context.Context, run *testRunRow, version *versionRow) (*outcome, error) {
	if run.Attempts > maxAttempts {
		return failedTest("The tests were interrupted %d times and are given up; the server's log may have the cause.%s", maxAttempts, run.notes().left()), nil
	}
	limited := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, deadline.Add(-deliverTime))
		defer cancel()
	}
	found, err := r.examine(limited, run, version)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err() // the program stops, which says nothing about the type
	case err != nil && limited.Err() != nil:
		return r.tookTooLong(), nil
	case err != nil:
		return nil, fmt.Errorf("test %s version %d: %w", run.TypeName, run.Version, err)
	}
	return found, nil
}

func (r *Registry) tookTooLong() *outcome {
	return failedTest("The tests took longer than %s.", r.config.TestTimeout)
}

// attempt counts that a run is begun, and returns it with its version. The run is nil if
// there is nothing to do.
func (r *Registry) attempt(ctx context.Context, id string) (run *testRunRow, version *versionRow, err error) {
	err = r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if run, err = findRun(ctx, tx, id); err != nil || run == nil {
			return err
		}
		if run.Status != string(cfn.TypeTestsStatusInProgress) {
			run = nil
			return nil
		}
		version = &versionRow{}
		if err := store.Get(ctx, tx, version, "WHERE id = ?", run.SourceID); err != nil {
			return fmt.Errorf("look up what is tested: %w", err)
		}
		run.Attempts++
		return store.Swap(ctx, tx, run, &run.RowVersion)
	})
	return run, version, err
}

// Progressed implements operation.Owner: it writes down what a run has found, in the run and in
// its version.
func (t *Tests) Progressed(ctx context.Context, tx *store.Tx, state operation.State) error {
	p := state.Progress
	run, err := findRun(ctx, tx, state.Key)
	if err != nil || run == nil || run.Status != string(cfn.TypeTestsStatusInProgress) || !p.Terminal() {
		return err
	}
	var v verdict
	if err := fromModel(p.Model, &v); err != nil {
		return err
	}
	run.Status, run.Description = string(cfn.TypeTestsStatusFailed), v.Description
	if p.Status == cfn.OperationStatusSuccess {
		run.Status = string(cfn.TypeTestsStatusPassed)
	}
	switch { // ended by the engine
	case p.ErrorCode == string(invoke.NotStabilized):
		run.Description = t.registry.tookTooLong().description
	case run.Description == "":
		run.Description = p.Message
	}
	run.Passed, run.Failed, run.Skipped = v.Passed, v.Failed, v.Skipped
	run.ReportHash, run.Delivery, run.EndedAt, run.Notes = v.Report, v.Delivery, t.registry.now(), ""
	if err := store.Swap(ctx, tx, run, &run.RowVersion); err != nil {
		return err
	}
	version := &versionRow{}
	if err := store.Get(ctx, tx, version, "WHERE id = ?", run.SourceID); err != nil {
		return fmt.Errorf("look up what was tested: %w", err)
	}
	version.TestStatus, version.TestStatusDescription = run.Status, run.Description
	return writeStatus(ctx, tx, version)
}

// Committed implements operation.Supplier: it announces the end of a run.
func (t *Tests) Committed(ctx context.Context, state operation.State) {
	run, err := findRun(ctx, t.registry.store.Read(), state.Key)
	if err != nil || run == nil {
		return // those who listen look again in any case
	}
	t.registry.announce(run.caller(), schema.Kind(run.Kind), run.TypeName, versionID(run.Version), TestEnded)
}

// toModel and fromModel carry a verdict through an operation.
func toModel(v verdict) (model map[string]any, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &model)
	}
	return model, err
}

func fromModel(model map[string]any, v *verdict) error {
	text, err := json.Marshal(model)
	if err == nil && model != nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return errors.New("cannot read what a test has found")
	}
	return nil
}
