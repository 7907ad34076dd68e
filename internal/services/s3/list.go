package s3

import (
	"context"
	"encoding/xml"
	"fmt"
	"math"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

const (
	// maxKeys is the most that one list gives.
	maxKeys = 1000

	// allVersions is, in the place of a version, all that a key has. It is not a version.
	allVersions = "*"
)

// readToken reads where a list continues.
func readToken(token string) (string, error) {
	after, ok := store.ReadKeyToken(token)
	if !ok {
		return "", s3Error("InvalidArgument", "The continuation token provided is incorrect", "ArgumentName", "continuation-token")
	}
	return after, nil
}

// A listing is what the three lists of objects have in common.
type listing struct {
	bucket, prefix, delimiter string
	limit                     int
	// from is the smallest key of the list; past is the version of that key after which the
	// list continues, "" for all of them.
	from, past string
	versions   bool // all versions, not only current objects
}

// A page is a page of a listing: the entries in order, the common prefixes, and where the next
// page starts.
type page struct {
	rows      []objectRow
	prefixes  []string
	truncated bool
	// last is the last key or common prefix that is listed; lastVersion its version.
	last, lastVersion string
}

// listPage collects one page. Rows are read in batches in the order of keys; after a common
// prefix the next batch starts after all keys with it.
func (s *Service) listPage(ctx context.Context, l listing) (page, error) {
	var p page
	from, past := max(l.from, l.prefix), l.past
	for l.limit > 0 {
		rows, err := s.listBatch(ctx, l, from, past)
		if err != nil {
			return p, err
		}
		skip := ""
		for i := range rows {
			o := &rows[i]
			if !strings.HasPrefix(o.Key, l.prefix) {
				return p, nil
			}
			if skip != "" && strings.HasPrefix(o.Key, skip) {
				continue
			}
			if len(p.rows)+len(p.prefixes) == l.limit {
				p.truncated = true
				return p, nil
			}
			if common := commonPrefix(o.Key, l.prefix, l.delimiter); common != "" {
				p.prefixes = append(p.prefixes, common)
				p.last, p.lastVersion, skip = common, "", common
				continue
			}
			p.rows = append(p.rows, *o)
			p.last, p.lastVersion, skip = o.Key, o.Version, ""
		}
		if len(rows) < l.limit+1 {
			return p, nil
		}
		end := rows[len(rows)-1]
		from, past = end.Key, end.Version
		if skip != "" {
			next, ok := store.Successor(skip)
			if !ok {
				return p, nil
			}
			from, past = next, ""
		}
	}
	return p, nil
}

// pageAfter collects the page after a key or a common prefix, "" for the first.
func (s *Service) pageAfter(ctx context.Context, l listing, key string) (page, error) {
	if !l.afterKey(key) {
		return page{}, nil
	}
	return s.listPage(ctx, l)
}

// commonPrefix is what key is listed under, "" where it is listed itself.
func commonPrefix(key, prefix, delimiter string) string {
	if delimiter == "" {
		return ""
	}
	i := strings.Index(key[len(prefix):], delimiter)
	if i < 0 {
		return ""
	}
	return key[:len(prefix)+i+len(delimiter)]
}

// listBatch reads the rows of a batch: from a key on, behind one of its versions.
func (s *Service) listBatch(ctx context.Context, l listing, from, past string) ([]objectRow, error) {
	var rows []objectRow
	var where store.Where
	where.And("o.bucket = ?", l.bucket)
	switch {
	case past == "":
		where.And("o.object_key >= ?", from)
	case l.versions && past != allVersions:
		// If the marker was deleted meanwhile, the list repeats the other versions of its key
		// rather than omit them.
		where.And("o.object_key > ? OR o.object_key = ? AND o.sequence < COALESCE((SELECT p.sequence FROM s3_objects AS p WHERE p.bucket = ? AND p.object_key = ? AND p.version = ?), ?)",
			from, from, l.bucket, from, past, int64(math.MaxInt64))
	default:
		where.And("o.object_key > ?", from)
	}
	if next, ok := store.Successor(l.prefix); ok {
		where.And("o.object_key < ?", next)
	}
	if !l.versions {
		where.And("o.latest AND NOT o.marker")
	}
	if err := store.List(ctx, s.store.Read(), &rows, where.Clause()+" ORDER BY o.object_key, o.sequence DESC LIMIT ?", append(where.Args, l.limit+1)...); err != nil {
		return nil, fmt.Errorf("listing objects: %w", err)
	}
	return rows, nil
}

// afterKey is the start of a list after a key or a common prefix.
func (l *listing) afterKey(key string) bool {
	if key == "" {
		return true
	}
	if common := commonPrefix(key, l.prefix, l.delimiter); strings.HasPrefix(key, l.prefix) && common == key {
		next, ok := store.Successor(key)
		l.from = next
		return ok
	}
	// The least text after key is key and a NUL, which no key has and no database takes.
	l.from, l.past = key, allVersions
	return true
}

type (
	listedOwner  struct{ ID string }
	listedPrefix struct{ Prefix string }
	listedObject struct {
		Key               string
		LastModified      xmlTime
		ETag              string
		ChecksumAlgorithm string `xml:",omitempty"`
		ChecksumType      string `xml:",omitempty"`
		Size              int64
		StorageClass      string
		Owner             *listedOwner `xml:",omitempty"`
	}
	listedVersion struct {
		XMLName           xml.Name // Version or DeleteMarker
		Key               string
		VersionID         string `xml:"VersionId"`
		IsLatest          bool
		LastModified      xmlTime
		ETag              string `xml:",omitempty"`
		ChecksumAlgorithm string `xml:",omitempty"`
		ChecksumType      string `xml:",omitempty"`
		Size              *int64 `xml:",omitempty"`
		StorageClass      string `xml:",omitempty"`
		Owner             *listedOwner
	}
)

// begin reads the parameters that all lists have.
func (s *Service) begin(q *s3Request) (*listRequest, error) {
	r := &listRequest{listing: listing{bucket: q.Bucket, prefix: q.query.Get("prefix"), delimiter: q.query.Get("delimiter")}}
	var err error
	if r.as, r.encoding, err = q.keysAs(); err != nil {
		return nil, err
	}
	if r.limit, err = intParameter(q, "max-keys", 0, maxKeys, maxKeys); err != nil {
		return nil, err
	}
	for _, name := range []string{"prefix", "delimiter", "marker", "key-marker", "start-after"} {
		if text := q.query.Get(name); len(text) > maxKey {
			return nil, s3Error("InvalidArgument", "The "+name+" is longer than keys are", "ArgumentName", name)
		}
	}
	b, err := s.bucketFor(q, s.store.Read())
	if err != nil {
		return nil, err
	}
	r.owner = listedOwner{canonicalUser(b.Account)}
	return r, nil
}

// A listRequest is a listing with how its answer is written.
type listRequest struct {
	listing
	as       xmlKey
	encoding string
	owner    listedOwner
}

// A listAnswer is what the answers to the three lists of objects have in common.
type listAnswer struct {
	Name           string
	Prefix         string
	MaxKeys        int
	Delimiter      string `xml:",omitempty"`
	EncodingType   string `xml:",omitempty"`
	IsTruncated    bool
	CommonPrefixes []listedPrefix
}

func (r *listRequest) answer(p page) listAnswer {
	a := listAnswer{Name: r.bucket, Prefix: r.as(r.prefix), MaxKeys: r.limit, Delimiter: r.as(r.delimiter), EncodingType: r.encoding, IsTruncated: p.truncated}
	for _, prefix := range p.prefixes {
		a.CommonPrefixes = append(a.CommonPrefixes, listedPrefix{r.as(prefix)})
	}
	return a
}

// objects are the objects of a page, with their owner where one is given.
func (r *listRequest) objects(p page, owner *listedOwner) []listedObject {
	var out []listedObject
	for i := range p.rows {
		out = append(out, listObject(&p.rows[i], r.as, owner))
	}
	return out
}

func listObject(o *objectRow, as xmlKey, owner *listedOwner) listedObject {
	sum := o.Attributes.Get().Checksum
	out := listedObject{Key: as(o.Key), LastModified: xmlTime(o.ModifiedAt.Time), ETag: quoted(o.ETag), Size: o.Size, StorageClass: storageClass(o), Owner: owner}
	if sum.Sum != "" {
		out.ChecksumAlgorithm, out.ChecksumType = sum.Algorithm, sum.kind()
	}
	return out
}

func storageClass(o *objectRow) string {
	if o.Attributes.Get().Class == "" {
		return "STANDARD"
	}
	return o.Attributes.Get().Class
}

func (s *Service) listObjects(q *s3Request) error {
	r, err := s.begin(q)
	if err != nil {
		return err
	}
	marker := q.query.Get("marker")
	p, err := s.pageAfter(q.ctx, r.listing, marker)
	if err != nil {
		return err
	}
	answer := struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
		listAnswer
		Marker     string
		NextMarker string `xml:",omitempty"`
		Contents   []listedObject
	}{listAnswer: r.answer(p), Marker: r.as(marker), Contents: r.objects(p, &r.owner)}
	if p.truncated && r.delimiter != "" { // without, the marker is the last key that is listed
		answer.NextMarker = r.as(p.last)
	}
	return q.answer(answer)
}

func (s *Service) listObjectsV2(q *s3Request) error {
	r, err := s.begin(q)
	if err != nil {
		return err
	}
	token, startAfter := q.query.Get("continuation-token"), q.query.Get("start-after")
	after := startAfter
	if q.query.Has("continuation-token") {
		if after, err = readToken(token); err != nil {
			return err
		}
	}
	p, err := s.pageAfter(q.ctx, r.listing, after)
	if err != nil {
		return err
	}
	var owner *listedOwner
	if q.query.Get("fetch-owner") == "true" {
		owner = &r.owner
	}
	answer := struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
		listAnswer
		StartAfter            string `xml:",omitempty"`
		ContinuationToken     string `xml:",omitempty"`
		NextContinuationToken string `xml:",omitempty"`
		KeyCount              int
		Contents              []listedObject
	}{listAnswer: r.answer(p), StartAfter: r.as(startAfter), ContinuationToken: token, KeyCount: len(p.rows) + len(p.prefixes), Contents: r.objects(p, owner)}
	if p.truncated {
		answer.NextContinuationToken = store.KeyToken(p.last)
	}
	return q.answer(answer)
}

func (s *Service) listObjectVersions(q *s3Request) error {
	r, err := s.begin(q)
	if err != nil {
		return err
	}
	r.versions = true
	marker, versionMarker := q.query.Get("key-marker"), q.query.Get("version-id-marker")
	if versionMarker != "" && marker == "" {
		return s3Error("InvalidArgument", "A version-id marker cannot be specified without a key marker.", "ArgumentName", "version-id-marker")
	}
	var p page
	if versionMarker != "" {
		r.from, r.past = marker, versionMarker
		p, err = s.listPage(q.ctx, r.listing)
	} else {
		p, err = s.pageAfter(q.ctx, r.listing, marker)
	}
	if err != nil {
		return err
	}
	answer := struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListVersionsResult"`
		listAnswer
		KeyMarker           string
		VersionIDMarker     string `xml:"VersionIdMarker"`
		NextKeyMarker       string `xml:",omitempty"`
		NextVersionIDMarker string `xml:"NextVersionIdMarker,omitempty"`
		Versions            []listedVersion
	}{listAnswer: r.answer(p), KeyMarker: r.as(marker), VersionIDMarker: versionMarker}
	if p.truncated {
		answer.NextKeyMarker, answer.NextVersionIDMarker = r.as(p.last), p.lastVersion
	}
	for i := range p.rows {
		answer.Versions = append(answer.Versions, listVersion(&p.rows[i], r.as, &r.owner))
	}
	return q.answer(answer)
}

func listVersion(o *objectRow, as xmlKey, owner *listedOwner) listedVersion {
	v := listedVersion{XMLName: xml.Name{Local: "DeleteMarker"}, Key: as(o.Key), VersionID: o.Version, IsLatest: o.Latest, LastModified: xmlTime(o.ModifiedAt.Time), Owner: owner}
	if !o.Marker {
		v.XMLName.Local, v.ETag, v.Size, v.StorageClass = "Version", quoted(o.ETag), &o.Size, storageClass(o)
		if sum := o.Attributes.Get().Checksum; sum.Sum != "" {
			v.ChecksumAlgorithm, v.ChecksumType = sum.Algorithm, sum.kind()
		}
	}
	return v
}
