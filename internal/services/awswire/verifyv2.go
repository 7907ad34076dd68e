package awswire

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// algorithmV2 is what a credential has for the presigned URLs of Signature Version 2,
// which do not name their algorithm.
const algorithmV2 = "HMAC-SHA1"

// presignedV2 parses AWSAccessKeyId, Expires and Signature of a URL.
func presignedV2(query url.Values) (credential, bool, error) {
	c := credential{algorithm: algorithmV2, presigned: true, service: "s3", accessKeyID: query.Get("AWSAccessKeyId"), signature: query.Get("Signature")}
	if !scopeKey.MatchString(c.accessKeyID) || c.signature == "" || query.Get("Expires") == "" {
		return c, false, Errorf("AccessDenied", http.StatusForbidden,
			"Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters")
	}
	return c, true, nil
}

// subresources are the parameters of a query that Signature Version 2 covers.
var subresources = []string{
	"accelerate", "acl", "analytics", "cors", "defaultObjectAcl", "delete", "inventory", "lifecycle", "location", "logging", "metrics",
	"notification", "object-lock", "partNumber", "policy", "replication", "requestPayment", "response-cache-control",
	"response-content-disposition", "response-content-encoding", "response-content-language", "response-content-type",
	"response-expires", "restore", "select", "select-type", "storageClass", "tagging", "torrent", "uploadId", "uploads",
	"versionId", "versioning", "versions", "website",
}

// uncovered are the parameters that Signature Version 2 does not cover and that boto3 still
// sends: they select what a list returns, not the operation.
var uncovered = []string{
	"bucket-region", "continuation-token", "delimiter", "encoding-type", "fetch-owner", "key-marker", "list-type", "marker", "max-buckets",
	"max-keys", "max-parts", "max-uploads", "part-number-marker", "prefix", "start-after", "upload-id-marker", "version-id-marker",
}

// authentication are the parameters that are the signature, or come into it as headers.
var authentication = []string{"AWSAccessKeyId", "Expires", "Signature", "content-md5", "content-type"}

// checkCovered refuses parameters that anyone could have added to a URL: subresources that are
// newer than Signature Version 2, such as encryption, select another operation.
func checkCovered(query url.Values) error {
	for _, name := range sortedKeys(query) {
		// The text that is signed has a value on each line.
		if strings.ContainsAny(name+strings.Join(query[name], ""), "\r\n") {
			return Errorf("AccessDenied", http.StatusForbidden, "The parameter %s of the query has more than one line.", shorten(name))
		}
		if !slices.Contains(subresources, name) && !slices.Contains(uncovered, name) && !slices.Contains(authentication, name) && !strings.HasPrefix(name, "x-amz-") {
			return Errorf("AccessDenied", http.StatusForbidden,
				"Signature Version 2 does not cover the parameter %s of the query. Presign this request with Signature Version 4.", shorten(name))
		}
	}
	return nil
}

// verifyV2 checks a URL presigned with Signature Version 2, and gives its request a Body.
func (v *Verifier) verifyV2(r *http.Request, t Target, secret string, now time.Time) error {
	query := t.query
	if err := checkCovered(query); err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(query.Get("Expires"), 10, 64)
	if err != nil {
		return Errorf("AccessDenied", http.StatusForbidden, "Invalid date (should be seconds since epoch): %s", shorten(query.Get("Expires")))
	}
	if now.Unix() > seconds {
		return Errorf("RequestExpired", http.StatusForbidden, "Request has expired")
	}
	head := []string{r.Method, either(r.Header.Get("Content-Md5"), query.Get("content-md5")),
		either(r.Header.Get("Content-Type"), query.Get("content-type")), query.Get("Expires")}
	rest := strings.Join(head, "\n") + "\n" + amzHeaders(r, query)
	ok := false
	for _, resource := range t.resources() {
		h := hmac.New(sha1.New, []byte(secret))
		h.Write([]byte(rest + resource + subresource(query)))
		if hmac.Equal([]byte(base64.StdEncoding.EncodeToString(h.Sum(nil))), []byte(t.credential.signature)) {
			ok = true
		}
	}
	if !ok {
		return errMismatch(t.credential)
	}
	body, err := newBody(r, either(r.Header.Get("X-Amz-Content-Sha256"), unsignedPayload), nil)
	if err != nil {
		return err
	}
	r.Body = body
	oneValueEach(r, func(name string) bool { return strings.HasPrefix(name, "x-amz-") })
	return nil
}

// resources are the ways in which clients write the bucket and the key of a target when
// they sign it: the path as sent, with the bucket before it where the host names it. Of a
// bucket without a key, boto signs /bucket/ when it sends /bucket.
func (t Target) resources() []string {
	resource := t.escaped
	if t.bucketInHost {
		resource = "/" + t.Bucket + t.escaped
	}
	if t.Key == "" && !strings.HasSuffix(resource, "/") {
		return []string{resource, resource + "/"}
	}
	return []string{resource}
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// amzHeaders are the x-amz headers, one on a line, sorted; the presigning copies those that
// it knows into the query. Where a header is sent, too, it is what counts, so it is what
// must have been signed.
func amzHeaders(r *http.Request, query url.Values) string {
	values := map[string]string{}
	for name, value := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") {
			values[name] = strings.Join(value, ",")
		}
	}
	for name, value := range query {
		if _, sent := values[name]; !sent && strings.HasPrefix(name, "x-amz-") {
			values[name] = strings.Join(value, ",")
		}
	}
	var b strings.Builder
	for _, name := range sortedKeys(values) {
		b.WriteString(name + ":" + strings.TrimSpace(values[name]) + "\n")
	}
	return b.String()
}

// subresource is the part of the query that is signed.
func subresource(query url.Values) string {
	var parts []string
	for _, name := range subresources {
		if !query.Has(name) {
			continue
		}
		if value := query.Get(name); value != "" {
			parts = append(parts, name+"="+value)
		} else {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return "?" + strings.Join(parts, "&")
}
