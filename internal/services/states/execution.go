package states

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The statuses of an execution.
const (
	running   = "RUNNING"
	succeeded = "SUCCEEDED"
	failed    = "FAILED"
	aborted   = "ABORTED"
	overdue   = "TIMED_OUT"
)

// The bounds of executions.
const (
	maxData   = 256 << 10       // bytes of an input or output, as on AWS
	maxSteps  = 25_000          // changes of the state of one execution, as AWS bounds its history
	throttled = 2 * time.Second // until a task without a free process is tried again
	keepEnded = 7 * 24 * time.Hour
)

// workKind is the kind of the wake-ups of executions; their id is the execution's ARN.
const workKind = "execution of a state machine"

type executionRow struct {
	store.Row `db:"state_executions AS e"`

	ARN        string     `db:"arn,pk"`
	Account    string     `db:"account"`
	Region     string     `db:"region"`
	Machine    string     `db:"machine"`
	Name       string     `db:"name"`
	AccessKey  string     `db:"access_key"` // of the caller who started it
	Status     string     `db:"status"`
	State      string     `db:"state"`
	Attempts   string     `db:"attempts"` // JSON: how often each retrier of the state repeated the task
	Steps      int64      `db:"steps"`
	NextAt     store.Time `db:"next_at"`
	StartedAt  store.Time `db:"started_at"`
	StoppedAt  store.Time `db:"stopped_at"`
	RowVersion int64      `db:"row_version"`

	Definition string `db:"definition" seal:"state_executions.definition"`
	Input      string `db:"input" seal:"state_executions.input"` // of the execution
	Data       string `db:"data" seal:"state_executions.data"`   // the input of the state, or the output of the execution
	Error      string `db:"error" seal:"state_executions.error"`
	Cause      string `db:"cause" seal:"state_executions.cause"`
}

func newID() string { return uuid.NewString() }

func noExecution(arn string) error {
	return awswire.Errorf("ExecutionDoesNotExist", 0, "Execution Does Not Exist: '%s'", arn)
}

// start begins an execution. The same name and input again return the one that is running.
func (s *Service) start(ctx context.Context, caller awswire.Caller, machine, name, input string) (*executionRow, error) {
	var started *executionRow
	err := s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		m, err := machineIn(ctx, tx, caller.Place, machine)
		if err != nil {
			return err
		}
		d, err := parse(m.Definition)
		if err != nil {
			return err
		}
		arn := executionARN(caller.Place, machine, name)
		found, err := executionIn(ctx, tx, arn)
		if err != nil {
			return err
		}
		if found != nil {
			if found.Status == running && found.Input == input {
				started = found
				return nil
			}
			return awswire.Errorf("ExecutionAlreadyExists", 0, "Execution Already Exists: '%s'", arn)
		}
		now := s.config.Now()
		started = &executionRow{
			ARN: arn, Account: caller.Account, Region: caller.Region, Machine: machine, Name: name, AccessKey: caller.AccessKeyID,
			Status: running, StartedAt: store.At(now), Definition: m.Definition, Input: input, Data: input,
		}
		s.enter(started, d, d.StartAt)
		if err := store.Insert(ctx, tx, started); err != nil {
			return fmt.Errorf("add an execution: %w", err)
		}
		return tx.Wake(ctx, workKind, arn, started.NextAt.Time)
	})
	return started, err
}

// executionIn returns nil if there is no such execution.
func executionIn(ctx context.Context, db store.DB, arn string) (*executionRow, error) {
	row := &executionRow{ARN: arn}
	err := store.Get(ctx, db, row, "WHERE arn = ?", row.ARN)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read an execution: %w", err)
	}
	return row, nil
}

// enter moves an execution to a state.
func (s *Service) enter(row *executionRow, d *definition, name string) {
	row.State, row.Attempts = name, ""
	wait := time.Duration(0)
	if seconds := d.States[name].Seconds; seconds != nil {
		wait = time.Duration(*seconds) * time.Second
	}
	s.wait(row, d, wait)
}

// wait continues an execution after a time, or at the end of its own.
func (s *Service) wait(row *executionRow, d *definition, wait time.Duration) {
	row.NextAt = s.after(wait)
	if end, limited := s.deadline(row, d); limited && row.NextAt.After(end) {
		row.NextAt = store.At(end)
	}
}

// deadline is when an execution times out. It reports false for one that does not.
func (s *Service) deadline(row *executionRow, d *definition) (time.Time, bool) {
	return row.StartedAt.Add(time.Duration(float64(d.Timeout) / s.config.TimeScale)), d.Timeout > 0
}

func (s *Service) after(wait time.Duration) store.Time {
	return store.At(s.config.Now().Add(time.Duration(float64(wait) / s.config.TimeScale)))
}

// Workers are those of the wake-ups of executions.
func (s *Service) Workers() map[string]store.Worker {
	return map[string]store.Worker{workKind: {Run: s.run, Fail: s.giveUp}}
}

// run is a store.Run: it takes an execution from state to state until it has to wait.
func (s *Service) run(ctx context.Context, arn string) (again time.Time, err error) {
	for {
		row, err := executionIn(ctx, s.config.Store.Read(), arn)
		if err != nil || row == nil || row.Status != running {
			return time.Time{}, err
		}
		if row.NextAt.After(s.config.Now()) {
			return row.NextAt.Time, nil
		}
		if err := s.step(ctx, row); err != nil {
			return time.Time{}, err
		}
		err = s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return store.Swap(ctx, tx, row, &row.RowVersion)
		})
		if err != nil && !errors.Is(err, store.ErrStale) { // it was stopped
			return time.Time{}, err
		}
		if err == nil && row.Status == failed {
			s.config.Logger.WarnContext(ctx, "the execution of a state machine failed", "execution", row.ARN, "state", row.State, "error", row.Error)
		}
	}
}

// giveUp fails an execution that can never go on.
func (s *Service) giveUp(ctx context.Context, arn, reason string) error {
	return s.config.Store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := executionIn(ctx, tx, arn)
		if err != nil || row == nil || row.Status != running {
			return err
		}
		s.end(row, failed, badRuntime, reason)
		return store.Swap(ctx, tx, row, &row.RowVersion)
	})
}

// step runs the current state and changes the row. With an error the state is run again.
func (s *Service) step(ctx context.Context, row *executionRow) error {
	d, err := parse(row.Definition)
	if err != nil {
		return err
	}
	current := d.States[row.State]
	row.Steps++
	if row.Steps > maxSteps {
		s.end(row, failed, badRuntime, fmt.Sprintf("The execution reached the maximum number of steps (%d).", maxSteps))
		return nil
	}
	if end, limited := s.deadline(row, d); limited && !s.config.Now().Before(end) {
		s.end(row, overdue, timedOut, "")
		return nil
	}
	if current.Unrun != "" {
		s.end(row, failed, badRuntime, fmt.Sprintf("cfn serve does not run the state %q, because it has %s.", row.State, current.Unrun))
		return nil
	}
	switch current.Type {
	case "Fail":
		s.end(row, failed, current.Error, current.Cause)
	case "Task":
		return s.task(ctx, row, d, current)
	default: // Wait is over, Pass and Succeed hand on what they got
		s.proceed(row, d, current)
	}
	return nil
}

// proceed goes on to what follows a state that succeeded.
func (s *Service) proceed(row *executionRow, d *definition, from *state) {
	if from.Next == "" {
		s.end(row, succeeded, "", "")
		return
	}
	s.enter(row, d, from.Next)
}

func (s *Service) end(row *executionRow, status, name, cause string) {
	row.Status, row.Error, row.Cause, row.StoppedAt = status, name, cause, store.At(s.config.Now())
}

// task invokes the function of a state.
func (s *Service) task(ctx context.Context, row *executionRow, d *definition, current *state) error {
	caller := awswire.Caller{Place: awswire.Place{Account: row.Account, Region: row.Region}, AccessKeyID: row.AccessKey}
	result, err := s.config.Functions.Call(ctx, caller, current.Resource, []byte(row.Data), nil)
	if stopped := context.Cause(ctx); stopped != nil {
		return stopped // the process ends: the task is run again by the next one
	}
	var busy *lambda.ThrottledError
	if errors.As(err, &busy) {
		row.NextAt = store.At(s.config.Now().Add(throttled))
		row.Steps--
		return nil
	}
	name, cause := failureOf(result, err)
	if name == "" && !json.Valid(result.Payload) {
		name, cause = badRuntime, "The function returned a payload that is not JSON."
	}
	if name == "" && len(result.Payload) > maxData {
		name, cause = tooMuchData, fmt.Sprintf("The state/task '%s' returned a result with a size exceeding the maximum number of bytes service limit.", current.Resource)
	}
	if name == "" {
		row.Data = string(result.Payload)
		s.proceed(row, d, current)
		return nil
	}
	return s.failedTask(row, d, current, name, cause)
}

// failureOf is the error of a task and its cause; the name is empty if the task succeeded.
func failureOf(result lambda.Result, err error) (name, cause string) {
	var refused *lambda.RefusedError
	switch {
	case errors.As(err, &refused):
		return "Lambda." + refused.Code, refused.Message
	case result.FunctionError != "":
		var document struct{ ErrorType string }
		if json.Unmarshal(result.Payload, &document) != nil || document.ErrorType == "" {
			document.ErrorType = "Lambda.Unknown"
		}
		return document.ErrorType, string(result.Payload)
	case err != nil:
		return "Lambda.ServiceException", err.Error()
	}
	return "", ""
}

// failedTask repeats a task that failed, continues with another state, or ends the execution.
func (s *Service) failedTask(row *executionRow, d *definition, current *state, name, cause string) error {
	attempts := map[int]int64{}
	if row.Attempts != "" {
		if err := json.Unmarshal([]byte(row.Attempts), &attempts); err != nil {
			return fmt.Errorf("read the attempts of an execution: %w", err)
		}
	}
	for i, r := range current.Retry {
		if !matches(r.ErrorEquals, name) {
			continue
		}
		if attempts[i] >= r.attempts() {
			break // the first retrier that matches decides
		}
		s.wait(row, d, r.delay(attempts[i]))
		attempts[i]++
		text, err := json.Marshal(attempts)
		row.Attempts = string(text)
		return err
	}
	for _, c := range current.Catch {
		if !matches(c.ErrorEquals, name) {
			continue
		}
		output, err := json.Marshal(struct{ Error, Cause string }{name, cause})
		if err != nil {
			return err
		}
		row.Data = string(output)
		s.enter(row, d, c.Next)
		return nil
	}
	s.end(row, failed, name, cause)
	return nil
}

// Expire forgets executions that ended a week ago.
func (s *Service) Expire(ctx context.Context, now time.Time) error {
	err := s.config.Store.DeleteInBatches(ctx, "state_executions", "arn", "status <> ? AND stopped_at < ?", running, store.At(now.Add(-keepEnded)))
	if err != nil {
		return fmt.Errorf("forget old executions: %w", err)
	}
	return nil
}
