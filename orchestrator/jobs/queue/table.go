package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go/jetstream"
)

// Table holds records of one kind by key. A record is stored as JSON of at most 1 MiB.
type Table[Record any] struct {
	engine *Engine
	bucket jetstream.KeyValue
	sleep  func(context.Context, time.Duration) // between two tries; tests replace it
}

// maxConflictPause is the longest average pause of Change after a conflict, so that each of many writers gets its turn
// within a few tries.
const maxConflictPause = 500 * time.Millisecond

// bucketStream begins the names of the streams in which JetStream keeps buckets.
const bucketStream = "KV_"

// markerLife is how long the marker of a deleted record is kept, for watchers and indexes.
const markerLife = 10 * time.Minute

// NewTable returns the table of a name, which is made where there is none.
func NewTable[Record any](ctx context.Context, e *Engine, name string) (*Table[Record], error) {
	bucket := prefix + "_" + name
	found, err := e.js.KeyValue(ctx, bucket)
	if err == nil {
		e.spread(ctx, bucketStream+bucket)
		return &Table[Record]{engine: e, bucket: found, sleep: Sleep}, extendMarkers(ctx, e.js, found)
	}
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, err
	}
	t := &Table[Record]{engine: e, sleep: Sleep}
	err = e.replicated(func(replicas int) (err error) {
		t.bucket, err = e.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket:         bucket,
			Replicas:       replicas,
			LimitMarkerTTL: markerLife,
		})
		return err
	})
	return t, err
}

// extendMarkers sets the marker lifetime of a bucket to markerLife if an earlier release made it with a shorter one: an Index
// relies on it.
func extendMarkers(ctx context.Context, js jetstream.JetStream, bucket jetstream.KeyValue) error {
	status, err := bucket.Status(ctx)
	if err != nil || status.LimitMarkerTTL() >= markerLife {
		return err
	}
	config := status.Config()
	config.LimitMarkerTTL = markerLife
	_, err = js.UpdateKeyValue(ctx, config)
	return err
}

// Create adds a record, or returns ErrExists.
func (t *Table[Record]) Create(ctx context.Context, key string, r Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := t.engine.reserve(Outcome, len(text)); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	_, err = t.bucket.Create(ctx, key, text)
	return meaning(err)
}

// Get returns a record, or ErrNone.
func (t *Table[Record]) Get(ctx context.Context, key string) (Record, error) {
	r, _, err := t.get(ctx, key)
	return r, err
}

func (t *Table[Record]) get(ctx context.Context, key string) (r Record, revision uint64, err error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var entry jetstream.KeyValueEntry
	err = t.engine.again(ctx, func() (err error) {
		entry, err = t.bucket.Get(ctx, key)
		return meaning(err)
	})
	if err != nil {
		return r, 0, err
	}
	if err := json.Unmarshal(entry.Value(), &r); err != nil {
		return r, 0, fmt.Errorf("%s: %w", key, err)
	}
	return r, entry.Revision(), nil
}

// ErrUnchanged is returned to Change by a function that has nothing to change.
var ErrUnchanged = errors.New("nothing to change")

// Change reads a record, applies change and writes it back. If someone else has written in between, it starts over after a
// pause that grows with each conflict. It returns the record as it is now. An error of change ends it and is returned,
// unless it is ErrUnchanged.
func (t *Table[Record]) Change(ctx context.Context, key string, change func(*Record) error) (Record, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = 5 * time.Millisecond
	pauses.Multiplier = 2
	pauses.MaxInterval = maxConflictPause
	for {
		r, revision, err := t.get(ctx, key)
		if err != nil {
			return r, err
		}
		if err := change(&r); err != nil {
			if errors.Is(err, ErrUnchanged) {
				err = nil
			}
			return r, err
		}
		text, err := json.Marshal(r)
		if err != nil {
			return r, err
		}
		if err := t.engine.reserve(Outcome, len(text)); err != nil {
			return r, err
		}
		if err = t.update(ctx, key, text, revision); !errors.Is(err, ErrExists) {
			return r, err
		}
		t.sleep(ctx, pauses.NextBackOff())
		if err := ctx.Err(); err != nil {
			return r, err
		}
	}
}

func (t *Table[Record]) update(ctx context.Context, key string, text []byte, revision uint64) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	_, err := t.bucket.Update(ctx, key, text, revision)
	return meaning(err)
}

// Delete removes a record. One that is not there is no error.
func (t *Table[Record]) Delete(ctx context.Context, key string) error {
	return meaning(t.bucket.Purge(ctx, key, jetstream.PurgeTTL(markerLife)))
}

// Keys returns the keys of all records, also of those that cannot be read, such as a later release may have written.
func (t *Table[Record]) Keys(ctx context.Context) (keys []string, err error) {
	watch, err := t.bucket.Watch(ctx, ">", jetstream.MetaOnly(), jetstream.IgnoreDeletes())
	if err != nil {
		return nil, meaning(err)
	}
	defer func() { _ = watch.Stop() }()
	for {
		entry, err := next(ctx, watch)
		if err != nil || entry == nil { // nil: the end of what was there
			return keys, err
		}
		keys = append(keys, entry.Key())
	}
}

// errSilent is a storage that does not answer in time.
var errSilent = errors.New("the storage of jobs does not answer")

// next waits for what a watcher sees next.
func next(ctx context.Context, watch jetstream.KeyWatcher) (jetstream.KeyValueEntry, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case entry, more := <-watch.Updates():
		if !more {
			return nil, errSilent
		}
		return entry, nil
	case <-late.C:
		return nil, errSilent
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Watch calls seen with a record as it is now and after each change. It returns nil once seen has returned false or the
// record is deleted, and an error when ctx ends or the storage does not answer any more.
func (t *Table[Record]) Watch(ctx context.Context, key string, seen func(Record) bool) error {
	watch, err := t.bucket.Watch(ctx, key)
	if err != nil {
		return meaning(err)
	}
	defer func() { _ = watch.Stop() }()
	for {
		select {
		case entry, more := <-watch.Updates():
			if !more {
				return errSilent
			}
			if entry == nil { // the end of what was there
				continue
			}
			if entry.Operation() != jetstream.KeyValuePut {
				return nil
			}
			var r Record
			if err := json.Unmarshal(entry.Value(), &r); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			if !seen(r) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
