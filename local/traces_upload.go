package local

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	uploadTimeout = 10 * time.Second // of one request, unless the environment says otherwise
	uploadRetries = time.Minute      // how long a batch is sent again
	maxReply      = 64 << 10         // bytes of a reply that are read
)

// A traceUploader sends spans to a collector over OTLP/HTTP, as protobuf. The module of OpenTelemetry for
// this would bring gRPC along: docs/decisions/0024-traces-without-grpc.md.
type traceUploader struct {
	url     string
	headers http.Header
	gzip    bool
	client  *http.Client
	stopped context.Context
	stop    context.CancelFunc
}

var _ otlptrace.Client = (*traceUploader)(nil)

// newTraceUploader reads the OTEL_EXPORTER_OTLP_ variables for headers, compression, the time limit
// and certificates. It ignores invalid ones with a warning, as the specification demands, except for
// certificates.
func newTraceUploader(endpoint string, env map[string]string, logger *slog.Logger) (*traceUploader, error) {
	u := &traceUploader{url: endpoint, headers: http.Header{}, client: &http.Client{Timeout: uploadTimeout}}
	u.stopped, u.stop = context.WithCancel(context.Background())
	if name, text := exporterSetting(env, "HEADERS"); text != "" {
		for entry := range strings.SplitSeq(text, ",") {
			key, value, ok := strings.Cut(entry, "=")
			key = strings.TrimSpace(key)
			value, err := url.PathUnescape(strings.TrimSpace(value))
			if !ok || err != nil || !httpguts.ValidHeaderFieldName(key) || !httpguts.ValidHeaderFieldValue(value) {
				logger.Warn("a header for traces is ignored: expected NAME=VALUE", "variable", name) // the value is often secret
				continue
			}
			u.headers.Set(key, value)
		}
	}
	u.headers.Set("Content-Type", "application/x-protobuf")
	u.headers.Set("User-Agent", "OTel OTLP Exporter Go/"+otlptrace.Version())
	switch name, text := exporterSetting(env, "COMPRESSION"); text {
	case "gzip":
		u.gzip = true
		u.headers.Set("Content-Encoding", "gzip")
	case "", "none":
	default:
		logger.Warn("traces are sent without compression", name, text)
	}
	if name, text := exporterSetting(env, "TIMEOUT"); text != "" {
		if n, err := strconv.ParseUint(text, 10, 31); err == nil {
			u.client.Timeout = time.Duration(n) * time.Millisecond
		} else {
			logger.Warn("the time limit for traces is ignored: expected a number of milliseconds", name, text)
		}
	}
	config, err := uploadTLS(env)
	if err != nil {
		return nil, err
	}
	if config != nil {
		if strings.HasPrefix(endpoint, "http://") {
			return nil, errors.New("certificates are set, but the endpoint is not an https URL")
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = config
		u.client.Transport = transport
	}
	return u, nil
}

// exporterSetting returns the value of an exporter's variable and its name. The one for traces alone
// comes first.
func exporterSetting(env map[string]string, setting string) (name, value string) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + setting, "OTEL_EXPORTER_OTLP_" + setting} {
		if value := strings.TrimSpace(env[name]); value != "" {
			return name, value
		}
	}
	return "", ""
}

// uploadTLS returns the certificates that the environment names, nil for those of the system.
func uploadTLS(env map[string]string) (*tls.Config, error) {
	var config tls.Config
	if name, file := exporterSetting(env, "CERTIFICATE"); file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("%s: %s does not contain a certificate in PEM format", name, file)
		}
	}
	name, certificate := exporterSetting(env, "CLIENT_CERTIFICATE")
	if _, key := exporterSetting(env, "CLIENT_KEY"); certificate != "" && key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if config.RootCAs == nil && config.Certificates == nil {
		return nil, nil
	}
	return &config, nil
}

func (u *traceUploader) Start(context.Context) error { return nil }

// Stop ends uploads that are in progress.
func (u *traceUploader) Stop(ctx context.Context) error {
	u.stop()
	return ctx.Err()
}

// UploadTraces sends a batch. It sends it again while the collector is overloaded or restarts.
func (u *traceUploader) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(u.stopped, cancel)()
	// The request of the collector's service has the same fields as this message.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if u.gzip {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(body)
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
		body = b.Bytes()
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 5*time.Second, 30*time.Second
	_, err = backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, u.post(ctx, body) },
		backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(uploadRetries))
	return err
}

// post sends a request once. Its error is permanent unless another attempt makes sense.
func (u *traceUploader) post(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(err)
	}
	request.Header = u.headers.Clone()
	response, err := u.client.Do(request)
	if err != nil {
		if failed := (*url.Error)(nil); errors.As(err, &failed) && failed.Temporary() {
			return err
		}
		return backoff.Permanent(err)
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if n, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && n > 0 {
			return backoff.RetryAfter(min(n, 3600)) // longer than batches are repeated
		}
		return fmt.Errorf("the collector responded %s: %.200s", response.Status, bytes.TrimSpace(reply))
	}
	if response.StatusCode/100 != 2 {
		return backoff.Permanent(fmt.Errorf("the collector responded %s: %.200s", response.Status, bytes.TrimSpace(reply)))
	}
	if err == nil && response.Header.Get("Content-Type") == "application/x-protobuf" {
		err = rejectedSpans(reply)
	}
	if err != nil {
		return backoff.Permanent(err)
	}
	return nil
}

// rejectedSpans reads an ExportTraceServiceResponse. Its field 1 contains the number of rejected spans
// (field 1) and a message (field 2).
func rejectedSpans(reply []byte) error {
	var count uint64
	var message []byte
	err := protoFields(reply, func(number protowire.Number, value []byte) error {
		if number != 1 {
			return nil
		}
		partial, _ := protowire.ConsumeBytes(value)
		return protoFields(partial, func(number protowire.Number, value []byte) error {
			switch number {
			case 1:
				count, _ = protowire.ConsumeVarint(value)
			case 2:
				message, _ = protowire.ConsumeBytes(value)
			}
			return nil
		})
	})
	switch {
	case err != nil:
		return fmt.Errorf("the response of the collector is invalid: %w", err)
	case count > 0:
		return fmt.Errorf("the collector rejected %d spans: %.200s", count, message)
	case len(message) > 0:
		return fmt.Errorf("the collector warns: %.200s", message)
	}
	return nil
}

// protoFields visits the fields of a message in the wire format of protobuf.
func protoFields(message []byte, visit func(number protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return protowire.ParseError(n)
		}
		if err := visit(number, message[:n]); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
