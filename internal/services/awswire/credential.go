package awswire

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// algorithms of signatures, as requests write them.
const (
	algorithmV4  = "AWS4-HMAC-SHA256"
	algorithmV4A = "AWS4-ECDSA-P256-SHA256"
)

// What the elements of a credential are made of: the key's id, and the others.
var (
	scopeKey  = lazyregexp.New(`^[A-Za-z0-9_.+=@/-]{1,128}$`)
	scopePart = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
)

// maxAuthorization bounds the Authorization header and the credential of a presigned URL.
const maxAuthorization = 8 << 10

// A credential is what a signed request says about who signed it and for what.
type credential struct {
	algorithm     string
	presigned     bool
	accessKeyID   string
	date          string // YYYYMMDD
	region        string // "" for SigV4A
	service       string
	signedHeaders []string
	signature     string
}

// credentialOf parses the Authorization header or the presigned query; signed is false
// for an anonymous request.
func credentialOf(r *http.Request, query url.Values) (c credential, signed bool, err error) {
	if header := r.Header.Get("Authorization"); header != "" {
		c, err = parseAuthorization(header)
		return c, err == nil, err
	}
	if query.Has("AWSAccessKeyId") {
		return presignedV2(query)
	}
	if !query.Has("X-Amz-Algorithm") && !query.Has("X-Amz-Credential") && !query.Has("X-Amz-Signature") {
		return credential{}, false, nil
	}
	c = credential{algorithm: query.Get("X-Amz-Algorithm"), presigned: true, signature: query.Get("X-Amz-Signature")}
	if c.algorithm != algorithmV4 && c.algorithm != algorithmV4A {
		return c, false, incomplete("The query parameter X-Amz-Algorithm is %q; it must be %s.", shorten(c.algorithm), algorithmV4)
	}
	if err := c.setScope(query.Get("X-Amz-Credential")); err != nil {
		return c, false, err
	}
	if err := c.setSignedHeaders(query.Get("X-Amz-SignedHeaders")); err != nil {
		return c, false, err
	}
	if c.signature == "" {
		return c, false, incomplete("The query parameter X-Amz-Signature is missing.")
	}
	return c, true, nil
}

func incomplete(format string, args ...any) *Error {
	return Errorf("IncompleteSignature", http.StatusBadRequest, format, args...)
}

// parseAuthorization parses an Authorization header of version 4 (or 4A):
//
//	AWS4-HMAC-SHA256 Credential=ID/20261120/eu-west-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=abc…
func parseAuthorization(header string) (credential, error) {
	if len(header) > maxAuthorization {
		return credential{}, incomplete("The Authorization header is longer than %d bytes.", maxAuthorization)
	}
	algorithm, rest, _ := strings.Cut(strings.TrimSpace(header), " ")
	c := credential{algorithm: algorithm}
	if algorithm == "AWS" {
		return c, Errorf("InvalidRequest", http.StatusBadRequest, "The authorization mechanism you have provided is not supported. Please use %s.", algorithmV4)
	}
	if algorithm != algorithmV4 && algorithm != algorithmV4A {
		return c, incomplete("The Authorization header begins with %q; it must begin with %s.", shorten(algorithm), algorithmV4)
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if _, twice := parts[name]; !ok || twice {
			return c, incomplete("The Authorization header is malformed: each of Credential, SignedHeaders and Signature stands once, as name=value.")
		}
		parts[name] = value
	}
	if parts["Credential"] != "" {
		if err := c.setScope(parts["Credential"]); err != nil {
			return c, err
		}
	}
	for _, name := range []string{"Credential", "SignedHeaders", "Signature"} {
		if parts[name] == "" {
			return c, incomplete("Authorization header requires '%s' parameter.", name)
		}
	}
	if err := c.setSignedHeaders(parts["SignedHeaders"]); err != nil {
		return c, err
	}
	c.signature = parts["Signature"]
	return c, nil
}

// setScope parses ID/date/region/service/aws4_request. The id may contain slashes; the
// scope of SigV4A has no region.
func (c *credential) setScope(text string) error {
	want := 5
	if c.algorithm == algorithmV4A {
		want = 4
	}
	parts := strings.Split(text, "/")
	if len(text) > 1024 || len(parts) < want || parts[len(parts)-1] != "aws4_request" {
		return incomplete("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.")
	}
	tail := parts[len(parts)-want+1:]
	c.accessKeyID = strings.Join(parts[:len(parts)-want+1], "/")
	c.date = tail[0]
	if c.algorithm == algorithmV4 {
		c.region = tail[1]
	}
	if service := tail[len(tail)-2]; scopePart.MatchString(service) {
		c.service = service
	}
	// These become parts of ARNs and keys of tables: only what names are made of.
	clean := scopeKey.MatchString(c.accessKeyID)
	for _, part := range tail {
		clean = clean && scopePart.MatchString(part)
	}
	if !clean {
		return incomplete("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.")
	}
	return nil
}

func (c *credential) setSignedHeaders(text string) error {
	names := strings.Split(text, ";")
	if len(names) > 128 {
		return incomplete("SignedHeaders names more than 128 headers.")
	}
	for _, name := range names {
		if name == "" || name != strings.ToLower(name) {
			return incomplete("SignedHeaders must be lower-case names, separated by semicolons.")
		}
	}
	c.signedHeaders = names
	return nil
}
