package local

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/builtin"
	"github.com/formwork-dev/formwork/internal/macro"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/server"
	"github.com/formwork-dev/formwork/internal/simulate"
)

// openTypes sets up what provisions resources.
func (c *CloudFormation) openTypes() error {
	var err error
	c.macros = macro.New(macro.Config{
		Store: c.store, S3: c.s3, Functions: c.functions, Logger: c.config.Logger,
		Translator: macro.Translator{Environ: c.config.Environ, Dir: filepath.Join(c.config.Dir, spoolDir)},
	})
	c.builtin, err = builtin.New(builtin.Config{
		Tables: append(c.services.Tables(), c.logs.Table(), server.Registry(c.registry)), S3: c.s3.Serve, Macros: c.macros, Registry: c.registry,
	})
	if err != nil {
		return err
	}
	c.shelf = simulate.New(simulate.Config{Store: c.store, Patterns: c.config.Simulate, Now: c.config.Now})
	return nil
}

// imported are the public types of AWS as the registry shows them: those whose schemas were
// imported, and those that this server has the services for.
type imported struct{ c *CloudFormation }

func (i imported) ImportedType(ctx context.Context, typeName string) (*registry.ImportedType, error) {
	t, err := i.c.shelf.Find(ctx, typeName)
	if err != nil {
		return nil, err
	}
	if t != nil {
		return &registry.ImportedType{TypeName: t.TypeName, Schema: t.Schema, Imported: t.Imported, Note: i.note(ctx, t)}, nil
	}
	if text, ok := i.c.builtin.Schema(typeName); ok {
		return &registry.ImportedType{TypeName: typeName, Schema: text}, nil
	}
	return nil, nil
}

func (i imported) ImportedTypes(ctx context.Context, prefix, after string, limit int) ([]registry.ImportedType, error) {
	found, err := i.c.shelf.List(ctx, prefix, after, limit)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	var out []registry.ImportedType
	for n := range found {
		t := &found[n]
		names[t.TypeName] = true
		out = append(out, registry.ImportedType{TypeName: t.TypeName, Schema: t.Schema, Imported: t.Imported, Note: i.note(ctx, t)})
	}
	for _, name := range i.c.builtin.Names() {
		if text, ok := i.c.builtin.Schema(name); ok && !names[name] && name > after && strings.HasPrefix(name, prefix) {
			out = append(out, registry.ImportedType{TypeName: name, Schema: text})
		}
	}
	slices.SortFunc(out, func(a, b registry.ImportedType) int { return strings.Compare(a.TypeName, b.TypeName) })
	return out[:min(len(out), limit)], nil
}

// note says how resources of a type are provisioned here: by the services of this server, by
// simulation, or not at all.
func (i imported) note(ctx context.Context, t *simulate.Published) string {
	if !slices.Contains(i.c.config.Simulate, t.TypeName) {
		if _, err := i.c.builtin.Type(ctx, awswire.Caller{}, t.TypeName, ""); err == nil {
			return ""
		}
	}
	if t.Simulated {
		return "[simulated]"
	}
	return "[schema only; needs cfn serve --simulate]"
}

// Type implements operation.Types: a type that is registered or activated comes first, then
// one that is simulated by its full name, one that this server has the service for, and one
// that a pattern names.
func (c *CloudFormation) Type(ctx context.Context, caller awswire.Caller, name, version string) (*operation.Type, error) {
	order := []operation.Types{c.registry, c.stacks.OwnTypes(), c.builtin, c.shelf}
	if slices.Contains(c.config.Simulate, name) {
		order = []operation.Types{c.registry, c.stacks.OwnTypes(), c.shelf, c.builtin}
	}
	hint := ""
	for _, types := range order {
		typ, err := types.Type(ctx, caller, name, version)
		var unknown *operation.UnknownTypeError
		if !errors.As(err, &unknown) {
			return typ, err
		}
		if unknown.Hint != "" {
			hint = unknown.Hint // the shelf's says most
		}
	}
	return nil, &operation.UnknownTypeError{Name: name, Hint: hint}
}
