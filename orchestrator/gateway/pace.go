package gateway

import (
	"context"
	"time"

	"retort/orchestrator/fault"
)

// pace is how fast a client has to send an upload, or to take a download, in the mean.
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

// transferPatience is how long an upload or a download waits for a place: those under way may take an hour, and whoever
// waits holds a connection.
const transferPatience = 30 * time.Second

// transfer takes one of the places for uploads or downloads.
func (x *exchange) transfer(ctx context.Context, places *permits) error {
	waiting, stop := context.WithTimeout(ctx, transferPatience)
	defer stop()
	release, err := places.acquire(waiting, false)
	switch {
	case err == nil:
		x.atEnd(release)
	case waiting.Err() != nil && ctx.Err() == nil:
		x.gateway.opts.Metrics.Refused(x.request.API)
		return &fault.Error{Kind: fault.Overloaded, Message: "All places for files are taken, try again later.", RetryAfter: transferPatience}
	}
	return err
}
