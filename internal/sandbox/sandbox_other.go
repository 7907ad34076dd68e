//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

func check() error {
	return &UnavailableError{Reason: "only Linux has what it is made of, and this is " + runtime.GOOS}
}

// A Session is one sandbox. There is none on this system.
type Session struct{}

// New fails.
func New(Process) (*Session, error) { return nil, errors.ErrUnsupported }

// Command is nil.
func (s *Session) Command(*os.File) *exec.Cmd { return nil }

// Begin fails.
func (s *Session) Begin() (int, error) { return 0, errors.ErrUnsupported }

// End reports that the end is unknown.
func (s *Session) End() (status syscall.WaitStatus, left int, known bool) { return status, 0, false }

// Close does nothing.
func (s *Session) Close() {}
