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

// Sweeps, uploads, lists and new batches read only the records that have changed.
func TestOnlyChangesAreRead(t *testing.T) {
	const records = 500
	node := natstest.Single(t, server.RANDOM_PORT)
	b := setUpOn(t, queue.Config{Cluster: queue.Cluster{URL: []string{node.ClientURL()}}}, echo)
	for n := range records {
		batch := record{
			Owner: jobs.Owner(""),
			Batch: Batch{ID: fmt.Sprintf("batch_%06d", n), Status: completed, CreatedAt: now()},
		}
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
			file, err := b.upload(t.Context(), "", contentType, bytes.NewReader(form))
			if err == nil {
				_, err = b.deleteFile(t.Context(), "", file.ID)
			}
			return err
		},
	} {
		if n := messages(do); n >= records/2 {
			t.Errorf("%s: %d messages with %d records of each kind", name, n, records)
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
			t.Errorf("a page of three %s: %d messages with %d records of each kind", name, n, records)
		}
	}
	if n := messages(func() error {
		_, err := b.create(t.Context(), "", "", echoBatch(input.ID))
		return err
	}); n >= records/2 {
		t.Errorf("batch: %d messages with %d records of each kind", n, records)
	}
}

func TestBatchExpires(t *testing.T) {
	b := setUp(t, echo)
	r := b.batchInProgress(t, 12, 5)
	advance(t, completionWindow-time.Minute)
	if err := b.sweep(t.Context(), b.st); err != nil || b.record(t, r.ID).Status != inProgress {
		t.Fatal(b.record(t, r.ID).Status, err)
	}
	advance(t, 2*time.Minute)
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if n, err := b.st.chunks["echo"].Waiting(t.Context()); err != nil || n != 0 {
		t.Errorf("%d tasks remain, %v", n, err)
	}
	if err := b.runFinishStep(t.Context(), b.st, b.record(t, r.ID)); err != nil {
		t.Fatal(err)
	}
	r = b.record(t, r.ID)
	if r.Status != expired || r.ExpiredAt == nil || r.RequestCounts != (Counts{Total: 12, Completed: 5, Failed: 7}) {
		t.Errorf("%+v", r.Batch)
	}
	late := b.results(t, r.ErrorFileID)
	if len(late) != 7 || late[0].CustomID != "line-5" || late[0].Error.Code != "batch_expired" ||
		late[0].Response != nil {
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
		t.Errorf("the batch after KeepFiles: %v", err)
	}
	if names, err := b.st.content.Names(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("content after KeepFiles: %v, %v", names, err)
	}
}

// A batch whose input is deleted while the batch is created ends with the answers received so far and an error.
func TestDeletedInput(t *testing.T) {
	b := setUp(t, echo)
	input := func(r record) fileRecord { return fileRecord{Owner: r.Owner, File: File{ID: r.InputFileID}} }

	early := b.record(t, b.batchOf(t, 8).ID)
	if err := b.st.dropFile(t.Context(), input(early)); err != nil {
		t.Fatal(err)
	}
	if err := b.runCheckStep(t.Context(), b.st, early); err != nil {
		t.Fatal(err)
	}
	if r := b.record(t, early.ID); r.Status != failed || r.Errors.Data[0].Code != "file_not_found" {
		t.Errorf("deleted before the check: %+v", r.Batch)
	}

	running := b.batchInProgress(t, 12, 5)
	if err := b.sweep(t.Context(), b.st); err != nil || b.record(t, running.ID).Status != inProgress {
		t.Fatal(b.record(t, running.ID).Status, err)
	}
	if err := b.st.dropFile(t.Context(), input(running)); err != nil {
		t.Fatal(err)
	}
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if err := b.runFinishStep(t.Context(), b.st, b.record(t, running.ID)); err != nil {
		t.Fatal(err)
	}
	r := b.record(t, running.ID)
	if r.Status != failed || r.FailedAt == nil || r.Errors.Data[0].Code != "file_not_found" ||
		len(b.results(t, r.OutputFileID)) != 5 {
		t.Errorf("deleted in progress: %+v", r.Batch)
	}

	ended := b.setFinalizing(t, b.batchInProgress(t, 12, 5), expired)
	if err := b.st.dropFile(t.Context(), input(ended)); err != nil {
		t.Fatal(err)
	}
	if err := b.runFinishStep(t.Context(), b.st, ended); err != nil {
		t.Fatal(err)
	}
	if r := b.record(t, ended.ID); r.Status != expired || len(b.results(t, r.OutputFileID)) != 5 ||
		r.ErrorFileID != nil {
		t.Errorf("deleted after the window: %+v", r.Batch)
	}
}

// The input of a batch in progress cannot be deleted and does not expire.
func TestInputOfABatchStays(t *testing.T) {
	b := setUp(t, echo)
	r := b.batchInProgress(t, 4, 0)
	if _, err := b.deleteFile(t.Context(), "", r.InputFileID); err == nil {
		t.Error("the input was deleted")
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
		t.Errorf("the input has expired: %v", err)
	}
}

// A batch that waits for storage does not prevent the sweep from deleting expired files, and can be cancelled.
func TestSweepOfFullStorage(t *testing.T) {
	const bound = 4 * queue.PartSize
	b := setUpOn(t, queue.Config{Folder: t.TempDir(), MaxBytes: bound}, echo)
	expiring := b.batchInProgress(t, 12, 5)
	b.batchOf(t, 12) // stalls
	write := func(size int64) (r fileRecord) {
		r = fileRecord{Owner: jobs.Owner("another"), File: File{ID: newID("file-"), Bytes: size, ExpiresAt: new(now())}}
		content := bytes.NewReader(make([]byte, size))
		if _, err := b.st.content.Write(t.Context(), queue.Outcome, r.ID, content); err != nil {
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
		t.Errorf("cancel: %v", err)
	}
	advance(t, 2*time.Minute)
	if err := b.sweep(t.Context(), b.st); !errors.Is(err, queue.ErrFull) {
		t.Errorf("the sweep does not report the stalled batch: %v", err)
	}
	if _, err := b.st.content.Slice(t.Context(), old.ID, 0, 1); !errors.Is(err, queue.ErrNone) {
		t.Errorf("the expired file: %v", err)
	}
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Errorf("sweep with room: %v", err)
	}
}

// The sweep keeps the content of a file whose record cannot be decoded, such as one of a later release.
func TestContentOfAnUnreadableFileStays(t *testing.T) {
	b := setUp(t, echo)
	later, err := queue.NewTable[string](t.Context(), b.engine, "files")
	if err != nil {
		t.Fatal(err)
	}
	id := newID("file-")
	if err := later.Create(t.Context(), "everyone."+id, "a record of another form"); err != nil {
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
		t.Errorf("content: %v, %v", names, err)
	}
}

func TestOldestBatchesAreDeleted(t *testing.T) {
	b := setUp(t, echo)
	var all []record
	for n := range maxFinished + 2 { // newest first; the oldest is in progress
		id := fmt.Sprintf("batch_%06d", maxFinished+1-n)
		all = append(all, record{Owner: "a", Batch: Batch{ID: id, Status: completed}})
	}
	oldest := all[maxFinished]
	all[maxFinished+1].Status = inProgress
	other := record{Owner: "b", Batch: Batch{ID: "batch_000000", Status: completed}}
	want := []record{all[0], all[maxFinished-1], all[maxFinished+1], other}
	for _, r := range append(want, oldest) {
		if err := b.st.batches.Create(t.Context(), r.key(), r); err != nil {
			t.Fatal(err)
		}
	}
	batches := map[string]record{}
	for _, r := range append(all, other) {
		batches[r.key()] = r
	}
	if err := b.st.dropOldest(t.Context(), batches); err != nil {
		t.Fatal(err)
	}
	remaining, err := b.st.batchIndex.Records(t.Context(), "")
	if _, stays := remaining[oldest.key()]; err != nil || len(remaining) != len(want) || stays {
		t.Errorf("%d batches remain, want %d, error %v", len(remaining), len(want), err)
	}
}
