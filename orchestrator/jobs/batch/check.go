package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"

	"retort/orchestrator/jobs/queue"
)

// Bounds of the problems in a batch's record.
const (
	maxErrors     = 100
	maxErrorBytes = 16 << 10
)

// inputMissing is the error of a batch whose input file was deleted while the batch was created.
var inputMissing = Error{Code: "file_not_found", Message: "The input file is gone.", Param: new("input_file_id")}

// lineBound is the longest line of a batch in bytes: the longest body of its API, and the members around it.
func (r record) lineBound() int { return r.Target.Bytes + 8<<10 }

// openInput returns a reader of the batch's lines.
func (st *stores) openInput(ctx context.Context, r record) *lineReader {
	return newLineReader(st.content.Open(ctx, r.InputFileID, r.InputBytes), r.lineBound())
}

// checkInput reads the whole file of a batch. It returns the chunks of its lines, or the problems of the file.
func (s *Service) checkInput(ctx context.Context, st *stores, r record) (chunks []chunk, problems []Error, err error) {
	reader := st.openInput(ctx, r)
	seed := maphash.MakeSeed()
	numbers := map[uint64]int{} // of lines, by hash of custom_id: 50,000 take 3 MB, whatever their length
	problemBytes := 0
	for lines := 0; ; lines++ {
		l, err := reader.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if lines == s.config.Requests && r.Status == validating {
			message := fmt.Sprintf("The file has more than the %d requests that a batch may have.", s.config.Requests)
			return nil, []Error{{Code: "too_many_tasks", Message: message}}, nil
		}
		c, problem := r.parse(l)
		if problem == nil {
			id := maphash.String(seed, *c.CustomID)
			if first, duplicate := numbers[id]; duplicate {
				problem = &Error{
					Code: "duplicate_custom_id", Param: new("custom_id"), Line: new(l.number), Message: fmt.Sprintf(
						"The custom_id of this request is that of line %d too; each must be unique in a batch.", first),
				}
			} else {
				numbers[id] = l.number
			}
		}
		if problem != nil {
			problemBytes += len(problem.Message) + 128 // for its other members
			if len(problems) < maxErrors && problemBytes <= maxErrorBytes {
				problems = append(problems, *problem)
			}
		}
		chunks = appendLine(chunks, l, r.Target.Lines)
	}
	if len(chunks) == 0 {
		problems = append(problems, Error{
			Code:    "empty_file",
			Message: "The input file is empty. Please ensure that the batch contains at least one request.",
		})
	}
	return chunks, problems, nil
}

// runCheckStep checks the file of a batch and queues its chunks, except those that are done. It is idempotent: if its
// worker dies or a task is lost, a worker calls it again.
func (s *Service) runCheckStep(ctx context.Context, st *stores, r record) error {
	chunks, problems, err := s.checkInput(ctx, st, r)
	if errors.Is(err, queue.ErrNone) && r.Status == validating {
		problems = []Error{inputMissing}
		err = nil
	}
	if err != nil {
		return err
	}
	r, err = st.batches.Change(ctx, r.key(), func(r *record) error {
		if r.Status != validating {
			return queue.ErrUnchanged
		}
		if len(chunks) > 0 {
			last := chunks[len(chunks)-1]
			r.RequestCounts.Total = last.First + last.Lines
		}
		if len(problems) > 0 {
			r.Status = failed
			r.FailedAt = new(now())
			r.Errors = &Errors{Object: "list", Data: problems}
			return nil
		}
		r.Status = inProgress
		r.InProgressAt = new(now())
		r.Chunks = len(chunks)
		r.Done = make([]byte, (len(chunks)+7)/8)
		return nil
	})
	if err != nil || r.Status != inProgress {
		return err
	}
	return st.pushChunks(ctx, r, chunks)
}

// pushChunks queues the chunks of a batch that are not done.
func (st *stores) pushChunks(ctx context.Context, r record, chunks []chunk) error {
	for _, c := range chunks {
		if r.isDone(c.Number) {
			continue
		}
		if err := st.pushChunk(ctx, r, c, ""); err != nil {
			return err
		}
	}
	r, err := st.batches.Change(ctx, r.key(), func(r *record) error {
		r.QueuedAt = now()
		return nil
	})
	if err == nil && r.Status != inProgress { // cancelled meanwhile
		err = st.skipToFinish(ctx, r)
	}
	return err
}

// pushChunk queues a chunk. suffix ends the id of its task.
func (st *stores) pushChunk(ctx context.Context, r record, c chunk, suffix string) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return st.chunks[r.Target.API].Push(ctx, queue.Work, r.key()+"."+strconv.Itoa(c.Number)+suffix, data)
}

func (r record) isDone(chunk int) bool { return r.Done[chunk/8]&(1<<(chunk%8)) != 0 }

// markDone marks a chunk with a number of good answers as done. After the last one the batch is finalized.
func (r *record) markDone(c chunk, good int) {
	r.Done[c.Number/8] |= 1 << (c.Number % 8)
	r.RequestCounts.Completed += good
	r.RequestCounts.Failed += c.Lines - good
	if r.RequestCounts.Completed+r.RequestCounts.Failed == r.RequestCounts.Total {
		r.finalize(completed)
	}
}
