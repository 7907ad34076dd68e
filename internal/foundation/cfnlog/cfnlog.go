// Package cfnlog writes rpdk.log, the log file that the CloudFormation CLI keeps in a
// project's folder, and keeps secrets out of it.
//
// A [Log] is a [slog.Handler]. The file has one line per record, in the format of the
// official tool, at every level; a second writer, usually the terminal's error stream,
// gets the bare messages from a level upwards. Records wait in memory until [Log.Open]
// names the file, which is rotated by size. A folder that cannot be written never fails a
// command: the records only go to the second writer then, and [Log.Err] reports why.
//
// Every record passes a scrubber before it is written anywhere: see [Log.Hide].
package cfnlog

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
)

// Name is the file name that the official tool uses.
const Name = "rpdk.log"

// Config sets up a [Log]. The zero Config writes no console lines.
type Config struct {
	// MaxBytes is the size beyond which the file is rotated. Zero means 5,000,000, as in the
	// official tool.
	MaxBytes int64

	// Console gets the bare messages of records at ConsoleLevel and above. Nil means none.
	Console      io.Writer
	ConsoleLevel slog.Level // the zero level is Info

	// Now is the time of records without one. Nil means time.Now.
	Now func() time.Time
}

// A Log is a [slog.Handler] for several goroutines. [New] creates it.
type Log struct {
	sink   *sink
	prefix string // of grouped attributes, with its dot
	attrs  string // rendered attributes of WithAttrs
}

// sink is what all handlers derived from one Log share.
type sink struct {
	config Config
	scrub  scrubber

	mu      sync.Mutex
	path    string // "" before Open
	waiting []byte // the lines before Open
	file    *os.File
	size    int64
	failed  error // why there is no file; once set, it is not tried again
}

// maxWaiting bounds the memory of a log that has no file yet; later lines are dropped.
const maxWaiting = 1 << 20

// New returns a log without a file.
func New(config Config) *Log {
	if config.MaxBytes == 0 {
		config.MaxBytes = 5_000_000
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Log{sink: &sink{config: config, scrub: scrubber{&secret.Set{}}}}
}

// Open sets the log file and writes what was logged before. Its backup is path + ".1". Only
// the first call counts. [Log.Err] reports whether it worked.
func (l *Log) Open(path string) {
	s := l.sink
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path != "" {
		return
	}
	s.path = path
	s.write(string(s.waiting))
	s.waiting = nil
}

// Hide adds values that must not appear in the log: credentials, write-only properties,
// tokens. Each is replaced everywhere, in all the spellings that [secret.Set.Add] lists.
// Values shorter than four bytes are not searched for, because that would make the log
// unreadable without hiding anything: the caller must not log such short values.
//
// Hidden without a call: attributes and JSON members with the name of a secret, such as
// secretAccessKey, sessionToken, callerCredentials or password.
func (l *Log) Hide(why secret.Reason, values ...string) { l.sink.scrub.secrets.AddFor(why, values...) }

// Secrets are the values that the log hides. Values that others add to them are hidden from
// then on, as with [Log.Hide].
func (l *Log) Secrets() *secret.Set { return l.sink.scrub.secrets }

// Scrub returns text as the log would write it.
func (l *Log) Scrub(text string) string { return l.sink.scrub.clean(text) }

// Path returns the file of the log, may be "".
func (l *Log) Path() string {
	l.sink.mu.Lock()
	defer l.sink.mu.Unlock()
	if l.sink.file == nil {
		return ""
	}
	return l.sink.path
}

// Err reports why the log file could not be written; nil as long as it could.
func (l *Log) Err() error {
	l.sink.mu.Lock()
	defer l.sink.mu.Unlock()
	return l.sink.failed
}

// Close closes the file. The log must not be used afterwards.
func (l *Log) Close() error {
	l.sink.mu.Lock()
	defer l.sink.mu.Unlock()
	if l.sink.file == nil {
		return nil
	}
	err := l.sink.file.Close()
	l.sink.file = nil
	return err
}

// Enabled is true for every level: the file has them all.
func (l *Log) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes the record. It always returns nil: a log that cannot be written is no
// reason for a command to fail.
func (l *Log) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	b.WriteString(l.attrs)
	r.Attrs(func(a slog.Attr) bool {
		l.sink.scrub.appendAttr(&b, l.prefix, a)
		return true
	})
	text := l.sink.scrub.clean(b.String())
	l.sink.mu.Lock()
	defer l.sink.mu.Unlock()
	if l.sink.config.Console != nil && r.Level >= l.sink.config.ConsoleLevel {
		_, _ = fmt.Fprintln(l.sink.config.Console, text) // the error cannot be reported
	}
	when := r.Time
	if when.IsZero() {
		when = l.sink.config.Now()
	}
	l.sink.write(fmt.Sprintf("[%s] %-8s - %s\n", when.UTC().Format("2006-01-02T15:04:05Z"), levelName(r.Level), text))
	return nil
}

// WithAttrs returns a handler whose records carry the attributes, too.
func (l *Log) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	for _, a := range attrs {
		l.sink.scrub.appendAttr(&b, l.prefix, a)
	}
	return &Log{sink: l.sink, prefix: l.prefix, attrs: l.attrs + b.String()}
}

// WithGroup returns a handler that puts "name." before the keys of later attributes.
func (l *Log) WithGroup(name string) slog.Handler {
	if name == "" {
		return l
	}
	return &Log{sink: l.sink, prefix: l.prefix + name + ".", attrs: l.attrs}
}

// levelName is the official tool's word for a level.
func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "DEBUG"
	case level < slog.LevelWarn:
		return "INFO"
	case level < slog.LevelError:
		return "WARNING"
	}
	return "ERROR"
}

// write appends one line, opening or rotating the file first. The lock is held.
func (s *sink) write(line string) {
	if s.path == "" && len(s.waiting)+len(line) <= maxWaiting {
		s.waiting = append(s.waiting, line...)
	}
	if s.path == "" || line == "" || s.failed != nil {
		return
	}
	if s.file == nil {
		s.open()
	}
	if s.failed == nil && s.size > 0 && s.size+int64(len(line)) > s.config.MaxBytes {
		s.rotate()
	}
	if s.failed != nil {
		return
	}
	n, err := s.file.WriteString(line)
	s.size += int64(n)
	if err != nil {
		s.give(err)
	}
}

// open creates the file for its owner only. An existing file keeps its mode. The folder is a
// project's, and may be hostile: a link is not followed, because the log would be written to
// its target, and a pipe is not waited for.
func (s *sink) open() {
	file, err := files.Append(filepath.Dir(s.path), filepath.Base(s.path), 0o600)
	if err != nil {
		s.give(err)
		return
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		s.give(err)
		return
	}
	s.file, s.size = file, info.Size()
}

func (s *sink) rotate() {
	s.file.Close()
	s.file = nil
	if err := os.Rename(s.path, s.path+".1"); err != nil {
		s.give(err)
		return
	}
	s.open()
}

// give up the file, for a reason.
func (s *sink) give(err error) {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
	s.failed = fmt.Errorf("write the log: %w", err)
}
