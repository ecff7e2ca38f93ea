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

func TestBatchIsAnsweredInTheOrderOfItsLines(t *testing.T) {
	b := setUp(t, func(_ context.Context, r Request) Reply {
		if bytes.Contains(r.Body, []byte(`:13}`)) {
			return Reply{Status: http.StatusBadRequest, Body: []byte(`{"error":"thirteen"}`)}
		}
		return Reply{Status: http.StatusOK, Body: r.Body}
	})
	b.work(t)
	r := b.until(t, b.batchOf(t, 50).ID, completed)
	if r.RequestCounts != (Counts{Total: 50, Completed: 49, Failed: 1}) {
		t.Errorf("%+v", r.RequestCounts)
	}
	n := 0
	for _, a := range b.results(t, r.OutputFileID) {
		if n == 13 {
			n++
		}
		if want := fmt.Sprintf("map[n:%d]", n); a.CustomID != fmt.Sprintf("line-%d", n) || fmt.Sprint(a.Response.Body) != want {
			t.Errorf("line %d: %+v", n, a)
		}
		n++
	}
	wrong := b.results(t, r.ErrorFileID)
	if n != 50 || len(wrong) != 1 || wrong[0].CustomID != "line-13" || wrong[0].Response.StatusCode != http.StatusBadRequest {
		t.Errorf("%d lines, errors %+v", n, wrong)
	}
}

// What is asked when a batch is cancelled is given up; what was answered is in the output file.
func TestCancelWhileLinesAreAsked(t *testing.T) {
	asked := make(chan struct{}, 100)
	b := setUp(t, func(ctx context.Context, r Request) Reply {
		if bytes.Contains(r.Body, []byte(`:0}`)) {
			return Reply{Status: http.StatusOK, Body: r.Body}
		}
		asked <- struct{}{}
		<-ctx.Done()
		return Reply{Status: http.StatusServiceUnavailable}
	})
	b.work(t)
	made := b.batchOf(t, 50)
	<-asked
	for has := false; !has; time.Sleep(10 * time.Millisecond) {
		has, _ = b.st.answers.Has(t.Context(), made.ID, 0)
	}
	if got, err := b.cancel(t.Context(), "", made.ID); err != nil || got.Status != cancelling {
		t.Fatal(got.Status, err)
	}
	r := b.until(t, made.ID, cancelled)
	if ids := customIDs(b.results(t, r.OutputFileID)); !slices.Equal(ids, []string{"line-0"}) || r.ErrorFileID != nil {
		t.Errorf("output %v, errors %v", ids, r.ErrorFileID)
	}
	if n, err := b.st.chunks["echo"].Waiting(t.Context()); err != nil || n > 2+b.chunkWorkers("echo") {
		t.Errorf("%d tasks are left, %v", n, err)
	}
	if _, err := b.cancel(t.Context(), "", made.ID); fault.KindOf(err) != fault.Invalid {
		t.Errorf("cancelled again: %v", err)
	}
}

// A batch that is cancelled while a worker queues its lines leaves no task behind.
func TestCancelWhileLinesAreQueued(t *testing.T) {
	b := setUp(t, echo)
	made := b.batchOf(t, 50)
	if err := b.start(t.Context(), b.st, b.record(t, made.ID)); err != nil {
		t.Fatal(err)
	}
	before := b.record(t, made.ID) // as the worker sees it
	if _, err := b.cancel(t.Context(), "", made.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.st.enqueue(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if n, err := b.st.chunks["echo"].Waiting(t.Context()); err != nil || n != 0 {
		t.Errorf("%d tasks are left, %v", n, err)
	}
	if err := b.finish(t.Context(), b.st, b.record(t, made.ID)); err != nil {
		t.Fatal(err)
	}
	if r := b.record(t, made.ID); r.Status != cancelled || r.OutputFileID != nil || r.ErrorFileID != nil {
		t.Errorf("%+v", r)
	}
}

// A body that does not come, or not in time, is no broken form and no trouble of the storage; nothing is left of it.
func TestUploadThatIsCutOff(t *testing.T) {
	b := setUp(t, echo)
	contentType, body := formOf(t, strings.Repeat("x", 1<<20))
	for _, cut := range []error{io.ErrUnexpectedEOF, context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded} {
		for _, length := range []int{10, 700 << 10, len(body) - 10} {
			_, err := b.upload(t.Context(), "", contentType, io.MultiReader(bytes.NewReader(body[:length]), failing{cut}))
			var worded *fault.Error
			if !errors.Is(err, cut) || errors.As(err, &worded) {
				t.Errorf("%v after %d bytes: %v", cut, length, err)
			}
		}
	}
	if names, err := b.st.content.Names(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("%v is left, %v", names, err)
	}
	if _, err := b.upload(t.Context(), "", contentType, strings.NewReader("nonsense")); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a broken form: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// However many lines are wrong, the first errors alone are kept.
func TestErrorsOfAFileAreBounded(t *testing.T) {
	b := setUp(t, echo)
	contentType, body := formOf(t, strings.Repeat(lines(1), 900))
	file, err := b.upload(t.Context(), "", contentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	made, err := b.create(t.Context(), "", "", Create{InputFileID: file.ID, Endpoint: "/v1/echo", CompletionWindow: "24h"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.start(t.Context(), b.st, b.record(t, made.ID)); err != nil {
		t.Fatal(err)
	}
	r := b.record(t, made.ID)
	text, err := json.Marshal(r.Errors.Data)
	if err != nil || len(text) > maxErrorBytes {
		t.Errorf("%d bytes of errors, %v", len(text), err)
	}
	if r.Status != failed || len(r.Errors.Data) < 10 || len(r.Errors.Data) > maxErrors || r.Errors.Data[0].Code != "duplicate_custom_id" {
		t.Errorf("%s, %+v", r.Status, r.Errors)
	}
}

// The files of one key leave room for those of others.
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
		t.Errorf("more than a key may have: %v", err)
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
