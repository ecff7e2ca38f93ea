package gateway

import (
	"bytes"
	"context"
	"net/url"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/bind"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/memory"
	"retort/orchestrator/unfinished"
)

// Optional interfaces of request types.
type (
	// Defaulter sets the defaults of members that the body may leave out. It is called before the body is decoded.
	Defaulter interface{ SetDefaults() }

	// Lenient makes a request accept more for a client that expects a dialect. It is called before the body is decoded.
	Lenient interface{ SetLenient() }

	// FromAddress reads members from headers and the query, for clients whose body cannot have them. It is called after
	// the body has been decoded, and returns what is wrong with them.
	FromAddress interface {
		FromAddress(header func(name string) string, query func(name string) []string) []*fault.Error
	}

	// Bounded checks the documented bounds that concern one member each. They are checked even if other members could
	// not be decoded, so that an answer names every problem at once. Entries may be nil.
	Bounded interface{ Bounds() []*fault.Error }

	// Validator checks a request that was decoded and is within its bounds.
	Validator interface{ Validate() error }

	// Heavy reports whether a request asks for so much work that short requests must not wait for it: thousands of
	// texts, a long search.
	Heavy interface{ Heavy() bool }
)

// WithHeaders is an answer with headers, for what its body cannot say.
type WithHeaders interface {
	Headers() map[string]string
}

// JSON is an endpoint that answers a JSON object with a JSON value: it reads the body, decodes it within the bounds,
// validates, takes a permit, calls the use case and encodes its answer. JSON panics if Req has fields that package bind
// cannot decode.
func JSON[Req, Res any](use func(context.Context, Req) (Res, error), bounds ...bind.Bound) fiber.Handler {
	bind.MustSupport(reflect.TypeFor[Req]())
	return func(c *fiber.Ctx) error {
		req, err := receive[Req](c, bounds)
		if err != nil {
			return err
		}
		res, err := use(c.UserContext(), req)
		if err != nil {
			return err
		}
		return send(c, res)
	}
}

// JSONWithParams is JSON for a path with parameters.
func JSONWithParams[Req, Res any](use func(context.Context, Params, Req) (Res, error)) fiber.Handler {
	bind.MustSupport(reflect.TypeFor[Req]())
	return func(c *fiber.Ctx) error {
		req, err := receive[Req](c, nil)
		if err != nil {
			return err
		}
		res, err := use(c.UserContext(), Params{c}, req)
		if err != nil {
			return err
		}
		return send(c, res)
	}
}

// Get is an endpoint without a body or parameters. It takes no permit.
func Get[Res any](use func(context.Context) (Res, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		exchangeOf(c).setRoute(c)
		res, err := use(c.UserContext())
		if err != nil {
			return err
		}
		return send(c, res)
	}
}

// ProbePaths are the health endpoints of text-embeddings-inference. Like all health endpoints they need no key.
var ProbePaths = []string{"/health", "/ping"}

// Probe is an endpoint without an answer's body: status 200, or the failure of ready.
func Probe(ready func() error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		exchangeOf(c).setRoute(c)
		return ready()
	}
}

// Params are the parameters in the path and the query of a request.
type Params struct{ c *fiber.Ctx }

// Path returns a parameter of the path, unescaped.
func (p Params) Path(name string) string {
	text := utils.CopyString(p.c.Params(name))
	if unescaped, err := url.PathUnescape(text); err == nil {
		return unescaped
	}
	return text
}

// Query returns a parameter of the query, or "".
func (p Params) Query(name string) string { return utils.CopyString(p.c.Query(name)) }

// WithParams is an endpoint without a body, of any method. It takes a permit.
func WithParams[Res any](use func(context.Context, Params) (Res, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		x := exchangeOf(c)
		x.setRoute(c)
		if err := x.takePermit(c.UserContext(), false); err != nil {
			return err
		}
		httpserver.MarkServing(c.Context()) // a body would not be read
		res, err := use(c.UserContext(), Params{c})
		if err != nil {
			return err
		}
		return send(c, res)
	}
}

// Raw is an endpoint whose use case gets the undecoded body and returns the status.
func Raw[Res any](use func(ctx context.Context, body []byte) (status int, res Res, err error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		body, err := receiveRaw(c)
		if err != nil {
			return err
		}
		status, res, err := use(c.UserContext(), bytes.Clone(body))
		if err != nil {
			return err
		}
		c.Status(status)
		return send(c, res)
	}
}

// receive returns a request's decoded and validated body with a permit. The permit comes last, since only then is it
// known whether the request is heavy. Until then a request holds no more than a small body and its share of the memory
// budget.
func receive[Req any](c *fiber.Ctx, bounds []bind.Bound) (req Req, err error) {
	x := exchangeOf(c)
	x.setRoute(c)
	body, err := x.readBody(c, bodyWeight(c, reflect.TypeFor[Req]()))
	if err != nil {
		return req, err
	}
	if r, ok := any(&req).(Defaulter); ok {
		r.SetDefaults()
	}
	if r, ok := any(&req).(Lenient); ok && x.dialect != nil {
		r.SetLenient()
	}
	err = bind.JSON(body, &req, bounds...)
	if r, ok := any(&req).(FromAddress); ok {
		header := func(name string) string { return utils.CopyString(c.Get(name)) }
		query := func(name string) (values []string) {
			for _, value := range c.Context().QueryArgs().PeekMulti(name) {
				values = append(values, string(value))
			}
			return values
		}
		err = bind.Merge(err, r.FromAddress(header, query))
	}
	if r, ok := any(&req).(Bounded); ok {
		err = bind.Merge(err, r.Bounds())
	}
	if err == nil {
		err = x.startManifest(c, body, &req)
	}
	if err != nil {
		return req, err
	}
	if r, ok := any(&req).(Validator); ok {
		if err := r.Validate(); err != nil {
			return req, err
		}
	}
	r, ok := any(&req).(Heavy)
	return req, x.takePermit(c.UserContext(), ok && r.Heavy())
}

// receiveRaw returns a request's body with a permit.
func receiveRaw(c *fiber.Ctx) ([]byte, error) {
	x := exchangeOf(c)
	x.setRoute(c)
	body, err := x.readBody(c, memory.BodyWeight)
	if err != nil {
		return nil, err
	}
	return body, x.takePermit(c.UserContext(), false)
}

// readBody returns the request's body. Its memory, weight bytes for each of its bytes, is released when the exchange
// ends.
func (x *exchange) readBody(c *fiber.Ctx, weight int) ([]byte, error) {
	opts := x.gateway.opts
	body, release, err := httpserver.ReadBody(c.UserContext(), c.Context(), opts.BodyLimit, weight, opts.Memory)
	if err != nil {
		return nil, err
	}
	x.atEnd(release)
	if c.Request().IsBodyStream() {
		x.bytesIn = len(body)
	}
	return body, nil
}

// send encodes body as the answer, with a header if it is unfinished.
func send(c *fiber.Ctx, body any) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	if r, ok := body.(WithHeaders); ok {
		for name, value := range r.Headers() {
			c.Set(name, value)
		}
	}
	x := exchangeOf(c)
	if reason := x.noteUnfinished(body); reason != "" {
		c.Set(unfinished.Header, string(reason))
	}
	if x.manifest != nil {
		text, err := x.encodeWithManifest(c.UserContext(), body)
		if err != nil {
			return err
		}
		return c.Send(text)
	}
	return json.MarshalWrite(c.Response().BodyWriter(), body, json.Deterministic(true))
}
