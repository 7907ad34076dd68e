package formwork_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestOtherSystems type-checks the program for the systems that it is released for and the tests do not
// run on. It takes seconds, where "go vet" would compile all dependencies again. The bodies of functions
// of dependencies are left out: they have tests of their own.
func TestOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves other systems out")
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	own := folder + string(filepath.Separator)
	files, parsed := token.NewFileSet(), sync.Map{} // what both systems compile is parsed once
	for _, system := range []string{"windows/amd64", "darwin/arm64"} {
		t.Run(system, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(system, "/")
			found, err := packages.Load(&packages.Config{
				Context: t.Context(),
				Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
					packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
				Fset: files,
				ParseFile: func(fset *token.FileSet, name string, source []byte) (*ast.File, error) {
					parse, _ := parsed.LoadOrStore(name, sync.OnceValues(func() (*ast.File, error) {
						file, err := parser.ParseFile(fset, name, source, parser.AllErrors|parser.SkipObjectResolution)
						if file != nil && !strings.HasPrefix(name, own) {
							emptyBodies(file)
						}
						return file, err
					}))
					return parse.(func() (*ast.File, error))()
				},
				Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
			}, "./cmd/...", "./internal/...", "./local/...")
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range found {
				for _, err := range p.Errors {
					t.Error(err)
				}
			}
			if len(found) < 40 {
				t.Errorf("only %d packages", len(found))
			}
		})
	}
}

// emptyBodies replaces the bodies of functions by loops, with which a function needs no return statement.
func emptyBodies(file *ast.File) {
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Body != nil {
			f.Body = &ast.BlockStmt{List: []ast.Stmt{&ast.ForStmt{Body: &ast.BlockStmt{}}}}
		}
	}
}
