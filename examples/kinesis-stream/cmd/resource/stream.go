package resource

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/formwork-dev/formwork/sdk/handler"
)

// A client is the part of kinesis.Client that the handlers use. Tests have a fake of it.
type client interface {
	AddTagsToStream(context.Context, *kinesis.AddTagsToStreamInput, ...func(*kinesis.Options)) (*kinesis.AddTagsToStreamOutput, error)
	CreateStream(context.Context, *kinesis.CreateStreamInput, ...func(*kinesis.Options)) (*kinesis.CreateStreamOutput, error)
	DecreaseStreamRetentionPeriod(context.Context, *kinesis.DecreaseStreamRetentionPeriodInput, ...func(*kinesis.Options)) (*kinesis.DecreaseStreamRetentionPeriodOutput, error)
	DeleteStream(context.Context, *kinesis.DeleteStreamInput, ...func(*kinesis.Options)) (*kinesis.DeleteStreamOutput, error)
	DescribeStreamSummary(context.Context, *kinesis.DescribeStreamSummaryInput, ...func(*kinesis.Options)) (*kinesis.DescribeStreamSummaryOutput, error)
	IncreaseStreamRetentionPeriod(context.Context, *kinesis.IncreaseStreamRetentionPeriodInput, ...func(*kinesis.Options)) (*kinesis.IncreaseStreamRetentionPeriodOutput, error)
	ListStreams(context.Context, *kinesis.ListStreamsInput, ...func(*kinesis.Options)) (*kinesis.ListStreamsOutput, error)
	ListTagsForStream(context.Context, *kinesis.ListTagsForStreamInput, ...func(*kinesis.Options)) (*kinesis.ListTagsForStreamOutput, error)
	RemoveTagsFromStream(context.Context, *kinesis.RemoveTagsFromStreamInput, ...func(*kinesis.Options)) (*kinesis.RemoveTagsFromStreamOutput, error)
	StartStreamEncryption(context.Context, *kinesis.StartStreamEncryptionInput, ...func(*kinesis.Options)) (*kinesis.StartStreamEncryptionOutput, error)
	StopStreamEncryption(context.Context, *kinesis.StopStreamEncryptionInput, ...func(*kinesis.Options)) (*kinesis.StopStreamEncryptionOutput, error)
	UpdateShardCount(context.Context, *kinesis.UpdateShardCountInput, ...func(*kinesis.Options)) (*kinesis.UpdateShardCountOutput, error)
}

// whenFree is the chain for calls that Kinesis refuses while it changes the stream: they
// are tried again, soon at first and then less often, for half an hour.
func whenFree(steps *chain) *chain {
	return steps.With(handler.Policy{
		Retry:   func(err error) bool { return isInUse(err) || isLimit(err) },
		Backoff: handler.CappedExponential(2*time.Second, 30*time.Second, 30*time.Minute),
	})
}

// waitForActive waits until the stream takes changes again.
func waitForActive(steps *chain, client client, name, step string) {
	steps.With(handler.Policy{Backoff: handler.Constant(5*time.Second, 30*time.Minute)}).
		Stabilize(step, func(ctx context.Context) (bool, error) {
			out, err := client.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: &name})
			if err != nil {
				return false, notFound(err, name)
			}
			return out.StreamDescriptionSummary.StreamStatus == types.StreamStatusActive, nil
		})
}

// setTags takes the stream from one set of tags to another. Kinesis takes ten at a time.
func setTags(steps *chain, client client, name string, previous, desired map[string]string) {
	add, drop := handler.DiffTags(withoutSystem(previous), withoutSystem(desired))
	if len(add) > 0 {
		whenFree(steps).Do("add-tags", func(ctx context.Context) error {
			for part := range slices.Chunk(sortedKeys(add), 10) {
				some := map[string]string{}
				for _, key := range part {
					some[key] = add[key]
				}
				if _, err := client.AddTagsToStream(ctx, &kinesis.AddTagsToStreamInput{StreamName: &name, Tags: some}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if len(drop) > 0 {
		whenFree(steps).Do("remove-tags", func(ctx context.Context) error {
			for part := range slices.Chunk(drop, 10) {
				if _, err := client.RemoveTagsFromStream(ctx, &kinesis.RemoveTagsFromStreamInput{StreamName: &name, TagKeys: part}); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func setShards(steps *chain, client client, name string, shards *int64) {
	whenFree(steps).Do("update-shard-count", func(ctx context.Context) error {
		_, err := client.UpdateShardCount(ctx, &kinesis.UpdateShardCountInput{
			StreamName: &name, TargetShardCount: count(shards), ScalingType: types.ScalingTypeUniformScaling,
		})
		return err
	})
}

func setRetention(steps *chain, client client, name string, previous, current int64) {
	switch {
	case current > previous:
		whenFree(steps).Do("increase-retention", func(ctx context.Context) error {
			_, err := client.IncreaseStreamRetentionPeriod(ctx, &kinesis.IncreaseStreamRetentionPeriodInput{StreamName: &name, RetentionPeriodHours: count(&current)})
			return err
		})
	case current < previous:
		whenFree(steps).Do("decrease-retention", func(ctx context.Context) error {
			_, err := client.DecreaseStreamRetentionPeriod(ctx, &kinesis.DecreaseStreamRetentionPeriodInput{StreamName: &name, RetentionPeriodHours: count(&current)})
			return err
		})
	}
}

func startEncryption(steps *chain, client client, name string, wanted *StreamEncryption) {
	whenFree(steps).Do("start-encryption", func(ctx context.Context) error {
		_, err := client.StartStreamEncryption(ctx, &kinesis.StartStreamEncryptionInput{
			StreamName: &name, EncryptionType: types.EncryptionType(handler.Value(wanted.EncryptionType)), KeyId: wanted.KeyId,
		})
		return err
	})
}

func stopEncryption(steps *chain, client client, name string, was *StreamEncryption) {
	whenFree(steps).Do("stop-encryption", func(ctx context.Context) error {
		_, err := client.StopStreamEncryption(ctx, &kinesis.StopStreamEncryptionInput{
			StreamName: &name, EncryptionType: types.EncryptionType(handler.Value(was.EncryptionType)), KeyId: was.KeyId,
		})
		return err
	})
}

// describe is the stream as a model.
func describe(ctx context.Context, client client, name string) (Model, error) {
	out, err := client.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: &name})
	if err != nil {
		return Model{}, notFound(err, name)
	}
	summary := out.StreamDescriptionSummary
	shards, hours := int64(handler.Value(summary.OpenShardCount)), int64(handler.Value(summary.RetentionPeriodHours))
	model := Model{Arn: summary.StreamARN, Name: &name, ShardCount: &shards, RetentionPeriodHours: &hours}
	if summary.EncryptionType == types.EncryptionTypeKms {
		kind := StreamEncryptionEncryptionTypeKms
		model.StreamEncryption = &StreamEncryption{EncryptionType: &kind, KeyId: summary.KeyId}
	}
	for in := (&kinesis.ListTagsForStreamInput{StreamName: &name}); ; {
		page, err := client.ListTagsForStream(ctx, in)
		if err != nil {
			return Model{}, notFound(err, name)
		}
		for _, tag := range page.Tags {
			if !strings.HasPrefix(handler.Value(tag.Key), "aws:") {
				model.Tags = append(model.Tags, Tag{Key: tag.Key, Value: tag.Value})
			}
		}
		if !handler.Value(page.HasMoreTags) || len(page.Tags) == 0 {
			return model, nil
		}
		in.ExclusiveStartTagKey = page.Tags[len(page.Tags)-1].Key
	}
}

// alreadyExists explains the error of CreateStream for a name that is taken. A generated
// name is taken only if an earlier try of this very request took it.
func alreadyExists(name, generated string) func(error) error {
	return func(err error) error {
		switch {
		case !isInUse(err):
			return err
		case name == generated:
			return nil
		}
		return handler.AlreadyExists(TypeName, name)
	}
}

func notFound(err error, name string) error {
	if isNotFound(err) {
		return handler.NotFound(TypeName, name)
	}
	return err
}

func isNotFound(err error) bool {
	var gone *types.ResourceNotFoundException
	return errors.As(err, &gone)
}

func isInUse(err error) bool {
	var inUse *types.ResourceInUseException
	return errors.As(err, &inUse)
}

// isLimit finds LimitExceeded, which Kinesis also says when it is called too often.
func isLimit(err error) bool {
	var limit *types.LimitExceededException
	return errors.As(err, &limit)
}

// withoutSystem leaves out the tags that only AWS itself may set.
func withoutSystem(tags map[string]string) map[string]string {
	kept := map[string]string{}
	for key, text := range tags {
		if !strings.HasPrefix(key, "aws:") {
			kept[key] = text
		}
	}
	return kept
}

func tagMap(tags []Tag) map[string]string {
	all := map[string]string{}
	for _, tag := range tags {
		all[handler.Value(tag.Key)] = handler.Value(tag.Value)
	}
	return all
}

func sortedKeys(tags map[string]string) []string {
	var keys []string
	for key := range tags {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// count is a number of the model in the type of the API; the schema keeps it in range.
func count(n *int64) *int32 {
	if n == nil {
		return nil
	}
	small := int32(*n)
	return &small
}
