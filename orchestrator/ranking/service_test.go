package ranking

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/triton/tritontest"
	"retort/tokenizers"
)

// toy is a ranker whose logit is the number of times that a passage has the word "reform", less 0.01 for each token of
// the query. It records its calls.
type toy struct {
	duration    time.Duration // of a call
	word        int64         // the token of "reform"
	mu          sync.Mutex
	calls       []call
	inFlight    int
	maxInFlight int
	done        atomic.Int64
}

type call struct{ rows, length, tokens int }

const toyConfig = `
name: "toy" backend: "onnxruntime" max_batch_size: 64
input [ { name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] },
        { name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] },
        { name: "token_type_ids" data_type: TYPE_INT64 dims: [ -1 ] } ]
output [ { name: "logits" data_type: TYPE_FP32 dims: [ 1 ] } ]
instance_group [ { count: 4 } ]
parameters { key: "retort_api" value { string_value: "ranking" } }
parameters { key: "model_id" value { string_value: "tests/toy" } }
parameters { key: "max_model_len" value { string_value: "64" } }`

func (m *toy) infer(_ context.Context, r *triton.Request) (*triton.Response, error) {
	input := func(name string) []int64 {
		t, _ := tritontest.Input(r, name)
		values, err := triton.Values[int64](t)
		if err != nil {
			panic(err)
		}
		return values
	}
	ids, mask, types := input("input_ids"), input("attention_mask"), input("token_type_ids")
	t, _ := tritontest.Input(r, "input_ids")
	c := call{rows: int(t.Shape[0]), length: int(t.Shape[1])}
	logits := make([]float32, c.rows)
	for i, id := range ids {
		c.tokens += int(mask[i])
		switch {
		case types[i] == 1 && id == m.word:
			logits[i/c.length]++
		case types[i] == 0 && mask[i] == 1:
			logits[i/c.length] -= 0.01
		}
	}
	m.mu.Lock()
	m.calls = append(m.calls, c)
	m.inFlight++
	m.maxInFlight = max(m.maxInFlight, m.inFlight)
	m.mu.Unlock()
	time.Sleep(m.duration)
	m.mu.Lock()
	m.inFlight--
	m.mu.Unlock()
	m.done.Add(1)
	return &triton.Response{Outputs: []triton.Tensor{triton.Float32s("logits", []int64{t.Shape[0], 1}, logits)}}, nil
}

// start returns the service over a toy behind a fake Triton.
func start(t *testing.T, m *toy) *Service {
	t.Helper()
	repository := t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "..", "model_repository", "minilm_embed", "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(repository, "toy"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(repository, "toy", "tokenizer.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	server := tritontest.Start(t, tritontest.Model{Config: tritontest.Config(t, toyConfig), Infer: m.infer})
	client, err := triton.Dial(triton.Config{URLs: []string{server.URL()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	registry := discovery.NewRegistry(client, discovery.Config{Every: time.Hour, Repository: repository})
	t.Cleanup(registry.Close)
	open := Opener(client, batching.Options{MaxTokens: 512, Concurrency: 2})
	models := discovery.NewCatalog(registry, "ranking", zerolog.Nop(), func(int) {}, open)
	for until := time.Now().Add(10 * time.Second); models.Ready() != nil; time.Sleep(10 * time.Millisecond) {
		if _ = registry.Refresh(t.Context()); time.Now().After(until) {
			t.Fatal(models.Ready())
		}
	}
	tokenizer, err := tokenizers.Load(filepath.Join(repository, "toy", "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	word, err := tokenizer.Encode("reform", tokenizers.Options{})
	if err != nil || len(word.IDs) != 3 {
		t.Fatalf("the word is not one token between two special ones: %v, %v", word, err)
	}
	m.word = int64(word.IDs[1])
	return New(Config{MaxPassages: 512, MaxDocuments: 10_000}, models)
}

func request(truncate, query string, passages ...string) Request {
	r := Request{Model: new("tests/toy"), Query: Text{query}, Truncate: truncate}
	for _, p := range passages {
		r.Passages = append(r.Passages, Text{p})
	}
	return r
}

func TestRank(t *testing.T) {
	s := start(t, &toy{})
	res, err := s.Rank(t.Context(), request("NONE", "q", "a", "reform reform", "b", "reform", "reform reform", "c"))
	if err != nil {
		t.Fatal(err)
	}
	var order []int
	for i, r := range res.Rankings {
		order = append(order, r.Index)
		if i > 0 && r.Logit > res.Rankings[i-1].Logit {
			t.Errorf("logits not in descending order: %v", res.Rankings)
		}
	}
	if want := []int{1, 4, 3, 0, 2, 5}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	if text, _ := json.Marshal(res.Rankings[:1]); !strings.HasPrefix(string(text), `[{"index":1,"logit":1.97`) {
		t.Errorf("%s", text)
	}
}

// END cuts the passage, never the query. NONE refuses the request and names the pair.
func TestLongPairs(t *testing.T) {
	s, long := start(t, &toy{}), strings.Repeat("word ", 70)
	res, err := s.Rank(t.Context(), request("END", "q", "reform "+long, long+"reform", "reform"))
	if err != nil {
		t.Fatal(err)
	}
	order := []int{res.Rankings[0].Index, res.Rankings[1].Index, res.Rankings[2].Index}
	if !slices.Equal(order, []int{0, 2, 1}) {
		t.Errorf("%v", res.Rankings)
	}
	for name, c := range map[string]struct {
		request Request
		path    string
	}{
		"NONE":           {request("NONE", "q", "a", long), `"passages",1,"text"`},
		"query too long": {request("END", long, "a"), `"passages",0,"text"`},
	} {
		_, err := s.Rank(t.Context(), c.request)
		status, body := s.RenderFault(fault.As(err))
		text, _ := json.Marshal(body)
		const want = `{"error":"Input length 74 exceeds maximum allowed token size 64"`
		if status != 400 || !strings.HasPrefix(string(text), want) || !strings.Contains(string(text), c.path) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := start(t, &toy{})
	many := request("NONE", "q", slices.Repeat([]string{"a"}, 513)...)
	other := request("NONE", "q", "a")
	other.Model = new("nobody/nothing")
	for _, c := range []struct {
		request Request
		status  int
		want    string
	}{{many, 400, "at most 512"}, {other, 404, "The model `nobody/nothing` does not exist."}} {
		_, err := s.Rank(t.Context(), c.request)
		status, body := s.RenderFault(fault.As(err))
		if text, _ := json.Marshal(body); status != c.status || !strings.Contains(string(text), c.want) {
			t.Errorf("%d %s, want %d and %q", status, text, c.status, c.want)
		}
	}
	res, err := s.Rank(t.Context(), request("NONE", "q", slices.Repeat([]string{"a"}, 512)...))
	if err != nil || len(res.Rankings) != 512 {
		t.Errorf("512 passages: %v", err)
	}
}

// A long list is split into calls of similar lengths, which run concurrently.
func TestLongListsAreSplit(t *testing.T) {
	m := &toy{duration: 5 * time.Millisecond}
	s := start(t, m)
	var passages []string
	for i := range 200 {
		passages = append(passages, strings.Repeat("word ", 1+i*37%50))
	}
	if _, err := s.Rank(t.Context(), request("NONE", "what is it?", passages...)); err != nil {
		t.Fatal(err)
	}
	rows, tokens, padded := 0, 0, 0
	for _, c := range m.calls {
		rows, tokens, padded = rows+c.rows, tokens+c.tokens, padded+c.rows*c.length
		if c.rows > 1 && c.rows*c.length > 512 {
			t.Errorf("a call of %d rows of %d tokens", c.rows, c.length)
		}
	}
	if rows != 200 || float64(padded) > 1.1*float64(tokens) {
		t.Errorf("%d rows, %d tokens padded to %d in %d calls", rows, tokens, padded, len(m.calls))
	}
	if m.maxInFlight != 2 {
		t.Errorf("%d calls in flight, want 2", m.maxInFlight)
	}
}

// Requests take turns: a single passage waits for one call of each of ten long lists, not for the lists.
func TestTurns(t *testing.T) {
	m := &toy{duration: 3 * time.Millisecond}
	s := start(t, m)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	passages := slices.Repeat([]string{strings.Repeat("word ", 40)}, 100)
	var lists sync.WaitGroup
	var failed atomic.Int64
	for i := range 10 {
		lists.Go(func() {
			if _, err := s.Rank(ctx, request("NONE", fmt.Sprint("list ", i), passages...)); err != nil {
				failed.Add(1)
			}
		})
	}
	for m.done.Load() < 5 {
		time.Sleep(time.Millisecond)
	}
	for range 5 {
		before := m.done.Load()
		if _, err := s.Rank(ctx, request("NONE", "a query of its own", "reform")); err != nil {
			t.Fatal(err)
		}
		// Ten turns, the call itself, and calls in flight.
		if waited := m.done.Load() - before; waited > 16 {
			t.Errorf("a single passage waited for %d calls", waited)
		}
	}
	lists.Wait()
	if total := m.done.Load(); failed.Load() > 0 || total < 90 {
		t.Errorf("%d lists failed, %d calls in all", failed.Load(), total)
	}
}

// CHUNK reads a passage of any length: its logit is that of the best chunk. The answer says what was read.
func TestChunks(t *testing.T) {
	s := start(t, &toy{})
	filler := strings.Repeat("word ", 200)
	passages := []string{filler, filler + "reform", filler + "reform" + filler, "short", "reform reform " + filler}
	res, err := s.Rank(t.Context(), request("CHUNK", "q", passages...))
	if err != nil {
		t.Fatal(err)
	}
	var order []int
	for _, r := range res.Rankings {
		order = append(order, r.Index)
	}
	if want := []int{4, 1, 2, 0, 3}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", res.Rankings, want)
	}
	// Of 64 tokens, 60 are left for a passage and 53 of them are new in each chunk but the first.
	if u := res.Usage; u == nil || u.Chunks != 4+4+8+4 || u.TruncatedTokens != 0 || u.PromptTokens < 1000+21*4 {
		t.Errorf("usage %+v", res.Usage)
	}
	for _, r := range res.Rankings { // each alone has the same logit
		alone, err := s.Rank(t.Context(), request("CHUNK", "q", passages[r.Index]))
		if err != nil || alone.Rankings[0].Logit != r.Logit {
			t.Errorf("passage %d alone: %v, %v, want %v", r.Index, alone, err, r.Logit)
		}
	}
	res, err = s.Rank(t.Context(), request("END", "q", filler, "short"))
	if err != nil || *res.Usage != (Usage{PromptTokens: 64 + 5, TotalTokens: 64 + 5, TruncatedTokens: 140}) {
		t.Errorf("END: %+v, %v", res.Usage, err)
	}
	if res, err = s.Rank(t.Context(), request("NONE", "q", "short")); err != nil || res.Usage != nil {
		t.Errorf("NONE: %+v, %v", res.Usage, err)
	}
	_, err = s.Rank(t.Context(), request("CHUNK", filler, "short"))
	if f := fault.As(err); f.Kind != fault.Invalid || f.Field() != "passages[0].text" {
		t.Errorf("a query too long: %v", err)
	}
	_, err = s.Rank(t.Context(), request("CHUNK", strings.Repeat("word ", 60), "a", strings.Repeat("a ", 70_000)))
	if f := fault.As(err); f.Kind != fault.Invalid || f.Field() != "passages[1].text" {
		t.Errorf("too many chunks: %v", err)
	}
}

// Of a passage, PassageTokens are read. A query that is too long is cut to half of the window.
func TestPassageTokens(t *testing.T) {
	s := start(t, &toy{})
	score := func(p Pairs) Scores {
		p.Long, p.Path = Chunk, func(i int) []any { return []any{i} }
		scores, err := s.Score(t.Context(), nil, p)
		if err != nil {
			t.Fatal(err)
		}
		return scores
	}
	hundred := strings.Repeat("word ", 99) + "reform"
	got := score(Pairs{Query: "q", Passages: []string{hundred, "word " + hundred, "word"}, PassageTokens: 100})
	if got.Logits[0] != 0.97 || got.Logits[1] != -0.03 || got.Read.PassagesCut != 1 || got.Read.QueryCut {
		t.Errorf("%+v", got)
	}
	long := Pairs{Query: strings.Repeat("word ", 5000), Passages: []string{hundred}, ShortenQuery: true}
	if got = score(long); math.Abs(float64(got.Logits[0])-0.66) > 1e-5 || !got.Read.QueryCut {
		t.Errorf("%+v", got)
	}
	half := Pairs{Query: strings.Repeat("word ", 32), Passages: []string{hundred}, ShortenQuery: true}
	if got = score(half); got.Read.QueryCut {
		t.Errorf("%+v", got)
	}
}

// A single input is read without a query.
func TestInputs(t *testing.T) {
	s := start(t, &toy{})
	long := strings.Repeat("word ", 100)
	in := Inputs{
		Items: [][]string{{"a reform"}, {"q", "reform Reform"}, {long}, {"q", long}},
		Cut:   true,
		Path:  func(i int) []any { return []any{"inputs", i} },
	}
	scores, err := s.ScoreInputs(t.Context(), in)
	if want := []float32{-0.04, 1.97, -0.64, -0.03}; err != nil || len(scores.Logits) != len(want) {
		t.Fatalf("%v, %v, want %v", scores, err, want)
	} else {
		for i := range want {
			if math.Abs(float64(scores.Logits[i]-want[i])) > 1e-5 {
				t.Errorf("input %d: %v, want %v", i, scores.Logits[i], want[i])
			}
		}
	}
	in.Cut = false
	if _, err = s.ScoreInputs(t.Context(), in); fault.As(err).Field() != "inputs[2]" {
		t.Errorf("%v", err)
	}
}

// A list of any size goes to the model in pieces: a single passage of another client is answered meanwhile.
func TestManyDocumentsTakeTurns(t *testing.T) {
	m := &toy{duration: time.Millisecond}
	s := start(t, m)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	documents := make([]string, 10_000)
	for i := range documents {
		documents[i] = strings.Repeat("word ", i%30)
	}
	documents[7777] = strings.Repeat("word ", 500) + "reform"
	type result struct {
		scores Scores
		err    error
	}
	all := make(chan result)
	go func() {
		scores, err := s.Score(ctx, nil, Pairs{
			Query: "q", Passages: documents, Long: Chunk, Path: func(i int) []any { return []any{i} },
		})
		all <- result{scores, err}
	}()
	for m.done.Load() < 5 {
		time.Sleep(time.Millisecond)
	}
	for range 20 {
		before := m.done.Load()
		if _, err := s.Rank(ctx, request("NONE", "a query of its own", "reform")); err != nil {
			t.Fatal(err)
		}
		if waited := m.done.Load() - before; waited > 8 {
			t.Errorf("a single passage waited for %d calls", waited)
		}
	}
	select {
	case <-all:
		t.Fatal("the list ended before the others")
	default:
	}
	got := <-all
	if got.err != nil || len(got.scores.Logits) != len(documents) {
		t.Fatalf("%d logits, %v", len(got.scores.Logits), got.err)
	}
	for i, rank := range Order(got.scores.Logits) {
		if i == 0 && rank.Index != 7777 || i > 0 && rank.Logit > 0 {
			t.Fatalf("rank %d is %+v", i, rank)
		}
	}
}

func TestPieces(t *testing.T) {
	sizes := slices.Repeat([]int{10}, 1000)
	sizes[600], sizes[700] = 3<<20, 1<<20-15
	var got [][2]int
	for from, to := range pieces(len(sizes), func(i int) int { return sizes[i] }) {
		got = append(got, [2]int{from, to})
	}
	want := [][2]int{{0, 512}, {512, 600}, {600, 601}, {601, 700}, {700, 702}, {702, 1000}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
