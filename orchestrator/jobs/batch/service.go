package batch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/memory"
)

// Config are the settings of files and batches.
type Config struct {
	FileBytes    int64         `default:"209715200" help:"Largest file that may be uploaded, in bytes."`
	Requests     int           `default:"50000" help:"Most lines in a batch."`
	Concurrency  int           `default:"64" help:"Lines of all batches that this gateway sends at once; fewer while clients send requests."`
	TransferRate int64         `default:"65536" help:"Slowest average rate of an upload or download, in bytes per second, after 20 s. 0: any rate, within an hour."`
	KeepFiles    time.Duration `default:"720h" help:"How long files without an expiry of their own, and ended batches, are kept."`
}

// Endpoint is an endpoint that a batch may be for. Its JSON names must stay: records of older releases hold it.
type Endpoint struct {
	URL    string `json:"URL"`    // path below the base address that the client uses
	API    string `json:"API"`    // the API that answers
	Path   string `json:"Path"`   // path within that API
	OpenAI bool   `json:"OpenAI"` // whether failures have OpenAI's form
	Lines  int    `json:"Lines"`  // most lines of a chunk: QuickLines or SlowLines
	Bytes  int    `json:"Bytes"`  // longest body
}

// Lines of a chunk.
const (
	QuickLines = 32 // for endpoints that answer within milliseconds
	SlowLines  = 4  // for all others
)

// Request is a line as it is sent to an API.
type Request struct {
	Endpoint
	ID     string
	Caller string // who created the batch
	Body   []byte
}

// Program connects the service with the program around it.
type Program struct {
	// Endpoints returns the endpoints below a base address: of the main port if via is "", else of that API's own port.
	Endpoints func(via string) []Endpoint
	// APIs has the names of all APIs. Each has its own queue, so that a slow API does not hold up others.
	APIs []string
	// Send sends a request to its API.
	Send func(context.Context, Request) Reply
	// Acquire waits until one more line may be sent.
	Acquire func(ctx context.Context) (release func(), err error)
	Memory  *memory.Budget
	Meter   Meter
	Logger  zerolog.Logger
}

// Meter counts lines, batches and tasks.
type Meter interface {
	// CountLine counts a line that has its answer.
	CountLine(api string, ok bool)
	// SetBatches sets the number of batches in each state, of all gateways that share the engine.
	SetBatches(states map[string]int)
	// SetBatchTasks sets the number of an API's tasks that are pending or in flight.
	SetBatchTasks(api string, tasks int)
}

// Service serves files and batches.
type Service struct {
	config  Config
	program Program
	off     bool
	storage jobs.Storage[stores]

	answerCounts map[string]*atomic.Int64                     // lines that each API has answered, not refused
	newBackOff   func(maxPause time.Duration) backoff.BackOff // tests replace it
}

// stores are the stores of files and batches.
type stores struct {
	engine  *queue.Engine
	files   *queue.Table[fileRecord]
	batches *queue.Table[record]
	content *queue.Files // of files, by id
	answers *queue.Answers
	steps   *queue.Tasks
	chunks  map[string]*queue.Tasks // by API

	fileIndex  *queue.Index[fileRecord, fileRecord]
	batchIndex *queue.Index[record, record]
}

// New returns the service. It answers "not ready" until Begin has opened its stores.
func New(config Config, program Program) *Service {
	s := &Service{
		config: config, program: program, answerCounts: map[string]*atomic.Int64{}, newBackOff: newBackOff,
		storage: jobs.Storage[stores]{
			Content: "files and batches", FullHint: ". Delete files that are no longer needed, or try again later.",
		},
	}
	for _, api := range program.APIs {
		s.answerCounts[api] = new(atomic.Int64)
	}
	return s
}

// newBackOff returns pauses of 1, 2, 4 … s, at most maxPause.
func newBackOff(maxPause time.Duration) backoff.BackOff {
	return &backoff.ExponentialBackOff{InitialInterval: time.Second, Multiplier: 2, MaxInterval: maxPause}
}

// Off returns the service of a program without jobs: it has no routes.
func Off() *Service { return &Service{off: true} }

// Ready returns nil while files and batches can be stored.
func (s *Service) Ready() error {
	if s.off {
		return fault.New(fault.Unavailable, "Files and batches are switched off.")
	}
	return s.storage.Ready()
}

// Begin opens the stores and starts the workers, which end with ctx. ended is done when they have.
func (s *Service) Begin(ctx context.Context, e *queue.Engine, ended *sync.WaitGroup) error {
	st, err := openStores(ctx, e, s.program.APIs)
	if err != nil {
		return err
	}
	s.storage.Set(e, st)
	ended.Go(func() {
		st.steps.Work(ctx, stepWorkers, func(ctx context.Context, t queue.Task) error { return s.runStep(ctx, st, t) })
	})
	for api, tasks := range st.chunks {
		ended.Go(func() {
			tasks.Work(ctx, s.chunkWorkers(api), func(ctx context.Context, t queue.Task) error {
				return s.workOnChunk(ctx, st, api, t)
			})
		})
	}
	ended.Go(func() {
		jobs.SweepEvery(ctx, sweepInterval, "files and batches", s.program.Logger,
			func(ctx context.Context) error { return s.sweep(ctx, st) },
			func(ctx context.Context) error { return dropOrphans(ctx, st) })
	})
	return nil
}

// stepWorkers is how many batches this gateway checks or finishes at once.
const stepWorkers = 2

// chunkWorkers returns the number of chunks of an API in flight: enough to hold Concurrency lines.
func (s *Service) chunkWorkers(api string) int {
	lines := QuickLines
	for _, e := range s.program.Endpoints("") {
		if e.API == api {
			lines = min(lines, e.Lines)
		}
	}
	return (s.config.Concurrency+lines-1)/lines + 2
}

func openStores(ctx context.Context, e *queue.Engine, apis []string) (*stores, error) {
	st := &stores{engine: e, chunks: map[string]*queue.Tasks{}}
	openers := []jobs.Opener{
		jobs.OpenInto(&st.files, queue.NewTable[fileRecord], "files"),
		jobs.OpenInto(&st.batches, queue.NewTable[record], "batches"),
		jobs.OpenInto(&st.content, queue.NewFiles, "content"),
		jobs.OpenInto(&st.answers, queue.NewAnswers, "batches"),
		jobs.OpenInto(&st.steps, queue.NewTasks, "batches"),
	}
	chunks := make([]*queue.Tasks, len(apis))
	for i, api := range apis {
		openers = append(openers, jobs.OpenInto(&chunks[i], queue.NewTasks, "batch_lines_"+api))
	}
	if err := jobs.OpenStores(ctx, e, openers...); err != nil {
		return nil, err
	}
	for i, api := range apis {
		st.chunks[api] = chunks[i]
	}
	st.fileIndex = queue.NewIndex(st.files, func(r fileRecord) fileRecord { return r })
	st.batchIndex = queue.NewIndex(st.batches, record.summary)
	return st, nil
}

// clock is the time by which files and batches expire and ids are made. Tests replace it.
var clock = time.Now

func now() int64 { return clock().Unix() }

func newID(prefix string) string { return jobs.NewID(prefix, clock()) }
