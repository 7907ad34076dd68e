package local

import (
	"context"
	"io"
	"strings"

	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/s3"
)

// objects are what the engines read from our own S3, and write there, for a caller. URLs may have any
// form that S3 has: nothing is fetched from the network.
type objects struct{ s3 *s3.Service }

// fetch opens the package of a type.
func (o objects) fetch(ctx context.Context, caller awswire.Caller, url string) (io.ReadCloser, error) {
	at, err := o.s3.ParseURL(url)
	if err != nil {
		return nil, awswire.ValidationErrorf("SchemaHandlerPackage: %s", err)
	}
	return o.s3.Open(ctx, caller.Account, at)
}

// deliver writes the log of a test.
func (o objects) deliver(ctx context.Context, caller awswire.Caller, bucket, key string, body io.ReadSeeker) error {
	_, err := o.s3.Put(ctx, caller.Account, s3.Location{Bucket: bucket, Key: key}, "application/zip", body)
	return err
}

// template reads a template or a policy.
func (o objects) template(ctx context.Context, caller awswire.Caller, url string, limit int64) ([]byte, error) {
	at, err := o.s3.ParseURL(url)
	if err != nil {
		return nil, stack.ErrNotObject
	}
	return o.read(ctx, caller, at, limit)
}

// any reports whether a bucket has objects.
func (o objects) any(ctx context.Context, caller awswire.Caller, bucket string) (bool, error) {
	return o.s3.HasObjects(ctx, caller.Account, bucket)
}

// code opens the code of a function.
func (o objects) code(ctx context.Context, caller awswire.Caller, bucket, key, version string) (io.ReadCloser, error) {
	return o.s3.Open(ctx, caller.Account, s3.Location{Bucket: bucket, Key: key, Version: version})
}

// rules reads the rules of a Guard Hook.
func (o objects) rules(ctx context.Context, caller awswire.Caller, uri, version string, limit int64) ([]byte, error) {
	bucket, key, ok := strings.Cut(strings.TrimPrefix(uri, "s3://"), "/")
	if !ok || !strings.HasPrefix(uri, "s3://") {
		return nil, awswire.ValidationErrorf("%s is not in the form s3://BUCKET/KEY", uri)
	}
	data, err := o.read(ctx, caller, s3.Location{Bucket: bucket, Key: key, Version: version}, limit)
	if err == nil && int64(len(data)) > limit {
		err = awswire.ValidationErrorf("%s is larger than %d bytes", uri, limit)
	}
	return data, err
}

// read reads an object, at most limit bytes of it and one.
func (o objects) read(ctx context.Context, caller awswire.Caller, at s3.Location, limit int64) ([]byte, error) {
	object, err := o.s3.Open(ctx, caller.Account, at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = object.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(object, limit+1))
}
