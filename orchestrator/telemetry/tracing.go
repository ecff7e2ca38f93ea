package telemetry

import (
	"context"
	"strings"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// StartTracing sends spans to an OTLP endpoint (URL; protocol "grpc" or "http/protobuf") under a service name, and
// returns what flushes and ends it. With an empty endpoint nothing is recorded, but a trace that a caller brings is
// still passed on.
func StartTracing(ctx context.Context, logger zerolog.Logger, endpoint, protocol, service, version string) (stop func(context.Context) error, err error) {
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	if endpoint == "" {
		return func(context.Context) error { return nil }, nil
	}
	var client otlptrace.Client
	if strings.HasPrefix(protocol, "http") {
		client = otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(endpoint))
	} else {
		client = otlptracegrpc.NewClient(otlptracegrpc.WithEndpointURL(endpoint))
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", service),
			attribute.String("service.version", version))))
	otel.SetTracerProvider(provider)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn().Err(err).Msg("traces are not sent") }))
	return provider.Shutdown, nil
}

// Tracer is the tracer of all rooms. It asks the global provider at each call, so that tracing started later is seen.
func Tracer() trace.Tracer { return otel.Tracer("retort") }
