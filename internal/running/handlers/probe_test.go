//go:build unix

package handlers_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/handlers"
)

// TestProbe says why a handler does not start.
func TestProbe(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	needs(t, "node")
	b := newBench(t, nil)
	py := func(text string) map[string]string { return map[string]string{"app.py": text} }
	for name, test := range map[string]struct {
		runtime string
		code    map[string]string
		want    []string // parts of the error
	}{
		"ready":       {"python3.11", py("def handler(e, c): pass"), nil},
		"fails":       {"python3.11", py("def inner():\n    raise RuntimeError('no table')\ninner()\n"), []string{"failed to start: RuntimeError: no table; trace:", "in inner"}},
		"ends":        {"python3.11", py("import sys\nprint('bye now')\nsys.exit(4)"), []string{"exit status 4", "before it asked for an invocation", "bye now"}},
		"node":        {"nodejs20.x", map[string]string{"app.js": "throw new RangeError('too far')"}, []string{"failed to start: RangeError: too far; trace:", "app.js"}},
		"no module":   {"python3.11", map[string]string{"other.py": ""}, []string{"Runtime.ImportModuleError: Unable to import module 'app': No module named 'app'"}},
		"version":     {"python3.99", map[string]string{"other.py": ""}, []string{"No module named 'app' (the runtime is python3.99, and is run by Python 3.", "there is no python3.99 in the PATH)"}},
		"program":     {"provided.al2023", map[string]string{"bootstrap": "MZ" + strings.Repeat("\x00", 100)}, []string{"it is a program for windows, this machine is"}},
		"interpreter": {"provided.al2023", map[string]string{"bootstrap": "#!/no/such/program\n"}, []string{"its first line names an interpreter that is not there"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := b.Probe(t.Context(), b.put(t, pack(t, test.runtime, "app.handler", test.code)))
			if test.want == nil && err != nil || test.want != nil && err == nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
		})
	}
}

// TestProbeHangs tells of a handler that runs and never asks for work.
func TestProbeHangs(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *handlers.Config) { c.InitTimeout = 2 * time.Second })
	spec := b.put(t, pack(t, "provided", "x", map[string]string{"bootstrap": "#!/bin/sh\necho waiting for godot\nsleep 60\n"}))
	err := b.Probe(t.Context(), spec)
	if err == nil || !strings.Contains(err.Error(), "did not ask for an invocation") || !strings.Contains(err.Error(), "waiting for godot") {
		t.Error(err)
	}
}

// TestProbeGivesUp when the caller does, when it takes too long, and for what is no package.
func TestProbeGivesUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *handlers.Config) { c.ProbeTimeout = 300 * time.Millisecond })
	spec := b.python(t, "import time\ntime.sleep(60)")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Probe(ctx, spec); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if err := b.Probe(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "not ready within 300ms") {
		t.Errorf("late: %v", err)
	}
	b = newBench(t, nil)
	spec = b.python(t, "def handler(e, c): pass")
	other := spec
	other.TypeName = "Acme::Test::Other"
	if err := b.Probe(t.Context(), other); err == nil || !strings.Contains(err.Error(), "is registered as Acme::Test::Other") {
		t.Errorf("another type: %v", err)
	}
	spec.Package = strings.Repeat("0", 64)
	if err := b.Probe(t.Context(), spec); !errors.Is(err, store.ErrNoBlob) {
		t.Errorf("no package: %v", err)
	}
	spec.Package = "../../etc"
	if err := b.Probe(t.Context(), spec); err == nil {
		t.Error("a path was taken for a hash")
	}
	spec.Package = ""
	if err := b.Probe(t.Context(), spec); err == nil {
		t.Error("no package at all, and no error")
	}
}
