//go:build unix

package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// TestWatch tells of each build what caused it. Time is that of the bubble; the
// files are real.
func TestWatch(t *testing.T) {
	steps := []struct {
		name   string
		change func(t *testing.T, dir string)
		want   []string // changed files of each build, joined
	}{
		{"nothing", func(*testing.T, string) {}, nil},
		{"changed", func(t *testing.T, dir string) { write(t, dir, "main.go", "2") }, []string{"main.go"}},
		{"same size, other time", func(t *testing.T, dir string) { touch(t, dir, "main.go") }, []string{"main.go"}},
		{"added below", func(t *testing.T, dir string) { write(t, dir, "a/b/new.go", "1") }, []string{"a/b/new.go"}},
		{"removed", func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "a")) }, []string{"a/b/new.go"}},
		{"two at once", func(t *testing.T, dir string) { write(t, dir, "x.go", "1"); write(t, dir, "main.go", "3") }, []string{"main.go x.go"}},
		{"passed over", func(t *testing.T, dir string) {
			for _, name := range []string{".git/index", "bin/bootstrap", "build/x", "node_modules/a.js", ".main.go.swp", "main.go~"} {
				write(t, dir, name, "1")
			}
		}, nil},
		{"written by the build", func(t *testing.T, dir string) { write(t, dir, "generate", "1") }, []string{"generate", "generated.go"}},
		{"changed during the build", func(t *testing.T, dir string) { write(t, dir, "edit", "1") }, []string{"edit", "edited.go"}},
	}
	dir := t.TempDir()
	write(t, dir, "main.go", "1")
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var builds []string
				runs := 0
				c := lambda.WatchConfig{
					Build: []string{"make"}, Dir: dir, Dirs: []string{"."},
					Run: func(_ context.Context, command []string, in string) ([]byte, error) {
						if !slices.Equal(command, []string{"make"}) || in != dir {
							t.Errorf("ran %q in %q", command, in)
						}
						if runs++; exists(dir, "generate") { // each build writes this one
							write(t, dir, "generated.go", strings.Repeat("1", runs))
						}
						if exists(dir, "edit") && runs == 1 { // somebody edits this one once
							write(t, dir, "edited.go", "1")
						}
						return nil, nil
					},
					Report: func(b lambda.Build) { builds = append(builds, strings.Join(b.Changed, " ")) },
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				go func() {
					time.Sleep(10*time.Second + 100*time.Millisecond) // between two looks
					step.change(t, dir)
				}()
				if err := lambda.Watch(ctx, c); err != nil {
					t.Error(err)
				}
				if !slices.Equal(builds, step.want) {
					t.Errorf("builds because of %q, want %q", builds, step.want)
				}
			})
			for _, name := range []string{"generate", "generated.go", "edit", "edited.go"} {
				os.Remove(filepath.Join(dir, name))
			}
		})
	}
}

// TestWatchFirst: what somebody changes during the build at the start is built.
func TestWatchFirst(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", "1")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var builds []string
		c := lambda.WatchConfig{
			Build: []string{"make"}, Dir: dir, Dirs: []string{"."}, First: true,
			Run: func(context.Context, []string, string) ([]byte, error) {
				if len(builds) == 0 {
					write(t, dir, "a", "12")
				}
				return nil, nil
			},
			Report: func(b lambda.Build) { builds = append(builds, strings.Join(b.Changed, " ")) },
		}
		time.AfterFunc(5*time.Second, cancel)
		if err := lambda.Watch(ctx, c); err != nil || !slices.Equal(builds, []string{"", "a"}) {
			t.Errorf("%v %q", err, builds)
		}
	})
}

func TestWatchTimeout(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := lambda.WatchConfig{
			Build: []string{"make", "all"}, Dirs: []string{dir}, Timeout: time.Minute,
			Run: func(ctx context.Context, _ []string, _ string) ([]byte, error) {
				<-ctx.Done()
				return []byte("compiling"), errors.New("signal: killed")
			},
			Report: func(b lambda.Build) {
				if want := `build with "make all": it took longer than 1m0s`; b.Err == nil || b.Err.Error() != want || b.Output != "compiling" || b.Duration != time.Minute {
					t.Errorf("build %+v, want error %q", b, want)
				}
				cancel()
			},
		}
		time.AfterFunc(time.Second, func() { write(t, dir, "a", "1") })
		if err := lambda.Watch(ctx, c); err != nil {
			t.Error(err)
		}
	})
}

func TestWatchRefuses(t *testing.T) {
	for _, c := range []lambda.WatchConfig{
		{Dirs: []string{"."}},
		{Build: []string{"make"}},
		{Build: []string{"make"}, Dirs: []string{filepath.Join(t.TempDir(), "missing")}},
	} {
		if err := lambda.Watch(t.Context(), c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

// TestWatchRenews builds for real: a script that prints its version.
func TestWatchRenews(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	source := func(version string) string {
		return fmt.Sprintf("#!/bin/sh\nexec %s %s\n", strconv.Quote(self), version)
	}
	write(t, dir, "src/handler.sh", source("1"))
	build := []string{"/bin/sh", "-c", `grep -q exec src/handler.sh || { echo "handler.sh:1: no exec"; exit 1; }
		cp src/handler.sh bootstrap.new && chmod +x bootstrap.new && mv bootstrap.new bootstrap`}
	write(t, dir, "bootstrap", source("1"))
	if err := os.Chmod(filepath.Join(dir, "bootstrap"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := config(t, "version")
	c.Command, c.Dir = []string{"./bootstrap"}, dir
	f := start(t, c)
	builds := make(chan lambda.Build)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() {
		stopped <- lambda.Watch(ctx, lambda.WatchConfig{
			Build: build, Dir: dir, Dirs: []string{"src"}, Renew: []*lambda.Function{f}, Interval: 10 * time.Millisecond,
			Report: func(b lambda.Build) { builds <- b },
		})
	}()
	time.Sleep(50 * time.Millisecond) // for the first look
	for _, step := range []struct{ source, reply, failure string }{
		{source("version-2"), `"version-2"`, ""},
		{"#!/bin/sh\n", `"version-2"`, "handler.sh:1: no exec"},
		{source("version-3"), `"version-3"`, ""},
	} {
		write(t, dir, "src/handler.sh", step.source)
		b := <-builds
		if (b.Err != nil) != (step.failure != "") || b.Output != step.failure {
			t.Errorf("build: %v, output %q; want %q", b.Err, b.Output, step.failure)
		}
		if got, err := f.Call(t.Context(), nil); err != nil || string(got) != step.reply {
			t.Errorf("reply %s, %v; want %s", got, err, step.reply)
		}
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Error(err)
	}
	// Replaced as a whole, so that no look sees half of it.
	if err := os.WriteFile(path+"~", []byte(content), 0o644); err != nil {
		t.Error(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		t.Error(err)
	}
}

func touch(t *testing.T, dir, name string) {
	t.Helper()
	at := time.Unix(1_700_000_000, 0)
	if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
		t.Error(err)
	}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
