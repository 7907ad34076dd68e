package lambda_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// TestPyenv takes an installed version that is not active, the latest, unless the user has chosen another interpreter.
func TestPyenv(t *testing.T) {
	says := func(path, version string) string { return "#!/bin/sh\necho " + path + "; echo " + version + "\n" }
	home := code(t, map[string]string{
		"bin/python3.9":                             "#!/bin/sh\necho 'pyenv: python3.9: command not found' >&2; exit 127\n",
		"bin/python3":                               says("/usr/bin/python3", "3.11"),
		".pyenv/versions/3.9.9/bin/python3.9":       says("/of/3.9.9", "3.9"),
		".pyenv/versions/3.9.18/bin/python3.9":      says("/of/3.9.18", "3.9"),
		".pyenv/versions/3.9.x/bin/python3.9":       says("/of/3.9.x", "3.9"),
		".pyenv/versions/3.9-dev/bin/python3.9":     says("/of/3.9-dev", "3.9"),
		".pyenv/versions/3.8.20/bin/python3.8":      "#!/bin/sh\nexit 1\n",
		".pyenv/versions/3.8.18/bin/python3.8":      says("/of/3.8.18", "3.8"),
		".pyenv/versions/3.11.7/bin/python3.11":     says("/of/3.11.7", "3.11"),
		"other/versions/3.9.1/bin/python3.9":        says("/of/other", "3.9"),
		"local/.python-version":                     "3.11.7\n3.9.18\n",
		"local/src/app.py":                          "",
		"same/.python-version":                      "3.9.9",
		"same/src/app.py":                           "",
		"src/app.py":                                "",
		"environment/pyvenv.cfg":                    "",
		"environment/bin/python3":                   "",
		"environment/path/python3":                  "#!/bin/sh\necho \"${0%/path/*}/bin/python3\"; echo 3.11\n",
		"environment/path/python3.9":                "#!/bin/sh\nexit 127\n",
		".pyenv/versions/3.10.4/bin/not-python3.10": "",
		".pyenv/versions/03.12.1/bin/python3.12":    says("/of/03.12.1", "3.12"),
		".pyenv/versions/3.12.01/bin/python3.12":    says("/of/3.12.01", "3.12"),
	})
	environment := filepath.Join(home, "environment")
	const other = ", and is run by Python 3.11: there is no "
	for name, test := range map[string]struct {
		runtime, program, note string
		env                    map[string]string
		dir, path              string
	}{
		"not active":               {runtime: "python3.9", program: "/of/3.9.18", note: "the runtime is python3.9, and is run by /of/3.9.18 of pyenv: there is no working python3.9 in the PATH"},
		"PYENV_ROOT":               {runtime: "python3.9", program: "/of/other", env: map[string]string{"PYENV_ROOT": filepath.Join(home, "other")}},
		"a relative root":          {runtime: "python3.9", program: "/usr/bin/python3", note: "the runtime is python3.9" + other + "python3.9 in the PATH", env: map[string]string{"PYENV_ROOT": "other"}},
		"a broken one":             {runtime: "python3.8", program: "/of/3.8.18"},
		"active":                   {runtime: "python3.11", program: "/usr/bin/python3"},
		"any version":              {runtime: "python3", program: "/usr/bin/python3"},
		"not installed":            {runtime: "python3.10", program: "/usr/bin/python3"},
		"other names":              {runtime: "python3.12", program: "/usr/bin/python3"},
		"nothing in the PATH":      {runtime: "python3.9", program: "/of/3.9.18", path: "nothing"},
		"a virtual environment":    {runtime: "python3.9", program: "/usr/bin/python3", env: map[string]string{"VIRTUAL_ENV": "/x"}},
		"conda":                    {runtime: "python3.9", program: "/usr/bin/python3", env: map[string]string{"CONDA_PREFIX": "/x"}},
		"PYENV_VERSION":            {runtime: "python3.9", program: "/usr/bin/python3", env: map[string]string{"PYENV_VERSION": "3.11.7"}},
		"an environment by PATH":   {runtime: "python3.9", program: filepath.Join(environment, "bin", "python3"), path: "environment/path"},
		"another selected version": {runtime: "python3.9", program: "/usr/bin/python3", dir: "local/src"},
		"the selected version":     {runtime: "python3.9", program: "/of/3.9.18", dir: "same/src"},
	} {
		path := test.path
		if path == "" {
			path = "bin"
		}
		r := &lambda.Runtimes{
			Scripts:  t.TempDir(),
			LookPath: func(name string) (string, error) { return exec.LookPath(filepath.Join(home, path, name)) },
			Getenv: func(name string) string {
				if name == "HOME" {
					return home
				}
				return test.env[name]
			},
		}
		dir := test.dir
		if dir == "" {
			dir = "src"
		}
		p, err := r.Prepare(t.Context(), test.runtime, "app.handler", filepath.Join(home, dir))
		if err != nil || p.Command[0] != test.program || test.note != "" && p.Note != test.note {
			t.Errorf("%s: %q %q %v", name, p.Command, p.Note, err)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nothing := func(string) (string, error) { return "", exec.ErrNotFound }
	r := &lambda.Runtimes{Scripts: t.TempDir(), LookPath: nothing, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	if _, err := r.Prepare(ctx, "python3.9", "app.handler", home); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
