package local

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/builtin"
	"github.com/formwork-dev/formwork/internal/macro"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/simulate"
)

// openTypes sets up what provisions resources.
func (c *CloudFormation) openTypes() error {
	var err error
	c.macros = macro.New(macro.Config{
		Store: c.store, S3: c.s3, Functions: c.functions, Logger: c.config.Logger,
		Translator: macro.Translator{Environ: c.config.Environ, Dir: filepath.Join(c.config.Dir, spoolDir)},
	})
	c.builtin, err = builtin.New(builtin.Config{Tables: c.services.Tables(), S3: c.s3.Serve, Macros: c.macros})
	if err != nil {
		return err
	}
	c.shelf = simulate.New(simulate.Config{Store: c.store, Patterns: c.config.Simulate, Now: c.config.Now})
	return nil
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
