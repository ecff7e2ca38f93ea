package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

type number struct{ N int }

func newTable(t *testing.T) *Table[number] {
	t.Helper()
	e, err := Open(t.Context(), Config{Folder: t.TempDir()}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	table, err := NewTable[number](t.Context(), e, "numbers")
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Create(t.Context(), "a", number{1}); err != nil {
		t.Fatal(err)
	}
	return table
}

// Change pauses after each conflict before it retries, and ends with its context.
func TestChangePausesAfterConflicts(t *testing.T) {
	const conflicts = 12
	table := newTable(t)
	var pauses []time.Duration
	table.sleep = func(_ context.Context, d time.Duration) { pauses = append(pauses, d) }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	withConflicts := func(tries int) func(*number) error {
		return func(n *number) error {
			if tries--; tries >= 0 {
				if err := table.change(n.N + 1); err != nil {
					return err
				}
			}
			n.N += 100
			return nil
		}
	}
	got, err := table.Change(ctx, "a", withConflicts(conflicts))
	if err != nil || got.N != 1+conflicts+100 {
		t.Errorf("%+v, %v", got, err)
	}
	if len(pauses) != conflicts {
		t.Fatalf("%d pauses after %d conflicts", len(pauses), conflicts)
	}
	for n, pause := range pauses {
		if pause <= 0 || pause > 2*maxConflictPause {
			t.Errorf("pause %d is %v", n, pause)
		}
	}
	if last := pauses[conflicts-1]; last < maxConflictPause/2 {
		t.Errorf("after %d conflicts the pause is %v", conflicts, last)
	}
	table.sleep = func(context.Context, time.Duration) { stop() }
	if _, err := table.Change(ctx, "a", withConflicts(conflicts)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

// change writes the record as another writer would.
func (t *Table[Record]) change(n int) error {
	_, err := t.bucket.PutString(context.Background(), "a", fmt.Sprintf(`{"N":%d}`, n))
	return err
}

// While others change records, lists and indexes have all of them.
func TestListsAreCompleteDuringChanges(t *testing.T) {
	table := newTable(t)
	ctx := t.Context()
	keys := []string{"a", "job.0", "job.1"}
	for _, key := range keys[1:] {
		if err := table.Create(ctx, key, number{}); err != nil {
			t.Fatal(err)
		}
	}
	known := NewIndex(table, func(n number) int { return n.N })
	changing, stop := context.WithCancel(ctx)
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	for i := range keys {
		writers.Go(func() {
			for changing.Err() == nil {
				_, _ = table.Change(changing, keys[i], func(n *number) error { n.N++; return nil })
			}
		})
	}
	for range 50 {
		if records, err := table.List(ctx, "job.*"); err != nil || len(records) != 2 {
			t.Fatalf("list: %v %v", records, err)
		}
		if got, err := table.Keys(ctx); err != nil || !slices.Equal(got, keys) {
			t.Fatalf("keys: %v %v", got, err)
		}
		for _, index := range []*Index[number, int]{known, NewIndex(table, known.summarize)} {
			if records, err := index.Records(ctx, ""); err != nil || len(records) != 3 {
				t.Fatalf("index: %v %v", records, err)
			}
		}
	}
}

// losingBucket is a bucket whose watches never deliver the entry of a key: lose is called in its place.
type losingBucket struct {
	jetstream.KeyValue
	key  string
	lose func()
}

type losingWatch struct {
	jetstream.KeyWatcher
	updates chan jetstream.KeyValueEntry
}

func (w losingWatch) Updates() <-chan jetstream.KeyValueEntry { return w.updates }

func (b losingBucket) Watch(
	ctx context.Context, filter string, options ...jetstream.WatchOpt,
) (jetstream.KeyWatcher, error) {
	watch, err := b.KeyValue.Watch(ctx, filter, options...)
	if err != nil {
		return nil, err
	}
	updates := make(chan jetstream.KeyValueEntry)
	go func() {
		defer close(updates)
		for entry := range watch.Updates() {
			if entry != nil && entry.Key() == b.key {
				b.lose()
			} else {
				updates <- entry
			}
		}
	}()
	return losingWatch{watch, updates}, nil
}

// The last entry may be removed before a scan has seen it.
func TestScanWithoutItsLastEntry(t *testing.T) {
	table := newTable(t)
	ctx := t.Context()
	if err := table.Create(ctx, "b", number{}); err != nil {
		t.Fatal(err)
	}
	stream, err := table.engine.js.Stream(ctx, bucketStream+table.bucket.Bucket())
	if err != nil {
		t.Fatal(err)
	}
	table.bucket = losingBucket{table.bucket, "b", func() {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject("$KV.*.b")); err != nil {
			t.Error(err)
		}
	}}
	if keys, err := table.Keys(ctx); err != nil || !slices.Equal(keys, []string{"a"}) {
		t.Errorf("%v %v", keys, err)
	}
}

// A table is empty only if the watch says so too: the server answers that there is no entry if it cannot read it.
func TestEmptyTableIsConfirmed(t *testing.T) {
	table := newTable(t)
	ctx := t.Context()
	if keys, err := table.List(ctx, "job.*"); err != nil || len(keys) > 0 {
		t.Errorf("%v %v", keys, err)
	}
	watch, err := table.bucket.Watch(ctx, ">")
	if err != nil {
		t.Fatal(err)
	}
	defer stopWatch(watch)
	if err := confirmNone(ctx, watch); !errors.Is(err, errNoAnswer) {
		t.Error(err)
	}
}

// A watch that is cut off ends with an error other than ErrNone.
func TestWatchThatIsCutOff(t *testing.T) {
	table := newTable(t)
	err := table.Watch(t.Context(), "a", func(number) bool {
		go table.engine.Close()
		return true
	})
	if err == nil || errors.Is(err, ErrNone) {
		t.Errorf("after the end of the connection: %v", err)
	}
}

// A refused answer leaves no bytes, whatever its size: it may be retried many times.
func TestRefusedAnswerLeavesNothing(t *testing.T) {
	e, err := Open(t.Context(), Config{Folder: t.TempDir(), MaxBytes: 2 * PartSize}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	answers, err := NewAnswers(t.Context(), e, "lines")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, size := range []int{PartSize / 8, 0} { // until there is no room for the pointer to a large answer
		for answers.Put(t.Context(), "job", n, make([]byte, size)) == nil {
			n++
		}
	}
	for range 3 {
		if err := answers.Put(t.Context(), "job", n, make([]byte, PartSize+1)); !errors.Is(err, ErrFull) {
			t.Fatalf("a large answer without room for its pointer: %v", err)
		}
	}
	if names, err := answers.large.Names(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("files: %v, %v", names, err)
	}
}
