package gateway

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/admission"
	"retort/orchestrator/gateway/httpserver"
)

// Uploads and downloads take no permit, which a slow client would hold. They have permits of their own, and the client
// must keep Options.TransferRate on average.

// transferPatience is how long an upload or a download waits for its permit: others may take an hour, and a client that
// waits holds a connection.
const transferPatience = 30 * time.Second

// takeTransferPermit waits for a permit for an upload or a download, for at most transferPatience.
func (x *exchange) takeTransferPermit(ctx context.Context, permits *admission.Permits) error {
	waitCtx, stop := context.WithTimeout(ctx, transferPatience)
	defer stop()
	release, err := permits.Acquire(waitCtx, false)
	switch {
	case err == nil:
		x.atEnd(release)
	case waitCtx.Err() != nil && ctx.Err() == nil:
		return &fault.Error{
			Kind:       fault.Overloaded,
			Message:    "Too many files are being sent, try again later.",
			RetryAfter: transferPatience,
		}
	}
	return err
}

// Upload is an endpoint whose use case reads the body, of at most limit bytes, while it arrives, and so needs no
// memory for all of it. Beyond limit the body fails with a fault. A body that is refused is still discarded, up to
// twice the limit, so that a client that sends before it reads gets to know why.
func Upload[Res any](
	limit int64, use func(ctx context.Context, contentType string, body io.Reader) (Res, error),
) fiber.Handler {
	return func(c *fiber.Ctx) error {
		x := exchangeOf(c)
		x.setRoute(c)
		if err := x.takeTransferPermit(c.UserContext(), x.gateway.uploads); err != nil {
			return err
		}
		pace := httpserver.NewPace(x.gateway.opts.TransferRate)
		body, err := httpserver.OpenBody(c.UserContext(), c.Context(), limit, pace)
		if err != nil {
			return err
		}
		res, err := use(c.UserContext(), utils.CopyString(c.Get(fiber.HeaderContentType)), body)
		x.bytesIn = int(body.Length())
		body.Close()
		if err != nil {
			return httpserver.BodyFault(err)
		}
		return send(c, res)
	}
}

// Content is an answer of bytes, which are read while they are sent.
type Content struct {
	Type   string // media type
	Name   string // file name for clients that save it
	Size   int64
	Reader io.Reader
}

// Download is an endpoint that answers with bytes.
func Download(use func(context.Context, Params) (Content, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		x := exchangeOf(c)
		x.setRoute(c)
		if err := x.takeTransferPermit(c.UserContext(), x.gateway.downloads); err != nil {
			return err
		}
		content, err := use(c.UserContext(), Params{c})
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
		c.Attachment(strings.Map(headerSafe, content.Name))
		c.Set(fiber.HeaderContentType, content.Type) // replaces what Attachment guesses from the name
		x.isStream = true
		pace := httpserver.NewPace(x.gateway.opts.TransferRate)
		c.Context().SetBodyStream(&download{content: content.Reader, exchange: x, pace: pace}, int(content.Size))
		return nil
	}
}

// headerSafe replaces characters that could end the header with a file name early.
func headerSafe(r rune) rune {
	if r < ' ' || r == '"' || r == '\\' || r == 0x7f {
		return '_'
	}
	return r
}

// download is the body of an answer. fasthttp closes it after the last byte or when the client has left, which ends the
// exchange.
type download struct {
	content  io.Reader
	exchange *exchange
	pace     httpserver.Pace
}

func (d *download) Read(into []byte) (int, error) {
	if d.pace.IsLate() {
		d.exchange.err = fault.New(fault.Invalid, "The answer was not taken in time.")
		return 0, d.exchange.err
	}
	n := 0
	err := d.exchange.catchPanic(func() (err error) { // fasthttp reads after the handler and its recovery have returned
		n, err = d.content.Read(into)
		return err
	})
	d.pace.Add(n)
	if err != nil && err != io.EOF {
		d.exchange.err = classify(err)
	}
	return n, err
}

func (d *download) Close() error {
	d.exchange.end(fiber.StatusOK, int(d.pace.Transferred()))
	return nil
}
