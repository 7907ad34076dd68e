package s3

import (
	"cmp"
	"context"
	"crypto/md5"
	"database/sql"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

const (
	maxParts    = 10000
	minPartSize = 5 << 20 // of all parts but the last
)

// An uploadRow is a multipart upload that is not completed. The checksum of its attributes
// says the algorithm and the kind.
type uploadRow struct {
	store.Row  `db:"s3_uploads AS u"`
	ID         string                 `db:"id,pk"`
	Bucket     string                 `db:"bucket"`
	Key        string                 `db:"object_key"`
	Attributes store.JSON[attributes] `db:"attributes"`
	CreatedAt  store.Time             `db:"created_at"`
}

// A partRow is one part of an upload.
type partRow struct {
	store.Row  `db:"s3_parts"`
	Upload     string               `db:"upload,pk"`
	Number     int64                `db:"number,pk"`
	Size       int64                `db:"size"`
	ETag       string               `db:"etag"`
	Hash       string               `db:"hash"`
	Checksum   store.JSON[checksum] `db:"checksum"`
	ModifiedAt store.Time           `db:"modified_at"`
}

// uploadFor is the upload of a request.
func (s *Service) uploadFor(ctx context.Context, q *s3Request, db store.DB) (*uploadRow, *bucketRow, error) {
	b, err := s.bucketFor(q, db)
	if err != nil {
		return nil, nil, err
	}
	u := &uploadRow{}
	err = store.Get(ctx, db, u, "WHERE id = ? AND bucket = ? AND object_key = ?", words.Cut(q.query.Get("uploadId"), 256), q.Bucket, q.Key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, b, noSuchUpload(q)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the upload: %w", err)
	}
	return u, b, nil
}

func noSuchUpload(q *s3Request) error {
	return s3Error("NoSuchUpload", "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.", "UploadId", words.Cut(q.query.Get("uploadId"), 256))
}

func (s *Service) createMultipartUpload(q *s3Request) error {
	a, err := readAttributes(q.r.Header)
	if err != nil {
		return err
	}
	if name := q.header("X-Amz-Checksum-Algorithm"); name != "" {
		algorithm, err := algorithmNamed(name)
		if err != nil {
			return err
		}
		a.Checksum.Algorithm = algorithm.name
		if a.Checksum.Composite, err = compositeWanted(algorithm, q.header("X-Amz-Checksum-Type")); err != nil {
			return err
		}
	}
	u := &uploadRow{ID: s.uploadID(), Bucket: q.Bucket, Key: q.Key, Attributes: store.JSONOf(a), CreatedAt: s.now()}
	err = s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.bucketFor(q, tx)
		if err != nil {
			return err
		}
		if err := s.checkACL(ctx, tx, b, q.r.Header, false); err != nil {
			return err
		}
		return store.Insert(ctx, tx, u)
	})
	if err != nil {
		return err
	}
	if a.Checksum.Algorithm != "" {
		q.w.Header().Set("X-Amz-Checksum-Algorithm", a.Checksum.Algorithm)
		q.w.Header().Set("X-Amz-Checksum-Type", a.Checksum.kind())
	}
	a.writeEncryption(q.w.Header())
	return q.answer(struct {
		XMLName  xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ InitiateMultipartUploadResult"`
		Bucket   string
		Key      string
		UploadID string `xml:"UploadId"`
	}{Bucket: q.Bucket, Key: q.Key, UploadID: u.ID})
}

// compositeWanted is the kind of the final checksum of an upload, from the request of the
// client and the abilities of the algorithm.
func compositeWanted(a *algorithm, kind string) (bool, error) {
	switch {
	case kind == "":
		return a.name != defaultAlgorithm, nil
	case kind == "COMPOSITE" && a.name != defaultAlgorithm:
		return true, nil
	case kind == "FULL_OBJECT" && a.combine != nil:
		return false, nil
	case kind == "COMPOSITE" || kind == "FULL_OBJECT":
		return false, s3Error("InvalidRequest", fmt.Sprintf("The %s checksum type cannot be used with the %s checksum algorithm.", kind, strings.ToLower(a.name)))
	}
	return false, s3Error("InvalidRequest", "Value for x-amz-checksum-type header is invalid.")
}

func invalidPartNumber(name, text string) error {
	return s3Error("InvalidArgument", fmt.Sprintf("Part number must be an integer between 1 and %d, inclusive", maxParts), "ArgumentName", name, "ArgumentValue", words.Cut(text, 50))
}

func (s *Service) uploadPart(q *s3Request) error {
	text := q.query.Get("partNumber")
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 1 || number > maxParts {
		return invalidPartNumber("partNumber", text)
	}
	if err := s3RefuseHeaders(q.r.Header); err != nil {
		return err
	}
	u, _, err := s.uploadFor(q.ctx, q, s.store.Read())
	if err != nil {
		return err
	}
	if q.header("X-Amz-Copy-Source") != "" {
		return s.uploadPartCopy(q, u, number)
	}
	var want *algorithm
	if name := u.Attributes.Get().Checksum.Algorithm; name != "" {
		if want, err = algorithmNamed(name); err != nil {
			return err
		}
	}
	got, err := s.receive(q, s.maxObject, want)
	if err != nil {
		return err
	}
	if want != nil && got.sum.Algorithm != want.name {
		return s3Error("InvalidRequest", fmt.Sprintf("Checksum Type mismatch occurred, expected checksum Type: %s, actual checksum Type: %s", strings.ToLower(want.name), strings.ToLower(got.sum.Algorithm)))
	}
	row := &partRow{Upload: u.ID, Number: number, Size: got.blob.Size, ETag: got.etag, Hash: got.blob.Hash, Checksum: store.JSONOf(got.sum), ModifiedAt: s.now()}
	if err := s.keepPart(q, row); err != nil {
		return err
	}
	h := q.w.Header()
	h.Set("ETag", quoted(row.ETag))
	if got.sum.Sum != "" {
		h.Set(checksumHeader+strings.ToLower(got.sum.Algorithm), got.sum.Sum)
	}
	u.Attributes.Get().writeEncryption(h)
	q.w.WriteHeader(http.StatusOK)
	return nil
}

// keepPart keeps a part in the place of what had its number.
func (s *Service) keepPart(q *s3Request, row *partRow) error {
	return s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, _, err := s.uploadFor(ctx, q, tx); err != nil {
			return err // aborted or completed since
		}
		if err := store.Upsert(ctx, tx, []*partRow{row}, "size", "etag", "hash", "checksum", "modified_at"); err != nil {
			return fmt.Errorf("keeping the part: %w", err)
		}
		return nil
	})
}

// A completedPart is what CompleteMultipartUpload says about a part.
type completedPart struct {
	PartNumber int64
	ETag       string
	Sums       []sumElement `xml:",any"`
}

// sum is the requested checksum, "" if none is.
func (p completedPart) sum(algorithm string) string {
	for _, s := range p.Sums {
		if s.XMLName.Local == "Checksum"+algorithm {
			return s.Value
		}
	}
	return ""
}

func (s *Service) completeMultipartUpload(q *s3Request) error {
	var list struct{ Part []completedPart }
	if err := q.sent("CompleteMultipartUpload", maxList, &list); err != nil {
		return err
	}
	if len(list.Part) == 0 || len(list.Part) > maxParts {
		return errMalformedXML
	}
	var o *objectRow
	var b *bucketRow
	err := s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		var u *uploadRow
		var err error
		if u, b, err = s.uploadFor(ctx, q, tx); err != nil {
			// The answer to the first request may have been lost.
			if o = s.completedBefore(ctx, tx, q, b); o != nil {
				return nil
			}
			return err
		}
		if err := writeConditions(ctx, tx, q.Location, q.r.Header); err != nil {
			return err
		}
		o, err = s.complete(ctx, tx, q, b, u, list.Part)
		return err
	})
	if err != nil {
		return err
	}
	return s.answerCompleted(q, b, o)
}

// completedBefore is the object of an upload that was completed before, nil without one.
func (s *Service) completedBefore(ctx context.Context, tx *store.Tx, q *s3Request, b *bucketRow) *objectRow {
	if b == nil {
		return nil
	}
	o := &objectRow{}
	err := store.Get(ctx, tx, o, "WHERE upload = ? AND bucket = ? AND object_key = ? ORDER BY sequence DESC LIMIT 1",
		words.Cut(q.query.Get("uploadId"), 256), q.Bucket, q.Key)
	if err != nil || !isMultipart(o) {
		return nil
	}
	return o
}

// complete makes an object of the parts that the client lists.
func (s *Service) complete(ctx context.Context, tx *store.Tx, q *s3Request, b *bucketRow, u *uploadRow, list []completedPart) (*objectRow, error) {
	var rows []partRow
	if err := store.List(ctx, tx, &rows, "WHERE upload = ?", u.ID); err != nil {
		return nil, fmt.Errorf("reading the parts: %w", err)
	}
	parts := make(map[int64]*partRow, len(rows))
	for i := range rows {
		parts[rows[i].Number] = &rows[i]
	}
	o := &objectRow{Key: q.Key, Upload: u.ID, Segments: int64(len(list)), Attributes: u.Attributes}
	digests := md5.New()
	segments := make([]segmentRow, 0, len(list))
	for i := range list[1:] {
		if list[i+1].PartNumber <= list[i].PartNumber {
			return nil, s3Error("InvalidPartOrder", "The list of parts was not in ascending order. Parts must be ordered by part number.", "UploadId", u.ID)
		}
	}
	for i, said := range list {
		part := parts[said.PartNumber]
		if err := checkPart(u, said, part, i == len(list)-1); err != nil {
			return nil, err
		}
		sum, err := hex.DecodeString(part.ETag)
		if err != nil {
			return nil, fmt.Errorf("the ETag of a part: %w", err)
		}
		digests.Write(sum)
		o.Size += part.Size
		segments = append(segments, segmentRow{Upload: u.ID, Number: part.Number, Size: part.Size, Hash: part.Hash, Checksum: part.Checksum})
	}
	if o.Size > s.maxObject {
		return nil, tooLarge(o.Size, s.maxObject)
	}
	o.ETag = fmt.Sprintf("%s-%d", hex.EncodeToString(digests.Sum(nil)), len(list))
	if err := wholeChecksum(q, o, segments); err != nil {
		return nil, err
	}
	o.by = "CompleteMultipartUpload"
	if err := s.keep(ctx, tx, b, o); err != nil {
		return nil, err
	}
	if err := store.Insert(ctx, tx, store.Pointers(segments)...); err != nil {
		return nil, fmt.Errorf("keeping the parts: %w", err)
	}
	return o, dropUploads(ctx, tx, u.ID)
}

// checkPart holds one part of the list to what was uploaded.
func checkPart(u *uploadRow, said completedPart, part *partRow, last bool) error {
	number := strconv.FormatInt(said.PartNumber, 10)
	if said.PartNumber < 1 || said.PartNumber > maxParts {
		return invalidPartNumber("PartNumber", number)
	}
	wrong := s3Error("InvalidPart", "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.", "UploadId", u.ID, "PartNumber", number, "ETag", words.Cut(unquoted(said.ETag), 100))
	if part == nil || unquoted(said.ETag) != part.ETag {
		return wrong
	}
	algorithm := cmp.Or(u.Attributes.Get().Checksum.Algorithm, part.Checksum.Get().Algorithm)
	if sum := said.sum(algorithm); sum != "" && sum != part.Checksum.Get().Sum {
		return wrong
	}
	if !last && part.Size < minPartSize {
		return s3Error("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size", "ProposedSize", strconv.FormatInt(part.Size, 10),
			"MinSizeAllowed", strconv.Itoa(minPartSize), "PartNumber", number, "ETag", part.ETag)
	}
	return nil
}

// wholeChecksum is the checksum of an object from those of its parts, held to what the
// client says it is.
func wholeChecksum(q *s3Request, o *objectRow, segments []segmentRow) error {
	kind := o.Attributes.Get().Checksum
	if kind.Algorithm == "" {
		return nil
	}
	a, err := algorithmNamed(kind.Algorithm)
	if err != nil {
		return err
	}
	sums, sizes := make([]string, len(segments)), make([]int64, len(segments))
	for i, part := range segments {
		sums[i], sizes[i] = part.Checksum.Get().Sum, part.Size
	}
	var sum checksum
	if kind.Composite {
		sum, err = composite(a, sums)
	} else {
		sum, err = wholeCRC(a, sums, sizes)
	}
	if err != nil {
		return err
	}
	o.setChecksum(sum)
	said, _, _ := strings.Cut(q.header(a.header()), "-")
	made, _, _ := strings.Cut(sum.Sum, "-")
	if said != "" && said != made {
		return s3Error("BadDigest", fmt.Sprintf("The %s you specified did not match the calculated checksum.", strings.ToLower(a.name)))
	}
	return nil
}

func (s *Service) answerCompleted(q *s3Request, b *bucketRow, o *objectRow) error {
	if b.Versioning != "" {
		q.w.Header().Set("X-Amz-Version-Id", o.Version)
	}
	o.Attributes.Get().writeEncryption(q.w.Header())
	answer := struct {
		XMLName      xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUploadResult"`
		Location     string
		Bucket       string
		Key          string
		ETag         string
		Sums         []sumElement
		ChecksumType string `xml:",omitempty"`
	}{Location: s.objectURL(q), Bucket: o.Bucket, Key: o.Key, ETag: quoted(o.ETag), Sums: o.Attributes.Get().Checksum.elements()}
	if answer.Sums != nil {
		answer.ChecksumType = o.Attributes.Get().Checksum.kind()
	}
	return q.answer(answer)
}

// objectURL is where the object of a request is, in the style that the client uses.
func (s *Service) objectURL(q *s3Request) string {
	scheme := "http"
	if q.r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + q.r.Host + q.r.URL.EscapedPath()
}

func (s *Service) abortMultipartUpload(q *s3Request) error {
	err := s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		u, _, err := s.uploadFor(ctx, q, tx)
		if err != nil {
			return err
		}
		return dropUploads(ctx, tx, u.ID)
	})
	if err != nil {
		return err
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}
