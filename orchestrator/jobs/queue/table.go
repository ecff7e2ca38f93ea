package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go/jetstream"
)

// Table holds records of one kind by key. A record is stored as JSON of at most 1 MiB.
type Table[Record any] struct {
	engine *Engine
	bucket jetstream.KeyValue
	sleep  func(context.Context, time.Duration) // between tries of Change; tests replace it
}

// maxConflictPause is the longest pause of Change after a conflict, on average. It lets each of many writers succeed
// within a few tries.
const maxConflictPause = 500 * time.Millisecond

// bucketStream begins the names of the streams in which JetStream keeps buckets.
const bucketStream = "KV_"

// markerLife is how long the marker of a deleted record is kept for watchers and indexes.
const markerLife = 10 * time.Minute

// NewTable opens the table with a name. It creates the table if it does not exist.
func NewTable[Record any](ctx context.Context, e *Engine, name string) (*Table[Record], error) {
	t := &Table[Record]{engine: e, sleep: Sleep}
	bucket := prefix + "_" + name
	var err error
	t.bucket, err = e.js.KeyValue(ctx, bucket)
	if err == nil {
		e.updateReplicas(ctx, bucketStream+bucket)
		return t, extendMarkers(ctx, e.js, t.bucket)
	}
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, err
	}
	err = e.withReplicas(func(replicas int) (err error) {
		t.bucket, err = e.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket:         bucket,
			Replicas:       replicas,
			LimitMarkerTTL: markerLife,
		})
		return err
	})
	return t, err
}

// extendMarkers sets the marker lifetime of a bucket to markerLife if an earlier release set a shorter one: an Index
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
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	_, err = t.bucket.Create(ctx, key, text)
	return translate(err)
}

// Get returns a record, or ErrNone.
func (t *Table[Record]) Get(ctx context.Context, key string) (Record, error) {
	r, _, err := t.get(ctx, key)
	return r, err
}

func (t *Table[Record]) get(ctx context.Context, key string) (r Record, revision uint64, err error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	var entry jetstream.KeyValueEntry
	err = t.engine.retryMissing(ctx, func() (err error) {
		entry, err = t.bucket.Get(ctx, key)
		return translate(err)
	})
	if err != nil {
		return r, 0, err
	}
	if err := json.Unmarshal(entry.Value(), &r); err != nil {
		return r, 0, fmt.Errorf("%s: %w", key, err)
	}
	return r, entry.Revision(), nil
}

// ErrUnchanged is what the function passed to Change returns if it has nothing to change.
var ErrUnchanged = errors.New("nothing to change")

// Change reads a record, applies change and writes it back. If another writer was faster, it starts over after a pause
// that grows with each conflict. It returns the record as it is now. An error of change is returned at once;
// ErrUnchanged is returned as nil.
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
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	_, err := t.bucket.Update(ctx, key, text, revision)
	return translate(err)
}

// Delete deletes a record. It is idempotent.
func (t *Table[Record]) Delete(ctx context.Context, key string) error {
	return translate(t.bucket.Purge(ctx, key, jetstream.PurgeTTL(markerLife)))
}

// Keys returns the keys of all records, including those that cannot be decoded, such as a later release may have
// written.
func (t *Table[Record]) Keys(ctx context.Context) (keys []string, err error) {
	err = t.scan(ctx, ">", 0, func(entry jetstream.KeyValueEntry) {
		if entry.Operation() == jetstream.KeyValuePut {
			keys = append(keys, entry.Key())
		}
	}, jetstream.MetaOnly())
	slices.Sort(keys)
	return slices.Compact(keys), err
}

// List returns the records whose keys match a filter, by key: * matches up to the next dot, > everything.
func (t *Table[Record]) List(ctx context.Context, filter string) (map[string]Record, error) {
	records := map[string]Record{}
	var failure error
	err := t.scan(ctx, filter, 0, func(entry jetstream.KeyValueEntry) {
		if entry.Operation() != jetstream.KeyValuePut {
			delete(records, entry.Key())
			return
		}
		var r Record
		if err := json.Unmarshal(entry.Value(), &r); err != nil {
			failure = fmt.Errorf("%s: %w", entry.Key(), err)
		}
		records[entry.Key()] = r
	})
	return records, cmp.Or(err, failure)
}

// errNoAnswer means that the storage does not answer in time.
var errNoAnswer = errors.New("the storage of jobs does not answer")

// recheckInterval is how long scan waits for an entry before it asks again which one is the newest: that may have gone.
const recheckInterval = 100 * time.Millisecond

// scan calls do with the newest entry of every key that matches a filter, also of deleted keys, in the order of their
// revisions, if that is greater than after. A key that changes during the scan may come again.
//
// It ends when it has seen the newest entry. The number of pending entries, by which JetStream's clients find the end,
// is too small while others write, so that keys would be missed (https://github.com/nats-io/nats-server/issues/4824).
func (t *Table[Record]) scan(
	ctx context.Context, filter string, after uint64, do func(jetstream.KeyValueEntry), options ...jetstream.WatchOpt,
) error {
	newest, err := t.newest(ctx, filter)
	if err != nil || newest <= after {
		return err
	}
	if after > 0 {
		options = append(options, jetstream.ResumeFromRevision(after+1))
	}
	watch, err := t.bucket.Watch(ctx, filter, options...)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = watch.Stop() }()
	seen := after
	for progress := time.Now(); newest > seen && time.Since(progress) < requestTimeout; {
		select {
		case entry, more := <-watch.Updates():
			if !more {
				return errNoAnswer
			}
			if entry != nil { // nil: the end, according to the client
				do(entry)
				seen = entry.Revision()
				progress = time.Now()
			}
			if seen < newest {
				continue
			}
		case <-time.After(recheckInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
		if newest, err = t.newest(ctx, filter); err != nil {
			return err
		}
	}
	if newest > seen {
		return errNoAnswer
	}
	return nil
}

// newest returns the revision of the newest entry whose key matches a filter, also of a deleted key, or 0 if there is
// none. In a cluster the leader answers, which no replica is ahead of.
func (t *Table[Record]) newest(ctx context.Context, filter string) (revision uint64, err error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	name := t.bucket.Bucket()
	request, err := json.Marshal(map[string]string{"last_by_subj": "$KV." + name + "." + filter})
	if err != nil {
		return 0, err
	}
	reply, err := t.engine.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+bucketStream+name, request)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Seq uint64 `json:"seq"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return 0, err
	}
	if answer.Error != nil && answer.Error.ErrorCode != jetstream.JSErrCodeMessageNotFound {
		return 0, answer.Error
	}
	return answer.Message.Seq, nil
}

// Watch calls onChange with a record now and after each change; if key is a filter, as for List, with each record that
// matches. It returns nil once onChange returns false or a record is deleted, and an error when ctx ends or the storage
// stops answering.
func (t *Table[Record]) Watch(ctx context.Context, key string, onChange func(Record) bool) error {
	watch, err := t.bucket.Watch(ctx, key)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = watch.Stop() }()
	for {
		select {
		case entry, more := <-watch.Updates():
			if !more {
				return errNoAnswer
			}
			if entry == nil { // no more existing records
				continue
			}
			if entry.Operation() != jetstream.KeyValuePut {
				return nil
			}
			var r Record
			if err := json.Unmarshal(entry.Value(), &r); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			if !onChange(r) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
