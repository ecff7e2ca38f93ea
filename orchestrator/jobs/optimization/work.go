package optimization

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/unfinished"
)

const (
	// noteEvery is the shortest time between two notes of progress.
	noteEvery = 500 * time.Millisecond
	// maxFailures is how often in a row a job is tried again without any progress.
	maxFailures = 5
	// endWithin is how long an attempt may take to end with what it has when the gateway is stopped.
	endWithin = 5 * time.Second
	// staleAttempts is how often a job without a body is tried again: in a cluster, a stale replica may answer that does
	// not have a new body yet.
	staleAttempts = 5
	// maxWatchPause is the longest average pause before a failed watch is retried, which delays the notice of a cancellation.
	maxWatchPause = 10 * time.Second
)

// missingBody is the error of a job without a body, in each API's words.
var missingBody = map[string][]byte{
	latent: []byte(`{"detail":"The body of the job is missing."}`),
	masked: []byte(`{"status":"failed","error":"The body of the job is missing."}`),
}

// errAgain has a task come again.
var errAgain = errors.New("the search did not come to its end")

// work does one attempt at a job. It ends with nil where the job has ended.
func (s *Service) work(ctx context.Context, st *stores, task queue.Task) error {
	r, err := st.jobs.Change(ctx, task.ID, func(r *record) error {
		if r.Status.ended() || r.Status == Cancelling {
			return queue.ErrUnchanged
		}
		r.begin()
		return nil
	})
	switch {
	case errors.Is(err, queue.ErrNone):
		return nil // deleted
	case err != nil:
		return err
	case r.Status.ended():
		return nil
	}
	run := &run{service: s, stores: st, record: r, closing: r.Status == Cancelling}
	body, err := io.ReadAll(st.texts.Open(ctx, r.key()+".body", r.BodySize))
	if errors.Is(err, queue.ErrNone) && task.Attempt > staleAttempts {
		return run.fail(ctx, missingBody[r.API], nil)
	}
	if err != nil {
		return err
	}
	if run.closing { // it was cancelled between two attempts: what it had found is its result
		run.record.cut()
	}
	text, err := run.record.attempt(body)
	if err != nil {
		return err
	}
	status, answer, err := run.follow(ctx, text)
	return run.end(ctx, status, answer, err)
}

// run is one attempt at a job.
type run struct {
	service *Service
	stores  *stores
	record  record
	closing bool // the job was cancelled before this attempt
	noted   time.Time
}

// follow has the API work, and notes how far it has come. Where the gateway is stopped or the job is cancelled, the API
// ends with what it has.
func (u *run) follow(ctx context.Context, body []byte) (status int, answer []byte, err error) {
	asking, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	stopping, stop := context.WithCancelCause(asking)
	defer stop(nil)
	forget := context.AfterFunc(ctx, func() {
		stop(unfinished.Stopping)
		time.AfterFunc(endWithin, end)
	})
	defer forget()
	if !u.closing {
		go u.watch(asking, stop, end)
	}
	return u.service.follow(asking, Attempt{
		API: u.record.API, Body: body, Timeout: u.service.config.Timeout, Stopping: stopping,
	}, func(data []byte) error { return u.note(asking, data) })
}

// watch stops the attempt when the job is cancelled, and gives it up when the job is deleted or another worker ends it. It
// returns after that, or when ctx ends.
func (u *run) watch(ctx context.Context, stop context.CancelCauseFunc, giveUp func()) {
	pauses := backoff.NewExponentialBackOff()
	pauses.MaxInterval = maxWatchPause
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, u.stores.jobs.Watch(ctx, u.record.key(), func(r record) bool {
			pauses.Reset()
			if r.Status == Cancelling {
				stop(unfinished.Cancelled)
			}
			return !r.Status.ended()
		})
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, pause time.Duration) {
		u.service.logger.Warn().Err(err).Str("job", u.record.ID).Stringer("pause", pause).Msg("watch for the cancellation of a job failed")
	}))
	if err == nil {
		giveUp()
	}
}

// note takes an event, and writes down how far the job has come, not too often.
func (u *run) note(ctx context.Context, data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil || e.isAnswer(u.record.API) || !u.record.note(e) {
		return nil
	}
	if time.Since(u.noted) < noteEvery {
		return nil
	}
	u.noted = time.Now()
	return u.write(ctx)
}

// write puts the progress into the record.
func (u *run) write(ctx context.Context) error {
	_, err := u.stores.jobs.Change(ctx, u.record.key(), func(r *record) error {
		if r.Status.ended() {
			return queue.ErrUnchanged
		}
		r.Searches = u.record.Searches
		r.Failures = u.record.Failures
		r.Progress = u.record.Progress
		return nil
	})
	return err
}

// end decides what becomes of a job after an attempt.
func (u *run) end(ctx context.Context, status int, answer []byte, failed error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer stop()
	var last event
	_ = json.Unmarshal(answer, &last)
	answered := failed == nil && status == http.StatusOK && last.isAnswer(u.record.API)
	reason := unfinished.Reason("")
	if answered && last.Unfinished != nil {
		reason = unfinished.Reason(last.Unfinished.Reason)
	}
	current, err := u.stores.jobs.Get(ctx, u.record.key())
	if errors.Is(err, queue.ErrNone) { // deleted
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case current.Status.ended(): // by another worker
		return nil
	case answered && (reason == "" || reason == unfinished.Deadline):
		return u.finish(ctx, Completed, answer)
	case current.Status == Cancelling && answered:
		return u.finish(ctx, Cancelled, answer)
	case current.Status == Cancelling && failed == nil:
		return u.finish(ctx, Cancelled, nil)
	case failed == nil && status >= 400 && status < 500 && status != http.StatusTooManyRequests:
		return u.fail(ctx, answer, nil)
	}
	// The gateway is stopped, or something failed that may be well again later.
	u.record.Failures = current.Failures
	if reason != unfinished.Stopping {
		u.record.Failures++
	}
	if u.record.Failures >= maxFailures {
		var result []byte
		if answered {
			result = answer
		}
		return u.fail(ctx, answer, result)
	}
	if err := u.write(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%w: status %d, %q, %w", errAgain, status, reason, failed)
}

// finish ends a job with its result, nil for none.
func (u *run) finish(ctx context.Context, status Status, result []byte) error {
	if result != nil {
		// An earlier end may have been cut off in between: what it left is written over.
		if err := u.stores.texts.Delete(ctx, u.record.key()+".result"); err != nil {
			return err
		}
		if _, err := u.stores.texts.Write(ctx, queue.Outcome, u.record.key()+".result", bytes.NewReader(result)); err != nil {
			return err
		}
	}
	_, err := u.stores.jobs.Change(ctx, u.record.key(), func(r *record) error {
		r.Searches = u.record.Searches
		r.Progress = u.record.Progress
		if status == Completed {
			r.Progress.Iteration = r.Progress.Iterations
		}
		r.ResultSize = int64(len(result))
		r.HasResult = result != nil
		var last struct {
			Unfinished json.RawMessage `json:"unfinished"`
		}
		_ = json.Unmarshal(result, &last)
		r.Unfinished = last.Unfinished
		r.end(status, u.service.config.Keep)
		return nil
	})
	return err
}

// fail ends a job that failed: with what the API answered and, where something was found, the result.
func (u *run) fail(ctx context.Context, answer, result []byte) error {
	if result == nil && json.Valid(answer) {
		if _, err := u.stores.jobs.Change(ctx, u.record.key(), func(r *record) error {
			r.Error = answer
			return nil
		}); err != nil {
			return err
		}
	}
	return u.finish(ctx, Failed, result)
}
