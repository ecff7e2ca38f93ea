package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata and the table in SETTINGS.md")

// TestMain removes the settings of the user from the environment.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "RETORT_") && !strings.HasPrefix(name, "RETORT_TEST_") {
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// console is a buffer for the output of the program. It can be read while the program writes.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// program is the program on free ports in front of a test Triton.
type program struct {
	t      *testing.T
	triton *tritontest.Server
	out    console
	ports  map[string]string // URL by listener: "main", "embedding", …
	stop   context.CancelFunc
	ended  chan struct{}
	err    error // of run; set when ended is closed
}

// start runs the program with the embedding models of the real repository, whose graphs are replaced by a toy.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	return startWith(t, tritontest.Start(t, entry(t, "minilm_embed"), entry(t, "minilm_embed_qa")), args...)
}

// startWith runs the program in front of a test Triton with at least one embedding model.
func startWith(t *testing.T, server *tritontest.Server, args ...string) *program {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	p := &program{t: t, triton: server, ports: map[string]string{}, stop: stop, ended: make(chan struct{})}
	args = append([]string{
		"serve", "--host=127.0.0.1", "--port=-1", "--triton-url=" + p.triton.URL(),
		"--model-repository=../model_repository", "--discovery=50ms", "--log-format=json", "--log-level=debug", "--no-jobs",
	}, args...)
	for _, s := range services {
		args = append(args, "--"+s.name+"-port=-1")
	}
	go func() {
		defer close(p.ended)
		p.err = run(ctx, args, &p.out)
	}()
	t.Cleanup(p.await)
	p.eventually("it listens", p.listening)
	p.eventually("the models are found", func() bool {
		status, _ := p.get("embedding", "/v1/health/ready")
		return status == 200
	})
	return p
}

// await stops the program and returns when it has ended.
func (p *program) await() {
	p.stop()
	http.DefaultClient.CloseIdleConnections()
	<-p.ended
	if p.err != nil {
		p.t.Error(p.err)
	}
}

var opened = regexp.MustCompile(`"listener":"(\w+)","address":"([^"]+)"`)

// secure is true while the program under test speaks TLS.
var secure bool

func scheme() string {
	if secure {
		return "https://"
	}
	return "http://"
}

func (p *program) listening() bool {
	for _, m := range opened.FindAllStringSubmatch(p.out.String(), -1) {
		p.ports[m[1]] = scheme() + m[2]
	}
	return len(p.ports) == 1+len(services)
}

// patience is the timeout of every wait: a wait takes seconds on an idle machine, and one that takes this long hangs.
const patience = 5 * time.Minute

// eventually waits until holds returns true.
func (p *program) eventually(what string, holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: not within %v\n%s", what, patience, p.out.String())
		}
	}
}

func (p *program) get(port, path string) (int, string) {
	p.t.Helper()
	res, err := http.Get(p.ports[port] + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func (p *program) post(port, path, body string) (int, string) {
	p.t.Helper()
	res, err := http.Post(p.ports[port]+path, "application/json", strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// traced is the traceparent of the newest request to a toy model.
var traced atomic.Value

// entry is an embedding entry of the real repository, whose vector is made of the row's tokens alone: the k-th token
// lengthens dimension id mod 384.
func entry(t *testing.T, name string) tritontest.Model {
	return tritontest.Model{
		Config: tritontest.ConfigFile(t, filepath.Join("..", "model_repository", name, "config.pbtxt")),
		Infer: func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
			if md, ok := metadata.FromIncomingContext(ctx); ok && len(md.Get("traceparent")) > 0 {
				traced.Store(md.Get("traceparent")[0])
			}
			ids, _ := tritontest.Input(r, "input_ids")
			mask, _ := tritontest.Input(r, "attention_mask")
			tokens, err := triton.Values[int64](ids)
			if err != nil {
				return nil, err
			}
			real, err := triton.Values[int64](mask)
			if err != nil {
				return nil, err
			}
			rows, length := ids.Shape[0], int(ids.Shape[1])
			out := make([]float32, rows*384)
			for i, id := range tokens {
				out[i/length*384+int(id)%384] += float32(real[i])
			}
			for row := range rows {
				normalize(out[row*384 : (row+1)*384])
			}
			vectors := triton.Float32s("sentence_embedding", []int64{rows, 384}, out)
			return &triton.Response{Outputs: []triton.Tensor{vectors}}, nil
		},
	}
}

func normalize(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
}

// TestConversations compares the answers to good and bad requests with text files: see testdata/README.md.
func TestConversations(t *testing.T) {
	p := start(t)
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { p.converse(t, file) })
	}
}

// converse replays a file: blocks of "> port METHOD path", the body, and the answer after "<".
func (p *program) converse(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var replay strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		request, _, _ := strings.Cut(block, "\n< ")
		head, body, _ := strings.Cut(request, "\n")
		var port, method, path string
		if _, err := fmt.Sscanf(head, "> %s %s %s", &port, &method, &path); err != nil {
			t.Fatalf("%q: %v", head, err)
		}
		status, answer := 0, ""
		if method == "GET" {
			status, answer = p.get(port, path)
		} else {
			status, answer = p.post(port, path, body)
		}
		fmt.Fprintf(&replay, "%s\n< %d %s\n\n", request, status, shortened(answer))
	}
	got := strings.TrimSpace(replay.String()) + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != string(text) {
		t.Errorf("%s: the answers differ (go test -update rewrites them); replay:\n%s", file,
			firstDifference(got, string(text)))
	}
}

var vector = regexp.MustCompile(`\[-?\d[^\]]{40,}\]|"[A-Za-z0-9+/=]{200,}"`)

// shortened replaces the vectors in an answer by an ellipsis.
func shortened(answer string) string {
	return strings.TrimSpace(vector.ReplaceAllString(answer, `"…"`))
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return a[i] + "\nwanted:\n" + strings.Join(b[min(i, len(b)):min(i+1, len(b))], "\n")
		}
	}
	return "it ends early"
}

func TestEmbeddingsKeepOrderAndCount(t *testing.T) {
	p := start(t)
	var texts []string
	for i := range 300 {
		texts = append(texts, strings.Repeat(fmt.Sprintf("word%d ", i), 1+i*7%50))
	}
	many := p.embed(texts, "float")
	for _, i := range []int{0, 17, 150, 299} {
		one := p.embed(texts[i:i+1], "base64")
		if d := distance(many.vectors[i], one.vectors[0]); d > 1e-6 {
			t.Errorf("text %d: alone and among others differ by %g", i, d)
		}
	}
	tokens := 0
	for _, text := range texts {
		tokens += p.embed([]string{text}, "float").tokens
	}
	if many.tokens != tokens {
		t.Errorf("usage counts %d tokens, one by one %d", many.tokens, tokens)
	}
}

type embedded struct {
	vectors [][]float32
	tokens  int
}

func (p *program) embed(texts []string, format string) embedded {
	p.t.Helper()
	body, _ := json.Marshal(map[string]any{
		"model": "sentence-transformers/all-MiniLM-L6-v2", "input": texts, "encoding_format": format,
	})
	status, text := p.post("embedding", "/v1/embeddings", string(body))
	var answer struct {
		Data []struct {
			Index     int
			Embedding json.RawMessage
		}
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 {
		p.t.Fatal(status, text, err)
	}
	e := embedded{tokens: answer.Usage.Prompt, vectors: make([][]float32, len(texts))}
	for i, d := range answer.Data {
		if d.Index != i {
			p.t.Fatalf("element %d has index %d", i, d.Index)
		}
		e.vectors[i] = p.decode(d.Embedding, format)
	}
	return e
}

func (p *program) decode(raw json.RawMessage, format string) (v []float32) {
	p.t.Helper()
	if format == "float" {
		if err := json.Unmarshal(raw, &v); err != nil {
			p.t.Fatal(err)
		}
		return v
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		p.t.Fatal(err)
	}
	bytes, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		p.t.Fatal(err)
	}
	for ; len(bytes) > 0; bytes = bytes[4:] {
		v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(bytes)))
	}
	return v
}

func distance(a, b []float32) (most float64) {
	for i := range a {
		most = max(most, math.Abs(float64(a[i]-b[i])))
	}
	return most
}

func TestModelsComeAndGo(t *testing.T) {
	p := start(t)
	const (
		one = `{"model":"sentence-transformers/all-MiniLM-L6-v2","input":"a"}`
		two = `{"model":"retort/minilm-embedqa-v2-query","input":"a"}`
	)
	answers := func(body string, status int) func() bool {
		return func() bool { got, _ := p.post("embedding", "/v1/embeddings", body); return got == status }
	}
	p.eventually("the second model serves", answers(two, 200))
	if all, _ := p.get("main", "/v1/health/ready"); all != 503 {
		t.Errorf("ready is %d while only the embedding API can serve", all)
	}
	if some, _ := p.get("main", "/v1/health/ready?any"); some != 200 {
		t.Errorf("ready?any is %d while the embedding API can serve", some)
	}
	p.triton.Unload("minilm_embed_qa")
	p.eventually("the second model is gone", answers(two, 404))
	if !answers(one, 200)() {
		t.Error("the first model is gone too")
	}
	p.triton.Load("minilm_embed_qa")
	p.eventually("the second model is back", answers(two, 200))
	p.triton.Stop()
	p.eventually("Triton is gone", answers(one, 503))
	p.eventually("readiness says so", func() bool {
		status, text := p.get("main", "/v1/health/ready")
		return status == 503 && strings.Contains(text, `"embedding":false`)
	})
	p.eventually("no API is ready", func() bool {
		status, _ := p.get("main", "/v1/health/ready?any")
		return status == 503
	})
	p.triton.Restart()
	p.eventually("Triton is back", answers(one, 200))
}

func TestEveryRequestIsLoggedAndCounted(t *testing.T) {
	p := start(t)
	p.embed([]string{"a", "b"}, "float")
	if log := p.out.String(); !strings.Contains(log, `"path":"/v1/embeddings","status":200`) ||
		!strings.Contains(log, `"rows":2`) {
		t.Errorf("no log line of the request:\n%s", log)
	}
	_, metrics := p.get("main", "/metrics")
	for _, want := range []string{
		`retort_http_requests_total{api="embedding",method="POST",route="/v1/embeddings",status="200"} 1`,
		`retort_tokens_total{api="embedding"} 6`, `retort_batch_rows_count{api="embedding"}`, `retort_triton_up 1`,
		`retort_http_waiting{api="ranking"} 0`, `retort_http_refused_total{api="chat"} 0`,
		`retort_models_ready{api="embedding"} 2`, `retort_http_own_seconds_count{api="embedding",route="/v1/embeddings"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

func TestLinksPage(t *testing.T) {
	p := start(t)
	status, text := p.get("main", "/apis")
	for _, want := range []string{"<h1>Retort</h1>", "Text embedding", "retort/minilm-embedqa-v2",
		`href="embedding/docs"`} {
		if status != 200 || !strings.Contains(text, want) {
			t.Errorf("the page of links (%d) lacks %s", status, want)
		}
	}
	if status, text := p.get("main", "/"); status != 200 || !strings.Contains(text, `src="page/assets/main.js"`) {
		t.Errorf("the web page: %d", status)
	}
	if status, _ := p.get("main", "/page/assets/none.js"); status != 404 {
		t.Errorf("an unknown asset: %d", status)
	}
	for _, s := range services {
		if status, _ := p.get("main", "/"+s.name+"/openapi.json"); status != 200 {
			t.Errorf("/%s/openapi.json: %d", s.name, status)
		}
		for port, path := range map[string]string{"main": "/" + s.name, s.name: "/"} {
			if status, text := p.get(port, path); status != 200 || !strings.Contains(text, "SwaggerUIBundle") {
				t.Errorf("%s %s does not lead to the documentation: %d", port, path, status)
			}
		}
	}
}

func TestDrainLetsRequestsEnd(t *testing.T) {
	slow := entry(t, "minilm_embed")
	answer := slow.Infer
	started := make(chan struct{}, 1)
	draining := make(chan struct{})
	slow.Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		started <- struct{}{}
		<-draining
		return answer(ctx, r)
	}
	p := startWith(t, tritontest.Start(t, slow))
	status := make(chan int, 1)
	go func() {
		got, _ := p.post("embedding", "/v1/embeddings",
			`{"model":"sentence-transformers/all-MiniLM-L6-v2","input":"a"}`)
		status <- got
	}()
	<-started
	p.stop()
	p.eventually("new requests are refused", func() bool {
		res, err := http.Get(p.ports["embedding"] + "/v1/health/live")
		if err == nil {
			res.Body.Close()
		}
		return err != nil || res.StatusCode != http.StatusOK
	})
	close(draining)
	if got := <-status; got != 200 {
		t.Errorf("the request in flight was answered with %d", got)
	}
	p.await()
	if _, err := http.Get(p.ports["embedding"] + "/v1/health/live"); err == nil {
		t.Error("it still listens")
	}
}
