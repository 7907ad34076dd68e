package awswire

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/google/go-cmp/cmp"
)

// FuzzForm sends any form: the answer is well-formed XML and never an internal failure,
// and what was decoded is decoded the same from a form that the tree writes.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{
		"", "StackName=a&Tags=", "Tags.member.1.Key=k&Tags.member.2.Value=%c3%bc", "ResourcesToImport.member.1.ResourceIdentifier.entry.1.key=a&ResourcesToImport.member.1.ResourceIdentifier.entry.1.value=b",
		"RollbackConfiguration.MonitoringTimeInMinutes=7&UsePreviousTemplate=true", "Tags.member.0.Key=%zz", "a.b.c.d=1&a.b=2&a=3", "Capabilities.member.1=X&ChangeSetType=", "Tags.member.1000000000.Key=", "&&=&.=&..=1",
	} {
		f.Add(seed)
	}
	type input = cloudformation.CreateChangeSetInput
	f.Fuzz(func(t *testing.T, form string) {
		var got []*input
		table := &Table{Service: "cloudformation", Protocol: Query, Version: "1", Namespace: "n", MaxBody: 1 << 16,
			Operations: []Operation{Op("A", func(_ context.Context, _ Caller, in *input) (*cloudformation.CreateChangeSetOutput, error) {
				got = append(got, in)
				return &cloudformation.CreateChangeSetOutput{Id: in.StackName}, nil
			})}}
		send := func(body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPost, "/?Action=A&Version=1", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			table.Serve(w, r, Caller{RequestID: "id"})
			return w
		}
		w := send(form)
		if w.Code >= 500 || w.Code != http.StatusOK && len(got) > 0 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var any struct {
			XMLName xml.Name
		}
		if err := xml.Unmarshal(w.Body.Bytes(), &any); err != nil {
			t.Fatalf("%v in %s", err, w.Body)
		}
		if w.Code != http.StatusOK {
			return
		}
		tree, err := parseForm(form)
		if err != nil {
			t.Fatal(err)
		}
		var again []string
		tree.write(tree, &again, "")
		if w := send(strings.Join(again, "&")); w.Code != http.StatusOK {
			t.Fatalf("%q: %d %s", again, w.Code, w.Body)
		}
		if diff := cmp.Diff(plain(reflect.ValueOf(got[0])), plain(reflect.ValueOf(got[1]))); diff != "" {
			t.Fatal(diff)
		}
	})
}

// write lists the parameters of n, which is called name, and below it, escaped in another way than clients do.
func (n *node) write(root *node, out *[]string, name string) {
	if n.given {
		*out = append(*out, escape(name, "")+"="+escape(n.value, ""))
	}
	for _, part := range sortedKeys(n.children) {
		below := part
		if n != root {
			below = name + "." + part
		}
		n.children[part].write(root, out, below)
	}
}

// FuzzJSON sends any body: what is taken is JSON, and decodes the same after it has been
// encoded.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"logGroupName":"a","logEvents":[{"timestamp":1e3,"message":"\ud800"}]}`, `{"entity":{"attributes":{"a":"b"},"keyAttributes":{}}}`,
		`{"x":[[[{"a":1}]]]}`, `{"logEvents":[null]}`, `{"a":1,"a":2}`, "[", `{"logEvents":[{"timestamp":9223372036854775807}]}`, "{}x", "\xff",
	} {
		f.Add([]byte(seed))
	}
	shapes := &shapes{lowerFirst: true}
	sh, err := shapes.of(reflect.TypeFor[cloudwatchlogs.PutLogEventsInput]())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var first, second cloudwatchlogs.PutLogEventsInput
		if err := decodeJSON(sh, body, reflect.ValueOf(&first).Elem()); err != nil {
			var refused *Error
			if !errors.As(err, &refused) || refused.Code != "SerializationException" {
				t.Fatal(err)
			}
			return
		}
		if len(bytes.TrimSpace(body)) > 0 && !json.Valid(body) {
			t.Fatalf("%q was taken", body)
		}
		var b bytes.Buffer
		if err := writeJSON(&b, sh, reflect.ValueOf(&first).Elem()); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b.Bytes()) {
			t.Fatalf("%q was written", b.Bytes())
		}
		if err := decodeJSON(sh, b.Bytes(), reflect.ValueOf(&second).Elem()); err != nil {
			t.Fatalf("%s: %v", &b, err)
		}
		if diff := cmp.Diff(plain(reflect.ValueOf(&first)), plain(reflect.ValueOf(&second))); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzChunks reads any aws-chunked body: in one go and byte by byte it comes to the same,
// and a payload that is taken can be sent again.
func FuzzChunks(f *testing.F) {
	f.Add([]byte("5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"), int64(5), true)
	f.Add([]byte("2;chunk-signature=ab\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"), int64(5), false)
	f.Add([]byte("0\r\n\r\n"), int64(0), false)
	f.Add([]byte("ffffffffffffffff\r\n"), int64(1), false)
	f.Add([]byte("5\r\nhel"), int64(5), true)
	f.Fuzz(func(t *testing.T, framed []byte, length int64, trailer bool) {
		read := func(framed []byte, trailer bool, wrap func(io.Reader) io.Reader) ([]byte, error) {
			r := httptest.NewRequest(http.MethodPut, "/", nil)
			r.Body = io.NopCloser(wrap(bytes.NewReader(framed)))
			r.Header.Set("X-Amz-Content-Sha256", streamingUnsigned)
			r.Header.Set("X-Amz-Decoded-Content-Length", strconv.FormatInt(length, 10))
			if trailer {
				r.Header.Set("X-Amz-Trailer", "x-amz-checksum-crc32")
			}
			body, err := ChunkedBody(r)
			if err != nil {
				return nil, err
			}
			return io.ReadAll(body)
		}
		payload, err := read(framed, trailer, func(r io.Reader) io.Reader { return r })
		slow, slowErr := read(framed, trailer, iotest.OneByteReader)
		if (err == nil) != (slowErr == nil) || err == nil && !bytes.Equal(payload, slow) {
			t.Fatalf("%q, %v at once; %q, %v by bytes", payload, err, slow, slowErr)
		}
		if err != nil {
			var refused *Error
			if !errors.As(err, &refused) || refused.status() >= 500 {
				t.Fatal(err)
			}
			return
		}
		if int64(len(payload)) != length {
			t.Fatalf("%d bytes of %d", len(payload), length)
		}
		again := "0\r\n\r\n"
		if length > 0 {
			again = strconv.FormatInt(length, 16) + "\r\n" + string(payload) + "\r\n" + again
		}
		if sent, err := read([]byte(again), false, func(r io.Reader) io.Reader { return r }); err != nil || !bytes.Equal(sent, payload) {
			t.Fatalf("%q, %v; want %q", sent, err, payload)
		}
	})
}

// FuzzAuthorization parses any header, and any query: what is taken has clean parts that
// parse the same when they are written again.
func FuzzAuthorization(f *testing.F) {
	for _, seed := range []string{
		"", "AWS4-HMAC-SHA256 Credential=AKIA/20261120/eu-west-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=00",
		"AWS4-HMAC-SHA256 Credential=a/b/20261120/eu-west-1/s3/aws4_request,SignedHeaders=host,Signature=0", "AWS4-ECDSA-P256-SHA256 Credential=AKIA/20261120/s3/aws4_request, SignedHeaders=host, Signature=00",
		"AWS AKIA:x", "AWS4-HMAC-SHA256 Credential=,,,=", "AWS4-HMAC-SHA256 Credential=/////aws4_request",
		"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA%2F20261120%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-SignedHeaders=host&X-Amz-Signature=00", "AWSAccessKeyId=a&Signature=b&Expires=1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := parseAuthorization(text); err == nil {
			for _, part := range []string{c.date, c.service} {
				if !scopePart.MatchString(part) {
					t.Fatalf("%q has the part %q", text, part)
				}
			}
			scope := c.accessKeyID + "/" + c.date + "/"
			if c.algorithm == algorithmV4 {
				scope += c.region + "/"
			}
			again, err := parseAuthorization(c.algorithm + " Credential=" + scope + c.service + "/aws4_request, SignedHeaders=" + strings.Join(c.signedHeaders, ";") + ", Signature=" + c.signature)
			if err != nil || !reflect.DeepEqual(again, c) {
				t.Fatalf("%+v, then %+v, %v", c, again, err)
			}
		} else {
			var refused *Error
			if !errors.As(err, &refused) {
				t.Fatal(err)
			}
		}
		for _, target := range []string{"header", "query"} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if target == "header" {
				r.Header.Set("Authorization", text)
			} else {
				r.URL.RawQuery = text
			}
			target, err := Reader{}.Read(r)
			if target.Service == "" && r.Header.Get("X-Amz-Target") == "" {
				t.Fatalf("%q is for no service: %+v", text, target)
			}
			var refused *Error
			if err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			verifier := &Verifier{Keys: map[string]Key{"AKIA": {Secret: "x"}}}
			if _, err := verifier.Verify(r, target); !errors.As(err, &refused) {
				t.Fatalf("%q was verified: %v", text, err)
			}
		}
	})
}

// FuzzKeys parses any key file: no error has a secret in it.
func FuzzKeys(f *testing.F) {
	f.Add("AKIA hushhush 123456789012\n# comment\n")
	f.Add("AKIA hushhush\n")
	f.Add("AKIA hushhush 1234567890123 x")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ParseKeys(strings.NewReader(text))
		for id, key := range keys {
			if !scopeKey.MatchString(id) || key.Secret == "" || !twelve.MatchString(key.Account) {
				t.Fatalf("%q: %+v", id, key)
			}
		}
		if err != nil && strings.Contains(err.Error(), "hushhush") {
			t.Fatal(err)
		}
	})
}
