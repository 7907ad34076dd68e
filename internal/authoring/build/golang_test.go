package build

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
)

func TestProgramOn(t *testing.T) {
	for _, c := range []struct {
		system, arch string
		isGo, debug  bool
		want         string
	}{
		{"linux", "amd64", true, false, "bin/bootstrap"},
		{"linux", "amd64", true, true, "bin/debug/bootstrap"},
		{"linux", "arm64", true, false, "bin/local/bootstrap"},
		{"darwin", "arm64", true, false, "bin/local/bootstrap"},
		{"windows", "amd64", true, false, "bin/local/bootstrap.exe"},
		{"windows", "amd64", true, true, "bin/debug/bootstrap.exe"},
		{"windows", "amd64", false, false, "bin/bootstrap"},
	} {
		if got := programOn(c.system, c.arch, "bootstrap", c.isGo, c.debug); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// customProject is a project with these settings.
func customProject(t *testing.T, dir, settings string) *project.Project {
	t.Helper()
	options, problems := document.ParseJSON("settings", []byte(settings), document.Limits{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return &project.Project{Dir: dir, Settings: project.Settings{Language: "go", Options: options}}
}

// TestCustomPrograms: how the code of a custom resource is built. Settings are no options of the go command.
func TestCustomPrograms(t *testing.T) {
	for settings, want := range map[string]string{
		`{"custom_resource": "."}`:                                                "go build -C custom -trimpath -ldflags=-s -w -tags=lambda.norpc -o ../bin/local/custom.exe .",
		`{"custom_resource": "functions/fn"}`:                                     "go build -C custom -trimpath -ldflags=-s -w -tags=lambda.norpc -o ../bin/local/custom.exe ./functions/fn",
		`{"custom_resource": ".", "custom_resource_tags": "one,two -toolexec=x"}`: "go build -C custom -trimpath -ldflags=-s -w -tags=lambda.norpc,one,two -toolexec=x -o ../bin/local/custom.exe .",
		`{"custom_resource": "-toolexec=x"}`:                                      "go build -C custom -trimpath -ldflags=-s -w -tags=lambda.norpc -o ../bin/local/custom.exe ./-toolexec=x",
		`{"custom_resource": ""}`:                                                 "",
		`{"custom_resource": "../fn"}`:                                            "",
		`{"custom_resource": "/fn"}`:                                              "",
		`{"custom_resource": true}`:                                               "",
		`{}`:                                                                      "",
	} {
		builds := goBuilds(customProject(t, "", settings), "bin/local/bootstrap.exe", false)
		got := ""
		if len(builds) == 2 && builds[1].program == "bin/local/custom.exe" {
			got = strings.Join(builds[1].command, " ")
			if slices.ContainsFunc(builds[1].command, func(arg string) bool { return strings.HasPrefix(arg, "-toolexec") }) {
				t.Errorf("%s: an option: %q", settings, builds[1].command)
			}
		}
		if got != want || len(builds) > 1 && want == "" {
			t.Errorf("%s: %s; expected %s", settings, got, want)
		}
	}
}

// TestCustomProgramsAreWatched: a change builds both programs, and a fault in either is printed.
func TestCustomProgramsAreWatched(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not installed")
	}
	if testing.Short() {
		t.Skip("builds programs")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n", "cmd/main.go": "package main\n\nfunc main() {}\n",
		"custom/go.mod": "module example.com/custom\n", "custom/main.go": "package main\n\nfunc main() {}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		writeText(t, filepath.Join(dir, name), text)
	}
	tools := testTools(os.Environ(), io.Discard)
	p := customProject(t, dir, `{"custom_resource": "."}`)
	watch := tools.watchGo(p, Options{})
	if !slices.Contains(watch.Dirs, "custom") {
		t.Errorf("watched are %q", watch.Dirs)
	}
	run := func() (string, error) {
		output, err := watch.Run(context.WithoutCancel(t.Context()), watch.Build, dir)
		return string(output), err
	}
	output, err := run()
	for _, b := range goBuilds(p, Options{}.program(p), false) {
		if err != nil || !files.Exists(p.Path(b.program)) {
			t.Fatalf("%s: %v\n%s", b.program, err, output)
		}
	}
	writeText(t, filepath.Join(dir, "custom", "main.go"), "package main\n\nfunc main() { fault }\n")
	if output, err := run(); err == nil || !strings.Contains(output, "undefined: fault") {
		t.Errorf("%v\n%s", err, output)
	}
}
