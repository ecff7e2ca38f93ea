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

// later is how far the clock of the tests is ahead.
var later atomic.Int64

func init() { clock = func() time.Time { return time.Now().Add(time.Duration(later.Load())) } }

// wait sets the clock of a test ahead.
func wait(t *testing.T, d time.Duration) {
	later.Add(int64(d))
	t.Cleanup(func() { later.Store(0) })
}

// silent is a Meter.
type silent struct{}

func (silent) Line(string, bool)      {}
func (silent) Batches(map[string]int) {}
func (silent) BatchTasks(string, int) {}

type ask = func(context.Context, Question) (status int, answer []byte)

// echo answers a line with its body.
func echo(_ context.Context, q Question) (int, []byte) { return http.StatusOK, q.Body }

// bench is a service over an embedded engine of its own, in which nothing works until work is called.
type bench struct {
	*Service
	st     *stores
	engine *queue.Engine
}

func setUp(t *testing.T, ask ask) *bench {
	t.Helper()
	return setUpOn(t, queue.Config{Folder: t.TempDir()}, ask)
}

// setUpOn is setUp over another engine.
func setUpOn(t *testing.T, storage queue.Config, ask ask) *bench {
	t.Helper()
	engine, err := queue.Open(context.Background(), storage, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	s := New(Config{FileBytes: 8 << 20, Requests: 1000, Concurrency: 8, KeepFiles: 30 * 24 * time.Hour}, Outside{
		Endpoints: func(string) []Endpoint {
			return []Endpoint{{URL: "/v1/echo", API: "echo", Path: "/v1/echo", Lines: SlowLines, Bytes: 1 << 20}}
		},
		APIs: []string{"echo"},
		Ask: func(ctx context.Context, q Question) Reply {
			status, body := ask(ctx, q)
			return Reply{Status: status, Body: body}
		},
		Place:  func(context.Context) (func(), error) { return func() {}, nil },
		Memory: memory.NewBudget(1<<30, time.Second),
		Meter:  silent{},
		Logger: zerolog.Nop(),
	})
	st, err := newStores(t.Context(), engine, s.outside.APIs)
	if err != nil {
		t.Fatal(err)
	}
	s.stores.Store(st)
	return &bench{Service: s, st: st, engine: engine}
}

// work has the service's own workers begin.
func (b *bench) work(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	if err := b.Begin(ctx, b.engine, &ended); err != nil {
		t.Fatal(err)
	}
	b.st = b.stores.Load()
	t.Cleanup(func() {
		stop()
		ended.Wait()
	})
}

// lines are a file of so many requests, the custom_id of which are line-0, line-1 …
func lines(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"custom_id":"line-%d","method":"POST","url":"/v1/echo","body":{"n":%d}}`+"\n", i, i)
	}
	return text.String()
}

// formOf is a body of multipart/form-data with a file for batches.
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

// batchOf uploads a file of so many lines and makes a batch of it.
func (b *bench) batchOf(t *testing.T, n int) Batch {
	t.Helper()
	contentType, body := formOf(t, lines(n))
	file, err := b.upload(t.Context(), "", contentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	made, err := b.create(t.Context(), "", "", Create{InputFileID: file.ID, Endpoint: "/v1/echo", CompletionWindow: "24h"})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// record is what is kept of a batch.
func (b *bench) record(t *testing.T, id string) record {
	t.Helper()
	r, err := b.batch(t.Context(), b.st, "", id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// until waits until a batch is in a state.
func (b *bench) until(t *testing.T, id, status string) record {
	t.Helper()
	for ends := time.Now().Add(time.Minute); time.Now().Before(ends); time.Sleep(20 * time.Millisecond) {
		if r := b.record(t, id); r.Status == status {
			return r
		}
	}
	t.Fatalf("the batch is %s, not %s", b.record(t, id).Status, status)
	return record{}
}

// results are the lines of an output or error file.
func (b *bench) results(t *testing.T, file *string) (answers []Answer) {
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
