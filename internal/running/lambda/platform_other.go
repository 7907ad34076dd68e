//go:build !linux && !darwin && !windows

package lambda

import (
	"errors"
	"os/exec"
	"syscall"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

const canDetectDebugger = false

// A group is a process and its descendants.
type group struct{}

// prepare refuses: a process that could not be ended with its descendants must
// not be started.
func prepare(*exec.Cmd) error { return errors.ErrUnsupported }

func newGroup(*exec.Cmd, string, int64, *sandbox.Control) (*group, error) {
	return nil, errors.ErrUnsupported
}

func (g *group) waitExit()                         {}
func (g *group) ask()                              {}
func (g *group) kill()                             {}
func (g *group) sweep() int                        { return 0 }
func (g *group) close()                            {}
func (g *group) memory() int64                     { return 0 }
func (g *group) peak() int64                       { return 0 }
func (g *group) debugged() (process, threads bool) { return false, false }

// newInsideGroup is nil: there are no sandboxes here.
func newInsideGroup(int, int, *sandbox.Control) (*group, int) { return nil, 0 }

// describeStatus is for processes in a sandbox.
func describeStatus(syscall.WaitStatus) string { return "" }

// limits reports none: there are no sandboxes here.
func (g *group) limits() (processes, files, full bool) { return false, false, false }
