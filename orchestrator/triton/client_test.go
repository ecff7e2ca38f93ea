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

func echoRequest() *triton.Request {
	return &triton.Request{Model: "echo", Inputs: []triton.Tensor{triton.Float32s("x", []int64{1, 1}, []float32{1})}}
}

func TestCallsSpreadOverReplicas(t *testing.T) {
	servers := []*tritontest.Server{tritontest.Start(t, tritontest.Echo(t)), tritontest.Start(t, tritontest.Echo(t)), tritontest.Start(t, tritontest.Echo(t))}
	c := tritontest.Dial(t, triton.Config{URLs: []string{servers[0].URL(), "grpc://" + servers[1].URL(), servers[2].URL()}})
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

// A replica that dies under load costs nobody an answer, and gets calls again when it is back.
func TestFailedReplicaIsLeftOutAndComesBack(t *testing.T) {
	stays, fails := tritontest.Start(t, tritontest.Echo(t)), tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{stays.URL(), fails.URL()}})
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
	tritontest.Eventually(t, "calls to both", func() bool { return len(fails.Calls()) > 50 })
	fails.Stop()
	tritontest.Eventually(t, "one left out", func() bool { return live() == 1 })
	before := len(fails.Calls())
	fails.Restart()
	tritontest.Eventually(t, "both in use", func() bool { return live() == 2 && len(fails.Calls()) > before+50 })
	close(stop)
	clients.Wait()
}

func TestOneRetryElsewhere(t *testing.T) {
	refuse := func(code codes.Code) func(*triton.Request) error {
		return func(*triton.Request) error { return tritontest.Refuse(code, "no") }
	}
	a, b := tritontest.Start(t, tritontest.Echo(t)), tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{a.URL(), b.URL()}})
	calls := func() (n int) {
		for _, r := range append(a.Calls(), b.Calls()...) {
			if r.ID != "probe" { // after errors that raise a doubt
				n++
			}
		}
		return n
	}
	for _, trial := range []struct {
		code    codes.Code
		request *triton.Request
		calls   int
		kind    fault.Kind
	}{
		{codes.Unavailable, echoRequest(), 2, fault.Unavailable},
		{codes.InvalidArgument, echoRequest(), 1, fault.Rejected},
		{codes.Internal, echoRequest(), 1, fault.Internal},
		{codes.Unavailable, &triton.Request{Model: "echo", Inputs: echoRequest().Inputs, Once: true}, 1, fault.Unavailable},
	} {
		a.Fail(refuse(trial.code))
		b.Fail(refuse(trial.code))
		before := calls()
		_, err := c.Infer(t.Context(), trial.request)
		if fault.KindOf(err) != trial.kind || calls()-before != trial.calls {
			t.Errorf("%v: %d calls, want %d; %v", trial.code, calls()-before, trial.calls, err)
		}
	}
	// An error inside a stream has no code, only Triton's words.
	a.Fail(func(*triton.Request) error {
		return tritontest.Refuse(codes.Unavailable, "[request id: <id_unknown>] Exceeds maximum queue size")
	})
	b.Fail(nil)
	for range 10 {
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
			t.Errorf("with one replica that answers: %v", err)
		}
		responses, err := c.Stream(t.Context(), echoRequest())
		if err != nil {
			t.Fatalf("a stream with one replica that answers: %v", err)
		}
		for r, err := range responses {
			if err != nil || len(r.Outputs) != 1 {
				t.Errorf("%+v, %v", r, err)
			}
		}
	}
}

// While replicas are changed one by one, a call goes where its model is.
func TestModelOnOneReplicaOnly(t *testing.T) {
	a, b := tritontest.Start(t), tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{a.URL(), b.URL()}})
	for range 10 {
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.ListIndexes(t.Context(), c.Live()); err != nil {
		t.Fatal(err)
	}
	a.Fail(func(*triton.Request) error { t.Error("asked a replica without the model"); return nil })
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
	tritontest.Eventually(t, "left out", func() bool { return len(c.Live()) == 0 })
	start := time.Now()
	_, err := c.Infer(t.Context(), echoRequest())
	if f := fault.As(err); f.Kind != fault.Unavailable || f.RetryAfter <= 0 || strings.Contains(f.Message, "127.0.0.1") || time.Since(start) > 100*time.Millisecond {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	if _, err := c.Stream(t.Context(), echoRequest()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("stream: %v", err)
	}
	if _, err := c.ListIndexes(t.Context(), c.Live()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("index: %v", err)
	}
	s.Restart()
	tritontest.Eventually(t, "an answer", func() bool { _, err := c.Infer(t.Context(), echoRequest()); return err == nil })
}

// A server that takes connections and never answers is left out like one that is gone.
func TestSilentServerIsLeftOut(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{listener.Addr().String(), s.URL()}, ProbeTimeout: 100 * time.Millisecond})
	tritontest.Eventually(t, "left out", func() bool { return len(c.Live()) == 1 })
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
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

func TestMessagesTooLarge(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{s.URL()}, MaxMessageBytes: 1000})
	_, err := c.Infer(t.Context(), &triton.Request{Model: "echo",
		Inputs: []triton.Tensor{triton.Float32s("x", []int64{300, 1}, make([]float32, 300))}})
	if fault.KindOf(err) != fault.TooLarge {
		t.Error(err)
	}
}

func TestRequestsThatAreNotSent(t *testing.T) {
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
		t.Errorf("%d calls were made", n)
	}
}

func TestTimeWithTritonIsCounted(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	s.Fail(func(*triton.Request) error { time.Sleep(20 * time.Millisecond); return nil })
	c := tritontest.Dial(t, triton.Config{URLs: []string{s.URL()}})
	request := &telemetry.Request{}
	ctx := telemetry.WithRequest(t.Context(), request)
	start := time.Now()
	if _, err := c.Infer(ctx, echoRequest()); err != nil {
		t.Fatal(err)
	}
	if spent, took := request.Triton(), time.Since(start); spent < 20*time.Millisecond || spent > took {
		t.Errorf("an inference of 20 ms that took %v was counted as %v", took, spent)
	}
	before := request.Triton()
	start = time.Now()
	responses, err := c.Stream(ctx, echoRequest())
	if err != nil {
		t.Fatal(err)
	}
	var reading time.Duration // not Triton's time
	for range responses {
		pause := time.Now()
		time.Sleep(100 * time.Millisecond)
		reading += time.Since(pause)
	}
	if spent, took := request.Triton()-before, time.Since(start); spent < 20*time.Millisecond || spent > took-reading {
		t.Errorf("a stream of 20 ms that took %v, of which %v were its reader's, was counted as %v", took, reading, spent)
	}
}

// recordSpans returns a recorder of the spans that end from now on.
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
	cancel() // and nobody reads it
	check("triton.stream", "echo", fault.Canceled.String())
}

// serve serves a fake with other options of the transport.
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
	url := serve(t, tritontest.Start(t, tritontest.Echo(t)),
		grpc.UnaryInterceptor(func(ctx context.Context, m any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if md, _ := metadata.FromIncomingContext(ctx); strings.HasSuffix(info.FullMethod, "ModelInfer") {
				unary.Store(md.Get("traceparent"))
			}
			return next(ctx, m)
		}),
		grpc.StreamInterceptor(func(s any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			md, _ := metadata.FromIncomingContext(ss.Context())
			stream.Store(md.Get("traceparent"))
			return next(s, ss)
		}))
	c := tritontest.Dial(t, triton.Config{URLs: []string{url}})
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3}, SpanID: trace.SpanID{4, 5, 6}, TraceFlags: trace.FlagsSampled}))
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
	for name, trial := range map[string]struct {
		config triton.Config
		works  bool
	}{
		"trusted":       {triton.Config{URLs: []string{"grpcs://" + url}, TLS: triton.TLS{CA: file}}, true},
		"by setting":    {triton.Config{URLs: []string{url}, TLS: triton.TLS{Enabled: true, CA: file}}, true},
		"other name":    {triton.Config{URLs: []string{"grpcs://" + url}, TLS: triton.TLS{CA: file, ServerName: "triton.example"}}, false},
		"not trusted":   {triton.Config{URLs: []string{"grpcs://" + url}}, false},
		"not encrypted": {triton.Config{URLs: []string{url}}, false},
	} {
		c := tritontest.Dial(t, trial.config)
		if _, err := c.Infer(t.Context(), echoRequest()); (err == nil) != trial.works || (err != nil && fault.KindOf(err) != fault.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// selfSigned returns a certificate for 127.0.0.1, and a file with it.
func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
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

func TestSettingsThatCannotWork(t *testing.T) {
	for message, c := range map[string]triton.Config{
		"no Triton address is given":               {},
		`Triton address "triton" is not host:port`: {URLs: []string{"triton"}},
		`Triton address "http://x:8000": unknown scheme "http" (known: grpc, grpcs, dns:///name:port)`: {URLs: []string{"http://x:8000"}},
		`Triton address "dns:///:8001" is not host:port`:                                               {URLs: []string{"dns:///:8001"}},
		"a TLS certificate and its key must be given together":                                         {URLs: []string{"a:1"}, TLS: triton.TLS{Cert: "x"}},
		"TLS authorities: open /nowhere: no such file or directory":                                    {URLs: []string{"a:1"}, TLS: triton.TLS{CA: "/nowhere"}},
	} {
		if _, err := triton.Dial(c); err == nil || err.Error() != message {
			t.Errorf("got %v, want %s", err, message)
		}
	}
}

// BenchmarkInfer is one call to the fake over loopback, most of which is gRPC.
func BenchmarkInfer(b *testing.B) {
	c := tritontest.Dial(b, triton.Config{URLs: []string{tritontest.Start(b, tritontest.Echo(b)).URL()}, ProbeEvery: time.Second})
	request := echoRequest()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Infer(context.Background(), request); err != nil {
			b.Fatal(err)
		}
	}
}

// A name that cannot be looked up costs no other replica, and an address that is given twice is one replica.
func TestAddressesApart(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	var lookups atomic.Int64
	c := tritontest.Dial(t, triton.Config{
		URLs: []string{"dns:///nowhere.invalid:8001", s.URL(), s.URL()}, ResolveEvery: 10 * time.Millisecond, Logger: warnings(&lookups),
	})
	if n := len(triton.States(c)); n != 1 {
		t.Fatalf("%d replicas, want 1", n)
	}
	first := lookups.Load()
	tritontest.Eventually(t, "more lookups", func() bool {
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
			t.Fatal(err)
		}
		return lookups.Load() >= first+3
	})
	if n := len(triton.States(c)); n != 1 {
		t.Errorf("%d replicas after looking up again, want 1", n)
	}
}

func TestWrongAddresses(t *testing.T) {
	for _, url := range []string{"", "host", "host:", ":8001", "ftp://host:1", " host:8001", "host:8001 ", "host:0", "host:70000", "host:grpc", "dns:///host:x"} {
		if err := (triton.Config{URLs: []string{url}}).Validate(); err == nil {
			t.Errorf("the address %q was taken", url)
		}
	}
}
