package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Tasks is a work queue.
type Tasks struct {
	engine   *Engine
	name     string
	subject  string // prefix of the subjects of all tasks
	stream   jetstream.Stream
	consumer jetstream.Consumer
}

// Task is one piece of work.
type Task struct {
	ID      string
	Data    []byte
	Attempt int // 1 for the first
}

const (
	// ackTimeout is how long a worker may be silent before its task is delivered to another one.
	ackTimeout = 12 * time.Second
	// maxPause is the longest pause before the next attempt at a task. It doubles from 2 s on.
	maxPause = 5 * time.Minute
	// heartbeatInterval is how often a worker reports that it works on a task.
	heartbeatInterval = 3 * time.Second
)

// NewTasks opens the work queue with a name. It creates the queue if it does not exist.
func NewTasks(ctx context.Context, e *Engine, name string) (*Tasks, error) {
	t := &Tasks{engine: e, name: name, subject: prefix + ".tasks." + name + "."}
	var err error
	t.stream, err = e.stream(ctx, jetstream.StreamConfig{
		Name:                 prefix + "_tasks_" + name,
		Subjects:             []string{t.subject + ">"},
		Retention:            jetstream.WorkQueuePolicy,
		MaxMsgsPerSubject:    1,
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
	})
	if err != nil {
		return nil, err
	}
	t.consumer, err = t.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:       prefix,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackTimeout,
		MaxDeliver:    -1,
		MaxAckPending: 1 << 16,
	})
	return t, err
}

// Push adds a task. While a task with that id is pending or in flight, it has no effect.
func (t *Tasks) Push(ctx context.Context, purpose Purpose, id string, data []byte) error {
	err := t.engine.publish(ctx, purpose, t.subject+id, data)
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// Drop deletes the tasks whose ids match a filter: * matches up to the next dot, > everything. A worker that has one of
// them does not learn of it.
func (t *Tasks) Drop(ctx context.Context, filter string) error {
	return translate(t.stream.Purge(ctx, jetstream.WithPurgeSubject(t.subject+filter)))
}

// Waiting returns the number of tasks that are pending or in flight.
func (t *Tasks) Waiting(ctx context.Context) (int, error) {
	info, err := t.stream.Info(ctx)
	if err != nil {
		return 0, translate(err)
	}
	return int(info.State.Msgs), nil
}

// Work runs workers that call do with tasks until ctx ends, and returns when all of them have returned. If do returns
// nil, the task is done. If it returns an error, the task is delivered again: after a pause that grows with each
// attempt, up to maxPause, or at once to another gateway if ctx has ended. The context of do ends with ctx.
func (t *Tasks) Work(ctx context.Context, workers int, do func(context.Context, Task) error) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for ctx.Err() == nil {
				t.workOnce(ctx, do)
			}
		})
	}
	running.Wait()
}

// workOnce waits for a task and calls do with it.
func (t *Tasks) workOnce(ctx context.Context, do func(context.Context, Task) error) {
	const (
		fetchTimeout = 20 * time.Second
		errorPause   = time.Second // after the engine did not answer
	)
	waiting, stop := context.WithTimeout(ctx, fetchTimeout)
	defer stop()
	msg, err := t.consumer.Next(jetstream.FetchContext(waiting))
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, jetstream.ErrNoMessages) {
			Sleep(ctx, errorPause)
		}
		return
	}
	task := Task{ID: strings.TrimPrefix(msg.Subject(), t.subject), Data: msg.Data(), Attempt: 1}
	if metadata, err := msg.Metadata(); err == nil {
		task.Attempt = int(metadata.NumDelivered)
	}
	heartbeat, stopHeartbeat := context.WithCancel(context.Background())
	go sendHeartbeats(heartbeat, msg)
	err = recovered(ctx, task, do)
	stopHeartbeat()
	logger := t.engine.logger.With().Str("queue", t.name).Str("task", task.ID).Logger()
	switch {
	case err == nil:
		err = msg.Ack()
	case ctx.Err() != nil:
		err = msg.Nak()
	default:
		logger.Warn().Err(err).Int("attempt", task.Attempt).Msg("task failed and will be retried")
		err = msg.NakWithDelay(min(time.Second<<min(task.Attempt, 10), maxPause))
	}
	if err != nil { // the task is delivered again; tasks are idempotent
		logger.Warn().Err(err).Msg("the end of a task was not acknowledged")
	}
}

// recovered calls do and returns its panic as an error.
func recovered(ctx context.Context, task Task, do func(context.Context, Task) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do(ctx, task)
}

// sendHeartbeats reports until ctx ends that a task is worked on.
func sendHeartbeats(ctx context.Context, msg jetstream.Msg) {
	Every(ctx, heartbeatInterval, func() {
		_ = msg.InProgress() // if it fails, another worker gets the task as well
	})
}
