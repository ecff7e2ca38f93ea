package httpserver

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// A client must send each piece of a body within piecePatience.
const (
	bodyPiece     = 64 << 10
	piecePatience = 20 * time.Second
)

// Pace is the average rate at which a client must send an upload or take a download.
type Pace struct {
	minRate     int64 // bytes a second; 0: any
	start       time.Time
	transferred int64 // bytes so far
}

// NewPace returns the pace of a transfer that starts now. minRate is in bytes a second; 0 allows any.
func NewPace(minRate int64) Pace { return Pace{minRate: minRate, start: time.Now()} }

// Add counts n more bytes.
func (p *Pace) Add(n int) { p.transferred += int64(n) }

// Transferred returns the bytes counted so far.
func (p *Pace) Transferred() int64 { return p.transferred }

// IsLate reports whether the client is slower than the rate allows.
func (p *Pace) IsLate() bool { return time.Now().After(p.deadline(0)) }

// deadline returns when the next bytes must have been transferred: within piecePatience, and in time for the whole
// transfer, to which piecePatience is added once as a grace period.
func (p *Pace) deadline(bytes int64) time.Time {
	next := time.Now().Add(piecePatience)
	if p.minRate <= 0 {
		return next
	}
	seconds := float64(p.transferred+bytes) / float64(p.minRate)
	whole := p.start.Add(piecePatience + time.Duration(seconds*float64(time.Second)))
	if whole.Before(next) {
		return whole
	}
	return next
}

// pacedReader reads a body in pieces with a deadline each, until the context ends.
type pacedReader struct {
	ctx      context.Context
	body     io.Reader
	conn     net.Conn
	left     int // bytes of the current piece
	pace     Pace
	declared int  // Content-Length; negative if there is none
	sawEOF   bool // fasthttp would read past the end of a chunked body, into the next request
}

func newPacedReader(ctx context.Context, c *fasthttp.RequestCtx, pace Pace) *pacedReader {
	return &pacedReader{
		ctx: ctx, body: c.RequestBodyStream(), conn: c.Conn(),
		pace: pace, declared: c.Request.Header.ContentLength(),
	}
}

func (p *pacedReader) Read(into []byte) (int, error) {
	if p.sawEOF {
		return 0, io.EOF
	}
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	if p.left <= 0 {
		p.left = bodyPiece
		if conn, ok := p.conn.(*connection); ok && p.pace.transferred > 0 {
			conn.await(0) // a client that sends its pieces in time is not the one awaited longest
		}
		_ = p.conn.SetReadDeadline(p.deadline()) // fails on the connections of tests only
	}
	n, err := p.body.Read(into)
	p.left -= n
	p.pace.Add(n)
	p.sawEOF = err == io.EOF
	if p.sawEOF && p.pace.transferred < int64(p.declared) { // the connection has ended within the body
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// deadline returns when the next piece must have arrived: no later than the deadline of the request.
func (p *pacedReader) deadline() time.Time {
	piece := p.pace.deadline(bodyPiece)
	if end, ok := p.ctx.Deadline(); ok && end.Before(piece) {
		return end
	}
	return piece
}
