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
	down     atomic.Pointer[string] // reason, nil while the replica is live; a new one counts as live
	models   sync.Map               // *health by the model's name
	index    atomic.Pointer[Index]
}

func dial(address string, t target, c Config) (*Replica, error) {
	security, err := c.security(t)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(security),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(c.MaxMessageBytes), grpc.MaxCallSendMsgSize(c.MaxMessageBytes)),
		// A batch of embeddings is a megabyte, which takes many round trips with gRPC's window of 64 KiB.
		grpc.WithInitialWindowSize(8<<20),
		grpc.WithInitialConnWindowSize(16<<20),
		grpc.WithKeepaliveParams(keepaliveParams(c)),
		// Reconnect within a probe or two: the default backoff grows to two minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay:  100 * time.Millisecond,
				Multiplier: 1.6,
				Jitter:     0.2,
				MaxDelay:   time.Second,
			},
			MinConnectTimeout: c.ProbeTimeout,
		}),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, err
	}
	return &Replica{address: address, conn: conn, service: pb.NewGRPCInferenceServiceClient(conn)}, nil
}

// keepaliveParams returns parameters that detect a connection whose other end has vanished. Triton answers pings that
// come more often than every five minutes with GOAWAY, unless it sends data between them (see its option
// --grpc-http2-min-recv-ping-interval-without-data). gRPC pings only if it has read nothing for Time, and a live server
// answers probes more often, so only a server that does not answer is pinged.
func keepaliveParams(c Config) keepalive.ClientParameters {
	return keepalive.ClientParameters{
		Time:    max(10*time.Second, 3*(c.ProbeEvery+c.ProbeTimeout)),
		Timeout: 5 * time.Second,
	}
}

// probe checks the liveness of the replica and reports whether it changed. It does not check readiness, which is false
// for the whole server while any model is being loaded, and after a failed load.
func (r *Replica) probe(ctx context.Context, timeout time.Duration) (changed bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if r.down.Load() != nil {
		r.conn.ResetConnectBackoff()
	}
	// If the replica is down, the probe waits for the connection, and so succeeds as soon as the server is back.
	answer, err := r.service.ServerLive(ctx, &pb.ServerLiveRequest{}, grpc.WaitForReady(r.down.Load() != nil))
	var reason *string
	switch {
	case err != nil:
		text := err.Error()
		reason = &text
	case !answer.Live:
		text := "it reports that it is not live"
		reason = &text
	}
	return (r.down.Swap(reason) == nil) != (reason == nil)
}

// rank orders replicas for the calls to a model, the best first.
type rank int

const (
	rankServes   rank = iota
	rankMayServe      // its index did not have the model, which may have been loaded since then
	rankUnusable      // gets no calls: it is down, or the model is sick there and the call is an inference
)

func (r *Replica) rank(model string, inference bool) rank {
	if r.down.Load() != nil || inference && r.sickness(model) != "" {
		return rankUnusable
	}
	if index := r.index.Load(); model != "" && index != nil && len(index.ready[model]) == 0 {
		return rankMayServe
	}
	return rankServes
}

// stickyHash orders replicas for the sticky calls to a model, the lowest first.
func (r *Replica) stickyHash(model string) uint32 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, model)
	_, _ = io.WriteString(h, r.address)
	return h.Sum32()
}

// Address returns the host and port of the replica.
func (r *Replica) Address() string { return r.address }

// Index returns the index of the replica's model repository as listed last, or nil before that.
func (r *Replica) Index() *Index { return r.index.Load() }

// retire closes the connection when its calls have ended, or after a minute.
func (r *Replica) retire() {
	for deadline := time.Now().Add(time.Minute); r.inflight.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	_ = r.conn.Close()
}

// addresses looks up the addresses of a target.
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
