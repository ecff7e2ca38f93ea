package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// An index reads all records once, and then only changes.
func TestIndexReadsOnlyChanges(t *testing.T) {
	const records = 300
	ctx := t.Context()
	e, err := Open(ctx, Config{Folder: t.TempDir()}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	table, err := NewTable[number](ctx, e, "numbers")
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	index := NewIndex(table, func(n number) int {
		reads++
		return n.N
	})
	want := map[string]int{}
	expect := func(step string, wantReads int) {
		t.Helper()
		before := reads
		got, err := index.Records(ctx, "")
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %d entries, want %d", step, len(got), len(want))
		}
		if n := reads - before; n != wantReads {
			t.Errorf("%s: %d records were read, want %d", step, n, wantReads)
		}
	}
	expect("empty", 0)
	for n := range records {
		key := fmt.Sprintf("owner-%d.%d", n%3, n)
		want[key] = n
		if err := table.Create(ctx, key, number{n}); err != nil {
			t.Fatal(err)
		}
	}
	expect("after all were created", records)
	expect("without a change", 0)
	for range 3 {
		if _, err := table.Change(ctx, "owner-0.0", func(n *number) error { n.N = 1000; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Delete(ctx, "owner-1.1"); err != nil {
		t.Fatal(err)
	}
	want["owner-0.0"] = 1000
	delete(want, "owner-1.1")
	expect("after one change and one deletion", 1)
	for owner, count := range map[string]int{"owner-1": records/3 - 1, "owner": 0} {
		if got, err := index.Records(ctx, owner); err != nil || len(got) != count {
			t.Errorf("%s has %d records, want %d: %v", owner, len(got), count, err)
		}
	}
	index.updated = index.updated.Add(-markerLife) // markers of deleted records may be gone
	expect("after a long pause", records-1)
	if err := table.Delete(ctx, "owner-2.2"); err != nil {
		t.Fatal(err)
	}
	if _, err := table.bucket.PutString(ctx, "owner-2.5", "no JSON"); err != nil {
		t.Fatal(err)
	}
	delete(want, "owner-2.2")
	delete(want, "owner-2.5")
	expect("with an undecodable record", 0)
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := index.Records(ended, ""); err == nil {
		t.Error("no error after the end of the context")
	}
}

// silentBucket is a bucket whose Watch blocks until release is closed.
type silentBucket struct {
	jetstream.KeyValue
	called, release chan struct{}
}

func (b silentBucket) Watch(context.Context, string, ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	b.called <- struct{}{}
	<-b.release
	return nil, errNoAnswer
}

// A caller whose context ends does not wait for another caller's update of the index.
func TestIndexWaitEndsWithContext(t *testing.T) {
	table := newTable(t)
	bucket := silentBucket{table.bucket, make(chan struct{}), make(chan struct{})}
	table.bucket = bucket
	index := NewIndex(table, func(n number) int { return n.N })
	first := make(chan error)
	go func() {
		_, err := index.Records(t.Context(), "")
		first <- err
	}()
	<-bucket.called
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := index.Records(ended, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(bucket.release)
	if err := <-first; !errors.Is(err, errNoAnswer) {
		t.Error(err)
	}
}

// NewTable extends the marker lifetime of a table of an earlier release to the lifetime that an Index needs.
func TestNewTableExtendsMarkers(t *testing.T) {
	ctx := t.Context()
	e, err := Open(ctx, Config{Folder: t.TempDir()}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	earlier := jetstream.KeyValueConfig{Bucket: prefix + "_numbers", LimitMarkerTTL: time.Minute}
	if _, err := e.js.CreateKeyValue(ctx, earlier); err != nil {
		t.Fatal(err)
	}
	if _, err := NewTable[number](ctx, e, "numbers"); err != nil {
		t.Fatal(err)
	}
	bucket, err := e.js.KeyValue(ctx, earlier.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	status, err := bucket.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := status.LimitMarkerTTL(); got != markerLife {
		t.Errorf("markers last %v, want %v", got, markerLife)
	}
}
