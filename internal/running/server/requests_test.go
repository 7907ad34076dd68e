package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func TestRefuseBrowser(t *testing.T) {
	const signature = "AWS4-HMAC-SHA256 Credential=111111111111/20261120/us-east-1/cloudformation/aws4_request, SignedHeaders=host, Signature=0"
	tests := []struct {
		name    string
		request string // method and URL
		service string
		header  map[string]string
		refused bool
	}{
		{"the aws CLI", "POST /", "cloudformation", map[string]string{"User-Agent": "aws-cli/2", "Authorization": signature}, false},
		{"curl without a signature", "GET /?Action=ListTypes", "cloudformation", map[string]string{"User-Agent": "curl/8"}, false},
		{"a picture on a page", "GET /?Action=DeregisterType", "cloudformation", map[string]string{"User-Agent": "Mozilla/5.0"}, true},
		{"a picture that looks presigned", "GET /?Action=DeregisterType&X-Amz-Credential=1", "cloudformation", map[string]string{"User-Agent": "Mozilla/5.0"}, true},
		{"a form", "POST /", "cloudformation", map[string]string{"Sec-Fetch-Mode": "navigate"}, true},
		{"a presigned download", "GET /b/k?X-Amz-Credential=1", "s3", map[string]string{"User-Agent": "Mozilla/5.0"}, false},
		{"a download presigned with version 2", "GET /b/k?AWSAccessKeyId=1", "s3", map[string]string{"User-Agent": "Mozilla/5.0"}, false},
		{"a download without a signature", "GET /b/k", "s3", map[string]string{"User-Agent": "Mozilla/5.0"}, true},
		{"an upload without a header", "PUT /b/k?X-Amz-Credential=1", "s3", map[string]string{"User-Agent": "Mozilla/5.0"}, true},
		{"an SDK in a browser's engine", "POST /", "ssm", map[string]string{"User-Agent": "Mozilla/5.0", "Authorization": signature}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			method, url, _ := strings.Cut(tt.request, " ")
			r := httptest.NewRequest(method, url, nil)
			for name, value := range tt.header {
				r.Header.Set(name, value)
			}
			if got := refuseBrowser(r, tt.service); (got != nil) != tt.refused {
				t.Errorf("got %v, want a refusal: %v", got, tt.refused)
			}
		})
	}
}

// TestServices: tools that wait for a local AWS find what they look for, and no more.
func TestServices(t *testing.T) {
	for want, failure := range map[string]error{"running": nil, "error": errors.New("the disk /home/secret is full")} {
		s := &Server{
			config: Config{Version: "1.2.3", Now: time.Now, Logger: slog.New(slog.DiscardHandler), Healthy: func(context.Context) error { return failure }},
			tables: map[string]*awswire.Table{"cloudformation": nil, "cloudcontrolapi": nil, "states": nil, "formwork": nil},
		}
		for _, path := range []string{"/health", "/_localstack/health"} {
			if !isServices(path) {
				t.Errorf("%s is not the page", path)
			}
			w := httptest.NewRecorder()
			s.services(w)
			var state struct {
				Services         map[string]string
				Edition, Version string
			}
			if err := json.Unmarshal(w.Body.Bytes(), &state); err != nil {
				t.Fatal(err)
			}
			services := map[string]string{"cloudformation": want, "cloudcontrol": want, "stepfunctions": want, "lambda": want, "s3": want}
			if (w.Code == http.StatusOK) != (failure == nil) || !maps.Equal(state.Services, services) || state.Version != "1.2.3" ||
				!strings.Contains(w.Body.String(), `"cloudformation": "`+want+`"`) || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	}
}

// TestPagesOfOurOwn tells /healthz from a bucket or an object of that name.
func TestPagesOfOurOwn(t *testing.T) {
	tests := []struct {
		method, url, authorization string
		own                        bool
	}{
		{"GET", "http://127.0.0.1:4566/healthz", "", true},
		{"HEAD", "http://localhost:4566/metrics", "", true},
		{"GET", "http://cfn.example/metrics", "", true},
		{"PUT", "http://127.0.0.1:4566/metrics", "", false},
		{"GET", "http://127.0.0.1:4566/metrics", "AWS4-HMAC-SHA256 …", false},
		{"GET", "http://127.0.0.1:4566/metrics?X-Amz-Credential=1", "", false},
		{"GET", "http://bucket.s3.localhost:4566/healthz", "", false},
		{"GET", "http://bucket.cfn.example/healthz", "", false},
	}
	s := &Server{config: Config{Hosts: []string{"cfn.example"}}}
	for _, tt := range tests {
		r := httptest.NewRequest(tt.method, tt.url, nil)
		if tt.authorization != "" {
			r.Header.Set("Authorization", tt.authorization)
		}
		if got := s.forUs(r); got != tt.own {
			t.Errorf("%s %s: own page %v, want %v", tt.method, tt.url, got, tt.own)
		}
	}
}

func TestCheckupLooksOnceInASecond(t *testing.T) {
	var c checkup
	looks, now := 0, time.Unix(1000, 0)
	look := func(context.Context) error { looks++; return errors.New("broken") }
	for range 3 {
		if err := c.state(now, look); err == nil {
			t.Error("the state is not told")
		}
		now = now.Add(400 * time.Millisecond)
	}
	c.state(now, look)
	if looks != 2 {
		t.Errorf("looked %d times in 1.2 s, want 2", looks)
	}
}

// A deadliner is a connection that remembers its deadline.
type deadliner struct {
	*httptest.ResponseRecorder
	deadline time.Time
	set      int
}

func (d *deadliner) SetReadDeadline(t time.Time) error { d.deadline, d.set = t, d.set+1; return nil }

func TestBodiesHaveADeadlineUntilTheyEnd(t *testing.T) {
	d := &deadliner{ResponseRecorder: httptest.NewRecorder()}
	body := watchBody(d, io.NopCloser(iotest.OneByteReader(strings.NewReader("abc"))), time.Second)
	if d.deadline.IsZero() {
		t.Error("a body that nobody reads yet has no deadline")
	}
	if _, err := io.ReadAll(body); err != nil {
		t.Fatal(err)
	}
	if d.set < 4 || !d.deadline.IsZero() {
		t.Errorf("the deadline was set %d times and is now %v; want it moved with each piece and none at the end", d.set, d.deadline)
	}
	if watchBody(d, http.NoBody, time.Second) != http.NoBody {
		t.Error("no body is watched, too")
	}
}
