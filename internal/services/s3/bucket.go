package s3

import (
	"context"
	"database/sql"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A bucketRow is a bucket. Versioning is "", "Enabled" or "Suspended".
type bucketRow struct {
	store.Row  `db:"s3_buckets"`
	Name       string     `db:"name,pk"`
	Account    string     `db:"account"`
	Region     string     `db:"region"`
	Versioning string     `db:"versioning"`
	CreatedAt  store.Time `db:"created_at"`
}

// bucketNamed is a bucket, nil if it does not exist.
func bucketNamed(ctx context.Context, db store.DB, name string) (*bucketRow, error) {
	b := &bucketRow{}
	err := store.Get(ctx, db, b, "WHERE name = ?", name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the bucket: %w", err)
	}
	return b, nil
}

// ownBucket is a bucket that account may use, or the refusal.
func ownBucket(ctx context.Context, db store.DB, account, name string) (*bucketRow, error) {
	b, err := bucketNamed(ctx, db, name)
	switch {
	case err != nil:
		return nil, err
	case b == nil:
		return nil, s3Error("NoSuchBucket", "The specified bucket does not exist", "BucketName", name)
	case b.Account != account:
		return nil, s3Error("AccessDenied", "Access Denied")
	}
	return b, nil
}

// bucketFor is the bucket of a request, which the caller may use and expects to be whose it is.
func (s *Service) bucketFor(q *s3Request, db store.DB) (*bucketRow, error) {
	b, err := ownBucket(q.ctx, db, q.caller.Account, q.Bucket)
	if err != nil {
		return nil, err
	}
	if want := q.header("X-Amz-Expected-Bucket-Owner"); want != "" && want != b.Account {
		return nil, s3Error("AccessDenied", "Access Denied")
	}
	q.w.Header().Set("X-Amz-Bucket-Region", b.Region)
	return b, nil
}

func (s *Service) listBuckets(q *s3Request) error {
	type bucket struct {
		Name         string
		CreationDate xmlTime
		BucketRegion string
	}
	var answer struct {
		XMLName           xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListAllMyBucketsResult"`
		Buckets           struct{ Bucket []bucket }
		Owner             struct{ ID string }
		Prefix            string `xml:",omitempty"`
		ContinuationToken string `xml:",omitempty"`
	}
	most, err := intParameter(q, "max-buckets", 1, 10000, 10000)
	if err != nil {
		return err
	}
	after := ""
	if token := q.query.Get("continuation-token"); token != "" {
		if after, err = readToken(token); err != nil {
			return err
		}
	}
	prefix := q.query.Get("prefix")
	var rows []bucketRow
	var where store.Where
	where.And("account = ? AND name > ? AND name >= ?", q.caller.Account, after, prefix)
	if next, ok := store.Successor(prefix); ok {
		where.And("name < ?", next)
	}
	if region := q.query.Get("bucket-region"); region != "" {
		where.And("region = ?", region)
	}
	if err := store.List(q.ctx, s.store.Read(), &rows, where.Clause()+" ORDER BY name LIMIT ?", append(where.Args, most+1)...); err != nil {
		return fmt.Errorf("listing buckets: %w", err)
	}
	if len(rows) > most {
		rows = rows[:most]
		answer.ContinuationToken = store.KeyToken(rows[most-1].Name)
	}
	for _, b := range rows {
		answer.Buckets.Bucket = append(answer.Buckets.Bucket, bucket{b.Name, xmlTime(b.CreatedAt.Time), b.Region})
	}
	answer.Owner.ID, answer.Prefix = canonicalUser(q.caller.Account), prefix
	return q.answer(answer)
}

// intParameter reads a number from the query, fallback where it is absent.
func intParameter(q *s3Request, name string, least, most, fallback int) (int, error) {
	text := q.query.Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, s3Error("InvalidArgument", "Provided "+name+" not an integer or within integer range", "ArgumentName", name, "ArgumentValue", words.Cut(text, 50))
	}
	return min(n, most), nil
}

func (s *Service) createBucket(q *s3Request) error {
	if err := s3RefuseHeaders(q.r.Header); err != nil {
		return err
	}
	text, err := q.document(maxDocument)
	if err != nil {
		return err
	}
	var config struct {
		LocationConstraint string
		Location, Bucket   *struct{}
		Tags               struct{ Tag []tag }
	}
	if len(text) > 0 {
		if err := parseXML(text, "CreateBucketConfiguration", &config); err != nil {
			return err
		}
	}
	if config.Location != nil || config.Bucket != nil {
		return s3NotImplemented("a directory bucket")
	}
	region, err := bucketRegion(q.caller.Region, config.LocationConstraint)
	if err != nil {
		return err
	}
	if err := checkS3Tags(config.Tags.Tag, 50); err != nil {
		return err
	}
	ownership := q.header("X-Amz-Object-Ownership")
	if ownership != "" {
		if _, err := parseOwnership(ownershipControls(ownership)); err != nil {
			return s3Error("InvalidArgument", "The object ownership is not one of S3's", "ArgumentName", "x-amz-object-ownership", "ArgumentValue", words.Cut(ownership, 50))
		}
	}
	b := &bucketRow{Name: q.Bucket, Account: q.caller.Account, Region: region, CreatedAt: s.now()}
	err = s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		old, err := bucketNamed(ctx, tx, b.Name)
		switch {
		case err != nil:
			return err
		case old != nil && old.Account != b.Account:
			return s3Error("BucketAlreadyExists", "The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.", "BucketName", b.Name)
		case old != nil && old.Region == "us-east-1" && b.Region == "us-east-1":
			return nil // the one region where S3 takes this for the same request again
		case old != nil:
			return s3Error("BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.", "BucketName", b.Name)
		}
		return s.insertBucket(ctx, tx, b, ownership, config.Tags.Tag, q.r.Header)
	})
	if err != nil {
		return err
	}
	q.w.Header().Set("Location", "/"+q.Bucket)
	q.w.Header().Set("X-Amz-Bucket-Region", region)
	q.w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Service) insertBucket(ctx context.Context, tx *store.Tx, b *bucketRow, ownership string, tags []tag, h http.Header) error {
	if err := store.Insert(ctx, tx, b); err != nil {
		return fmt.Errorf("making the bucket: %w", err)
	}
	if ownership != "" {
		if err := s.setDocument(ctx, tx, b.Name, "ownershipControls", ownershipControls(ownership)); err != nil {
			return err
		}
	}
	if len(tags) > 0 {
		var document taggingDocument
		document.TagSet.Tag = tags
		text, err := xml.Marshal(document)
		if err != nil {
			return err
		}
		if err := s.setDocument(ctx, tx, b.Name, "tagging", string(text)); err != nil {
			return err
		}
	}
	return s.checkACL(ctx, tx, b, h, false)
}

// bucketRegion is the region of a new bucket, from the region of the request and its location
// constraint.
func bucketRegion(own, constraint string) (string, error) {
	if constraint == "EU" {
		constraint = "eu-west-1"
	}
	switch {
	case constraint == "us-east-1":
		return "", s3Error("InvalidLocationConstraint", "The specified location-constraint is not valid", "LocationConstraint", constraint)
	case constraint == "" && own != "us-east-1":
		return "", s3Error("IllegalLocationConstraintException", "The unspecified location constraint is incompatible for the region specific endpoint this request was sent to.")
	case constraint == "":
		return own, nil
	case !regionName.MatchString(constraint):
		return "", s3Error("InvalidLocationConstraint", "The specified location-constraint is not valid", "LocationConstraint", words.Cut(constraint, 50))
	case own != "us-east-1" && own != constraint:
		return "", s3Error("IllegalLocationConstraintException", "The "+constraint+" location constraint is incompatible for the region specific endpoint this request was sent to.")
	}
	return constraint, nil
}

func (s *Service) deleteBucket(q *s3Request) error {
	err := s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.bucketFor(q, tx)
		if err != nil {
			return err
		}
		full, err := store.Exists(ctx, tx, "FROM s3_objects WHERE bucket = ?", b.Name)
		if err != nil {
			return fmt.Errorf("reading the bucket: %w", err)
		}
		if full {
			message := "The bucket you tried to delete is not empty"
			if b.Versioning != "" {
				message += ". You must delete all versions in the bucket."
			}
			return s3Error("BucketNotEmpty", message, "BucketName", b.Name)
		}
		var uploads []string
		if err := store.Query(ctx, tx, &uploads, "SELECT id FROM s3_uploads WHERE bucket = ?", b.Name); err != nil {
			return fmt.Errorf("looking for uploads: %w", err)
		}
		for chunk := range slices.Chunk(uploads, 500) {
			if err := dropUploads(ctx, tx, chunk...); err != nil {
				return err
			}
		}
		for _, table := range [][2]string{{"s3_documents", "bucket"}, {"s3_buckets", "name"}} {
			if _, err := store.Exec(ctx, tx, "DELETE FROM "+table[0]+" WHERE "+table[1]+" = ?", b.Name); err != nil {
				return fmt.Errorf("deleting the bucket: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Service) headBucket(q *s3Request) error {
	if _, err := s.bucketFor(q, s.store.Read()); err != nil {
		return err
	}
	q.w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Service) getBucketLocation(q *s3Request) error {
	b, err := s.bucketFor(q, s.store.Read())
	if err != nil {
		return err
	}
	var answer struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ LocationConstraint"`
		Region  string   `xml:",chardata"`
	}
	if b.Region != "us-east-1" {
		answer.Region = b.Region
	}
	return q.answer(answer)
}

type versioningDocument struct {
	XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ VersioningConfiguration"`
	Status  string   `xml:",omitempty"`
}

func (s *Service) getBucketVersioning(q *s3Request) error {
	b, err := s.bucketFor(q, s.store.Read())
	if err != nil {
		return err
	}
	return q.answer(versioningDocument{Status: b.Versioning})
}

func (s *Service) putBucketVersioning(q *s3Request) error {
	var config struct {
		Status    string
		MfaDelete string
	}
	if err := q.sent("VersioningConfiguration", maxDocument, &config); err != nil {
		return err
	}
	if config.MfaDelete == "Enabled" {
		return s3NotImplemented("MFA delete")
	}
	if config.Status != "Enabled" && config.Status != "Suspended" {
		return s3Error("IllegalVersioningConfigurationException", "The Versioning element must be specified")
	}
	err := s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.bucketFor(q, tx)
		if err != nil {
			return err
		}
		b.Versioning = config.Status
		return store.Update(ctx, tx, b, "versioning")
	})
	if err != nil {
		return err
	}
	q.w.WriteHeader(http.StatusOK)
	return nil
}
