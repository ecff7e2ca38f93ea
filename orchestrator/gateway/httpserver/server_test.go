package httpserver

import (
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// After Leave a server still answers, and closes each connection after its answer.
func TestLeave(t *testing.T) {
	server, url := serveOK(t, Config{})
	for i, want := range []bool{false, false, true, true} {
		if i == 2 {
			server.Leave()
		}
		if got := closes(t, url); got != want {
			t.Errorf("answer %d: the connection ends: %v, want %v", i, got, want)
		}
	}
}

// A connection that has reached its age is closed after its next answer.
func TestConnectionAge(t *testing.T) {
	for age, want := range map[time.Duration]bool{0: false, time.Nanosecond: true, time.Hour: false} {
		_, url := serveOK(t, Config{ConnectionAge: age})
		if got := closes(t, url); got != want {
			t.Errorf("age %v: the connection ends: %v, want %v", age, got, want)
		}
	}
}

// serveOK starts a server that answers everything.
func serveOK(t *testing.T, config Config) (*Server, string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := New(func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("ok") }, config)
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

// The server survives a lack of file descriptors.
func TestAcceptSurvivesTransientErrors(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	poor := &poorListener{Listener: inner}
	poor.failures.Store(3)
	server := New(func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("ok") }, Config{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(poor) }()
	if closes(t, "http://"+inner.Addr().String()) {
		t.Error("the connection was closed")
	}
	if left := poor.failures.Load(); left > 0 {
		t.Errorf("Accept was not called after %d failures", left)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := server.Shutdown(time.Minute); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

type poorListener struct {
	net.Listener
	failures atomic.Int64
}

func (l *poorListener) Accept() (net.Conn, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// Serve ends even if Shutdown comes first.
func TestShutdownBeforeServe(t *testing.T) {
	for _, early := range []bool{true, false} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := New(func(*fasthttp.RequestCtx) {}, Config{})
		served := make(chan error, 1)
		serve := func() { served <- server.Serve(listener) }
		if !early {
			go serve()
		}
		if err := server.Shutdown(time.Minute); err != nil {
			t.Error(err)
		}
		if early {
			go serve()
		}
		select {
		case err := <-served:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("Serve goes on after Shutdown")
		}
		listener.Close()
	}
}
