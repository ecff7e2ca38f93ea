package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs/queue"
)

// maxAttempts is how often a task of lines is begun before what is unanswered of it fails: a request that ends the whole
// process each time must not hold up the rest for ever. What can be told apart from a death is not counted: see putBack.
const maxAttempts = 20

// staleAttempts is how often a batch is looked for that a task belongs to. In a cluster a node that is a moment behind
// may answer, which does not know a new batch yet.
const staleAttempts = 5

// errStale is a record of a batch from before the task's lines were queued.
var errStale = errors.New("the record of the batch is out of date")

// chunk answers the lines of one task.
func (s *Service) chunk(ctx context.Context, st *stores, api string, t queue.Task) error {
	var c chunk
	if err := json.Unmarshal(t.Data, &c); err != nil {
		return err
	}
	key := t.ID[:strings.LastIndexByte(t.ID, '.')]
	r, err := st.batches.Get(ctx, key)
	if errors.Is(err, queue.ErrNone) && t.Attempt > staleAttempts {
		return nil
	}
	if err != nil {
		return err
	}
	if r.Status == validating { // its tasks are made after that
		return errStale
	}
	if r.Status != inProgress || r.isDone(c.Number) {
		return s.proceed(ctx, st, r)
	}
	others := s.answered[api].Load()
	err = s.chunkOnce(ctx, st, r, c, t.Attempt)
	switch {
	case errors.Is(err, errBusy):
		if s.answered[api].Load() > others {
			c.Refused++
		}
	case err == nil || t.Attempt <= maxAttempts/2:
		return err
	}
	if again := s.putBack(ctx, st, r, c); again != nil {
		return errors.Join(err, again)
	}
	return nil
}

// chunkOnce answers the lines of a task of a batch in progress, and takes note of that.
func (s *Service) chunkOnce(ctx context.Context, st *stores, r record, c chunk, attempt int) error {
	working, stop := context.WithDeadline(ctx, time.Unix(*r.ExpiresAt, 0))
	defer stop()
	go watch(working, stop, st, r.key())
	good, err := s.answerChunk(working, st, r, c, attempt)
	if err != nil {
		if working.Err() != nil && ctx.Err() == nil { // cancelled or expired
			return nil
		}
		return err
	}
	key := r.key() // before anything fails: beside an error there is no record
	err = s.insist(ctx, "a task that is done", func() (err error) {
		r, err = st.batches.Change(ctx, key, func(r *record) error {
			if r.Status != inProgress || r.isDone(c.Number) {
				return queue.ErrUnchanged
			}
			r.Done[c.Number/8] |= 1 << (c.Number % 8)
			r.RequestCounts.Completed += good
			r.RequestCounts.Failed += c.Lines - good
			if r.allDone() {
				r.Status = finalizing
				r.FinalizingAt = pointer(now())
				r.Ending = completed
			}
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	return s.proceed(ctx, st, r)
}

// putBack queues a task again, behind all others: its lines have to wait, or it did not come to an end for a reason that
// is no death of the process. Its attempts are counted anew.
func (s *Service) putBack(ctx context.Context, st *stores, r record, c chunk) error {
	c.Round++
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leave) // this gateway may be ending
	defer stop()
	return st.lines[r.Ask.API].Push(ctx, queue.Work, r.key()+"."+strconv.Itoa(c.Number)+"-"+strconv.Itoa(c.Round), text)
}

// proceed has a batch put together whose lines are all answered.
func (s *Service) proceed(ctx context.Context, st *stores, r record) error {
	if r.Status != finalizing {
		return nil
	}
	return st.pushStep(ctx, r.key(), stepFinish)
}

// watch ends ctx, the work on a batch, by stop when the batch is not in progress any more: it was cancelled, by
// whichever gateway.
func watch(ctx context.Context, stop func(), st *stores, key string) {
	queue.Every(ctx, time.Second, func() {
		if r, err := st.batches.Get(ctx, key); err == nil && r.Status != inProgress && r.Status != validating { // which is out of date
			stop()
		}
	})
}

// bodyWeight is what a byte of a line costs in memory until it is answered: itself, what is decoded from it, the answer.
const bodyWeight = 4

// answerChunk sees to it that all lines of a chunk have their answers, and returns how many of those are good.
func (s *Service) answerChunk(ctx context.Context, st *stores, r record, c chunk, attempt int) (good int, err error) {
	if c.Bytes > chunkBytes {
		var release func()
		err := s.insist(ctx, "memory for a long line", func() (err error) {
			release, err = s.outside.Memory.Acquire(ctx, bodyWeight*int64(c.Bytes))
			return err
		})
		if err != nil {
			return 0, err
		}
		defer release()
	}
	var text []byte
	err = s.insist(ctx, "lines", func() (err error) {
		text, err = st.content.Slice(ctx, r.InputFileID, c.Offset, c.Bytes)
		return err
	})
	if err != nil {
		return 0, err
	}
	reader := newLineReader(bytes.NewReader(text), r.lineBytes())
	var mu sync.Mutex
	busy := false
	asking, ctx := errgroup.WithContext(ctx)
	for n := c.First; n < c.First+c.Lines; n++ {
		l, err := reader.next()
		if err != nil {
			return 0, errors.Join(err, asking.Wait())
		}
		l.text = bytes.Clone(l.text)
		asking.Go(fault.Guard(func() error {
			ok, err := s.answerOnce(ctx, st, r, c, n, l, attempt)
			mu.Lock()
			defer mu.Unlock()
			if ok {
				good++
			}
			if errors.Is(err, errBusy) { // the others go on
				busy = true
				return nil
			}
			return err
		}))
	}
	err = asking.Wait()
	if err == nil && busy {
		err = errBusy
	}
	return good, err
}

// Marks before a stored answer: whether the line belongs into the output or into the error file.
const (
	markGood = '+'
	markBad  = '-'
)

// answerOnce sees to it that a line of a chunk has its answer, and reports whether that is a good one.
func (s *Service) answerOnce(ctx context.Context, st *stores, r record, c chunk, n int, l line, attempt int) (ok bool, err error) {
	if attempt > 1 || c.Round > 0 {
		if ok, err := s.given(ctx, st, r, n); !errors.Is(err, queue.ErrNone) {
			return ok, err
		}
	}
	text, ok, err := s.answer(ctx, r, c, n, l, attempt)
	if err != nil {
		return false, err
	}
	err = s.insist(ctx, "an answer", func() error { return st.answers.Put(ctx, r.ID, n, text) })
	if errors.Is(err, queue.ErrExists) { // another worker came first
		return s.given(ctx, st, r, n)
	}
	if err == nil {
		s.outside.Meter.Line(r.Ask.API, ok)
	}
	return ok, err
}

// given reports whether the stored answer of a line is a good one, or returns queue.ErrNone.
func (s *Service) given(ctx context.Context, st *stores, r record, n int) (ok bool, err error) {
	err = s.insist(ctx, "an answer", func() error {
		text, err := st.answers.Get(ctx, r.ID, n)
		ok = err == nil && text[0] == markGood
		return err
	})
	return ok, err
}

// answer asks one line and returns its mark and its line of the result.
func (s *Service) answer(ctx context.Context, r record, c chunk, n int, l line, attempt int) (text []byte, ok bool, err error) {
	asked, wrong := parse(l, r.lineBytes(), r.Endpoint)
	if wrong != nil { // the file was checked
		return nil, false, errors.New(wrong.Message)
	}
	id := "batch_req_" + r.ID[len("batch_"):] + "-" + strconv.Itoa(n)
	a := Answer{ID: id, CustomID: *asked.CustomID}
	switch {
	case attempt > maxAttempts:
		a.Error = &Failure{Code: "failed_repeatedly", Message: "This request was begun many times and never came to an end."}
	case streams(asked.Body):
		a.Response = refusal(id, "stream", "A request of a batch cannot be streamed.")
	default:
		reply, err := s.ask(ctx, Question{Endpoint: r.Ask, ID: id, Body: asked.Body}, c.Refused >= maxRefused)
		if err != nil {
			return nil, false, err
		}
		ok = reply.Status == http.StatusOK
		a.Response = &Response{StatusCode: reply.Status, RequestID: id, Body: plain(reply.Body)}
	}
	text, err = marked(ok, a)
	return text, ok, err
}

// marked is an answer as it is stored.
func marked(ok bool, a Answer) ([]byte, error) {
	mark := byte(markBad)
	if ok {
		mark = markGood
	}
	var text bytes.Buffer
	text.WriteByte(mark)
	encoder := json.NewEncoder(&text) // which ends with a line feed
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(a)
	return text.Bytes(), err
}

// plain is a body as a member of a line: without line feeds, and a text where it is no JSON.
func plain(body []byte) any {
	if json.Valid(body) {
		return json.RawMessage(body) // the encoder makes it compact
	}
	return string(body)
}

// streams reports whether a body asks for an answer in pieces.
func streams(body []byte) bool {
	var asked struct {
		Stream any `json:"stream"`
	}
	return json.Unmarshal(body, &asked) == nil && asked.Stream == true
}

// refusal is the answer to a line that no API is asked.
func refusal(id, param, message string) *Response {
	return &Response{StatusCode: http.StatusBadRequest, RequestID: id, Body: map[string]any{"error": map[string]any{
		"message": message, "type": "invalid_request_error", "param": param, "code": "invalid_value",
	}}}
}
