package files_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
)

var someHash = strings.Repeat("ab", 32)

// fillWith writes a file of a text, and counts.
func fillWith(text string, fills *atomic.Int64) func(context.Context, *os.Root) error {
	return func(_ context.Context, root *os.Root) error {
		fills.Add(1)
		if err := root.Mkdir("code", 0o755); err != nil {
			return err
		}
		return root.WriteFile("code/app.py", []byte(text), 0o444)
	}
}

// replaceByte changes a byte of a file, and nothing else that can be seen from outside.
func replaceByte(t *testing.T, file string) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[0] ^= 1
	if err := errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, text, 0o644), os.Chmod(file, info.Mode()), os.Chtimes(file, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
}

// TestDamageThatKeepsTheSize: a disk that loses a bit changes neither the size nor the time of a
// file. The next process notices, and this one notices whatever changes the time.
func TestDamageThatKeepsTheSize(t *testing.T) {
	var fills atomic.Int64
	dir := filepath.Join(t.TempDir(), "cache")
	process := &files.Cache{Dir: dir}
	get := func() string {
		t.Helper()
		folder, err := process.Folder(t.Context(), someHash, fillWith("print(1)", &fills))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(folder, "code", "app.py"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	file := filepath.Join(dir, someHash, "code", "app.py")
	get()
	for name, damage := range map[string]func(){
		"a bit, before the next process": func() {
			replaceByte(t, file)
			process = &files.Cache{Dir: dir}
		},
		"a bit, with another time": func() {
			replaceByte(t, file)
			if err := os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		},
		"the mode":   func() { _ = os.Chmod(file, 0o600) },
		"the file":   func() { _ = os.Remove(file) },
		"the folder": func() { _ = os.RemoveAll(filepath.Dir(file)) },
		"a link": func() {
			_ = os.Rename(file, file+".moved")
			_ = os.Symlink(file+".moved", file)
		},
		"the list of an older version": func() {
			_ = os.WriteFile(filepath.Join(dir, someHash, "contents"), []byte("8 \"code/app.py\"\n"), 0o600)
		},
		"a list that leads outside": func() {
			_ = os.WriteFile(filepath.Join(dir, someHash, "contents"), []byte("-r--r--r-- 8 00000000 \"../x\"\n"), 0o600)
		},
		"an empty list": func() { _ = os.Truncate(filepath.Join(dir, someHash, "contents"), 0) },
	} {
		before := fills.Load()
		damage()
		if text := get(); text != "print(1)" || fills.Load() != before+1 {
			t.Errorf("%s: the code is %q after %d more fills", name, text, fills.Load()-before)
		}
		if get(); fills.Load() != before+1 {
			t.Errorf("%s: a whole folder was filled again", name)
		}
	}
}

// TestFolderIsFilledOnce: goroutines that need the same folder at once get one, and none gets
// one that another one removes.
func TestFolderIsFilledOnce(t *testing.T) {
	var fills atomic.Int64
	c := &files.Cache{Dir: filepath.Join(t.TempDir(), "cache")}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			folder, err := c.Folder(t.Context(), someHash, fillWith("x", &fills))
			if err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(folder, "code", "app.py")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if fills.Load() != 1 {
		t.Errorf("filled %d times", fills.Load())
	}
}

// TestFolderOfManyProcesses: the same with what separate processes know of each other.
func TestFolderOfManyProcesses(t *testing.T) {
	for range 20 { // the moments in which they meet differ
		dir := filepath.Join(t.TempDir(), "cache")
		var fills atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				folder, err := (&files.Cache{Dir: dir}).Folder(t.Context(), someHash, fillWith("x", &fills))
				if err != nil {
					t.Error(err)
					return
				}
				if text, err := os.ReadFile(filepath.Join(folder, "code", "app.py")); err != nil || string(text) != "x" {
					t.Errorf("%q, %v", text, err)
				}
			})
		}
		all.Wait()
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("left: %v, %v", entries, err)
		}
	}
}

// TestFolderFails: what cannot be filled leaves nothing, and a canceled wait ends.
func TestFolderFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := &files.Cache{Dir: dir}
	full := errors.New("no space left")
	if _, err := c.Folder(t.Context(), someHash, func(context.Context, *os.Root) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if _, err := c.Folder(t.Context(), "../x", nil); err == nil {
		t.Error("a path was taken for a hash")
	}
	begun, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := c.Folder(t.Context(), someHash, func(context.Context, *os.Root) error { close(begun); <-release; return nil })
		ended <- err
	}()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Folder(ctx, someHash, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled wait: %v", err)
	}
	close(release)
	if err := <-ended; err == nil {
		t.Error("a folder without files has an empty list, which is damage")
	}
}

// BenchmarkFolder measures what the checks cost: of a program of 15 MB, and of 5,000 small files.
func BenchmarkFolder(b *testing.B) {
	for name, fill := range map[string]func(*os.Root) error{
		"program of 15 MB": func(root *os.Root) error { return root.WriteFile("bootstrap", make([]byte, 15<<20), 0o555) },
		"5000 files of 4 KB": func(root *os.Root) error {
			for i := range 5000 {
				if err := root.WriteFile(fmt.Sprintf("file%d.js", i), make([]byte, 4<<10), 0o444); err != nil {
					return err
				}
			}
			return nil
		},
		"250 MB": func(root *os.Root) error { return root.WriteFile("data", make([]byte, 250<<20), 0o444) },
	} {
		dir := filepath.Join(b.TempDir(), "cache")
		c := &files.Cache{Dir: dir}
		get := func(c *files.Cache) {
			if _, err := c.Folder(b.Context(), someHash, func(_ context.Context, root *os.Root) error { return fill(root) }); err != nil {
				b.Fatal(err)
			}
		}
		get(c)
		b.Run(name+"/first use", func(b *testing.B) {
			for b.Loop() {
				get(&files.Cache{Dir: dir})
			}
		})
		b.Run(name+"/later use", func(b *testing.B) {
			for b.Loop() {
				get(c)
			}
		})
	}
}
