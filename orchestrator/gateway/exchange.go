package gateway

import (
	"context"
	"crypto/rand"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"retort/orchestrator/fault"
	"retort/orchestrator/provenance"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/unfinished"
)

// RequestIDHeader carries a request's id in both directions.
const RequestIDHeader = "X-Request-Id"

// ShortRequestIDHeader carries the id to clients that read it there.
const ShortRequestIDHeader = "Request-Id"

// exchange is one HTTP request, from its arrival to the end of its answer.
type exchange struct {
	gateway  *Gateway
	request  *telemetry.Request
	log      zerolog.Logger
	span     trace.Span
	start    time.Time
	method   string
	path     string
	route    string
	bytesIn  int
	isStream bool     // the answer outlives the handler
	call     *Call    // nil for a request of a client
	dialect  *Dialect // may be nil
	err      error    // that was answered, or nil

	unfinished unfinished.Reason    // "" for a finished answer
	manifest   *provenance.Manifest // of the answer; nil if the request asks for none

	cleanups []func()
	once     sync.Once
}

type exchangeKey struct{}

// exchangeOf returns the exchange that c belongs to.
func exchangeOf(c *fiber.Ctx) *exchange { return c.Context().UserValue(exchangeKey{}).(*exchange) }

// startExchange gives the request its id, deadline, span and place in the metrics. Strings that Fiber lends are copied,
// since a stream outlives the handler.
func (g *Gateway) startExchange(c *fiber.Ctx) *exchange {
	id := requestID(c.Get(RequestIDHeader))
	call, caller := callOf(c.Context())
	x := &exchange{
		gateway: g,
		request: &telemetry.Request{ID: id, API: g.api.Name(), Background: call.isBackground()},
		log:     g.opts.Logger.With().Str("api", g.api.Name()).Str("request", id).Logger(),
		start:   time.Now(),
		method:  fault.Clip(utils.CopyString(c.Method())),
		path:    fault.Clip(utils.CopyString(c.Path())),
		bytesIn: max(0, c.Request().Header.ContentLength()),
		call:    call,
		dialect: dialectOf(c.Context()),
	}
	c.Set(RequestIDHeader, id)
	g.opts.Metrics.AddInFlight(g.api.Name(), 1)

	ctx := otel.GetTextMapPropagator().Extract(g.life, propagation.MapCarrier{
		"traceparent": utils.CopyString(c.Get("traceparent")),
		"tracestate":  utils.CopyString(c.Get("tracestate")),
	})
	name := x.method + " " + g.api.Name() + x.path
	ctx, x.span = telemetry.Tracer().Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
	ctx = telemetry.WithRequest(g.identify(ctx, c), x.request)
	if call != nil && call.WithValues != nil {
		ctx = call.WithValues(ctx)
	}
	ctx, cancel := context.WithCancelCause(x.withDeadline(ctx))
	x.atEnd(func() { cancel(nil) })
	if caller != nil {
		stop := context.AfterFunc(caller, func() { cancel(context.Cause(caller)) })
		x.atEnd(func() { stop() })
	}
	x.atEnd(g.departures.Add(c.Context().Conn(), cancel))
	c.SetUserContext(ctx)
	c.Context().SetUserValue(exchangeKey{}, x)
	return x
}

// withDeadline returns ctx with the deadline of the request and an earlier one, at which a search must stop to answer
// with what it has found. Half of the time between the two is for scoring its results, half for the answer.
func (x *exchange) withDeadline(ctx context.Context) context.Context {
	timeout := x.gateway.opts.Timeout
	stopping := x.gateway.opts.Stopping
	if x.call != nil && x.call.Timeout > 0 {
		timeout = x.call.Timeout
	}
	if x.call != nil && x.call.Stopping != nil {
		stopping = x.call.Stopping
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	x.atEnd(cancel)
	reserve := unfinished.Reserve(timeout)
	limits := unfinished.Limits{End: x.start.Add(timeout - reserve), Grace: reserve / 2, Stopping: stopping}
	return unfinished.WithLimits(ctx, limits)
}

// noteUnfinished records that an answer is unfinished, if it is, and returns why.
func (x *exchange) noteUnfinished(answer any) unfinished.Reason {
	a, ok := answer.(unfinished.Answer)
	if !ok {
		return ""
	}
	explanation := a.ExplainUnfinished()
	if explanation == nil {
		return ""
	}
	x.err = explanation.Err
	x.unfinished = explanation.Reason
	x.gateway.opts.Metrics.CountUnfinished(x.request.API, string(x.unfinished))
	return x.unfinished
}

// atEnd adds a function to call when the exchange ends.
func (x *exchange) atEnd(f func()) { x.cleanups = append(x.cleanups, f) }

// takePermit waits for a permit, which the exchange holds until it ends.
func (x *exchange) takePermit(ctx context.Context, heavy bool) (err error) {
	var release func()
	if x.call.isBackground() {
		release, err = x.gateway.permits.AcquireBackground(ctx)
	} else {
		if start := x.gateway.opts.StartRequest; start != nil {
			end := start(x.request.API + " " + x.route)
			x.atEnd(func() { end(x.err == nil) })
		}
		release, err = x.gateway.permits.Acquire(ctx, heavy)
	}
	if err == nil {
		x.atEnd(release)
	}
	return err
}

// setRoute records the route for the metrics, since Fiber's context does not outlive the handler.
func (x *exchange) setRoute(c *fiber.Ctx) { x.route = utils.CopyString(c.Route().Path) }

// catchPanic calls f and returns its panic as an error.
func (x *exchange) catchPanic(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			x.log.Error().Bytes("stack", debug.Stack()).Msgf("panic: %v", p)
			err = fault.New(fault.Internal, "panic: %v", p)
		}
	}()
	return f()
}

// finish answers an error of the handler and ends the exchange, unless it ends with a stream.
func (x *exchange) finish(c *fiber.Ctx, err error) error {
	if err == nil && x.isStream {
		return nil
	}
	if err != nil {
		x.answerError(c, err)
	}
	x.end(c.Response().StatusCode(), len(c.Response().Body()))
	return nil
}

// end closes the exchange: permits, span, metrics and the log line. Later calls do nothing.
func (x *exchange) end(status, bytesOut int) {
	x.once.Do(func() {
		for i := len(x.cleanups) - 1; i >= 0; i-- {
			x.cleanups[i]()
		}
		took := time.Since(x.start)
		if x.route == "" {
			x.route = telemetry.OtherRoute
			if x.gateway.routes[x.path] {
				x.route = x.path
			}
		}
		m := x.gateway.opts.Metrics
		m.AddInFlight(x.request.API, -1)
		m.ObserveRequest(x.request, x.route, x.method, status, took)
		x.endSpan(status)
		x.report(status, bytesOut, took)
	})
}

func (x *exchange) endSpan(status int) {
	x.span.SetAttributes(
		attribute.String("http.request.method", x.method),
		attribute.String("http.route", x.route),
		attribute.Int("http.response.status_code", status),
		attribute.String("retort.request_id", x.request.ID))
	if status >= 500 {
		x.span.SetStatus(codes.Error, "")
	}
	if x.err != nil {
		x.span.RecordError(x.err)
	}
	x.span.End()
}

// report writes the log line of the request.
func (x *exchange) report(status, bytesOut int, took time.Duration) {
	event := x.log.Info()
	// A probe answers 503 without an error: the service is not ready, and nothing has failed.
	isUnready := status == fiber.StatusServiceUnavailable && x.err == nil
	switch {
	case status >= 500 && fault.KindOf(x.err) == fault.Internal && !isUnready:
		event = x.log.Error()
	case x.call.isBackground(), status < 400 && x.method == fiber.MethodGet && x.request.Triton() == 0:
		event = x.log.Debug() // lines of batches, which report their own failures and are retried; probes and scrapes
	case status >= 400:
		event = x.log.Warn()
	}
	if x.err != nil {
		event = event.AnErr("error", x.err)
	}
	if x.unfinished != "" {
		event = event.Str("unfinished", string(x.unfinished))
	}
	event.Str("method", x.method).Str("path", x.path).Int("status", status).
		Float64("ms", milliseconds(took)).
		Float64("triton_ms", milliseconds(min(x.request.Triton(), took))).
		Float64("queued_ms", milliseconds(x.request.Queued())).
		Int64("rows", x.request.Rows()).Int64("tokens", x.request.Tokens()).
		Int("bytes_in", x.bytesIn).Int("bytes_out", bytesOut).
		Msg("request")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// maxRequestID is the upper bound on the length of an id from a client.
const maxRequestID = 128

// requestID returns the id from the client if it is short and printable, else a new one.
func requestID(given string) string {
	isPrintable := strings.IndexFunc(given, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	if given != "" && len(given) <= maxRequestID && isPrintable {
		return utils.CopyString(given)
	}
	return rand.Text()
}
