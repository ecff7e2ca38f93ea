package queue_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/jobs/queue"
)

func open(t *testing.T, config queue.Config) *queue.Engine {
	t.Helper()
	e, err := queue.Open(context.Background(), config, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

type record struct{ Count int }

func TestTable(t *testing.T) {
	folder := t.TempDir()
	e := open(t, queue.Config{Folder: folder})
	ctx := t.Context()
	table, err := queue.NewTable[record](ctx, e, "counts")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Get(ctx, "a.1"); !errors.Is(err, queue.ErrNone) {
		t.Errorf("no record: %v", err)
	}
	if err := table.Create(ctx, "a.1", record{1}); err != nil {
		t.Fatal(err)
	}
	if err := table.Create(ctx, "a.1", record{2}); !errors.Is(err, queue.ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	const writers = 8
	done := make(chan error)
	for range writers {
		go func() {
			_, err := table.Change(ctx, "a.1", func(r *record) error { r.Count++; return nil })
			done <- err
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if r, err := table.Get(ctx, "a.1"); err != nil || r.Count != 1+writers {
		t.Errorf("%d after %d changes, %v", r.Count, writers, err)
	}
	if err := table.Create(ctx, "b.1", record{5}); err != nil {
		t.Fatal(err)
	}
	if records, err := list(ctx, table, "b"); err != nil || len(records) != 1 || records[0].Count != 5 {
		t.Errorf("list: %v, %v", records, err)
	}

	e.Close() // records outlive the process
	table, err = queue.NewTable[record](ctx, open(t, queue.Config{Folder: folder}), "counts")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := table.Get(ctx, "a.1"); err != nil || r.Count != 1+writers {
		t.Errorf("after a restart: %v, %v", r, err)
	}
	if err := table.Delete(ctx, "a.1"); err != nil {
		t.Error(err)
	}
	if records, err := list(ctx, table, ""); err != nil || len(records) != 1 {
		t.Errorf("after deletion: %v, %v", records, err)
	}
}

// list returns the records of an owner.
func list(ctx context.Context, table *queue.Table[record], owner string) ([]record, error) {
	records, err := queue.NewIndex(table, func(r record) record { return r }).Records(ctx, owner)
	return slices.Collect(maps.Values(records)), err
}

func TestWatch(t *testing.T) {
	table, err := queue.NewTable[record](t.Context(), open(t, queue.Config{Folder: t.TempDir()}), "counts")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := table.Create(ctx, "a", record{1}); err != nil {
		t.Fatal(err)
	}
	var seen []int
	err = table.Watch(ctx, "a", func(r record) bool {
		seen = append(seen, r.Count)
		if r.Count == 1 {
			_, err = table.Change(ctx, "a", func(r *record) error { r.Count = 2; return nil })
			return err == nil
		}
		return false
	})
	if err != nil || len(seen) != 2 || seen[1] != 2 {
		t.Errorf("%v, %v", seen, err)
	}
}

func TestTaskIsRetried(t *testing.T) {
	e := open(t, queue.Config{Folder: t.TempDir()})
	tasks, err := queue.NewTasks(t.Context(), e, "work")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // idempotent
		if err := tasks.Push(t.Context(), queue.Work, "a.1", []byte("text")); err != nil {
			t.Fatal(err)
		}
	}
	if err := tasks.Push(t.Context(), queue.Work, "b.1", nil); err != nil {
		t.Fatal(err)
	}
	if err := tasks.Drop(t.Context(), "b.>"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var calls atomic.Int32
	go func() {
		for {
			if n, err := tasks.Waiting(ctx); err != nil || n == 0 {
				stop()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	tasks.Work(ctx, 2, func(_ context.Context, task queue.Task) error {
		calls.Add(1)
		if task.ID != "a.1" || string(task.Data) != "text" {
			t.Errorf("%+v", task)
		}
		if task.Attempt == 1 {
			panic("once")
		}
		return nil
	})
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls", n)
	}
}

func TestFiles(t *testing.T) {
	files, err := queue.NewFiles(t.Context(), open(t, queue.Config{Folder: t.TempDir()}), "texts")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	content := make([]byte, 2*queue.PartSize+12345)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(content)
	size, err := files.Write(ctx, queue.Input, "a", bytes.NewReader(content))
	if err != nil || size != int64(len(content)) {
		t.Fatal(size, err)
	}
	all, err := io.ReadAll(files.Open(ctx, "a", size))
	if err != nil || !bytes.Equal(all, content) {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	spans := [][2]int{{0, 10}, {queue.PartSize - 5, 10}, {queue.PartSize, queue.PartSize}, {3, len(content) - 3}}
	for _, span := range spans {
		slice, err := files.Slice(ctx, "a", int64(span[0]), span[1])
		if err != nil || !bytes.Equal(slice, content[span[0]:span[0]+span[1]]) {
			t.Errorf("slice %v: %d bytes, %v", span, len(slice), err)
		}
	}
	if _, err := files.Slice(ctx, "a", int64(len(content))-3, 10); !errors.Is(err, queue.ErrNone) {
		t.Errorf("beyond the end: %v", err)
	}
	broken := io.MultiReader(bytes.NewReader(content), failing{})
	if _, err := files.Write(ctx, queue.Input, "b", broken); err == nil {
		t.Error("no error from a reader that fails")
	}
	if _, err := files.Slice(ctx, "b", 0, 1); !errors.Is(err, queue.ErrNone) {
		t.Errorf("slice of a file that was not written: %v", err)
	}
	if err := files.Delete(ctx, "a"); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(files.Open(ctx, "a", size)); !errors.Is(err, queue.ErrNone) {
		t.Errorf("after deletion: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("it breaks off") }

func TestAnswersAreWrittenOnce(t *testing.T) {
	answers, err := queue.NewAnswers(t.Context(), open(t, queue.Config{Folder: t.TempDir()}), "lines")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	large := bytes.Repeat([]byte("0123456789"), queue.PartSize/4)
	for n, text := range [][]byte{[]byte("short"), large} {
		if has, err := answers.Has(ctx, "job", n); err != nil || has {
			t.Errorf("%d before: %v, %v", n, has, err)
		}
		if err := answers.Put(ctx, "job", n, text); err != nil {
			t.Fatal(err)
		}
		for _, other := range [][]byte{[]byte("other"), append(large, 'x')} {
			if err := answers.Put(ctx, "job", n, other); !errors.Is(err, queue.ErrExists) {
				t.Errorf("%d again: %v", n, err)
			}
		}
		if got, err := answers.Get(ctx, "job", n); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d: %d bytes, %v", n, len(got), err)
		}
	}
	if err := answers.Drop(ctx, "job"); err != nil {
		t.Error(err)
	}
	if _, err := answers.Get(ctx, "job", 1); !errors.Is(err, queue.ErrNone) {
		t.Errorf("after all were dropped: %v", err)
	}
}

func TestFolderIsLocked(t *testing.T) {
	folder := t.TempDir()
	first := open(t, queue.Config{Folder: folder})
	if _, err := queue.Open(context.Background(), queue.Config{Folder: folder}, zerolog.Nop()); err == nil {
		t.Error("two engines on one folder")
	}
	first.Close()
	open(t, queue.Config{Folder: folder})
}

func TestFolderBelowAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	config := queue.Config{Folder: filepath.Join(file, "below")}
	if _, err := queue.Open(context.Background(), config, zerolog.Nop()); err == nil {
		t.Error("a folder below a file")
	}
}

func TestFullStorage(t *testing.T) {
	e := open(t, queue.Config{Folder: t.TempDir(), MaxBytes: 4 * queue.PartSize})
	files, err := queue.NewFiles(t.Context(), e, "texts")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := files.Write(ctx, queue.Input, "a", bytes.NewReader(make([]byte, 3*queue.PartSize))); err != nil {
		t.Fatal(err)
	}
	_, err = files.Write(ctx, queue.Input, "b", bytes.NewReader(make([]byte, 3*queue.PartSize)))
	if !errors.Is(err, queue.ErrFull) {
		t.Errorf("beyond the bound: %v", err)
	}
	if _, err := files.Write(ctx, queue.Input, "c", bytes.NewReader(make([]byte, 1000))); err != nil {
		t.Errorf("a small file: %v", err)
	}
}
