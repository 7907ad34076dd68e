package lambda

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzRing holds that a ring keeps exactly the end of what was written.
func FuzzRing(f *testing.F) {
	f.Add([]byte("hello world"), 3, 4)
	f.Add([]byte("abcdefghijklmnop"), 16, 5)
	f.Add([]byte(""), 1, 1)
	f.Fuzz(func(t *testing.T, data []byte, limit, step int) {
		if limit < 1 || limit > 1000 || step < 1 {
			return
		}
		r := ring{limit: limit}
		for rest := data; len(rest) > 0; {
			n := min(step, len(rest))
			r.Write(rest[:n])
			rest = rest[n:]
		}
		want := data[max(0, len(data)-limit):]
		if !bytes.Equal(r.bytes(), want) || r.dropped != int64(len(data)-len(want)) {
			t.Errorf("limit %d, step %d: %q and %d dropped, want %q", limit, step, r.bytes(), r.dropped, want)
		}
	})
}

func FuzzSplitReference(f *testing.F) {
	for _, reference := range []string{"F", "F:1", "000000000000:function:F:$LATEST", "arn:aws:lambda:r:a:function:F", "arn:aws:lambda", "", ":", "function:F"} {
		f.Add(reference)
	}
	f.Fuzz(func(t *testing.T, reference string) {
		name, qualifier, ok := ParseReference(reference)
		if ok && (!functionName.MatchString(name) || !strings.Contains(reference, name) || !strings.HasSuffix(reference, qualifier)) {
			t.Errorf("%q read as %q, %q", reference, name, qualifier)
		}
		if !ok && (name != "" || qualifier != "") {
			t.Errorf("%q refused, but read as %q, %q", reference, name, qualifier)
		}
	})
}

// FuzzFunctionError holds that any document of a function makes a readable error
// and reaches the caller as it is.
func FuzzFunctionError(f *testing.F) {
	f.Add([]byte(`{"errorType":"T","errorMessage":"m","stackTrace":[{"path":"a.go","line":3,"label":"f"},"File x"]}`))
	f.Add([]byte(`{"errorType":1,"errorMessage":"m","stackTrace":{}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, document []byte) {
		err := newFunctionError("F", "id", document)
		if !bytes.Equal(errorDocument(err), document) {
			t.Errorf("%q does not reach the caller", document)
		}
		if text := err.Error(); !strings.HasPrefix(text, "function F failed") || !utf8.ValidString(text) {
			t.Errorf("%q: error %q", document, text)
		}
	})
}

func FuzzProgramTarget(f *testing.F) {
	f.Add("\x7fELF\x02\x02\x01" + strings.Repeat("\x00", 11) + "\x00\x16")
	f.Add("\xcf\xfa\xed\xfe\x07\x00\x00\x01")
	f.Add("MZ")
	f.Fuzz(func(t *testing.T, head string) {
		if reason, _ := wrongFormat(head); reason == "" {
			t.Errorf("%q: no reason", head)
		}
	})
}

func TestErrorDocumentsAreJSON(t *testing.T) {
	for _, err := range []error{
		&StartError{Reason: "\xff"}, &CrashError{Output: "\x00\xff"}, &TimeoutError{}, &NotReadyError{}, &MemoryError{}, &ResponseTooLargeError{},
	} {
		if document := errorDocument(err); !json.Valid(document) {
			t.Errorf("%T: %q", err, document)
		}
	}
	for _, err := range []error{ErrClosed, &ThrottledError{}, &PayloadTooLargeError{}, &EndpointError{}} {
		if document := errorDocument(err); document != nil {
			t.Errorf("%T is no fault of the function: %q", err, document)
		}
	}
}
