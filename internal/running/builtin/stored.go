package builtin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A storedRow has the properties of a resource that its service does not have. They have no
// effect, and are part of the model.
type storedRow struct {
	store.Row `db:"stored_properties AS p"`

	Account    string                     `db:"account,pk"`
	Region     string                     `db:"region,pk"`
	Type       string                     `db:"type,pk"`
	ID         string                     `db:"id,pk"`
	Properties store.JSON[map[string]any] `db:"properties" seal:"stored_properties.properties"`
}

func (c *call) storedRow() *storedRow {
	caller := c.request.Caller
	return &storedRow{Account: caller.Account, Region: caller.Region, Type: c.request.Type, ID: c.request.Identifier}
}

// withStored adds to a model what its service does not have. A create and an update store it first.
func (t *Types) withStored(c *call, model map[string]any) error {
	row := c.storedRow()
	var properties map[string]any
	switch c.request.Action {
	case invoke.Create, invoke.Update:
		properties = remainder(t.types[c.request.Type].Schema, c.desired, model)
		if err := t.keep(c, row, properties); err != nil {
			return err
		}
	default:
		err := store.Get(c.ctx, t.config.Store.Read(), row, "WHERE account = ? AND region = ? AND type = ? AND id = ?", row.Account, row.Region, row.Type, row.ID)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("read the stored properties of a resource: %w", err)
		}
		properties = row.Properties.Get()
	}
	for name, value := range properties {
		if _, ok := model[name]; !ok {
			model[name] = value
		}
	}
	return nil
}

func (t *Types) keep(c *call, row *storedRow, properties map[string]any) error {
	if len(properties) == 0 {
		return t.forget(c)
	}
	row.Properties = store.JSONOf(properties)
	return t.config.Store.Write(c.ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := store.Upsert(ctx, tx, []*storedRow{row}, "properties"); err != nil {
			return fmt.Errorf("store the properties of a resource: %w", err)
		}
		return nil
	})
}

// forget deletes the stored properties of a resource.
func (t *Types) forget(c *call) error {
	return t.config.Store.Write(c.ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := store.Delete(ctx, tx, c.storedRow()); err != nil {
			return fmt.Errorf("delete the stored properties of a resource: %w", err)
		}
		return nil
	})
}

// remainder are the desired properties that a model does not have, except for those that are never
// read.
func remainder(typ *schema.Schema, desired, model map[string]any) map[string]any {
	never := slices.Concat(typ.WriteOnly, typ.ReadOnly, typ.PrimaryIdentifier)
	rest := maps.Clone(desired)
	maps.DeleteFunc(rest, func(name string, value any) bool {
		_, read := model[name]
		return read || value == nil || slices.ContainsFunc(never, func(p schema.Path) bool { return len(p.Tokens) == 1 && p.Tokens[0] == name })
	})
	return rest
}
