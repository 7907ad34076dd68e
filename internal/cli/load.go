package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// openProject reads the settings of the project that --project names. With invalid settings
// the project is nil and the list contains the reasons.
func (c *app) openProject() (*project.Project, diag.List, error) {
	p, problems, err := project.Open(c.projectDir(), c.label())
	var none *project.NotFoundError
	if errors.As(err, &none) {
		hint := "cfn init starts a project; --project DIR names one"
		if none.Above != "" {
			hint = fmt.Sprintf("did you mean --project %s?", c.relative(none.Above))
		}
		return nil, nil, withHint(err, "%s", hint)
	}
	return p, problems, err
}

// relative is a path seen from the working folder, with ".." where need be.
func (c *app) relative(path string) string {
	if rel, err := filepath.Rel(c.Dir, path); err == nil {
		return rel
	}
	return path
}

// loadProject reads the settings and the schema for a command that needs both to be valid.
// Problems are returned as *diag.Invalid; warnings are only logged, because cfn validate shows
// them.
func (c *app) loadProject(ctx context.Context) (*project.Project, *schema.Schema, error) {
	p, problems, err := c.openProject()
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, nil, err
	}
	if p.Kind == schema.Module {
		return p, nil, nil
	}
	s, more, err := c.loadSchema(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	problems = append(problems, more...)
	for _, w := range problems {
		c.logger.Debug(w.Message, "at", w.At, "id", w.ID, "severity", w.Severity)
	}
	return p, s, problems.Err()
}

// loadSchema reads the schema of a resource type or a hook.
func (c *app) loadSchema(ctx context.Context, p *project.Project) (*schema.Schema, diag.List, error) {
	cfg, err := c.schemaConfig(ctx)
	if err != nil {
		return nil, nil, err
	}
	s, problems, err := p.Schema(cfg)
	c.hintReferences(problems)
	return s, problems, err
}
