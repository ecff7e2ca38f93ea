package gateway

import (
	"context"
	"time"

	"retort/orchestrator/fault"
)

// permits bound the work of one API: so many requests are served at once, so
// many more wait, and the rest are refused at once. Nothing queues without
// bound, and one slow API takes no place of another.
type permits struct {
	serving chan struct{}
	places  chan struct{} // serving and waiting together
	api     string
	metrics meter
}

// meter is what permits report to.
type meter interface {
	Waiting(api string, n int)
	Refused(api string)
}

func newPermits(api string, concurrency, queue int, metrics meter) *permits {
	return &permits{
		serving: make(chan struct{}, concurrency),
		places:  make(chan struct{}, concurrency+queue),
		api:     api,
		metrics: metrics,
	}
}

// acquire waits for a permit and returns what gives it back.
func (p *permits) acquire(ctx context.Context) (release func(), err error) {
	select {
	case p.places <- struct{}{}:
	default:
		p.metrics.Refused(p.api)
		return nil, &fault.Error{
			Kind:       fault.Overloaded,
			Message:    "The service is at its capacity, try again later.",
			RetryAfter: time.Second,
		}
	}
	select {
	case p.serving <- struct{}{}:
	default:
		if err := p.wait(ctx); err != nil {
			<-p.places
			return nil, err
		}
	}
	return func() { <-p.serving; <-p.places }, nil
}

func (p *permits) wait(ctx context.Context) error {
	p.metrics.Waiting(p.api, 1)
	defer p.metrics.Waiting(p.api, -1)
	select {
	case p.serving <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
