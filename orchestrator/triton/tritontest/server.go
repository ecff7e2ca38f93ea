// Package tritontest has a Triton Inference Server for tests and a conformance suite. The server is in process and
// serves the real gRPC contract on a loopback port; its models are Go functions, and tests can make it fail. The suite
// runs the same checks against it and against a real tritonserver, so that they agree in states, error codes and
// messages.
//
// Terms:
//   - target: the server under conformance test.
//   - form: a model as it was loaded, which a later load replaces.
package tritontest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
)

// Server is one replica. Models are loaded only on request, as with --model-control-mode=explicit.
type Server struct {
	pb.UnimplementedGRPCInferenceServiceServer
	tb      testing.TB
	address string

	mu     sync.Mutex
	grpc   *grpc.Server // nil while stopped
	listen net.Listener
	folder map[string]*Model           // the model repository
	loaded map[string]*loadedModel     // all models ever loaded
	fail   func(*triton.Request) error // see Fail
	calls  []*triton.Request
	rpcs   map[string]int // by method
}

// Start starts a server and loads models. It stops the server when the test ends.
func Start(tb testing.TB, models ...Model) *Server {
	tb.Helper()
	s := &Server{
		tb:     tb,
		folder: make(map[string]*Model),
		loaded: make(map[string]*loadedModel),
		rpcs:   make(map[string]int),
	}
	s.serve(listen(tb))
	tb.Cleanup(s.Stop)
	for _, m := range models {
		s.Load(s.Put(m))
	}
	return s
}

// URL returns the address for triton.Config.
func (s *Server) URL() string { return s.address }

// Stop kills the server: connections break and the port is closed. Models stay loaded for Restart.
func (s *Server) Stop() {
	s.mu.Lock()
	g := s.grpc
	listener := s.listen
	s.grpc = nil
	s.mu.Unlock()
	if g != nil {
		g.Stop()
		_ = listener.Close() // Serve may not have started yet
	}
}

// Restart starts a stopped server again on the same port.
func (s *Server) Restart() {
	s.tb.Helper()
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.serve(listener)
}

// listen listens on a port below the ephemeral ones, so that no connection occupies it before Restart.
func listen(tb testing.TB) net.Listener {
	tb.Helper()
	for range 100 {
		if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(20_000))); err == nil {
			return listener
		}
	}
	tb.Fatal("no free port between 12000 and 32000")
	return nil
}

func (s *Server) serve(listener net.Listener) {
	g := grpc.NewServer(grpc.MaxRecvMsgSize(1<<30), grpc.MaxSendMsgSize(1<<30), grpc.UnaryInterceptor(s.count))
	pb.RegisterGRPCInferenceServiceServer(g, s)
	s.mu.Lock()
	s.grpc = g
	s.listen = listener
	s.address = listener.Addr().String()
	s.mu.Unlock()
	go func() { _ = g.Serve(listener) }()
}

// Fail has f called before each inference. An error of f is the caller's, see Refuse. f may also sleep. Nil ends this.
func (s *Server) Fail(f func(*triton.Request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = f
}

// Calls returns the inference requests so far, including refused ones.
func (s *Server) Calls() []*triton.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*triton.Request(nil), s.calls...)
}

// count counts unary calls by method.
func (s *Server) count(ctx context.Context, m any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	s.mu.Lock()
	s.rpcs[path.Base(info.FullMethod)]++
	s.mu.Unlock()
	return handler(ctx, m)
}

// RPCs returns how many unary calls of a method, such as "RepositoryIndex", have started.
func (s *Server) RPCs(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rpcs[method]
}

// Refuse returns an error with a gRPC code, like a TritonError of a model or an error of Triton itself. Any other error
// of a model becomes INTERNAL, like an exception.
func Refuse(code codes.Code, message string) error { return status.Error(code, message) }

// ServerLive returns true: a stopped server does not answer.
func (s *Server) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}
