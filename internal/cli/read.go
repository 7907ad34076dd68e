package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// maxSource bounds a source file that is read for a hint of what it is.
const maxSource = 8 << 20

// maxSchemaFile bounds how much of a file is read: a little more than the limit of documents,
// so that the parser reports that it is too large.
const maxSchemaFile = 8<<20 + 1

// readSchemaFile reads a regular file: the path may be a device or a pipe.
func readSchemaFile(path string) ([]byte, error) { return document.ReadHead(path, maxSchemaFile) }

// hintTemplate is the hint for a missing template.
const hintTemplate = "pass the path of a CloudFormation template in JSON or YAML"

// missingFile is the error for a file or folder of the command line that cannot be read: its
// name as typed instead of the resolved path. hint describes the expected file.
func missingFile(err error, name, hint string) error {
	var failed *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return withHint(fmt.Errorf("%s does not exist", name), "%s", hint)
	case errors.As(err, &failed):
		return fmt.Errorf("read %s: %w", name, failed.Err)
	}
	return err
}

// readStdin reads the standard input to its end, or until ctx ends: a user may be typing.
func (c *app) readStdin(ctx context.Context, limit int64) ([]byte, error) {
	return untilDone(ctx, func() ([]byte, error) { return document.ReadAll(c.Stdin, limit) })
}

// readInput reads a file, or the standard input to its end.
func (c *app) readInput(ctx context.Context, name string) ([]byte, error) {
	var data []byte
	var err error
	if name == "-" {
		name = "the standard input"
		data, err = c.readStdin(ctx, maxRequest)
	} else {
		data, err = document.ReadFile(c.path(name), maxRequest)
	}
	var large *document.TooLargeError
	if errors.As(err, &large) {
		return nil, fmt.Errorf("read the request: %s has more than %d bytes, the limit of Lambda", name, maxRequest)
	}
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	return data, nil
}
