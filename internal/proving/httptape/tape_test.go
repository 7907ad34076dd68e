package httptape

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "line 1 of the recording: not a recording",
		"[]":                                  "line 1 of the recording: not a recording",
		`{"httptape":9}`:                      "version 9 is not supported",
		"{\"httptape\":1}\n{":                 "line 2 of the recording: not JSON",
		"{\"httptape\":1}\n\n{\"url\":\"/\"}": "line 3 of the recording: a call requires a method",
		"{\"httptape\":1}\n{\"method\":\"GET\",\"url\":\"https://a/\",\"status\":7}": "7 is not an HTTP status",
	} {
		_, err := Read(strings.NewReader(text))
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestFullTape(t *testing.T) {
	tape := &Tape{}
	for range maxEntries + 1 {
		tape.add(&Entry{Method: http.MethodGet, URL: "https://a/", Status: 200})
	}
	if err := tape.Write(&bytes.Buffer{}, nil); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

func TestMatching(t *testing.T) {
	same := func(a, b Entry) bool { return key(&a) == key(&b) }
	for _, test := range []struct {
		name string
		a, b Entry
		want bool
	}{
		{"order of a query", Entry{URL: "https://A.example/?b=1&a=2"}, Entry{URL: "https://a.example/?a=2&b=1"}, true},
		{"another query", Entry{URL: "https://a.example/?b=1"}, Entry{URL: "https://a.example/?b=2"}, false},
		{"a presigned URL", Entry{URL: "https://a.example/k?X-Amz-Date=1&X-Amz-Signature=f"}, Entry{URL: "https://a.example/k?X-Amz-Date=2&X-Amz-Signature=e"}, true},
		{"another target", Entry{URL: "https://a.example/", Target: "A.B"}, Entry{URL: "https://a.example/", Target: "A.C"}, false},
		{"spacing of JSON", Entry{RequestBody: `{"a":1, "b":[2]}`}, Entry{RequestBody: `{"b":[2],"a":1}`}, true},
		{"numbers", Entry{RequestBody: `{"a":1}`}, Entry{RequestBody: `{"a":2}`}, false},
		{"tokens", Entry{RequestBody: `{"ClientToken":"1","a":{"client_request_token":1}}`}, Entry{RequestBody: `{"ClientToken":"2","a":{}}`}, true},
		{"moments", Entry{RequestBody: `{"at":"2026-01-02T03:04:05Z"}`}, Entry{RequestBody: `{"at":"2027-01-02T03:04:05.678+02:00"}`}, true},
		{"a form", Entry{RequestType: "application/x-www-form-urlencoded", RequestBody: "Action=A&Timestamp=1&B=2"}, Entry{RequestType: "application/x-www-form-urlencoded", RequestBody: "B=2&Action=A"}, true},
		{"XML", Entry{RequestBody: "<a><CallerReference>1</CallerReference><b>1</b></a>"}, Entry{RequestBody: "<a><CallerReference>2</CallerReference><b>1</b></a>"}, true},
		{"other XML", Entry{RequestBody: "<a><b>1</b></a>"}, Entry{RequestBody: "<a><b>2</b></a>"}, false},
		{"signed chunks", Entry{RequestBody: "3;chunk-signature=" + strings.Repeat("a", 64) + "\r\nabc"}, Entry{RequestBody: "3;chunk-signature=" + strings.Repeat("b", 64) + "\r\nabc"}, true},
		{"boundaries", Entry{RequestType: "multipart/form-data; boundary=x1", RequestBody: "--x1\r\na--x1--"}, Entry{RequestType: "multipart/form-data; boundary=y2", RequestBody: "--y2\r\na--y2--"}, true},
	} {
		if got := same(test.a, test.b); got != test.want {
			t.Errorf("%s: %v\n%q\n%q", test.name, got, key(&test.a), key(&test.b))
		}
	}
}

// FuzzRead: whatever a file holds, reading ends, and what was read is written, read and
// played the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"httptape":1,"seed":7}` + "\n" + `{"method":"POST","url":"https://a.example/?x=1","requestBody":"{\"a\":[1]}","status":200,"header":{"X":["y"]},"bytes":"AAE="}`))
	f.Add([]byte(`{"httptape":1}` + "\n" + `{"method":"GET","url":"https://a/","requestType":"multipart/form-data; boundary=a","requestBody":"<a>b</a>","status":204}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tape, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := tape.Write(&b, nil); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(b.Bytes()))
		if err != nil || again.Len() != tape.Len() || again.Info != tape.Info {
			t.Fatalf("%v, %d calls, want %d\n%s", err, again.Len(), tape.Len(), b.Bytes())
		}
		for _, e := range again.entries {
			if again.answer(scrubber{}.entry(e)) == nil {
				t.Errorf("%s does not match itself", e.name())
			}
		}
	})
}
