package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// The environment variables that every command obeys, and the options of those that have
// them: where schemas find the documents that are not next to them.
const (
	remoteRefs      = "CFN_REMOTE_REFS"      // not empty: fetch them
	registryFolders = "CFN_REGISTRY_SCHEMAS" // folders, separated as in PATH
)

// references are the options of a command for documents that a $ref names.
type references struct {
	offered bool // the command has the options
	remote  bool
	folders []string // as given; they come before those of the environment
}

// referenceFlags gives a command the options --allow-remote and --registry-schemas.
func (c *app) referenceFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&c.refs.remote, "allow-remote", false, "fetch the targets of $ref from the network")
	flags.StringArrayVar(&c.refs.folders, "registry-schemas", nil, "search the folder `DIR` for the targets of $ref (may be repeated)")
	annotate(flags, addition, "allow-remote", "registry-schemas")
	before := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.refs.offered = true
		return before(cmd, args)
	}
}

// Bounds of what is fetched for one reference.
const (
	fetchTimeout = 30 * time.Second
	fetchLimit   = 8 << 20
)

// schemaConfig lets schemas refer to documents on the network only with --allow-remote or
// CFN_REMOTE_REFS. The error is that of a folder that cannot be read.
func (c *app) schemaConfig(ctx context.Context) (schema.Config, error) {
	var cfg schema.Config
	folders := slices.Clone(c.refs.folders)
	for _, folder := range filepath.SplitList(c.Getenv(registryFolders)) {
		if folder != "" {
			folders = append(folders, folder)
		}
	}
	if len(folders) > 0 {
		for i := range folders {
			folders[i] = c.path(folders[i])
		}
		var err error
		if cfg.Registry, err = schema.OpenRegistry(document.Limits{}, folders...); err != nil {
			return cfg, withHint(err, "set --registry-schemas or %s to folders of schemas with one file for each type", registryFolders)
		}
	}
	if c.refs.remote || c.Getenv(remoteRefs) != "" {
		client := &http.Client{Timeout: fetchTimeout, CheckRedirect: invoke.CheckRedirect}
		cfg.Remote = func(location string) ([]byte, error) {
			defer c.progress("Fetching %s", location)()
			return fetch(ctx, client, location)
		}
	}
	return cfg, nil
}

// fetchOnce has a run over many schemas fetch each document once. Several goroutines may
// use what it returns.
func fetchOnce(remote func(string) ([]byte, error)) func(string) ([]byte, error) {
	if remote == nil {
		return nil
	}
	var mu sync.Mutex
	known := map[string]func() ([]byte, error){}
	return func(location string) ([]byte, error) {
		mu.Lock()
		get := known[location]
		if get == nil {
			get = sync.OnceValues(func() ([]byte, error) { return remote(location) })
			known[location] = get
		}
		mu.Unlock()
		return get()
	}
}

// hintReferences adds to the hints of references that are not followed what would have
// them followed.
func (c *app) hintReferences(problems diag.List) {
	how := "set " + registryFolders + "=DIR for a folder that has it, or " + remoteRefs + "=1 to have it fetched"
	if c.refs.offered {
		how = "name a folder that has it with --registry-schemas DIR, or have it fetched with --allow-remote"
	}
	for i := range problems {
		if problems[i].ID == "schema/ref-offline" {
			problems[i].Hint += "; or " + how
		}
	}
}

// fetch gets a document. The error does not name it: who asked knows it.
func fetch(ctx context.Context, client *http.Client, location string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fetchError(err, client)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the response was %s", response.Status)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, fetchLimit+1))
	switch {
	case err != nil:
		return nil, fetchError(err, client)
	case len(data) > fetchLimit:
		return nil, fmt.Errorf("the document has more than %d bytes", fetchLimit)
	}
	return data, nil
}

// fetchError leaves out the URL, and calls a time-out by its name.
func fetchError(err error, client *http.Client) error {
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return fmt.Errorf("no complete response within %s", client.Timeout)
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
