package httpserver

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/valyala/fasthttp"
)

// connections are the open connections of one port. At the limit, the one whose client has been awaited longest is
// closed to make room for the next. A client is awaited between requests, while it sends one, and while a write of its
// answer takes longer than writeGrace, so that clients that neither send nor read keep nobody out. A connection whose
// request is being served is never closed for another.
type connections struct {
	max          int
	writeTimeout time.Duration
	full         atomic.Bool // an accepted connection waits for room

	mu     sync.Mutex
	free   *sync.Cond // signalled when a connection closes or, while full, becomes awaited
	open   map[*connection]struct{}
	closed bool
}

// writeGrace is how long a write of an answer may take before its client counts as awaited.
const writeGrace = time.Second

func newConnections(max int, writeTimeout time.Duration) *connections {
	c := &connections{max: max, writeTimeout: writeTimeout, open: map[*connection]struct{}{}}
	c.free = sync.NewCond(&c.mu)
	return c
}

// limit returns a listener that adds its connections to c.
func (c *connections) limit(listener net.Listener) net.Listener {
	return &limitedListener{Listener: listener, connections: c}
}

// close lets the connections that wait for room in.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.free.Broadcast()
}

// add adds a connection. At the limit it first closes one whose client is awaited, or waits for one to close or to
// become awaited.
func (c *connections) add(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.full.Store(false)
	for len(c.open) >= c.max && !c.closed {
		c.full.Store(true) // before the search, so that a client that becomes awaited from here on signals free
		slowest, since := c.longestAwaited()
		switch patience := time.Until(time.Unix(0, since)); {
		case slowest == nil:
			c.free.Wait()
		case patience > 0: // a write within its grace period
			wake := time.AfterFunc(patience, c.wake)
			c.free.Wait()
			wake.Stop()
		case slowest.awaited.CompareAndSwap(since, 0): // fails if its request has just arrived
			delete(c.open, slowest)
			slowest.abort()
		}
	}
	c.open[conn] = struct{}{}
}

// longestAwaited returns the connection whose client has been awaited longest, and since when (Unix time in ns, in the
// future during a write's grace period); nil if no client is awaited.
func (c *connections) longestAwaited() (longest *connection, since int64) {
	for conn := range c.open {
		if s := conn.awaited.Load(); s != 0 && (longest == nil || s < since) {
			longest = conn
			since = s
		}
	}
	return longest, since
}

func (c *connections) remove(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
	c.free.Signal()
}

// wake makes add search again.
func (c *connections) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free.Signal()
}

// onState is fasthttp's hook for the state of connections. The client of an idle one is awaited.
func (c *connections) onState(conn net.Conn, state fasthttp.ConnState) {
	if known, ok := conn.(*connection); ok && state == fasthttp.StateIdle {
		known.await(0)
	}
}

// MarkServing marks the request as being served: its client is not awaited. It is called once the body has been read,
// or for a handler that does not read it.
func MarkServing(ctx *fasthttp.RequestCtx) {
	if known, ok := ctx.Conn().(*connection); ok {
		known.awaited.Store(0)
	}
}

// markAwaited marks that the client has yet to send the rest of the request.
func markAwaited(ctx *fasthttp.RequestCtx) {
	if known, ok := ctx.Conn().(*connection); ok {
		known.await(0)
	}
}

// limitedListener is a listener that adds the connections it accepts and survives transient errors.
type limitedListener struct {
	net.Listener
	connections *connections
}

// Accept retries after a lack of file descriptors or memory, which would otherwise end the server.
func (l *limitedListener) Accept() (net.Conn, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = 5 * time.Millisecond
	pauses.MaxInterval = time.Second
	for {
		accepted, err := l.Listener.Accept()
		if err == nil {
			conn := &connection{Conn: accepted, owner: l.connections}
			conn.await(0)
			l.connections.add(conn)
			return conn, nil
		}
		if !isTransient(err) {
			return nil, err
		}
		time.Sleep(pauses.NextBackOff())
	}
}

// isTransient reports whether accepting may succeed later.
func isTransient(err error) bool {
	for _, number := range []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.EINTR, syscall.EPERM,
	} {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}

// connection gives each piece of an answer a write deadline. It knows since when its client is awaited, and whether the
// client has closed its sending half.
type connection struct {
	net.Conn
	owner   *connections
	awaited atomic.Int64 // since when the client is awaited, Unix time in ns; 0 while its request is served
	sawEOF  atomic.Bool  // the client has closed its sending half
	once    sync.Once
}

// await marks the client as awaited after a grace period.
func (c *connection) await(grace time.Duration) {
	c.awaited.Store(time.Now().Add(grace).UnixNano())
	if c.owner.full.Load() {
		c.owner.wake()
	}
}

// abort closes the connection at once. Closing it as TLS does would wait for a client that reads nothing.
func (c *connection) abort() {
	conn := c.Conn
	if tlsConn, ok := conn.(*tls.Conn); ok {
		conn = tlsConn.NetConn()
	}
	_ = conn.Close()
}

// NetConn returns the connection below, as tls.Conn does.
func (c *connection) NetConn() net.Conn { return c.Conn }

// Read notes the end of what the client sends.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n == 0 && err != nil {
		c.sawEOF.Store(true)
	}
	return n, err
}

// writePiece is how many bytes a client must take within the write timeout.
const writePiece = 256 << 10

// Write gives each piece a deadline of its own: a client that reads slowly gets all of a large answer, and one that has
// stopped reading fails.
func (c *connection) Write(p []byte) (written int, err error) {
	isServing := c.awaited.Load() == 0 // false for 100 Continue, which asks for the rest of the request
	for len(p) > 0 {
		next := p[:min(len(p), writePiece)]
		if err := c.SetWriteDeadline(time.Now().Add(c.owner.writeTimeout)); err != nil {
			return written, err
		}
		if isServing {
			c.await(writeGrace)
		}
		n, err := c.Conn.Write(next)
		if isServing {
			c.awaited.Store(0)
		}
		written += n
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

// Close makes room for the next connection.
func (c *connection) Close() error {
	c.once.Do(func() { c.owner.remove(c) })
	return c.Conn.Close()
}
