package search

import "math/rand/v2"

const (
	// maxRounds is how often a sampler draws when the rounds before did not give enough molecules.
	maxRounds = 8
	// tokenRounds is in how many rounds, the last ones, tokens are drawn too. This finds neighbours where the radius is
	// so small that every point decodes to the seed.
	tokenRounds = 3
	// maxRoundPoints bounds the points of a round, as long as no fewer are asked for.
	maxRoundPoints = 64
)

// sampler collects molecules around one seed. A molecule counts when it is valid, new and not the seed.
type sampler struct {
	seed      Seed
	random    *rand.Rand
	molecules int      // wanted
	least     int      // points of a round
	found     []string // canonical SMILES
	repeated  []string // valid, but the seed or found before
	seen      map[string]bool
}

func newSampler(seed Seed, random *rand.Rand, molecules, least int) *sampler {
	return &sampler{seed: seed, random: random, molecules: molecules, least: least, seen: map[string]bool{seed.SMILES: true}}
}

// due is the number of points of a round, from 0: twice as many per missing molecule as in the round before.
func (s *sampler) due(round int) int {
	missing := s.molecules - len(s.found)
	if missing <= 0 {
		return 0
	}
	return max(s.least, min(missing<<round, maxRoundPoints))
}

// draw makes one point of a round.
func (s *sampler) draw(space *Space, scaledRadius float64, round int) Point {
	point := Point{Hidden: space.near(s.seed.Hidden, scaledRadius, s.random)}
	if round >= maxRounds-tokenRounds {
		point.Temperature = 1
		point.Seed = s.random.Int64()
	}
	return point
}

// take keeps the first of a point's molecules (likeliest beam first) that is valid and new. Texts that are no molecule,
// or one that the seed does not admit, are empty.
func (s *sampler) take(beams []string) {
	for _, smiles := range beams {
		if smiles != "" && !s.seen[smiles] {
			s.seen[smiles] = true
			s.found = append(s.found, smiles)
			return
		}
	}
	for _, smiles := range beams {
		if smiles != "" {
			s.repeated = append(s.repeated, smiles)
			return
		}
	}
}

// result is exactly as many molecules as were asked for: where not enough new ones were found, repeated ones and the
// seed fill the places.
func (s *sampler) result() []string {
	out := append(s.found, s.repeated...)
	for len(out) < s.molecules {
		out = append(out, s.seed.SMILES)
	}
	return out[:s.molecules:s.molecules]
}
