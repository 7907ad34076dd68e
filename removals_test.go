package formwork_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// confined removes the trees of the product: no other function may. It follows no link and does
// not leave its folder.
const confined = "internal/foundation/files/remove.go"

// removals are the functions that remove one name each, a file or an empty folder, and why that
// can only be what it is meant to be. os.Remove follows no link.
var removals = map[string]string{
	"internal/foundation/files/temporary.go OpenTemporary":              "a file of os.CreateTemp, at once",
	"internal/foundation/files/temporary.go Close":                      "the same, where the system does not remove open files",
	"internal/cli/crinit.go writeCustom":                                "files that this call has written to a folder that it has made, and that folder if it is empty",
	"internal/cli/doctor.go writable":                                   "a file of os.CreateTemp",
	"internal/cli/init.go writeProject":                                 "folders that this call has made, if they are empty",
	"internal/running/lambda/runtime.go script":                         "a file of os.CreateTemp",
	"internal/authoring/project/write.go apply":                         "a file that this call has written, to take it back",
	"internal/authoring/project/write.go mkdir":                         "a folder that this call has made, if it is empty",
	"internal/authoring/project/write.go removeEmpty":                   "folders of the project that are empty",
	"internal/foundation/sandbox/folder.go close":                       "the folder for processes of this user, if it is empty",
	"internal/foundation/sandbox/groups_linux.go findHierarchy":         "control groups of this program, or of one that has ended, if they have no processes",
	"internal/foundation/sandbox/inside/inside_linux.go temporaryFiles": "a mount point that this process has made in a root of its own, if it is empty",
	"internal/foundation/sandbox/inside/inside_linux.go closeRoot":      "the same, and an empty file there",
	"internal/foundation/sandbox/inside/network_linux.go replace":       "a file that this process has made in a root of its own",
	"internal/foundation/seal/seal.go makeKey":                          "a file of os.CreateTemp",
	"internal/foundation/store/blobs_files.go receive":                  "a file of os.CreateTemp",
	"internal/foundation/store/blobs_files.go remove":                   "a blob, by a hash that the database has",
	"internal/foundation/store/blobs_files.go tidy":                     "an entry of the folder for incoming blobs",
	"internal/foundation/store/check.go CheckFolder":                    "a file of os.CreateTemp",
	"internal/foundation/fixtures/stores.go TempDir":                    "for tests only: a folder of os.MkdirTemp",
	"internal/foundation/fixtures/stores.go newCluster":                 "for tests only: a folder of os.MkdirTemp",
	"internal/foundation/fixtures/stores.go NewPostgresServer":          "for tests only: a folder of os.MkdirTemp",
}

// trees are the functions of the standard library that remove more than one name, and others that
// can be made to. Programs that remove are in none of the sources: see TestRemovals.
var trees = []string{"RemoveAll", "Unlink", "Unlinkat", "DeleteFile", "RemoveDirectory"}

// TestRemovals holds every removal in the product to a function that stays in its folder, or to
// the list above.
func TestRemovals(t *testing.T) {
	found := map[string]bool{}
	check := func(path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") || path == confined {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
		if err != nil {
			t.Error(err)
			return
		}
		names := map[string]string{} // of imports here
		for _, spec := range file.Imports {
			target := strings.Trim(spec.Path.Value, `"`)
			name := target[strings.LastIndexByte(target, '/')+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			names[name] = target
		}
		for _, declaration := range file.Decls {
			function, name := declaration, ""
			if f, ok := function.(*ast.FuncDecl); ok {
				name = f.Name.Name
			}
			ast.Inspect(declaration, func(n ast.Node) bool {
				selector, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				of, ok := selector.X.(*ast.Ident)
				if !ok || !slices.Contains([]string{"os", "syscall", "golang.org/x/sys/unix", "golang.org/x/sys/windows"}, names[of.Name]) {
					return true
				}
				place := path + " " + name
				switch {
				case selector.Sel.Name == "Remove", selector.Sel.Name == "Rmdir", slices.Contains(trees, selector.Sel.Name) && strings.HasPrefix(path, "internal/foundation/fixtures/"):
					if found[place] = true; removals[place] == "" {
						t.Errorf("%s: os.%s needs a line in removals with the reason why it can remove only what it is meant to", place, selector.Sel.Name)
					}
				case slices.Contains(trees, selector.Sel.Name):
					t.Errorf("%s: %s.%s may follow links out of its folder: use files.RemoveAll or files.RemoveTemp", place, of.Name, selector.Sel.Name)
				}
				return true
			})
		}
		if !strings.HasPrefix(path, "internal/foundation/fixtures/") && (strings.Contains(string(source), `"rm"`) || strings.Contains(string(source), "rm -r")) {
			t.Errorf("%s runs a program that removes", path)
		}
	}
	eachGoFile(t, check)
	eachGoFileBelow(t, "release", check)
	for place := range removals {
		if !found[place] {
			t.Errorf("removals lists %s, which removes nothing", place)
		}
	}
}

// TestMakeClean: "make clean" of a project removes what is built, and follows no link.
func TestMakeClean(t *testing.T) {
	needPrograms(t, os.Getenv("PATH"), "make")
	makefiles, err := filepath.Glob("examples/*/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, makefile := range append(makefiles, "internal/authoring/codegen/templates/Makefile") {
		text, err := os.ReadFile(makefile)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nclean:") {
			continue
		}
		for _, bin := range []string{"../kept", "kept", ""} {
			top := filepath.Join(t.TempDir(), "a project -rf")
			for _, name := range []string{"project/kept/a", "kept/a", "project/handlers.go"} {
				writeText(t, filepath.Join(top, name), name)
			}
			writeText(t, filepath.Join(top, "project/Makefile"), string(text))
			if bin == "" {
				writeText(t, filepath.Join(top, "project/bin/bootstrap"), "built")
			} else if err := os.Symlink(bin, filepath.Join(top, "project/bin")); err != nil {
				t.Fatal(err)
			}
			clean := exec.CommandContext(t.Context(), "make", "clean")
			clean.Dir = filepath.Join(top, "project")
			if out, err := clean.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", makefile, err, out)
			}
			if _, err := os.Lstat(filepath.Join(top, "project/bin")); !os.IsNotExist(err) {
				t.Errorf("%s: bin was not removed: %v", makefile, err)
			}
			for _, name := range []string{"project/kept/a", "kept/a", "project/handlers.go"} {
				if _, err := os.Stat(filepath.Join(top, name)); err != nil {
					t.Errorf("%s: %v", makefile, err)
				}
			}
		}
	}
}

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
