package lambda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// A Function runs the invocations of one command in local processes. It is safe
// for concurrent use. Make one with Start, and Close it.
type Function struct {
	config  Config
	tee     io.Writer
	spawner *spawner
	slots   chan struct{} // one element per invocation that has a process
	closing chan struct{} // closed by Close
	ended   sync.WaitGroup

	mu         sync.Mutex
	idle       []*process // the last used is the last
	all        map[*process]struct{}
	generation int
	closed     bool
}

// A Result is what became of one invocation.
type Result struct {
	RequestID string

	// ExecutedVersion is the version of the function that ran, as the Invoke API reports it.
	// Empty means $LATEST.
	ExecutedVersion string

	// Payload is the reply as the function sent it, which need not be JSON. If
	// FunctionError is set, it is the error document {"errorMessage",
	// "errorType"} that a caller of Lambda would receive.
	Payload []byte

	// FunctionError is "Unhandled" when the function is to blame that there is
	// no reply, else "".
	FunctionError string

	// Log is what the processes printed, between the lines START, END and
	// REPORT as Lambda writes them. What was printed before START belongs to
	// the start of the process or the time since its invocation before. Each
	// of both parts is at most Config.LogBytes long.
	Log []byte

	// Duration is the time between delivery and reply, InitDuration the time between the start
	// of the process and its readiness, if this was its first invocation.
	Duration     time.Duration
	InitDuration time.Duration

	// MaxMemory is the peak resident memory of the process, in bytes; 0 if unknown.
	MaxMemory int64

	// Limits are those of the sandbox that the process met, apart from time and memory.
	Limits []string

	// PID is the process that was called, 0 if none was, and LogStream the name of its log
	// stream.
	PID       int
	LogStream string
}

// Start creates a function. Unless c.Lazy, it starts a process and waits until the process
// requests an invocation, so that a command that cannot work fails here, with the errors of
// Invoke. ctx bounds only that wait.
func Start(ctx context.Context, c Config) (*Function, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	f := &Function{
		config:  c,
		spawner: newSpawner(),
		slots:   make(chan struct{}, c.MaxProcesses),
		closing: make(chan struct{}),
		all:     map[*process]struct{}{},
	}
	f.lookForUnseen()
	if c.Output != nil {
		f.tee = &lockedWriter{w: c.Output}
	}
	if c.Lazy {
		return f, nil
	}
	p, err := f.newProcess(ctx)
	if err != nil {
		f.Close()
		return nil, err
	}
	f.putBack(p)
	return f, nil
}

// Call sends payload and returns the reply. An error means that the function
// did not answer; see Invoke.
func (f *Function) Call(ctx context.Context, payload []byte) ([]byte, error) {
	result, err := f.Invoke(ctx, payload)
	if err != nil {
		return nil, err
	}
	return result.Payload, nil
}

// Invoke sends payload to an idle process, or a new one, and waits for the
// reply. When ctx ends first, the process is killed: what it was doing cannot be
// taken back otherwise. After every failure but a *FunctionError that leaves the
// process alive, the next invocation gets a new process.
//
//	err                     meaning
//	nil                     the function replied; inspect Result.Payload
//	*FunctionError          it reported an error, in the invocation or at its start
//	*StartError             there is no such program, or it does not run here
//	*CrashError             a process ended at its start or in the invocation
//	*TimeoutError           the invocation took longer than Config.Timeout
//	*NotReadyError          a process did not ask for an invocation in time
//	*MemoryError            it used more memory than Config.MemoryMB
//	*LimitError             one of the others, and limits of its sandbox that it has met
//	*ResponseTooLargeError  the reply was longer than MaxResponseBytes
//	*PayloadTooLargeError   payload is longer than MaxRequestBytes; not sent
//	*ThrottledError         all processes stayed busy for Config.QueueTimeout
//	ErrClosed               the function is closed or was closed meanwhile
//	the cause of ctx        ctx ended first
//	other                   the system refused a process, a port or a pipe
//
// The Result has its RequestID in every case; the log, the times and the
// document for the caller as far as there are any.
func (f *Function) Invoke(ctx context.Context, payload []byte) (Result, error) {
	result := Result{RequestID: f.config.NewID()}
	if len(payload) > MaxRequestBytes {
		return result, &PayloadTooLargeError{Function: f.config.Name, Size: int64(len(payload)), Limit: MaxRequestBytes}
	}
	if err := f.acquire(ctx); err != nil {
		return result, err
	}
	defer func() { <-f.slots }()
	err := f.invoke(ctx, payload, &result)
	if err != nil {
		if document := errorDocument(err); document != nil {
			result.FunctionError, result.Payload = "Unhandled", document
		}
	}
	return result, err
}

// Warm starts a process unless one is idle, and waits until it is ready. Its
// errors are those of Invoke.
func (f *Function) Warm(ctx context.Context) error {
	if err := f.acquire(ctx); err != nil {
		return err
	}
	defer func() { <-f.slots }()
	p, _, err := f.takeProcess(ctx)
	if err != nil {
		return err
	}
	f.putBack(p)
	return nil
}

// Renew makes every later invocation run in a process started after this call, with the
// current program at Config.Command. Idle processes are stopped at once, the others when their
// invocation has finished.
func (f *Function) Renew() {
	f.mu.Lock()
	f.generation++
	old := f.idle
	f.idle = nil
	f.mu.Unlock()
	for _, p := range old {
		f.retire(p)
	}
}

// Processes returns the IDs of the processes that run now.
func (f *Function) Processes() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := make([]int, 0, len(f.all))
	for p := range f.all {
		ids = append(ids, p.pid)
	}
	return ids
}

// Name is Config.Name.
func (f *Function) Name() string { return f.config.Name }

// ARN is the name under which Lambda would know the function.
func (f *Function) ARN() string { return f.config.arn() }

// Close asks all processes to end, kills those that have not after
// Config.GracePeriod, and returns when none is left. Invocations that run
// meanwhile fail with ErrClosed, unless their reply is first. Close may be
// called more than once; each call waits.
func (f *Function) Close() error {
	f.mu.Lock()
	first := !f.closed
	if first {
		f.closed = true
		close(f.closing)
	}
	running := make([]*process, 0, len(f.all))
	for p := range f.all {
		running = append(running, p)
	}
	f.idle = nil
	f.mu.Unlock()
	var stopped sync.WaitGroup
	for _, p := range running {
		stopped.Go(func() { p.stop(f.config.GracePeriod) })
	}
	stopped.Wait()
	f.ended.Wait()
	if first {
		f.spawner.stop()
	}
	return nil
}

// acquire waits for the right to use a process.
func (f *Function) acquire(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("function %s: %w", f.config.Name, context.Cause(ctx))
	}
	select {
	case f.slots <- struct{}{}:
		return nil // a closed function refuses to start or to hand over
	default:
	}
	if f.config.QueueTimeout < 0 {
		return &ThrottledError{Function: f.config.Name, Limit: f.config.MaxProcesses}
	}
	timer := newAlarm(f.config.QueueTimeout)
	defer timer.stop()
	select {
	case f.slots <- struct{}{}:
		return nil
	case <-timer.c:
		return &ThrottledError{Function: f.config.Name, Limit: f.config.MaxProcesses}
	case <-f.closing:
		return fmt.Errorf("function %s: %w", f.config.Name, ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("function %s: wait for a free process: %w", f.config.Name, context.Cause(ctx))
	}
}

// invoke runs one invocation in a process and fills in result.
func (f *Function) invoke(ctx context.Context, payload []byte, result *Result) error {
	inv := &invocation{id: result.RequestID, trace: newTraceID(f.config.Now()), payload: payload, done: make(chan outcome, 1)}
	p, err := f.deliver(ctx, inv)
	if err != nil {
		return err
	}
	out, err := f.wait(ctx, p, PhaseInvoke, f.config.Timeout, inv, waits{done: inv.done})
	result.Duration = time.Since(inv.sent)
	result.PID, result.LogStream = p.pid, p.stream
	result.MaxMemory = p.group.peak()
	if err != nil || out.err != nil || time.Since(p.looked) >= lookInterval {
		p.observe()
	}
	if err == nil {
		err = f.config.overMemory(max(result.MaxMemory, p.used()), inv.id)
	}
	var tooLarge *ResponseTooLargeError
	switch {
	case err != nil:
		err = f.bury(p, err)
		if out.log == nil {
			out.log = p.output.take()
		}
	case errors.As(out.err, &tooLarge):
		err = f.bury(p, out.err)
	default:
		result.Payload, err = out.payload, out.err
		defer f.putBack(p)
	}
	if result.Limits = p.limits(err, out.log, out.payload); len(result.Limits) > 0 {
		out.log = append(endLine(out.log), "[limit reached: "+strings.Join(result.Limits, ", ")+"]\n"...)
		if err != nil {
			err = &LimitError{Limits: result.Limits, Err: err}
		}
	}
	f.describe(p, inv, out.log, err, result)
	return err
}

// deliver gives the invocation to a process that requests one.
func (f *Function) deliver(ctx context.Context, inv *invocation) (*process, error) {
	for {
		p, reused, err := f.takeProcess(ctx)
		if err != nil {
			return nil, err
		}
		phase := PhaseInit
		if reused {
			phase = PhaseIdle
		}
		if err = f.awaitDebugger(ctx, p); err == nil {
			inv.deadline = f.deadline(ctx)
			_, err = f.wait(ctx, p, phase, f.config.InitTimeout, inv, waits{jobs: p.jobs})
		}
		if err == nil {
			inv.sent = time.Now()
			return p, nil
		}
		err = f.bury(p, err)
		var crash *CrashError
		if reused && errors.As(err, &crash) {
			// It ended with nothing to do, as after a panic that it reported.
			// The invocation was not seen by anyone.
			continue
		}
		return nil, err
	}
}

// takeProcess returns the process that was idle last, or a new one that is ready.
func (f *Function) takeProcess(ctx context.Context) (p *process, reused bool, err error) {
	f.mu.Lock()
	for p == nil && len(f.idle) > 0 {
		last := len(f.idle) - 1
		if !f.idle[last].gone() {
			p = f.idle[last]
		}
		f.idle = f.idle[:last]
	}
	f.mu.Unlock()
	if p != nil {
		return p, true, nil
	}
	p, err = f.newProcess(ctx)
	return p, false, err
}

// newProcess starts a process and waits until it requests an invocation.
func (f *Function) newProcess(ctx context.Context) (*process, error) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil, fmt.Errorf("function %s: %w", f.config.Name, ErrClosed)
	}
	f.ended.Add(1)
	generation := f.generation
	f.mu.Unlock()
	if err := f.awaitPort(ctx); err != nil {
		f.ended.Done()
		return nil, err
	}
	p, err := startProcess(&f.config, f.spawner, f.tee, generation, f.forget)
	if err != nil {
		f.ended.Done()
		return nil, err
	}
	f.mu.Lock()
	if !p.gone() {
		f.all[p] = struct{}{}
	}
	f.mu.Unlock()
	if d := f.config.Debug; d != nil && d.Started != nil {
		p.output.await(d.Listening, func() { d.Started(p.pid) })
	}
	if _, err := f.wait(ctx, p, PhaseInit, f.config.InitTimeout, nil, waits{ready: p.ready, failed: p.failed}); err != nil {
		return nil, f.bury(p, err)
	}
	return p, nil
}

// forget removes a process that has ended from the pool before waiters are notified.
func (f *Function) forget(p *process) {
	f.mu.Lock()
	delete(f.all, p)
	close(p.exited)
	f.mu.Unlock()
	f.ended.Done()
}

// putBack makes the process available to the next invocation.
func (f *Function) putBack(p *process) {
	f.mu.Lock()
	keep := !f.closed && p.generation == f.generation && !p.gone()
	if keep {
		f.idle = append(f.idle, p)
	}
	f.mu.Unlock()
	if !keep {
		f.retire(p)
	}
}

// retire asks the process to end, without waiting. Close waits for it.
func (f *Function) retire(p *process) { go p.stop(f.config.GracePeriod) }

// bury kills the process, waits for its end, and completes the error with its last output.
// When the function is being closed, the process is first asked to stop. A process that the
// system cannot end now is not waited for; it stays known, and Close waits for it.
func (f *Function) bury(p *process, err error) error {
	if errors.Is(err, ErrClosed) {
		p.stop(f.config.GracePeriod)
		return err
	}
	p.kill()
	timer := time.NewTimer(burial)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		f.config.Logger.Warn("a killed process does not end", "function", f.config.Name, "pid", p.pid)
	}
	switch e := err.(type) { //nolint:errorlint // made by wait, never wrapped
	case *TimeoutError:
		e.Output = p.output.lastLines()
	case *NotReadyError:
		e.Output = p.output.lastLines()
	case *MemoryError:
		e.Output = p.output.lastLines()
	}
	return err
}

// burial bounds the wait for a killed process.
const burial = 5 * time.Second

// waits is the one event that a caller of wait wants; the other fields are nil.
type waits struct {
	ready  <-chan struct{}       // the first request of the process,
	failed <-chan *FunctionError // or reports that it will not
	jobs   chan<- *invocation    // the process takes the invocation
	done   <-chan outcome        // the process answers the invocation
}

// wait waits for an event of the process, within the limits. Its errors are
// those of Invoke without output; the process may still run then.
func (f *Function) wait(ctx context.Context, p *process, phase Phase, limit time.Duration, inv *invocation, w waits) (outcome, error) {
	overtime := newAlarm(limit)
	defer overtime.stop()
	look := newPulse(f.config.memoryLimit() > 0 || p.session != nil)
	defer look.stop()
	id := ""
	if phase == PhaseInvoke {
		id = inv.id
	}
	for {
		select {
		case <-w.ready:
			return outcome{}, nil
		case w.jobs <- inv:
			return outcome{}, nil
		case failure := <-w.failed:
			return outcome{}, failure
		case out := <-w.done:
			return out, nil
		case <-p.exited:
			select { // its last output comes first
			case failure := <-w.failed:
				return outcome{}, failure
			case out := <-w.done:
				return out, nil
			default:
				return outcome{}, p.crash(phase, id)
			}
		case <-look.c:
			p.observe()
			if err := f.config.overMemory(p.group.memory(), id); err != nil {
				return outcome{}, err
			}
		case <-overtime.c:
			if phase == PhaseInvoke {
				return outcome{}, &TimeoutError{Function: f.config.Name, RequestID: id, Limit: limit}
			}
			return outcome{}, &NotReadyError{Function: f.config.Name, Phase: phase, Limit: limit, Library: f.config.oldLibrary()}
		case <-f.closing:
			return outcome{}, fmt.Errorf("function %s: %w", f.config.Name, ErrClosed)
		case <-ctx.Done():
			return outcome{}, fmt.Errorf("function %s: process %d was killed: %w", f.config.Name, p.pid, context.Cause(ctx))
		}
	}
}

// partlyAttached is how often a process is looked at, ten times a second, whose debugger has not attached to
// all of its threads. Tracers of single threads never do.
const partlyAttached = 20

// awaitDebugger holds the first invocation of a process back until a debugger is
// attached to it and its threads, if the function is set up so.
func (f *Function) awaitDebugger(ctx context.Context, p *process) error {
	d := f.config.Debug
	if d == nil || !d.WaitForDebugger || p.attached {
		return nil
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for partly := 0; ; {
		process, threads := p.group.debugged()
		if threads || process && partly >= partlyAttached {
			break
		}
		if process {
			partly++
		}
		select {
		case <-ticker.C:
		case <-p.exited:
			return p.crash(PhaseIdle, "")
		case <-f.closing:
			return fmt.Errorf("function %s: %w", f.config.Name, ErrClosed)
		case <-ctx.Done():
			return fmt.Errorf("function %s: wait for a debugger to attach to process %d: %w", f.config.Name, p.pid, context.Cause(ctx))
		}
	}
	p.attached = true
	return nil
}

// awaitPort waits until nothing listens where the next process waits for a debugger: the process
// before may be ending.
func (f *Function) awaitPort(ctx context.Context) error {
	d := f.config.Debug
	if d == nil || d.Address == "" {
		return nil
	}
	var config net.ListenConfig
	end := time.Now().Add(max(f.config.GracePeriod, 0) + burial)
	for {
		listener, err := config.Listen(ctx, "tcp", d.Address)
		if err == nil {
			return listener.Close()
		}
		if time.Now().After(end) {
			return fmt.Errorf("function %s: the process cannot wait for a debugger: %w", f.config.Name, err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-f.closing:
			return fmt.Errorf("function %s: %w", f.config.Name, ErrClosed)
		case <-ctx.Done():
			return fmt.Errorf("function %s: %w", f.config.Name, context.Cause(ctx))
		}
	}
}

// deadline is when the next invocation must finish, as sent to the process.
func (f *Function) deadline(ctx context.Context) time.Time {
	limit := f.config.Timeout
	if limit < 0 {
		limit = longestDeadline
	}
	deadline := f.config.Now().Add(limit)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		return end
	}
	return deadline
}
