// Package logs serves the part of CloudWatch Logs that CloudFormation's clients and handlers
// use: groups, streams, events, their retention and filter patterns, on the tables of a
// store. Parts of the program itself append lines, which are written many at once, and
// follow groups.
//
// The wire behavior is that of the service for the operations that are here. What is not
// here, such as queries and metrics, is refused by its name (NotImplemented, status 501).
package logs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up the service. Store must be set.
type Config struct {
	Store *store.Store

	// MaxEvents and MaxBytes bound each log group; the oldest events go first. Zero means
	// 100 000 events and 64 MiB.
	MaxEvents int64
	MaxBytes  int64

	// Delay is how long Append may keep lines in memory, to write many at once. Zero means
	// 200 ms.
	Delay time.Duration

	Logger *slog.Logger  // of lines that are lost and of internal failures; nil: nowhere
	NewID  func() string // ids, UUIDs in form; nil makes random ones
}

// Service is CloudWatch Logs. Its methods may be called from several goroutines.
type Service struct {
	config Config
	store  *store.Store
	log    *slog.Logger
	newID  func() string
	lines  *buffer
}

// New starts the service on a store. Close ends it, before the store.
func New(config Config) *Service {
	if config.MaxEvents <= 0 {
		config.MaxEvents = 100_000
	}
	if config.MaxBytes <= 0 {
		config.MaxBytes = 64 << 20
	}
	if config.Delay <= 0 {
		config.Delay = 200 * time.Millisecond
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.NewID == nil {
		config.NewID = uuid.NewString
	}
	s := &Service{config: config, store: config.Store, log: config.Logger, newID: config.NewID}
	s.lines = newBuffer(s)
	return s
}

// Close writes the lines that are in memory and ends the service.
func (s *Service) Close() error { return s.lines.close() }

func (s *Service) now() store.Time { return s.store.Now() }

const (
	maxLogName   = 512
	maxLogBatch  = 1 << 20 // bytes of a PutLogEvents, each event counted with its overhead
	maxLogAge    = 14 * 24 * time.Hour
	maxLogFuture = 2 * time.Hour
)

// retentions are the days that a retention policy may have.
var retentions = []int32{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}

// Table is CloudWatch Logs, without queries, metrics and deliveries.
func (s *Service) Table() *awswire.Table {
	const groupPattern, streamPattern = `[\.\-_/#A-Za-z0-9]+`, `[^:*]*`
	group := awswire.Constraint{Member: "logGroupName", MinLength: 1, MaxLength: maxLogName, Pattern: groupPattern}
	required := group
	required.Required = true
	stream := awswire.Constraint{Member: "logStreamName", Required: true, MinLength: 1, MaxLength: maxLogName, Pattern: streamPattern}
	limit := func(most int64) awswire.Constraint {
		return awswire.Constraint{Member: "limit", Min: aws.Int64(1), Max: aws.Int64(most)}
	}
	return &awswire.Table{
		Service: "logs", Protocol: awswire.JSON11, TargetPrefix: "Logs_20140328", LowerFirst: true, Logger: s.log,
		Operations: []awswire.Operation{
			awswire.TextOp("CreateLogGroup", s.createLogGroup),
			awswire.TextOp("CreateLogStream", s.createLogStream),
			awswire.TextOp("DeleteLogGroup", s.deleteLogGroup),
			awswire.TextOp("DeleteLogStream", s.deleteLogStream),
			awswire.TextOp("DeleteRetentionPolicy", s.deleteRetentionPolicy),
			awswire.TextOp("DescribeLogGroups", s.describeLogGroups),
			awswire.TextOp("DescribeLogStreams", s.describeLogStreams),
			awswire.TextOp("FilterLogEvents", s.filterLogEvents),
			awswire.TextOp("GetLogEvents", s.getLogEvents),
			awswire.TextOp("ListTagsForResource", s.listLogTags),
			awswire.TextOp("ListTagsLogGroup", s.listTagsLogGroup),
			awswire.Op("PutLogEvents", s.putLogEvents), // whose messages may hold anything
			awswire.TextOp("PutRetentionPolicy", s.putRetentionPolicy),
			awswire.TextOp("TagLogGroup", s.tagLogGroup),
			awswire.TextOp("TagResource", s.tagLogResource),
			awswire.TextOp("UntagLogGroup", s.untagLogGroup),
			awswire.TextOp("UntagResource", s.untagLogResource),
		},
		NoResult: strings.Fields(`CreateLogGroup CreateLogStream DeleteLogGroup DeleteLogStream DeleteRetentionPolicy PutRetentionPolicy
			TagLogGroup TagResource UntagLogGroup UntagResource`),
		Known: known,
		Constraints: map[string][]awswire.Constraint{
			"CreateLogGroup": {required, {Member: "tags", MaxLength: 50}}, "DeleteLogGroup": {required}, "DeleteRetentionPolicy": {required},
			"CreateLogStream": {required, stream}, "DeleteLogStream": {required, stream},
			"DescribeLogGroups":   {{Member: "logGroupNamePrefix", MinLength: 1, MaxLength: maxLogName, Pattern: groupPattern}, limit(50)},
			"DescribeLogStreams":  {group, {Member: "logStreamNamePrefix", MinLength: 1, MaxLength: maxLogName, Pattern: streamPattern}, limit(50)},
			"FilterLogEvents":     {group, {Member: "filterPattern", MaxLength: 1024}, {Member: "logStreamNames", MinLength: 1, MaxLength: 100}, limit(10000)},
			"GetLogEvents":        {group, stream, limit(10000)},
			"PutLogEvents":        {required, stream, {Member: "logEvents", Required: true, MinLength: 1, MaxLength: 10000}},
			"PutRetentionPolicy":  {required, {Member: "retentionInDays", Required: true}},
			"ListTagsForResource": {{Member: "resourceArn", Required: true, MinLength: 1, MaxLength: 1011}},
			"TagResource":         {{Member: "resourceArn", Required: true, MinLength: 1, MaxLength: 1011}, {Member: "tags", Required: true, MinLength: 1, MaxLength: 50}},
			"UntagResource":       {{Member: "resourceArn", Required: true, MinLength: 1, MaxLength: 1011}, {Member: "tagKeys", Required: true, MaxLength: 50}},
			"TagLogGroup":         {required, {Member: "tags", Required: true, MinLength: 1, MaxLength: 50}},
			"UntagLogGroup":       {required, {Member: "tags", Required: true, MinLength: 1}}, "ListTagsLogGroup": {required},
		},
		ValidationCode: "InvalidParameterException",
	}
}

var logName = lazyregexp.New(`^[.\-_/#A-Za-z0-9]+$`)

func validLogName(name string, most int) bool { return len(name) <= most && logName.MatchString(name) }

func validStreamName(name string) bool {
	return name != "" && len(name) <= maxLogName && !strings.ContainsAny(name, ":*\x00") && strings.ToValidUTF8(name, "") == name
}

func logsInvalid(format string, args ...any) error {
	return awswire.Errorf("InvalidParameterException", 0, format, args...)
}

func logARN(caller awswire.Caller, name string) string {
	return fmt.Sprintf("arn:%s:logs:%s:%s:log-group:%s", caller.Partition(), caller.Region, caller.Account, name)
}

// groupOf is the group that a request names: by its name, or by an identifier that is a
// name or an ARN.
func (s *Service) groupOf(ctx context.Context, db store.DB, caller awswire.Caller, name, identifier *string) (*logGroup, error) {
	switch {
	case name != nil && identifier != nil:
		return nil, logsInvalid("LogGroup name and LogGroup ARN are mutually exclusive parameters.")
	case name == nil && identifier == nil:
		return nil, logsInvalid("Either log group name or log group identifier must be specified.")
	}
	text := aws.ToString(cmp.Or(name, identifier))
	if strings.HasPrefix(text, "arn:") {
		parts := strings.Split(text, ":")
		if len(parts) < 7 || parts[2] != "logs" || parts[5] != "log-group" {
			return nil, logsInvalid("The ARN is not that of a log group.")
		}
		if parts[3] != caller.Region || parts[4] != caller.Account {
			return nil, logNotFound("group")
		}
		text = parts[6]
	}
	g, err := groupNamed(ctx, db, caller.Place, text)
	if err == nil && g == nil {
		return nil, logNotFound("group")
	}
	return g, err
}

func (s *Service) createLogGroup(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.CreateLogGroupInput) (*cloudwatchlogs.CreateLogGroupOutput, error) {
	if aws.ToBool(in.DeletionProtectionEnabled) {
		return nil, awswire.NotOffered("Deletion protection")
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		old, err := groupNamed(ctx, tx, caller.Place, *in.LogGroupName)
		if err != nil {
			return err
		}
		if old != nil {
			return awswire.Errorf("ResourceAlreadyExistsException", 0, "The specified log group already exists")
		}
		g := &logGroup{
			ID: s.newID(), Account: caller.Account, Region: caller.Region, Name: *in.LogGroupName, KeyID: in.KmsKeyId,
			Class: cmp.Or(string(in.LogGroupClass), "STANDARD"), Tags: store.JSONOf(in.Tags), CreatedAt: s.now(),
		}
		return store.Insert(ctx, tx, g)
	})
	return &cloudwatchlogs.CreateLogGroupOutput{}, err
}

func (s *Service) deleteLogGroup(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.DeleteLogGroupInput) (*cloudwatchlogs.DeleteLogGroupOutput, error) {
	if err := s.lines.flush(ctx); err != nil {
		return nil, err
	}
	err := s.withGroup(ctx, caller, in.LogGroupName, nil, func(ctx context.Context, tx *store.Tx, g *logGroup) error {
		for _, table := range [][2]string{{"logs_events", "group_id"}, {"logs_streams", "group_id"}, {"logs_groups", "id"}} {
			if _, err := store.Exec(ctx, tx, "DELETE FROM "+table[0]+" WHERE "+table[1]+" = ?", g.ID); err != nil {
				return fmt.Errorf("deleting the log group: %w", err)
			}
		}
		return nil
	})
	return &cloudwatchlogs.DeleteLogGroupOutput{}, err
}

func (s *Service) createLogStream(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.CreateLogStreamInput) (*cloudwatchlogs.CreateLogStreamOutput, error) {
	err := s.withGroup(ctx, caller, in.LogGroupName, nil, func(ctx context.Context, tx *store.Tx, g *logGroup) error {
		old, err := streamNamed(ctx, tx, g.ID, *in.LogStreamName)
		if err != nil {
			return err
		}
		if old != nil {
			return awswire.Errorf("ResourceAlreadyExistsException", 0, "The specified log stream already exists")
		}
		_, err = s.ensureStream(ctx, tx, g, *in.LogStreamName)
		return err
	})
	return &cloudwatchlogs.CreateLogStreamOutput{}, err
}

func (s *Service) deleteLogStream(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.DeleteLogStreamInput) (*cloudwatchlogs.DeleteLogStreamOutput, error) {
	if err := s.lines.flush(ctx); err != nil {
		return nil, err
	}
	err := s.changeGroup(ctx, caller, in.LogGroupName, nil, func(ctx context.Context, tx *store.Tx, g *logGroup) error {
		t, err := streamNamed(ctx, tx, g.ID, *in.LogStreamName)
		if err != nil {
			return err
		}
		if t == nil {
			return logNotFound("stream")
		}
		if err := dropEvents(ctx, tx, g, "stream = ?", t.Name); err != nil {
			return err
		}
		if err := store.Delete(ctx, tx, t); err != nil {
			return fmt.Errorf("deleting the log stream: %w", err)
		}
		return nil
	})
	return &cloudwatchlogs.DeleteLogStreamOutput{}, err
}

func (s *Service) putRetentionPolicy(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.PutRetentionPolicyInput) (*cloudwatchlogs.PutRetentionPolicyOutput, error) {
	if !slices.Contains(retentions, *in.RetentionInDays) {
		return nil, logsInvalid("1 validation error detected: Value '%d' at 'retentionInDays' failed to satisfy constraint: Member must satisfy enum value set: %v", *in.RetentionInDays, retentions)
	}
	return &cloudwatchlogs.PutRetentionPolicyOutput{}, s.setRetention(ctx, caller, in.LogGroupName, int64(*in.RetentionInDays))
}

func (s *Service) deleteRetentionPolicy(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.DeleteRetentionPolicyInput) (*cloudwatchlogs.DeleteRetentionPolicyOutput, error) {
	return &cloudwatchlogs.DeleteRetentionPolicyOutput{}, s.setRetention(ctx, caller, in.LogGroupName, 0)
}

// setRetention changes for how many days a group keeps events, and drops those that are older.
func (s *Service) setRetention(ctx context.Context, caller awswire.Caller, name *string, days int64) error {
	return s.changeGroup(ctx, caller, name, nil, func(ctx context.Context, tx *store.Tx, g *logGroup) error {
		g.Retention = days
		return s.trim(ctx, tx, g)
	})
}

// withGroup runs do on a group, in one transaction.
func (s *Service) withGroup(ctx context.Context, caller awswire.Caller, name, identifier *string, do func(ctx context.Context, tx *store.Tx, g *logGroup) error) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		g, err := s.groupOf(ctx, tx, caller, name, identifier)
		if err != nil {
			return err
		}
		return do(ctx, tx, g)
	})
}

// changeGroup runs change on a group, and stores the changed row.
func (s *Service) changeGroup(ctx context.Context, caller awswire.Caller, name, identifier *string, change func(ctx context.Context, tx *store.Tx, g *logGroup) error) error {
	return s.withGroup(ctx, caller, name, identifier, func(ctx context.Context, tx *store.Tx, g *logGroup) error {
		if err := change(ctx, tx, g); err != nil {
			return err
		}
		return store.Update(ctx, tx, g)
	})
}

func (s *Service) describeLogGroups(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.DescribeLogGroupsInput) (*cloudwatchlogs.DescribeLogGroupsOutput, error) {
	prefix, pattern := aws.ToString(in.LogGroupNamePrefix), aws.ToString(in.LogGroupNamePattern)
	switch {
	case prefix != "" && pattern != "":
		return nil, logsInvalid("LogGroup name prefix and LogGroup name pattern are mutually exclusive parameters.")
	case aws.ToBool(in.IncludeLinkedAccounts) || len(in.AccountIdentifiers) > 0:
		return nil, awswire.NotOffered("DescribeLogGroups over several accounts")
	case len(in.LogGroupIdentifiers) > 0:
		return nil, awswire.NotOffered("DescribeLogGroups by logGroupIdentifiers")
	}
	after := ""
	if in.NextToken != nil {
		var ok bool
		if after, ok = store.ReadKeyToken(*in.NextToken); !ok {
			return nil, logsInvalid("The specified nextToken is invalid.")
		}
	}
	if err := s.lines.flush(ctx); err != nil {
		return nil, err
	}
	limit := awswire.PageSize(in.Limit, 50)
	var where store.Where
	where.And("account = ? AND region = ? AND name > ? AND name >= ?", caller.Account, caller.Region, after, prefix)
	if next, ok := store.Successor(prefix); ok {
		where.And("name < ?", next)
	}
	if pattern != "" {
		where.And(`LOWER(name) LIKE ? ESCAPE '!'`, "%"+strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(pattern))+"%")
	}
	if in.LogGroupClass != "" {
		where.And("class = ?", string(in.LogGroupClass))
	}
	var rows []logGroup
	if err := store.List(ctx, s.store.Read(), &rows, where.Clause()+" ORDER BY name LIMIT ?", append(where.Args, limit+1)...); err != nil {
		return nil, fmt.Errorf("listing log groups: %w", err)
	}
	out := &cloudwatchlogs.DescribeLogGroupsOutput{LogGroups: []cwtypes.LogGroup{}}
	if len(rows) > limit {
		rows = rows[:limit]
		out.NextToken = new(store.KeyToken(rows[limit-1].Name))
	}
	for i := range rows {
		g := &rows[i]
		arn := logARN(caller, g.Name)
		entry := cwtypes.LogGroup{
			Arn: new(arn + ":*"), LogGroupArn: &arn, LogGroupName: &g.Name, CreationTime: new(g.CreatedAt.UnixMilli()), KmsKeyId: g.KeyID,
			LogGroupClass: cwtypes.LogGroupClass(g.Class), MetricFilterCount: new(int32(0)), StoredBytes: &g.Bytes,
		}
		if g.Retention > 0 {
			entry.RetentionInDays = new(int32(g.Retention))
		}
		out.LogGroups = append(out.LogGroups, entry)
	}
	return out, nil
}

func (s *Service) describeLogStreams(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.DescribeLogStreamsInput) (*cloudwatchlogs.DescribeLogStreamsOutput, error) {
	prefix, byTime := aws.ToString(in.LogStreamNamePrefix), in.OrderBy == cwtypes.OrderByLastEventTime
	if prefix != "" && byTime {
		return nil, logsInvalid("Cannot order by LastEventTime with a logStreamNamePrefix.")
	}
	if err := s.lines.flush(ctx); err != nil {
		return nil, err
	}
	g, err := s.groupOf(ctx, s.store.Read(), caller, in.LogGroupName, in.LogGroupIdentifier)
	if err != nil {
		return nil, err
	}
	var rows []logStream
	if err := store.List(ctx, s.store.Read(), &rows, "WHERE group_id = ? ORDER BY name", g.ID); err != nil {
		return nil, fmt.Errorf("listing log streams: %w", err)
	}
	rows = slices.DeleteFunc(rows, func(t logStream) bool { return !strings.HasPrefix(t.Name, prefix) })
	if byTime {
		slices.SortStableFunc(rows, func(a, b logStream) int { return a.LastEvent.Compare(b.LastEvent.Time) })
	}
	if aws.ToBool(in.Descending) {
		slices.Reverse(rows)
	}
	if in.NextToken != nil {
		after, ok := store.ReadKeyToken(*in.NextToken)
		if !ok {
			return nil, logsInvalid("The specified nextToken is invalid.")
		}
		rows = rows[1+slices.IndexFunc(rows, func(t logStream) bool { return t.Name == after }):]
	}
	out := &cloudwatchlogs.DescribeLogStreamsOutput{LogStreams: []cwtypes.LogStream{}}
	if limit := awswire.PageSize(in.Limit, 50); len(rows) > limit {
		rows = rows[:limit]
		out.NextToken = new(store.KeyToken(rows[limit-1].Name))
	}
	for i := range rows {
		t := &rows[i]
		out.LogStreams = append(out.LogStreams, cwtypes.LogStream{
			Arn: new(logARN(caller, g.Name) + ":log-stream:" + t.Name), LogStreamName: &t.Name, CreationTime: new(t.CreatedAt.UnixMilli()),
			FirstEventTimestamp: millis(t.FirstEvent), LastEventTimestamp: millis(t.LastEvent), LastIngestionTime: millis(t.IngestedAt),
			UploadSequenceToken: new(uploadToken),
		})
	}
	return out, nil
}

// uploadToken is what writers get back; CloudWatch Logs does not look at it any more.
const uploadToken = "49590302938012345678901234567890123456789012345678901234"

func millis(t store.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMilli())
}

// tags are a copy of the tags, not nil.
func (g *logGroup) tags() map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, g.Tags.Get())
	return tags
}

func (s *Service) tagLogs(ctx context.Context, caller awswire.Caller, name, identifier *string, add map[string]string, remove []string) error {
	return s.changeGroup(ctx, caller, name, identifier, func(_ context.Context, _ *store.Tx, g *logGroup) error {
		tags := g.tags()
		maps.Copy(tags, add)
		for _, key := range remove {
			delete(tags, key)
		}
		if len(tags) > 50 {
			return awswire.Errorf("TooManyTagsException", 0, "A log group can have at most 50 tags.")
		}
		g.Tags = store.JSONOf(tags)
		return nil
	})
}

func (s *Service) tagLogResource(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.TagResourceInput) (*cloudwatchlogs.TagResourceOutput, error) {
	return &cloudwatchlogs.TagResourceOutput{}, s.tagLogs(ctx, caller, nil, in.ResourceArn, in.Tags, nil)
}

func (s *Service) untagLogResource(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.UntagResourceInput) (*cloudwatchlogs.UntagResourceOutput, error) {
	return &cloudwatchlogs.UntagResourceOutput{}, s.tagLogs(ctx, caller, nil, in.ResourceArn, nil, in.TagKeys)
}

func (s *Service) tagLogGroup(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.TagLogGroupInput) (*cloudwatchlogs.TagLogGroupOutput, error) {
	return &cloudwatchlogs.TagLogGroupOutput{}, s.tagLogs(ctx, caller, in.LogGroupName, nil, in.Tags, nil)
}

func (s *Service) untagLogGroup(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.UntagLogGroupInput) (*cloudwatchlogs.UntagLogGroupOutput, error) {
	return &cloudwatchlogs.UntagLogGroupOutput{}, s.tagLogs(ctx, caller, in.LogGroupName, nil, nil, in.Tags)
}

func (s *Service) listLogTags(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.ListTagsForResourceInput) (*cloudwatchlogs.ListTagsForResourceOutput, error) {
	g, err := s.groupOf(ctx, s.store.Read(), caller, nil, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return &cloudwatchlogs.ListTagsForResourceOutput{Tags: g.tags()}, nil
}

func (s *Service) listTagsLogGroup(ctx context.Context, caller awswire.Caller, in *cloudwatchlogs.ListTagsLogGroupInput) (*cloudwatchlogs.ListTagsLogGroupOutput, error) {
	g, err := s.groupOf(ctx, s.store.Read(), caller, in.LogGroupName, nil)
	if err != nil {
		return nil, err
	}
	return &cloudwatchlogs.ListTagsLogGroupOutput{Tags: g.tags()}, nil
}

// A position is a place between the events of a group: behind the event with this time
// and number.
type position struct{ at, sequence int64 }

func (p position) token(kind string) *string {
	return new(fmt.Sprintf("%s/%019d%019d", kind, p.at, p.sequence))
}

// parsePosition reads a token of one of kinds.
func parsePosition(token string, kinds ...string) (kind string, p position, err error) {
	kind, digits, _ := strings.Cut(token, "/")
	invalid := logsInvalid("The specified nextToken is invalid.")
	if !slices.Contains(kinds, kind) || len(digits) != 38 {
		return "", p, invalid
	}
	if p.at, err = strconv.ParseInt(digits[:19], 10, 64); err != nil {
		return "", p, invalid
	}
	if p.sequence, err = strconv.ParseInt(digits[19:], 10, 64); err != nil {
		return "", p, invalid
	}
	return kind, p, nil
}
