package httpserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
	"retort/orchestrator/memory"
)

// ReadBody reads a body of at most limit bytes, unpacked. Memory for a large one, weight bytes for each of its bytes,
// is acquired from the budget until release is called. Problems of the client's are Invalid or TooLarge faults.
func ReadBody(
	ctx context.Context, c *fasthttp.RequestCtx, limit, weight int, budget *memory.Budget,
) (body []byte, release func(), err error) {
	release = func() {}
	if !c.Request.IsBodyStream() { // no body, or one that is in memory already
		if body = c.Request.Body(); len(body) > limit {
			return nil, release, tooLarge(limit)
		}
		return body, release, nil
	}
	declared := c.Request.Header.ContentLength() // negative: chunked
	if declared > limit {
		return nil, release, tooLarge(limit)
	}
	reader, isPacked, err := unpack(contentEncoding(c), newPacedReader(ctx, c, Pace{}))
	if err != nil {
		return nil, release, err
	}
	if isPacked { // the length of the text is not known yet
		declared = -1
	}
	// A client must have sent this much before it can hold a part of the budget.
	body, err = readUpTo(nil, reader, min(memory.SmallBody, limit+1))
	if err == nil {
		body, release, err = readLarge(ctx, body, reader, declared, limit, weight, budget)
	}
	if err == io.EOF {
		err = nil
		if isTruncated(c) {
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		release()
		return nil, func() {}, BodyFault(err)
	}
	c.SetUserValue(bodyRead{}, true)
	MarkServing(c)
	return body, release, nil
}

// readLarge reads the rest of a body up to its end, io.EOF, once memory for it has been acquired.
func readLarge(
	ctx context.Context, body []byte, reader io.Reader, declared, limit, weight int, budget *memory.Budget,
) (_ []byte, release func(), err error) {
	expected := limit
	if declared >= 0 {
		expected = declared
	}
	release, err = budget.Acquire(ctx, int64(weight)*int64(expected))
	if err != nil {
		return nil, func() {}, err
	}
	if declared >= 0 {
		body = slices.Grow(body, declared-len(body)+bytes.MinRead)
	}
	if body, err = readUpTo(body, reader, limit+1-len(body)); err == nil {
		err = tooLarge(limit)
	}
	return body, release, err
}

// readUpTo appends at most n bytes to body. It returns io.EOF if the reader ends before that.
func readUpTo(body []byte, reader io.Reader, n int) ([]byte, error) {
	buffer := bytes.NewBuffer(body)
	_, err := io.CopyN(buffer, reader, int64(n))
	return buffer.Bytes(), err
}

// Body is a body that its handler reads while it arrives.
type Body struct {
	c      *fasthttp.RequestCtx
	raw    io.Reader // as the client sends it
	text   io.Reader // unpacked
	limit  int64
	length int64 // bytes of the text so far
}

// OpenBody returns a body of at most limit bytes, unpacked, which the client must send at the given pace.
func OpenBody(ctx context.Context, c *fasthttp.RequestCtx, limit int64, pace Pace) (*Body, error) {
	b := &Body{c: c, limit: limit}
	if !c.Request.IsBodyStream() { // no body, or one that is in memory already
		b.text = bytes.NewReader(c.Request.Body())
		b.raw = b.text
		return b, nil
	}
	b.raw = newPacedReader(ctx, c, pace)
	text, _, err := unpack(contentEncoding(c), b.raw)
	if err != nil {
		return nil, err
	}
	b.text = text
	if declared := int64(c.Request.Header.ContentLength()); declared > limit {
		b.Close()
		return nil, tooLarge(int(limit))
	}
	return b, nil
}

// Read fails beyond the limit, and on a chunked body that ends before its last chunk.
func (b *Body) Read(into []byte) (int, error) {
	n, err := b.text.Read(into)
	b.length += int64(n)
	switch {
	case b.length > b.limit:
		return 0, tooLarge(int(b.limit))
	case err == io.EOF && b.c.Request.IsBodyStream() && isTruncated(b.c):
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// Length returns how many bytes have been read.
func (b *Body) Length() int64 { return b.length }

// Close discards the rest of the body and marks the request as being served. It reads up to twice the limit, so that a
// client that sends before it reads gets to know why it is refused.
func (b *Body) Close() {
	if _, err := io.CopyN(io.Discard, b.raw, 2*b.limit); err == io.EOF {
		b.c.SetUserValue(bodyRead{}, true)
	}
	MarkServing(b.c)
}

// BodyFault returns an error of reading a body as a fault.
func BodyFault(err error) error {
	var known *fault.Error
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.Wrap(fault.Invalid, err, "The request's body did not come in time.")
	case isCorrupt(err):
		return fault.Wrap(fault.Invalid, err, "The request's body is not what its Content-Encoding says, gzip.")
	}
	return fault.Wrap(fault.Invalid, err, "The request's body ended before its end.")
}

func tooLarge(limit int) error {
	return fault.New(fault.TooLarge, "The request body is larger than the limit of %d bytes.", limit)
}
