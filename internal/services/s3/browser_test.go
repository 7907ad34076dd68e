package s3

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// browse sends a request as a browser would: with headers of its own and unsigned.
func browse(t *testing.T, method, url string, headers map[string]string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	ok(t, err)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	ok(t, err)
	ok(t, answer.Body.Close())
	return answer
}

// TestObjectsAreNoPages: an object is no page, and no script, of the origin to which the
// console belongs.
func TestObjectsAreNoPages(t *testing.T) {
	b := onSQLite(t, Config{})
	c := b.s3(account)
	makeBucket(t, c, "pages", false)
	for key, object := range map[string][2]string{
		"html": {"text/html; charset=utf-8", ""}, "svg": {"image/svg+xml", ""}, "script": {"Text/JavaScript", ""}, "atom": {"application/atom+xml", ""},
		"parts": {"multipart/x-mixed-replace; boundary=x", ""}, "odd": {"text/html/", ""}, "named": {"text/html", `inline; filename="r.html"`},
		"saved": {"text/html", `attachment; filename="s.html"`}, "zip": {"application/zip", ""}, "text": {"text/plain", `inline`},
	} {
		in := &s3.PutObjectInput{Bucket: aws.String("pages"), Key: aws.String(key), Body: strings.NewReader("<script>"), ContentType: &object[0]}
		if object[1] != "" {
			in.ContentDisposition = &object[1]
		}
		_, err := c.PutObject(t.Context(), in)
		ok(t, err)
	}
	navigates := map[string]string{"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none"}
	for _, test := range []struct {
		key         string
		headers     map[string]string
		disposition string
	}{
		{"html", navigates, "attachment"},
		{"svg", navigates, "attachment"},
		{"script", navigates, "attachment"},
		{"atom", navigates, "attachment"},
		{"parts", navigates, "attachment"},
		{"odd", navigates, "attachment"},
		{"named", navigates, "attachment; filename=r.html"},
		{"saved", navigates, `attachment; filename="s.html"`},
		{"zip", navigates, ""},
		{"text", navigates, "inline"},
		{"html", map[string]string{"Sec-Fetch-Dest": "iframe"}, "attachment"},
		{"html", map[string]string{"Sec-Fetch-Dest": "object"}, "attachment"},
		{"svg", map[string]string{"Sec-Fetch-Dest": "embed"}, "attachment"},
		{"script", map[string]string{"Sec-Fetch-Dest": "script", "Sec-Fetch-Site": "same-site"}, "attachment"},
		{"svg", map[string]string{"Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors"}, ""}, // whose scripts do not run
		{"html", nil, ""}, // no browser
		{"named", nil, `inline; filename="r.html"`},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			answer := browse(t, method, b.url+"/pages/"+test.key, test.headers)
			if got := answer.Header.Get("Content-Disposition"); answer.StatusCode != http.StatusOK || got != test.disposition {
				t.Errorf("%s %s %v: %s, disposition %q, want %q", method, test.key, test.headers, answer.Status, got, test.disposition)
			}
		}
	}
	for _, use := range []string{"script", "worker", "serviceworker"} {
		answer := browse(t, http.MethodGet, b.url+"/pages/script", map[string]string{"Sec-Fetch-Dest": use, "Sec-Fetch-Site": "same-origin"})
		equal(t, "a "+use+" of the console", answer.StatusCode, http.StatusForbidden)
	}
	for _, path := range []string{"/", "/pages", "/pages/html", "/pages/none", "/pages?policy", "/pages?nothing-of-the-kind&torrent", "/UPPER"} {
		h := browse(t, http.MethodGet, b.url+path, nil).Header
		if h.Get("Content-Security-Policy") != "sandbox" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is in no sandbox: %v", path, h)
		}
	}
}

// TestOverridesNeedACredential: a link that anybody can write changes no header.
func TestOverridesNeedACredential(t *testing.T) {
	b := onSQLite(t, Config{})
	c := b.s3(account)
	makeBucket(t, c, "overrides", false)
	put(t, c, "overrides", "k", "<script>")
	in := &s3.GetObjectInput{Bucket: aws.String("overrides"), Key: aws.String("k"), ResponseContentType: aws.String("text/html")}
	for parameter := range responseHeaders {
		answer, err := http.Get(b.url + "/overrides/k?" + parameter + "=text%2Fhtml") //nolint:noctx // as short as can be
		ok(t, err)
		text, err := io.ReadAll(answer.Body)
		ok(t, err)
		ok(t, answer.Body.Close())
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "<Code>InvalidRequest</Code><Message>Request specific response headers cannot be used for anonymous GET requests.") {
			t.Errorf("unsigned, %s: %s %s", parameter, answer.Status, text)
		}
	}
	signed, err := c.GetObject(t.Context(), in)
	ok(t, err)
	ok(t, signed.Body.Close())
	equal(t, "type, signed", *signed.ContentType, "text/html")
	presigned, err := s3.NewPresignClient(c).PresignGetObject(t.Context(), in)
	ok(t, err)
	equal(t, "type, presigned", browse(t, http.MethodGet, presigned.URL, nil).Header.Get("Content-Type"), "text/html")
	equal(t, "type, presigned by version 2", browse(t, http.MethodGet, b.url+"/overrides/k?response-content-type=text%2Fhtml&AWSAccessKeyId="+account+"&Signature=x&Expires=1", nil).Header.Get("Content-Type"), "text/html")
	shown := browse(t, http.MethodGet, presigned.URL, map[string]string{"Sec-Fetch-Mode": "navigate"})
	equal(t, "disposition of what was made HTML", shown.Header.Get("Content-Disposition"), "attachment")
}
