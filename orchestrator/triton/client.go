package triton

import (
	"context"
	"errors"
	"io"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
)

// Client calls one or more replicas of Triton. It is safe for use by many goroutines. All its errors are faults; a
// caller's deadline and cancellation reach the server.
type Client struct {
	pool *pool
}

// Dial returns a client. It waits for no server: one that is not there yet is found when it comes. The error is one of
// settings.
func Dial(c Config) (*Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	pool, err := newPool(c.withDefaults())
	if err != nil {
		return nil, err
	}
	return &Client{pool: pool}, nil
}

// Close ends all calls and connections.
func (c *Client) Close() { c.pool.close() }

// Live returns the replicas that answered their last probe.
func (c *Client) Live() []*Replica { return c.pool.live() }

// Instances returns how many requests for a model all live replicas can execute at once, at least 1.
func (c *Client) Instances(m *Model) int { return max(1, len(c.pool.live())) * m.Config.Concurrency() }

// errNoReplica is the answer while no server lives. It comes at once: a caller that may come back in a second need not
// hold a connection until then.
func errNoReplica() error {
	return &fault.Error{Kind: fault.Unavailable, Message: "the inference server is not available", RetryAfter: retryAfter}
}

// question says what a call to one replica is about.
type question struct {
	// name is the call's in traces and metrics, such as "infer".
	name string
	// model is the one it is about, "" for none: any replica can answer.
	model string
	// inference is set where the model itself must answer, and not only Triton.
	inference bool
	// steady asks the same replica each time, as long as it can answer.
	steady bool
	// once forbids a second try on another replica.
	once bool
}

// ask runs f against a replica that serves the model, and, when that one turned out to be unavailable and the call may
// be repeated, once more against another.
func (c *Client) ask(ctx context.Context, q question, f func(context.Context, *Replica) error) error {
	request := telemetry.FromContext(ctx)
	start := time.Now()
	defer func() { request.AddTriton(time.Since(start)) }()
	ctx, end := c.begin(ctx, q.name, q.model)
	first := c.pool.pick(q, nil)
	if first == nil {
		return end(errNoReplica())
	}
	err := c.on(first, func() error { return f(ctx, first) })
	if !q.once && elsewhere(ctx, err) {
		if second := c.pool.pick(q, first); second != nil {
			err = c.on(second, func() error { return f(ctx, second) })
		}
	}
	return end(translate(ctx, err))
}

// on runs f against one replica and has it probed when it seems to be gone.
func (c *Client) on(r *Replica, f func() error) error {
	r.inflight.Add(1)
	defer r.inflight.Add(-1)
	err := f()
	if status.Code(err) == grpccodes.Unavailable {
		c.pool.suspect()
	}
	return err
}

// elsewhere reports whether another replica may do what this one could not: it is gone, its queue is full, or it does
// not have the model (yet).
func elsewhere(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || errors.Is(err, io.EOF) {
		return false
	}
	switch fault.KindOf(translate(ctx, err)) {
	case fault.Unavailable, fault.Overloaded, fault.NotFound:
		return true
	}
	return false
}

// begin starts the span of one call and puts it into the metadata of the call (Triton reads the W3C header
// traceparent). end must be called once with the result, which it returns.
func (c *Client) begin(ctx context.Context, name, model string) (_ context.Context, end func(error) error) {
	ctx, span := otel.Tracer("retort/orchestrator/triton").Start(ctx, "triton."+name, trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		span.SetAttributes(attribute.String("triton.model", model))
	}
	if span.SpanContext().IsValid() {
		carrier := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, carrier)
		for key, value := range carrier {
			ctx = metadata.AppendToOutgoingContext(ctx, key, value)
		}
	}
	return ctx, func(err error) error {
		if err != nil {
			span.SetStatus(codes.Error, fault.KindOf(err).String())
		}
		span.End()
		return err
	}
}
