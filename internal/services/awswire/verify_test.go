package awswire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The key and day of the examples in the S3 guide "Authenticating Requests (AWS Signature
// Version 4)".
const (
	exampleID     = "AKIAIOSFODNN7EXAMPLE"
	exampleSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

func exampleVerifier() *awswire.Verifier {
	return &awswire.Verifier{
		Keys: map[string]awswire.Key{exampleID: {Secret: exampleSecret, Account: "123456789012"}},
		Now:  func() time.Time { return time.Date(2013, 5, 24, 0, 0, 30, 0, time.UTC) },
	}
}

// raw makes a request as it comes out of the server's parser.
func raw(t *testing.T, method, target, host string, headers map[string]string, body io.Reader) *http.Request {
	t.Helper()
	r := httptest.NewRequest(method, target, body)
	r.Host = host
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	return r
}

func exampleAuthorization(signedHeaders, signature string) string {
	return "AWS4-HMAC-SHA256 Credential=" + exampleID + "/20130524/us-east-1/s3/aws4_request,SignedHeaders=" + signedHeaders + ",Signature=" + signature
}

func chunked(trailer string, signatures ...string) string {
	a := strings.Repeat("a", 65536)
	var b strings.Builder
	fmt.Fprintf(&b, "10000;chunk-signature=%s\r\n%s\r\n", signatures[0], a)
	fmt.Fprintf(&b, "400;chunk-signature=%s\r\n%s\r\n", signatures[1], a[:1024])
	fmt.Fprintf(&b, "0;chunk-signature=%s\r\n%s\r\n", signatures[2], trailer)
	return b.String()
}

// TestExamplesOfTheGuide verifies the requests whose signatures AWS has published, and
// that a change of any one of them is noticed.
func TestExamplesOfTheGuide(t *testing.T) {
	for _, test := range []struct {
		name, method, target, host string
		headers                    map[string]string
		body                       string
		read                       int    // bytes of payload
		spoil                      string // what is changed in the body for it to fail
	}{
		{
			name: "GET of a range", method: "GET", target: "/test.txt", host: "examplebucket.s3.amazonaws.com",
			headers: map[string]string{
				"Range": "bytes=0-9", "X-Amz-Date": "20130524T000000Z",
				"X-Amz-Content-Sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
				"Authorization":        exampleAuthorization("host;range;x-amz-content-sha256;x-amz-date", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
			},
		},
		{
			name: "PUT with a hash", method: "PUT", target: "/test%24file.text", host: "examplebucket.s3.amazonaws.com",
			headers: map[string]string{
				"Date": "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Date": "20130524T000000Z", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY",
				"X-Amz-Content-Sha256": "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
				"Authorization":        exampleAuthorization("date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
			},
			body: "Welcome to Amazon S3.", read: 21, spoil: "Amazon",
		},
		{
			name: "a query without values", method: "GET", target: "/?lifecycle", host: "examplebucket.s3.amazonaws.com",
			headers: map[string]string{
				"X-Amz-Date": "20130524T000000Z", "X-Amz-Content-Sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
				"Authorization": exampleAuthorization("host;x-amz-content-sha256;x-amz-date", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
			},
		},
		{
			name: "presigned", method: "GET", host: "examplebucket.s3.amazonaws.com",
			target: "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" + exampleID + "%2F20130524%2Fus-east-1%2Fs3%2Faws4_request" +
				"&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
		},
		{
			name: "signed chunks", method: "PUT", target: "/examplebucket/chunkObject.txt", host: "s3.amazonaws.com",
			headers: map[string]string{
				"X-Amz-Date": "20130524T000000Z", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY", "Content-Encoding": "aws-chunked",
				"X-Amz-Content-Sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "X-Amz-Decoded-Content-Length": "66560",
				"Authorization": exampleAuthorization("content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class",
					"4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"),
			},
			body: chunked("", "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648", "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
				"b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"),
			read: 66560, spoil: "aaaaa\r\n0;chunk",
		},
		{
			name: "signed chunks and trailer", method: "PUT", target: "/examplebucket/chunkObject.txt", host: "s3.amazonaws.com",
			headers: map[string]string{
				"X-Amz-Date": "20130524T000000Z", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY", "Content-Encoding": "aws-chunked", "X-Amz-Trailer": "x-amz-checksum-crc32c",
				"X-Amz-Content-Sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", "X-Amz-Decoded-Content-Length": "66560",
				"Authorization": exampleAuthorization("content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class;x-amz-trailer",
					"106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e"),
			},
			body: chunked("x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n",
				"b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2", "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
				"2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992"),
			read: 66560, spoil: "trailer-signature:d81f",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := func(r *http.Request) error {
				if err := verify(exampleVerifier(), r); err != nil {
					return err
				}
				body, err := awswire.ChunkedBody(r)
				if err != nil {
					return err
				}
				if body.Length != int64(test.read) {
					t.Errorf("length %d, want %d", body.Length, test.read)
				}
				payload, err := io.ReadAll(body)
				if err == nil && len(payload) != test.read {
					t.Errorf("read %d bytes, want %d", len(payload), test.read)
				}
				return err
			}
			request := func(body string) *http.Request {
				return raw(t, test.method, test.target, test.host, test.headers, strings.NewReader(body))
			}
			if err := read(request(test.body)); err != nil {
				t.Fatal(err)
			}
			spoiled := map[string]*http.Request{"method": request(test.body), "host": request(test.body), "path": request(test.body), "query": request(test.body)}
			spoiled["method"].Method = "DELETE"
			spoiled["host"].Host = "other.s3.amazonaws.com"
			spoiled["path"].URL.Path += "x"
			spoiled["path"].URL.RawPath = ""
			spoiled["query"].URL.RawQuery += "&acl"
			for name := range test.headers {
				if name == "Content-Encoding" || strings.HasPrefix(name, "X-Amz") || name == "Range" {
					r := request(test.body)
					r.Header.Set(name, r.Header.Get(name)+"0")
					spoiled[name] = r
				}
			}
			spoiled["more"] = request(test.body)
			spoiled["more"].Header.Set("X-Amz-Acl", "public-read")
			if test.spoil != "" {
				changed := strings.Replace(test.body, test.spoil, strings.ToUpper(test.spoil[:1])+test.spoil[1:len(test.spoil)-1]+"0", 1)
				if changed == test.body {
					t.Fatal("nothing to spoil")
				}
				spoiled["body"] = request(changed)
			}
			for name, r := range spoiled {
				var refused *awswire.Error
				if err := read(r); !errors.As(err, &refused) {
					t.Errorf("another %s: %v, want a refusal", name, err)
				}
			}
		})
	}
}

// signedServer verifies what it gets and keeps the payloads.
type signedServer struct {
	*httptest.Server
	verifier *awswire.Verifier
	services []string
	payloads []string
	errs     []error
}

// verify reads a request and checks its signature.
func verify(verifier *awswire.Verifier, r *http.Request) error {
	target, err := awswire.Reader{}.Read(r)
	if err == nil {
		_, err = verifier.Verify(r, target)
	}
	return err
}

func newSignedServer(t *testing.T, verifier *awswire.Verifier) *signedServer {
	s := &signedServer{verifier: verifier}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *signedServer) serve(w http.ResponseWriter, r *http.Request) {
	target, err := awswire.Reader{}.Read(r)
	var key awswire.Key
	if err == nil {
		key, err = s.verifier.Verify(r, target)
	}
	var payload []byte
	if err == nil {
		var body *awswire.Body
		if body, err = awswire.ChunkedBody(r); err == nil {
			payload, err = io.ReadAll(body)
		}
	}
	s.services = append(s.services, target.Service)
	s.payloads = append(s.payloads, string(payload))
	s.errs = append(s.errs, err)
	if err == nil {
		err = awswire.Errorf("Verified", 400, "verified as %s", key.Account)
	}
	var refused *awswire.Error
	if !errors.As(err, &refused) {
		refused = awswire.InternalFailure("id")
	}
	awswire.WriteError(w, r, awswire.ProtocolOf(target.Service), "id", refused)
}

// TestVerifyTheSDK lets the SDK's clients sign with the right and the wrong secret.
func TestVerifyTheSDK(t *testing.T) {
	verifier := &awswire.Verifier{Keys: map[string]awswire.Key{
		"AKIAGOOD": {Secret: "right", Account: "111122223333"},
		"ASIATEMP": {Secret: "right", Account: "111122223333", SessionToken: "token/+=", Expires: time.Now().Add(time.Hour)},
		"ASIAOVER": {Secret: "right", Account: "111122223333", SessionToken: "token", Expires: time.Now().Add(-time.Hour)},
	}}
	server := newSignedServer(t, verifier)
	calls := map[string]func(aws.Config) error{
		"cloudformation": func(c aws.Config) error {
			_, err := cloudformation.NewFromConfig(c).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("a b/ü+~")})
			return err
		},
		"sts": func(c aws.Config) error {
			_, err := sts.NewFromConfig(c).GetCallerIdentity(t.Context(), nil)
			return err
		},
		"cloudcontrolapi": func(c aws.Config) error {
			_, err := cloudcontrol.NewFromConfig(c).ListResources(t.Context(), &cloudcontrol.ListResourcesInput{TypeName: aws.String("A::B::C")})
			return err
		},
		"lambda": func(c aws.Config) error {
			_, err := lambda.NewFromConfig(c).Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("arn:aws:lambda:eu-west-1:1:function:a b"), Payload: []byte("{}")})
			return err
		},
		"s3": func(c aws.Config) error {
			_, err := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true }).PutObject(t.Context(), &s3.PutObjectInput{
				Bucket: aws.String("bucket"), Key: aws.String("a b//ü+~=&/../c*(1)'!"), Body: strings.NewReader("hello"), Metadata: map[string]string{"a": " x  y "},
			})
			return err
		},
	}
	for service, call := range calls {
		for _, test := range []struct {
			name, id, secret, token string
			want                    map[awswire.Protocol]string
		}{
			{name: "right", id: "AKIAGOOD", secret: "right", want: map[awswire.Protocol]string{awswire.Query: "Verified", awswire.JSON10: "Verified", awswire.RESTJSON: "Verified", awswire.RESTXML: "Verified"}},
			{name: "temporary", id: "ASIATEMP", secret: "right", token: "token/+=", want: map[awswire.Protocol]string{awswire.Query: "Verified", awswire.JSON10: "Verified", awswire.RESTJSON: "Verified", awswire.RESTXML: "Verified"}},
			{name: "wrong secret", id: "AKIAGOOD", secret: "wrong", want: map[awswire.Protocol]string{
				awswire.Query: "SignatureDoesNotMatch", awswire.JSON10: "InvalidSignatureException", awswire.RESTJSON: "InvalidSignatureException", awswire.RESTXML: "SignatureDoesNotMatch"}},
			{name: "unknown", id: "AKIANONE", secret: "right", want: map[awswire.Protocol]string{
				awswire.Query: "InvalidClientTokenId", awswire.JSON10: "UnrecognizedClientException", awswire.RESTJSON: "UnrecognizedClientException", awswire.RESTXML: "InvalidAccessKeyId"}},
			{name: "wrong token", id: "ASIATEMP", secret: "right", token: "other", want: map[awswire.Protocol]string{
				awswire.Query: "InvalidClientTokenId", awswire.JSON10: "UnrecognizedClientException", awswire.RESTJSON: "UnrecognizedClientException", awswire.RESTXML: "InvalidToken"}},
			{name: "no token", id: "ASIATEMP", secret: "right", want: map[awswire.Protocol]string{
				awswire.Query: "InvalidClientTokenId", awswire.JSON10: "UnrecognizedClientException", awswire.RESTJSON: "UnrecognizedClientException", awswire.RESTXML: "InvalidToken"}},
			{name: "a token too many", id: "AKIAGOOD", secret: "right", token: "other", want: map[awswire.Protocol]string{
				awswire.Query: "InvalidClientTokenId", awswire.JSON10: "UnrecognizedClientException", awswire.RESTJSON: "UnrecognizedClientException", awswire.RESTXML: "InvalidToken"}},
			{name: "expired token", id: "ASIAOVER", secret: "right", token: "token", want: map[awswire.Protocol]string{
				awswire.Query: "ExpiredToken", awswire.JSON10: "ExpiredTokenException", awswire.RESTJSON: "ExpiredTokenException", awswire.RESTXML: "ExpiredToken"}},
		} {
			c := config(server.URL)
			c.Credentials = credentials.NewStaticCredentialsProvider(test.id, test.secret, test.token)
			err := call(c)
			want := test.want[awswire.ProtocolOf(service)]
			var refused interface{ ErrorCode() string }
			if !errors.As(err, &refused) || refused.ErrorCode() != want {
				t.Errorf("%s, %s: %v, want %s", service, test.name, err, want)
			}
			if got := server.services[len(server.services)-1]; got != service {
				t.Errorf("%s: identified as %s", service, got)
			}
			if want == "Verified" && err != nil && !strings.Contains(err.Error(), "111122223333") {
				t.Errorf("%s: the account of the key is not in %v", service, err)
			}
		}
	}
}

// TestVerifyUploadsOfTheSDK covers the ways in which the SDK's S3 client frames a payload.
func TestVerifyUploadsOfTheSDK(t *testing.T) {
	verifier := &awswire.Verifier{Keys: map[string]awswire.Key{"AKIAGOOD": {Secret: "right", Account: "111122223333"}}}
	payload := strings.Repeat("0123456789abcdef", 20_000)
	for _, algorithm := range []s3types.ChecksumAlgorithm{"", "CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256", "SHA512"} {
		for _, stream := range []bool{false, true} {
			server := newSignedServer(t, verifier)
			c := config(server.URL)
			c.Credentials = credentials.NewStaticCredentialsProvider("AKIAGOOD", "right", "")
			client := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
			in := &s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k"), ChecksumAlgorithm: algorithm, Body: strings.NewReader(payload)}
			var options []func(*s3.Options)
			if stream {
				options = append(options, s3.WithAPIOptions(v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware))
			}
			client.PutObject(context.Background(), in, options...) // the server tells
			if err := server.errs[0]; err != nil || server.payloads[0] != payload {
				t.Errorf("%q, unsigned %v: %v, %d bytes", algorithm, stream, err, len(server.payloads[0]))
			}
		}
	}
}

// TestPresigned goes through the life of a presigned URL.
func TestPresigned(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	verifier := &awswire.Verifier{
		Keys: map[string]awswire.Key{"AKIAGOOD": {Secret: "right", Account: "111122223333"}},
		Now:  func() time.Time { return now },
	}
	c := config("http://localhost:4566")
	c.Credentials = credentials.NewStaticCredentialsProvider("AKIAGOOD", "right", "")
	presigned := func() *http.Request {
		signed, err := s3.NewPresignClient(s3.NewFromConfig(c)).PresignGetObject(t.Context(),
			&s3.GetObjectInput{Bucket: aws.String("bucket"), Key: aws.String("a b/ü")}, s3.WithPresignExpires(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(signed.URL)
		if err != nil {
			t.Fatal(err)
		}
		return raw(t, "GET", u.RequestURI(), u.Host, nil, nil)
	}
	forwarded := func(r *http.Request) {
		r.Header.Set("X-Forwarded-Host", r.Host+", 10.0.0.2")
		r.Host = "10.0.0.1:80"
	}
	for _, test := range []struct {
		name   string
		shift  time.Duration
		hosts  []string
		change func(*http.Request)
		code   string
		status int
		text   string
	}{
		{name: "fresh"},
		{name: "near its end", shift: 59 * time.Minute},
		{name: "ended", shift: 61 * time.Minute, code: "AccessDenied", status: 403, text: "Request has expired"},
		{name: "not yet", shift: -16 * time.Minute, code: "AccessDenied", status: 403, text: "Request is not valid yet"},
		{name: "a clock that is slow", shift: -14 * time.Minute},
		{name: "longer", change: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "X-Amz-Expires=3600", "X-Amz-Expires=7200", 1)
		}, code: "SignatureDoesNotMatch", status: 403, text: "signature we calculated"},
		{name: "too long", change: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "X-Amz-Expires=3600", "X-Amz-Expires=604801", 1)
		}, code: "AuthorizationQueryParametersError", status: 400, text: "less than a week"},
		{name: "no number", change: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "X-Amz-Expires=3600", "X-Amz-Expires=1h", 1)
		}, code: "AuthorizationQueryParametersError", status: 400, text: "should be a number"},
		{name: "no end", change: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "X-Amz-Expires=3600", "", 1)
		}, code: "AuthorizationQueryParametersError", status: 400, text: "requires the X-Amz-Algorithm"},
		{name: "no signature", change: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "X-Amz-Signature", "X-Other", 1)
		}, code: "AuthorizationQueryParametersError", status: 400, text: "X-Amz-Signature is missing"},
		{name: "another key", change: func(r *http.Request) { r.URL.Path = "/bucket/other"; r.URL.RawPath = "" }, code: "SignatureDoesNotMatch", status: 403},
		{name: "behind a proxy", hosts: []string{"other", "BUCKET.localhost"}, change: forwarded},
		{name: "behind a proxy, any bucket", hosts: []string{".localhost"}, change: forwarded},
		{name: "behind an unknown proxy", hosts: []string{"localhost", "et.localhost", ".bucket.localhost"}, change: forwarded, code: "SignatureDoesNotMatch", status: 403},
		{name: "a host that a client makes up", change: forwarded, code: "SignatureDoesNotMatch", status: 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			now = time.Now().UTC()
			r := presigned()
			now = now.Add(test.shift)
			if test.change != nil {
				test.change(r)
			}
			target, err := awswire.Reader{Hosts: test.hosts}.Read(r)
			if err == nil {
				_, err = verifier.Verify(r, target)
			}
			if test.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var refused *awswire.Error
			if !errors.As(err, &refused) || refused.Code != test.code || refused.Status != test.status || !strings.Contains(refused.Message, test.text) {
				t.Errorf("%#v, want %s %d %q", err, test.code, test.status, test.text)
			}
		})
	}
}

// TestPresignedByBoto verifies URLs that botocore 1.43 has made with its defaults, which
// are of Signature Version 2.
func TestPresignedByBoto(t *testing.T) {
	for _, test := range []struct {
		method, target string
		headers        map[string]string
		late           time.Duration
		code           string
	}{
		{method: "GET", target: "/b/a%20b/%2B%C3%BC~?AWSAccessKeyId=AKIAGOOD&Signature=urJBaMJKKe0FErtjjsYKNAkCjig%3D&Expires=1795207720"},
		{method: "GET", target: "/b/a?versionId=v%2F1&response-content-type=text%2Fplain&AWSAccessKeyId=AKIAGOOD&Signature=sVn2Lqx7IF5Uf3OT0SEGG2G%2F3MI%3D&Expires=1795207720"},
		{method: "GET", target: "/b?list-type=2&prefix=x&encoding-type=url&AWSAccessKeyId=AKIAGOOD&Signature=51DLcqcyYah8b5ZygL6kIuazr9Q%3D&Expires=1795207720"},
		{
			method: "PUT", target: "/b/a?AWSAccessKeyId=AKIAGOOD&Signature=o18iD%2F9mA3hVmXMTtk1%2Ftg5c4IA%3D&content-type=text%2Fplain&x-amz-meta-a=b&Expires=1795207720",
			headers: map[string]string{"Content-Type": "text/plain", "X-Amz-Meta-A": "b"},
		},
		{
			method: "PUT", target: "/b/a?AWSAccessKeyId=AKIAGOOD&Signature=o18iD%2F9mA3hVmXMTtk1%2Ftg5c4IA%3D&content-type=text%2Fplain&x-amz-meta-a=b&Expires=1795207720",
			headers: map[string]string{"Content-Type": "text/html"}, code: "SignatureDoesNotMatch",
		},
		{
			method: "PUT", target: "/b/a?AWSAccessKeyId=AKIAGOOD&Signature=o18iD%2F9mA3hVmXMTtk1%2Ftg5c4IA%3D&content-type=text%2Fplain&x-amz-meta-a=b&Expires=1795207720",
			headers: map[string]string{"Content-Type": "text/plain", "X-Amz-Meta-A": "another"}, code: "SignatureDoesNotMatch",
		},
		{method: "GET", target: "/c/a%20b/%2B%C3%BC~?AWSAccessKeyId=AKIAGOOD&Signature=urJBaMJKKe0FErtjjsYKNAkCjig%3D&Expires=1795207720", code: "SignatureDoesNotMatch"},
		{method: "GET", target: "/b/a%20b/%2B%C3%BC~?AWSAccessKeyId=AKIAGOOD&Signature=urJBaMJKKe0FErtjjsYKNAkCjig%3D&Expires=1795207721", code: "SignatureDoesNotMatch"},
		{method: "GET", target: "/b/a%20b/%2B%C3%BC~?AWSAccessKeyId=AKIAGOOD&Signature=urJBaMJKKe0FErtjjsYKNAkCjig%3D&Expires=1795207720", late: time.Hour, code: "AccessDenied"},
		{method: "GET", target: "/b/a%20b/%2B%C3%BC~?AWSAccessKeyId=AKIAGOOD&Signature=urJBaMJKKe0FErtjjsYKNAkCjig%3D&Expires=soon", code: "AccessDenied"},
		{method: "GET", target: "/b/a%20b/%2B%C3%BC~?AWSAccessKeyId=AKIANONE&Signature=urJBaMJKKe0FErtjjsYKNAkCjig%3D&Expires=1795207720", code: "InvalidAccessKeyId"},
		{method: "GET", target: "/b/a%20b/%2B%C3%BC~?AWSAccessKeyId=AKIAGOOD&Expires=1795207720", code: "AccessDenied"},
	} {
		verifier := botoVerifier(test.late)
		err := verify(verifier, raw(t, test.method, test.target, "127.0.0.1:46711", test.headers, nil))
		var refused *awswire.Error
		if test.code == "" && err != nil || test.code != "" && (!errors.As(err, &refused) || refused.Code != test.code) {
			t.Errorf("%s %s: %v, want %q", test.method, test.target, err, test.code)
		}
	}
}

func botoVerifier(late time.Duration) *awswire.Verifier {
	return &awswire.Verifier{
		Keys: map[string]awswire.Key{"AKIAGOOD": {Secret: "right"}},
		Now:  func() time.Time { return time.Unix(1795207700, 0).Add(late) },
	}
}

// TestPresignedV2CoversWhatItIsFor: what can be added to a URL makes no other operation of
// the one that it was made for.
func TestPresignedV2CoversWhatItIsFor(t *testing.T) {
	for _, test := range []struct{ more, code string }{
		{"&max-keys=3", ""},               // boto3 does not sign it
		{"&acl", "SignatureDoesNotMatch"}, // Version 2 signs it
		{"&encryption", "AccessDenied"},   // and is older than the others
		{"&ownershipControls", "AccessDenied"},
		{"&publicAccessBlock", "AccessDenied"},
		{"&policyStatus", "AccessDenied"},
		{"&attributes", "AccessDenied"},
		{"&legal-hold=", "AccessDenied"},
		{"&what-comes-next", "AccessDenied"},
		{"&X-Amz-Acl=public-read", "AccessDenied"},
		{"&x-amz-acl=public-read", "SignatureDoesNotMatch"},
		{"&response-content-type=text%2Fhtml", "SignatureDoesNotMatch"},
	} {
		target := "/b?list-type=2&prefix=x&encoding-type=url&AWSAccessKeyId=AKIAGOOD&Signature=51DLcqcyYah8b5ZygL6kIuazr9Q%3D&Expires=1795207720" + test.more
		err := verify(botoVerifier(0), raw(t, "GET", target, "127.0.0.1:46711", nil, nil))
		var refused *awswire.Error
		if test.code == "" && err != nil || test.code != "" && (!errors.As(err, &refused) || refused.Code != test.code || refused.Status != http.StatusForbidden) {
			t.Errorf("%s: %v, want %q", test.more, err, test.code)
		}
	}
}

// TestClockSkew has the texts that clients correct their clocks by.
func TestClockSkew(t *testing.T) {
	for _, test := range []struct {
		service, code, text string
		ahead               time.Duration // of the server's clock
		skew                time.Duration
	}{
		{service: "cloudformation", ahead: 4 * time.Minute},
		{service: "cloudformation", ahead: -4 * time.Minute},
		{service: "cloudformation", ahead: 6 * time.Minute, code: "SignatureDoesNotMatch",
			text: "Signature expired: 20261120T120000Z is now earlier than 20261120T120100Z (20261120T120600Z - 5 min.)"},
		{service: "cloudformation", ahead: -6 * time.Minute, code: "SignatureDoesNotMatch",
			text: "Signature not yet current: 20261120T120000Z is still later than 20261120T115900Z (20261120T115400Z + 5 min.)"},
		{service: "cloudcontrolapi", ahead: 6 * time.Minute, code: "InvalidSignatureException",
			text: "Signature expired: 20261120T120000Z is now earlier than 20261120T120100Z (20261120T120600Z - 5 min.)"},
		{service: "s3", ahead: 14 * time.Minute},
		{service: "s3", ahead: 16 * time.Minute, code: "RequestTimeTooSkewed", text: "The difference between the request time and the current time is too large."},
		{service: "s3", ahead: 2 * time.Minute, skew: time.Minute, code: "RequestTimeTooSkewed", text: "The difference between the request time and the current time is too large."},
	} {
		at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		r := raw(t, "GET", "/", "localhost:4566", map[string]string{"X-Amz-Content-Sha256": emptySHA256}, nil)
		signer := v4.NewSigner()
		if err := signer.SignHTTP(t.Context(), aws.Credentials{AccessKeyID: "AKIAGOOD", SecretAccessKey: "right"}, r, emptySHA256, test.service, "eu-west-1", at); err != nil {
			t.Fatal(err)
		}
		verifier := &awswire.Verifier{
			Keys: map[string]awswire.Key{"AKIAGOOD": {Secret: "right"}},
			Now:  func() time.Time { return at.Add(test.ahead) }, Skew: test.skew,
		}
		err := verify(verifier, r)
		var refused *awswire.Error
		switch {
		case test.code == "" && err != nil:
			t.Errorf("%s, %v: %v", test.service, test.ahead, err)
		case test.code != "" && (!errors.As(err, &refused) || refused.Code != test.code || refused.Message != test.text):
			t.Errorf("%s, %v: %v, want %s: %s", test.service, test.ahead, err, test.code, test.text)
		}
	}
}

const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// TestUnsigned has the refusals of requests without a proper signature.
func TestUnsigned(t *testing.T) {
	verifier := &awswire.Verifier{Keys: map[string]awswire.Key{"AKIAGOOD": {Secret: "right"}}}
	good := "Credential=AKIAGOOD/20261120/eu-west-1/%s/aws4_request, SignedHeaders=host;x-amz-date, Signature=00"
	for _, test := range []struct {
		name, authorization, target, code string
		body                              string
	}{
		{name: "form", body: "Action=ListStacks&Version=2010-05-15", code: "MissingAuthenticationToken"},
		{name: "s3", code: "AccessDenied"},
		{name: "json", target: "AmazonSSM.GetParameter", code: "MissingAuthenticationTokenException"},
		{name: "basic", authorization: "Basic abc", body: "Action=ListStacks&Version=2010-05-15", code: "IncompleteSignature"},
		{name: "version 2", authorization: "AWS AKIAGOOD:abc", code: "InvalidRequest"},
		{name: "short scope", authorization: "AWS4-HMAC-SHA256 Credential=AKIAGOOD/s3/aws4_request, SignedHeaders=host, Signature=00", code: "AuthorizationHeaderMalformed"},
		{name: "no signature", authorization: "AWS4-HMAC-SHA256 Credential=AKIAGOOD/20261120/eu-west-1/s3/aws4_request, SignedHeaders=host", code: "AuthorizationHeaderMalformed"},
		{name: "no date", authorization: "AWS4-HMAC-SHA256 " + fmt.Sprintf(good, "ssm"), code: "IncompleteSignatureException"},
		{name: "asymmetric", authorization: "AWS4-ECDSA-P256-SHA256 Credential=AKIAGOOD/20261120/s3/aws4_request, SignedHeaders=host, Signature=00", code: "UnsupportedSignature"},
		{name: "a region to break out of", authorization: "AWS4-HMAC-SHA256 Credential=AKIAGOOD/20261120/eu west/s3/aws4_request, SignedHeaders=host, Signature=00", code: "AuthorizationHeaderMalformed"},
	} {
		headers := map[string]string{}
		if test.authorization != "" {
			headers["Authorization"] = test.authorization
		}
		if test.target != "" {
			headers["X-Amz-Target"] = test.target
		}
		if test.body != "" {
			headers["Content-Type"] = "application/x-www-form-urlencoded"
		}
		r := raw(t, "POST", "/", "localhost", headers, strings.NewReader(test.body))
		err := verify(verifier, r)
		var refused *awswire.Error
		if !errors.As(err, &refused) || refused.Code != test.code {
			t.Errorf("%s: %v, want %s", test.name, err, test.code)
		}
	}
}

// TestVerifyKeepsTheBody is about a body that has to be read for its signature.
func TestVerifyKeepsTheBody(t *testing.T) {
	server := newSignedServer(t, &awswire.Verifier{Keys: map[string]awswire.Key{"123456789012": {Secret: "secret"}}, MaxBody: 1000})
	client := cloudformation.NewFromConfig(config(server.URL))
	client.ValidateTemplate(t.Context(), &cloudformation.ValidateTemplateInput{TemplateBody: aws.String("abc")})                     // the server tells
	client.ValidateTemplate(t.Context(), &cloudformation.ValidateTemplateInput{TemplateBody: aws.String(strings.Repeat("x", 1000))}) // the server tells
	if server.errs[0] != nil || server.payloads[0] != "Action=ValidateTemplate&TemplateBody=abc&Version=2010-05-15" {
		t.Errorf("%v, %q", server.errs[0], server.payloads[0])
	}
	var refused *awswire.Error
	if !errors.As(server.errs[1], &refused) || refused.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %v", server.errs[1])
	}
}

func TestParseKeys(t *testing.T) {
	keys, err := awswire.ParseKeys(strings.NewReader("# who may\nAKIA1  sec#ret 111122223333 # mine\n\n\tAKIA2\tother/+ 444455556666\r\n"))
	if err != nil || len(keys) != 2 || keys["AKIA1"].Secret != "sec#ret" || keys["AKIA2"].Account != "444455556666" {
		t.Errorf("%v, %v", keys, err)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", keys, keys, keys, keys["AKIA1"]); strings.Contains(text, "sec#ret") {
		t.Errorf("the secret shows in %s", text)
	}
	for text, want := range map[string]string{
		"":                                      "no keys; add lines of the form ACCESS_KEY SECRET ACCOUNT",
		"# only\n":                              "no keys; add lines of the form ACCESS_KEY SECRET ACCOUNT",
		"AKIA1 hush 111122223333\nAKIA2 hush\n": "line 2: expected ACCESS_KEY SECRET ACCOUNT but got 2 words",
		"AKIA1 hush 1111":                       "line 1: the third word must be an account of 12 digits",
		"AK/IA hush 111122223333":               "line 1: the access key id can only have letters, digits and - _ . = + @",
		"A hush 111122223333\nA hush 111122223333":              "line 2: duplicate access key A",
		"A hush 111122223333\nA " + strings.Repeat("hush", 500): "line 2: longer than 1024 bytes",
	} {
		_, err := awswire.ParseKeys(strings.NewReader(text))
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text[:min(len(text), 40)], err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("the secret is in %v", err)
		}
	}
	if _, err := awswire.ParseKeys(io.MultiReader(bytes.NewReader(nil), failing{})); err == nil || err.Error() != "read the keys: broken" {
		t.Errorf("a broken file: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken") }
