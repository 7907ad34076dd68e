package awswire

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
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
	// Lookup finds further keys, such as temporary ones. Nil finds none.
	Lookup func(ctx context.Context, accessKeyID string) (Key, bool)
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
	// Skew is how far a request's time may be from Now. Zero means as AWS has it: 5
	// minutes, and 15 for S3.
	Skew time.Duration
	// MaxBody bounds, in bytes, the bodies of services other than S3, which must be read
	// whole before their signature can be checked. Zero means 16 MiB.
	MaxBody int64
	// Hosts are the names that proxies before this server are called by. A signature is
	// good for X-Forwarded-Host, which anybody can send, where it is one of them, with any
	// port. A name that begins with a dot stands for all names below it, as buckets have
	// them. Nil means that the header is never looked at.
	Hosts []string
}

// AccountOf gives the account of a key in Keys, "" for any other. It fits Defaults.
func (v *Verifier) AccountOf(accessKeyID string) string { return v.Keys[accessKeyID].Account }

// Verify checks the signature of a request, in its Authorization header or in its URL.
// The URLs of S3 may be presigned with Signature Version 2, too: boto3 and the aws CLI make
// such ones for endpoints that are not AWS's own.
//
// S3 signs bodies piece by piece or by a hash that only the whole body can be compared to.
// There Verify replaces r.Body by a *Body, which fails with an *Error as soon as a piece,
// the hash or a checksum is wrong: what was read is not to be believed before io.EOF. For
// all other services it reads the body, and puts it back.
//
// The error is always an *Error, in the codes and texts of the service that the request is
// for; ProtocolOf tells its envelope:
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
func (v *Verifier) Verify(r *http.Request) error {
	c, signed, err := credentialOf(r)
	service := c.service
	if err != nil || !signed {
		if service == "" {
			service, _ = unsignedService(r)
		}
		if err == nil {
			err = Errorf("MissingAuthenticationToken", http.StatusForbidden, "Request is missing Authentication Token")
		}
		return inWordsOf(service, c, err)
	}
	if err := v.verify(r, c); err != nil {
		return inWordsOf(service, c, err)
	}
	return nil
}

func (v *Verifier) verify(r *http.Request, c credential) error {
	if c.algorithm == algorithmV4A {
		return Errorf("UnsupportedSignature", http.StatusBadRequest, "This server does not verify %s signatures; sign with %s.", c.algorithm, algorithmV4)
	}
	key, ok := v.Keys[c.accessKeyID]
	if !ok && v.Lookup != nil {
		key, ok = v.Lookup(r.Context(), c.accessKeyID)
	}
	if !ok {
		return errUnknownKey(c)
	}
	now := v.now()
	if err := key.admits(r, c, now); err != nil {
		return err
	}
	if c.algorithm == algorithmV2 {
		return v.verifyV2(r, c, key.Secret, now)
	}
	at, err := v.checkTime(r, c, now)
	if err != nil {
		return err
	}
	if err := checkSignedHeaders(r, c); err != nil {
		return err
	}
	payload, err := v.payloadHash(r, c)
	if err != nil {
		return err
	}
	signer := newSigner(key.Secret, c, at)
	if !signer.signed(r, c, payload, v.hosts(r)) {
		return errMismatch(c)
	}
	if c.service == "s3" {
		body, err := newBody(r, payload, signer)
		if err != nil {
			return err
		}
		r.Body = body
	}
	return nil
}

func (v *Verifier) now() time.Time {
	if v.Now != nil {
		return v.Now().UTC()
	}
	return time.Now().UTC()
}

// admits checks the session token that comes with a request.
func (k Key) admits(r *http.Request, c credential, now time.Time) error {
	token := r.Header.Get("X-Amz-Security-Token")
	if c.algorithm == algorithmV2 {
		token = r.URL.Query().Get("x-amz-security-token")
	} else if c.presigned {
		token = r.URL.Query().Get("X-Amz-Security-Token")
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
func (v *Verifier) checkTime(r *http.Request, c credential, now time.Time) (time.Time, error) {
	at, err := signedAt(r, c)
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
		expires, err := expiresOf(r, c)
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
func signedAt(r *http.Request, c credential) (time.Time, error) {
	text := r.Header.Get("X-Amz-Date")
	if c.presigned {
		text = r.URL.Query().Get("X-Amz-Date")
	}
	if text == "" && !c.presigned {
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
func expiresOf(r *http.Request, c credential) (time.Duration, error) {
	text := r.URL.Query().Get("X-Amz-Expires")
	if text == "" && c.service != "s3" {
		return defaultSkewS3, nil // as STS has it
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

// checkSignedHeaders wants a signature to cover the host and every x-amz header: what it
// does not cover, anybody could have added.
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
func (v *Verifier) payloadHash(r *http.Request, c credential) (string, error) {
	if c.service == "s3" {
		return payloadHashS3(r, c)
	}
	max := v.MaxBody
	if max == 0 {
		max = defaultJSONBody
	}
	if r.Body == nil || r.Body == http.NoBody {
		return emptyHash, nil
	}
	body, err := readAll(r, max)
	if err != nil {
		return "", err
	}
	r.Body = readCloser{bytes.NewReader(body), r.Body}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), nil
}

// payloadHashS3 is what the request itself says; the Body holds it to that.
func payloadHashS3(r *http.Request, c credential) (string, error) {
	said := r.Header.Get("X-Amz-Content-Sha256")
	if said == "" && c.presigned {
		if said = r.URL.Query().Get("X-Amz-Content-Sha256"); said == "" {
			said = unsignedPayload
		}
	}
	switch said {
	case "":
		return "", Errorf("InvalidRequest", http.StatusBadRequest, "Missing required header for this request: x-amz-content-sha256")
	case unsignedPayload, streamingSigned, streamingTrailer, streamingUnsigned:
		return said, nil
	}
	if hash, err := hex.DecodeString(said); err != nil || len(hash) != sha256.Size || said != strings.ToLower(said) {
		return "", Errorf("InvalidArgument", http.StatusBadRequest, "x-amz-content-sha256 must be %s, %s, %s, %s, or a valid sha256 value.",
			unsignedPayload, streamingUnsigned, streamingSigned, streamingTrailer)
	}
	return said, nil
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

// signed tells whether the signature is that of the request. Clients and the proxies
// before us do not agree on how a path is escaped and what the host is called; each of
// the readings is the same request, so any of them will do.
func (s *signer) signed(r *http.Request, c credential, payload string, hosts []string) bool {
	query := canonicalQuery(r.URL.RawQuery, c.presigned)
	ok := false
	for _, path := range canonicalPaths(r.URL, c.service == "s3") {
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
func canonicalQuery(raw string, presigned bool) string {
	var parts []string
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, value = reescape(name), reescape(value)
		if presigned && name == "X-Amz-Signature" {
			continue
		}
		parts = append(parts, name+"="+value)
	}
	slices.SortFunc(parts, func(a, b string) int {
		// By name and then value: '=' must not take part.
		nameA, valueA, _ := strings.Cut(a, "=")
		nameB, valueB, _ := strings.Cut(b, "=")
		if d := strings.Compare(nameA, nameB); d != 0 {
			return d
		}
		return strings.Compare(valueA, valueB)
	})
	return strings.Join(parts, "&")
}

// reescape escapes a part of a query as signatures have it; what is not properly escaped
// is taken as it stands.
func reescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		text = plain
	}
	return escape(text, "")
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

// canonicalPaths are the readings of a path. S3 escapes once and changes nothing else; the
// others escape what is escaped already, and some clients also tidy dots and slashes up.
func canonicalPaths(u *url.URL, s3 bool) []string {
	escaped := u.EscapedPath()
	if escaped == "" {
		escaped = "/"
	}
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		plain = escaped
	}
	once := escape(plain, "/")
	if s3 {
		return []string{once}
	}
	paths := []string{escape(escaped, "/")}
	for _, more := range []string{escape(tidy(escaped), "/"), once} {
		if !slices.Contains(paths, more) {
			paths = append(paths, more)
		}
	}
	return paths
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

// hosts are the names that the client may have had for this host: the one in the request,
// the one that a known proxy before us was called by, and each without the port that its
// scheme has anyway. A signature for another of them is a signature for this request.
func (v *Verifier) hosts(r *http.Request) []string {
	hosts := []string{r.Host}
	forwarded, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Host"), ",")
	if forwarded = strings.TrimSpace(forwarded); v.knowsHost(forwarded) {
		hosts = append(hosts, forwarded)
	}
	for _, host := range slices.Clone(hosts) {
		for _, port := range []string{":80", ":443"} {
			if bare, ok := strings.CutSuffix(host, port); ok {
				hosts = append(hosts, bare)
			}
		}
	}
	return hosts
}

// knowsHost tells whether a host, with a port or without, is one of Hosts.
func (v *Verifier) knowsHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	return host != "" && slices.ContainsFunc(v.Hosts, func(known string) bool {
		known = strings.ToLower(known)
		return host == known || strings.HasPrefix(known, ".") && strings.HasSuffix(host, known)
	})
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
		if p == RESTJSON {
			renamed.Status = http.StatusForbidden
		}
	default:
		renamed.Fields = nil
		switch e.Code {
		case "InvalidToken":
			renamed.Code = "InvalidClientTokenId"
		case "RequestTimeTooSkewed": // Query services have no code of their own for it
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
