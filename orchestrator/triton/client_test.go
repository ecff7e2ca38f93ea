package triton_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
	"retort/orchestrator/triton/tritontest"
)

// echoRequest returns a request for the model of tritontest.Echo.
func echoRequest() *triton.Request {
	return &triton.Request{Model: "echo", Inputs: []triton.Tensor{triton.Float32s("x", []int64{1, 1}, []float32{1})}}
}

func TestCallsSpreadOverReplicas(t *testing.T) {
	servers := make([]*tritontest.Server, 3)
	var config triton.Config
	for i, prefix := range []string{"", "grpc://", ""} {
		servers[i] = tritontest.Start(t, tritontest.Echo(t))
		config.URLs = append(config.URLs, prefix+servers[i].URL())
	}
	c := tritontest.Dial(t, config)
	for range 300 {
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range servers {
		if n := len(s.Calls()); n < 80 {
			t.Errorf("replica %d got %d of 300 calls", i, n)
		}
	}
}

// If a replica dies under load, no request fails. It gets calls again when it is back.
func TestFailedReplicaIsLeftOutUntilItIsBack(t *testing.T) {
	healthy := tritontest.Start(t, tritontest.Echo(t))
	failing := tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{healthy.URL(), failing.URL()}})
	stop := make(chan struct{})
	var answered atomic.Int64
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
					t.Errorf("after %d answers: %v", answered.Load(), err)
					return
				}
				answered.Add(1)
			}
		})
	}
	live := func() int { return len(c.Live()) }
	tritontest.Eventually(t, "calls to both replicas", func() bool { return len(failing.Calls()) > 50 })
	failing.Stop()
	tritontest.Eventually(t, "one replica is left out", func() bool { return live() == 1 })
	before := len(failing.Calls())
	failing.Restart()
	tritontest.Eventually(t, "both replicas are in use", func() bool {
		return live() == 2 && len(failing.Calls()) > before+50
	})
	close(stop)
	clients.Wait()
}

func TestOneRetryOnAnotherReplica(t *testing.T) {
	refuse := func(code codes.Code) func(*triton.Request) error {
		return func(*triton.Request) error { return tritontest.Refuse(code, "no") }
	}
	a := tritontest.Start(t, tritontest.Echo(t))
	b := tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{a.URL(), b.URL()}})
	calls := func() (n int) {
		for _, r := range append(a.Calls(), b.Calls()...) {
			if r.ID != "probe" { // model probes after errors
				n++
			}
		}
		return n
	}
	once := echoRequest()
	once.Once = true
	for _, test := range []struct {
		code    codes.Code
		request *triton.Request
		calls   int
		kind    fault.Kind
	}{
		{codes.Unavailable, echoRequest(), 2, fault.Unavailable},
		{codes.InvalidArgument, echoRequest(), 1, fault.Rejected},
		{codes.Internal, echoRequest(), 1, fault.Internal},
		{codes.Unavailable, once, 1, fault.Unavailable},
	} {
		a.Fail(refuse(test.code))
		b.Fail(refuse(test.code))
		before := calls()
		_, err := c.Infer(t.Context(), test.request)
		if fault.KindOf(err) != test.kind || calls()-before != test.calls {
			t.Errorf("%v: %d calls, want %d; %v", test.code, calls()-before, test.calls, err)
		}
	}
	// An error inside a stream has no code, only a message.
	a.Fail(func(*triton.Request) error {
		return tritontest.Refuse(codes.Unavailable, "[request id: <id_unknown>] Exceeds maximum queue size")
	})
	b.Fail(nil)
	for range 10 {
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
			t.Errorf("with one healthy replica: %v", err)
		}
		responses, err := c.Stream(t.Context(), echoRequest())
		if err != nil {
			t.Fatalf("a stream with one healthy replica: %v", err)
		}
		for r, err := range responses {
			if err != nil || len(r.Outputs) != 1 {
				t.Errorf("%+v, %v", r, err)
			}
		}
	}
}

// A call goes to a replica with its model, for example while models are replaced on one replica after the other.
func TestModelOnOneReplicaOnly(t *testing.T) {
	a := tritontest.Start(t)
	b := tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{a.URL(), b.URL()}})
	for range 10 {
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.ListIndexes(t.Context(), c.Live()); err != nil {
		t.Fatal(err)
	}
	a.Fail(func(*triton.Request) error {
		t.Error("a call went to the replica without the model")
		return nil
	})
	for range 10 {
		if _, err := c.ModelConfig(t.Context(), "echo"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoServerYet(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	s.Stop()
	c := tritontest.Dial(t, triton.Config{URLs: []string{s.URL()}})
	tritontest.Eventually(t, "the replica is left out", func() bool { return len(c.Live()) == 0 })
	start := time.Now()
	_, err := c.Infer(t.Context(), echoRequest())
	f := fault.As(err)
	if f.Kind != fault.Unavailable || f.RetryAfter <= 0 || strings.Contains(f.Message, "127.0.0.1") ||
		time.Since(start) > 100*time.Millisecond {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	if _, err := c.Stream(t.Context(), echoRequest()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("stream: %v", err)
	}
	if _, err := c.ListIndexes(t.Context(), c.Live()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("index: %v", err)
	}
	s.Restart()
	tritontest.Eventually(t, "the server answers", func() bool {
		_, err := c.Infer(t.Context(), echoRequest())
		return err == nil
	})
}

// A server that accepts connections and never answers is left out.
func TestSilentServerIsLeftOut(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{
		URLs:         []string{listener.Addr().String(), s.URL()},
		ProbeTimeout: time.Second,
	})
	tritontest.Eventually(t, "the silent server is left out", func() bool { return len(c.Live()) == 1 })
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if _, err := c.Infer(ctx, echoRequest()); err != nil {
			t.Error(err)
		}
		cancel()
	}
}

// warnings returns a logger that counts its warnings in n.
func warnings(n *atomic.Int64) zerolog.Logger {
	return zerolog.New(io.Discard).Hook(zerolog.HookFunc(func(_ *zerolog.Event, level zerolog.Level, _ string) {
		if level == zerolog.WarnLevel {
			n.Add(1)
		}
	}))
}

func TestMessageTooLarge(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{s.URL()}, MaxMessageBytes: 1000})
	_, err := c.Infer(t.Context(), &triton.Request{
		Model:  "echo",
		Inputs: []triton.Tensor{triton.Float32s("x", []int64{300, 1}, make([]float32, 300))},
	})
	if fault.KindOf(err) != fault.TooLarge {
		t.Error(err)
	}
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{s.URL()}})
	for name, r := range map[string]*triton.Request{
		"shape":     {Model: "echo", Inputs: []triton.Tensor{triton.Float32s("x", []int64{2, 1}, []float32{1})}},
		"parameter": {Model: "echo", Parameters: map[string]any{"x": []int{1}}},
	} {
		if _, err := c.Infer(t.Context(), r); fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.Stream(t.Context(), r); fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(s.Calls()); n != 0 {
		t.Errorf("%d calls were sent", n)
	}
}

func TestTimeWithTritonIsCounted(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	s.Fail(func(*triton.Request) error {
		time.Sleep(20 * time.Millisecond)
		return nil
	})
	c := tritontest.Dial(t, triton.Config{URLs: []string{s.URL()}})
	request := &telemetry.Request{}
	ctx := telemetry.WithRequest(t.Context(), request)
	start := time.Now()
	if _, err := c.Infer(ctx, echoRequest()); err != nil {
		t.Fatal(err)
	}
	counted := request.Triton()
	if took := time.Since(start); counted < 20*time.Millisecond || counted > took {
		t.Errorf("an inference of 20 ms that took %v was counted as %v", took, counted)
	}
	start = time.Now()
	responses, err := c.Stream(ctx, echoRequest())
	if err != nil {
		t.Fatal(err)
	}
	var reading time.Duration // by the caller
	for range responses {
		pause := time.Now()
		time.Sleep(100 * time.Millisecond)
		reading += time.Since(pause)
	}
	counted = request.Triton() - counted
	if took := time.Since(start) - reading; counted < 20*time.Millisecond || counted > took {
		t.Errorf("a stream of 20 ms that took %v without its reader was counted as %v", took, counted)
	}
}

// recordSpans returns a recorder of spans that end from now on.
func recordSpans(t *testing.T) *tracetest.SpanRecorder {
	recorder := tracetest.NewSpanRecorder()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	t.Cleanup(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })
	return recorder
}

func TestCallsAreTraced(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	c := s.Client()
	recorder := recordSpans(t)
	n := 0
	check := func(name, model, failure string) {
		t.Helper()
		tritontest.Eventually(t, "the span of the call", func() bool { return len(recorder.Ended()) > n })
		span := recorder.Ended()[n]
		n++
		if span.Name() != name || span.Status().Description != failure ||
			!slices.Contains(span.Attributes(), attribute.String("triton.model", model)) {
			t.Errorf("span %s %v, status %+v; want %s of model %q, failure %q",
				span.Name(), span.Attributes(), span.Status(), name, model, failure)
		}
	}
	_, _ = c.Infer(t.Context(), echoRequest())
	check("triton.infer", "echo", "")
	_, _ = c.Infer(t.Context(), &triton.Request{Model: "echo"})
	check("triton.infer", "echo", fault.Rejected.String())
	_, _ = c.ListIndexes(t.Context(), c.Live())
	check("triton.repository_index", "", "")
	responses, _ := c.Stream(t.Context(), echoRequest())
	for range responses {
		break
	}
	check("triton.stream", "echo", "")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := c.Stream(ctx, echoRequest()); err != nil {
		t.Fatal(err)
	}
	cancel() // without reading
	check("triton.stream", "echo", fault.Canceled.String())
}

// serve serves s with options, on another port, and returns its address.
func serve(t *testing.T, s *tritontest.Server, options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(options...)
	pb.RegisterGRPCInferenceServiceServer(g, s)
	t.Cleanup(g.Stop)
	go func() { _ = g.Serve(listener) }()
	return listener.Addr().String()
}

func TestTraceIsPassedOn(t *testing.T) {
	var unary, stream atomic.Value
	interceptUnary := func(
		ctx context.Context, m any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
	) (any, error) {
		if md, _ := metadata.FromIncomingContext(ctx); strings.HasSuffix(info.FullMethod, "ModelInfer") {
			unary.Store(md.Get("traceparent"))
		}
		return next(ctx, m)
	}
	interceptStream := func(s any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		md, _ := metadata.FromIncomingContext(ss.Context())
		stream.Store(md.Get("traceparent"))
		return next(s, ss)
	}
	url := serve(t, tritontest.Start(t, tritontest.Echo(t)),
		grpc.UnaryInterceptor(interceptUnary), grpc.StreamInterceptor(interceptStream))
	c := tritontest.Dial(t, triton.Config{URLs: []string{url}})
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{1, 2, 3},
		SpanID:     trace.SpanID{4, 5, 6},
		TraceFlags: trace.FlagsSampled,
	}))
	for _, ctx := range []context.Context{ctx, t.Context()} {
		if _, err := c.Infer(ctx, echoRequest()); err != nil {
			t.Fatal(err)
		}
		responses, err := c.Stream(ctx, echoRequest())
		if err != nil {
			t.Fatal(err)
		}
		for range responses {
		}
		var want []string
		if trace.SpanContextFromContext(ctx).IsValid() {
			want = []string{"00-01020300000000000000000000000000-0405060000000000-01"}
		}
		if got := unary.Load().([]string); !slices.Equal(got, want) {
			t.Errorf("infer: %q, want %q", got, want)
		}
		if got := stream.Load().([]string); !slices.Equal(got, want) {
			t.Errorf("stream: %q, want %q", got, want)
		}
	}
}

func TestTLS(t *testing.T) {
	certificate, file := selfSigned(t)
	url := serve(t, tritontest.Start(t, tritontest.Echo(t)), grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	for name, test := range map[string]struct {
		url   string
		tls   triton.TLS
		works bool
	}{
		"trusted":       {"grpcs://" + url, triton.TLS{CA: file}, true},
		"by setting":    {url, triton.TLS{Enabled: true, CA: file}, true},
		"other name":    {"grpcs://" + url, triton.TLS{CA: file, ServerName: "triton.example"}, false},
		"not trusted":   {"grpcs://" + url, triton.TLS{}, false},
		"not encrypted": {url, triton.TLS{}, false},
	} {
		c := tritontest.Dial(t, triton.Config{URLs: []string{test.url}, TLS: test.tls})
		_, err := c.Infer(t.Context(), echoRequest())
		if (err == nil) != test.works || (err != nil && fault.KindOf(err) != fault.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// selfSigned returns a certificate for 127.0.0.1 and the path of a file with it.
func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func TestInvalidConfig(t *testing.T) {
	for _, test := range []struct {
		urls []string
		tls  triton.TLS
		want string
	}{
		{nil, triton.TLS{}, "no Triton address is given"},
		{[]string{"triton"}, triton.TLS{}, `Triton address "triton" is not host:port`},
		{[]string{"http://x:8000"}, triton.TLS{},
			`Triton address "http://x:8000": unknown scheme "http" (known: grpc, grpcs, dns:///name:port)`},
		{[]string{"dns:///:8001"}, triton.TLS{}, `Triton address "dns:///:8001" is not host:port`},
		{[]string{"a:1"}, triton.TLS{Cert: "x"}, "a TLS certificate and its key must be given together"},
		{[]string{"a:1"}, triton.TLS{CA: "/nowhere"}, "TLS authorities: open /nowhere: no such file or directory"},
	} {
		_, err := triton.Dial(triton.Config{URLs: test.urls, TLS: test.tls})
		if err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

// BenchmarkInfer measures one call to the fake over loopback, which is mostly gRPC.
func BenchmarkInfer(b *testing.B) {
	s := tritontest.Start(b, tritontest.Echo(b))
	c := tritontest.Dial(b, triton.Config{URLs: []string{s.URL()}, ProbeEvery: time.Second})
	request := echoRequest()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Infer(context.Background(), request); err != nil {
			b.Fatal(err)
		}
	}
}

// A name that cannot be looked up does not affect other addresses. An address that is given twice is one replica.
func TestUnknownNameAndDuplicateAddress(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	var failedLookups atomic.Int64
	c := tritontest.Dial(t, triton.Config{
		URLs:         []string{"dns:///nowhere.invalid:8001", s.URL(), s.URL()},
		ResolveEvery: 10 * time.Millisecond,
		Logger:       warnings(&failedLookups),
	})
	if n := len(triton.States(c)); n != 1 {
		t.Fatalf("%d replicas, want 1", n)
	}
	first := failedLookups.Load()
	tritontest.Eventually(t, "more lookups", func() bool {
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
			t.Fatal(err)
		}
		return failedLookups.Load() >= first+3
	})
	if n := len(triton.States(c)); n != 1 {
		t.Errorf("%d replicas after more lookups, want 1", n)
	}
}

func TestInvalidAddresses(t *testing.T) {
	for _, url := range []string{
		"", "host", "host:", ":8001", "ftp://host:1", " host:8001", "host:8001 ",
		"host:0", "host:70000", "host:grpc", "dns:///host:x",
	} {
		if err := (triton.Config{URLs: []string{url}}).Validate(); err == nil {
			t.Errorf("the address %q was accepted", url)
		}
	}
}
