//go:build unix

package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Nobody is at the other end of these pipes, and nothing waits for somebody.
func TestPipesAreNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"Open":   func() error { _, err := Open(path); return err },
		"Append": func() error { _, err := Append(dir, "pipe", 0o600); return err },
		"Write":  func() error { return Write(dir, "pipe", []byte("x"), 0o600) },
		"Put":    func() error { return Put(t.TempDir(), path, []byte("x"), 0o600) },
	} {
		done := make(chan error, 1)
		go func() { done <- try() }()
		select {
		case err := <-done:
			if err == nil || name != "Put" && !errors.Is(err, ErrIrregular) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s waits for the other end of the pipe", name)
		}
	}
}

// A pipe that the user names is written to.
func TestPutWritesToAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := Put(t.TempDir(), path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(reader); string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
}
