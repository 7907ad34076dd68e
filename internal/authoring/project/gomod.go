package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// The modules that generated sources import.
const (
	sdkModule    = "github.com/formwork-dev/formwork/sdk"
	pluginModule = "github.com/aws-cloudformation/cloudformation-cli-go-plugin"
	sdkDir       = ".formwork/sdk" // the copy of the SDK in a project
	unpublished  = "v0.0.0"        // the version for the copy
	goModFile    = "go.mod"
)

// ModulePath is the path of the Go module whose go.mod is in a folder, "" if the file is
// missing or invalid. The error is that of the file system.
func ModulePath(dir string) (string, error) {
	data, err := document.ReadFile(filepath.Join(dir, goModFile), maxGoMod)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return modfile.ModulePath(data), nil
}

const maxGoMod = 1 << 20

// CheckGoMod checks whether the sources that are generated for a project in Go can find each
// other and the library that they import: the module path, the requirement and the replacement
// in go.mod, which belongs to the author and is never changed. Each problem is a warning with
// the fix.
//
// A go.mod above the project counts, too, as it does for the go command. The error is that
// of the file system.
func (p *Project) CheckGoMod(flavour codegen.Flavour) (diag.List, error) {
	c := &goModCheck{project: p}
	dir, err := c.find()
	if err != nil {
		return nil, fmt.Errorf("read go.mod: %w", err)
	}
	if c.file == nil {
		if len(c.problems) == 0 {
			c.add(nil, "go.mod does not exist: the sources cannot be built", "run go mod init "+p.ImportPath()+", then cfn generate")
		}
		return c.problems, nil
	}
	c.module(dir)
	if flavour == codegen.FlavourGoPlugin {
		if c.required(pluginModule) == nil && !c.workspace(dir) {
			c.add(nil, "go.mod does not require the handler library: "+pluginModule, "run go get "+pluginModule)
		}
		return c.problems, nil
	}
	return c.problems, c.sdk(dir)
}

// ImportPath is the import path of the project: the setting, or where it is missing, as in the settings of the first
// official plugins for Go, what the nearest go.mod says; "" if there is none.
func (p *Project) ImportPath() string {
	if set := strings.TrimRight(p.Option("import_path"), "/"); set != "" {
		return set
	}
	dir, data, err := p.GoModule()
	if err != nil || dir == "" {
		return ""
	}
	inside, err := filepath.Rel(dir, p.Dir)
	if err != nil {
		return ""
	}
	module := modfile.ModulePath(data)
	if module == "" {
		return ""
	}
	return path.Join(module, filepath.ToSlash(inside))
}

type goModCheck struct {
	project  *Project
	name     string // of go.mod, seen from the project, slash-separated
	file     *modfile.File
	lax      bool // the file has words that only a newer Go knows
	problems diag.List
}

// GoModule returns the folder and the bytes of the nearest go.mod, that of the project or one
// above, as the go command finds it; "" and nil if there is none. Several projects often share
// one.
func (p *Project) GoModule() (dir string, data []byte, err error) {
	for dir = p.Dir; ; {
		data, err := document.ReadFile(filepath.Join(dir, goModFile), maxGoMod)
		if err == nil {
			return dir, data, nil
		}
		above := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
		if above == dir {
			return "", nil, nil
		}
		dir = above
	}
}

// find reads the nearest go.mod and returns its folder.
func (c *goModCheck) find() (dir string, err error) {
	c.name = goModFile
	dir, data, err := c.project.GoModule()
	if dir == "" {
		return "", err
	}
	if inside, err := filepath.Rel(c.project.Dir, filepath.Join(dir, goModFile)); err == nil {
		c.name = filepath.ToSlash(inside)
	}
	c.parse(data)
	return dir, nil
}

func (c *goModCheck) parse(data []byte) {
	file, err := modfile.Parse(c.name, data, nil)
	if err != nil {
		// The strict reader rejects unknown directives.
		if file, lax := modfile.ParseLax(c.name, data, nil); lax == nil {
			c.file, c.lax = file, true
			return
		}
		problem := diag.Problem{ID: "project/go-mod", Severity: diag.Warning, At: diag.Range{File: c.project.Name(c.name)},
			Message: "cannot parse go.mod: the sources cannot be built", Hint: "run go mod verify for details"}
		var list modfile.ErrorList
		if errors.As(err, &list) && len(list) > 0 {
			problem.Message = fmt.Sprintf("go.mod cannot be understood: %v", list[0].Err)
			problem.At.Start = diag.Position{Offset: list[0].Pos.Byte, Line: list[0].Pos.Line, Column: list[0].Pos.LineRune}
			problem.At.End = problem.At.Start
		}
		c.problems.Add(problem)
		return
	}
	c.file = file
}

func (c *goModCheck) add(line *modfile.Line, message, hint string) {
	at := diag.Range{File: c.project.Name(c.name)}
	if line != nil {
		at.Start = diag.Position{Offset: line.Start.Byte, Line: line.Start.Line, Column: line.Start.LineRune}
		at.End = diag.Position{Offset: line.End.Byte, Line: line.End.Line, Column: line.End.LineRune}
	}
	c.problems.Add(diag.Problem{ID: "project/go-mod", Severity: diag.Warning, At: at, Message: message, Hint: hint})
}

// module compares the module path with the import path of the settings.
func (c *goModCheck) module(dir string) {
	want := c.project.ImportPath()
	if c.file.Module == nil {
		c.add(nil, "go.mod has no module path", "run go mod edit -module "+want)
		return
	}
	inside, err := filepath.Rel(dir, c.project.Dir)
	if err != nil {
		return
	}
	got := path.Join(c.file.Module.Mod.Path, filepath.ToSlash(inside))
	if got == want {
		return
	}
	hint := fmt.Sprintf(`add "import_path": %q to the settings in .rpdk-config and run cfn generate`, got)
	if inside == "." {
		hint += ", or run go mod edit -module " + want
	}
	c.add(c.file.Module.Syntax, fmt.Sprintf("the import path of the project is %s/…, but the sources import %s/…", got, want), hint)
}

func (c *goModCheck) required(module string) *modfile.Require {
	for _, r := range c.file.Require {
		if r.Mod.Path == module {
			return r
		}
	}
	return nil
}

// workspace reports whether a go.work above may bring the library along.
func (c *goModCheck) workspace(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(dir, "go.work")); err == nil && !info.IsDir() {
			return true
		}
		if filepath.Dir(dir) == dir {
			return false
		}
	}
}

// sdk looks for the SDK: a published version, or a folder with one.
func (c *goModCheck) sdk(dir string) error {
	if c.workspace(dir) || c.lax {
		return nil
	}
	copied, err := filepath.Rel(dir, c.project.Path(sdkDir))
	if err != nil {
		return fmt.Errorf("find the copy of the SDK: %w", err)
	}
	replace := fmt.Sprintf("go mod edit -replace %s=./%s", sdkModule, filepath.ToSlash(copied))
	require := c.required(sdkModule)
	i := slices.IndexFunc(c.file.Replace, func(r *modfile.Replace) bool {
		return r.Old.Path == sdkModule && (r.Old.Version == "" || require == nil || r.Old.Version == require.Mod.Version)
	})
	switch {
	case require == nil && i < 0:
		c.add(nil, "go.mod does not require the handler SDK: "+sdkModule, fmt.Sprintf("run go mod edit -require %s@%s && %s, then cfn generate", sdkModule, unpublished, replace))
	case require == nil:
		c.add(nil, "go.mod does not require the handler SDK: "+sdkModule, fmt.Sprintf("run go mod edit -require %s@%s", sdkModule, unpublished))
	case i < 0 && require.Mod.Version == unpublished:
		c.add(require.Syntax, fmt.Sprintf("the handler SDK has no version %s; it stands for the copy in %s, but go.mod has no replace directive for it", unpublished, c.project.Name(sdkDir)),
			"run "+replace+", then cfn generate")
	}
	if i < 0 || c.file.Replace[i].New.Version != "" {
		return nil
	}
	target := filepath.FromSlash(c.file.Replace[i].New.Path)
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	if target == c.project.Path(sdkDir) {
		return nil // a generated file, and compared as such
	}
	if _, err := os.Stat(filepath.Join(target, goModFile)); errors.Is(err, fs.ErrNotExist) {
		c.add(c.file.Replace[i].Syntax, "go.mod replaces the handler SDK with a folder without a go.mod: "+c.file.Replace[i].New.Path, "run "+replace+", then cfn generate")
	} else if err != nil {
		return fmt.Errorf("find the SDK: %w", err)
	}
	return nil
}
