package sandbox

import (
	"cmp"
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

	"github.com/formwork-dev/formwork/internal/foundation/sandbox/inside"
)

// patience is how long a sandbox may take to be built. It takes milliseconds.
const patience = 30 * time.Second

// check builds a sandbox the first time.
var check = sync.OnceValue(func() error {
	if err := try(); err != nil {
		return &UnavailableError{Reason: explain(err)}
	}
	go spares.make(true) // a program will follow
	return nil
})

// try builds a sandbox without a program.
func try() error {
	seen, err := plan(policy{}, "", "", Runtime{})
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }() // nothing is written
	f, err := newFirst(true)
	if err != nil {
		return err
	}
	defer f.discard()
	_, err = f.begin(&inside.Orders{Mounts: seen.mounts, Home: Home, TmpBytes: 1 << 20, Processes: MaxProcesses, OpenFiles: MaxOpenFiles, NoProcesses: true}, null)
	return err
}

// limitsProcesses reports whether a sandbox limits the number of processes without a control group: the
// limit of a user does not bind root.
func limitsProcesses() bool { return os.Getuid() != 0 || inside.ProcessesOfNamespace() }

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

// A first is the first process of a sandbox, with the mounts of the system.
type first struct {
	cmd     *exec.Cmd
	report  *os.File // what it says
	order   *os.File // its instructions
	control *Control // nil without control groups
	network bool     // it has one of its own
}

// newFirst starts a first process, with a network of its own or not, and waits until it is ready.
func newFirst(network bool) (*first, error) {
	f := &first{network: network}
	var theirs [2]*os.File
	var err error
	if f.report, theirs[0], err = os.Pipe(); err != nil {
		return nil, err
	}
	defer func() { _ = theirs[0].Close() }() // the end of the first process
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(err, f.report.Close())
	}
	theirs[1] = os.NewFile(uintptr(sockets[1]), "orders")
	defer func() { _ = theirs[1].Close() }()                  // the end of the first process
	if err = unix.SetNonblock(sockets[0], true); err == nil { // it has deadlines then
		f.order = os.NewFile(uintptr(sockets[0]), "orders")
		f.cmd, f.control, err = StartControlled(func() *exec.Cmd { return command(theirs, network) })
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("create namespaces: %w", err)
	}
	base := inside.Orders{Mounts: inOrder(systemMounts()), Processes: MaxProcesses, Network: network}
	if err := f.send(&base, nil); err != nil {
		f.discard()
		return nil, fmt.Errorf("build the sandbox: %w", err)
	}
	if _, err := f.await(); err != nil {
		f.discard()
		return nil, err
	}
	return f, nil
}

// command is that of a first process. It has no output until it starts the program.
func command(files [2]*os.File, network bool) *exec.Cmd {
	uid, gid := os.Getuid(), os.Getgid()
	capabilities := []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_RESOURCE, unix.CAP_SETPCAP}
	namespaces := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC)
	if network {
		capabilities = append(capabilities, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE)
		namespaces |= unix.CLONE_NEWNET
	}
	return &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{inside.Name}, Env: []string{"GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none"}, Dir: "/",
		ExtraFiles: files[:],
		SysProcAttr: &syscall.SysProcAttr{
			Setpgid:     true,
			Cloneflags:  namespaces,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: capabilities,
		},
	}
}

// send sends orders, with a file if it is not nil.
func (f *first) send(orders *inside.Orders, file *os.File) error {
	text := orders.Encode()
	size := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	var rights []byte
	if file != nil {
		rights = unix.UnixRights(int(file.Fd()))
	}
	if err := f.order.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	raw, err := f.order.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		failed = unix.Sendmsg(int(fd), size, rights, nil, unix.MSG_NOSIGNAL)
		return failed != unix.EAGAIN
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	_, err = f.order.Write(text)
	return err
}

// begin has the first process start the program of the orders, with a file for its output, and
// returns the ID that it has in the sandbox. The error is a *RefusedError if it cannot be started.
func (f *first) begin(orders *inside.Orders, out *os.File) (int, error) {
	if err := f.send(orders, out); err != nil {
		return 0, errors.Join(errGone, fmt.Errorf("build the sandbox: %w", err))
	}
	return f.await()
}

// await reads a report of success.
func (f *first) await() (int, error) {
	_ = f.report.SetReadDeadline(time.Now().Add(patience)) // pipes have deadlines
	kind, number, detail, err := f.read()
	switch {
	case err != nil:
		return 0, errors.Join(errGone, fmt.Errorf("build the sandbox: %w", err))
	case kind == inside.Failed:
		return 0, fmt.Errorf("build the sandbox: %s", detail)
	case kind == inside.Refused:
		return 0, &RefusedError{Err: syscall.Errno(number)}
	}
	_ = f.report.SetReadDeadline(time.Time{})
	return int(number), nil
}

// errGone is among the errors if the first process has ended before it could start the program.
var errGone = errors.New("the first process has ended")

// read reads one report.
func (f *first) read() (kind byte, number uint32, detail string, err error) {
	var head [9]byte
	if _, err = io.ReadFull(f.report, head[:]); err != nil {
		return 0, 0, "", err
	}
	text := make([]byte, min(binary.BigEndian.Uint32(head[5:]), 64<<10))
	_, err = io.ReadFull(f.report, text)
	return head[0], binary.BigEndian.Uint32(head[1:]), string(text), err
}

// close releases the pipes, which ends the sandbox.
func (f *first) close() {
	for _, file := range []*os.File{f.report, f.order} {
		_ = file.Close() // a nil file is allowed, and one that is closed
	}
}

// discard ends a first process that nobody waits for.
func (f *first) discard() {
	f.close()
	go func() {
		_ = f.cmd.Process.Kill() // it may have ended
		_ = f.cmd.Wait()         // by the signal or not
		f.control.Close()
	}()
}

// spareLife is how long a first process waits for a program: starts come in groups.
const spareLife = 10 * time.Second

// A spare is a first process that waits, so that the next program starts sooner.
type spare struct {
	mu      sync.Mutex
	waiting *first
	expires *time.Timer
	making  bool
	taken   bool // a program was started before
}

var spares spare

// take returns a first process. From the second one on, the next one is made meanwhile: a command
// that starts one program has no use for it.
func (s *spare) take(network bool) (f *first, fresh bool, err error) {
	s.mu.Lock()
	if s.waiting != nil && s.waiting.network == network {
		f, s.waiting = s.waiting, nil
		s.expires.Stop()
	}
	again := s.taken
	s.taken = true
	s.mu.Unlock()
	if fresh = f == nil; fresh {
		f, err = newFirst(network)
	}
	if again && err == nil {
		go s.make(network)
	}
	return f, fresh, err
}

// make makes a first process for later, if none waits.
func (s *spare) make(network bool) {
	s.mu.Lock()
	needed := s.waiting == nil && !s.making
	s.making = s.making || needed
	s.mu.Unlock()
	if !needed {
		return
	}
	f, err := newFirst(network)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.making = false
	if err != nil {
		return // the next start says why
	}
	s.waiting = f
	s.expires = time.AfterFunc(spareLife, func() { s.drop(f) })
}

// drop ends a first process if it still waits.
func (s *spare) drop(f *first) {
	s.mu.Lock()
	waits := s.waiting == f
	if waits {
		s.waiting = nil
	}
	s.mu.Unlock()
	if waits {
		f.discard()
	}
}

// A Session is one sandbox, in which a process runs.
type Session struct {
	first   *first
	id      int
	ended   chan ending
	sockets []*os.File

	dialing sync.Mutex
}

type ending struct {
	status syscall.WaitStatus
	left   int
	known  bool
}

// Start starts a process in a sandbox; what it and those that it starts print goes to out. Wait for
// Command, then call End and Close. The error is a *RefusedError if the program cannot be started.
func Start(p Process, out *os.File) (*Session, error) {
	if err := makeWritten(p.Settings.Grants); err != nil {
		return nil, err
	}
	seen, err := p.view(newPolicy(p.Settings, userHomes()))
	if err != nil {
		return nil, err
	}
	orders := p.orders(seen.mounts)
	network := p.Settings.Network != Host
	if network {
		orders.Sockets, orders.Texts = p.Sockets, p.names()
	}
	for {
		f, fresh, err := spares.take(network)
		if err != nil {
			return nil, err
		}
		s := &Session{first: f, ended: make(chan ending, 1)}
		if err = f.control.Limit(p.Memory, int64(orders.TmpBytes), MaxProcesses); err == nil {
			s.id, err = f.begin(orders, out)
		}
		if err == nil && len(orders.Sockets) > 0 {
			s.sockets, err = f.receive(len(orders.Sockets)) // they were sent before the program was started
		}
		if err == nil {
			go s.watch()
			return s, nil
		}
		f.discard()
		if fresh || !errors.Is(err, errGone) {
			return nil, err
		}
	}
}

// orders are those of a process that sees mounts.
func (p *Process) orders(mounts []inside.Mount) *inside.Orders {
	return &inside.Orders{
		Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir, Mounts: mounts, Home: Home,
		TmpBytes: cmp.Or(p.TmpMB, DefaultTmpMB) << 20, Processes: MaxProcesses, OpenFiles: MaxOpenFiles,
	}
}

// watch waits for the report of the end.
func (s *Session) watch() {
	var e ending
	if kind, number, detail, err := s.first.read(); err == nil && kind == inside.Ended {
		left, _ := strconv.Atoi(detail) // digits
		e = ending{syscall.WaitStatus(number), left, true}
	}
	s.ended <- e
}

// Command is the first process, whose end is that of all.
func (s *Session) Command() *exec.Cmd { return s.first.cmd }

// ID is that of the process in the sandbox.
func (s *Session) ID() int { return s.id }

// End is how the process ended and how many others it left behind, once the first process has
// ended. It is unknown if that was killed.
func (s *Session) End() (status syscall.WaitStatus, left int, known bool) {
	e := <-s.ended // the pipe has ended
	return e.status, e.left, e.known
}

// Control is the control group of the sandbox, nil if there is none.
func (s *Session) Control() *Control { return s.first.control }

// Sockets are those of Process, nil for one that is missing. The caller closes them.
func (s *Session) Sockets() []*os.File { return s.sockets }

// Close releases the pipes, which ends the sandbox, and removes its control group.
func (s *Session) Close() {
	s.first.close()
	s.first.control.Close()
}
