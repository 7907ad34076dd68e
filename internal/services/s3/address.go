package s3

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// defaultHosts are the host names below which a label is a bucket, where Config.S3Hosts is
// empty: bucket.localhost, bucket.s3.localhost and so on. Names of AWS's own form, such as
// bucket.s3.eu-west-1.amazonaws.com, are always understood.
var defaultHosts = []string{"localhost", "s3.localhost", "127.0.0.1.nip.io", "s3.127.0.0.1.nip.io", "localhost.localstack.cloud", "s3.localhost.localstack.cloud"}

// awsHost is a host of AWS's S3: the bucket if there is one, and the name of the service,
// with or without region, dual stack, FIPS.
var awsHost = lazyregexp.New(`^(?:(.+)\.)?s3(?:[.-](?:accelerate|fips|dualstack|[a-z]{2,4}(?:-[a-z]+)+-\d{1,2}))*\.(?:amazonaws\.com(?:\.cn)?|amazonaws\.eu|api\.aws)$`)

// A Location is the place of an object. Key is empty where a bucket is meant, Version where
// the newest version is.
type Location struct {
	Bucket, Key, Version string
}

// String is the location as an s3:// URL, without the version.
func (l Location) String() string { return "s3://" + l.Bucket + "/" + l.Key }

// ParseURL reads the address of an object, in one of the forms that clients send:
// s3://bucket/key, http(s)://bucket.HOST/key and http(s)://HOST/bucket/key, where HOST is a
// host of Config.S3Hosts, AWS's S3, or (for the last form) anything else. A versionId in the
// query is the version; other parameters, such as a signature, are ignored. Errors never
// contain the query.
func (s *Service) ParseURL(raw string) (Location, error) {
	if len(raw) > 8<<10 {
		return Location{}, fmt.Errorf("the URL of an object has %d bytes; the maximum is %d", len(raw), 8<<10)
	}
	if rest, ok := cutPrefixFold(raw, "s3://"); ok {
		bucket, key, _ := strings.Cut(rest, "/")
		return checkLocation(Location{Bucket: bucket, Key: key})
	}
	u, err := url.Parse(raw)
	if err != nil {
		return Location{}, fmt.Errorf("the URL of an object: not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return Location{}, fmt.Errorf("the URL of an object must start with s3://, https:// or http://")
	}
	l := Location{Bucket: s.BucketOfHost(u.Host), Key: strings.TrimPrefix(u.Path, "/"), Version: u.Query().Get("versionId")}
	if l.Bucket == "" {
		l.Bucket, l.Key, _ = strings.Cut(l.Key, "/")
	}
	return checkLocation(l)
}

func checkLocation(l Location) (Location, error) {
	switch {
	case !validBucketName(l.Bucket):
		return Location{}, fmt.Errorf("%q is not a bucket name", words.Cut(l.Bucket, 80))
	case l.Key == "":
		return Location{}, fmt.Errorf("the URL names the bucket %s but no object in it", l.Bucket)
	}
	if err := checkKey(l.Key); err != nil {
		return Location{}, err
	}
	return l, nil
}

// BucketOfHost is the bucket that a host names, "" where the bucket is in the path.
func (s *Service) BucketOfHost(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if m := awsHost.FindStringSubmatch(host); m != nil {
		return m[1]
	}
	best := ""
	for _, suffix := range s.hosts {
		if host == suffix {
			return ""
		}
		if strings.HasSuffix(host, "."+suffix) && len(suffix) > len(best) {
			best = suffix
		}
	}
	if best == "" {
		return ""
	}
	return strings.TrimSuffix(host, "."+best)
}

var (
	bucketName  = lazyregexp.New(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	bucketIPv4  = lazyregexp.New(`^\d+\.\d+\.\d+\.\d+$`)
	bucketStart = []string{"xn--", "sthree-", "amzn-s3-demo-"}
	bucketEnd   = []string{"-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3"}
)

// validBucketName holds name to the rules for the names of general purpose buckets.
func validBucketName(name string) bool {
	if !bucketName.MatchString(name) || strings.Contains(name, "..") || bucketIPv4.MatchString(name) {
		return false
	}
	for _, start := range bucketStart {
		if strings.HasPrefix(name, start) {
			return false
		}
	}
	for _, end := range bucketEnd {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	return true
}

// maxKey is the longest key of an object, in bytes of UTF-8.
const maxKey = 1024

// checkKey refuses keys that S3 refuses, and those with a NUL, which no database keeps in a
// text. Anything else is a key, "../" included: keys never become paths of files.
func checkKey(key string) error {
	switch {
	case len(key) > maxKey:
		return s3Error("KeyTooLongError", "Your key is too long", "Size", fmt.Sprint(len(key)), "MaxSizeAllowed", fmt.Sprint(maxKey))
	case !store.Storable(key):
		return s3Error("InvalidURI", "Couldn't parse the specified URI.")
	}
	return nil
}

func cutPrefixFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}
