package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// copySource reads the header that names what is to be copied: /bucket/key or bucket/key,
// escaped as in URLs, with ?versionId= behind it.
func copySource(q *s3Request) (Location, error) {
	bad := s3Error("InvalidArgument", "Copy Source must mention the source bucket and key: sourcebucket/sourcekey", "ArgumentName", "x-amz-copy-source")
	path, query, _ := strings.Cut(q.header("X-Amz-Copy-Source"), "?")
	path, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
	if err != nil {
		return Location{}, bad
	}
	path = strings.TrimPrefix(path, "/")
	if strings.HasPrefix(path, "arn:") {
		return Location{}, s3NotImplemented("copying through an access point")
	}
	var l Location
	l.Bucket, l.Key, _ = strings.Cut(path, "/")
	if !validBucketName(l.Bucket) || l.Key == "" {
		return l, bad
	}
	if err := checkKey(l.Key); err != nil {
		return l, err
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return l, bad
	}
	l.Version = values.Get("versionId")
	return l, nil
}

// source is the object that a request copies from, which the caller may read and whose
// conditions hold.
func (s *Service) source(q *s3Request) (*objectRow, *bucketRow, error) {
	from, err := copySource(q)
	if err != nil {
		return nil, nil, err
	}
	b, err := ownBucket(q.ctx, s.store.Read(), q.caller.Account, from.Bucket)
	if err != nil {
		return nil, nil, err
	}
	if want := q.header("X-Amz-Source-Expected-Bucket-Owner"); want != "" && want != b.Account {
		return nil, nil, s3Error("AccessDenied", "Access Denied")
	}
	o, err := liveObject(q.ctx, s.store.Read(), from, q.w.Header())
	if err != nil {
		return nil, nil, err
	}
	return o, b, readConditions(q.r.Header, "X-Amz-Copy-Source-", o, q.w.Header())
}

func (s *Service) copyObject(q *s3Request) error {
	a, err := readAttributes(q.r.Header)
	if err != nil {
		return err
	}
	to, err := s.bucketFor(q, s.store.Read())
	if err != nil {
		return err
	}
	if err := s.checkACL(q.ctx, s.store.Read(), to, q.r.Header, false); err != nil {
		return err
	}
	from, fromBucket, err := s.source(q)
	if err != nil {
		return err
	}
	if from.Size > s.maxObject {
		return s3Error("InvalidRequest", fmt.Sprintf("The specified copy source is larger than the maximum allowable size for a copy source: %d", s.maxObject))
	}
	if a, err = copyAttributes(q, from, a); err != nil {
		return err
	}
	o := &objectRow{Key: q.Key, Size: from.Size, ETag: from.ETag, Hash: from.Hash, Segments: from.Segments, Upload: from.Upload, Attributes: store.JSONOf(a)}
	if err := s.redigest(q, from, o); err != nil {
		return err
	}
	err = s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.bucketFor(q, tx)
		if err != nil {
			return err
		}
		if err := writeConditions(ctx, tx, q.Location, q.r.Header); err != nil {
			return err
		}
		// The bytes exist as long as its row.
		if _, err := liveObject(ctx, tx, Location{from.Bucket, from.Key, from.Version}, q.w.Header()); err != nil {
			return err
		}
		o.by = "Copy"
		if to = b; from.Upload != "" {
			// The row that is replaced may be the last that needs the parts: first the
			// new one, under its own name, then the old one's end.
			return s.keepShared(ctx, tx, b, o)
		}
		return s.keep(ctx, tx, b, o)
	})
	if err != nil {
		return err
	}
	h := q.w.Header()
	if to.Versioning != "" {
		h.Set("X-Amz-Version-Id", o.Version)
	}
	if fromBucket.Versioning != "" {
		h.Set("X-Amz-Copy-Source-Version-Id", from.Version)
	}
	a.writeEncryption(h)
	return q.answer(copyResult("CopyObjectResult", o.ETag, o.ModifiedAt, o.Attributes.Get().Checksum))
}

// keepShared keeps a copy that shares the parts of a multipart object. They are written
// again where replacing an old version would take them away.
func (s *Service) keepShared(ctx context.Context, tx *store.Tx, b *bucketRow, o *objectRow) error {
	var segments []segmentRow
	if err := store.List(ctx, tx, &segments, "WHERE upload = ?", o.Upload); err != nil {
		return fmt.Errorf("reading the parts: %w", err)
	}
	if err := s.keep(ctx, tx, b, o); err != nil {
		return err
	}
	_, err := store.InsertOr(ctx, tx, "ON CONFLICT (upload, number) DO NOTHING", store.Pointers(segments)...)
	if err != nil {
		return fmt.Errorf("keeping the parts: %w", err)
	}
	return nil
}

// copyAttributes are the attributes of a copy: those of the source, or those of the request.
func copyAttributes(q *s3Request, from *objectRow, a attributes) (attributes, error) {
	directive, tagging := q.header("X-Amz-Metadata-Directive"), q.header("X-Amz-Tagging-Directive")
	for name, value := range map[string]string{"x-amz-metadata-directive": directive, "x-amz-tagging-directive": tagging} {
		if value != "" && value != "COPY" && value != "REPLACE" {
			return a, s3Error("InvalidArgument", "Unknown metadata directive.", "ArgumentName", name, "ArgumentValue", words.Cut(value, 50))
		}
	}
	same := from.Bucket == q.Bucket && from.Key == q.Key && from.Latest
	if same && directive != "REPLACE" && q.header("X-Amz-Storage-Class") == "" && q.header("X-Amz-Server-Side-Encryption") == "" && q.header("X-Amz-Checksum-Algorithm") == "" {
		return a, s3Error("InvalidRequest", "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.")
	}
	if directive != "REPLACE" {
		a.Headers, a.Meta = from.Attributes.Get().Headers, from.Attributes.Get().Meta
	}
	if tagging != "REPLACE" {
		a.Tags = from.Attributes.Get().Tags
	}
	a.Checksum = from.Attributes.Get().Checksum
	return a, nil
}

// redigest computes anew what a copy does not share with its source: the ETag and the
// checksum of what was uploaded in parts, and a checksum of another algorithm.
func (s *Service) redigest(q *s3Request, from, to *objectRow) error {
	want := q.header("X-Amz-Checksum-Algorithm")
	if want == "" {
		want = from.Attributes.Get().Checksum.Algorithm
	}
	if want == "" {
		want = defaultAlgorithm
	}
	a, err := algorithmNamed(want)
	if err != nil {
		return err
	}
	if sum := from.Attributes.Get().Checksum; !isMultipart(from) && sum.Algorithm == a.name && !sum.Composite {
		return nil
	}
	body, err := s.open(q.ctx, from)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was only read from
	d := digest(body, a)
	if _, err := io.Copy(io.Discard, d); err != nil {
		return fmt.Errorf("reading the source of the copy: %w", err)
	}
	to.ETag = d.etag()
	to.setChecksum(d.checksum())
	return nil
}

// copyResult is the answer of CopyObject and UploadPartCopy.
func copyResult(name, etag string, at store.Time, sum checksum) any {
	answer := struct {
		XMLName      xml.Name
		LastModified xmlTime
		ETag         string
		ChecksumType string `xml:",omitempty"`
		Sums         []sumElement
	}{XMLName: xml.Name{Space: s3Namespace, Local: name}, LastModified: xmlTime(at.Time), ETag: quoted(etag), Sums: sum.elements()}
	if answer.Sums != nil && name == "CopyObjectResult" {
		answer.ChecksumType = sum.kind()
	}
	return answer
}

func (s *Service) uploadPartCopy(q *s3Request, u *uploadRow, number int64) error {
	if err := s3RefuseHeaders(q.r.Header); err != nil {
		return err
	}
	from, fromBucket, err := s.source(q)
	if err != nil {
		return err
	}
	part := span{length: from.Size}
	if text := q.header("X-Amz-Copy-Source-Range"); text != "" {
		part, err = parseRange(text, from.Size)
		if err != nil || !part.partial {
			return s3Error("InvalidArgument", "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy", "ArgumentName", "x-amz-copy-source-range", "ArgumentValue", words.Cut(text, 100))
		}
	}
	if part.length > s.maxObject {
		return tooLarge(part.length, s.maxObject)
	}
	body, err := s.open(q.ctx, from)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was only read from
	if _, err := body.Seek(part.start, io.SeekStart); err != nil {
		return err
	}
	var a *algorithm
	if name := u.Attributes.Get().Checksum.Algorithm; name != "" {
		if a, err = algorithmNamed(name); err != nil {
			return err
		}
	}
	d := digest(io.LimitReader(body, part.length), a)
	blob, err := s.store.Blobs().Put(q.ctx, d, s.maxObject)
	if err != nil {
		return err
	}
	if blob.Size != part.length {
		return errors.New("copying a part: the source ended early")
	}
	sum := d.checksum()
	row := &partRow{Upload: u.ID, Number: number, Size: blob.Size, ETag: d.etag(), Hash: blob.Hash, Checksum: store.JSONOf(sum), ModifiedAt: s.now()}
	if err := s.keepPart(q, row); err != nil {
		return err
	}
	if fromBucket.Versioning != "" {
		q.w.Header().Set("X-Amz-Copy-Source-Version-Id", from.Version)
	}
	return q.answer(copyResult("CopyPartResult", row.ETag, row.ModifiedAt, sum))
}
