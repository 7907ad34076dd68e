package handlers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFingerprint holds that a changed source is noticed beside thousands of files of libraries, and that what is no
// code is not.
func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	now := time.Now().Truncate(time.Second)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		if err := os.Chtimes(path, now, now); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2300 { // boto3 and what it needs have 2,242
		write(fmt.Sprintf("botocore/data/service%d.json", i), "{}")
	}
	for i := range 3000 {
		write(fmt.Sprintf("node_modules/aws-sdk/clients/service%d.js", i), "")
	}
	for _, name := range []string{
		"main.py", "zz/deep/down/util.py", "botocore/__init__.py", "botocore-1.34.0.dist-info/RECORD", "node_modules/.package-lock.json", "__pycache__/main.pyc", ".git/index", "aa/vendored/mod.py",
	} {
		write(name, "")
	}
	n := Named{Name: "f", Path: dir}
	code := namedCode{dir, "python3", "main.handler"}
	of := func() string { return n.fingerprint(t.Context(), code) }
	before := of()
	if of() != before {
		t.Fatal("it changes by itself")
	}
	for _, test := range []struct {
		name    string
		noticed bool
	}{
		{"main.py", true},
		{"zz/deep/down/util.py", true},
		{"aa/vendored/mod.py", true},
		{"zz/new.py", true},
		{"botocore-1.34.0.dist-info/RECORD", true},
		{"node_modules/.package-lock.json", true},
		{"node_modules/added/index.js", true}, // the folder has another time
		{"botocore/added.py", true},
		{"__pycache__/main.pyc", false},
		{".git/index", false},
		{"node_modules/aws-sdk/clients/service1.js", false},
	} {
		write(test.name, "changed")
		after := of()
		if (after != before) != test.noticed {
			t.Errorf("a change of %s was noticed: %v", test.name, after != before)
		}
		before = after
	}
	program := namedCode{dir, "go1.x", "main.py"}
	before = n.fingerprint(t.Context(), program)
	write("zz/new.py", "again")
	if n.fingerprint(t.Context(), program) != before {
		t.Error("a program changes with a file beside it")
	}
	write("main.py", "again")
	if n.fingerprint(t.Context(), program) == before {
		t.Error("the change of a program was not noticed")
	}
}
