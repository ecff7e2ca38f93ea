package httpserver

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Departures cancels the contexts of requests whose clients have closed their connections. Neither Fiber nor fasthttp
// reads a connection while a handler runs, so a departed client shows only in the state of its socket: one goroutine
// polls all watched sockets at once (poll(2)). A client that closes only its sending half counts as departed, as in
// Go's net/http.
type Departures struct {
	mu      sync.Mutex
	watched map[int]*watchedRequest // by file descriptor
	wake    chan struct{}
}

// pollInterval is how often the sockets of requests in progress are polled.
const pollInterval = 200 * time.Millisecond

type watchedRequest struct {
	conn   net.Conn
	cancel context.CancelCauseFunc
}

// WatchDepartures starts to poll. It stops when ctx ends.
func WatchDepartures(ctx context.Context) *Departures {
	d := &Departures{watched: map[int]*watchedRequest{}, wake: make(chan struct{}, 1)}
	go d.run(ctx)
	return d
}

// Add calls cancel if the client closes conn before done is called. A connection without a socket, as in tests, is not
// watched. If the descriptor of a closed connection is reused while its request is still watched, that request is
// canceled, since its client has left.
func (d *Departures) Add(conn net.Conn, cancel context.CancelCauseFunc) (done func()) {
	fd, ok := socket(conn)
	if !ok {
		return func() {}
	}
	request := &watchedRequest{conn: conn, cancel: cancel}
	d.mu.Lock()
	if previous := d.watched[fd]; previous != nil && previous.conn != conn {
		previous.cancel(context.Canceled)
	}
	d.watched[fd] = request
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.watched[fd] == request {
			delete(d.watched, fd)
		}
	}
}

func (d *Departures) run(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var fds []unix.PollFd
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if fds = d.poll(fds[:0]); len(fds) > 0 {
			continue
		}
		select { // no polling until the next request
		case <-ctx.Done():
			return
		case <-d.wake:
		}
	}
}

// poll polls the watched sockets and returns them.
func (d *Departures) poll(fds []unix.PollFd) []unix.PollFd {
	d.mu.Lock()
	defer d.mu.Unlock()
	for fd := range d.watched {
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLRDHUP})
	}
	if len(fds) == 0 {
		return fds
	}
	if n, err := unix.Poll(fds, 0); n <= 0 || err != nil {
		return fds
	}
	for _, p := range fds {
		if p.Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0 {
			d.watched[int(p.Fd)].cancel(context.Canceled)
			delete(d.watched, int(p.Fd))
		}
	}
	return fds
}

// socket returns the file descriptor below conn.
func socket(conn net.Conn) (fd int, ok bool) {
	for {
		outer, wrapped := conn.(interface{ NetConn() net.Conn })
		if !wrapped {
			break
		}
		conn = outer.NetConn()
	}
	s, ok := conn.(syscall.Conn)
	if !ok {
		return 0, false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(n uintptr) { fd = int(n) })
	return fd, err == nil
}
