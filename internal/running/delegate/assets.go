package delegate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// maxAsset bounds the files that are copied for an emulator.
const maxAsset = 64 << 20

// assetMembers are the members of properties that name a file in S3, and those of them that are its bucket, key and
// version.
var assetMembers = map[string][3]string{
	"Code": {"S3Bucket", "S3Key", "S3ObjectVersion"}, "Content": {"S3Bucket", "S3Key", "S3ObjectVersion"},
	"BodyS3Location": {"Bucket", "Key", "Version"}, "DefinitionS3Location": {"Bucket", "Key", "Version"},
}

// staged copies the files that properties name from this server to the emulator, which does not see them here. They
// are there until done is called with what the operation ended with. It returns the properties with these files. A
// file that this server does not have is one of the emulator.
func (c *call) staged(ctx context.Context, properties map[string]any) (sent map[string]any, done func(error), err error) {
	sent = maps.Clone(properties)
	copied := false
	done = func(err error) {
		var ended *fault
		if !copied || err != nil && (!errors.As(err, &ended) || ended.code.Retriable()) {
			return // the emulator may still read them; what is given up is deleted with the resource
		}
		if err := c.unstage(context.WithoutCancel(ctx), c.emulator, c.row); err != nil {
			c.config.Logger.WarnContext(ctx, "files in an emulator could not be deleted", "url", c.emulator.url, "bucket", c.row.bucket(), "error", err)
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
		moved := maps.Clone(at)
		delete(moved, members[2])
		moved[members[0]], moved[members[1]] = c.row.bucket(), c.row.files()+hashed(bucket+"\x00"+key+"\x00"+version)
		copied = true
		if err := c.put(ctx, moved[members[1]].(string), content); err != nil {
			return nil, done, err
		}
		sent[name] = moved
	}
	return sent, done, nil
}

// bucket is the bucket in the emulator with the files of all resources with the same marker. It exists while there are any.
func (r *resourceRow) bucket() string { return "formwork-files-" + r.Marker }

// files is what the keys of the files of the row begin with.
func (r *resourceRow) files() string { return hashed(r.Token) + "/" }

// put writes a file in the emulator. The bucket may be deleted by another call that had the last file in it.
func (c *call) put(ctx context.Context, key string, content []byte) error {
	client, bucket := c.emulator.s3(c.request.Caller), c.row.bucket()
	var err error
	for range 5 {
		_, _ = client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket}) // that it exists is no error, and any other one is that of the next request, too
		if _, err = client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(content)}); !refusedWith(err, "NoSuchBucket") {
			break
		}
	}
	return c.emulator.explain(ctx, err)
}

const maxFiles = 10000 // of one resource, which are deleted

// unstage deletes the files that were copied for a resource, and the bucket with the last one.
func (d *Delegates) unstage(ctx context.Context, e *emulator, row *resourceRow) error {
	if copies, err := d.copies(ctx, row.TypeName); err != nil || !copies {
		return err
	}
	client, bucket := e.s3(row.caller()), row.bucket()
	for deleted := 0; deleted < maxFiles; {
		list, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String(row.files())})
		switch {
		case refusedWith(err, "NoSuchBucket"):
			return nil
		case err != nil:
			return e.explain(ctx, err)
		case len(list.Contents) == 0:
			deleted = maxFiles
		}
		for _, object := range list.Contents {
			if _, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: object.Key}); err != nil {
				return e.explain(ctx, err)
			}
			deleted++
		}
	}
	return e.deleteBucket(ctx, client, bucket)
}

// deleteBucket deletes a bucket if it is empty.
func (e *emulator) deleteBucket(ctx context.Context, client *s3.Client, bucket string) error {
	_, err := client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &bucket})
	if refusedWith(err, "NoSuchBucket") || refusedWith(err, "BucketNotEmpty") {
		return nil
	}
	return e.explain(ctx, err)
}

// copies reports whether files are copied for resources of a type. It is true of a type that is no longer known.
func (d *Delegates) copies(ctx context.Context, typeName string) (bool, error) {
	if d.config.Object == nil {
		return false, nil
	}
	typ, err := d.config.Schema(ctx, typeName)
	if err != nil || typ == nil {
		return true, err
	}
	for name := range assetMembers {
		if typ.Property(document.Pointer{name}) != nil {
			return true, nil
		}
	}
	return false, nil
}

// refusedWith reports whether an emulator refused a request with a code.
func refusedWith(err error, code string) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == code
}

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
