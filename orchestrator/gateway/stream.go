package gateway

import (
	"bufio"
	"context"
	"errors"
	"net/netip"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/bind"
	"retort/orchestrator/unfinished"
)

// Events is an open stream of server-sent events.
type Events struct {
	exchange *exchange
	ctx      context.Context
	queue    chan []byte
}

// Send writes an event with v, encoded as JSON, as its data. It returns the context's error once the client has left or
// the deadline has passed.
func (e *Events) Send(v any) error {
	x := e.exchange
	x.noteUnfinished(v)
	var data []byte
	var err error
	if _, isAnswer := v.(unfinished.Answer); isAnswer && x.manifest != nil {
		data, err = x.encodeWithManifest(e.ctx, v)
	} else {
		data, err = json.Marshal(v)
	}
	if err != nil {
		return err
	}
	return e.SendText(string(data))
}

// SendNamed is Send for an event with a name.
func (e *Events) SendNamed(name string, v any) error {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	return e.send("event: " + name + "\ndata: " + string(data) + "\n\n")
}

// SendText writes an event with a single line of text as its data.
func (e *Events) SendText(data string) error { return e.send("data: " + data + "\n\n") }

func (e *Events) send(event string) error {
	select {
	case e.queue <- []byte(event):
		return nil
	case <-e.ctx.Done():
		return e.ctx.Err()
	}
}

// NamedEvent is the data of an event with a name, for StreamError.
type NamedEvent struct {
	Name string
	Data any
}

// StreamRenderer is an API that renders a failure within a stream, whose status 200 has been sent already, as the data
// of the events that end it.
type StreamRenderer interface {
	RenderStreamFault(f *fault.Error) []any
}

// StreamError is the error of a stream that renders its own end, for an API with several kinds of streams. Err is
// classified and logged like any other. Events returns the data of the last events, given what the client may know of
// Err.
type StreamError struct {
	Err    error
	Events func(f *fault.Error) []any
}

func (e *StreamError) Error() string { return e.Err.Error() }

func (e *StreamError) Unwrap() error { return e.Err }

// JSONOrStream is an endpoint that answers in one piece (whole) or, if wantsStream returns true, in server-sent events
// (stream). A failure before the first event is answered with a status, as for any other endpoint. JSONOrStream panics
// if Req has fields that package bind cannot decode.
func JSONOrStream[Req, Res any](
	wantsStream func(Req) bool,
	whole func(context.Context, Req) (Res, error),
	stream func(context.Context, Req, *Events) error,
	bounds ...bind.Bound,
) fiber.Handler {
	bind.MustSupport(reflect.TypeFor[Req]())
	return func(c *fiber.Ctx) error {
		req, err := receive[Req](c, bounds)
		if err != nil {
			return err
		}
		if exchangeOf(c).call.isValidateOnly() {
			return c.SendStatus(fiber.StatusNoContent)
		}
		if !wantsStream(req) {
			res, err := whole(c.UserContext(), req)
			if err != nil {
				return err
			}
			return send(c, res)
		}
		if _, endsWithAnswer := any(*new(Res)).(unfinished.Answer); !endsWithAnswer && exchangeOf(c).manifest != nil {
			return refuseManifest("is not for streams of this endpoint")
		}
		return sendEvents(c, func(ctx context.Context, e *Events) error { return stream(ctx, req, e) })
	}
}

// Watch is an endpoint without a body that answers with the server-sent events of the object whose id is the parameter
// param of the path. It takes no permit: Options.Watches bounds the number of streams.
func Watch(param string, watch func(ctx context.Context, id string, events *Events) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		x := exchangeOf(c)
		x.setRoute(c)
		leave, err := x.gateway.watches.Enter(clientOf(c))
		if err != nil {
			return err
		}
		x.atEnd(leave)
		id := Params{c}.Path(param)
		return sendEvents(c, func(ctx context.Context, e *Events) error { return watch(ctx, id, e) })
	}
}

// clientOf identifies the client of a request by its key or, without one, by its network.
func clientOf(c *fiber.Ctx) string {
	if caller := Caller(c.UserContext()); caller != "" {
		return caller
	}
	return network(c.Context().RemoteIP())
}

// network returns an IPv4 address, or the /64 prefix of an IPv6 address: a single client may have all of it.
func network(ip []byte) string {
	address, ok := netip.AddrFromSlice(ip)
	if !ok {
		return ""
	}
	address = address.Unmap()
	if address.Is6() {
		prefix, _ := address.Prefix(64) // cannot fail: the address has 128 bits
		return prefix.String()
	}
	return address.String()
}

// sendEvents answers with the events of produce.
func sendEvents(c *fiber.Ctx, produce func(context.Context, *Events) error) error {
	p := startProduction(c, produce)
	if !p.hasEvents {
		if err := <-p.result; err != nil {
			return err
		}
	}
	c.Set(fiber.HeaderContentType, "text/event-stream; charset=utf-8")
	c.Set(fiber.HeaderCacheControl, "no-cache")
	p.send(c)
	return nil
}

// production is a goroutine that produces the events of an answer.
type production struct {
	events    *Events
	first     []byte
	hasEvents bool       // false: it has ended without an event
	result    chan error // receives its error when it ends
	stop      context.CancelFunc
}

// startProduction runs produce in its own goroutine, and returns when it has produced its first event or has ended.
func startProduction(c *fiber.Ctx, produce func(context.Context, *Events) error) *production {
	x := exchangeOf(c)
	ctx, stop := context.WithCancel(c.UserContext())
	x.atEnd(stop)
	p := &production{
		events: &Events{exchange: x, ctx: ctx, queue: make(chan []byte, 16)},
		result: make(chan error, 1),
		stop:   stop,
	}
	go func() {
		err := x.catchPanic(func() error { return produce(ctx, p.events) })
		close(p.events.queue)
		p.result <- err
	}()
	p.first, p.hasEvents = <-p.events.queue
	return p
}

// send answers with the events. fasthttp writes the body after the handler has returned, so the exchange stays open
// until then.
func (p *production) send(c *fiber.Ctx) {
	x := p.events.exchange
	c.Set("X-Accel-Buffering", "no")
	x.isStream = true
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		written := 0
		err := x.catchPanic(func() error { // fasthttp runs this in a goroutine of its own
			written = writeEvents(w, p.first, p.events.queue, p.stop)
			if p.hasEvents {
				written += x.writeFailure(w, <-p.result)
			}
			return nil
		})
		if err != nil {
			x.err = classify(err)
		}
		x.end(fiber.StatusOK, written)
	})
}

// keepAlive is how often an idle stream sends a comment, so that proxies keep the connection and a departed client is
// noticed.
const keepAlive = 10 * time.Second

// writeEvents writes events to the client until queue is closed. After a failed flush it stops the producer and drops
// the remaining events.
func writeEvents(w *bufio.Writer, first []byte, queue <-chan []byte, stop func()) (written int) {
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	write := func(event []byte) {
		n, err := w.Write(event)
		written += n
		if err != nil || w.Flush() != nil {
			stop()
		}
	}
	write(first)
	for {
		select {
		case event, more := <-queue:
			if !more {
				return written
			}
			write(event)
		case <-idle.C:
			write([]byte(": alive\n\n"))
		}
	}
}

// writeFailure writes the events that tell the client why its stream failed, if it did.
func (x *exchange) writeFailure(w *bufio.Writer, err error) (written int) {
	if err == nil {
		return 0
	}
	f := classify(err)
	x.err = f
	for _, event := range x.renderStream(err, f) {
		name := ""
		if named, ok := event.(NamedEvent); ok {
			name = "event: " + named.Name + "\n"
			event = named.Data
		}
		x.identify(event)
		data, isText := event.(string)
		if !isText {
			encoded, err := json.Marshal(event, json.Deterministic(true))
			if err != nil {
				return written
			}
			data = string(encoded)
		}
		n, _ := w.WriteString(name + "data: " + data + "\n\n")
		written += n
	}
	w.Flush()
	return written
}

// renderStream returns the data of the events that end a stream after err, which is shown as f.
func (x *exchange) renderStream(err error, f *fault.Error) []any {
	var streamErr *StreamError
	if errors.As(err, &streamErr) {
		return streamErr.Events(f)
	}
	if x.dialect != nil {
		return x.dialect.RenderStream(f)
	}
	if api, ok := x.gateway.api.(StreamRenderer); ok {
		return api.RenderStreamFault(f)
	}
	return nil
}
