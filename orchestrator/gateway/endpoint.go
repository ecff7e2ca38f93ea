package gateway

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"
)

// Validator is a request that knows its documented bounds.
type Validator interface{ Validate() error }

// Defaulter is a request with defaults for the members left out.
type Defaulter interface{ SetDefaults() }

// JSON is an endpoint that answers a JSON object with a JSON value: it reads
// the body, takes a permit, decodes within the bounds, validates, calls the use
// case and encodes. *Req may be a Defaulter and a Validator.
func JSON[Req, Res any](use func(context.Context, Req) (Res, error), bounds ...Bound) fiber.Handler {
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

// receive admits a request and returns its decoded and validated body.
func receive[Req any](c *fiber.Ctx, bounds []Bound) (req Req, err error) {
	x := exchangeOf(c)
	x.named(c.Route().Path)
	body, err := x.body(c)
	if err != nil {
		return req, err
	}
	if err := x.admit(c.UserContext()); err != nil {
		return req, err
	}
	if d, ok := any(&req).(Defaulter); ok {
		d.SetDefaults()
	}
	if err := Bind(body, &req, bounds...); err != nil {
		return req, err
	}
	if v, ok := any(&req).(Validator); ok {
		return req, v.Validate()
	}
	return req, nil
}

// send encodes body as the answer.
func send(c *fiber.Ctx, body any) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return json.MarshalWrite(c.Response().BodyWriter(), body, json.Deterministic(true))
}
