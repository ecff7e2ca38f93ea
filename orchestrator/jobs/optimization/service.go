package optimization

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
)

// Config are the settings of searches as jobs.
type Config struct {
	Searches int           `default:"2" help:"Searches (/generate/jobs) that this gateway runs at once."`
	Timeout  time.Duration `name:"search-timeout" default:"24h" help:"Longest time for one search; then it ends with what it has found."`
	Keep     time.Duration `name:"keep-searches" default:"168h" help:"How long a search and its result are kept after it ends."`
	MaxJobs  int           `name:"most-searches" default:"1000" help:"Most searches kept for one key, or in all without keys; more are refused."`
}

// Request is a request to an API for a job.
type Request struct {
	API  string
	Body []byte
	// ValidateOnly asks the API to check the body and do no work.
	ValidateOnly bool
	Timeout      time.Duration
	// Stopping is done when the search must end with the molecules found so far. Its cause is the unfinished.Reason.
	Stopping context.Context
	// Told returns the scores of molecules by the term told, NaN for a failure; nil if the body does not have the term.
	// With an error, it returns the scores that are known, NaN for the others.
	Told func(ctx context.Context, smiles []string) ([]float64, error)
}

// Follow sends a request to its API and calls onEvent with the data of each event. It returns the status and the
// answer, which is the data of the last event if the answer is a stream.
type Follow func(ctx context.Context, r Request, onEvent func(data []byte) error) (status int, answer []byte, err error)

// Service runs the jobs of all APIs.
type Service struct {
	config  Config
	follow  Follow
	logger  zerolog.Logger
	storage jobs.Storage[stores]
	// parkAfter is how long an attempt waits for scores: see parkAfter.
	parkAfter time.Duration
}

// stores are the stores of jobs. Files are named after the key of their job: see bodyName and resultName.
type stores struct {
	engine *queue.Engine
	jobs   *queue.Table[record]
	index  *queue.Index[record, record]
	files  *queue.Files
	tasks  *queue.Tasks
	told   *queue.Table[batch]
}

// New returns the service. It answers "not ready" until Begin has opened its stores.
func New(config Config, follow Follow, logger zerolog.Logger) *Service {
	return &Service{
		config: config, follow: follow, logger: logger, parkAfter: parkAfter,
		storage: jobs.Storage[stores]{Content: "jobs", FullHint: ", try again later."},
	}
}

// Begin opens the stores and starts the workers, which end with ctx. ended is done when they have.
func (s *Service) Begin(ctx context.Context, e *queue.Engine, ended *sync.WaitGroup) error {
	st := &stores{engine: e}
	err := jobs.OpenStores(ctx, e,
		jobs.OpenInto(&st.jobs, queue.NewTable[record], "optimizations"),
		jobs.OpenInto(&st.files, queue.NewFiles, "optimizations"),
		jobs.OpenInto(&st.tasks, queue.NewTasks, "optimizations"),
		jobs.OpenInto(&st.told, queue.NewTable[batch], "told"),
	)
	if err != nil {
		return err
	}
	st.index = queue.NewIndex(st.jobs, record.summary)
	s.storage.Set(e, st)
	ended.Go(func() {
		st.tasks.Work(ctx, s.config.Searches, func(ctx context.Context, t queue.Task) error {
			return s.work(ctx, st, t)
		})
	})
	ended.Go(func() {
		jobs.SweepEvery(ctx, sweepInterval, "searches", s.logger,
			func(ctx context.Context) error { return s.sweep(ctx, st, now()) },
			func(ctx context.Context) error { return dropOrphans(ctx, st, time.Now()) })
	})
	return nil
}

// fault converts an error of the engine to a fault: queue.ErrNone means that the job does not exist.
func (s *Service) fault(err error) error {
	if errors.Is(err, queue.ErrNone) {
		return fault.Missing(fault.Job, "There is no such job.")
	}
	return s.storage.Fault(err)
}

const idPrefix = "job_"

// create creates a job from a body after the API has checked it. The error is a *Refusal if the API rejects the body.
func (s *Service) create(ctx context.Context, api, caller string, body []byte) (job Job, err error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return job, err
	}
	status, answer, err := s.follow(ctx, Request{API: api, Body: body, ValidateOnly: true}, nil)
	if err != nil {
		return job, err
	}
	if status >= http.StatusBadRequest {
		return job, &Refusal{Status: status, Body: answer}
	}
	if err := s.checkQuota(ctx, st, caller, int64(len(body))); err != nil {
		return job, s.fault(err)
	}
	r := record{
		Owner: jobs.Owner(caller), Searches: newSearches(api, body), Seeded: hasSeed(body), BodySize: int64(len(body)),
		Job: Job{
			ID: jobs.NewID(idPrefix, time.Now()), Object: "generate.job", API: api, Status: Queued, CreatedAt: now(),
		},
	}
	if usesTold(body) {
		r.Told = true
		if !r.Seeded {
			r.Seeded = true
			r.Seed = 1 + rand.Int64N(1<<53-1)
		}
	}
	r.updateProgress()
	if _, err := st.files.Write(ctx, queue.Input, bodyName(r.key()), bytes.NewReader(body)); err != nil {
		return job, s.fault(err)
	}
	if err := st.jobs.Create(ctx, r.key(), r); err != nil {
		if err := st.files.DeleteAll(context.WithoutCancel(ctx), r.key()); err != nil {
			s.logger.Warn().Err(err).Str("job", r.ID).Msg("body of a job that was not created stays until a sweep")
		}
		return job, s.fault(err)
	}
	if err := st.tasks.Push(ctx, queue.Work, r.key(), nil); err != nil {
		s.logger.Warn().Err(err).Str("job", r.ID).Msg("task of a job waits for the next sweep")
	}
	return r.Job, nil
}

// checkQuota returns an error if one more job with a body of size bytes would exceed the quota of its owner.
func (s *Service) checkQuota(ctx context.Context, st *stores, caller string, size int64) error {
	quota := jobs.Quota{
		Noun: "job", MaxRecords: s.config.MaxJobs, MaxBytes: st.engine.OwnerLimit(), Kind: fault.TooMany,
		RetryAfter: time.Minute, Hint: ".",
	}
	return jobs.CheckQuota(ctx, quota, st.index, caller, size, record.storedBytes)
}

// get returns a job of a caller. Jobs of other callers and APIs are not found.
func (s *Service) get(ctx context.Context, api, caller, id string) (record, *stores, error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return record{}, nil, err
	}
	r, err := jobs.Find(ctx, st.jobs, caller, id)
	if err == nil && r.API != api {
		err = queue.ErrNone
	}
	return r, st, s.fault(err)
}

// Jobs on one page of the list.
const (
	maxPage     = 100
	defaultPage = 20
)

// list returns a page of a caller's jobs, newest first.
func (s *Service) list(ctx context.Context, api, caller, after, limit string) (page jobs.Page[Job], err error) {
	count, err := strconv.Atoi(cmp.Or(limit, strconv.Itoa(defaultPage)))
	if err != nil || count < 1 || count > maxPage {
		return page, fault.Field("value_error", limit, []any{"limit"}, "limit should be a number from 1 to %d", maxPage)
	}
	st, err := s.storage.Open(ctx)
	if err != nil {
		return page, err
	}
	records, err := st.index.Records(ctx, jobs.Owner(caller))
	if err != nil {
		return page, s.fault(err)
	}
	maps.DeleteFunc(records, func(_ string, r record) bool { return r.API != api || after != "" && r.ID >= after })
	keys := slices.Sorted(maps.Keys(records)) // by id, and so by age
	slices.Reverse(keys)
	page, err = jobs.ReadPage(ctx, st.jobs, keys[:min(count, len(keys))], len(keys) > count,
		func(r record) Job { return r.Job }, func(j Job) string { return j.ID })
	return page, s.fault(err)
}

// cancel ends a job with the molecules found so far. A job that has ended is not changed.
func (s *Service) cancel(ctx context.Context, api, caller, id string) (Job, error) {
	r, st, err := s.get(ctx, api, caller, id)
	if err != nil {
		return Job{}, err
	}
	r, err = st.jobs.Change(ctx, r.key(), func(r *record) error {
		switch {
		case r.Status == Queued && r.Attempts == 0:
			r.end(Cancelled, s.config.Keep)
		case r.Status.ended() || r.Status == Cancelling:
			return queue.ErrUnchanged
		default:
			r.Status = Cancelling
		}
		return nil
	})
	if err == nil && r.Status == Cancelling && r.ParkedAt != 0 {
		err = st.tasks.Push(ctx, queue.Work, r.key(), nil)
	}
	return r.Job, s.fault(err)
}

// watch calls send with the job now and after each change, until the job has ended.
func (s *Service) watch(ctx context.Context, api, caller, id string, send func(any) error) error {
	r, st, err := s.get(ctx, api, caller, id)
	if err != nil {
		return err
	}
	var sendErr error
	err = st.jobs.Watch(ctx, r.key(), func(r record) bool {
		sendErr = send(r.Job)
		return sendErr == nil && !r.Status.ended()
	})
	return cmp.Or(sendErr, s.fault(err))
}

// result returns a job with a reader of its result.
func (s *Service) result(ctx context.Context, api, caller, id string) (record, io.Reader, error) {
	r, st, err := s.get(ctx, api, caller, id)
	switch {
	case err != nil:
		return r, nil, err
	case !r.Status.ended():
		return r, nil, fault.Missing(fault.Result, "The job has no result yet: it is %s.", r.Status)
	case !r.HasResult:
		return r, nil, fault.Missing(fault.Result, "The job has no result: it is %s.", r.Status)
	}
	return r, st.files.Open(ctx, resultName(r.key()), r.ResultSize), nil
}

func bodyName(key string) string   { return key + ".body" }
func resultName(key string) string { return key + ".result" }

const sweepInterval = time.Minute

// sweep deletes the jobs that expired before a Unix time, with their files, and queues a task for every job that has
// not ended. It continues after an error and returns the last one.
func (s *Service) sweep(ctx context.Context, st *stores, before int64) error {
	records, err := st.index.Records(ctx, "")
	if err != nil {
		return err
	}
	var failure error
	for key, r := range records {
		switch {
		case r.isParked() && r.Waiting > 0 && r.ParkedAt > before-int64(s.config.Keep.Seconds()):
		case r.isParked() && r.Waiting > 0: // nobody tells its scores
			_, err := s.cancel(ctx, r.API, callerOf(r.Owner), r.ID)
			failure = cmp.Or(err, failure)
		case !r.Status.ended(): // in case its task is lost; Push is idempotent
			failure = cmp.Or(st.tasks.Push(ctx, queue.Work, key, nil), failure)
		case r.ExpiresAt != nil && *r.ExpiresAt < before:
			err := errors.Join(st.dropBatches(ctx, key), st.files.DeleteAll(ctx, key), st.jobs.Delete(ctx, key))
			failure = cmp.Or(err, failure)
		}
	}
	return failure
}

// dropOrphans deletes files whose job was never created, or was deleted while an attempt wrote the result, and batches
// whose job is deleted.
func dropOrphans(ctx context.Context, st *stores, at time.Time) error {
	err := jobs.DropOrphans(ctx, st.files, st.jobs, at.Add(-jobs.OrphanGrace), func(name string) string {
		_, file, _ := strings.Cut(name, ".") // owner.id.body or owner.id.result
		id, _, _ := strings.Cut(file, ".")
		return id
	})
	return errors.Join(err, dropOrphanBatches(ctx, st))
}
