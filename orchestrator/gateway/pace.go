package gateway

import (
	"context"
	"time"

	"retort/orchestrator/fault"
)

// pace is how fast a client has to send an upload, or take a download, on average.
type pace struct {
	least int64 // bytes a second; 0: any pace will do
	began time.Time
	moved int64 // bytes so far
}

// pace is that of a transfer that begins now.
func (g *Gateway) pace() pace { return pace{least: g.opts.TransferRate, began: time.Now()} }

// next is when the next so many bytes have to be there: within patience, and at the pace of the whole, which has as much
// time again at the begin.
func (p *pace) next(bytes int64, patience time.Duration) time.Time {
	deadline := time.Now().Add(patience)
	if p.least <= 0 {
		return deadline
	}
	seconds := float64(p.moved+bytes) / float64(p.least)
	whole := p.began.Add(patience + time.Duration(seconds*float64(time.Second)))
	if whole.Before(deadline) {
		return whole
	}
	return deadline
}

// transferPatience is how long an upload or a download waits for a permit. Those under way may take an hour, and a client
// that waits holds a connection.
const transferPatience = 30 * time.Second

// transfer takes a permit for an upload or a download, and waits for it no longer than transferPatience.
func (x *exchange) transfer(ctx context.Context, permits *permits) error {
	waiting, stop := context.WithTimeout(ctx, transferPatience)
	defer stop()
	release, err := permits.acquire(waiting, false)
	switch {
	case err == nil:
		x.atEnd(release)
	case waiting.Err() != nil && ctx.Err() == nil:
		x.gateway.opts.Metrics.Refused(x.request.API)
		return &fault.Error{Kind: fault.Overloaded, Message: "Too many files are being sent, try again later.", RetryAfter: transferPatience}
	}
	return err
}
