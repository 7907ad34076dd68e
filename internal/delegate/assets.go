package delegate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/invoke"
)

// maxAsset bounds the files that are copied for an emulator.
const maxAsset = 64 << 20

// assetMembers are the members of properties that name a file in S3, and those of them that are its bucket, key and
// version.
var assetMembers = map[string][3]string{
	"Code": {"S3Bucket", "S3Key", "S3ObjectVersion"}, "Content": {"S3Bucket", "S3Key", "S3ObjectVersion"},
	"BodyS3Location": {"Bucket", "Key", "Version"}, "DefinitionS3Location": {"Bucket", "Key", "Version"},
}

// staged copies the files that properties name from this server to the emulator, which does not see them here, each into
// a bucket of its own that exists until done is called. It returns the properties with these buckets. A file
// that this server does not have is one of the emulator.
func (c *call) staged(ctx context.Context, properties map[string]any) (sent map[string]any, done func(), err error) {
	sent = maps.Clone(properties)
	var buckets []string
	client := c.emulator.s3(c.request.Caller)
	done = func() {
		for _, bucket := range buckets {
			last := context.WithoutCancel(ctx)
			_, failed := client.DeleteObject(last, &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String(assetKey)})
			if failed == nil {
				_, failed = client.DeleteBucket(last, &s3.DeleteBucketInput{Bucket: &bucket})
			}
			if failed != nil {
				c.config.Logger.WarnContext(ctx, "a bucket in an emulator could not be deleted", "url", c.emulator.url, "bucket", bucket, "error", failed)
			}
		}
	}
	for name, members := range assetMembers {
		at, _ := properties[name].(map[string]any)
		bucket, _ := at[members[0]].(string)
		key, _ := at[members[1]].(string)
		version, _ := at[members[2]].(string)
		if bucket == "" || key == "" || c.config.Object == nil {
			continue
		}
		content, err := c.asset(ctx, bucket, key, version)
		if err != nil {
			return nil, done, err
		}
		if content == nil {
			continue
		}
		copied := "formwork-" + hashed(c.row.Token+"\x00"+bucket+"\x00"+key+"\x00"+version)
		buckets = append(buckets, copied)
		_, _ = client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &copied}) // that it exists is no error, and any other one is that of the next request, too
		if _, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &copied, Key: aws.String(assetKey), Body: bytes.NewReader(content)}); err != nil {
			return nil, done, c.emulator.explain(ctx, err)
		}
		moved := maps.Clone(at)
		delete(moved, members[2])
		moved[members[0]], moved[members[1]] = copied, assetKey
		sent[name] = moved
	}
	return sent, done, nil
}

const assetKey = "asset"

// asset reads a file of this server, nil if there is none.
func (c *call) asset(ctx context.Context, bucket, key, version string) ([]byte, error) {
	object, err := c.config.Object(ctx, c.request.Caller, bucket, key, version)
	var refused *awswire.Error
	switch {
	case errors.As(err, &refused):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer func() { _ = object.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(object, maxAsset+1))
	if err == nil && len(content) > maxAsset {
		err = faultf(invoke.InvalidRequest, "s3://%s/%s has more than %d bytes, which is too large to be copied for the emulator.", bucket, key, maxAsset)
	}
	return content, err
}

// s3 is the S3 of the emulator.
func (e *emulator) s3(caller awswire.Caller) *s3.Client {
	return s3.New(s3.Options{
		Region: caller.Region, BaseEndpoint: &e.url, UsePathStyle: true, HTTPClient: e.http, Retryer: aws.NopRetryer{},
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired, ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials(caller), nil }),
	})
}
