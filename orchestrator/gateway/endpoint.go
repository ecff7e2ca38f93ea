package gateway

import (
	"context"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"retort/orchestrator/unfinished"
)

// Validator is a request that knows its documented bounds.
type Validator interface{ Validate() error }

// Defaulter is a request with defaults for the members left out.
type Defaulter interface{ SetDefaults() }

// FromHeaders is a request of which headers say something too: for clients whose bodies are not to be changed. It is told
// after its body is decoded.
type FromHeaders interface {
	FromHeaders(get func(name string) string)
}

// JSON is an endpoint that answers a JSON object with a JSON value: it reads the body, decodes it within the bounds,
// validates, takes a permit, calls the use case and encodes. *Req may be a Defaulter, Bounded, a Validator and Heavy. JSON
// panics if Bind has no rules for Req.
func JSON[Req, Res any](use func(context.Context, Req) (Res, error), bounds ...Bound) fiber.Handler {
	mustBind(reflect.TypeFor[Req]())
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

// Get is an endpoint without a body.
func Get[Res any](use func(context.Context) (Res, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		exchangeOf(c).named(c.Route().Path)
		res, err := use(c.UserContext())
		if err != nil {
			return err
		}
		return send(c, res)
	}
}

// receive returns a request's decoded and validated body once it is admitted. A permit comes last, since only then is
// it known what the request asks for; what is held until then is bounded by the size of a small body and by the memory
// budget.
func receive[Req any](c *fiber.Ctx, bounds []Bound) (req Req, err error) {
	x := exchangeOf(c)
	x.named(c.Route().Path)
	body, err := x.body(c)
	if err != nil {
		return req, err
	}
	if d, ok := any(&req).(Defaulter); ok {
		d.SetDefaults()
	}
	if o, ok := any(&req).(ForOpenAI); ok && x.openAI {
		o.ForOpenAI()
	}
	err = Bind(body, &req, bounds...)
	if h, ok := any(&req).(FromHeaders); ok {
		h.FromHeaders(func(name string) string { return utils.CopyString(c.Get(name)) })
	}
	if b, ok := any(&req).(Bounded); ok {
		err = withBounds(err, b.Bounds())
	}
	if err != nil {
		return req, err
	}
	if v, ok := any(&req).(Validator); ok {
		if err := v.Validate(); err != nil {
			return req, err
		}
	}
	heavy, _ := any(&req).(Heavy)
	return req, x.admit(c.UserContext(), heavy != nil && heavy.Heavy())
}

// send encodes body as the answer. One that is unfinished has a header that says so.
func send(c *fiber.Ctx, body any) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	if reason := exchangeOf(c).cut(body); reason != "" {
		c.Set(unfinished.Header, string(reason))
	}
	return json.MarshalWrite(c.Response().BodyWriter(), body, json.Deterministic(true))
}
