package encoder_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/orchestrator/triton/tritontest"
	"retort/tokenizers"
)

// graph returns for each row the sum of its ids under the mask, and the number of tokens of type 1 if it declares token
// types.
type graph struct {
	mu    sync.Mutex
	rows  []int // of each batch
	types bool
	nan   bool // the last number of each batch is NaN
}

func (g *graph) infer(_ context.Context, r *triton.Request) (*triton.Response, error) {
	ids := input(r, "input_ids")
	mask := input(r, "attention_mask")
	types := input(r, "token_type_ids")
	tensor, _ := tritontest.Input(r, "input_ids")
	rows := int(tensor.Shape[0])
	length := int(tensor.Shape[1])
	out := make([]float32, 2*rows)
	for i, id := range ids {
		out[2*(i/length)] += float32(id * mask[i])
		if g.types {
			out[2*(i/length)+1] += float32(types[i] * mask[i])
		}
	}
	if g.nan {
		out[len(out)-1] = float32(math.NaN())
	}
	g.mu.Lock()
	g.rows = append(g.rows, rows)
	g.mu.Unlock()
	return &triton.Response{Outputs: []triton.Tensor{triton.Float32s("out", []int64{int64(rows), 2}, out)}}, nil
}

func input(r *triton.Request, name string) []int64 {
	tensor, ok := tritontest.Input(r, name)
	if !ok {
		return nil
	}
	values, err := triton.Values[int64](tensor)
	if err != nil {
		panic(err)
	}
	return values
}

func config(parameters string, types bool) string {
	text := `
name: "toy" backend: "onnxruntime" max_batch_size: 8
input { name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] }
input { name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] }
output { name: "out" data_type: TYPE_FP32 dims: [ 2 ] }
output { name: "loose" data_type: TYPE_FP32 dims: [ -1 ] }
` + parameters
	if types {
		text += `input { name: "token_type_ids" data_type: TYPE_INT64 dims: [ -1 ] }`
	}
	return text
}

// open opens an entry with the tokenizer of a shipped model.
func open(t *testing.T, g *graph, parameters, output string) (*encoder.Encoder, error) {
	t.Helper()
	server := tritontest.Start(t, tritontest.Model{
		Config: tritontest.Config(t, config(parameters, g.types)),
		Infer:  g.infer,
	})
	return openOn(t, server.Client(), output)
}

// openOn opens the entry that a client's servers have loaded.
func openOn(t *testing.T, client *triton.Client, output string) (*encoder.Encoder, error) {
	t.Helper()
	folder := t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "..", "model_repository", "minilm_embed", "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "tokenizer.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	modelConfig, err := client.ModelConfig(t.Context(), "toy")
	if err != nil {
		t.Fatal(err)
	}
	inputs, outputs, err := client.ModelTensors(t.Context(), "toy")
	if err != nil {
		t.Fatal(err)
	}
	model := &triton.Model{Name: "toy", Config: modelConfig, Inputs: inputs, Outputs: outputs, Dir: folder}
	entry := model.Read()
	e := encoder.Open(client, entry, output, batching.Options{})
	return e, entry.Done()
}

func parameter(name, value string) string {
	return `parameters { key: "` + name + `" value { string_value: "` + value + `" } }` + "\n"
}

// The error of an entry names all its problems.
func TestInvalidEntry(t *testing.T) {
	parameters := parameter("max_model_len", "3") + parameter("created", "yesterday") +
		parameter("tokenizer", "absent.json") + parameter("max_modell_len", "512")
	_, err := open(t, &graph{}, parameters, "loose")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"max_model_len", "created", "absent.json", "loose", "is max_model_len meant?"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// The result of a row does not depend on the other rows, and results are in the order of the request.
func TestRowsAreIndependent(t *testing.T) {
	for _, types := range []bool{false, true} {
		g := &graph{types: types}
		e, err := open(t, g, "", "out")
		if err != nil {
			t.Fatal(err)
		}
		if e.Width != 2 || e.MaxTokens != 512 || e.ID != "toy" || e.OwnedBy != "retort" {
			t.Errorf("got %+v", e)
		}
		var rows []*tokenizers.Encoding
		tokens := 0
		for i := range 30 {
			row, err := e.Tokenizer.EncodePair("which one", strings.Repeat("aspirin ", 1+i*7%20), tokenizers.Options{})
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
			tokens += len(row.IDs)
		}
		request := &telemetry.Request{}
		all, err := e.Run(telemetry.WithRequest(t.Context(), request), rows)
		if err != nil {
			t.Fatal(err)
		}
		if request.Rows() != 30 || request.Tokens() != int64(tokens) {
			t.Errorf("%d rows and %d tokens were counted, want 30 and %d", request.Rows(), request.Tokens(), tokens)
		}
		for i, row := range rows {
			alone, err := e.Run(t.Context(), rows[i:i+1])
			if err != nil || alone[0][0] != all[i][0] || alone[0][1] != all[i][1] {
				t.Errorf("row %d: %v alone, %v among others, %v", i, alone, all[i], err)
			}
			if types && (all[i][1] == 0 || all[i][1] >= float32(len(row.IDs))) {
				t.Errorf("row %d: %v of %d tokens are of type 1", i, all[i][1], len(row.IDs))
			}
		}
		for _, n := range g.rows {
			if n > 8 {
				t.Errorf("a batch of %d rows, want at most 8", n)
			}
		}
	}
}

// All replicas compute at the same time.
func TestReplicasShareLoad(t *testing.T) {
	const replicas = 5
	g := &graph{}
	var arrived atomic.Int64
	all := make(chan struct{})
	infer := func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		if arrived.Add(1) == replicas {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(10 * time.Second):
			t.Errorf("%d replicas compute at the same time, want %d", arrived.Load(), replicas)
		}
		return g.infer(ctx, r)
	}
	var urls []string
	for range replicas {
		model := tritontest.Model{Config: tritontest.Config(t, config("", false)), Infer: infer}
		urls = append(urls, tritontest.Start(t, model).URL())
	}
	e, err := openOn(t, tritontest.Dial(t, triton.Config{URLs: urls}), "out")
	if err != nil {
		t.Fatal(err)
	}
	row, err := e.Encode("aspirin", tokenizers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var requests sync.WaitGroup
	for range replicas {
		requests.Go(func() {
			if _, err := e.Run(t.Context(), []*tokenizers.Encoding{row}); err != nil {
				t.Error(err)
			}
		})
	}
	requests.Wait()
}

func TestTokenizeReportsRow(t *testing.T) {
	path := func(i int) []any { return []any{"passages", i, "text"} }
	for _, n := range []int{10, 1000} {
		_, err := encoder.Tokenize(t.Context(), n, path, func(i int) (*tokenizers.Encoding, error) {
			if i == 7 {
				return nil, &tokenizers.LengthError{Length: 600, Max: 512}
			}
			return &tokenizers.Encoding{}, nil
		})
		f := fault.As(err)
		const message = "Input length 600 exceeds maximum allowed token size 512"
		if f == nil || f.Kind != fault.Invalid || f.Field() != "passages[7].text" || f.Message != message {
			t.Errorf("%d rows: error %v", n, err)
		}
		_, err = encoder.Tokenize(t.Context(), n, path, func(int) (*tokenizers.Encoding, error) {
			return nil, errors.New("no text")
		})
		if f := fault.As(err); f.Kind != fault.Invalid || len(f.Path) != 3 {
			t.Errorf("%d rows, another error: got %v", n, err)
		}
	}
	rows, err := encoder.Tokenize(t.Context(), 1000, path, func(i int) (*tokenizers.Encoding, error) {
		return &tokenizers.Encoding{IDs: []int32{int32(i)}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if int(row.IDs[0]) != i {
			t.Fatalf("row %d is at index %d", row.IDs[0], i)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = encoder.Tokenize(canceled, 1000, path, func(int) (*tokenizers.Encoding, error) {
		return &tokenizers.Encoding{}, nil
	})
	if fault.KindOf(err) != fault.Canceled {
		t.Errorf("canceled context: error %v", err)
	}
}

// A text above longText has the same result as with the tokenizer itself.
func TestLongTexts(t *testing.T) {
	e, err := open(t, &graph{types: true}, "", "out")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("aspirin eases pain and more ", 100_000)
	cut := tokenizers.Options{MaxLength: 64, Strategy: tokenizers.OnlyFirst}
	left := cut
	left.Direction = tokenizers.Left
	for name, o := range map[string]tokenizers.Options{"END": cut, "START": left} {
		got, err := e.Encode(long, o)
		if err != nil {
			t.Fatal(err)
		}
		want, err := e.Tokenizer.Encode(long, o)
		if err != nil || !slices.Equal(got.IDs, want.IDs) {
			t.Errorf("%s: %v, want %v, %v", name, got.IDs, want.IDs, err)
		}
	}
	refuse := tokenizers.Options{MaxLength: 64, Strategy: tokenizers.Refuse}
	_, err = e.Encode(long, refuse)
	_, want := e.Tokenizer.Encode(long, refuse)
	if err == nil || err.Error() != want.Error() {
		t.Errorf("error %v, want %v", err, want)
	}
	onlySecond := tokenizers.Options{MaxLength: 64, Strategy: tokenizers.OnlySecond}
	for _, o := range []tokenizers.Options{refuse, onlySecond} {
		for _, second := range []string{"aspirin", ""} {
			_, err = e.EncodePair(long, second, o)
			_, want = e.Tokenizer.EncodePair(long, second, o)
			if err == nil || err.Error() != want.Error() {
				t.Errorf("pair with %q: error %v, want %v", second, err, want)
			}
		}
	}
	spaces := "aspirin" + strings.Repeat(" ", 2<<20) + "pain"
	row, err := e.Encode(spaces, refuse)
	if err != nil || len(row.IDs) > 10 {
		t.Errorf("a text of few tokens and many spaces: %v", err)
	}
	for _, text := range []string{strings.Repeat("é", 1<<20), strings.Repeat("漢", 1<<20)} {
		for _, o := range []tokenizers.Options{cut, left} {
			if row, err := e.Encode(text, o); err != nil || len(row.IDs) > 64 {
				t.Errorf("a text without spaces: %v", err)
			}
		}
	}
}

// A NaN in the output fails the request: JSON cannot represent it, and it cannot be sorted.
func TestNaNFailsRequest(t *testing.T) {
	e, err := open(t, &graph{nan: true}, "", "out")
	if err != nil {
		t.Fatal(err)
	}
	path := func(i int) []any { return []any{"input", i} }
	rows, err := encoder.Tokenize(t.Context(), 2, path, func(i int) (*tokenizers.Encoding, error) {
		return e.Encode("two words", tokenizers.Options{})
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Run(t.Context(), rows)
	const message = "model toy: output out has NaN"
	if err == nil || fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), message) {
		t.Errorf("got %v, error %v, want %q in it", out, err, message)
	}
}

// A panic in a goroutine that tokenizes fails only its request.
func TestTokenizeRecoversPanic(t *testing.T) {
	const many = 1000 // rows of several goroutines
	path := func(i int) []any { return []any{"input", i} }
	_, err := encoder.Tokenize(t.Context(), many, path, func(i int) (*tokenizers.Encoding, error) {
		if i == many-1 {
			panic("no such token")
		}
		return &tokenizers.Encoding{}, nil
	})
	if err == nil || fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), "no such token") {
		t.Errorf("error %v, want %q in it", err, "no such token")
	}
}

// Rows that are not tokenized yet are left out when the client leaves: each may take long.
func TestTokenizeEndsWithClient(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	tokenized := 0
	_, err := encoder.Tokenize(ctx, 50, func(int) []any { return nil }, func(int) (int, error) {
		tokenized++
		leave()
		return 0, nil
	})
	if tokenized != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d rows, %v", tokenized, err)
	}
}
