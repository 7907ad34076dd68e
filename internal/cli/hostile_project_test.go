//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// trapped are the names in a project that commands read or write.
var trapped = []string{
	"rpdk.log", ".rpdk-config", ".formwork.json", ".formwork", ".formwork/failures", "acme-foo-bar.json", "acme-foo-bar.zip",
	"overrides.json", "inputs", "inputs/inputs_1_create.json", "template.yml", "resource-role.yaml", "example_inputs",
	"go.mod", "Makefile", ".gitignore", "bin", "bin/bootstrap", "cmd", "docs", "docs/README.md", "out", "out/junit.xml",
	"out/report.json", "out/report.html", "stack.yaml", "stack.yaml.modules.lock", "modules/m/fragments/m.json", "handler",
}

// traps put something in the place of a file or folder of a project that leads elsewhere, or that
// has no end.
var traps = map[string]func(path, outside string) error{
	"pipe":                       func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
	"link to a file outside":     func(path, outside string) error { return os.Symlink(filepath.Join(outside, "file"), path) },
	"link to a new file outside": func(path, outside string) error { return os.Symlink(filepath.Join(outside, "new"), path) },
	"link to a folder outside":   func(path, outside string) error { return os.Symlink(filepath.Join(outside, "folder"), path) },
	"link to a device":           func(path, _ string) error { return os.Symlink("/dev/zero", path) },
}

// TestHostileProjects: whatever a project that was just cloned has in the place of its files, no
// command writes outside of it, and none waits for somebody to write to a pipe. With
// FORMWORK_TORTURE every file is tried that commands know, not only the likeliest.
func TestHostileProjects(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"status": "FAILED", "errorCode": "InternalFailure", "message": "always"}`)
	}))
	defer endpoint.Close()
	commands := [][]string{
		{"validate"}, {"validate", "acme-foo-bar.json"}, {"generate"}, {"generate", "--check"}, {"doctor"}, {"package", "--no-build"},
		{"invoke", "--endpoint", endpoint.URL, "resource", "READ", "inputs/inputs_1_create.json"},
		{"test", "--endpoint", endpoint.URL, "--suite", "all", "--report", "json=out/report.json", "--report", "html=out/report.html", "--", "--junitxml=out/junit.xml"},
		{"submit", "--dry-run", "--no-build"}, {"template", "check", "stack.yaml"}, {"module", "lock", "stack.yaml"}, {"module", "expand", "stack.yaml"},
		{"cr", "init", "python", "handler"}, {"cr", "test", endpoint.URL + "/2015-03-31/functions/f/invocations", "--create", "inputs/inputs_1_create.json", "--report", "json=out/report.json"},
	}
	original := t.TempDir()
	for _, args := range [][]string{{"init", "-a", "RESOURCE", "-t", "Acme::Foo::Bar", "go", "-p", "example.com/bar"}, {"generate"}} {
		if code, _, stderr := runMain(t.Context(), original, nil, args...); code != 0 {
			t.Fatal(stderr)
		}
	}
	for name, text := range map[string]string{
		"stack.yaml":                 `{"Resources": {"M": {"Type": "Acme::Foo::Mod::MODULE"}}}`,
		"modules/m/.rpdk-config":     `{"artifact_type": "MODULE", "typeName": "Acme::Foo::Mod::MODULE", "settings": {}}`,
		"modules/m/fragments/m.json": `{"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}`,
	} {
		file := filepath.Join(original, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := runMain(t.Context(), original, nil, "module", "lock", "stack.yaml"); code != 0 {
		t.Fatal(stderr)
	}
	names := trapped
	if os.Getenv("FORMWORK_TORTURE") == "" {
		names = []string{"rpdk.log", ".formwork", "bin/bootstrap", "out/junit.xml", "stack.yaml.modules.lock", "handler"}
	}
	for kind, trap := range traps {
		for _, name := range names {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				parent := t.TempDir()
				dir, outside := filepath.Join(parent, "project"), filepath.Join(parent, "outside")
				if err := errors.Join(os.CopyFS(dir, os.DirFS(original)), os.MkdirAll(filepath.Join(outside, "folder"), 0o755),
					os.WriteFile(filepath.Join(outside, "file"), []byte("{}"), 0o600)); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, name)
				if err := errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Dir(path), 0o755), trap(path, outside)); err != nil {
					t.Fatal(err)
				}
				before := contentsOf(t, outside)
				for _, args := range commands {
					mustEnd(t, dir, args...)
				}
				if after := contentsOf(t, outside); !maps.Equal(before, after) {
					t.Errorf("outside of the project there was %v, and is %v", before, after)
				}
			})
		}
	}
}

// TestBuildStaysInside: no build writes its program through a link that leads out of the project.
func TestBuildStaysInside(t *testing.T) {
	original := t.TempDir()
	if code, _, stderr := runMain(t.Context(), original, nil, "init", "-a", "RESOURCE", "-t", "Acme::Foo::Bar", "go", "-p", "example.com/bar"); code != 0 {
		t.Fatal(stderr)
	}
	for _, link := range []string{"bin", "bin/bootstrap"} {
		for _, args := range [][]string{{"package"}, {"test"}, {"submit", "--dry-run"}} {
			parent := t.TempDir()
			dir, outside := filepath.Join(parent, "project"), filepath.Join(parent, "outside")
			path := filepath.Join(dir, link)
			if err := errors.Join(os.CopyFS(dir, os.DirFS(original)), os.Mkdir(outside, 0o755), os.WriteFile(filepath.Join(outside, "file"), nil, 0o755),
				os.Chtimes(filepath.Join(outside, "file"), time.Unix(1, 0), time.Unix(1, 0)), os.MkdirAll(filepath.Dir(path), 0o755)); err != nil {
				t.Fatal(err)
			}
			target := outside
			if link != "bin" {
				target = filepath.Join(outside, "file")
			}
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			before := contentsOf(t, outside)
			code, _, stderr := runMain(t.Context(), dir, strings.NewReader(""), args...)
			if code != exitFailure || !strings.Contains(stderr, "is a link that leads out of the project") {
				t.Errorf("%s, %s: code %d, %s", link, args[0], code, stderr)
			}
			if after := contentsOf(t, outside); !maps.Equal(before, after) {
				t.Errorf("%s, %s: outside of the project there was %v, and is %v", link, args[0], before, after)
			}
		}
	}
}

// mustEnd runs a command that is to end by itself, with whatever code.
func mustEnd(t *testing.T, dir string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	done := make(chan string, 1)
	go func() {
		code, _, stderr := runMain(ctx, dir, strings.NewReader(""), args...)
		done <- fmt.Sprintf("%d %s", code, stderr)
	}()
	select {
	case said := <-done:
		if strings.HasPrefix(said, fmt.Sprint(exitBug, " ")) {
			t.Errorf("cfn %s: %s", strings.Join(args, " "), said)
		}
	case <-time.After(60 * time.Second):
		t.Fatalf("cfn %s does not end, not even when it is interrupted", strings.Join(args, " "))
	}
	if ctx.Err() != nil {
		t.Errorf("cfn %s did not end by itself", strings.Join(args, " "))
	}
}

// contentsOf is everything below a folder.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		found[path] = entry.Type().String()
		if entry.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[path] += string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
