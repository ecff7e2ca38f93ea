package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs/queue"
)

func TestResultsAreInTheOrderOfLines(t *testing.T) {
	b := setUp(t, func(_ context.Context, r Request) Reply {
		if bytes.Contains(r.Body, []byte(`:13}`)) {
			return Reply{Status: http.StatusBadRequest, Body: []byte(`{"error":"thirteen"}`)}
		}
		return Reply{Status: http.StatusOK, Body: r.Body}
	})
	b.work(t)
	r := b.awaitStatus(t, b.batchOf(t, 50).ID, completed)
	if r.RequestCounts != (Counts{Total: 50, Completed: 49, Failed: 1}) {
		t.Errorf("%+v", r.RequestCounts)
	}
	n := 0
	for _, a := range b.results(t, r.OutputFileID) {
		if n == 13 {
			n++
		}
		body := fmt.Sprint(a.Response.Body)
		if a.CustomID != fmt.Sprintf("line-%d", n) || body != fmt.Sprintf("map[n:%d]", n) {
			t.Errorf("line %d: %+v", n, a)
		}
		n++
	}
	failures := b.results(t, r.ErrorFileID)
	if n != 50 || len(failures) != 1 || failures[0].CustomID != "line-13" ||
		failures[0].Response.StatusCode != http.StatusBadRequest {
		t.Errorf("%d lines, failures %+v", n, failures)
	}
}

// A cancellation aborts the requests in flight. Answers received before are in the output file.
func TestCancelWhileLinesAreInFlight(t *testing.T) {
	inFlight := make(chan struct{}, 100)
	b := setUp(t, func(ctx context.Context, r Request) Reply {
		if bytes.Contains(r.Body, []byte(`:0}`)) {
			return Reply{Status: http.StatusOK, Body: r.Body}
		}
		inFlight <- struct{}{}
		<-ctx.Done()
		return Reply{Status: http.StatusServiceUnavailable}
	})
	b.work(t)
	batch := b.batchOf(t, 50)
	<-inFlight
	for has := false; !has; time.Sleep(10 * time.Millisecond) {
		has, _ = b.st.answers.Has(t.Context(), batch.ID, 0)
	}
	if got, err := b.cancel(t.Context(), "", batch.ID); err != nil || got.Status != cancelling {
		t.Fatal(got.Status, err)
	}
	r := b.awaitStatus(t, batch.ID, cancelled)
	if ids := customIDs(b.results(t, r.OutputFileID)); !slices.Equal(ids, []string{"line-0"}) || r.ErrorFileID != nil {
		t.Errorf("output %v, errors %v", ids, r.ErrorFileID)
	}
	if n, err := b.st.chunks["echo"].Waiting(t.Context()); err != nil || n > 2+b.chunkWorkers("echo") {
		t.Errorf("%d tasks remain, %v", n, err)
	}
	if _, err := b.cancel(t.Context(), "", batch.ID); fault.KindOf(err) != fault.Invalid {
		t.Errorf("cancelled again: %v", err)
	}
}

// If a batch is cancelled while a worker queues its chunks, no task remains.
func TestCancelWhileLinesAreQueued(t *testing.T) {
	b := setUp(t, echo)
	batch := b.batchOf(t, 50)
	if err := b.runCheckStep(t.Context(), b.st, b.record(t, batch.ID)); err != nil {
		t.Fatal(err)
	}
	stale := b.record(t, batch.ID) // the worker's copy
	if _, err := b.cancel(t.Context(), "", batch.ID); err != nil {
		t.Fatal(err)
	}
	chunks, _, err := b.checkInput(t.Context(), b.st, stale)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.st.pushChunks(t.Context(), stale, chunks); err != nil {
		t.Fatal(err)
	}
	if n, err := b.st.chunks["echo"].Waiting(t.Context()); err != nil || n != 0 {
		t.Errorf("%d tasks remain, %v", n, err)
	}
	if err := b.runFinishStep(t.Context(), b.st, b.record(t, batch.ID)); err != nil {
		t.Fatal(err)
	}
	if r := b.record(t, batch.ID); r.Status != cancelled || r.OutputFileID != nil || r.ErrorFileID != nil {
		t.Errorf("%+v", r)
	}
}

// An upload that is cut off is neither a broken form nor a storage fault, and leaves nothing.
func TestTruncatedUpload(t *testing.T) {
	b := setUp(t, echo)
	contentType, body := formOf(t, strings.Repeat("x", 1<<20))
	causes := []error{io.ErrUnexpectedEOF, context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded}
	for _, cause := range causes {
		for _, length := range []int{10, 700 << 10, len(body) - 10} {
			truncated := io.MultiReader(bytes.NewReader(body[:length]), failing{cause})
			_, err := b.upload(t.Context(), "", contentType, truncated)
			var asFault *fault.Error
			if !errors.Is(err, cause) || errors.As(err, &asFault) {
				t.Errorf("%v after %d bytes: %v", cause, length, err)
			}
		}
	}
	if names, err := b.st.content.Names(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("content remains: %v, %v", names, err)
	}
	_, err := b.upload(t.Context(), "", contentType, strings.NewReader("nonsense"))
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("a broken form: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// The record of a batch with many invalid lines holds a limited number of errors.
func TestErrorsOfABatchAreBounded(t *testing.T) {
	b := setUp(t, echo)
	contentType, body := formOf(t, strings.Repeat(lines(1), 900))
	file, err := b.upload(t.Context(), "", contentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	batch := b.batchFrom(t, file.ID)
	if err := b.runCheckStep(t.Context(), b.st, b.record(t, batch.ID)); err != nil {
		t.Fatal(err)
	}
	r := b.record(t, batch.ID)
	text, err := json.Marshal(r.Errors.Data)
	if err != nil || len(text) > maxErrorBytes {
		t.Errorf("%d bytes of errors, %v", len(text), err)
	}
	if r.Status != failed || len(r.Errors.Data) < 10 || len(r.Errors.Data) > maxErrors ||
		r.Errors.Data[0].Code != "duplicate_custom_id" {
		t.Errorf("%s, %+v", r.Status, r.Errors)
	}
}

// A key may fill only a share of the storage.
func TestFilesOfAKeyAreBounded(t *testing.T) {
	const bound = 4 << 20
	b := setUpOn(t, queue.Config{Folder: t.TempDir(), OwnerBytes: bound}, echo)
	contentType, body := formOf(t, strings.Repeat("x", bound*2/3))
	upload := func(caller string) (string, error) {
		file, err := b.upload(t.Context(), caller, contentType, bytes.NewReader(body))
		return file.ID, err
	}
	first, err := upload("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := upload("a"); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "delete some") {
		t.Errorf("above the quota: %v", err)
	}
	if _, err := upload("b"); err != nil {
		t.Errorf("another key: %v", err)
	}
	for range 2 {
		if _, err := upload(""); err != nil {
			t.Errorf("without keys: %v", err)
		}
	}
	if _, err := b.deleteFile(t.Context(), "a", first); err != nil {
		t.Fatal(err)
	}
	if _, err := upload("a"); err != nil {
		t.Errorf("after a deletion: %v", err)
	}
	if names, err := b.st.content.Names(t.Context()); err != nil || len(names) != 4 {
		t.Errorf("%d files, %v", len(names), err)
	}
}
