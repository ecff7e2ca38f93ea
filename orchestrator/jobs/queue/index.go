package queue

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"
)

// Index holds a summary of every record of a table in memory. Each use reads only the records that have changed since
// the last one.
type Index[Record, Summary any] struct {
	table     *Table[Record]
	summarize func(Record) Summary

	lock     *semaphore.Weighted           // a mutex that can be awaited with a context; it guards the fields below
	owners   map[string]map[string]Summary // by owner, then key
	revision uint64                        // of the newest change that was applied
	updated  time.Time                     // start of the last update
	reloaded time.Time                     // start of the last update that read everything
}

// reloadInterval is how often an index reads all records again, in case it has missed a change.
const reloadInterval = time.Hour

// NewIndex returns an index, which is empty until it is first read.
func NewIndex[Record, Summary any](t *Table[Record], summarize func(Record) Summary) *Index[Record, Summary] {
	return &Index[Record, Summary]{table: t, summarize: summarize, lock: semaphore.NewWeighted(1)}
}

// Records updates the index and returns the summaries of an owner's records by key, or those of all owners if owner
// is "". The caller may change the map.
func (x *Index[Record, Summary]) Records(ctx context.Context, owner string) (map[string]Summary, error) {
	if err := x.lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer x.lock.Release(1)
	if err := x.update(ctx); err != nil {
		return nil, err
	}
	if owner != "" {
		return maps.Clone(x.owners[owner]), nil
	}
	all := map[string]Summary{}
	for _, records := range x.owners {
		maps.Copy(all, records)
	}
	return all, nil
}

// update reads the changes since the last update. The marker of a deleted record lasts only for markerLife, so after a
// longer pause it reads all records.
func (x *Index[Record, Summary]) update(ctx context.Context) error {
	start := time.Now()
	reload := start.Sub(x.updated) > markerLife/2 || start.Sub(x.reloaded) > reloadInterval
	if reload {
		x.owners = map[string]map[string]Summary{}
		x.revision = 0
	}
	current, err := x.table.revision(ctx)
	if err == nil && current > x.revision {
		err = x.table.scan(ctx, ">", x.revision, x.apply)
	}
	if err != nil {
		return err // a reload starts over: its time is not set
	}
	if reload {
		x.reloaded = start
	}
	x.updated = start
	return nil
}

func (x *Index[Record, Summary]) apply(entry jetstream.KeyValueEntry) {
	x.revision = entry.Revision()
	key := entry.Key()
	owner, _, _ := strings.Cut(key, ".")
	if entry.Operation() == jetstream.KeyValuePut {
		var r Record
		err := json.Unmarshal(entry.Value(), &r)
		if err == nil {
			if x.owners[owner] == nil {
				x.owners[owner] = map[string]Summary{}
			}
			x.owners[owner][key] = x.summarize(r)
			return
		}
		x.table.engine.logger.Error().Err(err).Str("key", key).Msg("a record that cannot be decoded is left out")
	}
	delete(x.owners[owner], key)
	if len(x.owners[owner]) == 0 {
		delete(x.owners, owner)
	}
}
