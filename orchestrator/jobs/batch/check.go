package batch

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"io"
	"strconv"

	"retort/orchestrator/jobs/queue"
)

// How many errors of a file are told, and how many bytes of them are kept in the record of its batch.
const (
	maxErrors     = 100
	maxErrorBytes = 16 << 10
)

// inputGone is the error of a batch whose input file was deleted as it was made.
var inputGone = Error{Code: "file_not_found", Message: "The input file is gone.", Param: pointer("input_file_id")}

// lineBytes is the longest line of a batch: the longest body of its API, and what is around it.
func (r record) lineBytes() int { return r.Ask.Bytes + 8<<10 }

// check reads the whole file of a batch and counts its lines and chunks, or says what is wrong with it.
func (s *Service) check(ctx context.Context, st *stores, r record) (lines, chunks int, wrong []Error, err error) {
	reader := newLineReader(st.content.Open(ctx, r.InputFileID, r.InputBytes), r.lineBytes())
	cut := chunker{most: r.Ask.Lines}
	seed := maphash.MakeSeed()
	told := 0                // bytes of errors
	seen := map[uint64]int{} // line by hash of custom_id: 50,000 make 3 MB, whatever their length
	for {
		l, err := reader.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, 0, nil, err
		}
		if lines++; lines > s.config.Requests {
			return 0, 0, []Error{{Code: "too_many_tasks", Message: "The file has more than the " + strconv.Itoa(s.config.Requests) + " requests that a batch may have."}}, nil
		}
		asked, problem := parse(l, r.lineBytes(), r.Endpoint)
		if problem == nil {
			id := maphash.String(seed, *asked.CustomID)
			if first, twice := seen[id]; twice {
				problem = &Error{
					Code: "duplicate_custom_id", Param: pointer("custom_id"), Line: pointer(l.number),
					Message: "The custom_id of this request is that of line " + strconv.Itoa(first) + " too; each must be unique in a batch.",
				}
			} else {
				seen[id] = l.number
			}
		}
		if problem != nil {
			told += len(problem.Message) + 128 // and its other members
			if len(wrong) < maxErrors && told <= maxErrorBytes {
				wrong = append(wrong, *problem)
			}
		}
		cut.add(l)
	}
	if lines == 0 {
		wrong = append(wrong, Error{Code: "empty_file", Message: "The input file is empty. Please ensure that the batch contains at least one request."})
	}
	if last := cut.last(); last != nil {
		chunks = last.Number + 1
	}
	return lines, chunks, wrong, nil
}

// begin checks the file of a batch and queues its lines. It is done again from its start where its worker died: what is
// queued already, or answered, is not queued again.
func (s *Service) begin(ctx context.Context, st *stores, r record) error {
	if r.Status == validating {
		lines, chunks, wrong, err := s.check(ctx, st, r)
		if errors.Is(err, queue.ErrNone) {
			wrong = []Error{inputGone}
			err = nil
		}
		if err != nil {
			return err
		}
		r, err = st.batches.Change(ctx, r.key(), func(r *record) error {
			if r.Status != validating {
				return queue.ErrUnchanged
			}
			r.RequestCounts.Total = lines
			if len(wrong) > 0 {
				r.Status = failed
				r.FailedAt = pointer(now())
				r.Errors = &Errors{Object: "list", Data: wrong}
				return nil
			}
			r.Status = inProgress
			r.InProgressAt = pointer(now())
			r.Chunks = chunks
			r.Done = make([]byte, (chunks+7)/8)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if r.Status != inProgress {
		return nil
	}
	return s.enqueue(ctx, st, r)
}

// enqueue cuts the file into chunks and makes a task of each that is not done.
func (s *Service) enqueue(ctx context.Context, st *stores, r record) error {
	reader := newLineReader(st.content.Open(ctx, r.InputFileID, r.InputBytes), r.lineBytes())
	cut := chunker{most: r.Ask.Lines}
	push := func(c *chunk) error {
		if c == nil || r.isDone(c.Number) {
			return nil
		}
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		return st.lines[r.Ask.API].Push(ctx, queue.Work, r.key()+"."+strconv.Itoa(c.Number), text)
	}
	for {
		l, err := reader.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := push(cut.add(l)); err != nil {
			return err
		}
	}
	if err := push(cut.last()); err != nil {
		return err
	}
	r, err := st.batches.Change(ctx, r.key(), func(r *record) error {
		r.ValidatedAt = now()
		return nil
	})
	if err == nil && r.Status != inProgress { // it was cancelled meanwhile
		err = s.end(ctx, st, r)
	}
	return err
}

func (r record) isDone(chunk int) bool { return r.Done[chunk/8]&(1<<(chunk%8)) != 0 }

// allDone reports whether every chunk is done.
func (r record) allDone() bool {
	for n := range r.Chunks {
		if !r.isDone(n) {
			return false
		}
	}
	return true
}
