package batch

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/rs/zerolog"

	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/unfinished"
)

// recorder is a fixture that counts how often each line is sent.
type recorder struct {
	*fixture

	mu     sync.Mutex
	bodies []string // of the requests sent
}

// newRecorder returns a recorder whose API answers with reply, which receives the body and how often it was sent. Its
// workers do not run and its retries do not pause.
func newRecorder(t *testing.T, reply func(body string, times int) Reply) *recorder {
	t.Helper()
	b := &recorder{}
	b.fixture = setUp(t, func(_ context.Context, r Request) Reply {
		b.mu.Lock()
		b.bodies = append(b.bodies, string(r.Body))
		b.mu.Unlock()
		return reply(string(r.Body), b.times(string(r.Body)))
	})
	b.newBackOff = func(time.Duration) backoff.BackOff { return &backoff.ZeroBackOff{} }
	return b
}

// times returns how often a body was sent.
func (b *recorder) times(body string) (times int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, other := range b.bodies {
		if other == body {
			times++
		}
	}
	return times
}

func bodyOf(line int) string { return `{"n":` + strconv.Itoa(line) + `}` }

// startBatch returns a batch of n lines whose chunks are queued.
func (b *recorder) startBatch(t *testing.T, n int) record {
	t.Helper()
	r := b.record(t, b.batchOf(t, n).ID)
	if err := b.runCheckStep(t.Context(), b.st, r); err != nil {
		t.Fatal(err)
	}
	if err := b.st.steps.Drop(t.Context(), ">"); err != nil { // the check step, which is done
		t.Fatal(err)
	}
	return b.record(t, r.ID)
}

// take removes the next pending chunk from its queue.
func (b *recorder) take(t *testing.T) (next queue.Task) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	b.st.chunks["echo"].Work(ctx, 1, func(_ context.Context, task queue.Task) error {
		next = task
		stop()
		return nil
	})
	if next.ID == "" {
		t.Fatal("no chunk is pending")
	}
	return next
}

func (b *recorder) workOn(t *testing.T, task queue.Task) {
	t.Helper()
	if err := b.workOnChunk(t.Context(), b.st, "echo", task); err != nil {
		t.Fatal(err)
	}
}

func chunkOf(t *testing.T, task queue.Task) (c chunk) {
	t.Helper()
	if err := json.Unmarshal(task.Data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func good(string, int) Reply { return Reply{Status: 200, Body: []byte(`{}`)} }

// A stale record does not end a task.
func TestStaleRecordEndsNoTask(t *testing.T) {
	b := newRecorder(t, good)
	r := b.startBatch(t, 1)
	next := b.take(t)
	change := func(status string) {
		_, err := b.st.batches.Change(t.Context(), r.key(), func(r *record) error { r.Status = status; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	change(validating)
	if err := b.workOnChunk(t.Context(), b.st, "echo", next); !errors.Is(err, errStale) {
		t.Errorf("a validating batch: %v", err)
	}
	unknown := queue.Task{ID: "everyone.batch_none.0", Data: next.Data, Attempt: 1}
	if err := b.workOnChunk(t.Context(), b.st, "echo", unknown); !errors.Is(err, queue.ErrNone) {
		t.Errorf("first attempt without a batch: %v", err)
	}
	unknown.Attempt = staleAttempts + 1
	b.workOn(t, unknown)
	change(inProgress)
	if b.workOn(t, next); b.record(t, r.ID).Status != finalizing {
		t.Errorf("status is %s", b.record(t, r.ID).Status)
	}
}

// A lost task is queued again once its API has no tasks.
func TestLostTaskIsQueuedAgain(t *testing.T) {
	b := newRecorder(t, good)
	r := b.startBatch(t, 2*SlowLines)
	if err := b.st.chunks["echo"].Drop(t.Context(), ">"); err != nil {
		t.Fatal(err)
	}
	sweep := func(waiting int) (steps int) {
		err := b.sweepBatch(t.Context(), b.st, r, waiting)
		if err == nil {
			steps, err = b.st.steps.Waiting(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return steps
	}
	if n := sweep(0); n != 0 {
		t.Errorf("%d steps of a new batch", n)
	}
	r.QueuedAt = now() - int64(stalledAfter/time.Second) - 1
	if n := sweep(1); n != 0 {
		t.Errorf("%d steps while there are tasks", n)
	}
	if n := sweep(0); n != 1 {
		t.Fatalf("%d steps of a stalled batch", n)
	}
	if err := b.runStep(t.Context(), b.st, queue.Task{ID: r.key() + stepCheck, Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	b.workOn(t, b.take(t))
	b.workOn(t, b.take(t))
	if got := b.record(t, r.ID); got.Status != finalizing || got.RequestCounts.Completed != 2*SlowLines {
		t.Errorf("%s, %+v", got.Status, got.RequestCounts)
	}
}

// A chunk with a refused line is put back with a new count of attempts, so that its worker is free. Its answered lines
// are not sent again.
func TestRefusedLineIsPutBack(t *testing.T) {
	b := newRecorder(t, func(body string, _ int) Reply {
		if body == bodyOf(0) {
			return Reply{Status: 503, Body: []byte(`{}`)}
		}
		return good("", 0)
	})
	r := b.startBatch(t, 2*SlowLines)
	b.workOn(t, b.take(t))
	b.workOn(t, b.take(t))
	if got := b.record(t, r.ID); got.isDone(0) || !got.isDone(1) || b.times(bodyOf(0)) != busyTries {
		t.Fatalf("the line was sent %d times, done chunks: %t, %t",
			b.times(bodyOf(0)), got.isDone(0), got.isDone(1))
	}
	again := b.take(t)
	if c := chunkOf(t, again); again.Attempt != 1 || c.Round != 1 || c.Refused != 1 {
		t.Errorf("attempt %d of %+v", again.Attempt, c)
	}
	b.workOn(t, again) // meanwhile the API answers no other line
	again = b.take(t)
	if c := chunkOf(t, again); c.Round != 2 || c.Refused != 1 || b.times(bodyOf(1)) != 1 {
		t.Errorf("%+v, another line was sent %d times", c, b.times(bodyOf(1)))
	}
	last := chunkOf(t, again)
	last.Refused = maxRefused
	again.Data, _ = json.Marshal(last)
	b.workOn(t, again)
	if got := b.record(t, r.ID); got.Status != finalizing || got.RequestCounts.Failed != 1 {
		t.Errorf("%s, %+v", got.Status, got.RequestCounts)
	}
	text, err := b.st.answers.Get(t.Context(), r.ID, 0)
	if err != nil || text[0] != markBad || !strings.Contains(string(text), "503") {
		t.Errorf("the answer is %s, %v", text, err)
	}
}

// Only crashes of the process count as attempts: after other failures the task has a new count.
func TestOnlyCrashesCountAsAttempts(t *testing.T) {
	b := newRecorder(t, good)
	r := b.startBatch(t, 1)
	next := b.take(t)
	broken := errors.New("the store is unavailable")
	acquire := b.program.Acquire
	b.program.Acquire = func(context.Context) (func(), error) { return nil, broken }
	if err := b.workOnChunk(t.Context(), b.st, "echo", next); !errors.Is(err, broken) {
		t.Errorf("first failure: %v", err)
	}
	next.Attempt = maxAttempts/2 + 1
	b.workOn(t, next)
	next = b.take(t)
	if next.Attempt != 1 {
		t.Errorf("attempt %d", next.Attempt)
	}
	b.program.Acquire = acquire
	if b.workOn(t, next); b.record(t, r.ID).RequestCounts.Completed != 1 {
		t.Errorf("%+v", b.record(t, r.ID).RequestCounts)
	}
}

// onPause is a BackOff without pauses that calls a function instead.
type onPause func()

func (f onPause) NextBackOff() time.Duration {
	f()
	return 0
}

func (onPause) Reset() {}

// A chunk waits for memory until its context ends.
func TestLongLineWaitsForMemory(t *testing.T) {
	b := newRecorder(t, good)
	r := b.startBatch(t, 1)
	release, err := b.program.Memory.Acquire(t.Context(), memoryBudget)
	if err != nil {
		t.Fatal(err)
	}
	pauses := 0
	b.newBackOff = func(time.Duration) backoff.BackOff {
		return onPause(func() {
			if pauses++; pauses == 3 {
				release()
			}
		})
	}
	a := attempt{b.Service, b.st, r, chunk{Lines: 1, Bytes: chunkBytes + 1}, 1}
	// The file is shorter than the chunk, so the read fails once memory is free.
	if _, err := a.answerLines(t.Context()); !errors.Is(err, queue.ErrNone) || pauses != 3 {
		t.Errorf("after %d pauses: %v", pauses, err)
	}
}

func TestPersist(t *testing.T) {
	s := New(Config{}, Program{Logger: zerolog.Nop()})
	ctx, stop := context.WithCancel(t.Context())
	pauses := 0
	s.newBackOff = func(time.Duration) backoff.BackOff {
		return onPause(func() {
			if pauses++; pauses == 100 {
				stop()
			}
		})
	}
	failures := 30
	_, err := persist(ctx, s, "a test", func() (any, error) {
		if failures--; failures > 0 {
			return nil, queue.ErrFull
		}
		return nil, queue.ErrExists
	})
	if !errors.Is(err, queue.ErrExists) || pauses != 29 {
		t.Errorf("%v after %d pauses", err, pauses)
	}
	_, err = persist(ctx, s, "a test", func() (any, error) { return nil, queue.ErrFull })
	if !errors.Is(err, context.Canceled) || pauses != 100 {
		t.Errorf("%v after %d pauses", err, pauses)
	}
}

// An answer that is unfinished for a temporary reason is retried. The last try is accepted as it is.
func TestUnfinishedAnswers(t *testing.T) {
	for _, test := range []struct {
		reason     unfinished.Reason
		forever    bool
		wantTries  int
		wantReason unfinished.Reason
	}{
		{unfinished.Oracle, false, 2, ""},
		{unfinished.Model, true, maxTries, unfinished.Model},
		{unfinished.Stopping, true, maxTries, unfinished.Stopping},
		{unfinished.Deadline, true, 1, unfinished.Deadline},
	} {
		b := newRecorder(t, func(_ string, times int) Reply {
			if times == 1 || test.forever {
				return Reply{Status: 200, Unfinished: test.reason}
			}
			return good("", 0)
		})
		reply, err := b.send(t.Context(), Request{Endpoint: echoEndpoint, Body: []byte(bodyOf(0))}, false)
		if err != nil || b.times(bodyOf(0)) != test.wantTries || reply.Unfinished != test.wantReason {
			t.Errorf("%s: sent %d times, %q, %v", test.reason, b.times(bodyOf(0)), reply.Unfinished, err)
		}
	}
}

// The workers of an API hold at least Concurrency lines, whatever the size of its chunks.
func TestWorkersHoldEnoughLines(t *testing.T) {
	b := New(Config{Concurrency: 64}, Program{Endpoints: func(string) []Endpoint {
		return []Endpoint{{API: "slow", Lines: SlowLines}, {API: "quick", Lines: QuickLines}}
	}})
	for api, lines := range map[string]int{"slow": SlowLines, "quick": QuickLines} {
		if n := b.chunkWorkers(api); n*lines < 64 || n*lines > 64+4*lines {
			t.Errorf("%d workers of %s hold %d lines", n, api, n*lines)
		}
	}
}
