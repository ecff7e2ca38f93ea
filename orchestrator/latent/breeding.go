package latent

import (
	"context"
	"math/rand/v2"
	"slices"
)

// The best molecules of a search breed: one of them is encoded, noise is put
// onto its hidden state, and what the decoder makes of that is one of its
// neighbours, chosen as the training molecules would have it. How much noise
// pays differs between molecules and goals, so the search learns it.

// noise is a way to disturb a hidden state.
type noise struct {
	sd          float64 // standard deviation, in units of the space's radius
	part        float64 // of the coordinates, neighbours of each other; their order follows the text's
	temperature float32
}

var noises = [...]noise{
	{0.7, 1, 0}, {0.9, 1, 0}, {1.1, 1, 0}, {1.35, 1, 0},
	{0.5, 1, 1}, {0.7, 1, 1}, {0.9, 1, 1}, {1.2, 1, 1},
	{2, 1. / 16, 0}, {2, 1. / 8, 0}, {1.75, 1. / 4, 0}, {1.4, 1. / 2, 0},
	{2, 1. / 16, 1}, {1.75, 1. / 8, 1}, {1.5, 1. / 4, 1}, {1.2, 1. / 2, 1},
}

// breeders is how many molecules breed at most.
const breeders = 24

// parent is a molecule that breeds.
type parent struct {
	*candidate
	merit  float64
	hidden []float32
}

// birth tells where a point came from.
type birth struct {
	noise  int
	parent float64 // merit
}

// stock holds the parents, best first, and what is known of the ways to disturb them.
type stock struct {
	random       *rand.Rand
	parents      []parent
	tries, gains [len(noises)]float64
}

// begin empties the stock but for these.
func (s *stock) begin(parents ...parent) { s.parents = parents }

// breed makes points and tells their origins.
func (s *stock) breed(space *Space, count int) ([]Point, []birth) {
	points, births := make([]Point, count), make([]birth, count)
	for i := range points {
		u := s.random.Float64()
		from := s.parents[int(u*u*float64(len(s.parents)))]
		k := s.choose()
		points[i].Hidden = s.disturb(space, from.hidden, noises[k])
		if noises[k].temperature > 0 {
			points[i].Temperature, points[i].Seed = noises[k].temperature, s.random.Int64()
		}
		births[i] = birth{k, from.merit}
	}
	return points, births
}

// choose draws a way in proportion to its share of gains.
func (s *stock) choose() int {
	var shares [len(noises)]float64
	sum := 0.0
	for k := range noises {
		shares[k] = (s.gains[k] + 1) / (s.tries[k] + 5)
		sum += shares[k]
	}
	rest := s.random.Float64() * sum
	for k, share := range shares {
		if rest -= share; rest < 0 {
			return k
		}
	}
	return len(noises) - 1
}

func (s *stock) disturb(space *Space, hidden []float32, by noise) []float32 {
	out := slices.Clone(hidden)
	size := len(out)
	first, count := s.random.IntN(size), max(1, int(by.part*float64(size)))
	for i := range count {
		out[(first+i)%size] += float32(by.sd * space.radius * s.random.NormFloat64())
	}
	return out
}

// newcomer is what a molecule counts for that is new but no better than its
// parent, where a better one counts 1.
const newcomer = 0.1

// learn notes what became of points: fresh[i] is whether no earlier point gave
// the same text.
func (s *stock) learn(births []birth, candidates []*candidate, fresh []bool, merit func(*candidate) float64) {
	for i, b := range births {
		s.tries[b.noise]++
		switch c := candidates[i]; {
		case c == nil || !fresh[i]:
		case merit(c) > b.parent:
			s.gains[b.noise]++
		default:
			s.gains[b.noise] += newcomer
		}
	}
}

// admit encodes the candidates that are among the best and lets them breed.
func (s *stock) admit(ctx context.Context, model Model, candidates []*candidate, merit func(*candidate) float64) error {
	var chosen []parent
	var rows [][]int32
	known := map[string]bool{}
	for _, p := range s.parents {
		known[p.smiles] = true
	}
	for _, c := range candidates {
		if c == nil || known[c.smiles] {
			continue
		}
		known[c.smiles] = true
		m := merit(c)
		if len(s.parents) >= breeders && m <= s.parents[len(s.parents)-1].merit {
			continue
		}
		ids, problem := model.Tokens(c.smiles)
		if problem != nil { // its canonical form has a token that the decoded text had not
			continue
		}
		chosen, rows = append(chosen, parent{candidate: c, merit: m}), append(rows, ids)
	}
	if len(rows) == 0 {
		return nil
	}
	hiddens, err := model.Encode(ctx, rows)
	if err != nil {
		return err
	}
	for i := range chosen {
		chosen[i].hidden = hiddens[i]
	}
	s.parents = append(s.parents, chosen...)
	slices.SortStableFunc(s.parents, func(a, b parent) int {
		switch {
		case a.merit > b.merit:
			return -1
		case a.merit < b.merit:
			return 1
		}
		return 0
	})
	s.parents = s.parents[:min(len(s.parents), breeders)]
	return nil
}
