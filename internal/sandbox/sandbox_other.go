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

// Start fails.
func Start(Process, *os.File) (*Session, error) { return nil, errors.ErrUnsupported }

// Command is nil.
func (s *Session) Command() *exec.Cmd { return nil }

// ID is 0.
func (s *Session) ID() int { return 0 }

// End reports that the end is unknown.
func (s *Session) End() (status syscall.WaitStatus, left int, known bool) { return status, 0, false }

// Close does nothing.
func (s *Session) Close() {}
