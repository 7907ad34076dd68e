package sandbox

import (
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// waiting makes a spare and returns it.
func waiting(t *testing.T) *first {
	t.Helper()
	var f *first
	fixtures.Await(t, "a spare", func() bool { // another one may be under way
		spares.make(true)
		spares.mu.Lock()
		defer spares.mu.Unlock()
		f = spares.waiting
		return f != nil
	})
	return f
}

// start runs a program and returns the session and what it prints.
func start(t *testing.T) (*Session, string) {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s, err := Start(Process{Path: "/bin/sh", Args: []string{"sh", "-c", "echo $0 ran"}, Env: Environ(), Dir: t.TempDir()}, in)
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Command().Wait() // the status is that of the program
	s.Close()
	return s, string(text)
}

func TestSpare(t *testing.T) {
	if err := Check(); err != nil {
		t.Skip("SKIPPED: no sandbox here: ", err)
	}
	f := waiting(t)
	if s, text := start(t); s.first != f || text != "sh ran\n" {
		t.Errorf("a spare was used: %v, it printed %q", s.first == f, text)
	}
	f = waiting(t)
	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Wait(); err == nil {
		t.Error("a killed spare ends well")
	}
	if s, text := start(t); s.first == f || text != "sh ran\n" {
		t.Errorf("after a spare was killed: %q", text)
	}
	f = waiting(t)
	spares.drop(f)
	fixtures.Await(t, "the end of a spare that was dropped", func() bool { return syscall.Kill(f.cmd.Process.Pid, 0) != nil })
}

// BenchmarkStart is the start of a program that does nothing, and its end.
func BenchmarkStart(b *testing.B) {
	if err := Check(); err != nil {
		b.Skip(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	dir := b.TempDir()
	for b.Loop() {
		s, err := Start(Process{Path: "/bin/true", Args: []string{"true"}, Dir: dir}, null)
		if err != nil {
			b.Fatal(err)
		}
		_ = s.Command().Wait() // it ends well
		s.Close()
	}
}
