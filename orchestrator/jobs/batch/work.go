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
		return st.proceed(ctx, r)
	}
	answeredBefore := s.answered[api].Load()
	err = s.tryChunk(ctx, st, r, c, t.Attempt)
	switch {
	case errors.Is(err, errBusy):
		if s.answered[api].Load() > answeredBefore {
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

// tryChunk answers the lines of a chunk of a batch in progress and marks the chunk as done.
func (s *Service) tryChunk(ctx context.Context, st *stores, r record, c chunk, attempt int) error {
	working, cancel := context.WithDeadline(ctx, time.Unix(*r.ExpiresAt, 0))
	defer cancel()
	go func() {
		if jobs.Poll(working, st.batches, r.key(), s.program.Logger, isWorkedOn) {
			cancel()
		}
	}()
	good, err := s.answerChunk(working, st, r, c, attempt)
	if err != nil {
		if working.Err() != nil && ctx.Err() == nil { // cancelled or expired
			return nil
		}
		return err
	}
	key := r.key() // Change returns no record with an error
	err = s.persist(ctx, "a chunk that is done", func() (err error) {
		r, err = st.batches.Change(ctx, key, func(r *record) error {
			if r.Status != inProgress || r.isDone(c.Number) {
				return queue.ErrUnchanged
			}
			r.Done[c.Number/8] |= 1 << (c.Number % 8)
			r.RequestCounts.Completed += good
			r.RequestCounts.Failed += c.Lines - good
			if r.isAllDone() {
				r.finalize(completed)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	return st.proceed(ctx, r)
}

// isWorkedOn reports whether a batch whose chunks are queued is in progress. A record that is still validating is
// stale.
func isWorkedOn(r record) bool { return r.Status == inProgress || r.Status == validating }

// putBack queues a chunk again, after all others, with a new count of attempts: its lines have to wait, or it failed
// for another reason than a crash of the process.
func (st *stores) putBack(ctx context.Context, r record, c chunk) error {
	c.Round++
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace) // the gateway may be stopping
	defer cancel()
	return st.pushChunk(ctx, r, c, "-"+strconv.Itoa(c.Round))
}

// proceed queues the finish step of a batch whose chunks are all done.
func (st *stores) proceed(ctx context.Context, r record) error {
	if r.Status != finalizing {
		return nil
	}
	return st.pushStep(ctx, r.key(), stepFinish)
}

// bodyWeight is the memory of a line per byte until it is answered: the text, the decoded request, the answer.
const bodyWeight = 4

// answerChunk makes sure that all lines of a chunk have answers, and returns the number of good ones.
func (s *Service) answerChunk(ctx context.Context, st *stores, r record, c chunk, attempt int) (good int, err error) {
	if c.Bytes > chunkBytes {
		var release func()
		err := s.persist(ctx, "memory for a long line", func() (err error) {
			release, err = s.program.Memory.Acquire(ctx, bodyWeight*int64(c.Bytes))
			return err
		})
		if err != nil {
			return 0, err
		}
		defer release()
	}
	var text []byte
	err = s.persist(ctx, "lines", func() (err error) {
		text, err = st.content.Slice(ctx, r.InputFileID, c.Offset, c.Bytes)
		return err
	})
	if err != nil {
		return 0, err
	}
	reader := newLineReader(bytes.NewReader(text), r.lineBound())
	var goodLines atomic.Int64
	var isBusy atomic.Bool
	lines, ctx := errgroup.WithContext(ctx)
	for n := c.First; n < c.First+c.Lines; n++ {
		l, err := reader.next()
		if err != nil {
			return 0, errors.Join(err, lines.Wait())
		}
		l.text = bytes.Clone(l.text)
		lines.Go(fault.WithRecover(func() error {
			ok, err := s.ensureAnswer(ctx, st, r, c, n, l, attempt)
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
func (s *Service) ensureAnswer(
	ctx context.Context, st *stores, r record, c chunk, n int, l line, attempt int,
) (ok bool, err error) {
	if attempt > 1 || c.Round > 0 {
		if ok, err := s.hasGoodAnswer(ctx, st, r, n); !errors.Is(err, queue.ErrNone) {
			return ok, err
		}
	}
	answer, ok, err := s.answer(ctx, r, c, n, l, attempt)
	if err != nil {
		return false, err
	}
	err = s.persist(ctx, "an answer", func() error { return st.answers.Put(ctx, r.ID, n, answer) })
	if errors.Is(err, queue.ErrExists) { // another worker was first
		return s.hasGoodAnswer(ctx, st, r, n)
	}
	if err == nil {
		s.program.Meter.Line(r.Target.API, ok)
	}
	return ok, err
}

// hasGoodAnswer reports whether the stored answer of line n is a good one. The error is queue.ErrNone if there is none.
func (s *Service) hasGoodAnswer(ctx context.Context, st *stores, r record, n int) (ok bool, err error) {
	err = s.persist(ctx, "an answer", func() error {
		answer, err := st.answers.Get(ctx, r.ID, n)
		ok = err == nil && answer[0] == markGood
		return err
	})
	return ok, err
}

// answer sends line n and returns its answer as it is stored.
func (s *Service) answer(
	ctx context.Context, r record, c chunk, n int, l line, attempt int,
) (answer []byte, ok bool, err error) {
	parsed, problem := parse(l, r.lineBound(), r.Endpoint)
	if problem != nil { // impossible: the file was checked
		return nil, false, errors.New(problem.Message)
	}
	id := fmt.Sprintf("batch_req_%s-%d", strings.TrimPrefix(r.ID, "batch_"), n)
	a := Answer{ID: id, CustomID: *parsed.CustomID}
	switch {
	case attempt > maxAttempts:
		a.Error = &Failure{
			Code: "failed_repeatedly", Message: "This request was started many times and never finished.",
		}
	case parsed.Body.stream:
		a.Response = refuseStream(id)
	default:
		request := Request{Endpoint: r.Target, ID: id, Body: parsed.Body.of(l)}
		reply, err := s.send(ctx, request, c.Refused >= maxRefused)
		if err != nil {
			return nil, false, err
		}
		ok = reply.Status == http.StatusOK
		a.Response = &Response{StatusCode: reply.Status, RequestID: id, Body: textOrJSON(reply.Body)}
	}
	answer, err = encodeAnswer(ok, a)
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
