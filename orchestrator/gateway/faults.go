package gateway

import (
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/httpserver"
)

// StatusOf returns the HTTP status for a kind of failure, unless an API documents another one.
func StatusOf(kind fault.Kind) int {
	switch kind {
	case fault.Invalid:
		return fiber.StatusBadRequest
	case fault.TooLarge:
		return fiber.StatusRequestEntityTooLarge
	case fault.NotFound:
		return fiber.StatusNotFound
	case fault.Method:
		return fiber.StatusMethodNotAllowed
	case fault.Unauthorized:
		return fiber.StatusUnauthorized
	case fault.TooMany:
		return fiber.StatusTooManyRequests
	case fault.Overloaded, fault.Unavailable:
		return fiber.StatusServiceUnavailable
	case fault.Timeout:
		return fiber.StatusGatewayTimeout
	case fault.Canceled:
		return 499 // for the log: the client has left
	default:
		return fiber.StatusInternalServerError
	}
}

// RefusePlainly answers a request that reaches no API: see httpserver.Guard.
func RefusePlainly(ctx *fasthttp.RequestCtx, f *fault.Error) {
	httpserver.AnswerError(ctx, StatusOf(f.Kind), f.Message)
}

// RenderFunc renders a failure as a status and a body, which is encoded as JSON.
type RenderFunc = func(f *fault.Error) (status int, body any)

// PathRenderer is an API that also has endpoints of other published APIs, whose clients expect other error bodies.
type PathRenderer interface {
	// Renderer returns the renderer for a path, or nil if it is RenderFault.
	Renderer(path string) RenderFunc
}

// Interface is a set of endpoints of another published API.
type Interface interface {
	// Routes adds the endpoints.
	Routes(r fiber.Router)
	PathRenderer
}

// Interfaces are the additional interfaces of an API, which embeds them.
type Interfaces []Interface

// Mount adds interfaces to an API. It is called before Routes.
func (all *Interfaces) Mount(more ...Interface) { *all = append(*all, more...) }

// Routes adds the endpoints of all interfaces.
func (all Interfaces) Routes(r fiber.Router) {
	for _, i := range all {
		i.Routes(r)
	}
}

// Renderer returns the renderer of the interface that a path belongs to, or nil.
func (all Interfaces) Renderer(path string) RenderFunc {
	for _, i := range all {
		if render := i.Renderer(path); render != nil {
			return render
		}
	}
	return nil
}

// Dialect is how clients of another published API expect failures of any API, except those with a renderer for the
// path.
type Dialect struct {
	Render RenderFunc
	// RenderStream returns the data of the events that end a stream after a failure.
	RenderStream func(f *fault.Error) []any
}

type dialectKey struct{}

// SetDialect marks a request as one of a client that expects a dialect. Its request is also read more leniently: see
// Lenient.
func SetDialect(ctx *fasthttp.RequestCtx, d *Dialect) { ctx.SetUserValue(dialectKey{}, d) }

// dialectOf returns the dialect of a request, or nil.
func dialectOf(ctx *fasthttp.RequestCtx) *Dialect {
	d, _ := ctx.UserValue(dialectKey{}).(*Dialect)
	return d
}

// Identified is the body of a failure that has the id of the request. SetRequestID is called before it is encoded.
type Identified interface{ SetRequestID(id string) }

// identify sets the id of the request in a body that has it.
func (x *exchange) identify(body any) (isIdentified bool) {
	identified, isIdentified := body.(Identified)
	if isIdentified {
		identified.SetRequestID(x.request.ID)
	}
	return isIdentified
}

// Refusal is an error answer of another API, to be passed on unchanged.
type Refusal struct {
	Status int
	Body   []byte
}

func (r *Refusal) Error() string { return string(r.Body) }

// answerError answers with err as the client expects it.
func (x *exchange) answerError(c *fiber.Ctx, err error) {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		x.err = err
		c.Status(refusal.Status).Response().SetBodyRaw(refusal.Body)
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return
	}
	f := classify(err)
	x.err = f
	if f.Kind == fault.Overloaded && !x.call.isBackground() {
		x.gateway.opts.Metrics.CountRefusal(x.request.API)
	}
	if f.RetryAfter > 0 || f.Kind == fault.Overloaded || f.Kind == fault.Unavailable {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(max(1, int(f.RetryAfter.Round(time.Second)/time.Second))))
	}
	if f.Kind == fault.Unauthorized {
		c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	}
	status, body := x.renderer()(f)
	if x.identify(body) {
		c.Set(ShortRequestIDHeader, x.request.ID)
	}
	c.Response().ResetBody()
	c.Status(status)
	x.manifest = nil
	if err := send(c, body); err != nil {
		x.log.Error().Err(err).Msg("fault not encoded")
	}
}

// renderer returns the renderer that the client expects.
func (x *exchange) renderer() RenderFunc {
	if api, ok := x.gateway.api.(PathRenderer); ok {
		if render := api.Renderer(x.path); render != nil {
			return render
		}
	}
	if x.dialect != nil {
		return x.dialect.Render
	}
	return x.gateway.api.RenderFault
}

// classify returns any error as a fault that may be shown: internal ones are replaced.
func classify(err error) *fault.Error {
	var fromFiber *fiber.Error
	if errors.As(err, &fromFiber) {
		return faultOf(fromFiber)
	}
	f := fault.As(err).Clipped()
	if f.Kind != fault.Internal && f.Kind != fault.Rejected {
		return f
	}
	return &fault.Error{Kind: fault.Internal, Message: "Internal server error", Err: err}
}

func faultOf(err *fiber.Error) *fault.Error {
	switch err.Code {
	case fiber.StatusNotFound:
		return fault.Missing(fault.Route, "Not Found")
	case fiber.StatusMethodNotAllowed:
		return fault.New(fault.Method, "Method Not Allowed")
	case fiber.StatusRequestEntityTooLarge:
		return fault.New(fault.TooLarge, "%s", err.Message)
	default:
		return fault.Wrap(fault.Invalid, err, "%s", err.Message)
	}
}
