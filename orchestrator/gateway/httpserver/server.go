package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
)

// Config bounds what one port accepts.
type Config struct {
	// MaxConnections is the most connections open at once. At the limit the one whose client has been awaited longest
	// is closed for the next; if all requests are being served, the next waits to be accepted. Default 4096.
	MaxConnections int
	// WriteTimeout is how long a client may take for each piece (256 KiB) of an answer. Default 30 s.
	WriteTimeout time.Duration
	// ConnectionAge is the age at which a connection is closed after its next answer, so that clients with persistent
	// connections also reach replicas that were added behind a TCP load balancer. For each connection it is up to a
	// tenth shorter, so that connections opened together do not close together. 0: no limit.
	ConnectionAge time.Duration
	// TLS is the certificate; nil for plain HTTP.
	TLS *tls.Config
	// Name names the port in the log and the metrics.
	Name    string
	Logger  zerolog.Logger
	Metrics *telemetry.Metrics // nil for none
}

func (c Config) withDefaults() Config {
	c.MaxConnections = cmp.Or(c.MaxConnections, 4096)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	return c
}

// Server serves one port.
type Server struct {
	http        *fasthttp.Server
	connections *connections
	config      Config
	leaving     atomic.Bool // see Leave

	mu       sync.Mutex
	listener net.Listener // nil until Serve
	stopped  bool         // Shutdown was called
}

// maxHead is the largest request line with headers, in bytes.
const maxHead = 16 << 10

// New returns a server for a handler that Guard has wrapped.
func New(handler fasthttp.RequestHandler, config Config) *Server {
	config = config.withDefaults()
	s := &Server{config: config, connections: newConnections(config.MaxConnections, config.WriteTimeout)}
	s.http = &fasthttp.Server{
		Handler:      s.closeWhenDue(handler),
		ErrorHandler: answerMalformed,
		Logger:       silentLogger{},
		// Handlers read bodies themselves: see ReadBody and OpenBody.
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		ReadBufferSize:               maxHead,
		ReadTimeout:                  2 * time.Minute,
		IdleTimeout:                  2 * time.Minute,
		CloseOnShutdown:              true,
		ConnState:                    s.connections.onState,
	}
	return s
}

// Serve accepts connections from a listener until Shutdown. Transient errors of the system, such as too many open
// files, do not end it.
func (s *Server) Serve(listener net.Listener) error {
	if s.config.TLS != nil {
		listener = tls.NewListener(listener, s.config.TLS)
	}
	if !s.setListener(listener) {
		return nil
	}
	err := s.http.Serve(s.connections.limit(listener))
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Leave closes every connection after its next answer while new ones are still accepted, so that clients with
// persistent connections go elsewhere before Shutdown closes theirs, which could be when they send their next request.
func (s *Server) Leave() { s.leaving.Store(true) }

// closeWhenDue wraps a handler: its answer closes the connection if that is old or the server is leaving.
func (s *Server) closeWhenDue(handler fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		s.recoverPanic(ctx, handler)
		// fasthttp writes the end of a chunked body even to a HEAD request.
		isHeadOfStream := ctx.IsHead() && ctx.Response.IsBodyStream()
		if s.leaving.Load() || s.isOld(ctx) || isHeadOfStream {
			ctx.SetConnectionClose()
		}
	}
}

// recoverPanic answers a panic of the handler with status 500. fasthttp would let it end the process.
func (s *Server) recoverPanic(ctx *fasthttp.RequestCtx, handler fasthttp.RequestHandler) {
	start := time.Now()
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		status := fasthttp.StatusInternalServerError
		AnswerError(ctx, status, "Internal server error")
		s.config.Logger.Error().Str("api", s.config.Name).Bytes("stack", debug.Stack()).
			Bytes("method", ctx.Method()).Str("path", fault.Clip(string(ctx.Path()))).
			Int("status", status).Msgf("panic: %v", p)
		if s.config.Metrics != nil {
			request := &telemetry.Request{API: s.config.Name}
			method := string(ctx.Method())
			s.config.Metrics.ObserveRequest(request, telemetry.OtherRoute, method, status, time.Since(start))
		}
	}()
	handler(ctx)
}

// isOld reports whether the connection of a request has reached its age.
func (s *Server) isOld(ctx *fasthttp.RequestCtx) bool {
	age := s.config.ConnectionAge
	sixteenths := time.Duration(ctx.ConnID() % 16)
	return age > 0 && time.Since(ctx.ConnTime()) >= age-age*sixteenths/160
}

// setListener sets the listener that Shutdown closes and reports whether Shutdown has not been called yet.
func (s *Server) setListener(listener net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener = listener
	return !s.stopped
}

// stopListening ends Serve, even if it has not begun to accept yet.
func (s *Server) stopListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.listener != nil {
		_ = s.listener.Close() // may be closed already
	}
}

// Shutdown accepts no more connections and returns once all requests have been answered, or an error after timeout.
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

// silentLogger drops fasthttp's log of single connections: malformed requests are answered, and clients may disconnect.
type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// answerMalformed answers a malformed request line or headers above maxHead and closes the connection.
func answerMalformed(ctx *fasthttp.RequestCtx, err error) {
	status := fasthttp.StatusBadRequest
	var tooSmall *fasthttp.ErrSmallBuffer
	switch {
	case errors.As(err, &tooSmall):
		status = fasthttp.StatusRequestHeaderFieldsTooLarge
	case errors.Is(err, fasthttp.ErrTimeout):
		status = fasthttp.StatusRequestTimeout
	}
	AnswerError(ctx, status, http.StatusText(status))
}

// AnswerError answers a request that reaches no API with {"error": message} and closes the connection.
func AnswerError(ctx *fasthttp.RequestCtx, status int, message string) {
	ctx.Response.Reset()
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	if body, err := json.Marshal(map[string]string{"error": message}); err == nil {
		ctx.SetBody(body)
	}
	ctx.SetConnectionClose()
}
