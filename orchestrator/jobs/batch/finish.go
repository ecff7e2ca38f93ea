package batch

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/jobs/queue"
)

// The steps of a batch, as suffixes of their tasks' ids. They are two tasks, because the second may be due before the
// end of the first is acknowledged.
const (
	stepCheck  = ".check"  // check the file and queue the chunks
	stepFinish = ".finish" // write the results
)

// pushStep queues a step of a batch. The finish step frees storage, so it is queued even if the storage is nearly full.
func (st *stores) pushStep(ctx context.Context, key, step string) error {
	purpose := queue.Work
	if step == stepFinish {
		purpose = queue.Outcome
	}
	return st.steps.Push(ctx, purpose, key+step, nil)
}

// runStep runs the step that the status of a task's batch needs.
func (s *Service) runStep(ctx context.Context, st *stores, t queue.Task) error {
	r, err := st.batches.Get(ctx, strings.TrimSuffix(strings.TrimSuffix(t.ID, stepCheck), stepFinish))
	if errors.Is(err, queue.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	switch r.Status {
	case validating, inProgress:
		return s.runCheckStep(ctx, st, r)
	case finalizing, cancelling:
		return s.runFinishStep(ctx, st, r)
	}
	return st.answers.Drop(ctx, r.ID) // an earlier attempt was interrupted before this
}

// cancelGrace is how long workers may take to notice that their batch was cancelled or has expired.
const cancelGrace = 2 * time.Second

// runFinishStep writes the results of a batch. Two workers may do so at once, because a worker without a heartbeat
// counts as dead. Each writes its own files. The first one to change the batch's record names its files there; the
// other deletes the files that it wrote.
func (s *Service) runFinishStep(ctx context.Context, st *stores, r record) error {
	if r.FinalStatus != completed {
		queue.Sleep(ctx, cancelGrace)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	good := newResult(st, r, "_output")
	bad := newResult(st, r, "_error")
	err := st.gather(ctx, r, good, bad)
	err = errors.Join(err, good.close(ctx, err), bad.close(ctx, err))
	if err != nil {
		dropResults(ctx, record{}, good, bad)
		if r, getErr := st.batches.Get(ctx, r.key()); getErr == nil && isFinal(r.Status) {
			return nil // the other worker was faster and has dropped the answers
		}
		return err
	}
	r, err = st.batches.Change(ctx, r.key(), func(r *record) error {
		if isFinal(r.Status) {
			return queue.ErrUnchanged
		}
		r.OutputFileID = good.id()
		r.ErrorFileID = bad.id()
		r.RequestCounts.Completed = good.lines
		r.RequestCounts.Failed = bad.lines
		r.Status = r.FinalStatus
		switch r.FinalStatus {
		case completed:
			r.CompletedAt = new(now())
		case expired:
			r.ExpiredAt = new(now())
		case cancelled:
			r.CancelledAt = new(now())
		case failed:
			r.FailedAt = new(now())
		}
		return nil
	})
	if err != nil { // the change may be stored nevertheless: a sweep deletes files that the batch does not name
		return err
	}
	dropResults(ctx, r, good, bad)
	return st.answers.Drop(ctx, r.ID)
}

// gather writes the answers in the order of their lines. If the batch has expired, lines without an answer become
// errors; if it was cancelled or its input file is gone, they are left out.
func (st *stores) gather(ctx context.Context, r record, good, bad *result) error {
	var input *lineReader // nil unless unanswered lines are needed
	if r.FinalStatus == expired {
		input = st.openInput(ctx, r)
	}
	for n := range r.RequestCounts.Total {
		var request parsedLine
		if input != nil {
			var err error
			request, err = r.nextRequest(input)
			if errors.Is(err, queue.ErrNone) {
				input = nil
			} else if err != nil {
				return err
			}
		}
		answer, err := st.answerOf(ctx, r, n)
		if errors.Is(err, queue.ErrNone) && r.FinalStatus != completed {
			if input == nil {
				continue
			}
			answer, err = expiredAnswer(request)
		}
		if err != nil {
			return err
		}
		file := bad
		if answer[0] == markGood {
			file = good
		}
		if err := file.add(ctx, answer[1:]); err != nil {
			return err
		}
	}
	return nil
}

// answerOf returns the stored answer of line n, or queue.ErrNone. If some lines have none, it checks for one first: in
// a cluster, Get takes a quarter of a second for an answer that does not exist, in case a replica is stale.
func (st *stores) answerOf(ctx context.Context, r record, n int) ([]byte, error) {
	if r.FinalStatus != completed {
		exists, err := st.answers.Has(ctx, r.ID, n)
		if err != nil {
			return nil, err
		}
		if !exists {
			return nil, queue.ErrNone
		}
	}
	return st.answers.Get(ctx, r.ID, n)
}

// expiredAnswer is the answer of a line that was not sent in time.
func expiredAnswer(request parsedLine) ([]byte, error) {
	return encodeAnswer(false, Answer{ID: newID("batch_req_"), CustomID: *request.CustomID, Error: &Failure{
		Code: "batch_expired", Message: "This request could not be executed before the completion window expired.",
	}})
}

// result is an output or error file that is being written. A goroutine stores what add writes into the pipe, because
// queue.Files reads a file from a reader.
type result struct {
	st      *stores
	record  fileRecord
	lines   int
	pipe    *io.PipeWriter // nil before the first line
	storing errgroup.Group // has the goroutine
}

// newResult returns a new file of a batch; suffix ends its name. Its id is new, not derived from the batch's: another
// worker may write the same file, and the sweep of orphans reads the age of content from its id.
func newResult(st *stores, r record, suffix string) *result {
	return &result{st: st, record: fileRecord{Owner: r.Owner, Batch: r.key(), File: File{
		ID: newID("file-"), Object: "file", CreatedAt: now(), ExpiresAt: new(now() + r.OutputLife),
		Filename: r.ID + suffix + ".jsonl", Purpose: "batch_output", Status: "processed",
	}}}
}

// add appends a line.
func (f *result) add(ctx context.Context, text []byte) error {
	if f.pipe == nil {
		f.startStoring(ctx)
	}
	f.lines++
	_, err := f.pipe.Write(text)
	return err
}

func (f *result) startStoring(ctx context.Context) {
	reader, writer := io.Pipe()
	f.pipe = writer
	f.storing.Go(func() (err error) {
		f.record.Bytes, err = f.st.content.Write(ctx, queue.Outcome, f.record.ID, reader)
		_ = reader.CloseWithError(err) // add returns it
		return err
	})
}

// close ends the file and stores its record, unless it has no line. After a failure it leaves nothing.
func (f *result) close(ctx context.Context, failure error) error {
	if f.pipe == nil {
		return nil
	}
	_ = f.pipe.CloseWithError(failure) // nil ends the file
	if err := f.storing.Wait(); err != nil {
		return err
	}
	return f.st.files.Create(ctx, f.record.key(), f.record)
}

// id returns the file's id, nil if it has no line.
func (f *result) id() *string {
	if f.pipe == nil {
		return nil
	}
	return &f.record.ID
}

// dropResults deletes the files that a batch does not name. A sweep deletes those that it cannot.
func dropResults(ctx context.Context, r record, files ...*result) {
	for _, f := range files {
		if f.pipe != nil && !r.names(f.record.ID) {
			_ = f.st.dropFile(context.WithoutCancel(ctx), f.record)
		}
	}
}
