package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
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

	// Targets returns the schema of a type that a hook is called for, nil if it has none: which values are secrets there.
	Targets func(ctx context.Context, place awswire.Place, typeName string) *schema.Schema
}

// A Managed is one of them.
type Managed struct {
	store.Row `db:"managed_hooks AS l"`

	Account       string     `db:"account,pk"`
	Region        string     `db:"region,pk"`
	Alias         string     `db:"alias,pk"`
	Kind          string     `db:"kind"`     // LambdaHook or GuardHook
	Function      string     `db:"function"` // of a Lambda Hook: name or ARN
	Rules         string     `db:"rules"`    // of a Guard Hook: GuardRules as JSON
	Role          string     `db:"role"`     // ARN
	Configuration string     `db:"configuration"`
	CreatedAt     store.Time `db:"created_at"`
	UpdatedAt     store.Time `db:"updated_at"`
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
	out.Config = invoke.Config{Region: caller.Region, AccountID: caller.Account, Redactor: invoke.RedactorConfig{Targets: func(name string) *schema.Schema {
		return l.Targets(ctx, caller.Place, name)
	}}.New()}
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
		written, err := store.InsertOr(ctx, tx, "ON CONFLICT (account, region, alias) DO NOTHING", &h)
		if err != nil {
			return fmt.Errorf("add a hook: %w", err)
		}
		if written == 0 {
			return awswire.Errorf("AlreadyExistsException", 0, "The hook %s already exists.", h.Alias)
		}
		return nil
	})
}

// Update changes a hook. The error is an *awswire.Error if it does not exist.
func (l *ManagedHooks) Update(ctx context.Context, place awswire.Place, h Managed) error {
	h.Account, h.Region, h.UpdatedAt = place.Account, place.Region, l.Store.Now()
	return l.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		err := store.Update(ctx, tx, &h, "function", "rules", "role", "configuration", "updated_at")
		if errors.Is(err, store.ErrStale) {
			return noHook(h.Alias)
		}
		if err != nil {
			return fmt.Errorf("change a hook: %w", err)
		}
		return nil
	})
}

// Delete removes a hook. The error is an *awswire.Error if it does not exist.
func (l *ManagedHooks) Delete(ctx context.Context, place awswire.Place, alias string) error {
	return l.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		written, err := store.Exec(ctx, tx, "DELETE FROM managed_hooks WHERE account = ? AND region = ? AND alias = ?", place.Account, place.Region, alias)
		if err != nil {
			return fmt.Errorf("remove a hook: %w", err)
		}
		if written == 0 {
			return noHook(alias)
		}
		return nil
	})
}

// Get returns a hook. The error is an *awswire.Error if it does not exist.
func (l *ManagedHooks) Get(ctx context.Context, place awswire.Place, alias string) (*Managed, error) {
	var rows []Managed
	err := store.List(ctx, l.Store.Read(), &rows, "WHERE account = ? AND region = ? AND alias = ?", place.Account, place.Region, alias)
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
	err := store.List(ctx, l.Store.Read(), &rows, "WHERE account = ? AND region = ? ORDER BY alias", place.Account, place.Region)
	if err != nil {
		return nil, fmt.Errorf("list hooks: %w", err)
	}
	return rows, nil
}

// List returns up to limit aliases of a kind that follow after, in order.
func (l *ManagedHooks) List(ctx context.Context, place awswire.Place, kind, after string, limit int) ([]string, error) {
	var aliases []string
	err := store.Query(ctx, l.Store.Read(), &aliases, "SELECT alias FROM managed_hooks WHERE account = ? AND region = ? AND kind = ? AND alias > ? ORDER BY alias LIMIT ?",
		place.Account, place.Region, kind, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list hooks: %w", err)
	}
	return aliases, nil
}

func noHook(alias string) error {
	return awswire.Errorf("NotFoundException", 0, "The hook %s does not exist.", alias)
}
