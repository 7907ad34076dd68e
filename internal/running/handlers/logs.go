package handlers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/logs"
)

const (
	// flushAfter is how long lines wait for others, to be written together. Until then,
	// secrets that a call's reply names are hidden in them as well.
	flushAfter = 100 * time.Millisecond

	// mostPending bounds the lines that wait, in bytes. Handlers that print faster than
	// lines can be written wait.
	mostPending = 4 << 20

	// longestLine is where lines are cut, a little below what CloudWatch Logs takes.
	longestLine = 240 << 10

	// torso is removed at the end of a truncated line: it could be the beginning of a secret
	// that cannot be recognized without the rest.
	torso = 8 << 10

	// lastFlush bounds the writing of what waits when a Pool is closed.
	lastFlush = 10 * time.Second
)

// A LogSink adds lines to the end of a log stream, and creates group and stream if they do not exist. It
// is called by one goroutine at a time for a pool. Lines that cannot be written are lost.
type LogSink func(ctx context.Context, place awswire.Place, group, stream string, lines []logs.Line) error

// An output carries what handlers print to a LogSink, in the order in which it was printed.
type output struct {
	sink   LogSink
	logger *slog.Logger
	now    func() time.Time
	life   context.Context // of what is written; it ends some time after close
	end    context.CancelFunc
	done   chan struct{}
	kick   chan struct{}

	mu       sync.Mutex
	room     *sync.Cond
	pending  map[streamKey]*pendingLines
	order    []streamKey
	bytes    int
	open     bool // handlers may be made to wait
	finished bool
}

type streamKey struct {
	place         awswire.Place
	group, stream string
}

type pendingLines struct {
	hide  *secrets
	lines []logs.Line
	cut   map[int]bool // the open lines, whose rest is dropped
}

func newOutput(sink LogSink, logger *slog.Logger, now func() time.Time) *output {
	life, end := context.WithCancel(context.Background())
	l := &output{
		sink: sink, logger: logger, now: now, open: true, life: life, end: end,
		done: make(chan struct{}), kick: make(chan struct{}, 1), pending: map[streamKey]*pendingLines{},
	}
	l.room = sync.NewCond(&l.mu)
	go l.run()
	return l
}

// stream makes the function that opens the log streams of a handler. The first line of each
// says whose it is, and has the note if there is one.
func (l *output) stream(spec bundle.Spec, hide *secrets, note string) func(name string) io.Writer {
	if l.sink == nil {
		return nil
	}
	return func(name string) io.Writer {
		w := &lineWriter{logs: l, hide: hide, key: streamKey{spec.Place, logGroup(spec), name}}
		first := "INIT_START Type: " + spec.TypeName + " Version: " + spec.Version
		if note != "" {
			first += " Note: " + note
		}
		_, _ = io.WriteString(w, first+"\n") // never fails
		return w
	}
}

// add queues a line. It waits while too much is queued.
func (l *output) add(key streamKey, hide *secrets, text string, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.bytes > mostPending && l.open {
		l.room.Wait()
	}
	if l.finished {
		return
	}
	p := l.pending[key]
	if p == nil {
		p = &pendingLines{hide: hide, cut: map[int]bool{}}
		l.pending[key] = p
		l.order = append(l.order, key)
	}
	if cut {
		p.cut[len(p.lines)] = true
	}
	p.lines = append(p.lines, logs.Line{Time: l.now(), Text: text})
	l.bytes += len(text) + 32
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// unblock releases handlers that wait for room: they are about to be ended.
func (l *output) unblock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = false
	l.room.Broadcast()
}

// close writes what is queued. Lines that come later are dropped.
func (l *output) close() {
	l.mu.Lock()
	first := !l.finished
	l.finished, l.open = true, false
	l.room.Broadcast()
	l.mu.Unlock()
	if first {
		close(l.kick)
	}
	timer := time.AfterFunc(lastFlush, l.end)
	defer timer.Stop()
	<-l.done
}

func (l *output) run() {
	defer close(l.done)
	defer l.end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for range l.kick {
		timer.Reset(flushAfter)
		l.wait(timer.C)
		l.flush()
	}
	l.flush()
}

// wait lets lines gather, unless there are many already or the Pool is closed.
func (l *output) wait(timer <-chan time.Time) {
	for {
		select {
		case <-timer:
			return
		case _, more := <-l.kick:
			l.mu.Lock()
			many := l.bytes > mostPending/4
			l.mu.Unlock()
			if many || !more {
				return
			}
		}
	}
}

// flush hands everything that is queued to the sink.
func (l *output) flush() {
	l.mu.Lock()
	pending, order := l.pending, l.order
	l.pending, l.order = map[streamKey]*pendingLines{}, nil
	taken := l.bytes
	l.mu.Unlock()
	for _, key := range order {
		p := pending[key]
		for i := range p.lines {
			text := p.hide.text(p.lines[i].Text)
			if p.cut[i] || len(text) > longestLine {
				text = text[:max(0, min(longestLine, len(text))-torso)] + " [the rest of the line is left out]"
			}
			p.lines[i].Text = clean(text)
		}
		if err := l.sink(l.life, key.place, key.group, key.stream, p.lines); err != nil {
			l.logger.Warn("output of a handler is lost", "group", key.group, "stream", key.stream, "lines", len(p.lines), "error", err)
		}
	}
	l.mu.Lock()
	l.bytes -= taken
	l.room.Broadcast()
	l.mu.Unlock()
}

// clean makes a text one that databases take.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// A lineWriter cuts what one process prints into lines. Its writes are serialized.
type lineWriter struct {
	logs    *output
	hide    *secrets
	key     streamKey
	partial []byte
	skipped bool // the current line was too long and is skipped
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		p = rest
		if !w.skipped {
			w.partial = append(w.partial, line...)
			if len(w.partial) > longestLine {
				w.emit(true)
				w.skipped = true
			}
		}
		if ended {
			if !w.skipped {
				w.emit(false)
			}
			w.skipped = false
		}
	}
	return n, nil
}

func (w *lineWriter) emit(cut bool) {
	w.logs.add(w.key, w.hide, string(bytes.TrimSuffix(w.partial, []byte("\r"))), cut)
	w.partial = w.partial[:0]
}

// Flush waits until what handlers have printed by now is with the LogSink, and what they
// were called with is in the store.
func (p *Pool) Flush(ctx context.Context) error {
	for {
		if p.logs.empty() && p.recorder.empty() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the logs of handlers: %w", context.Cause(ctx))
		case <-time.After(flushAfter / 4):
		}
	}
}

func (l *output) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes == 0
}
