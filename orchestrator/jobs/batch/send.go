package batch

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/unfinished"
)

// Reply is an API's answer to a line.
type Reply struct {
	Status int
	Body   []byte
	// Unfinished is why the answer is incomplete, "" if it is complete.
	Unfinished unfinished.Reason
}

const (
	// maxTries is how often a line is sent whose failure may be temporary.
	maxTries = 3
	// busyTries is how often a line is sent that the API refuses for now. Its chunk is then put back, so that other
	// chunks get its worker.
	busyTries = 5
	// maxRefused is how often a chunk is put back while its API answers other lines. After that the refusal is the
	// answer: its cause is the line itself, for example an oracle that cannot score its molecule.
	maxRefused = 50
	// maxSendPause is the longest pause before a line is sent again.
	maxSendPause = 30 * time.Second
)

// errBusy means that the API refuses a line for now: its model is away, or the API is overloaded.
var errBusy = errors.New("the API is busy")

// errTemporary causes a retry of a line.
var errTemporary = errors.New("the failure may be temporary")

func (r Reply) isRefusedForNow() bool {
	return r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable
}

// mayImprove reports whether the same request may get a better answer later, apart from refusals for now.
func (r Reply) mayImprove() bool {
	switch r.Status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	case http.StatusOK:
		return r.Unfinished == unfinished.Model || r.Unfinished == unfinished.Oracle ||
			r.Unfinished == unfinished.Stopping
	}
	return false
}

// send sends a line to its API, with retries. The error is errBusy if the API refuses the line for now; if final is
// set, the refusal is the reply instead.
func (s *Service) send(ctx context.Context, request Request, final bool) (Reply, error) {
	failures, refusals := 0, 0
	return backoff.Retry(ctx, func() (Reply, error) {
		release, err := s.program.Acquire(ctx)
		if err != nil {
			return Reply{}, backoff.Permanent(err)
		}
		reply := s.program.Send(ctx, request)
		release()
		if err := ctx.Err(); err != nil {
			return Reply{}, backoff.Permanent(err)
		}
		switch {
		case reply.isRefusedForNow():
			if refusals++; refusals < busyTries {
				return Reply{}, errTemporary
			}
			if !final {
				return Reply{}, backoff.Permanent(errBusy)
			}
		case reply.mayImprove():
			if failures++; failures < maxTries {
				return Reply{}, errTemporary
			}
		default:
			s.answerCounts[request.API].Add(1)
		}
		return reply, nil
	}, backoff.WithBackOff(s.newBackOff(maxSendPause)), backoff.WithMaxElapsedTime(0))
}

// maxStoragePause is the longest pause before a refused use of the storage or the memory is repeated.
const maxStoragePause = 30 * time.Second

// persist retries do until it succeeds or ctx ends: an answer must not be requested twice because it could not be
// stored, and a full disk must not count as a crash. It returns queue.ErrExists and queue.ErrNone at once.
func persist[Result any](
	ctx context.Context, s *Service, what string, do func() (Result, error),
) (Result, error) {
	return backoff.Retry(ctx, func() (Result, error) {
		result, err := do()
		if errors.Is(err, queue.ErrExists) || errors.Is(err, queue.ErrNone) {
			err = backoff.Permanent(err)
		}
		return result, err
	}, backoff.WithBackOff(s.newBackOff(maxStoragePause)), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) {
			s.program.Logger.Warn().Err(err).Str("for", what).Msg("a batch waits for storage or memory")
		}))
}
