package local

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// lastTraces bounds how long the end of the server waits for a collector.
const lastTraces = 2 * time.Second

// traces starts sending traces over OTLP/HTTP if the environment requests it: with an
// endpoint, and without OTEL_SDK_DISABLED or OTEL_TRACES_EXPORTER=none. Headers, compression, time limits and
// certificates are set by the variables of the OpenTelemetry specification, too; sampling and attributes of
// the resource by those in the environment of the process.
func traces(ctx context.Context, environ []string, version string, logger *slog.Logger) (trace.TracerProvider, func(context.Context) error, error) {
	env := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, "OTEL_") {
			env[name] = value
		}
	}
	endpoint := env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] // used unchanged; the other is a base
	name, given := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint
	if base := env["OTEL_EXPORTER_OTLP_ENDPOINT"]; endpoint == "" && base != "" {
		name, given = "OTEL_EXPORTER_OTLP_ENDPOINT", base
		endpoint = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if endpoint == "" || strings.EqualFold(env["OTEL_SDK_DISABLED"], "true") || env["OTEL_TRACES_EXPORTER"] == "none" {
		return noop.NewTracerProvider(), func(context.Context) error { return nil }, nil
	}
	if !strings.HasPrefix(endpoint, "http://") && !strings.HasPrefix(endpoint, "https://") {
		return nil, nil, fmt.Errorf("start sending traces: %s: expected a URL such as http://127.0.0.1:4318 but got %q", name, given)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := env[name]; protocol != "" && protocol != "http/protobuf" {
			logger.Warn("traces are sent as http/protobuf", name, protocol)
		}
	}
	uploader, err := newTraceUploader(endpoint, env, logger)
	if err != nil {
		return nil, nil, fmt.Errorf("start sending traces: %w", err)
	}
	exporter, err := otlptrace.New(ctx, uploader)
	if err != nil {
		return nil, nil, fmt.Errorf("start sending traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "formwork"), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("start sending traces: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(tolerant{exporter, logger}), sdktrace.WithResource(about))
	return provider, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, lastTraces)
		defer cancel()
		return provider.Shutdown(ctx)
	}, nil
}

// tolerant logs what a collector does not take: the SDK would print it.
type tolerant struct {
	sdktrace.SpanExporter
	logger *slog.Logger
}

func (t tolerant) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := t.SpanExporter.ExportSpans(ctx, spans); err != nil {
		t.logger.Warn("traces cannot be sent", "spans", len(spans), "error", err)
	}
	return nil
}
