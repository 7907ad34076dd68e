package lambda

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

//go:embed compile_python.py
var pythonCompiler string

// pythonCompiled is the variable that names the folder of Config.Compiled.
const pythonCompiled = "FORMWORK_COMPILED"

// Limits of the compiled modules of one function. What is beyond is compiled at each start.
const (
	mostCompiledBytes = 128 << 20
	mostCompiledFiles = 20_000
	mostCompiledPath  = 4096
	compileTime       = 3 * time.Minute
	compileMemory     = 1 << 30
)

// leastSources is how much source in Python is worth compiling: to start an interpreter for less takes longer than
// it saves.
const leastSources = 128 << 10

// errFull reports that there are more compiled modules than are kept.
var errFull = errors.New("the limit of compiled modules is reached")

// A Compiler compiles the modules of functions in Python, so that they start sooner. It runs none of their code, and
// its process can only print: in a sandbox it sees nothing but the code.
type Compiler struct {
	python, magic string
	roots         []string // where it is installed
	environ       []string
}

// Key identifies the interpreter, whose compiled modules no other one uses.
func (c *Compiler) Key() string {
	real, err := filepath.EvalSymlinks(c.python)
	if err != nil {
		real = c.python
	}
	return real + " " + c.magic
}

// Worthwhile reports whether the code in a folder is so large that compiling it saves time.
func (c *Compiler) Worthwhile(dir string) bool {
	var size int64
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Ext(path) != ".py" {
			return nil //nolint:nilerr // what cannot be read is not compiled
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		if size >= leastSources {
			return filepath.SkipAll
		}
		return nil
	})
	return size >= leastSources
}

// Compile compiles the modules in the folder dir into another one, for Config.Compiled, under their names with a "c"
// behind. Modules that cannot be compiled or exceed a limit are left out. The error is ctx's, or that of the system.
func (c *Compiler) Compile(ctx context.Context, settings sandbox.Settings, dir string, into *os.Root) error {
	limited, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("compile modules: %w", err)
	}
	defer func() { _ = r.Close() }() // it was only read
	end, err := c.start(limited, settings, dir, w)
	_ = w.Close() // the process has it
	if err != nil {
		return fmt.Errorf("compile modules: %w", err)
	}
	stop := context.AfterFunc(limited, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) }) // pipes have deadlines
	err = keepModules(bufio.NewReader(r), into, mostCompiledBytes, mostCompiledFiles)
	stop()
	cancel()
	end()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var system *fs.PathError
	if errors.As(err, &system) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("keep compiled modules: %w", err)
	}
	return nil // the rest is compiled at each start
}

// compiled is the folder that a process reads compiled modules from, "" for none.
func (c *Config) compiled() string {
	if c.Compiled == nil {
		return ""
	}
	return c.Compiled()
}

// start starts the compiler, which writes to out. end waits for it when its context has ended.
func (c *Compiler) start(ctx context.Context, settings sandbox.Settings, dir string, out *os.File) (end func(), err error) {
	args := []string{c.python, "-I", "-S", "-B", "-W", "ignore", "-c", pythonCompiler, dir}
	if !settings.Mode.Active() {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env, cmd.Stdout = c.environ, out
		EndWithDescendants(cmd)
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return func() { _ = cmd.Wait() }, nil // it was ended
	}
	session, err := sandbox.Start(sandbox.Process{
		Path: c.python, Args: args, Env: append(sandbox.Environ(), c.environ...), Dir: dir,
		Runtime: sandbox.Runtime{Roots: c.roots}, TmpMB: 1, Memory: compileMemory,
		Settings: sandbox.Settings{Mode: settings.Mode, Hide: settings.Hide, Environ: c.environ},
	}, out)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = session.Command().Process.Kill() }) // it may have ended
	return func() {
		defer stop()
		_ = session.Command().Wait() // by the signal or not
		session.End()
		session.Close()
	}, nil
}

// keepModules writes the modules that a compiler prints below a folder, up to so many bytes and files. The error is an *fs.PathError if one cannot be
// written; errors in what was printed have other types.
func keepModules(from *bufio.Reader, into *os.Root, bytes, files int) error {
	size := 0
	for count := 0; ; count++ {
		name, data, err := readModule(from)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if size += len(data); size > bytes || count == files {
			return errFull
		}
		if err := placeModule(into, name, data); err != nil {
			return err
		}
	}
}

// readModule reads one module; io.EOF is the end of all.
func readModule(from *bufio.Reader) (name string, data []byte, err error) {
	line, err := from.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return "", nil, io.EOF
	}
	var nameSize, dataSize int
	if _, scanErr := fmt.Sscanf(string(line), "%d %d\n", &nameSize, &dataSize); err != nil || scanErr != nil ||
		nameSize < 1 || nameSize > mostCompiledPath || dataSize < 0 || dataSize > mostCompiledBytes {
		return "", nil, errors.New("expected the lengths of a path and a module")
	}
	text := make([]byte, nameSize)
	if _, err := io.ReadFull(from, text); err != nil {
		return "", nil, errors.New("the path of a module is incomplete")
	}
	name = string(text)
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Ext(name) != ".pyc" || strings.Contains(name, "\x00") {
		return "", nil, fmt.Errorf("%q is not the path of a compiled module", name)
	}
	// As it comes: a length alone takes no memory.
	data, err = io.ReadAll(io.LimitReader(from, int64(dataSize)))
	if err != nil || len(data) < dataSize {
		return "", nil, errors.New("a module is incomplete")
	}
	return filepath.FromSlash(path.Clean(name)), data, nil
}

// placeModule writes a module to a new file.
func placeModule(into *os.Root, name string, data []byte) error {
	if err := into.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = files.Flush(file)
	}
	return errors.Join(err, file.Close())
}
