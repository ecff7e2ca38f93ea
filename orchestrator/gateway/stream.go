package gateway

import (
	"bufio"
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// Events is a server-sent event stream under way.
type Events struct {
	exchange *exchange
	ctx      context.Context
	next     chan []byte
}

// Send writes one event with v, encoded as JSON, as its data. It returns the context's error once the client has left
// or the deadline has passed.
func (e *Events) Send(v any) error {
	e.exchange.cut(v)
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.SendText(string(data))
}

// SendNamed is Send for an event that has a name.
func (e *Events) SendNamed(name string, v any) error {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	return e.send("event: " + name + "\ndata: " + string(data) + "\n\n")
}

// SendText writes one event with a single line of text as its data.
func (e *Events) SendText(data string) error { return e.send("data: " + data + "\n\n") }

func (e *Events) send(event string) error {
	select {
	case e.next <- []byte(event):
		return nil
	case <-e.ctx.Done():
		return e.ctx.Err()
	}
}

// StreamFaults is an API that words a failure within a stream, after status 200 has been sent: the data of the events
// that end it.
type StreamFaults interface {
	RenderStreamFault(f *fault.Error) []any
}

// Ending is the error of a stream that words its end itself: an API with two kinds of streams. Err is classified and
// logged like any other; Events are the data of the events that tell the client, given what it may know of Err.
type Ending struct {
	Err    error
	Events func(f *fault.Error) []any
}

func (e *Ending) Error() string { return e.Err.Error() }

func (e *Ending) Unwrap() error { return e.Err }

// pulse is how often an idle stream sends a comment: proxies keep the connection, and a departed client shows.
const pulse = 10 * time.Second

// JSONOrStream is an endpoint that answers in one piece or, when wants says so, as server-sent events. What fails
// before the first event is answered with its status like any other request. JSONOrStream panics if Bind has no rules for
// Req.
func JSONOrStream[Req, Res any](
	wants func(Req) bool,
	whole func(context.Context, Req) (Res, error),
	stream func(context.Context, Req, *Events) error,
	bounds ...Bound,
) fiber.Handler {
	mustBind(reflect.TypeFor[Req]())
	return func(c *fiber.Ctx) error {
		req, err := receive[Req](c, bounds)
		if err != nil {
			return err
		}
		if workOf(c.Context()).Trial {
			return c.SendStatus(fiber.StatusNoContent)
		}
		if !wants(req) {
			res, err := whole(c.UserContext(), req)
			if err != nil {
				return err
			}
			return send(c, res)
		}
		return events(c, func(ctx context.Context, e *Events) error { return stream(ctx, req, e) })
	}
}

// events runs produce beside the connection. The body is written by fasthttp after this handler has returned, so the
// exchange stays open until then.
func events(c *fiber.Ctx, produce func(context.Context, *Events) error) error {
	x := exchangeOf(c)
	ctx, stop := context.WithCancel(c.UserContext())
	x.atEnd(stop)
	e := &Events{exchange: x, ctx: ctx, next: make(chan []byte, 16)}
	ended := make(chan error, 1)
	go func() {
		err := x.guard(func() error { return produce(ctx, e) })
		close(e.next)
		ended <- err
	}()
	first, more := <-e.next
	if !more {
		if err := <-ended; err != nil {
			return err
		}
	}
	c.Set(fiber.HeaderContentType, "text/event-stream; charset=utf-8")
	c.Set(fiber.HeaderCacheControl, "no-cache")
	c.Set("X-Accel-Buffering", "no")
	x.stream = true
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		written := 0
		err := x.guard(func() error { // fasthttp runs this in a goroutine of its own
			written = x.write(w, first, e.next, stop)
			if more {
				written += x.writeFailure(w, <-ended)
			}
			return nil
		})
		if err != nil {
			x.err = x.gateway.classify(err)
		}
		x.end(fiber.StatusOK, written)
	})
	return nil
}

// write copies events to the client until there are no more. After a failed flush it stops the producer and only
// drains.
func (x *exchange) write(w *bufio.Writer, first []byte, next <-chan []byte, stop func()) (written int) {
	idle := time.NewTicker(pulse)
	defer idle.Stop()
	put := func(event []byte) {
		n, err := w.Write(event)
		written += n
		if err != nil || w.Flush() != nil {
			stop()
		}
	}
	put(first)
	for {
		select {
		case event, more := <-next:
			if !more {
				return written
			}
			put(event)
		case <-idle.C:
			put([]byte(": alive\n\n"))
		}
	}
}

// endOfStream is the last event of OpenAI's streams.
const endOfStream = "[DONE]"

// lastEvents words the failure of a stream.
func (x *exchange) lastEvents(err error, f *fault.Error) []any {
	var ending *Ending
	if errors.As(err, &ending) {
		return ending.Events(f)
	}
	if x.openAI {
		_, body := WordForOpenAI(f)
		return []any{body, endOfStream}
	}
	if api, ok := x.gateway.api.(StreamFaults); ok {
		return api.RenderStreamFault(f)
	}
	return nil
}

// writeFailure writes the events that tell the client why its stream failed.
func (x *exchange) writeFailure(w *bufio.Writer, err error) (written int) {
	if err == nil {
		return 0
	}
	f := x.gateway.classify(err)
	x.err = f
	for _, event := range x.lastEvents(err, f) {
		data, isText := event.(string)
		if !isText {
			encoded, err := json.Marshal(event, json.Deterministic(true))
			if err != nil {
				return written
			}
			data = string(encoded)
		}
		n, _ := w.WriteString("data: " + data + "\n\n")
		written += n
	}
	w.Flush()
	return written
}
