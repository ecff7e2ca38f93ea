package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/memory"
)

// clockOffset is how far the clock of the tests is ahead.
var clockOffset atomic.Int64

func init() {
	clock = func() time.Time { return time.Now().Add(time.Duration(clockOffset.Load())) }
}

// advance sets the clock ahead until the test ends.
func advance(t *testing.T, d time.Duration) {
	clockOffset.Add(int64(d))
	t.Cleanup(func() { clockOffset.Store(0) })
}

// noMeter is a Meter that counts nothing.
type noMeter struct{}

func (noMeter) CountLine(string, bool)    {}
func (noMeter) SetBatches(map[string]int) {}
func (noMeter) SetBatchTasks(string, int) {}

type send = func(context.Context, Request) Reply

// echo answers a line with its body.
func echo(_ context.Context, r Request) Reply { return Reply{Status: http.StatusOK, Body: r.Body} }

// fixture is a service on an embedded engine. Its workers do not run until work is called.
type fixture struct {
	*Service
	st     *stores
	engine *queue.Engine
}

var echoEndpoint = Endpoint{URL: "/v1/echo", API: "echo", Path: "/v1/echo", Lines: SlowLines, Bytes: 1 << 20}

// memoryBudget is the memory of the fixture for long lines, in bytes.
const memoryBudget = 1 << 20

func setUp(t *testing.T, send send) *fixture {
	t.Helper()
	return setUpOn(t, queue.Config{Folder: t.TempDir()}, send)
}

// setUpOn is setUp on any engine.
func setUpOn(t *testing.T, storage queue.Config, send send) *fixture {
	t.Helper()
	engine, err := queue.Open(context.Background(), storage, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	s := New(Config{FileBytes: 8 << 20, Requests: 1000, Concurrency: 8, KeepFiles: 30 * 24 * time.Hour}, Program{
		Endpoints: func(string) []Endpoint { return []Endpoint{echoEndpoint} },
		APIs:      []string{"echo"},
		Send:      send,
		Acquire:   func(context.Context) (func(), error) { return func() {}, nil },
		Memory:    memory.NewBudget(memoryBudget, time.Millisecond),
		Meter:     noMeter{},
		Logger:    zerolog.Nop(),
	})
	st, err := openStores(t.Context(), engine, s.program.APIs)
	if err != nil {
		t.Fatal(err)
	}
	s.storage.Set(engine, st)
	return &fixture{Service: s, st: st, engine: engine}
}

// work starts the workers of the service.
func (b *fixture) work(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	err := b.Begin(ctx, b.engine, &ended)
	if err == nil {
		b.st, err = b.storage.Open(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		ended.Wait()
	})
}

// lines returns a file of n requests with the ids line-0, line-1 …
func lines(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"custom_id":"line-%d","method":"POST","url":"/v1/echo","body":{"n":%d}}`+"\n", i, i)
	}
	return text.String()
}

// formOf returns a multipart form with a file for batches.
func formOf(t *testing.T, content string) (contentType string, body []byte) {
	t.Helper()
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	_ = w.WriteField("purpose", "batch")
	part, err := w.CreateFormFile("file", "in.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(part, content)
	_ = w.Close()
	return w.FormDataContentType(), text.Bytes()
}

// batchOf creates a batch of n lines.
func (b *fixture) batchOf(t *testing.T, n int) Batch {
	t.Helper()
	contentType, body := formOf(t, lines(n))
	file, err := b.upload(t.Context(), "", contentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return b.batchFrom(t, file.ID)
}

// batchFrom creates a batch from an uploaded file.
func (b *fixture) batchFrom(t *testing.T, fileID string) Batch {
	t.Helper()
	batch, err := b.create(t.Context(), "", "", echoBatch(fileID))
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func echoBatch(fileID string) Create {
	return Create{InputFileID: fileID, Endpoint: echoEndpoint.URL, CompletionWindow: "24h"}
}

// record returns the record of a batch.
func (b *fixture) record(t *testing.T, id string) record {
	t.Helper()
	r, _, err := b.batch(t.Context(), "", id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// awaitStatus waits until a batch has a status.
func (b *fixture) awaitStatus(t *testing.T, id, status string) record {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if r := b.record(t, id); r.Status == status {
			return r
		}
	}
	t.Fatalf("status is %s, want %s", b.record(t, id).Status, status)
	return record{}
}

// results returns the lines of an output or error file, none if there is no file.
func (b *fixture) results(t *testing.T, file *string) (answers []Answer) {
	t.Helper()
	if file == nil {
		return nil
	}
	_, content, err := b.read(t.Context(), "", *file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(content)
	for {
		var a Answer
		if err := decoder.Decode(&a); err == io.EOF {
			return answers
		} else if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
}

func customIDs(answers []Answer) (ids []string) {
	for _, a := range answers {
		ids = append(ids, a.CustomID)
	}
	return ids
}
