package rerank_test

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"

	"retort/orchestrator/calibration"
	"retort/orchestrator/dialect/teibase"
	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/bind"
	"retort/orchestrator/ranking"
	"retort/orchestrator/ranking/rerank"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/triton/tritontest"
)

// fake is a ranker whose logit is the number in a passage after "says".
type fake struct {
	got   ranking.Pairs
	cut   bool
	more  ranking.Reading // of which Rows are added
	scale calibration.Beta
}

func (f *fake) ID() string { return "tests/fake" }

func (f *fake) Encoder() *encoder.Encoder { return nil }

func (f *fake) Calibration() calibration.Beta { return f.scale }

func (f *fake) Score(_ context.Context, p ranking.Pairs) (logits []float32, read ranking.Reading, err error) {
	f.got, read = p, f.more
	for i, passage := range p.Passages {
		_, number, found := strings.Cut(passage, "says ")
		var logit float32
		if !found || json.Unmarshal([]byte(number), &logit) != nil {
			return nil, read, fault.New(fault.Invalid, "no number").Under(p.Path(i)...)
		}
		logits = append(logits, logit)
		read.Rows++
		read.Tokens += 7
	}
	return logits, read, nil
}

// ScoreInputs scores an input by its last text, and adds 100 to single texts.
func (f *fake) ScoreInputs(ctx context.Context, in ranking.Inputs) ([]float32, ranking.Reading, error) {
	p := ranking.Pairs{Path: in.Path}
	for _, item := range in.Items {
		p.Passages = append(p.Passages, item[len(item)-1])
	}
	logits, read, err := f.Score(ctx, p)
	for i := range logits {
		if len(in.Items[i]) == 1 {
			logits[i] += 100
		}
	}
	f.cut = in.Cut
	return logits, read, err
}

const config = `
name: "fake" backend: "python" max_batch_size: 8
input [ { name: "a" data_type: TYPE_INT64 dims: [ 1 ] } ] output [ { name: "b" data_type: TYPE_INT64 dims: [ 1 ] } ]
parameters { key: "retort_api" value { string_value: "ranking" } }
parameters { key: "model_id" value { string_value: "tests/fake" } }`

// start returns the endpoints over a fake model.
func start(t *testing.T) (*rerank.Service, *fake) {
	t.Helper()
	server := tritontest.Start(t, tritontest.Model{Config: tritontest.Config(t, config)})
	client, err := triton.Dial(triton.Config{URLs: []string{server.URL()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	registry := discovery.NewRegistry(client, discovery.Config{Every: time.Hour, Repository: t.TempDir()})
	t.Cleanup(registry.Close)
	model := &fake{scale: calibration.Identity}
	open := func(*triton.Model) (ranking.Model, error) { return model, nil }
	models := discovery.NewCatalog(registry, "ranking", zerolog.Nop(), func(int) {}, open)
	for until := time.Now().Add(10 * time.Second); models.Ready() != nil; time.Sleep(10 * time.Millisecond) {
		if _ = registry.Refresh(t.Context()); time.Now().After(until) {
			t.Fatal(models.Ready())
		}
	}
	service := ranking.New(ranking.Config{MaxPassages: 512, MaxDocuments: 10_000}, models)
	return rerank.New(service, teibase.Limits{}), model
}

// ask binds a body to the request of a method and returns the answer as text, or the error.
func ask[R, A any, P interface {
	*R
	Validate() error
}](t *testing.T, method func(context.Context, R) (A, error), body string) (string, error) {
	t.Helper()
	var r R
	if err := bind.JSON([]byte(body), &r); err != nil {
		return "", err
	}
	if err := P(&r).Validate(); err != nil {
		return "", err
	}
	answer, err := method(t.Context(), r)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

func TestAnswers(t *testing.T) {
	s, model := start(t)
	for _, c := range []struct{ body, has string }{
		{`{"query":"q","documents":["says -1","says 2","says 2"]}`,
			`"results":[{"index":1,"relevance_score":0.8807970779778823},{"index":2,"relevance_score":0.8807970779778823},{"index":0,"relevance_score":0.2689414213699951}]`},
		{`{"query":"q","documents":["says -1","says 2"],"top_n":1,"return_documents":true}`,
			`"results":[{"index":1,"relevance_score":0.8807970779778823,"document":{"text":"says 2"}}],"meta":{"api_version":{"version":"2"},"billed_units":{"search_units":1},"tokens":{"input_tokens":14}},"usage":{"prompt_tokens":14,"total_tokens":14}`},
		{`{"query":"q","documents":[{"text":"says 0","id":7}],"top_n":9,"return_documents":true}`,
			`[{"index":0,"relevance_score":0.5,"document":{"text":"says 0","id":7}}]`},
		{`{"query":"q","documents":[{"title":"it","body":"says 0"}],"rank_fields":["title","absent","body"]}`, `"relevance_score":0.5}`},
		{`{"query":"q","texts":["says -1","says 2"]}`, `[{"index":1,"score":0.8807970779778823},{"index":0,"score":0.2689414213699951}]`},
		{`{"query":"q","texts":["says -1","says 2"],"raw_scores":true,"return_text":true,"instruction":"any"}`,
			`[{"index":1,"text":"says 2","score":2},{"index":0,"text":"says -1","score":-1}]`},
		// Both relevance scores round to 1: the logits determine the order.
		{`{"query":"q","texts":["says 50","says 90"]}`, `[{"index":1,"score":1},{"index":0,"score":1}]`},
	} {
		if got, err := ask(t, s.Rerank, c.body); err != nil || !strings.Contains(got, c.has) {
			t.Errorf("%s: %v\n%s", c.body, err, got)
		}
	}
	for body, want := range map[string]ranking.Pairs{
		`{"query":"q","documents":[{"a":"x","b":"says 1"}],"rank_fields":["b","a","b"],"max_tokens_per_doc":9}`: {
			Passages: []string{"says 1\nx"}, Long: ranking.Chunk, ShortenQuery: true, PassageTokens: 9,
		},
		`{"query":"q","documents":["says 1"]}`: {
			Passages: []string{"says 1"}, Long: ranking.Chunk, ShortenQuery: true, PassageTokens: 4096,
		},
		`{"query":"q","texts":["says 1"],"truncate":false}`: {Passages: []string{"says 1"}},
		`{"query":"q","texts":["says 1"]}`:                  {Passages: []string{"says 1"}, Long: ranking.Cut},
	} {
		_, _ = ask(t, s.Rerank, body) // "says 1\nx" is no number
		got := model.got
		got.Query = ""
		got.Path = nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the model got %+v", body, got)
		}
	}
}

// A calibration changes relevance scores, not logits and not the order.
func TestCalibratedScores(t *testing.T) {
	s, model := start(t)
	model.scale = calibration.Beta{Low: 0.5, High: 0.5, Offset: -2}
	const documents = `{"query":"q","documents":["says -1","says 4","says 2","says 4"]`
	const texts = `{"query":"q","texts":["says -1","says 4","says 2"]`
	for body, has := range map[string]string{
		documents + `}`: `"results":[{"index":1,"relevance_score":0.5},{"index":3,"relevance_score":0.5},` +
			`{"index":2,"relevance_score":0.2689414213699951},{"index":0,"relevance_score":0.07585818002124355}]`,
		documents + `,"score_threshold":0.2}`: `"results":[{"index":1,"relevance_score":0.5},{"index":3,"relevance_score":0.5},` +
			`{"index":2,"relevance_score":0.2689414213699951}]`,
		documents + `,"score_threshold":0.5}`:               `"results":[{"index":1,"relevance_score":0.5},{"index":3,"relevance_score":0.5}]`,
		documents + `,"score_threshold":0.5,"top_n":1}`:     `"results":[{"index":1,"relevance_score":0.5}]`,
		documents + `,"score_threshold":0.51}`:              `"results":[]`,
		documents + `,"score_threshold":0,"top_n":9}`:       `{"index":0,"relevance_score":0.07585818002124355}]`,
		texts + `,"score_threshold":0.4}`:                   `[{"index":1,"score":0.5}]`,
		texts + `,"score_threshold":1}`:                     `[]`,
		texts + `,"score_threshold":0.2,"raw_scores":true}`: `[{"index":1,"score":4},{"index":2,"score":2}]`,
	} {
		if got, err := ask(t, s.Rerank, body); err != nil || !strings.Contains(got, has) {
			t.Errorf("%s: %v\n%s", body, err, got)
		}
	}
	if got, err := ask(t, s.Predict, `{"inputs":[["Q","says 4"],["Q","says 2"]]}`); err != nil ||
		got != `[[{"score":0.5,"label":"LABEL_0"}],[{"score":0.2689414213699951,"label":"LABEL_0"}]]` {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestRefusals(t *testing.T) {
	s, _ := start(t)
	for body, want := range map[string]string{
		`{"query":"q"}`:                                                         "documents: Field required",
		`{"documents":["says 1"]}`:                                              "query: Field required",
		`{"query":"q","documents":[]}`:                                          "documents: List should have at least 1 item",
		`{"query":"q","texts":[""]}`:                                            "texts[0]: String should have at least 1 character",
		`{"query":"q","documents":[3]}`:                                         "documents[0]: Input should be a valid string, or an object",
		`{"query":"q","documents":[null]}`:                                      "documents[0]: Input should be a valid string, or an object",
		`{"query":"q","documents":[{"image":"x"}]}`:                             "documents[0].text: Field required",
		`{"query":"q","documents":[{"text":7}]}`:                                "documents[0].text: Input should be a valid string",
		`{"query":"q","documents":["says 1"],"top_n":0}`:                        "top_n: Input should be greater than or equal to 1",
		`{"query":"q","documents":["says 1"],"score_threshold":1.5}`:            "score_threshold: Input should be less than or equal to 1",
		`{"query":"q","texts":["says 1"],"score_threshold":-0.1}`:               "score_threshold: Input should be greater than or equal to 0",
		`{"query":"q","texts":["says 1"],"score_threshold":"high"}`:             "score_threshold: ",
		`{"query":"q","documents":["says 1"],"model":"other"}`:                  "The model `other` does not exist.",
		`{"query":"q","texts":["says 1"],"truncation_direction":"left"}`:        "truncation_direction: Input should be 'right'",
		`{"query":"q","documents":["says 1"],"return_embeddings":true}`:         "return_embeddings: Value error",
		`{"query":"q","documents":["says 1"],"texts":["says 1"]}`:               "texts: Value error, documents and texts",
		`{"query":"q","documents":["says 1", "nothing"]}`:                       "documents[1]: no number",
		`{"query":"q","documents":["says 1"],"max_tokens_per_doc":0,"top_n":0}`: "; max_tokens_per_doc: ",
	} {
		_, err := ask(t, s.Rerank, body)
		if err == nil || !strings.Contains(err.Error()+fault.As(err).Summary(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// A batch keeps the order of its inputs, and takes whatever a single request takes.
func TestPredict(t *testing.T) {
	s, model := start(t)
	for body, want := range map[string]string{
		`{"inputs":"says 2","raw_scores":true}`:       `[{"score":102,"label":"LABEL_0"}]`,
		`{"inputs":["says 2"],"raw_scores":true}`:     `[{"score":102,"label":"LABEL_0"}]`,
		`{"inputs":["Q","says 0"]}`:                   `[{"score":0.5,"label":"LABEL_0"}]`,
		`{"inputs":[["Q","says 0"]],"parameters":{}}`: `[[{"score":0.5,"label":"LABEL_0"}]]`,
		`{"inputs":[["says 1"],["Q","says 3"],["says -1"]],"raw_scores":true,"truncate":null}`: `[[{"score":101,"label":"LABEL_0"}],` +
			`[{"score":3,"label":"LABEL_0"}],[{"score":99,"label":"LABEL_0"}]]`,
	} {
		if got, err := ask(t, s.Predict, body); err != nil || got != want || !model.cut {
			t.Errorf("%s: %v\n%s, want\n%s", body, err, got, want)
		}
	}
	if _, err := ask(t, s.Predict, `{"inputs":"says 1","truncate":false}`); err != nil || model.cut {
		t.Errorf("truncate false: %v, cut %v", err, model.cut)
	}
	many := `{"inputs":[["a"]` + strings.Repeat(`,["a"]`, 512) + `]}`
	for body, want := range map[string]string{
		`{}`:                                           "inputs: Field required",
		`{"inputs":null}`:                              "inputs: ",
		`{"inputs":[]}`:                                "inputs: List should have at least 1 item",
		`{"inputs":["a",null]}`:                        "inputs: Input should be a string, a pair",
		`{"inputs":[["a","b",null]]}`:                  "inputs[0]: Input should be a string, a pair",
		`{"inputs":[[]]}`:                              "inputs[0]: Input should be a string, a pair",
		`{"inputs":["a","b","c"]}`:                     "inputs: Input should be a string, a pair",
		`{"inputs":["a",["b"]]}`:                       "inputs: Input should be a string, a pair",
		`{"inputs":[["a"],"b"]}`:                       "inputs[1]: Input should be a string, a pair",
		`{"inputs":[["a"],["b",null]]}`:                "inputs[1]: Input should be a string, a pair",
		`{"inputs":7}`:                                 "inputs: Input should be a string, a pair",
		`{"inputs":""}`:                                "inputs[0]: String should have at least 1 character",
		`{"inputs":[["a"],["b",""]]}`:                  "inputs[1][1]: String should have at least 1 character",
		`{"inputs":[["says 1"],["no"]]}`:               "inputs[1]: no number",
		`{"inputs":"a","raw_scores":"much"}`:           "raw_scores: ",
		`{"inputs":"a","truncation_direction":"Left"}`: "truncation_direction: ",
		many: "inputs: List should have at most 512 items",
	} {
		_, err := ask(t, s.Predict, body)
		if err == nil || !strings.Contains(err.Error()+fault.As(err).Summary(), want) {
			t.Errorf("%.60s: %v, want %s", body, err, want)
		}
	}
}

// An answer says what was not read, and bills each chunk as a document.
func TestWhatWasNotRead(t *testing.T) {
	s, model := start(t)
	model.more = ranking.Reading{QueryCut: true, PassagesCut: 2, Reading: encoder.Reading{Rows: 98}}
	got, err := ask(t, s.Rerank, `{"query":"q","documents":["says -1","says 2","says 2"]}`)
	const want = `"billed_units":{"search_units":2},"tokens":{"input_tokens":21},` +
		`"warnings":["query: only its start was read, up to half of the model's context length",` +
		`"documents: of 2, only the first max_tokens_per_doc tokens were read"]}`
	if err != nil || !strings.Contains(got, want) {
		t.Errorf("%v\n%s", err, got)
	}
}

// A body of millions of texts is refused in little memory.
func TestInputsOfMillions(t *testing.T) {
	body := []byte(`{"inputs":[""` + strings.Repeat(`,""`, 5_000_000) + `]}`)
	var r rerank.PredictRequest
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := bind.JSON(body, &r)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; err == nil || got > uint64(4*len(body)) {
		t.Errorf("%d MB for a body of %d MB, %v", got>>20, len(body)>>20, err)
	}
}
