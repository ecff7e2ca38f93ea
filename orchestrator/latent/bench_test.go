package latent

import (
	"context"
	"math/rand/v2"
	"testing"

	"retort/chem"
	"retort/orchestrator/fault"
)

// instant is a model of 512 coordinates whose decoder takes no time, so that
// what is left of a search is chemistry and CMA-ES.
type instant struct{ space *Space }

func (instant) Facts() Listed   { return Listed{} }
func (m instant) Space() *Space { return m.space }

func (instant) Tokens(smiles string) ([]int32, *fault.Error) { return make([]int32, len(smiles)), nil }

func (instant) Words() []int32 { return []int32{0} }

func (m instant) Encode(_ context.Context, rows [][]int32) ([][]float32, error) {
	out := make([][]float32, len(rows))
	for i := range out {
		out[i] = make([]float32, m.space.Size())
	}
	return out, nil
}

func (instant) Decode(_ context.Context, points []Point) ([]string, error) {
	out := make([]string, len(points))
	for i, p := range points {
		out[i] = toyDecode(p.Hidden, p.Temperature, p.Seed)
	}
	return out, nil
}

func (m instant) Beams(ctx context.Context, hiddens [][]float32, _ int) ([][]string, error) {
	return nil, fault.New(fault.Invalid, "no beams")
}

// BenchmarkSearch is the gateway's own part of /generate: chemistry and CMA-ES
// for 50 generations of 30 hidden states of 512 numbers. ns/molecule is per
// hidden state decoded; the toy decodes few distinct molecules, so the caches
// are emptied each generation.
func BenchmarkSearch(b *testing.B) {
	const size = 512
	ones, zeros := make([]float64, size), make([]float64, size)
	for i := range ones {
		ones[i] = 1
	}
	model := instant{&Space{mean: zeros, sd: ones, radius: 1}}
	m, err := chem.Parse("Cc1ccc(C)c(-c2ccc(C)cc2)c1")
	if err != nil {
		b.Fatal(err)
	}
	request := Generate{}
	request.SetDefaults()
	request.Iterations, request.MinSimilarity = 50, 0.4
	g, err := goalOf(request, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s := newSearch(model, request, g, seed{smiles: m.SMILES(), print: m.Fingerprint(), hidden: make([]float32, size)}, rand.New(rand.NewPCG(1, 2)))
		if _, err := s.optimize(b.Context(), func(int, int, *candidate) error { clear(s.jury.known); return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*request.Iterations*request.Particles), "ns/molecule")
}
