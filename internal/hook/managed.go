package hook

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/lambda"
	"github.com/formwork-dev/formwork/internal/schema"
	"github.com/formwork-dev/formwork/internal/secret"
	"github.com/formwork-dev/formwork/internal/store"
)

// The public names of the hooks that the service has itself.
const (
	LambdaHook = "AWS::Hooks::LambdaHook"
	GuardHook  = "AWS::Hooks::GuardHook"
)

// managedVersion is the version of these hooks.
const managedVersion = "00000001"

// ManagedHooks are the Lambda Hooks and Guard Hooks of all accounts and regions: a function, or
// rules of CloudFormation Guard. They are a [Source].
type ManagedHooks struct {
	Store       *store.Store
	Functions   lambda.Functions // of Lambda Hooks
	Guard       Guard
	Credentials func(caller awswire.Caller, role string) invoke.Source // nil sends dummies
}

// A Managed is one of them.
type Managed struct {
	bun.BaseModel `bun:"table:managed_hooks,alias:l"`

	Account       string     `bun:"account,pk"`
	Region        string     `bun:"region,pk"`
	Alias         string     `bun:"alias,pk"`
	Kind          string     `bun:"kind"`     // LambdaHook or GuardHook
	Function      string     `bun:"function"` // of a Lambda Hook: name or ARN
	Rules         string     `bun:"rules"`    // of a Guard Hook: GuardRules as JSON
	Role          string     `bun:"role"`     // ARN
	Configuration string     `bun:"configuration"`
	CreatedAt     store.Time `bun:"created_at"`
	UpdatedAt     store.Time `bun:"updated_at"`
}

// ManagedARN is the ARN of a Lambda Hook or Guard Hook.
func ManagedARN(place awswire.Place, alias string) string {
	return schema.TypeARN{Partition: awswire.PartitionOf(place.Region), Region: place.Region, Account: place.Account, Kind: schema.Hook, TypeName: alias}.String()
}

// Hooks implements [Source].
func (l *ManagedHooks) Hooks(ctx context.Context, caller awswire.Caller) ([]Hook, error) {
	rows, err := l.All(ctx, caller.Place)
	if err != nil {
		return nil, err
	}
	out := make([]Hook, 0, len(rows))
	for _, row := range rows {
		h := Hook{
			TypeName: row.Alias, TypeARN: ManagedARN(caller.Place, row.Alias), Version: managedVersion, OriginalName: row.Kind, Any: true,
			ConfigurationVersion: ConfigurationVersion(row.Configuration + row.Function + row.Rules),
		}
		if h.Settings, _, err = ParseSettings([]byte(row.Configuration)); err != nil {
			return nil, fmt.Errorf("%s: %w", row.Alias, err)
		}
		out = append(out, h)
	}
	return out, nil
}

// Ready implements [Source].
func (l *ManagedHooks) Ready(ctx context.Context, caller awswire.Caller, name, _ string) (*Ready, bool, error) {
	row, err := l.Get(ctx, caller.Place, name)
	var refused *awswire.Error
	switch {
	case errors.As(err, &refused):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	out := &Ready{TypeName: name}
	out.Config = invoke.Config{Region: caller.Region, AccountID: caller.Account, Redactor: invoke.NewRedactor(nil)}
	if row.Kind == GuardHook {
		out.Whole = true
		out.Config.Function, err = l.Guard.function(caller, row.Rules)
		return out, true, err
	}
	out.Properties = map[string]any{"LambdaFunction": row.Function}
	out.Config.Function = &function{functions: l.Functions, caller: caller, name: row.Function}
	if l.Credentials != nil {
		out.Config.Credentials = l.Credentials(caller, row.Role)
	}
	return out, true, nil
}

// A function is the function of a Lambda Hook for a caller.
type function struct {
	functions lambda.Functions
	caller    awswire.Caller
	name      string
	secrets   []string
}

// Hiding is the function for calls whose payloads have the secrets given.
func (f *function) Hiding(secrets map[secret.Reason][]string) invoke.Function {
	out := *f
	for _, values := range secrets {
		out.secrets = append(out.secrets, values...)
	}
	return &out
}

// Call implements invoke.Function. Functions of Lambda Hooks get no credentials: they have those
// of their own environment.
func (f *function) Call(ctx context.Context, payload []byte) ([]byte, error) {
	var request map[string]json.RawMessage
	var data map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(payload, &request), json.Unmarshal(request["requestData"], &data)); err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	for _, member := range []string{"callerCredentials", "providerCredentials", "providerLogGroupName"} {
		delete(data, member)
	}
	var err error
	if request["requestData"], err = json.Marshal(data); err != nil {
		return nil, err
	}
	if payload, err = json.Marshal(request); err != nil {
		return nil, err
	}
	result, err := f.functions.Call(ctx, f.caller, f.name, payload, f.secrets)
	if err != nil {
		return nil, err
	}
	return result.Payload, nil
}

// Create adds a hook. The error is an *awswire.Error if the alias is taken.
func (l *ManagedHooks) Create(ctx context.Context, place awswire.Place, h Managed) error {
	h.Account, h.Region, h.CreatedAt, h.UpdatedAt = place.Account, place.Region, l.Store.Now(), l.Store.Now()
	return l.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result, err := tx.NewInsert().Model(&h).On("CONFLICT (account, region, alias) DO NOTHING").Exec(ctx)
		if err != nil {
			return fmt.Errorf("add a hook: %w", err)
		}
		if store.RequireOneRow(result) != nil {
			return awswire.Errorf("AlreadyExistsException", 0, "The hook %s already exists.", h.Alias)
		}
		return nil
	})
}

// Update changes a hook. The error is an *awswire.Error if it does not exist.
func (l *ManagedHooks) Update(ctx context.Context, place awswire.Place, h Managed) error {
	h.Account, h.Region, h.UpdatedAt = place.Account, place.Region, l.Store.Now()
	return l.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result, err := tx.NewUpdate().Model(&h).Column("function", "rules", "role", "configuration", "updated_at").WherePK().Exec(ctx)
		if err != nil {
			return fmt.Errorf("change a hook: %w", err)
		}
		return present(result, h.Alias)
	})
}

// Delete removes a hook. The error is an *awswire.Error if it does not exist.
func (l *ManagedHooks) Delete(ctx context.Context, place awswire.Place, alias string) error {
	return l.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result, err := tx.NewDelete().Model(&Managed{Account: place.Account, Region: place.Region, Alias: alias}).WherePK().Exec(ctx)
		if err != nil {
			return fmt.Errorf("remove a hook: %w", err)
		}
		return present(result, alias)
	})
}

// Get returns a hook. The error is an *awswire.Error if it does not exist.
func (l *ManagedHooks) Get(ctx context.Context, place awswire.Place, alias string) (*Managed, error) {
	var rows []Managed
	err := l.Store.Read().NewSelect().Model(&rows).Where("account = ? AND region = ? AND alias = ?", place.Account, place.Region, alias).Scan(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read a hook: %w", err)
	case len(rows) == 0:
		return nil, noHook(alias)
	}
	return &rows[0], nil
}

// All returns the hooks of an account in a region, in the order of their aliases.
func (l *ManagedHooks) All(ctx context.Context, place awswire.Place) ([]Managed, error) {
	var rows []Managed
	err := l.Store.Read().NewSelect().Model(&rows).Where("account = ? AND region = ?", place.Account, place.Region).Order("alias").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list hooks: %w", err)
	}
	return rows, nil
}

// List returns up to limit aliases of a kind that follow after, in order.
func (l *ManagedHooks) List(ctx context.Context, place awswire.Place, kind, after string, limit int) ([]string, error) {
	var aliases []string
	err := l.Store.Read().NewSelect().Model((*Managed)(nil)).Column("alias").Where("account = ? AND region = ? AND kind = ? AND alias > ?", place.Account, place.Region, kind, after).
		Order("alias").Limit(int64(limit)).Scan(ctx, &aliases)
	if err != nil {
		return nil, fmt.Errorf("list hooks: %w", err)
	}
	return aliases, nil
}

func present(result sql.Result, alias string) error {
	if store.RequireOneRow(result) != nil {
		return noHook(alias)
	}
	return nil
}

func noHook(alias string) error {
	return awswire.Errorf("NotFoundException", 0, "The hook %s does not exist.", alias)
}
