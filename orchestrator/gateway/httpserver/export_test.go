package httpserver

import (
	"testing"
	"time"
)

// AwaitFull returns once a new connection waits because no other may be closed for it.
func AwaitFull(t *testing.T, server *Server) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !server.connections.full.Load(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("no connection waits for room")
		}
	}
	server.connections.mu.Lock() // held by add until it waits
	defer server.connections.mu.Unlock()
}
