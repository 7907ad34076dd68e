package s3

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A bucketDocument is one kind of document that belongs to a bucket.
type bucketDocument struct {
	noun    string // of the names of its operations: GetBucketPolicy …
	sub     string
	root    string // its element; "" for JSON
	initial string // of a new bucket, "" for none
	missing string // code of the error if it is not set
	message string
	// fixed documents can be read only: setting one is refused by name.
	fixed bool
	// putStatus is the status that S3 answers setting it with.
	putStatus int
}

// bucketDocuments are set and read back. What they say is not acted upon; see the package
// comment. Where that would be noticed, setting them is refused.
var bucketDocuments = []bucketDocument{
	{noun: "BucketPolicy", sub: "policy", missing: "NoSuchBucketPolicy", message: "The bucket policy does not exist", putStatus: 204},
	{noun: "BucketTagging", sub: "tagging", root: "Tagging", missing: "NoSuchTagSet", message: "The TagSet does not exist", putStatus: 204},
	{noun: "BucketEncryption", sub: "encryption", root: "ServerSideEncryptionConfiguration",
		initial: `<ServerSideEncryptionConfiguration xmlns="` + s3Namespace + `"><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault><BucketKeyEnabled>false</BucketKeyEnabled></Rule></ServerSideEncryptionConfiguration>`},
	{noun: "PublicAccessBlock", sub: "publicAccessBlock", root: "PublicAccessBlockConfiguration",
		initial: `<PublicAccessBlockConfiguration xmlns="` + s3Namespace + `"><BlockPublicAcls>true</BlockPublicAcls><IgnorePublicAcls>true</IgnorePublicAcls><BlockPublicPolicy>true</BlockPublicPolicy><RestrictPublicBuckets>true</RestrictPublicBuckets></PublicAccessBlockConfiguration>`,
		missing: "NoSuchPublicAccessBlockConfiguration", message: "The public access block configuration was not found"},
	{noun: "BucketOwnershipControls", sub: "ownershipControls", root: "OwnershipControls",
		initial: ownershipControls("BucketOwnerEnforced"), missing: "OwnershipControlsNotFoundError", message: "The bucket ownership controls were not found"},
	{noun: "BucketLifecycleConfiguration", sub: "lifecycle", root: "LifecycleConfiguration", missing: "NoSuchLifecycleConfiguration", message: "The lifecycle configuration does not exist"},
	{noun: "BucketCors", sub: "cors", root: "CORSConfiguration", missing: "NoSuchCORSConfiguration", message: "The CORS configuration does not exist"},
	{noun: "BucketLogging", sub: "logging", root: "BucketLoggingStatus", initial: `<BucketLoggingStatus xmlns="` + s3Namespace + `"/>`},
	{noun: "BucketNotificationConfiguration", sub: notification, root: "NotificationConfiguration", initial: `<NotificationConfiguration xmlns="` + s3Namespace + `"/>`},
	{noun: "BucketAccelerateConfiguration", sub: "accelerate", root: "AccelerateConfiguration", initial: `<AccelerateConfiguration xmlns="` + s3Namespace + `"/>`},
	{noun: "BucketRequestPayment", sub: "requestPayment", root: "RequestPaymentConfiguration", initial: `<RequestPaymentConfiguration xmlns="` + s3Namespace + `"><Payer>BucketOwner</Payer></RequestPaymentConfiguration>`},
	{noun: "BucketAcl", sub: "acl", root: "AccessControlPolicy"},
	{noun: "BucketWebsite", sub: "website", fixed: true, missing: "NoSuchWebsiteConfiguration", message: "The specified bucket does not have a website configuration"},
	{noun: "BucketReplication", sub: "replication", fixed: true, missing: "ReplicationConfigurationNotFoundError", message: "The replication configuration was not found"},
	{noun: "ObjectLockConfiguration", sub: "object-lock", fixed: true, missing: "ObjectLockConfigurationNotFoundError", message: "Object Lock configuration does not exist for this bucket"},
}

func ownershipControls(rule string) string {
	return `<OwnershipControls xmlns="` + s3Namespace + `"><Rule><ObjectOwnership>` + rule + `</ObjectOwnership></Rule></OwnershipControls>`
}

// notification is the document of the events that a bucket sends.
const notification = "notification"

// s3DocumentOperations are the operations on the documents.
var s3DocumentOperations = documentOperations()

func documentOperations() []s3Operation {
	var table []s3Operation
	for _, d := range bucketDocuments {
		table = append(table, s3Operation{"Get" + d.noun, ofBucket, "GET", d.sub, func(s *Service, q *s3Request) error { return s.getDocument(q, d) }})
		if d.fixed {
			continue
		}
		table = append(table, s3Operation{"Put" + d.noun, ofBucket, "PUT", d.sub, func(s *Service, q *s3Request) error { return s.putDocument(q, d) }})
		if d.missing != "" || d.sub == "encryption" {
			table = append(table, s3Operation{"Delete" + d.noun, ofBucket, "DELETE", d.sub, func(s *Service, q *s3Request) error { return s.removeDocument(q, d) }})
		}
	}
	return table
}

// A documentRow is a document that was set. An empty body means that it was deleted, even if
// new buckets have one.
type documentRow struct {
	store.Row `db:"s3_documents"`
	Bucket    string     `db:"bucket,pk"`
	Kind      string     `db:"kind,pk"`
	Body      string     `db:"body"`
	UpdatedAt store.Time `db:"updated_at"`
}

// documentOf is the text of a bucket's document, "" where it has none.
func (s *Service) documentOf(ctx context.Context, db store.DB, b *bucketRow, d bucketDocument) (string, error) {
	var row documentRow
	err := store.Get(ctx, db, &row, "WHERE bucket = ? AND kind = ?", b.Name, d.sub)
	switch {
	case err == nil:
		return row.Body, nil
	case !errors.Is(err, sql.ErrNoRows):
		return "", fmt.Errorf("reading the document %s: %w", d.sub, err)
	case d.sub == "acl":
		return ownerACL(b.Account), nil
	}
	return d.initial, nil
}

// setDocument keeps a text as a bucket's document.
func (s *Service) setDocument(ctx context.Context, tx *store.Tx, bucket, kind, body string) error {
	row := &documentRow{Bucket: bucket, Kind: kind, Body: body, UpdatedAt: s.now()}
	if err := store.Upsert(ctx, tx, []*documentRow{row}, "body", "updated_at"); err != nil {
		return fmt.Errorf("keeping the document %s: %w", kind, err)
	}
	return nil
}

func (s *Service) getDocument(q *s3Request, d bucketDocument) error {
	b, err := s.bucketFor(q, s.store.Read())
	if err != nil {
		return err
	}
	text, err := s.documentOf(q.ctx, s.store.Read(), b, d)
	if err != nil {
		return err
	}
	if text == "" {
		return s3Error(d.missing, d.message, "BucketName", b.Name)
	}
	if d.root == "" {
		q.write("application/json", []byte(text))
		return nil
	}
	if !strings.HasPrefix(text, "<?xml") {
		text = xml.Header + text
	}
	q.write("application/xml", []byte(text))
	return nil
}

func (s *Service) putDocument(q *s3Request, d bucketDocument) error {
	text, err := q.document(maxDocument)
	if err != nil {
		return err
	}
	body, err := checkDocument(d, text, q.r.Header)
	if err != nil {
		return err
	}
	err = s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.bucketFor(q, tx)
		if err != nil {
			return err
		}
		if d.sub == "acl" {
			if err := s.checkACL(ctx, tx, b, q.r.Header, len(text) > 0); err != nil {
				return err
			}
			if body == "" {
				body = ownerACL(b.Account)
			}
		}
		return s.setDocument(ctx, tx, b.Name, d.sub, body)
	})
	if err != nil {
		return err
	}
	q.w.WriteHeader(max(d.putStatus, http.StatusOK))
	return nil
}

// checkDocument validates a text as far as S3 can without the rest of AWS, and returns what to
// store.
func checkDocument(d bucketDocument, text []byte, h http.Header) (string, error) {
	switch {
	case d.sub == "policy":
		var policy struct {
			Statement json.RawMessage
		}
		if len(text) > 20<<10 {
			return "", s3Error("PolicyTooLarge", "Policy exceeds the maximum allowed document size.")
		}
		if err := json.Unmarshal(text, &policy); err != nil || !store.Storable(string(text)) {
			return "", s3Error("MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'")
		}
		if len(policy.Statement) == 0 {
			return "", s3Error("MalformedPolicy", "Missing required field Statement")
		}
	case d.sub == "acl" && len(text) == 0:
		if h.Get("X-Amz-Acl") == "" && !grants(h) {
			return "", s3Error("MissingSecurityHeader", "Your request was missing a required header", "MissingHeaderName", "x-amz-acl")
		}
	default:
		if err := parseXML(text, d.root, nil); err != nil {
			return "", err
		}
	}
	if d.sub == "tagging" {
		if _, err := parseTagging(text, 50); err != nil {
			return "", err
		}
	}
	if d.sub == notification {
		if _, err := parseNotifications(text); err != nil {
			return "", err
		}
	}
	if d.sub == "ownershipControls" {
		if _, err := parseOwnership(string(text)); err != nil {
			return "", err
		}
	}
	return string(text), nil
}

func (s *Service) removeDocument(q *s3Request, d bucketDocument) error {
	err := s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.bucketFor(q, tx)
		if err != nil {
			return err
		}
		if d.sub == "encryption" { // there is always one: back to that of a new bucket
			return s.setDocument(ctx, tx, b.Name, d.sub, d.initial)
		}
		return s.setDocument(ctx, tx, b.Name, d.sub, "")
	})
	if err != nil {
		return err
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

// ownerACL is the access control list that gives the owner everything.
func ownerACL(account string) string {
	owner := canonicalUser(account)
	return `<AccessControlPolicy xmlns="` + s3Namespace + `"><Owner><ID>` + owner + `</ID></Owner><AccessControlList><Grant>` +
		`<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"><ID>` + owner + `</ID></Grantee>` +
		`<Permission>FULL_CONTROL</Permission></Grant></AccessControlList></AccessControlPolicy>`
}

// canonicalUser is the id that S3 has for an account: 64 hexadecimal digits.
func canonicalUser(account string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte("account "+account)))
}

// grants reports whether headers grant a permission.
func grants(h http.Header) bool {
	for name := range h {
		if _, ok := cutPrefixFold(name, "X-Amz-Grant-"); ok {
			return true
		}
	}
	return false
}

var cannedACLs = []string{"private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read", "log-delivery-write", "bucket-owner-read", "bucket-owner-full-control"}

// checkACL refuses access control lists if they are disabled for the bucket, which is the
// default. document means that the body contains one.
func (s *Service) checkACL(ctx context.Context, db store.DB, b *bucketRow, h http.Header, document bool) error {
	canned := h.Get("X-Amz-Acl")
	if canned != "" && !slices.Contains(cannedACLs, canned) {
		return s3Error("InvalidArgument", "The canned ACL is not one of S3's", "ArgumentName", "x-amz-acl", "ArgumentValue", words.Cut(canned, 50))
	}
	if (canned == "" || canned == "bucket-owner-full-control") && !grants(h) && !document {
		return nil
	}
	i := slices.IndexFunc(bucketDocuments, func(d bucketDocument) bool { return d.sub == "ownershipControls" })
	text, err := s.documentOf(ctx, db, b, bucketDocuments[i])
	if err != nil || text == "" {
		return err
	}
	rule, err := parseOwnership(text)
	if err != nil {
		return err
	}
	if rule == "BucketOwnerEnforced" {
		return s3Error("AccessControlListNotSupported", "The bucket does not allow ACLs", "BucketName", b.Name)
	}
	return nil
}

// parseOwnership is the rule of the document OwnershipControls.
func parseOwnership(text string) (string, error) {
	var controls struct {
		Rule []struct{ ObjectOwnership string }
	}
	if err := parseXML([]byte(text), "OwnershipControls", &controls); err != nil {
		return "", err
	}
	if len(controls.Rule) != 1 || !slices.Contains([]string{"BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"}, controls.Rule[0].ObjectOwnership) {
		return "", errMalformedXML
	}
	return controls.Rule[0].ObjectOwnership, nil
}

// A tag is a key and a value of a bucket or object.
type tag struct {
	Key   string `json:"k"`
	Value string `json:"v"`
}

type taggingDocument struct {
	XMLName xml.Name `xml:"Tagging"`
	TagSet  struct {
		Tag []tag
	}
}

// parseTagging reads and checks the document Tagging.
func parseTagging(text []byte, most int) ([]tag, error) {
	var document taggingDocument
	if err := parseXML(text, "Tagging", &document); err != nil {
		return nil, err
	}
	return document.TagSet.Tag, checkS3Tags(document.TagSet.Tag, most)
}

func checkS3Tags(tags []tag, most int) error {
	if len(tags) > most {
		return s3Error("BadRequest", fmt.Sprintf("Object tags cannot be greater than %d", most))
	}
	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case seen[t.Key]:
			return s3Error("InvalidTag", "Cannot provide multiple Tags with the same key", "TagKey", t.Key)
		case t.Key == "" || len([]rune(t.Key)) > 128:
			return s3Error("InvalidTag", "The TagKey you have provided is invalid", "TagKey", words.Cut(t.Key, 128))
		case len([]rune(t.Value)) > 256:
			return s3Error("InvalidTag", "The TagValue you have provided is invalid", "TagKey", t.Key)
		}
		seen[t.Key] = true
	}
	return nil
}
