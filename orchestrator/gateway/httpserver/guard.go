package httpserver

import (
	"bytes"
	"io"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
)

// Guard wraps a handler so that no byte of one request is read as part of the next. It refuses requests whose extent
// is ambiguous (RFC 9112, sections 3.2, 6.1 and 6.3) and bodies of methods that take none. What the handler leaves
// unread it discards, or it closes the connection. refuse answers a refused request.
func Guard(handle fasthttp.RequestHandler, refuse func(*fasthttp.RequestCtx, *fault.Error)) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if f := checkHead(&ctx.Request.Header); f != nil {
			refuse(ctx, f)
			ctx.SetConnectionClose()
			return
		}
		if !slices.Contains(fiber.DefaultMethods, string(ctx.Method())) {
			refuse(ctx, fault.New(fault.Method, "Method Not Allowed"))
			drainBody(ctx)
			return
		}
		if takesNoBody(ctx) && !drainBody(ctx) {
			refuse(ctx, fault.New(fault.TooLarge, "A request of this method takes no body."))
			return
		}
		if takesNoBody(ctx) || !ctx.Request.IsBodyStream() {
			MarkServing(ctx)
		}
		handle(ctx)
		drainBody(ctx)
	}
}

// takesNoBody reports whether requests with this method have no body.
func takesNoBody(ctx *fasthttp.RequestCtx) bool {
	return ctx.IsGet() || ctx.IsHead() || ctx.IsOptions()
}

// bodyRead is the key of a user value of requests whose body was read to the end.
type bodyRead struct{}

// Bounds on reading a body only to discard it.
const (
	maxDiscarded   = 64 << 20
	discardTimeout = 5 * time.Second
)

// drainBody discards what is left of the body and reports whether it reached the end. A body that is too large, too
// slow or truncated closes the connection after the answer.
func drainBody(ctx *fasthttp.RequestCtx) (complete bool) {
	if !ctx.Request.IsBodyStream() || ctx.UserValue(bodyRead{}) != nil {
		return true
	}
	ctx.SetUserValue(bodyRead{}, true)
	if ctx.Request.Header.ContentLength() <= maxDiscarded && discard(ctx) {
		return true
	}
	ctx.SetConnectionClose()
	return false
}

// discard reads a body and reports whether it reached the end within the bounds.
func discard(ctx *fasthttp.RequestCtx) bool {
	markAwaited(ctx)
	defer MarkServing(ctx)
	_ = ctx.Conn().SetReadDeadline(time.Now().Add(discardTimeout)) // fails on the connections of tests only
	_, err := io.CopyN(io.Discard, ctx.RequestBodyStream(), maxDiscarded+1)
	return err == io.EOF && !isTruncated(ctx)
}

// isTruncated reports whether a chunked body ended with its connection and not with its last chunk. fasthttp returns
// io.EOF for both.
func isTruncated(ctx *fasthttp.RequestCtx) bool {
	conn, ok := ctx.Conn().(*connection)
	return ok && ctx.Request.Header.ContentLength() == -1 && conn.sawEOF.Load()
}

// checkHead returns a fault if two programs could read the request line and headers differently.
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
