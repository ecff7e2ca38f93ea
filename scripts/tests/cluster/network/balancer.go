package network

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
)

// NewBalancer returns the load balancer of outside clients. It follows the endpoints itself; if a pod refuses a
// connection, it connects to the next one, as nginx (proxy_next_upstream) and HAProxy (redispatch) do. It never repeats
// a request.
func NewBalancer(ctx context.Context, factory informers.SharedInformerFactory) *Proxy {
	p := newProxy(ctx, factory)
	p.retry = true
	return p
}

// Expose forwards connections on address to one port of a service.
func (p *Proxy) Expose(address string, s *core.Service, port string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	context.AfterFunc(p.ctx, func() { _ = listener.Close() })
	p.accept(listener, s, port)
	return nil
}

// accept connects clients until the listener is closed.
func (p *Proxy) accept(listener net.Listener, s *core.Service, port string) {
	go func() {
		var turn atomic.Uint64
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.connect(client.(*net.TCPConn), s, port, turn.Add(1))
		}
	}()
}

// dial connects to one of the pods in turns, and returns nil if none takes the connection.
func (p *Proxy) dial(s *core.Service, port string, turn uint64) *net.TCPConn {
	targets := p.targets(s, port)
	tries := min(len(targets), 1)
	if p.retry {
		tries = len(targets)
	}
	for i := range tries {
		conn, err := net.DialTimeout("tcp", targets[(turn+uint64(i))%uint64(len(targets))], 3*time.Second)
		if err == nil {
			return conn.(*net.TCPConn)
		}
	}
	return nil
}
