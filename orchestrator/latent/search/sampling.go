package search

import (
	"context"
	"math/rand/v2"
	"slices"

	"retort/chem"
)

// maxPoints bounds the points that a sampling holds and decodes at once, over all seeds.
const maxPoints = 4096

// Sampling draws molecules around several seeds, unguided.
type Sampling struct {
	Model        Model
	Seeds        []Seed
	Random       []*rand.Rand // one per seed, so that the molecules of a seed do not depend on the other seeds
	Molecules    int          // per seed
	ScaledRadius float64      // standard deviation of the noise per coordinate, in units of the space's radius
	BeamSize     int          // above 1, points are decoded by beam search
}

// Draw returns exactly Molecules canonical SMILES for each seed. They are distinct and not the seed, if there are
// enough such molecules. Molecules that fit the radius (see minSimilarity) come first, in the order of discovery.
func (s Sampling) Draw(ctx context.Context) ([][]string, error) {
	samplers := make([]*sampler, len(s.Seeds))
	for i, seed := range s.Seeds {
		samplers[i] = newSampler(seed, s.Random[i], s.Molecules, 1, s.ScaledRadius)
	}
	if err := s.explore(ctx, samplers, func(int, int) error { return nil }); err != nil {
		return nil, err
	}
	found := make([][]string, len(samplers))
	for i, sampler := range samplers {
		found[i] = sampler.result()
	}
	return found, nil
}

// explore runs the rounds of all samplers together, and then fills the shortage of each sampler. It calls onRound at
// the end of each round with the number of points drawn in it.
func (s *Sampling) explore(ctx context.Context, samplers []*sampler, onRound func(round, drawn int) error) error {
	for round := range maxRounds {
		drawn, err := s.round(ctx, samplers, round)
		if err != nil {
			return err
		}
		if drawn == 0 {
			break
		}
		if err := onRound(round+1, drawn); err != nil {
			return err
		}
	}
	for _, sampler := range samplers {
		if err := s.fill(ctx, sampler); err != nil {
			return err
		}
	}
	return nil
}

const (
	// editsPerMissing is the number of edits of the seed per missing molecule.
	editsPerMissing = 4
	// maxFillRounds bounds the rounds of edits, of which each also edits the molecules of the rounds before.
	maxFillRounds = 3
)

// fill fills the shortage of a sampler with edits of its seed and, if these are not enough, of the molecules found.
func (s *Sampling) fill(ctx context.Context, sampler *sampler) error {
	editor := editor{model: s.Model, seeds: []Seed{sampler.seed}}
	defer editor.close()
	for range maxFillRounds {
		if sampler.shortage() == 0 {
			return nil
		}
		edits, err := editor.edit(ctx, sampler.parents(editsPerMissing*sampler.shortage()+16))
		if err != nil {
			return err
		}
		sampler.fill(slices.Concat(edits...))
	}
	return nil
}

// round draws the points of one round for all samplers, in batches that bound the memory.
func (s *Sampling) round(ctx context.Context, samplers []*sampler, round int) (drawn int, err error) {
	batch := min(maxPoints, pointsAtOnce*len(samplers))
	var points []Point
	var owners []owner
	for _, sampler := range samplers {
		for _, ray := range sampler.nextRays(round) {
			points = append(points, Point{Hidden: s.Model.Space().Near(sampler.seed.Hidden, ray.radius, ray.noise)})
			owners = append(owners, owner{sampler, ray})
			if len(points) < batch {
				continue
			}
			if err := s.collect(ctx, points, owners); err != nil {
				return drawn, err
			}
			drawn += len(points)
			points = points[:0]
			owners = owners[:0]
		}
	}
	return drawn + len(points), s.collect(ctx, points, owners)
}

// owner is the sampler and the ray of a point.
type owner struct {
	*sampler
	ray *ray
}

// collect decodes a batch of points and passes the molecules of each point to its sampler.
func (s *Sampling) collect(ctx context.Context, points []Point, owners []owner) error {
	beams, err := s.decode(ctx, points)
	if err != nil {
		return err
	}
	seeds := make([]*Seed, len(owners))
	for i, owner := range owners {
		seeds[i] = &owner.seed
	}
	variants, err := variantsOf(ctx, beams, seeds)
	if err != nil {
		return err
	}
	for i, owner := range owners {
		owner.collect(owner.ray, variants[i])
	}
	return nil
}

// decode returns the texts of each point: one, or the beams of a beam search, the likeliest first.
func (s *Sampling) decode(ctx context.Context, points []Point) ([][]string, error) {
	if s.BeamSize > 1 {
		return s.Model.Beams(ctx, points, s.BeamSize)
	}
	texts, err := s.Model.Decode(ctx, points)
	beams := make([][]string, len(texts))
	for i, text := range texts {
		beams[i] = []string{text}
	}
	return beams, err
}

// variantsOf returns the texts of each point as variants of its seed. A variant is empty if its text is not a molecule
// that the seed admits.
func variantsOf(ctx context.Context, beams [][]string, seeds []*Seed) ([][]variant, error) {
	results, err := chem.Evaluate(ctx, slices.Concat(beams...), chem.FactFingerprint)
	if err != nil {
		return nil, err
	}
	variants := make([][]variant, len(beams))
	for i, b := range beams {
		variants[i] = make([]variant, len(b))
		for k, r := range results[:len(b)] {
			if r.Err == nil && seeds[i].admits(r.Molecule) {
				variants[i][k] = newVariant(r.Molecule, *seeds[i])
			}
		}
		results = results[len(b):]
	}
	return variants, nil
}
