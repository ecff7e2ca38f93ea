package gateway

import (
	"bytes"
	"context"
	"net/http"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
)

// HTTPHandler is an endpoint that a net/http handler answers. An answer that the handler flushes must be a stream of
// server-sent events, of which each flush sends one. Any other answer is sent in one piece.
func HTTPHandler(handler http.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		body, err := receiveRaw(c)
		if err != nil {
			return err
		}
		request, err := netRequest(c, body)
		if err != nil {
			return err
		}
		answer := &responseWriter{header: http.Header{}, status: http.StatusOK}
		p := startProduction(c, func(ctx context.Context, events *Events) error {
			answer.events = events
			handler.ServeHTTP(answer, request.WithContext(ctx))
			return nil
		})
		if !p.hasEvents {
			if err := <-p.result; err != nil {
				return err
			}
			answer.writeHead(c)
			c.Response().SetBodyRaw(answer.body.Bytes())
			return nil
		}
		answer.writeHead(c)
		p.send(c)
		return nil
	}
}

// netRequest returns a request in the form of net/http. It shares no memory with c, which a stream outlives.
func netRequest(c *fiber.Ctx, body []byte) (*http.Request, error) {
	url := utils.CopyString(c.OriginalURL())
	request, err := http.NewRequestWithContext(c.UserContext(), utils.CopyString(c.Method()), url,
		bytes.NewReader(bytes.Clone(body)))
	if err != nil {
		return nil, err
	}
	request.Host = utils.CopyString(c.Hostname())
	for name, values := range c.GetReqHeaders() {
		for _, value := range values {
			request.Header.Add(utils.CopyString(name), utils.CopyString(value))
		}
	}
	return request, nil
}

// responseWriter is an http.ResponseWriter that collects an answer in one piece, or sends its parts as events.
type responseWriter struct {
	header      http.Header
	sentHeader  http.Header // as of the first write
	status      int
	body        bytes.Buffer // since the last flush
	events      *Events
	wroteHeader bool
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(status int) {
	if w.wroteHeader {
		return
	}
	w.wroteHeader = true
	w.status = status
	w.sentHeader = w.header.Clone()
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// FlushError sends what was written since the last flush as one event.
func (w *responseWriter) FlushError() error {
	if w.body.Len() == 0 {
		return nil
	}
	event := w.body.String()
	w.body.Reset()
	return w.events.send(event)
}

// writeHead copies the status and the headers to c.
func (w *responseWriter) writeHead(c *fiber.Ctx) {
	w.WriteHeader(http.StatusOK) // if nothing was written
	c.Status(w.status)
	for name, values := range w.sentHeader {
		for _, value := range values {
			c.Response().Header.Add(name, value)
		}
	}
}
