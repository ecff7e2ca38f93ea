package gateway

import (
	"bytes"
	"context"
	"net/http"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/unfinished"
)

// asker is the context, among a request's user values, of one that this program asks itself: see Ask.
type asker struct{}

// Ask has the API answer a request that this program makes for a caller whom it has let in already: no key is asked for,
// everything else is as for any client (bounds, permits, deadline, log and metrics). It ends with ctx.
func (g *Gateway) Ask(ctx context.Context, method, path string, body []byte) (status int, answer []byte) {
	status, answer, _ = g.AskAs(ctx, Asking{}, method, path, body)
	return status, answer
}

// Asking says how this program asks an API.
type Asking struct {
	ID         string // of the request; "": one is made
	OpenAI     bool   // as a client of OpenAI's: see OpenAIClient
	Background bool   // requests of clients go first: their permits and their rows
}

// AskAs is Ask in a certain manner. cut is why the answer is unfinished, "" of one that is not.
func (g *Gateway) AskAs(
	ctx context.Context, how Asking, method, path string, body []byte,
) (status int, answer []byte, cut unfinished.Reason) {
	var request fasthttp.Request
	request.Header.SetMethod(method)
	request.SetRequestURI(path)
	request.Header.SetHost("localhost")
	request.Header.SetContentType(fiber.MIMEApplicationJSON)
	request.SetBodyRaw(body)
	if how.ID != "" {
		request.Header.Set(RequestIDHeader, how.ID)
	}
	var c fasthttp.RequestCtx
	c.Init(&request, nil, nil)
	c.SetUserValue(asker{}, ctx)
	if how.OpenAI {
		OpenAIClient(&c)
	}
	if how.Background {
		c.SetUserValue(background{}, true)
	}
	g.app.Handler()(&c)
	cut = unfinished.Reason(c.Response.Header.Peek(unfinished.Header))
	return c.Response.StatusCode(), bytes.Clone(c.Response.Body()), cut
}

// background marks, among a request's user values, one that waits for those of clients: see Asking.
type background struct{}

func isBackground(c *fasthttp.RequestCtx) bool { return c.UserValue(background{}) != nil }

// askedBy is the context of a request that this program made itself, nil of any other.
func askedBy(c *fasthttp.RequestCtx) context.Context {
	ctx, _ := c.UserValue(asker{}).(context.Context)
	return ctx
}

// follow ends an exchange with the context of whoever asked for it, where that is this program.
func (x *exchange) follow(c *fiber.Ctx, gone context.CancelCauseFunc) {
	if asking := askedBy(c.Context()); asking != nil {
		stop := context.AfterFunc(asking, func() { gone(context.Cause(asking)) })
		x.atEnd(func() { stop() })
	}
}

// Standard is an endpoint that a handler of Go's own HTTP library answers in one piece: it gets the body once that is
// read within the bounds, with a permit, and its context ends as any request's.
func Standard(handler http.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		body, err := admitted(c)
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(c.UserContext(), c.Method(), c.OriginalURL(), bytes.NewReader(body))
		if err != nil {
			return err
		}
		request.Host = c.Hostname()
		for name, values := range c.GetReqHeaders() {
			for _, value := range values {
				request.Header.Add(name, value)
			}
		}
		answer := &written{header: http.Header{}, to: c}
		handler.ServeHTTP(answer, request)
		return nil
	}
}

// admitted is the body of a request, read within the bounds, once there is a permit for it.
func admitted(c *fiber.Ctx) ([]byte, error) {
	x := exchangeOf(c)
	x.named(c.Route().Path)
	body, err := x.body(c)
	if err != nil {
		return nil, err
	}
	return body, x.admit(c.UserContext(), false)
}

// written passes what a handler of Go's library writes on to Fiber.
type written struct {
	header http.Header
	to     *fiber.Ctx
	begun  bool
}

func (w *written) Header() http.Header { return w.header }

func (w *written) WriteHeader(status int) {
	if w.begun {
		return
	}
	w.begun = true
	w.to.Status(status)
	for name, values := range w.header {
		for _, value := range values {
			w.to.Response().Header.Add(name, value)
		}
	}
}

func (w *written) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.to.Write(p)
}
