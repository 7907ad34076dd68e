package logs

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
)

func TestLogs(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx, group, stream := cloudwatchlogs.NewFromConfig(b.config(account)), t.Context(), aws.String("/app/logs"), aws.String("2026/[$LATEST]x")
		_, err := c.CreateLogGroup(ctx, &cloudwatchlogs.CreateLogGroupInput{LogGroupName: group, Tags: map[string]string{"a": "b"}})
		ok(t, err)
		_, err = c.CreateLogGroup(ctx, &cloudwatchlogs.CreateLogGroupInput{LogGroupName: group})
		wantCode(t, err, "ResourceAlreadyExistsException")
		put := func(events ...cwtypes.InputLogEvent) (*cloudwatchlogs.PutLogEventsOutput, error) {
			return c.PutLogEvents(ctx, &cloudwatchlogs.PutLogEventsInput{LogGroupName: group, LogStreamName: stream, LogEvents: events})
		}
		now := time.Now().UnixMilli()
		event := func(ago time.Duration, text string) cwtypes.InputLogEvent {
			return cwtypes.InputLogEvent{Timestamp: aws.Int64(now - ago.Milliseconds()), Message: &text}
		}
		_, err = put(event(0, "x"))
		wantCode(t, err, "ResourceNotFoundException")
		_, err = c.CreateLogStream(ctx, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: group, LogStreamName: stream})
		ok(t, err)
		_, err = put(event(0, "b"), event(time.Second, "a"))
		wantCode(t, err, "InvalidParameterException")
		_, err = put(event(3*time.Second, "first ERROR"), event(2*time.Second, "second \x00 line"), event(time.Second, "third ERROR again"))
		ok(t, err)
		rejected, err := put(event(15*24*time.Hour, "old"))
		ok(t, err)
		equal(t, "rejected", *rejected.RejectedLogEventsInfo.TooOldLogEventEndIndex, 1)

		read := func(in cloudwatchlogs.GetLogEventsInput) (string, *cloudwatchlogs.GetLogEventsOutput) {
			in.LogGroupName, in.LogStreamName = group, stream
			out, err := c.GetLogEvents(ctx, &in)
			ok(t, err)
			var texts []string
			for _, e := range out.Events {
				texts = append(texts, strings.Fields(*e.Message)[0])
			}
			return strings.Join(texts, " "), out
		}
		text, last := read(cloudwatchlogs.GetLogEventsInput{Limit: aws.Int32(2)})
		equal(t, "the last", text, "second third")
		text, _ = read(cloudwatchlogs.GetLogEventsInput{NextToken: last.NextBackwardToken})
		equal(t, "before them", text, "first")
		text, end := read(cloudwatchlogs.GetLogEventsInput{NextToken: last.NextForwardToken})
		equal(t, "after them", text, "")
		equal(t, "token at the end", *end.NextForwardToken, *last.NextForwardToken)
		text, _ = read(cloudwatchlogs.GetLogEventsInput{StartFromHead: aws.Bool(true), StartTime: aws.Int64(now - 2000), EndTime: aws.Int64(now - 1000)})
		equal(t, "between two times", text, "second")
		_, err = put(event(0, "fourth"))
		ok(t, err)
		text, _ = read(cloudwatchlogs.GetLogEventsInput{NextToken: end.NextForwardToken})
		equal(t, "what came", text, "fourth")

		for pattern, want := range map[string]int{"": 4, "ERROR": 2, "ERROR again": 1, "?second ?fourth": 2, "ERROR -again": 1, `"ERROR again"`: 1, "error": 0} {
			out, err := c.FilterLogEvents(ctx, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: group, FilterPattern: &pattern})
			ok(t, err)
			equal(t, pattern, len(out.Events), want)
		}
		for pattern, code := range map[string]string{"{ $.a = 1 }": "NotImplemented", "[a, b]": "NotImplemented", "a-b": "InvalidParameterException", `"open`: "InvalidParameterException"} {
			_, err := c.FilterLogEvents(ctx, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: group, FilterPattern: &pattern})
			wantCode(t, err, code)
		}
		count := 0
		pages := cloudwatchlogs.NewFilterLogEventsPaginator(c, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: group, Limit: aws.Int32(1)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			ok(t, err)
			count += len(page.Events)
		}
		equal(t, "events by pages", count, 4)

		groups, err := c.DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: aws.String("/app")})
		ok(t, err)
		equal(t, "ARN", *groups.LogGroups[0].Arn, "arn:aws:logs:eu-west-1:123456789012:log-group:/app/logs:*")
		streams, err := c.DescribeLogStreams(ctx, &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: group, OrderBy: cwtypes.OrderByLastEventTime, Descending: aws.Bool(true)})
		ok(t, err)
		equal(t, "last event", *streams.LogStreams[0].LastEventTimestamp, now)
		_, err = c.PutRetentionPolicy(ctx, &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: group, RetentionInDays: aws.Int32(2)})
		wantCode(t, err, "InvalidParameterException")
		_, err = c.PutRetentionPolicy(ctx, &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: group, RetentionInDays: aws.Int32(1)})
		ok(t, err)
		b.advance(25 * time.Hour)
		text, _ = read(cloudwatchlogs.GetLogEventsInput{StartFromHead: aws.Bool(true)})
		equal(t, "after the retention", text, "")
		tags, err := c.ListTagsForResource(ctx, &cloudwatchlogs.ListTagsForResourceInput{ResourceArn: groups.LogGroups[0].LogGroupArn})
		ok(t, err)
		equal(t, "tag", tags.Tags["a"], "b")
		_, err = c.StartQuery(ctx, &cloudwatchlogs.StartQueryInput{LogGroupName: group, QueryString: aws.String("x"), StartTime: aws.Int64(0), EndTime: aws.Int64(1)})
		wantCode(t, err, "NotImplemented")
		_, err = c.DeleteLogStream(ctx, &cloudwatchlogs.DeleteLogStreamInput{LogGroupName: group, LogStreamName: stream})
		ok(t, err)
		_, err = c.DeleteLogGroup(ctx, &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: group})
		ok(t, err)
		_, err = c.DescribeLogStreams(ctx, &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: group})
		wantCode(t, err, "ResourceNotFoundException")
	})
}

func TestAppendAndTail(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan string, 100)
		var wait sync.WaitGroup
		wait.Go(func() { // before the group is there
			for e, err := range b.Tail(ctx, home, "handlers", Tail{Follow: true, Filter: "-skip"}) {
				if err != nil {
					t.Error(err)
				}
				got <- e.Stream + ": " + e.Text
			}
		})
		for i := range 5 {
			ok(t, b.Append(ctx, home, "handlers", fmt.Sprint("s", i%2), []Line{{time.Now(), fmt.Sprint("line ", i)}, {time.Now(), "skip this"}}))
		}
		lines, err := b.Lines(ctx, home, "handlers", "", 3)
		ok(t, err)
		equal(t, "the last lines", fmt.Sprint(len(lines), " ", lines[1].Text), "3 line 4")
		more, err := b.Lines(ctx, home, "handlers", lines[1].ID, 10)
		ok(t, err)
		equal(t, "what follows", fmt.Sprint(len(more), " ", more[0].Text), "1 skip this")
		none, err := b.Lines(ctx, home, "absent", "", 10)
		ok(t, err)
		equal(t, "lines of no group", len(none), 0)
		groups, err := b.Groups(ctx, home)
		ok(t, err)
		equal(t, "groups", fmt.Sprint(groups), "[handlers]")
		seen := map[string]bool{}
		for range 5 {
			seen[<-got] = true
		}
		for i := range 5 {
			if line := fmt.Sprintf("s%d: line %d", i%2, i); !seen[line] {
				t.Errorf("%q was not followed: %v", line, seen)
			}
		}
		cancel()
		wait.Wait()
		for _, err := range b.Tail(t.Context(), home, "absent", Tail{}) {
			if err == nil {
				t.Error("a log group that is not there has events")
			}
		}
		if err := b.Append(t.Context(), home, "bad name", "s", []Line{{}}); err == nil {
			t.Error("lines for a group with a bad name were taken")
		}
	})
}

// TestConcurrentLines has many writers append to one group: no line may be lost.
func TestConcurrentLines(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				text := fmt.Sprint("text ", i)
				if err := b.writeLines(t.Context(), []logTarget{{home, "shared"}}, map[logTarget][]streamLine{{home, "shared"}: {{text, Line{Text: text}}}}); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		lines, err := b.Lines(t.Context(), home, "shared", "", 100)
		ok(t, err)
		equal(t, "lines", len(lines), 8)
	})
}

// TestLogBounds writes more than a group may hold.
func TestLogBounds(t *testing.T) {
	b := onSQLite(t, Config{MaxEvents: 1000, MaxBytes: 50_000})
	for i := range 40 {
		lines := make([]Line, 100)
		for j := range lines {
			lines[j] = Line{time.Now(), fmt.Sprint("line ", i*100+j)}
		}
		ok(t, b.Append(t.Context(), home, "g", "s", lines))
	}
	lines, err := b.Lines(t.Context(), home, "g", "", 10_000)
	ok(t, err)
	if n := len(lines); n > 1000 || n < 900 || lines[n-1].Text != "line 3999" {
		t.Errorf("%d lines are left, the last is %q", n, lines[n-1].Text)
	}
	ok(t, b.Append(t.Context(), home, "g", "s", []Line{{time.Now(), strings.Repeat("x", 30_000)}, {time.Now(), strings.Repeat("y", 30_000)}}))
	g, err := groupAfterFlush(t, b)
	ok(t, err)
	if g.Bytes > 50_000 || g.Events != 1 {
		t.Errorf("the group has %d events of %d bytes", g.Events, g.Bytes)
	}
}

func groupAfterFlush(t *testing.T, b *bench) (*logGroup, error) {
	t.Helper()
	ok(t, b.lines.flush(t.Context()))
	return groupNamed(t.Context(), b.store.Read(), home, "g")
}

func FuzzFilter(f *testing.F) {
	for _, seed := range []string{`?a -"b c" d`, "{ $.a }"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parseFilter(text); err == nil {
			p.matches(text)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	s := onSQLite(b, Config{})
	for b.Loop() {
		ok(b, s.Append(b.Context(), home, "g", "s", []Line{{Text: "a line of output of a handler, of common length"}}))
	}
	ok(b, s.lines.flush(b.Context()))
}
