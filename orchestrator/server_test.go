package main

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/gateway/httpserver"
)

// Before the time to drain is over, work that can answer with what it has found is told to, while all else goes on.
func TestDrainTellsSearchesToEnd(t *testing.T) {
	s := &server{application: &application{resources: &resources{
		config:   &Config{DrainTimeout: time.Second},
		logger:   zerolog.Nop(),
		lifetime: newLifetime(t.Context()),
	}}}
	begun := make(chan struct{})
	port := httpserver.New(func(c *fasthttp.RequestCtx) {
		close(begun)
		<-s.stopping.Done()
		if s.life.Err() != nil {
			c.SetStatusCode(http.StatusServiceUnavailable)
		}
	}, httpserver.Config{})
	opened, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listeners = []listener{{name: "main", server: port, Listener: opened}}
	go func() { _ = port.Serve(opened) }()
	status := make(chan int, 1)
	go func() {
		res, err := http.Get("http://" + opened.Addr().String())
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		res.Body.Close()
		status <- res.StatusCode
	}()
	<-begun
	s.drain()
	if got := <-status; got != http.StatusOK {
		t.Errorf("the request under way was answered with %d", got)
	}
	if s.life.Err() == nil {
		t.Error("work goes on after the drain")
	}
}
