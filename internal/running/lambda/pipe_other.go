//go:build !unix

package lambda

import (
	"io"
	"os"
)

// A pipe carries the output of one process. On this system it cannot be emptied
// on demand: lines printed just before a reply may show up in the log of the
// next invocation.
type pipe struct {
	r    *os.File
	out  io.Writer
	done chan struct{}
}

func newPipe(out io.Writer) (*pipe, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &pipe{r: r, out: out, done: make(chan struct{})}, w, nil
}

func (p *pipe) run() {
	defer close(p.done)
	io.Copy(p.out, p.r)
}

func (p *pipe) sync() {}

// close waits for the end of the pipe: the job object has ended every process
// that holds it.
func (p *pipe) close() {
	<-p.done
	p.r.Close()
}
