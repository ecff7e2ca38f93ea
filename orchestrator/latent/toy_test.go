package latent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/chem"
	"retort/chem/synthesis"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/latent/search/toy"
	"retort/orchestrator/oracle"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/triton/tritontest"
	"retort/tokenizers/molecules"
)

func toyIDs(tb testing.TB, texts []string) (flat []int64, length int) {
	v, err := molecules.ParseVocabulary(strings.Join(toy.Vocabulary, "\n"))
	if err != nil {
		tb.Fatal(err)
	}
	smiles, err := molecules.NewSMILES(v)
	if err != nil {
		tb.Fatal(err)
	}
	rows := make([][]int32, len(texts))
	for i, text := range texts {
		if rows[i], err = smiles.Encode(text); err != nil {
			tb.Error(err)
		}
		rows[i] = append(rows[i], v.EOS)
		length = max(length, len(rows[i]))
	}
	flat = make([]int64, len(rows)*length)
	for i, row := range rows {
		for j, id := range row {
			flat[i*length+j] = int64(id)
		}
	}
	return flat, length
}

func toyParameters(role string) string {
	return fmt.Sprintf(`
parameters { key: "retort_api" value { string_value: "latent" } }
parameters { key: "role" value { string_value: %q } }
parameters { key: "model_id" value { string_value: "retort/toy" } }
parameters { key: "max_model_len" value { string_value: "64" } }`, role)
}

func toyHiddens() string {
	return fmt.Sprintf(`{ name: "hiddens" data_type: TYPE_FP32 dims: [ 1, %d ] }`, toy.Size)
}

func toyEncoderConfig() string {
	return `name: "latent_encoder" max_batch_size: 256
input [
  { name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] },
  { name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] }
]
output [ ` + toyHiddens() + ` ]` + toyParameters("encoder")
}

// toyModels returns the entries of the encoder, the decoder and the beam decoder. A call of the decoder takes delay.
func toyModels(tb testing.TB, delay time.Duration) []tritontest.Model {
	parameters := toyParameters
	hiddens := toyHiddens()
	return []tritontest.Model{
		{Config: tritontest.Config(tb, toyEncoderConfig()), Infer: toyEncoder},
		{Config: tritontest.Config(tb, `name: "latent_decoder" max_batch_size: 256
input [
  `+hiddens+`,
  { name: "temperature" data_type: TYPE_FP32 dims: [ 1 ] },
  { name: "seed" data_type: TYPE_INT64 dims: [ 1 ] }
]
output [
  { name: "token_ids" data_type: TYPE_INT64 dims: [ -1 ] },
  { name: "score" data_type: TYPE_FP32 dims: [ 1 ] }
]`+parameters("decoder")),
			Infer: func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
				select {
				case <-time.After(delay):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				return toyDecoder(tb, r)
			}},
		{Config: tritontest.Config(tb, `name: "latent_decoder_beam" max_batch_size: 64
input [ `+hiddens+`, { name: "beam_size" data_type: TYPE_INT64 dims: [ 1 ] } ]
output [
  { name: "token_ids" data_type: TYPE_INT64 dims: [ -1, -1 ] },
  { name: "score" data_type: TYPE_FP32 dims: [ -1 ] }
]`+parameters("beam_decoder")),
			Infer: func(_ context.Context, r *triton.Request) (*triton.Response, error) { return toyBeam(tb, r) }},
	}
}

func toyEncoder(_ context.Context, r *triton.Request) (*triton.Response, error) {
	ids := tensor[int64](r, "input_ids")
	mask := tensor[int64](r, "attention_mask")
	rows := int(r.Inputs[0].Shape[0])
	length := len(ids) / rows
	out := make([]float32, 0, rows*toy.Size)
	for i := range rows {
		var text strings.Builder
		for j := range length {
			if mask[i*length+j] == 1 {
				text.WriteString(toy.Vocabulary[ids[i*length+j]])
			}
		}
		out = append(out, toy.Encode(text.String())...)
	}
	return respond(triton.Float32s("hiddens", []int64{int64(rows), 1, toy.Size}, out)), nil
}

func respond(outputs ...triton.Tensor) *triton.Response { return &triton.Response{Outputs: outputs} }

func toyDecoder(tb testing.TB, r *triton.Request) (*triton.Response, error) {
	hiddens := tensor[float32](r, "hiddens")
	temperatures := tensor[float32](r, "temperature")
	seeds := tensor[int64](r, "seed")
	texts := make([]string, len(seeds))
	for i := range texts {
		texts[i] = toy.Decode(hiddens[i*toy.Size:(i+1)*toy.Size], temperatures[i], seeds[i])
	}
	ids, length := toyIDs(tb, texts)
	rows := int64(len(texts))
	return respond(
		triton.Int64s("token_ids", []int64{rows, int64(length)}, ids),
		triton.Float32s("score", []int64{rows, 1}, make([]float32, rows)),
	), nil
}

func toyBeam(tb testing.TB, r *triton.Request) (*triton.Response, error) {
	hiddens := tensor[float32](r, "hiddens")
	sizes := tensor[int64](r, "beam_size")
	width := int(slices.Max(sizes))
	var texts []string
	var scores []float32
	for i, size := range sizes {
		texts = append(texts, toy.Beams(hiddens[i*toy.Size:(i+1)*toy.Size], width)...)
		for k := range width {
			score := float32(-k)
			if k >= int(size) {
				score = -1e9
			}
			scores = append(scores, score)
		}
	}
	ids, length := toyIDs(tb, texts)
	return respond(
		triton.Int64s("token_ids", []int64{int64(len(sizes)), int64(width), int64(length)}, ids),
		triton.Float32s("score", []int64{int64(len(sizes)), int64(width)}, scores),
	), nil
}

func tensor[T triton.Element](r *triton.Request, name string) []T {
	t, _ := tritontest.Input(r, name)
	values, err := triton.Values[T](t)
	if err != nil {
		panic(err)
	}
	return values
}

// oracleModel returns an oracle that scores a fingerprint by its number of set bits.
func oracleModel(tb testing.TB) tritontest.Model {
	return tritontest.Model{Config: tritontest.Config(tb, `name: "bit_count" max_batch_size: 64
input [ { name: "fingerprint" data_type: TYPE_FP32 dims: [ 2048 ] } ]
output [ { name: "score" data_type: TYPE_FP32 dims: [ 1 ] } ]
parameters { key: "retort_api" value { string_value: "oracle" } }`),
		Infer: func(_ context.Context, r *triton.Request) (*triton.Response, error) {
			values := tensor[float32](r, "fingerprint")
			scores := make([]float32, len(values)/2048)
			for i, v := range values {
				scores[i/2048] += v
			}
			return respond(triton.Float32s("score", []int64{int64(len(scores)), 1}, scores)), nil
		}}
}

// harness is the API on a free port, in front of the toy latent space.
type harness struct {
	tb      testing.TB
	url     string
	triton  *tritontest.Server
	config  Config
	service *Service
	stop    func() // starts the shutdown: requests end early with their results so far
	drain   func() // stops accepting requests and waits for those in flight
}

var standard = Config{MaxSequences: 100, MaxHiddens: 100, MaxSeeds: 20, Generated: "strings"}

// start serves the API until the test ends.
func start(tb testing.TB, config Config, models ...tritontest.Model) *harness {
	tb.Helper()
	toy.Steps()
	for i := range models {
		models[i].Name = models[i].Config.Name
	}
	server := tritontest.Start(tb, models...)
	repository := tb.TempDir()
	write := func(name, text string) {
		file := filepath.Join(repository, "latent_encoder", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	write("vocab.txt", strings.Join(toy.Vocabulary, "\n")+"\n")
	write("latent.json", toyStatistics())
	client := server.Client()
	return serve(tb, config, client, server, repository)
}

func toyStatistics() string {
	text, _ := json.Marshal(map[string][]float64{
		"mean": make([]float64, toy.Size),
		"sd":   slices.Repeat([]float64{1}, toy.Size),
	})
	return string(text)
}

func serve(tb testing.TB, config Config, client *triton.Client, server *tritontest.Server, repository string) *harness {
	registry := discovery.NewRegistry(client, discovery.Config{Every: 50 * time.Millisecond, Repository: repository})
	tb.Cleanup(registry.Close)
	options := batching.Options{}
	silent := func(int) {}
	oracles := oracle.Config{Timeout: 5 * time.Second, Calls: 100_000}
	openOracle := oracle.Opener(client, oracles, options, func(string, string, int) {})
	planner, err := synthesis.NewPlanner(synthesis.Default())
	if err != nil {
		tb.Fatal(err)
	}
	service := New(config,
		discovery.NewSetCatalog(registry, "latent", zerolog.Nop(), silent, Opener(client, options)),
		oracle.New(oracles, discovery.NewCatalog(registry, oracle.API, zerolog.Nop(), silent, openOracle)), planner)
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second)
	defer cancel()
	isReady := func(*discovery.Snapshot) bool { return service.Ready() == nil }
	if _, err := tritontest.Wait(ctx, registry, isReady); err != nil {
		tb.Fatal(service.Ready())
	}
	life, end := context.WithCancel(context.Background())
	tb.Cleanup(end)
	stopping, stop := context.WithCancel(context.Background())
	tb.Cleanup(stop)
	g, err := gateway.New(life, service, func() bool { return false }, gateway.Options{
		Config:   gateway.Config{Concurrency: 64, Queue: 64, BodyLimit: 4 << 20, Timeout: 10 * time.Minute},
		Stopping: stopping,
		Metrics:  telemetry.NewMetrics(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	apiServer := httpserver.New(g.Handler(), httpserver.Config{})
	go func() { _ = apiServer.Serve(listener) }()
	drain := sync.OnceFunc(func() {
		if err := apiServer.Shutdown(time.Minute); err != nil {
			tb.Errorf("requests are still in flight: %v", err)
		}
	})
	tb.Cleanup(drain)
	return &harness{
		tb:      tb,
		url:     "http://" + listener.Addr().String(),
		triton:  server,
		config:  config,
		service: service,
		stop:    stop,
		drain:   drain,
	}
}

// post sends a body and returns status and answer.
func (r *harness) post(path, body string) (int, string) {
	r.tb.Helper()
	request, err := http.NewRequest(http.MethodPost, r.url+path, strings.NewReader(body))
	if err != nil {
		r.tb.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	return r.answer(request)
}

// answer sends a request and returns status and answer.
func (r *harness) answer(request *http.Request) (int, string) {
	r.tb.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.tb.Fatal(err)
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		r.tb.Fatal(err)
	}
	return response.StatusCode, text.String()
}

// refuse posts a body and returns the answer and its status.
func (r *harness) refuse(path string, body map[string]any) (string, int) {
	r.tb.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		r.tb.Fatal(err)
	}
	status, answer := r.post(path, string(text))
	return answer, status
}

// ask posts a body and decodes the answer, which must be 200.
func ask[T any](r *harness, path string, body map[string]any) T {
	r.tb.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		r.tb.Fatal(err)
	}
	status, answer := r.post(path, string(text))
	var value T
	decoder := json.NewDecoder(strings.NewReader(answer))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); status != http.StatusOK || err != nil {
		r.tb.Fatalf("%s %s: %d, %v: %.500s", path, text, status, err, answer)
	}
	return value
}

func parse(tb testing.TB, smiles string) *chem.Molecule {
	tb.Helper()
	m, err := chem.Parse(smiles)
	if err != nil {
		tb.Fatalf("%q: %v", smiles, err)
	}
	return m
}
