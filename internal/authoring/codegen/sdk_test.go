package codegen

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files and the SDK archive again")

// TestSDKArchiveIsCurrent compares the archive with the module sdk; go generate writes it.
func TestSDKArchiveIsCurrent(t *testing.T) {
	root := filepath.Join("..", "..", "..", "sdk")
	var want bytes.Buffer
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if _, nested := os.Stat(filepath.Join(path, "go.mod")); name != "." && nested == nil || entry.Name() == "testdata" || name == "awscreds" {
				return filepath.SkipDir // a module of its own, with dependencies
			}
			return nil
		}
		if name != "go.mod" && (filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go")) {
			return nil
		}
		data, err := os.ReadFile(path)
		want.WriteString("-- " + name + " --\n")
		want.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("sdk.txtar", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if sdkArchive != want.String() {
		t.Error("sdk.txtar is stale: run go generate ./internal/authoring/codegen")
	}
}
