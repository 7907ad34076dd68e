package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Hooks implements hook.Source: the registered and activated hooks of an account that have a
// configuration. Without one a hook is for no stack.
func (r *Registry) Hooks(ctx context.Context, caller awswire.Caller) ([]hook.Hook, error) {
	var rows []configurationRow
	prefix := privateARN(caller, schema.Hook, "").String()
	err := store.List(ctx, r.store.Read(), &rows, "WHERE account = ? AND region = ? AND type_arn >= ? AND type_arn < ? AND alias = ? ORDER BY type_arn",
		caller.Account, caller.Region, prefix, prefix+"\x7f", defaultAlias)
	if err != nil {
		return nil, fmt.Errorf("list the hooks of an account: %w", err)
	}
	var out []hook.Hook
	for _, row := range rows {
		arn, ok := schema.ParseTypeARN(row.TypeARN)
		if !ok {
			continue
		}
		v, err := r.Resolve(ctx, caller, schema.Hook, arn.TypeName, "")
		switch {
		case notFound(err):
			continue // it was deregistered
		case err != nil:
			return nil, err
		}
		found := hook.Hook{
			TypeName: v.TypeName, TypeARN: v.TypeARN, Version: v.VersionID, ConfigurationVersion: hook.ConfigurationVersion(row.Configuration),
		}
		if v.SchemaName != v.TypeName || v.PublicVersion != "" {
			found.OriginalName = v.SchemaName
		}
		found.Targets = hook.HandlerTargets(v.Schema)
		if found.Settings, _, err = hook.ParseSettings([]byte(row.Configuration)); err != nil {
			return nil, fmt.Errorf("%s: %w", v.TypeName, err)
		}
		out = append(out, found)
	}
	return out, nil
}

// Ready implements hook.Source.
func (r *Registry) Ready(ctx context.Context, caller awswire.Caller, name, version string) (*hook.Ready, bool, error) {
	v, err := r.hookVersion(ctx, caller, name, version)
	switch {
	case notFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case r.config.Functions == nil || v.Runtime == "":
		return nil, true, refuse("The handlers of the hook %s cannot be run by this server.", name)
	}
	text, secrets, err := r.Configuration(ctx, caller, v, "")
	var refused *awswire.Error
	switch {
	case errors.As(err, &refused):
		return nil, true, refuse("The configuration of the hook %s cannot be used: %s", name, refused.Message)
	case err != nil:
		return nil, true, err
	}
	out := &hook.Ready{TypeName: v.SchemaName, Config: invoke.Config{
		Schema: v.Schema, Region: v.Region, AccountID: v.Account, Redactor: r.redactor(ctx, v), Now: r.config.Now,
	}}
	if _, own, err := hook.ParseSettings(text); err != nil {
		return nil, true, err
	} else if len(own) > 0 {
		if out.Properties, err = decoded(own); err != nil {
			return nil, true, errors.New("cannot read the configuration of the hook") // the error would show a piece of it
		}
	}
	if out.Properties == nil {
		out.Properties = map[string]any{}
	}
	function, err := r.config.Functions.Function(ctx, v.Function())
	switch {
	case errors.Is(err, context.Canceled), err != nil && ctx.Err() != nil:
		return nil, true, err
	case err != nil:
		return nil, true, refuse("The hook %s failed to start: %s", name, firstLine(err.Error()))
	}
	out.Config.Redactor.LearnFor(secret.Reference, secrets...)
	out.Config.Function = hiding(function, map[secret.Reason][]string{secret.Reference: secrets})
	if r.config.Credentials != nil {
		out.Config.Credentials = r.config.Credentials(caller, v.ExecutionRole)
	}
	return out, true, nil
}

// redactor hides the secrets of the calls of a hook: what the schemas of its targets say is write-only.
func (r *Registry) redactor(ctx context.Context, v *Version) *invoke.Redactor {
	config := invoke.RedactorConfig{Schema: v.Schema}
	if r.config.Targets != nil {
		config.Targets = func(name string) *schema.Schema { return r.config.Targets(ctx, v.Place, name) }
	}
	return config.New()
}

// hookVersion finds a version of a hook, or the one in use if that is gone. Only a lookup that
// names its version may be answered by what was found lately.
func (r *Registry) hookVersion(ctx context.Context, caller awswire.Caller, name, version string) (*Version, error) {
	if version != "" {
		v, err := r.readyHooks.Get(r.config.Now(), operation.VersionKey{Place: caller.Place, Name: name, Version: version}, func() (*Version, error) {
			return r.Resolve(ctx, caller, schema.Hook, name, version)
		})
		if !notFound(err) {
			return v, err
		}
	}
	return r.Resolve(ctx, caller, schema.Hook, name, "")
}
