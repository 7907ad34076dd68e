package build

import (
	"context"
	"errors"
	"os/exec"
	"path"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// debugpyWork installs debugpy if a project has none.
var debugpyWork = pipWork{what: []string{"debugpy>=1.8,<2"}, shown: "debugpy", named: "debugpy, the debugger of Python,"}

// debugpy returns the folder to find debugpy in, "" if the handlers find it by themselves. It is
// installed once, if neither the libraries nor the interpreter have it.
func (t *Tools) debugpy(ctx context.Context, p *project.Project, python, libraries string, noBuild bool) (string, error) {
	probe := exec.CommandContext(ctx, python, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('debugpy') is None)")
	probe.Dir, probe.Env = p.Path("src"), append(slices.Clone(t.Environ), "PYTHONPATH="+libraries)
	lambda.EndWithDescendants(probe)
	if probe.Run() == nil {
		return "", nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	const hint = "install it yourself: python -m pip install debugpy, or add debugpy to " + requirementsFile
	name := pythonDir + "/debugger-" + librariesSum(python, debugpyWork.what[0])
	if files.Exists(p.Path(name)) {
		return p.Path(name), nil
	}
	if noBuild {
		return "", diag.WithHint(errors.New("debugpy, the debugger of Python, is not installed"), "leave out --no-build, and cfn installs it; or %s", hint)
	}
	if err := t.pipInstall(ctx, p, python, p.Path(name), debugpyWork); err != nil {
		if ctx.Err() == nil {
			return "", diag.WithHint(err, "%s", hint)
		}
		return "", err
	}
	t.removeOldLibraries(p, path.Base(name))
	return p.Path(name), nil
}
