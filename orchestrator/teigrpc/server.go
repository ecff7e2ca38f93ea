package teigrpc

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"retort/orchestrator/memory"
	"retort/orchestrator/teigrpc/teipb"
)

// Options say which API a server has and what it may take.
type Options struct {
	// Serves reports which of the services Embed, Predict and Rerank the API answers.
	Serves map[string]bool
	// Call makes a call.
	Call Caller
	// Authorize returns an error unless the header authorization has a key; nil: no key is needed.
	Authorize func(authorization string) error
	// CountRefusal counts a request beyond Concurrency; may be nil.
	CountRefusal func()
	// Ready returns nil if the API can serve.
	Ready func() error

	Concurrency    int           // requests and streams at once; others are refused
	MaxConnections int           // open at once; others wait
	ConnectionAge  time.Duration // at which clients are asked to connect again; 0: never
	BodyLimit      int           // bytes of a message, at most maxMessage
	Timeout        time.Duration // of a request or stream
	Memory         *memory.Budget
	// Register adds other services to the port, with the same bounds; may be nil.
	Register func(grpc.ServiceRegistrar)
	TLS      *tls.Config // nil: no TLS
}

// Call is a request to a gateway.
type Call struct {
	Path string
	Body []byte // nil: GET
	ID   string // of the request; may be empty
}

// Answer is the answer to a Call.
type Answer struct {
	Status         int
	Body           []byte
	Tokens         int64         // that models read
	RowTokens      []int         // that models read of each text or pair, in the order of the request
	Queued, Triton time.Duration // time spent waiting for a turn and for Triton
}

// maxMessage is the upper bound of a message in bytes, gRPC's default.
const maxMessage = 4 << 20

// Bounds of connections.
const (
	maxStreams = 128             // requests and streams of one connection at once
	idle       = 5 * time.Minute // after which a connection without requests is closed
	pingAfter  = time.Minute     // of silence, to find clients that have left
	leastPing  = 10 * time.Second
)

// Server serves one API on one port.
type Server struct {
	options  Options
	grpc     *grpc.Server
	health   *health.Server
	leaving  context.Context
	leave    context.CancelFunc
	inFlight atomic.Int64
}

// New returns a server.
func New(options Options) *Server {
	s := &Server{options: options, health: health.NewServer()}
	s.leaving, s.leave = context.WithCancel(context.Background())
	limit := min(options.BodyLimit, maxMessage)
	service := &service{options: options, limit: limit}
	settings := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(limit),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: idle,
			MaxConnectionAge:  options.ConnectionAge,
			Time:              pingAfter,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPing, PermitWithoutStream: true}),
		grpc.InTapHandle(s.admit),
		grpc.StatsHandler(&counter{inFlight: &s.inFlight}),
		grpc.UnaryInterceptor(service.interceptUnary),
		grpc.StreamInterceptor(recoverStream),
	}
	if options.TLS != nil {
		settings = append(settings, grpc.Creds(credentials.NewTLS(options.TLS)))
	}
	s.grpc = grpc.NewServer(settings...)
	teipb.RegisterInfoServer(s.grpc, infoServer{service: service})
	teipb.RegisterEmbedServer(s.grpc, embedServer{service: service})
	teipb.RegisterPredictServer(s.grpc, predictServer{service: service})
	teipb.RegisterRerankServer(s.grpc, rerankServer{service: service})
	teipb.RegisterTokenizeServer(s.grpc, tokenizeServer{service: service})
	healthpb.RegisterHealthServer(s.grpc, &healthServer{s})
	if options.Register != nil {
		options.Register(s.grpc)
	}
	reflection.Register(s.grpc)
	return s
}

// Serve answers on listener until Shutdown.
func (s *Server) Serve(listener net.Listener) error {
	ended := make(chan struct{})
	defer close(ended)
	s.updateHealth()
	go s.watchHealth(ended)
	return s.grpc.Serve(netutil.LimitListener(listener, s.options.MaxConnections))
}

// Leave ends the streams of health checks, which would never end by themselves. The port still serves.
func (s *Server) Leave() {
	s.updateHealth()
	s.leave()
}

// Shutdown refuses new requests and waits until those in flight have ended, or timeout has passed.
func (s *Server) Shutdown(timeout time.Duration) error {
	s.leave()
	cut := make(chan struct{})
	timer := time.AfterFunc(timeout, func() {
		close(cut)
		s.grpc.Stop()
	})
	s.grpc.GracefulStop()
	if timer.Stop() {
		return nil
	}
	<-cut
	return context.DeadlineExceeded
}

// admit refuses a request before its message is read, or bounds its time. A client that sends its message too slowly is
// refused at the end of that time.
func (s *Server) admit(ctx context.Context, info *tap.Info) (context.Context, error) {
	if err := s.check(info); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	context.AfterFunc(ctx, cancel) // ctx ends with the one that it is made of, when the request ends
	return ctx, nil
}

// check refuses a request without a key, or beyond Concurrency. Health checks need neither.
func (s *Server) check(info *tap.Info) error {
	if isHealth(info.FullMethodName) {
		return nil
	}
	if s.options.Authorize != nil {
		if err := s.options.Authorize(first(info.Header, "authorization")); err != nil {
			return status.Error(codes.Unauthenticated, err.Error())
		}
	}
	if s.inFlight.Load() >= int64(s.options.Concurrency) {
		if s.options.CountRefusal != nil {
			s.options.CountRefusal()
		}
		return status.Error(codes.ResourceExhausted, "Model is overloaded")
	}
	return nil
}

func isHealth(method string) bool {
	return strings.HasPrefix(method, "/"+healthpb.Health_ServiceDesc.ServiceName+"/")
}

// first returns the first value of a header, or "".
func first(header metadata.MD, name string) string {
	if values := header.Get(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// counter counts the requests and streams in flight, without health checks.
type counter struct{ inFlight *atomic.Int64 }

type isHealthKey struct{}

func (c *counter) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, isHealthKey{}, isHealth(info.FullMethodName))
}

func (c *counter) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if isHealth, _ := ctx.Value(isHealthKey{}).(bool); isHealth {
		return
	}
	switch s.(type) {
	case *stats.Begin:
		c.inFlight.Add(1)
	case *stats.End:
		c.inFlight.Add(-1)
	}
}

func (c *counter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (c *counter) HandleConn(context.Context, stats.ConnStats) {}
