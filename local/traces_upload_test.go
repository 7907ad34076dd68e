package local

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spans is a batch of one span with that name.
func spans(name string) []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: name}}}}}}
}

// uploader is one with an environment; what it warns of is in the buffer.
func uploader(t *testing.T, url string, env map[string]string) (*traceUploader, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	u, err := newTraceUploader(url, env, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return u, &log
}

// TestUploadTraces has the message type of a collector read the request, over TLS, with a certificate and
// headers from the environment.
func TestUploadTraces(t *testing.T) {
	var request *http.Request
	var received collector.ExportTraceServiceRequest
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request = r
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(unzipped)
		if err != nil || proto.Unmarshal(body, &received) != nil {
			t.Errorf("%d bytes, %v", len(body), err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	u, log := uploader(t, server.URL+"/v1/traces", map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS": "ignored=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-token = a%20b , X-Other=c",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_CERTIFICATE": file, "OTEL_EXPORTER_OTLP_TIMEOUT": "5000",
	})
	if err := u.UploadTraces(t.Context(), spans("one")); err != nil {
		t.Fatal(err)
	}
	if name := received.ResourceSpans[0].ScopeSpans[0].Spans[0].Name; name != "one" || log.Len() > 0 || u.client.Timeout != 5*time.Second {
		t.Errorf("span %q, time limit %s, log %s", name, u.client.Timeout, log)
	}
	if h := request.Header; h.Get("X-Token") != "a b" || h.Get("X-Other") != "c" || h.Get("Ignored") != "" || h.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("headers %v", h)
	}
}

// TestUploadSettings ignores what is invalid, and never shows the value of a header.
func TestUploadSettings(t *testing.T) {
	_, log := uploader(t, "http://127.0.0.1", map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS": "a b=planted,planted,c=%zz,d=x%0Aplanted", "OTEL_EXPORTER_OTLP_COMPRESSION": "zstd", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "10s",
	})
	if text := log.String(); strings.Count(text, "a header for traces is ignored") != 4 || strings.Contains(text, "planted") ||
		!strings.Contains(text, "OTEL_EXPORTER_OTLP_COMPRESSION=zstd") || !strings.Contains(text, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=10s") {
		t.Errorf("log %s", text)
	}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, env := range map[string]map[string]string{
		"OTEL_EXPORTER_OTLP_CERTIFICATE: open ":       {"OTEL_EXPORTER_OTLP_CERTIFICATE": empty + "-missing"},
		"does not contain a certificate":              {"OTEL_EXPORTER_OTLP_CERTIFICATE": empty},
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: tls:": {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": empty, "OTEL_EXPORTER_OTLP_CLIENT_KEY": empty},
	} {
		if _, err := newTraceUploader("https://127.0.0.1", env, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// transport answers the requests of an uploader without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func collectorAnswer(status int, body []byte, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// TestUploadAgain repeats a request as long as the collector is overloaded, and no other.
func TestUploadAgain(t *testing.T) {
	partial, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 300, ErrorMessage: "quota"}})
	if err != nil {
		t.Fatal(err)
	}
	warning, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{ErrorMessage: "old version"}})
	if err != nil {
		t.Fatal(err)
	}
	overloaded := func() *http.Response { return collectorAnswer(503, nil) }
	message := []string{"Content-Type", "application/x-protobuf"}
	for _, test := range []struct {
		name    string
		answers []func() *http.Response
		calls   int
		want    string // of the error, "" is none
		least   time.Duration
	}{
		{"at once", []func() *http.Response{func() *http.Response { return collectorAnswer(200, nil) }}, 1, "", 0},
		{"after a restart", []func() *http.Response{overloaded, overloaded, func() *http.Response { return collectorAnswer(200, nil) }}, 3, "", 5 * time.Second},
		{"when the collector says", []func() *http.Response{func() *http.Response { return collectorAnswer(429, nil, "Retry-After", "40") }, func() *http.Response { return collectorAnswer(200, nil) }}, 2, "", 40 * time.Second},
		{"never", []func() *http.Response{overloaded}, 0, "503", 30 * time.Second},
		{"refused", []func() *http.Response{func() *http.Response { return collectorAnswer(400, []byte("bad span\n")) }}, 1, "bad span", 0},
		{"in part", []func() *http.Response{func() *http.Response { return collectorAnswer(200, partial, message...) }}, 1, "the collector rejected 300 spans: quota", 0},
		{"with a warning", []func() *http.Response{func() *http.Response { return collectorAnswer(200, warning, message...) }}, 1, "the collector warns: old version", 0},
		{"with garbage", []func() *http.Response{func() *http.Response { return collectorAnswer(200, []byte("\xff\xff"), message...) }}, 1, "the response of the collector is invalid", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u, _ := uploader(t, "http://collector", nil)
				calls, began := 0, time.Now()
				u.client.Transport = transport(func(*http.Request) (*http.Response, error) {
					calls++
					return test.answers[min(calls, len(test.answers))-1](), nil
				})
				err := u.UploadTraces(t.Context(), spans("one"))
				if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %q", err, test.want)
				}
				if took := time.Since(began); test.calls > 0 && calls != test.calls || took < test.least/2 || took > 2*time.Minute {
					t.Errorf("%d calls in %s", calls, took)
				}
			})
		})
	}
}

// TestUploadStops ends an upload that is in progress.
func TestUploadStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, _ := uploader(t, "http://collector", nil)
		u.client.Transport = transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		ended := make(chan error)
		go func() { ended <- u.UploadTraces(context.Background(), spans("one")) }()
		synctest.Wait()
		began := time.Now()
		if err := u.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-ended; err == nil || time.Since(began) > 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
