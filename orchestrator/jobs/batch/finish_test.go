package batch

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"retort/orchestrator/jobs/queue"
)

// batchInProgress returns a batch of n lines of which the first m are answered.
func (b *fixture) batchInProgress(t *testing.T, n, m int) record {
	t.Helper()
	r := b.record(t, b.batchOf(t, n).ID)
	if err := b.runCheckStep(t.Context(), b.st, r); err != nil {
		t.Fatal(err)
	}
	reader := newLineReader(strings.NewReader(lines(n)), 1<<20)
	for i := range m {
		request, err := r.nextRequest(reader)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (attempt{b.Service, b.st, r, chunk{}, 1}).ensureAnswer(t.Context(), i, request); err != nil {
			t.Fatal(err)
		}
	}
	return b.record(t, r.ID)
}

// setFinalizing sets a batch to finalizing.
func (b *fixture) setFinalizing(t *testing.T, r record, finalStatus string) record {
	t.Helper()
	r, err := b.st.batches.Change(t.Context(), r.key(), func(r *record) error {
		r.Status = finalizing
		r.FinalStatus = finalStatus
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkFiles checks that exactly the input and the results of a batch are stored, each with content and a record.
func (b *fixture) checkFiles(t *testing.T, r record) {
	t.Helper()
	want := []string{r.InputFileID}
	for _, id := range []*string{r.OutputFileID, r.ErrorFileID} {
		if id != nil {
			want = append(want, *id)
		}
	}
	slices.Sort(want)
	names, err := b.st.content.Names(t.Context())
	if slices.Sort(names); err != nil || !slices.Equal(names, want) {
		t.Errorf("content of %v, want %v, error %v", names, want, err)
	}
	var ids []string
	records, err := b.st.fileIndex.Records(t.Context(), "")
	for _, f := range records {
		ids = append(ids, f.ID)
	}
	if slices.Sort(ids); err != nil || !slices.Equal(ids, want) {
		t.Errorf("records of %v, want %v, error %v", ids, want, err)
	}
}

// If several workers finish a batch, at once or after its end, the files of one of them remain.
func TestConcurrentFinish(t *testing.T) {
	b := setUp(t, echo)
	for range 5 {
		r := b.setFinalizing(t, b.batchInProgress(t, 40, 40), completed)
		var working sync.WaitGroup
		for range 4 {
			working.Go(func() {
				if err := b.runFinishStep(t.Context(), b.st, r); err != nil {
					t.Error(err)
				}
			})
		}
		working.Wait()
		if err := b.runFinishStep(t.Context(), b.st, r); err != nil { // with the record from before its end
			t.Error(err)
		}
		r = b.record(t, r.ID)
		if r.Status != completed || len(b.results(t, r.OutputFileID)) != 40 || r.ErrorFileID != nil {
			t.Errorf("status %s, %d lines", r.Status, len(b.results(t, r.OutputFileID)))
		}
		b.checkFiles(t, r)
		if err := b.st.dropFile(t.Context(), fileRecord{Owner: r.Owner, File: File{ID: *r.OutputFileID}}); err != nil {
			t.Fatal(err)
		}
		if err := b.st.dropFile(t.Context(), fileRecord{Owner: r.Owner, File: File{ID: r.InputFileID}}); err != nil {
			t.Fatal(err)
		}
	}
}

// The sweep deletes the result files of a worker that crashed, or whose last change was lost, once the batch has ended
// and names other files.
func TestSweepDeletesUnnamedResults(t *testing.T) {
	b := setUp(t, echo)
	r := b.setFinalizing(t, b.batchInProgress(t, 8, 8), completed)
	unnamed := newResult(b.st, r, "_output")
	if err := b.st.gather(t.Context(), r, unnamed, newResult(b.st, r, "_error")); err != nil {
		t.Fatal(err)
	}
	if err := unnamed.close(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if _, err := b.st.files.Get(t.Context(), unnamed.record.key()); err != nil {
		t.Errorf("the result of an unfinished batch: %v", err)
	}
	if err := b.runFinishStep(t.Context(), b.st, r); err != nil {
		t.Fatal(err)
	}
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	b.checkFiles(t, b.record(t, r.ID))
}

// The sweep of orphans keeps a result that is being written, however old its batch is.
func TestOrphanSweepDuringGather(t *testing.T) {
	b := setUp(t, echo)
	r := b.setFinalizing(t, b.batchInProgress(t, 8, 8), completed)
	advance(t, 3*time.Hour)
	output := newResult(b.st, r, "_output")
	row := []byte(strings.Repeat("x", queue.PartSize))
	for range 3 {
		if err := output.add(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	for names := []string(nil); !slices.Contains(names, output.record.ID); time.Sleep(10 * time.Millisecond) {
		names, _ = b.st.content.Names(t.Context())
	}
	if err := dropOrphans(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if err := output.close(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	slice, err := b.st.content.Slice(t.Context(), output.record.ID, 0, 3*queue.PartSize)
	if err != nil || strings.Trim(string(slice), "x") != "" {
		t.Errorf("%d bytes, %v", len(slice), err)
	}
	orphan := newID("file-")
	if _, err := b.st.content.Write(t.Context(), queue.Input, orphan, strings.NewReader("aborted")); err != nil {
		t.Fatal(err)
	}
	advance(t, 2*time.Hour)
	if err := dropOrphans(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if names, _ := b.st.content.Names(t.Context()); slices.Contains(names, orphan) || len(names) != 2 {
		t.Errorf("content after the sweep: %v", names)
	}
}
