package httpserver_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/telemetry"
)

// hotel is an API whose handlers send on started and then block until release is closed.
type hotel struct {
	gateway.API
	started, release chan struct{}
}

func (hotel) Name() string              { return "hotel" }
func (hotel) Health() (ready, live any) { return "ready", "live" }
func (hotel) OpenAPI() []byte {
	return []byte("openapi: 3.1.0\ninfo:\n  title: Hotel\n  version: '1'\n")
}
func (hotel) RenderFault(f *fault.Error) (int, any) { return gateway.StatusOf(f.Kind), f.Message }

func (h hotel) Routes(r fiber.Router) {
	stay := func(context.Context, gateway.Params) (string, error) {
		h.started <- struct{}{}
		<-h.release
		return "stayed", nil
	}
	r.Get("/lobby", gateway.Get(func(ctx context.Context) (string, error) { return stay(ctx, gateway.Params{}) }))
	r.Get("/rooms/:id", gateway.WithParams(stay))
	r.Post("/rooms/:id/clean", gateway.WithParams(stay))
	r.Get("/rooms/:id/quiet", gateway.Watch("id", func(ctx context.Context, _ string, _ *gateway.Events) error {
		_, err := stay(ctx, gateway.Params{})
		return err
	}))
	r.Get("/rooms/:id/events", gateway.Watch("id", func(ctx context.Context, _ string, events *gateway.Events) error {
		if err := events.SendText("first"); err != nil {
			return err
		}
		_, err := stay(ctx, gateway.Params{})
		return err
	}))
	r.Post("/book", gateway.JSON(func(ctx context.Context, _ struct{}) (string, error) {
		return stay(ctx, gateway.Params{})
	}))
}

// openHotel serves a hotel on a port with at most that many connections.
func openHotel(t *testing.T, connections int) (h hotel, server *httpserver.Server, address string) {
	t.Helper()
	h = hotel{started: make(chan struct{}), release: make(chan struct{})}
	g, err := gateway.New(t.Context(), h, func() bool { return false }, gateway.Options{
		Config:  gateway.Config{Concurrency: 16, BodyLimit: 1 << 16, Timeout: time.Hour},
		Metrics: telemetry.NewMetrics(),
		Logger:  zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server = httpserver.New(g.Handler(), httpserver.Config{MaxConnections: connections})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Shutdown(time.Minute); err != nil {
			t.Error(err)
		}
		<-served
	})
	return h, server, listener.Addr().String()
}

// ask sends a request over a new connection and returns the reader of its answer.
func ask(t *testing.T, address, head string) *bufio.Reader {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, head+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(conn)
}

// At the limit, connections whose requests are being served stay open, with or without a body or a stream.
func TestServingConnectionsStayOpen(t *testing.T) {
	requests := map[string]string{
		"GET":          "GET /lobby HTTP/1.1\r\nHost: x",
		"GET, a place": "GET /rooms/7 HTTP/1.1\r\nHost: x",
		"POST":         "POST /rooms/7/clean HTTP/1.1\r\nHost: x\r\nContent-Length: 0",
		"an old POST":  "POST /rooms/7/clean HTTP/1.0",
		"no event yet": "GET /rooms/7/quiet HTTP/1.1\r\nHost: x",
		"a stream":     "GET /rooms/7/events HTTP/1.1\r\nHost: x",
		"POST, a body": "POST /book HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
	}
	h, server, address := openHotel(t, len(requests))
	answers := map[string]*bufio.Reader{}
	for name, request := range requests {
		answers[name] = ask(t, address, request)
		<-h.started
	}
	if first, err := answers["a stream"].Peek(1); err != nil {
		t.Fatal(first, err)
	}
	late := ask(t, address, "GET /v1/health/live HTTP/1.1\r\nHost: x")
	httpserver.AwaitFull(t, server)
	close(h.release)
	for name, answer := range answers {
		response, err := http.ReadResponse(answer, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || len(text) == 0 && name != "no event yet" {
			t.Errorf("%s: %s %q %v", name, response.Status, text, err)
		}
	}
	if response, err := http.ReadResponse(late, nil); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("the connection that waited: %v %v", response, err)
	}
}

// A connection that waits for room takes the place of the first one that becomes idle.
func TestIdleConnectionMakesRoom(t *testing.T) {
	h, server, address := openHotel(t, 1)
	served := ask(t, address, "GET /rooms/7 HTTP/1.1\r\nHost: x")
	<-h.started
	late := ask(t, address, "GET /v1/health/live HTTP/1.1\r\nHost: x")
	httpserver.AwaitFull(t, server)
	close(h.release)
	for name, answer := range map[string]*bufio.Reader{"the first": served, "the second": late} {
		response, err := http.ReadResponse(answer, nil)
		if err != nil || response.StatusCode != http.StatusOK || response.Close {
			t.Errorf("%s: %v %v", name, response, err)
		}
	}
}

// A connection is awaited from the moment its client may send the body that it asked to send (100 Continue).
func TestConnectionSendingBodyMakesRoom(t *testing.T) {
	_, _, address := openHotel(t, 1)
	first := ask(t, address, "POST /book HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue")
	if line, err := first.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatal(line, err)
	}
	second := ask(t, address, "GET /v1/health/live HTTP/1.1\r\nHost: x")
	if response, err := http.ReadResponse(second, nil); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%v %v", response, err)
	}
	if rest, err := io.ReadAll(first); len(rest) > len("\r\n") {
		t.Errorf("the first connection was kept open until it was answered %q: %v", rest, err)
	}
}
