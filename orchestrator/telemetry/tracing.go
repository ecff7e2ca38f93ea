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

// StartTracing sends spans to the URL of an OTLP endpoint with protocol "grpc" or "http/protobuf". stop flushes them.
// Without an endpoint nothing is recorded, but the trace of a client is still propagated.
func StartTracing(
	ctx context.Context, logger zerolog.Logger, endpoint, protocol, service, version string,
) (stop func(context.Context) error, err error) {
	propagator := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	otel.SetTextMapPropagator(propagator)
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
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		logger.Warn().Err(err).Msg("traces are not sent")
	}))
	return provider.Shutdown, nil
}

// Tracer returns the tracer of all rooms. It reads the global provider at each call, so it may be called before
// StartTracing.
func Tracer() trace.Tracer { return otel.Tracer("retort") }
