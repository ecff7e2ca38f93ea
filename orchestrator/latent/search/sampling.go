package search

import (
	"context"
	"math/rand/v2"

	"retort/chem"
)

// maxPoints bounds the points of all seeds that a sampling holds and decodes at once.
const maxPoints = 4096

// Sampling draws molecules around several seeds, unguided.
type Sampling struct {
	Model        Model
	Seeds        []Seed
	Random       []*rand.Rand // one per seed, so that what a seed gives does not depend on the others
	Molecules    int          // per seed
	ScaledRadius float64      // standard deviation of the noise per coordinate, in units of the space's radius
	BeamSize     int          // above 1, points are decoded by beam search, where tokens are not drawn
}

// Draw returns exactly Molecules canonical SMILES for each seed, in the order they were found: distinct and not the
// seed as far as such were found, then repeated ones and at last the seed itself.
func (s Sampling) Draw(ctx context.Context) ([][]string, error) {
	samplers := make([]*sampler, len(s.Seeds))
	for i, seed := range s.Seeds {
		samplers[i] = newSampler(seed, s.Random[i], s.Molecules, 1)
	}
	if err := s.explore(ctx, samplers, func(int, int) error { return nil }); err != nil {
		return nil, err
	}
	found := make([][]string, len(samplers))
	for i, one := range samplers {
		found[i] = one.result()
	}
	return found, nil
}

// explore runs the rounds of all samplers side by side, and calls after at the end of each with the number of points
// drawn in it.
func (s *Sampling) explore(ctx context.Context, samplers []*sampler, after func(round, drawn int) error) error {
	for round := range maxRounds {
		drawn, err := s.round(ctx, samplers, round)
		if err != nil || drawn == 0 {
			return err
		}
		if err := after(round+1, drawn); err != nil {
			return err
		}
	}
	return nil
}

// round draws the points of one round and hands their molecules to the samplers, in batches that bound the memory.
func (s *Sampling) round(ctx context.Context, samplers []*sampler, round int) (drawn int, err error) {
	batch := min(maxPoints, pointsAtOnce*len(samplers))
	var points []Point
	var owners []*sampler
	for _, one := range samplers {
		for range one.due(round) {
			points = append(points, one.draw(s.Model.Space(), s.ScaledRadius, round))
			owners = append(owners, one)
			if len(points) < batch {
				continue
			}
			if err := s.take(ctx, points, owners); err != nil {
				return drawn, err
			}
			drawn += len(points)
			points = points[:0]
			owners = owners[:0]
		}
	}
	return drawn + len(points), s.take(ctx, points, owners)
}

// take decodes points and hands each one's molecules to its sampler.
func (s *Sampling) take(ctx context.Context, points []Point, owners []*sampler) error {
	beams, err := s.decode(ctx, points)
	if err != nil {
		return err
	}
	admitted := func(i int, m *chem.Molecule) bool { return owners[i].seed.admits(m) }
	if err := canonical(ctx, beams, admitted); err != nil {
		return err
	}
	for i, owner := range owners {
		owner.take(beams[i])
	}
	return nil
}

// decode gives the texts of each point: those of a beam search, likeliest first, or one.
func (s *Sampling) decode(ctx context.Context, points []Point) ([][]string, error) {
	if s.BeamSize > 1 && len(points) > 0 && points[0].Temperature == 0 {
		hiddens := make([][]float32, len(points))
		for i, p := range points {
			hiddens[i] = p.Hidden
		}
		return s.Model.Beams(ctx, hiddens, s.BeamSize)
	}
	texts, err := s.Model.Decode(ctx, points)
	beams := make([][]string, len(texts))
	for i, text := range texts {
		beams[i] = []string{text}
	}
	return beams, err
}

// canonical replaces texts by canonical SMILES, and by "" where they are no molecule or not admitted for the point whose
// beams they are.
func canonical(ctx context.Context, beams [][]string, admitted func(point int, m *chem.Molecule) bool) error {
	var texts []string
	for _, b := range beams {
		texts = append(texts, b...)
	}
	results, err := chem.Evaluate(ctx, texts, chem.Options{})
	if err != nil {
		return err
	}
	next := 0
	for i, b := range beams {
		for k := range b {
			b[k] = ""
			if r := results[next]; r.Err == nil && admitted(i, r.Molecule) {
				b[k] = r.Molecule.SMILES()
			}
			next++
		}
	}
	return nil
}
