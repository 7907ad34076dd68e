package stack

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up an Engine. Store, Types and Operations must be set.
type Config struct {
	Store      *store.Store
	Types      operation.Types
	Operations *operation.Engine

	// Hooks evaluates what stacks are about to change. nil has no hooks.
	Hooks *hook.Engine

	// Object fetches a template or policy by its URL in S3, at most limit bytes of it and one. The error
	// is [ErrNotObject] for the URL of something else. An *awswire.Error says that the caller has no such
	// object. nil has none.
	Object func(ctx context.Context, caller awswire.Caller, url string, limit int64) ([]byte, error)

	// HasObjects reports whether a bucket of the caller's account, which a change set deletes, has objects
	// or versions of them. nil does not look.
	HasObjects func(ctx context.Context, caller awswire.Caller, bucket string) (bool, error)

	// Resolve returns the value of a dynamic reference, as in registry.Config. nil resolves none.
	Resolve func(ctx context.Context, caller awswire.Caller, service, reference string) (string, error)

	// StoredParameters returns the existing parameters of SSM with the names NAME or NAME:VERSION, by the requested
	// name: those behind the types AWS::SSM::Parameter::Value<…>. nil has none.
	StoredParameters func(ctx context.Context, caller awswire.Caller, names []string) (map[string]template.Stored, error)

	// Endpoint is the URL of this server, "" if it is not known yet. nil never knows it.
	Endpoint func() string

	// Macros runs the transforms of templates that are not the engine's own. nil has none.
	Macros func(caller awswire.Caller) template.Macros

	// Fragment returns the fragment of the default version of a module that the caller's account has, nil
	// if it has none. A nil Fragment has no modules.
	Fragment func(ctx context.Context, caller awswire.Caller, typeName string) (*module.Fragment, error)

	// Notify sends a message to a topic, in the transaction that appends an event of a stack. It must not
	// call out. nil is not called.
	Notify func(ctx context.Context, tx *store.Tx, caller awswire.Caller, topicARN, subject, message string) error

	// SimulateSignals completes resources that only simulated resources could signal, without waiting.
	SimulateSignals bool

	// TimeScale divides the time-outs of signals. 0 is 1.
	TimeScale float64

	// Hold is how long responses about change sets wait for running work to finish. Clients
	// poll at once, and then only after 5 or 30 seconds. 0 does not wait.
	Hold time.Duration

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil is the clock of the store
	NewID  func() string    // nil makes random UUIDs

	// NewStackID generates the ids of stacks and of the operations that create them. nil
	// generates UUIDs that start with the time, as the service does.
	NewStackID func() string
}

// ErrNotObject is the error of Config.Object for a URL that names no object.
var ErrNotObject = errors.New("not the URL of an object in S3")

// An Engine carries out the operations on stacks. Any number of goroutines may use it, and
// any number of processes on one database.
type Engine struct {
	config Config
	store  *store.Store
	log    *slog.Logger
	kept   kept
	begun  func(ctx context.Context, tx *store.Tx, stackID, stackARN string) error // nil is not called
	ended  func(ctx context.Context, tx *store.Tx, stackARN string) error          // nil is not called
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
	if config.TimeScale == 0 {
		config.TimeScale = 1
	}
	if config.NewStackID == nil {
		config.NewStackID = newTimeID
	}
	return &Engine{config: config, store: config.Store, log: config.Logger}
}

// OnBegin sets what is called in the transaction in which an operation on a stack begins, as [Engine.OnEnd] is.
func (e *Engine) OnBegin(begun func(ctx context.Context, tx *store.Tx, stackID, stackARN string) error) {
	e.begun = begun
}

// OnEnd sets what is called in the transaction in which an operation on a stack ends. It changes rows and
// wakes; it must not call out. It is set before the engine is used.
func (e *Engine) OnEnd(ended func(ctx context.Context, tx *store.Tx, stackARN string) error) {
	e.ended = ended
}

// wakeKind is the kind of wake-up that advances a stack.
const wakeKind = "stack"

// Owner is the name of the engine among the owners of package operation.
const Owner = "stack"

// Workers are the workers of the engine, by the kind of wake-up.
func (e *Engine) Workers() map[string]store.Worker {
	return map[string]store.Worker{
		wakeKind: {Run: e.advance, Fail: e.giveUp}, changeSetKind: {Run: e.planSet, Fail: e.giveUpSet},
		driftKind: {Run: e.detect, Fail: e.giveUpDetection},
	}
}

func (e *Engine) now() store.Time { return store.At(e.config.Now()) }
func (e *Engine) newID() string   { return e.config.NewID() }
