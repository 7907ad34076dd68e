package build

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// A pythonTarget is the Lambda that libraries are installed for.
type pythonTarget struct {
	version string // of Python
	arch    Arch
}

// pipOptions make pip take wheels for the target only.
func (t pythonTarget) pipOptions() []string {
	options := []string{"--only-binary=:all:", "--implementation", "cp", "--python-version", t.version}
	for _, platform := range t.platforms() {
		options = append(options, "--platform", platform)
	}
	return options
}

// uvOptions do the same for uv, which knows one platform, and takes wheels for older ones with it.
func (t pythonTarget) uvOptions() []string {
	newest := "manylinux2014"
	if t.newSystem() {
		newest = "manylinux_2_34"
	}
	return []string{"--only-binary", ":all:", "--python-version", t.version, "--python-platform", t.arch.wheel + "-" + newest}
}

// newSystem reports whether the version runs on Amazon Linux 2023; others run on Amazon Linux 2.
func (t pythonTarget) newSystem() bool {
	_, minor, _ := strings.Cut(t.version, ".")
	return len(minor) == 2 && minor >= "12"
}

// platforms are the tags of wheels that run in Lambda.
func (t pythonTarget) platforms() []string {
	tags := []string{"manylinux2014", "manylinux_2_17"}
	if t.arch == X86 {
		tags = append(tags, "manylinux_2_5", "manylinux1")
	}
	if t.newSystem() {
		tags = append(tags, "manylinux_2_34", "manylinux_2_28")
	}
	for i := range tags {
		tags[i] += "_" + t.arch.wheel
	}
	return tags
}

// pipCommand is the command that installs packages into a folder: pip, or uv if it is installed and the
// interpreter has no pip or the project has a uv.lock. shown is how it is printed.
func (t *Tools) pipCommand(ctx context.Context, p *project.Project, python, dir string, work pipWork) (command []string, shown string) {
	if uv, err := t.lookPath("uv"); err == nil && (files.Exists(p.Path("uv.lock")) || !t.hasPip(ctx, p, python)) {
		command = []string{uv, "pip", "install", "--quiet", "--no-progress", "--color", "never", "--python", python, "--target", dir}
		if work.target != nil {
			command = append(command, work.target.uvOptions()...)
		} else {
			command = append(command, "--compile-bytecode") // they run here
		}
		return append(command, work.what...), "uv pip install " + work.shown
	}
	command = []string{
		python, "-m", "pip", "install", "--quiet", "--no-input", "--no-color", "--disable-pip-version-check", "--target", dir,
	}
	if work.target != nil {
		command = append(append(command, "--no-compile"), work.target.pipOptions()...)
	}
	return append(command, work.what...), filepath.Base(python) + " -m pip install " + work.shown
}

func (t *Tools) hasPip(ctx context.Context, p *project.Project, python string) bool {
	return t.askPython(ctx, p, python, "", "", "import importlib.util, sys; sys.exit(importlib.util.find_spec('pip') is None)") == nil
}

// askPython runs a short program; search is its PYTHONPATH.
func (t *Tools) askPython(ctx context.Context, p *project.Project, python, search, input, program string) error {
	cmd := exec.CommandContext(ctx, python, "-c", program)
	cmd.Dir, cmd.Env, cmd.Stdin = p.Path("src"), append(slices.Clone(t.Environ), "PYTHONPATH="+search), strings.NewReader(input)
	lambda.EndWithDescendants(cmd)
	return cmd.Run()
}

// notInstallable matches the errors of pip and uv after which libraries that are there already are used:
// no index was reached, or there is no installer.
var notInstallable = lazyregexp.New(noPip.String() + "|" + noIndex.String())

// haveRequirements exits with 0 if the requirements on its standard input are installed, in versions that
// fit. The rules for versions are those of packaging, which pip contains, too.
const haveRequirements = `
import re, sys
from importlib import metadata
try:
    from packaging.requirements import Requirement
except ImportError:
    try:
        from pip._vendor.packaging.requirements import Requirement
    except ImportError:
        Requirement = None
for line in sys.stdin.read().replace("\\\n", " ").splitlines():
    line = re.split(r"(?:^|\s)(?:#|--hash)", line)[0].strip()
    if not line or line.startswith("-"):
        continue
    name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line)
    if not name or "/" in line:
        sys.exit(1)
    if Requirement:
        wanted = Requirement(line)
        if wanted.marker and not wanted.marker.evaluate():
            continue
        if not wanted.specifier.contains(metadata.version(wanted.name), prereleases=True):
            sys.exit(1)
    elif line[name.end():].replace(" ", "") not in ("", "==" + metadata.version(name.group())):
        sys.exit(1)
`

// installedLibraries finds the libraries of a project without a package index: those of former
// requirements that fit, of the interpreter, or of the active virtual environment. dir is the folder of the
// libraries, "" if the interpreter finds them by itself.
func (t *Tools) installedLibraries(ctx context.Context, p *project.Project, python, requirements string) (dir string, ok bool) {
	former, _ := filepath.Glob(filepath.Join(p.Path(pythonDir), "libraries-*"))
	slices.SortFunc(former, func(a, b string) int { return changed(b).Compare(changed(a)) })
	candidates := append(former, "")
	if environment := t.Getenv("VIRTUAL_ENV"); environment != "" {
		// Those of another version of Python are in a folder of another name.
		own, _ := filepath.Glob(filepath.Join(environment, "lib", "python"+t.pythonVersion(ctx, p, python), "site-packages"))
		candidates = append(candidates, own...)
	}
	for _, dir := range candidates {
		if t.askPython(ctx, p, python, searchPath(dir, t.Getenv("PYTHONPATH")), requirements, haveRequirements) != nil {
			continue
		}
		place := dir
		switch {
		case dir == "":
			place = python
		case slices.Contains(former, dir):
			place = p.Name(pythonDir + "/" + filepath.Base(dir))
		}
		t.Note("warning: the libraries of %s cannot be installed; using those of %s\n", p.Name(requirementsFile), place)
		return dir, true
	}
	return "", false
}

// changed is when a file or folder was last changed, the zero time if it does not exist.
func changed(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// pythonVersion is the version of an interpreter, such as 3.12.
func (t *Tools) pythonVersion(ctx context.Context, p *project.Project, python string) string {
	cmd := exec.CommandContext(ctx, python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
	cmd.Dir, cmd.Env = p.Path("src"), t.Environ
	lambda.EndWithDescendants(cmd)
	out, _ := cmd.Output() // without a version, no folder is found
	return strings.TrimSpace(string(out))
}
