package gateway

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// connections are the open connections of one port, at most a given number. At the limit, the one that has awaited its
// client longest is closed to make room for the next. A client is awaited between requests, while it sends one, and while
// a write of its answer takes longer than writeGrace; so clients that neither send nor read keep nobody out. A connection
// whose request is being served is never closed for another.
type connections struct {
	most         int
	writeTimeout time.Duration
	full         atomic.Bool // an accepted connection waits for room

	mu     sync.Mutex
	free   *sync.Cond // signalled when a connection closes or, while full, becomes awaited
	open   map[*connection]struct{}
	closed bool
}

// writeGrace is how long a write of an answer may take before the client counts as awaited.
const writeGrace = time.Second

func newConnections(most int, writeTimeout time.Duration) *connections {
	c := &connections{most: most, writeTimeout: writeTimeout, open: map[*connection]struct{}{}}
	c.free = sync.NewCond(&c.mu)
	return c
}

// limit returns a listener whose connections are counted and guarded.
func (c *connections) limit(listener net.Listener) net.Listener {
	return &limited{Listener: listener, connections: c}
}

// close lets whoever waits for room go on.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.free.Broadcast()
}

// add adds a connection. At the limit it first closes one whose client is awaited, as soon as there is one, or waits until
// any closes.
func (c *connections) add(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.full.Store(false)
	for len(c.open) >= c.most && !c.closed {
		c.full.Store(true) // before the search, so that a client awaited from now on signals free
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
			slowest.cut()
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

// state is fasthttp's hook for changes of a connection's state: an idle one awaits its client's next request.
func (c *connections) state(conn net.Conn, state fasthttp.ConnState) {
	if known, ok := conn.(*connection); ok && state == fasthttp.StateIdle {
		known.await(0)
	}
}

// markServing marks ctx's request as being served: its client is no longer awaited.
func markServing(ctx *fasthttp.RequestCtx) {
	if known, ok := ctx.Conn().(*connection); ok {
		known.awaited.Store(0)
	}
}

// markAwaited marks that the rest of ctx's request has yet to come: its client is awaited.
func markAwaited(ctx *fasthttp.RequestCtx) {
	if known, ok := ctx.Conn().(*connection); ok {
		known.await(0)
	}
}

// limited is a listener that outlives errors which pass.
type limited struct {
	net.Listener
	connections *connections
}

// Accept waits through a lack of descriptors or memory, which would otherwise end the server. The pause grows from 5 ms
// to a second.
func (l *limited) Accept() (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		accepted, err := l.Listener.Accept()
		if err == nil {
			conn := &connection{Conn: accepted, owner: l.connections}
			conn.await(0)
			l.connections.add(conn)
			return conn, nil
		}
		if !passes(err) {
			return nil, err
		}
		time.Sleep(pause)
	}
}

// passes reports whether accepting may work again later.
func passes(err error) bool {
	for _, number := range []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR, syscall.EPERM,
	} {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}

// connection sets a deadline for each piece that is written, and notes since when its client is awaited and whether it has
// ended.
type connection struct {
	net.Conn
	owner   *connections
	awaited atomic.Int64 // since when the client is awaited, Unix time in ns; 0 while its request is served
	ended   atomic.Bool  // the client has closed its sending half
	once    sync.Once
}

// await marks the client as awaited once a grace period is over.
func (c *connection) await(grace time.Duration) {
	c.awaited.Store(time.Now().Add(grace).UnixNano())
	if c.owner.full.Load() {
		c.owner.wake()
	}
}

// cut ends the connection at once. The end that TLS gives it would wait for a client that takes nothing.
func (c *connection) cut() {
	conn := c.Conn
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	_ = conn.Close()
}

// NetConn is the connection below, as tls.Conn has it.
func (c *connection) NetConn() net.Conn { return c.Conn }

// Read remembers the end of what the client sends.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n == 0 && err != nil {
		c.ended.Store(true)
	}
	return n, err
}

// piece is how many bytes a client must take within the write timeout.
const piece = 256 << 10

// Write gives each piece a deadline of its own: a client that reads slowly gets all of a large answer, one that has
// stopped reading is left.
func (c *connection) Write(p []byte) (written int, err error) {
	busy := c.awaited.Load() == 0 // not while more of a request has to come, for which 100 Continue asks
	for len(p) > 0 {
		next := p[:min(len(p), piece)]
		if err := c.SetWriteDeadline(time.Now().Add(c.owner.writeTimeout)); err != nil {
			return written, err
		}
		if busy {
			c.await(writeGrace)
		}
		n, err := c.Conn.Write(next)
		if busy {
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

// Close gives the place to the next connection.
func (c *connection) Close() error {
	c.once.Do(func() { c.owner.remove(c) })
	return c.Conn.Close()
}
