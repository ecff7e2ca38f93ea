package gateway

import (
	"context"
	"crypto/rand"
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
	"retort/orchestrator/telemetry"
	"retort/orchestrator/unfinished"
)

// RequestIDHeader carries a request's id in both directions.
const RequestIDHeader = "X-Request-Id"

// exchange is one HTTP request from its arrival to the end of its answer.
type exchange struct {
	gateway    *Gateway
	request    *telemetry.Request
	log        zerolog.Logger
	span       trace.Span
	started    time.Time
	method     string
	path       string
	route      string
	bytesIn    int
	stream     bool  // the answer outlives the handler
	background bool  // nobody waits for it: see Asking
	openAI     bool  // the client is one of OpenAI's: see OpenAIClient
	err        error // what was answered, if not success

	unfinished unfinished.Reason // of an answer that is; else empty

	cleanups []func()
	once     sync.Once
}

type exchangeKey struct{}

// exchangeOf returns the exchange that c belongs to.
func exchangeOf(c *fiber.Ctx) *exchange { return c.Context().UserValue(exchangeKey{}).(*exchange) }

// begin gives the request its id, deadline, span and place in the metrics. Strings that Fiber lends are copied: a
// stream outlives the handler.
func (g *Gateway) begin(c *fiber.Ctx) *exchange {
	id := requestID(c.Get(RequestIDHeader))
	x := &exchange{
		gateway:    g,
		request:    &telemetry.Request{ID: id, API: g.api.Name(), Background: isBackground(c.Context())},
		log:        g.opts.Logger.With().Str("api", g.api.Name()).Str("request", id).Logger(),
		started:    time.Now(),
		method:     fault.Clip(utils.CopyString(c.Method())),
		path:       fault.Clip(utils.CopyString(c.Path())),
		bytesIn:    max(0, c.Request().Header.ContentLength()),
		openAI:     isOpenAIClient(c.Context()),
		background: isBackground(c.Context()),
	}
	c.Set(RequestIDHeader, id)
	g.opts.Metrics.InFlight(g.api.Name(), 1)

	ctx := otel.GetTextMapPropagator().Extract(g.life, propagation.MapCarrier{
		"traceparent": utils.CopyString(c.Get("traceparent")),
		"tracestate":  utils.CopyString(c.Get("tracestate")),
	})
	ctx, x.span = telemetry.Tracer().Start(ctx, x.method+" "+g.api.Name()+x.path, trace.WithSpanKind(trace.SpanKindServer))
	ctx = telemetry.WithRequest(g.identified(ctx, c), x.request)
	timeout, stopping := g.times(workOf(c.Context()))
	ctx, stop := context.WithTimeout(ctx, timeout)
	ctx = unfinished.Within(ctx, limits(x.started, timeout, stopping))
	ctx, gone := context.WithCancelCause(ctx)
	x.atEnd(stop)
	x.atEnd(func() { gone(nil) })
	x.follow(c, gone)
	x.atEnd(g.departures.add(c.Context().Conn(), gone))
	c.SetUserContext(ctx)
	c.Context().SetUserValue(exchangeKey{}, x)
	return x
}

// limits say when the work of a request that came at a moment has to end with what it has. Half of the time that is left
// then is for what was found and has no score yet, half for the answer.
func limits(came time.Time, timeout time.Duration, stopping context.Context) unfinished.Limits {
	reserve := unfinished.Reserve(timeout)
	return unfinished.Limits{End: came.Add(timeout - reserve), Grace: reserve / 2, Stopping: stopping}
}

// times are how long a request may take, and what ends when its work has to.
func (g *Gateway) times(work Work) (timeout time.Duration, stopping context.Context) {
	timeout = g.opts.Timeout
	stopping = g.opts.Stopping
	if work.Timeout > 0 {
		timeout = work.Timeout
	}
	if work.Stopping != nil {
		stopping = work.Stopping
	}
	return timeout, stopping
}

// cut notes that an answer is unfinished, if it is, and returns why.
func (x *exchange) cut(answer any) unfinished.Reason {
	one, ok := answer.(unfinished.Answer)
	if !ok || one.Cut() == nil {
		return ""
	}
	x.err = one.Cut().Err
	x.unfinished = one.Cut().Reason
	x.gateway.opts.Metrics.Unfinished(x.request.API, string(x.unfinished))
	return x.unfinished
}

// atEnd adds what must happen when the exchange ends.
func (x *exchange) atEnd(f func()) { x.cleanups = append(x.cleanups, f) }

// admit takes a permit for the exchange.
func (x *exchange) admit(ctx context.Context, heavy bool) error {
	if tell := x.gateway.opts.Interactive; tell != nil && !x.background {
		ended := tell(x.request.API + " " + x.route)
		x.atEnd(func() { ended(x.err == nil) })
	}
	acquire := func() (func(), error) { return x.gateway.permits.acquire(ctx, heavy) }
	if x.background {
		acquire = func() (func(), error) { return x.gateway.permits.acquireBehind(ctx) }
	}
	release, err := acquire()
	if err == nil {
		x.atEnd(release)
	}
	return err
}

// named remembers the route, while Fiber's context is at hand.
func (x *exchange) named(route string) { x.route = utils.CopyString(route) }

// end closes the exchange: permits, span, metrics and the log line.
func (x *exchange) end(status, bytesOut int) {
	x.once.Do(func() {
		for i := len(x.cleanups) - 1; i >= 0; i-- {
			x.cleanups[i]()
		}
		took := time.Since(x.started)
		if x.route == "" {
			x.route = unknownRoute
			if x.gateway.routes[x.path] {
				x.route = x.path
			}
		}
		m := x.gateway.opts.Metrics
		m.InFlight(x.request.API, -1)
		m.Answered(x.request, x.route, x.method, status, took)
		x.endSpan(status)
		x.report(status, bytesOut, took)
	})
}

// unknownRoute is the route in the metrics of all paths without one.
const unknownRoute = "other"

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

func (x *exchange) report(status, bytesOut int, took time.Duration) {
	event := x.log.Info()
	unready := status == fiber.StatusServiceUnavailable && x.err == nil // the answer of a handler, no failure
	switch {
	case status >= 500 && fault.KindOf(x.err) == fault.Internal && !unready:
		event = x.log.Error()
	case x.background, status < 400 && x.method == fiber.MethodGet && x.request.Triton() == 0:
		event = x.log.Debug() // lines of batches, which have their results and are asked again; probes and scrapes
	case status >= 400:
		event = x.log.Warn()
	}
	if x.err != nil {
		event = event.AnErr("error", x.err)
	}
	triton := min(x.request.Triton(), took)
	if x.unfinished != "" {
		event = event.Str("unfinished", string(x.unfinished))
	}
	event.Str("method", x.method).Str("path", x.path).Int("status", status).
		Float64("ms", milliseconds(took)).Float64("triton_ms", milliseconds(triton)).Float64("queued_ms", milliseconds(x.request.Queued())).
		Int64("rows", x.request.Rows()).Int64("tokens", x.request.Tokens()).
		Int("bytes_in", x.bytesIn).Int("bytes_out", bytesOut).
		Msg("request")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// requestID takes a caller's id if it is short and printable, else makes one.
func requestID(given string) string {
	const most = 128
	clean := given != "" && len(given) <= most && strings.IndexFunc(given, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	if clean {
		return utils.CopyString(given)
	}
	return rand.Text()
}
