package s3

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

func TestExpireUploads(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx := b.s3(account), t.Context()
		makeBucket(t, c, "uploads", false)
		begin := func(key string) *string {
			out, err := c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: aws.String("uploads"), Key: &key})
			ok(t, err)
			return out.UploadId
		}
		part := func(key string, id *string, number int32) {
			_, err := c.UploadPart(ctx, &s3.UploadPartInput{Bucket: aws.String("uploads"), Key: &key, UploadId: id, PartNumber: &number, Body: strings.NewReader(fmt.Sprint(key, number))})
			ok(t, err)
		}
		left, slow := begin("left"), begin("slow")
		part("left", left, 1)
		part("slow", slow, 1)
		// More than one transaction takes.
		ok(t, b.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			var rows []*uploadRow
			for i := range 600 {
				rows = append(rows, &uploadRow{ID: fmt.Sprint("many", i), Bucket: "uploads", Key: "many", CreatedAt: b.now()})
			}
			return store.Insert(ctx, tx, rows...)
		}))
		b.advance(8 * 24 * time.Hour)
		part("slow", slow, 2) // somebody is at it
		begin("new")

		expired, err := b.abortUploads(ctx, b.now().AddDate(0, 0, -30))
		ok(t, err)
		equal(t, "uploads older than a month", expired, 0)
		ok(t, b.Expire(ctx, b.now().Time))
		kept, err := store.Count(ctx, b.store.Read(), "FROM s3_uploads")
		ok(t, err)
		equal(t, "uploads younger than a week", kept, int64(2))
		list, err := c.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: aws.String("uploads")})
		ok(t, err)
		var keys []string
		for _, u := range list.Uploads {
			keys = append(keys, *u.Key)
		}
		equal(t, "what goes on", fmt.Sprint(keys), "[new slow]")
		for text, want := range map[string]bool{"left1": false, "slow1": true, "slow2": true} {
			kept, err := b.Keeps(ctx, hash256(text))
			ok(t, err)
			equal(t, "the blob of "+text+" is kept", kept, want)
		}
		_, err = c.UploadPart(ctx, &s3.UploadPartInput{Bucket: aws.String("uploads"), Key: aws.String("left"), UploadId: left, PartNumber: aws.Int32(2), Body: strings.NewReader("x")})
		wantCode(t, err, "NoSuchUpload")
	})
}
