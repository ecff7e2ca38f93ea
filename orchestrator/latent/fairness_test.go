package latent

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"retort/orchestrator/latent/search/toy"
)

// As many seeds, particles and molecules as the limits allow are served, however many rows that is.
func TestTheLargestRequestIsServed(t *testing.T) {
	large := standard
	large.MaxSeeds = 64
	r := start(t, large, toyModels(t, 0)...)
	seeds := make([]string, 64)
	for i := range seeds {
		seeds[i] = toy.Molecule([4]int{i % 6, i / 6 % 6, i / 36, 0})
	}
	answer := ask[Sampled](r, "/generate", body{"smi": seeds, "particles": 500, "iterations": 1, "num_molecules": 100, "min_similarity": 0.2})
	if len(answer.Generated) != 64 {
		t.Errorf("%d lists for 64 seeds", len(answer.Generated))
	}
	for _, call := range r.triton.Calls() {
		if rows := call.Inputs[0].Shape[0]; rows > 256 {
			t.Errorf("%d rows in one inference of %s", rows, call.Model)
		}
	}
}

// decodings counts the batches of the decoder, which here is what takes time: the encoder answers at once.
func decodings(r *room) int {
	count := 0
	for _, call := range r.triton.Calls() {
		if call.Model == "latent_decoder" {
			count++
		}
	}
	return count
}

// Beside more long searches than there are permits, a short request is served after a few inferences: neither the
// permits nor the turns at the models are all taken.
func TestAShortRequestDoesNotWaitForLongOnes(t *testing.T) {
	r := start(t, standard, toyModels(t, 50*time.Millisecond)...)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	const searches = 80 // more than the 64 permits
	for i := range searches {
		go func() {
			body := `{"smi": ["` + plain + `","` + ibuprofen + `","` + toy.Molecule([4]int{3, 5, 4, 5}) + `"], "iterations": 1000, "particles": 200, "seed": ` + strconv.Itoa(i) + `}`
			request, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/generate", strings.NewReader(body))
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
			t.Fatal("20 inferences of long searches: not within a minute")
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
		before := decodings(r)
		ask[map[string]any](r, short.path, short.body)
		if passed := decodings(r) - before; passed > 40 {
			t.Errorf("%s was answered after %d batches of the decoder", short.path, passed)
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
		"unguided, 3 seeds":        {generate(func(r *Generate) { r.Algorithm, r.Smi.Smiles = unguided, sequences(3) }), true},
	} {
		if got := c.request.Heavy(); got != c.want {
			t.Errorf("%s: heavy %v", name, got)
		}
	}
}
