package httpserver

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// At the limit, a client that reads its answer within writeGrace keeps its connection. A slower one loses it.
func TestWriteGrace(t *testing.T) {
	for name, c := range map[string]struct {
		reads time.Duration // when the client reads its answer
		room  time.Duration // when the other connection gets room
	}{
		"a quick client": {reads: writeGrace / 2, room: time.Minute},
		"a slow client":  {reads: 2 * writeGrace, room: writeGrace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				port := newConnections(1, time.Hour)
				ours, theirs := net.Pipe()
				served := &connection{Conn: ours, owner: port}
				port.add(served)
				began := time.Now()
				var ended sync.WaitGroup
				defer ended.Wait()
				ended.Go(func() {
					time.Sleep(c.reads)
					_, _ = io.CopyN(io.Discard, theirs, 1)
				})
				ended.Go(func() { // the answer; the next request is awaited after a minute
					_, _ = io.Copy(served, strings.NewReader("x"))
					time.Sleep(time.Until(began.Add(time.Minute)))
					served.await(0)
				})
				synctest.Wait()
				port.add(&connection{Conn: ours, owner: port})
				if took := time.Since(began); took != c.room {
					t.Errorf("there is room after %v, want %v", took, c.room)
				}
			})
		})
	}
}

// A TLS connection whose client reads nothing makes room at once: nobody waits until the client has read the TLS alert.
func TestTLSConnectionMakesRoomAtOnce(t *testing.T) {
	model := httptest.NewTLSServer(nil)
	defer model.Close()
	synctest.Test(t, func(t *testing.T) {
		port := newConnections(1, time.Hour)
		ours, theirs := net.Pipe()
		secured := tls.Server(ours, model.TLS)
		client := tls.Client(theirs, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
		shaken := make(chan error)
		go func() { shaken <- client.HandshakeContext(t.Context()) }()
		if err := errors.Join(secured.HandshakeContext(t.Context()), <-shaken); err != nil {
			t.Fatal(err)
		}
		idle := &connection{Conn: secured, owner: port}
		port.add(idle)
		idle.await(0)
		began := time.Now()
		port.add(&connection{Conn: ours, owner: port})
		if took := time.Since(began); took != 0 {
			t.Errorf("there is room after %v", took)
		}
		if _, err := secured.Read(make([]byte, 1)); err == nil {
			t.Error("the connection is not closed")
		}
	})
}
