package responses

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/memory"
)

// setUp returns the service with its stores in a new folder, without workers and sweeps.
func setUp(t *testing.T, config Config, ownerBytes int64) (*Service, *stores) {
	t.Helper()
	e, err := queue.Open(t.Context(), queue.Config{
		Folder: t.TempDir(), MaxBytes: 64 << 20, OwnerBytes: ownerBytes,
	}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	s := New(config, Program{MaxBytes: 1 << 20, Memory: memory.NewBudget(64<<20, time.Second), Logger: zerolog.Nop()})
	s.config.Background = 0
	ctx, stop := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	if err := s.Begin(ctx, e, &ended); err != nil {
		t.Fatal(err)
	}
	stop()
	ended.Wait() // the sweep
	t.Cleanup(e.Close)
	st, err := s.storage.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, st
}

var defaults = Config{Keep: time.Hour, Most: 100, Background: 1}

// save stores a response and returns its id.
func save(t *testing.T, s *Service, caller, previous, content string) string {
	t.Helper()
	id := s.NewID()
	if err := s.Save(t.Context(), caller, id, previous, []byte(content)); err != nil {
		t.Fatal(err)
	}
	return id
}

func has(t *testing.T, s *Service, caller, id string) bool {
	t.Helper()
	_, _, release, err := s.Load(t.Context(), caller, id)
	if err == nil {
		release()
	}
	if err != nil && fault.KindOf(err) != fault.NotFound {
		t.Fatal(err)
	}
	return err == nil
}

func TestAChainIsReadFromItsStart(t *testing.T) {
	s, _ := setUp(t, defaults, 0)
	first := save(t, s, "a", "", "one")
	second := save(t, s, "a", first, "two")
	third := save(t, s, "a", second, "three"+strings.Repeat("!", smallContent))
	chain, release, err := s.LoadChain(t.Context(), "a", third)
	if err != nil {
		t.Fatal(err)
	}
	if held := s.program.Memory.Held(); held != bodyWeight*(int64(len("onetwothree"))+smallContent) {
		t.Errorf("%d bytes are held", held)
	}
	release()
	var texts []string
	for _, content := range chain {
		texts = append(texts, string(content))
	}
	if got := strings.TrimRight(strings.Join(texts, " "), "!"); got != "one two three" || s.program.Memory.Held() != 0 {
		t.Errorf("%s, %d bytes are held", got, s.program.Memory.Held())
	}
	if _, _, err := s.LoadChain(t.Context(), "b", third); fault.KindOf(err) != fault.NotFound {
		t.Errorf("another caller: %v", err)
	}
	if err := s.Delete(t.Context(), "a", first); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.LoadChain(t.Context(), "a", third)
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), first) {
		t.Errorf("without its start: %v", err)
	}
	if held := s.program.Memory.Held(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

func TestChainsAreBounded(t *testing.T) {
	s, st := setUp(t, defaults, 0)
	id := save(t, s, "a", "", strings.Repeat("x", 600<<10))
	if err := s.CheckContinuable(t.Context(), "a", id); err != nil {
		t.Error(err)
	}
	id = save(t, s, "a", id, strings.Repeat("x", 600<<10))
	if err := s.CheckContinuable(t.Context(), "a", id); fault.KindOf(err) != fault.Invalid {
		t.Errorf("beyond MaxBytes: %v", err)
	}
	long := save(t, s, "a", "", "x")
	if _, err := st.records.Change(t.Context(), "a."+long, func(r *record) error {
		r.Turns = maxTurns
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckContinuable(t.Context(), "a", long); fault.KindOf(err) != fault.Invalid {
		t.Errorf("beyond maxTurns: %v", err)
	}
}

// Responses that have not ended are not deleted: one more is refused, and may be sent later.
func TestUnfinishedResponsesFillTheQuota(t *testing.T) {
	for most, limit := range map[int]int64{2: 1000, 100: 30} {
		config := defaults
		config.Most = most
		s, _ := setUp(t, config, limit)
		start(t, s)
		start(t, s)
		var refusal *fault.Error
		err := s.Start(t.Context(), "a", s.NewID(), "", []byte("start"), []byte("request"))
		if !errors.As(err, &refusal) || refusal.Kind != fault.TooMany || refusal.RetryAfter <= 0 {
			t.Errorf("at most %d responses of %d bytes: %v", most, limit, err)
		}
		if err := s.Start(t.Context(), "b", s.NewID(), "", []byte("start"), []byte("request")); err != nil {
			t.Errorf("another key: %v", err)
		}
	}
}

// A response that does not fit beside the one that it continues is refused for good: to wait does not help.
func TestAResponseAndItsPreviousFillTheQuota(t *testing.T) {
	s, _ := setUp(t, defaults, 30)
	first := save(t, s, "a", "", strings.Repeat("x", 20))
	err := s.Save(t.Context(), "a", s.NewID(), first, []byte(strings.Repeat("x", 20)))
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Kind != fault.TooMany || refusal.RetryAfter != 0 ||
		!strings.Contains(refusal.Message, "take 40 bytes") {
		t.Errorf("%v", err)
	}
}

// The oldest responses of an owner are deleted to make room for a new one, and nobody else's.
func TestTheOldestMakeRoom(t *testing.T) {
	config := defaults
	config.Most = 3
	s, st := setUp(t, config, 1000)
	other := save(t, s, "b", "", "x")
	var ids []string
	for range 4 {
		ids = append(ids, save(t, s, "a", "", "x"))
		time.Sleep(2 * time.Millisecond) // ids sort by their ms
	}
	kept := func() (kept []bool) {
		for _, id := range ids {
			kept = append(kept, has(t, s, "a", id))
		}
		return kept
	}
	if got := kept(); !slices.Equal(got, []bool{false, true, true, true}) {
		t.Errorf("of four are kept: %v", got)
	}
	ids = append(ids, save(t, s, "a", "", strings.Repeat("x", 999)))
	if got := kept(); !slices.Equal(got, []bool{false, false, false, true, true}) {
		t.Errorf("after a large one are kept: %v", got)
	}
	err := s.Save(t.Context(), "a", s.NewID(), "", make([]byte, 1001))
	if fault.KindOf(err) != fault.TooMany || !has(t, s, "a", ids[4]) {
		t.Errorf("larger than the quota: %v", err)
	}
	if !has(t, s, "b", other) {
		t.Error("another owner's response was deleted")
	}
	names, err := st.files.Names(t.Context())
	if err != nil || len(names) != 3 {
		t.Errorf("files %v, %v", names, err)
	}
}

func TestSweepDeletesWhatHasExpired(t *testing.T) {
	s, st := setUp(t, defaults, 0)
	old := save(t, s, "", "", "x")
	defer func(before func() time.Time) { clock = before }(clock)
	clock = func() time.Time { return time.Now().Add(30 * time.Minute) }
	recent := save(t, s, "", "", "x")
	clock = func() time.Time { return time.Now().Add(time.Hour + time.Second) }
	if has(t, s, "", old) || !has(t, s, "", recent) {
		t.Error("a response expires after the lifetime of the settings, not before")
	}
	if err := st.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys, err := st.records.Keys(t.Context())
	if err != nil || !slices.Equal(keys, []string{"everyone." + recent}) {
		t.Errorf("records %v, %v", keys, err)
	}
	names, err := st.files.Names(t.Context())
	if err != nil || !slices.Equal(names, []string{"everyone." + recent + ".end"}) {
		t.Errorf("files %v, %v", names, err)
	}
}

func TestOrphansAreDeleted(t *testing.T) {
	s, st := setUp(t, defaults, 0)
	id := save(t, s, "a", "", "x")
	orphan := s.NewID()
	for _, name := range []string{"a." + orphan + ".start", "a." + orphan + ".request"} {
		if _, err := st.files.Write(t.Context(), queue.Input, name, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	defer func(before func() time.Time) { clock = before }(clock)
	clock = func() time.Time { return time.Now().Add(10 * time.Minute) }
	if err := st.dropOrphans(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, err := st.files.Names(t.Context())
	if err != nil || !slices.Equal(names, []string{"a." + id + ".end"}) {
		t.Errorf("files %v, %v", names, err)
	}
}

// work runs one attempt of a background response.
func work(t *testing.T, s *Service, st *stores, id string, attempt int) error {
	t.Helper()
	return s.work(t.Context(), st, queue.Task{ID: "a." + id, Attempt: attempt})
}

// start starts a background response of caller a.
func start(t *testing.T, s *Service) string {
	t.Helper()
	id := s.NewID()
	if err := s.Start(t.Context(), "a", id, "", []byte("start"), []byte("request")); err != nil {
		t.Fatal(err)
	}
	return id
}

// end returns the content of a response of caller a and its status.
func end(t *testing.T, s *Service, id string) string {
	t.Helper()
	content, status, release, err := s.Load(t.Context(), "a", id)
	if err != nil {
		t.Fatal(err)
	}
	release()
	return string(content) + "|" + status
}

func finish(start []byte, status int, reply []byte) ([]byte, error) {
	return fmt.Appendf(nil, "%s %d %s", start, status, reply), nil
}

func TestABackgroundResponseIsSentForItsCaller(t *testing.T) {
	s, st := setUp(t, defaults, 0)
	status := 503
	s.Connect(func(_ context.Context, caller string, body []byte) (int, []byte) {
		return status, fmt.Appendf(nil, "%s of %s", body, caller)
	}, finish)
	id := start(t, s)
	if got := end(t, s, id); got != "start|queued" {
		t.Error(got)
	}
	if err := work(t, s, st, id, 1); err == nil || end(t, s, id) != "start|in_progress" {
		t.Errorf("after a refusal for now: %v, %s", err, end(t, s, id))
	}
	if err := s.CheckContinuable(t.Context(), "a", id); fault.KindOf(err) != fault.Invalid {
		t.Errorf("continued before its end: %v", err)
	}
	status = 200
	for range 2 { // the second is a task that is delivered again
		if err := work(t, s, st, id, 2); err != nil || end(t, s, id) != "start 200 request of a|" {
			t.Errorf("%v, %s", err, end(t, s, id))
		}
	}
	names, err := st.files.Names(t.Context())
	if err != nil || len(names) != 1 || !strings.HasPrefix(names[0], "a."+id+".end.") {
		t.Errorf("files %v, %v", names, err)
	}
	status = 503
	id = start(t, s)
	if err := work(t, s, st, id, maxAttempts); err != nil || end(t, s, id) != "start 503 request of a|" {
		t.Errorf("after the last attempt: %v, %s", err, end(t, s, id))
	}
}

func TestABackgroundResponseIsCancelled(t *testing.T) {
	s, st := setUp(t, defaults, 0)
	sent := make(chan struct{})
	s.Connect(func(ctx context.Context, _ string, _ []byte) (int, []byte) {
		close(sent)
		<-ctx.Done()
		return 499, nil
	}, finish)
	id := start(t, s)
	if err := s.Cancel(t.Context(), "b", id); fault.KindOf(err) != fault.NotFound {
		t.Errorf("by another caller: %v", err)
	}
	if err := s.Cancel(t.Context(), "a", id); err != nil || end(t, s, id) != "start 0 |" {
		t.Errorf("before it was sent: %v, %s", err, end(t, s, id))
	}
	id = start(t, s)
	done := make(chan error)
	go func() { done <- s.work(t.Context(), st, queue.Task{ID: "a." + id, Attempt: 1}) }()
	<-sent
	if err := s.Cancel(t.Context(), "a", id); err != nil || end(t, s, id) != "start|cancelling" {
		t.Errorf("while it is sent: %v, %s", err, end(t, s, id))
	}
	if err := <-done; err != nil || end(t, s, id) != "start 0 |" {
		t.Errorf("%v, %s", err, end(t, s, id))
	}
}

// Two workers send a response, because the first had no heartbeat. The content of the one that ends it first stays.
func TestTwoWorkersEndAResponse(t *testing.T) {
	s, st := setUp(t, defaults, 0)
	sent := make(chan chan string)
	s.Connect(func(context.Context, string, []byte) (int, []byte) {
		reply := make(chan string)
		sent <- reply
		return 200, []byte(<-reply)
	}, finish)
	id := start(t, s)
	done := make(chan error)
	run := func() { done <- s.work(t.Context(), st, queue.Task{ID: "a." + id, Attempt: 1}) }
	go run()
	first := <-sent
	go run()
	second := <-sent
	begun, err := st.find(t.Context(), "a", id)
	if err != nil {
		t.Fatal(err)
	}
	second <- "short"
	if err := <-done; err != nil || end(t, s, id) != "start 200 short|" {
		t.Fatalf("%v, %s", err, end(t, s, id))
	}
	first <- "a longer reply"
	if err := <-done; err != nil || end(t, s, id) != "start 200 short|" {
		t.Errorf("%v, %s", err, end(t, s, id))
	}
	// The second worker had read the start before the first deleted it.
	content := strings.NewReader("start")
	if _, err := st.files.Write(t.Context(), queue.Input, begun.contentName(), content); err != nil {
		t.Fatal(err)
	}
	if err := s.end(t.Context(), st, begun, 200, []byte("a longer reply")); err != nil || end(t, s, id) != "start 200 short|" {
		t.Errorf("late: %v, %s", err, end(t, s, id))
	}
}

// TestAResponseEndsWhileItIsRead has a client that polls at the moment when the content of the start is deleted.
func TestAResponseEndsWhileItIsRead(t *testing.T) {
	s, st := setUp(t, defaults, 0)
	s.Connect(func(context.Context, string, []byte) (int, []byte) { return 200, []byte("reply") }, finish)
	id := start(t, s)
	before, err := st.find(t.Context(), "a", id)
	if err != nil {
		t.Fatal(err)
	}
	if err := work(t, s, st, id, 1); err != nil {
		t.Fatal(err)
	}
	content, after, err := st.readLatest(t.Context(), before)
	if err != nil || string(content) != "start 200 reply" || after.Status != Ended {
		t.Errorf("%q, %+v, %v", content, after, err)
	}
	if err := s.Delete(t.Context(), "a", id); err != nil {
		t.Fatal(err)
	}
	if _, _, err := st.readLatest(t.Context(), before); !errors.Is(err, queue.ErrNone) {
		t.Errorf("deleted: %v", err)
	}
}

// TestAnEndThatCannotBeStoredIsNotSentAgain has a reply from which Finish makes no content.
func TestAnEndThatCannotBeStoredIsNotSentAgain(t *testing.T) {
	s, st := setUp(t, defaults, 0)
	s.Connect(func(context.Context, string, []byte) (int, []byte) { return 200, nil },
		func([]byte, int, []byte) ([]byte, error) { return nil, errors.New("unreadable") })
	id := start(t, s)
	if err := work(t, s, st, id, 1); err != nil || has(t, s, "a", id) {
		t.Errorf("%v, the response exists: %t", err, has(t, s, "a", id))
	}
}

func TestUnfinishedResponsesAreBounded(t *testing.T) {
	config := defaults
	config.Most = 2 * maxUnfinished
	s, st := setUp(t, config, 0)
	for range maxUnfinished {
		start(t, s)
	}
	err := s.Start(t.Context(), "a", s.NewID(), "", []byte("start"), []byte("request"))
	if fault.KindOf(err) != fault.TooMany {
		t.Errorf("one more: %v", err)
	}
	if err := s.Start(t.Context(), "b", s.NewID(), "", []byte("start"), []byte("request")); err != nil {
		t.Errorf("another caller: %v", err)
	}
	if waiting, err := st.tasks.Waiting(t.Context()); err != nil || waiting != maxUnfinished+1 {
		t.Errorf("%d tasks, %v", waiting, err)
	}
}
