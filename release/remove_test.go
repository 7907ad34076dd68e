package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// precious is a folder whose files no removal may touch, and a check of them.
func precious(t *testing.T, dir string) func() {
	t.Helper()
	for name := range preciousFiles {
		writeBelow(t, dir, name)
	}
	return func() {
		t.Helper()
		got := map[string]bool{}
		if err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				name, _ := filepath.Rel(dir, path)
				got[filepath.ToSlash(name)] = true
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, preciousFiles) {
			t.Errorf("%s has %v, want %v", dir, got, preciousFiles)
		}
	}
}

var preciousFiles = map[string]bool{"a": true, "release/b": true, "release/sub/c": true, "with a space/d": true, "-rf": true, "tmp.old/e": true, "formwork-image-1/f": true}

func writeBelow(t *testing.T, dir, name string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(name), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Skipf("skipped: %v", err)
	}
}

func TestRemoveMade(t *testing.T) {
	for _, test := range []struct {
		name, dir, err string
		prepare        func(t *testing.T, root, outside string)
	}{
		{"nothing", "build/release", "", func(*testing.T, string, string) {}},
		{"what an earlier release left", "build/release", "", func(t *testing.T, root, _ string) { writeBelow(t, root, "build/release/man/cfn.1") }},
		{"a link inside", "build/release", "", func(t *testing.T, root, outside string) { link(t, outside, filepath.Join(root, "build/release/a")) }},
		{"a link in its place", "build/release", "", func(t *testing.T, root, outside string) { link(t, outside, filepath.Join(root, "build/release")) }},
		{"a link above", "build/release", "build is not a folder", func(t *testing.T, root, outside string) { link(t, outside, filepath.Join(root, "build")) }},
		{"a link above, in the repository", "build/release", "build is not a folder", func(t *testing.T, root, _ string) { link(t, "kept", filepath.Join(root, "build")) }},
		{"a file above", "build/release", "build is not a folder", func(t *testing.T, root, _ string) { writeBelow(t, root, "build") }},
		{"a name with a space", "build/re lease", "", func(t *testing.T, root, _ string) { writeBelow(t, root, "build/re lease/x") }},
		{"out of the repository", "../outside", "not a folder of the repository", func(*testing.T, string, string) {}},
		{"the repository", ".", "not a folder of the repository", func(*testing.T, string, string) {}},
		{"nothing at all", "", "not a folder of the repository", func(*testing.T, string, string) {}},
		{"an absolute path", "/build", "not a folder of the repository", func(*testing.T, string, string) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			top := t.TempDir()
			root, outside := filepath.Join(top, "root"), filepath.Join(top, "outside")
			check, checkInside := precious(t, outside), precious(t, filepath.Join(root, "kept"))
			writeBelow(t, root, "release/kept.go")
			test.prepare(t, root, outside)
			err := removeMade(root, test.dir)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v, want %q", err, test.err)
			}
			if _, err := os.Lstat(filepath.Join(root, test.dir)); test.err == "" && !os.IsNotExist(err) {
				t.Errorf("%s was not removed: %v", test.dir, err)
			}
			if _, err := os.Stat(filepath.Join(root, "release/kept.go")); err != nil {
				t.Error(err)
			}
			check()
			checkInside()
		})
	}
}

// TestMakefileRemoves: targets remove through removeMade only.
func TestMakefileRemoves(t *testing.T) {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "\t") && (strings.Contains(line, "rm -") || strings.Contains(line, "-delete") || len(fields) > 0 && strings.TrimLeft(fields[0], "@-") == "rm") {
			t.Errorf("use release clear: %s", line)
		}
	}
}

// TestTemporaryFolder: the image leaves nothing in the folder for temporary files, and all that others have there.
func TestTemporaryFolder(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1795000000")
	top := t.TempDir()
	binary := filepath.Join(top, "cfn")
	writeBelow(t, top, "cfn")
	plain, spaces := filepath.Join(top, "plain"), filepath.Join(top, "with a space")
	linked := filepath.Join(top, "linked")
	link(t, plain, linked)
	checks := []func(){precious(t, plain), precious(t, spaces)}
	for _, dir := range []string{plain, spaces, linked} {
		t.Setenv("TMPDIR", dir)
		if err := image(filepath.Join(top, "image.tar"), "1.2.3", map[string]string{"amd64": binary, "arm64": binary}); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if err := image(filepath.Join(top, "missing/image.tar"), "1.2.3", map[string]string{"amd64": binary, "arm64": binary}); !os.IsNotExist(err) {
			t.Errorf("%s, no folder for the image: %v", dir, err)
		}
		if err := image(filepath.Join(top, "image.tar"), "1.2.3", map[string]string{"amd64": binary}); err == nil {
			t.Errorf("%s: an image without a binary", dir)
		}
		for _, check := range checks {
			check()
		}
	}
}
