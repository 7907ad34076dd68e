package customtype

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// The library with which a program in Go is a function of Lambda, and its first version for the runtimes that Lambda has.
const (
	lambdaModule  = "github.com/aws/aws-lambda-go"
	lambdaVersion = "v1.18.0"
)

// maxGoSource bounds a source in Go, and go.mod.
const maxGoSource = 4 << 20

// A goModule is the module of a program in Go.
type goModule struct {
	files fs.FS // of the folder with go.mod
	tags  []string
	limit int // number of files
	mod   *modfile.File
	names []string
}

// GoFiles lists the files that the program in a folder of a module is built from: the sources of its packages, as far as the
// program imports them with these build tags, and what they embed; go.mod and go.sum; and modules in folders of the module that
// replace others. The list has more than limit names if there are too many. A program that cannot be converted is an error with a hint.
func GoFiles(files fs.FS, folder string, tags []string, limit int) ([]string, error) {
	if err := module.CheckImportPath(path.Join("m", folder)); err != nil {
		return nil, diag.WithHint(fmt.Errorf("%s cannot be the folder of a package: %w", folder, err), "rename the folder")
	}
	m := &goModule{files: files, tags: tags, limit: limit}
	sum, err := m.readModule()
	if err != nil {
		return nil, err
	}
	program, err := m.packageIn(folder)
	if err != nil {
		return nil, err
	}
	if program.Name != "main" {
		return nil, diag.WithHint(fmt.Errorf("%s: the package %s is not a program", path.Join(folder, program.GoFiles[0]), program.Name),
			"pass the folder of the package main that calls lambda.Start")
	}
	if err := m.checkLibrary(sum); err != nil {
		return nil, err
	}
	if err := m.addReplacements(); err != nil {
		return nil, err
	}
	folders := []string{folder}
	for i := 0; i < len(folders) && len(m.names) <= limit; i++ {
		imports, err := m.addPackage(folders[i])
		if err != nil {
			return nil, err
		}
		for _, other := range imports {
			if !slices.Contains(folders, other) {
				folders = append(folders, other)
			}
		}
	}
	return m.names, nil
}

func (m *goModule) add(names ...string) {
	for _, name := range names {
		if len(m.names) <= m.limit && !slices.Contains(m.names, name) {
			m.names = append(m.names, name)
		}
	}
}

// addBelow adds the regular files below a name for which keep is true. Folders for which it is false are left out.
func (m *goModule) addBelow(name string, keep func(base string) bool) error {
	return fs.WalkDir(m.files, name, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case len(m.names) > m.limit:
			return fs.SkipAll
		case at != name && !keep(entry.Name()):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.Type().IsRegular():
			m.add(at)
		}
		return nil
	})
}

// readModule reads go.mod, and returns go.sum.
func (m *goModule) readModule() (sum []byte, err error) {
	data, err := document.ReadFS(m.files, "go.mod", maxGoSource)
	if err != nil {
		return nil, err
	}
	if m.mod, err = modfile.Parse("go.mod", data, nil); err != nil {
		return nil, err
	}
	if m.mod.Module == nil {
		return nil, diag.WithHint(errors.New("go.mod has no module path"), "run go mod edit -module PATH")
	}
	m.add("go.mod")
	sum, err = document.ReadFS(m.files, "go.sum", maxGoSource)
	switch {
	case err == nil:
		m.add("go.sum")
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return sum, nil
}

// checkLibrary refuses programs that are not functions of Lambda.
func (m *goModule) checkLibrary(sum []byte) error {
	for _, r := range m.mod.Replace {
		if r.Old.Path == lambdaModule {
			return nil
		}
	}
	for _, r := range m.mod.Require {
		if r.Mod.Path == lambdaModule && semver.Compare(r.Mod.Version, lambdaVersion) < 0 {
			return diag.WithHint(fmt.Errorf("go.mod:%d: %s %s runs only in the runtime go1.x, which Lambda no longer has", r.Syntax.Start.Line, lambdaModule, r.Mod.Version),
				"run go get %s@latest && go mod tidy", lambdaModule)
		} else if r.Mod.Path == lambdaModule {
			return nil
		}
	}
	if bytes.Contains(sum, []byte(lambdaModule+" ")) { // required by another module: old versions of go.mod do not list it
		return nil
	}
	return diag.WithHint(fmt.Errorf("go.mod does not require %s, with which a program is a function of Lambda", lambdaModule),
		"call lambda.Start(cfn.LambdaWrap(handler)) in main, and run go mod tidy")
}

// addReplacements adds the modules in folders of the module that replace others.
func (m *goModule) addReplacements() error {
	for _, r := range m.mod.Replace {
		if r.New.Version != "" {
			continue
		}
		folder := path.Clean(strings.ReplaceAll(r.New.Path, `\`, "/"))
		if !fs.ValidPath(folder) {
			return diag.WithHint(fmt.Errorf("go.mod:%d: %s is replaced by %s, which is outside of the folder of go.mod", r.Syntax.Start.Line, r.Old.Path, r.New.Path),
				"move it into the folder, or require a published version")
		}
		err := m.addBelow(folder, func(base string) bool {
			return !strings.HasPrefix(base, ".") && base != "vendor" && base != "testdata" && !strings.HasSuffix(base, "_test.go")
		})
		if err != nil {
			return fmt.Errorf("go.mod:%d: %w", r.Syntax.Start.Line, err)
		}
	}
	return nil
}

// packageIn reads what a package is, with the build constraints of Lambda. Links are left out.
func (m *goModule) packageIn(folder string) (*build.Package, error) {
	lambda := build.Context{
		GOOS: "linux", GOARCH: "amd64", Compiler: "gc", BuildTags: m.tags, ReleaseTags: build.Default.ReleaseTags, CgoEnabled: true,
		JoinPath: path.Join, IsAbsPath: path.IsAbs, SplitPathList: func(string) []string { return nil },
		HasSubdir: func(string, string) (string, bool) { return "", false },
		IsDir: func(name string) bool {
			info, err := fs.Lstat(m.files, name)
			return err == nil && info.IsDir()
		},
		ReadDir: func(name string) (out []fs.FileInfo, err error) {
			entries, err := fs.ReadDir(m.files, name)
			for _, entry := range entries {
				if info, err := entry.Info(); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
					out = append(out, info)
				}
			}
			return out, err
		},
		OpenFile: func(name string) (io.ReadCloser, error) {
			data, err := document.ReadFS(m.files, name, maxGoSource)
			return io.NopCloser(bytes.NewReader(data)), err
		},
	}
	p, err := lambda.ImportDir(folder, 0)
	var none *build.NoGoError
	switch {
	case errors.As(err, &none):
		return nil, diag.WithHint(fmt.Errorf("the folder %s has no sources in Go for Linux", folder), "pass the folder of the package main")
	case err != nil:
		return nil, err
	case len(p.CgoFiles) > 0:
		at := p.ImportPos["C"][0]
		return nil, diag.WithHint(fmt.Errorf(`%s:%d: import "C": handlers are built without cgo`, at.Filename, at.Line), "use a package in Go")
	}
	return p, nil
}

// addPackage adds the files of a package, and returns the folders of those that it imports from its module.
func (m *goModule) addPackage(folder string) (imports []string, err error) {
	p, err := m.packageIn(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.SFiles, p.HFiles) {
		if !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "_test.go") {
			m.add(path.Join(folder, name))
		}
	}
	for _, pattern := range p.EmbedPatterns {
		pattern, all := strings.CutPrefix(pattern, "all:")
		matches, err := fs.Glob(m.files, path.Join(folder, pattern))
		if err != nil {
			return nil, fmt.Errorf("%s: //go:embed %s: %w", folder, pattern, err)
		}
		for _, match := range matches {
			if err := m.addBelow(match, func(base string) bool { return all || base[0] != '.' && base[0] != '_' }); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range p.Imports {
		inside, ok := strings.CutPrefix(name+"/", m.mod.Module.Mod.Path+"/")
		if inside = path.Clean(inside); ok && fs.ValidPath(inside) {
			if info, err := fs.Lstat(m.files, inside); err == nil && info.IsDir() {
				imports = append(imports, inside)
			}
		}
	}
	return imports, nil
}

// readProgram is the file that is added to a program with a function that reads a resource. Its init is the last one.
const readProgram = "zz_custom_resource_read.go"

// CompleteGo reads the sources of a program in Go, which is in Program: how it gets its requests, and the function that reads a
// resource, "" for none. A program that cannot be converted is an error with a hint.
func (c *Code) CompleteGo(read string) error {
	declared := map[string]bool{}
	for _, f := range c.Files {
		if path.Ext(f.Path) != ".go" {
			continue
		}
		mine := path.Dir(f.Path) == c.Program
		file, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Data, parser.SkipObjectResolution)
		if err != nil && mine {
			return err
		} else if err != nil { // it may be one that is never built
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "LambdaWrapSNS" || s.Sel.Name == "SNSEvent") {
				c.Topic = true
			}
			return true
		})
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && mine && file.Name.Name == "main" {
				declared[d.Name.Name] = true
			}
		}
	}
	if !declared["main"] {
		return diag.WithHint(fmt.Errorf("the package in %s has no function main", c.Program), "write main with lambda.Start(cfn.LambdaWrap(handler))")
	}
	if read == "" {
		return nil
	}
	if !declared[read] || read == "main" || read == "init" {
		return diag.WithHint(fmt.Errorf("the package in %s has no function %s, which --read names", c.Program, read),
			"write func %s(ctx context.Context, event cfn.Event) (map[string]any, error) beside main", read)
	}
	c.Read = read
	data, err := render("go/read.go", frame{ReadFunction: read})
	c.Files = append(c.Files, codegen.File{Path: path.Join(c.Program, readProgram), Data: data})
	return err
}

// buildProgram adds the program to the rule of a Makefile that builds the handlers.
func buildProgram(makefile []byte, program, tags string) []byte {
	const handlers = "-o bin/bootstrap ./cmd\n"
	if program != "." {
		program = "./" + program
	}
	before, rule, _ := bytes.Cut(makefile, []byte("go build "))
	flags, after, _ := bytes.Cut(rule, []byte(handlers))
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	own := flags
	if tags != "" {
		own = append(bytes.TrimSpace(flags), ","+tags+" "...)
	}
	return slices.Concat(before, []byte("go build "), flags, []byte(handlers), line, []byte("go build -C custom "), own, []byte("-o ../bin/custom "+program+"\n"), after)
}
