package batch

import (
	"context"
	"errors"
	"net/http"
	"time"

	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/unfinished"
)

// Reply is what an API answers to a line.
type Reply struct {
	Status int
	Body   []byte
	// Unfinished is why the work ended before it was done, "" where it was done.
	Unfinished unfinished.Reason
}

// How a line is asked again, after pauses of 1, 2, 4 s and so on.
const (
	// maxTries is how often a line is asked whose failure may pass.
	maxTries = 3
	// busyTries is how often a line is asked that the API refuses for now. Its task is then put back, so that others have
	// its worker meanwhile.
	busyTries = 5
	// maxRefused is how often a task is put back while its API answers other lines. Then a refusal is the answer: it has
	// to do with the line, for example with an oracle that cannot score its molecule.
	maxRefused = 50
)

// errBusy is an API that refuses a line for now: its model is away, or it has too much to do.
var errBusy = errors.New("the API is busy")

// busy reports whether the API takes no such request now.
func (r Reply) busy() bool {
	return r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable
}

// passing reports whether the next try may do better.
func (r Reply) passing() bool {
	switch r.Status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	case http.StatusOK:
		return r.Unfinished == unfinished.Model || r.Unfinished == unfinished.Oracle || r.Unfinished == unfinished.Stopping
	}
	return r.busy()
}

// ask puts a line to its API when its turn has come. The error is errBusy where the API refuses it for now, unless final
// says that this is the answer then.
func (s *Service) ask(ctx context.Context, q Question, final bool) (reply Reply, err error) {
	pause := time.Second
	for failures, refusals := 0, 0; ; {
		release, err := s.outside.Place(ctx)
		if err != nil {
			return Reply{}, err
		}
		reply = s.outside.Ask(ctx, q)
		release()
		if err := ctx.Err(); err != nil {
			return Reply{}, err
		}
		switch {
		case reply.busy():
			if refusals++; refusals == busyTries && !final {
				return Reply{}, errBusy
			}
		case reply.passing():
			failures++
		default:
			s.answered[q.API].Add(1)
			return reply, nil
		}
		if failures == maxTries || refusals == busyTries {
			return reply, nil
		}
		s.sleep(ctx, pause)
		pause *= 2
	}
}

// insist repeats what the storage or the memory has no room or no answer for now, until ctx ends: an answer that has
// been found must not be asked for again, and a task not count as one that ends the process. What is there already, or
// is not there, stays an error.
func (s *Service) insist(ctx context.Context, what string, do func() error) error {
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		err := do()
		if err == nil || errors.Is(err, queue.ErrExists) || errors.Is(err, queue.ErrNone) || ctx.Err() != nil {
			return err
		}
		s.outside.Logger.Warn().Err(err).Str("for", what).Msg("a batch waits for storage or memory")
		s.sleep(ctx, pause)
	}
}
