package s3

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// nullVersion is the version of objects that were written while their bucket kept none.
const nullVersion = "null"

// An objectRow is one version of an object, or a delete marker. Its bytes are the blob
// Hash, or where Segments is not 0 those of the segments of Upload, one after the other.
type objectRow struct {
	store.Row  `db:"s3_objects AS o"`
	Bucket     string                 `db:"bucket,pk"`
	Key        string                 `db:"object_key,pk"`
	Version    string                 `db:"version,pk"`
	Sequence   int64                  `db:"sequence"`
	Latest     bool                   `db:"latest"`
	Marker     bool                   `db:"marker"`
	Size       int64                  `db:"size"`
	ETag       string                 `db:"etag"` // without quotation marks
	Hash       string                 `db:"hash"`
	Segments   int64                  `db:"segments"`
	Upload     string                 `db:"upload"` // "" where it is one blob
	Attributes store.JSON[attributes] `db:"attributes"`
	ModifiedAt store.Time             `db:"modified_at"`

	by string // how it was made, in the words of events: "Copy"; "" is Put
}

// A segmentRow is one part of a multipart object.
type segmentRow struct {
	store.Row `db:"s3_segments"`
	Upload    string               `db:"upload,pk"`
	Number    int64                `db:"number,pk"`
	Size      int64                `db:"size"`
	Hash      string               `db:"hash"`
	Checksum  store.JSON[checksum] `db:"checksum"`
}

// setChecksum changes the checksum among the attributes.
func (o *objectRow) setChecksum(sum checksum) {
	a := o.Attributes.Get()
	a.Checksum = sum
	o.Attributes = store.JSONOf(a)
}

// objectAt is the version of an object that a location names, nil if it does not exist.
func objectAt(ctx context.Context, db store.DB, l Location) (*objectRow, error) {
	if !store.Storable(l.Key) || !store.Storable(l.Version) {
		return nil, nil
	}
	o := &objectRow{}
	var where store.Where
	where.And("bucket = ? AND object_key = ?", l.Bucket, l.Key)
	if l.Version != "" {
		where.And("version = ?", l.Version)
	} else {
		where.And("latest")
	}
	err := store.Get(ctx, db, o, where.Clause(), where.Args...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	return o, nil
}

// liveObject is an object that can be read. Error headers are set in h.
func liveObject(ctx context.Context, db store.DB, l Location, h http.Header) (*objectRow, error) {
	o, err := objectAt(ctx, db, l)
	switch {
	case err != nil:
		return nil, err
	case o == nil && l.Version != "":
		return nil, s3Error("NoSuchVersion", "The specified version does not exist.", "Key", l.Key, "VersionId", l.Version)
	case o == nil:
		return nil, s3Error("NoSuchKey", "The specified key does not exist.", "Key", l.Key)
	case o.Marker:
		h.Set("X-Amz-Delete-Marker", "true")
		h.Set("X-Amz-Version-Id", o.Version)
		if l.Version != "" {
			h.Set("Allow", "DELETE")
			h.Set("Last-Modified", httpTime(o.ModifiedAt.Time))
			return nil, s3Error("MethodNotAllowed", "The specified method is not allowed against this resource.", "ResourceType", "DeleteMarker")
		}
		return nil, s3Error("NoSuchKey", "The specified key does not exist.", "Key", l.Key)
	}
	return o, nil
}

// objectFor is the object of a request, if it can be read. Its version is set in the answer.
func (s *Service) objectFor(q *s3Request, db store.DB) (*objectRow, error) {
	b, err := s.bucketFor(q, db)
	if err != nil {
		return nil, err
	}
	o, err := liveObject(q.ctx, db, q.Location, q.w.Header())
	if err == nil && b.Versioning != "" {
		q.w.Header().Set("X-Amz-Version-Id", o.Version)
	}
	return o, err
}

func httpTime(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

// keep makes o, whose bytes are stored, the newest version of its key in bucket b.
func (s *Service) keep(ctx context.Context, tx *store.Tx, b *bucketRow, o *objectRow) error {
	o.Bucket, o.Latest, o.Version, o.ModifiedAt = b.Name, true, nullVersion, s.now()
	if b.Versioning == "Enabled" {
		o.Version = s.versionID()
	}
	if o.Version == nullVersion {
		if err := dropVersion(ctx, tx, Location{b.Name, o.Key, nullVersion}); err != nil {
			return err
		}
	}
	var last sql.NullInt64
	if err := store.Query(ctx, tx, &last, "SELECT MAX(sequence) FROM s3_objects WHERE bucket = ? AND object_key = ?", b.Name, o.Key); err != nil {
		return fmt.Errorf("numbering the version: %w", err)
	}
	if last.Valid {
		_, err := store.Exec(ctx, tx, "UPDATE s3_objects SET latest = ? WHERE bucket = ? AND object_key = ? AND sequence = ?", false, b.Name, o.Key, last.Int64)
		if err != nil {
			return fmt.Errorf("keeping the older version: %w", err)
		}
	}
	o.Sequence = last.Int64 + 1
	if err := store.Insert(ctx, tx, o); err != nil {
		return fmt.Errorf("keeping the object: %w", err)
	}
	event := "ObjectCreated:" + cmp.Or(o.by, "Put")
	if o.Marker {
		event = "ObjectRemoved:DeleteMarkerCreated"
	}
	return s.notify(ctx, tx, b, event, o)
}

// dropVersion deletes one version's row, and the segments that no object needs any more.
func dropVersion(ctx context.Context, tx *store.Tx, l Location) error {
	var upload string
	err := store.Query(ctx, tx, &upload, "DELETE FROM s3_objects WHERE bucket = ? AND object_key = ? AND version = ? RETURNING upload", l.Bucket, l.Key, l.Version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting the object: %w", err)
	}
	if upload == "" {
		return nil
	}
	_, err = store.Exec(ctx, tx, "DELETE FROM s3_segments WHERE upload = ? AND NOT EXISTS (SELECT 1 FROM s3_objects WHERE upload = ?)", upload, upload)
	if err != nil {
		return fmt.Errorf("deleting the object's parts: %w", err)
	}
	return nil
}

func (s *Service) putObject(q *s3Request) error {
	if q.header("X-Amz-Copy-Source") != "" {
		return s.copyObject(q)
	}
	if q.query.Has("versionId") {
		return s3Error("InvalidArgument", "This operation does not accept a version-id.", "ArgumentName", "versionId")
	}
	a, err := readAttributes(q.r.Header)
	if err != nil {
		return err
	}
	b, err := s.bucketFor(q, s.store.Read()) // before the body is taken
	if err != nil {
		return err
	}
	if err := s.checkACL(q.ctx, s.store.Read(), b, q.r.Header, false); err != nil {
		return err
	}
	fallback, err := algorithmNamed(defaultAlgorithm)
	if err != nil {
		return err
	}
	received, err := s.receive(q, s.maxObject, fallback)
	if err != nil {
		return err
	}
	a.Checksum = received.sum
	o := &objectRow{Key: q.Key, Size: received.blob.Size, ETag: received.etag, Hash: received.blob.Hash, Attributes: store.JSONOf(a)}
	if err := s.keepFor(q, o); err != nil {
		return err
	}
	h := q.w.Header()
	h.Set("ETag", quoted(o.ETag))
	a.Checksum.writeTo(h)
	a.writeEncryption(h)
	q.w.WriteHeader(http.StatusOK)
	return nil
}

// keepFor keeps o in the bucket of a request, if the conditions of the request hold, and
// answers with its version.
func (s *Service) keepFor(q *s3Request, o *objectRow) error {
	var b *bucketRow
	err := s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		var err error
		if b, err = s.bucketFor(q, tx); err != nil {
			return err
		}
		if err := writeConditions(ctx, tx, q.Location, q.r.Header); err != nil {
			return err
		}
		return s.keep(ctx, tx, b, o)
	})
	if err == nil && b.Versioning != "" {
		q.w.Header().Set("X-Amz-Version-Id", o.Version)
	}
	return err
}

// writeConditions holds a write to If-Match and If-None-Match.
func writeConditions(ctx context.Context, db store.DB, l Location, h http.Header) error {
	match, none := h.Get("If-Match"), h.Get("If-None-Match")
	if match == "" && none == "" {
		return nil
	}
	if none != "" && none != "*" {
		return s3NotImplemented("If-None-Match with an ETag, for a write")
	}
	old, err := objectAt(ctx, db, Location{Bucket: l.Bucket, Key: l.Key})
	if err != nil {
		return err
	}
	exists := old != nil && !old.Marker
	switch {
	case none == "*" && exists:
		return s3Error("PreconditionFailed", "At least one of the pre-conditions you specified did not hold", "Condition", "If-None-Match")
	case match != "" && !exists:
		return s3Error("NoSuchKey", "The specified key does not exist.", "Key", l.Key)
	case match != "" && match != "*" && unquoted(match) != old.ETag:
		return s3Error("PreconditionFailed", "At least one of the pre-conditions you specified did not hold", "Condition", "If-Match")
	}
	return nil
}

// received is a body that has become a blob.
type received struct {
	blob store.Blob
	etag string
	sum  checksum
}

// receive keeps the body of a request, of at most max bytes. Its checksum is the one that
// the client sent, or that of the algorithm fallback, nil for none. A blob that is refused
// is not named by any row, so it is swept.
func (s *Service) receive(q *s3Request, max int64, fallback *algorithm) (received, error) {
	body, err := q.body(max)
	if err != nil {
		return received{}, err
	}
	if body.Length < 0 {
		return received{}, s3Error("MissingContentLength", "You must provide the Content-Length HTTP header.")
	}
	if sentAlgorithm(q.r.Header) != "" {
		fallback = nil
	}
	d := digest(body, fallback)
	blob, err := s.store.Blobs().Put(q.ctx, d, max)
	if err != nil {
		if d.err != nil {
			return received{}, d.err
		}
		return received{}, err
	}
	sum := d.checksum()
	for name, value := range body.Checksums() {
		if strings.EqualFold(name, sentAlgorithm(q.r.Header)) {
			sum = checksum{Algorithm: name, Sum: value}
		}
	}
	return received{blob, d.etag(), sum}, nil
}

// sentAlgorithm is the algorithm whose checksum comes with a request, in a header or in a
// trailer, "" for none.
func sentAlgorithm(h http.Header) string {
	for _, a := range algorithms {
		if h.Get(a.header()) != "" || strings.EqualFold(strings.TrimSpace(h.Get("X-Amz-Trailer")), a.header()) {
			return a.name
		}
	}
	return ""
}

func (s *Service) getObject(q *s3Request) error {
	if err := refuseScript(q.r); err != nil {
		return err
	}
	o, err := s.objectFor(q, s.store.Read())
	if err != nil {
		return err
	}
	h := q.w.Header()
	asked, err := overrides(q)
	if err != nil {
		return err
	}
	if err := readConditions(q.r.Header, "", o, h); err != nil {
		return err
	}
	body, err := s.open(q.ctx, o)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was only read from
	part, err := choosePart(q, o, body)
	if err != nil {
		return err
	}
	o.Attributes.Get().writeTo(h)
	h.Set("ETag", quoted(o.ETag))
	h.Set("Last-Modified", httpTime(o.ModifiedAt.Time))
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Length", strconv.FormatInt(part.length, 10))
	for name, value := range asked {
		h.Set(name, value)
	}
	saveScripts(q.r, h)
	status := http.StatusOK
	if part.partial {
		status = http.StatusPartialContent
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.start, part.start+part.length-1, o.Size))
	} else if q.header("X-Amz-Checksum-Mode") == "ENABLED" {
		o.Attributes.Get().Checksum.writeTo(h)
	}
	q.w.WriteHeader(status)
	if q.r.Method == http.MethodHead {
		return nil
	}
	if _, err := body.Seek(part.start, io.SeekStart); err == nil {
		_, err = io.CopyN(q.w, body, part.length)
		if err != nil && q.ctx.Err() == nil {
			// The status is sent: all that is left is to break the connection off.
			s.log.Error("sending an object", "bucket", o.Bucket, "error", err)
			panic(http.ErrAbortHandler)
		}
	}
	return nil
}

// readConditions holds an object to the conditions of a read. prefix is that of the
// headers, "" or "X-Amz-Copy-Source-", whose refusals are all PreconditionFailed.
func readConditions(h http.Header, prefix string, o *objectRow, answer http.Header) error {
	failed := func(condition string) error {
		return s3Error("PreconditionFailed", "At least one of the pre-conditions you specified did not hold", "Condition", condition)
	}
	unmodified := func(name string) (bool, bool) {
		t, err := http.ParseTime(h.Get(prefix + name))
		return !o.ModifiedAt.Truncate(time.Second).After(t), err == nil
	}
	if match := h.Get(prefix + "If-Match"); match != "" {
		if match != "*" && unquoted(match) != o.ETag {
			return failed("If-Match")
		}
	} else if ok, given := unmodified("If-Unmodified-Since"); given && !ok {
		return failed("If-Unmodified-Since")
	}
	same, condition := false, "If-None-Match"
	if none := h.Get(prefix + "If-None-Match"); none != "" {
		same = none == "*" || unquoted(none) == o.ETag
	} else if ok, given := unmodified("If-Modified-Since"); given {
		same, condition = ok, "If-Modified-Since"
	}
	switch {
	case same && prefix != "":
		return failed(condition)
	case same:
		answer.Set("ETag", quoted(o.ETag))
		answer.Set("Last-Modified", httpTime(o.ModifiedAt.Time))
		return s3Error("NotModified", "Not Modified")
	}
	return nil
}

func (s *Service) deleteObject(q *s3Request) error {
	if err := s3RefuseHeaders(q.r.Header); err != nil {
		return err
	}
	var gone deletion
	err := s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.bucketFor(q, tx)
		if err != nil {
			return err
		}
		if q.header("If-Match") != "" {
			if err := writeConditions(ctx, tx, q.Location, http.Header{"If-Match": q.r.Header["If-Match"]}); err != nil {
				return err
			}
		}
		gone, err = s.remove(ctx, tx, b, q.Location)
		return err
	})
	if err != nil {
		return err
	}
	if gone.version != "" {
		q.w.Header().Set("X-Amz-Version-Id", gone.version)
	}
	if gone.marker {
		q.w.Header().Set("X-Amz-Delete-Marker", "true")
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

// A deletion is the result of a deletion: the deleted version, or the new marker.
type deletion struct {
	version string // "" in a bucket that never had versions
	marker  bool
}

// remove deletes a version, or hides the object behind a marker, depending on the versioning
// of the bucket. Deleting a missing object succeeds, as in S3.
func (s *Service) remove(ctx context.Context, tx *store.Tx, b *bucketRow, l Location) (deletion, error) {
	if l.Version == "" && b.Versioning != "" {
		o := &objectRow{Key: l.Key, Marker: true}
		if err := s.keep(ctx, tx, b, o); err != nil {
			return deletion{}, err
		}
		return deletion{o.Version, true}, nil
	}
	gone := deletion{version: l.Version}
	if l.Version == "" {
		l.Version = nullVersion
	}
	o, err := objectAt(ctx, tx, l)
	if err != nil || o == nil {
		return gone, err
	}
	gone.marker = o.Marker
	if err := dropVersion(ctx, tx, l); err != nil {
		return gone, err
	}
	if err := s.notify(ctx, tx, b, "ObjectRemoved:Delete", o); err != nil || !o.Latest {
		return gone, err
	}
	_, err = store.Exec(ctx, tx, "UPDATE s3_objects SET latest = ? WHERE bucket = ? AND object_key = ? AND sequence = (SELECT MAX(sequence) FROM s3_objects WHERE bucket = ? AND object_key = ?)",
		true, l.Bucket, l.Key, l.Bucket, l.Key)
	if err != nil {
		return gone, fmt.Errorf("restoring the previous version: %w", err)
	}
	return gone, nil
}
