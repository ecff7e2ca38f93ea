package gateway

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/rs/zerolog"

	"retort/orchestrator/telemetry"
)

// blockingKitchen is a kitchen whose handlers send on began and then block until release is closed.
type blockingKitchen struct {
	*kitchen
	began, release chan struct{}
}

func (l blockingKitchen) Routes(r fiber.Router) {
	stay := func(context.Context, Lookup) (string, error) {
		l.began <- struct{}{}
		<-l.release
		return "stayed", nil
	}
	r.Get("/lobby", Get(func(ctx context.Context) (string, error) { return stay(ctx, Lookup{}) }))
	r.Get("/rooms/:id", Find(stay))
	r.Post("/rooms/:id/clean", Find(stay))
	r.Get("/rooms/:id/quiet", Watch("id", func(context.Context, string, *Events) error {
		_, err := stay(context.Background(), Lookup{})
		return err
	}))
	r.Get("/rooms/:id/events", Watch("id", func(_ context.Context, _ string, events *Events) error {
		if err := events.SendText("first"); err != nil {
			return err
		}
		_, err := stay(context.Background(), Lookup{})
		return err
	}))
	r.Post("/cook", JSON(func(ctx context.Context, _ order) (string, error) { return stay(ctx, Lookup{}) }))
}

// openBlocking serves a blockingKitchen with at most that many connections.
func openBlocking(t *testing.T, connections int) (l blockingKitchen, server *Server, address string) {
	t.Helper()
	l = blockingKitchen{&kitchen{}, make(chan struct{}), make(chan struct{})}
	g, err := New(t.Context(), l, func() bool { return false }, Options{
		Config: Config{Concurrency: 16, BodyLimit: 1 << 16, Timeout: time.Hour}, Metrics: telemetry.NewMetrics(), Logger: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server = NewServer(g.Handler(), ServerConfig{MaxConnections: connections})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Shutdown(patience); err != nil {
			t.Error(err)
		}
		<-served
	})
	return l, server, listener.Addr().String()
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

// awaitSearch returns once a new connection waits because no other may be closed for it.
func awaitSearch(t *testing.T, server *Server) {
	t.Helper()
	waitUntil(t, "a connection waits for room", server.connections.full.Load)
	server.connections.mu.Lock() // held by add until it waits
	defer server.connections.mu.Unlock()
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
		"POST, a body": "POST /cook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
	}
	l, server, address := openBlocking(t, len(requests))
	answers := map[string]*bufio.Reader{}
	for name, request := range requests {
		answers[name] = ask(t, address, request)
		<-l.began
	}
	if first, err := answers["a stream"].Peek(1); err != nil {
		t.Fatal(first, err)
	}
	late := ask(t, address, "GET /v1/health/live HTTP/1.1\r\nHost: x")
	awaitSearch(t, server)
	close(l.release)
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
func TestAConnectionThatBecomesIdleMakesRoom(t *testing.T) {
	l, server, address := openBlocking(t, 1)
	served := ask(t, address, "GET /rooms/7 HTTP/1.1\r\nHost: x")
	<-l.began
	late := ask(t, address, "GET /v1/health/live HTTP/1.1\r\nHost: x")
	awaitSearch(t, server)
	close(l.release)
	for name, answer := range map[string]*bufio.Reader{"the first": served, "the second": late} {
		response, err := http.ReadResponse(answer, nil)
		if err != nil || response.StatusCode != http.StatusOK || response.Close {
			t.Errorf("%s: %v %v", name, response, err)
		}
	}
}

// A connection is awaited from the moment its client may send the body that it asked to send (100 Continue).
func TestAConnectionThatMaySendItsBodyMakesRoom(t *testing.T) {
	_, _, address := openBlocking(t, 1)
	first := ask(t, address, "POST /cook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue")
	if line, err := first.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatal(line, err)
	}
	second := ask(t, address, "GET /v1/health/live HTTP/1.1\r\nHost: x")
	if response, err := http.ReadResponse(second, nil); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%v %v", response, err)
	}
	if rest, err := io.ReadAll(first); len(rest) > len("\r\n") {
		t.Errorf("the first connection kept its place until it was answered %q: %v", rest, err)
	}
}

// At the limit, a client that reads its answer within writeGrace keeps its connection; a slower one loses it.
func TestWriteGrace(t *testing.T) {
	for name, c := range map[string]struct {
		reads time.Duration // when the client reads its answer
		room  time.Duration // when the other connection gets room
	}{
		"a quick client": {reads: writeGrace / 2, room: time.Minute},
		"a slow client":  {reads: 2 * writeGrace, room: writeGrace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				port := newConnections(1, time.Hour)
				ours, theirs := net.Pipe()
				served := &connection{Conn: ours, owner: port}
				port.add(served)
				began := time.Now()
				var ended sync.WaitGroup
				defer ended.Wait()
				ended.Go(func() {
					time.Sleep(c.reads)
					_, _ = io.CopyN(io.Discard, theirs, 1)
				})
				ended.Go(func() { // the answer; the next request is awaited after a minute
					_, _ = io.Copy(served, strings.NewReader("x"))
					time.Sleep(time.Until(began.Add(time.Minute)))
					served.await(0)
				})
				synctest.Wait()
				port.add(&connection{Conn: ours, owner: port})
				if took := time.Since(began); took != c.room {
					t.Errorf("there is room after %v, want %v", took, c.room)
				}
			})
		})
	}
}

// A connection with TLS whose client takes nothing any more makes room at once: nobody waits until it has taken the farewell.
func TestATLSConnectionMakesRoomAtOnce(t *testing.T) {
	model := httptest.NewTLSServer(nil)
	defer model.Close()
	synctest.Test(t, func(t *testing.T) {
		port := newConnections(1, time.Hour)
		ours, theirs := net.Pipe()
		secured := tls.Server(ours, model.TLS)
		client := tls.Client(theirs, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
		shaken := make(chan error)
		go func() { shaken <- client.HandshakeContext(t.Context()) }()
		if err := errors.Join(secured.HandshakeContext(t.Context()), <-shaken); err != nil {
			t.Fatal(err)
		}
		idle := &connection{Conn: secured, owner: port}
		port.add(idle)
		idle.await(0)
		began := time.Now()
		port.add(&connection{Conn: ours, owner: port})
		if took := time.Since(began); took != 0 {
			t.Errorf("there is room after %v", took)
		}
		if _, err := secured.Read(make([]byte, 1)); err == nil {
			t.Error("the connection is not closed")
		}
	})
}
