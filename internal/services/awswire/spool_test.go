package awswire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

func heldRequest(t *testing.T, b *Bodies, body io.Reader) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
	t.Cleanup(b.Hold(r))
	return r
}

// TestHeldBodies reads bodies of every kind, in memory and by way of a file, several times.
func TestHeldBodies(t *testing.T) {
	for _, size := range []int{0, 1, 99, 100, 101, 5000} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"with a length":    func(r io.Reader) io.Reader { return r },
			"without a length": iotest.OneByteReader,
		} {
			b := &Bodies{Dir: t.TempDir(), Threshold: 100}
			want := bytes.Repeat([]byte("x7"), size)[:size]
			r := heldRequest(t, b, wrap(bytes.NewReader(want)))
			for range 2 {
				got, err := readAll(r, 5000)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes %s: %d bytes, %v", size, name, len(got), err)
				}
				if got, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes %s: read %d bytes, %v", size, name, len(got), err)
				}
			}
			if left, err := os.ReadDir(b.Dir); len(left) > 0 || err != nil {
				t.Errorf("%d bytes %s: files can be found: %v, %v", size, name, left, err)
			}
		}
	}
}

// TestHeldBodiesAreNotReadable: a body in a file is encrypted.
func TestHeldBodiesAreNotReadable(t *testing.T) {
	b := &Bodies{Dir: t.TempDir(), Threshold: 10}
	r := heldRequest(t, b, strings.NewReader(strings.Repeat("a secret ", 100)))
	h := r.Body.(*heldBody)
	if err := h.spool(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 900)
	if _, err := h.file.ReadAt(content, 0); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(content, []byte("secret")) {
		t.Error("the secret is in the file")
	}
}

func TestHeldBodiesThatAreTooLarge(t *testing.T) {
	for name, body := range map[string]io.Reader{"with a length": strings.NewReader(strings.Repeat("x", 1001)), "without": iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 2000)))} {
		_, err := readAll(heldRequest(t, &Bodies{Dir: t.TempDir(), Threshold: 10}, body), 1000)
		var refused *Error
		if !errors.As(err, &refused) || refused.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHeldBodiesShareRoom: beyond the bounds requests wait, and are refused in the end. What
// a request took is there again when it has been answered.
func TestHeldBodiesShareRoom(t *testing.T) {
	body := strings.Repeat("x", 600)
	for name, b := range map[string]*Bodies{
		"memory": {Memory: 1000, Threshold: 10, WaitLimit: 20 * time.Millisecond},
		"disk":   {Disk: 1000, Threshold: 10, WaitLimit: 20 * time.Millisecond},
	} {
		b.Dir = t.TempDir()
		first := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		release := b.Hold(first)
		if _, err := readAll(first, 1000); err != nil {
			t.Fatal(err)
		}
		_, err := readAll(heldRequest(t, b, strings.NewReader(body)), 1000)
		var refused *Error
		if !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: %v, want 503", name, err)
		}
		b.WaitLimit = time.Minute
		waiting := heldRequest(t, b, strings.NewReader(body))
		var done sync.WaitGroup
		done.Go(func() {
			if _, err := readAll(waiting, 1000); err != nil {
				t.Errorf("%s: %v after waiting", name, err)
			}
		})
		release()
		done.Wait()
	}
}

// TestHeldBodiesOfSlowClients: a body that comes slowly takes no room in memory.
func TestHeldBodiesOfSlowClients(t *testing.T) {
	b := &Bodies{Dir: t.TempDir(), Memory: 1000, Threshold: 10, WaitLimit: 50 * time.Millisecond}
	slow, end := io.Pipe()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", slow)
	defer b.Hold(request)()
	var done sync.WaitGroup
	done.Go(func() { readAll(request, 1000) })
	if _, err := end.Write(bytes.Repeat([]byte("x"), 900)); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(heldRequest(t, b, strings.NewReader(strings.Repeat("x", 900))), 1000); err != nil {
		t.Errorf("beside a slow client: %v", err)
	}
	end.Close()
	done.Wait()
}

// TestHeldBodiesWithoutADisk: a body that cannot be kept is refused for now.
func TestHeldBodiesWithoutADisk(t *testing.T) {
	_, err := readAll(heldRequest(t, &Bodies{Dir: t.TempDir() + "/absent", Threshold: 10}, strings.NewReader(strings.Repeat("x", 100))), 1000)
	var refused *Error
	if !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable || !errors.Is(err, os.ErrNotExist) || strings.Contains(refused.Message, "absent") {
		t.Errorf("%v", err)
	}
}

// TestWrongSignaturesAreNotRead: a body is looked at only when its request is signed by a
// key that is known, at the right time, and with the hash that it names.
func TestWrongSignaturesAreNotRead(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	v := &Verifier{Keys: map[string]Key{"AKIAGOOD": {Secret: "right"}}, Now: func() time.Time { return now }}
	for name, test := range map[string]struct{ key, date, hash, token string }{
		"unknown key":   {"AKIANONE", "20261120T120000Z", "", ""},
		"another day":   {"AKIAGOOD", "20261120T110000Z", "", ""},
		"wrong token":   {"AKIAGOOD", "20261120T120000Z", "", "t"},
		"wrong, hashed": {"AKIAGOOD", "20261120T120000Z", emptyHash, ""},
		"no signature":  {},
	} {
		body := &unread{}
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", body)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		headers := "host;x-amz-date"
		for header, value := range map[string]string{"X-Amz-Date": test.date, "X-Amz-Content-Sha256": test.hash, "X-Amz-Security-Token": test.token} {
			if value != "" {
				r.Header.Set(header, value)
			}
		}
		if test.hash != "" {
			headers = "host;x-amz-content-sha256;x-amz-date"
		}
		if test.token != "" {
			headers += ";x-amz-security-token"
		}
		if test.key != "" {
			r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+test.key+"/20261120/eu-west-1/cloudformation/aws4_request, SignedHeaders="+headers+", Signature=00")
		}
		target, err := Reader{MustSign: true}.Read(r)
		if err == nil {
			_, err = v.Verify(r, target)
		}
		if err == nil || body.reads > 0 {
			t.Errorf("%s: %v, and the body was read %d times", name, err, body.reads)
		}
	}
}

type unread struct{ reads int }

func (u *unread) Read(p []byte) (int, error) { u.reads++; return 0, io.EOF }
