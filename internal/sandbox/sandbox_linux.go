package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/internal/sandbox/inside"
)

// patience is how long a sandbox may take to be built. It takes milliseconds.
const patience = 30 * time.Second

// check builds a sandbox the first time.
var check = sync.OnceValue(func() error {
	if err := try(); err != nil {
		return &UnavailableError{Reason: explain(err)}
	}
	return nil
})

// try builds a sandbox without a program.
func try() error {
	mounts, err := view(Process{}, "")
	if err != nil {
		return err
	}
	s, err := newSession(inside.Orders{Mounts: mounts, Home: Home, TmpBytes: 1 << 20, Processes: MaxProcesses, OpenFiles: MaxOpenFiles, NoProcesses: true})
	if err != nil {
		return err
	}
	defer s.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }() // nothing is written
	cmd := s.Command(null)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("create namespaces: %w", err)
	}
	_, err = s.Begin()
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // by the signal or not
	return err
}

// explain is why there is no sandbox, for people.
func explain(err error) string {
	for path, value := range map[string]string{
		"/proc/sys/kernel/unprivileged_userns_clone": "0", "/proc/sys/user/max_user_namespaces": "0",
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
	} {
		if text, readErr := os.ReadFile(path); readErr == nil && string(text) == value+"\n" {
			return fmt.Sprintf("this system does not let users create namespaces (%s is %s)", path, value)
		}
	}
	return "this system does not allow it: " + err.Error()
}

// A Session is one sandbox: its first process, and the pipes to it.
type Session struct {
	orders           inside.Orders
	report, reportIn *os.File // what the first process says, and its end
	order, orderOut  *os.File // what it is told, and its end
	ended            chan ending
}

type ending struct {
	status syscall.WaitStatus
	left   int
	known  bool
}

// New prepares a sandbox for a process. Command, Begin, End and Close are called in this order.
func New(p Process) (*Session, error) {
	home, _ := os.UserHomeDir() // without one nothing is hidden in it
	mounts, err := view(p, home)
	if err != nil {
		return nil, err
	}
	if p.TmpMB == 0 {
		p.TmpMB = DefaultTmpMB
	}
	return newSession(inside.Orders{
		Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir, Mounts: mounts, Home: Home,
		TmpBytes: p.TmpMB << 20, Processes: MaxProcesses, OpenFiles: MaxOpenFiles,
	})
}

func newSession(orders inside.Orders) (*Session, error) {
	s := &Session{orders: orders, ended: make(chan ending, 1)}
	var err error
	if s.report, s.reportIn, err = os.Pipe(); err != nil {
		return nil, err
	}
	if s.orderOut, s.order, err = os.Pipe(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Command is the command of the first process, whose output and that of the others goes to out.
// The thread that starts it must outlive it.
func (s *Session) Command(out *os.File) *exec.Cmd {
	uid, gid := os.Getuid(), os.Getgid()
	capabilities := []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_RESOURCE, unix.CAP_SETPCAP}
	return &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{inside.Name}, Env: []string{"GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none"}, Dir: "/",
		Stdout: out, Stderr: out, ExtraFiles: []*os.File{s.reportIn, s.orderOut},
		SysProcAttr: &syscall.SysProcAttr{
			Setpgid: true, Pdeathsig: syscall.SIGKILL,
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: capabilities,
		},
	}
}

// Begin sends the orders, once the first process was started, and returns the ID that the process
// has in the sandbox. The error is a *RefusedError if the program cannot be started; the first
// process has then ended, or will when the session is closed.
func (s *Session) Begin() (int, error) {
	_ = s.reportIn.Close() // the ends of the first process
	_ = s.orderOut.Close()
	text := s.orders.Encode()
	sent := make(chan error, 1)
	_ = s.order.SetWriteDeadline(time.Now().Add(patience)) // pipes have deadlines
	go func() {
		_, err := s.order.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
		sent <- err
	}()
	_ = s.report.SetReadDeadline(time.Now().Add(patience))
	kind, number, detail, err := s.read()
	switch {
	case err != nil:
		return 0, errors.Join(fmt.Errorf("build the sandbox: %w", err), <-sent)
	case kind == inside.Failed:
		return 0, fmt.Errorf("build the sandbox: %s", detail)
	case kind == inside.Refused:
		return 0, &RefusedError{Err: syscall.Errno(number)}
	}
	if err := <-sent; err != nil {
		return 0, fmt.Errorf("build the sandbox: %w", err)
	}
	if kind == inside.Ended {
		return 0, nil
	}
	_ = s.report.SetReadDeadline(time.Time{})
	go func() {
		var e ending
		if kind, number, detail, err := s.read(); err == nil && kind == inside.Ended {
			left, _ := strconv.Atoi(detail) // digits
			e = ending{syscall.WaitStatus(number), left, true}
		}
		s.ended <- e
	}()
	return int(number), nil
}

// End is how the process ended and how many others it left behind, once the first process has
// ended. It is unknown if that was killed.
func (s *Session) End() (status syscall.WaitStatus, left int, known bool) {
	e := <-s.ended // the pipe has ended
	return e.status, e.left, e.known
}

// Close releases the pipes, which ends the sandbox.
func (s *Session) Close() {
	for _, file := range []*os.File{s.report, s.reportIn, s.order, s.orderOut} {
		_ = file.Close() // a nil file is allowed, and one that is closed
	}
}

// read reads one report.
func (s *Session) read() (kind byte, number uint32, detail string, err error) {
	var head [9]byte
	if _, err = io.ReadFull(s.report, head[:]); err != nil {
		return 0, 0, "", err
	}
	text := make([]byte, min(binary.BigEndian.Uint32(head[5:]), 64<<10))
	_, err = io.ReadFull(s.report, text)
	return head[0], binary.BigEndian.Uint32(head[1:]), string(text), err
}
