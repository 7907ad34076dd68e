package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func (b *bench) s3(account string) *s3.Client {
	return s3.NewFromConfig(b.config(account), func(o *s3.Options) { o.UsePathStyle = true })
}

// makeBucket makes a bucket with versions or without.
func makeBucket(t testing.TB, c *s3.Client, name string, versions bool) {
	t.Helper()
	_, err := c.CreateBucket(context.Background(), &s3.CreateBucketInput{Bucket: &name, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region}})
	ok(t, err)
	if versions {
		_, err = c.PutBucketVersioning(context.Background(), &s3.PutBucketVersioningInput{Bucket: &name, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled}})
		ok(t, err)
	}
}

func put(t testing.TB, c *s3.Client, bucket, key, text string) *s3.PutObjectOutput {
	t.Helper()
	out, err := c.PutObject(context.Background(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(text)})
	ok(t, err)
	return out
}

func get(t testing.TB, c *s3.Client, in *s3.GetObjectInput) (string, *s3.GetObjectOutput) {
	t.Helper()
	in.ChecksumMode = types.ChecksumModeEnabled
	out, err := c.GetObject(context.Background(), in)
	ok(t, err)
	defer out.Body.Close()
	text, err := io.ReadAll(out.Body)
	ok(t, err)
	return string(text), out
}

func TestBuckets(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, other, ctx := b.s3(account), b.s3("999999999999"), t.Context()
		makeBucket(t, c, "first-bucket", false)
		makeBucket(t, c, "second.bucket", true)
		_, err := other.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("first-bucket"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region}})
		wantCode(t, err, "BucketAlreadyExists")
		_, err = c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("first-bucket"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region}})
		wantCode(t, err, "BucketAlreadyOwnedByYou")
		_, err = c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("third-bucket")})
		wantCode(t, err, "IllegalLocationConstraintException")
		_, err = c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("UPPER"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region}})
		wantCode(t, err, "InvalidBucketName")

		list, err := c.ListBuckets(ctx, &s3.ListBucketsInput{})
		ok(t, err)
		if len(list.Buckets) != 2 || *list.Buckets[0].Name != "first-bucket" || *list.Buckets[1].BucketRegion != region {
			t.Errorf("the buckets are %+v", list.Buckets)
		}
		page, err := c.ListBuckets(ctx, &s3.ListBucketsInput{MaxBuckets: aws.Int32(1)})
		ok(t, err)
		next, err := c.ListBuckets(ctx, &s3.ListBucketsInput{ContinuationToken: page.ContinuationToken})
		ok(t, err)
		if len(page.Buckets) != 1 || len(next.Buckets) != 1 || *next.Buckets[0].Name != "second.bucket" {
			t.Errorf("the pages are %+v and %+v", page.Buckets, next.Buckets)
		}
		empty, err := other.ListBuckets(ctx, &s3.ListBucketsInput{})
		ok(t, err)
		equal(t, "the other account's buckets", len(empty.Buckets), 0)

		location, err := c.GetBucketLocation(ctx, &s3.GetBucketLocationInput{Bucket: aws.String("first-bucket")})
		ok(t, err)
		equal(t, "location", string(location.LocationConstraint), region)
		head, err := c.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String("first-bucket")})
		ok(t, err)
		equal(t, "region", *head.BucketRegion, region)
		_, err = c.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String("absent-bucket")})
		wantCode(t, err, "NotFound")
		_, err = other.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String("first-bucket")})
		wantCode(t, err, "Forbidden")

		put(t, c, "first-bucket", "k", "v")
		_, err = c.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String("first-bucket")})
		wantCode(t, err, "BucketNotEmpty")
		_, err = c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String("first-bucket"), Key: aws.String("k")})
		ok(t, err)
		_, err = c.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String("first-bucket")})
		ok(t, err)
		_, err = c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String("first-bucket")})
		wantCode(t, err, "NoSuchBucket")
	})
}

func TestObjects(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx, bucket := b.s3(account), t.Context(), aws.String("objects")
		makeBucket(t, c, *bucket, false)
		keys := []string{"plain", "../../etc/passwd", "a//b/./c/", "ümlaut + space & 100%", "日本/語?x=1#y", "x\ny", strings.Repeat("k", maxKey)}
		for i, key := range keys {
			text := fmt.Sprint("text ", i)
			out, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: &key, Body: strings.NewReader(text), ContentType: aws.String("text/x"),
				ContentDisposition: aws.String("inline"), CacheControl: aws.String("no-store"), ContentEncoding: aws.String("gzip"), Metadata: map[string]string{"Who": "me", "two": "2 words"}, Tagging: aws.String("a=1&b=x%20y")})
			ok(t, err)
			sum := md5.Sum([]byte(text))
			equal(t, "ETag", *out.ETag, `"`+hex.EncodeToString(sum[:])+`"`)
			equal(t, "encryption", out.ServerSideEncryption, types.ServerSideEncryptionAes256)
			got, head := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: &key})
			equal(t, "text", got, text)
			equal(t, "type", *head.ContentType, "text/x")
			equal(t, "disposition", *head.ContentDisposition, "inline")
			equal(t, "encoding", *head.ContentEncoding, "gzip")
			equal(t, "metadata", fmt.Sprint(head.Metadata), "map[two:2 words who:me]")
			equal(t, "tags", *head.TagCount, 2)
			if head.ChecksumCRC32 == nil || head.VersionId != nil {
				t.Errorf("checksum %v, version %v", head.ChecksumCRC32, head.VersionId)
			}
		}
		long := strings.Repeat("k", maxKey+1)
		_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: &long, Body: strings.NewReader("")})
		wantCode(t, err, "KeyTooLongError")
		_, err = c.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: aws.String("absent")})
		wantCode(t, err, "NoSuchKey")
		_, err = c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: bucket, Key: aws.String("absent")})
		wantCode(t, err, "NotFound")
		_, err = c.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("m"), Body: strings.NewReader(""), Metadata: map[string]string{"m": strings.Repeat("x", maxMetadata)}})
		wantCode(t, err, "MetadataTooLarge")
		_, err = b.s3("999999999999").GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: aws.String("plain")})
		wantCode(t, err, "AccessDenied")

		deleted, err := c.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("plain")}, {Key: aws.String("absent")}, {Key: aws.String("../../etc/passwd")}}}})
		ok(t, err)
		equal(t, "deleted", len(deleted.Deleted), 3)
		rest, err := c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: bucket})
		ok(t, err)
		equal(t, "left", int(*rest.KeyCount), len(keys)-2)
	})
}

func TestReads(t *testing.T) {
	b := onSQLite(t, Config{})
	c, ctx, bucket, key := b.s3(account), t.Context(), aws.String("reads"), aws.String("key")
	makeBucket(t, c, *bucket, false)
	put(t, c, *bucket, *key, "0123456789")
	_, whole := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: key})
	for _, test := range []struct {
		header, text, contentRange string
	}{
		{"bytes=0-3", "0123", "bytes 0-3/10"}, {"bytes=5-", "56789", "bytes 5-9/10"}, {"bytes=-2", "89", "bytes 8-9/10"}, {"bytes=8-100", "89", "bytes 8-9/10"},
		{"bytes=0-1,4-5", "0123456789", ""}, {"lines=1-2", "0123456789", ""}, {"bytes=5-2", "0123456789", ""},
	} {
		text, out := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: key, Range: &test.header})
		equal(t, test.header, text, test.text)
		equal(t, test.header, aws.ToString(out.ContentRange), test.contentRange)
	}
	_, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: key, Range: aws.String("bytes=10-")})
	wantCode(t, err, "InvalidRange")
	past, future := aws.Time(time.Now().Add(-time.Hour)), aws.Time(time.Now().Add(time.Hour))
	for _, test := range []struct {
		name, code string
		in         s3.GetObjectInput
	}{
		{"If-Match", "", s3.GetObjectInput{IfMatch: whole.ETag}},
		{"If-Match with another", "PreconditionFailed", s3.GetObjectInput{IfMatch: aws.String(`"other"`)}},
		{"If-None-Match", "NotModified", s3.GetObjectInput{IfNoneMatch: whole.ETag}},
		{"If-None-Match with another", "", s3.GetObjectInput{IfNoneMatch: aws.String(`"other"`)}},
		{"If-Modified-Since", "NotModified", s3.GetObjectInput{IfModifiedSince: future}},
		{"If-Modified-Since long ago", "", s3.GetObjectInput{IfModifiedSince: past}},
		{"If-Unmodified-Since", "PreconditionFailed", s3.GetObjectInput{IfUnmodifiedSince: past}},
		{"If-Match goes before If-Unmodified-Since", "", s3.GetObjectInput{IfMatch: whole.ETag, IfUnmodifiedSince: past}},
		{"If-None-Match goes before If-Modified-Since", "", s3.GetObjectInput{IfNoneMatch: aws.String(`"other"`), IfModifiedSince: future}},
	} {
		test.in.Bucket, test.in.Key = bucket, key
		out, err := c.GetObject(ctx, &test.in)
		if test.code == "" {
			ok(t, err)
			out.Body.Close()
			continue
		}
		t.Run(test.name, func(t *testing.T) { wantCode(t, err, test.code) })
	}
	_, out := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: key, ResponseContentType: aws.String("a/b"), ResponseCacheControl: aws.String("no-cache")})
	equal(t, "type", *out.ContentType, "a/b")
	equal(t, "cache", *out.CacheControl, "no-cache")
	attributes, err := c.GetObjectAttributes(ctx, &s3.GetObjectAttributesInput{Bucket: bucket, Key: key, ObjectAttributes: []types.ObjectAttributes{"ETag", "ObjectSize", "Checksum", "StorageClass"}})
	ok(t, err)
	if *attributes.ObjectSize != 10 || attributes.Checksum.ChecksumCRC32 == nil || `"`+*attributes.ETag+`"` != *whole.ETag {
		t.Errorf("the attributes are %+v", attributes)
	}
}

func TestConditionalWrites(t *testing.T) {
	b := onSQLite(t, Config{})
	c, ctx, bucket, key := b.s3(account), t.Context(), aws.String("writes"), aws.String("key")
	makeBucket(t, c, *bucket, false)
	write := func(in s3.PutObjectInput) error {
		in.Bucket, in.Key, in.Body = bucket, key, strings.NewReader("x")
		_, err := c.PutObject(ctx, &in)
		return err
	}
	wantCode(t, write(s3.PutObjectInput{IfMatch: aws.String(`"e"`)}), "NoSuchKey")
	ok(t, write(s3.PutObjectInput{IfNoneMatch: aws.String("*")}))
	wantCode(t, write(s3.PutObjectInput{IfNoneMatch: aws.String("*")}), "PreconditionFailed")
	wantCode(t, write(s3.PutObjectInput{IfMatch: aws.String(`"e"`)}), "PreconditionFailed")
	sum := md5.Sum([]byte("x"))
	ok(t, write(s3.PutObjectInput{IfMatch: aws.String(hex.EncodeToString(sum[:]))}))
}

// TestChecksums sends each algorithm, and each with a wrong value.
func TestChecksums(t *testing.T) {
	b := onSQLite(t, Config{})
	c, ctx, bucket := b.s3(account), t.Context(), aws.String("checksums")
	makeBucket(t, c, *bucket, false)
	for _, a := range []types.ChecksumAlgorithm{"CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"} {
		key := string(a)
		out, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: &key, Body: strings.NewReader("some text"), ChecksumAlgorithm: a})
		ok(t, err)
		equal(t, key, out.ChecksumType, types.ChecksumTypeFullObject)
		text, head := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: &key}) // the SDK holds the text to the checksum
		equal(t, key, text, "some text")
		equal(t, key, head.ChecksumType, types.ChecksumTypeFullObject)
	}
	_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("bad"), Body: strings.NewReader("x"), ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(make([]byte, 32)))})
	wantCode(t, err, "BadDigest")
	_, err = c.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("bad"), Body: strings.NewReader("x"), ContentMD5: aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16)))})
	wantCode(t, err, "BadDigest")
	_, err = c.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: aws.String("bad")})
	wantCode(t, err, "NoSuchKey")
	// Without any, S3 computes one itself.
	quiet := s3.NewFromConfig(b.config(account), func(o *s3.Options) {
		o.UsePathStyle, o.RequestChecksumCalculation = true, aws.RequestChecksumCalculationWhenRequired
	})
	put(t, quiet, *bucket, "quiet", "some text")
	_, head := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: aws.String("quiet")})
	_, sent := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: aws.String("CRC64NVME")})
	equal(t, "computed checksum", aws.ToString(head.ChecksumCRC64NVME), aws.ToString(sent.ChecksumCRC64NVME))
}

func TestVersions(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx, bucket, key := b.s3(account), t.Context(), aws.String("versions"), aws.String("key")
		makeBucket(t, c, *bucket, false)
		put(t, c, *bucket, *key, "before")
		_, err := c.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{Bucket: bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled}})
		ok(t, err)
		first, second := put(t, c, *bucket, *key, "first"), put(t, c, *bucket, *key, "second")
		for version, want := range map[string]string{"": "second", "null": "before", *first.VersionId: "first", *second.VersionId: "second"} {
			in := &s3.GetObjectInput{Bucket: bucket, Key: key}
			if version != "" {
				in.VersionId = &version
			}
			text, _ := get(t, c, in)
			equal(t, "version "+version, text, want)
		}
		_, err = c.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: key, VersionId: aws.String("nonesuch")})
		wantCode(t, err, "NoSuchVersion")
		gone, err := c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: key})
		ok(t, err)
		equal(t, "marker", *gone.DeleteMarker, true)
		_, err = c.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: key})
		wantCode(t, err, "NoSuchKey")
		_, err = c.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: key, VersionId: gone.VersionId})
		wantCode(t, err, "MethodNotAllowed")
		list, err := c.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: bucket})
		ok(t, err)
		if len(list.Versions) != 3 || len(list.DeleteMarkers) != 1 || !*list.DeleteMarkers[0].IsLatest || *list.Versions[0].VersionId != *second.VersionId || *list.Versions[2].VersionId != "null" {
			t.Errorf("the versions are %+v, the markers %+v", list.Versions, list.DeleteMarkers)
		}
		here, err := c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: bucket})
		ok(t, err)
		equal(t, "objects", len(here.Contents), 0)
		// Without the marker, and then the newest version, the ones before are back.
		for _, version := range []*string{gone.VersionId, second.VersionId} {
			_, err = c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: key, VersionId: version})
			ok(t, err)
		}
		text, _ := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: key})
		equal(t, "after deletions", text, "first")
		// Suspended: writes replace the version null.
		_, err = c.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{Bucket: bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusSuspended}})
		ok(t, err)
		equal(t, "version while suspended", *put(t, c, *bucket, *key, "again").VersionId, "null")
		emptyBucket(t, c, *bucket, 1)
		_, err = c.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: bucket})
		ok(t, err)
	})
}

// emptyBucket deletes all versions, page by page, as tools do: each page is deleted before
// the next is asked for.
func emptyBucket(t *testing.T, c *s3.Client, bucket string, size int32) {
	t.Helper()
	pages := s3.NewListObjectVersionsPaginator(c, &s3.ListObjectVersionsInput{Bucket: &bucket, MaxKeys: &size})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		ok(t, err)
		var doomed []types.ObjectIdentifier
		for _, v := range page.Versions {
			doomed = append(doomed, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, v := range page.DeleteMarkers {
			doomed = append(doomed, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		_, err = c.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: &bucket, Delete: &types.Delete{Objects: doomed, Quiet: aws.Bool(true)}})
		ok(t, err)
	}
}

func TestListing(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx, bucket := b.s3(account), t.Context(), aws.String("listing")
		makeBucket(t, c, *bucket, true)
		var want []string
		for i := range 25 {
			want = append(want, fmt.Sprintf("dir%d/sub/%02d", i%3, i), fmt.Sprintf("file%02d", i))
		}
		want = append(want, "Z", "é", "日", "a b", "dir1", "dir1!")
		for _, key := range want {
			put(t, c, *bucket, key, "")
			put(t, c, *bucket, key, "")
		}
		sorted(want)
		for _, size := range []int32{1, 7, 1000} {
			var got []string
			pages := s3.NewListObjectsV2Paginator(c, &s3.ListObjectsV2Input{Bucket: bucket, MaxKeys: &size})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				ok(t, err)
				for _, o := range page.Contents {
					got = append(got, *o.Key)
				}
			}
			equal(t, "keys", strings.Join(got, "|"), strings.Join(want, "|"))
			got = nil
			in := &s3.ListObjectsInput{Bucket: bucket, MaxKeys: &size, Delimiter: aws.String("/"), Prefix: aws.String("dir")}
			for {
				page, err := c.ListObjects(ctx, in)
				ok(t, err)
				for _, p := range page.CommonPrefixes {
					got = append(got, *p.Prefix)
				}
				for _, o := range page.Contents {
					got = append(got, *o.Key)
				}
				if !*page.IsTruncated {
					break
				}
				in.Marker = page.NextMarker
			}
			equal(t, "prefixes", strings.Join(sorted(got), "|"), "dir0/|dir1|dir1!|dir1/|dir2/")
			versions := 0
			all := s3.NewListObjectVersionsPaginator(c, &s3.ListObjectVersionsInput{Bucket: bucket, MaxKeys: &size})
			for all.HasMorePages() {
				page, err := all.NextPage(ctx)
				ok(t, err)
				versions += len(page.Versions)
			}
			equal(t, "versions", versions, 2*len(want))
		}
		after, err := c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: bucket, StartAfter: aws.String("file23"), EncodingType: types.EncodingTypeUrl, FetchOwner: aws.Bool(true)})
		ok(t, err)
		equal(t, "after", *after.Contents[0].Key+" "+*after.Contents[1].Key, "file24 %C3%A9")
		equal(t, "owner", *after.Contents[0].Owner.ID, canonicalUser(account))
		emptyBucket(t, c, *bucket, 10)
		_, err = c.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: bucket})
		ok(t, err)
	})
}

// noise is text that does not compress, the same each time.
func noise(n int) []byte {
	text := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(text)
	return text
}

func TestMultipart(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx, bucket, key := b.s3(account), t.Context(), aws.String("multipart"), aws.String("big object")
		makeBucket(t, c, *bucket, true)
		text := noise(minPartSize + 1000)
		for _, kind := range []struct {
			algorithm types.ChecksumAlgorithm
			kind      types.ChecksumType
		}{{"CRC32", "COMPOSITE"}, {"CRC32", "FULL_OBJECT"}, {"CRC32C", "FULL_OBJECT"}, {"CRC64NVME", "FULL_OBJECT"}, {"SHA256", "COMPOSITE"}} {
			upload, err := c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key, ChecksumAlgorithm: kind.algorithm, ChecksumType: kind.kind, ContentType: aws.String("x/y"), Metadata: map[string]string{"m": "1"}})
			ok(t, err)
			parts := uploadParts(t, c, upload, kind.algorithm, text[:minPartSize], text[minPartSize:])
			done, err := c.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: bucket, Key: key, UploadId: upload.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}, ChecksumType: kind.kind})
			ok(t, err)
			if !strings.HasSuffix(*done.ETag, `-2"`) || done.VersionId == nil {
				t.Errorf("the ETag is %s, the version %v", *done.ETag, done.VersionId)
			}
			again, err := c.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: bucket, Key: key, UploadId: upload.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
			ok(t, err)
			equal(t, "completed again", *again.VersionId, *done.VersionId)
			got, head := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: key}) // holds a FULL_OBJECT checksum to the text
			if got != string(text) {
				t.Errorf("%v: the object is not what was uploaded", kind)
			}
			equal(t, "type", *head.ContentType, "x/y")
			equal(t, "checksum type", head.ChecksumType, kind.kind)
			middle, _ := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: key, Range: aws.String(fmt.Sprintf("bytes=%d-%d", minPartSize-10, minPartSize+9))})
			equal(t, "across the parts", middle, string(text[minPartSize-10:minPartSize+10]))
			second, head := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: key, PartNumber: aws.Int32(2)})
			equal(t, "the second part", len(second), 1000)
			equal(t, "parts", *head.PartsCount, 2)
		}
		copied, err := c.CopyObject(ctx, &s3.CopyObjectInput{Bucket: bucket, Key: aws.String("copy"), CopySource: aws.String("multipart/big%20object")})
		ok(t, err)
		sum := md5.Sum(text)
		equal(t, "ETag of a copy", *copied.CopyObjectResult.ETag, quoted(hex.EncodeToString(sum[:])))
		emptyBucketBut(t, c, *bucket, *key)
		got, _ := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: aws.String("copy")})
		if got != string(text) {
			t.Error("the copy is not what was copied, after what it shares parts with is gone")
		}
	})
}

// emptyBucketBut deletes all versions of one key.
func emptyBucketBut(t *testing.T, c *s3.Client, bucket, key string) {
	t.Helper()
	list, err := c.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: &bucket, Prefix: &key})
	ok(t, err)
	for _, v := range list.Versions {
		_, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: v.Key, VersionId: v.VersionId})
		ok(t, err)
	}
}

func uploadParts(t *testing.T, c *s3.Client, upload *s3.CreateMultipartUploadOutput, algorithm types.ChecksumAlgorithm, texts ...[]byte) []types.CompletedPart {
	t.Helper()
	var parts []types.CompletedPart
	for i, text := range texts {
		number := int32(i + 1)
		part, err := c.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: upload.Bucket, Key: upload.Key, UploadId: upload.UploadId, PartNumber: &number, Body: bytes.NewReader(text), ChecksumAlgorithm: algorithm})
		ok(t, err)
		parts = append(parts, types.CompletedPart{PartNumber: &number, ETag: part.ETag, ChecksumCRC32: part.ChecksumCRC32, ChecksumCRC32C: part.ChecksumCRC32C, ChecksumSHA256: part.ChecksumSHA256, ChecksumCRC64NVME: part.ChecksumCRC64NVME})
	}
	return parts
}

func TestMultipartRefusals(t *testing.T) {
	b := onSQLite(t, Config{})
	c, ctx, bucket, key := b.s3(account), t.Context(), aws.String("refusals"), aws.String("key")
	makeBucket(t, c, *bucket, false)
	upload, err := c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key})
	ok(t, err)
	parts := uploadParts(t, c, upload, "", []byte("small"), []byte("last"))
	complete := func(parts ...types.CompletedPart) error {
		_, err := c.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: bucket, Key: key, UploadId: upload.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
		return err
	}
	wantCode(t, complete(), "MalformedXML")
	wantCode(t, complete(parts...), "EntityTooSmall")
	wantCode(t, complete(parts[1], parts[0]), "InvalidPartOrder")
	wantCode(t, complete(types.CompletedPart{PartNumber: aws.Int32(1), ETag: aws.String("wrong")}), "InvalidPart")
	wantCode(t, complete(types.CompletedPart{PartNumber: aws.Int32(7), ETag: parts[0].ETag}), "InvalidPart")
	for _, number := range []int32{0, 10001} {
		_, err = c.UploadPart(ctx, &s3.UploadPartInput{Bucket: bucket, Key: key, UploadId: upload.UploadId, PartNumber: &number, Body: strings.NewReader("")})
		wantCode(t, err, "InvalidArgument")
	}
	_, err = c.UploadPart(ctx, &s3.UploadPartInput{Bucket: bucket, Key: key, UploadId: aws.String("nonesuch"), PartNumber: aws.Int32(1), Body: strings.NewReader("")})
	wantCode(t, err, "NoSuchUpload")
	listed, err := c.ListParts(ctx, &s3.ListPartsInput{Bucket: bucket, Key: key, UploadId: upload.UploadId, MaxParts: aws.Int32(1)})
	ok(t, err)
	if len(listed.Parts) != 1 || !*listed.IsTruncated || *listed.NextPartNumberMarker != "1" || *listed.Parts[0].Size != 5 {
		t.Errorf("the parts are %+v", listed)
	}
	put(t, c, *bucket, "source", "0123456789")
	copied, err := c.UploadPartCopy(ctx, &s3.UploadPartCopyInput{Bucket: bucket, Key: key, UploadId: upload.UploadId, PartNumber: aws.Int32(3), CopySource: aws.String("refusals/source"), CopySourceRange: aws.String("bytes=2-4")})
	ok(t, err)
	sum := md5.Sum([]byte("234"))
	equal(t, "ETag of a copied part", *copied.CopyPartResult.ETag, quoted(hex.EncodeToString(sum[:])))
	uploads, err := c.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: bucket})
	ok(t, err)
	equal(t, "uploads", len(uploads.Uploads), 1)
	_, err = c.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: bucket, Key: key, UploadId: upload.UploadId})
	ok(t, err)
	wantCode(t, complete(parts[0]), "NoSuchUpload")
}

func TestCopies(t *testing.T) {
	b := onSQLite(t, Config{})
	c, ctx, bucket := b.s3(account), t.Context(), aws.String("copies")
	makeBucket(t, c, *bucket, false)
	_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("from"), Body: strings.NewReader("text"), ContentType: aws.String("a/a"), Metadata: map[string]string{"m": "1"}, Tagging: aws.String("t=1")})
	ok(t, err)
	_, err = c.CopyObject(ctx, &s3.CopyObjectInput{Bucket: bucket, Key: aws.String("to"), CopySource: aws.String("/copies/from")})
	ok(t, err)
	text, out := get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: aws.String("to")})
	equal(t, "text", text, "text")
	equal(t, "attributes", fmt.Sprint(*out.ContentType, out.Metadata, *out.TagCount), "a/amap[m:1] 1")
	_, err = c.CopyObject(ctx, &s3.CopyObjectInput{Bucket: bucket, Key: aws.String("to"), CopySource: aws.String("copies/from"), MetadataDirective: types.MetadataDirectiveReplace, ContentType: aws.String("b/b"), ChecksumAlgorithm: types.ChecksumAlgorithmSha256})
	ok(t, err)
	_, out = get(t, c, &s3.GetObjectInput{Bucket: bucket, Key: aws.String("to")})
	equal(t, "attributes", fmt.Sprint(*out.ContentType, out.Metadata), "b/bmap[]")
	if out.ChecksumSHA256 == nil {
		t.Error("the copy has no checksum of the algorithm that was asked for")
	}
	_, err = c.CopyObject(ctx, &s3.CopyObjectInput{Bucket: bucket, Key: aws.String("to"), CopySource: aws.String("copies/to")})
	wantCode(t, err, "InvalidRequest")
	_, err = c.CopyObject(ctx, &s3.CopyObjectInput{Bucket: bucket, Key: aws.String("to"), CopySource: aws.String("copies/absent")})
	wantCode(t, err, "NoSuchKey")
	_, err = c.CopyObject(ctx, &s3.CopyObjectInput{Bucket: bucket, Key: aws.String("to"), CopySource: aws.String("copies/from"), CopySourceIfNoneMatch: out.ETag})
	wantCode(t, err, "PreconditionFailed")
}

func TestBucketDocuments(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx, bucket := b.s3(account), t.Context(), aws.String("documents")
		makeBucket(t, c, *bucket, false)
		encryption, err := c.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: bucket})
		ok(t, err)
		equal(t, "encryption", encryption.ServerSideEncryptionConfiguration.Rules[0].ApplyServerSideEncryptionByDefault.SSEAlgorithm, types.ServerSideEncryptionAes256)
		_, err = c.PutBucketEncryption(ctx, &s3.PutBucketEncryptionInput{Bucket: bucket, ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{
			{ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAwsKms, KMSMasterKeyID: aws.String("k")}}}}})
		ok(t, err)
		encryption, err = c.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: bucket})
		ok(t, err)
		equal(t, "key", *encryption.ServerSideEncryptionConfiguration.Rules[0].ApplyServerSideEncryptionByDefault.KMSMasterKeyID, "k")

		_, err = c.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: bucket})
		wantCode(t, err, "NoSuchBucketPolicy")
		const policy = `{"Version":"2012-10-17","Statement":[]}`
		_, err = c.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: bucket, Policy: aws.String(policy)})
		ok(t, err)
		got, err := c.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: bucket})
		ok(t, err)
		equal(t, "policy", *got.Policy, policy)
		_, err = c.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: bucket, Policy: aws.String("no policy")})
		wantCode(t, err, "MalformedPolicy")
		_, err = c.DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: bucket})
		ok(t, err)
		_, err = c.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: bucket})
		wantCode(t, err, "NoSuchBucketPolicy")

		_, err = c.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: bucket})
		wantCode(t, err, "NoSuchTagSet")
		_, err = c.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{Bucket: bucket, Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String("k"), Value: aws.String("<v>")}}}})
		ok(t, err)
		tagging, err := c.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: bucket})
		ok(t, err)
		equal(t, "tag", *tagging.TagSet[0].Value, "<v>")

		block, err := c.GetPublicAccessBlock(ctx, &s3.GetPublicAccessBlockInput{Bucket: bucket})
		ok(t, err)
		equal(t, "public access", *block.PublicAccessBlockConfiguration.RestrictPublicBuckets, true)
		_, err = c.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: bucket})
		ok(t, err)
		_, err = c.GetPublicAccessBlock(ctx, &s3.GetPublicAccessBlockInput{Bucket: bucket})
		wantCode(t, err, "NoSuchPublicAccessBlockConfiguration")

		_, err = c.PutBucketAcl(ctx, &s3.PutBucketAclInput{Bucket: bucket, ACL: types.BucketCannedACLPublicRead})
		wantCode(t, err, "AccessControlListNotSupported")
		acl, err := c.GetBucketAcl(ctx, &s3.GetBucketAclInput{Bucket: bucket})
		ok(t, err)
		equal(t, "grant", acl.Grants[0].Permission, types.PermissionFullControl)
		_, err = c.PutBucketOwnershipControls(ctx, &s3.PutBucketOwnershipControlsInput{Bucket: bucket, OwnershipControls: &types.OwnershipControls{Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipBucketOwnerPreferred}}}})
		ok(t, err)
		_, err = c.PutBucketAcl(ctx, &s3.PutBucketAclInput{Bucket: bucket, ACL: types.BucketCannedACL("log-delivery-write")})
		ok(t, err)

		for _, refused := range []func() error{
			func() error {
				_, err := c.PutBucketWebsite(ctx, &s3.PutBucketWebsiteInput{Bucket: bucket, WebsiteConfiguration: &types.WebsiteConfiguration{IndexDocument: &types.IndexDocument{Suffix: aws.String("i")}}})
				return err
			},
			func() error {
				_, err := c.ListBucketInventoryConfigurations(ctx, &s3.ListBucketInventoryConfigurationsInput{Bucket: bucket})
				return err
			},
			func() error {
				_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("k"), StorageClass: types.StorageClassGlacier})
				return err
			},
			func() error {
				_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("k"), ObjectLockMode: types.ObjectLockModeGovernance, ObjectLockRetainUntilDate: aws.Time(time.Now())})
				return err
			},
		} {
			wantCode(t, refused(), "NotImplemented")
		}
		_, err = c.GetBucketReplication(ctx, &s3.GetBucketReplicationInput{Bucket: bucket})
		wantCode(t, err, "ReplicationConfigurationNotFoundError")
		put(t, c, *bucket, "k", "")
		_, err = c.PutObjectTagging(ctx, &s3.PutObjectTaggingInput{Bucket: bucket, Key: aws.String("k"), Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}})
		ok(t, err)
		objectTags, err := c.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{Bucket: bucket, Key: aws.String("k")})
		ok(t, err)
		equal(t, "tags of an object", *objectTags.TagSet[0].Value, "b")
	})
}

func TestPresigned(t *testing.T) {
	b := onSQLite(t, Config{})
	c, ctx, bucket, key := b.s3(account), t.Context(), aws.String("presigned"), aws.String("a key/+")
	makeBucket(t, c, *bucket, false)
	signer := s3.NewPresignClient(c)
	up, err := signer.PresignPutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: key})
	ok(t, err)
	request, err := http.NewRequestWithContext(ctx, up.Method, up.URL, strings.NewReader("text"))
	ok(t, err)
	answer, err := http.DefaultClient.Do(request)
	ok(t, err)
	answer.Body.Close()
	equal(t, "status", answer.StatusCode, http.StatusOK)
	down, err := signer.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: key, ResponseContentType: aws.String("x/z")})
	ok(t, err)
	answer, err = http.Get(down.URL)
	ok(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	ok(t, err)
	equal(t, "text", string(text), "text")
	equal(t, "type", answer.Header.Get("Content-Type"), "x/z")
	at, err := b.Service.ParseURL(down.URL)
	ok(t, err)
	equal(t, "location", at, Location{Bucket: *bucket, Key: *key})
}

// TestVirtualHost sends requests as clients without path style do.
func TestVirtualHost(t *testing.T) {
	b := onSQLite(t, Config{})
	makeBucket(t, b.s3(account), "virtual", false)
	target, err := url.Parse(b.url)
	ok(t, err)
	for _, host := range []string{"virtual.localhost:4566", "virtual.s3.localhost", "virtual.s3.eu-west-1.amazonaws.com", "VIRTUAL.127.0.0.1.nip.io"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, target.JoinPath("dir/key").String(), strings.NewReader(host))
		ok(t, err)
		request.Host = host
		answer, err := http.DefaultClient.Do(request)
		ok(t, err)
		answer.Body.Close()
		text, _ := get(t, b.s3(account), &s3.GetObjectInput{Bucket: aws.String("virtual"), Key: aws.String("dir/key")})
		equal(t, "text put through "+host, text, host)
	}
}

func TestGoAccess(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s, ctx := b.Service, t.Context()
		makeBucket(t, b.s3(account), "go-access", false)
		at, err := s.Put(ctx, account, Location{Bucket: "go-access", Key: "k"}, "", strings.NewReader("text"))
		ok(t, err)
		o, err := s.Open(ctx, account, at)
		ok(t, err)
		text, err := io.ReadAll(o)
		ok(t, errors.Join(err, o.Close()))
		equal(t, "text", string(text), "text")
		part := make([]byte, 2)
		_, err = o.ReadAt(part, 1)
		ok(t, err)
		equal(t, "part", string(part), "ex")
		if _, err := s.Open(ctx, "999999999999", at); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("another account got %v", err)
		}
		swept := func(hash string) bool {
			keeps, err := s.Keeps(ctx, hash)
			ok(t, err)
			return !keeps
		}
		if swept(hash256("text")) || !swept(hash256("other")) {
			t.Error("the blobs that are needed are not told from those that are not")
		}
	})
}
