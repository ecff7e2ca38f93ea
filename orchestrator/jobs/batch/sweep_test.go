package batch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/jobs/queue/natstest"
)

// Sweeps, uploads, lists and new batches do not read the records of all files and batches.
func TestOnlyChangesAreRead(t *testing.T) {
	const records = 500
	node := natstest.Single(t, server.RANDOM_PORT)
	b := setUpOn(t, queue.Config{Cluster: queue.Cluster{URL: []string{node.ClientURL()}}}, echo)
	for n := range records {
		batch := record{Owner: jobs.Owner(""), Batch: Batch{ID: fmt.Sprintf("batch_%06d", n), Status: completed, CreatedAt: now()}}
		if err := b.st.batches.Create(t.Context(), batch.key(), batch); err != nil {
			t.Fatal(err)
		}
		file := fileRecord{Owner: jobs.Owner(""), File: File{ID: fmt.Sprintf("file-%06d", n)}}
		if err := b.st.files.Create(t.Context(), file.key(), file); err != nil {
			t.Fatal(err)
		}
	}
	messages := func(do func() error) int64 {
		t.Helper()
		before, err := node.Varz(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := do(); err != nil {
			t.Fatal(err)
		}
		after, err := node.Varz(nil)
		if err != nil {
			t.Fatal(err)
		}
		return after.OutMsgs - before.OutMsgs
	}
	sweep := func() error { return b.sweep(t.Context(), b.st) }
	if n := messages(sweep); n < 2*records {
		t.Errorf("the first sweep took %d messages, fewer than the %d records", n, 2*records)
	}
	contentType, form := formOf(t, lines(1))
	var input File
	for name, do := range map[string]func() error{
		"sweep": sweep,
		"upload": func() (err error) {
			input, err = b.upload(t.Context(), "", contentType, bytes.NewReader(form))
			return err
		},
		"deletion": func() error {
			made, err := b.upload(t.Context(), "", contentType, bytes.NewReader(form))
			if err == nil {
				_, err = b.deleteFile(t.Context(), "", made.ID)
			}
			return err
		},
	} {
		if n := messages(do); n >= records/2 {
			t.Errorf("%s: %d messages beside %d records of each kind", name, n, records)
		}
	}
	for name, do := range map[string]func() error{
		"batches": func() error {
			page, err := b.list(t.Context(), "", query{limit: "3", after: "batch_000100"})
			if err == nil && (len(page.Data) != 3 || page.Data[0].ID != "batch_000099" || !page.HasMore) {
				t.Errorf("%+v", page)
			}
			return err
		},
		"files": func() error {
			page, err := b.listFiles(t.Context(), "", query{limit: "3", order: "asc"})
			if err == nil && (len(page.Data) != 3 || page.Data[0].ID != "file-000000" || !page.HasMore) {
				t.Errorf("%+v", page)
			}
			return err
		},
	} {
		if n := messages(do); n >= records/2 {
			t.Errorf("a page of three %s: %d messages beside %d records of each kind", name, n, records)
		}
	}
	if n := messages(func() error {
		_, err := b.create(t.Context(), "", "", Create{InputFileID: input.ID, Endpoint: "/v1/echo", CompletionWindow: "24h"})
		return err
	}); n >= records/2 {
		t.Errorf("batch: %d messages beside %d records of each kind", n, records)
	}
}

func TestEndOfTheWindow(t *testing.T) {
	b := setUp(t, echo)
	r := b.answered(t, 12, 5)
	advance(t, window-time.Minute)
	if err := b.sweep(t.Context(), b.st); err != nil || b.record(t, r.ID).Status != inProgress {
		t.Fatal(b.record(t, r.ID).Status, err)
	}
	advance(t, 2*time.Minute)
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if n, err := b.st.chunks["echo"].Waiting(t.Context()); err != nil || n != 0 {
		t.Errorf("%d tasks are left, %v", n, err)
	}
	if err := b.finish(t.Context(), b.st, b.record(t, r.ID)); err != nil {
		t.Fatal(err)
	}
	r = b.record(t, r.ID)
	if r.Status != expired || r.ExpiredAt == nil || r.RequestCounts != (Counts{Total: 12, Completed: 5, Failed: 7}) {
		t.Errorf("%+v", r.Batch)
	}
	late := b.results(t, r.ErrorFileID)
	if len(late) != 7 || late[0].CustomID != "line-5" || late[0].Error.Code != "batch_expired" || late[0].Response != nil {
		t.Errorf("%+v", late)
	}
	if ids := customIDs(b.results(t, r.OutputFileID)); len(ids) != 5 {
		t.Errorf("%v", ids)
	}
	advance(t, b.config.KeepFiles+time.Hour)
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if _, err := b.st.batches.Get(t.Context(), r.key()); !errors.Is(err, queue.ErrNone) {
		t.Errorf("the batch after its life: %v", err)
	}
	if names, err := b.st.content.Names(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("content after its life: %v, %v", names, err)
	}
}

// A file that is deleted just as a batch is made from it: the batch ends, with what was answered, and says why.
func TestInputThatIsDeleted(t *testing.T) {
	b := setUp(t, echo)
	input := func(r record) fileRecord { return fileRecord{Owner: r.Owner, File: File{ID: r.InputFileID}} }

	early := b.record(t, b.batchOf(t, 8).ID)
	if err := b.st.dropFile(t.Context(), input(early)); err != nil {
		t.Fatal(err)
	}
	if err := b.start(t.Context(), b.st, early); err != nil {
		t.Fatal(err)
	}
	if r := b.record(t, early.ID); r.Status != failed || r.Errors.Data[0].Code != "file_not_found" {
		t.Errorf("before it was checked: %+v", r.Batch)
	}

	running := b.answered(t, 12, 5)
	if err := b.sweep(t.Context(), b.st); err != nil || b.record(t, running.ID).Status != inProgress {
		t.Fatal(b.record(t, running.ID).Status, err)
	}
	if err := b.st.dropFile(t.Context(), input(running)); err != nil {
		t.Fatal(err)
	}
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if err := b.finish(t.Context(), b.st, b.record(t, running.ID)); err != nil {
		t.Fatal(err)
	}
	r := b.record(t, running.ID)
	if r.Status != failed || r.FailedAt == nil || r.Errors.Data[0].Code != "file_not_found" || len(b.results(t, r.OutputFileID)) != 5 {
		t.Errorf("while it was in progress: %+v", r.Batch)
	}

	ended := b.ending(t, b.answered(t, 12, 5), expired)
	if err := b.st.dropFile(t.Context(), input(ended)); err != nil {
		t.Fatal(err)
	}
	if err := b.finish(t.Context(), b.st, ended); err != nil {
		t.Fatal(err)
	}
	if r := b.record(t, ended.ID); r.Status != expired || len(b.results(t, r.OutputFileID)) != 5 || r.ErrorFileID != nil {
		t.Errorf("when its window had ended: %+v", r.Batch)
	}
}

// A file that a batch reads cannot be deleted, and does not expire.
func TestInputOfABatchStays(t *testing.T) {
	b := setUp(t, echo)
	r := b.answered(t, 4, 0)
	if _, err := b.deleteFile(t.Context(), "", r.InputFileID); err == nil {
		t.Error("it was deleted")
	}
	if _, err := b.st.files.Change(t.Context(), r.Owner+"."+r.InputFileID, func(f *fileRecord) error {
		f.ExpiresAt = new(now() - 1)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if _, err := b.st.content.Slice(t.Context(), r.InputFileID, 0, 1); err != nil {
		t.Errorf("it has expired: %v", err)
	}
}

// A batch that a full storage holds up keeps nothing from being deleted, which makes room; it can end at once.
func TestSweepOfAFullStorage(t *testing.T) {
	const bound = 4 * queue.PartSize
	b := setUpOn(t, queue.Config{Folder: t.TempDir(), MaxBytes: bound}, echo)
	expiring := b.answered(t, 12, 5)
	b.batchOf(t, 12) // stands still
	write := func(size int64) (r fileRecord) {
		r = fileRecord{Owner: jobs.Owner("another"), File: File{ID: newID("file-"), Bytes: size, ExpiresAt: new(now())}}
		if _, err := b.st.content.Write(t.Context(), queue.Outcome, r.ID, bytes.NewReader(make([]byte, size))); err != nil {
			t.Fatal(err)
		}
		if err := b.st.files.Create(t.Context(), r.key(), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	old := write(3 * bound / 2)
	if err := b.st.steps.Push(t.Context(), queue.Work, "more-work", nil); !errors.Is(err, queue.ErrFull) {
		t.Fatal(err)
	}
	if _, err := b.cancel(t.Context(), "", expiring.ID); err != nil {
		t.Errorf("a batch cannot be cancelled: %v", err)
	}
	advance(t, 2*time.Minute)
	if err := b.sweep(t.Context(), b.st); !errors.Is(err, queue.ErrFull) {
		t.Errorf("a batch stands still, of which nothing is said: %v", err)
	}
	if _, err := b.st.content.Slice(t.Context(), old.ID, 0, 1); !errors.Is(err, queue.ErrNone) {
		t.Errorf("a file that has expired is there: %v", err)
	}
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Errorf("when there was room: %v", err)
	}
}

// The content of a file stays whose record cannot be read, such as one of a later release.
func TestContentOfAnUnreadableFileStays(t *testing.T) {
	b := setUp(t, echo)
	later, err := queue.NewTable[string](t.Context(), b.engine, "files")
	if err != nil {
		t.Fatal(err)
	}
	id := newID("file-")
	if err := later.Create(t.Context(), "everyone."+id, "of another form"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.st.content.Write(t.Context(), queue.Input, id, strings.NewReader("text")); err != nil {
		t.Fatal(err)
	}
	advance(t, 2*time.Hour)
	if err := dropOrphans(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if names, err := b.st.content.Names(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("what is left: %v, %v", names, err)
	}
}

func TestOldestBatchesOfAKeyAreForgotten(t *testing.T) {
	b := setUp(t, echo)
	var all []record
	for n := range maxFinished + 2 { // the newest first, the oldest of which has not ended
		all = append(all, record{Owner: "a", Batch: Batch{ID: fmt.Sprintf("batch_%06d", maxFinished+1-n), Status: completed}})
	}
	oldest := all[maxFinished]
	all[maxFinished+1].Status = inProgress
	other := record{Owner: "b", Batch: Batch{ID: "batch_000000", Status: completed}}
	kept := []record{all[0], all[maxFinished-1], all[maxFinished+1], other}
	for _, r := range append(kept, oldest) {
		if err := b.st.batches.Create(t.Context(), r.key(), r); err != nil {
			t.Fatal(err)
		}
	}
	outlines := map[string]outline{}
	for _, r := range append(all, other) {
		outlines[r.key()] = r.outline()
	}
	if err := b.st.dropOldest(t.Context(), outlines); err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	err := b.st.outlines.Each(t.Context(), "", func(key string, _ outline) error {
		left[key] = true
		return nil
	})
	if err != nil || len(left) != len(kept) || left[oldest.key()] {
		t.Errorf("%d are left, %v", len(left), err)
	}
}
