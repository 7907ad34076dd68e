package awswire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The bounds of an aws-chunked body.
const (
	maxChunkHead = 1024    // bytes of the first line of a chunk, and of a trailer
	maxChunk     = 5 << 30 // bytes of a chunk: the largest object of a single PUT
	maxTrailers  = 16
)

// A Body is the payload of an S3 request, without the aws-chunked framing, and verified while
// it is read: the signatures of its chunks and trailers, its SHA-256, Content-MD5 and
// checksums, and its length. A mismatch is an *Error of Read. Data is not verified before
// io.EOF.
type Body struct {
	// Length is how many bytes there will be; -1 if the request does not say.
	Length int64

	source *bufio.Reader
	body   io.Closer
	read   int64
	err    error // the error that Read keeps returning

	sums []*sum

	chunked   bool
	left      int64 // bytes that the current chunk still has
	inChunk   bool
	trailers  []string // the names that the request announces
	signer    *signer  // nil: chunks are not signed
	previous  string   // the signature before this chunk's
	signature string   // this chunk's
	data      hash.Hash
}

// A sum is a hash of the payload, with the expected value.
type sum struct {
	hash.Hash
	name string // as S3 calls it: "CRC32"
	want []byte // nil until a trailer says it
	bad  *Error // what to fail with
}

// checksums are the algorithms of x-amz-checksum headers and trailers.
var checksums = map[string]func() hash.Hash{
	"crc32":     func() hash.Hash { return crc32.NewIEEE() },
	"crc32c":    func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
	"crc64nvme": func() hash.Hash { return crc64.New(crc64.MakeTable(0x9a6c9329ac4bc9b5)) },
	"sha1":      sha1.New,
	"sha256":    sha256.New,
	"sha512":    sha512.New,
	"md5":       md5.New,
}

const checksumPrefix = "x-amz-checksum-"

// ChunkedBody returns the payload of an S3 request, chunked or not. A verified request has it
// already, with the signatures of its chunks checked; for other requests they are not. The
// error is always an *Error.
func ChunkedBody(r *http.Request) (*Body, error) {
	if body, ok := r.Body.(*Body); ok {
		return body, nil
	}
	return newBody(r, r.Header.Get("X-Amz-Content-Sha256"), nil)
}

// ContentEncoding is the encoding that an object keeps: the request's without aws-chunked,
// which ends with the request.
func ContentEncoding(h http.Header) string {
	var kept []string
	for part := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if part = strings.TrimSpace(part); part != "" && !strings.EqualFold(part, "aws-chunked") {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ",")
}

// newBody makes the body of a request whose X-Amz-Content-Sha256 is payload. Without a
// signer, signatures of chunks are not checked.
func newBody(r *http.Request, payload string, s *signer) (*Body, error) {
	b := &Body{Length: r.ContentLength, body: r.Body}
	var source io.Reader = http.NoBody
	if r.Body != nil {
		source = r.Body
	} else {
		b.body = http.NoBody
	}
	b.source = bufio.NewReaderSize(source, 4096)
	switch {
	case strings.HasPrefix(payload, "STREAMING-"):
		if err := b.setChunked(r, payload, s); err != nil {
			return nil, err
		}
	case payload != "" && payload != unsignedPayload:
		if want, err := hex.DecodeString(payload); err == nil && len(want) == sha256.Size {
			b.sums = append(b.sums, &sum{Hash: sha256.New(), want: want, bad: Errorf("XAmzContentSHA256Mismatch", http.StatusBadRequest,
				"The provided 'x-amz-content-sha256' header does not match what was computed.")})
		}
	}
	if err := b.setSums(r); err != nil {
		return nil, err
	}
	if b.Length == 0 && !b.chunked {
		if err := b.finish(); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *Body) setChunked(r *http.Request, payload string, s *signer) error {
	b.chunked = true
	switch payload {
	case streamingSigned, streamingTrailer:
		if s != nil {
			b.signer, b.previous, b.data = s, s.seed, sha256.New()
		}
	case streamingUnsigned:
	default:
		return Errorf("NotImplemented", http.StatusNotImplemented, "The payload %s is not supported by this server.", shorten(payload))
	}
	length, err := strconv.ParseInt(r.Header.Get("X-Amz-Decoded-Content-Length"), 10, 64)
	if err != nil || length < 0 {
		return Errorf("MissingContentLength", http.StatusLengthRequired, "You must provide the Content-Length HTTP header.")
	}
	b.Length = length
	if payload == streamingSigned {
		return nil
	}
	for name := range strings.SplitSeq(strings.Join(r.Header.Values("X-Amz-Trailer"), ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
			continue
		}
		algorithm, ok := strings.CutPrefix(name, checksumPrefix)
		if !ok || checksums[algorithm] == nil || len(b.trailers) == maxTrailers {
			return Errorf("InvalidRequest", http.StatusBadRequest, "The value specified in the x-amz-trailer header is not supported: %s", shorten(name))
		}
		b.trailers = append(b.trailers, name)
		b.sums = append(b.sums, checksum(algorithm, nil))
	}
	return nil
}

func checksum(algorithm string, want []byte) *sum {
	name := strings.ToUpper(algorithm)
	return &sum{Hash: checksums[algorithm](), name: name, want: want, bad: Errorf("BadDigest", http.StatusBadRequest,
		"The %s you specified did not match the calculated checksum.", name)}
}

// setSums reads the checksums in the headers. Those of CompleteMultipartUpload are of the
// object, not of the request.
func (b *Body) setSums(r *http.Request) error {
	if text := r.Header.Get("Content-Md5"); text != "" {
		want, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(want) != md5.Size {
			return Errorf("InvalidDigest", http.StatusBadRequest, "The Content-MD5 you specified is not valid.")
		}
		b.sums = append(b.sums, &sum{Hash: md5.New(), want: want, bad: Errorf("BadDigest", http.StatusBadRequest,
			"The Content-MD5 you specified did not match what we received.")})
	}
	if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
		return nil
	}
	for _, algorithm := range slices.Sorted(maps.Keys(checksums)) {
		text := r.Header.Get(checksumPrefix + algorithm)
		if text == "" {
			continue
		}
		c := checksum(algorithm, nil)
		if err := c.set(text, "header"); err != nil {
			return err
		}
		b.sums = append(b.sums, c)
	}
	return nil
}

// set stores the expected value of a checksum.
func (s *sum) set(text, where string) error {
	want, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(want) != s.Size() {
		return Errorf("InvalidRequest", http.StatusBadRequest, "Value for %s%s %s is invalid.", checksumPrefix, strings.ToLower(s.name), where)
	}
	s.want = want
	return nil
}

// Checksums are those that came with the payload, in base64 by the name of their
// algorithm ("CRC32", "SHA256"). After io.EOF all of them are right.
func (b *Body) Checksums() map[string]string {
	sums := map[string]string{}
	for _, s := range b.sums {
		if s.name != "" && s.want != nil {
			sums[s.name] = base64.StdEncoding.EncodeToString(s.want)
		}
	}
	return sums
}

// ReadAll reads a payload of at most max bytes, which must not have been read from, within
// the bounds of Bodies where the request is held. A longer one is cut off after max+1.
func (b *Body) ReadAll(ctx context.Context, max int64) ([]byte, error) {
	if h, held := b.body.(*heldBody); held {
		if err := h.spool(ctx, 2*max+maxChunkHead); err != nil { // with the framing of its chunks
			return nil, err
		}
		if err := h.reserve(ctx, h.bodies); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(b, max+1))
}

// Close closes the request's own body.
func (b *Body) Close() error { return b.body.Close() }

// Read reads payload. An error other than io.EOF is an *Error, and final.
func (b *Body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	read := b.readPlain
	if b.chunked {
		read = b.readChunk
	}
	n, err := read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		var refused *Error
		if !errors.As(err, &refused) {
			refused = errCutOff()
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				refused = Errorf("RequestTimeout", http.StatusBadRequest, "The body of the request could not be read completely.")
			}
		}
		err = refused
	}
	b.err = err
	return n, err
}

func errCutOff() *Error {
	return Errorf("IncompleteBody", http.StatusBadRequest, "You did not provide the number of bytes specified by the Content-Length HTTP header.")
}

// take counts what was read and adds it to the sums.
func (b *Body) take(p []byte) error {
	b.read += int64(len(p))
	if b.Length >= 0 && b.read > b.Length {
		return errCutOff()
	}
	for _, s := range b.sums {
		s.Write(p)
	}
	return nil
}

// readPlain reads a payload without framing. It is checked with its last byte, not after
// it, as some readers stop there.
func (b *Body) readPlain(p []byte) (int, error) {
	n, err := b.source.Read(p)
	if taken := b.take(p[:n]); taken != nil {
		return 0, taken
	}
	if err == nil && b.read != b.Length || err != nil && !errors.Is(err, io.EOF) {
		return n, err
	}
	if wrong := b.finish(); wrong != nil {
		return n, wrong
	}
	return n, err
}

// finish compares the sums.
func (b *Body) finish() error {
	if b.Length >= 0 && b.read != b.Length {
		return errCutOff()
	}
	for _, s := range b.sums {
		if s.want == nil {
			return malformedTrailer()
		}
		if !hmac.Equal(s.Sum(nil), s.want) {
			return s.bad
		}
	}
	return nil
}

func malformedTrailer() *Error {
	return Errorf("MalformedTrailerError", http.StatusBadRequest,
		"The request contained trailing data that was not well-formed or did not conform to our published schema.")
}

func badChunk(what string) *Error {
	return Errorf("InvalidRequest", http.StatusBadRequest, "The aws-chunked body is malformed: %s.", what)
}

// readChunk reads a payload of chunks:
//
//	<size in hex>[;chunk-signature=<hex>]\r\n<data>\r\n … 0[;chunk-signature=<hex>]\r\n[trailers]\r\n
func (b *Body) readChunk(p []byte) (int, error) {
	if !b.inChunk {
		if err := b.head(); err != nil {
			return 0, err
		}
		if b.left == 0 {
			if err := b.last(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.source.Read(p)
	if errors.Is(err, io.EOF) && n < len(p) {
		err = io.ErrUnexpectedEOF
	} else if errors.Is(err, io.EOF) {
		err = nil
	}
	if taken := b.take(p[:n]); taken != nil {
		return 0, taken
	}
	if b.signer != nil {
		b.data.Write(p[:n])
	}
	if b.left -= int64(n); b.left == 0 && err == nil {
		err = b.endChunk()
	}
	return n, err
}

// head reads the first line of a chunk.
func (b *Body) head() error {
	line, err := b.line()
	if err != nil {
		return err
	}
	digits, extension, _ := strings.Cut(line, ";")
	size, err := strconv.ParseInt(strings.TrimSpace(digits), 16, 64)
	if err != nil || size < 0 || size > maxChunk || strings.HasPrefix(digits, "+") {
		return badChunk("a chunk begins with its size in hexadecimal")
	}
	b.signature = ""
	if value, ok := strings.CutPrefix(extension, "chunk-signature="); ok {
		b.signature = value
	}
	if b.Length >= 0 && size > b.Length-b.read {
		return errCutOff()
	}
	b.left, b.inChunk = size, true
	return nil
}

// endChunk reads the end of a chunk's data and checks its signature.
func (b *Body) endChunk() error {
	b.inChunk = false
	if b.left == 0 {
		var end [2]byte
		if _, err := io.ReadFull(b.source, end[:]); err != nil {
			return cutOff(err)
		}
		if end != [2]byte{'\r', '\n'} {
			return badChunk("a chunk is longer than its size")
		}
	}
	return b.checkChunk()
}

// checkChunk checks the signature of the data since the last.
func (b *Body) checkChunk() error {
	if b.signer == nil {
		return nil
	}
	want := b.signer.sign("AWS4-HMAC-SHA256-PAYLOAD", b.previous+"\n"+emptyHash+"\n"+hex.EncodeToString(b.data.Sum(nil)))
	b.data.Reset()
	if !hmac.Equal([]byte(want), []byte(b.signature)) {
		return errChunkMismatch()
	}
	b.previous = want
	return nil
}

func errChunkMismatch() *Error {
	return Errorf("SignatureDoesNotMatch", http.StatusForbidden,
		"The request signature we calculated does not match the signature you provided. Check your key and signing method.")
}

// last reads what follows the last chunk, which is empty.
func (b *Body) last() error {
	if err := b.checkChunk(); err != nil {
		return err
	}
	var signed bytes.Buffer
	signature := ""
	seen := map[string]bool{}
	for {
		line, err := b.line()
		if err != nil {
			return err
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !ok || seen[name] || len(seen) > maxTrailers {
			return malformedTrailer()
		}
		seen[name] = true
		if name == "x-amz-trailer-signature" {
			signature = value
			continue
		}
		if err := b.trailer(name, value); err != nil {
			return err
		}
		signed.WriteString(name + ":" + value + "\n")
	}
	if b.signer != nil && len(b.trailers) > 0 {
		hash := sha256.Sum256(signed.Bytes())
		want := b.signer.sign("AWS4-HMAC-SHA256-TRAILER", b.previous+"\n"+hex.EncodeToString(hash[:]))
		if !hmac.Equal([]byte(want), []byte(signature)) {
			return errChunkMismatch()
		}
	}
	if _, err := b.source.ReadByte(); err == nil {
		return badChunk("it goes on after its last chunk")
	}
	return b.finish()
}

// trailer reads a checksum; only announced ones are allowed.
func (b *Body) trailer(name, value string) error {
	if !slices.Contains(b.trailers, name) {
		return malformedTrailer()
	}
	upper := strings.ToUpper(strings.TrimPrefix(name, checksumPrefix))
	for _, s := range b.sums {
		if s.name == upper && s.want == nil {
			return s.set(value, "trailing header")
		}
	}
	return malformedTrailer()
}

// line reads a line, without its end.
func (b *Body) line() (string, error) {
	line, err := b.source.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) || len(line) > maxChunkHead {
		return "", badChunk("a line is too long")
	}
	if err != nil {
		return "", cutOff(err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), nil
}

// cutOff returns the error of a body that ends too early.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
