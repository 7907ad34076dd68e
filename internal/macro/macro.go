package macro

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/lambda"
	"github.com/formwork-dev/formwork/internal/s3"
	"github.com/formwork-dev/formwork/internal/store"
	"github.com/formwork-dev/formwork/internal/template"
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
	bun.BaseModel `bun:"table:macros"`

	Account      string     `bun:"account,pk"`
	Region       string     `bun:"region,pk"`
	Name         string     `bun:"name,pk"`
	Function     string     `bun:"function"` // name or ARN
	Description  string     `bun:"description"`
	LogGroupName string     `bun:"log_group"`
	LogRoleARN   string     `bun:"log_role"`
	CreatedAt    store.Time `bun:"created_at"`
}

// Create adds a macro. The error is an *awswire.Error if the name is taken.
func (m *Macros) Create(ctx context.Context, place awswire.Place, macro Macro) error {
	macro.Account, macro.Region, macro.CreatedAt = place.Account, place.Region, m.config.Store.Now()
	return m.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result, err := tx.NewInsert().Model(&macro).On("CONFLICT (account, region, name) DO NOTHING").Exec(ctx)
		if err != nil {
			return fmt.Errorf("add a macro: %w", err)
		}
		if store.RequireOneRow(result) != nil {
			return awswire.Errorf("AlreadyExistsException", 0, "The macro %s already exists.", macro.Name)
		}
		return nil
	})
}

// Update changes a macro. The error is an *awswire.Error if the macro does not exist.
func (m *Macros) Update(ctx context.Context, place awswire.Place, macro Macro) error {
	macro.Account, macro.Region = place.Account, place.Region
	return m.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result, err := tx.NewUpdate().Model(&macro).Column("function", "description", "log_group", "log_role").WherePK().Exec(ctx)
		if err != nil {
			return fmt.Errorf("change a macro: %w", err)
		}
		if store.RequireOneRow(result) != nil {
			return notFound(macro.Name)
		}
		return nil
	})
}

// Delete removes a macro. The error is an *awswire.Error if the macro does not exist.
func (m *Macros) Delete(ctx context.Context, place awswire.Place, name string) error {
	return m.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result, err := tx.NewDelete().Model(&Macro{Account: place.Account, Region: place.Region, Name: name}).WherePK().Exec(ctx)
		if err != nil {
			return fmt.Errorf("remove a macro: %w", err)
		}
		if store.RequireOneRow(result) != nil {
			return notFound(name)
		}
		return nil
	})
}

// Get returns a macro. The error is an *awswire.Error if the macro does not exist.
func (m *Macros) Get(ctx context.Context, place awswire.Place, name string) (*Macro, error) {
	var rows []Macro
	err := m.config.Store.Read().NewSelect().Model(&rows).
		Where("account = ?", place.Account).Where("region = ?", place.Region).Where("name = ?", name).Scan(ctx)
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
	err := m.config.Store.Read().NewSelect().Model((*Macro)(nil)).Column("name").
		Where("account = ?", place.Account).Where("region = ?", place.Region).Where("name > ?", after).Order("name").Limit(int64(limit)).Scan(ctx, &names)
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
