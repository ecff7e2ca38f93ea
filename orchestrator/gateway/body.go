package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// smallBody is how many bytes of a body are read before any of the memory budget is asked for: small requests never
// wait for large ones, and a client must have sent this much before it can hold a place of the budget.
const smallBody = 64 << 10

// bodyWeight is what a byte of a large body costs in memory until its request has been answered: itself, what is
// decoded from it, and the garbage that Go lets pile up to as much again.
const bodyWeight = 4

// A body must keep coming: every piece of this many bytes within this time.
const (
	bodyPiece     = 64 << 10
	piecePatience = 20 * time.Second
)

// body returns the request's body, of at most the API's limit. What a large one takes of the memory budget is given
// back when the exchange ends.
func (x *exchange) body(c *fiber.Ctx) ([]byte, error) {
	limit := x.gateway.opts.BodyLimit
	if !c.Request().IsBodyStream() { // none, one of Ask, or a test's
		body := c.BodyRaw()
		if len(body) > limit {
			return nil, tooLarge(limit)
		}
		return body, nil
	}
	declared := c.Request().Header.ContentLength() // -1: in chunks
	if declared > limit {
		return nil, tooLarge(limit)
	}
	reader, packed, err := unpacked(c.Get(fiber.HeaderContentEncoding), x.reader(c, pace{}))
	if err != nil {
		return nil, err
	}
	if packed { // how long the text is shows when it is unpacked
		declared = -1
	}
	body, err := read(nil, reader, min(smallBody, limit+1))
	if err == nil {
		body, err = x.rest(c, body, reader, declared)
	}
	if err == io.EOF {
		err = nil
		if truncated(c.Context()) {
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		return nil, unreadable(err)
	}
	c.Context().SetUserValue(bodyRead{}, true)
	markServing(c.Context())
	x.bytesIn = len(body)
	return body, nil
}

// rest reads a body on to its end, io.EOF, once the memory for it has been granted.
func (x *exchange) rest(c *fiber.Ctx, body []byte, reader io.Reader, declared int) ([]byte, error) {
	limit := x.gateway.opts.BodyLimit
	expected := limit
	if declared >= 0 {
		expected = declared
	}
	release, err := x.gateway.opts.Memory.Acquire(c.UserContext(), bodyWeight*int64(expected))
	if err != nil {
		return nil, err
	}
	x.atEnd(release)
	if declared >= 0 {
		body = slices.Grow(body, declared-len(body)+bytes.MinRead)
	}
	if body, err = read(body, reader, limit+1-len(body)); err == nil {
		return nil, tooLarge(limit)
	}
	return body, err
}

// read appends up to n bytes. The error is nil when all n came: there may be more. It is io.EOF at the end of the body.
func read(body []byte, reader io.Reader, n int) ([]byte, error) {
	buffer := bytes.NewBuffer(body)
	_, err := io.CopyN(buffer, reader, int64(n))
	return buffer.Bytes(), err
}

// reader reads the body in pieces, each with a deadline of its own, at a pace of the whole, until the context ends.
func (x *exchange) reader(c *fiber.Ctx, whole pace) io.Reader {
	return &paced{
		ctx: c.UserContext(), stream: c.Context().RequestBodyStream(), conn: c.Context().Conn(),
		pace: whole, declared: c.Request().Header.ContentLength(),
	}
}

type paced struct {
	ctx    context.Context
	stream io.Reader
	conn   net.Conn
	left   int // bytes of the present piece
	pace   pace
	// declared is the length that the client says, negative where it says none.
	declared int
	ended    bool // fasthttp would read a body in chunks on beyond its end, into the next request
}

func (p *paced) Read(into []byte) (int, error) {
	if p.ended {
		return 0, io.EOF
	}
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	if p.left <= 0 {
		p.left = bodyPiece
		if known, ok := p.conn.(*connection); ok && p.pace.moved > 0 {
			known.await(0) // the wait for the client starts anew with each piece
		}
		_ = p.conn.SetReadDeadline(p.deadline()) // a connection without deadlines is a test's
	}
	n, err := p.stream.Read(into)
	p.left -= n
	p.pace.moved += int64(n)
	p.ended = err == io.EOF
	if p.ended && p.pace.moved < int64(p.declared) { // fasthttp takes the end of the connection for that of the body
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// deadline is when the next piece must have arrived: no later than the deadline of the request.
func (p *paced) deadline() time.Time {
	piece := p.pace.next(bodyPiece, piecePatience)
	if end, ok := p.ctx.Deadline(); ok && end.Before(piece) {
		return end
	}
	return piece
}

// unreadable makes a fault of what ended the reading of a body.
func unreadable(err error) error {
	var known *fault.Error
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.Wrap(fault.Invalid, err, "The request's body did not come in time.")
	}
	if notGzip(err) {
		return fault.Wrap(fault.Invalid, err, "The request's body is not what its Content-Encoding says, gzip.")
	}
	return fault.Wrap(fault.Invalid, err, "The request's body ended before its end.")
}

func tooLarge(limit int) error {
	return fault.New(fault.TooLarge, "The request body is larger than the limit of %d bytes.", limit)
}
