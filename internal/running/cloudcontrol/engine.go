package cloudcontrol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up an Engine. Store, Types and Operations must be set.
type Config struct {
	Store      *store.Store
	Types      operation.Types
	Operations *operation.Engine

	// Hooks evaluates what requests are about to change. Nil has no hooks.
	Hooks *hook.Engine

	// Hold is how long GetResourceRequestStatus waits for a request in progress to end.
	// Clients look at once, and then only every 5 seconds. Zero does not wait.
	Hold time.Duration

	// ReadTimeout bounds GetResource, ListResources and the read before an update. Zero
	// means 60 seconds.
	ReadTimeout time.Duration

	Now   func() time.Time // nil means the store's clock
	NewID func() string    // of request tokens; nil makes random UUIDs
}

// Owner is the name of the engine among the owners of package operation.
const Owner = "cloudcontrol"

// An Engine carries out requests on resources. It is used by any number of goroutines, and
// by several processes on one database.
type Engine struct {
	config Config
	store  *store.Store
}

// New returns the engine over a store.
func New(config Config) *Engine {
	if config.ReadTimeout == 0 {
		config.ReadTimeout = time.Minute
	}
	if config.Now == nil {
		config.Now = func() time.Time { return config.Store.Now().Time }
	}
	if config.NewID == nil {
		config.NewID = uuid.NewString
	}
	return &Engine{config: config, store: config.Store}
}

// typeOf finds a type that supports the action.
func (e *Engine) typeOf(ctx context.Context, caller awswire.Caller, name, version *string, action invoke.Action) (*operation.Type, error) {
	typ, err := e.config.Types.Type(ctx, caller, *name, text(version))
	var unknown *operation.UnknownTypeError
	switch {
	case errors.As(err, &unknown):
		message := fmt.Sprintf("The type '%s' cannot be found.", *name)
		if unknown.Hint != "" {
			message += " (" + unknown.Hint + ")"
		}
		return nil, awswire.Errorf("TypeNotFoundException", 0, "%s", message)
	case err != nil:
		return nil, err
	}
	_, lists := typ.Provider.(operation.Lister)
	switch {
	case typ.Schema == nil, len(typ.Schema.PrimaryIdentifier) == 0, action == invoke.List && !lists,
		typ.Schema.Handler(action.Handler()) == nil && (!typ.Simulated || action == invoke.Update):
		return nil, awswire.Errorf("UnsupportedActionException", 0, "Resource type %s does not support %s action", *name, action)
	}
	return typ, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
