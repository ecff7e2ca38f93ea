package gateway

import (
	"context"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// Validator is a request that knows its documented bounds.
type Validator interface{ Validate() error }

// Defaulter is a request with defaults for the members left out.
type Defaulter interface{ SetDefaults() }

// JSON is an endpoint that answers a JSON object with a JSON value: it takes
// a permit, decodes, validates, calls the use case and encodes. *Req may be a
// Defaulter and a Validator.
func JSON[Req, Res any](use func(context.Context, Req) (Res, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		req, err := receive[Req](c)
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
		callOf(c).named(c.Route().Path)
		res, err := use(c.UserContext())
		if err != nil {
			return err
		}
		return send(c, res)
	}
}

// receive admits a request and returns its decoded and validated body.
func receive[Req any](c *fiber.Ctx) (req Req, err error) {
	l := callOf(c)
	l.named(c.Route().Path)
	body, err := l.body(c)
	if err != nil {
		return req, err
	}
	if err := l.admit(c.UserContext()); err != nil {
		return req, err
	}
	if d, ok := any(&req).(Defaulter); ok {
		d.SetDefaults()
	}
	if err := Bind(body, &req); err != nil {
		return req, err
	}
	if v, ok := any(&req).(Validator); ok {
		return req, v.Validate()
	}
	return req, nil
}

// body returns the request's body. One that is too large is read on for a
// while before it is refused: a client that is still sending would otherwise
// see a broken connection and not the answer.
func (l *call) body(c *fiber.Ctx) ([]byte, error) {
	limit := l.gateway.opts.BodyLimit
	if !c.Request().IsBodyStream() {
		body := c.Body()
		if len(body) > limit {
			return nil, tooLarge(limit)
		}
		return body, nil
	}
	stream := c.Context().RequestBodyStream()
	if c.Request().Header.ContentLength() <= limit {
		body, err := io.ReadAll(io.LimitReader(stream, int64(limit)+1))
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "the request's body could not be read")
		}
		if len(body) <= limit {
			l.bytesIn = len(body)
			return body, nil
		}
	}
	discard(stream, mostDiscarded, 5*time.Second)
	c.Context().SetConnectionClose()
	return nil, tooLarge(limit)
}

// mostDiscarded bounds what is read of a body only to be thrown away.
const mostDiscarded = 256 << 20

func discard(r io.Reader, most int64, patience time.Duration) {
	until := time.Now().Add(patience)
	for buf := make([]byte, 64<<10); most > 0 && time.Now().Before(until); {
		n, err := r.Read(buf)
		most -= int64(n)
		if err != nil {
			return
		}
	}
}

func tooLarge(limit int) error {
	return fault.New(fault.TooLarge, "The request body is larger than the limit of %d bytes.", limit)
}

// send encodes body as the answer.
func send(c *fiber.Ctx, body any) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return json.MarshalWrite(c.Response().BodyWriter(), body, json.Deterministic(true))
}
