package lambda

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

//go:embed runtime_python.py
var pythonBootstrap []byte

// pythonQuestion is the program that learns path and version of an interpreter, where it is installed, and the magic number of
// its modules.
const pythonQuestion = "import sys, importlib.util; print(sys.executable); print('%d.%d' % sys.version_info[:2]); print(sys.prefix); print(sys.base_prefix); print(importlib.util.MAGIC_NUMBER.hex())"

// python runs functions in Python.
func (r *Runtimes) python(ctx context.Context, runtime, entrypoint, dir string) (Program, error) {
	version := strings.TrimPrefix(runtime, "python")
	found, err := r.first(ctx, []string{"python" + version, "python3", "python"}, "-c", pythonQuestion, func(v string) bool { return strings.HasPrefix(v, "3.") })
	pyenv := false
	if err == nil && version != "3" && found.version != version {
		var installed interpreter
		if installed, err = r.pyenv(ctx, version, dir, found); installed.path != "" {
			found, pyenv = installed, true
		}
	}
	if err != nil || found.path == "" {
		return Program{}, orMissing(err, runtime, "Python 3")
	}
	script, err := r.script("python", ".py", pythonBootstrap)
	if err != nil {
		return Program{}, err
	}
	p := Program{
		Command: []string{found.path, "-u", script},
		Runtime: sandbox.Runtime{Roots: found.roots, Files: []string{script}},
		Env:     []string{"AWS_EXECUTION_ENV=AWS_Lambda_" + runtime},
		Handler: entrypoint, Compiler: &Compiler{python: found.path, magic: found.magic, roots: found.roots, environ: r.linking()},
	}
	switch {
	case version == "3":
		p.Env = []string{"AWS_EXECUTION_ENV=AWS_Lambda_python" + found.version}
	case pyenv:
		p.Note = fmt.Sprintf("the runtime is %s, and is run by %s of pyenv: there is no working python%s in the PATH", runtime, found.path, version)
	case found.version != version:
		p.OtherVersion = true
		p.Note = fmt.Sprintf("the runtime is %s, and is run by Python %s: there is no python%s in the PATH", runtime, found.version, version)
	}
	return p, nil
}
