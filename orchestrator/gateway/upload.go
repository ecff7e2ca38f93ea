package gateway

import (
	"bytes"
	"context"
	"io"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
)

// Upload is an endpoint that reads its body itself, while it comes, and so needs none of the memory for it: contentType
// is that of the body, which fails with a fault beyond so many bytes. A body that is refused is still read to its end,
// within twice the bound, so that a client that sends before it listens gets to know why.
//
// It takes no permit, which a slow client would hold, but a place of those for uploads, and has to come at
// Options.TransferRate.
func Upload[Res any](limit int64, use func(ctx context.Context, contentType string, body io.Reader) (Res, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		x := exchangeOf(c)
		x.named(c.Route().Path)
		if err := x.transfer(c.UserContext(), x.gateway.uploads); err != nil {
			return err
		}
		body, err := x.upload(c, limit)
		if err != nil {
			return err
		}
		res, err := use(c.UserContext(), utils.CopyString(c.Get(fiber.HeaderContentType)), body)
		x.bytesIn = int(body.read)
		if err != nil {
			body.drain(limit)
			return unreadable(err)
		}
		if body.drain(limit) {
			c.Context().SetUserValue(bodyRead{}, true)
		}
		markServing(c.Context())
		return send(c, res)
	}
}

// upload is a body that is read while it comes.
type upload struct {
	c     *fiber.Ctx
	raw   io.Reader // as the client sends it
	text  io.Reader // unpacked
	limit int64
	read  int64 // bytes of the text
}

func (x *exchange) upload(c *fiber.Ctx, limit int64) (*upload, error) {
	u := &upload{c: c, limit: limit}
	if !c.Request().IsBodyStream() { // none, or a test's
		u.text = bytes.NewReader(c.BodyRaw())
		u.raw = u.text
		return u, nil
	}
	u.raw = x.reader(c, x.gateway.pace())
	text, _, err := unpacked(c.Get(fiber.HeaderContentEncoding), u.raw)
	if err != nil {
		return nil, err
	}
	u.text = text
	if declared := int64(c.Request().Header.ContentLength()); declared > limit {
		u.drain(limit)
		return nil, tooLarge(int(limit))
	}
	return u, nil
}

// Read fails once more than the limit has come, and where a body in chunks ends before its last chunk.
func (u *upload) Read(into []byte) (int, error) {
	n, err := u.text.Read(into)
	u.read += int64(n)
	switch {
	case u.read > u.limit:
		return 0, tooLarge(int(u.limit))
	case err == io.EOF && u.c.Request().IsBodyStream() && truncated(u.c.Context()):
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// drain reads on to the end of the body, unless that is farther than twice the limit away, and reports whether it was
// reached.
func (u *upload) drain(limit int64) bool {
	_, err := io.CopyN(io.Discard, u.raw, 2*limit)
	return err == io.EOF
}
