package awswire_test

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// upload makes a PUT of S3; the headers are pairs.
func upload(body string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPut, "/bucket/key", strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// The checksums of "hello" were made with Python's hashlib, zlib and google_crc32c, and
// those of the nine digits are the check values of the catalogue of parametrised CRCs.
func TestBodies(t *testing.T) {
	streaming := func(more ...string) []string {
		return append([]string{"X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "Content-Encoding", "aws-chunked", "X-Amz-Decoded-Content-Length", "5"}, more...)
	}
	crc := func(more ...string) []string {
		return streaming(append([]string{"X-Amz-Trailer", "x-amz-checksum-crc32"}, more...)...)
	}
	const trailer = "x-amz-checksum-crc32:NhCmhg==\r\n"
	nine := func(hex ...byte) string { return base64.StdEncoding.EncodeToString(hex) }
	for _, test := range []struct {
		name    string
		request *http.Request
		want    string
		sums    map[string]string
		code    string
		text    string
	}{
		{name: "plain", request: upload("hello"), want: "hello"},
		{name: "empty", request: upload("")},
		{name: "a hash", request: upload("hello", "X-Amz-Content-Sha256", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"), want: "hello"},
		{name: "a wrong hash", request: upload("hellO", "X-Amz-Content-Sha256", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"), code: "XAmzContentSHA256Mismatch"},
		{name: "a wrong hash of nothing", request: upload("", "X-Amz-Content-Sha256", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"), code: "XAmzContentSHA256Mismatch"},
		{name: "MD5", request: upload("hello", "Content-Md5", "XUFAKrxLKna5cZ2REBfFkg=="), want: "hello"},
		{name: "a wrong MD5", request: upload("hellO", "Content-Md5", "XUFAKrxLKna5cZ2REBfFkg=="), code: "BadDigest", text: "Content-MD5"},
		{name: "no MD5", request: upload("hello", "Content-Md5", "XUFA"), code: "InvalidDigest"},
		{name: "checksums in headers", request: upload("hello", "X-Amz-Checksum-Crc32", "NhCmhg==", "X-Amz-Checksum-Sha256", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=", "X-Amz-Checksum-Sha1", "qvTGHdzF6KLavt4PO0gs2a6pQ00="),
			want: "hello", sums: map[string]string{"CRC32": "NhCmhg==", "SHA256": "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=", "SHA1": "qvTGHdzF6KLavt4PO0gs2a6pQ00="}},
		{name: "CRCs of nine digits", request: upload("123456789", "X-Amz-Checksum-Crc32", nine(0xcb, 0xf4, 0x39, 0x26), "X-Amz-Checksum-Crc32c", nine(0xe3, 0x06, 0x92, 0x83),
			"X-Amz-Checksum-Crc64nvme", nine(0xae, 0x8b, 0x14, 0x86, 0x0a, 0x79, 0x98, 0x88)), want: "123456789",
			sums: map[string]string{"CRC32": "y/Q5Jg==", "CRC32C": "4waSgw==", "CRC64NVME": "rosUhgp5mIg="}},
		{name: "a wrong checksum", request: upload("hellO", "X-Amz-Checksum-Crc32", "NhCmhg=="), code: "BadDigest", text: "The CRC32 you specified did not match the calculated checksum."},
		{name: "a checksum of another length", request: upload("hello", "X-Amz-Checksum-Sha1", "NhCmhg=="), code: "InvalidRequest", text: "Value for x-amz-checksum-sha1 header is invalid."},
		{name: "no checksum of the payload", request: upload("hello", "X-Amz-Checksum-Algorithm", "CRC32", "X-Amz-Checksum-Mode", "ENABLED"), want: "hello"},
		{name: "chunks without a trailer", request: upload("5\r\nhello\r\n0\r\n\r\n", streaming()...), want: "hello"},
		{name: "many chunks", request: upload("1\r\nh\r\n4\r\nello\r\n0\r\n"+trailer+"\r\n", crc()...), want: "hello", sums: map[string]string{"CRC32": "NhCmhg=="}},
		{name: "bare line ends in the trailer", request: upload("5\r\nhello\r\n0\r\nX-Amz-Checksum-Crc32: NhCmhg==\n\n", crc()...), want: "hello", sums: map[string]string{"CRC32": "NhCmhg=="}},
		{name: "signatures that nobody checks", request: upload("5;chunk-signature=abc\r\nhello\r\n0;chunk-signature=def\r\n\r\n", streaming("X-Amz-Content-Sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")...), want: "hello"},
		{name: "no bytes", request: upload("0\r\n\r\n", streaming("X-Amz-Decoded-Content-Length", "0")...)},
		{name: "a wrong trailer", request: upload("5\r\nhellO\r\n0\r\n"+trailer+"\r\n", crc()...), code: "BadDigest", text: "The CRC32 you specified"},
		{name: "a trailer that is none", request: upload("5\r\nhello\r\n0\r\nx-amz-checksum-crc32:no\r\n\r\n", crc()...), code: "InvalidRequest", text: "Value for x-amz-checksum-crc32 trailing header is invalid."},
		{name: "a trailer that does not come", request: upload("5\r\nhello\r\n0\r\n\r\n", crc()...), code: "MalformedTrailerError"},
		{name: "a trailer that nobody announced", request: upload("5\r\nhello\r\n0\r\n"+trailer+"\r\n", streaming()...), code: "MalformedTrailerError"},
		{name: "a trailer twice", request: upload("5\r\nhello\r\n0\r\n"+trailer+trailer+"\r\n", crc()...), code: "MalformedTrailerError"},
		{name: "a trailer of no known kind", request: upload("", streaming("X-Amz-Trailer", "x-amz-checksum-xxhash3")...), code: "InvalidRequest", text: "x-amz-checksum-xxhash3"},
		{name: "no decoded length", request: upload("0\r\n\r\n", "X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"), code: "MissingContentLength"},
		{name: "a negative length", request: upload("0\r\n\r\n", streaming("X-Amz-Decoded-Content-Length", "-1")...), code: "MissingContentLength"},
		{name: "an unknown way of streaming", request: upload("", streaming("X-Amz-Content-Sha256", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD")...), code: "NotImplemented"},
		{name: "too little", request: upload("4\r\nhell\r\n0\r\n\r\n", streaming()...), code: "IncompleteBody"},
		{name: "too much", request: upload("6\r\nhello!\r\n0\r\n\r\n", streaming()...), code: "IncompleteBody"},
		{name: "a huge chunk", request: upload("7fffffffffffffff\r\nhello\r\n0\r\n\r\n", streaming()...), code: "InvalidRequest"},
		{name: "no size", request: upload("hello", streaming()...), code: "IncompleteBody"},
		{name: "a size that is none", request: upload("x\r\nhello\r\n", streaming()...), code: "InvalidRequest", text: "a chunk begins with its size in hexadecimal"},
		{name: "a negative size", request: upload("-5\r\nhello\r\n", streaming()...), code: "InvalidRequest"},
		{name: "a chunk longer than its size", request: upload("4\r\nhello\r\n0\r\n\r\n", streaming()...), code: "InvalidRequest", text: "a chunk is longer than its size"},
		{name: "a long line", request: upload("5;"+strings.Repeat("x", 2000)+"\r\nhello\r\n", streaming()...), code: "InvalidRequest", text: "a line is too long"},
		{name: "the end of a chunk is missing", request: upload("5\r\nhello", streaming()...), code: "IncompleteBody"},
		{name: "the end is missing", request: upload("5\r\nhello\r\n0\r\n", streaming()...), code: "IncompleteBody"},
		{name: "it goes on", request: upload("5\r\nhello\r\n0\r\n\r\nmore", streaming()...), code: "InvalidRequest", text: "it goes on after its last chunk"},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := func(r *http.Request, wrap func(io.Reader) io.Reader) (string, map[string]string, error) {
				body, err := awswire.ChunkedBody(r)
				if err != nil {
					return "", nil, err
				}
				defer body.Close()
				payload, err := io.ReadAll(wrap(body))
				if _, again := body.Read(make([]byte, 1)); err == nil && !errors.Is(again, io.EOF) || err != nil && !errors.Is(again, err) {
					t.Errorf("%v after %v", again, err)
				}
				return string(payload), body.Checksums(), err
			}
			payload, sums, err := read(test.request, func(r io.Reader) io.Reader { return r })
			if test.code != "" {
				var refused *awswire.Error
				if !errors.As(err, &refused) || refused.Code != test.code || !strings.Contains(refused.Message, test.text) {
					t.Errorf("%q, %v; want %s %s", payload, err, test.code, test.text)
				}
				return
			}
			if err != nil || payload != test.want {
				t.Errorf("%q, %v", payload, err)
			}
			if diff := cmp.Diff(test.sums, sums); diff != "" && len(test.sums)+len(sums) > 0 {
				t.Errorf("checksums (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBodiesInPieces reads what a slow client sends, a byte at a time.
func TestBodiesInPieces(t *testing.T) {
	r := upload("", "X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "X-Amz-Decoded-Content-Length", "5", "X-Amz-Trailer", "x-amz-checksum-crc32")
	r.Body = io.NopCloser(iotest.OneByteReader(strings.NewReader("2\r\nhe\r\n3\r\nllo\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n")))
	body, err := awswire.ChunkedBody(r)
	if err != nil {
		t.Fatal(err)
	}
	if payload, err := io.ReadAll(iotest.OneByteReader(body)); err != nil || string(payload) != "hello" {
		t.Errorf("%q, %v", payload, err)
	}
	r = upload("", "X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "X-Amz-Decoded-Content-Length", "5")
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("5\r\nhe"), failing{}))
	if body, err = awswire.ChunkedBody(r); err != nil {
		t.Fatal(err)
	}
	var refused *awswire.Error
	if _, err := io.ReadAll(body); !errors.As(err, &refused) || refused.Code != "RequestTimeout" {
		t.Errorf("a connection that breaks: %v", err)
	}
}

// TestCompleteMultipartUpload has a checksum that is not of the request's body.
func TestCompleteMultipartUpload(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/bucket/key?uploadId=1", strings.NewReader("<xml/>"))
	r.Header.Set("X-Amz-Checksum-Crc32", "NhCmhg==")
	body, err := awswire.ChunkedBody(r)
	if err != nil {
		t.Fatal(err)
	}
	if payload, err := io.ReadAll(body); err != nil || string(payload) != "<xml/>" || len(body.Checksums()) != 0 {
		t.Errorf("%q, %v", payload, err)
	}
}

func TestContentEncoding(t *testing.T) {
	for in, want := range map[string]string{"": "", "aws-chunked": "", "gzip": "gzip", "aws-chunked,gzip": "gzip", "gzip, br,AWS-chunked": "gzip,br"} {
		if got := awswire.ContentEncoding(http.Header{"Content-Encoding": {in}}); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
