package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// revision returns that of the last change of the table.
func (t *Table[Record]) revision(ctx context.Context) (uint64, error) {
	status, err := t.bucket.Status(ctx)
	if err != nil {
		return 0, translate(err)
	}
	return status.(*jetstream.KeyValueBucketStatus).StreamInfo().State.LastSeq, nil
}

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
func (t *Table[Record]) Keys(ctx context.Context) ([]string, error) {
	keys := map[string]bool{}
	err := t.scan(ctx, ">", 0, func(entry jetstream.KeyValueEntry) {
		if entry.Operation() == jetstream.KeyValuePut {
			keys[entry.Key()] = true
		} else {
			delete(keys, entry.Key())
		}
	}, jetstream.MetaOnly())
	return slices.Sorted(maps.Keys(keys)), err
}

// List returns the records whose keys match a filter, by key: * matches up to the next dot, > everything.
func (t *Table[Record]) List(ctx context.Context, filter string) (map[string]Record, error) {
	records := map[string]Record{}
	failures := map[string]error{}
	err := t.scan(ctx, filter, 0, func(entry jetstream.KeyValueEntry) {
		key := entry.Key()
		delete(records, key)
		delete(failures, key)
		if entry.Operation() != jetstream.KeyValuePut {
			return
		}
		var r Record
		if err := json.Unmarshal(entry.Value(), &r); err != nil {
			failures[key] = fmt.Errorf("%s: %w", key, err)
		}
		records[key] = r
	})
	for _, failure := range failures {
		err = cmp.Or(err, failure)
	}
	return records, err
}

// errNoAnswer means that the storage does not answer in time, or contradicts itself.
var errNoAnswer = errors.New("the storage of jobs does not answer")

const (
	// scanTimeout bounds a scan. It has no end while others write faster than it can ask for the last revision.
	scanTimeout = 30 * time.Second
	// recheckInterval is how long a scan waits for an entry before it asks for the last revision again: that entry may
	// have been removed.
	recheckInterval = 100 * time.Millisecond
)

// scan calls do with the latest entry of each key that matches a filter and has a revision above after, in the order of
// the revisions. The entry of a deleted key is its marker. A key that changes during the scan may come again.
//
// It ends at the last revision of these keys. JetStream's client ends when the server reports no pending entries, which
// is too early while others write: https://github.com/nats-io/nats-server/issues/4824.
func (t *Table[Record]) scan(
	ctx context.Context, filter string, after uint64, do func(jetstream.KeyValueEntry), options ...jetstream.WatchOpt,
) error {
	if after > 0 {
		options = append(options, jetstream.ResumeFromRevision(after+1))
	}
	watch, err := t.bucket.Watch(ctx, filter, options...)
	if err != nil {
		return translate(err)
	}
	defer stopWatch(watch)
	last, err := t.lastRevision(ctx, filter)
	if err != nil {
		return err
	}
	if last == 0 {
		return confirmNone(ctx, watch)
	}
	tooLate := time.After(scanTimeout)
	for position := after; position < last; {
		select {
		case entry, more := <-watch.Updates():
			if !more {
				return errNoAnswer
			}
			if entry != nil { // nil: the end, according to the client
				do(entry)
				position = entry.Revision()
			}
			if position < last {
				continue
			}
		case <-time.After(recheckInterval):
		case <-tooLate:
			return errNoAnswer
		case <-ctx.Done():
			return ctx.Err()
		}
		if last, err = t.lastRevision(ctx, filter); err != nil {
			return err
		}
		if last == 0 { // there were keys: see confirmNone
			return errNoAnswer
		}
	}
	return nil
}

// lastRevision returns the revision of the latest entry whose key matches a filter, also of a deleted key, or 0 if
// there is none or the server cannot read it. Only the leader of the bucket answers, so that no acknowledged write is
// missed.
func (t *Table[Record]) lastRevision(ctx context.Context, filter string) (uint64, error) {
	name := t.bucket.Bucket()
	request, err := json.Marshal(map[string]string{"last_by_subj": "$KV." + name + "." + filter})
	if err != nil {
		return 0, err
	}
	reply, err := t.engine.request(ctx, "$JS.API.STREAM.MSG.GET."+bucketStream+name, request)
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

// confirmNone returns nil if the first value of a watch says that no key matches. The server does not tell an entry
// that it cannot read from none, and whoever takes a full table for an empty one may delete what belongs to its
// records.
func confirmNone(ctx context.Context, watch jetstream.KeyWatcher) error {
	select {
	case entry, more := <-watch.Updates():
		if more && entry == nil {
			return nil
		}
		return errNoAnswer
	case <-time.After(requestTimeout):
		return errNoAnswer
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stopWatch ends a watch. It drops what has been received, for which the client's goroutine would wait for ever.
func stopWatch(watch jetstream.KeyWatcher) {
	_ = watch.Stop()
	go func() {
		for range watch.Updates() {
		}
	}()
}

// Watch calls onChange with a record now and after each change; if key is a filter, as for List, with each record that
// matches. It returns nil once onChange returns false or a record is deleted, and an error when ctx ends or the storage
// stops answering.
func (t *Table[Record]) Watch(ctx context.Context, key string, onChange func(Record) bool) error {
	watch, err := t.bucket.Watch(ctx, key)
	if err != nil {
		return translate(err)
	}
	defer stopWatch(watch)
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
