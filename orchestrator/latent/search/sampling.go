package search

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"

	"retort/chem"
)

// maxPoints bounds the points that a sampling holds and decodes at once, over all seeds.
const maxPoints = 4096

// Sampling draws molecules around several seeds, unguided.
type Sampling struct {
	Model        Model
	Seeds        []Seed
	Random       []*rand.Rand // one per seed, so that what a seed gives does not depend on the others
	Molecules    int          // per seed
	ScaledRadius float64      // standard deviation of the noise per coordinate, in units of the space's radius
	BeamSize     int          // above 1, points are decoded by beam search
}

// Draw returns exactly Molecules canonical SMILES for each seed: distinct and not the seed, as far as there are enough
// of them. Molecules that fit the radius (see minSimilarity) come first, in the order in which they were found.
func (s Sampling) Draw(ctx context.Context) ([][]string, error) {
	samplers := make([]*sampler, len(s.Seeds))
	for i, seed := range s.Seeds {
		samplers[i] = newSampler(seed, s.Random[i], s.Molecules, 1, s.ScaledRadius)
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

// explore runs the rounds of all samplers together, calls after at the end of each with the number of points drawn in
// it, and then fills the shortage of each sampler.
func (s *Sampling) explore(ctx context.Context, samplers []*sampler, after func(round, drawn int) error) error {
	for round := range maxRounds {
		drawn, err := s.round(ctx, samplers, round)
		if err != nil {
			return err
		}
		if drawn == 0 {
			break
		}
		if err := after(round+1, drawn); err != nil {
			return err
		}
	}
	for _, one := range samplers {
		if err := s.fill(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

const (
	// editsPerMissing is how many edits of the seed are made for each missing molecule.
	editsPerMissing = 4
	// maxFillRounds bounds how often the molecules found are edited in turn.
	maxFillRounds = 3
)

// fill fills the shortage of a sampler with edits of its seed and, if these are not enough, of the molecules found.
func (s *Sampling) fill(ctx context.Context, one *sampler) error {
	editor := editor{model: s.Model, seeds: []Seed{one.seed}}
	for range maxFillRounds {
		if one.shortage() == 0 {
			return nil
		}
		edits, err := editor.edit(ctx, one.parents(editsPerMissing*one.shortage()+16))
		if err != nil {
			return err
		}
		one.fill(slices.Concat(edits...))
	}
	return nil
}

// round draws the points of one round and hands their molecules to the samplers, in batches that bound the memory.
func (s *Sampling) round(ctx context.Context, samplers []*sampler, round int) (drawn int, err error) {
	batch := min(maxPoints, pointsAtOnce*len(samplers))
	var points []Point
	var owners []owner
	for _, one := range samplers {
		for _, ray := range one.nextRays(round) {
			points = append(points, Point{Hidden: s.Model.Space().near(one.seed.Hidden, ray.at, ray.noise)})
			owners = append(owners, owner{one, ray})
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

// owner is the sampler and the ray of a point.
type owner struct {
	*sampler
	ray *ray
}

// take decodes points and hands each one's molecules to its sampler.
func (s *Sampling) take(ctx context.Context, points []Point, owners []owner) error {
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
		owner.take(owner.ray, variants[i])
	}
	return nil
}

// decode returns the texts of each point: those of a beam search, likeliest first, or one.
func (s *Sampling) decode(ctx context.Context, points []Point) ([][]string, error) {
	if s.BeamSize > 1 {
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

// variantsOf reads the texts of each point as variants of its seed. A variant is empty if the text is no molecule, or
// one that the seed does not admit.
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

// Streams returns a stream of random numbers for each seed molecule of a request. A stream depends only on the number
// of the Streams, the molecule, and how often the molecule came before, so the result of a molecule does not depend on
// the other molecules of its request.
type Streams struct {
	number uint64
	times  map[string]int // by SMILES
}

// NewStreams returns the streams of a number.
func NewStreams(number uint64) *Streams { return &Streams{number: number, times: map[string]int{}} }

// Next returns the next stream of a molecule. It is not safe for concurrent use.
func (s *Streams) Next(smiles string) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(smiles + "\n" + strconv.Itoa(s.times[smiles])))
	s.times[smiles]++
	return rand.New(rand.NewPCG(s.number, hash.Sum64()))
}
