package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/rs/zerolog"

	"retort/orchestrator/jobs/queue"
)

// jobKind is a kind of work that outlasts a request.
type jobKind interface {
	// Begin creates the kind's part of the engine and starts its workers. They end with ctx, and ended is done once
	// they have. Begin is called again after an error.
	Begin(ctx context.Context, e *queue.Engine, ended *sync.WaitGroup) error
}

// jobs has the kinds of jobs, and the engine that stores and queues them.
type jobs struct {
	kinds         []jobKind
	logger        zerolog.Logger
	workerCtx     context.Context // done when a drain begins
	cancelWorkers context.CancelFunc
	goroutines    sync.WaitGroup // the workers, and the goroutine that opens the engine

	mu     sync.Mutex
	engine *queue.Engine // nil until it is open
}

// engineRetry is the pause between two attempts to open the engine.
const engineRetry = 5 * time.Second

// openJobs opens the engine of jobs, unless they are switched off. A folder that the settings name must work at once. A
// cluster, or a default folder that another process holds, may become available later: until then the APIs serve
// without jobs.
func (a *application) openJobs() error {
	if !a.config.Jobs {
		return nil
	}
	a.jobs.workerCtx, a.jobs.cancelWorkers = context.WithCancel(a.ctx)
	config := queue.Config{
		Folder:     cmp.Or(a.config.JobsData, queue.DefaultFolder()),
		MaxBytes:   a.config.JobsMaxBytes,
		OwnerBytes: a.config.JobsKeyBytes,
		Cluster:    a.config.NATS,
	}
	if len(a.config.NATS.URL) == 0 {
		err := a.jobs.start(config)
		if err == nil {
			return nil
		}
		if a.config.JobsData != "" {
			return fmt.Errorf("jobs-data: %w", err)
		}
	}
	a.jobs.goroutines.Go(func() { a.jobs.startWithRetries(config) })
	return nil
}

// startWithRetries calls start until it succeeds or a drain begins.
func (j *jobs) startWithRetries(config queue.Config) {
	failures := 0
	attempt := func() (any, error) { return nil, j.start(config) }
	report := func(err error, _ time.Duration) {
		level := zerolog.DebugLevel
		if failures == 0 {
			level = zerolog.WarnLevel
		}
		failures++
		j.logger.WithLevel(level).Err(err).Msg("jobs are unavailable until their engine can be opened")
	}
	_, err := backoff.Retry(j.workerCtx, attempt,
		backoff.WithBackOff(backoff.NewConstantBackOff(engineRetry)),
		backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(report),
	)
	if err == nil && failures > 0 {
		j.logger.Info().Msg("jobs are available")
	}
}

// start opens the engine and starts the workers of all kinds of jobs.
func (j *jobs) start(config queue.Config) error {
	engine, err := queue.Open(j.workerCtx, config, j.logger)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(j.workerCtx)
	var workers sync.WaitGroup
	for _, kind := range j.kinds {
		if err := kind.Begin(ctx, engine, &workers); err != nil {
			cancel()
			workers.Wait()
			engine.Close()
			return err
		}
	}
	context.AfterFunc(j.workerCtx, cancel)
	j.goroutines.Go(workers.Wait)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.engine = engine
	return nil
}

// stopWorkers ends the workers. Another gateway, or the next run of this one, continues their jobs.
func (j *jobs) stopWorkers() {
	if j.cancelWorkers != nil {
		j.cancelWorkers()
	}
}

// close ends the workers, then the engine.
func (j *jobs) close() {
	j.stopWorkers()
	j.goroutines.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.engine != nil {
		j.engine.Close()
		j.engine = nil
	}
}
