package optimization

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs/queue"
)

// Attempt is one request to an API for a job.
type Attempt struct {
	API  string
	Body []byte
	// Trial has the body checked alone.
	Trial   bool
	Timeout time.Duration
	// Stopping ends when the work has to end with what it has; its cause says why.
	Stopping context.Context
}

// Follow has an API do an attempt and calls each with the data of the events that come. It returns the status, and the
// answer or the data of the last event.
type Follow func(ctx context.Context, a Attempt, each func(data []byte) error) (status int, answer []byte, err error)

// Service are the jobs of all APIs over an engine.
type Service struct {
	config Config
	follow Follow
	logger zerolog.Logger
	stores atomic.Pointer[stores] // nil until the engine is open
}

// stores is where everything is kept.
type stores struct {
	engine *queue.Engine
	jobs   *queue.Table[record]
	index  *queue.Index[record, summary]
	texts  *queue.Files // bodies and results
	tasks  *queue.Tasks
}

// New returns the service, which answers once an engine is there: see Begin.
func New(config Config, follow Follow, logger zerolog.Logger) *Service {
	return &Service{config: config, follow: follow, logger: logger}
}

// Begin makes the stores of an engine and starts the workers, which end with ctx.
func (s *Service) Begin(ctx context.Context, e *queue.Engine, ended *sync.WaitGroup) error {
	making, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	st := &stores{engine: e}
	var parts errgroup.Group // at once: a cluster chooses a leader for each, which takes it a moment
	parts.Go(func() (err error) { st.jobs, err = queue.NewTable[record](making, e, "optimizations"); return err })
	parts.Go(func() (err error) { st.texts, err = queue.NewFiles(making, e, "optimizations"); return err })
	parts.Go(func() (err error) { st.tasks, err = queue.NewTasks(making, e, "optimizations"); return err })
	if err := parts.Wait(); err != nil {
		return err
	}
	st.index = queue.NewIndex(st.jobs, summarize)
	s.stores.Store(st)
	ended.Go(func() {
		st.tasks.Work(ctx, s.config.Searches, func(ctx context.Context, t queue.Task) error { return s.work(ctx, st, t) })
	})
	ended.Go(func() { s.sweepOften(ctx, st) })
	return nil
}

// ready returns nil when jobs can be kept.
func (s *Service) ready() error {
	st, err := s.begun()
	if err != nil {
		return err
	}
	return trouble(st.engine.Ready())
}

// begun returns the stores, or that they are not made yet.
func (s *Service) begun() (*stores, error) {
	st := s.stores.Load()
	if st == nil {
		return nil, fault.New(fault.Unavailable, "The storage of jobs is not ready.")
	}
	return st, nil
}

// open returns the stores for a request, which waits for a moment where they do not answer, or why there are none.
func (s *Service) open(ctx context.Context) (*stores, error) {
	st, err := s.begun()
	if err != nil {
		return nil, err
	}
	return st, trouble(st.engine.Await(ctx))
}

// trouble makes a fault of what the engine says.
func trouble(err error) error {
	var known *fault.Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, queue.ErrNone):
		return fault.Missing(fault.Job, "There is no such job.")
	case errors.Is(err, queue.ErrFull):
		return &fault.Error{Kind: fault.Unavailable, Message: "The storage of jobs is full, try again later.", RetryAfter: time.Minute, Err: err}
	}
	return fault.Wrap(fault.Unavailable, err, "The storage of jobs does not answer, try again later.")
}

// create has the API check a body and makes a job of it. Where the API refuses it, refused is what it answers.
func (s *Service) create(ctx context.Context, api, caller string, body []byte) (job Job, refused *Refused, err error) {
	st, err := s.open(ctx)
	if err != nil {
		return job, nil, err
	}
	status, answer, err := s.follow(ctx, Attempt{API: api, Body: body, Trial: true}, nil)
	if err != nil || status >= http.StatusBadRequest {
		return job, &Refused{Status: status, Body: answer}, err
	}
	if err := s.mayAddJob(ctx, st, caller, int64(len(body))); err != nil {
		return job, nil, trouble(err)
	}
	r := record{Owner: owner(caller), Searches: searches(api, body), BodySize: int64(len(body)), Job: Job{
		ID: newID(), Object: "generate.job", API: api, Status: Queued, CreatedAt: now()}}
	r.sum()
	if _, err := st.texts.Write(ctx, queue.Input, r.key()+".body", strings.NewReader(string(body))); err != nil {
		return job, nil, trouble(err)
	}
	if err := st.jobs.Create(ctx, r.key(), r); err != nil {
		if err := st.texts.DeleteAll(context.WithoutCancel(ctx), r.key()); err != nil {
			s.logger.Warn().Err(err).Str("job", r.ID).Msg("body of a job that was not created stays until a sweep")
		}
		return job, nil, trouble(err)
	}
	if err := st.tasks.Push(ctx, queue.Work, r.key(), nil); err != nil {
		s.logger.Warn().Err(err).Str("job", r.ID).Msg("task of a job waits for the next sweep")
	}
	return r.Job, nil, nil
}

// mayAddJob returns an error if one more job with a body of that size would exceed the bounds of its owner.
func (s *Service) mayAddJob(ctx context.Context, st *stores, caller string, size int64) error {
	jobs := 0
	bytes := size
	err := st.index.Each(ctx, owner(caller), func(_ string, job summary) error {
		jobs++
		bytes += job.bytes
		return nil
	})
	limit := st.engine.OwnerLimit()
	switch {
	case err != nil:
		return err
	case jobs >= s.config.Most:
		return &fault.Error{Kind: fault.TooMany, Message: fmt.Sprintf("There are %d jobs already, the most that a key may have.", jobs), RetryAfter: time.Minute}
	case caller != "" && bytes > limit:
		return &fault.Error{Kind: fault.TooMany, RetryAfter: time.Minute, Message: fmt.Sprintf(
			"With this job the jobs of this key would take %d bytes, %d are allowed.", bytes, limit)}
	}
	return nil
}

// Refused is what the API answers to a body that it does not take.
type Refused struct {
	Status int
	Body   []byte
}

// get returns a job of a caller's.
func (s *Service) get(ctx context.Context, api, caller, id string) (record, *stores, error) {
	st, err := s.open(ctx)
	if err != nil {
		return record{}, nil, err
	}
	if !isID(id) {
		return record{}, nil, trouble(queue.ErrNone)
	}
	r, err := st.jobs.Get(ctx, owner(caller)+"."+id)
	if err == nil && r.API != api {
		err = queue.ErrNone
	}
	return r, st, trouble(err)
}

// maxPage and usualPage are how many jobs one part of the list has.
const (
	maxPage   = 100
	usualPage = 20
)

// list returns the jobs of a caller's, newest first.
func (s *Service) list(ctx context.Context, api, caller, after, limit string) (Page, error) {
	count, err := strconv.Atoi(cmp.Or(limit, strconv.Itoa(usualPage)))
	if err != nil || count < 1 || count > maxPage {
		return Page{}, fault.Field("value_error", limit, []any{"limit"}, "limit should be a number from 1 to %d", maxPage)
	}
	st, err := s.open(ctx)
	if err != nil {
		return Page{}, err
	}
	var ids []string
	err = st.index.Each(ctx, owner(caller), func(_ string, job summary) error {
		if job.api == api && (after == "" || job.id < after) {
			ids = append(ids, job.id)
		}
		return nil
	})
	if err != nil {
		return Page{}, trouble(err)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(b, a) })
	page := Page{Object: "list", Data: []Job{}, HasMore: len(ids) > count}
	for _, id := range ids[:min(count, len(ids))] {
		r, err := st.jobs.Get(ctx, owner(caller)+"."+id)
		if err != nil && !errors.Is(err, queue.ErrNone) { // ErrNone: it has just been deleted
			return Page{}, trouble(err)
		}
		if err == nil {
			page.Data = append(page.Data, r.Job)
		}
	}
	if n := len(page.Data); n > 0 {
		page.FirstID = &page.Data[0].ID
		page.LastID = &page.Data[n-1].ID
	}
	return page, nil
}

// cancel has a job end with what it has found. One that has ended stays as it is.
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
	return r.Job, trouble(err)
}

// watch calls send with a job as it is, and after each change until it has ended.
func (s *Service) watch(ctx context.Context, api, caller, id string, send func(any) error) error {
	r, st, err := s.get(ctx, api, caller, id)
	if err != nil {
		return err
	}
	var failed error
	err = st.jobs.Watch(ctx, r.key(), func(r record) bool {
		failed = send(r.Job)
		return failed == nil && !r.Status.ended()
	})
	return cmp.Or(failed, trouble(err))
}

// newID returns a new id: the time in ms, so that ids sort by age, and random bytes.
func newID() string {
	var chance [10]byte
	_, _ = rand.Read(chance[:]) // never fails
	return idPrefix + fmt.Sprintf("%0*x", idTimeDigits, time.Now().UnixMilli()) + hex.EncodeToString(chance[:])
}

const (
	idPrefix     = "job_"
	idTimeDigits = 12
)

// isID reports whether a text may be an id: it becomes a part of a key.
func isID(text string) bool {
	rest, ok := strings.CutPrefix(text, idPrefix)
	_, err := hex.DecodeString(rest)
	return ok && err == nil
}

// owner names whoever has a key, in keys of records. Where no key is asked for, all are one.
func owner(caller string) string { return cmp.Or(caller, "everyone") }
