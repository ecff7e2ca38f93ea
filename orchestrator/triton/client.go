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
	pb "retort/orchestrator/triton/inferencepb"
)

// Client calls one or more replicas of Triton. It is safe for concurrent use. Deadlines and cancellations of callers
// reach the server.
type Client struct {
	pool *pool
}

// Dial returns a client. It does not wait for a server: the client finds one that starts later. An error means that
// the Config is invalid; it is not a fault.
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

// Live returns the live replicas.
func (c *Client) Live() []*Replica { return c.pool.live() }

// ServerVersion returns the version of Triton on one live replica.
func (c *Client) ServerVersion(ctx context.Context) (version string, err error) {
	err = c.call(ctx, callSpec{name: "server_metadata"}, func(ctx context.Context, r *Replica) error {
		answer, err := r.service.ServerMetadata(ctx, &pb.ServerMetadataRequest{})
		version = answer.GetVersion()
		return err
	})
	return version, err
}

// Replicas returns how many live replicas serve a model, at least 1. Replicas on which the model is sick count too,
// since they soon recover or stop serving it.
func (c *Client) Replicas(model string) int {
	count := 0
	for _, r := range *c.pool.replicas.Load() {
		if r.rank(model, false) == rankServes {
			count++
		}
	}
	return max(1, count)
}

// Infer returns the response to a request. A decoupled model refuses it: use Stream. When ctx ends, Infer returns
// within gracePeriod, so that the caller keeps its resources until the server has released the request.
func (c *Client) Infer(ctx context.Context, r *Request) (*Response, error) {
	m, err := r.Message()
	if err != nil {
		return nil, err
	}
	var response *Response
	spec := callSpec{name: "infer", model: r.Model, inference: true, once: r.Once}
	err = c.call(ctx, spec, func(ctx context.Context, replica *Replica) error {
		callCtx, release := withGracePeriod(ctx)
		defer release()
		answer, err := replica.service.ModelInfer(callCtx, m)
		if replica.recordResult(m.ModelName, r.Once, err) {
			c.pool.requestProbe()
		}
		if err != nil {
			return err
		}
		response, err = responseFrom(answer)
		return err
	})
	if err != nil {
		return nil, err
	}
	telemetry.FromContext(ctx).AddModelRows(r.Model, r.rows())
	return response, nil
}

// errNoReplica is the error while no replica is live. It is returned at once: a caller that may retry in a second need
// not hold a connection until then.
func errNoReplica() error {
	return &fault.Error{
		Kind:       fault.Unavailable,
		Message:    "the inference server is not available",
		RetryAfter: retryAfter,
	}
}

// callSpec describes a call to one replica.
type callSpec struct {
	name      string // in traces, such as "infer"
	model     string // "" if any replica can answer
	inference bool   // needs a healthy model, not only a live replica
	sticky    bool   // goes to the same replica each time while that is live
	once      bool   // must not be retried
}

// call runs f with a replica that serves the model. If that replica cannot do the call, and the call may be retried,
// it runs f once more with another replica.
func (c *Client) call(ctx context.Context, spec callSpec, f func(context.Context, *Replica) error) error {
	request := telemetry.FromContext(ctx)
	start := time.Now()
	defer func() { request.AddTriton(time.Since(start)) }()
	ctx, end := c.startSpan(ctx, spec.name, spec.model)
	first := c.pool.pick(spec, nil)
	if first == nil {
		return end(errNoReplica())
	}
	err := c.callReplica(first, func() error { return f(ctx, first) })
	if !spec.once && shouldRetry(ctx, err) {
		if second := c.pool.pick(spec, first); second != nil {
			err = c.callReplica(second, func() error { return f(ctx, second) })
		}
	}
	return end(translate(ctx, err))
}

// callReplica runs f, counts it as in flight, and requests a probe if the replica seems to be gone.
func (c *Client) callReplica(r *Replica, f func() error) error {
	r.inflight.Add(1)
	defer r.inflight.Add(-1)
	err := f()
	if status.Code(err) == grpccodes.Unavailable {
		c.pool.requestProbe()
	}
	return err
}

// shouldRetry reports whether another replica may succeed: this one is gone, its queue is full, or it does not have the
// model (yet).
func shouldRetry(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || errors.Is(err, io.EOF) {
		return false
	}
	switch fault.KindOf(translate(ctx, err)) {
	case fault.Unavailable, fault.Overloaded, fault.NotFound:
		return true
	}
	return false
}

// startSpan starts the span of a call and adds it to the outgoing metadata: Triton reads the W3C header traceparent.
// end must be called once with the error of the call, which it returns.
func (c *Client) startSpan(ctx context.Context, name, model string) (_ context.Context, end func(error) error) {
	tracer := otel.Tracer("retort/orchestrator/triton")
	ctx, span := tracer.Start(ctx, "triton."+name, trace.WithSpanKind(trace.SpanKindClient))
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
