package batch

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"retort/orchestrator/jobs/queue"
)

// The steps of a batch, at the end of their tasks' ids: the file is checked and its lines are queued; the answers are put
// together. They are two tasks, since the second may be due before the end of the first is taken note of.
const (
	stepCheck  = ".check"
	stepFinish = ".finish"
)

// pushStep queues a step of a batch. The last one makes room, however little of it there is.
func (st *stores) pushStep(ctx context.Context, key, step string) error {
	use := queue.Work
	if step == stepFinish {
		use = queue.Outcome
	}
	return st.steps.Push(ctx, use, key+step, nil)
}

// step takes a batch one step further.
func (s *Service) step(ctx context.Context, st *stores, t queue.Task) error {
	r, err := st.batches.Get(ctx, strings.TrimSuffix(strings.TrimSuffix(t.ID, stepCheck), stepFinish))
	if errors.Is(err, queue.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	switch r.Status {
	case validating, inProgress:
		return s.begin(ctx, st, r)
	case finalizing, cancelling:
		return s.finish(ctx, st, r)
	}
	return st.answers.Drop(ctx, r.ID) // an earlier attempt came so far
}

// leave is how long the workers of a batch that was cancelled or has expired may take to see it.
const leave = 2 * time.Second

// finish puts the answers of a batch together. Two workers may be at it at once, since a worker of which nothing is heard
// for a while is taken to be dead. Each writes files of its own: the first to change the batch's record has it name its
// files, and the other removes those it wrote.
func (s *Service) finish(ctx context.Context, st *stores, r record) error {
	if r.Ending != completed {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leave):
		}
	}
	good := newResult(st, r, "_output")
	bad := newResult(st, r, "_error")
	err := s.gather(ctx, st, r, good, bad)
	err = errors.Join(err, good.close(ctx, err), bad.close(ctx, err))
	if err != nil {
		dropResults(ctx, record{}, good, bad)
		if r, gone := st.batches.Get(ctx, r.key()); gone == nil && r.ended() {
			return nil // the other one was faster, and the answers are gone
		}
		return err
	}
	r, err = st.batches.Change(ctx, r.key(), func(r *record) error {
		if r.ended() {
			return queue.ErrUnchanged
		}
		r.OutputFileID = good.id()
		r.ErrorFileID = bad.id()
		r.RequestCounts.Completed = good.lines
		r.RequestCounts.Failed = bad.lines
		r.Status = r.Ending
		switch r.Ending {
		case completed:
			r.CompletedAt = pointer(now())
		case expired:
			r.ExpiredAt = pointer(now())
		case cancelled:
			r.CancelledAt = pointer(now())
		case failed:
			r.FailedAt = pointer(now())
		}
		return nil
	})
	if err != nil { // it may have been changed nevertheless: a sweep removes the files if they are not the batch's
		return err
	}
	dropResults(ctx, r, good, bad)
	return st.answers.Drop(ctx, r.ID)
}

// gather writes the answers in the order of their lines. Of a batch that has expired the lines without an answer are
// errors; of one that ends before its time, or whose input file is gone, they are left out.
func (s *Service) gather(ctx context.Context, st *stores, r record, good, bad *result) error {
	var asked *lineReader
	if r.Ending == expired {
		asked = newLineReader(st.content.Open(ctx, r.InputFileID, r.InputBytes), r.lineBytes())
	}
	for n := range r.RequestCounts.Total {
		var l line
		if asked != nil {
			var err error
			l, err = asked.next()
			if errors.Is(err, queue.ErrNone) {
				asked = nil
			} else if err != nil {
				return err
			}
		}
		text, err := given(ctx, st, r, n)
		if errors.Is(err, queue.ErrNone) && r.Ending != completed {
			if asked == nil {
				continue
			}
			text, err = late(r, l)
		}
		if err != nil {
			return err
		}
		to := bad
		if text[0] == markGood {
			to = good
		}
		if err := to.add(ctx, text[1:]); err != nil {
			return err
		}
	}
	return nil
}

// given returns the answer of a line, or queue.ErrNone. Where some lines have none it asks for that first: in a cluster,
// reading an answer that is not there takes a quarter of a second, in case it is only late.
func given(ctx context.Context, st *stores, r record, n int) ([]byte, error) {
	if r.Ending != completed {
		there, err := st.answers.Has(ctx, r.ID, n)
		if err != nil {
			return nil, err
		}
		if !there {
			return nil, queue.ErrNone
		}
	}
	return st.answers.Get(ctx, r.ID, n)
}

// late is the answer of a line that was not asked in time.
func late(r record, l line) ([]byte, error) {
	asked, wrong := parse(l, r.lineBytes(), r.Endpoint)
	if wrong != nil {
		return nil, errors.New(wrong.Message)
	}
	return marked(false, Answer{ID: newID("batch_req_"), CustomID: *asked.CustomID, Error: &Failure{
		Code: "batch_expired", Message: "This request could not be executed before the completion window expired.",
	}})
}

// result is an output or error file that is being written.
type result struct {
	st     *stores
	record fileRecord
	lines  int
	pipe   *io.PipeWriter // nil before the first line
	ended  chan error
	size   int64
}

// newResult returns a new file of a batch, of a kind that its name ends in. Its id is its own, and not one that follows
// from the batch's: another worker may write the same file, and a sweep tells the age of content by its id.
func newResult(st *stores, r record, kind string) *result {
	return &result{st: st, ended: make(chan error, 1), record: fileRecord{Owner: r.Owner, Batch: r.key(), File: File{
		ID: newID("file-"), Object: "file", CreatedAt: now(), ExpiresAt: pointer(now() + r.OutputLife),
		Filename: r.ID + kind + ".jsonl", Purpose: "batch_output", Status: "processed",
	}}}
}

func (f *result) add(ctx context.Context, text []byte) error {
	if f.pipe == nil {
		reader, writer := io.Pipe()
		f.pipe = writer
		go func() {
			var err error
			f.size, err = f.st.content.Write(ctx, queue.Outcome, f.record.ID, reader)
			_ = reader.CloseWithError(err)
			f.ended <- err
		}()
	}
	f.lines++
	_, err := f.pipe.Write(text)
	return err
}

// close ends the file and makes its record. A file without a line is none. After a failure nothing is left of it.
func (f *result) close(ctx context.Context, failure error) error {
	if f.pipe == nil {
		return nil
	}
	_ = f.pipe.CloseWithError(failure) // nil is the end
	if err := <-f.ended; err != nil {
		return err
	}
	f.record.Bytes = f.size
	return f.st.files.Create(ctx, f.record.key(), f.record)
}

// id is the file's id, nil of a file without a line.
func (f *result) id() *string {
	if f.pipe == nil {
		return nil
	}
	return &f.record.ID
}

// dropResults removes files that a batch does not name. What it cannot remove a sweep does.
func dropResults(ctx context.Context, r record, files ...*result) {
	for _, f := range files {
		if f.pipe != nil && !r.names(f.record.ID) {
			_ = f.st.dropFile(context.WithoutCancel(ctx), f.record)
		}
	}
}

// names reports whether a file is the batch's output or error file.
func (r record) names(file string) bool {
	return r.OutputFileID != nil && *r.OutputFileID == file || r.ErrorFileID != nil && *r.ErrorFileID == file
}
