package formwork_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestOtherSystems type-checks the program for the systems that it is released for and the tests do not
// run on. It takes seconds, where "go vet" would compile all dependencies again.
func TestOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves other systems out")
	}
	for _, system := range []string{"windows/amd64", "darwin/arm64"} {
		t.Run(system, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(system, "/")
			found, err := packages.Load(&packages.Config{
				Context: t.Context(),
				Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
					packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
				ParseFile: func(fset *token.FileSet, name string, source []byte) (*ast.File, error) {
					return parser.ParseFile(fset, name, source, parser.AllErrors|parser.SkipObjectResolution)
				},
				Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
			}, "./cmd/...", "./internal/...", "./local/...")
			if err != nil {
				t.Fatal(err)
			}
			packages.Visit(found, nil, func(p *packages.Package) {
				for _, err := range p.Errors {
					t.Error(err)
				}
			})
			if len(found) < 40 {
				t.Errorf("only %d packages", len(found))
			}
		})
	}
}
