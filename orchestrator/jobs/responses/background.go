package responses

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
)

const (
	// maxUnfinished is how many background responses of one owner may be unfinished.
	maxUnfinished = 256
	// maxAttempts is how often a request is sent whose failure may be temporary: with the pauses of the queue, for
	// nearly an hour.
	maxAttempts = 18
)

// Start stores a background response of a caller and queues its request, which a worker sends to the chat API.
func (s *Service) Start(ctx context.Context, caller, id, previous string, content, request []byte) error {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return err
	}
	records, err := st.index.Records(ctx, jobs.Owner(caller))
	if err != nil {
		return s.storage.Fault(err)
	}
	unfinished := 0
	for _, r := range records {
		if r.Status != Ended {
			unfinished++
		}
	}
	if unfinished >= maxUnfinished {
		return &fault.Error{
			Kind: fault.TooMany, RetryAfter: sweepInterval,
			Message: fmt.Sprintf("%d background responses of this key have not ended, the most that a key may have.",
				unfinished),
		}
	}
	r := record{
		ID: id, Previous: previous, Size: int64(len(content)), Status: Queued, RequestSize: int64(len(request)),
	}
	if r, err = s.save(ctx, caller, r, content, request); err != nil {
		return err
	}
	if err := st.tasks.Push(ctx, queue.Work, r.key(), nil); err != nil {
		s.program.Logger.Warn().Err(err).Str("response", r.ID).Msg("task of a background response waits for the next sweep")
	}
	return nil
}

// Cancel cancels a caller's background response. It has no effect on a response that has ended.
func (s *Service) Cancel(ctx context.Context, caller, id string) error {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return err
	}
	r, err := st.find(ctx, caller, id)
	if err != nil {
		return s.fault(err, id)
	}
	started := false
	r, err = st.records.Change(ctx, r.key(), func(r *record) error {
		if r.Status == Ended {
			return queue.ErrUnchanged
		}
		started = r.Status != Queued
		r.Status = Cancelling
		return nil
	})
	if err == nil && r.Status == Cancelling && !started { // else its worker ends it
		err = s.end(ctx, st, r, 0, nil)
	}
	return s.fault(err, id)
}

// work sends the request of a background response to the chat API and stores the end of the response.
func (s *Service) work(ctx context.Context, st *stores, t queue.Task) error {
	r, err := st.records.Change(ctx, t.ID, func(r *record) error {
		if r.Status != Queued {
			return queue.ErrUnchanged
		}
		r.Status = InProgress
		return nil
	})
	switch {
	case errors.Is(err, queue.ErrNone) || err == nil && r.Status == Ended:
		return nil // deleted, or ended by an earlier attempt
	case err != nil:
		return err
	case r.Status == Cancelling:
		return s.end(ctx, st, r, 0, nil)
	}
	request := make([]byte, r.RequestSize)
	if _, err := io.ReadFull(st.files.Open(ctx, r.requestName(), r.RequestSize), request); err != nil {
		return err
	}
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	isActive := func(r record) bool { return r.Status == InProgress }
	go jobs.Poll(sending, cancel, st.records, r.key(), s.program.Logger, isActive)
	status, reply := s.program.Send(sending, r.Owner, request)
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // another gateway, or the next run of this one, sends it again
	case sending.Err() != nil:
		status = 0
		reply = nil
	case mayImprove(status) && t.Attempt < maxAttempts:
		return fmt.Errorf("the chat API answers with status %d", status)
	}
	return s.end(ctx, st, r, status, reply)
}

// mayImprove reports whether the same request may get a better answer later.
func mayImprove(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable ||
		status == http.StatusBadGateway
}

// end stores the end of a background response. status is 0 if it was cancelled.
func (s *Service) end(ctx context.Context, st *stores, r record, status int, reply []byte) error {
	start, err := st.read(ctx, r)
	if errors.Is(err, queue.ErrNone) {
		return nil // deleted, or ended meanwhile
	}
	if err != nil {
		return err
	}
	content, err := s.program.Finish(start, status, reply)
	if err != nil { // every attempt would fail
		s.program.Logger.Error().Err(err).Str("response", r.ID).Msg("a background response cannot be stored and is deleted")
		return st.drop(ctx, r)
	}
	ended := r
	ended.Status = Ended
	ended.End = rand.Text()
	if _, err := st.files.Write(ctx, queue.Outcome, ended.contentName(), bytes.NewReader(content)); err != nil {
		return err
	}
	stored, err := st.records.Change(ctx, r.key(), func(r *record) error {
		if r.Status == Ended {
			return queue.ErrUnchanged
		}
		r.Status = Ended
		r.End = ended.End
		r.ChainBytes += int64(len(content)) - r.Size
		r.Size = int64(len(content))
		r.RequestSize = 0
		return nil
	})
	if errors.Is(err, queue.ErrNone) {
		return st.files.DeleteAll(ctx, r.key())
	}
	if err != nil {
		return err
	}
	if stored.End != ended.End { // another worker was first
		return st.files.Delete(ctx, ended.contentName())
	}
	return errors.Join(st.files.Delete(ctx, r.contentName()), st.files.Delete(ctx, r.requestName()))
}
