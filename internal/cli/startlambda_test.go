package cli

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/lambda"
	"github.com/formwork-dev/formwork/internal/project"
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

// TestHandlersOfOthers calls handlers that cfn cannot start where they usually are, and
// says what to do if none are there.
func TestHandlersOfOthers(t *testing.T) {
	listener, err := net.Listen("tcp", lambda.DefaultAddress)
	if err != nil {
		t.Skip(err)
	}
	if err := listens(t.Context(), lambda.DefaultAddress); err != nil {
		t.Error(err)
	}
	listener.Close()
	p := &project.Project{Settings: project.Settings{Language: "typescript", Runtime: "nodejs20.x"}}
	c := &app{Env: &Env{Stderr: io.Discard}}
	_, _, err = (&handlerOptions{functionName: typeFunction}).function(t.Context(), c, p, nil, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "cfn cannot start handlers in typescript, and cannot connect to http://127.0.0.1:3001: ") {
		t.Errorf("the error is %v", err)
	}
}
