package gateway

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/tmaxmax/go-sse"
	"github.com/valyala/fasthttp"
)

// Work says how the API does a request that this program makes for a job: see Follow.
type Work struct {
	// Timeout is the longest time for it, in place of the API's; 0 for that one.
	Timeout time.Duration
	// Stopping ends when the work has to end with what it has, for the reason that is its cause (unfinished.Reason); nil:
	// when the process is being stopped.
	Stopping context.Context
	// Trial has the body checked and nothing done: it is answered with 204, or refused as it would be.
	Trial bool
}

type workKey struct{}

func workOf(c *fasthttp.RequestCtx) Work {
	work, _ := c.UserValue(workKey{}).(Work)
	return work
}

// Follow has the API answer a request as Ask does, and calls each with the data of every event while they come, where the
// answer is a stream. It returns the whole answer, or the data of the last event. It ends with ctx, and with an error of
// each. Requests of clients go first, as in Asking.
func (g *Gateway) Follow(
	ctx context.Context, work Work, path string, body []byte, each func(data []byte) error,
) (status int, answer []byte, err error) {
	var request fasthttp.Request
	request.Header.SetMethod(http.MethodPost)
	request.SetRequestURI(path)
	request.Header.SetHost("localhost")
	request.Header.SetContentType(fiber.MIMEApplicationJSON)
	request.SetBodyRaw(body)
	var c fasthttp.RequestCtx
	c.Init(&request, nil, nil)
	c.SetUserValue(asker{}, ctx)
	c.SetUserValue(workKey{}, work)
	if !work.Trial {
		c.SetUserValue(background{}, true)
	}
	g.app.Handler()(&c)
	stream := c.Response.BodyStream()
	if stream == nil {
		return c.Response.StatusCode(), bytes.Clone(c.Response.Body()), nil
	}
	defer func() { _ = c.Response.CloseBodyStream() }()
	answer, err = readEvents(stream, each)
	return c.Response.StatusCode(), answer, err
}

// readEvents calls each with the data of every event and returns the last one's.
func readEvents(stream io.Reader, each func(data []byte) error) (last []byte, err error) {
	for event, err := range sse.Read(stream, &sse.ReadConfig{MaxEventSize: math.MaxInt}) {
		if err != nil {
			return last, err
		}
		last = []byte(event.Data)
		if err := each(last); err != nil {
			return last, err
		}
	}
	return last, nil
}

// Watch is an endpoint without a body that answers with server-sent events of the thing whose id is in the path, as the
// parameter param. It takes no permit: Options.Watches bounds the number of streams.
func Watch(param string, watch func(ctx context.Context, id string, events *Events) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		x := exchangeOf(c)
		x.named(c.Route().Path)
		if err := x.watch(c.UserContext(), c); err != nil {
			return err
		}
		id := Lookup{c}.Param(param)
		return events(c, func(ctx context.Context, e *Events) error { return watch(ctx, id, e) })
	}
}

// Raw is an endpoint that takes a body as it is and answers with a status of its own.
func Raw[Res any](use func(ctx context.Context, body []byte) (status int, res Res, err error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		body, err := admitted(c)
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

// Refusal is an answer that another API gave, passed on as it is.
type Refusal struct {
	Status int
	Body   []byte
}

func (r *Refusal) Error() string { return string(r.Body) }
