package batch

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"retort/orchestrator/jobs/queue"
)

// answered is a batch in progress of n lines, of which those before m have their answers.
func (b *bench) answered(t *testing.T, n, m int) record {
	t.Helper()
	r := b.record(t, b.batchOf(t, n).ID)
	if err := b.start(t.Context(), b.st, r); err != nil {
		t.Fatal(err)
	}
	reader := newLineReader(strings.NewReader(lines(n)), 1<<20)
	for i := range m {
		l, err := reader.next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.ensureAnswer(t.Context(), b.st, r, chunk{}, i, l, 1); err != nil {
			t.Fatal(err)
		}
	}
	return b.record(t, r.ID)
}

// ending has a batch be put together.
func (b *bench) ending(t *testing.T, r record, finalStatus string) record {
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

// onlyItsFiles checks that there is the input and what the batch names, with content and records, and nothing else.
func (b *bench) onlyItsFiles(t *testing.T, r record) {
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
		t.Errorf("content of %v, not of %v; %v", names, want, err)
	}
	var ids []string
	err = b.st.fileIndex.Each(t.Context(), "", func(_ string, f fileRecord) error {
		ids = append(ids, f.ID)
		return nil
	})
	if slices.Sort(ids); err != nil || !slices.Equal(ids, want) {
		t.Errorf("records of %v, not of %v; %v", ids, want, err)
	}
}

// Workers that put a batch together at the same time, or after it has ended, leave the files of one of them.
func TestFinishTwiceAtOnce(t *testing.T) {
	b := setUp(t, echo)
	for range 5 {
		r := b.ending(t, b.answered(t, 40, 40), completed)
		var working sync.WaitGroup
		for range 4 {
			working.Go(func() {
				if err := b.finish(t.Context(), b.st, r); err != nil {
					t.Error(err)
				}
			})
		}
		working.Wait()
		if err := b.finish(t.Context(), b.st, r); err != nil { // which takes it to be unfinished
			t.Error(err)
		}
		r = b.record(t, r.ID)
		if r.Status != completed || len(b.results(t, r.OutputFileID)) != 40 || r.ErrorFileID != nil {
			t.Errorf("%s, %d lines", r.Status, len(b.results(t, r.OutputFileID)))
		}
		b.onlyItsFiles(t, r)
		if err := b.st.dropFile(t.Context(), fileRecord{Owner: r.Owner, File: File{ID: *r.OutputFileID}}); err != nil {
			t.Fatal(err)
		}
		if err := b.st.dropFile(t.Context(), fileRecord{Owner: r.Owner, File: File{ID: r.InputFileID}}); err != nil {
			t.Fatal(err)
		}
	}
}

// The files of a worker that died, or heard nothing of its last change, are removed by the sweep once the batch names
// others, and not while it has not ended.
func TestSweepRemovesResultsThatAreNoBatchs(t *testing.T) {
	b := setUp(t, echo)
	r := b.ending(t, b.answered(t, 8, 8), completed)
	lost := newResult(b.st, r, "_output")
	if err := b.st.gather(t.Context(), r, lost, newResult(b.st, r, "_error")); err != nil {
		t.Fatal(err)
	}
	if err := lost.close(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if _, err := b.st.files.Get(t.Context(), lost.record.key()); err != nil {
		t.Errorf("the batch has not ended: %v", err)
	}
	if err := b.finish(t.Context(), b.st, r); err != nil {
		t.Fatal(err)
	}
	if err := b.sweep(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	b.onlyItsFiles(t, b.record(t, r.ID))
}

// The sweep for content without a record does not touch a result that is being written, however old its batch is.
func TestOrphanSweepDuringAGather(t *testing.T) {
	b := setUp(t, echo)
	r := b.ending(t, b.answered(t, 8, 8), completed)
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
	left := newID("file-")
	if _, err := b.st.content.Write(context.Background(), queue.Input, left, strings.NewReader("of an upload that broke off")); err != nil {
		t.Fatal(err)
	}
	advance(t, 2*time.Hour)
	if err := dropOrphans(t.Context(), b.st); err != nil {
		t.Fatal(err)
	}
	if names, _ := b.st.content.Names(t.Context()); slices.Contains(names, left) || len(names) != 2 {
		t.Errorf("after the sweep there are %v", names)
	}
}
