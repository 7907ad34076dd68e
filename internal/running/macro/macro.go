package macro

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/s3"
)

// Config sets up Macros. Store, S3 and Functions must be set.
type Config struct {
	Store     *store.Store
	S3        *s3.Service
	Functions lambda.Functions

	// Translator runs AWS::Serverless.
	Translator Translator

	// Timeout bounds one macro. Zero means 1 minute.
	Timeout time.Duration

	Logger *slog.Logger // nil discards

	// NewID makes the ids of requests. Nil means random UUIDs.
	NewID func() string
}

// Macros are those of all accounts and regions.
type Macros struct{ config Config }

// New returns the macros in the store.
func New(config Config) *Macros {
	if config.Timeout == 0 {
		config.Timeout = time.Minute
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.NewID == nil {
		config.NewID = uuid.NewString
	}
	return &Macros{config}
}

// A Macro is a macro of an account in a region.
type Macro struct {
	store.Row `db:"macros"`

	Account      string     `db:"account,pk"`
	Region       string     `db:"region,pk"`
	Name         string     `db:"name,pk"`
	Function     string     `db:"function"` // name or ARN
	Description  string     `db:"description"`
	LogGroupName string     `db:"log_group"`
	LogRoleARN   string     `db:"log_role"`
	CreatedAt    store.Time `db:"created_at"`
}

// Create adds a macro. The error is an *awswire.Error if the name is taken.
func (m *Macros) Create(ctx context.Context, place awswire.Place, macro Macro) error {
	macro.Account, macro.Region, macro.CreatedAt = place.Account, place.Region, m.config.Store.Now()
	return m.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		written, err := store.InsertOr(ctx, tx, "ON CONFLICT (account, region, name) DO NOTHING", &macro)
		if err != nil {
			return fmt.Errorf("add a macro: %w", err)
		}
		if written == 0 {
			return awswire.Errorf("AlreadyExistsException", 0, "The macro %s already exists.", macro.Name)
		}
		return nil
	})
}

// Update changes a macro. The error is an *awswire.Error if the macro does not exist.
func (m *Macros) Update(ctx context.Context, place awswire.Place, macro Macro) error {
	macro.Account, macro.Region = place.Account, place.Region
	return m.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		err := store.Update(ctx, tx, &macro, "function", "description", "log_group", "log_role")
		if errors.Is(err, store.ErrStale) {
			return notFound(macro.Name)
		}
		if err != nil {
			return fmt.Errorf("change a macro: %w", err)
		}
		return nil
	})
}

// Delete removes a macro. The error is an *awswire.Error if the macro does not exist.
func (m *Macros) Delete(ctx context.Context, place awswire.Place, name string) error {
	return m.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		written, err := store.Exec(ctx, tx, "DELETE FROM macros WHERE account = ? AND region = ? AND name = ?", place.Account, place.Region, name)
		if err != nil {
			return fmt.Errorf("remove a macro: %w", err)
		}
		if written == 0 {
			return notFound(name)
		}
		return nil
	})
}

// Get returns a macro. The error is an *awswire.Error if the macro does not exist.
func (m *Macros) Get(ctx context.Context, place awswire.Place, name string) (*Macro, error) {
	var rows []Macro
	err := store.List(ctx, m.config.Store.Read(), &rows, "WHERE account = ? AND region = ? AND name = ?", place.Account, place.Region, name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read a macro: %w", err)
	case len(rows) == 0:
		return nil, notFound(name)
	}
	return &rows[0], nil
}

// List returns up to limit names of macros that follow after, in order.
func (m *Macros) List(ctx context.Context, place awswire.Place, after string, limit int) ([]string, error) {
	var names []string
	err := store.Query(ctx, m.config.Store.Read(), &names, "SELECT name FROM macros WHERE account = ? AND region = ? AND name > ? ORDER BY name LIMIT ?",
		place.Account, place.Region, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list macros: %w", err)
	}
	return names, nil
}

func notFound(name string) error {
	return awswire.Errorf("NotFoundException", 0, "The macro %s does not exist.", name)
}

// For is what runs the transforms of a caller's templates.
func (m *Macros) For(caller awswire.Caller) template.Macros { return runner{m, caller} }
