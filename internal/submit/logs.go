package submit

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
)

// A LogEvent is one message of a handler.
type LogEvent struct {
	Time    time.Time `json:"time"`
	Stream  string    `json:"stream"`
	Message string    `json:"message"`
}

// LogQuery says which events are wanted.
type LogQuery struct {
	Group  string
	Since  time.Time // the earliest one
	Follow bool      // wait for further ones until ctx ends
}

// NoLogsError says that a log group does not exist: nothing was written to it yet, or
// nobody delivers logs.
type NoLogsError struct{ Group string }

func (e *NoLogsError) Error() string { return "there is no log group " + e.Group }

// late is how much older than the newest event a new one may be when it arrives.
const late = 2 * time.Minute

// Logs calls each for every event, the oldest first, each event once. With Follow it only
// ends with an error: ctx's, each's or that of the service. A log group that does not exist
// is waited for then; otherwise the error is a *[NoLogsError].
func (r *Remote) Logs(ctx context.Context, q LogQuery, each func(LogEvent) error) error {
	client := r.logs()
	seen := map[string]int64{} // event ids with the time of their event
	from, misses := q.Since.UnixMilli(), 0
	for {
		newest := from
		err := r.readLogs(ctx, client, q.Group, from, func(e types.FilteredLogEvent) error {
			id, at := aws.ToString(e.EventId), aws.ToInt64(e.Timestamp)
			if _, known := seen[id]; known && id != "" {
				return nil
			}
			seen[id] = at
			newest = max(newest, min(at, r.config.Now().UnixMilli())) // not that of a clock that is ahead
			return each(LogEvent{time.UnixMilli(at).UTC(), aws.ToString(e.LogStreamName), aws.ToString(e.Message)})
		})
		var none *types.ResourceNotFoundException
		switch {
		case stopped(ctx, err):
			return ctx.Err()
		case errors.As(err, &none) && !q.Follow:
			return &NoLogsError{q.Group}
		case errors.As(err, &none):
		case err != nil && (!q.Follow || misses == maxMisses || !passing(err)):
			return err
		case err != nil:
			misses++
		default:
			misses = 0
		}
		if !q.Follow {
			return nil
		}
		from = max(q.Since.UnixMilli(), newest-late.Milliseconds())
		for id, at := range seen {
			if at < from {
				delete(seen, id)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(r.pause):
		}
	}
}

func (r *Remote) readLogs(ctx context.Context, client *cloudwatchlogs.Client, group string, from int64, each func(types.FilteredLogEvent) error) error {
	events := pages(func(token *string) ([]types.FilteredLogEvent, *string, error) {
		out, err := client.FilterLogEvents(ctx, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group, StartTime: &from, NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		return out.Events, out.NextToken, nil
	})
	for e, err := range events {
		if err == nil {
			err = each(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
