package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"time"
)

// A Blob names content that is kept.
type Blob struct {
	Hash string // SHA-256, 64 digits, lower case
	Size int64  // in bytes
}

// A BlobReader reads a blob. ReadAt may be called from several goroutines, the others not.
type BlobReader interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// Blobs stores bytes under the SHA-256 of their content, so that equal content is stored once
// and a name never changes its meaning. A blob is complete or missing.
//
// A blob is kept while a row names it. Rows are written after their blob: Sweep does not
// remove blobs that were Put within its grace.
type Blobs struct{ backend blobBackend }

// blobBackend is files in a folder, or rows of PostgreSQL.
type blobBackend interface {
	// receive calls fill with a separate writer, and stores what was written under the hash
	// that fill returns.
	receive(ctx context.Context, fill func(io.Writer) (Blob, error)) (Blob, error)
	open(ctx context.Context, hash string) (BlobReader, int64, error)
	has(ctx context.Context, hash string) (bool, error)
	// old lists blobs that were last put before the time given, in order, after a hash.
	old(ctx context.Context, before time.Time, after string, limit int) ([]string, error)
	// remove deletes a blob unless it was put again since the time given.
	remove(ctx context.Context, hash string, before time.Time) (size int64, removed bool, err error)
	// tidy deletes what interrupted puts have left before the time given.
	tidy(ctx context.Context, before time.Time) error
}

// A TooLargeError reports that a blob is larger than the limit of its reader.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the content is larger than %d bytes", e.Max)
}

// ErrNoBlob reports that no blob has the hash. It is an fs.ErrNotExist.
var ErrNoBlob = fmt.Errorf("no such blob: %w", fs.ErrNotExist)

// Put keeps what r holds, at most max bytes; zero or less means no limit. Content that
// is already there is counted as put now. When Put returns, the blob survives the loss
// of power.
//
// The error is a *TooLargeError when r holds more, r's own, or the storage's.
func (b *Blobs) Put(ctx context.Context, r io.Reader, max int64) (Blob, error) {
	blob, err := b.backend.receive(ctx, func(w io.Writer) (Blob, error) { return measure(ctx, w, r, max) })
	if err != nil {
		return Blob{}, fmt.Errorf("keep a blob: %w", err)
	}
	return blob, nil
}

// measure copies r to w and returns the size and hash.
func measure(ctx context.Context, w io.Writer, r io.Reader, max int64) (Blob, error) {
	r = &contextReader{ctx, r}
	if max > 0 {
		r = io.LimitReader(r, max+1)
	}
	sum := sha256.New()
	size, err := io.CopyBuffer(io.MultiWriter(w, sum), r, make([]byte, 128<<10))
	switch {
	case err != nil:
		return Blob{}, err
	case max > 0 && size > max:
		return Blob{}, &TooLargeError{Max: max}
	}
	return Blob{Hash: hexSum(sum), Size: size}, nil
}

func hexSum(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

// Open reads a blob; the size is in bytes. The error is ErrNoBlob if the blob is missing or
// hash is not a hash.
func (b *Blobs) Open(ctx context.Context, hash string) (BlobReader, int64, error) {
	if !isHash(hash) {
		return nil, 0, fmt.Errorf("blob %q: %w", hash, ErrNoBlob)
	}
	r, size, err := b.backend.open(ctx, hash)
	if err != nil {
		return nil, 0, fmt.Errorf("blob %s: %w", hash, err)
	}
	return r, size, nil
}

// Has reports whether a blob exists.
func (b *Blobs) Has(ctx context.Context, hash string) (bool, error) {
	if !isHash(hash) {
		return false, nil
	}
	has, err := b.backend.has(ctx, hash)
	if err != nil {
		return false, fmt.Errorf("blob %s: %w", hash, err)
	}
	return has, nil
}

// Swept is what a Sweep has removed.
type Swept struct {
	Blobs int
	Bytes int64
}

// Sweep removes the blobs for which keep returns false, except for those that were put within
// the grace: a new blob has that much time until a row names it. A grace of zero or less means
// an hour. keep is called for one hash at a time; its error ends the sweep, as does the end of
// ctx. Sweep also returns the number of removed blobs with an error.
func (b *Blobs) Sweep(ctx context.Context, grace time.Duration, keep func(ctx context.Context, hash string) (bool, error)) (Swept, error) {
	if grace <= 0 {
		grace = time.Hour
	}
	var swept Swept
	before := time.Now().Add(-grace)
	if err := b.backend.tidy(ctx, before); err != nil {
		return swept, fmt.Errorf("sweep blobs: %w", err)
	}
	const page = 500
	for after := ""; ; {
		hashes, err := b.backend.old(ctx, before, after, page)
		if err != nil {
			return swept, fmt.Errorf("sweep blobs: %w", err)
		}
		for _, hash := range hashes {
			size, removed, err := b.sweepOne(ctx, hash, before, keep)
			if err != nil {
				return swept, fmt.Errorf("sweep blob %s: %w", hash, err)
			}
			if removed {
				swept.Blobs++
				swept.Bytes += size
			}
			after = hash
		}
		if len(hashes) < page {
			return swept, nil
		}
	}
}

func (b *Blobs) sweepOne(ctx context.Context, hash string, before time.Time, keep func(context.Context, string) (bool, error)) (int64, bool, error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	wanted, err := keep(ctx, hash)
	if err != nil || wanted {
		return 0, false, err
	}
	return b.backend.remove(ctx, hash, before)
}

// isHash reports whether s is 64 lower-case hexadecimal digits. Only hashes become part of a
// path.
func isHash(s string) bool {
	if len(s) != hex.EncodedLen(sha256.Size) {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// A contextReader ends with a context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
