package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/jobs/queue"
)

// maxAttempts is how often a task of lines is begun before what is unanswered of it fails: a request that ends the whole
// process each time must not hold up the rest for ever.
const maxAttempts = 20

// chunk answers the lines of one task.
func (s *Service) chunk(ctx context.Context, st *stores, api string, t queue.Task) error {
	var c chunk
	if err := json.Unmarshal(t.Data, &c); err != nil {
		return err
	}
	key := t.ID[:len(t.ID)-len(strconv.Itoa(c.Number))-1]
	r, err := st.batches.Get(ctx, key)
	if errors.Is(err, queue.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	if r.Status != inProgress || r.isDone(c.Number) {
		return s.proceed(ctx, st, r)
	}
	working, stop := context.WithDeadline(ctx, time.Unix(*r.ExpiresAt, 0))
	defer stop()
	go watch(working, stop, st, key)
	good, err := s.answerChunk(working, st, r, c, t.Attempt)
	if err != nil {
		if working.Err() != nil && ctx.Err() == nil { // cancelled or expired
			return nil
		}
		return err
	}
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
	if err != nil {
		return err
	}
	return s.proceed(ctx, st, r)
}

// proceed has a batch put together whose lines are all answered.
func (s *Service) proceed(ctx context.Context, st *stores, r record) error {
	if r.Status != finalizing {
		return nil
	}
	return st.steps.Push(ctx, r.key()+stepFinish, nil)
}

// watch stops the work on a batch that is not in progress any more: it was cancelled, by whichever gateway.
func watch(ctx context.Context, stop func(), st *stores, key string) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if r, err := st.batches.Get(ctx, key); err == nil && r.Status != inProgress {
			stop()
			return
		}
	}
}

// bodyWeight is what a byte of a line costs in memory until it is answered: itself, what is decoded from it, the answer.
const bodyWeight = 4

// answerChunk sees to it that all lines of a chunk have their answers, and returns how many of those are good.
func (s *Service) answerChunk(ctx context.Context, st *stores, r record, c chunk, attempt int) (good int, err error) {
	if c.Bytes > chunkBytes {
		release, err := s.outside.Memory.Acquire(ctx, bodyWeight*int64(c.Bytes))
		if err != nil {
			return 0, err
		}
		defer release()
	}
	text, err := st.content.Slice(ctx, r.InputFileID, c.Offset, c.Bytes)
	if err != nil {
		return 0, err
	}
	reader := newLineReader(bytes.NewReader(text), r.lineBytes())
	var mu sync.Mutex
	asking, ctx := errgroup.WithContext(ctx)
	for n := c.First; n < c.First+c.Lines; n++ {
		l, err := reader.next()
		if err != nil {
			return 0, errors.Join(err, asking.Wait())
		}
		l.text = bytes.Clone(l.text)
		asking.Go(func() error {
			ok, err := s.answerOnce(ctx, st, r, n, l, attempt)
			mu.Lock()
			defer mu.Unlock()
			if ok {
				good++
			}
			return err
		})
	}
	err = asking.Wait()
	return good, err
}

// Marks before a stored answer: whether the line belongs into the output or into the error file.
const (
	markGood = '+'
	markBad  = '-'
)

// answerOnce sees to it that a line has its answer, and reports whether that is a good one.
func (s *Service) answerOnce(ctx context.Context, st *stores, r record, n int, l line, attempt int) (ok bool, err error) {
	if attempt > 1 {
		if given, err := st.answers.Get(ctx, r.ID, n); !errors.Is(err, queue.ErrNone) {
			return err == nil && given[0] == markGood, err
		}
	}
	text, ok, err := s.answer(ctx, r, n, l, attempt)
	if err != nil {
		return false, err
	}
	err = st.answers.Put(ctx, r.ID, n, text)
	if errors.Is(err, queue.ErrExists) { // another worker came first
		given, err := st.answers.Get(ctx, r.ID, n)
		return err == nil && given[0] == markGood, err
	}
	if err == nil {
		s.outside.Meter.Line(r.Ask.API, ok)
	}
	return ok, err
}

// answer asks one line and returns its mark and its line of the result. What passes is asked again, until the context ends.
func (s *Service) answer(ctx context.Context, r record, n int, l line, attempt int) (text []byte, ok bool, err error) {
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
		var status int
		var body []byte
		if status, body, err = s.ask(ctx, Question{Endpoint: r.Ask, ID: id, Body: asked.Body}); err != nil {
			return nil, false, err
		}
		ok = status == http.StatusOK
		a.Response = &Response{StatusCode: status, RequestID: id, Body: plain(body)}
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

// Failures of an API that may pass are tried so often; load and a Triton that is away as long as the batch lives.
const maxTries = 3

// ask puts a line to its API when its turn has come.
func (s *Service) ask(ctx context.Context, q Question) (status int, body []byte, err error) {
	pause := time.Second
	for tries := 1; ; {
		release, err := s.outside.Place(ctx)
		if err != nil {
			return 0, nil, err
		}
		status, body = s.outside.Ask(ctx, q)
		release()
		if err := ctx.Err(); err != nil {
			return 0, nil, err
		}
		switch status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
			if tries++; tries > maxTries {
				return status, body, nil
			}
		default:
			return status, body, nil
		}
		select {
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, 30*time.Second)
	}
}
