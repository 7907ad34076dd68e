// Package states has the part of Step Functions that custom resources need: state machines of
// templates, and standard executions of them whose tasks are Lambda functions, with Retry and
// Catch. The CDK provider framework waits in one for its isCompleteHandler.
//
// Every valid definition can be stored. States of the types Task, Wait, Pass, Succeed and Fail run,
// without paths, parameters, result selectors, time-outs and JSONata; an execution that comes to any
// other state fails with its name. An execution survives the process: a task that was cut off is run
// again.
package states

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up a Service. Store and Functions must be set.
type Config struct {
	Store     *store.Store
	Functions lambda.Functions

	// TimeScale divides the waits of states and between the attempts of tasks. Zero means 1.
	TimeScale float64

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil means the store's clock
	NewID  func() string    // names of executions, UUIDs in form; nil makes random ones
}

// A Service is Step Functions for all accounts and regions.
type Service struct {
	config Config
}

// New returns the service in a store.
func New(config Config) *Service {
	config = withDefaults(config)
	return &Service{config: config}
}

// A Machine is a state machine.
type Machine struct {
	Name       string
	Definition string // in the Amazon States Language
	Type       string // STANDARD or EXPRESS, which run alike
	RoleARN    string
	Model      string // what its owner keeps with it
	CreatedAt  time.Time
}

type machineRow struct {
	store.Row `db:"state_machines AS m"`

	Account    string     `db:"account,pk"`
	Region     string     `db:"region,pk"`
	Name       string     `db:"name,pk"`
	Definition string     `db:"definition" seal:"state_machines.definition"`
	Type       string     `db:"type"`
	RoleARN    string     `db:"role_arn"`
	Model      string     `db:"model" seal:"state_machines.model"`
	CreatedAt  store.Time `db:"created_at"`
}

func (r *machineRow) machine() *Machine {
	return &Machine{Name: r.Name, Definition: r.Definition, Type: r.Type, RoleARN: r.RoleARN, Model: r.Model, CreatedAt: r.CreatedAt.Time}
}

var (
	machineName   = lazyregexp.New(`^[A-Za-z0-9_-]{1,80}$`)
	executionName = lazyregexp.New(`^[A-Za-z0-9_.:@+=,-]{1,80}$`)
)

// MachineARN is the ARN of a state machine of a place.
func MachineARN(place awswire.Place, name string) string {
	return placeARN(place, "stateMachine", name)
}

func executionARN(place awswire.Place, machine, name string) string {
	return placeARN(place, "execution", machine+":"+name)
}

func placeARN(place awswire.Place, kind, name string) string {
	return fmt.Sprintf("arn:%s:states:%s:%s:%s:%s", awswire.PartitionOf(place.Region), place.Region, place.Account, kind, name)
}

// Create adds a state machine. The error is an *awswire.Error if its name is taken, or if its
// definition is invalid.
func (s *Service) Create(ctx context.Context, place awswire.Place, m Machine) error {
	row, err := s.rowOf(place, m)
	if err != nil {
		return err
	}
	return s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		written, err := store.InsertOr(ctx, tx, "ON CONFLICT (account, region, name) DO NOTHING", row)
		if err != nil {
			return fmt.Errorf("add a state machine: %w", err)
		}
		if written == 0 {
			return awswire.Errorf("StateMachineAlreadyExists", 0, "State Machine Already Exists: '%s'", MachineARN(place, m.Name))
		}
		return nil
	})
}

// Update replaces a state machine. Executions keep the definition that they were started with.
// The errors are those of Create, and that the state machine does not exist.
func (s *Service) Update(ctx context.Context, place awswire.Place, m Machine) error {
	row, err := s.rowOf(place, m)
	if err != nil {
		return err
	}
	return s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		err := store.Update(ctx, tx, row, "definition", "role_arn", "model")
		if errors.Is(err, store.ErrStale) {
			return noMachine(MachineARN(place, m.Name))
		}
		if err != nil {
			return fmt.Errorf("change a state machine: %w", err)
		}
		return nil
	})
}

func (s *Service) rowOf(place awswire.Place, m Machine) (*machineRow, error) {
	if !machineName.MatchString(m.Name) {
		return nil, awswire.Errorf("InvalidName", 0, "Invalid Name: '%s'", m.Name)
	}
	if _, err := parse(m.Definition); err != nil {
		return nil, err
	}
	return &machineRow{
		Account: place.Account, Region: place.Region, Name: m.Name, Definition: m.Definition, Type: m.Type, RoleARN: m.RoleARN, Model: m.Model, CreatedAt: store.At(s.config.Now()),
	}, nil
}

// Delete removes a state machine, and ends its executions. The error is an *awswire.Error if it
// does not exist.
func (s *Service) Delete(ctx context.Context, place awswire.Place, name string) error {
	return s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		written, err := store.Exec(ctx, tx, "DELETE FROM state_machines WHERE account = ? AND region = ? AND name = ?", place.Account, place.Region, name)
		if err != nil {
			return fmt.Errorf("remove a state machine: %w", err)
		}
		if written == 0 {
			return noMachine(MachineARN(place, name))
		}
		_, err = store.Exec(ctx, tx, "UPDATE state_executions SET status = ?, stopped_at = ?, row_version = row_version + 1 WHERE account = ? AND region = ? AND machine = ? AND status = ?",
			aborted, store.At(s.config.Now()), place.Account, place.Region, name, running)
		if err != nil {
			return fmt.Errorf("end the executions of a state machine: %w", err)
		}
		return nil
	})
}

// Get returns a state machine. The error is an *awswire.Error if it does not exist.
func (s *Service) Get(ctx context.Context, place awswire.Place, name string) (*Machine, error) {
	return machineIn(ctx, s.config.Store.Read(), place, name)
}

func machineIn(ctx context.Context, db store.DB, place awswire.Place, name string) (*Machine, error) {
	row := &machineRow{Account: place.Account, Region: place.Region, Name: name}
	err := store.Get(ctx, db, row, "WHERE account = ? AND region = ? AND name = ?", row.Account, row.Region, row.Name)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, noMachine(MachineARN(place, name))
	case err != nil:
		return nil, fmt.Errorf("read a state machine: %w", err)
	}
	return row.machine(), nil
}

func noMachine(arn string) error {
	return awswire.Errorf("StateMachineDoesNotExist", 0, "State Machine Does Not Exist: '%s'", arn)
}

// nameIn is the name in an ARN of a place.
func nameIn(place awswire.Place, kind, arn string) (string, error) {
	name, own := strings.CutPrefix(arn, placeARN(place, kind, ""))
	switch {
	case own && name != "":
		return name, nil
	case strings.HasPrefix(arn, "arn:") && strings.Contains(arn, ":states:") && strings.Contains(arn, ":"+kind+":"):
		if kind == "execution" {
			return "", noExecution(arn)
		}
		return "", noMachine(arn)
	}
	return "", awswire.Errorf("InvalidArn", 0, "Invalid Arn: '%s'", arn)
}

func withDefaults(config Config) Config {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = func() time.Time { return config.Store.Now().Time }
	}
	if config.NewID == nil {
		config.NewID = newID
	}
	if config.TimeScale == 0 {
		config.TimeScale = 1
	}
	return config
}
