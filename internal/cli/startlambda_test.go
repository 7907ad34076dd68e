package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestBuildWithoutHome says what Go lacks where the environment names no home folder.
func TestBuildWithoutHome(t *testing.T) {
	dir := t.TempDir()
	c := &app{Env: &Env{Stderr: io.Discard, Dir: dir}}
	err := c.runBuild(t.Context(), dir, []string{"go", "build", "./cmd"})
	var hinted *hintedError
	var downstream *downstreamError
	if !errors.As(err, &downstream) || !errors.As(err, &hinted) || !strings.Contains(hinted.hint, "set HOME, or set GOCACHE and GOPATH") {
		t.Errorf("the error is %v", err)
	}
}
