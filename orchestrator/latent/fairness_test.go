package latent

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"retort/orchestrator/latent/search/toy"
)

// A request with the largest number of seeds and molecules is served, in calls of at most 256 rows.
func TestTheLargestRequestIsServed(t *testing.T) {
	large := standard
	large.MaxSeeds = 64
	r := start(t, large, toyModels(t, 0)...)
	seeds := make([]string, 64)
	for i := range seeds {
		seeds[i] = toy.Molecule([4]int{i % 6, i / 6 % 6, i / 36, 0})
	}
	answer := ask[Sampled](r, "/generate", body{
		"smi": seeds, "particles": 500, "iterations": 1, "num_molecules": 100, "min_similarity": 0.2,
	})
	if len(answer.Generated) != 64 {
		t.Errorf("%d lists for 64 seeds", len(answer.Generated))
	}
	for _, call := range r.triton.Calls() {
		if rows := call.Inputs[0].Shape[0]; rows > 256 {
			t.Errorf("%d rows in one inference of %s", rows, call.Model)
		}
	}
}

// decoderCalls counts the calls of the decoder. Only they take time here: the encoder answers at once.
func decoderCalls(r *harness) int {
	count := 0
	for _, call := range r.triton.Calls() {
		if call.Model == "latent_decoder" {
			count++
		}
	}
	return count
}

// While there are more long searches than permits, a short request is served after a few calls to the models: long
// searches take neither all permits nor all calls.
func TestAShortRequestDoesNotWaitForLongOnes(t *testing.T) {
	r := start(t, standard, toyModels(t, 50*time.Millisecond)...)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	const searches = 80 // more than the 64 permits
	for i := range searches {
		go func() {
			long, _ := json.Marshal(body{
				"smi":        []string{plain, ibuprofen, toy.Molecule([4]int{3, 5, 4, 5})},
				"iterations": 1000,
				"particles":  200,
				"seed":       i,
			})
			request, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/generate", bytes.NewReader(long))
			request.Header.Set("Content-Type", "application/json")
			if response, err := http.DefaultClient.Do(request); err == nil {
				t.Errorf("a search of 1000 iterations was answered with %d", response.StatusCode)
				response.Body.Close()
			}
			ended <- struct{}{}
		}()
	}
	for deadline := time.Now().Add(time.Minute); len(r.triton.Calls()) < 20; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the long searches made fewer than 20 calls in a minute")
		}
	}
	for _, short := range []struct {
		path string
		body body
	}{
		{"/hidden", body{"sequences": []string{plain}}},
		{"/decode", body{"hiddens": [][][]float32{{toy.Encode(plain)}}, "mask": [][]bool{{true}}}},
		{"/sampling", body{"sequences": []string{plain}, "num_molecules": 2}},
	} {
		before := decoderCalls(r)
		ask[map[string]any](r, short.path, short.body)
		if calls := decoderCalls(r) - before; calls > 40 {
			t.Errorf("%s was answered after %d calls of the decoder", short.path, calls)
		}
	}
	leave()
	for range searches {
		<-ended
	}
}

func TestWhichRequestsAreHeavy(t *testing.T) {
	sequences := func(n int) []string { return make([]string, n) }
	generate := func(change func(*Generate)) *Generate {
		r := &Generate{Smi: Seeds{Smiles: sequences(1)}}
		r.SetDefaults()
		change(r)
		return r
	}
	for name, c := range map[string]struct {
		request interface{ Heavy() bool }
		want    bool
	}{
		"256 molecules to encode":  {&Sequences{Sequences: sequences(256)}, false},
		"257 molecules to encode":  {&Sequences{Sequences: sequences(257)}, true},
		"3 points to decode":       {&Hidden{Hiddens: slices.Repeat([]Row[[]float32]{{{1}}}, 3)}, false},
		"4 points to decode":       {&Hidden{Hiddens: slices.Repeat([]Row[[]float32]{{{1}}}, 4)}, true},
		"1 point, 99 skipped":      {&Hidden{Hiddens: append(make([]Row[[]float32], 99), Row[[]float32]{{1}})}, false},
		"6 seeds, 10 molecules":    {&Sampling{Sequences: sequences(6), NumMolecules: 10, BeamSize: 1}, false},
		"1 seed, beams":            {&Sampling{Sequences: sequences(1), NumMolecules: 10, BeamSize: 10}, true},
		"a search by default":      {generate(func(*Generate) {}), true},
		"a search of 2 iterations": {generate(func(r *Generate) { r.Iterations = 2 }), false},
		"unguided":                 {generate(func(r *Generate) { r.Algorithm = unguided }), false},
		"unguided, 3 seeds": {generate(func(r *Generate) {
			r.Algorithm = unguided
			r.Smi.Smiles = sequences(3)
		}), true},
	} {
		if got := c.request.Heavy(); got != c.want {
			t.Errorf("%s: heavy %v", name, got)
		}
	}
}
