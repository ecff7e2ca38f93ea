package gateway

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// departures ends the context of a request whose client has closed its connection. Neither Fiber nor fasthttp reads a
// connection while a handler runs, so a departed client shows only in the state of its socket: one goroutine asks
// poll(2) about all busy sockets at once. A client that closes only its sending half is taken to have left, as Go's
// net/http does.
type departures struct {
	mu    sync.Mutex
	busy  map[int]*departure // by descriptor
	wake  chan struct{}
	every time.Duration
}

// departureInterval is how often the sockets of requests under way are polled.
const departureInterval = 200 * time.Millisecond

// departure is a watched request: its connection, and the function that cancels its context.
type departure struct {
	conn   net.Conn
	cancel context.CancelCauseFunc
}

// watchDepartures starts the watch; it ends with ctx.
func watchDepartures(ctx context.Context, every time.Duration) *departures {
	d := &departures{busy: map[int]*departure{}, wake: make(chan struct{}, 1), every: every}
	go d.watch(ctx)
	return d
}

// add watches conn until the returned function is called. A connection without a socket of its own, as in tests, is not
// watched. The descriptor of a closed connection may be reused while a request of the old one is still watched: that
// request is cancelled, since its client has left.
func (d *departures) add(conn net.Conn, cancel context.CancelCauseFunc) (done func()) {
	fd, ok := socket(conn)
	if !ok {
		return func() {}
	}
	entry := &departure{conn: conn, cancel: cancel}
	d.mu.Lock()
	if previous := d.busy[fd]; previous != nil && previous.conn != conn {
		previous.cancel(context.Canceled)
	}
	d.busy[fd] = entry
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.busy[fd] == entry {
			delete(d.busy, fd)
		}
	}
}

func (d *departures) watch(ctx context.Context) {
	tick := time.NewTicker(d.every)
	defer tick.Stop()
	var fds []unix.PollFd
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if fds = d.check(fds[:0]); len(fds) > 0 {
			continue
		}
		select { // idle: no polling until the next request
		case <-ctx.Done():
			return
		case <-d.wake:
		}
	}
}

// check polls the busy sockets and returns them.
func (d *departures) check(fds []unix.PollFd) []unix.PollFd {
	d.mu.Lock()
	defer d.mu.Unlock()
	for fd := range d.busy {
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
			d.busy[int(p.Fd)].cancel(context.Canceled)
			delete(d.busy, int(p.Fd))
		}
	}
	return fds
}

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
