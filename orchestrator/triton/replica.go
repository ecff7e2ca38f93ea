package triton

import (
	"context"
	"hash/fnv"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	pb "retort/orchestrator/triton/inferencepb"
)

// Replica is one server behind one address, with one HTTP/2 connection.
type Replica struct {
	address string
	conn    *grpc.ClientConn
	service pb.GRPCInferenceServiceClient

	inflight atomic.Int64
	probing  atomic.Bool
	// down is why the replica gets no calls, nil while it lives. A new one is taken to live until a probe fails.
	down atomic.Pointer[string]
	// models is what calls have told of each model: name → *health.
	models sync.Map
	index  atomic.Pointer[Index]
}

func dial(address string, t target, c Config) (*Replica, error) {
	security, err := c.security(t)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(security),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(c.MaxMessageBytes), grpc.MaxCallSendMsgSize(c.MaxMessageBytes)),
		// A batch of embeddings is a megabyte: with gRPC's window of 64 KiB it would wait for many round trips.
		grpc.WithInitialWindowSize(8<<20), grpc.WithInitialConnWindowSize(16<<20),
		grpc.WithKeepaliveParams(keepaliveParams(c)),
		// A replica that comes back must be found within a probe or two, not after gRPC's two minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: c.ProbeTimeout,
		}),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, err
	}
	return &Replica{address: address, conn: conn, service: pb.NewGRPCInferenceServiceClient(conn)}, nil
}

// keepaliveParams find a connection whose other end vanished. Triton answers pings that come more often than every five
// minutes with GOAWAY, unless its own data flows between them (its option
// --grpc-http2-min-recv-ping-interval-without-data). Probes make it flow, and gRPC pings only when nothing was read for
// Time, so as long as the server answers at all no ping is sent.
func keepaliveParams(c Config) keepalive.ClientParameters {
	return keepalive.ClientParameters{Time: max(10*time.Second, 3*(c.ProbeEvery+c.ProbeTimeout)), Timeout: 5 * time.Second}
}

// probe asks whether the replica lives, and reports whether that changed. It asks for liveness: readiness is false for
// the whole server while any one model is being loaded, and stays false after a failed load.
func (r *Replica) probe(ctx context.Context, timeout time.Duration) (changed bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if r.down.Load() != nil {
		r.conn.ResetConnectBackoff()
	}
	// Of a replica that is down the probe waits for the connection, and so finds it back at the first attempt that
	// succeeds.
	answer, err := r.service.ServerLive(ctx, &pb.ServerLiveRequest{}, grpc.WaitForReady(r.down.Load() != nil))
	var reason *string
	switch {
	case err != nil:
		text := err.Error()
		reason = &text
	case !answer.Live:
		text := "it says that it is not live"
		reason = &text
	}
	return (r.down.Swap(reason) == nil) != (reason == nil)
}

// rank orders replicas for calls to a model; the lowest is the best, 2 gets none. A live replica that is not known to
// serve the model may still do so: it may have loaded it since it was listed. One where the model is sick gets no
// inferences.
func (r *Replica) rank(model string, inference bool) int {
	if r.down.Load() != nil || inference && r.sickness(model) != "" {
		return 2
	}
	if index := r.index.Load(); model != "" && index != nil && len(index.ready[model]) == 0 {
		return 1
	}
	return 0
}

// weight orders replicas for steady calls about a model, the lowest first.
func (r *Replica) weight(model string) uint32 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, model)
	_, _ = io.WriteString(h, r.address)
	return h.Sum32()
}

// Address returns the host and port of the replica.
func (r *Replica) Address() string { return r.address }

// Index returns the content of the replica's model repository, or nil before it was first listed.
func (r *Replica) Index() *Index { return r.index.Load() }

// retire closes the connection once its calls have ended, or after a minute.
func (r *Replica) retire() {
	for deadline := time.Now().Add(time.Minute); r.inflight.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	_ = r.conn.Close()
}

// addresses returns where a target is now.
func (t target) addresses(ctx context.Context) ([]string, error) {
	if !t.dns {
		return []string{net.JoinHostPort(t.host, t.port)}, nil
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, t.host)
	if err != nil {
		return nil, err
	}
	for i, host := range hosts {
		hosts[i] = net.JoinHostPort(host, t.port)
	}
	return hosts, nil
}
