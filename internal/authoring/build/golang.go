package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// build makes sure that the program of the handlers exists and returns its path. A Go project
// is built if the program is missing or older than a source; the command is shown.
func (t *Tools) buildProgram(ctx context.Context, p *project.Project, o Options) (string, error) {
	name := o.program(p)
	path := p.Path(name)
	builds := goBuilds(p, name, o.Debug)
	state, err := t.buildState(p, builds)
	if err != nil {
		return "", err
	}
	if state.due() && state.buildable() && !o.NoBuild {
		t.noteMakefile(p)
		return path, t.runBuilds(ctx, p.Dir, builds)
	}
	if state.missing == "" {
		if state.newer != "" && !o.NoBuild {
			t.Note("warning: %s is older than %s and was not rebuilt: %s\n", p.Name(name), p.Name(state.newer), state.obstacle)
		}
		return path, nil
	}
	hint := "build the handlers: they are expected there as an executable for AWS Lambda's runtime " + p.Runtime
	if p.Language == "go" {
		hint = "build it with: make, or: "
		for i, b := range builds {
			if i > 0 {
				hint += " && "
			}
			hint += strings.Join(b.command, " ")
		}
	}
	if state.buildable() && o.NoBuild {
		hint += ", or leave out --no-build"
	}
	return "", diag.WithHint(fmt.Errorf("the handlers are not built: %s does not exist", p.Name(state.missing)), "%s", hint)
}

// packGo makes sure that the program that is packed is not older than its sources. It builds the program for Lambda's
// platform if that is needed and possible, and refuses a program that is out of date.
func (t *Tools) packGo(ctx context.Context, p *project.Project, o PackageOptions, _ *project.ArchiveConfig) error {
	if o.Arch != X86 {
		return diag.WithHint(errors.New("handlers in Go are packaged for Lambda on x86-64 only"), "leave out --arch")
	}
	return t.buildGo(ctx, p, o.NoBuild)
}

func (t *Tools) buildGo(ctx context.Context, p *project.Project, noBuild bool) error {
	name := p.Program()
	builds := goBuilds(p, name, false)
	state, err := t.buildState(p, builds)
	if err != nil || !state.due() {
		return err
	}
	switch {
	case noBuild && state.newer != "":
		t.Note("warning: %s is older than %s; packing it as is\n", p.Name(name), p.Name(state.newer))
	case noBuild, state.missing != "" && !state.buildable():
		// The packer reports that it is missing.
	case state.buildable():
		t.noteMakefile(p)
		return t.runBuilds(ctx, p.Dir, builds, "GOOS=linux", "GOARCH=amd64")
	default:
		return diag.WithHint(fmt.Errorf("%s is older than %s and cannot be rebuilt: %s", p.Name(name), p.Name(state.newer), state.obstacle),
			"build it yourself, or pass --no-build to pack it as is")
	}
	return nil
}

// noteMakefile says that cfn builds without make, if the project's own rule does more than cfn.
func (t *Tools) noteMakefile(p *project.Project) {
	text, err := document.ReadOptional(p.Path("Makefile"), maxSource)
	if err != nil {
		return
	}
	_, rule, _ := strings.Cut("\n"+string(text), "\nbuild:")
	_, recipe, _ := strings.Cut(rule, "\n")
	for line := range strings.Lines(recipe) {
		if !strings.HasPrefix(line, "\t") {
			return
		}
		known := slices.ContainsFunc([]string{"cfn generate", "go build", "make -f makebuild"}, func(part string) bool { return strings.Contains(line, part) })
		if !known {
			t.Note("warning: cfn does not run make: %q of %s has no effect\nhint: run make, and pass --no-build to use what it builds\n", strings.TrimSpace(line), p.Name("Makefile"))
			return
		}
	}
}

// A goBuild is a program of a project, slash-separated, and the command that builds it.
type goBuild struct {
	program string
	command []string
}

// goBuilds are the program of the handlers and, beside it, the code of the custom resource that the project was made out of.
func goBuilds(p *project.Project, program string, debug bool) []goBuild {
	out := []goBuild{{program, buildCommand(program, "./cmd", debug)}}
	if source := p.CustomProgram(); source != "" {
		custom := path.Dir(program) + "/" + project.CustomFolder + path.Ext(program)
		command := slices.Insert(buildCommand("../"+custom, source, debug), 2, "-C", project.CustomFolder)
		for i, flag := range command {
			if tags := p.CustomTags(); tags != "" && strings.HasPrefix(flag, "-tags=") {
				command[i] += "," + tags
			}
		}
		out = append(out, goBuild{custom, command})
	}
	return out
}

// A buildState is whether a project's programs have to be built, and whether they can be.
type buildState struct {
	missing  string // a program that does not exist; "" if all do
	newer    string // a source that is newer than the program, slash-separated; "" if none is
	shared   bool   // sources outside of the project may be newer: only the go command knows
	obstacle string // why it cannot be built; "" if it can be
}

func (s *buildState) due() bool       { return s.missing != "" || s.newer != "" || s.shared && s.buildable() }
func (s *buildState) buildable() bool { return s.obstacle == "" }

// buildState compares programs with their sources.
func (t *Tools) buildState(p *project.Project, builds []goBuild) (state buildState, err error) {
	for _, b := range builds {
		info, err := os.Stat(p.Path(b.program))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			state.missing = cmp.Or(state.missing, b.program)
		case err != nil:
			return state, fmt.Errorf("find the handlers: %w", err)
		case state.newer == "":
			state.newer = newerSource(p.Dir, info.ModTime())
		}
	}
	if p.Language != "go" {
		state.obstacle = "cfn builds only projects in Go"
		return state, nil
	}
	module, _, err := p.GoModule()
	if err != nil {
		return state, fmt.Errorf("read go.mod: %w", err)
	}
	state.shared = module != "" && module != p.Dir
	switch _, err := exec.LookPath("go"); {
	case module == "" || !files.Exists(p.Path("cmd/main.go")):
		state.obstacle = "the project has no go.mod or no cmd/main.go"
	case err != nil:
		state.obstacle = "Go is not installed"
	}
	return state, nil
}

// program is the name of the handlers' program. The program for Lambda cannot run on every
// machine; others get a separate program beside it, which is not packed.
func (o Options) program(p *project.Project) string {
	return programOn(runtime.GOOS, runtime.GOARCH, path.Base(p.Program()), p.Language == "go", o.Debug)
}

func programOn(system, arch, file string, isGo, debug bool) string {
	if isGo && system == "windows" {
		file += ".exe" // the system starts no program without an extension
	}
	switch {
	case debug && isGo:
		return "bin/debug/" + file
	case isGo && (system != "linux" || arch != "amd64"):
		return "bin/local/" + file
	}
	return "bin/" + file
}

// buildCommand builds the handlers with the flags of the generated Makefile, so that Go
// compiles nothing twice.
func buildCommand(program, source string, debug bool) []string {
	flags := codegen.BuildFlags()
	if debug {
		flags = []string{"-gcflags=./...=-N -l", "-tags=lambda.norpc"}
	}
	return append(append([]string{"go", "build"}, flags...), "-o", program, source)
}

// untidy matches what the go command prints if go.mod or go.sum lacks a module.
var untidy = lazyregexp.New(`missing go\.sum entry|no required module provides package|updates to go\.mod needed`)

// runBuilds builds programs in the folder of a project.
func (t *Tools) runBuilds(ctx context.Context, dir string, builds []goBuild, environ ...string) error {
	for _, b := range builds {
		if err := t.runBuild(ctx, dir, b, environ...); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tools) runBuild(ctx context.Context, dir string, build goBuild, environ ...string) error {
	command := build.command
	if err := files.LinkOut(dir, build.program); err != nil { // go build follows links
		return fmt.Errorf("build the handlers: %w", err)
	}
	own, err := t.ToolEnviron()
	if err != nil {
		return err
	}
	t.Note("%s\n", strings.Join(append(slices.Clone(environ), command...), " "))
	done := t.Doing("Building the handlers")
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(own, []string{"CGO_ENABLED=0"}, environ)
	lambda.EndWithDescendants(cmd)
	output, err := cmd.CombinedOutput()
	done()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		err = &ToolError{fmt.Errorf("the handlers failed to build (%w):\n%s", err, strings.TrimRight(string(output), "\n"))}
		if t.Home == "" {
			return diag.WithHint(err, "Go needs a home folder for its build cache: set HOME, or set GOCACHE and GOPATH")
		}
		if untidy.Match(output) {
			return diag.WithHint(err, "go.mod and go.sum do not list every module that the sources need: run go mod tidy")
		}
		return err
	}
	return nil
}

// newerSource returns a source of a Go program that was changed after a time, slash-separated
// and relative to dir; "" if there was no change.
func newerSource(dir string, built time.Time) string {
	goes := sourceDirs(dir)
	return newerFile(dir, built, func(name, top string) bool {
		return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || name == "go.mod" || name == "go.sum" ||
			strings.HasSuffix(name, ".json") && slices.Contains(goes, top) // may be embedded
	})
}

// newerFile returns a file below dir that was changed after a time and that is a source by its
// name and the first part of its path.
func newerFile(dir string, built time.Time, isSource func(name, top string) bool) (newer string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read cannot be built either; go says it better
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != dir && notSource(name) {
				return filepath.SkipDir
			}
			return nil
		}
		inside, _ := filepath.Rel(dir, path)
		top, _, _ := strings.Cut(inside, string(filepath.Separator))
		if info, err := entry.Info(); isSource(name, top) && err == nil && info.ModTime().After(built) {
			newer = filepath.ToSlash(inside)
			return filepath.SkipAll
		}
		return nil
	})
	return newer
}

// sourceDirs are the folders of a Go project with sources of its program. The folder of the
// project itself is excluded: it contains logs and outputs.
func sourceDirs(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []string{"cmd"}
	}
	var dirs []string
	for _, entry := range entries {
		if !entry.IsDir() || notSource(entry.Name()) {
			continue
		}
		found := errors.New("found")
		err := filepath.WalkDir(filepath.Join(dir, entry.Name()), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") {
				return found
			}
			return nil
		})
		if errors.Is(err, found) {
			dirs = append(dirs, entry.Name())
		}
	}
	return dirs
}

// notSource reports whether a folder contains no sources.
func notSource(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "docs", "inputs", "example_inputs", "node_modules", "testdata"}, name)
}

// runProgram is how a program runs that implements the protocol itself.
func (t *Tools) runProgram(ctx context.Context, p *project.Project, o Options) (lambda.Config, error) {
	program, err := t.buildProgram(ctx, p, o)
	return lambda.Config{Command: []string{program}, Dir: filepath.Dir(program), Handler: p.Entrypoint}, err
}

func (t *Tools) watchGo(p *project.Project, o Options) lambda.WatchConfig {
	builds := goBuilds(p, o.program(p), o.Debug)
	return lambda.WatchConfig{
		Build: builds[0].command, Dir: p.Dir, Dirs: sourceDirs(p.Dir),
		Run: func(ctx context.Context, _ []string, dir string) (output []byte, err error) {
			own, err := t.ToolEnviron()
			if err != nil {
				return nil, err
			}
			for _, b := range builds {
				cmd := exec.CommandContext(ctx, b.command[0], b.command[1:]...)
				cmd.Dir = dir
				cmd.Env = append(slices.Clone(own), "CGO_ENABLED=0")
				lambda.EndWithDescendants(cmd)
				printed, err := cmd.CombinedOutput()
				if output = append(output, printed...); err != nil {
					return output, err
				}
			}
			return output, nil
		},
	}
}

// BuildFolder builds the program of a folder with a Go program, bootstrap, if it is missing or older than a source. A folder
// without go.mod is left as it is. shown is how messages name the folder.
func (t *Tools) BuildFolder(ctx context.Context, dir, shown string) error {
	if !files.Exists(filepath.Join(dir, "go.mod")) {
		return nil
	}
	const program = "bootstrap"
	info, err := os.Stat(filepath.Join(dir, program))
	if err == nil && newerSource(dir, info.ModTime()) == "" {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("find the handler: %w", err)
	}
	command := []string{"go", "build", "-tags", "lambda.norpc", "-o", program, "."}
	if _, lacks := exec.LookPath("go"); lacks != nil {
		if err == nil {
			t.Note("warning: %s is older than its sources and was not rebuilt: Go is not installed\n", filepath.Join(shown, program))
			return nil
		}
		return diag.WithHint(fmt.Errorf("%s has a Go program that is not built, and Go is not installed", shown), "build it where Go is installed: CGO_ENABLED=0 %s", strings.Join(command, " "))
	}
	return t.runBuild(ctx, dir, goBuild{program, command})
}
