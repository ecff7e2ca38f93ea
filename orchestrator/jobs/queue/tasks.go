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

// Tasks is a work queue of one name.
type Tasks struct {
	engine   *Engine
	name     string
	subject  string // begins the subjects of its tasks
	stream   jetstream.Stream
	consumer jetstream.Consumer
}

// Task is one piece of work.
type Task struct {
	ID      string
	Data    []byte
	Attempt int // 1 for the first
}

// A task is taken to be lost, and given to another worker, when nothing was heard of its worker for lost; workers say
// every heartbeat that they are at it.
const (
	lost      = 12 * time.Second
	heartbeat = 3 * time.Second
)

// NewTasks returns the work queue of a name, which is made where there is none.
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
		AckWait:       lost,
		MaxDeliver:    -1,
		MaxAckPending: 1 << 16,
	})
	return t, err
}

// Push adds a task. While one of that id waits or is worked on, it is there already and nothing is added.
func (t *Tasks) Push(ctx context.Context, use Use, id string, data []byte) error {
	err := t.engine.publish(ctx, use, message(t.subject+id, data))
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// Drop deletes the tasks whose ids match a filter: * stands for the part between two dots, > for the rest. A worker that has
// one of them does not learn of it.
func (t *Tasks) Drop(ctx context.Context, filter string) error {
	return meaning(t.stream.Purge(ctx, jetstream.WithPurgeSubject(t.subject+filter)))
}

// Waiting is the number of tasks that wait or are worked on.
func (t *Tasks) Waiting(ctx context.Context) (int, error) {
	info, err := t.stream.Info(ctx)
	if err != nil {
		return 0, meaning(err)
	}
	return int(info.State.Msgs), nil
}

// Work has tasks done by so many workers of this process until ctx ends, and returns when all of them have. A task whose
// do returns nil is done; one with an error comes again, after a pause that grows with its attempts to half a minute, and
// at once to another gateway where this one ends. The context of do ends with ctx.
func (t *Tasks) Work(ctx context.Context, workers int, do func(context.Context, Task) error) {
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for ctx.Err() == nil {
				t.next(ctx, do)
			}
		})
	}
	working.Wait()
}

// next waits for a task and has it done.
func (t *Tasks) next(ctx context.Context, do func(context.Context, Task) error) {
	const pause = time.Second // where the engine does not answer
	waiting, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	msg, err := t.consumer.Next(jetstream.FetchContext(waiting))
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, jetstream.ErrNoMessages) {
			Sleep(ctx, pause)
		}
		return
	}
	task := Task{ID: strings.TrimPrefix(msg.Subject(), t.subject), Data: msg.Data(), Attempt: 1}
	if about, err := msg.Metadata(); err == nil {
		task.Attempt = int(about.NumDelivered)
	}
	beat, quiet := context.WithCancel(context.Background())
	go keepAlive(beat, msg)
	err = contained(ctx, task, do)
	quiet()
	switch {
	case err == nil:
		err = msg.Ack()
	case ctx.Err() != nil:
		err = msg.Nak()
	default:
		t.engine.logger.Warn().Err(err).Str("queue", t.name).Str("task", task.ID).Int("attempt", task.Attempt).Msg("task to be done again")
		err = msg.NakWithDelay(min(time.Second<<min(task.Attempt, 10), 30*time.Second))
	}
	if err != nil { // it comes again, and is found to be done
		t.engine.logger.Warn().Err(err).Str("queue", t.name).Str("task", task.ID).Msg("the end of a task was not taken note of")
	}
}

// contained turns a panic of do into an error.
func contained(ctx context.Context, task Task, do func(context.Context, Task) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do(ctx, task)
}

// keepAlive says until ctx ends that a task is worked on.
func keepAlive(ctx context.Context, msg jetstream.Msg) {
	Every(ctx, heartbeat, func() {
		_ = msg.InProgress() // where it fails, another worker comes in: allowed
	})
}
