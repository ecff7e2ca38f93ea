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

	"github.com/rs/zerolog"

	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/memory"
	"retort/orchestrator/unfinished"
)

type noMeter struct{}

func (noMeter) Line(string, bool)      {}
func (noMeter) Batches(map[string]int) {}
func (noMeter) BatchTasks(string, int) {}

// stove is a service whose workers do not run: a test takes each step itself.
type stove struct {
	*Service
	st *stores

	mu     sync.Mutex
	asked  []string // custom ids are the bodies' "n"
	answer func(n string, times int) Reply
}

var slow = Endpoint{URL: "/v1/cook", API: "kitchen", Path: "/cook", Lines: slowLines, Bytes: 1 << 10}

func newStove(t *testing.T, answer func(n string, times int) Reply) *stove {
	t.Helper()
	e, err := queue.Open(context.Background(), queue.Config{Folder: t.TempDir()}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	b := &stove{answer: answer}
	b.Service = New(Config{Requests: 100, Concurrency: 8, KeepFiles: time.Hour}, Outside{
		Endpoints: func(string) []Endpoint { return []Endpoint{slow} },
		APIs:      []string{"kitchen"},
		Ask:       b.cook,
		Place:     func(context.Context) (func(), error) { return func() {}, nil },
		Memory:    memory.NewBudget(1<<20, time.Millisecond),
		Meter:     noMeter{},
		Logger:    zerolog.Nop(),
	})
	b.sleep = func(context.Context, time.Duration) {}
	if b.st, err = newStores(t.Context(), e, []string{"kitchen"}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *stove) cook(_ context.Context, q Question) Reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := string(q.Body)
	times := 1
	for _, a := range b.asked {
		if a == n {
			times++
		}
	}
	b.asked = append(b.asked, n)
	return b.answer(n, times)
}

// times is how often a line was asked.
func (b *stove) times(n int) (times int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.asked {
		if a == body(n) {
			times++
		}
	}
	return times
}

func body(n int) string { return `{"n":` + strconv.Itoa(n) + `}` }

// begun makes a batch of so many lines, whose tasks wait.
func (b *stove) begun(t *testing.T, lines int) record {
	t.Helper()
	var text strings.Builder
	for n := range lines {
		text.WriteString(`{"custom_id":"` + strconv.Itoa(n) + `","method":"POST","url":"/v1/cook","body":` + body(n) + "}\n")
	}
	input := newID("file-")
	size, err := b.st.content.Write(t.Context(), queue.Input, input, strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	r := record{Owner: "everyone", Ask: slow, InputBytes: size, OutputLife: 3600}
	r.Batch = Batch{ID: newID("batch_"), Endpoint: slow.URL, InputFileID: input, Status: validating, CreatedAt: now(), ExpiresAt: pointer(now() + 3600)}
	if err := b.st.batches.Create(t.Context(), r.key(), r); err != nil {
		t.Fatal(err)
	}
	if err := b.begin(t.Context(), b.st, r); err != nil {
		t.Fatal(err)
	}
	return b.read(t, r)
}

func (b *stove) read(t *testing.T, r record) record {
	t.Helper()
	r, err := b.st.batches.Get(t.Context(), r.key())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// take is the next task that waits, which is done with that.
func (b *stove) take(t *testing.T) (next queue.Task) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	b.st.lines["kitchen"].Work(ctx, 1, func(_ context.Context, task queue.Task) error {
		next = task
		stop()
		return nil
	})
	if next.ID == "" {
		t.Fatal("no task waits")
	}
	return next
}

// do works on a task.
func (b *stove) do(t *testing.T, task queue.Task) {
	t.Helper()
	if err := b.chunk(t.Context(), b.st, "kitchen", task); err != nil {
		t.Fatal(err)
	}
}

// about is what a task says of its lines.
func about(t *testing.T, task queue.Task) (c chunk) {
	t.Helper()
	if err := json.Unmarshal(task.Data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func good(string, int) Reply { return Reply{Status: 200, Body: []byte(`{}`)} }

// A record that is read a moment too early ends no task.
func TestStaleRecordEndsNoTask(t *testing.T) {
	b := newStove(t, good)
	r := b.begun(t, 1)
	next := b.take(t)
	change := func(status string) {
		_, err := b.st.batches.Change(t.Context(), r.key(), func(r *record) error { r.Status = status; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	change(validating)
	if err := b.chunk(t.Context(), b.st, "kitchen", next); !errors.Is(err, errStale) {
		t.Errorf("a batch that is being validated: %v", err)
	}
	unknown := queue.Task{ID: "everyone.batch_none.0", Data: next.Data, Attempt: 1}
	if err := b.chunk(t.Context(), b.st, "kitchen", unknown); !errors.Is(err, queue.ErrNone) {
		t.Errorf("no batch, at first: %v", err)
	}
	unknown.Attempt = staleAttempts + 1
	b.do(t, unknown)
	change(inProgress)
	if b.do(t, next); b.read(t, r).Status != finalizing {
		t.Errorf("the batch is %s", b.read(t, r).Status)
	}
}

// A batch whose task was lost gets it again once its API has nothing to do.
func TestLostTaskIsQueuedAgain(t *testing.T) {
	b := newStove(t, good)
	r := b.begun(t, 2*slowLines)
	if err := b.st.lines["kitchen"].Drop(t.Context(), ">"); err != nil {
		t.Fatal(err)
	}
	sweep := func(waiting int) (steps int) {
		err := b.sweepBatch(t.Context(), b.st, r.outline(), waiting)
		if err == nil {
			steps, err = b.st.steps.Waiting(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return steps
	}
	if n := sweep(0); n != 0 {
		t.Errorf("%d steps of a batch that has just begun", n)
	}
	r.ValidatedAt = now() - int64(standing/time.Second) - 1
	if n := sweep(1); n != 0 {
		t.Errorf("%d steps while there are tasks", n)
	}
	if n := sweep(0); n != 1 {
		t.Fatalf("%d steps of a batch that stands still", n)
	}
	if err := b.step(t.Context(), b.st, queue.Task{ID: r.key() + stepCheck, Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	b.do(t, b.take(t))
	b.do(t, b.take(t))
	if got := b.read(t, r); got.Status != finalizing || got.RequestCounts.Completed != 2*slowLines {
		t.Errorf("%s, %+v", got.Status, got.RequestCounts)
	}
}

// A line that the API refuses gives its worker to others, its task comes back with a new count of attempts, and its lines
// that were answered are not asked again.
func TestRefusedLineHoldsNothingUp(t *testing.T) {
	b := newStove(t, func(n string, _ int) Reply {
		if n == body(0) {
			return Reply{Status: 503, Body: []byte(`{}`)}
		}
		return good("", 0)
	})
	r := b.begun(t, 2*slowLines)
	b.do(t, b.take(t))
	b.do(t, b.take(t))
	if got := b.read(t, r); got.isDone(0) || !got.isDone(1) || b.times(0) != busyTries {
		t.Fatalf("the line was asked %d times, its task is done: %t, the other one: %t", b.times(0), got.isDone(0), got.isDone(1))
	}
	again := b.take(t)
	if c := about(t, again); again.Attempt != 1 || c.Round != 1 || c.Refused != 1 {
		t.Errorf("attempt %d of %+v", again.Attempt, c)
	}
	b.do(t, again) // the API answers nothing else meanwhile
	again = b.take(t)
	if c := about(t, again); c.Round != 2 || c.Refused != 1 || b.times(1) != 1 {
		t.Errorf("%+v, and another line was asked %d times", c, b.times(1))
	}
	last := about(t, again)
	last.Refused = maxRefused
	again.Data, _ = json.Marshal(last)
	b.do(t, again)
	if got := b.read(t, r); got.Status != finalizing || got.RequestCounts.Failed != 1 {
		t.Errorf("%s, %+v", got.Status, got.RequestCounts)
	}
	if text, err := b.st.answers.Get(t.Context(), r.ID, 0); err != nil || text[0] != markBad || !strings.Contains(string(text), "503") {
		t.Errorf("the answer is %s, %v", text, err)
	}
}

// Only deaths of the process count as attempts: another failure gives the task a new count.
func TestFailuresOfTheStoreStrikeNoLine(t *testing.T) {
	b := newStove(t, good)
	r := b.begun(t, 1)
	next := b.take(t)
	broken := errors.New("the store is away")
	place := b.outside.Place
	b.outside.Place = func(context.Context) (func(), error) { return nil, broken }
	if err := b.chunk(t.Context(), b.st, "kitchen", next); !errors.Is(err, broken) {
		t.Errorf("a first failure: %v", err)
	}
	next.Attempt = maxAttempts/2 + 1
	b.do(t, next)
	next = b.take(t)
	if next.Attempt != 1 {
		t.Errorf("attempt %d", next.Attempt)
	}
	b.outside.Place = place
	if b.do(t, next); b.read(t, r).RequestCounts.Completed != 1 {
		t.Errorf("%+v", b.read(t, r).RequestCounts)
	}
}

// A task waits for memory, and fails only with its context.
func TestLongLineWaitsForMemory(t *testing.T) {
	b := newStove(t, good)
	r := b.begun(t, 1)
	release, err := b.outside.Memory.Acquire(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	pauses := 0
	b.sleep = func(context.Context, time.Duration) {
		if pauses++; pauses == 3 {
			release()
		}
	}
	c := chunk{Lines: 1, Bytes: chunkBytes + 1}
	// The file is shorter, which shows once there is memory.
	if _, err := b.answerChunk(t.Context(), b.st, r, c, 1); !errors.Is(err, queue.ErrNone) || pauses != 3 {
		t.Errorf("after %d pauses: %v", pauses, err)
	}
}

func TestInsist(t *testing.T) {
	b := New(Config{}, Outside{Logger: zerolog.Nop()})
	ctx, stop := context.WithCancel(t.Context())
	pauses := 0
	b.sleep = func(context.Context, time.Duration) {
		if pauses++; pauses == 100 {
			stop()
		}
	}
	left := 30
	err := b.insist(ctx, "a test", func() error {
		if left--; left > 0 {
			return queue.ErrFull
		}
		return queue.ErrExists
	})
	if !errors.Is(err, queue.ErrExists) || pauses != 29 {
		t.Errorf("%v after %d pauses", err, pauses)
	}
	if err := b.insist(ctx, "a test", func() error { return queue.ErrFull }); !errors.Is(err, queue.ErrFull) || pauses != 100 {
		t.Errorf("%v after %d pauses", err, pauses)
	}
}

// An answer that was cut short by what may pass is asked for again, and taken in the end.
func TestUnfinishedAnswers(t *testing.T) {
	for _, test := range []struct {
		reason  unfinished.Reason
		forever bool
		asked   int
		taken   unfinished.Reason
	}{
		{unfinished.Oracle, false, 2, ""},
		{unfinished.Model, true, maxTries, unfinished.Model},
		{unfinished.Stopping, true, maxTries, unfinished.Stopping},
		{unfinished.Deadline, true, 1, unfinished.Deadline},
	} {
		b := newStove(t, func(_ string, times int) Reply {
			if times == 1 || test.forever {
				return Reply{Status: 200, Unfinished: test.reason}
			}
			return good("", 0)
		})
		reply, err := b.ask(t.Context(), Question{Endpoint: slow, Body: []byte(body(0))}, false)
		if err != nil || b.times(0) != test.asked || reply.Unfinished != test.taken {
			t.Errorf("%s: asked %d times, %q, %v", test.reason, b.times(0), reply.Unfinished, err)
		}
	}
}

// As many lines as may be asked at once are in the hands of workers, however few a task has.
func TestWorkersHoldEnoughLines(t *testing.T) {
	b := New(Config{Concurrency: 64}, Outside{Endpoints: func(string) []Endpoint {
		return []Endpoint{{API: "kitchen", Lines: slowLines}, {API: "bar", Lines: quickLines}}
	}})
	for api, lines := range map[string]int{"kitchen": slowLines, "bar": quickLines} {
		if n := b.chunkWorkers(api); n*lines < 64 || n*lines > 64+4*lines {
			t.Errorf("%d workers of %s hold %d lines", n, api, n*lines)
		}
	}
}
