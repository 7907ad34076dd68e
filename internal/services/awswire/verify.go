package awswire

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The clocks of AWS: services allow 5 minutes, S3 15.
const (
	defaultSkew   = 5 * time.Minute
	defaultSkewS3 = 15 * time.Minute
	maxExpires    = 7 * 24 * time.Hour
	isoDate       = "20060102T150405Z"
)

// The values of X-Amz-Content-Sha256 that are no hash.
const (
	unsignedPayload   = "UNSIGNED-PAYLOAD"
	streamingSigned   = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	streamingTrailer  = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
	streamingUnsigned = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
)

// emptyHash is the SHA-256 of nothing.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// A Verifier checks the Signature Version 4 of requests. It may be used by many at once.
type Verifier struct {
	// Keys are the access keys that are known, by their id.
	Keys map[string]Key
	// Lookup finds further keys, such as temporary ones. Nil finds none. An error means that
	// the key cannot be looked up now; the client should retry.
	Lookup func(ctx context.Context, accessKeyID string) (Key, bool, error)
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
	// Skew is how far a request's time may differ from Now. Zero means the value of AWS: 5
	// minutes, and 15 for S3.
	Skew time.Duration
	// MaxBody bounds, in bytes, the bodies of services other than S3, which must be read
	// whole before their signature can be checked. Zero means 16 MiB.
	MaxBody int64
}

// Verify checks the signature of a request, in its Authorization header or in its URL, and
// returns the key that signed it, which identifies the caller. The key is looked up once, and
// nothing else identifies the caller. The URLs of S3 may be presigned with Signature Version
// 2, too: boto3 and the aws CLI use it for endpoints outside AWS.
//
// S3 signs bodies piece by piece or by a hash that can only be compared with the whole body.
// For S3, Verify replaces r.Body by a *Body, which fails with an *Error as soon as a piece,
// the hash or a checksum is wrong: data is not verified before io.EOF. For all other services
// it reads the body, and puts it back. A header that was sent several times and signed as one
// is merged into one.
//
// The error is always an *Error, with the codes and texts of the service that the request is
// for; ProtocolOf returns its envelope:
//
//	MissingAuthenticationToken  the request is not signed (S3: AccessDenied)
//	IncompleteSignature         the signature cannot be parsed (S3: AuthorizationHeaderMalformed,
//	                            AuthorizationQueryParametersError)
//	InvalidClientTokenId        no such key, or not its session token (S3: InvalidAccessKeyId,
//	                            InvalidToken; JSON: UnrecognizedClientException)
//	ExpiredToken                the temporary key has ended
//	SignatureDoesNotMatch       another secret or another request; or a clock that is wrong
//	                            (JSON: InvalidSignatureException; S3: RequestTimeTooSkewed)
//	RequestExpired              the presigned URL has ended (S3: AccessDenied)
//	ServiceUnavailable          Lookup failed; status 503, after which SDKs try again
func (v *Verifier) Verify(r *http.Request, t Target) (Key, error) {
	var key Key
	err := error(Errorf("MissingAuthenticationToken", http.StatusForbidden, "Request is missing Authentication Token"))
	if t.AccessKeyID != "" {
		key, err = v.verify(r, t)
	}
	if err != nil {
		return Key{}, inWordsOf(t.Service, t.credential, err)
	}
	return key, nil
}

func (v *Verifier) verify(r *http.Request, t Target) (Key, error) {
	c := t.credential
	if c.algorithm == algorithmV4A {
		return Key{}, Errorf("UnsupportedSignature", http.StatusBadRequest, "This server does not verify %s signatures; sign with %s.", c.algorithm, algorithmV4)
	}
	key, ok := v.Keys[c.accessKeyID]
	if !ok && v.Lookup != nil {
		var err error
		if key, ok, err = v.Lookup(r.Context(), c.accessKeyID); err != nil {
			return Key{}, KeyUnavailable(err)
		}
	}
	if !ok {
		return Key{}, errUnknownKey(c)
	}
	now := v.now()
	if err := key.admits(r, t, now); err != nil {
		return Key{}, err
	}
	if c.algorithm == algorithmV2 {
		return key, v.verifyV2(r, t, key.Secret, now)
	}
	return key, v.verifyV4(r, t, key.Secret, now)
}

// KeyUnavailable is the error of a request whose access key cannot be looked up now. The
// caller is unknown then, and no other identity is used.
func KeyUnavailable(cause error) *Error {
	return &Error{Code: "ServiceUnavailable", Status: http.StatusServiceUnavailable, Cause: cause,
		Message: "The access key cannot be looked up at the moment. Try again."}
}

func (v *Verifier) verifyV4(r *http.Request, t Target, secret string, now time.Time) error {
	c := t.credential
	at, err := v.checkTime(r, t, now)
	if err != nil {
		return err
	}
	if err := checkSignedHeaders(r, c); err != nil {
		return err
	}
	signer := newSigner(secret, c, at)
	// A body is looked at when all else is right.
	said := r.Header.Get("X-Amz-Content-Sha256")
	if c.service != "s3" && isHash(said) && !signer.signed(r, t, said) {
		return errMismatch(c)
	}
	payload, err := v.payloadHash(r, t)
	if err != nil {
		return err
	}
	if !signer.signed(r, t, payload) {
		return errMismatch(c)
	}
	oneValueEach(r, func(name string) bool { return slices.Contains(c.signedHeaders, name) })
	if c.service == "s3" {
		body, err := newBody(r, payload, signer)
		if err != nil {
			return err
		}
		r.Body = body
	}
	return nil
}

// oneValueEach merges headers that were sent several times: a signature does not distinguish
// "a" and "b" from "a,b", so later code must not do so either.
func oneValueEach(r *http.Request, signed func(name string) bool) {
	for name, values := range r.Header {
		if len(values) > 1 && signed(strings.ToLower(name)) {
			r.Header[name] = []string{strings.Join(values, ",")}
		}
	}
}

func (v *Verifier) now() time.Time {
	if v.Now != nil {
		return v.Now().UTC()
	}
	return time.Now().UTC()
}

// admits checks the session token that comes with a request.
func (k Key) admits(r *http.Request, t Target, now time.Time) error {
	token := r.Header.Get("X-Amz-Security-Token")
	if t.credential.algorithm == algorithmV2 {
		token = t.query.Get("x-amz-security-token")
	} else if t.credential.presigned {
		token = t.query.Get("X-Amz-Security-Token")
	}
	if !hmac.Equal([]byte(token), []byte(k.SessionToken)) {
		return Errorf("InvalidToken", http.StatusForbidden, "The security token included in the request is invalid.")
	}
	if !k.Expires.IsZero() && !now.Before(k.Expires) {
		return Errorf("ExpiredToken", http.StatusForbidden, "The security token included in the request is expired")
	}
	return nil
}

// checkTime checks when the request was signed, and until when it is good.
func (v *Verifier) checkTime(r *http.Request, t Target, now time.Time) (time.Time, error) {
	c := t.credential
	at, err := signedAt(r, t)
	if err != nil {
		return time.Time{}, err
	}
	if day := at.Format("20060102"); day != c.date {
		return time.Time{}, Errorf("SignatureDoesNotMatch", http.StatusForbidden,
			"Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '%s' != '%s', from '%s'.", c.date, day, at.Format(isoDate))
	}
	skew := v.Skew
	if skew == 0 {
		skew = defaultSkew
		if c.service == "s3" {
			skew = defaultSkewS3
		}
	}
	minutes := strconv.FormatFloat(skew.Minutes(), 'f', -1, 64)
	if late := now.Add(skew); at.After(late) {
		if c.presigned && c.service == "s3" {
			return at, Errorf("AccessDenied", http.StatusForbidden, "Request is not valid yet")
		}
		return at, errSkewed(at, now, skew, "Signature not yet current: "+at.Format(isoDate)+" is still later than "+late.Format(isoDate)+
			" ("+now.Format(isoDate)+" + "+minutes+" min.)")
	}
	if c.presigned {
		expires, err := expiresOf(t)
		if err == nil && now.After(at.Add(expires)) {
			err = Errorf("RequestExpired", http.StatusBadRequest, "Request has expired")
		}
		return at, err
	}
	if early := now.Add(-skew); at.Before(early) {
		return at, errSkewed(at, now, skew, "Signature expired: "+at.Format(isoDate)+" is now earlier than "+early.Format(isoDate)+
			" ("+now.Format(isoDate)+" - "+minutes+" min.)")
	}
	return at, nil
}

func errSkewed(at, now time.Time, skew time.Duration, message string) *Error {
	e := Errorf("RequestTimeTooSkewed", http.StatusForbidden, "%s", message)
	e.Fields = map[string]string{
		"RequestTime":                at.Format(isoDate),
		"ServerTime":                 now.Format(time.RFC3339),
		"MaxAllowedSkewMilliseconds": strconv.FormatInt(skew.Milliseconds(), 10),
	}
	return e
}

// signedAt is the time in X-Amz-Date, or in Date where that is absent.
func signedAt(r *http.Request, t Target) (time.Time, error) {
	text := r.Header.Get("X-Amz-Date")
	if t.credential.presigned {
		text = t.query.Get("X-Amz-Date")
	}
	if text == "" && !t.credential.presigned {
		if at, err := http.ParseTime(r.Header.Get("Date")); err == nil {
			return at.UTC(), nil
		}
		text = r.Header.Get("Date")
	}
	if text == "" {
		return time.Time{}, incomplete("Authorization requires existence of either a 'X-Amz-Date' or a 'Date' header.")
	}
	at, err := time.Parse(isoDate, text)
	if err != nil {
		return time.Time{}, incomplete("Date must be in ISO-8601 'basic format'. Got '%s'. See http://en.wikipedia.org/wiki/ISO_8601", shorten(text))
	}
	return at, nil
}

// expiresOf is how long a presigned URL is good for.
func expiresOf(t Target) (time.Duration, error) {
	text := t.query.Get("X-Amz-Expires")
	if text == "" && t.credential.service != "s3" {
		return defaultSkewS3, nil // as in STS
	}
	seconds, err := strconv.ParseInt(text, 10, 32)
	switch {
	case text == "":
		return 0, incomplete("Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.")
	case err != nil:
		return 0, incomplete("X-Amz-Expires should be a number")
	case seconds < 0:
		return 0, incomplete("X-Amz-Expires must be non-negative")
	case time.Duration(seconds)*time.Second > maxExpires:
		return 0, incomplete("X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than 604800 seconds")
	}
	return time.Duration(seconds) * time.Second, nil
}

// checkSignedHeaders requires a signature to cover the host and every x-amz header: an
// uncovered header could have been added by anyone.
func checkSignedHeaders(r *http.Request, c credential) error {
	if !slices.Contains(c.signedHeaders, "host") {
		return incomplete("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
	}
	for _, name := range sortedKeys(r.Header) {
		lower := strings.ToLower(name)
		if !strings.HasPrefix(lower, "x-amz-") || slices.Contains(c.signedHeaders, lower) {
			continue
		}
		if c.service != "s3" {
			return incomplete("'%s' must be a 'SignedHeader' in the AWS Authorization.", shorten(name))
		}
		e := Errorf("AccessDenied", http.StatusForbidden, "There were headers present in the request which were not signed")
		e.Fields = map[string]string{"HeadersNotSigned": shorten(lower)}
		return e
	}
	return nil
}

// payloadHash is what the canonical request has for the body.
func (v *Verifier) payloadHash(r *http.Request, t Target) (string, error) {
	if t.credential.service == "s3" {
		return payloadHashS3(r, t)
	}
	max := v.MaxBody
	if max == 0 {
		max = defaultJSONBody
	}
	if r.Body == nil || r.Body == http.NoBody {
		return emptyHash, nil
	}
	if h, held := r.Body.(*heldBody); held {
		err := h.spool(r.Context(), max)
		return hex.EncodeToString(h.sum[:]), err
	}
	body, err := peek(r, max)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), nil
}

// payloadHashS3 is what the request itself says; the Body holds it to that.
func payloadHashS3(r *http.Request, t Target) (string, error) {
	said := r.Header.Get("X-Amz-Content-Sha256")
	if said == "" && t.credential.presigned {
		if said = t.query.Get("X-Amz-Content-Sha256"); said == "" {
			said = unsignedPayload
		}
	}
	switch said {
	case "":
		return "", Errorf("InvalidRequest", http.StatusBadRequest, "Missing required header for this request: x-amz-content-sha256")
	case unsignedPayload, streamingSigned, streamingTrailer, streamingUnsigned:
		return said, nil
	}
	if !isHash(said) {
		return "", Errorf("InvalidArgument", http.StatusBadRequest, "x-amz-content-sha256 must be %s, %s, %s, %s, or a valid sha256 value.",
			unsignedPayload, streamingUnsigned, streamingSigned, streamingTrailer)
	}
	return said, nil
}

// isHash reports whether a text is a SHA-256 in lower-case hexadecimal.
func isHash(text string) bool {
	hash, err := hex.DecodeString(text)
	return err == nil && len(hash) == sha256.Size && text == strings.ToLower(text)
}

// A signer signs with one key, in one scope and at one time.
type signer struct {
	key         []byte
	date, scope string
	seed        string // the signature of the request's head
}

func newSigner(secret string, c credential, at time.Time) *signer {
	key := mac([]byte("AWS4"+secret), c.date)
	for _, part := range []string{c.region, c.service, "aws4_request"} {
		key = mac(key, part)
	}
	return &signer{key: key, date: at.Format(isoDate), scope: c.date + "/" + c.region + "/" + c.service + "/aws4_request", seed: c.signature}
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// sign signs what belongs under the head of algorithm, date and scope.
func (s *signer) sign(algorithm, rest string) string {
	return hex.EncodeToString(mac(s.key, algorithm+"\n"+s.date+"\n"+s.scope+"\n"+rest))
}

// signed reports whether the signature is that of the request for a target.
func (s *signer) signed(r *http.Request, t Target, payload string) bool {
	c := t.credential
	query := canonicalQuery(t.query, c.presigned)
	hosts := t.spellings(r)
	ok := false
	for _, path := range t.canonicalPaths() {
		for _, host := range hosts {
			canonical := strings.Join([]string{
				r.Method, path, query, canonicalHeaders(r, host, c.signedHeaders), strings.Join(c.signedHeaders, ";"), payload,
			}, "\n")
			sum := sha256.Sum256([]byte(canonical))
			if hmac.Equal([]byte(s.sign(algorithmV4, hex.EncodeToString(sum[:]))), []byte(c.signature)) {
				ok = true
			}
		}
	}
	return ok
}

// canonicalQuery is the query with its parts escaped and then sorted, without the
// signature itself.
func canonicalQuery(query url.Values, presigned bool) string {
	type part struct{ name, value string }
	var parts []part
	for name, values := range query {
		if presigned && name == "X-Amz-Signature" {
			continue
		}
		for _, value := range values {
			parts = append(parts, part{escape(name, ""), escape(value, "")})
		}
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.value, b.value))
	})
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p.name + "=" + p.value)
	}
	return b.String()
}

// escape escapes all but the unreserved characters and those in keep.
func escape(text, keep string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		ch := text[i]
		switch {
		case 'a' <= ch && ch <= 'z', 'A' <= ch && ch <= 'Z', '0' <= ch && ch <= '9', strings.IndexByte("-_.~", ch) >= 0, strings.IndexByte(keep, ch) >= 0:
			b.WriteByte(ch)
		default:
			b.Write([]byte{'%', digits[ch>>4], digits[ch&15]})
		}
	}
	return b.String()
}

// tidy removes . and .. and empty segments, as RFC 3986 5.2.4, and keeps a slash at the end.
func tidy(path string) string {
	var out []string
	segments := strings.Split(path, "/")
	for _, segment := range segments {
		switch segment {
		case "", ".":
		case "..":
			out = out[:max(len(out)-1, 0)]
		default:
			out = append(out, segment)
		}
	}
	tidied := "/" + strings.Join(out, "/")
	if strings.HasSuffix(path, "/") && len(out) > 0 {
		tidied += "/"
	}
	return tidied
}

// canonicalHeaders are the signed headers, one on a line.
func canonicalHeaders(r *http.Request, host string, names []string) string {
	var b strings.Builder
	for _, name := range names {
		values := r.Header.Values(name)
		switch name {
		case "host":
			values = []string{host}
		case "content-length":
			if len(values) == 0 && r.ContentLength >= 0 {
				values = []string{strconv.FormatInt(r.ContentLength, 10)}
			}
		case "transfer-encoding":
			values = r.TransferEncoding
		}
		b.WriteString(name + ":")
		for i, value := range values {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strings.Join(strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '\t' }), " "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func errUnknownKey(c credential) *Error {
	e := Errorf("InvalidClientTokenId", http.StatusForbidden, "The security token included in the request is invalid.")
	e.Fields = map[string]string{"AWSAccessKeyId": c.accessKeyID}
	return e
}

func errMismatch(c credential) *Error {
	e := Errorf("SignatureDoesNotMatch", http.StatusForbidden,
		"The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
	e.Fields = map[string]string{"AWSAccessKeyId": c.accessKeyID}
	return e
}

// inWordsOf puts an error of a signature into the codes that clients of the service know.
// err has those of the Query protocol.
func inWordsOf(service string, c credential, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	renamed := *e
	switch p := ProtocolOf(service); p {
	case RESTXML:
		renamed.toS3(c)
	case JSON10, JSON11, RESTJSON:
		renamed.Fields = nil
		switch e.Code {
		case "MissingAuthenticationToken", "IncompleteSignature", "UnsupportedSignature":
			renamed.Code += "Exception"
			renamed.Status = http.StatusBadRequest
		case "InvalidClientTokenId", "InvalidToken":
			renamed.Code, renamed.Status = "UnrecognizedClientException", http.StatusBadRequest
		case "ExpiredToken":
			renamed.Code, renamed.Status = "ExpiredTokenException", http.StatusBadRequest
		case "SignatureDoesNotMatch", "RequestTimeTooSkewed", "RequestExpired":
			renamed.Code, renamed.Status = "InvalidSignatureException", http.StatusBadRequest
		}
		if p == RESTJSON && renamed.Status < http.StatusInternalServerError {
			renamed.Status = http.StatusForbidden
		}
	default:
		renamed.Fields = nil
		switch e.Code {
		case "InvalidToken":
			renamed.Code = "InvalidClientTokenId"
		case "RequestTimeTooSkewed": // Query services have no separate code for it
			renamed.Code = "SignatureDoesNotMatch"
		}
	}
	return &renamed
}

func (e *Error) toS3(c credential) {
	switch e.Code {
	case "MissingAuthenticationToken":
		e.Code, e.Message = "AccessDenied", "Access Denied"
	case "IncompleteSignature":
		e.Code = "AuthorizationHeaderMalformed"
		if c.presigned {
			e.Code = "AuthorizationQueryParametersError"
		}
	case "InvalidClientTokenId":
		e.Code, e.Message = "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records."
	case "InvalidToken":
		e.Status, e.Message = http.StatusBadRequest, "The provided token is malformed or otherwise invalid."
	case "ExpiredToken":
		e.Status, e.Message = http.StatusBadRequest, "The provided token has expired."
	case "RequestExpired":
		e.Code, e.Status = "AccessDenied", http.StatusForbidden
	case "RequestTimeTooSkewed":
		e.Message = "The difference between the request time and the current time is too large."
	case "SignatureDoesNotMatch":
		if strings.HasPrefix(e.Message, "The request signature") {
			e.Message = "The request signature we calculated does not match the signature you provided. Check your key and signing method."
		}
	}
}
