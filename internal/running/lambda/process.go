package lambda

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/reach"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// A process is one running command of a function, with the Runtime API that it
// talks to.
//
// It requests an invocation (ready), takes one (current), replies, and requests again. It
// exits, or is killed after a failed invocation, or is stopped.
type process struct {
	config     *Config
	generation int
	pid        int
	stream     string
	group      *group
	folder     *sandbox.Folder  // nil in a sandbox
	session    *sandbox.Session // nil without a sandbox
	control    *sandbox.Control // nil without control groups
	output     *output
	pipe       *pipe
	server     *http.Server
	listener   net.Listener   // of the Runtime API
	network    *reach.Network // of its own; nil if it has that of the machine
	host       string         // of the Runtime API, as the process must name it
	started    time.Time

	jobs   chan *invocation // taken by the process's request for the next one
	ready  chan struct{}    // closed at its first request for an invocation
	failed chan *FunctionError
	exited chan struct{} // closed when it has ended and is cleaned up

	mu       sync.Mutex
	current  *invocation   // delivered and not answered
	asked    bool          // ready is closed
	initTime time.Duration // from start to first request; 0 once reported
	reaped   bool          // the ID may have been reused
	starved  bool          // the system ended it, because it used too much memory
	status   string
	code     int

	attached bool      // a debugger was seen; owned by the holder of the process
	met      []string  // limits that were met in the invocation; owned by the holder of the process
	looked   time.Time // when the memory was measured last; owned by the holder of the process
}

// An invocation is one on its way through a process.
type invocation struct {
	id       string
	trace    string
	payload  []byte
	deadline time.Time
	done     chan outcome // one, when the process has answered

	sent   time.Time // when the process took it
	before []byte    // what it printed since the invocation before; guarded by its mu
}

// An outcome is how a process answered an invocation.
type outcome struct {
	payload []byte
	err     error // *FunctionError, *ResponseTooLargeError
	log     []byte
}

// A spawner starts processes from one thread of the system, which lives until
// stop. Linux ends a process when the thread that started it ends, not when the
// program does, and the Go runtime is free to end threads.
type spawner struct {
	work chan func()
	done chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range s.work {
			f()
		}
	}()
	return s
}

// start runs cmd.Start, and then the function then in the same thread. A program that was written a
// moment ago can be busy for as long as another process forks: that passes.
func (s *spawner) start(cmd func() *exec.Cmd, then func(*exec.Cmd, *sandbox.Control)) (*exec.Cmd, error) {
	var started *exec.Cmd
	for wait := time.Millisecond; ; wait *= 2 {
		result := make(chan error)
		s.work <- func() {
			var control *sandbox.Control
			var err error
			if started, control, err = sandbox.StartControlled(cmd); err == nil {
				then(started, control)
			}
			result <- err
		}
		err := <-result
		if cannotTrace(started, err) {
			continue
		}
		if !errors.Is(err, syscall.ETXTBSY) || wait > 200*time.Millisecond {
			return started, err
		}
		time.Sleep(wait)
	}
}

// stop ends the thread. Call it only when no process is left.
func (s *spawner) stop() {
	close(s.work)
	<-s.done
}

// sayOnce is for what is to be said once in a program.
var sayOnce sync.Once

// startProcess starts the command and returns at once. When the process is gone,
// ended is called, which must close exited.
func startProcess(c *Config, s *spawner, tee io.Writer, generation int, ended func(*process)) (*process, error) {
	p := &process{
		config:     c,
		generation: generation,
		stream:     newLogStream(c.Now()),
		jobs:       make(chan *invocation),
		ready:      make(chan struct{}),
		failed:     make(chan *FunctionError, 1),
		exited:     make(chan struct{}),
		started:    time.Now(),
		output:     newOutput(c.LogBytes, tee),
	}
	if c.Stream != nil {
		p.output.log = &logStream{w: c.Stream(p.stream)}
	}
	p.server = &http.Server{Handler: p.runtimeAPI(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug)}
	if err := p.listen(); err != nil {
		return nil, err
	}
	if err := p.spawn(s, ended); err != nil {
		if p.listener != nil {
			p.listener.Close()
		}
		return nil, err
	}
	go p.server.Serve(p.listener) // closes the listener, even if the process has already ended
	c.Logger.Debug("process started", "function", c.Name, "pid", p.pid)
	return p, nil
}

// listen opens the Runtime API. In a network of its own, it is at a fixed address that exists there only, and is
// opened with the network.
func (p *process) listen() (err error) {
	if plan := p.config.plan; plan != nil {
		p.host = plan.runtimeAPI
		return nil
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("function %s: listen for the process: %w", p.config.Name, err)
	}
	p.host = p.listener.Addr().String()
	p.server.ConnContext = withPeer
	return nil
}

// spawn starts the command with its output connected.
func (p *process) spawn(s *spawner, ended func(*process)) error {
	c := p.config
	pipe, end, err := newPipe(p.output)
	if err != nil {
		return fmt.Errorf("function %s: make a pipe: %w", c.Name, err)
	}
	defer end.Close()
	start := p.spawnPlain
	if c.Sandbox.Mode.Active() {
		start = p.spawnInside
	}
	cmd, err := start(s, end)
	if err != nil {
		pipe.r.Close()
		return err
	}
	if err := HoldsDescendants(); err != nil {
		sayOnce.Do(func() { c.Logger.Warn("what a handler starts may outlive it", "reason", err) })
	}
	p.pipe = pipe
	p.output.sync = pipe.sync
	go pipe.run()
	go p.reap(cmd, ended)
	return nil
}

// spawnPlain starts the command without a sandbox.
func (p *process) spawnPlain(s *spawner, end *os.File) (started *exec.Cmd, err error) {
	c := p.config
	if p.folder, err = sandbox.NewFolder(""); err != nil {
		return nil, fmt.Errorf("function %s: %w", c.Name, err)
	}
	defer func() {
		if err != nil {
			p.removeFolder()
		}
	}()
	environment := c.environment(p.host, p.stream, c.compiled(), p.folder.Environ())
	path := c.commandPath()
	var unsupported, uncontrolled error
	cmd, err := s.start(func() *exec.Cmd {
		cmd := &exec.Cmd{Path: path, Args: c.Command, Dir: c.Dir, Env: environment, Stdout: end, Stderr: end}
		unsupported = prepare(cmd)
		if unsupported != nil {
			cmd.Err = unsupported
		}
		return cmd
	}, func(cmd *exec.Cmd, control *sandbox.Control) {
		p.control = control
		limited := control.Limit(c.memoryLimit(), c.tmpBytes(), sandbox.MaxProcesses)
		p.group, uncontrolled = newGroup(cmd, "AWS_LAMBDA_LOG_STREAM_NAME="+p.stream, c.memoryLimit(), control)
		uncontrolled = errors.Join(limited, uncontrolled)
	})
	if err != nil {
		if unsupported != nil {
			return nil, fmt.Errorf("function %s: local processes: %w", c.Name, unsupported)
		}
		return nil, diagnoseStart(c, path, err)
	}
	p.pid = cmd.Process.Pid
	if uncontrolled != nil {
		cmd.Process.Kill()
		cmd.Wait()
		p.control.Close()
		return nil, fmt.Errorf("function %s: control the process: %w", c.Name, uncontrolled)
	}
	return cmd, nil
}

// spawnInside starts the command in a sandbox. A program that was written a moment ago can be busy
// for as long as another process forks: that passes.
func (p *process) spawnInside(_ *spawner, end *os.File) (*exec.Cmd, error) {
	c := p.config
	path, compiled := c.commandPath(), c.compiled()
	inside := c.confined(path, compiled, c.environment(p.host, p.stream, compiled, sandbox.Environ()))
	if c.plan != nil {
		inside.Sockets, inside.Names = c.plan.sockets(), c.plan.names
	}
	for wait := time.Millisecond; ; wait *= 2 {
		session, err := sandbox.Start(inside, end)
		var refused *sandbox.RefusedError
		switch {
		case err == nil:
			p.session, p.control = session, session.Control()
			p.group, p.pid = newInsideGroup(session.Command().Process.Pid, session.ID(), p.control)
			if err := p.connect(session); err != nil {
				p.group.close()
				session.Command().Process.Kill()
				session.Command().Wait()
				session.Close()
				return nil, fmt.Errorf("function %s: connect the sandbox: %w", c.Name, err)
			}
			return session.Command(), nil
		case errors.Is(err, fs.ErrNotExist) && !isFolder(c.Dir):
			return nil, diagnoseStart(c, path, err)
		case !errors.As(err, &refused):
			return nil, fmt.Errorf("function %s: start a sandbox: %w", c.Name, err)
		case refused.Err != syscall.ETXTBSY || wait > 200*time.Millisecond:
			return nil, diagnoseStart(c, path, refused.Err)
		}
		time.Sleep(wait)
	}
}

// reap waits for the end of the process and cleans up after it.
func (p *process) reap(cmd *exec.Cmd, ended func(*process)) {
	p.group.waitExit()
	p.mu.Lock()
	p.group.kill() // descendants, while the ID of the group is still ours
	p.reaped = true
	cmd.Wait() // does not block: it has ended
	p.status, p.code = "ended", -1
	if state := cmd.ProcessState; state != nil {
		p.status, p.code = state.String(), state.ExitCode()
	}
	left := 0
	p.starved = p.control.OutOfMemory()
	if p.session != nil {
		if status, n, known := p.session.End(); known {
			p.status, p.code, left = describeStatus(status), status.ExitStatus(), n
		}
		p.session.Close()
	}
	p.mu.Unlock()
	if left += p.group.sweep(); left > 0 && p.config.Debug == nil { // debugpy is among them
		p.config.Logger.Warn("a handler left processes behind; they were ended", "function", p.config.Name, "pid", p.pid, "processes", left)
	}
	if p.session == nil {
		p.control.Close()
	}
	p.pipe.close()
	p.output.note("") // ends the last line
	p.group.close()
	p.removeFolder()
	p.server.Close()
	if p.network != nil {
		p.network.Close()
	}
	p.config.Logger.Debug("process ended", "function", p.config.Name, "pid", p.pid, "status", p.status)
	ended(p)
}

// removeFolder removes the files of a process that has ended.
func (p *process) removeFolder() {
	if p.folder == nil {
		return
	}
	if err := p.folder.Remove(); err != nil {
		p.config.Logger.Warn("the temporary files of a handler cannot be removed", "function", p.config.Name, "error", err)
	}
}

// kill ends the process and its descendants now. Its end shows in exited.
func (p *process) kill() { p.signal((*group).kill) }

// stop asks the process to end, and kills it when it has not within grace.
func (p *process) stop(grace time.Duration) {
	if grace > 0 {
		p.signal((*group).ask)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.exited:
			return
		case <-timer.C:
		}
	}
	p.kill()
	<-p.exited
}

func (p *process) signal(send func(*group)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		send(p.group)
	}
}

// gone reports whether the process has ended.
func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// crash is the error for a process that has ended. Call it only after exited. One that had nothing to do
// has failed in no invocation, whatever has ended it.
func (p *process) crash(phase Phase, requestID string) error {
	if p.starved && phase != PhaseIdle {
		return p.config.outOfMemory(requestID)
	}
	return &CrashError{
		Function: p.config.Name, RequestID: requestID, PID: p.pid, Phase: phase,
		ExitCode: p.code, Status: p.status, Output: p.output.lastLines(),
	}
}
