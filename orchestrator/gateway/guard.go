package gateway

import (
	"bytes"
	"io"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
)

// Guard wraps a handler so that no byte of one request is read as another. It refuses requests whose extent is
// ambiguous (RFC 9112, sections 3.2, 6.1 and 6.3), bodies of methods that have none, and afterwards what the handler
// left unread goes or the connection does. refuse words a refusal.
func Guard(handle fasthttp.RequestHandler, refuse func(*fasthttp.RequestCtx, *fault.Error)) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if f := checkHead(&ctx.Request.Header); f != nil {
			refuse(ctx, f)
			ctx.SetConnectionClose()
			return
		}
		if !slices.Contains(fiber.DefaultMethods, string(ctx.Method())) {
			refuse(ctx, fault.New(fault.Method, "Method Not Allowed"))
			finish(ctx)
			return
		}
		if bodiless(ctx) && !finish(ctx) {
			refuse(ctx, fault.New(fault.TooLarge, "A request of this method takes no body."))
			return
		}
		if bodiless(ctx) || !ctx.Request.IsBodyStream() {
			markServing(ctx)
		}
		handle(ctx)
		finish(ctx)
	}
}

// bodiless reports whether the API takes no body with this method.
func bodiless(ctx *fasthttp.RequestCtx) bool {
	return ctx.IsGet() || ctx.IsHead() || ctx.IsOptions()
}

// bodyRead marks, among a request's user values, that its body was read to the end.
type bodyRead struct{}

// Bounds on what is read of a body only to be thrown away.
const (
	maxDiscarded   = 64 << 20
	discardTimeout = 5 * time.Second
)

// finish reads what is left of the body. Where that is too much or comes too slowly, or breaks off, the connection ends
// with the answer.
func finish(ctx *fasthttp.RequestCtx) (all bool) {
	if !ctx.Request.IsBodyStream() || ctx.UserValue(bodyRead{}) != nil {
		return true
	}
	ctx.SetUserValue(bodyRead{}, true)
	if ctx.Request.Header.ContentLength() <= maxDiscarded && discard(ctx, maxDiscarded, discardTimeout) {
		return true
	}
	ctx.SetConnectionClose()
	return false
}

// discard reads a body to its end and reports whether that was reached within the bounds.
func discard(ctx *fasthttp.RequestCtx, most int64, patience time.Duration) bool {
	markAwaited(ctx)
	defer markServing(ctx)
	deadline := time.Now().Add(patience)
	_ = ctx.Conn().SetReadDeadline(deadline) // a connection without deadlines is a test's
	_, err := io.CopyN(io.Discard, ctx.RequestBodyStream(), most+1)
	return err == io.EOF && !truncated(ctx)
}

// truncated reports whether a chunked body ended with its connection and not with its last chunk, which fasthttp takes
// to be the same.
func truncated(ctx *fasthttp.RequestCtx) bool {
	conn, ok := ctx.Conn().(*connection)
	return ok && ctx.Request.Header.ContentLength() == -1 && conn.ended.Load()
}

// checkHead returns what is wrong with a request's line and headers, nil where every program would read them alike.
func checkHead(head *fasthttp.RequestHeader) *fault.Error {
	version := string(head.Protocol())
	if version != "HTTP/1.1" && version != "HTTP/1.0" {
		return fault.New(fault.Invalid, "The version of HTTP is not 1.0 or 1.1.")
	}
	var hosts, lengths, encodings int
	for line := range bytes.Lines(head.RawHeaders()) {
		line = bytes.TrimRight(line, "\r\n")
		if bytes.IndexByte(line, 0) >= 0 {
			return fault.New(fault.Invalid, "A header holds a NUL character.")
		}
		if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			return fault.New(fault.Invalid, "A header is folded over several lines.")
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Host")):
			hosts++
		case bytes.EqualFold(name, []byte("Content-Length")):
			lengths++
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			encodings++
			if !bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked")) {
				return fault.New(fault.Invalid, "Transfer-Encoding is not chunked.")
			}
		}
	}
	switch {
	case lengths > 1:
		return fault.New(fault.Invalid, "Content-Length is given more than once.")
	case encodings > 1:
		return fault.New(fault.Invalid, "Transfer-Encoding is given more than once.")
	case encodings > 0 && (lengths > 0 || version == "HTTP/1.0"):
		return fault.New(fault.Invalid, "Transfer-Encoding beside Content-Length, or in HTTP/1.0, is not allowed.")
	case hosts > 1 || hosts == 0 && version == "HTTP/1.1":
		return fault.New(fault.Invalid, "Exactly one Host header is required.")
	}
	return nil
}
