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

// Shortly before the drain timeout, searches are stopped and answer with the molecules found so far.
func TestDrainStopsSearches(t *testing.T) {
	s := &server{application: &application{resources: &resources{
		config:   &Config{DrainTimeout: time.Second},
		logger:   zerolog.Nop(),
		lifetime: newLifetime(t.Context()),
	}}}
	started := make(chan struct{})
	port := httpserver.New(func(c *fasthttp.RequestCtx) {
		close(started)
		<-s.searchCtx.Done()
		if s.ctx.Err() != nil {
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
	<-started
	s.drain()
	if got := <-status; got != http.StatusOK {
		t.Errorf("the request in flight was answered with %d", got)
	}
	if s.ctx.Err() == nil {
		t.Error("work continues after the drain")
	}
}
