package resource

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/formwork-dev/formwork/sdk/handlertest"
)

// A fakeKinesis is busy for busyFor after each change, by its clock, and
// refuses other changes meanwhile, as Kinesis does.
type fakeKinesis struct {
	clock   *handlertest.Clock
	streams map[string]*fakeStream
	calls   []string         // names of the calls that changed something
	fail    map[string]error // by the name of the call; once
}

type fakeStream struct {
	created  bool // has been ACTIVE once
	deleting bool
	until    time.Time
	shards   int32
	hours    int32
	key      *string
	tags     map[string]string
}

const busyFor = 20 * time.Second

func newFake() *fakeKinesis {
	return &fakeKinesis{clock: handlertest.NewClock(), streams: map[string]*fakeStream{}, fail: map[string]error{}}
}

func notFoundError() error {
	return &types.ResourceNotFoundException{Message: aws.String("no such stream")}
}
func inUseError() error {
	return &types.ResourceInUseException{Message: aws.String("stream is not ACTIVE")}
}

func (f *fakeKinesis) failed(call string) error {
	err := f.fail[call]
	delete(f.fail, call)
	return err
}

func (f *fakeKinesis) stream(name *string) (*fakeStream, error) {
	s := f.streams[*name]
	if s != nil && s.deleting && !f.clock.Now().Before(s.until) {
		delete(f.streams, *name)
		s = nil
	}
	if s == nil {
		return nil, notFoundError()
	}
	return s, nil
}

// change is what all changes have in common. Tags do not keep a stream busy.
func (f *fakeKinesis) change(call string, name *string, busy bool) (*fakeStream, error) {
	if err := f.failed(call); err != nil {
		return nil, err
	}
	s, err := f.stream(name)
	if err != nil {
		return nil, err
	}
	if f.clock.Now().Before(s.until) {
		return nil, inUseError()
	}
	f.calls = append(f.calls, call)
	if busy {
		s.until = f.clock.Now().Add(busyFor)
	}
	return s, nil
}

func (f *fakeKinesis) CreateStream(_ context.Context, in *kinesis.CreateStreamInput, _ ...func(*kinesis.Options)) (*kinesis.CreateStreamOutput, error) {
	if err := f.failed("CreateStream"); err != nil {
		return nil, err
	}
	if f.streams[*in.StreamName] != nil {
		return nil, inUseError()
	}
	f.calls = append(f.calls, "CreateStream")
	f.streams[*in.StreamName] = &fakeStream{until: f.clock.Now().Add(busyFor), shards: *in.ShardCount, hours: defaultRetention, tags: map[string]string{}}
	return &kinesis.CreateStreamOutput{}, nil
}

func (f *fakeKinesis) DeleteStream(_ context.Context, in *kinesis.DeleteStreamInput, _ ...func(*kinesis.Options)) (*kinesis.DeleteStreamOutput, error) {
	s, err := f.change("DeleteStream", in.StreamName, true)
	if err != nil {
		return nil, err
	}
	s.deleting = true
	return &kinesis.DeleteStreamOutput{}, nil
}

func (f *fakeKinesis) DescribeStreamSummary(_ context.Context, in *kinesis.DescribeStreamSummaryInput, _ ...func(*kinesis.Options)) (*kinesis.DescribeStreamSummaryOutput, error) {
	if err := f.failed("DescribeStreamSummary"); err != nil {
		return nil, err
	}
	s, err := f.stream(in.StreamName)
	if err != nil {
		return nil, err
	}
	status := types.StreamStatusActive
	switch busy := f.clock.Now().Before(s.until); {
	case s.deleting:
		status = types.StreamStatusDeleting
	case busy && !s.created:
		status = types.StreamStatusCreating
	case busy:
		status = types.StreamStatusUpdating
	default:
		s.created = true
	}
	summary := &types.StreamDescriptionSummary{
		StreamName: in.StreamName, StreamARN: aws.String("arn:aws:kinesis:us-east-1:123456789012:stream/" + *in.StreamName), StreamStatus: status,
		OpenShardCount: &s.shards, RetentionPeriodHours: &s.hours, EncryptionType: types.EncryptionTypeNone,
	}
	if s.key != nil {
		summary.EncryptionType, summary.KeyId = types.EncryptionTypeKms, s.key
	}
	return &kinesis.DescribeStreamSummaryOutput{StreamDescriptionSummary: summary}, nil
}

func (f *fakeKinesis) ListTagsForStream(_ context.Context, in *kinesis.ListTagsForStreamInput, _ ...func(*kinesis.Options)) (*kinesis.ListTagsForStreamOutput, error) {
	if err := f.failed("ListTagsForStream"); err != nil {
		return nil, err
	}
	s, err := f.stream(in.StreamName)
	if err != nil {
		return nil, err
	}
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(s.tags)), func(key string) bool { return in.ExclusiveStartTagKey != nil && key <= *in.ExclusiveStartTagKey })
	more := len(keys) > 10
	out := &kinesis.ListTagsForStreamOutput{HasMoreTags: &more}
	for _, key := range keys[:min(10, len(keys))] {
		out.Tags = append(out.Tags, types.Tag{Key: aws.String(key), Value: aws.String(s.tags[key])})
	}
	return out, nil
}

func (f *fakeKinesis) ListStreams(_ context.Context, in *kinesis.ListStreamsInput, _ ...func(*kinesis.Options)) (*kinesis.ListStreamsOutput, error) {
	if err := f.failed("ListStreams"); err != nil {
		return nil, err
	}
	names, limit := slices.Sorted(maps.Keys(f.streams)), 2
	if in.Limit != nil {
		limit = int(*in.Limit)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return in.NextToken != nil && name <= *in.NextToken })
	more := len(names) > limit
	out := &kinesis.ListStreamsOutput{HasMoreStreams: &more, StreamNames: names}
	if more {
		out.StreamNames, out.NextToken = names[:limit], &names[limit-1]
	}
	return out, nil
}

func (f *fakeKinesis) AddTagsToStream(_ context.Context, in *kinesis.AddTagsToStreamInput, _ ...func(*kinesis.Options)) (*kinesis.AddTagsToStreamOutput, error) {
	s, err := f.change("AddTagsToStream", in.StreamName, false)
	if err != nil {
		return nil, err
	}
	if len(in.Tags) > 10 {
		return nil, &types.InvalidArgumentException{Message: aws.String("more than ten tags")}
	}
	maps.Copy(s.tags, in.Tags)
	return &kinesis.AddTagsToStreamOutput{}, nil
}

func (f *fakeKinesis) RemoveTagsFromStream(_ context.Context, in *kinesis.RemoveTagsFromStreamInput, _ ...func(*kinesis.Options)) (*kinesis.RemoveTagsFromStreamOutput, error) {
	s, err := f.change("RemoveTagsFromStream", in.StreamName, false)
	if err != nil {
		return nil, err
	}
	for _, key := range in.TagKeys {
		delete(s.tags, key)
	}
	return &kinesis.RemoveTagsFromStreamOutput{}, nil
}

func (f *fakeKinesis) IncreaseStreamRetentionPeriod(_ context.Context, in *kinesis.IncreaseStreamRetentionPeriodInput, _ ...func(*kinesis.Options)) (*kinesis.IncreaseStreamRetentionPeriodOutput, error) {
	s, err := f.change("IncreaseStreamRetentionPeriod", in.StreamName, true)
	if err != nil {
		return nil, err
	}
	s.hours = *in.RetentionPeriodHours
	return &kinesis.IncreaseStreamRetentionPeriodOutput{}, nil
}

func (f *fakeKinesis) DecreaseStreamRetentionPeriod(_ context.Context, in *kinesis.DecreaseStreamRetentionPeriodInput, _ ...func(*kinesis.Options)) (*kinesis.DecreaseStreamRetentionPeriodOutput, error) {
	s, err := f.change("DecreaseStreamRetentionPeriod", in.StreamName, true)
	if err != nil {
		return nil, err
	}
	s.hours = *in.RetentionPeriodHours
	return &kinesis.DecreaseStreamRetentionPeriodOutput{}, nil
}

func (f *fakeKinesis) StartStreamEncryption(_ context.Context, in *kinesis.StartStreamEncryptionInput, _ ...func(*kinesis.Options)) (*kinesis.StartStreamEncryptionOutput, error) {
	s, err := f.change("StartStreamEncryption", in.StreamName, true)
	if err != nil {
		return nil, err
	}
	s.key = in.KeyId
	return &kinesis.StartStreamEncryptionOutput{}, nil
}

func (f *fakeKinesis) StopStreamEncryption(_ context.Context, in *kinesis.StopStreamEncryptionInput, _ ...func(*kinesis.Options)) (*kinesis.StopStreamEncryptionOutput, error) {
	s, err := f.change("StopStreamEncryption", in.StreamName, true)
	if err != nil {
		return nil, err
	}
	s.key = nil
	return &kinesis.StopStreamEncryptionOutput{}, nil
}

func (f *fakeKinesis) UpdateShardCount(_ context.Context, in *kinesis.UpdateShardCountInput, _ ...func(*kinesis.Options)) (*kinesis.UpdateShardCountOutput, error) {
	s, err := f.change("UpdateShardCount", in.StreamName, true)
	if err != nil {
		return nil, err
	}
	s.shards = *in.TargetShardCount
	return &kinesis.UpdateShardCountOutput{}, nil
}
