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

// Server is one replica. Its repository is under explicit control, as with --model-control-mode=explicit.
type Server struct {
	pb.UnimplementedGRPCInferenceServiceServer
	tb      testing.TB
	address string

	mu     sync.Mutex
	grpc   *grpc.Server // nil while stopped
	listen net.Listener
	folder map[string]*Model
	loaded map[string]*serving
	fault  func(*triton.Request) error
	calls  []*triton.Request
	rpcs   map[string]int
}

// Start starts a server with models, loaded, and stops it when the test ends.
func Start(tb testing.TB, models ...Model) *Server {
	tb.Helper()
	s := &Server{tb: tb, folder: make(map[string]*Model), loaded: make(map[string]*serving), rpcs: make(map[string]int)}
	s.serve(listen(tb))
	tb.Cleanup(s.Stop)
	for _, m := range models {
		s.Load(s.Put(m))
	}
	return s
}

// URL is the address for triton.Config.
func (s *Server) URL() string { return s.address }

// Stop kills the server: connections break, the port is closed. Models stay loaded for the next start, since a test
// that wants otherwise can say so.
func (s *Server) Stop() {
	s.mu.Lock()
	g, listener := s.grpc, s.listen
	s.grpc = nil
	s.mu.Unlock()
	if g != nil {
		g.Stop()
		_ = listener.Close() // Serve may not have got hold of it yet
	}
}

// Restart starts a stopped server again on the port it had.
func (s *Server) Restart() {
	s.tb.Helper()
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.serve(listener)
}

// listen takes a port below those that the system gives to connections, so that none of them holds it when the server
// starts again.
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

// Fail makes every inference ask f first, which may return an error for the caller (Refuse makes one) or sleep; nil
// ends it.
func (s *Server) Fail(f func(*triton.Request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Calls returns the inferences asked for so far, refused ones included.
func (s *Server) Calls() []*triton.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*triton.Request(nil), s.calls...)
}

// count counts unary calls by the method's name.
func (s *Server) count(ctx context.Context, m any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	s.mu.Lock()
	s.rpcs[path.Base(info.FullMethod)]++
	s.mu.Unlock()
	return handler(ctx, m)
}

// RPCs returns how many unary calls of a method have begun, such as "RepositoryIndex".
func (s *Server) RPCs(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rpcs[method]
}

// Refuse returns an error with a gRPC code: what a Triton model does with a TritonError, and Triton itself. Any other
// error of a model becomes INTERNAL, as an exception does.
func Refuse(code codes.Code, message string) error { return status.Error(code, message) }

// ServerLive says yes: a stopped server does not answer.
func (s *Server) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}
