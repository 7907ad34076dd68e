package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// open opens the bytes of an object.
func (s *Service) open(ctx context.Context, o *objectRow) (*objectReader, error) {
	r := &objectReader{ctx: ctx, blobs: s.store.Blobs(), size: o.Size}
	if o.Segments == 0 {
		r.segments = []segment{{hash: o.Hash, end: o.Size}}
		return r, nil
	}
	var rows []segmentRow
	if err := store.List(ctx, s.store.Read(), &rows, "WHERE upload = ? ORDER BY number", o.Upload); err != nil {
		return nil, fmt.Errorf("reading the parts of the object: %w", err)
	}
	end := int64(0)
	for _, row := range rows {
		r.segments = append(r.segments, segment{row.Hash, end, end + row.Size})
		end += row.Size
	}
	if int64(len(rows)) != o.Segments || end != o.Size {
		// Deleted since the row of the object was read.
		return nil, s3Error("NoSuchKey", "The specified key does not exist.", "Key", o.Key)
	}
	return r, nil
}

// A segment is the blob that holds the bytes [start, end) of an object.
type segment struct {
	hash       string
	start, end int64
}

// An objectReader reads an object across its segments, one open blob at a time. It is a
// store.BlobReader, and opens the first blob with the first read.
type objectReader struct {
	ctx      context.Context
	blobs    *store.Blobs
	segments []segment
	size     int64
	at       int64

	current int // index of the segment that blob is open for
	blob    store.BlobReader
}

func (r *objectReader) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	n, err := r.readAt(p, r.at)
	r.at += int64(n)
	return n, err
}

// ReadAt implements io.ReaderAt. It does not move the position of Read, but uses the same
// blob: the two must not run at the same time.
func (r *objectReader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("read before the start of an object")
	}
	done := 0
	for done < len(p) {
		if off+int64(done) >= r.size {
			return done, io.EOF
		}
		n, err := r.readAt(p[done:], off+int64(done))
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// readAt reads from one segment, at least one byte where there is no error.
func (r *objectReader) readAt(p []byte, off int64) (int, error) {
	i, _ := slices.BinarySearchFunc(r.segments, off, func(s segment, off int64) int {
		if s.end <= off {
			return -1
		}
		return 1
	})
	if i == len(r.segments) {
		return 0, io.EOF
	}
	s := r.segments[i]
	if r.blob == nil || r.current != i {
		if err := r.Close(); err != nil {
			return 0, err
		}
		blob, _, err := r.blobs.Open(r.ctx, s.hash)
		if err != nil {
			return 0, fmt.Errorf("opening the bytes of an object: %w", err)
		}
		r.blob, r.current = blob, i
	}
	p = p[:min(int64(len(p)), s.end-off)]
	n, err := r.blob.ReadAt(p, off-s.start)
	if n == len(p) {
		err = nil
	} else if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Seek is that of io.Seeker.
func (r *objectReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of an object")
	}
	r.at = offset
	return offset, nil
}

// Close closes the blob that is open. The reader can be used again.
func (r *objectReader) Close() error {
	if r.blob == nil {
		return nil
	}
	err := r.blob.Close()
	r.blob = nil
	return err
}

// A span is the part of an object that a request is answered with.
type span struct {
	start, length int64
	partial       bool
}

// choosePart is what a request wants of an object: all, a range, or a part by its number.
func choosePart(q *s3Request, o *objectRow, body *objectReader) (span, error) {
	whole := span{length: o.Size}
	text := q.query.Get("partNumber")
	if text == "" {
		return parseRange(q.header("Range"), o.Size)
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 || number > maxParts {
		return whole, invalidPartNumber("partNumber", text)
	}
	if q.header("Range") != "" {
		return whole, s3Error("InvalidRequest", "Cannot specify both Range header and partNumber query parameter")
	}
	if !isMultipart(o) {
		if number > 1 {
			return whole, invalidPart(number)
		}
		return span{0, o.Size, o.Size > 0}, nil
	}
	if number > len(body.segments) {
		return whole, invalidPart(number)
	}
	q.w.Header().Set("X-Amz-Mp-Parts-Count", strconv.Itoa(len(body.segments)))
	s := body.segments[number-1]
	return span{s.start, s.end - s.start, true}, nil
}

func invalidPart(number int) error {
	e := s3Error("InvalidPartNumber", "The requested partnumber is not satisfiable", "PartNumberRequested", strconv.Itoa(number))
	e.Status = 416
	return e
}

// isMultipart reports whether an object was uploaded in parts; its copies were not.
func isMultipart(o *objectRow) bool { return o.Segments > 0 && strings.Contains(o.ETag, "-") }

// parseRange reads a header Range with one range of bytes. A malformed header, or one with
// several ranges, is ignored and returns the whole object, as in S3. A range beyond the end is
// refused.
func parseRange(header string, size int64) (span, error) {
	whole := span{length: size}
	spec, ok := cutPrefixFold(strings.TrimSpace(header), "bytes=")
	if !ok || strings.Contains(spec, ",") {
		return whole, nil
	}
	from, to, ok := strings.Cut(strings.TrimSpace(spec), "-")
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if !ok || from == "" && to == "" {
		return whole, nil
	}
	unsatisfiable := s3Error("InvalidRange", "The requested range is not satisfiable", "RangeRequested", words.Cut(header, 100), "ActualObjectSize", strconv.FormatInt(size, 10))
	if from == "" { // the last bytes
		n, ok := parseOffset(to)
		switch {
		case !ok:
			return whole, nil
		case n == 0 || size == 0:
			return whole, unsatisfiable
		}
		n = min(n, size)
		return span{size - n, n, true}, nil
	}
	first, ok := parseOffset(from)
	if !ok {
		return whole, nil
	}
	last := size - 1
	if to != "" {
		n, ok := parseOffset(to)
		if !ok || n < first {
			return whole, nil
		}
		last = min(n, last)
	}
	if first >= size {
		return whole, unsatisfiable
	}
	return span{first, last - first + 1, true}, nil
}

// parseOffset reads decimal digits; what is too large for an int64 is the largest.
func parseOffset(text string) (int64, bool) {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 1<<63 - 1, true
	}
	return n, err == nil
}
