package queue

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Index holds a summary of every record of a table in memory. Each use reads only the records that have changed since
// the last one.
type Index[Record, Summary any] struct {
	table     *Table[Record]
	summarize func(Record) Summary

	lock     chan struct{}                 // a mutex that can be awaited with a context; it guards the fields below
	owners   map[string]map[string]Summary // by owner, then key
	revision uint64                        // of the newest change that was applied
	updated  time.Time                     // start of the last update
	reloaded time.Time                     // start of the last update that read everything
}

// reloadInterval is how often an index reads all records again, in case it has missed a change.
const reloadInterval = time.Hour

// NewIndex returns an index, which is empty until it is first read.
func NewIndex[Record, Summary any](t *Table[Record], summarize func(Record) Summary) *Index[Record, Summary] {
	return &Index[Record, Summary]{table: t, summarize: summarize, lock: make(chan struct{}, 1)}
}

// Each updates the index and calls do with each record of an owner, until do returns an error. The owner is the part of
// a key before its first dot; "" means all owners. do may use the table and the index.
func (x *Index[Record, Summary]) Each(ctx context.Context, owner string, do func(key string, s Summary) error) error {
	entries, err := x.snapshot(ctx, owner)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := do(e.key, e.summary); err != nil {
			return err
		}
	}
	return nil
}

// Count returns how many records of an owner satisfy a condition.
func (x *Index[Record, Summary]) Count(ctx context.Context, owner string, holds func(Summary) bool) (n int, err error) {
	err = x.Each(ctx, owner, func(_ string, s Summary) error {
		if holds(s) {
			n++
		}
		return nil
	})
	return n, err
}

type indexEntry[Summary any] struct {
	key     string
	summary Summary
}

func (x *Index[Record, Summary]) snapshot(
	ctx context.Context, owner string,
) (entries []indexEntry[Summary], err error) {
	select {
	case x.lock <- struct{}{}:
		defer func() { <-x.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := x.update(ctx); err != nil {
		return nil, err
	}
	for name, records := range x.owners {
		if owner != "" && name != owner {
			continue
		}
		for key, summary := range records {
			entries = append(entries, indexEntry[Summary]{key, summary})
		}
	}
	return entries, nil
}

// update reads the changes since the last update. The marker of a deleted record lasts only for markerLife, so after a
// longer pause it reads all records.
func (x *Index[Record, Summary]) update(ctx context.Context) error {
	start := time.Now()
	if start.Sub(x.updated) > markerLife/2 || start.Sub(x.reloaded) > reloadInterval {
		fresh := &Index[Record, Summary]{
			table: x.table, summarize: x.summarize, owners: map[string]map[string]Summary{},
		}
		if err := fresh.read(ctx); err != nil {
			return err
		}
		x.owners = fresh.owners
		x.revision = fresh.revision
		x.reloaded = start
	} else if err := x.read(ctx, jetstream.ResumeFromRevision(x.revision+1)); err != nil {
		return err
	}
	x.updated = start
	return nil
}

// read applies the changes that a new watch delivers first, in their order.
func (x *Index[Record, Summary]) read(ctx context.Context, options ...jetstream.WatchOpt) error {
	watch, err := x.table.bucket.Watch(ctx, ">", options...)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = watch.Stop() }()
	for {
		entry, err := nextUpdate(ctx, watch)
		if err != nil || entry == nil {
			return err
		}
		x.apply(entry)
	}
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
