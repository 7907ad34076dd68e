package logs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A logGroup is a log group. Events and Bytes are those that it holds; Sequence is the
// number of the newest one.
type logGroup struct {
	store.Row `db:"logs_groups AS g"`
	ID        string                        `db:"id,pk"`
	Account   string                        `db:"account"`
	Region    string                        `db:"region"`
	Name      string                        `db:"name"`
	Class     string                        `db:"class"`
	KeyID     *string                       `db:"key_id"`
	Tags      store.JSON[map[string]string] `db:"tags"`
	Retention int64                         `db:"retention"` // days, 0 for ever
	Sequence  int64                         `db:"sequence"`
	Events    int64                         `db:"events"`
	Bytes     int64                         `db:"bytes"`
	CreatedAt store.Time                    `db:"created_at"`
}

// A logStream is a stream of a group.
type logStream struct {
	store.Row  `db:"logs_streams AS t"`
	GroupID    string     `db:"group_id,pk"`
	Name       string     `db:"name,pk"`
	FirstEvent store.Time `db:"first_event"`
	LastEvent  store.Time `db:"last_event"`
	IngestedAt store.Time `db:"ingested_at"`
	CreatedAt  store.Time `db:"created_at"`
}

// A logEvent is an event. Sequence grows by one with each event of a group.
type logEvent struct {
	store.Row  `db:"logs_events AS e"`
	GroupID    string     `db:"group_id,pk"`
	Sequence   int64      `db:"sequence,pk"`
	Stream     string     `db:"stream"`
	At         store.Time `db:"at"`
	IngestedAt store.Time `db:"ingested_at"`
	Size       int64      `db:"size"`
	Message    string     `db:"message"`
}

// eventOverhead is what an event counts in addition to its bytes, as on AWS.
const eventOverhead = 26

// logText makes a message fit for a database: UTF-8 without NUL.
func logText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// groupNamed is a log group, nil if it does not exist.
func groupNamed(ctx context.Context, db store.DB, place awswire.Place, name string) (*logGroup, error) {
	if !validLogName(name, maxLogName) {
		return nil, nil
	}
	g := &logGroup{}
	err := store.Get(ctx, db, g, "WHERE account = ? AND region = ? AND name = ?", place.Account, place.Region, name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the log group: %w", err)
	}
	return g, nil
}

// streamNamed is a stream of a group, nil if it does not exist.
func streamNamed(ctx context.Context, db store.DB, groupID, name string) (*logStream, error) {
	t := &logStream{}
	err := store.Get(ctx, db, t, "WHERE group_id = ? AND name = ?", groupID, name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the log stream: %w", err)
	}
	return t, nil
}

func (s *Service) putLogEvents(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.PutLogEventsInput) (*cloudwatchlogs.PutLogEventsOutput, error) {
	if !validStreamName(*in.LogStreamName) {
		return nil, logsInvalid("The name of the log stream is not valid.")
	}
	now := s.now()
	var out *cloudwatchlogs.PutLogEventsOutput
	err := s.withGroup(ctx, caller, in.LogGroupName, nil, func(ctx context.Context, tx *store.Tx, g *logGroup) error {
		t, err := streamNamed(ctx, tx, g.ID, *in.LogStreamName)
		if err != nil {
			return err
		}
		if t == nil {
			return logNotFound("stream")
		}
		out = &cloudwatchlogs.PutLogEventsOutput{NextSequenceToken: new(uploadToken)}
		events, err := acceptEvents(t.Name, in.LogEvents, now.Time, s.horizon(g).Time, out)
		if err != nil || len(events) == 0 {
			return err
		}
		return s.addEvents(ctx, tx, g, map[string]*logStream{t.Name: t}, events)
	})
	if err == nil {
		s.lines.announce()
	}
	return out, err
}

// acceptEvents holds a batch to the rules, and reports what is too old or too new.
func acceptEvents(stream string, in []cwtypes.InputLogEvent, now, horizon time.Time, out *cloudwatchlogs.PutLogEventsOutput) ([]logEvent, error) {
	size, events := 0, make([]logEvent, 0, len(in))
	var rejected cwtypes.RejectedLogEventsInfo
	for i, e := range in {
		if e.Message == nil || *e.Message == "" || e.Timestamp == nil || *e.Timestamp < 0 || *e.Timestamp > math.MaxInt64/1000 {
			return nil, logsInvalid("1 validation error detected: the event at index %d has no message or no timestamp", i)
		}
		if i > 0 && *e.Timestamp < *in[i-1].Timestamp {
			return nil, logsInvalid("Log events in a single PutLogEvents request must be in chronological order.")
		}
		size += len(*e.Message) + eventOverhead
		at := time.UnixMilli(*e.Timestamp)
		switch {
		case at.Before(horizon):
			rejected.ExpiredLogEventEndIndex = new(int32(i + 1))
		case at.Before(now.Add(-maxLogAge)):
			rejected.TooOldLogEventEndIndex = new(int32(i + 1))
		case at.After(now.Add(maxLogFuture)):
			if rejected.TooNewLogEventStartIndex == nil {
				rejected.TooNewLogEventStartIndex = new(int32(i))
			}
		default:
			events = append(events, logEvent{Stream: stream, At: store.At(at), Message: *e.Message})
		}
	}
	switch {
	case size > maxLogBatch:
		return nil, logsInvalid("Upload too large: %d bytes exceeds limit of %d", size, maxLogBatch)
	case *in[len(in)-1].Timestamp-*in[0].Timestamp > (24 * time.Hour).Milliseconds():
		return nil, logsInvalid("The batch of log events in a single PutLogEvents request cannot span more than 24 hours.")
	}
	if len(events) < len(in) {
		out.RejectedLogEventsInfo = &rejected
	}
	return events, nil
}

// addEvents adds events to existing streams of a group, and drops the oldest of the group if
// there are too many. Streams, times and messages of the events are set.
func (s *Service) addEvents(ctx context.Context, tx *store.Tx, g *logGroup, streams map[string]*logStream, events []logEvent) error {
	now := s.now()
	for i := range events {
		e := &events[i]
		t := streams[e.Stream]
		g.Sequence++
		e.GroupID, e.Sequence, e.IngestedAt = g.ID, g.Sequence, now
		e.Message = logText(e.Message)
		e.Size = int64(len(e.Message)) + eventOverhead
		g.Events++
		g.Bytes += e.Size
		if t.FirstEvent.IsZero() || e.At.Before(t.FirstEvent.Time) {
			t.FirstEvent = e.At
		}
		if e.At.After(t.LastEvent.Time) {
			t.LastEvent = e.At
		}
		t.IngestedAt = now
	}
	// The row of the group first: it is what two writers meet at.
	if err := keepGroup(ctx, tx, g); err != nil {
		return err
	}
	if err := store.Insert(ctx, tx, store.Pointers(events)...); err != nil {
		return fmt.Errorf("keeping log events: %w", err)
	}
	for _, t := range streams {
		if err := store.Update(ctx, tx, t); err != nil {
			return fmt.Errorf("keeping the log stream: %w", err)
		}
	}
	held := g.Events
	if err := s.trim(ctx, tx, g); err != nil || g.Events == held {
		return err
	}
	return keepGroup(ctx, tx, g)
}

// keepGroup keeps what a group counts.
func keepGroup(ctx context.Context, tx *store.Tx, g *logGroup) error {
	if err := store.Update(ctx, tx, g, "sequence", "events", "bytes"); err != nil {
		return fmt.Errorf("keeping the log group: %w", err)
	}
	return nil
}

// trim drops the events of a group that are too old, and the oldest of too many. It makes
// room for a tenth, so that it is not needed with every event.
func (s *Service) trim(ctx context.Context, tx *store.Tx, g *logGroup) error {
	if g.Retention > 0 {
		if err := dropEvents(ctx, tx, g, "at < ?", s.horizon(g)); err != nil {
			return err
		}
	}
	if g.Events <= s.config.MaxEvents && g.Bytes <= s.config.MaxBytes {
		return nil
	}
	events, bytes, cut := g.Events, g.Bytes, int64(0)
	for events > s.config.MaxEvents*9/10 || bytes > s.config.MaxBytes*9/10 {
		var oldest []logEvent
		err := store.Query(ctx, tx, &oldest, "SELECT sequence, size FROM logs_events WHERE group_id = ? AND sequence > ? ORDER BY sequence LIMIT 1000",
			g.ID, cut)
		if err != nil {
			return fmt.Errorf("looking for old log events: %w", err)
		}
		if len(oldest) == 0 {
			break
		}
		for _, e := range oldest {
			if events <= s.config.MaxEvents*9/10 && bytes <= s.config.MaxBytes*9/10 {
				break
			}
			events, bytes, cut = events-1, bytes-e.Size, e.Sequence
		}
	}
	return dropEvents(ctx, tx, g, "sequence <= ?", cut)
}

// dropEvents deletes events of a group, and counts them off.
func dropEvents(ctx context.Context, tx *store.Tx, g *logGroup, where string, arg any) error {
	var gone struct {
		Events int64 `db:"events"`
		Bytes  int64 `db:"bytes"`
	}
	err := store.Query(ctx, tx, &gone, "SELECT COUNT(*) AS events, CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes FROM logs_events WHERE group_id = ? AND "+where,
		g.ID, arg)
	if err != nil {
		return fmt.Errorf("counting old log events: %w", err)
	}
	if gone.Events == 0 {
		return nil
	}
	if _, err := store.Exec(ctx, tx, "DELETE FROM logs_events WHERE group_id = ? AND "+where, g.ID, arg); err != nil {
		return fmt.Errorf("deleting old log events: %w", err)
	}
	g.Events, g.Bytes = g.Events-gone.Events, g.Bytes-gone.Bytes
	return nil
}

// horizon is the time before which a group's events have expired.
func (s *Service) horizon(g *logGroup) store.Time {
	if g.Retention == 0 {
		return store.At(time.UnixMicro(1))
	}
	return store.At(s.now().AddDate(0, 0, -int(g.Retention)))
}

// A Line is one line of output, without its end.
type Line struct {
	Time time.Time
	Text string
}

// A logTarget is a log group.
type logTarget struct {
	place awswire.Place
	group string
}

// A streamLine is a line with its stream.
type streamLine struct {
	stream string
	Line
}

const (
	flushLines    = 1000    // so many are written at once
	maxBuffer     = 8 << 20 // bytes that wait for being written; who has more waits too
	flushAttempts = 5
	flushPause    = time.Second
	flushTimeout  = 10 * time.Second // of one attempt
	maxLine       = 256 << 10        // bytes of a line; the rest is cut off
)

// A buffer collects lines and writes them many at once: one transaction, and so one
// wait for the disk, for all that came within Config.Delay.
type buffer struct {
	service *Service
	kick    chan struct{} // there is something to write
	full    chan struct{} // and it should be written now
	stop    chan struct{}
	stopped chan struct{}

	mu      sync.Mutex
	lines   map[logTarget][]streamLine
	order   []logTarget
	bytes   int   // of lines that wait or are being written
	size    int   // of those that wait
	added   int64 // lines, ever
	done    int64 // of these are written or lost
	closed  bool
	flushed chan struct{} // closed, and made anew, when done grows
	written chan struct{} // closed, and made anew, when a group got events
}

func newBuffer(s *Service) *buffer {
	b := &buffer{
		service: s, kick: make(chan struct{}, 1), full: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
		lines: map[logTarget][]streamLine{}, flushed: make(chan struct{}), written: make(chan struct{}),
	}
	go b.run()
	return b
}

// Append adds lines to a log stream, and creates group and stream if they do not exist. It
// returns before the lines are written, which happens within Config.Delay; reads through this
// Service see them at once. Lines that the database rejects are dropped, and counted in the
// log. It blocks while too many lines wait to be written.
func (s *Service) Append(ctx context.Context, place awswire.Place, group, stream string, lines []Line) error {
	if !validLogName(group, maxLogName) || !validStreamName(stream) {
		return fmt.Errorf("append to the log: %q and %q are not the names of a log group and a stream", words.Cut(group, 100), words.Cut(stream, 100))
	}
	return s.lines.add(ctx, logTarget{place, group}, stream, lines)
}

func (b *buffer) add(ctx context.Context, target logTarget, stream string, lines []Line) error {
	for {
		b.mu.Lock()
		if b.closed {
			b.mu.Unlock()
			return errors.New("append to the log: the services are closed")
		}
		if b.bytes < maxBuffer {
			break
		}
		flushed := b.flushed
		b.mu.Unlock()
		signal(b.full)
		select {
		case <-flushed:
		case <-ctx.Done():
			return fmt.Errorf("append to the log: %w", ctx.Err())
		}
	}
	defer b.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	if b.lines[target] == nil {
		b.order = append(b.order, target)
	}
	for _, line := range lines {
		if len(line.Text) > maxLine {
			line.Text = words.Cut(line.Text, maxLine)
		}
		b.lines[target] = append(b.lines[target], streamLine{stream, line})
		b.bytes += len(line.Text) + eventOverhead
		b.size += len(line.Text) + eventOverhead
	}
	b.added += int64(len(lines))
	signal(b.kick)
	if b.added-b.done >= flushLines {
		signal(b.full)
	}
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run writes what is collected until the buffer is closed.
func (b *buffer) run() {
	defer close(b.stopped)
	for {
		select {
		case <-b.kick:
		case <-b.stop:
			b.write()
			return
		}
		timer := time.NewTimer(b.service.config.Delay)
		select {
		case <-timer.C:
		case <-b.full:
		case <-b.stop:
		}
		timer.Stop()
		b.write()
	}
}

// write writes what is collected, in one transaction.
func (b *buffer) write() {
	b.mu.Lock()
	lines, order, size, added := b.lines, b.order, b.size, b.added
	b.lines, b.order, b.size = map[logTarget][]streamLine{}, nil, 0
	count := added - b.done
	b.mu.Unlock()
	if count == 0 {
		return
	}
	for attempt := 1; ; attempt++ {
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		err := b.service.writeLines(ctx, order, lines)
		cancel()
		if err == nil {
			break
		}
		if attempt == flushAttempts || !b.pause() {
			b.service.log.Error("lines of logs are lost", "lines", count, "error", err)
			break
		}
	}
	b.mu.Lock()
	b.bytes -= size
	b.done = added
	close(b.flushed)
	b.flushed = make(chan struct{})
	b.mu.Unlock()
	b.announce()
}

// pause waits before another attempt; false when the buffer is being closed.
func (b *buffer) pause() bool {
	select {
	case <-b.stop:
		return false
	case <-time.After(flushPause):
		return true
	}
}

// announce wakes those who follow a log.
func (b *buffer) announce() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.written)
	b.written = make(chan struct{})
}

// next is closed when something is written after the call.
func (b *buffer) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.written
}

// flush waits until what was added before the call is written.
func (b *buffer) flush(ctx context.Context) error {
	b.mu.Lock()
	until := b.added
	for b.done < until {
		flushed := b.flushed
		b.mu.Unlock()
		signal(b.full)
		select {
		case <-flushed:
		case <-b.stopped:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		b.mu.Lock()
	}
	b.mu.Unlock()
	return nil
}

func (b *buffer) close() error {
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.mu.Unlock()
	if !closed {
		close(b.stop)
	}
	<-b.stopped
	return nil
}

// writeLines keeps lines in the order in which they came.
func (s *Service) writeLines(ctx context.Context, order []logTarget, lines map[logTarget][]streamLine) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, target := range order {
			g, err := s.ensureGroup(ctx, tx, target)
			if err != nil {
				return err
			}
			streams := map[string]*logStream{}
			events := make([]logEvent, len(lines[target]))
			for i, line := range lines[target] {
				if streams[line.stream] == nil {
					if streams[line.stream], err = s.ensureStream(ctx, tx, g, line.stream); err != nil {
						return err
					}
				}
				events[i] = logEvent{Stream: line.stream, At: cmp.Or(store.At(line.Time), s.now()), Message: line.Text}
			}
			if err := s.addEvents(ctx, tx, g, streams, events); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) ensureGroup(ctx context.Context, tx *store.Tx, target logTarget) (*logGroup, error) {
	g, err := groupNamed(ctx, tx, target.place, target.group)
	if err != nil || g != nil {
		return g, err
	}
	g = &logGroup{ID: s.newID(), Account: target.place.Account, Region: target.place.Region, Name: target.group, Class: "STANDARD", CreatedAt: s.now()}
	if err := store.Insert(ctx, tx, g); err != nil {
		return nil, fmt.Errorf("making the log group: %w", err)
	}
	return g, nil
}

func (s *Service) ensureStream(ctx context.Context, tx *store.Tx, g *logGroup, name string) (*logStream, error) {
	t, err := streamNamed(ctx, tx, g.ID, name)
	if err != nil || t != nil {
		return t, err
	}
	t = &logStream{GroupID: g.ID, Name: name, CreatedAt: s.now()}
	if err := store.Insert(ctx, tx, t); err != nil {
		return nil, fmt.Errorf("making the log stream: %w", err)
	}
	return t, nil
}

func logNotFound(what string) error {
	return awswire.Errorf("ResourceNotFoundException", 0, "The specified log %s does not exist.", what)
}
