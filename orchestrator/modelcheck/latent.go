package modelcheck

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"retort/chem"
	"retort/orchestrator/latent"
	"retort/orchestrator/latent/search"
)

// What a search needs of a latent model: orchestrator/docs/operate/LATENT.md.
const (
	minRoundTrip = 0.5 // share of molecules that their own hidden state decodes to
	minValidity  = 0.5 // share of neighbours at scaled radius 1 that are molecules
	// minDrop is how much the similarity of neighbours falls from the smallest to the largest radius, and maxRise how
	// much it may rise from one radius to the next.
	minDrop = 0.1
	maxRise = 0.05
	// minScale and maxScale bound the root mean square of whitened hidden states. It is 1 for the training molecules.
	minScale = 0.3
	maxScale = 3
	// maxNormDeviation is how much a norm may differ from the promised one, relative to it.
	maxNormDeviation = 0.01
	// drawTemperature is the temperature for the check of seeds.
	drawTemperature = 0.7
	// neighbours is the number of neighbours of each molecule at each radius.
	neighbours = 4
)

// radii are the scaled radii of neighbours.
var radii = []float64{0.25, 0.5, 1, 2}

func (c *check) latent(ctx context.Context, m latent.Model) {
	seeds := c.readMolecules(ctx, m)
	if seeds == nil {
		return
	}
	hiddens := c.checkNumbers(ctx, "hidden states", len(seeds), func(ctx context.Context, samples []int) ([][]float32, error) {
		return m.Encode(ctx, tokensOf(pick(seeds, samples)))
	})
	if hiddens == nil {
		return
	}
	c.requireDistinct("hidden states", hiddens)
	c.checkSpace(m.Space(), hiddens)
	c.checkNumbers(ctx, "vectors of /embedding", len(seeds), func(ctx context.Context, samples []int) ([][]float32, error) {
		return m.Embed(ctx, tokensOf(pick(seeds, samples)))
	})
	points := make([]search.Point, len(hiddens))
	for i, hidden := range hiddens {
		points[i] = search.Point{Hidden: hidden}
	}
	decoded := c.checkTexts(ctx, "decoding", len(points), decoder(m, points))
	if decoded == nil {
		return
	}
	drawn := slices.Clone(points)
	for i := range drawn {
		drawn[i].Temperature = drawTemperature
		drawn[i].Seed = int64(i)
	}
	if c.checkTexts(ctx, "decoding at a temperature", len(drawn), decoder(m, drawn)) == nil {
		return
	}
	c.checkBeams(ctx, m, points)
	c.checkRoundTrip(ctx, seeds, decoded)
	c.checkNeighbours(ctx, m, seeds, hiddens)
}

func decoder(m latent.Model, points []search.Point) texts {
	return func(ctx context.Context, samples []int) ([]string, error) {
		return m.Decode(ctx, pick(points, samples))
	}
}

// readMolecules returns the given molecules that the model can read, nil if there are fewer than two.
func (c *check) readMolecules(ctx context.Context, m latent.Model) (seeds []search.Seed) {
	results, err := chem.Evaluate(ctx, c.Molecules, chem.FactFingerprint)
	if err != nil {
		c.require(false, "molecules", "readable", "%v", err)
		return nil
	}
	reason := ""
	for i, result := range results {
		err := result.Err
		var tokens []int32
		if err == nil {
			tokens, err = m.Tokens(result.Molecule.SMILES())
		}
		if err != nil {
			reason = fmt.Sprintf("; %s: %v", c.Molecules[i], err)
			continue
		}
		seeds = append(seeds, search.NewSeed(result.Molecule, tokens))
	}
	if !c.require(len(seeds) > 1, "vocabulary", "reads at least 2 of the molecules", "%d of %d%s",
		len(seeds), len(c.Molecules), reason) {
		return nil
	}
	return seeds
}

func tokensOf(seeds []search.Seed) [][]int32 {
	rows := make([][]int32, len(seeds))
	for i, seed := range seeds {
		rows[i] = seed.Tokens
	}
	return rows
}

// checkSpace compares hidden states with the statistics file.
func (c *check) checkSpace(space *search.Space, hiddens [][]float32) {
	square := 0.0
	for _, hidden := range hiddens {
		for _, x := range space.Whiten(hidden) {
			square += x * x
		}
	}
	rms := math.Sqrt(square / float64(len(hiddens)*space.Size()))
	c.require(rms >= minScale && rms <= maxScale, "statistics: scale",
		fmt.Sprintf("root mean square of whitened hidden states from %g to %g", minScale, float64(maxScale)), "%.2f", rms)
	low, high := norms(hiddens)
	if space.Length == 0 {
		c.inform("hidden states: norm", "%.3g to %.3g", low, high)
		return
	}
	ok := low >= space.Length*(1-maxNormDeviation) && high <= space.Length*(1+maxNormDeviation)
	c.require(ok, "hidden states: norm", fmt.Sprintf("%g of the statistics ± %g%%", space.Length, 100*maxNormDeviation),
		"%.3g to %.3g", low, high)
}

// checkBeams checks the beam search of a model that has it.
func (c *check) checkBeams(ctx context.Context, m latent.Model, points []search.Point) {
	if !m.HasBeams() {
		c.inform("beam search", "none")
		return
	}
	const size = 3
	c.checkTexts(ctx, "beam search", len(points), func(ctx context.Context, samples []int) ([]string, error) {
		beams, err := m.Beams(ctx, pick(points, samples), size)
		joined := make([]string, len(beams))
		for i, texts := range beams {
			joined[i] = strings.Join(texts, " ")
		}
		return joined, err
	})
}

// checkRoundTrip compares molecules with the texts that their hidden states decode to.
func (c *check) checkRoundTrip(ctx context.Context, seeds []search.Seed, decoded []string) {
	results, err := chem.Evaluate(ctx, decoded, chem.NoFacts)
	if err != nil {
		c.require(false, "round trip", "", "%v", err)
		return
	}
	exact, valid := 0, 0
	for i, result := range results {
		if result.Err == nil {
			valid++
			if result.Molecule.SMILES() == seeds[i].SMILES {
				exact++
			}
		}
	}
	count := len(seeds)
	c.require(share(exact, count) >= minRoundTrip, "round trip",
		fmt.Sprintf("at least %.0f%% return as the same molecule", 100*minRoundTrip), "%d of %d (%.0f%%), %d valid",
		exact, count, 100*share(exact, count), valid)
}

func share(part, whole int) float64 { return float64(part) / float64(max(1, whole)) }

// checkNeighbours decodes the neighbours of molecules at growing distances: those at radius 1 are mostly molecules, and
// the mean Tanimoto similarity (Morgan fingerprints of radius 2, 2048 bits) of the valid ones to their molecule falls.
func (c *check) checkNeighbours(ctx context.Context, m latent.Model, seeds []search.Seed, hiddens [][]float32) {
	means := make([]float64, len(radii))
	shown := make([]string, len(radii))
	validity := 0.0
	for k, radius := range radii {
		found, valid, err := neighbourSimilarity(ctx, m, seeds, hiddens, radius)
		if err != nil {
			c.called("neighbours", err)
			return
		}
		means[k] = found
		shown[k] = fmt.Sprintf("%.2f at %g", found, radius)
		if radius == 1 {
			validity = valid
		}
	}
	c.require(validity >= minValidity, "neighbours: validity",
		fmt.Sprintf("at least %.0f%% at scaled radius 1", 100*minValidity), "%.0f%%", 100*validity)
	falls := means[0]-means[len(means)-1] >= minDrop
	for k := range means[1:] {
		falls = falls && means[k+1] <= means[k]+maxRise
	}
	c.require(falls, "neighbours: smoothness",
		fmt.Sprintf("similarity falls with the radius, by at least %g in all", minDrop), "%s", strings.Join(shown, ", "))
}

// neighbourSimilarity returns the mean similarity of the valid neighbours at a scaled radius, and the valid share.
func neighbourSimilarity(
	ctx context.Context, m latent.Model, seeds []search.Seed, hiddens [][]float32, radius float64,
) (mean, valid float64, err error) {
	random := rand.New(rand.NewPCG(1, 2)) // the same directions at each radius
	var points []search.Point
	for _, hidden := range hiddens {
		for range neighbours {
			noise := make([]float64, len(hidden))
			for k := range noise {
				noise[k] = random.NormFloat64()
			}
			points = append(points, search.Point{Hidden: m.Space().Near(hidden, radius, noise)})
		}
	}
	decoded, err := m.Decode(ctx, points)
	if err != nil {
		return 0, 0, err
	}
	results, err := chem.Evaluate(ctx, decoded, chem.FactFingerprint)
	if err != nil {
		return 0, 0, err
	}
	count := 0
	for i, result := range results {
		if result.Err == nil {
			count++
			fingerprint := result.Molecule.Fingerprint()
			mean += fingerprint.Tanimoto(&seeds[i/neighbours].Fingerprint)
		}
	}
	return mean / float64(max(1, count)), share(count, len(points)), nil
}
