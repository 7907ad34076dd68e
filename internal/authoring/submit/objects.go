package submit

import (
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/formwork-dev/formwork/internal/services/s3"
)

// Object reads an object of S3 by its address: s3://BUCKET/KEY, or a URL as in TemplateURL. One of more than limit bytes is an error.
func (r *Remote) Object(ctx context.Context, address string, limit int64) ([]byte, error) {
	at, err := (&s3.Service{}).ParseURL(address)
	if err != nil {
		return nil, err
	}
	in := &awss3.GetObjectInput{Bucket: &at.Bucket, Key: &at.Key}
	if at.Version != "" {
		in.VersionId = aws.String(at.Version)
	}
	out, err := r.s3.GetObject(ctx, in)
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	data, err := io.ReadAll(io.LimitReader(out.Body, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", at, err)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("%s is larger than %d bytes", at, limit)
	}
	return data, nil
}
