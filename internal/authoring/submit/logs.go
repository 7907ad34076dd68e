package submit

import (
	"context"
	"errors"
	"strings"
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

// LogQuery selects events.
type LogQuery struct {
	Groups []string  // the first of them that exists is read
	Since  time.Time // the earliest one
	Follow bool      // wait for further ones until ctx ends

	// Reading is called with the group that is read, before its first event, and again when
	// the group changes; it may be nil.
	Reading func(group string)
}

// NoLogsError reports that none of the log groups exists: nothing was written to them yet, or
// logs are not delivered.
type NoLogsError struct{ Groups []string }

func (e *NoLogsError) Error() string {
	return "there is no log group " + strings.Join(e.Groups, ", and none ")
}

// LogGroups lists log groups whose names begin with a prefix, the first 50.
func (r *Remote) LogGroups(ctx context.Context, prefix string) ([]string, error) {
	out, err := r.logs().DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &prefix})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, group := range out.LogGroups {
		names = append(names, aws.ToString(group.LogGroupName))
	}
	return names, nil
}

// late is how much older than the newest event a new one may be when it arrives.
const late = 2 * time.Minute

// Logs calls each for every event, the oldest first, each event once. With Follow it only
// ends with an error: ctx's, each's or that of the service. A log group that does not exist
// is waited for then; otherwise the error is a *[NoLogsError].
func (r *Remote) Logs(ctx context.Context, q LogQuery, each func(LogEvent) error) error {
	client := r.logs()
	seen := map[string]int64{} // event ids with the time of their event
	from, misses, reading := q.Since.UnixMilli(), 0, ""
	for {
		newest := from
		group, err := r.readFirst(ctx, client, q.Groups, from, func(e types.FilteredLogEvent) error {
			id, at := aws.ToString(e.EventId), aws.ToInt64(e.Timestamp)
			if _, known := seen[id]; known && id != "" {
				return nil
			}
			seen[id] = at
			newest = max(newest, min(at, r.config.Now().UnixMilli())) // not that of a clock that is ahead
			return each(LogEvent{time.UnixMilli(at).UTC(), aws.ToString(e.LogStreamName), aws.ToString(e.Message)})
		}, func(group string) {
			if group != reading && q.Reading != nil {
				q.Reading(group)
			}
			reading = group
		})
		switch {
		case stopped(ctx, err):
			return ctx.Err()
		case err != nil && (!q.Follow || misses == maxMisses || !passing(err)):
			return err
		case err != nil:
			misses++
		case group == "" && !q.Follow:
			return &NoLogsError{q.Groups}
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

// readFirst reads the first of the groups that exists, and reports which; "" if none does.
func (r *Remote) readFirst(ctx context.Context, client *cloudwatchlogs.Client, groups []string, from int64, each func(types.FilteredLogEvent) error, reading func(string)) (string, error) {
	for _, group := range groups {
		err := r.readLogs(ctx, client, group, from, func() { reading(group) }, each)
		var none *types.ResourceNotFoundException
		if !errors.As(err, &none) {
			return group, err
		}
	}
	return "", nil
}

// readLogs calls exists once the group has answered, then each for its events.
func (r *Remote) readLogs(ctx context.Context, client *cloudwatchlogs.Client, group string, from int64, exists func(), each func(types.FilteredLogEvent) error) error {
	events := pages(func(token *string) ([]types.FilteredLogEvent, *string, error) {
		out, err := client.FilterLogEvents(ctx, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group, StartTime: &from, NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		exists()
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
