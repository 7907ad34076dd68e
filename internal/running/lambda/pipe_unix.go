//go:build unix

package lambda

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A pipe carries the output of one process. What a process prints before it
// replies must be in the log of that invocation, so the reading end can be
// emptied on demand while a goroutine waits on it.
type pipe struct {
	r    *os.File
	mu   sync.Mutex // makes a read and the write that follows it one step
	buf  []byte
	out  io.Writer
	done chan struct{}
}

// newPipe returns a pipe into out, and the end for the process.
func newPipe(out io.Writer) (*pipe, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &pipe{r: r, buf: make([]byte, 32<<10), out: out, done: make(chan struct{})}, w, nil
}

// run copies until the pipe ends or is closed.
func (p *pipe) run() {
	defer close(p.done)
	raw, err := p.r.SyscallConn()
	if err != nil {
		return
	}
	raw.Read(func(fd uintptr) bool { return !p.drain(int(fd), -1) })
}

// sync copies what is in the pipe by now.
func (p *pipe) sync() {
	if raw, err := p.r.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { p.drain(int(fd), syncReads) })
	}
}

// close copies what is left and ends run. Descendants of the process may still
// hold the other end; they are not waited for.
func (p *pipe) close() {
	p.sync()
	p.r.Close()
	<-p.done
}

// drain reads until the pipe is empty, or at most so many times if that is not
// negative, and reports whether more may come.
func (p *pipe) drain(fd, reads int) (more bool) {
	for ; reads != 0; reads-- {
		switch err := p.step(fd); err {
		case nil, unix.EINTR: //nolint:errorlint // the plain number of a system call
		case unix.EAGAIN:
			return true
		default:
			return false
		}
	}
	return true
}

func (p *pipe) step(fd int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := unix.Read(fd, p.buf)
	if err == nil && n == 0 {
		return io.EOF
	}
	if err == nil {
		p.out.Write(p.buf[:n])
	}
	return err
}

// syncReads bounds a sync, so that a process that prints without end cannot
// hold up its own time-out. Together the reads are more than a pipe holds.
const syncReads = 128
