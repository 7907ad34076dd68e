package lambda

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// pyenv finds the interpreter of a version that pyenv has installed: its wrappers in the PATH run only the versions
// that are active. active is what the PATH has instead. The user's choice comes first: a virtual environment, and a
// version that PYENV_VERSION or a file .python-version in dir or above selects. The interpreter is empty then, or if
// the version is not installed. The error is ctx's.
func (r *Runtimes) pyenv(ctx context.Context, version, dir string, active interpreter) (interpreter, error) {
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_VERSION"} {
		if r.getenv(name) != "" {
			return interpreter{}, nil
		}
	}
	if active.path != "" && isFile(filepath.Join(filepath.Dir(filepath.Dir(active.path)), "pyvenv.cfg")) || selected(dir, version) {
		return interpreter{}, nil
	}
	root := r.getenv("PYENV_ROOT")
	if root == "" && r.getenv("HOME") != "" {
		root = filepath.Join(r.getenv("HOME"), ".pyenv")
	}
	if !filepath.IsAbs(root) {
		return interpreter{}, nil
	}
	for _, release := range releases(filepath.Join(root, "versions"), version) {
		found, err := r.ask(ctx, filepath.Join(root, "versions", version+"."+strconv.Itoa(release), "bin", "python"+version), "-c", pythonQuestion)
		if err != nil || found.version == version {
			return found, err
		}
	}
	return interpreter{}, nil
}

// releases are the last numbers of the installed releases of a version, the latest first.
func releases(dir, version string) []int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // pyenv is not installed
	}
	var found []int
	for _, entry := range entries {
		if text, ok := strings.CutPrefix(entry.Name(), version+"."); ok {
			if n, err := strconv.ParseUint(text, 10, 16); err == nil && strconv.FormatUint(n, 10) == text {
				found = append(found, int(n))
			}
		}
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Compare(b, a) })
	return found
}

// selected reports whether a file .python-version selects another version for a folder.
func selected(dir, version string) bool {
	dir, err := filepath.Abs(dir)
	for parent := ""; err == nil && parent != dir; parent, dir = dir, filepath.Dir(dir) {
		if text, err := readHead(filepath.Join(dir, ".python-version")); err == nil {
			name, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
			return name != version && !strings.HasPrefix(name, version+".")
		}
	}
	return false
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (r *Runtimes) getenv(name string) string {
	if r.Getenv == nil {
		return os.Getenv(name)
	}
	return r.Getenv(name)
}
