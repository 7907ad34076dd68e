package handlers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// A Source is a function that a command line names: a folder, a program, a source in Python or
// JavaScript, or a function of another program at a URL.
type Source struct {
	URL, Function string // of the Invoke API, and the name there; "" for code on this machine

	Dir, Runtime, Entrypoint string // "" for functions at a URL
}

var sourceFunction = lazyregexp.New(`^(.+):([A-Za-z_$][A-Za-z0-9_$]*)$`)

// FindSource reads DIR, BINARY, FILE, FILE:FUNCTION or URL. A relative path is one below dir.
func FindSource(text, dir string) (Source, error) {
	if strings.Contains(text, "://") {
		n, err := ParseNamed("handler="+text, dir)
		if err != nil {
			return Source{}, trimmed(err)
		}
		address, function := n.endpoint()
		return Source{URL: address, Function: function}, nil
	}
	path, function := text, ""
	if m := sourceFunction.FindStringSubmatch(text); m != nil {
		if _, err := os.Lstat(absolute(text, dir)); errors.Is(err, fs.ErrNotExist) {
			path, function = m[1], m[2]
		}
	}
	n := Named{Name: "handler", Path: filepath.Clean(absolute(path, dir))}
	if function != "" {
		return n.function(path, function)
	}
	code, err := n.code()
	if err != nil {
		return Source{}, trimmed(err)
	}
	return Source{Dir: code.dir, Runtime: code.runtime, Entrypoint: code.entrypoint}, nil
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// trimmed is an error of a named function without the name, which the user has not given.
func trimmed(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "function handler: "))
}

// function is one function of a source.
func (n Named) function(shown, function string) (Source, error) {
	extension := filepath.Ext(n.Path)
	language, known := languages[extension]
	info, err := os.Stat(n.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Source{}, fmt.Errorf("%s does not exist", shown)
	case err != nil:
		return Source{}, err
	case !known || !info.Mode().IsRegular():
		return Source{}, fmt.Errorf("%s is not a source in Python or JavaScript, whose function could be named with :%s", shown, function)
	}
	return Source{
		Dir: filepath.Dir(n.Path), Runtime: language.runtime, Entrypoint: strings.TrimSuffix(filepath.Base(n.Path), extension) + "." + function,
	}, nil
}

// Config is how the function runs on this machine: Command, Dir, Env and Handler of a
// lambda.Config. The folder scratch is for files that the interpreter needs. The source is not
// one at a URL.
func (s Source) Config(ctx context.Context, scratch string) (lambda.Config, error) {
	runtimes := &lambda.Runtimes{Scripts: filepath.Join(scratch, "runtimes")}
	program, err := runtimes.Prepare(ctx, s.Runtime, s.Entrypoint, s.Dir)
	if err != nil {
		return lambda.Config{}, err
	}
	runtime := program.Runtime
	runtime.Files = append(runtime.Files, sandbox.NodeModules(s.Dir)...)
	return lambda.Config{
		Command: program.Command, Note: program.Note, Dir: s.Dir, Env: append(program.Env, "PYTHONDONTWRITEBYTECODE=1"), Handler: program.Handler, Runtime: runtime,
	}, nil
}
