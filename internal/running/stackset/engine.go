package stackset

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Stacks create, change and delete the stacks of instances. [stack.Engine] implements it.
type Stacks interface {
	CreateStack(ctx context.Context, caller awswire.Caller, in *cloudformation.CreateStackInput) (*cloudformation.CreateStackOutput, error)
	UpdateStack(ctx context.Context, caller awswire.Caller, in *cloudformation.UpdateStackInput) (*cloudformation.UpdateStackOutput, error)
	DeleteStack(ctx context.Context, caller awswire.Caller, in *cloudformation.DeleteStackInput) (*cloudformation.DeleteStackOutput, error)
	GetTemplate(ctx context.Context, caller awswire.Caller, in *cloudformation.GetTemplateInput) (*cloudformation.GetTemplateOutput, error)

	DetectStackDrift(ctx context.Context, caller awswire.Caller, in *cloudformation.DetectStackDriftInput) (*cloudformation.DetectStackDriftOutput, error)
	DescribeStackDriftDetectionStatus(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackDriftDetectionStatusInput) (*cloudformation.DescribeStackDriftDetectionStatusOutput, error)
	DescribeStackResourceDrifts(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackResourceDriftsInput) (*cloudformation.DescribeStackResourceDriftsOutput, error)

	Attempt(ctx context.Context, place awswire.Place, stack, token string) (*stack.Attempt, error)
	ReadTemplate(ctx context.Context, caller awswire.Caller, body, url *string) (string, *template.Template, error)
}

// Config sets up an [Engine]. Store and Stacks must be set.
type Config struct {
	Store  *store.Store
	Stacks Stacks

	// Reaches reports whether an account may have stacks in another one. nil: every account may.
	Reaches func(admin, target string) bool

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil is the clock of the store
	NewID  func() string    // nil makes random UUIDs
}

// An Engine carries out the operations on stack sets. Any number of goroutines may use it, and any
// number of processes on one database.
type Engine struct {
	config Config
	store  *store.Store
}

// New returns the engine over a store. Nothing runs until the store runs Workers.
func New(config Config) *Engine {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = func() time.Time { return config.Store.Now().Time }
	}
	if config.NewID == nil {
		config.NewID = uuid.NewString
	}
	if config.Reaches == nil {
		config.Reaches = func(string, string) bool { return true }
	}
	return &Engine{config: config, store: config.Store}
}

// wakeKind is the kind of wake-up that advances an operation; its id is SET/OPERATION.
const wakeKind = "stack set operation"

// Workers are the workers of the engine, by the kind of wake-up.
func (e *Engine) Workers() map[string]store.Worker {
	return map[string]store.Worker{wakeKind: {Run: e.advance, Fail: e.giveUp}}
}

func (e *Engine) now() store.Time { return store.At(e.config.Now()) }

// Ended wakes the operation that waits for a stack. It is for the Config of package stack.
func (e *Engine) Ended(ctx context.Context, tx *store.Tx, stackARN string) error {
	rows, err := store.FindAll[resultRow](ctx, tx, "set_id", "stack_arn = ?", stackARN)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := tx.Wake(ctx, wakeKind, rows[i].SetID+"/"+rows[i].OperationID, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}
