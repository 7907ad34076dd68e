package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// awsSource is the source of cfn types import that stands for the schemas of AWS.
const awsSource = "aws"

const (
	// schemaURL is the variable with the URL of a zip of schemas that is used in place of that of AWS.
	schemaURL = "CFN_SCHEMA_URL"

	maxSchemaZip  = 256 << 20
	schemaMaxAge  = 7 * 24 * time.Hour // of a download that is used again
	schemaTimeout = 10 * time.Minute
)

// awsSchemas finds the schemas of AWS: of an installed cfn-lint, of an earlier download, or of the zip that
// AWS publishes for the region. It returns their place and what to call it.
func (c *app) awsSchemas(ctx context.Context, region string) (place, shown string, err error) {
	address := c.Getenv(schemaURL)
	if address == "" {
		if dir := c.lintSchemas(ctx); dir != "" {
			return dir, "the schemas of cfn-lint in " + dir, nil
		}
		address = fmt.Sprintf("https://schema.cloudformation.%s.%s/CloudformationSchema.zip", region, awswire.DomainOf(region))
	}
	dir := cacheHome(runtime.GOOS, c.Getenv)
	if dir == "" {
		return "", "", withHint(errors.New("cannot find a home folder for the download"), "download %s, and run: cfn types import CloudformationSchema.zip", address)
	}
	dir = filepath.Join(dir, "formwork", "schemas")
	file := filepath.Join(dir, region+".zip")
	info, missing := os.Stat(file)
	if missing == nil && c.Getenv(schemaURL) == "" && c.Now().Sub(info.ModTime()) < schemaMaxAge {
		return file, fmt.Sprintf("%s, downloaded %s", file, info.ModTime().Format(time.DateOnly)), nil
	}
	if err := c.download(ctx, address, dir, region+".zip"); err != nil {
		if missing != nil {
			return "", "", withHint(fmt.Errorf("download %s: %w", address, err), "install cfn-lint (python3 -m pip install cfn-lint), or set %s to the URL of a copy", schemaURL)
		}
		c.notef("warning: cannot download %s: %v\n", address, err)
		return file, fmt.Sprintf("%s, downloaded %s", file, info.ModTime().Format(time.DateOnly)), nil
	}
	return file, address, nil
}

// cacheHome is where programs keep what they can get again.
func cacheHome(system string, getenv func(string) string) string {
	return userFolder(system, getenv, "Caches", "XDG_CACHE_HOME", ".cache")
}

// lintSchemas is the folder with the schemas of an installed cfn-lint, "" if there is none. It asks the
// Python that cfn-lint starts with, and python3.
func (c *app) lintSchemas(ctx context.Context) string {
	interpreters := []string{"python3"}
	if program, err := exec.LookPath("cfn-lint"); err == nil {
		if own := interpreterOf(program); own != "" {
			interpreters = []string{own, "python3"}
		}
	}
	for _, python := range interpreters {
		command := exec.CommandContext(ctx, python, "-c", "import importlib.util; s = importlib.util.find_spec('cfnlint'); print(s.submodule_search_locations[0])")
		command.Env, command.WaitDelay = c.Environ, time.Second
		out, err := command.Output()
		dir := filepath.Join(strings.TrimSpace(string(out)), "data", "schemas")
		if info, missing := os.Stat(dir); err == nil && filepath.IsAbs(dir) && missing == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}

// interpreterOf is the program in the first line of a script, "" if it names none.
func interpreterOf(script string) string {
	f, err := os.Open(script) //nolint:gosec // a program in the user's PATH
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	line := make([]byte, 256)
	n, _ := io.ReadFull(f, line)
	first, _, _ := bytes.Cut(line[:n], []byte("\n"))
	program, found := bytes.CutPrefix(first, []byte("#!"))
	if name := strings.TrimSpace(string(program)); found && filepath.IsAbs(name) && !strings.Contains(name, " ") {
		return name
	}
	return ""
}

// download stores what is at an address in a file of a folder.
func (c *app) download(ctx context.Context, address, dir, name string) error {
	defer c.progress("Downloading %s", address)()
	client := &http.Client{Timeout: schemaTimeout, CheckRedirect: invoke.CheckRedirect}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fetchError(err, client)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the response was %s", response.Status)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxSchemaZip+1))
	switch {
	case err != nil:
		return fetchError(err, client)
	case len(data) > maxSchemaZip:
		return fmt.Errorf("it has more than %d MiB", maxSchemaZip>>20)
	case !bytes.HasPrefix(data, []byte("PK")):
		return errors.New("it is not a zip file")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return files.Write(dir, name, data, 0o600)
}
