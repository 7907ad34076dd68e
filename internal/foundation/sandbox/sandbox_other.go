//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

func check() error {
	return &UnavailableError{Reason: "only Linux has what it is made of, and this is " + runtime.GOOS}
}

func limitsProcesses() bool { return false }

const tunDevice = "device for it"

func hasTun() bool { return false }

// A Session is one sandbox. There is none on this system.
type Session struct{}

// Start fails.
func Start(Process, *os.File) (*Session, error) { return nil, errors.ErrUnsupported }

// Unseen is nothing: processes see all of the machine.
func Unseen(Process) []string { return nil }

// Command is nil.
func (s *Session) Command() *exec.Cmd { return nil }

// ID is 0.
func (s *Session) ID() int { return 0 }

// End reports that the end is unknown.
func (s *Session) End() (status syscall.WaitStatus, left int, known bool) { return status, 0, false }

// Sockets is nil.
func (s *Session) Sockets() []*os.File { return nil }

// Dial fails.
func (s *Session) Dial(context.Context, int) (net.Conn, error) { return nil, errors.ErrUnsupported }

// Control is nil.
func (s *Session) Control() *Control { return nil }

// Close does nothing.
func (s *Session) Close() {}

// A Control is the control group of a process. There is none on this system.
type Control struct{}

// StartControlled starts a process without a control group.
func StartControlled(command func() *exec.Cmd) (*exec.Cmd, *Control, error) {
	cmd := command()
	return cmd, nil, cmd.Start()
}

// Limit does nothing.
func (c *Control) Limit(memory, temporary int64, processes int) error { return nil }

// OutOfMemory is false.
func (c *Control) OutOfMemory() bool { return false }

// Close does nothing.
func (c *Control) Close() {}

// ControlGroups reports that there are none.
func ControlGroups() error {
	return &UnavailableError{Reason: "only Linux has control groups, and this is " + runtime.GOOS}
}
