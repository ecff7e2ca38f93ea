package gateway

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/tmaxmax/go-sse"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/telemetry"
	"retort/orchestrator/unfinished"
)

// Call is a request that this program makes to one of its own APIs for a caller that it has authorized. No key is
// needed; bounds, permits, deadline, log and metrics are as for any client.
type Call struct {
	Method string // default POST
	Path   string
	Body   []byte
	ID     string // of the request; default: a new one
	// Caller is the client for whom the request is made, as Caller returns it; "" if no key is needed.
	Caller string
	// Dialect is what SetDialect sets; may be nil.
	Dialect *Dialect
	// Background work yields to requests of clients: they get permits first, and turns in batches for Triton.
	Background bool
	// Timeout replaces the API's, if not 0.
	Timeout time.Duration
	// Stopping replaces Options.Stopping, if not nil. Its cause is the unfinished.Reason.
	Stopping context.Context
	// WithValues adds values to the context of the request; may be nil.
	WithValues func(context.Context) context.Context
	// ManifestPath is the path of the endpoint that the manifest names, if it is not Path.
	ManifestPath string
	// ValidateOnly checks the body of a JSONOrStream endpoint without calling the use case. The answer is 204 or a
	// refusal.
	ValidateOnly bool
}

// CallResult is the answer to a Call.
type CallResult struct {
	Status     int
	Body       []byte
	Unfinished unfinished.Reason // "" for a finished answer
	// Work is what the request took of models.
	Work *telemetry.Request
}

// Call makes a request and returns its answer, which must not be a stream. The request ends with ctx.
func (g *Gateway) Call(ctx context.Context, call Call) CallResult {
	c := g.do(ctx, &call)
	return CallResult{
		Status:     c.Response.StatusCode(),
		Body:       bytes.Clone(c.Response.Body()),
		Unfinished: unfinished.Reason(c.Response.Header.Peek(unfinished.Header)),
		Work:       workOf(c),
	}
}

// workOf returns the account of a request that has ended.
func workOf(c *fasthttp.RequestCtx) *telemetry.Request {
	if x, ok := c.UserValue(exchangeKey{}).(*exchange); ok {
		return x.request
	}
	return &telemetry.Request{}
}

// Follow makes a request whose answer may be a stream, and calls onEvent with the data of each event as it arrives. It
// returns the answer or, for a stream, the data of the last event. The request ends with ctx or an error of onEvent.
func (g *Gateway) Follow(
	ctx context.Context, call Call, onEvent func(data []byte) error,
) (status int, body []byte, err error) {
	c := g.do(ctx, &call)
	stream := c.Response.BodyStream()
	if stream == nil {
		return c.Response.StatusCode(), bytes.Clone(c.Response.Body()), nil
	}
	defer func() { _ = c.Response.CloseBodyStream() }()
	body, err = readEvents(stream, onEvent)
	return c.Response.StatusCode(), body, err
}

// callKey is the key of a request's user value for the call that it is part of.
type callKey struct{}

type callValue struct {
	call   *Call
	caller context.Context
}

// callOf returns the call that a request is part of and the caller's context, or nil for a request of a client.
func callOf(c *fasthttp.RequestCtx) (*Call, context.Context) {
	v, _ := c.UserValue(callKey{}).(callValue)
	return v.call, v.caller
}

func (call *Call) isBackground() bool { return call != nil && call.Background }

func (call *Call) isValidateOnly() bool { return call != nil && call.ValidateOnly }

func (g *Gateway) do(ctx context.Context, call *Call) *fasthttp.RequestCtx {
	var request fasthttp.Request
	request.Header.SetMethod(cmp.Or(call.Method, http.MethodPost))
	request.SetRequestURI(call.Path)
	request.Header.SetHost("localhost")
	request.Header.SetContentType(fiber.MIMEApplicationJSON)
	request.SetBodyRaw(call.Body)
	if call.ID != "" {
		request.Header.Set(RequestIDHeader, call.ID)
	}
	var c fasthttp.RequestCtx
	c.Init(&request, nil, nil)
	c.SetUserValue(callKey{}, callValue{call, ctx})
	if call.Dialect != nil {
		SetDialect(&c, call.Dialect)
	}
	g.app.Handler()(&c)
	return &c
}

// readEvents calls onEvent with the data of each server-sent event and returns the last data.
func readEvents(stream io.Reader, onEvent func(data []byte) error) (last []byte, err error) {
	for event, err := range sse.Read(stream, &sse.ReadConfig{MaxEventSize: math.MaxInt}) {
		if err != nil {
			return last, err
		}
		last = []byte(event.Data)
		if err := onEvent(last); err != nil {
			return last, err
		}
	}
	return last, nil
}
