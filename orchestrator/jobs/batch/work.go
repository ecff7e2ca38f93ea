package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
)

// maxAttempts is how often a chunk is started before its unanswered lines fail: a request that crashes the process each
// time must not hold up the others forever. Only crashes count: see putBack.
const maxAttempts = 20

// staleAttempts is how often the batch of a chunk is looked for: in a cluster, a stale replica may answer that does not
// have a new batch yet.
const staleAttempts = 5

// errStale means that a record was read that is older than the chunk.
var errStale = errors.New("the record of the batch is out of date")

// attempt is one attempt at the task of a chunk.
type attempt struct {
	*Service
	st     *stores
	record record // of the batch
	chunk  chunk
	number int // 1 for the first
}

// workOnChunk answers the lines of the chunk of a task.
func (s *Service) workOnChunk(ctx context.Context, st *stores, api string, t queue.Task) error {
	var c chunk
	if err := json.Unmarshal(t.Data, &c); err != nil {
		return err
	}
	r, err := st.batches.Get(ctx, t.ID[:strings.LastIndexByte(t.ID, '.')])
	if errors.Is(err, queue.ErrNone) && t.Attempt > staleAttempts {
		return nil
	}
	if err != nil {
		return err
	}
	if r.Status == validating { // chunks are queued after that
		return errStale
	}
	if r.Status != inProgress || r.isDone(c.Number) {
		return st.pushFinishIfFinalizing(ctx, r)
	}
	answeredBefore := s.answerCounts[api].Load()
	err = attempt{s, st, r, c, t.Attempt}.run(ctx)
	switch {
	case errors.Is(err, errBusy):
		if s.answerCounts[api].Load() > answeredBefore {
			c.Refused++
		}
	case err == nil || t.Attempt <= maxAttempts/2:
		return err
	}
	if putBackErr := st.putBack(ctx, r, c); putBackErr != nil {
		return errors.Join(err, putBackErr)
	}
	return nil
}

// putBack queues a chunk again, after all others, with a new count of attempts: its lines have to wait, or it failed
// for another reason than a crash of the process.
func (st *stores) putBack(ctx context.Context, r record, c chunk) error {
	c.Round++
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace) // the gateway may be stopping
	defer cancel()
	return st.pushChunk(ctx, r, c, "-"+strconv.Itoa(c.Round))
}

// pushFinishIfFinalizing queues the finish step of a batch if its chunks are all done.
func (st *stores) pushFinishIfFinalizing(ctx context.Context, r record) error {
	if r.Status != finalizing {
		return nil
	}
	return st.pushStep(ctx, r.key(), stepFinish)
}

// run answers the lines of the chunk, whose batch is in progress, and marks the chunk as done.
func (a attempt) run(ctx context.Context) error {
	working, cancel := context.WithDeadline(ctx, time.Unix(*a.record.ExpiresAt, 0))
	defer cancel()
	go jobs.Poll(working, cancel, a.st.batches, a.record.key(), a.program.Logger, func(r record) bool {
		return r.Status == inProgress || r.Status == validating // a record that is still validating is stale
	})
	good, err := a.answerLines(working)
	if err != nil {
		if working.Err() != nil && ctx.Err() == nil { // cancelled or expired
			return nil
		}
		return err
	}
	r, err := persist(ctx, a.Service, "a chunk that is done", func() (record, error) {
		return a.st.batches.Change(ctx, a.record.key(), func(r *record) error {
			if r.Status != inProgress || r.isDone(a.chunk.Number) {
				return queue.ErrUnchanged
			}
			r.markDone(a.chunk, good)
			return nil
		})
	})
	if err != nil {
		return err
	}
	return a.st.pushFinishIfFinalizing(ctx, r)
}

// bodyWeight is the memory of a line until it is answered, per byte of the line: the text, the decoded request, the
// answer.
const bodyWeight = 4

// answerLines makes sure that all lines of the chunk have answers, and returns the number of good ones.
func (a attempt) answerLines(ctx context.Context) (good int, err error) {
	if a.chunk.Bytes > chunkBytes {
		release, err := persist(ctx, a.Service, "memory for a long line", func() (func(), error) {
			return a.program.Memory.Acquire(ctx, bodyWeight*int64(a.chunk.Bytes))
		})
		if err != nil {
			return 0, err
		}
		defer release()
	}
	text, err := persist(ctx, a.Service, "lines", func() ([]byte, error) {
		return a.st.content.Slice(ctx, a.record.InputFileID, a.chunk.Offset, a.chunk.Bytes)
	})
	if err != nil {
		return 0, err
	}
	reader := newLineReader(bytes.NewReader(text), a.record.lineBound())
	var goodLines atomic.Int64
	var isBusy atomic.Bool
	lines, ctx := errgroup.WithContext(ctx)
	for n := a.chunk.First; n < a.chunk.First+a.chunk.Lines; n++ {
		request, err := a.record.nextRequest(reader)
		if err != nil {
			return 0, errors.Join(err, lines.Wait())
		}
		lines.Go(fault.WithRecover(func() error {
			ok, err := a.ensureAnswer(ctx, n, request)
			if ok {
				goodLines.Add(1)
			}
			if errors.Is(err, errBusy) { // the others continue
				isBusy.Store(true)
				return nil
			}
			return err
		}))
	}
	err = lines.Wait()
	if err == nil && isBusy.Load() {
		err = errBusy
	}
	return int(goodLines.Load()), err
}

// Marks of stored answers.
const (
	markGood = '+' // for the output file
	markBad  = '-' // for the error file
)

// ensureAnswer makes sure that line n has a stored answer, and reports whether that is a good one.
func (a attempt) ensureAnswer(ctx context.Context, n int, request parsedLine) (ok bool, err error) {
	if a.number > 1 || a.chunk.Round > 0 {
		if ok, err := a.hasGoodAnswer(ctx, n); !errors.Is(err, queue.ErrNone) {
			return ok, err
		}
	}
	answer, ok, err := a.answer(ctx, n, request)
	if err != nil {
		return false, err
	}
	_, err = persist(ctx, a.Service, "an answer", func() (any, error) {
		return nil, a.st.answers.Put(ctx, a.record.ID, n, answer)
	})
	if errors.Is(err, queue.ErrExists) { // another worker was first
		return a.hasGoodAnswer(ctx, n)
	}
	if err == nil {
		a.program.Meter.CountLine(a.record.Target.API, ok)
	}
	return ok, err
}

// hasGoodAnswer reports whether the stored answer of line n is a good one. The error is queue.ErrNone if there is none.
func (a attempt) hasGoodAnswer(ctx context.Context, n int) (bool, error) {
	answer, err := persist(ctx, a.Service, "an answer", func() ([]byte, error) {
		return a.st.answers.Get(ctx, a.record.ID, n)
	})
	return err == nil && answer[0] == markGood, err
}

// answer sends line n and returns its answer in the form in which it is stored.
func (a attempt) answer(ctx context.Context, n int, request parsedLine) (answer []byte, ok bool, err error) {
	id := fmt.Sprintf("batch_req_%s-%d", strings.TrimPrefix(a.record.ID, "batch_"), n)
	result := Answer{ID: id, CustomID: *request.CustomID}
	switch {
	case a.number > maxAttempts:
		result.Error = &Failure{
			Code: "failed_repeatedly", Message: "This request was started many times and never finished.",
		}
	case request.wantsStream():
		result.Response = refuseStream(id)
	default:
		send := Request{Endpoint: a.record.Target, ID: id, Caller: a.record.Owner, Body: request.Body}
		reply, err := a.send(ctx, send, a.chunk.Refused >= maxRefused)
		if err != nil {
			return nil, false, err
		}
		ok = reply.Status == http.StatusOK
		result.Response = &Response{StatusCode: reply.Status, RequestID: id, Body: textOrJSON(reply.Body)}
	}
	answer, err = encodeAnswer(ok, result)
	return answer, ok, err
}

// encodeAnswer returns a mark and the answer's line of JSON.
func encodeAnswer(ok bool, a Answer) ([]byte, error) {
	mark := byte(markBad)
	if ok {
		mark = markGood
	}
	var text bytes.Buffer
	text.WriteByte(mark)
	encoder := json.NewEncoder(&text) // Encode appends a line feed
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(a)
	return text.Bytes(), err
}

// textOrJSON returns a body as JSON if it is valid JSON, else as a text.
func textOrJSON(body []byte) any {
	if json.Valid(body) {
		return json.RawMessage(body) // the encoder removes its line feeds
	}
	return string(body)
}

// refuseStream is the response to a line that asks for a stream.
func refuseStream(id string) *Response {
	return &Response{StatusCode: http.StatusBadRequest, RequestID: id, Body: map[string]any{"error": map[string]any{
		"message": "A request of a batch cannot be streamed.", "type": "invalid_request_error",
		"param": "stream", "code": "invalid_value",
	}}}
}
