package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"retort/orchestrator/jobs/queue"
)

// jobKind is one kind of work that outlasts a request.
type jobKind interface {
	// Begin makes what the kind needs of the engine and returns once its workers are started; they end with ctx, and
	// ended is done when they have. After an error it is called again.
	Begin(ctx context.Context, e *queue.Engine, ended *sync.WaitGroup) error
}

// jobs are the kinds of jobs and the engine that keeps them.
type jobs struct {
	kinds   []jobKind
	working context.Context // of the workers; ends when the drain begins
	stop    context.CancelFunc
	ended   sync.WaitGroup // the workers, and whoever still tries to open the engine

	mu     sync.Mutex
	engine *queue.Engine // nil until it is open
}

// engineRetry is how long to wait before an engine that could not be opened is tried again.
const engineRetry = 5 * time.Second

// openJobs opens the engine of jobs, unless that is switched off. A folder that was named must work at once. The default
// folder where another process holds it, or a cluster, which is asked beside everything else, leaves the APIs serving
// without jobs until it answers.
func (a *application) openJobs() error {
	if !a.config.Jobs {
		return nil
	}
	a.jobs.working, a.jobs.stop = context.WithCancel(a.life)
	if len(a.config.NATS.URL) > 0 {
		a.jobs.ended.Go(func() { a.tryJobs(a.beginJobs()) })
		return nil
	}
	err := a.beginJobs()
	if err != nil && a.config.JobsData != "" {
		return fmt.Errorf("jobs-data: %w", err)
	}
	a.jobs.ended.Go(func() { a.tryJobs(err) })
	return nil
}

// tryJobs opens the engine again and again where a first try ended with an error.
func (a *application) tryJobs(err error) {
	if err != nil && a.jobs.working.Err() == nil {
		a.logger.Warn().Err(err).Msg("no jobs until their engine can be opened")
	}
	for err != nil {
		queue.Sleep(a.jobs.working, engineRetry)
		if a.jobs.working.Err() != nil {
			return
		}
		if err = a.beginJobs(); err == nil {
			a.logger.Info().Msg("jobs can be kept now")
			return
		}
		a.logger.Debug().Err(err).Msg("no jobs yet")
	}
}

// beginJobs opens the engine and starts the workers of all kinds of jobs.
func (a *application) beginJobs() error {
	engine, err := queue.Open(a.jobs.working, a.config.queue(), a.logger)
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(a.jobs.working)
	var begun sync.WaitGroup
	for _, kind := range a.jobs.kinds {
		if err := kind.Begin(working, engine, &begun); err != nil {
			stop()
			begun.Wait()
			engine.Close()
			return err
		}
	}
	context.AfterFunc(a.jobs.working, stop)
	a.jobs.ended.Go(begun.Wait)
	a.jobs.mu.Lock()
	defer a.jobs.mu.Unlock()
	a.jobs.engine = engine
	return nil
}

// queue is where jobs are kept.
func (c *Config) queue() queue.Config {
	return queue.Config{
		Folder: cmp.Or(c.JobsData, queue.DefaultFolder()), MaxBytes: c.JobsMaxBytes, OwnerBytes: c.JobsKeyBytes, Cluster: c.NATS,
	}
}

// stopWork has the workers end, so that what they are at is done by another gateway, or by the next run.
func (j *jobs) stopWork() {
	if j.stop != nil {
		j.stop()
	}
}

// close ends the engine once the workers have ended.
func (j *jobs) close() {
	j.stopWork()
	j.ended.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.engine != nil {
		j.engine.Close()
		j.engine = nil
	}
}
