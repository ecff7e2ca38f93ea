package gateway

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
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
		body := &paced{ctx: ctx, stream: strings.NewReader(strings.Repeat("x", 4*bodyPiece)), conn: conn, declared: -1}
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

// An upload or a download waits no longer than transferPatience for those before it.
func TestTransferPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := telemetry.NewMetrics()
		x := &exchange{gateway: &Gateway{opts: Options{Metrics: metrics}}, request: &telemetry.Request{API: "kitchen"}}
		places := newPermits("kitchen", 1, 8, metrics)
		ctx, leave := context.WithTimeout(t.Context(), time.Hour)
		defer leave()
		if err := x.transfer(ctx, places); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err := x.transfer(ctx, places)
		if took := time.Since(began); fault.KindOf(err) != fault.Overloaded || fault.As(err).RetryAfter == 0 || took != transferPatience {
			t.Errorf("after %v: %v", took, err)
		}
		if count := total(t, metrics.Registry, "retort_http_refused_total"); count != 1 {
			t.Errorf("%v refusals are counted", count)
		}
		time.AfterFunc(time.Second, x.cleanups[0])
		if err := x.transfer(ctx, places); err != nil {
			t.Errorf("once a place is free: %v", err)
		}
		short, leave := context.WithTimeout(ctx, time.Second)
		defer leave()
		if err := x.transfer(short, places); fault.KindOf(err) != fault.Timeout {
			t.Errorf("a request whose own time has passed: %v", err)
		}
	})
}
