package latent

import (
	"context"
	"math/rand/v2"

	"retort/chem"
)

// Sampling takes what is valid, new and not the seed. Where the first draw does
// not give enough, it draws again, more each time, so many times; in the last
// ones tokens are drawn too, which finds neighbours where the radius is so
// small that every point decodes to the seed.
const (
	rounds    = 8
	hotRounds = 3
	mostDrawn = 64 // points of one seed in one round
)

// sampler collects molecules around one seed. It draws from a stream of its
// own, so that what it finds does not depend on the other seeds of a request.
type sampler struct {
	seed   seed
	random *rand.Rand
	need   int
	least  int // points in a round
	found  []string
	spare  []string // valid, but the seed or found before
	seen   map[string]bool
}

func newSampler(s seed, random *rand.Rand, need, least int) *sampler {
	return &sampler{seed: s, random: random, need: need, least: least, seen: map[string]bool{s.smiles: true}}
}

// draw makes the points of a round.
func (s *sampler) draw(space *Space, scaledRadius float64, round int) []Point {
	missing := s.need - len(s.found)
	if missing <= 0 {
		return nil
	}
	points := make([]Point, max(s.least, min(missing<<round, mostDrawn)))
	for i := range points {
		points[i].Hidden = space.near(s.seed.hidden, scaledRadius, s.random)
		if round >= rounds-hotRounds {
			points[i].Temperature, points[i].Seed = 1, s.random.Int64()
		}
	}
	return points
}

// take keeps the first of a point's molecules (best beam first) that is valid
// and new.
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
			s.spare = append(s.spare, smiles)
			return
		}
	}
}

// result is exactly as many molecules as were asked for: where there are not
// enough new ones, those found before and the seed fill the places.
func (s *sampler) result() []string {
	out := append(s.found, s.spare...)
	for len(out) < s.need {
		out = append(out, s.seed.smiles)
	}
	return out[:s.need:s.need]
}

// explore runs the rounds of all samplers side by side: the points of a round
// are decoded in one go. after is called at the end of each.
func explore(ctx context.Context, model Model, samplers []*sampler, scaledRadius float64, beamSize int, after func(round, drawn int) error) error {
	for round := range rounds {
		var points []Point
		var owners []*sampler
		for _, s := range samplers {
			for _, p := range s.draw(model.Space(), scaledRadius, round) {
				points, owners = append(points, p), append(owners, s)
			}
		}
		if len(points) == 0 {
			return nil
		}
		beams, err := decoded(ctx, model, points, beamSize)
		if err != nil {
			return err
		}
		if err := canonical(ctx, beams); err != nil {
			return err
		}
		for i, s := range owners {
			s.take(beams[i])
		}
		if err := after(round+1, len(points)); err != nil {
			return err
		}
	}
	return nil
}

// decoded gives the texts of each point: of a beam search, or one.
func decoded(ctx context.Context, model Model, points []Point, beamSize int) ([][]string, error) {
	if beamSize > 1 && points[0].Temperature == 0 {
		hiddens := make([][]float32, len(points))
		for i, p := range points {
			hiddens[i] = p.Hidden
		}
		return model.Beams(ctx, hiddens, beamSize)
	}
	texts, err := model.Decode(ctx, points)
	beams := make([][]string, len(texts))
	for i, text := range texts {
		beams[i] = []string{text}
	}
	return beams, err
}

// canonical replaces texts by canonical SMILES, and by "" where they are no molecule.
func canonical(ctx context.Context, beams [][]string) error {
	var texts []string
	for _, b := range beams {
		texts = append(texts, b...)
	}
	results, err := chem.Evaluate(ctx, texts, chem.Options{})
	if err != nil {
		return err
	}
	next := 0
	for _, b := range beams {
		for k := range b {
			b[k] = ""
			if r := results[next]; r.Err == nil {
				b[k] = r.Molecule.SMILES()
			}
			next++
		}
	}
	return nil
}
