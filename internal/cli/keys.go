package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// keyFileHint describes the format of a file of --auth.
const keyFileHint = "a key file has one line for each key: ACCESS_KEY_ID SECRET_ACCESS_KEY ACCOUNT"

// maxKeyFile bounds a key file, in bytes.
const maxKeyFile = 16 << 20

// keyFile reads the file of --auth, and warns if others can read it, too.
//
// The file may be a pipe, such as that of <(command) in a shell.
func (c *app) keyFile(ctx context.Context, name string) ([]byte, error) {
	return untilDone(ctx, func() ([]byte, error) { return c.readKeys(name) })
}

func (c *app) readKeys(name string) ([]byte, error) {
	file, err := os.Open(c.path(name))
	if err != nil {
		return nil, withHint(fmt.Errorf("--auth: %w", bare(err, name)), keyFileHint)
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("is a folder")
	}
	var keys []byte
	if err == nil {
		keys, err = io.ReadAll(io.LimitReader(file, maxKeyFile+1))
	}
	if err == nil && len(keys) > maxKeyFile {
		err = fmt.Errorf("is larger than %d bytes", maxKeyFile)
	}
	if err != nil {
		return nil, withHint(fmt.Errorf("--auth: %w", bare(err, name)), keyFileHint)
	}
	// On Windows the mode says nothing about who may read.
	if runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o044 != 0 {
		c.notef("warning: other users of this machine can read %s: run chmod 600 %s\n", name, shellQuote(name))
	}
	if _, err := awswire.ParseKeys(bytes.NewReader(keys)); err != nil {
		return nil, withHint(fmt.Errorf("--auth: %s: %w", name, err), keyFileHint)
	}
	return keys, nil
}

// bare is an error about a file under the name that the user gave it.
func bare(err error, name string) error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// keyOf is the first key of an account in a key file, by its id; of any account if
// account is "". The file was read by keyFile.
func keyOf(file []byte, name, account string) (accessKey, error) {
	keys, err := awswire.ParseKeys(bytes.NewReader(file))
	if err != nil {
		return accessKey{}, fmt.Errorf("--auth: %s: %w", name, err)
	}
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if key := keys[id]; account == "" || key.Account == account {
			return accessKey{id, key.Secret}, nil
		}
	}
	return accessKey{}, withHint(fmt.Errorf("--auth: %s does not contain a key for account %s", name, account), keyFileHint)
}

// An accessKey is what a client signs with.
type accessKey struct{ id, secret string }
