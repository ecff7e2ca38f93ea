package gateway

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// A server that is about to stop still answers, and sends clients who keep their connections elsewhere.
func TestLeave(t *testing.T) {
	server, url := serveOK(t, ServerConfig{})
	for i, want := range []bool{false, false, true, true} {
		if i == 2 {
			server.Leave()
		}
		if got := closes(t, url); got != want {
			t.Errorf("answer %d: the connection ends: %v, want %v", i, got, want)
		}
	}
}

// A connection that has reached its age ends with its next answer; without an age none does.
func TestConnectionAge(t *testing.T) {
	for age, want := range map[time.Duration]bool{0: false, time.Nanosecond: true, time.Hour: false} {
		_, url := serveOK(t, ServerConfig{ConnectionAge: age})
		if got := closes(t, url); got != want {
			t.Errorf("age %v: the connection ends: %v, want %v", age, got, want)
		}
	}
}

// serveOK starts a server that answers everything.
func serveOK(t *testing.T, config ServerConfig) (*Server, string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("ok") }, config)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Shutdown(time.Minute); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return server, "http://" + listener.Addr().String()
}

// closes asks once and reports whether the answer ends the connection.
func closes(t *testing.T, url string) bool {
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("status %d", answer.StatusCode)
	}
	return answer.Close
}
