package latent

import (
	"context"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"retort/chem"
	"retort/orchestrator/latent/search/toy"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
)

const (
	ibuprofen = "CC(Cc1ccc(cc1)C(C(=O)O)C)C"
	// plain is the toy molecule at step 0 everywhere, the seed of most searches.
	plain = "Cc1ccc(C)c(-c2ccc(C)cc2)c1"
)

type body = map[string]any

type stringAnswer = struct {
	Generated []string `json:"generated"`
}

type moleculeAnswer = struct {
	Generated []Molecule `json:"generated"`
}

func TestHiddenGoesThroughDecode(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	seeds := []string{
		toy.Molecule([4]int{1, 2, 3, 4}), plain, "c1(C)ccc(C)c(c1)-c1ccc(C)cc1", toy.Molecule([4]int{5, 5, 5, 5}),
	}
	hidden := ask[Hidden](r, "/hidden", body{"sequences": seeds})
	if len(hidden.Hiddens) != 4 || len(hidden.Hiddens[0]) != 1 || len(hidden.Hiddens[0][0]) != toy.Size {
		t.Fatalf("hiddens %v", hidden.Hiddens)
	}
	if !reflect.DeepEqual(hidden.Mask, []Row[bool]{{true}, {true}, {true}, {true}}) {
		t.Fatalf("mask %v", hidden.Mask)
	}
	back := ask[Decoded](r, "/decode", body{"hiddens": hidden.Hiddens, "mask": hidden.Mask})
	for i, seed := range seeds {
		if want := parse(t, seed).SMILES(); *back.Generated[i] != want {
			t.Errorf("%s came back as %s", want, *back.Generated[i])
		}
	}
	if !reflect.DeepEqual(hidden.Hiddens[1], hidden.Hiddens[2]) {
		t.Error("two spellings of one molecule have two hidden states")
	}
	vectors := ask[Embeddings](r, "/embedding", body{"sequences": seeds}).Embeddings
	if len(vectors) != 4 || !slices.Equal(vectors[3], Row[float32](hidden.Hiddens[3][0])) {
		t.Error("an embedding is not the pooled hidden state")
	}
	// A point that no decoding turns into a molecule gives the model's text.
	broken := make([]float32, toy.Size)
	broken[4] = 9
	decoded := ask[Decoded](r, "/decode", body{"hiddens": [][][]float32{{broken}}, "mask": [][]bool{{true}}})
	if text := *decoded.Generated[0]; text != toy.Broken {
		t.Errorf("decoded %q, want %q", text, toy.Broken)
	}
}

func TestSamplingIsValidDistinctAndNotTheSeed(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	for _, request := range []body{
		{"sequences": []string{plain, ibuprofen}},
		{"sequences": []string{plain, ibuprofen, plain}, "num_molecules": 10, "scaled_radius": 0.3},
		{"sequences": []string{plain}, "num_molecules": 10, "scaled_radius": 2},
		{"sequences": []string{plain}, "num_molecules": 10, "scaled_radius": 0},
		{"sequences": []string{plain, ibuprofen}, "num_molecules": 5, "scaled_radius": 0.5, "beam_size": 5},
	} {
		want := 1
		if n, ok := request["num_molecules"].(int); ok {
			want = n
		}
		seeds := request["sequences"].([]string)
		lists := ask[Sampled](r, "/sampling", request).Generated
		if len(lists) != len(seeds) {
			t.Fatalf("%d lists for %d seeds", len(lists), len(seeds))
		}
		for i, list := range lists {
			seen := map[string]bool{parse(t, seeds[i]).SMILES(): true}
			for _, smiles := range list {
				if m := parse(t, smiles); m.SMILES() != smiles || seen[smiles] {
					t.Errorf("%v: %s is not canonical, the seed or a duplicate", request, smiles)
				}
				seen[smiles] = true
			}
			if len(list) != want {
				t.Errorf("%v: %d molecules", request, len(list))
			}
		}
	}
}

// The points of the first call of the decoder lie within the radius.
func TestSamplingStartsWithinTheRadius(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	for _, radius := range []float64{0, 0.1, 0.7, 2} {
		before := len(r.triton.Calls())
		ask[Sampled](r, "/sampling", body{"sequences": []string{plain}, "scaled_radius": radius, "num_molecules": 10})
		centre := toy.Encode(parse(t, plain).SMILES())
		farthest := 0.0
		points := 0
		for _, call := range r.triton.Calls()[before:] {
			if call.Model != "latent_decoder" || points > 0 {
				continue
			}
			hiddens := tensor[float32](call, "hiddens")
			for at := 0; at < len(hiddens); at += toy.Size {
				square := 0.0
				for i, c := range centre {
					square += math.Pow(float64(hiddens[at+i]-c), 2)
				}
				farthest = max(farthest, math.Sqrt(square/toy.Size))
				points++
			}
		}
		if points < 10 || farthest > radius+1e-5 || farthest < 0.9*radius {
			t.Errorf("radius %v: the farthest of %d points is at %v", radius, points, farthest)
		}
	}
}

func TestASeedMakesTheAnswerRepeatable(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	for path, request := range map[string]body{
		"/sampling": {"sequences": []string{plain, ibuprofen}, "num_molecules": 5},
		"/generate": {"smi": []string{plain, ibuprofen}, "iterations": 2, "num_molecules": 5, "min_similarity": 0},
	} {
		field := "sequences"
		if path == "/generate" {
			field = "smi"
		}
		request["seed"] = 7
		first := ask[Sampled](r, path, request).Generated
		other := start(t, standard, toyModels(t, 0)...) // a replica
		if again := ask[Sampled](other, path, request).Generated; !reflect.DeepEqual(first, again) {
			t.Errorf("%s: %v, then %v", path, first, again)
		}
		request[field] = []string{ibuprofen}
		if len(first[1]) != 5 {
			t.Errorf("%s: only %v", path, first[1])
		}
		if alone := ask[Sampled](r, path, request).Generated; !reflect.DeepEqual(first[1], alone[0]) {
			t.Errorf("%s: %v with another seed molecule, %v alone", path, first[1], alone[0])
		}
		request["seed"] = 8
		if another := ask[Sampled](r, path, request).Generated; reflect.DeepEqual(first[1], another[0]) {
			t.Errorf("%s: seeds 7 and 8 give the same answer", path)
		}
	}
}

func TestGenerateRaisesTheProperty(t *testing.T) {
	r := start(t, standard, append(toyModels(t, 0), oracleModel(t))...)
	seed := parse(t, toy.Molecule([4]int{3, 5, 4, 5}))
	bits := func(m *chem.Molecule) float64 {
		fingerprint := m.Fingerprint()
		n := 0.0
		for i := range 2048 {
			if fingerprint.Has(i) {
				n++
			}
		}
		return n
	}
	lightness := func(m *chem.Molecule) float64 { return 1 / (1 + max(0, m.Weight()-280)/50) }
	qedLessSA := func(m *chem.Molecule) float64 { return m.QED() - 0.1*m.SA() }
	for _, c := range []struct {
		property      any
		minimize      bool
		minSimilarity float64
		minGain       float64
		value         func(*chem.Molecule) float64
	}{
		{"QED", false, 0.3, 0.1, (*chem.Molecule).QED},
		{"plogP", false, 0.2, 1, (*chem.Molecule).PenalizedLogP},
		{"plogP", true, 0.2, 1, (*chem.Molecule).PenalizedLogP},
		{"SA", true, 0.3, 0.2, (*chem.Molecule).SA},
		{"LogP", true, 0, 1, (*chem.Molecule).LogP},
		{"TPSA", true, 0.3, 10, (*chem.Molecule).TPSA},
		{"bit_count", false, 0, 3, bits},
		{body{"name": "MW", "max": 280}, false, 0.2, 0.2, lightness},
		{[]any{"QED", body{"name": "SA", "weight": -0.1}}, false, 0.3, 0.1, qedLessSA},
	} {
		answer := ask[moleculeAnswer](r, "/generate", body{
			"smi": seed.String(), "property_name": c.property, "minimize": c.minimize,
			"min_similarity": c.minSimilarity, "iterations": 20, "num_molecules": 5, "include_scores": true, "seed": 3,
		})
		if len(answer.Generated) != 5 {
			t.Errorf("%v: %d molecules", c.property, len(answer.Generated))
			continue
		}
		seen := map[string]bool{seed.SMILES(): true}
		for i, found := range answer.Generated {
			m := parse(t, found.Smiles)
			if seen[m.SMILES()] {
				t.Errorf("%v: %s is the seed or a duplicate", c.property, found.Smiles)
			}
			if math.Abs(c.value(m)-found.Score) > 1e-6 {
				t.Errorf("%v: %s has score %v, want %v", c.property, found.Smiles, found.Score, c.value(m))
			}
			similarity := chem.Similarity(m, seed)
			if *found.Similarity != similarity || similarity < c.minSimilarity {
				t.Errorf("%v: %s has similarity %v, want %v, and at least %v",
					c.property, found.Smiles, *found.Similarity, similarity, c.minSimilarity)
			}
			seen[m.SMILES()] = true
			if i == 0 {
				continue
			}
			if last := answer.Generated[i-1].Score; found.Score != last && (found.Score > last) != c.minimize {
				t.Errorf("%v: score %v is after %v", c.property, found.Score, last)
			}
		}
		gain := answer.Generated[0].Score - c.value(seed)
		if c.minimize {
			gain = -gain
		}
		if gain < c.minGain {
			t.Errorf("%v: gain %v", c.property, gain)
		}
	}
}

func TestTheFormsOfAGeneratedAnswer(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	// The documented defaults, from a seed with more than ten molecules within the default similarity of 0.7.
	documented := ask[stringAnswer](r, "/generate", body{"smi": toy.Molecule([4]int{5, 5, 5, 0}), "seed": 1})
	if len(documented.Generated) != 10 {
		t.Errorf("%d molecules by default", len(documented.Generated))
	}
	random := ask[stringAnswer](r, "/generate", body{
		"smi": plain, "algorithm": "none", "scaled_radius": 0.5, "num_molecules": 7,
	})
	if len(random.Generated) != 7 {
		t.Errorf("%d random molecules", len(random.Generated))
	}
	for i, smiles := range random.Generated {
		if i > 0 && parse(t, smiles).QED() > parse(t, random.Generated[i-1]).QED() {
			t.Error("random molecules are not sorted by QED")
		}
	}
	objects := standard
	objects.Generated = "objects"
	r = start(t, objects, toyModels(t, 0)...)
	for _, algorithm := range []string{"CMA-ES", "none"} {
		answer := ask[moleculeAnswer](r, "/generate", body{
			"smi": plain, "algorithm": algorithm, "num_molecules": 2, "min_similarity": 0.2, "seed": 7,
		})
		if len(answer.Generated) != 2 {
			t.Errorf("%s: %d objects", algorithm, len(answer.Generated))
		}
		for _, m := range answer.Generated {
			if m.Smiles == "" || m.Score == 0 || m.Similarity != nil {
				t.Errorf("%s: %+v, want smiles and score only", algorithm, m)
			}
		}
	}
}

// A call of the decoder has the rows of all requests that wait for it.
func TestConcurrentRequestsShareCalls(t *testing.T) {
	const (
		requests    = 10
		generations = 20
	)
	models := toyModels(t, 0)
	encoderRows := make(chan int64, 10000)    // rows of each call of the encoder
	decoderCalls := make(chan struct{}, 1000) // calls of the decoder
	var gate atomic.Pointer[chan struct{}]    // blocks calls of the decoder until closed; nil: does not block
	encode := models[0].Infer
	models[0].Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		encoderRows <- r.Inputs[0].Shape[0]
		return encode(ctx, r)
	}
	decode := models[1].Infer
	models[1].Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		decoderCalls <- struct{}{}
		if open := gate.Load(); open != nil {
			select {
			case <-*open:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return decode(ctx, r)
	}
	r := start(t, standard, models...)
	request := body{
		"smi": plain, "iterations": generations, "particles": 20, "num_molecules": 1, "min_similarity": 0, "seed": 7,
	}
	calls := func() (n int, largest int64) {
		for _, c := range r.triton.Calls() {
			if c.Model == "latent_decoder" {
				n++
				largest = max(largest, c.Inputs[0].Shape[0])
			}
		}
		return n, largest
	}
	ask[stringAnswer](r, "/generate", request)
	callsOfOne, largestOfOne := calls() // the same for every request, since each has the same seed
	if callsOfOne != generations {
		t.Errorf("%d calls for %d generations", callsOfOne, generations)
	}
	for len(encoderRows) > 0 {
		<-encoderRows
	}
	for range callsOfOne {
		<-decoderCalls
	}
	open := make(chan struct{})
	gate.Store(&open)
	var pending sync.WaitGroup
	for range requests {
		pending.Go(func() { ask[stringAnswer](r, "/generate", request) })
	}
	<-decoderCalls // while this call lasts, other requests to the decoder wait for it
	for seeds := int64(0); seeds < requests; {
		seeds += <-encoderRows // one per request until the decoder has answered
	}
	close(open)
	pending.Wait()
	all, largest := calls()
	if largest <= largestOfOne {
		t.Errorf("the largest call has %d rows, %d with one request: no call has rows of two", largest, largestOfOne)
	}
	if all-callsOfOne >= requests*callsOfOne {
		t.Errorf("one request makes %d calls, %d requests make %d", callsOfOne, requests, all-callsOfOne)
	}
}

func TestAModelIsUnloadedAndLoaded(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	r.triton.Unload("latent_decoder")
	deadline := time.Now().Add(time.Minute)
	status := 0
	text := ""
	for status != http.StatusServiceUnavailable || !strings.HasPrefix(text, `{"detail":"Service is not ready`) {
		if time.Now().After(deadline) {
			t.Fatalf("without its decoder the API answers %d %s", status, text)
		}
		time.Sleep(20 * time.Millisecond)
		status, text = r.post("/hidden", `{"sequences": ["C"]}`)
	}
	r.triton.Load("latent_decoder")
	for status != http.StatusOK {
		if time.Now().After(deadline) {
			t.Fatal("the decoder is loaded again, but the API is not ready")
		}
		time.Sleep(20 * time.Millisecond)
		status, _ = r.post("/generate", `{"smi": "`+plain+`", "iterations": 1}`)
	}
}

func TestDecodingWithoutBeamSearch(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)[:2]...)
	status, text := r.post("/sampling", `{"sequences": ["C"], "beam_size": 2}`)
	if status != 422 || !strings.Contains(text, `"loc":["body","beam_size"]`) {
		t.Errorf("%d %s", status, text)
	}
}

func TestOpenerRefuses(t *testing.T) {
	models := toyModels(t, 0)
	r := start(t, standard, models...)
	entry := func(name string, change func(*triton.Model)) *triton.Model {
		client := r.triton.Client()
		config, err := client.ModelConfig(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		inputs, outputs, err := client.ModelTensors(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		m := &triton.Model{
			Name: name, Versions: []string{"1"}, Config: config, Inputs: inputs, Outputs: outputs, Dir: t.TempDir(),
		}
		if change != nil {
			change(m)
		}
		return m
	}
	open := Opener(r.triton.Client(), batching.Options{})
	parameter := func(name string) func(*triton.Model) {
		return func(m *triton.Model) { m.Config.Parameters[name] = "x" }
	}
	for want, entries := range map[string][]*triton.Model{
		"an encoder and a decoder are needed": {entry("latent_encoder", nil)},
		"are both the encoder":                {entry("latent_encoder", nil), entry("latent_encoder", nil)},
		"no such file":                        {entry("latent_encoder", nil), entry("latent_decoder", nil)},
		"max_model_len must be": {
			entry("latent_encoder", parameter("max_model_len")), entry("latent_decoder", nil),
		},
		"created must be": {
			entry("latent_encoder", parameter("created")), entry("latent_decoder", nil),
		},
	} {
		if _, err := open(entries); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
