package teigrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"retort/orchestrator/memory"
	"retort/orchestrator/teigrpc"
	"retort/orchestrator/teigrpc/teipb"
)

// api is an API whose vector of a text is its length. It records its calls.
type api struct {
	block   chan struct{} // calls wait until it is closed or their context ends; may be nil
	started atomic.Int64
	atOnce  atomic.Int64
	most    atomic.Int64
	ended   atomic.Int64 // with their context
	ready   error
}

func (a *api) call(ctx context.Context, c teigrpc.Call) teigrpc.Answer {
	a.started.Add(1)
	now := a.atOnce.Add(1)
	defer a.atOnce.Add(-1)
	for most := a.most.Load(); now > most && !a.most.CompareAndSwap(most, now); most = a.most.Load() {
	}
	if a.block != nil {
		select {
		case <-a.block:
		case <-ctx.Done():
			a.ended.Add(1)
			return teigrpc.Answer{Status: 503}
		}
	}
	if bytes.Contains(c.Body, []byte("u003c")) {
		panic("characters of HTML are escaped")
	}
	var body struct{ Inputs []string }
	if err := json.Unmarshal(c.Body, &body); err != nil {
		panic(err)
	}
	switch text := body.Inputs[0]; text {
	case "panic":
		panic("as asked")
	case "no vector":
		return teigrpc.Answer{Status: 200, Body: []byte(`{}`)}
	default:
		if failure, found := strings.CutPrefix(text, "fail "); found {
			httpStatus, kind, _ := strings.Cut(failure, " ")
			answer := teigrpc.Answer{Body: fmt.Appendf(nil, `{"error":"as asked","error_type":%q}`, kind)}
			_, _ = fmt.Sscan(httpStatus, &answer.Status)
			return answer
		}
		return teigrpc.Answer{Status: 200, Body: fmt.Appendf(nil, `[[%d]]`, len(text)), Tokens: 3}
	}
}

// start serves an API and returns the server and a connection to it.
func start(t *testing.T, a *api, change func(*teigrpc.Options)) (*teigrpc.Server, *grpc.ClientConn) {
	t.Helper()
	options := teigrpc.Options{
		Serves:         map[string]bool{"tei.v1.Embed": true},
		Call:           a.call,
		Ready:          func() error { return a.ready },
		Concurrency:    100,
		MaxConnections: 10,
		BodyLimit:      1 << 20,
		Timeout:        time.Minute,
	}
	if change != nil {
		change(&options)
	}
	server := teigrpc.New(options)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()
	noTLS := grpc.WithTransportCredentials(insecure.NewCredentials())
	connection, err := grpc.NewClient(listener.Addr().String(), noTLS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		connection.Close()
		_ = server.Shutdown(0)
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return server, connection
}

func embed(ctx context.Context, c *grpc.ClientConn, text string) (*teipb.EmbedResponse, error) {
	return teipb.NewEmbedClient(c).Embed(ctx, &teipb.EmbedRequest{Inputs: text})
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal(what)
		}
	}
}

func TestAnswersAndFailures(t *testing.T) {
	_, c := start(t, &api{}, nil)
	answer, err := embed(t.Context(), c, "héllo")
	if err != nil || len(answer.Embeddings) != 1 || answer.Embeddings[0] != 6 ||
		answer.Metadata.ComputeTokens != 3 || answer.Metadata.ComputeChars != 5 {
		t.Fatalf("%v, %v", answer, err)
	}
	for text, want := range map[string]codes.Code{
		"fail 422 Validation": codes.InvalidArgument,
		"fail 400 Empty":      codes.InvalidArgument,
		"fail 413 Validation": codes.InvalidArgument,
		"fail 429 Overloaded": codes.ResourceExhausted,
		"fail 503 Unhealthy":  codes.Unavailable,
		"fail 424 Backend":    codes.FailedPrecondition,
		"fail 504 Backend":    codes.DeadlineExceeded,
		"fail 500 Backend":    codes.Internal,
		"fail 404":            codes.Unimplemented,
		"panic":               codes.Internal,
		"no vector":           codes.Internal,
	} {
		_, err := embed(t.Context(), c, text)
		if status.Code(err) != want {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
	large := strings.Repeat("a", 1<<20)
	if _, err := embed(t.Context(), c, large); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a large message: %v", err)
	}
	_, err = teipb.NewRerankClient(c).Rerank(t.Context(), &teipb.RerankRequest{})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("another type of model: %v", err)
	}
}

// Beyond Concurrency a request is refused. When the others have ended, the next is served.
func TestOverload(t *testing.T) {
	a := &api{block: make(chan struct{})}
	var refused atomic.Int64
	_, c := start(t, a, func(o *teigrpc.Options) {
		o.Concurrency = 3
		o.CountRefusal = func() { refused.Add(1) }
	})
	done := make(chan error)
	for range 3 {
		go func() {
			_, err := embed(t.Context(), c, "a")
			done <- err
		}()
	}
	eventually(t, "three requests did not start", func() bool { return a.started.Load() == 3 })
	if _, err := embed(t.Context(), c, "a"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a fourth request: %v", err)
	}
	if n := refused.Load(); n != 1 {
		t.Errorf("%d refusals are counted", n)
	}
	health, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", health, err)
	}
	close(a.block)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	eventually(t, "no request is served again", func() bool {
		_, err := embed(t.Context(), c, "a")
		return err == nil
	})
}

// A client that leaves ends its calls, in a stream too.
func TestCancellation(t *testing.T) {
	a := &api{block: make(chan struct{})}
	_, c := start(t, a, nil)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := teipb.NewEmbedClient(c).EmbedStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := stream.Send(&teipb.EmbedRequest{Inputs: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _, _ = embed(ctx, c, "a") }()
	eventually(t, "the calls did not start", func() bool { return a.started.Load() >= 18 })
	cancel()
	eventually(t, "the calls did not end", func() bool { return a.ended.Load() == a.started.Load() })
	if most := a.most.Load(); most > 20 {
		t.Errorf("%d calls of one stream at once", most)
	}
	a.block = nil
	short, stop := context.WithTimeout(t.Context(), time.Nanosecond)
	defer stop()
	if _, err := embed(short, c, "a"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a deadline: %v", err)
	}
}

// Answers come in the order of the messages, and the first failure ends a stream.
func TestStreams(t *testing.T) {
	_, c := start(t, &api{}, nil)
	stream, err := teipb.NewEmbedClient(c).EmbedStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := range 200 {
			_ = stream.Send(&teipb.EmbedRequest{Inputs: strings.Repeat("a", i+1)})
		}
		_ = stream.CloseSend()
	}()
	for i := range 200 {
		answer, err := stream.Recv()
		if err != nil || answer.Embeddings[0] != float32(i+1) {
			t.Fatalf("answer %d: %v, %v", i, answer, err)
		}
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last answer: %v", err)
	}
	if stream, err = teipb.NewEmbedClient(c).EmbedStream(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "panic", "a"} {
		_ = stream.Send(&teipb.EmbedRequest{Inputs: text})
	}
	if _, err := stream.Recv(); err != nil {
		t.Error(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Internal {
		t.Errorf("after a failure: %v", err)
	}
}

// A stream without messages ends at the timeout.
func TestTimeoutOfStreams(t *testing.T) {
	_, c := start(t, &api{}, func(o *teigrpc.Options) { o.Timeout = 50 * time.Millisecond })
	stream, err := teipb.NewEmbedClient(c).EmbedStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v", err)
	}
}

// A request whose message does not come ends at the timeout, and others are served again.
func TestTimeoutOfMessages(t *testing.T) {
	_, c := start(t, &api{}, func(o *teigrpc.Options) {
		o.Concurrency = 1
		o.Timeout = 50 * time.Millisecond
	})
	late, err := c.NewStream(t.Context(), &grpc.StreamDesc{}, teipb.Embed_Embed_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	if err := late.RecvMsg(&teipb.EmbedResponse{}); err == nil {
		t.Error("an answer without a message")
	}
	eventually(t, "no request is served after the timeout", func() bool {
		_, err := embed(t.Context(), c, "a")
		return err == nil
	})
}

// A large message waits for memory, alone and in a stream; small ones do not. All memory is released.
func TestMemory(t *testing.T) {
	budget := memory.NewBudget(1<<20, 100*time.Millisecond)
	_, c := start(t, &api{}, func(o *teigrpc.Options) { o.Memory = budget })
	release, err := budget.Acquire(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := embed(t.Context(), c, "a"); err != nil {
		t.Errorf("a small message: %v", err)
	}
	large := strings.Repeat("<", 100<<10)
	if _, err := embed(t.Context(), c, large); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a large message: %v", err)
	}
	if _, err := embedStream(t, c, large); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a large message in a stream: %v", err)
	}
	release()
	if n, err := embedStream(t, c, slices.Repeat([]string{large}, 50)...); n != 50 || err != nil {
		t.Errorf("%d of 50 large messages are answered: %v", n, err)
	}
	eventually(t, "memory is not released", func() bool { return budget.Held() == 0 })
}

// embedStream sends texts in a stream, and returns how many are answered.
func embedStream(t *testing.T, c *grpc.ClientConn, texts ...string) (answered int, err error) {
	t.Helper()
	stream, err := teipb.NewEmbedClient(c).EmbedStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for _, text := range texts {
			_ = stream.Send(&teipb.EmbedRequest{Inputs: text})
		}
		_ = stream.CloseSend()
	}()
	for {
		if _, err := stream.Recv(); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return answered, err
		}
		answered++
	}
}

// A key is checked before a message is read; health checks need none.
func TestAuthorization(t *testing.T) {
	a := &api{}
	_, c := start(t, a, func(o *teigrpc.Options) {
		o.Authorize = func(string) error { return errors.New("no key") }
	})
	if _, err := embed(t.Context(), c, "a"); status.Code(err) != codes.Unauthenticated || a.started.Load() > 0 {
		t.Errorf("%v, %d calls", err, a.started.Load())
	}
	if _, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
}

// Requests in flight end before a shutdown does, and streams of health checks do not delay it.
func TestShutdown(t *testing.T) {
	a := &api{block: make(chan struct{})}
	server, c := start(t, a, nil)
	watch, err := healthpb.NewHealthClient(c).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.Status != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("%v, %v", got, err)
	}
	answered := make(chan error)
	go func() {
		_, err := embed(t.Context(), c, "a")
		answered <- err
	}()
	eventually(t, "the request did not start", func() bool { return a.started.Load() == 1 })
	server.Leave()
	down := make(chan error)
	go func() { down <- server.Shutdown(time.Minute) }()
	for err == nil {
		_, err = watch.Recv()
	}
	close(a.block)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

// tei.binpb, from which the tests make a client, must match the stubs.
func TestDescriptorsMatchStubs(t *testing.T) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(teipb.Descriptors, set); err != nil {
		t.Fatal(err)
	}
	if len(set.File) != 1 || !proto.Equal(set.File[0], protodesc.ToFileDescriptorProto(teipb.File_tei_proto)) {
		t.Error("tei.binpb and its stubs differ: run go generate")
	}
	if _, err := os.Stat("teipb/tei.proto"); err != nil {
		t.Error(err)
	}
}
