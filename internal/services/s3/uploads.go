package s3

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

func (s *Service) listParts(q *s3Request) error {
	u, b, err := s.uploadFor(q.ctx, q, s.store.Read())
	if err != nil {
		return err
	}
	limit, err := intParameter(q, "max-parts", 0, maxKeys, maxKeys)
	if err != nil {
		return err
	}
	marker, err := intParameter(q, "part-number-marker", 0, math.MaxInt32, 0)
	if err != nil {
		return err
	}
	var rows []partRow
	err = store.List(q.ctx, s.store.Read(), &rows, "WHERE upload = ? AND number > ? ORDER BY number LIMIT ?", u.ID, marker, int64(limit)+1)
	if err != nil {
		return fmt.Errorf("listing parts: %w", err)
	}
	type part struct {
		PartNumber   int64
		LastModified xmlTime
		ETag         string
		Size         int64
		Sums         []sumElement
	}
	answer := struct {
		XMLName              xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListPartsResult"`
		Bucket               string
		Key                  string
		UploadID             string `xml:"UploadId"`
		Initiator, Owner     listedOwner
		StorageClass         string
		PartNumberMarker     int
		NextPartNumberMarker int64
		MaxParts             int
		IsTruncated          bool
		ChecksumAlgorithm    string `xml:",omitempty"`
		ChecksumType         string `xml:",omitempty"`
		Part                 []part
	}{Bucket: q.Bucket, Key: q.Key, UploadID: u.ID, StorageClass: storageClass(&objectRow{Attributes: u.Attributes}), PartNumberMarker: marker, MaxParts: limit}
	answer.Owner.ID = canonicalUser(b.Account)
	answer.Initiator = answer.Owner
	if sum := u.Attributes.Get().Checksum; sum.Algorithm != "" {
		answer.ChecksumAlgorithm, answer.ChecksumType = sum.Algorithm, sum.kind()
	}
	if len(rows) > limit {
		rows, answer.IsTruncated = rows[:limit], true
	}
	for _, row := range rows {
		answer.Part = append(answer.Part, part{row.Number, xmlTime(row.ModifiedAt.Time), quoted(row.ETag), row.Size, row.Checksum.Get().elements()})
		answer.NextPartNumberMarker = row.Number
	}
	return q.answer(answer)
}

type listedUpload struct {
	Key               string
	UploadID          string `xml:"UploadId"`
	Initiator, Owner  listedOwner
	StorageClass      string
	Initiated         xmlTime
	ChecksumAlgorithm string `xml:",omitempty"`
	ChecksumType      string `xml:",omitempty"`
}

type uploadsAnswer struct {
	XMLName            xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListMultipartUploadsResult"`
	Bucket             string
	KeyMarker          string
	UploadIDMarker     string `xml:"UploadIdMarker"`
	NextKeyMarker      string `xml:",omitempty"`
	NextUploadIDMarker string `xml:"NextUploadIdMarker,omitempty"`
	Delimiter          string `xml:",omitempty"`
	Prefix             string
	EncodingType       string `xml:",omitempty"`
	MaxUploads         int
	IsTruncated        bool
	Upload             []listedUpload
	CommonPrefixes     []listedPrefix
}

func (s *Service) listMultipartUploads(q *s3Request) error {
	as, encoding, err := q.keysAs()
	if err != nil {
		return err
	}
	b, err := s.bucketFor(q, s.store.Read())
	if err != nil {
		return err
	}
	answer := uploadsAnswer{Bucket: b.Name, EncodingType: encoding}
	if answer.MaxUploads, err = intParameter(q, "max-uploads", 1, maxKeys, maxKeys); err != nil {
		return err
	}
	prefix, delimiter, marker := q.query.Get("prefix"), q.query.Get("delimiter"), q.query.Get("key-marker")
	for _, text := range []string{prefix, delimiter, marker} {
		if len(text) > maxKey {
			return s3Error("InvalidArgument", "The prefix, delimiter or marker is longer than keys are")
		}
	}
	answer.UploadIDMarker = words.Cut(q.query.Get("upload-id-marker"), 256)
	answer.KeyMarker, answer.Delimiter, answer.Prefix = as(marker), as(delimiter), as(prefix)
	var rows []uploadRow
	var where store.Where
	where.And("u.bucket = ? AND u.object_key >= ?", b.Name, prefix)
	if next, ok := store.Successor(prefix); ok {
		where.And("u.object_key < ?", next)
	}
	switch {
	case marker != "" && answer.UploadIDMarker != "":
		where.And("u.object_key > ? OR u.object_key = ? AND u.id > ?", marker, marker, answer.UploadIDMarker)
	case marker != "":
		where.And("u.object_key > ?", marker)
	}
	// There are few unfinished uploads: the common prefixes are found here.
	if err := store.List(q.ctx, s.store.Read(), &rows, where.Clause()+" ORDER BY u.object_key, u.id LIMIT ?", append(where.Args, maxParts)...); err != nil {
		return fmt.Errorf("listing uploads: %w", err)
	}
	answer.collect(rows, prefix, delimiter, marker, as, listedOwner{canonicalUser(b.Account)})
	return q.answer(answer)
}

// collect puts uploads, in order, or their common prefixes into the answer.
func (a *uploadsAnswer) collect(rows []uploadRow, prefix, delimiter, marker string, as xmlKey, owner listedOwner) {
	last := ""
	for i := range rows {
		u := &rows[i]
		common := commonPrefix(u.Key, prefix, delimiter)
		if common != "" && (common == last || common == marker) {
			continue
		}
		if len(a.Upload)+len(a.CommonPrefixes) == a.MaxUploads {
			a.IsTruncated = true
			return
		}
		if common != "" {
			last = common
			a.CommonPrefixes = append(a.CommonPrefixes, listedPrefix{as(common)})
			a.NextKeyMarker, a.NextUploadIDMarker = as(common), ""
			continue
		}
		out := listedUpload{Key: as(u.Key), UploadID: u.ID, Initiator: owner, Owner: owner, StorageClass: storageClass(&objectRow{Attributes: u.Attributes}), Initiated: xmlTime(u.CreatedAt.Time)}
		if sum := u.Attributes.Get().Checksum; sum.Algorithm != "" {
			out.ChecksumAlgorithm, out.ChecksumType = sum.Algorithm, sum.kind()
		}
		a.Upload = append(a.Upload, out)
		a.NextKeyMarker, a.NextUploadIDMarker = as(u.Key), u.ID
	}
	a.NextKeyMarker, a.NextUploadIDMarker = "", ""
}

func (s *Service) getObjectAttributes(q *s3Request) error {
	o, err := s.objectFor(q, s.store.Read())
	if err != nil {
		return err
	}
	q.w.Header().Set("Last-Modified", httpTime(o.ModifiedAt.Time))
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(strings.Join(q.r.Header.Values("X-Amz-Object-Attributes"), ","), ",") {
		wanted[strings.TrimSpace(name)] = true
	}
	type element struct {
		XMLName xml.Name
		Value   string `xml:",chardata"`
		Inner   []element
	}
	leaf := func(name, value string) element { return element{XMLName: xml.Name{Local: name}, Value: value} }
	answer := element{XMLName: xml.Name{Space: s3Namespace, Local: "GetObjectAttributesResponse"}}
	if wanted["ETag"] {
		answer.Inner = append(answer.Inner, leaf("ETag", o.ETag))
	}
	if sum := o.Attributes.Get().Checksum; wanted["Checksum"] && sum.Sum != "" {
		answer.Inner = append(answer.Inner, element{XMLName: xml.Name{Local: "Checksum"}, Inner: []element{leaf("Checksum"+sum.Algorithm, sum.Sum), leaf("ChecksumType", sum.kind())}})
	}
	if wanted["ObjectParts"] && isMultipart(o) {
		answer.Inner = append(answer.Inner, element{XMLName: xml.Name{Local: "ObjectParts"}, Inner: []element{leaf("PartsCount", strconv.FormatInt(o.Segments, 10))}})
	}
	if wanted["StorageClass"] {
		answer.Inner = append(answer.Inner, leaf("StorageClass", storageClass(o)))
	}
	if wanted["ObjectSize"] {
		answer.Inner = append(answer.Inner, leaf("ObjectSize", strconv.FormatInt(o.Size, 10)))
	}
	if len(answer.Inner) == 0 {
		return s3Error("InvalidArgument", "Invalid attribute name specified.", "ArgumentName", "x-amz-object-attributes")
	}
	return q.answer(answer)
}
