package lambda

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// PythonDebug is the variable that names the address at which a function in Python waits for a debugger,
// with the package debugpy.
const PythonDebug = "FORMWORK_DEBUGPY"

// Runtimes turns what a Lambda function is configured with, its runtime and its handler,
// into a command of this machine. The zero value is ready for use, by several goroutines
// as well; only Scripts must be set for runtimes that need an interpreter.
//
//	runtime                      command
//	provided, provided.al2…      the program bootstrap of the function
//	go1.x                        the program that the handler names
//	python3.*                    the interpreter of that version in the PATH or of pyenv, else any Python 3
//	python3                      the interpreter called python3 or python
//	nodejs*                      the interpreter called node; nodejs alone is any version
//	java*                        the JDK of JAVA_HOME or the PATH, not older than the runtime
//	all the others               none: a *RuntimeError
//
// Interpreters run a small program of this package, which uses the Runtime API and calls the
// handler as the service does. Java runs Lambda's own client, which Maven fetches once. Nothing
// else is installed or downloaded: the package or the interpreter must provide everything beside
// the standard library.
type Runtimes struct {
	// Scripts is a folder that those programs are written to. It is made when needed, and
	// may be shared with other processes.
	Scripts string

	// LookPath finds programs. Nil means exec.LookPath.
	LookPath func(string) (string, error)

	// Getenv reads the environment. Nil means os.Getenv.
	Getenv func(string) string

	mu    sync.Mutex
	found map[string]interpreter

	client sync.Mutex // held while the client for Java is fetched
}

// A Program is how a function is run: the fields of the same name of Config.
type Program struct {
	Command []string
	Env     []string
	Handler string

	// Runtime is what the program needs in a sandbox.
	Runtime sandbox.Runtime

	// Note describes the interpreter if it is not what the PATH has for the runtime, "" if it is.
	Note string

	// OtherVersion is whether the version of the interpreter is not that of the runtime.
	OtherVersion bool

	// Compiler compiles the modules of a function in Python, nil for others.
	Compiler *Compiler
}

// A RuntimeError reports that functions of a runtime cannot run on this machine.
type RuntimeError struct {
	Runtime string
	Reason  string
	Hint    string // what to do about it
}

func (e *RuntimeError) Error() string {
	text := fmt.Sprintf("the runtime %s: %s", e.Runtime, e.Reason)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// An interpreter is a program whose version is known.
type interpreter struct {
	path, version string
	roots         []string // where it is installed
	magic         string   // of the modules that it compiles, for Python
}

const away = `run them by other means, such as "sam local start-lambda", and name that with --endpoint`

// Prepare finds the command for a runtime. dir is the unpacked code of the function,
// entrypoint its handler. The error is a *RuntimeError, ctx's, or that of the file system.
func (r *Runtimes) Prepare(ctx context.Context, runtime, entrypoint, dir string) (Program, error) {
	switch {
	case runtime == "":
		return Program{}, &RuntimeError{Runtime: `""`, Reason: "the settings name none", Hint: `set "runtime" in .rpdk-config`}
	case runtime == "provided" || strings.HasPrefix(runtime, "provided."):
		return r.binary(runtime, "bootstrap", entrypoint, dir)
	case runtime == "go1.x":
		if !filepath.IsLocal(entrypoint) {
			return Program{}, &RuntimeError{Runtime: runtime, Reason: fmt.Sprintf("the entrypoint %q is not a file of the function", entrypoint)}
		}
		return r.binary(runtime, entrypoint, entrypoint, dir)
	case runtime == "python3", strings.HasPrefix(runtime, "python3."):
		return r.python(ctx, runtime, entrypoint, dir)
	case strings.HasPrefix(runtime, "nodejs"):
		return r.node(ctx, runtime, entrypoint)
	case strings.HasPrefix(runtime, "java"):
		return r.java(ctx, runtime, entrypoint)
	case strings.HasPrefix(runtime, "python2"):
		return Program{}, &RuntimeError{Runtime: runtime, Reason: "Python 2 is not supported", Hint: "port the handlers to Python 3"}
	}
	return Program{}, &RuntimeError{Runtime: runtime, Reason: "functions of this runtime cannot be run here", Hint: away}
}

// binary is for functions that are programs themselves.
func (r *Runtimes) binary(runtime, name, entrypoint, dir string) (Program, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	head, err := readHead(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Program{}, &RuntimeError{Runtime: runtime, Reason: fmt.Sprintf("the function has no file %s", name), Hint: "build the handlers and package them again"}
	case err != nil:
		return Program{}, fmt.Errorf("read the program of the function: %w", err)
	}
	if foreign(head) {
		reason, hint := wrongFormat(head)
		return Program{}, &StartError{Function: entrypoint, Command: name, Reason: reason, Hint: hint}
	}
	return Program{Command: []string{path}, Handler: entrypoint}, nil
}

// linking are the variables that an interpreter may need to start.
func (r *Runtimes) linking() (environ []string) {
	for _, name := range []string{"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "SystemRoot"} {
		if value := r.getenv(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

func orMissing(err error, runtime, what string) error {
	if err != nil {
		return err
	}
	return &RuntimeError{Runtime: runtime, Reason: fmt.Sprintf("there is no working %s in the PATH", what), Hint: "install it and put it into the PATH, or " + away}
}

// first returns the first of several programs that exists, works and has a supported version.
// A name in the PATH may be a wrapper that fails because the version is not installed, so each
// program is run to find out; the path that it reports is used from then on. The interpreter
// is empty if no program fits. The error is ctx's.
func (r *Runtimes) first(ctx context.Context, names []string, flag, question string, fits func(version string) bool) (interpreter, error) {
	lookPath := r.LookPath
	if lookPath == nil {
		lookPath = exec.LookPath
	}
	for _, name := range names {
		path, err := lookPath(name)
		if err != nil {
			continue
		}
		found, err := r.ask(ctx, path, flag, question)
		if err != nil {
			return interpreter{}, err
		}
		if found.path != "" && fits(found.version) {
			return found, nil
		}
	}
	return interpreter{}, nil
}

// ask runs a program to learn its own path and its version, and remembers what works.
func (r *Runtimes) ask(ctx context.Context, path, flag, question string) (interpreter, error) {
	r.mu.Lock()
	defer r.mu.Unlock() // the others want to know the same
	if found, known := r.found[path]; known {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, flag, question)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return interpreter{}, fmt.Errorf("get the version of %s: %w", path, context.Cause(ctx))
	}
	lines := strings.Split(strings.ReplaceAll(string(out), "\r", ""), "\n")
	if err != nil || len(lines) < 2 || !filepath.IsAbs(lines[0]) {
		return interpreter{}, nil
	}
	found := interpreter{path: lines[0], version: lines[1]}
	for _, root := range lines[2:] {
		if filepath.IsAbs(root) && isInstallation(root) {
			found.roots = append(found.roots, root)
		}
	}
	if len(lines) > 4 {
		found.magic = lines[4]
	}
	if r.found == nil {
		r.found = map[string]interpreter{}
	}
	r.found[path] = found
	return found, nil
}

// signs are what the folders of interpreters have, and others do not: a link to a program may be anywhere.
var signs = []string{"pyvenv.cfg", "lib/python3*", "lib/node_modules", "include/node", "conda-meta", "lib/modules", "jre/lib"}

// isInstallation reports whether an interpreter is installed in a folder.
func isInstallation(dir string) bool {
	return slices.ContainsFunc(signs, func(sign string) bool {
		found, _ := filepath.Glob(filepath.Join(files.Pattern(dir), sign)) // the pattern is valid
		return len(found) > 0
	})
}

// script writes one of the programs of this package to a file named by its contents, so that
// programs of other versions stay unchanged.
func (r *Runtimes) script(name, extension string, text []byte) (string, error) {
	sum := sha256.Sum256(text)
	path := filepath.Join(r.Scripts, name+"-"+hex.EncodeToString(sum[:6])+extension)
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
		return filepath.Abs(path)
	}
	if err := os.MkdirAll(r.Scripts, 0o755); err != nil {
		return "", fmt.Errorf("write the %s runtime: %w", name, err)
	}
	temp, err := os.CreateTemp(r.Scripts, ".new-*")
	if err != nil {
		return "", fmt.Errorf("write the %s runtime: %w", name, err)
	}
	defer func() { _ = os.Remove(temp.Name()) }() // after the rename there is nothing to remove
	_, err = temp.Write(text)
	if err == nil {
		err = temp.Chmod(0o444)
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("write the %s runtime: %w", name, err)
	}
	return filepath.Abs(path)
}
