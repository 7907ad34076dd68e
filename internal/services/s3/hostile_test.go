package s3

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// TestHostileS3 sends what no client sends.
func TestHostileS3(t *testing.T) {
	b := onSQLite(t, Config{MaxObject: 32 << 20})
	makeBucket(t, b.s3(account), "hostile", false)
	const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><Delete><Object><Key>&b;</Key></Object></Delete>`
	signed := map[string]string{"X-Amz-Content-Sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "X-Amz-Decoded-Content-Length": "5", "Content-Encoding": "aws-chunked"}
	for _, test := range []struct {
		name, method, path, body string
		header                   map[string]string
		status                   int
		code                     string
	}{
		{"document type", "POST", "/hostile?delete", bomb, nil, 400, "MalformedXML"},
		{"unknown entity", "POST", "/hostile?delete", "<Delete><Object><Key>&x;</Key></Object></Delete>", nil, 400, "MalformedXML"},
		{"another document", "POST", "/hostile?delete", "<Erase/>", nil, 400, "MalformedXML"},
		{"two documents", "POST", "/hostile?delete", "<Delete><Object><Key>k</Key></Object></Delete><Delete/>", nil, 400, "MalformedXML"},
		{"no document", "POST", "/hostile?delete", "", nil, 400, "MalformedXML"},
		{"depth", "POST", "/hostile?delete", strings.Repeat("<Delete>", 1000) + strings.Repeat("</Delete>", 1000), nil, 400, "MalformedXML"},
		{"too many", "POST", "/hostile?delete", "<Delete>" + strings.Repeat("<Object><Key>k</Key></Object>", 1001) + "</Delete>", nil, 400, "MalformedXML"},
		{"too large", "POST", "/hostile?delete", strings.Repeat(" ", maxList+1), nil, 400, "EntityTooLarge"},
		{"bomb to complete", "POST", "/hostile/k?uploadId=x", bomb, nil, 400, "MalformedXML"},
		{"large policy", "PUT", "/hostile?policy", strings.Repeat("x", 100<<20), nil, 400, "EntityTooLarge"},
		{"large object", "PUT", "/hostile/k", strings.Repeat("x", 33<<20), nil, 400, "EntityTooLarge"},
		{"bad chunk", "PUT", "/hostile/k", "zz;chunk-signature=0\r\nhello\r\n0\r\n\r\n", signed, 400, ""},
		{"short chunk", "PUT", "/hostile/k", "5;chunk-signature=0\r\nhe", signed, 400, "IncompleteBody"},
		{"long chunk", "PUT", "/hostile/k", "6;chunk-signature=0\r\nhello!\r\n0;chunk-signature=0\r\n\r\n", signed, 400, ""},
		{"trailer", "PUT", "/hostile/k", "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n", map[string]string{"X-Amz-Content-Sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "X-Amz-Decoded-Content-Length": "5", "X-Amz-Trailer": "x-amz-checksum-crc32"}, 400, "BadDigest"},
		{"sha256", "PUT", "/hostile/k", "hello", map[string]string{"X-Amz-Content-Sha256": strings.Repeat("0", 64)}, 400, "XAmzContentSHA256Mismatch"},
		{"xxhash", "PUT", "/hostile/k", "hello", map[string]string{"X-Amz-Checksum-Xxhash64": "AAAAAAAAAAA="}, 501, "NotImplemented"},
		{"metadata", "PUT", "/hostile/k", "hello", map[string]string{"X-Amz-Meta-A": strings.Repeat("x", 100_000)}, 400, "MetadataTooLarge"},
		{"customer key", "GET", "/hostile/k", "", map[string]string{"X-Amz-Expected-Bucket-Owner": "999999999999"}, 403, "AccessDenied"},
		{"NUL in a key", "PUT", "/hostile/a%00b", "hello", nil, 400, "InvalidURI"},
		{"no UTF-8 in a key", "PUT", "/hostile/%ff", "hello", nil, 400, "InvalidURI"},
		{"bucket", "GET", "/..%2f..", "", nil, 400, "InvalidBucketName"},
		{"query", "GET", "/hostile?prefix=%zz", "", nil, 400, "InvalidURI"},
		{"NUL in a prefix", "GET", "/hostile?prefix=%00", "", nil, 400, "InvalidArgument"},
		{"number", "GET", "/hostile?max-keys=-1", "", nil, 400, "InvalidArgument"},
		{"token", "GET", "/hostile?list-type=2&continuation-token=!", "", nil, 400, "InvalidArgument"},
		{"version", "GET", "/hostile/k?versionId=%00", "", nil, 400, "InvalidArgument"},
		{"form", "POST", "/hostile", "", nil, 501, "NotImplemented"},
		{"select", "POST", "/hostile/k?select&select-type=2", "", nil, 501, "NotImplemented"},
		{"restore", "POST", "/hostile/k?restore", "", nil, 501, "NotImplemented"},
		{"retention", "PUT", "/hostile/k?retention", "", nil, 501, "NotImplemented"},
		{"session", "GET", "/hostile?session", "", nil, 501, "NotImplemented"},
		{"method", "PATCH", "/hostile/k", "", nil, 405, "MethodNotAllowed"},
		{"method on a part of it", "PATCH", "/hostile/k?acl", "", nil, 405, "MethodNotAllowed"},
		{"of the service", "DELETE", "/?acl", "", nil, 405, "MethodNotAllowed"},
		{"preflight", "OPTIONS", "/hostile/k", "", nil, 501, "NotImplemented"},
	} {
		t.Run(test.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), test.method, b.url, strings.NewReader(test.body))
			ok(t, err)
			path, query, _ := strings.Cut(test.path, "?")
			request.URL.Opaque, request.URL.RawQuery = path, query
			for name, value := range test.header {
				request.Header.Set(name, value)
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil { // the server may end the connection of a body that it does not want
				if test.code == "EntityTooLarge" {
					return
				}
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			ok(t, err)
			if answer.StatusCode != test.status || !strings.Contains(string(text), "<Code>"+test.code) {
				t.Errorf("got %d, %s", answer.StatusCode, text)
			}
		})
	}
	left, err := store.Count(t.Context(), b.store.Read(), "FROM s3_objects")
	ok(t, err)
	equal(t, "objects", left, 0)
}

func TestPathsAreNotCleaned(t *testing.T) {
	b := onSQLite(t, Config{})
	makeBucket(t, b.s3(account), "paths", false)
	for path, want := range map[string]string{"/paths/a//b": "a//b", "/paths/../x": "../x", "/paths//": "/", "/paths/%2e%2e/x%2Fy": "../x/y", "/paths/a+b%2Bc": "a+b+c"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, b.url, strings.NewReader("x"))
		ok(t, err)
		request.URL.Opaque = path
		answer, err := http.DefaultClient.Do(request)
		ok(t, err)
		answer.Body.Close()
		_, err = b.Service.Open(t.Context(), account, Location{Bucket: "paths", Key: want})
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestParseURL(t *testing.T) {
	s := onSQLite(t, Config{})
	for raw, want := range map[string]Location{
		"s3://bucket/a/b c": {Bucket: "bucket", Key: "a/b c"},
		"S3://bucket/k":     {Bucket: "bucket", Key: "k"},
		"https://bucket.s3.eu-west-1.amazonaws.com/a%20b?X-Amz=1": {Bucket: "bucket", Key: "a b"},
		"https://bucket.s3.amazonaws.com/k":                       {Bucket: "bucket", Key: "k"},
		"https://my.bucket.s3-us-gov-west-1.amazonaws.com/k":      {Bucket: "my.bucket", Key: "k"},
		"https://bucket.s3.dualstack.eu-west-1.amazonaws.com/k":   {Bucket: "bucket", Key: "k"},
		"https://bucket.s3.cn-north-1.amazonaws.com.cn/k":         {Bucket: "bucket", Key: "k"},
		"https://s3.eu-west-1.amazonaws.com/bucket/k":             {Bucket: "bucket", Key: "k"},
		"https://s3.amazonaws.com/bucket/dir/k?versionId=v1":      {Bucket: "bucket", Key: "dir/k", Version: "v1"},
		"http://127.0.0.1:4566/bucket/../k":                       {Bucket: "bucket", Key: "../k"},
		"http://[::1]:4566/bucket/k":                              {Bucket: "bucket", Key: "k"},
		"http://localhost:4566/bucket/k":                          {Bucket: "bucket", Key: "k"},
		"http://bucket.localhost:4566/k":                          {Bucket: "bucket", Key: "k"},
		"http://bucket.s3.localhost:4566/k":                       {Bucket: "bucket", Key: "k"},
		"http://my.bucket.s3.localhost:4566/k":                    {Bucket: "my.bucket", Key: "k"},
		"http://bucket.s3.localhost.localstack.cloud:4566/dir/k":  {Bucket: "bucket", Key: "dir/k"},
		"http://server.example.com:4566/bucket/k":                 {Bucket: "bucket", Key: "k"},
	} {
		got, err := s.ParseURL(raw)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", raw, got, err)
		}
	}
	for _, raw := range []string{"", "bucket/key", "ftp://bucket/key", "file:///etc/passwd", "s3://bucket", "s3://bucket/", "s3://UPPER/key", "s3:///key", "https://bucket.s3.amazonaws.com/", "https:///k", "http://h/b%zz/k",
		"s3://bucket/" + strings.Repeat("k", maxKey+1), "s3://bucket/" + strings.Repeat("k", 9000)} {
		if got, err := s.ParseURL(raw); err == nil {
			t.Errorf("%q: got %+v", raw, got)
		}
	}
}

func TestBucketNames(t *testing.T) {
	for name, want := range map[string]bool{"abc": true, "a.b-c.1": true, "ab": false, strings.Repeat("a", 63): true, strings.Repeat("a", 64): false, "a..b": false, "-ab": false, "ab-": false,
		"192.168.1.1": false, "xn--abc": false, "abc--x-s3": false, "a_b": false, "a/b": false, "../..": false} {
		equal(t, name, validBucketName(name), want)
	}
}

// TestWholeCRC compares CRCs joined from parts to those of the whole.
func TestWholeCRC(t *testing.T) {
	text := noise(10_000)
	for _, a := range algorithms {
		if a.combine == nil {
			continue
		}
		sum := func(text []byte) string {
			h := a.make()
			h.Write(text)
			return base64.StdEncoding.EncodeToString(h.Sum(nil))
		}
		cuts := []int{0, 1, 1, 17, 4096, 10_000}
		var parts []string
		var sizes []int64
		for i := range cuts[1:] {
			parts, sizes = append(parts, sum(text[cuts[i]:cuts[i+1]])), append(sizes, int64(cuts[i+1]-cuts[i]))
		}
		whole, err := wholeCRC(a, parts, sizes)
		ok(t, err)
		equal(t, a.name, whole.Sum, sum(text))
	}
	// The check value of CRC-64/NVME.
	h := algorithms[2].make()
	h.Write([]byte("123456789"))
	equal(t, "CRC-64/NVME", fmt.Sprintf("%x", h.Sum(nil)), "ae8b14860a799888")
	equal(t, "CRC-32", crc32.ChecksumIEEE([]byte("123456789")), 0xcbf43926)
}

func FuzzRange(f *testing.F) {
	for _, seed := range []string{"bytes=0-1", "bytes=-5", "bytes=3-", "bytes=99999999999999999999-", "bytes=a-b", "bytes=1-2,3-4", "bytes= 1 - 2 "} {
		f.Add(seed, int64(10))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 0 {
			return
		}
		s, err := parseRange(header, size)
		if err == nil && (s.start < 0 || s.length < 0 || s.start+s.length > size || s.partial && s.length == 0) {
			t.Errorf("parseRange(%q, %d) gave %+v", header, size, s)
		}
	})
}

func FuzzXML(f *testing.F) {
	for _, seed := range []string{"<Delete><Object><Key>k</Key></Object></Delete>", "<!DOCTYPE x><Delete/>", "<Delete>", "<a:Delete xmlns:a='b'/>", "<?xml version='1.0' encoding='x'?><Delete/>"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var list struct {
			Object []struct{ Key string }
		}
		if parseXML(text, "Delete", &list) == nil && bytes.Contains(text, []byte("<!DOCTYPE")) && !bytes.Contains(text, []byte("<![CDATA[")) && !bytes.Contains(text, []byte("<!--")) && !bytes.Contains(text, []byte("<?")) && !bytes.ContainsAny(text, `"'`) {
			t.Errorf("a document type was taken: %q", text)
		}
		_, _ = parseTagging(text, 50)
		var complete struct{ Part []completedPart }
		_ = parseXML(text, "CompleteMultipartUpload", &complete)
	})
}

func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"s3://bucket/key", "https://b.s3.eu-west-1.amazonaws.com/k?versionId=1", "http://localhost:4566/bucket/%2e%2e", "http://[::1/x"} {
		f.Add(seed)
	}
	s := &Service{hosts: defaultHosts}
	f.Fuzz(func(t *testing.T, raw string) {
		at, err := s.ParseURL(raw)
		if err == nil && (!validBucketName(at.Bucket) || at.Key == "" || len(at.Key) > maxKey || !utf8.ValidString(at.Key)) {
			t.Errorf("ParseURL(%q) gave %+v", raw, at)
		}
		if err == nil && at.Version == "" {
			again, err := s.ParseURL(at.String())
			if err != nil || again != at {
				t.Errorf("ParseURL(%q) gave %+v, and of that %+v, %v", raw, at, again, err)
			}
		}
	})
}

// benchmarkObjects puts and gets objects through Go.
func benchmarkObjects(b *testing.B, size int) {
	s := onSQLite(b, Config{})
	text := noise(size)
	makeBucket(b, s.s3(account), "bench", false)
	b.Run("put", func(b *testing.B) {
		b.SetBytes(int64(size))
		for i := 0; b.Loop(); i++ {
			copy(text, fmt.Sprint(i))
			_, err := s.Put(b.Context(), account, Location{Bucket: "bench", Key: fmt.Sprint(i % 100)}, "", bytes.NewReader(text))
			ok(b, err)
		}
	})
	b.Run("get", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			o, err := s.Open(b.Context(), account, Location{Bucket: "bench", Key: "0"})
			ok(b, err)
			_, err = io.Copy(io.Discard, o)
			ok(b, err)
			ok(b, o.Close())
		}
	})
}

func BenchmarkObject1KiB(b *testing.B)  { benchmarkObjects(b, 1<<10) }
func BenchmarkObject10MiB(b *testing.B) { benchmarkObjects(b, 10<<20) }

// FuzzKeys escapes any key, and looks for what comes after all that begins with it.
func FuzzKeys(f *testing.F) {
	f.Add("a b/ü~+")
	f.Add("\xff\U0010FFFF")
	f.Fuzz(func(t *testing.T, text string) {
		if next, ok := store.Successor(text); ok && utf8.ValidString(text) && next <= text {
			t.Errorf("%q comes after %q", next, text)
		}
		if escaped := escapeKey(text); escaped != "" {
			if back, err := url.QueryUnescape(escaped); err != nil || back != text {
				t.Errorf("%q is escaped to %q", text, escaped)
			}
		}
	})
}

var _ store.BlobReader = (*objectReader)(nil)
