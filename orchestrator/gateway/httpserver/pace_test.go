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

// A client that sends an upload slowly is left once it falls behind the pace, though it never stops for long.
func TestSlowUploadEnds(t *testing.T) {
	for name, c := range map[string]struct {
		minRate int64
		piece   int
		every   time.Duration
		after   time.Duration // 0: it is read to its end
		pieces  int
	}{
		"a byte a second":                  {minRate: 64 << 10, piece: 1, every: time.Second, pieces: 1000, after: 21 * time.Second},
		"a byte a second, at any pace":     {minRate: 0, piece: 1, every: time.Second, pieces: 1000, after: 20 * time.Second},
		"a piece in time, but too slow":    {minRate: 64 << 10, piece: bodyPiece, every: 15 * time.Second, pieces: 100, after: 25 * time.Second},
		"a piece in time, at any pace":     {minRate: 0, piece: bodyPiece, every: 15 * time.Second, pieces: 100},
		"as fast as it has to":             {minRate: 64 << 10, piece: bodyPiece, every: time.Second, pieces: 600},
		"a pause that speed before allows": {minRate: 64 << 10, piece: 20 * bodyPiece, every: 19 * time.Second, pieces: 10},
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
				if c.after == 0 {
					if err != nil || n != int64(c.pieces*c.piece) {
						t.Errorf("%d bytes in %v: %v", n, time.Since(began), err)
					}
				} else if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took > c.after {
					t.Errorf("it ended after %v and %d bytes: %v", took, n, err)
				}
				_ = server.Close()
				time.Sleep(time.Minute) // the client ends
			})
		})
	}
}
