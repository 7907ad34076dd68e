package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
)

// A Mode is whether processes run in a sandbox.
type Mode string

// The modes. The zero value is Off.
const (
	Off      Mode = "off"
	On       Mode = "on"       // where the system allows it: see Check
	Required Mode = "required" // or not at all
)

// Modes are all modes.
func Modes() []Mode { return []Mode{On, Off, Required} }

// ParseMode reads a mode.
func ParseMode(text string) (Mode, error) {
	for _, m := range Modes() {
		if text == string(m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("expected on, off or required but got %q", text)
}

// forced is what Check reports in a test of what happens without a sandbox.
var forced atomic.Pointer[UnavailableError]

// Forbid makes Check report that there is no sandbox, until allow is called. It is for tests.
func Forbid(reason string) (allow func()) {
	forced.Store(&UnavailableError{Reason: reason})
	return func() { forced.Store(nil) }
}

// Check reports why this system has no sandbox, nil if it has. It builds one the first time.
func Check() error {
	if err := forced.Load(); err != nil {
		return err
	}
	return check()
}

// Active reports whether processes run in a sandbox.
func (m Mode) Active() bool { return m != "" && m != Off && Check() == nil }

// Err reports why no process may be started: the mode is Required and there is no sandbox.
func (m Mode) Err() error {
	if m != Required {
		return nil
	}
	if err := Check(); err != nil {
		return fmt.Errorf("the sandbox is required: %w", err)
	}
	return nil
}

// Missing is a sentence about what the mode does not enforce here, "" if it enforces all.
func (m Mode) Missing() string {
	const open = "handlers can read and change the files of this user"
	switch {
	case m == "" || m == Off:
		return "the sandbox of handlers is off: " + open
	case Check() != nil:
		return fmt.Sprintf("handlers run without a sandbox: %v; %s", Check(), open)
	}
	return ""
}

// Limits is a sentence about how the limits of processes are enforced here.
func (m Mode) Limits() string {
	groups, inside := ControlGroups(), m.Active()
	switch {
	case runtime.GOOS == "windows":
		return "memory of handlers is limited by the system; processes and temporary files are not limited"
	case groups == nil && inside:
		return "memory, processes and temporary files of handlers are limited by the kernel"
	case groups == nil:
		return "memory and processes of handlers are limited by the kernel; temporary files are not limited"
	case !inside:
		return fmt.Sprintf("memory of handlers is measured (%v); processes and temporary files are not limited", groups)
	case !limitsProcesses():
		return fmt.Sprintf("temporary files of handlers are limited by the kernel, memory is measured (%v), processes of root are not limited before Linux 6.14", groups)
	}
	return fmt.Sprintf("processes and temporary files of handlers are limited by the kernel, memory is measured (%v)", groups)
}

// Settings are what a user has decided about the processes of functions.
type Settings struct {
	Mode   Mode
	Grants []Grant

	// Network is what processes in a sandbox reach, and Reach are addresses, HOST:PORT, that they
	// reach in addition if they have a network of their own.
	Network Network
	Reach   []string

	// Hide are files and folders that no process sees, unless a Grant names one or something below it.
	// Credentials in the user's home are hidden in any case.
	Hide []string

	// Environ are variables of the user, as NAME=value; later ones count. What some of them name, such as
	// PYTHONPATH, can be read. Nothing that a function, its package or its template says belongs here.
	Environ []string
}

// A Runtime is what a process needs beside its code. This program finds it by itself: nothing in the code, its
// package or its template has a say.
type Runtime struct {
	Roots []string // folders in which the interpreter is installed
	Files []string // files and folders of this program; one that is a link is left out

	// Opt is a folder of this program that the process sees as /opt, unless its interpreter is installed there. "" is none.
	Opt string
}

// A Grant lets processes use a file or folder of this machine.
type Grant struct {
	Path  string // absolute
	Write bool
}

// ParseGrant reads PATH, PATH:ro or PATH:rw. A relative path is one below dir. What is only read
// must exist; a folder to write to is made when it is first needed.
func ParseGrant(text, dir string) (Grant, error) {
	var g Grant
	path, found := strings.CutSuffix(text, ":rw")
	if g.Write = found; !found {
		path = strings.TrimSuffix(path, ":ro")
	}
	if path == "" {
		return g, errors.New("expected PATH or PATH:rw")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	g.Path = filepath.Clean(path)
	if _, err := os.Stat(g.Path); err != nil && !g.Write {
		return g, err
	}
	for _, whole := range []string{"/", "/proc", "/dev", "/sys"} {
		if g.Path == whole {
			return g, fmt.Errorf("%s cannot be granted: name the file or folder that the handlers need", whole)
		}
	}
	return g, nil
}

// Limits of the processes of one sandbox, as on Lambda.
const (
	DefaultTmpMB = 512
	MaxProcesses = 1024 // with threads
	MaxOpenFiles = 1024 // of each process
)

// Home is the home of processes in a sandbox, and Tmp their folder for temporary files.
const (
	Home = "/home/function"
	Tmp  = "/tmp"
)

// Environ is the variables that make the folders in a sandbox known to programs, as NAME=value.
func Environ() []string { return environ(Tmp, Home) }

// A Process is what runs in a sandbox.
type Process struct {
	Path      string // of the program, absolute
	Args, Env []string
	Dir       string // its task root, absolute; read-only
	Runtime   Runtime
	TmpMB     int   // of /tmp and its home together; 0 means DefaultTmpMB
	Memory    int64 // in bytes, without /tmp and its home; kept where there are control groups; 0 means any
	Settings  Settings

	// Sockets are made in its network, unless that is the machine's. Names are host names of
	// addresses there, as lines of /etc/hosts.
	Sockets []Socket
	Names   []string
}

// An UnavailableError reports why this system has no sandbox.
type UnavailableError struct{ Reason string }

func (e *UnavailableError) Error() string { return e.Reason }

// A RefusedError reports that the system did not start the program in the sandbox.
type RefusedError struct{ Err syscall.Errno }

func (e *RefusedError) Error() string { return e.Err.Error() }

func (e *RefusedError) Unwrap() error { return e.Err }
