package httpserver

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// deadlines is a connection that records its read deadlines.
type deadlines struct {
	net.Conn
	read []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = append(d.read, t)
	return nil
}

// Each piece of a body has a deadline of its own, no later than the request's.
func TestPiecesKeepTheDeadlineOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, leave := context.WithTimeout(t.Context(), 2*piecePatience)
		defer leave()
		conn := &deadlines{}
		body := &pacedReader{
			ctx: ctx, body: strings.NewReader(strings.Repeat("x", 4*bodyPiece)), conn: conn, declared: -1,
		}
		for i, want := range []time.Duration{piecePatience, piecePatience * 7 / 4, 2 * piecePatience} {
			if _, err := io.CopyN(io.Discard, body, bodyPiece); err != nil {
				t.Fatal(err)
			}
			if len(conn.read) != i+1 || conn.read[i].Sub(began) != want {
				t.Errorf("piece %d has to be there at %v, want %v after %v", i, conn.read, want, began)
			}
			time.Sleep(piecePatience * 3 / 4)
		}
	})
}

// An upload fails once its client falls behind the pace, though it never pauses for long.
func TestSlowUploadEnds(t *testing.T) {
	const minRate = 64 << 10
	for name, c := range map[string]struct {
		minRate int64
		piece   int
		every   time.Duration
		pieces  int
		end     time.Duration // latest end of the transfer; 0: it is complete
	}{
		"a byte a second":                  {minRate, 1, time.Second, 1000, 21 * time.Second},
		"a byte a second, at any pace":     {0, 1, time.Second, 1000, 20 * time.Second},
		"a piece in time, but too slow":    {minRate, bodyPiece, 15 * time.Second, 100, 25 * time.Second},
		"a piece in time, at any pace":     {0, bodyPiece, 15 * time.Second, 100, 0},
		"as fast as it has to":             {minRate, bodyPiece, time.Second, 600, 0},
		"a pause that speed before allows": {minRate, 20 * bodyPiece, 19 * time.Second, 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				go func() {
					defer client.Close()
					for range c.pieces {
						if _, err := client.Write(make([]byte, c.piece)); err != nil {
							return
						}
						time.Sleep(c.every)
					}
				}()
				defer server.Close()
				began := time.Now()
				reader := &pacedReader{ctx: t.Context(), body: server, conn: server, pace: NewPace(c.minRate)}
				n, err := io.Copy(io.Discard, reader)
				if c.end == 0 {
					if err != nil || n != int64(c.pieces*c.piece) {
						t.Errorf("%d bytes in %v: %v", n, time.Since(began), err)
					}
				} else if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took > c.end {
					t.Errorf("it ended after %v and %d bytes: %v", took, n, err)
				}
				_ = server.Close()
				time.Sleep(time.Minute) // the client ends
			})
		})
	}
}
