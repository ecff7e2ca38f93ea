package optimization

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/unfinished"
)

// fakeAPI answers one attempt at a job, whose body is decoded, and sends events with each.
type fakeAPI = func(a Request, body map[string]any, each func(event string) error) (answer string, err error)

// fixture is the service on its own engine, with a fake API.
type fixture struct {
	*Service
	t   *testing.T
	end func() // of service and engine
}

// begin starts the service on a folder.
func begin(t *testing.T, folder string, config Config, api fakeAPI) *fixture {
	t.Helper()
	return beginOn(t, queue.Config{Folder: folder}, config, zerolog.Nop(), api)
}

// beginOn is begin with any storage and logger.
func beginOn(t *testing.T, storage queue.Config, config Config, logger zerolog.Logger, api fakeAPI) *fixture {
	t.Helper()
	engine, err := queue.Open(context.Background(), storage, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	follow := func(_ context.Context, a Request, each func([]byte) error) (int, []byte, error) {
		var body map[string]any
		if err := json.Unmarshal(a.Body, &body); err != nil || body["smi"] == "C(" {
			return 422, []byte(`{"detail":"no molecule"}`), nil
		}
		if a.ValidateOnly {
			return 204, nil, nil
		}
		answer, err := api(a, body, func(event string) error { return each([]byte(event)) })
		return 200, []byte(answer), err
	}
	config.Searches = max(1, config.Searches)
	config.MaxJobs = max(10, config.MaxJobs)
	config.Keep = time.Hour
	s := New(config, follow, logger)
	ctx, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	if err := s.Begin(ctx, engine, &ended); err != nil {
		t.Fatal(err)
	}
	b := &fixture{Service: s, t: t, end: sync.OnceFunc(func() {
		stop()
		ended.Wait()
		engine.Close()
	})}
	t.Cleanup(b.end)
	return b
}

func (b *fixture) stores() *stores {
	b.t.Helper()
	st, err := b.storage.Open(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	return st
}

// submit creates a job.
func (b *fixture) submit(api, body string) Job {
	b.t.Helper()
	job, err := b.create(b.t.Context(), api, "", []byte(body))
	if err != nil {
		b.t.Fatal(err)
	}
	return job
}

// await watches a job until it is in one of the states, and returns all states of the job that it saw.
func (b *fixture) await(job Job, until ...Status) (seen []Job) {
	b.t.Helper()
	reached := errors.New("reached")
	err := b.watch(b.t.Context(), job.API, "", job.ID, func(v any) error {
		seen = append(seen, v.(Job))
		if slices.Contains(until, v.(Job).Status) {
			return reached
		}
		return nil
	})
	if err != nil && !errors.Is(err, reached) {
		b.t.Fatal(err)
	}
	return seen
}

func (b *fixture) resultOf(job Job) string {
	b.t.Helper()
	_, reader, err := b.result(b.t.Context(), job.API, "", job.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

const (
	best       = `{"smiles":"CCO","score":0.5}`
	checkpoint = `{"seed":0,"iteration":%d,"evaluations":%d,"best":` + best +
		`,"found":[{"smiles":"CCO"},{"smiles":"CCN"}]}`
)

func TestJobCompletes(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, func(_ Request, body map[string]any, each func(string) error) (string, error) {
		if body["stream"] != true || body["checkpoints"] != true || body["starts"] != nil {
			return "", fmt.Errorf("the body is %v", body)
		}
		return `{"generated":["CCO"]}`, each(fmt.Sprintf(checkpoint, 1, 30))
	})
	job := b.submit("latent", `{"smi":"CCC","iterations":20}`)
	if job.Status != Queued || job.Object != "generate.job" || job.Progress.Iterations != 20 {
		t.Errorf("%+v", job)
	}
	seen := b.await(job, Completed, Failed)
	last := seen[len(seen)-1]
	if last.Status != Completed || !last.HasResult || last.EndedAt == nil || last.ExpiresAt == nil ||
		last.Attempts != 1 || last.Progress.Iteration != 20 || last.Progress.Evaluations != 30 ||
		string(last.Progress.Best[0]) != best {
		t.Errorf("%+v", last)
	}
	if got := b.resultOf(job); got != `{"generated":["CCO"]}` {
		t.Error(got)
	}
}

// After a failure the next attempt starts with the molecules found so far and runs the remaining iterations.
func TestFailedAttemptIsContinued(t *testing.T) {
	var bodies []map[string]any
	b := begin(t, t.TempDir(), Config{}, func(_ Request, body map[string]any, each func(string) error) (string, error) {
		bodies = append(bodies, body)
		if len(bodies) == 1 {
			return `{"detail":"Triton is unavailable"}`, each(fmt.Sprintf(checkpoint, 7, 30))
		}
		return `{"generated":["CCO"]}`, each(fmt.Sprintf(checkpoint, 2, 30))
	})
	job := b.submit("latent", `{"smi":"CCC","iterations":20,"starts":[["CC"]]}`)
	seen := b.await(job, Completed, Failed)
	if last := seen[len(seen)-1]; last.Status != Completed || last.Attempts != 2 || last.Progress.Iteration != 20 {
		t.Errorf("%+v", last)
	}
	second := bodies[1]
	if fmt.Sprint(second["starts"]) != "[[CCO CCN]]" || second["iterations"] != 13.0 || second["smi"] != "CCC" {
		t.Errorf("%v", second)
	}
}

// A job waits while its API cannot start, goes on after a stop of the gateway, and keeps its molecules when it fails.
func TestFailuresOfOthers(t *testing.T) {
	started := make(chan struct{})
	api := func(a Request, _ map[string]any, each func(string) error) (string, error) {
		err := each(fmt.Sprintf(checkpoint, 7, 30))
		close(started)
		<-a.Stopping.Done()
		return "", err
	}
	b := begin(t, t.TempDir(), Config{Timeout: time.Hour}, api)
	job := b.submit("latent", `{"smi":"CCC","iterations":20}`)
	<-started
	startedAt, iteration := time.Now(), 7
	settle := func(ctx context.Context, status int, answer string) error {
		t.Helper()
		r, st, err := b.get(t.Context(), "latent", "", job.ID)
		if err != nil {
			t.Fatal(err)
		}
		r.Progress.Iteration = iteration
		a := &attempt{service: b.Service, stores: st, record: r, startedAt: startedAt}
		return a.settle(ctx, newOutcome("latent", status, []byte(answer), nil))
	}
	goesOn := func(ctx context.Context, status int, answer string, failures int) {
		t.Helper()
		err := settle(ctx, status, answer)
		r, _, getErr := b.get(t.Context(), "latent", "", job.ID)
		if !errors.Is(err, errRetry) || getErr != nil || r.Failures != failures {
			t.Errorf("%d: %v %v, %d failures, want %d", status, err, getErr, r.Failures, failures)
		}
	}
	kept := `{"generated":["CCO"],"unfinished":{"reason":"model","message":"a model failed"}}`
	goesOn(t.Context(), 200, kept, 1)
	for range 2 * maxFailures {
		goesOn(t.Context(), 503, `{"detail":"Triton is away"}`, 1)
	}
	goesOn(t.Context(), 429, `{"detail":"busy"}`, 1)
	goesOn(t.Context(), 504, `{"detail":"the oracle does not answer"}`, 1)
	goesOn(t.Context(), 422, `{"detail":"the oracle is not loaded"}`, 1)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	goesOn(stopped, 499, `{"detail":"the request was canceled"}`, 1)
	goesOn(t.Context(), 500, `{"detail":"a bug"}`, 2)
	iteration = 3 // An attempt that gets less far does not replace the result.
	goesOn(t.Context(), 200, strings.Replace(kept, "CCO", "C", 1), 3)
	startedAt = time.Now().Add(-2 * time.Hour) // The time of a search has passed since it has been away.
	for failures := 4; failures < maxFailures; failures++ {
		goesOn(t.Context(), 503, `{"detail":"Triton is away"}`, failures)
	}
	if err := settle(t.Context(), 503, `{"detail":"Triton is away"}`); err != nil {
		t.Fatal(err)
	}
	seen := b.await(job, Failed)
	if last := seen[len(seen)-1]; !last.HasResult || string(last.Error) != "null" || b.resultOf(job) != kept {
		t.Errorf("%+v", last)
	}
}

// A job with a seed starts from the beginning after a failure, so that its result does not depend on where the attempt
// failed. Only an attempt that gets further than the earlier ones counts as progress. After a cancellation, the last
// attempt starts from the molecules found.
func TestSeededJobStartsAgain(t *testing.T) {
	body := []byte(`{"smi":"CCC","iterations":20,"seed":1}`)
	r := record{Seeded: hasSeed(body), Searches: newSearches("latent", body), Job: Job{API: "latent"}}
	attempt := func(iteration int) string {
		r.startAttempt()
		request, err := r.attemptBody(body)
		if err != nil {
			t.Fatal(err)
		}
		var e event
		if err := json.Unmarshal(fmt.Appendf(nil, checkpoint, iteration, 30), &e); err != nil || !r.apply(e) {
			t.Fatal(err)
		}
		r.Failures++
		return string(request)
	}
	first := attempt(7)
	if again := attempt(7); again != first || r.Failures != 2 || r.Progress.Iteration != 7 {
		t.Errorf("%s after %s, %d failures, %+v", again, first, r.Failures, r.Progress)
	}
	if attempt(8); r.Failures != 1 {
		t.Errorf("%d failures after progress", r.Failures)
	}
	r.startLastAttempt()
	if last, err := r.attemptBody(body); err != nil || !strings.Contains(string(last), `"starts":[["CCO","CCN"]]`) {
		t.Errorf("%s, %v", last, err)
	}
	for body, want := range map[string]bool{`{"seed":null}`: false, `{}`: false, `{"seed":0}`: true} {
		if hasSeed([]byte(body)) != want {
			t.Errorf("%s: want %v", body, want)
		}
	}
}

// A job in progress continues on another gateway when its gateway stops.
func TestJobOutlivesItsGateway(t *testing.T) {
	started := make(chan struct{})
	folder := t.TempDir()
	first := begin(t, folder, Config{}, func(a Request, _ map[string]any, each func(string) error) (string, error) {
		if err := each(`{"status":"running","round":3,"best":0.5,"found":[{"smiles":"CCO"}]}`); err != nil {
			return "", err
		}
		close(started)
		<-a.Stopping.Done()
		return `{"status":"success","molecules":[],"unfinished":{"reason":"stopping"}}`, nil
	})
	job := first.submit("masked", `{"rounds":"10"}`)
	<-started
	first.end()
	second := begin(t, folder, Config{}, func(_ Request, body map[string]any, _ func(string) error) (string, error) {
		if fmt.Sprint(body["smi"]) != "[CCO]" || body["rounds"] != 7.0 {
			return "", fmt.Errorf("the body is %v", body)
		}
		return `{"status":"success","molecules":[{"smiles":"CCO","score":1}]}`, nil
	})
	seen := second.await(job, Completed, Failed)
	if last := seen[len(seen)-1]; last.Status != Completed || last.Attempts != 2 || second.resultOf(job) == "" {
		t.Errorf("%+v", last)
	}
}

func TestCancelledJobKeepsItsMolecules(t *testing.T) {
	started := make(chan struct{})
	b := begin(t, t.TempDir(), Config{}, func(a Request, _ map[string]any, _ func(string) error) (string, error) {
		close(started)
		<-a.Stopping.Done()
		if !errors.Is(context.Cause(a.Stopping), unfinished.Cancelled) {
			return "", context.Cause(a.Stopping)
		}
		return `{"generated":["CCO"],"unfinished":{"reason":"cancelled","message":"the job was cancelled"}}`, nil
	})
	job := b.submit("latent", `{"smi":"CCC"}`)
	queued := b.submit("latent", `{"smi":"CCC"}`)
	<-started
	now, err := b.cancel(t.Context(), "latent", "", queued.ID)
	if err != nil || now.Status != Cancelled || now.HasResult {
		t.Errorf("%+v %v", now, err)
	}
	if now, err := b.cancel(t.Context(), "latent", "", job.ID); err != nil || now.Status != Cancelling {
		t.Errorf("%+v %v", now, err)
	}
	seen := b.await(job, Cancelled, Completed, Failed)
	last := seen[len(seen)-1]
	if last.Status != Cancelled || !last.HasResult || !strings.Contains(string(last.Unfinished), "cancelled") {
		t.Errorf("%+v", last)
	}
	if now, err := b.cancel(t.Context(), "latent", "", job.ID); err != nil || now.Status != Cancelled {
		t.Errorf("cancelled again: %+v %v", now, err)
	}
	if _, _, err := b.result(t.Context(), "latent", "", queued.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("result of a job that never started: %v", err)
	}
}

func TestJobsOfOtherKeysAreHidden(t *testing.T) {
	hold := make(chan struct{})
	b := begin(t, t.TempDir(), Config{MaxJobs: 10}, func(Request, map[string]any, func(string) error) (string, error) {
		<-hold
		return `{"generated":[]}`, nil
	})
	defer close(hold)
	var refusal *Refusal
	_, err := b.create(t.Context(), "latent", "", []byte(`{"smi":"C("}`))
	if !errors.As(err, &refusal) || refusal.Status != 422 {
		t.Errorf("a body that the API refuses: %v", err)
	}
	var ids []string
	for range 5 {
		ids = append(ids, b.submit("latent", `{"smi":"CCC"}`).ID)
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	page, err := b.list(t.Context(), "latent", "", "", "3")
	if err != nil || len(page.Data) != 3 || !page.HasMore || *page.LastID != ids[2] || *page.FirstID != ids[0] {
		t.Errorf("%+v %v", page, err)
	}
	page, err = b.list(t.Context(), "latent", "", *page.LastID, "3")
	if err != nil || len(page.Data) != 2 || page.HasMore || page.Data[1].ID != ids[4] {
		t.Errorf("%+v %v", page, err)
	}
	for name, request := range map[string]func() error{
		"another key": func() error { _, _, err := b.get(t.Context(), "latent", "another", ids[0]); return err },
		"another API": func() error { _, _, err := b.get(t.Context(), "masked", "", ids[0]); return err },
		"no id":       func() error { _, err := b.cancel(t.Context(), "latent", "", "job_*"); return err },
		"none yet":    func() error { _, _, err := b.result(t.Context(), "latent", "", ids[0]); return err },
	} {
		if err := request(); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if page, err := b.list(t.Context(), "latent", "another", "", ""); err != nil || len(page.Data) != 0 {
		t.Errorf("another key sees %+v %v", page, err)
	}
	if _, err := b.list(t.Context(), "latent", "", "", "0"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("limit 0: %v", err)
	}
	for range 5 {
		b.submit("latent", `{"smi":"CCC"}`)
	}
	if _, err := b.create(t.Context(), "latent", "", []byte(`{"smi":"CCC"}`)); fault.KindOf(err) != fault.TooMany {
		t.Errorf("the eleventh job: %v", err)
	}
}

func TestExpiredJobIsDeleted(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, func(Request, map[string]any, func(string) error) (string, error) {
		return `{"generated":["CCO"]}`, nil
	})
	job := b.submit("latent", `{"smi":"CCC"}`)
	b.await(job, Completed, Failed)
	if err := b.sweep(t.Context(), b.stores(), now()); err != nil {
		t.Fatal(err)
	}
	b.resultOf(job)
	if err := b.sweep(t.Context(), b.stores(), now()+2*3600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.get(t.Context(), "latent", "", job.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the expired job: %v", err)
	}
	if page, err := b.list(t.Context(), "latent", "", "", ""); err != nil || len(page.Data) != 0 {
		t.Errorf("%+v %v", page, err)
	}
}

// fileNames returns the names of the stored bodies and results.
func (b *fixture) fileNames() []string {
	b.t.Helper()
	names, err := b.stores().files.Names(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}

// idle is an API whose searches run until they are stopped.
func idle(a Request, _ map[string]any, _ func(string) error) (string, error) {
	<-a.Stopping.Done()
	return `{"generated":["CCO"],"unfinished":{"reason":"cancelled","message":"the job was cancelled"}}`, nil
}

// A worker notices a cancellation even if its poll has failed before.
func TestJobIsCancelledAfterAStorageFailure(t *testing.T) {
	started := make(chan struct{})
	failed := make(chan struct{})
	warned := sync.OnceFunc(func() { close(failed) })
	logger := zerolog.New(io.Discard).Hook(zerolog.HookFunc(func(_ *zerolog.Event, level zerolog.Level, _ string) {
		if level == zerolog.WarnLevel {
			warned()
		}
	}))
	b := beginOn(t, queue.Config{Folder: t.TempDir()}, Config{}, logger,
		func(a Request, body map[string]any, each func(string) error) (string, error) {
			close(started)
			return idle(a, body, each)
		})
	job := b.submit("latent", `{"smi":"CCC"}`)
	<-started
	raw, err := queue.NewTable[json.RawMessage](t.Context(), b.stores().engine, "optimizations")
	if err != nil {
		t.Fatal(err)
	}
	key := jobs.Owner("") + "." + job.ID
	replace := func(with json.RawMessage) (before json.RawMessage) {
		t.Helper()
		if _, err := raw.Change(t.Context(), key, func(r *json.RawMessage) error {
			before = slices.Clone(*r)
			*r = with
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return before
	}
	good := replace(json.RawMessage(`"not a record"`))
	select {
	case <-failed:
	case <-time.After(20 * time.Second):
		t.Fatal("the failed poll is not logged")
	}
	replace(good)
	if _, err := b.cancel(t.Context(), "latent", "", job.ID); err != nil {
		t.Fatal(err)
	}
	b.await(job, Cancelled)
}

// An attempt is aborted when another gateway ends its job, or the job is deleted.
func TestAttemptEndsWithItsJob(t *testing.T) {
	for name, end := range map[string]func(*fixture, string) error{
		"ended": func(b *fixture, key string) error {
			_, err := b.stores().jobs.Change(b.t.Context(), key, func(r *record) error {
				r.end(Completed, time.Hour)
				return nil
			})
			return err
		},
		"deleted": func(b *fixture, key string) error { return b.stores().jobs.Delete(b.t.Context(), key) },
	} {
		started := make(chan struct{})
		ended := make(chan error)
		b := begin(t, t.TempDir(), Config{}, func(a Request, _ map[string]any, _ func(string) error) (string, error) {
			close(started)
			<-a.Stopping.Done()
			ended <- context.Cause(a.Stopping)
			return "", context.Cause(a.Stopping)
		})
		job := b.submit("latent", `{"smi":"CCC"}`)
		<-started
		if err := end(b, jobs.Owner("")+"."+job.ID); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the attempt was stopped by %v", name, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: the attempt continues", name)
			go func() { <-ended }()
		}
		b.end()
	}
}

// If the record of a job cannot be written, its body is deleted.
func TestFailedCreationLeavesNothing(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, idle)
	seeds := strings.TrimSuffix(strings.Repeat(`"C",`, 30_000), ",") // too many searches for one record
	if _, err := b.create(t.Context(), "latent", "", []byte(`{"smi":[`+seeds+`]}`)); err == nil {
		t.Fatal("the job was created")
	}
	if names := b.fileNames(); len(names) > 0 {
		t.Errorf("files: %v", names)
	}
}

// If the task of a new job cannot be queued, the next sweep queues it.
func TestSweepQueuesMissingTask(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, func(Request, map[string]any, func(string) error) (string, error) {
		return `{"generated":["CCO"]}`, nil
	})
	working := b.stores()
	closed, err := queue.Open(t.Context(), queue.Config{Folder: t.TempDir()}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	broken := *working
	if broken.tasks, err = queue.NewTasks(t.Context(), closed, "optimizations"); err != nil {
		t.Fatal(err)
	}
	closed.Close()
	b.storage.Set(working.engine, &broken)
	job := b.submit("latent", `{"smi":"CCC"}`)
	b.storage.Set(working.engine, working)
	if err := b.sweep(t.Context(), working, now()); err != nil {
		t.Fatal(err)
	}
	b.await(job, Completed)
}

// A job without a body fails after some attempts.
func TestJobWithoutItsBodyFails(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, idle)
	st := b.stores()
	r := record{
		Owner: jobs.Owner(""), BodySize: 10,
		Job: Job{ID: jobs.NewID(idPrefix, time.Now()), API: "latent", Status: Queued},
	}
	if err := st.jobs.Create(t.Context(), r.key(), r); err != nil {
		t.Fatal(err)
	}
	if err := b.work(t.Context(), st, queue.Task{ID: r.key(), Attempt: 1}); !errors.Is(err, queue.ErrNone) {
		t.Errorf("first attempt: %v", err)
	}
	if err := b.work(t.Context(), st, queue.Task{ID: r.key(), Attempt: staleAttempts + 1}); err != nil {
		t.Error(err)
	}
	job, _, err := b.get(t.Context(), "latent", "", r.ID)
	if err != nil || job.Status != Failed || job.Error == nil || job.ExpiresAt == nil {
		t.Errorf("%+v %v", job, err)
	}
}

// Files without a job are deleted once they are older than jobs.OrphanGrace.
func TestOrphansAreDeleted(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, idle)
	st := b.stores()
	job := b.submit("latent", `{"smi":"CCC"}`)
	orphans := []string{
		"everyone." + jobs.NewID(idPrefix, time.Now()) + ".body",
		"another." + jobs.NewID(idPrefix, time.Now()) + ".result",
	}
	for _, name := range orphans {
		if _, err := st.files.Write(t.Context(), queue.Input, name, strings.NewReader("text")); err != nil {
			t.Fatal(err)
		}
	}
	if err := dropOrphans(t.Context(), st, time.Now()); err != nil || len(b.fileNames()) != 3 {
		t.Errorf("recent orphans: %v, %v", b.fileNames(), err)
	}
	if err := dropOrphans(t.Context(), st, time.Now().Add(jobs.OrphanGrace+time.Minute)); err != nil {
		t.Fatal(err)
	}
	if names := b.fileNames(); len(names) != 1 || names[0] != jobs.Owner("")+"."+job.ID+".body" {
		t.Errorf("files: %v", names)
	}
}

// The files of a job are kept if its record cannot be decoded, such as one of a later release.
func TestFilesOfAnUnreadableJobStay(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, idle)
	st := b.stores()
	later, err := queue.NewTable[string](t.Context(), st.engine, "optimizations")
	if err != nil {
		t.Fatal(err)
	}
	key := "everyone." + jobs.NewID(idPrefix, time.Now())
	if err := later.Create(t.Context(), key, "a record of another form"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.files.Write(t.Context(), queue.Input, key+".body", strings.NewReader("text")); err != nil {
		t.Fatal(err)
	}
	err = dropOrphans(t.Context(), st, time.Now().Add(jobs.OrphanGrace+time.Minute))
	if err != nil || len(b.fileNames()) != 1 {
		t.Errorf("files: %v, %v", b.fileNames(), err)
	}
}

// A key may fill only a share of the storage.
func TestJobsOfAKeyAreBounded(t *testing.T) {
	b := beginOn(t, queue.Config{Folder: t.TempDir(), OwnerBytes: 1000}, Config{}, zerolog.Nop(), idle)
	body := []byte(`{"smi":"CCC","note":"` + strings.Repeat("x", 600) + `"}`)
	for _, caller := range []string{"a", "b", "", ""} {
		if _, err := b.create(t.Context(), "latent", caller, body); err != nil {
			t.Errorf("%q: %v", caller, err)
		}
	}
	if _, err := b.create(t.Context(), "latent", "a", body); fault.KindOf(err) != fault.TooMany {
		t.Errorf("above the quota: %v", err)
	}
}

// Later releases must read the records that older releases wrote.
func TestNamesOfStoredRecord(t *testing.T) {
	r := record{Owner: "o", BodySize: 1, ResultSize: 2, Failures: 3, Seeded: true, Searches: []search{{
		Iterations: 4, Before: 5, Done: 6, Furthest: 9, Evaluations: 7,
		WarmStarts: []string{"C"}, Best: json.RawMessage("8"),
	}}}
	r.ID = "job_1"
	text, err := json.Marshal(r)
	const want = `{"id":"job_1","object":"","api":"","status":"","created_at":0,"started_at":null,"ended_at":null,` +
		`"expires_at":null,"attempts":0,"progress":{"iteration":0,"iterations":0,"evaluations":0,"best":null},` +
		`"has_result":false,"unfinished":null,"error":null,"Owner":"o","BodySize":1,"ResultSize":2,"Failures":3,` +
		`"Seeded":true,"Searches":[{"Iterations":4,"Before":5,"Done":6,"Furthest":9,"Evaluations":7,"Found":["C"],"Best":8}]}`
	if err != nil || string(text) != want {
		t.Errorf("error %v,\ngot  %s\nwant %s", err, text, want)
	}
}
