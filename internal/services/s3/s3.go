// Package s3 serves the part of S3 that clients of CloudFormation and handlers use: buckets, objects with
// versions, multipart uploads, uploads of browsers, and the configuration documents of a bucket.
//
// # What is S3, and what is not
//
// The wire behavior is that of S3 for the operations that exist here, with its errors. What would change how S3 behaves and
// is not done here (replication, websites, locks, customers' keys) is refused with NotImplemented. The owner of a bucket may do
// everything, any other account nothing, whatever the bucket's policy says. Policies, access control lists
// and lifecycle rules are stored and returned, not evaluated; of notifications, those for functions are delivered (notify.go). It has all that templates and deploying clients were seen to need,
// and should not grow: docs/decisions/0035-s3-of-our-own.md.
//
// # Where things are
//
// The bytes of objects are blobs of the store, named by their hash; all else is in its tables. An object of several parts
// is a list of blobs, which are never copied into one. A blob without a row is swept later, so that an upload
// writes blobs first and its row last.
//
//   - address.go reads bucket and key of a request: path style, virtual hosts below [Config].Hosts, and s3:// and https:// URLs in
//     templates ([Service.ParseURL]).
//   - [Service.Serve] finds the operation by method and query: requests of S3 do not name it.
//   - list_go.go is how other packages use buckets without HTTP, such as [Service.Open]. They pass the account on whose behalf they
//     read.
//   - documents.go has a table of the configuration documents of a bucket: a new one is a row.
//
// Bodies are bounded by [Config].MaxObject and checksums are verified while a body is written; a body that does not match its
// checksum leaves no object.
package s3

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up the service. Store must be set.
type Config struct {
	Store *store.Store

	// Hosts are the hosts below which a label is a bucket: with "s3.example", requests to
	// b.s3.example are about the bucket b. Nil means those of localhost (see ParseURL). The
	// hosts of AWS's own S3 are always understood.
	Hosts []string

	// MaxObject is the size in bytes that an object and an upload may have. Zero means 5 GiB.
	MaxObject int64

	// Notify has a function called with an event of a bucket, if the transaction commits. With nil, notifications are
	// stored and returned only.
	Notify func(ctx context.Context, tx *store.Tx, n Notification) error

	Logger *slog.Logger  // of internal failures; nil: nowhere
	NewID  func() string // ids, UUIDs in form; nil makes random ones
}

// Service is the service. Its methods may be called from several goroutines.
type Service struct {
	store     *store.Store
	log       *slog.Logger
	hosts     []string
	maxObject int64
	newID     func() string
	notified  func(context.Context, *store.Tx, Notification) error
}

// New returns the service. It holds nothing that must be closed.
func New(config Config) *Service {
	s := &Service{store: config.Store, log: config.Logger, maxObject: config.MaxObject, newID: config.NewID, notified: config.Notify}
	if config.Hosts == nil {
		config.Hosts = defaultHosts
	}
	for _, host := range config.Hosts {
		s.hosts = append(s.hosts, strings.ToLower(strings.Trim(host, ".")))
	}
	if s.maxObject <= 0 {
		s.maxObject = 5 << 30
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.newID == nil {
		s.newID = uuid.NewString
	}
	return s
}

func (s *Service) now() store.Time { return s.store.Now() }

// versionID makes the id of a version of an object, and uploadID that of an upload.
func (s *Service) versionID() string { return strings.ReplaceAll(s.newID(), "-", "") }
func (s *Service) uploadID() string  { return strings.ReplaceAll(s.newID(), "-", "") }

// regionName is the form of a region's name.
var regionName = lazyregexp.New(`^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$`)

// A s3Request is a request in progress: its target, and the response writer.
type s3Request struct {
	Location
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context
	caller awswire.Caller
	query  url.Values
}

func (q *s3Request) header(name string) string { return q.r.Header.Get(name) }

// level is what a request is about.
type level int

const (
	ofService level = iota
	ofBucket
	ofObject
)

// An s3Operation is one row of the table of what is served.
type s3Operation struct {
	name   string
	level  level
	method string
	// sub is the parameter of the query that selects the operation, "" for none.
	sub   string
	serve func(s *Service, q *s3Request) error
}

var s3Operations = []s3Operation{
	{"ListBuckets", ofService, "GET", "", (*Service).listBuckets},

	{"CreateBucket", ofBucket, "PUT", "", (*Service).createBucket},
	{"DeleteBucket", ofBucket, "DELETE", "", (*Service).deleteBucket},
	{"HeadBucket", ofBucket, "HEAD", "", (*Service).headBucket},
	{"GetBucketLocation", ofBucket, "GET", "location", (*Service).getBucketLocation},
	{"GetBucketVersioning", ofBucket, "GET", "versioning", (*Service).getBucketVersioning},
	{"PutBucketVersioning", ofBucket, "PUT", "versioning", (*Service).putBucketVersioning},
	{"ListObjects", ofBucket, "GET", "", (*Service).listObjects},
	{"ListObjectsV2", ofBucket, "GET", "list-type", (*Service).listObjectsV2},
	{"ListObjectVersions", ofBucket, "GET", "versions", (*Service).listObjectVersions},
	{"ListMultipartUploads", ofBucket, "GET", "uploads", (*Service).listMultipartUploads},
	{"DeleteObjects", ofBucket, "POST", "delete", (*Service).deleteObjects},

	{"PutObject", ofObject, "PUT", "", (*Service).putObject},
	{"GetObject", ofObject, "GET", "", (*Service).getObject},
	{"HeadObject", ofObject, "HEAD", "", (*Service).getObject},
	{"DeleteObject", ofObject, "DELETE", "", (*Service).deleteObject},
	{"GetObjectAttributes", ofObject, "GET", "attributes", (*Service).getObjectAttributes},
	{"GetObjectTagging", ofObject, "GET", "tagging", (*Service).getObjectTagging},
	{"PutObjectTagging", ofObject, "PUT", "tagging", (*Service).putObjectTagging},
	{"DeleteObjectTagging", ofObject, "DELETE", "tagging", (*Service).deleteObjectTagging},
	{"GetObjectAcl", ofObject, "GET", "acl", (*Service).getObjectACL},
	{"PutObjectAcl", ofObject, "PUT", "acl", (*Service).putObjectACL},
	{"CreateMultipartUpload", ofObject, "POST", "uploads", (*Service).createMultipartUpload},
	{"UploadPart", ofObject, "PUT", "uploadId", (*Service).uploadPart},
	{"CompleteMultipartUpload", ofObject, "POST", "uploadId", (*Service).completeMultipartUpload},
	{"AbortMultipartUpload", ofObject, "DELETE", "uploadId", (*Service).abortMultipartUpload},
	{"ListParts", ofObject, "GET", "uploadId", (*Service).listParts},
}

// s3Subresources are the parameters that select an operation, with the noun that the
// names of the operations have, for those that are refused.
var s3Subresources = map[string]string{
	"abac": "BucketAbac", "accelerate": "BucketAccelerateConfiguration", "acl": "Acl", "analytics": "BucketAnalyticsConfiguration",
	"annotation": "ObjectAnnotation", "annotations": "ObjectAnnotations", "attributes": "ObjectAttributes", "cors": "BucketCors",
	"delete": "Objects", "encryption": "Encryption", "intelligent-tiering": "BucketIntelligentTieringConfiguration",
	"inventory": "BucketInventoryConfiguration", "legal-hold": "ObjectLegalHold", "lifecycle": "BucketLifecycleConfiguration",
	"list-type": "Objects", "location": "BucketLocation", "logging": "BucketLogging", "metadataConfiguration": "BucketMetadataConfiguration",
	"metadataTable": "BucketMetadataTableConfiguration", "metrics": "BucketMetricsConfiguration", "notification": "BucketNotificationConfiguration",
	"object-lock": "ObjectLockConfiguration", "ownershipControls": "BucketOwnershipControls", "policy": "BucketPolicy",
	"policyStatus": "BucketPolicyStatus", "publicAccessBlock": "PublicAccessBlock", "renameObject": "RenameObject",
	"replication": "BucketReplication", "requestPayment": "BucketRequestPayment", "restore": "RestoreObject", "retention": "ObjectRetention",
	"select": "SelectObjectContent", "session": "Session", "tagging": "Tagging", "torrent": "ObjectTorrent", "uploadId": "MultipartUpload",
	"uploads": "MultipartUploads", "versioning": "BucketVersioning", "versions": "ObjectVersions", "website": "BucketWebsite",
}

// Serve answers one request for a target, which has its bucket and its key: nothing here
// looks at host or path again. It reports which operation the request was for, "" if it was for none, and the code of the refusal, "" for success.
func (s *Service) Serve(w http.ResponseWriter, r *http.Request, target awswire.Target, caller awswire.Caller) (operation, code string) {
	q := &s3Request{Location: Location{Bucket: target.Bucket, Key: target.Key}, w: w, r: r, ctx: r.Context(), caller: caller}
	h := w.Header()
	h.Set("X-Amz-Request-Id", caller.RequestID)
	h.Set("X-Amz-Id-2", caller.RequestID)
	sandbox(h)
	operation, err := s.serve(q)
	if err != nil {
		code = s.refuse(q, operation, err)
	}
	return operation, code
}

// serve finds the operation and runs it. The name is that of the operation, or "".
func (s *Service) serve(q *s3Request) (string, error) {
	var err error
	if q.query, err = url.ParseQuery(q.r.URL.RawQuery); err != nil {
		return "", s3Error("InvalidURI", "Couldn't parse the specified URI.")
	}
	for name, values := range q.query {
		for _, value := range values {
			if !store.Storable(value) {
				return "", s3Error("InvalidArgument", "A parameter of the query is not a text", "ArgumentName", words.Cut(strings.ToValidUTF8(name, "\uFFFD"), 50))
			}
		}
	}
	at := ofService
	switch {
	case q.Key != "":
		at = ofObject
		if err := checkKey(q.Key); err != nil {
			return "", err
		}
	case q.Bucket != "":
		at = ofBucket
	}
	if q.Version = q.query.Get("versionId"); q.query.Has("versionId") && (q.Version == "" || len(q.Version) > maxKey) {
		return "", s3Error("InvalidArgument", "Invalid version id specified", "ArgumentName", "versionId", "ArgumentValue", words.Cut(q.Version, 100))
	}
	if at != ofService && !validBucketName(q.Bucket) {
		return "", s3Error("InvalidBucketName", "The specified bucket is not valid.", "BucketName", words.Cut(q.Bucket, 100))
	}
	o, err := s3Find(at, q.r.Method, q.query)
	if err != nil {
		return "", err
	}
	return o.name, o.serve(s, q)
}

// s3Find is the operation of a request, or the error.
func s3Find(at level, method string, query url.Values) (*s3Operation, error) {
	sub := ""
	for name := range query {
		if _, known := s3Subresources[name]; known && (sub == "" || name < sub) {
			sub = name
		}
	}
	if sub == "list-type" && query.Get(sub) != "2" {
		return nil, s3Error("InvalidArgument", "Invalid List Type specified in Request", "ArgumentName", "list-type")
	}
	for _, table := range [][]s3Operation{s3Operations, s3DocumentOperations} {
		for i, o := range table {
			if o.level == at && o.method == method && o.sub == sub {
				return &table[i], nil
			}
		}
	}
	switch {
	case method == http.MethodOptions:
		return nil, s3NotImplemented("a preflight request of a browser (CORS)")
	case sub == "" && at == ofBucket && method == http.MethodPost:
		return nil, s3NotImplemented("PostObject")
	case sub == "" || s3RefusedName(at, method, sub) == "":
		return nil, s3Error("MethodNotAllowed", "The specified method is not allowed against this resource.", "Method", words.Cut(method, 20), "ResourceType", map[level]string{ofService: "SERVICE", ofBucket: "BUCKET", ofObject: "OBJECT"}[at])
	}
	return nil, s3NotImplemented(s3RefusedName(at, method, sub))
}

// s3RefusedName is what S3 calls an operation that is not in the tables, "" where it has none.
func s3RefusedName(at level, method, sub string) string {
	noun := s3Subresources[sub]
	switch noun {
	case "RestoreObject", "SelectObjectContent", "RenameObject":
		return noun
	case "Session":
		return "CreateSession"
	case "Acl", "Tagging", "Encryption":
		noun = map[level]string{ofService: "", ofBucket: "Bucket", ofObject: "Object"}[at] + noun
	}
	verb := map[string]string{"GET": "Get", "HEAD": "Get", "PUT": "Put", "DELETE": "Delete", "POST": "Create"}[method]
	if verb == "" || at == ofService {
		return ""
	}
	return verb + noun
}

// refuse answers with an error, and returns its code. What is no refusal is logged, and answered as InternalError.
func (s *Service) refuse(q *s3Request, operation string, err error) (code string) {
	var refusal *awswire.Error
	if !errors.As(err, &refusal) {
		level := slog.LevelError
		if q.ctx.Err() != nil {
			level = slog.LevelDebug // the client hung up; not an error
		}
		s.log.Log(q.ctx, level, "the request failed", "service", "s3", "operation", operation, "request", q.caller.RequestID, "error", err)
		refusal = s3Error("InternalError", "We encountered an internal error. Please try again.")
	}
	if refusal.Status == http.StatusNotModified {
		q.w.WriteHeader(http.StatusNotModified)
		return refusal.Code
	}
	awswire.WriteError(q.w, q.r, awswire.RESTXML, q.caller.RequestID, refusal)
	return refusal.Code
}

// s3Statuses are the HTTP statuses of the errors that are not 400.
var s3Statuses = map[string]int{
	"AccessDenied": 403, "NoSuchBucket": 404, "NoSuchKey": 404, "NoSuchVersion": 404, "NoSuchUpload": 404, "NoSuchTagSet": 404,
	"NoSuchBucketPolicy": 404, "NoSuchLifecycleConfiguration": 404, "NoSuchCORSConfiguration": 404, "NoSuchWebsiteConfiguration": 404,
	"NoSuchPublicAccessBlockConfiguration": 404, "OwnershipControlsNotFoundError": 404, "ReplicationConfigurationNotFoundError": 404,
	"ServerSideEncryptionConfigurationNotFoundError": 404, "ObjectLockConfigurationNotFoundError": 404,
	"BucketAlreadyExists": 409, "BucketAlreadyOwnedByYou": 409, "BucketNotEmpty": 409, "OperationAborted": 409, "InvalidBucketState": 409,
	"MethodNotAllowed": 405, "MissingContentLength": 411, "PreconditionFailed": 412, "InvalidRange": 416,
	"NotModified": 304, "InternalError": 500, "NotImplemented": 501,
}

// s3Error returns an error. fields are names and values of further elements, in turn.
func s3Error(code, message string, fields ...string) *awswire.Error {
	e := &awswire.Error{Code: code, Message: message, Status: s3Statuses[code]}
	for pair := range slices.Chunk(fields, 2) {
		if e.Fields == nil {
			e.Fields = map[string]string{}
		}
		e.Fields[pair[0]] = pair[1]
	}
	return e
}

// s3NotImplemented refuses what S3 does and this server does not, by its name.
func s3NotImplemented(what string) *awswire.Error {
	return s3Error("NotImplemented", fmt.Sprintf("This server does not support %s.", what))
}

// s3RefuseHeaders refuses requests with headers for unsupported features.
func s3RefuseHeaders(h http.Header) error {
	for name := range h {
		lower := strings.ToLower(name)
		switch {
		case strings.HasPrefix(lower, "x-amz-server-side-encryption-customer-"), strings.HasPrefix(lower, "x-amz-copy-source-server-side-encryption-customer-"):
			return s3NotImplemented("encryption with a key of the customer (SSE-C)")
		case strings.HasPrefix(lower, "x-amz-object-lock-"):
			return s3NotImplemented("object lock")
		case strings.HasPrefix(lower, "x-amz-checksum-xxhash"), lower == "x-amz-trailer" && strings.Contains(strings.ToLower(h.Get(name)), "-xxhash"):
			return s3NotImplemented("a checksum of the XXHASH family")
		case lower == "x-amz-write-offset-bytes":
			return s3NotImplemented("appending to an object")
		case lower == "x-amz-mfa":
			return s3NotImplemented("MFA delete")
		case lower == "x-amz-bucket-object-lock-enabled" && strings.EqualFold(h.Get(name), "true"):
			return s3NotImplemented("object lock")
		}
	}
	return nil
}
