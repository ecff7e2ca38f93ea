package embedding

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/bind"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/triton/tritontest"
	"retort/tokenizers"
)

// toy is a model with vectors of four numbers: length of the text, 1 for a query, 1 for a passage, and 12.
type toy struct{ about About }

func (m *toy) About() About { return m.about }

func (m *toy) Encoder() *encoder.Encoder { return nil }

func (m *toy) Embed(_ context.Context, t Texts) ([][]float32, encoder.Reading, error) {
	vectors := make([][]float32, len(t.Texts))
	for i, text := range t.Texts {
		if len(text) > 100 && t.Truncate == "NONE" {
			return nil, encoder.Reading{}, fault.New(fault.Invalid, "too long").Under("input", i)
		}
		vectors[i] = []float32{float32(len(text)), 0, 0, 12}
		if at := slices.Index([]string{"query", "passage"}, t.Mode); at >= 0 {
			vectors[i][1+at] = 1
		}
	}
	return vectors, encoder.Reading{Tokens: 3 * len(t.Texts)}, nil
}

const toyConfig = `
name: "NAME" backend: "onnxruntime" max_batch_size: 64
input [ { name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] } ]
output [ { name: "sentence_embedding" data_type: TYPE_FP32 dims: [ 4 ] } ]
parameters { key: "retort_api" value { string_value: "embedding" } }
parameters { key: "model_id" value { string_value: "tests/NAME" } }`

// start returns the service over two toys: tests/one has one mode; tests/two has two modes and at least two dimensions.
func start(t *testing.T) *Service {
	t.Helper()
	var models []tritontest.Model
	for _, name := range []string{"one", "two"} {
		config := tritontest.Config(t, strings.ReplaceAll(toyConfig, "NAME", name))
		models = append(models, tritontest.Model{Config: config})
	}
	server := tritontest.Start(t, models...)
	registry := discovery.NewRegistry(server.Client(), discovery.Config{Every: 10 * time.Millisecond})
	t.Cleanup(registry.Close)
	open := func(m *triton.Model) (Model, error) {
		about := About{ID: m.PublicID(), OwnedBy: "tests", Width: 4, LeastDimensions: 4}
		if m.Name == "two" {
			about.TwoModes = true
			about.LeastDimensions = 2
		}
		return &toy{about}, nil
	}
	catalog := discovery.NewCatalog(registry, "embedding", zerolog.Nop(), func(int) {}, open)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bothServed := func(*discovery.Snapshot) bool { return len(catalog.IDs()) == 2 }
	if _, err := tritontest.Wait(ctx, registry, bothServed); err != nil {
		t.Fatal(err)
	}
	return New(Config{MaxInputs: 3}, catalog)
}

func request(model string, change func(*Request), texts ...string) Request {
	r := Request{Model: model, Input: Input{Texts: texts}}
	r.SetDefaults()
	if change != nil {
		change(&r)
	}
	return r
}

func inMode(mode string) func(*Request) { return func(r *Request) { r.InputType = &mode } }

func TestModesOfModels(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		request Request
		want    string // the first vector, or a prefix of the error
	}{
		{request("tests/one", nil, "abcde"), "[5,0,0,12]"},
		{request("tests/two", inMode("query"), "abcde"), "[5,1,0,12]"},
		{request("tests/two-passage", nil, "abcde"), "[5,0,1,12]"},
		{request("tests/two-passage", inMode("passage"), "abcde"), "[5,0,1,12]"},
		{
			request("tests/two-passage", inMode("query"), "abcde"),
			"input_type: 'input_type' is 'query' but the model name ends in '-passage'",
		},
		{request("tests/two", nil, "abcde"), "input_type: 'input_type' parameter is required for asymmetric models"},
		{request("tests/one", inMode("query"), "abcde"), "input_type: Extra inputs are not permitted"},
		{request("tests/one-query", nil, "abcde"), "The model `tests/one-query` does not exist."},
		{request("tests/none", nil, "abcde"), "The model `tests/none` does not exist."},
		{request("tests/one", nil, "a", "b", "c", "d"), "input: List should have at most 3 items"},
		{request("tests/one", nil, strings.Repeat("x", 101)), "input[0]: too long"},
	} {
		got := ""
		if answer, err := s.Embed(t.Context(), c.request); err != nil {
			got = err.Error()
		} else {
			text, _ := json.Marshal(answer.Data[0].Embedding)
			got = string(text)
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, %d texts: %s, want %s", c.request.Model, c.request.Input.Len(), got, c.want)
		}
	}
}

// Shorter vectors are the first numbers, normalized again. More dimensions than the model has give all of them.
func TestDimensions(t *testing.T) {
	s := start(t)
	for dimensions, want := range map[int]string{
		1: "dimensions: Input should be greater than or equal to 2",
		2: "[0.98058,0.19612]",
		3: "[0.98058,0.19612,0]",
		4: "[5,1,0,12]",
		9: "[5,1,0,12]",
	} {
		got := ""
		setDimensions := func(r *Request) { r.Dimensions = &dimensions }
		answer, err := s.Embed(t.Context(), request("tests/two-query", setDimensions, "abcde"))
		if err != nil {
			got = err.Error()
		} else {
			v := answer.Data[0].Embedding.([]float32)
			for i := range v {
				v[i] = float32(math.Round(1e5*float64(v[i])) / 1e5)
			}
			text, _ := json.Marshal(v)
			got = string(text)
		}
		if got != want {
			t.Errorf("%d dimensions: %s, want %s", dimensions, got, want)
		}
	}
	three := 3
	_, err := s.Embed(t.Context(), request("tests/one", func(r *Request) { r.Dimensions = &three }, "a"))
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("dimensions of a model without shorter vectors: %v", err)
	}
}

func TestBase64(t *testing.T) {
	s := start(t)
	asBase64 := func(r *Request) { r.EncodingFormat = "base64" }
	answer, err := s.Embed(t.Context(), request("tests/one", asBase64, "abcde", "ab"))
	if err != nil {
		t.Fatal(err)
	}
	wantUsage := Usage{PromptTokens: 6, TotalTokens: 6}
	if answer.Usage != wantUsage || answer.Model != "tests/one" || answer.Object != "list" {
		t.Errorf("%+v", answer)
	}
	for i, want := range [][]float32{{5, 0, 0, 12}, {2, 0, 0, 12}} {
		raw, err := base64.StdEncoding.DecodeString(answer.Data[i].Embedding.(string))
		if err != nil || len(raw) != 16 {
			t.Fatalf("%d bytes: %v", len(raw), err)
		}
		for j, x := range want {
			if got := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*j:])); got != x {
				t.Errorf("text %d, number %d: %v, want %v", i, j, got, x)
			}
		}
	}
}

func TestList(t *testing.T) {
	list, err := start(t).List(t.Context())
	if err != nil || len(list.Data) != 2 || list.Data[0].ID != "tests/one" || list.Data[0].OwnedBy != "tests" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestValidate(t *testing.T) {
	zero := 0
	for want, r := range map[string]Request{
		"model":      request("", nil, "a"),
		"input":      request("m", nil),
		"input[1]":   request("m", nil, "a", ""),
		"dimensions": request("m", func(r *Request) { r.Dimensions = &zero }, "a"),
	} {
		if got := fault.As(r.Validate()).Field(); got != want {
			t.Errorf("problem in %q, want %q", got, want)
		}
	}
	r := request("m", nil, slices.Repeat([]string{""}, 100_000)...)
	if n := len(fault.As(r.Validate()).All()); n != fault.MaxProblems {
		t.Errorf("%d problems of 100,000 empty texts, want %d", n, fault.MaxProblems)
	}
	if !r.Heavy() {
		t.Error("100,000 texts are not heavy")
	}
}

func TestLeastDimensions(t *testing.T) {
	for text, want := range map[string]int{
		"384": 384, "128-384": 128, "1-384": 1,
		"0-384": 0, "128": 0, "500-384": 0, "384-128": 0, "x-384": 0, "-384": 0,
	} {
		got, err := leastDimensions(text, 384)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
}

// Without dimensions and in the order of the request, for one modality and for one each.
func TestModality(t *testing.T) {
	for want, modality := range map[string]string{
		"":            `"text"`,
		" ":           `["text","text"]`,
		"  ":          `["text"]`,
		"   ":         `null`,
		"modality[0]": `"image"`,
		"modality[1]": `["text","text_image"]`,
		"modality":    `["text","text","text"]`,
	} {
		var r Request
		r.SetDefaults()
		body := `{"model": "m", "input": ["a", "b"], "modality": ` + modality + `}`
		if err := bind.JSON([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := r.Validate(); err != nil {
			got = fault.As(err).Field()
		}
		if got != strings.TrimSpace(want) {
			t.Errorf("modality %s: problem in %q, want %q", modality, got, want)
		}
	}
}

// quantized has vectors in the forms of sentence-transformers: scripts/golden/quantized.py.
type quantized struct {
	Vector                       []float32
	Int8, Uint8, Binary, Ubinary []int16
}

func TestEmbeddingTypesEqualThoseOfSentenceTransformers(t *testing.T) {
	data, err := os.ReadFile("testdata/quantized.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden []quantized
	if err := json.Unmarshal(data, &golden); err != nil || len(golden) < 4 {
		t.Fatalf("%d vectors, %v", len(golden), err)
	}
	for i, g := range golden {
		for kind, want := range map[string][]int16{
			"int8": g.Int8, "uint8": g.Uint8, "binary": g.Binary, "ubinary": g.Ubinary,
		} {
			got := represent(g.Vector, Request{EmbeddingType: kind, EncodingFormat: "float"}).([]int16)
			if !slices.Equal(got, want) {
				t.Errorf("vector %d in %s: %v, want %v", i, kind, got, want)
			}
			text := represent(g.Vector, Request{EmbeddingType: kind, EncodingFormat: "base64"}).(string)
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil || len(raw) != len(want) {
				t.Fatalf("vector %d in %s: %d bytes, %v", i, kind, len(raw), err)
			}
			for j, b := range raw {
				if b != byte(want[j]) {
					t.Fatalf("vector %d in %s: byte %d is %d, want %d", i, kind, j, b, want[j])
				}
			}
		}
	}
}

// A request is heavy by what the model reads.
func TestHeavyChunks(t *testing.T) {
	long := strings.Repeat("a long text ", 50_000)
	for truncate, want := range map[string]bool{"END": false, "NONE": false, "CHUNK": true} {
		r := request("m", func(r *Request) { r.Truncate = truncate }, long)
		if r.Heavy() != want {
			t.Errorf("%s: heavy %v, want %v", truncate, r.Heavy(), want)
		}
	}
}

// The mean of the vectors of chunks is weighted by their tokens.
func TestWeightedMean(t *testing.T) {
	chunks := []tokenizers.Chunk{{Tokens: 3}, {Tokens: 4}}
	got := weightedMean([][]float32{{1, 0}, {0, 1}}, chunks)
	if math.Abs(float64(got[0])-0.6) > 1e-6 || math.Abs(float64(got[1])-0.8) > 1e-6 {
		t.Errorf("%v, want [0.6 0.8]", got)
	}
	alone := []float32{3, 4}
	if got := weightedMean([][]float32{alone}, chunks[:1]); !slices.Equal(got, alone) {
		t.Errorf("%v, want the vector of the only chunk as it is", got)
	}
}
