package batch

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/memory"
)

// Endpoint is one that a batch may be for.
type Endpoint struct {
	URL    string // as a client of the base address names it
	API    string // the API that answers
	Path   string // and its path there
	OpenAI bool   // whether OpenAI's clients ask it at this address, which words failures as OpenAI does
	Lines  int    // of one task: many of a fast endpoint, few of a slow one
	Bytes  int    // of the longest body that it takes
}

// Question is one line put to an API.
type Question struct {
	Endpoint
	ID   string // of the request
	Body []byte
}

// Outside is what the service needs of the program.
type Outside struct {
	// Endpoints are those of a base address: of the main port where via is "", else of an API's own.
	Endpoints func(via string) []Endpoint
	// APIs are the names of all APIs, each of which has a queue of its own, so that a slow one holds up no other.
	APIs []string
	// Ask has an API answer.
	Ask func(context.Context, Question) Reply
	// Place waits until one more line may be asked.
	Place  func(ctx context.Context) (release func(), err error)
	Memory *memory.Budget
	Meter  Meter
	Logger zerolog.Logger
}

// Meter is told what happens.
type Meter interface {
	// Line counts a line that has its answer.
	Line(api string, ok bool)
	// Batches sets how many batches there are by their state, of all gateways that share the engine.
	Batches(states map[string]int)
	// BatchTasks sets how many tasks of an API wait or are worked on.
	BatchTasks(api string, tasks int)
}

// Service are files and batches over an engine.
type Service struct {
	config  Config
	outside Outside
	off     bool
	stores  atomic.Pointer[stores] // nil until the engine is open

	answered map[string]*atomic.Int64                   // lines that each API has answered, well or not
	sleep    func(ctx context.Context, d time.Duration) // between two tries; tests have another
}

// stores is where everything is kept.
type stores struct {
	engine  *queue.Engine
	files   *queue.Table[fileRecord]
	batches *queue.Table[record]
	content *queue.Files
	answers *queue.Answers
	steps   *queue.Tasks
	lines   map[string]*queue.Tasks // by API

	fileIndex *queue.Index[fileRecord, fileRecord]
	outlines  *queue.Index[record, outline] // of batches
}

// New returns the service, which answers once an engine is there: see Begin.
func New(config Config, outside Outside) *Service {
	s := &Service{config: config, outside: outside, answered: map[string]*atomic.Int64{}, sleep: queue.Sleep}
	for _, api := range outside.APIs {
		s.answered[api] = new(atomic.Int64)
	}
	return s
}

// Off returns the service of a program that keeps no jobs: it knows no route.
func Off() *Service { return &Service{off: true} }

// Ready returns nil when files and batches can be kept.
func (s *Service) Ready() error {
	if s.off {
		return fault.New(fault.Unavailable, "Files and batches are switched off.")
	}
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
		return nil, fault.New(fault.Unavailable, "The storage of files and batches is not ready.")
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
	case errors.Is(err, queue.ErrFull):
		return &fault.Error{
			Kind: fault.Unavailable, RetryAfter: time.Minute, Err: err,
			Message: "The storage of files and batches is full. Delete files that are no longer needed, or try again later.",
		}
	}
	return fault.Wrap(fault.Unavailable, err, "The storage of files and batches does not answer, try again later.")
}

// chunkWorkers is how many tasks of lines of an API are worked on at once, which must hold as many lines as may be
// asked at once.
func (s *Service) chunkWorkers(api string) int {
	lines := quickLines
	for _, e := range s.outside.Endpoints("") {
		if e.API == api {
			lines = min(lines, e.Lines)
		}
	}
	return (s.config.Concurrency+lines-1)/lines + 2
}

// Begin makes the stores of an engine and starts the workers, which end with ctx.
func (s *Service) Begin(ctx context.Context, e *queue.Engine, ended *sync.WaitGroup) error {
	st, err := newStores(ctx, e, s.outside.APIs)
	if err != nil {
		return err
	}
	s.stores.Store(st)
	ended.Go(func() {
		st.steps.Work(ctx, 2, func(ctx context.Context, t queue.Task) error { return s.step(ctx, st, t) })
	})
	for api, tasks := range st.lines {
		ended.Go(func() {
			tasks.Work(ctx, s.chunkWorkers(api), func(ctx context.Context, t queue.Task) error { return s.chunk(ctx, st, api, t) })
		})
	}
	ended.Go(func() { s.sweepOften(ctx, st) })
	return nil
}

// newStores makes all stores at once: a cluster chooses a leader for each, which takes it a moment.
func newStores(ctx context.Context, e *queue.Engine, apis []string) (*stores, error) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	st := &stores{engine: e, lines: map[string]*queue.Tasks{}}
	var making errgroup.Group
	making.Go(func() (err error) { st.files, err = queue.NewTable[fileRecord](ctx, e, "files"); return err })
	making.Go(func() (err error) { st.batches, err = queue.NewTable[record](ctx, e, "batches"); return err })
	making.Go(func() (err error) { st.content, err = queue.NewFiles(ctx, e, "content"); return err })
	making.Go(func() (err error) { st.answers, err = queue.NewAnswers(ctx, e, "batches"); return err })
	making.Go(func() (err error) { st.steps, err = queue.NewTasks(ctx, e, "batches"); return err })
	var mu sync.Mutex
	for _, api := range apis {
		making.Go(func() error {
			lines, err := queue.NewTasks(ctx, e, "batch_lines_"+api)
			mu.Lock()
			defer mu.Unlock()
			st.lines[api] = lines
			return err
		})
	}
	if err := making.Wait(); err != nil {
		return nil, err
	}
	st.fileIndex = queue.NewIndex(st.files, func(r fileRecord) fileRecord { return r })
	st.outlines = queue.NewIndex(st.batches, record.outline)
	return st, nil
}

// newID returns a new id, of which a later one is greater: the time in ms, and chance.
func newID(prefix string) string {
	var chance [10]byte
	_, _ = rand.Read(chance[:]) // never fails
	return prefix + fmt.Sprintf("%012x", clock().UnixMilli()) + hex.EncodeToString(chance[:])
}

// owner names whoever has a key, in keys of records. Where no key is asked for, all are one.
func owner(caller string) string {
	if caller == "" {
		return "everyone"
	}
	return caller
}

func pointer[T any](value T) *T { return &value }

// QuickLines and SlowLines are the two choices for Endpoint.Lines.
const (
	QuickLines = quickLines
	SlowLines  = slowLines
)
