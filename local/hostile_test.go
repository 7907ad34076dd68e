package local_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/formwork-dev/formwork/local"
)

// A target is a server in this process that is attacked.
type target struct {
	t       *testing.T
	url     string
	address string
	parent  string // of dir: what lies beside it is outside
	dir     string
	stop    func()
}

// newTarget starts a server. Bodies may pause for half a second only.
func newTarget(t *testing.T, keys string) *target {
	t.Helper()
	parent := t.TempDir()
	x := &target{t: t, parent: parent, dir: filepath.Join(parent, "a", "b", "data")}
	ctx, end := context.WithCancel(context.Background())
	config := local.ServerConfig{Address: "127.0.0.1:0", HeaderTimeout: 500 * time.Millisecond, Config: local.Config{Dir: x.dir, BodyTimeout: 500 * time.Millisecond}}
	if keys != "" {
		config.Keys = []byte(keys)
	}
	server, err := local.Listen(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	x.url, x.address = server.URL(), strings.TrimPrefix(server.URL(), "http://")
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	x.stop = sync.OnceFunc(func() {
		end()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(x.stop)
	return x
}

// state is what a server keeps: the rows of its tables, and the files below parent, as far
// as requests change them.
func (x *target) state() map[string]int64 {
	x.t.Helper()
	found := map[string]int64{}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(x.dir, "formwork.db")+"?mode=ro")
	if err != nil {
		x.t.Fatal(err)
	}
	defer db.Close()
	var tables []string
	rows, err := db.Query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'river_%' AND name <> 'nodes'`)
	if err != nil {
		x.t.Fatal(err)
	}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			x.t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Close(); err != nil {
		x.t.Fatal(err)
	}
	for _, name := range tables {
		var n int64
		if err := db.QueryRow(`SELECT count(*) FROM "` + name + `"`).Scan(&n); err != nil {
			x.t.Fatal(err)
		}
		found["table "+name] = n
	}
	for path, size := range filesBelow(x.parent) {
		if !strings.Contains(path, "formwork.db") {
			found[path] = size
		}
	}
	return found
}

// unchanged compares with a former state, apart from the tables named.
func (x *target) unchanged(before map[string]int64, but ...string) {
	x.t.Helper()
	var diff []string
	after := x.state()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if was, there := before[name]; (!there || was != after[name]) && !slices.Contains(but, name) {
			diff = append(diff, fmt.Sprintf("%s: %d, was %d", name, after[name], was))
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			diff = append(diff, name+" was removed")
		}
	}
	if len(diff) > 0 {
		x.t.Errorf("something was written: %s", strings.Join(diff, "; "))
	}
}

// filesBelow are the names and sizes of the files below a folder.
func filesBelow(dir string) map[string]int64 {
	found := map[string]int64{}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has just gone
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			found[strings.TrimPrefix(path, dir)] = info.Size()
		}
		return nil
	})
	return found
}

// send writes bytes to the server and reads one answer; status 0 is none.
func (x *target) send(request string) (status int, body string) {
	x.t.Helper()
	conn, err := net.Dial("tcp", x.address)
	if err != nil {
		x.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(conn, request) // the server may hang up before the end
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

const scope = "AWS4-HMAC-SHA256 Credential=123456789012/20260101/eu-west-1/%s/aws4_request, SignedHeaders=host, Signature=0"

// form is a request of the Query protocol with more headers, each ending in \r\n.
func form(headers, body string) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: "+scope+"\r\nContent-Type: application/x-www-form-urlencoded\r\n%sContent-Length: %d\r\n\r\n%s", "cloudformation", headers, len(body), body)
}

// call is a request of a JSON service.
func call(service, operation, body string) string {
	prefix := map[string]string{"ssm": "AmazonSSM", "secretsmanager": "secretsmanager", "logs": "Logs_20140328", "cloudcontrolapi": "CloudApiService"}[service]
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: "+scope+"\r\nContent-Type: application/x-amz-json-1.1\r\nX-Amz-Target: %s.%s\r\nContent-Length: %d\r\n\r\n%s", service, prefix, operation, len(body), body)
}

// rest is a request to S3, or to whatever the path is of.
func rest(method, path, headers, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: "+scope+"\r\n%sContent-Length: %d\r\n\r\n%s", method, path, "s3", headers, len(body), body)
}

const registerForm = "Action=RegisterType&Version=2010-05-15&Type=RESOURCE&TypeName=Acme::A::B&SchemaHandlerPackage=s3://b/k"

// TestHostileRequests sends what no client sends. Each request is refused, in the form of
// the service where it came as far as that, and nothing is written.
func TestHostileRequests(t *testing.T) {
	x := newTarget(t, "")
	deep := strings.Repeat("[", 200_000)
	before := x.state()
	for _, test := range []struct {
		name, request string
		status        int
		want          string // in the body
	}{
		// From a web page.
		{"origin", form("Origin: http://evil.example\r\n", registerForm), 403, "AccessDenied"},
		{"origin null", form("Origin: null\r\n", registerForm), 403, "AccessDenied"},
		{"origin of another port", form("Origin: http://localhost:1\r\n", registerForm), 403, "AccessDenied"},
		{"cross-site", form("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n", registerForm), 403, "AccessDenied"},
		{"same-site", form("Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: cors\r\n", registerForm), 403, "AccessDenied"},
		{"cross-site navigation", "GET /?" + registerForm + " HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n", 403, "AccessDenied"},
		{"text/plain", strings.Replace(form("Origin: http://evil.example\r\n", registerForm), "application/x-www-form-urlencoded", "text/plain", 1), 403, "AccessDenied"},
		{"form of a page to the console", "POST /_cfn/ HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\n\r\n", 403, "AccessDenied"},
		{"form without origin to the console", "POST /_cfn/types HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n\r\n", 403, ""},
		{"preflight", "OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n\r\n", 403, "AccessDenied"},

		// For another host.
		{"host", strings.Replace(form("", registerForm), "Host: localhost", "Host: evil.example", 1), 403, "AccessDenied"},
		{"host with ours in front", strings.Replace(form("", registerForm), "Host: localhost", "Host: 127.0.0.1.evil.example", 1), 403, "AccessDenied"},
		{"host of another machine", strings.Replace(form("", registerForm), "Host: localhost", "Host: 192.0.2.1", 1), 403, "AccessDenied"},
		{"host in the target", strings.Replace(form("", registerForm), "POST /", "POST http://evil.example/", 1), 403, "evil.example was not reached"},
		{"no host", strings.Replace(form("", registerForm), "Host: localhost\r\n", "", 1), 400, ""},
		{"no host, 1.0", "GET /?Action=ListTypes&Version=2010-05-15 HTTP/1.0\r\n\r\n", 403, "AccessDenied"},
		{"two hosts", strings.Replace(form("", registerForm), "Host: localhost\r\n", "Host: localhost\r\nHost: evil.example\r\n", 1), 400, ""},

		// Bad framing.
		{"no HTTP", "\x17\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n", 400, ""},
		{"broken TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n", 0, ""}, // a handshake that never ends has no answer
		{"bad chunk", strings.Replace(form("Transfer-Encoding: chunked\r\n", ""), "Content-Length: 0\r\n", "", 1) + "zz\r\nAction=ListTypes\r\n0\r\n\r\n", 400, "<Code>RequestTimeout"},
		{"cut-off chunk", strings.Replace(form("Transfer-Encoding: chunked\r\n", ""), "Content-Length: 0\r\n", "", 1) + "ff\r\n" + registerForm, 400, "<Code>RequestTimeout"},
		{"huge chunk", strings.Replace(form("Transfer-Encoding: chunked\r\n", ""), "Content-Length: 0\r\n", "", 1) + "fffffffffffffffff\r\n", 400, "<Code>RequestTimeout"},
		{"two lengths", form("Content-Length: 5\r\n", registerForm), 400, ""},
		{"negative length", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400, ""},
		{"unknown coding", form("Transfer-Encoding: xchunked\r\n", registerForm), 501, ""},
		{"two codings", form("Transfer-Encoding: chunked, identity\r\n", registerForm), 501, ""},
		{"space before the colon", form("Content-Length : 4\r\n", registerForm), 400, ""},
		{"folded header", form("X-A: b\r\n c\r\n", "Action=Nothing&Version=2010-05-15"), 400, ""},
		{"bare NUL", form("X-A: b\x00c\r\n", registerForm), 400, ""},
		{"huge header", form("X-A: "+strings.Repeat("x", 200<<10)+"\r\n", registerForm), 431, ""},
		{"many headers", form(strings.Repeat("X-A: b\r\n", 20_000), registerForm), 431, ""},
		{"slow header", "POST / HTTP/1.1\r\nHost: localh", 0, ""},
		{"slow body", form("X-A: b\r\n", registerForm)[:len(form("X-A: b\r\n", registerForm))-5], 400, "<Code>RequestTimeout"},
		{"slow body of an object", strings.TrimSuffix(rest("PUT", "/bucket/key", "", "hello"), "lo"), 404, ""}, // the bucket is looked for first

		// Bad forms.
		{"no action", form("", "Version=2010-05-15"), 400, "<Code>MissingAction"},
		{"unknown action", form("", "Action=Explode&Version=2010-05-15"), 400, "<Code>InvalidAction"},
		{"action for later", form("", "Action=CreateGeneratedTemplate&Version=2010-05-15"), 501, "<Code>NotImplemented"},
		{"unknown version", form("", "Action=ListTypes&Version=1"), 400, "<Code>InvalidAction"},
		{"percent", form("", "Action=ListTypes&Version=2010-05-15&NextToken=%zz"), 400, "<Code>MalformedQueryString"},
		{"percent at the end", form("", "Action=ListTypes&Version=2010-05-15&NextToken=%2"), 400, "<Code>MalformedQueryString"},
		{"not UTF-8", form("", "Action=DescribeType&Version=2010-05-15&Type=RESOURCE&TypeName=%ff%fe"), 400, "<Code>"},
		{"NUL", form("", "Action=DescribeType&Version=2010-05-15&Type=RESOURCE&TypeName=A%00::B::C"), 400, "<Code>"},
		{"negative index", form("", "Action=BatchDescribeTypeConfigurations&Version=2010-05-15&TypeConfigurationIdentifiers.member.-1.Type=RESOURCE"), 400, "<Code>"},
		{"many parameters", form("", "Action=ListTypes&Version=2010-05-15"+strings.Repeat("&a=b", 400_000)), 400, "<Code>"},
		{"deep parameter", form("", "Action=RegisterType&Version=2010-05-15&"+strings.Repeat("a.", 50_000)+"=b"), 400, "<Code>"},
		{"compressed", form("Content-Encoding: gzip\r\n", registerForm), 415, "<Code>"},
		{"multipart", strings.Replace(form("", registerForm), "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", 1), 415, "<Code>"},
		{"enumeration", form("", strings.Replace(registerForm, "RESOURCE", "BOMB", 1)), 400, "<Code>ValidationError"},
		{"reserved name", form("", strings.Replace(registerForm, "Acme::A::B", "Custom::Storage::Widget", 1)), 400, "<Code>CFNRegistryException"},

		// Bad JSON.
		{"no JSON", call("ssm", "PutParameter", "{"), 400, "SerializationException"},
		{"depth", call("ssm", "PutParameter", deep), 400, "SerializationException"},
		{"depth in a member", call("ssm", "PutParameter", `{"Name":"a","Tags":`+deep), 400, "SerializationException"},
		{"list", call("ssm", "PutParameter", "[]"), 400, "SerializationException"},
		{"number", call("ssm", "GetParametersByPath", `{"Path":"/a","MaxResults":1e999}`), 400, "Exception"},
		{"type", call("ssm", "PutParameter", `{"Name":{"a":1},"Value":"x"}`), 400, "SerializationException"},
		{"two values", call("ssm", "PutParameter", `{"Name":"a","Value":"b","Type":"String"} {}`), 400, "SerializationException"},
		{"text that is none", call("secretsmanager", "CreateSecret", "{\"Name\":\"a\xff\",\"SecretString\":\"x\"}"), 400, "Exception"},
		{"NUL in a name", call("secretsmanager", "CreateSecret", `{"Name":"a\u0000b","SecretString":"x"}`), 400, "Exception"},
		{"NUL in a group", call("logs", "CreateLogGroup", `{"logGroupName":"a\u0000b"}`), 400, "Exception"},
		{"unknown target", call("logs", "Explode", `{}`), 400, "UnknownOperationException"},
		{"missing members", call("cloudcontrolapi", "CreateResource", `{}`), 400, "ValidationException"},
		{"service", strings.Replace(form("", registerForm), "/cloudformation/", "/ec2/", 1), 501, "does not support the service"},
		{"service of JSON", strings.Replace(call("ssm", "DescribeRepositories", "{}"), "/ssm/", "/ecr/", 1), 501, `"__type":"UnknownService"`},

		// Bad paths and documents.
		{"object outside", rest("PUT", "/bucket/../../../../../../tmp/x", "", "hello"), 404, "<Code>NoSuchBucket"},
		{"bucket outside", rest("PUT", "/../../x", "", ""), 400, "<Code>InvalidBucketName"},
		{"bucket outside, escaped", rest("PUT", "/..%2f..%2fx", "", ""), 400, "<Code>InvalidBucketName"},
		{"entities", rest("PUT", "/bucket", "", `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><CreateBucketConfiguration><LocationConstraint>&a;</LocationConstraint></CreateBucketConfiguration>`), 400, "<Code>MalformedXML"},
		{"copy from outside", rest("PUT", "/bucket/key", "X-Amz-Copy-Source: /../../etc/passwd\r\n", ""), 404, "<Code>NoSuchBucket"},
		{"asset outside", "GET /_cfn/assets/../../../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 307, `href="/etc/passwd"`}, // a bucket's object, if anything
		{"asset outside, escaped", "GET /_cfn/assets/..%2f..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, ""},
		{"asset outside, twice escaped", "GET /_cfn/assets/%252e%252e%252fgo.mod HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, ""},
		{"function outside", strings.Replace(rest("POST", "/2015-03-31/functions/..%2f..%2fbin%2fsh/invocations", "", "{}"), "/s3/", "/lambda/", 1), 404, "this address offers"},
		{"method", rest("EXPLODE", "/bucket/key", "", ""), 405, "<Code>MethodNotAllowed"},
		{"TRACE", rest("TRACE", "/", "Cookie: secret\r\n", ""), 405, "<Code>MethodNotAllowed"},
		{"CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 200, "evil.example was not reached"}, // in the tunnel, where clients read it
		{"upgrade", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body := x.send(test.request)
			if status != test.status && !(test.status == 0 && status >= 400) || !strings.Contains(body, test.want) {
				t.Errorf("got %d %s\nwant %d %s", status, body[:min(len(body), 600)], test.status, test.want)
			}
			if strings.Contains(body, "goroutine ") || strings.Contains(body, "root:") || strings.Contains(body, "InternalFailure") {
				t.Errorf("the answer is %s", body)
			}
		})
	}
	x.unchanged(before)
}

// TestSmuggledRequests puts a second request behind what a server in front might take for
// the body of the first one. It must not be answered.
func TestSmuggledRequests(t *testing.T) {
	x := newTarget(t, "")
	before := x.state()
	smuggled := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
	for name, request := range map[string]string{
		"length and coding":  "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"coding with a tab":  "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n" + smuggled,
		"bare line feed":     "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;x\n" + smuggled,
		"length with a sign": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nhello" + smuggled,
		"unread body":        "POST /healthz HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000000\r\n\r\n" + smuggled,
	} {
		conn, err := net.Dial("tcp", x.address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(conn, request)
		all, _ := io.ReadAll(conn)
		conn.Close()
		if n := bytes.Count(all, []byte("HTTP/1.1 ")); n != 1 {
			t.Errorf("%s: %d answers:\n%s", name, n, all)
		}
	}
	x.unchanged(before)
}

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestHugeBodies sends 100 MB to each service. They are refused without being kept in
// memory; S3 is made for that size.
func TestHugeBodies(t *testing.T) {
	x := newTarget(t, "")
	c := newClients(t, x.url)
	if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("huge"), CreateBucketConfiguration: here}); err != nil {
		t.Fatal(err)
	}
	const size = 100 << 20
	before := x.state()
	peak := watchHeap(t)
	for _, test := range []struct {
		name, method, path, service, target, contentType string
		status                                           int
	}{
		{"cloudformation", "POST", "/", "cloudformation", "", "application/x-www-form-urlencoded", 413},
		{"sts", "POST", "/", "sts", "", "application/x-www-form-urlencoded", 413},
		{"ssm", "POST", "/", "ssm", "AmazonSSM.PutParameter", "application/x-amz-json-1.1", 413},
		{"secretsmanager", "POST", "/", "secretsmanager", "secretsmanager.CreateSecret", "application/x-amz-json-1.1", 413},
		{"logs", "POST", "/", "logs", "Logs_20140328.PutLogEvents", "application/x-amz-json-1.1", 413},
		{"cloudcontrolapi", "POST", "/", "cloudcontrolapi", "CloudApiService.CreateResource", "application/x-amz-json-1.0", 413},
		{"unknown service", "POST", "/", "ec2", "", "text/plain", 501},
		{"lambda", "POST", "/2015-03-31/functions/Acme-A-B/invocations", "lambda", "", "application/json", 404},
		{"s3 document", "PUT", "/huge?versioning", "s3", "", "application/xml", 400},
		{"s3 deletion", "POST", "/huge?delete", "s3", "", "application/xml", 400},
		{"s3 to nowhere", "PUT", "/nowhere/key", "s3", "", "application/zip", 404},
		{"console", "POST", "/_cfn/types", "", "", "application/x-www-form-urlencoded", 403},
		{"without a length", "POST", "/", "cloudformation", "", "application/x-www-form-urlencoded", 413},
	} {
		t.Run(test.name, func(t *testing.T) {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			request, err := http.NewRequestWithContext(t.Context(), test.method, x.url+test.path, io.LimitReader(zeros{}, size))
			if err != nil {
				t.Fatal(err)
			}
			if request.ContentLength = size; test.name == "without a length" {
				request.ContentLength = -1
			}
			request.Header.Set("Content-Type", test.contentType)
			if test.service != "" {
				request.Header.Set("Authorization", fmt.Sprintf(scope, test.service))
			}
			if test.target != "" {
				request.Header.Set("X-Amz-Target", test.target)
			}
			answer, err := transport.RoundTrip(request)
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			defer answer.Body.Close()
			if text, _ := io.ReadAll(answer.Body); answer.StatusCode != test.status {
				t.Errorf("got %d %s, want %d", answer.StatusCode, text, test.status)
			}
		})
	}
	x.unchanged(before)

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, x.url+"/huge/key", io.LimitReader(zeros{}, size))
	if err != nil {
		t.Fatal(err)
	}
	request.ContentLength = size
	request.Header.Set("Authorization", fmt.Sprintf(scope, "s3"))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("an object of 100 MB: %v, %v", answer, err)
	}
	if err == nil {
		answer.Body.Close()
	}
	if most := peak(); most > 64<<20 {
		t.Errorf("the bodies took %d MB of memory", most>>20)
	}
}

// watchHeap measures how much the live heap grows at most until the function it returns is
// called.
func watchHeap(t *testing.T) func() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	runtime.GC()
	metrics.Read(sample)
	start, most := sample[0].Value.Uint64(), uint64(0)
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for ticker := time.Tick(2 * time.Millisecond); ; {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-ended:
				return
			case <-ticker:
			}
		}
	}()
	end := sync.OnceFunc(func() { close(ended); <-done })
	t.Cleanup(end)
	return func() uint64 {
		end()
		return most - min(most, start)
	}
}

// TestHostilePackages registers packages through the API that no build makes.
func TestHostilePackages(t *testing.T) {
	x := newTarget(t, "")
	c := newClients(t, x.url)
	if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(shelf), CreateBucketConfiguration: here}); err != nil {
		t.Fatal(err)
	}
	const typeName = "Acme::Hostile::Thing"
	with := func(more ...entry) []byte {
		return zipped(t, append(unzipped(t, resource(t, typeName)), more...)...)
	}
	code := func(entries ...entry) []byte { // a package whose handlers are these files
		return extension(t, "localstack-testing-deployableresource", "LocalStack::Testing::DeployableResource", typeName, func(all []entry) []entry {
			for i, e := range all {
				if e.name == "ResourceProvider.zip" {
					all[i].data = zipped(t, append(unzipped(t, e.data), entries...)...)
				}
			}
			return all
		})
	}
	link := func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }
	device := func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice | 0o666) }
	stored := func(h *zip.FileHeader) { h.Method = zip.Store }
	many := make([]entry, 120_000)
	for i := range many {
		many[i] = entry{name: fmt.Sprintf("n/%d", i)}
	}
	nested := bytes.Repeat([]byte{0}, 10<<20)
	for range 6 {
		nested = zipped(t, entry{name: "ResourceProvider.zip", data: nested})
	}
	schemaOf := func(text string) []byte {
		return extension(t, "localstack-testing-deployableresource", "LocalStack::Testing::DeployableResource", typeName, func(all []entry) []entry {
			for i, e := range all {
				if e.name == "schema.json" {
					all[i].data = []byte(text)
				}
			}
			return all
		})
	}
	tests := []struct {
		name string
		data []byte
		want string // in the reason
	}{
		{"no zip", []byte("hello"), "the file is not a zip file"},
		{"empty", nil, "the file is empty"},
		{"cut off", with()[:500], "cut off"},
		{"zeros", make([]byte, 1<<20), "the file is not a zip file"},
		{"ratio", with(entry{name: "zeros", data: make([]byte, 32<<20)}), "the archive unpacks to"},
		{"ratio in the code", code(entry{name: "zeros", data: make([]byte, 32<<20)}), "the archive unpacks to"},
		{"nested", zipped(t, append(unzipped(t, resource(t, typeName))[:2:2], entry{name: "schema.json", data: []byte("{}")}, entry{name: "ResourceProvider.zip", data: nested, change: stored})...), ""},
		{"many entries", with(many...), "the archive has 120003 entries"},
		{"many entries in the code", code(many...), "entries"},
		{"path", with(entry{name: "../../../../escaped", data: []byte("x")}), "the name of the entry has empty parts"},
		{"path in the code", code(entry{name: "../../../../escaped", data: []byte("x")}), "the name of the entry has empty parts"},
		{"absolute path in the code", code(entry{name: filepath.Join(x.parent, "escaped"), data: []byte("x")}), "the name of the entry is an absolute path"},
		{"backslashes in the code", code(entry{name: `..\..\escaped`, data: []byte("x")}), "the name of the entry has a backslash"},
		{"link", with(entry{name: "link", data: []byte("/etc/passwd"), change: link}), "link"},
		{"link in the code", code(entry{name: "link", data: []byte(x.parent), change: link}, entry{name: "link/escaped", data: []byte("x")}), "link"},
		{"device in the code", code(entry{name: "null", change: device}), "null"},
		{"twice in the code", code(entry{name: "app.py", data: []byte("x")}), "twice"},
		{"deep path in the code", code(entry{name: strings.Repeat("d/", 1000) + "x", data: []byte("x")}), ""},
		{"deep schema", schemaOf(strings.Repeat(`{"properties":`, 100_000)), ""},
		{"reference to a file", schemaOf(`{"typeName": "` + typeName + `", "description": "x", "additionalProperties": false, "properties": {"A": {"$ref": "file:///etc/passwd"}}, "primaryIdentifier": ["/properties/A"]}`), "schema.json:1:"},
		{"other type", resource(t, "Acme::Hostile::Other"), "the schema describes Acme::Hostile::Other"},
	}
	tokens := make([]string, len(tests))
	for i, test := range tests {
		key := fmt.Sprintf("%d.zip", i)
		if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(shelf), Key: &key, Body: bytes.NewReader(test.data)}); err != nil {
			t.Fatal(err)
		}
	}
	before := x.state()
	peak := watchHeap(t)
	for i := range tests {
		out, err := c.RegisterType(t.Context(), &cloudformation.RegisterTypeInput{Type: types.RegistryTypeResource, TypeName: aws.String(typeName), SchemaHandlerPackage: aws.String(fmt.Sprintf("s3://%s/%d.zip", shelf, i))})
		if err != nil {
			t.Fatal(err)
		}
		tokens[i] = *out.RegistrationToken
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			eventually(t, time.Minute, "the registration ends", func() bool {
				out, err := c.DescribeTypeRegistration(t.Context(), &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &tokens[i]})
				if err != nil {
					t.Fatal(err)
				}
				reason := aws.ToString(out.Description)
				if out.ProgressStatus == types.RegistrationStatusInProgress {
					return false
				}
				if out.ProgressStatus != types.RegistrationStatusFailed || !strings.Contains(reason, test.want) || reason == "" || strings.Contains(reason, "Internal failure") {
					t.Errorf("%s: %s\nwant %s", out.ProgressStatus, reason, test.want)
				}
				return true
			})
		})
	}
	if most := peak(); most > 256<<20 {
		t.Errorf("the packages took %d MB of memory", most>>20)
	}
	_, err := c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: aws.String(typeName)})
	if codeOf(err) != "TypeNotFoundException" {
		t.Errorf("the type is there: %v", err)
	}
	x.unchanged(before, "table registrations", "table types")
}

// TestHostileSignatures sends requests that are signed, and not as they should be.
func TestHostileSignatures(t *testing.T) {
	const secret = "a-long-random-secret"
	x := newTarget(t, "AKIDEXAMPLE1 "+secret+" 123456789012\n")
	before := x.state()
	register := registerForm
	type request struct {
		*http.Request
		key, secret, service, body string
		at                         time.Time
		presign                    bool
	}
	plain := func(r *request) {}
	for _, test := range []struct {
		name           string
		before, after  func(*request) // changes before and after signing
		service        string
		status         int
		want           string
		method, target string
		body           string
	}{
		{"secret", func(r *request) { r.secret = "guess" }, plain, "cloudformation", 403, "<Code>SignatureDoesNotMatch", "POST", "/", register},
		{"key", func(r *request) { r.key = "AKIDNOBODY" }, plain, "cloudformation", 403, "<Code>InvalidClientTokenId", "POST", "/", register},
		{"account as key", func(r *request) { r.key = "123456789012" }, plain, "cloudformation", 403, "<Code>InvalidClientTokenId", "POST", "/", register},
		{"none", plain, func(r *request) { r.Header.Del("Authorization") }, "cloudformation", 403, "<Code>MissingAuthenticationToken", "POST", "/", register},
		{"garbage", plain, func(r *request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256 x") }, "cloudformation", 0, "<Code>", "POST", "/", register},
		{"another algorithm", plain, func(r *request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "SHA256", "SHA1", 1))
		}, "cloudformation", 0, "<Code>", "POST", "/", register},
		{"body", plain, func(r *request) {
			r.Body = io.NopCloser(strings.NewReader(strings.Replace(register, "Acme", "Evil", 1)))
		}, "cloudformation", 403, "<Code>SignatureDoesNotMatch", "POST", "/", register},
		{"query", plain, func(r *request) { r.URL.RawQuery = "Action=ListTypes" }, "cloudformation", 403, "<Code>SignatureDoesNotMatch", "POST", "/", register},
		{"header", plain, func(r *request) {
			r.Header.Set("X-Amz-Date", time.Now().Add(time.Minute).UTC().Format("20060102T150405Z"))
		}, "cloudformation", 403, "<Code>SignatureDoesNotMatch", "POST", "/", register},
		{"late", func(r *request) { r.at = time.Now().Add(-time.Hour) }, plain, "cloudformation", 403, "<Code>SignatureDoesNotMatch", "POST", "/", register},
		{"early", func(r *request) { r.at = time.Now().Add(time.Hour) }, plain, "cloudformation", 403, "<Code>SignatureDoesNotMatch", "POST", "/", register},
		{"late for s3", func(r *request) { r.at = time.Now().Add(-time.Hour) }, plain, "s3", 403, "<Code>RequestTimeTooSkewed", "PUT", "/bucket", ""},
		{"for another service", plain, func(r *request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "/s3/", "/cloudformation/", 1))
		}, "s3", 403, "<Code>SignatureDoesNotMatch", "POST", "/", register},
		{"json", func(r *request) { r.secret = "guess" }, plain, "ssm", 400, "InvalidSignatureException", "POST", "/", "{}"},
		{"lambda", func(r *request) { r.secret = "guess" }, plain, "lambda", 403, "signature", "POST", "/2015-03-31/functions/a/invocations", "{}"},
		{"presigned, expired", func(r *request) { r.presign, r.at = true, time.Now().Add(-2*time.Hour) }, plain, "s3", 403, "<Code>AccessDenied", "PUT", "/bucket?X-Amz-Expires=60", ""},
		{"presigned for too long", func(r *request) { r.presign = true }, plain, "s3", 400, "<Code>AuthorizationQueryParametersError", "PUT", "/bucket?X-Amz-Expires=700000", ""},
		{"presigned, other key", func(r *request) { r.presign = true }, func(r *request) { r.URL.Path = "/other" }, "s3", 403, "<Code>SignatureDoesNotMatch", "PUT", "/bucket?X-Amz-Expires=60", ""},
		{"presigned, other method", func(r *request) { r.presign = true }, func(r *request) { r.Method = "DELETE" }, "s3", 403, "<Code>SignatureDoesNotMatch", "PUT", "/bucket?X-Amz-Expires=60", ""},
		{"presigned, longer", func(r *request) { r.presign = true }, func(r *request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "Expires=60", "Expires=6000", 1)
		}, "s3", 403, "<Code>SignatureDoesNotMatch", "PUT", "/bucket?X-Amz-Expires=60", ""},
		{"presigned, no signature", func(r *request) { r.presign = true }, func(r *request) {
			r.URL.RawQuery, _, _ = strings.Cut(r.URL.RawQuery, "&X-Amz-Signature")
		}, "s3", 400, "<Code>", "PUT", "/bucket?X-Amz-Expires=60", ""},
		{"object of other content", plain, func(r *request) { r.Body = io.NopCloser(strings.NewReader("other")) }, "s3", 0, "<Code>", "PUT", "/bucket/key", "hello"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &request{key: "AKIDEXAMPLE1", secret: secret, service: test.service, body: test.body, at: time.Now()}
			var err error
			if r.Request, err = http.NewRequestWithContext(t.Context(), test.method, x.url+test.target, strings.NewReader(test.body)); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(test.body, "Action") {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			test.before(r)
			sum := sha256.Sum256([]byte(test.body))
			hash := hex.EncodeToString(sum[:])
			credentials := aws.Credentials{AccessKeyID: r.key, SecretAccessKey: r.secret}
			if r.presign {
				signed, _, err := v4.NewSigner().PresignHTTP(t.Context(), credentials, r.Request, "UNSIGNED-PAYLOAD", r.service, region, r.at)
				if err != nil {
					t.Fatal(err)
				}
				if r.URL, err = r.URL.Parse(signed); err != nil {
					t.Fatal(err)
				}
			} else {
				r.Header.Set("X-Amz-Content-Sha256", hash)
				if err := v4.NewSigner().SignHTTP(t.Context(), credentials, r.Request, hash, r.service, region, r.at); err != nil {
					t.Fatal(err)
				}
			}
			test.after(r)
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			answer, err := transport.RoundTrip(r.Request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, _ := io.ReadAll(answer.Body)
			if answer.StatusCode != test.status && !(test.status == 0 && answer.StatusCode >= 400 && answer.StatusCode < 500) || !strings.Contains(string(text), test.want) {
				t.Errorf("got %d %s\nwant %d %s", answer.StatusCode, text, test.status, test.want)
			}
			if strings.Contains(string(text), secret) {
				t.Error("the answer has the secret")
			}
		})
	}
	x.unchanged(before)
}

// TestNothingLeaks looks for goroutines and files that connections of all sorts have left.
func TestNothingLeaks(t *testing.T) {
	x := newTarget(t, "")
	openFiles := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("skipped: the files of a process are counted in /proc")
		}
		count := 0
		for _, entry := range entries {
			// How many connections the store keeps depends on how many were in use at once.
			if path, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && !strings.Contains(path, ".db") {
				count++
			}
		}
		return count
	}
	// The first time, what is made once is made, and the store's own work comes to rest.
	x.misbehave(100)
	goroutines, open, since := 0, 0, time.Now()
	eventually(t, 2*time.Minute, "the server is at rest", func() bool {
		if now, files := runtime.NumGoroutine(), openFiles(); now != goroutines || files != open {
			goroutines, open, since = now, files, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
	x.misbehave(100)
	var left string
	eventually(t, time.Minute, "connections are given up", func() bool {
		now, files := runtime.NumGoroutine(), openFiles()
		left = fmt.Sprintf("%d goroutines, were %d; %d files, were %d", now, goroutines, files, open)
		return now <= goroutines+2 && files <= open+4
	})
	if t.Failed() {
		var stacks bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		t.Errorf("%s\n%s", left, stacks.String())
	}
	if litter := litterOf(x.dir); len(litter) > 0 {
		t.Errorf("left over: %v", litter)
	}
}

// misbehave makes connections and leaves each in another state.
func (x *target) misbehave(n int) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			conn, err := net.Dial("tcp", x.address)
			if err != nil {
				x.t.Error(err)
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			switch i % 6 {
			case 0: // nothing
			case 1:
				_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: loc")
				_, _ = io.ReadAll(conn)
			case 2:
				_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nAct")
				_, _ = io.ReadAll(conn)
			case 3: // gone in the midst of an upload
				_, _ = io.WriteString(conn, rest("PUT", "/bucket/key", "", strings.Repeat("x", 1000))[:600])
			case 4: // and of a stream
				_, _ = io.WriteString(conn, "GET /_cfn/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
				_, _ = conn.Read(make([]byte, 100))
			case 5:
				_, _ = io.WriteString(conn, form("", "Action=ListTypes&Version=2010-05-15"))
				_, _ = conn.Read(make([]byte, 100))
			}
		})
	}
	all.Wait()
}
