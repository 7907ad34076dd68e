package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	maxLogPage  = 10000   // events of an answer
	maxLogBytes = 1 << 20 // bytes of an answer
	maxScanned  = 10000   // events that one FilterLogEvents looks at
	scanBatch   = 1000
)

// logEvents selects the events of a group between two times, in milliseconds, that it
// still keeps.
func (s *Service) logEvents(g *logGroup, start, end *int64) store.Where {
	var where store.Where
	where.And("e.group_id = ? AND e.at >= ?", g.ID, s.horizon(g))
	if start != nil {
		where.And("e.at >= ?", millisTime(*start))
	}
	if end != nil {
		where.And("e.at < ?", millisTime(*end))
	}
	return where
}

// millisTime is a time in milliseconds for a column.
func millisTime(ms int64) int64 { return min(max(ms, 0), 1<<52) * 1000 }

func (s *Service) getLogEvents(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.GetLogEventsInput) (*cloudwatchlogs.GetLogEventsOutput, error) {
	if err := s.lines.flush(ctx); err != nil {
		return nil, err
	}
	g, err := s.groupOf(ctx, s.store.Read(), caller, in.LogGroupName, in.LogGroupIdentifier)
	if err != nil {
		return nil, err
	}
	t, err := streamNamed(ctx, s.store.Read(), g.ID, *in.LogStreamName)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, logNotFound("stream")
	}
	kind, from := "b", position{1<<62 - 1, 1<<62 - 1} // the last events
	if aws.ToBool(in.StartFromHead) {
		kind, from = "f", position{}
	}
	if in.NextToken != nil {
		if kind, from, err = parsePosition(*in.NextToken, "f", "b"); err != nil {
			return nil, err
		}
	}
	var rows []logEvent
	where, order := s.logEvents(g, in.StartTime, in.EndTime), " ORDER BY e.at, e.sequence"
	where.And("e.stream = ?", t.Name)
	if kind == "f" {
		where.And("e.at > ? OR e.at = ? AND e.sequence > ?", from.at, from.at, from.sequence)
	} else {
		where.And("e.at < ? OR e.at = ? AND e.sequence < ?", from.at, from.at, from.sequence)
		order = " ORDER BY e.at DESC, e.sequence DESC"
	}
	if err := store.List(ctx, s.store.Read(), &rows, where.Clause()+order+" LIMIT ?", append(where.Args, awswire.PageSize(in.Limit, maxLogPage))...); err != nil {
		return nil, fmt.Errorf("reading log events: %w", err)
	}
	rows = fitting(rows)
	if kind == "b" {
		slices.Reverse(rows)
	}
	out := &cloudwatchlogs.GetLogEventsOutput{Events: []cwtypes.OutputLogEvent{}}
	for i := range rows {
		e := &rows[i]
		out.Events = append(out.Events, cwtypes.OutputLogEvent{Timestamp: millis(e.At), Message: &e.Message, IngestionTime: millis(e.IngestedAt)})
	}
	first, last := from, from
	if len(rows) > 0 {
		first, last = positionOf(&rows[0]), positionOf(&rows[len(rows)-1])
	} else if kind == "b" && in.NextToken == nil {
		first, last = position{}, position{} // nothing yet: what comes is ahead
	}
	out.NextBackwardToken, out.NextForwardToken = first.token("b"), last.token("f")
	return out, nil
}

func positionOf(e *logEvent) position { return position{e.At.UnixMicro(), e.Sequence} }

// fitting are the first events that one answer can hold.
func fitting(rows []logEvent) []logEvent {
	size := int64(0)
	for i := range rows {
		if size += rows[i].Size; size > maxLogBytes && i > 0 {
			return rows[:i]
		}
	}
	return rows
}

func (s *Service) filterLogEvents(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.FilterLogEventsInput) (*cloudwatchlogs.FilterLogEventsOutput, error) {
	if in.LogStreamNamePrefix != nil && len(in.LogStreamNames) > 0 {
		return nil, logsInvalid("logStreamNamePrefix and logStreamNames are mutually exclusive parameters.")
	}
	pattern, err := parseFilter(aws.ToString(in.FilterPattern))
	if err != nil {
		return nil, err
	}
	from := position{}
	if in.NextToken != nil {
		if _, from, err = parsePosition(*in.NextToken, "n"); err != nil {
			return nil, err
		}
	}
	if err := s.lines.flush(ctx); err != nil {
		return nil, err
	}
	g, err := s.groupOf(ctx, s.store.Read(), caller, in.LogGroupName, in.LogGroupIdentifier)
	if err != nil {
		return nil, err
	}
	out := &cloudwatchlogs.FilterLogEventsOutput{Events: []cwtypes.FilteredLogEvent{}, SearchedLogStreams: []cwtypes.SearchedLogStream{}}
	limit, size := awswire.PageSize(in.Limit, maxLogPage), int64(0)
	for scanned := 0; ; scanned += scanBatch {
		var rows []logEvent
		where := s.logEvents(g, in.StartTime, in.EndTime)
		where.And("e.at > ? OR e.at = ? AND e.sequence > ?", from.at, from.at, from.sequence)
		if len(in.LogStreamNames) > 0 {
			where.And("e.stream IN (?)", store.In(in.LogStreamNames))
		}
		if prefix := aws.ToString(in.LogStreamNamePrefix); prefix != "" {
			where.And("e.stream >= ?", prefix)
			if next, ok := store.Successor(prefix); ok {
				where.And("e.stream < ?", next)
			}
		}
		if err := store.List(ctx, s.store.Read(), &rows, where.Clause()+" ORDER BY e.at, e.sequence LIMIT ?", append(where.Args, scanBatch)...); err != nil {
			return nil, fmt.Errorf("reading log events: %w", err)
		}
		for i := range rows {
			e := &rows[i]
			if pattern.matches(e.Message) {
				if size += e.Size; len(out.Events) == limit || size > maxLogBytes && len(out.Events) > 0 {
					out.NextToken = from.token("n")
					return out, nil
				}
				out.Events = append(out.Events, cwtypes.FilteredLogEvent{
					EventId: new(fmt.Sprintf("%056d", e.Sequence)), LogStreamName: &e.Stream, Timestamp: millis(e.At), Message: &e.Message, IngestionTime: millis(e.IngestedAt),
				})
			}
			from = positionOf(e)
		}
		if len(rows) < scanBatch {
			return out, nil
		}
		if scanned+scanBatch >= maxScanned {
			out.NextToken = from.token("n")
			return out, nil
		}
	}
}

// A Event is an event of a log group. IDs order the events of a group as they came in.
type Event struct {
	ID     string
	Time   time.Time
	Stream string
	Text   string
}

// Groups names the log groups of an account in a region, sorted.
func (s *Service) Groups(ctx context.Context, place awswire.Place) ([]string, error) {
	if err := s.lines.flush(ctx); err != nil {
		return nil, err
	}
	found := []string{}
	err := store.Query(ctx, s.store.Read(), &found, "SELECT name FROM logs_groups WHERE account = ? AND region = ? ORDER BY name",
		place.Account, place.Region)
	if err != nil {
		return nil, fmt.Errorf("listing log groups: %w", err)
	}
	return found, nil
}

// Lines reads a group in the order in which its events arrived: at most limit events after the
// one with the id after, or the last ones for "" and for an unknown id. A missing group has no
// lines.
func (s *Service) Lines(ctx context.Context, place awswire.Place, group, after string, limit int) ([]Event, error) {
	cursor, err := strconv.ParseInt(after, 10, 64)
	if err != nil || cursor < 0 {
		cursor = -1
	}
	events, _, err := s.readLog(ctx, logTarget{place, group}, "", cursor, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return events, err
}

// errNoGroup reports that a log group does not exist.
var errNoGroup = fmt.Errorf("no such log group: %w", fs.ErrNotExist)

// readLog reads at most limit events behind a cursor, or the last ones for one below 0,
// and gives the cursor behind them.
func (s *Service) readLog(ctx context.Context, target logTarget, stream string, cursor int64, limit int) ([]Event, int64, error) {
	if err := s.lines.flush(ctx); err != nil {
		return nil, cursor, err
	}
	g, err := groupNamed(ctx, s.store.Read(), target.place, target.group)
	if err != nil {
		return nil, cursor, err
	}
	if g == nil {
		return nil, cursor, errNoGroup
	}
	if cursor > g.Sequence {
		cursor = -1 // of a group that had the name before
	}
	var rows []logEvent
	var where store.Where
	where.And("e.group_id = ? AND e.sequence > ? AND e.at >= ?", g.ID, cursor, s.horizon(g))
	if stream != "" {
		where.And("e.stream = ?", stream)
	}
	order := " ORDER BY e.sequence"
	if cursor < 0 {
		order += " DESC"
	}
	if err := store.List(ctx, s.store.Read(), &rows, where.Clause()+order+" LIMIT ?", append(where.Args, limit)...); err != nil {
		return nil, cursor, fmt.Errorf("reading log events: %w", err)
	}
	if cursor < 0 {
		slices.Reverse(rows)
		cursor = g.Sequence
	}
	out := make([]Event, len(rows))
	for i, e := range rows {
		out[i] = Event{ID: strconv.FormatInt(e.Sequence, 10), Time: e.At.Time, Stream: e.Stream, Text: e.Message}
		cursor = e.Sequence
	}
	return out, cursor, nil
}

// StreamLines reads the first lines of one stream since a time, at most limit of them. What
// does not exist has no lines.
func (s *Service) StreamLines(ctx context.Context, place awswire.Place, group, stream string, since time.Time, limit int) ([]Event, error) {
	var out []Event
	for e, err := range s.Tail(ctx, place, group, Tail{Stream: stream, Since: since}) {
		var refusal *awswire.Error
		switch {
		case errors.As(err, &refusal):
			return nil, nil // no such group
		case err != nil:
			return nil, err
		}
		if out = append(out, e); len(out) == limit {
			break
		}
	}
	return out, nil
}

// A Tail selects the events that Tail returns.
type Tail struct {
	Stream string    // only of this one; "" for all
	Since  time.Time // only from then on; zero for all that the group holds
	Filter string    // a filter pattern, as of FilterLogEvents
	Follow bool      // continue with new events, until the context ends
}

// tailPoll is how often a followed group is looked at although nothing was heard: other
// processes may write to it.
const tailPoll = time.Second

// Tail returns the events of a group in the order in which they arrived. Without Follow it
// ends after the last one, and a missing group is an error, ResourceNotFoundException. With
// Follow it waits for more, and for the group itself, until ctx ends, which is not an error.
// An error ends it.
func (s *Service) Tail(ctx context.Context, place awswire.Place, group string, tail Tail) iter.Seq2[Event, error] {
	target := logTarget{place, group}
	return func(yield func(Event, error) bool) {
		pattern, err := parseFilter(tail.Filter)
		if err != nil {
			yield(Event{}, err)
			return
		}
		for cursor := int64(0); ; {
			next := s.lines.next()
			var events []Event
			events, cursor, err = s.readLog(ctx, target, tail.Stream, cursor, scanBatch)
			switch {
			case ctx.Err() != nil && tail.Follow:
				return
			case errors.Is(err, fs.ErrNotExist) && tail.Follow:
				cursor = 0
			case errors.Is(err, fs.ErrNotExist):
				yield(Event{}, logNotFound("group"))
				return
			case err != nil:
				yield(Event{}, err)
				return
			}
			for _, e := range events {
				if !e.Time.Before(tail.Since) && pattern.matches(e.Text) && !yield(e, nil) {
					return
				}
			}
			if len(events) == scanBatch {
				continue
			}
			if !tail.Follow {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-next:
			case <-time.After(tailPoll):
			}
		}
	}
}
