package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// A receipt contains what the registry does not report about a package: its version, and its
// public version. It is stored beside the package in the bucket, under the hash of the package
// or the number of the version, so that publishing can resume at any time, from any machine.
// It is only a hint: its content is verified before it is used.
type receipt struct {
	TypeName      string `json:"typeName"`
	SHA256        string `json:"sha256"`
	Token         string `json:"registrationToken"`
	VersionARN    string `json:"typeVersionArn"`
	PublicTypeARN string `json:"publicTypeArn"`
	PublicVersion string `json:"publicVersion"`
}

// maxReceipt bounds the size of a receipt, in bytes.
const maxReceipt = 64 << 10

func (p *Plan) packageKey() string {
	return fmt.Sprintf("%s-%s.zip", schema.Hyphenated(p.publication.TypeName), Sum(p.publication.Archive))
}

func (p *Plan) receiptKey() string {
	of := p.publication.Version
	if of == "" {
		of = Sum(p.publication.Archive)
	}
	return receiptKey(p.publication.TypeName, of)
}

func receiptKey(typeName, of string) string {
	return fmt.Sprintf("%s-%s.json", schema.Hyphenated(typeName), of)
}

// readReceipt returns the zero receipt if it does not exist, or if the caller may not read it:
// S3 also returns 403 for missing objects.
func (r *Remote) readReceipt(ctx context.Context, bucket, key string) (receipt, error) {
	out, err := r.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		var none *s3types.NoSuchKey
		if errors.As(err, &none) || code(err) == "NoSuchBucket" || code(err) == "NotFound" || code(err) == "AccessDenied" {
			return receipt{}, nil
		}
		return receipt{}, err
	}
	defer out.Body.Close()
	data, err := io.ReadAll(io.LimitReader(out.Body, maxReceipt))
	if err != nil {
		return receipt{}, fmt.Errorf("read s3://%s/%s: %w", bucket, key, err)
	}
	var found receipt
	if json.Unmarshal(data, &found) != nil {
		return receipt{}, nil // another program's file
	}
	return found, nil
}

// note writes the receipt. For a version that the user has named there may be no bucket,
// and that is no reason to make one.
func (p *Plan) note(ctx context.Context) error {
	if p.store.bucket == "" {
		return nil
	}
	p.receipt.TypeName = p.publication.TypeName
	if p.publication.Archive != nil {
		p.receipt.SHA256 = Sum(p.publication.Archive)
	}
	err := p.remote.writeReceipt(ctx, p.store.bucket, p.receiptKey(), p.receipt)
	if p.publication.Version != "" && code(err) == "NoSuchBucket" {
		return nil
	}
	return err
}

func (r *Remote) writeReceipt(ctx context.Context, bucket, key string, of receipt) error {
	data, err := json.Marshal(of)
	if err != nil {
		return err
	}
	return r.put(ctx, bucket, key, data)
}

// noteRegistration writes the receipt of a package that was registered without being
// published. That of a package that is public already stays: publishing it again would
// find nothing to do, and must continue to.
func (r *Remote) noteRegistration(ctx context.Context, bucket string, q *Request, token string) error {
	sum := Sum(q.Archive)
	key := receiptKey(q.TypeName, sum)
	before, err := r.readReceipt(ctx, bucket, key)
	if err != nil || before.PublicVersion != "" {
		return err
	}
	return r.writeReceipt(ctx, bucket, key, receipt{TypeName: q.TypeName, SHA256: sum, Token: token})
}
