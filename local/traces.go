package local

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// traces starts sending traces over OTLP/HTTP if the environment asks for it: with an
// endpoint, and without OTEL_SDK_DISABLED or OTEL_TRACES_EXPORTER=none. The exporter reads
// its further settings from the variables of the OpenTelemetry specification.
func traces(ctx context.Context, environ []string, version string) (trace.TracerProvider, func(context.Context) error, error) {
	env := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, "OTEL_") {
			env[name] = value
		}
	}
	endpoint := env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] + env["OTEL_EXPORTER_OTLP_ENDPOINT"]
	if endpoint == "" || strings.EqualFold(env["OTEL_SDK_DISABLED"], "true") || env["OTEL_TRACES_EXPORTER"] == "none" {
		return noop.NewTracerProvider(), func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("start sending traces: %w", err)
	}
	name := env["OTEL_SERVICE_NAME"]
	if name == "" {
		name = "formwork"
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(
		resource.NewSchemaless(attribute.String("service.name", name), attribute.String("service.version", version))))
	return provider, provider.Shutdown, nil
}
