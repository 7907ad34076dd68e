package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/formwork-dev/formwork/internal/diag"
	"github.com/formwork-dev/formwork/internal/project"
	"github.com/formwork-dev/formwork/internal/schema"
)

// openProject reads the settings of the project that --project names. With faulty
// settings the project is nil and the list says why.
func (c *console) openProject() (*project.Project, diag.List, error) {
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
func (c *console) relative(path string) string {
	if rel, err := filepath.Rel(c.Dir, path); err == nil {
		return rel
	}
	return path
}

// loadProject reads the settings and the schema for a command that needs both without
// fault. Problems come back as *diag.Invalid; warnings go to the log only, because it is
// cfn validate that shows them.
func (c *console) loadProject(ctx context.Context) (*project.Project, *schema.Schema, error) {
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
func (c *console) loadSchema(ctx context.Context, p *project.Project) (*schema.Schema, diag.List, error) {
	s, problems, err := p.Schema(c.schemaConfig(ctx))
	for i := range problems {
		if problems[i].ID == "schema/ref-offline" {
			problems[i].Hint += "; or set " + remoteRefs + "=1 to have it fetched"
		}
	}
	return s, problems, err
}

// remoteRefs is the environment variable that lets schemas refer to the network.
const remoteRefs = "CFN_REMOTE_REFS"

// schemaConfig lets schemas refer to documents on the network only where the user says
// so: being offline is a promise.
func (c *console) schemaConfig(ctx context.Context) schema.Config {
	if c.Getenv(remoteRefs) == "" {
		return schema.Config{}
	}
	client := &http.Client{Timeout: 30 * time.Second}
	return schema.Config{Remote: func(location string) ([]byte, error) {
		defer c.progress("Fetching %s", location)()
		return fetch(ctx, client, location)
	}}
}

// fetch gets a document. The error does not name it: who asked knows it.
func fetch(ctx context.Context, client *http.Client, location string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		return nil, failed.Err
	}
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer was %s", response.Status)
	}
	const limit = 8 << 20
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if len(data) > limit {
		return nil, fmt.Errorf("the document has more than %d bytes", limit)
	}
	return data, err
}
