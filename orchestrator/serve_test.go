package main

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/gateway"
)

// Before the time to drain is over, work that can answer with what it has found is told to, while all else goes on.
func TestDrainTellsSearchesToEnd(t *testing.T) {
	a := &application{config: &Config{DrainTimeout: time.Second}, logger: zerolog.Nop()}
	a.life, a.end = context.WithCancel(t.Context())
	a.stopping, a.stop = context.WithCancel(t.Context())
	begun := make(chan struct{})
	server := gateway.NewServer(func(c *fasthttp.RequestCtx) {
		close(begun)
		<-a.stopping.Done()
		if a.life.Err() != nil {
			c.SetStatusCode(http.StatusServiceUnavailable)
		}
	}, gateway.ServerConfig{})
	opened, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a.listeners = []listener{{name: "main", server: server, Listener: opened}}
	go func() { _ = server.Serve(opened) }()
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
	a.drain()
	if got := <-status; got != http.StatusOK {
		t.Errorf("the request under way was answered with %d", got)
	}
	if a.life.Err() == nil {
		t.Error("work goes on after the drain")
	}
}
