package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"

	"retort/orchestrator/jobs/queue/natstest"
)

// While the NATS cluster is missing or mute, only jobs are unavailable. They become available once it answers.
func TestAPIsServeWithoutTheirCluster(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 1)
	abandoned := make(chan struct{})
	go func() {
		defer close(abandoned)
		if conn, err := mute.Accept(); err == nil {
			accepted <- conn
			_, _ = io.Copy(io.Discard, conn) // until the gateway gives up
		}
	}()
	p := start(t, "--jobs", "--nats-url=nats://"+mute.Addr().String())
	select {
	case <-abandoned:
		t.Error("the APIs answer after the first try to connect has ended: they waited for the cluster")
	default:
	}
	for _, path := range []string{"/v1/files", "/latent/generate/jobs"} {
		if status, text := p.get("main", path); status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text := p.post("embedding", "/v1/embeddings",
		`{"model": "retort/minilm-embedqa-v2", "input": "a", "input_type": "query"}`); status != http.StatusOK {
		t.Errorf("an embedding: %d %s", status, text)
	}
	port := mute.Addr().(*net.TCPAddr).Port
	_ = mute.Close()
	_ = (<-accepted).Close()
	natstest.Single(t, port)
	p.eventually("files are kept", func() bool {
		status, _ := p.get("main", "/v1/files")
		return status == http.StatusOK
	})
}

// Two gateways share a batch over three NATS nodes. One node stops; still every line has one answer, in order.
func TestGatewaysShareABatchWhileANodeStops(t *testing.T) {
	const lines = 500
	nodes := natstest.Cluster(t, 3)
	urls := "--nats-url=" + strings.Join(natstest.URLs(nodes), ",")
	first := start(t, "--jobs", urls, "--jobs-concurrency=8")
	second := start(t, "--jobs", urls, "--jobs-concurrency=8")
	for _, p := range []*program{first, second} {
		p.eventually("the cluster keeps files", func() bool {
			status, _ := p.get("main", "/v1/files")
			return status == http.StatusOK
		})
	}
	var file strings.Builder
	for n := range lines {
		fmt.Fprintf(&file, `{"custom_id": "%d", "method": "POST", "url": "/v1/embeddings", `+
			`"body": {"model": "retort/minilm-embedqa-v2", "input": "%d"}}`+"\n", n, n)
	}
	id := first.upload(t, file.String())
	status, text := first.post("main", "/v1/batches",
		`{"input_file_id": "`+id+`", "endpoint": "/v1/embeddings", "completion_window": "24h"}`)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	batch := batchOf(t, text)
	address := "/v1/batches/" + batch.ID
	state := func() batchState {
		_, text := second.get("main", address) // which may be a 503 while the nodes choose leaders: no counts
		return batchOf(t, text)
	}
	second.eventually("some lines are answered", func() bool { return state().Counts.Completed > 0 })
	t.Logf("%d lines are answered when a node stops", state().Counts.Completed)
	nodes[1].Shutdown()
	second.eventually("the batch is completed", func() bool {
		batch = state()
		return batch.Status == "completed"
	})
	if batch.Counts.Total != lines || batch.Counts.Completed != lines {
		t.Errorf("%+v", batch)
	}
	_, output := first.get("main", "/v1/files/"+batch.Output+"/content")
	answers := strings.Split(strings.TrimSpace(output), "\n")
	if len(answers) != lines {
		t.Fatalf("%d answers", len(answers))
	}
	for n, answer := range answers {
		if !strings.Contains(answer, fmt.Sprintf(`"custom_id":"%d"`, n)) {
			t.Fatalf("answer %d is %.80s", n, answer)
		}
	}
	for _, p := range []*program{first, second} {
		if _, metrics := p.get("main", "/metrics"); !strings.Contains(metrics,
			`retort_batch_lines_total{api="embedding",outcome="ok"}`) {
			t.Error("a gateway has answered no line")
		}
	}
}

// batchState has the fields of a batch that the tests read.
type batchState struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Output string `json:"output_file_id"`
	Counts struct {
		Total     int `json:"total"`
		Completed int `json:"completed"`
	} `json:"request_counts"`
}

func batchOf(t *testing.T, text string) (b batchState) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return b
}

// upload uploads a file for batches and returns its id.
func (p *program) upload(t *testing.T, content string) (id string) {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("purpose", "batch")
	part, err := w.CreateFormFile("file", "lines.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(part, content)
	_ = w.Close()
	res, err := http.Post(p.ports["main"]+"/v1/files", w.FormDataContentType(), &form)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var file struct {
		ID string `json:"id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&file); err != nil || file.ID == "" {
		t.Fatalf("%s: %v", res.Status, err)
	}
	return file.ID
}
