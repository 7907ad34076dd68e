// Package resource has the handlers of Initech::Kinesis::Stream, after the sample for
// progress chaining in the user guide of the CloudFormation CLI.
//
// Kinesis does one thing at a time: while a stream is created, resharded or encrypted it
// is not ACTIVE, and refuses other changes with ResourceInUseException. So each handler is
// a chain of steps. A call ends where a step has to wait; the next call finds what is done
// and continues from there.
package resource

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/formwork-dev/formwork/sdk/awscreds"
	"github.com/formwork-dev/formwork/sdk/handler"
)

type (
	request = handler.Request[Model, TypeConfiguration]
	event   = handler.Event[Model]
	chain   = handler.Chain[event]
)

// defaultRetention is what Kinesis gives a new stream, in hours.
const defaultRetention = 24

// Create makes a stream and brings it to the desired state.
func Create(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	return connect(ctx, req, create)
}

// Read returns a stream.
func Read(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	return connect(ctx, req, read)
}

// Update changes shards, tags, retention and encryption of a stream.
func Update(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	return connect(ctx, req, update)
}

// Delete deletes a stream and waits until it is gone.
func Delete(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	return connect(ctx, req, remove)
}

// List returns the names of the streams.
func List(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	return connect(ctx, req, list)
}

// connect runs a handler with a client of its own: credentials are for one call.
func connect(ctx context.Context, req request, run func(context.Context, request, client) event) event {
	cfg, err := awscreds.Config(ctx, req.Credentials, req.Region)
	if err != nil {
		return req.Fail(err)
	}
	return run(ctx, req, kinesis.NewFromConfig(cfg))
}

func create(ctx context.Context, req request, client client) event {
	model := req.Desired
	generated, err := req.Identifier(128)
	if err != nil {
		return req.Fail(err)
	}
	if model.Name == nil {
		model.Name = &generated
	}
	name := *model.Name

	steps := req.Chain(ctx, &model)
	steps.With(handler.Policy{Retry: isLimit, HandleError: alreadyExists(name, generated)}).
		Do("create-stream", func(ctx context.Context) error {
			_, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: &name, ShardCount: count(model.ShardCount)})
			return err
		})
	waitForActive(steps, client, name, "stream-created")

	setTags(steps, client, name, nil, req.DesiredTags)
	if hours := model.RetentionPeriodHours; hours != nil {
		setRetention(steps, client, name, defaultRetention, *hours)
	}
	if encryption := model.StreamEncryption; encryption != nil {
		startEncryption(steps, client, name, encryption)
	}
	waitForActive(steps, client, name, "stream-ready")

	return steps.Done(func(ctx context.Context) event {
		req.Desired = model
		return read(ctx, req, client)
	})
}

func read(ctx context.Context, req request, client client) event {
	stream, err := describe(ctx, client, handler.Value(req.Desired.Name))
	if err != nil {
		return req.Fail(err)
	}
	return req.Success(stream)
}

func update(ctx context.Context, req request, client client) event {
	model, name := req.Desired, handler.Value(req.Desired.Name)
	steps := req.Chain(ctx, &model)

	// What the stream was like is remembered with the step: the later calls, which find it
	// half changed, still compare with that.
	before, ok := handler.Call(steps, "describe-stream", func(ctx context.Context) (Model, error) {
		return describe(ctx, client, name)
	})
	if !ok {
		return steps.Done(nil)
	}
	setTags(steps, client, name, tagMap(before.Tags), req.DesiredTags)
	if wanted := handler.Value(model.ShardCount); wanted != handler.Value(before.ShardCount) {
		setShards(steps, client, name, model.ShardCount)
	}
	hours := int64(defaultRetention)
	if model.RetentionPeriodHours != nil {
		hours = *model.RetentionPeriodHours
	}
	setRetention(steps, client, name, handler.Value(before.RetentionPeriodHours), hours)
	switch wanted, was := model.StreamEncryption, before.StreamEncryption; {
	case wanted == nil && was != nil:
		stopEncryption(steps, client, name, was)
	case wanted != nil && (was == nil || handler.Value(wanted.KeyId) != handler.Value(was.KeyId)):
		startEncryption(steps, client, name, wanted)
	}
	waitForActive(steps, client, name, "stream-ready")

	return steps.Done(func(ctx context.Context) event { return read(ctx, req, client) })
}

func remove(ctx context.Context, req request, client client) event {
	name := handler.Value(req.Desired.Name)
	steps := req.Chain(ctx, &req.Desired)
	whenFree(steps).Do("delete-stream", func(ctx context.Context) error {
		_, err := client.DeleteStream(ctx, &kinesis.DeleteStreamInput{StreamName: &name})
		return notFound(err, name)
	})
	steps.Stabilize("stream-deleted", func(ctx context.Context) (bool, error) {
		_, err := client.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: &name})
		if isNotFound(err) {
			return true, nil
		}
		return false, err
	})
	return steps.Done(func(context.Context) event { return req.Deleted() })
}

func list(ctx context.Context, req request, client client) event {
	in := &kinesis.ListStreamsInput{}
	if req.NextToken != "" {
		in.NextToken = &req.NextToken
	}
	if req.MaxResults > 0 {
		in.Limit = aws.Int32(int32(min(req.MaxResults, 10_000)))
	}
	out, err := client.ListStreams(ctx, in)
	if err != nil {
		return req.Fail(err)
	}
	var page []Model
	for _, name := range out.StreamNames {
		page = append(page, Model{Name: &name})
	}
	return req.SuccessList(page, handler.Value(out.NextToken))
}
