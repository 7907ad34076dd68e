package s3

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// An Object is an open object. Size is in bytes; close it after use. Like a
// store.BlobReader it is for one goroutine at a time.
type Object struct {
	store.BlobReader
	Size        int64
	ETag        string // without quotation marks
	ContentType string
	Version     string
}

// Open opens an object for an account. A refusal is an *awswire.Error of S3: NoSuchBucket,
// NoSuchKey, NoSuchVersion, AccessDenied for another account's bucket.
func (s *Service) Open(ctx context.Context, account string, at Location) (*Object, error) {
	if _, err := ownBucket(ctx, s.store.Read(), account, at.Bucket); err != nil {
		return nil, err
	}
	o, err := liveObject(ctx, s.store.Read(), at, http.Header{})
	if err != nil {
		return nil, err
	}
	body, err := s.open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Object{BlobReader: body, Size: o.Size, ETag: o.ETag, ContentType: o.Attributes.Get().Headers["Content-Type"], Version: o.Version}, nil
}

// HasObjects reports whether a bucket of an account has objects or versions of them, which
// prevent its deletion. A bucket that does not exist, or that of another account, has none.
func (s *Service) HasObjects(ctx context.Context, account, bucket string) (bool, error) {
	b, err := bucketNamed(ctx, s.store.Read(), bucket)
	if err != nil || b == nil || b.Account != account {
		return false, err
	}
	filled, err := store.Exists(ctx, s.store.Read(), "FROM s3_objects WHERE bucket = ?", b.Name)
	if err != nil {
		return false, fmt.Errorf("reading the bucket: %w", err)
	}
	return filled, nil
}

// Put keeps what r holds as an object, and returns its location with the version. An
// empty contentType is binary/octet-stream. Refusals are those of PutObject.
func (s *Service) Put(ctx context.Context, account string, at Location, contentType string, r io.Reader) (Location, error) {
	if err := checkKey(at.Key); err != nil {
		return at, err
	}
	if _, err := ownBucket(ctx, s.store.Read(), account, at.Bucket); err != nil {
		return at, err
	}
	a := attributes{Headers: map[string]string{"Content-Type": "binary/octet-stream"}}
	if contentType != "" {
		a.Headers["Content-Type"] = contentType
	}
	algorithm, err := algorithmNamed(defaultAlgorithm)
	if err != nil {
		return at, err
	}
	d := digest(r, algorithm)
	blob, err := s.store.Blobs().Put(ctx, d, s.maxObject)
	if err != nil {
		return at, err
	}
	a.Checksum = d.checksum()
	o := &objectRow{Key: at.Key, Size: blob.Size, ETag: d.etag(), Hash: blob.Hash, Attributes: store.JSONOf(a)}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := ownBucket(ctx, tx, account, at.Bucket)
		if err != nil {
			return err
		}
		return s.keep(ctx, tx, b, o)
	})
	at.Version = o.Version
	return at, err
}

// Keeps reports whether an object or a part needs the blob with a hash: what
// store.Blobs.Sweep asks.
func (s *Service) Keeps(ctx context.Context, hash string) (bool, error) {
	for _, table := range []string{"s3_objects", "s3_parts", "s3_segments"} {
		found, err := store.Exists(ctx, s.store.Read(), "FROM "+table+" WHERE hash = ?", hash)
		if err != nil {
			return false, fmt.Errorf("looking for a blob in %s: %w", table, err)
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}
