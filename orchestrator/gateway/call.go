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
)

// RequestIDHeader carries a request's id in both directions.
const RequestIDHeader = "X-Request-Id"

// call is one request from its arrival to the end of its answer.
type call struct {
	gateway *Gateway
	request *telemetry.Request
	log     zerolog.Logger
	span    trace.Span
	started time.Time
	method  string
	path    string
	route   string
	bytesIn int
	stream  bool  // the answer outlives the handler
	err     error // what was answered, if not success

	cleanups []func()
	once     sync.Once
}

type callKey struct{}

// callOf returns the call that c belongs to.
func callOf(c *fiber.Ctx) *call { return c.Context().UserValue(callKey{}).(*call) }

// begin gives the request its id, deadline, span and place in the metrics.
// Strings that Fiber lends are copied: a stream outlives the handler.
func (g *Gateway) begin(c *fiber.Ctx) *call {
	id := requestID(c.Get(RequestIDHeader))
	l := &call{
		gateway: g,
		request: &telemetry.Request{ID: id, API: g.api.Name()},
		log:     g.opts.Logger.With().Str("api", g.api.Name()).Str("request", id).Logger(),
		started: time.Now(),
		method:  utils.CopyString(c.Method()),
		path:    utils.CopyString(c.Path()),
		bytesIn: max(0, c.Request().Header.ContentLength()),
	}
	c.Set(RequestIDHeader, id)
	g.opts.Metrics.InFlight(g.api.Name(), 1)

	ctx := otel.GetTextMapPropagator().Extract(g.life, propagation.MapCarrier{
		"traceparent": utils.CopyString(c.Get("traceparent")),
		"tracestate":  utils.CopyString(c.Get("tracestate")),
	})
	ctx, l.span = telemetry.Tracer().Start(ctx, l.method+" "+g.api.Name()+l.path, trace.WithSpanKind(trace.SpanKindServer))
	ctx = telemetry.WithRequest(ctx, l.request)
	ctx, stop := context.WithTimeout(ctx, g.opts.Timeout)
	ctx, gone := context.WithCancelCause(ctx)
	l.atEnd(stop)
	l.atEnd(func() { gone(nil) })
	l.atEnd(g.departures.add(c.Context().Conn(), gone))
	c.SetUserContext(ctx)
	c.Context().SetUserValue(callKey{}, l)
	return l
}

// atEnd adds what must happen when the call ends.
func (l *call) atEnd(f func()) { l.cleanups = append(l.cleanups, f) }

// admit takes a permit for the call.
func (l *call) admit(ctx context.Context) error {
	release, err := l.gateway.permits.acquire(ctx)
	if err == nil {
		l.atEnd(release)
	}
	return err
}

// named remembers the route, while Fiber's context is at hand.
func (l *call) named(route string) { l.route = utils.CopyString(route) }

// end closes the call: permits, span, metrics and the log line.
func (l *call) end(status, bytesOut int) {
	l.once.Do(func() {
		for i := len(l.cleanups) - 1; i >= 0; i-- {
			l.cleanups[i]()
		}
		took := time.Since(l.started)
		if l.route == "" {
			l.route = "other"
			if l.gateway.routes[l.path] {
				l.route = l.path
			}
		}
		m := l.gateway.opts.Metrics
		m.InFlight(l.request.API, -1)
		m.Answered(l.request, l.route, l.method, status, took)
		l.endSpan(status)
		l.report(status, bytesOut, took)
	})
}

func (l *call) endSpan(status int) {
	l.span.SetAttributes(
		attribute.String("http.request.method", l.method),
		attribute.String("http.route", l.route),
		attribute.Int("http.response.status_code", status),
		attribute.String("retort.request_id", l.request.ID))
	if status >= 500 {
		l.span.SetStatus(codes.Error, "")
	}
	if l.err != nil {
		l.span.RecordError(l.err)
	}
	l.span.End()
}

func (l *call) report(status, bytesOut int, took time.Duration) {
	event := l.log.Info()
	switch {
	case status >= 500 && fault.KindOf(l.err) == fault.Internal:
		event = l.log.Error()
	case status >= 400:
		event = l.log.Warn()
	case l.method == fiber.MethodGet && l.request.Triton() == 0:
		event = l.log.Debug() // probes and scrapes
	}
	if l.err != nil {
		event = event.AnErr("error", l.err)
	}
	triton := min(l.request.Triton(), took)
	event.Str("method", l.method).Str("path", l.path).Int("status", status).
		Float64("ms", milliseconds(took)).Float64("triton_ms", milliseconds(triton)).
		Int64("rows", l.request.Rows()).Int64("tokens", l.request.Tokens()).
		Int("bytes_in", l.bytesIn).Int("bytes_out", bytesOut).
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
