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

// finish puts the answers of a batch together. Done twice, it makes the same files.
func (s *Service) finish(ctx context.Context, st *stores, r record) error {
	if r.Ending != completed {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leave):
		}
	}
	good := s.newResult(ctx, st, r, "-output")
	bad := s.newResult(ctx, st, r, "-error")
	err := s.gather(ctx, st, r, good, bad)
	outputFile, goodErr := good.close(ctx, err)
	errorFile, badErr := bad.close(ctx, err)
	if err := errors.Join(err, goodErr, badErr); err != nil {
		return err
	}
	_, err = st.batches.Change(ctx, r.key(), func(r *record) error {
		if r.ended() {
			return queue.ErrUnchanged
		}
		r.OutputFileID = outputFile
		r.ErrorFileID = errorFile
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
		}
		return nil
	})
	if err != nil {
		return err
	}
	return st.answers.Drop(ctx, r.ID)
}

// gather writes the answers in the order of their lines. Of a batch that has expired the lines without an answer are
// errors; of one that was cancelled they are left out.
func (s *Service) gather(ctx context.Context, st *stores, r record, good, bad *result) error {
	var asked *lineReader
	if r.Ending == expired {
		asked = newLineReader(st.content.Open(ctx, r.InputFileID, r.InputBytes), r.lineBytes())
	}
	for n := range r.RequestCounts.Total {
		var l line
		if asked != nil {
			var err error
			if l, err = asked.next(); err != nil {
				return err
			}
		}
		text, err := st.answers.Get(ctx, r.ID, n)
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
		if err := to.add(text[1:]); err != nil {
			return err
		}
	}
	return nil
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
	begin  func()
}

// newResult returns the file of a kind, whose id follows from that of the batch.
func (s *Service) newResult(ctx context.Context, st *stores, r record, kind string) *result {
	file := &result{st: st, ended: make(chan error, 1)}
	file.record = fileRecord{Owner: r.Owner, File: File{
		ID: "file-" + strings.TrimPrefix(r.ID, "batch_") + kind, Object: "file", CreatedAt: now(), ExpiresAt: pointer(now() + r.OutputLife),
		Filename: r.ID + strings.ReplaceAll(kind, "-", "_") + ".jsonl", Purpose: "batch_output", Status: "processed",
	}}
	file.begin = func() {
		reader, writer := io.Pipe()
		file.pipe = writer
		go func() {
			err := st.content.Delete(ctx, file.record.ID) // of an earlier attempt
			if err == nil {
				file.size, err = st.content.Write(ctx, file.record.ID, reader)
			}
			_ = reader.CloseWithError(err)
			file.ended <- err
		}()
	}
	return file
}

func (f *result) add(text []byte) error {
	if f.pipe == nil {
		f.begin()
	}
	f.lines++
	_, err := f.pipe.Write(text)
	return err
}

// close ends the file and returns its id, nil where it has no line. After a failure nothing is left of it.
func (f *result) close(ctx context.Context, failure error) (id *string, err error) {
	if f.pipe == nil {
		return nil, nil
	}
	_ = f.pipe.CloseWithError(failure) // nil is the end
	if err := <-f.ended; err != nil {
		return nil, err
	}
	f.record.Bytes = f.size
	err = f.st.files.Create(ctx, f.record.key(), f.record)
	if errors.Is(err, queue.ErrExists) { // of an earlier attempt
		_, err = f.st.files.Change(ctx, f.record.key(), func(r *fileRecord) error { r.Bytes = f.size; return nil })
	}
	return &f.record.ID, err
}
