package hook

import (
	"context"
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

// LambdaHook is the public name of Lambda Hooks.
const LambdaHook = "AWS::Hooks::LambdaHook"

// lambdaVersion is the version of Lambda Hooks.
const lambdaVersion = "00000001"

// Functions run the functions of Lambda Hooks.
type Functions interface {
	// Call invokes the function of a name or ARN. The secrets are values in the payload that no
	// log may have.
	Call(ctx context.Context, caller awswire.Caller, function string, payload []byte, secrets []string) (lambda.Result, error)
}

// LambdaHooks are the Lambda Hooks of all accounts and regions: hooks that are a function. They
// are a [Source].
type LambdaHooks struct {
	Store       *store.Store
	Functions   Functions
	Credentials func(caller awswire.Caller, role string) invoke.Source // nil sends dummies
}

// A Lambda is one Lambda Hook.
type Lambda struct {
	bun.BaseModel `bun:"table:lambda_hooks,alias:l"`

	Account       string     `bun:"account,pk"`
	Region        string     `bun:"region,pk"`
	Alias         string     `bun:"alias,pk"`
	Function      string     `bun:"function"` // name or ARN
	Role          string     `bun:"role"`     // ARN
	Configuration string     `bun:"configuration"`
	CreatedAt     store.Time `bun:"created_at"`
	UpdatedAt     store.Time `bun:"updated_at"`
}

// LambdaARN is the ARN of a Lambda Hook.
func LambdaARN(place awswire.Place, alias string) string {
	return schema.TypeARN{Partition: awswire.PartitionOf(place.Region), Region: place.Region, Account: place.Account, Kind: schema.Hook, TypeName: alias}.String()
}

// Hooks implements [Source].
func (l *LambdaHooks) Hooks(ctx context.Context, caller awswire.Caller) ([]Hook, error) {
	var rows []Lambda
	err := l.Store.Read().NewSelect().Model(&rows).Where("account = ? AND region = ?", caller.Account, caller.Region).Order("alias").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list Lambda Hooks: %w", err)
	}
	out := make([]Hook, 0, len(rows))
	for _, row := range rows {
		h := Hook{
			TypeName: row.Alias, TypeARN: LambdaARN(caller.Place, row.Alias), Version: lambdaVersion, OriginalName: LambdaHook, Any: true,
			ConfigurationVersion: ConfigurationVersion(row.Configuration + row.Function),
		}
		if h.Settings, _, err = ParseSettings([]byte(row.Configuration)); err != nil {
			return nil, fmt.Errorf("%s: %w", row.Alias, err)
		}
		out = append(out, h)
	}
	return out, nil
}

// Ready implements [Source].
func (l *LambdaHooks) Ready(ctx context.Context, caller awswire.Caller, name, _ string) (*Ready, bool, error) {
	row, err := l.Get(ctx, caller.Place, name)
	var refused *awswire.Error
	switch {
	case errors.As(err, &refused):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	out := &Ready{TypeName: name, Properties: map[string]any{"LambdaFunction": row.Function}}
	out.Config = invoke.Config{
		Function: &function{functions: l.Functions, caller: caller, name: row.Function}, Region: caller.Region, AccountID: caller.Account,
		Redactor: invoke.NewRedactor(nil),
	}
	if l.Credentials != nil {
		out.Config.Credentials = l.Credentials(caller, row.Role)
	}
	return out, true, nil
}

// A function is the function of a Lambda Hook for a caller.
type function struct {
	functions Functions
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

// Create adds a Lambda Hook. The error is an *awswire.Error if the alias is taken.
func (l *LambdaHooks) Create(ctx context.Context, place awswire.Place, h Lambda) error {
	h.Account, h.Region, h.CreatedAt, h.UpdatedAt = place.Account, place.Region, l.Store.Now(), l.Store.Now()
	return l.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result, err := tx.NewInsert().Model(&h).On("CONFLICT (account, region, alias) DO NOTHING").Exec(ctx)
		if err != nil {
			return fmt.Errorf("add a Lambda Hook: %w", err)
		}
		if store.RequireOneRow(result) != nil {
			return awswire.Errorf("AlreadyExistsException", 0, "The hook %s already exists.", h.Alias)
		}
		return nil
	})
}

// Update changes a Lambda Hook. The error is an *awswire.Error if it does not exist.
func (l *LambdaHooks) Update(ctx context.Context, place awswire.Place, h Lambda) error {
	h.Account, h.Region, h.UpdatedAt = place.Account, place.Region, l.Store.Now()
	return l.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result, err := tx.NewUpdate().Model(&h).Column("function", "role", "configuration", "updated_at").WherePK().Exec(ctx)
		if err != nil {
			return fmt.Errorf("change a Lambda Hook: %w", err)
		}
		return present(result, h.Alias)
	})
}

// Delete removes a Lambda Hook. The error is an *awswire.Error if it does not exist.
func (l *LambdaHooks) Delete(ctx context.Context, place awswire.Place, alias string) error {
	return l.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result, err := tx.NewDelete().Model(&Lambda{Account: place.Account, Region: place.Region, Alias: alias}).WherePK().Exec(ctx)
		if err != nil {
			return fmt.Errorf("remove a Lambda Hook: %w", err)
		}
		return present(result, alias)
	})
}

// Get returns a Lambda Hook. The error is an *awswire.Error if it does not exist.
func (l *LambdaHooks) Get(ctx context.Context, place awswire.Place, alias string) (*Lambda, error) {
	var rows []Lambda
	err := l.Store.Read().NewSelect().Model(&rows).Where("account = ? AND region = ? AND alias = ?", place.Account, place.Region, alias).Scan(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read a Lambda Hook: %w", err)
	case len(rows) == 0:
		return nil, noHook(alias)
	}
	return &rows[0], nil
}

// List returns up to limit aliases that follow after, in order.
func (l *LambdaHooks) List(ctx context.Context, place awswire.Place, after string, limit int) ([]string, error) {
	var aliases []string
	err := l.Store.Read().NewSelect().Model((*Lambda)(nil)).Column("alias").Where("account = ? AND region = ? AND alias > ?", place.Account, place.Region, after).
		Order("alias").Limit(int64(limit)).Scan(ctx, &aliases)
	if err != nil {
		return nil, fmt.Errorf("list Lambda Hooks: %w", err)
	}
	return aliases, nil
}

func present(result interface{ RowsAffected() (int64, error) }, alias string) error {
	if n, err := result.RowsAffected(); err == nil && n == 1 {
		return nil
	}
	return noHook(alias)
}

func noHook(alias string) error {
	return awswire.Errorf("NotFoundException", 0, "The hook %s does not exist.", alias)
}
