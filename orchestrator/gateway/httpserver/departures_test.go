package httpserver

import (
	"context"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// descriptor is a connection that has nothing but a file descriptor.
type descriptor struct {
	net.Conn
	fd int
}

func (d *descriptor) SyscallConn() (syscall.RawConn, error) { return number(d.fd), nil }

// number is the raw connection of a file descriptor.
type number uintptr

func (n number) Control(f func(fd uintptr)) error { f(uintptr(n)); return nil }
func (n number) Read(func(uintptr) bool) error    { return nil }
func (n number) Write(func(uintptr) bool) error   { return nil }

// A request whose connection reuses a descriptor is still watched after the earlier request with it has ended.
func TestDescriptorsAreReused(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	d := &Departures{watched: map[int]*watchedRequest{}, wake: make(chan struct{}, 1)} // polled below
	former := &descriptor{fd: pair[0]}
	first, firstGone := context.WithCancelCause(t.Context())
	d.Add(former, firstGone)()
	second, secondGone := context.WithCancelCause(t.Context())
	secondDone := d.Add(former, secondGone)
	d.poll(nil)
	if first.Err() != nil || second.Err() != nil {
		t.Error("a request was canceled on a connection that is still open")
	}
	third, thirdGone := context.WithCancelCause(t.Context())
	thirdDone := d.Add(&descriptor{fd: pair[0]}, thirdGone)
	if second.Err() == nil {
		t.Error("the request of the closed connection was not canceled")
	}
	secondDone()
	d.poll(nil)
	if third.Err() != nil {
		t.Error("a request was canceled though its client has not left")
	}
	unix.Close(pair[1])
	d.poll(nil)
	if third.Err() == nil {
		t.Error("a departed client was not noticed")
	}
	thirdDone()
	if n := len(d.watched); n != 0 {
		t.Errorf("%d requests are watched after all have ended", n)
	}
}
