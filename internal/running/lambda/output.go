package lambda

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

const (
	quotedLines = 10      // of output, in an error
	quotedBytes = 2 << 10 // of output, in an error
)

// A ring keeps the end of what is written to it.
type ring struct {
	data    []byte
	next    int // where the oldest byte is, once full
	limit   int
	dropped int64
}

func (r *ring) Write(p []byte) (int, error) {
	n := len(p)
	if over := n - r.limit; over > 0 {
		r.dropped += int64(over)
		p = p[over:]
	}
	if room := r.limit - len(r.data); room > 0 {
		head := p[:min(room, len(p))]
		r.data = append(r.data, head...)
		p = p[len(head):]
	}
	r.dropped += int64(len(p))
	for len(p) > 0 {
		c := copy(r.data[r.next:], p)
		r.next = (r.next + c) % r.limit
		p = p[c:]
	}
	return n, nil
}

// bytes returns the kept output, oldest first.
func (r *ring) bytes() []byte {
	return append(bytes.Clone(r.data[r.next:]), r.data[:r.next]...)
}

func (r *ring) reset() { r.data, r.next, r.dropped = nil, 0, 0 }

// An output is what one process prints. The part since the last take belongs to
// one invocation; what a process prints between two belongs to the later one.
type output struct {
	mu   sync.Mutex
	part ring
	tail ring // for errors: the end of everything
	tee  io.Writer
	log  *logStream // may be nil
	sync func()     // reads what the process has printed by now; set by the pipe

	awaited []byte
	printed func() // called when the process has printed awaited, once
}

func newOutput(limit int, tee io.Writer) *output {
	return &output{part: ring{limit: limit}, tail: ring{limit: quotedBytes}, tee: tee, sync: func() {}}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	o.part.Write(p)
	o.tail.Write(p)
	o.look()
	o.mu.Unlock()
	if o.tee != nil {
		o.tee.Write(p) // the writer handles its own errors
	}
	o.log.write(p, false)
	return len(p), nil
}

// await calls printed as soon as the process has printed text, at once if text is empty.
func (o *output) await(text string, printed func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.awaited, o.printed = []byte(text), printed
	o.look()
}

// look calls printed if the end of the output has what is awaited.
func (o *output) look() {
	if o.printed != nil && bytes.Contains(o.tail.bytes(), o.awaited) {
		o.printed()
		o.printed = nil
	}
}

// note writes a line to the log stream, after the output of the process.
func (o *output) note(line string) { o.log.write([]byte(line), true) }

// A logStream is the log of one process, which others write to as well.
type logStream struct {
	mu   sync.Mutex
	w    io.Writer
	open bool // the last line has no end yet
}

// write appends text, on a separate line on request. A nil logStream discards it.
func (l *logStream) write(p []byte, line bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if line && l.open {
		l.w.Write([]byte("\n")) // the writer handles its own errors
		l.open = false
	}
	if len(p) > 0 {
		l.w.Write(p)
		l.open = p[len(p)-1] != '\n'
	}
}

// take returns the output since the last take.
func (o *output) take() []byte {
	o.sync()
	o.mu.Lock()
	defer o.mu.Unlock()
	text, dropped := o.part.bytes(), o.part.dropped
	o.part.reset()
	if dropped == 0 {
		return text
	}
	// The first line is incomplete, and could be the end of a secret that is not recognized.
	if torso, rest, ok := bytes.Cut(text, []byte("\n")); ok {
		dropped += int64(len(torso) + 1)
		text = rest
	}
	return append(fmt.Appendf(nil, "[%d bytes of output left out]\n", dropped), text...)
}

// lastLines returns the end of the output, for an error.
func (o *output) lastLines() string {
	o.sync()
	o.mu.Lock()
	text := o.tail.bytes()
	cut := o.tail.dropped > 0
	o.mu.Unlock()
	if cut { // the first line is a torso
		if _, rest, ok := bytes.Cut(text, []byte("\n")); ok && len(bytes.TrimSpace(rest)) > 0 {
			text = rest
		}
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	lines = lines[max(0, len(lines)-quotedLines):]
	return string(bytes.ToValidUTF8(bytes.Join(lines, []byte("\n")), []byte("\uFFFD")))
}

// A lockedWriter serializes the writes of many processes.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
