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

	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/unfinished"
)

const (
	// progressInterval is the shortest time between two writes of progress.
	progressInterval = 500 * time.Millisecond
	// maxFailures is the number of failed attempts in a row, without any progress, after which a job fails.
	maxFailures = 5
	// stopGrace is how long an attempt may take to return its molecules when the gateway is stopped.
	stopGrace = 5 * time.Second
	// staleAttempts is how often a job without a body is tried again: in a cluster, a stale replica may answer that
	// does not have a new body yet.
	staleAttempts = 5
)

// missingBody is the error of a job without a body, in each API's form.
var missingBody = map[string][]byte{
	latent: []byte(`{"detail":"The body of the job is missing."}`),
	masked: []byte(`{"status":"failed","error":"The body of the job is missing."}`),
}

// errAgain causes the worker to make another attempt at once.
var errAgain = errors.New("the job can go on")

// errRetry causes the queue to deliver the task again.
var errRetry = errors.New("the attempt did not end the job")

// work makes an attempt at a job, or several while it can go on. It returns nil if the job has ended, is parked or was
// deleted.
func (s *Service) work(ctx context.Context, st *stores, task queue.Task) error {
	for {
		err := s.attempt(ctx, st, task)
		if ctx.Err() != nil || !errors.Is(err, errAgain) {
			return err
		}
	}
}

// attempt makes one attempt at a job.
func (s *Service) attempt(ctx context.Context, st *stores, task queue.Task) error {
	r, err := st.jobs.Change(ctx, task.ID, func(r *record) error {
		if r.Status.ended() || r.Status == Cancelling {
			return queue.ErrUnchanged
		}
		r.startAttempt()
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
	a := &attempt{
		service: s, stores: st, record: r, cancelledBefore: r.Status == Cancelling, startedAt: time.Now(),
	}
	body, err := io.ReadAll(st.files.Open(ctx, bodyName(r.key()), r.BodySize))
	if errors.Is(err, queue.ErrNone) && task.Attempt > staleAttempts {
		return a.finishWith(ctx, Failed, outcome{answer: missingBody[r.API]})
	}
	if err != nil {
		return err
	}
	if a.cancelledBefore {
		a.record.startLastAttempt()
	}
	request, err := a.record.attemptBody(body)
	if err != nil {
		return err
	}
	if r.Told {
		if a.board, err = openBoard(ctx, st, r.key(), a.cancelledBefore, s.parkAfter); err != nil {
			return err
		}
	}
	status, answer, err := a.run(ctx, request)
	return a.settle(ctx, newOutcome(r.API, status, answer, err))
}

// attempt is one attempt at a job.
type attempt struct {
	service         *Service
	stores          *stores
	record          record
	cancelledBefore bool // the job was cancelled before this attempt
	startedAt       time.Time
	writtenAt       time.Time // when progress was last written
	board           *board    // nil: not a told job
}

// run sends the attempt to the API and writes its progress. When the gateway is stopped or the job is cancelled, the
// API ends with the molecules found so far. When the job is deleted or another worker has ended it, the request is
// aborted.
func (a *attempt) run(ctx context.Context, body []byte) (status int, answer []byte, err error) {
	request, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stopping, stop := context.WithCancelCause(request)
	defer stop(nil)
	detach := context.AfterFunc(ctx, func() {
		stop(unfinished.Stopping)
		time.AfterFunc(stopGrace, cancel)
	})
	defer detach()
	if !a.cancelledBefore {
		go jobs.Poll(request, cancel, a.stores.jobs, a.record.key(), a.service.logger, func(r record) bool {
			if r.Status == Cancelling {
				stop(unfinished.Cancelled)
			}
			return !r.Status.ended() // by another worker
		})
	}
	toAPI := Request{API: a.record.API, Body: body, Timeout: a.service.config.Timeout, Stopping: stopping}
	if a.board != nil {
		a.board.stop = stop
		go a.board.follow(request, a.service.logger)
		toAPI.Told = a.board.scores
	}
	return a.service.follow(request, toAPI, func(data []byte) error { return a.onEvent(request, data) })
}

// onEvent applies one event of the stream to the record, and stores the progress from time to time.
func (a *attempt) onEvent(ctx context.Context, data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil || e.isAnswer(a.record.API) || !a.record.apply(e) {
		return nil
	}
	if time.Since(a.writtenAt) < progressInterval {
		return nil
	}
	a.writtenAt = time.Now()
	return a.writeProgress(ctx)
}

func (a *attempt) writeProgress(ctx context.Context) error {
	_, err := a.stores.jobs.Change(ctx, a.record.key(), func(r *record) error {
		if r.Status.ended() {
			return queue.ErrUnchanged
		}
		r.Searches = a.record.Searches
		r.Failures = a.record.Failures
		r.UnavailableSince = a.record.UnavailableSince
		r.Progress = a.record.Progress
		r.ResultSize = a.record.ResultSize
		r.ResultIteration = a.record.ResultIteration
		return nil
	})
	return err
}

// outcome is what an attempt ended with.
type outcome struct {
	err    error  // why the API did not answer, or nil
	status int    // of the API's answer
	answer []byte // result or error
	result []byte // the answer if it is a result, else nil
	// unfinished is why the result is incomplete, "" if it is complete.
	unfinished unfinished.Reason
}

func newOutcome(api string, status int, answer []byte, err error) outcome {
	o := outcome{err: err, status: status, answer: answer}
	var last event
	_ = json.Unmarshal(answer, &last)
	if err == nil && status == http.StatusOK && last.isAnswer(api) {
		o.result = answer
		if last.Unfinished != nil {
			o.unfinished = unfinished.Reason(last.Unfinished.Reason)
		}
	}
	return o
}

// isComplete reports whether another attempt cannot add to the result. A search whose time was up is complete.
func (o outcome) isComplete() bool {
	return o.result != nil && (o.unfinished == "" || o.unfinished == unfinished.Deadline)
}

// isRejection reports whether the API refused the request.
func (o outcome) isRejection() bool {
	return o.err == nil && o.status >= 400 && o.status < 500 && o.status != http.StatusTooManyRequests
}

// isUnavailable reports whether the API could not start, since a model, an oracle or Triton is away or has no room.
func (o outcome) isUnavailable() bool {
	switch o.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return o.err == nil
	}
	return false
}

// settle ends the job after an attempt, or returns errRetry if another attempt is due. It is if ctx ended, since the
// gateway is stopping, and if a request is refused with which an earlier attempt made progress: an oracle of its
// objective may be away.
func (a *attempt) settle(ctx context.Context, o outcome) error {
	isStopping := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	current, err := a.stores.jobs.Get(ctx, a.record.key())
	if errors.Is(err, queue.ErrNone) { // deleted
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case current.Status.ended(): // by another worker
		return nil
	case o.isComplete():
		return a.finish(ctx, Completed, o.result, nil)
	case a.board != nil && a.board.isParked():
		return a.park(ctx)
	case isStopping && o.result == nil:
		return a.retry(ctx, o)
	case current.Status == Cancelling && o.err == nil:
		return a.finishWith(ctx, Cancelled, o)
	case o.isRejection() && !a.record.hasProgress():
		return a.finishWith(ctx, Failed, o)
	}
	return a.retryOrFail(ctx, o, current.Failures)
}

// park ends the attempt of a told job, which goes on once it has all scores. It returns errAgain if it has, or if
// the job was cancelled.
func (a *attempt) park(ctx context.Context) error {
	r, err := a.stores.jobs.Change(ctx, a.record.key(), func(r *record) error {
		if r.Status != InProgress {
			return queue.ErrUnchanged
		}
		r.Searches = a.record.Searches
		r.Progress = a.record.Progress
		r.ParkedAt = now()
		r.UnavailableSince = 0
		return r.countWaiting(ctx, a.stores)
	})
	if err == nil && (r.Status == Cancelling || r.isParked() && r.Waiting == 0) {
		return errAgain
	}
	return err
}

// retryOrFail returns errRetry while the job may have another attempt, else it ends the job as failed. failures is the
// number of failed attempts before this one. An attempt that ended because the gateway is stopping has not failed, nor
// one that could not start, unless that has lasted for the time that a job may take.
func (a *attempt) retryOrFail(ctx context.Context, o outcome, failures int) error {
	isAway := o.isUnavailable() || o.isRejection() // see settle
	switch {
	case !isAway:
		a.record.UnavailableSince = 0
	case a.record.UnavailableSince == 0:
		a.record.UnavailableSince = a.startedAt.Unix()
	}
	isLate := now()-a.record.UnavailableSince > int64(a.service.config.Timeout/time.Second)
	if o.unfinished != unfinished.Stopping && (isLate || !isAway) {
		failures++
	}
	a.record.Failures = failures
	if failures >= maxFailures {
		return a.finishWith(ctx, Failed, o)
	}
	return a.retry(ctx, o)
}

// retry keeps the progress and the unfinished result of an attempt, and returns errRetry.
func (a *attempt) retry(ctx context.Context, o outcome) error {
	if o.result != nil && !a.hasBetterResult() {
		a.keepResult(ctx, o.result)
	}
	if err := a.writeProgress(ctx); err != nil {
		return err
	}
	if o.err != nil {
		return fmt.Errorf("%w: %w", errRetry, o.err)
	}
	return fmt.Errorf("%w: status %d, %q", errRetry, o.status, o.unfinished)
}

// hasBetterResult reports whether a result is kept of an attempt that got further than this one.
func (a *attempt) hasBetterResult() bool {
	return a.record.ResultSize > 0 && a.record.Progress.Iteration < a.record.ResultIteration
}

// keepResult stores an unfinished result. The job goes on without it if that fails, such as for want of space.
func (a *attempt) keepResult(ctx context.Context, result []byte) {
	a.record.ResultSize = 0
	a.record.ResultIteration = 0
	if err := a.writeResult(ctx, result); err != nil {
		a.service.logger.Warn().Err(err).Str("job", a.record.ID).Msg("the unfinished result of a job is not kept")
		return
	}
	a.record.ResultSize = int64(len(result))
	a.record.ResultIteration = a.record.Progress.Iteration
}

// finishWith ends a job that is not completed: with the result of the attempt that got furthest, else, if it failed,
// with the API's answer as its error.
func (a *attempt) finishWith(ctx context.Context, status Status, o outcome) error {
	if a.record.ResultSize > 0 && (o.result == nil || a.hasBetterResult()) {
		kept, err := io.ReadAll(a.stores.files.Open(ctx, resultName(a.record.key()), a.record.ResultSize))
		switch {
		case err == nil && json.Valid(kept):
			return a.end(ctx, status, kept, nil)
		case err != nil && !errors.Is(err, queue.ErrNone):
			return err
		} // else its write was interrupted
	}
	var failure []byte
	if status == Failed && o.result == nil && json.Valid(o.answer) {
		failure = o.answer
	}
	return a.finish(ctx, status, o.result, failure)
}

// writeResult replaces the file of the result.
func (a *attempt) writeResult(ctx context.Context, result []byte) error {
	name := resultName(a.record.key())
	// An earlier attempt or an interrupted finish may have left one, or parts of it.
	if err := a.stores.files.Delete(ctx, name); err != nil {
		return err
	}
	_, err := a.stores.files.Write(ctx, queue.Outcome, name, bytes.NewReader(result))
	return err
}

// finish ends the job with its result, nil for none, and its error, nil for none.
func (a *attempt) finish(ctx context.Context, status Status, result, failure []byte) error {
	if result != nil {
		if err := a.writeResult(ctx, result); err != nil {
			return err
		}
	}
	return a.end(ctx, status, result, failure)
}

// end ends the job with its stored result and its error, nil for none.
func (a *attempt) end(ctx context.Context, status Status, result, failure []byte) error {
	var answer struct {
		Unfinished json.RawMessage `json:"unfinished"`
	}
	_ = json.Unmarshal(result, &answer)
	_, err := a.stores.jobs.Change(ctx, a.record.key(), func(r *record) error {
		r.Searches = a.record.Searches
		r.Progress = a.record.Progress
		if status == Completed {
			r.Progress.Iteration = r.Progress.Iterations
		}
		r.ResultSize = int64(len(result))
		r.HasResult = result != nil
		r.Unfinished = answer.Unfinished
		r.Error = failure
		r.end(status, a.service.config.Keep)
		return nil
	})
	return err
}
