// Package jobs has what all kinds of jobs share: ids and owners, the stores of a kind, storage faults, quotas, pages of
// lists, sweeps and the detection of a cancellation. The kinds are jobs/batch and jobs/optimization; where they keep
// their data is jobs/queue. For users: docs/use/JOBS.md; for operators: docs/operate/JOBS.md.
//
// Terms:
//
//	owner    whoever has a key: a part of the keys of all records, see [Owner]
//	kind     one sort of job with stores, workers and endpoints of its own
//	record   the state of a job or file, in a [queue.Table]
//	orphan   stored content without a record, because an upload broke off or the record was deleted first
//	sweep    a pass over all records that ends, deletes or queues again those that are due
package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs/queue"
)

// Storage holds the stores of one kind of job, and converts their errors to faults in the words of that kind.
type Storage[Stores any] struct {
	// Content is what the kind stores, such as "files and batches". Messages to clients contain it.
	Content string
	// FullHint ends the message of a full storage. It says what a client can do.
	FullHint string

	opened atomic.Pointer[opened[Stores]]
}

type opened[Stores any] struct {
	engine *queue.Engine
	stores *Stores
}

// Set makes the stores available to requests. A second call replaces them.
func (s *Storage[Stores]) Set(e *queue.Engine, stores *Stores) {
	s.opened.Store(&opened[Stores]{e, stores})
}

// Ready returns nil while the storage can be used.
func (s *Storage[Stores]) Ready() error {
	o, err := s.load()
	if err != nil {
		return err
	}
	return s.Fault(o.engine.Ready())
}

// Open returns the stores for a request. While the engine does not answer it waits for some seconds.
func (s *Storage[Stores]) Open(ctx context.Context) (*Stores, error) {
	o, err := s.load()
	if err != nil {
		return nil, err
	}
	return o.stores, s.Fault(o.engine.AwaitReady(ctx))
}

func (s *Storage[Stores]) load() (*opened[Stores], error) {
	o := s.opened.Load()
	if o == nil {
		return nil, fault.New(fault.Unavailable, "The storage of %s is not ready.", s.Content)
	}
	return o, nil
}

// Fault converts an error of the engine to a fault. It returns nil, faults and context.Canceled unchanged.
func (s *Storage[Stores]) Fault(err error) error {
	var known *fault.Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, queue.ErrFull):
		full := fault.Wrap(fault.Unavailable, err, "The storage of %s is full%s", s.Content, s.FullHint)
		full.RetryAfter = time.Minute
		return full
	}
	return fault.Wrap(fault.Unavailable, err, "The storage of %s does not answer, try again later.", s.Content)
}

// openTimeout bounds the opening of all stores of a kind.
const openTimeout = time.Minute

// Opener opens one store of a kind of job.
type Opener func(context.Context, *queue.Engine) error

// OpenInto returns an opener that sets store to the store with a name. open is one of package queue's constructors.
func OpenInto[S any](
	store **S, open func(context.Context, *queue.Engine, string) (*S, error), name string,
) Opener {
	return func(ctx context.Context, e *queue.Engine) (err error) {
		*store, err = open(ctx, e, name)
		return err
	}
}

// OpenStores runs openers concurrently: a cluster takes a moment to elect a leader for each store.
func OpenStores(ctx context.Context, e *queue.Engine, openers ...Opener) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	var opening errgroup.Group
	for _, open := range openers {
		opening.Go(func() error { return open(ctx, e) })
	}
	return opening.Wait()
}
