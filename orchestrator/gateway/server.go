package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
)

// ServerConfig bounds what one port takes. Zero values are the defaults said.
type ServerConfig struct {
	// MaxConnections is how many connections are open at once. At the limit the one whose client has been waited for
	// longest (for a request, the rest of one, or the taking of an answer) is closed for the next; where all are at
	// work, the next waits to be accepted. Default 4096.
	MaxConnections int
	// WriteTimeout is how long a client may take for each piece (256 KiB) of an answer. Default 30 s.
	WriteTimeout time.Duration
	// ConnectionAge is after how long a connection ends with its next answer, so that clients who keep theirs come to
	// servers that were added since, behind a balancer of connections. Each connection's own is up to a tenth shorter, so
	// that those opened together do not end together. 0: none ends by age.
	ConnectionAge time.Duration
	// TLS is the certificate; nil for plain HTTP.
	TLS *tls.Config
	// Name is what the log and the metrics call the port.
	Name    string
	Logger  zerolog.Logger
	Metrics *telemetry.Metrics // nil for none
}

func (c ServerConfig) withDefaults() ServerConfig {
	if c.MaxConnections == 0 {
		c.MaxConnections = 4096
	}
	if c.WriteTimeout == 0 {
		c.WriteTimeout = 30 * time.Second
	}
	return c
}

// Server serves one port over HTTP/1.1. It is fasthttp's server, as Fiber's own listener sets it up, with bounds on
// connections and writes.
type Server struct {
	http        *fasthttp.Server
	connections *connections
	config      ServerConfig
	leaving     atomic.Bool // see Leave

	mu       sync.Mutex
	listener net.Listener // nil until Serve
	ended    bool         // Shutdown was called
}

// maxHead is the largest request line with headers, in bytes.
const maxHead = 16 << 10

// NewServer returns a server of handler, which is that of a Gateway or one made by Guard.
func NewServer(handler fasthttp.RequestHandler, config ServerConfig) *Server {
	config = config.withDefaults()
	s := &Server{config: config, connections: newConnections(config.MaxConnections, config.WriteTimeout)}
	s.http = &fasthttp.Server{
		Handler:      s.ending(handler),
		ErrorHandler: unparsable,
		Logger:       silent{},
		// One body at a time is read by its handler: see exchange.body.
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		ReadBufferSize:               maxHead,
		ReadTimeout:                  2 * time.Minute,
		IdleTimeout:                  2 * time.Minute,
		CloseOnShutdown:              true,
		ConnState:                    s.connections.state,
	}
	return s
}

// Serve answers on a listener until Shutdown. Errors of the system that pass, such as too many open files, do not end
// it.
func (s *Server) Serve(listener net.Listener) error {
	if s.config.TLS != nil {
		listener = tls.NewListener(listener, s.config.TLS)
	}
	if !s.begin(listener) {
		return nil
	}
	err := s.http.Serve(s.connections.limit(listener))
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Leave lets every connection end with its next answer, while new ones are still taken: clients that keep connections go
// elsewhere before Shutdown would close theirs, perhaps at the moment when they send the next request.
func (s *Server) Leave() { s.leaving.Store(true) }

// ending wraps a handler so that answers end connections that have to go.
func (s *Server) ending(handler fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		s.guard(ctx, handler)
		// fasthttp writes the end of a chunked body even where only its head was asked for.
		headOfStream := ctx.IsHead() && ctx.Response.IsBodyStream()
		if s.leaving.Load() || s.old(ctx) || headOfStream {
			ctx.SetConnectionClose()
		}
	}
}

// guard answers a panic that no exchange has caught: it would end the process.
func (s *Server) guard(ctx *fasthttp.RequestCtx, handler fasthttp.RequestHandler) {
	began := time.Now()
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		status := fiber.StatusInternalServerError
		plain(ctx, status, "Internal server error")
		s.config.Logger.Error().Str("api", s.config.Name).Bytes("stack", debug.Stack()).
			Bytes("method", ctx.Method()).Str("path", fault.Clip(string(ctx.Path()))).Int("status", status).Msgf("panic: %v", p)
		if s.config.Metrics != nil {
			request := &telemetry.Request{API: s.config.Name}
			s.config.Metrics.Answered(request, unknownRoute, string(ctx.Method()), status, time.Since(began))
		}
	}()
	handler(ctx)
}

// old reports whether the connection of a request has reached its age.
func (s *Server) old(ctx *fasthttp.RequestCtx) bool {
	age := s.config.ConnectionAge
	share := time.Duration(ctx.ConnID() % 16)
	return age > 0 && time.Since(ctx.ConnTime()) >= age-age*share/160
}

// begin remembers the listener, unless Shutdown came first.
func (s *Server) begin(listener net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener = listener
	return !s.ended
}

// stopListening ends Serve, also one that has not come to accept yet or never will begin.
func (s *Server) stopListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.listener != nil {
		_ = s.listener.Close() // closed already: fine
	}
}

// Shutdown takes no more connections and returns when all requests have been answered, or with an error after timeout.
func (s *Server) Shutdown(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	s.connections.close()
	err := s.http.ShutdownWithContext(ctx)
	s.stopListening()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// silent takes what fasthttp logs of single connections: broken requests are answered and departed clients are no
// events.
type silent struct{}

func (silent) Printf(string, ...any) {}

// unparsable answers what never became a request: a broken request line, or headers above maxHead. The connection is
// closed after it.
func unparsable(ctx *fasthttp.RequestCtx, err error) {
	status := fiber.StatusBadRequest
	var small *fasthttp.ErrSmallBuffer
	switch {
	case errors.As(err, &small):
		status = fiber.StatusRequestHeaderFieldsTooLarge
	case errors.Is(err, fasthttp.ErrTimeout):
		status = fiber.StatusRequestTimeout
	}
	plain(ctx, status, http.StatusText(status))
}

// plain answers outside of any API.
func plain(ctx *fasthttp.RequestCtx, status int, message string) {
	ctx.Response.Reset()
	ctx.SetStatusCode(status)
	ctx.SetContentType(fiber.MIMEApplicationJSON)
	ctx.SetBody(jsonOf(map[string]string{"error": message}))
	ctx.SetConnectionClose()
}

// RefusePlainly is the refusal of a port that belongs to no API: see Guard.
func RefusePlainly(ctx *fasthttp.RequestCtx, f *fault.Error) {
	plain(ctx, StatusOf(f.Kind), f.Message)
}
